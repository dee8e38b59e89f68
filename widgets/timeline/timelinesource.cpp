// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/timelinesource.h"

#include "model/io/lanes/runlanes.h"
#include "model/io/lanes/tracelanes.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "model/timeline/boundby.h"
#include "model/timeline/predictedlanes.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/format.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

OpenedTrace openedTrace(const QString& name, const Trace& trace, const std::shared_ptr<const Evaluation>& evaluation,
                        const Hardware& hardware)
{
    OpenedTrace out;
    out.name = name;
    out.collectives = static_cast<std::int64_t>(trace.collectives.size());
    if (!evaluation || evaluation->plan.segments.empty()) {
        out.timeline = std::make_shared<const Timeline>(traceLanes(trace));
        return out;
    }
    const Plan& plan = evaluation->plan;
    const TraceMatch match = matchTrace(trace, evaluation->graph, plan);
    const std::vector<TimelineItem> items = timelineItems(evaluation->graph, plan);
    out.unmatched = match.unmatched;
    for (const auto& [id, nanoseconds] : match.nanoseconds) {
        const Collective& collective = plan.collective(id);
        ErrorRow row;
        row.id = collective.id;
        row.kind = collectiveName(collective.kind);
        row.collective = true;
        row.item = itemOf(items, id);
        row.count = static_cast<std::int64_t>(nanoseconds.size());
        row.predicted = static_cast<double>(row.count) * match.secondsOf(plan, id);
        for (const std::int64_t one : nanoseconds)
            row.measured += static_cast<double>(one) * 1e-9;
        const BoundBy bound = boundBy(collective, plan.mesh, hardware);
        row.boundBy = bound.what;
        row.constant = bound.constant;
        out.errors.predicted += row.predicted;
        out.errors.measured += row.measured;
        out.errors.rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(out.errors.rows,
                             [](const ErrorRow& a, const ErrorRow& b) { return std::abs(a.lost()) > std::abs(b.lost()); });
    out.timeline = std::make_shared<const Timeline>(traceLanes(trace, items, match));
    return out;
}

TimelineSource::TimelineSource(Document* document, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_job(new LatestJob(this))
{
    connect(document, &Document::opened, this, [this] { m_predicted.reset(); });
}

bool TimelineSource::has(Shown shown) const
{
    switch (shown) {
    case Shown::Prediction:
        return m_document->hasDesign() && !m_document->evaluation()->plan.segments.empty();
    case Shown::Run:
        return m_run.has_value();
    case Shown::Trace:
        break;
    }
    return m_trace.has_value();
}

QString TimelineSource::nameOf(Shown shown) const
{
    if (!has(shown))
        return {};
    switch (shown) {
    case Shown::Prediction:
        return tr("Predicted step");
    case Shown::Run:
        return m_run->name;
    case Shown::Trace:
        break;
    }
    return m_trace->name;
}

void TimelineSource::show(Shown shown)
{
    if (shown == m_shown || !has(shown))
        return;
    m_shown = shown;
    refresh();
}

void TimelineSource::setRun(MeasuredRun run)
{
    m_run = std::move(run);
    m_shown = Shown::Run;
    makeRun();
}

void TimelineSource::setTrace(OpenedTrace trace)
{
    m_trace = std::move(trace);
    m_shown = Shown::Trace;
    Q_EMIT changed();
}

void TimelineSource::follow()
{
    if (m_shown == Shown::Prediction && m_predictedOf != m_document->evaluation())
        makePrediction();
}

void TimelineSource::refresh()
{
    follow();
    Q_EMIT changed();
}

/// Until it is there that of the design before the edit is shown.
void TimelineSource::makePrediction()
{
    m_predictedOf = m_document->evaluation();
    m_job->forget();
    const auto hardware = has(Shown::Prediction) ? hardwareOf(m_document->design()) : Result<Hardware>(Hardware {});
    if (!has(Shown::Prediction) || !hardware.ok()) {
        m_predicted.reset();
        return;
    }
    m_job->ask([this, evaluation = m_predictedOf, machine = hardware.value()](const std::atomic<bool>& stop) -> LatestJob::Answer {
        PredictedLanesOptions options;
        options.stop = &stop;
        auto lanes = std::make_shared<const Timeline>(predictedLanes(evaluation->graph, evaluation->plan, machine, options));
        return [this, lanes] {
            m_predicted = lanes;
            Q_EMIT changed();
        };
    });
}

/// Small: the profile has at most some hundred thousand parts.
void TimelineSource::makeRun()
{
    const MeasuredRun& run = *m_run;
    const std::vector<TimelineItem> items =
        run.evaluation ? timelineItems(run.evaluation->graph, run.evaluation->plan) : std::vector<TimelineItem>();
    const RunProfile* profile = run.profile ? &*run.profile : nullptr;
    const std::int64_t step = profile != nullptr ? typicalStep(*profile) : -1;
    m_runErrors = errorTable(run.result, profile, step, items, run.evaluation ? &run.evaluation->plan : nullptr, run.hardware);
    m_runLanes = step < 0 ? nullptr : std::make_shared<const Timeline>(runLanes(*profile, step, items));
    Q_EMIT changed();
}

std::shared_ptr<const Timeline> TimelineSource::timeline() const
{
    switch (m_shown) {
    case Shown::Prediction:
        return m_predicted;
    case Shown::Run:
        return m_runLanes;
    case Shown::Trace:
        break;
    }
    return m_trace ? m_trace->timeline : nullptr;
}

const ErrorTable* TimelineSource::errors() const
{
    if (m_shown == Shown::Trace && m_trace)
        return &m_trace->errors;
    return m_run ? &m_runErrors : nullptr;
}

const std::map<std::string, std::int64_t>& TimelineSource::unmatched() const
{
    static const std::map<std::string, std::int64_t> kNone;
    return m_shown == Shown::Trace && m_trace ? m_trace->unmatched : kNone;
}

std::int64_t TimelineSource::collectives() const { return m_shown == Shown::Trace && m_trace ? m_trace->collectives : 0; }

bool TimelineSource::isBusy() const { return m_job->isBusy(); }

bool TimelineSource::isStale() const { return m_run && m_run->evaluation != m_document->evaluation(); }

QString TimelineSource::detail() const
{
    if (m_shown == Shown::Prediction)
        return m_predicted ? tr("a step of %1, as planned").arg(secondsText(m_predicted->seconds)) : QString();
    if (m_shown == Shown::Trace)
        return m_trace && m_trace->timeline ? tr("%1 slices in %2")
                                                  .arg(countText(static_cast<std::int64_t>(m_trace->timeline->intervalCount())),
                                                       secondsText(m_trace->timeline->seconds))
                                            : QString();
    if (!m_run)
        return {};
    const RunResult& result = m_run->result;
    QStringList parts;
    if (m_runErrors.step >= 0)
        parts << tr("step %1 of %2, %3").arg(m_runErrors.step + 1).arg(result.steps).arg(secondsText(m_runErrors.measured));
    parts << tr("%1 on %2").arg(counted(result.devices, tr("device"), tr("devices")), qstr(result.backend));
    parts << (result.layers == 1 ? tr("1 layer") : tr("%1 layers").arg(result.layers));
    if (isStale())
        parts << tr("older design");
    return parts.join(QStringLiteral(" · "));
}

void TimelineSource::select(std::int32_t item) const
{
    const std::shared_ptr<const Timeline> lanes = timeline();
    const auto* items = lanes ? &lanes->items : nullptr;
    if (items == nullptr || item < 0 || static_cast<std::size_t>(item) >= items->size() || !m_document->hasDesign())
        return;
    const TimelineItem& wanted = (*items)[static_cast<std::size_t>(item)];
    // Of an earlier design it is looked for by its name, and may be gone.
    const auto evaluation = m_document->evaluation();
    for (const TimelineItem& one : timelineItems(evaluation->graph, evaluation->plan)) {
        if (one.id != wanted.id)
            continue;
        if (one.collective.valid())
            m_document->selection()->setCollective(one.collective);
        else
            m_document->selection()->setOperation(one.segment, one.operation);
        return;
    }
}

std::int32_t TimelineSource::selected() const
{
    const std::shared_ptr<const Timeline> lanes = timeline();
    if (!lanes || lanes->items.empty() || !m_document->hasDesign())
        return -1;
    const auto evaluation = m_document->evaluation();
    const Selection& selection = *m_document->selection();
    std::string id;
    if (selection.collective().valid()) {
        id = evaluation->plan.collective(selection.collective()).id;
    } else if (selection.operation().valid()) {
        const auto items = timelineItems(evaluation->graph, evaluation->plan);
        if (const std::int32_t item = itemOf(items, selection.segment(), selection.operation()); item >= 0)
            id = items[static_cast<std::size_t>(item)].id;
    }
    if (id.empty())
        return -1;
    const auto it = std::ranges::find(lanes->items, id, &TimelineItem::id);
    return it == lanes->items.end() ? -1 : static_cast<std::int32_t>(it - lanes->items.begin());
}

} // namespace shardboard
