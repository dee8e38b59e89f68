// SPDX-License-Identifier: Apache-2.0
// How many parameters a model has, from its dimensions alone: independent of the op graph, whose weights must sum to it.
#pragma once

#include "model/families/modelspec.h"

#include <cstdint>
#include <optional>

namespace shardboard {

struct ModelSize {
    std::int64_t total = 0; ///< a tied table once
    std::int64_t active = 0; ///< that one token uses: of the routed experts only the chosen ones; tables count whole
    friend bool operator==(const ModelSize&, const ModelSize&) = default;
};

/// For a model that verifyModel accepts; nothing where the count does not fit in 63 bits, or the model is not understood.
std::optional<ModelSize> modelSize(const ModelSpec& model);

} // namespace shardboard
