// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/tilecanvas.h"

#include "widgets/canvas/paintsscreen.h"
#include "widgets/controls/axisdrag.h"
#include "widgets/document/documentview.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/look/hatch.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QPainter>
#include <QStatusTipEvent>
#include <QToolTip>

#include <algorithm>
#include <tuple>
#include <utility>

namespace shardboard {

namespace {

constexpr double kTop = 36; ///< room for the label and the chips of the dim to the right
constexpr double kLeft = 44; ///< room for those of the dim downwards
constexpr double kBottom = 28; ///< room for the off zone while an axis is dragged
constexpr double kChipHeight = 22;
constexpr int kNothing = -2;
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

QString rangeText(const Range& range) { return QStringLiteral("%1–%2").arg(range.lo).arg(range.hi); }

} // namespace

TileCanvas::TileCanvas(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_navigation(new CanvasNavigation(this, this))
{
    setObjectName(QStringLiteral("tileCanvas"));
    setAccessibleName(tr("Tiles of the selected weight"));
    setMouseTracking(true);
    setAcceptDrops(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

QSize TileCanvas::sizeHint() const { return { 380, 320 }; }
QSize TileCanvas::minimumSizeHint() const { return { 200, 130 }; }

void TileCanvas::show(int weight)
{
    const auto evaluation = m_document->evaluation();
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
            m_scene = makeTileScene(shown);
    }
    if (m_weight != before)
        m_frame = QRectF(); // another weight is seen whole at first
    m_dragAxis = -1; // an axis that was on its way may be none any more
    m_dragDim = kNothing;
    m_pressedChip = -1;
    m_refusal.clear();
    m_navigation->forgetMap();
    layout();
    reportCurrent(this);
    update();
}

void TileCanvas::layout()
{
    m_base = QPixmap();
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
    double widest = 0;
    int lines = 0;
    for (const auto* bands : { &m_scene.rows, &m_scene.columns }) {
        lines += bands->size() > 1 ? 1 : 0;
        for (const Band& band : *bands)
            if (bands->size() > 1)
                widest = std::max(widest, mono.horizontalAdvance(rangeText(band.range)));
    }
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
    double at = vertical ? m_frame.top() : m_frame.right();
    // To the right the chips end with the picture (major first), downwards they stand side by side above each other.
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int axis = vertical ? axes[i] : axes[axes.size() - 1 - i];
        const double width = metrics.horizontalAdvance(qstr(m_document->design().mesh.axis(axis).name)) + 18;
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
        return kNothing;
    if (m_scene.columnDim < 0)
        return kNothing;
    if (m_scene.rowDim < 0)
        return point.y() < m_frame.bottom() ? m_scene.columnDim : -1;
    if (point.y() > m_frame.bottom() || point.x() > m_frame.right() + kPanelMargin)
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

void TileCanvas::setHighlight(const QString& key)
{
    m_highlight = key;
    m_base = QPixmap();
    update();
}

void TileCanvas::paintTiles(QPainter& painter) const
{
    if (!m_scene.image.isNull()) {
        painter.drawImage(m_picture, m_scene.image);
        return;
    }
    for (const Tile& tile : m_scene.tiles)
        if (bandRect(tile.row, tile.column).intersects(m_frame)) {
            painter.setOpacity(m_highlight.isEmpty() || legendKey(edgeOfTile(tile)) == m_highlight ? 1 : kQuiet);
            paintTile(painter, tile);
        }
    painter.setOpacity(1);
}

void TileCanvas::paintTile(QPainter& painter, const Tile& tile) const
{
    const QRectF whole = bandRect(tile.row, tile.column);
    const double gap = std::min(whole.width(), whole.height()) > 8 ? 1 : 0;
    const QRect rect = whole.toAlignedRect().adjusted(0, 0, -static_cast<int>(gap), -static_cast<int>(gap));
    const PartColor color = partColor(tile.color);
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
    for (const QString& word : tile.devices.split(QLatin1Char(' '))) {
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
    const PartColor color = partColor(tile.color);
    const QFont bold = uiFont(this, 0, true);
    const QFontMetricsF boldMetrics(bold);
    const QStringList owners = fittingOwners(tile, boldMetrics, rect);
    if (owners.isEmpty())
        return;
    const QFont mono = monoFont(this, -2);
    const double monoHeight = QFontMetricsF(mono).height();
    QStringList lines;
    if (m_showRanges && m_scene.rows.size() > 1)
        lines << rangeText(m_scene.rows[static_cast<std::size_t>(tile.row)].range);
    if (m_showRanges && m_scene.columns.size() > 1)
        lines << rangeText(m_scene.columns[static_cast<std::size_t>(tile.column)].range);
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
    const QString text =
        m_scene.deviceCount == 1 ? tr("whole on the one device") : tr("on all %1 devices").arg(m_scene.deviceCount);
    painter.drawText(m_frame.adjusted(4, 0, -4, 0), Qt::AlignCenter | Qt::TextWordWrap, text);
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
        const QString name = qstr(m_document->design().mesh.axis(chip.axis).name);
        if (chip.dim == m_scene.columnDim) {
            paintChip(painter, chip.rect, name, chip.axis, this, chipFont);
            continue;
        }
        painter.save();
        painter.translate(chip.rect.left(), chip.rect.bottom());
        painter.rotate(-90);
        paintChip(painter, QRectF(0, 0, chip.rect.height(), chip.rect.width()), name, chip.axis, this, chipFont);
        painter.restore();
    }
}

void TileCanvas::paintShard(QPainter& painter) const
{
    const std::int64_t device = shownDevice(*m_document);
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

void TileCanvas::paintDrag(QPainter& painter) const
{
    if (m_dragAxis < 0)
        return;
    const Theme& theme = Theme::of(this);
    const QString name = qstr(m_document->design().mesh.axis(m_dragAxis).name);
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
        const std::int64_t parts = partsOf(m_layout.dims[static_cast<std::size_t>(m_dragDim)], m_document->design().mesh)
            * (dimOfAxis(m_layout, m_dragAxis) == m_dragDim ? 1 : m_document->design().mesh.axis(m_dragAxis).size);
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
        text = axisEditText(*m_document, { m_weight }, m_dragAxis, m_dragDim);
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

void TileCanvas::renderBase()
{
    m_base = QPixmap(size() * devicePixelRatioF());
    m_base.setDevicePixelRatio(devicePixelRatioF());
    QPainter painter(&m_base);
    paintBase(painter);
}

/// All that does not follow the mouse.
void TileCanvas::paintBase(QPainter& painter) const
{
    painter.fillRect(rect(), Theme::of(this).window);
    painter.save();
    painter.setClipRect(m_frame);
    if (m_scene.replicated)
        paintReplicated(painter);
    else
        paintTiles(painter);
    painter.restore();
    paintLabels(painter);
}

void TileCanvas::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& theme = Theme::of(this);
    painter.fillRect(rect(), theme.window);
    if (m_weight < 0) {
        painter.setPen(theme.quiet);
        painter.setFont(font());
        const QString text = m_spec.name.empty() ? tr("Select a weight to see its tiles.")
                                                 : tr("The shape of this tensor is not known, so it has no tiles.");
        painter.drawText(rect().adjusted(kPanelMargin, 0, -kPanelMargin, 0), Qt::AlignCenter | Qt::TextWordWrap, text);
        return;
    }
    const bool onScreen = paintsScreen(painter, *this);
    if (onScreen) {
        if (m_base.isNull() || m_base.size() != size() * devicePixelRatioF())
            renderBase();
        painter.drawPixmap(0, 0, m_base);
    } else {
        paintBase(painter); // text stays text
    }
    if (m_document->selection()->hoveredWeight() == m_weight) {
        painter.setPen(QPen(theme.quiet, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(m_frame.adjusted(-2, -2, 2, 2));
    }
    paintShard(painter);
    if (onScreen)
        m_navigation->paintMap(painter);
    paintDrag(painter);
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setPen(QPen(theme.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void TileCanvas::resizeEvent(QResizeEvent*) { layout(); }

void TileCanvas::viewMoved() { layout(); }

QRectF TileCanvas::selectedPart() const
{
    const QRectF tile = tileRect(m_document->selection()->device());
    return tile.isEmpty() ? QRectF() : QRectF(m_viewport.toWorld(tile.topLeft()), m_viewport.toWorld(tile.bottomRight()));
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
        painter.fillRect(place, partColor(tile.color).fill);
    }
}

/// To the tile beside the one of the current device.
void TileCanvas::moveDevice(int dx, int dy)
{
    if (m_weight < 0 || m_scene.replicated || m_scene.tiles.empty())
        return;
    const std::int64_t from = m_document->selection()->device();
    int row = 0;
    int column = 0;
    const auto held = from >= 0 && from < m_scene.deviceCount ? m_scene.tilesOf(from) : std::vector<std::pair<int, int>>();
    if (!held.empty()) { // of an uneven cut a device may hold nothing
        std::tie(row, column) = held.front();
        row = std::clamp(row + dy, 0, static_cast<int>(m_scene.rows.size()) - 1);
        column = std::clamp(column + dx, 0, static_cast<int>(m_scene.columns.size()) - 1);
    }
    const std::int64_t device =
        m_scene.tiles[static_cast<std::size_t>(row) * m_scene.columns.size() + static_cast<std::size_t>(column)].firstOwner;
    m_document->selection()->setDevice(device);
    const QRectF tile = selectedPart();
    if (!m_viewport.isFitted() && !tile.isEmpty()) {
        m_viewport.reveal(tile, 8);
        layout();
        update();
    }
    QStatusTipEvent tip(tileText(device).replace(QLatin1Char('\n'), QStringLiteral(" · ")));
    QApplication::sendEvent(this, &tip);
}

void TileCanvas::showWhole(bool whole)
{
    if (whole) {
        m_part = m_viewport;
        m_viewport.fit();
    } else {
        m_viewport = m_part;
    }
    layout();
    update();
}

void TileCanvas::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left:
        return moveDevice(-1, 0);
    case Qt::Key_Right:
        return moveDevice(1, 0);
    case Qt::Key_Up:
        return moveDevice(0, -1);
    case Qt::Key_Down:
        return moveDevice(0, 1);
    case Qt::Key_Escape:
        m_document->selection()->setDevice(-1);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

void TileCanvas::mouseMoveEvent(QMouseEvent* event)
{
    if (m_pressedChip >= 0 && (event->buttons() & Qt::LeftButton)) {
        if ((event->position() - m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
            const int axis = std::exchange(m_pressedChip, -1);
            dragAxis(this, qstr(m_document->design().mesh.axis(axis).name), axis);
        }
        return;
    }
    bool overChip = false;
    for (const Chip& chip : m_chips)
        overChip = overChip || chip.rect.contains(event->position());
    setCursor(overChip ? Qt::OpenHandCursor : Qt::ArrowCursor);
    m_document->selection()->setHoveredDevice(deviceAt(event->position()));
    m_document->selection()->setHoveredWeight(m_weight >= 0 && m_frame.contains(event->position()) ? m_weight : -1);
}

void TileCanvas::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed = event->position();
    m_pressedChip = -1;
    for (const Chip& chip : m_chips)
        if (chip.rect.contains(event->position()))
            m_pressedChip = chip.axis;
    if (m_pressedChip >= 0)
        m_document->selection()->setMeshAxis(m_pressedChip);
    else if (const std::int64_t device = deviceAt(event->position()); device >= 0)
        m_document->selection()->setDevice(device);
}

void TileCanvas::mouseReleaseEvent(QMouseEvent*) { m_pressedChip = -1; }

void TileCanvas::leaveEvent(QEvent*)
{
    m_document->selection()->setHoveredDevice(-1);
    m_document->selection()->setHoveredWeight(-1);
}

void TileCanvas::dragEnterEvent(QDragEnterEvent* event)
{
    if (m_weight < 0 || !m_document->hasDesign())
        return;
    const QString name = axisFromMimeData(event->mimeData());
    m_dragAxis = name.isEmpty() ? -1 : m_document->design().mesh.find(name.toStdString());
    m_dragDim = kNothing;
    m_refusal.clear();
    if (m_dragAxis >= 0)
        event->acceptProposedAction();
    update();
}

void TileCanvas::dragMoveEvent(QDragMoveEvent* event)
{
    if (m_dragAxis < 0)
        return;
    const int dim = dimAt(event->position());
    if (dim != m_dragDim) {
        m_dragDim = dim;
        m_refusal = dim >= -1 && m_judge ? m_judge(m_dragAxis, dim) : QString();
        update();
    }
    event->setAccepted(m_dragDim >= -1 && m_refusal.isEmpty());
}

void TileCanvas::dragLeaveEvent(QDragLeaveEvent*)
{
    m_dragAxis = -1;
    m_refusal.clear();
    update();
}

void TileCanvas::dropEvent(QDropEvent* event)
{
    const int axis = std::exchange(m_dragAxis, -1);
    update();
    if (axis < 0)
        return;
    const int dim = dimAt(event->position());
    m_refusal.clear();
    if (dim < -1)
        return;
    event->acceptProposedAction();
    Q_EMIT axisDropped(axis, dim);
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
        return m_scene.deviceCount == 1 ? tr("whole on the one device") : tr("on all %1 devices").arg(m_scene.deviceCount);
    const auto at = static_cast<std::size_t>(index);
    const QString held =
        at < m_scene.tiles.size() ? m_scene.tiles[at].devices : QString::number(m_scene.shards.mesh().deviceId(owner));
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
    const std::int64_t device = m_document->selection()->device();
    if (m_weight < 0 || device < 0 || device >= m_scene.deviceCount)
        return -1;
    const auto tiles = m_scene.tilesOf(device);
    return m_scene.replicated ? 0
        : tiles.empty()       ? -1
                              : tiles.front().first * static_cast<int>(m_scene.columns.size()) + tiles.front().second;
}

bool TileCanvas::isAccessibleSelected(int index) const
{
    const std::int64_t device = m_document->selection()->device();
    if (m_weight < 0 || m_scene.replicated || device < 0 || device >= m_scene.deviceCount)
        return index == accessibleCurrent();
    const auto tiles = m_scene.tilesOf(device);
    const auto columns = static_cast<int>(m_scene.columns.size());
    return std::any_of(tiles.begin(), tiles.end(), [&](const auto& tile) { return tile.first * columns + tile.second == index; });
}

void TileCanvas::accessibleActivate(int index)
{
    if (!m_scene.replicated)
        m_document->selection()->setDevice(ownerOf(index));
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

bool TileCanvas::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const std::int64_t device = deviceAt(help->pos());
        if (device >= 0)
            showToolTip(help->globalPos(), tileText(device), this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace shardboard
