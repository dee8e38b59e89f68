// SPDX-License-Identifier: Apache-2.0
#include "model/timeline/blocks.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kLeastPixels = 2; ///< what is narrower joins its neighbours
constexpr float kAlike = 0.125F; ///< joined blocks that are as full as each other are one

} // namespace

LaneSums::LaneSums(const Lane& lane)
{
    std::array<double, kIntervalKinds> sums {};
    m_until.reserve(lane.intervals.size() / kStride + 1);
    for (std::size_t i = 0; i < lane.intervals.size(); ++i) {
        if (i % kStride == 0)
            m_until.push_back(sums);
        sums[static_cast<std::size_t>(lane.intervals[i].kind)] += lane.intervals[i].seconds;
    }
}

void LaneSums::add(const Lane& lane, std::size_t first, std::size_t end, std::array<double, kIntervalKinds>& out) const
{
    const auto plain = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i)
            out[static_cast<std::size_t>(lane.intervals[i].kind)] += lane.intervals[i].seconds;
    };
    const std::size_t low = (first + kStride - 1) / kStride;
    const std::size_t high = end / kStride;
    if (low >= high || high >= m_until.size()) {
        plain(first, end);
        return;
    }
    plain(first, low * kStride);
    for (std::size_t kind = 0; kind < kIntervalKinds; ++kind)
        out[kind] += m_until[high][kind] - m_until[low][kind];
    plain(high * kStride, end);
}

void laneBlocks(const Lane& lane, const LaneSums& sums, const TimeWindow& window, std::vector<LaneBlock>& out)
{
    const std::vector<LaneInterval>& all = lane.intervals;
    const double to = window.to();
    const auto width = static_cast<double>(window.width);
    const double least = kLeastPixels * window.secondsPerPixel;
    const std::size_t before = out.size();
    // They do not overlap: what ends after the window's start begins with the last one that starts before it.
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(all, window.from, {}, &LaneInterval::start) - all.begin());
    i = i > 0 && all[i - 1].end() > window.from ? i - 1 : i;
    double drawn = 0; // up to this pixel
    while (i < all.size() && all[i].start < to) {
        const LaneInterval& it = all[i];
        const double left = std::clamp(window.pixelOf(it.start), drawn, width);
        if (it.seconds >= least) {
            const double right = std::clamp(window.pixelOf(it.end()), left, width);
            if (right > left)
                out.push_back({ left, right, it.kind, false, 1, i, 1 });
            drawn = right;
            ++i;
            continue;
        }
        const double cell = std::max(std::floor(left), drawn);
        double cellEnd = std::min(cell + kLeastPixels, width);
        const double until = window.timeAt(cellEnd);
        // From here in steps that double, as the next one is near as a rule.
        std::size_t low = i + 1;
        std::size_t stride = 1;
        while (low + stride < all.size() && all[low + stride].start < until)
            stride *= 2;
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(low);
        const auto limit = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), low + stride + 1));
        auto end = static_cast<std::size_t>(
            std::lower_bound(begin, limit, until, [](const LaneInterval& one, double time) { return one.start < time; })
            - all.begin());
        if (end > i + 1 && all[end - 1].seconds >= least) { // the last one alone can reach out of the cell
            --end;
            cellEnd = std::clamp(window.pixelOf(all[end].start), cell, cellEnd);
        }
        std::array<double, kIntervalKinds> seconds {};
        sums.add(lane, i, end, seconds);
        double busy = 0;
        auto kind = IntervalKind::Idle;
        double most = 0;
        for (std::size_t k = 0; k < kIntervalKinds; ++k) {
            if (static_cast<IntervalKind>(k) == IntervalKind::Idle)
                continue;
            busy += seconds[k];
            if (seconds[k] > most) {
                most = seconds[k];
                kind = static_cast<IntervalKind>(k);
            }
        }
        const double span = std::max(cellEnd - cell, 1e-9) * window.secondsPerPixel;
        const bool empty = most <= 0;
        const auto filled = empty ? 1.F : static_cast<float>(std::clamp(busy / span, 0.0, 1.0));
        LaneBlock* last = out.size() > before ? &out.back() : nullptr;
        if (last != nullptr && last->joined && last->kind == kind && cell - last->right < 0.5
            && std::abs(last->filled - filled) < kAlike) {
            last->right = std::max(last->right, cellEnd);
            last->count += end - i;
        } else if (cellEnd > cell) {
            out.push_back({ cell, cellEnd, kind, true, filled, i, end - i });
        }
        drawn = std::max(drawn, cellEnd);
        i = end;
    }
}

std::ptrdiff_t intervalAt(const Lane& lane, double time, double slack)
{
    const std::vector<LaneInterval>& all = lane.intervals;
    const std::ptrdiff_t after = std::ranges::upper_bound(all, time, {}, &LaneInterval::start) - all.begin();
    std::ptrdiff_t best = -1;
    double nearest = slack;
    for (const std::ptrdiff_t i : { after - 1, after }) {
        if (i < 0 || i >= static_cast<std::ptrdiff_t>(all.size()))
            continue;
        const LaneInterval& it = all[static_cast<std::size_t>(i)];
        const double away = time < it.start ? it.start - time : std::max(0.0, time - it.end());
        if (away <= nearest) {
            if (away <= 0)
                return i;
            nearest = away;
            best = i;
        }
    }
    return best;
}

double rulerStep(double least)
{
    if (!(least > 0))
        return 1;
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : { 1.0, 2.0, 5.0 })
        if (factor * power >= least * (1 - 1e-9))
            return factor * power;
    return 10 * power;
}

} // namespace shardboard
