// SPDX-License-Identifier: Apache-2.0
#include "model/io/layouts/designdump.h"

#include "model/io/file/filesave.h"

#include <filesystem>
#include <unordered_set>
#include <vector>

namespace shardboard {

Status canDump(const Design& design, const Evaluation& evaluation)
{
    if (!design.mesh.deviceIds().empty())
        return inputError("mesh.device_ids", "a dump cannot express an edited device order",
                          "guard the design with shardctl export and its shards.json instead");
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.unknownShape)
            return inputError(weight.spec.name, "its shape is not known, so its layout cannot be dumped",
                              "open the model with its weight files");
        if (!weight.layout.partial.empty())
            return inputError(weight.spec.name, "its layout is partial, which a dump cannot express",
                              "leave out unreduced, or export to shardy or hlo");
        for (const auto& dim : weight.layout.dims)
            for (const AxisRef& ref : dim)
                if (!ref.whole())
                    return inputError(weight.spec.name, "its layout uses a sub-axis, which a dump cannot express",
                                      "split the mesh axis into two axes instead");
    }
    std::unordered_set<std::string> names; // of a graph they differ
    for (const ModelSpec::LooseWeight& weight : design.model.looseWeights)
        if (!names.insert(weight.tensor.name).second)
            return inputError(weight.tensor.name, "two weights have this name, and a dump tells them apart by it",
                              "rename one of them");
    return done();
}

namespace {

/// One file: of each kind of tensor what it says is made once, however many layers there are.
class DumpFile {
public:
    DumpFile(FileSave save, bool activations)
        : m_save(std::move(save))
        , m_writer([this](std::string_view text) { m_save.append(text); }, activations)
    {
    }
    DumpFile(const DumpFile&) = delete;
    DumpFile& operator=(const DumpFile&) = delete;

    template <class MakeValue>
    void add(const std::string& name, std::size_t kind, MakeValue makeValue)
    {
        if (kind >= m_values.size())
            m_values.resize(kind + 1);
        if (m_values[kind].empty())
            m_values[kind] = makeValue();
        m_writer.add(name, m_values[kind]);
        ++m_count;
    }
    Result<std::int64_t> finish()
    {
        m_writer.finish();
        if (const auto status = m_save.finish(); !status.ok())
            return status.error();
        return m_count;
    }

private:
    FileSave m_save;
    DumpWriter m_writer;
    std::vector<std::string> m_values; ///< by kind
    std::int64_t m_count = 0;
};

/// How many entries were written.
Result<std::int64_t> writeFile(const std::string& path, bool activations, const std::function<void(DumpFile&)>& fill)
{
    auto save = FileSave::begin(path, Links::Refuse);
    if (!save.ok())
        return save.error();
    DumpFile file(std::move(save).value(), activations);
    fill(file);
    return file.finish();
}

} // namespace

Result<DumpCounts> writeDump(const Design& design, const Evaluation& evaluation, const std::string& folder)
{
    const std::vector<std::string> names { "logical_shardings.json", "named_shardings.json", "input_shardings.json" };
    for (const std::string& name : names)
        if (auto status = refuseLink(folder + "/" + name); !status.ok())
            return status.error();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
        return inputError(folder, "the folder cannot be made (" + failed.message() + ")", "choose another folder");
    const auto logical = writeFile(folder + "/logical_shardings.json", false, [&](DumpFile& file) {
        visitWeights(design, evaluation, false, [&](const std::string& name, const LaidOutTensor& tensor, std::size_t kind) {
            if (tensor.logicalNames)
                file.add(name, kind, [&] { return dumpValue(LogicalEntry { {}, *tensor.logicalNames, tensor.shape }); });
        });
    });
    if (!logical.ok())
        return logical.error();
    const auto named = writeFile(folder + "/named_shardings.json", false, [&](DumpFile& file) {
        visitWeights(design, evaluation, false, [&](const std::string& name, const LaidOutTensor& tensor, std::size_t kind) {
            file.add(name, kind, [&] {
                NamedEntry entry { {}, tensor.spec.value_or(DumpSpec {}), tensor.shape };
                entry.cut = tensor.cut;
                entry.stages = tensor.stages;
                return dumpValue(entry, design.mesh);
            });
        });
    });
    if (!named.ok())
        return named.error();
    const auto activations = writeFile(folder + "/input_shardings.json", true, [&](DumpFile& file) {
        if (design.model.hasGraph())
            visitActivations(evaluation, [&](const std::string& name, const LaidOutTensor& tensor, std::size_t kind) {
                file.add(name, kind, [&] { return dumpValue(ActivationEntry { {}, tensor.logicalNames, *tensor.spec }); });
            });
    });
    if (!activations.ok())
        return activations.error();
    return DumpCounts { named.value(), activations.value() };
}

} // namespace shardboard
