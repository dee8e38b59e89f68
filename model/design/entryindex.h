// SPDX-License-Identifier: Apache-2.0
// Finds the strategy entries that match a name without trying them all: a design may have as many entries as weights.
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

    /// Per entry whether its pattern matches at least one of the names.
    std::vector<bool> matchingAny(const std::vector<std::string>& names) const;

private:
    /// Patterns that hold the same run of plain characters, which a name must hold too; in order.
    using Bucket = std::vector<int>;

    template <class Visit>
    void eachBucket(std::string_view name, Visit visit) const;
    bool matches(int entry, std::string_view name) const;

    const std::vector<StrategyEntry>& m_entries;
    std::unordered_map<std::string_view, int> m_last; ///< by pattern: of equal ones only the last can decide
    std::unordered_map<std::string_view, Bucket> m_byPrefix; ///< by what stands before the first wildcard; all of it: a name
    std::unordered_map<std::string_view, Bucket> m_byRun; ///< patterns that begin with a wildcard, by their longest run
    std::vector<std::size_t> m_prefixSizes; ///< ascending
    std::vector<std::size_t> m_runSizes;
    Bucket m_few; ///< patterns that begin with a wildcard, while they are so few that trying them is quicker
};

} // namespace shardboard
