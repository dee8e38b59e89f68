// SPDX-License-Identifier: Apache-2.0
// From one layout of a tensor to another: the sequence of collectives. One implementation for the picker's prices, the
// plan, the views and the engine.
#pragma once

#include "model/core/layout.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll, SendRecv, Broadcast, LocalSlice };
std::string collectiveName(CollectiveKind kind); ///< all-reduce, all-gather, …, local-slice
std::optional<CollectiveKind> collectiveFromName(std::string_view name);

/// One collective: every device exchanges data only with its device group over `axes` (indices into the mesh, row-major
/// group order as listed) and holds its shard of `after` when it is done.
struct ReshardStep {
    CollectiveKind kind = CollectiveKind::LocalSlice;
    std::vector<int> axes;
    Layout before;
    Layout after;
    friend bool operator==(const ReshardStep&, const ReshardStep&) = default;
};

/// Steps that lead from `from` to `to`, in order; empty when they are equal. Every step is
/// sound for uneven dims too (a local slice takes only what the device already holds). Errors: `to` is partial where
/// `from` is not, or sub-axes (not supported yet). `where` names the tensor.
Result<std::vector<ReshardStep>> reshardSteps(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                                              const std::string& where);

/// The large side S of a collective on one member of its device group, in bytes (performance 1.1): the whole buffer of
/// an all-reduce, the output of an all-gather, the input of a reduce-scatter, what an all-to-all sends in total with its
/// own block; 0 for a local slice, which moves nothing. The largest device counts where shards are uneven.
std::int64_t stepBytes(const ReshardStep& step, const Shape& shape, DType dtype, const Mesh& mesh);

} // namespace shardboard
