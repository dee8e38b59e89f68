// SPDX-License-Identifier: Apache-2.0
// The table of operations and the notation of their sharding rules.
#include "model/ops/opdefinition.h"
#include "model/ops/rows/shardingrule.h"
#include "tests/support/runner.h"

#include <QtTest>

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
            const auto rule = ShardingRule::parse(all[i]->rule);
            QVERIFY2(rule.ok(), rule.ok() ? "" : rule.error().text().c_str());
        }
        QVERIFY(!opKindFromName("nonsense"));
    }

    void rows_data()
    {
        QTest::addColumn<QString>("found");
        QTest::addColumn<QString>("wanted");
        QTest::newRow("matrix product") << rowsOf("... i, o i -> ... o ; P R -> P", { { 2, 3, 4 }, { 5, 4 } }, { 2, 3, 5 })
                                        << "R R->R, S0 R->S0, S1 R->S1, R S0->S2, S2 S1->P, P R->P";
        QTest::newRow("outer of rows") << rowsOf("... o, ... i -> o i", { { 2, 3, 4 }, { 2, 3, 5 } }, { 4, 5 })
                                       << "R R->R, S2 R->S0, R S2->S1, S0 S0->P, S1 S1->P";
        QTest::newRow("broadcast") << rowsOf("~, ~ -> ~", { { 2, 1, 4 }, { 3, 1 } }, { 2, 3, 4 })
                                   << "R R->R, S0 R->S0, R S0->S1, S2 R->S2";
        QTest::newRow("whole dim") << rowsOf("... n!, n! -> ... n!", { { 2, 4 }, { 4 } }, { 2, 4 }) << "R R->R, S0 R->S0";
        QTest::newRow("only ours") << rowsOf("a -> a ; R -> P ours", { { 2 } }, { 2 }) << "R->R, S0->S0, R->P";
        QTest::newRow("not ours") << rowsOf("a -> a ; R -> P ours", { { 2 } }, { 2 }, PickerProfile::G1) << "R->R, S0->S0";
        QTest::newRow("first") << rowsOf("a b -> a b ; first b", { { 2, 2 } }, { 2, 2 }) << "R->R, S1->S1, S0->S0";
        QTest::newRow("another rank") << rowsOf("a b -> a b", { { 2 } }, { 2 }) << "R->R";
        QTest::newRow("no arrow") << rowsOf("a b", { { 2 } }, { 2 })
                                  << "rule 'a b': it starts with the dims of the operands, an arrow, and those of the result; see "
                                     "model/ops/rows/shardingrule.h";
        QTest::newRow("bad row") << rowsOf("a -> a ; X -> R", { { 2 } }, { 2 })
                                 << "rule 'X -> R': 'X' is not a placement; see model/ops/rows/shardingrule.h";
    }
    void rows()
    {
        QFETCH(QString, found);
        QTEST(found, "wanted");
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
