// SPDX-License-Identifier: Apache-2.0
#include "model/plan/framework.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace shardboard {

namespace {

constexpr Precision types(std::optional<DType> weights, DType gradients, std::optional<DType> reductions)
{
    return { .weights = weights,
             .activations = {},
             .cache = {},
             .gradients = gradients,
             .optimizer = DType::F32,
             .master = DType::F32,
             .reductions = reductions };
}

/// PyTorch's caching allocator on eight LLMs: an allocator that leaves next to no fragments had 15 % less of them on average and up
/// to 33 % (GMLake, arXiv 2401.08156, abstract; up to 43 % of memory wasted: arXiv 2507.16274, abstract). As shares of what is
/// asked for: 0.15 / 0.85 and 0.33 / 0.67.
constexpr AllocatorShare kCaching { 0, 0.176, 0.493, true };
/// A compiler that plans all buffers before the program runs leaves little between them. An assumption: nobody publishes it.
constexpr AllocatorShare kPlanned { 0, 0.05, 0.1, false };

constexpr std::array kFrameworks {
    FrameworkFacts { .holds = "What the layouts need, and nothing that a framework adds" },
    // Weights, moments and gradients are f32 shards; MixedPrecisionPolicy(param_dtype bf16, reduce_dtype f32): torchtitan
    //   config/job_config.py, Training.mixed_precision_param and _reduce; torch/distributed/fsdp/_fully_shard, 2.15.
    // One all-gather and one reduce-scatter for the parameters of a block: _fsdp_param_group.py, foreach_all_gather.
    // The root group (tok_embeddings, norm, output) is not resharded after its forward pass: FSDPState._lazy_init.
    // Under pipelines reshard_after_forward is False (torchtitan models/llama3/infra/parallelize.py), and
    //   torch/distributed/pipelining/stage.py (backward_maybe_with_nosync) leaves gradients unsharded until the last micro-batch,
    //   in reduce_dtype (FSDPParam.to_accumulated_grad_if_needed). Outputs and gradients of a stage: fwd_cache and grad_recv_info
    //   there.
    // Gathered weights arrive in one buffer for a block and are copied from it; it is freed when the next one is copied. It is
    //   allocated in the stream of the gathers, reduced gradients (views of what reduce_scatter gives) in that of the reductions
    //   (_fsdp_collectives.py, foreach_all_gather and foreach_reduce), and the caching allocator gives a free block to the stream
    //   alone that it was allocated in (c10/cuda/CUDACachingAllocator.cpp, get_free_block): the root group's buffer and one
    //   block's, and gradients of all weights, stay reserved while nobody uses them.
    // DTensor's linear layers save the gathered input: two all-gathers and two reduce-scatters a layer in the backward pass of a
    //   sequence-parallel block, as its communication debug mode counts them (2.15).
    // torchao float8_linear.py saves the input in high precision (matmul_with_hp_or_float8_args).
    // cross_entropy(pred.float()): log-probabilities, their gradient and that of the logits in f32, 12 bytes; the bf16 logits are
    //   deleted before, their bf16 gradient comes after. loss_parallel (torch/distributed/tensor/parallel/loss.py,
    //   _nll_loss_and_log_softmax_backward) has the exponentials beside: 16 bytes. Logits and gradient themselves are 4 of these.
    FrameworkFacts {
        .framework = Framework::TorchTitan,
        .name = "torchtitan",
        .title = "TorchTitan (FSDP2)",
        .holds = "Weights, moments and gradients are stored as f32 shards and gathered in the computing type; in a pipeline "
                 "weights stay gathered and gradients whole until the last micro-batch",
        .types = types(DType::F32, DType::F32, DType::F32),
        .allocator = kCaching,
        .onlyOnce = true,
        .groupsBlocks = true,
        .blocksByStream = true,
        .wholeInPipelines = true,
        .stageBuffers = true,
        .keepsGatheredInputs = true,
        .savesInFp8 = false,
        .keepsProducts = true,
        .lossBytesCut = 12 },
    // bf16 weights beside the f32 ones of the optimizer; f32 main gradients over all data parallel ranks whole
    //   (core/distributed/param_and_grad_buffer.py; arguments.py: accumulate_allreduce_grads_in_fp32 under bf16); the distributed
    //   optimizer (core/optimizer/distrib_optimizer.py) cuts the states, which a design says by the axes of its optimizer.
    // Transformer Engine's linear layers save the cast input (pytorch/module/linear.py, save_for_backward of inputmat).
    // core/transformer/moe/experts.py: permuted_probs go into weighted_bias_swiglu_impl, whose gradients need its input alone.
    // gradient_accumulation_fusion: products add to main_grad (core/tensor_parallel/layers.py).
    // Transformer Engine's grouped linear layer starts a product for every expert, on several streams (general_grouped_gemm).
    // The host needs 99.7 us for the forward pass of its linear layer where PyTorch's own takes 37.1 (GB200), and 90.5 where that
    //   takes 33.2 (GH200): TransformerEngine#2053, of 2025-08.
    // core/tensor_parallel/cross_entropy.py: one f32 copy, in which exponentials and gradient are made in place. Version 0.16.
    FrameworkFacts { .framework = Framework::Megatron,
                     .name = "megatron",
                     .title = "Megatron-LM",
                     .holds = "bf16 weights beside the optimizer's f32 ones, gradients whole in f32 on every data parallel rank",
                     .types = types({}, DType::F32, DType::F32),
                     .allocator = kCaching,
                     .groupsBlocks = true,
                     .gatesInExperts = true,
                     .expertsApart = true,
                     .productCalls = 2.7,
                     .addsGradients = true,
                     .lossBytes = 4,
                     .lossBytesCut = 4 },
    // configs/base.yml, 0.2: weight_dtype float32, dtype bfloat16, mu_dtype as the weights; gradients of f32 weights are f32, but
    // reduced before the cast of the weights is turned back, in bf16.
    FrameworkFacts {
        .framework = Framework::MaxText,
        .name = "maxtext",
        .title = "MaxText (XLA)",
        .holds = "Weights, moments and gradients in f32, reductions in the computing type; XLA plans all buffers before the run",
        .types = types(DType::F32, DType::F32, {}),
        .allocator = kPlanned,
        .onlyOnce = true,
        .hostSteps = false },
    // runtime/zero/stage_1_and_2.py and stage3.py, 0.19: bf16 weights and gradients, an f32 copy with its moments; two buckets of
    // reduce_bucket_size (zero/config.py: 5e8 elements) where reductions overlap. transformers casts logits to f32 for the loss and
    // returns the bf16 ones: 14 bytes with the f32 log-probabilities and two gradients.
    FrameworkFacts { .framework = Framework::DeepSpeed,
                     .name = "deepspeed",
                     .title = "DeepSpeed (ZeRO)",
                     .holds = "bf16 weights and gradients, f32 copy and moments, and two buckets of 5e8 gradients",
                     .types = types({}, DType::BF16, {}),
                     .allocator = kCaching,
                     .groupsBlocks = true,
                     .savesInFp8 = false,
                     .lossBytes = 10,
                     .lossBytesCut = 10,
                     .bucketElements = 1'000'000'000 },
};

} // namespace

std::span<const FrameworkFacts> frameworks() { return kFrameworks; }
const FrameworkFacts& factsOf(Framework framework) { return kFrameworks.at(static_cast<std::size_t>(framework)); }
const char* frameworkName(Framework framework) { return factsOf(framework).name; }

std::optional<Framework> frameworkFromName(std::string_view name)
{
    const auto found = std::ranges::find_if(kFrameworks, [&](const FrameworkFacts& facts) { return name == facts.name; });
    return found == kFrameworks.end() ? std::nullopt : std::optional(found->framework);
}

} // namespace shardboard
