// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi/mpibackend.h"

#include "engine/calibrate/calibrate.h"
#include "engine/cpu/cpuexecutor.h"
#include "engine/machine/gemm.h"
#include "engine/machine/machine.h"
#include "engine/mpi/mpiteam.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/wire/planjson.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <unistd.h>

namespace shardboard::engine {

namespace {

using mpi::MpiTeam;
using mpi::World;
using nlohmann::json;

constexpr double kMostStopSeconds = 10; ///< that the others get to end a run that has failed
constexpr double kMostLeaveSeconds = 1.5;
/// During a run the first process and each of the others let each other know this often that they are there, and give a process up
/// that has been silent for so long: launchers do not always end the others, and connections break without a word.
constexpr std::chrono::seconds kAliveEvery { 1 };
constexpr std::chrono::seconds kMostSilence { 20 };

/// Shorter for somebody who tries it out.
std::chrono::seconds mostSilence()
{
    const char* text = std::getenv("SHARDBOARD_MPI_SILENCE");
    const int seconds = text != nullptr ? std::atoi(text) : 0;
    return seconds > 0 ? std::chrono::seconds(seconds) : kMostSilence;
}

void pause(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

/// Threads for each process, the same for all: as many as the cores of a host give to each of its processes.
int workersFor(const World& world)
{
    std::int64_t least = 64;
    for (const mpi::Member& member : world.members()) {
        std::int64_t neighbours = 0;
        for (const mpi::Member& other : world.members())
            neighbours += other.host == member.host ? 1 : 0;
        least = std::min(least, std::max<std::int64_t>(1, member.cores / neighbours));
    }
    return static_cast<int>(least);
}

/// How a run ended in one process.
struct Report {
    bool there = false;
    bool ok = false;
    Failure failure;
};

bool isStop(const Report& report) { return report.there && !report.ok && report.failure.code == "cancelled"; }

/// Keeps up with messages while the first process runs a program: reports of the others, and the client's wish to cancel.
class Watch {
public:
    Watch(World& world, MpiTeam& team, std::int64_t number, const std::atomic<bool>* cancel)
        : m_world(world)
        , m_team(team)
        , m_number(number)
        , m_cancel(cancel)
        , m_reports(world.members().size())
        , m_heard(world.members().size(), std::chrono::steady_clock::now())
        , m_thread([this] { watch(); })
    {
    }
    ~Watch()
    {
        m_leave = true;
        m_thread.join();
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    /// Ends the run everywhere.
    void stop()
    {
        if (m_stopped.exchange(true))
            return;
        m_team.stop();
        for (int other = 1; other < m_world.size(); ++other)
            m_world.post(other, json { { "type", "stop" }, { "number", m_number } }.dump());
    }
    /// Waits for the reports of all; the first process that gives none, or -1.
    int waitForAll()
    {
        auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostStopSeconds);
        while (true) {
            const int missing = firstMissing();
            if (missing < 0)
                return -1;
            const auto time = std::chrono::steady_clock::now();
            if (!m_stopped) // all went well here, so it does there
                end = time + std::chrono::duration<double>(kMostStopSeconds);
            if (const int lost = m_world.lostNeighbour(); lost > 0 || time > end)
                return lost > 0 ? lost : missing;
            if (const int silent = silentOne(); silent > 0)
                return silent; // it stays so
            if (!trouble().empty())
                return missing; // no more reports come
            pause(std::chrono::milliseconds(1));
        }
    }
    const std::vector<Report>& reports() const { return m_reports; }
    /// Why no more messages come; empty: they do.
    std::string trouble()
    {
        const std::lock_guard guard(m_lock);
        return m_trouble;
    }

private:
    int silentOne()
    {
        const std::lock_guard guard(m_lock);
        return m_silent;
    }
    int firstMissing()
    {
        const std::lock_guard guard(m_lock);
        for (std::size_t rank = 1; rank < m_reports.size(); ++rank)
            if (!m_reports[rank].there)
                return static_cast<int>(rank);
        return -1;
    }
    void watch()
    {
        while (!m_leave) {
            try {
                if (m_cancel != nullptr && *m_cancel)
                    stop();
                if (auto message = m_world.take())
                    takeIn(*message);
                else if (std::chrono::steady_clock::now() - m_told > kAliveEvery)
                    tellAndListen();
                else
                    pause(std::chrono::milliseconds(1));
            } catch (const Failure& failure) {
                m_team.stop();
                const std::lock_guard guard(m_lock);
                m_trouble = failure.message;
                return;
            }
        }
    }
    void tellAndListen()
    {
        m_told = std::chrono::steady_clock::now();
        for (int other = 1; other < m_world.size(); ++other)
            m_world.post(other, json { { "type", "alive" }, { "number", m_number } }.dump());
        {
            const std::lock_guard guard(m_lock);
            for (std::size_t rank = 1; rank < m_heard.size() && m_silent < 0; ++rank)
                if (!m_reports[rank].there && m_told - m_heard[rank] > mostSilence()) {
                    m_trouble = m_world.nameOf(static_cast<int>(rank)) + " does not answer; start the worker again";
                    m_silent = static_cast<int>(rank);
                }
        }
        if (m_silent > 0)
            stop();
    }
    void takeIn(const World::Message& message)
    {
        const json read = json::parse(message.text);
        m_heard[static_cast<std::size_t>(message.from)] = std::chrono::steady_clock::now();
        if (read.value("type", "") == "alive")
            return;
        if (read.value("number", std::int64_t { 0 }) != m_number)
            return; // of a run that has been given up
        Report report { true,
                        read.value("ok", false),
                        { read.value("code", ""), read.value("message", ""), read.value("where", "") } };
        const bool failed = !report.ok;
        {
            const std::lock_guard guard(m_lock);
            m_reports[static_cast<std::size_t>(message.from)] = std::move(report);
        }
        if (failed)
            stop();
    }

    World& m_world;
    MpiTeam& m_team;
    std::int64_t m_number;
    const std::atomic<bool>* m_cancel;
    std::atomic<bool> m_leave { false };
    std::atomic<bool> m_stopped { false };
    std::mutex m_lock;
    std::vector<Report> m_reports; ///< by rank; guarded by m_lock, as is the next
    std::string m_trouble;
    int m_silent = -1; ///< who does not answer
    using Time = std::chrono::steady_clock::time_point;
    std::vector<Time> m_heard; ///< by rank; of the watching thread alone, as is the next
    Time m_told {};
    std::thread m_thread;
};

/// What the first process knows from run to run.
struct Lead {
    World& world;
    std::int64_t runs = 0;
    std::string broken; ///< why nothing can be run any more
};

/// What the first process sends to the others: the request, its number, the backend and what the first one has decided.
json messageOf(const RunRequest& request, std::int64_t number, const std::string& backend, const json& extra)
{
    return { { "type", "run" },
             { "backend", backend },
             { "extra", extra },
             { "number", number },
             { "plan", planToJson(request.program.graph, request.program.plan) },
             { "options", toJson(request.options) },
             { "workers", request.limits.workers },
             { "available_bytes", request.limits.availableBytes },
             { "poison", request.limits.poison },
             { "shows_values", static_cast<bool>(request.hooks.value) } };
}

/// The failure that made the others stop, with the name of the process where it happened.
Failure causeOf(const World& world, const Failure& own, const std::vector<Report>& reports, bool cancelled)
{
    if (own.code != "cancelled" || cancelled)
        return own;
    for (std::size_t rank = 1; rank < reports.size(); ++rank)
        if (const Report& report = reports[rank]; report.there && !report.ok && !isStop(report))
            return { report.failure.code, world.nameOf(static_cast<int>(rank)) + ": " + report.failure.message,
                     report.failure.where };
    return { "internal", "the run was stopped, and no process says why", "" };
}

/// The part of this process, which ends when the team is stopped.
RunOutcome runHere(const mpi::ProcessBackend& backend, MpiTeam& team, const RunRequest& request, const json& extra)
{
    RunRequest mine = request.by(team);
    mine.hooks.cancel = &team.stopped();
    return outcomeOf([&] { return backend.run(team, mine, extra); });
}

/// Has all do what `requestFor` asks of them in the run of that number, `own` is the part of this process.
RunOutcome leadAll(Lead& lead, const std::function<json(std::int64_t number)>& requestFor, bool showsValues,
                   const std::atomic<bool>* cancel, const std::function<RunOutcome(MpiTeam& team)>& own)
{
    World& world = lead.world;
    if (!lead.broken.empty())
        return Failure { "lost", lead.broken, "" };
    try {
        const std::int64_t number = ++lead.runs;
        const std::string request = jsonText(requestFor(number));
        for (int other = 1; other < world.size(); ++other)
            world.post(other, request);
        MpiTeam team(world, number, showsValues);
        Watch watch(world, team, number, cancel);
        RunOutcome outcome = own(team);
        const auto* failure = std::get_if<Failure>(&outcome);
        if (failure != nullptr)
            watch.stop();
        const int silent = watch.waitForAll();
        if (!watch.trouble().empty())
            lead.broken = watch.trouble();
        const bool cancelled = cancel != nullptr && *cancel;
        if (silent >= 0)
            lead.broken = world.nameOf(silent) + " was lost; start the worker again";
        if (failure != nullptr && failure->code == "lost")
            lead.broken = failure->message;
        if (failure == nullptr)
            for (const Report& report : watch.reports())
                if (report.there && !report.ok)
                    return causeOf(world, { "cancelled", "the run was cancelled", "" }, watch.reports(),
                                   cancelled); // after our own end
        if (failure == nullptr && silent >= 0)
            return Failure { "lost", lead.broken, "" };
        if (failure != nullptr && silent >= 0 && failure->code == "cancelled" && !cancelled)
            return Failure { "lost", lead.broken, "" };
        return failure != nullptr ? RunOutcome(causeOf(world, *failure, watch.reports(), cancelled)) : std::move(outcome);
    } catch (const Failure& failure) {
        lead.broken = failure.message; // nobody knows what the others are doing
        return failure;
    } catch (const Stopped&) {
        return Failure { "cancelled", "the run was cancelled", "" };
    } catch (const std::exception& e) {
        lead.broken = e.what();
        return Failure { "internal", e.what(), "" };
    }
}

RunOutcome lead(Lead& lead, const std::string& name, const mpi::ProcessBackend& backend, RunRequest request, const json& extra)
{
    request.limits.workers = request.limits.workers > 0 ? request.limits.workers : workersFor(lead.world);
    return leadAll(
        lead, [&](std::int64_t number) { return messageOf(request, number, name, extra); }, static_cast<bool>(request.hooks.value),
        request.hooks.cancel, [&](MpiTeam& team) { return runHere(backend, team, request, extra); });
}

/// Nothing of it but whether it went well: the first process has measured what the others have.
RunOutcome calibrateInTeam(MpiTeam& team, const CalibrationOptions& options, const CalibrateHooks& hooks, int workers,
                           Calibration& result)
{
    CalibrateHooks mine = hooks;
    mine.cancel = &team.stopped();
    CpuExecutor executor("mpi");
    auto outcome = calibrateOn(team, executor, options, mine, workers);
    if (auto* failure = std::get_if<Failure>(&outcome))
        return std::move(*failure);
    result = std::get<Calibration>(std::move(outcome));
    return RunResult {};
}

std::variant<Calibration, Failure> leadCalibration(Lead& lead, const CalibrationOptions& options, const CalibrateHooks& hooks)
{
    for (int rank = 1; rank < lead.world.size(); ++rank)
        if (!lead.world.sameGroup(rank, 0))
            return Failure { "backend",
                             "processes on several hosts are not calibrated, because the cost model's shared memory is that of "
                             "one: start them on one host "
                             "(without --hosts), and write the network between hosts into the file as its outer level ('shardctl "
                             "hardware dgx-h100 --json' "
                             "has one, 'shardctl bench mpi --hosts' measures yours)",
                             "options.backend" };
    const int workers = workersFor(lead.world);
    Calibration result;
    auto outcome = leadAll(
        lead,
        [&](std::int64_t number) {
            return json { { "type", "calibrate" }, { "number", number }, { "options", toJson(options) }, { "workers", workers } };
        },
        false, hooks.cancel, [&](MpiTeam& team) { return calibrateInTeam(team, options, hooks, workers, result); });
    if (auto* failure = std::get_if<Failure>(&outcome))
        return std::move(*failure);
    return result;
}

/// One of the other processes.
class Follower {
public:
    Follower(World& world, mpi::ProcessBackends backends)
        : m_world(world)
        , m_backends(std::move(backends))
    {
    }

    [[noreturn]] void follow()
    {
        int idle = 0;
        auto heard = std::chrono::steady_clock::now();
        auto told = heard;
        try {
            while (true) {
                auto message = m_world.take();
                const auto time = std::chrono::steady_clock::now();
                if (message || !m_running)
                    heard = time;
                if (m_running && time - told > kAliveEvery) {
                    told = time;
                    m_world.post(0, json { { "type", "alive" }, { "number", m_number.load() } }.dump());
                }
                if (time - heard > mostSilence()) {
                    std::fprintf(stderr, "shardboard-engine: %s does not answer\n", m_world.nameOf(0).c_str());
                    m_world.abort(4);
                }
                if (!message) {
                    // Soon after a run the next one may come; later nobody notices a few milliseconds.
                    idle = m_running ? 0 : idle + 1;
                    pause(std::chrono::milliseconds(idle < 200 ? 1 : 5));
                    continue;
                }
                const json read = json::parse(message->text);
                const std::string type = read.value("type", "");
                if (type == "quit")
                    break;
                if (type == "stop")
                    stop(read.value("number", std::int64_t { 0 }));
                if (type == "run" || type == "calibrate")
                    start(read);
                if (type == "facts")
                    tellFacts(read.value("backend", ""));
            }
        } catch (const Failure& failure) {
            std::fprintf(stderr, "shardboard-engine: %s\n", failure.message.c_str());
            m_world.abort(4);
        }
        stop(m_number);
        for (int waited = 0; m_running && waited < 1500; ++waited)
            pause(std::chrono::milliseconds(1));
        m_world.leave(kMostLeaveSeconds);
        _exit(0);
    }

private:
    void stop(std::int64_t number)
    {
        const std::lock_guard guard(m_lock);
        m_stopNumber = std::max(m_stopNumber, number);
        if (m_team != nullptr && m_number == number)
            m_team->stop();
    }

    void tellFacts(const std::string& backend)
    {
        json answer { { "type", "facts" }, { "backend", backend } };
        if (const auto found = m_backends.find(backend); found != m_backends.end() && found->second.facts)
            answer["facts"] = found->second.facts();
        m_world.post(0, jsonText(answer));
    }

    void start(json request)
    {
        if (m_thread.joinable())
            m_thread.join();
        m_running = true;
        m_number = request.value("number", std::int64_t { 0 });
        m_thread = std::thread([this, asked = std::move(request)] { run(asked); });
    }

    /// While it exists a stop reaches the team, also one that came before.
    class Reachable {
    public:
        Reachable(Follower& follower, MpiTeam& team)
            : m_follower(follower)
        {
            const std::lock_guard guard(m_follower.m_lock);
            m_follower.m_team = &team;
            if (m_follower.m_stopNumber >= m_follower.m_number)
                team.stop();
        }
        ~Reachable()
        {
            const std::lock_guard guard(m_follower.m_lock);
            m_follower.m_team = nullptr;
        }
        Reachable(const Reachable&) = delete;
        Reachable& operator=(const Reachable&) = delete;

    private:
        Follower& m_follower;
    };

    void run(const json& request)
    {
        json report { { "type", "report" }, { "number", m_number.load() } };
        const RunOutcome outcome = outcomeOf([&] {
            MpiTeam team(m_world, m_number, request.value("shows_values", false));
            const Reachable reachable(*this, team);
            RunOutcome mine = runWith(team, request);
            if (std::holds_alternative<Failure>(mine))
                team.stop();
            return mine;
        });
        const auto* failure = std::get_if<Failure>(&outcome);
        report["ok"] = failure == nullptr;
        if (failure != nullptr) {
            report["code"] = failure->code;
            report["message"] = failure->message;
            report["where"] = failure->where;
        }
        m_running = false; // before the report, which the next run may follow at once
        try {
            m_world.post(0, jsonText(report));
        } catch (const Failure& lost) {
            std::fprintf(stderr, "shardboard-engine: %s\n", lost.message.c_str());
            m_world.abort(4);
        }
    }

    RunOutcome runWith(MpiTeam& team, const json& request)
    {
        if (request.value("type", "") == "calibrate") {
            const auto asked = calibrationOptionsFromJson(request["options"]);
            Calibration unused;
            return asked.ok() ? calibrateInTeam(team, asked.value(), {}, request.value("workers", 1), unused)
                              : RunOutcome(Failure { "internal", "it does not understand what the first process hands on", "" });
        }
        const auto program = planFromJson(request["plan"]);
        const auto options = runOptionsFromJson(request["options"]);
        if (!program.ok() || !options.ok())
            return Failure { "internal", "it does not understand what the first process hands on", "" };
        RunLimits limits;
        limits.workers = request.value("workers", 1);
        limits.availableBytes = request.value("available_bytes", std::int64_t { 0 });
        limits.poison = request.value("poison", false);
        const auto backend = m_backends.find(request.value("backend", ""));
        if (backend == m_backends.end())
            return Failure { "backend",
                             "this process was built without the backend '" + request.value("backend", "")
                                 + "'; start the same worker everywhere",
                             "options.backend" };
        return runHere(backend->second, team, { program.value(), options.value(), {}, limits }, request.value("extra", json()));
    }

    World& m_world;
    const mpi::ProcessBackends m_backends;
    std::thread m_thread;
    std::atomic<bool> m_running { false };
    std::atomic<std::int64_t> m_number { 0 };
    std::mutex m_lock;
    MpiTeam* m_team = nullptr; ///< guarded by m_lock, as is the next
    std::int64_t m_stopNumber = 0;
};

/// One for all backends: the processes run one program at a time.
Lead& leadOf(World& world)
{
    static Lead lead { world, 0, {} };
    return lead;
}

mpi::ProcessBackend mpiProcessBackend()
{
    mpi::ProcessBackend backend;
    backend.run = [](MpiTeam&, const RunRequest& request, const json&) {
        CpuExecutor executor("mpi");
        return runProgram(request, executor);
    };
    return backend;
}

} // namespace

Backend mpiBackend()
{
    Backend backend;
    backend.name = "mpi";
    backend.claims = { DType::F32, DType::BF16, DType::F16 };
    World* world = World::ofThisProcess();
    if (world == nullptr) {
        backend.unusable = std::getenv("SLURM_PROCID") != nullptr
            ? "srun has started this worker without MPI; start it as 'srun --mpi=pmix shardboard-engine' ('srun --mpi=list' shows "
              "what "
              "there is; mpirun within an allocation of salloc or sbatch needs none of it)"
            : "this worker was started alone; start it as 'mpirun -n 4 shardboard-engine', with srun, or let "
              "shardctl do it (without --engine)";
        return backend;
    }
    for (const mpi::Member& member : world->members())
        backend.devices.push_back({ { "name", member.host + ", " + gemmName() },
                                    { "threads", workersFor(*world) },
                                    { "memory_bytes", member.memoryBytes } });
    backend.run = leading("mpi", mpiProcessBackend(), {});
    backend.calibrate = [world](const CalibrationOptions& options, const CalibrateHooks& hooks) {
        return leadCalibration(leadOf(*world), options, hooks);
    };
    return backend;
}

Backend::Run leading(std::string name, mpi::ProcessBackend backend,
                     std::function<std::variant<json, Failure>(const Program&)> extra)
{
    Lead& state = leadOf(*World::ofThisProcess());
    return [&state, name = std::move(name), backend = std::move(backend),
            extra = std::move(extra)](const RunRequest& request) -> RunOutcome {
        std::variant<json, Failure> decided;
        if (extra)
            decided = extra(request.program);
        if (auto* failure = std::get_if<Failure>(&decided))
            return std::move(*failure);
        return lead(state, name, backend, request, std::get<json>(decided));
    };
}

std::variant<std::vector<ProcessFacts>, Failure> factsOfAll(const std::string& name, const mpi::ProcessBackend& backend)
{
    World& world = *World::ofThisProcess();
    std::vector<ProcessFacts> all;
    for (int rank = 0; rank < world.size(); ++rank)
        all.emplace_back(world.nameOf(rank), json());
    try {
        for (int other = 1; other < world.size(); ++other)
            world.post(other, jsonText(json { { "type", "facts" }, { "backend", name } }));
        all.front().second = backend.facts();
        int missing = world.size() - 1;
        const auto end = std::chrono::steady_clock::now() + kMostSilence;
        while (missing > 0) {
            if (auto message = world.take()) {
                const json read = json::parse(message->text);
                if (read.value("type", "") == "facts" && read.value("backend", "") == name) {
                    all[static_cast<std::size_t>(message->from)].second = read.value("facts", json());
                    --missing;
                }
                continue;
            }
            if (std::chrono::steady_clock::now() > end)
                return Failure { "lost", std::to_string(missing) + " of the other processes do not answer; start the worker again",
                                 "" };
            pause(std::chrono::milliseconds(1));
        }
    } catch (const Failure& failure) {
        return failure;
    } catch (const json::exception& e) {
        return Failure { "internal", e.what(), "" };
    }
    return all;
}

void followIfNotFirst(const mpi::ProcessBackends& backends)
{
    World* world = World::ofThisProcess();
    if (world == nullptr || world->rank() == 0)
        return;
    mpi::ProcessBackends all = backends;
    all.emplace("mpi", mpiProcessBackend());
    Follower(*world, std::move(all)).follow();
}

bool hasOthers() { return World::ofThisProcess() != nullptr; }

int processCount()
{
    World* world = World::ofThisProcess();
    return world == nullptr ? 1 : world->size();
}

void leaveProcesses()
{
    World* world = World::ofThisProcess();
    if (world == nullptr)
        return;
    try {
        for (int other = 1; other < world->size(); ++other)
            world->post(other, json { { "type", "quit" } }.dump());
        const bool allThere = leadOf(*world).broken.empty(); // else somebody would not come
        if (allThere && world->drain(kMostLeaveSeconds) && world->leave(2 * kMostLeaveSeconds))
            return;
    } catch (const Failure&) {
    }
    world->abort(0);
}

} // namespace shardboard::engine
