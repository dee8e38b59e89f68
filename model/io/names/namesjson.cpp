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
    if (!parameter.order.empty())
        out["order"] = parameter.order;
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

} // namespace shardboard
