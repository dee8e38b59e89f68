// SPDX-License-Identifier: Apache-2.0
// Asks which hardware file to open or save for the hardware view. Problems go to the banner; the hardware that was there stays.
#pragma once

#include <QObject>

namespace shardboard {

class Banner;
class HardwareView;
class Settings;

class HardwareFiles : public QObject {
    Q_OBJECT
public:
    HardwareFiles(HardwareView* view, Settings& settings, Banner* banner, QWidget* window);

    void open();
    void save();

private:
    HardwareView* m_view;
    Settings& m_settings;
    Banner* m_banner;
    QWidget* m_window;
};

} // namespace shardboard
