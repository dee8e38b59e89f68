// SPDX-License-Identifier: Apache-2.0
// The executors of the backward pass: on one device against the slope of the forward operation, and under random layouts, by
// every row of their sharding rules, against the one device. Attention also forward, around rings.
#include "engine/conformance/gradientcases.h"
#include "engine/conformance/rowchoice.h"
#include "engine/cpu/cpuexecutor.h"
#include "engine/devices/compare.h"
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"
#include "engine/ops/execute.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "tests/engine/numeric.h"
#include "tests/support/runner.h"

#include <QTest>

#include <deque>
#include <random>
#include <set>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::numeric;
using namespace shardboard::conformance;

namespace {

struct Machine {
    Arena arena { std::int64_t { 64 } << 20 };
    TaskPool pool { 2, nullptr };
    CpuExecutor cpu;
    Context context { arena, cpu, &pool, 2, {} };
    Mesh single;

    Sharded tensor(const Shape& shape, const Layout& layout, const Mesh& mesh)
    {
        Sharded out(shape, layout, mesh);
        out.allocate(arena);
        for (std::int64_t device = 0; device < out.deviceCount(); ++device)
            std::fill_n(out.data(device), out.elements(device), 1e30f); // what is not written shows
        return out;
    }
    Sharded whole(const Shape& shape, const Floats& values)
    {
        Sharded out = tensor(shape, Layout::replicated(shape.size()), single);
        std::copy(values.begin(), values.end(), out.data(0));
        return out;
    }
    /// Where it is partial the addends of the devices are different shares.
    Sharded shardsOf(const Sharded& from, const Layout& layout, const Mesh& mesh)
    {
        Sharded out = tensor(from.shape(), layout, mesh);
        for (std::int64_t device = 0; device < out.deviceCount(); ++device) {
            std::int64_t rank = 0, size = 1;
            for (const AxisRef& ref : layout.partial) {
                rank = rank * sizeOf(ref, mesh) + coordinateOf(ref, mesh, device);
                size *= sizeOf(ref, mesh);
            }
            const auto share = 2 * static_cast<float>(rank + 1) / static_cast<float>(size * (size + 1));
            copyRegion(out.box(device), from.box(0), from.data(0), out.box(device), out.data(device));
            for (std::int64_t i = 0; i < out.elements(device); ++i)
                out.data(device)[i] *= share;
        }
        return out;
    }
};

/// The operands of a forward operation and the gradient of its result.
struct Values {
    std::vector<Floats> operands;
    Floats dy;

    explicit Values(const GradientCase& of)
    {
        const auto count = [](const Shape& shape) { return elementCount(shape).value(); };
        for (std::size_t i = 0; i < of.operands.size(); ++i)
            operands.push_back(
                randomFloats(count(of.operands[i]), static_cast<unsigned>(i + 1), i == 1 && of.operands[i].size() == 1 ? 1 : 0));
        calmRecurrence(of);
        dy = randomFloats(count(of.result), 77);
        if (of.gates >= 0)
            for (std::size_t i = 0; i < operands[at(of.gates)].size(); ++i)
                if (i % 3 != 1)
                    operands[at(of.gates)][i] = 0;
        if (of.ofExperts < 0)
            return;
        clearRows(of, of.operands[at(of.ofExperts)], operands[at(of.ofExperts)]);
        if (of.result.size() == 4)
            clearRows(of, of.result, dy);
    }

private:
    /// States that decay, and keys of about length 1, so that many tokens do not blow them up.
    void calmRecurrence(const GradientCase& of)
    {
        const auto& sides = ruleOf(of.forward).shapes().operands();
        if (std::ranges::none_of(sides, [](const ShapeRule::Side& side) { return side.name == "decay"; }))
            return;
        for (std::size_t i = 0; i < sides.size(); ++i)
            for (float& value : operands[i])
                value = sides[i].name == "decay" ? -std::fabs(value)
                    : sides[i].name == "rate"    ? 0.5f + 0.2f * value
                    : sides[i].name == "k"       ? value / std::sqrt(static_cast<float>(of.operands[i].back()))
                                                 : value;
    }
    static void clearRows(const GradientCase& of, const Shape& shape, Floats& values)
    {
        const std::int64_t experts = shape[0], tokens = shape[1] * shape[2], n = shape[3];
        for (std::int64_t expert = 0; expert < experts; ++expert)
            for (std::int64_t token = 0; token < tokens; ++token)
                if (of.gates >= 0 ? (token * experts + expert) % 3 != 1 : (token + 3 * expert) % 4 > 1)
                    std::fill_n(values.begin() + (expert * tokens + token) * n, n, 0.0f);
    }
};

OpCall callOf(OpKind kind, const OpAttributes& attributes, std::vector<const Sharded*> operands)
{
    OpCall call;
    call.kind = kind;
    call.attributes = attributes;
    call.operands = std::move(operands);
    call.where = "op";
    return call;
}

/// An operation of which the operands lie whole on one device.
struct Single {
    Machine& machine;
    OpKind kind;
    OpAttributes attributes;
    std::deque<Sharded> operands;
    Shape shape;

    Sharded run()
    {
        Sharded out = machine.tensor(shape, Layout::replicated(shape.size()), machine.single);
        std::vector<const Sharded*> list;
        for (const Sharded& operand : operands)
            list.push_back(&operand);
        executeOp(machine.context, callOf(kind, attributes, list), out);
        return out;
    }
    std::vector<Shape> shapes() const
    {
        std::vector<Shape> out;
        for (const Sharded& operand : operands)
            out.push_back(operand.shape());
        return out;
    }
};

Single gradientOn(Machine& machine, const GradientCase& of)
{
    const Values values(of);
    Single single { machine, of.gradient, of.attributes, {}, of.operands[at(of.of)] };
    for (const int operand : of.gradientOperands)
        single.operands.push_back(operand == kGradient ? machine.whole(of.result, values.dy)
                                                       : machine.whole(of.operands[at(operand)], values.operands[at(operand)]));
    return single;
}

Single forwardOn(Machine& machine, const GradientCase& of)
{
    const Values values(of);
    Single single { machine, of.forward, of.attributes, {}, of.result };
    for (std::size_t i = 0; i < of.operands.size(); ++i)
        single.operands.push_back(machine.whole(of.operands[i], values.operands[i]));
    return single;
}

std::vector<RingTransfer> ringsOf(const RowChoice& choice)
{
    std::vector<RingTransfer> out;
    for (const RowChoice::Ring& ring : choice.rings)
        out.push_back({ ring.operand, ring.axes, false, false, {} });
    return out;
}

/// The result of the operation as the choice lays it out. Throws Failure.
Sharded laidOut(Machine& machine, const Single& single, const RowChoice& choice, const Mesh& mesh, std::vector<RingTransfer>& rings)
{
    std::deque<Sharded> operands;
    std::vector<const Sharded*> list;
    for (std::size_t i = 0; i < single.operands.size(); ++i) {
        operands.push_back(machine.shardsOf(single.operands[i], choice.operands[i], mesh));
        list.push_back(&operands.back());
    }
    Sharded result = machine.tensor(single.shape, choice.result, mesh);
    OpCall call = callOf(single.kind, single.attributes, list);
    rings = ringsOf(choice);
    call.rings = &rings;
    executeOp(machine.context, call, result);
    return result;
}

/// Under layouts by random rows the result is that of one device.
void tryLayouts(Machine& machine, Single single, int trials, unsigned seed)
{
    const Sharded expected = single.run();
    const auto rows = ruleOf(single.kind).rows(single.shapes(), single.shape, PickerProfile::Shardboard);
    std::mt19937 random(seed);
    std::set<std::size_t> used;
    for (int trial = 0; trial < trials; ++trial) {
        const char* meshes[] { "a=2", "a=3", "a=2,b=2", "a=3,b=2", "a=2,b=2,c=2", "a=4", "a=2,b=3" };
        const Mesh mesh = Mesh::parse(meshes[random() % 7]).value();
        std::vector<std::size_t> byAxis;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            byAxis.push_back(random() % rows.size());
        const RowChoice choice = chooseRows(rows, byAxis, single.shapes(), single.shape, mesh);
        if (!choice.fits)
            continue;
        std::vector<RingTransfer> rings;
        Sharded result;
        try {
            result = laidOut(machine, single, choice, mesh, rings);
        } catch (const Failure& failure) {
            QFAIL((textOf(choice, mesh) + ": " + failure.message).c_str());
        }
        const double error = relativeError(machine.context, result, expected);
        QVERIFY2(error < 3e-6, (textOf(choice, mesh) + ": " + std::to_string(error * 1e6) + "e-6").c_str());
        used.insert(byAxis.begin(), byAxis.end());
        for (const RingTransfer& ring : rings)
            QCOMPARE(ring.timing.seconds.size(), at(mesh.deviceCount()));
    }
    for (std::size_t row = 0; row < rows.size(); ++row)
        QVERIFY2(used.contains(row), ("row " + std::to_string(row) + " was never tried").c_str());
}

} // namespace

class TestGradientOps : public QObject {
    Q_OBJECT

    static void addCases()
    {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const GradientCase& one : gradientCases())
            QTest::newRow(one.name.c_str()) << number++;
    }
    static GradientCase current()
    {
        QFETCH(int, number);
        return gradientCases()[at(number)];
    }

private Q_SLOTS:
    void initTestCase() { prepareGemmThread(); }

    void isTheSlopeOfTheForwardOperation_data() { addCases(); }
    void isTheSlopeOfTheForwardOperation()
    {
        const GradientCase of = current();
        Machine machine;
        Single forward = forwardOn(machine, of);
        const Sharded gradient = gradientOn(machine, of).run();
        const Doubles dy = doubles(Values(of).dy);
        const Doubles slopes(gradient.data(0), gradient.data(0) + gradient.elements(0));
        const Floats start(forward.operands[at(of.of)].data(0), forward.operands[at(of.of)].data(0) + gradient.elements(0));
        QVERIFY(dot(slopes, slopes) > 0.01);
        for (unsigned seed = 1; seed < 6; ++seed) {
            Floats direction = randomFloats(gradient.elements(0), 100 + seed);
            for (std::size_t i = 0; i < direction.size(); ++i)
                if (of.of == of.ofExperts && start[i] == 0)
                    direction[i] = 0; // rows without data stay so
            const auto loss = [&](float step) {
                for (std::size_t i = 0; i < start.size(); ++i)
                    forward.operands[at(of.of)].data(0)[i] = start[i] + step * direction[i];
                const Sharded y = forward.run();
                return dot(Doubles(y.data(0), y.data(0) + y.elements(0)), dy);
            };
            const float h = 2e-3f;
            const double slope = (loss(h) - loss(-h)) / (2 * double { h });
            const double error = std::fabs(dot(slopes, doubles(direction)) - slope) / std::sqrt(dot(slopes, slopes));
            QVERIFY2(error < 2e-3, std::to_string(error).c_str());
        }
    }

    void everyRowOfItsRule_data() { addCases(); }
    void everyRowOfItsRule()
    {
        Machine machine;
        tryLayouts(machine, gradientOn(machine, current()), 160, 5);
    }

    void attentionForward_data()
    {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const GradientCase& one : gradientCases()) {
            if (one.of == 0 && (one.forward == OpKind::Attention || one.forward == OpKind::SinkAttention))
                QTest::newRow(one.name.c_str()) << number;
            ++number;
        }
    }
    void attentionForward()
    {
        Machine machine;
        tryLayouts(machine, forwardOn(machine, current()), 160, 6);
    }

    /// A part of the result where the operands are whole, and a part of the keys that no ring completes.
    void partsThatDoNotFitAreRefused_data() { addCases(); }
    void partsThatDoNotFitAreRefused()
    {
        Machine machine;
        Single single = gradientOn(machine, current());
        const Mesh mesh = Mesh::parse("a=2").value();
        const auto refused = [&](const RowChoice& choice) {
            std::vector<RingTransfer> rings;
            try {
                laidOut(machine, single, choice, mesh, rings);
            } catch (const Failure& failure) {
                return failure.code == "bad-plan" && failure.where == "op";
            }
            return false;
        };
        const auto rows = ruleOf(single.kind).rows(single.shapes(), single.shape, PickerProfile::Shardboard);
        RowChoice choice = chooseRows(rows, { 0 }, single.shapes(), single.shape, mesh);
        choice.result.dims[0].push_back(AxisRef { 0 });
        QVERIFY(refused(choice));
        for (std::size_t row = 0; row < rows.size(); ++row) {
            choice = chooseRows(rows, { row }, single.shapes(), single.shape, mesh);
            if (choice.rings.empty())
                continue;
            choice.rings.pop_back(); // an operand of the ring does not travel
            QVERIFY(refused(choice));
            choice.rings.clear();
            QVERIFY(refused(choice));
        }
    }
};

SHARDBOARD_TEST(TestGradientOps)
#include "tst_gradientops.moc"
