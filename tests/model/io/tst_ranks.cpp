// SPDX-License-Identifier: Apache-2.0
// What mesh axes do, in the words of frameworks that know sizes alone, and the rule by which those cut every weight.
#include "model/io/ranks/rankrule.h"
#include "model/io/ranks/servingsizes.h"
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;

namespace {

Workload rankWorkload()
{
    Workload out;
    out.batch = 16;
    out.sequence = 64;
    return out;
}

ModelSpec rankedExperts(std::int64_t experts)
{
    ModelSpec model = denseModel(256, 64, 128, 2, 8, 4, 8);
    model.family = "mixtral";
    model.moe.experts = experts;
    model.moe.chosen = 2;
    model.moe.intermediateSize = 128;
    model.moe.storage = ExpertStorage::Mixtral;
    return model;
}

void giveRanks(Design& design, const char* match, const char* spec)
{
    design.strategies.push_back({ match, { StrategyKind::Spec, {}, 0, spec }, {} });
}

/// The ranks of the tensor group lie next to each other.
RankRule tensorRule(std::int64_t tensor)
{
    RankRule rule { .framework = "Peer", .tensor = tensor };
    rule.place = [tensor](std::int64_t rank) { return RankPlace { rank % tensor, 0, 0 }; };
    return rule;
}

QString refusedByRule(const RankRule& rule, const Design& design)
{
    const auto refusals = sure(rankRefusals(design, *tolerant(design), rule));
    QStringList out;
    for (const ExportRefusal& refusal : refusals)
        out << QString::fromStdString(refusal.error.where + ": " + refusal.error.what);
    return out.join(QLatin1Char('\n'));
}

} // namespace

class TestRanks : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// By what is cut, whatever the names of the axes are.
    void axes_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<bool>("experts");
        QTest::addColumn<QString>("use"); // tensor, sharded, context, data, stage, expert, expertTensor
        dataRow("tensor", QStringLiteral("data=2,model=4"), QStringLiteral("megatron-tp"), false,
                QStringLiteral("model|||data|||"));
        dataRow("sharded", QStringLiteral("fsdp=8"), QStringLiteral("fsdp"), false, QStringLiteral("|fsdp|||||"));
        dataRow("both", QStringLiteral("fsdp=2,tensor=4"), QStringLiteral("tp+fsdp"), false, QStringLiteral("tensor|fsdp|||||"));
        dataRow("stages", QStringLiteral("stage=2,model=4"), QStringLiteral("pp-1f1b"), false, QStringLiteral("model||||stage||"));
        dataRow("experts", QStringLiteral("data=2,expert=4"), QStringLiteral("ep"), true,
                QStringLiteral("|||data and expert||expert|"));
        dataRow("widths", QStringLiteral("data=2,model=4"), QStringLiteral("megatron-tp"), true,
                QStringLiteral("model|||data|||model"));
        dataRow("one device", QStringLiteral("data=1,model=4"), QStringLiteral("megatron-tp"), false,
                QStringLiteral("model||||||"));
        dataRow("nothing cut", QStringLiteral("data=2,model=4"), QStringLiteral("replicate"), false,
                QStringLiteral("|||data and model|||"));
    }
    void axes()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(bool, experts);
        QFETCH(QString, use);
        const Design design = designOn(mesh.toStdString(), experts ? rankedExperts(8) : denseModel(256, 64, 128, 2, 8, 4, 8),
                                       rankWorkload(), preset.toStdString());
        const AxisUse found = axisUse(design, *evaluated(design));
        QStringList text;
        for (const auto& group :
             { found.tensor, found.sharded, found.context, found.data, found.stage, found.expert, found.expertTensor })
            text << QString::fromStdString(axisNames(design.mesh, group));
        QCOMPARE(text.join(QLatin1Char('|')), use);
    }

    void orders()
    {
        const Mesh mesh = sure(Mesh::parse("a=2,b=3"));
        QVERIFY(!orderRefusal(mesh, "Peer", { { 0 }, {}, { 1 } }));
        const auto other = orderRefusal(mesh, "Peer", { { 1 }, { 0 } });
        QVERIFY(other && other->error.what.starts_with("Peer numbers its ranks over b and a, the last one fastest"));
        const Mesh turned = sure(Mesh::make(mesh.axes(), { 0, 2, 4, 1, 3, 5 }));
        QVERIFY(!orderRefusal(turned, "Peer", { { 1 }, { 0 } }) && orderRefusal(turned, "Peer", { { 0 }, { 1 } }));
        QVERIFY(orderRefusal(sure(Mesh::make(mesh.axes(), { 1, 2, 3, 4, 5, 6 })), "Peer", { { 0 }, { 1 } }));
    }

    void runsOfLayers()
    {
        const auto layersOf = [](const Design& design) {
            QList<qint64> out;
            for (const StageRun& run : stageRuns(design, *evaluated(design)))
                out << run.stage << run.layers;
            return out;
        };
        const ModelSpec model = denseModel(256, 64, 128, 6, 8, 4, 8);
        QCOMPARE(layersOf(designOn("model=2", model, rankWorkload(), "megatron-tp")), (QList<qint64> { 0, 6 }));
        QCOMPARE(layersOf(designOn("stage=2,model=2", model, rankWorkload(), "pp-1f1b")), (QList<qint64> { 0, 3, 1, 3 }));
        Workload training = rankWorkload();
        training.kind = WorkloadKind::Train;
        training.microBatches = 4;
        QCOMPARE(layersOf(designOn("stage=2,model=2", model, training, "pp-interleaved")),
                 (QList<qint64> { 0, 2, 1, 2, 0, 1, 1, 1 }));
    }

    /// Each kind of weight by hand: 8 heads of 8, 4 KV heads, over 4 ranks.
    void parts()
    {
        Design design = designOn("data=2,model=4", denseModel(256, 64, 128, 2, 8, 4, 8), rankWorkload(), "megatron-tp");
        QCOMPARE(refusedByRule(tensorRule(4), design), QString());
        // One after the other laid out otherwise: only that is named, with the parts of the rule.
        const std::tuple<const char*, const char*, const char*> others[] = {
            { "*.q_proj.weight", "P()", "self_attn.q_proj.weight: dim 0 on rank 0 is 0:64, in Peer 0:16" },
            { "*.k_proj.weight", "P()", "self_attn.k_proj.weight: dim 0 on rank 0 is 0:32, in Peer 0:8" },
            { "*.o_proj.weight", "P('model')", "self_attn.o_proj.weight: dim 0 on rank 0 is 0:16, in Peer 0:64" },
            { "*.up_proj.weight", "P(None,'model')", "mlp.up_proj.weight: dim 0 on rank 0 is 0:32, in Peer 0:32" },
            { "*.down_proj.weight", "P()", "mlp.down_proj.weight: dim 1 on rank 0 is 0:128, in Peer 0:32" },
            { "*embed_tokens*", "P()", "model.embed_tokens.weight: dim 0 on rank 0 is 0:256, in Peer 0:64" },
            { "lm_head*", "P(None,'model')", "lm_head.weight: dim 0 on rank 0 is 0:256, in Peer 0:64" },
            { "model.norm.weight", "P('model')", "model.norm.weight: dim 0 on rank 0 is 0:16, in Peer 0:64" },
        };
        for (const auto& [match, spec, told] : others) {
            Design other = design;
            giveRanks(other, match, spec);
            const QString refused = refusedByRule(tensorRule(4), other);
            QVERIFY2(!refused.isEmpty() && !refused.contains(QLatin1Char('\n')), qPrintable(refused));
            if (QByteArray(match) != "*.up_proj.weight") // whole there, where the rule has a quarter
                QVERIFY2(refused.endsWith(QString::fromLatin1(told)), qPrintable(refused));
            else
                QVERIFY2(refused.contains(QStringLiteral("dim 0 on rank 0 is 0:128, in Peer 0:32")), qPrintable(refused));
        }
    }

    /// Two KV heads over 4 ranks: pairs of neighboring ranks share one.
    void sharedKvHeads()
    {
        Design design = designOn("a=2,b=2", denseModel(256, 64, 128, 2, 8, 2, 8), rankWorkload(), "replicate");
        for (const char* name : { "*q_proj*", "*gate_proj*", "*up_proj*", "*embed_tokens*", "lm_head*" })
            giveRanks(design, name, "P(('a','b'))");
        for (const char* name : { "*o_proj*", "*down_proj*" })
            giveRanks(design, name, "P(None,('a','b'))");
        for (const char* name : { "*k_proj*", "*v_proj*" })
            giveRanks(design, name, "P('a')");
        QCOMPARE(refusedByRule(tensorRule(4), design), QString());
        RankRule alone = tensorRule(4);
        alone.sharesKvHeads = false;
        QVERIFY2(refusedByRule(alone, design).contains(QStringLiteral("Peer cannot cut 2 KV heads over 4 tensor ranks")),
                 qPrintable(refusedByRule(alone, design)));
        giveRanks(design, "*v_proj*", "P('b')"); // neighbors have different heads
        const QString refused = refusedByRule(tensorRule(4), design);
        QVERIFY2(refused.endsWith(QStringLiteral("v_proj.weight: dim 0 on rank 1 is 8:16, in Peer 0:8")), qPrintable(refused));
    }

    /// Padded, the last ranks have less or nothing.
    void vocabularies()
    {
        Design design = designOn("model=4", denseModel(100, 64, 128, 2, 8, 4, 8), rankWorkload(), "megatron-tp");
        QCOMPARE(refusedByRule(tensorRule(4), design), QString());
        RankRule padded = tensorRule(4);
        padded.vocabularyMultiple = 64; // 128 rows, 32 each: 0:32, 32:64, 64:96, 96:100
        QVERIFY2(refusedByRule(padded, design).contains(QStringLiteral("dim 0 on rank 0 is 0:25, in Peer 0:32")),
                 qPrintable(refusedByRule(padded, design)));
        padded.vocabularyMultiple = 28; // 112 rows, 28 each: what ceil gives of 100 is 25
        QVERIFY(!refusedByRule(padded, design).isEmpty());
        padded.vocabularyMultiple = 3;
        QVERIFY2(
            refusedByRule(padded, design).contains(QStringLiteral("Peer cannot cut 102 tokens of the padded vocabulary over 4")),
            qPrintable(refusedByRule(padded, design)));
    }

    /// Ten experts over four ranks: 3, 3, 2, 2, unless each needs as many.
    void experts()
    {
        for (const std::int64_t count : { 8, 10 }) {
            Design design = designOn("expert=4", rankedExperts(count), rankWorkload(), "ep");
            for (const bool even : { false, true }) {
                RankRule rule { .framework = "Peer", .expert = 4, .evenExperts = even };
                rule.place = [](std::int64_t rank) { return RankPlace { 0, rank, 0 }; };
                const QString refused = refusedByRule(rule, design);
                QVERIFY2(refused.isEmpty() == (count == 8 || !even), qPrintable(refused));
                QVERIFY(refused.isEmpty() || refused.contains(QStringLiteral("Peer cannot cut 10 experts over 4 expert ranks")));
            }
        }
        // The width of each over the tensor ranks.
        const Design widths = designOn("model=4", rankedExperts(8), rankWorkload(), "megatron-tp");
        RankRule rule { .framework = "Peer", .tensor = 4, .expertTensor = 4 };
        rule.place = [](std::int64_t rank) { return RankPlace { rank, 0, rank }; };
        QCOMPARE(refusedByRule(rule, widths), QString());
        rule.expertTensor = 1;
        rule.place = [](std::int64_t rank) { return RankPlace { rank, 0, 0 }; };
        QVERIFY(refusedByRule(rule, widths).contains(QStringLiteral("experts")));
    }

    /// Of models that are not understood nothing is known, and a search that is stopped says so.
    void notKnown()
    {
        QVERIFY(refusedByRule(tensorRule(4), looseDesign({ 16, 8 }, "data=2,model=4", "P()"))
                    .contains(QStringLiteral("model: Peer decides")));
        const Design design = designOn("model=4", denseModel(256, 64, 128, 2, 8, 4, 8), rankWorkload(), "megatron-tp");
        QVERIFY(rankRefusals(design, *evaluated(design), tensorRule(4), [] { return true; }).cancelled());
    }

    /// Copies of the model are runs of neighboring devices.
    void copies()
    {
        const Design design = designOn("data=2,model=4", denseModel(256, 64, 128, 2, 8, 4, 8), rankWorkload(), "megatron-tp");
        const ServingSizes sizes = servingSizes(design, *evaluated(design));
        QVERIFY(sizes.tensor == 4 && sizes.data == 2 && sizes.stages == 1 && !sizes.jointExperts);
        QCOMPARE(devicesOfCopies(sizes.tensor, sizes.data), (std::vector<std::string> { "0,1,2,3", "4,5,6,7" }));
    }
};

SHARDBOARD_TEST(TestRanks)
#include "tst_ranks.moc"
