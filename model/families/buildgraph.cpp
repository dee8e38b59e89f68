// SPDX-License-Identifier: Apache-2.0
#include "model/families/buildgraph.h"

#include "model/families/decoder.h"
#include "model/families/moduleblock.h"
#include "model/ops/differentiate.h"

namespace shardboard {

Result<Graph> buildGraph(const ModelSpec& model, const Workload& workload, const std::vector<std::int64_t>& splitBefore,
                         const std::optional<std::vector<Range>>& recomputed, bool toEnd)
{
    if (model.kind == ModelKind::ColumnParallelLinear)
        return workload.kind == WorkloadKind::Train
            ? Result<Graph>(inputError("workload", "a single module has no loss to train with", "use prefill or decode"))
            : buildColumnParallelLinear(model, workload);
    auto forward = buildDecoder(model, workload, splitBefore);
    if (!forward.ok() || workload.kind != WorkloadKind::Train)
        return forward;
    const Recomputing recomputing { workload.recompute, recomputed, toEnd };
    for (const Segment& segment : forward.value().segments)
        if (segment.isLayer && recomputing.of(segment) == Recompute::None) // these layers keep their scores
            for (const OpId id : segment.ops)
                forward.value().ops[id].attributes.scoresAgain = false;
    return differentiated(std::move(forward).value(), recomputing, workload.optimizer.present(), workload.rule);
}

std::string inputName(const ModelSpec& model)
{
    return model.kind == ModelKind::ColumnParallelLinear && !model.linear.tiedWeight ? "x" : "tokens";
}

} // namespace shardboard
