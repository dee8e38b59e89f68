// SPDX-License-Identifier: Apache-2.0
// What the tests of views share: a document with a known design, and ways to find things in it.
#pragma once

#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/session/document.h"
#include "model/session/selection.h"

#include <string>
#include <vector>

namespace shardboard {

inline Design knownDesign(const char* mesh = "data=2,model=4", const char* preset = "megatron-tp", std::int64_t sequence = 4096)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model = builtinModel("llama3-8b").value();
    design.workload = { WorkloadKind::Prefill, 8, sequence, DType::BF16 };
    std::vector<std::string> notes;
    design.strategies = presetStrategies(preset, design.mesh, design.model, design.workload, notes).value();
    return design;
}

/// A step of training, 16 sequences of 4096 tokens, laid out by a preset.
inline Design trainingDesign(const char* model = "llama3-8b", const char* mesh = "fsdp=2,model=4", const char* preset = "tp+fsdp")
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model = builtinModel(model).value();
    design.workload = { WorkloadKind::Train, 16, 4096, DType::BF16 };
    (void)applyPreset(design, preset).ok();
    return design;
}

inline int weightNamed(const Document& document, const std::string& part)
{
    const auto evaluation = document.evaluation();
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
        if (evaluation->weights[i].spec.name.find(part) != std::string::npos)
            return static_cast<int>(i);
    return -1;
}

inline const WeightLayout& weightAt(const Document& document, int index)
{
    return document.evaluation()->weights[static_cast<std::size_t>(index)];
}

/// JAX notation of a weight of the document.
inline std::string specOf(const Document& document, int index)
{
    return specText(weightAt(document, index).layout, document.design().mesh);
}

} // namespace shardboard
