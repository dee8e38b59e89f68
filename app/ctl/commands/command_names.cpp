// SPDX-License-Identifier: Apache-2.0
// shardctl names: what frameworks call the weights of a design, and how their parameters are made of them.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/names/namechange.h"
#include "model/io/names/parameternames.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

using nlohmann::ordered_json;

ordered_json changeJson(const NamedParameter& parameter)
{
    const NameChange change = nameChange(parameter);
    return { { "name", parameter.name },     { "weights", parameter.sources },
             { "shape", parameter.shape() }, { "first_layer", parameter.firstLayer },
             { "layers", parameter.layers }, { "transposed", change.transposed },
             { "split", change.split },      { "fused", change.fused },
             { "stacked", change.stacked },  { "part", change.part },
             { "order", parameter.order },   { "view", parameter.view } };
}

ordered_json namesJson(NameScheme scheme, const Result<ParameterNames>& names)
{
    ordered_json out { { "scheme", nameSchemeName(scheme) }, { "title", nameSchemeTitle(scheme) } };
    if (!names.ok()) {
        out["error"] = names.error().text();
        return out;
    }
    out["parameters"] = ordered_json::array();
    for (const NamedParameter& parameter : names.value().parameters)
        out["parameters"].push_back(changeJson(parameter));
    out["missing"] = ordered_json::array();
    for (const UnnamedWeight& weight : names.value().missing)
        out["missing"].push_back({ { "weight", weight.weight }, { "reason", weight.reason } });
    return out;
}

void printNames(const ParameterNames& names)
{
    Table table({ "weight", "parameter", "change" });
    for (const NamedParameter& parameter : names.parameters)
        for (std::size_t i = 0; i < parameter.sources.size(); ++i)
            table.add(
                { parameter.sources[i], i == 0 ? parameter.name : std::string("\""), i == 0 ? nameChangeText(parameter) : "" });
    for (const UnnamedWeight& weight : names.missing)
        table.add({ weight.weight, "-", weight.reason });
    std::cout << table.text();
}

} // namespace

int namesCommand(const Arguments& arguments)
{
    const std::string asked = arguments.text("--scheme");
    const auto scheme = nameSchemeFromName(asked);
    if (arguments.has("--scheme") && !scheme) {
        std::vector<std::string> known;
        for (const NameScheme one : kNameSchemes)
            known.push_back(nameSchemeName(one));
        return report(usageError("--scheme", "there is no scheme '" + asked + "'", "schemes are " + joined(known)));
    }
    const auto opened = openDesign(arguments.positional().front(), Misfits::Replicate);
    if (!opened.ok())
        return report(opened.error());
    ordered_json all = ordered_json::array();
    bool first = true;
    for (const NameScheme one : kNameSchemes) {
        if (scheme && one != *scheme)
            continue;
        const auto names = namesOf(opened.value().design.model, one);
        if (scheme && !names.ok())
            return report(ofFile(arguments.positional().front(), names.error()));
        if (arguments.has("--json")) {
            all.push_back(namesJson(one, names));
            continue;
        }
        if (!scheme)
            std::cout << (first ? "" : "\n") << nameSchemeName(one) << "  " << nameSchemeTitle(one) << "\n";
        first = false;
        if (names.ok())
            printNames(names.value());
        else
            std::cout << "  " << names.error().text() << "\n";
    }
    if (arguments.has("--json"))
        std::cout << jsonText(ordered_json { { "format", "shardboard-names" }, { "version", 1 }, { "schemes", std::move(all) } }, 1)
                  << "\n";
    return kDone;
}

} // namespace shardboard
