// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/tilecanvas.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/document/documentview.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/hatch.h"
#include "widgets/look/theme.h"

#include <QPainter>

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kQuiet = 0.25; ///< opacity of tiles of another kind than the legend's entry

/// The longest form of a dim's label that fits: `dim 1 · in (hidden) 4096`, `dim 1 · in 4096`, `dim 1`.
QString fittingDimText(const TensorSpec& spec, int dim, const QFontMetricsF& metrics, double room)
{
    QString text = dimText(spec, dim);
    if (metrics.horizontalAdvance(text) <= room)
        return text;
    const auto open = text.indexOf(QLatin1String(" ("));
    const auto close = text.indexOf(QLatin1Char(')'), open);
    if (open >= 0 && close > open)
        text.remove(open, close - open + 1);
    return metrics.horizontalAdvance(text) <= room
        ? text
        : metrics.elidedText(text.section(QStringLiteral(" · "), 0, 0), Qt::ElideRight, room);
}

QString legendKey(TileEdge edge)
{
    return edge == TileEdge::Padded ? QStringLiteral("padded")
        : edge == TileEdge::Uneven  ? QStringLiteral("uneven")
                                    : QStringLiteral("cut");
}

} // namespace

void TileCanvas::paintTiles(QPainter& painter) const
{
    if (!m_scene.image.isNull()) {
        painter.drawImage(m_picture, m_scene.image);
        return;
    }
    for (const Tile& tile : m_scene.tiles)
        if (bandRect(tile.row, tile.column).intersects(m_frame)) {
            painter.setOpacity(highlight().isEmpty() || legendKey(edgeOfTile(tile)) == highlight() ? 1 : kQuiet);
            paintTile(painter, tile);
        }
    painter.setOpacity(1);
}

void TileCanvas::paintTile(QPainter& painter, const Tile& tile) const
{
    const QRectF whole = bandRect(tile.row, tile.column);
    const double gap = std::min(whole.width(), whole.height()) > 8 ? 1 : 0;
    const QRect rect = whole.toAlignedRect().adjusted(0, 0, -static_cast<int>(gap), -static_cast<int>(gap));
    const PartColor color = m_scene.colors.at(tile.color);
    painter.fillRect(rect, color.fill);
    fillHatched(painter, rect, color);
    paintTileEdge(painter, rect, m_scene.rows[static_cast<std::size_t>(tile.row)],
                  m_scene.columns[static_cast<std::size_t>(tile.column)], color.label);
    if (rect.width() >= m_leastLabel.width() && rect.height() >= m_leastLabel.height()) // of many small tiles none is measured
        paintTileLabel(painter, tile, rect);
}

/// The devices that hold a tile, in the lines that fit: all of them, or the first with how many there are besides (`0 +15`).
QStringList TileCanvas::fittingOwners(const Tile& tile, const QFontMetricsF& metrics, const QRectF& rect) const
{
    constexpr int kPadding = 6;
    const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) + kPadding <= rect.width(); };
    const int ranges = m_showRanges ? static_cast<int>(m_scene.rows.size() > 1) + static_cast<int>(m_scene.columns.size() > 1) : 0;
    const int most = static_cast<int>((rect.height() - ranges * QFontMetricsF(monoFont(this, -2)).height()) / metrics.height());
    QStringList lines;
    for (const QString& word : tile.devices().split(QLatin1Char(' '))) {
        if (!lines.isEmpty() && fits(lines.back() + QLatin1Char(' ') + word))
            lines.back() += QLatin1Char(' ') + word;
        else
            lines << word;
    }
    if (lines.size() <= std::clamp(most, 1, 3) && std::all_of(lines.begin(), lines.end(), fits) && most > 0)
        return lines;
    const QString first = QString::number(m_scene.shards.mesh().deviceId(tile.firstOwner));
    const QString counted = tile.owners > 1 ? first + QStringLiteral(" +%1").arg(tile.owners - 1) : first;
    return most > 0 && fits(counted) ? QStringList { counted } : QStringList();
}

void TileCanvas::paintTileLabel(QPainter& painter, const Tile& tile, const QRectF& rect) const
{
    const PartColor color = m_scene.colors.at(tile.color);
    const QFont bold = uiFont(this, 0, true);
    const QFontMetricsF boldMetrics(bold);
    const QStringList owners = fittingOwners(tile, boldMetrics, rect);
    if (owners.isEmpty())
        return;
    const QFont mono = monoFont(this, -2);
    const double monoHeight = QFontMetricsF(mono).height();
    QStringList lines;
    if (m_showRanges && m_scene.rows.size() > 1)
        lines << tileRangeText(m_scene.rows[static_cast<std::size_t>(tile.row)].range);
    if (m_showRanges && m_scene.columns.size() > 1)
        lines << tileRangeText(m_scene.columns[static_cast<std::size_t>(tile.column)].range);
    const double height =
        static_cast<double>(owners.size()) * boldMetrics.height() + static_cast<double>(lines.size()) * monoHeight;
    double y = rect.center().y() - height / 2;
    painter.setPen(color.label);
    painter.setFont(bold);
    for (const QString& line : owners) {
        painter.drawText(QRectF(rect.left(), y, rect.width(), boldMetrics.height()), Qt::AlignCenter, line);
        y += boldMetrics.height();
    }
    painter.setFont(mono);
    for (const QString& line : lines) {
        painter.drawText(QRectF(rect.left(), y, rect.width(), monoHeight), Qt::AlignCenter, line);
        y += monoHeight;
    }
}

void TileCanvas::paintReplicated(QPainter& painter) const
{
    const Theme& theme = Theme::of(this);
    painter.fillRect(m_frame, theme.panel);
    painter.setPen(QPen(theme.quiet, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(m_frame.adjusted(1, 1, -1, -1));
    painter.setPen(theme.text);
    painter.setFont(uiFont(this, 0, true));
    painter.drawText(m_frame.adjusted(4, 0, -4, 0), Qt::AlignCenter | Qt::TextWordWrap, wholeText(m_scene));
}

void TileCanvas::paintLabels(QPainter& painter) const
{
    const Theme& theme = Theme::of(this);
    painter.setPen(theme.quiet);
    const QFont font = uiFont(this, -1);
    const QFontMetricsF metrics(font);
    painter.setFont(font);
    double room = m_frame.width();
    double roomDown = m_frame.height();
    for (const Chip& chip : m_chips) {
        room -= chip.dim == m_scene.columnDim ? chip.rect.width() + 6 : 0;
        roomDown -= chip.dim == m_scene.rowDim ? chip.rect.height() + 6 : 0;
    }
    if (m_scene.columnDim >= 0)
        painter.drawText(QRectF(m_frame.left(), m_frame.top() - 28 * textScale(this), room, 22 * textScale(this)),
                         Qt::AlignLeft | Qt::AlignVCenter, fittingDimText(m_spec, m_scene.columnDim, metrics, room));
    if (m_scene.rowDim >= 0) {
        painter.save();
        painter.translate(m_frame.left() - 17 * textScale(this), m_frame.bottom());
        painter.rotate(-90);
        painter.drawText(QRectF(0, -11 * textScale(this), roomDown, 22 * textScale(this)), Qt::AlignLeft | Qt::AlignVCenter,
                         fittingDimText(m_spec, m_scene.rowDim, metrics, roomDown));
        painter.restore();
    }
    const QFont chipFont = monoFont(this, -1);
    for (const Chip& chip : m_chips) {
        const QString name = qstr(document()->design().mesh.axis(chip.axis).name);
        if (chip.dim == m_scene.columnDim) {
            paintChip(painter, chip.rect, name, axisColor(document()->design().mesh, chip.axis), this, chipFont);
            continue;
        }
        painter.save();
        painter.translate(chip.rect.left(), chip.rect.bottom());
        painter.rotate(-90);
        paintChip(painter, QRectF(0, 0, chip.rect.height(), chip.rect.width()), name,
                  axisColor(document()->design().mesh, chip.axis), this, chipFont);
        painter.restore();
    }
}

void TileCanvas::paintShard(QPainter& painter) const
{
    const std::int64_t device = shownDevice(*document());
    if (device < 0 || m_scene.replicated)
        return;
    const Theme& theme = Theme::of(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setClipRect(m_frame.adjusted(-4, -4, 4, 4));
    for (const auto& [row, column] : m_scene.tilesOf(device)) {
        QRectF rect = bandRect(row, column);
        if (rect.width() < 5 || rect.height() < 5)
            rect = rect.adjusted(-2, -2, 2, 2);
        painter.setPen(QPen(theme.window, 4));
        painter.drawRoundedRect(rect.adjusted(-0.5, -1.5, 0.5, 0.5), 3, 3);
        painter.setPen(QPen(theme.text, 2));
        painter.drawRoundedRect(rect.adjusted(-0.5, -1.5, 0.5, 0.5), 3, 3);
    }
    painter.setClipping(false);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void TileCanvas::paintAboveMap(QPainter& painter)
{
    if (m_dragAxis < 0)
        return;
    const Theme& theme = Theme::of(this);
    const QString name = qstr(document()->design().mesh.axis(m_dragAxis).name);
    const QColor color = m_refusal.isEmpty() ? theme.accent : theme.error;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(uiFont(this, -1));
    for (const int dim : { m_scene.rowDim, m_scene.columnDim, -1 }) {
        const QRectF rect = zone(dim);
        if (rect.isEmpty() || (dim == -1 && dimOfAxis(m_layout, m_dragAxis) < 0))
            continue;
        const bool active = dim == m_dragDim;
        QColor fill = active ? color : theme.quiet;
        fill.setAlphaF(active ? 0.30f : 0.10f);
        painter.setPen(QPen(active ? color : theme.quiet, 1.5, Qt::DashLine));
        painter.setBrush(fill);
        painter.drawRoundedRect(rect, kCornerRadius, kCornerRadius);
        if (dim == -1) {
            painter.setPen(theme.text);
            painter.drawText(rect, Qt::AlignCenter, tr("take %1 off").arg(name));
        }
    }
    if (m_dragDim >= 0 && m_refusal.isEmpty()) { // the cut as it will be
        const std::int64_t parts = partsOf(m_layout.dims[static_cast<std::size_t>(m_dragDim)], document()->design().mesh)
            * (dimOfAxis(m_layout, m_dragAxis) == m_dragDim ? 1 : document()->design().mesh.axis(m_dragAxis).size);
        painter.setPen(QPen(theme.accent, 2, Qt::DashLine));
        painter.setClipRect(m_frame);
        for (std::int64_t part = 1; part < std::min<std::int64_t>(parts, 256); ++part) {
            const double at = static_cast<double>(part) / static_cast<double>(parts);
            if (m_dragDim == m_scene.columnDim)
                painter.drawLine(QPointF(m_picture.left() + at * m_picture.width(), m_picture.top()),
                                 QPointF(m_picture.left() + at * m_picture.width(), m_picture.bottom()));
            else
                painter.drawLine(QPointF(m_picture.left(), m_picture.top() + at * m_picture.height()),
                                 QPointF(m_picture.right(), m_picture.top() + at * m_picture.height()));
        }
        painter.setClipping(false);
    }
    QString text = m_refusal;
    if (text.isEmpty() && m_dragDim >= -1)
        text = axisEditText(*document(), { m_weight }, m_dragAxis, m_dragDim);
    if (text.isEmpty())
        return;
    const QFontMetricsF metrics(painter.font());
    const QRectF wanted = metrics.boundingRect(QRectF(0, 0, std::max(120.0, width() - 40.0), 400), Qt::TextWordWrap, text);
    QRectF box(0, 0, wanted.width() + 20, wanted.height() + 12);
    box.moveCenter(QPointF(width() / 2.0, m_frame.center().y()));
    painter.setPen(QPen(color, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box, kCornerRadius, kCornerRadius);
    painter.setPen(m_refusal.isEmpty() ? theme.text : theme.error);
    painter.drawText(box.adjusted(10, 6, -10, -6), Qt::AlignCenter | Qt::TextWordWrap, text);
}

void TileCanvas::paintBase(QPainter& painter)
{
    const Theme& theme = Theme::of(this);
    painter.fillRect(rect(), theme.window);
    if (isBlank()) {
        painter.setPen(theme.quiet);
        painter.setFont(font());
        painter.drawText(rect().adjusted(kPanelMargin, 0, -kPanelMargin, 0), Qt::AlignCenter | Qt::TextWordWrap,
                         m_spec.name.empty() ? tr("Select a weight to see its tiles.")
                                             : tr("The shape of this tensor is not known, so it has no tiles."));
        return;
    }
    painter.save();
    painter.setClipRect(m_frame);
    if (m_scene.replicated)
        paintReplicated(painter);
    else
        paintTiles(painter);
    painter.restore();
    paintLabels(painter);
}

void TileCanvas::paintMap(QPainter& painter, const Viewport& map) const
{
    const QRectF whole = map.toScreen(map.world());
    if (!m_scene.image.isNull()) {
        painter.drawImage(whole, m_scene.image);
        return;
    }
    const double wide = whole.width() / static_cast<double>(m_scene.columnSize);
    const double high = whole.height() / static_cast<double>(m_scene.rowSize);
    for (const Tile& tile : m_scene.tiles) {
        const Range& row = m_scene.rows[static_cast<std::size_t>(tile.row)].range;
        const Range& column = m_scene.columns[static_cast<std::size_t>(tile.column)].range;
        const QRectF place(whole.left() + wide * static_cast<double>(column.lo), whole.top() + high * static_cast<double>(row.lo),
                           wide * static_cast<double>(column.size()), high * static_cast<double>(row.size()));
        painter.fillRect(place, m_scene.colors.at(tile.color).fill);
    }
}

void TileCanvas::paintOverlay(QPainter& painter, const QRegion&)
{
    if (selection()->hoveredWeight() == m_weight) {
        painter.setPen(QPen(Theme::of(this).quiet, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(m_frame.adjusted(-2, -2, 2, 2));
    }
    paintShard(painter);
}

} // namespace shardboard
