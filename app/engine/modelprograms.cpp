// SPDX-License-Identifier: Apache-2.0
#include "app/engine/modelprograms.h"

#include "app/engine/families.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"

namespace shardboard::conformance {

Result<Program> programOf(ModelSpec model, const std::string& mesh, const std::string& preset, const Workload& workload)
{
    Design design;
    auto parsed = Mesh::parse(mesh);
    if (!parsed.ok())
        return parsed.error();
    design.mesh = std::move(parsed).value();
    design.model = std::move(model);
    design.workload = workload;
    if (const auto applied = applyPreset(design, preset); !applied.ok())
        return applied.error();
    auto evaluation = evaluate(design);
    if (!evaluation.ok())
        return evaluation.error();
    return Program { evaluation.value()->graph, evaluation.value()->plan };
}

Result<Program> programOf(const ModelCase& of, DType dtype)
{
    return programOf(familyModel(of.family), of.mesh, of.preset,
                     { of.workload, of.batch, of.sequence, dtype, of.microBatches, Recompute::None });
}

Options withModels(Options options)
{
    options.programOf = [](const ModelCase& of, DType dtype) { return programOf(of, dtype); };
    return options;
}

} // namespace shardboard::conformance
