// SPDX-License-Identifier: Apache-2.0
#include "model/solver/elimination.h"

#include "model/solver/index.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

namespace shardboard::solver {

namespace {

constexpr std::size_t kMostScope = 24; ///< nodes that a table may be over at all

} // namespace

/// The graph of the asked nodes while they are eliminated in thought. Nodes are counted as they were asked for.
struct Elimination::Plan {
    const Network& network;
    std::vector<int> nodes;
    std::vector<int> local; ///< by node of the network; -1: not asked for
    std::vector<std::vector<int>> neighbors;
    std::vector<double> cost;
    std::vector<int> position; ///< in the order; -1: stays
    std::vector<std::vector<int>> scopes; ///< by position

    EliminationLimits most;

    Plan(const Network& all, std::span<const int> asked, const EliminationLimits& limits)
        : network(all)
        , nodes(asked.begin(), asked.end())
        , local(at(all.nodes()), -1)
        , neighbors(asked.size())
        , cost(asked.size())
        , position(asked.size(), -1)
        , most(limits)
    {
        most.neighbors = std::min(most.neighbors, kMostScope);
        for (std::size_t i = 0; i < nodes.size(); ++i)
            local[at(nodes[i])] = static_cast<int>(i);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (std::size_t side = network.sideStart[at(nodes[i])]; side < network.sideStart[at(nodes[i]) + 1]; ++side)
                if (const int other = local[at(network.sides[side].other)]; other >= 0)
                    neighbors[i].push_back(other);
            std::ranges::sort(neighbors[i]);
            cost[i] = work(static_cast<int>(i));
        }
    }

    double work(int node) const
    {
        double out = network.k(nodes[at(node)]);
        for (const int other : neighbors[at(node)])
            out *= network.k(nodes[at(other)]);
        return neighbors[at(node)].size() > most.neighbors ? std::numeric_limits<double>::max() : out;
    }

    /// Takes a node out; with `join` its neighbors become neighbors of each other.
    template <class Changed>
    void remove(int node, bool join, Changed changed)
    {
        const std::vector<int> around = std::move(neighbors[at(node)]);
        neighbors[at(node)].clear();
        std::vector<int> merged;
        for (const int other : around) {
            std::vector<int>& theirs = neighbors[at(other)];
            if (join) {
                merged.clear();
                std::ranges::set_union(theirs, around, std::back_inserter(merged));
                std::swap(theirs, merged);
                theirs.erase(std::ranges::lower_bound(theirs, other));
            }
            theirs.erase(std::ranges::lower_bound(theirs, node));
            cost[at(other)] = work(other);
            changed(other);
        }
        if (join)
            scopes.push_back(around);
    }

    void run(Rest rest, Random& random)
    {
        using Entry = std::pair<double, int>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
        std::vector<char> gone(nodes.size(), 0);
        for (std::size_t i = 0; i < nodes.size(); ++i)
            waiting.emplace(cost[i], static_cast<int>(i));
        const auto changed = [&](int node) { waiting.emplace(cost[at(node)], node); };
        while (!waiting.empty()) {
            const auto [value, node] = waiting.top();
            waiting.pop();
            if (gone[at(node)] || value != cost[at(node)])
                continue;
            if (value <= most.work) {
                gone[at(node)] = 1;
                position[at(node)] = static_cast<int>(scopes.size());
                remove(node, true, changed);
                continue;
            }
            if (rest == Rest::Open)
                break;
            // Something has to stay: of the node and its neighbors the one that stands in the way the most, more or less.
            int stays = node;
            double worst = -1;
            const auto weigh = [&](int candidate) {
                double weight = static_cast<double>(neighbors[at(candidate)].size()) * (0.3 + random.unit());
                if (most.firstMatter)
                    weight *= candidate;
                if (weight > worst) {
                    worst = weight;
                    stays = candidate;
                }
            };
            weigh(node);
            for (const int other : neighbors[at(node)])
                weigh(other);
            gone[at(stays)] = 1;
            remove(stays, false, changed);
            if (stays != node)
                waiting.emplace(cost[at(node)], node);
        }
    }
};

Elimination::Elimination(const Network& network, std::span<const int> nodes, const EliminationLimits& limits, Rest rest,
                         Random& random)
    : m_network(network)
{
    Plan plan(network, nodes, limits);
    plan.run(rest, random);
    write(plan, rest);
}

void Elimination::write(Plan& plan, Rest rest)
{
    struct Known { ///< a table over nodes that are not eliminated yet, sorted by position
        const double* fixed;
        std::size_t table;
        std::vector<int> scope;
    };
    const std::size_t steps = plan.scopes.size();
    std::vector<int> byPosition(steps);
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
        if (plan.position[i] >= 0) {
            byPosition[at(plan.position[i])] = static_cast<int>(i);
        } else if (rest == Rest::Open) { // after all others
            plan.position[i] = static_cast<int>(byPosition.size());
            byPosition.push_back(static_cast<int>(i));
        }
    }
    std::vector<std::vector<Known>> waiting(steps); // by the position of the first node of the scope
    m_order.resize(steps);
    std::size_t tables = 0;
    std::size_t unaries = 0;
    for (std::size_t position = 0; position < steps; ++position) {
        const int self = byPosition[position];
        const int node = plan.nodes[at(self)];
        m_order[position] = node;
        std::vector<int>& scope = plan.scopes[position];
        for (int& other : scope)
            other = plan.position[at(other)];
        // Nodes that were eliminated before left the neighborhoods; those that stayed in the end did, too.
        std::erase_if(scope, [](int other) { return other < 0; });
        std::ranges::sort(scope);
        Step step { node, m_scopes.size(), m_factors.size(), tables, 1, unaries };
        unaries += at(m_network.k(node));
        m_outsideStart.push_back(m_outside.size());
        for (std::size_t side = m_network.sideStart[at(node)]; side < m_network.sideStart[at(node) + 1]; ++side) {
            const Side& it = m_network.sides[side];
            const Network::Link& link = m_network.links[at(it.edge)];
            const int other = plan.local[at(it.other)];
            const int when = other < 0 ? -1 : plan.position[at(other)];
            if (when < 0)
                m_outside.emplace_back(position, side);
            else if (when > static_cast<int>(position))
                waiting[position].push_back(
                    { m_network.tables.data() + (it.first ? link.rows : link.columns), 0, { static_cast<int>(position), when } });
        }
        for (const int other : scope)
            step.size *= at(m_network.k(plan.nodes[at(byPosition[at(other)])]));
        for (const Known& known : waiting[position]) {
            Factor factor { known.fixed, known.table, 1, m_strides.size(), !scope.empty() && known.scope.back() == scope.back() };
            std::vector<std::size_t> strides(scope.size(), 0);
            std::size_t stride = 1;
            for (std::size_t i = known.scope.size(); i-- > 1;) {
                strides[static_cast<std::size_t>(std::ranges::lower_bound(scope, known.scope[i]) - scope.begin())] = stride;
                stride *= at(m_network.k(plan.nodes[at(byPosition[at(known.scope[i])])]));
            }
            factor.step = stride;
            m_strides.insert(m_strides.end(), strides.begin(), strides.end());
            m_factors.push_back(factor);
        }
        waiting[position] = {};
        // Those that hold the last node first.
        std::stable_partition(m_factors.begin() + static_cast<std::ptrdiff_t>(step.factors), m_factors.end(),
                              [](const Factor& factor) { return factor.last; });
        for (const int other : scope)
            m_scopes.push_back(plan.nodes[at(byPosition[at(other)])]);
        if (!scope.empty() && at(scope.front()) < steps)
            waiting[at(scope.front())].push_back({ nullptr, tables, scope });
        else if (!scope.empty())
            m_leftovers.push_back({ { m_scopes.end() - static_cast<std::ptrdiff_t>(scope.size()), m_scopes.end() }, tables });
        tables += step.size;
        m_steps.push_back(step);
    }
    m_outsideStart.push_back(m_outside.size());
    m_steps.push_back({ -1, m_scopes.size(), m_factors.size(), tables, 0, unaries });
    m_tables.resize(tables);
    m_unary.resize(unaries);
}

/// The costs of a node's strategies, links to nodes that stay included.
void Elimination::fold(const Step& step, std::span<const double> costs, const std::vector<int>& choice)
{
    const std::size_t k = at(m_network.k(step.node));
    double* unary = m_unary.data() + step.unary;
    std::copy_n(costs.begin() + static_cast<std::ptrdiff_t>(m_network.first[at(step.node)]), k, unary);
    const auto position = static_cast<std::size_t>(&step - m_steps.data());
    for (std::size_t i = m_outsideStart[position]; i < m_outsideStart[position + 1]; ++i) {
        const Side& it = m_network.sides[m_outside[i].second];
        const Network::Link& link = m_network.links[at(it.edge)];
        const double* row = m_network.tables.data() + (it.first ? link.columns : link.rows) + at(choice[at(it.other)]) * k;
        for (std::size_t s = 0; s < k; ++s)
            unary[s] += row[s];
    }
}

void Elimination::minimize(const Step& step, std::size_t scopeEnd, std::size_t factorEnd)
{
    const std::size_t width = scopeEnd - step.scope;
    const std::size_t k = at(m_network.k(step.node));
    const double* unary = m_unary.data() + step.unary;
    const std::size_t columns = width == 0 ? 1 : at(m_network.k(m_scopes[scopeEnd - 1]));
    double* out = m_tables.data() + step.table;
    const std::size_t factors = factorEnd - step.factors;
    std::array<std::size_t, kMostScope> digit {};
    std::vector<const double*>& at0 = m_pointers;
    at0.resize(factors);
    std::size_t withLast = 0;
    for (std::size_t f = 0; f < factors; ++f) {
        at0[f] = data(m_factors[step.factors + f]);
        withLast += m_factors[step.factors + f].last;
    }
    for (std::size_t row = 0; row < step.size; row += columns, out += columns) {
        std::fill_n(out, columns, std::numeric_limits<double>::infinity());
        for (std::size_t s = 0; s < k; ++s) {
            double base = unary[s];
            for (std::size_t f = withLast; f < factors; ++f)
                base += at0[f][s * m_factors[step.factors + f].step];
            const auto rowOf = [&](std::size_t f) { return at0[f] + s * m_factors[step.factors + f].step; };
            if (withLast == 1) {
                const double* x = rowOf(0);
                for (std::size_t t = 0; t < columns; ++t) {
                    const double value = base + x[t];
                    out[t] = value < out[t] ? value : out[t];
                }
            } else if (withLast == 2) {
                const double* x = rowOf(0);
                const double* y = rowOf(1);
                for (std::size_t t = 0; t < columns; ++t) {
                    const double value = base + x[t] + y[t];
                    out[t] = value < out[t] ? value : out[t];
                }
            } else {
                m_row.assign(columns, base);
                for (std::size_t f = 0; f < withLast; ++f) {
                    const double* x = rowOf(f);
                    for (std::size_t t = 0; t < columns; ++t)
                        m_row[t] += x[t];
                }
                for (std::size_t t = 0; t < columns; ++t)
                    out[t] = m_row[t] < out[t] ? m_row[t] : out[t];
            }
        }
        // The next row: the outer nodes of the scope count up.
        for (std::size_t i = width; i-- > 1;) {
            const std::size_t outer = i - 1;
            const std::size_t size = at(m_network.k(m_scopes[step.scope + outer]));
            const bool wraps = ++digit[outer] == size;
            for (std::size_t f = 0; f < factors; ++f) {
                const std::size_t stride = m_strides[m_factors[step.factors + f].strides + outer];
                at0[f] += wraps ? -static_cast<std::ptrdiff_t>((size - 1) * stride) : static_cast<std::ptrdiff_t>(stride);
            }
            if (!wraps)
                break;
            digit[outer] = 0;
        }
    }
}

void Elimination::eliminate(std::span<const double> costs, const std::vector<int>& choice)
{
    m_constant = 0;
    for (std::size_t i = 0; i < m_order.size(); ++i) {
        fold(m_steps[i], costs, choice);
        minimize(m_steps[i], m_steps[i + 1].scope, m_steps[i + 1].factors);
        if (m_steps[i].scope == m_steps[i + 1].scope)
            m_constant += m_tables[m_steps[i].table];
    }
}

void Elimination::choose(std::vector<int>& choice) const
{
    std::vector<double> values;
    for (std::size_t i = m_order.size(); i-- > 0;) {
        const Step& step = m_steps[i];
        const std::size_t k = at(m_network.k(step.node));
        values.assign(m_unary.data() + step.unary, m_unary.data() + step.unary + k);
        for (std::size_t f = step.factors; f < m_steps[i + 1].factors; ++f) {
            const Factor& factor = m_factors[f];
            std::size_t offset = 0;
            for (std::size_t j = step.scope; j < m_steps[i + 1].scope; ++j)
                offset += m_strides[factor.strides + j - step.scope] * at(choice[at(m_scopes[j])]);
            const double* table = data(factor) + offset;
            for (std::size_t s = 0; s < k; ++s)
                values[s] += table[s * factor.step];
        }
        choice[at(step.node)] = static_cast<int>(std::ranges::min_element(values) - values.begin());
    }
}

} // namespace shardboard::solver
