// SPDX-License-Identifier: Apache-2.0
// Layouts by number, and what it costs to go from one to another: the steps and prices of a plan, remembered.
#pragma once

#include "model/ops/graph.h"
#include "model/ops/workload.h"
#include "model/plan/reshard/reshard.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardboard {

class LayoutNumbers {
public:
    int of(const Layout& layout);
    const Layout& operator[](int number) const { return m_layouts[static_cast<std::size_t>(number)]; }
    /// What it is over each mesh axis: 0 whole, 1 + dim cut, kPartial.
    const std::vector<std::int8_t>& over(int number) const { return m_over[static_cast<std::size_t>(number)]; }
    static constexpr std::int8_t kPartial = 127;

private:
    std::vector<std::vector<std::int8_t>> m_over;
    std::vector<Layout> m_layouts;
    std::unordered_map<std::string, int> m_numbers;
};

/// What is not priced, because it would take long and is never good: a value that changes over more mesh axes at once, and on many
/// axes a weight that is cut elsewhere, since it may be stored as it is taken.
inline constexpr int kMostMovedAxes = 2; ///< of three; of more axes, which move in groups, one more
inline constexpr int kManyAxes = 3;

class LayoutPrices {
public:
    /// All of them must outlive it.
    LayoutPrices(const Graph& graph, const Mesh& mesh, const Hardware& hardware, Dispatch dispatch, LayoutNumbers& layouts);

    /// Seconds of the collectives that bring a tensor, held in `dtype`, from one layout to another; infinite where nothing can.
    double seconds(TensorId tensor, DType dtype, int from, int to);
    /// Seconds of sending a part around a ring of devices.
    double ringSeconds(TensorId tensor, int layout, int axis);
    /// Bytes of the largest shard, by the share of it that holds data.
    double bytes(TensorId tensor, int layout);

private:
    /// Tensors of one shape, type and density are priced alike.
    struct Like {
        ReshardedTensor tensor;
        bool toExperts = false;
        std::unordered_map<std::uint64_t, double> ways; ///< seconds
    };
    double way(TensorId tensor, DType dtype, int from, int to);
    bool isLeftOut(TensorId tensor, int from, int to) const;
    double wayOf(const ReshardedTensor& tensor, const Layout& from, const Layout& to, bool toExperts);
    Like& like(TensorId tensor, DType dtype);
    std::optional<std::string> shapeless(const ReshardedTensor& tensor, const Layout& from, const Layout& to) const;

    const Graph& m_graph;
    const Mesh& m_mesh;
    const Dispatch m_dispatch;
    LayoutNumbers& m_layouts;
    ReshardPlanner m_resharding;
    std::int64_t m_chosen = 0; ///< experts of a token
    int m_axes = 0; ///< of several devices
    std::vector<Like> m_likes;
    std::unordered_map<std::uint64_t, std::size_t> m_likeOf; ///< by tensor and type
    std::unordered_map<std::string, double> m_shapeless; ///< seconds
};

} // namespace shardboard
