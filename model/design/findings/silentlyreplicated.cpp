// SPDX-License-Identifier: Apache-2.0
// Nothing says anything about a large weight: no strategy names it, and no rule knows the names of its dims.
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr const char* kSilentlyReplicated = "silently-replicated";

bool nothingSaid(const WeightLayout& weight)
{
    if (weight.entry >= 0 || weight.misfit || weight.unknownShape)
        return false;
    // A rule that was tried has said something, be it in vain: findLostAxes tells that.
    return !weight.resolution || weight.resolution->trials.empty();
}

} // namespace

void findSilentlyReplicated(const FinderInput& input, FindingList& out)
{
    const std::int64_t devices = input.sharingDevices();
    if (devices == 1)
        return;
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (!nothingSaid(weight) || weight.spec.role != TensorRole::Weight || bytesOf(weight.spec) < kLargeWeight)
            continue;
        const std::int64_t whole = bytesOf(weight.spec);
        const std::vector<Proposal> cuts = evenCuts(input, weight);
        const Proposal cut = cuts.empty() ? Proposal { {}, std::nullopt, whole } : cuts.front();
        // Where no mesh axis divides it: beyond an even share.
        const std::int64_t saved = cut.bytesPerDevice < whole ? whole - cut.bytesPerDevice : whole - whole / devices;
        Finding finding { kSilentlyReplicated,
                          Severity::Warning,
                          weight.spec.name,
                          input.cost(weight, saved),
                          std::string(weight.resolution ? "no strategy names it and no rule knows its dims"
                                                        : "no strategy says anything about it")
                              + ", so every device holds all of it (" + bytesText(input.held(weight)) + " on each)",
                          "give it a strategy, or replicate if that is intended" };
        const bool told = !out.full(kSilentlyReplicated);
        out.add(std::move(finding), told ? std::optional(giveStrategy(input, weight, cut)) : std::nullopt);
    }
}

} // namespace shardboard
