// SPDX-License-Identifier: Apache-2.0
// Panels that share a place: one is seen, the others are tabs. A panel that is alone there and has a heading of its own needs no
// tab.
#pragma once

#include <QWidget>

#include <vector>

class QStackedWidget;
class QTabBar;

namespace shardboard {

class Panel;

class PanelGroup : public QWidget {
    Q_OBJECT
public:
    /// `name` is its object name, under which its tab is remembered; `title` is what screen readers say.
    PanelGroup(const QString& name, const QString& title, QWidget* parent = nullptr);

    /// A panel that was in another group leaves it. `at`: its place among the others, -1: the last.
    void add(Panel* panel, int at = -1);
    void remove(Panel* panel);
    const std::vector<Panel*>& panels() const { return m_panels; }
    bool isEmpty() const { return m_panels.empty(); }
    Panel* current() const;
    void setCurrent(Panel* panel);
    QTabBar* tabs() const { return m_tabs; }
    /// A line at its left, where it lies over others.
    void setEdge(bool edge);

Q_SIGNALS:
    void titleDoubleClicked(Panel* panel);
    void closeRequested(Panel* panel);
    void currentChanged(Panel* panel);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void showTabs();
    Panel* panelAt(int tab) const;

    QTabBar* m_tabs;
    QStackedWidget* m_stack;
    bool m_edge = false;
    std::vector<Panel*> m_panels; ///< in the order of the tabs
};

} // namespace shardboard
