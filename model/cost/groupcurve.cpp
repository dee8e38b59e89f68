// SPDX-License-Identifier: Apache-2.0
#include "model/cost/groupcurve.h"

#include "model/cost/collectivesplits.h"
#include "model/hardware/collectiverate.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

double lg(double n) { return n > 1 ? std::ceil(std::log2(n)) : 0; }

/// Of one device through its links of this level.
double deviceRate(const Level& level) { return level.link.bytesPerSecond * std::max(level.nicsPerDevice, 0.0); }

/// Traffic on the links of a torus.
struct TorusTraffic {
    double hops = 0; ///< to the farthest device, all dims together
    double rate = 0; ///< of all dims together, bytes/s
    double exchange = 0; ///< seconds of an all-to-all, dim by dim, by byte of S
    double apart = 1; ///< hops between neighbours of the group
    double sharing = 1;
};

TorusTraffic trafficOf(const LevelShare& share, const LinkSpec& link)
{
    TorusTraffic out;
    for (const TorusExtent& extent : share.torus) {
        if (extent.count == 1)
            continue;
        const auto sharing = static_cast<double>(extent.sharing());
        const double rate = link.bytesPerSecond * (extent.ring ? 2 : 1) / sharing;
        out.hops += extent.ring ? static_cast<double>(extent.size) / 2 : static_cast<double>(extent.span - 1);
        out.rate += rate;
        out.exchange += static_cast<double>(extent.count) / (4 * rate);
        out.apart = std::max(out.apart, sharing);
        out.sharing = std::max(out.sharing, sharing);
    }
    return out;
}

PricedWay torusWay(CollectiveKind kind, const LevelShare& share, const LinkSpec& link)
{
    const TorusTraffic traffic = trafficOf(share, link);
    const double hops = traffic.hops * link.alphaSeconds;
    const PriceLine start { link.startSeconds, 0 };
    switch (kind) {
    case CollectiveKind::AllReduce:
        return oneStage(kind, Algorithm::Torus, start, { 2 * hops, 2 / traffic.rate });
    case CollectiveKind::AllToAll:
        return oneStage(kind, Algorithm::Torus, start, { hops, traffic.exchange });
    case CollectiveKind::SendRecv:
        return oneStage(kind, Algorithm::Point,
                        { link.startSeconds + traffic.apart * link.alphaSeconds, traffic.sharing / link.bytesPerSecond });
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Broadcast:
    case CollectiveKind::LocalSlice:
        break;
    }
    return oneStage(kind, Algorithm::Torus, start, { hops, 1 / traffic.rate });
}

PricedWay memoryWay(CollectiveKind kind, double n, double groups, const LinkSpec& link)
{
    double times = 2 * n;
    if (kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter)
        times = n + 1;
    else if (kind == CollectiveKind::Broadcast)
        times = n;
    const double pieces = groups * n * (kind == CollectiveKind::AllToAll ? n : 1);
    const CollectiveRate* own = findRate(link, collectiveName(kind));
    const CollectiveRate rate =
        own != nullptr ? *own : CollectiveRate { "", link.messageSeconds.value_or(0), link.bytesPerSecond, link.cache };
    const double start = own != nullptr ? 0 : link.startSeconds + link.alphaSeconds;
    PriceLine line { start + pieces * rate.pieceSeconds, groups * times / rate.bytesPerSecond };
    if (rate.cache) {
        line.secondsPerByte = groups * times / rate.cache->bytesPerSecond;
        line.bend = rate.cache->bytes / (groups * times);
        line.moreBeyond = groups * times / rate.bytesPerSecond - line.secondsPerByte;
    }
    return oneStage(kind, Algorithm::SharedMemory, line);
}

class GroupCurve {
public:
    GroupCurve(const Footprint& footprint, const Hardware& hardware)
        : m_footprint(footprint)
        , m_hardware(hardware)
        , m_used(usedLevels(footprint))
    {
    }

    PriceCurve curve(CollectiveKind kind) const { return m_used.empty() ? PriceCurve() : curve(kind, 0, m_used.size()); }

private:
    /// On the used levels from `first` to before `end`.
    PriceCurve curve(CollectiveKind kind, std::size_t first, std::size_t end) const
    {
        std::vector<PricedWay> ways;
        addWholeWays(ways, kind, m_footprint, m_hardware, std::span(m_used).subspan(first, end - first));
        if (m_footprint.even)
            for (std::size_t middle = first + 1; middle < end; ++middle)
                addLevels(ways, kind, first, middle, end);
        return PriceCurve(ways);
    }

    double membersOf(std::size_t first, std::size_t end) const
    {
        double product = 1;
        for (std::size_t i = first; i < end; ++i)
            product *= static_cast<double>(m_footprint.levels[m_used[i]].members);
        return product;
    }

    void addLevels(std::vector<PricedWay>& ways, CollectiveKind kind, std::size_t first, std::size_t middle, std::size_t end) const
    {
        const double members[2] { membersOf(first, middle), membersOf(middle, end) };
        visitLevelSplits(kind, [&](std::initializer_list<SplitStage> stages) {
            std::vector<PriceCurve> curves;
            std::vector<CurveStage> shares;
            curves.reserve(stages.size()); // the stages lead to them
            for (const SplitStage& stage : stages) {
                curves.push_back(stage.part == 0 ? curve(stage.kind, first, middle) : curve(stage.kind, middle, end));
                shares.push_back({ &curves.back(), stage.whole ? 1 : 1 / members[1 - stage.part] });
            }
            addStaged(ways, shares);
        });
    }

    const Footprint& m_footprint;
    const Hardware& m_hardware;
    std::vector<std::size_t> m_used;
};

} // namespace

AlgorithmGroup algorithmGroup(const Footprint& footprint, const Hardware& hardware, std::size_t first, std::size_t end)
{
    AlgorithmGroup out;
    const bool whole = footprint.even || (first == 0 && end == hardware.levels.size());
    double units = 1; // of the level, inside those that the group has of the levels from `end` on
    for (std::size_t i = end; i-- > first;)
        units *= static_cast<double>(footprint.levels[i].members);
    out.n = footprint.even || !whole ? units : static_cast<double>(footprint.devices);
    out.inner = first == 0 ? static_cast<double>(footprint.levels[0].fewest) : 1;
    double touched = out.n; // places between which this level moves
    double together = 1; // members in a unit of the level, each with its own ports
    double crossing = 0;
    for (std::size_t i = first; i < end; ++i) {
        const LevelShare& share = footprint.levels[i];
        const LinkSpec& link = hardware.levels[i].link;
        const double members = static_cast<double>(share.members);
        out.start = std::max(out.start, members > 1 ? link.startSeconds : 0);
        double next = 1;
        for (std::size_t j = i + 1; j < end; ++j)
            next *= static_cast<double>(footprint.levels[j].members);
        if (!footprint.even)
            next = i + 1 < end ? static_cast<double>(share.units) : 1;
        if (members > 1) {
            const double hops = std::max(0.0, touched - next);
            out.lap += hops * link.step();
            out.lapReducing += hops * link.reducingStep();
            out.rounds += lg(members) * link.step();
            out.roundsReducing += lg(members) * link.reducingStep();
            out.chains += i == 0 ? (members - 1) * link.reducingStep() : lg(members) * link.reducingStep();
            out.step = link.step();
            out.lowStep = link.alphaSeconds;
            out.messages = std::max(out.messages, (out.n - 1) * link.message());
            const double device = deviceRate(hardware.levels[i]);
            const double group = device * (i == 0 ? 1 : together);
            out.byteSeconds = std::max(out.byteSeconds, 1 / group);
            out.pointSeconds = std::max(out.pointSeconds, 1 / device);
            crossing = (together * members - together) / out.n;
            if (!footprint.even && i > first)
                crossing = (out.n - together) / out.n;
            out.directSeconds = std::max(out.directSeconds, crossing / device);
            out.outerByteSeconds = 1 / group;
            if (i == first)
                out.innerByteSeconds = 1 / group;
            if (i > first) {
                out.outer = std::max(1.0, next * members);
                if (!footprint.even)
                    out.outer = std::max(2.0, touched);
            }
        }
        touched = next;
        together *= static_cast<double>(footprint.even ? share.members : share.fewest);
    }
    const LinkSpec& memory = hardware.levels.front().link;
    out.ownSeconds = memory.ownBlock > 0 ? memory.ownBlock / memory.bytesPerSecond : 0;
    const auto inSwitch = [&](std::size_t level, bool network) {
        const Level& it = hardware.levels[level];
        return it.inSwitch && (it.fabric == Fabric::FatTree) == network ? &*it.inSwitch : nullptr;
    };
    out.innerStep = hardware.levels[first].link.step();
    out.inSwitch = inSwitch(first, false);
    if (footprint.levels[end - 1].members > 1)
        out.sharp = inSwitch(end - 1, true);
    return out;
}

std::vector<std::size_t> usedLevels(const Footprint& footprint)
{
    std::vector<std::size_t> used;
    for (std::size_t level = 0; level < footprint.levels.size(); ++level)
        if (footprint.levels[level].members > 1)
            used.push_back(level);
    return used;
}

void addWholeWays(std::vector<PricedWay>& ways, CollectiveKind kind, const Footprint& footprint, const Hardware& hardware,
                  std::span<const std::size_t> levels)
{
    const Level& level = hardware.levels[levels.front()];
    const bool single = levels.size() == 1;
    if (single && level.link.shared) {
        ways.push_back(memoryWay(kind, static_cast<double>(footprint.levels[levels.front()].members),
                                 static_cast<double>(footprint.groups), level.link));
        return;
    }
    if (single && level.fabric == Fabric::Torus) {
        ways.push_back(torusWay(kind, footprint.levels[levels.front()], level.link));
        return;
    }
    bool plain = true; // no torus among the levels: its rings have formulas of their own
    for (const std::size_t used : levels)
        plain = plain && hardware.levels[used].fabric != Fabric::Torus && !hardware.levels[used].link.shared;
    if (plain || !footprint.even || kind == CollectiveKind::SendRecv)
        addAlgorithms(ways, kind, algorithmGroup(footprint, hardware, levels.front(), levels.back() + 1), hardware.library);
}

PriceCurve groupCurve(CollectiveKind kind, const Footprint& footprint, const Hardware& hardware)
{
    if (kind == CollectiveKind::LocalSlice || footprint.devices <= 1)
        return {};
    return GroupCurve(footprint, hardware).curve(kind);
}

} // namespace shardboard
