// SPDX-License-Identifier: Apache-2.0
// An index into one list of the model, which cannot be mistaken for an index into another.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <vector>

namespace shardboard {

/// `Of` is any type that names the list. It subscripts without a cast, is made from a number only explicitly, and may be none.
template <class Of>
class Id {
public:
    constexpr Id() = default; ///< none
    template <std::integral Number>
    constexpr explicit Id(Number index)
        : m_index(static_cast<int>(index))
    {
    }

    constexpr bool valid() const { return m_index >= 0; }
    /// For files, messages, and item models; -1 for none.
    constexpr int number() const { return m_index; }
    constexpr operator std::size_t() const { return static_cast<std::size_t>(m_index); }

    constexpr Id& operator++()
    {
        ++m_index;
        return *this;
    }
    friend constexpr bool operator==(Id, Id) = default;
    friend constexpr std::strong_ordering operator<=>(Id, Id) = default;
    // A number has no list; as std::size_t none would be a large one.
    template <std::signed_integral Number>
    friend bool operator==(Id, Number) = delete;
    template <std::signed_integral Number>
    friend std::strong_ordering operator<=>(Id, Number) = delete;

private:
    int m_index = -1;
};

/// The element that will be added next, and the one that was added last.
template <class Of>
Id<Of> nextId(const std::vector<Of>& list)
{
    return Id<Of>(list.size());
}
template <class Of>
Id<Of> lastId(const std::vector<Of>& list)
{
    return Id<Of>(static_cast<int>(list.size()) - 1);
}

} // namespace shardboard

template <class Of>
struct std::hash<shardboard::Id<Of>> {
    std::size_t operator()(shardboard::Id<Of> id) const noexcept { return id; }
};
