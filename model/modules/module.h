// SPDX-License-Identifier: Apache-2.0
// What the modules of MAX share: a module turns one strategy into strategies of its weights. Pure functions from typed
// parameters to typed answers; findings say what MAX does without a word. Source: max.nn (max-sharding 5.1).
#pragma once

#include "model/core/finding.h"
#include "model/core/result.h"
#include "model/core/strategy.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

inline constexpr std::int64_t kMostModuleDevices = 65536;
/// Sizes that modules take: 1 to 2^31.
inline constexpr std::int64_t kLargestModuleSize = std::int64_t { 1 } << 31;

/// Shape of a tensor's shard on each device, in device order.
using DeviceShapes = std::vector<Shape>;

/// A strategy as a module is given it: how many devices, and the strategy's own parameters. Its mesh axes are not used:
/// a module cuts over all its devices.
struct ModuleStrategy {
    Strategy strategy;
    std::int64_t devices = 1;
    StrategyKind kind() const { return strategy.kind; }
};

/// Shards of one weight of a module over `devices` devices. Errors: those of shardsOf, no devices or too many.
Result<ShardMap> moduleShards(Strategy strategy, std::int64_t devices, const Shape& shape, const std::string& where);
/// Their shapes, device by device.
DeviceShapes shapesOf(const ShardMap& shards);
Result<DeviceShapes> moduleShapes(Strategy strategy, std::int64_t devices, const Shape& shape, const std::string& where);

/// A strategy of this kind without parameters, or of a dim.
Strategy plainStrategy(StrategyKind kind, int dim = 0);
/// 1 to kMostModuleDevices. `where` is the object that holds `num_devices`.
Status checkDevices(std::int64_t devices, const std::string& where);
/// Something that MAX refuses, with the exception that it raises.
Error refusedBy(const std::string& exception, const std::string& where, const std::string& what, const std::string& fix);
/// The answer to a strategy that a module does not know.
Error unknownStrategy(const std::string& module, const ModuleStrategy& strategy, const std::string& known,
                      const std::string& where);

} // namespace shardboard
