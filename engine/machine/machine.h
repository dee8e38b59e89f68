// SPDX-License-Identifier: Apache-2.0
// What this machine has: cores, memory that can still be had, speed of the matrix products.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardboard::engine {

/// Cores that this process may use.
int usableCores();
/// Bytes that a run can take without swapping, with processMemory(0), which this process has: MemAvailable, less where the
/// limit of the container or of this process is lower.
std::int64_t availableMemory();
/// Bytes of addresses that the limit of this process (ulimit -v) leaves it; nothing where there is no limit.
std::optional<std::int64_t> leftOfAddresses();
/// Bytes of the last cache that a core shares with its neighbours, as the system reports it, or a usual size. More than a
/// process ever has of it: what it has is measured in cacheshare.h.
std::int64_t lastCacheBytes();
/// Model name of the processor, for people.
std::string processorName();
/// Measures the matrix products of one thread for about 20 ms. In FLOP/s; once per process.
double measuredFlops();

} // namespace shardboard::engine
