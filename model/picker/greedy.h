// SPDX-License-Identifier: Apache-2.0
// The greedy picker (MAX's GreedyReshard, generation G1; max-sharding 3.3): each operation alone, in program order, takes
// the cheapest row per mesh axis by the bytes that its operands' reshards move. No look-ahead.
#pragma once

#include "model/core/layout.h"
#include "model/core/mesh.h"
#include "model/cost/collectivekind.h"
#include "model/picker/candidate.h"
#include "model/picker/rules.h"

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
    friend bool operator==(const PickOperand&, const PickOperand&) = default;
};

/// What has been decided for an operation on one mesh axis beforehand.
struct AxisPin {
    int axis = 0;
    std::optional<Placement> result; ///< where the result must lie
    std::string row; ///< or the row to take, `S1 R R -> S1`
    std::string why; ///< for people
    bool tieOnly = false; ///< decides only between rows of the same price
    int pin = -1; ///< index into the design's pins
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
    std::vector<Candidate> candidates; ///< all feasible rows per mesh axis, cheapest first
};

/// Price in bytes of moving a value of `bytes` global bytes from one placement to another on a mesh axis of n devices;
/// infinite when it is not possible (max-sharding 4.1, generations G0 to G2).
double transitionCost(const Placement& from, const Placement& to, double bytes, std::int64_t n);

/// What a layout is over one mesh axis.
Placement placementOn(const Layout& layout, int axis);
/// `S1 R R -> S1`
std::string rowText(const Row& row);

/// Why a row cannot run.
struct Obstacle {
    enum class Kind {
        TooSmall, ///< a dim has fewer elements than parts
        Units, ///< heads, say, do not divide by the parts
        NotPartial, ///< it takes a partial value, and the operand is none
        Together, ///< it cannot be combined with what the other mesh axes take
        Policy, ///< the picker or its budget is against it: `what`
        Profile, ///< the profile cannot use it: `what`
    };
    Kind kind = Kind::TooSmall;
    int operand = 0;
    int dim = 0;
    std::int64_t have = 0; ///< elements or units
    std::int64_t parts = 0;
    std::string what; ///< of Units: `8 KV heads`
};

/// A row as the picker judges it on one mesh axis, be it possible or not.
struct JudgedRow {
    int axis = 0;
    Row row;
    double cost = 0; ///< bytes, as Candidate::cost
    double seconds = 0; ///< as Candidate::seconds
    bool picked = false;
    std::string refusal; ///< which policy or pin is against it; empty when none
    std::optional<Obstacle> obstacle;
};

/// Seconds of a collective over one mesh axis; `bytes` is its large side on one device (performance 1.1).
using LinkPrice = std::function<double(CollectiveKind kind, int axis, double bytes)>;

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
