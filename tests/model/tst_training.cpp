// SPDX-License-Identifier: Apache-2.0
// Training plans: what each preset must come out as, by the papers and the frameworks that made them.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/plan/largestshard.h"
#include "model/plan/memory/segmentprofile.h"
#include "model/plan/memory/timeline.h"
#include "model/plan/pipeline.h"
#include "model/plan/planner/buildplan.h"
#include "model/plan/time/partcosts.h"
#include "model/plan/time/steptime.h"
#include "model/text/contains.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/pipelineend.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <map>

using namespace shardboard;

namespace {

/// A small Llama: 4 layers, 16 heads over 8 KV heads.
Design llama(const char* mesh, const char* preset, WorkloadKind workload = WorkloadKind::Train)
{
    return designOn(mesh, denseModel(4096, 1024, 4096, 4, 16, 8, 64), { workload, 16, 2048, DType::BF16 }, preset);
}

/// `2 all-gather over model` for the collectives of a phase of the layers, one layer's worth; local slices move nothing.
/// Without `ofWeights` those of the gradients of weights are left out.
QStringList collectivesOf(const Evaluation& evaluation, Phase phase, const char* layer = "block", bool ofWeights = true)
{
    std::map<QString, int> count;
    const Plan& plan = evaluation.plan;
    for (const Collective& collective : plan.collectives) {
        const PlannedSegment& segment = plan.segment(collective.plannedSegment);
        if (segment.phase != phase || segment.name != layer || collective.kind == CollectiveKind::LocalSlice)
            continue;
        if (!ofWeights && evaluation.graph.op(collective.op).kind == OpKind::ReduceGrad)
            continue;
        QStringList axes;
        for (const int axis : collective.axes)
            axes << QString::fromStdString(plan.mesh.axis(axis).name);
        ++count[QString::fromStdString(collectiveName(collective.kind)) + " over " + axes.join("+")];
    }
    QStringList out;
    for (const auto& [what, times] : count)
        out << QString::number(times) + " " + what;
    return out;
}

} // namespace

class TestTraining : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void presets_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QStringList>("forward");
        QTest::addColumn<QStringList>("backward");
        // arXiv 1909.08053: two all-reduces forward, two backward.
        dataRow("Megatron", "model=8", "megatron-tp", QStringList { "2 all-reduce over model" },
                QStringList { "2 all-reduce over model" });
        dataRow("Megatron with data", "data=2,model=4", "megatron-tp", QStringList { "2 all-reduce over model" },
                QStringList { "9 all-reduce over data", "2 all-reduce over model" });
        // arXiv 2205.05198: all-gather and reduce-scatter in place of each all-reduce; backward the inputs are gathered once more.
        // The two norms work on parts of the sequence, so that their weights' gradients are sums over the axis too.
        dataRow("sequence parallel", "model=8", "tp-sp", QStringList { "2 all-gather over model", "2 reduce-scatter over model" },
                QStringList { "4 all-gather over model", "2 all-reduce over model", "2 reduce-scatter over model" });
        // arXiv 1910.02054, stage 3: weights gathered forward and backward, gradients reduce-scattered.
        dataRow("FSDP", "fsdp=8", "fsdp", QStringList { "9 all-gather over fsdp" },
                QStringList { "9 all-gather over fsdp", "9 reduce-scatter over fsdp" });
        dataRow("FSDP over data", "data=8", "fsdp", QStringList { "9 all-gather over data" },
                QStringList { "9 all-gather over data", "9 reduce-scatter over data" });
        dataRow("HSDP", "data=2,fsdp=4", "hsdp", QStringList { "9 all-gather over fsdp" },
                QStringList { "9 all-gather over fsdp", "9 all-reduce over data", "9 reduce-scatter over fsdp" });
        dataRow("TP and FSDP", "fsdp=4,model=4", "tp+fsdp", QStringList { "9 all-gather over fsdp", "2 all-reduce over model" },
                QStringList { "9 all-gather over fsdp", "2 all-reduce over model", "9 reduce-scatter over fsdp" });
        dataRow("context, gathered", "context=8", "cp-all-gather", QStringList { "2 all-gather over context" },
                QStringList { "2 all-gather over context", "9 all-reduce over context", "2 reduce-scatter over context" });
        // arXiv 2309.14509: four all-to-alls forward, four backward.
        dataRow("Ulysses", "context=8", "cp-ulysses", QStringList { "4 all-to-all over context" },
                QStringList { "9 all-reduce over context", "4 all-to-all over context" });
        // Keys and values go around for the gradients of the queries, queries and what came with them for those of keys and values.
        dataRow("ring", "context=8", "cp-ring", QStringList { "2 send-recv over context" },
                QStringList { "9 all-reduce over context", "4 send-recv over context" });
        dataRow("replicated weights", "data=8", "replicate", QStringList {}, QStringList { "9 all-reduce over data" });
    }
    void presets()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        const auto evaluation = evaluate(llama(qPrintable(mesh), qPrintable(preset))).value();
        QTEST(collectivesOf(*evaluation, Phase::Forward), "forward");
        QTEST(collectivesOf(*evaluation, Phase::Backward), "backward");
        QCOMPARE(collectivesOf(*evaluation, Phase::Update), QStringList {});
        for (const PlannedSegment& segment : evaluation->plan.segments)
            for (const PlannedOp& op : segment.ops)
                QVERIFY2(op.unmet.empty(), evaluation->graph.op(op.op).name.c_str());
    }

    void partialSumsAreReducedOnce_data()
    {
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<bool>("qkNorm");
        QTest::addColumn<int>("bias");
        QTest::addColumn<bool>("mla");
        QTest::addColumn<int>("queryRank");
        QTest::addColumn<int>("experts");
        QTest::addColumn<int>("shared");
        for (const int kvHeads : { 16, 8, 2, 1 })
            for (const bool qkNorm : { false, true })
                QTest::addRow("%d KV heads%s", kvHeads, qkNorm ? ", norms" : "") << kvHeads << qkNorm << 0 << false << 0 << 0 << 0;
        QTest::newRow("biases") << 2 << true << static_cast<int>(AttentionBias::Qkv) << false << 0 << 0 << 0;
        QTest::newRow("latent") << 16 << false << 0 << true << 0 << 0 << 0;
        QTest::newRow("latent queries") << 16 << false << 0 << true << 96 << 0 << 0;
        QTest::newRow("experts") << 8 << false << 0 << false << 0 << 8 << 0;
        QTest::newRow("shared experts") << 2 << true << 0 << false << 0 << 8 << 2;
        QTest::newRow("latent, shared experts") << 16 << false << 0 << true << 96 << 8 << 1;
    }
    /// Whatever a block has inside, it gives back one sum for attention and one for the MLP (arXiv 1909.08053, 2205.05198).
    void partialSumsAreReducedOnce()
    {
        QFETCH(int, kvHeads);
        QFETCH(bool, qkNorm);
        QFETCH(int, bias);
        QFETCH(bool, mla);
        QFETCH(int, queryRank);
        QFETCH(int, experts);
        QFETCH(int, shared);
        Design design = llama("model=8", "replicate");
        design.model.kvHeads = kvHeads;
        design.model.qkNorm = qkNorm;
        design.model.attentionBias = static_cast<AttentionBias>(bias);
        if (mla)
            design.model.mla = { queryRank, 128, 48, 16, 32 };
        if (experts > 0) {
            design.model.moe.experts = experts;
            design.model.moe.chosen = 2;
            design.model.moe.intermediateSize = 512;
            design.model.moe.sharedExperts = shared;
        }
        const char* block = experts > 0 ? "moe block" : "block";
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        const auto tensor = evaluate(design).value();
        const std::int64_t stream = 16 * 2048 * 1024 * 2;
        QCOMPARE(collectivesOf(*tensor, Phase::Forward, block, false), QStringList { "2 all-reduce over model" });
        QCOMPARE(collectivesOf(*tensor, Phase::Backward, block, false), QStringList { "2 all-reduce over model" });
        QVERIFY(applyPreset(design, "tp-sp").ok());
        const auto sequence = evaluate(design).value();
        QCOMPARE(collectivesOf(*sequence, Phase::Forward, block, false),
                 (QStringList { "2 all-gather over model", "2 reduce-scatter over model" }));
        QCOMPARE(collectivesOf(*sequence, Phase::Backward, block, false),
                 (QStringList { "4 all-gather over model", "2 reduce-scatter over model" }));
        for (const auto& evaluation : { tensor, sequence })
            for (const Collective& collective : evaluation->plan.collectives)
                if (evaluation->plan.segment(collective.plannedSegment).name == block
                    && evaluation->graph.op(collective.op).kind != OpKind::ReduceGrad
                    && collective.kind != CollectiveKind::LocalSlice)
                    QCOMPARE(collective.bytes, stream); // not that of a token for every expert that it chose
    }

    /// A weight that two operations of a layer take is gathered once: that of latent attention's decoding, and whatever is
    /// computed again before its gradient.
    void weightsAreGatheredOnce()
    {
        Design design = llama("fsdp=8", "fsdp", WorkloadKind::Decode);
        design.model.kvHeads = design.model.heads;
        design.model.mla = { 0, 128, 48, 16, 32 };
        QVERIFY(applyPreset(design, "fsdp").ok());
        const auto latent = evaluate(design).value();
        // q, kv_a and its norm, kv_b, o, three of the MLP, two norms
        QCOMPARE(collectivesOf(*latent, Phase::Forward), QStringList { "10 all-gather over fsdp" });
        design = llama("fsdp=8", "fsdp");
        design.workload.recompute = Recompute::Full;
        const auto full = evaluate(design).value();
        QCOMPARE(collectivesOf(*full, Phase::Backward), (QStringList { "9 all-gather over fsdp", "9 reduce-scatter over fsdp" }));
        for (const PlannedSegment& segment : full->plan.segments)
            for (const PlannedOp& op : segment.ops)
                for (const OperandUse& use : op.operands)
                    if (full->graph.op(op.op).kind == OpKind::AdamStep)
                        QCOMPARE(use.before, full->plan.layouts[static_cast<std::size_t>(use.tensor)]); // as it is stored
    }

    /// Two all-to-alls forward and two backward for a layer of experts; attention and shared experts gathered over fsdp, the
    /// router and the routed experts not.
    void experts()
    {
        Design design = llama("data=2,fsdp=2,expert=4", "fsdp");
        design.model.moe.experts = 8;
        design.model.moe.chosen = 2;
        design.model.moe.intermediateSize = 512;
        design.model.moe.sharedExperts = 1;
        design.model.moe.firstDense = 1;
        QVERIFY(applyPreset(design, "ep").ok());
        const auto evaluation = evaluate(design).value();
        // q, k, v, o, two norms, and three of the shared expert
        QCOMPARE(collectivesOf(*evaluation, Phase::Forward, "moe block"),
                 (QStringList { "9 all-gather over fsdp", "2 all-to-all over expert" }));
        QCOMPARE(collectivesOf(*evaluation, Phase::Backward, "moe block"),
                 (QStringList { "9 all-gather over fsdp", "9 all-reduce over data+expert", "3 all-reduce over data+fsdp",
                                "1 all-reduce over data+fsdp+expert", "2 all-to-all over expert", "9 reduce-scatter over fsdp" }));
        for (const Collective& collective : evaluation->plan.collectives)
            if (collective.kind == CollectiveKind::AllToAll) { // chosen 2 of 8 rows of 8 experts hold data: 2 rows a token
                const std::int64_t tokens = 16 / 16 * 2048;
                QCOMPARE(collective.bytes, tokens * 2 * 1024 * 2);
            }
    }

    /// Gradients of all weights reach the optimizer in the layout of their weight, whatever the design.
    void everyWeightIsUpdatedWhereItLies()
    {
        for (const char* preset : { "megatron-tp", "tp-sp", "fsdp", "tp+fsdp", "cp-ring" }) {
            const auto evaluation = evaluate(llama("data=2,context=2,fsdp=2,model=2", preset)).value();
            std::int64_t updated = 0;
            for (const PlannedSegment& segment : evaluation->plan.segments)
                for (const PlannedOp& op : segment.ops)
                    if (evaluation->graph.op(op.op).kind == OpKind::AdamStep) {
                        QCOMPARE(op.operands[0].layout, op.operands[1].layout);
                        QCOMPARE(op.operands[0].layout, op.result);
                        updated += segment.count;
                    }
            QCOMPARE(updated, evaluation->graph.weightCount());
        }
    }

    /// Sums over the mesh axes that cut a weight are made in every micro-batch, the others once.
    void microBatches()
    {
        Design design = llama("data=2,fsdp=4", "hsdp");
        design.workload.microBatches = 2;
        design.workload.batch = 32;
        const auto evaluation = evaluate(design).value();
        for (const Collective& collective : evaluation->plan.collectives) {
            const PlannedSegment& segment = evaluation->plan.segment(collective.plannedSegment);
            QCOMPARE(collective.count, segment.count * (segment.phase == Phase::Update ? 1 : 2));
            if (collective.kind == CollectiveKind::AllReduce)
                QCOMPARE(segment.phase, Phase::Update);
        }
        QCOMPARE(collectivesOf(*evaluation, Phase::Update), QStringList { "9 all-reduce over data" });
        QCOMPARE(collectivesOf(*evaluation, Phase::Backward),
                 (QStringList { "9 all-gather over fsdp", "9 reduce-scatter over fsdp" }));
    }

    /// What is computed again is gathered again, and need not be kept.
    void recompute()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        const auto none = evaluate(design).value();
        design.workload.recompute = Recompute::Selective;
        const auto selective = evaluate(design).value();
        design.workload.recompute = Recompute::Full;
        const auto full = evaluate(design).value();
        QVERIFY(selective->plan.memory.kept < none->plan.memory.kept);
        QVERIFY(full->plan.memory.kept < selective->plan.memory.kept);
        QCOMPARE(collectivesOf(*selective, Phase::Backward), collectivesOf(*none, Phase::Backward));
        QVERIFY(collectivesOf(*full, Phase::Backward)
                    .contains("3 all-reduce over model")); // one forward sum again: the MLP's is not needed
        // Of a layer only what enters it is kept: batch 8 of a device, 2048 tokens, 1024 wide, two bytes each.
        const PlannedSegment& block = full->plan.segments[1];
        QCOMPARE(block.kept.size(), std::size_t(1));
        QCOMPARE(block.phase, Phase::Forward);
    }

    void keptActivations_data()
    {
        QTest::addColumn<int>("hidden");
        QTest::addColumn<int>("inner");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("layers");
        QTest::addColumn<qint64>("perToken"); // performance 2.3
        QTest::addColumn<QString>("gib"); // all layers, 8192 tokens: all kept, TP8 with sequence parallel, full recompute
        QTest::newRow("8B") << 4096 << 14336 << 32 << 32 << qint64 { 139392 } << "34.0 4.25 2.00";
        QTest::newRow("70B") << 8192 << 28672 << 64 << 80 << qint64 { 274688 } << "167.7 20.96 10.00";
        QTest::newRow("405B") << 16384 << 53248 << 128 << 126 << qint64 { 520704 } << "500.6 62.57 31.50";
    }
    /// What a Llama layer keeps of a token, by the gradients' own operands.
    void keptActivations()
    {
        QFETCH(int, hidden);
        QFETCH(int, inner);
        QFETCH(int, heads);
        QFETCH(int, layers);
        QFETCH(qint64, perToken);
        QFETCH(QString, gib);
        Design design = llama("model=8", "replicate");
        design.model.hiddenSize = hidden;
        design.model.intermediateSize = inner;
        design.model.heads = heads;
        design.model.headDim = 128;
        design.model.layers = layers;
        design.workload.batch = 1;
        design.workload.sequence = 8192;
        std::int64_t counted = 0; // by the memory of the step
        const auto kept = [&](const char* mesh, const char* preset, Recompute recompute) {
            design.mesh = Mesh::parse(mesh).value();
            design.workload.recompute = recompute;
            sure(applyPreset(design, preset));
            const auto evaluation = evaluate(design).value();
            std::int64_t bytes = 0;
            counted = 0;
            for (const PlannedSegment& segment : evaluation->plan.segments)
                if (segment.name == "block" && segment.phase == Phase::Forward) {
                    bytes += segment.count * segment.statistics;
                    for (const Kept& value : segment.kept) {
                        const TensorSpec& spec = evaluation->graph.tensor(value.tensor);
                        bytes += segment.count * bytesOf(largestShard(spec.shape, value.layout, design.mesh), spec.dtype);
                    }
                }
            const auto profiles = segmentProfiles(evaluation->graph, evaluation->plan);
            for (std::size_t i = 0; i < profiles.size(); ++i)
                if (const PlannedSegment& segment = evaluation->plan.segments[i];
                    segment.name == "block" && segment.phase == Phase::Forward)
                    counted += segment.count * profiles[i].keptActivations;
            return bytes;
        };
        const auto inGiB = [](std::int64_t bytes, int digits) {
            return QString::number(static_cast<double>(bytes) / (1 << 30), 'f', digits);
        };
        const std::int64_t all = kept("data=1", "replicate", Recompute::None);
        QCOMPARE(all, perToken * 8192 * layers);
        QCOMPARE(counted, all);
        const std::int64_t cut = kept("model=8", "tp-sp", Recompute::None);
        QCOMPARE(cut * 8, all);
        QCOMPARE(counted, cut);
        const std::int64_t full = kept("data=1", "replicate", Recompute::Full);
        QCOMPARE(full, std::int64_t { 2 } * hidden * 8192 * layers);
        QCOMPARE(inGiB(all, 1) + " " + inGiB(cut, 2) + " " + inGiB(full, 2), gib);
        // Both norms and the product in the MLP are made again: 2h each, and 2f.
        QCOMPARE(all - kept("data=1", "replicate", Recompute::Selective),
                 (std::int64_t { 4 } * hidden + 2 * inner) * 8192 * layers);
    }

    /// Selective recompute repeats nothing that needs a collective, and says what it repeats.
    void selectiveRepeatsNoCollective()
    {
        for (const char* preset :
             { "replicate", "megatron-tp", "tp-sp", "fsdp", "tp+fsdp", "cp-ring", "cp-all-gather", "cp-ulysses", "ep", "ep+tp" })
            for (const int kind : { 0, 1, 2, 3 }) { // plain, norms of heads and biases, latent, four norms
                Design design = llama("context=2,expert=2,fsdp=2,model=2", "replicate");
                const bool experts = std::string(preset).starts_with("ep") || kind == 2;
                if (experts) {
                    design.model.moe.experts = 8;
                    design.model.moe.chosen = 2;
                    design.model.moe.intermediateSize = 512;
                    design.model.moe.sharedExperts = 1;
                }
                design.model.qkNorm = kind == 1;
                design.model.attentionBias = kind == 1 ? AttentionBias::Qkvo : AttentionBias::None;
                if (kind == 2) {
                    design.model.kvHeads = design.model.heads;
                    design.model.mla = { 96, 128, 48, 16, 32 };
                }
                if (kind == 3)
                    design.model.norm.perLayer = 4;
                const auto applied = applyPreset(design, preset);
                QVERIFY2(applied.ok(), applied.ok() ? "" : applied.error().text().c_str());
                const auto none = evaluate(design).value();
                design.workload.recompute = Recompute::Selective;
                const auto selective = evaluate(design).value();
                const char* block = experts ? "moe block" : "block";
                const QByteArray what = QByteArray(preset) + " " + QByteArray::number(kind);
                QVERIFY2(collectivesOf(*selective, Phase::Backward, block) == collectivesOf(*none, Phase::Backward, block),
                         (what + ": " + collectivesOf(*selective, Phase::Backward, block).join(", ").toUtf8() + " in place of "
                          + collectivesOf(*none, Phase::Backward, block).join(", ").toUtf8())
                             .constData());
                QVERIFY2(selective->plan.memory.activations < none->plan.memory.activations, what.constData());
                for (const PlannedSegment& segment : selective->plan.segments)
                    if (segment.phase == Phase::Backward && segment.name == block) {
                        const auto names = recomputedIn(selective->graph, segment);
                        QVERIFY2(contains(names, "attention in"), what.constData());
                    }
            }
    }

    /// 2 + 2 + 12 bytes a parameter (ZeRO, arXiv 1910.02054), all of it cut by full sharding.
    void memoryOfAdam()
    {
        const auto evaluation = evaluate(llama("fsdp=8", "fsdp")).value();
        const auto timeline = memoryTimeline(evaluation->graph, evaluation->plan);
        const MemoryBytes& memory = timeline.moments.back().bytes; // the last update: all gradients are there
        QCOMPARE(memory.weights * 8, evaluation->parameters * 2);
        QCOMPARE(memory.gradients, memory.weights);
        QCOMPARE(memory.masterWeights, memory.weights * 2);
        QCOMPARE(memory.optimizer, memory.weights * 4);
    }

    /// A single micro-batch passes every stage in turn: the step takes as long as all parts do. With more of them the smaller of
    /// embedding and head is in the bubble once. Parts, with the sends between stages as one of their own, add up to the totals.
    void partsOfAPipelineAddUp()
    {
        for (const std::int64_t microBatches : { 1, 8 }) {
            Design design = llama("stage=4,data=2", "replicate");
            design.model.layers = 16;
            design.workload.kind = WorkloadKind::Prefill;
            design.workload.batch = 32;
            QVERIFY(applyPreset(design, "pp-1f1b").ok());
            design.workload.kind = microBatches == 1 ? WorkloadKind::Decode : WorkloadKind::Train;
            design.workload.microBatches = microBatches;
            const auto it = evaluate(design).value();
            const Plan& plan = it->plan;
            double compute = 0, collectives = 0, exposed = 0;
            std::int64_t moved = 0;
            double ends = 0, layers = 0;
            for (const PartCost& part : partCosts(it->graph, plan)) {
                compute += part.compute;
                collectives += part.collectives;
                exposed += part.exposed;
                moved += part.moved;
                if (part.phase != Phase::Update)
                    (part.name == "block" || part.name == "stage sends" ? layers : ends) += part.seconds();
            }
            const auto sends = partCosts(it->graph, plan).back();
            QCOMPARE(sends.name, std::string("stage sends"));
            QVERIFY(sends.collectives > 0 && sends.moved > 0);
            QCOMPARE(compute, plan.computeSeconds);
            QCOMPARE(collectives, plan.collectiveSeconds);
            QCOMPARE(exposed, plan.exposedSeconds);
            QCOMPARE(moved, plan.collectiveBytes());
            const PlannedPipeline& pipeline = *plan.pipeline;
            QCOMPARE(plan.seconds(), pipeline.stageSeconds + pipeline.bubbleSeconds() + pipeline.updateSeconds);
            if (microBatches == 1)
                QCOMPARE(plan.seconds(), compute + exposed);
            // The busiest stage has a quarter of the layers and one of both ends; it waits for three passes of one micro-batch
            // through the others' layers, and for the other end's.
            QVERIFY(pipeline.endSeconds > 0 && pipeline.endSeconds < ends);
            const double alone = (ends - pipeline.endSeconds) / static_cast<double>(microBatches);
            const double others = 3.0 / static_cast<double>(microBatches) * layers / 4;
            QVERIFY(std::abs(pipeline.bubbleSeconds() / (others + alone) - 1) < 0.05); // sends come at other times
            QVERIFY(std::abs(plan.seconds() / pipelineSeconds(it->graph, plan) - 1) < 1e-9);
        }
    }

    /// A pipeline of one stage is none: nothing is divided, and embedding and head are updated one after the other.
    void pipelineOfOneStage()
    {
        Design design = llama("stage=1,data=8", "replicate");
        design.workload.batch = 32;
        design.workload.microBatches = 2;
        QVERIFY(applyPreset(design, "pp-1f1b").ok());
        QVERIFY(design.pipeline.present());
        const auto staged = evaluate(design).value();
        design.pipeline = {};
        const auto plain = evaluate(design).value();
        QVERIFY(staged->plan.pipeline && !plain->plan.pipeline);
        QCOMPARE(staged->plan.seconds(), plain->plan.seconds());
        QCOMPARE(staged->plan.device.compute, plain->plan.device.compute);
        QCOMPARE(staged->plan.device.collectives, plain->plan.device.collectives);
        QCOMPARE(staged->plan.device.exposed, plain->plan.device.exposed);
        QCOMPARE(staged->plan.device.bubble, 0.0);
        QCOMPARE(collectiveBytesOfDevice(staged->graph, staged->plan), plain->plan.collectiveBytes());
    }

    /// Bubble (p-1)/m, interleaved (p-1)/(vm) (arXiv 2104.04473); what goes from stage to stage; memory of the first stage.
    void pipeline()
    {
        Design design = llama("stage=4", "replicate");
        design.model.layers = 16;
        design.workload.batch = 32;
        design.workload.microBatches = 8;
        Design alone = design;
        alone.mesh = Mesh::parse("data=1").value();
        QVERIFY(applyPreset(alone, "replicate").ok());
        const auto whole = evaluate(alone).value();
        QVERIFY(applyPreset(design, "pp-1f1b").ok());
        const auto oneRun = evaluate(design).value();
        QVERIFY(std::abs(oneRun->plan.pipeline->bubble / (3.0 / 8) - 1) < 0.05); // and the other end's pass
        QVERIFY(std::abs(oneRun->plan.seconds() / pipelineSeconds(oneRun->graph, oneRun->plan) - 1) < 1e-9);
        double layers = 0;
        double end = 0;
        const std::vector<SegmentTime> times = segmentTimes(oneRun->graph, oneRun->plan);
        for (std::size_t s = 0; s < times.size(); ++s)
            if (oneRun->plan.segments[s].phase == Phase::Update) {
                if (oneRun->plan.segments[s].name == "block")
                    layers += times[s].seconds();
                else
                    end = std::max(end, times[s].seconds());
            }
        QVERIFY(layers > 0 && end > 0);
        QCOMPARE(oneRun->plan.pipeline->updateSeconds, layers / 4 + end);
        QVERIFY(applyPreset(design, "pp-interleaved").ok());
        const auto twoRuns = evaluate(design).value();
        QVERIFY(std::abs(twoRuns->plan.pipeline->bubble / (3.0 / 16) - 1) < 0.1);
        QVERIFY(std::abs(twoRuns->plan.seconds() / pipelineSeconds(twoRuns->graph, twoRuns->plan) - 1) < 1e-9);
        QVERIFY(twoRuns->plan.seconds() < oneRun->plan.seconds());
        QCOMPARE(collectivesOf(*oneRun, Phase::Forward), QStringList { "1 send-recv over stage" });
        for (const Collective& send : oneRun->plan.collectives) {
            QCOMPARE(send.count, 3 * 8);
            QCOMPARE(send.bytes, 32 / 8 * 2048 * 1024 * 2);
        }
        for (const Collective& send : twoRuns->plan.collectives)
            QCOMPARE(send.count, 7 * 8);
        // A stage has a quarter of the layers, and embedding or head: of 4096 x 1024 elements each, two bytes; the head has a norm.
        const std::int64_t table = 4096 * 1024 * 2;
        const std::int64_t norm = 1024 * 2;
        const std::int64_t quarter = (whole->plan.memory.weights - 2 * table - norm) / 4;
        const auto& stages = oneRun->plan.pipeline->memory;
        QCOMPARE(stages.size(), std::size_t { 4 });
        for (std::size_t stage = 0; stage < 4; ++stage)
            QCOMPARE(stages[stage].weights, quarter + (stage == 0 ? table : stage == 3 ? table + norm : 0));
        // Four micro-batches in flight on a quarter of the layers; all of one micro-batch's layers without a pipeline.
        QVERIFY(oneRun->plan.memory.kept <= whole->plan.memory.kept);
        QVERIFY(twoRuns->plan.memory.kept > oneRun->plan.memory.kept);
    }

    void refusals()
    {
        Design design = llama("data=8", "replicate");
        const auto text = [&](const char* preset) { return QString::fromStdString(applyPreset(design, preset).error().text()); };
        QCOMPARE(
            text("ep"),
            QString(
                "--preset: preset ep cuts experts, and dense has none; use megatron-tp, fsdp or another preset for dense models"));
        design.mesh = Mesh::parse("expert=8").value();
        design.model.moe = {};
        design.model.moe.experts = 4;
        design.model.moe.chosen = 2;
        design.model.moe.intermediateSize = 64;
        QCOMPARE(text("ep"),
                 QString("--mesh: preset ep cuts 4 experts over 8 devices: some would have none; give the expert axis at most as "
                         "many devices as"
                         " there are experts"));
        design = llama("data=8", "replicate");
        QCOMPARE(text("hsdp"), QString("--mesh: preset hsdp finds no mesh axis to shard weights over in data=8; name one fsdp"));
        QCOMPARE(text("tp-sp"),
                 QString("--mesh: preset tp-sp finds no mesh axis to cut weights over in data=8; name one model, tp or tensor"));
        design.mesh = Mesh::parse("context=16").value();
        QCOMPARE(
            text("cp-ulysses"),
            QString(
                "--preset: preset cp-ulysses cuts heads over the context axis, and 16 heads with 8 KV heads do not divide by 16;"
                " use cp-ring, or a context axis that divides the KV heads"));
        design.workload.kind = WorkloadKind::Decode;
        QCOMPARE(
            text("cp-ring"),
            QString("--preset: preset cp-ring cuts the sequence, and decoding has one new token; use it for prefill or training"));
    }
};

SHARDBOARD_TEST(TestTraining)
#include "tst_training.moc"
