// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/paneltabs.h"

#include "widgets/controls/contextmenu.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"

#include <QMenu>
#include <QScopedValueRollback>
#include <QToolButton>

namespace shardboard {

PanelTabs::PanelTabs(QWidget* parent)
    : QTabBar(parent)
    , m_more(new QToolButton(this))
{
    setDrawBase(false);
    setExpanding(false);
    setElideMode(Qt::ElideRight);
    setUsesScrollButtons(false);
    nameWidget(m_more, "moreTabs", tr("More tabs"), tr("Tabs that have no room here"));
    m_more->setText(QStringLiteral("»"));
    m_more->setAutoRaise(true);
    m_more->setFocusPolicy(Qt::TabFocus);
    m_more->hide();
    connect(m_more, &QToolButton::clicked, this, &PanelTabs::showMore);
    connect(this, &QTabBar::currentChanged, this, &PanelTabs::fit);
}

QSize PanelTabs::minimumTabSizeHint(int index) const
{
    return index == currentIndex() ? tabSizeHint(index) : QTabBar::minimumTabSizeHint(index);
}

/// A group may be narrower than its titles.
QSize PanelTabs::minimumSizeHint() const { return { 0, QTabBar::minimumSizeHint().height() }; }

/// In their order as many as have room, and the one in front.
void PanelTabs::fit()
{
    if (m_fitting)
        return;
    const QScopedValueRollback fitting(m_fitting, true);
    int all = 0;
    for (int tab = 0; tab < count(); ++tab)
        all += tabSizeHint(tab).width();
    const bool whole = all <= width();
    const QSize more = m_more->sizeHint();
    int left = width() - more.width() - (currentIndex() < 0 ? 0 : tabSizeHint(currentIndex()).width());
    bool room = true;
    for (int tab = 0; tab < count(); ++tab) {
        if (tab != currentIndex() && !whole) {
            left -= tabSizeHint(tab).width();
            room = room && left >= 0;
        }
        setTabVisible(tab, whole || room || tab == currentIndex());
    }
    m_more->setVisible(!whole && count() > 1);
    m_more->setGeometry(width() - more.width(), (height() - more.height()) / 2, more.width(), more.height());
}

void PanelTabs::showMore()
{
    showContextMenu(this, m_more->mapToGlobal(QPoint(0, m_more->height())), [this](QMenu* menu) {
        for (int tab = 0; tab < count(); ++tab)
            if (!isTabVisible(tab))
                connect(menu->addAction(tabText(tab)), &QAction::triggered, this, [this, tab] { setCurrentIndex(tab); });
    });
}

void PanelTabs::resizeEvent(QResizeEvent* event)
{
    QTabBar::resizeEvent(event);
    fit();
}

void PanelTabs::tabLayoutChange()
{
    QTabBar::tabLayoutChange();
    fit();
}

bool PanelTabs::event(QEvent* event)
{
    const auto title = [this](const QPoint& point) {
        const int tab = tabAt(point);
        return tab < 0 || tabRect(tab).width() >= tabSizeHint(tab).width()
            ? QString()
            : tabText(tab).replace(QLatin1String("&&"), QLatin1String("&"));
    };
    return answersToolTip(event, this, title) || QTabBar::event(event);
}

} // namespace shardboard
