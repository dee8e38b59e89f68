// SPDX-License-Identifier: Apache-2.0
// Bytes over each level of the hardware, against collectives that are carried out here: who holds which part and sends it to whom
// is followed device by device, and the level that a pair of devices meets on follows from their ids.
#include "model/cost/leveltraffic.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/traffic.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>

using namespace shardboard;

namespace {

Hardware threeLevels()
{
    Hardware out = twoLevelHardware(4, *findLink("nvlink4"), *findLink("ib-ndr"));
    out.levels.back().size = 3; // racks of three nodes
    Level outer;
    outer.fabric = Fabric::FatTree;
    outer.link = *findLink("ib-ndr");
    out.levels.push_back(outer);
    return out;
}

/// The level on which two devices meet.
std::size_t meeting(std::int64_t a, std::int64_t b, const Hardware& hardware)
{
    for (std::size_t level = 0; level < hardware.levels.size(); ++level) {
        const std::int64_t size = hardware.levels[level].size;
        a = size > 0 ? a / size : 0;
        b = size > 0 ? b / size : 0;
        if (a == b)
            return level;
    }
    return hardware.levels.size() - 1;
}

/// Crossings of each level on the way from one device to all others, over as few outer levels as can be: a spanning tree of least
/// weight among all pairs of them.
std::vector<double> spanned(const std::vector<std::int64_t>& ids, const Hardware& hardware)
{
    std::vector<double> out(hardware.levels.size());
    std::vector<std::size_t> tree(ids.size()); // by device: the part of the tree that it is in so far
    std::iota(tree.begin(), tree.end(), std::size_t { 0 });
    for (std::size_t level = 0; level < out.size(); ++level)
        for (std::size_t i = 0; i < ids.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                if (tree[i] != tree[k] && meeting(ids[i], ids[k], hardware) == level) {
                    out[level] += 1;
                    std::ranges::replace(tree, std::size_t { tree[i] }, std::size_t { tree[k] });
                }
    return out;
}

/// An all-gather of what each device has an n-th of, sent by each on average.
std::vector<double> gathered(const std::vector<std::int64_t>& ids, const Hardware& hardware, double bytes)
{
    const auto n = static_cast<double>(ids.size());
    std::vector<double> out(hardware.levels.size());
    for (std::size_t part = 0; part < ids.size(); ++part) {
        const auto crossings = spanned(ids, hardware);
        for (std::size_t level = 0; level < out.size(); ++level)
            out[level] += crossings[level] * bytes / n / n;
    }
    return out;
}

/// Sums in the switch of an island: for each device an n-th is read from all of them, and its sum written once.
std::vector<double> summedInSwitch(const std::vector<std::int64_t>& ids, const Hardware& hardware, double bytes)
{
    const auto n = static_cast<double>(ids.size());
    std::vector<double> out(hardware.levels.size());
    for (std::size_t owner = 0; owner < ids.size(); ++owner) {
        for (std::size_t from = 0; from < ids.size(); ++from)
            out[meeting(ids[from], ids[(from + 1) % ids.size()], hardware)] += bytes / n / n;
        out[meeting(ids[owner], ids[(owner + 1) % ids.size()], hardware)] += bytes / n / n;
    }
    return out;
}

std::vector<double> exchanged(const std::vector<std::int64_t>& ids, const Hardware& hardware, double bytes)
{
    std::vector<double> out(hardware.levels.size());
    const auto n = static_cast<double>(ids.size());
    for (const std::int64_t a : ids)
        for (const std::int64_t b : ids)
            if (a != b)
                out[meeting(a, b, hardware)] += bytes / n / n;
    return out;
}

std::vector<double> passedOn(const std::vector<std::int64_t>& ids, const Hardware& hardware, double bytes, bool ring)
{
    std::vector<double> out(hardware.levels.size());
    for (std::size_t i = 0; i + (ring ? 0 : 1) < ids.size(); ++i)
        out[meeting(ids[i], ids[(i + 1) % ids.size()], hardware)] += bytes / static_cast<double>(ids.size());
    return out;
}

bool same(const std::vector<double>& a, const std::vector<double>& b)
{
    bool out = a.size() == b.size();
    for (std::size_t i = 0; out && i < a.size(); ++i)
        out = std::abs(a[i] - b[i]) <= 1e-9 * std::max(1.0, std::abs(b[i]));
    return out;
}

using OneGroup = std::function<std::vector<double>(const std::vector<std::int64_t>&)>;

/// On average over all device groups of the mesh.
std::vector<double> averaged(const Mesh& mesh, const std::vector<int>& axes, const OneGroup& of)
{
    std::vector<double> out;
    double groups = 0;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        const auto group = mesh.group(position, axes);
        if (group.front() != position)
            continue;
        std::vector<std::int64_t> ids;
        for (const std::int64_t member : group)
            ids.push_back(mesh.deviceId(member));
        const auto here = of(ids);
        out.resize(here.size());
        for (std::size_t level = 0; level < here.size(); ++level)
            out[level] += here[level];
        ++groups;
    }
    for (double& bytes : out)
        bytes /= groups;
    return out;
}

/// A plan's traffic, from one device to the other.
struct Recount {
    Recount(const Evaluation& evaluation, const Hardware& on)
        : graph(evaluation.graph)
        , plan(evaluation.plan)
        , hardware(on)
        , stages(plan.pipeline ? plan.mesh.axis(plan.pipeline->axis).size : 1)
    {
        std::vector<double> seconds(plan.segments.size());
        for (std::size_t s = 0; s < seconds.size(); ++s)
            for (const PlannedOp& op : plan.segments[s].ops)
                seconds[s] += op.seconds * static_cast<double>(op.count);
        for (const Collective& collective : plan.collectives)
            if (!isSend(collective))
                seconds[collective.plannedSegment] += collective.seconds * static_cast<double>(collective.count);
        std::map<std::string, double> ends;
        for (std::size_t s = 0; s < seconds.size(); ++s)
            if (!isLayer(PlannedSegmentId(s)))
                ends[nameOf(PlannedSegmentId(s))] += seconds[s];
        for (const auto& [name, time] : ends)
            if (longest.empty() || time > ends[longest])
                longest = name;
    }

    bool isSend(const Collective& it) const
    {
        return plan.pipeline && it.kind == CollectiveKind::SendRecv && it.axes == std::vector { plan.pipeline->axis };
    }
    const Segment& segmentOf(PlannedSegmentId id) const { return graph.segment(plan.segment(id).segment); }
    bool isLayer(PlannedSegmentId id) const { return segmentOf(id).isLayer; }
    std::string nameOf(PlannedSegmentId id) const
    {
        const Segment& it = segmentOf(id);
        return it.of.valid() ? graph.segment(it.of).name : it.name;
    }
    /// How often a device of the busiest stage takes part; layers divide by the stages here.
    double times(const Collective& it) const
    {
        const auto count = static_cast<double>(it.count);
        if (stages == 1)
            return count;
        if (isSend(it) || isLayer(it.plannedSegment))
            return count / static_cast<double>(stages);
        return nameOf(it.plannedSegment) == longest ? count : 0;
    }

    /// Mesh axes over which the parts of a send are gathered.
    std::vector<int> gatheredOver(const Collective& it) const
    {
        std::vector<int> out;
        const auto words = QString::fromStdString(it.algorithm).section(QStringLiteral("all-gather over "), 1);
        for (const QString& name : words.split(QStringLiteral(", "), Qt::SkipEmptyParts))
            out.push_back(plan.mesh.find(name.toStdString()));
        return out;
    }

    /// All sends of a step, a device on average.
    std::vector<double> sent(const Collective& it) const
    {
        std::vector<double> out(hardware.levels.size());
        const Mesh& mesh = plan.mesh;
        const int axis = it.axes.front();
        const std::vector<int> gathering = gatheredOver(it);
        const double parts = static_cast<double>(mesh.groupSize(gathering));
        std::int64_t sends = 0;
        const auto send = [&](std::int64_t from, std::int64_t to, std::int64_t times) {
            sends += times;
            for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
                if (mesh.coordinate(position, axis) == from) {
                    const std::int64_t other = position + (to - from) * mesh.stride(axis);
                    out[meeting(mesh.deviceId(position), mesh.deviceId(other), hardware)] +=
                        static_cast<double>(times) * static_cast<double>(it.bytes) / parts;
                }
            if (parts < 2)
                return;
            const auto each =
                averaged(mesh, gathering, [&](const auto& ids) { return gathered(ids, hardware, static_cast<double>(it.bytes)); });
            for (std::size_t level = 0; level < each.size(); ++level) // on every device of a stage
                out[level] += each[level] * static_cast<double>(times * mesh.deviceCount() / stages);
        };
        if (!isLayer(it.plannedSegment))
            send(0, stages - 1, it.count);
        else
            for (std::int64_t run = 1; run < stages * plan.pipeline->chunks; ++run)
                send((run - 1) % stages, run % stages, plan.microBatches);
        for (double& bytes : out)
            bytes /= static_cast<double>(mesh.deviceCount());
        return sends == it.count ? out : std::vector<double>();
    }

    std::vector<double> moved(const Collective& it) const
    {
        if (isSend(it))
            return sent(it);
        const auto bytes = static_cast<double>(it.bytes);
        auto out = averaged(plan.mesh, it.axes, [&](const std::vector<std::int64_t>& ids) {
            if (it.kind == CollectiveKind::AllToAll)
                return exchanged(ids, hardware, bytes);
            if (it.kind == CollectiveKind::SendRecv)
                return passedOn(ids, hardware, bytes, true);
            if (it.kind == CollectiveKind::AllReduce && it.algorithm == "NVLS")
                return summedInSwitch(ids, hardware, bytes);
            if (it.kind == CollectiveKind::AllReduce && it.algorithm == "NVLS tree") { // in each node's switch, and between nodes
                auto tree = gathered(ids, hardware, 2 * bytes);
                std::map<std::int64_t, std::vector<std::int64_t>> nodes;
                for (const std::int64_t id : ids)
                    nodes[id / hardware.devicesPerNode()].push_back(id);
                tree[0] = 0;
                for (const auto& [node, members] : nodes)
                    if (members.size() > 1)
                        tree[0] += summedInSwitch(members, hardware, bytes)[0] * static_cast<double>(members.size())
                            / static_cast<double>(ids.size());
                return tree;
            }
            return gathered(ids, hardware, it.kind == CollectiveKind::AllReduce ? 2 * bytes : bytes);
        });
        for (double& each : out)
            each *= times(it);
        return out;
    }

    std::vector<LevelTraffic> all() const
    {
        std::vector<LevelTraffic> out(hardware.levels.size());
        for (const Collective& it : plan.collectives) {
            if (it.kind == CollectiveKind::LocalSlice || it.groupSize < 2)
                continue;
            const auto bytes = moved(it);
            if (bytes.empty())
                return {};
            for (std::size_t level = 0; level < bytes.size(); ++level)
                out[level].bytes += bytes[level];
            const auto reach = averaged(plan.mesh, it.axes, [&](const auto& ids) { return spanned(ids, hardware); });
            std::size_t widest = reach.size() - 1;
            while (widest > 0 && reach[widest] == 0)
                --widest;
            out[widest].seconds += times(it) * it.seconds;
        }
        return out;
    }

    const Graph& graph;
    const Plan& plan;
    const Hardware& hardware;
    std::int64_t stages;
    std::string longest; ///< of embedding and head the one that takes longer, with its update
};

std::shared_ptr<const Evaluation> trained(const char* model, const char* mesh, const char* preset, std::int64_t microBatches = 1)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model = builtinModel(model).value();
    design.workload = { WorkloadKind::Train, 32, 2048, DType::BF16 };
    design.workload.microBatches = microBatches;
    return applyPreset(design, preset).ok() ? evaluate(design).value() : nullptr;
}

} // namespace

class TestTraffic : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void collectivesOverLevels_data();
    void collectivesOverLevels();
    void sumsInSwitches();
    void ofAPlan_data();
    void ofAPlan();
    void sendsOfStages();
    void bytesOfOneStage();
    void onceToANode();
    void nothingMovesOnOneDevice();
};

void TestTraffic::collectivesOverLevels_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<int>("shuffled");
    for (const char* mesh : { "a=5,b=3,c=2,d=2", "a=9", "a=2,b=6", "a=4,b=3", "a=3,b=5", "a=2,b=3,c=3" }) // racks of 3 nodes of 4
        for (const int shuffled : { 0, 1 })
            QTest::addRow("%s%s", mesh, shuffled ? ", shuffled" : "") << QString::fromLatin1(mesh) << shuffled;
}

void TestTraffic::collectivesOverLevels()
{
    QFETCH(QString, mesh);
    QFETCH(int, shuffled);
    const Hardware hardware = threeLevels();
    Mesh on = Mesh::parse(mesh.toStdString()).value();
    if (shuffled != 0) {
        std::vector<std::int64_t> ids(static_cast<std::size_t>(on.deviceCount()));
        std::iota(ids.begin(), ids.end(), 0);
        std::ranges::shuffle(ids, std::mt19937(7));
        on = Mesh::make(on.axes(), ids).value();
    }
    constexpr double kBytes = 7200;
    for (int mask = 1; mask < 1 << on.axisCount(); ++mask) {
        std::vector<int> axes;
        for (int axis = 0; axis < on.axisCount(); ++axis)
            if ((mask >> axis & 1) != 0)
                axes.push_back(axis);
        const auto wanted = [&](const OneGroup& of) { return averaged(on, axes, of); };
        const auto all = wanted([&](const auto& ids) { return gathered(ids, hardware, kBytes); });
        const auto twice = wanted([&](const auto& ids) { return gathered(ids, hardware, 2 * kBytes); });
        const auto parts = wanted([&](const auto& ids) { return exchanged(ids, hardware, kBytes); });
        const auto ring = wanted([&](const auto& ids) { return passedOn(ids, hardware, kBytes, true); });
        const auto line = wanted([&](const auto& ids) { return passedOn(ids, hardware, kBytes, false); });
        const auto reach = levelReach(axes, on, hardware);
        for (const CollectiveKind kind : { CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::Broadcast })
            QVERIFY(same(bytesByLevel(kind, reach, kBytes), all));
        QVERIFY(same(bytesByLevel(CollectiveKind::AllReduce, reach, kBytes), twice));
        QVERIFY(same(bytesByLevel(CollectiveKind::AllToAll, reach, kBytes), parts));
        QVERIFY(same(bytesByLevel(CollectiveKind::SendRecv, reach, kBytes, SendPattern::Ring), ring));
        QVERIFY(same(bytesByLevel(CollectiveKind::SendRecv, reach, kBytes, SendPattern::Line), line));
        for (const double bytes : bytesByLevel(CollectiveKind::LocalSlice, reach, kBytes))
            QCOMPARE(bytes, 0.0);
    }
}

/// A device reads and writes what hardware.h says: (1 + 1/n) S in an island's switch; over a network whose switches sum, its share
/// of S once.
void TestTraffic::sumsInSwitches()
{
    const Hardware hardware = threeLevels();
    constexpr double kBytes = 7200;
    const Mesh mesh = Mesh::parse("a=3,b=4").value(); // three nodes of four
    const auto bytes = [&](const std::vector<int>& axes, const std::vector<SwitchSum>& sums) {
        return bytesByLevel(CollectiveKind::AllReduce, levelReach(axes, mesh, hardware), kBytes, SendPattern::Anywhere, sums);
    };
    using enum SwitchSum;
    const auto island = averaged(mesh, { 1 }, [&](const auto& ids) { return summedInSwitch(ids, hardware, kBytes); });
    QVERIFY(same(bytes({ 1 }, { Island, None, None }), island));
    QVERIFY(same(bytes({ 1 }, { Island, None, None }), { kBytes * 5 / 4, 0, 0 }));
    QVERIFY(same(bytes({ 0 }, { None, Network, None }), { 0, kBytes, 0 }));
    QVERIFY(same(bytes({ 0, 1 }, { Island, Network, None }), { kBytes * 5 / 4, kBytes / 4, 0 }));
    QVERIFY(same(bytes({ 0, 1 }, { None, Network, None }), { kBytes * 6 / 4, kBytes / 4, 0 }));
    // In plans, by the algorithm that each collective takes.
    Plan plan;
    plan.mesh = Mesh::parse("data=2,model=8").value();
    Graph graph;
    Segment segment;
    graph.segments.push_back(segment);
    plan.segments.push_back({});
    const Hardware sharp = findHardware("dgx-h100-sharp").value();
    for (const auto& [algorithm, inside, between] :
         { std::tuple("ring", 14.0 / 8, 1.0 / 8), std::tuple("SHARP", 9.0 / 8, 1.0 / 8), std::tuple("NVLS tree", 9.0 / 8, 1.0 / 8),
           std::tuple("reduce-scatter by NVLS, all-reduce by SHARP, all-gather by NVLS", 14.0 / 8, 1.0 / 8) }) {
        Collective sum;
        sum.axes = { 0, 1 };
        sum.groupSize = 16;
        sum.bytes = 1 << 20;
        sum.algorithm = algorithm;
        plan.collectives = { sum };
        const auto told = trafficOf(graph, plan, sharp);
        QCOMPARE(told[0].bytes, inside * (1 << 20));
        QCOMPARE(told[1].bytes, between * (1 << 20));
    }
    plan.mesh = Mesh::parse("data=4,model=8").value();
    for (const auto& [algorithm, between] : { std::pair("ring", 6.0 / 4 / 8), std::pair("SHARP", 1.0 / 8) }) {
        plan.collectives.front().algorithm = algorithm;
        QCOMPARE(trafficOf(graph, plan, sharp)[1].bytes, between * (1 << 20));
    }
}

void TestTraffic::ofAPlan_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("microBatches");
    const auto row = [](const char* name, const char* model, const char* mesh, const char* preset, int microBatches = 1) {
        QTest::newRow(name) << QString::fromLatin1(model) << QString::fromLatin1(mesh) << QString::fromLatin1(preset)
                            << microBatches;
    };
    row("one node", "llama3-8b", "data=2,model=4", "megatron-tp");
    row("two levels", "llama3-8b", "data=4,fsdp=4,model=4", "tp+fsdp");
    row("an axis over both", "llama3-8b", "fsdp=32", "fsdp");
    row("uneven", "llama3-8b", "data=2,model=6", "megatron-tp");
    row("experts", "mixtral-8x7b", "data=4,expert=8", "ep");
    row("pipeline", "llama3-8b", "pipe=4,data=4,model=2", "pp-1f1b", 8);
    row("stages in a node", "llama3-8b", "pipe=4,model=2", "pp-1f1b", 8);
    row("long pipeline", "llama3-8b", "pipe=32,data=2", "pp-1f1b", 16);
    row("two runs on a stage", "llama3-8b", "pipe=4,data=2,model=2", "pp-interleaved", 8);
    row("shared table", "qwen2.5-0.5b", "pipe=4,data=4,model=2", "pp-1f1b", 8);
    row("one stage", "llama3-8b", "pipe=1,data=8", "pp-1f1b", 2);
}

void TestTraffic::ofAPlan()
{
    QFETCH(QString, model);
    QFETCH(QString, mesh);
    QFETCH(QString, preset);
    QFETCH(int, microBatches);
    const auto evaluation = trained(qPrintable(model), qPrintable(mesh), qPrintable(preset), microBatches);
    QVERIFY(evaluation);
    const Plan& plan = evaluation->plan;
    QCOMPARE(plan.pipeline.has_value(), preset.startsWith(QLatin1String("pp-")));
    const Hardware hardware = findHardware("dgx-h100").value();
    const auto told = trafficOf(evaluation->graph, plan, hardware);
    const auto wanted = Recount(*evaluation, hardware).all();
    QCOMPARE(told.size(), wanted.size());
    double seconds = 0;
    double bytes = 0;
    for (std::size_t level = 0; level < told.size(); ++level) {
        QVERIFY2(std::abs(told[level].bytes - wanted[level].bytes) <= 1e-6 * std::max(1.0, wanted[level].bytes),
                 qPrintable(QStringLiteral("level %1: %2, wanted %3").arg(level).arg(told[level].bytes).arg(wanted[level].bytes)));
        QVERIFY(std::abs(told[level].seconds - wanted[level].seconds) <= 1e-9 * std::max(1.0, wanted[level].seconds));
        seconds += told[level].seconds;
        bytes += told[level].bytes;
    }
    QVERIFY(bytes > 0);
    // No time is lost or counted twice: it is that of one device, which the cost view tells, but for sends, which are an average
    // here.
    double ofDevice = plan.device.collectives;
    for (const Collective& it : plan.collectives)
        if (plan.pipeline && isStageSend(plan, it)) {
            const double all = it.seconds * static_cast<double>(it.count);
            const double own = stageShare(evaluation->graph, plan, it, plan.pipeline->busiestStage);
            ofDevice += all * (1.0 / static_cast<double>(plan.pipeline->stages) - own);
        }
    QVERIFY2(std::abs(seconds - ofDevice) <= 1e-9 * seconds,
             qPrintable(QStringLiteral("%1, wanted %2").arg(seconds).arg(ofDevice)));
    QVERIFY(seconds <= plan.seconds());
}

/// 16 MiB of a micro-batch over 3 borders, 8 times each way, of which each of 4 stages has a quarter: 12 sends. Half of each goes
/// over the network, and the two devices that hold it put it together again.
void TestTraffic::sendsOfStages()
{
    const auto evaluation = trained("llama3-8b", "pipe=4,data=4,model=2", "pp-1f1b", 8);
    Plan plan = evaluation->plan;
    std::erase_if(plan.collectives, [](const Collective& it) { return it.kind != CollectiveKind::SendRecv; });
    const auto told = trafficOf(evaluation->graph, plan, findHardware("dgx-h100").value());
    constexpr double kSend = 16 << 20;
    QCOMPARE(told.size(), std::size_t { 2 });
    QCOMPARE(told[0].bytes, 12 * kSend / 2);
    QCOMPARE(told[1].bytes, 12 * kSend / 2);
    QCOMPARE(told[0].seconds, 0.0);
    QCOMPARE(told[1].seconds, 12 * plan.collectives.front().seconds);
}

/// Against all that each stage does: a quarter of the layers' collectives and sends, and those of embedding or head.
void TestTraffic::bytesOfOneStage()
{
    const auto evaluation = trained("llama3-8b", "pipe=4,data=4,model=2", "pp-1f1b", 8);
    const Recount recount(*evaluation, findHardware("dgx-h100").value());
    std::vector<std::int64_t> stages(4);
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        for (const Collective& it : evaluation->plan.collectives) {
            const std::string name = recount.nameOf(it.plannedSegment);
            if (name == "block")
                stages[stage] += it.bytes * it.count / 4;
            else if (stage == (name == "embed" ? 0U : 3U))
                stages[stage] += it.bytes * it.count;
        }
    QCOMPARE(stages.front(), std::int64_t { 6'900'809'728 });
    QCOMPARE(stages.back(), std::int64_t { 6'901'014'528 });
    QCOMPARE(collectiveBytesOfDevice(evaluation->graph, evaluation->plan), stages.back()); // with the head, which takes longest
}

/// Of 8 experts on 8 nodes a token meets 8 (1 - (7/8)^8) = 5.25 nodes: so many copies leave, of 8. In the node a copy for each
/// expert goes to 7 of 8 devices.
void TestTraffic::onceToANode()
{
    const Hardware hardware = findHardware("dgx-h100").value();
    const auto traffic = [&](Dispatch dispatch) {
        Design design;
        design.mesh = Mesh::parse("expert=64").value();
        design.model = builtinModel("deepseek3-671b").value();
        design.workload = { WorkloadKind::Prefill, 128, 4096, DType::BF16 };
        design.workload.dispatch = dispatch;
        (void)applyPreset(design, "ep");
        const auto evaluation = evaluate(design).value();
        Plan plan = evaluation->plan;
        std::erase_if(plan.collectives, [](const Collective& it) { return it.kind != CollectiveKind::AllToAll; });
        return trafficOf(evaluation->graph, plan, hardware);
    };
    const auto each = traffic(Dispatch::PerExpert);
    const auto once = traffic(Dispatch::PerNode);
    QVERIFY(each[1].bytes > 0);
    QVERIFY(std::abs(once[1].bytes / each[1].bytes - (1 - std::pow(7.0 / 8, 8))) < 1e-9);
    QVERIFY(std::abs(once[0].bytes / each[0].bytes - 8) < 1e-9); // 7/8 of all in place of 7/64
}

void TestTraffic::nothingMovesOnOneDevice()
{
    Design design;
    design.mesh = Mesh::parse("model=1").value();
    design.model = builtinModel("llama3-8b").value();
    design.workload = { WorkloadKind::Prefill, 1, 1024, DType::BF16 };
    const auto evaluation = evaluate(design);
    QVERIFY(evaluation.ok());
    for (const LevelTraffic& level : trafficOf(evaluation.value()->graph, evaluation.value()->plan, hardwareOf(design).value()))
        QVERIFY(level == LevelTraffic {});
    QVERIFY(trafficOf(evaluation.value()->graph, evaluation.value()->plan, Hardware {}).empty());
}

SHARDBOARD_TEST(TestTraffic)
#include "tst_traffic.moc"
