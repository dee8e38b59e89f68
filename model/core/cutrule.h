// SPDX-License-Identifier: Apache-2.0
// What happens to a tensor dim that does not divide by the number of its parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// For L elements over n parts (formats B0.3):
///   strict          refused unless n divides L (JAX at array boundaries)
///   ceil-flat       tiles of ceil(L / n), the tail short or empty (XLA)
///   ceil-nested     the same, one mesh axis after the other (torch)
///   balanced        the first L mod n parts get one more (MAX)
///   grain-balanced  balanced over whole units; what is no whole unit goes to the last part (DeepSpeed)
enum class CutRule { Strict, CeilFlat, CeilNested, Balanced, GrainBalanced };
std::string cutRuleName(CutRule rule); ///< strict, ceil-flat, ceil-nested, balanced, grain-balanced
std::optional<CutRule> cutRuleFromName(std::string_view name);

/// How a dim is cut where it does not divide: by which rule, in units of how many elements (grain-balanced only).
struct Cutting {
    CutRule rule = CutRule::Balanced;
    std::int64_t unit = 1;
    friend bool operator==(const Cutting&, const Cutting&) = default;
};

} // namespace shardboard
