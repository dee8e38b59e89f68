// SPDX-License-Identifier: Apache-2.0
// What a timeline shows: lanes of a prediction add up to its step, idle time says its cause, and what is drawn at a zoom is every
// interval once.
#include "model/plan/memory/segmentprofile.h"
#include "model/plan/time/memoryovertime.h"
#include "model/timeline/blocks.h"
#include "model/timeline/boundby.h"
#include "model/timeline/predictedlanes.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace shardboard;

namespace {

struct LaneCase {
    const char* mesh;
    const char* preset;
    WorkloadKind kind;
    std::int64_t microBatches;
    Overlap overlap;
};

const LaneCase kLaneCases[] = {
    { "data=2,model=4", "megatron-tp", WorkloadKind::Prefill, 1, Overlap::None },
    { "fsdp=4,model=2", "tp+fsdp", WorkloadKind::Train, 1, Overlap::None },
    { "fsdp=4,model=2", "tp+fsdp", WorkloadKind::Train, 2, Overlap::All },
    { "pipe=4,model=2", "pp-1f1b", WorkloadKind::Train, 8, Overlap::None },
};

Design laneDesign(const LaneCase& c)
{
    Workload workload { c.kind, 64, 2048, DType::BF16, c.microBatches };
    workload.overlap = c.overlap;
    return designOn(c.mesh, llama3Model(), workload, c.preset);
}

Timeline lanesOf(const LaneCase& c, const PredictedLanesOptions& options = {})
{
    const Design design = laneDesign(c);
    const auto evaluation = evaluated(design);
    return predictedLanes(evaluation->graph, evaluation->plan, sure(hardwareOf(design)), options);
}

double sumOf(const Lane& lane)
{
    double out = 0;
    for (const LaneInterval& it : lane.intervals)
        out += it.seconds;
    return out;
}

Lane randomLane(std::mt19937& random, std::size_t count, double shortest, double longest)
{
    Lane lane { "g", "l" };
    double at = 0;
    const auto uniform = [&](double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random); };
    for (std::size_t i = 0; i < count; ++i) {
        at += uniform(0, 1) < 0.3 ? uniform(0, longest) : 0;
        const double seconds = shortest * std::pow(longest / shortest, uniform(0, 1));
        lane.intervals.push_back({ at, seconds, 0, -1, -1, -1, static_cast<IntervalKind>(random() % kIntervalKinds) });
        at += seconds;
    }
    return lane;
}

} // namespace

class TestTimelineLanes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The critical path goes from the start of the step to its end without gaps (but for an update's own start), on lanes of
    /// stages; without stages it is the whole lane, and in a pipeline no stage works for longer than it takes.
    void criticalPathIsTheStep()
    {
        for (const LaneCase& c : kLaneCases) {
            const Timeline lanes = lanesOf(c);
            QVERIFY(!lanes.path.empty());
            double covered = 0;
            double at = 0;
            std::set<std::size_t> used;
            for (const PathPart& part : lanes.path) {
                QVERIFY(part.end > part.start && part.start >= at - 1e-9 * lanes.seconds);
                QVERIFY(part.lane < lanes.lanes.size() && lanes.lanes[part.lane].name == "compute");
                covered += part.end - part.start;
                at = part.end;
                used.insert(part.lane);
            }
            QVERIFY(lanes.path.front().start <= 1e-9 * lanes.seconds);
            QVERIFY(std::abs(lanes.path.back().end - lanes.seconds) <= 1e-6 * lanes.seconds);
            QVERIFY(covered >= 0.999 * lanes.seconds && covered <= 1.001 * lanes.seconds);
            QCOMPARE(used.size() > 1, std::string_view(c.preset) == "pp-1f1b");
        }
        std::vector<PathPart> path;
        for (const PathPart& part : { PathPart { 0, 0, 1 }, PathPart { 0, 1, 2 }, PathPart { 1, 2, 3 }, PathPart { 1, 4, 5 } })
            addToPath(path, part);
        QCOMPARE(path.size(), std::size_t { 3 }); // those that follow each other on a lane are one
        QVERIFY(path[0].end == 2 && path[1].end == 3);
    }

    /// Computing, waiting and idling of a stage are the step, whatever the plan.
    void lanesAddUpToTheStep()
    {
        for (const LaneCase& c : kLaneCases) {
            const Timeline lanes = lanesOf(c);
            QVERIFY(lanes.seconds > 0);
            std::set<std::string> groups;
            for (const Lane& lane : lanes.lanes) {
                double end = 0;
                for (const LaneInterval& it : lane.intervals) {
                    QVERIFY2(it.start >= end - 1e-12, c.mesh);
                    QVERIFY2(it.name < lanes.names.size() && it.seconds > 0, c.mesh);
                    end = it.end();
                }
                QVERIFY2(end <= lanes.seconds * (1 + 1e-9), c.mesh);
                groups.insert(lane.group);
                if (lane.name == "compute")
                    QVERIFY2(std::abs(sumOf(lane) - lanes.seconds) <= 1e-6 * lanes.seconds, c.mesh);
            }
            const bool staged = std::string(c.preset) == "pp-1f1b";
            QCOMPARE(groups.size(), std::size_t(staged ? 4 : 1));
        }
    }

    /// What is computed is what the plan says, operation by operation.
    void operationsAreThoseOfThePlan()
    {
        const LaneCase& c = kLaneCases[1];
        const auto evaluation = evaluated(laneDesign(c));
        const Timeline lanes = lanesOf(c);
        std::vector<double> seconds(lanes.items.size(), 0);
        for (const LaneInterval& it : lanes.lanes.front().intervals)
            if (it.item >= 0)
                seconds[static_cast<std::size_t>(it.item)] += it.seconds;
        int seen = 0;
        for (std::size_t i = 0; i < lanes.items.size(); ++i) {
            const TimelineItem& item = lanes.items[i];
            if (!item.operation.valid())
                continue;
            const PlannedOp& op = evaluation->plan.segment(item.segment).ops[item.operation];
            const double wanted = static_cast<double>(op.count) * op.seconds;
            QVERIFY2(std::abs(seconds[i] - wanted) <= 1e-9 + 1e-6 * wanted, item.id.c_str());
            seen += wanted > 0 ? 1 : 0;
            const Phase phase = evaluation->plan.segment(item.segment).phase;
            QCOMPARE(item.drawn == IntervalKind::Forward, phase == Phase::Forward);
            QCOMPARE(item.drawn == IntervalKind::Update, phase == Phase::Update);
        }
        QVERIFY(seen > 20);
    }

    void idleSaysItsCause()
    {
        const Timeline lanes = lanesOf(kLaneCases[3]);
        std::set<std::string> causes;
        for (const Lane& lane : lanes.lanes)
            for (const LaneInterval& it : lane.intervals)
                if (it.kind == IntervalKind::Idle)
                    causes.insert(lanes.nameOf(it));
        QVERIFY(causes.contains("fill: waits for the first micro-batch"));
        QVERIFY(causes.contains("drain: nothing left to do"));
        QVERIFY(causes.contains("waits for stage 1")); // stage 0 for its first backward pass
        QVERIFY(!causes.contains("idle"));
        QVERIFY(!causes.contains("waits for stage 4"));
        const Lane& first = lanes.lanes.front();
        QVERIFY(first.intervals.front().kind == IntervalKind::Forward); // nobody is before stage 0
    }

    void memoryIsThatOfThePlan()
    {
        const LaneCase& c = kLaneCases[1];
        const auto evaluation = evaluated(laneDesign(c));
        const Timeline lanes = lanesOf(c);
        QCOMPARE(lanes.memory.size(), std::size_t { 1 });
        const MemoryLane& memory = lanes.memory.front();
        QVERIFY(memory.predicted && memory.limit > 0);
        QCOMPARE(memory.bytes.size(), memory.causes.size());
        QVERIFY(std::abs(memory.peak() - static_cast<double>(evaluation->plan.memory.peak)) <= 1e-3 * memory.peak());
        QVERIFY(std::ranges::is_sorted(memory.times));
    }

    /// A stage keeps what the layers below need of the micro-batch that it works on, and all of a run for each one that has passed
    /// it forward and not yet backward, counted from the intervals; at the most that is the peak.
    void memoryFollowsMicroBatches()
    {
        for (const auto& [schedule, chunks] : { std::pair { PipelineSchedule::OneForwardOneBackward, 1 },
                                                { PipelineSchedule::OneForwardOneBackward, 2 },
                                                { PipelineSchedule::GPipe, 1 } }) {
            Design design = designOn("stage=4", denseModel(4096, 512, 1024, 16, 8, 4, 64),
                                     { WorkloadKind::Train, 8, 512, DType::BF16, 8 }, "pp-1f1b");
            design.pipeline.schedule = schedule;
            design.pipeline.chunks = chunks;
            const auto evaluation = evaluated(design);
            const Plan& plan = evaluation->plan;
            const StepTimeline timeline(evaluation->graph, plan, plan.kernelShare);
            const auto profiles = segmentProfiles(evaluation->graph, plan);
            std::int64_t layer = 0;
            std::int64_t head = 0;
            for (std::size_t i = 0; i < plan.segments.size(); ++i)
                if (plan.segments[i].phase == Phase::Forward)
                    (evaluation->graph.segment(plan.segments[i].segment).isLayer ? layer : head) = profiles[i].keptActivations;
            const std::int64_t runs = 4 * chunks;
            const std::int64_t each = 16 / runs;
            for (std::int64_t stage = 0; stage < 4; ++stage) {
                const MemoryOverTime memory(evaluation->graph, plan, timeline, stage);
                struct Span {
                    double forward = 0; ///< its end
                    double backward = 1e30; ///< its begin
                };
                std::map<std::pair<std::int64_t, std::int64_t>, Span> spans; // by micro-batch and run
                std::vector<TimelineInterval> operations;
                const auto runOf = [&](const TimelineInterval& it) {
                    const bool first = plan.segment(it.segment).segment.number() == 0 || plan.segment(it.segment).name == "embed";
                    return it.layer >= 0 ? it.layer / each : first ? 0 : runs - 1;
                };
                timeline.visit(stage, [&](const TimelineInterval& it) {
                    if (!it.segment.valid() || !it.operation.valid() || plan.segment(it.segment).phase == Phase::Update)
                        return;
                    operations.push_back(it);
                    Span& span = spans[{ it.microBatch, runOf(it) }];
                    if (plan.segment(it.segment).phase == Phase::Forward)
                        span.forward = std::max(span.forward, it.end);
                    else
                        span.backward = std::min(span.backward, it.start);
                });
                QVERIFY(operations.size() > 100);
                std::int64_t peak = 0;
                for (const TimelineInterval& it : operations) {
                    const PlannedSegment& planned = plan.segment(it.segment);
                    const OpId op = planned.ops[it.operation].op;
                    const std::int64_t run = runOf(it);
                    const auto bytes = memory.at(it.segment, op, it.layer, it.microBatch);
                    QVERIFY(bytes.has_value());
                    const bool begins = run == 0 && it.layer < 0;
                    std::int64_t kept = layer * (it.layer >= 0 ? it.layer - run * each : begins ? 0 : each);
                    const double middle = (it.start + it.end) / 2;
                    for (const auto& [key, span] : spans)
                        if (key != std::pair { it.microBatch, run } && span.forward <= middle && middle <= span.backward)
                            kept += each * layer + (key.second == runs - 1 ? head : 0);
                    QCOMPARE(bytes->kept, kept);
                    peak = std::max(peak, bytes->total());
                }
                const std::int64_t most = plan.pipeline->memory[static_cast<std::size_t>(stage)].peak;
                QVERIFY(std::abs(static_cast<double>(peak - most)) <= 1e-3 * static_cast<double>(most));
            }
        }
    }

    /// Told coarser, it is as long, and a layer is one interval.
    void tooManyAreToldCoarser()
    {
        PredictedLanesOptions few;
        few.mostIntervals = 100;
        const Timeline fine = lanesOf(kLaneCases[1]);
        const Timeline coarse = lanesOf(kLaneCases[1], few);
        QVERIFY(coarse.intervalCount() < fine.intervalCount() / 4);
        QCOMPARE(coarse.seconds, fine.seconds);
        QVERIFY(std::abs(sumOf(coarse.lanes.front()) - fine.seconds) <= 1e-6 * fine.seconds);
        QVERIFY(!coarse.notes.empty() && fine.notes.empty());
    }

    /// At any zoom and place every interval in sight is in exactly one block, and blocks lie in order within the window.
    void everyIntervalIsDrawnOnce()
    {
        std::mt19937 random(7);
        for (int round = 0; round < 400; ++round) {
            const Lane lane = randomLane(random, 1 + random() % 3000, 1e-6, round % 2 == 0 ? 1e-5 : 1e-2);
            const LaneSums sums(lane);
            const double all = lane.intervals.back().end();
            TimeWindow window;
            window.width = 1 + static_cast<int>(random() % 1500);
            window.secondsPerPixel = all / window.width * std::pow(10, -4.0 * static_cast<double>(random() % 1000) / 1000);
            window.from = all * (static_cast<double>(random() % 1100) / 1000 - 0.05);
            std::vector<LaneBlock> blocks;
            laneBlocks(lane, sums, window, blocks);
            double right = 0;
            std::size_t next = 0;
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                const LaneBlock& block = blocks[i];
                QVERIFY(block.left >= right - 1e-6 && block.right >= block.left && block.right <= window.width + 1e-6);
                QVERIFY(i == 0 || block.first == next);
                QVERIFY(block.count > 0 && block.filled >= 0 && block.filled <= 1);
                QVERIFY(block.joined || block.count == 1);
                next = block.first + block.count;
                right = block.right;
                const LaneInterval& first = lane.intervals[block.first];
                const LaneInterval& last = lane.intervals[next - 1];
                // Not further from where they are than the pixels that they are joined in.
                QVERIFY(block.left >= std::clamp(window.pixelOf(first.start), 0.0, 1.0 * window.width) - 1 - 1e-6);
                QVERIFY(block.right >= std::clamp(window.pixelOf(last.start), 0.0, 1.0 * window.width) - 1e-6);
            }
            std::size_t seen = 0;
            for (const LaneInterval& it : lane.intervals)
                if (it.start < window.to() && it.end() > window.from)
                    ++seen;
            std::size_t drawn = 0;
            for (const LaneBlock& block : blocks)
                drawn += block.count;
            QVERIFY2(drawn <= seen + 1 && seen <= drawn + 3,
                     qPrintable(QStringLiteral("%1: %2 of %3").arg(round).arg(drawn).arg(seen)));
            QVERIFY(blocks.size() <= static_cast<std::size_t>(window.width) + 2);
        }
    }

    /// The seconds of a joined block by kind, counted one by one.
    void joinedBlocksSayWhatIsMost()
    {
        std::mt19937 random(3);
        const Lane lane = randomLane(random, 100'000, 1e-6, 2e-6);
        const LaneSums sums(lane);
        for (int round = 0; round < 2000; ++round) {
            const std::size_t first = random() % lane.intervals.size();
            const std::size_t end = std::min(lane.intervals.size(), first + random() % (round % 2 == 0 ? 50 : 5000));
            std::array<double, kIntervalKinds> told {};
            sums.add(lane, first, end, told);
            std::array<double, kIntervalKinds> wanted {};
            for (std::size_t i = first; i < end; ++i)
                wanted[static_cast<std::size_t>(lane.intervals[i].kind)] += lane.intervals[i].seconds;
            for (std::size_t kind = 0; kind < kIntervalKinds; ++kind)
                QVERIFY(std::abs(told[kind] - wanted[kind]) < 1e-9);
        }
    }

    void pointingFindsTheInterval()
    {
        Lane lane { "g", "l" };
        lane.intervals = { { 1, 1 }, { 2, 2 }, { 10, 0.5 } };
        QCOMPARE(intervalAt(lane, 1.5, 0), std::ptrdiff_t { 0 });
        QCOMPARE(intervalAt(lane, 2, 0), std::ptrdiff_t { 1 });
        QCOMPARE(intervalAt(lane, 5, 0.5), std::ptrdiff_t { -1 });
        QCOMPARE(intervalAt(lane, 9.8, 0.5), std::ptrdiff_t { 2 });
        QCOMPARE(intervalAt(lane, 4.2, 0.5), std::ptrdiff_t { 1 });
        QCOMPARE(intervalAt(lane, 0, 1e300), std::ptrdiff_t { 0 });
        QCOMPARE(intervalAt(Lane {}, 0, 1e300), std::ptrdiff_t { -1 });
        QCOMPARE(rulerStep(0.03), 0.05);
        QCOMPARE(rulerStep(1), 1.0);
        QVERIFY(std::abs(rulerStep(6e-7) - 1e-6) < 1e-12);
    }

    /// A large product computes, a norm reads memory, and a decode of one row reads its weights.
    void limitsAreNamed()
    {
        const auto limitOf = [](WorkloadKind kind, std::int64_t batch, const char* name) {
            const Design design = designOn("model=4", llama3Model(), { kind, batch, 4096, DType::BF16 }, "megatron-tp");
            const auto evaluation = evaluated(design);
            const Hardware hardware = sure(hardwareOf(design));
            for (const PlannedSegment& segment : evaluation->plan.segments)
                for (const PlannedOp& op : segment.ops)
                    if (evaluation->graph.op(op.op).name == name)
                        return boundBy(op, hardware);
            return BoundBy {};
        };
        QCOMPARE(limitOf(WorkloadKind::Prefill, 8, "mlp.down_proj").what, std::string("arithmetic"));
        QCOMPARE(limitOf(WorkloadKind::Prefill, 8, "mlp.down_proj").constant, std::string("kernels.gemm_efficiency"));
        QCOMPARE(limitOf(WorkloadKind::Prefill, 8, "input_layernorm").what, std::string("memory"));
        QCOMPARE(limitOf(WorkloadKind::Decode, 1, "mlp.down_proj").what, std::string("memory"));
        QCOMPARE(limitOf(WorkloadKind::Decode, 1, "input_layernorm").what, std::string("kernel start"));
        const Design design = designOn("model=4", llama3Model(), { WorkloadKind::Prefill, 8, 4096, DType::BF16 }, "megatron-tp");
        const auto evaluation = evaluated(design);
        const Hardware hardware = sure(hardwareOf(design));
        for (const Collective& collective : evaluation->plan.collectives)
            if (collective.kind == CollectiveKind::AllReduce)
                QCOMPARE(boundBy(collective, evaluation->plan.mesh, hardware).what, hardware.innerLink().id);
    }
};

SHARDBOARD_TEST(TestTimelineLanes)
#include "tst_timelinelanes.moc"
