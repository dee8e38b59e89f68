// SPDX-License-Identifier: Apache-2.0
// What the picker of a design says: operations that it refuses, operands that it moves (on_reshard warn and raise), and pins
// that a profile of MAX does not know.
#include "model/design/findings/finders.h"
#include "model/plan/movedoperands.h"

namespace shardboard {

void findPickerRefusals(const FinderInput& input, FindingList& out)
{
    for (const auto& [op, refused] : input.evaluation.plan.refused)
        out.add({ "refused-pick", Severity::Error, refused.where, 0,
                  "profile " + profileName(input.design.picker.profile) + " refuses it: " + refused.reason
                      + ". It is planned as if greedy had no policy",
                  refused.fix });
}

void findReshards(const FinderInput& input, FindingList& out)
{
    const OnReshard mode = input.design.picker.onReshard;
    if (mode == OnReshard::Silent)
        return;
    const bool raise = mode == OnReshard::Raise;
    for (MovedOperand& moved : movedOperands(input.evaluation.graph, input.evaluation.plan))
        out.add({ "reshard", raise ? Severity::Error : Severity::Note, std::move(moved.where), moved.bytes,
                  std::move(moved.what) + (raise ? ", and on_reshard is raise" : ""), std::move(moved.fix) });
}

void findUnknownPins(const FinderInput& input, FindingList& out)
{
    if (input.design.picker.profile == PickerProfile::Shardboard || input.design.pins.empty())
        return;
    out.add({ "unknown-pins", Severity::Warning, "pins", 0,
              "profile " + profileName(input.design.picker.profile) + " knows no pins: " + std::to_string(input.design.pins.size())
                  + " of them have no effect",
              "use profile shardboard, or remove the pins" });
}

} // namespace shardboard
