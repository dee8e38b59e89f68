// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/bodywork.h"

#include "engine/machine/index.h"
#include "engine/ops/expertwork.h"
#include "model/ops/opdefinition.h"

#include <cmath>

namespace shardboard::engine {

using namespace bodies;

namespace {

struct EachRule {
    Each kind = Each::Copy;
    int operands = each::Copy::kOperands;
    int touched = each::Copy::kTouched;
    double OpAttributes::*number = &OpAttributes::cap;
};

EachRule eachRuleOf(OpKind kind)
{
    switch (kind) {
#define SHARDBOARD_EACH(Kind, attribute)                                                                                           \
    case OpKind::Kind:                                                                                                             \
        return { Each::Kind, each::Kind::kOperands, each::Kind::kTouched, &OpAttributes::attribute };
        SHARDBOARD_ELEMENTWISE(SHARDBOARD_EACH)
#undef SHARDBOARD_EACH
    default:
        return {};
    }
}

/// How the second operand runs along the first: its distance for each dim of the first (0 where it is repeated).
BoxMap broadcastMap(const Box& a, const Box& b)
{
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides(a.size(), 0);
    for (const Range& range : a)
        sizes.push_back(range.size());
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < b.size(); ++i) {
        const Range& range = b[b.size() - 1 - i];
        strides[a.size() - 1 - i] = range.size() == 1 ? 0 : stride;
        stride *= range.size();
    }
    return mapOf(sizes, strides, 0);
}

/// A table of what `entryOf(device)` makes, with its items.
template <class Body, class EntryOf>
BodyWork<Body> workOf(const Body& body, const Sharded& result, std::int64_t elementsOfItem, EntryOf entryOf)
{
    BodyWork<Body> work { body, {}, elementsOfItem };
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        typename Body::Entry entry;
        const std::int64_t items = entryOf(device, entry);
        work.table.add(entry, items);
        work.table.endDevice();
    }
    return work;
}

Move moveOf(OpKind kind)
{
    switch (kind) {
    case OpKind::SliceLast:
        return Move::Slice;
    case OpKind::LastToken:
        return Move::Last;
    case OpKind::EveryOther:
        return Move::EveryOther;
    case OpKind::JoinLast:
        return Move::Join;
    case OpKind::JoinKeys:
        return Move::JoinKeys;
    case OpKind::PadLast:
        return Move::Pad;
    case OpKind::SpreadOther:
        return Move::Spread;
    default:
        return Move::SumHeads;
    }
}

Route routeOf(OpKind kind)
{
    switch (kind) {
    case OpKind::Dispatch:
        return Route::Dispatch;
    case OpKind::CombineGradY:
        return Route::CombineGradient;
    case OpKind::Combine:
        return Route::Combine;
    default:
        return Route::DispatchGradient;
    }
}

Loss lossOf(OpKind kind)
{
    switch (kind) {
    case OpKind::LogitMax:
        return Loss::Highest;
    case OpKind::SumExp:
        return Loss::Sum;
    case OpKind::TargetLogit:
        return Loss::Target;
    case OpKind::TokenLoss:
        return Loss::Token;
    default:
        return Loss::Gradient;
    }
}

} // namespace

int touchedBy(OpKind kind) { return eachRuleOf(kind).touched; }

BodyWork<EachBody> elementwiseWork(const OpCall& call, const Sharded& result)
{
    const EachRule rule = eachRuleOf(call.kind);
    EachBody body;
    body.kind = rule.kind;
    body.number = static_cast<float>(call.attributes.*rule.number);
    return workOf(body, result, kTile, [&](std::int64_t device, EachBody::Entry& entry) {
        entry.count = result.elements(device);
        entry.a = elementsOf(*call.operands[0], device);
        entry.out = elementsOf(result, device);
        if (rule.operands > 1) {
            const Box& b = call.operands[1]->box(device);
            entry.b = elementsOf(*call.operands[1], device);
            if (b != result.box(device)) {
                entry.mapped = 1;
                entry.map = broadcastMap(result.box(device), b);
            }
        }
        if (rule.operands > 2)
            entry.c = elementsOf(*call.operands[2], device);
        return tilesOf(entry.count);
    });
}

BodyWork<MoveBody> moveWork(const OpCall& call, const Sharded& result)
{
    MoveBody body;
    body.kind = moveOf(call.kind);
    body.first = call.attributes.first;
    const Sharded& a = *call.operands[0];
    return workOf(body, result, kTile, [&](std::int64_t device, MoveBody::Entry& entry) {
        const Box& box = result.box(device);
        entry.a = elementsOf(a, device);
        entry.out = elementsOf(result, device);
        entry.n = std::max<std::int64_t>(1, box.back().size());
        entry.widthA = a.box(device).back().size();
        if (body.kind == Move::Join || body.kind == Move::JoinKeys) {
            entry.b = elementsOf(*call.operands[1], device);
            entry.widthB = call.operands[1]->box(device).back().size();
        }
        entry.heads = body.kind == Move::JoinKeys ? std::max<std::int64_t>(1, box[2].size())
            : body.kind == Move::SumHeads         ? a.box(device)[2].size()
                                                  : 1;
        if (body.kind == Move::Last) { // a row is the device's part of a sequence
            const Range& tokens = a.box(device)[1];
            const bool here = tokens.size() > 0 && tokens.hi == a.shape()[1];
            entry.widthA *= tokens.size();
            entry.last = here ? entry.widthA - entry.n : -1;
        }
        entry.count = volumeOf(box);
        return tilesOf(entry.count);
    });
}

std::int64_t rotatedOf(const OpCall& call, const Sharded& result)
{
    return call.attributes.count > 0 ? call.attributes.count : result.shape()[3];
}

BodyWork<RopeBody> ropeWork(const OpCall& call, const Sharded& result, const float* angles)
{
    RopeBody body;
    body.angles = angles;
    body.width = result.shape()[3];
    body.first = call.attributes.first;
    body.d = rotatedOf(call, result);
    body.headsOfItem = std::max<std::int64_t>(1, kTile / body.width);
    body.direction = call.kind == OpKind::Rope ? 1.0f : -1.0f;
    return workOf(body, result, body.headsOfItem * body.width, [&](std::int64_t device, RopeBody::Entry& entry) {
        const Box& box = result.box(device);
        entry.x = elementsOf(*call.operands[0], device);
        entry.out = elementsOf(result, device);
        entry.rows = volumeOf(box) / body.width;
        entry.tokens = box[1].size();
        entry.heads = box[2].size();
        entry.firstToken = box[1].lo;
        return tilesOf(entry.rows, body.headsOfItem);
    });
}

BodyWork<EmbeddingBody> embeddingWork(const OpCall& call, const Sharded& result)
{
    const Sharded& table = *call.operands[1];
    EmbeddingBody body;
    body.width = table.shape()[1];
    if (table.source)
        body.made = madeOf(*table.source);
    return workOf(body, result, body.width, [&](std::int64_t device, EmbeddingBody::Entry& entry) {
        entry.tokens = elementsOf(*call.operands[0], device);
        if (table.allocated())
            entry.table = elementsOf(table, device);
        entry.out = elementsOf(result, device);
        entry.rows = rowsOf(result.box(device));
        entry.n = result.box(device).back().size();
        entry.firstId = table.box(device)[0].lo;
        entry.ids = table.box(device)[0].size();
        entry.firstColumn = table.box(device)[1].lo;
        return entry.rows;
    });
}

BodyWork<EmbeddingGradientBody> embeddingGradientWork(const OpCall& call, const Sharded& sums, std::int64_t ids,
                                                      std::int64_t columns)
{
    return workOf(EmbeddingGradientBody {}, sums, ids * columns, [&](std::int64_t device, EmbeddingGradientBody::Entry& entry) {
        entry.dy = elementsOf(*call.operands[0], device);
        entry.tokens = elementsOf(*call.operands[1], device);
        entry.sums = reinterpret_cast<float*>(sums.address(device));
        entry.rows = call.operands[1]->elements(device);
        entry.n = sums.box(device)[1].size();
        entry.firstId = sums.box(device)[0].lo;
        entry.ids = sums.box(device)[0].size();
        entry.idsOfItem = ids;
        entry.columnsOfItem = columns;
        return entry.items();
    });
}

NormRule normRuleOf(const OpCall& call, std::int64_t n)
{
    NormRule rule;
    rule.epsilon = call.attributes.epsilon;
    const bool layerNorm =
        call.kind == OpKind::LayerNorm || call.kind == OpKind::LayerNormGradX || call.kind == OpKind::LayerNormGradW;
    rule.centred = layerNorm || call.attributes.centred ? 1 : 0;
    rule.offset = layerNorm ? 0.0f : static_cast<float>(call.attributes.offset);
    rule.n = n;
    return rule;
}

BodyWork<NormBody> normWork(const OpCall& call, const Sharded& result)
{
    NormBody body;
    body.rule = normRuleOf(call, result.shape().back());
    return workOf(body, result, body.rule.n, [&](std::int64_t device, NormBody::Entry& entry) {
        entry.x = elementsOf(*call.operands[0], device);
        if (call.operands.size() > 1)
            entry.weight = elementsOf(*call.operands[1], device);
        if (call.operands.size() > 2)
            entry.bias = elementsOf(*call.operands[2], device);
        entry.out = elementsOf(result, device);
        entry.rows = result.elements(device) == 0 ? 0 : rowsOf(result.box(device));
        return entry.rows;
    });
}

BodyWork<NormGradientBody> normGradientWork(const OpCall& call, const Sharded& result)
{
    NormGradientBody body;
    body.rule = normRuleOf(call, result.shape().back());
    return workOf(body, result, body.rule.n, [&](std::int64_t device, NormGradientBody::Entry& entry) {
        entry.dy = elementsOf(*call.operands[0], device);
        entry.x = elementsOf(*call.operands[1], device);
        if (call.operands.size() > 2)
            entry.weight = elementsOf(*call.operands[2], device);
        entry.out = elementsOf(result, device);
        entry.rows = result.elements(device) == 0 ? 0 : rowsOf(result.box(device));
        return entry.rows;
    });
}

BodyWork<LossBody> lossWork(const OpCall& call, const Sharded& result)
{
    LossBody body;
    body.kind = lossOf(call.kind);
    const bool ofTokens = body.kind == Loss::Token;
    const Sharded& logits = *call.operands[0]; // of TokenLoss: the largest logits
    const Sharded& tokens = body.kind == Loss::Gradient ? *call.operands[1] : result;
    // The mean over the tokens of all micro-batches: what makes their gradients add up to that of the whole batch.
    double count = static_cast<double>(call.microBatches);
    for (const std::int64_t size : tokens.shape())
        count *= static_cast<double>(size);
    body.scale = static_cast<float>(1.0 / count);
    std::int64_t widest = 1;
    for (std::int64_t device = 0; device < result.deviceCount() && !ofTokens; ++device)
        widest = std::max(widest, logits.box(device).back().size());
    return workOf(body, result, widest, [&](std::int64_t device, LossBody::Entry& entry) {
        const auto operand = [&](std::size_t i) {
            return i < call.operands.size() ? elementsOf(*call.operands[i], device) : Elements {};
        };
        entry.logits = operand(0);
        entry.first = operand(ofTokens ? 0 : 1);
        entry.second = operand(ofTokens ? 1 : 2);
        entry.third = operand(ofTokens ? 2 : 3);
        entry.out = elementsOf(result, device);
        entry.rows = tokens.elements(device);
        if (!ofTokens) {
            entry.n = logits.box(device).back().size();
            entry.firstColumn = logits.box(device).back().lo;
        }
        return entry.rows;
    });
}

BodyWork<GateBody> gateWork(const OpCall& call, const Sharded& result)
{
    const OpAttributes& attributes = call.attributes;
    const std::size_t logits = static_cast<std::size_t>(definitionOf(call.kind).chosenFrom);
    GateBody body;
    body.experts = static_cast<std::int32_t>(result.shape().back());
    body.k = static_cast<std::int32_t>(attributes.chosen);
    body.groups = std::max(1, static_cast<std::int32_t>(attributes.groups));
    body.groupsKept = std::max(1, static_cast<std::int32_t>(attributes.chosenGroups));
    body.sigmoid = attributes.sigmoid ? 1 : 0;
    body.normalized = attributes.normalized ? 1 : 0;
    body.scale = attributes.scale;
    constexpr std::int64_t kPerExpert = 16; // it takes so much longer than to copy one
    return workOf(body, result, kPerExpert * body.experts, [&](std::int64_t device, GateBody::Entry& entry) {
        entry.logits = elementsOf(*call.operands[logits], device);
        if (call.operands.size() > logits + 1)
            entry.bias = elementsOf(*call.operands[logits + 1], device);
        if (logits > 0)
            entry.dGates = elementsOf(*call.operands[0], device);
        entry.out = elementsOf(result, device);
        entry.rows = result.elements(device) / std::max<std::int64_t>(1, body.experts);
        return entry.rows;
    });
}

BodyWork<RouteBody> routeWork(const OpCall& call, const Sharded& result)
{
    RouteBody body;
    body.kind = routeOf(call.kind);
    const bool spreads = body.kind == Route::Dispatch || body.kind == Route::CombineGradient;
    return workOf(body, result, kTile, [&](std::int64_t device, RouteBody::Entry& entry) {
        const Box& box = spreads ? result.box(device) : call.operands[0]->box(device); // [experts, batch, sequence, n]
        entry.x = elementsOf(*call.operands[0], device);
        entry.gates = elementsOf(*call.operands[1], device);
        entry.out = elementsOf(result, device);
        entry.experts = box[0].size();
        entry.rows = tokensOf(box);
        entry.n = box[3].size();
        entry.count = result.elements(device);
        return tilesOf(entry.count);
    });
}

BodyWork<GateDotBody> gateDotWork(const OpCall& call, const Sharded& result)
{
    return workOf(GateDotBody {}, result, call.operands[1]->shape().back(), [&](std::int64_t device, GateDotBody::Entry& entry) {
        const Box& box = call.operands[1]->box(device);
        entry.dy = elementsOf(*call.operands[0], device);
        entry.y = elementsOf(*call.operands[1], device);
        entry.out = elementsOf(result, device);
        entry.experts = box[0].size();
        entry.rows = tokensOf(box);
        entry.n = box[3].size();
        return result.elements(device);
    });
}

BodyWork<ExpertBiasBody> expertBiasWork(const OpCall& call, const Sharded& result)
{
    return workOf(ExpertBiasBody {}, result, result.shape().back(), [&](std::int64_t device, ExpertBiasBody::Entry& entry) {
        const Box& box = result.box(device);
        entry.x = elementsOf(*call.operands[0], device);
        entry.bias = elementsOf(*call.operands[1], device);
        entry.out = elementsOf(result, device);
        entry.experts = box[0].size();
        entry.rows = tokensOf(box);
        entry.n = box[3].size();
        return entry.rows * entry.experts;
    });
}

namespace {

/// The three bodies, entry by entry.
class RowSums {
public:
    explicit RowSums(std::int64_t sumsOfItem)
    {
        work.sums.body.sumsOfItem = sumsOfItem;
        work.sums.elementsOfItem = sumsOfItem * kSumRowsAtOnce;
        work.totals.elementsOfItem = kAll * kSumRowsAtOnce;
    }

    void add(const ColumnSumBody::Entry& sum, const Elements& out)
    {
        work.sums.table.add(sum, tilesOf(sum.parts() * sum.n, work.sums.body.sumsOfItem));
        ColumnTotalBody::Entry total;
        total.partial = sum.partial;
        total.out = out;
        total.parts = sum.parts();
        total.n = sum.n;
        work.totals.table.add(total, tilesOf(sum.n, kAll));
    }
    void endDevice()
    {
        work.scales.table.endDevice();
        work.sums.table.endDevice();
        work.totals.table.endDevice();
    }

    RowSumWork work;
};

} // namespace

RowSumWork rowSumWork(const OpCall& call, const Sharded& result, std::int64_t sumsOfItem, const RowSumRoom& room)
{
    const Sharded& dy = *call.operands[0];
    RowSums out(sumsOfItem);
    out.work.scales.body.rule = normRuleOf(call, result.shape().back());
    out.work.scales.elementsOfItem = result.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        ColumnSumBody::Entry sum;
        sum.n = result.elements(device);
        sum.rows = sum.n == 0 ? 0 : dy.elements(device) / sum.n;
        const bool scaled = call.kind != OpKind::SumLeading;
        float* const scales = scaled ? room.take(device, 2 * sum.rows) : nullptr;
        sum.partial = room.take(device, sum.parts() * sum.n);
        if (room.planning)
            continue;
        sum.dy = elementsOf(dy, device);
        if (scaled) {
            RowScaleBody::Entry scale;
            scale.x = sum.x = elementsOf(*call.operands[1], device);
            sum.scales = scale.scales = scales;
            scale.rows = sum.rows;
            out.work.scales.table.add(scale, scale.rows);
        }
        out.add(sum, elementsOf(result, device));
        out.endDevice();
    }
    return std::move(out.work);
}

/// For every expert over its tokens.
RowSumWork expertBiasGradWork(const OpCall& call, const Sharded& result, std::int64_t sumsOfItem, const RowSumRoom& room)
{
    const Sharded& dy = *call.operands[0];
    RowSums out(sumsOfItem);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& box = dy.box(device);
        const std::int64_t experts = result.elements(device) > 0 ? result.box(device)[0].size() : 0;
        ColumnSumBody::Entry sum;
        sum.n = box[3].size();
        sum.rows = tokensOf(box);
        const std::int64_t ofExpert = Context::scratchStride(sum.parts() * sum.n); // where vectors may begin
        float* const partial = room.take(device, experts * ofExpert);
        if (room.planning)
            continue;
        for (std::int64_t expert = 0; expert < experts; ++expert) {
            sum.dy = elementsOf(dy, device).from(expert * sum.rows * sum.n);
            sum.partial = partial + expert * ofExpert;
            out.add(sum, elementsOf(result, device).from(expert * sum.n));
        }
        out.endDevice();
    }
    return std::move(out.work);
}

namespace {

/// All works of a device in one task, one after the other.
template <class... Works>
Timing runOnDevices(Context& context, const Sharded& result, Works... works)
{
    ((works.body.entries = works.table.entries.data()), ...);
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        if (result.elements(device) > 0)
            devices.push_back(device);
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int) {
        const auto run = [device = devices[index]](const auto& work) {
            for (std::int64_t entry = work.table.first[at(device)]; entry < work.table.first[at(device + 1)]; ++entry)
                runItems(work.body, entry, 0, work.table.itemsOf[at(entry)]);
        };
        (run(works), ...);
        return 0.0;
    });
}

} // namespace

Timing runRowSum(Context& context, const OpCall& call, Sharded& result, decltype(rowSumWork)* workOf)
{
    std::vector<Block> blocks;
    // Where the shard is, because processes that share the reference share its sums, too.
    const auto take = [&](std::int64_t device, std::int64_t floats) {
        const int rank = context.arena.deviceRanks().of(result.mesh(), device);
        blocks.push_back(context.arena.allocateOn(rank, floats * static_cast<std::int64_t>(sizeof(float))));
        return reinterpret_cast<float*>(blocks.back().memory(rank));
    };
    const RowSumWork work = workOf(call, result, kTile, { take, context.planning() });
    if (context.planning())
        return {};
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        most = std::max(most, call.operands[0]->elements(device));
    if (most <= kPieceElements) // handing out would take longer
        return runOnDevices(context, result, work.scales, work.sums, work.totals);
    Timing timing;
    if (!work.scales.table.entries.empty())
        timing += runBody(context, result, work.scales);
    timing += runBody(context, result, work.sums);
    timing += runBody(context, result, work.totals);
    return timing;
}

AdamBody adamBody(OpKind step)
{
    AdamBody body;
    if (step == OpKind::SgdStep) { // the first moment is the gradient, and nothing divides it
        body.newM = 1;
        body.epsilon = 1;
        body.rate = static_cast<float>(kSgdRate);
        body.keepW = 1;
        return body;
    }
    body.newM = static_cast<float>(1 - kAdam.beta1);
    body.newV = static_cast<float>(1 - kAdam.beta2);
    body.correctV = static_cast<float>(1 / std::sqrt(1 - kAdam.beta2));
    body.epsilon = static_cast<float>(kAdam.epsilon);
    body.rate = static_cast<float>(kAdam.rate * (1 / (1 - kAdam.beta1)));
    body.keepW = static_cast<float>(1 - kAdam.rate * kAdam.weightDecay);
    return body;
}

} // namespace shardboard::engine
