// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/sample.h"

#include "model/hardware/hardware.h"
#include "model/design/presets.h"
#include "model/formats/openmodel.h"
#include "model/rules/rulesetup.h"

namespace shardboard {

namespace {

Result<ModelSpec> modelOf(const NewDesign& wanted, std::vector<std::string>& notes)
{
    if (wanted.module) {
        ModelSpec model = columnParallelModel(*wanted.module, wanted.workload.dtype);
        const Status status = verifyModel(model, "module");
        return status.ok() ? Result<ModelSpec>(std::move(model)) : Result<ModelSpec>(status.error());
    }
    auto opened = openModel(wanted.model, "model");
    if (!opened.ok())
        return opened.error();
    for (const Finding& finding : opened.value().findings)
        notes.push_back(finding.where + ": " + finding.message);
    return std::move(opened).value().model;
}

} // namespace

Result<Design> makeDesign(const NewDesign& wanted, std::vector<std::string>& notes)
{
    auto model = modelOf(wanted, notes);
    if (!model.ok())
        return model.error();
    auto mesh = Mesh::parse(wanted.mesh, "mesh");
    if (!mesh.ok())
        return mesh.error();
    const auto hardware = findHardware(wanted.hardware, "hardware");
    if (!hardware.ok())
        return hardware.error();
    const Status workload = verifyWorkload(wanted.workload, "workload");
    if (!workload.ok())
        return workload.error();
    Design design;
    design.mesh = std::move(mesh).value();
    design.hardware = wanted.hardware;
    design.model = std::move(model).value();
    design.workload = wanted.workload;
    if (!wanted.rules.empty()) {
        auto setup = rulePreset(wanted.rules, "rules");
        if (!setup.ok())
            return setup.error();
        design.rules = { "preset " + wanted.rules, std::move(setup).value().rules };
        return design;
    }
    auto applied = applyPreset(design, wanted.preset);
    if (!applied.ok())
        return applied.error();
    notes.insert(notes.end(), applied.value().begin(), applied.value().end());
    return design;
}

Result<Design> sampleDesign()
{
    std::vector<std::string> notes;
    return makeDesign({}, notes);
}

} // namespace shardboard
