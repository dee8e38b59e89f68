// SPDX-License-Identifier: Apache-2.0
// Floating point operations of a model by closed forms, a multiply-add as 2, and how much of a device's peak they use. Pure
// functions.
#pragma once

namespace shardboard {

/// Forward pass, one token: 2 for every parameter of a matrix product (looking a row up in the embedding is none).
double linearFlopsPerToken(double matmulParameters);

/// Scores and weighted values over s tokens in L layers, forward pass, one token: 4 s (heads times head dim) L; half of it where
/// attention is causal.
double attentionFlopsPerToken(double sequence, double attentionWidth, double layers, bool causal);

/// A training step, one token, by the convention that published utilizations use: 6P + 12 L h s, with P all parameters, the
/// embedding's too (of a mixture of experts those that a token uses), and no halving for causal attention (arXiv 2204.02311,
/// appendix B; TorchTitan's published figures follow from it). `attentionWidth` is h, or heads times head dim.
double trainingFlopsPerToken(double parameters, double layers, double attentionWidth, double sequence);

/// Model FLOPs utilization, 0 to 1: what a training step must compute, over what the device could in the same time; recomputing
/// does not count. 0 where the peak is not known.
double modelFlopsUtilization(double tokensPerSecondPerDevice, double flopsPerToken, double peakFlops);

} // namespace shardboard
