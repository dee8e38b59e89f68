// SPDX-License-Identifier: Apache-2.0
#include "model/core/cutcomparison.h"

#include "model/core/checked.h"

#include <algorithm>
#include <limits>

namespace shardboard {

namespace {

constexpr std::array<const char*, 5> kUsers { "JAX", "XLA", "torch", "MAX", "DeepSpeed" }; // in the order of CutRule

Result<DimCut> cutOf(CutRule rule, const CutComparison& comparison, const Mesh& mesh, std::optional<std::int64_t> grain,
                     const std::string& where)
{
    if (rule == CutRule::GrainBalanced && !grain)
        return inputError(where, "the rule needs a grain", "give the elements that stay together, such as the head dim");
    return cutDim(comparison.size, comparison.axes, mesh, rule, grain.value_or(1), where);
}

void addPart(CutRow& row, Range range, Range balanced)
{
    const std::int64_t size = range.size();
    if (row.sizes.empty() || row.sizes.back().size != size)
        row.sizes.push_back({ size, 0 });
    ++row.sizes.back().count;
    row.empty += size == 0;
    // Where an empty part lies means nothing.
    const bool differs = range != balanced && (size > 0 || balanced.size() > 0);
    row.differs.push_back(differs);
    row.differing += differs;
}

void addTotals(CutRow& row, const CutComparison& comparison)
{
    const auto [least, most] =
        std::minmax_element(row.sizes.begin(), row.sizes.end(), [](const SizeRun& a, const SizeRun& b) { return a.size < b.size; });
    row.smallest = least->size;
    row.largest = most->size;
    const auto padded = checkedMultiply(row.largest, comparison.parts);
    row.padding = padded ? *padded - comparison.size : std::numeric_limits<std::int64_t>::max();
}

} // namespace

std::string cutRuleUser(CutRule rule) { return kUsers[static_cast<std::size_t>(rule)]; }

std::string runsText(const std::vector<SizeRun>& runs, std::size_t most)
{
    std::string out;
    for (std::size_t i = 0; i < std::min(most, runs.size()); ++i)
        out +=
            (i == 0 ? "" : ", ") + std::to_string(runs[i].size) + (runs[i].count > 1 ? " x " + std::to_string(runs[i].count) : "");
    return runs.size() > most ? out + ", ..." : out;
}

CutComparison compareCuts(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, std::optional<std::int64_t> grain,
                          const std::string& where)
{
    CutComparison comparison { size, axes, partsOf(axes, mesh), {} };
    for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
        CutRow& row = comparison.rows[i];
        row.rule = static_cast<CutRule>(i);
        const auto cut = cutOf(row.rule, comparison, mesh, grain, where);
        if (!cut.ok()) {
            row.refused = cut.error();
            continue;
        }
        for (std::int64_t part = 0; part < comparison.parts; ++part)
            addPart(row, cut.value().part(part).front(), balancedPart(size, comparison.parts, part));
        addTotals(row, comparison);
    }
    return comparison;
}

std::vector<Range> differingPositions(const CutRow& row, const CutComparison& comparison, const Mesh& mesh)
{
    std::vector<Range> ranges;
    if (row.differing == 0)
        return ranges;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        if (!row.differs[static_cast<std::size_t>(partIndexOf(comparison.axes, mesh, position))])
            continue;
        if (ranges.empty() || ranges.back().hi != position)
            ranges.push_back({ position, position });
        ++ranges.back().hi;
    }
    return ranges;
}

} // namespace shardboard
