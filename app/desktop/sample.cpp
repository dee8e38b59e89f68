// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/sample.h"

#include "model/cost/hardware.h"
#include "model/design/presets.h"
#include "model/formats/openmodel.h"

namespace shardboard {

Result<Design> makeDesign(const NewDesign& wanted, std::vector<std::string>& notes)
{
    auto opened = openModel(wanted.model, "model");
    if (!opened.ok())
        return opened.error();
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
    for (const Finding& finding : opened.value().findings)
        notes.push_back(finding.where + ": " + finding.message);
    design.model = std::move(opened).value().model;
    design.workload = wanted.workload;
    auto strategies = presetStrategies(wanted.preset, design.mesh, design.model, design.workload, notes);
    if (!strategies.ok())
        return strategies.error();
    design.strategies = std::move(strategies).value();
    return design;
}

Result<Design> sampleDesign()
{
    std::vector<std::string> notes;
    return makeDesign({}, notes);
}

} // namespace shardboard
