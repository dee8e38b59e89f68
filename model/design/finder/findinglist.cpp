// SPDX-License-Identifier: Apache-2.0
#include "model/core/checked.h"
#include "model/design/finder/finder.h"
#include "model/text/numbers.h"

#include <algorithm>

namespace shardboard {

bool FindingList::full(const std::string& kind) const
{
    const auto count = m_counts.find(kind);
    return count != m_counts.end() && count->second >= kMostOfAKind;
}

void FindingList::add(Finding finding, std::optional<Repair> fix)
{
    if (!full(finding.kind)) {
        ++m_counts[finding.kind];
        m_findings.push_back({ std::move(finding), std::move(fix) });
        return;
    }
    Rest& rest = m_rest[finding.kind];
    ++rest.count;
    rest.bytes = checkedAdd(rest.bytes, finding.costBytes).value_or(rest.bytes);
    rest.severity = std::min(rest.severity, finding.severity);
}

std::vector<DesignFinding> FindingList::sorted() const
{
    std::vector<DesignFinding> all = m_findings;
    for (const auto& [kind, rest] : m_rest)
        all.push_back(
            { { kind, rest.severity, "the design", rest.bytes,
                countText(rest.count) + " more findings of the kind " + kind + " are not listed", "repair the others first" },
              std::nullopt });
    std::ranges::stable_sort(all, [](const Finding& a, const Finding& b) {
        return a.severity != b.severity ? a.severity < b.severity : a.costBytes > b.costBytes;
    });
    return all;
}

} // namespace shardboard
