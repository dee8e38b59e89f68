// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/hffamilies.h"

namespace shardboard {

void readFalcon(ConfigFields& config, ModelSpec& model)
{
    JsonFields& fields = config.json();
    const bool newBlocks = fields.flag("new_decoder_architecture", false);
    const bool parallel = fields.flag("parallel_attn", true);
    const std::int64_t norms = fields.integer("num_ln_in_parallel_attn", 1, 2, newBlocks ? 2 : 1);
    model.block.falconNames = model.block.fusedQkv = true;
    model.block.gatedMlp = false;
    model.block.parallel = parallel || (newBlocks && norms == 2);
    model.norm.kind = NormKind::LayerNorm;
    model.norm.perLayer = (newBlocks && norms == 2) || !model.block.parallel ? 2 : 1;
    model.norm.epsilon = fields.number("layer_norm_epsilon", 0, 1, 1e-5);
    const std::int64_t listed = fields.integer("num_kv_heads", 1, ConfigFields::kLargest, model.heads);
    model.kvHeads = !newBlocks && fields.flag("multi_query", true) ? 1 : listed;
    model.intermediateSize = fields.integer("ffn_hidden_size", 1, ConfigFields::kLargest, 4 * model.hiddenSize);
    if (fields.flag("bias", false)) {
        model.attentionBias = AttentionBias::Qkvo;
        model.mlpBias = true;
    }
    model.weightPrefix = "transformer.";
    if (fields.flag("alibi", false))
        model.notUnderstood = "positions by ALiBi are not understood yet";
}

} // namespace shardboard
