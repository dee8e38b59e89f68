// SPDX-License-Identifier: Apache-2.0
#include "model/cost/algorithms.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

using Group = AlgorithmGroup;
using Price = std::optional<PriceLine>;

double others(const Group& g) { return (g.n - 1) / g.n; }
/// The own block of an all-gather or reduce-scatter is an n-th of S.
double own(const Group& g) { return g.ownSeconds / g.n; }

Price ring(const Group& g) { return PriceLine { g.start + g.lap, others(g) * g.byteSeconds + own(g) }; }
Price ringSum(const Group& g) { return PriceLine { g.start + 2 * g.lapReducing, 2 * others(g) * g.byteSeconds + own(g) }; }
Price chainTree(const Group& g) { return PriceLine { g.start + 2 * g.chains, 2 * g.byteSeconds }; }
Price doubleTree(const Group& g) { return PriceLine { g.start + 2 * g.roundsReducing, 2 * g.byteSeconds }; }
Price doubling(const Group& g) { return PriceLine { g.start + g.rounds, others(g) * g.byteSeconds + own(g) }; }
Price doublingSum(const Group& g) { return PriceLine { g.start + g.roundsReducing, std::ceil(std::log2(g.n)) * g.byteSeconds }; }
Price rabenseifner(const Group& g) { return PriceLine { g.start + 2 * g.roundsReducing, 2 * others(g) * g.byteSeconds + own(g) }; }
Price oneShot(const Group& g) { return PriceLine { g.start + g.lowStep, (g.n - 1) * g.byteSeconds }; }
Price twoShot(const Group& g) { return PriceLine { g.start + 2 * g.lowStep, 2 * others(g) * g.byteSeconds + own(g) }; }

/// On one level alone, where the switch of an island itself sums or multiplies.
Price nvlsSum(const Group& g)
{
    if (g.inSwitch == nullptr || g.outer > 1)
        return std::nullopt;
    return PriceLine { g.start + g.inSwitch->startSeconds, (1 + 1 / g.n) * g.byteSeconds / g.inSwitch->efficiency };
}
Price nvls(const Group& g)
{
    if (g.inSwitch == nullptr || g.outer > 1)
        return std::nullopt;
    return PriceLine { g.start + g.inSwitch->startSeconds, others(g) * g.byteSeconds / g.inSwitch->efficiency + own(g) };
}
/// The switches of the network sum what goes up and send the result down: every port carries its share of S once each way. An
/// island sums inside before and spreads the result after that, in its own switch or directly, all at the same time (NCCL's
/// CollNet).
Price sharpSum(const Group& g)
{
    if (g.sharp == nullptr)
        return std::nullopt;
    const double between = g.outerByteSeconds / g.sharp->efficiency;
    double inside = 0;
    if (g.inner > 1)
        inside = g.inSwitch != nullptr ? (1 + 1 / g.inner) * g.innerByteSeconds / g.inSwitch->efficiency
                                       : 2 * (g.inner - 1) / g.inner * g.innerByteSeconds;
    return PriceLine { g.start + g.sharp->startSeconds + (g.inner > 1 ? 2 * g.innerStep : 0), std::max(inside, between) };
}
/// In the switch of every node, a tree between nodes; both work at the same time.
Price nvlsTree(const Group& g)
{
    if (g.inSwitch == nullptr || g.outer < 2 || g.inner < 2)
        return std::nullopt;
    const double rounds = std::ceil(std::log2(g.outer));
    const double inside = (1 + 1 / g.inner) * g.innerByteSeconds;
    const double between = (g.outer > 2 ? 2 : 1) * g.outerByteSeconds;
    return PriceLine { g.start + g.inSwitch->startSeconds + 2 * rounds * g.step,
                       std::max(inside, between) / g.inSwitch->efficiency };
}
/// NCCL has it for one device in a node; its tuner counts three quarters of the rate.
Price pat(const Group& g)
{
    constexpr double kShare = 0.75;
    if (g.inner > 1)
        return std::nullopt;
    return PriceLine { g.start + g.rounds, others(g) * g.byteSeconds / kShare + own(g) };
}

Price direct(const Group& g) { return PriceLine { g.start + g.messages, g.directSeconds + own(g) }; }
Price bruck(const Group& g) { return PriceLine { g.start + g.rounds, std::ceil(std::log2(g.n)) / 2 * g.byteSeconds }; }
/// Pipelined in as many chunks as there are.
template <int Chunks>
Price chain(const Group& g)
{
    const double steps = g.n - 2 + Chunks;
    return PriceLine { g.start + g.lap / (g.n - 1) * steps, steps / Chunks * g.pointSeconds };
}
Price binomial(const Group& g) { return PriceLine { g.start + g.rounds, std::ceil(std::log2(g.n)) * g.pointSeconds }; }
Price point(const Group& g) { return PriceLine { g.start + g.step, g.pointSeconds }; }

struct Row {
    CollectiveKind kind;
    Algorithm algorithm;
    bool inNccl;
    Price (*price)(const Group&);
};

constexpr Row kRows[] {
    { CollectiveKind::AllReduce, Algorithm::Ring, true, ringSum },
    { CollectiveKind::AllReduce, Algorithm::ChainTree, true, chainTree },
    { CollectiveKind::AllReduce, Algorithm::DoubleTree, false, doubleTree },
    { CollectiveKind::AllReduce, Algorithm::RecursiveDoubling, false, doublingSum },
    { CollectiveKind::AllReduce, Algorithm::Rabenseifner, false, rabenseifner },
    { CollectiveKind::AllReduce, Algorithm::OneShot, false, oneShot },
    { CollectiveKind::AllReduce, Algorithm::TwoShot, false, twoShot },
    { CollectiveKind::AllReduce, Algorithm::Nvls, true, nvlsSum },
    { CollectiveKind::AllReduce, Algorithm::NvlsTree, true, nvlsTree },
    { CollectiveKind::AllReduce, Algorithm::Sharp, true, sharpSum },
    { CollectiveKind::AllGather, Algorithm::Ring, true, ring },
    { CollectiveKind::AllGather, Algorithm::RecursiveDoubling, false, doubling },
    { CollectiveKind::AllGather, Algorithm::Pat, true, pat },
    { CollectiveKind::AllGather, Algorithm::Nvls, true, nvls },
    { CollectiveKind::ReduceScatter, Algorithm::Ring, true, ring },
    { CollectiveKind::ReduceScatter, Algorithm::RecursiveDoubling, false, doubling },
    { CollectiveKind::ReduceScatter, Algorithm::Pat, true, pat },
    { CollectiveKind::ReduceScatter, Algorithm::Nvls, true, nvls },
    { CollectiveKind::AllToAll, Algorithm::Direct, true, direct },
    { CollectiveKind::AllToAll, Algorithm::Bruck, false, bruck },
    { CollectiveKind::Broadcast, Algorithm::Chain, true, chain<1> },
    { CollectiveKind::Broadcast, Algorithm::Chain, true, chain<8> },
    { CollectiveKind::Broadcast, Algorithm::Chain, true, chain<64> },
    { CollectiveKind::Broadcast, Algorithm::Chain, true, chain<512> },
    { CollectiveKind::Broadcast, Algorithm::Binomial, false, binomial },
    { CollectiveKind::SendRecv, Algorithm::Point, true, point },
};

} // namespace

void addAlgorithms(std::vector<PricedWay>& ways, CollectiveKind kind, const AlgorithmGroup& group, CollectiveLibrary library)
{
    for (const Row& row : kRows)
        if (row.kind == kind && (row.inNccl || library == CollectiveLibrary::Any))
            if (const Price price = row.price(group))
                ways.push_back(oneStage(kind, row.algorithm, *price));
}

std::optional<PriceLine> algorithmPrice(CollectiveKind kind, Algorithm algorithm, const AlgorithmGroup& group)
{
    for (const Row& row : kRows)
        if (row.kind == kind && row.algorithm == algorithm)
            return row.price(group);
    return std::nullopt;
}

} // namespace shardboard
