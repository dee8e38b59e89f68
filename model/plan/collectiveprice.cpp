// SPDX-License-Identifier: Apache-2.0
#include "model/plan/collectiveprice.h"

#include <utility>

namespace shardboard {

void setPrice(Collective& collective, std::int64_t bytes, CollectivePrices& prices)
{
    const bool grouped = collective.groupBytes > 0;
    CollectiveTime time =
        prices.curve(pricedAs(collective, prices.mesh()), collective.axes).at(grouped ? collective.groupBytes : bytes);
    collective.seconds = time.seconds * shareOfCall(collective);
    collective.algorithm = std::move(time.algorithm);
    if (collective.copies > 0) {
        const PriceCurve& curve = prices.curve(collective.kind, collective.axes);
        const double once = oncePerNode(bytes, collective.copies, prices.footprint(collective.axes), prices.hardware(),
                                        [&](std::int64_t size) { return curve.seconds(size); });
        if (once < collective.seconds)
            collective.algorithm += kOncePerNode;
        collective.seconds = once;
    }
    if (collective.kind != CollectiveKind::LocalSlice)
        collective.link = linkNames(prices.footprint(collective.axes), prices.hardware());
}

} // namespace shardboard
