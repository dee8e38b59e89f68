// SPDX-License-Identifier: Apache-2.0
// What a search is asked for.
#pragma once

#include "model/design/optimize/designsearch.h"

#include <QString>

#include <cstdint>
#include <optional>

namespace shardboard {

inline constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

struct ExploreRequest {
    SearchObjective objective = SearchObjective::StepTime;
    std::optional<double> memoryBytes; ///< of a device; none: no limit
    std::optional<double> mostSeconds; ///< of a step; none: no limit
    std::int64_t devices = 1;
    SearchedParts parts;
    double seconds = 60; ///< that it may take
    friend bool operator==(const ExploreRequest&, const ExploreRequest&) = default;
};

/// `Fastest step below 74.5 GiB on 1,024 devices`.
QString requestText(const ExploreRequest& request);

} // namespace shardboard
