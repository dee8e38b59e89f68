// SPDX-License-Identifier: Apache-2.0
// Operations as a body with its table, made once for all backends: the CPU runs it here, a GPU launches it.
#pragma once

#include "engine/ops/bodies/shared.h"
#include "engine/ops/execute.h"
#include "engine/ops/tables.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace shardboard::engine {

template <class Body>
struct BodyWork {
    Body body; ///< its entries are set by who runs it
    Table<typename Body::Entry> table;
    std::int64_t elementsOfItem = bodies::kTile; ///< about
};

/// Values that an operation of OpBody::Elementwise reads and writes for each of its result; 2 for one that copies.
int touchedBy(OpKind kind);
/// Other kinds of operations give the same elements another name or shape: a copy.
BodyWork<bodies::EachBody> elementwiseWork(const OpCall& call, const Sharded& result);
/// Slices, LastToken, joins, paddings and SumHeads.
BodyWork<bodies::MoveBody> moveWork(const OpCall& call, const Sharded& result);
BodyWork<bodies::NormBody> normWork(const OpCall& call, const Sharded& result);
BodyWork<bodies::NormGradientBody> normGradientWork(const OpCall& call, const Sharded& result);
bodies::NormRule normRuleOf(const OpCall& call, std::int64_t n);
/// What Rope rotates of a head.
std::int64_t rotatedOf(const OpCall& call, const Sharded& result);
/// `angles` of the whole sequence, as ropeAngles() makes them.
BodyWork<bodies::RopeBody> ropeWork(const OpCall& call, const Sharded& result, const float* angles);
BodyWork<bodies::EmbeddingBody> embeddingWork(const OpCall& call, const Sharded& result);
/// An item is so many rows and columns of the table; `sums` has floats.
BodyWork<bodies::EmbeddingGradientBody> embeddingGradientWork(const OpCall& call, const Sharded& sums, std::int64_t ids,
                                                              std::int64_t columns);
BodyWork<bodies::LossBody> lossWork(const OpCall& call, const Sharded& result);
BodyWork<bodies::GateBody> gateWork(const OpCall& call, const Sharded& result); ///< with the gradients
BodyWork<bodies::RouteBody> routeWork(const OpCall& call, const Sharded& result); ///< Dispatch, Combine and gradients of tokens
BodyWork<bodies::GateDotBody> gateDotWork(const OpCall& call, const Sharded& result); ///< CombineGradGates
BodyWork<bodies::ExpertBiasBody> expertBiasWork(const OpCall& call, const Sharded& result);

/// Sums over rows, one body after the other.
struct RowSumWork {
    BodyWork<bodies::RowScaleBody> scales; ///< of norms alone
    BodyWork<bodies::ColumnSumBody> sums;
    BodyWork<bodies::ColumnTotalBody> totals;
};
/// Where the sums of parts go.
struct RowSumRoom {
    /// Takes floats for a device, until the operation ends.
    std::function<float*(std::int64_t device, std::int64_t floats)> take;
    bool planning = false; ///< they are only taken: there are no tables
};
/// Of norms' weights and SumLeading. `sumsOfItem` are as many as one item of the sums shall have, at most kTile.
RowSumWork rowSumWork(const OpCall& call, const Sharded& result, std::int64_t sumsOfItem, const RowSumRoom& room);
RowSumWork expertBiasGradWork(const OpCall& call, const Sharded& result, std::int64_t sumsOfItem, const RowSumRoom& room);

/// Of kAdam or kSgd, for weights that a source makes or that are in memory.
bodies::AdamBody adamBody(OpKind step);

/// The sums by the workers, with memory from the context's arena.
Timing runRowSum(Context& context, const OpCall& call, Sharded& result, decltype(rowSumWork)* workOf);

/// Runs it on the workers.
template <class Body>
Timing runBody(Context& context, const Sharded& result, BodyWork<Body> work)
{
    struct Piece {
        std::int64_t entry;
        std::int64_t first;
        std::int64_t last;
    };
    std::vector<Piece> pieces;
    std::vector<std::int64_t> devices;
    const std::int64_t step = std::max<std::int64_t>(1, kPieceElements / std::max<std::int64_t>(1, work.elementsOfItem));
    std::int64_t entry = 0;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        for (; entry < work.table.first[static_cast<std::size_t>(device + 1)]; ++entry) {
            const std::int64_t items = work.table.itemsOf[static_cast<std::size_t>(entry)];
            for (std::int64_t first = 0; first < items; first += step) {
                pieces.push_back({ entry, first, std::min(items, first + step) });
                devices.push_back(device);
            }
        }
    work.body.entries = work.table.entries.data();
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int) {
        const Piece& piece = pieces[index];
        runItems(work.body, piece.entry, piece.first, piece.last);
        return 0.0;
    });
}

} // namespace shardboard::engine
