// SPDX-License-Identifier: Apache-2.0
// The export of HloSharding: the field's texts of known layouts, which our own reader takes back, and what XLA cannot say.
#include "model/notation/notation.h"
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QTest>

using namespace shardboard;
using nlohmann::json;

namespace {

json documentOf(const Design& design) { return json::parse(exportedFile("hlo", design, "hlo_shardings.json")); }

std::string textOfW(const Design& design) { return documentOf(design)["weights"]["w"]["sharding"].get<std::string>(); }

} // namespace

class TestHloExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layouts_data()
    {
        layoutColumns();
        const QString two = QStringLiteral("data=2,model=4");
        dataRow("L1", two, QStringLiteral("P('model')"), QStringLiteral("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"));
        dataRow("L2", two, QStringLiteral("P(None,'model')"),
                QStringLiteral("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"));
        dataRow("L3", two, QStringLiteral("P('data','model')"), QStringLiteral("{devices=[2,4]<=[8]}"));
        dataRow("L4", two, QStringLiteral("P('model','data')"), QStringLiteral("{devices=[4,2]<=[2,4]T(1,0)}"));
        dataRow("L5", two, QStringLiteral("P(('data','model'))"), QStringLiteral("{devices=[8,1]<=[8]}"));
        dataRow("L6", two, QStringLiteral("P(('model','data'))"), QStringLiteral("{devices=[8,1]<=[2,4]T(1,0)}"));
        dataRow("L7", two, QStringLiteral("P()"), QStringLiteral("{replicated}"));
        const QString three = QStringLiteral("pod=2,fsdp=4,tp=8");
        dataRow("3 axes, two dims", three, QStringLiteral("P('fsdp','tp')"),
                QStringLiteral("{devices=[4,8,2]<=[2,32]T(1,0) last_tile_dim_replicate}"));
        dataRow("3 axes, other order", three, QStringLiteral("P(('pod','tp'),'fsdp')"),
                QStringLiteral("{devices=[16,4]<=[2,4,8]T(0,2,1)}"));
        dataRow("sub-axis", QStringLiteral("x=8"), QStringLiteral("P('x:(2)2')"),
                QStringLiteral("{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}"));
    }
    void layouts()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, spec);
        QFETCH(QString, text);
        const Design design = looseDesign({ 64, 64 }, mesh.toStdString(), spec.toStdString());
        QCOMPARE(QString::fromStdString(textOfW(design)), text);
        // Back again, in the same shards.
        QVERIFY(readsBack(Notation::HloV2, textOfW(design), design));
    }

    void deviceOrders()
    {
        Design design = looseDesign({ 16, 8 }, "data=2,model=4", "P(('model','data'))");
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 7, 6, 5, 4, 3, 2, 1, 0 }));
        QCOMPARE(textOfW(design), std::string("{devices=[8,1]7,3,6,2,5,1,4,0}")); // no iota: every id
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 0, 2, 4, 6, 1, 3, 5, 7 }));
        QCOMPARE(textOfW(design), std::string("{devices=[8,1]<=[8]}"));
        QCOMPARE(documentOf(design)["mesh"]["device_ids"], (json { 0, 2, 4, 6, 1, 3, 5, 7 }));
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 0, 1, 2, 3, 4, 5, 6, 8 }));
        QVERIFY2(refusalOf("hlo", design).find("has device id 8, and XLA numbers its devices 0 to 7") != std::string::npos,
                 refusalOf("hlo", design).c_str());
    }

    /// XLA pads: what lies as its tiles do passes, what is balanced otherwise does not.
    void uneven()
    {
        QCOMPARE(textOfW(looseDesign({ 10 }, "x=4", "P('x')", CutRule::CeilFlat)), std::string("{devices=[4]<=[4]}"));
        QVERIFY(exported("hlo", looseDesign({ 10 }, "x=4", "P('x')", CutRule::CeilNested)).ok());
        const std::string balanced = refusalOf("hlo", looseDesign({ 10 }, "x=4", "P('x')", CutRule::Balanced));
        QVERIFY2(balanced.find("part 2 is 6:8, in XLA 6:9") != std::string::npos, balanced.c_str());
        const std::string nested = refusalOf("hlo", looseDesign({ 5 }, "x=2,y=2", "P(('x','y'))", CutRule::CeilNested));
        QVERIFY2(nested.find("part 1 is 2:3, in XLA 2:4") != std::string::npos, nested.c_str());
        Design fused = looseDesign({ 96, 8 }, "x=4", "P()");
        fused.strategies = { { "*", { StrategyKind::StackedQkv, { "x" }, 0, {}, 8, 4 }, CutRule::Balanced } };
        QVERIFY2(refusalOf("hlo", fused).find("is cut in 3 segments") != std::string::npos, refusalOf("hlo", fused).c_str());
    }

    /// Of a model: one entry for all layers, the input, and values of the forward pass with those that are still to be summed.
    void model()
    {
        const Design design = smallDesign("data=2,model=4", "tp-sp", 3);
        const json document = documentOf(design);
        const std::string columns = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}";
        QCOMPARE(document["weights"]["model.layers.*.self_attn.q_proj.weight"],
                 (json { { "dtype", "bf16" }, { "shape", { 64, 64 } }, { "sharding", columns } }));
        QCOMPARE(document["weights"]["model.layers.*.self_attn.o_proj.weight"]["sharding"],
                 json("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"));
        QCOMPARE(document["weights"].size(), std::size_t(9 + 3));
        QCOMPARE(document["inputs"]["tokens"]["sharding"], json("{devices=[2,1,4]<=[8] last_tile_dim_replicate}"));
        const json& values = document["activations"];
        QCOMPARE(values["block/self_attn.residual"]["sharding"], json("{devices=[2,4,1]<=[8]}"));
        QCOMPARE(values["block/self_attn.residual"]["pinned"], json(true));
        QCOMPARE(values["block/self_attn.residual"]["layers"], json(3));
        QCOMPARE(values["block/self_attn.o_proj"]["sharding"], json("{devices=[2,1,1,4]<=[8] last_tile_dims={unreduced}}"));
        QCOMPARE(values["block/self_attn.o_proj"]["pinned"], json(false));
        for (const auto& [name, value] : values.items()) {
            const auto read =
                readLayout(Notation::HloV2, value["sharding"].get<std::string>(), design.mesh, value["shape"].size(), name);
            QVERIFY2(read.ok(), name.c_str());
        }
        QCOMPARE(exportedFile("hlo", design, "hlo_shardings.json"), exportedFile("hlo", design, "hlo_shardings.json"));
    }

    /// A partial maximum has no form; it is left out of the list, and that is said.
    void whatHasNoForm()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        const Design design = designOn("model=4", denseModel(256, 64, 128, 3, 4, 4, 16), training, "megatron-tp");
        const json document = documentOf(design);
        QVERIFY(document["activations"].contains("head/loss.sum_exp") && !document["activations"].contains("head/loss.max"));
        QCOMPARE(document["left_out"][0],
                 json("1 activation with a layout that has no form there (a partial maximum, a dim that is cut elsewhere)"));
    }

    void hostile()
    {
        const std::string program = exportedFile("hlo", smallDesign("data=2,model=2", "megatron-tp"), "hlo_shardings.py");
        for (const Design& design : hostileDesigns()) {
            const std::string text = exportedFile("hlo", design, "hlo_shardings.json");
            QVERIFY(isPlainText(text) && json::accept(text));
            QCOMPARE(exportedFile("hlo", design, "hlo_shardings.py"), program);
        }
    }

    void pipelines()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        training.batch = 8;
        training.microBatches = 4;
        const Design design = designOn("stage=3,model=2", denseModel(256, 64, 128, 3, 4, 4, 16), training, "pp-1f1b");
        QVERIFY2(refusalOf("hlo", design).starts_with("pipeline: each layer lies on the devices of its stage alone"),
                 refusalOf("hlo", design).c_str());
    }
};

SHARDBOARD_TEST(TestHloExport)
#include "tst_hloexport.moc"
