// SPDX-License-Identifier: Apache-2.0
// shardctl export: all targets of a design with what each can say, and the check that a framework makes.
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

class TestExportCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

    QString design(const char* mesh)
    {
        (void)writeFile(path("config.json"),
                        R"({"model_type":"llama","vocab_size":320,"hidden_size":64,"intermediate_size":192,"num_hidden_layers":3,
                         "num_attention_heads":8,"num_key_value_heads":4,"rms_norm_eps":1e-5,"torch_dtype":"bfloat16"})");
        const QString out = path("d.shardboard");
        const Outcome made =
            shardctl({ "new", "--model", path("config.json"), "--mesh", mesh, "--preset", "megatron-tp", "-o", out });
        if (made.code != 0)
            qFatal("%s", qPrintable(made.err));
        return out;
    }
    /// A program that stands for Python: it does not look at the file that it is given.
    QString python(const QByteArray& text)
    {
        const QString out = path("python");
        (void)writeFile(out, "#!/bin/sh\n" + text);
        QFile::setPermissions(out, QFile::ReadOwner | QFile::ExeOwner | QFile::WriteOwner);
        return out;
    }
    static QJsonObject jaxOf(const Outcome& outcome)
    {
        for (const auto& target : outcome.json()["targets"].toArray())
            if (target.toObject()["id"] == "jax")
                return target.toObject();
        return {};
    }

private Q_SLOTS:
    void helpListsTheTargets()
    {
        const Outcome help = shardctl({ "export", "--help" });
        QCOMPARE(help.code, 0);
        QVERIFY2(help.out.contains("  jax         JAX: "), qPrintable(help.out));
        const Outcome list = shardctl({ "export", design("data=2,model=4"), "--targets", "--json" });
        for (const auto& target : list.json()["targets"].toArray()) {
            const QString line =
                "  " + target.toObject()["id"].toString().leftJustified(12) + target.toObject()["title"].toString();
            QVERIFY2(help.out.contains(line), qPrintable(line));
        }
    }

    void targetsSayWhatTheyCan()
    {
        const Outcome list = shardctl({ "export", design("data=2,model=4"), "--targets", "--json" });
        QCOMPARE(list.code, 0);
        QCOMPARE(list.json()["format"].toString(), QString("shardboard-targets"));
        const QJsonObject jax = jaxOf(list);
        QVERIFY(jax["exact"].toBool() && jax["refusals"].toArray().isEmpty());
        QCOMPARE(jax["check"].toString(), QString("export.py"));
        QVERIFY(jax["usage"].toArray()[0].toString().startsWith("import jax"));
        QVERIFY(jax["left_out"].isArray() && jax["proofs"].isArray());
        const Outcome text = shardctl({ "export", path("d.shardboard"), "--targets" });
        QVERIFY2(text.out.contains("jax  JAX: exact\n") && text.out.contains("  usage: import jax\n  usage: from export import"),
                 qPrintable(text.out));
    }

    void targetsSayWhatTheyCannot()
    {
        const Outcome list = shardctl({ "export", design("model=3"), "--targets", "--json" });
        QCOMPARE(list.code, 0);
        const QJsonObject jax = jaxOf(list);
        QVERIFY(!jax["exact"].toBool() && !jax.contains("usage"));
        int tensors = 0;
        for (const auto& refusal : jax["refusals"].toArray()) {
            tensors += refusal.toObject()["tensors"].toInt();
            QVERIFY(!refusal.toObject()["what"].toString().isEmpty() && !refusal.toObject()["fix"].toString().isEmpty());
        }
        QVERIFY(tensors >= 2);
        QCOMPARE(jax["refused_tensors"].toInt(), tensors);
        const Outcome text = shardctl({ "export", path("d.shardboard"), "--targets" });
        QVERIFY2(text.out.contains(QString("jax  JAX: %1 tensors cannot be said\n").arg(tensors)), qPrintable(text.out));
    }

    void exportIsOneDocument()
    {
        const Outcome outcome = shardctl({ "export", design("data=2,model=4"), "--to", "jax", "-o", path("out"), "--json" });
        QCOMPARE(outcome.code, 0);
        QCOMPARE(outcome.json()["target"].toString(), QString("jax"));
        QCOMPARE(outcome.json()["files"].toArray(), (QJsonArray { path("out") + "/export.py", path("out") + "/shards.json" }));
        QVERIFY(!outcome.json().contains("proof"));
    }

    void proofIsJudged_data()
    {
        QTest::addColumn<QByteArray>("says");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("outcome");
        QTest::newRow("equal") << QByteArray("test -f \"$1\" && echo 30 of 30 tensors have the same shards in JAX 9") << 0
                               << QStringLiteral("equal");
        QTest::newRow("differ") << QByteArray("echo 29 of 30 tensors have the same shards in JAX 9; exit 1") << 1
                                << QStringLiteral("differ");
        QTest::newRow("skipped") << QByteArray("echo skipped: no JAX; exit 77") << 3 << QStringLiteral("skipped");
        QTest::newRow("failed") << QByteArray("exit 5") << 3 << QStringLiteral("failed");
    }

    void proofIsJudged()
    {
        QFETCH(QByteArray, says);
        QFETCH(int, code);
        QFETCH(QString, outcome);
        const QStringList words { "export", design("data=2,model=4"), "--to", "jax", "-o", path("out"), "--prove", python(says) };
        const Outcome text = shardctl(words);
        QCOMPARE(text.code, code);
        const Outcome json = shardctl(words + QStringList { "--json" });
        QCOMPARE(json.code, code);
        QCOMPARE(json.json()["proof"].toObject()["outcome"].toString(), outcome);
        QCOMPARE(json.json()["files"].toArray().size(), 2);
        if (code == 0)
            QVERIFY2(text.out.endsWith("/shards.json\n30 of 30 tensors have the same shards in JAX 9\n"), qPrintable(text.out));
        else
            QVERIFY2(text.err.contains("export.py") && text.err.count('\n') == 2, qPrintable(text.err));
    }

    /// A relative path is one of the folder that the command is given in.
    void pythonIsFoundFromHere()
    {
        python("echo 1 of 1 tensors have the same shards in JAX 9");
        QProcess process;
        process.setWorkingDirectory(m_folder.path());
        process.start(QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardctl"),
                      { "export", design("data=2,model=4"), "--to", "jax", "-o", "here", "--prove", "./python" });
        QVERIFY(process.waitForFinished(60000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    }

    /// Without a name it is python3; here no frameworks need be there.
    void pythonMayBeLeftOut()
    {
        if (QStandardPaths::findExecutable(QStringLiteral("python3")).isEmpty())
            QSKIP("there is no python3");
        const Outcome outcome =
            shardctl({ "export", design("data=2,model=4"), "--to", "jax", "-o", path("out"), "--prove", "--json" });
        QVERIFY2(outcome.err.startsWith("has python3 check "), qPrintable(outcome.err));
        const QString found = outcome.json()["proof"].toObject()["outcome"].toString();
        QVERIFY2(outcome.code == 0 ? found == "equal" : outcome.code == 3 && found == "skipped", qPrintable(found));
    }

    /// A refusal is a document, too: it has all of them.
    void refusalIsOneDocument()
    {
        const Outcome outcome = shardctl({ "export", design("model=3"), "--to", "jax", "-o", path("out"), "--json" });
        QCOMPARE(outcome.code, 3);
        QCOMPARE(outcome.err.count('\n'), 1);
        QVERIFY(outcome.json()["files"].toArray().isEmpty());
        QVERIFY(outcome.json()["refusals"].toArray().size() >= 2);
    }

    /// What to do about a proof that failed: nobody can run a Python that is not there.
    void pythonThatIsNotThere()
    {
        const QStringList words { "export", design("data=2,model=4"), "--to", "jax", "-o", path("out"), "--prove" };
        const Outcome missing = shardctl(words + QStringList { "/nonexistent/python" });
        QVERIFY2(missing.err.contains("name a Python that is there") && !missing.err.contains("see what it prints"),
                 qPrintable(missing.err));
        const QString differing = python("echo 29 of 30 tensors have the same shards in JAX 9; exit 1");
        const Outcome differs = shardctl(words + QStringList { differing });
        QVERIFY2(differs.err.contains("see what it prints: " + differing + " export.py"), qPrintable(differs.err));
    }

    /// What frameworks call the weights: Llama's are known by heart.
    void namesOfFrameworks()
    {
        const QString file = design("data=2,model=4");
        const Outcome json = shardctl({ "names", file, "--json" });
        QVERIFY2(json.code == 0, qPrintable(json.err));
        QCOMPARE(json.json()["format"].toString(), QString("shardboard-names"));
        QSet<QString> schemes;
        for (const auto& scheme : json.json()["schemes"].toArray())
            schemes << scheme.toObject()["scheme"].toString();
        QVERIFY(schemes.contains("maxtext") && schemes.contains("vllm") && schemes.size() >= 7);
        const Outcome vllm = shardctl({ "names", file, "--scheme", "vllm", "--json" });
        QJsonObject fused;
        for (const auto& parameter : vllm.json()["schemes"].toArray()[0].toObject()["parameters"].toArray())
            if (parameter.toObject()["name"] == "model.layers.*.self_attn.qkv_proj.weight")
                fused = parameter.toObject();
        QVERIFY(fused["fused"].toBool() && !fused["transposed"].toBool());
        QVERIFY(!fused["split"].toBool(true) && !fused["part"].toBool(true));
        QCOMPARE(fused["weights"].toArray().size(), 3);
        QCOMPARE(fused["shape"].toArray(), (QJsonArray { 64 + 32 + 32, 64 }));
        const Outcome flax = shardctl({ "names", file, "--scheme", "flax" });
        QVERIFY2(flax.out.contains("params/model/layers/*/mlp/up_proj/kernel") && flax.out.contains("transposed"),
                 qPrintable(flax.out));
        const Outcome wrong = shardctl({ "names", file, "--scheme", "nosuch" });
        QCOMPARE(wrong.code, 2);
        QVERIFY(wrong.err.contains("megatron"));
    }

    void wrongUseIsOneLine_data()
    {
        QTest::addColumn<QStringList>("more");
        QTest::newRow("no target") << QStringList { "-o", "x" };
        QTest::newRow("no folder") << QStringList { "--to", "jax" };
        QTest::newRow("unknown target") << QStringList { "--to", "nosuch", "-o", "x" };
        QTest::newRow("two acts") << QStringList { "--targets", "--to", "jax" };
        QTest::newRow("nothing to prove") << QStringList { "--targets", "--prove" };
    }

    void wrongUseIsOneLine()
    {
        QFETCH(QStringList, more);
        const Outcome outcome = shardctl(QStringList { "export", design("data=2,model=4") } + more);
        QCOMPARE(outcome.code, 2);
        QCOMPARE(outcome.err.count('\n'), 1);
        QVERIFY(outcome.out.isEmpty());
    }
};

SHARDBOARD_TEST(TestExportCommand)

#include "tst_exportcommand.moc"
