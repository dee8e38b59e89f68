// SPDX-License-Identifier: Apache-2.0
// Which tokens a prefill computes logits of: the graph, what a plan moves for them, and what a file says.
#include "model/cost/closedforms/modelflops.h"
#include "model/design/evaluation.h"
#include "model/design/presets/presets.h"
#include "model/families/buildgraph.h"
#include "model/ops/opdefinition.h"
#include "tests/support/models.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

constexpr std::int64_t kBatch = 8, kSequence = 4096, kHidden = 4096, kVocabulary = 128256;

Design prefill(const char* mesh, const char* preset, Logits logits)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model = llama3Model();
    design.workload = { WorkloadKind::Prefill, kBatch, kSequence, DType::BF16 };
    design.workload.logits = logits;
    if (!applyPreset(design, preset).ok())
        qFatal("no preset %s", preset);
    return design;
}

const Op* opNamed(const Graph& graph, const char* name)
{
    for (const Op& op : graph.ops)
        if (op.name == name)
            return &op;
    return nullptr;
}

} // namespace

class TestLogits : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The last token is taken before the norm; with all of them nothing is there to take.
    void theGraphEndsWithOneToken()
    {
        Workload workload { WorkloadKind::Prefill, kBatch, kSequence, DType::BF16 };
        QVERIFY(!opNamed(buildGraph(llama3Model(), workload).value(), "last_token"));
        workload.logits = Logits::Last;
        const Graph graph = buildGraph(llama3Model(), workload).value();
        const Op* last = opNamed(graph, "last_token");
        QVERIFY(last);
        QCOMPARE(graph.tensor(last->result).shape, (Shape { kBatch, 1, kHidden }));
        QCOMPARE(opNamed(graph, "norm")->operands.front(), last->result);
        QCOMPARE(groupOf(graph, *opNamed(graph, "norm")), OpGroup::Single); // of attention there is none here
        QCOMPARE(graph.tensor(opNamed(graph, "lm_head")->result).shape, (Shape { kBatch, 1, kVocabulary }));
        for (const WorkloadKind kind : { WorkloadKind::Decode, WorkloadKind::Train }) {
            workload.kind = kind;
            QVERIFY(!opNamed(buildGraph(llama3Model(), workload).value(), "last_token"));
        }
        workload.kind = WorkloadKind::Prefill;
        workload.sequence = 1; // it is the last one
        QVERIFY(!opNamed(buildGraph(llama3Model(), workload).value(), "last_token"));
    }

    /// Where the sequence is cut one token of each sequence is summed, not the sequence gathered.
    void aCutSequenceMovesOneToken_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::newRow("whole") << "data=2,model=4"
                               << "megatron-tp";
        QTest::newRow("sequence parallel") << "data=2,model=4"
                                           << "tp-sp";
        QTest::newRow("context parallel") << "data=2,context=4"
                                          << "cp-ring";
    }
    void aCutSequenceMovesOneToken()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        const auto all = planOnly(prefill(qPrintable(mesh), qPrintable(preset), Logits::All)).value();
        const auto last = planOnly(prefill(qPrintable(mesh), qPrintable(preset), Logits::Last)).value();
        std::int64_t bytes = 0;
        for (const Collective& it : last->plan.collectives)
            if (last->plan.segment(it.plannedSegment).name == "head" && it.kind != CollectiveKind::LocalSlice
                && last->graph.tensor(it.tensor).role != TensorRole::Weight)
                bytes += it.count * it.bytes;
        QVERIFY2(bytes <= 2 * kBatch / 2 * (kHidden + kVocabulary) * 2, std::to_string(bytes).c_str());
        QVERIFY(last->plan.seconds() < all->plan.seconds());
        QVERIFY(last->plan.memory.peak <= all->plan.memory.peak);
    }

    /// What the table of logits does not do is no work of the model.
    void flopsOfTheModel()
    {
        const auto all = planOnly(prefill("data=2,model=4", "megatron-tp", Logits::All)).value();
        const auto last = planOnly(prefill("data=2,model=4", "megatron-tp", Logits::Last)).value();
        const double left = 2.0 * kVocabulary * kHidden * static_cast<double>(kBatch * (kSequence - 1));
        QCOMPARE(all->plan.performance.modelFlops - last->plan.performance.modelFlops, left);
        QCOMPARE(all->plan.performance.tokens, last->plan.performance.tokens);
    }
};

SHARDBOARD_TEST(TestLogits)
#include "tst_logits.moc"
