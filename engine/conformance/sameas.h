// SPDX-License-Identifier: Apache-2.0
// Two backends held against each other, bit for bit: for those that reduce in the same order.
#pragma once

#include "engine/run/backend.h"

namespace shardboard::conformance {

/// `backend`, whose runs fail with the code `different` where a value that an operation leaves on a device is not, bit for bit,
/// that of a run of `other`. Both outlive it.
engine::Backend sameAs(const engine::Backend& backend, const engine::Backend& other);

} // namespace shardboard::conformance
