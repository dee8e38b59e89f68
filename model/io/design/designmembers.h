// SPDX-License-Identifier: Apache-2.0
// The keys of a design file, section by section, for both directions; what they can be is said here, too.
#pragma once

#include "model/design/design.h"
#include "model/families/activation.h"
#include "model/io/design/designkeys.h"
#include "model/io/huggingface/modelparts.h"
#include "model/io/json/corewords.h"
#include "model/io/json/jsonmembers.h"
#include "model/text/visibletext.h"

#include <cstdint>
#include <string>

namespace shardboard {

inline constexpr std::int64_t kLargestInDesign = std::int64_t { 1 } << 62;

inline auto jsonWords(ModelKind) { return JsonWords { modelKindName, modelKindFromName, "decoder or column-parallel-linear" }; }
inline auto jsonWords(AttentionBias) { return JsonWords { attentionBiasName, attentionBiasFromName, "none, qkv or qkvo" }; }
inline auto jsonWords(WorkloadKind) { return JsonWords { workloadName, workloadFromName, "prefill, decode or train" }; }
inline auto jsonWords(Recompute) { return JsonWords { recomputeName, recomputeFromName, kRecomputeWords }; }
inline auto jsonWords(AttentionKernel) { return JsonWords { attentionKernelName, attentionKernelFromName, "flash or unfused" }; }
inline auto jsonWords(Framework)
{
    return JsonWords { frameworkName, frameworkFromName, "none, torchtitan, megatron, maxtext or deepspeed" };
}
inline auto jsonWords(Fp8Recipe)
{
    return JsonWords { fp8RecipeName, fp8RecipeFromName, "usual, delayed, tensorwise, rowwise, blockwise, mxfp8 or nvfp4" };
}
inline auto jsonWords(Overlap) { return JsonWords { overlapName, overlapFromName, kOverlapWords }; }
inline auto jsonWords(Optimizer) { return JsonWords { optimizerName, optimizerFromName, kOptimizerWords }; }
inline auto jsonWords(OffloadSet) { return JsonWords { offloadName, offloadFromName, kOffloadWords }; }
inline auto jsonWords(Software) { return JsonWords { softwareName, softwareFromName, "fused, compiled or eager" }; }
inline auto jsonWords(Dispatch) { return JsonWords { dispatchName, dispatchFromName, "per-expert or per-node" }; }
inline auto jsonWords(ContextOrder) { return JsonWords { contextOrderName, contextOrderFromName, "head-tail or in-order" }; }
inline auto jsonWords(Logits) { return JsonWords { logitsName, logitsFromName, "all or last" }; }
inline auto jsonWords(PipelineSchedule) { return JsonWords { scheduleName, scheduleFromName, kScheduleWords }; }
inline auto jsonWords(PickerProfile) { return JsonWords { profileName, profileFromName, kProfileList }; }
inline auto jsonWords(PickerKind) { return JsonWords { pickerName, pickerFromName, "greedy, partials-only or none" }; }
inline auto jsonWords(OnReshard) { return JsonWords { onReshardName, onReshardFromName, "silent, warn or raise" }; }

/// A name or path that may be anything outside of a design, and is a name in it.
struct VisibleText {
    static std::string text(const std::string& name) { return visibleText(name); }
    static Result<std::string> parse(const std::string& text, const std::string& /*place*/) { return text; }
};

template <class Each, MembersOf<LinearModule> Linear>
void jsonMembers(Each& each, Linear& linear)
{
    each.value("in_dim", linear.inDim, { 0, kLargestInDesign });
    each.value("out_dim", linear.outDim, { 0, kLargestInDesign });
    each.value("has_bias", linear.hasBias);
    each.value("tied_weight", linear.tiedWeight);
}

/// The sizes of a decoder, without its parts (modelparts.h).
template <class Each, MembersOf<ModelSpec> Decoder>
void decoderMembers(Each& each, Decoder& model)
{
    each.value("vocab_size", model.vocabSize, { 0, kLargestInDesign });
    each.value("hidden_size", model.hiddenSize, { 0, kLargestInDesign });
    each.value("intermediate_size", model.intermediateSize, { 0, kLargestInDesign });
    each.value("num_hidden_layers", model.layers, { 0, kLargestInDesign });
    each.value("num_attention_heads", model.heads, { 0, kLargestInDesign });
    each.value("num_key_value_heads", model.kvHeads, { 0, kLargestInDesign });
    each.value("head_dim", model.headDim, { 0, kLargestInDesign });
    each.value("tie_word_embeddings", model.tiedEmbeddings);
    each.value("qk_norm", model.qkNorm);
    each.value("attention_bias", model.attentionBias);
    each.value("mlp_bias", model.mlpBias);
    each.value("activation", model.activation);
    each.check([&](JsonFields& from) {
        if (findActivation(model.activation) == nullptr)
            from.fail("activation", "cannot be '" + model.activation + "'", knownActivations());
    });
    each.value("rms_norm_eps", model.norm.epsilon, { 0, 1 });
    each.value("rope_theta", model.ropeTheta, { 0, 1e18 });
    if constexpr (Each::kReads)
        readModelParts(each.from(), model);
    else
        addModelParts(each.out(), model);
    each.unless("not_understood", model.notUnderstood, std::string());
}

template <class Each, MembersOf<ModelSpec> Model>
void jsonMembers(Each& each, Model& model)
{
    each.text("name", model.name, VisibleText());
    each.value("family", model.family);
    each.text("source", model.source, VisibleText());
    each.value("dtype", model.dtype);
    each.value("weight_prefix", model.weightPrefix);
    each.unless("kind", model.kind, ModelKind::Decoder);
    if (model.kind == ModelKind::ColumnParallelLinear)
        jsonMembers(each, model.linear);
    else
        decoderMembers(each, model);
}

template <class Each, MembersOf<OptimizerSharding> Sharding>
void jsonMembers(Each& each, Sharding& sharding)
{
    each.usual("axes", sharding.axes);
    each.usual("gradients", sharding.gradients);
}

template <class Each, MembersOf<Precision> Types>
void jsonMembers(Each& each, Types& precision)
{
    for (const PrecisionMember& member : precisionMembers())
        each.value(member.key, precision.*(member.type));
}

template <class Each, MembersOf<Fp8Settings> Fp8>
void jsonMembers(Each& each, Fp8& fp8)
{
    each.usual("recipe", fp8.recipe);
    each.usual("gather", fp8.gather);
}

template <class Each, MembersOf<Workload> Work>
void jsonMembers(Each& each, Work& workload)
{
    each.value("kind", workload.kind);
    if (workload.kind == WorkloadKind::Train) {
        each.usual("micro_batches", workload.microBatches, { 1, kLargestInDesign });
        each.usual("recompute", workload.recompute);
    } else { // see effective()
        each.unless("micro_batches", workload.microBatches, 1, { 1, kLargestInDesign });
        each.unless("recompute", workload.recompute, Recompute::None);
    }
    each.unless("recompute_layers", workload.recomputeLayers, 0, { 0, kLargestInDesign });
    each.unless("recompute_every", workload.recomputeEvery, 1, { 1, kLargestInDesign });
    each.unless("optimizer_sharding", workload.optimizer, OptimizerSharding {});
    each.unless("optimizer", workload.rule, Optimizer::Adam);
    each.unless("offload", workload.offload.what, OffloadSet {});
    each.unless("offload_layers", workload.offload.layers, 0, { 0, kLargestInDesign });
    each.unless("mtp", workload.predicted, 0, { 0, kMostPredicted });
    each.unless("attention", workload.attention, AttentionKernel::Flash);
    each.unless("overlap", workload.overlap, Overlap::None);
    each.unless("software", workload.software, Software::Fused);
    each.unless("graphs", workload.graphs, false);
    each.unless("capacity_factor", workload.capacityFactor, 0, { 0, 1000 });
    each.unless("dispatch", workload.dispatch, Dispatch::PerExpert);
    each.unless("context_order", workload.contextOrder, ContextOrder::HeadTail);
    each.unless("logits", workload.logits, Logits::All);
    each.value("batch", workload.batch, { 1, kLargestInDesign });
    each.value("sequence", workload.sequence, { 1, kLargestInDesign });
    each.value("dtype", workload.dtype);
    each.unless("precision", workload.precision, Precision {});
    each.unless("fp8", workload.fp8, Fp8Settings {});
}

template <class Each, MembersOf<PipelineSpec> Pipeline>
void jsonMembers(Each& each, Pipeline& pipeline)
{
    each.value("axis", pipeline.axis);
    each.usual("chunks", pipeline.chunks, { 1, kMostRuns });
    each.unless("schedule", pipeline.schedule, PipelineSchedule::OneForwardOneBackward);
    each.unless("layers", pipeline.layers, {}, { 0, kMostRuns });
    each.unless("count_embedding", pipeline.countEmbedding, false);
    each.unless("count_loss", pipeline.countLoss, false);
}

template <class Each, MembersOf<MemorySettings> Memory>
void jsonMembers(Each& each, Memory& memory)
{
    constexpr std::int64_t kMostBytes = std::int64_t { 1 } << 40;
    each.unless("framework", memory.framework, Framework::None);
    if constexpr (Each::kReads)
        memory.reserveShare = factsOf(memory.framework).allocator.usual;
    each.value("reshard_after_forward", memory.reshardAfterForward);
    each.value("group_collectives", memory.groupCollectives);
    each.usual("prefetched_layers", memory.prefetchedLayers, { 0, kLargestInDesign });
    each.usual("reserve_share", memory.reserveShare, { 0, 1 });
    each.unless("reserve_chosen", memory.reserveChosen, false);
    each.usual("logits_in_f32", memory.logitsInF32);
    each.usual("context_bytes", memory.contextBytes, { 0, kMostBytes });
    each.usual("communicator_bytes", memory.communicatorBytes, { 0, kMostBytes });
}

/// "DEFAULT", "ALL", or a list such as ["P->R", "S->R"].
nlohmann::json transitionsJson(const TransitionSet& allowed);
void readTransitions(JsonFields& from, const char* key, TransitionSet& allowed);

template <class Each, MembersOf<PickerOptions> Options>
void jsonMembers(Each& each, Options& picker)
{
    const PickerOptions usual;
    each.value("profile", picker.profile);
    each.usual("allow_partial_to_sharded", picker.allowPartialToSharded);
    each.unless("picker", picker.picker, usual.picker);
    each.unless("on_reshard", picker.onReshard, usual.onReshard);
    if constexpr (Each::kReads)
        readTransitions(each.from(), "allowed_transitions", picker.allowedTransitions);
    else if (!(picker.allowedTransitions == usual.allowedTransitions))
        each.derived("allowed_transitions", [&] { return transitionsJson(picker.allowedTransitions); });
    std::int64_t budget = picker.budgetBytes();
    each.unless("budget_bytes_per_device", budget, 0, { 0, kLargestInDesign });
    if constexpr (Each::kReads)
        picker.setBudgetBytes(budget);
}

/// Parameters of another kind would be ignored, which nobody means.
void refuseForeignParameters(JsonFields& from, StrategyKind kind);
/// The parts of a fused weight: texts such as `q:32x128`.
nlohmann::json segmentsJson(const Strategy& strategy);
void readSegments(JsonFields& from, Strategy& strategy);

template <class Each, MembersOf<StrategyEntry> Entry>
void jsonMembers(Each& each, Entry& entry)
{
    auto& strategy = entry.strategy;
    each.value("match", entry.match);
    each.value("strategy", strategy.kind);
    each.check([&](JsonFields& from) { refuseForeignParameters(from, strategy.kind); });
    const StrategyParameters has = parametersOf(strategy.kind);
    if (has.dim)
        each.value("dim", strategy.dim, { -16, 15 });
    if (has.spec)
        each.value("spec", strategy.spec);
    if (has.heads) {
        each.value("num_heads", strategy.numHeads, { 1, std::int64_t { 1 } << 31 });
        each.value("head_dim", strategy.headDim, { 1, std::int64_t { 1 } << 31 });
    }
    if constexpr (Each::kReads) {
        if (has.segments)
            readSegments(each.from(), strategy);
    } else if (!strategy.segments.empty()) {
        each.derived("segments", [&] { return segmentsJson(strategy); });
    }
    each.unless("axes", strategy.axes, {});
    each.value("cut", entry.cut);
}

nlohmann::json pinDimsJson(const std::vector<Pin::Dim>& dims);
void readPinDims(JsonFields& from, std::vector<Pin::Dim>& dims);

template <class Each, MembersOf<Pin> OnePin>
void jsonMembers(Each& each, OnePin& pin)
{
    each.value("match", pin.match);
    each.unless("source", pin.source, std::string());
    bool ofRow = !pin.row.empty();
    if constexpr (Each::kReads)
        ofRow = each.from().find("row") != nullptr || each.from().find("axis") != nullptr;
    if (ofRow) {
        each.value("row", pin.row);
        each.value("axis", pin.axis);
        return;
    }
    if constexpr (Each::kReads)
        readPinDims(each.from(), pin.dims);
    else if (!pin.dims.empty())
        each.derived("dims", [&] { return pinDimsJson(pin.dims); });
    each.unless("whole", pin.whole, {});
    each.check([&](JsonFields& from) {
        if (pin.dims.empty() && pin.whole.empty())
            from.fail("dims", "a pin says nothing", "give dims, whole, or axis and row");
    });
}

} // namespace shardboard
