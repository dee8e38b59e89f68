// SPDX-License-Identifier: Apache-2.0
// What would it take: by how much the best design changes where a device has more memory or less, and where a weight is kept whole
// on every device. Each is a search of its own, so that the price is what it costs when all else may adapt to it.
#pragma once

#include "model/design/optimize/optimize.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

struct WhatIf {
    enum class Kind { Memory, Replicated };
    Kind kind = Kind::Memory;
    double bytes = 0; ///< Memory: more of it; less where negative
    std::string tensor; ///< Replicated
    bool feasible = false; ///< something that was tried fits
    double objective = 0; ///< of the best then
    double change = 0; ///< of the objective, against the best as it is; what is better is negative
    double peakBytes = 0;
    double peakChange = 0;
    Design design {}; ///< the best then; only where it is feasible
};

struct WhatIfAnswer {
    OptimizedDesign best;
    std::vector<WhatIf> cases; ///< memory first, then weights in the order of the model
    bool complete = true; ///< the time was enough for all of them
};

struct WhatIfOptions {
    OptimizeOptions optimize; ///< its limit is the one that changes; without one memory has no price
    double stepBytes = 1024.0 * 1024 * 1024;
    std::function<void(std::size_t done, std::size_t of)> progress {};
};

/// Errors as of optimizeLayouts().
Result<WhatIfAnswer> whatIf(const Design& design, const WhatIfOptions& options);

} // namespace shardboard
