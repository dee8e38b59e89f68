// SPDX-License-Identifier: Apache-2.0
#include "engine/run/record/runrecord.h"

#include "model/core/statistics.h"

#include <algorithm>

namespace shardboard::engine {

RunRecord::Entry& RunRecord::entry(const RunOperation& what)
{
    const auto [it, isNew] = m_index.emplace(what.id, m_entries.size());
    if (isNew)
        m_entries.push_back({ what, {} });
    return m_entries[it->second];
}

void RunRecord::addTime(const RunOperation& what, double seconds)
{
    entry(what).seconds.push_back(seconds);
    m_step += seconds;
    m_predicted += what.predictedSeconds;
}

void RunRecord::addError(const std::string& id, double error, double tolerance)
{
    m_compared = true;
    if (!(error <= tolerance) && m_firstDeviation.empty())
        m_firstDeviation = id;
    if (const auto it = m_index.find(id); it != m_index.end()) {
        double& worst = m_entries[it->second].operation.relativeError;
        worst = std::max(worst, error);
    }
}

void RunRecord::endStep()
{
    m_steps.push_back(m_step);
    m_step = 0;
}

void RunRecord::forgetTimes()
{
    for (Entry& entry : m_entries)
        entry.seconds.clear();
    m_steps.clear();
    m_step = 0;
    m_predicted = 0;
}

void RunRecord::finish(RunResult& result) const
{
    const std::size_t steps = std::max<std::size_t>(1, m_steps.size());
    result.stepMedian = median(m_steps);
    if (!m_steps.empty()) {
        result.stepMin = *std::min_element(m_steps.begin(), m_steps.end());
        result.stepMax = *std::max_element(m_steps.begin(), m_steps.end());
    }
    result.predictedStepSeconds = m_predicted / static_cast<double>(steps);
    result.compared = m_compared;
    result.firstDeviation = m_firstDeviation;
    result.verified = m_compared && m_firstDeviation.empty();
    for (const Entry& entry : m_entries) {
        result.operations.push_back(entry.operation);
        RunOperation& operation = result.operations.back();
        operation.medianSeconds = median(entry.seconds);
        operation.count = static_cast<std::int64_t>(entry.seconds.size() / steps);
        if (operation.relativeError > result.maxRelativeError) {
            result.maxRelativeError = operation.relativeError;
            result.worstOp = operation.id;
        }
    }
}

} // namespace shardboard::engine
