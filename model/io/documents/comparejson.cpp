// SPDX-License-Identifier: Apache-2.0
#include "model/io/documents/comparejson.h"

#include "model/text/names.h"

#include <nlohmann/json.hpp>

namespace shardboard {

namespace {

const char* unitName(CostLine::Unit unit)
{
    constexpr std::array kNames { "s", "bytes", "1", "1/s", "share" };
    return nameIn(kNames, unit);
}

} // namespace

nlohmann::json comparisonToJson(const DesignComparison& comparison)
{
    nlohmann::json changes = nlohmann::json::array();
    for (const DesignDifference& change : comparison.changes)
        changes.push_back({ { "part", changePartName(change.part) },
                            { "names", change.names },
                            { "before", change.before },
                            { "after", change.after } });
    nlohmann::json costs = nlohmann::json::array();
    for (const CostLine& line : comparison.costs)
        costs.push_back({ { "key", line.key },
                          { "name", line.name },
                          { "unit", unitName(line.unit) },
                          { "before", line.before },
                          { "after", line.after },
                          { "difference", line.difference() },
                          { "verdict", verdictName(line.verdict()) } });
    return { { "same", comparison.same() },
             { "notes", comparison.notes },
             { "changes", std::move(changes) },
             { "costs", std::move(costs) } };
}

} // namespace shardboard
