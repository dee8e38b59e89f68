// SPDX-License-Identifier: Apache-2.0
// The NCCL backend for the list of backends.
#pragma once

#include "engine/run/backend.h"
#ifdef SHARDBOARD_MPI
#include "engine/mpi/processbackend.h"
#endif

namespace shardboard::engine {

/// One rank for each GPU: of this process alone, or where a launcher has started several, of all of them. Says what is missing;
/// never runs on something else instead.
Backend ncclBackend();

#if defined(SHARDBOARD_MPI) && defined(SHARDBOARD_NCCL)
/// What each of several processes does, with the GPUs that it sees. Every copy shares what is kept from run to run.
mpi::ProcessBackend ncclProcessBackend();
#endif

} // namespace shardboard::engine
