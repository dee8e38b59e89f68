// SPDX-License-Identifier: Apache-2.0
// The dense MLP.
#include "model/families/graphbuilder.h"

namespace shardboard {

TensorId mlpWith(GraphBuilder& builder, TensorId x, const std::string& prefix, const std::string& what, std::int64_t width)
{
    const ModelSpec& model = builder.model();
    const bool bias = model.mlpBias;
    const GraphBuilder::Side inner { width, "intermediate", "mlp" };
    TensorId gate = kNoTensor;
    TensorId up = kNoTensor;
    if (model.block.joinedGateUp && model.block.partsApart) {
        const auto half = [&](const char* letter, std::int64_t first) {
            return builder.linear(prefix + "gate_up_proj", x, inner, builder.hiddenSide(), bias, what + " " + letter,
                                  { letter, first });
        };
        gate = half("gate", 0);
        up = half("up", width);
    } else if (model.block.joinedGateUp) {
        const TensorId both = builder.linear(prefix + "gate_up_proj", x, { 2 * width, "gate, then up", "mlp" },
                                             builder.hiddenSide(), bias, what + " gate and up");
        gate = builder.slice(prefix + "gate_slice", both, 0, width, "intermediate", what + " gate");
        up = builder.slice(prefix + "up_slice", both, width, width, "intermediate", what + " up");
    } else if (model.block.gatedMlp) {
        gate = builder.linear(prefix + "gate_proj", x, inner, builder.hiddenSide(), bias, what + " gate");
    }
    // One family may have MLPs with and without a gate, and other names in each (T5).
    const bool single = !model.block.gatedMlp && model.names.contains(prefix + "single_proj");
    if (up == kNoTensor)
        up = builder.linear(prefix + (single ? "single_proj" : "up_proj"), x, inner, builder.hiddenSide(), bias, what + " up");
    TensorId inside = builder.activation(prefix, what, gate, up);
    if (model.block.innerNorms)
        inside = builder.rmsNorm(prefix + "ffn_sub_norm", inside, "intermediate", what + " hidden normed");
    return builder.linear(prefix + "down_proj", inside, builder.hiddenSide(), inner, bias, what + " out");
}

TensorId mlpPart(GraphBuilder& builder, TensorId x) { return mlpWith(builder, x, "mlp.", "mlp", builder.model().intermediateSize); }

} // namespace shardboard
