// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts, apart from their matrix products.
#include "engine/cuda/launches.h"
#include "engine/ops/expertwork.h"

namespace shardboard::engine::cuda {

void launchGates(Launches& launches, const OpCall& call, Sharded& result)
{
    if (launches.planning())
        return;
    const bool gradient = call.kind == OpKind::TopKGatesGrad || call.kind == OpKind::BiasedTopKGatesGrad;
    const std::size_t logits = gradient ? 1 : 0;
    const GateRule rule = gateRuleOf(call.attributes, result.shape().back());
    GateBody body;
    body.experts = static_cast<std::int32_t>(rule.experts);
    body.k = static_cast<std::int32_t>(rule.k);
    body.groups = static_cast<std::int32_t>(rule.groups);
    body.groupsKept = static_cast<std::int32_t>(rule.groupsKept);
    body.sigmoid = rule.sigmoid ? 1 : 0;
    body.normalized = rule.renormalise ? 1 : 0;
    body.scale = static_cast<float>(rule.scale);
    Table<GateBody::Entry> table;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        GateBody::Entry entry;
        entry.logits = elementsOf(*call.operands[logits], device);
        if (call.operands.size() > logits + 1)
            entry.bias = elementsOf(*call.operands[logits + 1], device);
        if (gradient)
            entry.dGates = elementsOf(*call.operands[0], device);
        entry.out = elementsOf(result, device);
        entry.rows = result.elements(device) / rule.experts;
        table.add(entry, entry.rows);
        table.endDevice();
    }
    launches.launch(body, std::move(table));
}

void launchRoute(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(routeWork(call, result));
}

void launchCombineGradGates(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(gateDotWork(call, result));
}

void launchExpertBias(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(expertBiasWork(call, result));
}

/// For every expert the sums over its tokens.
void launchExpertBiasGrad(Launches& launches, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    Table<ColumnSumBody::Entry> sums;
    Table<ColumnTotalBody::Entry> totals;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& box = dy.box(device);
        const std::int64_t n = box[3].size();
        for (std::int64_t expert = 0; expert < result.box(device)[0].size() && result.elements(device) > 0; ++expert) {
            ColumnSumBody::Entry sum;
            sum.rows = tokensOf(box);
            sum.n = n;
            sum.partial = launches.scratch(sum.parts() * n);
            ColumnTotalBody::Entry total;
            total.partial = sum.partial;
            total.parts = sum.parts();
            total.n = n;
            if (!launches.planning()) {
                sum.dy = elementsOf(dy, device).from(expert * sum.rows * n);
                total.out = elementsOf(result, device).from(expert * n);
            }
            sums.add(sum, sum.tiles() * sum.parts());
            totals.add(total, tilesOf(n, kAll));
        }
        sums.endDevice();
        totals.endDevice();
    }
    launches.launch(ColumnSumBody {}, std::move(sums));
    launches.launch(ColumnTotalBody {}, std::move(totals));
}

} // namespace shardboard::engine::cuda
