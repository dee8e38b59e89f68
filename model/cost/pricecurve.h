// SPDX-License-Identifier: Apache-2.0
// The time of a collective as a function of its bytes: the least over the ways to run it, each a sum of straight lines that
// rise. So a time never falls when bytes grow, whatever the hardware, and a look-up is a few multiplications.
#pragma once

#include "model/cost/collectivekind.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace shardboard {

enum class Algorithm : std::uint8_t {
    None,
    Ring,
    ChainTree,
    DoubleTree,
    RecursiveDoubling,
    Rabenseifner,
    OneShot,
    TwoShot,
    Nvls,
    NvlsTree,
    Sharp,
    Pat,
    Direct,
    Bruck,
    Chain,
    Binomial,
    Point,
    Torus,
    SharedMemory
};
std::string algorithmName(Algorithm algorithm); ///< ring, NVLS, recursive doubling, …

/// latencySeconds + secondsPerByte S, and more for each byte beyond `bend` where a cache ends. Only the one way through a shared
/// memory bends; lines that are compared with others or put one after the other are straight.
struct PriceLine {
    double latencySeconds = 0;
    double secondsPerByte = 0;
    double bend = std::numeric_limits<double>::infinity(); ///< S
    double moreBeyond = 0; ///< seconds per byte
    double seconds(double bytes) const
    {
        return latencySeconds + secondsPerByte * bytes + (bytes > bend ? (bytes - bend) * moreBeyond : 0);
    }
};

/// max(floorSeconds, secondsPerByte S): hops that hide behind the transfer, or the other way round.
struct HiddenLatency {
    double floorSeconds = 0;
    double secondsPerByte = 0;
};

/// One way to run a collective: by one algorithm, or in stages, one after the other.
struct PricedWay {
    struct Stage {
        CollectiveKind kind = CollectiveKind::AllReduce;
        Algorithm algorithm = Algorithm::None;
    };
    static constexpr std::size_t kMostStages = 8; ///< that are remembered by name
    static constexpr std::size_t kMostHidden = 4; ///< further ones count as if nothing hid their latency

    PriceLine line;
    std::array<HiddenLatency, kMostHidden> hidden {};
    std::uint8_t hiddenCount = 0;
    std::array<Stage, kMostStages> stages {};
    std::uint16_t stageCount = 0; ///< also of those not remembered

    double seconds(double bytes) const
    {
        double sum = line.seconds(bytes);
        for (std::size_t i = 0; i < hiddenCount; ++i)
            sum += hidden[i].secondsPerByte * bytes > hidden[i].floorSeconds ? hidden[i].secondsPerByte * bytes
                                                                             : hidden[i].floorSeconds;
        return sum;
    }
    /// Seconds of it that no byte causes.
    double latency(double bytes) const;
    std::string text() const; ///< `ring`, `reduce-scatter by ring, all-reduce by tree, all-gather by ring`
};

/// What a look-up tells when it has to explain itself.
struct CollectiveTime {
    double seconds = 0;
    double latencySeconds = 0; ///< starts and steps
    double bandwidthSeconds = 0; ///< the rest: bytes on their way
    std::string algorithm;
};

class PriceCurve {
public:
    /// Nothing moves: no time at all.
    PriceCurve() = default;
    explicit PriceCurve(const std::vector<PricedWay>& ways);

    double seconds(std::int64_t bytes) const
    {
        if (m_ways.empty())
            return 0;
        const auto s = static_cast<double>(bytes);
        double least = m_ways.front().seconds(s);
        for (std::size_t i = 1; i < m_ways.size(); ++i) {
            const double other = m_ways[i].seconds(s);
            least = other < least ? other : least;
        }
        return least;
    }
    CollectiveTime at(std::int64_t bytes) const;
    /// Those that are the cheapest for some number of bytes.
    const std::vector<PricedWay>& ways() const { return m_ways; }

private:
    std::vector<PricedWay> m_ways;
};

/// A way by a single algorithm.
PricedWay oneStage(CollectiveKind kind, Algorithm algorithm, PriceLine line);
PricedWay oneStage(CollectiveKind kind, Algorithm algorithm, PriceLine line, HiddenLatency hidden);

/// One curve after the other, each on its share of the bytes.
struct CurveStage {
    const PriceCurve* curve = nullptr;
    double share = 1; ///< of S
};
/// Adds all ways to run the stages one after the other.
void addStaged(std::vector<PricedWay>& ways, const std::vector<CurveStage>& stages);

/// S by time (nccl-tests doc/PERFORMANCE.md); 0 where there is no time.
double algorithmBandwidth(std::int64_t bytes, double seconds);
/// That times 2 (n-1)/n for an all-reduce, (n-1)/n for an all-gather, reduce-scatter or all-to-all, else 1.
double busBandwidth(CollectiveKind kind, std::int64_t groupSize, std::int64_t bytes, double seconds);

} // namespace shardboard
