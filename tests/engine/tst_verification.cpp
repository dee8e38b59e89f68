// SPDX-License-Identifier: Apache-2.0
// The unsharded computation beside a run, on numbers whose errors are known.
#include "tests/engine/stepparts.h"
#include "tests/support/families.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::test;
using shardboard::test::familyModel;
using shardboard::test::programOf;
using shardboard::test::TestDesign;

namespace {

float wave(std::int64_t number) { return static_cast<float>(number % 7) - 2; }

Program programFor(WorkloadKind kind, const std::string& family = {})
{
    TestDesign design;
    design.mesh = "data=2,model=2";
    design.model.heads = 4;
    design.model.kvHeads = 2;
    if (!family.empty())
        design.model = familyModel(family);
    design.workload = { kind, 4, 6, DType::BF16, 1, Recompute::None };
    return programOf(design);
}

/// An operation and where it runs first.
struct Where {
    const SegmentPass* pass = nullptr;
    std::size_t index = 0;
    const Op* op = nullptr;
};

Where find(const StepParts& parts, OpKind kind)
{
    for (const SegmentPass& pass : parts.passes)
        for (std::size_t i = 0; i < pass.planned->ops.size(); ++i)
            if (const Op& op = parts.state.op(pass.planned->ops[i]); op.kind == kind)
                return { &pass, i, &op };
    throw std::runtime_error("the program has no such operation");
}

Sharded onDevices(StepParts& parts, const SegmentPass& pass, TensorId tensor, const std::function<float(std::int64_t)>& value)
{
    const Layout layout = Layout::cut(parts.program.graph.tensor(tensor).shape.size(), 0, { 0 });
    return filled(parts.state.fresh(pass, tensor, layout), parts.arena, value);
}

} // namespace

class TestVerification : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// One element is off: the error is how far, by the length of what its shard should be.
    void errorsAreRelativeToTheReference_data()
    {
        QTest::addColumn<double>("error");
        QTest::addColumn<bool>("backward");
        QTest::addColumn<bool>("rounded");
        QTest::addColumn<bool>("passes");
        QTest::newRow("none") << 0.0 << false << false << true;
        QTest::newRow("small") << 5e-6 << false << false << true;
        QTest::newRow("large") << 5e-5 << false << false << false;
        QTest::newRow("small of a gradient") << 5e-5 << true << false << true;
        QTest::newRow("large of a gradient") << 5e-4 << true << false << false;
        QTest::newRow("small of rounded values") << 1e-2 << false << true << true;
        QTest::newRow("large of rounded values") << 5e-2 << false << true << false;
        QTest::newRow("small of a rounded gradient") << 5e-2 << true << true << true;
        QTest::newRow("large of a rounded gradient") << 2e-1 << true << true << false;
        QTest::newRow("not a number") << std::numeric_limits<double>::quiet_NaN() << false << false << false;
    }
    void errorsAreRelativeToTheReference()
    {
        QFETCH(double, error);
        QFETCH(bool, backward);
        QFETCH(bool, rounded);
        QFETCH(bool, passes);
        RunOptions options;
        options.designDtype = rounded;
        StepParts parts(programFor(WorkloadKind::Train), options);
        const Phase phase = backward ? Phase::Backward : Phase::Forward;
        const SegmentPass& pass = *std::find_if(parts.passes.begin(), parts.passes.end(), [&](const SegmentPass& p) {
            return p.segment->isLayer && p.segment->phase == phase;
        });
        const TensorId tensor = pass.segment->carryOut;
        // Every shard of two rows has the same length; the second element of the tensor is the one that is off.
        const auto reference = [](std::int64_t) { return 4.0f; };
        const std::int64_t elements = onDevices(parts, pass, tensor, reference).elements(0);
        const double length = 4 * std::sqrt(static_cast<double>(elements));
        const Sharded value =
            onDevices(parts, pass, tensor, [&](std::int64_t i) { return i == 1 ? static_cast<float>(4 + error * length) : 4.0f; });
        RunOperation what;
        what.id = "the value";
        parts.record.expect(what);
        parts.putWhole(tensor, reference);
        parts.verification.compare(pass, "the value", tensor, value, *parts.whole(tensor));
        const RunResult result = parts.result();
        QCOMPARE(result.verified, passes);
        QCOMPARE(result.firstDeviation, std::string(passes ? "" : "the value"));
        const double found = result.operations.front().relativeError;
        QVERIFY2(std::isnan(error) ? std::isinf(found) : std::fabs(found - error) <= 0.05 * error, std::to_string(found).c_str());
    }

    void operationsAreComputedUnsharded()
    {
        for (const bool right : { true, false }) {
            StepParts parts(programFor(WorkloadKind::Prefill));
            const Where add = find(parts, OpKind::Add);
            const auto sum = [](std::int64_t i) { return wave(i) + 3 * wave(i + 1); };
            parts.putWhole(add.op->operands[0], wave);
            parts.putWhole(add.op->operands[1], [](std::int64_t i) { return 3 * wave(i + 1); });
            const Sharded result =
                onDevices(parts, *add.pass, add.op->result, [&](std::int64_t i) { return right ? sum(i) : sum(i) + 1; });
            parts.verification.setOn(true);
            parts.verification.runOp(*add.pass, add.index, false, "the sum", result);
            QVERIFY(holds(parts.whole(add.op->result), sum));
            QVERIFY(holds(parts.whole(add.op->operands[0]), wave)); // others may want it
            const RunResult told = parts.result();
            QCOMPARE(told.verified, right);
            QCOMPARE(told.firstDeviation, std::string(right ? "" : "the sum"));
        }
    }

    /// Weights are made for the reference: a norm's are its mean and a deviation, and the result is divided by the root mean
    /// square.
    void weightsAreMade()
    {
        StepParts parts(programFor(WorkloadKind::Prefill));
        const Where norm = find(parts, OpKind::RmsNorm);
        const std::int64_t columns = parts.program.graph.tensor(norm.op->result).shape.back();
        parts.putWhole(norm.op->operands[0], [](std::int64_t) { return 3.0f; });
        const std::string name = concreteName(parts.program.graph.tensor(norm.op->operands[1]).name, norm.pass->layer);
        const Fill& fill = parts.program.graph.entry(norm.op->operands[1]).fill;
        std::vector<float> weights(static_cast<std::size_t>(columns));
        Generator::values(parts.options.seed, name, fill.mean, fill.deviation).fill(0, columns, weights.data());
        // Of rows that are all 3 the norm is 1, but for epsilon.
        const auto expected = [&](std::int64_t i) { return weights[static_cast<std::size_t>(i % columns)]; };
        const Sharded result = onDevices(parts, *norm.pass, norm.op->result, expected);
        parts.verification.setOn(true);
        parts.verification.runOp(*norm.pass, norm.index, false, "the norm", result);
        QVERIFY(parts.result().verified);
    }

    void aResultCanTakeOverItsOperand()
    {
        StepParts parts(programFor(WorkloadKind::Prefill));
        const Where output = find(parts, OpKind::Output);
        parts.putWhole(output.op->operands[0], wave);
        const Sharded result = onDevices(parts, *output.pass, output.op->result, wave);
        parts.verification.setOn(true);
        parts.verification.runOp(*output.pass, output.index, true, "the output", result);
        QVERIFY(holds(parts.whole(output.op->result), wave));
        QVERIFY(parts.whole(output.op->operands[0]) == nullptr);
        QVERIFY(parts.result().verified);
    }

    /// From here on the reference goes by the scores of the run, nearly equal as they may be.
    void expertsAreChosenAlike()
    {
        StepParts parts(programFor(WorkloadKind::Prefill, "mixtral"));
        const Where gates = find(parts, OpKind::TopKGates);
        const TensorId logits = gates.op->operands[0];
        const auto nearly = [](std::int64_t i) { return wave(i) + 0.125f; };
        const Sharded run = onDevices(parts, *gates.pass, logits, nearly);
        OpCall call;
        call.operands = { &run };
        parts.putWhole(logits, wave);
        Op other = *gates.op;
        other.kind = OpKind::Silu;
        parts.verification.chooseAlike(other, call);
        QVERIFY(holds(parts.whole(logits), wave)); // it chooses nothing
        parts.verification.chooseAlike(*gates.op, call);
        QVERIFY(holds(parts.whole(logits), nearly));
    }

    void collectivesAreHeldToTheirTensor()
    {
        for (const bool made : { true, false }) {
            StepParts parts(programFor(WorkloadKind::Prefill));
            const SegmentPass& pass = parts.passes[1];
            Collective collective;
            collective.id = "moved";
            for (const PlannedOp& planned : pass.planned->ops)
                for (const OperandUse& use : planned.operands)
                    if (parts.state.isMade(use.tensor) == made)
                        collective.tensor = use.tensor;
            if (!made)
                parts.putWhole(collective.tensor, wave);
            const Sharded value = onDevices(parts, pass, collective.tensor, wave);
            parts.verification.compare(pass, collective, value);
            QCOMPARE(parts.result().verified, !made); // a weight has made-up values
        }
    }
};

SHARDBOARD_TEST(TestVerification)
#include "tst_verification.moc"
