// SPDX-License-Identifier: Apache-2.0
// Numbers in mixed radix: lists of device numbers that step regularly, and XLA's short form of them, the iota
// transpose(iota(n).reshape(sizes), perm), written `[2,4]T(1,0)`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardboard {

/// One digit: `size` values that lie `stride` apart.
struct Digit {
    std::int64_t size = 1;
    std::int64_t stride = 1;
    friend bool operator==(const Digit&, const Digit&) = default;
};

/// All sums of the digits, the first digit slowest. The product of the sizes must be small enough to hold.
std::vector<std::int64_t> expandDigits(const std::vector<Digit>& majorFirst);
/// The fewest digits whose sums are this list (size 1 left out), major first; nothing when there are none.
std::optional<std::vector<Digit>> digitsOf(std::span<const std::int64_t> values);

struct Iota {
    std::vector<std::int64_t> reshape; ///< no ones in the canonical form
    std::vector<std::size_t> perm; ///< as long as reshape
    friend bool operator==(const Iota&, const Iota&) = default;
};

/// Without sizes of 1, neighbours that stay neighbours merged: `[3,4,5]T(1,2,0)` is `[3,20]T(1,0)`.
Iota canonicalIota(const Iota& iota);
/// `[2,4]T(1,0)`, `[8]`, or `[1]` for nothing; the iota must be canonical.
std::string iotaText(const Iota& iota);
/// The digits of an iota, in the order of the list it stands for.
std::vector<Digit> digitsOf(const Iota& iota);
/// The canonical iota of digits that together count 0 to n-1, or nothing when they do not.
std::optional<Iota> iotaOf(const std::vector<Digit>& majorFirst);

} // namespace shardboard
