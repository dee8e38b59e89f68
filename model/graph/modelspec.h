// SPDX-License-Identifier: Apache-2.0
// The dimensions of a model: what a config.json or a built-in entry says. The op graph is made from this alone.
#pragma once

#include "model/core/tensor.h"

#include <cstdint>
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

struct ModelSpec {
    ModelKind kind = ModelKind::Decoder;
    LinearModule linear; ///< kind ColumnParallelLinear; the dimensions below are then not used
    std::string name; ///< shown to people, e.g. `llama3-8b` or the folder's name
    std::string family; ///< Hugging Face `model_type`
    std::string source; ///< `builtin:llama3-8b`, or the path that was opened
    std::int64_t vocabSize = 0;
    std::int64_t hiddenSize = 0;
    std::int64_t intermediateSize = 0;
    std::int64_t layers = 0;
    std::int64_t heads = 0; ///< query heads
    std::int64_t kvHeads = 0; ///< key/value heads; divides heads
    std::int64_t headDim = 0; ///< width of one head; heads * headDim need not be hiddenSize
    bool tiedEmbeddings = false; ///< the head is the embedding table; no lm_head tensor
    bool qkNorm = false; ///< RMS norms of headDim on queries and keys (Qwen3)
    AttentionBias attentionBias = AttentionBias::None;
    bool mlpBias = false;
    std::string activation = "silu"; ///< silu or gelu
    double rmsNormEps = 1e-5;
    double ropeTheta = 10000.0;
    DType dtype = DType::BF16; ///< as released
    std::string weightPrefix = "model."; ///< before `embed_tokens`, `layers`, `norm`

    /// Set when the architecture is not understood: why, in one sentence. The model then has no graph, only
    /// `looseWeights` (a shape of rank 0 with unknownShape true where no header told it).
    std::string notUnderstood;
    struct LooseWeight {
        TensorSpec tensor;
        bool unknownShape = false;
        friend bool operator==(const LooseWeight&, const LooseWeight&) = default;
    };
    std::vector<LooseWeight> looseWeights;

    bool hasGraph() const { return notUnderstood.empty(); }
    friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// A model of this module alone.
ModelSpec columnParallelModel(const LinearModule& linear, DType dtype);

/// Rules: positive sizes below 2^31, kvHeads divides heads, no product of weights overflows. `where` names the source.
Status verifyModel(const ModelSpec& model, const std::string& where);

} // namespace shardboard
