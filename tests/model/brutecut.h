// SPDX-License-Identifier: Apache-2.0
// Cuts done by hand: elements are dealt out one by one, without any formula of the product. For tests that compare.
#pragma once

#include "model/core/shards.h"

#include <cstdint>
#include <vector>

namespace shardboard::test {

using Elements = std::vector<std::int64_t>;

/// Whole units (heads, elements) dealt to `sizes` parts, major first; a part lists its units in order.
inline std::vector<std::vector<Elements>> dealUnits(const std::vector<Elements>& units, CutRule rule,
                                                    const std::vector<std::int64_t>& sizes)
{
    std::size_t parts = 1;
    for (const std::int64_t size : sizes)
        parts *= static_cast<std::size_t>(size);
    if (rule == CutRule::CeilNested && sizes.size() > 1) { // cut over the major axis, then every part over the others
        std::vector<std::vector<Elements>> out;
        for (const auto& part : dealUnits(units, CutRule::CeilFlat, { sizes.front() }))
            for (auto& inner : dealUnits(part, rule, { sizes.begin() + 1, sizes.end() }))
                out.push_back(std::move(inner));
        return out;
    }
    std::vector<std::size_t> wanted(parts, 0);
    if (rule == CutRule::CeilFlat || rule == CutRule::CeilNested) {
        std::size_t tile = 0;
        while (tile * parts < units.size())
            ++tile;
        wanted.assign(parts, tile);
    } else {
        for (std::size_t i = 0; i < units.size(); ++i)
            ++wanted[i % parts];
    }
    std::vector<std::vector<Elements>> out(parts);
    std::size_t next = 0;
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t i = 0; i < wanted[part] && next < units.size(); ++i)
            out[part].push_back(units[next++]);
    return out;
}

/// A dim of `size` stored elements, made of segments of logical elements (one after the other) that are dealt out in
/// units. Packed types store `numerator` elements for `denominator` logical ones: a stored element goes where its last
/// logical element goes. Returns for every part the stored elements in the order in which it holds them.
struct BruteSegment {
    std::int64_t size = 0;
    std::int64_t unit = 1;
};
inline std::vector<Elements> dealDim(std::int64_t size, const std::vector<BruteSegment>& segments, std::int64_t numerator,
                                     std::int64_t denominator, CutRule rule, const std::vector<std::int64_t>& sizes)
{
    std::vector<Elements> out;
    std::int64_t logical = 0;
    for (const BruteSegment& segment : segments) {
        std::vector<Elements> units;
        Elements rest;
        for (std::int64_t i = 0; i < segment.size; ++i, ++logical) {
            const bool whole = i / segment.unit < segment.size / segment.unit; // else it goes to the last part
            if (whole && i % segment.unit == 0)
                units.emplace_back();
            (whole ? units.back() : rest).push_back(logical);
        }
        const auto parts = dealUnits(units, rule, sizes);
        out.resize(parts.size());
        for (std::size_t part = 0; part < parts.size(); ++part) {
            Elements held;
            for (const Elements& unit : parts[part])
                held.insert(held.end(), unit.begin(), unit.end());
            if (part + 1 == parts.size())
                held.insert(held.end(), rest.begin(), rest.end());
            for (std::int64_t stored = 0; stored < size; ++stored) {
                const std::int64_t last = (stored + 1) * denominator / numerator - 1;
                for (const std::int64_t element : held)
                    if (element == last)
                        out[part].push_back(stored);
            }
        }
    }
    return out;
}

} // namespace shardboard::test
