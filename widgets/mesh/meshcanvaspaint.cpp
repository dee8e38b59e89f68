// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshcanvas.h"

#include "widgets/document/documentview.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvassizes.h"
#include "widgets/mesh/transferpaint.h"

#include <QPainter>

#include <algorithm>

namespace shardboard {

using namespace meshcanvas;

namespace {

} // namespace

void MeshCanvas::paintBase(QPainter& painter)
{
    painter.fillRect(rect(), Theme::of(this).window);
    if (!document()->hasDesign())
        return;
    painter.save(); // with the opacity
    painter.setClipRect(gridArea().adjusted(-1, -1, 1, 1));
    painter.setFont(uiFont(this, -1, true)); // of the ids in cells
    constexpr double kMany = 64;
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() >= kCardCell)
        m_cards.begin(this, painter,
                      std::min(visible.width() * visible.height(), static_cast<double>(m_scene.mesh.deviceCount())) > kMany);
    paintCells(painter);
    painter.restore();
    paintMeshBars(painter, m_bars, m_scene.mesh, m_scene.grid, m_viewport, this);
}

void MeshCanvas::paintCells(QPainter& painter)
{
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() < kSolidCell) {
        paintPixels(painter, visible, m_viewport);
        return;
    }
    for (std::int64_t row = 0; row < m_scene.grid.rows(); ++row) {
        const double top = m_scene.grid.rowTop(row);
        if (top + 1 < visible.top() || top > visible.bottom())
            continue;
        for (std::int64_t column = 0; column < m_scene.grid.columns(); ++column) {
            const double left = m_scene.grid.columnLeft(column);
            if (left + 1 < visible.left() || left > visible.right())
                continue;
            if (const std::int64_t position = m_scene.grid.positionOf(column, row); position >= 0)
                paintCell(painter, position, m_viewport.toScreen(QRectF(left, top, 1, 1)));
        }
    }
}

/// Cells too small to be told apart: a pixel each, block by block, so that the gaps stay.
void MeshCanvas::paintPixels(QPainter& painter, const QRectF& visible, const Viewport& viewport) const
{
    const std::int64_t wide = m_scene.grid.columnRun();
    const std::int64_t high = m_scene.grid.rowRun();
    for (std::int64_t row = 0; row < m_scene.grid.rows(); row += high)
        for (std::int64_t column = 0; column < m_scene.grid.columns(); column += wide) {
            const QRectF block(m_scene.grid.columnLeft(column), m_scene.grid.rowTop(row), static_cast<double>(wide),
                               static_cast<double>(high));
            if (block.intersects(visible))
                painter.drawImage(viewport.toScreen(block), m_scene.image,
                                  QRectF(static_cast<double>(column), static_cast<double>(row), static_cast<double>(wide),
                                         static_cast<double>(high)));
        }
}

void MeshCanvas::paintCell(QPainter& painter, std::int64_t position, const QRectF& rect)
{
    const PartColor color = colorAt(position);
    painter.setOpacity(m_scene.isLoud(position) ? 1 : MeshScene::kQuiet);
    if (m_viewport.scale() >= kCardCell) {
        m_cards.paint(painter, rect.adjusted(3, 3, -3, -3), QString::number(m_scene.mesh.deviceId(position)), color,
                      m_scene.memory.fillAt(position), m_scene.memory.peakAt(position));
        return;
    }
    const double gap = m_viewport.scale() >= kLabelCell ? 1.5 : 0.5;
    const QRect solid = rect.adjusted(gap, gap, -gap, -gap).toRect();
    painter.fillRect(solid, color.fill);
    if (color.hatch != Qt::NoBrush)
        painter.fillRect(solid, QBrush(color.hatchColor, color.hatch));
    if (m_viewport.scale() < kLabelCell)
        return;
    const QString id = QString::number(m_scene.mesh.deviceId(position));
    if (painter.fontMetrics().horizontalAdvance(id) > solid.width() - 4)
        return;
    painter.setPen(color.label);
    painter.drawText(solid, Qt::AlignCenter, id);
}

void MeshCanvas::paintGroup(QPainter& painter)
{
    const auto axes = groupAxes();
    if (axes.empty() || m_scene.mesh.groupSize(axes) > 4096)
        return;
    const auto members = m_scene.mesh.group(std::max<std::int64_t>(shownDevice(*document()), 0), axes);
    QRectF hull;
    double area = 0;
    for (const std::int64_t member : members) {
        hull = hull.united(m_scene.grid.cell(member));
        area += 1;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(axisColor(m_scene.mesh, axes.front()), 2, Qt::DashLine));
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

void MeshCanvas::paintMap(QPainter& painter, const Viewport& map) const { paintPixels(painter, m_scene.grid.world(), map); }

void MeshCanvas::paintOverlay(QPainter& painter, const QRegion&)
{
    paintGroup(painter);
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
