// SPDX-License-Identifier: Apache-2.0
// What sliding windows leave of attention and of its cache: in layers with a window of w tokens a query sees the last w keys,
// its own among them. Segments hold layers of both kinds, so shares are the mean of all layers: exact in the sum over them.
#pragma once

#include "model/families/modelspec.h"

#include <cstdint>
#include <string>

namespace shardboard {

/// Layer i, from 0, attends to all tokens where i + 1 is a multiple of it: 6 in Gemma 3, 2 in Gemma 2 and gpt-oss; 0: every layer
/// has the window (Mistral, Mixtral). -1: the pattern is not known, or the model has no window.
std::int64_t fullEvery(const ModelSpec& model);
/// Of all layers; 0 where fullEvery is -1.
std::int64_t windowedLayers(const ModelSpec& model);

/// Share of that many tokens that stay in the cache, mean of the layers: min(w, tokens) / tokens, or 1.
double cachedShare(const ModelSpec& model, std::int64_t tokens);
/// Share of the causal scores of so many new tokens, n (n + 1) / 2, that are inside the window, mean of the layers.
double attendedShare(const ModelSpec& model, std::int64_t tokens);

/// `sliding windows of 1,024 tokens in 52 of 62 layers: …`; empty where they change nothing for so many tokens.
std::string windowText(const ModelSpec& model, std::int64_t tokens);

} // namespace shardboard
