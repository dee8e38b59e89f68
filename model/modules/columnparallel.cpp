// SPDX-License-Identifier: Apache-2.0
#include "model/modules/columnparallel.h"

#include "model/modules/linear.h"

namespace shardboard {

Status checkColumnParallel(const ColumnParallelParameters& parameters, const std::string& where)
{
    if (auto status = checkDevices(parameters.devices, where); !status.ok())
        return status;
    if (parameters.tiedWeight && parameters.hasBias)
        return refusedBy("ValueError", where + ".tied_weight", "a tied weight cannot be used together with a bias",
                         "leave out the bias, or give the layer a weight of its own");
    if (parameters.tiedWeight && parameters.scaledQuantization)
        return refusedBy("ValueError", where + ".tied_weight", "a tied weight cannot be used together with scaled quantization",
                         "leave out the scales, or give the layer a weight of its own");
    return done();
}

Result<ColumnParallelAnswer> shardColumnParallel(const ColumnParallelParameters& parameters, const std::string& where)
{
    if (auto status = checkColumnParallel(parameters, where); !status.ok())
        return status.error();
    Shape input = parameters.inputShape;
    if (input.empty())
        input = { parameters.inDim };
    if (input.back() != parameters.inDim)
        return inputError(where + ".input_shape",
                          "its last dim is " + std::to_string(input.back()) + ", but in_dim is " + std::to_string(parameters.inDim),
                          "end it with in_dim");
    LinearParameters linear;
    linear.outDim = parameters.outDim;
    linear.inDim = parameters.inDim;
    linear.hasBias = parameters.hasBias;
    linear.strategy = { plainStrategy(StrategyKind::Rowwise), parameters.devices };
    auto shards = shardLinear(linear, where);
    if (!shards.ok())
        return shards.error();
    ColumnParallelAnswer answer;
    answer.findings = std::move(shards.value().findings);
    for (const std::int64_t rows : shards.value().outDims) {
        answer.localOutputs.push_back(input);
        answer.localOutputs.back().back() = rows;
        answer.outputs.push_back(input);
        answer.outputs.back().back() = parameters.outDim;
    }
    if (parameters.outDim < parameters.devices)
        answer.findings.push_back({ "idle-devices", Severity::Warning, "weight", 0,
                                    std::to_string(parameters.devices - parameters.outDim) + " of "
                                        + std::to_string(parameters.devices)
                                        + " devices hold no row of the weight and compute nothing",
                                    "use at most " + std::to_string(parameters.outDim) + " devices" });
    answer.weights = std::move(shards.value().weights);
    if (shards.value().bias)
        answer.biases = std::move(shards.value().bias->shapes);
    return answer;
}

} // namespace shardboard
