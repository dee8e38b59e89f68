// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/weighthover.h"

#include "widgets/look/theme.h"

#include "model/session/selection.h"

#include <QAbstractItemView>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <utility>

namespace shardboard {

WeightHover::WeightHover(QAbstractItemView* view, Selection* selection, Weights weights)
    : QWidget(view)
    , m_view(view)
    , m_selection(selection)
    , m_weights(std::move(weights))
{
    setObjectName(QStringLiteral("weightHover"));
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_NoSystemBackground);
    setFocusPolicy(Qt::NoFocus);
    hide();
    view->viewport()->setMouseTracking(true);
    view->viewport()->installEventFilter(this);
    connect(selection, &Selection::weightHoverChanged, this, &WeightHover::follow);
    for (const QScrollBar* bar : { view->verticalScrollBar(), view->horizontalScrollBar() })
        connect(bar, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
}

std::vector<QRect> WeightHover::marked() const
{
    std::vector<QRect> out;
    const int hovered = m_selection && !m_own ? m_selection->hoveredWeight() : -1;
    const QRect seen = m_view->viewport()->rect();
    for (int y = 0; hovered >= 0 && y < seen.height();) {
        const QModelIndex index = m_view->indexAt(QPoint(2, y));
        const QRect row = m_view->visualRect(index);
        if (!index.isValid() || row.bottom() < y)
            break;
        if (const auto about = m_weights(index); std::find(about.begin(), about.end(), hovered) != about.end())
            out.emplace_back(0, row.top(), seen.width(), row.height());
        y = row.bottom() + 1;
    }
    return out;
}

void WeightHover::follow()
{
    const bool shown = m_selection && m_selection->hoveredWeight() >= 0 && !m_own && m_view->isVisible() && !marked().empty();
    if (shown) {
        setGeometry(m_view->viewport()->geometry());
        raise();
    }
    setVisible(shown);
    update();
}

void WeightHover::say(const QPoint& at)
{
    if (m_silent)
        return;
    const QModelIndex index = m_view->indexAt(at);
    const auto about = index.isValid() ? m_weights(index) : std::vector<int>();
    m_own = true;
    if (m_selection && std::find(about.begin(), about.end(), m_selection->hoveredWeight()) == about.end())
        m_selection->setHoveredWeight(about.empty() ? -1 : about.front());
    if (isVisible())
        hide();
}

void WeightHover::fall()
{
    if (std::exchange(m_own, false) && m_selection)
        m_selection->setHoveredWeight(-1);
}

bool WeightHover::eventFilter(QObject* watched, QEvent* event)
{
    switch (event->type()) {
    case QEvent::MouseMove:
        say(static_cast<QMouseEvent*>(event)->position().toPoint());
        break;
    case QEvent::Leave:
    case QEvent::Hide:
        fall();
        break;
    case QEvent::Resize:
    case QEvent::Move:
        if (isVisible())
            setGeometry(m_view->viewport()->geometry());
        break;
    default:
        break;
    }
    return QWidget::eventFilter(watched, event);
}

void WeightHover::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(Theme::of(this).quiet, 1.5));
    for (const QRect& row : marked())
        painter.drawRoundedRect(QRectF(row).adjusted(1, 1.5, -4, -1.5), kCornerRadius, kCornerRadius);
}

} // namespace shardboard
