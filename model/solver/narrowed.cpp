// SPDX-License-Identifier: Apache-2.0
#include "model/solver/narrowed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace shardboard::minplus {

namespace {

using Factor = CostNetwork::Factor;

constexpr int kRounds = 60;
constexpr int kPatience = 3; ///< rounds in which neither the bound rose nor values went
constexpr double kRounding = 1e-9; ///< of the upper bound: what is that near is kept

/// A table of two nodes, from the side of each: the values of the other are its rows, so that minima are taken of whole rows.
struct Edge {
    struct Side {
        int node = 0;
        std::vector<double> costs; ///< a row for each value of the other node
        std::vector<std::uint8_t> floors; ///< by entry: whether it is a floor; empty where none is
        std::vector<double> taken; ///< what was moved from the table to this node, by its values
    };
    Side sides[2];
    std::vector<std::size_t> factors; ///< that it is the sum of
    bool never = false; ///< some costs are infinite
};

struct Node {
    std::vector<int> kept; ///< values of the network
    std::vector<double> costs; ///< of its own, by what is kept
    std::vector<std::pair<int, int>> edges; ///< number, and which side the node is on
    int place = 0; ///< in the order
};

class Narrowing {
public:
    Narrowing(const CostNetwork& network, const LeastOptions& options)
        : m_network(network)
        , m_options(options)
        , m_upper(options.upper)
        , m_nodes(network.sizes.size())
    {
        for (std::size_t n = 0; n < m_nodes.size(); ++n) {
            m_nodes[n].kept.resize(static_cast<std::size_t>(network.sizes[n]));
            std::iota(m_nodes[n].kept.begin(), m_nodes[n].kept.end(), 0);
            m_nodes[n].costs.assign(m_nodes[n].kept.size(), 0);
        }
        for (std::size_t factor = 0; factor < network.factors.size(); ++factor)
            add(factor);
        sortNodes();
    }

    Narrowed run()
    {
        bool alive = dropImpossible();
        int idle = 0;
        for (int round = 0; alive && round < kRounds && idle < kPatience && !stopped(); ++round) {
            const double before = m_bound;
            const std::size_t many = size();
            alive = pass(false) && pass(true);
            idle = m_bound <= before + std::abs(before) * kRounding && size() == many ? idle + 1 : 0;
            if (isProved() || isSmall())
                break;
            if (idle >= kPatience && !m_exactly && m_network.exact) {
                m_exactly = true;
                idle = 0;
            }
        }
        if (alive && isProved())
            for (std::size_t n = 0; n < m_nodes.size(); ++n)
                m_nodes[n].kept = { m_values[n] };
        Narrowed out;
        for (Node& node : m_nodes)
            out.kept.push_back(alive ? std::move(node.kept) : std::vector<int> {});
        out.bound = alive ? m_bound : std::max(m_bound, m_upper);
        out.values = std::move(m_values);
        out.cost = m_cost;
        return out;
    }

private:
    std::size_t sizeOf(int node) const { return m_nodes[static_cast<std::size_t>(node)].kept.size(); }
    Node& at(int node) { return m_nodes[static_cast<std::size_t>(node)]; }

    void add(std::size_t number)
    {
        const Factor& factor = m_network.factors[number];
        if (factor.nodes.size() == 1) {
            for (std::size_t v = 0; v < factor.costs.size(); ++v)
                at(factor.nodes[0]).costs[v] += factor.costs[v];
            return;
        }
        if (factor.nodes.size() != 2) {
            m_bound += std::ranges::min(factor.costs);
            return;
        }
        const auto [known, isNew] = m_edgeOf.try_emplace(std::minmax(factor.nodes[0], factor.nodes[1]), m_edges.size());
        const std::size_t rows = sizeOf(factor.nodes[0]);
        const std::size_t columns = sizeOf(factor.nodes[1]);
        if (isNew) {
            Edge edge;
            for (int side = 0; side < 2; ++side) {
                edge.sides[side].node = factor.nodes[static_cast<std::size_t>(side)];
                edge.sides[side].costs.assign(rows * columns, 0);
                edge.sides[side].taken.assign(side == 0 ? rows : columns, 0);
                if (m_network.exact)
                    edge.sides[side].floors.assign(rows * columns, 1);
                at(edge.sides[side].node).edges.emplace_back(static_cast<int>(m_edges.size()), side);
            }
            m_edges.push_back(std::move(edge));
        }
        Edge& edge = m_edges[known->second];
        edge.factors.push_back(number);
        const bool same = edge.sides[0].node == factor.nodes[0];
        std::vector<double>& first = edge.sides[same ? 0 : 1].costs; // of factor.nodes[0]: rows are values of nodes[1]
        std::vector<double>& second = edge.sides[same ? 1 : 0].costs;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) {
                second[r * columns + c] += factor.costs[r * columns + c];
                first[c * rows + r] += factor.costs[r * columns + c];
                edge.never = edge.never || factor.costs[r * columns + c] == kNever;
            }
    }

    /// Neighbors stand near each other: breadth first.
    void sortNodes()
    {
        std::vector<bool> known(m_nodes.size(), false);
        for (std::size_t first = 0; first < m_nodes.size(); ++first) {
            if (known[first])
                continue;
            known[first] = true;
            m_order.push_back(static_cast<int>(first));
            for (std::size_t next = m_order.size() - 1; next < m_order.size(); ++next)
                for (const auto& [edge, side] : at(m_order[next]).edges) {
                    const int other = m_edges[static_cast<std::size_t>(edge)].sides[1 - side].node;
                    if (!known[static_cast<std::size_t>(other)]) {
                        known[static_cast<std::size_t>(other)] = true;
                        m_order.push_back(other);
                    }
                }
        }
        for (std::size_t i = 0; i < m_order.size(); ++i)
            at(m_order[i]).place = static_cast<int>(i);
    }

    bool stopped() const { return m_options.stopped(); }

    std::size_t size() const
    {
        std::size_t out = 0;
        for (const Node& node : m_nodes)
            out += node.kept.size();
        return out;
    }

    /// Whether elimination is cheaper than another round.
    bool isSmall() const { return size() <= 2 * m_nodes.size(); }

    /// Whether what was found is the best but for rounding.
    bool isProved() const { return !m_values.empty() && m_bound >= m_cost - std::abs(m_cost) * 1e-13; }

    /// For each value of a side the least that the table has beside it, without what was moved already.
    static std::vector<double> leastBeside(const Edge& edge, int side)
    {
        const Edge::Side& mine = edge.sides[side];
        const std::vector<double>& theirs = edge.sides[1 - side].taken;
        const std::size_t columns = mine.taken.size();
        std::vector<double> out(columns, kNever);
        for (std::size_t r = 0; r < theirs.size(); ++r) {
            const double* row = mine.costs.data() + r * columns;
            const double taken = theirs[r];
            for (std::size_t c = 0; c < columns; ++c) {
                const double cost = row[c] - taken;
                out[c] = cost < out[c] ? cost : out[c];
            }
        }
        return out;
    }

    /// The same of the costs themselves: floors are made exact until the least is no floor.
    std::vector<double> exactLeastBeside(Edge& edge, int side)
    {
        std::vector<double> out = leastBeside(edge, side);
        if (edge.sides[side].floors.empty() || !m_exactly)
            return out;
        const Edge::Side& other = edge.sides[1 - side];
        const std::size_t rows = other.taken.size();
        for (std::size_t c = 0; c < out.size(); ++c) {
            const double* costs = other.costs.data() + c * rows; // by the values of the other node
            const std::uint8_t* floors = other.floors.data() + c * rows;
            for (bool again = true; again && out[c] < kNever;) {
                again = false;
                std::size_t at = rows;
                for (std::size_t r = 0; r < rows; ++r)
                    if (costs[r] - other.taken[r] == out[c]) {
                        at = r;
                        if (floors[r] == 0)
                            break;
                    }
                if (at == rows || floors[at] == 0)
                    break;
                price(edge, side, at, c);
                if (costs[at] - other.taken[at] == out[c])
                    break;
                again = true;
                out[c] = kNever;
                for (std::size_t r = 0; r < rows; ++r)
                    out[c] = std::min(out[c], costs[r] - other.taken[r]);
            }
        }
        return out;
    }

    /// Makes an entry exact: row and column as `side` sees it.
    void price(Edge& edge, int side, std::size_t row, std::size_t column)
    {
        Edge::Side& mine = edge.sides[side];
        Edge::Side& other = edge.sides[1 - side];
        const auto here = static_cast<std::size_t>(at(mine.node).kept[column]);
        const auto there = static_cast<std::size_t>(at(other.node).kept[row]);
        double sum = 0;
        for (const std::size_t number : edge.factors) {
            const std::vector<int>& nodes = m_network.factors[number].nodes;
            const auto columns = static_cast<std::size_t>(m_network.sizes[static_cast<std::size_t>(nodes[1])]);
            sum += m_network.exact(number, nodes[0] == mine.node ? here * columns + there : there * columns + here);
        }
        const std::size_t columns = mine.taken.size();
        const std::size_t rows = other.taken.size();
        edge.never = edge.never || sum == kNever;
        mine.costs[row * columns + column] = other.costs[column * rows + row] = sum;
        mine.floors[row * columns + column] = other.floors[column * rows + row] = 0;
    }

    /// Values that have no cost but infinity, alone or beside all values of another, go; then those that needed them.
    bool dropImpossible()
    {
        for (bool again = true; again;) {
            again = false;
            for (const int number : m_order) {
                Node& node = at(number);
                std::vector<bool> keep(node.kept.size(), true);
                for (std::size_t v = 0; v < keep.size(); ++v)
                    keep[v] = node.costs[v] < kNever;
                for (const auto& [index, side] : node.edges) {
                    const Edge& edge = m_edges[static_cast<std::size_t>(index)];
                    if (!edge.never)
                        continue;
                    const std::vector<double> least = leastBeside(edge, side);
                    for (std::size_t v = 0; v < keep.size(); ++v)
                        keep[v] = keep[v] && least[v] < kNever;
                }
                if (!std::ranges::all_of(keep, [](bool b) { return b; })) {
                    again = true;
                    drop(number, keep);
                }
                if (node.kept.empty())
                    return false;
            }
        }
        return true;
    }

    void drop(int number, const std::vector<bool>& keep)
    {
        Node& node = at(number);
        m_dropped = true;
        const auto filter = [&](auto& list) {
            std::size_t to = 0;
            for (std::size_t v = 0; v < keep.size(); ++v)
                if (keep[v])
                    list[to++] = list[v];
            list.resize(to);
        };
        filter(node.kept);
        filter(node.costs);
        for (const auto& [index, side] : node.edges) {
            Edge::Side& mine = m_edges[static_cast<std::size_t>(index)].sides[side];
            Edge::Side& other = m_edges[static_cast<std::size_t>(index)].sides[1 - side];
            filter(mine.taken);
            std::vector<std::size_t> left;
            for (std::size_t v = 0; v < keep.size(); ++v)
                if (keep[v])
                    left.push_back(v);
            const std::size_t rows = other.taken.size();
            const auto takeColumns = [&](auto& list) {
                if (list.empty())
                    return;
                std::size_t to = 0;
                for (std::size_t row = 0; row < rows; ++row)
                    for (const std::size_t column : left)
                        list[to++] = list[row * keep.size() + column];
                list.resize(to);
            };
            const auto takeRows = [&](auto& list) {
                if (list.empty())
                    return;
                for (std::size_t to = 0; to < left.size(); ++to)
                    std::copy_n(list.begin() + static_cast<std::ptrdiff_t>(left[to] * rows), rows,
                                list.begin() + static_cast<std::ptrdiff_t>(to * rows));
                list.resize(left.size() * rows);
            };
            takeColumns(mine.costs);
            takeColumns(mine.floors);
            takeRows(other.costs);
            takeRows(other.floors);
        }
    }

    /// Every node takes what its tables have in common for each of its values, loses values that are too dear, and hands the rest
    /// on to those that follow. An assignment is chosen on the way, each value beside those before it.
    bool pass(bool backward)
    {
        std::vector<int> chosen(m_nodes.size(), 0); // places among what is kept: of nodes that are done nothing goes any more
        bool possible = true;
        for (std::size_t i = 0; i < m_order.size(); ++i) {
            const int number = m_order[backward ? m_order.size() - 1 - i : i];
            Node& node = at(number);
            const auto follows = [&](int other) { return (at(other).place > node.place) != backward; };
            std::vector<double> beside = node.costs;
            int following = 0;
            for (const auto& [index, side] : node.edges) {
                Edge& edge = m_edges[static_cast<std::size_t>(index)];
                std::vector<double> least = exactLeastBeside(edge, side);
                const int other = edge.sides[1 - side].node;
                following += follows(other);
                std::vector<double>& taken = edge.sides[side].taken;
                const auto row = static_cast<std::size_t>(chosen[static_cast<std::size_t>(other)]);
                for (std::size_t v = 0; v < least.size(); ++v) {
                    beside[v] += follows(other)
                        ? least[v] - taken[v]
                        : edge.sides[side].costs[row * least.size() + v] - edge.sides[1 - side].taken[row] - taken[v];
                    node.costs[v] += least[v] - taken[v];
                }
                taken = std::move(least);
            }
            const double common = std::ranges::min(node.costs);
            m_bound += common;
            if (common == kNever)
                return false;
            std::vector<bool> keep(node.costs.size());
            const double most = m_upper - m_bound + std::abs(m_upper) * kRounding;
            for (std::size_t v = 0; v < keep.size(); ++v) {
                node.costs[v] -= common;
                keep[v] = node.costs[v] < kNever && !(node.costs[v] > most);
            }
            if (!std::ranges::all_of(keep, [](bool b) { return b; })) {
                std::vector<double> left;
                for (std::size_t v = 0; v < keep.size(); ++v)
                    if (keep[v])
                        left.push_back(beside[v]);
                beside = std::move(left);
                drop(number, keep);
                if (node.kept.empty())
                    return false;
            }
            for (bool priced = true; priced;) {
                priced = false;
                const auto v = static_cast<std::size_t>(std::ranges::min_element(beside) - beside.begin());
                for (const auto& [index, side] : node.edges) {
                    Edge& edge = m_edges[static_cast<std::size_t>(index)];
                    const Edge::Side& mine = edge.sides[side];
                    const int other = edge.sides[1 - side].node;
                    const auto row = static_cast<std::size_t>(chosen[static_cast<std::size_t>(other)]);
                    const std::size_t place = row * mine.taken.size() + v;
                    const double before = mine.costs[place];
                    if (follows(other) || mine.floors.empty() || mine.floors[place] == 0 || before == kNever)
                        continue;
                    price(edge, side, row, v);
                    beside[v] += mine.costs[place] - before;
                    priced = true;
                }
            }
            const auto best = std::ranges::min_element(beside);
            possible = possible && *best < kNever;
            chosen[static_cast<std::size_t>(number)] = static_cast<int>(best - beside.begin());
            handOn(node, following, follows);
        }
        if (possible)
            take(chosen);
        return !std::exchange(m_dropped, false) || dropImpossible();
    }

    template <class Follows>
    void handOn(Node& node, int following, const Follows& follows)
    {
        if (following == 0)
            return;
        const double share = 1.0 / std::max(following, static_cast<int>(node.edges.size()) - following);
        for (const auto& [index, side] : node.edges) {
            Edge& edge = m_edges[static_cast<std::size_t>(index)];
            if (follows(edge.sides[1 - side].node))
                for (std::size_t v = 0; v < node.costs.size(); ++v)
                    edge.sides[side].taken[v] -= share * node.costs[v];
        }
        const double rest = std::max(0.0, 1 - share * following);
        for (double& cost : node.costs)
            cost = rest > 1e-12 ? cost * rest : 0;
    }

    void take(const std::vector<int>& chosen)
    {
        std::vector<int> values(chosen.size());
        for (std::size_t n = 0; n < chosen.size(); ++n)
            values[n] = m_nodes[n].kept[static_cast<std::size_t>(chosen[n])];
        const double cost = costOf(m_network, values);
        if (cost < m_cost) {
            m_cost = cost;
            m_values = std::move(values);
            m_upper = std::min(m_upper, cost);
        }
    }

    const CostNetwork& m_network;
    const LeastOptions& m_options;
    bool m_exactly = false; ///< floors do no longer lead anywhere
    bool m_dropped = false; ///< values, since it was looked at what they leave impossible
    double m_upper;
    double m_bound = 0;
    std::vector<Node> m_nodes;
    std::vector<Edge> m_edges;
    std::map<std::pair<int, int>, std::size_t> m_edgeOf;
    std::vector<int> m_order;
    std::vector<int> m_values;
    double m_cost = kNever;
};

} // namespace

CostNetwork Narrowed::of(const CostNetwork& network) const
{
    CostNetwork out;
    for (const std::vector<int>& left : kept)
        out.sizes.push_back(static_cast<int>(left.size()));
    for (std::size_t number = 0; number < network.factors.size(); ++number) {
        const Factor& factor = network.factors[number];
        Factor part { factor.nodes, {} };
        std::vector<std::size_t> index(factor.nodes.size(), 0);
        std::size_t entries = 1;
        for (const int node : factor.nodes)
            entries *= kept[static_cast<std::size_t>(node)].size();
        part.costs.reserve(entries);
        for (std::size_t entry = 0; entry < entries; ++entry) {
            std::size_t place = 0;
            for (std::size_t i = 0; i < index.size(); ++i) {
                const auto node = static_cast<std::size_t>(factor.nodes[i]);
                place = place * static_cast<std::size_t>(network.sizes[node]) + static_cast<std::size_t>(kept[node][index[i]]);
            }
            part.costs.push_back(network.exact ? network.exact(number, place) : factor.costs[place]);
            for (std::size_t i = index.size(); i-- > 0;) {
                if (++index[i] < kept[static_cast<std::size_t>(factor.nodes[i])].size())
                    break;
                index[i] = 0;
            }
        }
        out.factors.push_back(std::move(part));
    }
    return out;
}

std::vector<int> Narrowed::original(const std::vector<int>& chosen) const
{
    std::vector<int> out(chosen.size());
    for (std::size_t n = 0; n < chosen.size(); ++n)
        out[n] = kept[n][static_cast<std::size_t>(chosen[n])];
    return out;
}

Narrowed narrowed(const CostNetwork& network, const LeastOptions& options) { return Narrowing(network, options).run(); }

} // namespace shardboard::minplus
