// SPDX-License-Identifier: Apache-2.0
#include "model/cost/pricecurve.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr std::array<const char*, kCollectiveKinds> kKinds { "all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                             "send-recv",  "broadcast",  "local-slice" };
constexpr std::array<const char*, 19> kAlgorithms { "none",
                                                    "ring",
                                                    "tree",
                                                    "double binary tree",
                                                    "recursive doubling",
                                                    "halving and doubling",
                                                    "one-shot",
                                                    "two-shot",
                                                    "NVLS",
                                                    "NVLS tree",
                                                    "SHARP",
                                                    "PAT",
                                                    "direct",
                                                    "Bruck",
                                                    "chain",
                                                    "binomial tree",
                                                    "point to point",
                                                    "torus rings",
                                                    "one pass through memory" };

double floors(const PricedWay& way)
{
    double sum = 0;
    for (std::size_t i = 0; i < way.hiddenCount; ++i)
        sum += way.hidden[i].floorSeconds;
    return sum;
}

double hiddenSlope(const PricedWay& way)
{
    double sum = 0;
    for (std::size_t i = 0; i < way.hiddenCount; ++i)
        sum += way.hidden[i].secondsPerByte;
    return sum;
}

/// Whether `a` is never dearer than `b`, as far as their parts tell.
bool covers(const PricedWay& a, const PricedWay& b)
{
    return a.hiddenCount <= 1 && a.line.latencySeconds <= b.line.latencySeconds && a.line.secondsPerByte <= b.line.secondsPerByte
        && floors(a) <= floors(b) && hiddenSlope(a) <= hiddenSlope(b);
}

/// Whether a straight line between two others in steepness lies above the lower one of them everywhere.
bool above(const PriceLine& line, const PriceLine& steeper, const PriceLine& flatter)
{
    // Where the outer two cross, the inner one has to lie below them to be of use.
    const double crossing = (flatter.latencySeconds - steeper.latencySeconds) / (steeper.secondsPerByte - flatter.secondsPerByte);
    return line.seconds(crossing) >= steeper.seconds(crossing);
}

/// The ways that are the cheapest somewhere. Of straight lines exactly those.
std::vector<PricedWay> envelope(const std::vector<PricedWay>& ways)
{
    // Few and large: what is sorted are their places. Ties stay in order.
    std::vector<std::pair<double, std::size_t>> order;
    order.reserve(ways.size());
    for (std::size_t i = 0; i < ways.size(); ++i)
        order.emplace_back(ways[i].line.latencySeconds + floors(ways[i]), i);
    std::ranges::sort(order);
    std::vector<PricedWay> kept;
    kept.reserve(std::min<std::size_t>(ways.size(), 8));
    for (const auto& [latency, index] : order) {
        const PricedWay& way = ways[index];
        if (std::ranges::any_of(kept, [&](const PricedWay& other) { return covers(other, way); }))
            continue;
        if (way.hiddenCount > 0) {
            kept.push_back(way);
            continue;
        }
        // Straight lines come in rising latency and falling slope.
        for (;;) {
            int before[2] = { -1, -1 };
            for (std::size_t i = kept.size(); i-- > 0 && before[1] < 0;)
                if (kept[i].hiddenCount == 0)
                    before[before[0] < 0 ? 0 : 1] = static_cast<int>(i);
            if (before[1] < 0
                || !above(kept[static_cast<std::size_t>(before[0])].line, kept[static_cast<std::size_t>(before[1])].line, way.line))
                break;
            kept.erase(kept.begin() + before[0]);
        }
        kept.push_back(way);
    }
    return kept;
}

void append(PricedWay& to, const PricedWay& way, double share)
{
    to.line.latencySeconds += way.line.latencySeconds;
    to.line.secondsPerByte += way.line.secondsPerByte * share;
    for (std::size_t i = 0; i < way.hiddenCount; ++i) {
        const HiddenLatency hidden { way.hidden[i].floorSeconds, way.hidden[i].secondsPerByte * share };
        if (to.hiddenCount < PricedWay::kMostHidden) {
            to.hidden[to.hiddenCount++] = hidden;
        } else {
            to.line.latencySeconds += hidden.floorSeconds;
            to.line.secondsPerByte += hidden.secondsPerByte;
        }
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(way.stageCount); ++i) {
        const auto at = static_cast<std::size_t>(to.stageCount) + i;
        if (i < PricedWay::kMostStages && at < PricedWay::kMostStages)
            to.stages[at] = way.stages[i];
    }
    to.stageCount = static_cast<std::uint16_t>(to.stageCount + way.stageCount);
}

double shareOf(CollectiveKind kind, double n)
{
    switch (kind) {
    case CollectiveKind::AllReduce:
        return 2 * (n - 1) / n;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
        return (n - 1) / n;
    case CollectiveKind::SendRecv:
    case CollectiveKind::Broadcast:
    case CollectiveKind::LocalSlice:
        break;
    }
    return 1;
}

} // namespace

std::string collectiveName(CollectiveKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<CollectiveKind> collectiveFromName(std::string_view name)
{
    const auto found = std::ranges::find(kKinds, name);
    return found == kKinds.end() ? std::nullopt : std::optional(static_cast<CollectiveKind>(found - kKinds.begin()));
}

std::string algorithmName(Algorithm algorithm) { return kAlgorithms[static_cast<std::size_t>(algorithm)]; }

double PricedWay::latency(double bytes) const
{
    double sum = line.latencySeconds;
    for (std::size_t i = 0; i < hiddenCount; ++i)
        if (hidden[i].floorSeconds > hidden[i].secondsPerByte * bytes)
            sum += hidden[i].floorSeconds;
    return sum;
}

std::string PricedWay::text() const
{
    if (stageCount == 1)
        return algorithmName(stages[0].algorithm);
    std::string out;
    for (std::size_t i = 0; i < stages.size() && i < static_cast<std::size_t>(stageCount); ++i)
        out += (i == 0 ? "" : ", ") + collectiveName(stages[i].kind) + " by " + algorithmName(stages[i].algorithm);
    return static_cast<std::size_t>(stageCount) > stages.size() ? out + ", …" : out;
}

PriceCurve::PriceCurve(const std::vector<PricedWay>& ways)
    : m_ways(envelope(ways))
{
}

CollectiveTime PriceCurve::at(std::int64_t bytes) const
{
    if (m_ways.empty())
        return {};
    const auto s = static_cast<double>(bytes);
    const auto least =
        std::ranges::min_element(m_ways, [&](const PricedWay& a, const PricedWay& b) { return a.seconds(s) < b.seconds(s); });
    const double seconds = least->seconds(s);
    const double latency = least->latency(s);
    return { seconds, latency, seconds - latency, least->text() };
}

PricedWay oneStage(CollectiveKind kind, Algorithm algorithm, PriceLine line)
{
    PricedWay way;
    way.line = line;
    way.stages[0] = { kind, algorithm };
    way.stageCount = 1;
    return way;
}

PricedWay oneStage(CollectiveKind kind, Algorithm algorithm, PriceLine line, HiddenLatency hidden)
{
    PricedWay way = oneStage(kind, algorithm, line);
    way.hidden[0] = hidden;
    way.hiddenCount = 1;
    return way;
}

void addStaged(std::vector<PricedWay>& ways, const std::vector<CurveStage>& stages)
{
    std::vector<PricedWay> partial { PricedWay {} };
    for (const CurveStage& stage : stages) {
        std::vector<PricedWay> longer;
        longer.reserve(partial.size() * stage.curve->ways().size());
        for (const PricedWay& before : partial)
            for (const PricedWay& way : stage.curve->ways()) {
                append(longer.emplace_back(before), way, stage.share);
            }
        partial = envelope(longer);
    }
    ways.insert(ways.end(), partial.begin(), partial.end());
}

double algorithmBandwidth(std::int64_t bytes, double seconds) { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }

double busBandwidth(CollectiveKind kind, std::int64_t groupSize, std::int64_t bytes, double seconds)
{
    return algorithmBandwidth(bytes, seconds) * shareOf(kind, static_cast<double>(groupSize));
}

} // namespace shardboard
