// SPDX-License-Identifier: Apache-2.0
// The worker on several hosts, which hosts.sh makes on this machine: the numbers of one process bit for bit, times that are right
// although every host has its clock, and a host that is lost ends the run with one message. Skipped, with the reason, where there
// is no MPI or this user may make no namespaces.
#include "app/worker/askworker.h"
#include "app/worker/workerprocess.h"
#include "model/io/wire/messages.h"
#include "model/io/wire/profile.h"
#include "tests/app/worker/workermessages.h"
#include "tests/engine/testprogram.h"
#include "tests/support/runner.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <unistd.h>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

const std::string kHosts = SHARDBOARD_SOURCE_DIR "/tests/app/worker/hosts.sh";
const std::string kSlurm = SHARDBOARD_SOURCE_DIR "/tests/app/worker/slurm.sh";

std::string ctlPath() { return qEnvironmentVariable("SHARDBOARD_CTL_PATH").toStdString(); }

/// On hosts as `host1:2,host2:1`, started from the first one.
std::string command(const std::string& hosts, const std::string& arguments = {})
{
    const auto count = 1 + std::count(hosts.begin(), hosts.end(), ',');
    return "exec '" + kHosts + "' " + std::to_string(count) + " mpirun --oversubscribe --bind-to none --host " + hosts + " '"
        + enginePath() + "' " + arguments;
}

std::string read(const std::string& path)
{
    std::ifstream file(path);
    return { std::istreambuf_iterator<char>(file), {} };
}

/// All that a process has started, and what that has, by id: the words that it was started with. Ids are those out here.
std::map<pid_t, std::string> processesUnder(pid_t process)
{
    std::map<pid_t, std::string> out;
    const std::string id = std::to_string(process);
    std::istringstream children(read("/proc/" + id + "/task/" + id + "/children"));
    for (pid_t child = 0; children >> child;) {
        out[child] = read("/proc/" + std::to_string(child) + "/cmdline");
        out.merge(processesUnder(child));
    }
    return out;
}

bool allGone(const std::map<pid_t, std::string>& processes, int milliseconds = 5000)
{
    QElapsedTimer timer;
    timer.start();
    const auto lives = [](const auto& entry) { return !read("/proc/" + std::to_string(entry.first) + "/cmdline").empty(); };
    while (std::any_of(processes.begin(), processes.end(), lives)) {
        if (timer.elapsed() > milliseconds)
            return false;
        usleep(5000);
    }
    return true;
}

json hostsRequest(const Program& program, int id, RunOptions options = {})
{
    options.backend = "mpi";
    return runRequest(program, id, options);
}

} // namespace

class TestHosts : public QObject {
    Q_OBJECT

    std::unique_ptr<WorkerProcess> m_worker;

    void start(const std::string& hosts)
    {
        auto started = WorkerProcess::start(command(hosts));
        QVERIFY(started.ok());
        m_worker = std::move(started).value();
        const json hello = next("hello");
        QVERIFY2(hello.value("type", "") == "hello", hello.dump().c_str());
    }
    json next(const std::string& type, double seconds = 20) { return nextMessage(*m_worker, type, seconds); }

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY2(access(enginePath().c_str(), X_OK) == 0 && access(ctlPath().c_str(), X_OK) == 0,
                 "SHARDBOARD_ENGINE_PATH and SHARDBOARD_CTL_PATH must name them");
        QProcess trial;
        trial.start(QString::fromStdString(kHosts), { "1", "true" });
        if (!trial.waitForFinished(10000) || trial.exitCode() != 0)
            QSKIP(("no hosts can be made here: " + trial.readAllStandardError()).constData());
        if (const std::string why = whyNoMpi(command("host1:1,host2:1")); !why.empty())
            QSKIP(why.c_str());
    }
    void cleanup() { m_worker.reset(); }

    void isBitForBitOneProcess_data()
    {
        QTest::addColumn<QString>("hosts");
        QTest::addColumn<QString>("filter");
        QTest::newRow("two of two, changes of layout") << "host1:2,host2:2"
                                                       << "reshard: 11, f32";
        QTest::newRow("two of two, training") << "host1:2,host2:2"
                                              << "model: llama, training, f32";
        QTest::newRow("uneven, experts") << "host1:2,host2:1"
                                         << "mixtral, experts in training";
        QTest::newRow("three, ring attention in training") << "host1:1,host2:1,host3:1"
                                                           << "ring attention in training, f32";
    }
    void isBitForBitOneProcess()
    {
        QFETCH(QString, hosts);
        QFETCH(QString, filter);
        auto worker = WorkerProcess::start(
            command(hosts.toStdString(), "--conformance mpi --same-as cpu --filter '" + filter.toStdString() + "'"));
        QVERIFY(worker.ok());
        const std::string said = allWords(*worker.value(), 40);
        QVERIFY2(said.find(" 0 failed") != std::string::npos, said.c_str());
        QVERIFY2(said.find("mpi: 0 cases") == std::string::npos, "no case has that name");
    }

    /// The one who makes a design starts the hosts by name.
    void shardctlStartsThem()
    {
        const QTemporaryDir folder;
        const QString design = folder.filePath("d.shardboard");
        QProcess made;
        made.start(QString::fromStdString(ctlPath()),
                   { "new", "--model", "qwen3-0.6b", "--mesh", "model=4", "--preset", "megatron-tp", "--batch", "1", "--sequence",
                     "32", "-o", design });
        QVERIFY(made.waitForFinished(20000));
        QVERIFY2(made.exitCode() == 0, made.readAllStandardError().constData());
        QProcess run;
        run.start(QString::fromStdString(kHosts),
                  { "2", QString::fromStdString(ctlPath()), "run", design, "--backend", "mpi", "--hosts", "host1:1,host2:1",
                    "--layers", "1", "--no-ends", "--verify", "--json" });
        QVERIFY(run.waitForFinished(30000));
        QVERIFY2(run.exitCode() == 0, run.readAllStandardError().constData());
        const json result = json::parse(run.readAllStandardOutput().toStdString(), nullptr, false);
        QVERIFY2(result.is_object() && result.dump().find("\"verified\":true") != std::string::npos,
                 result.dump().substr(0, 400).c_str());
    }

    /// The hosts' clocks are days apart, and a collective between them takes the time of its messages.
    void timesAreThoseOfOneClockWithAllMessages()
    {
        start("host1:1,host2:1");
        RunOptions options;
        options.steps = 3;
        options.profile = ProfileMode::Batched;
        TestDesign design;
        design.mesh = "data=1,model=2"; // every collective is between the hosts
        design.workload = { WorkloadKind::Prefill, 4, 512, DType::BF16 };
        QElapsedTimer timer;
        timer.start();
        QVERIFY(m_worker->send(hostsRequest(programOf(design), 1, options)).ok());
        const json result = next("result");
        const double most = static_cast<double>(timer.elapsed()) / 1000;
        QVERIFY2(result.contains("profile"), result.dump().substr(0, 300).c_str());
        const auto profile = profileFromJson(result["profile"]);
        QVERIFY(profile.ok());
        std::map<std::int64_t, std::pair<double, double>> ends; // of each device
        bool collective = false;
        for (const ProfileEvent& event : profile.value().events) {
            const ProfileOperation& operation = profile.value().operations[static_cast<std::size_t>(event.operation)];
            double cores = 0;
            for (const DeviceSpan& span : event.devices) {
                QVERIFY2(span.start >= 0 && span.end <= most,
                         (operation.id + " from " + std::to_string(span.start) + " to " + std::to_string(span.end)).c_str());
                cores = std::max(cores, span.seconds);
                ends[span.device].second = std::max(ends[span.device].second, span.end);
            }
            if (!operation.collective || operation.kind == "local-slice")
                continue;
            collective = true;
            // A message and its answer need tens of microseconds beside what cores spend on the sums.
            QVERIFY2(event.seconds > cores + 10e-6, (operation.id + " takes " + std::to_string(event.seconds)).c_str());
            QVERIFY2(event.wallSeconds >= event.seconds - cores, operation.id.c_str());
        }
        QVERIFY(collective);
        QCOMPARE(ends.size(), std::size_t { 2 });
        // All devices are busy until the last operation.
        QVERIFY2(std::fabs(ends.begin()->second.second - ends.rbegin()->second.second) < 1, "the clocks were not compared");
    }

    void cancelReachesAllHosts()
    {
        start("host1:2,host2:2");
        QVERIFY(m_worker->send(lasting(hostsRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
        QVERIFY(next("error")["code"] == "cancelled");
        RunOptions options;
        options.verify = true;
        QVERIFY(m_worker->send(hostsRequest(programOf({}), 2, options)).ok());
        QVERIFY(next("result")["run"]["verified"] == true);
    }

    void aLostHostEndsTheRunWithOneMessage()
    {
        start("host1:2,host2:2");
        QVERIFY(m_worker->send(lasting(hostsRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        const auto all = processesUnder(m_worker->pid());
        const auto isIt = [](const auto& entry) { return entry.second.starts_with(std::string("host2\0", 6)); };
        const auto host = std::find_if(all.begin(), all.end(), isIt);
        QVERIFY(host != all.end());
        const auto workers =
            std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.second.starts_with(enginePath()); });
        QCOMPARE(static_cast<int>(workers), 4);
        kill(host->first, SIGKILL);
        const json end = next("error");
        const std::string said = end["message"].get<std::string>();
        QVERIFY2(said.find("host2") != std::string::npos, said.c_str());
        QVERIFY2(said.find("peer") == std::string::npos, said.c_str()); // not what others notice of it
        m_worker.reset();
        QVERIFY(allGone(all));
    }

    /// Its connections stay open, and nobody hears from it any more.
    void aSilentHostIsNamed()
    {
        qputenv("SHARDBOARD_MPI_SILENCE", "2");
        start("host1:2,host2:1");
        qunsetenv("SHARDBOARD_MPI_SILENCE");
        QVERIFY(m_worker->send(lasting(hostsRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        const auto all = processesUnder(m_worker->pid());
        // What mpirun has on the other host, and what that has started.
        const auto daemon = std::find_if(all.begin(), all.end(),
                                         [](const auto& entry) { return entry.second.starts_with(std::string("orted\0", 6)); });
        QVERIFY(daemon != all.end());
        const auto there = processesUnder(daemon->first);
        const auto worker =
            std::find_if(there.begin(), there.end(), [](const auto& entry) { return entry.second.starts_with(enginePath()); });
        QVERIFY(worker != there.end());
        kill(worker->first, SIGSTOP);
        const json end = next("error");
        QVERIFY2(end["message"].get<std::string>().find("rank 2 on host2 was lost") != std::string::npos, end.dump().c_str());
        m_worker.reset();
        QVERIFY(allGone(all));
    }

    void nothingIsLeftWhenItsInputCloses()
    {
        start("host1:2,host2:2");
        QVERIFY(m_worker->send(lasting(hostsRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        const auto all = processesUnder(m_worker->pid());
        m_worker.reset();
        QVERIFY(allGone(all));
    }

    /// As `shardctl --engine "srun …"` starts it; and where srun is not told to start MPI, that is said.
    void slurmStartsIt()
    {
        QProcess trial;
        trial.start(QString::fromStdString(kSlurm), { "2", "srun", "-N", "2", "-n", "2", "--mpi=pmix", "true" });
        if (!trial.waitForFinished(20000) || trial.exitCode() != 0)
            QSKIP(("no SLURM here: " + trial.readAllStandardError()).constData());
        auto started =
            WorkerProcess::start("exec '" + kSlurm + "' 2 srun -N 2 -n 3 --mpi=pmix --kill-on-bad-exit=1 '" + enginePath() + "'");
        QVERIFY(started.ok());
        m_worker = std::move(started).value();
        const json hello = next("hello");
        QVERIFY2(hello.value("type", "") == "hello", hello.dump().c_str());
        RunOptions options;
        options.verify = true;
        QVERIFY(m_worker->send(hostsRequest(programOf({}), 1, options)).ok());
        QVERIFY(next("result")["run"]["verified"] == true);
        QVERIFY(m_worker->send(lasting(hostsRequest(slowProgram(), 2))).ok());
        QVERIFY(!next("progress").is_null());
        const auto all = processesUnder(m_worker->pid());
        const auto worker =
            std::find_if(all.rbegin(), all.rend(), [](const auto& entry) { return entry.second.starts_with(enginePath()); });
        QVERIFY(worker != all.rend());
        kill(worker->first, SIGKILL);
        const json end = next("error");
        const std::string said = end["message"].get<std::string>();
        QVERIFY2(said.find("Killed") != std::string::npos || said.find("rank") != std::string::npos, said.c_str());
        m_worker.reset();
        QVERIFY(allGone(all));
        std::atomic<bool> cancel { false };
        const auto answer = askWorker("exec '" + kSlurm + "' 1 srun -n 1 --mpi=none '" + enginePath() + "'",
                                      hostsRequest(programOf({}), 1), {}, cancel);
        QVERIFY(!answer.ok());
        QVERIFY2(answer.error().text().find("--mpi=pmix") != std::string::npos, answer.error().text().c_str());
    }

    void saysWhenAHostHasNoWorker()
    {
        std::atomic<bool> cancel { false };
        const auto answer = askWorker("exec '" + kHosts + "' 2 mpirun --host host1:1,host2:1 /nowhere/shardboard-engine",
                                      { { "type", "run" } }, {}, cancel);
        QVERIFY(!answer.ok());
        const std::string said =
            answer.error().text(); // which mpirun says on standard error; on standard output it says other things
        QVERIFY2(said.find("mpirun was unable to launch the specified application") != std::string::npos, said.c_str());
    }
};

SHARDBOARD_TEST(TestHosts)
#include "tst_hosts.moc"
