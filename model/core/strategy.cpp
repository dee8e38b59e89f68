// SPDX-License-Identifier: Apache-2.0
#include "model/core/strategy.h"

#include "model/core/text.h"

#include <array>

namespace shardboard {

namespace {
constexpr std::array<const char*, 5> kKinds { "replicate", "rowwise", "columnwise", "axiswise", "spec" };
}

std::string strategyKindName(StrategyKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<StrategyKind> strategyKindFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kKinds.size(); ++i)
        if (name == kKinds[i])
            return static_cast<StrategyKind>(i);
    return std::nullopt;
}

std::string Strategy::text() const
{
    switch (kind) {
    case StrategyKind::Replicate:
        return "replicate";
    case StrategyKind::Spec:
        return spec;
    case StrategyKind::Rowwise:
        return "rowwise (dim 0) over " + joined(axes);
    case StrategyKind::Columnwise:
        return "columnwise (dim 1) over " + joined(axes);
    case StrategyKind::Axiswise:
        return "axiswise (dim " + std::to_string(dim) + ") over " + joined(axes);
    }
    return {};
}

Result<Layout> layoutOf(const Strategy& strategy, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    if (strategy.kind == StrategyKind::Replicate)
        return Layout::replicated(rank);
    if (strategy.kind == StrategyKind::Spec)
        return parseSpec(strategy.spec, mesh, rank, where);

    int dim = strategy.kind == StrategyKind::Rowwise ? 0 : strategy.kind == StrategyKind::Columnwise ? 1 : strategy.dim;
    const int ranks = static_cast<int>(rank);
    if (dim < -ranks || dim >= ranks)
        return inputError(where, strategyKindName(strategy.kind) + " cuts dim " + std::to_string(dim)
                              + ", but the tensor has " + std::to_string(rank) + (rank == 1 ? " dim" : " dims"),
                          "choose a strategy that cuts a dim of the tensor");
    if (dim < 0)
        dim += ranks;
    if (strategy.axes.empty())
        return inputError(where, strategyKindName(strategy.kind) + " names no mesh axis to cut over",
                          "name one of " + mesh.text());
    std::vector<int> axes;
    for (const std::string& name : strategy.axes) {
        axes.push_back(mesh.find(name));
        if (axes.back() < 0)
            return inputError(where, "the mesh has no axis '" + name + "'",
                              "its axes are " + (mesh.axes().empty() ? std::string("none") : mesh.text()));
    }
    const Layout layout = Layout::cut(rank, dim, axes);
    if (auto status = verifyLayout(layout, mesh, rank, where); !status.ok())
        return status.error();
    return layout;
}

} // namespace shardboard
