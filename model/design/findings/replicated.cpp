// SPDX-License-Identifier: Apache-2.0
// A large weight that an entry for it leaves whole: replicated by hand, or over mesh axes of one device. What a preset or an entry
// for everything leaves whole is meant.
#include "model/design/findings/finders.h"
#include "model/design/layoutstrategy.h"
#include "model/design/presets/presets.h"
#include "model/text/contains.h"
#include "model/text/glob.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <unordered_map>

namespace shardboard {

namespace {

constexpr const char* kReplicated = "replicated";

const StrategyEntry& entryOf(const FinderInput& input, int index)
{
    return input.design.strategies[static_cast<std::size_t>(index)];
}

/// By hand or by a preset.
bool isWhole(const WeightLayout& weight)
{
    return weight.entry >= 0 && !weight.misfit && !weight.unknownShape && weight.spec.role == TensorRole::Weight
        && weight.shards.distinctCount() == 1 && bytesOf(weight.spec) >= kLargeWeight;
}

/// Entries of the preset that laid out more than half of the design as it would now: people may have changed the rest.
std::vector<StrategyEntry> presetEntries(const Design& design)
{
    std::unordered_multimap<std::string_view, const StrategyEntry*> known;
    for (const StrategyEntry& entry : design.strategies)
        known.emplace(entry.match, &entry);
    const auto isKnown = [&](const StrategyEntry& entry) {
        const auto [begin, end] = known.equal_range(entry.match);
        return std::any_of(begin, end, [&](const auto& it) { return *it.second == entry; });
    };
    std::vector<StrategyEntry> best;
    std::ptrdiff_t most = 0;
    for (const std::string& name : presetNames()) {
        const auto preset = makePreset(name, design.mesh, design.model, design.workload);
        if (!preset.ok())
            continue;
        const auto& entries = preset.value().strategies;
        const std::ptrdiff_t there = std::ranges::count_if(entries, isKnown);
        if (there > most && 2 * there > std::ssize(entries)) {
            most = there;
            best = entries;
        }
    }
    return best;
}

std::vector<AxisRef> axesOf(const Layout& layout)
{
    std::vector<AxisRef> out;
    for (const auto& dim : layout.dims)
        out.insert(out.end(), dim.begin(), dim.end());
    return out;
}

/// The entry that would decide if the one that decides were not there, where it would cut the weight.
struct Hidden {
    int entry = -1;
    Proposal proposal;
};
std::optional<Hidden> hiddenCut(const FinderInput& input, const WeightLayout& weight)
{
    const std::string name = weight.firstLayer < 0 ? weight.spec.name : concreteName(weight.spec.name, weight.firstLayer);
    for (int index = weight.entry - 1; index >= 0; --index) {
        const StrategyEntry& entry = entryOf(input, index);
        if (!globMatch(entry.match, name))
            continue;
        if (entry.strategy.kind == StrategyKind::Replicate)
            return std::nullopt;
        auto proposal = propose(input, weight, entry.strategy, entry.cut);
        if (!proposal || proposal->bytesPerDevice >= weight.bytesPerDevice)
            return std::nullopt;
        return Hidden { index, std::move(*proposal) };
    }
    return std::nullopt;
}

std::string entryText(const FinderInput& input, int index)
{
    return "strategy " + std::to_string(index + 1) + " (" + entryOf(input, index).match + ")";
}

} // namespace

void findReplicated(const FinderInput& input, FindingList& out)
{
    const std::int64_t devices = input.sharingDevices();
    if (devices == 1)
        return;
    // What presets leave whole they say of everything, or cut it over axes of one device. A dozen of them are made to know that:
    // only where it is needed.
    std::optional<std::vector<StrategyEntry>> meant;
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (!isWhole(weight) || entryOf(input, weight.entry).match == "*")
            continue;
        const bool told = !out.full(kReplicated); // else nobody reads more than its bytes
        const std::vector<AxisRef> asked = axesOf(weight.layout); // in vain: they have one device
        if (!asked.empty() && !meant)
            meant = presetEntries(input.design);
        if (!asked.empty() && contains(*meant, entryOf(input, weight.entry)))
            continue;
        const std::optional<Hidden> hidden = told ? hiddenCut(input, weight) : std::nullopt;
        const Proposal cut = hidden ? hidden->proposal : evenCut(input, weight);
        const bool divides = cut.bytesPerDevice < weight.bytesPerDevice;
        if (!divides && asked.empty())
            continue;
        const std::int64_t left = divides ? cut.bytesPerDevice : weight.bytesPerDevice / devices;
        std::string why = entryText(input, weight.entry);
        if (!asked.empty())
            why +=
                " asks for " + axesText(asked, input.mesh()) + (asked.size() == 1 ? ", which has" : ", which have") + " one device";
        else
            why +=
                " replicates it" + (hidden ? " and hides " + entryText(input, hidden->entry) + ", which cuts it" : std::string());
        Finding finding { kReplicated,
                          hidden || !asked.empty() ? Severity::Warning : Severity::Note,
                          weight.spec.name,
                          input.cost(weight, weight.bytesPerDevice - left),
                          why + ", so every device holds all of it (" + bytesText(input.held(weight)) + " on each)",
                          "cut it over a mesh axis with several devices, unless that is intended" };
        out.add(std::move(finding), told && divides ? std::optional(giveStrategy(input, weight, cut)) : std::nullopt);
    }
}

} // namespace shardboard
