// SPDX-License-Identifier: Apache-2.0
// The best assignment so far, shared by all threads. Each works on a copy of its own; what it found there is applied to the newest
// one if it still makes that better.
#pragma once

#include "model/solver/network.h"

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

namespace shardboard::solver {

class Incumbent {
public:
    /// A thread's copy.
    struct Copy {
        std::vector<int> choice;
        std::vector<std::int64_t> usage;
        double cost = 0;
        std::size_t seen = 0; ///< changes that are in it
    };

    /// `start` keeps the limit.
    Incumbent(const Network& network, const std::vector<int>& start);

    Copy copy() const;
    /// Brings a copy up to date.
    void follow(Copy& copy) const;
    /// Takes the choice of some nodes over if that keeps the limit and costs less; the copy is up to date afterwards. Gives what it
    /// saved.
    double offer(Copy& copy, std::span<const int> nodes, const std::vector<int>& choice);
    /// Takes of another assignment what makes this one better: each connected part in which they differ by itself.
    double offerParts(Copy& copy, const std::vector<int>& choice);
    double cost() const { return m_cost; }

private:
    void catchUp(Copy& copy) const;

    const Network& m_network;
    mutable std::mutex m_mutex;
    Copy m_now;
    std::vector<std::pair<int, int>> m_changes; ///< node and its new choice
    std::atomic<double> m_cost { 0 };
};

} // namespace shardboard::solver
