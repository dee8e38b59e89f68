// SPDX-License-Identifier: Apache-2.0
// Normalisations (max-sharding 2.3): over the dims that the weight has, which must be whole.
#include "model/picker/max/registry.h"

namespace shardboard {

std::span<const OpFamily> normFamilies()
{
    constexpr const char* kRule = "R* -> R ; S(d) R* -> S(d) for d in 0..r0-r1";
    static const std::vector<CheckText> ranks {
        { "r1 <= r0", UpstreamError::ValueError, "inputs", "the weight has more dims than what it scales", "" },
        { "behind(1) && behind(2)", UpstreamError::ValueError, "inputs", "a weight has another size than what it scales",
          "weights have the shape of the last dims of the first operand" }
    };
    static const std::vector<OpFamily> table {
        { .name = "layer_norm", .fewest = 2, .most = 3, .checks = ranks, .rule = kRule },
        { .name = "rms_norm", .fewest = 2, .most = 2, .checks = ranks, .rule = kRule },
    };
    return table;
}

} // namespace shardboard
