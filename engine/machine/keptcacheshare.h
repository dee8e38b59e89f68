// SPDX-License-Identifier: Apache-2.0
// The file in which the share of the caches of one machine is kept: locked while it is open, so that of several workers
// that begin at once one measures, and alone. Whatever stands there that this did not write counts as nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardboard::engine {

class KeptCacheShare {
public:
    /// In $XDG_CACHE_HOME/shardboard, or ~/.cache/shardboard. Waits for another worker up to `patience` seconds; where
    /// nothing can be kept, nothing is.
    explicit KeptCacheShare(double patience = 5);
    ~KeptCacheShare();
    KeptCacheShare(const KeptCacheShare&) = delete;
    KeptCacheShare& operator=(const KeptCacheShare&) = delete;

    /// Nothing when it was never measured, or on another machine.
    std::optional<std::int64_t> bytes() const;
    void keep(std::int64_t bytes);

    /// The file of this machine: a folder of people may be shared by many. Empty: nowhere.
    static std::string path();

private:
    void close();
    int m_file = -1;
};

} // namespace shardboard::engine
