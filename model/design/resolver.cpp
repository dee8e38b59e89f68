// SPDX-License-Identifier: Apache-2.0
#include "model/design/resolver.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// The mesh axes that a strategy names, also in the text of a spec (what stands in quotes, without sub-axes).
std::vector<std::string> namedAxes(const Strategy& strategy)
{
    if (strategy.kind != StrategyKind::Spec)
        return strategy.axes;
    std::vector<std::string> names;
    for (std::size_t at = strategy.spec.find_first_of("'\""); at != std::string::npos;
         at = strategy.spec.find_first_of("'\"", at + 1)) {
        const std::size_t end = strategy.spec.find(strategy.spec[at], at + 1);
        if (end == std::string::npos)
            break;
        const std::string name = strategy.spec.substr(at + 1, end - at - 1);
        names.push_back(name.substr(0, name.find(":(")));
        at = end;
    }
    return names;
}

/// Why layoutOf refused: the error is a text, so its cause is looked for again.
MisfitKind layoutMisfit(const Strategy& strategy, const Mesh& mesh, std::size_t rank)
{
    if (strategy.kind == StrategyKind::TensorParallel || strategy.kind == StrategyKind::ExpertParallel)
        return MisfitKind::Unreadable;
    if (strategy.kind != StrategyKind::Spec) {
        const int dim = parametersOf(strategy.kind).dim ? strategy.dim : defaultDim(strategy.kind);
        if (dim >= static_cast<int>(rank) || dim < -static_cast<int>(rank))
            return MisfitKind::DimOutOfRange;
    }
    const std::vector<std::string> names = namedAxes(strategy);
    if (std::ranges::any_of(names, [&](const std::string& name) { return mesh.find(name) < 0; }))
        return MisfitKind::UnknownAxis;
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
        return MisfitKind::AxisTwice;
    constexpr std::size_t kMostDims = 16;
    const bool readable = strategy.kind == StrategyKind::Spec && parseSpec(strategy.spec, mesh, kMostDims).ok();
    return readable ? MisfitKind::DimOutOfRange : MisfitKind::Unreadable;
}

/// Why shardsOf refused a layout that is right.
MisfitKind shardsMisfit(const Layout& layout, const Shape& shape, const Mesh& mesh, CutRule cut)
{
    MisfitKind kind = MisfitKind::Structure;
    for (std::size_t dim = 0; dim < shape.size() && cut == CutRule::Strict; ++dim) {
        const std::int64_t parts = partsOf(layout.dims[dim], mesh);
        if (parts > shape[dim])
            return MisfitKind::Overflow;
        if (shape[dim] % parts != 0)
            kind = MisfitKind::Indivisible;
    }
    return kind;
}

bool namesAxisTwice(const Layout& layout)
{
    std::set<int> seen;
    for (const auto& dim : layout.dims)
        for (const AxisRef& ref : dim)
            if (!seen.insert(ref.axis).second)
                return true;
    return false;
}

/// A plan knows dims that are cut as a whole, by any rule; fused segments only where their pieces lie side by side.
std::optional<Misfit> planMisfit(const Strategy& strategy, const ShardMap& shards, const std::string& where)
{
    for (const DimCut& cut : shards.cuts())
        if (!cut.isBalanced() && (cut.segments().size() > 1 || cut.segments().front().denominator > 1))
            return Misfit { MisfitKind::NotPlanned,
                            inputError(where,
                                       strategyKindName(strategy.kind) + " is for fused or packed weights, and this one is neither",
                                       "use a strategy that cuts the dim as a whole") };
    return std::nullopt;
}

} // namespace

AppliedStrategy applyStrategy(const Strategy& strategy, CutRule cut, const WeightLayout& weight, const Mesh& mesh,
                              const std::string& where)
{
    const Shape& shape = weight.spec.shape;
    auto layout = layoutOf(strategy, mesh, shape.size(), where);
    if (!layout.ok())
        return { Misfit { layoutMisfit(strategy, mesh, shape.size()), layout.error() }, {}, {} };
    if (weight.tensor == kNoTensor) // a sum over one device is its only term
        std::erase_if(layout.value().partial, [&](const AxisRef& ref) { return sizeOf(ref, mesh) == 1; });
    if (!layout.value().partial.empty() && weight.tensor != kNoTensor) // one that nothing computes with may be a term of a sum
        return { Misfit { MisfitKind::Partial, inputError(where, "a weight or input cannot be partial", "leave out unreduced") },
                 {},
                 {} };
    auto shards = shardsOf(strategy, shape, mesh, cut, where, weight.spec.grains);
    if (!shards.ok())
        return { Misfit { shardsMisfit(layout.value(), shape, mesh, cut), shards.error() }, {}, {} };
    if (weight.tensor != kNoTensor)
        if (auto misfit = planMisfit(strategy, shards.value(), where))
            return { std::move(misfit), {}, {} };
    return { std::nullopt, std::move(layout).value(), std::move(shards).value() };
}

Resolver::Resolver(const Design& design)
    : m_design(design)
    , m_entries(design.strategies)
{
}

void Resolver::layOut(WeightLayout& weight, const std::string& name)
{
    weight.entry = m_entries.deciding(name);
    if (weight.entry >= 0)
        byEntry(weight);
    else if (!m_design.rules.rules.empty() && !weight.unknownShape && !weight.spec.logicalNames.empty()
             && weight.spec.logicalNames.size() == weight.spec.shape.size())
        byRules(weight);
    else
        replicate(weight);
    if (!weight.unknownShape)
        weight.bytesPerDevice = storedBytes(weight.spec, weight.shards.largestShape());
}

void Resolver::replicate(WeightLayout& weight) const
{
    if (weight.unknownShape)
        return;
    weight.layout = Layout::replicated(weight.spec.shape.size());
    std::vector<DimCut> cuts;
    for (const std::int64_t size : weight.spec.shape)
        cuts.emplace_back(std::vector<AxisRef> {}, m_design.mesh, CutRule::Balanced,
                          std::vector<CutSegment> { { 0, size, 1, 1, 1 } });
    weight.shards = ShardMap(m_design.mesh, weight.spec.shape, std::move(cuts));
}

void Resolver::byEntry(WeightLayout& weight)
{
    const StrategyEntry& entry = m_design.strategies[static_cast<std::size_t>(weight.entry)];
    weight.strategy = entry.strategy;
    weight.cut = entry.cut.value_or(entry.strategy.defaultCut());
    if (weight.unknownShape)
        return;
    AppliedStrategy applied = applyStrategy(weight.strategy, weight.cut, weight, m_design.mesh,
                                            "strategies[" + std::to_string(weight.entry) + "] on " + weight.spec.name);
    weight.misfit = std::move(applied.misfit);
    if (weight.misfit)
        return replicate(weight);
    weight.layout = std::move(applied.layout);
    weight.shards = std::move(applied.shards);
}

void Resolver::byRules(WeightLayout& weight)
{
    const Resolved& rules = resolved(weight.spec.logicalNames, weight.spec.name);
    if (!rules.resolution.ok()) {
        weight.misfit = Misfit { MisfitKind::Unreadable, rules.resolution.error() };
        return replicate(weight);
    }
    weight.resolution = rules.resolution.value();
    weight.strategy.kind = StrategyKind::Spec;
    weight.strategy.spec = rules.spec;
    if (rules.axisTwice) {
        weight.misfit =
            Misfit { MisfitKind::AxisTwice,
                     inputError("rules on " + weight.spec.name, "a rule names a mesh axis twice: " + weight.strategy.spec,
                                "an axis can cut one dim of a tensor once") };
        return replicate(weight);
    }
    // JAX refuses what does not divide; the layout shows it balanced, and a finding says so.
    auto shards = shardsOf(weight.spec.shape, rules.layout, m_design.mesh, CutRule::Balanced, weight.spec.name);
    weight.layout = rules.layout;
    weight.shards = std::move(shards).value();
}

const Resolver::Resolved& Resolver::resolved(const std::vector<std::string>& names, const std::string& where)
{
    const auto known = m_resolved.find(names);
    if (known != m_resolved.end())
        return known->second;
    auto resolution = resolveNames(names, m_design.rules.rules, where);
    if (!resolution.ok())
        return m_resolved.emplace(names, Resolved { resolution.error(), {}, {}, false }).first->second;
    Resolved out { std::make_shared<const Resolution>(std::move(resolution).value()), Layout::replicated(names.size()), {}, false };
    for (std::size_t dim = 0; dim < names.size(); ++dim)
        for (const std::string& name : out.resolution.value()->spec[dim])
            if (const int axis = m_design.mesh.find(name); axis >= 0)
                out.layout.dims[dim].push_back({ axis, 1, 0 });
    out.spec = specText(out.layout, m_design.mesh);
    out.axisTwice = namesAxisTwice(out.layout);
    return m_resolved.emplace(names, std::move(out)).first->second;
}

} // namespace shardboard
