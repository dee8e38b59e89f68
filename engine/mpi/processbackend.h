// SPDX-License-Identifier: Apache-2.0
// What a backend does in each of the processes that a launcher has started, when the first one runs a program.
#pragma once

#include "engine/run/runner.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>

namespace shardboard::engine::mpi {

class MpiTeam;

struct ProcessBackend {
    /// Called by all processes, with the same arguments but for the hooks, which are set in the first one (`cancel` in all); the
    /// team is that of the request. `extra`: what the first process has decided for all of them. May throw Failure and Stopped.
    std::function<RunOutcome(MpiTeam& team, const RunRequest& request, const nlohmann::json& extra)> run;
    /// What the first process asks of each before there is a run; empty: nothing.
    std::function<nlohmann::json()> facts;
};

/// By the name of the backend.
using ProcessBackends = std::map<std::string, ProcessBackend>;

} // namespace shardboard::engine::mpi
