// SPDX-License-Identifier: Apache-2.0
#include "model/core/memoryreserve.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <execinfo.h>

namespace shardboard {

namespace {

std::atomic<void*> reserve { nullptr };

[[noreturn]] void giveBackAndThrow()
{
    std::free(reserve.exchange(nullptr));
    throw std::bad_alloc();
}

} // namespace

void keepMemoryInReserve()
{
    // Exceptions that pass through the C library need a library that it loads when the first one comes: now, while there is memory.
    void* frame = nullptr;
    ::backtrace(&frame, 1);
    constexpr std::size_t kBytes = std::size_t { 1 } << 20;
    reserve = std::malloc(kBytes);
    std::set_new_handler(giveBackAndThrow);
}

} // namespace shardboard
