// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/checkparts.h"

#include <cmath>

namespace shardboard::engine {

namespace {

const char* const kShapes = "the shapes of its operands do not fit";

/// The shape with another last dim.
Shape withLast(Shape shape, std::int64_t last)
{
    shape.back() = last;
    return shape;
}

bool attentionFits(const std::vector<Shape>& in, const Shape& y)
{
    const Shape& q = in[0];
    const Shape& k = in[1];
    const Shape& v = in[2];
    if (q.size() != 4 || k.size() != 4 || v.size() != 4 || y.size() != 4)
        return false;
    return withLast(q, y[3]) == y && withLast(k, v[3]) == v && k[0] == q[0] && k[1] >= q[1] && q[2] % k[2] == 0 && k[3] == q[3]
        && y[3] <= v[3] && (in.size() < 4 || in[3] == Shape { q[2] });
}

bool absorbFits(OpKind kind, const Shape& x, const Shape& weight, const Shape& y)
{
    if (x.size() != 4 || weight.size() != 2 || withLast(x, y.back()) != y || weight[0] % x[2] != 0)
        return false;
    const std::int64_t part = kind == OpKind::AbsorbKeys ? x[3] : y[3];
    const std::int64_t latent = kind == OpKind::AbsorbKeys ? y[3] : x[3];
    return part <= weight[0] / x[2] && latent == weight[1];
}

std::string gatesMisfit(const Op& op, const std::vector<Shape>& in, const Shape& y)
{
    if (in[0] != y || y.size() != 3 || (in.size() > 1 && in[1] != Shape { y[2] }))
        return kShapes;
    const OpAttributes& a = op.attributes;
    const std::int64_t groups = std::max<std::int64_t>(1, a.groups);
    const std::int64_t kept = std::max<std::int64_t>(1, a.chosenGroups);
    if (a.chosen < 1 || y[2] % groups != 0 || kept > groups || a.chosen > y[2] / groups * kept || !(a.scale > 0))
        return "so many experts cannot be chosen so";
    return {};
}

bool expertFits(OpKind kind, const std::vector<Shape>& in, const Shape& y)
{
    const Shape& x = in[0];
    const Shape& w = in[1];
    switch (kind) {
    case OpKind::Dispatch: // x [B,S,H], gates [B,S,E]
        return x.size() == 3 && w.size() == 3 && x[0] == w[0] && x[1] == w[1] && y == Shape { w[2], x[0], x[1], x[2] };
    case OpKind::Combine: // y [E,B,S,H], gates [B,S,E]
        return x.size() == 4 && w == Shape { x[1], x[2], x[0] } && y == Shape { x[1], x[2], x[3] };
    case OpKind::ExpertBias:
        return x.size() == 4 && x == y && w == Shape { x[0], x[3] };
    default:
        return x.size() == 4 && y.size() == 4 && withLast(x, y[3]) == y
            && w == (kind == OpKind::ExpertLinear ? Shape { x[0], y[3], x[3] } : Shape { x[0], x[3], y[3] });
    }
}

bool joinFits(OpKind kind, const Shape& a, const Shape& b, const Shape& y)
{
    Shape other = a;
    if (kind == OpKind::JoinKeys && a.size() == 4)
        other[2] = 1;
    return !b.empty() && (kind == OpKind::JoinLast || a.size() == 4) && withLast(other, b.back()) == b
        && withLast(a, a.back() + b.back()) == y;
}

std::string ropeMisfit(const Op& op, const Shape& x, const Shape& y)
{
    const std::int64_t count = op.attributes.count > 0 ? op.attributes.count : x.back();
    if (x != y || x.size() != 4 || count % 2 != 0 || op.attributes.first < 0 || op.attributes.first + count > x[3])
        return "it rotates an even number of elements of a head";
    return op.attributes.ropeTheta > 0 ? std::string() : "its base must be positive";
}

std::string text(bool fits) { return fits ? std::string() : kShapes; }

} // namespace

std::string shapeErrorOfParts(const Op& op, const std::vector<Shape>& in, const Shape& y)
{
    const Shape& x = in.front();
    switch (op.kind) {
    case OpKind::Attention:
    case OpKind::SinkAttention:
        return text(attentionFits(in, y) && std::isfinite(op.attributes.scale) && op.attributes.cap >= 0);
    case OpKind::Rope:
    case OpKind::RopeGrad:
        return ropeMisfit(op, x, y);
    case OpKind::LayerNorm:
        return text(x == y && in[1] == Shape { x.back() } && in[2] == in[1]);
    case OpKind::Scale:
    case OpKind::SoftCap:
    case OpKind::GeluTanh:
        return text(x == y && (op.kind != OpKind::SoftCap || op.attributes.cap > 0));
    case OpKind::ClampedSwiglu:
        return text(x == y && in[1] == x && op.attributes.cap > 0);
    case OpKind::SliceLast:
        return text(withLast(x, y.back()) == y && op.attributes.first >= 0 && op.attributes.first + y.back() <= x.back());
    case OpKind::EveryOther:
        return text(withLast(x, y.back()) == y && x.back() == 2 * y.back() && op.attributes.first >= 0 && op.attributes.first <= 1);
    case OpKind::SplitGroups:
        return text(x.size() == 4 && y.size() == 4 && x[0] == y[0] && x[1] == y[1] && y[2] % x[2] == 0
                    && x[2] * x[3] == y[2] * y[3]);
    case OpKind::JoinLast:
    case OpKind::JoinKeys:
        return text(joinFits(op.kind, x, in[1], y));
    case OpKind::AbsorbKeys:
    case OpKind::AbsorbValues:
        return text(absorbFits(op.kind, x, in[1], y));
    case OpKind::TopKGates:
    case OpKind::BiasedTopKGates:
        return gatesMisfit(op, in, y);
    case OpKind::Dispatch:
    case OpKind::Combine:
    case OpKind::ExpertBias:
    case OpKind::ExpertLinear:
    case OpKind::ExpertLinearT:
        return text(expertFits(op.kind, in, y));
    default:
        return {};
    }
}

} // namespace shardboard::engine
