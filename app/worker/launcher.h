// SPDX-License-Identifier: Apache-2.0
// The command that starts the worker where a backend needs more than the program itself.
#pragma once

#include "app/ctl/arguments.h"
#include "model/core/result.h"

#include <cstdint>
#include <string>

namespace shardboard {

/// What the user asks for.
struct EngineStart {
    std::string engine; ///< --engine: a command that is taken as it is
    std::int64_t ranks = 0; ///< --ranks: processes that mpirun starts; 0: see engineCommandFor
    std::string hosts; ///< --hosts: those that it starts them on, a hostfile or a list as `host1:2,host2:2`; empty: this one
};

/// The options --engine, --ranks and --hosts, for this backend. Errors: they contradict each other, or the hosts are none.
Result<EngineStart> engineStartOf(const Arguments& arguments, const std::string& backend);

/// For WorkerProcess::start. Where no command is asked for and SHARDBOARD_ENGINE does not say otherwise, the backend mpi is
/// started by mpirun: on this host with as many processes as the mesh has devices, at most as many as there are cores (or two);
/// on others with as many as the list or file gives them. So is nccl where it is to be several processes or on other hosts. The
/// worker lies there where it lies here. Errors: there is no mpirun.
Result<std::string> engineCommandFor(const std::string& backend, const EngineStart& start, std::int64_t devices);

} // namespace shardboard
