// SPDX-License-Identifier: Apache-2.0
#include "model/design/finder/repairtrials.h"

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace shardboard {

namespace {

/// Of every stage of a pipeline.
std::vector<MemoryByCause> memoryOf(const Plan& plan)
{
    return plan.pipeline ? plan.pipeline->memory : std::vector<MemoryByCause> { plan.memory };
}

bool holdsLess(const Plan& then, const Plan& now)
{
    const std::vector<MemoryByCause> before = memoryOf(now);
    const std::vector<MemoryByCause> after = memoryOf(then);
    double freed = 0; // sums of stages may be large
    for (std::size_t stage = 0; stage < before.size() && stage < after.size(); ++stage) {
        if (after[stage].peak > before[stage].peak)
            return false;
        freed += static_cast<double>(before[stage].weights - after[stage].weights);
    }
    return freed > 0;
}

/// Texts of repairs tell weights by the last words of their names.
std::string keyOf(const Repair& repair)
{
    std::string key = repair.text;
    for (const DesignChange& change : repair.changes) {
        if (const auto* set = std::get_if<SetStrategy>(&change))
            key += "\n" + set->entry.match;
        else if (const auto* replaced = std::get_if<ReplaceStrategy>(&change))
            key += "\n" + std::to_string(replaced->index);
    }
    return key;
}

} // namespace

RepairTrials::Answer RepairTrials::of(const Repair& repair, Time time)
{
    constexpr std::size_t kMost = 24;
    if (!m_input.design.model.hasGraph())
        return Answer::Gains;
    const std::string key = keyOf(repair);
    if (const auto known = m_known.find(key); known != m_known.end())
        return known->second;
    if (m_known.size() == kMost)
        return Answer::Untried;
    return m_known.emplace(key, planned(repair, time)).first->second;
}

RepairTrials::Answer RepairTrials::planned(const Repair& repair, Time time) const
{
    constexpr double kAsLong = 1.01;
    const Plan& now = m_input.evaluation.plan;
    const auto then = planOnly(repaired(m_input.design, repair), Misfits::Replicate);
    if (!then.ok() || !holdsLess(then.value()->plan, now))
        return Answer::Loses;
    const bool fits = static_cast<double>(now.memory.peak) <= m_input.hardware.memoryBytes();
    return time == Time::None && fits && then.value()->plan.seconds() > now.seconds() * kAsLong ? Answer::Loses : Answer::Gains;
}

} // namespace shardboard
