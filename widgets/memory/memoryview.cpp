// SPDX-License-Identifier: Apache-2.0
#include "widgets/memory/memoryview.h"

#include "widgets/controls/choicebox.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/document/devicememory.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/look/swatch.h"
#include "widgets/look/theme.h"
#include "widgets/memory/devicebars.h"
#include "widgets/memory/fitlist.h"
#include "widgets/plots/timelinechart.h"

#include "model/hardware/hardware.h"
#include "model/plan/memory/hosttransfers.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"

#include <QCheckBox>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kMostOperations = 400; ///< that a chart can tell apart; of more, the highest of each layer

/// A cause has one colour everywhere; past seven the hues come again, hatched.
PartColor causeColor(std::size_t cause) { return partColor(static_cast<std::int64_t>(cause)); }

/// Causes of which there is any on some stage or at some moment, as indices into memoryCauses().
std::vector<std::size_t> presentCauses(const Plan& plan, const MemoryTimeline& timeline)
{
    std::vector<std::size_t> out;
    const auto causes = memoryCauses();
    for (std::size_t i = 0; i < causes.size(); ++i) {
        const auto any = [&](const MemoryBytes& bytes) { return bytes.*causes[i].bytes > 0; };
        const bool onAStage = plan.pipeline && std::any_of(plan.pipeline->memory.begin(), plan.pipeline->memory.end(), any);
        if (any(plan.memory) || onAStage
            || std::any_of(timeline.moments.begin(), timeline.moments.end(), [&](const MemoryMoment& it) { return any(it.bytes); }))
            out.push_back(i);
    }
    return out;
}

/// Scrolls up and down only: it is as wide as what it shows needs, beside its scroll bar.
class ScrolledDown : public QScrollArea {
public:
    using QScrollArea::QScrollArea;
    QSize minimumSizeHint() const override
    {
        const int content = widget() ? widget()->minimumSizeHint().width() : 0;
        return { content + verticalScrollBar()->sizeHint().width() + 2 * frameWidth(), QScrollArea::minimumSizeHint().height() };
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched == widget() && event->type() == QEvent::LayoutRequest)
            updateGeometry();
        return QScrollArea::eventFilter(watched, event);
    }
};

} // namespace

MemoryView::MemoryView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_bars(new DeviceBars(this))
    , m_fit(new FitList(document, this))
    , m_chart(new TimelineChart(this))
    , m_stage(new ChoiceBox(false, this))
    , m_verdict(new QLabel(this))
    , m_summary(new QLabel(this))
    , m_moment(new ElidedLabel(this))
    , m_empty(new QLabel(this))
    , m_body(new QWidget(this))
    , m_left(new QWidget(this))
    , m_legend(new QWidget(this))
    , m_rows(new QGridLayout(m_legend))
{
    nameView("memoryView", tr("Memory per device"));
    buildLayout();
    connect(m_chart, &TimelineChart::currentChanged, this, &MemoryView::showMoment);
    connect(m_chart, &TimelineChart::chosen, this, &MemoryView::chooseMoment);
    connect(m_fit, &FitList::refused, this, &MemoryView::refused);
    connect(m_stage, &QComboBox::activated, this, [this] { showTimeline(); });
    connect(m_bars, &DeviceBars::chosen, this, &MemoryView::chooseStage);
    start();
}

void MemoryView::buildLayout()
{
    m_verdict->setObjectName(QStringLiteral("memoryVerdict"));
    m_verdict->setWordWrap(true);
    m_summary->setObjectName(QStringLiteral("memorySummary"));
    m_summary->setWordWrap(true);
    m_moment->setObjectName(QStringLiteral("memoryMoment"));
    nameWidget(m_stage, "memoryStage", tr("Stage of the pipeline"), tr("The stage whose memory is shown, with its peak"));
    nameWidget(m_bars, "memoryBars", tr("Peak memory of the devices by cause"));
    nameWidget(m_chart, "memoryChart", tr("Memory over the operations of a step"),
               tr("Memory over a step, layer by layer; of many, each at the operation that needs the most. Click to select it"));
    m_empty->setObjectName(QStringLiteral("memoryEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setHorizontalSpacing(8);
    m_rows->setVerticalSpacing(0);
    auto* left = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 4, m_left);
    left->addWidget(m_verdict);
    left->addWidget(m_summary);
    left->addWidget(m_bars);
    left->addWidget(m_fit);
    left->addWidget(m_legend);
    left->addStretch(1);
    auto* right = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 4);
    auto* over = new QHBoxLayout;
    over->setSpacing(8);
    over->addWidget(m_moment, 1);
    over->addWidget(m_stage);
    right->addLayout(over);
    right->addWidget(m_chart, 1);
    auto* scroll = new ScrolledDown(m_body); // advice can be longer than a low panel
    scroll->setObjectName(QStringLiteral("memoryScroll"));
    scroll->setWidget(m_left);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* body = boxLayout<QHBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, 24, m_body);
    body->addWidget(scroll, 9);
    body->addLayout(right, 11);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_body);
    column->addWidget(m_empty);
}

MemoryView::~MemoryView()
{
    m_chart->disconnect(this); // it loses the focus, and says so, when this is half gone
}

QSize MemoryView::sizeHint() const { return { 720, 240 }; }

double MemoryView::limitBytes() const
{
    const auto hardware = hardwareOf(document()->design());
    return hardware.ok() ? hardware.value().memoryBytes() : 0;
}

void MemoryView::refresh()
{
    const Theme& theme = Theme::of(this);
    const auto evaluation = document()->evaluation();
    setTextColor(m_empty, theme.quiet);
    setTextColor(m_summary, theme.quiet);
    m_moment->setFont(uiFont(this, -0.5));
    m_summary->setFont(uiFont(this, -0.5));
    m_verdict->setFont(uiFont(this, 1, true));
    m_body->setVisible(evaluation != nullptr);
    m_empty->setVisible(!evaluation);
    m_empty->setText(tr("No design is open."));
    if (!evaluation) {
        m_timeline = {};
        return;
    }
    showVerdict();
    placeSummary();
    showStages();
    m_stale = true;
    if (isVisible())
        showTimeline();
}

void MemoryView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    if (m_stale)
        showTimeline();
}

void MemoryView::showVerdict()
{
    const Theme& theme = Theme::of(this);
    const MemoryByCause& memory = document()->evaluation()->plan.memory;
    const auto limit = static_cast<std::int64_t>(limitBytes());
    const Fit fit = fitOf(memory, limit);
    m_verdict->setText(
        memory.peak == 0 ? tr("Nothing to add up")
            : fit == Fit::Tight
            ? tr("≈ Tight: %1 to %2 of %3, by the allocator").arg(bytesText(memory.least), bytesText(memory.most), bytesText(limit))
            : fit == Fit::Fits ? tr("✓ Fits, %1 to spare").arg(bytesText(limit - memory.peak))
                               : tr("✗ Does not fit: %1 too much").arg(bytesText(memory.peak - limit)));
    setTextColor(m_verdict, fit != Fit::DoesNotFit ? theme.text : theme.error);
    m_fit->setVisible(memory.peak > limit);
    QString summary = tr("The fullest device needs %1 of %2").arg(bytesText(memory.peak), bytesText(limit));
    if (!memory.peakAt.empty())
        summary += tr(", at %1").arg(qstr(memory.peakAt));
    if (const std::int64_t away = hostBytes(document()->evaluation()->plan); away > 0) {
        const auto hardware = hardwareOf(document()->design());
        const double there = hardware.ok() ? hostLinkOf(hardware.value().device).memoryBytes : 0;
        summary += there > 0 ? tr("; %1 of %2 are in the host's memory").arg(bytesText(away), bytesText(qRound64(there)))
                             : tr("; %1 are in the host's memory").arg(bytesText(away));
    }
    m_summary->setText(summary + QLatin1Char('.'));
    m_summary->setToolTip(
        tr("%1 of %2\n%3 with an allocator at its best, %4 at its worst")
            .arg(exactBytesText(memory.peak), exactBytesText(limit), bytesText(memory.least), bytesText(memory.most)));
}

/// The stages of a pipeline, each with its peak; the fullest one is chosen as long as nobody chooses another.
void MemoryView::showStages()
{
    const auto& pipeline = document()->evaluation()->plan.pipeline;
    const bool several = pipeline && pipeline->memory.size() > 1;
    const int before = m_stage->count() > 0 && several && m_stage->count() == static_cast<int>(pipeline->memory.size())
        ? m_stage->currentIndex()
        : -1;
    const QSignalBlocker blocker(m_stage);
    m_stage->clear();
    m_stage->setVisible(several);
    if (!several)
        return;
    for (std::size_t stage = 0; stage < pipeline->memory.size(); ++stage) {
        QString text = tr("Stage %1: %2").arg(stage).arg(bytesText(pipeline->memory[stage].peak));
        if (static_cast<std::int64_t>(stage) == pipeline->fullestStage)
            text += tr(", fullest");
        m_stage->addItem(text);
    }
    m_stage->setFixedWidth(m_stage->widestEntry());
    m_stage->setCurrentIndex(before >= 0 ? before : static_cast<int>(pipeline->fullestStage));
}

void MemoryView::showTimeline()
{
    const auto evaluation = document()->evaluation();
    if (!evaluation)
        return;
    m_stale = false;
    m_timelineOf = evaluation;
    const Theme& theme = Theme::of(this);
    const Plan& plan = evaluation->plan;
    const std::int64_t stage = plan.pipeline && m_stage->currentIndex() >= 0 ? m_stage->currentIndex() : 0;
    m_timeline = plan.segments.empty() ? MemoryTimeline {} : memoryTimeline(evaluation->graph, plan, stage);
    const bool folds = m_timeline.moments.size() > kMostOperations;
    if (folds)
        m_timeline = layerByLayer(m_timeline);
    const std::vector<std::size_t> causes = presentCauses(plan, m_timeline);
    makeLegend(causes);
    const TimelineLook look { theme.panel, theme.quiet, theme.line, theme.error };
    std::vector<TimelinePart> parts;
    for (const std::size_t cause : causes) {
        const MemoryCause& what = memoryCauses()[cause];
        if (m_hidden.contains(cause))
            continue;
        const PartColor color = causeColor(cause);
        TimelinePart part { tr(what.name), color.fill, color.hatch, color.hatchColor, {} };
        for (const MemoryMoment& moment : m_timeline.moments)
            part.values.push_back(static_cast<double>(moment.bytes.*what.bytes) / kGib);
        parts.push_back(std::move(part));
    }
    std::vector<TimelineMark> marks;
    int before = -1;
    for (std::size_t i = 0; i < m_timeline.moments.size(); ++i) {
        const auto phase = plan.segment(m_timeline.moments[i].plannedSegment).phase;
        if (static_cast<int>(phase) != before)
            marks.push_back({ static_cast<int>(i), qstr(phaseName(phase)) });
        before = static_cast<int>(phase);
    }
    showBars(causes);
    m_chart->setFont(uiFont(this, -1));
    // Some of the causes are no answer to whether all of them fit.
    m_chart->setParts(parts, m_hidden.empty() ? limitBytes() / kGib : 0, m_hidden.empty() ? m_timeline.peak() : -1, marks,
                      { tr("GiB"), folds ? tr("layer, each at its highest") : tr("layer, operation by operation"), ticks() }, look);
    m_chart->setVisible(!m_timeline.moments.empty());
    m_moment->setVisible(!m_timeline.moments.empty());
    showMoment(-1);
}

/// Where layers begin, and what stands before and behind them.
std::vector<TimelineTick> MemoryView::ticks() const
{
    const Plan& plan = m_timelineOf->plan;
    std::vector<TimelineTick> out;
    const MemoryMoment* before = nullptr;
    for (std::size_t i = 0; i < m_timeline.moments.size(); ++i) {
        const MemoryMoment& moment = m_timeline.moments[i];
        if (before == nullptr || before->plannedSegment != moment.plannedSegment || before->layer != moment.layer)
            out.push_back({ static_cast<int>(i),
                            moment.layer >= 0 ? QString::number(moment.layer) : qstr(plan.segment(moment.plannedSegment).name),
                            moment.layer });
        before = &moment;
    }
    return out;
}

/// A bar for each stage, or one where all devices are alike.
void MemoryView::showBars(const std::vector<std::size_t>& causes)
{
    const Plan& plan = document()->evaluation()->plan;
    const std::int64_t devices = plan.mesh.deviceCount();
    const bool stages = plan.pipeline && plan.pipeline->memory.size() > 1;
    const std::int64_t count = stages ? static_cast<std::int64_t>(plan.pipeline->memory.size()) : 1;
    std::vector<DeviceBar> bars;
    for (std::int64_t i = 0; i < count; ++i) {
        const MemoryBytes& bytes =
            stages ? static_cast<const MemoryBytes&>(plan.pipeline->memory[static_cast<std::size_t>(i)]) : plan.memory;
        const QString on = counted(devices / count, tr("device"), tr("devices"));
        DeviceBar bar { stages ? tr("stage %1 · %2").arg(i).arg(on) : devices > 1 ? tr("each of %1").arg(on) : on, {} };
        for (const std::size_t cause : causes)
            if (!m_hidden.contains(cause))
                bar.parts.push_back({ tr(memoryCauses()[cause].name), bytes.*memoryCauses()[cause].bytes, causeColor(cause) });
        bars.push_back(std::move(bar));
    }
    m_bars->setBars(bars, static_cast<std::int64_t>(limitBytes()), stages ? m_stage->currentIndex() : 0);
}

void MemoryView::chooseStage(int stage)
{
    if (!m_stage->isVisibleTo(this) || stage == m_stage->currentIndex() || stage >= m_stage->count())
        return;
    m_stage->setCurrentIndex(stage);
    showTimeline();
}

void MemoryView::setCauseShown(std::size_t cause, bool shown)
{
    if (shown)
        m_hidden.erase(cause);
    else
        m_hidden.insert(cause);
    showTimeline();
}

void MemoryView::makeLegend(const std::vector<std::size_t>& causes)
{
    const bool same = std::equal(m_legendRows.begin(), m_legendRows.end(), causes.begin(), causes.end(),
                                 [](const LegendRow& row, std::size_t cause) { return row.cause == cause; });
    if (same) { // the boxes stay, also the one that was just clicked
        for (const LegendRow& row : m_legendRows) {
            row.swatch->setColor(causeColor(row.cause));
            row.name->setFont(uiFont(this, -0.5));
            row.value->setFont(monoFont(this, -0.5));
        }
        return;
    }
    while (QLayoutItem* item = m_rows->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    m_legendRows.clear();
    for (const std::size_t cause : causes) {
        auto* swatch = new Swatch(causeColor(cause), m_legend);
        auto* name = new QCheckBox(tr(memoryCauses()[cause].name), m_legend);
        name->setObjectName(QStringLiteral("memory.shown.") + QString::fromLatin1(memoryCauses()[cause].key));
        const bool runtime = memoryCauses()[cause].bytes == &MemoryBytes::runtime;
        name->setToolTip(
            (runtime ? tr("What the driver keeps, the context, and the buffers of communicators") + QLatin1Char('\n') : QString())
            + tr("Unchecked: left out of the bars and the chart"));
        name->setChecked(!m_hidden.contains(cause));
        name->setFont(uiFont(this, -0.5));
        connect(name, &QCheckBox::toggled, this, [this, cause](bool shown) { setCauseShown(cause, shown); });
        auto* value = new QLabel(m_legend);
        value->setObjectName(QStringLiteral("memory.") + QString::fromLatin1(memoryCauses()[cause].key));
        value->setFont(monoFont(this, -0.5));
        value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        m_legendRows.push_back({ cause, swatch, name, value });
    }
    m_legendColumns = 0;
    placeLegend();
}

/// In two columns where there is room, so that all causes are in sight in a low panel.
void MemoryView::placeLegend()
{
    constexpr int kValue = 80;
    int name = 0;
    for (const LegendRow& row : m_legendRows)
        name = std::max(name, row.name->sizeHint().width());
    const int room = (width() - 2 * kPanelMargin - 24) * 9 / 20 - 16; // the left part, without its scroll bar
    const int columns = m_legendRows.size() > 5 && room >= 2 * (12 + name + kValue + 2 * m_rows->horizontalSpacing()) + 12 ? 2 : 1;
    if (columns == m_legendColumns)
        return;
    m_legendColumns = columns;
    while (QLayoutItem* item = m_rows->takeAt(0))
        delete item; // its widget stays
    for (std::size_t i = 0; i < m_legendRows.size(); ++i) {
        const int row = static_cast<int>(i) / columns;
        const int block = static_cast<int>(i) % columns * 4;
        m_rows->addWidget(m_legendRows[i].swatch, row, block);
        m_rows->addWidget(m_legendRows[i].name, row, block + 1);
        m_rows->addWidget(m_legendRows[i].value, row, block + 2);
    }
    m_rows->setColumnMinimumWidth(3, columns > 1 ? 12 : 0);
    for (const int column : { 1, 5 })
        m_rows->setColumnStretch(column, 1);
}

/// In a low panel the causes need the room more: the bar and the line above the chart say the same.
void MemoryView::placeSummary()
{
    constexpr int kLow = 260;
    const auto evaluation = document()->evaluation();
    m_summary->setVisible(height() >= kLow || (evaluation && evaluation->plan.segments.empty()));
    m_verdict->setToolTip(m_summary->text());
}

void MemoryView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    placeLegend();
    placeSummary();
}

/// The stage of the hovered device, where the stages are told apart.
void MemoryView::hoverChanged()
{
    const auto evaluation = document()->evaluation();
    const std::int64_t device = selection()->hoveredDevice();
    const bool several = evaluation && m_bars->bars().size() > 1 && device >= 0 && device < evaluation->plan.mesh.deviceCount();
    m_bars->setHovered(several ? static_cast<int>(DeviceMemory(evaluation->plan, limitBytes()).stageAt(device)) : -1);
}

QString MemoryView::momentName(const MemoryMoment& moment) const
{
    const auto evaluation = document()->evaluation();
    const PlannedSegment& segment = evaluation->plan.segment(moment.plannedSegment);
    QString where = segment.phase == Phase::Forward ? QString() : qstr(phaseName(segment.phase)) + QStringLiteral(" · ");
    where += moment.layer >= 0 ? tr("layer %1").arg(moment.layer) : qstr(segment.name);
    if (moment.op.valid())
        where += QStringLiteral(" · ") + qstr(evaluation->graph.op(moment.op).name);
    return where;
}

/// The legend and the line above the chart tell of the moment that is pointed at, or of the peak.
void MemoryView::showMoment(int moment)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || m_timelineOf != evaluation) // the timeline is of an earlier design
        return;
    const int shown = moment >= 0 ? moment : m_timeline.peak();
    const bool known = shown >= 0 && shown < static_cast<int>(m_timeline.moments.size());
    const MemoryBytes& ofPlan = evaluation->plan.memory;
    const MemoryBytes& bytes = known ? m_timeline.moments[static_cast<std::size_t>(shown)].bytes : ofPlan;
    for (const LegendRow& row : m_legendRows) {
        const std::int64_t value = bytes.*memoryCauses()[row.cause].bytes;
        row.value->setText(value > 0 ? bytesText(value) : QStringLiteral("–"));
        row.value->setToolTip(exactBytesText(value));
    }
    if (known) {
        const QString text = momentName(m_timeline.moments[static_cast<std::size_t>(shown)]);
        m_moment->setText((moment >= 0 ? tr("%1 at %2") : tr("Peak %1 at %2")).arg(bytesText(bytes.total()), text));
    }
}

void MemoryView::chooseMoment(int moment)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || moment < 0 || moment >= static_cast<int>(m_timeline.moments.size()))
        return;
    const MemoryMoment& chosen = m_timeline.moments[static_cast<std::size_t>(moment)];
    const auto& ops = evaluation->plan.segment(chosen.plannedSegment).ops;
    const auto op = std::find_if(ops.begin(), ops.end(), [&](const PlannedOp& it) { return it.op == chosen.op; });
    if (op != ops.end())
        selection()->setOperation(chosen.plannedSegment, PlannedOpId(op - ops.begin()));
}

} // namespace shardboard
