// SPDX-License-Identifier: Apache-2.0
// One of the processes that tst_ncclprocesses starts by mpirun: the backend nccl over several of them, on stand-ins for their GPUs
// and for NCCL (ncclfar.h). The first one does what its arguments say and prints one line for each thing it has seen; the others
// follow.
//   ncclprocesses GPUS MODE [RANK TROUBLE NUMBER]
#include "app/engine/modelprograms.h"
#include "engine/cpu/backend.h"
#include "engine/mpi/mpibackend.h"
#include "engine/mpi/mpiteam.h"
#include "engine/nccl/ncclexecutor.h"
#include "tests/engine/keptvalues.h"
#include "tests/engine/ncclfar.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <unistd.h>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::nccl;
using namespace shardboard::engine::nccl::test;
using namespace shardboard::engine::test;
using shardboard::conformance::ModelCase;

namespace {

constexpr std::int64_t kGiB = std::int64_t { 1 } << 30;
constexpr const char* kName = "nccl-on-cpu";

int failures = 0;

void say(bool right, const std::string& what)
{
    std::printf("%s %s\n", right ? "ok" : "WRONG", what.c_str());
    std::fflush(stdout);
    failures += right ? 0 : 1;
}

Program madeOf(const ModelCase& of, DType dtype)
{
    auto program = conformance::programOf(of, dtype);
    if (!program.ok())
        throw Failure { "bad-plan", program.error().text(), "" };
    return std::move(program).value();
}

Program llama(const std::string& mesh, const std::string& preset, WorkloadKind workload = WorkloadKind::Prefill)
{
    return madeOf({ "", mesh, preset, "llama", workload, 4, 6, workload == WorkloadKind::Train ? 2 : 1 }, DType::BF16);
}

Program smallProgram(std::int64_t devices, WorkloadKind workload = WorkloadKind::Train)
{
    return devices % 2 == 0 ? llama("data=" + std::to_string(devices / 2) + ",model=2", "tp-sp", workload)
                            : llama("data=1,model=" + std::to_string(devices), "megatron-tp", workload);
}

RunOutcome inOneProcess(const RunRequest& request)
{
    OneProcess one(request.program.plan.mesh.deviceCount(), 4 * kGiB);
    Process process(one.functions(), one.split());
    NcclExecutor executor(one.gpus(), process);
    return runProgram(request, executor);
}

/// Whole models: bit for bit what one process computes, and what the cpu backend computes up to rounding.
void same(const Backend& backend)
{
    int programs = 0;
    for (const ModelCase& one : conformance::modelCases(0)) {
        const Program program = madeOf(one, DType::F32);
        const std::int64_t devices = program.plan.mesh.deviceCount();
        if (devices % backend.devicesInSteps != 0 || devices > backend.mostDevices)
            continue;
        RunOptions options;
        options.verify = true;
        RunLimits poisoned;
        poisoned.poison = true;
        Values cpu;
        Values alone;
        Values ours;
        const RunOutcome first = runOnCpu({ program, options, keeping(cpu), poisoned });
        const RunOutcome second = inOneProcess({ program, options, keeping(alone), poisoned });
        const RunOutcome third = backend.run({ program, options, keeping(ours), poisoned });
        const std::string error = told(first) + told(second) + told(third);
        bool right = error.empty() && std::get<RunResult>(third).verified && ours.size() > 10 && ours.size() == cpu.size()
            && ours.size() == alone.size();
        const double tolerance = one.workload == WorkloadKind::Train ? 1e-3 : 1e-4;
        std::string where;
        for (const auto& [name, values] : cpu) {
            const bool near =
                ours.contains(name) && ours[name].size() == values.size() && distance(ours[name], values) <= tolerance;
            const bool equal = ours[name].size() == alone[name].size()
                && std::memcmp(ours[name].data(), alone[name].data(), alone[name].size() * sizeof(float)) == 0;
            if ((!near || !equal) && where.empty())
                where = name + (near ? " is not that of one process" : " is not that of the cpu");
        }
        right = right && where.empty();
        say(right, one.name + " on " + program.plan.mesh.text() + ": " + std::to_string(ours.size()) + " values " + where + error);
        ++programs;
    }
    say(programs >= 3, std::to_string(programs) + " programs");
}

/// One of so many cases: what an operation computes is the business of tst_ncclrun, which tries them all in one process.
constexpr std::size_t kCaseOf = 5;

void conform(const Backend& backend, const std::string& filter)
{
    conformance::Options options = conformance::withModels();
    options.devices = backend.mostDevices;
    options.filter = filter;
    std::size_t passed = 0;
    const auto cases = conformance::casesFor(backend, options);
    for (std::size_t i = 0; i < cases.size(); i += kCaseOf) {
        const conformance::CaseResult result = conformance::runCase(cases[i], backend, options);
        passed += result.passed ? 1 : 0;
        if (!result.passed)
            say(false, cases[i].name + ": " + result.message);
    }
    say(passed > 0, std::to_string(passed) + " of " + std::to_string(cases.size()) + " cases");
}

void profile(const Backend& backend)
{
    for (const ProfileMode mode : { ProfileMode::Serial, ProfileMode::Batched }) {
        RunOptions options;
        options.steps = 2;
        options.profile = mode;
        RunProfile seen;
        RunHooks hooks;
        hooks.profile = [&](const RunProfile& made) { seen = made; };
        std::set<std::int64_t> sampled;
        hooks.sample = [&](const Sample& sample) { sampled.insert(sample.device); };
        const Program program =
            llama("data=1,model=" + std::to_string(backend.mostDevices), "megatron-tp", WorkloadKind::Train); // few communicators
        const RunOutcome outcome = backend.run({ program, options, hooks });
        say(failureOf(outcome) == nullptr, "profiled " + told(outcome));
        const auto devices = static_cast<std::size_t>(backend.mostDevices);
        say(seen.devices.size() == devices && !sampled.empty(), "devices");
        for (const ProfiledDevice& device : seen.devices)
            if (device.peakBytes <= 0 || device.peakBytes != device.announcedBytes)
                say(false, "peak of a device");
        std::size_t collectives = 0;
        bool right = !seen.events.empty();
        for (const ProfileEvent& event : seen.events) {
            const ProfileOperation& operation = seen.operations[static_cast<std::size_t>(event.operation)];
            if (operation.collective && event.devices.size() == devices)
                ++collectives;
            if (operation.collective || operation.kind == "linear") { // by every device, wherever it is
                std::set<std::int64_t> ids;
                for (const DeviceSpan& span : event.devices) {
                    ids.insert(span.device);
                    right = right && span.seconds > 0 && span.end > span.start && span.start >= 0;
                }
                right = right && ids.size() == devices;
            }
        }
        say(right && collectives > 3, "every device has its time in " + std::to_string(collectives) + " collectives");
    }
}

void announce(const Backend& backend)
{
    std::vector<std::int64_t> byProcess;
    std::int64_t announced = 0;
    RunHooks hooks;
    hooks.announceByProcess = [&](const std::vector<std::int64_t>& bytes) { byProcess = bytes; };
    hooks.announce = [&](std::int64_t bytes, double) { announced = bytes; };
    RunOptions options;
    options.verify = true;
    const RunOutcome outcome = backend.run({ smallProgram(backend.mostDevices), options, hooks });
    say(failureOf(outcome) == nullptr && std::get<RunResult>(outcome).verified, "verified " + told(outcome));
    std::int64_t sum = 0;
    bool all = true;
    for (const std::int64_t bytes : byProcess) {
        sum += bytes;
        all = all && bytes > 0;
    }
    say(all && static_cast<std::int64_t>(byProcess.size()) == backend.devicesInSteps && sum == announced,
        "announced for every process");
    // What is announced is what one process announces, and the arenas are what was touched.
    std::int64_t alone = 0;
    RunHooks silent;
    silent.announce = [&](std::int64_t bytes, double) { alone = bytes; };
    const RunOutcome one = inOneProcess({ smallProgram(backend.mostDevices), options, silent });
    say(failureOf(one) == nullptr && alone == announced
            && std::get<RunResult>(one).peakBytes == std::get<RunResult>(outcome).peakBytes,
        "as one process announces");
    options.breakCollective = "any";
    const RunOutcome broken = backend.run({ smallProgram(backend.mostDevices), options });
    say(failureOf(broken) == nullptr && !std::get<RunResult>(broken).verified
            && !std::get<RunResult>(broken).firstDeviation.empty(),
        "a broken collective is found");
}

void refuse(const Backend& backend)
{
    for (const char* mesh : { "data=1,model=3", "data=1,model=1", "data=8,model=2" }) {
        const RunOutcome outcome = backend.run({ llama(mesh, "megatron-tp"), {} });
        std::printf("failure %s\n", told(outcome).c_str());
    }
    const RunOutcome outcome = backend.run({ smallProgram(backend.mostDevices), {} });
    say(failureOf(outcome) == nullptr, "the next run " + told(outcome));
}

/// Runs while something goes wrong in a process: one failure, and then a run in which nothing does.
void trouble(const Backend& backend, double cancelAfter)
{
    std::atomic<bool> cancel = false;
    std::atomic<bool> over = false;
    std::thread canceller([&] {
        for (double waited = 0; cancelAfter > 0 && waited < cancelAfter && !over; waited += 0.01)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        cancel = cancelAfter > 0;
    });
    RunHooks hooks;
    hooks.cancel = &cancel;
    RunOptions options;
    options.verify = true;
    const double begin = now();
    const RunOutcome outcome = backend.run({ smallProgram(backend.mostDevices), options, hooks });
    over = true;
    canceller.join();
    std::printf("failure %s\n", told(outcome).c_str());
    say(failureOf(outcome) != nullptr && now() - begin < cancelAfter + 8, "it ended after " + std::to_string(now() - begin) + " s");
    const RunOutcome again = backend.run({ smallProgram(backend.mostDevices), options });
    say(failureOf(again) == nullptr && std::get<RunResult>(again).verified, "the next run " + told(again));
}

void cancels(const Backend& backend, const FarGpus& own)
{
    RunOptions options;
    options.verify = true;
    std::int64_t joined = 0;
    for (const std::int64_t after : { 1, 7, 40 }) {
        std::atomic<bool> cancel = false;
        RunHooks hooks;
        hooks.cancel = &cancel;
        hooks.progress = [&](std::int64_t step, std::int64_t, const std::string&) { cancel = step >= after; };
        const RunOutcome outcome = backend.run({ smallProgram(backend.mostDevices), options, hooks });
        say(failureOf(outcome) != nullptr && failureOf(outcome)->code == "cancelled",
            "cancelled after " + std::to_string(after) + " " + told(outcome));
        for (int round = 0; round < 2; ++round) {
            const RunOutcome again = backend.run({ smallProgram(backend.mostDevices), options });
            say(failureOf(again) == nullptr && std::get<RunResult>(again).verified, "the next run " + told(again));
        }
        // They join anew after a cancel, and stay together after a run that went well.
        joined += joined == 0 ? 2 : 1;
        say(own.joined == joined, "joined " + std::to_string(own.joined) + " times");
    }
}

std::atomic<bool> cancelLate = false;

/// One that takes longer in the others, and is cancelled when the first process is through with its own.
mpi::ProcessBackend endingEarly(const mpi::ProcessBackend& backend, bool first)
{
    mpi::ProcessBackend out = backend;
    out.run = [backend, first](mpi::MpiTeam& team, const RunRequest& request, const nlohmann::json& extra) -> RunOutcome {
        RunOutcome outcome = backend.run(team, request, extra);
        if (first)
            cancelLate = true;
        for (int waited = 0; !first && waited < 2000 && !team.stopped(); ++waited)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (!first && team.stopped())
            return Failure { "cancelled", "the run was cancelled", "" };
        return outcome;
    };
    return out;
}

void late(const Backend& backend)
{
    RunHooks hooks;
    hooks.cancel = &cancelLate;
    std::printf("failure %s\n", told(backend.run({ smallProgram(backend.mostDevices), {}, hooks })).c_str());
}

/// Cancelled at any time, by another thread as the worker does it, before it has begun and after its end, too.
void storm(const Backend& backend, int trials)
{
    std::mt19937 random(7);
    RunOptions options;
    options.verify = true;
    int cancelled = 0;
    int ended = 0;
    double longest = 0;
    const Program program = smallProgram(backend.mostDevices);
    for (int trial = 0; trial < trials; ++trial) {
        std::atomic<bool> cancel = false;
        std::atomic<double> at = 0;
        std::thread canceller([&, wait = std::chrono::microseconds(random() % 200000)] {
            std::this_thread::sleep_for(wait);
            at = now();
            cancel = true;
        });
        RunHooks hooks;
        hooks.cancel = &cancel;
        const RunOutcome outcome = backend.run({ program, options, hooks });
        const double end = now();
        canceller.join();
        if (failureOf(outcome) == nullptr) {
            ++ended;
            if (!std::get<RunResult>(outcome).verified)
                say(false, "wrong values");
            continue;
        }
        ++cancelled;
        longest = std::max(longest, end - at);
        if (failureOf(outcome)->code != "cancelled")
            say(false, told(outcome));
    }
    say(cancelled > trials / 10,
        std::to_string(cancelled) + " cancelled, " + std::to_string(ended) + " ended, at most " + std::to_string(longest) + " s");
    const RunOutcome again = backend.run({ program, options });
    say(failureOf(again) == nullptr && std::get<RunResult>(again).verified, "the next run " + told(again));
}

int work(const std::string& mode, const std::string& filter, const Backend& backend, const FarGpus& own)
{
    if (!backend.usable()) {
        std::printf("unusable %s\n", backend.unusable.c_str());
        return 0;
    }
    if (mode == "same")
        same(backend);
    else if (mode == "conform")
        conform(backend, filter);
    else if (mode == "profile")
        profile(backend);
    else if (mode == "announce")
        announce(backend);
    else if (mode == "refuse")
        refuse(backend);
    else if (mode == "trouble")
        trouble(backend, 0);
    else if (mode == "hang")
        trouble(backend, 1);
    else if (mode == "storm")
        storm(backend, std::atoi(filter.c_str()));
    else if (mode == "late")
        late(backend);
    else if (mode == "cancel")
        cancels(backend, own);
    else
        say(false, "there is no mode " + mode);
    return failures == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    mpi::World* world = mpi::World::ofThisProcess();
    if (world == nullptr || argc < 3) {
        std::fputs("ncclprocesses: is started by mpirun\n", stderr);
        return 2;
    }
    const std::string mode = argv[2];
    std::string filter;
    FarTrouble wrong;
    std::string missing;
    if (argc == 4)
        filter = argv[3];
    if (argc == 6 && std::atoi(argv[3]) == world->rank()) {
        const std::string what = argv[4];
        const int number = std::atoi(argv[5]);
        wrong.failAt = what == "fail" ? number : 0;
        wrong.hangAt = what == "hang" ? number : 0;
        wrong.otherAt = what == "other" ? number : 0;
        wrong.diesAt = what == "die" ? number : 0;
        wrong.failsToJoin = what == "join" ? number : 0;
        missing = what == "missing" ? "NCCL (libnccl.so.2) is not installed" : "";
    }
    // A machine is measured when it is profiled, which stand-ins with little memory are not.
    const std::int64_t bytes = mode == "profile" ? 760 * (kGiB >> 10) : 4 * kGiB;
    auto own = std::make_shared<FarGpus>(*world, std::atoi(argv[1]), bytes, wrong, missing);
    const mpi::ProcessBackend part =
        mode == "late" ? endingEarly(ncclProcessBackend(own), world->rank() == 0) : ncclProcessBackend(own);
    followIfNotFirst({ { kName, part } });
    int status = 1;
    try {
        Backend backend = multiProcessBackend(kName, part);
        backend.onGpus = true;
        backend.claims = { DType::F32, DType::BF16 }; // F16 lies in memory as F32 does
        status = work(mode, filter, backend, *own);
    } catch (const Failure& failure) {
        std::printf("WRONG %s\n", failure.message.c_str());
    }
    std::fflush(stdout);
    leaveProcesses();
    _exit(status);
}
