// SPDX-License-Identifier: Apache-2.0
#include "model/ops/optimizer.h"

namespace shardboard {

std::string optimizerName(Optimizer optimizer)
{
    return optimizer == Optimizer::Adam ? "adam" : optimizer == Optimizer::Muon ? "muon" : "sgd";
}

std::optional<Optimizer> optimizerFromName(std::string_view name)
{
    for (const Optimizer optimizer : { Optimizer::Adam, Optimizer::Muon, Optimizer::Sgd })
        if (name == optimizerName(optimizer))
            return optimizer;
    return std::nullopt;
}

} // namespace shardboard
