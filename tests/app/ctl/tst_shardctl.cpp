// SPDX-License-Identifier: Apache-2.0
// shardctl as a script sees it: exit codes, one clear line, one JSON document.
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <csignal>

using namespace shardboard::test;

namespace {

QString shared(const QString& path)
{
    const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
    return QDir(root).filePath(path);
}

} // namespace

class TestShardctl : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

    QString small(const QStringList& more = {})
    {
        (void)writeFile(path("config.json"),
                        R"({"model_type":"llama","vocab_size":320,"hidden_size":64,"intermediate_size":192,"num_hidden_layers":3,
                         "num_attention_heads":8,"num_key_value_heads":4,"rms_norm_eps":1e-5,"torch_dtype":"bfloat16"})");
        const Outcome made =
            shardctl(QStringList { "new", "--model", path("config.json"), "--mesh", "data=2,model=4", "--preset", "megatron-tp",
                                   "--batch", "4", "--sequence", "16", "-o", path("small.shardboard") }
                     + more);
        if (made.code != 0)
            qFatal("%s", qPrintable(made.err));
        return path("small.shardboard");
    }

private Q_SLOTS:
    void megatronPlanOfLlama3()
    {
        const Outcome made =
            shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "--preset", "megatron-tp", "--workload",
                       "prefill", "--batch", "8", "--sequence", "4096", "-o", path("d.shardboard") });
        QCOMPARE(made.code, 0);
        QVERIFY2(made.out.contains("8,030,261,248 parameters in 291 weights"), qPrintable(made.out));
        const QJsonObject plan = shardctl({ "plan", path("d.shardboard"), "--json" }).json();
        QCOMPARE(plan["format"].toString(), QString("shardboard-plan"));
        int perLayer = 0;
        for (const auto& value : plan["collectives"].toArray()) {
            const QJsonObject c = value.toObject();
            QCOMPARE(c["kind"].toString(), QString("all-reduce"));
            QCOMPARE(c["axes"].toArray(), QJsonArray { "model" });
            QCOMPARE(c["group_size"].toInt(), 4);
            QCOMPARE(c["bytes"].toInteger(), 134217728);
            if (c["layer"] == "block") {
                QCOMPARE(c["count"].toInt(), 32);
                ++perLayer;
            }
        }
        QCOMPARE(perLayer, 2);
        QCOMPARE(plan["totals"]["collective_bytes"].toInteger(), 65 * 134217728LL);
    }

    void planWithAnotherPicker()
    {
        const QString design = small();
        QCOMPARE(shardctl({ "plan", design, "--picker", "partials-only" }).code, 0);
        const Outcome warned = shardctl({ "plan", design, "--on-reshard", "warn", "--json" });
        QCOMPARE(warned.code, 0);
        QCOMPARE(warned.err.count("all-reduce over model"), 3);
        for (const QStringList& options : { QStringList { "--on-reshard", "raise" }, QStringList { "--picker", "none" },
                                            QStringList { "--profile", "G0", "--budget", "100" } }) {
            const Outcome refused = shardctl(QStringList { "plan", design } + options);
            QVERIFY2(refused.code == 3, qPrintable(refused.err));
            QCOMPARE(refused.err.count('\n'), 1);
            QVERIFY2(refused.err.contains("embed"), qPrintable(refused.err));
        }
        QCOMPARE(shardctl({ "plan", design, "--profile", "G3", "--allow-transitions", "P->R,S->R,R->S,S->S" }).code, 0);
        for (const QStringList& options :
             { QStringList { "--profile", "G4" }, QStringList { "--picker", "best" }, QStringList { "--allow-transitions", "P->Q" },
               QStringList { "--on-reshard", "shout" } })
            QCOMPARE(shardctl(QStringList { "plan", design } + options).code, 2);
    }

    void runIsVerified()
    {
        const Outcome run = shardctl({ "run", small(), "--layers", "2", "--verify", "--json" });
        QVERIFY2(run.code == 0, qPrintable(run.err));
        QVERIFY(run.json()["verified"].toBool());
        QVERIFY(run.json()["max_relative_error"].toDouble() < 1e-5);
        QCOMPARE(run.json()["devices"].toInt(), 8);
        QVERIFY2(run.err.contains("memory"), qPrintable(run.err)); // said before it starts
    }

    /// New prefill designs compute the logits of the last token, wherever it lies; the numbers are those of one device.
    void logitsOfTheLastToken()
    {
        (void)small(); // the model
        const auto make = [this](const QString& mesh, const QString& preset, const QStringList& more = {}) {
            return shardctl(QStringList { "new", "--model", path("config.json"), "--mesh", mesh, "--preset", preset, "--batch", "4",
                                          "--sequence", "16", "-o", path("last.shardboard") }
                            + more);
        };
        for (const auto& [mesh, preset] : { std::pair { "data=2,model=4", "megatron-tp" },
                                            { "data=2,model=4", "tp-sp" },
                                            { "data=2,context=4", "cp-ring" },
                                            { "context=2,model=2", "cp-all-gather" },
                                            { "fsdp=4", "fsdp" } }) {
            for (const bool all : { false, true }) {
                QCOMPARE(make(mesh, preset, all ? QStringList { "--logits", "all" } : QStringList {}).code, 0);
                QFile file(path("last.shardboard"));
                QVERIFY(file.open(QIODevice::ReadOnly));
                QCOMPARE(file.readAll().contains("\"logits\": \"last\""), !all);
                QCOMPARE(shardctl({ "plan", path("last.shardboard") }).out.contains("logits of the last token"), !all);
                const Outcome run = shardctl({ "run", path("last.shardboard"), "--verify", "--json" });
                QVERIFY2(run.code == 0, qPrintable(run.err));
                QVERIFY(run.json()["verified"].toBool());
                QVERIFY(run.json()["max_relative_error"].toDouble() < 1e-5);
            }
        }
        QVERIFY(make("data=2", "replicate", { "--logits", "first" }).err.contains("use last or all"));
        QVERIFY(make("data=2", "replicate", { "--logits", "last", "--workload", "train" }).err.contains("it is of prefill"));
        // Of another kind it waits until it becomes a prefill.
        QCOMPARE(make("data=2", "replicate", { "--workload", "decode" }).code, 0);
        QVERIFY(!shardctl({ "plan", path("last.shardboard") }).out.contains("logits of the last token"));
        QFile file(path("last.shardboard"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll().replace("\"kind\": \"decode\"", "\"kind\": \"prefill\"");
        file.close();
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
        file.close();
        QVERIFY(shardctl({ "plan", path("last.shardboard") }).out.contains("logits of the last token"));
        // A single module has none.
        const auto module = [this](const QStringList& more) {
            return shardctl(QStringList { "new", "--model", "column-parallel-linear", "--in-dim", "64", "--out-dim", "64", "--mesh",
                                          "model=4", "-o", path("module.shardboard") }
                            + more);
        };
        QVERIFY(module({ "--logits", "last" }).err.contains("a single module has no logits"));
        QCOMPARE(module({}).code, 0);
        QVERIFY(!shardctl({ "plan", path("module.shardboard") }).out.contains("logits"));
    }

    void brokenCollectiveIsCaught()
    {
        const Outcome run = shardctl({ "run", small(), "--verify", "--break-collective", "any" });
        QVERIFY2(run.code == 1, qPrintable(run.err));
        QVERIFY2(run.out.contains("residual"), qPrintable(run.out));
    }

    void decodeAndReplicateRunToo()
    {
        QCOMPARE(shardctl({ "run", small({ "--workload", "decode" }), "--verify" }).code, 0);
        const Outcome whole = shardctl({ "new", "--model", path("config.json"), "--mesh", "data=3", "--preset", "replicate",
                                         "--batch", "6", "--sequence", "8", "-o", path("r.shardboard") });
        QCOMPARE(whole.code, 0);
        QCOMPARE(shardctl({ "run", path("r.shardboard"), "--verify", "--dtype", "design", "--steps", "2" }).code, 0);
    }

    void tilesAnswerAsTheContractSays()
    {
        const Outcome tiles = shardctl(
            { "tiles", "--shape", "6144,4096", "--mesh", "model=4", "--strategy", "rowwise", "--axis", "model", "--json" });
        QCOMPARE(tiles.code, 0);
        const QJsonObject first = tiles.json()["shards"].toArray()[1].toObject();
        QCOMPARE(tiles.json()["bytes_per_device"].toInteger(), 12582912);
        QCOMPARE(tiles.json()["replication"].toInt(), 1);
        QVERIFY(tiles.json()["join_dim"].isNull());
        QCOMPARE(first["shape"].toArray(), (QJsonArray { 1536, 4096 }));
        QCOMPARE(first["pieces"].toArray(), (QJsonArray { QJsonArray { QJsonArray { 1536, 3072 }, QJsonArray { 0, 4096 } } }));
    }

    void moduleIsAnsweredOpenedAndRun()
    {
        QVERIFY(writeFile(
            path("request.json"),
            R"({"module":"ColumnParallelLinear","params":{"in_dim":6,"out_dim":10,"num_devices":3,"has_bias":true,"input_shape":[2,3,6]}})"));
        const Outcome answer = shardctl({ "module", path("request.json"), "-o", path("module.shardboard"), "--json" });
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        QVERIFY(answer.err.isEmpty());
        QCOMPARE(answer.json()["bias_shards"].toArray(), (QJsonArray { QJsonArray { 4 }, QJsonArray { 3 }, QJsonArray { 3 } }));
        const Outcome plan = shardctl({ "plan", path("module.shardboard") });
        QVERIFY2(plan.out.contains("y [dim 2 = model], wanted whole by gather"), qPrintable(plan.out));
        QCOMPARE(shardctl({ "run", path("module.shardboard"), "--verify" }).code, 0);
        QCOMPARE(shardctl({ "run", path("module.shardboard"), "--layers", "1" }).code, 2);
        const Outcome tied = shardctl({ "new", "--model", "column-parallel-linear", "--in-dim", "4", "--out-dim", "8", "--tied",
                                        "--bias", "--mesh", "model=2", "-o", path("tied.shardboard") });
        QCOMPARE(tied.code, 3);
        QVERIFY2(tied.err.startsWith("shardctl: --tied: a tied weight cannot"), qPrintable(tied.err));
        const Outcome wrong = shardctl({ "module", path("config.json") });
        QCOMPARE(wrong.code, 3);
        QVERIFY(wrong.out.isEmpty() && wrong.err.count('\n') == 1);
    }

    /// A million devices: every one is asked for its shard, which would take 40 minutes if each looked at all others.
    void tilesOfAMillionDevices()
    {
        const Outcome tiles =
            shardctl({ "tiles", "--shape", "1048576,4", "--mesh", "model=1048576", "--strategy", "rowwise", "--json" });
        QCOMPARE(tiles.code, 0);
        QVERIFY(tiles.out.contains("{\"device\":1048575,\"pieces\":[[[1048575,1048576],[0,4]]],\"shape\":[1,4]}"));
    }

    void fullDiskIsNoSuccess()
    {
        if (!QFileInfo::exists("/dev/full"))
            QSKIP("there is no /dev/full here");
        for (const QStringList& arguments : { QStringList { "models" }, QStringList { "run", small() } }) {
            QProcess process;
            process.setStandardOutputFile("/dev/full");
            process.start(QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardctl"), arguments);
            QVERIFY(process.waitForFinished());
            QCOMPARE(process.exitCode(), 3);
            QVERIFY(process.readAllStandardError().contains("standard output: the result could not be written; "));
        }
    }

    void moreLayersThanThereAreIsNoRun()
    {
        const Outcome outcome = shardctl({ "run", small(), "--layers", "4" });
        QCOMPARE(outcome.code, 3);
        QVERIFY2(outcome.err.contains("--layers: 4 cannot be used; use 1 to 3"), qPrintable(outcome.err));
    }

    /// Hello, and then progress for ever: a cancel goes unheard, and what is not read any more must not be kept.
    void workerThatTalksForEverCanBeLeft()
    {
        QProcess process;
        process.start(QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardctl"),
                      { "run", small(), "--engine",
                        R"(echo '{"type":"hello","protocol":1,"backends":[]}'; echo '{"type":"announce","bytes":1,"seconds":1}';
                           exec yes '{"type":"progress","step":1,"of":2,"what":"x"}')" });
        process.setReadChannel(QProcess::StandardError);
        QVERIFY(process.waitForReadyRead()); // the announcement: the run has begun
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(20000));
        QCOMPARE(process.exitCode(), 5);
    }

    void refusalsAreOneLine_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        const auto row = [](const char* name, int code, const char* words) {
            QTest::newRow(name) << QString::fromLatin1(words).split(' ') << code;
        };
        row("no command", 2, "nonsense");
        row("no option", 2, "tiles --frobnicate");
        row("missing value", 2, "tiles --shape");
        row("mesh of size 0", 3, "tiles --shape 8,8 --mesh model=0 --strategy rowwise");
        row("mesh of size 2^40", 3, "tiles --shape 8,8 --mesh model=1099511627776 --strategy rowwise");
        row("shape that overflows", 3, "tiles --shape 4611686018427387904,16 --mesh model=4 --strategy rowwise");
        row("negative shape", 3, "tiles --shape -8,8 --mesh model=4 --strategy rowwise");
        row("rank 1", 3, "tiles --shape 8 --mesh model=4 --strategy columnwise");
        row("indivisible spec", 3, "tiles --shape 10 --mesh model=4 --spec P('model')");
        row("module strategy", 3, "tiles --shape 8,8 --mesh model=4 --strategy tensor-parallel");
        row("missing file", 3, "plan nowhere.shardboard");
        row("missing model", 3, "new --model nowhere/ --mesh data=2 -o /nonexistent/x");
        row("unwritable target", 3, "new --model llama3-8b --mesh data=2 -o /nonexistent/x.shardboard");
        row("batch 0", 3, "new --model llama3-8b --mesh data=2 --batch 0 -o x");
        row("batch of 20 digits", 3, "new --model llama3-8b --mesh data=2 --batch 99999999999999999999 -o x");
        row("batch of letters", 2, "new --model llama3-8b --mesh data=2 --batch many -o x");
        row("empty file name", 2, "plan ");
        row("empty target", 2, "new --model llama3-8b --mesh data=2 -o ");
        row("unknown preset", 2, "new --model llama3-8b --mesh data=2 --preset zero -o x");
        row("two forms of a part", 2, "new --model llama3-8b --mesh cp=2 --preset cp-ring+cp-ulysses -o x");
        row("stages of no pipeline", 2, "new --model llama3-8b --mesh data=2 --preset dp --stage-layers 16,16 -o x");
        row("layers of letters", 3, "new --model llama3-8b --mesh pp=2 --preset pp --workload train --stage-layers a -o x");
        row("layers that do not add up", 3,
            "new --model llama3-8b --mesh pp=2 --preset pp --workload train --stage-layers 9,9 -o x");
        row("no such schedule", 2, "new --model llama3-8b --mesh pp=2 --preset pp --workload train --schedule gpope -o x");
        row("interleaved without runs", 2,
            "new --model llama3-8b --mesh pp=2 --preset pp --workload train --schedule interleaved -o x");
        row("counted as nothing", 2, "new --model llama3-8b --mesh pp=2 --preset pp --workload train --count-as-layers norm -o x");
        row("unknown hardware", 3, "new --model llama3-8b --mesh data=2 --hardware abacus -o x");
    }
    void refusalsAreOneLine()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        const Outcome outcome = shardctl(arguments);
        QVERIFY2(outcome.code == code, qPrintable(QString::number(outcome.code) + " " + outcome.err));
        QCOMPARE(outcome.err.count('\n'), 1);
        QVERIFY(outcome.out.isEmpty());
        QVERIFY2(outcome.err.contains(';'), qPrintable(outcome.err)); // says what to do
    }

    void hostileDesignsAreRefused_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("not JSON") << QByteArray("{\"format\":");
        QTest::newRow("deep") << QByteArray(2000000, '[');
        QTest::newRow("another file") << QByteArray("{\"a\":1}");
        QTest::newRow("newer") << QByteArray("{\"format\":\"shardboard\",\"version\":99}");
    }
    void hostileDesignsAreRefused()
    {
        QFETCH(QByteArray, content);
        QVERIFY(writeFile(path("hostile.shardboard"), content));
        const Outcome outcome = shardctl({ "plan", path("hostile.shardboard") });
        QCOMPARE(outcome.code, 3);
        QCOMPARE(outcome.err.count('\n'), 1);
        QVERIFY2(outcome.err.contains("hostile.shardboard"), qPrintable(outcome.err));
    }

    void exportWritesModuleAndProof()
    {
        const Outcome outcome = shardctl({ "export", small(), "--to", "jax", "-o", path("jax") });
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        QFile proof(path("jax/shards.json"));
        QVERIFY(proof.open(QIODevice::ReadOnly));
        const QJsonObject shards = QJsonDocument::fromJson(proof.readAll()).object();
        QCOMPARE(shards["tensors"].toArray().size(), 3 * 9 + 3);
        QCOMPARE(shards["mesh"]["device_ids"].toArray().size(), 8);
        for (const auto& tensor : shards["tensors"].toArray()) {
            int holders = 0;
            for (const auto& shard : tensor.toObject()["shards"].toArray())
                holders += static_cast<int>(shard.toObject()["devices"].toArray().size());
            QCOMPARE(holders, 8);
        }
        QVERIFY(QFile::exists(path("jax/export.py")));
    }

    /// What is not in the export is told on stderr; stdout has the files alone.
    void exportTellsWhatItLeavesOut()
    {
        QCOMPARE(shardctl({ "export", small(), "--to", "jax", "-o", path("jax") }).err, QString());
        QCOMPARE(
            shardctl({ "new", "--model", path("config.json"), "--mesh", "data=2,model=2", "--preset", "tp-sp", "--workload",
                       "train", "--overlap", "weights", "--micro-batches", "2", "--sequence", "16", "-o", path("sp.shardboard") })
                .code,
            0);
        const Outcome outcome = shardctl({ "export", path("sp.shardboard"), "--to", "jax", "-o", path("sp") });
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        QCOMPARE(outcome.out, path("sp") + "/export.py\n" + path("sp") + "/shards.json\n");
        const QStringList lines = outcome.err.trimmed().split('\n');
        QCOMPARE(lines.size(), 2);
        QVERIFY2(lines[0].startsWith("note: not in the export: overlap weights"), qPrintable(lines[0]));
        QVERIFY2(lines[1].startsWith("note: not in the export: 2 micro-batches"), qPrintable(lines[1]));
    }

    void jaxRefusesUnevenLayouts()
    {
        QCOMPARE(shardctl({ "new", "--model", path("config.json"), "--mesh", "model=3", "--preset", "megatron-tp", "-o",
                            path("u.shardboard") })
                     .code,
                 0);
        const Outcome outcome = shardctl({ "export", path("u.shardboard"), "--to", "jax", "-o", path("jax3") });
        QCOMPARE(outcome.code, 3);
        QCOMPARE(outcome.err.count('\n'), 1);
        QVERIFY2(outcome.err.startsWith("shardctl: " + path("u.shardboard") + ": JAX cannot hold "), qPrintable(outcome.err));
        for (const char* part : { "model.embed_tokens.weight", "lm_head.weight",
                                  "JAX cannot cut dim 0 of size 320 into 3 equal parts", "model.layers.*.self_attn." })
            QVERIFY2(outcome.err.contains(part), qPrintable(outcome.err));
        QVERIFY(!QFile::exists(path("jax3/export.py")));
    }

    void realCheckpoints_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("says");
        QTest::newRow("llama") << "llama-3.1-8b-finetune"
                               << "8,030,261,248 parameters in 291 weights";
        QTest::newRow("mistral") << "mistral-24b"
                                 << "23,572,403,200 parameters in 363 weights";
        QTest::newRow("mixtral") << "mixtral-8x22b-finetune"
                                 << "140,620,634,112 parameters in 1,739 weights";
        QTest::newRow("falcon") << "falcon-180b"
                                << "179,522,565,120 parameters in 644 weights";
    }
    void realCheckpoints()
    {
        QFETCH(QString, folder);
        QFETCH(QString, says);
        if (!QDir(shared("data/checkpoints")).exists())
            QSKIP("the shared checkpoints are not here");
        const Outcome made = shardctl({ "new", "--model", shared("data/checkpoints/" + folder), "--mesh", "data=2,model=4",
                                        "--preset", "megatron-tp", "-o", path("c.shardboard") });
        QVERIFY2(made.code == 0, qPrintable(made.err));
        QVERIFY2(made.out.contains(says), qPrintable(made.out));
        QCOMPARE(shardctl({ "plan", path("c.shardboard") }).code, 0);
        if (folder.startsWith("mixtral")) {
            QVERIFY(made.err.contains("Git LFS pointer"));
        }
    }
};

SHARDBOARD_TEST(TestShardctl)
#include "tst_shardctl.moc"
