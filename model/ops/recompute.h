// SPDX-License-Identifier: Apache-2.0
// What the backward pass computes again instead of keeping it from the forward pass. A value type.
#pragma once

#include "model/core/kindset.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// Parts of a layer whose results are computed again.
enum class RecomputePart {
    Cheap, ///< results of norms, activations and products of elements whose operands are there anyway
    Layer, ///< everything but what enters the layer
    Norms,
    Activations, ///< activated gates and their products
    Attention, ///< attention itself, between the heads and its output projection
    Rotation, ///< of queries and keys
    Qkv, ///< projections to queries, keys and values, or to their latent vectors
    LatentUp, ///< projections from latent vectors to heads
    Output, ///< attention's output projection
    MlpIn, ///< gate and up
    MlpOut, ///< down
    Experts, ///< routed experts: what goes to them, their products and activations
    SharedExperts,
    Residuals, ///< sums that make the residual stream
    SecondProducts, ///< every second matrix product of a layer, from the second on
};
inline constexpr std::array kRecomputeParts {
    RecomputePart::Cheap,         RecomputePart::Layer,     RecomputePart::Norms,         RecomputePart::Activations,
    RecomputePart::Attention,     RecomputePart::Rotation,  RecomputePart::Qkv,           RecomputePart::LatentUp,
    RecomputePart::Output,        RecomputePart::MlpIn,     RecomputePart::MlpOut,        RecomputePart::Experts,
    RecomputePart::SharedExperts, RecomputePart::Residuals, RecomputePart::SecondProducts
};

/// A set of parts. What is kept is what the chosen parts and the gradients read and no chosen part makes.
/// None: only the activated gate of a gated MLP is made again, which a fused kernel makes from the gate. Of a Llama layer stay
///   8h + 2q + 2(k + v) + 2o + 4 heads + 6f bytes of a token in 16 bit (performance 2.3), the 4 being attention's log-sum-exp.
/// Selective (Cheap): also the results of norms, activations and products of elements whose operands are there anyway (of a Llama
///   layer the two norms and the product in the MLP, 4h + 2f). No matrix product is repeated, and nothing that needs a collective,
///   so that what attention takes stays. Attention itself where it is unfused: its scores are what grows with the square of the
///   sequence (5as/h of arXiv 2205.05198); flash attention keeps nothing of that kind.
/// ByOp (norms, activations, rotation, residuals, every second product): TorchTitan's selective activation checkpointing by
///   operation (torchtitan/distributed/activation_checkpoint.py), which keeps attention, every other product, and reduce-scatters.
///   Of a Llama layer stay 2h (what enters) + 2q + 2v + 2o + 4 heads + 2f.
/// Full (Layer): everything of a layer but what enters it (2h), with its collectives.
class Recompute : public KindSet<RecomputePart, Recompute> {
public:
    static const Recompute None;
    static const Recompute Selective;
    static const Recompute ByOp;
    static const Recompute Full;
};

inline constexpr Recompute Recompute::None {};
inline constexpr Recompute Recompute::Selective = Recompute::None.with(RecomputePart::Cheap);
inline constexpr Recompute Recompute::ByOp = Recompute::None.with(RecomputePart::Norms)
                                                 .with(RecomputePart::Activations)
                                                 .with(RecomputePart::Rotation)
                                                 .with(RecomputePart::Residuals)
                                                 .with(RecomputePart::SecondProducts);
inline constexpr Recompute Recompute::Full = Recompute::None.with(RecomputePart::Layer);

/// none, selective, by-op, full, or a list of selective and of parts: `norms,activations,mlp-in`. `full` is all there is.
std::string recomputeName(Recompute recompute);
/// Takes any such list, and what frameworks call theirs (kRecomputeAliases). Nothing for an unknown word, an empty list, or
/// `none` or `full` beside others.
std::optional<Recompute> recomputeFromName(std::string_view name);
inline constexpr const char* kRecomputeWords = "none, selective, by-op, full, or a list of selective, norms, activations, "
                                               "attention, rotation, qkv, latent-up, output, mlp-in, "
                                               "mlp-out, experts, shared-experts, residuals and second-products";

/// What frameworks call a set of parts.
struct RecomputeAlias {
    const char* name;
    const char* parts;
    const char* source;
};
inline constexpr std::array kRecomputeAliases {
    RecomputeAlias { "by-op", "norms,activations,rotation,residuals,second-products", "TorchTitan selective, op" },
    // Megatron-Core 0.16, TransformerConfig.recompute_modules.
    RecomputeAlias { "core_attn", "attention", "Megatron-Core" },
    RecomputeAlias { "layernorm", "norms", "Megatron-Core" },
    RecomputeAlias { "moe_act", "activations", "Megatron-Core" },
    RecomputeAlias { "mla_up_proj", "latent-up,rotation", "Megatron-Core" },
    RecomputeAlias { "mlp", "mlp-in,activations,mlp-out", "Megatron-Core" },
    RecomputeAlias { "moe", "experts", "Megatron-Core" },
    RecomputeAlias { "shared_experts", "shared-experts", "Megatron-Core" },
    // MaxText, remat_policy: which products are kept; what is none is made again.
    RecomputeAlias { "minimal", "norms,activations,rotation,residuals,attention", "MaxText: products are kept" },
    RecomputeAlias { "minimal_with_context", "norms,activations,rotation,residuals", "MaxText" },
    RecomputeAlias { "save_dot_except_mlpwi", "norms,activations,rotation,residuals,attention,mlp-in", "MaxText" },
    RecomputeAlias { "save_dot_except_mlp", "norms,activations,rotation,residuals,attention,mlp-in,mlp-out", "MaxText" },
    RecomputeAlias { "save_dot_with_context_except_mlp", "norms,activations,rotation,residuals,mlp-in,mlp-out", "MaxText" },
    RecomputeAlias { "save_qkv_proj", "norms,activations,rotation,residuals,attention,output,mlp-in,mlp-out", "MaxText" },
    RecomputeAlias { "save_out_proj", "norms,activations,rotation,residuals,attention,qkv,mlp-in,mlp-out", "MaxText" },
};

} // namespace shardboard
