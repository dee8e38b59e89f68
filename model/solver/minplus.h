// SPDX-License-Identifier: Apache-2.0
// The least sum of costs that each depend on a few nodes, exactly: values that cannot be part of it are dropped (narrowed.h), then
// nodes are eliminated one after the other by min-plus products, the one with the smallest product first. Where the products would
// become too large, a node is tried value by value (branch and bound). In floating point and without memory: for small, narrow
// networks, as the layers of a model are. solve.h has the large ones.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace shardboard::minplus {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct CostNetwork {
    /// A table over nodes, row major, the last node fastest. No node is in it twice. Infinite where something cannot be.
    struct Factor {
        std::vector<int> nodes;
        std::vector<double> costs;
    };
    std::vector<int> sizes; ///< by node: how many values it has
    std::vector<Factor> factors;
    /// Set: the costs of the factors are floors, and this is the cost of an entry itself, which is no less but for rounding. It may
    /// be infinite where the floor is finite. It is asked for few entries, so that it may take long.
    std::function<double(std::size_t factor, std::size_t place)> exact {};
};

struct LeastOptions {
    std::size_t largestTable = std::size_t { 1 } << 25; ///< entries that a product may touch
    std::size_t narrowFrom = std::size_t { 1 } << 13; ///< entries of all tables from which values are dropped first (narrowed.h)
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    const std::atomic<bool>* cancelled = nullptr;
    double upper = kNever; ///< what is not below this is of no interest

    /// Whether it was cancelled, or the time is over.
    bool stopped() const
    {
        return (cancelled != nullptr && *cancelled)
            || (deadline != std::chrono::steady_clock::time_point::max() && std::chrono::steady_clock::now() >= deadline);
    }
};

struct LeastCost {
    std::vector<int> values; ///< by node; empty where nothing is below `upper`
    double cost = kNever;
    double bound = -kNever; ///< nothing costs less, but for rounding
    int width = 0; ///< most nodes that a product depended on, without the one that went
    std::size_t table = 0; ///< entries of the largest product
    std::size_t tried = 0; ///< values that were tried one by one
};

LeastCost least(const CostNetwork& network, const LeastOptions& options = {});

/// The same sum of an assignment.
double costOf(const CostNetwork& network, const std::vector<int>& values);

} // namespace shardboard::minplus
