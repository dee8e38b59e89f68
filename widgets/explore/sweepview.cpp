// SPDX-License-Identifier: Apache-2.0
#include "widgets/explore/sweepview.h"

#include "model/design/optimize/optimize.h"
#include "model/design/optimize/sweep.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/numberedit.h"
#include "widgets/explore/explorerequest.h"
#include "widgets/explore/plotcolors.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/plots/sweepchart.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace shardboard {

namespace {

constexpr std::size_t kMostPlotted = 500;

} // namespace

SweepView::SweepView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_job(new LatestJob(this))
    , m_what(new ChoiceBox(false, this))
    , m_values(new QLineEdit(this))
    , m_start(new QPushButton(tr("Sweep"), this))
    , m_text(new ElidedLabel(this))
    , m_empty(new QLabel(this))
    , m_charts(new QWidget(this))
    , m_step(new SweepChart(m_charts))
    , m_rate(new SweepChart(m_charts))
    , m_memory(new SweepChart(m_charts))
{
    nameView("sweepView", tr("Sweeps"));
    build();
    connect(m_what, &QComboBox::activated, this, [this] { proposeValues(); });
    connect(m_values, &QLineEdit::returnPressed, this, &SweepView::sweep);
    connect(m_values, &QLineEdit::textEdited, this, [this] { setRefused(m_values, false); });
    connect(m_start, &QPushButton::clicked, this, [this] { isBusy() ? m_job->stop() : sweep(); });
    connect(m_job, &LatestJob::answered, this, &SweepView::showState);
    connect(document, &Document::opened, this, [this] {
        m_job->forget();
        m_points.clear();
        m_of.reset();
        m_problem.clear();
        proposeValues();
    });
    for (SweepChart* chart : { m_step, m_rate, m_memory })
        connect(chart, &SweepChart::currentChanged, this, &SweepView::showPoint);
    start();
    proposeValues();
}

SweepView::~SweepView() = default;

void SweepView::build()
{
    nameWidget(m_what, "sweepWhat", tr("What is swept"));
    for (const auto& [what, text] : { std::pair(What::Batch, tr("batch")), std::pair(What::Sequence, tr("sequence")),
                                      std::pair(What::MicroBatches, tr("micro-batches")), std::pair(What::Devices, tr("devices")) })
        m_what->addChoice(text, {}, static_cast<int>(what));
    m_what->choose(0);
    nameWidget(m_values, "sweepValues", tr("Values"), tr("A list such as 1,2,4, or 1..64 for powers of two"));
    nameWidget(m_start, "sweepStart", {}, tr("Plan the design once for each value"));
    m_text->setObjectName(QStringLiteral("sweepText"));
    m_empty->setObjectName(QStringLiteral("sweepEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    nameWidget(m_step, "sweepStep", tr("Time of a step"));
    nameWidget(m_rate, "sweepRate", tr("Tokens a second on each device"));
    nameWidget(m_memory, "sweepMemory", tr("Memory of a device"));
    m_values->setMinimumWidth(60);
    m_values->setMaximumWidth(260);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_what);
    top->addWidget(m_values, 2);
    top->addWidget(m_start);
    top->addWidget(m_text, 3);
    auto* charts = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 8, m_charts);
    for (SweepChart* chart : { m_step, m_rate, m_memory })
        charts->addWidget(chart, 1);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 0, this);
    column->addLayout(top);
    column->addWidget(m_charts, 1);
    column->addWidget(m_empty, 1);
}

bool SweepView::isBusy() const { return m_job->isBusy(); }

SweepView::What SweepView::what() const { return static_cast<What>(m_what->currentData().toInt()); }

std::int64_t SweepView::valueOf(const SweepPoint& point) const
{
    switch (m_swept) {
    case What::Batch:
        return point.batch;
    case What::Sequence:
        return point.sequence;
    case What::MicroBatches:
        return point.microBatches;
    case What::Devices:
        return point.devices;
    }
    return 0;
}

/// Some below and some above what the design has.
void SweepView::proposeValues()
{
    if (document()->hasDesign()) {
        const Design& design = document()->design();
        const std::int64_t now = what() == What::Batch ? design.workload.batch
            : what() == What::Sequence                 ? design.workload.sequence
            : what() == What::MicroBatches             ? design.workload.microBatches
                                                       : design.mesh.deviceCount();
        const std::int64_t low = std::max<std::int64_t>(1, now / 8);
        const std::int64_t most = std::int64_t { 1 } << 31;
        m_values->setText(QStringLiteral("%1..%2").arg(low).arg(std::min(most, std::max<std::int64_t>(now * 8, low * 64))));
        setRefused(m_values, false);
    }
    draw();
}

void SweepView::sweep()
{
    if (!document()->hasDesign() || isBusy())
        return;
    auto values = sweepValuesFrom(m_values->text().remove(QLatin1Char(' ')).toStdString(), {});
    m_problem.clear();
    if (values.ok() && values.value().size() > kMostPlotted)
        m_problem = tr("That are more than %1 values.").arg(kMostPlotted);
    if (!values.ok())
        m_problem = errorText(values.error());
    setRefused(m_values, !m_problem.isEmpty());
    if (!m_problem.isEmpty()) {
        showState();
        return;
    }
    std::vector<std::int64_t> sorted = std::move(values).value();
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const What swept = what();
    const auto usable = usableMemory(document()->design());
    m_job->ask([this, swept, sorted, design = document()->design(), of = document()->evaluation(),
                limit = usable.ok() ? usable.value() : 0](const std::atomic<bool>& stop) {
        SweepRequest request;
        request.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
        request.cancelled = &stop;
        (swept == What::Batch              ? request.batches
             : swept == What::Sequence     ? request.sequences
             : swept == What::MicroBatches ? request.microBatches
                                           : request.devices) = sorted;
        auto points = shardboard::sweep(design, request);
        return LatestJob::Answer([this, swept, of, limit, points = std::move(points)]() mutable {
            m_swept = swept;
            m_of = of;
            m_limit = limit;
            m_problem = points.ok() ? QString() : errorText(points.error());
            m_points = points.ok() ? std::move(points).value() : std::vector<SweepPoint>();
            draw();
        });
    });
    showState();
}

void SweepView::draw()
{
    const auto content = [this](const auto& y, const QString& name, double limit) {
        SweepContent out;
        out.yName = name;
        out.limit = limit;
        out.xName = m_swept == What::Batch  ? tr("batch")
            : m_swept == What::Sequence     ? tr("sequence")
            : m_swept == What::MicroBatches ? tr("micro-batches")
                                            : tr("devices");
        for (const SweepPoint& point : m_points)
            out.points.push_back({ static_cast<double>(valueOf(point)),
                                   point.refused.empty() ? y(point) : std::numeric_limits<double>::quiet_NaN(),
                                   point.fit == Fit::DoesNotFit, countText(valueOf(point)) });
        return out;
    };
    double longest = 0;
    for (const SweepPoint& point : m_points)
        longest = std::max(longest, point.seconds);
    const bool small = longest < 1;
    const PlotLook look = plotLook(this);
    m_step->setContent(content([small](const SweepPoint& point) { return point.seconds * (small ? 1e3 : 1); },
                               small ? tr("step, ms") : tr("step, s"), 0),
                       look);
    m_rate->setContent(content([](const SweepPoint& point) { return point.tokensPerSecondPerDevice; }, tr("tokens/s/device"), 0),
                       look);
    m_memory->setContent(content([](const SweepPoint& point) { return static_cast<double>(point.peakBytes) / kGib; },
                                 tr("memory, GiB"), m_limit / kGib),
                         look);
    showState();
    showPoint(-1);
}

void SweepView::showState()
{
    const bool any = std::any_of(m_points.begin(), m_points.end(), [](const SweepPoint& point) { return point.refused.empty(); });
    const bool graph = document()->hasDesign() && document()->design().model.hasGraph();
    m_charts->setVisible(any && m_problem.isEmpty());
    m_empty->setVisible(!m_charts->isVisibleTo(this));
    m_start->setText(isBusy() ? tr("Stop") : tr("Sweep"));
    m_start->setEnabled(graph);
    m_empty->setText(!document()->hasDesign()   ? tr("No design is open.")
                         : !graph               ? tr("This design has no plan to sweep.")
                         : isBusy()             ? tr("Sweeping …")
                         : !m_problem.isEmpty() ? m_problem
                         : !m_points.empty()    ? toldText(m_points.front().refused)
                                                : tr("Step time, throughput and memory over the values are plotted here."));
}

void SweepView::showPoint(int index)
{
    for (SweepChart* chart : { m_step, m_rate, m_memory }) {
        const QSignalBlocker blocker(chart);
        chart->setCurrent(index);
    }
    if (index < 0 || index >= static_cast<int>(m_points.size())) {
        const bool stale = m_of && document()->evaluation() != m_of;
        m_text->setText(stale ? tr("of the design before the last edit") : QString());
        return;
    }
    const SweepPoint& point = m_points[static_cast<std::size_t>(index)];
    const QString value = countText(valueOf(point));
    if (!point.refused.empty())
        m_text->setText(tr("%1: %2").arg(value, toldText(point.refused)));
    else
        m_text->setText(tr("%1: %2 · %3 tok/s/device · %4%5")
                            .arg(value, secondsText(point.seconds), digitsText(point.tokensPerSecondPerDevice),
                                 bytesText(point.peakBytes),
                                 point.fit == Fit::DoesNotFit  ? tr(", does not fit")
                                     : point.fit == Fit::Tight ? tr(", tight")
                                                               : QString()));
}

void SweepView::refresh()
{
    setTextColor(m_empty, Theme::of(this).quiet);
    draw();
}

} // namespace shardboard
