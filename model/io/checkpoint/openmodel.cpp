// SPDX-License-Identifier: Apache-2.0
#include "model/io/checkpoint/openmodel.h"

#include "model/core/checked.h"
#include "model/families/decoder.h"
#include "model/io/checkpoint/checkpoint.h"
#include "model/io/checkpoint/comparecheckpoint.h"
#include "model/io/checkpoint/opengguf.h"
#include "model/io/huggingface/hfconfig.h"
#include "model/io/safetensors/checkpointfinding.h"
#include "model/text/contains.h"
#include "model/text/glob.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

namespace shardboard {

namespace {

namespace fs = std::filesystem;

bool isThere(const fs::path& path)
{
    std::error_code failed;
    return fs::exists(path, failed) && !failed;
}

/// The last part of a path that names something: `.` and `folder/` too. A file's name can be anything, a model's can be shown.
std::string nameOf(const fs::path& path)
{
    std::error_code failed;
    const fs::path whole = fs::absolute(path, failed).lexically_normal();
    const fs::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
    return visibleText(name.empty() ? whole.string() : name.string());
}

fs::path folderOf(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// What stands before `embed_tokens` and `layers`: `model.` in a plain decoder, more inside another model, nothing in a
/// checkpoint of the decoder without its head.
std::string weightPrefix(const Checkpoint& checkpoint, const ModelSpec& model)
{
    const std::string& usual = model.weightPrefix;
    const std::string table = model.nameOf("embed_tokens") + ".weight";
    const std::string layers = model.nameOf("layers") + ".0.";
    std::set<std::string> withLayers;
    for (const CheckpointTensor& tensor : checkpoint.tensors)
        if (const auto at = tensor.name.find(layers); at != std::string::npos)
            withLayers.insert(tensor.name.substr(0, at));
    std::string found;
    bool any = false;
    for (const CheckpointTensor& tensor : checkpoint.tensors) {
        if (!tensor.name.ends_with(table))
            continue;
        const std::string prefix = tensor.name.substr(0, tensor.name.size() - table.size());
        if (!withLayers.contains(prefix) || !(prefix.empty() || prefix.ends_with('.')))
            continue;
        if (prefix == usual)
            return usual;
        found = prefix;
        any = true;
    }
    return any ? found : usual;
}

/// The element type that most tensors have, by headers; nothing when no header is there.
std::optional<DType> storedType(const Checkpoint& checkpoint)
{
    std::map<DType, std::size_t> counts;
    for (const CheckpointTensor& tensor : checkpoint.tensors)
        if (tensor.shapeKnown)
            ++counts[tensor.dtype];
    const auto most = std::ranges::max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? std::nullopt : std::optional(most->first);
}

ModelSpec::LooseWeight looseWeight(const CheckpointTensor& tensor, DType usual)
{
    ModelSpec::LooseWeight weight;
    weight.tensor.name = tensor.name;
    weight.tensor.shape = tensor.shape;
    weight.tensor.dtype = tensor.shapeKnown ? tensor.dtype : usual;
    weight.unknownShape = !tensor.shapeKnown;
    return weight;
}

/// Weights by name only, with the reason why there is no graph.
OpenedModel openLoose(ModelSpec model, const Checkpoint& checkpoint, std::vector<Finding> findings,
                      const std::vector<ConfigModel::KnownShape>& shapes = {})
{
    std::size_t unknown = 0;
    for (const CheckpointTensor& tensor : checkpoint.tensors) {
        ModelSpec::LooseWeight weight = looseWeight(tensor, model.dtype);
        if (!tensor.shapeKnown)
            for (const ConfigModel::KnownShape& known : shapes)
                if (globMatch(known.pattern, tensor.name)) {
                    weight.tensor.shape = known.shape;
                    weight.unknownShape = false;
                    break;
                }
        unknown += weight.unknownShape ? 1 : 0;
        model.looseWeights.push_back(std::move(weight));
    }
    std::string message =
        model.notUnderstood + "; its " + std::to_string(checkpoint.tensors.size()) + " weights are shown without a graph";
    if (unknown > 0)
        message +=
            ", " + (unknown == checkpoint.tensors.size() ? std::string("all") : std::to_string(unknown)) + " of unknown shape";
    findings.insert(findings.begin(),
                    checkpointFinding("not-understood", Severity::Warning, checkpoint.place, message,
                                      unknown > 0 ? "shapes come with the .safetensors files" : ""));
    findings.insert(findings.end(), checkpoint.findings.begin(), checkpoint.findings.end());
    return { std::move(model), std::move(findings) };
}

/// One family's checkpoints may hold experts one by one or all in one tensor: as the names have it. [experts, in, 2 out] is told
/// from [experts, 2 out, in] by the shape.
void settleExperts(MoeSpec& moe, const Checkpoint& checkpoint, std::int64_t hidden)
{
    if (!moe.present() || moe.storage == ExpertStorage::Mixtral || moe.storage == ExpertStorage::Packed)
        return;
    for (const CheckpointTensor& tensor : checkpoint.tensors) {
        if (tensor.name.ends_with(".mlp.experts.0.gate_proj.weight") && moe.together()) {
            moe.storage = ExpertStorage::Separate;
            return;
        }
        if (!tensor.name.ends_with(".mlp.experts.gate_up_proj"))
            continue;
        const bool turned = tensor.shapeKnown && tensor.shape.size() == 3 && tensor.shape[1] == hidden
            && tensor.shape[2] == 2 * moe.intermediateSize && hidden != 2 * moe.intermediateSize;
        if (tensor.shapeKnown || !moe.together())
            moe.storage = turned ? ExpertStorage::JoinedT : ExpertStorage::Joined;
        return;
    }
}

/// Where config.json leaves something open, what the names and headers say.
void settleByCheckpoint(ConfigModel& config, const Checkpoint& checkpoint)
{
    ModelSpec& model = config.model;
    model.weightPrefix = weightPrefix(checkpoint, model);
    settleExperts(model.moe, checkpoint, model.hiddenSize);
    const bool hasHead =
        std::ranges::any_of(checkpoint.tensors, [head = model.nameOf("lm_head") + ".weight"](const CheckpointTensor& tensor) {
            return tensor.name.ends_with(head);
        });
    if (config.wrapped || !config.saysTied)
        model.tiedEmbeddings = checkpoint.tensors.empty() ? model.tiedEmbeddings : !hasHead;
    const auto stored = storedType(checkpoint);
    if (!config.saysDtype && stored)
        model.dtype = *stored;
    else if (!config.saysDtype)
        config.findings.push_back(checkpointFinding("config", Severity::Note, checkpoint.place,
                                                    "config.json does not say the element type; bf16 is assumed",
                                                    "set --dtype to what the weights are"));
    if (model.dtype == DType::BF16 || model.dtype == DType::F16 || model.dtype == DType::F32)
        return;
    config.findings.push_back(checkpointFinding("config", Severity::Warning, checkpoint.place,
                                                "its weights are " + dtypeName(model.dtype) + "; the graph is computed in bf16",
                                                "--dtype takes another type: bf16, f16, f32 or f8e4m3"));
    model.dtype = DType::BF16;
}

std::vector<std::string> patternsOf(const std::vector<ConfigModel::KnownShape>& shapes)
{
    std::vector<std::string> out;
    for (const ConfigModel::KnownShape& known : shapes)
        out.push_back(known.pattern);
    return out;
}

/// What the family file says is stored beside the graph of so many parameters, where no header tells it. Of entries for one name
/// the first counts.
Status addStored(ModelSpec& model, const std::vector<ConfigModel::KnownShape>& shapes, std::int64_t parameters)
{
    std::set<std::string> names;
    const std::string encoder = model.weightPrefix + model.nameOf("encoder.layers") + ".";
    for (const ConfigModel::KnownShape& known : shapes) {
        ModelSpec::LooseWeight weight;
        weight.tensor.shape = known.shape;
        weight.tensor.dtype = model.dtype;
        const bool inLayers = known.pattern.find('*') != std::string::npos;
        const std::string& pattern = model.block.pattern;
        const bool inEncoder = model.encoder.present() && known.pattern.starts_with(encoder);
        const std::int64_t count = !inLayers ? 1 : inEncoder ? model.encoder.layers : model.layers;
        const auto elements = elementCount(known.shape);
        for (std::int64_t layer = 0; layer < count; ++layer) {
            const auto at = static_cast<std::size_t>(layer);
            if (!known.layers.empty() && (at >= pattern.size() || known.layers.find(pattern[at]) == std::string::npos))
                continue;
            weight.tensor.name = concreteName(known.pattern, layer);
            if (!names.insert(weight.tensor.name).second)
                continue;
            const auto sum = elements ? checkedAdd(parameters, *elements) : std::nullopt;
            if (!sum || !checkedMultiply(*sum, 64)) // bits of an element
                return inputError(kModelPlace + known.pattern, "with weights of this name the model is too large to count",
                                  "use smaller sizes, or fewer layers");
            parameters = *sum;
            model.looseWeights.push_back(weight);
        }
    }
    return done();
}

Result<OpenedModel> openWith(ConfigModel config, const Checkpoint& checkpoint)
{
    if (!config.model.hasGraph()) {
        if (checkpoint.tensors.empty())
            return inputError(checkpoint.place,
                              config.model.notUnderstood + ", and there are no names of weights to show"
                                  + (checkpoint.findings.empty() ? "" : " (" + checkpoint.findings.front().message + ")"),
                              "add the index or the .safetensors files");
        return openLoose(std::move(config.model), checkpoint, std::move(config.findings), config.shapes);
    }
    const std::string usual = config.model.weightPrefix;
    settleByCheckpoint(config, checkpoint);
    for (ConfigModel::KnownShape& known : config.shapes) // of a model inside of another one
        if (known.pattern.starts_with(usual))
            known.pattern.replace(0, usual.size(), config.model.weightPrefix);
    Workload one;
    one.batch = one.sequence = 1;
    const auto graph = buildDecoder(config.model, one);
    if (!graph.ok())
        return graph.error();
    OpenedModel out { std::move(config.model), std::move(config.findings) };
    if (checkpoint.tensors.empty())
        if (const Status status = addStored(out.model, config.shapes, graph.value().parameterCount()); !status.ok())
            return status.error();
    if (config.wrapped)
        out.findings.push_back(checkpointFinding(
            "not-in-graph", Severity::Note, checkpoint.place,
            "the decoder is one part of a larger model (text_config or the like); only the decoder is in the graph"));
    out.findings.insert(out.findings.end(), checkpoint.findings.begin(), checkpoint.findings.end());
    if (!checkpoint.tensors.empty()) {
        CheckpointComparison compared = compareCheckpoint(
            checkpoint, out.model, graph.value(), { config.quantized, config.wrapped, config.beside, patternsOf(config.shapes) });
        out.findings.insert(out.findings.end(), compared.findings.begin(), compared.findings.end());
        out.model.packed.insert(out.model.packed.begin(), compared.plain.begin(), compared.plain.end());
        for (const std::size_t index : compared.beside)
            out.model.looseWeights.push_back(looseWeight(checkpoint.tensors[index], out.model.dtype));
    }
    return out;
}

Result<OpenedModel> openConfig(const fs::path& config, const Checkpoint& checkpoint, const std::string& name,
                               const std::string& source)
{
    auto read = readConfig(config.string());
    if (!read.ok())
        return read.error();
    read.value().model.name = name;
    read.value().model.source = visibleText(source);
    auto opened = openWith(std::move(read.value()), checkpoint);
    if (opened.ok() || !opened.error().where.starts_with(kModelPlace))
        return opened;
    Error error = opened.error(); // of the graph, which knows no file
    error.where = config.string() + ":" + error.where.substr(std::string(kModelPlace).size());
    return error;
}

OpenedModel openWithoutConfig(const Checkpoint& checkpoint, const std::string& name, const std::string& source)
{
    ModelSpec model;
    model.name = name;
    model.source = visibleText(source);
    model.notUnderstood = "there is no config.json beside the weights, so the operations of the model are not known";
    model.dtype = storedType(checkpoint).value_or(model.dtype);
    return openLoose(std::move(model), checkpoint, {});
}

Result<OpenedModel> openFolder(const std::string& folder, const std::string& source)
{
    const auto checkpoint = readCheckpointFolder(folder);
    if (!checkpoint.ok())
        return checkpoint.error();
    if (isThere(fs::path(folder) / "config.json"))
        return openConfig(fs::path(folder) / "config.json", checkpoint.value(), nameOf(folder), source);
    if (!checkpoint.value().tensors.empty())
        return openWithoutConfig(checkpoint.value(), nameOf(folder), source);
    if (const auto models = ggufModels(folder); models.size() == 1)
        return openGguf((fs::path(folder) / models.front()).string(), nameOf(folder));
    else if (models.size() > 1)
        return inputError(folder, "the folder holds several models in GGUF files: " + joined(models), "give one of the files");
    const auto& findings = checkpoint.value().findings;
    return inputError(folder,
                      findings.empty() ? "the folder holds no config.json and no .safetensors or .gguf weights"
                                       : "there is no config.json, and " + findings.front().message,
                      "give the folder of a model");
}

Result<OpenedModel> openWeights(const std::string& path)
{
    const fs::path folder = folderOf(path);
    const bool hasConfig = isThere(folder / "config.json");
    if (hasConfig) {
        const auto all = readCheckpointFolder(folder.string());
        const std::string name = fs::path(path).filename().string();
        if (!all.ok())
            return all.error();
        const auto& files = all.value().files;
        if (contains(files, name))
            return openConfig(folder / "config.json", all.value(), nameOf(folder), path);
    }
    const auto checkpoint = readCheckpointFile(path);
    if (!checkpoint.ok())
        return checkpoint.error();
    if (hasConfig)
        return openConfig(folder / "config.json", checkpoint.value(), nameOf(path), path);
    return openWithoutConfig(checkpoint.value(), nameOf(path), path);
}

Result<OpenedModel> openPath(const std::string& path)
{
    std::error_code failed;
    if (fs::is_directory(path, failed))
        return openFolder(path, path);
    if (path.ends_with(".safetensors"))
        return openWeights(path);
    if (path.ends_with(".gguf"))
        return openGguf(path, nameOf(path));
    const std::string name = fs::path(path).filename().string();
    if (name.ends_with(".index.json"))
        return openFolder(folderOf(path).string(), path);
    if (name == "config.json") {
        auto checkpoint = readCheckpointFolder(folderOf(path).string());
        if (!checkpoint.ok())
            return checkpoint.error();
        checkpoint.value().place = path; // what was asked for
        return openConfig(path, checkpoint.value(), nameOf(folderOf(path)), path);
    }
    if (!name.ends_with(".json"))
        return inputError(path, "is not a model that can be opened",
                          "give a config.json, a folder, or a .safetensors or .gguf file");
    Checkpoint nothing;
    nothing.place = path;
    return openConfig(path, nothing, nameOf(path), path);
}

} // namespace

Result<OpenedModel> openModel(const std::string& argument, const std::string& where)
{
    if (argument.empty() || argument.find('\0') != std::string::npos)
        return inputError(where, "names no model", "give a name, a config.json, a folder, or a .safetensors or .gguf file");
    if (auto builtin = builtinModel(argument, where); builtin.ok()) {
        OpenedModel out { std::move(builtin.value()), {} };
        if (isThere(argument))
            out.findings.push_back(checkpointFinding("config", Severity::Note, argument,
                                                     "the built-in model of this name is used, not the file or folder beside it",
                                                     "write ./" + argument + " to open that one"));
        return out;
    }
    std::error_code failed;
    const fs::file_status status = fs::status(argument, failed);
    if (fs::exists(status))
        return openPath(argument);
    if (failed && status.type() != fs::file_type::not_found)
        return inputError(argument, "cannot be opened: " + failed.message(), "check the path and its permissions");
    if (argument.find('/') != std::string::npos || argument.ends_with(".json") || argument.ends_with(".safetensors")
        || argument.ends_with(".gguf"))
        return inputError(argument, "there is no such file or folder", "check the path");
    return inputError(where, "there is no built-in model and no folder '" + argument + "'",
                      "known are " + joined(builtinModelNames()));
}

} // namespace shardboard
