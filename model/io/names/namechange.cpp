// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/namechange.h"

#include "model/text/text.h"

#include <algorithm>
#include <vector>

namespace shardboard {

namespace {

std::vector<int> flat(const std::vector<std::vector<int>>& dims)
{
    std::vector<int> out;
    for (const auto& dim : dims)
        out.insert(out.end(), dim.begin(), dim.end());
    return out;
}

} // namespace

NameChange nameChange(const NamedParameter& parameter)
{
    NameChange out;
    out.fused = parameter.sources.size() > 1;
    out.stacked = parameter.stacked;
    out.reordered = !parameter.order.empty();
    out.part = std::ranges::any_of(parameter.factors, [](const NameFactor& factor) { return factor.taken != NameFactor::kAll; });
    // Of stacked layers the source has one dim more, wherever the framework puts it.
    const std::vector<std::vector<int>> source(parameter.from.begin() + (parameter.stacked && !parameter.from.empty() ? 1 : 0),
                                               parameter.from.end());
    const std::vector<int> before = flat(source);
    std::vector<int> after = flat(parameter.dims);
    std::erase_if(after, [&](int factor) { return std::ranges::find(before, factor) == before.end(); });
    std::vector<int> kept = before;
    std::erase_if(kept, [&](int factor) { return std::ranges::find(after, factor) == after.end(); });
    out.transposed = kept != after;
    const auto larger = [](const std::vector<std::vector<int>>& dims) {
        return std::ranges::count_if(dims, [](const auto& dim) { return dim.size() > 1; });
    };
    out.split = larger(source) != larger(parameter.dims);
    return out;
}

std::string nameChangeText(const NamedParameter& parameter)
{
    const NameChange change = nameChange(parameter);
    std::vector<std::string> words;
    if (change.transposed)
        words.emplace_back("transposed");
    if (change.split)
        words.emplace_back("dims split");
    if (change.fused)
        words.emplace_back("fused of " + std::to_string(parameter.sources.size()));
    if (change.stacked)
        words.emplace_back("layers stacked");
    if (change.part)
        words.emplace_back("a part");
    if (change.reordered)
        words.emplace_back("reordered (" + parameter.order + ")");
    return joined(words);
}

} // namespace shardboard
