// SPDX-License-Identifier: Apache-2.0
// Our collectives between the processes of a launcher beside those of the MPI library, of the same size, on the same memory, in
// turns.
#pragma once

namespace shardboard::engine {

/// Called by all processes, with one logical device each. `mib` is what every device has of the large side of a collective; the
/// first process prints one JSON object a line. Returns the exit status: 4 when this process was started alone.
int benchCollectives(int mib, int rounds);

} // namespace shardboard::engine
