// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/expertwork.h"

#include "engine/ops/bodywork.h"

#include <algorithm>

namespace shardboard::engine {

void requireSameTokens(const Box& tokens, const Box& ofExperts, const OpCall& call)
{
    requireSame(tokens[0], ofExperts[1], call, "sequences");
    requireSame(tokens[1], ofExperts[2], call, "tokens");
}

void requireSameExperts(const OpCall& call, const Box& tokens, const Box& gates, const Box& ofExperts, bool columns)
{
    requireSameTokens(tokens, ofExperts, call);
    requireSameTokens(gates, ofExperts, call);
    requireSame(gates[2], ofExperts[0], call, "experts");
    if (columns)
        requireSame(tokens[2], ofExperts[3], call, "columns");
}

std::int64_t tokensOf(const Box& ofExperts) { return ofExperts[1].size() * ofExperts[2].size(); }

std::vector<ExpertTask> expertTasks(const Sharded& ofExperts)
{
    std::vector<ExpertTask> tasks;
    for (std::int64_t device = 0; device < ofExperts.deviceCount(); ++device)
        for (std::int64_t expert = 0; ofExperts.elements(device) > 0 && expert < ofExperts.box(device)[0].size(); ++expert)
            tasks.push_back({ device, expert, 0, ofExperts.box(device)[3].size() });
    return tasks;
}

Timing runExperts(Context& context, const Sharded& result, const std::vector<ExpertTask>& tasks,
                  const std::function<double(const ExpertTask&, int)>& run)
{
    std::vector<std::int64_t> devices;
    for (const ExpertTask& task : tasks)
        devices.push_back(task.device);
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) { return run(tasks[index], worker); });
}

Timing spreadToExperts(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& tokens = *call.operands[0];
    const Sharded& gates = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        if (result.elements(device) > 0)
            requireSameExperts(call, tokens.box(device), gates.box(device), result.box(device), true);
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    return context.planning() ? Timing {} : runBody(context, result, routeWork(call, result));
}

} // namespace shardboard::engine
