// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients where every device has a range of the sequence. For the result and the gradients of queries and
// sinks the keys and values of the other devices come around the ring, and a running softmax stands for those that were there
// already; for the gradients of keys and values the queries come, with the gradients of their results.
#include "engine/machine/failure.h"
#include "engine/ops/attention/attentionwork.h"
#include "engine/ops/attention/ringstates.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

using Reading = RingExchange::Reading;

bool isForKeys(OpKind kind) { return kind == OpKind::AttentionGradK || kind == OpKind::SinkAttentionGradK; }
bool isForValues(OpKind kind) { return kind == OpKind::AttentionGradV || kind == OpKind::SinkAttentionGradV; }
bool isForQueries(OpKind kind) { return kind == OpKind::AttentionGradQ || kind == OpKind::SinkAttentionGradQ; }

/// The queries of a device's ring and of the devices that have the other addends of its result are all queries, each once.
void checkQueries(const AttentionWork& work, const RingExchange& ring, const Sharded& result, std::int64_t device)
{
    std::vector<int> addends;
    for (const AxisRef& ref : result.layout().partial)
        addends.push_back(ref.axis);
    std::vector<std::pair<Range, Range>> taken; // of sequences and tokens
    std::int64_t missing = work.k.box(device)[0].size() * work.q.shape()[1];
    for (const std::int64_t addend : result.mesh().group(device, addends))
        for (const std::int64_t member : ring.ring(addend)) {
            const Box& box = work.q.box(member);
            const std::pair<Range, Range> part { box[0], box[1] };
            const std::int64_t volume = box[0].size() * box[1].size();
            if (volume == 0 || std::find(taken.begin(), taken.end(), part) != taken.end())
                continue;
            taken.push_back(part);
            missing -= volume;
        }
    if (missing > 0)
        failPlan("queries are missing in the gradients of keys and values", work.call.where);
}

/// Of every query the dot product of its gradient and its result.
Timing fillDots(Context& context, const AttentionWork& work, const RingStates& states, Sharded& out)
{
    return runHeads(context, out, headTasks(out), [&](const HeadTask& task, int) {
        ringDots(out.box(task.device)[1].size(), work.valueDim, work.own(0, task.device).rows(task.batch, task.head),
                 headRows(out, task), states.dots(task.device, task.batch, task.head));
    });
}

Timing gradientOfQueries(Context& context, const AttentionWork& work, RingExchange& ring, const RingStates& states,
                         const RingScratch& scratch, Sharded& result)
{
    Timing timing;
    const auto tasks = headTasks(result);
    for (std::int64_t hop = 0; hop < ring.hops(); ++hop) {
        ring.go(hop);
        timing += runHeads(context, result, tasks, [&](const HeadTask& task, int worker) {
            const AttentionPart q = work.own(1, task.device);
            const AttentionPart k = ring.part(task.device, 2);
            const std::int64_t kvHead = work.kvHeadOf(*q.box, *k.box, task.head);
            AttentionGradients gradients;
            gradients.dq = headRows(result, task);
            if (hop == 0)
                clearRows(gradients.dq, q.box->at(1).size(), q.box->at(3).size());
            ringBackward(work.block(*q.box, *k.box, task.head), q.rows(task.batch, task.head), k.rows(task.batch, kvHead),
                         ring.part(task.device, 3).rows(task.batch, kvHead), work.own(0, task.device).rows(task.batch, task.head),
                         states.highest(task.device, task.batch, task.head), states.sum(task.device, task.batch, task.head),
                         states.dots(task.device, task.batch, task.head), scratch.of(worker), gradients);
        });
    }
    ring.finish();
    return timing;
}

std::vector<Delivery> statesOfOwners(const Context& context, const RingExchange& ring, const RingStates& states,
                                     const Sharded& result, std::int64_t hop)
{
    std::vector<Delivery> out;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        states.need(out, context, ring.memberAt(device, hop), context.arena.deviceRanks().of(result.mesh(), device));
    return out;
}

/// The softmax's maxima and sums travel with the queries; they are so small that they are read where they are.
Timing gradientOfKeys(Context& context, const AttentionWork& work, RingExchange& ring, const RingStates& states,
                      const RingScratch& scratch, Sharded& result)
{
    Timing timing;
    const auto tasks = headTasks(result);
    for (std::int64_t hop = 0; hop < ring.hops(); ++hop) {
        ring.go(hop, statesOfOwners(context, ring, states, result, hop));
        timing += runHeads(context, result, tasks, [&](const HeadTask& task, int worker) {
            const AttentionPart dy = ring.part(task.device, 0);
            const AttentionPart q = ring.part(task.device, 1);
            const AttentionPart k = work.own(2, task.device);
            const std::int64_t owner = ring.owner(task.device);
            AttentionGradients gradients;
            const Rows out = headRows(result, task);
            (isForKeys(work.call.kind) ? gradients.dk : gradients.dv) = out;
            if (hop == 0)
                clearRows(out, result.box(task.device)[1].size(), result.box(task.device)[3].size());
            const Range heads = work.headsOf(*q.box, *k.box, task.head);
            for (std::int64_t head = heads.lo; head < heads.hi && q.box->at(1).size() > 0; ++head)
                ringBackward(work.block(*q.box, *k.box, head), q.rows(task.batch, head), k.rows(task.batch, task.head),
                             work.own(3, task.device).rows(task.batch, task.head), dy.rows(task.batch, head),
                             states.highest(owner, task.batch, head), states.sum(owner, task.batch, head),
                             states.dots(owner, task.batch, head), scratch.of(worker), gradients);
        });
    }
    ring.finish();
    return timing;
}

Timing gradientOfSinks(Context& context, const AttentionWork& work, const RingStates& states, Sharded& result)
{
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        if (result.elements(device) > 0)
            devices.push_back(device);
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int) {
        const std::int64_t device = devices[index];
        const Box& box = work.q.box(device);
        for (std::int64_t head = 0; head < result.elements(device); ++head) {
            float sum = 0;
            for (std::int64_t batch = 0; batch < box[0].size(); ++batch)
                sum += ringSinkGradient(box[1].size(), *work.sink(device, head), states.highest(device, batch, head),
                                        states.sum(device, batch, head), states.dots(device, batch, head));
            result.data(device)[head] = sum;
        }
        return 0.0;
    });
}

} // namespace

Timing executeRingAttention(Context& context, const OpCall& call, Sharded& result)
{
    const AttentionWork work(call, result);
    RingExchange ring(context, call, { work.first + 1, work.first + 2 }, Reading::Copied);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        work.checkFit(device);
        checkRing(work, ring, device);
        requireSameRows(work.q.box(device), result.box(device), call, "queries and result");
        requireWhole(result.box(device)[3], work.valueDim, call, "a value");
        context.work.flops += work.flops(device, 2);
    }
    const RingStates states(context, work.q);
    const RingScratch scratch(context, work.k);
    if (context.planning())
        return {};
    return attendRing(context, work, ring, states, scratch, result);
}

Timing executeRingAttentionGradient(Context& context, const OpCall& call, Sharded& result)
{
    const AttentionWork work(call, result);
    const bool queriesTravel = isForKeys(call.kind) || isForValues(call.kind);
    const bool forSinks = !queriesTravel && !isForQueries(call.kind);
    RingExchange ring(context, call, queriesTravel ? std::vector<std::size_t> { 0, 1 } : std::vector<std::size_t> { 2, 3 },
                      Reading::Copied);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0 && work.q.elements(device) == 0)
            continue;
        checkAttentionGradient(work, result, device);
        checkRing(work, ring, device);
        if (queriesTravel)
            checkQueries(work, ring, result, device);
        context.work.flops += work.flops(device, forSinks ? 2.0 : 4.0);
    }
    // The maxima and sums of the softmax and the results, which a trainer keeps of the forward pass, are made again here: from
    // the keys and values of the ring where they lie.
    const RingStates states(context, work.q);
    const RingScratch scratch(context, work.k);
    Sharded out(work.dy->shape(), work.dy->layout(), work.dy->mesh());
    out.allocate(context.arena);
    RingExchange kept(context, call, { 2, 3 }, Reading::InPlace);
    for (std::int64_t hop = 1; context.planning() && queriesTravel && context.team != nullptr && hop < ring.hops(); ++hop)
        ring.go(hop, statesOfOwners(context, ring, states, result, hop));
    if (context.planning())
        return {};
    Timing timing = attendRing(context, work, forSinks ? ring : kept, states, scratch, out);
    timing += fillDots(context, work, states, out);
    if (forSinks)
        timing += gradientOfSinks(context, work, states, result);
    else if (queriesTravel)
        timing += gradientOfKeys(context, work, ring, states, scratch, result);
    else
        timing += gradientOfQueries(context, work, ring, states, scratch, result);
    return timing;
}

} // namespace shardboard::engine
