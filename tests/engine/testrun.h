// SPDX-License-Identifier: Apache-2.0
// Runs on the CPU, for tests of the engine.
#pragma once

#include "engine/cpu/backend.h"

#include <functional>
#include <stdexcept>
#include <string>

namespace shardboard::test {

/// Throws with the text of the failure.
inline RunResult resultOf(const Program& program, const RunOptions& options, const engine::RunHooks& hooks = {},
                          const engine::RunLimits& limits = {})
{
    const engine::RunOutcome outcome = engine::runOnCpu({ program, options, hooks, limits });
    if (const auto* failure = std::get_if<engine::Failure>(&outcome))
        throw std::runtime_error(failure->code + ": " + failure->where + ": " + failure->message);
    return std::get<RunResult>(outcome);
}

/// Of code `none` when there is none.
inline engine::Failure failureOf(const Program& program, const RunOptions& options = {}, const engine::RunHooks& hooks = {},
                                 const engine::RunLimits& limits = {})
{
    const engine::RunOutcome outcome = engine::runOnCpu({ program, options, hooks, limits });
    const auto* failure = std::get_if<engine::Failure>(&outcome);
    return failure == nullptr ? engine::Failure { "none", "", "" } : *failure;
}

inline RunOptions verifying(const std::string& broken = {})
{
    RunOptions options;
    options.verify = true;
    options.breakCollective = broken;
    return options;
}

/// The code of the failure that `work` throws; empty: none.
inline std::string failureCode(const std::function<void()>& work)
{
    try {
        work();
    } catch (const engine::Failure& failure) {
        return failure.code;
    }
    return {};
}

} // namespace shardboard::test
