// SPDX-License-Identifier: Apache-2.0
// What the other processes of a launcher do for the backends of this build (engine/mpi/parts.h), beside mpi.
#pragma once

#include "engine/mpi/parts.h"

namespace shardboard::engine {

/// The same in every call: what a part keeps between runs is one for the process.
const mpi::Parts& backendParts();

} // namespace shardboard::engine
