// SPDX-License-Identifier: Apache-2.0
#include "model/solver/exhaustive.h"

#include "model/solver/evaluate.h"

#include <algorithm>

namespace shardboard::solver {

namespace {

constexpr std::size_t kMostNodes = 64;

/// Depth first, nodes in order; what is left is bounded by the least of each cost.
class Exhaustion {
public:
    Exhaustion(const Problem& problem, std::int64_t steps)
        : m_problem(problem)
        , m_steps(steps)
        , m_closing(problem.nodes())
        , m_rest(problem.nodes() + 1, 0)
        , m_choice(problem.nodes(), 0)
    {
        for (const Edge& edge : problem.edges) {
            const auto later = static_cast<std::size_t>(std::max(edge.a, edge.b));
            const auto size = static_cast<std::ptrdiff_t>(problem.strategies(static_cast<std::size_t>(edge.a)))
                * problem.strategies(static_cast<std::size_t>(edge.b));
            const auto begin = problem.edgeCosts.begin() + static_cast<std::ptrdiff_t>(edge.costs);
            m_closing[later].push_back(&edge);
            m_rest[later] += *std::min_element(begin, begin + size);
        }
        for (std::size_t node = problem.nodes(); node-- > 0;)
            m_rest[node] += m_rest[node + 1] + std::ranges::min(problem.costs(node));
        takeTimes();
    }

    std::optional<Assignment> run()
    {
        descend(0, 0);
        return m_steps < 0 ? std::nullopt : m_best;
    }

private:
    /// What each time in question leaves when all nodes are at their least.
    void takeTimes()
    {
        if (!m_problem.limit)
            return;
        for (std::size_t node = 0; node < m_problem.nodes(); ++node)
            if (m_problem.lifetimes[node].from < m_problem.lifetimes[node].until) {
                m_times.push_back(m_problem.lifetimes[node].from);
                m_times.push_back(m_problem.lifetimes[node].until); // usages may be negative
            }
        std::ranges::sort(m_times);
        m_times.erase(std::ranges::unique(m_times).begin(), m_times.end());
        m_room.assign(m_times.size(), *m_problem.limit);
        for (std::size_t node = 0; node < m_problem.nodes(); ++node)
            use(node, std::ranges::min(m_problem.usage(node)));
    }

    /// Takes room; false where there is too little.
    bool use(std::size_t node, Wide amount)
    {
        const Lifetime life = m_problem.lifetimes[node];
        bool fits = true;
        for (std::size_t i = 0; i < m_times.size(); ++i)
            if (life.from <= m_times[i] && m_times[i] < life.until) {
                m_room[i] -= amount;
                fits &= m_room[i] >= 0;
            }
        return fits;
    }

    void descend(std::size_t node, Wide cost)
    {
        if (m_best && cost + m_rest[node] >= m_bestCost)
            return;
        if (node == m_problem.nodes()) {
            m_best = m_choice;
            m_bestCost = cost;
            return;
        }
        const Wide least = std::ranges::min(m_problem.usage(node));
        for (int s = 0; s < m_problem.strategies(node) && --m_steps >= 0; ++s) {
            m_choice[node] = s;
            Wide more = cost + m_problem.costs(node)[static_cast<std::size_t>(s)];
            for (const Edge* edge : m_closing[node]) {
                const auto row = static_cast<std::size_t>(m_choice[static_cast<std::size_t>(edge->a)]);
                const auto columns = static_cast<std::size_t>(m_problem.strategies(static_cast<std::size_t>(edge->b)));
                more += m_problem.edgeCosts[edge->costs + row * columns
                                            + static_cast<std::size_t>(m_choice[static_cast<std::size_t>(edge->b)])];
            }
            const Wide extra = m_problem.usage(node)[static_cast<std::size_t>(s)] - least;
            if (use(node, extra))
                descend(node + 1, more);
            use(node, -extra);
        }
    }

    const Problem& m_problem;
    std::int64_t m_steps;
    std::vector<std::vector<const Edge*>> m_closing; ///< edges whose other node comes no later
    std::vector<Wide> m_rest; ///< the least that this node and later ones cost
    std::vector<std::int64_t> m_times;
    std::vector<Wide> m_room;
    Assignment m_choice;
    std::optional<Assignment> m_best;
    Wide m_bestCost = 0;
};

} // namespace

std::optional<Assignment> exhaust(const Problem& problem, std::int64_t steps)
{
    if (problem.nodes() > kMostNodes || leastExcess(problem))
        return std::nullopt;
    return Exhaustion(problem, steps).run();
}

} // namespace shardboard::solver
