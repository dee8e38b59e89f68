// SPDX-License-Identifier: Apache-2.0
// Linear (y = x Wt + b, weight [out, in]) under a strategy: its weight, its bias, its quantisation scales, and the
// out_dim that every shard records.
#pragma once

#include "model/modules/module.h"

#include <optional>

namespace shardboard {

/// Scales of a quantised weight: one, one for each row, or one for each block of rows x columns.
struct LinearScales {
    enum class Kind { Tensor, Row, Block };
    Kind kind = Kind::Tensor;
    std::int64_t blockRows = 128;
    std::int64_t blockColumns = 128;
};

struct LinearParameters {
    std::int64_t outDim = 0;
    std::int64_t inDim = 0;
    bool hasBias = false;
    std::optional<LinearScales> scales;
    ModuleStrategy strategy;
};

/// What becomes of the bias of a Linear.
struct LinearBias {
    StrategyKind strategy = StrategyKind::Replicate;
    std::vector<bool> kept; ///< by device: whether it adds the bias
    DeviceShapes shapes;
};

struct LinearScaleShards {
    Strategy strategy;
    Shape shape; ///< of the whole; no dims for one scale
    DeviceShapes shapes;
};

struct LinearAnswer {
    DeviceShapes weights;
    std::vector<std::int64_t> outDims; ///< rows that a device really holds
    std::int64_t recordedOutDim = 0; ///< what MAX writes into every shard: rounded down
    std::optional<LinearBias> bias;
    std::optional<LinearScaleShards> scales;
    std::vector<Finding> findings;
};

/// Errors: a strategy that the weight refuses; block scales that do not divide (ValueError in MAX). `where` is the
/// object that holds the parameters; errors name its keys (`where.num_devices`).
Result<LinearAnswer> shardLinear(const LinearParameters& parameters, const std::string& where);

/// The bias alone: the strategy's own parameters (heads, dim) may be missing.
Result<LinearBias> shardLinearBias(const LinearParameters& parameters, const std::string& where, std::vector<Finding>& findings);

/// The scales alone. Errors as above.
Result<LinearScaleShards> shardLinearScales(const LinearParameters& parameters, const std::string& where,
                                            std::vector<Finding>& findings);

} // namespace shardboard
