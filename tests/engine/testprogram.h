// SPDX-License-Identifier: Apache-2.0
// Small models with their plans, for tests of the engine.
#pragma once

#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/wire/planjson.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace shardboard::test {

inline ModelSpec tinyModel()
{
    ModelSpec model;
    model.name = "tiny";
    model.family = "llama";
    model.source = "builtin:tiny";
    model.vocabSize = 61; // divides by nothing
    model.hiddenSize = 36;
    model.intermediateSize = 50;
    model.layers = 2;
    model.heads = 6;
    model.kvHeads = 3;
    model.headDim = 8;
    return model;
}

struct TestDesign {
    std::string mesh = "data=2,model=3";
    std::string preset = "megatron-tp";
    ModelSpec model = tinyModel();
    Workload workload { WorkloadKind::Prefill, 3, 7, DType::BF16 };
    std::vector<StrategyEntry> extra;
    PickerProfile profile = PickerProfile::Shardboard;
};

/// Throws with the text of the model's error: a test cannot go on without its program.
inline Program planned(const Design& design)
{
    const auto evaluation = evaluate(design);
    if (!evaluation.ok())
        throw std::runtime_error(evaluation.error().text());
    return { evaluation.value()->graph, evaluation.value()->plan };
}

inline Program programOf(const TestDesign& from)
{
    Design design;
    auto mesh = Mesh::parse(from.mesh);
    if (!mesh.ok())
        throw std::runtime_error(mesh.error().text());
    design.mesh = mesh.value();
    design.model = from.model;
    design.workload = from.workload;
    design.picker.profile = from.profile;
    std::vector<std::string> notes;
    auto strategies = presetStrategies(from.preset, design.mesh, design.model, design.workload, notes);
    if (!strategies.ok())
        throw std::runtime_error(strategies.error().text());
    design.strategies = strategies.value();
    design.strategies.insert(design.strategies.end(), from.extra.begin(), from.extra.end());
    return planned(design);
}

/// A written spec for all tensors of a name pattern, cut balanced.
inline StrategyEntry specFor(const std::string& match, const std::string& spec)
{
    StrategyEntry entry;
    entry.match = match;
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = spec;
    entry.cut = CutRule::Balanced;
    return entry;
}

} // namespace shardboard::test
