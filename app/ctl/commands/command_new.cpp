// SPDX-License-Identifier: Apache-2.0
// shardctl new: from a model and a mesh to a design file.
#include "app/ctl/commands.h"
#include "app/ctl/memoryoptions.h"
#include "app/ctl/pipelineoptions.h"
#include "app/ctl/rulesoptions.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presetaxes.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace shardboard {

namespace {

/// 8, or as many as the mesh axes that usually cut the batch have devices, and a multiple of the micro-batches.
std::int64_t defaultBatch(const Mesh& mesh, std::int64_t microBatches)
{
    const AxisRoles roles = axisRoles(mesh);
    std::int64_t devices = 1;
    for (const auto* axes : { &roles.data, &roles.fsdp, &roles.expert })
        devices *= mesh.groupSize(*axes);
    return (devices > 8 ? devices : (8 + devices - 1) / devices * devices) * microBatches;
}

Status chooseOffload(const Arguments& arguments, Offload& offload)
{
    const auto what = offloadFromName(arguments.text("--offload", "none"));
    if (!what)
        return usageError("--offload", "'" + arguments.text("--offload") + "' does not say what lies on the host",
                          std::string("use ") + kOffloadWords);
    offload.what = *what;
    const auto layers = arguments.integer("--offload-layers", 0, 0, std::int64_t { 1 } << 31);
    if (!layers.ok())
        return layers.error();
    if (layers.value() > 0 && !offload.any())
        return usageError("--offload-layers", "nothing is offloaded", "add --offload, e.g. --offload activations");
    offload.layers = layers.value();
    return done();
}

Result<Workload> workloadOf(const Arguments& arguments, const ModelSpec& model, const Mesh& mesh)
{
    Workload workload;
    const auto kind = workloadFromName(arguments.text("--workload", "prefill"));
    if (!kind)
        return usageError("--workload", "there is no workload '" + arguments.text("--workload") + "'",
                          "workloads are prefill, decode and train");
    workload.kind = *kind;
    for (const char* option :
         { "--micro-batches", "--recompute", "--recompute-layers", "--recompute-every", "--shard-optimizer", "--shard-gradients",
           "--optimizer", "--offload", "--offload-layers", "--mtp", "--framework", "--reshard-after-forward" })
        if (arguments.has(option) && *kind != WorkloadKind::Train)
            return usageError(option, "it is of training", "add --workload train");
    const auto microBatches = arguments.integer("--micro-batches", 1, 1, std::int64_t { 1 } << 31);
    if (!microBatches.ok())
        return microBatches.error();
    workload.microBatches = microBatches.value();
    const auto recompute = recomputeFromName(arguments.text("--recompute", "none"));
    if (!recompute)
        return usageError("--recompute", "there is no way of recomputing '" + arguments.text("--recompute") + "'",
                          std::string("use ") + kRecomputeWords);
    workload.recompute = *recompute;
    const auto recomputeLayers = arguments.integer("--recompute-layers", 0, 0, std::int64_t { 1 } << 31);
    if (!recomputeLayers.ok())
        return recomputeLayers.error();
    workload.recomputeLayers = recomputeLayers.value();
    const auto recomputeEvery = arguments.integer("--recompute-every", 1, 1, std::int64_t { 1 } << 31);
    if (!recomputeEvery.ok())
        return recomputeEvery.error();
    workload.recomputeEvery = recomputeEvery.value();
    for (const std::string_view axis : split(std::string_view(arguments.text("--shard-optimizer")), ','))
        if (!axis.empty())
            workload.optimizer.axes.emplace_back(axis);
    workload.optimizer.gradients = arguments.has("--shard-gradients");
    if (workload.optimizer.gradients && !workload.optimizer.present())
        return usageError("--shard-gradients", "needs --shard-optimizer with the mesh axes", "see shardctl new --help");
    const auto rule = optimizerFromName(arguments.text("--optimizer", "adam"));
    if (!rule)
        return usageError("--optimizer", "there is no optimizer '" + arguments.text("--optimizer") + "'",
                          std::string("use ") + kOptimizerWords);
    workload.rule = *rule;
    if (auto status = chooseOffload(arguments, workload.offload); !status.ok())
        return status.error();
    const std::int64_t further = *kind == WorkloadKind::Train ? std::min(model.furtherLayers, kMostPredicted) : 0;
    const auto predicted = arguments.integer("--mtp", further, 0, kMostPredicted);
    if (!predicted.ok())
        return predicted.error();
    workload.predicted = predicted.value();
    const auto attention = attentionKernelFromName(arguments.text("--attention", "flash"));
    if (!attention)
        return usageError("--attention", "there is no attention kernel '" + arguments.text("--attention") + "'",
                          "use flash or unfused");
    workload.attention = *attention;
    const auto overlap = overlapFromName(arguments.text("--overlap", "none"));
    if (!overlap)
        return usageError("--overlap", "'" + arguments.text("--overlap") + "' does not say what runs beside the computation",
                          std::string("use ") + kOverlapWords);
    workload.overlap = *overlap;
    const auto software = softwareFromName(arguments.text("--software", "fused"));
    if (!software)
        return usageError("--software", "there is no software '" + arguments.text("--software") + "'",
                          "use fused, compiled or eager");
    workload.software = *software;
    const auto dispatch = dispatchFromName(arguments.text("--dispatch", "per-expert"));
    if (!dispatch)
        return usageError("--dispatch", "tokens cannot be sent '" + arguments.text("--dispatch") + "'",
                          "use per-expert or per-node");
    if (arguments.has("--dispatch") && !model.moe.present())
        return usageError("--dispatch", "it is of models with experts", model.name + " has none");
    workload.dispatch = *dispatch;
    if (arguments.has("--capacity-factor")) {
        const auto factor = arguments.number("--capacity-factor", 0, 0, 1000);
        if (!factor.ok() && factor.error().code == ErrorCode::Usage)
            return factor.error();
        if (!factor.ok() || (factor.value() > 0 && factor.value() < 0.01))
            return inputError("--capacity-factor", arguments.text("--capacity-factor") + " cannot be used",
                              "use 0.01 to 1000, or 0 for dropless");
        if (!model.moe.present())
            return usageError("--capacity-factor", "it is of models with experts", model.name + " has none");
        workload.capacityFactor = factor.value();
    }
    const auto order = contextOrderFromName(arguments.text("--context-order", "head-tail"));
    if (!order)
        return usageError("--context-order", "tokens cannot be ordered '" + arguments.text("--context-order") + "'",
                          "use head-tail or in-order");
    workload.contextOrder = *order;
    workload.graphs = arguments.has("--graphs");
    if (arguments.has("--logits") && *kind != WorkloadKind::Prefill)
        return usageError("--logits", "it is of prefill", "decoding and training have the logits of all tokens");
    const bool hasLogits = model.kind == ModelKind::Decoder;
    if (arguments.has("--logits") && !hasLogits)
        return usageError("--logits", "it is of models with a head", "a single module has no logits");
    const auto logits = logitsFromName(arguments.text("--logits", hasLogits ? "last" : "all")); // waits until it is a prefill
    if (!logits)
        return usageError("--logits", "there are no logits '" + arguments.text("--logits") + "'", "use last or all");
    workload.logits = *logits;
    const auto batch = arguments.integer("--batch", defaultBatch(mesh, std::min<std::int64_t>(workload.microBatches, 1 << 20)), 1,
                                         std::int64_t { 1 } << 31);
    if (!batch.ok())
        return batch.error();
    workload.batch = batch.value();
    const auto sequence = arguments.integer("--sequence", 4096, 1, std::int64_t { 1 } << 31);
    if (!sequence.ok())
        return sequence.error();
    workload.sequence = sequence.value();
    const bool computes = model.dtype == DType::F32 || model.dtype == DType::F16;
    workload.dtype = computes ? model.dtype : DType::BF16;
    if (arguments.has("--dtype")) {
        const auto dtype = dtypeFromName(arguments.text("--dtype"));
        if (!dtype)
            return usageError("--dtype", "there is no dtype '" + arguments.text("--dtype") + "'", "use bf16, f16, f32 or f8e4m3");
        workload.dtype = *dtype;
    }
    for (const char* option : { "--fp8", "--fp8-gather" })
        if (arguments.has(option) && (*kind != WorkloadKind::Train || workload.dtype != DType::F8E4M3))
            return usageError(option, "it is of training in fp8", "add --workload train --dtype f8e4m3");
    if (arguments.has("--fp8")) {
        const auto recipe = fp8RecipeFromName(arguments.text("--fp8"));
        if (!recipe)
            return usageError("--fp8", "there is no recipe '" + arguments.text("--fp8") + "'",
                              "use delayed, tensorwise, rowwise, blockwise, mxfp8 or nvfp4");
        workload.fp8.recipe = *recipe;
    }
    workload.fp8.gather = arguments.has("--fp8-gather");
    if (arguments.has("--precision"))
        if (auto status = readPrecision(arguments.text("--precision"), workload.precision, "--precision"); !status.ok())
            return status.error();
    for (const PrecisionMember& member : precisionMembers())
        if (member.training && workload.precision.*(member.type) && *kind != WorkloadKind::Train)
            return usageError("--precision", std::string(member.name) + " are of training", "add --workload train");
    if (auto status = verifyWorkload(workload, "shardctl new"); !status.ok())
        return status.error();
    return workload;
}

/// A model that is opened, or the module that the options describe.
Result<OpenedModel> modelOf(const Arguments& arguments)
{
    if (arguments.text("--model") != modelKindName(ModelKind::ColumnParallelLinear)) {
        for (const char* option : { "--in-dim", "--out-dim", "--bias", "--tied" })
            if (arguments.has(option))
                return usageError(option, "only --model column-parallel-linear takes it", "see shardctl new --help");
        return openModel(arguments.text("--model"));
    }
    for (const char* option : { "--in-dim", "--out-dim" })
        if (!arguments.has(option))
            return usageError(option, "column-parallel-linear needs it", "its weight is [out, in]");
    const auto inDim = arguments.integer("--in-dim", 1, 1, std::int64_t { 1 } << 31);
    const auto outDim = arguments.integer("--out-dim", 1, 1, std::int64_t { 1 } << 31);
    for (const auto* size : { &inDim, &outDim })
        if (!size->ok())
            return size->error();
    ModelSpec model =
        columnParallelModel({ inDim.value(), outDim.value(), arguments.has("--bias"), arguments.has("--tied") }, DType::BF16);
    if (auto status = verifyModel(model, "--tied"); !status.ok()) {
        Error error = status.error(); // the sizes are good: only a tied weight with a bias is refused
        error.where = "--tied";
        return error;
    }
    return OpenedModel { std::move(model), {} };
}

void printSummary(const Design& design, const Evaluation& evaluation, const std::string& path, bool json)
{
    std::int64_t tensors = evaluation.graph.weightCount();
    if (!design.model.hasGraph())
        tensors = static_cast<std::int64_t>(design.model.looseWeights.size());
    if (json) {
        std::cout << jsonText(nlohmann::json { { "path", path },
                                               { "model", design.model.name },
                                               { "parameters", evaluation.parameters },
                                               { "weights", tensors },
                                               { "weight_bytes", evaluation.weightBytes },
                                               { "graph", design.model.hasGraph() } },
                              1)
                  << "\n";
        return;
    }
    std::cout << path << ": " << design.model.name << ", " << countText(evaluation.parameters) << " parameters in "
              << countText(tensors) << " weights (" << bytesText(evaluation.weightBytes) << "), mesh " << design.mesh.text()
              << "\n";
}

Status checkOptions(const Arguments& arguments)
{
    for (const char* required : { "--model", "-o" })
        if (!arguments.has(required))
            return usageError("shardctl new", std::string(required) + " is missing", "see shardctl new --help");
    const bool rules = arguments.has("--rules");
    for (const char* needsRules : { "--base", "--set", "--devices-per-slice", "--topology", "--slices" })
        if (arguments.has(needsRules) && !rules)
            return usageError("shardctl new", std::string(needsRules) + " without --rules", "see shardctl new --help");
    if (rules && arguments.has("--preset"))
        return usageError("shardctl new", "--preset and --rules both lay out every weight, and a preset would hide the rules",
                          "give one of them");
    const bool devices = arguments.has("--devices-per-slice") || arguments.has("--topology");
    if (arguments.has("--mesh") && (devices || arguments.has("--slices")))
        return usageError("shardctl new", "--mesh and the number of devices both give the mesh", "give one of them");
    if (!arguments.has("--mesh") && !devices)
        return usageError("shardctl new", "--mesh is missing",
                          rules ? "or give --devices-per-slice, for the mesh of the rules" : "see shardctl new --help");
    return done();
}

void warn(const std::string& what) { std::cerr << "warning: " << inputError({}, what).text() << "\n"; }

/// What a rule file says and a design does not keep.
void warnOfRest(const RuleSetup& setup, bool meshGiven)
{
    printWarnings(setup.warnings);
    for (const auto& [option, value] : setup.options)
        if (meshGiven && value != defaultParallelism(option))
            warn(option + "=" + std::to_string(value) + " is ignored, because --mesh gives the sizes");
    if (setup.inputNames != RuleSetup {}.inputNames)
        warn("input_data_sharding_logical_axes is not kept in a design: tokens are laid out by " + joined(RuleSetup {}.inputNames));
}

/// Mesh and rules. With --rules no strategy is made: entries come before rules, so one for `*` would hide them all.
Status meshAndRules(const Arguments& arguments, Design& design)
{
    if (arguments.has("--mesh")) {
        auto mesh = Mesh::parse(arguments.text("--mesh"));
        if (!mesh.ok())
            return mesh.error();
        design.mesh = std::move(mesh).value();
    }
    if (!arguments.has("--rules"))
        return done();
    RuleSetup setup;
    if (arguments.has("--mesh")) {
        auto opened = setupFrom(arguments);
        if (!opened.ok())
            return opened.error();
        setup = std::move(opened).value();
    } else {
        auto opened = rulesOnMeshFrom(arguments);
        if (!opened.ok())
            return opened.error();
        setup = std::move(opened.value().setup);
        design.mesh = std::move(opened.value().mesh);
    }
    warnOfRest(setup, arguments.has("--mesh"));
    const std::string name = arguments.text("--rules");
    const auto presets = rulePresetNames();
    design.rules.source = !contains(presets, name) ? name : "preset " + name;
    design.rules.rules = std::move(setup.rules);
    return done();
}

} // namespace

int newCommand(const Arguments& arguments)
{
    if (const auto status = checkOptions(arguments); !status.ok())
        return report(status.error());
    Design design;
    if (const auto status = meshAndRules(arguments, design); !status.ok())
        return report(status.error());
    auto opened = modelOf(arguments);
    if (!opened.ok())
        return report(opened.error());
    design.model = std::move(opened.value().model);
    auto hardware = hardwareNamed(arguments.text("--hardware", design.hardware));
    if (!hardware.ok())
        return report(hardware.error());
    setHardware(design, std::move(hardware).value());
    const auto workload = workloadOf(arguments, design.model, design.mesh);
    if (!workload.ok())
        return report(workload.error());
    design.workload = workload.value();
    const bool isModule = design.model.kind != ModelKind::Decoder;
    if (const auto status = chooseMemory(arguments, design.memory); !status.ok())
        return report(status.error());
    std::vector<std::string> notes;
    if (!arguments.has("--rules")) {
        auto applied = applyPreset(design, arguments.text("--preset", isModule ? "megatron-tp" : "replicate"));
        if (!applied.ok())
            return report(applied.error());
        notes = std::move(applied).value();
    }
    if (const auto status = choosePipeline(arguments, design.pipeline); !status.ok())
        return report(status.error());

    for (const std::string& text : arguments.texts("--pin")) {
        auto pin = parsePin(text);
        if (!pin.ok())
            return report(usageError("--pin", pin.error().what, pin.error().fix));
        design.pins.push_back(std::move(pin).value());
    }

    const auto evaluation = evaluate(design, Misfits::Replicate);
    if (!evaluation.ok())
        return report(evaluation.error());
    for (const DesignFinding& finding : evaluation.value()->findings)
        if (finding.kind == "dead-pin" || finding.kind == "pin-unmet" || finding.kind == "idle-setting")
            printFinding(finding);
    for (const std::string& note : notes)
        std::cerr << "note: " << note << "\n";
    printFindings(opened.value().findings);
    for (const WeightLayout& weight : evaluation.value()->weights)
        if (weight.misfit)
            std::cerr << "error: " << weight.misfit->error.text() << " (shardctl check shows the repair)\n";
    if (const auto status = writeDesign(arguments.text("-o"), design); !status.ok())
        return report(status.error());
    printSummary(design, *evaluation.value(), arguments.text("-o"), arguments.has("--json"));
    return kDone;
}

} // namespace shardboard
