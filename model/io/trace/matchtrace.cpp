// SPDX-License-Identifier: Apache-2.0
#include "model/io/trace/matchtrace.h"

#include "model/io/trace/collectivenames.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <array>
#include <set>
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
        findGroups();
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
            if (const Collective& planned = m_plan.collectives[i]; planned.isCall() && planned.count > 0
                && !m_out.nanoseconds.contains(CollectiveId(i)) && !m_inGroups.contains(CollectiveId(i)))
                m_out.unseen.push_back(CollectiveId(i));
        return std::move(m_out);
    }

private:
    /// What a layer moves of its weights, or of their gradients, over the same axes.
    struct Group {
        std::vector<CollectiveId> members;
        std::int64_t bytes = 0;
        std::int64_t elements = 0;
    };

    bool isOfWeight(const Collective& planned) const
    {
        if (planned.tensor == kNoTensor)
            return false;
        const GraphTensor& entry = m_graph.entry(planned.tensor);
        const TensorId of = entry.gradientOf != kNoTensor ? entry.gradientOf : entry.addendOf;
        const auto isWeight = [&](TensorId tensor) { return m_graph.tensor(tensor).role == TensorRole::Weight; };
        return isWeight(planned.tensor) || (of != kNoTensor && isWeight(of));
    }

    void findGroups()
    {
        // Of a layer; and of what is in no layer, which is the root's call.
        constexpr int kRoot = -1;
        std::map<std::tuple<CollectiveKind, int, int, std::vector<int>>, Group> groups;
        for (std::size_t i = 0; i < m_plan.collectives.size(); ++i) {
            const Collective& planned = m_plan.collectives[i];
            if (planned.kind == CollectiveKind::LocalSlice || planned.count <= 0 || !isOfWeight(planned))
                continue;
            const PlannedSegment& segment = m_plan.segment(planned.plannedSegment);
            for (const int part :
                 { planned.plannedSegment.number(), segment.count == 1 ? kRoot : planned.plannedSegment.number() }) {
                Group& group = groups[{ planned.kind, static_cast<int>(segment.phase), part, planned.axes }];
                if (!group.members.empty() && group.members.back() == CollectiveId(i))
                    continue; // the same part
                group.members.push_back(CollectiveId(i));
                group.bytes += planned.bytes;
                group.elements += elementsOf(planned);
            }
        }
        for (auto& [key, group] : groups)
            if (group.members.size() > 1)
                m_groups.push_back(std::move(group));
    }

    /// As `find` takes one that the plan has apart.
    CollectiveId findGroup(const TraceCollective& collective)
    {
        std::vector<CollectiveId> left;
        for (const Group& group : m_groups) {
            const Collective& first = m_plan.collective(group.members.front());
            const bool packed = collective.elements == collective.bytes;
            const bool same =
                collective.elements > 0 && !packed ? group.elements == collective.elements : group.bytes == collective.bytes;
            if (first.kind == collective.kind && same && (collective.groupSize == 0 || collective.groupSize == first.groupSize)
                && (collective.ranks.empty() || isGroup(collective.ranks, first)))
                left.push_back(group.members.front());
        }
        if (left.empty())
            return {};
        const CollectiveId out = inTurn(left, collective);
        for (const Group& group : m_groups)
            if (group.members.front() == out
                && (collective.elements == 0 || collective.elements == collective.bytes ? group.bytes == collective.bytes
                                                                                        : group.elements == collective.elements)) {
                m_out.together[out] = group.members;
                m_inGroups.insert(group.members.begin(), group.members.end());
            }
        return out;
    }

    static constexpr std::uint32_t kAllLanes = 0xffffffff;
    CollectiveId inTurn(const std::vector<CollectiveId>& left, const TraceCollective& collective)
    {
        return inTurn(left, m_trace.slices[collective.slice].lane);
    }
    CollectiveId inTurn(const std::vector<CollectiveId>& left, std::uint32_t lane)
    {
        auto& used = m_used[lane];
        const auto best = std::ranges::min_element(left, {}, [&](CollectiveId id) {
            const std::int64_t wanted = m_plan.collective(id).count;
            return std::tuple(used[id] / wanted, static_cast<double>(used[id]) / static_cast<double>(wanted));
        });
        ++used[*best];
        return *best;
    }

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
        const bool alone = sameBytes || std::ranges::any_of(left, sameCount) || std::ranges::any_of(left, [&](CollectiveId id) {
                               return collective.elements > 0 && hasElements(m_plan.collective(id), collective.elements);
                           });
        if (!alone && (collective.elements > 0 || collective.bytes > 0))
            if (const CollectiveId group = findGroup(collective); group.valid())
                return group;
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
        if (collective.elements > 0 || collective.bytes > 0 || left.size() == 1)
            return inTurn(left, collective);
        ++m_out.inTurn;
        // XLA's operations have a name each, which is the same on all devices, whatever threads play them.
        const TraceSlice& slice = m_trace.slices[collective.slice];
        const auto named = collectiveOfSlice(m_trace.nameOf(slice), {});
        if (!named || named->source != CollectiveSource::Hlo)
            return inTurn(left, collective);
        const auto [known, isNew] = m_byName.emplace(slice.name, CollectiveId {});
        if (isNew)
            known->second = inTurn(left, kAllLanes);
        return known->second;
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
    std::map<std::uint32_t, CollectiveId> m_byName; ///< by index of the name: operations of XLA
    std::vector<Group> m_groups;
    std::set<CollectiveId> m_inGroups; ///< of those that were seen
    TraceMatch m_out;
};

} // namespace

double TraceMatch::secondsOf(const Plan& plan, CollectiveId id) const
{
    const auto group = together.find(id);
    if (group == together.end())
        return plan.collective(id).seconds;
    double out = 0;
    for (const CollectiveId member : group->second)
        out += plan.collective(member).seconds;
    return out;
}

std::vector<std::string> TraceMatch::notes() const
{
    std::vector<std::string> out;
    if (inTurn > 0)
        out.push_back("the trace tells no size of " + counted(inTurn, "collective")
                      + ": of those of a kind in the plan each was taken in turn, so that its time may be another one's");
    if (!together.empty())
        out.push_back(
            "calls that move the weights or gradients of a whole layer: they stand for all of its collectives, under the name "
            "of the first");
    return out;
}

TraceMatch matchTrace(const Trace& trace, const Graph& graph, const Plan& plan) { return Matcher(trace, graph, plan).match(); }

} // namespace shardboard
