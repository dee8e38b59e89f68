// SPDX-License-Identifier: Apache-2.0
#include "model/ops/recompute.h"

#include "model/text/text.h"

#include <algorithm>
#include <vector>

namespace shardboard {

namespace {

const char* partName(RecomputePart part)
{
    switch (part) {
    case RecomputePart::Cheap:
        return "selective";
    case RecomputePart::Layer:
        return "full";
    case RecomputePart::Norms:
        return "norms";
    case RecomputePart::Activations:
        return "activations";
    case RecomputePart::Attention:
        return "attention";
    case RecomputePart::Rotation:
        return "rotation";
    case RecomputePart::Qkv:
        return "qkv";
    case RecomputePart::LatentUp:
        return "latent-up";
    case RecomputePart::Output:
        return "output";
    case RecomputePart::MlpIn:
        return "mlp-in";
    case RecomputePart::MlpOut:
        return "mlp-out";
    case RecomputePart::Experts:
        return "experts";
    case RecomputePart::SharedExperts:
        return "shared-experts";
    case RecomputePart::Residuals:
        return "residuals";
    case RecomputePart::SecondProducts:
        break;
    }
    return "second-products";
}

} // namespace

std::string recomputeName(Recompute recompute)
{
    if (recompute == Recompute::ByOp)
        return "by-op";
    std::vector<std::string> words;
    for (const RecomputePart part : kRecomputeParts)
        if (recompute.has(part))
            words.emplace_back(partName(part));
    return words.empty() ? "none" : joined(words, ",");
}

std::optional<Recompute> recomputeFromName(std::string_view name)
{
    if (name == "none")
        return Recompute::None;
    if (name == "full")
        return Recompute::Full;
    Recompute out = Recompute::None;
    for (const std::string_view word : split(name, ',')) {
        const auto alias = std::ranges::find_if(kRecomputeAliases, [&](const RecomputeAlias& it) { return it.name == word; });
        for (const std::string_view one : split(alias == kRecomputeAliases.end() ? word : std::string_view(alias->parts), ',')) {
            const auto part = std::ranges::find_if(kRecomputeParts, [&](RecomputePart it) { return partName(it) == one; });
            if (part == kRecomputeParts.end() || *part == RecomputePart::Layer)
                return std::nullopt;
            out = out.with(*part);
        }
    }
    return out;
}

} // namespace shardboard
