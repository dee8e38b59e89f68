// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/gpuassignment.h"

#include "model/text/numbers.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace shardboard::engine::nccl {

namespace {

/// For `each` ranks in every process. Empty where there are none; `lacks` is the process that has too few then, `found` how many.
std::vector<std::vector<int>> taken(std::size_t each, const std::vector<ProcessGpus>& processes, std::size_t& lacks,
                                    std::size_t& found)
{
    std::vector<std::vector<int>> out;
    std::set<std::pair<std::string, std::string>> gone; // hosts and ids
    for (std::size_t process = 0; process < processes.size(); ++process) {
        const ProcessGpus& seen = processes[process];
        out.emplace_back();
        for (std::size_t gpu = 0; gpu < seen.gpus.size() && out.back().size() < each; ++gpu)
            if (gone.emplace(seen.host, seen.gpus[gpu].id).second)
                out.back().push_back(static_cast<int>(gpu));
        if (out.back().size() < each) {
            lacks = process;
            found = out.back().size();
            return {};
        }
    }
    return out;
}

} // namespace

std::vector<int> GpuAssignment::processes() const
{
    std::vector<int> out;
    for (std::size_t process = 0; process < gpus.size(); ++process)
        out.insert(out.end(), gpus[process].size(), static_cast<int>(process));
    return out;
}

std::variant<GpuAssignment, std::string> assignGpus(std::int64_t devices, const std::vector<ProcessGpus>& processes)
{
    for (const ProcessGpus& seen : processes)
        if (!seen.missing.empty())
            return seen.process + ": " + seen.missing;
    const auto count = static_cast<std::int64_t>(processes.size());
    if (devices % count != 0) {
        std::int64_t fewer = count - 1;
        while (devices % fewer != 0)
            --fewer;
        return "nccl takes as many GPUs in every process, and " + counted(devices, "logical device") + " cannot be shared out to "
            + std::to_string(count) + " processes; start "
            + (fewer == 1 ? "one process without mpirun or srun" : std::to_string(fewer) + " processes")
            + " (or another number that divides " + std::to_string(devices) + "), or use a mesh of a multiple of "
            + std::to_string(count) + " devices";
    }
    const std::int64_t each = devices / count;
    std::size_t lacks = 0;
    std::size_t found = 0;
    GpuAssignment out;
    out.gpus = taken(static_cast<std::size_t>(each), processes, lacks, found);
    if (out.gpus.empty()) {
        const ProcessGpus& seen = processes[lacks];
        const auto there =
            std::count_if(processes.begin(), processes.end(), [&](const ProcessGpus& other) { return other.host == seen.host; });
        std::set<std::string> ids;
        for (const ProcessGpus& other : processes)
            if (other.host == seen.host)
                for (const GpuInfo& gpu : other.gpus)
                    ids.insert(gpu.id);
        const std::int64_t most = mostDevices(processes);
        return "nccl takes a GPU for every logical device: " + seen.process + " needs " + counted(each, "GPU")
            + " for its part of a mesh of " + counted(devices, "device") + " and has " + std::to_string(found) + " ("
            + (there == 1 ? "1 process there sees " : std::to_string(there) + " processes there see ")
            + counted(static_cast<std::int64_t>(ids.size()), "GPU") + "); "
            + (most > 0 ? "use a mesh of at most " + counted(most, "device") + ", or start the processes on more hosts"
                        : "start fewer processes on that host, or give the launcher more hosts")
            + "; the backend cuda runs all devices on one GPU";
    }
    std::map<std::string, int> ranksOf;
    for (std::size_t process = 0; process < processes.size(); ++process)
        for (const int gpu : out.gpus[process])
            ++ranksOf[processes[process].gpus[static_cast<std::size_t>(gpu)].id];
    for (std::size_t process = 0; process < processes.size(); ++process)
        for (const int gpu : out.gpus[process])
            out.sharing.push_back(ranksOf[processes[process].gpus[static_cast<std::size_t>(gpu)].id]);
    return out;
}

std::string whyProcessesAreApart(int known, const std::function<const char*(const char*)>& variable)
{
    for (const char* name : { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" }) {
        const char* text = variable(name);
        const int started = text != nullptr ? std::atoi(text) : 0;
        if (started < 2 || known > 1)
            continue;
#ifdef SHARDBOARD_MPI
        return "a launcher has started " + std::to_string(started)
            + " processes that do not find each other; start them with mpirun, or with 'srun --mpi=pmix', or start one without a "
              "launcher";
#else
        return "a launcher has started " + std::to_string(started)
            + " processes, and this build has no MPI by which they find each other; install Open MPI with its headers "
              "(libopenmpi-dev, "
              "openmpi-bin) and build again, or start one process without a launcher: it drives all GPUs of its machine";
#endif
    }
    return {};
}

std::int64_t mostDevices(const std::vector<ProcessGpus>& processes)
{
    std::size_t lacks = 0;
    std::size_t found = 0;
    std::size_t each = 0;
    while (!processes.empty() && !taken(each + 1, processes, lacks, found).empty())
        ++each;
    return static_cast<std::int64_t>(each * processes.size());
}

} // namespace shardboard::engine::nccl
