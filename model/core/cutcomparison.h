// SPDX-License-Identifier: Apache-2.0
// One tensor dim cut by each of the five rules, side by side: what changes when another framework cuts the same layout.
#pragma once

#include "model/core/shards.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// Who cuts by a rule: JAX, XLA, torch, MAX, DeepSpeed.
std::string cutRuleUser(CutRule rule);

/// Parts that follow each other and have the same size.
struct SizeRun {
    std::int64_t size = 0;
    std::int64_t count = 0;
    friend bool operator==(const SizeRun&, const SizeRun&) = default;
};
/// `2667 x 11, 2663`; at most `most` runs, then `...`.
std::string runsText(const std::vector<SizeRun>& runs, std::size_t most = 12);

struct CutRow {
    CutRule rule = CutRule::Strict;
    std::optional<Error> refused; ///< then the rest is empty
    std::vector<SizeRun> sizes; ///< of the parts in order
    std::int64_t largest = 0;
    std::int64_t smallest = 0;
    std::int64_t empty = 0; ///< parts without elements
    std::int64_t padding = 0; ///< elements added when every part is padded to the largest; saturates
    std::vector<bool> differs; ///< per part: its range is not the balanced rule's
    std::int64_t differing = 0; ///< number of parts that differ
};

struct CutComparison {
    std::int64_t size = 0;
    std::vector<AxisRef> axes;
    std::int64_t parts = 1;
    std::array<CutRow, 5> rows; ///< in the order of CutRule
};

/// Compares the rules for a dim of `size` elements cut over `axes` (of a verified layout). Without `grain`, the unit of
/// grain-balanced, that row is refused. A refused rule is a row, not an error.
CutComparison compareCuts(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, std::optional<std::int64_t> grain,
                          const std::string& where);

/// The mesh positions whose part differs, as half-open ranges in order.
std::vector<Range> differingPositions(const CutRow& row, const CutComparison& comparison, const Mesh& mesh);

} // namespace shardboard
