// SPDX-License-Identifier: Apache-2.0
// Makes the incumbent better, part by part: the nodes of a region are chosen anew all at once, by elimination, while the others
// stay. The memory that the others leave is respected by prices of the region's own, which start from those of the dual and are
// raised where the answer is over the limit. Regions of all kinds and sizes take turns, those more often that saved more in the
// time they took.
#pragma once

#include "model/solver/elimination.h"
#include "model/solver/incumbent.h"
#include "model/solver/region.h"
#include "model/solver/relaxation.h"

#include <functional>
#include <memory>
#include <vector>

namespace shardboard::solver {

class Search {
public:
    /// `stop` is asked between steps of some milliseconds.
    Search(const Network& network, Incumbent& incumbent, std::uint64_t seed, std::function<bool()> stop);

    void usePrices(const std::vector<double>& prices) { m_prices = prices; }
    /// Tells where the incumbent is bad; it has to live as long.
    void useRelaxation(Relaxation& relaxation);
    /// One region.
    void step();

private:
    enum class Kind { Window, Ball, Balls, Moment, Gap, Whole };
    struct Arm {
        Kind kind = Kind::Whole;
        int size = 0;
        double saved = 0; ///< fading
        double seconds = 0;
    };
    struct Rows {
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    Arm& pick();
    void region(const Arm& arm);
    void window(int size);
    void moment(int size);
    int worstPlace();
    double improve(Elimination& elimination);
    Rows rowsOf(const std::vector<int>& nodes) const;
    double dualStep(const std::vector<int>& nodes, const std::vector<int>& choice, Rows rows);

    const Network& m_network;
    Incumbent& m_incumbent;
    Random m_random;
    std::function<bool()> m_stop;
    Incumbent::Copy m_copy;
    std::vector<double> m_prices; ///< of the dual
    std::vector<Arm> m_arms;
    std::vector<std::unique_ptr<Elimination>> m_whole; ///< of all nodes, with different ones that stay
    std::vector<int> m_all;
    Region m_region;
    Relaxation* m_relaxation = nullptr;
    std::vector<double> m_gaps; ///< by node, of the incumbent some time ago
    double m_gapsTime = 0;
    // Scratch of improve().
    std::vector<double> m_costs;
    std::vector<double> m_local;
    std::vector<double> m_sums;
    std::vector<double> m_over;
    std::vector<std::int64_t> m_change;
    bool m_fits = false;
};

} // namespace shardboard::solver
