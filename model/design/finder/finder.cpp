// SPDX-License-Identifier: Apache-2.0
#include "model/design/finder/finder.h"

#include "model/core/checked.h"
#include "model/design/deviceweights.h"
#include "model/design/layoutstrategy.h"
#include "model/design/resolver.h"
#include "model/text/text.h"

#include <algorithm>
#include <limits>

namespace shardboard {

namespace {

/// Whether one entry lays out both in the same way, so that a strategy for one can be one for both.
bool areAlike(const WeightLayout& a, const WeightLayout& b)
{
    return a.entry == b.entry && a.layout == b.layout && a.strategy == b.strategy && a.misfit.has_value() == b.misfit.has_value()
        && a.spec.shape == b.spec.shape && a.spec.grains == b.spec.grains && a.spec.dtype == b.spec.dtype;
}

} // namespace

FinderInput::FinderInput(const Design& designIn, const Evaluation& evaluationIn, const Hardware& hardwareIn)
    : design(designIn)
    , evaluation(evaluationIn)
    , hardware(hardwareIn)
    , m_decided(design.strategies.size())
    , m_cutsWeights(static_cast<std::size_t>(design.mesh.axisCount()), false)
    , m_cutsInputs(m_cutsWeights)
{
    for (std::size_t i = 0; i < evaluation.weights.size(); ++i) {
        const WeightLayout& weight = evaluation.weights[i];
        Named& named = m_named.try_emplace(weight.spec.name, Named { i, true }).first->second;
        named.alike = named.alike && areAlike(evaluation.weights[named.first], weight);
        if (weight.entry >= 0)
            m_decided[static_cast<std::size_t>(weight.entry)].push_back(i);
        std::vector<bool>& cuts = weight.spec.role == TensorRole::Weight ? m_cutsWeights : m_cutsInputs;
        for (const auto& dim : weight.layout.dims)
            for (const AxisRef& ref : dim)
                cuts[static_cast<std::size_t>(ref.axis)] = true;
    }
}

const std::vector<std::size_t>& FinderInput::decidedBy(int entry) const { return m_decided[static_cast<std::size_t>(entry)]; }

std::vector<std::string> FinderInput::patternsOf(const WeightLayout& weight) const
{
    if (weight.firstLayer < 0 || m_named.at(weight.spec.name).alike)
        return { weight.spec.name };
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < weight.copies; ++i)
        names.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    return names;
}

bool FinderInput::decidesOnly(int entry, const WeightLayout& weight) const
{
    return m_named.at(weight.spec.name).alike && std::ranges::all_of(decidedBy(entry), [&](std::size_t i) {
               return evaluation.weights[i].spec.name == weight.spec.name;
           });
}

std::vector<int> FinderInput::entriesOf(const std::string& pattern) const
{
    if (m_byPattern.empty())
        for (std::size_t i = 0; i < design.strategies.size(); ++i)
            m_byPattern.emplace(design.strategies[i].match, static_cast<int>(i));
    std::vector<int> out;
    const auto [begin, end] = m_byPattern.equal_range(pattern);
    for (auto it = begin; it != end; ++it)
        out.push_back(it->second);
    std::ranges::sort(out);
    return out;
}

std::int64_t FinderInput::inLayers(const WeightLayout& weight, std::int64_t bytes) const
{
    return checkedMultiply(bytes, mostCopiesOn(evaluation.plan, weight)).value_or(std::numeric_limits<std::int64_t>::max());
}

std::int64_t FinderInput::sharingDevices() const
{
    const int stages = stageAxis(design);
    return mesh().deviceCount() / (stages < 0 ? 1 : mesh().axis(stages).size);
}

std::int64_t FinderInput::withTraining(std::int64_t bytes) const
{
    const MemoryByCause& memory = evaluation.plan.memory;
    const std::int64_t beside = memory.masterWeights + memory.optimizer + memory.gradients;
    if (beside == 0 || memory.weights == 0)
        return bytes;
    const double all = static_cast<double>(bytes) * (1 + static_cast<double>(beside) / static_cast<double>(memory.weights));
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return all < static_cast<double>(kMost) ? static_cast<std::int64_t>(all) : kMost;
}

std::int64_t FinderInput::cost(const WeightLayout& weight, std::int64_t bytes) const
{
    const std::int64_t own = inLayers(weight, bytes);
    return weight.spec.role == TensorRole::Weight ? withTraining(own) : own;
}

std::optional<Proposal> propose(const FinderInput& input, const WeightLayout& weight, Strategy strategy, std::optional<CutRule> cut)
{
    if (weight.unknownShape)
        return std::nullopt;
    const AppliedStrategy applied = applyStrategy(strategy, cut.value_or(strategy.defaultCut()), weight, input.mesh(), {});
    if (applied.misfit)
        return std::nullopt;
    return Proposal { std::move(strategy), cut, storedBytes(weight.spec, applied.shards.largestShape()) };
}

std::optional<Proposal> propose(const FinderInput& input, const WeightLayout& weight, const Layout& layout)
{
    return propose(input, weight, strategyOf(layout, input.mesh()));
}

Repair giveStrategy(const FinderInput& input, const WeightLayout& weight, const Proposal& proposal)
{
    Repair repair;
    const bool cuts = proposal.strategy.kind != StrategyKind::Replicate;
    repair.text = (cuts ? "Lay out " : "Replicate ") + shortWeightName(weight.spec.name)
        + (cuts ? " as " + proposal.strategy.text() : std::string())
        + (proposal.cut ? ", cut " + cutRuleName(*proposal.cut) : std::string());
    if (weight.entry >= 0 && (input.decidedBy(weight.entry).size() == 1 || input.decidesOnly(weight.entry, weight))) {
        const auto& entry = input.design.strategies[static_cast<std::size_t>(weight.entry)];
        repair.changes.push_back(ReplaceStrategy { weight.entry, { entry.match, proposal.strategy, proposal.cut } });
        return repair;
    }
    for (const std::string& pattern : input.patternsOf(weight)) {
        // One of this pattern that another entry hides would be replaced in its place, and stay hidden.
        for (const int index : input.entriesOf(pattern))
            if (index < weight.entry)
                repair.changes.push_back(RemoveStrategy { index });
        repair.changes.push_back(SetStrategy { { pattern, proposal.strategy, proposal.cut } });
    }
    return repair;
}

std::optional<Repair> giveStrategy(const FinderInput& input, const WeightLayout& weight, const std::optional<Proposal>& proposal)
{
    if (!proposal)
        return std::nullopt;
    return giveStrategy(input, weight, *proposal);
}

bool dividesInGrains(const WeightLayout& weight, std::size_t dim, std::int64_t parts)
{
    const std::int64_t size = weight.spec.shape[dim];
    const std::int64_t grain = dim < weight.spec.grains.size() ? std::max<std::int64_t>(1, weight.spec.grains[dim]) : 1;
    return size % parts == 0 && (size / parts) % grain == 0 && size > 0;
}

std::vector<AxisRef> dividingAxes(const WeightLayout& weight, std::size_t dim, const std::vector<AxisRef>& axes, const Mesh& mesh)
{
    std::vector<AxisRef> out;
    std::int64_t parts = 1;
    for (const AxisRef& ref : axes) {
        if (!dividesInGrains(weight, dim, parts * sizeOf(ref, mesh)))
            continue;
        parts *= sizeOf(ref, mesh);
        out.push_back(ref);
    }
    return out;
}

std::vector<Proposal> evenCuts(const FinderInput& input, const WeightLayout& weight)
{
    const Mesh& mesh = input.mesh();
    std::vector<int> axes;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (mesh.axis(axis).size > 1 && axis != stageAxis(input.design) && (input.cutsWeights(axis) || !input.cutsInputs(axis)))
            axes.push_back(axis);
    std::ranges::stable_sort(axes, [&](int a, int b) {
        return input.cutsWeights(a) != input.cutsWeights(b) ? input.cutsWeights(a) : mesh.axis(a).size > mesh.axis(b).size;
    });
    std::vector<int> dims;
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim)
        dims.push_back(static_cast<int>(dim));
    const auto sizeOfDim = [&](int dim) { return weight.spec.shape[static_cast<std::size_t>(dim)]; };
    std::ranges::stable_sort(dims, [&](int a, int b) { return sizeOfDim(a) > sizeOfDim(b); });
    std::vector<Proposal> out;
    for (const int axis : axes)
        for (const int dim : dims)
            if (out.size() < kMostCuts && dividesInGrains(weight, static_cast<std::size_t>(dim), mesh.axis(axis).size))
                if (auto proposal = propose(input, weight, Layout::cut(dims.size(), dim, { axis })))
                    out.push_back(std::move(*proposal));
    return out;
}

std::string axesText(const std::vector<AxisRef>& axes, const Mesh& mesh)
{
    std::vector<std::string> names;
    for (const AxisRef& ref : axes)
        names.push_back(mesh.axis(ref.axis).name);
    return joined(names);
}

std::string shortWeightName(const std::string& name)
{
    const auto last = name.rfind('.');
    if (last == std::string::npos || last == 0)
        return name;
    const auto before = name.rfind('.', last - 1);
    return before == std::string::npos ? name : name.substr(before + 1);
}

std::string ruleText(const DesignRules& rules, int rule)
{
    const std::string& place = rules.rules[static_cast<std::size_t>(rule)].place;
    return "rule " + std::to_string(rule + 1) + (place.empty() ? std::string() : " (" + place + ")");
}

} // namespace shardboard
