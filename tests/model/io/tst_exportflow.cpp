// SPDX-License-Identifier: Apache-2.0
// Exports to frameworks that make single modules parallel: whether what one module gives is what the next one takes. The answers
// are those of real forward passes of transformers 5.23 and DeepSpeed 0.19.8 on two ranks (tests/peers), where the wrong ones
// raise.
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;

namespace {

Design llama(const char* match, const char* spec, const char* mesh = "model=2")
{
    Workload workload;
    workload.batch = 2;
    workload.sequence = 16;
    Design design = designOn(mesh, denseModel(256, 64, 128, 2, 8, 4, 8), workload, "megatron-tp");
    if (*match != '\0')
        design.strategies.push_back({ match, { StrategyKind::Spec, {}, 0, spec }, {} });
    return design;
}

void layOut(Design& design, const char* match, const char* spec)
{
    design.strategies.push_back({ match, { StrategyKind::Spec, {}, 0, spec }, {} });
}

constexpr const char* kRows = "P('model')";
constexpr const char* kColumns = "P(None,'model')";

} // namespace

class TestExportFlow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// megatron-tp with one weight laid out otherwise; the weight that is named, or none.
    void oneWeight_data()
    {
        QTest::addColumn<QString>("match");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("named");
        const auto row = [](const char* name, const char* match, const char* spec, const char* named) {
            dataRow(name, QString::fromLatin1(match), QString::fromLatin1(spec), QString::fromLatin1(named));
        };
        row("as it is", "", "", "");
        row("head whole", "*lm_head.weight", "P()", "");
        row("head over hidden", "*lm_head.weight", kColumns, "");
        row("o_proj whole", "*.self_attn.o_proj.weight", "P()", "self_attn.o_proj.weight: it takes all of its input");
        row("o_proj rows", "*.self_attn.o_proj.weight", kRows, "self_attn.o_proj.weight: it takes all of its input");
        row("down_proj whole", "*.mlp.down_proj.weight", "P()", "mlp.down_proj.weight: it takes all of its input");
        row("down_proj rows", "*.mlp.down_proj.weight", kRows, "mlp.down_proj.weight: it takes all of its input");
        row("gate_proj columns", "*.mlp.gate_proj.weight", kColumns, "mlp.");
        row("gate_proj whole", "*.mlp.gate_proj.weight", "P()", "mlp.up_proj.weight: it gives each rank a part");
        row("up_proj whole", "*.mlp.up_proj.weight", "P()", "mlp.up_proj.weight: it gives each rank all");
        row("q_proj whole", "*.self_attn.q_proj.weight", "P()", "self_attn.");
        row("q_proj columns", "*.self_attn.q_proj.weight", kColumns, "self_attn.");
        row("k_proj whole", "*.self_attn.k_proj.weight", "P()", "self_attn.k_proj.weight");
    }
    void oneWeight()
    {
        QFETCH(QString, match);
        QFETCH(QString, spec);
        QFETCH(QString, named);
        Design design = llama(match.toLatin1().constData(), spec.toLatin1().constData());
        design.strategies.insert(design.strategies.end() - (match.isEmpty() ? 0 : 1),
                                 { "*embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
        for (const char* target : { "hf", "deepspeed" }) {
            const QString told = QString::fromStdString(refusalOf(target, design));
            QVERIFY2(named.isEmpty() ? told == QStringLiteral("not refused") : told.contains(named),
                     qPrintable(QString::fromLatin1(target) + ": " + told));
            QVERIFY2(named.isEmpty() || told.contains(QStringLiteral("model.layers.*.")), qPrintable(told));
        }
    }

    /// All of attention whole, or all of the MLP: nothing has to be moved.
    void wholeBranches()
    {
        for (const char* match : { "*.self_attn.*", "*.mlp.*" })
            for (const char* target : { "hf", "deepspeed" }) {
                Design design = llama(match, "P()");
                design.strategies.push_back({ "*embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
                QCOMPARE(refusalOf(target, design), std::string("not refused"));
            }
    }

    /// A training program takes the logits as they lie.
    void trainingIsTheSame()
    {
        for (const char* target : { "hf", "deepspeed" }) {
            Design design = llama("*embed_tokens.weight", "P()");
            design.workload.kind = WorkloadKind::Train;
            QCOMPARE(refusalOf(target, design), std::string("not refused"));
            layOut(design, "*.mlp.down_proj.weight", "P()");
            QVERIFY(refusalOf(target, design).find("down_proj.weight: it takes all of its input") != std::string::npos);
        }
    }

    /// DeepSpeed names layers one by one: in one of them the pair is broken.
    void oneLayer()
    {
        Design design = llama("model.layers.1.mlp.down_proj.weight", "P()");
        design.strategies.push_back({ "*embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
        const std::string told = refusalOf("deepspeed", design);
        QVERIFY2(told.find("model.layers.1.mlp.down_proj.weight: it takes all") != std::string::npos
                     || told.find("mlp.down_proj.weight: it takes all") != std::string::npos,
                 told.c_str());
    }

    /// torch has styles for the same pairs: parallelize() is offered for these alone.
    void torchIsOfferedForPairs_data()
    {
        QTest::addColumn<QString>("match");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("told");
        const auto row = [](const char* name, const char* match, const char* spec, const char* told) {
            dataRow(name, QString::fromLatin1(match), QString::fromLatin1(spec), QString::fromLatin1(told));
        };
        row("as it is", "", "", "");
        row("head whole", "*lm_head.weight", "P()", "");
        row("embedding over hidden", "*embed_tokens.weight", kColumns, "");
        row("head over hidden", "*lm_head.weight", kColumns, "the head is cut on its hidden dim");
        row("o_proj rows", "*.self_attn.o_proj.weight", kRows, "no style of torch runs model.layers.*.self_attn.o_proj.weight");
        row("down_proj rows", "*.mlp.down_proj.weight", kRows, "no style of torch runs model.layers.*.mlp.down_proj.weight");
        row("MLP of a layer", "model.layers.1.mlp.*", "P()", "mlp.down_proj (layer 1)");
    }
    void torchIsOfferedForPairs()
    {
        QFETCH(QString, match);
        QFETCH(QString, spec);
        QFETCH(QString, told);
        const Design design = llama(match.toLatin1().constData(), spec.toLatin1().constData());
        const ExportTarget& torch = *findExportTarget("torch");
        const auto evaluation = evaluated(design);
        const bool offered = torch.usage(design, *evaluation).find("parallelize") != std::string::npos;
        QCOMPARE(offered, told.isEmpty());
        const auto left = torch.leftOut(design, *evaluation);
        QVERIFY2(told.isEmpty() || QString::fromStdString(left.front()).contains(told), left.empty() ? "" : left.front().c_str());
        QVERIFY(told.isEmpty() || !QString::fromStdString(left.front()).contains(QStringLiteral("KV heads, say")));
    }
};

SHARDBOARD_TEST(TestExportFlow)
#include "tst_exportflow.moc"
