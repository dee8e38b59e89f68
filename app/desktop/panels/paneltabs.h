// SPDX-License-Identifier: Apache-2.0
// The tabs of a group. Where there is no room for all titles, those behind end in an ellipsis, with the title as their tool tip;
// that of the tab in front stays whole.
#pragma once

#include <QTabBar>

namespace shardboard {

class PanelTabs : public QTabBar {
    Q_OBJECT
public:
    explicit PanelTabs(QWidget* parent = nullptr);
    QSize minimumSizeHint() const override;

protected:
    QSize minimumTabSizeHint(int index) const override;
    bool event(QEvent* event) override;
};

} // namespace shardboard
