// SPDX-License-Identifier: Apache-2.0
// Which GPUs the processes of a launcher take for their ranks: equally many in each, none twice. Pure functions of what the
// processes report, so that they are tested without GPUs.
#pragma once

#include "model/io/json/jsonmembers.h"

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace shardboard::engine::nccl {

/// A GPU as a process sees it.
struct GpuInfo {
    std::string id; ///< that no other GPU has
    std::string name;
    int multiprocessors = 0;
    std::int64_t memoryBytes = 0;
};

/// The GPUs that a process reports.
struct ProcessGpus {
    std::string process; ///< as `rank 1 on HOST`; the first process knows it
    std::string host; ///< NCCL lets ranks of one host have no GPU in common
    std::string missing; ///< why it cannot take part in a run, and what to do about it; empty: it can
    std::vector<GpuInfo> gpus; ///< in the order of their numbers in that process
};

template <class Each, MembersOf<GpuInfo> Gpu>
void jsonMembers(Each& each, Gpu& gpu)
{
    each.value("id", gpu.id);
    each.value("name", gpu.name);
    each.value("multiprocessors", gpu.multiprocessors, { 0 });
    each.value("memory_bytes", gpu.memoryBytes, { 0 });
}

template <class Each, MembersOf<ProcessGpus> Process>
void jsonMembers(Each& each, Process& seen)
{
    each.value("host", seen.host);
    each.value("missing", seen.missing);
    each.value("gpus", seen.gpus);
}

/// The ranks of a run: equally many in each process, in the order of the processes.
struct GpuAssignment {
    std::vector<std::vector<int>> gpus; ///< by process: for each of its ranks the number of a GPU there
    std::vector<int> sharing; ///< by rank: how many ranks have that GPU, 1 but where processes only pretend to be on other hosts

    int ranks() const { return static_cast<int>(sharing.size()); }
    int ranksEach() const { return gpus.empty() ? 0 : static_cast<int>(gpus.front().size()); }
    std::vector<int> processes() const; ///< by rank
};

template <class Each, MembersOf<GpuAssignment> Assignment>
void jsonMembers(Each& each, Assignment& assignment)
{
    each.value("gpus", assignment.gpus, { 0 });
    each.value("sharing", assignment.sharing, { 1 });
}

/// "1 GPU", "2 GPUs".
/// Of each host every process takes the first GPUs that no process before it has: as well where all see all of them as where the
/// launcher has given each its own. Or what is in the way, and what to do about it.
std::variant<GpuAssignment, std::string> assignGpus(std::int64_t devices, const std::vector<ProcessGpus>& processes);
/// Empty, or why processes that a launcher has started do not know of each other: `known` is how many this one knows of,
/// `variable` asks for one of the environment (null: not set). Each of them would take the same GPUs.
std::string whyProcessesAreApart(int known, const std::function<const char*(const char*)>& variable);
/// Most logical devices that can be assigned GPUs; 0: not even one in each process.
std::int64_t mostDevices(const std::vector<ProcessGpus>& processes);

} // namespace shardboard::engine::nccl
