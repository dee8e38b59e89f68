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
    if (model.block.gatedMlp)
        gate = builder.linear(prefix + "gate_proj", x, inner, builder.hiddenSide(), bias, what + " gate");
    const TensorId up = builder.linear(prefix + (model.block.falconNames ? "dense_h_to_4h" : "up_proj"), x, inner,
                                       builder.hiddenSide(), bias, what + " up");
    const TensorId inside = builder.activation(prefix, what, gate, up);
    return builder.linear(prefix + (model.block.falconNames ? "dense_4h_to_h" : "down_proj"), inside, builder.hiddenSide(), inner,
                          bias, what + " out");
}

TensorId mlpPart(GraphBuilder& builder, TensorId x) { return mlpWith(builder, x, "mlp.", "mlp", builder.model().intermediateSize); }

} // namespace shardboard
