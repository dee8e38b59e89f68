// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/clock.h"

#include <chrono>
#include <ctime>

namespace shardboard::engine {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double coreSeconds()
{
    timespec time {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace shardboard::engine
