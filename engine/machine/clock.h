// SPDX-License-Identifier: Apache-2.0
// The two clocks by which the engine measures.
#pragma once

namespace shardboard::engine {

/// Seconds on a clock that only goes forward.
double now();
/// Seconds that the calling thread has had a core: what a task takes, also on a machine that has other things to do.
double coreSeconds();

} // namespace shardboard::engine
