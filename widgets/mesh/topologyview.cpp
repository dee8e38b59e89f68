// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // false alarm of g++ 12 on copies of a variant
#endif
#include "widgets/mesh/topologyview.h"

#include "model/hardware/footprint.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kLine = 22;
constexpr double kPadding = 6;
constexpr double kPicture = 92;

QString rateText(const LinkSpec& link)
{
    const QString rate = shardboard::rateText(link.bytesPerSecond);
    return link.shared ? QObject::tr("%1 together").arg(rate) : rate;
}

QString torusName(const Level& level)
{
    QStringList shape;
    for (const std::int64_t extent : level.shape)
        shape << QString::number(extent);
    const bool all = std::all_of(level.wraps.begin(), level.wraps.end(), [](bool wrap) { return wrap; });
    const bool any = std::any_of(level.wraps.begin(), level.wraps.end(), [](bool wrap) { return wrap; });
    return QObject::tr("torus %1, %2")
        .arg(shape.join(QStringLiteral(" × ")),
             all       ? QObject::tr("wraparound")
                 : any ? QObject::tr("wraparound on some dims")
                       : QObject::tr("no wraparound"));
}

QString levelName(const Level& level, std::size_t index, std::int64_t members)
{
    switch (level.fabric) {
    case Fabric::Torus:
        return torusName(level);
    case Fabric::SharedMemory:
        return QObject::tr("one memory");
    case Fabric::Switch:
        return index == 0 ? QObject::tr("island of %1").arg(countText(members))
                          : QObject::tr("switch of %1").arg(countText(members));
    case Fabric::FatTree:
        return QObject::tr("fat tree of %1").arg(countText(members));
    case Fabric::Dcn:
        return QObject::tr("network of %1").arg(countText(members));
    }
    return {};
}

/// In whole words.
QString trafficText(const TopologyLine& line)
{
    if (line.traffic.bytes <= 0)
        return QObject::tr("collectives carry nothing over it");
    return QObject::tr(
               "a device sends %1 over it in a step; collectives that reach this far and no farther run for %2, %3 % of the step")
        .arg(bytesText(static_cast<std::int64_t>(line.traffic.bytes)), secondsText(line.traffic.seconds),
             digitsText(100 * line.share));
}

} // namespace

std::vector<TopologyLine> topologyLines(const Mesh& mesh, const Hardware& hardware)
{
    std::vector<TopologyLine> out;
    std::int64_t inside = mesh.deviceCount(); // units that the levels further out join
    for (std::size_t i = 0; i < hardware.levels.size(); ++i) {
        const Level& level = hardware.levels[i];
        const std::int64_t size = level.size > 0 ? level.size : inside;
        TopologyLine line;
        line.level = i;
        line.members = std::min(size, inside);
        line.units = (inside + size - 1) / std::max<std::int64_t>(1, size);
        line.name = levelName(level, i, line.members);
        line.link = qstr(level.link.name);
        line.rate = rateText(level.link);
        line.source = qstr(level.link.source);
        out.push_back(std::move(line));
        inside = out.back().units;
    }
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        if (mesh.axis(axis).size < 2)
            continue;
        const Footprint footprint = footprintOf({ axis }, mesh, hardware);
        for (std::size_t i = 0; i < footprint.levels.size() && i < out.size(); ++i)
            if (footprint.levels[i].members > 1)
                out[i].axes.push_back(axis);
    }
    std::reverse(out.begin(), out.end());
    // A level that joins one unit alone carries nothing and is not told, but for the innermost.
    std::erase_if(out, [](const TopologyLine& line) { return line.level > 0 && line.members <= 1; });
    return out;
}

TopologyView::TopologyView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
{
    nameWidget(this, "topologyView", tr("Topology beneath the mesh"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    start();
}

QSize TopologyView::sizeHint() const
{
    return { 300,
             m_lines.empty()
                 ? 0
                 : static_cast<int>(2 * kPadding
                                    + kLine * textScale(this) * static_cast<double>(std::max<std::size_t>(m_lines.size(), 2))) };
}
QSize TopologyView::minimumSizeHint() const { return { 120, sizeHint().height() }; }

void TopologyView::refresh()
{
    m_lines.clear();
    if (document()->hasDesign()) {
        const auto hardware = hardwareOf(document()->design());
        m_hardware = hardware.ok() ? hardware.value() : Hardware {};
        m_mesh = document()->design().mesh;
        if (m_mesh.deviceCount() > 1)
            m_lines = topologyLines(m_mesh, m_hardware);
        if (const auto evaluation = document()->evaluation()) {
            const auto traffic = trafficOf(evaluation->graph, evaluation->plan, m_hardware);
            const double step = evaluation->plan.seconds();
            for (TopologyLine& line : m_lines)
                if (line.level < traffic.size()) {
                    line.traffic = traffic[line.level];
                    line.share = step > 0 ? line.traffic.seconds / step : 0;
                }
        }
    }
    setVisible(!m_lines.empty());
    QStringList told;
    for (const TopologyLine& line : m_lines) {
        QStringList axes;
        for (const int axis : line.axes)
            axes << qstr(m_mesh.axis(axis).name);
        told << line.name + QStringLiteral(", ") + line.link + QStringLiteral(", ") + line.rate + QStringLiteral(": ")
                + (axes.isEmpty() ? tr("no mesh axis") : axes.join(QStringLiteral(", "))) + QLatin1Char('\n') + trafficText(line);
    }
    setAccessibleDescription(told.join(QLatin1Char('\n')));
    updateGeometry();
    update();
}

double TopologyView::lineTop(std::size_t line) const
{
    const double all = kLine * textScale(this) * static_cast<double>(m_lines.size());
    return (height() - all) / 2 + kLine * textScale(this) * static_cast<double>(line);
}

/// Right-aligned on their lines, in the order of the mesh.
std::vector<TopologyView::Chip> TopologyView::chips() const
{
    std::vector<Chip> out;
    const QFontMetricsF metrics(uiFont(this, -1.5));
    for (std::size_t i = 0; i < m_lines.size(); ++i) {
        double right = width() - kPanelMargin;
        double words = 0;
        for (const int axis : m_lines[i].axes)
            words += metrics.horizontalAdvance(qstr(m_mesh.axis(axis).name));
        const auto count = static_cast<double>(m_lines[i].axes.size());
        // In little room closer to their names.
        const double beside = std::clamp((right - kPanelMargin - words) / std::max(1.0, count) - 4, 6.0, 14.0);
        for (auto axis = m_lines[i].axes.rbegin(); axis != m_lines[i].axes.rend(); ++axis) {
            const double wide = metrics.horizontalAdvance(qstr(m_mesh.axis(*axis).name)) + beside;
            out.push_back({ i, *axis, QRectF(right - wide, lineTop(i) + 3, wide, kLine * textScale(this) - 6) });
            right -= wide + 4;
        }
    }
    return out;
}

QRectF TopologyView::chipRect(std::size_t line, int axis) const
{
    for (const Chip& chip : chips())
        if (chip.line == line && chip.axis == axis)
            return chip.rect;
    return {};
}

/// Whether all names can be read in full that begin there.
bool TopologyView::namesFit(double left) const
{
    const QFontMetricsF metrics(uiFont(this, -1.5));
    std::vector<double> right(m_lines.size(), width() - kPanelMargin);
    for (const Chip& chip : chips())
        right[chip.line] = std::min(right[chip.line], chip.rect.left() - 6);
    for (std::size_t i = 0; i < m_lines.size(); ++i)
        if (left + metrics.horizontalAdvance(m_lines[i].name) > right[i])
            return false;
    return true;
}

void TopologyView::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    if (m_lines.empty())
        return;
    painter.setRenderHint(QPainter::Antialiasing);
    const auto all = chips();
    const QFont name = uiFont(this, -1.5);
    const QFont mono = monoFont(this, -2);
    const bool roomy = namesFit(kPanelMargin + kPicture + 12);
    const double left = kPanelMargin + (roomy ? kPicture + 12 : 0);
    if (roomy)
        paintPicture(painter, QRectF(kPanelMargin, kPadding, kPicture, height() - 2 * kPadding));
    double widest = 0; // of what is written on the lines, so that the bars stand below each other
    double narrowest = width();
    for (std::size_t i = 0; i < m_lines.size(); ++i) {
        double right = width() - kPanelMargin;
        for (const Chip& chip : all)
            if (chip.line == i)
                right = std::min(right, chip.rect.left() - 6);
        const QRectF line(left, lineTop(i), std::max(0.0, right - left), kLine * textScale(this));
        painter.setFont(name);
        painter.setPen(theme.text);
        const QString text = painter.fontMetrics().elidedText(m_lines[i].name, Qt::ElideMiddle, static_cast<int>(line.width()));
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, text);
        const double used = painter.fontMetrics().horizontalAdvance(text) + 8;
        painter.setFont(mono);
        painter.setPen(theme.quiet);
        const double rate = painter.fontMetrics().horizontalAdvance(m_lines[i].rate);
        const bool hasRate = used + rate <= line.width(); // else the tool tip has it
        if (hasRate)
            painter.drawText(line.adjusted(used, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, m_lines[i].rate);
        widest = std::max(widest, hasRate ? used + rate : line.width());
        narrowest = std::min(narrowest, line.width());
    }
    painter.setFont(mono);
    for (std::size_t i = 0; i < m_lines.size(); ++i)
        paintTraffic(painter, QRectF(left + widest + 12, lineTop(i), narrowest - widest - 12, kLine * textScale(this)), m_lines[i]);
    painter.setFont(name);
    for (const Chip& chip : all) {
        const QColor color = axisColor(m_mesh, chip.axis);
        const bool selected = selection()->meshAxis() == chip.axis;
        painter.setPen(QPen(color, selected ? 2 : 1));
        painter.setBrush(blended(theme.panel, color, 0.18));
        painter.drawRoundedRect(chip.rect.adjusted(0.5, 0.5, -0.5, -0.5), chip.rect.height() / 2, chip.rect.height() / 2);
        painter.setPen(theme.text);
        painter.drawText(chip.rect, Qt::AlignCenter, qstr(m_mesh.axis(chip.axis).name));
    }
}

/// How much of the step is spent on the level, as a bar and in numbers, as far as there is room.
void TopologyView::paintTraffic(QPainter& painter, const QRectF& rect, const TopologyLine& line) const
{
    constexpr double kBar = 44;
    constexpr double kHigh = 5;
    if (rect.width() < kBar || document()->evaluation() == nullptr)
        return;
    const Theme& theme = Theme::of(this);
    const QRectF track(rect.left(), rect.center().y() - kHigh / 2, kBar, kHigh);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.track);
    painter.drawRoundedRect(track, 2, 2);
    if (line.share > 0) {
        painter.setBrush(theme.attention);
        painter.drawRoundedRect(QRectF(track.topLeft(), QSizeF(std::clamp(track.width() * line.share, 2.0, track.width()), kHigh)),
                                2, 2);
    }
    const QString share = tr("%1 %").arg(digitsText(100 * line.share));
    const QString full = share + QStringLiteral(" · ") + bytesText(static_cast<std::int64_t>(line.traffic.bytes));
    const QRectF words = rect.adjusted(kBar + 6, 0, 0, 0);
    const QFontMetricsF metrics(painter.font());
    for (const QString& text : { full, share })
        if (line.traffic.bytes > 0 && metrics.horizontalAdvance(text) <= words.width()) {
            painter.setPen(theme.quiet);
            painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, text);
            return;
        }
}

void TopologyView::paintPicture(QPainter& painter, const QRectF& rect) const
{
    const Theme& theme = Theme::of(this);
    const TopologyLine& inner = m_lines.back();
    const Level& level = m_hardware.levels[inner.level];
    // Boxes from the outermost level to the innermost; of many units three are drawn, and dots for the rest.
    QRectF box = rect;
    painter.setBrush(Qt::NoBrush);
    for (std::size_t i = 0; i + 1 < m_lines.size(); ++i) {
        painter.setPen(QPen(theme.quiet, 1, Qt::DashLine));
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
        box.adjust(4, 4, -4, -4);
    }
    const std::int64_t units = std::max<std::int64_t>(1, inner.units);
    const int shown = static_cast<int>(std::min<std::int64_t>(units, 3));
    const double more = units > shown ? 10 : 0;
    const double wide = (box.width() - more - 4 * (shown - 1)) / shown;
    for (int unit = 0; unit < shown; ++unit) {
        const QRectF place(box.left() + unit * (wide + 4), box.top(), wide, box.height());
        painter.setPen(QPen(theme.quiet, 1));
        painter.setBrush(theme.panel);
        painter.drawRoundedRect(place.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
        if (level.fabric == Fabric::Torus)
            paintTorus(painter, place.adjusted(5, 5, -5, -5), level);
        else
            paintDots(painter, place.adjusted(4, 4, -4, -4), inner.members);
    }
    if (more > 0) {
        painter.setPen(theme.quiet);
        painter.setFont(uiFont(this, -2));
        painter.drawText(QRectF(box.right() - more, box.top(), more + 2, box.height()), Qt::AlignCenter, QStringLiteral("…"));
    }
}

/// The devices of an island, at most as many as there is room for.
void TopologyView::paintDots(QPainter& painter, const QRectF& rect, std::int64_t count) const
{
    const Theme& theme = Theme::of(this);
    constexpr double kDot = 6;
    const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(rect.width() / kDot))
        * std::max<std::int64_t>(1, static_cast<std::int64_t>(rect.height() / kDot));
    const std::int64_t shown = std::min(count, most);
    const auto columns = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(shown) * rect.width() / std::max(1.0, rect.height())))),
        1, std::max<std::int64_t>(1, static_cast<std::int64_t>(rect.width() / kDot)));
    const std::int64_t rows = (shown + columns - 1) / columns;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.accent);
    for (std::int64_t i = 0; i < shown; ++i) {
        const double x = rect.left() + (static_cast<double>(i % columns) + 0.5) * rect.width() / static_cast<double>(columns);
        const double y = rect.top() + (static_cast<double>(i / columns) + 0.5) * rect.height() / static_cast<double>(rows);
        painter.drawEllipse(QPointF(x, y), 2, 2);
    }
}

/// A grid of a few chips, with arcs where a dim closes to a ring.
void TopologyView::paintTorus(QPainter& painter, const QRectF& rect, const Level& level) const
{
    const Theme& theme = Theme::of(this);
    const auto extent = [&](std::size_t dim) {
        return dim < level.shape.size() ? std::clamp<std::int64_t>(level.shape[dim], 1, 4) : 1;
    };
    const auto wraps = [&](std::size_t dim) { return dim < level.wraps.size() && level.wraps[dim]; };
    const std::int64_t rows = extent(0);
    const std::int64_t columns = extent(1);
    const double stepX = rect.width() / static_cast<double>(columns);
    const double stepY = rect.height() / static_cast<double>(rows);
    const auto at = [&](std::int64_t row, std::int64_t column) {
        return QPointF(rect.left() + (static_cast<double>(column) + 0.5) * stepX,
                       rect.top() + (static_cast<double>(row) + 0.5) * stepY);
    };
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.quiet, 1));
    for (std::int64_t row = 0; row < rows; ++row) {
        painter.drawLine(at(row, 0), at(row, columns - 1));
        if (wraps(1)) {
            painter.drawLine(at(row, 0), at(row, 0) - QPointF(stepX / 2, 0));
            painter.drawLine(at(row, columns - 1), at(row, columns - 1) + QPointF(stepX / 2, 0));
        }
    }
    for (std::int64_t column = 0; column < columns; ++column) {
        painter.drawLine(at(0, column), at(rows - 1, column));
        if (wraps(0)) {
            painter.drawLine(at(0, column), at(0, column) - QPointF(0, stepY / 2));
            painter.drawLine(at(rows - 1, column), at(rows - 1, column) + QPointF(0, stepY / 2));
        }
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.accent);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            painter.drawEllipse(at(row, column), 2, 2);
}

void TopologyView::mousePressEvent(QMouseEvent* event)
{
    for (const Chip& chip : chips())
        if (chip.rect.contains(event->position()))
            selection()->setMeshAxis(chip.axis);
}

QString TopologyView::toolTipAt(const QPoint& point) const
{
    for (const Chip& chip : chips())
        if (chip.rect.contains(point))
            return tr("groups of mesh axis %1: %2")
                .arg(qstr(m_mesh.axis(chip.axis).name), qstr(describe(footprintOf({ chip.axis }, m_mesh, m_hardware), m_hardware)));
    for (std::size_t i = 0; i < m_lines.size(); ++i)
        if (point.y() >= lineTop(i) && point.y() < lineTop(i) + kLine * textScale(this))
            return QStringLiteral("%1\n%2, %3\n%4\n%5")
                .arg(m_lines[i].name, m_lines[i].link, m_lines[i].rate, trafficText(m_lines[i]), m_lines[i].source);
    return {};
}

bool TopologyView::event(QEvent* event)
{
    return answersToolTip(event, this, [this](const QPoint& point) { return toolTipAt(point); }) || DocumentView::event(event);
}

} // namespace shardboard
