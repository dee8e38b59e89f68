// SPDX-License-Identifier: Apache-2.0
#include "model/ops/offload.h"

#include "model/text/text.h"

#include <algorithm>
#include <vector>

namespace shardboard {

namespace {

const char* kindName(OffloadKind kind)
{
    return kind == OffloadKind::Optimizer ? "optimizer" : kind == OffloadKind::Weights ? "weights" : "activations";
}

} // namespace

std::string offloadName(OffloadSet what)
{
    std::vector<std::string> words;
    for (const OffloadKind kind : kOffloadKinds)
        if (what.has(kind))
            words.emplace_back(kindName(kind));
    return words.empty() ? "none" : joined(words, ",");
}

std::optional<OffloadSet> offloadFromName(std::string_view name)
{
    OffloadSet out;
    if (name == "none")
        return out;
    for (const std::string_view word : split(name, ',')) {
        const auto kind = std::ranges::find_if(kOffloadKinds, [&](OffloadKind it) { return kindName(it) == word; });
        if (kind == kOffloadKinds.end())
            return std::nullopt;
        out = out.with(*kind);
    }
    return out;
}

} // namespace shardboard
