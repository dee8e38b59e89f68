// SPDX-License-Identifier: Apache-2.0
// Layouts from designs, dumps, shards.json and rules: what they say is equal exactly when it is.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/layouts/designdump.h"
#include "model/io/layouts/layoutdiff.h"
#include "model/io/shards/shardsjson.h"
#include "model/io/shards/shardsjsonread.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <QTemporaryDir>
#include <QTest>

using namespace shardboard;

namespace {

Design cutDesign(const char* mesh, const char* model = "qwen2.5-0.5b")
{
    return designOn(mesh, sure(builtinModel(model)), {}, "megatron-tp");
}

LayoutTable tableOf(const Design& design, bool shards = false)
{
    return layoutTableOf(design, *evaluate(design).value(), "design", shards);
}

std::string proofOf(const Design& design) { return textOf(shardsJson(design.mesh, evaluate(design).value()).value()); }

QStringList kinds(const LayoutComparison& comparison)
{
    QStringList out;
    for (const LayoutDifference& difference : comparison.differences)
        out << QString::fromStdString(differenceName(difference.what) + " " + difference.tensor);
    return out;
}

} // namespace

class TestLayoutDiff : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aDumpEqualsItsDesign()
    {
        const Design design = cutDesign("data=2,model=4");
        const auto evaluation = evaluate(design).value();
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("golden")).toStdString();
        QVERIFY(canDump(design, *evaluation).ok());
        QVERIFY(writeDump(design, *evaluation, path).ok());
        const auto read = sure(readLayoutTable(path, false));
        const auto comparison = compareLayouts(tableOf(design), read, DType::BF16);
        QVERIFY2(comparison.equal(), qPrintable(kinds(comparison).join(QLatin1Char('\n'))));
        QVERIFY(comparison.compared > 290);
        // Half of the files is not compared with what they do not say.
        const auto one = readLayoutTable(path + "/named_shardings.json", false).value();
        QVERIFY(compareLayouts(one, read, DType::BF16).equal());
    }

    /// One weight of one layer in another layout is one entry, with what it costs.
    void oneChangeIsOneEntry()
    {
        const Design before = cutDesign("data=2,model=4");
        Design after = before;
        StrategyEntry entry;
        entry.match = "model.layers.3.mlp.up_proj.weight";
        after.strategies.push_back(entry); // replicate
        const auto comparison = compareLayouts(tableOf(before), tableOf(after), DType::F32);
        QStringList weights = kinds(comparison).filter(QStringLiteral("weight"));
        QCOMPARE(weights, QStringList { QStringLiteral("spec model.layers.3.mlp.up_proj.weight") });
        const LayoutDifference& difference = comparison.differences.front();
        const std::int64_t whole = before.model.hiddenSize * before.model.intermediateSize * 2;
        QCOMPARE(difference.left, std::string("P('model', None)"));
        QCOMPARE(difference.right, std::string("P(None, None)"));
        QCOMPARE(difference.leftBytes.value(), whole / 4);
        QCOMPARE(difference.rightBytes.value(), whole);
        QCOMPARE(comparison.rightBytes - comparison.leftBytes, whole - whole / 4);
    }

    void alikeLayersAreOneRow()
    {
        const Design before = cutDesign("data=2,model=4");
        Design after = before;
        StrategyEntry entry;
        entry.match = "*.mlp.up_proj.weight";
        after.strategies.push_back(entry);
        const auto differences = compareLayouts(tableOf(before), tableOf(after), DType::F32).differences;
        const auto groups = groupedDifferences(differences);
        const auto up = std::ranges::find_if(groups, [](const DifferenceGroup& g) { return !g.first.activation; });
        QVERIFY(up != groups.end());
        QCOMPARE(up->first.tensor, std::string("model.layers.*.mlp.up_proj.weight"));
        QCOMPARE(up->count, std::size_t(24));
    }

    void meshesAndOrdersOfDevices()
    {
        const Design design = cutDesign("data=2,model=4");
        Design other = design;
        other.mesh = Mesh::make({ { "data", 2 }, { "model", 4 } }, { 7, 6, 5, 4, 3, 2, 1, 0 }).value();
        const auto sameSpecs = compareLayouts(tableOf(design), tableOf(other), DType::F32);
        QVERIFY(!sameSpecs.equal());
        QVERIFY(sameSpecs.differences.empty());
        QVERIFY(QString::fromStdString(sameSpecs.rightMesh).contains(QStringLiteral("device order")));
    }

    /// shards.json against the design that it came from, and against one with other contents of equal shapes: (model, data)
    /// instead of (data, model).
    void shardsAreComparedByContent()
    {
        Design design = cutDesign("data=2,model=4");
        design.strategies.push_back({ "lm_head.weight", { StrategyKind::Spec, {}, 0, "P(('model', 'data'))" }, CutRule::Balanced });
        design.strategies.push_back(
            { "*embed_tokens.weight", { StrategyKind::Spec, {}, 0, "P(('model', 'data'))" }, CutRule::Balanced });
        const auto proof = shardsProofFromText(proofOf(design), "proof");
        QVERIFY2(proof.ok(), proof.ok() ? "" : proof.error().text().c_str());
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("shards.json")).toStdString();
        QVERIFY(writeFileAtomically(path, proofOf(design)).ok());
        QVERIFY(isShardsJson(path));
        const LayoutTable read = readLayoutTable(path, true).value();
        QVERIFY(compareLayouts(tableOf(design, true), read, DType::F32).equal());

        Design swapped = design;
        for (StrategyEntry& entry : swapped.strategies)
            if (entry.match == "*embed_tokens.weight")
                entry.strategy.spec = "P(('data', 'model'))";
        QCOMPARE(kinds(compareLayouts(tableOf(swapped, true), read, DType::F32)),
                 QStringList { QStringLiteral("shards model.embed_tokens.weight") });
    }

    /// A weight that is cut unevenly says so: equal specs do not hide other cut rules.
    void unevenCutsAreSaid()
    {
        Design balanced = cutDesign("model=7");
        balanced.strategies = { { "*.down_proj.weight", { StrategyKind::Spec, {}, 0, "P(None, 'model')" }, CutRule::Balanced } };
        Design ceil = balanced;
        ceil.strategies.front().cut = CutRule::CeilFlat;
        const auto comparison = compareLayouts(tableOf(balanced), tableOf(ceil), DType::F32);
        QCOMPARE(static_cast<int>(kinds(comparison).filter(QStringLiteral("cut ")).size()), 24);
        QTemporaryDir folder;
        QVERIFY(writeDump(ceil, *evaluate(ceil).value(), folder.path().toStdString()).ok());
        const auto read = readLayoutTable(folder.path().toStdString(), false).value();
        QVERIFY(compareLayouts(tableOf(ceil), read, DType::F32).equal());
        QVERIFY(!compareLayouts(tableOf(balanced), read, DType::F32).equal());
    }

    /// What one dump says of a tensor and the other does not is a difference, though the rest is equal.
    void whatIsMissingIsTold()
    {
        const Design design = cutDesign("data=2,model=4");
        const auto evaluation = evaluate(design).value();
        QTemporaryDir folder;
        const auto written = [&](const char* name) {
            const std::string path = folder.filePath(QString::fromLatin1(name)).toStdString();
            if (!writeDump(design, *evaluation, path).ok())
                qFatal("cannot write");
            return path;
        };
        const LayoutTable whole = readLayoutTable(written("whole"), false).value();
        const std::string namedFile = written("entry") + "/named_shardings.json";
        NamedDump lost = readNamedDump(namedFile).value();
        const std::string name = lost.entries[5].name;
        lost.entries.erase(lost.entries.begin() + 5);
        QVERIFY(writeFileAtomically(namedFile, dumpText(lost)).ok());
        const auto missing = compareLayouts(
            whole, readLayoutTable(folder.filePath(QStringLiteral("entry")).toStdString(), false).value(), DType::F32);
        QCOMPARE(kinds(missing), QStringList { QStringLiteral("spec ") + QString::fromStdString(name) });
        const std::string turnedFolder = written("order");
        ActivationDump turned = readActivationDump(turnedFolder + "/input_shardings.json").value();
        std::swap(turned.entries[0], turned.entries[1]);
        QVERIFY(writeFileAtomically(turnedFolder + "/input_shardings.json", dumpText(turned)).ok());
        const auto order = compareLayouts(whole, readLayoutTable(turnedFolder, false).value(), DType::F32);
        QCOMPARE(order.differences.size(), std::size_t(1));
        QCOMPARE(differenceName(order.differences.front().what), std::string("order"));
        const std::string path = written("file");
        QVERIFY(QFile::remove(QString::fromStdString(path + "/input_shardings.json")));
        QCOMPARE(kinds(compareLayouts(whole, readLayoutTable(path, false).value(), DType::F32)),
                 QStringList { QStringLiteral("only-left input_shardings.json") });
    }

    /// A dump of even cuts says which device holds what, so it is compared with shards.json by content.
    void aDumpAgainstShards()
    {
        const Design design = cutDesign("data=2,model=2");
        const auto evaluation = evaluate(design).value();
        QTemporaryDir folder;
        QVERIFY(writeDump(design, *evaluation, folder.path().toStdString()).ok());
        const LayoutTable dump = readLayoutTable(folder.path().toStdString(), true).value();
        QVERIFY(compareLayouts(dump, tableOf(design, true), DType::F32).equal());
        const std::string path = folder.filePath(QStringLiteral("proof.json")).toStdString();
        Design other = design;
        other.strategies.push_back({ "*.layers.1.mlp.up_proj.weight", {}, {} });
        QVERIFY(writeFileAtomically(path, proofOf(other)).ok());
        QCOMPARE(kinds(compareLayouts(dump, readLayoutTable(path, true).value(), DType::F32)),
                 QStringList { QStringLiteral("shards model.layers.1.mlp.up_proj.weight") });
    }

    /// Equal layouts on other stages are no equal designs, whatever says so: design, dump or proof.
    void stagesAreCompared()
    {
        Design design = cutDesign("stage=2,model=2");
        design.workload.kind = WorkloadKind::Train;
        design.workload.microBatches = 2; // which the interleaved schedule needs
        Design piped = design;
        piped.pipeline = { "stage", 1 };
        const int layers = static_cast<int>(design.model.layers);
        const auto of = [](const LayoutComparison& comparison) { return kinds(comparison).filter(QStringLiteral("stages ")); };
        const LayoutComparison comparison = compareLayouts(tableOf(design), tableOf(piped), DType::F32);
        const auto hasMoved = [&](const QString& name) { return of(comparison).contains(QStringLiteral("stages ") + name); };
        QVERIFY(hasMoved(QStringLiteral("model.layers.0.mlp.up_proj.weight")) && hasMoved(QStringLiteral("model.norm.weight")));
        const auto first = std::ranges::find_if(comparison.differences,
                                                [](const LayoutDifference& d) { return d.what == LayoutDifference::What::Stages; });
        QCOMPARE(first->left, std::string("every device"));
        // Its table is embedding and head, so it is on both ends.
        QCOMPARE(QString::fromStdString(first->tensor + " " + first->right), QStringLiteral("model.embed_tokens.weight stage=0,1"));
        Design other = piped;
        other.pipeline.chunks = 2; // the second quarter of the layers goes to the second stage, the third to the first
        QCOMPARE(static_cast<int>(of(compareLayouts(tableOf(piped), tableOf(other), DType::F32)).size()), layers / 2 * 12);

        QTemporaryDir folder;
        const std::string path = folder.path().toStdString();
        QVERIFY(writeDump(piped, *evaluate(piped).value(), path).ok());
        const LayoutTable dump = readLayoutTable(path, true).value();
        QVERIFY2(compareLayouts(tableOf(piped, true), dump, DType::F32).equal(),
                 qPrintable(kinds(compareLayouts(tableOf(piped, true), dump, DType::F32)).join(QLatin1Char('\n'))));
        QVERIFY(!compareLayouts(tableOf(design), dump, DType::F32).equal());
        QVERIFY(!compareLayouts(tableOf(other), dump, DType::F32).equal());
        const std::string proof = path + "/proof.json";
        QVERIFY(writeFileAtomically(proof, proofOf(piped)).ok());
        const LayoutTable read = readLayoutTable(proof, true).value();
        for (const LayoutTable& same : { tableOf(piped, true), dump })
            QVERIFY2(compareLayouts(same, read, DType::F32).equal(),
                     qPrintable(kinds(compareLayouts(same, read, DType::F32)).join(QLatin1Char('\n'))));
        // The table is on both of two stages, so on every device.
        QCOMPARE(kinds(compareLayouts(tableOf(design, true), read, DType::F32)).filter(QStringLiteral("shards ")).size(),
                 of(comparison).size() - 1);
    }

    /// Its list of device ids is long before it says anything else.
    void aProofOfManyDevicesIsKnown()
    {
        const Design design = cutDesign("data=512,model=4");
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("shards.json")).toStdString();
        QVERIFY(writeFileAtomically(path, proofOf(design)).ok());
        QVERIFY(isShardsJson(path));
        const LayoutTable read = readLayoutTable(path, true).value();
        QVERIFY(compareLayouts(tableOf(design, true), read, DType::F32).equal());
    }

    /// Keys of a JSON object have no order, and whoever wrote the file may have his own.
    void proofsInAnotherOrder()
    {
        const std::string mesh = R"("mesh":{"axes":["x"],"sizes":[2],"device_ids":[4,3]})";
        const std::string tensors =
            R"("tensors":[{"name":"a","shape":[4],"shards":[{"devices":[3],"pieces":[[[2,4]]]},{"devices":[4],"pieces":[[[0,2]]]}]},)"
            R"({"name":"b","shape":[4],"shards":[{"devices":[4,3],"pieces":[[[0,4]]]}]}])";
        const auto one = shardsProofFromText("{" + mesh + "," + tensors + "}", "p");
        const auto other = shardsProofFromText("{" + tensors + "," + mesh + "}", "p");
        QVERIFY(one.ok() && other.ok());
        for (const ShardsProof& proof : { one.value(), other.value() }) {
            QCOMPARE(proof.tensors.size(), std::size_t(2));
            QCOMPARE(*proof.tensors[0].canonical, std::string("device 3 holds [2:4]\ndevice 4 holds [0:2]\n"));
            QCOMPARE(*proof.tensors[1].canonical, std::string("devices 3, 4 hold [0:4]\n"));
        }
        QVERIFY(!shardsProofFromText("{" + tensors + "}", "p").ok());
        QVERIFY(!shardsProofFromText("{" + mesh + "}", "p").ok());
    }

    /// Devices that each have a term hold the same ranges as those that have copies; neither a diff nor a dump may take one for the
    /// other.
    void termsAreNoCopies()
    {
        const Design terms = looseDesign({ 16, 8 }, "data=2,model=4", "P('data',unreduced={'model'})");
        const Design copies = looseDesign({ 16, 8 }, "data=2,model=4", "P('data')");
        QCOMPARE(kinds(compareLayouts(tableOf(terms), tableOf(copies), DType::F32)), QStringList { QStringLiteral("cut w") });
        QCOMPARE(compareLayouts(tableOf(terms), tableOf(copies), DType::F32).differences.front().left,
                 std::string("partial sum over model"));
        QVERIFY(compareLayouts(tableOf(terms), tableOf(terms), DType::F32).equal());
        QVERIFY(!canDump(terms, *evaluate(terms).value()).ok());
        QVERIFY(canDump(copies, *evaluate(copies).value()).ok());
        QTemporaryDir folder;
        const auto read = [&](const Design& design) {
            const std::string path = folder.filePath(QStringLiteral("shards.json")).toStdString();
            [&] { QVERIFY(writeFileAtomically(path, proofOf(design)).ok()); }();
            return sure(readLayoutTable(path, true));
        };
        QVERIFY(compareLayouts(tableOf(terms, true), read(terms), DType::F32).equal());
        const auto differing = compareLayouts(tableOf(copies, true), read(terms), DType::F32);
        QCOMPARE(differing.differences.size(), std::size_t(1));
        QCOMPARE(differing.differences.front().right, std::string("terms of a sum over model"));
    }

    void wrongTerms_data()
    {
        QTest::addColumn<QString>("partial");
        QTest::addColumn<QString>("error");
        dataRow("good", R"({"axes":["x"],"op":"max"})", "");
        dataRow("of a part", R"({"axes":["x:(1)2"],"op":"sum"})", "");
        dataRow("no such axis", R"({"axes":["y"],"op":"sum"})", "no axis 'y'");
        dataRow("no axes", R"({"axes":[],"op":"sum"})", "has no axes");
        dataRow("an op of its own", R"({"axes":["x"],"op":"avg"})", "none of sum, max and min");
        dataRow("numbers", R"({"axes":[1],"op":"sum"})", "axes");
        dataRow("no object", "3", "partial");
        dataRow("nothing", "{}", "partial");
    }
    void wrongTerms()
    {
        QFETCH(QString, partial);
        QFETCH(QString, error);
        const QString text =
            QStringLiteral(R"({"mesh":{"axes":["x"],"sizes":[2],"device_ids":[0,1]},"tensors":[{"name":"w","shape":[4],)"
                           R"("partial":%1,"shards":[{"devices":[0,1],"pieces":[[[0,4]]]}]}]})")
                .arg(partial);
        const auto read = shardsProofFromText(text.toStdString(), "p");
        QCOMPARE(read.ok(), error.isEmpty());
        if (!read.ok())
            QVERIFY2(QString::fromStdString(read.error().text()).contains(error), read.error().text().c_str());
    }

    void wrongProofs_data()
    {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("into");
        QTest::addColumn<QString>("error");
        dataRow("device twice", "[1]", "[0]", "two shards");
        dataRow("device of no mesh", "[1]", "[5]", "not of the mesh");
        dataRow("outside the shape", "[2,4]", "[2,5]", "outside dim 0");
        dataRow("no pair", "[2,4]", "[2]", "pair");
        dataRow("a device without shard", R"(,{"devices":[1],"join_dim":null,"pieces":[[[2,4]]]})", "", "1 of 2 devices");
    }
    void wrongProofs()
    {
        QFETCH(QString, change);
        QFETCH(QString, into);
        QFETCH(QString, error);
        const QString good =
            QStringLiteral(R"({"mesh":{"axes":["x"],"sizes":[2],"device_ids":[0,1]},"tensors":[{"name":"w",)"
                           R"("shape":[4],"dtype":"f32","shards":[{"devices":[0],"join_dim":null,"pieces":[[[0,2]]]})"
                           R"(,{"devices":[1],"join_dim":null,"pieces":[[[2,4]]]}]}]})");
        QVERIFY(shardsProofFromText(good.toStdString(), "p").ok());
        QString bad = good;
        QVERIFY(bad.contains(change));
        const auto read = shardsProofFromText(bad.replace(change, into).toStdString(), "p");
        QVERIFY(!read.ok());
        QVERIFY2(QString::fromStdString(read.error().text()).contains(error), read.error().text().c_str());
    }

    /// Of a pipeline a tensor is on whole stages.
    void wrongStages_data()
    {
        QTest::addColumn<QString>("axis");
        QTest::addColumn<QString>("devices");
        QTest::addColumn<QString>("error");
        dataRow("first stage", "s", "[0,1]", "");
        dataRow("both stages", "s", "[0,1,2,3]", "");
        dataRow("half a stage", "s", "[2]", "1 of 2 devices");
        dataRow("one and a half", "s", "[0,1,3]", "3 of 4 devices");
        dataRow("no device", "s", "[]", "0 of 4 devices");
        dataRow("across the stages", "m", "[0,1]", "2 of 4 devices");
        dataRow("no such axis", "q", "[0,1]", "no axis 'q'");
    }
    void wrongStages()
    {
        QFETCH(QString, axis);
        QFETCH(QString, devices);
        QFETCH(QString, error);
        const QString text =
            QStringLiteral(
                R"({"mesh":{"axes":["s","m"],"sizes":[2,2],"device_ids":[0,1,2,3]},"pipeline":{"axis":"%1"},"tensors":[{"name":"w",)"
                R"("shape":[4],"dtype":"f32","shards":[{"devices":%2,"join_dim":null,"pieces":[[[0,4]]]}]}]})")
                .arg(axis, devices);
        const auto read = shardsProofFromText(text.toStdString(), "p");
        QCOMPARE(read.ok(), error.isEmpty());
        if (!read.ok())
            QVERIFY2(QString::fromStdString(read.error().text()).contains(error), read.error().text().c_str());
    }
};

SHARDBOARD_TEST(TestLayoutDiff)
#include "tst_layoutdiff.moc"
