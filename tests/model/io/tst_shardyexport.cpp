// SPDX-License-Identifier: Apache-2.0
// The export to Shardy: a module that says each tensor's layout in the field's text, which our own reader takes back, names that
// stay names, and what Shardy cannot say.
#include "model/notation/notation.h"
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <algorithm>

using namespace shardboard;
using nlohmann::json;

namespace {

std::string moduleOf(const Design& design) { return exportedFile("shardy", design, "design.mlir"); }
json documentOf(const Design& design) { return json::parse(exportedFile("shardy", design, "shardings.json")); }

/// The lines of a module without its comments.
std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> lines;
    for (const QString& line : QString::fromStdString(text).split(QLatin1Char('\n')))
        if (!line.startsWith(QStringLiteral("//")))
            lines.push_back(line.toStdString());
    return lines;
}

} // namespace

class TestShardyExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void wholeModule()
    {
        Design design = looseDesign({ 16, 8 }, "data=2,model=4", "P(('model','data'))");
        const std::vector<std::string> expected {
            "module @design {",
            "  sdy.mesh @mesh = <[\"data\"=2, \"model\"=4]>",
            "  func.func public @main(",
            "    %w: tensor<16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"model\", \"data\"}, {}]>} loc(\"w\"))",
            "    -> (",
            "    tensor<16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"model\", \"data\"}, {}]>}) {",
            "    return %w : tensor<16x8xbf16>",
            "  }",
            "} loc(\"one tensor\")",
            "",
        };
        QCOMPARE(linesOf(moduleOf(design)), expected);
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 7, 6, 5, 4, 3, 2, 1, 0 }));
        QCOMPARE(linesOf(moduleOf(design))[1],
                 std::string("  sdy.mesh @mesh = <[\"data\"=2, \"model\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>"));
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 17, 6, 5, 4, 3, 2, 1, 0 }));
        QVERIFY(refusalOf("shardy", design).find("has device id 17, and Shardy numbers its devices 0 to 7") != std::string::npos);
    }

    void layouts_data()
    {
        layoutColumns();
        const QString two = QStringLiteral("data=2,model=4");
        dataRow("L1", two, QStringLiteral("P('model')"), QStringLiteral("[{\"model\"}, {}]"));
        dataRow("L2", two, QStringLiteral("P(None,'model')"), QStringLiteral("[{}, {\"model\"}]"));
        dataRow("L3", two, QStringLiteral("P('data','model')"), QStringLiteral("[{\"data\"}, {\"model\"}]"));
        dataRow("L4", two, QStringLiteral("P('model','data')"), QStringLiteral("[{\"model\"}, {\"data\"}]"));
        dataRow("L5", two, QStringLiteral("P(('data','model'))"), QStringLiteral("[{\"data\", \"model\"}, {}]"));
        dataRow("L6", two, QStringLiteral("P(('model','data'))"), QStringLiteral("[{\"model\", \"data\"}, {}]"));
        dataRow("L7", two, QStringLiteral("P()"), QStringLiteral("[{}, {}]"));
        dataRow("3 axes", QStringLiteral("pod=2,fsdp=4,tp=8"), QStringLiteral("P('tp',('pod','fsdp'))"),
                QStringLiteral("[{\"tp\"}, {\"pod\", \"fsdp\"}]"));
        dataRow("sub-axes", QStringLiteral("x=8"), QStringLiteral("P('x:(4)2','x:(1)2')"),
                QStringLiteral("[{\"x\":(4)2}, {\"x\":(1)2}]"));
    }
    void layouts()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, spec);
        QFETCH(QString, text);
        const Design design = looseDesign({ 64, 64 }, mesh.toStdString(), spec.toStdString());
        const auto written = documentOf(design)["weights"]["w"]["sharding"].get<std::string>();
        QCOMPARE(QString::fromStdString(written), QStringLiteral("#sdy.sharding<@mesh, ") + text + QLatin1Char('>'));
        // Back again, in the same shards.
        QVERIFY(readsBack(Notation::Shardy, written, design));
    }

    void types()
    {
        const std::vector<std::pair<DType, const char*>> expected {
            { DType::F8E4M3, "tensor<2xf8E4M3FN>" }, { DType::F4, "tensor<2xf4E2M1FN>" }, { DType::I8, "tensor<2xi8>" },
            { DType::U8, "tensor<2xui8>" },          { DType::Bool, "tensor<2xi1>" },     { DType::C64, "tensor<2xcomplex<f32>>" }
        };
        for (const auto& [type, text] : expected) {
            Design design = looseDesign({ 2 }, "x=2", "P()");
            design.model.looseWeights.front().tensor.dtype = type;
            QVERIFY2(moduleOf(design).find(std::string("%w: ") + text + " {") != std::string::npos, text);
        }
        QVERIFY(moduleOf(looseDesign({}, "x=2", "P()")).find("%w: tensor<bf16> {sdy.sharding = #sdy.sharding<@mesh, []>}")
                != std::string::npos);
    }

    void uneven()
    {
        QVERIFY(exported("shardy", looseDesign({ 10 }, "x=4", "P('x')", CutRule::CeilFlat)).ok());
        const std::string balanced = refusalOf("shardy", looseDesign({ 10 }, "x=4", "P('x')", CutRule::Balanced));
        QVERIFY2(balanced.find("part 2 is 6:8, in Shardy 6:9") != std::string::npos, balanced.c_str());
        const std::string none = refusalOf("shardy", looseDesign({ 0, 4 }, "x=4", "P('x')"));
        QVERIFY2(none.find("dim 0 has no elements") != std::string::npos, none.c_str());
    }

    /// What pins lay out is constrained, what is a sum still to be made is not, and the document has all values.
    void activations()
    {
        const Design design = smallDesign("data=2,model=4", "tp-sp");
        const std::string text = moduleOf(design);
        QVERIFY(text.find("sdy.sharding_constraint %0 <@mesh, [{\"data\"}, {\"model\"}, {}]> : tensor<") != std::string::npos);
        QVERIFY(text.find("loc(\"block/self_attn.residual\")") != std::string::npos);
        QVERIFY(text.find("unreduced") == std::string::npos);
        const json values = documentOf(design)["activations"];
        QCOMPARE(values["block/self_attn.o_proj"]["sharding"],
                 json("#sdy.sharding<@mesh, [{\"data\"}, {}, {}], unreduced={\"model\"}>"));
        for (const auto& [name, value] : values.items()) {
            const std::string written = value["sharding"].get<std::string>();
            const Layout read = sure(readLayout(Notation::Shardy, written, design.mesh, value["shape"].size(), name));
            QCOMPARE("#sdy.sharding<@mesh, " + sure(writeLayout(Notation::Shardy, read, design.mesh)) + ">", written);
        }
        QCOMPARE(moduleOf(design), text);
    }

    /// Partial maxima have a text here.
    void partialMaxima()
    {
        Workload training;
        training.kind = WorkloadKind::Train;
        const Design design = designOn("model=4", denseModel(256, 64, 128, 3, 4, 4, 16), training, "megatron-tp");
        QCOMPARE(documentOf(design)["activations"]["head/loss.max"]["sharding"],
                 json("#sdy.sharding<@mesh, [{}, {}], unreduced=max{\"model\"}>"));
    }

    /// Names add no lines, and stand in literals that they do not end.
    void hostile()
    {
        const auto lines = std::ranges::count(moduleOf(smallDesign("data=2,model=2", "megatron-tp")), '\n');
        for (const Design& design : hostileDesigns()) {
            const std::string text = moduleOf(design);
            QVERIFY(isPlainText(text));
            QCOMPARE(std::ranges::count(text, '\n'), lines);
            QVERIFY(isPlainText(exportedFile("shardy", design, "shardings.json")));
            // Every literal of a line ends on it: quotes in names are written \22.
            for (const std::string& line : linesOf(text))
                QVERIFY2(std::ranges::count(line, '"') % 2 == 0, line.c_str());
        }
    }
};

SHARDBOARD_TEST(TestShardyExport)
#include "tst_shardyexport.moc"
