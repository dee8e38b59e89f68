// SPDX-License-Identifier: Apache-2.0
// A panel that drops down from a button of the bar, over the workbench. Escape and a click elsewhere put it away.
#pragma once

#include <QFrame>
#include <QPointer>

namespace shardboard {

class Panel;

class DropDown : public QFrame {
    Q_OBJECT
public:
    DropDown(shardboard::Panel* panel, QWidget* anchor, QWidget* window);

    void setOpen(bool open);
    bool isOpen() const { return isVisible(); }

protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void place();
    void followFocus(const QWidget* before, const QWidget* now);
    QWidget* firstField() const;

    shardboard::Panel* m_panel;
    QWidget* m_anchor;
    QWidget* m_window;
    QPointer<QWidget> m_before; ///< had the focus
};

} // namespace shardboard
