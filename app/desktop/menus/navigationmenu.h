// SPDX-License-Identifier: Apache-2.0
// The entries of the View menu about moving in the canvases: whether the wheel scrolls, and whether motion is shown. Kept in the
// settings; motion goes by the desktop's wish until somebody chooses.
#pragma once

#include <QObject>

class QAction;
class QMenu;
class QWidget;

namespace shardboard {

class Settings;

class NavigationMenu : public QObject {
    Q_OBJECT
public:
    /// For all canvases that are in `window` already.
    NavigationMenu(QWidget* window, Settings& settings, QMenu* menu);

private:
    void setWheelScrolls(bool scrolls);
    void setReducedMotion(bool reduced);
    void askDesktop();

    QWidget* m_window;
    Settings& m_settings;
    QAction* m_motion;
};

} // namespace shardboard
