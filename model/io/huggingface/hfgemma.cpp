// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/hffamilies.h"

#include <cmath>

namespace shardboard {

void readGemma(ConfigFields& config, const Family& family, ModelSpec& model)
{
    JsonFields& fields = config.json();
    const bool first = std::string(family.type) == "gemma";
    const bool second = std::string(family.type) == "gemma2";
    model.norm.weightOffset = 1;
    model.norm.perLayer = first ? 2 : 4;
    model.scaling.embedding = std::sqrt(static_cast<double>(model.hiddenSize));
    if (first)
        return;
    model.qkNorm = !second;
    model.scaling.queryScalar = fields.number("query_pre_attn_scalar", 1, 1e9, 256);
    // The classes of Gemma 2 cap scores and logits unless the config says null.
    const auto cap = [&](const char* key, double usual) {
        return fields.number(key, 0, 1e9, second && !fields.holds(key) ? usual : 0);
    };
    model.scaling.attentionSoftCap = cap("attn_logit_softcapping", 50);
    model.scaling.logitSoftCap = cap("final_logit_softcapping", 30);
    if (!second)
        config.note("not-in-graph", Severity::Note,
                    "layers with a sliding window rotate with another base (rope_local_base_freq); the graph uses "
                    "rope_theta for all, which changes numbers but no shapes and no collectives");
}

} // namespace shardboard
