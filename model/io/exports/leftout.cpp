// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/leftout.h"

#include "model/io/exports/pythontext.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

/// In quotes, printable and short, whatever a name holds.
std::string shown(const std::string& text)
{
    constexpr std::size_t kLongest = 60;
    const std::string quoted = pythonLiteral(text);
    return quoted.size() <= kLongest ? quoted : quoted.substr(0, kLongest) + "...\"";
}

std::string pinsText(const std::vector<Pin>& pins, const std::string& compiler)
{
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::pair<std::string, std::size_t>> matches;
    for (const Pin& pin : pins) {
        const auto known = std::ranges::find_if(matches, [&](const auto& match) { return match.first == pin.match; });
        if (known == matches.end())
            matches.emplace_back(pin.match, 1);
        else
            ++known->second;
    }
    std::string text = counted(static_cast<std::int64_t>(pins.size()), "pin") + " of ";
    for (std::size_t i = 0; i < std::min(matches.size(), kMostNamed); ++i)
        text += (i > 0 ? ", " : "") + shown(matches[i].first)
            + (matches[i].second > 1 ? " (" + std::to_string(matches[i].second) + ")" : "");
    if (matches.size() > kMostNamed)
        text += " and " + std::to_string(matches.size() - kMostNamed) + " more";
    text += ": the layout of these values is left to " + compiler + ", which may move other values than the plan does, and more";
    // What pins alone tell apart.
    for (const auto& [preset, without] : { std::pair { "preset tp-sp", "megatron-tp" }, { "preset tp-sp+fsdp", "tp+fsdp" } })
        if (std::ranges::any_of(pins, [&](const Pin& pin) { return pin.source == preset; }))
            text += std::string("; ") + preset + " becomes " + without;
    return text;
}

/// Settings that are not as usual: what they are, and what is decided elsewhere.
struct SettingText {
    std::string what;
    const char* decided;
};

std::vector<SettingText> settingTexts(const Design& design)
{
    const Workload workload = effective(design.workload);
    const bool trains = workload.kind == WorkloadKind::Train;
    const MemorySettings& memory = design.memory;
    std::vector<SettingText> out;
    const auto add = [&](bool chosen, std::string what, const char* decided) {
        if (chosen)
            out.push_back({ std::move(what), decided });
    };
    add(workload.overlap != Overlap::None, "overlap " + overlapName(workload.overlap), "when collectives run");
    add(workload.attention != AttentionKernel::Flash, "attention " + attentionKernelName(workload.attention),
        "by which kernels attention is computed");
    add(workload.software != Software::Fused, "software " + softwareName(workload.software),
        "whose kernels compute what is no matrix product");
    add(workload.graphs, "CUDA graphs", "how kernels are launched");
    add(workload.contextOrder != ContextOrder::HeadTail, "context in order", "which tokens of a sequence a device has");
    add(workload.precision != Precision {}, "precision " + precisionText(workload.precision), "in which types values are held");
    if (design.model.moe.present()) {
        add(workload.capacityFactor > 0, "capacity factor " + decimalDigits(workload.capacityFactor),
            "how many tokens an expert takes");
        add(workload.dispatch != Dispatch::PerExpert, "dispatch " + dispatchName(workload.dispatch),
            "how tokens get to their experts");
    }
    add(memory.prefetchedLayers != MemorySettings {}.prefetchedLayers,
        "weights of " + counted(memory.prefetchedLayers, "layer") + " gathered ahead", "when weights are gathered");
    if (!trains)
        return out;
    add(workload.fp8 != Fp8Settings {},
        std::string("fp8 recipe ") + fp8RecipeName(workload.fp8.recipe) + (workload.fp8.gather ? ", weights gathered in fp8" : ""),
        "how values are scaled and weights are gathered");
    add(workload.rule != Optimizer::Adam, "optimizer " + optimizerName(workload.rule), "by which rule weights are stepped");
    add(workload.offload.any(),
        "offload of " + offloadName(workload.offload.what)
            + (workload.offload.layers > 0 ? " of " + counted(workload.offload.layers, "layer") : std::string()),
        "what lies in the hosts' memory");
    add(workload.predicted > 0,
        counted(workload.predicted, "further token") + " predicted, by modules whose weights are here as in a checkpoint",
        "what is computed with them");
    add(!memory.logitsInF32, "loss fused", "in which type the loss is computed");
    add(memory.framework != Framework::None, std::string("memory as ") + factsOf(memory.framework).title + " holds it",
        "what is held beside the layouts, and in which types");
    if (memory.reshardAfterForward)
        out.push_back({ std::string("reshard after forward ") + (*memory.reshardAfterForward ? "always" : "never"),
                        "when gathered weights are given back" });
    if (memory.groupCollectives)
        out.push_back({ std::string("weights of a block moved in one call ") + (*memory.groupCollectives ? "always" : "never"),
                        "how many weights a collective moves" });
    return out;
}

} // namespace

std::string recomputedWhere(const Workload& workload)
{
    std::string out;
    if (workload.recomputeLayers > 0)
        out += " of " + std::to_string(workload.recomputeLayers) + " layers";
    if (workload.recomputeEvery > 1)
        out += " of one layer in " + std::to_string(workload.recomputeEvery);
    return out;
}

bool isPlainRecompute(const Workload& workload)
{
    const Recompute what = workload.recompute;
    return workload.recomputesInAll() && (what == Recompute::None || what == Recompute::Selective || what == Recompute::Full);
}

std::vector<std::string> leftOutOf(const Design& design, const std::string& compiler)
{
    std::vector<std::string> out;
    if (!design.pins.empty())
        out.push_back(pinsText(design.pins, compiler));
    if (design.model.block.partsApart)
        out.push_back(
            "weights that a checkpoint has as one: their parts are tensors of their own here, and shards.json says of each "
            "which weight it is a part of (part_of); how the checkpoint is read is left to the program");
    const Workload& workload = design.workload;
    for (const SettingText& setting : settingTexts(design))
        out.push_back(setting.what + ": " + setting.decided + " is left to " + compiler);
    if (workload.kind != WorkloadKind::Train)
        return out;
    if (workload.dtype != storageType(workload))
        out.push_back("products in " + dtypeName(workload.dtype)
                      + ": in which type layers compute is left to the training program");
    if (design.pipeline.present() && design.pipeline.schedule != PipelineSchedule::OneForwardOneBackward)
        out.push_back("schedule " + scheduleName(design.pipeline.schedule)
                      + ": in which order stages work is left to the training program");
    if (workload.recompute != Recompute::None)
        out.push_back("recompute " + recomputeName(workload.recompute) + recomputedWhere(workload)
                      + ": what is kept for the backward pass is left to the training program");
    if (workload.microBatches > 1)
        out.push_back(std::to_string(workload.microBatches)
                      + " micro-batches: how the batch is split is left to the training program");
    if (workload.optimizer.present()) {
        std::vector<std::string> axes;
        for (const std::string& axis : workload.optimizer.axes)
            axes.push_back(shown(axis));
        out.push_back(std::string("optimizer states") + (workload.optimizer.gradients ? " and gradients" : "") + " cut over "
                      + joined(axes) + ": their layout is left to the training program");
    }
    return out;
}

} // namespace shardboard
