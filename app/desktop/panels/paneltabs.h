// SPDX-License-Identifier: Apache-2.0
// The tabs of a group. Where there is no room for all titles, those behind the last that has room are in a menu at the end of the
// row; the tab in front is always seen. A single title that is wider than the row ends in an ellipsis, with all of it as its tool
// tip.
#pragma once

#include <QTabBar>

class QToolButton;

namespace shardboard {

class PanelTabs : public QTabBar {
    Q_OBJECT
public:
    explicit PanelTabs(QWidget* parent = nullptr);
    QSize minimumSizeHint() const override;
    /// Leads to the tabs that have no room.
    QToolButton* more() const { return m_more; }

protected:
    QSize minimumTabSizeHint(int index) const override;
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void tabLayoutChange() override;

private:
    void fit();
    void showMore();

    QToolButton* m_more;
    bool m_fitting = false;
};

} // namespace shardboard
