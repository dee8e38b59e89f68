// SPDX-License-Identifier: Apache-2.0
// A set of the values of an enumeration, as the bits of a number. A value type.
#pragma once

namespace shardboard {

/// `Set` is the class that derives from it, so that with() gives one of those.
template <class Kind, class Set>
class KindSet {
public:
    constexpr bool has(Kind kind) const { return (m_bits & bit(kind)) != 0; }
    constexpr Set with(Kind kind, bool on = true) const
    {
        Set out;
        out.m_bits = on ? m_bits | bit(kind) : m_bits & ~bit(kind);
        return out;
    }
    constexpr bool any() const { return m_bits != 0; }
    friend constexpr bool operator==(const KindSet&, const KindSet&) = default;

private:
    static constexpr unsigned bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }

    unsigned m_bits = 0;
};

} // namespace shardboard
