// SPDX-License-Identifier: Apache-2.0
// The backend `mpi`: the logical devices spread over processes that mpirun or srun has started. The first process speaks the
// protocol; the others wait for what it hands on.
#pragma once

#include "engine/backend.h"

namespace shardboard::engine {

/// Usable in the first process of a launcher's.
Backend mpiBackend();

/// To be called first thing by a program that may be one of several. In all processes but the first one it does what that one
/// hands on, until that one leaves, and does not return: the process has ended then.
void followIfNotFirst();

/// Whether a launcher has started this process, possibly with others.
bool hasOthers();

/// In the first process, before it ends: sends the others home and leaves MPI, or ends all when that takes too long. Does nothing
/// in a process that is alone.
void leaveTogether();

} // namespace shardboard::engine
