// SPDX-License-Identifier: Apache-2.0
#include "widgets/plots/stackedbar.h"

#include <QVBoxLayout>
#include <qcustomplot.h>

#include <algorithm>

namespace shardboard {

struct StackedBar::Plot {
    QCustomPlot* widget = nullptr; // owned by the Qt tree
};

StackedBar::StackedBar(QWidget* parent)
    : QWidget(parent)
    , m_plot(std::make_unique<Plot>())
{
    m_plot->widget = new QCustomPlot(this);
    m_plot->widget->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_plot->widget->setFocusPolicy(Qt::NoFocus);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot->widget);
}

StackedBar::~StackedBar() = default;

QSize StackedBar::sizeHint() const { return { 480, 110 }; }
QSize StackedBar::minimumSizeHint() const { return { 200, 90 }; }

void StackedBar::setParts(const std::vector<StackPart>& parts, double limit, const QString& unit,
                          const QString& limitText, const StackLook& look)
{
    QCustomPlot& plot = *m_plot->widget;
    plot.clearPlottables();
    plot.clearItems();
    plot.setBackground(QBrush(look.background));
    double total = 0;
    QCPBars* below = nullptr;
    for (const StackPart& part : parts) {
        auto* bar = new QCPBars(plot.yAxis, plot.xAxis); // keys upwards, values to the right
        bar->setAntialiased(false);
        bar->setPen(Qt::NoPen); // an opaque brush without a pen is the fast way
        bar->setBrush(QBrush(part.color));
        bar->setWidth(0.8);
        bar->setData(QVector<double> { 0 }, QVector<double> { part.value });
        if (below)
            bar->moveAbove(below);
        below = bar;
        total += part.value;
    }
    for (QCPAxis* axis : { plot.xAxis, plot.yAxis }) {
        axis->setBasePen(QPen(look.line));
        axis->setTickPen(QPen(look.line));
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLabelColor(look.text);
        axis->setLabelColor(look.text);
        axis->setTickLabelFont(font());
        axis->setLabelFont(font());
        axis->grid()->setVisible(false);
    }
    plot.yAxis->setVisible(false);
    plot.yAxis->setRange(-0.6, 0.6);
    plot.xAxis->setLabel(unit);
    plot.xAxis->setRange(0, std::max({ total * 1.04, limit * 1.10, 1e-9 }));
    if (limit > 0) {
        const QColor color = total > limit ? look.over : look.text;
        auto* line = new QCPItemLine(&plot);
        line->setPen(QPen(color, 2, Qt::DashLine));
        line->start->setCoords(limit, -0.6);
        line->end->setCoords(limit, 0.6);
        auto* label = new QCPItemText(&plot);
        label->setText(limitText);
        label->setFont(font());
        label->setColor(color);
        label->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
        label->setPadding(QMargins(4, 2, 6, 2));
        label->setBrush(total > 0.8 * limit ? QBrush(look.background) : QBrush(Qt::NoBrush));
        label->position->setCoords(limit, 0.6);
    }
    plot.replot(QCustomPlot::rpQueuedReplot);
}

} // namespace shardboard
