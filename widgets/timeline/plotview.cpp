// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/plotview.h"

#include "model/io/plots/runplots.h"
#include "widgets/controls/viewheader.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/hues.h"
#include "widgets/look/legend.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/plots/xyplot.h"
#include "widgets/timeline/timelinesource.h"

#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

struct KindTexts {
    const char* id;
    const char* title;
    const char* tip;
};

KindTexts textsOf(PlotView::Kind kind)
{
    switch (kind) {
    case PlotView::Kind::Roofline:
        return { "rooflineView", QT_TRANSLATE_NOOP("shardboard::PlotView", "Roofline"),
                 QT_TRANSLATE_NOOP("shardboard::PlotView", "How near operations come to what the machine can do") };
    case PlotView::Kind::Bandwidth:
        return { "bandwidthView", QT_TRANSLATE_NOOP("shardboard::PlotView", "Bandwidth"),
                 QT_TRANSLATE_NOOP("shardboard::PlotView", "Bytes a second of collectives by their size") };
    case PlotView::Kind::Accuracy:
        return { "accuracyView", QT_TRANSLATE_NOOP("shardboard::PlotView", "Accuracy"),
                 QT_TRANSLATE_NOOP("shardboard::PlotView", "Measured over predicted seconds") };
    case PlotView::Kind::Memory:
        return { "memoryPlotView", QT_TRANSLATE_NOOP("shardboard::PlotView", "Memory in Time"),
                 QT_TRANSLATE_NOOP("shardboard::PlotView", "What a device holds during the step") };
    case PlotView::Kind::Scaling:
        break;
    }
    return { "scalingView", QT_TRANSLATE_NOOP("shardboard::PlotView", "Scaling"),
             QT_TRANSLATE_NOOP("shardboard::PlotView", "A step on smaller and larger meshes") };
}

constexpr int kLegendLines = 3; // a plot is as narrow as a seventh of the window

XyLook lookIn(const QWidget* widget)
{
    const Theme& theme = Theme::of(widget);
    XyLook out { theme.panel, theme.text, theme.quiet, theme.line, theme.accent, {} };
    for (int hue = 0; hue < kHueCount; ++hue)
        out.hues.push_back(partColor(hue).fill);
    return out;
}

/// As it is drawn in the plot.
void paintSample(QPainter& painter, const QRectF& rect, const PlotSeries& one, const QColor& color)
{
    const QPointF middle = rect.center();
    if (one.mark == PlotMark::None && one.filled) {
        painter.fillRect(rect.adjusted(1, 0, -1, 0), color);
        return;
    }
    painter.setPen(QPen(color, 1.6, one.dashed ? Qt::DashLine : Qt::SolidLine));
    if (one.mark == PlotMark::None) {
        painter.drawLine(QPointF(rect.left(), middle.y()), QPointF(rect.right(), middle.y()));
        return;
    }
    painter.setBrush(one.hollow ? QBrush(Qt::NoBrush) : QBrush(color));
    constexpr double kHalf = 4;
    switch (one.mark) {
    case PlotMark::Square:
        painter.drawRect(QRectF(middle.x() - kHalf + 0.5, middle.y() - kHalf + 0.5, 2 * kHalf - 1, 2 * kHalf - 1));
        break;
    case PlotMark::Triangle:
        painter.drawPolygon(
            QPolygonF({ middle + QPointF(0, -kHalf), middle + QPointF(kHalf, kHalf), middle + QPointF(-kHalf, kHalf) }));
        break;
    case PlotMark::Diamond:
        painter.drawPolygon(QPolygonF({ middle + QPointF(0, -kHalf - 0.5), middle + QPointF(kHalf + 0.5, 0),
                                        middle + QPointF(0, kHalf + 0.5), middle + QPointF(-kHalf - 0.5, 0) }));
        break;
    default:
        painter.drawEllipse(middle, kHalf, kHalf);
    }
}

} // namespace

PlotView::PlotView(Kind kind, Document* document, TimelineSource* source, QWidget* parent)
    : DocumentView(document, parent)
    , m_kind(kind)
    , m_source(source)
    , m_job(new LatestJob(this))
    , m_header(new ViewHeader({}, this)) // the tab has the title
    , m_save(new QToolButton(this))
    , m_chart(new XyPlot(this))
    , m_legend(new Legend(this))
    , m_notes(new QLabel(this))
    , m_empty(new QLabel(this))
{
    const KindTexts texts = textsOf(kind);
    nameView(texts.id, tr(texts.title));
    nameWidget(m_chart, "plotChart", tr(texts.title), {});
    m_chart->setAccessibleDescription(tr(texts.tip));
    nameWidget(m_legend, "plotLegend", tr("Series of the plot"));
    m_legend->setMostLines(kLegendLines);
    nameWidget(m_save, "plotSave", tr("Save the plot"), tr("As a picture (PNG, SVG, PDF) or a table (CSV)"));
    m_save->setText(tr("Save …"));
    m_save->setAutoRaise(true);
    m_header->addRight(m_save);
    for (QLabel* label : { m_notes, m_empty })
        label->setWordWrap(true);
    m_notes->setObjectName(QStringLiteral("plotNotes"));
    m_empty->setObjectName(QStringLiteral("plotEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setContentsMargins(kPanelMargin, 0, kPanelMargin, 0);
    auto* rows = boxLayout<QHBoxLayout>({ 8, 0, 10, 0 }, 0);
    rows->addWidget(m_chart);
    rows->addWidget(m_empty);
    auto* low = boxLayout<QVBoxLayout>({ kPanelMargin - 6, 0, kPanelMargin - 6, 4 }, 0);
    low->addWidget(m_legend);
    low->addWidget(m_notes);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addLayout(rows, 1);
    column->addLayout(low);
    connect(m_save, &QToolButton::clicked, this, &PlotView::saveWanted);
    connect(m_source, &TimelineSource::changed, this, [this] { follow(true); });
    connect(m_chart, &XyPlot::chosen, this, [this](std::int32_t item) {
        if (item < 0)
            return;
        m_source->select(item);
        Q_EMIT m_source->itemWanted(item);
    });
    connect(m_legend, &Legend::chosenChanged, this,
            [this](const QString& key) { m_chart->setShownHue(key.isEmpty() ? -2 : key.toInt()); });
    start();
}

QSize PlotView::sizeHint() const { return { 300, 260 }; }
QSize PlotView::minimumSizeHint() const { return { 160, 120 }; }

const Plot& PlotView::plot() const { return m_chart->plot(); }

void PlotView::setRuns(std::vector<ScaledRun> runs)
{
    m_runs = std::move(runs);
    m_scaled.reset();
    if (m_kind == Kind::Scaling)
        follow(true);
}

/// Of the run that is shown, or else as planned.
Plot PlotView::made() const
{
    const bool ofRun = m_source->shown() == TimelineSource::Shown::Run && m_source->run() != nullptr;
    const std::shared_ptr<const Timeline> lanes = m_source->timeline();
    if (m_kind == Kind::Accuracy)
        return m_source->errors() != nullptr ? accuracyPlot(*m_source->errors()) : Plot {};
    if (m_kind == Kind::Memory)
        return lanes ? memoryPlot(*lanes, fullestGroup(*lanes)) : Plot {};
    if (ofRun) {
        const MeasuredRun& run = *m_source->run();
        const std::int64_t step = m_source->step();
        if (!run.evaluation)
            return {};
        const auto items = timelineItems(run.evaluation->graph, run.evaluation->plan);
        if (m_kind == Kind::Bandwidth)
            return bandwidthPlot(run.evaluation->plan, run.hardware, run.profile ? &*run.profile : nullptr, step, items);
        return run.profile ? rooflinePlot(*run.profile, step, items) : Plot {};
    }
    if (!document()->hasDesign())
        return {};
    const Evaluation& evaluation = *document()->evaluation();
    const auto hardware = hardwareOf(document()->design());
    if (evaluation.plan.segments.empty() || !hardware.ok())
        return {};
    if (m_kind == Kind::Bandwidth)
        return bandwidthPlot(evaluation.plan, hardware.value(), nullptr, -1, timelineItems(evaluation.graph, evaluation.plan));
    return rooflinePlot(evaluation.graph, evaluation.plan, hardware.value());
}

void PlotView::refresh()
{
    if (m_kind == Kind::Scaling)
        return askForScaling();
    m_source->follow();
    show(made());
}

void PlotView::askForScaling()
{
    const auto evaluation = document()->evaluation();
    if (evaluation && evaluation == m_scaled) {
        show(plot());
        return;
    }
    m_scaled = evaluation;
    if (!evaluation || evaluation->plan.segments.empty()) {
        m_job->forget();
        show({});
        return;
    }
    m_job->ask([this, design = document()->design(), runs = m_runs](const std::atomic<bool>& stop) -> LatestJob::Answer {
        return [this, made = scalingPlot(design, runs, &stop)] { show(made); };
    });
    show({}); // it says that it plans
}

void PlotView::show(Plot plot)
{
    const Theme& theme = Theme::of(this);
    const bool empty = plot.isEmpty();
    if (m_chart->setPlot(std::move(plot), lookIn(this)))
        makeLegend();
    setTextColor(m_notes, theme.quiet);
    setTextColor(m_empty, theme.quiet);
    m_notes->setText(noteText());
    m_notes->setVisible(!empty && !m_notes->text().isEmpty());
    m_chart->setVisible(!empty);
    m_legend->setVisible(!empty);
    m_save->setEnabled(!empty);
    m_empty->setVisible(empty);
    m_empty->setText(empty ? emptyText() : QString());
    const bool ofRun = m_source->shown() == TimelineSource::Shown::Run && m_kind != Kind::Scaling;
    m_header->setDetail(empty                                                ? QString()
                            : m_kind == Kind::Memory && m_source->timeline() ? qstr(fullestGroup(*m_source->timeline()))
                            : m_kind == Kind::Scaling                        ? tr("as planned")
                            : ofRun                                          ? tr("as measured")
                            : m_kind == Kind::Accuracy                       ? QString()
                                                                             : tr("as planned"));
    selectionChanged();
}

QString PlotView::noteText() const
{
    QStringList out;
    for (const std::string& note : plot().notes)
        out << qstr(note);
    return out.join(QLatin1Char('\n'));
}

std::unique_ptr<QWidget> PlotView::picture() const
{
    auto out = std::make_unique<QWidget>();
    QPalette colors = palette();
    colors.setColor(QPalette::Window, Theme::of(this).panel);
    out->setPalette(colors);
    out->setAutoFillBackground(true);
    auto* header = new ViewHeader(tr(textsOf(m_kind).title), out.get());
    auto* chart = new XyPlot(out.get());
    chart->setPlot(plot(), lookIn(this));
    auto* legend = new Legend(out.get());
    legend->setMostLines(kLegendLines);
    legend->setEntries(m_legend->entries());
    auto* notes = new QLabel(noteText(), out.get());
    notes->setWordWrap(true);
    notes->setVisible(!notes->text().isEmpty());
    setTextColor(notes, Theme::of(this).quiet);
    auto* low = boxLayout<QVBoxLayout>({ kPanelMargin - 6, 0, kPanelMargin - 6, 8 }, 0);
    low->addWidget(legend);
    low->addWidget(notes);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, out.get());
    column->addWidget(header);
    column->addWidget(chart, 1);
    column->addLayout(low);
    out->resize(720, 480);
    column->activate();
    header->setDetail(m_header->detail()); // as much of it as there is room for
    return out;
}

QString PlotView::emptyText() const
{
    if (m_job->isBusy())
        return {};
    if (!document()->hasDesign())
        return tr("No design is open.");
    switch (m_kind) {
    case Kind::Accuracy:
        return tr("Nothing is measured yet: Run (F5).");
    case Kind::Bandwidth:
        return tr("Nothing moves between devices.");
    case Kind::Memory:
        return tr("Nothing is known of the memory over this step.");
    default:
        return tr("There is nothing to draw.");
    }
}

/// A series of marks, and the lines that have none of their hue.
void PlotView::makeLegend()
{
    std::set<int> marked;
    for (const PlotSeries& one : plot().series)
        if (one.mark != PlotMark::None && one.hue >= 0)
            marked.insert(one.hue);
    std::vector<LegendEntry> entries;
    int other = -1000;
    std::set<int> told;
    for (const PlotSeries& one : plot().series) {
        if (one.mark == PlotMark::None && marked.contains(one.hue))
            continue;
        if (one.hue >= 0 && !told.insert(one.hue).second)
            continue;
        if (one.hue < 0 && one.mark == PlotMark::None && m_kind != Kind::Memory)
            continue; // the cursor says what these lines are: a roof, what is exact or ideal
        const int key = one.hue >= 0 ? one.hue : other++;
        QString name = qstr(one.group);
        QString tip = qstr(one.name);
        if (name.isEmpty()) {
            name = tip.section(QLatin1Char(','), 0, 0);
        } else {
            QStringList all;
            for (const PlotSeries& same : plot().series)
                if (same.hue == one.hue && same.mark != PlotMark::None)
                    all << qstr(same.name);
            tip = all.join(QLatin1Char('\n'));
        }
        PlotSeries sample = one;
        sample.points.clear();
        entries.push_back(
            { QString::number(key), name, tip, [sample](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                 const Theme& theme = Theme::of(widget);
                 paintSample(painter, rect, sample,
                             sample.hue < 0 ? (sample.dashed ? theme.quiet : theme.text) : partColor(sample.hue % kHueCount).fill);
             } });
    }
    m_legend->setEntries(std::move(entries));
}

void PlotView::selectionChanged() { m_chart->setSelectedItem(m_kind == Kind::Scaling ? -1 : m_source->selected()); }

} // namespace shardboard
