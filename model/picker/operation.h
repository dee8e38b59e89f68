// SPDX-License-Identifier: Apache-2.0
// One operation as MAX's per-op picker sees it: question in, what is picked, what it moves, what else there was.
#pragma once

#include "model/picker/max/registry.h"
#include "model/picker/picktask.h"

#include <string>
#include <vector>

namespace shardboard {

struct PickQuestion {
    PickerOptions options;
    std::string opName; ///< as it was asked
    const OpFamily* family = nullptr; ///< null: `rows` are the rule
    std::vector<AttributeValue> attributes; ///< in the order of the family's specs
    Menu rows; ///< of an operation that brings its own
    bool fallbackRow = true; ///< G0 to G2 append the all-replicated row
    Mesh mesh;
    SymbolTable symbols;
    std::vector<PickOperand> operands;
    std::string callSite; ///< for reports, may be empty
};

/// One operand on one mesh axis.
struct PickedMove {
    std::size_t operand = 0;
    int meshAxis = 0;
    Placement from;
    Placement to;
    const char* collective = "";
    double bytes = 0;
    double cost = 0;
};

struct PickCandidate {
    int meshAxis = 0;
    std::vector<Placement> inputs;
    Placement output;
    double cost = 0;
    RowVerdict::Status status = RowVerdict::Status::Infeasible;
    std::string why; ///< refused by which policy, or why it is infeasible
    std::optional<bool> sound; ///< none: not known, the row came with the request
    const char* unsoundBecause = nullptr;
    int moves = 0;
    bool fallback = false; ///< the row that MAX appends
    std::vector<PickedMove> collectives;
};

struct PickAnswer {
    std::optional<Refusal> refusal; ///< then the rest may be there or not
    PickAction action;
    std::vector<PickedMove> collectives; ///< operand by operand, in mesh order
    /// Mesh axis by mesh axis: those that can be used cheapest first, as the picker ranks them, then the infeasible ones.
    std::vector<PickCandidate> candidates;
    std::vector<double> bytes; ///< of each operand, as the profile counts them
    std::vector<std::string> notes;
    bool moved = false;
};

PickAnswer pickOperation(const PickQuestion& question);

} // namespace shardboard
