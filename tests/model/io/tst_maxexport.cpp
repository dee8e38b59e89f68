// SPDX-License-Identifier: Apache-2.0
// The export to MAX: placements and strategies of known layouts, which our own reader takes back, the interface of each generation,
// and what MAX cannot say.
#include "model/io/exports/pythontext.h"
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>

using namespace shardboard;

namespace {

std::string moduleOf(const Design& design) { return exportedFile("max", design, "max_design.py"); }

/// The value of a key in a table of the module, or nothing.
std::string entryOf(const std::string& module, const std::string& table, const std::string& name)
{
    const auto begin = module.find("\n" + table + " = {\n");
    const auto end = module.find("\n}\n", begin);
    const std::string key = "\n    " + pythonLiteral(name) + ": ";
    const auto at = module.find(key, begin);
    if (begin == std::string::npos || at == std::string::npos || at > end)
        return {};
    return module.substr(at + key.size(), module.find('\n', at + 1) - at - key.size());
}

Design withStrategy(const Shape& shape, const char* mesh, const Strategy& strategy, CutRule cut = CutRule::Balanced)
{
    Design design = looseDesign(shape, mesh, "P()");
    design.strategies = { { "*", strategy, cut } };
    return design;
}

} // namespace

class TestMaxExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layouts_data()
    {
        layoutColumns();
        const QString two = QStringLiteral("data=2,model=4");
        dataRow("L1", two, QStringLiteral("P('model')"), QStringLiteral("(Replicated(), Sharded(0)),"));
        dataRow("L2", two, QStringLiteral("P(None,'model')"), QStringLiteral("(Replicated(), Sharded(1)),"));
        dataRow("L3", two, QStringLiteral("P('data','model')"), QStringLiteral("(Sharded(0), Sharded(1)),"));
        dataRow("L4", two, QStringLiteral("P('model','data')"), QStringLiteral("(Sharded(1), Sharded(0)),"));
        dataRow("L5", two, QStringLiteral("P(('data','model'))"), QStringLiteral("(Sharded(0), Sharded(0)),"));
        dataRow("L7", two, QStringLiteral("P()"), QStringLiteral("(Replicated(), Replicated()),"));
        dataRow("3 axes", QStringLiteral("pod=2,fsdp=4,tp=8"), QStringLiteral("P('tp',('pod','fsdp'))"),
                QStringLiteral("(Sharded(1), Sharded(1), Sharded(0)),"));
        dataRow("one axis", QStringLiteral("x=4"), QStringLiteral("P('x')"), QStringLiteral("(Sharded(0),),"));
        dataRow("an axis of one device", QStringLiteral("x=4,y=1"), QStringLiteral("P('x','y')"),
                QStringLiteral("(Sharded(0), Replicated()),"));
    }
    void layouts()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, spec);
        QFETCH(QString, text);
        const Design design = looseDesign({ 64, 64 }, mesh.toStdString(), spec.toStdString());
        const std::string written = entryOf(moduleOf(design), "MAPPINGS", "w");
        QCOMPARE(QString::fromStdString(written), text);
        // Back again, in the same shards.
        std::string list = written.substr(1, written.size() - 3);
        if (list.ends_with(","))
            list.pop_back();
        QString plain = QString::fromStdString(list);
        plain.replace(QStringLiteral("Replicated()"), QStringLiteral("Replicated"));
        QVERIFY(readsBack(Notation::Max, plain.toStdString(), design));
    }

    void refusals()
    {
        const auto refusal = [](const Shape& shape, const char* mesh, const char* spec, CutRule cut = CutRule::Strict) {
            return refusalOf("max", looseDesign(shape, mesh, spec, cut));
        };
        const std::string order = refusal({ 16, 8 }, "data=2,model=4", "P(('model','data'))");
        QVERIFY2(order.find("splits dim 0 over mesh axis 'data' before 'model', in mesh order") != std::string::npos,
                 order.c_str());
        const std::string part = refusal({ 16, 8 }, "x=8", "P('x:(2)4')");
        QVERIFY2(part.find("has no sub-axes") != std::string::npos, part.c_str());
        const std::string tiles = refusal({ 10 }, "x=4", "P('x')", CutRule::CeilFlat);
        QVERIFY2(tiles.find("part 2 is 6:9, in MAX 6:8") != std::string::npos, tiles.c_str());
    }

    /// 26.7 cuts over the product of the mesh axes, 26.6 over one after the other.
    void unevenOverTwoAxes()
    {
        Design design = looseDesign({ 10 }, "x=2,y=2", "P(('x','y'))", CutRule::Balanced);
        design.picker.profile = PickerProfile::Max267;
        QCOMPARE(entryOf(moduleOf(design), "MAPPINGS", "w"), std::string("(Sharded(0), Sharded(0)),"));
        design.picker.profile = PickerProfile::Max266;
        QVERIFY2(refusalOf("max", design).find("one mesh axis after the other") != std::string::npos,
                 refusalOf("max", design).c_str());
    }

    void strategies_data()
    {
        QTest::addColumn<QString>("code");
        QTest::addColumn<bool>("mapped");
        dataRow("rowwise", QStringLiteral("(\"tp\", ShardingStrategy.rowwise(4)),  # dim 0, column-parallel elsewhere"), true);
        dataRow("columnwise", QStringLiteral("(\"tp\", ShardingStrategy.columnwise(4)),  # dim 1, row-parallel elsewhere"), true);
        dataRow("axiswise", QStringLiteral("(\"tp\", ShardingStrategy.axiswise(2, 4)),  # dim 2"), true);
        dataRow("heads",
                QStringLiteral(
                    "(\"tp\", ShardingStrategy.head_aware_columnwise(4, 6, 8)),  # dim 1, row-parallel elsewhere, in whole heads"),
                false);
        dataRow(
            "stacked",
            QStringLiteral("(\"tp\", ShardingStrategy.stacked_qkv(4, 6, 8)),  # dim 0, column-parallel elsewhere, Q, K and V each"),
            false);
        dataRow("gate and up", QStringLiteral("(\"tp\", ShardingStrategy.gate_up(4, axis=2)),  # dim 2, gate and up each"), false);
        dataRow("segments",
                QStringLiteral("(\"tp\", ShardingStrategy.segmented(4, 0, [Segment.head_aware(6, 8), Segment.even(16)])),"
                               "  # dim 0, column-parallel elsewhere, each segment"),
                false);
    }
    void strategies()
    {
        QFETCH(QString, code);
        QFETCH(bool, mapped);
        const std::string row = QTest::currentDataTag();
        Strategy strategy { StrategyKind::Rowwise, { "tp" } };
        Shape shape { 16, 8 };
        if (row == "columnwise") {
            strategy.kind = StrategyKind::Columnwise;
        } else if (row == "axiswise") {
            strategy = { StrategyKind::Axiswise, { "tp" }, -1 };
            shape = { 2, 3, 8 };
        } else if (row == "heads" || row == "stacked") {
            strategy = { row == "heads" ? StrategyKind::HeadAwareColumnwise : StrategyKind::StackedQkv, { "tp" } };
            strategy.numHeads = 6;
            strategy.headDim = 8;
            shape = row == "heads" ? Shape { 4, 48 } : Shape { 144, 4 };
        } else if (row == "gate and up") {
            strategy = { StrategyKind::GateUp, { "tp" }, 2 };
            shape = { 2, 4, 16 };
        } else if (row == "segments") {
            strategy = { StrategyKind::Segmented, { "tp" }, 0 };
            strategy.segments = { { 0, 6, 8 }, { 16, 0, 0 } };
            shape = { 64, 4 };
        }
        const std::string module = moduleOf(withStrategy(shape, "dp=2,tp=4", strategy));
        QCOMPARE(QString::fromStdString(entryOf(module, "STRATEGIES", "w")), code);
        QCOMPARE(!entryOf(module, "MAPPINGS", "w").empty(), mapped);
    }

    /// The interface is the one that the profile's release has.
    void generations_data()
    {
        QTest::addColumn<int>("profile");
        QTest::addColumn<QString>("mapping");
        QTest::addColumn<bool>("regions");
        dataRow("G0", static_cast<int>(PickerProfile::G0), QStringLiteral("PlacementMapping"), false);
        dataRow("G1", static_cast<int>(PickerProfile::G1), QStringLiteral("DeviceMapping"), false);
        dataRow("G2", static_cast<int>(PickerProfile::G2), QStringLiteral("DeviceMapping"), true);
        dataRow("G3", static_cast<int>(PickerProfile::G3), QStringLiteral("DeviceMapping"), true);
        dataRow("26.6", static_cast<int>(PickerProfile::Max266), QStringLiteral("DeviceMapping"), false);
        dataRow("26.7", static_cast<int>(PickerProfile::Max267), QStringLiteral("DeviceMapping"), true);
        dataRow("ours", static_cast<int>(PickerProfile::Shardboard), QStringLiteral("DeviceMapping"), true);
    }
    void generations()
    {
        QFETCH(int, profile);
        QFETCH(QString, mapping);
        QFETCH(bool, regions);
        Design design = looseDesign({ 16, 8 }, "x=4", "P('x')");
        design.picker.profile = static_cast<PickerProfile>(profile);
        const std::string module = moduleOf(design);
        QVERIFY(module.find("\nPROFILE = \"" + profileName(design.picker.profile) + "\"") != std::string::npos);
        QVERIFY(module.find("\nMapping = " + mapping.toStdString() + "\n") != std::string::npos);
        QCOMPARE(module.find("return auto_reshard(mode=\"raise\")") != std::string::npos, regions);
        QCOMPARE(module.find("return mode(GreedyReshard(on_reshard=\"raise\"))") != std::string::npos, !regions);
    }

    /// Whole heads that do not divide, which presets cut: strategies alone have them.
    void wholeHeads()
    {
        ModelSpec model = denseModel(256, 96, 128, 2, 6, 6, 16);
        const Design design = designOn("model=4", std::move(model), {}, "megatron-tp");
        const std::string module = moduleOf(design);
        QCOMPARE(entryOf(module, "STRATEGIES", "model.layers.*.self_attn.q_proj.weight"),
                 std::string("(\"model\", ShardingStrategy.segmented(4, 0, [Segment.head_aware(6, 16)])),"
                             "  # dim 0, column-parallel elsewhere, in whole heads"));
        QCOMPARE(entryOf(module, "STRATEGIES", "model.layers.*.self_attn.o_proj.weight"),
                 std::string("(\"model\", ShardingStrategy.head_aware_columnwise(4, 6, 16)),"
                             "  # dim 1, row-parallel elsewhere, in whole heads"));
        QVERIFY(entryOf(module, "MAPPINGS", "model.layers.*.self_attn.q_proj.weight").empty());
        bool said = false;
        for (const std::string& line : findExportTarget("max")->leftOut(design, *evaluated(design)))
            said = said || line.find("without a DeviceMapping") != std::string::npos;
        QVERIFY(said);
    }

    void activations()
    {
        const Design design = smallDesign("data=2,model=4", "tp-sp");
        const std::string module = moduleOf(design);
        QCOMPARE(entryOf(module, "ACTIVATIONS", "block/self_attn.residual"), std::string("(Sharded(0), Sharded(1)),  # pinned"));
        QCOMPARE(entryOf(module, "ACTIVATIONS", "block/self_attn.o_proj"), std::string("(Sharded(0), Partial()),"));
        QCOMPARE(entryOf(module, "INPUTS", "tokens"), std::string("(Sharded(0), Replicated()),"));
        QCOMPARE(moduleOf(design), module);
    }

    void hostile()
    {
        const auto lines = std::ranges::count(moduleOf(smallDesign("data=2,model=2", "megatron-tp")), '\n');
        for (const Design& design : hostileDesigns()) {
            const std::string module = moduleOf(design);
            QVERIFY(isPlainText(module));
            QCOMPARE(std::ranges::count(module, '\n'), lines);
            QVERIFY(module.find("\nMODEL = " + pythonLiteral(design.model.name) + "\n") != std::string::npos);
        }
    }
};

SHARDBOARD_TEST(TestMaxExport)
#include "tst_maxexport.moc"
