// SPDX-License-Identifier: Apache-2.0
// shardctl rules: logical axis rules of MaxText to specs, and why.
#include "app/ctl/commands.h"
#include "app/ctl/rulesoptions.h"
#include "app/ctl/table.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/json/meshjson.h"
#include "model/io/maxtext/maxtextresolve.h"
#include "model/text/text.h"

#include <filesystem>
#include <iostream>

namespace shardboard {

namespace {

using Json = nlohmann::ordered_json;

std::string linesOf(const Json& document) { return jsonText(document, 1) + "\n"; }

int listRules(const Arguments& arguments)
{
    Json list = Json::array();
    Table table({ "name", ">rules", "mesh axes", "what for" });
    for (const std::string& name : rulePresetNames()) {
        const auto preset = rulePreset(name, "rules list");
        if (!preset.ok())
            return report(preset.error());
        const RuleSetup& setup = preset.value();
        const bool many = setup.meshAxes.size() > 7;
        table.add({ name, std::to_string(setup.rules.size()),
                    many ? std::to_string(setup.meshAxes.size()) + " axes" : joined(setup.meshAxes), rulePresetSummary(name) });
        list.push_back({ { "name", name },
                         { "mesh_axes", setup.meshAxes },
                         { "rules", setup.rules.size() },
                         { "summary", rulePresetSummary(name) } });
    }
    std::cout << (arguments.has("--json") ? linesOf({ { "rule_sets", list } }) : table.text(0));
    return kDone;
}

int showRules(const Arguments& arguments)
{
    const auto opened = setupFrom(arguments);
    if (!opened.ok())
        return report(opened.error());
    const RuleSetup& setup = opened.value();
    printWarnings(setup.warnings);
    if (arguments.has("--json")) {
        Json rules = Json::array();
        for (const LogicalRule& rule : setup.rules)
            rules.push_back({ { "name", rule.name }, { "axes", rule.axes }, { "place", rule.place } });
        std::cout << linesOf({ { "name", setup.name },
                               { "mesh_axes", setup.meshAxes },
                               { "data_sharding", setup.dataSharding },
                               { "input_names", setup.inputNames },
                               { "context_axis", setup.contextAxis },
                               { "rules", rules },
                               { "warnings", setup.warnings } });
        return kDone;
    }
    std::cout << setup.name << "\nmesh axes      " << joined(setup.meshAxes) << "\ndata sharding  " << joined(setup.dataSharding)
              << "\ninput names    " << joined(setup.inputNames) << "\ncontext axis   " << setup.contextAxis << "\n\n";
    Table table({ ">rule", "logical name", "mesh axes, major first", "where" });
    for (std::size_t i = 0; i < setup.rules.size(); ++i) {
        const LogicalRule& rule = setup.rules[i];
        table.add({ std::to_string(i + 1), rule.name, rule.axes.empty() ? "(replicated)" : joined(rule.axes), rule.place });
    }
    std::cout << table.text(0);
    return kDone;
}

/// The files of a resolved dump: name and content.
struct Resolved {
    std::vector<std::pair<std::string, std::string>> files;
    Json tensors = Json::array();
    std::size_t entries = 0;
};

Json tensorJson(const std::string& name, const std::vector<std::string>& names, const DumpSpec& spec)
{
    Json out = { { "name", name }, { "names", Json::array() }, { "partition_spec", specJson(spec) } };
    for (const std::string& dim : names)
        out["names"].push_back(dim.empty() ? Json(nullptr) : Json(dim));
    return out;
}

void addWeights(Resolved& out, const LogicalDump& logical, const NamedDump& named, bool wanted)
{
    out.entries += named.entries.size();
    for (std::size_t i = 0; wanted && i < named.entries.size(); ++i) {
        const NamedEntry& entry = named.entries[i];
        Json tensor = tensorJson(entry.name, logical.entries[i].names, entry.spec);
        if (entry.shape) {
            tensor["shape"] = *entry.shape;
            tensor["local_shape"] = localShape(*entry.shape, entry.spec, named.mesh);
        }
        tensor["replication"] = replicationOf(entry.spec, named.mesh);
        out.tensors.push_back(std::move(tensor));
    }
}

Result<Resolved> resolveFiles(const LogicalFiles& files, RulesOnMesh& rules, bool wantJson)
{
    Resolved out;
    if (files.weights) {
        const auto named = resolveWeights(*files.weights, rules.setup, rules.mesh, rules.setup.warnings);
        if (!named.ok())
            return named.error();
        addWeights(out, *files.weights, named.value(), wantJson);
        out.files.emplace_back("named_shardings.json", dumpText(named.value()));
        if (files.isFolder)
            out.files.emplace_back("logical_shardings.json", dumpText(*files.weights));
    }
    if (files.activations) {
        const auto dump = resolveActivations(*files.activations, rules.setup, rules.mesh);
        if (!dump.ok())
            return dump.error();
        out.entries += dump.value().entries.size();
        for (const ActivationEntry& entry : dump.value().entries) {
            out.tensors.push_back(tensorJson(entry.name, entry.names.value_or(std::vector<std::string> {}), entry.spec));
            if (!entry.names)
                out.tensors.back()["names"] = nullptr;
        }
        out.files.emplace_back("input_shardings.json", dumpText(dump.value()));
    }
    return out;
}

Status writeResolved(const Resolved& resolved, const std::string& target, bool isFolder)
{
    if (!isFolder)
        return writeFileAtomically(target, resolved.files.front().second);
    std::error_code error;
    std::filesystem::create_directories(target, error);
    if (error || !std::filesystem::is_directory(target, error))
        return inputError(target, "cannot be made a folder", "name a folder that is there, or could be");
    for (const auto& [name, content] : resolved.files)
        if (auto status = writeFileAtomically((std::filesystem::path(target) / name).string(), content); !status.ok())
            return status;
    return done();
}

int resolveRules(const Arguments& arguments)
{
    if (!arguments.has("--logical"))
        return report(
            usageError("shardctl rules resolve", "--logical is missing", "name logical_shardings.json, or the folder of a dump"));
    const bool json = arguments.has("--json");
    auto rules = rulesOnMeshFrom(arguments);
    if (!rules.ok())
        return report(rules.error());
    const auto files = readLogicalFiles(arguments.text("--logical"));
    if (!files.ok())
        return report(files.error());
    if (files.value().isFolder && !arguments.has("-o") && !json)
        return report(
            usageError("shardctl rules resolve", "-o is missing, and a folder has several files", "name a folder to write to"));
    const auto resolved = resolveFiles(files.value(), rules.value(), json);
    printWarnings(rules.value().setup.warnings);
    if (!resolved.ok())
        return report(resolved.error());
    const auto input = resolveInput(rules.value().setup, rules.value().mesh);
    if (!input.ok())
        return report(input.error());
    if (arguments.has("-o"))
        if (auto status = writeResolved(resolved.value(), arguments.text("-o"), files.value().isFolder); !status.ok())
            return report(status.error());
    const RuleSetup& setup = rules.value().setup;
    if (json)
        std::cout << linesOf({ { "rules", setup.name },
                               { "mesh", meshJson(rules.value().mesh) },
                               { "context_axis", setup.contextAxis },
                               { "data_sharding", setup.dataSharding },
                               { "input_names", setup.inputNames },
                               { "input_spec", specJson(input.value()) },
                               { "warnings", setup.warnings },
                               { "tensors", resolved.value().tensors } });
    else if (arguments.has("-o"))
        std::cout << arguments.text("-o") << ": " << resolved.value().entries << " entries, rules " << setup.name << ", mesh "
                  << meshText(rules.value().mesh) << "\n";
    else
        std::cout << resolved.value().files.front().second; // as MaxText writes it, without a last line break
    return kDone;
}

} // namespace

int rulesCommand(const Arguments& arguments)
{
    const auto& words = arguments.positional();
    const std::string& action = words.front();
    const bool named = words.size() > 1;
    if (named && (action != "show" || arguments.has("--rules")))
        return report(
            usageError("shardctl rules " + action, "'" + words[1] + "' is one argument too many", "see shardctl rules --help"));
    if (action == "list")
        return listRules(arguments);
    if (action == "show")
        return showRules(named ? arguments.with("--rules", words[1]) : arguments);
    if (action == "resolve")
        return resolveRules(arguments);
    if (action == "explain")
        return explainRules(arguments);
    return report(
        usageError("shardctl rules", "there is no action '" + action + "'", "actions are resolve, explain, list and show"));
}

} // namespace shardboard
