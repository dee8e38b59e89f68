// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/wholeview.h"

#include "widgets/canvas/canvaswidget.h"

#include <QAbstractItemView>
#include <QLayout>
#include <QScrollBar>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kRounds = 6; // areas that share their room get it little by little
constexpr int kLongestSide = 60000;

void settleLayouts(QWidget* view)
{
    const QList<QWidget*> widgets = view->findChildren<QWidget*>();
    for (QWidget* widget : widgets)
        if (widget->layout() != nullptr && widget->isVisibleTo(view))
            widget->layout()->activate();
}

} // namespace

WholeView::WholeView(QWidget* view)
    : m_view(view)
    , m_size(view->size())
{
    QList<QWidget*> widgets = view->findChildren<QWidget*>();
    widgets.prepend(view);
    for (QWidget* widget : widgets) {
        if (!widget->isVisibleTo(view) && widget != view)
            continue;
        if (auto* canvas = qobject_cast<CanvasWidget*>(widget))
            m_canvases << canvas;
        auto* area = qobject_cast<QAbstractScrollArea*>(widget);
        if (area == nullptr)
            continue;
        Scrolled scrolled { area, area->horizontalScrollBar()->value(), area->verticalScrollBar()->value(), false };
        if (auto* items = qobject_cast<QAbstractItemView*>(area)) {
            scrolled.byItem = items->verticalScrollMode() == QAbstractItemView::ScrollPerItem;
            items->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel); // so that its range is told in pixels
        }
        m_areas << scrolled;
    }
    if (!view->isWindow())
        grow();
    for (CanvasWidget* canvas : m_canvases)
        canvas->showWhole(true);
}

void WholeView::grow()
{
    for (int round = 0; round < kRounds; ++round) {
        QSize missing(0, 0);
        for (const Scrolled& scrolled : m_areas) {
            const auto* down = scrolled.area->verticalScrollBar();
            const auto* right = scrolled.area->horizontalScrollBar();
            missing = missing.expandedTo(
                { scrolled.area->horizontalScrollBarPolicy() == Qt::ScrollBarAlwaysOff ? 0 : right->maximum() - right->minimum(),
                  down->maximum() - down->minimum() });
        }
        for (const CanvasWidget* canvas : m_canvases)
            missing = missing.expandedTo({ 0, canvas->missingHeight() });
        if (missing.isEmpty() && missing.width() <= 0 && missing.height() <= 0)
            return;
        const QSize size = m_view->size() + missing;
        m_view->resize(std::min(size.width(), kLongestSide), std::min(size.height(), kLongestSide));
        settleLayouts(m_view);
    }
}

WholeView::~WholeView()
{
    m_view->resize(m_size);
    settleLayouts(m_view);
    for (CanvasWidget* canvas : m_canvases)
        canvas->showWhole(false);
    for (const Scrolled& scrolled : m_areas) {
        auto* items = qobject_cast<QAbstractItemView*>(scrolled.area);
        if (items != nullptr && scrolled.byItem)
            items->setVerticalScrollMode(QAbstractItemView::ScrollPerItem);
        scrolled.area->horizontalScrollBar()->setValue(scrolled.horizontal);
        scrolled.area->verticalScrollBar()->setValue(scrolled.vertical);
    }
}

} // namespace shardboard
