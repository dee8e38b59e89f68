// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reshard/reshardsearch.h"

#include "model/core/shards.h"
#include "model/ops/graph.h"
#include "model/plan/reshard/reshard.h"
#include "model/plan/reshard/reshardorder.h"
#include "model/plan/reshard/reshardunits.h"
#include "model/text/contains.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace shardboard {

namespace {

constexpr std::size_t kMaxAxes = ReshardUnits::kMaxAxes; ///< that change
constexpr std::size_t kMaxDims = 6;
constexpr std::size_t kMaxNodes = 4000;

constexpr std::uint64_t kFree = 0; ///< place of an axis over which every device has the same
constexpr std::uint64_t kPartial = 7; ///< the others are dims + 1

/// Place (3 bits) and position (3 bits) of each axis, and which cutting each dim has (2 bits).
using Key = std::uint64_t;
constexpr unsigned shiftOf(std::size_t axis) { return static_cast<unsigned>(6 * axis); }
constexpr unsigned cutShift(std::size_t dim) { return static_cast<unsigned>(48 + 2 * dim); }

Key placed(Key key, std::size_t axis, std::uint64_t place, std::size_t position)
{
    key &= ~(Key { 63 } << shiftOf(axis));
    return key | ((place << 3 | position) << shiftOf(axis));
}

Key withCut(Key key, std::size_t dim, std::uint64_t cut) { return (key & ~(Key { 3 } << cutShift(dim))) | cut << cutShift(dim); }

constexpr unsigned bit(std::size_t axis) { return 1U << axis; }

constexpr std::size_t kTableSize = 8192;

} // namespace

namespace reshardsearch {

/// Some of the axes that change, in an order.
struct Sequence {
    std::array<std::uint8_t, kMaxAxes> axes {};
    std::uint8_t count = 0;
    unsigned mask = 0;
    std::int64_t product = 1;
};

/// A layout on the way, taken apart.
struct State {
    Key key = 0;
    std::array<std::array<std::uint8_t, kMaxAxes>, kMaxDims> axes {}; ///< behind those that never change
    std::array<std::uint8_t, kMaxDims> count {};
    std::array<std::uint8_t, kMaxDims> cut {};
    std::array<std::int64_t, kMaxDims> parts {};
    std::array<std::int64_t, kMaxDims> largest {}; ///< elements of the largest part
    unsigned free = 0;
    unsigned partial = 0;
};

struct Move {
    CollectiveKind kind = CollectiveKind::LocalSlice;
    Sequence axes;
};

/// What is to be least. The costs are whole numbers, so that the order of steps never decides by its rounding errors.
struct Cost {
    std::int64_t units = 0;
    int steps = 0;
    std::uint64_t order = 0; ///< kinds and dims of the steps, the first one in the highest digits
    friend auto operator<=>(const Cost&, const Cost&) = default;
};

struct Node {
    Key key = 0;
    Cost cost;
    std::int64_t rest = 0; ///< what is to come at least
    int parent = -1;
    bool done = false;
    Move move;
    std::int64_t count = 0; ///< elements that the move's price is of
};

struct Waiting {
    Cost cost;
    int node = 0;
    bool operator<(const Waiting& other) const { return std::tie(other.cost, other.node) < std::tie(cost, node); }
};

} // namespace reshardsearch

/// What is worth keeping from one search to the next.
struct ReshardSearch::Memory {
    ReshardUnits units;
    ReshardFloor floor { units };
    std::vector<reshardsearch::Node> nodes;
    std::vector<std::int16_t> table = std::vector<std::int16_t>(kTableSize, -1); ///< of nodes, by key
    std::vector<std::uint16_t> slots; ///< of the table that are taken
    std::vector<reshardsearch::Waiting> queue; ///< a heap
    std::vector<int> axes;
};

namespace {

using namespace reshardsearch;

/// Sums come first and slices last, where nothing else decides.
std::uint64_t rankOf(CollectiveKind kind)
{
    constexpr std::array<CollectiveKind, 6> order { CollectiveKind::ReduceScatter, CollectiveKind::AllReduce,
                                                    CollectiveKind::AllToAll,      CollectiveKind::AllGather,
                                                    CollectiveKind::SendRecv,      CollectiveKind::LocalSlice };
    return static_cast<std::uint64_t>(std::ranges::find(order, kind) - order.begin());
}

/// The steps are those of the cheapest way that has the fewest of them in the right order; seconds alone are found as directly as a
/// floor of what is to come allows.
class Search {
public:
    Search(const ReshardProblem& problem, ReshardSearch::Memory& memory)
        : m_problem(problem)
        , m_memory(memory)
        , m_units(memory.units)
        , m_dims(problem.tensor.shape.size())
        , m_axes(memory.axes)
        , m_nodes(memory.nodes)
    {
        m_axes.clear();
    }

    std::optional<std::vector<ReshardStep>> run()
    {
        if (!begin())
            return std::nullopt;
        if (m_start == m_goal)
            return std::vector<ReshardStep> {};
        if (m_axes.size() == 1)
            if (const auto move = onlyMove())
                return std::vector<ReshardStep> { { move->kind, { m_axes.front() }, from(), to() } };
        if (m_axes.size() > 2)
            setBound();
        return search(false) ? std::optional(steps()) : std::nullopt;
    }

    std::optional<double> seconds()
    {
        if (!begin())
            return std::nullopt;
        if (m_start == m_goal)
            return 0;
        if (m_axes.size() == 1)
            if (const auto move = onlyMove())
                return move->kind == CollectiveKind::LocalSlice
                    ? 0
                    : m_units.seconds(move->kind, 1, elements(stateOf(move->kind == CollectiveKind::AllGather ? m_goal : m_start)));
        if (!search(true))
            return std::nullopt;
        std::array<double, kMaxSteps> each {};
        std::size_t many = 0;
        for (int index = m_end; node(index).parent >= 0; index = node(index).parent) {
            const Node& last = node(index);
            if (last.move.kind == CollectiveKind::LocalSlice)
                continue;
            if (many == kMaxSteps)
                return std::nullopt;
            each[many++] = m_units.seconds(last.move.kind, last.move.axes.mask, last.count);
        }
        double out = 0; // in the order in which they are made
        while (many > 0)
            out += each[--many];
        return out;
    }

    double floor()
    {
        if (!begin() || m_start == m_goal)
            return 0;
        return m_units.seconds(floorOf(stateOf(m_start)));
    }

private:
    static constexpr std::size_t kMaxSteps = 64;

    const Layout& from() const { return m_problem.from; }
    const Layout& to() const { return m_problem.to; }
    std::int64_t sizeOfDim(std::size_t dim) const { return m_problem.tensor.shape[dim]; }

    Node& node(int index) { return m_nodes[static_cast<std::size_t>(index)]; }
    const Node& node(int index) const { return m_nodes[static_cast<std::size_t>(index)]; }

    bool begin()
    {
        if (m_dims > kMaxDims)
            return false;
        findAxes();
        if (m_axes.size() > kMaxAxes)
            return false;
        m_start = keyOf(from(), m_fromCut);
        m_goal = keyOf(to(), m_toCut);
        if (m_start == m_goal)
            return true;
        std::int64_t most = 1;
        for (const std::int64_t size : m_problem.tensor.shape)
            most *= std::max<std::int64_t>(1, size);
        m_units.begin(m_problem.tensor, m_axes, m_problem.mesh, m_problem.prices, most);
        for (const auto& dim : to().dims)
            for (const AxisRef& ref : dim)
                if (const std::size_t axis = indexOf(ref); axis < m_axes.size())
                    m_cutInGoal |= bit(axis);
        const State goal = stateOf(m_goal);
        for (std::size_t dim = 0; dim < m_dims; ++dim)
            for (std::int64_t i = 0, before = 1; i < goal.count[dim]; ++i) {
                const std::size_t axis = goal.axes[dim][static_cast<std::size_t>(i)];
                m_goalPlace[axis] = { static_cast<std::uint8_t>(dim + 1), before };
                before *= m_sizes[axis];
            }
        std::int64_t fixed = 1;
        for (std::size_t dim = 0; dim < m_dims; ++dim)
            fixed *= m_fixedParts[dim];
        m_memory.floor.begin((most + fixed - 1) / fixed, changingParts(goal), m_cutInGoal);
        return true;
    }

    bool nests(std::size_t dim, std::int64_t parts) const { return partsNest(sizeOfDim(dim), parts); }

    /// How many leading axes of a dim stay where they are.
    std::size_t commonPrefix(std::size_t dim) const
    {
        const auto& before = from().dims[dim];
        const auto& after = to().dims[dim];
        const Cutting cutBefore = from().cuttingOf(dim);
        const Cutting cutAfter = to().cuttingOf(dim);
        if (before == after && cutBefore == cutAfter)
            return before.size();
        const auto [end, unused] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
        const auto length = static_cast<std::size_t>(end - before.begin());
        if (length == 0 || cutBefore != Cutting {} || cutAfter != Cutting {})
            return 0;
        return nests(dim, partsOf(before, m_problem.mesh)) && nests(dim, partsOf(after, m_problem.mesh)) ? length : 0;
    }

    void findAxes()
    {
        const auto add = [&](const AxisRef& ref) {
            if (!contains(m_axes, ref.axis))
                m_axes.push_back(ref.axis);
        };
        for (std::size_t dim = 0; dim < m_dims; ++dim) {
            m_fixed[dim] = commonPrefix(dim);
            m_fixedParts[dim] = 1;
            for (std::size_t i = 0; i < from().dims[dim].size(); ++i)
                if (i < m_fixed[dim])
                    m_fixedParts[dim] *= m_problem.mesh.axis(from().dims[dim][i].axis).size;
                else
                    add(from().dims[dim][i]);
            for (std::size_t i = m_fixed[dim]; i < to().dims[dim].size(); ++i)
                add(to().dims[dim][i]);
            m_cuttings[dim] = { Cutting {}, from().cuttingOf(dim), to().cuttingOf(dim) };
            m_fromCut[dim] = from().dims[dim].empty() || m_cuttings[dim][1] == Cutting {} ? 0 : 1;
            m_toCut[dim] = to().dims[dim].empty() || m_cuttings[dim][2] == Cutting {} ? 0
                : m_cuttings[dim][2] == m_cuttings[dim][1]                            ? 1
                                                                                      : 2;
        }
        for (const AxisRef& ref : from().partial)
            if (!contains(to().partial, ref))
                add(ref);
        std::ranges::sort(m_axes); // mesh order
        for (std::size_t i = 0; i < std::min(m_axes.size(), kMaxAxes); ++i)
            m_sizes[i] = m_problem.mesh.axis(m_axes[i]).size;
    }

    std::size_t indexOf(const AxisRef& ref) const
    {
        return static_cast<std::size_t>(std::ranges::find(m_axes, ref.axis) - m_axes.begin());
    }

    Key keyOf(const Layout& layout, const std::array<std::uint8_t, kMaxDims>& cuts) const
    {
        Key key = 0;
        for (std::size_t dim = 0; dim < m_dims; ++dim) {
            for (std::size_t i = m_fixed[dim]; i < layout.dims[dim].size(); ++i)
                key = placed(key, indexOf(layout.dims[dim][i]), dim + 1, i - m_fixed[dim]);
            key = withCut(key, dim, cuts[dim]);
        }
        for (const AxisRef& ref : layout.partial)
            if (const std::size_t axis = indexOf(ref); axis < m_axes.size())
                key = placed(key, axis, kPartial, 0);
        return key;
    }

    std::uint64_t placeOf(Key key, std::size_t axis) const { return (key >> (shiftOf(axis) + 3)) & 7; }

    /// One axis that goes from one place to another needs one step.
    std::optional<Move> onlyMove() const
    {
        const std::uint64_t before = placeOf(m_start, 0);
        const std::uint64_t after = placeOf(m_goal, 0);
        if (before == after)
            return std::nullopt; // the cutting changes
        CollectiveKind kind = CollectiveKind::AllToAll;
        if (before == kFree)
            kind = CollectiveKind::LocalSlice;
        else if (before == kPartial)
            kind = after == kFree ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter;
        else if (after == kFree)
            kind = CollectiveKind::AllGather;
        return Move { kind, {} };
    }

    State stateOf(Key key) const
    {
        State state;
        state.key = key;
        state.parts = m_fixedParts;
        for (std::size_t axis = 0; axis < m_axes.size(); ++axis) {
            const std::uint64_t place = placeOf(key, axis);
            if (place == kFree)
                state.free |= bit(axis);
            else if (place == kPartial)
                state.partial |= bit(axis);
            else {
                const std::size_t dim = place - 1;
                state.axes[dim][(key >> shiftOf(axis)) & 7] = static_cast<std::uint8_t>(axis);
                ++state.count[dim];
                state.parts[dim] *= m_sizes[axis];
            }
        }
        for (std::size_t dim = 0; dim < m_dims; ++dim) {
            state.cut[dim] = static_cast<std::uint8_t>((key >> cutShift(dim)) & 3);
            state.largest[dim] = largest(state, dim);
        }
        return state;
    }

    std::vector<AxisRef> axesOn(const State& state, std::size_t dim) const
    {
        const auto& before = from().dims[dim];
        std::vector<AxisRef> list(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(m_fixed[dim]));
        for (std::size_t i = 0; i < state.count[dim]; ++i)
            list.push_back(AxisRef { m_axes[state.axes[dim][i]] });
        return list;
    }

    std::int64_t largest(const State& state, std::size_t dim) const
    {
        if (state.cut[dim] != 0)
            return largestPart(sizeOfDim(dim), axesOn(state, dim), m_problem.mesh, m_cuttings[dim][state.cut[dim]]);
        return (sizeOfDim(dim) + state.parts[dim] - 1) / state.parts[dim];
    }

    /// Elements on the device that has the most; `part` instead of what dim `other` has.
    std::int64_t elements(const State& state, std::size_t other = kMaxDims, std::int64_t part = 0) const
    {
        std::int64_t product = 1;
        for (std::size_t dim = 0; dim < m_dims; ++dim)
            product *= dim == other ? part : state.largest[dim];
        return product;
    }

    /// Calls `visit` with every sequence of one or more of these axes; it returns whether longer ones are of use.
    template <class Visit>
    void sequences(unsigned of, Sequence& sequence, const Visit& visit) const
    {
        for (std::size_t axis = 0; axis < m_axes.size(); ++axis) {
            if (!(of & bit(axis)))
                continue;
            Sequence longer = sequence;
            longer.axes[longer.count++] = static_cast<std::uint8_t>(axis);
            longer.mask |= bit(axis);
            longer.product *= m_sizes[axis];
            if (visit(longer))
                sequences(of & ~bit(axis), longer, visit);
        }
    }

    /// Ways that cost more than the fixed order of steps need not be followed.
    void setBound()
    {
        m_bound = 0;
        for (const ReshardStep& step : stepsInFixedOrder(from(), to(), m_problem.tensor.shape, m_problem.mesh)) {
            if (step.kind == CollectiveKind::LocalSlice)
                continue;
            unsigned mask = 0;
            for (const int axis : step.axes)
                mask |= bit(indexOf(AxisRef { axis }));
            std::int64_t count = 1;
            const Layout& large = step.kind == CollectiveKind::AllGather ? step.after : step.before;
            for (std::size_t dim = 0; dim < m_dims; ++dim)
                count *= largestPart(sizeOfDim(dim), large.dims[dim], m_problem.mesh, large.cuttingOf(dim));
            m_bound += m_units.units(step.kind, mask, count);
        }
    }

    /// `directly`: by what a way has cost and what is to come at least.
    bool search(bool directly)
    {
        m_directly = directly;
        for (const std::uint16_t slot : m_memory.slots)
            m_memory.table[slot] = -1;
        m_memory.slots.clear();
        m_nodes.clear();
        m_memory.queue.clear();
        m_tooMany = false;
        reach(m_start, {}, -1, {}, 0);
        while (!m_memory.queue.empty()) {
            std::pop_heap(m_memory.queue.begin(), m_memory.queue.end());
            const auto [cost, index] = m_memory.queue.back();
            m_memory.queue.pop_back();
            Node& next = node(index);
            if (next.done || cost.units > m_bound)
                continue;
            next.done = true;
            if (next.key == m_goal) {
                m_end = index;
                return true;
            }
            m_current = index;
            const State state = stateOf(next.key);
            if (m_directly) {
                const std::int64_t parts = changingParts(state);
                m_rest = m_memory.floor.fixed(parts, parts * m_units.devices(state.free), state.partial);
            }
            expand(state);
            if (m_tooMany)
                return false;
        }
        return false;
    }

    /// Over the axes that change.
    std::int64_t changingParts(const State& state) const { return m_units.devices(m_units.all() & ~state.free & ~state.partial); }

    /// Of a way from here on.
    std::int64_t floorOf(const State& state)
    {
        const std::int64_t parts = changingParts(state);
        return m_memory.floor.of(parts, parts * m_units.devices(state.free), going(state), state.partial);
    }

    /// Axes that cannot stay where they cut: what they cut, or what cuts it before them, is not as in the end. Only collectives
    /// that they take part in can change that.
    unsigned going(const State& state) const
    {
        unsigned out = 0;
        for (std::size_t dim = 0; dim < m_dims; ++dim) {
            std::int64_t before = 1;
            for (std::size_t i = 0; i < state.count[dim]; ++i) {
                const std::size_t axis = state.axes[dim][i];
                if (m_goalPlace[axis] != std::pair { static_cast<std::uint8_t>(dim + 1), before })
                    out |= bit(axis);
                before *= m_sizes[axis];
            }
        }
        return out;
    }

    /// Whether a way that pays this for its next step, after which there are as many parts, can be the cheapest.
    bool mayPay(std::int64_t price) const { return node(m_current).cost.units + price + m_rest <= m_bound; }

    void expand(const State& state)
    {
        sumUp(state);
        for (std::size_t dim = 0; dim < m_dims; ++dim) {
            append(state, dim, state.partial & m_cutInGoal, CollectiveKind::ReduceScatter);
            takeOff(state, dim);
            append(state, dim, state.free & m_cutInGoal, CollectiveKind::LocalSlice);
        }
        changePlaces(state);
    }

    /// Axes that a reduce-scatter can bring to where they are wanted. Their sums are not made whole first, not even where
    /// that would save a launch: it would take the memory of the whole.
    unsigned scattered(const State& state) const
    {
        unsigned mask = 0;
        for (std::size_t dim = 0; dim < m_dims; ++dim) {
            const auto& wanted = to().dims[dim];
            const std::size_t have = m_fixed[dim] + state.count[dim];
            bool prefix = have < wanted.size();
            for (std::size_t i = m_fixed[dim]; i < have && prefix; ++i)
                prefix = m_axes[state.axes[dim][i - m_fixed[dim]]] == wanted[i].axis;
            if (!prefix)
                continue;
            unsigned run = 0;
            std::size_t i = have;
            for (; i < wanted.size() && (state.partial & bit(indexOf(wanted[i]))); ++i)
                run |= bit(indexOf(wanted[i]));
            const bool nested = state.cut[dim] == 0 && m_toCut[dim] == 0 && nests(dim, partsOf(wanted, m_problem.mesh));
            if (nested || (have == 0 && i == wanted.size()))
                mask |= run;
        }
        return mask;
    }

    void sumUp(const State& state)
    {
        const unsigned summed = state.partial & ~scattered(state);
        const unsigned together = state.partial & ~m_cutInGoal;
        for (unsigned mask = summed; mask != 0; mask = (mask - 1) & summed) {
            if ((mask & together) != together)
                continue;
            Key key = state.key;
            Move move { CollectiveKind::AllReduce, {} };
            for (std::size_t axis = 0; axis < m_axes.size(); ++axis)
                if (mask & bit(axis)) {
                    key = placed(key, axis, kFree, 0);
                    move.axes.axes[move.axes.count++] = static_cast<std::uint8_t>(axis);
                }
            move.axes.mask = mask;
            step(key, move, 0, elements(state));
        }
    }

    /// Whether these axes can cut a dim further, and the key when they do.
    std::optional<Key> appended(const State& state, Key key, std::size_t dim, const Sequence& axes) const
    {
        const bool whole = m_fixed[dim] == 0 && state.count[dim] == 0;
        if (!whole && (state.cut[dim] != 0 || !nests(dim, state.parts[dim] * axes.product)))
            return std::nullopt;
        bool asWanted = whole && m_toCut[dim] != 0 && to().dims[dim].size() == axes.count;
        for (std::size_t i = 0; i < axes.count; ++i) {
            key = placed(key, axes.axes[i], dim + 1, state.count[dim] + i);
            asWanted = asWanted && to().dims[dim][i].axis == m_axes[axes.axes[i]];
        }
        return asWanted ? withCut(key, dim, m_toCut[dim]) : key;
    }

    void append(const State& state, std::size_t dim, unsigned axes, CollectiveKind kind)
    {
        Sequence none;
        const std::int64_t count = elements(state);
        sequences(axes, none, [&](const Sequence& sequence) {
            if (const auto key = appended(state, state.key, dim, sequence))
                step(*key, { kind, sequence }, dim, count);
            return true;
        });
    }

    /// A dim that is cut over the same axes where others want its parts to begin.
    std::optional<Key> cutAnew(const State& state, std::size_t dim, std::size_t kept, Key without, const Sequence& axes) const
    {
        State whole = state;
        whole.count[dim] = 0;
        if (kept > 0 || m_fixed[dim] > 0 || state.cut[dim] == m_toCut[dim])
            return std::nullopt;
        const auto key = appended(whole, without, dim, axes);
        return key && *key != state.key ? key : std::nullopt;
    }

    /// All-gathers of the minor axes of a dim, and all-to-alls that take them to another dim.
    void takeOff(const State& state, std::size_t dim)
    {
        Key key = state.key;
        Sequence off;
        std::int64_t parts = state.parts[dim];
        const bool nested = state.cut[dim] == 0 && nests(dim, parts);
        for (std::size_t kept = state.count[dim]; kept-- > 0;) {
            const std::size_t axis = state.axes[dim][kept];
            key = placed(key, axis, kFree, 0);
            std::copy_backward(off.axes.begin(), off.axes.begin() + off.count, off.axes.begin() + off.count + 1);
            off.axes[0] = static_cast<std::uint8_t>(axis);
            ++off.count;
            off.mask |= bit(axis);
            off.product *= m_sizes[axis];
            parts /= m_sizes[axis];
            if (!nested && m_fixed[dim] + kept > 0)
                continue;
            const Key without = withCut(key, dim, 0);
            const std::int64_t part = (sizeOfDim(dim) + parts - 1) / parts;
            step(without, { CollectiveKind::AllGather, off }, dim, elements(state, dim, part));
            const std::int64_t count = elements(state);
            if (!mayPay(m_units.units(CollectiveKind::AllToAll, off.mask, count)))
                continue;
            Sequence none;
            sequences(off.mask, none, [&](const Sequence& order) {
                if (order.count != off.count)
                    return true;
                for (std::size_t other = 0; other < m_dims; ++other) {
                    const auto moved =
                        other == dim ? cutAnew(state, dim, kept, without, order) : appended(state, without, other, order);
                    if (moved)
                        step(*moved, { CollectiveKind::AllToAll, off }, dim, count);
                }
                return false;
            });
        }
    }

    /// Send-recvs: the axes of the dims in any other way that cuts each dim into as many parts.
    void changePlaces(const State& state)
    {
        unsigned pool = state.free;
        for (std::size_t dim = 0; dim < m_dims; ++dim)
            for (std::size_t i = 0; i < state.count[dim]; ++i)
                pool |= bit(state.axes[dim][i]);
        if (pool != state.free && (!m_directly || mayPay(m_memory.floor.sendRecv(elements(state)))))
            changePlaces(state, 0, pool, state.key);
    }

    void changePlaces(const State& state, std::size_t dim, unsigned pool, Key key)
    {
        if (dim == m_dims) {
            for (std::size_t axis = 0; axis < m_axes.size(); ++axis)
                if (pool & bit(axis))
                    key = placed(key, axis, kFree, 0);
            if (key != state.key)
                changePlaces(state, key);
            return;
        }
        if (state.count[dim] == 0) {
            changePlaces(state, dim + 1, pool, key);
            return;
        }
        const std::int64_t product = state.parts[dim] / m_fixedParts[dim];
        Sequence none;
        sequences(pool, none, [&](const Sequence& sequence) {
            if (sequence.product != product)
                return product % sequence.product == 0;
            Key next = key;
            bool same = sequence.count == state.count[dim];
            for (std::size_t i = 0; i < sequence.count; ++i) {
                next = placed(next, sequence.axes[i], dim + 1, i);
                same = same && sequence.axes[i] == state.axes[dim][i];
            }
            // Parts that are cut axis by axis depend on the order of the axes.
            if (same || m_cuttings[dim][state.cut[dim]].rule != CutRule::CeilNested)
                changePlaces(state, dim + 1, pool & ~sequence.mask, next);
            return false;
        });
    }

    void changePlaces(const State& state, Key key)
    {
        const State after = stateOf(key);
        Move move { CollectiveKind::SendRecv, {} };
        for (std::size_t axis = 0; axis < m_axes.size(); ++axis)
            if (strideOf(state, axis) != strideOf(after, axis)) {
                move.axes.axes[move.axes.count++] = static_cast<std::uint8_t>(axis);
                move.axes.mask |= bit(axis);
            }
        step(key, move, 0, elements(state));
    }

    /// The dim that an axis cuts, and how many parts lie between its neighbours there.
    std::pair<std::uint64_t, std::int64_t> strideOf(const State& state, std::size_t axis) const
    {
        const std::uint64_t place = placeOf(state.key, axis);
        if (place == kFree || place == kPartial)
            return { place, 0 };
        const std::size_t dim = place - 1;
        std::int64_t stride = 1;
        for (std::size_t i = state.count[dim]; state.axes[dim][--i] != axis;)
            stride *= m_sizes[state.axes[dim][i]];
        return { place, stride };
    }

    /// `count`: elements of the large side.
    void step(Key key, const Move& move, std::size_t dim, std::int64_t count)
    {
        Cost cost = node(m_current).cost;
        cost.units += move.kind == CollectiveKind::LocalSlice ? 0 : m_units.units(move.kind, move.axes.mask, count);
        ++cost.steps;
        cost.order = cost.order << 6 | rankOf(move.kind) << 3 | dim;
        reach(key, cost, m_current, move, count);
    }

    void reach(Key key, const Cost& cost, int parent, const Move& move, std::int64_t count)
    {
        if (cost.units > m_bound)
            return;
        std::size_t slot = slotOf(key);
        int index = m_memory.table[slot];
        if (index >= 0) {
            if (!(cost < node(index).cost) || cost.units + node(index).rest > m_bound)
                return;
        } else {
            const std::int64_t rest = m_directly ? floorOf(stateOf(key)) : 0;
            if (cost.units + rest > m_bound)
                return;
            if (m_nodes.size() >= kMaxNodes) {
                m_tooMany = true;
                return;
            }
            index = static_cast<int>(m_nodes.size());
            m_memory.table[slot] = static_cast<std::int16_t>(index);
            m_memory.slots.push_back(static_cast<std::uint16_t>(slot));
            m_nodes.push_back({ key, {}, rest, -1, false, {}, 0 });
        }
        Node& there = node(index);
        there.cost = cost;
        there.parent = parent;
        there.done = false; // a floor may fall by more than a step costs
        there.move = move;
        there.count = count;
        if (key == m_goal)
            m_bound = std::min(m_bound, cost.units);
        Cost order = cost;
        if (m_directly)
            order.units += there.rest;
        m_memory.queue.push_back({ order, index });
        std::push_heap(m_memory.queue.begin(), m_memory.queue.end());
    }

    /// Where a key is in the table, or goes.
    std::size_t slotOf(Key key) const
    {
        std::size_t slot = (key * 0x9E3779B97F4A7C15ULL) >> 51; // 13 bits
        while (m_memory.table[slot] >= 0 && node(m_memory.table[slot]).key != key)
            slot = (slot + 1) % kTableSize;
        return slot;
    }

    Layout layoutOf(Key key) const
    {
        const State state = stateOf(key);
        Layout layout;
        for (std::size_t dim = 0; dim < m_dims; ++dim)
            layout.dims.push_back(axesOn(state, dim));
        for (std::size_t dim = 0; dim < m_dims; ++dim)
            if (state.cut[dim] != 0)
                layout.setCutting(dim, m_cuttings[dim][state.cut[dim]]);
        for (const AxisRef& ref : from().partial) {
            const std::size_t axis = indexOf(ref);
            if (axis == m_axes.size() || (state.partial & bit(axis)))
                layout.partial.push_back(ref);
        }
        if (!layout.partial.empty())
            layout.op = from().op;
        return layout;
    }

    std::vector<ReshardStep> steps() const
    {
        std::vector<ReshardStep> steps;
        for (int index = m_end; node(index).parent >= 0; index = node(index).parent) {
            const Node& last = node(index);
            ReshardStep& step = steps.emplace_back();
            step.kind = last.move.kind;
            for (std::size_t i = 0; i < last.move.axes.count; ++i)
                step.axes.push_back(m_axes[last.move.axes.axes[i]]);
            step.after = index == m_end ? to() : layoutOf(last.key);
        }
        std::ranges::reverse(steps);
        for (std::size_t i = 0; i < steps.size(); ++i)
            steps[i].before = i == 0 ? from() : steps[i - 1].after;
        return steps;
    }

    const ReshardProblem& m_problem;
    ReshardSearch::Memory& m_memory;
    ReshardUnits& m_units;
    std::size_t m_dims;
    std::vector<int>& m_axes; ///< mesh axes that change, in mesh order
    std::vector<Node>& m_nodes;
    std::array<std::int64_t, kMaxAxes> m_sizes {};
    std::array<std::size_t, kMaxDims> m_fixed {}; ///< how many leading axes of a dim stay
    std::array<std::int64_t, kMaxDims> m_fixedParts {};
    std::array<std::array<Cutting, 3>, kMaxDims> m_cuttings {}; ///< balanced, that of `from`, that of `to`
    std::array<std::uint8_t, kMaxDims> m_fromCut {};
    std::array<std::uint8_t, kMaxDims> m_toCut {};
    std::array<std::pair<std::uint8_t, std::int64_t>, kMaxAxes> m_goalPlace {}; ///< by axis: place, and the parts before it there
    /// Axes that cut a dim in the end. Nothing is cut over the others on the way: an all-reduce over several mesh axes stays one
    /// collective (how it goes through fast and slow links is the library's own affair).
    unsigned m_cutInGoal = 0;
    Key m_start = 0;
    Key m_goal = 0;
    std::int64_t m_bound = std::numeric_limits<std::int64_t>::max();
    bool m_directly = true;
    int m_current = -1;
    std::int64_t m_rest = 0; ///< what is to come after it at least, if the parts stay
    int m_end = -1;
    bool m_tooMany = false;
};

} // namespace

ReshardSearch::ReshardSearch()
    : m_memory(std::make_unique<Memory>())
{
}
ReshardSearch::ReshardSearch(ReshardSearch&&) noexcept = default;
ReshardSearch::~ReshardSearch() = default;

std::optional<std::vector<ReshardStep>> ReshardSearch::steps(const ReshardProblem& problem)
{
    return Search(problem, *m_memory).run();
}

double ReshardSearch::floor(const ReshardProblem& problem) { return Search(problem, *m_memory).floor(); }

std::optional<double> ReshardSearch::seconds(const ReshardProblem& problem) { return Search(problem, *m_memory).seconds(); }

} // namespace shardboard
