// SPDX-License-Identifier: Apache-2.0
// The ranks of one process, one GPU each: the calls of every rank of a reshard step in an order in which one thread can make them.
// Where there are several processes each makes those of its own ranks, and all split the same communicators in the same order. What
// NCCL is asked for goes into one group of calls for all GPUs of the thread, or the first would wait for ever for the second;
// copies on the GPUs come between the groups.
#pragma once

#include "engine/nccl/functions.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace shardboard::engine::nccl {

/// What is issued at once: copies on GPUs, or calls of NCCL in one group (without the brackets of the ranks' own groups).
struct Turn {
    bool grouped = false;
    std::vector<std::pair<std::int64_t, Call>> calls; ///< with their rank
};

/// The ranks' calls in turns: of every rank all copies up to its next call of NCCL, then such calls (or groups) of all ranks, and
/// so on. Each rank's own order stays.
std::vector<Turn> turnsOf(const StepPlan& plan);

class Process {
public:
    /// Makes a communicator of all ranks and says by which number the functions know it. Empty, or what went wrong.
    using Split = std::function<std::string(const Communicator& wanted, int& number)>;

    /// `ranks`: the functions of each rank, those of the first own one begin and end groups. A rank of another process has none.
    Process(std::vector<Functions> ranks, Split split);

    /// Asks for everything of a step; `buffers` by rank. Communicators that are new are split first, and kept. Throws Failure
    /// "internal" with the call that failed.
    void reshard(const StepPlan& plan, const std::vector<Buffers>& buffers);
    std::size_t communicators() const { return m_known.size(); } ///< that were split so far
    bool isOwn(std::size_t rank) const { return static_cast<bool>(m_ranks[rank].groupStart); }

private:
    struct Known {
        std::vector<std::vector<std::int64_t>> groups;
        int number = 0;
    };
    int numberOf(const Communicator& communicator);

    std::vector<Functions> m_ranks;
    std::size_t m_first = 0; ///< own rank
    Split m_split;
    std::vector<Known> m_known;
};

} // namespace shardboard::engine::nccl
