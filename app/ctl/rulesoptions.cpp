// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/rulesoptions.h"

#include "model/io/maxtext/rulefile.h"
#include "model/text/text.h"

#include <filesystem>
#include <iostream>

namespace shardboard {

namespace {

Result<std::int64_t> devicesFrom(const Arguments& arguments)
{
    if (arguments.has("--devices-per-slice") == arguments.has("--topology"))
        return usageError("shardctl rules", "give either --devices-per-slice or --topology", "see shardctl rules --help");
    if (arguments.has("--topology"))
        return devicesPerSlice(arguments.text("--topology"), "--topology");
    return arguments.integer("--devices-per-slice", 1, 1, kMaxDevices);
}

Error noNames(const std::string& path)
{
    return inputError(path, "these are specs already; rules need logical names",
                      "give logical_shardings.json or input_shardings.json");
}

} // namespace

Result<RuleSetup> setupFrom(const Arguments& arguments)
{
    RuleSources sources;
    sources.base = arguments.text("--base");
    sources.model = arguments.text("--model-rules");
    sources.settings = arguments.texts("--set");
    sources.custom = arguments.text("--rules");
    auto setup = openRules(sources);
    if (setup.ok() && arguments.has("--outside-pipeline"))
        setup.value().rules = rulesOutsidePipeline(setup.value().rules);
    return setup;
}

Result<RulesOnMesh> rulesOnMeshFrom(const Arguments& arguments)
{
    const auto devices = devicesFrom(arguments);
    if (!devices.ok())
        return devices.error();
    const auto slices = arguments.integer("--slices", 1, 1, kMaxDevices);
    if (!slices.ok())
        return slices.error();
    auto setup = setupFrom(arguments);
    if (!setup.ok())
        return setup.error();
    auto mesh = meshOf(setup.value(), devices.value(), slices.value());
    if (!mesh.ok()) {
        printWarnings(setup.value().warnings); // what was ignored is often why the sizes do not fit
        return mesh.error();
    }
    return RulesOnMesh { std::move(setup).value(), std::move(mesh).value() };
}

Result<LogicalFiles> readLogicalFiles(const std::string& path)
{
    LogicalFiles out;
    std::error_code ignored;
    out.isFolder = std::filesystem::is_directory(path, ignored);
    if (!out.isFolder) {
        auto dump = readDump(path);
        if (!dump.ok())
            return dump.error();
        if (std::holds_alternative<NamedDump>(dump.value()))
            return noNames(path);
        if (auto* weights = std::get_if<LogicalDump>(&dump.value()))
            out.weights = std::move(*weights);
        else
            out.activations = std::get<ActivationDump>(std::move(dump).value());
        return out;
    }
    const auto weights = std::filesystem::path(path) / "logical_shardings.json";
    const auto activations = std::filesystem::path(path) / "input_shardings.json";
    if (std::filesystem::exists(weights, ignored)) {
        auto dump = readLogicalDump(weights.string());
        if (!dump.ok())
            return dump.error();
        out.weights = std::move(dump).value();
    }
    if (std::filesystem::exists(activations, ignored)) {
        auto dump = readActivationDump(activations.string());
        if (!dump.ok())
            return dump.error();
        out.activations = std::move(dump).value();
    }
    if (!out.weights && !out.activations)
        return inputError(path, "neither logical_shardings.json nor input_shardings.json is in this folder",
                          "name the folder of a dump");
    return out;
}

void printWarnings(const std::vector<std::string>& warnings)
{
    for (const std::string& warning : warnings)
        std::cerr << "warning: " << inputError({}, warning).text() << "\n"; // on one line, whatever a file's names hold
}

std::string meshText(const Mesh& mesh)
{
    std::vector<std::string> parts;
    for (const MeshAxis& axis : mesh.axes())
        if (axis.size > 1)
            parts.push_back(axis.name + "=" + std::to_string(axis.size));
    const std::size_t idle = mesh.axes().size() - parts.size();
    if (parts.empty() || idle == 0)
        return mesh.text();
    return joined(parts) + " and " + std::to_string(idle) + (idle == 1 ? " axis" : " axes") + " of size 1";
}

nlohmann::ordered_json specJson(const DumpSpec& spec)
{
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const auto& axes : spec) {
        if (axes.empty())
            out.push_back(nullptr);
        else if (axes.size() == 1)
            out.push_back(axes.front());
        else
            out.push_back(axes);
    }
    return out;
}

} // namespace shardboard
