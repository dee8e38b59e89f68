// SPDX-License-Identifier: Apache-2.0
// Models for tests, by their dimensions.
#pragma once

#include "model/families/modelspec.h"

namespace shardboard {

inline ModelSpec denseModel(std::int64_t vocabulary, std::int64_t hidden, std::int64_t intermediate, std::int64_t layers,
                            std::int64_t heads, std::int64_t kvHeads, std::int64_t headDim)
{
    ModelSpec model;
    model.name = "dense";
    model.family = "llama";
    model.vocabSize = vocabulary;
    model.hiddenSize = hidden;
    model.intermediateSize = intermediate;
    model.layers = layers;
    model.heads = heads;
    model.kvHeads = kvHeads;
    model.headDim = headDim;
    return model;
}

inline ModelSpec llama3Model() { return denseModel(128256, 4096, 14336, 32, 32, 8, 128); }

} // namespace shardboard
