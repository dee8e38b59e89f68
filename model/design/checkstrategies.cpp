// SPDX-License-Identifier: Apache-2.0
#include "model/design/checkstrategies.h"

#include "model/design/resolver.h"

#include <algorithm>

namespace shardboard {

namespace {

bool tellsLayersApart(const Design& design)
{
    return std::ranges::any_of(design.strategies, [](const StrategyEntry& entry) {
        return entry.match.find_first_of("0123456789?[") != std::string::npos;
    });
}

bool usesParts(const Layout& layout)
{
    return std::ranges::any_of(
        layout.dims, [](const auto& dim) { return std::ranges::any_of(dim, [](const AxisRef& ref) { return !ref.whole(); }); });
}

bool differInStrategiesAlone(const Design& edited, const Design& design)
{
    Design same = edited;
    same.strategies = design.strategies;
    return same == design;
}

} // namespace

std::optional<Status> checkStrategies(const Design& edited, const Design& design, const Evaluation& evaluation)
{
    if (tellsLayersApart(edited) || tellsLayersApart(design) || !differInStrategiesAlone(edited, design))
        return std::nullopt;
    Resolver resolver(edited);
    for (const WeightLayout& before : evaluation.weights) {
        WeightLayout weight;
        weight.tensor = before.tensor;
        weight.spec = before.spec;
        weight.unknownShape = before.unknownShape;
        weight.firstLayer = before.firstLayer;
        weight.copies = before.copies;
        weight.segment = before.segment;
        resolver.layOut(weight, weight.firstLayer >= 0 ? concreteName(weight.spec.name, weight.firstLayer) : weight.spec.name);
        if (usesParts(weight.layout))
            return std::nullopt;
        if (!weight.misfit)
            continue;
        const bool known = std::ranges::any_of(evaluation.weights, [&](const WeightLayout& it) {
            return it.misfit && it.spec.name == weight.spec.name && it.misfit->error.what == weight.misfit->error.what;
        });
        if (!known)
            return Status(weight.misfit->error);
    }
    return done();
}

} // namespace shardboard
