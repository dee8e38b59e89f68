// SPDX-License-Identifier: Apache-2.0
// The dual of a network: prices of memory at each time, which move into the costs of the nodes; what nodes of few links cost, by
// elimination; messages between the nodes that are left (sequential tree-reweighted message passing). All that only moves costs
// about, so that the sum of what is least everywhere is a lower bound whatever prices and messages are.
#pragma once

#include "model/solver/elimination.h"
#include "model/solver/network.h"

#include <vector>

namespace shardboard::solver {

class Relaxation {
public:
    explicit Relaxation(const Network& network);

    /// Takes prices over: nodes are eliminated anew, messages stay.
    void usePrices(const std::vector<double>& prices);
    /// The same of costs of all strategies; the bound is then one for them.
    void useCosts(std::vector<double> costs);
    /// One sweep over the nodes that are left, there and back. Gives the bound for the prices that were taken.
    double sweep();
    /// After a sweep, by node: how much more a choice costs there and on its links than the bound counts. They sum to the gap;
    /// large ones are where the choice is bad or the bound is.
    std::vector<double> gaps(const std::vector<int>& choice);
    /// The assignment that the messages suggest.
    const std::vector<int>& decode();
    const std::vector<double>& costs() const { return m_costs; } ///< of all strategies, with the price of their memory

    const Elimination& elimination() const { return m_elimination; }
    /// Between the nodes that are left.
    struct Pair {
        int a = 0; ///< nodes of the network, a < b
        int b = 0;
    };
    const std::vector<Pair>& pairs() const { return m_pairs; }
    /// What moves from the pair's table to one of its nodes, so that after a sweep the least of all nodes and tables add up to the
    /// bound: the message, less what the later node gave for its own message back.
    std::vector<double> moved(std::size_t pair, bool second);

private:
    /// A link as a node that is left sees it.
    struct End {
        std::size_t pair = 0;
        int other = 0;
        bool second = false;
    };
    /// What makes up the table of a pair.
    struct Part {
        std::size_t pair = 0;
        std::size_t leftover = 0;
        bool turned = false; ///< the leftover's first node is the pair's second
    };

    void findPairs();
    std::size_t pairOf(int a, int b);
    const double* tableOf(const End& end) const { return m_table[2 * end.pair + end.second]; }
    void gather(int node);
    double send(const End& end, double weight);

    const Network& m_network;
    std::vector<int> m_all; ///< nodes, for the elimination
    Random m_random { 1 };
    Elimination m_elimination;
    std::vector<int> m_left; ///< nodes that are not eliminated
    std::vector<Pair> m_pairs;
    std::vector<std::vector<std::size_t>> m_pairsOf; ///< by the first node
    std::vector<std::vector<End>> m_ends; ///< by node
    std::vector<Part> m_parts;
    std::vector<std::size_t> m_single; ///< leftovers over one node
    std::vector<std::size_t> m_link; ///< the network's link of a pair, or none
    std::vector<std::size_t> m_own; ///< where the pair's own table is, none where the link's serves
    std::vector<const double*> m_table; ///< two of each pair: from the first to the second, and turned
    std::vector<double> m_tables;
    std::vector<std::size_t> m_start; ///< of messages, two of each pair
    std::vector<double> m_messages;
    std::vector<double> m_weight; ///< 1 / most links to one direction, by node
    std::vector<double> m_costs;
    std::vector<double> m_unary; ///< costs with what elimination left to single nodes
    std::vector<int> m_choice;
    double m_priceOfRoom = 0;
    double m_constant = 0;
    std::vector<double> m_sum; ///< scratch
    std::vector<double> m_value;
};

/// Costs of the network's strategies with the price of their memory.
void addPrices(const Network& network, const std::vector<double>& prices, std::vector<double>& costs);

} // namespace shardboard::solver
