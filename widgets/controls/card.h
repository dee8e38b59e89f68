// SPDX-License-Identifier: Apache-2.0
// A rounded card of a title, a value and a line of quiet text, which can be chosen or have a button.
#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QPushButton;
class QSpacerItem;
class QVBoxLayout;

namespace shardboard {

class WrappedLabel;

/// A rounded card of a title, a value at the right and a line of quiet text. With `setActionable` it is a button too; with
/// `addButton` it has one.
class Card : public QWidget {
    Q_OBJECT
public:
    enum class Look { Plain, Chosen, Attention, Error };
    Card(const QString& title, const QString& value, const QString& detail, Look look, QWidget* parent);
    void setActionable(const QString& toolTip);
    /// Other texts in the place of those that it was made with; what was empty stays away.
    void setTexts(const QString& title, const QString& value, const QString& detail);
    /// The button below the text, with a short quiet word beside it.
    QPushButton* addButton(const QString& text, const QString& beside);
    /// As if it were made anew, with its widgets; nothing is connected to it any more. `settled` follows when it is filled.
    void renew(const QString& title, const QString& value, const QString& detail, Look look);
    /// Removes what it had before `renew` and has not got again.
    void settled();
    QPushButton* button() const { return m_button; }
    QString title() const { return m_title; }
    QString value() const { return m_value; }

Q_SIGNALS:
    void activated();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void setLook(Look look);

    QString m_title;
    QString m_value;
    QVBoxLayout* m_column;
    WrappedLabel* m_titleLabel = nullptr;
    QLabel* m_valueLabel = nullptr;
    WrappedLabel* m_detailLabel = nullptr;
    QSpacerItem* m_buttonSpace = nullptr;
    QPushButton* m_button = nullptr;
    WrappedLabel* m_beside = nullptr;
    Look m_look;
    bool m_actionable = false;
    bool m_buttonAsked = false;
};

} // namespace shardboard
