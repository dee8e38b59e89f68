// SPDX-License-Identifier: Apache-2.0
// The table of operations and the notation of their sharding rules.
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <limits>

using namespace shardboard;

namespace {

QString text(const std::vector<Row>& rows)
{
    QStringList out;
    for (const Row& row : rows) {
        QStringList words;
        for (const Placement& placement : row.operands)
            words << QString::fromStdString(placement.code());
        out << words.join(' ') + "->" + QString::fromStdString(row.result.code());
    }
    return out.join(", ");
}

QString rowsOf(const char* rule, const std::vector<Shape>& operands, const Shape& result,
               PickerProfile profile = PickerProfile::Shardboard)
{
    const auto parsed = ShardingRule::parse(rule);
    return parsed.ok() ? text(parsed.value().rows(operands, result, profile)) : QString::fromStdString(parsed.error().text());
}

QString fitOf(OpKind kind, const std::vector<Shape>& operands, const Shape& result, const OpAttributes& attributes)
{
    const ShapeRule& rule = ruleOf(kind).shapes();
    const Status status = rule.verify(opKindName(kind), OperandShapes(operands), result, attributes);
    const auto told = rule.resultOf(opKindName(kind), OperandShapes(operands), attributes);
    const std::string derived = told.ok() ? shapeText(told.value()) : std::string();
    if (status.ok())
        return QString::fromStdString(!told.ok() || told.value() != result ? "fits" : derived);
    return QString::fromStdString(derived + (told.ok() ? "; " : "") + status.error().text());
}

} // namespace

class TestOps : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyKindHasItsDefinitionAndAGoodRule()
    {
        const auto& all = allDefinitions();
        for (std::size_t i = 0; i < all.size(); ++i) {
            QCOMPARE(static_cast<std::size_t>(all[i]->kind), i);
            QCOMPARE(opKindFromName(all[i]->name), std::optional(all[i]->kind));
            const auto rule = ShardingRule::parse(all[i]->rule, all[i]->where);
            QVERIFY2(rule.ok(), rule.ok() ? "" : rule.error().text().c_str());
        }
        QVERIFY(!opKindFromName("nonsense"));
    }

    void shapes_data()
    {
        QTest::addColumn<QString>("found");
        QTest::addColumn<QString>("wanted");
        OpAttributes heads;
        heads.heads = 3;
        OpAttributes range;
        range.first = 2;
        const auto add = [](const char* name, OpKind kind, const std::vector<Shape>& operands, const Shape& result,
                            const OpAttributes& attributes,
                            const char* wanted) { QTest::newRow(name) << fitOf(kind, operands, result, attributes) << wanted; };
        const Shape x { 2, 3, 4 };
        add("matrix product", OpKind::Linear, { x, { 5, 4 } }, { 2, 3, 5 }, {}, "2 x 3 x 5");
        add("another width", OpKind::Linear, { x, { 5, 6 } }, { 2, 3, 5 }, {},
            "matmul: weight of shape 5 x 6 does not fit: in is 4; give it the shapes x [... in], weight [out in] -> [... out]");
        add("another result", OpKind::Linear, { x, { 5, 4 } }, { 2, 5 }, {},
            "2 x 3 x 5; matmul: its result of shape 2 x 5 does not fit: its first dims are 2 x 3; give it the shapes x [... in], "
            "weight [out in] -> [... out]");
        add("an operand too few", OpKind::Linear, { x }, x, {},
            "matmul: it has 1 operands, not 2; give it the shapes x [... in], weight [out in] -> [... out]");
        add("broadcast", OpKind::Add, { x, { 3, 1 } }, x, {}, "2 x 3 x 4");
        add("no broadcast", OpKind::Add, { x, { 2, 1 } }, x, {},
            "add: b of shape 2 x 1 does not fit: 2 x 3 x 4 is what it goes with; give it the shapes a [~], b [~] -> [~]");
        add("broadcast the other way", OpKind::Add, { { 3, 1 }, x }, x, {},
            "add: b of shape 2 x 3 x 4 does not fit: 3 x 1 is what it goes with; give it the shapes a [~], b [~] -> [~]");
        add("heads", OpKind::SplitHeads, { { 2, 5, 12 } }, { 2, 5, 3, 4 }, heads, "2 x 5 x 3 x 4");
        add("no whole heads", OpKind::SplitHeads, { { 2, 5, 13 } }, { 2, 5, 3, 4 }, heads,
            "split_heads: x of shape 2 x 5 x 13, its result of shape 2 x 5 x 3 x 4 do not fit: heads*d is another size; give it "
            "the shapes x [b s heads*d!] -> [b s heads d!]");
        add("groups", OpKind::SplitGroups, { { 2, 5, 1, 12 } }, { 2, 5, 3, 4 }, heads, "2 x 5 x 3 x 4");
        add("joined", OpKind::JoinKeys, { { 2, 5, 3, 4 }, { 2, 5, 1, 2 } }, { 2, 5, 3, 6 }, {}, "2 x 5 x 3 x 6");
        add("two heads where one is wanted", OpKind::JoinKeys, { { 2, 5, 3, 4 }, { 2, 5, 3, 2 } }, { 2, 5, 3, 6 }, {},
            "join_keys: b of shape 2 x 5 x 3 x 2 does not fit: a dim is 1; give it the shapes a [b s h n!], b [b s 1! m!] -> [b s "
            "h "
            "d!]");
        add("one token", OpKind::LastToken, { { 2, 5, 6 } }, { 2, 1, 6 }, {}, "2 x 1 x 6");
        add("a range", OpKind::SliceLast, { { 2, 6 } }, { 2, 4 }, range, "fits");
        add("a range too long", OpKind::SliceLast, { { 2, 6 } }, { 2, 5 }, range,
            "slice_last: x of shape 2 x 6, its result of shape 2 x 5 do not fit; see that @first + m <= n in x [... n!] -> [... "
            "m!]");
        add("grouped heads", OpKind::Attention, { { 1, 2, 4, 8 }, { 1, 6, 2, 8 }, { 1, 6, 2, 9 } }, { 1, 2, 4, 5 }, {}, "fits");
        add("KV heads that do not divide", OpKind::Attention, { { 1, 2, 4, 8 }, { 1, 6, 3, 8 }, { 1, 6, 3, 8 } }, { 1, 2, 4, 8 },
            {},
            "attention: q of shape 1 x 2 x 4 x 8, k of shape 1 x 6 x 3 x 8, v of shape 1 x 6 x 3 x 8, its result of shape 1 x 2 x "
            "4 x 8 do not fit; see that k | h in q [b s! h! d!], k [b c! k! d!], v [b c! k! w!] -> [b s! h! e!]");
        OpAttributes nan;
        nan.cap = std::numeric_limits<double>::quiet_NaN();
        add("no number", OpKind::SoftCap, { x }, x, nan,
            "soft_cap: its attribute cap is not a finite number; give it one that float32 holds");
        for (const double scale : { std::numeric_limits<double>::infinity(), 1e300 }) {
            OpAttributes endless;
            endless.scale = scale;
            add(scale > 1e300 ? "a factor without end" : "a factor beyond float32", OpKind::Attention,
                { { 1, 2, 4, 8 }, { 1, 6, 2, 8 }, { 1, 6, 2, 8 } }, { 1, 2, 4, 8 }, endless,
                scale > 1e300
                    ? "attention: its attribute scale is not a finite number; give it one that float32 holds"
                    : "attention: its attribute scale is 1e+300, which float32 does not hold; give it one that float32 holds");
        }
        OpAttributes tiny;
        tiny.cap = 1e-46; // 0 as float32, and to divide by
        add("a cap below float32", OpKind::SoftCap, { x }, x, tiny,
            "2 x 3 x 4; soft_cap: its attribute cap is 1e-46, which float32 does not hold; give it one that float32 holds");
        tiny.cap = 1e-45;
        add("the least cap of float32", OpKind::SoftCap, { x }, x, tiny, "2 x 3 x 4");
        OpAttributes two;
        two.chosen = 2;
        two.groups = two.chosenGroups = 1;
        two.scale = 1;
        constexpr std::int64_t kMostExperts = 16777216; // their numbers are counted in 32 bits and compared as floats
        add("experts", OpKind::TopKGates, { { 1, 1, kMostExperts } }, { 1, 1, kMostExperts }, two, "1 x 1 x 16777216");
        for (const OpKind kind :
             { OpKind::TopKGates, OpKind::BiasedTopKGates, OpKind::TopKGatesGrad, OpKind::BiasedTopKGatesGrad }) {
            const Shape many { 1, 1, kMostExperts + 1 };
            std::vector<Shape> operands { many };
            if (kind == OpKind::TopKGatesGrad || kind == OpKind::BiasedTopKGatesGrad)
                operands.push_back(many);
            if (kind == OpKind::BiasedTopKGates || kind == OpKind::BiasedTopKGatesGrad)
                operands.push_back({ kMostExperts + 1 });
            const Status status = ruleOf(kind).shapes().verify("gates", OperandShapes(operands), many, two);
            QTest::newRow(("too many experts, " + opKindName(kind)).c_str())
                << QString::fromStdString(status.ok() ? "fits"
                                                      : status.error().text().substr(status.error().text().find(" do not")))
                << QString::fromStdString(" do not fit; see that experts <= 16777216 in " + ruleOf(kind).shapes().text());
        }
    }
    /// What the rule says of the shapes: the result's where the operands tell it, and what is wrong.
    void shapes()
    {
        QFETCH(QString, found);
        QTEST(found, "wanted");
    }

    /// The result of an operation whose operands do not tell all of it.
    void sizesThatOnlyTheCallerKnows()
    {
        const auto attended = [](const std::vector<OpenSize>& open) {
            const std::vector<Shape> operands { { 1, 2, 4, 8 }, { 1, 6, 2, 8 }, { 1, 6, 2, 9 } };
            const auto shape = ruleOf(OpKind::Attention).shapes().resultOf("o", OperandShapes(operands), {}, open);
            return shape.ok() ? shapeText(shape.value()) : shape.error().text();
        };
        QCOMPARE(attended({ { "e", 5 } }), std::string("1 x 2 x 4 x 5"));
        QVERIFY(attended({}).find("e <= w") != std::string::npos);
        QVERIFY(attended({ { "e", 10 } }).find("e <= w") != std::string::npos); // more than the values have
        QVERIFY(attended({ { "h", 3 } }).find("h is 3") != std::string::npos); // told by the queries
        // Backends look up rows of tables of 2^24; a plan may have larger ones.
        const ShapeRule& lookup = ruleOf(OpKind::Embedding).shapes();
        const std::vector<Shape> operands { { 2, 3 }, { 1 << 25, 4 } };
        QCOMPARE(shapeText(lookup.resultOf("o", OperandShapes(operands), {}).value()), std::string("2 x 3 x 4"));
        QVERIFY(!lookup.verify("o", OperandShapes(operands), { 2, 3, 4 }, {}).ok());
    }

    void rows_data()
    {
        QTest::addColumn<QString>("found");
        QTest::addColumn<QString>("wanted");
        dataRow("matrix product", rowsOf("... i, o i -> ... o ; P R -> P", { { 2, 3, 4 }, { 5, 4 } }, { 2, 3, 5 }),
                "R R->R, S0 R->S0, S1 R->S1, R S0->S2, S2 S1->P, P R->P");
        dataRow("outer of rows", rowsOf("... o, ... i -> o i", { { 2, 3, 4 }, { 2, 3, 5 } }, { 4, 5 }),
                "R R->R, S2 R->S0, R S2->S1, S0 S0->P, S1 S1->P");
        dataRow("broadcast", rowsOf("~, ~ -> ~", { { 2, 1, 4 }, { 3, 1 } }, { 2, 3, 4 }), "R R->R, S0 R->S0, R S0->S1, S2 R->S2");
        QTest::newRow("whole dim") << rowsOf("... n!, n! -> ... n!", { { 2, 4 }, { 4 } }, { 2, 4 }) << "R R->R, S0 R->S0";
        QTest::newRow("only ours") << rowsOf("a -> a ; R -> P ours", { { 2 } }, { 2 }) << "R->R, S0->S0, R->P";
        QTest::newRow("not ours") << rowsOf("a -> a ; R -> P ours", { { 2 } }, { 2 }, PickerProfile::G1) << "R->R, S0->S0";
        QTest::newRow("first") << rowsOf("a b -> a b ; first b", { { 2, 2 } }, { 2, 2 }) << "R->R, S1->S1, S0->S0";
        QTest::newRow("another rank") << rowsOf("a b -> a b", { { 2 } }, { 2 }) << "R->R";
        dataRow("no arrow", rowsOf("a b", { { 2 } }, { 2 }),
                "rule 'a b': it starts with the dims of the operands, an arrow, and those of the result; see "
                "model/ops/shaperule.h");
        dataRow("bad row", rowsOf("a -> a ; X -> R", { { 2 } }, { 2 }),
                "rule 'X -> R': 'X' is not a placement; see model/ops/shardingrule.h");
    }
    void rows()
    {
        QFETCH(QString, found);
        QTEST(found, "wanted");
    }

    void rowsThatAreWrittenOut()
    {
        const auto rule = ShardingRule::parse(
            "a b -> a b ; S1 -> S1 needs even(0,1):KV_heads ; S(k) -> S(k) ours ring 0 for k in 0..r if k != 1");
        QVERIFY2(rule.ok(), rule.ok() ? "" : rule.error().text().c_str());
        const std::vector<Row> all = rule.value().rows({ { 2, 6 } }, { 2, 6 }, PickerProfile::Shardboard);
        QCOMPARE(text(all), QString("R->R, S0->S0, S1->S1, S1->S1, S0->S0"));
        QCOMPARE(all[3].conditions.size(), std::size_t(1));
        QCOMPARE(all[3].conditions[0].what, std::string("6 KV heads"));
        QVERIFY(all[3].conditions[0].fits(3) && !all[3].conditions[0].fits(4));
        QCOMPARE(all[4].ring, std::vector<int> { 0 });
        QCOMPARE(rule.value().rows({ { 2, 6 } }, { 2, 6 }, PickerProfile::G1).size(), std::size_t(4));
        for (const char* wrong :
             { "a -> a ; R R -> R", "a -> a ; R -> R unsound", "R* R -> R", "R -> R for k in 0", "R -> R when" })
            QVERIFY2(!ShardingRule::parse(wrong).ok(), wrong);
    }

    void wholeUnits()
    {
        const auto rule = ShardingRule::parse("b heads*d! -> b heads d!").value();
        const std::vector<Row> all = rule.rows({ { 2, 12 } }, { 2, 3, 4 }, PickerProfile::Shardboard);
        QCOMPARE(text(all), QString("R->R, S0->S0, S1->S1"));
        const Row& row = all.back();
        QCOMPARE(row.conditions.size(), std::size_t(1));
        QCOMPARE(row.conditions[0].units, std::int64_t(3));
        QCOMPARE(row.conditions[0].unitElements, std::int64_t(4));
        QCOMPARE(row.conditions[0].what, std::string("3 heads"));
        QCOMPARE(row.fused.size(), std::size_t(1));
        QCOMPARE(row.fused[0].operand, 0);
        QCOMPARE(row.fused[0].unitElements, std::int64_t(4));
        QCOMPARE(rule.rows({ { 2, 12 } }, { 2, 3, 4 }, PickerProfile::G1).back().conditions[0].unitElements, std::int64_t(0));
    }
};

SHARDBOARD_TEST(TestOps)
#include "tst_ops.moc"
