// SPDX-License-Identifier: Apache-2.0
#include "app/engine/modelprograms.h"

#include "app/engine/families.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"

namespace shardboard::conformance {

Result<Program> programOf(const ModelCase& of, DType dtype)
{
    Design design;
    auto mesh = Mesh::parse(of.mesh);
    if (!mesh.ok())
        return mesh.error();
    design.mesh = std::move(mesh).value();
    design.model = familyModel(of.family);
    design.workload = { of.workload, of.batch, of.sequence, dtype, of.microBatches, Recompute::None };
    if (const auto applied = applyPreset(design, of.preset); !applied.ok())
        return applied.error();
    auto evaluation = evaluate(design);
    if (!evaluation.ok())
        return evaluation.error();
    return Program { evaluation.value()->graph, evaluation.value()->plan };
}

Options withModels(Options options)
{
    options.programOf = [](const ModelCase& of, DType dtype) { return programOf(of, dtype); };
    return options;
}

} // namespace shardboard::conformance
