// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshcanvas.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/canvas/paintsscreen.h"
#include "widgets/document/documentview.h"
#include "widgets/look/format.h"
#include "widgets/mesh/meshlegend.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include "model/hardware/footprint.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QStatusTipEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kLargestCell = 92;
constexpr double kCardCell = 50; ///< from here a cell is a card with memory
constexpr double kLabelCell = 28; ///< from here a cell has its id
constexpr double kSolidCell = 6; ///< below, cells are pixels of an image
constexpr double kTopMargin = 32;
constexpr double kSideMargin = 28; ///< per axis at the left
constexpr double kFooter = 26;
constexpr double kInset = 0.3; ///< of a cell, between its middle and an arrow
constexpr double kArrow = 14; ///< shorter arrows are joined
constexpr std::size_t kMostArrows = 160; ///< more are not calm
constexpr double kWords = 40; ///< two lines above the footer about what moves
constexpr double kLeastGrid = 28; ///< devices that have no more leave no room for them
constexpr double kQuiet = 0.22; ///< opacity of what is not searched for, or not shown by the legend
constexpr double kScale = 38; ///< two lines above the footer: what the colours of memory say

} // namespace

MeshCanvas::MeshCanvas(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_navigation(new CanvasNavigation(this, this))
{
    m_viewport.setVerticalPlace(0.25);
    m_viewport.setWorld(m_grid.world(), kLargestCell);
    setObjectName(QStringLiteral("meshCanvas"));
    setAccessibleName(tr("Device mesh"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

QSize MeshCanvas::sizeHint() const { return { 400, 300 }; }
QSize MeshCanvas::minimumSizeHint() const { return { 200, 130 }; }

void MeshCanvas::refresh()
{
    const auto evaluation = m_document->evaluation();
    if (m_evaluation != evaluation.get()) { // what was shown is of the plan before
        m_transfer = -1;
        m_transferTitle.clear();
    }
    m_evaluation = evaluation.get();
    if (!(m_mesh == m_document->design().mesh))
        m_pressedAxis = m_hoveredAxis = -1; // there may be no such axis any more
    m_mesh = m_document->design().mesh;
    m_grid = MeshGrid(m_mesh);
    const WeightLayout* weight = selectedWeight(*m_document);
    m_colors = DeviceColors(m_mesh, weight ? &weight->shards : nullptr);
    m_memory = {};
    if (evaluation) {
        const auto hardware = hardwareOf(m_document->design());
        m_hardware = hardware.ok() ? hardware.value() : Hardware {};
        m_memory = DeviceMemory(evaluation->plan, m_hardware.memoryBytes());
    }
    m_found = MeshPattern(m_foundText, m_mesh, m_hardware);
    m_image = QImage(static_cast<int>(m_grid.columns()), static_cast<int>(m_grid.rows()), QImage::Format_ARGB32_Premultiplied);
    m_image.fill(Qt::transparent);
    for (std::int64_t row = 0; row < m_grid.rows(); ++row) {
        auto* line = reinterpret_cast<QRgb*>(m_image.scanLine(static_cast<int>(row)));
        for (std::int64_t column = 0; column < m_grid.columns(); ++column)
            if (const std::int64_t position = m_grid.positionOf(column, row); position >= 0)
                line[column] = isLoud(position) ? colorAt(position).fill.rgba()
                                                : blended(Theme::of(this).window, colorAt(position).fill, kQuiet).rgba();
    }
    m_viewport.setView(gridArea());
    if (m_viewport.world() != m_grid.world())
        m_viewport.setWorld(m_grid.world(), kLargestCell); // another mesh; another weight is seen from where one was
    viewMoved();
    m_navigation->forgetMap();
    updateOverlay();
}

void MeshCanvas::setColoring(Coloring coloring)
{
    if (coloring == m_coloring)
        return;
    m_coloring = coloring;
    refresh();
}

PartColor MeshCanvas::colorAt(std::int64_t position) const
{
    return m_coloring == Coloring::Memory ? heatColor(m_memory.fillAt(position), Theme::of(this))
                                          : partColor(m_colors.indexAt(position));
}

void MeshCanvas::setHighlight(const QString& key)
{
    if (key == m_highlight)
        return;
    m_highlight = key;
    refresh();
}

bool MeshCanvas::isLoud(std::int64_t position) const
{
    return m_found.matches(m_mesh, position)
        && (m_highlight.isEmpty() || m_coloring == Coloring::Memory || isOfMeshLegend(m_colors.indexAt(position), m_highlight));
}

void MeshCanvas::setFound(const QString& text)
{
    if (text == m_foundText)
        return;
    m_foundText = text;
    refresh();
}

bool MeshCanvas::findNext(bool back)
{
    if (!m_document->hasDesign() || m_found.isEmpty())
        return false;
    if (m_found.axis() >= 0) {
        m_document->selection()->setMeshAxis(m_found.axis());
        return true;
    }
    const std::int64_t count = m_mesh.deviceCount();
    const std::int64_t by = back ? count - 1 : 1;
    std::int64_t position = m_document->selection()->device();
    if (position < 0 || position >= count)
        position = back ? 0 : count - 1;
    for (std::int64_t i = 0; i < count; ++i) {
        position = (position + by) % count;
        if (!m_found.matches(m_mesh, position))
            continue;
        m_document->selection()->setDevice(position);
        if (m_viewport.scale() < kLabelCell && m_viewport.largestScale() > kLabelCell) { // large enough to be read
            constexpr double kAround = 3;
            m_viewport.show(m_grid.cell(position).adjusted(-kAround, -kAround, kAround, kAround), kLargestCell);
            viewMoved();
            update();
        }
        tellDevice(position);
        return true;
    }
    return false;
}

void MeshCanvas::updateOverlay()
{
    const std::int64_t device = shownDevice(*m_document);
    setAccessibleDescription(device < 0 ? QString() : deviceText(device));
    reportCurrent(this);
    update();
}

namespace {

/// The levels of a direction that have a bar, from the inside out; what is folded goes on from another one.
std::vector<std::size_t> barsOf(const std::vector<MeshGrid::Level>& levels)
{
    constexpr std::size_t kMost = 2;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < levels.size() && out.size() < kMost; ++i)
        if (!levels[i].folded)
            out.push_back(i);
    return out;
}

} // namespace

QRectF MeshCanvas::gridArea(const QRectF& canvas) const
{
    const auto left = static_cast<double>(barsOf(m_grid.down()).size());
    const auto above = static_cast<double>(std::max<std::size_t>(barsOf(m_grid.across()).size(), 1));
    const QRectF out =
        canvas.adjusted(kPanelMargin + kSideMargin * textScale(this) * left,
                        kTopMargin * textScale(this) + kSideMargin * textScale(this) * (above - 1) + 8, -kPanelMargin,
                        -kFooter * textScale(this) - 8 - (m_coloring == Coloring::Memory ? kScale * textScale(this) : 0));
    const double words = m_transferTitle.isEmpty() ? 0 : kWords * textScale(this);
    return out.adjusted(0, 0, 0, out.height() - words < kLeastGrid ? 0 : -words); // what moves comes before what is said about it
}

int MeshCanvas::detailIn(const QSize& size) const
{
    const QRectF area = gridArea(QRectF(QPointF(), QSizeF(size)));
    const QRectF world = m_grid.world();
    const double cell =
        world.isEmpty() ? 0 : std::min({ area.width() / world.width(), area.height() / world.height(), kLargestCell });
    return cell >= kCardCell ? 2 : cell >= kLabelCell ? 1 : 0;
}

void MeshCanvas::layoutBars()
{
    m_bars.clear();
    const int axes = m_mesh.axisCount();
    if (axes == 0)
        return;
    const QRectF grid = m_viewport.toScreen(m_grid.world()).intersected(gridArea());
    const auto addAbove = [&](int axis, std::size_t level, double y) {
        m_bars.push_back({ axis, true, level, QRectF(grid.left(), y, grid.width(), 3),
                           QRectF(grid.left(), y - 4, grid.width(), kSideMargin * textScale(this)) });
    };
    if (m_grid.isWrapped()) {
        addAbove(axes - 1, 0, grid.top() - kTopMargin * textScale(this));
        return;
    }
    double y = grid.top() - kTopMargin * textScale(this);
    for (const std::size_t level : barsOf(m_grid.across())) {
        addAbove(m_grid.across()[level].axis, level, y);
        y -= kSideMargin * textScale(this);
    }
    double x = grid.left() - kSideMargin * textScale(this);
    for (const std::size_t level : barsOf(m_grid.down())) {
        m_bars.push_back({ m_grid.down()[level].axis, false, level, QRectF(x, grid.top(), 3, grid.height()),
                           QRectF(x - 4, grid.top(), kSideMargin * textScale(this), grid.height()) });
        x -= kSideMargin * textScale(this);
    }
}

QRectF MeshCanvas::deviceRect(std::int64_t position) const { return m_viewport.toScreen(m_grid.cell(position)); }

std::int64_t MeshCanvas::deviceAt(const QPointF& point) const
{
    return gridArea().contains(point) ? m_grid.positionAt(m_viewport.toWorld(point)) : -1;
}

int MeshCanvas::axisAt(const QPointF& point) const
{
    for (const Bar& bar : m_bars)
        if (bar.zone.contains(point))
            return bar.axis;
    return -1;
}

QString MeshCanvas::deviceText(std::int64_t position) const
{
    QStringList coordinates;
    for (int axis = 0; axis < m_mesh.axisCount(); ++axis)
        coordinates << QStringLiteral("%1 %2").arg(qstr(m_mesh.axis(axis).name)).arg(m_mesh.coordinate(position, axis));
    QString out = tr("device %1").arg(m_mesh.deviceId(position));
    if (!coordinates.isEmpty())
        out += QStringLiteral(" · ") + coordinates.join(QStringLiteral(", "));
    if (const WeightLayout* weight = selectedWeight(*m_document)) {
        const Shard shard = weight->shards.shardAt(position);
        out +=
            QStringLiteral("\n%1 %2 · %3")
                .arg(shortName(weight->spec.name), shardText(shard), exactBytesText(bytesOf(shard.elements(), weight->spec.dtype)));
    }
    const QString peak = exactBytesText(m_memory.peakAt(position));
    out += QLatin1Char('\n')
        + (m_memory.stages() > 1 ? tr("peak of stage %1: %2").arg(m_memory.stageAt(position)).arg(peak)
                                 : tr("peak of memory: %1").arg(peak));
    return out;
}

int MeshCanvas::accessibleCount() const { return m_document->hasDesign() ? static_cast<int>(m_mesh.deviceCount()) : 0; }
QString MeshCanvas::accessibleItemName(int index) const { return deviceText(index); }
QRectF MeshCanvas::accessibleItemRect(int index) const { return deviceRect(index); }
int MeshCanvas::accessibleItemAt(const QPointF& point) const { return static_cast<int>(deviceAt(point)); }
int MeshCanvas::accessibleCurrent() const { return static_cast<int>(m_document->selection()->device()); }
void MeshCanvas::accessibleActivate(int index) { m_document->selection()->setDevice(index); }

void MeshCanvas::renderBase()
{
    m_base = QPixmap(size() * devicePixelRatioF());
    m_base.setDevicePixelRatio(devicePixelRatioF());
    QPainter painter(&m_base);
    paintBase(painter);
}

void MeshCanvas::paintBase(QPainter& painter)
{
    painter.fillRect(rect(), Theme::of(this).window);
    if (!m_document->hasDesign())
        return;
    painter.save(); // with the opacity
    painter.setClipRect(gridArea().adjusted(-1, -1, 1, 1));
    painter.setFont(uiFont(this, -1, true)); // of the ids in cells
    constexpr double kMany = 64;
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() >= kCardCell)
        m_cards.begin(this, painter,
                      std::min(visible.width() * visible.height(), static_cast<double>(m_mesh.deviceCount())) > kMany);
    paintCells(painter);
    painter.restore();
    paintAxes(painter);
}

void MeshCanvas::paintCells(QPainter& painter)
{
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() < kSolidCell) {
        paintPixels(painter, visible, m_viewport);
        return;
    }
    for (std::int64_t row = 0; row < m_grid.rows(); ++row) {
        const double top = m_grid.rowTop(row);
        if (top + 1 < visible.top() || top > visible.bottom())
            continue;
        for (std::int64_t column = 0; column < m_grid.columns(); ++column) {
            const double left = m_grid.columnLeft(column);
            if (left + 1 < visible.left() || left > visible.right())
                continue;
            if (const std::int64_t position = m_grid.positionOf(column, row); position >= 0)
                paintCell(painter, position, m_viewport.toScreen(QRectF(left, top, 1, 1)));
        }
    }
}

/// Cells too small to be told apart: a pixel each, block by block, so that the gaps stay.
void MeshCanvas::paintPixels(QPainter& painter, const QRectF& visible, const Viewport& viewport) const
{
    const std::int64_t wide = m_grid.columnRun();
    const std::int64_t high = m_grid.rowRun();
    for (std::int64_t row = 0; row < m_grid.rows(); row += high)
        for (std::int64_t column = 0; column < m_grid.columns(); column += wide) {
            const QRectF block(m_grid.columnLeft(column), m_grid.rowTop(row), static_cast<double>(wide), static_cast<double>(high));
            if (block.intersects(visible))
                painter.drawImage(viewport.toScreen(block), m_image,
                                  QRectF(static_cast<double>(column), static_cast<double>(row), static_cast<double>(wide),
                                         static_cast<double>(high)));
        }
}

void MeshCanvas::paintCell(QPainter& painter, std::int64_t position, const QRectF& rect)
{
    const PartColor color = colorAt(position);
    painter.setOpacity(isLoud(position) ? 1 : kQuiet);
    if (m_viewport.scale() >= kCardCell) {
        m_cards.paint(painter, rect.adjusted(3, 3, -3, -3), QString::number(m_mesh.deviceId(position)), color,
                      m_memory.fillAt(position), m_memory.peakAt(position));
        return;
    }
    const double gap = m_viewport.scale() >= kLabelCell ? 1.5 : 0.5;
    const QRect solid = rect.adjusted(gap, gap, -gap, -gap).toRect();
    painter.fillRect(solid, color.fill);
    if (color.hatch != Qt::NoBrush)
        painter.fillRect(solid, QBrush(color.hatchColor, color.hatch));
    if (m_viewport.scale() < kLabelCell)
        return;
    const QString id = QString::number(m_mesh.deviceId(position));
    if (painter.fontMetrics().horizontalAdvance(id) > solid.width() - 4)
        return;
    painter.setPen(color.label);
    painter.drawText(solid, Qt::AlignCenter, id);
}

void MeshCanvas::paintAxes(QPainter& painter)
{
    painter.setFont(uiFont(this, -1.5));
    for (const Bar& bar : m_bars) {
        painter.fillRect(bar.rect, axisColor(bar.axis));
        painter.setPen(Theme::of(this).quiet);
        paintLabels(painter, bar);
    }
}

/// `model 0`, `model 1`, … along a bar, numbers alone, or the axis with its size, whichever has room.
void MeshCanvas::paintLabels(QPainter& painter, const Bar& bar)
{
    const QFontMetricsF metrics(painter.font());
    const QString name = qstr(m_mesh.axis(bar.axis).name);
    const std::int64_t size = m_mesh.axis(bar.axis).size;
    const double room = kSideMargin * textScale(this) - 3;
    // At `from` to `to` along the bar, beside it.
    const auto label = [&](double from, double to, const QString& text) {
        if (bar.across) {
            painter.drawText(QRectF(from, bar.rect.bottom() + 1, to - from, room), Qt::AlignCenter, text);
            return;
        }
        painter.save();
        painter.translate(bar.rect.right() + room / 2, (from + to) / 2);
        painter.rotate(-90);
        painter.drawText(QRectF((from - to) / 2, -12 * textScale(this), to - from, 24 * textScale(this)), Qt::AlignCenter, text);
        painter.restore();
    };
    const double begin = bar.across ? bar.rect.left() : bar.rect.top();
    const double end = bar.across ? bar.rect.right() : bar.rect.bottom();
    const auto& levels = bar.across ? m_grid.across() : m_grid.down();
    const bool whole = !m_grid.isWrapped() && levels[bar.level].size == size; // not folded
    std::int64_t inside = 1; // cells of a step
    for (std::size_t i = 0; whole && i < bar.level; ++i)
        inside *= levels[i].size;
    const std::int64_t cells = bar.across ? m_grid.columns() : m_grid.rows();
    const auto beginOf = [&](std::int64_t cell) { return bar.across ? m_grid.columnLeft(cell) : m_grid.rowTop(cell); };
    const double step = (beginOf(inside - 1) + 1) * m_viewport.scale();
    const bool named = whole && metrics.horizontalAdvance(QStringLiteral("%1 %2").arg(name).arg(size - 1)) + 4 < step;
    const bool numbered = whole && metrics.horizontalAdvance(QString::number(size - 1)) + 4 < step;
    if (!named && !numbered) {
        const QString devices = tr("%1, %2 devices").arg(name).arg(size);
        const QString brief = QStringLiteral("%1 (%2)").arg(name).arg(size);
        const bool alone = bar.across && m_mesh.deviceCount() == size;
        const double spare = std::max(0.0, 60 - (end - begin)) / 2; // the name may be longer than a short bar
        label(begin - spare, end + spare,
              alone && metrics.horizontalAdvance(devices) <= end - begin
                  ? devices
                  : metrics.elidedText(brief, Qt::ElideRight, std::max(0.0, std::max(end - begin, 60.0))));
        return;
    }
    for (std::int64_t cell = 0; cell < cells; cell += inside) {
        const double from =
            (bar.across ? m_viewport.toScreen(QPointF(beginOf(cell), 0)).x() : m_viewport.toScreen(QPointF(0, beginOf(cell))).y());
        if (from + step < begin - 1 || from > end + 1 || (from + from + step) / 2 < begin || (from + from + step) / 2 > end)
            continue;
        const std::int64_t coordinate = cell / inside % size;
        label(from, from + step, named ? QStringLiteral("%1 %2").arg(name).arg(coordinate) : QString::number(coordinate));
    }
}

std::vector<int> MeshCanvas::groupAxes() const
{
    const auto valid = [this](int axis) { return axis >= 0 && axis < m_mesh.axisCount(); };
    if (valid(m_hoveredAxis))
        return { m_hoveredAxis };
    if (valid(m_found.axis()))
        return { m_found.axis() };
    if (const Collective* collective = selectedCollective(*m_document))
        return collective->axes;
    if (valid(m_document->selection()->meshAxis()))
        return { m_document->selection()->meshAxis() };
    return {};
}

QString MeshCanvas::footerText() const
{
    const auto axes = groupAxes();
    if (axes.empty()) {
        const std::int64_t device = shownDevice(*m_document);
        if (device < 0)
            return m_memory.stages() > 1 ? m_memory.legend() : QString();
        const QString coordinates = deviceText(device).section(QLatin1Char('\n'), 0, 0);
        if (m_memory.stages() < 2 && m_coloring == Coloring::Shards)
            return coordinates;
        return coordinates + tr(" · peak %1").arg(bytesText(m_memory.peakAt(device)));
    }
    QStringList names;
    for (const int axis : axes)
        names << qstr(m_mesh.axis(axis).name);
    const std::int64_t size = m_mesh.groupSize(axes);
    QString out = tr("device group of %1 · %2 devices").arg(names.join(QStringLiteral(", "))).arg(size);
    if (size > 1 && m_hardware.memoryBytes() > 0)
        out += tr(" · %1 GB/s").arg(digitsText(linkOf(axes, m_mesh, m_hardware).bytesPerSecond / 1e9));
    return out;
}

/// What the colours of the heat map stand for.
void MeshCanvas::paintScale(QPainter& painter, const QRectF& rect) const
{
    constexpr int kSteps = 8;
    constexpr double kStep = 12;
    const Theme& theme = Theme::of(this);
    QRectF line(rect.left(), rect.top(), rect.width(), rect.height() / 2);
    const auto text = [&](double& x, const QString& words) {
        painter.setPen(theme.quiet);
        const QString shown =
            painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(std::max(0.0, line.right() - x)));
        painter.drawText(QRectF(x, line.top(), line.right() - x, line.height()), Qt::AlignLeft | Qt::AlignVCenter, shown);
        x += painter.fontMetrics().horizontalAdvance(shown) + 6;
    };
    double x = line.left();
    text(x, m_memory.legend());
    line.translate(0, line.height());
    x = line.left();
    text(x, QStringLiteral("0"));
    for (int i = 0; i < kSteps; ++i) {
        painter.fillRect(QRectF(x, line.center().y() - 5, kStep, 10), heatColor((i + 0.5) / kSteps, theme).fill);
        x += kStep;
    }
    x += 6;
    text(x, bytesText(static_cast<std::int64_t>(m_hardware.memoryBytes())));
    const PartColor full = heatColor(2, theme);
    const QRectF box(x + 4, line.center().y() - 5, kStep, 10);
    painter.fillRect(box, full.fill);
    painter.fillRect(box, QBrush(full.hatchColor, full.hatch));
    x = box.right() + 4;
    text(x, tr("does not fit"));
}

void MeshCanvas::paintGroup(QPainter& painter)
{
    const auto axes = groupAxes();
    if (axes.empty() || m_mesh.groupSize(axes) > 4096)
        return;
    const auto members = m_mesh.group(std::max<std::int64_t>(shownDevice(*m_document), 0), axes);
    QRectF hull;
    double area = 0;
    for (const std::int64_t member : members) {
        hull = hull.united(m_grid.cell(member));
        area += 1;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(axisColor(axes.front()), 2, Qt::DashLine));
    painter.setBrush(Qt::NoBrush);
    painter.setClipRect(gridArea().adjusted(-6, -6, 6, 6));
    const double round = std::min<double>(kCanvasRadius, m_viewport.scale() / 4);
    if (hull.width() * hull.height() <= area * 1.2) {
        painter.drawRoundedRect(m_viewport.toScreen(hull).adjusted(-3, -3, 3, 3), round, round);
    } else if (members.size() <= 256 && m_viewport.scale() >= kSolidCell) {
        for (const std::int64_t member : members)
            painter.drawRoundedRect(deviceRect(member).adjusted(1, 1, -1, -1), round, round);
    }
    painter.setClipping(false);
}

void MeshCanvas::showTransfer(int collective, double progress, const QString& title, const QString& words)
{
    const auto evaluation = m_document->evaluation();
    if (!evaluation || collective >= static_cast<int>(evaluation->plan.collectives.size()))
        collective = -1;
    m_progress = progress;
    if (collective == m_transfer && title == m_transferTitle && words == m_transferWords) {
        if (collective >= 0)
            update();
        return;
    }
    const bool room = m_transferTitle.isEmpty() != title.isEmpty();
    m_transfer = collective;
    m_transferTitle = title;
    m_transferWords = words;
    if (room) {
        m_viewport.setView(gridArea());
        layoutBars();
        m_base = QPixmap();
    }
    layTransfer();
    update();
}

/// Which arrows there are follows from the collective and from what is in sight; not from one frame to the next.
void MeshCanvas::layTransfer()
{
    m_arrows.clear();
    m_moves = {};
    const auto evaluation = m_document->evaluation();
    if (m_transfer < 0 || !evaluation || m_transfer >= static_cast<int>(evaluation->plan.collectives.size()))
        return;
    const Collective& collective = evaluation->plan.collectives[static_cast<std::size_t>(m_transfer)];
    const double scale = m_viewport.scale();
    const auto visible =
        scale >= kSolidCell ? positionsIn(m_grid, m_viewport.visibleWorld(), 4 * kMostArrows) : std::vector<std::int64_t>();
    const std::int64_t selected = m_document->selection()->device();
    m_moves = shownTransfers(collective, evaluation->plan, visible,
                             selected >= 0         ? selected
                                 : visible.empty() ? 0
                                                   : visible.front(),
                             kMostArrows);
    const QPointF origin = m_viewport.toScreen(QPointF());
    m_arrows = arrowsOf(m_moves.moves, m_grid, scale, kArrow);
    for (Arrow& arrow : m_arrows) {
        // Beside the ids of the devices, not on them.
        const QPointF way = arrow.to - arrow.from;
        const double length = std::max(std::hypot(way.x(), way.y()), 1.0);
        const QPointF inset = way / length * std::min(scale * kInset, length / 4);
        arrow.from += origin + inset;
        arrow.to += origin - inset;
    }
}

QString MeshCanvas::transferText() const
{
    QString out = m_transferWords;
    if (m_moves.groups > 0 && m_moves.groups < m_moves.allGroups)
        out += tr(" · %1 of %2 groups drawn").arg(m_moves.groups).arg(m_moves.allGroups);
    return out;
}

void MeshCanvas::paintTransfer(QPainter& painter) const
{
    const auto evaluation = m_document->evaluation();
    if (m_transfer < 0 || m_arrows.empty() || !evaluation || m_transfer >= static_cast<int>(evaluation->plan.collectives.size()))
        return;
    const Theme& theme = Theme::of(this);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(gridArea().adjusted(-3, -3, 3, 3));
    const double dot = std::clamp(m_viewport.scale() / 10, 2.5, 5.0);
    const double ease = m_progress * m_progress * (3 - 2 * m_progress);
    const bool moving = m_progress < 1;
    for (const Arrow& arrow : m_arrows) {
        // A little bowed, so that the way around a ring and the way back do not lie on each other.
        const QPointF way = arrow.to - arrow.from;
        const double length = std::hypot(way.x(), way.y());
        const QPointF side = QPointF(-way.y(), way.x()) / std::max(length, 1.0) * std::min(26.0, length * 0.16);
        const QPointF control = (arrow.from + arrow.to) / 2 - side;
        QPainterPath path(arrow.from);
        path.quadTo(control, arrow.to);
        QColor halo = theme.window;
        halo.setAlphaF(0.85f);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(halo, 4));
        painter.drawPath(path);
        painter.setPen(QPen(theme.text, moving ? 1.2 : 1.8));
        painter.drawPath(path);
        const auto head = [&](const QPointF& tip, const QPointF& from) {
            const QPointF along = tip - from;
            const double size = std::hypot(along.x(), along.y());
            if (size < 1)
                return;
            const QPointF unit = along / size;
            const QPointF across(-unit.y(), unit.x());
            const double reach = std::min(8.0, length / 3);
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.text);
            painter.drawPolygon(
                QPolygonF { tip, tip - unit * reach + across * reach * 0.45, tip - unit * reach - across * reach * 0.45 });
        };
        head(arrow.to, control);
        if (arrow.both)
            head(arrow.from, control);
        if (!moving)
            continue;
        const auto put = [&](double t) {
            const QPointF at = arrow.from * ((1 - t) * (1 - t)) + control * (2 * t * (1 - t)) + arrow.to * (t * t);
            painter.setPen(QPen(halo, 1.5));
            painter.setBrush(theme.accent);
            painter.drawEllipse(at, dot, dot);
        };
        put(ease);
        if (arrow.both)
            put(1 - ease);
    }
    painter.restore();
}

void MeshCanvas::paintTransferWords(QPainter& painter) const
{
    if (m_transferTitle.isEmpty())
        return;
    const Theme& theme = Theme::of(this);
    const double text = textScale(this);
    const double words = kWords * text;
    const QRectF band(kPanelMargin, height() - kFooter * text - words - (m_coloring == Coloring::Memory ? kScale * text : 0),
                      width() - 2 * kPanelMargin, words);
    if (gridArea().bottom() > band.top())
        return; // the flow says it, too
    const auto line = [&](double top, const QFont& font, const QColor& color, const QString& said) {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(QRectF(band.left(), top, band.width(), words / 2), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(said, Qt::ElideRight, static_cast<int>(band.width())));
    };
    line(band.top(), uiFont(this, -0.5, true), m_transfer >= 0 ? theme.attention : theme.text, m_transferTitle);
    line(band.top() + words / 2, uiFont(this, -1.5), theme.text, transferText());
}

QRectF MeshCanvas::selectedPart() const
{
    const std::int64_t device = m_document->selection()->device();
    if (device >= 0 && device < m_mesh.deviceCount())
        return m_grid.cell(device).adjusted(-0.25, -0.25, 0.25, 0.25);
    const auto axes = groupAxes();
    QRectF hull;
    if (!axes.empty() && m_mesh.groupSize(axes) <= 4096)
        for (const std::int64_t member : m_mesh.group(0, axes))
            hull = hull.united(m_grid.cell(member));
    return hull;
}

void MeshCanvas::viewMoved()
{
    layoutBars();
    layTransfer();
    m_base = QPixmap();
}

void MeshCanvas::paintMap(QPainter& painter, const Viewport& map) const { paintPixels(painter, m_grid.world(), map); }

void MeshCanvas::paintOutline(QPainter& painter, std::int64_t position, bool selected)
{
    if (position < 0 || position >= m_mesh.deviceCount())
        return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(gridArea().adjusted(-3, -3, 3, 3));
    const Theme& theme = Theme::of(this);
    const double inset = m_viewport.scale() >= kCardCell ? 3 : 0;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(selected ? theme.accent : theme.text, 2));
    const QRectF rect = deviceRect(position).adjusted(inset, inset, -inset, -inset);
    const double round = m_viewport.scale() >= kCardCell ? kCanvasRadius : 2;
    painter.drawRoundedRect(rect.width() < 6 ? rect.adjusted(-3, -3, 3, 3) : rect, round, round);
    painter.setClipping(false);
}

void MeshCanvas::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const bool onScreen = paintsScreen(painter, *this);
    if (!onScreen) {
        paintBase(painter); // a picture for a file: lines stay lines
    } else {
        if (m_base.isNull() || m_base.size() != (size() * devicePixelRatioF()))
            renderBase();
        painter.drawPixmap(0, 0, m_base);
    }
    if (!m_document->hasDesign())
        return;
    paintGroup(painter);
    const std::int64_t hovered = m_document->selection()->hoveredDevice();
    if (hovered != m_document->selection()->device())
        paintOutline(painter, hovered, false);
    paintOutline(painter, m_document->selection()->device(), true);
    paintTransfer(painter);
    const Theme& theme = Theme::of(this);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme.quiet);
    painter.setFont(uiFont(this, -1.5));
    const QRectF footer(kPanelMargin, height() - kFooter * textScale(this), width() - 2 * kPanelMargin,
                        kFooter * textScale(this) - 6);
    painter.drawText(footer, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(footerText(), Qt::ElideRight, static_cast<int>(footer.width())));
    if (m_coloring == Coloring::Memory)
        paintScale(painter,
                   QRectF(footer.left(), footer.top() - kScale * textScale(this), footer.width(), kScale * textScale(this)));
    paintTransferWords(painter);
    if (onScreen)
        m_navigation->paintMap(painter);
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void MeshCanvas::resizeEvent(QResizeEvent*)
{
    m_viewport.setView(gridArea());
    viewMoved();
}

void MeshCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_pressedAxis >= 0 && (event->buttons() & Qt::LeftButton)) {
        if ((at - m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
            const int axis = std::exchange(m_pressedAxis, -1);
            dragAxis(this, qstr(m_mesh.axis(axis).name), axis);
        }
        return;
    }
    const int axis = axisAt(at);
    if (axis != m_hoveredAxis) {
        m_hoveredAxis = axis;
        setCursor(axis >= 0 ? Qt::OpenHandCursor : Qt::ArrowCursor);
        update();
    }
    m_document->selection()->setHoveredDevice(deviceAt(at));
}

void MeshCanvas::mousePressEvent(QMouseEvent* event)
{
    m_pressed = event->position();
    if (event->button() != Qt::LeftButton)
        return;
    m_pressedAxis = axisAt(event->position());
    if (m_pressedAxis >= 0)
        m_document->selection()->setMeshAxis(m_pressedAxis);
    else
        m_document->selection()->setDevice(deviceAt(event->position()));
}

void MeshCanvas::mouseReleaseEvent(QMouseEvent*) { m_pressedAxis = -1; }

void MeshCanvas::moveDevice(int dx, int dy)
{
    if (!m_document->hasDesign())
        return;
    const std::int64_t from = m_document->selection()->device();
    m_document->selection()->setDevice(from < 0 ? 0 : m_grid.moved(from, dx, dy));
    const std::int64_t device = m_document->selection()->device();
    tellDevice(device);
}

/// Brings it into sight, and the status bar says to the keyboard what the tool tip says under the mouse.
void MeshCanvas::tellDevice(std::int64_t position)
{
    if (!m_viewport.isFitted()) {
        m_viewport.reveal(m_grid.cell(position), 12);
        viewMoved();
    }
    QStatusTipEvent tip(deviceText(position).replace(QLatin1Char('\n'), QStringLiteral(" · ")));
    QApplication::sendEvent(this, &tip);
}

void MeshCanvas::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left:
        moveDevice(-1, 0);
        return;
    case Qt::Key_Right:
        moveDevice(1, 0);
        return;
    case Qt::Key_Up:
        moveDevice(0, -1);
        return;
    case Qt::Key_Down:
        moveDevice(0, 1);
        return;
    case Qt::Key_Escape:
        if (!m_highlight.isEmpty())
            Q_EMIT allWanted();
        else
            m_document->selection()->setDevice(-1);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

void MeshCanvas::showWhole(bool whole)
{
    if (whole) {
        m_part = m_viewport;
        m_viewport.fit();
    } else {
        m_viewport = m_part;
        m_viewport.setView(gridArea());
    }
    viewMoved();
}

void MeshCanvas::focusInEvent(QFocusEvent*) { update(); }
void MeshCanvas::focusOutEvent(QFocusEvent*) { update(); }

void MeshCanvas::leaveEvent(QEvent*)
{
    m_hoveredAxis = -1;
    m_document->selection()->setHoveredDevice(-1);
    update();
}

bool MeshCanvas::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const std::int64_t device = deviceAt(help->pos());
        const int axis = axisAt(help->pos());
        if (device >= 0)
            showToolTip(help->globalPos(), deviceText(device), this);
        else if (axis >= 0)
            showToolTip(help->globalPos(), tr("mesh axis %1 — drag it onto a tensor dim").arg(qstr(m_mesh.axis(axis).name)), this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace shardboard
