// SPDX-License-Identifier: Apache-2.0
#include "model/design/quantblocks.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace shardboard {

namespace {

/// The weight that a tensor of scales belongs to; empty when the name is not one of scales.
std::string scaledName(const std::string& name)
{
    for (const char* end : { "_scale_inv", "_scale" })
        if (name.ends_with(end))
            return name.substr(0, name.size() - std::string(end).size());
    if (name.ends_with("_scales"))
        return name.substr(0, name.size() - 7) + "_blocks";
    return {};
}

std::int64_t blockOf(std::int64_t size, std::int64_t scales)
{
    if (scales <= 1 || scales >= size)
        return 1;
    if (size % scales == 0)
        return size / scales;
    for (std::int64_t block = 1024; block > 1; block /= 2)
        if ((size + block - 1) / block == scales)
            return block;
    return 1;
}

} // namespace

std::vector<ScaledWeight> scaledWeights(const ModelSpec& model)
{
    std::unordered_map<std::string, std::size_t> byName;
    const auto& all = model.looseWeights;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!all[i].unknownShape)
            byName.emplace(all[i].tensor.name, i);
    std::vector<ScaledWeight> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto found = byName.find(scaledName(all[i].tensor.name));
        if (all[i].unknownShape || found == byName.end())
            continue;
        const Shape& shape = all[found->second].tensor.shape;
        const Shape& scales = all[i].tensor.shape;
        if (shape.size() != scales.size())
            continue;
        ScaledWeight pair { found->second, i, {} };
        for (std::size_t dim = 0; dim < shape.size(); ++dim)
            pair.block.push_back(blockOf(shape[dim], scales[dim]));
        if (std::ranges::any_of(pair.block, [](std::int64_t block) { return block > 1; }))
            out.push_back(std::move(pair));
    }
    return out;
}

} // namespace shardboard
