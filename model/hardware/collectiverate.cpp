// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/collectiverate.h"

#include <algorithm>

namespace shardboard {

const CollectiveRate* findRate(const LinkSpec& link, std::string_view kind)
{
    const auto found = std::ranges::find(link.rates, kind, &CollectiveRate::kind);
    return found == link.rates.end() ? nullptr : &*found;
}

} // namespace shardboard
