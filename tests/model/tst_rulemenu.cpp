// SPDX-License-Identifier: Apache-2.0
// What a plan takes in the profiles of MAX is what their per-op pickers pick of the rows of the tables, with the same prices,
// for operations of a plan on random layouts.
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/picker/greedy.h"
#include "model/picker/picktask.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <random>

using namespace shardboard;

namespace {

struct Operation {
    OpKind kind;
    std::vector<Shape> operands;
    Shape result;
};

const std::vector<Operation> kOperations {
    { OpKind::Linear, { { 16, 32, 64 }, { 128, 64 } }, { 16, 32, 128 } },
    { OpKind::Add, { { 16, 32, 64 }, { 16, 32, 64 } }, { 16, 32, 64 } },
    { OpKind::Mul, { { 16, 32, 64 }, { 16, 32, 64 } }, { 16, 32, 64 } },
    { OpKind::Silu, { { 16, 32, 64 } }, { 16, 32, 64 } },
    { OpKind::RmsNorm, { { 16, 32, 64 }, { 64 } }, { 16, 32, 64 } },
    { OpKind::Embedding, { { 16, 32 }, { 256, 64 } }, { 16, 32, 64 } },
};

} // namespace

class TestRuleMenu : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void plansPickAsMax_data()
    {
        QTest::addColumn<int>("profile");
        for (const PickerProfile profile : { PickerProfile::G0, PickerProfile::G1, PickerProfile::G2, PickerProfile::G3 })
            QTest::newRow(profileName(profile).c_str()) << static_cast<int>(profile);
    }
    void plansPickAsMax()
    {
        QFETCH(int, profile);
        const auto rules = static_cast<PickerProfile>(profile);
        std::mt19937 random(11);
        const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const auto axes = static_cast<std::size_t>(mesh.axisCount());
        int moved = 0;
        int refused = 0;
        for (int trial = 0; trial < 1500; ++trial) {
            const Operation& op = kOperations[below(kOperations.size())];
            std::vector<PickOperand> operands;
            std::vector<double> bytes;
            for (const Shape& shape : op.operands) {
                Layout layout = Layout::replicated(shape.size());
                for (std::size_t axis = 0; axis < axes; ++axis) {
                    const std::size_t kind = below(shape.size() + 2);
                    if (kind < shape.size())
                        layout.dims[kind].push_back(AxisRef { static_cast<int>(axis) });
                    else if (kind == shape.size())
                        layout.partial.push_back(AxisRef { static_cast<int>(axis) });
                }
                operands.push_back({ shape, DType::BF16, placementsOf(layout, mesh), layout });
                bytes.push_back(countedBytes(rules, operands.back(), mesh));
            }
            PickerOptions options;
            options.profile = rules;
            options.allowPartialToSharded = below(2) == 0;
            if (below(2) == 0)
                options.allowedTransitions = TransitionSet::all();
            const auto planned = pickGreedy({ op.kind, operands, op.result, mesh, options, {}, "op" });

            const Menu menu { ruleOf(op.kind).rows(op.operands, op.result, rules) };
            if (rules == PickerProfile::G2 || rules == PickerProfile::G3)
                options.picker = PickerKind::AutoReshard; // as MAX calls it
            const auto picked = pickRows({ options, &menu, operands, bytes, &mesh });

            QCOMPARE(planned.ok(), std::holds_alternative<PickAction>(picked));
            if (!planned.ok()) {
                ++refused;
                continue;
            }
            const auto& action = std::get<PickAction>(picked);
            moved += action.moved ? 1 : 0;
            const auto text = [&](std::span<const Placement> list) {
                QString out;
                for (const Placement& p : list)
                    out += QString::fromStdString(p.code()) + " ";
                return out;
            };
            for (std::size_t i = 0; i < operands.size(); ++i)
                QCOMPARE(text(placementsOf(planned.value().operands[i], mesh)), text(action.input(i)));
            QCOMPARE(text(placementsOf(planned.value().result, mesh)), text(action.output));
            QCOMPARE(planned.value().cost, action.cost);
        }
        QVERIFY(moved > 200);
        QVERIFY(refused < 500);
    }
};

SHARDBOARD_TEST(TestRuleMenu)
#include "tst_rulemenu.moc"
