// SPDX-License-Identifier: Apache-2.0
// How much of the heap is in use: what was asked for and not given back, whatever the allocator keeps for later.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <cstddef>
extern "C" std::size_t
__sanitizer_get_current_allocated_bytes(); // <sanitizer/allocator_interface.h>, which not every compiler's package has
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

namespace shardboard {

/// MiB; 0 where it cannot be told.
inline double heapUseMiB()
{
#if defined(__SANITIZE_ADDRESS__)
    return static_cast<double>(__sanitizer_get_current_allocated_bytes()) / (1 << 20);
#elif defined(__GLIBC__)
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
#else
    return 0;
#endif
}

} // namespace shardboard
