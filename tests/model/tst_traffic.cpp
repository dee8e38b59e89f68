// SPDX-License-Identifier: Apache-2.0
// Bytes over each level of the hardware, against collectives that are carried out here: who holds which part and sends it to whom
// is followed device by device, and the level that a pair of devices meets on follows from their ids.
#include "model/cost/leveltraffic.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/plan/time/traffic.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <set>

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

/// An all-gather, the outermost level first: at each level a device gets what the devices in its place in the other units hold.
std::vector<double> gathered(const std::vector<std::int64_t>& ids, const Hardware& hardware, double bytes)
{
    std::vector<double> out(hardware.levels.size());
    const auto n = static_cast<double>(ids.size());
    std::vector<std::set<std::size_t>> held(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
        held[i] = { i };
    for (std::size_t level = hardware.levels.size(); level-- > 0;) {
        std::int64_t unit = 1; // devices in a member of the level
        for (std::size_t inner = 0; inner < level; ++inner)
            unit *= hardware.levels[inner].size;
        auto next = held;
        for (std::size_t i = 0; i < ids.size(); ++i)
            for (std::size_t k = 0; k < ids.size(); ++k) {
                if (i == k || meeting(ids[i], ids[k], hardware) != level || ids[i] % unit != ids[k] % unit)
                    continue;
                next[i].insert(held[k].begin(), held[k].end());
                out[level] += static_cast<double>(held[k].size()) * bytes / n / n; // of each device on average
            }
        held = next;
    }
    for (const auto& parts : held)
        if (parts.size() != ids.size())
            return {}; // not everybody has everything
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

/// As trafficOf, by the simulations.
std::vector<LevelTraffic> recounted(const Plan& plan, const Hardware& hardware)
{
    std::vector<LevelTraffic> out(hardware.levels.size());
    for (const Collective& collective : plan.collectives) {
        if (collective.kind == CollectiveKind::LocalSlice || collective.groupSize < 2)
            continue;
        std::vector<std::int64_t> ids;
        for (const std::int64_t position : plan.mesh.group(0, collective.axes))
            ids.push_back(plan.mesh.deviceId(position));
        const auto bytes = static_cast<double>(collective.bytes);
        const bool stageSend = plan.pipeline && collective.kind == CollectiveKind::SendRecv
            && collective.axes == std::vector<int> { plan.pipeline->axis };
        std::vector<double> moved;
        std::size_t widest = 0;
        for (const std::int64_t id : ids)
            widest = std::max(widest, meeting(ids.front(), id, hardware));
        if (collective.kind == CollectiveKind::AllToAll)
            moved = exchanged(ids, hardware, bytes);
        else if (collective.kind == CollectiveKind::SendRecv)
            moved = passedOn(ids, hardware, bytes, !stageSend);
        else
            moved = gathered(ids, hardware, bytes);
        const double each =
            static_cast<double>(collective.count) / (plan.pipeline && !stageSend ? static_cast<double>(plan.pipeline->stages) : 1);
        for (std::size_t level = 0; level < moved.size(); ++level)
            out[level].bytes += each * moved[level] * (collective.kind == CollectiveKind::AllReduce ? 2 : 1);
        out[widest].seconds += each * collective.seconds;
    }
    return out;
}

} // namespace

class TestTraffic : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void collectivesOverLevels();
    void ofAPlan_data();
    void ofAPlan();
    void nothingMovesOnOneDevice();
};

void TestTraffic::collectivesOverLevels()
{
    const Hardware hardware = threeLevels();
    const Mesh mesh = Mesh::parse("a=5,b=3,c=2,d=2").value(); // racks are b x c x d, nodes c x d
    constexpr double kBytes = 7200;
    int asked = 0;
    for (int mask = 1; mask < 16; ++mask) {
        std::vector<int> axes;
        for (int axis = 0; axis < 4; ++axis)
            if ((mask >> axis & 1) != 0)
                axes.push_back(axis);
        std::vector<std::int64_t> ids = mesh.group(0, axes);
        const Footprint footprint = footprintOf(axes, mesh, hardware);
        const auto all = gathered(ids, hardware, kBytes);
        QVERIFY(!all.empty());
        for (const CollectiveKind kind : { CollectiveKind::AllGather, CollectiveKind::ReduceScatter })
            QVERIFY(same(bytesByLevel(kind, footprint, kBytes), all));
        auto twice = all;
        for (double& bytes : twice)
            bytes *= 2;
        QVERIFY(same(bytesByLevel(CollectiveKind::AllReduce, footprint, kBytes), twice));
        QVERIFY(same(bytesByLevel(CollectiveKind::AllToAll, footprint, kBytes), exchanged(ids, hardware, kBytes)));
        QVERIFY(same(bytesByLevel(CollectiveKind::SendRecv, footprint, kBytes, SendPattern::Ring),
                     passedOn(ids, hardware, kBytes, true)));
        QVERIFY(same(bytesByLevel(CollectiveKind::SendRecv, footprint, kBytes, SendPattern::Line),
                     passedOn(ids, hardware, kBytes, false)));
        for (const double bytes : bytesByLevel(CollectiveKind::LocalSlice, footprint, kBytes))
            QCOMPARE(bytes, 0.0);
        ++asked;
    }
    QCOMPARE(asked, 15);
}

void TestTraffic::ofAPlan_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("preset");
    QTest::newRow("one node") << "llama3-8b"
                              << "data=2,model=4"
                              << "megatron-tp";
    QTest::newRow("two levels") << "llama3-8b"
                                << "data=4,fsdp=4,model=4"
                                << "tp+fsdp";
    QTest::newRow("an axis over both") << "llama3-8b"
                                       << "fsdp=32"
                                       << "fsdp";
    QTest::newRow("pipeline") << "llama3-8b"
                              << "pipe=4,data=4,model=2"
                              << "pp-1f1b";
    QTest::newRow("experts") << "mixtral-8x7b"
                             << "data=4,expert=8"
                             << "ep";
}

void TestTraffic::ofAPlan()
{
    QFETCH(QString, model);
    QFETCH(QString, mesh);
    QFETCH(QString, preset);
    Design design;
    design.mesh = Mesh::parse(mesh.toStdString()).value();
    design.model = builtinModel(model.toStdString()).value();
    design.workload = { WorkloadKind::Train, 32, 2048, DType::BF16 };
    design.workload.microBatches = preset == QLatin1String("pp-1f1b") ? 8 : 1;
    QVERIFY(applyPreset(design, preset.toStdString()).ok());
    const auto evaluation = evaluate(design);
    QVERIFY2(evaluation.ok(), evaluation.ok() ? "" : evaluation.error().text().c_str());
    const Plan& plan = evaluation.value()->plan;
    const Hardware hardware = hardwareOf(design).value();
    const auto told = trafficOf(plan, hardware);
    const auto wanted = recounted(plan, hardware);
    QCOMPARE(told.size(), wanted.size());
    double seconds = 0;
    double bytes = 0;
    for (std::size_t level = 0; level < told.size(); ++level) {
        QVERIFY2(std::abs(told[level].bytes - wanted[level].bytes) <= 1e-9 * std::max(1.0, wanted[level].bytes),
                 qPrintable(QStringLiteral("level %1: %2, wanted %3").arg(level).arg(told[level].bytes).arg(wanted[level].bytes)));
        QVERIFY(std::abs(told[level].seconds - wanted[level].seconds) <= 1e-9 * std::max(1.0, wanted[level].seconds));
        seconds += told[level].seconds;
        bytes += told[level].bytes;
    }
    QVERIFY(bytes > 0);
    if (!plan.pipeline) // no time is lost or counted twice
        QVERIFY(std::abs(seconds - plan.collectiveSeconds) <= 1e-9 * seconds);
}

void TestTraffic::nothingMovesOnOneDevice()
{
    Design design;
    design.mesh = Mesh::parse("model=1").value();
    design.model = builtinModel("llama3-8b").value();
    design.workload = { WorkloadKind::Prefill, 1, 1024, DType::BF16 };
    const auto evaluation = evaluate(design);
    QVERIFY(evaluation.ok());
    for (const LevelTraffic& level : trafficOf(evaluation.value()->plan, hardwareOf(design).value()))
        QVERIFY(level == LevelTraffic {});
    QVERIFY(trafficOf(evaluation.value()->plan, Hardware {}).empty());
}

SHARDBOARD_TEST(TestTraffic)
#include "tst_traffic.moc"
