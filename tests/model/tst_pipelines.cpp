// SPDX-License-Identifier: Apache-2.0
// Pipelines beyond even stages and 1F1B: virtual stages, layers by hand, embedding and loss counted as layers, and the schedules
// that fill bubbles. Numbers are those of the papers, not of the planner.
#include "model/design/deviceweights.h"
#include "model/plan/memory/stagelayers.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/compiledcost.h"
#include "model/plan/time/pipelineschedule.h"
#include "model/plan/time/reprice.h"
#include "model/plan/time/steptimeline.h"
#include "tests/support/designs.h"
#include "tests/support/pipelineend.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

/// Four stages of a small decoder, in eight micro-batches.
Design staged(std::int64_t layers, const PipelineSpec& spec, const char* mesh = "stage=4", std::int64_t microBatches = 8)
{
    Design design = designOn(mesh, denseModel(4096, 1024, 4096, layers, 16, 8, 64),
                             { WorkloadKind::Train, 8 * microBatches, 2048, DType::BF16, microBatches }, "pp");
    design.pipeline = spec;
    return design;
}

PipelineSpec spec(std::int64_t chunks, std::vector<std::int64_t> layers = {})
{
    PipelineSpec out { "stage", chunks };
    out.layers = std::move(layers);
    return out;
}

PipelineSpec scheduled(PipelineSchedule schedule)
{
    PipelineSpec out { "stage" };
    out.schedule = schedule;
    return out;
}

std::vector<std::int64_t> layersOfStages(const Plan& plan)
{
    std::vector<std::int64_t> out;
    for (std::int64_t stage = 0; stage < plan.pipeline->stages; ++stage)
        out.push_back(layersOfStage(*plan.pipeline, stage));
    return out;
}

QString refusal(const Design& design)
{
    const auto evaluation = evaluate(design);
    return evaluation.ok() ? QString() : QString::fromStdString(evaluation.error().text());
}

/// When the last stage is done with m micro-batches in the order of ZB-H1.
double zeroBubbleEnd(int stages, int m, double forward, double backward, double weights)
{
    struct Stage {
        std::string order; // of passes: f, b, w
        std::size_t next = 0;
        double free = 0;
        std::vector<double> f {}, b {};
    };
    std::vector<Stage> all(static_cast<std::size_t>(stages));
    for (int s = 0; s < stages; ++s) {
        std::string& order = all[static_cast<std::size_t>(s)].order;
        const int ahead = std::min(stages - s - 1, m);
        order.assign(static_cast<std::size_t>(ahead), 'f');
        int made = 0;
        for (int i = ahead; i < m; ++i) {
            order += "fb";
            if (i - ahead + 1 - made > s) {
                order += 'w';
                ++made;
            }
        }
        for (int i = m - ahead; i < m; ++i, ++made)
            order += "bw";
        order.append(static_cast<std::size_t>(m - made), 'w');
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < all.size(); ++s)
            for (Stage& at = all[s]; at.next < at.order.size(); moved = true, ++at.next) {
                const char pass = at.order[at.next];
                double start = at.free;
                if (pass == 'f' && s > 0) {
                    if (all[s - 1].f.size() <= at.f.size())
                        break;
                    start = std::max(start, all[s - 1].f[at.f.size()]);
                } else if (pass == 'b' && s + 1 < all.size()) {
                    if (all[s + 1].b.size() <= at.b.size())
                        break;
                    start = std::max(start, all[s + 1].b[at.b.size()]);
                }
                at.free = start + (pass == 'f' ? forward : pass == 'b' ? backward : weights);
                if (pass != 'w')
                    (pass == 'f' ? at.f : at.b).push_back(at.free);
            }
    }
    return std::ranges::max(all, {}, &Stage::free).free;
}

} // namespace

class TestPipelines : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layersAreWrittenAndRead()
    {
        for (const auto& [text, layers] : { std::pair { "3,4x3,2", std::vector<std::int64_t> { 3, 4, 4, 4, 2 } },
                                            { "4x2", { 4, 4 } },
                                            { "0,7", { 0, 7 } },
                                            { "", {} } }) {
            QCOMPARE(sure(parseStageLayers(text, "x")), layers);
            QCOMPARE(stageLayersText(layers), std::string(text));
        }
        QCOMPARE(sure(parseStageLayers(" 1 , 2 x 2 ", "x")), (std::vector<std::int64_t> { 1, 2, 2 }));
        for (const char* wrong :
             { "a", "3,,2", "-1", "3x", "x3", "3x0", "1x2x3", "99999999999999999999", "1x70000", "4x40000,4x40000" })
            QVERIFY2(!parseStageLayers(wrong, "x").ok(), wrong);
    }

    /// Llama 3.1 405B, as trained: 126 layers on 8 stages of 4 runs with both ends counted are 4 in each run, 3 in the first and
    /// last.
    void endsAreCountedAsLayers()
    {
        PipelineSpec both = spec(4);
        both.countEmbedding = both.countLoss = true;
        Design design = staged(126, both, "stage=8");
        const auto plan = evaluated(design)->plan;
        QCOMPARE(layersOfStages(plan), (std::vector<std::int64_t> { 15, 16, 16, 16, 16, 16, 16, 15 }));
        QCOMPARE(layersOfRun(*plan.pipeline, 0), (Range { 0, 3 }));
        QCOMPARE(layersOfRun(*plan.pipeline, 31), (Range { 123, 126 }));
        QCOMPARE(runOfLayer(*plan.pipeline, 3), std::int64_t { 1 });
        QCOMPARE(stagesOfLayer(*plan.pipeline, 125), std::vector<std::int64_t> { 7 });
    }

    void layersByHand()
    {
        const auto plan = evaluated(staged(61, spec(1, { 16, 16, 16, 13 })))->plan;
        QCOMPARE(layersOfStages(plan), (std::vector<std::int64_t> { 16, 16, 16, 13 }));
        // Of each stage, which its runs share; of each run, of which the last has only the head.
        QCOMPARE(layersOfStages(evaluated(staged(14, spec(2, { 4, 4, 3, 3 })))->plan), (std::vector<std::int64_t> { 4, 4, 3, 3 }));
        QCOMPARE(layersOfStages(evaluated(staged(13, spec(2, { 1, 2, 2, 2, 2, 2, 2, 0 })))->plan),
                 (std::vector<std::int64_t> { 3, 4, 4, 2 }));
        QVERIFY(refusal(staged(16, spec(1, { 4, 4, 4 }))).contains("has 4 stages, and layers are given for 3"));
        QVERIFY(refusal(staged(16, spec(1, { 4, 4, 4, 5 }))).contains("add up to 17, and the model has 16"));
        QVERIFY(refusal(staged(16, spec(1, { 8, 8, 0, 0 }))).contains("stage 2 has no layers"));
        PipelineSpec counted = spec(1, { 4, 4, 4, 4 });
        counted.countLoss = true;
        QVERIFY(refusal(staged(16, counted)).contains("leave no embedding or loss to count"));
    }

    /// Even layers, said by hand, are the same plan; where they are not, the others wait for the stage that takes longest, and each
    /// passes one micro-batch before and after it.
    void timeOfUnevenStages()
    {
        const auto evaluation = evaluated(staged(16, spec(1)));
        const Graph& graph = evaluation->graph;
        const Plan& even = evaluation->plan;
        const auto same = evaluated(staged(16, spec(1, { 4, 4, 4, 4 })))->plan;
        const auto& last = *same.pipeline; // whose head takes longer than the embedding of the first
        QCOMPARE(last.busiestStage, std::int64_t { 3 });
        QCOMPARE(same.seconds(), even.seconds());
        const auto lighter = evaluated(staged(16, spec(1, { 4, 5, 4, 3 })))->plan;
        QCOMPARE(lighter.pipeline->busiestStage, std::int64_t { 1 });
        QVERIFY(lighter.pipeline->bubble > 0 && lighter.pipeline->bubble < 11.0 / (5 * 8) * 1.1); // some of it is hidden
        QCOMPARE(lighter.pipeline->endSeconds, 0.0);
        // Runs without layers take no time, but the stages take turns in another order.
        const auto padded = evaluated(staged(16, spec(2, { 0, 0, 0, 0, 4, 4, 4, 4 })))->plan;
        for (const Plan* plan : { &same, &lighter, &padded }) {
            const double exactly = pipelineSeconds(graph, *plan);
            QVERIFY2(qAbs(plan->seconds() / exactly - 1) < 1e-9, qPrintable(QString::number(plan->seconds() / exactly)));
            QVERIFY(qAbs(plan->device.seconds() / plan->seconds() - 1) < 1e-9); // parts of a device's step add up
        }
    }

    /// ZB-H1 waits (p-1)(F + B - W) where 1F1B waits (p-1)(F + B + W), B without W: a third where they are equal, as those of a
    /// product are (arXiv 2401.10241, table 2); attention and norms have little W. It holds what the first stage of 1F1B holds.
    void zeroBubble()
    {
        const auto plain = evaluated(staged(16, spec(1)))->plan;
        const auto filled = evaluated(staged(16, scheduled(PipelineSchedule::ZeroBubble)))->plan;
        const double share = filled.pipeline->bubble / plain.pipeline->bubble;
        QVERIFY2(share > 1.0 / 3 && share < 0.75, qPrintable(QString::number(share)));
        QVERIFY(filled.seconds() < plain.seconds());
        QCOMPARE(filled.pipeline->stageSeconds, plain.pipeline->stageSeconds);
        for (const std::int64_t stage : { 0, 3 })
            QCOMPARE(microBatchesHeld(filled, stage), 4.0);
        QCOMPARE(filled.pipeline->memory.front().peak, plain.pipeline->memory.front().peak);
        PipelineSpec interleaved = scheduled(PipelineSchedule::ZeroBubble);
        interleaved.chunks = 2;
        QVERIFY(refusal(staged(16, interleaved)).contains("has one run of layers on each stage, and 2 are asked for"));
    }

    /// GPipe takes as long as 1F1B, and every stage keeps what all micro-batches need; forward comes before backward on each.
    void allForwardFirst()
    {
        const auto plain = evaluated(staged(16, spec(1)))->plan;
        const auto evaluation = evaluated(staged(16, scheduled(PipelineSchedule::GPipe)));
        const Plan& plan = evaluation->plan;
        QVERIFY(qAbs(plan.seconds() / plain.seconds() - 1) < 0.05);
        const auto kept = [](const Plan& it, std::size_t stage) { return static_cast<double>(it.pipeline->memory[stage].kept); };
        for (std::size_t stage = 0; stage < 4; ++stage) {
            QCOMPARE(microBatchesHeld(plan, static_cast<std::int64_t>(stage)), static_cast<double>(plan.microBatches));
            QVERIFY(kept(plan, stage) > kept(plain, stage));
        }
        const StepTimeline timeline(evaluation->graph, plan, plan.kernelShare);
        for (const auto& passes : timeline.turns().stages) {
            QCOMPARE(std::ssize(passes), 2 * plan.microBatches);
            for (std::size_t i = 0; i < passes.size(); ++i)
                QVERIFY(passes[i].kind == (i < passes.size() / 2 ? PassKind::Forward : PassKind::Backward));
        }
        PipelineSpec interleaved = scheduled(PipelineSchedule::GPipe);
        interleaved.chunks = 2;
        QVERIFY(refusal(staged(16, interleaved)).contains("GPipe has one run of layers on each stage"));
    }

    /// Against the turns of its passes, one by one: each stage goes p - s - 1 micro-batches ahead, then takes one forward, one
    /// backward, and, once s gradients of weights wait, one of these (Megatron's zb-h1 patch in sail-sg/zero-bubble).
    void zeroBubbleByTurns()
    {
        const double forward = 1;
        const double backward = 1.2;
        const double weights = 0.7;
        for (const int p : { 2, 4, 8 })
            for (const int m : { 1, 2, 3, 4, 8, 12 }) {
                PipelineTask task { PipelineSchedule::ZeroBubble, p, 1, m, true, {}, 0, 0, false };
                for (int stage = 0; stage < p; ++stage)
                    task.runs.push_back({ forward, backward + weights, weights, forward, backward + weights });
                const double end = std::ranges::max(pipelineTurns(task).ends);
                const double wanted = zeroBubbleEnd(p, m, forward, backward, weights);
                QVERIFY2(qAbs(end - wanted) < 1e-9,
                         qPrintable(QStringLiteral("p %1 m %2: %3, %4").arg(p).arg(m).arg(end).arg(wanted)));
            }
    }

    /// What the two copies of a stage's weights add to gradients is summed over the pair: all of them once a step, in the type of
    /// reductions, wherever it is priced.
    void gradientsOfBothCopies()
    {
        Design design = staged(16, scheduled(PipelineSchedule::DualPipe), "stage=4,data=2");
        const auto dual = evaluated(design);
        std::int64_t bytes = 0;
        double seconds = 0;
        for (const Collective& collective : dual->plan.collectives)
            if (collective.kind == CollectiveKind::AllReduce && collective.axes == std::vector<int> { 0 }) {
                QCOMPARE(collective.groupSize, std::int64_t { 2 });
                QVERIFY(dual->plan.segment(collective.plannedSegment).phase == Phase::Update);
                bytes += collective.count * collective.bytes;
                seconds += static_cast<double>(collective.count) * collective.seconds;
            }
        QCOMPARE(bytes, 2 * dual->parameters);
        QVERIFY(seconds > static_cast<double>(bytes) / 450e9); // NVLink, each way
        for (const char* id : { "dgx-h100", "dgx-a100" }) {
            design.hardware = id;
            const Hardware hardware = sure(findHardware(id));
            const double there = evaluated(design)->plan.seconds();
            Plan again = dual->plan;
            reprice(dual->graph, again, hardware, DType::BF16);
            QVERIFY(qAbs(again.seconds() / there - 1) < 1e-9);
        }
        CompiledCost compiled(dual->graph, dual->plan, DType::BF16);
        const double there = compiled.on(sure(findHardware("dgx-h100"))).seconds;
        QVERIFY(qAbs(there / dual->plan.seconds() - 1) < 1e-9);
        QVERIFY(refusal(staged(16, scheduled(PipelineSchedule::DualPipe), "stage=4", 6)).contains("use --micro-batches 8"));
    }

    /// DualPipe: twice the weights, p + 1 micro-batches of a stage, (p/2 - 1)(F + B + B - 3W) of waiting, B with W (DeepSeek-V3,
    /// table 2): of four stages a third of what 1F1B's three wait, times (F + 2B - 3W) / (F + B).
    void dualPipe()
    {
        const auto plain = evaluated(staged(16, spec(1)));
        const auto dual = evaluated(staged(16, scheduled(PipelineSchedule::DualPipe)));
        const PlannedPipeline& pipeline = *dual->plan.pipeline;
        const double share = pipeline.bubble / plain->plan.pipeline->bubble;
        QVERIFY2(share > 2.0 / 9 && share < 4.0 / 9, qPrintable(QString::number(share)));
        QCOMPARE(layersOfStages(dual->plan), (std::vector<std::int64_t> { 8, 8, 8, 8 }));
        QCOMPARE(stagesOfLayer(pipeline, 0), (std::vector<std::int64_t> { 0, 3 }));
        QCOMPARE(stagesOfLayer(pipeline, 4), (std::vector<std::int64_t> { 1, 2 }));
        QCOMPARE(pipeline.memory[1].weights, 2 * plain->plan.pipeline->memory[1].weights);
        QCOMPARE(pipeline.memory[0].weights, pipeline.memory[3].weights); // embedding and head on both
        QCOMPARE(microBatchesHeld(dual->plan, 0), 2.5);
        QVERIFY(qAbs(dual->plan.device.seconds() / dual->plan.seconds() - 1) < 1e-9);
        // The pair of stages with the most layers is the one that the others wait for.
        PipelineSpec uneven = scheduled(PipelineSchedule::DualPipe);
        uneven.layers = { 1, 7, 7, 1 };
        for (const Overlap overlap : { Overlap::None, Overlap::None.with(OverlapKind::Sends) }) {
            Design design = staged(16, uneven);
            design.workload.overlap = overlap;
            const Plan inside = evaluated(design)->plan;
            QCOMPARE(inside.pipeline->busiestStage, std::int64_t { 1 });
            QVERIFY(inside.seconds() > 1.3 * dual->plan.seconds()); // 14 of 16 layers in place of 8
            QVERIFY(qAbs(inside.device.seconds() / inside.seconds() - 1) < 1e-9);
        }
        for (const WeightLayout& weight : dual->weights)
            if (weight.firstLayer < 0)
                QCOMPARE(stagesOf(*dual, weight), (std::vector<std::int64_t> { 0, 3 }));
        QVERIFY(refusal(staged(16, scheduled(PipelineSchedule::DualPipe), "stage=4", 7)).contains("use even numbers of both"));
        Design serving = staged(16, scheduled(PipelineSchedule::DualPipe));
        serving.workload = { WorkloadKind::Prefill, 8, 2048, DType::BF16 };
        QVERIFY(refusal(serving).contains("this workload has no backward pass"));
    }

    /// More virtual stages than two, and what they divide.
    void virtualStages()
    {
        for (const std::int64_t chunks : { 2, 3, 4 }) {
            const auto evaluation = evaluated(staged(48, spec(chunks)));
            const Plan& plan = evaluation->plan;
            const double exactly = pipelineSeconds(evaluation->graph, plan);
            QVERIFY2(qAbs(plan.seconds() / exactly - 1) < 1e-9, qPrintable(QString::number(plan.seconds() / exactly)));
            QVERIFY(qAbs(plan.pipeline->bubble * static_cast<double>(chunks * 8) / 3 - 1) < 0.1); // but for sends and the ends
            QCOMPARE(layersOfStages(plan), (std::vector<std::int64_t> { 12, 12, 12, 12 }));
        }
        QVERIFY(refusal(staged(48, spec(13))).contains("48 layers cannot be cut into 4 stages of 13 runs"));
        QVERIFY(!refusal(staged(48, spec(std::int64_t { 1 } << 40))).isEmpty());
    }
};

SHARDBOARD_TEST(TestPipelines)
#include "tst_pipelines.moc"
