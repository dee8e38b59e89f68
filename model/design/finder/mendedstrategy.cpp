// SPDX-License-Identifier: Apache-2.0
#include "model/design/finder/mendedstrategy.h"

#include "model/design/layoutstrategy.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

constexpr std::size_t kMostDims = 16;

/// The mesh axis that a name was most likely meant to be; empty when none is near.
std::string nearestAxis(const std::string& name, const Mesh& mesh)
{
    constexpr std::size_t kLongest = 64;
    if (name.size() < 3 || name.size() > kLongest)
        return {};
    for (const MeshAxis& axis : mesh.axes())
        if (axis.name.size() <= kLongest && axis.name.size() > 2 && editDistance(lowered(name), lowered(axis.name)) <= 2)
            return axis.name;
    return {};
}

/// Calls `rename` on each mesh axis name in a spec and puts what it gives in its place; a sub-axis stays behind the
/// name.
template <class Rename>
std::string renamedSpec(const std::string& spec, Rename rename)
{
    std::string out;
    std::size_t at = 0;
    while (at < spec.size()) {
        const std::size_t open = spec.find_first_of("'\"", at);
        const std::size_t close = open == std::string::npos ? open : spec.find(spec[open], open + 1);
        if (close == std::string::npos)
            break;
        const std::string name = spec.substr(open + 1, close - open - 1);
        out += spec.substr(at, open - at) + "'" + rename(name) + "'";
        at = close + 1;
    }
    return out + spec.substr(at);
}

/// A spec without axes outside the mesh, second uses of an axis, and partial axes: they are given to axes of one device
/// that are then left out. Nothing when the text is no spec.
std::optional<Layout> cleanedSpec(const std::string& spec, const Mesh& mesh)
{
    std::set<std::string> seen;
    std::vector<MeshAxis> axes = mesh.axes();
    const std::string clean = renamedSpec(spec, [&](const std::string& text) {
        const std::string name = text.substr(0, text.find(":("));
        if (mesh.find(name) >= 0 && seen.insert(name).second)
            return text;
        axes.push_back({ "left_out_" + std::to_string(axes.size()), 1 });
        return axes.back().name;
    });
    const auto wide = Mesh::make(axes);
    if (!wide.ok())
        return std::nullopt;
    const auto parsed = parseSpec(clean, wide.value(), kMostDims);
    if (!parsed.ok())
        return std::nullopt;
    Layout layout = parsed.value();
    layout.partial.clear();
    for (auto& dim : layout.dims)
        std::erase_if(dim, [&](const AxisRef& ref) { return ref.axis >= mesh.axisCount(); });
    return layout;
}

std::vector<std::string> usableAxes(const std::vector<std::string>& axes, const Mesh& mesh)
{
    std::vector<std::string> out;
    for (const std::string& name : axes)
        if (mesh.find(name) >= 0 && !contains(out, name))
            out.push_back(name);
    return out;
}

/// The strategy with misspelt axes put right; the same when there are none.
Strategy respelt(Strategy strategy, const Mesh& mesh)
{
    const auto right = [&](const std::string& text) {
        const auto end = std::min(text.size(), text.find(":("));
        const std::string near = mesh.find(text.substr(0, end)) < 0 ? nearestAxis(text.substr(0, end), mesh) : std::string();
        return near.empty() ? text : near + text.substr(end);
    };
    for (std::string& name : strategy.axes)
        name = right(name);
    if (strategy.kind == StrategyKind::Spec)
        strategy.spec = renamedSpec(strategy.spec, right);
    return strategy;
}

/// The dim a kind cuts, kept inside the rank.
int nearestDim(const Strategy& strategy, std::size_t rank)
{
    const int last = static_cast<int>(rank) - 1;
    const int dim = parametersOf(strategy.kind).dim ? strategy.dim : defaultDim(strategy.kind);
    return std::clamp(dim < 0 ? dim + last + 1 : dim, 0, std::max(0, last));
}

/// The layout that a strategy asks for, as far as it can be made out for this weight.
Layout wantedLayout(const Strategy& strategy, const Mesh& mesh, std::size_t rank)
{
    if (strategy.kind == StrategyKind::Spec) {
        Layout layout = cleanedSpec(strategy.spec, mesh).value_or(Layout {});
        layout.cutting.clear();
        layout.dims.resize(rank);
        return layout;
    }
    Layout layout = Layout::replicated(rank);
    for (const std::string& name : usableAxes(strategy.axes, mesh))
        if (rank > 0)
            layout.dims[static_cast<std::size_t>(nearestDim(strategy, rank))].push_back({ mesh.find(name), 1, 0 });
    return layout;
}

Layout onlyDividing(Layout layout, const WeightLayout& weight, const Mesh& mesh)
{
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        layout.dims[dim] = dividingAxes(weight, dim, layout.dims[dim], mesh);
    return layout;
}

/// Does the second layout still cut every dim that the first one cuts?
bool cutsTheSameDims(const Layout& wanted, const Layout& made)
{
    for (std::size_t dim = 0; dim < wanted.dims.size(); ++dim)
        if (!wanted.dims[dim].empty() && made.dims[dim].empty())
            return false;
    return true;
}

/// Heads of the size that the weight's own grain says.
Strategy withHeadsOf(Strategy strategy, const WeightLayout& weight)
{
    const auto dim = static_cast<std::size_t>(nearestDim(strategy, weight.spec.shape.size()));
    const std::int64_t grain = dim < weight.spec.grains.size() ? weight.spec.grains[dim] : strategy.headDim;
    const std::int64_t whole = strategy.kind == StrategyKind::StackedQkv ? weight.spec.shape[dim] / 3 : weight.spec.shape[dim];
    if (grain > 1 && whole % grain == 0) {
        strategy.numHeads = whole / grain;
        strategy.headDim = grain;
    }
    return strategy;
}

} // namespace

std::vector<Mended> mendedForAll(const Strategy& strategy, std::optional<CutRule> cut, const Mesh& mesh)
{
    std::vector<Mended> out;
    if (Strategy right = respelt(strategy, mesh); !(right == strategy))
        out.push_back({ std::move(right), cut });
    Strategy clean = strategy;
    clean.axes = usableAxes(strategy.axes, mesh);
    if (strategy.kind == StrategyKind::Spec) {
        const auto layout = cleanedSpec(strategy.spec, mesh);
        if (!layout)
            return out;
        clean.spec = specText(*layout, mesh);
    } else if (clean.axes.empty()) {
        return out;
    } else if (strategy.kind == StrategyKind::TensorParallel || strategy.kind == StrategyKind::ExpertParallel) {
        clean.kind = StrategyKind::Rowwise;
    }
    out.push_back({ std::move(clean), cut });
    return out;
}

std::vector<Mended> mendedFor(const FinderInput& input, const WeightLayout& weight)
{
    const Mesh& mesh = input.mesh();
    const std::optional<CutRule> cut =
        weight.entry < 0 ? std::nullopt : input.design.strategies[static_cast<std::size_t>(weight.entry)].cut;
    std::vector<Mended> out = mendedForAll(weight.strategy, cut, mesh);
    const Layout wanted = wantedLayout(weight.strategy, mesh, weight.spec.shape.size());
    const Layout dividing = onlyDividing(wanted, weight, mesh);
    if (weight.strategy.kind == StrategyKind::GateUp && !weight.spec.shape.empty()) {
        Strategy last = weight.strategy;
        last.dim = static_cast<int>(weight.spec.shape.size()) - 1;
        out.push_back({ std::move(last), cut });
    }
    if (parametersOf(weight.strategy.kind).heads && !weight.spec.shape.empty())
        out.push_back({ withHeadsOf(weight.strategy, weight), cut });
    if (!dividing.isReplicated() && cutsTheSameDims(wanted, dividing))
        out.push_back({ strategyOf(dividing, mesh), std::nullopt });
    if (weight.misfit && weight.misfit->kind != MisfitKind::Overflow)
        out.push_back({ weight.strategy, CutRule::Balanced });
    if (!dividing.isReplicated())
        out.push_back({ strategyOf(dividing, mesh), std::nullopt });
    out.push_back({ {}, std::nullopt });
    return out;
}

} // namespace shardboard
