// SPDX-License-Identifier: Apache-2.0
// Layouts by number, and what it costs to go from one to another: the steps and prices of a plan, remembered.
#pragma once

#include "model/ops/graph.h"
#include "model/ops/workload.h"
#include "model/plan/reshard/reshard.h"
#include "model/plan/reshard/reshardfloors.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardboard {

class LayoutNumbers {
public:
    int of(const Layout& layout);
    std::size_t count() const { return m_layouts.size(); }
    const Layout& operator[](int number) const { return m_layouts[static_cast<std::size_t>(number)]; }
    /// What it is over each mesh axis: 0 whole, 1 + dim cut, kPartial.
    const std::vector<std::int8_t>& over(int number) const { return m_over[static_cast<std::size_t>(number)]; }
    static constexpr std::int8_t kPartial = 127;

    /// The same as numbers, where it fits into them: mesh axes that cut a dim, the minor one in the lowest 4 bits, counted from 1.
    struct Code {
        static constexpr std::size_t kMaxDims = 6;
        std::array<std::uint32_t, kMaxDims> dims {};
        std::uint32_t partial = 0; ///< bits of mesh axes
        std::uint32_t axes = 0; ///< bits of all that are in it
        std::uint64_t over = 0; ///< 4 bits for each mesh axis: 0 whole, 1 + dim cut, kSummed
        static constexpr std::uint64_t kSummed = 15;
        ReduceOp op = ReduceOp::Sum;
        bool fits = false; ///< few whole axes and dims, and all parts are balanced
    };
    const Code& code(int number) const { return m_codes[static_cast<std::size_t>(number)]; }

private:
    static Code codeOf(const Layout& layout);

    std::vector<Code> m_codes;
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
    struct Floor {
        double seconds = 0; ///< no more, but for rounding
        bool exact = false;
    };
    /// The same, or something less that is found much faster.
    Floor floor(TensorId tensor, DType dtype, int from, int to);
    /// Seconds of sending a part around a ring of devices.
    double ringSeconds(TensorId tensor, int layout, int axis);
    /// Bytes of the largest shard, by the share of it that holds data.
    double bytes(TensorId tensor, int layout);

private:
    /// Tensors of one shape, type, density and role are priced alike.
    struct Like {
        ReshardedTensor tensor;
        TensorRole role = TensorRole::Activation;
        bool toExperts = false;
        std::vector<std::vector<Floor>> floors {}; ///< by number of both layouts; negative: not known yet
        std::unordered_map<std::uint64_t, double> ways; ///< seconds, by number of both layouts
    };
    /// What the price of a way depends on: not on which dim is which, on which of two mesh axes that lie alike, nor on what is cut
    /// alike on both sides, because the parts are as good as tensors of their own; where all dims divide by everything that moves,
    /// on none of their sizes either, but on what they have together.
    struct Way {
        struct Dim {
            std::uint32_t from = 0; ///< as of a code
            std::uint32_t to = 0;
            std::int64_t size = 0; ///< 0: divides
            friend auto operator<=>(const Dim&, const Dim&) = default;
        };
        std::int64_t elements = 1;
        double density = 1;
        std::array<Dim, LayoutNumbers::Code::kMaxDims> dims {}; ///< sorted
        std::uint32_t partial = 0; ///< bits of axes that are summed over
        std::uint8_t idle = 0; ///< dims that nothing cuts, of which two are as good as more
        std::uint8_t ops = 0;
        DType dtype = DType::BF16;
        friend bool operator==(const Way&, const Way&) = default;
    };
    struct WayHash {
        std::size_t operator()(const Way& way) const;
    };
    double way(TensorId tensor, DType dtype, int from, int to);
    bool isLeftOut(TensorRole role, int from, int to) const;
    Floor floor(Like& group, TensorId tensor, DType dtype, int from, int to);
    std::int64_t productOf(std::uint32_t axes) const; ///< of a dim of a code: into how many parts they cut it
    bool isPlain(const Layout& layout) const;
    double wayOf(const ReshardedTensor& tensor, const Layout& from, const Layout& to, bool toExperts);
    Like& like(TensorId tensor, DType dtype);
    void findAlike();
    /// None: it has more than codes tell.
    std::optional<Way> wayOf(const ReshardedTensor& tensor, int from, int to) const;

    const Graph& m_graph;
    const Mesh& m_mesh;
    const Dispatch m_dispatch;
    LayoutNumbers& m_layouts;
    ReshardPlanner m_resharding;
    ReshardSearch m_search;
    ReshardFloors m_floors;
    std::int64_t m_chosen = 0; ///< experts of a token
    int m_axes = 0; ///< of several devices
    std::vector<Like> m_likes;
    std::unordered_map<std::uint64_t, std::size_t> m_likeOf; ///< by tensor and type
    std::pair<std::uint64_t, std::size_t> m_lastLike { ~std::uint64_t { 0 }, 0 }; ///< one of them
    std::unordered_map<Way, double, WayHash> m_ways; ///< seconds
    std::vector<std::vector<double>> m_bytes; ///< by tensor and layout; negative: not known yet
    /// Mesh axes that can change places in everything without a change of prices: their groups lie alike, with any others.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> m_alike;
    std::uint32_t m_trivial = 0; ///< bits of mesh axes of one device
    std::array<std::int64_t, 32> m_sizes {}; ///< of mesh axes
};

} // namespace shardboard
