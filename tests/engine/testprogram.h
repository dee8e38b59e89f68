// SPDX-License-Identifier: Apache-2.0
// Small models with their plans, for tests of the engine.
#pragma once

#include "model/io/wire/planjson.h"
#include "tests/support/designs.h"

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

inline Program planned(const Design& design)
{
    const auto evaluation = evaluated(design);
    return { evaluation->graph, evaluation->plan };
}

inline Program programOf(const TestDesign& from)
{
    Design design = designOn(from.mesh, from.model, from.workload);
    design.picker.profile = from.profile;
    std::vector<std::string> notes;
    design.strategies = sure(presetStrategies(from.preset, design.mesh, design.model, design.workload, notes));
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
