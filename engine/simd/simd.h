// SPDX-License-Identifier: Apache-2.0
// Marks a hot loop that is compiled for several instruction sets, the best of which is chosen when the program starts.
#pragma once

// The choice runs before a sanitizer is ready, so sanitized builds keep the plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)                              \
    && !defined(__SANITIZE_THREAD__)
#define SHARDBOARD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SHARDBOARD_CLONES
#endif
