// SPDX-License-Identifier: Apache-2.0
// What each of the processes that a launcher has started does when the first one runs a program: one part for every backend that
// needs several processes.
#pragma once

#include "engine/run/runner.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>

namespace shardboard::engine::mpi {

class MpiTeam;

struct Part {
    /// Called by all processes, with the same arguments but for the hooks, which are set in the first one (`cancel` in all).
    /// `extra`: what the first process has decided for all of them. May throw Failure and Stopped.
    std::function<RunOutcome(MpiTeam& team, const Program& program, const RunOptions& options, const RunHooks& hooks,
                             const RunLimits& limits, const nlohmann::json& extra)>
        run;
    /// What the first process wants to know of each before there is a run; empty: nothing.
    std::function<nlohmann::json()> facts;
};

/// By the name of the backend.
using Parts = std::map<std::string, Part>;

} // namespace shardboard::engine::mpi
