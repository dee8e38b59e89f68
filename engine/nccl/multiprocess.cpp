// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/together.h"

#include "engine/cuda/absentruntime.h"
#include "engine/mpi/mpibackend.h"
#include "engine/mpi/mpiteam.h"
#include "engine/nccl/ncclexecutor.h"
#include "model/io/documents/planjson.h"

#include <cstring>
#include <set>
#include <utility>

namespace shardboard::engine::nccl {

using nlohmann::json;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// All ranks as this process sees them.
struct Machine {
    Machine(std::unique_ptr<Joint> joined, int ranks, int firstRank)
        : joint(std::move(joined))
        , first(firstRank)
    {
        for (int rank = 0; rank < ranks; ++rank) {
            const bool own = rank >= first && rank < first + static_cast<int>(joint->gpus().size());
            absent.push_back(own ? nullptr : std::make_unique<cuda::AbsentRuntime>());
            gpus.push_back(own ? joint->gpus()[at(rank - first)] : absent.back().get());
        }
        process = std::make_unique<Process>(
            joint->functions(), [this](const Communicator& wanted, int& number) { return joint->split(wanted, number); });
        executor = std::make_unique<NcclExecutor>(gpus, *process);
    }

    std::unique_ptr<Joint> joint;
    int first = 0;
    std::vector<std::unique_ptr<cuda::AbsentRuntime>> absent; ///< by rank; null for own ones
    std::vector<cuda::Runtime*> gpus; ///< by rank
    std::unique_ptr<Process> process;
    std::unique_ptr<NcclExecutor> executor;
};

/// This process from run to run.
class Member {
public:
    explicit Member(std::shared_ptr<OwnGpus> own)
        : m_own(std::move(own))
    {
    }

    RunOutcome run(mpi::MpiTeam& team, const Program& program, const RunOptions& options, const RunHooks& hooks,
                   const RunLimits& limits, const json& extra)
    {
        m_stopped = &team.stopped();
        try {
            RunOutcome outcome = attempt(team, program, options, hooks, limits, seatsFromJson(extra));
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
    RunOutcome attempt(mpi::MpiTeam& team, const Program& program, const RunOptions& options, const RunHooks& hooks,
                       const RunLimits& limits, const Seats& seats)
    {
        meet(team, seats);
        // Before anything large is taken every process knows what each GPU has left.
        const std::vector<int> processes = seats.processes();
        std::vector<double> mine(at(seats.ranksEach()), 0.0);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            const std::size_t rank = at(m_machine->first) + i;
            mine[i] = static_cast<double>(m_machine->executor->availableOnOwn(rank, seats.sharing[rank]));
        }
        std::vector<std::int64_t> available;
        for (const std::vector<double>& one : team.tellAll(mine))
            for (const double bytes : one)
                available.push_back(static_cast<std::int64_t>(bytes));
        m_machine->executor->setOthers({ &team, processes, std::move(available), &team.stopped() });
        RunOutcome outcome = runProgramOn(*m_machine->executor, team, program, options, hooks, limits);
        if (std::holds_alternative<RunResult>(outcome))
            m_machine->executor->setOthers({}); // the team goes
        return outcome;
    }

    /// Uses what there is where all have it, or makes it anew in all.
    void meet(mpi::MpiTeam& team, const Seats& seats)
    {
        const bool fits = m_machine != nullptr && m_seats == seats.gpus;
        bool all = true;
        for (const std::vector<double>& one : team.tellAll({ fits ? 1.0 : 0.0 }))
            all = all && one.front() > 0;
        if (all)
            return;
        forget();
        std::vector<double> said(kUniqueIdBytes / sizeof(double), 0.0);
        if (team.place() == 0) {
            const std::vector<std::byte> id = m_own->uniqueId();
            std::memcpy(said.data(), id.data(), std::min(id.size(), kUniqueIdBytes));
        }
        const std::vector<double> told = team.tellAll(said).front();
        OwnGpus::Joining joining;
        joining.ranks = seats.ranks();
        joining.first = team.place() * seats.ranksEach();
        joining.gpus = seats.gpus[at(team.place())];
        joining.id.resize(kUniqueIdBytes);
        std::memcpy(joining.id.data(), told.data(), kUniqueIdBytes);
        joining.stopped = [this] { return m_stopped != nullptr && *m_stopped; };
        m_machine = std::make_unique<Machine>(m_own->join(joining), joining.ranks, joining.first);
        m_seats = seats.gpus;
    }

    void forget()
    {
        if (m_machine != nullptr)
            m_machine->joint->abandon();
        m_machine.reset();
    }

    std::shared_ptr<OwnGpus> m_own;
    const std::atomic<bool>* m_stopped = nullptr; ///< of the run that goes on
    std::vector<std::vector<int>> m_seats; ///< that the machine was made for
    std::unique_ptr<Machine> m_machine;
};

} // namespace

mpi::Part ncclPart(std::shared_ptr<OwnGpus> own)
{
    mpi::Part part;
    part.facts = [own] { return toJson(own->seen()); };
    part.run = [member = std::make_shared<Member>(own)](mpi::MpiTeam& team, const Program& program, const RunOptions& options,
                                                        const RunHooks& hooks, const RunLimits& limits, const json& extra) {
        return member->run(team, program, options, hooks, limits, extra);
    };
    return part;
}

Backend ncclTogether(const std::string& name, const mpi::Part& part)
{
    Backend nccl;
    nccl.name = name;
    nccl.claims = { DType::F32, DType::BF16, DType::F16 };
    auto facts = factsOfAll(name, part);
    if (const auto* failure = std::get_if<Failure>(&facts)) {
        nccl.unusable = failure->message;
        return nccl;
    }
    std::vector<Seen> processes;
    for (const auto& [process, said] : std::get<std::vector<ProcessFacts>>(facts)) {
        try {
            processes.push_back(seenFromJson(said));
        } catch (const json::exception&) {
            nccl.unusable = process + " does not say what GPUs it has; start the same worker everywhere";
            return nccl;
        }
        processes.back().process = process;
    }
    const auto count = static_cast<std::int64_t>(processes.size());
    const auto fewest = seatsFor(count, processes);
    if (const auto* missing = std::get_if<std::string>(&fewest)) {
        nccl.unusable = *missing;
        return nccl;
    }
    std::set<std::pair<std::string, std::string>> told; // several processes may see the same one
    for (const Seen& seen : processes)
        for (const SeenGpu& gpu : seen.gpus)
            if (told.emplace(seen.host, gpu.id).second)
                nccl.devices.push_back({ { "name", gpu.name + ", " + seen.process },
                                         { "threads", gpu.multiprocessors },
                                         { "memory_bytes", gpu.memoryBytes } });
    nccl.mostDevices = mostDevices(processes);
    nccl.devicesInSteps = count;
    nccl.run = leading(name, part, [processes](const Program& program) -> std::variant<json, Failure> {
        const auto seats = seatsFor(program.plan.mesh.deviceCount(), processes);
        if (const auto* missing = std::get_if<std::string>(&seats))
            return Failure { "backend", *missing, "options.backend" };
        return toJson(std::get<Seats>(seats));
    });
    return nccl;
}

} // namespace shardboard::engine::nccl
