// SPDX-License-Identifier: Apache-2.0
// The targets of Deliver, two lines each: what it is called and the file that checks it; what it can say of the design, and whether
// that was proven here. A sign and a word, never the colour alone.
#pragma once

#include <QString>
#include <QWidget>

class QListWidget;

namespace shardboard {

class TargetStates;
class ViewHeader;

class TargetList : public QWidget {
    Q_OBJECT
public:
    explicit TargetList(TargetStates* states, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void showStates();

    TargetStates* m_states;
    ViewHeader* m_header;
    QListWidget* m_list;
};

} // namespace shardboard
