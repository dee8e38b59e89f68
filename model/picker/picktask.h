// SPDX-License-Identifier: Apache-2.0
// The picker as an interface: a menu of rows and the placements of the operands in, one action out. A picker decides one
// operation alone; it knows neither what comes before nor after.
#pragma once

#include "model/picker/menu/refusal.h"
#include "model/picker/menu/reshardpolicy.h"
#include "model/picker/menu/transition.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <variant>

namespace shardboard {

struct PickPolicy {
    bool allowPartialToSharded = false; ///< of the greedy picker
    std::optional<double> budget {}; ///< bytes per device, G0
    TransitionSet allowed = TransitionSet::defaults(); ///< of auto_reshard
    OnReshard onReshard = OnReshard::Silent; ///< also auto_reshard's mode
};

/// What it points to must outlive it.
struct PickTask {
    PickerProfile profile = PickerProfile::G1;
    const Menu* menu = nullptr;
    std::span<const PickOperand> operands {};
    std::span<const double> bytes {}; ///< of the operands, as the profile counts them
    const Mesh* mesh = nullptr;
    PickPolicy policy {};
    /// Of a plan: whether units divide over all mesh axes together is only known once all are decided, and its own prices.
    bool ofPlan = false;

    PriceRules prices() const { return ofPlan ? planPriceRules(profile) : priceRulesOf(profile); }
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

enum class PickerKind : std::uint8_t { GreedyReshard, NoReshard, PartialsOnly, AutoReshard };
inline constexpr std::array<const char*, 4> kPickerNames { "GreedyReshard", "NoReshard", "PartialsOnly", "auto_reshard" };

using Picked = std::variant<PickAction, Refusal>;

/// With a trace, every row is judged too.
Picked pickRows(PickerKind kind, const PickTask& task, PickTrace* trace = nullptr);

} // namespace shardboard
