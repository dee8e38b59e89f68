// SPDX-License-Identifier: Apache-2.0
// Devices of the mesh are found by number, coordinates, node or mesh axis: what is typed is read as it is meant, and the view shows
// what matches and goes on to the next.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/controls/findfield.h"
#include "widgets/controls/viewheader.h"
#include "widgets/document/documentview.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshfind.h"
#include "widgets/mesh/meshview.h"

#include <QLabel>

#include <algorithm>

using namespace shardboard;

namespace {

std::vector<std::int64_t> matching(const QString& text, const Mesh& mesh, std::int64_t perNode = 4)
{
    Hardware hardware;
    hardware.levels.resize(1);
    hardware.levels[0].size = perNode;
    const MeshPattern pattern(text, mesh, hardware);
    std::vector<std::int64_t> out;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        if (pattern.matches(mesh, position))
            out.push_back(position);
    return out;
}

} // namespace

class TestMeshFind : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsWhatIsTyped_data();
    void readsWhatIsTyped();
    void numbersAreIdsNotPlaces();
    void showsWhatMatches();
    void goesOnToTheNext();
    void axisIsShownAndSelected();
    void fieldComesWhereThereIsLittleRoom();
    void manyDevices();
};

void TestMeshFind::readsWhatIsTyped_data()
{
    // Of data=2, model=4, row by row: device = 4 data + model.
    using Positions = std::vector<std::int64_t>;
    QTest::addColumn<QString>("text");
    QTest::addColumn<Positions>("wanted");
    const Positions all { 0, 1, 2, 3, 4, 5, 6, 7 };
    const auto row = [](const char* text, const Positions& wanted) { QTest::newRow(text) << QString::fromUtf8(text) << wanted; };
    row("", all);
    row("5", { 5 });
    row("device 5", { 5 });
    row("data=1", { 4, 5, 6, 7 });
    row("data=1,model=3", { 7 });
    row("model 3 data 1", { 7 });
    row("  MODEL = 2 ", { 2, 6 });
    row("mod=2", { 2, 6 }); // the only axis that begins so
    row("data=1 model=9", {});
    row("node 1", { 4, 5, 6, 7 });
    row("host=0", { 0, 1, 2, 3 });
    row("node 1, model=0", { 4 });
    row("8", {});
    row("-1", {});
    row("1 2", {});
    row("pipe=1", {});
    row("nonsense", {});
    row("node", all); // more is to come
    row("model", all); // an axis alone quiets nothing
}

void TestMeshFind::readsWhatIsTyped()
{
    QFETCH(QString, text);
    QFETCH(std::vector<std::int64_t>, wanted);
    const Mesh mesh = Mesh::parse("data=2,model=4").value();
    QCOMPARE(matching(text, mesh), wanted);
    const MeshPattern pattern(text, mesh, {});
    QCOMPARE(pattern.axis(), text == QLatin1String("model") ? 1 : -1);
}

void TestMeshFind::numbersAreIdsNotPlaces()
{
    const Mesh mesh = Mesh::make({ { "data", 2 }, { "model", 2 } }, { 3, 2, 1, 0 }).value();
    QCOMPARE(matching(QStringLiteral("3"), mesh, 2), std::vector<std::int64_t> { 0 });
    QCOMPARE(matching(QStringLiteral("data=0 model=0"), mesh, 2), std::vector<std::int64_t> { 0 });
    QCOMPARE(matching(QStringLiteral("node 0"), mesh, 2), (std::vector<std::int64_t> { 2, 3 })); // ids 1 and 0
}

void TestMeshFind::showsWhatMatches()
{
    const ShownView<MeshView> shown(knownDesign(), { 700, 460 });
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.view->canvas();
    auto* field = shown.child<FindField>("meshFind");
    QVERIFY(field->isVisible() && !field->accessibleName().isEmpty());
    const QImage all = canvas->grab().toImage();
    field->setText(QStringLiteral("model=2"));
    const QImage some = canvas->grab().toImage();
    for (std::int64_t position = 0; position < 8; ++position) {
        const QPoint at = (canvas->deviceRect(position).topLeft() + QPointF(10, 10)).toPoint();
        QCOMPARE(some.pixel(at) == all.pixel(at), position % 4 == 2);
    }
    QCOMPARE(shown.view->findChild<ViewHeader*>()->detail(), QStringLiteral("2 of 8 devices"));
    field->setText(QStringLiteral("model=7"));
    QVERIFY(shown.view->findChild<ViewHeader*>()->detail().startsWith(QStringLiteral("no device is “model=7”")));
    field->setFocus();
    QTest::keyClick(field, Qt::Key_Escape);
    QVERIFY(field->text().isEmpty() && canvas->hasFocus());
    canvas->clearFocus();
    QVERIFY(canvas->grab().toImage() == all);
}

void TestMeshFind::goesOnToTheNext()
{
    const ShownView<MeshView> shown(knownDesign(), { 700, 460 });
    QVERIFY(shown.ready);
    Selection* selection = shown.document.selection();
    QTest::keyClick(shown.view->canvas(), Qt::Key_F, Qt::ControlModifier);
    auto* field = shown.child<FindField>("meshFind");
    QTRY_VERIFY(field->hasFocus());
    QTest::keyClicks(field, QStringLiteral("model=2"));
    for (const std::int64_t wanted : { 2, 6, 2 }) {
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(selection->device(), wanted);
    }
    QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(selection->device(), std::int64_t { 6 });
    field->setText(QStringLiteral("99"));
    QTest::keyClick(field, Qt::Key_Return);
    QCOMPARE(selection->device(), std::int64_t { 6 });
}

void TestMeshFind::axisIsShownAndSelected()
{
    const ShownView<MeshView> shown(knownDesign(), { 700, 460 });
    QVERIFY(shown.ready);
    auto* field = shown.child<FindField>("meshFind");
    const QImage all = shown.view->canvas()->grab().toImage();
    field->setText(QStringLiteral("data"));
    QVERIFY(shown.view->canvas()->grab().toImage() != all); // its device group
    QCOMPARE(shown.document.selection()->meshAxis(), -1);
    QTest::keyClick(field, Qt::Key_Return);
    QCOMPARE(shown.document.selection()->meshAxis(), 0);
}

void TestMeshFind::fieldComesWhereThereIsLittleRoom()
{
    const ShownView<MeshView> shown(knownDesign(), { 280, 300 });
    QVERIFY(shown.ready);
    auto* field = shown.child<FindField>("meshFind");
    QVERIFY(!field->isVisible());
    QTest::keyClick(shown.view->canvas(), Qt::Key_F, Qt::ControlModifier);
    QTRY_VERIFY(field->isVisible() && field->hasFocus());
    QTest::keyClicks(field, QStringLiteral("3"));
    shown.view->canvas()->setFocus();
    QCoreApplication::processEvents();
    QVERIFY(field->isVisible()); // it still says what is shown
    field->setFocus();
    QTest::keyClick(field, Qt::Key_Escape);
    QTRY_VERIFY(!field->isVisible());
}

/// Of devices that are pixels the one that is found becomes large enough to be read.
void TestMeshFind::manyDevices()
{
    Design design = knownDesign("data=64,model=64", "replicate");
    const ShownView<MeshView> shown(design, { 700, 460 });
    QVERIFY(shown.ready);
    auto* field = shown.child<FindField>("meshFind");
    MeshCanvas* canvas = shown.view->canvas();
    QVERIFY(canvas->deviceRect(0).width() < 20);
    field->setText(QStringLiteral("data=63,model=1"));
    QTest::keyClick(field, Qt::Key_Return);
    QCOMPARE(shown.document.selection()->device(), std::int64_t { 63 * 64 + 1 });
    const QRectF cell = canvas->deviceRect(63 * 64 + 1);
    QVERIFY2(cell.width() >= 28, qPrintable(QString::number(cell.width())));
    QVERIFY(QRectF(canvas->rect()).contains(cell));
}

SHARDBOARD_TEST(TestMeshFind)
#include "tst_meshfind.moc"
