// SPDX-License-Identifier: Apache-2.0
// What passes hand to each other: numbers that a test has put there are found where the next pass looks for them.
#include "tests/engine/stepparts.h"
#include "tests/engine/testrun.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::test;
using shardboard::test::failureCode;

namespace {

float counted(std::int64_t number) { return static_cast<float>(number); }

std::function<float(std::int64_t)> countedFrom(int first)
{
    return [first](std::int64_t number) { return static_cast<float>(number + first); };
}

Program smallProgram(WorkloadKind kind, const std::string& mesh = "data=2,model=2", const std::string& preset = "megatron-tp")
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model = shardboard::test::tinyModel();
    design.model.heads = 4;
    design.model.kvHeads = 2;
    design.workload = { kind, 4, 6, DType::BF16, kind == WorkloadKind::Train ? 2 : 1, Recompute::None };
    if (!applyPreset(design, preset).ok())
        throw std::runtime_error("there is no such preset");
    return shardboard::test::planned(design);
}

/// Layers alone, so that the first pass begins in the middle of the model.
RunOptions layersAlone()
{
    RunOptions options;
    options.ends = false;
    return options;
}

/// In which the first operation that takes the tensor expects it.
const Layout& layoutTaken(const SegmentPass& pass, TensorId tensor)
{
    for (const PlannedOp& planned : pass.planned->ops)
        for (const OperandUse& use : planned.operands)
            if (use.tensor == tensor)
                return use.before;
    throw std::runtime_error("nothing takes the tensor");
}

const SegmentPass& passOf(const StepParts& parts, Phase phase, std::int64_t layer, std::int64_t microBatch = 0)
{
    for (const SegmentPass& pass : parts.passes)
        if (pass.segment->isLayer && pass.segment->phase == phase && pass.layer == layer && pass.microBatch == microBatch)
            return pass;
    throw std::runtime_error("there is no such pass");
}

void put(StepParts& parts, const SegmentPass& pass, TensorId tensor, const Layout& layout,
         const std::function<float(std::int64_t)>& value)
{
    parts.state.values.put(tensor, filled(parts.state.fresh(pass, tensor, layout), parts.arena, value));
    parts.state.layouts[tensor] = layout;
}

/// What a pass has to leave, all of it with the same numbers.
void putAll(StepParts& parts, const SegmentPass& pass, const std::function<float(std::int64_t)>& value)
{
    for (const Kept& kept : pass.planned->kept)
        put(parts, pass, kept.tensor, kept.layout, value);
    for (const TensorId tensor : leavingTensors(parts.program.graph)[static_cast<std::size_t>(pass.planned->segment)])
        put(parts, pass, tensor, Layout::replicated(parts.program.graph.tensor(tensor).shape.size()), value);
    if (const TensorId out = pass.segment->carryOut; out != kNoTensor && parts.state.current(out) == nullptr)
        put(parts, pass, out, Layout::replicated(parts.program.graph.tensor(out).shape.size()), value);
}

} // namespace

class TestHandOver : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theNextLayerGetsWhatWasLeft_data()
    {
        QTest::addColumn<QString>("left");
        QTest::newRow("whole") << "P()";
        QTest::newRow("cut by rows") << "P('data')";
        QTest::newRow("cut by columns") << "P(None, None, ('model', 'data'))";
        QTest::newRow("addends") << "P(unreduced={'model'})";
    }
    void theNextLayerGetsWhatWasLeft()
    {
        QFETCH(QString, left);
        StepParts parts(smallProgram(WorkloadKind::Prefill), layersAlone());
        const SegmentPass& first = passOf(parts, Phase::Forward, 0);
        const SegmentPass& second = passOf(parts, Phase::Forward, 1);
        const Layout layout = parseSpec(left.toStdString(), parts.program.plan.mesh, 3).value();
        const float share = layout.partial.empty() ? 1.0f : 0.5f; // two addends
        parts.handOver.enter(first);
        put(parts, first, first.segment->carryOut, layout, [&](std::int64_t number) { return share * counted(number); });
        parts.handOver.leave(first);
        QVERIFY(parts.state.current(first.segment->carryOut) == nullptr); // nothing of the pass is left behind
        parts.handOver.enter(second);
        const Sharded* value = parts.state.current(second.segment->carryIn);
        QVERIFY(holds(value, counted));
        QVERIFY(value->layout() == layoutTaken(second, second.segment->carryIn));
    }

    /// Where the next layer takes addends, each device of a group gets its share.
    void aWholeValueBecomesAddends()
    {
        Program program = smallProgram(WorkloadKind::Prefill);
        const Layout addends = parseSpec("P('data', unreduced={'model'})", program.plan.mesh, 3).value();
        for (PlannedSegment& segment : program.plan.segments)
            for (PlannedOp& planned : segment.ops)
                for (OperandUse& use : planned.operands)
                    if (use.tensor == program.graph.segment(segment.segment).carryIn)
                        use.before = addends;
        StepParts parts(std::move(program), layersAlone());
        const SegmentPass& first = passOf(parts, Phase::Forward, 0);
        const SegmentPass& second = passOf(parts, Phase::Forward, 1);
        putAll(parts, first, counted);
        parts.handOver.leave(first);
        parts.handOver.enter(second);
        QVERIFY(holds(parts.state.current(second.segment->carryIn), [](std::int64_t number) { return 0.5f * counted(number); }));
    }

    /// The same made-up stream however it is laid out, another one in every micro-batch.
    void theStreamBeginsWhereNothingCameBefore()
    {
        StepParts cut(smallProgram(WorkloadKind::Train), layersAlone());
        StepParts alone(smallProgram(WorkloadKind::Train, "model=1", "replicate"), layersAlone());
        const auto stream = [](StepParts& parts, std::int64_t microBatch) {
            const SegmentPass& pass = passOf(parts, Phase::Forward, 0, microBatch);
            parts.handOver.dropCarried();
            parts.handOver.enter(pass);
            return parts.state.current(pass.segment->carryIn);
        };
        const Sharded* whole = stream(alone, 0);
        QVERIFY(whole != nullptr && whole->deviceCount() == 1);
        const std::vector<float> expected(whole->data(0), whole->data(0) + whole->elements(0));
        const auto same = [&](std::int64_t number) { return expected[static_cast<std::size_t>(number)]; };
        QVERIFY(holds(stream(cut, 0), same));
        QVERIFY(!holds(stream(cut, 1), same));
        double squares = 0;
        for (const float value : expected)
            squares += double { value } * double { value };
        QVERIFY(squares > 0);
    }

    void droppedIsGone()
    {
        StepParts parts(smallProgram(WorkloadKind::Prefill), layersAlone());
        const SegmentPass& first = passOf(parts, Phase::Forward, 0);
        const SegmentPass& second = passOf(parts, Phase::Forward, 1);
        putAll(parts, first, counted);
        parts.handOver.leave(first);
        parts.handOver.dropCarried();
        parts.handOver.enter(second);
        QVERIFY(parts.state.current(second.segment->carryIn) != nullptr);
        QVERIFY(!holds(parts.state.current(second.segment->carryIn), counted));
    }

    void theBackwardPassFindsWhatItsLayerKept()
    {
        StepParts parts(smallProgram(WorkloadKind::Train), layersAlone());
        parts.verification.setOn(true);
        for (const int layer : { 0, 1 }) {
            const SegmentPass& pass = passOf(parts, Phase::Forward, layer);
            QVERIFY(pass.planned->kept.size() > 2);
            parts.handOver.enter(pass);
            putAll(parts, pass, countedFrom(100 * layer));
            for (const Kept& kept : pass.planned->kept)
                parts.putWhole(kept.tensor, countedFrom(1000 + layer));
            parts.putWhole(pass.segment->carryOut, countedFrom(1000 + layer));
            parts.handOver.leave(pass);
        }
        parts.handOver.dropCarried();
        const SegmentPass& forward = passOf(parts, Phase::Forward, 1);
        const SegmentPass& backward = passOf(parts, Phase::Backward, 1);
        parts.handOver.enter(backward);
        for (const Kept& kept : forward.planned->kept) {
            const std::string& name = parts.program.graph.tensor(kept.tensor).name;
            QVERIFY2(holds(parts.state.values.find(kept.tensor, kept.layout), countedFrom(100)), name.c_str());
            QVERIFY2(holds(parts.whole(kept.tensor), countedFrom(1001)), name.c_str());
            parts.state.values.drop(kept.tensor, kept.layout);
        }
        parts.handOver.enter(backward); // taken is taken
        const Kept& kept = forward.planned->kept.front();
        QVERIFY(parts.state.values.find(kept.tensor, kept.layout) == nullptr);
        parts.handOver.clear(); // the step is over: of layer 0 nothing waits any more
        parts.handOver.enter(passOf(parts, Phase::Backward, 0));
        QVERIFY(parts.state.values.find(kept.tensor, kept.layout) == nullptr);
    }

    void whatIsCarriedOnCanBeKeptToo()
    {
        Program program = smallProgram(WorkloadKind::Train);
        for (PlannedSegment& segment : program.plan.segments)
            if (const Segment& of = program.graph.segment(segment.segment); of.isLayer && of.phase == Phase::Forward)
                segment.kept = { { of.carryOut, Layout::replicated(3) } };
        StepParts parts(std::move(program), layersAlone());
        const SegmentPass& first = passOf(parts, Phase::Forward, 0);
        putAll(parts, first, counted);
        parts.handOver.leave(first);
        const SegmentPass& second = passOf(parts, Phase::Forward, 1);
        parts.handOver.enter(second);
        QVERIFY(holds(parts.state.current(second.segment->carryIn), counted));
        parts.state.values.clear();
        parts.handOver.enter(passOf(parts, Phase::Backward, 0));
        QVERIFY(holds(parts.state.values.find(first.segment->carryOut, Layout::replicated(3)), counted));
    }

    void gradientsOfMicroBatchesAddUp()
    {
        StepParts parts(smallProgram(WorkloadKind::Train), layersAlone());
        parts.verification.setOn(true);
        std::vector<TensorId> gradients;
        for (const int microBatch : { 0, 1 }) {
            const SegmentPass& pass = passOf(parts, Phase::Backward, 1, microBatch);
            gradients = leavingTensors(parts.program.graph)[static_cast<std::size_t>(pass.planned->segment)];
            QVERIFY(gradients.size() > 2);
            putAll(parts, pass, countedFrom(5 * microBatch));
            for (const TensorId tensor : gradients)
                parts.putWhole(tensor, countedFrom(7 * microBatch));
            parts.putWhole(pass.segment->carryOut, counted);
            parts.handOver.leave(pass);
        }
        parts.handOver.dropCarried();
        const SegmentPass& update = passOf(parts, Phase::Update, 1);
        parts.handOver.enter(update);
        for (const TensorId tensor : gradients) {
            const std::string& name = parts.program.graph.tensor(tensor).name;
            const Sharded* sum = parts.state.current(tensor);
            QVERIFY2(sum != nullptr && sum->layout() == layoutTaken(update, tensor), name.c_str());
            const auto addends = static_cast<float>(partialDevices(sum->layout(), parts.program.plan.mesh));
            QVERIFY2(holds(sum, [&](std::int64_t i) { return static_cast<float>(2 * i + 5) / addends; }), name.c_str());
            QVERIFY2(holds(parts.whole(tensor), [](std::int64_t i) { return static_cast<float>(2 * i + 7); }), name.c_str());
        }
    }

    void gradientsThatLieOtherwiseAreRefused()
    {
        StepParts parts(smallProgram(WorkloadKind::Train), layersAlone());
        const SegmentPass& pass = passOf(parts, Phase::Backward, 1);
        putAll(parts, pass, counted);
        parts.handOver.leave(pass);
        putAll(parts, pass, counted);
        const TensorId tensor = leavingTensors(parts.program.graph)[static_cast<std::size_t>(pass.planned->segment)].front();
        put(parts, pass, tensor, Layout::cut(parts.program.graph.tensor(tensor).shape.size(), 0, { 0 }), counted);
        QCOMPARE(failureCode([&] { parts.handOver.leave(pass); }), std::string("bad-plan"));
    }

    void whatIsMissingIsRefused()
    {
        StepParts parts(smallProgram(WorkloadKind::Train), layersAlone());
        const SegmentPass& forward = passOf(parts, Phase::Forward, 0);
        const SegmentPass& backward = passOf(parts, Phase::Backward, 0);
        const auto leavesWithout = [&](const SegmentPass& pass, TensorId tensor, const Layout& layout) {
            putAll(parts, pass, counted);
            parts.state.values.drop(tensor, layout);
            return failureCode([&] { parts.handOver.leave(pass); });
        };
        const Kept& kept = forward.planned->kept.front();
        QCOMPARE(leavesWithout(forward, kept.tensor, kept.layout), std::string("bad-plan"));
        const TensorId gradient = leavingTensors(parts.program.graph)[static_cast<std::size_t>(backward.planned->segment)].front();
        for (const TensorId tensor : { gradient, backward.segment->carryOut })
            QCOMPARE(
                leavesWithout(backward, tensor,
                              parts.state.layouts[tensor] = Layout::replicated(parts.program.graph.tensor(tensor).shape.size())),
                std::string("bad-plan"));
    }

    void whatLaterPassesWantStays()
    {
        StepParts parts(smallProgram(WorkloadKind::Train), layersAlone());
        const SegmentPass& pass = passOf(parts, Phase::Forward, 0);
        putAll(parts, pass, counted);
        const Kept& kept = pass.planned->kept.front();
        const Layout elsewhere = parseSpec("P(('data', 'model'))", parts.program.plan.mesh, kept.layout.dims.size()).value();
        QVERIFY(parts.handOver.stays(pass, kept.tensor, nullptr) && parts.handOver.stays(pass, kept.tensor, &kept.layout));
        QVERIFY(!parts.handOver.stays(pass, kept.tensor, &elsewhere));
        for (const Phase phase : { Phase::Forward, Phase::Backward }) {
            const SegmentPass& of = passOf(parts, phase, 0);
            std::vector<TensorId> wanted = leavingTensors(parts.program.graph)[static_cast<std::size_t>(of.planned->segment)];
            wanted.push_back(of.segment->carryOut);
            for (const Kept& other : of.planned->kept)
                wanted.push_back(other.tensor);
            for (const PlannedOp& planned : of.planned->ops) {
                const TensorId result = parts.state.op(planned).result;
                QCOMPARE(parts.handOver.stays(of, result, nullptr),
                         std::find(wanted.begin(), wanted.end(), result) != wanted.end());
            }
        }
        const Layout current = parts.state.current(pass.segment->carryOut)->layout();
        QVERIFY(parts.handOver.stays(pass, pass.segment->carryOut, &current));
    }

    void theNextStageGetsItOnItsDevices_data()
    {
        QTest::addColumn<bool>("broken");
        QTest::newRow("sent") << false;
        QTest::newRow("broken") << true;
    }
    void theNextStageGetsItOnItsDevices()
    {
        QFETCH(bool, broken);
        RunOptions options = layersAlone();
        options.breakCollective = broken ? "any" : "";
        StepParts parts(smallProgram(WorkloadKind::Prefill, "stage=2,model=2", "pp-1f1b"), options);
        parts.verification.setOn(true);
        const SegmentPass& first = passOf(parts, Phase::Forward, 0);
        const SegmentPass& second = passOf(parts, Phase::Forward, 1);
        QVERIFY(first.virtualStage == 0 && second.virtualStage == 1);
        putAll(parts, first, counted);
        parts.putWhole(first.segment->carryOut, counted);
        parts.handOver.leave(first);
        parts.handOver.enter(second);
        const Sharded* value = parts.state.current(second.segment->carryIn);
        QVERIFY(value != nullptr && &value->mesh() == &parts.state.stages.mesh(1));
        QVERIFY(holds(value, [&](std::int64_t number) { return broken ? 0.0f : counted(number); }));
        const RunResult result = parts.result();
        QCOMPARE(result.operations.size(), std::size_t { 1 });
        QCOMPARE(result.operations.front().kind, std::string("send-recv"));
        const double error = result.operations.front().relativeError;
        QVERIFY2(broken ? std::fabs(error - 1) < 1e-6 : error == 0, std::to_string(error).c_str()); // all of it is missing
        QCOMPARE(result.verified, !broken);
        QCOMPARE(parts.state.broke, broken);
    }
};

SHARDBOARD_TEST(TestHandOver)
#include "tst_handover.moc"
