// SPDX-License-Identifier: Apache-2.0
// Layouts in the notations of JAX, Shardy, XLA, torch and MAX. The expected texts are those the frameworks print for
// the same layouts; each is written and read.
#include "model/notation/canonical.h"
#include "model/notation/compact.h"
#include "model/notation/iota.h"
#include "model/notation/notation.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

using namespace shardboard;

namespace {

Mesh meshOf(const char* text) { return Mesh::parse(text).value(); }

QString errorOf(Notation notation, const QString& text, const Mesh& mesh, std::size_t rank = 2)
{
    const auto layout = readLayout(notation, text.toStdString(), mesh, rank, "TEXT");
    return layout.ok() ? QString() : QString::fromStdString(layout.error().text());
}

/// The text of a layout that is given in JAX notation, with sub-axes; or "no: reason".
QString written(Notation notation, const QString& spec, const Mesh& mesh, std::size_t rank = 2)
{
    const auto layout = parseSpec(spec.toStdString(), mesh, rank);
    if (!layout.ok())
        return "bad spec: " + QString::fromStdString(layout.error().text());
    const auto text = writeLayout(notation, layout.value(), mesh);
    return text.ok() ? QString::fromStdString(text.value()) : "no: " + QString::fromStdString(text.error().text());
}

} // namespace

class TestNotation : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void eightLayouts_data()
    {
        for (const char* column : { "jax", "shardy", "hlo", "hloList", "torch", "max" })
            QTest::addColumn<QString>(column);
        dataRow("rows over model", "P('model')", R"([{"model"}, {}])", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
                "{devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}", "R, S(0)", "Replicated, Sharded(0)");
        dataRow("columns over model", "P(None, 'model')", R"([{}, {"model"}])",
                "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
                "{devices=[1,4,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}", "R, S(1)", "Replicated, Sharded(1)");
        dataRow("rows data, columns model", "P('data', 'model')", R"([{"data"}, {"model"}])", "{devices=[2,4]<=[8]}",
                "{devices=[2,4]0,1,2,3,4,5,6,7}", "S(0), S(1)", "Sharded(0), Sharded(1)");
        dataRow("rows model, columns data", "P('model', 'data')", R"([{"model"}, {"data"}])", "{devices=[4,2]<=[2,4]T(1,0)}",
                "{devices=[4,2]0,4,1,5,2,6,3,7}", "S(1), S(0)", "Sharded(1), Sharded(0)");
        dataRow("rows over data then model", "P(('data', 'model'))", R"([{"data", "model"}, {}])", "{devices=[8,1]<=[8]}",
                "{devices=[8,1]0,1,2,3,4,5,6,7}", "S(0), S(0)", "Sharded(0), Sharded(0)");
        dataRow("rows over model then data", "P(('model', 'data'))", R"([{"model", "data"}, {}])", "{devices=[8,1]<=[2,4]T(1,0)}",
                "{devices=[8,1]0,4,1,5,2,6,3,7}", "_S(0,4), S(0)", "");
        dataRow("whole", "P()", "[{}, {}]", "{replicated}", "{replicated}", "R, R", "Replicated, Replicated");
        dataRow("rows data, partial over model", "P('data', unreduced={'model'})", R"([{"data"}, {}], unreduced={"model"})",
                "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}", "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dims={unreduced}}",
                "S(0), P(sum)", "Sharded(0), Partial()");
    }
    void eightLayouts()
    {
        const Mesh mesh = meshOf("data=2,model=4");
        const char* columns[] { "jax", "shardy", "hlo", "hloList", "torch", "max" };
        QFETCH(QString, jax);
        const Layout layout = parseSpec(jax.toStdString(), mesh, 2).value();
        for (std::size_t i = 0; i < kNotations.size(); ++i) {
            const QString text = *static_cast<QString*>(QTest::qData(columns[i], QMetaType::QString));
            const auto ours = writeLayout(kNotations[i], layout, mesh);
            QCOMPARE(ours.ok(), !text.isEmpty()); // MAX has no form for an order that is not the mesh's
            if (!ours.ok())
                continue;
            QCOMPARE(QString::fromStdString(ours.value()), text);
            const auto detected = detectNotation(ours.value());
            QVERIFY2(detected == kNotations[i] || text == "{replicated}", qPrintable(text));
            const auto read = sure(readLayout(kNotations[i], text.toStdString(), mesh, 2, "TEXT"));
            QVERIFY2(read == layout, qPrintable(text));
        }
    }

    void hloTexts_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<int>("rank");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("hlo");
        const char* three = "pod=2,fsdp=4,tp=8";
        dataRow("skip major", three, 2, "P('fsdp', 'tp')", "{devices=[4,8,2]<=[2,32]T(1,0) last_tile_dim_replicate}");
        dataRow("swap minor", three, 2, "P('tp', 'fsdp')", "{devices=[8,4,2]<=[2,4,8]T(2,1,0) last_tile_dim_replicate}");
        dataRow("two on dim 0", three, 2, "P(('pod', 'fsdp'), 'tp')", "{devices=[8,8]<=[64]}");
        dataRow("two on dim 1", three, 2, "P('tp', ('pod', 'fsdp'))", "{devices=[8,8]<=[8,8]T(1,0)}");
        dataRow("two, rest copies", three, 2, "P(('fsdp', 'tp'))", "{devices=[32,1,2]<=[2,32]T(1,0) last_tile_dim_replicate}");
        dataRow("around", three, 2, "P(('pod', 'tp'), 'fsdp')", "{devices=[16,4]<=[2,4,8]T(0,2,1)}");
        dataRow("copies and terms", three, 2, "P('fsdp', unreduced={'tp'})",
                "{devices=[4,1,2,8]<=[2,4,8]T(1,0,2) last_tile_dims={replicated, unreduced}}");
        dataRow("first sub-axis", "x=8", 2, "P('x:(1)2')", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
        dataRow("rest sub-axis", "x=8", 2, "P('x:(2)4')", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
        dataRow("middle sub-axis", "x=8", 2, "P('x:(2)2')", "{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}");
        dataRow("rank 4", "a=2,b=2,c=2,d=2", 4, "P(None, ('d', 'b'), 'c')",
                "{devices=[1,4,2,1,2]<=[2,4,2]T(2,1,0) last_tile_dim_replicate}");
        dataRow("experts", "data=2,expert=4", 3, "P('expert')", "{devices=[4,1,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
        dataRow("all terms", "data=2,model=4", 2, "P(unreduced={'data', 'model'})", "{unreduced}");
        dataRow("scalar", "data=2,model=4", 0, "P(unreduced={'model'})",
                "{devices=[2,4]<=[8] last_tile_dims={replicated, unreduced}}");
        dataRow("size 1", "a=2,one=1,c=4", 2, "P('c', 'a')", "{devices=[4,2]<=[2,4]T(1,0)}");
        dataRow("one device", "a=1", 2, "P()", "{replicated}");
    }
    void hloTexts()
    {
        QFETCH(QString, mesh);
        QFETCH(int, rank);
        QFETCH(QString, spec);
        QFETCH(QString, hlo);
        const Mesh m = meshOf(mesh.toUtf8().constData());
        QCOMPARE(written(Notation::HloV2, spec, m, static_cast<std::size_t>(rank)), hlo);
        const auto read = sure(readLayout(Notation::HloV2, hlo.toStdString(), m, static_cast<std::size_t>(rank), "TEXT"));
        QCOMPARE(QString::fromStdString(specText(read, m)), spec);
    }

    void canonicalIotas()
    {
        const auto text = [](const Iota& iota) { return iotaText(canonicalIota(iota)); };
        QCOMPARE(text({ { 3, 4, 5 }, { 1, 2, 0 } }), std::string("[3,20]T(1,0)"));
        QCOMPARE(text({ { 3, 4, 5 }, { 2, 0, 1 } }), std::string("[12,5]T(1,0)"));
        QCOMPARE(text({ { 1, 3, 1, 4, 1, 5 }, { 4, 3, 2, 5, 1, 0 } }), std::string("[3,20]T(1,0)"));
        QCOMPARE(text({ { 3, 4, 5 }, { 0, 1, 2 } }), std::string("[60]"));
        QCOMPARE(text({ { 1, 1 }, { 1, 0 } }), std::string("[1]"));
        QCOMPARE(text({ { 2, 3, 4 }, { 2, 1, 0 } }), std::string("[2,3,4]T(2,1,0)"));
    }

    void digitsOfLists()
    {
        using Digits = std::vector<Digit>;
        const auto digits = [](std::vector<std::int64_t> values) { return digitsOf(values); };
        QCOMPARE(digits({ 0, 1, 2, 3 }).value(), (Digits { { 4, 1 } }));
        QCOMPARE(digits({ 0, 4, 1, 5, 2, 6, 3, 7 }).value(), (Digits { { 4, 1 }, { 2, 4 } }));
        QCOMPARE(digits({ 0 }).value(), Digits());
        QVERIFY(!digits({ 0, 1, 2, 4 }));
        QVERIFY(!digits({ 1, 0 }));
        QVERIFY(!digits({ 0, 1, 3, 2 }));
        QVERIFY(!digits({ 0, 1, 2, 3, 4, 6 }));
        QVERIFY(!digits({ 0, 0 }));
    }

    /// Every spelling reads as the layout of the spec, and is found to be in its notation.
    void spellings_data()
    {
        QTest::addColumn<int>("notation");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("spec");
        const auto row = [](Notation notation, const char* text, const char* spec) {
            QTest::newRow(text) << static_cast<int>(notation) << text << spec;
        };
        row(Notation::Jax, "PartitionSpec(None, (\"model\",))", "P(None, 'model')");
        row(Notation::Jax, "P('data', reduced={'model'})", "P('data')");
        row(Notation::Jax, "P('data', unreduced={'model'}, unreduced_kind=max)",
            "P('data', unreduced={'model'}, unreduced_kind=max)");
        row(Notation::Jax, "P(unreduced={'model'}, unreduced_kind=jax.sharding.UnreducedKind.min)",
            "P(unreduced={'model'}, unreduced_kind=min)");
        row(Notation::Shardy, R"(#sdy.sharding<@mesh, [{"model"}, {}]>)", "P('model')");
        row(Notation::Shardy, R"(<@mesh_0,[{"model"},{"data"}]>)", "P('model', 'data')");
        row(Notation::Shardy, R"(#sdy.sharding<mesh<["data"=2, "model"=4]>, [{"model"}, {}]>)", "P('model')");
        row(Notation::Shardy, R"(#sdy.sharding<mesh<["data"=2, "model"=4], device_ids=[0,1,2,3,4,5,6,7]>, [{"model"}, {}]>)",
            "P('model')");
        row(Notation::Shardy, R"([{"data"}p1, {"model":(2)2}])", "P('data', 'model:(2)2')");
        row(Notation::Shardy, R"([{"data"}, {}], replicated={"model"})", "P('data')");
        row(Notation::Shardy, R"([{}, {}], replicated={"data"}, unreduced=max{"model"})",
            "P(unreduced={'model'}, unreduced_kind=max)");
        row(Notation::Shardy, R"([{}, {}], unreduced=min{"data", "model":(1)2}, replicated={"model":(2)2})",
            "P(unreduced={'data', 'model:(1)2'}, unreduced_kind=min)");
        row(Notation::Shardy, R"([{"model":(2)2, "model":(1)2}, {}])", "P(('model:(2)2', 'model:(1)2'))");
        row(Notation::HloV2, "{devices=[4,2]<=[1,2,4]T(2,0,1)}", "P('model', 'data')");
        row(Notation::HloV2, " { devices=[2,1,4] <= [8] last_tile_dim_replicate } ", "P('data')");
        row(Notation::HloV2, "{devices=[1,1,4,2]<=[2,4]T(1,0) last_tile_dims={unreduced, replicated}}", "P(unreduced={'model'})");
        row(Notation::HloV2, "{devices=[1,1,8]<=[8] last_tile_dim_replicate}", "P()");
        row(Notation::HloV1, "{devices=[2,1,4]3,1,2,0,4,6,5,7 last_tile_dim_replicate}",
            "P('data')"); // copies in any order
        row(Notation::HloV1, "{devices=[2,1,4]3,1,2,0,4,6,5,7 last_tile_dims={unreduced}}", "P('data', unreduced={'model'})");
        row(Notation::HloV1, "{devices=[1,1,2,4]4,5,6,7,0,1,2,3 last_tile_dims={replicated, unreduced}}", "P(unreduced={'model'})");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], [{'model'}, {}]}", "P('model')");
        row(Notation::HloV2, "{mesh[data=2,model=4], [{model, data}, {}]}", "P(('model', 'data'))");
        row(Notation::HloV2, "{@mesh<data=2,model=4>, [{model}, {}], unreduced={data}}", "P('model', unreduced={'data'})");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], [{}, {'model':(2)2}], replicated={'data'}, unreduced={'model':(1)2}}",
            "P(None, 'model:(2)2', unreduced={'model:(1)2'})");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], [], unreduced={'model'}}", "P(unreduced={'model'})");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], replicated}", "P()");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], unreduced}", "P(unreduced={'data', 'model'})");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], device_ids=([8]), [{'model'}, {}]}", "P('model')");
        row(Notation::DTensor, "[Shard(0), Replicate()]", "P('data')");
        row(Notation::DTensor, "(Shard(dim=0), Shard(dim=-1))", "P('data', 'model')");
        row(Notation::DTensor, "(Replicate(), Partial(sum),)", "P(unreduced={'model'})");
        row(Notation::DTensor, "[Partial(), Partial()]", "P(unreduced={'data', 'model'})");
        row(Notation::DTensor, "[Partial('max'), Shard(1)]", "P(None, 'model', unreduced={'data'}, unreduced_kind=max)");
        row(Notation::DTensor, "P(sum), S(0)", "P('model', unreduced={'data'})");
        row(Notation::DTensor, "S(1)R", "P(None, 'data')");
        row(Notation::DTensor, "RS(0)", "P('model')");
        row(Notation::DTensor, "_StridedShard(dim=0, split_factor=4), Shard(0)", "P(('model', 'data'))");
        row(Notation::DTensor, "(_StridedShard(dim=0, sf=4), Shard(dim=0))", "P(('model', 'data'))");
        row(Notation::DTensor, "_S(0, 1), S(0)", "P(('data', 'model'))");
        row(Notation::DTensor, "R, R", "P()");
        row(Notation::Max, "R, S0", "P('model')");
        row(Notation::Max, "S1,P", "P(None, 'data', unreduced={'model'})");
        row(Notation::Max, "(Sharded(axis=1), Partial())", "P(None, 'data', unreduced={'model'})");
        row(Notation::Max, "[Replicated(), Sharded(0)]", "P('model')");
    }
    void spellings()
    {
        QFETCH(int, notation);
        QFETCH(QString, text);
        QFETCH(QString, spec);
        const Mesh mesh = meshOf("data=2,model=4");
        const auto expected = static_cast<Notation>(notation);
        QCOMPARE(detectNotation(text.toStdString()).value(), expected);
        const auto layout = sure(readLayout(expected, text.toStdString(), mesh, 2, "TEXT"));
        QCOMPARE(QString::fromStdString(specText(layout, mesh)), spec);
    }

    void refusedTexts_data()
    {
        QTest::addColumn<int>("notation");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("part");
        const auto row = [](Notation notation, const char* text, const char* part) {
            QTest::newRow(text) << static_cast<int>(notation) << text << part;
        };
        row(Notation::Jax, "P(P.UNCONSTRAINED, 'data')", "dim 0 is unconstrained");
        row(Notation::Jax, "P('data', reduced={'data'})", "mesh axis 'data' is used twice");
        row(Notation::Jax, "P('data', unreduced_kind=max)", "nothing is unreduced");
        row(Notation::Jax, "P(unreduced={'data'}, unreduced_kind=avg)", "none of sum, max and min");
        row(Notation::Jax, "P(unreduced={'data'}, 'model')", "an entry follows unreduced");
        row(Notation::Shardy, R"([{"data"}])", "the sharding has 1 dims, but the tensor has 2");
        row(Notation::Shardy, R"([{"tp"}, {}])", "the mesh has no axis 'tp'; its axes are data=2,model=4");
        row(Notation::Shardy, R"([{"data", ?}, {}])", "dim 0 is open");
        row(Notation::Shardy, R"([{}, {?}p1])", "dim 1 is open");
        row(Notation::Shardy, R"([{?, "data"}, {}])", "the ? is not the last");
        row(Notation::Shardy, R"([{"data"}p01, {}])", "leading zero");
        row(Notation::Shardy, R"([{}p1, {}])", "an empty closed dim cannot have a priority");
        row(Notation::Shardy, R"([{"model":(1)2, "model":(2)2}, {}])", "must be written as one");
        row(Notation::Shardy, R"([{"model":(1)4}, {}])", "all of mesh axis 'model'");
        row(Notation::Shardy, R"([{"model":(2)1}, {}])", "because its size is 1");
        row(Notation::Shardy, R"([{"model":(3)2}, {}])", "does not divide mesh axis 'model' of size 4");
        row(Notation::Shardy, R"([{"model":(1)2}, {"model":(1)2}])", "mesh axis 'model' is used twice");
        row(Notation::Shardy, R"([{"model":(9223372036854775807)9223372036854775807}, {}])", "does not divide");
        row(Notation::Shardy, R"([{"data"}, {}], replicated={"data"})", "mesh axis 'data' is used twice");
        row(Notation::Shardy, R"([{}, {}], unreduced={"model", "data"})", "not in mesh order: data comes before model");
        row(Notation::Shardy, R"([{}, {}], unreduced={"data"}, unreduced={"model"})", "appears twice");
        row(Notation::Shardy, R"([{}, {}], unreduced={})", "unreduced is empty and must be left out");
        row(Notation::Shardy, R"(#sdy.sharding<@mesh, [{"data"}, {}])", "the closing > is missing");
        row(Notation::Shardy, R"(#sdy.sharding<mesh<["data"=4]>, [{"data"}, {}]>)",
            "the text is for mesh data=4, but the mesh is data=2,model=4");
        row(Notation::Shardy, R"(#sdy.sharding<mesh<["data"=2, "model"=4], device_ids=[1,0,2,3,4,5,6,7]>, [{"data"}, {}]>)",
            "another device order");
        row(Notation::HloV2, "{devices=[3,1]<=[3]}", "the brackets are for 3 devices, but the mesh has 8");
        row(Notation::HloV2, "{devices=[8]<=[8]}", "the tile assignment has 1 dims, but the tensor has 2");
        row(Notation::HloV2, "{devices=[8,1]<=[2,4]T(0,0)}", "T(…) does not list each of the 2 dims once");
        row(Notation::HloV2, "{devices=[4294967296,4294967296]<=[8]}", "far too many devices");
        row(Notation::HloV2, "{devices=[-8,-1]<=[8]}", "not at least 1");
        row(Notation::HloV2, "{devices=[0,8]<=[8]}", "not at least 1");
        row(Notation::HloV2, "{manual}", "manual");
        row(Notation::HloV2, "{unknown}", "says nothing about the layout");
        row(Notation::HloV2, "{maximal device=3}", "whole tensor on device 3 alone");
        row(Notation::HloV2, "{devices=[2,1,4]<=[8] last_tile_dims={manual}}", "manual device group");
        row(Notation::HloV2, "{devices=[2,1,4]<=[8] last_tile_dims={replicated, replicated}}", "appears twice");
        row(Notation::HloV2, "{{replicated}, {replicated}}", "a tuple of shardings");
        row(Notation::HloV2, "{replicated} x", "text after the sharding");
        row(Notation::HloV2, "{mesh['data'=2], [{'data'}, {}]}", "the text is for mesh data=2");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], [{'data', ?}, {}]}", "dim 0 is open");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], [{}, {}], manual={'data'}}", "manual axes have no layout");
        row(Notation::HloV2, "{mesh['data'=2,'model'=4], device_ids=([2,4]T(1,0)), [{'data'}, {}]}", "another device order");
        row(Notation::HloV1, "{devices=[8,1]0,1,2,3,4,5,7,6}", "no mesh axes of data=2,model=4 make this tile assignment");
        row(Notation::HloV1, "{devices=[8,1]1,0,2,3,4,5,6,7}", "no mesh axes");
        row(Notation::HloV1, "{devices=[2,1,4]0,1,2,4,3,5,6,7 last_tile_dim_replicate}", "no mesh axes");
        row(Notation::HloV1, "{devices=[8,1]0,1,2,3,4,5,6}", "there are 7 device ids for 8 devices");
        row(Notation::HloV1, "{devices=[8,1]0,1,2,3,4,5,6,6}", "device 6 appears twice");
        row(Notation::HloV1, "{devices=[8,1]0,1,2,3,4,5,6,8}", "the mesh has no device 8");
        row(Notation::DTensor, "S(0)", "there is 1 placement, but the mesh has 2 axes, data=2,model=4");
        row(Notation::DTensor, "R, S(0), R", "there are 3 placements");
        row(Notation::DTensor, "R, S(2)", "cuts a dim that the tensor of 2 dims does not have");
        row(Notation::DTensor, "R, S(-3)", "does not have");
        row(Notation::DTensor, "R, P(avg)", "use sum, max or min");
        row(Notation::DTensor, "P(sum), P(max)", "combined in another way");
        row(Notation::DTensor, "_S(0,2), S(0)", "split factor 2 on mesh axis 'data' stands for no order");
        row(Notation::DTensor, "R, _S(0,2)", "fused segments are not a partition spec");
        row(Notation::DTensor, "R, _S(0,0)", "no split factor of at least 1");
        row(Notation::DTensor, "R, Sharded(0)", "is none of DTensor's");
        row(Notation::DTensor, "R R", "a comma is missing");
        row(Notation::DTensor, "R, R,", "after the last comma");
        row(Notation::Max, "Replicated, Sharded(-1)", "has a negative dim");
        row(Notation::Max, "Replicated, Sharded(2)", "does not have");
        row(Notation::Max, "Replicated", "there is 1 placement");
        row(Notation::Max, "Replicated, Partial(max)", "is none of MAX's");
    }
    void refusedTexts()
    {
        QFETCH(int, notation);
        QFETCH(QString, text);
        QFETCH(QString, part);
        const QString error = errorOf(static_cast<Notation>(notation), text, meshOf("data=2,model=4"));
        QVERIFY2(error.contains(part), qPrintable(error.isEmpty() ? "it was read" : error));
        QVERIFY(error.startsWith("TEXT: ") && !error.contains('\n'));
    }

    void notationsRefuseWhatTheyCannotSay()
    {
        const Mesh mesh = meshOf("data=2,model=4");
        for (const Notation notation : { Notation::Jax, Notation::DTensor, Notation::Max }) {
            const QString reason = written(notation, "P('model:(2)2')", mesh);
            QVERIFY2(reason.startsWith("no: ") && reason.contains("split the mesh axis into axes of 2, 2"), qPrintable(reason));
        }
        for (const Notation notation : { Notation::HloV2, Notation::HloV1, Notation::Max })
            QVERIFY(written(notation, "P(unreduced={'model'}, unreduced_kind=max)", mesh).contains("partial maximum"));
        QCOMPARE(written(Notation::DTensor, "P(unreduced={'model'}, unreduced_kind=min)", mesh), QString("R, P(min)"));
        QVERIFY(written(Notation::Max, "P(('model', 'data'))", mesh).contains("before 'model', in mesh order"));
        // Parts of an axis in order are the axis again, which every notation can say.
        QCOMPARE(written(Notation::Jax, "P(('model:(1)2', 'model:(2)2'))", mesh), QString("P('model')"));
    }

    /// How an indivisible dim is cut is no part of any notation, nor of the comparison of two.
    void cutRulesStayOutOfTheTexts()
    {
        const Mesh mesh = meshOf("data=2,model=4");
        QCOMPARE(written(Notation::Jax, "P('model', cut={0: 'ceil-flat'})", mesh), QString("P('model')"));
        QCOMPARE(written(Notation::DTensor, "P('model', cut={0: 'ceil-flat'})", mesh), QString("R, S(0)"));
    }

    /// (1)2 and (3)2 of an axis of 6 do not overlap, but no split of the axis has both.
    void subAxesMustBelongToOneSplit()
    {
        const Mesh mesh = meshOf("x=6");
        QVERIFY(errorOf(Notation::Shardy, R"([{"x":(1)2}, {"x":(3)2}])", mesh).contains("used twice"));
        QCOMPARE(errorOf(Notation::Shardy, R"([{"x":(1)3}, {"x":(3)2}])", mesh), QString());
    }

    void editedDeviceOrders()
    {
        const auto order = [](std::vector<std::int64_t> ids) {
            return Mesh::make({ { "data", 2 }, { "model", 4 } }, std::move(ids)).value();
        };
        const Mesh swapped = order({ 0, 2, 4, 6, 1, 3, 5, 7 });
        QCOMPARE(written(Notation::HloV2, "P('data', 'model')", swapped), QString("{devices=[2,4]<=[4,2]T(1,0)}"));
        const auto read = readLayout(Notation::HloV2, "{devices=[2,4]<=[4,2]T(1,0)}", swapped, 2, "TEXT");
        QCOMPARE(specText(read.value(), swapped), std::string("P('data', 'model')"));
        const Mesh odd = order({ 0, 1, 3, 2, 4, 5, 6, 7 });
        QVERIFY(written(Notation::HloV2, "P('model')", odd).contains("use hlo-v1"));
        QCOMPARE(written(Notation::HloV2, "P()", odd), QString("{replicated}"));
        QCOMPARE(written(Notation::HloV1, "P('model')", odd), QString("{devices=[4,1,2]0,4,1,5,3,6,2,7 last_tile_dim_replicate}"));
        QVERIFY(errorOf(Notation::HloV2, "{devices=[8,1]<=[8]}", odd).contains("no mesh axes"));
        QVERIFY(errorOf(Notation::Shardy, R"(<mesh<["data"=2, "model"=4]>, [{}, {}]>)", odd).contains("another device order"));
        QCOMPARE(errorOf(Notation::Shardy, R"(<mesh<["data"=2, "model"=4], device_ids=[0,1,3,2,4,5,6,7]>, [{}, {}]>)", odd),
                 QString());
        QCOMPARE(errorOf(Notation::HloV2, "{mesh['data'=2,'model'=4], device_ids=(0,1,3,2,4,5,6,7), [{'data'}, {}]}", odd),
                 QString());
        QVERIFY(errorOf(Notation::HloV2, "{mesh['data'=2,'model'=4], [{'data'}, {}]}", odd).contains("another device order"));
        const Mesh far = order({ 10, 11, 12, 13, 14, 15, 16, 17 }); // ids need not begin at 0; an iota does
        QVERIFY(written(Notation::HloV2, "P('data')", far).startsWith("no: "));
        QCOMPARE(written(Notation::HloV1, "P('data', 'model')", far), QString("{devices=[2,4]10,11,12,13,14,15,16,17}"));
        QCOMPARE(errorOf(Notation::HloV1, "{devices=[2,4]10,11,12,13,14,15,16,17}", far), QString());
    }

    void oneDevice()
    {
        const Mesh mesh = meshOf("x=1");
        QCOMPARE(errorOf(Notation::HloV2, "{maximal device=0}", mesh), QString());
        QCOMPARE(errorOf(Notation::HloV2, "{maximal_mesh[device_id=0]}", mesh), QString());
        QVERIFY(errorOf(Notation::HloV2, "{maximal device=1}", mesh).contains("the mesh has no device 1"));
        QCOMPARE(errorOf(Notation::HloV2, "{devices=[1,1]<=[1]}", mesh), QString());
        QCOMPARE(errorOf(Notation::HloV1, "{devices=[1,1]0}", mesh), QString());
    }

    void threeAxesInTorch()
    {
        const Mesh mesh = meshOf("a=2,b=3,c=5");
        QCOMPARE(written(Notation::DTensor, "P(('c', 'a', 'b'))", mesh), QString("_S(0,5), _S(0,5), S(0)"));
        QCOMPARE(written(Notation::DTensor, "P(('b', 'c', 'a'))", mesh), QString("_S(0,15), S(0), S(0)"));
        QCOMPARE(written(Notation::DTensor, "P(('c', 'b', 'a'))", mesh), QString("_S(0,15), _S(0,5), S(0)"));
        QCOMPARE(written(Notation::DTensor, "P('c', ('b', 'a'))", mesh), QString("_S(1,3), S(1), S(0)"));
    }

    void noLayoutAtAll()
    {
        for (const char* text : { "", "  ", "hello", "4", "S", "Q(0)", "R, X", "()", "-" })
            QVERIFY2(!detectNotation(text) || !readAnyLayout(text, meshOf("data=2"), 1, "TEXT").ok(), text);
        QCOMPARE(readAnyLayout("hello", meshOf("data=2"), 1, "TEXT").error().text().rfind("TEXT: 'hello' is not a layout", 0),
                 std::size_t { 0 });
    }

    /// Whoever forgets the quotes of JAX must not be told about DTensor.
    void unquotedAxisIsJax()
    {
        const auto layout = readAnyLayout("P(data)", meshOf("data=2"), 1, "TEXT");
        QVERIFY(layout.error().text().find("a quoted mesh axis name is missing") != std::string::npos);
    }

    void namesOfNotations()
    {
        for (const Notation notation : kNotations)
            QCOMPARE(notationFromName(notationName(notation)).value(), notation);
        QCOMPARE(notationFromName("torch").value(), Notation::DTensor);
        QVERIFY(!notationFromName("JAX"));
    }

    void shortForms()
    {
        const Mesh mesh = meshOf("X=2,Y=8,Z=2");
        const Layout layout = parseSpec("P(('X', 'Y'), None, unreduced={'Z'})", mesh, 2).value();
        QCOMPARE(compactText(layout, mesh), std::string("A[I_XY, J]{U_Z}"));
        QCOMPARE(typeText({ 128, 2048 }, DType::I8, layout, mesh), std::string("i8[128@(X,Y),2048]{U:Z}"));
        const Mesh words = meshOf("data=2,model=4");
        QCOMPARE(compactText(parseSpec("P(('model', 'data'))", words, 2).value(), words, "W"), std::string("W[I_(model,data), J]"));
        QCOMPARE(typeText({ 8, 4 }, DType::F32, parseSpec("P('model')", words, 2).value(), words), std::string("f32[8@model,4]"));
    }
};

SHARDBOARD_TEST(TestNotation)
#include "tst_notation.moc"
