// SPDX-License-Identifier: Apache-2.0
// Memory that is nearer and faster than the large one behind it: the caches of a processor, as a cost model sees them.
#pragma once

#include <algorithm>

namespace shardboard {

/// Of what one kernel or collective touches, the first `bytes` are moved at this rate, and only what is beyond them at that of the
/// memory: a straight line with one bend, so that a time never falls when bytes grow. `bytes` is smaller than the cache itself,
/// because other tensors are in it, too; both numbers are fitted to measured times (model/cost/calibration.h).
struct CacheRate {
    double bytes = 0; ///< read and written; of a shared link those of all devices
    double bytesPerSecond = 0;

    /// Seconds for `touched` bytes with a memory of this rate behind.
    double seconds(double touched, double memoryBytesPerSecond) const
    {
        return std::min(touched, bytes) / bytesPerSecond + std::max(0.0, touched - bytes) / memoryBytesPerSecond;
    }
    friend bool operator==(const CacheRate&, const CacheRate&) = default;
};

} // namespace shardboard
