// SPDX-License-Identifier: Apache-2.0
#include "model/core/mesh.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

using namespace shardboard;

class TestMesh : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void positionsAreRowMajor()
    {
        const auto mesh = sure(Mesh::parse("data=2, model=4"));
        QCOMPARE(mesh.deviceCount(), 8);
        QCOMPARE(mesh.coordinate(6, 0), 1);
        QCOMPARE(mesh.coordinate(6, 1), 2);
        QCOMPARE(mesh.text(), std::string("data=2,model=4"));
    }

    void groupsVaryOneAxis()
    {
        const Mesh mesh = Mesh::parse("a=2,b=3,c=2").value();
        QCOMPARE(mesh.group(7, { 1 }), (std::vector<std::int64_t> { 7, 9, 11 }));
        QCOMPARE(mesh.group(7, { 2, 0 }), (std::vector<std::int64_t> { 0, 6, 1, 7 })); // first listed axis slowest
        QCOMPARE(mesh.group(7, {}), (std::vector<std::int64_t> { 7 }));
    }

    void deviceOrder()
    {
        const auto mesh = sure(Mesh::make({ { "x", 3 } }, { 2, 0, 7 }));
        QCOMPARE(mesh.deviceId(2), 7);
        const auto plain = Mesh::make({ { "x", 3 } }, { 0, 1, 2 });
        QVERIFY(plain.value() == Mesh::make({ { "x", 3 } }).value());
    }

    void refusals_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        dataRow("empty", "", "--mesh: the mesh is empty; write it like data=2,model=4");
        dataRow("no size", "data", "--mesh: 'data' has no size; write it like data=2,model=4");
        dataRow("zero", "data=0", "--mesh: mesh axis 'data' has size 0; sizes are at least 1");
        dataRow("2^40", "data=1099511627776",
                "--mesh: the mesh has more than 1048576 devices at axis 'data' of size 1099511627776; use smaller sizes");
        dataRow("overflow", "a=1048576,b=1048576,c=1048576,d=1048576",
                "--mesh: the mesh has more than 1048576 devices at axis 'b' of size 1048576; use smaller sizes");
        dataRow("twice", "a=2,a=2", "--mesh: mesh axis 'a' appears twice; give each axis its own name");
        dataRow("name", "2x=2", "--mesh: mesh axis name '2x' is not a word; begin with a letter and use letters, digits, _ and -");
        dataRow("number", "a=two", "--mesh: 'two' is not a size of a mesh axis; write it like data=2,model=4");
    }
    void refusals()
    {
        QFETCH(QString, text);
        QFETCH(QString, message);
        const auto mesh = Mesh::parse(text.toStdString());
        QVERIFY(!mesh.ok());
        QCOMPARE(QString::fromStdString(mesh.error().text()), message);
    }

    void orderMustListEachDeviceOnce()
    {
        QVERIFY(!Mesh::make({ { "x", 2 } }, { 1, 1 }).ok());
        QVERIFY(!Mesh::make({ { "x", 2 } }, { 1 }).ok());
        QVERIFY(!Mesh::make({ { "x", 2 } }, { 0, -1 }).ok());
    }
};

SHARDBOARD_TEST(TestMesh)
#include "tst_mesh.moc"
