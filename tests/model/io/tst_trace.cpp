// SPDX-License-Identifier: Apache-2.0
// Traces of others are read as they are written, damaged ones give one line or what they have, and collectives find the plan's.
#include "model/io/json/jsoncursor.h"
#include "model/io/trace/collectivenames.h"
#include "model/io/trace/matchtrace.h"
#include "model/io/trace/readtrace.h"
#include "model/io/trace/traceevent.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <random>

using namespace shardboard;

namespace {

/// A text in pieces of `size` bytes, as a slow disk would give it.
JsonSource inPieces(const std::string& text, std::size_t size)
{
    return [&text, size, at = std::size_t { 0 }](char* buffer, std::size_t room) mutable -> std::size_t {
        const std::size_t count = std::min({ size, room, text.size() - at });
        std::copy_n(text.data() + at, count, buffer);
        at += count;
        return count;
    };
}

Result<Trace> traceOf(const std::string& text) { return parseTrace(jsonSource(text), "t.json"); }

std::string slice(int process, int thread, const char* name, double start, double duration, const char* more = "")
{
    return "{\"ph\":\"X\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) + ",\"name\":\"" + name
        + "\",\"ts\":" + std::to_string(start) + ",\"dur\":" + std::to_string(duration) + more + "}";
}

} // namespace

class TestTrace : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The same events however the bytes come.
    void piecesDoNotMatter()
    {
        std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
        for (int i = 0; i < 50; ++i)
            text += slice(1, i % 3, i % 2 == 0 ? "a \\\"b\\\" \\u00e9\\ud83d\\ude00" : "c", 4614299655666.137 + i, 0.5,
                          R"(,"args":{"deep":[1,{"x":[null,true,-1.5e3]}],"Group size":4})")
                + ",\n";
        text += "{}],\"other\":{\"z\":1}}";
        const auto whole = traceOf(text);
        QVERIFY2(whole.ok(), whole.ok() ? "" : whole.error().text().c_str());
        QCOMPARE(whole.value().slices.size(), std::size_t { 50 });
        QCOMPARE(whole.value().names.front(), std::string("a \"b\" \xC3\xA9\xF0\x9F\x98\x80"));
        for (const std::size_t size : { 1U, 2U, 3U, 7U, 64U, 1000U }) {
            const auto pieces = parseTrace(inPieces(text, size), "t.json");
            QVERIFY2(pieces.ok(), pieces.ok() ? "" : pieces.error().text().c_str());
            QCOMPARE(pieces.value().names, whole.value().names);
            for (std::size_t i = 0; i < 50; ++i)
                QCOMPARE(pieces.value().slices[i].start, whole.value().slices[i].start);
        }
    }

    void nanosecondsAreExact_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qint64>("nanoseconds");
        QTest::newRow("whole") << QStringLiteral("12") << qint64 { 12000 };
        QTest::newRow("since 1970") << QStringLiteral("1790857026123456.789") << qint64 { 1790857026123456789 };
        QTest::newRow("one digit") << QStringLiteral("1.5") << qint64 { 1500 };
        QTest::newRow("more digits") << QStringLiteral("1.23456") << qint64 { 1234 };
        QTest::newRow("negative") << QStringLiteral("-0.5") << qint64 { -500 };
        QTest::newRow("negative whole") << QStringLiteral("-2.25") << qint64 { -2250 };
        QTest::newRow("exponent") << QStringLiteral("1.5e3") << qint64 { 1500000 };
    }
    void nanosecondsAreExact()
    {
        QFETCH(QString, text);
        QFETCH(qint64, nanoseconds);
        std::int64_t out = 0;
        QVERIFY(nanosecondsOf(text.toStdString(), out));
        QCOMPARE(qint64 { out }, nanoseconds);
    }
    void whatIsNoTimeIsRefused()
    {
        std::int64_t out = 0;
        for (const char* text : { "", "x", "1e40", "-", "9300000000000000000", "1.2.3", "nan" })
            QVERIFY2(!nanosecondsOf(text, out), text);
    }

    /// Against a sweep over all points in time: depth, and how long a lane is busy.
    void depthAndBusyTime()
    {
        std::mt19937 random(7);
        for (int round = 0; round < 50; ++round) {
            std::string text = "[";
            std::vector<std::pair<int, int>> spans; // nested: [a, b) within the one before, or after it
            std::vector<int> covered(400, 0);
            int at = 0;
            while (at < 300) {
                const int length = 1 + static_cast<int>(random() % 60);
                int begin = at;
                int end = at + length;
                while (end - begin > 0) {
                    text += slice(1, 1, "s", begin, end - begin) + ",";
                    spans.emplace_back(begin, end);
                    for (int t = begin; t < end; ++t)
                        ++covered[static_cast<std::size_t>(t)];
                    begin += 1 + static_cast<int>(random() % 5);
                    end -= static_cast<int>(random() % 5);
                }
                at += length + static_cast<int>(random() % 10);
            }
            text.back() = ']';
            const auto trace = traceOf(text);
            QVERIFY(trace.ok());
            const TraceLane& lane = trace.value().lanes.front();
            QCOMPARE(lane.count, spans.size());
            QCOMPARE(static_cast<int>(lane.depth), *std::ranges::max_element(covered));
            QCOMPARE(lane.busy, 1000 * static_cast<std::int64_t>(std::ranges::count_if(covered, [](int n) { return n > 0; })));
        }
    }

    void beginsAndEnds()
    {
        const auto trace =
            traceOf(R"([{"ph":"B","pid":1,"tid":1,"ts":1,"name":"outer"},{"ph":"B","pid":1,"tid":1,"ts":2,"name":"inner"},
{"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"E","pid":1,"tid":1,"ts":6},
{"ph":"B","pid":1,"tid":2,"ts":4,"name":"never ends"},{"ph":"s","pid":1,"tid":1,"ts":1,"id":1,"name":"f"}])");
        QVERIFY(trace.ok());
        QCOMPARE(trace.value().slices.size(), std::size_t { 3 });
        QCOMPARE(trace.value().slices[0].duration, std::int64_t { 4000 });
        QCOMPARE(trace.value().slices[1].duration, std::int64_t { 1000 });
        QCOMPARE(trace.value().slices[1].depth, 1U);
        QCOMPARE(trace.value().slices[2].end(), trace.value().end);
        QCOMPARE(trace.value().notes.size(), std::size_t { 3 });
    }

    void lanesHaveNamesAndOrder()
    {
        const auto trace = traceOf("[" + slice(2, 10, "x", 1, 1) + "," + slice(2, 9, "x", 1, 1) + "," + slice(1, 1, "x", 1, 1)
                                   + R"(,{"ph":"M","pid":1,"name":"process_name","args":{"name":"GPU 0"}},
{"ph":"M","pid":1,"name":"process_sort_index","args":{"sort_index":0}},{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"stream 7"}}])");
        QVERIFY(trace.ok());
        const auto& lanes = trace.value().lanes;
        QCOMPARE(lanes[0].process + "/" + lanes[0].thread, std::string("GPU 0/stream 7"));
        QCOMPARE(lanes[1].process + "/" + lanes[1].thread, std::string("2/9"));
        QCOMPARE(lanes[2].thread, std::string("10"));
    }

    void countersAreKept()
    {
        const auto trace = traceOf(R"([{"ph":"C","pid":1,"ts":5,"name":"memory","args":{"bytes":2}},
{"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":7}},
{"ph":"i","pid":3,"ts":2,"name":"[memory]","args":{"Total Allocated":9,"Device Id":0}}])");
        QVERIFY(trace.ok());
        QCOMPARE(trace.value().counters.size(), std::size_t { 2 });
        QCOMPARE(trace.value().counters[0].values, (std::vector<double> { 7, 2 }));
        QCOMPARE(trace.value().counters[0].times.front(), std::int64_t { 0 });
        QCOMPARE(trace.value().counters[1].values, std::vector<double> { 9 });
    }

    void namesOfCollectives_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("category");
        QTest::addColumn<QString>("kind");
        const auto row = [](const char* name, const char* category, const char* kind) {
            QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(category) << QString::fromLatin1(kind);
        };
        row("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "kernel", "all-gather");
        row("ncclKernel_AllReduce_RING_LL_Sum_float", "kernel", "all-reduce");
        row("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "kernel", "send-recv");
        row("nccl:_reduce_scatter_base", "user_annotation", "reduce-scatter");
        row("c10d::_allgather_base_", "cpu_op", "all-gather");
        row("c10d::alltoall_base_", "cpu_op", "all-to-all");
        row("c10d::send", "cpu_op", "send-recv");
        row("gloo:all_reduce", "user_annotation", "all-reduce");
        row("all-reduce-start.3", "", "all-reduce");
        row("all-gather.12.1", "", "all-gather");
        row("collective-permute", "", "send-recv");
        row("all-reduce-done.3", "", "");
        row("end: all-reduce.2", "", "");
        row("fusion.all-reduce", "", "");
        row("aten::mm", "cpu_op", "");
        row("ncclDevKernel", "kernel", "");
        row("mlp.up_proj/all-gather", "collective", "all-gather");
        row("", "", "");
    }
    void namesOfCollectives()
    {
        QFETCH(QString, name);
        QFETCH(QString, category);
        QFETCH(QString, kind);
        const auto found = collectiveOfSlice(name.toStdString(), category.toStdString());
        QCOMPARE(QString::fromStdString(found ? collectiveName(found->kind) : ""), kind);
    }

    /// The call, the kernel, and the annotation tell of one collective: it counts once, by the best of them.
    void collectivesCountOnce()
    {
        const std::string args =
            R"(,"args":{"Collective name":"_allgather_base","In msg nelems":256,"Out msg nelems":1024,"Group size":4,"dtype":"BFloat16","Process Group Ranks":"[0, 1, 2, 3]"})";
        const auto trace =
            traceOf("[" + slice(1, 1, "c10d::_allgather_base_", 1, 1, R"(,"cat":"cpu_op")") + ","
                    + slice(1, 1, "record_param_comms", 1, 1, (R"(,"cat":"cpu_op")" + args).c_str()) + ","
                    + slice(0, 7, "ncclDevKernel_AllGather_RING_LL(x)", 3, 9, (R"(,"cat":"kernel")" + args).c_str()) + "]");
        QVERIFY(trace.ok());
        QCOMPARE(trace.value().collectives.size(), std::size_t { 1 });
        const TraceCollective& one = trace.value().collectives.front();
        QCOMPARE(one.bytes, std::int64_t { 2048 });
        QCOMPARE(one.groupSize, std::int64_t { 4 });
        QCOMPARE(one.ranks, (std::vector<std::int64_t> { 0, 1, 2, 3 }));
        QCOMPARE(trace.value().slices[one.slice].duration, std::int64_t { 9000 });
    }

    /// As PyTorch 2.15 writes calls without a GPU: the result's dims first, then the input's.
    void sizesOfCalls()
    {
        const auto sized = [](const char* name, const char* dims) {
            const auto trace =
                traceOf("["
                        + slice(1, 1, name, 1, 1,
                                (R"(,"args":{"Input type":["float","float",""],"Input Dims":)" + std::string(dims) + "}").c_str())
                        + "]");
            return trace.ok() && trace.value().collectives.size() == 1 ? trace.value().collectives.front().bytes : -1;
        };
        QCOMPARE(sized("c10d::_allgather_base_", "[[2048, 128], [1024, 128], []]"), std::int64_t { 4 * 2048 * 128 });
        QCOMPARE(sized("c10d::_reduce_scatter_base_", "[[512, 512], [1024, 512], []]"), std::int64_t { 4 * 1024 * 512 });
        QCOMPARE(sized("c10d::allreduce_", "[[[1024, 512], [2, 3]], [], []]"), std::int64_t { 4 * (1024 * 512 + 6) });
        QCOMPARE(sized("c10d::allgather_", "[[], [[1024, 128]], []]"), std::int64_t { 0 });
    }

    void damagedFiles_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says"); // empty: it is read, with a note
        QTest::newRow("empty") << QString() << QStringLiteral("1:1");
        QTest::newRow("no events") << QStringLiteral("{\"a\":1}") << QStringLiteral("traceEvents");
        QTest::newRow("a number") << QStringLiteral("12") << QStringLiteral("an object is expected");
        QTest::newRow("events are numbers") << QStringLiteral("[1]") << QStringLiteral("an event is expected");
        QTest::newRow("no time") << QStringLiteral(R"([{"ph":"X","ts":"soon"}])") << QStringLiteral("1:");
        QTest::newRow("huge time") << QStringLiteral(R"([{"ph":"X","ts":1e300}])") << QStringLiteral("no time");
        QTest::newRow("garbage inside") << QStringLiteral("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\"} x]")
                                        << QStringLiteral("missing");
        QTest::newRow("garbage behind") << QStringLiteral("[] x") << QStringLiteral("after its end");
        QTest::newRow("bad escape") << QStringLiteral(R"([{"ph":"\q"}])") << QStringLiteral("escape");
        QTest::newRow("deep") << QString(1000, QLatin1Char('[')) << QStringLiteral("event");
        QTest::newRow("deep arguments") << QStringLiteral("[{\"args\":{\"x\":") + QString(100000, QLatin1Char('['))
                                        << QStringLiteral("deeply");
        QTest::newRow("cut off") << QStringLiteral("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"ph\":\"X\",\"na")
                                 << QString();
        QTest::newRow("list without end") << QStringLiteral("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\"}") << QString();
        QTest::newRow("object without end") << QStringLiteral(
            "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\"},\n")
                                            << QString();
    }
    void damagedFiles()
    {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const std::string content = text.toStdString();
        for (const std::size_t size : { std::size_t { 1 }, std::size_t { 1 } << 20 }) {
            const auto trace = parseTrace(inPieces(content, size), "t.json");
            if (says.isEmpty()) {
                QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().text().c_str());
                QCOMPARE(trace.value().slices.size(), std::size_t { 1 });
                QVERIFY(trace.value().notes.front().starts_with("the file is cut off: t.json:"));
            } else {
                QVERIFY(!trace.ok());
                QVERIFY2(QString::fromStdString(trace.error().text()).contains(says), trace.error().text().c_str());
                QVERIFY(trace.error().text().starts_with("t.json"));
            }
        }
    }

    /// Any bytes: an error or a trace, never anything else.
    void randomDamage()
    {
        std::string good = "[";
        for (int i = 0; i < 20; ++i)
            good += slice(i % 2, 1, "c10d::allreduce_", i, 3,
                          R"(,"args":{"Input Dims":[[[2,3]]],"Group size":2,"Process Group Ranks":"[0, 1]"})")
                + ",";
        good.back() = ']';
        std::mt19937 random(3);
        int read = 0;
        for (int round = 0; round < 3000; ++round) {
            std::string text = good;
            for (unsigned n = random() % 4; n < 4; ++n)
                text[random() % text.size()] = static_cast<char>(random());
            text.resize(random() % 4 == 0 ? random() % text.size() : text.size());
            const auto trace = traceOf(text);
            read += trace.ok() ? 1 : 0;
            if (trace.ok())
                for (const TraceSlice& one : trace.value().slices)
                    QVERIFY(one.lane < trace.value().lanes.size() && one.name < trace.value().names.size() && one.duration >= 0);
        }
        QVERIFY(read > 30 && read < 3000);
    }

    /// A trace that is made from a plan is found in it again, each as often as it is there; what was changed is not.
    void collectivesFindThePlan()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        training.batch = 8;
        training.sequence = 64;
        const Design design = designOn("data=2,model=2", denseModel(256, 64, 128, 4, 4, 4, 16), training, "tp-sp");
        const auto evaluation = evaluated(design);
        const Plan& plan = evaluation->plan;
        std::string text = "[";
        std::int64_t all = 0;
        double at = 0;
        for (const Collective& collective : plan.collectives) {
            if (collective.kind == CollectiveKind::LocalSlice)
                continue;
            std::string ranks;
            for (const std::int64_t rank : plan.mesh.group(0, collective.axes))
                ranks += (ranks.empty() ? "[" : ", ") + std::to_string(rank);
            for (std::int64_t n = 0; n < collective.count; ++n) {
                const std::string bytes = std::to_string(collective.bytes);
                const std::string args = ",\"cat\":\"collective\",\"args\":{\"Collective name\":\""
                    + collectiveName(collective.kind) + "\",\"dtype\":\"Byte\",\"In msg nelems\":" + bytes
                    + ",\"Out msg nelems\":" + bytes + ",\"Group size\":" + std::to_string(collective.groupSize)
                    + ",\"Process Group Ranks\":\"" + ranks + "]\"}";
                text += slice(1, 1, "c", at++, 0.5, args.c_str()) + ",";
                ++all;
            }
        }
        text.back() = ']';
        const auto trace = traceOf(text);
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().text().c_str());
        const TraceMatch match = matchTrace(trace.value(), evaluation->graph, plan);
        QCOMPARE(match.matched, all);
        QVERIFY(match.unmatched.empty());
        for (std::size_t i = 0; i < plan.collectives.size(); ++i)
            if (plan.collectives[i].kind != CollectiveKind::LocalSlice) {
                const auto found = match.nanoseconds.find(CollectiveId(i));
                QCOMPARE(found == match.nanoseconds.end() ? 0 : static_cast<std::int64_t>(found->second.size()),
                         plan.collectives[i].count);
            }
        QVERIFY(match.unseen.empty());
        Trace other = trace.value();
        other.collectives[0].groupSize = 3;
        other.collectives[1].bytes += 1;
        other.collectives[1].elements += 1;
        other.collectives[2].ranks = { 0, 3 };
        const TraceMatch less = matchTrace(other, evaluation->graph, plan);
        QCOMPARE(less.matched, all - 3);
        QCOMPARE(less.unmatched.size(), std::size_t { 3 });
        for (const auto& [reason, count] : less.unmatched)
            QVERIFY2(reason.starts_with("the plan has no "), reason.c_str());
    }

    /// FSDP2 gathers the weights of a block in one call: it is all of its gathers, and costs what they cost together.
    void callsOfAWholeLayer()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        training.batch = 8;
        training.sequence = 64;
        const Design design = designOn("fsdp=4", denseModel(256, 64, 128, 4, 4, 2, 16), training, "fsdp");
        const auto evaluation = evaluated(design);
        const Plan& plan = evaluation->plan;
        const auto first = std::ranges::find_if(plan.collectives, [&](const Collective& one) {
            return one.kind == CollectiveKind::AllGather && plan.segment(one.plannedSegment).count > 1;
        });
        QVERIFY(first != plan.collectives.end());
        std::int64_t elements = 0;
        double seconds = 0;
        std::size_t members = 0;
        for (const Collective& one : plan.collectives)
            if (one.kind == CollectiveKind::AllGather && one.plannedSegment == first->plannedSegment) {
                elements += one.bytes / 2;
                seconds += one.seconds;
                ++members;
            }
        QVERIFY(members > 3);
        const auto argsOf = [](std::int64_t count) {
            const std::string text = std::to_string(count);
            return ",\"cat\":\"collective\",\"args\":{\"Collective name\":\"_allgather_base\",\"dtype\":\"BFloat16\","
                   "\"In msg nelems\":"
                + std::to_string(count / 4) + ",\"Out msg nelems\":" + text + ",\"Group size\":4}";
        };
        const auto trace = traceOf("[" + slice(1, 1, "c", 0, 0.5, argsOf(elements).c_str()) + ","
                                   + slice(1, 1, "c", 1, 0.5, argsOf(elements).c_str()) + ","
                                   + slice(1, 1, "c", 2, 0.5, argsOf(elements + 4).c_str()) + "]");
        QVERIFY(trace.ok());
        const TraceMatch match = matchTrace(trace.value(), evaluation->graph, plan);
        QCOMPARE(match.matched, std::int64_t { 2 });
        QCOMPARE(match.unmatched.size(), std::size_t { 1 }); // of another size it is none of them
        const CollectiveId id = match.planned.front();
        QCOMPARE(plan.collective(id).id, first->id);
        QCOMPARE(match.together.at(id).size(), members);
        QVERIFY(std::abs(match.secondsOf(plan, id) - seconds) < 1e-12);
        for (const CollectiveId unseen : match.unseen)
            QVERIFY(plan.collective(unseen).plannedSegment != first->plannedSegment || plan.collective(unseen).kind != first->kind);
        QCOMPARE(match.notes().size(), std::size_t { 1 });
    }

    /// Without sizes those that are alike are taken in turn, and the user is told.
    void turnsAreTold()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        training.batch = 8;
        training.sequence = 64;
        const Design design = designOn("data=2,model=2", denseModel(256, 64, 128, 4, 4, 2, 16), training, "tp-sp");
        const auto evaluation = evaluated(design);
        const auto trace = traceOf("[" + slice(1, 1, "all-gather.1", 0, 0.5) + "," + slice(1, 1, "all-gather.2", 1, 0.5) + ","
                                   + slice(1, 2, "all-gather.2", 1, 0.5) + "]");
        QVERIFY(trace.ok());
        const TraceMatch match = matchTrace(trace.value(), evaluation->graph, evaluation->plan);
        QCOMPARE(match.matched, std::int64_t { 3 });
        QCOMPARE(match.inTurn, std::int64_t { 3 });
        QVERIFY(match.planned[0] != match.planned[1]);
        QVERIFY(match.planned[1] == match.planned[2]); // the same operation of XLA, on another device
        QVERIFY(match.notes().size() == 1 && match.notes().front().find("no size of 3 collectives") != std::string::npos);
    }

    /// A run in float32 of a plan in bfloat16: the reduction of k_proj's gradient has as many bytes as was planned for q_proj's.
    void elementsCountBeforeBytes()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        training.batch = 8;
        training.sequence = 64;
        const Design design = designOn("data=2,model=2", denseModel(256, 64, 128, 4, 4, 2, 16), training, "tp-sp");
        const auto evaluation = evaluated(design);
        const Plan& plan = evaluation->plan;
        const auto reductionOf = [&](const std::string& weight) {
            for (std::size_t i = 0; i < plan.collectives.size(); ++i)
                if (const Collective& one = plan.collectives[i]; one.kind == CollectiveKind::AllReduce
                    && evaluation->graph.tensor(one.tensor).name.find(weight) != std::string::npos)
                    return CollectiveId(i);
            qFatal("no reduction of %s", weight.c_str());
        };
        const CollectiveId q = reductionOf("q_proj");
        const CollectiveId k = reductionOf("k_proj");
        QCOMPARE(plan.collective(q).bytes, 2 * plan.collective(k).bytes);
        const std::string elements = std::to_string(plan.collective(k).bytes / 2);
        const std::string args = ",\"cat\":\"collective\",\"args\":{\"Collective name\":\"all-reduce\",\"dtype\":\"Float\","
                                 "\"In msg nelems\":"
            + elements + ",\"Out msg nelems\":" + elements + ",\"Group size\":2}";
        const auto trace = traceOf("[" + slice(1, 1, "c", 0, 0.5, args.c_str()) + "]");
        QVERIFY(trace.ok());
        const TraceMatch match = matchTrace(trace.value(), evaluation->graph, plan);
        QCOMPARE(match.matched, std::int64_t { 1 });
        QCOMPARE(evaluation->graph.tensor(plan.collective(match.planned.front()).tensor).shape,
                 evaluation->graph.tensor(plan.collective(k).tensor).shape);
        QVERIFY(std::ranges::find(match.unseen, q) != match.unseen.end()); // and what was not there is told
    }
};

SHARDBOARD_TEST(TestTrace)
#include "tst_trace.moc"
