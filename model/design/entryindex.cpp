// SPDX-License-Identifier: Apache-2.0
#include "model/design/entryindex.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

constexpr const char* kWild = "*?[";

/// What every name that matches begins with.
std::string_view literalPrefix(std::string_view pattern) { return pattern.substr(0, pattern.find_first_of(kWild)); }

/// What every name that matches ends with: behind the last wildcard. A pattern with `[` may end in a set, so none is
/// taken.
std::string_view literalSuffix(std::string_view pattern)
{
    if (pattern.find('[') != std::string_view::npos)
        return {};
    const auto last = pattern.find_last_of(kWild);
    return last == std::string_view::npos ? pattern : pattern.substr(last + 1);
}

/// The names in a sorted list that begin with a text.
template <class Visit> bool anyWithPrefix(const std::vector<std::string>& sorted, std::string_view prefix, Visit visit)
{
    for (auto it = std::lower_bound(sorted.begin(), sorted.end(), prefix);
         it != sorted.end() && it->starts_with(prefix); ++it)
        if (visit(*it))
            return true;
    return false;
}

std::string backwards(std::string_view text) { return { text.rbegin(), text.rend() }; }

} // namespace

EntryIndex::EntryIndex(const std::vector<StrategyEntry>& entries)
    : m_entries(entries)
{
    std::unordered_map<std::string_view, int> last; // of equal patterns only the last can decide
    for (std::size_t i = 0; i < entries.size(); ++i)
        last[entries[i].match] = static_cast<int>(i);
    std::set<std::size_t> prefixes;
    std::set<std::size_t> suffixes;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::string_view pattern = entries[i].match;
        if (last[pattern] != static_cast<int>(i))
            continue;
        const std::string_view prefix = literalPrefix(pattern);
        if (prefix.size() == pattern.size()) {
            m_exact[pattern] = static_cast<int>(i);
        } else if (!prefix.empty()) {
            m_byPrefix[prefix].push_back(static_cast<int>(i));
            prefixes.insert(prefix.size());
        } else {
            const std::string_view suffix = literalSuffix(pattern);
            m_bySuffix[suffix].push_back(static_cast<int>(i));
            suffixes.insert(suffix.size());
        }
    }
    m_prefixSizes.assign(prefixes.begin(), prefixes.end());
    m_suffixSizes.assign(suffixes.begin(), suffixes.end());
}

int EntryIndex::lastMatch(const std::vector<int>& bucket, std::string_view name, int best) const
{
    for (auto it = bucket.rbegin(); it != bucket.rend() && *it > best; ++it)
        if (globMatch(m_entries[static_cast<std::size_t>(*it)].match, name))
            return *it;
    return best;
}

int EntryIndex::deciding(std::string_view name) const
{
    int best = -1;
    if (const auto exact = m_exact.find(name); exact != m_exact.end())
        best = exact->second;
    for (const std::size_t size : m_prefixSizes) {
        if (size > name.size())
            break;
        if (const auto bucket = m_byPrefix.find(name.substr(0, size)); bucket != m_byPrefix.end())
            best = lastMatch(bucket->second, name, best);
    }
    for (const std::size_t size : m_suffixSizes) {
        if (size > name.size())
            break;
        if (const auto bucket = m_bySuffix.find(name.substr(name.size() - size)); bucket != m_bySuffix.end())
            best = lastMatch(bucket->second, name, best);
    }
    return best;
}

NameIndex::NameIndex(std::vector<std::string> names)
    : m_names(std::move(names))
{
    for (const std::string& name : m_names)
        m_reversed.push_back(backwards(name));
    std::sort(m_names.begin(), m_names.end());
    std::sort(m_reversed.begin(), m_reversed.end());
}

bool NameIndex::matchesAny(std::string_view pattern) const
{
    const std::string_view prefix = literalPrefix(pattern);
    if (prefix.size() == pattern.size())
        return std::binary_search(m_names.begin(), m_names.end(), pattern);
    if (!prefix.empty())
        return anyWithPrefix(m_names, prefix, [&](const std::string& name) { return globMatch(pattern, name); });
    return anyWithPrefix(m_reversed, backwards(literalSuffix(pattern)),
                         [&](const std::string& name) { return globMatch(pattern, backwards(name)); });
}

} // namespace shardboard
