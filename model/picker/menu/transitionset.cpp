// SPDX-License-Identifier: Apache-2.0
#include "model/picker/menu/reshardpolicy.h"

#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

using Kind = Placement::Kind;

TransitionSet setOf(std::initializer_list<std::pair<Kind, Kind>> pairs)
{
    TransitionSet out;
    for (const auto& [from, to] : pairs)
        out.add(from, to);
    return out;
}

std::optional<Kind> kindOf(std::string_view name)
{
    constexpr std::pair<const char*, Kind> kKinds[] = {
        { "R", Kind::Replicated }, { "Replicated", Kind::Replicated }, { "S", Kind::Sharded }, { "Sharded", Kind::Sharded },
        { "P", Kind::Partial },    { "Partial", Kind::Partial },
    };
    for (const auto& [text, kind] : kKinds)
        if (name == text)
            return kind;
    return std::nullopt;
}

} // namespace

std::optional<TransitionSet> TransitionSet::named(std::string_view name)
{
    if (name == "DEFAULT" || name == "DEFAULT_TRANSITIONS")
        return defaults();
    if (name == "ALL" || name == "ALL_TRANSITIONS")
        return all();
    return std::nullopt;
}

bool TransitionSet::add(std::string_view pair)
{
    const auto arrow = pair.find("->");
    if (arrow == std::string_view::npos)
        return false;
    const auto from = kindOf(pair.substr(0, arrow));
    const auto to = kindOf(pair.substr(arrow + 2));
    if (!from || !to)
        return false;
    add(*from, *to);
    return true;
}

std::vector<std::string> TransitionSet::pairs() const
{
    constexpr std::string_view kCodes = "RSPU";
    std::vector<std::string> out;
    for (unsigned from = 0; from < kCodes.size(); ++from)
        for (unsigned to = 0; to < kCodes.size(); ++to)
            if ((m_bits & bit(static_cast<Kind>(from), static_cast<Kind>(to))) != 0)
                out.push_back(std::string(1, kCodes[from]) + "->" + kCodes[to]);
    return out;
}

TransitionSet TransitionSet::defaults()
{
    return setOf({ { Kind::Replicated, Kind::Sharded },
                   { Kind::Sharded, Kind::Replicated },
                   { Kind::Sharded, Kind::Sharded },
                   { Kind::Partial, Kind::Replicated } });
}

TransitionSet TransitionSet::all()
{
    TransitionSet out = defaults();
    out.add(Kind::Partial, Kind::Sharded);
    return out;
}

std::string TransitionSet::text() const
{
    if (*this == defaults())
        return "DEFAULT_TRANSITIONS";
    if (*this == all())
        return "ALL_TRANSITIONS";
    std::vector<std::string> pairs;
    constexpr const char* kNames[] = { "Replicated", "Sharded", "Partial", "Unknown" };
    for (unsigned from = 0; from < 4; ++from)
        for (unsigned to = 0; to < 4; ++to)
            if ((m_bits & bit(static_cast<Kind>(from), static_cast<Kind>(to))) != 0)
                pairs.push_back("(" + std::string(kNames[from]) + ", " + kNames[to] + ")");
    std::sort(pairs.begin(), pairs.end());
    return "{" + joined(pairs) + "}";
}

} // namespace shardboard
