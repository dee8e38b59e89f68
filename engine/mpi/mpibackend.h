// SPDX-License-Identifier: Apache-2.0
// The backend `mpi`: the logical devices divided among processes that mpirun or srun has started. The first process speaks the
// protocol; the others wait for what it hands on. The backend `nccl` over several processes works the same way.
#pragma once

#include "engine/mpi/processbackend.h"
#include "engine/run/backend.h"

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shardboard::engine {

/// Usable in the first process of a launcher's.
Backend mpiBackend();

/// To be called first thing by a program that may be one of several. In all processes but the first one it does what that one
/// hands on, until that one leaves, and does not return: the process has ended then. `backends`: those that it knows beside mpi.
void followIfNotFirst(const mpi::ProcessBackends& backends);

/// Whether a launcher has started this process, possibly with others.
bool hasOthers();
/// How many it has started; 1 where there was none.
int processCount();

/// What a backend does in the first process: hands programs on to all and does what each of them does. `extra`: what it decides for
/// all of them, or why the program cannot be run. For a process that has others.
Backend::Run leading(std::string name, mpi::ProcessBackend backend,
                     std::function<std::variant<nlohmann::json, Failure>(const Program&)> extra);
/// A process as `rank 1 on HOST`, and what it says of itself.
using ProcessFacts = std::pair<std::string, nlohmann::json>;
/// The facts of every process, asked for now. Not while a program runs. Failure "lost" when one does not answer.
std::variant<std::vector<ProcessFacts>, Failure> factsOfAll(const std::string& name, const mpi::ProcessBackend& backend);

/// In the first process, before it ends: has the others end and leaves MPI, or ends all when that takes too long. Does nothing
/// in a process that is alone.
void leaveProcesses();

} // namespace shardboard::engine
