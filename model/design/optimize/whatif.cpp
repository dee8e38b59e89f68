// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/whatif.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

bool isOver(const OptimizeOptions& options)
{
    return (options.cancelled != nullptr && *options.cancelled) || std::chrono::steady_clock::now() >= options.deadline;
}

/// A weight on every device, whatever else changes.
Design replicated(const Design& design, const std::string& tensor)
{
    Design out = design;
    std::erase_if(out.strategies, [&](const StrategyEntry& entry) { return entry.match == tensor; });
    out.strategies.push_back({ tensor, Strategy {}, std::nullopt });
    return out;
}

/// The weights that some device has not whole, each name once.
std::vector<std::string> cutWeights(const Evaluation& evaluation)
{
    std::vector<std::string> out;
    for (const WeightLayout& weight : evaluation.weights)
        if (!weight.layout.isReplicated() && weight.spec.role == TensorRole::Weight
            && std::ranges::find(out, weight.spec.name) == out.end())
            out.push_back(weight.spec.name);
    return out;
}

} // namespace

Result<WhatIfAnswer> whatIf(const Design& design, const WhatIfOptions& options)
{
    auto best = optimizeLayouts(design, options.optimize);
    if (!best.ok())
        return best.error();
    WhatIfAnswer out { std::move(best).value(), {}, true };
    const double objective = out.best.certificate.objective;
    const auto peak = static_cast<double>(out.best.evaluation->plan.memory.peak);
    const auto add = [&out](WhatIf::Kind kind) -> WhatIf& {
        WhatIf& one = out.cases.emplace_back();
        one.kind = kind;
        return one;
    };
    if (options.optimize.memoryBytes)
        for (const double bytes : { options.stepBytes, -options.stepBytes })
            if (*options.optimize.memoryBytes + bytes > 0)
                add(WhatIf::Kind::Memory).bytes = bytes;
    for (const std::string& tensor : cutWeights(*out.best.evaluation))
        add(WhatIf::Kind::Replicated).tensor = tensor;
    OptimizeOptions each = options.optimize;
    each.progress = {};
    each.tried = {};
    for (std::size_t i = 0; i < out.cases.size(); ++i) {
        WhatIf& one = out.cases[i];
        if (isOver(options.optimize)) {
            out.complete = false;
            out.cases.resize(i);
            break;
        }
        OptimizeOptions asked = each;
        if (one.kind == WhatIf::Kind::Memory)
            asked.memoryBytes = *asked.memoryBytes + one.bytes;
        else
            asked.keep.push_back(one.tensor);
        // With another limit it begins at the best so far: what is better for more memory is never missed for want of time.
        const auto answer =
            optimizeLayouts(one.kind == WhatIf::Kind::Replicated ? replicated(design, one.tensor) : out.best.design, asked);
        if (isOver(options.optimize)) { // it may not have come to its end
            out.complete = false;
            out.cases.resize(i);
            break;
        }
        if (answer.ok()) {
            one.feasible = answer.value().feasible;
            one.objective = answer.value().certificate.objective;
            one.change = one.objective - objective;
            one.peakBytes = static_cast<double>(answer.value().evaluation->plan.memory.peak);
            one.peakChange = one.peakBytes - peak;
            if (one.feasible)
                one.design = answer.value().design;
        }
        if (options.progress)
            options.progress(i + 1, out.cases.size());
    }
    return out;
}

} // namespace shardboard
