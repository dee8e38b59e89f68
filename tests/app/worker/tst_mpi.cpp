// SPDX-License-Identifier: Apache-2.0
// The worker as several processes that mpirun starts: the same numbers as one process bit for bit, and whatever happens to one of
// them, the client hears of it once and no process is left. Skipped where there is no mpirun or the build has no MPI.
#include "app/worker/workercommand.h"
#include "app/worker/workerprocess.h"
#include "model/io/wire/calibration.h"
#include "model/io/wire/messages.h"
#include "tests/app/worker/workermessages.h"
#include "tests/engine/testprogram.h"
#include "tests/support/runner.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <dirent.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

/// As shardctl would start it, but the worker of the build and not the one beside this test. `hosts`: how many processes pretend
/// to be a host; empty: all of them are on one.
std::string command(int ranks, const std::string& hosts = {}, const std::string& arguments = {})
{
    std::string line = "exec env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
    if (!hosts.empty())
        line += "SHARDBOARD_MPI_HOSTS=" + hosts + " ";
    line += "mpirun -n " + std::to_string(ranks) + " --oversubscribe --bind-to none --mca btl self,vader ";
    return line + "'" + enginePath() + "' " + arguments;
}

json mpiRequest(const Program& program, int id, bool verify = false)
{
    RunOptions options;
    options.backend = "mpi";
    options.verify = verify;
    return runRequest(program, id, options);
}

/// What the system tells of a process: its state and its parent. Nothing of one that has ended, whether or not somebody has asked
/// for its exit status yet.
std::optional<pid_t> parentOf(pid_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    if (!std::getline(file, text))
        return std::nullopt;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    char state = 'X';
    pid_t parent = 0;
    rest >> state >> parent;
    return state == 'Z' || state == 'X' ? std::nullopt : std::optional(parent);
}

/// The processes that a process has started and that run still.
std::vector<pid_t> childrenOf(pid_t parent)
{
    std::vector<pid_t> out;
    DIR* folder = opendir("/proc");
    while (const dirent* entry = folder != nullptr ? readdir(folder) : nullptr) {
        const pid_t process = static_cast<pid_t>(std::atoi(entry->d_name));
        if (process > 0 && parentOf(process) == parent)
            out.push_back(process);
    }
    if (folder != nullptr)
        closedir(folder);
    return out;
}

/// Memory of a process that is in use, its part of what it shares with others.
std::int64_t proportionalBytes(pid_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
    std::int64_t kibibytes = 0;
    for (std::string word; file >> word;)
        if (word == "Pss:")
            file >> kibibytes;
    return kibibytes * 1024;
}

/// Whether all of them have ended within that time.
bool allGone(const std::vector<pid_t>& processes, int milliseconds = 5000)
{
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < milliseconds) {
        bool any = false;
        for (const pid_t process : processes)
            any = any || parentOf(process).has_value();
        if (!any)
            return true;
        usleep(5000);
    }
    return false;
}

} // namespace

/// QCOMPARE cannot print these.
#define SAME(actual, expected) QVERIFY((actual) == (expected))

class TestMpi : public QObject {
    Q_OBJECT

    std::unique_ptr<WorkerProcess> m_worker;

    void start(int ranks, const std::string& hosts = {})
    {
        auto started = WorkerProcess::start(command(ranks, hosts));
        QVERIFY(started.ok());
        m_worker = std::move(started).value();
        QVERIFY(!next("hello", 30).is_null());
    }
    json next(const std::string& type, double seconds = 30) { return nextMessage(*m_worker, type, seconds); }

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY2(access(enginePath().c_str(), X_OK) == 0, "SHARDBOARD_ENGINE_PATH must name the worker");
        if (const auto launcher = engineCommandFor("mpi", {}, 2); !launcher.ok())
            QSKIP("there is no mpirun here");
        if (const std::string why = whyNoMpi(command(2)); !why.empty())
            QSKIP(why.c_str());
    }
    void cleanup() { m_worker.reset(); }

    void startsAsShardctlDoes()
    {
        const auto made = engineCommandFor("mpi", { "", 3, "" }, 8);
        QVERIFY(made.ok() && made.value().find("mpirun -n 3 ") != std::string::npos);
        QCOMPARE(engineCommandFor("mpi", { "srun -n 8 shardboard-engine", 0, "" }, 8).value(),
                 std::string("srun -n 8 shardboard-engine"));
        QCOMPARE(engineCommandFor("cpu", {}, 8).value(), std::string());
        QCOMPARE(engineCommandFor("nccl", {}, 8).value(), std::string()); // one process drives all GPUs
        QVERIFY(engineCommandFor("nccl", { "", 2, "" }, 8).value().find("mpirun -n 2 ") != std::string::npos);
        QVERIFY(engineCommandFor("mpi", {}, 1).value().find("mpirun -n 1 ") != std::string::npos);
        // On hosts as many as these have room for, by whatever connects them.
        const std::string far = engineCommandFor("mpi", { "", 0, "a:2,b:2" }, 8).value();
        QVERIFY2(far.find("--host 'a:2,b:2'") != std::string::npos && far.find(" -n ") == std::string::npos
                     && far.find("btl") == std::string::npos,
                 far.c_str());
        const std::string listed = engineCommandFor("mpi", { "", 3, SHARDBOARD_SOURCE_DIR "/LICENSE" }, 8).value();
        QVERIFY2(listed.find("mpirun -n 3 ") != std::string::npos && listed.find("--hostfile '") != std::string::npos,
                 listed.c_str());
        // A folder here that has the name of a host is no hostfile.
        const QTemporaryDir folder;
        const std::string before = std::filesystem::current_path();
        std::filesystem::create_directory(folder.path().toStdString() + "/node1");
        std::filesystem::current_path(folder.path().toStdString());
        const std::string named = engineCommandFor("mpi", { "", 0, "node1" }, 8).value();
        std::filesystem::current_path(before);
        QVERIFY2(named.find("--host 'node1'") != std::string::npos, named.c_str());
    }

    void isBitForBitOneProcess_data()
    {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<QString>("hosts");
        QTest::addColumn<QString>("filter");
        QTest::newRow("one process") << 1 << ""
                                     << "model: llama, training, f32";
        QTest::newRow("two, changes of layout") << 2 << ""
                                                << "reshard: 1";
        QTest::newRow("three, which does not divide") << 3 << ""
                                                      << "model: llama on eight";
        QTest::newRow("four, pipeline") << 4 << ""
                                        << "pipeline of all parts, bf16";
        QTest::newRow("four, ring attention in training") << 4 << ""
                                                          << "ring attention in training, f32";
        QTest::newRow("four, experts") << 4 << ""
                                       << "mixtral, experts cut, bf16";
        QTest::newRow("three hosts, changes of layout") << 3 << "rank"
                                                        << "reshard: 11";
        QTest::newRow("three hosts, ring attention in training") << 3 << "rank"
                                                                 << "ring attention in training, f32";
        QTest::newRow("three hosts, experts") << 3 << "rank"
                                              << "mixtral, experts in training, f32";
        QTest::newRow("three hosts, pipeline") << 3 << "rank"
                                               << "model: llama, pipeline, f32";
        QTest::newRow("two hosts of two") << 4 << "2"
                                          << "model: llama, training, f32";
        QTest::newRow("more processes than devices") << 6 << "3"
                                                     << "model: llama, sequence parallel, f32";
    }
    void isBitForBitOneProcess()
    {
        QFETCH(int, ranks);
        QFETCH(QString, hosts);
        QFETCH(QString, filter);
        auto worker = WorkerProcess::start(
            command(ranks, hosts.toStdString(), "--conformance mpi --same-as cpu --filter '" + filter.toStdString() + "'"));
        QVERIFY(worker.ok());
        const std::string said = allWords(*worker.value(), 60);
        QVERIFY2(said.find(" 0 failed") != std::string::npos, said.c_str());
        QVERIFY2(said.find("mpi: 0 cases") == std::string::npos, "no case has that name");
    }

    void verifiesAndAnnounces_data()
    {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<QString>("hosts");
        QTest::newRow("one host") << 3 << "";
        QTest::newRow("three hosts") << 3 << "rank";
    }
    void verifiesAndAnnounces()
    {
        QFETCH(int, ranks);
        QFETCH(QString, hosts);
        start(ranks, hosts.toStdString());
        TestDesign design;
        design.mesh = "data=2,model=4";
        QVERIFY(m_worker->send(mpiRequest(programOf(design), 1, true)).ok());
        const json announced = next("announce");
        QCOMPARE(announced["by_process"].size(), std::size_t { 3 });
        std::int64_t sum = 0;
        for (const json& bytes : announced["by_process"])
            sum += bytes.get<std::int64_t>();
        QCOMPARE(sum, announced["bytes"].get<std::int64_t>());
        const json result = next("result");
        QVERIFY2(result.contains("run"), result.dump().c_str());
        SAME(result["run"]["verified"], true);
        SAME(result["run"]["backend"], "mpi");
        SAME(result["run"]["devices"], 8);
        QVERIFY(result["run"]["step_seconds"]["median"].get<double>() > 0);
        QVERIFY(result["run"]["peak_bytes"].get<std::int64_t>() <= sum);
    }

    /// Processes that only wait have memory, too.
    void aCalibrationTakesNoMoreMemoryThanAnnounced()
    {
        start(12);
        CalibrationOptions options;
        options.backend = "mpi";
        options.quick = true;
        QVERIFY(m_worker->send({ { "type", "calibrate" }, { "id", 1 }, { "options", toJson(options) } }).ok());
        const json announced = next("announce");
        QVERIFY2(announced.contains("bytes"), announced.dump().c_str());
        const std::vector<pid_t> processes = childrenOf(m_worker->pid());
        QCOMPARE(processes.size(), std::size_t { 12 });
        std::int64_t most = 0;
        QElapsedTimer timer;
        timer.start();
        json end;
        while (!end.is_object() && timer.elapsed() < 90000) {
            end = next("result", 0.1);
            std::int64_t sum = 0;
            for (const pid_t process : processes)
                sum += proportionalBytes(process);
            most = std::max(most, sum);
        }
        QVERIFY2(end.contains("calibration"), end.dump().substr(0, 300).c_str());
        QVERIFY2(most > 0 && most <= announced["bytes"].get<std::int64_t>(),
                 (std::to_string(most >> 20) + " MiB of " + std::to_string(announced["bytes"].get<std::int64_t>() >> 20)).c_str());
    }

    void findsABrokenCollective()
    {
        start(4);
        json request = mpiRequest(programOf({}), 1, true);
        request["options"]["break_collective"] = "any";
        QVERIFY(m_worker->send(request).ok());
        const json result = next("result");
        QVERIFY2(result.contains("run"), result.dump().c_str());
        SAME(result["run"]["verified"], false);
    }

    void profilesEveryDevice()
    {
        start(2);
        for (const char* mode : { "batched", "serial" }) {
            json request = mpiRequest(programOf({}), 1);
            request["options"]["profile"] = mode;
            QVERIFY(m_worker->send(request).ok());
            const json result = next("result");
            QVERIFY2(result.contains("profile"), result.dump().substr(0, 300).c_str());
            std::set<std::int64_t> devices;
            for (const json& event : result["profile"]["events"])
                for (const json& span : event[6])
                    devices.insert(span[0].get<std::int64_t>());
            QCOMPARE(devices.size(), std::size_t { 6 });
        }
    }

    void answersWhatItCannotDo()
    {
        start(3);
        QVERIFY(m_worker->send({ { "type", "dance" }, { "id", 1 } }).ok());
        SAME(next("error")["code"], "unknown-request");
        json bad = mpiRequest(programOf({}), 2);
        bad["plan"] = json::object();
        QVERIFY(m_worker->send(bad).ok());
        SAME(next("error")["code"], "bad-plan");
        json steps = mpiRequest(programOf({}), 3);
        steps["options"]["break_collective"] = "no such thing"; // found out by all alike
        QVERIFY(m_worker->send(steps).ok());
        const json error = next("error");
        SAME(error["code"], "bad-plan");
        QVERIFY(error["message"].get<std::string>().find("rank") == std::string::npos);
        QVERIFY(m_worker->send(mpiRequest(programOf({}), 4)).ok());
        SAME(next("result")["id"], 4);
    }

    void cancelAnswersSoon()
    {
        start(4);
        for (int round = 0; round < 3; ++round) {
            QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
            SAME(next("progress")["id"], 1);
            QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
            const json answer = next("error", 60);
            SAME(answer["code"], "cancelled");
        }
        QVERIFY(m_worker->send(mpiRequest(programOf({}), 3, true)).ok());
        const json result = next("result");
        SAME(result["id"], 3);
        SAME(result["run"]["verified"], true);
    }

    void cancelReachesOtherHosts()
    {
        start(3, "rank");
        QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
        SAME(next("progress")["id"], 1);
        QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
        SAME(next("error", 20)["code"], "cancelled");
        QVERIFY(m_worker->send(mpiRequest(programOf({}), 2, true)).ok());
        SAME(next("result")["run"]["verified"], true);
    }

    void quitEndsAllDuringARun()
    {
        start(4);
        QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        const auto ranks = childrenOf(m_worker->pid());
        QCOMPARE(ranks.size(), std::size_t { 4 });
        QVERIFY(m_worker->send({ { "type", "quit" }, { "id", 2 } }).ok());
        const json end = next("never", 15);
        QVERIFY2(end["message"].get<std::string>().find("exit status 0") != std::string::npos, end.dump().c_str());
        QVERIFY(allGone(ranks));
    }

    void leavesWhenItsInputCloses()
    {
        for (const bool running : { false, true }) {
            start(4);
            if (running) {
                QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
                QVERIFY(!next("progress").is_null());
            }
            auto all = childrenOf(m_worker->pid());
            QCOMPARE(all.size(), std::size_t { 4 });
            all.push_back(m_worker->pid());
            m_worker.reset();
            QVERIFY(allGone(all));
        }
    }

    void aKilledProcessEndsTheRunWithOneMessage()
    {
        for (const std::size_t which : { 0u, 2u }) {
            start(4);
            QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
            QVERIFY(!next("progress").is_null());
            const auto ranks = childrenOf(m_worker->pid());
            QCOMPARE(ranks.size(), std::size_t { 4 });
            kill(ranks[which], SIGKILL);
            // mpirun is faster than we are, or we are.
            json end = next("error", 60);
            const std::string said = end["message"].get<std::string>();
            QVERIFY2(said.find("signal 9") != std::string::npos || said.find("rank") != std::string::npos, said.c_str());
            m_worker.reset();
            QVERIFY(allGone(ranks));
        }
    }

    void nothingIsLeftOfAKilledLauncher()
    {
        start(4);
        QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        const auto ranks = childrenOf(m_worker->pid());
        QCOMPARE(ranks.size(), std::size_t { 4 });
        kill(m_worker->pid(), SIGKILL);
        QVERIFY(allGone(ranks));
        SAME(next("never", 5)["type"], "ended");
    }

    void survivesWhateverComesWhenever()
    {
        std::mt19937 random(7);
        std::vector<pid_t> all;
        for (int trial = 0; trial < 6; ++trial) {
            start(3, trial % 3 == 2 ? "rank" : "");
            const auto ranks = childrenOf(m_worker->pid());
            all.insert(all.end(), ranks.begin(), ranks.end());
            QVERIFY(m_worker->send(lasting(mpiRequest(slowProgram(), 1))).ok());
            usleep(static_cast<useconds_t>(random() % 400000));
            const unsigned what = random() % 4;
            if (what == 0 && !ranks.empty())
                kill(ranks[random() % ranks.size()], SIGKILL);
            else if (what == 1)
                (void)m_worker->send({ { "type", "cancel" }, { "id", 1 } }); // it may have ended
            else if (what == 2)
                (void)m_worker->send({ { "type", "run" }, { "id", 5 }, { "plan", 3 } });
            usleep(static_cast<useconds_t>(random() % 100000));
            m_worker.reset();
        }
        QVERIFY(allGone(all));
    }

    void saysWhatIsMissingWhereItWasStartedAlone()
    {
        auto started = WorkerProcess::start("exec '" + enginePath() + "'");
        QVERIFY(started.ok());
        m_worker = std::move(started).value();
        QVERIFY(m_worker->send(mpiRequest(programOf({}), 1)).ok());
        const json error = next("error");
        SAME(error["code"], "backend");
        QVERIFY2(error["message"].get<std::string>().find("mpirun") != std::string::npos, error.dump().c_str());
    }
};

SHARDBOARD_TEST(TestMpi)
#include "tst_mpi.moc"
