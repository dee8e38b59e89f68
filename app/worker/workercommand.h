// SPDX-License-Identifier: Apache-2.0
// The command that starts the worker: a line for the shell, so that `ssh HOST shardboard-engine` or `srun …` is one. Empty: the
// shardboard-engine beside this program, alone.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace shardboard {

/// The shardboard-engine beside the running program.
std::string ownEngine();

/// What SHARDBOARD_ENGINE says, else the setting; either may be empty.
std::string chosenCommand(const std::string& setting);

/// The program that a command starts when it is nothing but its path, or empty: mpirun can start that one several times. A command
/// with arguments knows itself what it starts.
std::optional<std::string> programAlone(const std::string& command);

/// What the user asks for.
struct EngineStart {
    std::string engine; ///< --engine: a command that is taken as it is
    std::int64_t ranks = 0; ///< --ranks: processes that mpirun starts; 0: see engineCommandFor
    std::string hosts; ///< --hosts: those that it starts them on, a hostfile or a list as `host1:2,host2:2`; empty: this one
};

/// Where no command is asked for and SHARDBOARD_ENGINE does not say otherwise, the backend mpi is started by mpirun: on this host
/// with as many processes as the mesh has devices, at most as many as there are cores (or two); on others with as many as the list
/// or file gives them. So is nccl where it is to be several processes or on other hosts. The worker lies there where it lies here.
/// Errors: there is no mpirun.
Result<std::string> engineCommandFor(const std::string& backend, const EngineStart& start, std::int64_t devices);

/// A worker as several processes that mpirun starts. `processes` 0: as many as the hosts have room for; `hosts` empty: this one.
/// Nothing where there is no mpirun.
std::optional<std::string> mpirunCommand(const std::string& program, std::int64_t processes, const std::string& hosts = {});

} // namespace shardboard
