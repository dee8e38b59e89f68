// SPDX-License-Identifier: Apache-2.0
// Two layout tables compared entry by entry, and what the difference costs on each device.
#pragma once

#include "model/io/layouts/layouttable.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct LayoutDifference {
    enum class What { OnlyLeft, OnlyRight, Order, Sizes, Type, LogicalNames, Spec, Cut, Stages, Shards };
    std::string tensor;
    bool activation = false;
    What what = What::Spec;
    std::string left; ///< as text; empty where one side lacks the tensor
    std::string right;
    bool sameShards = false; ///< a spec that differs only in mesh axes of one device
    std::optional<std::int64_t> leftBytes; ///< of one copy, on the device that holds the most
    std::optional<std::int64_t> rightBytes;
};
std::string differenceName(
    LayoutDifference::What what); ///< only-left, only-right, order, shape, dtype, logical-names, spec, cut, stages, shards

struct LayoutComparison {
    std::string leftMesh; ///< set when the meshes differ
    std::string rightMesh;
    std::vector<LayoutDifference> differences; ///< in the left table's order, then what only the right one has
    std::size_t compared = 0; ///< tensors and activations that both sides have
    std::int64_t leftBytes = 0; ///< of all tensors of which both sides know it, per device
    std::int64_t rightBytes = 0;
    bool equal() const { return leftMesh == rightMesh && differences.empty(); }
};

/// Exact: a size-one axis more, another order of axes on a dim or of mesh axes, and another order of the activations of two
/// dumps are differences. What a source never says is not compared; what it says of other tensors and not of this one is missing.
/// `fallback` is the dtype of tensors that have none, for the bytes.
LayoutComparison compareLayouts(const LayoutTable& left, const LayoutTable& right, DType fallback);

/// Differences that are alike but for the numbers in the tensors' names (layers), as one row with `*` for the numbers.
struct DifferenceGroup {
    LayoutDifference first; ///< its tensor has `*` where the group has several
    std::size_t count = 1;
};
std::vector<DifferenceGroup> groupedDifferences(const std::vector<LayoutDifference>& differences);

} // namespace shardboard
