// SPDX-License-Identifier: Apache-2.0
#include "model/solver/proof.h"

#include "model/solver/index.h"
#include "model/solver/usable.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardboard::solver {

namespace {

constexpr Wide kUnit = Wide { 1 } << kProofScale;
/// Sums of these stay within 128 bits.
constexpr long double kMostValue = 1e34L;

/// The problem while its nodes disappear. Between two nodes there is one table at most.
class Ledger {
public:
    explicit Ledger(const Problem& problem)
        : m_problem(problem)
        , m_usable(usableStrategies(problem))
        , m_unary(problem.nodes())
        , m_place(problem.nodes())
        , m_gone(problem.nodes(), 0)
        , m_around(problem.nodes())
    {
    }

    std::optional<Wide> bound(const Proof& proof)
    {
        if (!takeNodes(proof.prices))
            return std::nullopt;
        takeEdges();
        for (std::size_t node = 0; node < m_problem.nodes(); ++node)
            if (m_unary[node].size() == 1)
                removeSingle(static_cast<int>(node));
        for (const int node : proof.order)
            if (!eliminate(node))
                return std::nullopt;
        for (const Proof::Message& message : proof.messages)
            if (!move(message))
                return std::nullopt;
        for (std::size_t node = 0; node < m_problem.nodes(); ++node)
            if (!m_gone[node])
                m_sum += std::ranges::min(m_unary[node]);
        for (const auto& [ends, table] : m_tables)
            m_sum += std::ranges::min(table);
        // Costs are whole numbers: rounded up.
        const Wide whole = m_sum >= 0 ? (m_sum + kUnit - 1) / kUnit : -(-m_sum / kUnit);
        return std::min(whole, leastForbidden());
    }

private:
    using Table = std::vector<Wide>;
    using Ends = std::pair<int, int>; ///< the lower first; it is the table's slower

    bool takeNodes(const std::vector<Proof::Price>& prices)
    {
        if (!prices.empty() && !m_problem.limit)
            return false;
        std::vector<std::int64_t> times;
        std::vector<Wide> sums { 0 };
        for (const Proof::Price& price : prices) {
            if (price.price < 0 || (!times.empty() && times.back() >= price.time))
                return false;
            times.push_back(price.time);
            sums.push_back(sums.back() + price.price);
            m_sum -= price.price * *m_problem.limit;
        }
        long double most = 1;
        for (const std::int64_t used : m_problem.usages)
            most = std::max(most, std::abs(static_cast<long double>(used)));
        if (m_problem.limit)
            most = std::max(most, std::abs(static_cast<long double>(*m_problem.limit)));
        if (static_cast<long double>(sums.back()) * most > kMostValue)
            return false;
        for (std::size_t node = 0; node < m_problem.nodes(); ++node) {
            const Lifetime life = m_problem.lifetimes[node];
            Wide price = 0;
            if (life.from < life.until)
                price = sums[static_cast<std::size_t>(std::ranges::lower_bound(times, life.until) - times.begin())]
                    - sums[static_cast<std::size_t>(std::ranges::lower_bound(times, life.from) - times.begin())];
            for (int s = 0; s < m_problem.strategies(node); ++s) {
                if (!m_usable[m_problem.first[node] + at(s)])
                    continue;
                m_place[node].push_back(s);
                m_unary[node].push_back(m_problem.costs(node)[at(s)] * kUnit + price * m_problem.usage(node)[at(s)]);
            }
        }
        return true;
    }

    void takeEdges()
    {
        for (const Edge& edge : m_problem.edges) {
            const auto columns = at(m_problem.strategies(at(edge.b)));
            const auto cost = [&](int s, int t) { return m_problem.edgeCosts[edge.costs + at(s) * columns + at(t)] * kUnit; };
            if (edge.a == edge.b) {
                for (std::size_t s = 0; s < m_place[at(edge.a)].size(); ++s)
                    m_unary[at(edge.a)][s] += cost(m_place[at(edge.a)][s], m_place[at(edge.a)][s]);
                continue;
            }
            const bool turned = edge.a > edge.b;
            Table& table = tableOf(edge.a, edge.b);
            const std::vector<int>& rows = m_place[at(std::min(edge.a, edge.b))];
            const std::vector<int>& others = m_place[at(std::max(edge.a, edge.b))];
            for (std::size_t s = 0; s < rows.size(); ++s)
                for (std::size_t t = 0; t < others.size(); ++t)
                    table[s * others.size() + t] += turned ? cost(others[t], rows[s]) : cost(rows[s], others[t]);
        }
        for (auto i = m_tables.begin(); i != m_tables.end();)
            i = separates(i->first, i->second) ? drop(i) : std::next(i);
    }

    Table& tableOf(int a, int b)
    {
        Table& table = m_tables[{ std::min(a, b), std::max(a, b) }];
        if (table.empty()) {
            table.assign(m_unary[at(a)].size() * m_unary[at(b)].size(), 0);
            m_around[at(a)].push_back(b);
            m_around[at(b)].push_back(a);
        }
        return table;
    }

    std::map<Ends, Table>::iterator drop(std::map<Ends, Table>::iterator table)
    {
        std::erase(m_around[at(table->first.first)], table->first.second);
        std::erase(m_around[at(table->first.second)], table->first.first);
        return m_tables.erase(table);
    }

    /// Moves a table that is a sum of a row's and a column's to the nodes.
    bool separates(const Ends& ends, const Table& table)
    {
        Table& a = m_unary[at(ends.first)];
        Table& b = m_unary[at(ends.second)];
        for (std::size_t s = 0; s < a.size(); ++s)
            for (std::size_t t = 0; t < b.size(); ++t)
                if (table[s * b.size() + t] + table[0] != table[s * b.size()] + table[t])
                    return false;
        for (std::size_t s = 0; s < a.size(); ++s)
            a[s] += table[s * b.size()];
        for (std::size_t t = 0; t < b.size(); ++t)
            b[t] += table[t] - table[0];
        return true;
    }

    void removeSingle(int node)
    {
        while (!m_around[at(node)].empty()) {
            const int other = m_around[at(node)].front();
            const auto table = m_tables.find({ std::min(node, other), std::max(node, other) });
            for (std::size_t s = 0; s < table->second.size(); ++s)
                m_unary[at(other)][s] += table->second[s];
            drop(table);
        }
        m_sum += m_unary[at(node)].front();
        m_gone[at(node)] = 1;
    }

    /// What a node and another one cost together, by the other's strategies first.
    Table between(int node, int other)
    {
        const auto found = m_tables.find({ std::min(node, other), std::max(node, other) });
        const std::size_t mine = m_unary[at(node)].size();
        const std::size_t theirs = m_unary[at(other)].size();
        Table out(mine * theirs);
        for (std::size_t s = 0; s < mine; ++s)
            for (std::size_t t = 0; t < theirs; ++t)
                out[t * mine + s] = found->second[node < other ? s * theirs + t : t * mine + s];
        drop(found);
        return out;
    }

    bool eliminate(int node)
    {
        if (node < 0 || at(node) >= m_problem.nodes() || m_gone[at(node)] || m_around[at(node)].size() > 2)
            return false;
        m_gone[at(node)] = 1;
        const Table& unary = m_unary[at(node)];
        const std::size_t k = unary.size();
        std::vector<int> others = m_around[at(node)];
        std::ranges::sort(others);
        if (others.empty()) {
            m_sum += std::ranges::min(unary);
            return true;
        }
        Table first = between(node, others[0]);
        for (std::size_t i = 0; i < first.size(); ++i)
            first[i] += unary[i % k];
        const std::size_t rows = first.size() / k;
        if (others.size() == 1) {
            for (std::size_t s = 0; s < rows; ++s)
                m_unary[at(others[0])][s] += *std::min_element(first.data() + s * k, first.data() + (s + 1) * k);
            return true;
        }
        const Table second = between(node, others[1]);
        const std::size_t columns = second.size() / k;
        Table& out = tableOf(others[0], others[1]);
        for (std::size_t s = 0; s < rows; ++s)
            for (std::size_t t = 0; t < columns; ++t) {
                Wide least = first[s * k] + second[t * k];
                for (std::size_t i = 1; i < k; ++i)
                    least = std::min(least, first[s * k + i] + second[t * k + i]);
                out[s * columns + t] += least;
            }
        return true;
    }

    bool move(const Proof::Message& message)
    {
        const auto nodes = static_cast<int>(m_problem.nodes());
        if (message.a < 0 || message.b < 0 || message.a >= message.b || message.b >= nodes || m_gone[at(message.a)]
            || m_gone[at(message.b)] || message.toA.size() != at(m_problem.strategies(at(message.a)))
            || message.toB.size() != at(m_problem.strategies(at(message.b))))
            return false;
        Table& a = m_unary[at(message.a)];
        Table& b = m_unary[at(message.b)];
        Table& table = tableOf(message.a, message.b);
        for (std::size_t s = 0; s < a.size(); ++s)
            a[s] += message.toA[at(m_place[at(message.a)][s])];
        for (std::size_t t = 0; t < b.size(); ++t)
            b[t] += message.toB[at(m_place[at(message.b)][t])];
        for (std::size_t s = 0; s < a.size(); ++s)
            for (std::size_t t = 0; t < b.size(); ++t)
                table[s * b.size() + t] -= message.toA[at(m_place[at(message.a)][s])] + message.toB[at(m_place[at(message.b)][t])];
        return true;
    }

    /// What an assignment costs at least that has a forbidden cost anywhere.
    Wide leastForbidden() const
    {
        Wide out = kForbidden;
        for (std::size_t node = 0; node < m_problem.nodes(); ++node)
            out += std::min<Wide>(0, std::ranges::min(m_problem.costs(node)));
        for (const Edge& edge : m_problem.edges) {
            const auto begin = m_problem.edgeCosts.begin() + static_cast<std::ptrdiff_t>(edge.costs);
            const std::ptrdiff_t size =
                static_cast<std::ptrdiff_t>(m_problem.strategies(at(edge.a))) * m_problem.strategies(at(edge.b));
            out += std::min<Wide>(0, *std::min_element(begin, begin + size));
        }
        const bool all = std::ranges::all_of(m_usable, [](char usable) { return usable != 0; });
        return all ? Wide { 1 } << 120 : out; // nothing was left out
    }

    const Problem& m_problem;
    std::vector<char> m_usable;
    std::vector<Table> m_unary;
    std::vector<std::vector<int>> m_place; ///< the problem's strategies, by ours
    std::vector<char> m_gone;
    std::vector<std::vector<int>> m_around; ///< nodes with a table between
    std::map<Ends, Table> m_tables;
    Wide m_sum = 0;
};

Wide scaled(double value) { return static_cast<Wide>(std::clamp(value, -1e24, 1e24) * static_cast<double>(kUnit)); }

} // namespace

std::optional<Wide> boundOf(const Problem& problem, const Proof& proof) { return Ledger(problem).bound(proof); }

Proof proofOf(const Network& network, const std::vector<double>& prices, Relaxation& relaxation)
{
    Proof proof;
    for (std::size_t row = 0; row < prices.size(); ++row)
        if (const Wide price = scaled(prices[row]); price > 0)
            proof.prices.push_back({ network.time[row], price });
    for (const int node : relaxation.elimination().solved())
        proof.order.push_back(network.original[at(node)]);
    const auto messages = [&](std::size_t pair, bool second, int node) {
        std::vector<Wide> out(at(network.all[at(node)]), 0);
        const std::vector<double> from = relaxation.moved(pair, second);
        for (std::size_t s = 0; s < from.size(); ++s)
            out[at(network.strategy[network.first[at(node)] + s])] = scaled(from[s]);
        return out;
    };
    for (std::size_t i = 0; i < relaxation.pairs().size(); ++i) {
        const auto [a, b] = relaxation.pairs()[i];
        proof.messages.push_back({ network.original[at(a)], network.original[at(b)], messages(i, false, a), messages(i, true, b) });
    }
    return proof;
}

} // namespace shardboard::solver
