// SPDX-License-Identifier: Apache-2.0
// A repair is a small edit of a design that removes the cause of a finding: the window applies it with one click, shardctl
// with `check --repair`. A value type.
#pragma once

#include "model/design/design.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace shardboard {

/// `entry` as withStrategy() puts it.
struct SetStrategy {
    StrategyEntry entry;
};
/// Entry `index` becomes `entry`.
struct ReplaceStrategy {
    int index = 0;
    StrategyEntry entry;
};
struct RemoveStrategy {
    int index = 0;
};
/// Rule `index` becomes `rule`.
struct ReplaceRule {
    int index = 0;
    LogicalRule rule;
};
/// `rule` before rule `index` (at the end when it is their number).
struct InsertRule {
    int index = 0;
    LogicalRule rule;
};
struct RemoveRule {
    int index = 0;
};
/// `pin` as withPin() puts it.
struct SetPin {
    Pin pin;
};
/// Pin `index` becomes `pin`.
struct ReplacePin {
    int index = 0;
    Pin pin;
};
struct RemovePin {
    int index = 0;
};
/// The whole design becomes another one: other workload, preset or mesh. Stands alone in a repair.
struct ReplaceDesign {
    std::shared_ptr<const Design> design;
};

using DesignChange = std::variant<SetStrategy, ReplaceStrategy, RemoveStrategy, ReplaceRule, InsertRule, RemoveRule, SetPin,
                                  ReplacePin, RemovePin, ReplaceDesign>;

struct Repair {
    std::string text; ///< on a button and in the history: `Cut lm_head.weight dim 0 over model`
    std::vector<DesignChange> changes; ///< indices are those of the design before the first change
};

/// The design with `entry` as a new last entry; one with the same pattern is replaced in its place instead, so that edits do
/// not pile up, unless a wider pattern behind it would hide it.
Design withStrategy(Design design, const StrategyEntry& entry);

/// The design with `pin` as a new last one. One set by hand that speaks of the same row of the same operations, or of the same
/// activations, goes, so that edits do not pile up.
Design withPin(Design design, const Pin& pin);

/// The design after a repair: what names an index first, then SetStrategy and SetPin in order. Changes that name an index which is
/// not there are left out (the design changed meanwhile).
Design repaired(Design design, const Repair& repair);

} // namespace shardboard
