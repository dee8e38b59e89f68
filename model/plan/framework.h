// SPDX-License-Identifier: Apache-2.0
// What training frameworks hold in a device's memory beside what the layouts say, as facts with their sources.
#pragma once

#include "model/ops/precision.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shardboard {

enum class Framework { None, TorchTitan, Megatron, MaxText, DeepSpeed };

/// What an allocator holds on top of what is asked for, as a share of it: at best, usually, at worst.
struct AllocatorShare {
    double least = 0;
    double usual = 0.05;
    double most = 0.176;
    bool ofAll = false; ///< of weights and optimizer states too, not of what comes and goes alone
};

struct FrameworkFacts {
    Framework framework = Framework::None;
    const char* name = "none"; ///< torchtitan
    const char* title = "none"; ///< for people
    const char* holds = ""; ///< in a sentence
    Precision types {}; ///< in training
    AllocatorShare allocator {};
    /// Embedding, final norm and head are gathered once a micro-batch and stay until their gradients are there.
    bool onlyOnce = false;
    /// One collective moves all weights of a block, and one all of their gradients, where they go over the same mesh axes.
    bool groupsBlocks = false;
    /// Gathers and reductions of weights allocate in streams of their own, whose blocks the stream of the products cannot take.
    bool blocksByStream = false;
    bool hostSteps = true; ///< with the optimizer's states in the host's memory, the host makes the step
    /// In a pipeline weights stay gathered, and gradients are added up whole, until the last micro-batch; then they are reduced.
    bool wholeInPipelines = false;
    /// A stage keeps its output for every micro-batch in flight, and has a buffer for the gradient of each micro-batch's.
    bool stageBuffers = false;
    bool keepsGatheredInputs =
        false; ///< what a product takes is kept as it takes it, and not gathered again for its weight's gradient
    /// A token's gates multiply what its experts' activations give, so that no gradient needs the experts' results.
    bool gatesInExperts = false;
    bool savesInFp8 = true; ///< what a product in fp8 keeps of its input is the cast, not the value
    bool keepsProducts = false; ///< recomputing by operation in eager mode keeps results of products that no gradient reads
    bool expertsApart = false; ///< the host starts the product of every expert on its own
    double productCalls = 1; ///< operations of PyTorch that take the host as long as a product in 16 bits, or attention, does
    bool addsGradients = false; ///< the product that gives a weight's gradient adds it to those of the micro-batches before
    int lossBytes = 8; ///< of a logit, beside it and its gradient, while the gradient is made
    int lossBytesCut = 8; ///< the same where the vocabulary is cut
    std::int64_t bucketElements = 0; ///< of buffers in which gradients are collected for their reduction
};

/// In the order in which they are offered; the first is none.
std::span<const FrameworkFacts> frameworks();
const FrameworkFacts& factsOf(Framework framework);
const char* frameworkName(Framework framework);
std::optional<Framework> frameworkFromName(std::string_view name);

} // namespace shardboard
