// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/traffic.h"

#include "model/cost/leveltraffic.h"
#include "model/plan/time/steptime.h"

#include <map>

namespace shardboard {

std::vector<LevelTraffic> trafficOf(const Plan& plan, const Hardware& hardware)
{
    std::vector<LevelTraffic> out(hardware.levels.size());
    std::map<std::vector<int>, Footprint> footprints;
    for (const Collective& collective : plan.collectives) {
        if (collective.kind == CollectiveKind::LocalSlice || collective.groupSize < 2 || out.empty())
            continue;
        auto known = footprints.find(collective.axes);
        if (known == footprints.end())
            known = footprints.emplace(collective.axes, footprintOf(collective.axes, plan.mesh, hardware)).first;
        const bool stages = isStageSend(plan, collective);
        const SendPattern sends = stages                      ? SendPattern::Line
            : collective.step.before == collective.step.after ? SendPattern::Ring
                                                              : SendPattern::Anywhere;
        const double times =
            static_cast<double>(collective.count) / (plan.pipeline && !stages ? static_cast<double>(plan.pipeline->stages) : 1);
        const auto bytes = bytesByLevel(collective.kind, known->second, static_cast<double>(collective.bytes), sends);
        for (std::size_t level = 0; level < bytes.size(); ++level)
            out[level].bytes += times * bytes[level];
        out[widestLevel(known->second)].seconds += times * collective.seconds;
    }
    return out;
}

} // namespace shardboard
