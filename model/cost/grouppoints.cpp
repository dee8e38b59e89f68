// SPDX-License-Identifier: Apache-2.0
#include "model/cost/grouppoints.h"

#include "model/cost/collectivesplits.h"
#include "model/cost/groupcurve.h"

#include <algorithm>
#include <limits>

namespace shardboard {

GroupPoints::GroupPoints(const Footprint& footprint)
    : m_footprint(&footprint)
    , m_used(usedLevels(footprint))
{
    for (const std::size_t level : m_used)
        m_members.push_back(static_cast<double>(footprint.levels[level].members));
}

double GroupPoints::seconds(CollectiveKind kind, double bytes, const Hardware& hardware, std::uint64_t edition)
{
    if (m_used.empty() || kind == CollectiveKind::LocalSlice || m_footprint->devices <= 1)
        return 0;
    m_hardware = &hardware;
    m_edition = edition;
    const double least = seconds(kind, 0, m_used.size(), bytes);
    return least == std::numeric_limits<double>::infinity() ? 0 : least; // as a curve without ways
}

const std::vector<PriceLine>& GroupPoints::lines(CollectiveKind kind, std::size_t first, std::size_t end)
{
    std::vector<Lines>& ofKind = m_lines[static_cast<std::size_t>(kind)];
    if (ofKind.empty())
        ofKind.resize(m_used.size() * m_used.size());
    Lines& out = ofKind[first * m_used.size() + end - 1];
    if (out.edition != m_edition) {
        out.edition = m_edition;
        m_ways.clear();
        addWholeWays(m_ways, kind, *m_footprint, *m_hardware, std::span(m_used).subspan(first, end - first));
        out.lines.clear();
        for (const PricedWay& way : m_ways)
            out.lines.push_back(way.line);
    }
    return out.lines;
}

double GroupPoints::seconds(CollectiveKind kind, std::size_t first, std::size_t end, double bytes)
{
    double least = std::numeric_limits<double>::infinity();
    for (const PriceLine& line : lines(kind, first, end))
        least = std::min(least, line.seconds(bytes));
    if (m_footprint->even)
        for (std::size_t middle = first + 1; middle < end; ++middle) {
            const auto membersOf = [&](std::size_t from, std::size_t to) {
                double product = 1;
                for (std::size_t i = from; i < to; ++i)
                    product *= m_members[i];
                return product;
            };
            const double members[2] { membersOf(first, middle), membersOf(middle, end) };
            visitLevelSplits(kind, [&](std::initializer_list<SplitStage> stages) {
                double sum = 0;
                for (const SplitStage& stage : stages) {
                    const double share = stage.whole ? bytes : bytes / members[1 - stage.part];
                    sum += stage.part == 0 ? seconds(stage.kind, first, middle, share) : seconds(stage.kind, middle, end, share);
                }
                least = std::min(least, sum);
            });
        }
    return least;
}

} // namespace shardboard
