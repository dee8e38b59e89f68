// SPDX-License-Identifier: Apache-2.0
// The best choice of many nodes at once while others stay: nodes are eliminated one by one, each leaves a table of what it costs at
// best over the choices of its neighbors (min-plus). Where a table would get too large a node stays as it is, so that any set of
// nodes can be asked for.
#pragma once

#include "model/solver/network.h"
#include "model/solver/random.h"

#include <span>
#include <vector>

namespace shardboard::solver {

/// What one elimination may cost.
struct EliminationLimits {
    double work = 2e4; ///< entries that are looked at for one node, its own choices included
    std::size_t neighbors = 24;
    bool firstMatter = false; ///< nodes that were asked for first are the last to stay
};

/// What to eliminate in which order; made once, solved with many costs.
class Elimination {
public:
    /// What happens to nodes that the limits leave: their choices are taken as they are, or they stay open, with what the
    /// eliminated nodes cost over their choices as leftovers.
    enum class Rest { Fixed, Open };
    Elimination(const Network& network, std::span<const int> nodes, const EliminationLimits& limits, Rest rest, Random& random);

    /// The nodes that are solved for, in the order in which they are eliminated.
    const std::vector<int>& solved() const { return m_order; }
    /// `costs`: of the network's strategies. Sets the choices of the solved nodes, optimal for the choices of all others.
    void solve(std::span<const double> costs, std::vector<int>& choice)
    {
        eliminate(costs, choice);
        choose(choice);
    }
    /// The two halves of it: between them open nodes may be chosen.
    void eliminate(std::span<const double> costs, const std::vector<int>& choice);
    void choose(std::vector<int>& choice) const;

    /// What is left over open nodes; the first node of the scope is the table's slowest.
    struct Leftover {
        std::vector<int> scope;
        std::size_t table = 0;
    };
    const std::vector<Leftover>& leftovers() const { return m_leftovers; }
    const double* table(std::size_t place) const { return m_tables.data() + place; }
    /// Of parts of the graph that are eliminated as a whole: what they cost.
    double constant() const { return m_constant; }

private:
    struct Factor {
        const double* fixed = nullptr; ///< a link's table, or
        std::size_t table = 0; ///< one that an elimination made
        std::size_t step = 0; ///< of the eliminated node's strategy
        std::size_t strides = 0; ///< of the scope's nodes, in m_strides
        bool last = false; ///< holds the scope's last node, at stride 1
    };
    struct Step {
        int node = 0;
        std::size_t scope = 0; ///< in m_scopes, up to the next step's
        std::size_t factors = 0;
        std::size_t table = 0;
        std::size_t size = 0;
        std::size_t unary = 0;
    };
    struct Plan;

    void write(Plan& plan, Rest rest);
    void fold(const Step& step, std::span<const double> costs, const std::vector<int>& choice);
    void minimize(const Step& step, std::size_t scopeEnd, std::size_t factorEnd);
    const double* data(const Factor& factor) const { return factor.fixed ? factor.fixed : m_tables.data() + factor.table; }

    const Network& m_network;
    std::vector<int> m_order;
    std::vector<Step> m_steps; ///< one more than nodes
    std::vector<int> m_scopes;
    std::vector<Factor> m_factors;
    std::vector<std::size_t> m_strides;
    std::vector<std::pair<std::size_t, std::size_t>> m_outside; ///< step and side of links to nodes that stay
    std::vector<std::size_t> m_outsideStart;
    std::vector<double> m_tables;
    std::vector<double> m_unary;
    std::vector<Leftover> m_leftovers;
    double m_constant = 0;
    std::vector<const double*> m_pointers; ///< scratch
    std::vector<double> m_row;
};

} // namespace shardboard::solver
