// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/multiprocess.h"

#include "engine/cuda/absentruntime.h"
#include "engine/machine/index.h"
#include "engine/mpi/mpibackend.h"
#include "engine/mpi/mpiteam.h"
#include "engine/nccl/ncclexecutor.h"
#include "model/plan/program.h"

#include <cstring>
#include <set>
#include <utility>

namespace shardboard::engine::nccl {

using nlohmann::json;

namespace {

/// All ranks as this process sees them.
struct Machine {
    Machine(std::unique_ptr<LocalRanks> joined, int ranks, int firstRank)
        : local(std::move(joined))
        , first(firstRank)
    {
        for (int rank = 0; rank < ranks; ++rank) {
            const bool own = rank >= first && rank < first + static_cast<int>(local->gpus().size());
            absent.push_back(own ? nullptr : std::make_unique<cuda::AbsentRuntime>());
            gpus.push_back(own ? local->gpus()[at(rank - first)] : absent.back().get());
        }
        process = std::make_unique<Process>(
            local->functions(), [this](const Communicator& wanted, int& number) { return local->split(wanted, number); });
        executor = std::make_unique<NcclExecutor>(gpus, *process);
    }

    std::unique_ptr<LocalRanks> local;
    int first = 0;
    std::vector<std::unique_ptr<cuda::AbsentRuntime>> absent; ///< by rank; null for own ones
    std::vector<cuda::Runtime*> gpus; ///< by rank
    std::unique_ptr<Process> process;
    std::unique_ptr<NcclExecutor> executor;
};

/// This process from run to run.
class Member {
public:
    explicit Member(std::shared_ptr<LocalGpus> own)
        : m_own(std::move(own))
    {
    }

    RunOutcome run(mpi::MpiTeam& team, const RunRequest& request, const json& extra)
    {
        m_stopped = &team.stopped();
        try {
            const auto assignment = messageFromJson<GpuAssignment>(extra, "GPUs");
            RunOutcome outcome = assignment.ok() ? attempt(team, request, assignment.value())
                                                 : RunOutcome(Failure { "internal", assignment.error().text(), "" });
            if (std::holds_alternative<Failure>(outcome))
                forget(); // others may wait for calls that this process has not made: nothing of it can be used again
            m_stopped = nullptr;
            return outcome;
        } catch (...) { // of what comes before the run
            forget();
            m_stopped = nullptr;
            throw;
        }
    }

private:
    RunOutcome attempt(mpi::MpiTeam& team, const RunRequest& request, const GpuAssignment& assignment)
    {
        prepare(team, assignment);
        // Before anything large is taken every process knows what each GPU has left.
        const std::vector<int> processes = assignment.processes();
        std::vector<double> mine(at(assignment.ranksEach()), 0.0);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            const std::size_t rank = at(m_machine->first) + i;
            mine[i] = static_cast<double>(m_machine->executor->availableOnOwn(rank, assignment.sharing[rank]));
        }
        std::vector<std::int64_t> available;
        for (const std::vector<double>& one : team.allGather(mine))
            for (const double bytes : one)
                available.push_back(static_cast<std::int64_t>(bytes));
        m_machine->executor->setOthers({ &team, processes, std::move(available), &team.stopped() });
        RunOutcome outcome = runProgram(request, *m_machine->executor);
        if (std::holds_alternative<RunResult>(outcome))
            m_machine->executor->setOthers({}); // the team goes
        return outcome;
    }

    /// Keeps the machine of the run before where every process has it, else makes it anew in all.
    void prepare(mpi::MpiTeam& team, const GpuAssignment& assignment)
    {
        const bool fits = m_machine != nullptr && m_assigned == assignment.gpus;
        bool all = true;
        for (const std::vector<double>& one : team.allGather({ fits ? 1.0 : 0.0 }))
            all = all && one.front() > 0;
        if (all)
            return;
        forget();
        std::vector<double> said(kUniqueIdBytes / sizeof(double), 0.0);
        if (team.rank() == 0) {
            const std::vector<std::byte> id = m_own->uniqueId();
            std::memcpy(said.data(), id.data(), std::min(id.size(), kUniqueIdBytes));
        }
        const std::vector<double> told = team.allGather(said).front();
        LocalGpus::JoinRequest request;
        request.ranks = assignment.ranks();
        request.first = team.rank() * assignment.ranksEach();
        request.gpus = assignment.gpus[at(team.rank())];
        request.id.resize(kUniqueIdBytes);
        std::memcpy(request.id.data(), told.data(), kUniqueIdBytes);
        request.stopped = [this] { return m_stopped != nullptr && *m_stopped; };
        m_machine = std::make_unique<Machine>(m_own->join(request), request.ranks, request.first);
        m_assigned = assignment.gpus;
    }

    void forget()
    {
        if (m_machine != nullptr)
            m_machine->local->abandon();
        m_machine.reset();
    }

    std::shared_ptr<LocalGpus> m_own;
    const std::atomic<bool>* m_stopped = nullptr; ///< of the run that goes on
    std::vector<std::vector<int>> m_assigned; ///< that the machine was made for
    std::unique_ptr<Machine> m_machine;
};

} // namespace

mpi::ProcessBackend ncclProcessBackend(std::shared_ptr<LocalGpus> own)
{
    mpi::ProcessBackend backend;
    backend.facts = [own] { return jsonOf(own->visibleGpus()); };
    backend.run = [member = std::make_shared<Member>(own)](mpi::MpiTeam& team, const RunRequest& request, const json& extra) {
        return member->run(team, request, extra);
    };
    return backend;
}

Backend multiProcessBackend(const std::string& name, const mpi::ProcessBackend& backend)
{
    Backend nccl;
    nccl.name = name;
    nccl.onGpus = true;
    nccl.claims = { DType::F32, DType::BF16, DType::F16 };
    auto facts = factsOfAll(name, backend);
    if (const auto* failure = std::get_if<Failure>(&facts)) {
        nccl.unusable = failure->message;
        return nccl;
    }
    std::vector<ProcessGpus> processes;
    for (const auto& [process, said] : std::get<std::vector<ProcessFacts>>(facts)) {
        auto seen = messageFromJson<ProcessGpus>(said, process);
        if (!seen.ok()) {
            nccl.unusable = process + " does not say what GPUs it has; start the same worker everywhere";
            return nccl;
        }
        processes.push_back(std::move(seen).value());
        processes.back().process = process;
    }
    const auto count = static_cast<std::int64_t>(processes.size());
    const auto fewest = assignGpus(count, processes);
    if (const auto* missing = std::get_if<std::string>(&fewest)) {
        nccl.unusable = *missing;
        return nccl;
    }
    std::set<std::pair<std::string, std::string>> told; // several processes may see the same one
    for (const ProcessGpus& process : processes)
        for (const GpuInfo& gpu : process.gpus)
            if (told.emplace(process.host, gpu.id).second)
                nccl.devices.push_back({ { "name", gpu.name + ", " + process.process },
                                         { "threads", gpu.multiprocessors },
                                         { "memory_bytes", gpu.memoryBytes } });
    nccl.mostDevices = mostDevices(processes);
    nccl.devicesInSteps = count;
    nccl.run = leading(name, backend, [processes](const Program& program) -> std::variant<json, Failure> {
        const auto assignment = assignGpus(program.plan.mesh.deviceCount(), processes);
        if (const auto* missing = std::get_if<std::string>(&assignment))
            return Failure { "backend", *missing, "options.backend" };
        return jsonOf(std::get<GpuAssignment>(assignment));
    });
    return nccl;
}

} // namespace shardboard::engine::nccl
