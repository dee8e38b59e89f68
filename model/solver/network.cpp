// SPDX-License-Identifier: Apache-2.0
#include "model/solver/network.h"

#include "model/solver/index.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace shardboard::solver {

namespace {

/// Sums over all nodes stay within 64 bits. More than this no limit of any machine allows.
constexpr Wide kMostUsage = Wide { 1 } << 42;

double clamped(std::int64_t cost) { return cost >= kForbidden ? kForbiddenCost : static_cast<double>(cost); }

class Builder {
public:
    Builder(const Problem& problem, bool usableOnly)
        : m_problem(problem)
        , m_place(problem.nodes(), -1)
    {
        m_out.alive = usableOnly ? usableStrategies(problem) : std::vector<char>(problem.nodeCosts.size(), 1);
        m_out.decided.assign(problem.nodes(), -1);
    }

    Network run()
    {
        takeNodes();
        takeEdges();
        sidesOf();
        takeMemory();
        return std::move(m_out);
    }

private:
    void takeNodes()
    {
        for (std::size_t node = 0; node < m_problem.nodes(); ++node) {
            std::vector<int> left;
            for (std::size_t s = m_problem.first[node]; s < m_problem.first[node + 1]; ++s)
                if (m_out.alive[s])
                    left.push_back(static_cast<int>(s - m_problem.first[node]));
            m_left.push_back(left);
            if (left.size() == 1) {
                m_out.decided[node] = left.front();
                m_out.constant += clamped(m_problem.costs(node)[at(left.front())]);
                continue;
            }
            m_place[node] = m_out.nodes();
            m_out.original.push_back(static_cast<int>(node));
            m_out.all.push_back(m_problem.strategies(node));
            for (const int s : left) {
                m_out.strategy.push_back(s);
                m_out.cost.push_back(clamped(m_problem.costs(node)[at(s)]));
                m_out.usage.push_back(m_problem.usage(node)[at(s)]);
            }
            m_out.first.push_back(m_out.strategy.size());
        }
    }

    void takeEdges()
    {
        struct Pair {
            int a, b;
            std::size_t edge;
            bool turned;
        };
        std::vector<Pair> pairs;
        for (std::size_t e = 0; e < m_problem.edges.size(); ++e) {
            const Edge& edge = m_problem.edges[e];
            const int a = m_place[at(edge.a)];
            const int b = m_place[at(edge.b)];
            if (a < 0 || b < 0 || a == b)
                fold(edge, a, b);
            else
                pairs.push_back({ std::min(a, b), std::max(a, b), e, a > b });
        }
        std::ranges::sort(pairs,
                          [](const Pair& x, const Pair& y) { return std::tie(x.a, x.b, x.edge) < std::tie(y.a, y.b, y.edge); });
        for (std::size_t i = 0; i < pairs.size();) {
            const int a = pairs[i].a;
            const int b = pairs[i].b;
            std::vector<double> table(at(m_out.k(a)) * at(m_out.k(b)), 0.0);
            for (; i < pairs.size() && pairs[i].a == a && pairs[i].b == b; ++i)
                add(m_problem.edges[pairs[i].edge], pairs[i].turned, table);
            if (!separate(a, b, table))
                link(a, b, table);
        }
    }

    /// An edge of which at most one end has a choice.
    void fold(const Edge& edge, int a, int b)
    {
        const std::size_t columns = at(m_problem.strategies(at(edge.b)));
        const auto cost = [&](int s, int t) { return clamped(m_problem.edgeCosts[edge.costs + at(s) * columns + at(t)]); };
        if (a < 0 && b < 0) {
            m_out.constant += cost(m_out.decided[at(edge.a)], m_out.decided[at(edge.b)]);
            return;
        }
        const int node = a < 0 ? b : a;
        const std::size_t first = m_out.first[at(node)];
        for (std::size_t s = first; s < m_out.first[at(node) + 1]; ++s) {
            const int mine = m_out.strategy[s];
            m_out.cost[s] += a == b ? cost(mine, mine)
                : a < 0             ? cost(m_out.decided[at(edge.a)], mine)
                                    : cost(mine, m_out.decided[at(edge.b)]);
        }
    }

    void add(const Edge& edge, bool turned, std::vector<double>& table) const
    {
        const std::vector<int>& rows = m_left[at(edge.a)];
        const std::vector<int>& columns = m_left[at(edge.b)];
        const std::size_t width = at(m_problem.strategies(at(edge.b)));
        for (std::size_t s = 0; s < rows.size(); ++s)
            for (std::size_t t = 0; t < columns.size(); ++t)
                table[turned ? t * rows.size() + s : s * columns.size() + t] +=
                    clamped(m_problem.edgeCosts[edge.costs + at(rows[s]) * width + at(columns[t])]);
    }

    /// A table that is a sum of one cost for each end moves to the nodes.
    bool separate(int a, int b, const std::vector<double>& table)
    {
        const std::size_t rows = at(m_out.k(a));
        const std::size_t columns = at(m_out.k(b));
        for (std::size_t s = 0; s < rows; ++s)
            for (std::size_t t = 0; t < columns; ++t)
                if (table[s * columns + t] >= kForbiddenCost || table[s * columns + t] + table[0] != table[s * columns] + table[t])
                    return false;
        for (std::size_t s = 0; s < rows; ++s)
            m_out.cost[m_out.first[at(a)] + s] += table[s * columns];
        for (std::size_t t = 0; t < columns; ++t)
            m_out.cost[m_out.first[at(b)] + t] += table[t] - table[0];
        return true;
    }

    void link(int a, int b, std::vector<double>& table)
    {
        const std::size_t rows = at(m_out.k(a));
        const std::size_t columns = at(m_out.k(b));
        std::size_t hash = rows * 1000003 + columns;
        for (const double cost : table)
            hash = (hash ^ std::hash<double>()(cost)) * 0x9E3779B97F4A7C15U;
        std::vector<std::size_t>& same = m_tables[hash];
        const auto known = std::ranges::find_if(same, [&](std::size_t place) {
            return place + 2 * table.size() <= m_out.tables.size() && m_rowsAt[place] == rows
                && std::equal(table.begin(), table.end(), m_out.tables.begin() + static_cast<std::ptrdiff_t>(place));
        });
        if (known != same.end()) {
            m_out.links.push_back({ a, b, *known, *known + table.size() });
            return;
        }
        const std::size_t place = m_out.tables.size();
        same.push_back(place);
        m_rowsAt[place] = rows;
        m_out.tables.insert(m_out.tables.end(), table.begin(), table.end());
        for (std::size_t t = 0; t < columns; ++t)
            for (std::size_t s = 0; s < rows; ++s)
                m_out.tables.push_back(table[s * columns + t]);
        m_out.links.push_back({ a, b, place, place + table.size() });
    }

    void sidesOf()
    {
        m_out.sideStart.assign(at(m_out.nodes()) + 1, 0);
        for (const Network::Link& link : m_out.links) {
            ++m_out.sideStart[at(link.a) + 1];
            ++m_out.sideStart[at(link.b) + 1];
        }
        std::partial_sum(m_out.sideStart.begin(), m_out.sideStart.end(), m_out.sideStart.begin());
        m_out.sides.resize(m_out.sideStart.back());
        std::vector<std::size_t> next(m_out.sideStart.begin(), m_out.sideStart.end() - 1);
        for (std::size_t e = 0; e < m_out.links.size(); ++e) {
            const Network::Link& link = m_out.links[e];
            m_out.sides[next[at(link.a)]++] = { static_cast<int>(e), link.b, true };
            m_out.sides[next[at(link.b)]++] = { static_cast<int>(e), link.a, false };
        }
    }

    /// What a time asks for: all that is alive there at its least, and whether the limit can be passed.
    struct Moment {
        std::int64_t time = 0;
        Wide least = 0;
    };

    /// Between two changes of what is alive the usage stays. A time is left out where not even the most usage is over the limit,
    /// and where all that is alive there is alive at a kept time that has as much of the least usage.
    void takeMemory()
    {
        m_out.from.assign(at(m_out.nodes()), 0);
        m_out.until.assign(at(m_out.nodes()), 0);
        if (!m_problem.limit)
            return;
        struct Event {
            std::int64_t time;
            bool choice; ///< of a node whose usage depends on its strategy
            bool begins;
            Wide least, more;
        };
        std::vector<Event> events;
        for (std::size_t node = 0; node < m_problem.nodes(); ++node) {
            const Lifetime life = m_problem.lifetimes[node];
            if (life.from >= life.until)
                continue;
            const auto [least, more] = takeUsage(node);
            events.push_back({ life.from, more > 0, true, least, more });
            events.push_back({ life.until, more > 0, false, -least, -more });
        }
        std::ranges::sort(events, {}, &Event::time);
        const Wide limit = *m_problem.limit;
        std::vector<Moment> growing; // since the last end of a node with a choice; the later, the more of them are alive
        Wide least = 0;
        Wide more = 0;
        for (std::size_t i = 0; i < events.size();) {
            const std::int64_t time = events[i].time;
            bool ends = false;
            for (; i < events.size() && events[i].time == time; ++i) {
                least += events[i].least;
                more += events[i].more;
                ends |= events[i].choice && !events[i].begins;
            }
            if (ends)
                keep(growing);
            while (!growing.empty() && growing.back().least <= least)
                growing.pop_back();
            if (least + more > limit)
                growing.push_back({ time, least });
        }
        keep(growing);
        for (int node = 0; node < m_out.nodes(); ++node) {
            const Lifetime life = m_problem.lifetimes[at(m_out.original[at(node)])];
            if (life.from >= life.until)
                continue;
            m_out.from[at(node)] = static_cast<int>(std::ranges::lower_bound(m_out.time, life.from) - m_out.time.begin());
            m_out.until[at(node)] = static_cast<int>(std::ranges::lower_bound(m_out.time, life.until) - m_out.time.begin());
        }
    }

    /// The least usage of a node, and how much more it may be. From here on ours are counted from the least.
    std::pair<Wide, Wide> takeUsage(std::size_t node)
    {
        const int place = m_place[node];
        if (place < 0)
            return { m_problem.usage(node)[at(m_out.decided[node])], 0 };
        const std::span<std::int64_t> usage(m_out.usage.data() + m_out.first[at(place)],
                                            m_out.first[at(place) + 1] - m_out.first[at(place)]);
        const Wide least = std::ranges::min(usage);
        const Wide most = std::ranges::max(usage);
        for (std::int64_t& value : usage)
            value = static_cast<std::int64_t>(std::min(Wide { value } - least, kMostUsage));
        return { least, most - least };
    }

    void keep(std::vector<Moment>& moments)
    {
        for (const Moment& moment : moments) {
            m_out.time.push_back(moment.time);
            m_out.room.push_back(static_cast<std::int64_t>(std::clamp(*m_problem.limit - moment.least, -kMostUsage, kMostUsage)));
        }
        moments.clear();
    }

    const Problem& m_problem;
    std::vector<int> m_place; ///< ours by the problem's node
    std::vector<std::vector<int>> m_left; ///< strategies that are alive, by the problem's node
    std::unordered_map<std::size_t, std::vector<std::size_t>> m_tables;
    std::unordered_map<std::size_t, std::size_t> m_rowsAt;
    Network m_out;
};

} // namespace

Assignment Network::expand(const std::vector<int>& choice) const
{
    Assignment out = decided;
    for (std::size_t node = 0; node < original.size(); ++node)
        out[at(original[node])] = strategy[first[node] + at(choice[node])];
    return out;
}

Network simplify(const Problem& problem, bool usableOnly)
{
    Network out = Builder(problem, usableOnly).run();
    if (usableOnly && std::ranges::any_of(out.room, [](std::int64_t room) { return room < 0; }))
        return simplify(problem, false);
    return out;
}

} // namespace shardboard::solver
