// SPDX-License-Identifier: Apache-2.0
// The NCCL backend for the list of backends.
#pragma once

#include "engine/backend.h"

namespace shardboard::engine {

/// One rank for each GPU. Says what is missing; never runs on something else instead.
Backend ncclBackend();

} // namespace shardboard::engine
