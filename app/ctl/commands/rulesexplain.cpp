// SPDX-License-Identifier: Apache-2.0
// shardctl rules explain: which rule decided each dim of one tensor, which were skipped and why, and what that costs.
#include "app/ctl/commands.h"
#include "app/ctl/rulesoptions.h"
#include "model/core/checked.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/json/meshjson.h"
#include "model/io/maxtext/maxtextresolve.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <iostream>

namespace shardboard {

namespace {

using Json = nlohmann::ordered_json;

/// A tensor whose names are known.
struct NamedTensor {
    std::string name;
    std::vector<std::string> names;
    std::optional<Shape> shape;
    bool unknown = false; ///< an activation that was dumped without names
    friend bool operator==(const NamedTensor&, const NamedTensor&) = default;
};

/// `.params/['params']/['decoder']` as `params/params/decoder`, which is easier to type.
std::string plainName(std::string_view name)
{
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        const bool fieldDot = c == '.' && (i == 0 || name[i - 1] == '/');
        if (!fieldDot && c != '[' && c != ']' && c != '\'' && c != '"')
            out += c;
    }
    return out;
}

std::vector<NamedTensor> tensorsOf(const LogicalFiles& files)
{
    std::vector<NamedTensor> out;
    if (files.weights)
        for (const LogicalEntry& entry : files.weights->entries)
            out.push_back({ entry.name, entry.names, entry.shape, false });
    if (files.activations)
        for (const ActivationEntry& entry : files.activations->entries)
            out.push_back(
                { entry.name, entry.names.value_or(std::vector<std::string> {}), activationShape(entry.name), !entry.names });
    return out;
}

/// Those that fit, without the optimizer's copies of a weight when the weight itself is among them.
template <class Fits>
std::vector<NamedTensor> matching(const std::vector<NamedTensor>& tensors, Fits fits)
{
    std::vector<NamedTensor> out;
    for (const NamedTensor& tensor : tensors)
        if (fits(tensor) && !contains(out, tensor))
            out.push_back(tensor);
    const auto isState = [](const NamedTensor& tensor) { return tensor.name.starts_with(".opt_state"); };
    if (!std::ranges::all_of(out, isState))
        std::erase_if(out, isState);
    return out;
}

Result<NamedTensor> findTensor(const std::vector<NamedTensor>& tensors, const std::string& pattern)
{
    constexpr std::size_t kMostListed = 4;
    const std::string plain = plainName(pattern);
    auto found = matching(tensors, [&](const NamedTensor& t) { return t.name == pattern || plainName(t.name) == plain; });
    if (found.empty())
        found = matching(tensors, [&](const NamedTensor& t) { return plainName("/" + t.name).ends_with("/" + plain); });
    if (found.empty())
        found = matching(tensors, [&](const NamedTensor& t) { return plainName(t.name).find(plain) != std::string::npos; });
    if (found.empty() || plain.empty())
        return inputError("--tensor", "no tensor is called '" + pattern + "'", "give a name of the dump, or its last parts");
    if (found.size() == 1)
        return found.front();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(found.size(), kMostListed); ++i)
        names.push_back(plainName(found[i].name));
    const std::string more = found.size() > kMostListed ? " and " + std::to_string(found.size() - kMostListed) + " more" : "";
    return inputError("--tensor", "'" + pattern + "' fits " + std::to_string(found.size()) + " tensors",
                      "give more of the name: " + joined(names) + more);
}

Result<NamedTensor> tensorByHand(const Arguments& arguments)
{
    NamedTensor out { "tensor", {}, std::nullopt, false };
    const std::string text = arguments.text("--names");
    for (const std::string_view part : split(text, ',')) {
        const bool unnamed = part == "null" || part == "None" || part == "-" || part == "~";
        out.names.emplace_back(unnamed ? std::string_view() : part);
    }
    if (text.empty())
        out.names.clear();
    if (arguments.has("--shape")) {
        auto shape = parseShape(arguments.text("--shape"));
        if (!shape.ok())
            return shape.error();
        out.shape = std::move(shape).value();
    }
    if (out.shape && out.shape->size() != out.names.size())
        return inputError("--shape",
                          "the shape has " + std::to_string(out.shape->size()) + " sizes, the number of names is "
                              + std::to_string(out.names.size()),
                          "give one size for each name");
    return out;
}

Result<NamedTensor> tensorFrom(const Arguments& arguments)
{
    if (arguments.has("--logical") == arguments.has("--names"))
        return usageError("shardctl rules explain", "give either --logical with --tensor, or --names", "see shardctl rules --help");
    if (arguments.has("--names"))
        return tensorByHand(arguments);
    if (!arguments.has("--tensor"))
        return usageError("shardctl rules explain", "--tensor is missing", "name a tensor of the dump");
    const auto files = readLogicalFiles(arguments.text("--logical"));
    if (!files.ok())
        return files.error();
    const auto tensors = tensorsOf(files.value());
    auto found = findTensor(tensors, arguments.text("--tensor"));
    if (found.ok() && found.value().unknown)
        return inputError("--tensor", found.value().name + " was dumped without logical names, so no rule made its spec", {});
    return found;
}

/// What a tensor costs on one device, and would cost had no axis been lost.
struct Cost {
    std::int64_t bytes = 0;
    std::int64_t lost = 0;
    std::vector<std::string> lostAxes; ///< of more than one device
};

Cost costOf(const NamedTensor& tensor, const RulesOnMesh& rules, const Resolution& resolution, DType dtype)
{
    Cost out;
    std::int64_t parts = 1;
    for (std::size_t dim = 0; dim < tensor.names.size(); ++dim)
        for (const std::string& name : lostAxes(resolution, rules.setup.rules, static_cast<int>(dim))) {
            const int axis = rules.mesh.find(name);
            if (axis < 0 || rules.mesh.axis(axis).size == 1 || contains(out.lostAxes, name))
                continue;
            parts *= rules.mesh.axis(axis).size;
            out.lostAxes.push_back(name);
        }
    if (!tensor.shape)
        return out;
    const auto elements = checkedProduct(localShape(*tensor.shape, resolution.spec, rules.mesh));
    out.bytes = bytesOf(elements.value_or(std::numeric_limits<std::int64_t>::max()), dtype);
    out.lost = out.bytes - out.bytes / parts;
    return out;
}

std::string listText(const Shape& shape) { return shape.empty() ? "scalar" : shapeText(shape); }

void printText(const NamedTensor& tensor, const RulesOnMesh& rules, const Resolution& resolution, const Cost& cost)
{
    const auto cut = withoutUselessAxes(resolution.spec, rules.mesh);
    std::cout << tensor.name << (tensor.shape ? "  " + listText(*tensor.shape) : "") << "\n";
    for (const std::string& line : explainResolution(tensor.names, rules.setup.rules, resolution, rules.mesh))
        std::cout << "  " << line << "\n";
    std::cout << "spec         " << pythonSpecText(resolution.spec) << "\n";
    if (cut != resolution.spec)
        std::cout << "what it cuts " << pythonSpecText(cut) << "  (axes of size 1 left out)\n";
    const std::int64_t copies = replicationOf(resolution.spec, rules.mesh);
    std::cout << "mesh         " << meshText(rules.mesh) << "\n";
    if (tensor.shape)
        std::cout << "a device     " << listText(localShape(*tensor.shape, resolution.spec, rules.mesh)) << ", "
                  << bytesText(cost.bytes) << "\n";
    std::cout << "copies       " << countText(copies) << " of each element on " << countText(rules.mesh.deviceCount())
              << " devices\n";
    if (!cost.lostAxes.empty())
        std::cout << "lost         " << joined(cost.lostAxes) << " was asked for and cuts nothing"
                  << (tensor.shape ? ": " + bytesText(cost.lost) + " more on each device" : "") << "\n";
}

Json skippedJson(const RuleTrial& trial, const RulesOnMesh& rules)
{
    const LogicalRule& rule = rules.setup.rules[static_cast<std::size_t>(trial.rule)];
    const LogicalRule& taker = rules.setup.rules[static_cast<std::size_t>(trial.takenByRule)];
    const int axis = rules.mesh.find(trial.axis);
    return { { "rule", trial.rule + 1 },
             { "place", rule.place },
             { "axes", rule.axes },
             { "reason", "axis-taken" },
             { "axis", trial.axis },
             { "axis_size", axis < 0 ? 0 : rules.mesh.axis(axis).size },
             { "taken_by_dim", trial.takenByDim },
             { "taken_by_rule", trial.takenByRule + 1 },
             { "taken_by_place", taker.place } };
}

Json dimJson(std::size_t dim, const NamedTensor& tensor, const RulesOnMesh& rules, const Resolution& resolution,
             const std::string& text)
{
    const int decided = resolution.decidedBy[dim];
    Json out = { { "dim", dim } };
    out["name"] = tensor.names[dim].empty() ? Json(nullptr) : Json(tensor.names[dim]);
    out["rule"] = decided < 0 ? Json(nullptr) : Json(decided + 1);
    out["place"] = decided < 0 ? Json(nullptr) : Json(rules.setup.rules[static_cast<std::size_t>(decided)].place);
    out["axes"] = resolution.spec[dim];
    out["skipped"] = Json::array();
    for (const RuleTrial& trial : resolution.trials)
        if (trial.dim == static_cast<int>(dim) && trial.outcome == RuleOutcome::AxisTaken)
            out["skipped"].push_back(skippedJson(trial, rules));
    out["lost_axes"] = lostAxes(resolution, rules.setup.rules, static_cast<int>(dim));
    out["text"] = text;
    return out;
}

void printJson(const NamedTensor& tensor, const RulesOnMesh& rules, const Resolution& resolution, const Cost& cost)
{
    const auto texts = explainResolution(tensor.names, rules.setup.rules, resolution, rules.mesh);
    Json dims = Json::array();
    for (std::size_t dim = 0; dim < tensor.names.size(); ++dim)
        dims.push_back(dimJson(dim, tensor, rules, resolution, texts[dim]));
    Json out = { { "tensor", tensor.name }, { "rules", rules.setup.name }, { "mesh", meshJson(rules.mesh) }, { "dims", dims } };
    out["partition_spec"] = specJson(resolution.spec);
    out["cut_spec"] = specJson(withoutUselessAxes(resolution.spec, rules.mesh));
    out["replication"] = replicationOf(resolution.spec, rules.mesh);
    out["lost_axes"] = cost.lostAxes;
    if (tensor.shape) {
        out["shape"] = *tensor.shape;
        out["local_shape"] = localShape(*tensor.shape, resolution.spec, rules.mesh);
        out["bytes_per_device"] = cost.bytes;
        out["bytes_lost"] = cost.lost;
    }
    out["warnings"] = rules.setup.warnings;
    std::cout << jsonText(out, 1) << "\n";
}

/// The dtype in an activation's name wins over MaxText's default for weights.
Result<DType> dtypeFrom(const Arguments& arguments, const std::string& tensor)
{
    const auto colon = tensor.rfind(": ");
    if (!arguments.has("--dtype") && colon != std::string::npos)
        if (const auto dtype = dtypeFromName(std::string_view(tensor).substr(colon + 2, tensor.rfind('[') - colon - 2)))
            return *dtype;
    if (const auto dtype = dtypeFromName(arguments.text("--dtype", "f32")))
        return *dtype;
    return usageError("--dtype", "there is no dtype '" + arguments.text("--dtype") + "'", "use bf16, f16, f32, …");
}

} // namespace

int explainRules(const Arguments& arguments)
{
    const auto rules = rulesOnMeshFrom(arguments);
    if (!rules.ok())
        return report(rules.error());
    const auto tensor = tensorFrom(arguments);
    if (!tensor.ok())
        return report(tensor.error());
    const auto dtype = dtypeFrom(arguments, tensor.value().name);
    if (!dtype.ok())
        return report(dtype.error());
    const auto resolution = resolveNames(tensor.value().names, rules.value().setup.rules, tensor.value().name);
    if (!resolution.ok())
        return report(resolution.error());
    const Cost cost = costOf(tensor.value(), rules.value(), resolution.value(), dtype.value());
    printWarnings(rules.value().setup.warnings);
    if (arguments.has("--json"))
        printJson(tensor.value(), rules.value(), resolution.value(), cost);
    else
        printText(tensor.value(), rules.value(), resolution.value(), cost);
    return kDone;
}

} // namespace shardboard
