// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/devicecards.h"

#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QPaintEngine>
#include <QPainter>
#include <QWidget>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kSmallest = 0.75; ///< of the size of text: memory that has no room at this is left to the tool tip
constexpr double kNarrow = 60; ///< cards below it have less space around their box, and a smaller id

constexpr double kAround = 3; ///< pixels that an id has around its digits, above and below together

double padOf(const QRectF& card) { return card.width() < kNarrow ? 4 : 7; }

} // namespace

void DeviceCards::begin(const QWidget* widget, const QPainter& painter, bool manyOfThem)
{
    const double ratio = painter.device()->devicePixelRatioF();
    constexpr std::size_t kMost = 512; // of a pipeline each stage has its own memory
    if (m_palette != widget->palette() || m_font != widget->font() || !qFuzzyCompare(ratio, m_ratio) || m_looks.size() > kMost)
        m_looks.clear();
    m_widget = widget;
    m_palette = widget->palette();
    m_font = widget->font();
    m_ratio = ratio;
    m_small = monoFont(widget, -2.5);
    m_textHeight = QFontMetricsF(m_small).height();
    m_share = manyOfThem && painter.paintEngine()->type() == QPaintEngine::Raster
        && painter.transform().type() <= QTransform::TxTranslate;
}

QRectF DeviceCards::box(const QRectF& card) const
{
    const double pad = padOf(card);
    return card.adjusted(pad, pad, -pad, -(m_textHeight + 8 + pad));
}

void DeviceCards::paint(QPainter& painter, const QRectF& card, const QString& id, const PartColor& color, double fill,
                        std::int64_t peak, const QString& part)
{
    QRectF at = card;
    if (m_share) {
        const auto whole = [this](double value) { return std::round(value * m_ratio) / m_ratio; };
        at = QRectF(whole(card.left()), whole(card.top()), whole(card.width()), whole(card.height()));
        if (at.size() != m_size)
            m_looks.clear();
        m_size = at.size();
        QPixmap& shared =
            m_looks[{ color.fill.rgba(), color.label.rgba(), color.hatchColor.rgba(), static_cast<int>(color.hatch), fill, peak }];
        if (shared.isNull()) {
            shared = QPixmap((at.size() * m_ratio).toSize());
            shared.setDevicePixelRatio(m_ratio);
            shared.fill(Qt::transparent);
            QPainter once(&shared);
            paintShared(once, QRectF(QPointF(), at.size()), color, fill, peak);
        }
        painter.drawPixmap(at.topLeft(), shared);
    } else {
        painter.save();
        paintShared(painter, at, color, fill, peak);
        painter.restore();
    }
    painter.setPen(color.label);
    const QRectF inner = box(at);
    const double below = part.isEmpty() ? 0 : m_textHeight;
    QFont number = uiFont(m_widget, card.width() < kNarrow ? 0 : 3, true);
    if (const double high = QFontMetricsF(number).capHeight() + kAround; high > inner.height() - below)
        number.setPointSizeF(std::max(1.0, number.pointSizeF() * (inner.height() - below) / high));
    painter.setFont(number);
    painter.drawText(inner.adjusted(0, 0, 0, -below), Qt::AlignCenter, id);
    if (part.isEmpty())
        return;
    painter.setFont(m_small);
    const QFontMetricsF metrics(m_small);
    QString text = part;
    if (metrics.horizontalAdvance(text) > inner.width() - 2)
        text = part.section(QLatin1Char(' '), -1);
    if (metrics.horizontalAdvance(text) <= inner.width() - 2)
        painter.drawText(QRectF(inner.left(), inner.bottom() - below - 2, inner.width(), below), Qt::AlignCenter, text);
}

void DeviceCards::paintShared(QPainter& painter, const QRectF& card, const PartColor& color, double fill, std::int64_t peak) const
{
    const Theme& theme = Theme::of(m_widget);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), kCanvasRadius, kCanvasRadius);
    const QRectF inner = box(card);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color.fill);
    painter.drawRoundedRect(inner, 3, 3);
    if (color.hatch != Qt::NoBrush) {
        painter.setBrush(QBrush(color.hatchColor, color.hatch));
        painter.drawRoundedRect(inner, 3, 3);
    }
    const double pad = padOf(card);
    const QRectF track(card.left() + pad, inner.bottom() + 4, card.width() - 2 * pad, 4);
    painter.setBrush(theme.track);
    painter.drawRoundedRect(track, 2, 2);
    if (fill > 0) {
        painter.setBrush(fill > 1 ? theme.error : theme.accent);
        painter.drawRoundedRect(QRectF(track.topLeft(), QSizeF(std::max(3.0, track.width() * std::min(1.0, fill)), 4)), 2, 2);
    }
    painter.setPen(fill > 1 ? theme.error : theme.quiet);
    const QRectF label(card.left(), track.bottom() + 1, card.width(), m_textHeight + 2);
    const QString text = peak > 0 ? bytesText(peak) : QStringLiteral("–");
    const double share = (card.width() - 2) / QFontMetricsF(m_small).horizontalAdvance(text);
    if (share < kSmallest)
        return;
    QFont font = m_small;
    font.setPointSizeF(font.pointSizeF() * std::min(1.0, share)); // a number keeps its unit
    painter.setFont(font);
    painter.drawText(label, Qt::AlignCenter, text);
}

} // namespace shardboard
