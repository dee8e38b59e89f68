// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/tilecanvas.h"

#include "widgets/document/documentview.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kTop = 36; ///< room for the label and the chips of the dim to the right
constexpr double kLeft = 44; ///< room for those of the dim downwards
constexpr double kBottom = 28; ///< room for the off zone while an axis is dragged
constexpr double kChipHeight = 22;

} // namespace

TileCanvas::TileCanvas(Document* document, QWidget* parent)
    : CanvasWidget(document, QStringLiteral("tileCanvas"), tr("Tiles of the selected weight"), Base::Kept, parent)
{
    setAcceptDrops(true);
}

QString tileRangeText(const Range& range) { return QStringLiteral("%1–%2").arg(range.lo).arg(range.hi); }

void TileCanvas::show(int weight)
{
    const auto evaluation = document()->evaluation();
    const int before = m_weight;
    m_weight = evaluation && weight < static_cast<int>(evaluation->weights.size()) ? weight : -1;
    m_scene = TileScene();
    m_spec = TensorSpec();
    m_layout = Layout();
    if (m_weight >= 0) {
        const auto& shown = evaluation->weights[static_cast<std::size_t>(m_weight)];
        m_spec = shown.spec;
        m_layout = shown.layout;
        if (shown.unknownShape)
            m_weight = -1;
        else
            m_scene = makeTileScene(shown, evaluation.get());
    }
    if (m_weight != before)
        m_frame = QRectF(); // another weight is seen whole at first
    m_dragAxis = -1; // an axis that was on its way may be none any more
    m_dragDim = kNoDim;
    forgetPress();
    m_refusal.clear();
    navigation()->forgetMap();
    layOut();
    reportCurrent(this);
    update();
}

void TileCanvas::layOut()
{
    forgetBase();
    m_chips.clear();
    m_picture = QRectF();
    if (m_weight < 0)
        return;
    const double left = m_scene.rowDim >= 0 ? kLeft * textScale(this) : 8;
    const QRectF room =
        QRectF(rect()).adjusted(kPanelMargin + left, kTop * textScale(this), -kPanelMargin, -kBottom * textScale(this));
    const double ratio = static_cast<double>(m_scene.columnSize) / static_cast<double>(m_scene.rowSize);
    // Shown to scale between 1:2 and 2:1; beyond that a picture to scale would be a line.
    const double aspect = std::clamp(ratio, 0.6, 1.8);
    QSizeF size(room.width(), room.width() / aspect);
    if (m_scene.rowDim < 0)
        size = QSizeF(room.width(), std::min(72.0, room.height()));
    else if (size.height() > room.height())
        size = QSizeF(room.height() * aspect, room.height());
    const double top = m_scene.rowDim < 0 ? room.top() : room.top() + (room.height() - size.height()) / 3;
    const QRectF frame = QRectF(room.left() + (m_scene.rowDim < 0 ? 0 : std::max(0.0, (room.width() - size.width()) / 2)), top,
                                std::max(8.0, size.width()), std::max(8.0, size.height()))
                             .toRect();
    if (frame != m_frame) {
        m_frame = frame;
        m_viewport.setView(frame);
        m_viewport.setWorld(QRectF(QPointF(), frame.size()), 1);
    }
    m_picture = m_viewport.toScreen(QRectF(QPointF(), frame.size()));
    if (m_scene.columnDim >= 0)
        placeChips(m_scene.columnDim, false);
    if (m_scene.rowDim >= 0)
        placeChips(m_scene.rowDim, true);
    const QFontMetricsF bold(uiFont(this, 0, true));
    m_leastLabel = QSizeF(bold.horizontalAdvance(QLatin1Char('0')) + 6, bold.height());
    m_showRanges = rangesFit();
}

/// Ranges in some tiles and not in others would look like a difference, so they are in all or in none.
bool TileCanvas::rangesFit() const
{
    if (m_scene.tiles.empty())
        return false;
    const QFontMetricsF mono(monoFont(this, -2));
    QString longest; // of one width a letter, so that measuring one is enough
    int lines = 0;
    for (const auto* bands : { &m_scene.rows, &m_scene.columns }) {
        lines += bands->size() > 1 ? 1 : 0;
        for (const Band& band : *bands)
            if (const QString text = tileRangeText(band.range); bands->size() > 1 && text.size() > longest.size())
                longest = text;
    }
    const double widest = mono.horizontalAdvance(longest);
    const double height = QFontMetricsF(uiFont(this, 0, true)).height() + lines * mono.height();
    return std::all_of(m_scene.tiles.begin(), m_scene.tiles.end(), [&](const Tile& tile) {
        const QRectF rect = bandRect(tile.row, tile.column);
        return rect.width() >= widest + 4 && rect.height() >= height;
    });
}

void TileCanvas::placeChips(int dim, bool vertical)
{
    const QFontMetricsF metrics(monoFont(this, -1));
    const auto axes = axesOnDim(m_layout, dim);
    const auto wide = [&](int axis) { return metrics.horizontalAdvance(qstr(document()->design().mesh.axis(axis).name)) + 18; };
    double at = vertical ? m_frame.top() : m_frame.right();
    if (vertical) { // beside a low picture there may be no room for all of them
        double all = 0;
        for (const int axis : axes)
            all += axis < document()->design().mesh.axisCount() ? wide(axis) + 4 : 0;
        at = std::max(0.0, std::min(at, height() - all));
    }
    // To the right the chips end with the picture (major first), downwards they stand side by side above each other.
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int axis = vertical ? axes[i] : axes[axes.size() - 1 - i];
        if (axis >= document()->design().mesh.axisCount())
            continue; // resized before it wakes to another mesh
        const double width = wide(axis);
        if (vertical) {
            m_chips.push_back(
                { axis, dim,
                  QRectF(m_frame.left() - 6 - kChipHeight * textScale(this), at, kChipHeight * textScale(this), width) });
            at += width + 4;
        } else {
            at -= width;
            m_chips.push_back(
                { axis, dim, QRectF(at, m_frame.top() - 6 - kChipHeight * textScale(this), width, kChipHeight * textScale(this)) });
            at -= 4;
        }
    }
}

QRectF TileCanvas::zone(int dim) const
{
    if (m_weight < 0)
        return {};
    if (dim == m_scene.columnDim && dim >= 0)
        return QRectF(m_frame.left(), m_frame.top() - kTop * textScale(this) + 4, m_frame.width(), kTop * textScale(this) - 8);
    if (dim == m_scene.rowDim && dim >= 0)
        return QRectF(m_frame.left() - kLeft * textScale(this) + 4, m_frame.top(), kLeft * textScale(this) - 8, m_frame.height());
    if (dim == -1)
        return QRectF(m_frame.left(), m_frame.bottom() + 5, m_frame.width(), kBottom * textScale(this) - 8);
    return {};
}

QRectF TileCanvas::chipRect(int axis) const
{
    for (const Chip& chip : m_chips)
        if (chip.axis == axis)
            return chip.rect;
    return {};
}

QRectF TileCanvas::bandRect(int row, int column) const
{
    const Range& r = m_scene.rows[static_cast<std::size_t>(row)].range;
    const Range& c = m_scene.columns[static_cast<std::size_t>(column)].range;
    const auto x = [this](std::int64_t at) {
        return m_picture.left() + m_picture.width() * static_cast<double>(at) / static_cast<double>(m_scene.columnSize);
    };
    const auto y = [this](std::int64_t at) {
        return m_picture.top() + m_picture.height() * static_cast<double>(at) / static_cast<double>(m_scene.rowSize);
    };
    return QRectF(QPointF(x(c.lo), y(r.lo)), QPointF(x(c.hi), y(r.hi)));
}

QRectF TileCanvas::tileRect(std::int64_t position) const
{
    QRectF out;
    if (m_weight >= 0 && position >= 0 && position < m_scene.deviceCount)
        for (const auto& [row, column] : m_scene.tilesOf(position))
            out = out.united(bandRect(row, column));
    return out;
}

std::int64_t TileCanvas::deviceAt(const QPointF& point) const
{
    if (m_weight < 0 || m_scene.replicated || !m_frame.contains(point))
        return -1;
    return m_scene.ownerAt((point.x() - m_picture.left()) / m_picture.width(), (point.y() - m_picture.top()) / m_picture.height());
}

int TileCanvas::dimAt(const QPointF& point) const
{
    if (m_weight < 0)
        return kNoDim;
    if (m_scene.columnDim < 0)
        return kNoDim;
    if (m_scene.rowDim < 0)
        return point.y() < m_frame.bottom() ? m_scene.columnDim : -1;
    // Everywhere outside of the tensor and of the zones beside it.
    if (point.y() > m_frame.bottom() || point.x() > m_frame.right() + kPanelMargin || point.x() < zone(m_scene.rowDim).left()
        || point.y() < zone(m_scene.columnDim).top())
        return -1;
    // Above the diagonal is nearer to the upper edge, below it to the left one; that holds for the zones beside too.
    const double x = (point.x() - m_frame.left()) / m_frame.width();
    const double y = (point.y() - m_frame.top()) / m_frame.height();
    return y < x ? m_scene.columnDim : m_scene.rowDim;
}

TileEdge TileCanvas::edgeOfTile(const Tile& tile) const
{
    return edgeOf(m_scene.rows[static_cast<std::size_t>(tile.row)], m_scene.columns[static_cast<std::size_t>(tile.column)]);
}

TileKinds TileCanvas::kinds() const
{
    TileKinds out;
    out.whole = m_weight >= 0 && m_scene.replicated;
    if (m_weight < 0 || m_scene.replicated)
        return out;
    out.cut = !m_scene.image.isNull();
    for (const Tile& tile : m_scene.tiles) {
        const TileEdge edge = edgeOfTile(tile);
        (edge == TileEdge::Padded ? out.padded : edge == TileEdge::Uneven ? out.uneven : out.cut) = true;
    }
    return out;
}

QRectF TileCanvas::selectedPart() const
{
    const QRectF tile = tileRect(selection()->device());
    return tile.isEmpty() ? QRectF() : QRectF(m_viewport.toWorld(tile.topLeft()), m_viewport.toWorld(tile.bottomRight()));
}

QString TileCanvas::toolTipAt(const QPointF& point) const
{
    const std::int64_t device = deviceAt(point);
    return device < 0 ? QString() : tileText(device);
}

int TileCanvas::axisAt(const QPointF& point) const
{
    int axis = -1;
    for (const Chip& chip : m_chips)
        if (chip.rect.contains(point))
            axis = chip.axis;
    return axis;
}

// Tiles are counted row by row, whether they are drawn one by one or as an image.

int TileCanvas::accessibleCount() const
{
    return m_weight < 0 ? 0 : m_scene.replicated ? 1 : static_cast<int>(m_scene.rows.size() * m_scene.columns.size());
}

std::int64_t TileCanvas::ownerOf(int index) const
{
    if (index < 0 || index >= accessibleCount())
        return -1;
    const auto columns = static_cast<int>(m_scene.columns.size());
    const QPointF centre = bandRect(index / columns, index % columns).center() - m_picture.topLeft();
    return m_scene.replicated ? 0 : m_scene.ownerAt(centre.x() / m_picture.width(), centre.y() / m_picture.height());
}

QString TileCanvas::accessibleItemName(int index) const
{
    const std::int64_t owner = ownerOf(index);
    if (owner < 0)
        return {};
    if (m_scene.replicated)
        return wholeText(m_scene);
    const auto at = static_cast<std::size_t>(index);
    const QString held =
        at < m_scene.tiles.size() ? m_scene.tiles[at].devices() : QString::number(m_scene.shards.mesh().deviceId(owner));
    const QString text = tileText(owner).section(QLatin1Char('\n'), 1);
    return held.contains(QLatin1Char(' ')) ? tr("devices %1\n%2").arg(held, text) : tr("device %1\n%2").arg(held, text);
}

QRectF TileCanvas::accessibleItemRect(int index) const
{
    if (index < 0 || index >= accessibleCount())
        return {};
    const auto columns = static_cast<int>(m_scene.columns.size());
    return m_scene.replicated ? m_frame : bandRect(index / columns, index % columns).intersected(m_frame);
}

int TileCanvas::accessibleItemAt(const QPointF& point) const
{
    if (m_weight < 0 || !m_frame.contains(point))
        return -1;
    if (m_scene.replicated)
        return 0;
    const int row = m_scene.rowAt((point.y() - m_picture.top()) / m_picture.height());
    const int column = m_scene.columnAt((point.x() - m_picture.left()) / m_picture.width());
    return row < 0 || column < 0 ? -1 : row * static_cast<int>(m_scene.columns.size()) + column;
}

int TileCanvas::accessibleCurrent() const
{
    const std::int64_t device = selection()->device();
    if (m_weight < 0 || device < 0 || device >= m_scene.deviceCount)
        return -1;
    const auto tiles = m_scene.tilesOf(device);
    return m_scene.replicated ? 0
        : tiles.empty()       ? -1
                              : tiles.front().first * static_cast<int>(m_scene.columns.size()) + tiles.front().second;
}

bool TileCanvas::isAccessibleSelected(int index) const
{
    const std::int64_t device = selection()->device();
    if (m_weight < 0 || m_scene.replicated || device < 0 || device >= m_scene.deviceCount)
        return index == accessibleCurrent();
    const auto tiles = m_scene.tilesOf(device);
    const auto columns = static_cast<int>(m_scene.columns.size());
    return std::any_of(tiles.begin(), tiles.end(), [&](const auto& tile) { return tile.first * columns + tile.second == index; });
}

void TileCanvas::accessibleActivate(int index)
{
    if (!m_scene.replicated)
        selection()->setDevice(ownerOf(index));
}

QString TileCanvas::tileText(std::int64_t position) const
{
    if (m_weight < 0 || position < 0 || position >= m_scene.deviceCount)
        return {};
    const Shard shard = m_scene.shards.shardAt(position);
    const Mesh& mesh = m_scene.shards.mesh();
    QStringList coordinates;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        coordinates << QStringLiteral("%1 %2").arg(qstr(mesh.axis(axis).name)).arg(mesh.coordinate(position, axis));
    const QString where = coordinates.isEmpty() ? QString() : QStringLiteral(" · ") + coordinates.join(QStringLiteral(", "));
    QString out = tr("device %1%2\n%3\n%4")
                      .arg(QString::number(mesh.deviceId(position)), where, shardText(shard),
                           exactBytesText(bytesOf(shard.elements(), m_spec.dtype)));
    const auto held = m_scene.tilesOf(position);
    for (const int dim : { m_scene.rowDim, m_scene.columnDim }) {
        if (dim < 0 || held.empty())
            continue;
        const Band& band = dim == m_scene.rowDim ? m_scene.rows[static_cast<std::size_t>(held.front().first)]
                                                 : m_scene.columns[static_cast<std::size_t>(held.front().second)];
        const DimCut& cut = m_scene.shards.cuts()[static_cast<std::size_t>(dim)];
        if (band.uneven)
            out += QLatin1Char('\n')
                + (band.padded ? tr("dim %1: %2, padded to %3") : tr("dim %1: %2, uneven, others have %3"))
                      .arg(dim)
                      .arg(cut.partSize(band.part))
                      .arg(cut.largest());
    }
    return out;
}

} // namespace shardboard
