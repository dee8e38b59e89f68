// SPDX-License-Identifier: Apache-2.0
// What moves between devices in a collective, as arrows for the picture of a mesh: along the ring of a device group, between all
// pairs of an all-to-all, from stage to stage of a pipeline. Pure; which groups are drawn follows from which devices are in sight.
#pragma once

#include "model/plan/plan.h"
#include "widgets/mesh/meshgrid.h"

#include <QPointF>

#include <cstdint>
#include <vector>

namespace shardboard {

struct Transfer {
    std::int64_t from = 0; ///< mesh positions
    std::int64_t to = 0;
    bool both = false; ///< data goes in both directions
    friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Of the device group that `member` belongs to; empty where nothing moves. Reductions and gathers go around a ring (an
/// all-reduce both ways, groups of two exchange). An all-to-all goes between all pairs of a small group, and of a large one
/// between `member` and every other. A send-recv goes as the layouts say, along a pipeline, or around a ring.
std::vector<Transfer> transfersOf(const Collective& collective, const Plan& plan, std::int64_t member);

/// The first member of the device group of a position over these mesh axes, which names the group.
std::int64_t groupNameOf(const Mesh& mesh, const std::vector<int>& axes, std::int64_t position);

struct ShownTransfers {
    std::vector<Transfer> moves;
    std::int64_t groups = 0; ///< that are drawn
    std::int64_t allGroups = 0; ///< of the collective
};

/// Those of the groups that have a member in `visible`, as long as they are at most `most` arrows; else those of the group of
/// `member` alone. `member` is drawn first.
ShownTransfers shownTransfers(const Collective& collective, const Plan& plan, const std::vector<std::int64_t>& visible,
                              std::int64_t member, std::size_t most);

/// Arrows shorter than `least` (in the units of `place`) are joined with those that go on from them, so that a line of devices too
/// small to be told apart is a few arrows.
struct Arrow {
    QPointF from;
    QPointF to;
    bool both = false;
};
std::vector<Arrow> arrowsOf(const std::vector<Transfer>& moves, const MeshGrid& grid, double scale, double least);

/// Positions of the cells that a part of the world shows, at most `most` of them.
std::vector<std::int64_t> positionsIn(const MeshGrid& grid, const QRectF& world, std::size_t most);

} // namespace shardboard
