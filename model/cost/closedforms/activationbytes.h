// SPDX-License-Identifier: Apache-2.0
// Bytes of activations and caches, as closed forms over a model's dimensions. Pure functions; the plan counts the same from
// its own graph, and must agree with them.
#pragma once

namespace shardboard {

/// One layer of a GPT: s tokens of b sequences, hidden size h, a heads, over t tensor-parallel devices.
struct MegatronLayer {
    double sequence = 0;
    double batch = 1;
    double hidden = 0;
    double heads = 0;
    double tensorParallel = 1;
};

/// What a layer keeps for its backward pass: all; all, with the sequence cut between the tensor-parallel parts; all but the
/// core of attention; both; only what enters it; that, with the sequence cut.
enum class MegatronKept { All, Sequence, Selective, SequenceSelective, Full, FullSequence };

/// Bytes on one device, 16-bit activations with dropout masks of one byte (arXiv 2205.05198, equations 1 to 6):
///   All                sbh (10 + 24/t + 5as/(ht))
///   Sequence           sbh/t (34 + 5as/h)
///   Selective          sbh (10 + 24/t)
///   SequenceSelective  34 sbh/t
///   Full               2 sbh
///   FullSequence       2 sbh/t
double megatronLayerBytes(const MegatronLayer& layer, MegatronKept kept);

/// Layers whose activations the first of p pipeline stages keeps: 1F1B L, interleaved with v runs of layers on each stage
/// L (1 + (p-1)/(pv)) (arXiv 2205.05198, section 4.2.3).
double megatronLayersKept(double layers, double stages, double chunks);

/// A block of the Llama family: RMS norms, gated MLP, flash attention, no dropout. Widths in elements.
struct LlamaBlock {
    double hidden = 0;
    double queries = 0; ///< heads times head dim; attention's result is as wide
    double keys = 0; ///< KV heads times head dim; values are as wide
    double heads = 0;
    double inner = 0; ///< of the MLP
};

/// Bytes that a token keeps in a layer, 16-bit: 8h (inputs and outputs of two norms) + 2q + 2(k + v) + 2o + 4 heads
/// (log-sum-exp, f32) + 6f (gate, up, and their product).
double llamaKeptBytesPerToken(const LlamaBlock& block);
/// Under full recompute: what enters the layer, 2h.
double llamaFullRecomputeBytesPerToken(const LlamaBlock& block);

/// Keys and values of one token in all layers: 2 L n_kv d e, with e bytes an element.
double kvCacheBytesPerToken(double layers, double kvHeads, double headDim, double bytesPerElement);

/// Logits in f32: 4 V s b; as much again for their gradient.
double logitBytes(double vocabulary, double sequence, double batch);

} // namespace shardboard
