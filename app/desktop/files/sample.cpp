// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/sample.h"

#include "model/design/presets/presets.h"
#include "model/hardware/hardware.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/design/hardwarefile.h"
#include "model/rules/rulesetup.h"

#include <QCoreApplication>
#include <QFile>

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
    auto hardware = hardwareNamed(wanted.hardware, "hardware");
    if (!hardware.ok())
        return hardware.error();
    const Status workload = verifyWorkload(wanted.workload, "workload");
    if (!workload.ok())
        return workload.error();
    Design design;
    design.mesh = std::move(mesh).value();
    setHardware(design, std::move(hardware).value());
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

const std::vector<Sample>& samples()
{
    const auto tr = [](const char* text) { return QCoreApplication::translate("Samples", text); };
    static const std::vector<Sample> list {
        { QStringLiteral("llama3-8b"), tr("Llama 3 8B on 8 GPUs"),
          tr("tensor parallelism in a DGX H100: where to look around first") },
        { QStringLiteral("llama3-8b-mistake"), tr("Llama 3 8B with a mistake"),
          tr("rules that leave the largest weights whole on every device: find it, fix it") },
        { QStringLiteral("llama3-8b-one-gpu"), tr("Llama 3 8B on one GPU"),
          tr("decoding with a KV cache, no collectives: what one device costs") },
        { QStringLiteral("llama3.1-405b-train"), tr("Llama 3.1 405B on 1,024 GPUs"),
          tr("training, fully sharded data parallelism with tensor and sequence parallelism") },
        { QStringLiteral("deepseek3-671b-experts"), tr("DeepSeek V3 671B on 64 GPUs"),
          tr("256 experts over the devices, tokens sent to them by all-to-all") },
    };
    return list;
}

Result<Design> openSample(const QString& id)
{
    const QString path = QStringLiteral(":/samples/%1.shardboard").arg(id);
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return inputError(path.toStdString(), "is not among the samples", "reinstall Shardboard");
    return designFromText(file.readAll().toStdString(), path.toStdString());
}

} // namespace shardboard
