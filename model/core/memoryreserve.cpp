// SPDX-License-Identifier: Apache-2.0
#include "model/core/memoryreserve.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include <execinfo.h>
#include <unistd.h>

namespace shardboard {

namespace {

std::atomic<void*> reserve { nullptr };
const char* lastWordsOfMemory = "";
int exitCodeOfMemory = 1;

[[noreturn]] void giveBackAndThrow()
{
    std::free(reserve.exchange(nullptr));
    throw std::bad_alloc();
}

/// What ended us without a handler, by its words unless it is want of memory.
[[noreturn]] void endInOrder()
{
    if (std::current_exception() != nullptr) {
        try {
            throw;
        } catch (const std::bad_alloc&) {
            [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, lastWordsOfMemory, std::strlen(lastWordsOfMemory));
            ::_exit(exitCodeOfMemory);
        } catch (const std::exception& failure) {
            for (const char* text : { "terminated: ", failure.what(), "\n" })
                [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
        } catch (...) { // abort says it
        }
    }
    std::abort();
}

} // namespace

void keepMemoryInReserve(const char* lastWords, int exitCode)
{
    lastWordsOfMemory = lastWords;
    exitCodeOfMemory = exitCode;
    std::set_terminate(endInOrder);
    // Exceptions that pass through the C library need a library that it loads when the first one comes: now, while there is memory.
    void* frame = nullptr;
    ::backtrace(&frame, 1);
    constexpr std::size_t kBytes = std::size_t { 1 } << 20;
    reserve = std::malloc(kBytes);
    std::set_new_handler(giveBackAndThrow);
}

} // namespace shardboard
