// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/modelcanvas.h"

#include "widgets/document/documentview.h"
#include "widgets/document/weightpattern.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/tiles/treemap.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace shardboard {

namespace {

constexpr double kHeader = 18; ///< of a cell with a name
constexpr double kNamed = 56; ///< narrower cells have none
constexpr double kDetailed = 10; ///< cells below this have one colour
constexpr double kBand = 3; ///< narrower tiles are pixels of a thumbnail
constexpr double kEdged = 14; ///< smaller tiles have no edge
constexpr double kUnmatched = 0.2; ///< opacity of what does not match

QString partText(std::int64_t part, std::int64_t whole)
{
    return whole > 0 ? percentText(static_cast<double>(part) / static_cast<double>(whole)) : QString();
}

} // namespace

ModelCanvas::ModelCanvas(Document* document, QWidget* parent)
    : CanvasWidget(document, QStringLiteral("modelCanvas"), tr("All weights"), Base::Kept, parent)
{
}

std::int64_t ModelCanvas::heldDevice() const
{
    const auto& evaluation = m_evaluation;
    const std::int64_t device = selection()->device();
    return evaluation && device >= 0 && device < evaluation->plan.mesh.deviceCount() ? device : 0;
}

std::int64_t ModelCanvas::heldBytes() const
{
    std::int64_t bytes = 0;
    for (const DeviceWeight& held : m_weights)
        bytes += held.bytes;
    return bytes;
}

std::int64_t ModelCanvas::allBytes() const
{
    const auto& evaluation = m_evaluation;
    return evaluation ? evaluation->weightBytes : 0;
}

int ModelCanvas::shownWeights() const { return static_cast<int>(m_cells.size()); }

QRectF ModelCanvas::area() const { return QRectF(rect()).adjusted(kPanelMargin, 4, -kPanelMargin, -4); }

void ModelCanvas::setHeld(bool held)
{
    if (held == m_held)
        return;
    m_held = held;
    refresh();
}

void ModelCanvas::refresh()
{
    m_weights.clear();
    m_evaluation = document()->evaluation();
    if (m_evaluation)
        m_weights = weightsOnDevice(*m_evaluation, heldDevice());
    layOut();
    updateOverlay();
}

void ModelCanvas::layOut()
{
    m_cells.clear();
    forgetBase();
    m_viewport.setView(area());
    const QRectF world(0, 0, std::max(50.0, area().width()), std::max(50.0, area().height()));
    m_viewport.setWorld(world, 1);
    navigation()->forgetMap();
    const auto& evaluation = m_evaluation;
    if (!evaluation)
        return;
    std::vector<double> bytes;
    for (const DeviceWeight& held : m_weights) {
        const WeightLayout& weight = evaluation->weights[static_cast<std::size_t>(held.weight)];
        bytes.push_back(m_held ? static_cast<double>(held.bytes)
                               : static_cast<double>(bytesOf(weight.spec)) * static_cast<double>(weight.copies));
    }
    const auto rects = treemap(bytes, world);
    for (std::size_t i = 0; i < rects.size(); ++i) {
        if (rects[i].isEmpty())
            continue;
        const DeviceWeight& held = m_weights[i];
        const WeightLayout& weight = evaluation->weights[static_cast<std::size_t>(held.weight)];
        Cell cell;
        cell.weight = held.weight;
        cell.rect = rects[i];
        cell.name = shortName(weight.spec.name);
        const std::int64_t copies = m_held ? held.copies : weight.copies;
        cell.shortest = cell.name.section(QLatin1Char('.'), -1);
        if (copies > 1)
            for (QString* name : { &cell.name, &cell.shortest })
                *name += QStringLiteral(" × %1").arg(copies);
        cell.amount = bytesText(static_cast<std::int64_t>(bytes[i]));
        cell.frame = makeTileFrame(weight);
        cell.kinds.whole = cell.frame.replicated;
        cell.kinds.cut = !cell.frame.replicated;
        if (!m_held) // there a cell has the colour of one shard
            for (const auto* bands : { &cell.frame.rows, &cell.frame.columns })
                for (const Band& band : *bands) {
                    cell.kinds.padded = cell.kinds.padded || band.padded;
                    cell.kinds.uneven = cell.kinds.uneven || (band.uneven && !band.padded);
                }
        cell.color = weight.shards.distinctIndex(heldDevice());
        if (m_held)
            cell.range = shardText(held.shard);
        m_cells.push_back(std::move(cell));
    }
    updateQuiet();
}

void ModelCanvas::setFilter(const QString& text)
{
    m_filter = text.trimmed();
    updateQuiet();
}

void ModelCanvas::updateQuiet()
{
    const auto& evaluation = m_evaluation;
    const auto isKind = [this](const TileKinds& kinds) {
        return highlight() == QLatin1String("cut")   ? kinds.cut
            : highlight() == QLatin1String("uneven") ? kinds.uneven
            : highlight() == QLatin1String("padded") ? kinds.padded
                                                     : kinds.whole;
    };
    const WeightPattern pattern(m_filter);
    for (Cell& cell : m_cells)
        cell.quiet = (evaluation && !pattern.matches(evaluation->weights[static_cast<std::size_t>(cell.weight)]))
            || (!highlight().isEmpty() && !isKind(cell.kinds));
    forgetBase();
    update();
}

TileKinds ModelCanvas::kinds() const
{
    TileKinds out;
    for (const Cell& cell : m_cells) {
        out.cut = out.cut || cell.kinds.cut;
        out.uneven = out.uneven || cell.kinds.uneven;
        out.padded = out.padded || cell.kinds.padded;
        out.whole = out.whole || cell.kinds.whole;
    }
    return out;
}

QString ModelCanvas::toldText() const
{
    if (m_cells.empty())
        return document()->hasDesign() ? tr("Nothing is held here.") : tr("No design is open.");
    const int told = cellOf(hoveredWeight()) ? hoveredWeight() : selection()->weight();
    return cellOf(told) ? weightText(told).section(QLatin1Char('\n'), 2).replace(QLatin1Char('\n'), QStringLiteral(" · "))
                        : tr("Area: bytes. Zoom with the wheel, open a weight with Enter or a double click.");
}

std::vector<int> ModelCanvas::matches() const
{
    std::vector<int> out;
    for (const Cell& cell : m_cells)
        if (!cell.quiet)
            out.push_back(cell.weight);
    std::sort(out.begin(), out.end());
    return out;
}

void ModelCanvas::updateOverlay()
{
    const int weight = selection()->weight();
    overlayChanged(cellOf(weight) ? weightText(weight) : QString());
}

/// No more than the two cells is painted anew.
void ModelCanvas::updateHover()
{
    for (const int weight : { std::exchange(m_hovered, hoveredWeight()), hoveredWeight() })
        if (const QRectF place = weightRect(weight); !place.isEmpty())
            update(place.adjusted(-3, -3, 3, 3).toAlignedRect());
}

const ModelCanvas::Cell* ModelCanvas::cellOf(int weight) const
{
    const auto cell = std::find_if(m_cells.begin(), m_cells.end(), [weight](const Cell& it) { return it.weight == weight; });
    return cell == m_cells.end() ? nullptr : &*cell;
}

/// None while this view still shows an evaluation that the document has no more.
int ModelCanvas::hoveredWeight() const { return m_evaluation == document()->evaluation() ? selection()->hoveredWeight() : -1; }

QRectF ModelCanvas::weightRect(int weight) const
{
    const Cell* cell = cellOf(weight);
    return cell ? m_viewport.toScreen(cell->rect) : QRectF();
}

int ModelCanvas::weightAt(const QPointF& point) const
{
    if (!area().contains(point))
        return -1;
    const QPointF at = m_viewport.toWorld(point);
    for (const Cell& cell : m_cells)
        if (cell.rect.contains(at))
            return cell.weight;
    return -1;
}

QString ModelCanvas::weightText(int weight) const
{
    const auto& evaluation = m_evaluation;
    const auto held =
        std::find_if(m_weights.begin(), m_weights.end(), [weight](const DeviceWeight& it) { return it.weight == weight; });
    if (!evaluation || held == m_weights.end())
        return {};
    const WeightLayout& shown = evaluation->weights[static_cast<std::size_t>(weight)];
    const std::int64_t bytes = bytesOf(shown.spec) * shown.copies;
    QString out = qstr(shown.spec.name) + QLatin1Char('\n') + qstr(dtypeName(shown.spec.dtype)) + QStringLiteral(" · ")
        + shapeLabel(shown.spec.shape);
    if (shown.copies > 1)
        out += tr(" · %1 layers").arg(shown.copies);
    out += tr("\n%1, %2 of the model · %3").arg(bytesText(bytes), partText(bytes, evaluation->weightBytes), parallelText(shown));
    const QString device = tr("device %1").arg(evaluation->plan.mesh.deviceId(heldDevice()));
    out += held->bytes > 0 ? tr("\n%1 holds %2 of each, %3 together").arg(device, shardText(held->shard), bytesText(held->bytes))
                           : tr("\n%1 holds nothing of it").arg(device);
    return out;
}

int ModelCanvas::indexOf(int weight) const
{
    const Cell* cell = cellOf(weight);
    return cell ? static_cast<int>(cell - m_cells.data()) : -1;
}

int ModelCanvas::accessibleCount() const { return static_cast<int>(m_cells.size()); }

QString ModelCanvas::accessibleItemName(int index) const
{
    return index < 0 || index >= accessibleCount() ? QString() : weightText(m_cells[static_cast<std::size_t>(index)].weight);
}

QRectF ModelCanvas::accessibleItemRect(int index) const
{
    return index < 0 || index >= accessibleCount()
        ? QRectF()
        : m_viewport.toScreen(m_cells[static_cast<std::size_t>(index)].rect).intersected(area());
}

int ModelCanvas::accessibleItemAt(const QPointF& point) const { return indexOf(weightAt(point)); }
int ModelCanvas::accessibleCurrent() const { return indexOf(selection()->weight()); }

bool ModelCanvas::isAccessibleSelected(int index) const
{
    const auto& weights = selection()->weights();
    return index >= 0 && index < accessibleCount()
        && std::find(weights.begin(), weights.end(), m_cells[static_cast<std::size_t>(index)].weight) != weights.end();
}

void ModelCanvas::accessibleActivate(int index)
{
    if (index >= 0 && index < accessibleCount())
        selection()->setWeight(m_cells[static_cast<std::size_t>(index)].weight);
}

/// Where the tiles of a cell are: below its name, if it has one.
QRectF ModelCanvas::tilesRect(const QRectF& rect) const
{
    const QRectF inner = rect.adjusted(1, 1, -1, -1);
    return inner.width() >= kNamed * textScale(this) && inner.height() >= kHeader * textScale(this) + 10
        ? inner.adjusted(0, kHeader * textScale(this), 0, 0)
        : inner;
}

void ModelCanvas::paintBase(QPainter& painter)
{
    painter.fillRect(rect(), Theme::of(this).window);
    painter.save();
    painter.setClipRect(area());
    const QRectF visible = m_viewport.visibleWorld();
    for (const Cell& cell : m_cells)
        if (cell.rect.intersects(visible)) {
            painter.setOpacity(cell.quiet ? kUnmatched : 1);
            paintCell(painter, cell, m_viewport.toScreen(cell.rect));
        }
    painter.restore();
}

void ModelCanvas::paintCell(QPainter& painter, const Cell& cell, const QRectF& rect) const
{
    const Theme& theme = Theme::of(this);
    const QRectF tiles = tilesRect(rect);
    painter.fillRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), theme.panel);
    const QRect pixels = tiles.intersected(QRectF(rect)).toAlignedRect();
    paintTiles(painter, cell, pixels);
    if (tiles.top() < rect.top() + kHeader * textScale(this))
        return;
    // The part of the header that is in sight, so that a cell that fills the view still says what it is.
    const QRectF room = area();
    const double left = std::max(rect.left(), room.left());
    const QRectF header(left + 6, rect.top() + 1, std::min(rect.right(), room.right()) - left - 10, kHeader * textScale(this));
    const QFont bold = uiFont(this, -1.5, true);
    const QFont mono = monoFont(this, -2.5);
    const QFontMetricsF metrics(bold);
    const double amount = QFontMetricsF(mono).horizontalAdvance(cell.amount) + 8;
    painter.setFont(bold);
    painter.setPen(theme.text);
    // The name or its last part with the bytes, else without them, else as much of it as there is room for.
    QString name = metrics.elidedText(cell.shortest, Qt::ElideRight, header.width());
    for (const auto& [text, beside] : { std::pair(cell.name, amount), std::pair(cell.shortest, amount), std::pair(cell.name, 0.0),
                                        std::pair(cell.shortest, 0.0) })
        if (metrics.horizontalAdvance(text) + beside <= header.width()) {
            name = text;
            break;
        }
    painter.drawText(header, Qt::AlignLeft | Qt::AlignVCenter, name);
    painter.setPen(theme.quiet);
    painter.setFont(mono);
    if (metrics.horizontalAdvance(name) + amount <= header.width())
        painter.drawText(header, Qt::AlignRight | Qt::AlignVCenter, cell.amount);
}

void ModelCanvas::paintTiles(QPainter& painter, const Cell& cell, const QRect& rect) const
{
    const Theme& theme = Theme::of(this);
    const auto fill = [&](const QRect& place, const PartColor& color) {
        painter.fillRect(place, color.fill);
        if (color.hatch != Qt::NoBrush && std::min(place.width(), place.height()) > 4)
            painter.fillRect(place, QBrush(color.hatchColor, color.hatch));
    };
    if (cell.frame.replicated) {
        painter.fillRect(rect, theme.track);
        painter.setPen(theme.quiet);
        painter.setFont(uiFont(this, -1.5));
        const auto& pipeline = m_evaluation->plan.pipeline;
        const QString text = pipeline && pipeline->stages > 1 ? tr("on all devices of a stage") : tr("on all devices");
        if (painter.fontMetrics().horizontalAdvance(text) + 8 < rect.width() && painter.fontMetrics().height() < rect.height())
            painter.drawText(rect, Qt::AlignCenter, text);
        return;
    }
    if (m_held) {
        const PartColor color = cell.frame.colors.at(cell.color);
        fill(rect, color);
        painter.setPen(color.label);
        painter.setFont(monoFont(this, -2));
        if (painter.fontMetrics().horizontalAdvance(cell.range) + 10 < rect.width()
            && painter.fontMetrics().height() < rect.height())
            painter.drawText(rect, Qt::AlignCenter, cell.range);
        return;
    }
    const auto& rows = cell.frame.rows;
    const auto& columns = cell.frame.columns;
    if (std::min(rect.width(), rect.height()) < kDetailed) {
        fill(rect, cell.frame.colors.at(colorOfParts(cell.frame, rows.front(), columns.front())));
        return;
    }
    if (rect.width() < kBand * static_cast<double>(columns.size()) || rect.height() < kBand * static_cast<double>(rows.size())) {
        // More tiles than can be told apart: one colour a pixel of a small picture.
        constexpr int kSide = 96;
        QImage image(std::min(kSide, std::max(1, static_cast<int>(columns.size()))),
                     std::min(kSide, std::max(1, static_cast<int>(rows.size()))), QImage::Format_RGB32);
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                image.setPixel(
                    x, y,
                    cell.frame.colors
                        .at(colorOfParts(
                            cell.frame, rows[rows.size() * static_cast<std::size_t>(y) / static_cast<std::size_t>(image.height())],
                            columns[columns.size() * static_cast<std::size_t>(x) / static_cast<std::size_t>(image.width())]))
                        .fill.rgb());
        painter.drawImage(rect, image);
        return;
    }
    const auto x = [&](std::int64_t at) {
        return rect.left()
            + static_cast<int>(std::lround(rect.width() * (static_cast<double>(at) / static_cast<double>(cell.frame.columnSize))));
    };
    const auto y = [&](std::int64_t at) {
        return rect.top()
            + static_cast<int>(std::lround(rect.height() * (static_cast<double>(at) / static_cast<double>(cell.frame.rowSize))));
    };
    const QRect visible = area().toAlignedRect();
    for (const Band& row : rows) {
        const int top = y(row.range.lo);
        const int bottom = y(row.range.hi);
        if (bottom < visible.top() || top > visible.bottom())
            continue;
        for (const Band& column : columns) {
            const QRect place(QPoint(x(column.range.lo), top),
                              QPoint(x(column.range.hi) - (columns.size() > 1 ? 2 : 1), bottom - (rows.size() > 1 ? 2 : 1)));
            if (!place.intersects(visible))
                continue;
            const PartColor color = cell.frame.colors.at(colorOfParts(cell.frame, row, column));
            fill(place.intersected(visible.adjusted(-40, -40, 40, 40)), color);
            if ((row.uneven || column.uneven) && std::min(place.width(), place.height()) >= kEdged)
                paintTileEdge(painter, place, row, column, color.label);
        }
    }
}

/// What the shown device holds of a weight, wherever its tiles can be told apart.
void ModelCanvas::paintHeldTiles(QPainter& painter, const Cell& cell) const
{
    const QRectF tiles = tilesRect(m_viewport.toScreen(cell.rect));
    if (cell.frame.replicated || !tiles.intersects(area()))
        return;
    for (const auto& [row, column] : cell.frame.tilesOf(shownDevice(*document()))) {
        const Range& r = cell.frame.rows[static_cast<std::size_t>(row)].range;
        const Range& c = cell.frame.columns[static_cast<std::size_t>(column)].range;
        const QRectF place(tiles.left() + tiles.width() * static_cast<double>(c.lo) / static_cast<double>(cell.frame.columnSize),
                           tiles.top() + tiles.height() * static_cast<double>(r.lo) / static_cast<double>(cell.frame.rowSize),
                           tiles.width() * static_cast<double>(c.size()) / static_cast<double>(cell.frame.columnSize),
                           tiles.height() * static_cast<double>(r.size()) / static_cast<double>(cell.frame.rowSize));
        const QRectF shown = place.width() < 4 || place.height() < 4 ? place.adjusted(-1, -1, 1, 1) : place.adjusted(1, 1, -2, -2);
        painter.setPen(QPen(Theme::of(this).window, 3));
        painter.drawRect(shown);
        painter.setPen(QPen(Theme::of(this).text, 1.5));
        painter.drawRect(shown);
    }
}

void ModelCanvas::paintOverlay(QPainter& painter, const QRegion& region)
{
    const Theme& theme = Theme::of(this);
    painter.save();
    painter.setClipRect(area().adjusted(-2, -2, 2, 2));
    painter.setBrush(Qt::NoBrush);
    if (!m_held && shownDevice(*document()) >= 0)
        for (const Cell& cell : m_cells)
            if (region.intersects(m_viewport.toScreen(cell.rect).adjusted(-2, -2, 2, 2).toAlignedRect()))
                paintHeldTiles(painter, cell);
    painter.setRenderHint(QPainter::Antialiasing);
    for (const auto& [weight, color, width] :
         { std::tuple(hoveredWeight(), theme.quiet, 1.5), std::tuple(selection()->weight(), theme.accent, 2.5) })
        if (const QRectF place = weightRect(weight); !place.isEmpty()) {
            painter.setPen(QPen(color, width));
            painter.drawRoundedRect(place.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        }
    painter.restore();
}

/// With a little room around it.
QRectF ModelCanvas::partOf(const Cell& cell)
{
    const double margin = 0.05 * std::max(cell.rect.width(), cell.rect.height());
    return cell.rect.adjusted(-margin, -margin, margin, margin);
}

QRectF ModelCanvas::selectedPart() const
{
    const Cell* cell = cellOf(selection()->weight());
    return cell ? partOf(*cell) : QRectF();
}

void ModelCanvas::paintMap(QPainter& painter, const Viewport& map) const
{
    const Theme& theme = Theme::of(this);
    for (const Cell& cell : m_cells) {
        const QRectF place = map.toScreen(cell.rect);
        const QColor color = cell.frame.replicated ? theme.track
            : m_held                               ? cell.frame.colors.at(cell.color).fill
                     : cell.frame.colors.at(colorOfParts(cell.frame, cell.frame.rows.front(), cell.frame.columns.front())).fill;
        painter.fillRect(place.adjusted(0, 0, place.width() > 3 ? -1 : 0, place.height() > 3 ? -1 : 0), color);
    }
}

void ModelCanvas::zoomTo(int weight)
{
    if (const Cell* cell = cellOf(weight))
        showPart(partOf(*cell), m_viewport.largestScale());
}

QString ModelCanvas::toolTipAt(const QPointF& point) const
{
    const int weight = weightAt(point);
    return weight < 0 ? QString() : weightText(weight);
}

void ModelCanvas::hoverAt(const QPointF& point)
{
    const int hovered = weightAt(point);
    setCursor(hovered >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    selection()->setHoveredWeight(hovered);
}

void ModelCanvas::selectAt(const QPointF& point)
{
    if (const int weight = weightAt(point); weight >= 0)
        selection()->setWeight(weight);
}

void ModelCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const int weight = weightAt(event->position()); weight >= 0 && event->button() == Qt::LeftButton)
        Q_EMIT opened(weight);
}

/// The weight next to another one in a direction: nearest by the distance of centres, sideways counting double.
int ModelCanvas::nearest(int weight, int dx, int dy) const
{
    const Cell* from = cellOf(weight);
    if (!from)
        return m_cells.empty() ? -1 : m_cells.front().weight;
    int best = weight;
    double least = std::numeric_limits<double>::max();
    for (const Cell& cell : m_cells) {
        const QPointF way = cell.rect.center() - from->rect.center();
        const double along = dx != 0 ? way.x() * dx : way.y() * dy;
        const double across = std::abs(dx != 0 ? way.y() : way.x());
        if (along > 0.5 && along + 2 * across < least) {
            least = along + 2 * across;
            best = cell.weight;
        }
    }
    return best;
}

void ModelCanvas::moveCurrent(int dx, int dy)
{
    const int next = nearest(selection()->weight(), dx, dy);
    if (next < 0)
        return;
    selection()->setWeight(next);
    if (const Cell* cell = cellOf(next))
        bringIntoSight(cell->rect, 8);
    tellStatus(weightText(next));
}

void ModelCanvas::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (cellOf(selection()->weight()))
            Q_EMIT opened(selection()->weight());
        return;
    case Qt::Key_Escape:
        navigation()->fitAll();
        return;
    default:
        CanvasWidget::keyPressEvent(event);
    }
}

void ModelCanvas::leaveEvent(QEvent*) { selection()->setHoveredWeight(-1); }

} // namespace shardboard
