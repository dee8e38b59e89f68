// SPDX-License-Identifier: Apache-2.0
#include "widgets/jobs/background.h"

#include <chrono>
#include <thread>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace shardboard {

void giveWay()
{
#ifdef __linux__
    // Of Qt's priorities Linux knows none for plain threads, but each thread has a niceness of its own.
    constexpr int kNiceness = 10;
    thread_local bool done = false;
    if (!done)
        (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNiceness);
    done = true;
#endif
}

bool pauseUnlessStopped(const std::atomic<bool>& stop)
{
    constexpr std::chrono::milliseconds kPause(40);
    constexpr std::chrono::milliseconds kTurn(5);
    for (auto waited = std::chrono::milliseconds::zero(); waited < kPause && !stop; waited += kTurn)
        std::this_thread::sleep_for(kTurn);
    return !stop;
}

} // namespace shardboard
