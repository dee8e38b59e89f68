// SPDX-License-Identifier: Apache-2.0
#include "widgets/flowcanvas.h"

#include "widgets/documentview.h"
#include "widgets/theme.h"

#include "model/session/selection.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kGap = 16; ///< between items, crossed by the connector
constexpr double kBoxHeight = 44;
constexpr double kHangingHeight = 38; ///< above the line, for collectives of weights
constexpr double kLineGap = 16;
constexpr double kFooter = 24;

} // namespace

FlowCanvas::FlowCanvas(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
{
    setObjectName(QStringLiteral("flowCanvas"));
    setAccessibleName(tr("Operations and collectives"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void FlowCanvas::setScene(FlowScene scene)
{
    m_scene = std::move(scene);
    m_current = -1;
    const double height = place(width(), m_rects);
    setMinimumHeight(static_cast<int>(height));
    updateGeometry();
    update();
}

QSizeF FlowCanvas::sizeOf(const FlowItem& item) const
{
    const bool pill = item.kind == FlowItem::CollectivePill;
    const double title = QFontMetricsF(uiFont(this, -0.5, true)).horizontalAdvance(item.title);
    const double detail = QFontMetricsF(monoFont(this, -2)).horizontalAdvance(item.detail);
    const double padding = pill ? 28 : item.kind == FlowItem::Small ? 16 : 24;
    return { std::max({ title, detail, item.kind == FlowItem::Small ? 30.0 : 48.0 }) + padding, kBoxHeight * textScale(this) };
}

double FlowCanvas::place(double width, std::vector<QRectF>& rects) const
{
    rects.assign(m_scene.items.size(), QRectF());
    const double right = std::max(200.0, width) - kPanelMargin;
    double x = kPanelMargin;
    double y = 8;
    std::size_t lineStart = 0;
    // A line is moved down when one of its items has a collective hanging above it.
    const auto finishLine = [&](std::size_t end) {
        bool hanging = false;
        for (std::size_t i = lineStart; i < end; ++i)
            hanging = hanging || m_scene.items[i].hanging;
        if (hanging)
            for (std::size_t i = lineStart; i < end; ++i)
                if (!m_scene.items[i].hanging)
                    rects[i].translate(0, kHangingHeight * textScale(this) + 8);
        y += kBoxHeight * textScale(this) + kLineGap + (hanging ? kHangingHeight * textScale(this) + 8 : 0);
        x = kPanelMargin;
        lineStart = end;
    };
    for (std::size_t i = 0; i < m_scene.items.size();) {
        std::size_t owner = i; // hanging ones go with the item that they belong to
        while (owner + 1 < m_scene.items.size() && m_scene.items[owner].hanging)
            ++owner;
        double width2 = 0;
        for (std::size_t k = i; k < owner; ++k)
            width2 += sizeOf(m_scene.items[k]).width() + 6;
        const QSizeF size = sizeOf(m_scene.items[owner]);
        const double needed = std::max(width2, size.width());
        if (x > kPanelMargin && x + needed > right)
            finishLine(i);
        double above = x + std::max(0.0, (size.width() - width2) / 2);
        for (std::size_t k = i; k < owner; ++k) {
            rects[k] = QRectF(above, y, sizeOf(m_scene.items[k]).width(), kHangingHeight * textScale(this));
            above += rects[k].width() + 6;
        }
        rects[owner] = QRectF(QPointF(x + std::max(0.0, (width2 - size.width()) / 2), y), size);
        x += needed + kGap;
        i = owner + 1;
    }
    finishLine(m_scene.items.size());
    return y + (m_scene.residual.isEmpty() ? 0 : kFooter * textScale(this));
}

int FlowCanvas::heightForWidth(int width) const
{
    std::vector<QRectF> rects;
    return static_cast<int>(place(width, rects));
}

QSize FlowCanvas::sizeHint() const { return { 640, heightForWidth(std::max(width(), 640)) }; }

void FlowCanvas::resizeEvent(QResizeEvent*)
{
    const double height = place(width(), m_rects);
    setMinimumHeight(static_cast<int>(height));
}

QRectF FlowCanvas::itemRect(int index) const
{
    return index >= 0 && index < static_cast<int>(m_rects.size()) ? m_rects[static_cast<std::size_t>(index)] : QRectF();
}

int FlowCanvas::itemAt(const QPointF& point) const
{
    for (std::size_t i = 0; i < m_rects.size(); ++i)
        if (m_rects[i].contains(point))
            return static_cast<int>(i);
    return -1;
}

void FlowCanvas::activate(int index)
{
    if (index < 0 || index >= static_cast<int>(m_scene.items.size()))
        return;
    const FlowItem& item = m_scene.items[static_cast<std::size_t>(index)];
    Selection* selection = m_document->selection();
    if (item.collective >= 0) {
        selection->setCollective(item.collective);
    } else if (!item.weights.empty()) {
        // A second click on a box of several weights goes on to the next one.
        const auto now = std::find(item.weights.begin(), item.weights.end(), selection->weight());
        const bool next = now != item.weights.end() && std::next(now) != item.weights.end();
        selection->setWeight(next ? *std::next(now) : item.weights.front());
    }
    if (item.collective < 0)
        selectOperation(item);
}

/// Of several operations in a box the one that takes the selected weight, else the one that does the work, so that it is
/// explained; a view of a value has nothing to explain.
void FlowCanvas::selectOperation(const FlowItem& item) const
{
    const auto evaluation = m_document->evaluation();
    if (!evaluation || item.segment < 0 || item.segment >= static_cast<int>(evaluation->plan.segments.size()))
        return;
    const auto& ops = evaluation->plan.segments[static_cast<std::size_t>(item.segment)].ops;
    const Selection* selection = m_document->selection();
    int best = -1;
    int bestRank = -1;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (std::find(item.ops.begin(), item.ops.end(), ops[i].op) == item.ops.end())
            continue;
        const bool ofWeight = !item.weights.empty() && weightOfOp(*evaluation, ops[i].op) == selection->weight();
        const int rank = (ofWeight ? 2 : 0) + (ops[i].work.flops > 0 ? 1 : 0);
        if (rank > bestRank) {
            bestRank = rank;
            best = static_cast<int>(i);
        }
    }
    m_document->selection()->setOperation(item.segment, best);
}

bool FlowCanvas::isSelected(const FlowItem& item) const
{
    const Selection* selection = m_document->selection();
    if (item.collective >= 0)
        return item.collective == selection->collective();
    if (item.weights.empty() && item.segment == selection->segment() && selection->operation() >= 0) {
        const auto& segments = m_document->evaluation()->plan.segments;
        const auto& ops = segments[static_cast<std::size_t>(item.segment)].ops;
        const auto index = static_cast<std::size_t>(selection->operation());
        return index < ops.size() && std::find(item.ops.begin(), item.ops.end(), ops[index].op) != item.ops.end();
    }
    return std::find(item.weights.begin(), item.weights.end(), selection->weight()) != item.weights.end();
}

int FlowCanvas::accessibleCount() const { return static_cast<int>(m_scene.items.size()); }

QString FlowCanvas::accessibleItemName(int index) const
{
    if (index < 0 || index >= accessibleCount())
        return {};
    const FlowItem& item = m_scene.items[static_cast<std::size_t>(index)];
    return item.toolTip.isEmpty() ? item.title + QLatin1Char('\n') + item.detail : item.title + QLatin1Char('\n') + item.toolTip;
}

QRectF FlowCanvas::accessibleItemRect(int index) const { return itemRect(index); }
int FlowCanvas::accessibleItemAt(const QPointF& point) const { return itemAt(point); }
int FlowCanvas::accessibleCurrent() const { return m_current; }

bool FlowCanvas::isAccessibleSelected(int index) const
{
    return index >= 0 && index < accessibleCount() && isSelected(m_scene.items[static_cast<std::size_t>(index)]);
}

void FlowCanvas::paintConnector(QPainter& painter, int from, int to) const
{
    const Theme& theme = Theme::of(this);
    const QRectF a = m_rects[static_cast<std::size_t>(from)];
    const QRectF b = m_rects[static_cast<std::size_t>(to)];
    const std::int64_t bytes = std::max(m_scene.items[static_cast<std::size_t>(from)].bytes,
                                        m_scene.items[static_cast<std::size_t>(to)].bytes);
    const double mib = static_cast<double>(bytes) / (1024.0 * 1024.0);
    const double thickness = bytes == 0 ? 2 : std::clamp(2 + std::log2(1 + mib) / 2, 2.0, 8.0);
    painter.setPen(QPen(blended(theme.window, theme.quiet, 0.7), thickness));
    if (std::abs(a.center().y() - b.center().y()) < 1) {
        painter.drawLine(QPointF(a.right(), a.center().y()), QPointF(b.left(), b.center().y()));
        return;
    }
    // On to the next line: a short stub at both ends says that it goes on.
    painter.drawLine(QPointF(a.right(), a.center().y()), QPointF(a.right() + 10, a.center().y()));
    painter.drawLine(QPointF(b.left() - 10, b.center().y()), QPointF(b.left(), b.center().y()));
}

void FlowCanvas::paintItem(QPainter& painter, int index) const
{
    const Theme& theme = Theme::of(this);
    const FlowItem& item = m_scene.items[static_cast<std::size_t>(index)];
    const QRectF rect = m_rects[static_cast<std::size_t>(index)].adjusted(0.5, 0.5, -0.5, -0.5);
    const bool pill = item.kind == FlowItem::CollectivePill;
    const bool free = pill && item.bytes == 0; // a local slice moves nothing
    const bool selected = isSelected(item);
    const QColor color = pill && !free ? theme.attention : theme.line;
    painter.setPen(QPen(selected && !pill ? theme.accent : color, selected ? 2.5 : 1.2));
    painter.setBrush(pill && !free ? theme.attentionFill : theme.panel);
    const double radius = pill ? rect.height() / 2 : kCanvasRadius;
    painter.drawRoundedRect(rect, radius, radius);
    if (selected && pill) {
        painter.setPen(QPen(theme.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), radius + 3, radius + 3);
    }
    if (hasFocus() && index == m_current) {
        painter.setPen(QPen(theme.accent, 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-4, -4, 4, 4), radius + 4, radius + 4);
    }
    const QFont titleFont = uiFont(this, -0.5, item.kind != FlowItem::Small);
    const QFont detailFont = monoFont(this, -2);
    const double titleHeight = QFontMetricsF(titleFont).height();
    const double detailHeight = QFontMetricsF(detailFont).height();
    double y = rect.center().y() - (titleHeight + (item.detail.isEmpty() ? 0 : detailHeight)) / 2;
    painter.setFont(titleFont);
    painter.setPen(pill && !free ? theme.attention : item.kind == FlowItem::Small || free ? theme.quiet : theme.text);
    painter.drawText(QRectF(rect.left(), y, rect.width(), titleHeight), Qt::AlignCenter, item.title);
    y += titleHeight;
    painter.setFont(detailFont);
    painter.setPen(pill && !free ? theme.attention : theme.quiet);
    painter.drawText(QRectF(rect.left(), y, rect.width(), detailHeight), Qt::AlignCenter, item.detail);
}

void FlowCanvas::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    painter.setRenderHint(QPainter::Antialiasing);
    int before = -1;
    for (int i = 0; i < static_cast<int>(m_scene.items.size()); ++i) {
        if (m_scene.items[static_cast<std::size_t>(i)].hanging) {
            int owner = i;
            while (m_scene.items[static_cast<std::size_t>(owner)].hanging
                   && owner + 1 < static_cast<int>(m_scene.items.size()))
                ++owner;
            const QRectF rect = m_rects[static_cast<std::size_t>(i)];
            painter.setPen(QPen(theme.attention, 3));
            painter.drawLine(QPointF(rect.center().x(), rect.bottom()),
                             QPointF(rect.center().x(), m_rects[static_cast<std::size_t>(owner)].top()));
            continue;
        }
        if (before >= 0)
            paintConnector(painter, before, i);
        before = i;
    }
    for (int i = 0; i < static_cast<int>(m_scene.items.size()); ++i)
        paintItem(painter, i);
    if (hasFocus() && m_current < 0) { // keys have not chosen an item yet
        painter.setPen(QPen(theme.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
    if (m_scene.residual.isEmpty() || m_rects.empty())
        return;
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double top = m_rects.back().bottom() + kLineGap;
    painter.fillRect(QRectF(kPanelMargin, top, width() - 2 * kPanelMargin, 1), theme.line);
    painter.setPen(theme.quiet);
    painter.setFont(uiFont(this, -1.5));
    const double room = width() - 2 * kPanelMargin;
    painter.drawText(QRectF(kPanelMargin, top + 2, room, kFooter * textScale(this) - 2), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(m_scene.residual, Qt::ElideRight, static_cast<int>(room)));
}

void FlowCanvas::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    const int index = itemAt(event->position());
    if (index >= 0)
        m_current = index;
    activate(index);
    update();
}

void FlowCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const int index = itemAt(event->position());
    setCursor(index >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void FlowCanvas::keyPressEvent(QKeyEvent* event)
{
    const int count = static_cast<int>(m_scene.items.size());
    const int key = event->key();
    if (count > 0 && (key == Qt::Key_Left || key == Qt::Key_Right)) {
        m_current = std::clamp(m_current + (key == Qt::Key_Right ? 1 : -1), 0, count - 1);
        setAccessibleDescription(m_scene.items[static_cast<std::size_t>(m_current)].toolTip);
        reportCurrent(this);
        Q_EMIT currentMoved(itemRect(m_current).toAlignedRect());
        update();
    } else if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) {
        activate(m_current);
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool FlowCanvas::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const int index = itemAt(help->pos());
        if (index >= 0)
            QToolTip::showText(help->globalPos(), m_scene.items[static_cast<std::size_t>(index)].toolTip, this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace shardboard
