// SPDX-License-Identifier: Apache-2.0
#include "model/design/layoutstrategy.h"

namespace shardboard {

Strategy strategyOf(const Layout& layout, const Mesh& mesh)
{
    Strategy strategy;
    int cutDim = -1;
    bool plain = true; // at most one dim is cut, and over whole mesh axes
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        if (layout.dims[dim].empty())
            continue;
        plain = plain && cutDim < 0;
        cutDim = static_cast<int>(dim);
        for (const AxisRef& ref : layout.dims[dim]) {
            plain = plain && ref.whole();
            strategy.axes.push_back(mesh.axis(ref.axis).name);
        }
    }
    if (cutDim < 0)
        return {};
    if (!plain)
        return { StrategyKind::Spec, {}, 0, specText(layout, mesh) };
    strategy.dim = cutDim > 1 ? cutDim : 0;
    strategy.kind = cutDim == 0 ? StrategyKind::Rowwise : cutDim == 1 ? StrategyKind::Columnwise : StrategyKind::Axiswise;
    return strategy;
}

} // namespace shardboard
