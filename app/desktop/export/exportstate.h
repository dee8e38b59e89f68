// SPDX-License-Identifier: Apache-2.0
// How far the writing of an export is, so that a cancel can say what it leaves. Shared by the thread that writes and the one that
// cancels: either the writing began first, or it never does.
#pragma once

#include <atomic>

namespace shardboard {

class ExportState {
public:
    enum class Left { Nothing, Some, All };

    /// Before each file, by the writer. False: it was cancelled before, and nothing may be written.
    bool begin()
    {
        Stage expected = Stage::Waiting;
        return m_stage.compare_exchange_strong(expected, Stage::Writing) || expected != Stage::Cancelled;
    }
    /// All files are there.
    void finish() { m_stage = Stage::Written; }
    /// By the one who cancels: what is in the folder then, or may be.
    Left cancel()
    {
        Stage expected = Stage::Waiting;
        if (m_stage.compare_exchange_strong(expected, Stage::Cancelled) || expected == Stage::Cancelled)
            return Left::Nothing;
        return expected == Stage::Written ? Left::All : Left::Some;
    }

private:
    enum class Stage { Waiting, Writing, Written, Cancelled };
    std::atomic<Stage> m_stage { Stage::Waiting };
};

} // namespace shardboard
