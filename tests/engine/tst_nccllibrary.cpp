// SPDX-License-Identifier: Apache-2.0
// What this asks of NCCL itself (engine/nccl/library.h), held to a library of that name: communicators over several processes are
// joined without blocking and not used before they are ready, whoever waits can be stopped, and none is left.
#include "engine/cuda/hostruntime.h"
#include "engine/machine/failure.h"
#include "engine/nccl/library.h"
#include "engine/nccl/process.h"
#include "engine/nccl/rankplans.h"
#include "tests/engine/standinnccl.h"
#include "tests/support/runner.h"

#include <QTest>

#include <dlfcn.h>
#include <memory>

using namespace shardboard::engine;
using namespace shardboard::engine::nccl;

namespace {

StandInNccl& seen()
{
    static StandInNccl* const it = [] {
        // The one that is loaded already is found by its name.
        void* library = dlopen(qgetenv("SHARDBOARD_STANDINNCCL").constData(), RTLD_NOW | RTLD_GLOBAL);
        return library == nullptr ? nullptr : reinterpret_cast<StandInNccl* (*)()>(dlsym(library, "standInNccl"))();
    }();
    return *it;
}

struct Gpus {
    Gpus(std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i) {
            owned.push_back(std::make_unique<cuda::HostRuntime>(1 << 20));
            all.push_back(owned.back().get());
        }
    }
    std::vector<std::unique_ptr<cuda::HostRuntime>> owned;
    std::vector<cuda::Runtime*> all;
};

Library::Among among(std::size_t ranks, std::size_t first)
{
    return { ranks, first, [](std::size_t) { return std::string(); }, Library::uniqueId() };
}

/// An all-reduce of all ranks.
StepPlan reduceAll(const Communicator& communicator, std::size_t ranks)
{
    StepPlan plan;
    plan.communicators.push_back(communicator);
    plan.ranks.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (communicator.color[rank] < 0)
            continue;
        Call call;
        call.what = What::AllReduce;
        call.communicator = 0;
        call.count = 4;
        plan.ranks[rank].calls.push_back(call);
    }
    return plan;
}

} // namespace

class TestNcclLibrary : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        QVERIFY2(dlopen(qgetenv("SHARDBOARD_STANDINNCCL").constData(), RTLD_NOW | RTLD_GLOBAL) != nullptr, dlerror());
        seen() = {};
    }
    void cleanup()
    {
        if (seen().wrong != nullptr)
            QFAIL(seen().wrong);
        QCOMPARE(seen().aborted + seen().destroyed, seen().made); // none is left
    }

    void ofOneProcess()
    {
        Gpus gpus(3);
        {
            Library library(gpus.all);
            Process process(library.functions(),
                            [&](const Communicator& wanted, int& number) { return library.split(wanted, number); });
            Communicator two = everyone(3);
            two.color[2] = -1;
            two.groups = { { 0, 1 } };
            process.reshard(reduceAll(two, 3), std::vector<Buffers>(3));
            QCOMPARE(seen().calls, 2);
        }
        QCOMPARE(seen().made, 5);
        QCOMPARE(seen().blocking, 5);
        QCOMPARE(seen().destroyed, 5);
        QCOMPARE(seen().polls, 0);
    }

    void ofSeveralProcesses()
    {
        Gpus gpus(2);
        {
            Library library(gpus.all, among(6, 2), [] { return false; });
            QCOMPARE(seen().all, 6);
            QVERIFY(seen().ranks[0] == 2 && seen().ranks[1] == 3 && seen().made == 2 && seen().blocking == 0);
            QVERIFY(seen().polls >= 2);
            const auto functions = library.functions();
            QCOMPARE(functions.size(), std::size_t { 6 });
            for (std::size_t rank = 0; rank < 6; ++rank)
                QCOMPARE(static_cast<bool>(functions[rank].allReduce), rank == 2 || rank == 3);
            Process process(functions, [&](const Communicator& wanted, int& number) { return library.split(wanted, number); });
            Communicator some = everyone(6);
            some.color[3] = -1;
            some.groups = { { 0, 1, 2, 4, 5 } };
            for (const int round : { 0, 1 }) {
                process.reshard(reduceAll(some, 6), std::vector<Buffers>(6));
                QCOMPARE(seen().calls, round + 1); // of its own rank alone
                QCOMPARE(seen().made, 3); // split once
            }
            QCOMPARE(seen().splits, 2); // every own rank takes part in a split
            QVERIFY(seen().colors[0] == 0 && seen().colors[1] == -1);
            process.reshard(reduceAll(everyone(6), 6), std::vector<Buffers>(6));
            QCOMPARE(seen().calls, 4);
        }
        QCOMPARE(seen().aborted, seen().made); // to be destroyed it would take the others
    }

    void waitingIsStopped_data()
    {
        QTest::addColumn<int>("when");
        QTest::newRow("joining") << 0;
        QTest::newRow("splitting") << 1;
        QTest::newRow("calling") << 2;
    }
    void waitingIsStopped()
    {
        QFETCH(int, when);
        Gpus gpus(2);
        int looked = 0;
        const auto stopped = [&] { return seen().hangs && ++looked > 5; };
        seen().hangs = when == 0;
        bool was = false;
        try {
            Library library(gpus.all, among(4, 0), stopped);
            Process process(library.functions(),
                            [&](const Communicator& wanted, int& number) { return library.split(wanted, number); });
            if (when == 2)
                process.reshard(reduceAll(everyone(4), 4), std::vector<Buffers>(4));
            seen().hangs = true;
            process.reshard(reduceAll(everyone(4), 4), std::vector<Buffers>(4));
        } catch (const Stopped&) {
            was = true;
        }
        QVERIFY(was && looked > 5);
    }

    void errorsAreTold_data()
    {
        QTest::addColumn<bool>("later");
        QTest::newRow("at once") << false;
        QTest::newRow("when it is looked at") << true;
    }
    void errorsAreTold()
    {
        QFETCH(bool, later);
        Gpus gpus(2);
        Library library(gpus.all, among(4, 2), [] { return false; });
        Process process(library.functions(),
                        [&](const Communicator& wanted, int& number) { return library.split(wanted, number); });
        process.reshard(reduceAll(everyone(4), 4), std::vector<Buffers>(4));
        seen().failAt = later ? 0 : seen().calls + 2;
        seen().failsLater = later;
        std::string told;
        try {
            process.reshard(reduceAll(everyone(4), 4), std::vector<Buffers>(4));
        } catch (const Failure& failure) {
            told = failure.message;
        }
        QVERIFY2(told.find(later ? "remote process exited" : "ncclAllReduce: invalid argument") != std::string::npos, told.c_str());
        library.abandon();
        QCOMPARE(seen().aborted, seen().made);
    }

    void aProcessThatCannotJoinSaysSo()
    {
        Gpus gpus(2);
        Library::Among joining = among(4, 0);
        joining.choose = [](std::size_t own) { return std::string(own == 1 ? "no such GPU" : ""); };
        std::string told;
        try {
            Library library(gpus.all, joining, [] { return false; });
        } catch (const Failure& failure) {
            told = failure.message;
        }
        QVERIFY2(told.find("ncclCommInitRank: no such GPU") != std::string::npos, told.c_str());
        seen().failsLater = true;
        try {
            Library library(gpus.all, among(4, 0), [] { return false; });
        } catch (const Failure& failure) {
            told = failure.message;
        }
        QVERIFY2(told.find("remote process exited") != std::string::npos, told.c_str());
    }
};

SHARDBOARD_TEST(TestNcclLibrary)
#include "tst_nccllibrary.moc"
