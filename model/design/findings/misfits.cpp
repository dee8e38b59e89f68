// SPDX-License-Identifier: Apache-2.0
// Entries that cannot be applied to a weight, which is replicated instead.
#include "model/design/finder/mendedstrategy.h"
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <set>

namespace shardboard {

namespace {

constexpr std::array<const char*, 9> kKinds { "unknown-axis", "axis-twice", "dim-out-of-range", "indivisible", "overflow",
                                              "structure",    "partial",    "not-planned",      "unreadable" };

/// Whether what is wrong is the entry itself, whatever weight it meets.
bool isOfTheEntry(MisfitKind kind)
{
    return kind == MisfitKind::UnknownAxis || kind == MisfitKind::AxisTwice || kind == MisfitKind::Partial
        || kind == MisfitKind::Unreadable;
}

class MisfitFinder {
public:
    explicit MisfitFinder(const FinderInput& input)
        : m_input(input)
        , m_entryRepairs(input.design.strategies.size())
    {
    }

    void find(FindingList& out)
    {
        for (const WeightLayout& weight : m_input.evaluation.weights) {
            // A rule that names an axis twice is told once, of the rule.
            if (!weight.misfit || (weight.entry < 0 && weight.misfit->kind == MisfitKind::AxisTwice))
                continue;
            const Misfit& misfit = *weight.misfit;
            const std::string kind = kKinds[static_cast<std::size_t>(misfit.kind)];
            const std::string who = weight.entry < 0
                ? std::string("the rules")
                : "the entry for " + m_input.design.strategies[static_cast<std::size_t>(weight.entry)].match;
            DesignFinding finding { { kind, Severity::Error, weight.spec.name, 0,
                                      who + " cannot be applied, so every device holds all of it ("
                                          + bytesText(m_input.held(weight)) + "): " + reason(misfit.error, weight),
                                      misfit.error.fix },
                                    std::nullopt };
            if (!out.full(kind))
                repair(weight, finding);
            std::optional<Repair> fix = std::move(finding.fix);
            out.add(std::move(finding), std::move(fix));
        }
    }

private:
    /// The error's place ends in what is not in the weight's name: ` dim 0`.
    static std::string reason(const Error& error, const WeightLayout& weight)
    {
        const auto at = error.where.rfind(weight.spec.name);
        const std::string rest = at == std::string::npos ? std::string() : error.where.substr(at + weight.spec.name.size());
        return rest.empty() ? error.what : std::string(trimmed(rest)) + ": " + error.what;
    }

    void repair(const WeightLayout& weight, DesignFinding& finding)
    {
        const auto mended = bestFor(weight);
        if (mended)
            finding.costBytes = m_input.cost(weight, weight.bytesPerDevice - mended->bytesPerDevice);
        if (const auto& whole = entryRepair(weight); whole)
            finding.fix = whole;
        else if (mended)
            finding.fix = giveStrategy(m_input, weight, *mended);
    }

    std::optional<Proposal> bestFor(const WeightLayout& weight) const
    {
        for (const Mended& mended : mendedFor(m_input, weight))
            if (auto proposal = propose(m_input, weight, mended.strategy, mended.cut))
                return proposal;
        return std::nullopt;
    }

    /// A change of the entry that suits all weights it decides. Nothing when there is none, or the entry is right in
    /// itself.
    const std::optional<Repair>& entryRepair(const WeightLayout& weight)
    {
        static const std::optional<Repair> none;
        if (weight.entry < 0 || !isOfTheEntry(weight.misfit->kind))
            return none;
        auto& known = m_entryRepairs[static_cast<std::size_t>(weight.entry)];
        if (!known)
            known = madeEntryRepair(weight.entry);
        return *known;
    }

    std::optional<Repair> madeEntryRepair(int index) const
    {
        const StrategyEntry& entry = m_input.design.strategies[static_cast<std::size_t>(index)];
        for (const Mended& mended : mendedForAll(entry.strategy, entry.cut, m_input.mesh()))
            if (suitsAll(index, mended))
                return Repair { "Lay out " + entry.match + " as " + mended.strategy.text(),
                                { ReplaceStrategy { index, { entry.match, mended.strategy, mended.cut } } } };
        return std::nullopt;
    }

    bool suitsAll(int index, const Mended& mended) const
    {
        std::set<std::pair<Shape, std::vector<std::int64_t>>> tried; // weights of one shape are alike
        for (const std::size_t i : m_input.decidedBy(index)) {
            const WeightLayout& weight = m_input.evaluation.weights[i];
            if (!weight.unknownShape && tried.emplace(weight.spec.shape, weight.spec.grains).second
                && !propose(m_input, weight, mended.strategy, mended.cut))
                return false;
        }
        return true;
    }

    const FinderInput& m_input;
    std::vector<std::optional<std::optional<Repair>>> m_entryRepairs; ///< by entry, made when first asked for
};

} // namespace

void findMisfits(const FinderInput& input, FindingList& out) { MisfitFinder(input).find(out); }

} // namespace shardboard
