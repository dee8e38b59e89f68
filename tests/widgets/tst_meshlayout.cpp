// SPDX-License-Identifier: Apache-2.0
// Where the devices of a mesh stand: nodes and groups are blocks, found here anew from the device ids; the grid fills the room
// there is; ids are readable; a pixel far out has the colour of its device.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/canvas/viewport.h"
#include "widgets/edits/meshorder.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshbars.h"
#include "widgets/mesh/meshgrid.h"
#include "widgets/mesh/meshpixels.h"

#include <map>
#include <set>

using namespace shardboard;

namespace {

Hardware meshHardware(const QString& id) { return id.isEmpty() ? Hardware {} : findHardware(id.toStdString()).value(); }

MeshGrid gridIn(const char* mesh, const char* hardware, const QSizeF& room)
{
    return MeshGrid(Mesh::parse(mesh).value(), meshHardware(QString::fromLatin1(hardware)), { room, 1, 92 });
}

/// Pixels of a cell where everything is in sight.
double fittedCell(const MeshGrid& grid, const QSizeF& room)
{
    const QSizeF bars = roomForBars(grid, 1);
    return std::min(
        { (room.width() - bars.width()) / grid.world().width(), (room.height() - bars.height()) / grid.world().height(), 92.0 });
}

} // namespace

class TestMeshLayout : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nodesAreFoldedByIds_data();
    void nodesAreFoldedByIds();
    void tiersOfMeshes();
    void idsAlongAxes();
    void swappedDevicesLieInTheirNodes();
    void smallDevicesAreAsHighAsThereIsRoom();
    void longInnerAxesAreWrapped_data();
    void longInnerAxesAreWrapped();
    void everyDeviceHasItsOwnCell_data();
    void everyDeviceHasItsOwnCell();
    void unitsAreBlocks_data() { nodesAreFoldedByIds_data(); }
    void unitsAreBlocks();
    void roomIsFilled_data();
    void roomIsFilled();
    void smallMeshesStayAsTheyAre();
    void manyAxesTakeNoTime();
    void pixelsHaveTheColorsOfTheirDevices_data();
    void pixelsHaveTheColorsOfTheirDevices();
    void axesOfOneDeviceChangeNothing();
    void keptGridsAreThoseMadeAnew();
    void groupsArePartedFarOut();
};

void TestMeshLayout::nodesAreFoldedByIds_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("hardware");
    QTest::addColumn<int>("along"); // axis along which devices are numbered first; -1: row by row
    const auto row = [](const char* mesh, const char* hardware, int along = -1) {
        QTest::newRow(qPrintable(QStringLiteral("%1 %2 %3").arg(QLatin1String(mesh), QLatin1String(hardware)).arg(along)))
            << QString::fromLatin1(mesh) << QString::fromLatin1(hardware) << along;
    };
    row("data=16,model=4", "dgx-h100");
    row("data=8,model=2", "dgx-h100");
    row("data=8,fsdp=8,model=8", "dgx-h100");
    row("data=8,fsdp=8,model=8", "dgx-h100", 0);
    row("data=8,fsdp=8,model=8", "dgx-h100", 1);
    row("data=16,model=4", "dgx-h100", 0);
    row("pod=4,data=8,fsdp=64,model=8", "dgx-h100");
    row("data=2048,model=8", "dgx-h100");
    row("fsdp=4096", "dgx-h100");
    row("x=1000", "dgx-h100");
    row("data=9,model=24", "gb200-nvl72");
    row("data=4,fsdp=16,model=16", "tpu-v5e-pod");
}

void TestMeshLayout::nodesAreFoldedByIds()
{
    QFETCH(QString, mesh);
    QFETCH(QString, hardware);
    QFETCH(int, along);
    Mesh parsed = Mesh::parse(mesh.toStdString()).value();
    if (along >= 0)
        parsed = Mesh::make(parsed.axes(), deviceOrderAlong(parsed, along)).value();
    const Hardware it = meshHardware(hardware);
    const MeshTiers tiers = foldedMesh(parsed, it);
    QVERIFY(!tiers.tiers.empty());
    QVERIFY(tiers.tiers.front().kind == (it.levels[0].fabric == Fabric::Torus ? MeshTier::Kind::Slice : MeshTier::Kind::Node));
    QCOMPARE(tiers.tiers.front().devices, it.devicesPerNode());
    std::int64_t factors = 1;
    for (const MeshFactor& factor : tiers.factors)
        factors *= factor.size;
    QCOMPARE(factors, parsed.deviceCount());
    for (std::size_t tier = 0; tier < tiers.tiers.size(); ++tier) {
        std::map<std::int64_t, std::set<std::int64_t>> units;
        for (std::int64_t position = 0; position < parsed.deviceCount(); ++position) {
            QCOMPARE(tiers.unitOf(tier, position), parsed.deviceId(position) / tiers.tiers[tier].devices);
            units[tiers.unitOf(tier, position)].insert(position);
        }
        // What a unit is called holds for all of its devices, and for no other.
        std::set<std::string> names;
        for (const auto& [unit, members] : units) {
            QCOMPARE(static_cast<std::int64_t>(members.size()), tiers.tiers[tier].devices);
            const std::string name = tiers.coordinates(tier, *members.begin(), parsed);
            QVERIFY(names.insert(name).second);
            QCOMPARE(tiers.coordinates(tier, *members.rbegin(), parsed), name);
        }
    }
}

void TestMeshLayout::tiersOfMeshes()
{
    const auto tiersOf = [](const char* mesh, const char* hardware) {
        std::vector<std::int64_t> out;
        for (const MeshTier& tier : foldedMesh(Mesh::parse(mesh).value(), meshHardware(QString::fromLatin1(hardware))).tiers)
            out.push_back(tier.devices);
        return out;
    };
    using Tiers = std::vector<std::int64_t>;
    QCOMPARE(tiersOf("data=2,model=4", "dgx-h100"), Tiers {}); // one node
    QCOMPARE(tiersOf("data=8,fsdp=8,model=8", "dgx-h100"), Tiers { 8 });
    QCOMPARE(tiersOf("pod=4,data=8,fsdp=64,model=8", "dgx-h100"), (Tiers { 8, 512 })); // 64 nodes of one pod and data
    QCOMPARE(tiersOf("pod=32,data=8,fsdp=64,model=8", "dgx-h100"), (Tiers { 8, 512 }));
    QCOMPARE(tiersOf("data=4,model=3", "dgx-h100"), Tiers {}); // no run of places fills a node
    QCOMPARE(tiersOf("data=4,fsdp=64", ""), Tiers {});
    // No unit has more than 256 in it, so that each can be aimed at; three clicks are enough.
    for (const char* mesh : { "data=2048,model=8", "fsdp=16384", "pod=32,data=8,fsdp=64,model=8", "a=256,b=512", "model=131072" })
        for (const char* hardware : { "dgx-h100", "gb200-nvl72", "h200-virtual", "tpu-v5e-pod" }) {
            std::int64_t inside = 1;
            Tiers tiers = tiersOf(mesh, hardware);
            QVERIFY2(tiers.size() <= 3, mesh);
            tiers.push_back(Mesh::parse(mesh).value().deviceCount());
            for (const std::int64_t devices : tiers) {
                QVERIFY2(devices / inside <= 512,
                         qPrintable(QStringLiteral("%1 %2").arg(QLatin1String(mesh)).arg(devices / inside)));
                inside = devices;
            }
        }
    const Mesh large = Mesh::parse("pod=4,data=8,fsdp=64,model=8").value();
    const MeshTiers folded = foldedMesh(large, meshHardware(QStringLiteral("dgx-h100")));
    QCOMPARE(folded.coordinates(1, 5 * 512 + 77, large), std::string("pod 0, data 5"));
    const Mesh cut = Mesh::parse("data=16,model=4").value();
    QCOMPARE(foldedMesh(cut, meshHardware(QStringLiteral("dgx-h100"))).coordinates(0, 17, cut), std::string("data 4–5"));
}

void TestMeshLayout::idsAlongAxes()
{
    const Mesh mesh = Mesh::parse("data=4,model=4").value();
    QVERIFY(idStrides(mesh) == (std::vector<std::int64_t> { 4, 1 }));
    const Mesh along = Mesh::make(mesh.axes(), deviceOrderAlong(mesh, 0)).value();
    QVERIFY(idStrides(along) == (std::vector<std::int64_t> { 1, 4 }));
    QVERIFY(!idStrides(withDevicesSwapped(knownDesign("data=8,model=8", "replicate"), 1, 60).value().mesh));
}

/// Nodes stay blocks when devices change their places: each lies in the node that its id says. Those that did not move lie where
/// they lay before, and the moved ones in each other's places.
void TestMeshLayout::swappedDevicesLieInTheirNodes()
{
    const Hardware dgx = meshHardware(QStringLiteral("dgx-h100"));
    const MeshRoom room { { 560, 300 }, 1, 92 };
    for (const int along : { -1, 0 }) {
        Design design = knownDesign("data=8,model=8", "replicate");
        if (along >= 0)
            design = withDevicesAlong(design, along).value();
        const MeshGrid before(design.mesh, dgx, room);
        design = withDevicesSwapped(design, 1, 60).value();
        design = withDevicesSwapped(design, 9, 22).value();
        const MeshGrid grid(design.mesh, dgx, room);
        QCOMPARE(grid.tierCount(), 1);
        std::map<std::int64_t, QRectF> hulls;
        std::set<std::pair<std::int64_t, std::int64_t>> places;
        for (std::int64_t position = 0; position < 64; ++position) {
            const std::int64_t home = position == 1 ? 60 : position == 60 ? 1 : position == 9 ? 22 : position == 22 ? 9 : position;
            QCOMPARE(grid.cell(position), before.cell(home));
            QCOMPARE(grid.isElsewhere(position), home != position);
            QCOMPARE(grid.positionAt(grid.cell(position).center()), position);
            QCOMPARE(grid.positionOf(grid.columnOf(position), grid.rowOf(position)), position);
            QCOMPARE(grid.tiers().unitOf(0, position), design.mesh.deviceId(position) / 8);
            hulls[design.mesh.deviceId(position) / 8] |= grid.cell(position);
            places.emplace(grid.columnOf(position), grid.rowOf(position));
        }
        QCOMPARE(places.size(), std::size_t { 64 });
        for (std::int64_t position = 0; position < 64; ++position)
            QCOMPARE(grid.unit(0, position), hulls[design.mesh.deviceId(position) / 8]);
        QCOMPARE(grid.moved(grid.positionOf(0, 0), 1, 0), grid.positionOf(1, 0));
    }
    // Without order no axis can be labelled along the picture, but nodes are blocks all the same.
    std::vector<std::int64_t> mixed;
    for (std::int64_t position = 0; position < 64; ++position)
        mixed.push_back(position * 37 % 64 ^ 5);
    const Mesh mesh = Mesh::make(knownDesign("data=8,model=8", "replicate").mesh.axes(), mixed).value();
    const MeshGrid grid(mesh, dgx, room);
    QCOMPARE(grid.tierCount(), 1);
    for (std::int64_t position = 0; position < 64; ++position) {
        QCOMPARE(grid.tiers().unitOf(0, position), mesh.deviceId(position) / 8);
        QCOMPARE(grid.positionAt(grid.cell(position).center()), position);
        QVERIFY(!grid.isElsewhere(position));
    }
    for (const auto* levels : { &grid.across(), &grid.down() })
        for (const MeshGrid::Level& level : *levels)
            QVERIFY(!level.whole);
    // Where there are no nodes, everyone stands at its mesh position.
    const MeshGrid plain(mesh, {}, room);
    for (std::int64_t position = 0; position < 64; ++position)
        QCOMPARE(plain.cell(position), MeshGrid(Mesh::parse("data=8,model=8").value(), {}, room).cell(position));
}

/// What powers of two leave of the room below them, devices take that are too small for ids; larger ones are squares.
void TestMeshLayout::smallDevicesAreAsHighAsThereIsRoom()
{
    const QSizeF panel(700, 430);
    const MeshGrid grid = gridIn("pod=4,data=8,fsdp=64,model=8", "dgx-h100", panel);
    const QSizeF bars = roomForBars(grid, 1);
    const double cell = fittedCell(grid, panel);
    const double used = cell * grid.world().height() / (panel.height() - bars.height());
    QVERIFY2(grid.cellHeight() > 1.3 && used > 0.75, qPrintable(QStringLiteral("%1, %2").arg(grid.cellHeight()).arg(used)));
    QVERIFY(cell * grid.world().width() > 0.95 * (panel.width() - bars.width()));
    for (const std::int64_t position : { 0, 7, 511, 512, 5000, 16383 }) {
        const QRectF rect = grid.cell(position);
        QCOMPARE(rect.size(), QSizeF(1, grid.cellHeight()));
        for (const QPointF& at : { rect.center(), rect.topLeft() + QPointF(0.01, 0.01), rect.bottomRight() - QPointF(0.01, 0.01) })
            QCOMPARE(grid.positionAt(at), position);
    }
    QCOMPARE(gridIn("data=8,model=8", "dgx-h100", panel).cellHeight(), 1.0);
    QCOMPARE(gridIn("data=16,model=8", "", QSizeF(300, 900)).cellHeight(), 1.0);
}

/// A plane whose inner axis is long is wrapped, though no number divides it; its planes stay apart.
void TestMeshLayout::longInnerAxesAreWrapped_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<double>("least"); // pixels of a device in 560 x 300
    QTest::newRow("prime") << "data=4,model=127" << 12.0; // one line of it: 4.2
    QTest::newRow("large prime") << "data=2,model=8191" << 2.0; // 0.06
    QTest::newRow("in three") << "pod=2,data=3,model=127" << 9.0;
    QTest::newRow("power of two") << "data=4,model=128" << 12.0;
}

void TestMeshLayout::longInnerAxesAreWrapped()
{
    QFETCH(QString, mesh);
    QFETCH(double, least);
    const Mesh parsed = Mesh::parse(mesh.toStdString()).value();
    const QSizeF room(560, 300);
    const MeshGrid grid(parsed, {}, { room, 1, 92 });
    const double cell = fittedCell(grid, room);
    QVERIFY2(cell >= least, qPrintable(QString::number(cell)));
    const int inner = parsed.axisCount() - 1;
    const std::int64_t size = parsed.axis(inner).size;
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    std::map<std::int64_t, QRectF> planes;
    for (std::int64_t position = 0; position < parsed.deviceCount(); ++position) {
        QCOMPARE(grid.positionAt(grid.cell(position).center()), position);
        QCOMPARE(grid.positionOf(grid.columnOf(position), grid.rowOf(position)), position);
        QCOMPARE(grid.unitNear(MeshGrid::kDevices, grid.cell(position).center()), position);
        places.emplace(grid.columnOf(position), grid.rowOf(position));
        planes[position / size] |= grid.cell(position);
    }
    QCOMPARE(static_cast<std::int64_t>(places.size()), parsed.deviceCount());
    for (const auto& [a, one] : planes)
        for (const auto& [b, other] : planes)
            QVERIFY(a == b || !one.adjusted(-1 / cell, -1 / cell, 1 / cell, 1 / cell).intersects(other));
    // By keys one gets over the places that no device has, from plane to plane.
    std::set<std::int64_t> reached { 0 };
    for (std::vector<std::int64_t> open { 0 }; !open.empty();) {
        const std::int64_t at = open.back();
        open.pop_back();
        for (const auto& [dx, dy] : { std::pair(1, 0), std::pair(-1, 0), std::pair(0, 1), std::pair(0, -1) })
            if (const std::int64_t to = grid.moved(at, dx, dy); reached.insert(to).second)
                open.push_back(to);
    }
    QCOMPARE(static_cast<std::int64_t>(reached.size()), parsed.deviceCount());
}

void TestMeshLayout::everyDeviceHasItsOwnCell_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("hardware");
    for (const char* mesh :
         { "model=1", "model=8", "x=1000", "x=997", "data=2,model=4", "pod=2,data=3,model=5", "a=2,b=2,c=2,d=3", "data=3,model=127",
           "pod=2,model=67,one=1", "pod=4,data=8,fsdp=16,model=4", "data=512,model=4", "data=96,model=1", "a=3,b=1,c=40,d=2" })
        for (const char* hardware : { "", "dgx-h100", "gb200-nvl72", "tpu-v5e-4x4" })
            QTest::newRow(qPrintable(QStringLiteral("%1 %2").arg(QLatin1String(mesh), QLatin1String(hardware))))
                << QString::fromLatin1(mesh) << QString::fromLatin1(hardware);
}

void TestMeshLayout::everyDeviceHasItsOwnCell()
{
    QFETCH(QString, mesh);
    QFETCH(QString, hardware);
    for (const QSizeF& room : { QSizeF(560, 200), QSizeF(200, 500), QSizeF(900, 700) }) {
        const Mesh parsed = Mesh::parse(mesh.toStdString()).value();
        const MeshGrid grid(parsed, meshHardware(hardware), { room, 1, 92 });
        std::set<std::pair<std::int64_t, std::int64_t>> places;
        for (std::int64_t position = 0; position < parsed.deviceCount(); ++position) {
            QCOMPARE(grid.positionAt(grid.cell(position).center()), position);
            QCOMPARE(grid.unitNear(MeshGrid::kDevices, grid.cell(position).center()), position);
            QVERIFY(grid.world().adjusted(-1e-9, -1e-9, 1e-9, 1e-9).contains(grid.cell(position)));
            QCOMPARE(grid.positionOf(grid.columnOf(position), grid.rowOf(position)), position);
            places.emplace(grid.columnOf(position), grid.rowOf(position));
        }
        QCOMPARE(static_cast<std::int64_t>(places.size()), parsed.deviceCount());
        QVERIFY(places.rbegin()->first < grid.columns());
        QCOMPARE(grid.positionAt({ -0.5, 0.5 }), std::int64_t { -1 });
        QCOMPARE(grid.positionAt(grid.world().bottomRight() + QPointF(1, 1)), std::int64_t { -1 });
    }
}

void TestMeshLayout::unitsAreBlocks()
{
    QFETCH(QString, mesh);
    QFETCH(QString, hardware);
    QFETCH(int, along);
    Mesh parsed = Mesh::parse(mesh.toStdString()).value();
    if (along >= 0)
        parsed = Mesh::make(parsed.axes(), deviceOrderAlong(parsed, along)).value();
    const MeshGrid grid(parsed, meshHardware(hardware), { { 560, 230 }, 1, 92 });
    for (int tier = 0; tier < grid.tierCount(); ++tier) {
        const std::int64_t devices = grid.tiers().tiers[static_cast<std::size_t>(tier)].devices;
        std::map<std::int64_t, QRectF> hulls; // by unit, of its cells
        for (std::int64_t position = 0; position < parsed.deviceCount(); ++position)
            hulls[parsed.deviceId(position) / devices] |= grid.cell(position);
        for (std::int64_t position = 0; position < parsed.deviceCount(); ++position) {
            const QRectF& hull = hulls[parsed.deviceId(position) / devices];
            const QRectF unit = grid.unit(tier, position);
            QVERIFY((unit.topLeft() - hull.topLeft()).manhattanLength() < 1e-6 && std::abs(unit.width() - hull.width()) < 1e-6
                    && std::abs(unit.height() - hull.height()) < 1e-6);
            QCOMPARE(parsed.deviceId(grid.unitNear(tier, grid.cell(position).center())) / devices,
                     parsed.deviceId(position) / devices);
        }
        // Between two of them there is a gap, larger than between what is in them.
        const QSizeF gap = grid.gapAfter(tier);
        const QSizeF inner = grid.gapAfter(tier - 1);
        QVERIFY(gap.width() > inner.width() && gap.height() > inner.height());
        const auto all = hulls;
        if (all.size() <= 64)
            for (const auto& [a, one] : all)
                for (const auto& [b, other] : all)
                    QVERIFY(a == b
                            || !one.adjusted(-gap.width() + 1e-6, -gap.height() + 1e-6, gap.width() - 1e-6, gap.height() - 1e-6)
                                    .intersects(other));
    }
}

void TestMeshLayout::roomIsFilled_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("hardware");
    QTest::addColumn<QSizeF>("room");
    QTest::addColumn<double>("least"); // pixels of a device
    const auto row = [](const char* mesh, const char* hardware, const QSizeF& room, double least) {
        QTest::newRow(qPrintable(
            QStringLiteral("%1 %2 %3x%4").arg(QLatin1String(mesh), QLatin1String(hardware)).arg(room.width()).arg(room.height())))
            << QString::fromLatin1(mesh) << QString::fromLatin1(hardware) << room << least;
    };
    // A panel of 600 x 300, without header and margins; ids of two digits need 18.
    const QSizeF panel(568, 200);
    row("data=8,model=2", "dgx-h100", panel, 40);
    row("data=2,model=8", "dgx-h100", panel, 40);
    row("data=16,model=4", "dgx-h100", panel, 24);
    row("data=4,model=16", "dgx-h100", panel, 24);
    row("data=8,fsdp=8,model=8", "dgx-h100", panel, 8);
    row("pod=4,data=8,fsdp=64,model=8", "dgx-h100", panel, 1.3);
    row("data=2048,model=8", "dgx-h100", panel, 1.3);
    row("fsdp=4096,model=4", "dgx-h100", panel, 1.3);
    row("pod=32,data=8,fsdp=64,model=8", "dgx-h100", panel, 0.45);
    row("data=4,fsdp=16,model=16", "tpu-v5e-pod", panel, 7);
    row("pod=4,data=8,fsdp=64,model=8", "dgx-h100", QSizeF(228, 160), 0.6);
    row("pod=4,data=8,fsdp=64,model=8", "dgx-h100", QSizeF(300, 600), 1.6);
}

void TestMeshLayout::roomIsFilled()
{
    QFETCH(QString, mesh);
    QFETCH(QString, hardware);
    QFETCH(QSizeF, room);
    QFETCH(double, least);
    const Mesh parsed = Mesh::parse(mesh.toStdString()).value();
    const MeshGrid grid(parsed, meshHardware(hardware), { room, 1, 92 });
    const double cell = fittedCell(grid, room);
    const double used = cell * cell * static_cast<double>(parsed.deviceCount()) / (room.width() * room.height());
    qInfo("%s in %.0f x %.0f: %.2f px, %lld x %lld, %.0f %%", qPrintable(mesh), room.width(), room.height(), cell,
          static_cast<long long>(grid.columns()), static_cast<long long>(grid.rows()), used * 100);
    QVERIFY(cell >= least);
}

void TestMeshLayout::smallMeshesStayAsTheyAre()
{
    for (const QSizeF& room : { QSizeF(388, 300), QSizeF(560, 200), QSizeF(228, 200), QSizeF(900, 700) }) {
        const MeshGrid grid = gridIn("data=2,model=4", "dgx-h100", room);
        QCOMPARE(grid.columns(), std::int64_t { 4 }); // as everybody draws it
        QCOMPARE(grid.world(), QRectF(0, 0, 4, 2));
        QCOMPARE(grid.cell(5), QRectF(1, 1, 1, 1));
    }
    const MeshGrid planes = gridIn("pipe=2,data=2,model=4", "", { 300, 500 });
    QCOMPARE(planes.columns(), std::int64_t { 4 });
    QVERIFY(planes.cell(8).top() > 2); // a gap between the planes
}

void TestMeshLayout::manyAxesTakeNoTime()
{
    std::string text;
    for (char axis = 'a'; axis <= 'q'; ++axis)
        text += (text.empty() ? "" : ",") + std::string(1, axis) + "=2";
    const Mesh mesh = Mesh::parse(text).value();
    QCOMPARE(mesh.deviceCount(), std::int64_t { 131072 });
    const QSizeF room(568, 200);
    const MeshGrid grid(mesh, meshHardware(QStringLiteral("dgx-h100")), { room, 1, 92 }); // 131,072 ways, of which few are tried
    QVERIFY(fittedCell(grid, room) > 0.3);
    for (const std::int64_t position : { 0, 1, 77777, 131071 })
        QCOMPARE(grid.positionAt(grid.cell(position).center()), position);
}

void TestMeshLayout::pixelsHaveTheColorsOfTheirDevices_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<double>("zoom");
    for (const char* mesh : { "pod=4,data=8,fsdp=64,model=8", "data=2048,model=8", "x=1000", "data=8,model=127" })
        for (const double zoom : { 1.0, 2.0, 5.0 })
            QTest::newRow(qPrintable(QStringLiteral("%1 %2").arg(QLatin1String(mesh)).arg(zoom)))
                << QString::fromLatin1(mesh) << zoom;
}

void TestMeshLayout::pixelsHaveTheColorsOfTheirDevices()
{
    QFETCH(QString, mesh);
    QFETCH(double, zoom);
    const Design design = knownDesign(qPrintable(mesh), "replicate");
    MeshScene scene;
    scene.hardware = findHardware("dgx-h100").value();
    const Theme theme = Theme::light();
    scene.prepare(design, nullptr, nullptr, {}, { { 900, 700 }, 1, 92 }, theme);
    Viewport viewport;
    const QRect area(20, 30, 900, 700);
    viewport.setView(area);
    viewport.setWorld(scene.grid.world(), 92);
    viewport.zoomAt(QPointF(300, 300), zoom);
    std::vector<QRgb> tones;
    for (int i = 0; i <= scene.grid.tierCount() + 1; ++i)
        tones.push_back(qRgb(1, 2, i));
    for (const double ratio : { 1.0, 2.0 }) {
        const QImage image = meshPixels(scene, viewport, area, ratio, tones);
        QCOMPARE(image.size(), QSize(900, 700) * ratio);
        int seen = 0;
        for (std::int64_t position = 0; position < scene.mesh.deviceCount(); ++position) {
            const QPointF middle = viewport.toScreen(scene.grid.cell(position).center()) - area.topLeft();
            const QPoint at(static_cast<int>(middle.x() * ratio), static_cast<int>(middle.y() * ratio));
            if (!image.rect().contains(at))
                continue;
            ++seen;
            QCOMPARE(QColor(image.pixel(at)).name(), scene.colorAt(position, theme).fill.name());
        }
        QVERIFY(seen > 20);
        // Between two units lies the tone of what they lie in.
        for (int tier = 0; tier < scene.grid.tierCount(); ++tier) {
            const QRectF unit = viewport.toScreen(scene.grid.unit(tier, 0));
            const double gap = scene.grid.gapAfter(tier).width() * viewport.scale();
            const QPointF beside = QPointF(unit.right() + gap / 2, unit.top() + viewport.scale() / 2) - area.topLeft();
            const QPoint at(static_cast<int>(beside.x() * ratio), static_cast<int>(beside.y() * ratio));
            if (gap * ratio >= 3 && image.rect().contains(at) && scene.grid.unitColumns(tier) < scene.grid.columns())
                QVERIFY(qBlue(image.pixel(at)) > tier && qRed(image.pixel(at)) == 1);
        }
    }
}

/// Axes of one device change nothing, wherever they stand: they have no steps.
void TestMeshLayout::axesOfOneDeviceChangeNothing()
{
    const Hardware dgx = findHardware("dgx-h100").value();
    for (const char* hardware : { "dgx-h100", "" })
        for (const auto& [plain, with] :
             { std::pair { "data=128,model=8", "pod=1,data=128,model=8" },
               std::pair { "data=128,model=8", "data=128,one=1,model=8" },
               std::pair { "data=128,model=8", "a=1,data=128,model=8,b=1" }, std::pair { "data=256", "one=1,data=256" } }) {
            const Hardware of = *hardware != 0 ? dgx : Hardware {};
            const MeshRoom room { { 560, 400 }, 1, 92 };
            const MeshGrid a(knownDesign(plain, "replicate").mesh, of, room);
            const MeshGrid b(knownDesign(with, "replicate").mesh, of, room);
            QVERIFY2(a.columns() == b.columns() && a.rows() == b.rows(), with);
            QVERIFY2(a.columns() > 8 && a.rows() > 8, with);
        }
}

/// A grid that is kept is the one that would be made: whatever of mesh, device order, hardware and room changed since.
void TestMeshLayout::keptGridsAreThoseMadeAnew()
{
    KeptGrids grids;
    const Hardware dgx = findHardware("dgx-h100").value();
    const Hardware none;
    for (int round = 0; round < 3; ++round)
        for (const char* mesh : { "data=8,model=16", "data=16,model=8", "x=128", "pod=2,data=64,model=8" })
            for (const Hardware& hardware : { dgx, none })
                for (const QSizeF size : { QSizeF(900, 700), QSizeF(400, 250) }) {
                    const Mesh is = knownDesign(mesh, "replicate").mesh;
                    const MeshRoom room { size, 1, 92 };
                    QVERIFY(grids.of(is, hardware, room) == MeshGrid(is, hardware, room));
                    QVERIFY(grids.of(is, hardware, room) == MeshGrid(is, hardware, room));
                }
}

/// Where devices share pixels and gaps are less than one, each group still has a line beside it.
void TestMeshLayout::groupsArePartedFarOut()
{
    const Design design = knownDesign("pod=32,data=8,fsdp=64,model=8", "replicate");
    MeshScene scene;
    scene.hardware = findHardware("dgx-h100").value();
    const QRect area(0, 0, 358, 250);
    scene.prepare(design, nullptr, nullptr, {}, { QSizeF(area.size()), 1, 92 }, Theme::light());
    Viewport viewport;
    viewport.setView(area);
    viewport.setWorld(scene.grid.world(), 92);
    QVERIFY(viewport.scale() < 1);
    const std::vector<QRgb> tones { qRgb(1, 2, 0), qRgb(1, 2, 1), qRgb(1, 2, 2), qRgb(1, 2, 3) };
    const QImage image = meshPixels(scene, viewport, area, 1, tones);
    const int groups = static_cast<int>(scene.grid.columns() / scene.grid.unitColumns(1));
    QVERIFY(groups > 4);
    int lines = 0;
    const int y = static_cast<int>(viewport.toScreen(scene.grid.unit(1, 0)).center().y());
    for (int x = 1; x < image.width(); ++x)
        lines += image.pixel(x, y) == tones[2] && image.pixel(x - 1, y) != tones[2] ? 1 : 0;
    QVERIFY2(lines >= groups - 1, qPrintable(QStringLiteral("%1 of %2").arg(lines).arg(groups)));
}

SHARDBOARD_TEST(TestMeshLayout)
#include "tst_meshlayout.moc"
