// SPDX-License-Identifier: Apache-2.0
// Why a plan is as it is: the causes of a collective, an operation or a tensor from its root on, what else could have been
// picked and at what price, and the edit of the design that picks it. Value types.
#pragma once

#include "model/design/repair.h"
#include "model/plan/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// What is explained: indices into the evaluation that it was found in.
struct ExplainTarget {
    enum class Kind { Collective, Operation, Weight, Activation };
    Kind kind = Kind::Operation;
    std::string name; ///< collective id, `block/self_attn.q_proj`, or the tensor's name
    CollectiveId collective {}; ///< of Collective: index into Plan::collectives
    PlannedSegmentId segment {}; ///< index into Plan::segments; -1 for a weight
    PlannedOpId op {}; ///< of Operation and Activation (the one that makes it): index into PlannedSegment::ops; -1 for an input
    int weight = -1; ///< of Weight: index into Evaluation::weights
    TensorId tensor = kNoTensor; ///< of Weight and Activation
    std::int64_t layer = -1; ///< the layer that was asked for, -1 for all
};
std::string targetKindName(ExplainTarget::Kind kind); ///< collective, operation, weight, activation

/// One step from the root of a cause to what it led to.
struct CauseLink {
    enum class Kind {
        Layout, ///< a weight or input is laid out so in the design
        Pin, ///< a pin decided
        Pick, ///< the picker decided, by price
        Product, ///< an operation makes it so of what it gets
        Need, ///< the operation has no other way
        Update, ///< gradients are summed where their weight lies
        Earlier, ///< an earlier operation moved it
    };
    Kind kind = Kind::Layout;
    std::string text; ///< a sentence without its end
    std::string detail; ///< which entry, rule or pin; may be empty
    TensorId tensor = kNoTensor; ///< what it speaks of, for links to it
    OpId op {};
    int weight = -1; ///< index into Evaluation::weights
    int pin = -1; ///< index into Design::pins
};

/// A collective that a row would need over its mesh axis; of the picked row what is planned.
struct RowMove {
    CollectiveKind kind = CollectiveKind::LocalSlice;
    int operand = 0;
    TensorId tensor = kNoTensor;
    std::int64_t bytes = 0; ///< the large side on one device
    double seconds = 0; ///< predicted
    std::vector<int> axes {}; ///< of one planned over several at once; else empty
};

/// What an edit does to the whole design.
struct EditEffect {
    std::string refusal; ///< why it cannot be made; then the rest says nothing
    double secondsBefore = 0, seconds = 0; ///< a step
    std::int64_t bytesBefore = 0, bytes = 0; ///< collectiveBytesOfDevice()
    std::int64_t peakBefore = 0, peak = 0; ///< memory of a device
    std::int64_t collectivesBefore = 0, collectives = 0; ///< how many move data in a step, all layers
};

/// A row on one mesh axis, as the picker judges it.
struct RankedRow {
    enum class Verdict { Picked, Allowed, Refused, Impossible };
    int axis = 0;
    std::string row; ///< `S1 R R -> S1`
    std::vector<std::string> operands; ///< placement codes
    std::string result;
    Verdict verdict = Verdict::Allowed;
    std::string why; ///< of Refused and Impossible
    bool isPartialOnly = false; ///< impossible because an operand is not partial: of little interest
    bool sound = true; ///< whether it computes the right thing
    double cost = 0; ///< bytes that its moves take, as MAX counts them; 0 where impossible
    double seconds = 0; ///< of its moves, predicted
    /// What the profile ranks by: bytes as `cost`, or seconds, which are not quite those predicted: of even shards, of this mesh
    /// axis alone, and of a gather where the operand is cut on another dim.
    double rank = 0;
    std::vector<RowMove> moves;
    std::optional<Pin> pin; ///< takes this row; of all that are possible and not picked, where the profile knows pins
    std::optional<Repair> edit; ///< the same as an edit
    std::optional<EditEffect> effect; ///< of the edit, where it was asked for
};

/// What was decided on one mesh axis.
struct AxisExplanation {
    enum class By { OnlyRow, Price, Tie, Pin, Together };
    int axis = 0;
    By by = By::Price;
    std::string why; ///< a sentence
    int pin = -1; ///< of Pin: index into Design::pins
    std::optional<Repair> unpin; ///< removes that pin
    std::string unmet; ///< the pin that could not be met, and why; empty when there is none
    int unmetPin = -1;
    std::vector<RankedRow> rows; ///< possible ones cheapest first, then the others
};

/// Another layout of a weight.
struct LayoutChoice {
    std::string text; ///< `cut dim 1 over model`
    std::string spec;
    Repair edit;
    EditEffect effect;
};

struct Explanation {
    ExplainTarget target;
    std::vector<CauseLink> causes; ///< root first
    PlannedSegmentId segment {}; ///< the operation whose rows are listed: what wanted a collective, what makes an activation
    PlannedOpId op {};
    std::vector<AxisExplanation> axes;
    std::string notPicked; ///< why there are no rows: gradients are summed where their weight lies
    std::vector<CollectiveId> collectives; ///< of the operation, or that the tensor causes
    std::vector<LayoutChoice> layouts; ///< of a weight, where effects were asked for
    std::string picker; ///< `picker greedy, profile shardboard, by time`
};

} // namespace shardboard
