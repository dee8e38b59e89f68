// SPDX-License-Identifier: Apache-2.0
// The greedy picker, against picks worked out by hand from the tables (max-sharding 2 to 4).
#include "model/picker/greedy.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

struct Case {
    Mesh mesh;
    std::vector<PickOperand> operands;
    Op op;
    PickerOptions options;
    std::size_t rank = 2;

    PickOperand arriving(const Shape& shape, const char* spec, DType dtype = DType::F32) const
    {
        const Layout layout = parseSpec(spec, mesh, shape.size()).value();
        return { shape, dtype, placementsOf(layout, mesh), layout };
    }
    void operand(const Shape& shape, const char* spec, DType dtype = DType::F32)
    {
        operands.push_back(arriving(shape, spec, dtype));
    }
    Result<Pick> pick() const { return pickGreedy({ op.kind, operands, result(), mesh, options, {}, "op" }); }
    std::vector<JudgedRow> judged() const { return judgeRows({ op.kind, operands, result(), mesh, options, {}, "op" }).value(); }
    /// Only its rank matters, except where heads are made.
    Shape result() const
    {
        Shape shape(rank, 2);
        if (op.kind == OpKind::SplitHeads)
            shape[2] = op.attributes.heads;
        return shape;
    }
    QString taken() const
    {
        const auto picked = pick();
        if (!picked.ok())
            return QString::fromStdString(picked.error().text());
        QStringList out;
        for (const Layout& layout : picked.value().operands)
            out << QString::fromStdString(specText(layout, mesh));
        return out.join(" ") + " -> " + QString::fromStdString(specText(picked.value().result, mesh));
    }
};

Case linear(const char* mesh, const char* x, const char* w)
{
    Case c { Mesh::parse(mesh).value(), {}, { "linear", OpKind::Linear, {}, TensorId(0), {} }, {} };
    c.operand({ 8, 8 }, x);
    c.operand({ 6, 8 }, w); // [out, in]
    return c;
}

} // namespace

class TestPicker : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void linearLayers_data()
    {
        QTest::addColumn<QString>("x");
        QTest::addColumn<QString>("w");
        QTest::addColumn<QString>("taken");
        dataRow("column-parallel (dim 0)", "P()", "P('tp')", "P() P('tp') -> P(None, 'tp')");
        dataRow("row-parallel (dim 1)", "P(None,'tp')", "P(None,'tp')", "P(None, 'tp') P(None, 'tp') -> P(unreduced={'tp'})");
        dataRow("whole into row-parallel", "P()", "P(None,'tp')", "P(None, 'tp') P(None, 'tp') -> P(unreduced={'tp'})");
        dataRow("batch", "P('tp')", "P()", "P('tp') P() -> P('tp')");
        dataRow("partial is linear", "P(unreduced={'tp'})", "P()", "P(unreduced={'tp'}) P() -> P(unreduced={'tp'})");
    }
    void linearLayers()
    {
        QFETCH(QString, x);
        QFETCH(QString, w);
        QFETCH(QString, taken);
        QCOMPARE(linear("tp=4", qPrintable(x), qPrintable(w)).taken(), taken);
    }

    /// lhs 4 x 8 P (128 B), rhs 8 x 6 P (192 B), n = 4: reducing the smaller one is cheapest, 192.
    void workedExample()
    {
        Case c { Mesh::parse("tp=4").value(), {}, { "linear", OpKind::Linear, {}, TensorId(0), {} }, {} };
        c.operand({ 4, 8 }, "P(unreduced={'tp'})");
        c.operand({ 6, 8 }, "P(unreduced={'tp'})");
        c.options.allowPartialToSharded = true;
        const Pick pick = c.pick().value();
        QCOMPARE(pick.cost, 192.0);
        QCOMPARE(c.taken(), QString("P() P(unreduced={'tp'}) -> P(unreduced={'tp'})"));
    }

    /// Greedy does not reproduce FSDP's weight gather: it moves the activation instead.
    void greedyMovesTheActivation()
    {
        Case c { Mesh::parse("dp=2,tp=4").value(), {}, { "linear", OpKind::Linear, {}, TensorId(0), {} }, {}, 3 };
        c.operand({ 8, 128, 4096 }, "P('dp')", DType::BF16);
        c.operand({ 11008, 4096 }, "P('tp', 'dp')", DType::BF16);
        QCOMPARE(c.taken(), QString("P(None, None, 'dp') P('tp', 'dp') -> P(None, None, 'tp', unreduced={'dp'})"));
        QCOMPARE(c.pick().value().cost, 4194304.0);
    }

    void normSumsPartialValues()
    {
        Case c { Mesh::parse("dp=2,tp=4").value(), {}, { "norm", OpKind::RmsNorm, {}, TensorId(0), {} }, {}, 3 };
        c.operand({ 8, 16, 64 }, "P('dp', unreduced={'tp'})");
        c.operand({ 64 }, "P()");
        QCOMPARE(c.taken(), QString("P('dp') P() -> P('dp')"));
        QCOMPARE(c.pick().value().cost, 2.0 * 32768 * 0.75);
    }

    void reduceScatterNeedsTheFlag()
    {
        Case c { Mesh::parse("tp=4").value(), {}, { "norm", OpKind::RmsNorm, {}, TensorId(0), {} }, {}, 3 };
        c.operand({ 8, 16, 64 }, "P(unreduced={'tp'})");
        c.operand({ 64 }, "P()");
        QCOMPARE(c.taken(), QString("P() P() -> P()"));
        const auto rows = c.judged();
        QVERIFY(std::ranges::any_of(rows, [](const JudgedRow& row) { return row.possible() && row.refusal; }));
        c.options.allowPartialToSharded = true;
        QCOMPARE(c.taken(), QString("P('tp') P() -> P('tp')"));
    }

    void vocabularyParallelEmbedding()
    {
        Case c { Mesh::parse("tp=4").value(), {}, { "embed", OpKind::Embedding, {}, TensorId(0), {} }, {}, 3 };
        c.operand({ 2, 16 }, "P()", DType::I32);
        c.operand({ 64, 8 }, "P('tp')");
        QCOMPARE(c.taken(), QString("P() P('tp') -> P(unreduced={'tp'})"));
        c.options.profile = PickerProfile::G1; // has no such row: the table is gathered
        QCOMPARE(c.taken(), QString("P() P() -> P()"));
        QCOMPARE(c.pick().value().cost, 64 * 8 * 4 * 0.75);
    }

    void headsMustDivide()
    {
        Case c { Mesh::parse("tp=8").value(), {}, { "split", OpKind::SplitHeads, {}, TensorId(0), {} }, {}, 4 };
        c.op.attributes.heads = 28;
        c.operand({ 2, 16, 28 * 128 }, "P(None, None, 'tp')");
        QCOMPARE(c.taken(), QString("P(None, None, 'tp', cut={2: 'grain-balanced:128'}) -> P(None, None, 'tp')"));
        c.options.profile = PickerProfile::G1; // knows no cut in whole heads
        QCOMPARE(c.taken(), QString("P() -> P()"));
        c.op.attributes.heads = 32;
        c.operands.clear();
        c.operand({ 2, 16, 32 * 128 }, "P(None, None, 'tp')");
        QCOMPARE(c.taken(), QString("P(None, None, 'tp') -> P(None, None, 'tp')"));
    }

    void headsMustDivideOverAllAxesTogether()
    {
        Case c { Mesh::parse("a=2,b=4").value(), {}, { "split", OpKind::SplitHeads, {}, TensorId(0), {} }, {}, 4 };
        c.op.attributes.heads = 4; // divides by 2 and by 4, not by 8
        c.operand({ 2, 16, 4 * 64 }, "P(None, None, ('a', 'b'))");
        const Pick pick = c.pick().value();
        QVERIFY(partsOf(pick.operands[0].dims[2], c.mesh) <= 4);
    }

    void attention()
    {
        Case c { Mesh::parse("data=2,tp=4").value(), {}, { "attention", OpKind::Attention, {}, TensorId(0), {} }, {}, 4 };
        c.operand({ 2, 16, 32, 64 }, "P('data', None, 'tp')");
        c.operand({ 2, 16, 8, 64 }, "P('data', None, 'tp')");
        c.operand({ 2, 16, 8, 64 }, "P('data', None, 'tp')");
        QCOMPARE(c.taken(), QString("P('data', None, 'tp') P('data', None, 'tp') P('data', None, 'tp') -> P('data', None, 'tp')"));
        for (std::size_t i : { 1u, 2u }) // fewer KV heads than devices: whole on each
            c.operands[i] = c.arriving({ 2, 16, 2, 64 }, "P('data')");
        QCOMPARE(c.taken(), QString("P('data', None, 'tp') P('data') P('data') -> P('data', None, 'tp')"));
    }

    /// Operands whose parts must line up are brought to one order of the axes, the smaller one by moving.
    void ordersLineUp()
    {
        Case c { Mesh::parse("a=2,b=2").value(), {}, { "linear", OpKind::Linear, {}, TensorId(0), {} }, {} };
        c.operand({ 8, 8 }, "P(None, ('a', 'b'))");
        c.operand({ 64, 8 }, "P(None, ('b', 'a'))");
        QCOMPARE(c.taken(), QString("P(None, ('b', 'a')) P(None, ('b', 'a')) -> P(unreduced={'a', 'b'})"));
    }

    void axesOfOneDeviceAreNothing()
    {
        Case c = linear("one=1,tp=4", "P()", "P('tp')");
        QCOMPARE(c.taken(), QString("P() P('tp') -> P(None, 'tp')"));
        for (const JudgedRow& row : c.judged())
            QCOMPARE(row.axis, 1);
    }

    void exactlyOneRowIsPickedPerAxis()
    {
        std::map<int, int> picked;
        for (const JudgedRow& row : linear("a=2,b=2", "P('a')", "P('b')").judged())
            picked[row.axis] += row.picked;
        QCOMPARE(picked, (std::map<int, int> { { 0, 1 }, { 1, 1 } }));
    }
};

SHARDBOARD_TEST(TestPicker)
#include "tst_picker.moc"
