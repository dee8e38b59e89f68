// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/paneltabs.h"

#include "widgets/look/plaintext.h"

namespace shardboard {

PanelTabs::PanelTabs(QWidget* parent)
    : QTabBar(parent)
{
    setDrawBase(false);
    setExpanding(false);
    setElideMode(Qt::ElideRight);
    setUsesScrollButtons(true); // where not even the beginnings of the titles have room
}

QSize PanelTabs::minimumTabSizeHint(int index) const
{
    return index == currentIndex() ? tabSizeHint(index) : QTabBar::minimumTabSizeHint(index);
}

/// A group may be narrower than its titles.
QSize PanelTabs::minimumSizeHint() const { return { 0, QTabBar::minimumSizeHint().height() }; }

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
