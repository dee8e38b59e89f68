// SPDX-License-Identifier: Apache-2.0
#include "model/ops/overlap.h"

#include "model/text/text.h"

#include <algorithm>
#include <vector>

namespace shardboard {

std::string overlapKindName(OverlapKind kind)
{
    switch (kind) {
    case OverlapKind::WeightGathers:
        return "weight-gathers";
    case OverlapKind::GradientScatters:
        return "gradient-scatters";
    case OverlapKind::Tensor:
        return "tensor";
    case OverlapKind::Experts:
        return "experts";
    case OverlapKind::Context:
        return "context";
    case OverlapKind::Sends:
        return "sends";
    case OverlapKind::Host:
        break;
    }
    return "host";
}

std::string overlapName(Overlap overlap)
{
    std::vector<std::string> words;
    const auto take = [&](Overlap set, const char* word) {
        if (std::ranges::any_of(kOverlapKinds, [&](OverlapKind it) { return set.has(it) && !overlap.has(it); }))
            return;
        words.emplace_back(word);
        for (const OverlapKind kind : kOverlapKinds)
            overlap = overlap.with(kind, overlap.has(kind) && !set.has(kind));
    };
    take(Overlap::All, "all");
    if (words.empty())
        take(Overlap::Weights, "weights");
    for (const OverlapKind kind : kOverlapKinds)
        if (overlap.has(kind))
            words.push_back(overlapKindName(kind));
    return words.empty() ? "none" : joined(words, ",");
}

std::optional<Overlap> overlapFromName(std::string_view name)
{
    if (name == "none")
        return Overlap::None;
    Overlap out = Overlap::None;
    const auto add = [&](Overlap set) {
        for (const OverlapKind kind : kOverlapKinds)
            out = out.with(kind, out.has(kind) || set.has(kind));
    };
    for (const std::string_view word : split(name, ',')) {
        const auto named = std::ranges::find_if(kOverlapKinds, [&](OverlapKind kind) { return overlapKindName(kind) == word; });
        if (word == "all")
            add(Overlap::All);
        else if (word == "weights")
            add(Overlap::Weights);
        else if (named != kOverlapKinds.end())
            out = out.with(*named);
        else
            return std::nullopt;
    }
    return out;
}

} // namespace shardboard
