// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/callplan.h"
#include "engine/machine/index.h"

#include "model/text/contains.h"

#include <algorithm>
#include <map>

namespace shardboard::engine::nccl {

namespace {

/// Mesh axes over which the step sums.
std::vector<int> summedAxes(const ReshardStep& step)
{
    std::vector<int> axes;
    for (const AxisRef& ref : step.before.partial)
        if (!contains(step.after.partial, ref))
            axes.push_back(ref.axis);
    return axes;
}

bool sameAxes(std::vector<int> a, std::vector<int> b)
{
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
}

Call localCopy(const Box& region, BufferOffset from, const Box& fromBox, BufferOffset to, const Box& toBox,
               Combine combine = Combine::Copy)
{
    Call call;
    call.from = from;
    call.to = to;
    call.region = region;
    call.fromBox = fromBox;
    call.toBox = toBox;
    call.combine = combine;
    return call;
}

/// Whether the parts lie one after the other in a row-major buffer of `whole`, in this order.
bool followEachOther(const Box& whole, const std::vector<Box>& parts)
{
    std::int64_t offset = 0;
    for (const Box& part : parts) {
        bool first = true;
        bool runs = false;
        forEachRun(whole, part, [&](std::int64_t begin, std::int64_t length) {
            runs = first && begin == offset && length == volumeOf(part);
            first = false;
        });
        if (!runs)
            return false;
        offset += volumeOf(part);
    }
    return offset == volumeOf(whole);
}

class Planner {
public:
    Planner(const ReshardStep& step, const Sharded& before, const Sharded& after, const std::string& where)
        : m_step(step)
        , m_before(before)
        , m_after(after)
        , m_where(where)
        , m_combine(step.before.op == ReduceOp::Max ? Combine::Max : Combine::Add)
    {
        m_plan.ranks.resize(at(before.deviceCount()));
    }

    StepPlan take()
    {
        for (std::int64_t rank = 0; rank < m_after.deviceCount(); ++rank)
            m_transfers.push_back(transfersOf(m_step, m_before, m_after, rank, m_where)); // also the check of the step
        const std::vector<int> summed = summedAxes(m_step);
        bool done = false;
        if (m_step.kind != CollectiveKind::LocalSlice && !summed.empty() && sameAxes(summed, m_step.axes))
            done = allReduce() || reduceScatter() || reduces();
        else if (m_step.kind != CollectiveKind::LocalSlice && summed.empty())
            done = allGather();
        if (!done)
            sends();
        return std::move(m_plan);
    }

private:
    int communicator()
    {
        if (m_plan.communicators.empty())
            m_plan.communicators.push_back(communicatorOf(m_before.mesh(), m_step.axes));
        return 0;
    }
    std::vector<std::int64_t> groupOf(std::int64_t rank) const { return m_before.mesh().group(rank, m_step.axes); }
    std::vector<Call>& callsOf(std::int64_t rank) { return m_plan.ranks[at(rank)].calls; }
    Call collective(What what, std::int64_t count, BufferOffset from, BufferOffset to)
    {
        Call call;
        call.what = what;
        call.communicator = communicator();
        call.count = count;
        call.op = m_step.before.op;
        call.from = from;
        call.to = to;
        return call;
    }
    template <class Test>
    bool everyRank(Test test) const
    {
        for (std::int64_t rank = 0; rank < m_before.deviceCount(); ++rank)
            if (!test(rank))
                return false;
        return true;
    }
    std::vector<Box> boxesOf(const Sharded& tensor, const std::vector<std::int64_t>& ranks) const
    {
        std::vector<Box> boxes;
        for (const std::int64_t rank : ranks)
            boxes.push_back(tensor.box(rank));
        return boxes;
    }
    bool alike(const Sharded& tensor) const
    {
        return everyRank([&](std::int64_t rank) { return tensor.box(rank) == tensor.box(groupOf(rank).front()); });
    }
    bool equalParts(const Sharded& tensor) const
    {
        return everyRank([&](std::int64_t rank) {
            return tensor.elements(rank) > 0 && tensor.elements(rank) == tensor.elements(groupOf(rank).front());
        });
    }

    bool allReduce()
    {
        if (!everyRank([&](std::int64_t rank) { return m_before.box(rank) == m_after.box(rank); }) || !alike(m_before))
            return false;
        for (std::int64_t rank = 0; rank < m_before.deviceCount(); ++rank)
            if (m_before.elements(rank) > 0)
                callsOf(rank).push_back(
                    collective(What::AllReduce, m_before.elements(rank), { Buffer::Before, 0 }, { Buffer::After, 0 }));
        return true;
    }

    /// All parts of a group are parts of what each member holds before, and cover it.
    bool cutsEvenly(const Sharded& whole, const Sharded& parts) const
    {
        return everyRank([&](std::int64_t rank) {
            std::int64_t volume = 0;
            for (const std::int64_t member : groupOf(rank)) {
                if (intersection(whole.box(rank), parts.box(member)) != parts.box(member) && parts.elements(member) > 0)
                    return false;
                volume += parts.elements(member);
            }
            return volume == whole.elements(rank);
        });
    }

    bool reduceScatter()
    {
        if (!alike(m_before) || !cutsEvenly(m_before, m_after) || !equalParts(m_after))
            return false;
        for (std::int64_t rank = 0; rank < m_before.deviceCount(); ++rank) {
            const auto group = groupOf(rank);
            const Box& whole = m_before.box(rank);
            BufferOffset from { Buffer::Before, 0 };
            if (!followEachOther(whole, boxesOf(m_after, group))) {
                std::int64_t offset = 0;
                for (const std::int64_t member : group) {
                    const Box& part = m_after.box(member);
                    callsOf(rank).push_back(localCopy(part, { Buffer::Before, 0 }, whole, { Buffer::Staging, offset }, part));
                    offset += volumeOf(part);
                }
                m_plan.ranks[at(rank)].staging = offset;
                from.buffer = Buffer::Staging;
            }
            callsOf(rank).push_back(collective(What::ReduceScatter, m_after.elements(rank), from, { Buffer::After, 0 }));
        }
        return true;
    }

    /// Parts of different sizes: each is reduced to the rank that gets it, all in one group of calls.
    bool reduces()
    {
        if (!alike(m_before) || !cutsEvenly(m_before, m_after))
            return false;
        for (std::int64_t rank = 0; rank < m_before.deviceCount(); ++rank) {
            const auto group = groupOf(rank);
            const Box& whole = m_before.box(rank);
            std::vector<Call> calls;
            Call bracket;
            bracket.what = What::GroupStart;
            calls.push_back(bracket);
            std::int64_t offset = 0;
            for (std::size_t i = 0; i < group.size(); ++i) {
                const Box& part = m_after.box(group[i]);
                if (volumeOf(part) == 0)
                    continue;
                callsOf(rank).push_back(localCopy(part, { Buffer::Before, 0 }, whole, { Buffer::Staging, offset }, part));
                Call call = collective(What::Reduce, volumeOf(part), { Buffer::Staging, offset }, { Buffer::After, 0 });
                call.peer = static_cast<int>(i);
                calls.push_back(call);
                offset += volumeOf(part);
            }
            bracket.what = What::GroupEnd;
            calls.push_back(bracket);
            m_plan.ranks[at(rank)].staging = offset;
            if (offset > 0)
                callsOf(rank).insert(callsOf(rank).end(), calls.begin(), calls.end());
        }
        return true;
    }

    bool allGather()
    {
        if (!alike(m_after) || !cutsEvenly(m_after, m_before) || !equalParts(m_before))
            return false;
        for (std::int64_t rank = 0; rank < m_before.deviceCount(); ++rank) {
            const auto group = groupOf(rank);
            const Box& whole = m_after.box(rank);
            const bool direct = followEachOther(whole, boxesOf(m_before, group));
            const std::int64_t count = m_before.elements(rank);
            callsOf(rank).push_back(
                collective(What::AllGather, count, { Buffer::Before, 0 }, { direct ? Buffer::After : Buffer::Staging, 0 }));
            if (direct)
                continue;
            m_plan.ranks[at(rank)].staging = count * static_cast<std::int64_t>(group.size());
            for (std::size_t i = 0; i < group.size(); ++i) {
                const Box& part = m_before.box(group[i]);
                callsOf(rank).push_back(
                    localCopy(part, { Buffer::Staging, static_cast<std::int64_t>(i) * count }, part, { Buffer::After, 0 }, whole));
            }
        }
        return true;
    }

    /// Every region is sent on its own: packed, all sends and receives in one group, and put where it belongs in the order of the
    /// addends.
    void sends()
    {
        std::vector<std::vector<Call>> grouped(m_plan.ranks.size());
        std::vector<std::vector<Call>> after(m_plan.ranks.size());
        for (std::int64_t rank = 0; rank < m_after.deviceCount(); ++rank) {
            const auto group = groupOf(rank);
            const auto keyIn = [&](std::int64_t member) {
                return static_cast<int>(std::find(group.begin(), group.end(), member) - group.begin());
            };
            for (const Transfer& transfer : m_transfers[at(rank)]) {
                if (volumeOf(transfer.region) == 0)
                    continue;
                const Combine combine = transfer.add ? m_combine : Combine::Copy;
                const Box& source = m_before.box(transfer.from);
                if (transfer.from == rank) {
                    after[at(rank)].push_back(localCopy(transfer.region, { Buffer::Before, 0 }, source, { Buffer::After, 0 },
                                                        m_after.box(rank), combine));
                    continue;
                }
                const std::int64_t count = volumeOf(transfer.region);
                RankPlan& sender = m_plan.ranks[at(transfer.from)];
                RankPlan& receiver = m_plan.ranks[at(rank)];
                const BufferOffset packed { Buffer::Staging, sender.staging };
                sender.staging += count;
                const BufferOffset arrived { Buffer::Staging, receiver.staging };
                receiver.staging += count;
                sender.calls.push_back(localCopy(transfer.region, { Buffer::Before, 0 }, source, packed, transfer.region));
                Call send = collective(What::Send, count, packed, {});
                send.peer = keyIn(rank);
                grouped[at(transfer.from)].push_back(send);
                Call receive = collective(What::Receive, count, {}, arrived);
                receive.peer = keyIn(transfer.from);
                grouped[at(rank)].push_back(receive);
                after[at(rank)].push_back(
                    localCopy(transfer.region, arrived, transfer.region, { Buffer::After, 0 }, m_after.box(rank), combine));
            }
        }
        for (std::size_t rank = 0; rank < m_plan.ranks.size(); ++rank) {
            std::vector<Call>& calls = m_plan.ranks[rank].calls;
            if (!grouped[rank].empty()) {
                Call bracket;
                bracket.what = What::GroupStart;
                calls.push_back(bracket);
                calls.insert(calls.end(), grouped[rank].begin(), grouped[rank].end());
                bracket.what = What::GroupEnd;
                calls.push_back(bracket);
            }
            calls.insert(calls.end(), after[rank].begin(), after[rank].end());
        }
    }

    const ReshardStep& m_step;
    const Sharded& m_before;
    const Sharded& m_after;
    const std::string& m_where;
    Combine m_combine;
    std::vector<std::vector<Transfer>> m_transfers;
    StepPlan m_plan;
};

} // namespace

Communicator communicatorOf(const Mesh& mesh, const std::vector<int>& axes)
{
    Communicator out;
    out.axes = axes;
    std::map<std::vector<std::int64_t>, int> colors;
    for (std::int64_t rank = 0; rank < mesh.deviceCount(); ++rank) {
        auto group = mesh.group(rank, axes);
        const auto [entry, isNew] = colors.emplace(group, static_cast<int>(out.groups.size()));
        if (isNew)
            out.groups.push_back(group);
        out.color.push_back(entry->second);
        out.key.push_back(static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin()));
    }
    return out;
}

StepPlan planStep(const ReshardStep& step, const Sharded& before, const Sharded& after, const std::string& where)
{
    return Planner(step, before, after, where).take();
}

} // namespace shardboard::engine::nccl
