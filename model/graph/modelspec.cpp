// SPDX-License-Identifier: Apache-2.0
#include "model/graph/modelspec.h"

#include "model/modules/columnparallel.h"

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

} // namespace

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

Status verifyModel(const ModelSpec& model, const std::string& where)
{
    if (!model.hasGraph())
        return done();
    if (model.kind == ModelKind::ColumnParallelLinear)
        return verifyLinear(model.linear, where);
    const std::pair<const char*, std::int64_t> sizes[] = {
        { "vocab_size", model.vocabSize },
        { "hidden_size", model.hiddenSize },
        { "intermediate_size", model.intermediateSize },
        { "num_attention_heads", model.heads },
        { "num_key_value_heads", model.kvHeads },
        { "head_dim", model.headDim },
    };
    for (const auto& [name, size] : sizes)
        if (size < 1 || size > kLargest)
            return inputError(where + ":" + name, "size " + std::to_string(size) + " cannot be used", "use 1 to 2^31");
    if (model.layers < 1 || model.layers > 100000)
        return inputError(where + ":num_hidden_layers", "a model of " + std::to_string(model.layers) + " layers cannot be used",
                          "use 1 to 100000");
    if (model.heads % model.kvHeads != 0)
        return inputError(where + ":num_key_value_heads",
                          std::to_string(model.heads) + " query heads do not divide over " + std::to_string(model.kvHeads)
                              + " key/value heads",
                          "each KV head serves the same number of query heads");
    if (model.heads * model.headDim > kLargest)
        return inputError(where + ":head_dim", "heads times head_dim is larger than 2^31", "use smaller sizes");
    if (model.headDim % 2 != 0)
        return inputError(where + ":head_dim", "head_dim " + std::to_string(model.headDim) + " is odd, so rotary "
                              "embedding cannot pair its elements",
                          "use an even head_dim");
    return done();
}

} // namespace shardboard
