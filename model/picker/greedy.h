// SPDX-License-Identifier: Apache-2.0
// The greedy picker (MAX's GreedyReshard, generation G1; max-sharding 3.3): each operation alone, in program order, takes
// the cheapest row per mesh axis by the bytes that its operands' reshards move. No look-ahead.
#pragma once

#include "model/picker/rules.h"
#include "model/plan/plan.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct PickOperand {
    Shape shape; ///< global
    DType dtype = DType::BF16;
    Layout layout; ///< as it arrives
    double density = 1; ///< share of it that holds data
};

/// What has been decided for an operation on one mesh axis beforehand.
struct AxisPin {
    int axis = 0;
    std::optional<Placement> result; ///< where the result must lie
    std::string row; ///< or the row to take, `S1 R R -> S1`
    std::string why; ///< for people
    bool tieOnly = false; ///< decides only between rows of the same price
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
    std::vector<Candidate> candidates; ///< all feasible rows per mesh axis, cheapest first
};

/// Price in bytes of moving a value of `bytes` global bytes from one placement to another on a mesh axis of n devices;
/// infinite when it is not possible (max-sharding 4.1, generations G0 to G2).
double transitionCost(const Placement& from, const Placement& to, double bytes, std::int64_t n);

/// Seconds of a collective over one mesh axis; `bytes` is its large side on one device (performance 1.1).
using LinkPrice = std::function<double(CollectiveKind kind, int axis, double bytes)>;

/// With `links`, in profile shardboard, rows are ranked by the seconds of their reshards on the links that they go over, with
/// the bytes that a device holds; else by global bytes, as MAX counts them.
/// Errors: no row can be used. `where` names the operation.
Result<Pick> pickGreedy(OpKind kind, const std::vector<PickOperand>& operands, const Shape& result, const Mesh& mesh,
                        const PickerOptions& options, const std::vector<AxisPin>& pins, const std::string& where,
                        const LinkPrice* links = nullptr);

} // namespace shardboard
