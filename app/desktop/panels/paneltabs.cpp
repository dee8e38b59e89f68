// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/paneltabs.h"

#include "widgets/look/plaintext.h"

#include <algorithm>

namespace shardboard {

PanelTabs::PanelTabs(QWidget* parent)
    : QTabBar(parent)
{
    setDrawBase(false);
    setExpanding(false);
    setElideMode(Qt::ElideRight);
    setUsesScrollButtons(true); // where not even the beginnings of the titles have room
}

/// The one that is shown is whole; of the others so much is left that one knows them.
QSize PanelTabs::minimumTabSizeHint(int index) const
{
    constexpr qsizetype kLetters = 4;
    const QSize whole = tabSizeHint(index);
    const QString text = tabText(index);
    if (index == currentIndex() || text.size() <= kLetters + 1)
        return whole;
    const int less = fontMetrics().horizontalAdvance(text) - fontMetrics().horizontalAdvance(text.left(kLetters) + QChar(0x2026));
    return { whole.width() - std::max(0, less), whole.height() };
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
