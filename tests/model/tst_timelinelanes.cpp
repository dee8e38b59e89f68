// SPDX-License-Identifier: Apache-2.0
// What a timeline shows: lanes of a prediction add up to its step, idle time says its cause, and what is drawn at a zoom is every
// interval once.
#include "model/timeline/blocks.h"
#include "model/timeline/boundby.h"
#include "model/timeline/predictedlanes.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
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
