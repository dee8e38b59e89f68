// SPDX-License-Identifier: Apache-2.0
// The ways in which frameworks name the parameters of a model. The design's own names are those of a Hugging Face checkpoint.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

enum class NameScheme {
    HuggingFace, ///< modules of transformers 5 in memory, which fuse experts: `model.layers.*.mlp.experts.gate_up_proj`
    Flax, ///< Linen trees of transformers 4: `params/model/layers/*/self_attn/q_proj/kernel`
    Nnx, ///< flax.nnx modules named as in the checkpoint: `model/layers/*/self_attn/q_proj/kernel`
    MaxText, ///< scanned layers: `params/params/decoder/layers/self_attention/query/kernel`
    MaxTextUnscanned, ///< the same with scan_layers=false: `params/params/decoder/layers_*/self_attention/query/kernel`
    Megatron, ///< Megatron-core with Transformer Engine: `decoder.layers.*.self_attention.linear_qkv.weight`
    Vllm, ///< `model.layers.*.self_attn.qkv_proj.weight`
};

inline constexpr std::array kNameSchemes { NameScheme::HuggingFace,      NameScheme::Flax,     NameScheme::Nnx, NameScheme::MaxText,
                                           NameScheme::MaxTextUnscanned, NameScheme::Megatron, NameScheme::Vllm };

std::string nameSchemeName(NameScheme scheme); ///< huggingface, flax, nnx, maxtext, maxtext-unscanned, megatron, vllm
std::string nameSchemeTitle(NameScheme scheme); ///< as people read it: `MaxText, scanned layers`
std::optional<NameScheme> nameSchemeFromName(std::string_view name);

} // namespace shardboard
