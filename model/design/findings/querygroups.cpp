// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention: the query heads that share a KV head should lie where that head lies. Told of fused stacks of a
// model without a plan (segmented: Q, then K and V with fewer heads). With a plan findHeadsSplit knows what is moved: query
// heads whose groups straddle devices cost nothing where every device has all KV heads.
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Query heads cut over `parts` devices: does some device hold heads of a KV head's group without being its only
/// holder, and more than one group?
bool straddles(std::int64_t heads, std::int64_t kvHeads, std::int64_t parts)
{
    if (parts <= 1 || kvHeads < 1 || heads % kvHeads != 0 || heads == kvHeads || kvHeads % parts == 0)
        return false;
    const std::int64_t group = heads / kvHeads;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(parts, heads); ++i) {
        const Range part = balancedPart(heads, parts, i);
        if (part.size() > 0 && part.lo / group != (part.hi - 1) / group && (part.lo % group != 0 || part.hi % group != 0))
            return true;
    }
    return false;
}

/// A stack of heads: Q with more heads than the K and V that follow.
void stack(const FinderInput& input, const WeightLayout& weight, FindingList& out)
{
    if (weight.misfit || weight.unknownShape || weight.strategy.kind != StrategyKind::Segmented)
        return;
    std::vector<std::int64_t> heads;
    for (const StrategySegment& segment : weight.strategy.segments)
        if (segment.numHeads > 0)
            heads.push_back(segment.numHeads);
    const int dim = weight.shards.joinDim();
    if (heads.size() < 2 || dim < 0)
        return;
    const std::int64_t fewest = *std::ranges::min_element(heads);
    const std::int64_t most = *std::ranges::max_element(heads);
    const std::int64_t parts = weight.shards.cuts()[static_cast<std::size_t>(dim)].count();
    if (!straddles(most, fewest, parts))
        return;
    Strategy fewer = weight.strategy;
    std::int64_t product = 1;
    std::erase_if(fewer.axes, [&](const std::string& name) {
        const std::int64_t size = input.mesh().axis(input.mesh().find(name)).size;
        const bool fits = fewest % (product * size) == 0;
        product *= fits ? size : 1;
        return !fits;
    });
    const auto proposal = propose(input, weight, fewer.axes.empty() ? Strategy {} : fewer,
                                  fewer.axes.empty() ? std::nullopt : std::optional(weight.cut));
    out.add({ "heads-split", Severity::Warning, weight.spec.name, 0,
              countText(most) + " query heads in groups of " + countText(most / fewest) + " and " + countText(fewest)
                  + " KV heads are cut over " + countText(parts)
                  + " devices: groups straddle devices, which then need the KV heads of their neighbors",
              "cut by a number of devices that divides the " + countText(fewest) + " KV heads" },
            giveStrategy(input, weight, proposal));
}

} // namespace

void findQueryGroupsSplit(const FinderInput& input, FindingList& out)
{
    for (const WeightLayout& weight : input.evaluation.weights)
        stack(input, weight, out);
}

} // namespace shardboard
