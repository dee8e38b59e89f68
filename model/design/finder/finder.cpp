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

FinderInput::FinderInput(const Design& designIn, const Evaluation& evaluationIn, const Hardware& hardwareIn)
    : design(designIn)
    , evaluation(evaluationIn)
    , hardware(hardwareIn)
    , m_decided(design.strategies.size())
    , m_cutsWeights(static_cast<std::size_t>(design.mesh.axisCount()), false)
{
    for (std::size_t i = 0; i < evaluation.weights.size(); ++i) {
        const WeightLayout& weight = evaluation.weights[i];
        ++m_sameName[weight.spec.name];
        if (weight.entry >= 0)
            m_decided[static_cast<std::size_t>(weight.entry)].push_back(i);
        if (weight.spec.role == TensorRole::Weight)
            for (const auto& dim : weight.layout.dims)
                for (const AxisRef& ref : dim)
                    m_cutsWeights[static_cast<std::size_t>(ref.axis)] = true;
    }
}

const std::vector<std::size_t>& FinderInput::decidedBy(int entry) const { return m_decided[static_cast<std::size_t>(entry)]; }

std::vector<std::string> FinderInput::patternsOf(const WeightLayout& weight) const
{
    if (weight.firstLayer < 0 || m_sameName.at(weight.spec.name) == 1)
        return { weight.spec.name };
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < weight.copies; ++i)
        names.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    return names;
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
    return Proposal { std::move(strategy), cut, bytesOf(applied.shards.maxElements(), weight.spec.dtype) };
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
    if (weight.entry >= 0 && input.decidedBy(weight.entry).size() == 1) {
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

Proposal evenCut(const FinderInput& input, const WeightLayout& weight)
{
    const Mesh& mesh = input.mesh();
    std::vector<int> axes;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (mesh.axis(axis).size > 1 && axis != stageAxis(input.design))
            axes.push_back(axis);
    std::ranges::stable_sort(axes, [&](int a, int b) {
        return input.cutsWeights(a) != input.cutsWeights(b) ? input.cutsWeights(a) : mesh.axis(a).size > mesh.axis(b).size;
    });
    std::vector<int> dims;
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim)
        dims.push_back(static_cast<int>(dim));
    const auto sizeOfDim = [&](int dim) { return weight.spec.shape[static_cast<std::size_t>(dim)]; };
    std::ranges::stable_sort(dims, [&](int a, int b) { return sizeOfDim(a) > sizeOfDim(b); });
    for (const int axis : axes)
        for (const int dim : dims)
            if (dividesInGrains(weight, static_cast<std::size_t>(dim), mesh.axis(axis).size))
                if (auto proposal = propose(input, weight, Layout::cut(dims.size(), dim, { axis })))
                    return *proposal;
    return { {}, std::nullopt, bytesOf(weight.spec) };
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
