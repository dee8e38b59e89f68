// SPDX-License-Identifier: Apache-2.0
// A large weight that an entry for it leaves whole: replicated by hand, or over mesh axes of one device. What a preset or an entry
// for everything replicates is meant, and so is what a device would hold more of if it were cut.
#include "model/design/finder/repairtrials.h"
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

bool isLarge(const WeightLayout& weight)
{
    return weight.spec.role == TensorRole::Weight && !weight.unknownShape && bytesOf(weight.spec) >= kLargeWeight;
}

/// By hand or by a preset.
bool isWhole(const WeightLayout& weight)
{
    return weight.entry >= 0 && !weight.misfit && isLarge(weight) && weight.shards.distinctCount() == 1;
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
    for (const std::string& name : presetsOf(design)) {
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

std::string nameOf(const WeightLayout& weight)
{
    return weight.firstLayer < 0 ? weight.spec.name : concreteName(weight.spec.name, weight.firstLayer);
}

bool matches(const StrategyEntry& entry, const WeightLayout& weight) { return globMatch(entry.match, nameOf(weight)); }

/// Whether an entry is one for everything, as `*` and `*.weight` mostly are, and not the name of the only large weight.
class EntriesForAll {
public:
    explicit EntriesForAll(const FinderInput& input)
        : m_input(input)
    {
    }
    bool operator()(int index)
    {
        const auto [known, isNew] = m_known.try_emplace(index, false);
        if (isNew) {
            const StrategyEntry& entry = entryOf(m_input, index);
            known->second = entry.match.find_first_of("*?[") != std::string::npos
                && std::ranges::all_of(m_input.evaluation.weights,
                                       [&](const WeightLayout& weight) { return !isLarge(weight) || matches(entry, weight); });
        }
        return known->second;
    }

private:
    const FinderInput& m_input;
    std::unordered_map<int, bool> m_known;
};

bool isOverStages(const FinderInput& input, const WeightLayout& weight, const Strategy& strategy)
{
    const auto layout = layoutOf(strategy, input.mesh(), weight.spec.shape.size(), {});
    return layout.ok()
        && std::ranges::any_of(axesOf(layout.value()), [&](const AxisRef& ref) { return ref.axis == stageAxis(input.design); });
}

/// The last earlier entry that would cut the weight, if those behind it were not there. One for everything that replicates it ends
/// the search: that is meant. Nothing is cut over stages.
struct Hidden {
    int entry = -1;
    Proposal proposal;
};
std::optional<Hidden> hiddenCut(const FinderInput& input, const WeightLayout& weight, EntriesForAll& isForAll)
{
    for (int index = weight.entry - 1; index >= 0; --index) {
        const StrategyEntry& entry = entryOf(input, index);
        if (!matches(entry, weight))
            continue;
        if (entry.strategy.kind == StrategyKind::Replicate && isForAll(index))
            return std::nullopt;
        auto proposal = propose(input, weight, entry.strategy, entry.cut);
        if (proposal && proposal->bytesPerDevice < weight.bytesPerDevice && !isOverStages(input, weight, entry.strategy))
            return Hidden { index, std::move(*proposal) };
    }
    return std::nullopt;
}

std::string entryText(const FinderInput& input, int index)
{
    return "strategy " + std::to_string(index + 1) + " (" + entryOf(input, index).match + ")";
}

/// Puts the hidden entry behind the one that hides it. Nothing where that would also change weights that another entry lays out, or
/// that another hidden one cut.
std::optional<Repair> moveBehind(const FinderInput& input, const WeightLayout& weight, const Hidden& hidden,
                                 EntriesForAll& isForAll)
{
    const StrategyEntry& entry = entryOf(input, hidden.entry);
    for (const WeightLayout& other : input.evaluation.weights) {
        if (other.entry == hidden.entry || !matches(entry, other))
            continue;
        const auto cut = other.entry == weight.entry ? hiddenCut(input, other, isForAll) : std::nullopt;
        if (!cut || cut->entry != hidden.entry)
            return std::nullopt;
    }
    return Repair { "Lay out " + entry.match + " as " + entry.strategy.text() + " again",
                    { RemoveStrategy { hidden.entry }, SetStrategy { entry } } };
}

/// What can be done about it, the smallest change first. None tells more layers apart: what else there is to find would be told of
/// each of them.
std::vector<Repair> repairsOf(const FinderInput& input, const WeightLayout& weight, const std::optional<Hidden>& hidden,
                              const Proposal& cut, EntriesForAll& isForAll)
{
    std::vector<Repair> out;
    const bool alone = input.decidesOnly(weight.entry, weight) || input.decidedBy(weight.entry).size() == 1;
    if (hidden && !alone)
        if (auto moved = moveBehind(input, weight, *hidden, isForAll))
            out.push_back(std::move(*moved));
    if (out.empty() && (alone || input.patternsOf(weight).size() == 1))
        out.push_back(giveStrategy(input, weight, cut));
    if (hidden && !alone)
        out.push_back({ "Remove " + entryText(input, weight.entry), { RemoveStrategy { weight.entry } } });
    return out;
}

struct Mend {
    RepairTrials::Answer answer = RepairTrials::Answer::Untried;
    std::size_t cut = 0; ///< among the cuts
    std::optional<Repair> repair; ///< where it gains
};

/// The first repair that gains. What an entry asks for it may take its time for; what nobody asked for must be worth it.
Mend mendOf(const FinderInput& input, const WeightLayout& weight, const std::optional<Hidden>& hidden,
            const std::vector<Proposal>& cuts, EntriesForAll& isForAll, RepairTrials& trials)
{
    Mend out;
    for (std::size_t i = 0; i < cuts.size(); ++i)
        for (Repair& repair : repairsOf(input, weight, hidden, cuts[i], isForAll)) {
            out.answer = trials.of(repair, hidden ? RepairTrials::Time::Any : RepairTrials::Time::None);
            if (out.answer == RepairTrials::Answer::Loses)
                continue;
            out.cut = i;
            if (out.answer == RepairTrials::Answer::Gains)
                out.repair = std::move(repair);
            return out;
        }
    return out;
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
    EntriesForAll isForAll(input);
    RepairTrials trials(input);
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (!isWhole(weight))
            continue;
        const std::vector<AxisRef> asked = axesOf(weight.layout); // in vain: they have one device
        if (asked.empty() && isForAll(weight.entry))
            continue;
        const bool told = !out.full(kReplicated); // else nobody reads more than its bytes
        if (!asked.empty() && !meant)
            meant = presetEntries(input.design);
        if (!asked.empty() && contains(*meant, entryOf(input, weight.entry)))
            continue;
        const std::optional<Hidden> hidden = told ? hiddenCut(input, weight, isForAll) : std::nullopt;
        const std::vector<Proposal> cuts = hidden ? std::vector { hidden->proposal } : evenCuts(input, weight);
        const bool divides = !cuts.empty() && cuts.front().bytesPerDevice < weight.bytesPerDevice;
        if (!divides && asked.empty())
            continue;
        const Mend mend = told && divides ? mendOf(input, weight, hidden, cuts, isForAll, trials) : Mend {};
        if (mend.answer == RepairTrials::Answer::Loses && asked.empty())
            continue; // it is better whole
        const std::int64_t left = divides ? cuts[mend.cut].bytesPerDevice : weight.bytesPerDevice / devices;
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
        out.add(std::move(finding), mend.repair);
    }
}

} // namespace shardboard
