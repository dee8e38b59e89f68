// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/hosttime.h"

#include "model/cost/kerneltime.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"

#include <algorithm>

namespace shardboard {

namespace {

class SegmentSteps {
public:
    SegmentSteps(const Graph& graph, const Plan& plan, const KernelConstants& kernels)
        : m_graph(graph)
        , m_plan(plan)
        , m_kernels(kernels)
    {
    }

    /// By index into the segment's operations where each one's step is.
    std::vector<std::size_t> add(const PlannedSegment& segment)
    {
        steps.clear();
        std::vector<std::size_t> places;
        const double passes = passesOf(segment, m_plan.microBatches);
        for (const PlannedOp& op : segment.ops) {
            for (const CollectiveId id : waitedFor(m_graph, m_plan, op))
                steps.push_back({ 0, collectiveSeconds(id) / passes, false });
            const double share = static_cast<double>(op.count) / passes;
            places.push_back(steps.size());
            steps.push_back({ share * hostSeconds(op.work, m_kernels), share * op.seconds, op.work.readsBack });
        }
        return places;
    }

    std::vector<HostStep> steps;

private:
    double collectiveSeconds(CollectiveId id) const
    {
        const Collective& collective = m_plan.collective(id);
        return static_cast<double>(collective.count) * collective.seconds;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const KernelConstants& m_kernels;
};

void waitForHost(PlannedSegment& segment, SegmentSteps& of, double passes)
{
    const std::vector<std::size_t> places = of.add(segment);
    std::vector<double> waits;
    if (!hostWaits(of.steps, waits))
        return;
    for (std::size_t i = 0; i < places.size(); ++i)
        if (PlannedOp& op = segment.ops[i]; op.count > 0)
            op.seconds += waits[places[i]] * passes / static_cast<double>(op.count);
}

} // namespace

double passesOf(const PlannedSegment& segment, std::int64_t microBatches)
{
    return static_cast<double>(std::max<std::int64_t>(1, segment.count * (segment.phase == Phase::Update ? 1 : microBatches)));
}

std::vector<CollectiveId> waitedFor(const Graph& graph, const Plan& plan, const PlannedOp& op)
{
    std::vector<CollectiveId> out;
    for (const OperandUse& use : op.operands)
        for (const CollectiveId id : use.collectives)
            if (const Collective& collective = plan.collective(id); collective.op == op.op && !isStageSend(plan, collective)
                && !plan.overlap.has(overlapKindOf(graph, plan, collective)))
                out.push_back(id);
    return out;
}

bool hostWaits(std::span<const HostStep> steps, std::vector<double>& waits)
{
    double host = 0;
    double device = 0;
    bool readsBack = false;
    for (const HostStep& step : steps) {
        host += step.host;
        device += step.device;
        readsBack = readsBack || (step.readsBack && step.host > 0);
    }
    waits.clear();
    if (host == 0 || (!readsBack && host <= device))
        return false;
    waits.resize(steps.size());
    if (!readsBack) {
        for (std::size_t i = 0; i < steps.size(); ++i)
            waits[i] = (host - device) / host * steps[i].host;
        return true;
    }
    host = device = 0; // from here on when each is done
    for (int layer = 0; layer < 2; ++layer) // the second one has one before it
        for (std::size_t i = 0; i < steps.size(); ++i) {
            host += steps[i].host;
            waits[i] = steps[i].host > 0 ? std::max(0.0, host - device) : 0;
            device += waits[i] + steps[i].device;
            if (steps[i].readsBack)
                host = std::max(host, device);
        }
    return true;
}

bool startsFromHost(const Plan& plan, const Hardware& hardware)
{
    const auto updates = [](const PlannedSegment& segment) { return segment.phase == Phase::Update; };
    return hardware.device.kernels.hostSeconds > 0 && std::ranges::any_of(plan.segments, updates);
}

void waitForHost(const Graph& graph, Plan& plan, const Hardware& hardware)
{
    if (!startsFromHost(plan, hardware))
        return;
    SegmentSteps steps(graph, plan, hardware.device.kernels);
    for (PlannedSegment& segment : plan.segments)
        waitForHost(segment, steps, passesOf(segment, plan.microBatches));
}

} // namespace shardboard
