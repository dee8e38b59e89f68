// SPDX-License-Identifier: Apache-2.0
// The rows of max-sharding 2 for the operations of a decoder, and the rows of our own profile: the vocabulary-parallel
// embedding, and attention by batch or heads (MAX has no attention rule: its kernels run per device on whatever is there).
#include "model/picker/rules.h"

#include <algorithm>

namespace shardboard {

namespace {

const Placement kR { Placement::Kind::Replicated, 0 };
const Placement kP { Placement::Kind::Partial, 0 };
Placement S(int dim) { return { Placement::Kind::Sharded, dim }; }

/// All operands replicated, and so the result: first in every rule.
Row allReplicated(std::size_t operands) { return { std::vector<Placement>(operands, kR), kR, {} }; }

/// y = x Wt with W [out, in]: MAX's matmul rows with the second operand's dims swapped.
std::vector<Row> linearRows(const Shape& x)
{
    const int last = static_cast<int>(x.size()) - 1;
    std::vector<Row> rows { allReplicated(2) };
    for (int dim = 0; dim < last; ++dim)
        rows.push_back({ { S(dim), kR }, S(dim), {} });
    rows.push_back({ { kR, S(0) }, S(last), {} });
    rows.push_back({ { S(last), S(1) }, kP, {} });
    rows.push_back({ { kP, kR }, kP, {} });
    rows.push_back({ { kR, kP }, kP, {} });
    return rows;
}

std::vector<Row> embeddingRows(const Shape& tokens, PickerProfile profile)
{
    const int rank = static_cast<int>(tokens.size());
    std::vector<Row> rows { allReplicated(2) };
    rows.push_back({ { kR, S(1) }, S(rank), {} });
    for (int dim = 0; dim < rank; ++dim)
        rows.push_back({ { S(dim), kR }, S(dim), {} });
    if (profile == PickerProfile::Shardboard)
        rows.push_back({ { kR, S(0) }, kP, {} }); // tokens of other devices' rows give zeros: vocabulary-parallel
    rows.push_back({ { kR, kP }, kP, {} });
    return rows;
}

std::vector<Row> normRows(const Shape& x, const Shape& weight)
{
    std::vector<Row> rows { allReplicated(2) };
    for (int dim = 0; dim < static_cast<int>(x.size() - weight.size()); ++dim)
        rows.push_back({ { S(dim), kR }, S(dim), {} });
    return rows;
}

std::vector<Row> unaryRows(std::size_t rank, std::size_t cuttable)
{
    std::vector<Row> rows { allReplicated(1) };
    for (int dim = 0; dim < static_cast<int>(std::min(rank, cuttable)); ++dim)
        rows.push_back({ { S(dim) }, S(dim), {} });
    return rows;
}

/// Operands aligned at the right; one takes part in a dim if it has the dim with a size other than 1.
std::vector<Row> binaryRows(const Shape& a, const Shape& b, bool linear)
{
    std::vector<Row> rows { allReplicated(2) };
    const int rank = static_cast<int>(std::max(a.size(), b.size()));
    const auto place = [&](const Shape& shape, int dim) {
        const int own = dim - (rank - static_cast<int>(shape.size()));
        return own >= 0 && shape[static_cast<std::size_t>(own)] != 1 ? S(own) : kR;
    };
    for (int dim = 0; dim < rank; ++dim) {
        const Placement pa = place(a, dim);
        const Placement pb = place(b, dim);
        if (pa != kR || pb != kR)
            rows.push_back({ { pa, pb }, S(dim), {} });
    }
    if (linear)
        rows.push_back({ { kP, kP }, kP, {} });
    return rows;
}

/// [B,S,h*d] <-> [B,S,h,d]: a cut of the fused dim is a cut of the heads when whole heads lie on each device. Our profile
/// cuts the fused dim in whole heads where their number does not divide; MAX knows no such cut of an activation.
std::vector<Row> headReshapeRows(std::int64_t heads, std::int64_t headDim, PickerProfile profile)
{
    const std::int64_t unit = profile == PickerProfile::Shardboard ? headDim : 0;
    std::vector<Row> rows { allReplicated(1) };
    for (int dim = 0; dim < 2; ++dim)
        rows.push_back({ { S(dim) }, S(dim), {} });
    rows.push_back({ { S(2) }, S(2), { { 0, 2, heads, std::to_string(heads) + " heads", unit } } });
    rows.push_back({ { kP }, kP, {} });
    return rows;
}

std::vector<Row> attentionRows(const Shape& q, const Shape& k)
{
    std::vector<Row> rows { allReplicated(3) };
    rows.push_back({ { S(0), S(0), S(0) }, S(0), {} });
    rows.push_back({ { S(2), S(2), S(2) }, S(2),
                     { { 0, 2, q[2], std::to_string(q[2]) + " heads", 0 }, { 1, 2, k[2], std::to_string(k[2]) + " KV heads", 0 } } });
    rows.push_back({ { S(2), kR, kR }, S(2), {} }); // fewer KV heads than devices: every device has all of them
    return rows;
}

} // namespace

std::string Placement::code() const
{
    switch (kind) {
    case Kind::Replicated:
        return "R";
    case Kind::Sharded:
        return "S" + std::to_string(dim);
    case Kind::Partial:
        return "P";
    }
    return {};
}

std::vector<Row> rowsFor(const Op& op, const std::vector<Shape>& operands, PickerProfile profile)
{
    const Shape& first = operands.front();
    switch (op.kind) {
    case OpKind::Embedding:
        return embeddingRows(first, profile);
    case OpKind::RmsNorm:
        return normRows(first, operands[1]);
    case OpKind::Linear:
        return linearRows(first);
    case OpKind::Add:
        return binaryRows(first, operands[1], true);
    case OpKind::Mul:
        return binaryRows(first, operands[1], false);
    case OpKind::Silu:
    case OpKind::Gelu:
    case OpKind::Output:
        return unaryRows(first.size(), first.size());
    case OpKind::GatherLast:
        return unaryRows(first.size(), first.size() - 1);
    case OpKind::Rope:
        return unaryRows(first.size(), 3); // pairs along the head dim are rotated together
    case OpKind::KvAppend: {
        std::vector<Row> rows { allReplicated(1) }; // by batch and by heads; the new token is not a cut of the cache
        rows.push_back({ { S(0) }, S(0), {} });
        rows.push_back({ { S(2) }, S(2), {} });
        return rows;
    }
    case OpKind::SplitHeads:
        return headReshapeRows(op.attributes.heads, first[2] / op.attributes.heads, profile);
    case OpKind::MergeHeads:
        return headReshapeRows(op.attributes.heads, first[3], profile);
    case OpKind::Attention:
        return attentionRows(first, operands[1]);
    }
    return { allReplicated(operands.size()) };
}

} // namespace shardboard
