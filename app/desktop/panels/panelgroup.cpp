// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/panelgroup.h"

#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/paneltabs.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QPainter>
#include <QStackedWidget>
#include <QStyle>
#include <QToolButton>

#include <algorithm>

namespace shardboard {

PanelGroup::PanelGroup(const QString& name, const QString& title, QWidget* parent)
    : QWidget(parent)
    , m_tabs(new PanelTabs(this))
    , m_stack(new QStackedWidget(this))
{
    setObjectName(name);
    m_tabs->setObjectName(name + QStringLiteral("Tabs"));
    m_tabs->setAccessibleName(title);
    m_tabs->hide();
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_tabs);
    column->addWidget(m_stack, 1);
    hide(); // while it is empty
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int tab) {
        if (Panel* panel = panelAt(tab)) {
            m_stack->setCurrentWidget(panel);
            Q_EMIT currentChanged(panel);
        }
    });
    connect(m_tabs, &QTabBar::tabBarDoubleClicked, this, [this](int tab) {
        if (Panel* panel = panelAt(tab))
            Q_EMIT titleDoubleClicked(panel);
    });
}

Panel* PanelGroup::panelAt(int tab) const
{
    return tab < 0 || tab >= static_cast<int>(m_panels.size()) ? nullptr : m_panels[static_cast<std::size_t>(tab)];
}

void PanelGroup::add(Panel* panel, int at)
{
    if (panel->group() == this)
        return;
    if (panel->group() != nullptr)
        panel->group()->remove(panel);
    if (panel->home() == nullptr)
        panel->setHome(this);
    panel->setGroup(this);
    const int place = at < 0 ? static_cast<int>(m_panels.size()) : std::min(at, static_cast<int>(m_panels.size()));
    m_panels.insert(m_panels.begin() + place, panel);
    m_stack->insertWidget(place, panel); // before its tab, which may become the current one
    m_tabs->insertTab(place, menuText(panel->windowTitle()));
    if (panel->isOptional()) {
        auto* close = new QToolButton(m_tabs); // the tab bar's own is as red as an error
        nameWidget(close, "closeTab", tr("Close %1").arg(panel->windowTitle()), tr("Close %1").arg(panel->windowTitle()));
        close->setText(QStringLiteral("×"));
        close->setFixedWidth(close->style()->pixelMetric(QStyle::PM_TabCloseIndicatorWidth, nullptr, m_tabs));
        close->setFocusPolicy(Qt::NoFocus);
        connect(close, &QToolButton::clicked, this, [this, panel] { Q_EMIT closeRequested(panel); });
        m_tabs->setTabButton(place, QTabBar::RightSide, close);
    }
    connect(panel, &QWidget::windowTitleChanged, this, [this, panel](const QString& title) {
        if (const auto it = std::find(m_panels.begin(), m_panels.end(), panel); it != m_panels.end())
            m_tabs->setTabText(static_cast<int>(it - m_panels.begin()), menuText(title));
    });
    connect(panel, &Panel::headingDoubleClicked, this, [this, panel] { Q_EMIT titleDoubleClicked(panel); });
    showTabs();
}

void PanelGroup::remove(Panel* panel)
{
    const auto it = std::find(m_panels.begin(), m_panels.end(), panel);
    if (it == m_panels.end())
        return;
    disconnect(panel, nullptr, this, nullptr);
    const int place = static_cast<int>(it - m_panels.begin());
    m_panels.erase(it);
    m_stack->removeWidget(panel);
    panel->hide();
    panel->setGroup(nullptr);
    m_tabs->removeTab(place);
    if (Panel* next = panelAt(m_tabs->currentIndex()))
        m_stack->setCurrentWidget(next);
    showTabs();
}

void PanelGroup::setEdge(bool edge)
{
    m_edge = edge;
    layout()->setContentsMargins(edge ? 1 : 0, 0, 0, 0);
}

void PanelGroup::paintEvent(QPaintEvent*)
{
    if (m_edge)
        QPainter(this).fillRect(0, 0, 1, height(), Theme::of(this).line);
}

Panel* PanelGroup::current() const { return panelAt(m_tabs->currentIndex()); }

void PanelGroup::setCurrent(Panel* panel)
{
    if (const auto it = std::find(m_panels.begin(), m_panels.end(), panel); it != m_panels.end())
        m_tabs->setCurrentIndex(static_cast<int>(it - m_panels.begin()));
}

void PanelGroup::showTabs()
{
    m_tabs->setVisible(m_panels.size() > 1 || (m_panels.size() == 1 && !m_panels.front()->hasHeading()));
    setVisible(!m_panels.empty());
}

} // namespace shardboard
