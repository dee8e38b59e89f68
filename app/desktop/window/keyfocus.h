// SPDX-License-Identifier: Apache-2.0
// The focus as keys move it in the main window: Tab goes through a panel in the order of its layouts, whatever of it was made when,
// and what gets the focus is scrolled into sight. Qt itself puts widgets that come later behind all others of the window, and
// scrolls only where the focus was in that area before.
#pragma once

#include <QObject>

class QMainWindow;

namespace shardboard {

class KeyFocus : public QObject {
    Q_OBJECT
public:
    /// Child of the window.
    explicit KeyFocus(QMainWindow* window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void order() const;

    QMainWindow* m_window;
};

} // namespace shardboard
