// SPDX-License-Identifier: Apache-2.0
// Designs for tests, by what they are made of, and their evaluations.
#pragma once

#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "tests/support/models.h"
#include "tests/support/sure.h"

#include <memory>
#include <string>
#include <utility>

namespace shardboard {

/// Without a preset nothing is cut.
inline Design designOn(const std::string& mesh, ModelSpec model, const Workload& workload = {}, const std::string& preset = {})
{
    Design design;
    design.mesh = sure(Mesh::parse(mesh));
    design.model = std::move(model);
    design.workload = workload;
    if (!preset.empty())
        (void)sure(applyPreset(design, preset));
    return design;
}

inline std::shared_ptr<const Evaluation> evaluated(const Design& design) { return sure(evaluate(design)); }
/// Also where a strategy does not fit or a picker refuses.
inline std::shared_ptr<const Evaluation> tolerant(const Design& design) { return sure(evaluate(design, Misfits::Replicate)); }

/// The first whose name ends so.
inline const WeightLayout& weightOf(const Evaluation& evaluation, const std::string& end)
{
    for (const WeightLayout& weight : evaluation.weights)
        if (weight.spec.name.ends_with(end))
            return weight;
    qFatal("no weight %s", end.c_str());
}

} // namespace shardboard
