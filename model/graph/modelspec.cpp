// SPDX-License-Identifier: Apache-2.0
#include "model/graph/modelspec.h"

#include <utility>

namespace shardboard {

Status verifyModel(const ModelSpec& model, const std::string& where)
{
    if (!model.hasGraph())
        return done();
    constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;
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
