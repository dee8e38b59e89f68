// SPDX-License-Identifier: Apache-2.0
// The picker as an interface: a menu of rows and the placements of the operands in, one action out. A picker decides one
// operation alone; it knows neither what comes before nor after.
#pragma once

#include "model/picker/menu/refusal.h"
#include "model/picker/menu/transition.h"
#include "model/picker/pickeroptions.h"

#include <memory>
#include <optional>
#include <span>
#include <variant>

namespace shardboard {

/// What it points to must outlive it.
struct PickTask {
    PickerOptions options {};
    const Menu* menu = nullptr;
    std::span<const PickOperand> operands {};
    std::span<const double> bytes {}; ///< of the operands, as the profile counts them
    const Mesh* mesh = nullptr;
    /// Of a plan: whether units divide over all mesh axes together is only known once all are decided, and its own prices.
    bool ofPlan = false;

    PriceRules prices() const { return ofPlan ? planPriceRules(options.profile) : priceRulesOf(options.profile); }
};

/// What was picked.
struct PickAction {
    static constexpr int kNoRow = -1; ///< everything stays as it is, whatever the rule says (unknown placements)

    std::vector<int> rows; ///< of the menu, per mesh axis
    std::vector<Placement> inputs; ///< operand by operand, one per mesh axis
    std::vector<Placement> output; ///< per mesh axis
    double cost = 0; ///< bytes; may be infinite
    bool moved = false;

    std::span<const Placement> input(std::size_t operand) const
    {
        return { inputs.data() + operand * output.size(), output.size() };
    }
};

/// Why each row was or was not picked, per mesh axis in menu order.
struct RowVerdict {
    enum class Status : std::uint8_t { Picked, Allowed, Refused, Infeasible };
    Status status = Status::Infeasible;
    double cost = 0;
    std::string why; ///< of Refused and Infeasible
    int moves = 0; ///< operands that move
};
struct PickTrace {
    std::vector<std::vector<RowVerdict>> axes;
    std::vector<std::vector<Placement>> before; ///< per mesh axis: what the operands had there when it was decided
    std::string warning; ///< why the pick should not be trusted, may be empty
};

using Picked = std::variant<PickAction, Refusal>;

/// With a trace, every row is judged too.
Picked pickRows(const PickTask& task, PickTrace* trace = nullptr);

} // namespace shardboard
