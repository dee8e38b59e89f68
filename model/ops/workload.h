// SPDX-License-Identifier: Apache-2.0
// What the model is run on.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"
#include "model/ops/fp8recipe.h"
#include "model/ops/precision.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Prefill: `batch` sequences of `sequence` tokens each. Decode: one new token for each of `batch` sequences that
/// already hold `sequence` - 1 tokens in the KV cache (the cache has `sequence` entries with the new one). Train: a step of
/// `batch` sequences with loss, gradients and Adam.
enum class WorkloadKind { Prefill, Decode, Train };
std::string workloadName(WorkloadKind kind); ///< prefill, decode, train
std::optional<WorkloadKind> workloadFromName(std::string_view name);

/// What the backward pass computes again instead of keeping it from the forward pass.
/// None: only the activated gate of a gated MLP, which a fused kernel makes from the gate. Of a Llama layer stay
///   8h + 2q + 2(k + v) + 2o + 4 heads + 6f bytes of a token in 16 bit (performance 2.3), the 4 being attention's log-sum-exp.
/// Selective: also the results of norms, activations and products of elements whose operands are there anyway (of a Llama layer
///   the two norms and the product in the MLP, 4h + 2f). No matrix product is repeated, and nothing that needs a collective, so
///   that what attention takes stays. Attention itself where it is unfused: its scores are what grows with the square of the
///   sequence (5as/h of arXiv 2205.05198); flash attention keeps nothing of that kind.
/// ByOp: everything but attention and every second matrix product of a layer, in the order in which they run: TorchTitan's
/// selective
///   activation checkpointing by operation (torchtitan/distributed/activation_checkpoint.py). Of a Llama layer stay
///   2h (what enters) + 2q + 2v + 2o + 4 heads + 2f.
/// Full: everything of a layer but what enters it (2h), with its collectives.
enum class Recompute { None, Selective, ByOp, Full };
std::string recomputeName(Recompute recompute); ///< none, selective, by-op, full
std::optional<Recompute> recomputeFromName(std::string_view name);

/// How attention is computed: in one kernel whose scores never reach memory (arXiv 2205.14135), or as two batched matrix products
/// with softmax in between, over the whole square of scores, which are kept for the backward pass. Models of the GPT family have a
/// dropout behind it (arXiv 2205.05198: 5 bytes a score in 16 bits; what it would do to values is not modelled), those of the Llama
/// family none (2 bytes).
enum class AttentionKernel { Flash, Unfused };
std::string attentionKernelName(AttentionKernel kernel); ///< flash, unfused
std::optional<AttentionKernel> attentionKernelFromName(std::string_view name);

/// Which collectives run while the device computes, as far as the computation of the same layer and phase lasts: none; those of
/// weights and their gradients, which do not wait for the layer (FSDP fetches ahead); or all, which no framework
/// reaches: a lower bound.
enum class Overlap { None, Weights, All };
std::string overlapName(Overlap overlap); ///< none, weights, all
std::optional<Overlap> overlapFromName(std::string_view name);

/// Whose kernels compute what is no matrix product.
/// Fused: every operation reads its operands and writes its result once, attention runs in a kernel made for the device
/// (Megatron-LM
///   with Transformer Engine, XLA). Compiled: torch.compile fuses as much, but attention is FlashAttention-2, as in PyTorch's
///   scaled_dot_product_attention, and what fp8 products take is measured and cast by kernels of its own. Eager: PyTorch without a
///   compiler, where also norms, rotation and cross-entropy are one kernel for each step of their formula, in float32
///   (OpDefinition::eager).
enum class Software { Fused, Compiled, Eager };
std::string softwareName(Software software); ///< fused, compiled, eager
std::optional<Software> softwareFromName(std::string_view name);

/// Of which tokens a prefill computes logits: of the last one of each sequence, as serving needs them to go on, or of all, as
/// scoring texts does. The last layer's output is taken apart before the final norm. Decoding and training have those of all
/// tokens.
enum class Logits { All, Last };
std::string logitsName(Logits logits); ///< all, last
std::optional<Logits> logitsFromName(std::string_view name);

/// Optimizer states cut over mesh axes over which the weights are whole: each device makes the step for its part, then the weights
/// are gathered. ZeRO stage 1 (arXiv 1910.02054): gradients are summed straight into the parts, once a step. Stage 2: so are
/// those of every micro-batch, and a device keeps its part alone. (Stage 3 is in the layouts of the weights.)
struct OptimizerSharding {
    std::vector<std::string> axes; ///< names of mesh axes; those that cut a weight already are left out for it; empty: none
    bool gradients = false; ///< stage 2
    bool present() const { return !axes.empty(); }
    friend bool operator==(const OptimizerSharding&, const OptimizerSharding&) = default;
};

struct Workload {
    WorkloadKind kind = WorkloadKind::Prefill;
    std::int64_t batch = 8;
    std::int64_t sequence = 4096;
    DType dtype = DType::BF16; ///< that products are computed in; of weights and activations: storageType
    std::int64_t microBatches = 1; ///< Train: the batch goes through in so many parts; gradients are added up
    Recompute recompute = Recompute::None; ///< Train
    AttentionKernel attention = AttentionKernel::Flash;
    Overlap overlap = Overlap::None;
    OptimizerSharding optimizer {}; ///< Train
    Software software = Software::Fused;
    Logits logits = Logits::All; ///< Prefill
    Fp8Settings fp8 {}; ///< Train in f8e4m3
    Precision precision {}; ///< what is held otherwise than in storageType
    bool lastLogits() const { return kind == WorkloadKind::Prefill && logits == Logits::Last; }
    friend bool operator==(const Workload&, const Workload&) = default;
};

/// What a model can be computed in: bf16, f16, f32, f8e4m3.
const std::vector<DType>& computeTypes();

/// Of weights, activations and cache. That is the workload's dtype, but for training in f8e4m3, which keeps all of them in bf16
/// beside the optimizer's f32 copy, and casts what goes into the matrix products of the layers (not embedding, head and attention),
/// as Transformer Engine and torchao's float8 training do (arXiv 2209.05433; TorchTitan docs/float8.md). Inference in f8e4m3 counts
/// one byte for everything: engines that keep the residual stream in 16 bits take more for it.
DType storageType(const Workload& workload);

/// What of a workload a step depends on: what only training uses waits in a design while it serves.
Workload effective(Workload workload);

/// Rules: batch and sequence from 1 to 2^31; dtype one of computeTypes; the effective micro-batches divide the batch.
Status verifyWorkload(const Workload& workload, const std::string& where);

} // namespace shardboard
