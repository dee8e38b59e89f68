// SPDX-License-Identifier: Apache-2.0
// What the model is run on.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"
#include "model/ops/fp8recipe.h"
#include "model/ops/offload.h"
#include "model/ops/optimizer.h"
#include "model/ops/overlap.h"
#include "model/ops/precision.h"
#include "model/ops/recompute.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Prefill: `batch` sequences of `sequence` tokens each. Decode: one new token for each of `batch` sequences that
/// already hold `sequence` - 1 tokens in the KV cache (the cache has `sequence` entries with the new one). Train: a step of
/// `batch` sequences with loss, gradients and the optimizer's step.
enum class WorkloadKind { Prefill, Decode, Train };
std::string workloadName(WorkloadKind kind); ///< prefill, decode, train
std::optional<WorkloadKind> workloadFromName(std::string_view name);

/// How attention is computed: in one kernel whose scores never reach memory (arXiv 2205.14135), or as two batched matrix products
/// with softmax in between, over the whole square of scores, which are kept for the backward pass. Models of the GPT family have a
/// dropout behind it (arXiv 2205.05198: 5 bytes a score in 16 bits; what it would do to values is not modelled), those of the Llama
/// family none (2 bytes).
enum class AttentionKernel { Flash, Unfused };
std::string attentionKernelName(AttentionKernel kernel); ///< flash, unfused
std::optional<AttentionKernel> attentionKernelFromName(std::string_view name);

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

/// How tokens get to their experts: each is sent to every expert that it chose, or once to every node that has some of them and
/// from there to its experts (DeepEP, HybridEP; DeepSeek-V3 report, section 3.2.2), and what comes back is summed in the node
/// first.
enum class Dispatch { PerExpert, PerNode };
std::string dispatchName(Dispatch dispatch); ///< per-expert, per-node
std::optional<Dispatch> dispatchFromName(std::string_view name);

/// Which tokens of a sequence a device has that is cut over mesh axes. HeadTail: a part of its front and the opposite one of its
/// end, so that all have the same pairs of causal attention (TorchTitan's load balancer `headtail`, Megatron-LM always, MaxText's
/// context_parallel_load_balance). InOrder: one part; the device that has the last one attends to all before it.
enum class ContextOrder { HeadTail, InOrder };
std::string contextOrderName(ContextOrder order); ///< head-tail, in-order
std::optional<ContextOrder> contextOrderFromName(std::string_view name);

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
    /// Train: so many layers of every run of layers that a stage has (of the model without a pipeline), from the first on, compute
    /// again, the others keep everything (Megatron-LM: recompute_method block). 0: all of them.
    std::int64_t recomputeLayers = 0;
    /// Train: of these layers every so-many-th of a stage, counted over all its runs (TorchTitan's selective recompute by a number:
    /// activation_checkpoint.py, _apply_layer_sac): 2 is the second, the fourth, and so on. 1: all of them.
    std::int64_t recomputeEvery = 1;
    bool recomputesInAll() const { return recomputeLayers == 0 && recomputeEvery == 1; } ///< layers, if it does at all
    AttentionKernel attention = AttentionKernel::Flash;
    Overlap overlap = Overlap::None;
    ContextOrder contextOrder = ContextOrder::HeadTail;
    OptimizerSharding optimizer {}; ///< Train
    Optimizer rule = Optimizer::Adam; ///< Train: by which the weights are stepped
    Offload offload {}; ///< Train
    /// Train: further tokens that are predicted, each by a module behind the layers (multi-token prediction, arXiv 2412.19437,
    /// section 2.2; `num_nextn_predict_layers` of a config.json).
    std::int64_t predicted = 0;
    Software software = Software::Fused;
    bool graphs = false; ///< kernels are recorded in CUDA graphs once, and launched with them
    Dispatch dispatch = Dispatch::PerExpert; ///< models with experts
    /// Models with experts: rows that are reserved for an expert, by those that it would have if tokens chose evenly; what is over
    /// is dropped, what is under is padded (arXiv 2101.03961, section 2.2). 0: as many rows as there are tokens (dropless), taken
    /// as even.
    double capacityFactor = 0;
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

constexpr std::int64_t kMostPredicted = 16;

/// Rules: batch and sequence from 1 to 2^31; dtype one of computeTypes; the effective micro-batches divide the batch; every layer
/// or one in more of them computes again.
Status verifyWorkload(const Workload& workload, const std::string& where);

} // namespace shardboard
