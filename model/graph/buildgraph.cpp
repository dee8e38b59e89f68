// SPDX-License-Identifier: Apache-2.0
#include "model/graph/buildgraph.h"

#include "model/graph/decoder.h"
#include "model/graph/moduleblock.h"

namespace shardboard {

Result<Graph> buildGraph(const ModelSpec& model, const Workload& workload, const std::vector<std::int64_t>& splitBefore)
{
    if (model.kind == ModelKind::ColumnParallelLinear)
        return buildColumnParallelLinear(model, workload);
    return buildDecoder(model, workload, splitBefore);
}

std::string inputName(const ModelSpec& model)
{
    return model.kind == ModelKind::ColumnParallelLinear && !model.linear.tiedWeight ? "x" : "tokens";
}

} // namespace shardboard
