// SPDX-License-Identifier: Apache-2.0
#include "model/modules/module.h"

namespace shardboard {

Result<ShardMap> moduleShards(Strategy strategy, std::int64_t devices, const Shape& shape, const std::string& where)
{
    if (auto status = checkDevices(devices, where); !status.ok())
        return status.error();
    auto mesh = Mesh::make({ { "device", devices } }, {}, where);
    if (!mesh.ok())
        return mesh.error();
    strategy.axes = { "device" };
    return shardsOf(strategy, shape, mesh.value(), CutRule::Balanced, where);
}

DeviceShapes shapesOf(const ShardMap& shards)
{
    DeviceShapes shapes;
    for (std::int64_t position = 0; position < shards.mesh().deviceCount(); ++position)
        shapes.push_back(shards.shardAt(position).shape());
    return shapes;
}

Result<DeviceShapes> moduleShapes(Strategy strategy, std::int64_t devices, const Shape& shape, const std::string& where)
{
    const auto shards = moduleShards(std::move(strategy), devices, shape, where);
    if (!shards.ok())
        return shards.error();
    return shapesOf(shards.value());
}

Strategy plainStrategy(StrategyKind kind, int dim)
{
    Strategy strategy;
    strategy.kind = kind;
    strategy.dim = dim;
    return strategy;
}

Status checkDevices(std::int64_t devices, const std::string& where)
{
    if (devices < 1)
        return refusedBy("ValueError", where + ".num_devices", "there are no devices to shard over", "give at least one");
    if (devices > kMostModuleDevices)
        return inputError(where + ".num_devices", std::to_string(devices) + " devices are too many for one module",
                          "use 1 to " + std::to_string(kMostModuleDevices));
    return done();
}

Error refusedBy(const std::string& exception, const std::string& where, const std::string& what, const std::string& fix)
{
    return inputError(where, what + " (MAX raises " + exception + ")", fix);
}

Error unknownStrategy(const std::string& module, const ModuleStrategy& strategy, const std::string& known, const std::string& where)
{
    return refusedBy("ValueError", where + ".strategy", module + " has no strategy " + strategyKindName(strategy.kind()),
                     "use " + known);
}

} // namespace shardboard
