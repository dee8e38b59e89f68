// SPDX-License-Identifier: Apache-2.0
// `shardboard-engine --conformance`: the suite on a terminal.
#pragma once

#include "engine/conformance/conformance.h"

namespace shardboard::conformance {

/// What follows --conformance: [BACKEND] [--filter TEXT] [--devices N] [--seed N] [--verbose]. A line for every case that
/// fails (with --verbose for each), and a summary. Exit code 0: all passed; 1: some failed; 2: wrong usage; 4: the backend is
/// not there or cannot be used. `options` are those that the arguments say nothing of.
int runCommand(int argc, char** argv, Options options);

} // namespace shardboard::conformance
