// SPDX-License-Identifier: Apache-2.0
#include "model/families/modelspec.h"

#include "model/families/activation.h"
#include "model/modules/columnparallel.h"
#include "model/text/glob.h"
#include "model/text/names.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;

Status verifyLinear(const LinearModule& linear, const std::string& where)
{
    for (const auto& [name, size] : { std::pair { "in_dim", linear.inDim }, { "out_dim", linear.outDim } })
        if (size < 1 || size > kLargest)
            return inputError(where + "." + name, "size " + std::to_string(size) + " cannot be used", "use 1 to 2^31");
    ColumnParallelParameters layer;
    layer.hasBias = linear.hasBias;
    layer.tiedWeight = linear.tiedWeight;
    return checkColumnParallel(layer, where);
}

using Sizes = std::vector<std::pair<const char*, std::int64_t>>;

Status verifySizes(const Sizes& sizes, std::int64_t least, const std::string& where)
{
    for (const auto& [name, size] : sizes)
        if (size < least || size > kLargest)
            return inputError(where + ":" + name, "size " + std::to_string(size) + " cannot be used",
                              "use " + std::to_string(least) + " to 2^31");
    return done();
}

Status verifyHeads(const ModelSpec& model, const std::string& where)
{
    if (model.heads % model.kvHeads != 0)
        return inputError(where + ":num_key_value_heads",
                          std::to_string(model.heads) + " query heads do not divide over " + std::to_string(model.kvHeads)
                              + " key/value heads",
                          "each KV head serves the same number of query heads");
    if (model.heads * model.headDim > kLargest)
        return inputError(where + ":head_dim", "heads times head_dim is larger than 2^31", "use smaller sizes");
    const std::int64_t rotated = model.mla.present() ? model.mla.ropeHeadDim : model.headDim;
    if (model.rotaryDim < 0 || model.rotaryDim > model.headDim || model.rotaryDim % 2 != 0)
        return inputError(where + ":rotary_dim",
                          std::to_string(model.rotaryDim) + " of " + std::to_string(model.headDim)
                              + " elements of a head cannot be rotated",
                          "use an even number up to head_dim, or 0 for all");
    if (rotated % 2 != 0 && model.rotaryDim == 0 && model.ropeTheta != 0)
        return inputError(where + (model.mla.present() ? ":qk_rope_head_dim" : ":head_dim"),
                          "head_dim " + std::to_string(rotated)
                              + " is odd, so rotary "
                                "embedding cannot pair its elements",
                          "use an even head_dim");
    return done();
}

Status verifyMla(const ModelSpec& model, const std::string& where)
{
    const MlaSpec& mla = model.mla;
    if (!mla.present())
        return done();
    if (const auto status = verifySizes({ { "kv_lora_rank", mla.latentRank },
                                          { "qk_nope_head_dim", mla.nopeHeadDim },
                                          { "qk_rope_head_dim", mla.ropeHeadDim },
                                          { "v_head_dim", mla.valueHeadDim } },
                                        1, where);
        !status.ok())
        return status;
    if (mla.queryRank < 0 || mla.queryRank > kLargest)
        return inputError(where + ":q_lora_rank", "rank " + std::to_string(mla.queryRank) + " cannot be used",
                          "use null or 1 to 2^31");
    if (model.headDim != mla.nopeHeadDim + mla.ropeHeadDim)
        return inputError(where + ":head_dim", std::to_string(model.headDim) + " is not qk_nope_head_dim + qk_rope_head_dim",
                          "use " + std::to_string(mla.nopeHeadDim + mla.ropeHeadDim));
    if (model.kvHeads != model.heads)
        return inputError(where + ":num_key_value_heads", "latent attention makes a key for every query head",
                          "use " + std::to_string(model.heads));
    if (model.heads * mla.valueHeadDim > kLargest || model.heads * (mla.nopeHeadDim + mla.valueHeadDim) > kLargest)
        return inputError(where + ":v_head_dim", "heads times v_head_dim is larger than 2^31", "use smaller sizes");
    if (model.qkNorm || model.attentionSinks || model.attentionBias != AttentionBias::None || model.block.fusedQkv
        || model.block.joinedQkv || model.rotaryDim > 0)
        return inputError(where, "latent attention cannot have QK norms, sinks, biases or a fused projection",
                          "leave one of them out");
    return done();
}

/// What is said of a checkpoint's names of parts.
Status verifyNames(const ModelSpec& model, const std::string& where)
{
    for (const auto& [part, name] : model.names)
        if (part.empty() || name.empty() || part.size() > 200 || name.size() > 200 || nameProblem(name) || nameProblem(part))
            return inputError(where + ":names", "a part of the model cannot be called so", "use names of up to 200 characters");
    if (model.names.size() > 200)
        return inputError(where + ":names", "too many parts have names of their own", "use at most 200");
    return done();
}

Status verifyMoe(const ModelSpec& model, const std::string& where)
{
    const MoeSpec& moe = model.moe;
    if (moe.every < 1 || moe.every > kLargest)
        return inputError(where + ":moe_layer_freq", "experts in every " + std::to_string(moe.every) + "-th layer cannot be",
                          "use 1 for all layers");
    if (!moe.present())
        return done();
    if (const auto status =
            verifySizes({ { "num_experts", moe.experts }, { "moe_intermediate_size", moe.intermediateSize } }, 1, where);
        !status.ok())
        return status;
    if (moe.chosen < 1 || moe.chosen > moe.experts)
        return inputError(where + ":num_experts_per_tok",
                          std::to_string(moe.chosen) + " of " + std::to_string(moe.experts) + " experts cannot be chosen",
                          "use 1 to " + std::to_string(moe.experts));
    if (moe.sharedExperts < 0 || moe.sharedExperts > 1024 || moe.sharedExperts * moe.intermediateSize > kLargest)
        return inputError(where + ":n_shared_experts", std::to_string(moe.sharedExperts) + " shared experts cannot be used",
                          "use 0 to 1024");
    if (moe.sharedWidth < 0 || moe.sharedWidth > kLargest || (moe.sharedWidth > 0 && moe.sharedExperts == 0))
        return inputError(where + ":shared_expert_intermediate_size",
                          "a width of " + std::to_string(moe.sharedWidth) + " cannot be that of "
                              + std::to_string(moe.sharedExperts) + " shared experts",
                          "use 1 to 2^31, and at least one shared expert");
    if (moe.firstDense < 0 || moe.firstDense > model.layers)
        return inputError(where + ":first_k_dense_replace",
                          std::to_string(moe.firstDense) + " dense layers do not fit in " + std::to_string(model.layers),
                          "use 0 to the number of layers");
    if (moe.groups < 1 || moe.experts % moe.groups != 0 || moe.chosenGroups < 1 || moe.chosenGroups > moe.groups)
        return inputError(where + ":n_group",
                          std::to_string(moe.experts) + " experts in " + std::to_string(moe.groups) + " groups, of which "
                              + std::to_string(moe.chosenGroups) + " are chosen, cannot be",
                          "use a number of groups that divides the experts");
    if (moe.chosen > moe.experts / moe.groups * moe.chosenGroups)
        return inputError(where + ":topk_group", "the chosen groups hold fewer experts than a token needs", "choose more groups");
    if (!(std::isfinite(moe.gateScale) && moe.gateScale > 0))
        return inputError(where + ":routed_scaling_factor", "the factor cannot be used", "use a positive number");
    if (moe.latentSize < 0 || moe.latentSize > kLargest)
        return inputError(where + ":moe_latent_size", "size " + std::to_string(moe.latentSize) + " cannot be used",
                          "use 0 for none");
    if (moe.routerBias && moe.correctionBias)
        return inputError(where + ":router_bias", "a router has one bias, for the logits or for choosing", "leave one out");
    if (moe.besideMlp && (model.norm.perLayer != 4 || model.norm.kind != NormKind::RmsNorm || model.norm.after))
        return inputError(where + ":experts_beside_mlp", "experts beside an MLP are between four RMS norms of a layer",
                          "leave one of them out");
    if (moe.expertBias && !moe.together() && moe.storage != ExpertStorage::Stacked)
        return inputError(where + ":mlp_bias", "only experts that are one tensor have a bias", "leave the bias out");
    return done();
}

Status verifyBlock(const ModelSpec& model, const std::string& where)
{
    const std::int64_t norms = model.norm.perLayer;
    if (norms != 2 && norms != 4 && !(norms == 1 && model.block.parallel))
        return inputError(where + ":norms_per_layer", std::to_string(norms) + " norms in a layer cannot be",
                          "use 2 or 4, or 1 in a parallel block");
    if (model.norm.after && (norms != 2 || model.block.parallel))
        return inputError(where + ":norms_per_layer", "norms that stand behind attention and MLP only are two in a serial block",
                          "use 2, or leave norms_after out");
    if (model.block.fusedQkv && (model.block.joinedQkv || model.wideQkNorm))
        return inputError(where + ":fused_qkv", "queries, keys and values cannot be joined by KV group and as a whole",
                          "leave one of them out");
    if ((model.wideQkNorm || model.headNorms || model.qkNormBias) && !model.qkNorm)
        return inputError(where + ":wide_qk_norm", "there are no norms of queries and keys", "set qk_norm, too");
    if ((model.wideQkNorm ? 1 : 0) + (model.headNorms ? 1 : 0) + (model.qkNormBias ? 1 : 0) > 1)
        return inputError(where + ":wide_qk_norm", "norms of queries and keys are of one kind", "leave one of them out");
    if (model.block.joinedGateUp && !model.block.gatedMlp)
        return inputError(where + ":joined_gate_up", "the MLP has no gate", "leave one of them out");
    if (model.block.partsApart && !model.hasParts())
        return inputError(where + ":parts_apart", "no projections of this model are one weight", "leave it out");
    for (const double factor : { model.scaling.residual, model.scaling.logits, model.scaling.around })
        if (!(std::isfinite(factor) && factor > 0))
            return inputError(where + ":residual_multiplier", "a factor cannot be used", "use a positive number");
    if (model.block.parallel && norms == 4)
        return inputError(where + ":norms_per_layer", "a parallel block has 1 or 2 norms", "use 1 or 2");
    if (findActivation(model.activation) == nullptr)
        return inputError(where + ":hidden_act", "the activation '" + model.activation + "' is not known", knownActivations());
    if (model.slidingWindow < 0)
        return inputError(where + ":sliding_window", "a window of " + std::to_string(model.slidingWindow) + " cannot be used",
                          "use 0 for none");
    return done();
}

Status verifyRecurrent(const ModelSpec& model, const std::string& where)
{
    const RecurrentSpec& spec = model.recurrent;
    const std::string& pattern = model.block.pattern;
    if (!pattern.empty()) {
        if (pattern.size() != static_cast<std::size_t>(model.layers)
            || pattern.find_first_not_of("awrbstcARFE") != std::string::npos)
            return inputError(where + ":layer_pattern",
                              "it is not one of the letters a, w, r, b, s, t, c, A, R, F, E for each of "
                                  + std::to_string(model.layers) + " layers",
                              "write as many letters as there are layers");
        if (pattern.find_first_of("rbR") != std::string::npos && !spec.present())
            return inputError(where + ":layer_pattern", "there is no recurrent part",
                              "say what it is in recurrent, or leave it out");
        if (pattern.find('E') != std::string::npos && !model.moe.present())
            return inputError(where + ":layer_pattern", "there are no experts", "say how many, or leave the letter out");
        if ((model.norm.perLayer == 4 || model.norm.after || model.norm.ofSum)
            && pattern.find_first_of("rbARFE") != std::string::npos)
            return inputError(where + ":layer_pattern", "layers of several kinds have one norm before each part",
                              "leave one of them out");
    }
    if (model.norm.around && (model.block.parallel || model.norm.perLayer != 2 || model.norm.after || model.norm.ofSum))
        return inputError(where + ":norms_around", "the norms before attention and MLP of a serial block are two",
                          "leave one of them out");
    if (model.norm.ofSum && (model.block.parallel || model.norm.perLayer != 2))
        return inputError(where + ":norms_of_sums", "norms of sums are two in a serial block", "leave one of them out");
    if (!spec.present())
        return done();
    if (pattern.empty())
        return inputError(where + ":layer_pattern", "it is not said which layers have the recurrent part",
                          "write a letter a layer");
    if (const auto status = verifySizes({ { "recurrent_heads", spec.heads },
                                          { "recurrent_key_heads", spec.keyHeads },
                                          { "recurrent_key_dim", spec.keyDim },
                                          { "recurrent_value_dim", spec.valueDim },
                                          { "recurrent_taps", spec.taps } },
                                        1, where);
        !status.ok())
        return status;
    constexpr std::int64_t kMost = std::int64_t { 1 } << 24;
    if (spec.heads > kMost || spec.keyHeads > kMost || spec.keyDim > kMost || spec.valueDim > kMost || spec.taps > 4096
        || spec.innerSize() > kLargest || spec.keySize() > kLargest)
        return inputError(where + ":recurrent_heads", "the heads are too large together", "use smaller sizes");
    const auto small = [](std::int64_t size) { return size >= 0 && size <= kLargest; };
    if (!small(spec.gateRank) || !small(spec.stepRank) || (spec.kind == RecurrentKind::Selective && spec.stepRank == 0))
        return inputError(where + ":recurrent_step_rank", "steps or gates cannot come through so many numbers", "use 1 to 2^31");
    if (spec.kind == RecurrentKind::Lightning && spec.heads != spec.keyHeads)
        return inputError(where + ":recurrent_key_heads", "lightning attention has a key for each head", "use recurrent_heads");
    if (spec.kind == RecurrentKind::Selective && (spec.valueDim != 1 || spec.keyHeads != 1))
        return inputError(where + ":recurrent_value_dim", "every channel of a selective scan is a head, and all share one key",
                          "use 1 for recurrent_value_dim and recurrent_key_heads");
    if (spec.keyDecay && (spec.kind != RecurrentKind::DeltaRule || spec.grouped || spec.heads != spec.keyHeads))
        return inputError(where + ":recurrent_key_decay", "only a delta rule with as many keys as heads decays element by element",
                          "leave recurrent_key_decay out");
    if (spec.heads % spec.keyHeads != 0)
        return inputError(where + ":recurrent_heads",
                          std::to_string(spec.heads) + " heads do not divide over " + std::to_string(spec.keyHeads) + " key heads",
                          "each key head serves the same number of heads");
    if (spec.normGroups < 0 || (spec.normGroups > 0 && spec.innerSize() % spec.normGroups != 0))
        return inputError(where + ":recurrent_norm_groups", "the groups do not divide the heads", "use 0 for none, or 1 for one");
    return done();
}

/// The layers with other sizes, too, as a model of their own.
Status verifyOther(const ModelSpec& model, const std::string& where)
{
    if (model.valueDim < 0 || model.valueDim > kLargest || (model.valueDim > 0 && model.mla.present()))
        return inputError(where + ":value_head_dim", "heads of values cannot have this size", "use 0 for that of keys");
    if (model.block.keysAreValues && model.valueDim > 0)
        return inputError(where + ":keys_are_values", "values that are keys have their size", "leave value_head_dim out");
    const int gates = (model.block.attentionGate ? 1 : 0) + (model.block.gateApart ? 1 : 0) + (model.block.gateByHead ? 1 : 0);
    if (gates > 1 || (gates > 0 && model.mla.present()))
        return inputError(where + ":attention_gate", "attention's result cannot be gated so", "use one kind of gate");
    if (!model.norm.first && (model.norm.perLayer != 2 || model.norm.after || model.norm.ofSum || model.block.parallel))
        return inputError(where + ":first_norm", "only a serial block with two norms before its parts can lack its first norm",
                          "leave first_norm out");
    if (model.mla.present() && model.block.pattern.find_first_of("wstc") != std::string::npos)
        return inputError(where + ":layer_pattern", "latent attention is the same in all layers", "use the letter a");
    if (const auto shared = model.block.pattern.find_first_of("st"); shared != std::string::npos) {
        for (const ModelSpec& kind : { model, model.withOther() })
            if (kind.kvHeads * kind.headDim > model.hiddenSize || kind.valueDim > 0 || kind.block.attentionGate)
                return inputError(where + ":layer_pattern", "keys of these sizes cannot be shared", "use the letter a");
        if (model.block.pattern.find_first_of("aw") > shared)
            return inputError(where + ":layer_pattern", "there is no earlier layer whose keys are shared", "begin with a or w");
    }
    if (model.block.pattern.find_first_of("wt") == std::string::npos)
        return done();
    const OtherAttention& other = model.other;
    if (const auto status = verifySizes({ { "other_heads", other.heads },
                                          { "other_kv_heads", other.kvHeads },
                                          { "other_head_dim", other.headDim },
                                          { "other_value_head_dim", other.valueDim },
                                          { "other_rotary_dim", other.rotaryDim },
                                          { "other_window", other.window } },
                                        0, where);
        !status.ok())
        return status;
    return verifyHeads(model.withOther(), where);
}

Status verifyPacked(const ModelSpec& model, const std::string& where)
{
    constexpr std::size_t kMost = 2000;
    if (model.packed.size() > kMost)
        return inputError(where + ":packed", "too many kinds of weights are packed", "use at most " + std::to_string(kMost));
    for (const PackedWeights& weights : model.packed) {
        const WeightPacking& packing = weights.packing;
        if (weights.match.empty() || weights.match.size() > 400 || weights.format.size() > 80 || nameProblem(weights.match)
            || nameProblem(weights.format))
            return inputError(where + ":packed", "packed weights cannot be called so", "use names of up to 400 characters");
        const auto wrong = [](double bits) { return !(bits >= 0 && bits <= 1e6); };
        if (wrong(packing.bits) || wrong(packing.blockBits) || packing.bits > 64 || packing.outBlock < 0 || packing.inBlock < 0
            || packing.outBlock > kLargest || packing.inBlock > kLargest)
            return inputError(where + ":packed", "weights cannot be packed so", "use bits of 0 to 64 and blocks of 0 to 2^31");
    }
    return done();
}

Status verifyTables(const ModelSpec& model, const std::string& where)
{
    for (const auto& [key, size] : { std::pair { "positions", model.positions },
                                     { "token_types", model.tokenTypes },
                                     { "first_position", model.firstPosition } })
        if (size < 0 || size > kLargest)
            return inputError(where + ":" + key, "a table of " + std::to_string(size) + " rows cannot be used", "use 0 for none");
    for (const auto& [key, size] : { std::pair { "embedding_rows", model.tableRows },
                                     { "encoder_layers", model.encoder.layers },
                                     { "encoder_attention_heads", model.encoder.heads },
                                     { "encoder_intermediate_size", model.encoder.intermediateSize },
                                     { "encoder_positions", model.encoder.positions },
                                     { "layer_input_size", model.layerInput.width },
                                     { "layer_input_rows", model.layerInput.rows },
                                     { "beside_rank", model.besideRank },
                                     { "shared_keys_intermediate_size", model.sharedKeysSize } })
        if (size < 0 || size > kLargest)
            return inputError(where + ":" + key, "size " + std::to_string(size) + " cannot be used", "use 0 for none");
    if (model.tableRows > 0 && (model.tableRows < model.vocabSize || model.tiedEmbeddings))
        return inputError(where + ":embedding_rows", "an embedding that is no head has as many rows as the head, or more",
                          "leave embedding_rows out");
    if (model.layerInput.present() && (model.layerInput.rows < 1 || model.block.parallel || model.norm.ofSum))
        return inputError(where + ":layer_input_size", "inputs of layers have a table and are added in a serial block",
                          "say layer_input_rows, or leave layer_input_size out");
    if (model.besideRank > 0 && (model.norm.perLayer != 4 || model.block.parallel))
        return inputError(where + ":beside_rank", "products beside attention stand between four norms of a layer",
                          "leave beside_rank out");
    if (model.encoder.present()) {
        if (model.encoder.layers > 100000 || model.block.parallel || model.mla.present() || model.moe.present() || model.norm.after
            || model.norm.perLayer != 2 || !model.block.pattern.empty() || model.norm.around || model.layerInput.present())
            return inputError(where + ":encoder_layers", "layers of a decoder with an encoder are serial, dense, and all alike",
                              "leave encoder_layers out");
        if (const std::int64_t width = model.heads * model.headDim; model.encoder.heads > 0 && width % model.encoder.heads != 0)
            return inputError(where + ":encoder_attention_heads",
                              "the " + std::to_string(width) + " elements of the decoder's heads do not divide over "
                                  + std::to_string(model.encoder.heads) + " heads of the encoder",
                              "use a number of heads that divides " + std::to_string(width));
        if (const auto status = verifyHeads(model.withEncoder(), where); !status.ok())
            return status;
    }
    const IndexerSpec& indexer = model.indexer;
    if (!indexer.present())
        return done();
    if (model.mla.queryRank == 0)
        return inputError(where + ":index_n_heads", "an indexer reads the latent queries, and there are none", "set q_lora_rank");
    if (const auto status = verifySizes(
            { { "index_n_heads", indexer.heads }, { "index_head_dim", indexer.headDim }, { "index_topk", indexer.chosen } }, 1,
            where);
        !status.ok())
        return status;
    if (indexer.heads * indexer.headDim > kLargest || indexer.headDim < model.mla.ropeHeadDim)
        return inputError(where + ":index_head_dim", "the indexer's heads cannot be used", "use at least qk_rope_head_dim");
    return done();
}

constexpr std::array kRecurrents { "none", "delta-rule", "state-space", "selective", "convolution", "lightning" };
constexpr std::array kNorms { "rmsnorm", "layernorm" };
constexpr std::array kScores { "softmax", "sigmoid" };
constexpr std::array kStorages { "separate", "mixtral", "packed", "joined", "joined-transposed", "stacked", "flat" };

} // namespace

std::string normKindName(NormKind kind) { return kNorms[static_cast<std::size_t>(kind)]; }
std::optional<NormKind> normKindFromName(std::string_view name) { return namedIn<NormKind>(kNorms, name); }
std::string recurrentKindName(RecurrentKind kind) { return kRecurrents[static_cast<std::size_t>(kind)]; }
std::optional<RecurrentKind> recurrentKindFromName(std::string_view name) { return namedIn<RecurrentKind>(kRecurrents, name); }
std::string routerScoreName(RouterScore score) { return kScores[static_cast<std::size_t>(score)]; }
std::optional<RouterScore> routerScoreFromName(std::string_view name) { return namedIn<RouterScore>(kScores, name); }
std::string expertStorageName(ExpertStorage storage) { return kStorages[static_cast<std::size_t>(storage)]; }
std::optional<ExpertStorage> expertStorageFromName(std::string_view name) { return namedIn<ExpertStorage>(kStorages, name); }

std::string modelKindName(ModelKind kind) { return kind == ModelKind::Decoder ? "decoder" : "column-parallel-linear"; }

std::optional<ModelKind> modelKindFromName(std::string_view name)
{
    for (const ModelKind kind : { ModelKind::Decoder, ModelKind::ColumnParallelLinear })
        if (name == modelKindName(kind))
            return kind;
    return std::nullopt;
}

ModelSpec columnParallelModel(const LinearModule& linear, DType dtype)
{
    ModelSpec model;
    model.kind = ModelKind::ColumnParallelLinear;
    model.linear = linear;
    model.name = modelKindName(model.kind);
    model.source = "module:" + model.name;
    model.dtype = dtype;
    model.weightPrefix.clear();
    return model;
}

const PackedWeights* ModelSpec::packedAs(const std::string& weight) const
{
    for (const PackedWeights& weights : packed)
        if (globMatch(weights.match, weight))
            return weights.packing.present() ? &weights : nullptr;
    return nullptr;
}

ModelSpec ModelSpec::withOther() const
{
    ModelSpec out = *this;
    out.block.pattern.clear();
    const auto take = [](auto& to, const auto& from) {
        if (from != 0)
            to = from;
    };
    take(out.heads, other.heads);
    take(out.kvHeads, other.kvHeads);
    take(out.headDim, other.headDim);
    take(out.valueDim, other.valueDim);
    take(out.rotaryDim, other.rotaryDim);
    take(out.ropeTheta, other.ropeTheta);
    if (other.unrotated)
        out.ropeTheta = 0;
    out.attentionSinks = other.sinks;
    out.block.keysAreValues = other.keysAreValues;
    out.slidingWindow = other.window;
    out.windowPeriod = other.window > 0 ? 0 : -1;
    return out;
}

ModelSpec ModelSpec::withSharedKeys() const
{
    ModelSpec out = *this;
    out.block.keysShared = true;
    if (sharedKeysSize > 0)
        out.intermediateSize = sharedKeysSize;
    return out;
}

ModelSpec ModelSpec::withEncoder() const
{
    ModelSpec out = *this;
    out.layers = encoder.layers;
    if (encoder.heads > 0) {
        out.heads = out.kvHeads = encoder.heads;
        out.headDim = heads * headDim / encoder.heads; // as wide as the decoder's together
    }
    if (encoder.intermediateSize > 0)
        out.intermediateSize = encoder.intermediateSize;
    out.positions = encoder.positions;
    out.encoder = {};
    out.block.bothWays = true;
    constexpr std::string_view kOwn = "encoder.";
    for (const auto& [part, called] : names)
        if (part.starts_with(kOwn))
            out.names[part.substr(kOwn.size())] = called;
    return out;
}

LayerParts ModelSpec::partsOf(std::int64_t layer) const
{
    const bool sparse =
        moe.present() && layer >= moe.firstDense && (layer - moe.firstDense) % std::max<std::int64_t>(1, moe.every) == 0;
    // A layer beyond the last, which predicts further tokens, is an ordinary one.
    const char letter =
        layer < static_cast<std::int64_t>(block.pattern.size()) ? block.pattern[static_cast<std::size_t>(layer)] : 'a';
    LayerParts parts;
    parts.other = letter == 'w' || letter == 't';
    parts.sharedKeys = letter == 's' || letter == 't';
    parts.cross = letter == 'c';
    parts.normed = norm.first || layer > 0;
    parts.attention = letter == 'a' || letter == 'b' || letter == 'A' || parts.other || parts.sharedKeys || parts.cross;
    parts.recurrent = letter == 'r' || letter == 'b' || letter == 'R';
    parts.experts = letter == 'E' || (letter >= 'a' && sparse);
    parts.feedForward = letter >= 'a' || letter == 'F' || letter == 'E';
    return parts;
}

std::int64_t ModelSpec::sparseLayers() const
{
    if (block.pattern.empty())
        return moe.present() && layers > moe.firstDense ? (layers - moe.firstDense - 1) / std::max<std::int64_t>(1, moe.every) + 1
                                                        : 0;
    std::int64_t count = 0;
    for (std::int64_t layer = 0; layer < layers; ++layer)
        count += partsOf(layer).experts ? 1 : 0;
    return count;
}

std::int64_t ModelSpec::denseLayers() const
{
    if (block.pattern.empty())
        return layers - sparseLayers();
    std::int64_t count = 0;
    for (std::int64_t layer = 0; layer < layers; ++layer)
        count += partsOf(layer).feedForward && !partsOf(layer).experts ? 1 : 0;
    return count;
}

Status verifyModel(const ModelSpec& model, const std::string& where)
{
    if (!model.hasGraph())
        return done();
    if (model.kind == ModelKind::ColumnParallelLinear)
        return verifyLinear(model.linear, where);
    Sizes sizes {
        { "vocab_size", model.vocabSize },        { "hidden_size", model.hiddenSize }, { "num_attention_heads", model.heads },
        { "num_key_value_heads", model.kvHeads }, { "head_dim", model.headDim },
    };
    if (model.denseLayers() > 0 || (model.moe.present() && model.moe.besideMlp))
        sizes.emplace_back("intermediate_size", model.intermediateSize);
    if (auto status = verifySizes(sizes, 1, where); !status.ok())
        return status;
    if (model.layers < 1 || model.layers > 100000)
        return inputError(where + ":num_hidden_layers", "a model of " + std::to_string(model.layers) + " layers cannot be used",
                          "use 1 to 100000");
    for (const auto& verify :
         { verifyHeads, verifyMla, verifyMoe, verifyBlock, verifyRecurrent, verifyOther, verifyPacked, verifyTables, verifyNames })
        if (auto status = verify(model, where); !status.ok())
            return status;
    return done();
}

} // namespace shardboard
