// SPDX-License-Identifier: Apache-2.0
// Operations element by element and row by row.
#include "engine/cuda/launches.h"

#include "engine/ops/kernels/optimizer.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine::cuda {

namespace {

Each eachKind(OpKind kind)
{
    switch (kind) {
    case OpKind::Add:
        return Each::Add;
    case OpKind::Mul:
        return Each::Mul;
    case OpKind::Silu:
        return Each::Silu;
    case OpKind::Gelu:
        return Each::Gelu;
    case OpKind::GeluTanh:
        return Each::GeluTanh;
    case OpKind::Scale:
        return Each::Scale;
    case OpKind::SoftCap:
        return Each::SoftCap;
    case OpKind::ClampedSwiglu:
        return Each::ClampedSwiglu;
    case OpKind::SiluGrad:
        return Each::SiluGrad;
    case OpKind::GeluGrad:
        return Each::GeluGrad;
    case OpKind::GeluTanhGrad:
        return Each::GeluTanhGrad;
    case OpKind::SoftCapGrad:
        return Each::SoftCapGrad;
    case OpKind::ClampedSwigluGradGate:
        return Each::ClampedSwigluGradGate;
    case OpKind::ClampedSwigluGradUp:
        return Each::ClampedSwigluGradUp;
    default:
        return Each::Copy; // Output and what only gives the same elements another shape
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

NormRule ruleOf(const OpCall& call, std::int64_t n)
{
    NormRule rule;
    rule.epsilon = static_cast<float>(call.attributes.epsilon);
    rule.offset = static_cast<float>(call.attributes.offset);
    rule.centred =
        call.kind == OpKind::LayerNorm || call.kind == OpKind::LayerNormGradX || call.kind == OpKind::LayerNormGradW ? 1 : 0;
    if (rule.centred != 0)
        rule.offset = 0;
    rule.n = n;
    return rule;
}

} // namespace

void launchElementwise(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    EachBody body;
    body.kind = eachKind(call.kind);
    body.number = static_cast<float>(call.kind == OpKind::Scale ? call.attributes.scale : call.attributes.cap);
    Table<EachBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        EachBody::Entry entry;
        entry.count = result.elements(device);
        entry.a = elementsOf(*call.operands[0], device);
        entry.out = elementsOf(result, device);
        if (body.kind != Each::Copy && call.operands.size() > 1) {
            const Sharded& b = *call.operands[1];
            entry.b = elementsOf(b, device);
            if ((body.kind == Each::Add || body.kind == Each::Mul) && b.box(device) != result.box(device)) {
                entry.mapped = 1;
                entry.map = broadcastMap(result.box(device), b.box(device));
            }
        }
        if (body.kind != Each::Copy && call.operands.size() > 2)
            entry.c = elementsOf(*call.operands[2], device);
        table.add(entry, tilesOf(entry.count));
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

void launchNorm(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const NormRule rule = ruleOf(call, result.shape().back());
    if (call.kind == OpKind::RmsNorm || call.kind == OpKind::LayerNorm) {
        NormBody body;
        body.rule = rule;
        Table<NormBody::Entry> table;
        for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
            NormBody::Entry entry;
            entry.x = elementsOf(*call.operands[0], device);
            entry.weight = elementsOf(*call.operands[1], device);
            if (call.operands.size() > 2)
                entry.bias = elementsOf(*call.operands[2], device);
            entry.out = elementsOf(result, device);
            entry.rows = rowsOf(result.box(device));
            table.add(entry, entry.rows);
            table.endDevice();
        }
        return launches.launch(body, std::move(table));
    }
    NormGradientBody body;
    body.rule = rule;
    Table<NormGradientBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        NormGradientBody::Entry entry;
        entry.dy = elementsOf(*call.operands[0], device);
        entry.x = elementsOf(*call.operands[1], device);
        entry.weight = elementsOf(*call.operands[2], device);
        entry.out = elementsOf(result, device);
        entry.rows = rowsOf(result.box(device));
        table.add(entry, entry.rows);
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

void launchRowSum(Launches& launches, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const bool isNorm = call.kind != OpKind::SumLeading;
    RowScaleBody scale;
    scale.rule = ruleOf(call, result.shape().back());
    Table<RowScaleBody::Entry> scales;
    Table<ColumnSumBody::Entry> sums;
    Table<ColumnTotalBody::Entry> totals;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const std::int64_t n = result.elements(device);
        const std::int64_t rows = n == 0 ? 0 : dy.elements(device) / n;
        ColumnSumBody::Entry sum;
        sum.rows = rows;
        sum.n = n;
        if (isNorm) {
            RowScaleBody::Entry entry;
            entry.scales = launches.scratch(2 * rows);
            entry.rows = rows;
            sum.scales = entry.scales;
            if (!launches.planning())
                sum.x = entry.x = elementsOf(*call.operands[1], device);
            scales.add(entry, rows);
        }
        sum.partial = launches.scratch(sum.parts() * n);
        ColumnTotalBody::Entry total;
        total.partial = sum.partial;
        total.parts = sum.parts();
        total.n = n;
        if (!launches.planning()) {
            sum.dy = elementsOf(dy, device);
            total.out = elementsOf(result, device);
        }
        sums.add(sum, sum.tiles() * sum.parts());
        totals.add(total, tilesOf(n, kAll));
        scales.endDevice();
        sums.endDevice();
        totals.endDevice();
    }
    launches.launch(scale, std::move(scales));
    launches.launch(ColumnSumBody {}, std::move(sums));
    launches.launch(ColumnTotalBody {}, std::move(totals));
}

void launchMove(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& a = *call.operands[0];
    MoveBody body;
    body.first = call.attributes.first;
    switch (call.kind) {
    case OpKind::SliceLast:
        body.kind = Move::Slice;
        break;
    case OpKind::EveryOther:
        body.kind = Move::EveryOther;
        break;
    case OpKind::JoinLast:
        body.kind = Move::Join;
        break;
    case OpKind::JoinKeys:
        body.kind = Move::JoinKeys;
        break;
    case OpKind::PadLast:
        body.kind = Move::Pad;
        break;
    case OpKind::SpreadOther:
        body.kind = Move::Spread;
        break;
    default:
        body.kind = Move::SumHeads;
        break;
    }
    Table<MoveBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        MoveBody::Entry entry;
        const Box& box = result.box(device);
        entry.a = elementsOf(a, device);
        entry.out = elementsOf(result, device);
        entry.n = std::max<std::int64_t>(1, box.back().size());
        entry.rows = rowsOf(box);
        entry.widthA = a.box(device).back().size();
        if (call.operands.size() > 1 && (body.kind == Move::Join || body.kind == Move::JoinKeys)) {
            entry.b = elementsOf(*call.operands[1], device);
            entry.widthB = call.operands[1]->box(device).back().size();
        }
        entry.heads = body.kind == Move::JoinKeys ? std::max<std::int64_t>(1, box[2].size())
            : body.kind == Move::SumHeads         ? a.box(device)[2].size()
                                                  : 1;
        entry.count = volumeOf(box);
        table.add(entry, tilesOf(entry.count));
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

void launchRope(Launches& launches, const OpCall& call, Sharded& result, const float* angles)
{
    if (launches.planning())
        return;
    RopeBody body;
    body.angles = angles;
    body.width = result.shape()[3];
    body.first = call.attributes.first;
    body.d = call.attributes.count > 0 ? call.attributes.count : body.width;
    body.direction = call.kind == OpKind::Rope ? 1.0f : -1.0f;
    Table<RopeBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& box = result.box(device);
        RopeBody::Entry entry;
        entry.x = elementsOf(*call.operands[0], device);
        entry.out = elementsOf(result, device);
        entry.count = volumeOf(box);
        entry.tokens = box[1].size();
        entry.heads = box[2].size();
        entry.firstToken = box[1].lo;
        table.add(entry, tilesOf(entry.count));
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

void launchKvAppend(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& x = *call.operands[0];
    const std::int64_t old = result.shape()[1] - x.shape()[1];
    Table<EachBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& from = x.box(device);
        const Box& to = result.box(device);
        const std::int64_t unit = to[2].size() * to[3].size();
        const std::int64_t first = std::max(to[1].lo, old);
        for (std::int64_t batch = 0; batch < to[0].size() && first < to[1].hi && unit > 0; ++batch) {
            EachBody::Entry entry;
            entry.a = elementsOf(x, device).from((batch * from[1].size() + first - old - from[1].lo) * unit);
            entry.out = elementsOf(result, device).from((batch * to[1].size() + first - to[1].lo) * unit);
            entry.count = (to[1].hi - first) * unit;
            table.add(entry, tilesOf(entry.count));
        }
        table.endDevice();
    }
    launches.launch(EachBody {}, std::move(table));
}

void launchEmbedding(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& tokens = *call.operands[0];
    const Sharded& table = *call.operands[1];
    EmbeddingBody body;
    body.width = table.shape()[1];
    if (table.source)
        body.made = madeOf(*table.source);
    Table<EmbeddingBody::Entry> entries;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        EmbeddingBody::Entry entry;
        entry.tokens = elementsOf(tokens, device);
        if (table.allocated())
            entry.table = elementsOf(table, device);
        entry.out = elementsOf(result, device);
        entry.rows = rowsOf(result.box(device));
        entry.n = result.box(device).back().size();
        entry.firstId = table.box(device)[0].lo;
        entry.ids = table.box(device)[0].size();
        entry.firstColumn = table.box(device)[1].lo;
        entries.add(entry, entry.rows);
        entries.endDevice();
    }
    launches.launch(body, std::move(entries));
}

void launchEmbeddingGradient(Launches& launches, const OpCall& call, Sharded& result)
{
    Sharded& sums = result.element() == Element::F32 ? result : launches.like(result, Element::F32);
    if (launches.planning())
        return;
    launches.step([&launches, &sums](std::int64_t first, std::int64_t devices) {
        for (std::int64_t device = first; device < first + devices; ++device)
            if (sums.elements(device) > 0)
                launches.runtime().set(sums.address(device), 0, sums.elements(device) * bytesOf(Element::F32));
    });
    Table<EmbeddingGradientBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        EmbeddingGradientBody::Entry entry;
        entry.dy = elementsOf(*call.operands[0], device);
        entry.tokens = elementsOf(*call.operands[1], device);
        entry.sums = reinterpret_cast<float*>(sums.address(device));
        entry.rows = call.operands[1]->elements(device);
        entry.n = result.box(device)[1].size();
        entry.firstId = result.box(device)[0].lo;
        entry.ids = result.box(device)[0].size();
        table.add(entry, tilesOf(entry.n, kWarp));
        table.endDevice();
    }
    launches.launch(EmbeddingGradientBody {}, std::move(table));
    if (&sums != &result)
        launches.convert(sums, result);
}

void launchLoss(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& logits = *call.operands[0];
    const bool ofTokens = call.kind == OpKind::TokenLoss;
    const Sharded& tokens = call.kind == OpKind::LogitGrad ? *call.operands[1] : result;
    LossBody body;
    body.kind = call.kind == OpKind::LogitMax ? Loss::Highest
        : call.kind == OpKind::SumExp         ? Loss::Sum
        : call.kind == OpKind::TargetLogit    ? Loss::Target
        : ofTokens                            ? Loss::Token
                                              : Loss::Gradient;
    double count = static_cast<double>(call.microBatches);
    for (const std::int64_t size : tokens.shape())
        count *= static_cast<double>(size);
    body.scale = static_cast<float>(1.0 / count);
    Table<LossBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        LossBody::Entry entry;
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
        table.add(entry, entry.rows);
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

void launchAdam(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& weight = *call.operands[0];
    const AdamSettings& adam = kAdam;
    AdamBody body;
    body.f.newM = static_cast<float>(1 - adam.beta1);
    body.f.newV = static_cast<float>(1 - adam.beta2);
    body.f.correctV = static_cast<float>(1 / std::sqrt(1 - adam.beta2));
    body.f.epsilon = static_cast<float>(adam.epsilon);
    body.f.rate = static_cast<float>(adam.rate / (1 - adam.beta1));
    body.f.keepW = static_cast<float>(1 - adam.rate * adam.weightDecay);
    if (weight.source)
        body.made = madeOf(*weight.source);
    Table<AdamBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        AdamBody::Entry entry;
        if (weight.allocated())
            entry.weight = elementsOf(weight, device);
        entry.gradient = elementsOf(*call.operands[1], device);
        entry.out = elementsOf(result, device);
        entry.map = mapOf(result.box(device), result.shape());
        entry.count = result.elements(device);
        table.add(entry, tilesOf(entry.count));
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

} // namespace shardboard::engine::cuda
