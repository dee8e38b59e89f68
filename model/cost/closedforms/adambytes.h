// SPDX-License-Identifier: Apache-2.0
// Bytes of weights, gradients and optimizer states under mixed-precision Adam, as closed forms. Pure functions.
#pragma once

#include "model/core/tensor.h"

namespace shardboard {

/// Bytes of Adam's states for one parameter: two f32 moments, and a f32 copy of a weight that is not f32 itself.
int adamStateBytes(DType weight);

/// How far data-parallel ranks share what they would all hold alike (arXiv 1910.02054): nothing; optimizer states; gradients
/// too; weights too (fully sharded data parallel).
enum class ZeroStage { None, Optimizer, Gradients, Weights };

/// Bytes of one parameter on one of N ranks: 2 (weight) + 2 (gradient) + 12 (f32 copy and two moments), with what the stage
/// shares divided by N: 16; 4 + 12/N; 2 + 14/N; 16/N (arXiv 1910.02054, section 3.1 and figure 1).
double zeroBytesPerParameter(ZeroStage stage, double ranks);

/// Bytes on one device of weights, gradients and optimizer of a GPT: 18 bytes (gradients are added up in f32) for each of the
/// 12 h^2 parameters of L layers, over t tensor-parallel and p pipeline-parallel devices (arXiv 2205.05198, section 4).
double megatronParameterBytes(double hidden, double layers, double tensorParallel, double stages);

} // namespace shardboard
