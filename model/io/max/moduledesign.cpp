// SPDX-License-Identifier: Apache-2.0
#include "model/io/max/moduledesign.h"

#include "model/core/checked.h"
#include "model/design/presets/presets.h"
#include "model/io/max/moduleparameters.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

/// [..., sequence, in]: all dims before the sequence are batch.
Result<Workload> workloadOf(const ColumnParallelParameters& layer, const std::string& where)
{
    const Shape& shape = layer.inputShape;
    Workload workload;
    workload.dtype = layer.dtype;
    workload.sequence = shape.size() >= 3 ? shape[shape.size() - 2] : 1;
    const std::size_t batchDims = shape.size() >= 3 ? shape.size() - 2 : shape.empty() ? 0 : shape.size() - 1;
    const auto batch = checkedProduct(std::span(shape).first(batchDims));
    if (!batch || *batch < 1 || workload.sequence < 1)
        return inputError(where + ".input_shape", "an input of " + shapeText(shape) + " cannot be run", "use sizes of at least 1");
    workload.batch = *batch;
    if (auto status = verifyWorkload(workload, where); !status.ok())
        return status.error();
    return workload;
}

} // namespace

Result<Design> moduleDesign(const nlohmann::json& request, const std::string& file)
{
    static const nlohmann::json kNone = nlohmann::json::object();
    JsonFields top(request, file, "");
    const std::string module = top.text("module");
    const nlohmann::json* params = top.find("params");
    if (top.error())
        return *top.error();
    if (lowered(module) != "columnparallellinear")
        return inputError(top.place("module"), "there are no designs of " + module + " alone",
                          "ColumnParallelLinear can be opened");
    ModuleParameters from(params ? *params : kNone, file);
    const ColumnParallelParameters layer = from.columnParallel();
    if (from.error())
        return *from.error();
    if (const auto answer = shardColumnParallel(layer, from.where()); !answer.ok())
        return answer.error();
    if (layer.scaledQuantization)
        return inputError(from.where() + ".scaled_quantization", "a design cannot hold scales yet", "leave it out");
    Design design;
    const auto mesh = Mesh::make({ { "model", layer.devices } }, {}, from.where());
    const auto workload = workloadOf(layer, from.where());
    if (!mesh.ok())
        return mesh.error();
    if (!workload.ok())
        return workload.error();
    design.mesh = mesh.value();
    design.workload = workload.value();
    design.model = columnParallelModel({ layer.inDim, layer.outDim, layer.hasBias, layer.tiedWeight }, layer.dtype);
    std::vector<std::string> notes; // the batch is whole on a mesh of one axis
    auto strategies = presetStrategies("megatron-tp", design.mesh, design.model, design.workload, notes);
    if (!strategies.ok())
        return strategies.error();
    design.strategies = std::move(strategies).value();
    return design;
}

} // namespace shardboard
