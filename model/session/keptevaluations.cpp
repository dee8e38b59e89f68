// SPDX-License-Identifier: Apache-2.0
#include "model/session/keptevaluations.h"

#include <algorithm>

namespace shardboard {

void KeptEvaluations::keep(const std::shared_ptr<const Evaluation>& evaluation)
{
    std::erase_if(m_kept, [&](const Kept& kept) { return kept.evaluation == evaluation; });
    m_kept.push_back({ evaluation, roughBytes(*evaluation) });
    letGo();
}

void KeptEvaluations::setBudget(std::int64_t bytes)
{
    m_budget = bytes;
    letGo();
}

std::int64_t KeptEvaluations::bytes() const
{
    std::int64_t sum = 0;
    for (const Kept& kept : m_kept)
        sum += kept.bytes;
    return sum;
}

void KeptEvaluations::letGo()
{
    for (std::int64_t sum = bytes(); m_kept.size() > 1 && sum > m_budget; m_kept.pop_front())
        sum -= m_kept.front().bytes;
}

std::int64_t roughBytes(const Evaluation& evaluation)
{
    constexpr std::int64_t kOnce = 256 << 10;
    constexpr std::int64_t kEach = 1400;
    std::size_t things = evaluation.plan.collectives.size() + evaluation.graph.tensors.size() + evaluation.weights.size()
        + evaluation.findings.size();
    for (const PlannedSegment& segment : evaluation.plan.segments)
        things += segment.ops.size();
    return kOnce + kEach * static_cast<std::int64_t>(things);
}

} // namespace shardboard
