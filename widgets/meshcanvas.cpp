// SPDX-License-Identifier: Apache-2.0
#include "widgets/meshcanvas.h"

#include "widgets/axisdrag.h"
#include "widgets/documentview.h"
#include "widgets/format.h"
#include "widgets/theme.h"

#include "model/hardware/footprint.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

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

} // namespace

MeshCanvas::MeshCanvas(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
{
    m_viewport.setVerticalPlace(0.25);
    setObjectName(QStringLiteral("meshCanvas"));
    setAccessibleName(tr("Device mesh"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

QSize MeshCanvas::sizeHint() const { return { 400, 300 }; }
QSize MeshCanvas::minimumSizeHint() const { return { 200, 150 }; }

void MeshCanvas::refresh()
{
    const auto evaluation = m_document->evaluation();
    m_mesh = m_document->design().mesh;
    m_grid = MeshGrid(m_mesh);
    const WeightLayout* weight = selectedWeight(*m_document);
    m_colors = DeviceColors(m_mesh, weight ? &weight->shards : nullptr);
    m_fill = 0;
    m_memoryText.clear();
    if (evaluation) {
        const auto hardware = hardwareOf(m_document->design());
        m_hardware = hardware.ok() ? hardware.value() : Hardware {};
        m_memoryText = evaluation->plan.memory.peak > 0 ? bytesText(evaluation->plan.memory.peak) : QStringLiteral("–");
        if (m_hardware.memoryBytes() > 0)
            m_fill = static_cast<double>(evaluation->plan.memory.peak) / m_hardware.memoryBytes();
    }
    m_image = QImage(static_cast<int>(m_grid.columns()), static_cast<int>(m_grid.rows()),
                     QImage::Format_ARGB32_Premultiplied);
    m_image.fill(Qt::transparent);
    for (std::int64_t position = 0; position < m_mesh.deviceCount(); ++position)
        m_image.setPixel(static_cast<int>(position % m_grid.columns()), static_cast<int>(position / m_grid.columns()),
                         partColor(m_colors.indexAt(position)).fill.rgba());
    m_viewport.setView(gridArea());
    m_viewport.setWorld(m_grid.world(), kLargestCell);
    layoutBars();
    m_base = QPixmap();
    updateOverlay();
}

void MeshCanvas::updateOverlay()
{
    const std::int64_t device = shownDevice(*m_document);
    setAccessibleDescription(device < 0 ? QString() : deviceText(device));
    update();
}

QRectF MeshCanvas::gridArea() const
{
    const int shownAtLeft = m_grid.isWrapped() ? 0 : std::min(std::max(m_mesh.axisCount() - 1, 0), 2);
    return QRectF(rect()).adjusted(kPanelMargin + kSideMargin * shownAtLeft, kTopMargin + 8, -kPanelMargin,
                                   -kFooter - 8);
}

void MeshCanvas::layoutBars()
{
    m_bars.clear();
    const int axes = m_mesh.axisCount();
    if (axes == 0)
        return;
    const QRectF grid = m_viewport.toScreen(m_grid.world()).intersected(gridArea());
    m_bars.push_back({ axes - 1, QRectF(grid.left(), grid.top() - kTopMargin, grid.width(), 3),
                       QRectF(grid.left(), grid.top() - kTopMargin - 4, grid.width(), kTopMargin) });
    for (int level = 0; level < std::min(axes - 1, 2) && !m_grid.isWrapped(); ++level) {
        const double x = grid.left() - kSideMargin * (level + 1);
        m_bars.push_back({ axes - 2 - level, QRectF(x, grid.top(), 3, grid.height()),
                           QRectF(x - 4, grid.top(), kSideMargin, grid.height()) });
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
    if (const WeightLayout* weight = selectedWeight(*m_document))
        out += QLatin1Char('\n') + shortName(weight->spec.name) + QLatin1Char(' ')
            + shardText(weight->shards.shardAt(position));
    if (const auto evaluation = m_document->evaluation())
        out += QLatin1Char('\n')
            + tr("peak of the largest device: %1").arg(exactBytesText(evaluation->plan.memory.peak));
    return out;
}

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
    painter.save();
    painter.setClipRect(gridArea().adjusted(-1, -1, 1, 1));
    paintCells(painter);
    painter.restore();
    paintAxes(painter);
}

void MeshCanvas::paintCells(QPainter& painter)
{
    const QRectF visible = m_viewport.visibleWorld();
    if (m_viewport.scale() < kSolidCell && m_grid.world().height() == static_cast<double>(m_grid.rows())) {
        painter.drawImage(m_viewport.toScreen(m_grid.world()), m_image);
        return;
    }
    for (std::int64_t row = 0; row < m_grid.rows(); ++row) {
        const double top = m_grid.rowTop(row);
        if (top + 1 < visible.top() || top > visible.bottom())
            continue;
        if (m_viewport.scale() < kSolidCell) {
            const QRectF line = m_viewport.toScreen(QRectF(0, top, static_cast<double>(m_grid.columns()), 1));
            painter.drawImage(line, m_image,
                              QRectF(0, static_cast<double>(row), static_cast<double>(m_grid.columns()), 1));
            continue;
        }
        const auto first = static_cast<std::int64_t>(std::max(0.0, std::floor(visible.left())));
        const auto last = std::min(m_grid.columns() - 1, static_cast<std::int64_t>(visible.right()));
        for (std::int64_t column = first; column <= last; ++column) {
            const std::int64_t position = row * m_grid.columns() + column;
            if (position < m_mesh.deviceCount())
                paintCell(painter, position, deviceRect(position));
        }
    }
}

void MeshCanvas::paintCell(QPainter& painter, std::int64_t position, const QRectF& rect)
{
    const PartColor color = partColor(m_colors.indexAt(position));
    if (m_viewport.scale() >= kCardCell) {
        paintCard(painter, position, rect, color);
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
    QFont font = uiFont(this, -1, true);
    if (QFontMetrics(font).horizontalAdvance(id) > solid.width() - 4)
        return;
    painter.setFont(font);
    painter.setPen(color.label);
    painter.drawText(solid, Qt::AlignCenter, id);
}

void MeshCanvas::paintCard(QPainter& painter, std::int64_t position, const QRectF& rect, const PartColor& color)
{
    const Theme& theme = Theme::of(this);
    const QRectF card = rect.adjusted(3, 3, -3, -3);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), kCanvasRadius, kCanvasRadius);
    const QFont small = monoFont(this, -2.5);
    const double textHeight = QFontMetricsF(small).height();
    const double pad = card.width() < 60 ? 4 : 7;
    const QRectF box = card.adjusted(pad, pad, -pad, -(textHeight + 8 + pad));
    painter.setPen(Qt::NoPen);
    painter.setBrush(color.fill);
    painter.drawRoundedRect(box, 3, 3);
    if (color.hatch != Qt::NoBrush) {
        painter.setBrush(QBrush(color.hatchColor, color.hatch));
        painter.drawRoundedRect(box, 3, 3);
    }
    painter.setPen(color.label);
    painter.setFont(uiFont(this, card.width() < 60 ? 0 : 3, true));
    painter.drawText(box, Qt::AlignCenter, QString::number(m_mesh.deviceId(position)));
    const QRectF track(card.left() + pad, box.bottom() + 4, card.width() - 2 * pad, 4);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.track);
    painter.drawRoundedRect(track, 2, 2);
    if (m_fill > 0) {
        painter.setBrush(m_fill > 1 ? theme.error : theme.accent);
        painter.drawRoundedRect(
            QRectF(track.topLeft(), QSizeF(std::max(3.0, track.width() * std::min(1.0, m_fill)), 4)), 2, 2);
    }
    painter.setPen(m_fill > 1 ? theme.error : theme.quiet);
    painter.setFont(small);
    const QRectF label(card.left(), track.bottom() + 1, card.width(), textHeight + 2);
    if (QFontMetricsF(small).horizontalAdvance(m_memoryText) <= card.width() - 2)
        painter.drawText(label, Qt::AlignCenter, m_memoryText);
    painter.restore();
}

void MeshCanvas::paintAxes(QPainter& painter)
{
    const Theme& theme = Theme::of(this);
    if (m_bars.empty())
        return;
    for (const Bar& bar : m_bars)
        painter.fillRect(bar.rect, axisColor(bar.axis));
    const int last = m_mesh.axisCount() - 1;
    const QString name = qstr(m_mesh.axis(last).name);
    const QFont font = uiFont(this, -1.5);
    const QFontMetricsF metrics(font);
    painter.setFont(font);
    painter.setPen(theme.quiet);
    const QRectF line(m_bars[0].rect.left(), m_bars[0].rect.bottom() + 2, m_bars[0].rect.width(), kTopMargin - 8);
    const QString longest = QStringLiteral("%1 %2").arg(name).arg(m_mesh.axis(last).size - 1);
    const QString number = QString::number(m_mesh.axis(last).size - 1);
    const bool named = metrics.horizontalAdvance(longest) + 4 < m_viewport.scale();
    const bool numbered = metrics.horizontalAdvance(number) + 4 < m_viewport.scale();
    if (m_grid.isWrapped() || (!named && !numbered)) {
        painter.drawText(line, Qt::AlignCenter, tr("%1, %2 devices").arg(name).arg(m_mesh.axis(last).size));
    } else {
        for (std::int64_t column = 0; column < m_grid.columns(); ++column) {
            const QRectF cell = deviceRect(column);
            if (cell.left() < line.left() - 1 || cell.right() > line.right() + 1)
                continue;
            painter.drawText(QRectF(cell.left(), line.top(), cell.width(), line.height()), Qt::AlignCenter,
                             named || column > 0
                                 ? (named ? QStringLiteral("%1 %2").arg(name).arg(column) : QString::number(column))
                                 : QString::number(column));
        }
    }
    paintRowLabels(painter);
}

void MeshCanvas::paintRowLabels(QPainter& painter)
{
    const QFontMetricsF metrics(painter.font());
    for (std::size_t i = 1; i < m_bars.size(); ++i) {
        const Bar& bar = m_bars[i];
        const QString name = qstr(m_mesh.axis(bar.axis).name);
        const std::int64_t rowsPerStep = m_mesh.stride(bar.axis) / m_grid.columns();
        const double step = (m_grid.rowTop(rowsPerStep) - m_grid.rowTop(0)) * m_viewport.scale();
        const auto vertical = [&](double centre, const QString& text) {
            painter.save();
            painter.translate(bar.rect.right() + (kSideMargin - 3) / 2, centre);
            painter.rotate(-90);
            painter.drawText(QRectF(-200, -12, 400, 24), Qt::AlignCenter, text);
            painter.restore();
        };
        if (metrics.horizontalAdvance(QStringLiteral("%1 %2").arg(name).arg(m_mesh.axis(bar.axis).size - 1)) + 4
            > step) {
            vertical(bar.rect.center().y(), QStringLiteral("%1 (%2)").arg(name).arg(m_mesh.axis(bar.axis).size));
            continue;
        }
        for (std::int64_t row = 0; row < m_grid.rows(); row += rowsPerStep) {
            const QRectF first = deviceRect(row * m_grid.columns());
            const QRectF lastRow = deviceRect((row + rowsPerStep - 1) * m_grid.columns());
            const double centre = (first.top() + lastRow.bottom()) / 2;
            if (centre < bar.rect.top() || centre > bar.rect.bottom())
                continue;
            const std::int64_t coordinate = m_mesh.coordinate(row * m_grid.columns(), bar.axis);
            vertical(centre, QStringLiteral("%1 %2").arg(name).arg(coordinate));
        }
    }
}

std::vector<int> MeshCanvas::groupAxes() const
{
    const auto valid = [this](int axis) { return axis >= 0 && axis < m_mesh.axisCount(); };
    if (valid(m_hoveredAxis))
        return { m_hoveredAxis };
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
        return device < 0 ? QString() : deviceText(device).section(QLatin1Char('\n'), 0, 0);
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
    const bool onScreen = painter.paintEngine()->type() == QPaintEngine::Raster
        && qFuzzyCompare(painter.device()->devicePixelRatioF(), devicePixelRatioF());
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
    const Theme& theme = Theme::of(this);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme.quiet);
    painter.setFont(uiFont(this, -1.5));
    const QRectF footer(kPanelMargin, height() - kFooter, width() - 2 * kPanelMargin, kFooter - 6);
    painter.drawText(footer, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(footerText(), Qt::ElideRight, static_cast<int>(footer.width())));
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void MeshCanvas::resizeEvent(QResizeEvent*)
{
    m_viewport.setView(gridArea());
    layoutBars();
    m_base = QPixmap();
}

void MeshCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_panning) {
        m_viewport.pan(at - m_pressed);
        m_pressed = at;
        layoutBars();
        m_base = QPixmap();
        update();
        return;
    }
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
    if (event->button() == Qt::MiddleButton) {
        m_panning = true;
        return;
    }
    if (event->button() != Qt::LeftButton)
        return;
    m_pressedAxis = axisAt(event->position());
    if (m_pressedAxis >= 0)
        m_document->selection()->setMeshAxis(m_pressedAxis);
    else
        m_document->selection()->setDevice(deviceAt(event->position()));
}

void MeshCanvas::mouseReleaseEvent(QMouseEvent*)
{
    m_panning = false;
    m_pressedAxis = -1;
}

void MeshCanvas::wheelEvent(QWheelEvent* event)
{
    m_viewport.zoomAt(event->position(), std::pow(1.2, event->angleDelta().y() / 120.0));
    layoutBars();
    m_base = QPixmap();
    update();
    event->accept();
}

void MeshCanvas::moveDevice(int dx, int dy)
{
    if (!m_document->hasDesign())
        return;
    const std::int64_t from = m_document->selection()->device();
    m_document->selection()->setDevice(from < 0 ? 0 : m_grid.moved(from, dx, dy));
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
        m_document->selection()->setDevice(-1);
        return;
    case Qt::Key_F:
    case Qt::Key_0:
        m_viewport.fit();
        break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        m_viewport.zoomAt(gridArea().center(), 1.25);
        break;
    case Qt::Key_Minus:
        m_viewport.zoomAt(gridArea().center(), 0.8);
        break;
    default:
        QWidget::keyPressEvent(event);
        return;
    }
    layoutBars();
    m_base = QPixmap();
    update();
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
            QToolTip::showText(help->globalPos(), deviceText(device), this);
        else if (axis >= 0)
            QToolTip::showText(help->globalPos(),
                               tr("mesh axis %1 — drag it onto a tensor dim").arg(qstr(m_mesh.axis(axis).name)), this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace shardboard
