// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshcanvas.h"

#include "widgets/document/documentview.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvassizes.h"
#include "widgets/mesh/meshpixels.h"
#include "widgets/mesh/transferpaint.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardboard {

using namespace meshcanvas;

namespace {

constexpr double kNameLine = 11; ///< pixels of a unit's name
constexpr std::size_t kMostMembers = 4096; ///< larger groups are not outlined

} // namespace

void MeshCanvas::paintBase(QPainter& painter)
{
    painter.fillRect(rect(), Theme::of(this).window);
    if (!document()->hasDesign())
        return;
    painter.save(); // with the opacity
    painter.setClipRect(gridArea().adjusted(-4, -1, 4, 4)); // with what devices lie on
    constexpr double kMany = 64;
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() >= kCardCell)
        m_cards.begin(this, painter,
                      std::min(visible.width() * visible.height(), static_cast<double>(m_scene.mesh.deviceCount())) > kMany);
    paintCells(painter);
    paintUnitNames(painter);
    painter.restore();
    paintMeshBars(painter, m_bars, m_scene.mesh, m_scene.grid, m_viewport, gridArea(), this);
}

/// What lies in units, from the innermost to all of the mesh, and what is outside: the warmer, the longer collectives use the links
/// that join it.
std::vector<QRgb> MeshCanvas::tones() const
{
    const Theme& theme = Theme::of(this);
    const auto warmed = [&](const QColor& base, std::size_t level) {
        const double share = level < m_scene.heat.size() ? m_scene.heat[level] : 0;
        return blended(base, theme.attention, 0.24 * std::sqrt(share)).rgb();
    };
    std::vector<QRgb> out;
    const auto& tiers = m_scene.grid.tiers().tiers;
    for (std::size_t tier = 0; tier < tiers.size(); ++tier)
        out.push_back(warmed(blended(theme.window, theme.quiet, tier == 0 ? 0.24 : 0.13), tiers[tier].level));
    const bool joined = !tiers.empty() && !m_scene.hardware.levels.empty();
    out.push_back(joined ? warmed(blended(theme.window, theme.quiet, 0.05), m_scene.hardware.levels.size() - 1)
                         : theme.window.rgb());
    out.push_back(theme.window.rgb());
    return out;
}

void MeshCanvas::paintCells(QPainter& painter)
{
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() < solidCell()) {
        paintPixels(painter, m_viewport, gridArea().toAlignedRect());
        return;
    }
    paintUnits(painter);
    m_idFont = uiFont(this, m_viewport.scale() < 26 ? -3 : -1, true);
    painter.setFont(m_idFont);
    for (std::int64_t row = 0; row < m_scene.grid.rows(); ++row) {
        const double top = m_scene.grid.rowTop(row);
        if (top + m_scene.grid.cellHeight() < visible.top() || top > visible.bottom())
            continue;
        for (std::int64_t column = 0; column < m_scene.grid.columns(); ++column) {
            const double left = m_scene.grid.columnLeft(column);
            if (left + 1 < visible.left() || left > visible.right())
                continue;
            if (const std::int64_t position = m_scene.grid.positionOf(column, row); position >= 0)
                paintCell(painter, position, m_viewport.toScreen(QRectF(left, top, 1, m_scene.grid.cellHeight())));
        }
    }
    painter.setOpacity(1);
}

void MeshCanvas::paintPixels(QPainter& painter, const Viewport& viewport, const QRect& area) const
{
    if (area.isEmpty())
        return; // a canvas without room
    constexpr double kFinest = 4; // in a picture for a file
    const double ratio = painter.device()->devicePixelRatioF() * std::clamp(painter.transform().m11(), 1.0, kFinest);
    QImage image = meshPixels(m_scene, viewport, area, ratio, tones());
    image.setDevicePixelRatio(ratio);
    painter.drawImage(QRectF(area), image);
}

/// What devices lie on, so that one sees what is joined.
void MeshCanvas::paintUnits(QPainter& painter)
{
    const MeshGrid& grid = m_scene.grid;
    const QRectF visible = m_viewport.visibleWorld();
    const auto colors = tones();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    if (grid.tierCount() > 0) {
        painter.setBrush(QColor(colors[colors.size() - 2]));
        painter.drawRoundedRect(m_viewport.toScreen(grid.world()).adjusted(-4, 0, 4, 4), 4, 4);
    }
    for (int tier = grid.tierCount() - 1; tier >= 0; --tier) {
        const QSizeF gap = grid.gapAfter(tier) * m_viewport.scale();
        const double around = std::clamp(std::min(gap.width() * 0.35, (gap.height() - kNameLine * textScale(this)) / 2), 1.0, 4.0);
        painter.setBrush(QColor(colors[static_cast<std::size_t>(tier)]));
        for (std::int64_t row = 0; row < grid.rows(); row += grid.unitRows(tier))
            for (std::int64_t column = 0; column < grid.columns(); column += grid.unitColumns(tier)) {
                const QRectF unit(QPointF(grid.columnLeft(column), grid.rowTop(row)), grid.unitSize(tier));
                if (unit.intersects(visible) && grid.positionOf(column, row) >= 0)
                    painter.drawRoundedRect(m_viewport.toScreen(unit).adjusted(-around, -around, around, around), around, around);
            }
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

/// Above each unit, where the gap has room for it.
void MeshCanvas::paintUnitNames(QPainter& painter)
{
    const MeshGrid& grid = m_scene.grid;
    const QRectF visible = m_viewport.visibleWorld();
    const double text = textScale(this);
    const double high = kNameLine * text;
    const QRectF area = gridArea();
    painter.setFont(uiFont(this, -2.5));
    painter.setPen(Theme::of(this).text); // what is quiet is hard to read on a warm ground
    const QFontMetricsF metrics(painter.font());
    double below = 0; // of the names of the units inside
    for (int tier = 0; tier < grid.tierCount(); ++tier) {
        const double gap = grid.gapAfter(tier).height() * m_viewport.scale();
        const double wide = grid.unitSize(tier).width() * m_viewport.scale();
        if (gap - below < high - 1 || wide < 16 * text)
            continue;
        for (std::int64_t row = 0; row < grid.rows(); row += grid.unitRows(tier))
            for (std::int64_t column = 0; column < grid.columns(); column += grid.unitColumns(tier)) {
                const QRectF unit(QPointF(grid.columnLeft(column), grid.rowTop(row)), grid.unitSize(tier));
                const std::int64_t position = grid.positionOf(column, row);
                if (position < 0 || !unit.adjusted(0, -grid.gapAfter(tier).height(), 0, 0).intersects(visible))
                    continue;
                const QRectF shown = m_viewport.toScreen(unit);
                // Of a unit that is seen in part the name stays in sight.
                const double left = std::max(shown.left(), area.left());
                const QRectF line(left, shown.top() - below - high, std::min(shown.right(), area.right()) - left, high);
                if (line.top() < area.top() - 1 || line.bottom() > area.bottom() || line.width() < 16 * text)
                    continue;
                const QString name = m_scene.unitText(tier, position);
                const bool fits = metrics.horizontalAdvance(name) <= line.width();
                const QString number = name.section(QLatin1Char(' '), -1);
                if (fits || metrics.horizontalAdvance(number) <= line.width())
                    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, fits ? name : number);
            }
        below += high;
    }
}

void MeshCanvas::paintCell(QPainter& painter, std::int64_t position, const QRectF& rect)
{
    const PartColor color = colorAt(position);
    painter.setOpacity(m_scene.isLoud(position) ? 1 : MeshScene::kQuiet);
    const auto mark = [&](const QRectF& cell) {
        if (!m_scene.grid.isElsewhere(position))
            return;
        const double side = std::clamp(cell.width() / 4, 5.0, 10.0);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(Theme::of(this).panel, 1));
        painter.setBrush(Theme::of(this).attention);
        painter.drawPolygon(QPolygonF { cell.topRight() - QPointF(side, 0), cell.topRight(), cell.topRight() + QPointF(0, side) });
        painter.setRenderHint(QPainter::Antialiasing, false);
    };
    if (m_viewport.scale() >= kCardCell) {
        const bool many =
            m_scene.coloring == MeshScene::Coloring::Shards && m_viewport.scale() >= kShardCell && m_scene.colors.parts().isRamp();
        m_cards.paint(painter, rect.adjusted(3, 3, -3, -3), QString::number(m_scene.mesh.deviceId(position)), color,
                      m_scene.memory.fillAt(position), m_scene.memory.peakAt(position),
                      many ? m_scene.colorText(position) : QString());
        mark(rect.adjusted(3, 3, -3, -3));
        return;
    }
    const double gap = m_viewport.scale() >= kSolidCell ? 1 : 0.5;
    const QRect solid = rect.adjusted(gap, gap, -gap, -gap).toRect();
    painter.fillRect(solid, color.fill);
    if (color.hatch != Qt::NoBrush)
        painter.fillRect(solid, QBrush(color.hatchColor, color.hatch));
    mark(solid);
    if (m_viewport.scale() < kLabelCell)
        return;
    // All have their ids or none.
    const QFontMetrics metrics = painter.fontMetrics();
    if (metrics.horizontalAdvance(QString::number(m_scene.mesh.deviceCount() - 1)) > solid.width() - 2)
        return;
    painter.setPen(color.label);
    painter.drawText(solid, Qt::AlignCenter, QString::number(m_scene.mesh.deviceId(position)));
}

void MeshCanvas::paintGroup(QPainter& painter)
{
    const auto axes = groupAxes();
    if (axes.empty() || static_cast<std::size_t>(m_scene.mesh.groupSize(axes)) > kMostMembers)
        return;
    const std::int64_t of = std::max<std::int64_t>(shownDevice(*document()), 0);
    QRectF hull;
    double area = 0;
    for (const std::int64_t member : m_scene.mesh.group(of, axes)) {
        hull = hull.united(m_scene.grid.cell(member));
        area += 1;
    }
    const QPen pen(axisColor(m_scene.mesh, axes.front()), 2, Qt::DashLine);
    if (hull.width() * hull.height() > area * 1.2) {
        paintMembers(painter, axes, of, pen);
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.setClipRect(gridArea().adjusted(-6, -6, 6, 6));
    const double round = std::min<double>(kCanvasRadius, m_viewport.scale() / 4);
    painter.drawRoundedRect(m_viewport.toScreen(hull).adjusted(-3, -3, 3, 3), round, round);
    painter.setClipping(false);
}

/// The devices of a group, those beside each other in one frame.
void MeshCanvas::paintMembers(QPainter& painter, const std::vector<int>& axes, std::int64_t of, const QPen& pen) const
{
    const bool small = m_viewport.scale() < kSolidCell;
    std::vector<QRectF> frames;
    for (const std::int64_t member : m_scene.mesh.group(of, axes)) {
        const QRectF rect = deviceRect(member);
        if (small && !frames.empty()) {
            QRectF& last = frames.back();
            const double near = std::max(4.0, m_viewport.scale());
            const bool beside = std::abs(rect.top() - last.top()) < 0.5 && std::abs(rect.bottom() - last.bottom()) < 0.5
                && std::abs(rect.left() - last.right()) <= near;
            const bool below = std::abs(rect.left() - last.left()) < 0.5 && std::abs(rect.right() - last.right()) < 0.5
                && std::abs(rect.top() - last.bottom()) <= near;
            if (beside || below) {
                last = last.united(rect);
                continue;
            }
        }
        frames.push_back(rect);
    }
    painter.setClipRect(gridArea().adjusted(-6, -6, 6, 6));
    painter.setRenderHint(QPainter::Antialiasing, !small);
    painter.setBrush(Qt::NoBrush);
    const double round = small ? 0 : std::min<double>(kCanvasRadius, m_viewport.scale() / 4);
    const QRectF seen = gridArea();
    for (const bool halo : { true, false }) {
        if (halo && !small)
            continue;
        painter.setPen(halo ? QPen(Theme::of(this).window, 4) : pen);
        for (const QRectF& frame : frames) {
            const QRectF rect = small ? frame.adjusted(-2, -2, 2, 2) : frame.adjusted(1, 1, -1, -1);
            if (rect.intersects(seen))
                painter.drawRoundedRect(rect, round, round);
        }
    }
    painter.setClipping(false);
}

/// From afar a device is a dot: its groups along the mesh axes say where it is, each with another line.
void MeshCanvas::paintGroupsOfSelected(QPainter& painter)
{
    const std::int64_t device = selection()->device();
    if (m_viewport.scale() >= kSolidCell || device < 0 || device >= m_scene.mesh.deviceCount())
        return;
    int drawn = 0;
    for (int axis = 0; axis < m_scene.mesh.axisCount(); ++axis) { // the nearest ones last
        const std::int64_t size = m_scene.mesh.axis(axis).size;
        if (size < 2 || static_cast<std::size_t>(size) > kMostMembers)
            continue;
        constexpr std::array kLines { Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine };
        QPen pen(axisColor(m_scene.mesh, axis), 2, kLines[static_cast<std::size_t>(drawn++) % kLines.size()]);
        pen.setCapStyle(Qt::FlatCap);
        paintMembers(painter, { axis }, device, pen);
    }
}

void MeshCanvas::paintOutline(QPainter& painter, std::int64_t position, bool selected)
{
    if (position < 0 || position >= m_scene.mesh.deviceCount())
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
    text(x, m_scene.memory.legend());
    line.translate(0, line.height());
    x = line.left();
    text(x, QStringLiteral("0"));
    for (int i = 0; i < kSteps; ++i) {
        painter.fillRect(QRectF(x, line.center().y() - 5, kStep, 10), heatColor((i + 0.5) / kSteps, theme).fill);
        x += kStep;
    }
    x += 6;
    text(x, bytesText(static_cast<std::int64_t>(m_scene.hardware.memoryBytes())));
    const PartColor full = heatColor(2, theme);
    const QRectF box(x + 4, line.center().y() - 5, kStep, 10);
    painter.fillRect(box, full.fill);
    painter.fillRect(box, QBrush(full.hatchColor, full.hatch));
    x = box.right() + 4;
    text(x, tr("does not fit"));
}

void MeshCanvas::paintTransferWords(QPainter& painter) const
{
    if (m_transferTitle.isEmpty())
        return;
    const Theme& theme = Theme::of(this);
    const double text = textScale(this);
    const double words = kWords * text;
    const QRectF band(kPanelMargin, height() - kFooter * text - words - (m_scene.coloring == Coloring::Memory ? kScale * text : 0),
                      width() - 2 * kPanelMargin, words);
    if (gridArea().bottom() > band.top())
        return; // the flow says it, too
    const auto line = [&](double top, const QFont& font, const QColor& color, const QString& said) {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(QRectF(band.left(), top, band.width(), words / 2), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(said, Qt::ElideRight, static_cast<int>(band.width())));
    };
    line(band.top(), uiFont(this, -0.5, true), m_transfer.valid() ? theme.attention : theme.text, m_transferTitle);
    line(band.top() + words / 2, uiFont(this, -1.5), theme.text, transferText());
}

void MeshCanvas::paintMap(QPainter& painter, const Viewport& map) const
{
    paintPixels(painter, map, map.toScreen(m_scene.grid.world()).toAlignedRect());
}

void MeshCanvas::paintOverlay(QPainter& painter, const QRegion&)
{
    paintGroupsOfSelected(painter);
    paintGroup(painter);
    if (m_hoveredUnit) {
        painter.setClipRect(gridArea().adjusted(-3, -3, 3, 3));
        painter.setPen(QPen(Theme::of(this).text, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(
            m_viewport.toScreen(m_scene.grid.unit(m_hoveredUnit->tier, m_hoveredUnit->position)).adjusted(-2, -2, 2, 2));
        painter.setClipping(false);
    }
    const std::int64_t hovered = selection()->hoveredDevice();
    if (hovered != selection()->device())
        paintOutline(painter, hovered, false);
    paintOutline(painter, selection()->device(), true);
    if (transferCollective() != nullptr && !m_arrows.empty()) {
        painter.save();
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setClipRect(gridArea().adjusted(-3, -3, 3, 3));
        paintTransfers(painter, m_arrows, m_progress, std::clamp(m_viewport.scale() / 10, 2.5, 5.0), Theme::of(this));
        painter.restore();
    }
    const double text = textScale(this);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(Theme::of(this).quiet);
    painter.setFont(uiFont(this, -1.5));
    const QRectF footer(kPanelMargin, height() - kFooter * text, width() - 2 * kPanelMargin, kFooter * text - 6);
    painter.drawText(footer, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(footerText(), Qt::ElideRight, static_cast<int>(footer.width())));
    if (coloring() == Coloring::Memory)
        paintScale(painter, QRectF(footer.left(), footer.top() - kScale * text, footer.width(), kScale * text));
    paintTransferWords(painter);
}

QString MeshCanvas::footerText() const
{
    const auto axes = groupAxes();
    if (!axes.empty())
        return m_scene.groupText(axes);
    const std::int64_t device = shownDevice(*document());
    if (device < 0)
        return m_scene.memory.stages() > 1 ? m_scene.memory.legend() : QString();
    const QString coordinates = deviceText(device).section(QLatin1Char('\n'), 0, 0);
    if (m_scene.memory.stages() < 2 && coloring() == Coloring::Shards)
        return coordinates;
    return coordinates + tr(" · peak %1").arg(bytesText(m_scene.memory.peakAt(device)));
}

} // namespace shardboard
