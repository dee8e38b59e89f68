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
    launches.launch(rowSumWork(call, result, kAll, launches.room()));
}

void launchMove(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(moveWork(call, result));
}

void launchRope(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(ropeWork(call, result, launches.angles));
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
    if (!launches.planning())
        launches.launch(embeddingWork(call, result));
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
    launches.launch(embeddingGradientWork(call, sums, std::max<std::int64_t>(1, result.shape()[0]), kWarp));
    if (&sums != &result)
        launches.convert(sums, result);
}

void launchAdamStep(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const Sharded& weight = *call.operands[0];
    AdamBody body = adamBody(call.kind);
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
