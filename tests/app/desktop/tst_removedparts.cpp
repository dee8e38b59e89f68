// SPDX-License-Identifier: Apache-2.0
// What a view holds on to and is gone: devices without a shard, findings that were repaired, devices and mesh axes that an edit
// removed, while the view slept, stood behind another picture, or had the mouse button down on them.
#include "app/desktop/window/fonts.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/controls/axispicker.h"
#include "widgets/controls/card.h"
#include "widgets/document/speclabel.h"
#include "widgets/explain/inspectorpage.h"
#include "widgets/jobs/longwork.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/strategy/strategypreview.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QAction>
#include <QApplication>
#include <QChildEvent>
#include <QClipboard>
#include <QContextMenuEvent>

#include <QGuiApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPointer>
#include <QPushButton>
#include <QSignalSpy>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>
#include <QUndoStack>

using namespace shardboard;

class TestRemovedParts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void arrowsFromADeviceThatHoldsNothing();
    void findingsRepairedWhileTheirListSleeps();
    void tilesBehindAllWeightsWhenDevicesGo();
    void copiedWhileItsListSleeps();
    void keysToAnAxisThatWasReplaced();
    void labelGoesWhileItsMenuIsOpen();
    void refusalThatIsTakenBackStaysAWidget();
    void pressedAxisIsRemoved_data();
    void pressedAxisIsRemoved();
};

namespace {

bool open(TestWindow& test, const Design& design)
{
    if (!QTest::qWaitForWindowExposed(test.window.get()) || !test.document()->setDesign(design).ok())
        return false;
    settle();
    return true;
}

/// Counts what is made below a widget and is no widget: a drag.
class DragCounter : public QObject {
public:
    int count = 0;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::ChildAdded && !static_cast<QChildEvent*>(event)->child()->isWidgetType())
            ++count;
        return QObject::eventFilter(watched, event);
    }
};

/// A tensor dim of 3 over 8 devices: five of them hold nothing of it.
Design unevenDesign()
{
    Design design = knownDesign("model=8", "replicate");
    design.model.vocabSize = 3;
    design.strategies.push_back({ "*embed_tokens*", Strategy { StrategyKind::Rowwise, { "model" } }, CutRule::Balanced });
    return design;
}

} // namespace

void TestRemovedParts::arrowsFromADeviceThatHoldsNothing()
{
    TestWindow test;
    QVERIFY(open(test, unevenDesign()));
    const int weight = weightNamed(*test.document(), "embed_tokens");
    Selection* selection = test.document()->selection();
    selection->setWeight(weight);
    settle();
    auto* canvas = test.child<TileCanvas>("tileCanvas");
    QVERIFY(canvas->isVisible());
    const WeightLayout& layout = weightAt(*test.document(), weight);
    int without = 0;
    for (std::int64_t device = 0; device < 8; ++device)
        without += layout.shards.shardAt(device).elements() == 0 ? 1 : 0;
    QCOMPARE(without, 5);
    canvas->setFocus();
    for (std::int64_t device = 0; device < 8; ++device)
        for (const Qt::Key key : { Qt::Key_Right, Qt::Key_Left, Qt::Key_Up, Qt::Key_Down, Qt::Key_F, Qt::Key_Return }) {
            selection->setDevice(device);
            settle();
            QTest::keyClick(canvas, key);
            QVERIFY(selection->device() >= -1 && selection->device() < 8);
            settle();
        }
    // From nothing, an arrow leads to a device that holds something.
    selection->setDevice(7);
    QTest::keyClick(canvas, Qt::Key_Down);
    QVERIFY(layout.shards.shardAt(selection->device()).elements() > 0);
    for (int x = 4; x < canvas->width(); x += 24)
        for (int y = 4; y < canvas->height(); y += 24) {
            QTest::mouseClick(canvas, Qt::LeftButton, {}, QPoint(x, y));
            QVERIFY(selection->device() >= -1 && selection->device() < 8);
        }
    test.document()->undoStack()->setClean();
}

void TestRemovedParts::findingsRepairedWhileTheirListSleeps()
{
    Design design = knownDesign();
    design.strategies.clear(); // each large weight is a finding
    TestWindow test;
    QVERIFY(open(test, design));
    test.raise("findings");
    settle();
    auto* list = test.child<QTreeWidget>("findingsList");
    QTRY_VERIFY(list->topLevelItemCount() > 3);
    const auto before = test.document()->evaluation()->findings.size();
    auto* all = test.child<QPushButton>("repairAll");
    QVERIFY(all->isVisible() && all->isEnabled());
    all->click();
    test.window->workbench()->raise(QStringLiteral("cost"));
    QTRY_VERIFY(test.document()->undoStack()->count() == 1);
    settle();
    QVERIFY(test.document()->evaluation()->findings.size() < before);
    QVERIFY(!list->isVisible() || list->visibleRegion().isEmpty());
    // Selecting looks a finding up as well.
    for (int weight = 0; weight < static_cast<int>(test.document()->evaluation()->weights.size()); ++weight)
        test.document()->selection()->setWeight(weight);
    settle();
    test.raise("findings");
    settle();
    QCOMPARE(list->topLevelItemCount(), static_cast<int>(test.document()->evaluation()->findings.size()));
    test.document()->undoStack()->setClean();
}

void TestRemovedParts::tilesBehindAllWeightsWhenDevicesGo()
{
    TestWindow test;
    QVERIFY(open(test, knownDesign("data=4,model=4")));
    Selection* selection = test.document()->selection();
    selection->setWeight(weightNamed(*test.document(), "mlp.up_proj"));
    selection->setDevice(15);
    settle();
    auto* canvas = test.child<TileCanvas>("tileCanvas");
    auto* all = test.child<QToolButton>("tileAll");
    QVERIFY(canvas->isVisible());
    all->click();
    settle();
    QVERIFY(!canvas->isVisible());
    Design small = test.document()->design();
    small.mesh = Mesh::parse("data=1,model=2").value();
    QVERIFY(test.document()->edit(small, QStringLiteral("Two devices")).ok());
    settle();
    test.window->resize(1100, 700); // laid out anew as it is shown
    all->click();
    settle();
    QVERIFY(canvas->isVisible());
    QVERIFY(!canvas->grab().isNull());
    QVERIFY(selection->device() < 2);
    for (const Qt::Key key : { Qt::Key_Right, Qt::Key_Down, Qt::Key_F })
        QTest::keyClick(canvas, key);
    QTest::mouseMove(canvas, canvas->rect().center());
    settle();
    all->click();
    test.document()->undoStack()->undo(); // and back, the other way round
    all->click();
    settle();
    QVERIFY(!canvas->grab().isNull());
    test.document()->undoStack()->setClean();
}

/// The list behind another panel, or hidden, knows nothing of the smaller model when its action is triggered.
void TestRemovedParts::copiedWhileItsListSleeps()
{
    TestWindow test;
    QVERIFY(open(test, knownDesign("data=2,model=4")));
    auto* tree = test.child<QTreeView>("weightTree");
    test.document()->selection()->setWeights({ 3, 5, 8 }, 8);
    settle();
    QVERIFY(tree->selectionModel()->selectedRows().size() >= 3);
    for (QWidget* widget = tree; widget != nullptr; widget = widget->parentWidget())
        if (auto* dock = qobject_cast<Panel*>(widget))
            dock->hide();
    settle();
    Design small;
    small.mesh = Mesh::parse("data=2").value();
    small.model.name = "one";
    small.model.notUnderstood = "made up";
    ModelSpec::LooseWeight weight;
    weight.tensor.name = "only.weight";
    weight.tensor.shape = { 64, 64 };
    small.model.looseWeights = { weight };
    QVERIFY(test.document()->edit(small, QStringLiteral("One weight")).ok());
    settle();
    QGuiApplication::clipboard()->clear();
    for (QAction* action : tree->actions())
        action->trigger();
    const QString copied = QGuiApplication::clipboard()->text();
    QVERIFY2(copied.isEmpty() || copied.contains(QStringLiteral("only.weight")), qPrintable(copied));
    test.document()->undoStack()->setClean();
}

/// A key wakes the strategy's editor, which then has other axes, before it comes to the one that it was for.
void TestRemovedParts::keysToAnAxisThatWasReplaced()
{
    AxisPicker picker;
    picker.setMesh(Mesh::parse("a=2,b=2,c=2").value());
    picker.setAxes({ "a", "b", "c" });
    picker.show();
    const QPointer<QWidget> gone = picker.findChild<QWidget*>(QStringLiteral("picked_c"));
    QVERIFY(gone);
    picker.setAxes({ "a", "b" });
    QVERIFY(gone); // until the event loop comes to it
    const QSignalSpy changed(&picker, &AxisPicker::axesChanged);
    for (const auto& [key, modifiers] : { std::pair { Qt::Key_Left, Qt::AltModifier }, std::pair { Qt::Key_Right, Qt::AltModifier },
                                          std::pair { Qt::Key_Delete, Qt::NoModifier } }) {
        QKeyEvent press(QEvent::KeyPress, key, modifiers);
        QCoreApplication::sendEvent(gone, &press);
    }
    QCOMPARE(changed.count(), 0);
    QCOMPARE(picker.axes(), (std::vector<std::string> { "a", "b" }));
}

/// A design that is evaluated anew takes the inspector's page away, with the label whose menu is open.
void TestRemovedParts::labelGoesWhileItsMenuIsOpen()
{
    QWidget window;
    auto* page = new QWidget(&window);
    auto* label = new SpecLabel(page);
    const Mesh mesh = Mesh::parse("a=2").value();
    Layout replicated;
    replicated.dims.resize(2);
    label->setSpec({}, replicated, mesh);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    bool wasOpen = false;
    QTimer::singleShot(0, &window, [&] {
        wasOpen = QApplication::activePopupWidget() != nullptr;
        delete page;
    });
    QContextMenuEvent menu(QContextMenuEvent::Mouse, QPoint(1, 1), label->mapToGlobal(QPoint(1, 1)));
    QApplication::sendEvent(label, &menu);
    QTRY_VERIFY(wasOpen);
    settle();
    QVERIFY(QApplication::activePopupWidget() == nullptr);
}

/// An editor comes into sight, and judges its draft anew, while Qt tells all widgets of another style: it holds them as they were.
void TestRemovedParts::refusalThatIsTakenBackStaysAWidget()
{
    StrategyPreview preview;
    preview.show();
    preview.showRefusal(QStringLiteral("no"));
    const QPointer<Card> card = preview.findChild<Card*>(QStringLiteral("strategyRefusal"));
    QVERIFY(card && card->isVisible());
    preview.showRefusal(QString());
    QVERIFY(card && !card->isVisible());
    preview.showRefusal(QStringLiteral("never"));
    QVERIFY(card && card->isVisible());
    QVERIFY(card->accessibleDescription().contains(QLatin1String("never")));
}

void TestRemovedParts::pressedAxisIsRemoved_data()
{
    QTest::addColumn<QString>("where");
    for (const char* where : { "meshCanvas", "tileCanvas", "chip_more" })
        QTest::newRow(where) << QString::fromLatin1(where);
}

/// The button goes down on a mesh axis, the keys undo the edit that made it, the mouse moves on and the button comes up.
void TestRemovedParts::pressedAxisIsRemoved()
{
    QFETCH(QString, where);
    TestWindow test;
    test.window->resize(1800, 1000); // so that each axis has a chip of its own
    QVERIFY(open(test, knownDesign("data=2,model=2")));
    const Design before = test.document()->design();
    Design more = before;
    more.mesh = Mesh::parse("data=2,model=2,more=2").value();
    const int weight = weightNamed(*test.document(), "mlp.up_proj");
    more.strategies.push_back({ test.document()->patternOf(weight), Strategy { StrategyKind::Rowwise, { "more" } }, {} });
    QVERIFY(test.document()->edit(more, QStringLiteral("One axis more")).ok());
    test.document()->selection()->setWeight(weight);
    settle();
    const QPointer<QWidget> widget = test.window->findChild<QWidget*>(where);
    QVERIFY(widget && widget->isVisible());
    const auto at = [&](const QPoint& point) { return widget->mapTo(test.window.get(), point); };
    QPoint pressed = widget->rect().center();
    if (where != QLatin1String("chip_more")) { // looked for by pressing
        const auto find = [&] {
            for (int y = 2; y < widget->height(); y += 4)
                for (int x = 2; x < widget->width(); x += 4) {
                    test.document()->selection()->setMeshAxis(-1);
                    QTest::mousePress(widget, Qt::LeftButton, {}, QPoint(x, y));
                    if (test.document()->selection()->meshAxis() == 2)
                        return QPoint(x, y);
                    QTest::mouseRelease(widget, Qt::LeftButton, {}, QPoint(x, y));
                }
            return QPoint(-1, -1);
        };
        pressed = find();
        QVERIFY(pressed.x() >= 0);
    } else {
        QTest::mousePress(widget, Qt::LeftButton, {}, pressed);
    }
    const QPoint place = at(pressed);
    test.action("edit.undo")->trigger(); // as its key does
    QVERIFY(test.document()->design() == before);
    settle();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // as the next turn of the event loop does
    DragCounter drags;
    if (widget) {
        widget->installEventFilter(&drags);
        QMouseEvent move(QEvent::MouseMove, QPointF(pressed + QPoint(30, 20)),
                         widget->mapToGlobal(QPointF(pressed + QPoint(30, 20))), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(widget, &move);
    }
    QCOMPARE(drags.count, 0); // of an axis that is not there
    if (widget)
        QTest::mouseRelease(widget, Qt::LeftButton, {}, pressed + QPoint(30, 20));
    QTest::mouseRelease(test.window.get(), Qt::LeftButton, {}, place);
    settle();
    QVERIFY(test.document()->selection()->meshAxis() < 2);
    QVERIFY(test.document()->design() == before);
    QVERIFY(!test.window->grab().isNull());
    test.document()->undoStack()->setClean();
}

SHARDBOARD_TEST(TestRemovedParts, withFonts)

#include "tst_removedparts.moc"
