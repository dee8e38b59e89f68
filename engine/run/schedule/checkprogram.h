// SPDX-License-Identifier: Apache-2.0
// Whether a program that came over the wire can be run at all, before anything is allocated.
#pragma once

#include "model/io/wire/messages.h"
#include "model/plan/program.h"

namespace shardboard::engine {

/// Logical devices that a backend imitates at most.
inline constexpr std::int64_t kMostDevices = 4096;

/// Throws Failure "bad-plan" naming the operation: operands missing or of shapes that do not fit the operation, too many
/// logical devices, layouts that the engine cannot follow, a dtype that cannot be imitated.
void checkProgram(const Program& program, const RunOptions& options);

} // namespace shardboard::engine
