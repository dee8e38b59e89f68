// SPDX-License-Identifier: Apache-2.0
// Operations of the backward pass with the operation whose gradient they make.
#pragma once

#include "model/ops/graph.h"

#include <string>
#include <vector>

namespace shardboard::conformance {

inline constexpr int kGradient = -1; ///< the gradient of the result, as an operand

struct GradientCase {
    std::string name;
    OpKind gradient = OpKind::Add;
    OpKind forward = OpKind::Add;
    int of = 0; ///< operand of the forward operation
    std::vector<Shape> operands; ///< of the forward operation
    Shape result;
    std::vector<int> gradientOperands; ///< kGradient, or an operand of the forward operation
    OpAttributes attributes {};
    int gates = -1; ///< operand of the forward operation that is 0 for most experts
    int ofExperts = -1; ///< operand [E,B,S,n] of which most rows are zeros, and the same rows of the gradient where that has them
};

inline std::vector<GradientCase> gradientCases()
{
    OpAttributes norm;
    norm.epsilon = 1e-5;
    OpAttributes cap;
    cap.cap = 1.3;
    OpAttributes slice;
    slice.first = 3;
    OpAttributes odd;
    odd.first = 1;
    OpAttributes afterKeys;
    afterKeys.first = 4;
    OpAttributes attention;
    attention.scale = 0.4;
    attention.cap = 2;
    OpAttributes softmax;
    softmax.chosen = 2;
    softmax.scale = 1;
    softmax.normalized = true;
    OpAttributes sigmoid = softmax;
    sigmoid.scale = 2.5;
    sigmoid.sigmoid = true;
    sigmoid.groups = 4;
    sigmoid.chosenGroups = 2;
    const Shape x { 3, 5, 6 }, n { 6 };
    const Shape q { 2, 7, 12, 4 }, kv { 2, 7, 6, 4 }, wide { 2, 7, 6, 5 }, y { 2, 7, 12, 3 }, sinks { 12 };
    const Shape rows { 2, 6, 5 }, gates { 2, 6, 8 }, ofExperts { 8, 2, 6, 5 };
    std::vector<GradientCase> all {
        { "layer norm, x", OpKind::LayerNormGradX, OpKind::LayerNorm, 0, { x, n, n }, x, { kGradient, 0, 1 }, norm },
        { "layer norm, weight", OpKind::LayerNormGradW, OpKind::LayerNorm, 1, { x, n, n }, x, { kGradient, 0 }, norm },
        { "layer norm, bias", OpKind::SumLeading, OpKind::LayerNorm, 2, { x, n, n }, x, { kGradient }, norm },
        { "gelu tanh", OpKind::GeluTanhGrad, OpKind::GeluTanh, 0, { x }, x, { kGradient, 0 } },
        { "soft cap", OpKind::SoftCapGrad, OpKind::SoftCap, 0, { x }, x, { kGradient, 0 }, cap },
        { "swiglu, gate", OpKind::ClampedSwigluGradGate, OpKind::ClampedSwiglu, 0, { x, x }, x, { kGradient, 0, 1 }, cap },
        { "swiglu, up", OpKind::ClampedSwigluGradUp, OpKind::ClampedSwiglu, 1, { x, x }, x, { kGradient, 0, 1 }, cap },
        { "slice", OpKind::PadLast, OpKind::SliceLast, 0, { { 3, 5, 9 } }, { 3, 5, 4 }, { kGradient }, slice },
        { "every other", OpKind::SpreadOther, OpKind::EveryOther, 0, { { 3, 5, 12 } }, { 3, 5, 6 }, { kGradient }, odd },
        { "groups", OpKind::MergeGroups, OpKind::SplitGroups, 0, { { 2, 5, 6, 8 } }, { 2, 5, 12, 4 }, { kGradient } },
        { "keys of every head",
          OpKind::SumHeads,
          OpKind::JoinKeys,
          1,
          { { 2, 5, 6, 4 }, { 2, 5, 1, 3 } },
          { 2, 5, 6, 7 },
          { kGradient },
          afterKeys },
        { "gates", OpKind::TopKGatesGrad, OpKind::TopKGates, 0, { gates }, gates, { kGradient, 0 }, softmax },
        { "biased gates",
          OpKind::BiasedTopKGatesGrad,
          OpKind::BiasedTopKGates,
          0,
          { gates, { 8 } },
          gates,
          { kGradient, 0, 1 },
          sigmoid },
        { "dispatch", OpKind::DispatchGrad, OpKind::Dispatch, 0, { rows, gates }, ofExperts, { kGradient, 1 }, {}, 1 },
        { "combine, y", OpKind::CombineGradY, OpKind::Combine, 0, { ofExperts, gates }, rows, { kGradient, 1 }, {}, 1, 0 },
        { "combine, gates", OpKind::CombineGradGates, OpKind::Combine, 1, { ofExperts, gates }, rows, { kGradient, 0 }, {}, 1, 0 },
        { "expert product",
          OpKind::ExpertLinearGradW,
          OpKind::ExpertLinear,
          1,
          { ofExperts, { 8, 4, 5 } },
          { 8, 2, 6, 4 },
          { kGradient, 0 },
          {},
          -1,
          0 },
        { "expert product, transposed",
          OpKind::ExpertLinearGradW,
          OpKind::ExpertLinearT,
          1,
          { ofExperts, { 8, 5, 4 } },
          { 8, 2, 6, 4 },
          { 0, kGradient },
          {},
          -1,
          0 },
        { "expert bias",
          OpKind::ExpertBiasGrad,
          OpKind::ExpertBias,
          1,
          { ofExperts, { 8, 5 } },
          ofExperts,
          { kGradient },
          {},
          -1,
          0 },
    };
    const OpKind plain[] { OpKind::AttentionGradQ, OpKind::AttentionGradK, OpKind::AttentionGradV };
    const OpKind sink[] { OpKind::SinkAttentionGradQ, OpKind::SinkAttentionGradK, OpKind::SinkAttentionGradV,
                          OpKind::SinkAttentionGradS };
    for (int of = 0; of < 3; ++of)
        all.push_back({ "attention, " + std::to_string(of),
                        plain[of],
                        OpKind::Attention,
                        of,
                        { q, kv, wide },
                        y,
                        { kGradient, 0, 1, 2 },
                        attention });
    for (int of = 0; of < 4; ++of)
        all.push_back({ "attention with sinks, " + std::to_string(of),
                        sink[of],
                        OpKind::SinkAttention,
                        of,
                        { q, kv, wide, sinks },
                        y,
                        { kGradient, 0, 1, 2, 3 } });
    return all;
}

} // namespace shardboard::conformance
