// SPDX-License-Identifier: Apache-2.0
#include "model/design/entryindex.h"

#include "model/text/glob.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

constexpr const char* kWild = "*?[";
constexpr std::size_t kFew = 32;

/// The longest run of plain characters. What stands behind a `[` may belong to a set, so it is not looked at.
std::string_view longestRun(std::string_view pattern)
{
    pattern = pattern.substr(0, pattern.find('['));
    std::string_view longest;
    while (!pattern.empty()) {
        const std::string_view run = pattern.substr(0, pattern.find_first_of(kWild));
        if (run.size() > longest.size())
            longest = run;
        pattern.remove_prefix(std::min(pattern.size(), run.size() + 1));
    }
    return longest;
}

} // namespace

EntryIndex::EntryIndex(const std::vector<StrategyEntry>& entries)
    : m_entries(entries)
{
    for (std::size_t i = 0; i < entries.size(); ++i)
        m_last[entries[i].match] = static_cast<int>(i);
    Bucket wild;
    std::set<std::size_t> prefixes;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::string_view pattern = entries[i].match;
        if (m_last[pattern] != static_cast<int>(i))
            continue;
        const std::string_view prefix = pattern.substr(0, pattern.find_first_of(kWild));
        if (prefix.empty()) {
            wild.push_back(static_cast<int>(i));
            continue;
        }
        m_byPrefix[prefix].push_back(static_cast<int>(i));
        prefixes.insert(prefix.size());
    }
    m_prefixSizes.assign(prefixes.begin(), prefixes.end());
    if (wild.size() <= kFew) {
        m_few = std::move(wild);
        return;
    }
    std::set<std::size_t> runs;
    for (const int index : wild) {
        const std::string_view run = longestRun(entries[static_cast<std::size_t>(index)].match);
        m_byRun[run].push_back(index);
        runs.insert(run.size());
    }
    m_runSizes.assign(runs.begin(), runs.end());
}

bool EntryIndex::matches(int entry, std::string_view name) const
{
    return globMatch(m_entries[static_cast<std::size_t>(entry)].match, name);
}

/// Visits all buckets that hold patterns which may match the name; one may come twice.
template <class Visit>
void EntryIndex::eachBucket(std::string_view name, Visit visit) const
{
    if (!m_few.empty())
        visit(m_few);
    for (const std::size_t size : m_prefixSizes)
        if (size <= name.size())
            if (const auto bucket = m_byPrefix.find(name.substr(0, size)); bucket != m_byPrefix.end())
                visit(bucket->second);
    for (const std::size_t size : m_runSizes)
        for (std::size_t at = 0; at + size <= name.size(); ++at) {
            if (const auto bucket = m_byRun.find(name.substr(at, size)); bucket != m_byRun.end())
                visit(bucket->second);
            if (size == 0)
                break; // patterns without a run: one bucket for every name
        }
}

int EntryIndex::deciding(std::string_view name) const
{
    int best = -1;
    eachBucket(name, [&](const Bucket& bucket) {
        for (auto it = bucket.rbegin(); it != bucket.rend() && *it > best; ++it)
            if (matches(*it, name))
                best = *it;
    });
    return best;
}

std::vector<bool> EntryIndex::matchingAny(const std::vector<std::string>& names) const
{
    std::vector<bool> matched(m_entries.size(), false);
    // A pattern that has matched is not tried again, so that wide patterns cost little.
    std::unordered_map<const Bucket*, Bucket> open;
    for (const std::string& name : names)
        eachBucket(name, [&](const Bucket& bucket) {
            Bucket& left = open.try_emplace(&bucket, bucket).first->second;
            std::erase_if(left, [&](int entry) {
                if (!matches(entry, name))
                    return false;
                matched[static_cast<std::size_t>(entry)] = true;
                return true;
            });
        });
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        matched[i] = matched[static_cast<std::size_t>(m_last.at(m_entries[i].match))];
    return matched;
}

} // namespace shardboard
