// SPDX-License-Identifier: Apache-2.0
// Prices of collectives: closed forms, published times, and what holds on any hardware.
#include "model/cost/collectiveprices.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <random>

using namespace shardboard;

namespace {

using enum CollectiveKind;
constexpr CollectiveKind kAll[] { AllReduce, AllGather, ReduceScatter, AllToAll, SendRecv, Broadcast };

constexpr double kA = 1e-6; ///< a step
constexpr double kB = 1e11; ///< bytes a second

LinkSpec link(double alpha, double rate)
{
    LinkSpec out;
    out.alphaSeconds = alpha;
    out.bytesPerSecond = rate;
    return out;
}

/// One switch for everybody, with every algorithm.
Hardware fabric()
{
    Hardware out = twoLevelHardware(kMaxDevices, link(kA, kB), link(kA, kB));
    out.library = CollectiveLibrary::Any;
    return out;
}

Mesh line(std::int64_t n) { return Mesh::make({ { "a", n } }).value(); }

bool near(double a, double b, double tolerance = 1e-9)
{
    return std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

double timeOf(const Hardware& hardware, const Mesh& mesh, CollectiveKind kind, const std::vector<int>& axes, double bytes)
{
    CollectivePrices prices(mesh, hardware);
    return prices.seconds(kind, axes, static_cast<std::int64_t>(bytes));
}

Hardware randomHardware(std::mt19937& random)
{
    const auto scaled = [&](double value) { return value * std::exp2(static_cast<double>(random() % 9) - 4); };
    Hardware out = hardwarePresets()[random() % hardwarePresets().size()];
    for (Level& level : out.levels) {
        level.link.alphaSeconds = random() % 5 ? scaled(level.link.alphaSeconds) : 0;
        level.link.startSeconds = random() % 5 ? scaled(level.link.startSeconds) : 0;
        level.link.bytesPerSecond = scaled(level.link.bytesPerSecond);
        if (level.link.alphaSimple)
            level.link.alphaSimple = scaled(*level.link.alphaSimple);
        if (random() % 3 == 0)
            level.nicsPerDevice = std::exp2(static_cast<double>(random() % 5) - 3);
    }
    if (random() % 3 == 0 && out.levels.front().fabric == Fabric::Switch)
        out.levels.front().size = 1 + static_cast<std::int64_t>(random() % 12);
    if (random() % 2)
        out.library = random() % 2 ? CollectiveLibrary::Any : CollectiveLibrary::Nccl;
    return out;
}

Mesh randomMesh(std::mt19937& random)
{
    std::vector<MeshAxis> axes;
    const std::size_t count = 1 + random() % 4;
    for (std::size_t i = 0; i < count; ++i)
        axes.push_back({ std::string(1, static_cast<char>('a' + i)),
                         random() % 4 ? std::int64_t { 1 } << random() % 5 : 1 + static_cast<std::int64_t>(random() % 6) });
    std::vector<std::int64_t> ids;
    if (random() % 4 == 0) {
        std::int64_t devices = 1;
        for (const MeshAxis& axis : axes)
            devices *= axis.size;
        for (std::int64_t i = 0; i < devices; ++i)
            ids.push_back(i);
        std::ranges::shuffle(ids, random);
    }
    return Mesh::make(axes, ids).value();
}

} // namespace

class TestCollectivePrices : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The table of algorithms: n, S, step and rate put in by hand.
    void closedForms()
    {
        const Hardware hardware = fabric();
        for (const std::int64_t devices : { 2, 3, 8, 64 }) {
            const Mesh mesh = line(devices);
            const AlgorithmGroup group = algorithmGroup(footprintOf({ 0 }, mesh, hardware), hardware);
            const auto n = static_cast<double>(devices);
            const double rounds = std::ceil(std::log2(n));
            const double part = (n - 1) / n;
            const auto check = [&](CollectiveKind kind, Algorithm algorithm, double steps, double times) {
                const auto price = algorithmPrice(kind, algorithm, group);
                QVERIFY(price.has_value());
                for (const double s : { 0.0, 1e3, 1e9 })
                    QVERIFY2(near(price->seconds(s), steps * kA + times * s / kB),
                             qPrintable(QString("%1 by %2 over %3")
                                            .arg(QString::fromStdString(collectiveName(kind)),
                                                 QString::fromStdString(algorithmName(algorithm)))
                                            .arg(devices)));
            };
            check(AllReduce, Algorithm::Ring, 2 * (n - 1), 2 * part);
            check(AllReduce, Algorithm::DoubleTree, 2 * rounds, 2);
            check(AllReduce, Algorithm::RecursiveDoubling, rounds, rounds);
            check(AllReduce, Algorithm::Rabenseifner, 2 * rounds, 2 * part);
            check(AllReduce, Algorithm::OneShot, 1, n - 1);
            check(AllReduce, Algorithm::TwoShot, 2, 2 * part);
            for (const CollectiveKind kind : { AllGather, ReduceScatter }) {
                check(kind, Algorithm::Ring, n - 1, part);
                check(kind, Algorithm::RecursiveDoubling, rounds, part);
            }
            check(AllToAll, Algorithm::Direct, n - 1, part);
            check(AllToAll, Algorithm::Bruck, rounds, rounds / 2);
            check(Broadcast, Algorithm::Chain, n - 1, n - 1); // in one chunk
            check(Broadcast, Algorithm::Binomial, rounds, rounds);
            check(SendRecv, Algorithm::Point, 1, 1);
        }
    }

    void chunksHideTheChain()
    {
        const Hardware hardware = fabric();
        const double seconds = timeOf(hardware, line(8), Broadcast, { 0 }, 1e10);
        QVERIFY(near(seconds, (8 - 2 + 512) * (kA + 1e10 / 512 / kB))); // performance tends to (n-1) a + S/B
    }

    void theSwitchSums()
    {
        Hardware hardware = fabric();
        hardware.library = CollectiveLibrary::Nccl;
        hardware.levels[0].inSwitch = InSwitchReduction { 20e-6, 0.8 };
        const Mesh mesh = line(8);
        CollectivePrices with(mesh, hardware);
        const CollectiveTime time = with.curve(AllReduce, { 0 }).at(1'000'000'000);
        QCOMPARE(QString::fromStdString(time.algorithm), QString("NVLS"));
        QVERIFY(near(time.seconds, 20e-6 + 1.125 * 1e9 / (0.8 * kB)));
        QVERIFY(near(time.latencySeconds, 20e-6));
        QVERIFY(near(time.bandwidthSeconds, 1.125 * 1e9 / (0.8 * kB)));
        QCOMPARE(QString::fromStdString(with.curve(AllReduce, { 0 }).at(1000).algorithm), QString("ring"));
    }

    /// Switches of the network (performance 1.1): S / B on every port; in islands only an eighth of it goes there.
    void theNetworkSums()
    {
        Hardware hardware = twoLevelHardware(8, link(1e-6, 400e9), link(5e-6, 50e9));
        hardware.levels[1].inSwitch = InSwitchReduction { 31e-6, 0.9 };
        const Mesh mesh = Mesh::parse("nodes=16,island=8").value();
        CollectivePrices prices(mesh, hardware);
        const CollectiveTime between = prices.curve(AllReduce, { 0 }).at(1 << 30);
        QCOMPARE(QString::fromStdString(between.algorithm), QString("SHARP"));
        QVERIFY(near(between.seconds, 31e-6 + (1 << 30) / (0.9 * 50e9)));
        // An island sends an eighth on each of its ports, while it sums and spreads inside.
        const double inside = 2 * 7.0 / 8 * 1e10 / 400e9;
        const auto large = prices.curve(AllReduce, { 0, 1 }).at(10'000'000'000);
        QCOMPARE(QString::fromStdString(large.algorithm), QString("SHARP"));
        QVERIFY(near(large.seconds, 31e-6 + 2 * 1e-6 + inside));
        hardware.levels[1].link.bytesPerSecond = 10e9;
        CollectivePrices slow(mesh, hardware);
        QVERIFY(near(slow.seconds(AllReduce, { 0, 1 }, 10'000'000'000), 31e-6 + 2 * 1e-6 + 1e10 / 8 / (0.9 * 10e9)));
        const Hardware preset = findHardware("dgx-h100-sharp").value();
        CollectivePrices sharp(mesh, preset);
        const Hardware without = findHardware("dgx-h100").value();
        CollectivePrices plain(mesh, without);
        QVERIFY(sharp.seconds(AllReduce, { 0 }, 1 << 30) < plain.seconds(AllReduce, { 0 }, 1 << 30));
        QCOMPARE(sharp.seconds(AllGather, { 0, 1 }, 1 << 30), plain.seconds(AllGather, { 0, 1 }, 1 << 30));
    }

    /// Islands of 8, four of them: reduce-scatter inside, all-reduce of an eighth between, all-gather inside.
    void hierarchies()
    {
        Hardware hardware = twoLevelHardware(8, link(1e-6, 400e9), link(5e-6, 50e9));
        const Mesh mesh = line(32);
        CollectivePrices prices(mesh, hardware);
        const double s = 1e7;
        const double island = 7 * 1e-6 + 7.0 / 8 * s / 400e9;
        QVERIFY(near(prices.seconds(AllGather, { 0 }, 10'000'000), 3 * 5e-6 + 0.75 * s / 8 / 50e9 + island));
        // Much of it goes around all at once, with a port of every device between islands.
        const auto large = prices.curve(AllReduce, { 0 }).at(100'000'000'000);
        QCOMPARE(QString::fromStdString(large.algorithm), QString("ring"));
        QVERIFY(near(large.seconds, 2 * (28 * 1e-6 + 3 * 5e-6) + 2 * 31.0 / 32 * 1e11 / 400e9));
        // The same islands with one port for eight devices.
        hardware.levels[1].nicsPerDevice = 0.125;
        CollectivePrices shared(mesh, hardware);
        const double between = 3 * 5e-6 + 0.75 * s / 8 / 6.25e9;
        QVERIFY(near(shared.seconds(AllGather, { 0 }, 10'000'000), between + island));
        const auto reduce = shared.curve(AllReduce, { 0 }).at(10'000'000);
        QVERIFY(near(reduce.seconds, 2 * island + 2 * between));
        QCOMPARE(QString::fromStdString(reduce.algorithm),
                 QString("reduce-scatter by ring, all-reduce by ring, all-gather by ring"));
    }

    /// One memory with caches, as a calibration finds it. By hand, and by both ways to a price.
    void memoryWithCaches()
    {
        Hardware hardware = findHardware("cpu").value();
        LinkSpec& memory = hardware.levels[0].link;
        memory.alphaSeconds = 0;
        memory.bytesPerSecond = 80e9;
        memory.messageSeconds = 4e-7;
        memory.cache = CacheRate { 6e6, 200e9 };
        const Mesh mesh = line(4);
        QVERIFY(near(timeOf(hardware, mesh, AllGather, { 0 }, 1e6), 4 * 4e-7 + 5e6 / 200e9)); // (n + 1) S bytes
        QVERIFY(near(timeOf(hardware, mesh, AllGather, { 0 }, 4e6), 4 * 4e-7 + 6e6 / 200e9 + 14e6 / 80e9));
        QVERIFY(near(timeOf(hardware, mesh, AllToAll, { 0 }, 1e6), 16 * 4e-7 + 6e6 / 200e9 + 2e6 / 80e9));
        CollectivePrices prices(mesh, hardware);
        double before = 0;
        for (std::int64_t bytes = 1; bytes < 1'000'000'000; bytes += 1 + bytes / 50) {
            const double seconds = prices.seconds(AllReduce, { 0 }, bytes);
            QVERIFY(seconds > before);
            QVERIFY(near(seconds, prices.secondsAtOnce(AllReduce, { 0 }, bytes), 1e-12));
            before = seconds;
        }
        const auto told = prices.curve(AllReduce, { 0 }).at(1'000'000);
        QVERIFY(near(told.latencySeconds, 4 * 4e-7) && near(told.latencySeconds + told.bandwidthSeconds, told.seconds));
        // Two groups of two at once share memory and caches.
        const Mesh square = Mesh::make({ { "a", 2 }, { "b", 2 } }).value();
        QVERIFY(near(timeOf(hardware, square, AllGather, { 1 }, 2e6), 4 * 4e-7 + 6e6 / 200e9 + 6e6 / 80e9));
    }

    /// One all-reduce over several mesh axes costs what it does level by level.
    void axesOfOneReduceAreMerged()
    {
        const Hardware hardware = twoLevelHardware(8, link(1e-6, 400e9), link(5e-6, 50e9));
        const Mesh mesh = Mesh::parse("nodes=4,island=8").value();
        const double whole = timeOf(hardware, mesh, AllReduce, { 0, 1 }, 1e7);
        QVERIFY(near(whole, timeOf(hardware, line(32), AllReduce, { 0 }, 1e7)));
        QVERIFY(whole < timeOf(hardware, mesh, AllReduce, { 0 }, 1e7) + timeOf(hardware, mesh, AllReduce, { 1 }, 1e7));
    }

    /// scaling-book sharding.md: 34 MB of bf16[2048, 8192] gathered over rings of 16 of a v5e pod, and without wraparound.
    void toriOfTpus()
    {
        const Hardware pod = findHardware("tpu-v5e-pod").value();
        const Mesh mesh = Mesh::parse("x=16,y=16").value();
        const double v = 2.0 * 2048 * 8192;
        QVERIFY(near(timeOf(pod, mesh, AllGather, { 0 }, v), v / 90e9));
        QVERIFY(near(timeOf(pod, mesh, AllGather, { 0, 1 }, v), v / 180e9));
        QVERIFY(near(timeOf(pod, mesh, AllReduce, { 0 }, v), 2 * v / 90e9));
        QVERIFY(near(timeOf(pod, mesh, ReduceScatter, { 1 }, v), v / 90e9));
        QVERIFY(near(timeOf(pod, mesh, AllToAll, { 1 }, v / 16), v / 90e9 / 4)); // a quarter of the gather of the same array
        QVERIFY(near(timeOf(pod, mesh, AllGather, { 0 }, 1000), 8e-6)); // 1 us a hop, 8 to the farthest
        QVERIFY(near(timeOf(pod, mesh, AllGather, { 0, 1 }, 1000), 16e-6));
        const Hardware slice = findHardware("tpu-v5e-4x4").value();
        const Mesh small = Mesh::parse("x=4,y=4").value();
        QVERIFY(near(timeOf(slice, small, AllGather, { 0 }, v), 2 * v / 90e9));
        QVERIFY(near(timeOf(slice, small, AllGather, { 0 }, 1000), 3e-6));
        // Every second chip of a ring, twice on each: half the rate for either group.
        const Mesh apart = Mesh::parse("x=16,y=8,z=2").value();
        QVERIFY(near(timeOf(pod, apart, AllGather, { 1 }, v), v / 45e9));
    }

    /// Bytes that one memory has to read and write, over 4.3 TB/s, for n = 8 and 1 GiB.
    void oneMemoryForAll()
    {
        const Hardware h200 = findHardware("h200-virtual").value();
        const double s = std::exp2(30);
        const auto milliseconds = [&](CollectiveKind kind) { return 1e3 * (timeOf(h200, line(8), kind, { 0 }, s) - 5.5e-6); };
        QVERIFY(near(milliseconds(AllReduce), 16 * s / 4.3e9));
        QVERIFY(std::fabs(milliseconds(AllReduce) - 4.00) < 0.005);
        QVERIFY(std::fabs(milliseconds(AllGather) - 2.25) < 0.005);
        QVERIFY(std::fabs(milliseconds(ReduceScatter) - 2.25) < 0.005);
        QVERIFY(std::fabs(milliseconds(AllToAll) - 4.00) < 0.005);
        QVERIFY(std::fabs(milliseconds(Broadcast) - 2.00) < 0.005);
        QVERIFY(near(timeOf(h200, Mesh::parse("a=4,b=8").value(), AllReduce, { 1 }, s), 5.5e-6 + 4 * 16 * s / 4.3e12));
    }

    void bandwidths()
    {
        QCOMPARE(algorithmBandwidth(1'000'000, 1e-3), 1e9);
        QCOMPARE(busBandwidth(AllReduce, 8, 1'000'000, 1e-3), 1.75e9);
        QCOMPARE(busBandwidth(AllGather, 8, 1'000'000, 1e-3), 0.875e9);
        QCOMPARE(busBandwidth(Broadcast, 8, 1'000'000, 1e-3), 1e9);
        QCOMPARE(algorithmBandwidth(0, 0), 0.0);
    }

    /// On presets and on anything near them: rising, finite, never dearer merged than in turn.
    void whatHoldsAnywhere()
    {
        std::mt19937 random(29);
        int merged = 0;
        for (int trial = 0; trial < 1500; ++trial) {
            const Hardware hardware = trial < 100 ? hardwarePresets()[static_cast<std::size_t>(trial) % hardwarePresets().size()]
                                                  : randomHardware(random);
            const Mesh mesh = randomMesh(random);
            CollectivePrices prices(mesh, hardware);
            std::vector<int> axes;
            for (int axis = 0; axis < mesh.axisCount(); ++axis)
                if (random() % 3)
                    axes.push_back(axis);
            for (const CollectiveKind kind : kAll) {
                const PriceCurve& curve = prices.curve(kind, axes);
                double before = 0;
                for (std::int64_t bytes = 0; bytes < std::int64_t { 1 } << 46; bytes = bytes * 3 / 2 + 1) {
                    const double seconds = curve.seconds(bytes);
                    QVERIFY(std::isfinite(seconds) && seconds >= 0);
                    QVERIFY2(seconds >= before, qPrintable(QString::fromStdString(hardware.id + " " + mesh.text())));
                    before = seconds;
                }
                QCOMPARE(mesh.groupSize(axes) > 1, before > 0);
                const CollectiveTime time = curve.at(123'456'789);
                QVERIFY(near(time.seconds, curve.seconds(123'456'789)));
                QVERIFY(near(time.latencySeconds + time.bandwidthSeconds, time.seconds));
                QVERIFY(time.latencySeconds >= 0 && time.bandwidthSeconds >= 0);
                QCOMPARE(time.algorithm.empty(), mesh.groupSize(axes) <= 1);
                if (axes.size() < 2)
                    continue;
                const std::vector<int> first { axes.begin(), axes.begin() + 1 };
                const std::vector<int> rest { axes.begin() + 1, axes.end() };
                for (const std::int64_t part : { std::int64_t { 1 }, std::int64_t { 1 } << 10, std::int64_t { 1 } << 24 }) {
                    const std::int64_t bytes = part * mesh.groupSize(axes);
                    const auto share = [&](const std::vector<int>& over) { return bytes / mesh.groupSize(over); };
                    const double inTurn = kind == AllGather
                        ? prices.seconds(kind, first, share(rest)) + prices.seconds(kind, rest, bytes)
                        : kind == ReduceScatter ? prices.seconds(kind, first, bytes) + prices.seconds(kind, rest, share(first))
                                                : prices.seconds(kind, first, bytes) + prices.seconds(kind, rest, bytes);
                    const double atOnce = prices.seconds(kind, axes, bytes);
                    QVERIFY2(atOnce <= inTurn * (1 + 1e-9) + 1e-9,
                             qPrintable(QString::fromStdString(hardware.id + " " + mesh.text() + " " + collectiveName(kind))));
                    ++merged;
                }
                // As a whole is one of the ways to do it level by level.
                const Footprint footprint = footprintOf(axes, mesh, hardware);
                const AlgorithmGroup group = algorithmGroup(footprint, hardware);
                if (hardware.levels.front().fabric == Fabric::Switch && kind == AllReduce && mesh.groupSize(axes) > 1)
                    QVERIFY(curve.seconds(1 << 24)
                            <= algorithmPrice(AllReduce, Algorithm::Ring, group)->seconds(1 << 24) * (1 + 1e-12));
            }
        }
        QVERIFY(merged > 5000);
    }

    void otherHardwareLater()
    {
        std::mt19937 random(31);
        const Mesh mesh = Mesh::parse("a=4,b=4,c=2").value();
        const Hardware first = findHardware("dgx-h100").value();
        CollectivePrices kept(mesh, first);
        for (int trial = 0; trial < 200; ++trial) {
            const Hardware next = randomHardware(random);
            kept.setHardware(next);
            CollectivePrices fresh(mesh, next);
            for (const CollectiveKind kind : kAll)
                for (const std::vector<int>& axes : { std::vector { 0 }, std::vector { 1, 2 }, std::vector { 0, 1, 2 } })
                    QCOMPARE(kept.seconds(kind, axes, 1 << 20), fresh.seconds(kind, axes, 1 << 20));
        }
    }

    /// Without curves the same comes out, also where parts of the mesh need a curve (a torus, five axes).
    void atOnceIsAsTheCurves()
    {
        std::mt19937 random(77);
        int several = 0;
        for (const char* text : { "a=16", "a=4,b=4,c=2", "a=2,b=4,c=2,d=2", "a=2,b=2,c=2,d=2,e=2" }) {
            const Mesh mesh = Mesh::parse(text).value();
            std::optional<CollectivePrices> kept;
            Hardware hardware;
            for (int trial = 0; trial < 60; ++trial) {
                hardware = randomHardware(random);
                if (kept)
                    kept->setHardware(hardware);
                else
                    kept.emplace(mesh, hardware);
                CollectivePrices curves(mesh, hardware);
                for (const CollectiveKind kind : kAll) {
                    std::vector<int> axes;
                    for (int axis = 0; axis < mesh.axisCount(); ++axis)
                        if (random() % 3 > 0)
                            axes.push_back(axis);
                    several += axes.size() > 1;
                    for (const std::int64_t bytes : { std::int64_t { 512 }, std::int64_t { 1 } << 20, std::int64_t { 1 } << 33 })
                        QVERIFY2(near(kept->secondsAtOnce(kind, axes, bytes), curves.seconds(kind, axes, bytes)),
                                 qPrintable(QString::fromStdString(hardware.id + " " + collectiveName(kind))));
                }
            }
        }
        QVERIFY(several > 500);
    }

    void theSameHardwareAgainChangesNothing()
    {
        Hardware hardware = findHardware("dgx-h100").value();
        const Mesh mesh = line(16);
        CollectivePrices prices(mesh, hardware);
        QVERIFY(!prices.setHardware(hardware));
        const double before = prices.secondsAtOnce(AllReduce, { 0 }, 1 << 26);
        hardware.device.memoryBytes *= 2;
        QVERIFY(!prices.setHardware(hardware)); // no price of a collective is of it
        hardware.levels[1].link.bytesPerSecond /= 2;
        QVERIFY(prices.setHardware(hardware));
        QVERIFY(prices.secondsAtOnce(AllReduce, { 0 }, 1 << 26) > before);
        hardware.library = CollectiveLibrary::Any;
        QVERIFY(prices.setHardware(hardware));
    }

    void deviceOrderDecides()
    {
        const Hardware hardware = findHardware("dgx-h100").value();
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < 16; ++i)
            ids.push_back(i % 2 * 8 + i / 2);
        const Mesh usual = Mesh::parse("data=2,model=8").value();
        const Mesh turned = Mesh::make(usual.axes(), ids).value();
        QVERIFY(timeOf(hardware, turned, AllReduce, { 1 }, 1e8) > timeOf(hardware, usual, AllReduce, { 1 }, 1e8));
        QVERIFY(timeOf(hardware, turned, AllReduce, { 0 }, 1e8) < timeOf(hardware, usual, AllReduce, { 0 }, 1e8));
    }
};

SHARDBOARD_TEST(TestCollectivePrices)
#include "tst_collectiveprices.moc"
