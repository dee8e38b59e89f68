// SPDX-License-Identifier: Apache-2.0
// What comes and goes in a device's memory while one layer of a planned segment works.
#pragma once

#include "model/plan/plan.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace shardboard {

/// Bytes on the device that has the most.
struct SegmentProfile {
    /// While an operation runs: its operands and its result live, with the copies of its reshards.
    struct Moment {
        OpId op {};
        std::int64_t activations = 0; ///< of this layer, with what it has kept so far (forward) or still has (backward)
        std::int64_t logits = 0;
        std::int64_t waiting = 0; ///< gradients of weights that wait for their reduction
        std::int64_t reduced = 0; ///< gradients of weights that this layer has reduced so far
        std::int64_t reshard = 0;
        std::int64_t gathered = 0; ///< weights of blocks within the segment (GraphTensor::block), of which one at a time works
        std::int64_t blocksAhead = 0; ///< how many of those blocks are not at work yet
    };
    std::vector<Moment> moments; ///< by operation
    std::int64_t keptActivations = 0; ///< that a layer leaves for its backward pass; of a forward segment
    std::int64_t keptLogits = 0;
    std::int64_t reduced = 0; ///< gradients of a layer's weights when it is done; of a backward segment
    std::int64_t reducedWhole = 0; ///< the same before they are reduced
    std::vector<std::pair<TensorId, std::int64_t>> gatheredOf; ///< by weight
    std::int64_t gathered = 0; ///< of these those of no block of their own: of a layer, all at once as FSDP2 does
    std::set<TensorId> moved; ///< of these weights, those that collectives bring
    PlannedSegmentId keptFor {}; ///< of a backward segment: the planned segment whose kept activations it reads
};

/// A value lives from the operation that writes it to the last one that reads it, or to the end of the segment where the next
/// one takes it or the backward pass needs it; operations that only rename a value share its memory.
std::vector<SegmentProfile> segmentProfiles(const Graph& graph, const Plan& plan);

/// Bytes of a tensor's largest shard; of activations of experts those of the rows that hold data.
std::int64_t shardBytes(const Graph& graph, const Mesh& mesh, TensorId tensor, const Layout& layout);

} // namespace shardboard
