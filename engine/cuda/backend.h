// SPDX-License-Identifier: Apache-2.0
// The CUDA backend for the list of backends.
#pragma once

#include "engine/run/backend.h"

namespace shardboard::engine {

/// All logical devices on one GPU. Without one it says what is missing.
Backend cudaBackend();

} // namespace shardboard::engine
