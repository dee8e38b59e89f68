// SPDX-License-Identifier: Apache-2.0
// The backend `mpi`: the logical devices spread over processes that mpirun or srun has started. The first process speaks the
// protocol; the others wait for what it hands on. The backend `nccl` over several processes goes the same way with a part of its
// own.
#pragma once

#include "engine/mpi/parts.h"
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
/// hands on, until that one leaves, and does not return: the process has ended then. `parts`: of the backends that it knows beside
/// mpi.
void followIfNotFirst(const mpi::Parts& parts);

/// Whether a launcher has started this process, possibly with others.
bool hasOthers();
/// How many it has started together; 1 where there was none.
int processCount();

/// What a backend does in the first process: hands programs on to all and does its own part. `extra`: what it decides for all of
/// them, or why the program cannot be run. For a process that has others.
Backend::Run leading(std::string backend, mpi::Part part,
                     std::function<std::variant<nlohmann::json, Failure>(const Program&)> extra);
/// A process as `rank 1 on HOST`, and what it says of itself.
using ProcessFacts = std::pair<std::string, nlohmann::json>;
/// By process what its part says, asked for now. Not while a program runs. Failure "lost" when one does not answer.
std::variant<std::vector<ProcessFacts>, Failure> factsOfAll(const std::string& backend, const mpi::Part& part);

/// In the first process, before it ends: sends the others home and leaves MPI, or ends all when that takes too long. Does nothing
/// in a process that is alone.
void leaveTogether();

} // namespace shardboard::engine
