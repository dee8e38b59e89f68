// SPDX-License-Identifier: Apache-2.0
// Training steps of small models: gradients against central differences of a model in double, optimizer steps against the
// formula, and every layout against the unsharded step.
#include "engine/devices/collective.h"
#include "engine/ops/execute.h"
#include "engine/run/record/tolerance.h"
#include "engine/run/runner.h"
#include "tests/engine/doublemodel.h"
#include "tests/engine/testprogram.h"
#include "tests/engine/testrun.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>
#include <random>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

namespace {

using Doubles = std::vector<double>;

Workload training(std::int64_t batch, std::int64_t sequence, std::int64_t microBatches = 1, Recompute recompute = Recompute::None)
{
    return { WorkloadKind::Train, batch, sequence, DType::BF16, microBatches, recompute };
}

std::string told(const RunResult& result)
{
    return result.worstOp + " " + std::to_string(result.maxRelativeError * 1e6) + "e-6, first " + result.firstDeviation;
}

/// What operations left, unsharded, by the tensor's name; of micro-batches the sum.
class Seen {
public:
    RunHooks hooks()
    {
        RunHooks hooks;
        hooks.value = [this](const SeenValue& seen) {
            const Sharded& value = seen.unsharded != nullptr ? *seen.unsharded : seen.value;
            Doubles& sum = values[seen.tensor];
            sum.resize(static_cast<std::size_t>(value.elements(0)), 0);
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += double { value.data(0)[i] };
        };
        return hooks;
    }
    std::map<std::string, Doubles> values;
};

DoubleModel::Matrix inputs(const std::string& name, const Workload& workload, std::int64_t vocabulary, std::uint64_t seed)
{
    DoubleModel::Matrix rows;
    const std::int64_t batch = workload.batch / workload.microBatches;
    for (std::int64_t part = 0; part < workload.microBatches; ++part) {
        std::vector<float> values(static_cast<std::size_t>(batch * workload.sequence));
        Generator::tokens(seed, part == 0 ? name : name + "/micro-batch " + std::to_string(part), vocabulary)
            .fill(0, batch * workload.sequence, values.data());
        for (std::int64_t i = 0; i < batch; ++i)
            rows.emplace_back(values.begin() + i * workload.sequence, values.begin() + (i + 1) * workload.sequence);
    }
    return rows;
}

ModelSpec smallModel()
{
    ModelSpec model = tinyModel();
    model.vocabSize = 11;
    model.hiddenSize = 8;
    model.intermediateSize = 6;
    model.heads = 4;
    model.kvHeads = 2;
    model.headDim = 4;
    return model;
}

/// Bytes that the devices read from others and that others read from them, per device.
struct Traffic {
    std::vector<std::int64_t> received;
    std::vector<std::int64_t> sent;
};

Traffic trafficOf(const Collective& collective, const Shape& shape, const Mesh& mesh)
{
    const Sharded before(shape, collective.step.before, mesh);
    const Sharded after(shape, collective.step.after, mesh);
    const auto devices = static_cast<std::size_t>(mesh.deviceCount());
    Traffic out { std::vector<std::int64_t>(devices, 0), std::vector<std::int64_t>(devices, 0) };
    for (std::int64_t device = 0; device < mesh.deviceCount(); ++device)
        for (const Transfer& transfer : transfersOf(collective.step, before, after, device, collective.id))
            if (transfer.from != device) {
                out.received[static_cast<std::size_t>(device)] += volumeOf(transfer.region);
                out.sent[static_cast<std::size_t>(transfer.from)] += volumeOf(transfer.region);
            }
    return out;
}

} // namespace

class TestTrainingStep : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gradientsAreTheSlopesOfTheLoss_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<int>("microBatches");
        QTest::addColumn<bool>("everything"); // biases, norms of queries and keys, tied table, GELU
        QTest::addColumn<QString>("recompute");
        QTest::newRow("plain") << "model=1" << 1 << false << "none";
        QTest::newRow("biases, norms, tied") << "model=1" << 1 << true << "none";
        QTest::newRow("micro-batches") << "model=1" << 3 << true << "none";
        QTest::newRow("selective recompute") << "model=1" << 1 << true << "selective";
        QTest::newRow("full recompute") << "data=2,model=2" << 2 << true << "full";
        QTest::newRow("recompute of parts") << "data=2,model=2" << 1 << true << "by-op";
    }

    void gradientsAreTheSlopesOfTheLoss()
    {
        QFETCH(QString, mesh);
        QFETCH(int, microBatches);
        QFETCH(bool, everything);
        QFETCH(QString, recompute);
        TestDesign design;
        design.mesh = mesh.toStdString();
        design.model = smallModel();
        if (everything) {
            design.model.attentionBias = AttentionBias::Qkvo;
            design.model.mlpBias = true;
            design.model.qkNorm = true;
            design.model.tiedEmbeddings = true;
            design.model.activation = "gelu";
        }
        design.workload = training(4 * microBatches, 5, microBatches, recomputeFromName(recompute.toStdString()).value());
        const Program program = programOf(design);
        Seen seen;
        const RunResult result = resultOf(program, verifying(), seen.hooks());
        QVERIFY2(result.verified, told(result).c_str());

        const std::uint64_t seed = RunOptions {}.seed;
        DoubleModel model(design.model, program.graph, seed);
        const auto tokens = inputs("tokens", design.workload, design.model.vocabSize, seed);
        const auto targets = inputs("targets", design.workload, design.model.vocabSize, seed);
        double loss = 0;
        for (const double value : seen.values.at("token loss"))
            loss += value;
        QVERIFY2(std::abs(loss - model.loss(tokens, targets)) < 1e-6 * loss, std::to_string(loss).c_str());

        std::mt19937 random(7);
        std::size_t compared = 0;
        for (auto& [name, weight] : model.weights) {
            const Doubles& gradient = seen.values.at("grad of " + name);
            const Doubles& updated = seen.values.at(name + " updated");
            QCOMPARE(gradient.size(), weight.size());
            double size = 0;
            for (const double value : gradient)
                size += value * value;
            size = std::sqrt(size / static_cast<double>(gradient.size()));
            QVERIFY2(size > 0, name.c_str());
            for (int sample = 0; sample < 12; ++sample) {
                const std::size_t i = random() % weight.size();
                const double value = weight[i];
                const double step = 1e-5;
                weight[i] = value + step;
                const double above = model.loss(tokens, targets);
                weight[i] = value - step;
                const double slope = (above - model.loss(tokens, targets)) / (2 * step);
                weight[i] = value;
                const std::string text =
                    name + "[" + std::to_string(i) + "]: " + std::to_string(gradient[i]) + " instead of " + std::to_string(slope);
                QVERIFY2(std::abs(gradient[i] - slope) < 1e-5 * size + 1e-4 * std::abs(slope), text.c_str());
                // Adam's first step: both moments, corrected, are the gradient itself and its square.
                const double stepped = value - kAdam.rate * gradient[i] / (std::abs(gradient[i]) + kAdam.epsilon);
                QVERIFY2(std::abs(updated[i] - stepped) < 1e-3 * kAdam.rate + 1e-7 * std::abs(value), text.c_str());
                ++compared;
            }
        }
        QVERIFY(compared > 200);
    }

    void equalsTheUnshardedStep_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("match");
        QTest::addColumn<QString>("spec");
        dataRow("tensor parallel", "data=2,model=3", "megatron-tp", "", "");
        dataRow("whole KV heads", "model=2", "megatron-tp", "", "");
        dataRow("nothing divides", "model=5", "megatron-tp", "", "");
        dataRow("data parallel", "data=4", "replicate", "", "");
        dataRow("data parallel, batch cut", "data=4", "replicate", "tokens", "P('data')");
        dataRow("weights gathered", "data=2,model=2", "replicate", "*.weight", "P('data')");
        dataRow("columns cut", "model=3", "replicate", "*proj.weight", "P(None,'model')");
        dataRow("sequence cut", "model=3", "replicate", "tokens", "P(None,'model')");
    }

    void equalsTheUnshardedStep()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(QString, match);
        QFETCH(QString, spec);
        TestDesign design;
        design.mesh = mesh.toStdString();
        design.preset = preset.toStdString();
        if (!match.isEmpty())
            design.extra.push_back(specFor(match.toStdString(), spec.toStdString()));
        for (const std::int64_t microBatches : { 1, 2 })
            for (const Recompute recompute : { Recompute::None, Recompute::Selective, Recompute::Full,
                                               recomputeFromName("by-op").value(), recomputeFromName("save_qkv_proj").value() }) {
                design.workload = training(4 * microBatches, 7, microBatches, recompute);
                const RunResult result = resultOf(programOf(design), verifying());
                QVERIFY2(result.verified, told(result).c_str());
                QVERIFY(result.maxRelativeError > 0 || mesh == "model=1");
                QCOMPARE(result.layers, 2);
                QCOMPARE(result.tolerance, kToleranceGradient);
            }
    }

    void recordsWhatRan()
    {
        TestDesign design;
        design.model.layers = 5;
        design.workload = training(4, 6, 2);
        const Program program = programOf(design);
        RunOptions options = verifying();
        options.layers = 2;
        options.steps = 3;
        const RunResult result = resultOf(program, options);
        QVERIFY2(result.verified, told(result).c_str());
        QCOMPARE(result.layers, 2);
        std::map<std::string, std::int64_t> counts;
        for (const RunOperation& operation : result.operations) {
            QVERIFY2(operation.relativeError >= 0, operation.id.c_str());
            QVERIFY2(counts.emplace(operation.id, operation.count).second, operation.id.c_str());
        }
        QCOMPARE(counts.at("block/mlp.down_proj"), 4);
        QCOMPARE(counts.at("block/mlp.down_proj.grad_w"), 4);
        QCOMPARE(counts.at("block/model.layers.*.mlp.down_proj.weight.update"), 2);
        QCOMPARE(counts.at("head/lm_head.grad_x"), 2);
        QCOMPARE(counts.at("embed/model.embed_tokens.weight.update"), 1);
    }

    /// Without embedding and head the stream and its gradient are made up.
    void runsWithoutEnds()
    {
        TestDesign design;
        design.workload = training(4, 6);
        RunOptions options = verifying();
        options.ends = false;
        const RunResult result = resultOf(programOf(design), options);
        QVERIFY2(result.verified, told(result).c_str());
        bool gradient = false;
        for (const RunOperation& operation : result.operations) {
            QVERIFY2(operation.id.rfind("block", 0) == 0, operation.id.c_str());
            gradient = gradient || operation.kind == "matmul_grad_w";
        }
        QVERIFY(gradient);
    }

    void catchesEachBrokenCollective()
    {
        for (const char* spec : { "", "P('data')" }) {
            TestDesign design;
            design.workload = training(4, 5);
            if (*spec != 0)
                design.extra.push_back(specFor("*.weight", spec));
            const Program program = programOf(design);
            int backward = 0;
            for (const Collective& collective : program.plan.collectives) {
                if (collective.kind == CollectiveKind::LocalSlice)
                    continue;
                backward += program.plan.segment(collective.plannedSegment).phase == Phase::Backward;
                RunOptions options = verifying();
                options.breakCollective = collective.id;
                const RunResult result = resultOf(program, options);
                QVERIFY2(!result.verified, collective.id.c_str());
                QCOMPARE(result.firstDeviation, collective.id);
            }
            QVERIFY(backward > 10);
        }
    }

    void announcesKeptActivationsAndGradients()
    {
        TestDesign design;
        design.mesh = "data=2";
        design.preset = "replicate";
        design.workload = training(32, 256);
        const Program program = programOf(design);
        std::int64_t kept = 0;
        std::int64_t gradients = 0;
        const auto bytes = [&](TensorId tensor, const Layout& layout) {
            return 4 * Sharded(program.graph.tensor(tensor).shape, layout, program.plan.mesh).totalElements();
        };
        for (const PlannedSegment& segment : program.plan.segments) {
            for (const Kept& activation : segment.kept)
                kept += segment.count * bytes(activation.tensor, activation.layout);
            for (const PlannedOp& op : segment.ops)
                if (segment.phase == Phase::Update)
                    gradients += segment.count * bytes(program.graph.op(op.op).operands[1], op.operands[1].layout);
        }
        QVERIFY(kept > (10 << 20) && gradients > 0);
        RunHooks hooks;
        std::int64_t announced = 0;
        hooks.announce = [&](std::int64_t size, double) { announced = size; };
        const RunResult result = resultOf(program, {}, hooks);
        QVERIFY2(result.peakBytes > std::max(kept, gradients) && announced > result.peakBytes,
                 std::to_string(result.peakBytes).c_str());
        // The unsharded step keeps its own beside it, once instead of on two devices.
        const RunResult compared = resultOf(program, verifying());
        QVERIFY2(2 * (compared.peakBytes - result.peakBytes) > kept, std::to_string(compared.peakBytes).c_str());
    }

    void roundsToTheDtypeOfTheDesign()
    {
        TestDesign design;
        design.workload = training(4, 7);
        RunOptions options = verifying();
        options.designDtype = true;
        const RunResult result = resultOf(programOf(design), options);
        QVERIFY2(result.verified, told(result).c_str());
        QVERIFY(result.maxRelativeError > 1e-4);
    }

    void doesNotDependOnTheNumberOfThreads()
    {
        TestDesign design;
        design.workload = training(4, 7, 2);
        const Program program = programOf(design);
        std::vector<double> errors[2];
        for (const int run : { 0, 1 }) {
            const RunResult result = resultOf(program, verifying(), {}, { .workers = run == 0 ? 1 : 3 });
            for (const RunOperation& operation : result.operations)
                errors[run].push_back(operation.relativeError);
        }
        QCOMPARE(errors[0], errors[1]);
    }

    /// What leaves the devices arrives, and where everything divides it is what the kind of collective needs.
    void bytesSentAreReceived()
    {
        TestDesign design;
        design.mesh = "data=2,model=2";
        design.model.vocabSize = 64;
        design.model.heads = 4;
        design.model.kvHeads = 2;
        design.model.intermediateSize = 48;
        design.workload = training(4, 8);
        int checked = 0;
        for (const char* spec : { "", "P('data')", "P(('model','data'))" }) {
            design.extra.clear();
            if (*spec != 0)
                design.extra.push_back(specFor("*.weight", spec));
            const Program program = programOf(design);
            for (const Collective& collective : program.plan.collectives) {
                const Shape& shape = program.graph.tensor(collective.tensor).shape;
                const Traffic traffic = trafficOf(collective, shape, program.plan.mesh);
                std::int64_t sent = 0;
                std::int64_t received = 0;
                const std::int64_t size = program.plan.mesh.groupSize(collective.axes);
                const std::int64_t before = Sharded(shape, collective.step.before, program.plan.mesh).elements(0);
                const std::int64_t after = Sharded(shape, collective.step.after, program.plan.mesh).elements(0);
                for (std::size_t device = 0; device < traffic.sent.size(); ++device) {
                    sent += traffic.sent[device];
                    received += traffic.received[device];
                    const std::int64_t expected = collective.kind == CollectiveKind::AllGather ? after - before
                        : collective.kind == CollectiveKind::ReduceScatter                     ? before - after
                        : collective.kind == CollectiveKind::LocalSlice                        ? 0
                                                                                               : -1;
                    if (expected < 0)
                        continue;
                    QVERIFY2(traffic.received[device] == expected, collective.id.c_str());
                    QVERIFY2(traffic.sent[device] == expected, collective.id.c_str());
                    checked += expected > 0;
                }
                QCOMPARE(sent, received);
                QVERIFY2((collective.kind == CollectiveKind::LocalSlice || size == 1) == (sent == 0), collective.id.c_str());
            }
        }
        QVERIFY(checked > 100);
    }

    void refusesMalformedTraining()
    {
        TestDesign design;
        design.workload = training(4, 6, 2);
        const Program good = programOf(design);
        QCOMPARE(failureOf(good).code, "none");
        const auto broken = [&](auto&& change) {
            Program program = good;
            change(program);
            return failureOf(program).code;
        };
        const auto segment = [](Program& program, Phase phase) -> PlannedSegment& {
            return *std::find_if(program.plan.segments.begin(), program.plan.segments.end(),
                                 [&](const PlannedSegment& s) { return s.phase == phase && s.name == "block"; });
        };
        QCOMPARE(broken([&](Program& p) { segment(p, Phase::Forward).kept.clear(); }), "bad-plan");
        QCOMPARE(broken([&](Program& p) { segment(p, Phase::Backward).phase = Phase::Update; }), "bad-plan");
        QCOMPARE(broken([&](Program& p) { segment(p, Phase::Backward).kept = segment(p, Phase::Forward).kept; }), "bad-plan");
        QCOMPARE(broken([&](Program& p) {
                     Layout& layout = segment(p, Phase::Forward).kept.front().layout;
                     layout.dims[0] = { AxisRef { 0 }, AxisRef { 1 } };
                 }),
                 "bad-plan");
        QCOMPARE(broken([&](Program& p) {
                     for (Segment& s : p.graph.segments)
                         s.of = s.phase == Phase::Backward ? SegmentId {} : s.of;
                 }),
                 "bad-plan");
        QCOMPARE(broken([&](Program& p) {
                     for (Segment& s : p.graph.segments)
                         s.of = s.phase == Phase::Update ? lastId(p.graph.segments) : s.of;
                 }),
                 "bad-plan");
        QCOMPARE(broken([&](Program& p) { // the gradients of weights are not there for the update
                     std::erase_if(p.plan.segments, [](const PlannedSegment& s) { return s.phase == Phase::Backward; });
                 }),
                 "bad-plan");
        QCOMPARE(broken([&](Program& p) { p.plan.microBatches = std::int64_t { 1 } << 40; }), "bad-plan");
        // Every operand and result of every new operation in a wrong shape: nothing may be computed with them.
        for (const Op& op : good.graph.ops)
            for (const TensorId tensor : { op.operands.front(), op.operands.back(), op.result })
                QCOMPARE(broken([&](Program& p) {
                             Shape& shape = p.graph.entry(tensor).spec.shape;
                             shape.back() = shape.back() * 2 + 1;
                         }),
                         "bad-plan");
        // Maxima that are not reduced are none.
        QCOMPARE(broken([&](Program& p) {
                     for (PlannedSegment& s : p.plan.segments)
                         for (PlannedOp& planned : s.ops)
                             if (p.graph.op(planned.op).kind == OpKind::SumExp) {
                                 planned.operands[1].collectives.clear();
                                 planned.operands[1].layout = planned.operands[1].before;
                             }
                 }),
                 "bad-plan");
    }
};

SHARDBOARD_TEST(TestTrainingStep)
#include "tst_trainingstep.moc"
