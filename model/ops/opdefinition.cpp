// SPDX-License-Identifier: Apache-2.0
#include "model/ops/opdefinition.h"

#include <algorithm>

namespace shardboard {

double volume(const Shape& shape)
{
    double product = 1;
    for (const std::int64_t size : shape)
        product *= static_cast<double>(size);
    return product;
}

const std::vector<const OpDefinition*>& allDefinitions()
{
    static const std::vector<const OpDefinition*> all = [] {
        std::vector<const OpDefinition*> out;
        for (const auto& table : { denseDefinitions(), elementwiseDefinitions(), normDefinitions(), attentionDefinitions(),
                                   latentDefinitions(), expertDefinitions(),
                                   viewDefinitions(), lossDefinitions(), updateDefinitions() })
            for (const OpDefinition& definition : table)
                out.push_back(&definition);
        std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->kind < b->kind; });
        return out;
    }();
    return all;
}

const OpDefinition& definitionOf(OpKind kind) { return *allDefinitions()[static_cast<std::size_t>(kind)]; }

} // namespace shardboard
