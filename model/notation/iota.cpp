// SPDX-License-Identifier: Apache-2.0
#include "model/notation/iota.h"

#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

std::vector<std::int64_t> expandDigits(const std::vector<Digit>& majorFirst)
{
    std::vector<std::int64_t> values { 0 };
    for (const Digit& digit : majorFirst) {
        std::vector<std::int64_t> next;
        next.reserve(values.size() * static_cast<std::size_t>(digit.size));
        for (const std::int64_t value : values)
            for (std::int64_t i = 0; i < digit.size; ++i)
                next.push_back(value + i * digit.stride);
        values = std::move(next);
    }
    return values;
}

std::optional<std::vector<Digit>> digitsOf(std::span<const std::int64_t> values)
{
    if (values.empty() || values.front() != 0)
        return std::nullopt;
    std::vector<Digit> digits;
    // The run of equal steps at the start is the minor digit: where it ends, the next digit counts on with another
    // step.
    for (std::size_t block = 1; block < values.size();) {
        Digit digit { 1, values[block] };
        std::size_t at = block;
        while (at < values.size() && values[at] == digit.size * digit.stride) {
            ++digit.size;
            at += block;
        }
        if (digit.stride < 1 || values.size() % at != 0)
            return std::nullopt;
        digits.insert(digits.begin(), digit);
        block = at;
    }
    const auto expanded = expandDigits(digits);
    if (!std::equal(expanded.begin(), expanded.end(), values.begin(), values.end()))
        return std::nullopt;
    return digits;
}

Iota canonicalIota(const Iota& iota)
{
    struct Group {
        std::size_t first; // in reshape
        std::size_t last;
        std::int64_t size;
    };
    std::vector<std::size_t> kept(iota.reshape.size()); // number of each size without the ones
    std::size_t count = 0;
    for (std::size_t i = 0; i < iota.reshape.size(); ++i)
        kept[i] = iota.reshape[i] == 1 ? count : count++;
    std::vector<Group> groups;
    for (const std::size_t source : iota.perm) {
        if (iota.reshape[source] == 1)
            continue;
        if (!groups.empty() && groups.back().last + 1 == kept[source]) {
            groups.back().last = kept[source];
            groups.back().size *= iota.reshape[source];
        } else {
            groups.push_back({ kept[source], kept[source], iota.reshape[source] });
        }
    }
    Iota out;
    std::vector<Group> sorted = groups;
    std::ranges::sort(sorted, [](const Group& a, const Group& b) { return a.first < b.first; });
    for (const Group& group : sorted)
        out.reshape.push_back(group.size);
    for (const Group& group : groups)
        out.perm.push_back(static_cast<std::size_t>(
            std::ranges::find_if(sorted, [&](const Group& other) { return other.first == group.first; }) - sorted.begin()));
    return out;
}

std::string iotaText(const Iota& iota)
{
    std::vector<std::string> sizes;
    for (const std::int64_t size : iota.reshape)
        sizes.push_back(std::to_string(size));
    std::vector<std::string> perm;
    for (const std::size_t source : iota.perm)
        perm.push_back(std::to_string(source));
    return "[" + (sizes.empty() ? std::string("1") : joined(sizes, ",")) + "]"
        + (perm.size() > 1 ? "T(" + joined(perm, ",") + ")" : "");
}

std::vector<Digit> digitsOf(const Iota& iota)
{
    std::vector<std::int64_t> strides(iota.reshape.size(), 1);
    for (std::size_t i = iota.reshape.size(); i-- > 1;)
        strides[i - 1] = strides[i] * iota.reshape[i];
    std::vector<Digit> digits;
    for (const std::size_t source : iota.perm)
        digits.push_back({ iota.reshape[source], strides[source] });
    return digits;
}

std::optional<Iota> iotaOf(const std::vector<Digit>& majorFirst)
{
    std::vector<std::size_t> order; // digits by stride, the largest first
    for (std::size_t i = 0; i < majorFirst.size(); ++i)
        if (majorFirst[i].size > 1)
            order.push_back(i);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return majorFirst[a].stride > majorFirst[b].stride; });
    std::int64_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        if (majorFirst[order[i]].stride != stride)
            return std::nullopt;
        stride *= majorFirst[order[i]].size;
    }
    Iota iota;
    std::vector<std::size_t> place(majorFirst.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
        iota.reshape.push_back(majorFirst[order[i]].size);
        place[order[i]] = i;
    }
    for (std::size_t i = 0; i < majorFirst.size(); ++i)
        if (majorFirst[i].size > 1)
            iota.perm.push_back(place[i]);
    return canonicalIota(iota);
}

} // namespace shardboard
