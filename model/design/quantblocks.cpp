// SPDX-License-Identifier: Apache-2.0
#include "model/design/quantblocks.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace shardboard {

namespace {

/// The names that the weight of a tensor of scales may have; none when the name is not one of scales.
std::vector<std::string> scaledNames(const std::string& name)
{
    const auto without = [&](std::string_view end) { return name.substr(0, name.size() - end.size()); };
    if (name.ends_with(".scales")) // GPTQ and AWQ: several elements of a dim in one number
        return { without(".scales") + ".qweight" };
    for (const char* end : { "_scale_inv", "_scale" })
        if (name.ends_with(end))
            return { without(end), without(end) + "_packed" }; // compressed-tensors and NVFP4 pack
    if (name.ends_with("_scales"))
        return { without("_scales") + "_blocks" };
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
        auto found = byName.end();
        if (!all[i].unknownShape)
            for (const std::string& name : scaledNames(all[i].tensor.name))
                found = found == byName.end() ? byName.find(name) : found;
        if (found == byName.end())
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
