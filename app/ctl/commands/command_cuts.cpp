// SPDX-License-Identifier: Apache-2.0
// shardctl cuts: what the five cut rules make of one tensor.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/core/cutcomparison.h"
#include "model/io/json/jsonwriter.h"
#include "model/notation/canonical.h"
#include "model/notation/notation.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

/// The layout of --spec, or of --dim over --axis.
Result<Layout> layoutOf(const Arguments& arguments, const Mesh& mesh, std::size_t rank)
{
    const bool spec = arguments.has("--spec");
    if (spec == arguments.has("--dim") || spec == arguments.has("--axis"))
        return usageError("shardctl cuts", "give either --spec, or --dim and --axis", "see shardctl cuts --help");
    if (spec)
        return readAnyLayout(arguments.text("--spec"), mesh, rank, "--spec");
    const auto dim = arguments.integer("--dim", 0, -16, 15);
    if (!dim.ok())
        return dim.error();
    const auto dims = static_cast<std::int64_t>(rank);
    if (dim.value() < -dims || dim.value() >= dims)
        return inputError("--dim", "the tensor has no dim " + std::to_string(dim.value()),
                          "it has " + std::to_string(rank) + " dims");
    Layout layout = Layout::replicated(rank);
    auto& axes = layout.dims[static_cast<std::size_t>(dim.value() < 0 ? dim.value() + dims : dim.value())];
    const std::string names = arguments.text("--axis");
    for (const std::string_view name : split(names, ',')) {
        const int axis = mesh.find(name);
        if (axis < 0)
            return inputError("--axis", "the mesh has no axis '" + std::string(name) + "'", "its axes are " + mesh.text());
        axes.push_back(AxisRef { axis });
    }
    if (auto status = verifyLayout(layout, mesh, rank, "--axis"); !status.ok())
        return status.error();
    return layout;
}

std::vector<std::string> axisNames(const CutComparison& comparison, const Mesh& mesh)
{
    std::vector<std::string> names;
    for (const AxisRef& ref : comparison.axes)
        names.push_back(axisText(ref, mesh));
    return names;
}

/// `2-4,8`, or `-` where no device differs.
std::string differenceText(const CutRow& row, const CutComparison& comparison, const Mesh& mesh)
{
    constexpr std::size_t kMostRuns = 8;
    if (row.differing == 0)
        return "-";
    const auto ranges = differingPositions(row, comparison, mesh);
    std::vector<std::string> devices;
    for (std::size_t i = 0; i < std::min(kMostRuns, ranges.size()); ++i)
        devices.push_back(std::to_string(ranges[i].lo) + (ranges[i].size() > 1 ? "-" + std::to_string(ranges[i].hi - 1) : ""));
    return joined(devices, ",") + (ranges.size() > kMostRuns ? ",..." : "");
}

std::string comparisonText(const CutComparison& comparison, std::size_t dim, const Mesh& mesh)
{
    std::string out = "dim " + std::to_string(dim) + ": " + countText(comparison.size) + " elements over "
        + joined(axisNames(comparison, mesh)) + " (" + countText(comparison.parts) + " parts)\n";
    Table table({ "rule", "used by", ">largest", ">smallest", ">padding", "parts", "other elements than balanced on devices" });
    for (const CutRow& row : comparison.rows) {
        if (row.refused)
            table.add({ cutRuleName(row.rule), cutRuleUser(row.rule), "", "", "", "refused: " + row.refused->what, "" });
        else
            table.add({ cutRuleName(row.rule), cutRuleUser(row.rule), countText(row.largest), countText(row.smallest),
                        countText(row.padding), runsText(row.sizes), differenceText(row, comparison, mesh) });
    }
    return out + table.text();
}

nlohmann::json rowJson(const CutRow& row, const CutComparison& comparison, const Mesh& mesh)
{
    nlohmann::json out { { "rule", cutRuleName(row.rule) }, { "used_by", cutRuleUser(row.rule) } };
    if (row.refused) {
        out["refused"] = row.refused->what + "; " + row.refused->fix;
        return out;
    }
    nlohmann::json sizes = nlohmann::json::array();
    for (const SizeRun& run : row.sizes)
        sizes.push_back({ run.size, run.count });
    nlohmann::json devices = nlohmann::json::array();
    for (const Range& range : differingPositions(row, comparison, mesh))
        devices.push_back({ range.lo, range.hi });
    out.update({ { "sizes", sizes },
                 { "largest", row.largest },
                 { "smallest", row.smallest },
                 { "empty_parts", row.empty },
                 { "padding", row.padding },
                 { "differing_parts", row.differing },
                 { "differing_devices", devices } });
    return out;
}

nlohmann::json comparisonJson(const CutComparison& comparison, std::size_t dim, const Mesh& mesh)
{
    nlohmann::json rules = nlohmann::json::array();
    for (const CutRow& row : comparison.rows)
        rules.push_back(rowJson(row, comparison, mesh));
    return { { "dim", dim },
             { "size", comparison.size },
             { "axes", axisNames(comparison, mesh) },
             { "parts", comparison.parts },
             { "rules", rules } };
}

} // namespace

int cutsCommand(const Arguments& arguments)
{
    for (const char* required : { "--shape", "--mesh" })
        if (!arguments.has(required))
            return report(usageError("shardctl cuts", std::string(required) + " is missing", "see shardctl cuts --help"));
    const auto shape = parseShape(arguments.text("--shape"));
    if (!shape.ok())
        return report(shape.error());
    const auto mesh = Mesh::parse(arguments.text("--mesh"));
    if (!mesh.ok())
        return report(mesh.error());
    const auto layout = layoutOf(arguments, mesh.value(), shape.value().size());
    if (!layout.ok())
        return report(layout.error());
    const auto grain = arguments.integer("--grain", 1, 1, std::int64_t { 1 } << 40);
    if (!grain.ok())
        return report(grain.error());
    const auto unit = arguments.has("--grain") ? std::optional(grain.value()) : std::nullopt;
    nlohmann::json dims = nlohmann::json::array();
    std::string text;
    for (std::size_t dim = 0; dim < shape.value().size(); ++dim) {
        const auto& axes = layout.value().dims[dim];
        if (axes.empty())
            continue;
        const auto comparison = compareCuts(shape.value()[dim], axes, mesh.value(), unit, "dim " + std::to_string(dim));
        if (arguments.has("--json"))
            dims.push_back(comparisonJson(comparison, dim, mesh.value()));
        else
            text += comparisonText(comparison, dim, mesh.value());
    }
    if (dims.empty() && text.empty())
        return report(
            inputError("--spec", "it cuts no dim", "name a mesh axis on a dim, e.g. P('" + mesh.value().axis(0).name + "')"));
    std::cout << (arguments.has("--json")
                      ? jsonText(nlohmann::json { { "shape", shape.value() }, { "mesh", mesh.value().text() }, { "dims", dims } },
                                 1)
                          + "\n"
                      : text);
    return kDone;
}

} // namespace shardboard
