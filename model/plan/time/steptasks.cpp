// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/steptasks.h"

#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"

#include <algorithm>

namespace shardboard {

namespace {

/// The farthest link of `nvlink4 + ib-ndr`.
std::string farthest(const std::string& links)
{
    const std::size_t plus = links.rfind(" + ");
    return plus == std::string::npos ? links : links.substr(plus + 3);
}

class PartTasks {
public:
    PartTasks(const Graph& graph, const Plan& plan, PlannedSegmentId id, std::vector<bool>& seen, StepTasks& out)
        : m_graph(graph)
        , m_plan(plan)
        , m_planned(plan.segment(id))
        , m_times(std::max<std::int64_t>(1, m_planned.count * (m_planned.phase == Phase::Update ? 1 : plan.microBatches)))
        , m_seen(seen)
        , m_out(out)
        , m_part(out.parts[id])
    {
        m_part.phase = m_planned.phase;
    }

    void run(const std::vector<CollectiveId>& own)
    {
        for (std::size_t i = 0; i < m_planned.ops.size(); ++i) {
            for (const OperandUse& use : m_planned.ops[i].operands)
                for (const CollectiveId id : use.collectives)
                    add(id);
            operation(i);
        }
        for (const CollectiveId id : own) // no operation names it
            add(id);
        if (m_planned.host.count > 0)
            addHost();
    }

private:
    double occurrences(std::int64_t count) const { return static_cast<double>(count) / static_cast<double>(m_times); }

    void operation(std::size_t index)
    {
        const PlannedOp& op = m_planned.ops[index];
        const double each = occurrences(op.count);
        if (m_planned.phase == Phase::Backward && makesWeightGradient(m_graph, op))
            m_part.weightGradients += each * op.seconds;
        std::vector<StepTask>& tasks = m_part.tasks;
        // Kernels that are one class stay together where a collective runs beside them in pieces.
        const bool beside = !tasks.empty() && tasks.back().mode == TaskMode::BesideNext;
        const bool joins = !tasks.empty() && tasks.back().mode == TaskMode::Compute && tasks.back().occurrences == each
            && (!m_piecewise || m_class == op.work.kernel || op.seconds == 0);
        if (beside) {
            m_piecewise = true;
            m_class = op.work.kernel;
        }
        if (joins) {
            tasks.back().endOp = index + 1;
            tasks.back().seconds += each * op.seconds;
            return;
        }
        if (!beside)
            m_piecewise = false;
        StepTask task;
        task.seconds = each * op.seconds;
        task.occurrences = each;
        task.firstOp = index;
        task.endOp = index + 1;
        tasks.push_back(task);
    }

    /// Cuts the last run of operations so that its second part are kernels of one class: those that make the pieces.
    void splitLast()
    {
        if (m_part.tasks.empty() || m_part.tasks.back().mode != TaskMode::Compute)
            return;
        StepTask& last = m_part.tasks.back();
        const auto seconds = [&](std::size_t i) { return last.occurrences * m_planned.ops[i].seconds; };
        std::size_t from = last.endOp;
        KernelClass kernel = KernelClass::None;
        double own = 0;
        while (from > last.firstOp) {
            const PlannedOp& op = m_planned.ops[from - 1];
            if (op.work.kernel != KernelClass::None && kernel != KernelClass::None && op.work.kernel != kernel)
                break;
            if (op.work.kernel != KernelClass::None)
                kernel = op.work.kernel;
            own += seconds(--from);
        }
        if (from == last.firstOp || from == last.endOp)
            return;
        StepTask behind = last;
        behind.firstOp = from;
        behind.seconds = own;
        last.endOp = from;
        last.seconds = 0;
        for (std::size_t i = last.firstOp; i < from; ++i)
            last.seconds += seconds(i);
        m_part.tasks.push_back(behind);
    }

    /// What goes between the host and the device while a layer works.
    void addHost()
    {
        StepTask task;
        task.kind = OverlapKind::Host;
        task.mode = m_plan.overlap.has(task.kind) ? TaskMode::Within : TaskMode::Serial;
        task.stream = m_out.streamOf("host");
        task.occurrences = 1 / static_cast<double>(m_times); // of its seconds, which are of all layers
        task.seconds = task.occurrences * m_planned.host.seconds;
        m_part.tasks.push_back(task);
    }

    TaskMode modeOf(const Collective& collective, OverlapKind kind) const
    {
        if (!m_plan.overlap.has(kind))
            return TaskMode::Serial;
        switch (kind) {
        case OverlapKind::WeightGathers:
            return TaskMode::Early;
        case OverlapKind::GradientScatters:
            // What the optimizer takes it waits for, and its gradient is there before the layer begins.
            return m_part.phase == Phase::Update ? TaskMode::Early : TaskMode::Late;
        case OverlapKind::Experts:
            return TaskMode::Within;
        default:
            break;
        }
        const bool sums = collective.kind == CollectiveKind::AllReduce || collective.kind == CollectiveKind::ReduceScatter;
        const bool after = !m_part.tasks.empty() && m_part.tasks.back().mode == TaskMode::Compute;
        return sums && after ? TaskMode::BesideLast : TaskMode::BesideNext;
    }

    /// The collective before it on the way of the same operand.
    const StepTask* goesOnWith(const Collective& collective) const
    {
        if (m_part.tasks.empty() || !m_part.tasks.back().collective.valid() || !collective.op.valid())
            return nullptr;
        const Collective& before = m_plan.collective(m_part.tasks.back().collective);
        const bool same = before.op == collective.op && before.operand == collective.operand && before.tensor == collective.tensor;
        return same ? &m_part.tasks.back() : nullptr;
    }

    void add(CollectiveId id)
    {
        const Collective& collective = m_plan.collective(id);
        if (m_seen[id] || isStageSend(m_plan, collective))
            return;
        m_seen[id] = true;
        if (collective.count == 0 || collective.kind == CollectiveKind::LocalSlice)
            return;
        StepTask task;
        task.kind = overlapKindOf(m_graph, m_plan, collective);
        task.mode = modeOf(collective, task.kind);
        task.stream = m_out.streamOf(farthest(collective.link));
        task.collective = id;
        task.occurrences = occurrences(collective.count);
        if (collective.count == m_planned.count && m_times > m_planned.count) { // once a step
            task.when = task.kind == OverlapKind::WeightGathers ? TaskWhen::First : TaskWhen::Last;
            task.occurrences = 1;
        }
        task.seconds = task.occurrences * collective.seconds;
        task.pieces = static_cast<double>(std::max<std::int64_t>(1, collective.groupSize));
        if (const StepTask* before = goesOnWith(collective); before != nullptr && before->stream != task.stream) {
            task.isNext = task.mode == TaskMode::Late;
            task.mode = task.mode == TaskMode::Early ? TaskMode::Serial : task.mode;
        }
        if (task.mode == TaskMode::BesideLast)
            splitLast();
        m_part.tasks.push_back(task);
        m_piecewise = false;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const PlannedSegment& m_planned;
    std::int64_t m_times; ///< layers and micro-batches
    std::vector<bool>& m_seen;
    StepTasks& m_out;
    StepPart& m_part;
    bool m_piecewise = false; ///< the last run of operations has a collective beside it
    KernelClass m_class = KernelClass::None; ///< and is of this
};

} // namespace

bool makesWeightGradient(const Graph& graph, const PlannedOp& op)
{
    const GraphTensor& result = graph.entry(graph.op(op.op).result);
    const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
    return of != kNoTensor && graph.tensor(of).role == TensorRole::Weight;
}

bool StepPart::isSerial() const
{
    return std::ranges::all_of(
        tasks, [](const StepTask& task) { return task.mode == TaskMode::Compute || task.mode == TaskMode::Serial; });
}

std::uint8_t StepTasks::streamOf(const std::string& link)
{
    auto found = std::find(streams.begin() + 1, streams.end(), link);
    if (found == streams.end())
        found = streams.insert(found, link);
    return static_cast<std::uint8_t>(found - streams.begin());
}

void StepTasks::number()
{
    count = 0;
    for (StepPart& part : parts)
        for (StepTask& task : part.tasks)
            task.number = static_cast<std::uint32_t>(count++);
}

StepTasks merged(const StepTasks& tasks, std::vector<std::uint32_t>& placeOf)
{
    StepTasks out = tasks;
    placeOf.clear();
    std::uint32_t first = 0;
    for (StepPart& part : out.parts) {
        std::vector<StepTask> own;
        for (const StepTask& task : part.tasks) {
            const bool copies = task.mode != TaskMode::Compute && !task.collective.valid();
            const auto alike = std::ranges::find_if(own, [&](const StepTask& it) {
                return !copies && it.mode == task.mode && it.when == task.when
                    && (it.mode == TaskMode::Compute || it.collective.valid());
            });
            placeOf.push_back(first + static_cast<std::uint32_t>(alike - own.begin()));
            if (alike == own.end())
                own.push_back(task);
            else
                alike->seconds += task.seconds;
        }
        first += static_cast<std::uint32_t>(own.size());
        part.tasks = std::move(own);
    }
    out.number();
    return out;
}

StepTasks stepTasks(const Graph& graph, const Plan& plan)
{
    StepTasks out;
    out.parts.resize(plan.segments.size());
    std::vector<std::vector<CollectiveId>> own(plan.segments.size());
    for (std::size_t i = 0; i < plan.collectives.size(); ++i)
        own[plan.collectives[i].plannedSegment].push_back(CollectiveId(i));
    std::vector<bool> seen(plan.collectives.size(), false);
    for (std::size_t s = 0; s < plan.segments.size(); ++s)
        PartTasks(graph, plan, PlannedSegmentId(s), seen, out).run(own[s]);
    out.number();
    return out;
}

} // namespace shardboard
