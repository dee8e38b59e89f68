// SPDX-License-Identifier: Apache-2.0
// Finds the strategy entry that decides a name without trying them all: a design may have as many entries as weights.
#pragma once

#include "model/design/design.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardboard {

class EntryIndex {
public:
    /// Keeps views of the patterns: the entries must outlive it.
    explicit EntryIndex(const std::vector<StrategyEntry>& entries);

    /// Index of the last entry whose pattern matches the name, or -1.
    int deciding(std::string_view name) const;

private:
    using Buckets = std::unordered_map<std::string_view, std::vector<int>>;
    int lastMatch(const std::vector<int>& bucket, std::string_view name, int best) const;

    const std::vector<StrategyEntry>& m_entries;
    std::unordered_map<std::string_view, int> m_exact; ///< patterns that are a name
    Buckets m_byPrefix; ///< the other patterns by what stands before their first wildcard,
    Buckets m_bySuffix; ///< or where that is nothing by what stands behind their last
    std::vector<std::size_t> m_prefixSizes;
    std::vector<std::size_t> m_suffixSizes;
};

/// Which patterns match at least one of many names, without trying each on each.
class NameIndex {
public:
    explicit NameIndex(std::vector<std::string> names);
    bool matchesAny(std::string_view pattern) const;

private:
    std::vector<std::string> m_names; ///< sorted
    std::vector<std::string> m_reversed; ///< written backwards, sorted
};

} // namespace shardboard
