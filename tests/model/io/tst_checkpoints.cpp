// SPDX-License-Identifier: Apache-2.0
// Checkpoint folders as people really have them; skipped where the shared data is not there.
#include "model/families/decoder.h"
#include "model/families/modelsize.h"
#include "model/io/checkpoint/openmodel.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QDir>
#include <QTest>

using namespace shardboard;

class TestCheckpoints : public QObject {
    Q_OBJECT

    QString m_shared;
    Result<OpenedModel> opened(const char* name) const
    {
        return openModel((m_shared + QStringLiteral("/data/checkpoints/") + QString::fromLatin1(name)).toStdString());
    }
    static const Finding* finding(const OpenedModel& model, const char* kind)
    {
        for (const Finding& one : model.findings)
            if (one.kind == kind)
                return &one;
        return nullptr;
    }
    static Graph graphOf(const ModelSpec& model)
    {
        Workload one;
        one.batch = one.sequence = 1;
        auto graph = buildDecoder(model, one);
        return graph.ok() ? graph.value() : Graph {};
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_shared = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
        if (!QDir(m_shared + QStringLiteral("/data/checkpoints")).exists())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
    }

    void quantisedLlama()
    {
        const auto out = sure(opened("llama-3.1-8b-finetune"));
        const Graph graph = graphOf(out.model);
        QCOMPARE(graph.parameterCount(), 8030261248);
        QCOMPARE(graph.weightCount(), 291);
        QVERIFY(out.model.dtype == DType::F32);
        int companions = 0;
        for (const Finding& one : out.findings) {
            QVERIFY2(one.kind != "checkpoint-missing" && one.kind != "checkpoint-extra", one.message.c_str());
            companions += one.message.find("448 tensors alongside the weights") != std::string::npos ? 1 : 0;
        }
        QCOMPARE(companions, 1);
        QVERIFY(out.findings.size() < 8);
    }

    void mistralWithWideHeads()
    {
        const auto out = sure(opened("mistral-24b"));
        const Graph graph = graphOf(out.model);
        QCOMPARE(graph.parameterCount(), 23572403200);
        QCOMPARE(graph.weightCount(), 363);
        QCOMPARE(out.model.headDim, 128);
        QCOMPARE(out.findings.size(), std::size_t { 1 }); // only that the weight files are not there
        QVERIFY(finding(out, "checkpoint-file"));
    }

    void mixtral()
    {
        const auto out = sure(opened("mixtral-8x22b-finetune"));
        const Graph graph = graphOf(out.model);
        QCOMPARE(graph.parameterCount(), 140620634112);
        QCOMPARE(graph.weightCount(), 1739);
        for (const Finding& one : out.findings)
            QVERIFY2(one.kind == "lfs-pointer" || one.kind == "checkpoint-file", one.message.c_str());
        QCOMPARE(out.model.moe.experts, 8);
        QCOMPARE(modelSize(out.model)->total, 140620634112); // with a vocabulary of 32000; twice that is the index's total
        QVERIFY(finding(out, "lfs-pointer")->message.find("4998663696 bytes") != std::string::npos);
    }

    void falcon()
    {
        const auto out = sure(opened("falcon-180b"));
        const Graph graph = graphOf(out.model);
        QCOMPARE(graph.parameterCount(), 359045130240 / 2); // what the index says, in bytes
        QCOMPARE(graph.weightCount(), 644);
        QCOMPARE(out.findings.size(), std::size_t { 1 });
        QVERIFY(finding(out, "checkpoint-file"));
        QCOMPARE(out.model.heads, 232);
        QCOMPARE(out.model.kvHeads, 8);
        QCOMPARE(out.model.headDim, 64);
        QVERIFY(!out.model.tiedEmbeddings);
        QCOMPARE(modelSize(out.model)->total, 359045130240 / 2);
    }
};

SHARDBOARD_TEST(TestCheckpoints)
#include "tst_checkpoints.moc"
