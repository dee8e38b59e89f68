// SPDX-License-Identifier: Apache-2.0
// The dimensions of a model: what a config.json or a built-in entry says. The op graph is made from this alone.
#pragma once

#include "model/core/tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Which projections of the attention have a bias: Qwen2 has it on q, k, v; `attention_bias: true` on all four.
enum class AttentionBias { None, Qkv, Qkvo };

/// What the graph is made of: a whole decoder, or one module alone.
enum class ModelKind { Decoder, ColumnParallelLinear };
std::string modelKindName(ModelKind kind); ///< decoder, column-parallel-linear
std::optional<ModelKind> modelKindFromName(std::string_view name);

/// One ColumnParallelLinear: y = x Wt (+ b), the last dim gathered on every device. A tied weight is an embedding table too:
/// tokens are looked up in it first.
struct LinearModule {
    std::int64_t inDim = 0;
    std::int64_t outDim = 0;
    bool hasBias = false;
    bool tiedWeight = false; ///< not together with a bias
    friend bool operator==(const LinearModule&, const LinearModule&) = default;
};

enum class NormKind { RmsNorm, LayerNorm };
std::string normKindName(NormKind kind); ///< rmsnorm, layernorm
std::optional<NormKind> normKindFromName(std::string_view name);

/// The norms over the hidden dim. An RMS norm has no bias.
struct NormSpec {
    NormKind kind = NormKind::RmsNorm;
    /// 1: one for attention and MLP together (parallel blocks only); 2: before each; 4: before and after each (Gemma 2, 3).
    std::int64_t perLayer = 2;
    double epsilon = 1e-5;
    double weightOffset = 0; ///< added to the weight (Gemma: 1)
    bool after = false; ///< the two of a layer stand behind attention and MLP and not before them (OLMo 2)
    bool bias = true; ///< of layer norms (Cohere's have none)
    bool weighted = true; ///< else they have neither weight nor bias (OLMo)
    bool ofSum = false; ///< they stand behind the residual sums, so that the stream itself is normed (BERT)
    bool last = true; ///< there is one behind the last layer
    bool first = true; ///< there is one before attention in the first layer (not in ModernBERT)
    bool around = false; ///< what goes around attention and MLP has been normed as well (MiniMax)
    friend bool operator==(const NormSpec&, const NormSpec&) = default;
};

/// What the router makes of its logits before it chooses.
enum class RouterScore { Softmax, Sigmoid };
std::string routerScoreName(RouterScore score); ///< softmax, sigmoid
std::optional<RouterScore> routerScoreFromName(std::string_view name);

/// How a checkpoint stores the experts of a layer.
enum class ExpertStorage {
    Separate, ///< `mlp.experts.N.gate_proj.weight` and `mlp.gate.weight`, each [out, in]
    Mixtral, ///< `block_sparse_moe.experts.N.w1.weight` (gate), `w3` (up), `w2` (down), each [out, in]
    Packed, ///< `mlp.experts.gate_up_proj` [experts, in, 2 out] with gate and up in turn, `mlp.experts.down_proj` [experts, in,
            ///< out]
    Joined, ///< `mlp.experts.gate_up_proj` [experts, 2 out, in], all of gate before all of up; `down_proj` [experts, out, in]
    JoinedT, ///< the same as [experts, in, 2 out] and [experts, in, out]
    Stacked, ///< `mlp.experts.gate_proj.weight` and `up_proj` [experts, out, in], `down_proj` [experts, out, in]
    Flat ///< `mlp.experts.gate_proj`, `up_proj` and `down_proj`, all [experts x width, hidden] (DBRX)
};
std::string expertStorageName(ExpertStorage storage); ///< separate, mixtral, packed, joined, joined-transposed, stacked, flat
std::optional<ExpertStorage> expertStorageFromName(std::string_view name);

/// A mixture of experts in place of the MLP. Experts are gated MLPs.
struct MoeSpec {
    std::int64_t experts = 0; ///< routed experts of a layer; 0: the model has none
    std::int64_t chosen = 0; ///< experts for one token
    std::int64_t intermediateSize = 0; ///< width of one expert
    std::int64_t sharedExperts = 0; ///< always used; together one MLP, see sharedSize()
    std::int64_t sharedWidth = 0; ///< of that MLP; 0: sharedExperts * intermediateSize
    bool sharedGate = false; ///< what the shared experts give is multiplied by the sigmoid of one more product (Qwen2-MoE)
    std::int64_t firstDense = 0; ///< layers before the first MoE layer; they have a dense MLP of ModelSpec::intermediateSize
    std::int64_t every = 1; ///< from the first MoE layer on, every how many layers have experts (Llama 4: 2)
    RouterScore score = RouterScore::Softmax;
    bool normalizedGates = false; ///< the gates of the chosen experts sum to one
    double gateScale = 1; ///< gates are multiplied by it
    std::int64_t groups = 1; ///< experts are chosen from the best `chosenGroups` of that many groups
    std::int64_t chosenGroups = 1;
    bool routerBias = false; ///< added to the logits (gpt-oss)
    bool correctionBias = false; ///< added to the scores for choosing, not to the gates (DeepSeek V3)
    bool expertBias = false; ///< each projection of each expert has a bias
    ExpertStorage storage = ExpertStorage::Separate;
    std::int64_t latentSize =
        0; ///< experts work on a vector of so many elements, to which tokens are projected (Nemotron 3); 0: on tokens
    bool besideMlp = false; ///< they work beside a dense MLP, each behind norms of its own (Gemma 4)

    bool present() const { return experts > 0; }
    std::int64_t sharedSize() const { return sharedWidth > 0 ? sharedWidth : sharedExperts * intermediateSize; }
    /// Whether the layers store gate and up projection of all experts in one tensor.
    bool together() const
    {
        return storage == ExpertStorage::Packed || storage == ExpertStorage::Joined || storage == ExpertStorage::JoinedT;
    }
    /// Whether each expert has tensors of its own.
    bool apart() const { return storage == ExpertStorage::Separate || storage == ExpertStorage::Mixtral; }
    friend bool operator==(const MoeSpec&, const MoeSpec&) = default;
};

/// Multi-head latent attention: keys and values come from one latent vector for each token.
struct MlaSpec {
    std::int64_t queryRank = 0; ///< 0: queries are projected directly
    std::int64_t latentRank = 0; ///< of keys and values; 0: the model has ordinary attention
    std::int64_t nopeHeadDim = 0; ///< part of a query's and key's head that is not rotated
    std::int64_t ropeHeadDim = 0; ///< part that is; a key's is shared by all heads
    std::int64_t valueHeadDim = 0;

    bool present() const { return latentRank > 0; }
    friend bool operator==(const MlaSpec&, const MlaSpec&) = default;
};

/// Linear attention or a state space in place of attention: a state of fixed size for each head (model/ops/recurrent.cpp).
enum class RecurrentKind {
    None,
    DeltaRule,
    StateSpace, ///< of Mamba-2
    Selective, ///< the state space of the first Mamba: every channel is a head, and has a decay for each number of its state
    Convolution, ///< a short convolution between two gates, and no state beside the last tokens (LFM2)
    Lightning ///< linear attention whose state decays by a constant of each head (MiniMax-01, arXiv 2501.08313)
};
std::string recurrentKindName(RecurrentKind kind); ///< none, delta-rule, state-space, selective, convolution, lightning
std::optional<RecurrentKind> recurrentKindFromName(std::string_view name);

struct RecurrentSpec {
    RecurrentKind kind = RecurrentKind::None;
    std::int64_t heads = 0; ///< of values
    std::int64_t keyHeads = 0; ///< divides heads; groups of a state space
    std::int64_t keyDim = 0; ///< of a key's head; of a state space the size of its state
    std::int64_t valueDim = 0; ///< of a value's head
    std::int64_t taps = 4; ///< of the short convolution
    bool convolutionBias = false;
    bool bias = false; ///< of the projections in and out
    /// Of a delta rule: queries, keys, values, and gates are one weight, key head by key head (Qwen3-Next); else those are two.
    bool grouped = false;
    std::int64_t normGroups = 1; ///< of a state space: groups in which its gated result is normed; 0: it is only gated
    bool normFirst = false; ///< of a state space: the gate comes after the norm
    /// Of a delta rule: queries, keys and values each have a projection and a convolution of their own, and decays one number for
    /// each element of a key (Kimi Linear).
    bool keyDecay = false;
    std::int64_t gateRank = 0; ///< of keyDecay: decays and gates come through so many numbers; 0: through one product
    std::int64_t stepRank = 0; ///< Selective: steps come through so many numbers
    bool partNorms = false; ///< Selective: steps, keys and queries are normed with weights (Jamba)

    bool present() const { return kind != RecurrentKind::None; }
    std::int64_t keySize() const { return keyHeads * keyDim; }
    std::int64_t innerSize() const { return heads * valueDim; }
    /// That the convolution goes over.
    std::int64_t channels() const
    {
        const bool alone = kind == RecurrentKind::Selective || kind == RecurrentKind::Convolution;
        return innerSize() + (alone ? 0 : 2 * keySize());
    }
    friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

/// Small heads that choose the keys that attention reads (DeepSeek-V3.2).
struct IndexerSpec {
    std::int64_t heads = 0; ///< 0: attention reads all keys
    std::int64_t headDim = 0;
    std::int64_t chosen = 0; ///< keys for a query
    bool present() const { return heads > 0; }
    friend bool operator==(const IndexerSpec&, const IndexerSpec&) = default;
};

/// What one layer has.
struct LayerParts {
    bool attention = false;
    bool recurrent = false;
    bool feedForward = false; ///< a dense MLP, or experts
    bool experts = false;
    bool other = false; ///< attention has the sizes of OtherAttention
    bool sharedKeys = false; ///< attention reads keys and values that an earlier layer made
    bool cross = false; ///< attention reads what another part of the model gives, and not the layer's own tokens
    bool normed = true; ///< there is a norm before the first part
    friend bool operator==(const LayerParts&, const LayerParts&) = default;
};

/// Attention of layers that have other sizes than the rest, `w` in a layer pattern (Gemma 4, MiMo-V2). A size of 0 is that of the
/// rest.
struct OtherAttention {
    std::int64_t heads = 0;
    std::int64_t kvHeads = 0;
    std::int64_t headDim = 0;
    std::int64_t valueDim = 0;
    std::int64_t rotaryDim = 0;
    double ropeTheta = 0;
    std::int64_t window = 0; ///< tokens that these layers attend to; 0: all
    bool sinks = false;
    bool unrotated = false;
    bool keysAreValues = false;
    friend bool operator==(const OtherAttention&, const OtherAttention&) = default;
};

/// Layers before those of the decoder, whose tokens see each other, and what each layer of the decoder attends to (T5). A size of
/// 0 is that of the decoder.
struct EncoderSpec {
    std::int64_t layers = 0; ///< 0: the model has none
    std::int64_t heads = 0;
    std::int64_t intermediateSize = 0;
    std::int64_t positions = 0; ///< rows of its own table of learned positions; 0: none
    bool present() const { return layers > 0; }
    friend bool operator==(const EncoderSpec&, const EncoderSpec&) = default;
};

/// A vector that every layer looks up for each token in a table of its own, and adds through a gate (Gemma 3n, Gemma 4).
struct LayerInputSpec {
    std::int64_t width = 0; ///< 0: layers have none
    std::int64_t rows = 0; ///< of the tables
    bool present() const { return width > 0; }
    friend bool operator==(const LayerInputSpec&, const LayerInputSpec&) = default;
};

/// How one layer is wired, and what its weights are called.
struct BlockSpec {
    bool parallel = false; ///< attention and MLP both read the layer's input, and both are added to it (Falcon)
    /// Query, key and value projection are one weight, KV group by KV group: the queries of a group, its key, its value.
    bool fusedQkv = false;
    bool gatedMlp = true; ///< gate, up and down; else up and down
    bool joinedQkv = false; ///< they are one weight: all queries, all keys, all values (Phi-3)
    bool joinedGateUp =
        false; ///< gate and up projection of an MLP (of shared experts, too) are one weight, all of gate first (Phi-3)
    /// The parts of a projection that is one weight, one part behind the other, are weights of their own in the graph, so that each
    /// is cut by itself, as tensor parallelism does (Megatron, vLLM). GraphTensor::part says where they lie in the checkpoint.
    bool partsApart = false;
    bool transposed = false; ///< weights of layers are stored as [in, out] (GPT-2)
    bool attentionGate = false; ///< each query head has as many gates beside it, by whose sigmoid attention's result is multiplied
    bool gateApart = false; ///< such gates come from a projection of their own
    bool gateByHead = false; ///< the same with one gate for each head
    bool keysAreValues = false; ///< values are the keys before their norm and rotation (Gemma 4)
    bool valueNorm = false; ///< values are normed, without a weight
    bool innerNorms = false; ///< RMS norms before the products that leave attention and the MLP (BitNet)
    bool keyBias = true; ///< where projections have a bias, that of keys has one, too (not in Whisper)
    bool keysShared = false; ///< keys and values are those of an earlier layer; set for layers `s` and `t` alone
    bool bothWays = false; ///< a token sees those after it as well: an encoder
    /// A letter for each layer; empty: all are `a`. What follows on small letters is an MLP, or experts where MoeSpec says so:
    /// a attention, w attention of other sizes, r the recurrent part, b both side by side. Alone in their layer: A attention,
    /// R recurrent, F an MLP, E experts. s and t are a and w with the keys and values of an earlier layer, c attention to what
    /// another part of the model gives.
    std::string pattern;
    friend bool operator==(const BlockSpec&, const BlockSpec&) = default;
};

/// Numbers that change values but no shape.
struct ScalingSpec {
    double embedding = 1; ///< the embedding is multiplied by it (Gemma: square root of the hidden size)
    double queryScalar = 0; ///< queries are divided by its square root; 0: the head dim
    double attentionSoftCap = 0; ///< c tanh(x / c) on attention scores; 0: none
    double logitSoftCap = 0; ///< the same on the logits
    double residual = 1; ///< what attention and MLP give is multiplied by it (Granite)
    double around = 1; ///< what goes around them is (MiniMax)
    double logits = 1; ///< the logits are (Cohere, Granite)
    double swigluLimit = 0; ///< gpt-oss: min(gate, limit) sigmoid(1.702 gate) (clamped up + 1); 0: the plain gate
    friend bool operator==(const ScalingSpec&, const ScalingSpec&) = default;
};

/// Weights that the checkpoint stores packed. Training has plain ones.
struct PackedWeights {
    std::string match; ///< pattern of their names
    std::string format; ///< for people: gptq, fp8, mxfp4, q4_k; empty: these are not packed
    WeightPacking packing;
    friend bool operator==(const PackedWeights&, const PackedWeights&) = default;
};

struct ModelSpec {
    ModelKind kind = ModelKind::Decoder;
    LinearModule linear; ///< kind ColumnParallelLinear; the dimensions below are then not used
    std::string name; ///< shown to people, e.g. `llama3-8b` or the folder's name
    std::string family; ///< Hugging Face `model_type`
    std::string source; ///< `builtin:llama3-8b`, or the path that was opened
    std::int64_t vocabSize = 0;
    std::int64_t hiddenSize = 0;
    std::int64_t intermediateSize = 0; ///< of a dense MLP; 0 where every layer is a mixture of experts
    std::int64_t layers = 0;
    std::int64_t heads = 0; ///< query heads
    std::int64_t kvHeads = 0; ///< key/value heads; divides heads
    std::int64_t headDim = 0; ///< width of a query's and key's head; heads * headDim need not be hiddenSize
    std::int64_t valueDim = 0; ///< of a value's head, where it is another one; not of latent attention, which has its own
    bool tiedEmbeddings = false; ///< the head is the embedding table; no lm_head tensor
    bool qkNorm = false; ///< RMS norms of headDim on queries and keys (Qwen3, Gemma 3)
    bool wideQkNorm = false; ///< with qkNorm: over all heads together, before they are split (OLMo 2)
    bool headNorms = false; ///< with qkNorm: each head has weights of its own (Command R+)
    bool qkNormBias = false; ///< with qkNorm: they are layer norms with a bias (Persimmon)
    AttentionBias attentionBias = AttentionBias::None;
    bool attentionSinks = false; ///< one learned logit for each query head, beside those of the keys (gpt-oss)
    std::int64_t slidingWindow = 0; ///< some layers attend to so many tokens only; 0: none does
    std::int64_t windowPeriod = -1; ///< see fullEvery() in window.h; -1: by the family
    std::int64_t furtherLayers = 0; ///< that the checkpoint has to predict further tokens; training takes so many modules for it
    bool mlpBias = false; ///< of dense MLPs
    bool headBias = false;
    std::string activation = "silu"; ///< see activation.h
    NormSpec norm;
    MoeSpec moe;
    MlaSpec mla;
    BlockSpec block;
    ScalingSpec scaling;
    RecurrentSpec recurrent;
    OtherAttention other; ///< of layers with a `w`
    IndexerSpec indexer; ///< of latent attention
    EncoderSpec encoder;
    LayerInputSpec layerInput;
    std::int64_t besideRank = 0; ///< two thin products beside attention (LAuReL, arXiv 2411.07501) of this rank; 0: none
    std::int64_t sharedKeysSize = 0; ///< width of the MLP in layers `s` and `t`; 0: that of the others
    std::int64_t tableRows = 0; ///< of an embedding with more rows than the head; 0: vocabSize
    std::int64_t positions = 0; ///< rows of a table of learned positions; 0: none
    std::int64_t firstPosition = 0; ///< row of the first token (OPT: 2)
    std::int64_t tokenTypes = 0; ///< rows of a table of kinds of tokens (BERT); 0: none
    bool alibi = false; ///< attention's scores fall with the distance of the key
    bool embeddingNorm = false; ///< a norm between embedding and first layer
    bool headTransform = false; ///< a projection, the activation, and a norm before the head (BERT)
    double ropeTheta = 10000.0; ///< 0: queries and keys are not rotated
    std::int64_t rotaryDim = 0; ///< elements of a head that are rotated, from the first on; 0: all (of latent attention its own)
    DType dtype = DType::BF16; ///< as released
    std::string weightPrefix = "model."; ///< before `embed_tokens`, `layers`, `norm`
    /// What the checkpoint calls parts that have another name in Llama's: `self_attn.o_proj` may be `attention.dense`. Without the
    /// prefix, and of a layer's without `layers.*.`; `layers`, `embed_tokens`, `norm`, `lm_head.weight` are among them.
    std::map<std::string, std::string> names;
    std::vector<PackedWeights> packed; ///< the first that fits a name counts

    /// Set when the architecture is not understood: why, in one sentence. The model then has no graph, only
    /// `looseWeights` (a shape of rank 0 with unknownShape true where no header told it). Beside a graph, these are the weights of
    /// other parts: a vision tower and its projector.
    std::string notUnderstood;
    struct LooseWeight {
        TensorSpec tensor;
        bool unknownShape = false;
        friend bool operator==(const LooseWeight&, const LooseWeight&) = default;
    };
    std::vector<LooseWeight> looseWeights;

    bool hasGraph() const { return notUnderstood.empty(); }
    /// Whether some projections are one weight, one part behind the other.
    bool hasParts() const
    {
        const bool scanned = recurrent.present() && !recurrent.grouped && !recurrent.keyDecay;
        const bool experts = moe.storage == ExpertStorage::Joined || moe.storage == ExpertStorage::JoinedT;
        return block.joinedQkv || block.joinedGateUp || scanned || (moe.present() && experts);
    }
    LayerParts partsOf(std::int64_t layer) const;
    bool isSparse(std::int64_t layer) const { return partsOf(layer).experts; }
    /// Layers with experts, and layers with a dense MLP.
    std::int64_t sparseLayers() const;
    std::int64_t denseLayers() const;
    /// The checkpoint's name of a part that Llama's calls so.
    const std::string& nameOf(const std::string& part) const
    {
        const auto found = names.find(part);
        return found == names.end() ? part : found->second;
    }
    std::int64_t valueHeadDim() const { return mla.present() ? mla.valueHeadDim : valueDim > 0 ? valueDim : headDim; }
    /// Null where a weight of that name is not packed.
    const PackedWeights* packedAs(const std::string& name) const;
    /// The model with the attention of its layers `w`.
    ModelSpec withOther() const;
    /// With the sizes of its layers `s`; of `t` those of withOther().
    ModelSpec withSharedKeys() const;
    /// The encoder as a model of its own.
    ModelSpec withEncoder() const;
    friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// A model of this module alone.
ModelSpec columnParallelModel(const LinearModule& linear, DType dtype);

/// Rules: positive sizes below 2^31, kvHeads divides heads, parts fit together, no product of weights overflows. `where`
/// names the source.
Status verifyModel(const ModelSpec& model, const std::string& where);

} // namespace shardboard
