// SPDX-License-Identifier: Apache-2.0
// The algorithms of collectives, one row each: time = latency + S x seconds per byte, for a device group on a switch or on
// several levels at once. S as in stepBytes: all-reduce and broadcast the buffer, all-gather its output, reduce-scatter its
// input, all-to-all what one device sends with its own block. Sources: NCCL tuning.cc (steps of each algorithm), Thakur,
// Rabenseifner, Gropp (recursive doubling, halving and doubling, Bruck), nccl-tests (bandwidths).
#pragma once

#include "model/cost/pricecurve.h"
#include "model/hardware/hardware.h"

#include <vector>

namespace shardboard {

/// A device group as an algorithm sees it. n devices over `units` units of the inner level; latencies in seconds.
struct AlgorithmGroup {
    double n = 1;
    double inner = 1; ///< devices of the group in a unit of its innermost level
    double outer = 1; ///< units of its outermost level that it touches, 1 on a single level
    double start = 0;
    double lap = 0; ///< n - 1 steps once around, through all levels
    double lapReducing = 0; ///< the same of an all-reduce
    double rounds = 0; ///< log2 n steps of doubling distance (rounded up by level)
    double roundsReducing = 0;
    double chains = 0; ///< a chain in every unit, log2 steps between units; of an all-reduce
    double step = 0; ///< one on the outermost level
    double lowStep = 0; ///< the same with the protocol of least latency
    double messages = 0; ///< to every other device
    double byteSeconds = 0; ///< of a byte through the narrowest level, all members sending at once
    double pointSeconds = 0; ///< the same of one device alone
    double directSeconds = 0; ///< of a byte to each of the others, by the level that has most to do
    double ownSeconds = 0; ///< of copying a byte of the own block
    double innerByteSeconds = 0;
    double outerByteSeconds = 0; ///< of a byte between units, all members sending
    double innerStep = 0; ///< a step on the innermost level
    const InSwitchReduction* inSwitch = nullptr; ///< of the innermost level, if that is an island
    const InSwitchReduction* sharp = nullptr; ///< of the outermost level, if that is a network
};

/// Adds every way of this library to run a collective on a group as a whole.
void addAlgorithms(std::vector<PricedWay>& ways, CollectiveKind kind, const AlgorithmGroup& group, CollectiveLibrary library);

/// The price by one algorithm, whatever the library; nothing where it does not exist for this kind or group.
std::optional<PriceLine> algorithmPrice(CollectiveKind kind, Algorithm algorithm, const AlgorithmGroup& group);

} // namespace shardboard
