// SPDX-License-Identifier: Apache-2.0
// What a picker may move without being asked, and what it says when it does.
#pragma once

#include "model/core/placement.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

enum class OnReshard : std::uint8_t { Silent, Warn, Raise };
std::string onReshardName(OnReshard mode); ///< silent, warn, raise
std::optional<OnReshard> onReshardFromName(std::string_view name);

/// Which changes of placement a region allows, by kinds: R->S, S->R, ….
class TransitionSet {
public:
    static TransitionSet defaults(); ///< all but P->S
    static TransitionSet all(); ///< R->S, S->R, S->S, P->R, P->S
    /// DEFAULT, ALL (also DEFAULT_TRANSITIONS, ALL_TRANSITIONS), or nothing.
    static std::optional<TransitionSet> named(std::string_view name);
    /// `P->R` or `Partial->Replicated`; false, and nothing added, when it is no such pair.
    bool add(std::string_view pair);
    void add(Placement::Kind from, Placement::Kind to) { m_bits |= bit(from, to); }
    bool allows(const Placement& from, const Placement& to) const { return from == to || (m_bits & bit(from.kind, to.kind)) != 0; }
    std::string text() const; ///< as MAX says it: DEFAULT_TRANSITIONS, ALL_TRANSITIONS, or the sorted pairs
    std::vector<std::string> pairs() const; ///< `P->R`, …
    friend bool operator==(const TransitionSet&, const TransitionSet&) = default;

private:
    static std::uint32_t bit(Placement::Kind from, Placement::Kind to)
    {
        return std::uint32_t { 1 } << (static_cast<unsigned>(from) * 4 + static_cast<unsigned>(to));
    }
    std::uint32_t m_bits = 0;
};

} // namespace shardboard
