// SPDX-License-Identifier: Apache-2.0
#include "model/design/findings/findings.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"

#include <array>

namespace shardboard {

CostKind costKind(std::string_view kind)
{
    static constexpr std::array kNone { "not-understood", "quant-block-split", "dead-rule",  "outside-mesh",
                                        "unused-entry",   "dead-pin",          "pin-unmet",  "unknown-pins",
                                        "refused-pick",   "cut-over-stages",   "max-defect", "idle-setting" };
    static constexpr std::array kMoved { "heads-split", "greedy-moves-activation", "reshard" };
    return contains(kNone, kind) ? CostKind::None : contains(kMoved, kind) ? CostKind::Moved : CostKind::Held;
}

std::string costKindName(CostKind kind) { return kind == CostKind::None ? "none" : kind == CostKind::Held ? "held" : "moved"; }

std::string costText(const Finding& finding)
{
    if (finding.costBytes <= 0)
        return {};
    const bool moved = costKind(finding.kind) == CostKind::Moved;
    return (moved ? "moves " : "costs ") + bytesText(finding.costBytes)
        + (moved ? " on each device in a step" : " of memory on each device");
}

bool isRepairedWithAll(const DesignFinding& finding) { return finding.fix && (finding.kind != "replicated" || isDefect(finding)); }

bool isDefect(const Finding& finding) { return finding.severity != Severity::Note; }

} // namespace shardboard
