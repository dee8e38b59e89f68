// SPDX-License-Identifier: Apache-2.0
// What all plots of this folder do alike: axes in the colors of the theme, texts in the plot. Only for sources of this folder.
#pragma once

#include "widgets/plots/plotlook.h"
#include "widgets/plots/vectorplot.h"

#include <cmath>

namespace shardboard::plots {

inline void styleAxes(QCustomPlot& plot, const PlotLook& look, const QFont& font)
{
    plot.setBackground(QBrush(look.background));
    for (QCPAxis* axis : { plot.xAxis, plot.yAxis }) {
        axis->setBasePen(QPen(look.line));
        axis->setTickPen(QPen(look.line));
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLabelColor(look.text);
        axis->setLabelColor(look.text);
        axis->setTickLabelFont(font);
        axis->setLabelFont(font);
        axis->setLabelPadding(2);
        axis->setTickLabelPadding(3);
        axis->grid()->setPen(QPen(look.line, 0, Qt::DotLine));
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
}

/// Numbers without a needless fraction or exponent, as many as there is room for.
inline void styleNumbers(QCPAxis* axis, int count)
{
    axis->ticker()->setTickCount(count);
    axis->setNumberFormat(QStringLiteral("g"));
    axis->setNumberPrecision(6);
}

inline QCPItemText* addText(QCustomPlot& plot, const QString& text, const QFont& font, const QColor& color)
{
    auto* label = new QCPItemText(&plot);
    label->setText(text);
    label->setFont(font);
    label->setColor(color);
    label->setPadding(QMargins(4, 1, 4, 1));
    return label;
}

inline QCPItemLine* addLine(QCustomPlot& plot, const QPen& pen, double x1, double y1, double x2, double y2)
{
    auto* line = new QCPItemLine(&plot);
    line->setPen(pen);
    line->start->setCoords(x1, y1);
    line->end->setCoords(x2, y2);
    return line;
}

/// Ticks of a logarithmic axis at 1, 2 and 5 of each power of ten, written out.
inline QSharedPointer<QCPAxisTickerText> decadeTicks(double from, double to)
{
    auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    const bool few = to / from > 300; // then powers of ten alone
    for (double power = std::pow(10, std::floor(std::log10(from))); power <= to; power *= 10)
        for (const double times : { 1.0, 2.0, 5.0 })
            if (const double at = power * times; at >= from && at <= to && (!few || times == 1.0))
                ticker->addTick(at, QLocale(QLocale::English).toString(at, 'g', 6));
    return ticker;
}

} // namespace shardboard::plots
