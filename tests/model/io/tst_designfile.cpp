// SPDX-License-Identifier: Apache-2.0
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/file/textfile.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include <unistd.h>

using namespace shardboard;

namespace {

Design sample()
{
    Design design;
    design.mesh = Mesh::make({ { "data", 2 }, { "model", 4 } }, { 7, 6, 5, 4, 3, 2, 1, 0 }).value();
    design.hardware = "dgx-h200";
    design.model = builtinModel("qwen2.5-0.5b").value();
    design.workload = { WorkloadKind::Decode, 3, 777, DType::F16 };
    StrategyEntry rowwise { "model.layers.*.mlp.up_proj.weight", { StrategyKind::Rowwise, { "model" }, 0, "" }, {} };
    StrategyEntry axiswise { "*.o_proj.*", { StrategyKind::Axiswise, { "data", "model" }, -1, "" }, CutRule::CeilNested };
    StrategyEntry spec { "lm_head.weight", { StrategyKind::Spec, {}, 0, "P(None, ('model', 'data'))" }, CutRule::Strict };
    design.strategies = { { "*", {}, {} }, rowwise, axiswise, spec };
    design.rules = { "my-rules.yml", { { "embed", { "data", "model" }, {} }, { "norm", {}, {} }, { "embed", { "model" }, {} } } };
    design.picker = { PickerProfile::G1, true };
    design.viewState = R"({"panes":[1,2],"theme":"dark"})";
    return design;
}

Design looseSample()
{
    Design design = sample();
    design.model = {};
    design.model.name = "falcon";
    design.model.notUnderstood = "not understood";
    design.model.looseWeights = { { { "a \"quoted\" \xc3\xa9", { 3, 0 }, DType::F8E4M3, TensorRole::Weight, { "out", "in" } },
                                    false },
                                  { { "b", {}, DType::BF16, TensorRole::Weight, {} }, true },
                                  { { "scalar", {}, DType::I64, TensorRole::Weight, {} }, false } };
    design.viewState.clear();
    design.mesh = Mesh();
    return design;
}

Design moduleSample()
{
    Design design = sample();
    design.model = columnParallelModel({ 64, 10, true, false }, DType::F32);
    return design;
}

/// ZeRO-2 over an axis of its own, on other software.
Design shardedOptimizerSample(bool gradients)
{
    Design design = sample();
    design.workload = { WorkloadKind::Train, 8, 777, DType::F8E4M3, 1, Recompute::None };
    design.workload.optimizer = { { "data", "model" }, gradients };
    design.workload.software = gradients ? Software::Eager : Software::Compiled;
    return design;
}

/// With all that training designs have.
Design trainingSample()
{
    Design design = sample();
    design.mesh = Mesh::parse("data=2,model=4,stage=2").value();
    design.workload = { WorkloadKind::Train, 8, 777, DType::BF16, 4, Recompute::Selective };
    Pin batch { "*", { { "batch", { "data", "model" } }, { "heads", { "model" } } }, { "stage" }, {}, {}, "preset fsdp" };
    Pin row { "*.attention", {}, {}, "model", "S1 R R -> S1", {} };
    design.pins = { batch, row };
    design.pipeline = { "stage", 2 };
    return design;
}

std::string replaced(std::string text, const std::string& before, const std::string& after)
{
    const auto at = text.find(before);
    return at == std::string::npos ? std::string("not found: ") + before : text.replace(at, before.size(), after);
}

} // namespace

class TestDesignFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void roundTripIsExact()
    {
        for (const Design& design : { sample(), looseSample(), moduleSample(), trainingSample(), shardedOptimizerSample(false),
                                      shardedOptimizerSample(true) }) {
            const std::string text = designText(design);
            const auto back = sure(designFromText(text, "d"));
            QVERIFY(back == design);
            QCOMPARE(designText(back), text);
        }
    }

    /// What only training uses waits in the file while the workload is another one.
    void settingsOfTrainingOutliveAnotherWorkload()
    {
        for (Design design : { trainingSample(), shardedOptimizerSample(true) })
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode }) {
                design.workload.kind = kind;
                design.workload.microBatches = 3; // of another batch
                const std::string text = designText(design);
                const auto back = sure(designFromText(text, "d"));
                QVERIFY2(back == design, text.c_str());
                QCOMPARE(designText(back), text);
            }
    }

    void optimizerShardingIsSaid()
    {
        const std::string text = designText(shardedOptimizerSample(true));
        const auto back = sure(designFromText(text, "d"));
        const OptimizerSharding expected { { "data", "model" }, true };
        QVERIFY(back.workload.optimizer == expected);
        QVERIFY(text.find("optimizer_sharding") != std::string::npos);
        // Nothing of it where there is none, and never of inference.
        QVERIFY(designText(trainingSample()).find("optimizer_sharding") == std::string::npos);
        const auto wrong = designFromText(replaced(text, "\"gradients\":true", "\"gradients\":7"), "d");
        QVERIFY(!wrong.ok());
        QVERIFY2(wrong.error().text().find("d:workload.optimizer_sharding") != std::string::npos, wrong.error().text().c_str());
        const auto software = designFromText(replaced(text, "\"eager\"", "\"lazy\""), "d");
        QVERIFY(!software.ok());
        QVERIFY2(software.error().text().find("d:workload.software: cannot be 'lazy'") != std::string::npos,
                 software.error().text().c_str());
        // In the file it is f8e4m3; people may write fp8.
        QVERIFY(text.find("\"f8e4m3\"") != std::string::npos);
        const auto fp8 = designFromText(replaced(text, "\"f8e4m3\"", "\"fp8\""), "d");
        QVERIFY(fp8.ok() && fp8.value().workload.dtype == DType::F8E4M3);
    }

    /// A file that says nothing about them means those of all tokens, as before there was a choice.
    void logitsAreSaidWhereTheyAreOfTheLast()
    {
        Design design = sample();
        design.workload.kind = WorkloadKind::Prefill;
        QVERIFY(designText(design).find("\"logits\"") == std::string::npos);
        QVERIFY(sure(designFromText(designText(design), "d")).workload.logits == Logits::All);
        design.workload.logits = Logits::Last;
        const std::string text = designText(design);
        QVERIFY(text.find("\"logits\": \"last\"") != std::string::npos);
        QVERIFY(sure(designFromText(text, "d")).workload.logits == Logits::Last);
        const auto wrong = designFromText(replaced(text, "\"logits\": \"last\"", "\"logits\": \"first\""), "d");
        QVERIFY(!wrong.ok());
        QVERIFY2(wrong.error().text().find("d:workload.logits: cannot be 'first'; use all or last") != std::string::npos,
                 wrong.error().text().c_str());
    }

    void everyBuiltinRoundTrips()
    {
        for (const std::string& name : builtinModelNames()) {
            Design design;
            design.model = builtinModel(name).value();
            const auto back = designFromText(designText(design), "d");
            QVERIFY(back.ok() && back.value() == design);
        }
    }

    void oneLinePerEntryAndSorted()
    {
        const std::string text = designText(sample());
        QCOMPARE(text.back(), '\n');
        const QStringList lines = QString::fromStdString(text).split(QLatin1Char('\n'));
        QVERIFY(lines.contains(
            QStringLiteral(R"(    {"axes":["model"],"match":"model.layers.*.mlp.up_proj.weight","strategy":"rowwise"},)")));
        QVERIFY(lines.contains(QStringLiteral(R"(    "hidden_size": 896,)")));
        QVERIFY(lines.contains(QStringLiteral(R"(      ["embed",["data","model"]],)")));
        QVERIFY(lines.contains(QStringLiteral(R"(      ["norm",[]],)")));
        QStringList keys;
        for (const QString& line : lines)
            if (line.startsWith(QStringLiteral("  \"")))
                keys << line.section(QLatin1Char('"'), 1, 1);
        QStringList sorted = keys;
        sorted.sort();
        QCOMPARE(keys, sorted);
        QCOMPARE(keys.size(), 10);
    }

    void pickersAreStoredWhereTheyAreNotUsual()
    {
        Design design = sample();
        const std::string text = designText(design);
        for (const char* key : { "on_reshard", "allowed_transitions", "budget_bytes_per_device", "\"picker\": \"" })
            QVERIFY(text.find(key) == std::string::npos);
        TransitionSet some;
        QVERIFY(some.add("P->R") && some.add("S->R") && !some.add("S->") && !some.add("R"));
        for (const TransitionSet& set : { TransitionSet::all(), some, TransitionSet() }) {
            design.picker = { PickerProfile::G3, false, PickerKind::PartialsOnly, OnReshard::Warn, set, 1 << 20 };
            const auto back = sure(designFromText(designText(design), "d"));
            QVERIFY(back == design);
        }
    }

    void rulesAreLeftOutWhereThereAreNone()
    {
        Design design = sample();
        design.rules = {};
        const std::string text = designText(design);
        QVERIFY(text.find("\"rules\"") == std::string::npos);
        QVERIFY(designFromText(text, "d").value() == design);
        QVERIFY(!designFromText(replaced(text, "\"strategies\"", "\"rules\": [],\n  \"strategies\""), "d").ok());
    }

    void orderIsOnlyStoredWhenEdited()
    {
        Design design = sample();
        QVERIFY(designText(design).find("device_ids") != std::string::npos);
        design.mesh = Mesh::make({ { "data", 2 } }, { 0, 1 }).value();
        QVERIFY(designText(design).find("device_ids") == std::string::npos);
    }

    void unknownKeysAreKept()
    {
        std::string text = designText(sample());
        text = replaced(text, "\"format\"", "\"aaa\": {\"x\":[1,2.5]},\n  \"format\"");
        text = replaced(text, "\"head_dim\"", "\"halo\": null,\n    \"head_dim\"");
        text = replaced(text, "\"match\":\"*.o_proj.*\"", "\"match\":\"*.o_proj.*\",\"pin\":true");
        text = replaced(text, "\"source\": \"my-rules", "\"zone\": 7,\n    \"source\": \"my-rules");
        text = replaced(text, "\"batch\": 3", "\"batch\": 3,\n    \"cache\": \"paged\"");
        const auto first = sure(designFromText(text, "d"));
        const std::string written = designText(first);
        for (const char* kept :
             { "\"aaa\": {\n    \"x\": [1,2.5]\n  },", "\"halo\": null", "\"pin\":true", "\"zone\": 7", "\"cache\": \"paged\"" })
            QVERIFY2(written.find(kept) != std::string::npos, kept);
        const auto again = designFromText(written, "d");
        QVERIFY(again.ok() && again.value() == first);
        Design edited = first;
        edited.strategies.insert(edited.strategies.begin(), edited.strategies[1]);
        QVERIFY(designText(edited).find("\"match\":\"*.o_proj.*\",\"pin\":true") != std::string::npos);
    }

    void modulesAreChecked()
    {
        const std::string text = designText(moduleSample());
        QVERIFY(text.find("vocab_size") == std::string::npos);
        const auto says = [&](const char* before, const char* after) {
            const auto design = designFromText(replaced(text, before, after), "d");
            return design.ok() ? std::string() : design.error().text();
        };
        QCOMPARE(
            says("\"tied_weight\": false", "\"tied_weight\": true"),
            std::string("d:model.tied_weight: a tied weight cannot be used together with a bias (MAX raises ValueError); leave "
                        "out the bias, or give the layer a weight of its own"));
        QVERIFY(says("\"out_dim\": 10", "\"out_dim\": 0").starts_with("d:model.out_dim: size 0 cannot be used; "));
        QVERIFY(says("\"in_dim\": 64,", "").starts_with("d:model.in_dim: the key is missing"));
        QVERIFY(says("\"column-parallel-linear\",\n    \"name\"", "\"row-parallel\",\n    \"name\"")
                    .starts_with("d:model.kind: cannot be 'row-parallel'; use decoder or column-parallel-linear"));
        QVERIFY(says("\"kind\"", "\"king\"").starts_with("d:model.vocab_size: the key is missing"));
        const auto more = designFromText(replaced(text, "\"in_dim\"", "\"halo\": 1,\n    \"in_dim\""), "d");
        QVERIFY(more.ok() && designText(more.value()).find("\"halo\": 1") != std::string::npos);
    }

    void wrongValuesNameThePlace_data()
    {
        QTest::addColumn<QString>("before");
        QTest::addColumn<QString>("after");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* before, const char* after, const char* says) {
            QTest::newRow(name) << QString::fromLatin1(before) << QString::fromLatin1(after) << QString::fromLatin1(says);
        };
        row("newer", "\"version\": 1", "\"version\": 2", "d:version: the design was saved by a newer program (version 2");
        row("version text", "\"version\": 1", "\"version\": \"1\"", "d:version: cannot be");
        row("format", "\"format\": \"shardboard\"", "\"format\": \"other\"", "not a Shardboard design");
        row("hardware", "dgx-h200", "dgx-x", "d:hardware: there is no hardware preset");
        row("hardware type", "\"dgx-h200\"", "7", "d:hardware: cannot be 7");
        row("mesh 0", "[2,4]", "[0,4]", "d:mesh.sizes: holds 0");
        row("mesh 2^40", "[2,4]", "[2,1099511627776]", "d:mesh.sizes: holds 1099511627776");
        row("mesh product", "[2,4]", "[1048576,4]", "d:mesh: the mesh has more than");
        row("mesh sizes", "[2,4]", "[2]", "d:mesh.sizes: has 1 sizes for 2 axes");
        row("mesh name", "\"data\",\"model\"]", "\"model\",\"model\"]", "d:mesh: mesh axis 'model' appears twice");
        row("device twice", "[7,6,", "[7,7,", "d:mesh: the device order lists id 7 twice");
        row("negative size", "\"hidden_size\": 896", "\"hidden_size\": -896", "d:model.hidden_size: cannot be -896");
        row("zero size", "\"hidden_size\": 896", "\"hidden_size\": 0", "hidden_size");
        row("family", "\"family\": \"qwen2\"", "\"family\": \"qwen9\"",
            "d:model.family: there is no family 'qwen9' whose operations are known; families are afmoe, apertus, aquila, ");
        row("fraction", "\"hidden_size\": 896", "\"hidden_size\": 896.5", "d:model.hidden_size: cannot be 896.5");
        row("missing", "\"hidden_size\": 896,", "", "d:model.hidden_size: the key is missing");
        row("bias", "\"qkv\"", "\"all\"", "d:model.attention_bias: cannot be 'all'");
        row("dtype", "\"dtype\": \"f16\"", "\"dtype\": \"f17\"", "d:workload.dtype: cannot be 'f17'");
        row("workload", "\"decode\"", "\"dream\"", "d:workload.kind: cannot be 'dream'");
        row("batch 0", "\"batch\": 3", "\"batch\": 0", "d:workload.batch: cannot be 0");
        row("profile", "\"G1\"", "\"G9\"", "d:picker.profile: cannot be 'G9'");
        row("picker", "\"profile\": \"G1\"", "\"profile\": \"G1\", \"picker\": \"best\"", "d:picker.picker: cannot be 'best'");
        row("on_reshard", "\"profile\": \"G1\"", "\"profile\": \"G1\", \"on_reshard\": \"shout\"",
            "d:picker.on_reshard: cannot be 'shout'");
        row("transitions", "\"profile\": \"G1\"", "\"profile\": \"G1\", \"allowed_transitions\": [\"P->Q\"]",
            "d:picker.allowed_transitions: is not a set");
        row("budget", "\"profile\": \"G1\"", "\"profile\": \"G1\", \"budget_bytes_per_device\": -1",
            "d:picker.budget_bytes_per_device: cannot be -1");
        row("strategy", "\"rowwise\"", "\"crosswise\"", "d:strategies[1].strategy: cannot be 'crosswise'");
        row("strategy axes", "[\"model\"],\"match\"", "[5],\"match\"", "d:strategies[1].axes: holds 5");
        row("dim", "\"dim\":-1", "\"dim\":99", "d:strategies[2].dim: cannot be 99");
        row("cut", "ceil-nested", "zigzag", "d:strategies[2].cut: cannot be 'zigzag'");
        row("rule no pair", "[\"norm\",[]]", "[\"norm\"]",
            "d:rules.entries[1]: is not a rule; write [\"name\", [\"mesh axis\", ...]]");
        row("rule axes", "[\"norm\",[]]", "[\"norm\",\"data\"]", "d:rules.entries[1]: is not a rule");
        row("rule axis", "[\"norm\",[]]", "[\"norm\",[7]]", "d:rules.entries[1]: is not a rule");
        row("rules", "[\"norm\",[]]", "7", "d:rules.entries[1]: is not a rule");
        row("rule source", "\"my-rules.yml\"", "7", "d:rules.source: cannot be 7");
        row("section", "\"picker\": {", "\"pucker\": {", "d:picker: the key is missing");
        row("key twice", "\"qk_norm\"", "\"mlp_bias\"", "twice");
    }
    void wrongValuesNameThePlace()
    {
        QFETCH(QString, before);
        QFETCH(QString, after);
        QFETCH(QString, says);
        const auto out = designFromText(replaced(designText(sample()), before.toStdString(), after.toStdString()), "d");
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().text()).contains(says), out.error().text().c_str());
    }

    void wrongTrainingNamesThePlace_data()
    {
        QTest::addColumn<QString>("before");
        QTest::addColumn<QString>("after");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* before, const char* after, const char* says) {
            QTest::newRow(name) << QString::fromLatin1(before) << QString::fromLatin1(after) << QString::fromLatin1(says);
        };
        row("micro-batches 0", "\"micro_batches\": 4", "\"micro_batches\": 0", "d:workload.micro_batches: cannot be 0");
        row("micro-batches that do not divide", "\"micro_batches\": 4", "\"micro_batches\": 3",
            "d:workload: batch 8 cannot be cut into 3 micro-batches");
        row("recompute", "\"selective\"", "\"some\"", "d:workload.recompute: cannot be 'some'");
        row("every 0th layer", "\"selective\"", "\"selective\", \"recompute_every\": 0", "d:workload.recompute_every: cannot be 0");
        row("every layer before", "\"selective\"", "\"selective\", \"recompute_every\": -2",
            "d:workload.recompute_every: cannot be -2");
        row("every half layer", "\"selective\"", "\"selective\", \"recompute_every\": 0.5",
            "d:workload.recompute_every: cannot be 0.5");
        row("chunks", "\"chunks\": 2", "\"chunks\": 0", "d:pipeline.chunks: cannot be 0");
        row("pin of nothing", "\"axis\":\"model\",\"match\":\"*.attention\",\"row\":\"S1 R R -> S1\"", "\"match\":\"*.attention\"",
            "d:pins[1].dims: a pin says nothing");
        row("pin without axis", "\"axis\":\"model\",", "", "d:pins[1].axis: the key is missing");
        row("pin dims", "{\"batch\":[\"data\",\"model\"],\"heads\":[\"model\"]}", "[1]", "d:pins[0].dims");
        row("pin axes", "\"heads\":[\"model\"]", "\"heads\":7", "d:pins[0].dims.heads");
        row("pins", "\"pins\": [", "\"pins\": 7, \"pins_\": [", "d:pins: is not a list");
    }
    void wrongTrainingNamesThePlace()
    {
        QFETCH(QString, before);
        QFETCH(QString, after);
        QFETCH(QString, says);
        const auto out = designFromText(replaced(designText(trainingSample()), before.toStdString(), after.toStdString()), "d");
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().text()).contains(says), out.error().text().c_str());
    }

    void everyTruncationIsRefused()
    {
        const std::string text = designText(sample());
        for (std::size_t length = 0; length + 2 < text.size(); ++length)
            QVERIFY(!designFromText(text.substr(0, length), "d").ok());
    }

    void hostileTextIsSurvived()
    {
        QVERIFY(!designFromText(std::string(1 << 20, '['), "d").ok());
        Design design = sample();
        design.viewState = "{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}";
        const auto back = sure(designFromText(designText(design), "d"));
        QCOMPARE(back.viewState, design.viewState);
    }

    void savingReplacesTheFileWhole()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("d.shardboard")).toStdString();
        QVERIFY(writeDesign(path, sample()).ok());
        QVERIFY(writeDesign(path, looseSample()).ok());
        const auto back = readDesign(path);
        QVERIFY(back.ok() && back.value() == looseSample());
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden).size(), 1);
        QVERIFY(QFile::link(QStringLiteral("d.shardboard"), folder.filePath(QStringLiteral("link"))));
        QVERIFY(writeDesign(folder.filePath(QStringLiteral("link")).toStdString(), sample()).ok());
        QVERIFY(QFileInfo(folder.filePath(QStringLiteral("link"))).isSymLink());
        QVERIFY(readDesign(path).value() == sample());
    }

    void savingKeepsPermissions()
    {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("d.shardboard"));
        QVERIFY(writeDesign(path.toStdString(), sample()).ok());
        const auto rights = QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ReadGroup;
        QVERIFY(QFile::setPermissions(path, rights));
        QVERIFY(writeDesign(path.toStdString(), sample()).ok());
        QCOMPARE(QFile::permissions(path) & (QFileDevice::ReadGroup | QFileDevice::WriteGroup | QFileDevice::ReadOther),
                 QFileDevice::ReadGroup);
    }

    void failedSavesNameThePath()
    {
        QTemporaryDir folder;
        const std::string inNowhere = folder.filePath(QStringLiteral("none/d.shardboard")).toStdString();
        const auto status = writeDesign(inNowhere, sample());
        QVERIFY(!status.ok());
        QVERIFY(status.error().text().find(inNowhere) == 0);
        QVERIFY(status.error().text().find("No such file") != std::string::npos);
        QVERIFY(!writeDesign(folder.path().toStdString(), sample()).ok());
        QVERIFY(!readDesign(folder.path().toStdString()).ok());
        if (::geteuid() == 0)
            return; // root may write anywhere
        QVERIFY(QFile::setPermissions(folder.path(), QFileDevice::ReadOwner | QFileDevice::ExeOwner));
        const auto closed = writeDesign(folder.filePath(QStringLiteral("d")).toStdString(), sample());
        QVERIFY(!closed.ok() && closed.error().text().find("Permission denied") != std::string::npos);
        QFile::setPermissions(folder.path(), QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
    }

    void filesAboveTheLimitAreRefused()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("big")).toStdString();
        QVERIFY(writeFileAtomically(path, std::string(1000, 'x')).ok());
        QVERIFY(readTextFile(path, 1000).ok());
        QVERIFY(!readTextFile(path, 999).ok());
    }
};

SHARDBOARD_TEST(TestDesignFile)
#include "tst_designfile.moc"
