// SPDX-License-Identifier: Apache-2.0
#include "engine/context.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <numeric>

namespace shardboard::engine {

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double coreSeconds()
{
    timespec time {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double Timing::slowest() const { return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end()); }

std::int64_t Timing::slowestDevice() const
{
    return seconds.empty() ? 0 : std::max_element(seconds.begin(), seconds.end()) - seconds.begin();
}

Timing& Timing::operator+=(const Timing& more)
{
    seconds.resize(std::max(seconds.size(), more.seconds.size()), 0.0);
    spans.resize(std::max(spans.size(), more.spans.size()));
    for (std::size_t i = 0; i < more.seconds.size(); ++i)
        seconds[i] += more.seconds[i];
    for (std::size_t i = 0; i < more.spans.size(); ++i) {
        const Span& other = more.spans[i];
        if (!spans[i].worked())
            spans[i] = other;
        else if (other.worked())
            spans[i] = { std::min(spans[i].start, other.start), std::max(spans[i].end, other.end) };
    }
    together += more.together;
    wall += more.wall;
    return *this;
}

Timing Timing::share(double part) const
{
    Timing out = *this;
    for (double& value : out.seconds)
        value *= part;
    out.together *= part;
    out.wall *= part;
    return out;
}

Timing runTimed(Context& context, std::int64_t deviceCount, const std::vector<std::int64_t>& devices,
                const std::function<double(std::size_t, int)>& task)
{
    struct Spent {
        double seconds = 0;
        double wall = 0;
        Timing::Span span;
        int worker = 0;
    };
    std::vector<Spent> spent(devices.size());
    const auto runOne = [&](std::size_t i, int worker) {
        Spent& mine = spent[i];
        mine.worker = worker;
        mine.span.start = now();
        const double start = coreSeconds();
        const double uncounted = task(i, worker);
        mine.seconds = std::max(0.0, coreSeconds() - start - uncounted);
        mine.span.end = now();
        mine.wall = std::max(0.0, mine.span.end - mine.span.start - uncounted);
    };
    const auto count = static_cast<std::int64_t>(devices.size());
    if (context.serial && count > 0) {
        std::vector<std::size_t> order(devices.size());
        std::iota(order.begin(), order.end(), std::size_t { 0 });
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return devices[a] < devices[b]; });
        context.pool->run(1, [&](std::int64_t, int worker) {
            for (const std::size_t i : order) {
                context.pool->checkCancelled();
                runOne(i, worker);
            }
        });
    } else {
        context.pool->run(count, [&](std::int64_t index, int worker) { runOne(static_cast<std::size_t>(index), worker); });
    }

    Timing timing;
    timing.seconds.assign(static_cast<std::size_t>(deviceCount), 0.0);
    timing.spans.assign(static_cast<std::size_t>(deviceCount), {});
    std::vector<double> byWorker(static_cast<std::size_t>(context.pool->workers()), 0.0);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const auto device = static_cast<std::size_t>(devices[i]);
        Timing::Span& span = timing.spans[device];
        span = span.worked() ? Timing::Span { std::min(span.start, spent[i].span.start), std::max(span.end, spent[i].span.end) }
                             : spent[i].span;
        timing.seconds[device] += spent[i].seconds;
        timing.together += spent[i].seconds;
        byWorker[static_cast<std::size_t>(spent[i].worker)] += spent[i].wall;
    }
    timing.wall = *std::max_element(byWorker.begin(), byWorker.end());
    if (!context.serial && count > 0)
        timing.together /= static_cast<double>(std::min<std::int64_t>(context.pool->workers(), count));
    return timing;
}

} // namespace shardboard::engine
