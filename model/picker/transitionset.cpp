// SPDX-License-Identifier: Apache-2.0
#include "model/picker/picktask.h"

#include "model/core/text.h"

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

} // namespace

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
