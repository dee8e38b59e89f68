// SPDX-License-Identifier: Apache-2.0
// Whole programs with a GPU for every logical device: operations by the kernels on stand-ins of GPUs that cannot reach each other's
// memory, everything between them by the recorder that plays NCCL and checks groups, counts, dtypes, roots and membership. Results
// are held to double precision (the suite that every backend passes) and to the cpu backend.
#include "app/engine/modelprograms.h"
#include "engine/cpu/backend.h"
#include "engine/nccl/ncclexecutor.h"
#include "tests/engine/keptvalues.h"
#include "tests/engine/ncclstandins.h"
#include "tests/engine/testprogram.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <cmath>
#include <csignal>
#include <map>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::nccl;
using shardboard::conformance::CaseResult;
using shardboard::conformance::ModelCase;
using shardboard::engine::nccl::test::OneProcess;
using namespace shardboard::engine::test;

namespace {

constexpr std::int64_t kGiB = std::int64_t { 1 } << 30;

/// What a machine can do is nothing that stand-ins tell, and takes them long to find out.
class Unmeasured : public NcclExecutor {
public:
    using NcclExecutor::NcclExecutor;
    MachineLimits measureLimits(TaskPool&) override { return {}; }
};

/// GPUs, NCCL and the executor over them.
struct Machine {
    explicit Machine(std::int64_t gpus, std::int64_t bytes = 4 * kGiB)
        : one(gpus, bytes)
        , process(one.functions(), one.split())
        , executor(std::make_unique<Unmeasured>(one.gpus(), process))
    {
    }
    std::size_t blocks() const
    {
        std::size_t sum = 0;
        for (std::size_t rank = 0; rank < one.gpus().size(); ++rank)
            sum += one.gpu(rank).blocks();
        return sum;
    }

    OneProcess one;
    Process process;
    std::unique_ptr<NcclExecutor> executor;
};

/// Never offered to users: these are no GPUs.
const Backend& standIn()
{
    static const Backend backend = [] {
        Backend out;
        out.name = "nccl-on-cpu";
        out.onGpus = true;
        out.claims = { DType::F32, DType::BF16 }; // F16 lies in memory as F32 does
        out.run = [](const RunRequest& request) {
            Machine machine(request.program.plan.mesh.deviceCount());
            return runProgram(request, *machine.executor);
        };
        return out;
    }();
    return backend;
}

const std::vector<conformance::Case>& cases()
{
    static const std::vector<conformance::Case> all = conformance::casesFor(standIn(), conformance::withModels());
    return all;
}

Program llama(const std::string& mesh, const std::string& preset, WorkloadKind workload = WorkloadKind::Prefill)
{
    const ModelCase of { "", mesh, preset, "llama", workload, 4, 6, workload == WorkloadKind::Train ? 2 : 1 };
    auto program = conformance::programOf(of, DType::BF16);
    if (!program.ok())
        throw std::runtime_error(program.error().text());
    return std::move(program).value();
}

} // namespace

class TestNcclRun : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void conforms_data()
    {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const conformance::Case& which : cases())
            QTest::addRow("%s, %d", which.name.c_str(), static_cast<int>(which.dtype)) << number++;
    }
    void conforms()
    {
        QFETCH(int, number);
        const CaseResult result =
            conformance::runCase(cases()[static_cast<std::size_t>(number)], standIn(), conformance::withModels());
        QVERIFY2(result.passed, result.message.c_str());
        QVERIFY(result.programs > 0);
    }

    void computesWhatTheCpuComputes_data()
    {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const ModelCase& one : conformance::modelCases(0))
            QTest::addRow("%s", one.name.c_str()) << number++;
    }
    void computesWhatTheCpuComputes()
    {
        QFETCH(int, number);
        const ModelCase one = conformance::modelCases(0)[static_cast<std::size_t>(number)];
        const auto program = sure(conformance::programOf(one, DType::F32));
        RunOptions options;
        options.verify = true;
        RunLimits poisoned;
        poisoned.poison = true;
        Values theirs;
        const RunOutcome expected = runOnCpu({ program, options, keeping(theirs), poisoned });
        QVERIFY2(failureOf(expected) == nullptr, told(expected).c_str());
        Values ours;
        Machine machine(program.plan.mesh.deviceCount());
        const RunOutcome outcome = runProgram({ program, options, keeping(ours), poisoned }, *machine.executor);
        QVERIFY2(failureOf(outcome) == nullptr, told(outcome).c_str());
        QVERIFY(std::get<RunResult>(outcome).verified);
        QCOMPARE(ours.size(), theirs.size());
        QVERIFY(ours.size() > 10);
        const double tolerance = one.workload == WorkloadKind::Train ? 1e-3 : 1e-4; // of shards whose values may happen to be small
        for (const auto& [name, values] : theirs) {
            QVERIFY2(ours.contains(name) && ours[name].size() == values.size(), name.c_str());
            QVERIFY2(distance(ours[name], values) <= tolerance,
                     (name + " " + std::to_string(distance(ours[name], values))).c_str());
        }
    }

    /// Every collective of the plan is made by NCCL's call of that name, on communicators over the mesh axes of the plan.
    void callsAreThoseOfThePlan()
    {
        const Program program = llama("data=2,model=2", "tp-sp", WorkloadKind::Train);
        Machine machine(4);
        const RunOutcome outcome = runProgram({ program, {} }, *machine.executor);
        QVERIFY2(failureOf(outcome) == nullptr, told(outcome).c_str());
        std::map<std::string, std::int64_t> executed;
        for (const RunOperation& operation : std::get<RunResult>(outcome).operations)
            executed[operation.kind] += operation.count;
        QVERIFY(executed["all-reduce"] > 0 && executed["all-gather"] > 0 && executed["reduce-scatter"] > 0);
        QCOMPARE(machine.one.calls[What::AllReduce], static_cast<int>(4 * executed["all-reduce"]));
        QCOMPARE(machine.one.calls[What::AllGather], static_cast<int>(4 * executed["all-gather"]));
        QCOMPARE(machine.one.calls[What::ReduceScatter], static_cast<int>(4 * executed["reduce-scatter"]));
        QCOMPARE(machine.one.calls[What::Reduce], 0);
        std::set<std::vector<std::vector<std::int64_t>>> groups;
        for (const Communicator& communicator : machine.one.communicators())
            QVERIFY(groups.insert(communicator.groups).second); // split once
        std::set<std::vector<std::vector<std::int64_t>>> wanted;
        for (const Collective& collective : program.plan.collectives)
            if (collective.kind != CollectiveKind::LocalSlice)
                wanted.insert(communicatorOf(program.plan.mesh, collective.axes).groups);
        QVERIFY(groups == wanted);
        QVERIFY(groups.contains({ { 0, 1 }, { 2, 3 } }) && groups.contains({ { 0, 2 }, { 1, 3 } }));
    }

    /// Devices of a stage are in its communicators alone, and GPUs that no device needs in none.
    void stagesSplitTheirOwn()
    {
        const Program program = llama("pipe=2,model=2", "pp-1f1b", WorkloadKind::Train);
        Machine machine(5);
        RunOptions options;
        options.verify = true;
        const RunOutcome outcome = runProgram({ program, options }, *machine.executor);
        QVERIFY2(failureOf(outcome) == nullptr, told(outcome).c_str());
        QVERIFY(std::get<RunResult>(outcome).verified);
        bool first = false;
        bool second = false;
        for (const Communicator& communicator : machine.one.communicators()) {
            first = first || communicator.color == std::vector<int> { 0, 0, -1, -1, -1 };
            second = second || communicator.color == std::vector<int> { -1, -1, 0, 0, -1 };
        }
        QVERIFY(first && second);
        QVERIFY(machine.one.calls[What::Send] > 0 && machine.one.calls[What::Send] == machine.one.calls[What::Receive]);
    }

    void aLostCollectiveIsFound()
    {
        for (const char* preset : { "megatron-tp", "tp-sp" }) {
            Machine machine(4);
            RunOptions options;
            options.verify = true;
            options.breakCollective = "any";
            const RunOutcome outcome = runProgram({ llama("data=2,model=2", preset), options }, *machine.executor);
            QVERIFY2(failureOf(outcome) == nullptr, told(outcome).c_str());
            QVERIFY(!std::get<RunResult>(outcome).verified && !std::get<RunResult>(outcome).firstDeviation.empty());
        }
    }

    void tooFewGpusAreCounted()
    {
        Machine machine(2);
        const RunOutcome outcome = runProgram({ llama("data=2,model=3", "megatron-tp"), {} }, *machine.executor);
        QVERIFY(failureOf(outcome) != nullptr);
        QCOMPARE(failureOf(outcome)->code, std::string("backend"));
        for (const char* part : { "has 6 devices", "are 2 GPUs", "4 are missing", "backend cuda", "at most 2 devices" })
            QVERIFY2(failureOf(outcome)->message.find(part) != std::string::npos, failureOf(outcome)->message.c_str());
        QCOMPARE(machine.one.groups, 0);
        QCOMPARE(machine.blocks(), std::size_t { 0 });
    }

    void memoryIsAnnouncedForEveryGpu()
    {
        const Program program = llama("data=2,model=2", "megatron-tp", WorkloadKind::Train);
        std::int64_t announced = 0;
        RunHooks hooks;
        hooks.announce = [&](std::int64_t bytes, double) { announced = bytes; };
        Machine machine(4);
        RunOptions options;
        options.verify = true;
        const RunOutcome outcome = runProgram({ program, options, hooks }, *machine.executor);
        QVERIFY2(failureOf(outcome) == nullptr, told(outcome).c_str());
        // What was announced is the arenas, which a run cannot leave, and what the libraries take on each GPU.
        QCOMPARE(announced, std::get<RunResult>(outcome).peakBytes + 4 * machine.executor->overheadBytes());
        // On each of these a communicator of all, from which those of the run are split.
        QCOMPARE(machine.executor->overheadBytes(),
                 (std::int64_t { 256 } << 20)
                     + static_cast<std::int64_t>(machine.process.communicators() + 1) * (std::int64_t { 128 } << 20));
        Machine small(4, machine.executor->overheadBytes() + 4096);
        const RunOutcome refused = runProgram({ program, options, hooks }, *small.executor);
        QVERIFY(failureOf(refused) != nullptr && failureOf(refused)->code == "memory");
        QVERIFY2(failureOf(refused)->message.find("GPU 0") != std::string::npos, failureOf(refused)->message.c_str());
        QCOMPARE(small.blocks(), std::size_t { 0 });
    }

    void profiles_data()
    {
        QTest::addColumn<bool>("serial");
        QTest::newRow("serial") << true;
        QTest::newRow("batched") << false;
    }
    void profiles()
    {
        QFETCH(bool, serial);
        const Program program = llama("data=2,model=2", "megatron-tp", WorkloadKind::Train);
        RunOptions options;
        options.steps = 2;
        options.profile = serial ? ProfileMode::Serial : ProfileMode::Batched;
        RunProfile profile;
        RunHooks hooks;
        hooks.profile = [&](const RunProfile& made) { profile = made; };
        Machine machine(4);
        const RunOutcome outcome = runProgram({ program, options, hooks }, *machine.executor);
        QVERIFY2(failureOf(outcome) == nullptr, told(outcome).c_str());
        QVERIFY(profile.mode == options.profile);
        QCOMPARE(profile.devices.size(), std::size_t { 4 });
        for (const ProfiledDevice& device : profile.devices) {
            QVERIFY(device.peakBytes > 0);
            QCOMPARE(device.peakBytes, device.announcedBytes);
        }
        std::set<std::string> kinds;
        for (const ProfileEvent& event : profile.events) {
            const ProfileOperation& operation = profile.operations[static_cast<std::size_t>(event.operation)];
            QVERIFY(!event.devices.empty() && event.seconds >= 0);
            if (!operation.collective)
                continue;
            kinds.insert(operation.kind);
            QVERIFY2(operation.bytes > 0 && operation.groupSize >= 2, operation.id.c_str());
            QCOMPARE(event.devices.size(), std::size_t { 4 });
            for (const DeviceSpan& span : event.devices)
                QVERIFY(span.seconds > 0 && span.end > span.start && span.start >= 0);
        }
        QVERIFY(kinds.contains("all-reduce"));
    }

    /// Wherever it happens: one error that says which call and where, and nothing stays taken.
    void anErrorEndsTheRun()
    {
        const Program program = llama("data=2,model=2", "tp-sp", WorkloadKind::Train);
        int calls = 0;
        {
            Machine machine(4);
            RunOptions options;
            options.verify = true;
            QVERIFY(failureOf(runProgram({ program, options }, *machine.executor)) == nullptr);
            for (const auto& [what, count] : machine.one.calls)
                calls += count;
        }
        QVERIFY(calls > 100);
        for (const int at : { 1, 2, calls / 3, calls / 2, calls }) {
            Machine machine(4);
            machine.one.failAt = at;
            RunOptions options;
            options.verify = true;
            const RunOutcome outcome = runProgram({ program, options }, *machine.executor);
            QVERIFY2(failureOf(outcome) != nullptr, std::to_string(at).c_str());
            QCOMPARE(failureOf(outcome)->code, std::string("internal"));
            QVERIFY2(failureOf(outcome)->message.find("nccl") == 0
                         && failureOf(outcome)->message.find("unhandled system error") != std::string::npos,
                     failureOf(outcome)->message.c_str());
            QVERIFY2(!failureOf(outcome)->where.empty() && failureOf(outcome)->where != "nccl", failureOf(outcome)->where.c_str());
            machine.executor.reset();
            QCOMPARE(machine.blocks(), std::size_t { 0 });
        }
    }

    void aHangEndsTheRun()
    {
        const Program program = llama("data=2,model=2", "megatron-tp");
        Machine machine(4);
        machine.executor->setPatience(0.05);
        machine.one.gpu(2).hangs = true;
        const RunOutcome outcome = runProgram({ program, {} }, *machine.executor);
        QVERIFY(failureOf(outcome) != nullptr);
        QCOMPARE(failureOf(outcome)->code, std::string("internal"));
        QVERIFY2(failureOf(outcome)->message.find("on GPU 2;") != std::string::npos, failureOf(outcome)->message.c_str());
        QVERIFY2(failureOf(outcome)->where.find("all-reduce") != std::string::npos, failureOf(outcome)->where.c_str());
        machine.executor.reset();
        QCOMPARE(machine.blocks(), std::size_t { 0 });
    }

    void cancels()
    {
        const Program program = llama("data=2,model=2", "megatron-tp", WorkloadKind::Train);
        for (const std::int64_t after : { 1, 7, 40 }) {
            Machine machine(4);
            std::atomic<bool> cancel = false;
            std::int64_t last = 0;
            RunHooks hooks;
            hooks.cancel = &cancel;
            hooks.progress = [&](std::int64_t step, std::int64_t, const std::string&) {
                last = step;
                cancel = step >= after;
            };
            RunOptions options;
            options.verify = true;
            const RunOutcome outcome = runProgram({ program, options, hooks }, *machine.executor);
            QVERIFY(failureOf(outcome) != nullptr);
            QCOMPARE(failureOf(outcome)->code, std::string("cancelled"));
            QCOMPARE(last, after);
            hooks.cancel = nullptr; // and the GPUs are there for the next run
            const RunOutcome again = runProgram({ program, options, hooks }, *machine.executor);
            QVERIFY2(failureOf(again) == nullptr, told(again).c_str());
            QVERIFY(std::get<RunResult>(again).verified);
            machine.executor.reset();
            QCOMPARE(machine.blocks(), std::size_t { 0 });
        }
    }

    /// Else the other tests would say nothing about whose memory is used.
    void standInsCannotReachEachOther()
    {
        const pid_t child = fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            std::signal(SIGSEGV, SIG_DFL);
            OneProcess one(2);
            std::byte* const mine = one.gpus()[0]->allocate(64);
            std::byte* const theirs = one.gpus()[1]->allocate(64);
            one.gpus()[0]->copy(mine, theirs, 64);
            _exit(0);
        }
        int status = 0;
        QCOMPARE(waitpid(child, &status, 0), child);
        QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        OneProcess one(2);
        std::byte* const theirs = one.gpus()[1]->allocate(64);
        int number = -1;
        QVERIFY(one.split()(everyone(2), number).empty() && number == 0);
        const auto functions = one.functions();
        QVERIFY(functions[0].groupStart().empty());
        QVERIFY(functions[0].allReduce(theirs, theirs, 16, Element::F32, ReduceOp::Sum, 0).find("another GPU")
                != std::string::npos);
    }
};

SHARDBOARD_TEST(TestNcclRun)
#include "tst_ncclrun.moc"
