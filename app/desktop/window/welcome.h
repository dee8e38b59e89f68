// SPDX-License-Identifier: Apache-2.0
// What the window shows while no design is open: three ways on, and the files used last.
#pragma once

#include <QWidget>

class QListWidget;

namespace shardboard {

class Actions;
class RecentFiles;

class Welcome : public QWidget {
    Q_OBJECT
public:
    Welcome(const Actions& actions, RecentFiles* recent, QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* sampleRows(const Actions& actions);
    void fillRecent();
    void fitText();

    RecentFiles* m_recent;
    QWidget* m_recentBox = nullptr;
    QWidget* m_frame = nullptr; ///< the column in the middle
    QListWidget* m_list = nullptr;
};

} // namespace shardboard
