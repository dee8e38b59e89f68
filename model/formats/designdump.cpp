// SPDX-License-Identifier: Apache-2.0
#include "model/formats/designdump.h"

#include "model/formats/designfile.h"

#include <filesystem>

namespace shardboard {

Result<DesignDump> dumpOf(const Design& design, const Evaluation& evaluation)
{
    if (!design.mesh.deviceIds().empty())
        return inputError("mesh.device_ids", "a dump cannot say an edited device order",
                          "guard the design with shardctl export and its shards.json instead");
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.unknownShape)
            return inputError(weight.spec.name, "its shape is not known, so its layout cannot be dumped",
                              "open the model with its weight files");
        for (const auto& dim : weight.layout.dims)
            for (const AxisRef& ref : dim)
                if (!ref.whole())
                    return inputError(weight.spec.name, "its layout uses a sub-axis, which a dump cannot say",
                                      "split the mesh axis into two axes instead");
    }
    const LayoutTable table = layoutTableOf(design, evaluation, {}, false);
    DesignDump dump;
    dump.named.mesh = design.mesh;
    for (const LaidOutTensor& tensor : table.tensors) {
        NamedEntry named { tensor.name, tensor.spec.value_or(DumpSpec {}), tensor.shape };
        named.cut = tensor.cut;
        named.stages = tensor.stages;
        dump.named.entries.push_back(std::move(named));
        if (tensor.logicalNames)
            dump.logical.entries.push_back({ tensor.name, *tensor.logicalNames, tensor.shape });
    }
    for (const LaidOutTensor& value : table.activations)
        dump.activations.entries.push_back({ value.name, value.logicalNames, *value.spec });
    return dump;
}

Status writeDump(const DesignDump& dump, const std::string& folder)
{
    const std::vector<std::string> names { "logical_shardings.json", "named_shardings.json", "input_shardings.json" };
    for (const std::string& name : names)
        if (auto status = refuseLink(folder + "/" + name); !status.ok())
            return status;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
        return inputError(folder, "the folder cannot be made (" + failed.message() + ")", "choose another folder");
    const std::vector<std::string> texts { dumpText(dump.logical), dumpText(dump.named), dumpText(dump.activations) };
    for (std::size_t i = 0; i < names.size(); ++i)
        if (auto status = writeFileAtomically(folder + "/" + names[i], textSource(texts[i]), Links::Refuse); !status.ok())
            return status;
    return done();
}

} // namespace shardboard
