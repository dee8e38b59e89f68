// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/checkgradients.h"

#include "engine/ops/checkparts.h"

#include <cmath>

namespace shardboard::engine {

namespace {

/// The operation whose gradient is made, as if it were in the graph: its shapes have been checked before.
Op forward(const Op& op, OpKind kind)
{
    Op out = op;
    out.kind = kind;
    return out;
}

/// dy, then the operands of the forward operation, and the gradient of one of them.
bool fitsForward(const Op& op, OpKind kind, const std::vector<Shape>& in, const Shape& y, std::size_t ofOperand)
{
    const std::vector<Shape> operands(in.begin() + 1, in.end());
    return ofOperand < operands.size() && y == operands[ofOperand] && shapeErrorOfParts(forward(op, kind), operands, in[0]).empty();
}

bool fitsExperts(OpKind kind, const std::vector<Shape>& in, const Shape& y)
{
    const Shape& dy = in[0];
    switch (kind) {
    case OpKind::DispatchGrad: // dy [E,B,S,H], gates [B,S,E]
        return dy.size() == 4 && in[1] == Shape { dy[1], dy[2], dy[0] } && y == Shape { dy[1], dy[2], dy[3] };
    case OpKind::CombineGradY: // dy [B,S,H], gates [B,S,E]
        return dy.size() == 3 && in[1].size() == 3 && y == Shape { in[1][2], dy[0], dy[1], dy[2] } && in[1][0] == dy[0]
            && in[1][1] == dy[1];
    case OpKind::CombineGradGates: // dy [B,S,H], y [E,B,S,H]
        return dy.size() == 3 && in[1].size() == 4 && in[1] == Shape { in[1][0], dy[0], dy[1], dy[2] }
        && y == Shape { dy[0], dy[1], in[1][0] };
    case OpKind::ExpertBiasGrad:
        return dy.size() == 4 && y == Shape { dy[0], dy[3] };
    default: // ExpertLinearGradW
        return dy.size() == 4 && in[1].size() == 4 && in[1] == Shape { dy[0], dy[1], dy[2], in[1][3] }
        && y == Shape { dy[0], dy[3], in[1][3] };
    }
}

bool fits(const Op& op, const std::vector<Shape>& in, const Shape& y)
{
    const Shape& dy = in[0];
    const auto first = op.attributes.first;
    switch (op.kind) {
    case OpKind::AttentionGradQ:
    case OpKind::AttentionGradK:
    case OpKind::AttentionGradV:
        return fitsForward(op, OpKind::Attention, in, y,
                           static_cast<std::size_t>(op.kind) - static_cast<std::size_t>(OpKind::AttentionGradQ));
    case OpKind::SinkAttentionGradQ:
    case OpKind::SinkAttentionGradK:
    case OpKind::SinkAttentionGradV:
    case OpKind::SinkAttentionGradS:
        return fitsForward(op, OpKind::SinkAttention, in, y,
                           static_cast<std::size_t>(op.kind) - static_cast<std::size_t>(OpKind::SinkAttentionGradQ));
    case OpKind::TopKGatesGrad:
        return in[1] == dy && fitsForward(op, OpKind::TopKGates, in, y, 0);
    case OpKind::BiasedTopKGatesGrad:
        return in[1] == dy && fitsForward(op, OpKind::BiasedTopKGates, in, y, 0);
    case OpKind::SoftCapGrad:
        return in[1] == dy && fitsForward(op, OpKind::SoftCap, in, y, 0);
    case OpKind::GeluTanhGrad:
        return in[1] == dy && y == dy;
    case OpKind::ClampedSwigluGradGate:
    case OpKind::ClampedSwigluGradUp:
        return fitsForward(op, OpKind::ClampedSwiglu, in, y, 0);
    case OpKind::LayerNormGradX:
        return y == dy && in[1] == dy && !dy.empty() && in[2] == Shape { dy.back() };
    case OpKind::LayerNormGradW:
        return in[1] == dy && !dy.empty() && y == Shape { dy.back() };
    case OpKind::PadLast:
        return shapeErrorOfParts(forward(op, OpKind::SliceLast), { y }, dy).empty();
    case OpKind::SpreadOther:
        return shapeErrorOfParts(forward(op, OpKind::EveryOther), { y }, dy).empty();
    case OpKind::MergeGroups:
        return y.size() == 4 && shapeErrorOfParts(forward(op, OpKind::SplitGroups), { y }, dy).empty();
    case OpKind::SumHeads:
        return dy.size() == 4 && y == Shape { dy[0], dy[1], 1, y.back() } && first >= 0 && first + y.back() <= dy[3];
    case OpKind::DispatchGrad:
    case OpKind::ExpertLinearGradW:
    case OpKind::ExpertBiasGrad:
    case OpKind::CombineGradY:
    case OpKind::CombineGradGates:
        return fitsExperts(op.kind, in, y);
    default:
        return true;
    }
}

} // namespace

std::string shapeErrorOfGradients(const Op& op, const std::vector<Shape>& operands, const Shape& result)
{
    return fits(op, operands, result) ? std::string() : "the shapes of its operands and its result do not fit";
}

} // namespace shardboard::engine
