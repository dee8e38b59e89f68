// SPDX-License-Identifier: Apache-2.0
#include "model/solver/usable.h"

#include "model/solver/index.h"

#include <algorithm>
#include <numeric>

namespace shardboard::solver {

namespace {

/// Looks at edges again while their nodes lose strategies.
class Pruner {
public:
    explicit Pruner(const Problem& problem)
        : m_problem(problem)
        , m_alive(problem.nodeCosts.size(), 1)
        , m_edgesOf(problem.nodes())
    {
        for (std::size_t e = 0; e < problem.edges.size(); ++e) {
            m_edgesOf[at(problem.edges[e].a)].push_back(e);
            m_edgesOf[at(problem.edges[e].b)].push_back(e);
        }
    }

    /// By strategy; all alive where some node would be left without one.
    std::vector<char> run()
    {
        for (std::size_t i = 0; i < m_alive.size(); ++i)
            m_alive[i] = m_problem.nodeCosts[i] < kForbidden;
        std::vector<std::size_t> waiting(m_problem.edges.size());
        std::iota(waiting.begin(), waiting.end(), std::size_t { 0 });
        std::vector<char> queued(waiting.size(), 1);
        while (!waiting.empty()) {
            const std::size_t e = waiting.back();
            waiting.pop_back();
            queued[e] = 0;
            for (const int node : revise(m_problem.edges[e]))
                for (const std::size_t next : m_edgesOf[at(node)])
                    if (next != e && !queued[next]) {
                        queued[next] = 1;
                        waiting.push_back(next);
                    }
        }
        for (std::size_t node = 0; node < m_problem.nodes(); ++node)
            if (std::none_of(m_alive.begin() + static_cast<std::ptrdiff_t>(m_problem.first[node]),
                             m_alive.begin() + static_cast<std::ptrdiff_t>(m_problem.first[node + 1]), [](char c) { return c; }))
                return std::vector<char>(m_alive.size(), 1);
        return std::move(m_alive);
    }

private:
    /// The nodes that lost a strategy.
    std::vector<int> revise(const Edge& edge)
    {
        const std::size_t a = m_problem.first[at(edge.a)];
        const std::size_t b = m_problem.first[at(edge.b)];
        const std::size_t rows = at(m_problem.strategies(at(edge.a)));
        const std::size_t columns = at(m_problem.strategies(at(edge.b)));
        const std::int64_t* costs = m_problem.edgeCosts.data() + edge.costs;
        std::vector<int> out;
        if (edge.a == edge.b) {
            for (std::size_t s = 0; s < rows; ++s)
                if (m_alive[a + s] && costs[s * columns + s] >= kForbidden) {
                    m_alive[a + s] = 0;
                    out = { edge.a };
                }
            return out;
        }
        m_supported.assign(columns, 0);
        bool lostA = false;
        bool lostB = false;
        for (std::size_t s = 0; s < rows; ++s) {
            if (!m_alive[a + s])
                continue;
            bool any = false;
            for (std::size_t t = 0; t < columns; ++t) {
                const bool allowed = m_alive[b + t] && costs[s * columns + t] < kForbidden;
                any |= allowed;
                m_supported[t] |= static_cast<char>(allowed);
            }
            lostA |= !any;
            m_alive[a + s] = any;
        }
        for (std::size_t t = 0; t < columns; ++t)
            if (m_alive[b + t] && !m_supported[t]) {
                m_alive[b + t] = 0;
                lostB = true;
            }
        if (lostA)
            out.push_back(edge.a);
        if (lostB)
            out.push_back(edge.b);
        return out;
    }

    const Problem& m_problem;
    std::vector<char> m_alive;
    std::vector<std::vector<std::size_t>> m_edgesOf;
    std::vector<char> m_supported;
};

} // namespace

std::vector<char> usableStrategies(const Problem& problem) { return Pruner(problem).run(); }

} // namespace shardboard::solver
