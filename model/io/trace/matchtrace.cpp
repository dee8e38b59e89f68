// SPDX-License-Identifier: Apache-2.0
#include "model/io/trace/matchtrace.h"

#include "model/text/numbers.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace shardboard {

namespace {

class Matcher {
public:
    Matcher(const Trace& trace, const Graph& graph, const Plan& plan)
        : m_trace(trace)
        , m_graph(graph)
        , m_plan(plan)
    {
        for (std::size_t i = 0; i < plan.collectives.size(); ++i)
            if (const Collective& collective = plan.collectives[i];
                collective.kind != CollectiveKind::LocalSlice && collective.count > 0)
                m_byKind[static_cast<std::size_t>(collective.kind)].push_back(CollectiveId(i));
    }

    TraceMatch match()
    {
        m_out.planned.reserve(m_trace.collectives.size());
        for (const TraceCollective& collective : m_trace.collectives) {
            const CollectiveId found = find(collective);
            m_out.planned.push_back(found);
            if (!found.valid())
                continue;
            ++m_out.matched;
            m_out.nanoseconds[found].push_back(m_trace.slices[collective.slice].duration);
        }
        for (std::size_t i = 0; i < m_plan.collectives.size(); ++i)
            if (const Collective& planned = m_plan.collectives[i];
                planned.isCall() && planned.count > 0 && !m_out.nanoseconds.contains(CollectiveId(i)))
                m_out.unseen.push_back(CollectiveId(i));
        return std::move(m_out);
    }

private:
    /// The one of those alike that was seen least by what the plan wants; on every lane by itself, because each rank has them all.
    CollectiveId find(const TraceCollective& collective)
    {
        std::vector<CollectiveId> left = m_byKind[static_cast<std::size_t>(collective.kind)];
        const auto keep = [&](auto holds, const std::string& reason) {
            if (left.empty())
                return;
            std::erase_if(left, [&](CollectiveId id) { return !holds(m_plan.collective(id)); });
            if (left.empty())
                ++m_out.unmatched[reason];
        };
        const std::string kind = collectiveName(collective.kind);
        if (left.empty())
            ++m_out.unmatched["the plan has no " + kind];
        if (collective.groupSize > 0)
            keep([&](const Collective& planned) { return planned.groupSize == collective.groupSize; },
                 "the plan has no " + kind + " in groups of " + std::to_string(collective.groupSize));
        if (!collective.ranks.empty())
            keep([&](const Collective& planned) { return isGroup(collective.ranks, planned); },
                 "the plan has no " + kind + " among these ranks");
        const auto sameSize = [&](CollectiveId id) { return m_plan.collective(id).bytes == collective.bytes; };
        // Single bytes are what something else was packed into.
        const bool packed = collective.elements == collective.bytes;
        const auto sameCount = [&](CollectiveId id) { return !packed && elementsOf(m_plan.collective(id)) == collective.elements; };
        const bool sameBytes = std::ranges::any_of(left, sameSize);
        if (collective.elements > 0 && std::ranges::any_of(left, sameCount)) {
            std::erase_if(left, [&](CollectiveId id) { return !sameCount(id); });
            if (std::ranges::any_of(left, sameSize))
                std::erase_if(left, [&](CollectiveId id) { return !sameSize(id); });
        } else if (collective.bytes > 0 && (sameBytes || collective.elements == 0)) {
            keep([&](const Collective& planned) { return planned.bytes == collective.bytes; },
                 "the plan has no " + kind + " of " + countText(collective.bytes) + " bytes");
        } else if (collective.elements > 0) {
            keep([&](const Collective& planned) { return hasElements(planned, collective.elements); },
                 "the plan has no " + kind + " of " + countText(collective.elements) + " elements");
        }
        if (left.empty())
            return {};
        auto& used = m_used[m_trace.slices[collective.slice].lane];
        const auto best = std::ranges::min_element(left, {}, [&](CollectiveId id) {
            const std::int64_t wanted = m_plan.collective(id).count;
            return std::tuple(used[id] / wanted, static_cast<double>(used[id]) / static_cast<double>(wanted));
        });
        ++used[*best];
        return *best;
    }

    /// In the type in which the plan moves it; 0: not known.
    std::int64_t elementsOf(const Collective& planned) const
    {
        if (planned.tensor == kNoTensor)
            return 0;
        const GraphTensor& entry = m_graph.entry(planned.tensor);
        const TensorId of = entry.gradientOf != kNoTensor ? entry.gradientOf : entry.addendOf;
        const auto isWeight = [&](TensorId tensor) { return m_graph.tensor(tensor).role == TensorRole::Weight; };
        DType type = entry.spec.dtype;
        if (isWeight(planned.tensor))
            type = m_plan.held.gathered;
        else if (of != kNoTensor && isWeight(of))
            type = m_plan.held.reductions;
        return planned.bytes * 8 / bitsOf(type);
    }

    /// In one of the types in which the plan moves values, weights, and gradients.
    bool hasElements(const Collective& planned, std::int64_t elements) const
    {
        if (planned.tensor == kNoTensor)
            return false;
        const auto types = { m_graph.tensor(planned.tensor).dtype, m_plan.held.gathered, m_plan.held.reductions };
        return std::ranges::any_of(types, [&](DType type) { return planned.bytes * 8 == elements * bitsOf(type); });
    }

    bool isGroup(std::vector<std::int64_t> ranks, const Collective& planned) const
    {
        const std::int64_t first = ranks.front();
        if (first < 0 || first >= m_plan.mesh.deviceCount())
            return false;
        std::vector<std::int64_t> group = m_plan.mesh.group(first, planned.axes);
        std::ranges::sort(group);
        std::ranges::sort(ranks);
        return group == ranks;
    }

    const Trace& m_trace;
    const Graph& m_graph;
    const Plan& m_plan;
    std::array<std::vector<CollectiveId>, kCollectiveKinds> m_byKind;
    std::map<std::uint32_t, std::map<CollectiveId, std::int64_t>> m_used; ///< by lane
    TraceMatch m_out;
};

} // namespace

TraceMatch matchTrace(const Trace& trace, const Graph& graph, const Plan& plan) { return Matcher(trace, graph, plan).match(); }

} // namespace shardboard
