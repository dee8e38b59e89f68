// SPDX-License-Identifier: Apache-2.0
// Whole small models through the engine: every plan computes what the unsharded model computes.
#include "engine/run/runner.h"
#include "tests/engine/testprogram.h"
#include "tests/engine/testrun.h"
#include "tests/support/datarow.h"
#include "tests/support/families.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <cmath>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

class TestRunner : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void equalsTheUnshardedModel_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<QString>("match");
        QTest::addColumn<QString>("spec");
        dataRow("one device", "model=1", "replicate", 6, 3, "", "");
        dataRow("two, tensor parallel", "model=2", "megatron-tp", 4, 2, "", "");
        dataRow("two, replicated", "data=2", "replicate", 4, 2, "", "");
        dataRow("2x2", "data=2,model=2", "megatron-tp", 4, 4, "", "");
        dataRow("2x3, grouped heads", "data=2,model=3", "megatron-tp", 6, 3, "", "");
        dataRow("2x3, whole KV heads", "data=2,model=3", "megatron-tp", 6, 2, "", "");
        dataRow("2x3, one KV head", "data=2,model=3", "megatron-tp", 3, 1, "", "");
        dataRow("5, nothing divides", "model=5", "megatron-tp", 6, 3, "", "");
        dataRow("4x2, more devices than sequences", "data=4,model=2", "megatron-tp", 4, 2, "", "");
        dataRow("three axes", "pod=2,data=2,model=2", "megatron-tp", 4, 2, "", "");
        dataRow("weights gathered", "data=2,model=2", "replicate", 4, 2, "*.weight", "P('data')");
        dataRow("weights cut over both axes", "data=2,model=3", "replicate", 6, 3, "*proj.weight", "P(('model','data'))");
        dataRow("tokens cut along the sequence", "model=3", "replicate", 6, 3, "tokens", "P(None,'model')");
        dataRow("columns cut", "model=3", "replicate", 6, 3, "*proj.weight", "P(None,'model')");
        dataRow("table cut by columns", "model=3", "megatron-tp", 6, 3, "*embed_tokens.weight", "P(None,'model')");
    }

    void equalsTheUnshardedModel()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(int, heads);
        QFETCH(int, kvHeads);
        QFETCH(QString, match);
        QFETCH(QString, spec);
        TestDesign design;
        design.mesh = mesh.toStdString();
        design.preset = preset.toStdString();
        design.model.heads = heads;
        design.model.kvHeads = kvHeads;
        if (!match.isEmpty())
            design.extra.push_back(specFor(match.toStdString(), spec.toStdString()));
        for (const PickerProfile profile : { PickerProfile::Shardboard, PickerProfile::G1 })
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode }) {
                design.profile = profile;
                design.workload.kind = kind;
                const Program program = programOf(design);
                const RunResult result = resultOf(program, verifying());
                const std::string told = profileName(profile) + " " + workloadName(kind) + " " + result.worstOp + " "
                    + std::to_string(result.maxRelativeError) + " first " + result.firstDeviation;
                QVERIFY2(result.verified, told.c_str());
                QVERIFY2(result.maxRelativeError >= 0 && result.maxRelativeError < 1e-5, told.c_str());
                QCOMPARE(result.devices, program.plan.mesh.deviceCount());
                QCOMPARE(result.layers, 2);
            }
    }

    void runsModelsWithBiasNormsAndTiedTable()
    {
        TestDesign design;
        design.mesh = "data=2,model=2";
        design.model.heads = 4;
        design.model.kvHeads = 2;
        design.model.qkNorm = true;
        design.model.attentionBias = AttentionBias::Qkvo;
        design.model.mlpBias = true;
        design.model.tiedEmbeddings = true;
        design.model.activation = "gelu";
        const RunResult result = resultOf(programOf(design), verifying());
        QVERIFY2(result.verified, (result.firstDeviation + " " + std::to_string(result.maxRelativeError)).c_str());
    }

    /// With rounded values nearly equal scores change places between the layouts: both must still go to the same experts.
    void roundedScoresChooseTheSameExperts_data()
    {
        QTest::addColumn<QString>("family");
        for (const char* family : { "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3", "gpt_oss" })
            QTest::newRow(family) << QString::fromLatin1(family);
    }
    void roundedScoresChooseTheSameExperts()
    {
        QFETCH(QString, family);
        TestDesign design;
        design.mesh = "data=2,model=2";
        design.model = familyModel(family.toStdString());
        design.model.vocabSize = 64;
        design.workload = { WorkloadKind::Prefill, 4, 150, DType::BF16 };
        RunOptions options = verifying();
        options.designDtype = true;
        const RunResult result = resultOf(programOf(design), options);
        QVERIFY2(result.verified, (result.firstDeviation + " " + std::to_string(result.maxRelativeError)).c_str());
    }

    void comparesEveryOperationAndCollective()
    {
        const Program program = programOf({});
        const RunResult result = resultOf(program, verifying());
        QVERIFY(!program.plan.collectives.empty());
        std::size_t collectives = 0;
        for (const RunOperation& operation : result.operations) {
            QVERIFY2(operation.relativeError >= 0, operation.id.c_str());
            for (const Collective& collective : program.plan.collectives)
                collectives += collective.id == operation.id ? 1u : 0u;
        }
        QCOMPARE(collectives, program.plan.collectives.size());
        std::size_t operations = 0;
        for (const PlannedSegment& segment : program.plan.segments)
            operations += segment.ops.size();
        QCOMPARE(result.operations.size(), operations + collectives);
    }

    void catchesEachBrokenCollective()
    {
        for (const char* spec : { "", "P('data')" }) {
            TestDesign design;
            if (*spec != 0)
                design.extra.push_back(specFor("*.weight", spec));
            const Program program = programOf(design);
            for (const Collective& collective : program.plan.collectives) {
                RunOptions options = verifying();
                options.breakCollective = collective.id;
                const RunResult result = resultOf(program, options);
                QVERIFY2(!result.verified, collective.id.c_str());
                QCOMPARE(result.firstDeviation, collective.id);
                QVERIFY(result.maxRelativeError > 1e-3);
            }
        }
    }

    void anyBreaksTheFirstThatMovesData()
    {
        const Program program = programOf({});
        RunOptions options = verifying();
        options.breakCollective = "any";
        const RunResult result = resultOf(program, options);
        QVERIFY(!result.verified);
        const auto first = std::find_if(program.plan.collectives.begin(), program.plan.collectives.end(),
                                        [](const Collective& c) { return c.kind != CollectiveKind::LocalSlice; });
        QCOMPARE(result.firstDeviation, first->id);
        options.breakCollective = "no such collective";
        QCOMPARE(failureOf(program, options).code, "bad-plan");
    }

    void doesNotDependOnTheNumberOfThreads()
    {
        const Program program = programOf({});
        const RunResult one = resultOf(program, verifying(), {}, { .workers = 1 });
        const RunResult three = resultOf(program, verifying(), {}, { .workers = 3 });
        QCOMPARE(one.operations.size(), three.operations.size());
        for (std::size_t i = 0; i < one.operations.size(); ++i)
            QCOMPARE(one.operations[i].relativeError, three.operations[i].relativeError);
    }

    void roundsToTheDtypeOfTheDesign()
    {
        for (const DType dtype : { DType::BF16, DType::F16, DType::F32 }) {
            TestDesign design;
            design.workload.dtype = dtype;
            RunOptions options = verifying();
            options.designDtype = true;
            const RunResult result = resultOf(programOf(design), options);
            QVERIFY2(result.verified, (dtypeName(dtype) + " " + std::to_string(result.maxRelativeError)).c_str());
            // Rounded values differ visibly, exact ones do not.
            QCOMPARE(result.maxRelativeError > 1e-5, dtype != DType::F32);
        }
    }

    void runsFewerLayersAndWithoutEnds()
    {
        TestDesign design;
        design.model.layers = 5;
        const Program program = programOf(design);
        RunOptions options = verifying();
        options.layers = 3;
        options.steps = 4;
        const RunResult some = resultOf(program, options);
        QCOMPARE(some.layers, 3);
        QCOMPARE(some.steps, 4);
        QVERIFY(some.verified);
        QVERIFY(some.stepMin > 0 && some.stepMin <= some.stepMedian && some.stepMedian <= some.stepMax);
        QCOMPARE(some.operations.front().kind, "embedding");
        options.ends = false;
        const RunResult inner = resultOf(program, options);
        QVERIFY(inner.verified);
        for (const RunOperation& operation : inner.operations) {
            QVERIFY(operation.kind != "embedding");
            QVERIFY2(operation.id.rfind("block", 0) == 0, operation.id.c_str());
        }
        QCOMPARE(inner.operations.back().count, 3);
    }

    void announcesBeforeItStartsAndKeepsToIt()
    {
        const Program program = programOf({});
        std::int64_t announced = 0;
        bool progressBefore = false;
        std::int64_t last = 0;
        std::int64_t total = 0;
        std::size_t samples = 0;
        RunHooks hooks;
        hooks.announce = [&](std::int64_t bytes, double seconds) {
            announced = bytes;
            progressBefore = last > 0;
            QVERIFY(seconds > 0);
        };
        hooks.progress = [&](std::int64_t step, std::int64_t of, const std::string&) {
            QCOMPARE(step, last + 1);
            last = step;
            total = of;
        };
        hooks.sample = [&](const Sample& sample) {
            ++samples;
            QVERIFY(sample.seconds >= 0 && sample.start >= 0);
        };
        const RunResult result = resultOf(program, verifying(), hooks);
        QVERIFY(!progressBefore);
        QVERIFY(announced > result.peakBytes && result.peakBytes > 0);
        QCOMPARE(last, total);
        std::int64_t occurrences = 0;
        for (const RunOperation& operation : result.operations)
            occurrences += operation.count;
        QCOMPARE(static_cast<std::int64_t>(samples), occurrences);

        bool announcedAgain = false;
        hooks = {};
        hooks.announce = [&](std::int64_t, double) { announcedAgain = true; };
        const Failure failure = failureOf(program, verifying(), hooks, { .availableBytes = announced - 1 });
        QCOMPARE(failure.code, "memory");
        QVERIFY(announcedAgain);
        QVERIFY(failure.message.find("smaller batch") != std::string::npos);
    }

    void stopsWhenCancelled()
    {
        TestDesign design;
        design.model.hiddenSize = 512;
        design.model.intermediateSize = 2048;
        design.workload.sequence = 512;
        const Program program = programOf(design);
        std::atomic<bool> cancel { false };
        int operations = 0;
        RunHooks hooks;
        hooks.cancel = &cancel;
        hooks.progress = [&](std::int64_t, std::int64_t, const std::string&) { cancel = ++operations == 3; };
        QCOMPARE(failureOf(program, verifying(), hooks).code, "cancelled");
        QCOMPARE(operations, 3);
        bool announced = false; // already while planning
        hooks.announce = [&](std::int64_t, double) { announced = true; };
        cancel = true;
        QCOMPARE(failureOf(program, verifying(), hooks).code, "cancelled");
        QVERIFY(!announced);
    }

    void refusesWhatItCannotRun()
    {
        Program program = programOf({});
        RunOptions options;
        options.backend = "cuda";
        QCOMPARE(failureOf(program, options).where, "options.backend");
        options = {};
        options.steps = 0;
        QCOMPARE(failureOf(program, options).code, "bad-plan");

        Program shape = program;
        const Op& linear =
            *std::find_if(shape.graph.ops.begin(), shape.graph.ops.end(), [](const Op& op) { return op.kind == OpKind::Linear; });
        shape.graph.tensors[static_cast<std::size_t>(linear.operands[1])].spec.shape[0] += 1;
        const Failure badShape = failureOf(shape);
        QCOMPARE(badShape.code, "bad-plan");
        QVERIFY(badShape.where.find(linear.name) != std::string::npos);

        // A plan whose collectives were dropped: the operation gets a layout that it does not expect.
        Program dropped = program;
        for (PlannedSegment& segment : dropped.plan.segments)
            for (PlannedOp& op : segment.ops)
                for (OperandUse& use : op.operands)
                    use.collectives.clear();
        QCOMPARE(failureOf(dropped).code, "bad-plan");

        // A device group that cannot know what the step needs.
        Program narrow = program;
        for (Collective& collective : narrow.plan.collectives)
            collective.step.axes = { collective.step.axes.front() == 0 ? 1 : 0 };
        QCOMPARE(failureOf(narrow).code, "bad-plan");

        Program huge = program;
        for (GraphTensor& tensor : huge.graph.tensors)
            tensor.spec.shape.front() = std::int64_t { 1 } << 47;
        QCOMPARE(failureOf(huge).code, "bad-plan");
    }

    void changesWithTheSeedOnly()
    {
        const Program program = programOf({});
        RunOptions options = verifying();
        const RunResult first = resultOf(program, options);
        const RunResult again = resultOf(program, options);
        QCOMPARE(first.maxRelativeError, again.maxRelativeError);
        options.seed = 77;
        QVERIFY(resultOf(program, options).maxRelativeError != first.maxRelativeError);
    }

    void runsAPlanThatWentOverTheWire()
    {
        const Program program = programOf({});
        auto read = sure(planFromJson(nlohmann::json::parse(planToJson(program.graph, program.plan).dump())));
        const RunResult here = resultOf(program, verifying());
        const RunResult there = resultOf(read, verifying());
        QCOMPARE(here.maxRelativeError, there.maxRelativeError);
        QCOMPARE(here.worstOp, there.worstOp);
    }
};

SHARDBOARD_TEST(TestRunner)
#include "tst_runner.moc"
