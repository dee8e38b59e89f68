// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/columnfit.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace shardboard {

std::vector<int> fitColumns(const std::vector<ColumnWish>& wishes, int available)
{
    std::vector<std::size_t> order(wishes.size()); // what matters most first
    std::iota(order.begin(), order.end(), std::size_t { 0 });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return wishes[a].rank < wishes[b].rank; });
    std::vector<int> out(wishes.size());
    for (std::size_t i = 0; i < wishes.size(); ++i)
        out[i] = std::min(wishes[i].least, wishes[i].natural);
    int left = available - std::accumulate(out.begin(), out.end(), 0);
    for (auto it = order.rbegin(); it != order.rend() && left < 0; ++it)
        if (wishes[*it].mayHide) {
            left += out[*it];
            out[*it] = 0;
        }
    for (auto it = order.rbegin(); it != order.rend() && left < 0; ++it)
        if (out[*it] > 0 && wishes[*it].narrowest > 0) {
            const int less = std::clamp(-left, 0, std::max(0, out[*it] - wishes[*it].narrowest));
            out[*it] -= less;
            left += less;
        }
    for (const std::size_t i : order)
        if (out[i] > 0 && left > 0) {
            const int more = std::min(left, wishes[i].natural - out[i]);
            out[i] += more;
            left -= more;
        }
    return out;
}

} // namespace shardboard
