// SPDX-License-Identifier: Apache-2.0
// Which rule makes the step of a weight from its gradient. A value type; part of a workload.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// Adam: two moments (AdamW, arXiv 1711.05101). Muon: for the matrices of layers one moment, made orthogonal by five Newton-Schulz
/// iterations on the whole matrix (Keller Jordan, 2024; arXiv 2502.16982, section 2); the tables, norms, and biases have Adam. Sgd:
/// one moment (Megatron-LM's --optimizer sgd, whose momentum is 0.9).
enum class Optimizer { Adam, Muon, Sgd };
std::string optimizerName(Optimizer optimizer); ///< adam, muon, sgd
std::optional<Optimizer> optimizerFromName(std::string_view name);
inline constexpr const char* kOptimizerWords = "adam, muon or sgd";

/// Iterations X <- a X + (b A + c A A) X with A = X Xt, that Muon makes (arXiv 2502.16982, equation 2).
inline constexpr int kNewtonSchulzSteps = 5;

} // namespace shardboard
