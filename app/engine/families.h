// SPDX-License-Identifier: Apache-2.0
// A tiny model of every family: sizes that divide by little.
#pragma once

#include "model/families/modelspec.h"

#include <string>
#include <vector>

namespace shardboard::conformance {

inline std::vector<std::string> familyNames()
{
    return { "llama",  "mixtral",   "qwen3_moe", "deepseek_v2", "deepseek_v3", "gpt_oss", "gemma",       "gemma2",    "gemma3_text",
             "falcon", "falcon-7b", "olmo2",     "phi3",        "phi3-parts",  "cohere",  "llama4_text", "granitemoe" };
}

inline void addExperts(ModelSpec& model, std::int64_t experts, std::int64_t chosen, std::int64_t width)
{
    model.moe.experts = experts;
    model.moe.chosen = chosen;
    model.moe.intermediateSize = width;
    model.moe.normalizedGates = true;
}

inline void addLatentAttention(ModelSpec& model, std::int64_t queryRank)
{
    model.mla = { queryRank, 14, 6, 4, 5 };
    model.headDim = 10;
    model.kvHeads = model.heads;
}

inline ModelSpec familyModel(const std::string& family)
{
    ModelSpec model;
    model.name = "tiny " + family;
    model.family = family;
    model.source = "builtin:tiny";
    model.vocabSize = 61;
    model.hiddenSize = 36;
    model.intermediateSize = 50;
    model.layers = 2;
    model.heads = 6;
    model.kvHeads = 3;
    model.headDim = 8;
    if (family == "mixtral") {
        addExperts(model, 6, 2, 20);
        model.moe.storage = ExpertStorage::Mixtral;
    } else if (family == "qwen3_moe") {
        addExperts(model, 8, 3, 14);
        model.qkNorm = true;
    } else if (family == "deepseek_v2") {
        addExperts(model, 8, 3, 12);
        addLatentAttention(model, 0);
        model.moe.normalizedGates = false;
        model.moe.gateScale = 4;
        model.moe.groups = 4;
        model.moe.chosenGroups = 2;
        model.moe.sharedExperts = 2;
        model.moe.firstDense = 1;
    } else if (family == "deepseek_v3") {
        addExperts(model, 8, 3, 12);
        addLatentAttention(model, 10);
        model.moe.score = RouterScore::Sigmoid;
        model.moe.correctionBias = true;
        model.moe.gateScale = 2.5;
        model.moe.groups = 2;
        model.moe.sharedExperts = 1;
        model.moe.firstDense = 1;
        model.layers = 3;
    } else if (family == "gpt_oss") {
        addExperts(model, 6, 2, 18);
        model.moe.storage = ExpertStorage::Packed;
        model.moe.routerBias = model.moe.expertBias = true;
        model.attentionSinks = true;
        model.attentionBias = AttentionBias::Qkvo;
        model.scaling.swigluLimit = 1.5;
    } else if (family.starts_with("gemma")) {
        model.tiedEmbeddings = true;
        model.activation = "gelu_tanh";
        model.norm.weightOffset = 1;
        model.norm.perLayer = family == "gemma" ? 2 : 4;
        model.scaling.embedding = 6;
        model.qkNorm = family == "gemma3_text";
        if (family != "gemma")
            model.scaling.queryScalar = 12;
        if (family == "gemma2") {
            model.scaling.attentionSoftCap = 2;
            model.scaling.logitSoftCap = 3;
        }
    } else if (family.starts_with("falcon")) {
        model.block.parallel = model.block.fusedQkv = true;
        model.block.gatedMlp = false;
        model.names = { { "embed_tokens", "word_embeddings" },
                        { "layers", "h" },
                        { "norm", "ln_f" },
                        { "self_attn.qkv_proj", "self_attention.query_key_value" },
                        { "self_attn.o_proj", "self_attention.dense" },
                        { "mlp.up_proj", "mlp.dense_h_to_4h" },
                        { "mlp.down_proj", "mlp.dense_4h_to_h" } };
        model.activation = "gelu";
        model.norm.kind = NormKind::LayerNorm;
        model.norm.perLayer = family == "falcon" ? 2 : 1;
        model.kvHeads = family == "falcon" ? 2 : 1;
        model.weightPrefix = "transformer.";
        if (family != "falcon") {
            model.attentionBias = AttentionBias::Qkvo;
            model.mlpBias = true;
        }
    }
    if (family == "olmo2") {
        model.norm.after = model.qkNorm = model.wideQkNorm = true;
        model.rotaryDim = 4;
        model.block.gatedMlp = false;
        model.activation = "relu";
    } else if (family.starts_with("phi3")) {
        model.block.joinedQkv = model.block.joinedGateUp = model.headBias = true;
        model.block.partsApart = family != "phi3";
        model.attentionBias = AttentionBias::Qkvo;
        model.rotaryDim = 6;
    } else if (family == "cohere") {
        model.block.parallel = model.tiedEmbeddings = true;
        model.norm.kind = NormKind::LayerNorm;
        model.norm.bias = false;
        model.norm.perLayer = 1;
        model.scaling.logits = 0.25;
    } else if (family == "llama4_text") {
        addExperts(model, 6, 1, 14);
        model.layers = 3;
        model.moe.score = RouterScore::Sigmoid;
        model.moe.normalizedGates = false;
        model.moe.storage = ExpertStorage::JoinedT;
        model.moe.sharedExperts = 1;
        model.moe.sharedWidth = 10;
        model.moe.sharedGate = true;
        model.moe.firstDense = 1;
        model.moe.every = 2;
    } else if (family == "granitemoe") {
        addExperts(model, 6, 2, 14);
        model.moe.storage = ExpertStorage::Joined;
        model.scaling.residual = 0.5;
        model.scaling.logits = 0.25;
        model.scaling.embedding = 3;
        model.names = { { "mlp.gate", "block_sparse_moe.router.layer" } };
    }
    return model;
}

} // namespace shardboard::conformance
