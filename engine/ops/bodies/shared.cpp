// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/bodies/shared.h"

#include "engine/ops/bodies/cpulanes.h"
#include "engine/simd/simd.h"

namespace shardboard::engine::bodies {

// Flattened: what is called is compiled for the same instruction set.
#define SHARDBOARD_RUN(Body)                                                                                                       \
    SHARDBOARD_CLONES __attribute__((flatten)) void runItems(const Body& body, std::int64_t entry, std::int64_t first,             \
                                                             std::int64_t last)                                                    \
    {                                                                                                                              \
        const CpuLanes lanes;                                                                                                      \
        for (std::int64_t item = first; item < last; ++item)                                                                       \
            body(lanes, item, entry);                                                                                              \
    }
SHARDBOARD_SHARED_BODIES(SHARDBOARD_RUN)
#undef SHARDBOARD_RUN

} // namespace shardboard::engine::bodies
