// SPDX-License-Identifier: Apache-2.0
// What tests ask of the library that stands in for NCCL (standinnccl.cpp).
#pragma once

extern "C" {
struct StandInNccl {
    int made = 0; ///< communicators
    int aborted = 0;
    int destroyed = 0;
    int blocking = 0; ///< of those that were made
    int polls = 0; ///< how often somebody asked whether one is ready and it was not
    int calls = 0; ///< collectives and messages
    int ranks[16] = {}; ///< of those that were made by rank, in their order
    int all = 0; ///< ranks that the last of them is one of
    int colors[16] = {}; ///< of the last group of splits
    int splits = 0; ///< in it
    const char* wrong = nullptr; ///< the first thing that NCCL does not allow
    // What is to happen:
    bool hangs = false; ///< communicators are never ready
    int failAt = 0; ///< this call of `calls` fails; 0: none
    bool failsLater = false; ///< what was asked for fails when it is looked at
};
StandInNccl* standInNccl();
}
