// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/namesjson.h"

namespace shardboard {

using nlohmann::ordered_json;

ordered_json parameterJson(const NamedParameter& parameter)
{
    ordered_json out { { "name", parameter.name }, { "shape", parameter.shape() }, { "sources", parameter.sources } };
    if (parameter.firstLayer >= 0) {
        out["layers"] = { parameter.firstLayer, parameter.layers };
        if (parameter.stacked)
            out["stacked"] = true;
        else
            out["first_number"] = parameter.firstNumber;
    }
    if (!parameter.view.empty())
        out["view"] = parameter.view;
    if (!parameter.logicalNames.empty()) {
        ordered_json names = ordered_json::array();
        for (const std::string& name : parameter.logicalNames)
            names.push_back(name.empty() ? ordered_json() : ordered_json(name));
        out["logical"] = std::move(names);
    }
    ordered_json factors = ordered_json::array();
    for (const NameFactor& factor : parameter.factors) {
        ordered_json item { { "size", factor.size } };
        if (factor.taken == NameFactor::kNumbered)
            item["numbered"] = true;
        else if (factor.taken >= 0)
            item["taken"] = factor.taken;
        factors.push_back(std::move(item));
    }
    out["factors"] = std::move(factors);
    out["from"] = parameter.from;
    out["dims"] = parameter.dims;
    if (parameter.joined >= 0) {
        out["joined"] = parameter.joined;
        out["parts"] = parameter.parts;
    }
    return out;
}

ordered_json namesJson(const ModelSpec& model, const std::vector<NameScheme>& schemes)
{
    ordered_json list = ordered_json::array();
    for (const NameScheme scheme : schemes) {
        ordered_json item { { "scheme", nameSchemeName(scheme) }, { "title", nameSchemeTitle(scheme) } };
        const auto names = namesOf(model, scheme);
        if (!names.ok()) {
            item["reason"] = names.error().what;
            list.push_back(std::move(item));
            continue;
        }
        item["parameters"] = ordered_json::array();
        for (const NamedParameter& parameter : names.value().parameters)
            item["parameters"].push_back(parameterJson(parameter));
        item["missing"] = ordered_json::array();
        for (const UnnamedWeight& missing : names.value().missing)
            item["missing"].push_back({ { "weight", missing.weight }, { "reason", missing.reason } });
        list.push_back(std::move(item));
    }
    return { { "model", model.name }, { "family", model.family }, { "schemes", std::move(list) } };
}

} // namespace shardboard
