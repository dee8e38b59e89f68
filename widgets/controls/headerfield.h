// SPDX-License-Identifier: Apache-2.0
// A field for searching in a view's heading: it gives way to what stands beside it where there is no room for all, until it is
// used.
#pragma once

#include <QObject>

class QLineEdit;
class QWidget;

namespace shardboard {

class ViewHeader;

class HeaderField : public QObject {
    Q_OBJECT
public:
    /// Puts the field into the heading. Where it is used and there is no room, `other` goes, if there is one; else it is there with
    /// the field.
    HeaderField(ViewHeader* header, QLineEdit* field, QWidget* other = nullptr);
    /// Instead of setVisible() of the field and of the other.
    void setWanted(bool wanted);
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void share();
    bool isEnough() const;

    ViewHeader* m_header;
    QLineEdit* m_field;
    QWidget* m_other;
    bool m_wanted = true;
};

/// What a layout of enough room gives to a widget.
int widthOf(const QWidget* widget);

} // namespace shardboard
