// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline for real: every value lies on the devices of one stage alone, what the next stage needs is sent there, and
// the run shows when a send fails.
#include "engine/devices/sharded.h"
#include "engine/run/runner.h"
#include "model/design/evaluate/evaluate.h"
#include "model/plan/pipeline.h"
#include "tests/engine/testprogram.h"
#include "tests/engine/testrun.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QTest>

#include <functional>
#include <map>
#include <set>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

namespace {

/// Through the text that the worker gets, which has to say where the stages are.
Program pipelined(const std::string& mesh, const std::string& preset, std::int64_t layers, const Workload& workload,
                  bool tied = false, const std::function<void(PipelineSpec&)>& change = {})
{
    ModelSpec model = tinyModel();
    model.layers = layers;
    model.tiedEmbeddings = tied;
    Design design = designOn(mesh, model, workload, preset);
    if (change)
        change(design.pipeline);
    const auto evaluation = evaluated(design);
    return sure(planFromJson(planToJson(evaluation->graph, evaluation->plan)));
}

Workload training(std::int64_t microBatches) { return { WorkloadKind::Train, 4, 6, DType::BF16, microBatches, Recompute::None }; }

std::map<std::string, std::int64_t> sendsIn(const RunResult& result)
{
    std::map<std::string, std::int64_t> sends;
    for (const RunOperation& operation : result.operations)
        if (operation.kind == "send-recv")
            sends[operation.id] = operation.count;
    return sends;
}

std::set<std::int64_t> devicesOf(const Sharded& value)
{
    std::set<std::int64_t> ids;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device)
        ids.insert(value.mesh().deviceId(device));
    return ids;
}

} // namespace

class TestPipeline : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void runs_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<int>("layers");
        QTest::addColumn<int>("microBatches"); ///< 0: prefill
        QTest::addColumn<int>("sends"); ///< forward: borders between runs times micro-batches
        dataRow("two stages", "stage=2", "pp-1f1b", 4, 2, 1 * 2);
        dataRow("prefill", "stage=3", "pp-1f1b", 5, 0, 2);
        dataRow("uneven, with tensor parallelism", "stage=3,model=2", "pp-1f1b", 5, 4, 2 * 4);
        dataRow("inner stages, replicas", "data=2,stage=2", "pp-1f1b", 3, 2, 1 * 2);
        dataRow("sharded weights", "fsdp=2,stage=2", "pp-1f1b", 2, 2, 1 * 2);
        dataRow("interleaved", "stage=2,model=3", "pp-interleaved", 5, 2, 3 * 2);
    }
    void runs()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(int, layers);
        QFETCH(int, microBatches);
        QFETCH(int, sends);
        const Workload workload = microBatches > 0 ? training(microBatches) : Workload { WorkloadKind::Prefill, 4, 6, DType::BF16 };
        const Program program = pipelined(mesh.toStdString(), preset.toStdString(), layers, workload);
        const RunResult result = resultOf(program, verifying());
        QVERIFY2(result.verified, (result.firstDeviation + " " + std::to_string(result.maxRelativeError)).c_str());
        const auto done = sendsIn(result);
        QCOMPARE(done.size(), microBatches > 0 ? 2U : 1U);
        for (const Collective& collective : program.plan.collectives)
            if (collective.axes == std::vector<int> { program.plan.pipeline->axis }) {
                QCOMPARE(done.at(collective.id), sends);
                QCOMPARE(collective.count, sends);
            }
    }

    /// Layers by hand, one run without a layer, embedding and loss counted, and gradients of weights that wait.
    void runsByHand()
    {
        const auto byHand = [](PipelineSpec& pipeline) {
            pipeline.chunks = 2;
            pipeline.layers = { 1, 2, 2, 0 };
        };
        const auto counted = [](PipelineSpec& pipeline) { pipeline.countEmbedding = pipeline.countLoss = true; };
        const auto waiting = [](PipelineSpec& pipeline) { pipeline.schedule = PipelineSchedule::ZeroBubble; };
        const auto forwardFirst = [](PipelineSpec& pipeline) { pipeline.schedule = PipelineSchedule::GPipe; };
        for (const auto& change :
             std::initializer_list<std::function<void(PipelineSpec&)>> { byHand, counted, waiting, forwardFirst }) {
            const Program program = pipelined("stage=2", "pp", 5, training(2), false, change);
            std::map<std::string, std::set<std::int64_t>> seen;
            RunHooks hooks;
            hooks.value = [&](const SeenValue& value) { seen[value.tensor].merge(devicesOf(value.value)); };
            const RunResult result = resultOf(program, verifying(), hooks);
            QVERIFY2(result.verified, (result.firstDeviation + " " + std::to_string(result.maxRelativeError)).c_str());
            int found = 0;
            for (const auto& [name, devices] : seen)
                for (std::int64_t layer = 0; layer < 5; ++layer)
                    if (name.find("layers." + std::to_string(layer) + ".") != std::string::npos) {
                        ++found;
                        const auto stages = stagesOfLayer(*program.plan.pipeline, layer);
                        QVERIFY2(devices == std::set<std::int64_t>(stages.begin(), stages.end()), name.c_str());
                    }
            QVERIFY(found > 5);
        }
    }

    /// Weights of a stage lie on two stages, which no device of the engine's does.
    void dualPipeIsRefused()
    {
        const Program program = pipelined("stage=2", "pp", 4, training(4), false,
                                          [](PipelineSpec& pipeline) { pipeline.schedule = PipelineSchedule::DualPipe; });
        const Failure failure = failureOf(program, verifying());
        QCOMPARE(failure.code, std::string("bad-plan"));
        QVERIFY2(failure.message.find("DualPipe has them on two stages") != std::string::npos, failure.message.c_str());
    }

    /// Layer by layer on which devices its values are: balanced, larger parts first, the ends with the first and the last stage.
    void valuesLieOnTheirStage()
    {
        const Program program = pipelined("data=2,stage=2", "pp-1f1b", 3, training(2));
        std::map<std::string, std::set<std::int64_t>> seen;
        RunHooks hooks;
        hooks.value = [&](const SeenValue& value) { seen[value.tensor].merge(devicesOf(value.value)); };
        resultOf(program, verifying(), hooks);
        const std::set<std::int64_t> first { 0, 2 }; // row-major, the stages the inner axis
        const std::set<std::int64_t> last { 1, 3 };
        std::size_t layers[3] {};
        for (const auto& [name, devices] : seen) {
            for (int layer = 0; layer < 3; ++layer)
                if (name.find("layers." + std::to_string(layer) + ".") != std::string::npos) {
                    ++layers[layer];
                    QVERIFY2(devices == (layer < 2 ? first : last), name.c_str());
                }
            if (name.find("embed_tokens") != std::string::npos)
                QVERIFY2(devices == first, name.c_str());
            if (name.find("lm_head") != std::string::npos)
                QVERIFY2(devices == last, name.c_str());
        }
        for (const std::size_t count : layers)
            QVERIFY2(count > 0, "no value with the name of the layer");
    }

    void brokenSendsShow_data()
    {
        QTest::addColumn<QString>("phase");
        QTest::newRow("forward") << "forward";
        QTest::newRow("backward") << "backward";
        QTest::newRow("any") << "any";
    }
    void brokenSendsShow()
    {
        QFETCH(QString, phase);
        const Program program = pipelined("stage=3", "pp-1f1b", 4, training(2));
        std::string id;
        for (const Collective& collective : program.plan.collectives)
            if (phase == "any" || phaseName(program.plan.segment(collective.plannedSegment).phase) == phase.toStdString()) {
                id = collective.id;
                break;
            }
        QVERIFY(!id.empty());
        const RunResult result = resultOf(program, verifying(phase == "any" ? "any" : id));
        QVERIFY(!result.verified);
        QCOMPARE(QString::fromStdString(result.firstDeviation), QString::fromStdString(id));
        QVERIFY(result.maxRelativeError > 0.5);
    }

    /// Their gradients are made on the last and on the first stage.
    void tiedEmbeddings()
    {
        const Program program = pipelined("stage=2,model=3", "pp-1f1b", 2, training(2), true);
        const RunResult result = resultOf(program, verifying());
        QVERIFY2(result.verified, (result.firstDeviation + " " + std::to_string(result.maxRelativeError)).c_str());
        const auto sends = sendsIn(result);
        QCOMPARE(sends.size(), 3U);
        std::string between;
        for (const auto& [id, count] : sends)
            if (id.find("to the first stage") != std::string::npos || id.find("to the last stage") != std::string::npos)
                between = id;
        QVERIFY(!between.empty());
        QVERIFY(!resultOf(program, verifying(between)).verified);
    }

    /// Two layers of many, on more stages than that: what has nothing to work on hands on what comes.
    void fewLayersOnManyStages()
    {
        const Program program = pipelined("stage=4", "pp-1f1b", 8, training(1));
        RunOptions options = verifying();
        options.layers = 2;
        const RunResult result = resultOf(program, options);
        QVERIFY2(result.verified, result.firstDeviation.c_str());
        for (const auto& [id, count] : sendsIn(result))
            QCOMPARE(count, 3);
    }

    /// A plan in which nothing brings the residual stream to the next stage cannot be run.
    void missingSend()
    {
        Program program = pipelined("stage=2", "pp-1f1b", 2, training(1));
        for (PlannedSegment& segment : program.plan.segments)
            for (PlannedOp& op : segment.ops)
                for (OperandUse& use : op.operands)
                    use.collectives.clear();
        program.plan.collectives.clear();
        const Failure failure = failureOf(program, verifying());
        QCOMPARE(failure.code, std::string("bad-plan"));
        QVERIFY2(failure.message.find("nothing sends it here") != std::string::npos, failure.message.c_str());
    }
};

SHARDBOARD_TEST(TestPipeline)
#include "tst_pipeline.moc"
