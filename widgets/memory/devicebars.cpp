// SPDX-License-Identifier: Apache-2.0
#include "widgets/memory/devicebars.h"

#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kBar = 14;
constexpr int kGap = 6;

int laneHeight(const QWidget* widget) { return std::max(22, QFontMetrics(uiFont(widget, -0.5)).height() + 4); }
int totalWidth(const QWidget* widget) { return static_cast<int>(70 * textScale(widget)); }

} // namespace

std::int64_t DeviceBar::total() const
{
    std::int64_t sum = 0;
    for (const BarPart& part : parts)
        sum += part.bytes;
    return sum;
}

DeviceBars::DeviceBars(QWidget* parent)
    : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void DeviceBars::setBars(const std::vector<DeviceBar>& bars, std::int64_t limit, int current)
{
    m_bars = bars;
    m_limit = limit;
    m_current = current;
    QStringList words;
    for (const DeviceBar& bar : bars)
        words << tr("%1: %2").arg(bar.name, bytesText(bar.total()));
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    updateGeometry();
    update();
}

void DeviceBars::setHovered(int bar)
{
    if (bar == m_hovered)
        return;
    m_hovered = bar;
    update();
}

QSize DeviceBars::sizeHint() const { return { 300, static_cast<int>(m_bars.size()) * laneHeight(this) }; }
QSize DeviceBars::minimumSizeHint() const { return { 160, sizeHint().height() }; }

double DeviceBars::nameWidth() const
{
    const QFontMetricsF metrics(uiFont(this, -0.5));
    double widest = 0;
    for (const DeviceBar& bar : m_bars)
        widest = std::max(widest, metrics.horizontalAdvance(bar.name));
    return std::min(widest + 14, width() * 0.45);
}

QRectF DeviceBars::lane(int bar) const
{
    const double left = nameWidth();
    return { left, bar * double(laneHeight(this)) + (laneHeight(this) - kBar) / 2.0,
             std::max(20.0, width() - left - totalWidth(this) - kGap), kBar };
}

double DeviceBars::scale() const
{
    std::int64_t most = m_limit;
    for (const DeviceBar& bar : m_bars)
        most = std::max(most, bar.total());
    return lane(0).width() / std::max(1.0, static_cast<double>(most) * 1.02);
}

QRectF DeviceBars::partRect(int bar, int part) const
{
    const auto& parts = m_bars[static_cast<std::size_t>(bar)].parts;
    const QRectF room = lane(bar);
    double left = room.left();
    for (int i = 0; i < part; ++i)
        left += static_cast<double>(parts[static_cast<std::size_t>(i)].bytes) * scale();
    const double wide = static_cast<double>(parts[static_cast<std::size_t>(part)].bytes) * scale();
    return wide > 0 ? QRectF(left, room.top(), wide, room.height()) : QRectF();
}

void DeviceBars::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setFont(uiFont(this, -0.5));
    for (int i = 0; i < static_cast<int>(m_bars.size()); ++i) {
        const DeviceBar& bar = m_bars[static_cast<std::size_t>(i)];
        const QRectF room = lane(i);
        const QRectF row(0, i * double(laneHeight(this)), width(), laneHeight(this));
        if (i == m_current && m_bars.size() > 1)
            painter.fillRect(row, theme.selection);
        painter.setPen(i == m_current || m_bars.size() == 1 ? theme.text : theme.quiet);
        const QRectF name(2, row.top(), room.left() - 6, laneHeight(this));
        painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(bar.name, Qt::ElideRight, static_cast<int>(name.width())));
        painter.fillRect(room, theme.line);
        for (int k = 0; k < static_cast<int>(bar.parts.size()); ++k) {
            const QRectF place = partRect(i, k);
            if (place.isEmpty())
                continue;
            const PartColor& color = bar.parts[static_cast<std::size_t>(k)].color;
            painter.fillRect(place, color.fill);
            if (color.hatch != Qt::NoBrush && place.width() > 4)
                painter.fillRect(place, QBrush(color.hatchColor, color.hatch));
        }
        const bool over = m_limit > 0 && bar.total() > m_limit;
        painter.setPen(over ? theme.error : theme.text);
        painter.drawText(QRectF(room.right() + kGap, row.top(), totalWidth(this), laneHeight(this)),
                         Qt::AlignLeft | Qt::AlignVCenter, (over ? QStringLiteral("✗ ") : QString()) + bytesText(bar.total()));
    }
    if (m_hovered >= 0 && m_hovered < static_cast<int>(m_bars.size())) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(theme.quiet, 1.5));
        painter.drawRoundedRect(QRectF(0, m_hovered * double(laneHeight(this)), width(), laneHeight(this)).adjusted(1, 1, -1, -1),
                                kCornerRadius, kCornerRadius);
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
    if (m_limit > 0 && !m_bars.empty()) {
        const double x = lane(0).left() + static_cast<double>(m_limit) * scale();
        const double bottom = static_cast<double>(m_bars.size()) * laneHeight(this);
        painter.setPen(QPen(theme.text, 2, Qt::DashLine));
        painter.drawLine(QPointF(x, 1), QPointF(x, bottom));
    }
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

int DeviceBars::barAt(const QPointF& point) const
{
    const int bar = static_cast<int>(point.y()) / laneHeight(this);
    return point.y() >= 0 && bar < static_cast<int>(m_bars.size()) ? bar : -1;
}

void DeviceBars::mousePressEvent(QMouseEvent* event)
{
    if (const int bar = barAt(event->position()); bar >= 0)
        Q_EMIT chosen(bar);
}

void DeviceBars::keyPressEvent(QKeyEvent* event)
{
    const int last = static_cast<int>(m_bars.size()) - 1;
    const int by = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
    const int next = std::clamp(m_current + by, 0, std::max(0, last));
    if (last < 0 || (by == 0 && event->key() != Qt::Key_Return && event->key() != Qt::Key_Enter)) {
        QWidget::keyPressEvent(event);
        return;
    }
    Q_EMIT chosen(next);
}

QString DeviceBars::toolTipAt(const QPoint& point) const
{
    const int index = barAt(point);
    if (index < 0)
        return {};
    const DeviceBar& bar = m_bars[static_cast<std::size_t>(index)];
    QStringList lines { tr("%1: %2").arg(bar.name, exactBytesText(bar.total())) };
    for (const BarPart& part : bar.parts)
        if (part.bytes > 0)
            lines << tr("%1: %2").arg(part.name, bytesText(part.bytes));
    if (m_limit > 0)
        lines << tr("the mark: what a device has, %1").arg(bytesText(m_limit));
    return lines.join(QLatin1Char('\n'));
}

bool DeviceBars::event(QEvent* event)
{
    return answersToolTip(event, this, [this](const QPoint& point) { return toolTipAt(point); }) || QWidget::event(event);
}

} // namespace shardboard
