// SPDX-License-Identifier: Apache-2.0
// How the ranks of a design are started: so many on each host of its hardware.
#pragma once

#include "model/design/design.h"

#include <cstdint>
#include <string>

namespace shardboard {

struct Hosts {
    std::int64_t count = 1;
    std::int64_t devices = 1; ///< of the design on each
};
/// As many devices on each host as its hardware joins innermost, or the most that leave no host with fewer.
Hosts hostsOf(const Design& design);

/// `torchrun --nproc-per-node 8`; of several hosts also how many there are, and where they meet.
std::string torchrunText(const Design& design);

} // namespace shardboard
