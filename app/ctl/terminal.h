// SPDX-License-Identifier: Apache-2.0
// What commands that take a while share: a line of progress, Ctrl-C, and files that will be written at the end.
#pragma once

#include "model/core/result.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>

namespace shardboard {

/// One line that is written over where stderr is a terminal; elsewhere a line every quarter of the work.
class ProgressLine {
public:
    ProgressLine();
    void show(std::int64_t step, std::int64_t of, const std::string& what);
    /// Takes it away, before anything else is written.
    void clear() const;

private:
    bool m_terminal;
    bool m_shown = false;
    std::int64_t m_quarter = 0;
};

/// While it exists Ctrl-C sets a flag instead of ending the program. One at a time.
class InterruptGuard {
public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    static const std::atomic<bool>& flag();

private:
    struct sigaction m_before { };
};

/// Whether a file can be written there, asked before work of minutes begins: its folder is one and lets us, and it is no folder
/// itself. Nothing is touched. An empty path is good.
Status checkWritable(const std::string& path);

} // namespace shardboard
