// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/megatron/megatrontarget.h"

#include "model/io/exports/exporttext.h"
#include "model/io/exports/leftout.h"
#include "model/io/exports/pythontext.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/ranks/commented.h"
#include "model/io/ranks/launch.h"
#include "model/io/ranks/modelconfig.h"
#include "model/io/ranks/rankrule.h"
#include "model/io/ranks/servingsizes.h"

#include <algorithm>
#include <optional>
#include <set>

namespace shardboard {

namespace {

constexpr const char* kFramework = "Megatron";

struct Sizes {
    ServingSizes base;
    std::int64_t context = 1;
    bool stagesInner = false; ///< ranks tp-cp-ep-pp-dp, in place of tp-cp-ep-dp-pp
};

Sizes sizesOf(const Design& design, const Evaluation& evaluation)
{
    Sizes sizes { .base = servingSizes(design, evaluation) };
    const AxisUse& use = sizes.base.use;
    sizes.context = design.mesh.groupSize(use.context);
    sizes.stagesInner = orderRefusal(design.mesh, kFramework, { use.stage, use.data, use.context, use.tensor })
        && !orderRefusal(design.mesh, kFramework, { use.data, use.stage, use.context, use.tensor });
    return sizes;
}

/// 1 where the vocabulary divides without padding, else Megatron's own.
std::int64_t vocabularyDivisor(const Design& design, const Sizes& sizes)
{
    constexpr std::int64_t kUsual = 128;
    return design.model.vocabSize % sizes.base.tensor == 0 ? 1 : kUsual;
}

RankRule ruleOf(const Design& design, const Sizes& sizes)
{
    RankRule rule { .framework = kFramework, .tensor = sizes.base.tensor, .evenExperts = true };
    rule.vocabularyMultiple = vocabularyDivisor(design, sizes) * sizes.base.tensor;
    rule.expert = sizes.base.expert;
    rule.expertTensor = sizes.base.expertTensor;
    const std::int64_t tensor = rule.tensor;
    const std::int64_t expert = rule.expert;
    const std::int64_t width = rule.expertTensor;
    rule.place = [=](std::int64_t rank) { return RankPlace { rank % tensor, rank / width % expert, rank % width }; };
    return rule;
}

/// `Ett|tt|ttL`, a part for each run of layers.
std::string pipelineLayout(const ServingSizes& sizes)
{
    std::string text;
    for (std::size_t run = 0; run < sizes.layers.size(); ++run)
        text += (run == 0 ? "E" : "|") + std::string(static_cast<std::size_t>(sizes.layers[run]), 't');
    return text + "L";
}

/// The residual stream is cut on its sequence over the tensor axes at every norm of the layers, as Megatron has it, not at some.
bool isSequenceParallel(const Evaluation& evaluation, const AxisUse& use)
{
    bool found = false;
    for (const PlannedSegment& segment : evaluation.plan.segments)
        for (const PlannedOp& planned : segment.ops) {
            const OpKind kind = evaluation.graph.op(planned.op).kind;
            if (segment.phase != Phase::Forward || !evaluation.graph.segment(segment.segment).isLayer || planned.operands.empty()
                || (kind != OpKind::RmsNorm && kind != OpKind::LayerNorm)
                || !evaluation.graph.isStream(planned.operands.front().tensor))
                continue;
            const OperandUse& norm = planned.operands.front();
            const Layout& stream = norm.before.partial.empty() ? norm.before : norm.layout; // sums are made for it
            if (stream.dims.size() < 2 || std::ranges::none_of(stream.dims[1], [&](const AxisRef& ref) {
                    return std::ranges::find(use.tensor, ref.axis) != use.tensor.end();
                }))
                return false;
            found = true;
        }
    return found;
}

/// How attention gets at the other parts of the sequence: by what it moves in the plan.
std::string contextCommunication(const Evaluation& evaluation, const AxisUse& use)
{
    std::set<CollectiveKind> kinds;
    for (const Collective& collective : evaluation.plan.collectives)
        if (std::ranges::any_of(collective.axes,
                                [&](int axis) { return std::ranges::find(use.context, axis) != use.context.end(); }))
            kinds.insert(collective.kind);
    return kinds.contains(CollectiveKind::SendRecv) ? "p2p"
        : kinds.contains(CollectiveKind::AllToAll)  ? "a2a"
        : kinds.contains(CollectiveKind::AllGather) ? "all_gather"
                                                    : "";
}

/// Micro-batches of one sequence or more, if the batch divides.
std::optional<std::int64_t> microBatchSize(const Design& design, const Sizes& sizes)
{
    const std::int64_t parts = sizes.base.data * effective(design.workload).microBatches;
    if (design.workload.batch % parts != 0)
        return std::nullopt;
    return design.workload.batch / parts;
}

/// Names of Megatron's modules that together are what a design recomputes in all layers; none for what it calls selective, and
/// nothing where there are none.
std::optional<std::vector<std::string>> recomputedModules(const Workload& workload)
{
    if (workload.recompute == Recompute::None || !workload.recomputesInAll())
        return std::nullopt;
    if (workload.recompute == Recompute::Selective)
        return std::vector<std::string> {};
    std::vector<std::string> out;
    Recompute all = Recompute::None;
    for (const RecomputeAlias& alias : kRecomputeAliases) {
        if (std::string_view(alias.source) != "Megatron-Core")
            continue;
        const Recompute parts = *recomputeFromName(alias.parts);
        const auto isIn = [&](const Recompute& set, RecomputePart part) { return !parts.has(part) || set.has(part); };
        const bool chosen =
            std::ranges::all_of(kRecomputeParts, [&](RecomputePart part) { return isIn(workload.recompute, part); });
        if (!chosen || std::ranges::all_of(kRecomputeParts, [&](RecomputePart part) { return isIn(all, part); }))
            continue;
        out.emplace_back(alias.name);
        for (const RecomputePart part : kRecomputeParts)
            if (parts.has(part))
                all = all.with(part);
    }
    return all == workload.recompute ? std::optional(out) : std::nullopt;
}

/// Whole layers, from the first of a stage on: it has no word for every second one.
bool recomputesWhole(const Workload& workload) { return workload.recompute == Recompute::Full && workload.recomputeEvery == 1; }

/// Settings by the name of the provider's field: flags are the same words.
nlohmann::ordered_json settingsOf(const Design& design, const Evaluation& evaluation, const Sizes& sizes)
{
    const ServingSizes& base = sizes.base;
    auto out = nlohmann::ordered_json::object();
    out["tensor_model_parallel_size"] = base.tensor;
    out["pipeline_model_parallel_size"] = base.stages;
    if (base.stages > 1)
        out["pipeline_model_parallel_layout"] = pipelineLayout(base);
    out["context_parallel_size"] = sizes.context;
    if (const std::string how = contextCommunication(evaluation, base.use); !how.empty())
        out["cp_comm_type"] = how;
    if (design.model.moe.present()) {
        out["expert_model_parallel_size"] = base.expert;
        out["expert_tensor_parallel_size"] = base.expertTensor;
    }
    if (isSequenceParallel(evaluation, base.use))
        out["sequence_parallel"] = true;
    if (const DType type = storageType(design.workload); type == DType::BF16 || type == DType::F16)
        out[type == DType::BF16 ? "bf16" : "fp16"] = true; // else Megatron takes float32
    if (sizes.stagesInner)
        out["use_tp_pp_dp_mapping"] = true;
    out["make_vocab_size_divisible_by"] = vocabularyDivisor(design, sizes);
    out["seq_length"] = design.workload.sequence;
    if (design.workload.kind != WorkloadKind::Train)
        return out;
    if (const auto micro = microBatchSize(design, sizes)) {
        out["micro_batch_size"] = *micro;
        out["global_batch_size"] = design.workload.batch;
    }
    if (design.workload.optimizer.present())
        out["use_distributed_optimizer"] = true;
    const std::int64_t layers = design.workload.recomputeLayers;
    if (recomputesWhole(design.workload)) {
        out["recompute_granularity"] = "full";
        out["recompute_method"] = layers > 0 ? "block" : "uniform";
        out["recompute_num_layers"] = std::max<std::int64_t>(1, layers);
    } else if (const auto modules = recomputedModules(design.workload)) {
        out["recompute_granularity"] = "selective";
        if (!modules->empty())
            out["recompute_modules"] = *modules;
    }
    return out;
}

std::string usageText(const Design& design)
{
    const bool trains = design.workload.kind == WorkloadKind::Train;
    return torchrunText(design) + (trains ? " pretrain_gpt.py" : " tools/run_text_generation_server.py")
        + " $(python export.py) ...  # Megatron-LM\n"
          "from export import configure; provider = configure(bridge.to_megatron_provider())  # Megatron-Bridge\n";
}

std::vector<std::string> leftOut(const Design& design, const Evaluation& evaluation)
{
    const AxisUse use = axisUse(design, evaluation);
    Design rest = design; // what the settings say is not left out
    if (isSequenceParallel(evaluation, use) || !contextCommunication(evaluation, use).empty())
        std::erase_if(rest.pins, [](const Pin& pin) { return pin.source.starts_with("preset "); });
    if (recomputesWhole(rest.workload) || recomputedModules(rest.workload))
        rest.workload.recompute = Recompute::None;
    rest.workload.microBatches = 1;
    rest.workload.optimizer = {};
    if (rest.memory.framework == Framework::Megatron)
        rest.memory.framework = Framework::None;
    std::vector<std::string> out = leftOutOf(rest, kFramework);
    if (design.workload.kind == WorkloadKind::Train && design.workload.optimizer.present())
        out.push_back(
            "optimizer states: Megatron's distributed optimizer cuts them as one flat buffer over all data-parallel ranks");
    if (design.workload.kind == WorkloadKind::Train && design.workload.optimizer.present() && design.workload.optimizer.gradients)
        out.emplace_back(
            "gradients cut between micro-batches: Megatron's distributed optimizer keeps them whole, and sums them once "
            "a step");
    if (!use.context.empty()) {
        const std::int64_t chunks = 2 * design.mesh.groupSize(use.context);
        out.push_back("which rank has which tokens: Megatron deals the sequence in " + std::to_string(chunks)
                      + " chunks, to each rank one from the front and one from the back, and in the design each has one run of it");
    }
    if (design.workload.kind != WorkloadKind::Train)
        out.push_back("batch " + std::to_string(design.workload.batch) + ": who calls Megatron's inference decides about it");
    addWholeBatch(out, design, evaluation, kFramework);
    return out;
}

/// Sizes of the model by the provider's fields, which tell another model from this one.
nlohmann::ordered_json modelSizesOf(const ModelSpec& model)
{
    auto out = nlohmann::ordered_json::object();
    out["num_layers"] = model.layers;
    out["hidden_size"] = model.hiddenSize;
    out["num_attention_heads"] = model.heads;
    if (!model.mla.present()) {
        out["num_query_groups"] = model.kvHeads;
        out["kv_channels"] = model.headDim;
    }
    if (model.moe.present())
        out["num_moe_experts"] = model.moe.experts;
    else
        out["ffn_hidden_size"] = model.intermediateSize;
    return out;
}

std::string tableCode(const char* name, const nlohmann::ordered_json& entries)
{
    std::string text = std::string(name) + " = {\n";
    for (const auto& [key, value] : entries.items()) {
        const std::string literal = value.is_boolean() ? (value.get<bool>() ? "True" : "False")
            : value.is_string()                        ? pythonLiteral(value.get<std::string>())
                                                       : value.dump();
        text += "    " + pythonLiteral(key) + ": " + literal + ",\n";
    }
    return text + "}\n";
}

std::string moduleText(const Design& design, const Evaluation& evaluation, const Sizes& sizes)
{
    std::string text =
        "# Generated by Shardboard: sizes of the groups of Megatron-LM and Megatron-Bridge.\n" + commented(usageText(design));
    text += "MODEL = " + pythonLiteral(design.model.name) + "\n" + leftOutCode(leftOut(design, evaluation));
    return text + tableCode("SETTINGS", settingsOf(design, evaluation, sizes)) + "# What the model has to have.\n"
        + tableCode("SIZES", modelSizesOf(design.model)) + "\n\n" + std::string(exportText("megatron/functions.py"));
}

std::string checkText(const Design& design, const Evaluation& evaluation)
{
    std::string text =
        "# Generated by Shardboard: has Megatron-Core number the ranks and size its layers for export.py, and compares what each\n"
        "# rank holds with shards.json.\n";
    text += "MODEL = " + pythonLiteral(design.model.name) + "\n" + weightsCode(evaluation);
    text += "CONFIG = " + pythonLiteral(jsonText(modelConfig(design.model))) + "  # JSON\n";
    return text + "\n" + std::string(exportText("ranks/shards.py")) + "\n\n" + std::string(exportText("shards/joined.py")) + "\n\n"
        + std::string(exportText("megatron/check.py"));
}

Result<std::vector<ExportRefusal>> refusalsOf(const Design& design, const Evaluation& evaluation,
                                              const std::function<bool()>& stopped)
{
    const Sizes sizes = sizesOf(design, evaluation);
    const AxisUse& use = sizes.base.use;
    std::vector<ExportRefusal> out;
    const auto refuse = [&](const char* where, std::string what, std::string fix) {
        if (out.empty())
            out.push_back({ inputError(where, std::move(what), std::move(fix)) });
    };
    if (!use.sharded.empty())
        refuse("mesh",
               "mesh axis '" + axisNames(design.mesh, use.sharded)
                   + "' cuts weights and the batch, and Megatron's FSDP cuts one flat buffer of all weights, at no tensor's bounds",
               "keep weights whole over data axes, or export to a target that takes a layout for every weight");
    if (design.workload.kind == WorkloadKind::Train && !microBatchSize(design, sizes))
        refuse("workload",
               "batch " + std::to_string(design.workload.batch) + " does not divide by "
                   + std::to_string(sizes.base.data * effective(design.workload).microBatches)
                   + ", the data-parallel ranks times micro-batches, as Megatron requires",
               "use a multiple");
    if (design.pipeline.schedule == PipelineSchedule::DualPipe)
        refuse("pipeline", "DualPipe has the weights of each stage on two stages, and in Megatron a layer lies on one",
               "export the design with the schedule 1f1b");
    if (design.pipeline.present()
        && static_cast<std::int64_t>(sizes.base.layers.size()) != sizes.base.stages * design.pipeline.chunks)
        refuse("pipeline", "some stage has no layers in one of its runs", "use fewer stages or chunks");
    if (!sizes.stagesInner)
        if (auto order = orderRefusal(design.mesh, kFramework, { use.stage, use.data, use.context, use.tensor });
            order && out.empty())
            out.push_back(std::move(*order));
    if (auto refusal = predictedRefusal(design, kFramework); refusal && out.empty())
        out.push_back(std::move(*refusal));
    if (!out.empty())
        return out;
    return rankRefusals(design, evaluation, ruleOf(design, sizes), stopped);
}

} // namespace

ExportTarget megatronTarget()
{
    return { .id = "megatron",
             .title = "Megatron",
             .summary = "flags of Megatron-LM and provider settings of Megatron-Bridge, as a Python module",
             .check = "check.py",
             .refusals = refusalsOf,
             .leftOut = leftOut,
             .usage = [](const Design& design, const Evaluation&) { return usageText(design); },
             .files = [](const Design& design, const Evaluation& evaluation) -> Result<std::vector<ExportedFile>> {
                 const Sizes sizes = sizesOf(design, evaluation);
                 return std::vector<ExportedFile> { { "export.py", textSource(moduleText(design, evaluation, sizes)) },
                                                    { "check.py", textSource(checkText(design, evaluation)) } };
             } };
}

} // namespace shardboard
