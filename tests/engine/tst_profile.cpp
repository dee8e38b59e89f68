// SPDX-License-Identifier: Apache-2.0
// What is measured of a run: made-up times through everything that computes with them, and real runs for what does not depend on
// the time that they take.
#include "engine/devices/devicememory.h"
#include "engine/devices/sharded.h"
#include "engine/machine/limits.h"
#include "engine/machine/measure.h"
#include "engine/run/runner.h"
#include "model/core/statistics.h"
#include "model/design/evaluate/evaluate.h"
#include "model/io/measured/profiledocument.h"
#include "model/io/measured/projection.h"
#include "model/io/measured/trace.h"
#include "tests/engine/testprogram.h"
#include "tests/engine/testrun.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"
#include "tests/support/tracecheck.h"

#include <QTest>

#include <cmath>
#include <set>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;
using nlohmann::json;

#define SAME(actual, expected) QVERIFY((actual) == (expected))

namespace {

/// With all that a preset sets, pipelines and pins too.
Program presetProgram(const std::string& mesh, const std::string& preset, const Workload& workload)
{
    const auto evaluation = evaluated(designOn(mesh, tinyModel(), workload, preset));
    return { evaluation->graph, evaluation->plan };
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)); }

/// Two devices: a product, then an all-reduce of 1000 floats; two steps.
RunProfile madeUp(ProfileMode mode)
{
    RunProfile out;
    out.mode = mode;
    out.machine = "made up";
    out.workers = mode == ProfileMode::Serial ? 1 : 2;
    out.limits = { 100e9, 200e9, 10e9, 16e9 };
    out.devices = { { 0, "device 0 (m 0)", 4096, 4096, "block/proj" }, { 1, "device 1 (m 1)", 4096, 4000, "block/proj" } };
    ProfileOperation product;
    product.id = "block/proj";
    product.kind = "matmul";
    product.flops = 1e9;
    product.workBytes = 1e6;
    product.predictedSeconds = 0.01;
    ProfileOperation reduce;
    reduce.id = "block/proj/all-reduce";
    reduce.kind = "all-reduce";
    reduce.collective = true;
    reduce.bytes = 4000;
    reduce.groupSize = 2;
    reduce.tensor = "y";
    reduce.groups = { { 0, 1 } };
    out.operations = { product, reduce };
    for (std::int64_t step = 0; step < 3; ++step) {
        const double t = 0.1 * static_cast<double>(step);
        const double late = step == 2 ? 0.04 : 0; // the last one was disturbed
        out.events.push_back(
            { 0, step, 0, 0, 0.0225, 0.025, { { 0, t, t + 0.02, 0.02, 4096 }, { 1, t + 0.001, t + 0.03, 0.025 + late, 4000 } } });
        out.events.push_back(
            { 1, step, 0, 0, 2e-6, 3e-6, { { 0, t + 0.04, t + 0.041, 1e-6, 4096 }, { 1, t + 0.0405, t + 0.042, 3e-6, 4000 } } });
    }
    return out;
}

RunProfile profileOf(const Program& program, RunOptions options, RunResult* result = nullptr, std::int64_t* announced = nullptr)
{
    RunProfile out;
    RunHooks hooks;
    hooks.profile = [&](const RunProfile& profile) { out = profile; };
    hooks.announce = [&](std::int64_t bytes, double) {
        if (announced)
            *announced = bytes;
    };
    const RunResult ran = resultOf(program, options, hooks, { .workers = 2 });
    if (result)
        *result = ran;
    return out;
}

} // namespace

class TestProfile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void quantilesOfSamples()
    {
        QCOMPARE(median({}), 0.0);
        QCOMPARE(median({ 3 }), 3.0);
        QCOMPARE(median({ 5, 1, 3 }), 3.0);
        QCOMPARE(median({ 4, 1, 2, 3 }), 2.5);
        QCOMPARE(quantile({ 1, 2, 3, 4, 5 }, 0.25), 2.0);
        QCOMPARE(quantile({ 1, 2, 3, 4 }, 0.25), 1.75);
        const Spread spread = spreadOf({ 9, 1, 5, 3, 7 });
        QCOMPARE(spread.median, 5.0);
        QCOMPARE(spread.min, 1.0);
        QCOMPARE(spread.max, 9.0);
        QCOMPARE(spread.quartile1, 3.0);
        QCOMPARE(spread.quartile3, 7.0);
    }

    /// A clock that is slow at first, as one is while kernels are made, then steady.
    void warmsUpUntilMediansAgree()
    {
        int calls = 0;
        const auto trial = [&] { return ++calls <= 5 ? 1.0 : calls <= 10 ? 0.5 : 0.1; };
        const Measured measured = measure(trial, { .trials = 5, .mostRounds = 10, .agree = 0.02, .mostSeconds = 100 });
        QVERIFY(measured.settled);
        QCOMPARE(measured.median, 0.1);
        QCOMPARE(calls, 20); // 1.0, 0.5, 0.1, 0.1
        SAME(measured.samples, std::vector<double>(5, 0.1));
    }
    void oneDisturbanceDoesNotMoveTheMedian()
    {
        int calls = 0;
        const Measured measured = measure([&] { return ++calls % 5 == 3 ? 50.0 : 1.0 + 0.001 * calls; },
                                          { .trials = 5, .mostRounds = 10, .agree = 0.02, .mostSeconds = 1e9 });
        QVERIFY(measured.settled);
        QVERIFY(measured.median < 1.02);
        QVERIFY(measured.spread < 0.01);
    }
    void neverSettlesAndSaysSo()
    {
        double time = 1;
        const Measured rounds =
            measure([&] { return time *= 1.5; }, { .trials = 3, .mostRounds = 4, .agree = 0.02, .mostSeconds = 1e9 });
        QVERIFY(!rounds.settled);
        QVERIFY(near(time, std::pow(1.5, 12)));
        int calls = 0;
        const Measured outOfTime = measure(
            [&] {
                ++calls;
                return 1.0;
            },
            { .trials = 3, .mostRounds = 9, .agree = 0.02, .mostSeconds = 2.5 });
        QCOMPARE(calls, 3); // no second round, so it cannot tell
        QVERIFY(!outOfTime.settled);
        QCOMPARE(outOfTime.median, 1.0);
    }

    void memoryIsCountedByDevice()
    {
        DeviceMemory memory;
        const Mesh mesh = Mesh::parse("m=2").value();
        const Mesh other = Mesh::parse("m=2").value();
        memory.watch(mesh);
        QVERIFY(memory.watches(mesh) && !memory.watches(other));
        {
            auto first = memory.hold(mesh, { 100, 50 });
            {
                const auto second = memory.hold(mesh, { 30, 0 });
                QCOMPARE(memory.peak(0), 130);
            }
            auto moved = std::move(first);
            first = memory.hold(mesh, { 10, 10 });
            QCOMPARE(memory.peak(0), 130);
            QCOMPARE(memory.peak(1), 60);
            QCOMPARE(memory.takeRecentPeak(0), 130);
            QCOMPARE(memory.takeRecentPeak(0), 110); // what it holds since
        }
        (void)memory.takeRecentPeak(0);
        QCOMPARE(memory.takeRecentPeak(0), 0);
        QCOMPARE(memory.peak(7), 0);
    }
    void tensorsOfOtherMeshesAreNobodys()
    {
        DeviceMemory memory;
        const Mesh mesh = Mesh::parse("m=2").value();
        const Mesh single;
        memory.watch(mesh);
        Arena arena;
        arena.countDevices(&memory);
        Sharded reference({ 8, 4 }, Layout::replicated(2), single);
        reference.allocate(arena);
        QCOMPARE(memory.peak(0), 0);
        Sharded cut({ 5, 4 }, Layout::cut(2, 0, { 0 }), mesh);
        cut.allocate(arena);
        QCOMPARE(memory.peak(0), 3 * 4 * 4);
        QCOMPARE(memory.peak(1), 2 * 4 * 4);
        const Sharded taken = Sharded({ 5, 4 }, Layout::cut(2, 0, { 0 }), mesh).withMemoryOf(std::move(cut));
        QCOMPARE(memory.peak(0), 3 * 4 * 4);
    }

    void copiesAnyNumberOfFloats()
    {
        std::vector<float> from(1003);
        for (std::size_t i = 0; i < from.size(); ++i)
            from[i] = static_cast<float>(i) + 0.5f;
        for (const std::size_t first : { 0u, 1u, 2u, 3u })
            for (const std::size_t count : { 0u, 1u, 15u, 16u, 17u, 999u }) {
                std::vector<float> to(1010, -1.0f);
                copyPastCaches(from.data() + 1, static_cast<std::int64_t>(count), to.data() + first);
                for (std::size_t i = 0; i < to.size(); ++i)
                    SAME(to[i], i >= first && i < first + count ? from[1 + i - first] : -1.0f);
            }
    }

    /// Bandwidths and floors by hand, from their definitions.
    void bandwidthsAndTraffic()
    {
        QCOMPARE(busFactor("all-reduce", 8), 1.75);
        QCOMPARE(busFactor("all-gather", 4), 0.75);
        QCOMPARE(busFactor("reduce-scatter", 2), 0.5);
        QCOMPARE(busFactor("all-to-all", 4), 0.75);
        QCOMPARE(busFactor("send-recv", 4), 1.0);
        // An all-reduce reads n copies and writes n; a gather reads the whole once and writes it n times.
        QCOMPARE(trafficOfGroup("all-reduce", 4, 100), 800.0);
        QCOMPARE(trafficOfGroup("all-gather", 4, 100), 500.0);
        QCOMPARE(trafficOfGroup("reduce-scatter", 4, 100), 500.0);
        QCOMPARE(trafficOfGroup("all-to-all", 4, 100), 800.0);
        QCOMPARE(trafficOfGroup("broadcast", 4, 100), 400.0);
        QCOMPARE(trafficOfGroup("send-recv", 4, 100), 800.0);
        QCOMPARE(trafficOfGroup("local-slice", 4, 100), 200.0);
    }

    void summarizesSerialRuns()
    {
        const auto summaries = summarize(madeUp(ProfileMode::Serial));
        QCOMPARE(summaries.size(), 2u);
        const ProfileSummary& product = summaries[0];
        SAME(product.samples, (std::vector<double> { 0.025, 0.025, 0.065 })); // of the slowest device
        QCOMPARE(product.seconds, 0.025); // the disturbed step does not count
        SAME(product.byDevice.at(0), std::vector<double>(3, 0.02));
        QVERIFY(near(product.gemmShare, 1e9 / 0.025 / 100e9));
        QVERIFY(near(product.copyShare, 1e6 / 0.025 / 10e9));
        const ProfileSummary& reduce = summaries[1];
        QCOMPARE(reduce.seconds, 2e-6);
        QCOMPARE(reduce.bytes, 2.0 * 2 * 4000);
        QVERIFY(near(reduce.copyShare, 16000 / 2e-6 / 10e9));
        QCOMPARE(reduce.gemmShare, 0.0);
    }
    void summarizesBatchedRuns()
    {
        const auto summaries = summarize(madeUp(ProfileMode::Batched));
        QCOMPARE(summaries[0].seconds, 0.0225); // of all devices, by the threads
        QVERIFY(near(summaries[0].gemmShare, 2e9 / 0.0225 / 200e9)); // both devices' FLOPs against all threads
        QVERIFY(near(summaries[1].copyShare, 16000 / 2e-6 / 16e9));
    }

    void writesTheProfileDocument()
    {
        RunResult result;
        result.backend = "cpu";
        result.operations.resize(2);
        result.operations[0].id = "block/proj";
        result.operations[0].medianSeconds = 0.025;
        result.operations[1].id = "block/proj/all-reduce";
        const json document = profileDocument(result, madeUp(ProfileMode::Serial), { 1 << 20, 5000, "a note" });
        SAME(document["format"], "shardboard-profile");
        SAME(document["mode"], "serial");
        const json run = toJson(result);
        for (const auto& [key, value] : run.items()) // the contract of `run` holds
            if (key != "operations")
                SAME(document[key], value);
        const json& product = document["operations"][0];
        SAME(product["median_seconds"], 0.025);
        SAME(product["samples"].size(), 3u);
        SAME(product["limit"], "gemm");
        SAME(product["by_device"][1]["seconds"]["max"], 0.025 + 0.04);
        QVERIFY(!product.contains("bus_bandwidth"));
        const json& reduce = document["operations"][1];
        QVERIFY(near(reduce["algorithm_bandwidth"], 4000 / 2e-6));
        QVERIFY(near(reduce["bus_bandwidth"], 4000 / 2e-6)); // 2 (n-1)/n of two is 1
        QVERIFY(near(reduce["traffic_bytes_per_second"], 16000 / 2e-6));
        SAME(reduce["groups"], json::array({ json::array({ 0, 1 }) }));
        SAME(document["memory"]["devices"][1]["peak_bytes"], 4000);
        SAME(document["memory"]["predicted"]["in_run_bytes"], 5000);
    }

    void goesOverTheWire()
    {
        const RunProfile profile = madeUp(ProfileMode::Batched);
        const auto back = sure(profileFromJson(json::parse(profileToJson(profile).dump())));
        QVERIFY(back == profile);
    }
    void refusesWhatIsNoProfile()
    {
        const json good = profileToJson(madeUp(ProfileMode::Batched));
        const auto refused = [&](const char* pointer, const json& value) {
            json bad = good;
            bad[json::json_pointer(pointer)] = value;
            return !profileFromJson(bad).ok();
        };
        QVERIFY(refused("/mode", "sideways"));
        QVERIFY(refused("/events/0/0", 2)); // no such operation
        QVERIFY(refused("/events/0/0", -1));
        QVERIFY(refused("/events/0/4", -0.5));
        QVERIFY(refused("/events/0/6/0/2", -1.0)); // ends before it starts
        QVERIFY(refused("/events/0/6/0", json::array({ 1, 2 })));
        QVERIFY(refused("/events/0", json::object()));
        QVERIFY(refused("/operations/0/id", 7));
        QVERIFY(refused("/limits", json::array()));
        QVERIFY(!profileFromJson(json::array()).ok());
        QVERIFY(!profileFromJson(json()).ok());
    }

    void traceKeepsTheRulesOfTheFormat()
    {
        const json trace = traceDocument(madeUp(ProfileMode::Batched));
        const auto defects = traceDefects(trace);
        QVERIFY2(defects.empty(), defects.empty() ? "" : defects.front().c_str());
        std::map<std::string, int> kinds;
        std::set<std::string> names;
        for (const json& event : trace["traceEvents"]) {
            ++kinds[event["ph"]];
            if (event["ph"] == "M" && event["args"].contains("name"))
                names.insert(event["args"]["name"]);
            if (event["ph"] == "X" && event["name"] == "block/proj/all-reduce") {
                SAME(event["cat"], "collective");
                SAME(event["args"]["Group size"], 2);
                SAME(event["args"]["In msg nelems"], 1000);
                SAME(event["args"]["Process Group Ranks"], "[0, 1]");
            }
        }
        QCOMPARE(kinds["X"], 12);
        QCOMPARE(kinds["C"], 12);
        QCOMPARE(kinds["s"], 3); // one flow for each all-reduce
        QCOMPARE(kinds["f"], 3);
        SAME(names, (std::set<std::string> { "device 0 (m 0)", "device 1 (m 1)", "compute", "collectives" }));
    }
    /// Two collectives of a device at once get threads of their own.
    void crossingSlicesGetAnotherThread()
    {
        RunProfile profile = madeUp(ProfileMode::Batched);
        profile.events = { { 1, 0, 0, 0, 1, 1, { { 0, 0.0, 2.0, 1, 0 }, { 1, 0.0, 2.0, 1, 0 } } },
                           { 1, 0, 1, 0, 1, 1, { { 0, 1.0, 3.0, 1, 0 }, { 1, 1.0, 3.0, 1, 0 } } },
                           { 1, 0, 2, 0, 1, 1, { { 0, 2.5, 4.0, 1, 0 }, { 1, 3.5, 4.0, 1, 0 } } } };
        const json trace = traceDocument(profile);
        const auto defects = traceDefects(trace);
        QVERIFY2(defects.empty(), defects.empty() ? "" : defects.front().c_str());
        std::set<int> threads;
        for (const json& event : trace["traceEvents"])
            if (event["ph"] == "X")
                threads.insert(event["tid"].get<int>());
        QCOMPARE(threads.size(), 2u);
    }
    /// The test's own rules are worth something: each defect is seen.
    void badTracesAreSeen()
    {
        const json good = traceDocument(madeUp(ProfileMode::Serial));
        const auto indexOf = [&](const char* kind) {
            for (std::size_t i = 0; i < good["traceEvents"].size(); ++i)
                if (good["traceEvents"][i]["ph"] == kind)
                    return std::to_string(i);
            return std::string("0");
        };
        const auto seen = [&](const std::string& pointer, const json& value) {
            json bad = good;
            bad[json::json_pointer("/traceEvents/" + pointer)] = value;
            return !traceDefects(bad).empty();
        };
        QVERIFY(seen(indexOf("X") + "/dur", -1));
        QVERIFY(seen(indexOf("X") + "/dur", 110000.0)); // into the next slice of its thread
        QVERIFY(seen(indexOf("X") + "/ts", -5));
        QVERIFY(seen(indexOf("X") + "/tid", 77));
        QVERIFY(seen(indexOf("X") + "/ph", "B"));
        QVERIFY(seen(indexOf("s") + "/ph", "t"));
        QVERIFY(seen(indexOf("f") + "/bp", "x"));
        QVERIFY(seen(indexOf("f") + "/tid", 1));
        QVERIFY(seen(indexOf("C") + "/args", json::object()));
        QVERIFY(seen(indexOf("M") + "/name", "procname"));
    }

    void realRuns_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<bool>("serial");
        QTest::addColumn<bool>("train");
        dataRow("serial", "data=2,model=3", "megatron-tp", true, false);
        dataRow("batched", "data=2,model=3", "megatron-tp", false, false);
        dataRow("fsdp training", "fsdp=2", "fsdp", false, true);
        dataRow("ring", "context=3", "cp-ring", false, false);
        dataRow("pipeline", "stage=2", "pp-1f1b", true, true);
        dataRow("one device", "data=1", "replicate", true, false);
    }
    void realRuns()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(bool, serial);
        QFETCH(bool, train);
        const Program program = presetProgram(mesh.toStdString(), preset.toStdString(),
                                              { train ? WorkloadKind::Train : WorkloadKind::Prefill, 4, 9, DType::F32 });
        RunOptions options;
        options.steps = 3;
        options.verify = true;
        options.profile = serial ? ProfileMode::Serial : ProfileMode::Batched;
        RunResult result;
        const RunProfile profile = profileOf(program, options, &result);
        QVERIFY(result.verified);
        QCOMPARE(result.steps, 3);
        SAME(profile.mode, options.profile);
        QCOMPARE(profile.workers, serial ? 1 : 2);
        QCOMPARE(static_cast<std::int64_t>(profile.devices.size()), program.plan.mesh.deviceCount());
        QVERIFY(profile.limits.gemmFlopsOne > 0 && profile.limits.copyBytesAll > 0);

        std::vector<std::int64_t> events(profile.operations.size(), 0);
        std::set<std::int64_t> ids;
        for (const ProfiledDevice& device : profile.devices) {
            ids.insert(device.id);
            QVERIFY(device.peakBytes > 0);
            QCOMPARE(device.peakBytes, device.announcedBytes); // what was announced is what was held
            QVERIFY(!device.peakAt.empty());
        }
        std::map<std::int64_t, double> freeAt; // serial: one device after the other
        double last = 0;
        for (const ProfileEvent& event : profile.events) {
            const ProfileOperation& operation = profile.operations[static_cast<std::size_t>(event.operation)];
            ++events[static_cast<std::size_t>(event.operation)];
            QVERIFY(event.step >= 0 && event.step < 3);
            QVERIFY(!event.devices.empty());
            double busy = 0;
            for (const DeviceSpan& span : event.devices) {
                QVERIFY(ids.contains(span.device));
                QVERIFY(span.start >= 0 && span.end >= span.start && span.seconds >= 0);
                QVERIFY(span.memoryBytes > 0);
                busy += span.seconds;
                if (serial && !operation.collective) {
                    QVERIFY(span.start >= last);
                    last = span.end;
                }
            }
            QVERIFY(event.seconds <= busy * (1 + 1e-9) + 1e-12);
        }
        // Each execution of each step is there, and the table of the run has the same operations.
        for (const RunOperation& operation : result.operations) {
            const auto found = std::find_if(profile.operations.begin(), profile.operations.end(),
                                            [&](const ProfileOperation& p) { return p.id == operation.id; });
            if (found == profile.operations.end()) // what only gives a value another name takes no time
                continue;
            const auto index = static_cast<std::size_t>(found - profile.operations.begin());
            QVERIFY(events[index] == 0 || events[index] == 3 * operation.count);
            if (found->collective && found->groupSize > 1 && events[index] > 0 && found->kind != "local-slice"
                && found->kind != "send-recv")
                QCOMPARE(static_cast<std::int64_t>(found->groups.size() * found->groups.front().size()),
                         program.plan.mesh.deviceCount());
        }
        const auto defects = traceDefects(traceDocument(profile));
        QVERIFY2(defects.empty(), defects.empty() ? "" : defects.front().c_str());
    }

    void profilesNothingUnlessAsked()
    {
        RunOptions options;
        const RunProfile profile = profileOf(programOf({}), options);
        SAME(profile.mode, ProfileMode::None);
        QVERIFY(profile.events.empty());
    }
    /// The limits take their memory before the run does; both are announced.
    void announcesWhatTheLimitsNeed()
    {
        RunOptions options;
        std::int64_t plain = 0;
        profileOf(programOf({}), options, nullptr, &plain);
        options.profile = ProfileMode::Serial;
        std::int64_t measured = 0;
        profileOf(programOf({}), options, nullptr, &measured);
        QVERIFY(measured > plain);
        QVERIFY(measured >= limitsMemory(2));
        SAME(failureOf(programOf({}), options, {}, { .workers = 2, .availableBytes = measured - 1 }).code, "memory");
    }
    void cancelsWhileMeasuring()
    {
        RunOptions options;
        options.profile = ProfileMode::Serial;
        std::atomic<bool> cancel { true };
        RunHooks hooks;
        hooks.cancel = &cancel;
        SAME(failureOf(programOf({}), options, hooks, { .workers = 2 }).code, "cancelled");
    }

    /// Computation as measured, collectives as the plan has them, by hand.
    void projectsOntoOtherHardware()
    {
        const Program program = programOf({});
        RunOptions options;
        RunResult result;
        profileOf(program, options, &result);
        double compute = 0;
        double communication = 0;
        for (RunOperation& operation : result.operations) {
            operation.medianSeconds = 0.5; // what a machine never takes
            bool collective = false;
            for (Collective planned : program.plan.collectives)
                if (planned.id == operation.id) {
                    communication += static_cast<double>(operation.count) * planned.seconds;
                    collective = true;
                }
            if (!collective)
                compute += 0.5 * static_cast<double>(operation.count);
        }
        const Projection projection = project(result, program.graph, program.plan, "dgx-h100");
        QVERIFY(communication > 0);
        QVERIFY(near(projection.computeSeconds, compute));
        QVERIFY(near(projection.collectiveSeconds, communication));
        QVERIFY(projection.notRun.empty());
        QVERIFY(near(projection.wholeSeconds(), compute + communication)); // all layers ran
        const json document = toJson(projection);
        SAME(document["compute"], "measured");
        SAME(document["communication"], "modelled");
        QVERIFY(document["statement"].get<std::string>().find("not run on dgx-h100") != std::string::npos);
        QVERIFY(document["statement"].get<std::string>().find("one after the other;") != std::string::npos);
        SAME(document["whole_model"]["overlap"], "none");
        SAME(document["whole_model"]["exposed_collective_seconds"], document["whole_model"]["collective_seconds"]);
        QVERIFY(document["whole_model"]["pipeline"].is_null());
    }
    /// As the timeline of such a plan has it: a device computes or waits all the time, and no stream has more to do than the step
    /// is long.
    void projectionHidesWhatTheCostModelHides()
    {
        Program program = programOf({});
        RunOptions options;
        RunResult result;
        profileOf(program, options, &result);
        for (Collective& collective : program.plan.collectives)
            collective.seconds = 0.75; // of a target far slower than this
        for (RunOperation& operation : result.operations)
            operation.medianSeconds = 0.5;
        double all = 0;
        double computed = 0;
        double moved = 0;
        for (std::size_t s = 0; s < program.plan.segments.size(); ++s) {
            double compute = 0;
            double moving = 0;
            for (const PlannedOp& op : program.plan.segments[s].ops)
                compute += 0.5 * static_cast<double>(op.count);
            for (const Collective& collective : program.plan.collectives)
                if (static_cast<std::size_t>(collective.plannedSegment) == s)
                    moving += 0.75 * static_cast<double>(collective.count);
            all += compute + moving;
            computed += compute;
            moved += moving;
        }
        QVERIFY(near(project(result, program.graph, program.plan, "x").wholeSeconds(), all));
        program.plan.overlap = Overlap::All;
        const Projection projection = project(result, program.graph, program.plan, "x");
        QVERIFY(projection.wholeSeconds() < all && projection.wholeSeconds() >= std::max(computed, moved) * (1 - 1e-9));
        QVERIFY(near(projection.exposedSeconds + computed, projection.wholeSeconds()));
        const json document = toJson(projection);
        SAME(document["whole_model"]["overlap"], "all");
        QVERIFY(document["statement"].get<std::string>().find("all collectives hide") != std::string::npos);
        QVERIFY(near(projection.stepSeconds(), projection.computeSeconds + projection.collectiveSeconds)); // of what ran

        // Two stages, four micro-batches: the busiest has half of the layers, and waits for the other's of one micro-batch.
        PlannedPipeline pipeline;
        pipeline.axis = 0;
        pipeline.stages = 2;
        pipeline.layers = 2;
        program.plan.pipeline = pipeline;
        program.plan.microBatches = 4;
        const Projection staged = project(result, program.graph, program.plan, "x");
        QVERIFY(staged.pipeline && staged.pipeline->stageSeconds > 0);
        QVERIFY(staged.pipeline->bubble > 0 && staged.pipeline->bubble < 1);
        QVERIFY(near(staged.wholeSeconds(), staged.pipeline->seconds()));
        QVERIFY(staged.wholeSeconds() < projection.wholeSeconds());
        QVERIFY(staged.statement().find("2 stages wait for each other") != std::string::npos);
        SAME(toJson(staged)["whole_model"]["pipeline"]["micro_batches"], 4);
    }
    void projectsAllLayersFromSome()
    {
        TestDesign design;
        design.model.layers = 5;
        const Program program = programOf(design);
        RunOptions options;
        options.layers = 2;
        RunResult result;
        profileOf(program, options, &result);
        double whole = 0;
        for (RunOperation& operation : result.operations)
            operation.medianSeconds = 1;
        for (const PlannedSegment& segment : program.plan.segments)
            for (const PlannedOp& op : segment.ops)
                whole += static_cast<double>(op.count);
        const Projection projection = project(result, program.graph, program.plan, "x");
        QVERIFY(projection.notRun.empty());
        QVERIFY(near(projection.wholeComputeSeconds, whole));
        QVERIFY(projection.computeSeconds < whole);
        options.ends = false;
        profileOf(program, options, &result);
        QVERIFY(!project(result, program.graph, program.plan, "x").notRun.empty());
        QVERIFY(toJson(project(result, program.graph, program.plan, "x"))["whole_model"].is_null());
    }
};

SHARDBOARD_TEST(TestProfile)
#include "tst_profile.moc"
