// SPDX-License-Identifier: Apache-2.0
// From one layout of a tensor to another: the cheapest sequence of collectives. One implementation for the picker's
// prices, the plan, the views and the engine.
#pragma once

#include "model/core/layout.h"
#include "model/cost/collectiveprices.h"
#include "model/plan/reshard/reshardsearch.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace shardboard {

/// One collective: every device exchanges data only with its device group over `axes` (indices into the mesh, row-major
/// group order as listed) and holds its shard of `after` when it is done. What each kind can do:
///   all-reduce       sums over any partial axes
///   reduce-scatter   sums over partial axes and appends them to one dim, as its minor axes
///   all-gather       takes the minor axes off a dim
///   all-to-all       takes the minor axes off a dim and appends them to another one; or cuts a dim elsewhere over them
///   send-recv        every device takes over the shard of one other device: axes change places, the parts stay the same
///   local-slice      appends axes to a dim, over which every device has the whole
struct ReshardStep {
    CollectiveKind kind = CollectiveKind::LocalSlice;
    std::vector<int> axes;
    Layout before;
    Layout after;
    friend bool operator==(const ReshardStep&, const ReshardStep&) = default;
};

/// What there is to move.
struct ReshardedTensor {
    Shape shape;
    DType dtype = DType::BF16;
    double density = 1; ///< share of it that holds data and is sent
    friend bool operator==(const ReshardedTensor&, const ReshardedTensor&) = default;
};

/// Finds the steps between layouts on one mesh and remembers them: those whose seconds (CollectivePrices, each with its
/// start) add up to the least; then the fewest, then sums first and slices last. Three rules come
/// before the price. Mesh axes over which nothing changes take no part. An all-reduce over several mesh axes is one
/// collective. Sums that are wanted in shards are not made whole where a reduce-scatter will do. Mesh and hardware must
/// outlive it.
class ReshardPlanner {
public:
    ReshardPlanner(const Mesh& mesh, const Hardware& hardware);

    /// In order; empty when the layouts are equal. Every step is sound for uneven dims too: shards are only cut further or
    /// joined where the parts nest. Errors: `to` is partial where `from` is not, or sub-axes (not supported yet).
    /// `where` names the tensor.
    Result<std::vector<ReshardStep>> steps(const Layout& from, const Layout& to, const ReshardedTensor& tensor,
                                           const std::string& where);
    /// Predicted seconds of a collective over these mesh axes, with its start.
    double seconds(CollectiveKind kind, const std::vector<int>& axes, std::int64_t bytes)
    {
        return m_prices.seconds(kind, axes, bytes);
    }
    CollectivePrices& prices() { return m_prices; }

private:
    struct Known {
        Layout from;
        Layout to;
        ReshardedTensor tensor;
        std::vector<ReshardStep> steps;
    };
    std::vector<ReshardStep> find(const Layout& from, const Layout& to, const ReshardedTensor& tensor);

    const Mesh& m_mesh;
    CollectivePrices m_prices;
    ReshardSearch m_search;
    std::unordered_multimap<std::size_t, Known> m_known;
};

/// The same for a single call.
Result<std::vector<ReshardStep>> reshardSteps(const Layout& from, const Layout& to, const ReshardedTensor& tensor, const Mesh& mesh,
                                              const Hardware& hardware, const std::string& where);
/// On links that are all alike and of which only the bytes count.
Result<std::vector<ReshardStep>> reshardSteps(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                                              const std::string& where);

/// The large side S of a collective on one member of its device group, in bytes (performance 1.1): the whole buffer of
/// an all-reduce, the output of an all-gather, the input of a reduce-scatter, what an all-to-all sends in total with its
/// own block, what a send-recv sends; 0 for a local slice, which moves nothing. The largest device counts where shards
/// are uneven.
std::int64_t stepBytes(const ReshardStep& step, const Shape& shape, DType dtype, const Mesh& mesh);

/// For each member of the device group of a send-recv, in group order, the member whose shard it takes over. Every member
/// is in it once; one that holds what it needs already takes its own.
std::vector<std::int64_t> sendRecvSources(const ReshardStep& step, const Mesh& mesh, const std::vector<std::int64_t>& group);

} // namespace shardboard
