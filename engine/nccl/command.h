// SPDX-License-Identifier: Apache-2.0
// shardboard-engine --check-nccl [N]: random reshard steps on N GPUs of this machine by NCCL, held against the engine's own.
#pragma once

namespace shardboard::engine::nccl {

/// Prints one line. 0: all steps led where they should; 1: one did not; 4: it could not be tried, and why. `ranks` 0: all GPUs.
int checkCommand(int ranks);

} // namespace shardboard::engine::nccl
