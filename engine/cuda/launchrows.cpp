// SPDX-License-Identifier: Apache-2.0
// Operations element by element and row by row.
#include "engine/cuda/launches.h"

#include <algorithm>

namespace shardboard::engine::cuda {

void launchElementwise(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(elementwiseWork(call, result));
}

void launchNorm(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(normWork(call, result));
}

void launchNormGradient(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(normGradientWork(call, result));
}

void launchLoss(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(lossWork(call, result));
}

void launchRowSum(Launches& launches, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const bool isNorm = call.kind != OpKind::SumLeading;
    RowScaleBody scale;
    scale.rule = normRuleOf(call, result.shape().back());
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
    if (!launches.planning())
        launches.launch(moveWork(call, result));
}

void launchRope(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    RopeBody body;
    body.angles = launches.angles;
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
    if (old > 0) // made, untimed
        fillShards(launches.runtime(), *result.source, result);
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

void launchEmbeddingGrad(Launches& launches, const OpCall& call, Sharded& result)
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

void launchAdamStep(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& weight = *call.operands[0];
    AdamBody body = adamBody();
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
