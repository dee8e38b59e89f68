// SPDX-License-Identifier: Apache-2.0
#include "engine/context.h"

#include <algorithm>
#include <chrono>
#include <ctime>

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
    for (std::size_t i = 0; i < more.seconds.size(); ++i)
        seconds[i] += more.seconds[i];
    return *this;
}

Timing runTimed(Context& context, std::int64_t deviceCount, const std::vector<std::int64_t>& devices,
                const std::function<double(std::size_t, int)>& task)
{
    Timing timing;
    timing.seconds.assign(static_cast<std::size_t>(deviceCount), 0.0);
    std::vector<double> spent(devices.size(), 0.0);
    context.pool->run(static_cast<std::int64_t>(devices.size()), [&](std::int64_t index, int worker) {
        const auto i = static_cast<std::size_t>(index);
        const double start = coreSeconds();
        const double uncounted = task(i, worker);
        spent[i] = std::max(0.0, coreSeconds() - start - uncounted);
    });
    for (std::size_t i = 0; i < devices.size(); ++i)
        timing.seconds[static_cast<std::size_t>(devices[i])] += spent[i];
    return timing;
}

} // namespace shardboard::engine
