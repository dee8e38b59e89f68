// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/deepspeed/deepspeedtarget.h"
#include "model/io/ranks/modelconfig.h"

#include "model/io/exports/exportrefusals.h"
#include "model/io/exports/exporttext.h"
#include "model/io/exports/leftout.h"
#include "model/io/exports/moduleflow.h"
#include "model/io/exports/pythontext.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/ranks/axisuse.h"
#include "model/io/ranks/commented.h"
#include "model/io/ranks/launch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace shardboard {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFramework = "DeepSpeed";

bool isEmbedding(const std::string& name)
{
    return name.ends_with("embed_tokens.weight") || name.ends_with("word_embeddings.weight");
}
bool isHead(const std::string& name) { return name.starts_with("lm_head."); }

/// Whole over the data-parallel ranks, all of which optimizer states and gradients can be cut over.
std::int64_t copiesOf(const Design& design, const AxisUse& use)
{
    return design.mesh.groupSize(use.data) * design.mesh.groupSize(use.sharded);
}

std::int64_t zeroStage(const Design& design, const AxisUse& use)
{
    if (!use.sharded.empty())
        return 3;
    const OptimizerSharding& optimizer = effective(design.workload).optimizer;
    return optimizer.present() ? (optimizer.gradients ? 2 : 1) : 0;
}

/// A regular expression of Python for exactly this name, with `*` for a number.
std::string patternOf(const std::string& name)
{
    std::string out = "^";
    for (const char c : name)
        if (c == '*')
            out += "\\d+";
        else if (std::string("\\.^$+?{}[]|()").find(c) != std::string::npos)
            out += std::string("\\") + c;
        else
            out += c;
    return out + "$";
}

/// The dim that tensor parallelism cuts; nothing, and an error, where DeepSpeed cannot have the layout.
struct Cut {
    int dim = -1;
    std::optional<Error> error;
};

Cut cutOf(const WeightLayout& weight, const Design& design, const AxisUse& use)
{
    const std::string& name = weight.spec.name;
    Cut cut;
    const auto refuse = [&](std::string what, std::string fix) {
        cut.error = inputError(name, std::move(what), std::move(fix));
        return cut;
    };
    for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim) {
        std::vector<int> axes;
        for (const AxisRef& ref : weight.layout.dims[dim])
            if (design.mesh.axis(ref.axis).size > 1)
                axes.push_back(ref.axis);
        std::vector<int> wanted;
        if (std::ranges::any_of(axes, [&](int axis) { return std::ranges::find(use.tensor, axis) != use.tensor.end(); })) {
            if (cut.dim >= 0)
                return refuse("two of its dims are cut by tensor parallelism, and DeepSpeed cuts one", "cut one of them");
            cut.dim = static_cast<int>(dim);
            wanted = use.tensor;
        }
        if (dim == 0)
            wanted.insert(wanted.end(), use.sharded.begin(), use.sharded.end());
        if (axes != wanted)
            return refuse("dim " + std::to_string(dim) + " is cut over " + (axes.empty() ? "nothing" : axisNames(design.mesh, axes))
                              + ", in DeepSpeed over " + (wanted.empty() ? "nothing" : axisNames(design.mesh, wanted))
                              + (use.sharded.empty() ? "" : " (ZeRO stage 3 cuts every parameter from its first row on)"),
                          "lay it out as DeepSpeed does, or export to a target that takes a layout for every weight");
    }
    if (cut.dim < 0)
        return cut;
    if (isExpertWeight(weight.spec))
        return refuse("AutoTP cuts linear layers, and the experts of a layer are one parameter of another kind",
                      "leave experts whole over the tensor axis");
    if (isEmbedding(name) && (cut.dim != 0 || !design.model.tiedEmbeddings))
        return refuse(cut.dim == 0 ? "AutoTP cuts an embedding over the vocabulary together with a tied head alone"
                                   : "AutoTP cuts an embedding over the hidden dim without a gather, and the layers take all of it",
                      "leave it whole");
    if (weight.spec.shape.size() == 1 && !name.ends_with(".bias"))
        return refuse("AutoTP cuts linear layers and embeddings alone", "leave it whole");
    const std::int64_t tensor = design.mesh.groupSize(use.tensor);
    if (name.find("self_attn.") != std::string::npos && design.model.kvHeads % tensor != 0)
        return refuse("AutoTP deals the " + std::to_string(design.model.kvHeads) + " KV heads to " + std::to_string(tensor)
                          + " ranks, and some get more than others",
                      "use a tensor axis that divides the KV heads");
    return cut;
}

/// Where AutoTP cuts dims that do not divide: elements of the MLP and of the vocabulary are dealt one by one, as in MAX
/// (get_shard_size of DeepSpeed 0.19). What ZeRO stage 3 cuts as well has to divide.
TargetLimits limitsOf(const std::string& name, const AxisUse& use)
{
    const bool dealt = name.find(".mlp.") != std::string::npos || isHead(name) || isEmbedding(name);
    return { .framework = kFramework, .cut = dealt && use.sharded.empty() ? CutRule::Balanced : CutRule::Strict };
}

/// AutoTP cuts the bias of a column-parallel module with it and leaves all others whole. `weightDim` is the cut of its weight.
std::optional<Error> biasError(const WeightLayout& bias, int dim, int weightDim)
{
    if ((dim == 0) == (weightDim == 0))
        return std::nullopt;
    return inputError(bias.spec.name,
                      dim == 0 ? "it is cut, and DeepSpeed leaves the bias of a module whole that is not column-parallel"
                               : "it is whole, and DeepSpeed cuts the bias of a column-parallel module with it",
                      "lay it out with its weight");
}

struct Specs {
    std::vector<std::string> column, row;
    bool cutVocabulary = false; ///< the head, and the embedding that is tied to it
};

Specs specsOf(const Design& design, const Evaluation& evaluation, const AxisUse& use)
{
    Specs specs;
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight || weight.spec.shape.size() != 2)
            continue;
        const int dim = cutOf(weight, design, use).dim;
        const bool embedding = isEmbedding(weight.spec.name);
        if (dim < 0)
            continue;
        if (embedding || (dim == 0 && isHead(weight.spec.name))) {
            specs.cutVocabulary = true;
            continue;
        }
        for (const std::string& name : namePatterns(weight, design.model.layers))
            (dim == 0 ? specs.column : specs.row).push_back(patternOf(name));
    }
    return specs;
}

Json tensorParallel(const Design& design, const Evaluation& evaluation, const AxisUse& use)
{
    const Specs specs = specsOf(design, evaluation, use);
    Json layers = Json::array();
    const auto add = [&](const std::vector<std::string>& patterns, const char* type) {
        if (!patterns.empty())
            layers.push_back(Json { { "patterns", patterns }, { "partition_type", type } });
    };
    add(specs.column, "column");
    add(specs.row, "row");
    Json out = Json::object();
    out["autotp_size"] = design.mesh.groupSize(use.tensor);
    out["vocab_parallel_lm_head"] = specs.cutVocabulary;
    out["partition_config"] = Json { { "use_default_specs", false }, { "layer_specs", std::move(layers) } };
    return out;
}

Json configOf(const Design& design, const Evaluation& evaluation)
{
    const AxisUse use = axisUse(design, evaluation);
    const Workload workload = effective(design.workload);
    Json out = Json::object();
    if (use.tensor.empty()) // else DeepSpeed multiplies by the tensor-parallel ranks as well, and refuses the whole batch
        out["train_batch_size"] = workload.batch;
    out["train_micro_batch_size_per_gpu"] = workload.batch / (copiesOf(design, use) * workload.microBatches);
    out["gradient_accumulation_steps"] = workload.microBatches;
    if (workload.dtype == DType::BF16 || workload.dtype == DType::F8E4M3) // in training fp8 is of products alone
        out["bf16"] = Json { { "enabled", true } };
    if (workload.dtype == DType::F16)
        out["fp16"] = Json { { "enabled", true } };
    out["zero_optimization"] = Json { { "stage", zeroStage(design, use) } };
    if (!use.tensor.empty())
        out["tensor_parallel"] = tensorParallel(design, evaluation, use);
    return out;
}

std::string usageText(const Design& design)
{
    const Hosts hosts = hostsOf(design);
    return "import deepspeed\n"
           "engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=\"ds_config.json\")\n"
           "# deepspeed "
        + (hosts.count > 1 ? "--hostfile hosts --num_nodes " + std::to_string(hosts.count) + " " : std::string()) + "--num_gpus "
        + std::to_string(hosts.devices) + " train.py\n";
}

std::vector<std::string> leftOut(const Design& design, const Evaluation& evaluation)
{
    Design rest = design; // what the configuration says is not left out
    rest.workload.microBatches = 1;
    rest.workload.optimizer = {};
    if (rest.memory.framework == Framework::DeepSpeed)
        rest.memory.framework = Framework::None;
    std::vector<std::string> out = leftOutOf(rest, kFramework);
    addWholeBatch(out, design, evaluation, kFramework);
    return out;
}

std::string checkText(const Design& design, const Evaluation& evaluation)
{
    const AxisUse use = axisUse(design, evaluation);
    std::string text = "# Generated by Shardboard: a configuration of DeepSpeed. The lines of a script:\n"
        + commented(usageText(design))
        + "# `python check.py` has DeepSpeed read ds_config.json, find the spec of every weight and size its shards, and compares "
          "that with\n"
          "# shards.json.\n";
    text += "MODEL = " + pythonLiteral(design.model.name) + "\n" + leftOutCode(leftOut(design, evaluation));
    text += weightsCode(evaluation) + "KV_HEADS = " + std::to_string(design.model.kvHeads) + "\n";
    text += std::string("TIED = ") + (design.model.tiedEmbeddings ? "True" : "False") + "\n";
    text += "COPIES = " + std::to_string(copiesOf(design, use)) + "  # data-parallel ranks\n";
    return text + "\n" + std::string(exportText("ranks/shards.py")) + "\n\n" + std::string(exportText("shards/joined.py")) + "\n\n"
        + std::string(exportText("deepspeed/check.py"));
}

Result<std::vector<ExportRefusal>> refusalsOf(const Design& design, const Evaluation& evaluation,
                                              const std::function<bool()>& stopped)
{
    auto out = commonRefusals(design, evaluation, { .framework = kFramework, .ownModules = true, .ownCuts = true }, stopped);
    if (!out.ok())
        return out;
    const AxisUse use = axisUse(design, evaluation);
    std::vector<ExportRefusal> whole;
    const auto refuse = [&](const char* where, std::string what, std::string fix) {
        if (whole.empty())
            whole.push_back({ inputError(where, std::move(what), std::move(fix)) });
    };
    if (!design.model.hasGraph() || design.model.kind != ModelKind::Decoder || !modelConfigSaysAll(design.model))
        refuse("model", "DeepSpeed cuts the linear layers of a module, and of this model they are not known, or fused",
               "export to a target that takes a layout for every weight");
    if (use.tensor.size() > 1 || use.sharded.size() > 1)
        refuse("mesh",
               "weights are cut over the mesh axes " + axisNames(design.mesh, use.tensor.size() > 1 ? use.tensor : use.sharded)
                   + ", and DeepSpeed has one tensor-parallel group and one of data-parallel ranks",
               "make one mesh axis of them");
    if (!use.sharded.empty() && !use.data.empty())
        refuse("mesh",
               "weights are whole over mesh axis '" + axisNames(design.mesh, use.data)
                   + "', and ZeRO stage 3 cuts them over all data-parallel ranks",
               "cut weights over it as well, or not at all");
    if (!use.context.empty())
        refuse("mesh",
               "the sequence is cut over mesh axis '" + axisNames(design.mesh, use.context)
                   + "', which a configuration of DeepSpeed does not say",
               "use a data axis in its place");
    if (!use.expert.empty())
        refuse("mesh", "experts are cut over " + axisNames(design.mesh, use.expert) + ", which AutoTP does not do",
               "leave experts whole");
    if (const OptimizerSharding& optimizer = effective(design.workload).optimizer; optimizer.present() && use.sharded.empty()) {
        std::set<int> axes;
        for (const std::string& axis : optimizer.axes)
            if (const int index = design.mesh.find(axis); index >= 0 && design.mesh.axis(index).size > 1)
                axes.insert(index);
        if (axes != std::set<int>(use.data.begin(), use.data.end()))
            refuse("workload", "optimizer states are cut over some data-parallel ranks, and ZeRO cuts them over all",
                   "cut them over the axes that hold copies of the weights");
    }
    if (design.workload.batch % (copiesOf(design, use) * effective(design.workload).microBatches) != 0)
        refuse("workload",
               "batch " + std::to_string(design.workload.batch) + " does not divide by the " + std::to_string(copiesOf(design, use))
                   + " data-parallel ranks times micro-batches, as DeepSpeed requires",
               "use a multiple");
    if (whole.empty())
        if (auto few = fewShardedRefusal(design, evaluation, use, kFramework))
            whole.push_back(std::move(*few));
    if (whole.empty())
        if (auto order = orderRefusal(design.mesh, kFramework, { use.stage, use.data, use.sharded, use.tensor }))
            whole.push_back(std::move(*order));
    if (!whole.empty())
        return whole;
    const bool misfits = !out.value().empty(); // each of which would be told again
    std::map<std::pair<std::string, std::int64_t>, int> dims; // of weights, by module and first layer
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        Cut cut = cutOf(weight, design, use);
        const std::string& name = weight.spec.name;
        const auto module = [&] { return std::pair { name.substr(0, name.rfind('.')), weight.firstLayer }; };
        if (name.ends_with(".weight"))
            dims[module()] = cut.dim;
        else if (const auto known = dims.find(module()); !cut.error && name.ends_with(".bias") && known != dims.end())
            cut.error = biasError(weight, cut.dim, known->second);
        if (!cut.error && !misfits)
            cut.error = weightRefusal(weight, design.mesh, limitsOf(name, use));
        if (cut.error)
            out.value().push_back({ std::move(*cut.error), weight.copies });
    }
    // A column-parallel layer leaves its result in parts, and a row-parallel one takes parts; the head takes all.
    const auto partsOf = [&](const WeightLayout& weight) {
        const int dim = isHead(weight.spec.name) ? -1 : cutOf(weight, design, use).dim;
        return ModuleParts { .takes = dim == 1, .gives = dim == 0 };
    };
    if (out.value().empty())
        out.value() = flowRefusals(evaluation, kFramework, partsOf);
    return out;
}

} // namespace

ExportTarget deepspeedTarget()
{
    return { .id = "deepspeed",
             .title = kFramework,
             .summary = "AutoTP's layer specs, ZeRO stage and batches, as one JSON configuration",
             .check = "check.py",
             .refusals = refusalsOf,
             .leftOut = leftOut,
             .usage = [](const Design& design, const Evaluation&) { return usageText(design); },
             .files = [](const Design& design, const Evaluation& evaluation) -> Result<std::vector<ExportedFile>> {
                 return std::vector<ExportedFile> {
                     { "ds_config.json", textSource(jsonText(configOf(design, evaluation), 2) + "\n") },
                     { "check.py", textSource(checkText(design, evaluation)) },
                 };
             } };
}

} // namespace shardboard
