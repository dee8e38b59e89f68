// SPDX-License-Identifier: Apache-2.0
#include "model/modules/mlp.h"

namespace shardboard {

Result<MlpAnswer> shardMlp(const MlpParameters& parameters, const std::string& where)
{
    const ModuleStrategy& from = parameters.strategy;
    const bool parallel = from.kind() == StrategyKind::TensorParallel;
    if (!parallel && from.kind() != StrategyKind::Replicate)
        return unknownStrategy("MLP", from, "replicate or tensor_parallel", where);
    const Strategy into = plainStrategy(parallel ? StrategyKind::Rowwise : StrategyKind::Replicate);
    const Strategy outOf = plainStrategy(parallel ? StrategyKind::Columnwise : StrategyKind::Replicate);
    auto gate = moduleShapes(into, from.devices, { parameters.feedForward, parameters.hidden }, where);
    auto down = moduleShapes(outOf, from.devices, { parameters.hidden, parameters.feedForward }, where);
    for (const auto* shapes : { &gate, &down })
        if (!shapes->ok())
            return shapes->error();
    MlpAnswer answer { gate.value(), gate.value(), std::move(down).value(), {} };
    if (parallel && parameters.feedForward < from.devices)
        answer.findings.push_back({ "idle-devices", Severity::Warning, "gate_proj", 0,
                                    std::to_string(from.devices - parameters.feedForward) + " of " + std::to_string(from.devices)
                                        + " devices hold no row of gate and up and compute nothing",
                                    "use at most " + std::to_string(parameters.feedForward) + " devices" });
    return answer;
}

} // namespace shardboard
