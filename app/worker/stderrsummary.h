// SPDX-License-Identifier: Apache-2.0
// What to repeat of all that a worker, and what started it, wrote on standard error before it ended.
#pragma once

#include <string>

namespace shardboard {

/// Of what mpirun and srun say at length, the sentence that says what happened: which process or host was lost, or why none was
/// started. Of anything else the end. One line, without a full stop at its end; empty when nothing was said.
std::string stderrSummary(const std::string& errors);

/// The line in which srun or salloc says that a job waits for its turn; empty: none does. It is the last one that was said.
std::string queueNotice(const std::string& errors);

} // namespace shardboard
