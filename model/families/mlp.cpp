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
    if (up == kNoTensor)
        up = builder.linear(prefix + "up_proj", x, inner, builder.hiddenSide(), bias, what + " up");
    const TensorId inside = builder.activation(prefix, what, gate, up);
    return builder.linear(prefix + "down_proj", inside, builder.hiddenSide(), inner, bias, what + " out");
}

TensorId mlpPart(GraphBuilder& builder, TensorId x) { return mlpWith(builder, x, "mlp.", "mlp", builder.model().intermediateSize); }

} // namespace shardboard
