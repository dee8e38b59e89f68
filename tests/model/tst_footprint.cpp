// SPDX-License-Identifier: Apache-2.0
// Where device groups lie on the hardware: closed form against counting, and in words.
#include "model/hardware/footprint.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>
#include <numeric>
#include <random>

using namespace shardboard;

namespace {

std::vector<int> axesNamed(const Mesh& mesh, const QString& names)
{
    std::vector<int> axes;
    for (const QString& name : names.split(','))
        axes.push_back(mesh.find(name.toStdString()));
    return axes;
}

/// All devices in an order of their own that is the usual one.
Mesh listed(const Mesh& mesh)
{
    std::vector<std::int64_t> ids(static_cast<std::size_t>(mesh.deviceCount()));
    std::iota(ids.begin(), ids.end(), 0);
    return Mesh::make(mesh.axes(), ids).value();
}

} // namespace

class TestFootprint : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void words_data()
    {
        QTest::addColumn<QString>("hardware");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("axes");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* hardware, const char* mesh, const char* axes, const char* words) {
            QTest::addRow("%s %s %s", hardware, mesh, axes) << hardware << mesh << axes << words;
        };
        row("dgx-h100", "data=2,model=4", "model", "4 devices in one NVLink domain");
        row("dgx-h100", "data=2,model=8", "data,model", "8 x 2 nodes, 1 NIC a device");
        row("dgx-h100", "data=2,model=8", "data", "1 device in each of 2 nodes, 1 NIC a device");
        row("dgx-h100", "data=4,model=4", "data", "2 x 2 nodes, 1 NIC a device");
        row("dgx-h100", "a=5,b=3", "b", "3 devices unevenly over 2 nodes, 1 NIC a device");
        row("dgx-h100", "a=1,b=3", "a", "one device");
        row("gb200-nvl72", "data=9,model=8", "data,model", "72 devices in one NVLink domain");
        row("tpu-v5e-pod", "data=16,model=16", "model", "ring of 16 with wraparound");
        row("tpu-v5e-pod", "data=16,model=16", "data", "ring of 16 with wraparound");
        row("tpu-v5e-pod", "data=32,model=8", "model", "line of 8 without wraparound");
        row("tpu-v5e-pod", "data=32,model=8", "data", "torus of 16 x 2 with wraparound, links shared by 8 groups");
        row("tpu-v5e-pod", "data=16,model=16", "data,model", "torus of 16 x 16 with wraparound");
        row("tpu-v5e-pod", "slice=2,data=16,model=16", "slice", "1 device in each of 2 slices, 1 NIC a device");
        row("tpu-v5e-4x4", "data=4,model=4", "model", "line of 4 without wraparound");
        row("tpu-v5p-4x4x4", "data=16,model=4", "data", "torus of 4 x 4 with wraparound");
        row("cpu-virtual", "data=4,model=2", "data", "4 devices in one memory");
    }
    void words()
    {
        QFETCH(QString, hardware);
        QFETCH(QString, mesh);
        QFETCH(QString, axes);
        const Hardware on = findHardware(hardware.toStdString()).value();
        const Mesh of = Mesh::parse(mesh.toStdString()).value();
        QTEST(QString::fromStdString(describe(footprintOf(axesNamed(of, axes), of, on), on)), "words");
    }

    /// Row-major devices by formula, and the same devices looked at one by one.
    void formulaAgreesWithCounting()
    {
        std::mt19937 random(17);
        int compared = 0;
        for (int trial = 0; trial < 3000; ++trial) {
            std::vector<MeshAxis> axes;
            const std::size_t count = 1 + random() % 4;
            for (std::size_t i = 0; i < count; ++i)
                axes.push_back(
                    { std::string(1, static_cast<char>('a' + i)), std::int64_t { 1 } + static_cast<std::int64_t>(random() % 6) });
            if (random() % 2)
                for (MeshAxis& axis : axes)
                    axis.size = std::int64_t { 1 } << random() % 4;
            const Mesh mesh = Mesh::make(axes).value();
            Hardware hardware = hardwarePresets()[random() % hardwarePresets().size()];
            if (random() % 3 == 0) {
                hardware = twoLevelHardware(std::int64_t { 1 } << random() % 3, {}, {});
                hardware.levels[1].size = std::int64_t { 1 } << random() % 3;
                hardware.levels.emplace_back().fabric = Fabric::FatTree;
            }
            std::vector<int> over;
            for (int axis = 0; axis < mesh.axisCount(); ++axis)
                if (random() % 2)
                    over.push_back(axis);
            const Footprint quick = footprintOf(over, mesh, hardware);
            const Footprint exact = countedFootprint(over, listed(mesh), hardware);
            QCOMPARE(quick.devices, exact.devices);
            QCOMPARE(quick.groups, exact.groups);
            if (!exact.even)
                continue;
            ++compared;
            for (std::size_t level = 0; level < exact.levels.size(); ++level) {
                QVERIFY2(quick.levels[level].members == exact.levels[level].members,
                         qPrintable(QString::fromStdString(mesh.text() + " on " + hardware.id + ": " + describe(quick, hardware)
                                                           + " or " + describe(exact, hardware))));
                QCOMPARE(quick.levels[level].units, exact.levels[level].units);
                for (std::size_t dim = 0; dim < exact.levels[level].torus.size(); ++dim)
                    QCOMPARE(quick.levels[level].torus[dim].count, exact.levels[level].torus[dim].count);
            }
        }
        QVERIFY(compared > 2000);
    }

    void anotherOrderOfDevicesMovesGroupsToOtherNodes()
    {
        // model=8 over two nodes of 8, every second device: half of each group is in either node.
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < 16; ++i)
            ids.push_back(i % 2 * 8 + i / 2);
        const Hardware hardware = findHardware("dgx-h100").value();
        const Mesh mesh = Mesh::make({ { "data", 2 }, { "model", 8 } }, ids).value();
        const Footprint model = footprintOf({ 1 }, mesh, hardware);
        QCOMPARE(model.levels[0].members, 4);
        QCOMPARE(model.levels[1].members, 2);
        QCOMPARE(model.groups, 2);
        QCOMPARE(QString::fromStdString(linkNames(model, hardware)), QString("nvlink4 + ib-ndr"));
        const Footprint data = footprintOf({ 0 }, mesh, hardware);
        QCOMPARE(QString::fromStdString(describe(data, hardware)), QString("2 devices in one NVLink domain"));
    }

    void theWorstGroupCounts()
    {
        // Groups of 3 in nodes of 4: 0 1 2 | 3 4 5 | 6 7 8 | 9 10 11: the second and the third lie over two nodes.
        const Hardware hardware = twoLevelHardware(4, {}, {});
        const Mesh mesh = Mesh::parse("a=4,b=3").value();
        const Footprint worst = footprintOf({ 1 }, mesh, hardware);
        QVERIFY(!worst.even);
        QCOMPARE(worst.devices, 3);
        QCOMPARE(worst.levels[0].units, 2);
        QCOMPARE(worst.levels[0].fewest, 1);
        QCOMPARE(worst.levels[1].members, 2);
    }

    void portsAreShared()
    {
        Hardware hardware = findHardware("dgx-h100").value();
        hardware.levels[1].nicsPerDevice = 0.25;
        const Mesh mesh = Mesh::parse("data=4,model=8").value();
        QCOMPARE(portSharing(footprintOf({ 0 }, mesh, hardware), hardware, 1), 4.0);
        QCOMPARE(portSharing(footprintOf({ 0, 1 }, mesh, hardware), hardware, 1), 1.0);
    }

    /// A thousand questions about a million devices: it ends in time only when nobody looks at each of them.
    void manyDevicesAreNotLookedAtOneByOne()
    {
        const Hardware hardware = findHardware("dgx-h100").value();
        const Mesh mesh = Mesh::parse("pod=64,data=128,model=128").value();
        Footprint last;
        for (int i = 0; i < 1000; ++i)
            last = footprintOf({ 0, 1 }, mesh, hardware);
        QCOMPARE(last.devices, 64 * 128);
    }
};

SHARDBOARD_TEST(TestFootprint)
#include "tst_footprint.moc"
