// SPDX-License-Identifier: Apache-2.0
// From the `quantization_config` of a config.json to how weights are stored. Sources: the configuration classes of transformers 5
// (utils/quantization_config.py), compressed-tensors (config.json of the format) and the layouts that vLLM loads
// (model_executor/layers/quantization).
#pragma once

#include "model/families/modelspec.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace shardboard {

struct Quantization {
    std::string method; ///< `gptq`, as the config calls it
    std::string text; ///< `gptq, 4 bits in groups of 128`
    /// By names of a graph, in which layers are `*`. Empty where the format is not known.
    std::vector<PackedWeights> packed;
    std::vector<std::string> remarks; ///< what is not followed
};

/// `layers` is what stands before the names of a layer's parts, `model.layers.*.`. What is of another kind than it should be counts
/// as absent: the config was read by others before.
Quantization readQuantization(const nlohmann::json& config, const std::string& layers, std::int64_t layerCount);

/// The names that a packed weight has in the files: `x.qweight` for `x.weight`. Empty: the tensor is what belongs to one (scales,
/// zero points), or no part of a packed weight at all.
std::string packedWeightOf(const std::string& stored);

} // namespace shardboard
