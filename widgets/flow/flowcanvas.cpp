// SPDX-License-Identifier: Apache-2.0
#include "widgets/flow/flowcanvas.h"

#include "widgets/document/documentview.h"
#include "widgets/flow/flowlegend.h"
#include "widgets/look/axishues.h"
#include "widgets/look/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kLargestScale = 4;
constexpr std::array kHomeScales { 1.0, 0.95, 0.9, 0.85, 0.8, 0.75 }; ///< at which everything may be shown at first
constexpr double kReadable = 0.4; ///< smaller boxes have no text
constexpr double kBand = 4; ///< of a box's lower edge, in the colours of its result

} // namespace

FlowCanvas::FlowCanvas(Document* document, QWidget* parent)
    : CanvasWidget(document, QStringLiteral("flowCanvas"), tr("Operations and collectives"), Base::PaintedAnew, parent)
{
    m_viewport.setVerticalPlace(0);
    m_viewport.setLargestScale(kLargestScale);
}

QSize FlowCanvas::sizeHint() const { return { 640, 178 }; }
QSize FlowCanvas::minimumSizeHint() const { return { 200, 24 }; } // the window fits small screens

void FlowCanvas::setScene(FlowScene scene)
{
    const bool same = scene.name == m_scene.name && scene.items.size() == m_scene.items.size();
    m_scene = std::move(scene);
    if (!same)
        m_current = -1;
    m_step = -1;
    place(!same);
    update();
}

double FlowCanvas::amountOf(const FlowItem& item) const
{
    if (item.kind != FlowItem::CollectivePill)
        return 0;
    return item.bytes == 0 ? 0 : m_thickness == Thickness::Bytes ? static_cast<double>(item.bytes) : item.seconds;
}

double FlowCanvas::strokeOf(int index) const
{
    return flowStroke(amountOf(m_scene.items[static_cast<std::size_t>(index)]), m_largest);
}

void FlowCanvas::setThickness(Thickness thickness)
{
    m_thickness = thickness;
    place(false);
    update();
}

void FlowCanvas::setFilter(const QString& text)
{
    m_filter = text.trimmed();
    update();
}

bool FlowCanvas::matches(int index) const
{
    const FlowItem& item = m_scene.items[static_cast<std::size_t>(index)];
    if (!highlight().isEmpty() && !isOfLegend(item, document()->design().mesh, highlight()))
        return false;
    return m_filter.isEmpty() || item.title.contains(m_filter, Qt::CaseInsensitive)
        || item.detail.contains(m_filter, Qt::CaseInsensitive) || item.toolTip.contains(m_filter, Qt::CaseInsensitive);
}

QSizeF FlowCanvas::sizeOf(const FlowItem& item) const
{
    const bool pill = item.kind == FlowItem::CollectivePill;
    const double title = QFontMetricsF(uiFont(this, -0.5, true)).horizontalAdvance(item.title);
    const double detail = QFontMetricsF(monoFont(this, -2)).horizontalAdvance(item.detail);
    const double padding = pill ? 28 : item.kind == FlowItem::Small ? 16 : 24;
    return { std::max({ title, detail, item.kind == FlowItem::Small ? 30.0 : 48.0 }) + padding, kFlowBoxHeight * textScale(this) };
}

/// The boxes for the present width; and where one looks at, at first everything or the upper left in full size.
void FlowCanvas::place(bool home)
{
    std::vector<FlowBox> boxes;
    for (const FlowItem& item : m_scene.items)
        boxes.push_back({ sizeOf(item), item.hanging });
    const QRectF view = QRectF(rect()).adjusted(0, 0, 0, -1); // a line below
    const auto fits = [&](double scale) {
        return placeFlow(boxes, width() / scale, textScale(this)).size.height() * scale <= view.height();
    };
    if (home || m_atHome) { // longer lines, a little smaller, before one is out of sight
        const auto scale = std::find_if(kHomeScales.begin(), kHomeScales.end(), fits);
        m_lineScale = scale == kHomeScales.end() ? 1 : *scale;
    }
    const FlowPlacement placed = placeFlow(boxes, width() / m_lineScale, textScale(this));
    m_rects = placed.rects;
    m_largest = 0;
    if (const auto evaluation = document()->evaluation())
        for (const Collective& collective : evaluation->plan.collectives)
            m_largest =
                std::max(m_largest, m_thickness == Thickness::Bytes ? static_cast<double>(collective.bytes) : collective.seconds);
    m_viewport.setView(view);
    const QRectF world(QPointF(), placed.size);
    navigation()->forgetMap();
    if (home || m_atHome) {
        m_viewport.setWorld(world, 1);
        goHome();
    } else {
        m_viewport.replaceWorld(world);
    }
}

void FlowCanvas::goHome()
{
    m_viewport.fit();
    if (m_viewport.scale() < kHomeScales.back() - 0.01)
        m_viewport.show(QRectF(QPointF(), m_viewport.view().size()), 1);
    m_homeScale = m_viewport.scale();
    m_homeOrigin = m_viewport.toScreen(QPointF());
    m_atHome = true;
}

void FlowCanvas::viewMoved()
{
    m_atHome =
        qFuzzyCompare(m_viewport.scale(), m_homeScale) && (m_viewport.toScreen(QPointF()) - m_homeOrigin).manhattanLength() < 0.5;
}

/// Whether it is at home is kept for when all of it was seen.
void FlowCanvas::showWhole(bool whole)
{
    if (whole) {
        m_part = m_viewport;
        m_viewport.fit();
    } else {
        m_viewport = m_part;
        place(false);
    }
    update();
}

int FlowCanvas::missingHeight() const
{
    return std::max(0, static_cast<int>(std::ceil(m_viewport.world().height() - m_viewport.view().height())));
}

void FlowCanvas::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        place(false);
}

QRectF FlowCanvas::itemRect(int index) const
{
    return index >= 0 && index < static_cast<int>(m_rects.size()) ? m_viewport.toScreen(m_rects[static_cast<std::size_t>(index)])
                                                                  : QRectF();
}

int FlowCanvas::itemAt(const QPointF& point) const
{
    if (!m_viewport.view().contains(point))
        return -1;
    const QPointF at = m_viewport.toWorld(point);
    for (std::size_t i = 0; i < m_rects.size(); ++i)
        if (m_rects[i].contains(at))
            return static_cast<int>(i);
    return -1;
}

QRectF FlowCanvas::selectedPart() const
{
    QRectF part;
    for (std::size_t i = 0; i < m_rects.size(); ++i)
        if (static_cast<int>(i) == m_step || (m_step < 0 && isSelected(m_scene.items[i])))
            part = part.united(m_rects[i]);
    return part.isEmpty() ? part : part.adjusted(-24, -24, 24, 24);
}

/// Lines that are read from left to right are not to be covered; who zooms in moves in the picture, and sees where.
bool FlowCanvas::isInTheWay(const QRectF& map) const
{
    if (m_viewport.scale() > m_homeScale * 1.01)
        return false;
    return std::ranges::any_of(m_rects, [&](const QRectF& item) { return m_viewport.toScreen(item).intersects(map); });
}

void FlowCanvas::paintMap(QPainter& painter, const Viewport& map) const
{
    const Theme& theme = Theme::of(this);
    for (std::size_t i = 0; i < m_rects.size(); ++i) {
        const bool moves = m_scene.items[i].kind == FlowItem::CollectivePill && m_scene.items[i].bytes > 0;
        painter.fillRect(map.toScreen(m_rects[i]), moves ? theme.attention : theme.quiet);
    }
}

void FlowCanvas::reveal(int index)
{
    if (index < 0 || index >= static_cast<int>(m_rects.size()))
        return;
    auto owner = static_cast<std::size_t>(index); // what hangs is seen with the box that it hangs over
    while (m_scene.items[owner].hanging && owner + 1 < m_scene.items.size())
        ++owner;
    bringIntoSight(m_rects[static_cast<std::size_t>(index)].united(m_rects[owner]), 12);
}

void FlowCanvas::setStep(int index)
{
    if (index == m_step)
        return;
    m_step = index;
    if (index >= 0)
        m_current = index;
    reveal(index);
    update();
}

void FlowCanvas::activate(int index)
{
    if (index < 0 || index >= static_cast<int>(m_scene.items.size()))
        return;
    const FlowItem item = m_scene.items[static_cast<std::size_t>(index)]; // the scene may become another one
    if (item.kind == FlowItem::Folded) {
        Q_EMIT unfoldRequested(item.segment);
        return;
    }
    if (item.collective.valid()) {
        selection()->setCollective(item.collective);
        return;
    }
    if (!item.weights.empty()) {
        // A second click on a box of several weights goes on to the next one.
        const auto now = std::find(item.weights.begin(), item.weights.end(), selection()->weight());
        const bool next = now != item.weights.end() && std::next(now) != item.weights.end();
        selection()->setWeight(next ? *std::next(now) : item.weights.front());
    }
    selectOperation(item);
}

/// Of several operations in a box the one that takes the selected weight, else the one that does the work, so that it is
/// explained; a view of a value has nothing to explain.
void FlowCanvas::selectOperation(const FlowItem& item) const
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || item.segment >= evaluation->plan.segments.size())
        return;
    const auto& ops = evaluation->plan.segment(item.segment).ops;
    PlannedOpId best;
    int bestRank = -1;
    for (PlannedOpId i { 0 }; i < ops.size(); ++i) {
        if (std::find(item.ops.begin(), item.ops.end(), ops[i].op) == item.ops.end())
            continue;
        const bool ofWeight = !item.weights.empty() && weightOfOp(*evaluation, ops[i].op) == selection()->weight();
        const int rank = (ofWeight ? 2 : 0) + (ops[i].work.flops > 0 ? 1 : 0);
        if (rank > bestRank) {
            bestRank = rank;
            best = i;
        }
    }
    selection()->setOperation(item.segment, best);
}

bool FlowCanvas::isSelected(const FlowItem& item) const
{
    if (item.kind == FlowItem::Folded)
        return false;
    if (item.collective.valid())
        return item.collective == selection()->collective();
    if (item.weights.empty() && item.segment == selection()->segment() && selection()->operation().valid()) {
        const auto& segments = document()->evaluation()->plan.segments;
        if (item.segment >= segments.size())
            return false;
        const auto& ops = segments[item.segment].ops;
        const PlannedOpId operation = selection()->operation();
        return operation < ops.size() && std::find(item.ops.begin(), item.ops.end(), ops[operation].op) != item.ops.end();
    }
    return std::find(item.weights.begin(), item.weights.end(), selection()->weight()) != item.weights.end();
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

/// Side by side a stripe for each mesh axis that the value is cut over; dashed for those over which it is partial; else quiet.
void FlowCanvas::paintConnector(QPainter& painter, int from, int to) const
{
    const QRectF a = m_rects[static_cast<std::size_t>(from)];
    const QRectF b = m_rects[static_cast<std::size_t>(to)];
    const FlowInk& ink = m_scene.items[static_cast<std::size_t>(from)].ink;
    const double thickness = std::max(strokeOf(from), strokeOf(to));
    const AxisHues hues(document()->design().mesh);
    painter.setOpacity(highlight().isEmpty() || matches(from) ? 1 : 0.3);
    const auto paintLine = [&](const QPointF& begin, const QPointF& end) {
        paintFlowLine(painter, begin, end, ink, thickness, hues, this);
    };
    if (std::abs(a.center().y() - b.center().y()) < 1) {
        paintLine(QPointF(a.right(), a.center().y()), QPointF(b.left(), b.center().y()));
        painter.setOpacity(1);
        return;
    }
    // On to the next line: a short stub at both ends says that it goes on.
    paintLine(QPointF(a.right(), a.center().y()), QPointF(a.right() + 12, a.center().y()));
    paintLine(QPointF(b.left() - 12, b.center().y()), QPointF(b.left(), b.center().y()));
    painter.setOpacity(1);
}

void FlowCanvas::paintBand(QPainter& painter, const QRectF& rect, const FlowInk& ink) const
{
    const std::size_t count = ink.cut.size() + ink.partial.size();
    if (count == 0)
        return;
    painter.save();
    QPainterPath path;
    path.addRoundedRect(rect, kCanvasRadius, kCanvasRadius);
    painter.setClipPath(path, Qt::IntersectClip);
    const double wide = rect.width() / static_cast<double>(count);
    double x = rect.left();
    const AxisHues hues(document()->design().mesh);
    const auto piece = [&](int axis, bool partial) {
        const QRectF part(x, rect.bottom() - kBand, wide, kBand);
        if (partial)
            painter.fillRect(part, QBrush(hues.colorOf(axis), Qt::BDiagPattern));
        else
            painter.fillRect(part, hues.colorOf(axis));
        x += wide;
    };
    for (const int axis : ink.cut)
        piece(axis, false);
    for (const int axis : ink.partial)
        piece(axis, true);
    painter.restore();
}

void FlowCanvas::paintItem(QPainter& painter, int index) const
{
    const Theme& theme = Theme::of(this);
    const FlowItem& item = m_scene.items[static_cast<std::size_t>(index)];
    const QRectF rect = m_rects[static_cast<std::size_t>(index)].adjusted(0.5, 0.5, -0.5, -0.5);
    const bool pill = item.kind == FlowItem::CollectivePill;
    const bool folded = item.kind == FlowItem::Folded;
    const bool free = pill && item.bytes == 0; // a local slice moves nothing
    const bool selected = isSelected(item);
    painter.setOpacity(matches(index) ? 1 : 0.3);
    const QColor color = pill && !free ? theme.attention : theme.line;
    const double radius = pill ? rect.height() / 2 : kCanvasRadius;
    if (folded) { // a stack of sheets
        painter.setPen(QPen(theme.line, 1.2));
        painter.setBrush(theme.panel);
        painter.drawRoundedRect(rect.adjusted(4, -4, 4, -4), radius, radius);
        painter.drawRoundedRect(rect.adjusted(2, -2, 2, -2), radius, radius);
    }
    const bool current = index == m_step;
    painter.setPen(QPen(current || (selected && !pill) ? theme.accent : color, current || selected ? 2.5 : 1.2));
    painter.setBrush(current ? theme.selection : pill && !free ? theme.attentionFill : theme.panel);
    painter.drawRoundedRect(rect, radius, radius);
    if (!pill)
        paintBand(painter, rect.adjusted(1, 1, -1, -1), item.ink);
    if (selected && pill && !current) {
        painter.setPen(QPen(theme.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), radius + 3, radius + 3);
    }
    if (current) { // a mark that does not go by colour alone
        const QPointF tip(rect.center().x(), rect.top() - 1);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.accent);
        painter.drawPolygon(QPolygonF { tip, tip + QPointF(-6, -8), tip + QPointF(6, -8) });
    }
    if (isAbout(item, selection()->hoveredWeight())) {
        painter.setPen(QPen(theme.quiet, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-2.5, -2.5, 2.5, 2.5), radius + 2.5, radius + 2.5);
    }
    if (hasFocus() && index == m_current) {
        painter.setPen(QPen(theme.accent, 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-4, -4, 4, 4), radius + 4, radius + 4);
    }
    if (m_viewport.scale() < kReadable) {
        painter.setOpacity(1);
        return;
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
    painter.setOpacity(1);
}

void FlowCanvas::paintBase(QPainter& painter)
{
    const Theme& theme = Theme::of(this);
    painter.fillRect(rect(), theme.window);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF seen = m_viewport.visibleWorld().adjusted(-40, -40, 40, 40);
    painter.save();
    painter.setClipRect(m_viewport.view());
    painter.translate(m_viewport.toScreen(QPointF()));
    painter.scale(m_viewport.scale(), m_viewport.scale());
    const int count = static_cast<int>(m_scene.items.size());
    int before = -1;
    for (int i = 0; i < count; ++i) {
        const QRectF rect = m_rects[static_cast<std::size_t>(i)];
        if (m_scene.items[static_cast<std::size_t>(i)].hanging) {
            int owner = i;
            while (m_scene.items[static_cast<std::size_t>(owner)].hanging && owner + 1 < count)
                ++owner;
            if (!rect.intersects(seen))
                continue;
            painter.setPen(QPen(theme.attention, strokeOf(i)));
            painter.drawLine(QPointF(rect.center().x(), rect.bottom()),
                             QPointF(rect.center().x(), m_rects[static_cast<std::size_t>(owner)].top()));
            continue;
        }
        if (before >= 0 && (rect.intersects(seen) || m_rects[static_cast<std::size_t>(before)].intersects(seen)))
            paintConnector(painter, before, i);
        before = i;
    }
    for (int i = 0; i < count; ++i)
        if (m_rects[static_cast<std::size_t>(i)].intersects(seen))
            paintItem(painter, i);
    painter.restore();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(QRectF(kPanelMargin, height() - 1, width() - 2 * kPanelMargin, 1), theme.line);
}

QString FlowCanvas::toolTipAt(const QPointF& point) const
{
    const int index = itemAt(point);
    return index < 0 ? QString() : m_scene.items[static_cast<std::size_t>(index)].toolTip;
}

void FlowCanvas::mousePressEvent(QMouseEvent* event)
{
    if (const int index = itemAt(event->position()); event->button() == Qt::RightButton && index >= 0)
        m_current = index; // what the menu is about
    CanvasWidget::mousePressEvent(event);
}

void FlowCanvas::selectAt(const QPointF& point)
{
    const int index = itemAt(point);
    if (index >= 0)
        m_current = index;
    activate(index);
    update();
}

void FlowCanvas::hoverAt(const QPointF& point)
{
    const int index = itemAt(point);
    setCursor(index >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    int weight = -1;
    if (index >= 0) {
        const FlowItem& item = m_scene.items[static_cast<std::size_t>(index)];
        const auto evaluation = document()->evaluation();
        if (!item.weights.empty()) // of several the one that is selected
            weight = isAbout(item, selection()->weight()) ? selection()->weight() : item.weights.front();
        else if (evaluation && item.collective < evaluation->plan.collectives.size())
            weight = weightOfTensor(*evaluation, evaluation->plan.collective(item.collective).tensor);
    }
    selection()->setHoveredWeight(weight);
}

void FlowCanvas::leaveEvent(QEvent*) { selection()->setHoveredWeight(-1); }

/// Whether an item takes a weight, or moves it.
bool FlowCanvas::isAbout(const FlowItem& item, int weight) const
{
    if (weight < 0)
        return false;
    if (std::find(item.weights.begin(), item.weights.end(), weight) != item.weights.end())
        return true;
    const auto evaluation = document()->evaluation();
    if (!evaluation || item.collective >= evaluation->plan.collectives.size()
        || weight >= static_cast<int>(evaluation->weights.size()))
        return false;
    const TensorId tensor = evaluation->weights[static_cast<std::size_t>(weight)].tensor;
    return tensor != kNoTensor && evaluation->plan.collective(item.collective).tensor == tensor;
}

void FlowCanvas::updateHover()
{
    const int hovered = selection()->hoveredWeight();
    for (std::size_t i = 0; i < m_rects.size(); ++i) // no more than what changes
        if (isAbout(m_scene.items[i], hovered) != isAbout(m_scene.items[i], m_hovered))
            update(m_viewport.toScreen(m_rects[i]).adjusted(-8, -8, 8, 8).toAlignedRect());
    m_hovered = hovered;
}

/// To another item by the keyboard: it is selected, and the status bar says what its tool tip says.
void FlowCanvas::moveCurrent(int dx, int dy)
{
    const int index = flowNeighbour(m_rects, m_current, dx, dy);
    if (index < 0 || index >= static_cast<int>(m_scene.items.size()))
        return;
    m_current = index;
    const FlowItem item = m_scene.items[static_cast<std::size_t>(index)];
    overlayChanged(item.toolTip);
    if (item.kind != FlowItem::Folded)
        activate(index);
    reveal(index);
    tellStatus(item.toolTip);
}

void FlowCanvas::keyPressEvent(QKeyEvent* event)
{
    const bool shift = event->modifiers() & Qt::ShiftModifier;
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        activate(m_current);
        update();
        return;
    case Qt::Key_Space:
        Q_EMIT playRequested();
        return;
    case Qt::Key_Period:
    case Qt::Key_Greater:
        Q_EMIT stepRequested(1, shift);
        return;
    case Qt::Key_Comma:
    case Qt::Key_Less:
        Q_EMIT stepRequested(-1, shift);
        return;
    case Qt::Key_Home:
    case Qt::Key_End:
        Q_EMIT endRequested(event->key() == Qt::Key_End);
        return;
    default:
        CanvasWidget::keyPressEvent(event);
    }
}

} // namespace shardboard
