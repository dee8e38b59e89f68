// SPDX-License-Identifier: Apache-2.0
// What of a device's memory follows from no layout, and has to be said. A value type; part of a design.
#pragma once

#include "model/core/result.h"
#include "model/plan/framework.h"

#include <cstdint>

namespace shardboard {

struct MemorySettings {
    Framework framework = Framework::None; ///< that trains: what it holds, and in which types
    /// Gathered weights are given back after the forward pass of their layer, and gathered again for the backward pass. Absent: as
    /// the framework does. Not: they stay until the backward pass has used them, and are gathered once.
    std::optional<bool> reshardAfterForward {};
    /// One collective for all weights of a block. Absent: as the framework does.
    std::optional<bool> groupCollectives {};
    /// Layers whose weights are gathered ahead, beside those of the layer that works. FSDP2 gathers one ahead.
    std::int64_t prefetchedLayers = 1;
    /// Share of activations, logits, gathered weights and reshard copies that the allocator holds on top of them, because free
    /// blocks do not fit what is asked for. An assumption: nobody publishes one; measured peaks of PyTorch hold it.
    double reserveShare = 0.05;
    bool reserveChosen = false; ///< somebody has set it, if to what is usual
    /// The loss makes a copy of the logits in f32, and their gradient in f32, as PyTorch's cross_entropy does. A fused loss
    /// makes neither.
    bool logitsInF32 = true;
    /// Context and kernels that are loaded: what a CUDA process takes before it allocates, about half a GiB.
    std::int64_t contextBytes = std::int64_t { 512 } << 20;
    /// Buffers of one communicator, of which there is one for each set of mesh axes that collectives run over: in NCCL 2.28 a
    /// ring of 16 channels has 4 MiB in each direction of each (Simple protocol).
    std::int64_t communicatorBytes = std::int64_t { 128 } << 20;

    /// The allocator's reserve goes with the framework, unless somebody has set it.
    void choose(Framework next);
    void chooseReserve(double share);
    friend bool operator==(const MemorySettings&, const MemorySettings&) = default;
};

/// Rules: 0 to 64 layers ahead, a share of 0 to 1, bytes from 0 to 2^40.
Status verifyMemorySettings(const MemorySettings& settings, const std::string& where);

} // namespace shardboard
