// SPDX-License-Identifier: Apache-2.0
#include "model/design/finder/cutalignment.h"

#include <algorithm>

namespace shardboard {

bool cutsThrough(const DimCut& cut, std::int64_t grain)
{
    if (grain <= 1 || cut.count() == 1)
        return false;
    const CutSegment& first = cut.segments().front();
    if (cut.segments().size() == 1 && first.denominator == 1) {
        if (first.unit % grain == 0)
            return false;
        if (first.unit == 1 && first.size % cut.count() == 0)
            return first.size / cut.count() % grain != 0;
    }
    constexpr std::int64_t kMostParts = 4096;
    for (std::int64_t i = 0; i < std::min(cut.count(), kMostParts); ++i)
        for (const Range& range : cut.part(i))
            if (range.size() > 0 && (range.lo % grain != 0 || (range.hi % grain != 0 && i + 1 < cut.count())))
                return true;
    return false;
}

} // namespace shardboard
