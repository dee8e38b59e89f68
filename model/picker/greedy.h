// SPDX-License-Identifier: Apache-2.0
// The greedy picker (MAX's GreedyReshard, generation G1; max-sharding 3.3): each operation alone, in program order, takes
// the cheapest row per mesh axis by the bytes that its operands' reshards move. No look-ahead.
#pragma once

#include "model/cost/collectivekind.h"
#include "model/ops/graph.h"
#include "model/picker/menu/menu.h"
#include "model/picker/menu/refusal.h"
#include "model/picker/pickeroptions.h"

#include <functional>
#include <optional>

namespace shardboard {

/// What has been decided for an operation on one mesh axis beforehand.
struct AxisPin {
    int axis = 0;
    std::optional<Placement> result; ///< where the result must lie
    std::string row; ///< or the row to take, `S1 R R -> S1`
    std::string why; ///< for people
    bool tieOnly = false; ///< decides only between rows of the same price
    int pin = -1; ///< index into the design's pins
    bool meets(const Row& of) const { return result ? of.result == *result : rowText(of) == row; }
    friend bool operator==(const AxisPin&, const AxisPin&) = default;
};

/// An operand that travels around the ring of devices of a mesh axis while the operation runs.
struct Ring {
    int operand = 0;
    int axis = 0;
};

struct Pick {
    std::vector<Ring> rings;
    std::vector<Layout> operands; ///< as the operation takes them
    Layout result;
    double cost = 0; ///< bytes
    std::vector<int> unmet; ///< mesh axes on which no row meets the pin, so that it was left aside
};

/// A row as the picker judges it on one mesh axis, be it possible or not.
struct JudgedRow {
    int axis = 0;
    Row row;
    double cost = 0; ///< bytes moved by the operands' reshards, as the profile prices them (max-sharding 4.1)
    double seconds = 0; ///< of these reshards one after the other on their links; 0 where the profile counts bytes alone
    bool picked = false;
    std::optional<Refusal> refusal;
    bool possible() const { return !refusal || refusal->kind == Refusal::Kind::Policy; }
};

/// Seconds of a collective over one mesh axis; `bytes` is its large side on one device (performance 1.1).
using LinkPrice = std::function<double(CollectiveKind kind, int axis, double bytes)>;

/// An operand of a plan.
PickOperand pickOperand(const GraphTensor& tensor, const Layout& arriving, const Mesh& mesh);

/// What the picker is asked. It refers to what it was made from, which must outlive the call.
struct GreedyRequest {
    OpKind kind;
    const std::vector<PickOperand>& operands;
    const Shape& result;
    const Mesh& mesh;
    const PickerOptions& options;
    const std::vector<AxisPin>& pins;
    const std::string& where; ///< names the operation, for errors
    /// In profile shardboard rows are ranked by the seconds of their reshards on the links that they go over, with the bytes that
    /// a device holds; without it, and in other profiles, by global bytes, as MAX counts them.
    const LinkPrice* links = nullptr;
};

/// All rows of an operation per mesh axis: those that are possible cheapest first, then the others in the rule's order. It picks
/// as pickGreedy() does, and is slower.
Result<std::vector<JudgedRow>> judgeRows(const GreedyRequest& request);

/// Errors: no row can be used.
Result<Pick> pickGreedy(const GreedyRequest& request);

} // namespace shardboard
