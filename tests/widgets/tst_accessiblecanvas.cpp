// SPDX-License-Identifier: Apache-2.0
// Devices, tiles, weights and operations as screen readers meet them: as children of the canvases, named, placed, with the current
// one reported, and made only when somebody asks.
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/canvas/accessiblecanvas.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QApplication>
#include <QTest>

#include <memory>
#include <set>
#include <vector>

using namespace shardboard;

namespace {

AccessibleCanvas* canvasOf(QWidget* widget)
{
    return dynamic_cast<AccessibleCanvas*>(QAccessible::queryAccessibleInterface(widget));
}

QString nameOf(const QAccessibleInterface* item) { return item->text(QAccessible::Name); }

} // namespace

class TestAccessibleCanvas : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();

    void devicesAreChildren();
    void theCurrentDeviceIsReported();
    void manyDevicesAreMadeWhenAskedFor();
    void tilesHaveOwnersAndRanges();
    void everyTileIsThereOnce();
    void replicatedWeightIsOneItem();
    void allWeightsAreChildren();
    void operationsAndCollectivesAreChildren();
    void childrenOfAnotherDesignAreInvalid();

private:
    template <class View, class Canvas>
    Canvas* show()
    {
        auto view = std::make_unique<View>(m_document.get());
        view->resize(900, 600);
        view->show();
        view->activateWindow();
        if (!QTest::qWaitForWindowActive(view.get()))
            qFatal("the window does not become active");
        m_view = std::move(view);
        return m_view->template findChild<Canvas*>();
    }
    Selection* selection() const { return m_document->selection(); }

    std::unique_ptr<Document> m_document;
    std::unique_ptr<QWidget> m_view;
};

void TestAccessibleCanvas::initTestCase()
{
    applyTheme(*qApp, Theme::light());
    installAccessibleCanvases();
    installAccessibleCanvases(); // twice is as good as once
}

void TestAccessibleCanvas::init()
{
    m_document = std::make_unique<Document>();
    QVERIFY(m_document->setDesign(knownDesign()).ok());
}

void TestAccessibleCanvas::cleanup()
{
    m_view.reset();
    m_document.reset();
}

void TestAccessibleCanvas::devicesAreChildren()
{
    selection()->setWeight(weightNamed(*m_document, "o_proj"));
    auto* canvas = show<MeshView, MeshCanvas>();
    AccessibleCanvas* accessible = canvasOf(canvas);
    QVERIFY(accessible != nullptr);
    QCOMPARE(accessible->text(QAccessible::Name), QStringLiteral("Device mesh"));
    QCOMPARE(accessible->childCount(), 8);
    QAccessibleInterface* six = accessible->child(6);
    QVERIFY2(nameOf(six).startsWith(QStringLiteral("device 6 · data 1, model 2, ")), qPrintable(nameOf(six)));
    QVERIFY2(nameOf(six).contains(QStringLiteral("[0:4096, 2048:3072]")), qPrintable(nameOf(six))); // o_proj is cut along dim 1
    QCOMPARE(six->role(), QAccessible::ListItem);
    QCOMPARE(six->parent(), static_cast<QAccessibleInterface*>(accessible));
    QCOMPARE(accessible->indexOfChild(six), 6);
    QCOMPARE(accessible->child(6), six); // asked for again it is the same
    const QRect place = canvas->deviceRect(6).toAlignedRect().translated(canvas->mapToGlobal(QPoint()));
    QCOMPARE(six->rect(), place);
    QCOMPARE(accessible->childAt(place.center().x(), place.center().y()), six);
    QCOMPARE(accessible->childAt(place.center().x(), canvas->mapToGlobal(QPoint(0, 2)).y()), nullptr); // above the grid
    QVERIFY(!six->state().selected && six->state().selectable);
    six->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    QCOMPARE(selection()->device(), std::int64_t { 6 });
    QVERIFY(six->state().selected && six->state().focused);
    QVERIFY(!accessible->child(5)->state().selected);
    QCOMPARE(accessible->child(8), nullptr);
    QCOMPARE(accessible->child(-1), nullptr);
}

void TestAccessibleCanvas::theCurrentDeviceIsReported()
{
    auto* canvas = show<MeshView, MeshCanvas>();
    canvas->setFocus();
    QCOMPARE(canvas->reportedItem(), -1);
    for (const Qt::Key key : { Qt::Key_Right, Qt::Key_Right, Qt::Key_Down, Qt::Key_Left }) {
        const int before = canvas->reportedItem();
        QTest::keyClick(canvas, key);
        QCOMPARE(canvas->reportedItem(), static_cast<int>(selection()->device()));
        QVERIFY(canvas->reportedItem() != before);
    }
    QCOMPARE(canvas->reportedItem(), 4);
    QCOMPARE(canvasOf(canvas)->focusChild(), canvasOf(canvas)->child(4));
    canvas->clearFocus();
    selection()->setDevice(0); // elsewhere in the window: a reader is not torn away
    QCOMPARE(canvas->reportedItem(), -1);
    QCOMPARE(canvasOf(canvas)->focusChild(), nullptr);
}

void TestAccessibleCanvas::manyDevicesAreMadeWhenAskedFor()
{
    QVERIFY(m_document->setDesign(knownDesign("data=64,fsdp=32,model=8", "megatron-tp")).ok());
    auto* canvas = show<MeshView, MeshCanvas>();
    canvas->setFocus();
    AccessibleCanvas* accessible = canvasOf(canvas);
    QCOMPARE(accessible->childCount(), 16384);
    for (int i = 0; i < 20; ++i)
        QTest::keyClick(canvas, Qt::Key_Right);
    QCOMPARE(canvas->reportedItem(), static_cast<int>(selection()->device()));
    const qsizetype before = accessible->madeChildren();
    QVERIFY(before <= 20); // those that were reported at most
    QVERIFY(nameOf(accessible->child(16383)).startsWith(QStringLiteral("device 16383")));
    QCOMPARE(accessible->madeChildren(), before + 1);
}

void TestAccessibleCanvas::tilesHaveOwnersAndRanges()
{
    selection()->setWeight(weightNamed(*m_document, "o_proj"));
    auto* canvas = show<TileView, TileCanvas>();
    AccessibleCanvas* accessible = canvasOf(canvas);
    QVERIFY(accessible != nullptr);
    QCOMPARE(accessible->childCount(), 4);
    QAccessibleInterface* second = accessible->child(1);
    QVERIFY2(nameOf(second).startsWith(QStringLiteral("devices 1, 5, [0:4096, 1024:2048]")), qPrintable(nameOf(second)));
    QVERIFY2(nameOf(second).endsWith(countText(8 << 20) + QStringLiteral(" bytes")),
             qPrintable(nameOf(second))); // 4096 x 1024 bf16
    const QRect place = second->rect();
    QVERIFY(!place.isEmpty());
    QCOMPARE(accessible->childAt(place.center().x(), place.center().y()), second);
    QCOMPARE(place, canvas->tileRect(1).toAlignedRect().translated(canvas->mapToGlobal(QPoint())));
    canvas->setFocus();
    selection()->setDevice(5);
    QVERIFY(second->state().selected && second->state().focused);
    QVERIFY(!accessible->child(0)->state().selected);
    QCOMPARE(canvas->reportedItem(), 1);
    accessible->child(3)->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    QCOMPARE(selection()->device(), std::int64_t { 3 });
}

/// The names' ranges cover the tensor and the rectangles the picture, none twice.
void TestAccessibleCanvas::everyTileIsThereOnce()
{
    Design design = knownDesign("data=2,model=4", "tp+fsdp");
    QVERIFY(m_document->setDesign(design).ok());
    selection()->setWeight(weightNamed(*m_document, "down_proj"));
    auto* canvas = show<TileView, TileCanvas>();
    AccessibleCanvas* accessible = canvasOf(canvas);
    QCOMPARE(accessible->childCount(), 8);
    std::set<QString> names;
    double area = 0;
    for (int i = 0; i < accessible->childCount(); ++i) {
        names.insert(nameOf(accessible->child(i)));
        const QRectF rect = canvas->accessibleItemRect(i);
        area += rect.width() * rect.height();
        QCOMPARE(canvas->accessibleItemAt(rect.center()), i);
    }
    QCOMPARE(names.size(), std::size_t { 8 });
    QVERIFY(std::abs(area - canvas->picture().width() * canvas->picture().height()) < 1);
}

void TestAccessibleCanvas::replicatedWeightIsOneItem()
{
    selection()->setWeight(weightNamed(*m_document, "input_layernorm"));
    auto* canvas = show<TileView, TileCanvas>();
    AccessibleCanvas* accessible = canvasOf(canvas);
    QCOMPARE(accessible->childCount(), 1);
    QCOMPARE(nameOf(accessible->child(0)), QStringLiteral("on all 8 devices"));
    selection()->setWeight(-1);
    QCOMPARE(accessible->childCount(), 0);
}

void TestAccessibleCanvas::allWeightsAreChildren()
{
    auto* canvas = show<TileView, ModelCanvas>();
    static_cast<TileView*>(m_view.get())->showAll(true);
    QTRY_VERIFY(canvas->isVisible());
    AccessibleCanvas* accessible = canvasOf(canvas);
    QCOMPARE(accessible->childCount(), canvas->shownWeights());
    QVERIFY(accessible->childCount() >= 12); // all but those without an area
    const int down = weightNamed(*m_document, "down_proj");
    const QPoint at = canvas->mapToGlobal(canvas->weightRect(down).center().toPoint());
    QAccessibleInterface* item = accessible->childAt(at.x(), at.y());
    QVERIFY(item != nullptr);
    QVERIFY2(nameOf(item).contains(QStringLiteral("down_proj")) && nameOf(item).contains(QStringLiteral("32 layers")),
             qPrintable(nameOf(item)));
    item->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    QCOMPARE(selection()->weight(), down);
    QVERIFY(item->state().selected && item->state().focused);
    QCOMPARE(canvas->reportedItem(), accessible->indexOfChild(item));
}

void TestAccessibleCanvas::operationsAndCollectivesAreChildren()
{
    auto* canvas = show<FlowView, FlowCanvas>();
    AccessibleCanvas* accessible = canvasOf(canvas);
    QCOMPARE(accessible->childCount(), static_cast<int>(canvas->scene().items.size()));
    QVERIFY(accessible->childCount() > 5);
    int collectives = 0;
    for (int i = 0; i < accessible->childCount(); ++i) {
        QVERIFY2(!nameOf(accessible->child(i)).isEmpty(), qPrintable(QString::number(i)));
        const FlowItem& item = canvas->scene().items[static_cast<std::size_t>(i)];
        if (!item.collective.valid())
            continue;
        ++collectives;
        QVERIFY(nameOf(accessible->child(i)).startsWith(item.title));
        accessible->child(i)->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        QCOMPARE(selection()->collective(), item.collective);
        QVERIFY(accessible->child(i)->state().selected);
    }
    QVERIFY(collectives >= 2);
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_Right);
    QVERIFY(canvas->reportedItem() >= 0);
    QCOMPARE(accessible->focusChild(), accessible->child(canvas->reportedItem()));
}

void TestAccessibleCanvas::childrenOfAnotherDesignAreInvalid()
{
    auto* canvas = show<MeshView, MeshCanvas>();
    QAccessibleInterface* last = canvasOf(canvas)->child(7);
    QVERIFY(last->isValid());
    QVERIFY(m_document->setDesign(knownDesign("model=4")).ok());
    QVERIFY(!last->isValid());
    QVERIFY(last->state().invalid);
    QVERIFY(nameOf(last).isEmpty() && last->rect().isEmpty());
    m_view.reset(); // and those of a canvas that is gone are, too, until they are removed with it
}

SHARDBOARD_TEST(TestAccessibleCanvas)
#include "tst_accessiblecanvas.moc"
