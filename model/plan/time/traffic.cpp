// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/traffic.h"

#include "model/cost/collectiveprices.h"
#include "model/cost/leveltraffic.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/pipeline.h"

#include <map>
#include <string>

namespace shardboard {

namespace {

class Traffic {
public:
    Traffic(const Graph& graph, const Plan& plan, const Hardware& hardware)
        : m_graph(graph)
        , m_plan(plan)
        , m_hardware(hardware)
        , m_prices(plan.mesh, hardware)
        , m_out(hardware.levels.size())
    {
    }

    std::vector<LevelTraffic> all()
    {
        for (const Collective& collective : m_plan.collectives) {
            if (collective.kind == CollectiveKind::LocalSlice || collective.groupSize < 2 || m_out.empty())
                continue;
            const double times = static_cast<double>(collective.count) * busiestShare(m_graph, m_plan, collective);
            m_out[widestLevel(m_prices.footprint(collective.axes))].seconds += times * collective.seconds;
            if (isStageSend(m_plan, collective)) {
                addSends(collective, times);
                continue;
            }
            const bool ring = collective.step.before == collective.step.after;
            std::vector<double> bytes = bytesByLevel(collective.kind, reach(collective.axes), static_cast<double>(collective.bytes),
                                                     ring ? SendPattern::Ring : SendPattern::Anywhere, sums(collective));
            if (collective.algorithm.ends_with(kOncePerNode))
                sendOncePerNode(collective, bytes);
            add(times, bytes);
        }
        return std::move(m_out);
    }

private:
    const std::vector<LevelReach>& reach(const std::vector<int>& axes)
    {
        const auto known = m_reach.find(axes);
        return known != m_reach.end()
            ? known->second
            : m_reach.emplace(axes, levelReach(axes, m_plan.mesh, m_hardware, m_prices.footprint(axes))).first->second;
    }

    /// Between nodes a token goes once; what its experts in a node take goes there from one device to the others.
    void sendOncePerNode(const Collective& collective, std::vector<double>& bytes)
    {
        const Footprint& footprint = m_prices.footprint(collective.axes);
        const auto members = static_cast<double>(footprint.levels.front().members);
        bytes.front() = static_cast<double>(collective.bytes) * (members - 1) / members;
        for (std::size_t level = 1; level < bytes.size(); ++level)
            bytes[level] *= nodesOfCopies(collective.copies, footprint);
    }

    void add(double times, const std::vector<double>& bytes)
    {
        for (std::size_t level = 0; level < bytes.size(); ++level)
            m_out[level].bytes += times * bytes[level];
    }

    /// Each device of a stage sends once over each border of its stage, to the next stage or between the ends; what is sent in
    /// parts is put together where it arrives.
    void addSends(const Collective& send, double times)
    {
        const PlannedPipeline& pipeline = *m_plan.pipeline;
        const std::vector<int> gathered = sendPrice(send, m_prices).gathered;
        const std::int64_t parts = m_plan.mesh.groupSize(gathered);
        const auto part = static_cast<double>((send.bytes + parts - 1) / parts);
        const auto sends = [&](SendPattern pattern, std::int64_t passes) {
            add(static_cast<double>(passes), bytesByLevel(CollectiveKind::SendRecv, reach(send.axes), part, pattern));
        };
        if (m_graph.segment(m_plan.segment(send.plannedSegment).segment).isLayer) {
            const std::int64_t micro = send.count / (pipeline.stages * pipeline.chunks - 1); // over each border
            sends(SendPattern::Line, micro * pipeline.chunks);
            sends(SendPattern::Wrap, micro * (pipeline.chunks - 1));
        } else {
            sends(SendPattern::Wrap, send.count);
        }
        if (parts > 1)
            add(times, bytesByLevel(CollectiveKind::AllGather, reach(gathered), static_cast<double>(send.bytes)));
    }

    /// Which switches sum: of what is run as a whole by such an algorithm, and between nodes also of what is run in stages.
    std::vector<SwitchSum> sums(const Collective& collective)
    {
        std::vector<SwitchSum> out(m_hardware.levels.size(), SwitchSum::None);
        const std::vector<std::size_t> used = usedLevels(m_prices.footprint(collective.axes));
        const auto is = [&](Algorithm algorithm) { return collective.algorithm == algorithmName(algorithm); };
        const std::string between = collectiveName(CollectiveKind::AllReduce) + " by " + algorithmName(Algorithm::Sharp);
        if (used.empty() || collective.kind != CollectiveKind::AllReduce)
            return out;
        if (is(Algorithm::Sharp) || collective.algorithm.find(between) != std::string::npos)
            out[used.back()] = SwitchSum::Network;
        const bool inside = is(Algorithm::Nvls) || is(Algorithm::NvlsTree)
            || (is(Algorithm::Sharp) && used.size() > 1 && m_hardware.levels[used.front()].inSwitch);
        if (inside)
            out[used.front()] = SwitchSum::Island;
        return out;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const Hardware& m_hardware;
    CollectivePrices m_prices;
    std::map<std::vector<int>, std::vector<LevelReach>> m_reach;
    std::vector<LevelTraffic> m_out;
};

} // namespace

std::vector<LevelTraffic> trafficOf(const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    return Traffic(graph, plan, hardware).all();
}

} // namespace shardboard
