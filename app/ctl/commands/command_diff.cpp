// SPDX-License-Identifier: Apache-2.0
// shardctl diff: two layouts entry by entry, wherever they come from; two rule sets over the same logical names.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/layouts/layoutdiff.h"
#include "model/io/maxtext/rulefile.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace shardboard {

namespace {

bool isRules(const std::string& path)
{
    if (path.ends_with(".yml") || path.ends_with(".yaml"))
        return true;
    const std::vector<std::string> presets = rulePresetNames();
    std::error_code failed;
    return contains(presets, path) && !std::filesystem::exists(path, failed);
}

/// What rules are applied to: logical names with shapes, and the mesh where it is given.
struct RuleSubject {
    LogicalDump logical;
    std::optional<Mesh> mesh; ///< a design's; otherwise each rule set makes its own from the options
};

Result<RuleSubject> subjectOf(const Arguments& arguments)
{
    if (arguments.has("--design") == arguments.has("--logical"))
        return usageError("shardctl diff", "rule sets need the tensors that they lay out",
                          "give --logical logical_shardings.json or --design D.shardboard");
    const auto table = readLayoutTable(arguments.text(arguments.has("--design") ? "--design" : "--logical"), false);
    if (!table.ok())
        return table.error();
    RuleSubject subject { logicalDumpOf(table.value()), std::nullopt };
    std::erase_if(subject.logical.entries,
                  [](const LogicalEntry& entry) { return entry.names.empty() && entry.shape && !entry.shape->empty(); });
    if (subject.logical.entries.empty())
        return inputError(table.value().source, "none of its tensors has logical names", "give a logical_shardings.json");
    if (arguments.has("--design"))
        subject.mesh = table.value().mesh;
    else if (!arguments.has("--devices-per-slice"))
        return usageError("shardctl diff", "--devices-per-slice is missing", "give the number of devices of a slice");
    return subject;
}

Result<LayoutTable> rulesTable(const std::string& path, const RuleSubject& subject, const Arguments& arguments)
{
    RuleSources sources;
    sources.base = arguments.text("--base");
    sources.model = arguments.text("--model-rules");
    sources.settings = arguments.texts("--set");
    const bool isBase = std::filesystem::path(path).filename() == "base.yml";
    if (isBase)
        sources.base = path;
    else if (path != "default")
        sources.custom = path;
    const auto setup = openRules(sources);
    if (!setup.ok())
        return setup.error();
    for (const std::string& warning : setup.value().warnings)
        std::cerr << "warning: " << warning << "\n";
    if (subject.mesh) {
        auto table = layoutTableOf(setup.value(), *subject.mesh, subject.logical);
        if (table.ok())
            table.value().source = path;
        return table;
    }
    const auto devices = arguments.integer("--devices-per-slice", 1, 1, kMaxDevices);
    const auto slices = arguments.integer("--slices", 1, 1, kMaxDevices);
    if (!devices.ok())
        return devices.error();
    if (!slices.ok())
        return slices.error();
    const auto mesh = meshOf(setup.value(), devices.value(), slices.value());
    if (!mesh.ok())
        return mesh.error();
    auto table = layoutTableOf(setup.value(), mesh.value(), subject.logical);
    if (table.ok())
        table.value().source = path;
    return table;
}

nlohmann::json bytesJson(const std::optional<std::int64_t>& bytes)
{
    return bytes ? nlohmann::json(*bytes) : nlohmann::json(nullptr);
}

void printJson(const LayoutComparison& comparison, const LayoutTable& left, const LayoutTable& right)
{
    nlohmann::json differences = nlohmann::json::array();
    for (const LayoutDifference& difference : comparison.differences)
        differences.push_back({ { "tensor", difference.tensor },
                                { "activation", difference.activation },
                                { "what", differenceName(difference.what) },
                                { "left", difference.left },
                                { "right", difference.right },
                                { "same_shards", difference.sameShards },
                                { "left_bytes_per_device", bytesJson(difference.leftBytes) },
                                { "right_bytes_per_device", bytesJson(difference.rightBytes) } });
    const bool sameMesh = comparison.leftMesh == comparison.rightMesh;
    const nlohmann::json mesh { { "left", comparison.leftMesh }, { "right", comparison.rightMesh } };
    std::cout << jsonText(nlohmann::json { { "equal", comparison.equal() },
                                           { "left", left.source },
                                           { "right", right.source },
                                           { "mesh", sameMesh ? nlohmann::json(nullptr) : mesh },
                                           { "compared", comparison.compared },
                                           { "differences", differences },
                                           { "left_bytes_per_device", comparison.leftBytes },
                                           { "right_bytes_per_device", comparison.rightBytes } },
                          1)
              << "\n";
}

std::string changeText(const LayoutDifference& difference, std::size_t count)
{
    if (difference.sameShards)
        return "same shards: only mesh axes of one device";
    if (!difference.leftBytes || !difference.rightBytes || *difference.leftBytes == *difference.rightBytes)
        return {};
    const auto copies = static_cast<std::int64_t>(count);
    return bytesText(*difference.leftBytes * copies) + " -> " + bytesText(*difference.rightBytes * copies);
}

void printText(const LayoutComparison& comparison, const LayoutTable& left, const LayoutTable& right)
{
    if (comparison.equal()) {
        std::cout << "equal: " << countText(static_cast<std::int64_t>(comparison.compared)) << " tensors\n";
        return;
    }
    std::cout << "left   " << left.source << "\nright  " << right.source << "\n";
    if (comparison.leftMesh != comparison.rightMesh)
        std::cout << "mesh   " << comparison.leftMesh << "  |  " << comparison.rightMesh << "\n";
    if (!comparison.differences.empty()) {
        Table table({ "differs", "tensor", ">count", "left", "right", "bytes per device" });
        for (const DifferenceGroup& group : groupedDifferences(comparison.differences))
            table.add({ differenceName(group.first.what), group.first.tensor, std::to_string(group.count), group.first.left,
                        group.first.right, changeText(group.first, group.count) });
        std::cout << "\n" << table.text(0) << "\n";
    }
    if (comparison.differences.empty())
        std::cout << "only the mesh differs: ";
    std::cout << countText(static_cast<std::int64_t>(comparison.differences.size())) << " differences in "
              << countText(static_cast<std::int64_t>(comparison.compared)) << " tensors that both have";
    if (comparison.leftBytes > 0 || comparison.rightBytes > 0)
        std::cout << "; on a device " << bytesText(comparison.leftBytes) << " -> " << bytesText(comparison.rightBytes);
    std::cout << "\n";
}

} // namespace

int diffCommand(const Arguments& arguments)
{
    const auto dtype = dtypeFromName(arguments.text("--dtype", "f32"));
    if (!dtype)
        return report(usageError("--dtype", "there is no dtype '" + arguments.text("--dtype") + "'", "use bf16, f16, f32, …"));
    const std::string& leftPath = arguments.positional()[0];
    const std::string& rightPath = arguments.positional()[1];
    const bool rules = isRules(leftPath) || isRules(rightPath);
    RuleSubject subject;
    if (rules) {
        auto found = subjectOf(arguments);
        if (!found.ok())
            return report(found.error());
        subject = std::move(found).value();
    }
    const bool shards = isShardsJson(leftPath) || isShardsJson(rightPath);
    const auto table = [&](const std::string& path) {
        return isRules(path) ? rulesTable(path, subject, arguments) : readLayoutTable(path, shards);
    };
    const auto left = table(leftPath);
    if (!left.ok())
        return report(left.error());
    const auto right = table(rightPath);
    if (!right.ok())
        return report(right.error());
    for (const auto* side : { &left.value(), &right.value() }) {
        constexpr std::size_t kMostWarnings = 5;
        for (std::size_t i = 0; i < std::min(kMostWarnings, side->warnings.size()); ++i)
            std::cerr << "warning: " << side->source << ": " << side->warnings[i] << "\n";
        if (side->warnings.size() > kMostWarnings)
            std::cerr << "warning: " << side->source << ": and " << side->warnings.size() - kMostWarnings << " more\n";
    }
    const LayoutComparison comparison = compareLayouts(left.value(), right.value(), *dtype);
    if (arguments.has("--json"))
        printJson(comparison, left.value(), right.value());
    else
        printText(comparison, left.value(), right.value());
    return comparison.equal() ? kDone : kFindings;
}

} // namespace shardboard
