// SPDX-License-Identifier: Apache-2.0
// Moving in the canvases of the real window, alike in all four: wheel, pinch, drags, keys and the map; one selection in all of
// them; and what the pointer and the keyboard are told about a device.
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"

#include "app/desktop/panels/workbench.h"
#include "widgets/canvas/navigation.h"
#include "widgets/controls/axisdrag.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tables/weighthover.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QHelpEvent>
#include <QLineEdit>
#include <QNativeGestureEvent>
#include <QPointingDevice>
#include <QStatusBar>
#include <QStyle>
#include <QToolButton>
#include <QToolTip>
#include <QTreeView>
#include <QTreeWidget>
#include <QWheelEvent>
#include <QWindow>

#include <cmath>
#include <functional>

using namespace shardboard;

namespace {

/// One of the canvases, by what they have in common.
struct Canvas {
    QWidget* widget = nullptr;
    CanvasNavigation* navigation = nullptr;
    std::function<const Viewport&()> view;
};

template <class Widget>
Canvas canvas(Widget* widget)
{
    return { widget, widget->navigation(), [widget]() -> const Viewport& { return widget->currentView(); } };
}

Canvas canvasNamed(const RealWindow& real, const QString& name)
{
    const MainWindow& window = *real.window;
    real.selection()->setWeight(weightNamed(*real.document(), "gate_proj"));
    window.tileView()->showAll(name == QLatin1String("weights"));
    QCoreApplication::processEvents(); // what is laid out later
    if (name == QLatin1String("mesh"))
        return canvas(window.meshView()->canvas());
    if (name == QLatin1String("tiles"))
        return canvas(window.tileView()->canvas());
    if (name == QLatin1String("weights"))
        return canvas(window.tileView()->modelCanvas());
    return canvas(window.findChild<FlowCanvas*>());
}

void turn(QWidget* widget, const QPointF& at, const QPoint& delta, Qt::KeyboardModifiers modifiers = {})
{
    QWheelEvent event(at, widget->mapToGlobal(at), {}, delta, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

double far(const QPointF& a, const QPointF& b) { return std::hypot(a.x() - b.x(), a.y() - b.y()); }

void mouse(QWidget* widget, QEvent::Type type, const QPointF& at, Qt::MouseButton button, Qt::MouseButtons buttons)
{
    QMouseEvent event(type, at, widget->mapToGlobal(at), button, buttons, Qt::NoModifier);
    QApplication::sendEvent(widget, &event);
}

/// The pointer comes to a widget from nowhere.
void enter(QWidget* widget, const QPointF& at)
{
    QEnterEvent event(at, widget->mapTo(widget->window(), at.toPoint()), widget->mapToGlobal(at));
    QApplication::sendEvent(widget, &event);
    mouse(widget, QEvent::MouseMove, at, Qt::NoButton, Qt::NoButton);
}

void leave(QWidget* widget)
{
    QEvent event(QEvent::Leave);
    QApplication::sendEvent(widget, &event);
}

void addCanvases()
{
    QTest::addColumn<QString>("name");
    for (const char* name : { "mesh", "tiles", "weights", "flow" })
        QTest::newRow(name) << QString::fromLatin1(name);
}

} // namespace

class TestCanvasNavigation : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { m_real.reset(); }

    void viewportKeepsThePoint();
    void mapCoversNoOperation();
    void mapIsPureGeometry();
    void mapLeavesTheSelectionInSight();
    void wheelZoomsAtTheCursor_data() { addCanvases(); }
    void wheelZoomsAtTheCursor();
    void wheelScrollsWhereChosen_data() { addCanvases(); }
    void wheelScrollsWhereChosen();
    void choiceOfTheWheelIsKept();
    void pinchZooms_data() { addCanvases(); }
    void pinchZooms();
    void middleAndSpaceDrag_data() { addCanvases(); }
    void middleAndSpaceDrag();
    void spaceThatDragsNothingIsPassedOn();
    void spaceInAFieldIsALetter();
    void keysZoomAndFit_data() { addCanvases(); }
    void keysZoomAndFit();
    void mapAppearsAndIsDragged_data() { addCanvases(); }
    void mapAppearsAndIsDragged();
    void selectingAnywhereSelectsEverywhere();
    void hoveringShowsEverywhere();
    void hoveredWeightShowsEverywhere();
    void hoveredWeightOutlivesAnEdit();
    void toolTipsAndStatusBarTellOfDevices();
    void zoomOutlivesOtherWeightsAndEdits();

private:
    std::unique_ptr<RealWindow> m_real;
};

void TestCanvasNavigation::init()
{
    m_real = std::make_unique<RealWindow>();
    QVERIFY(m_real->ready);
}

void TestCanvasNavigation::viewportKeepsThePoint()
{
    Viewport viewport;
    viewport.setView({ 10, 20, 400, 300 });
    viewport.setWorld({ 0, 0, 100, 20 }, 1000); // low: there is room above and below
    for (const QPointF& at : { QPointF(60, 150), QPointF(300, 190), QPointF(380, 160) }) {
        viewport.fit();
        for (const double factor : { 1.2, 1.2, 3.0, 1.2, 0.8, 1.5 }) {
            const QPointF under = viewport.toWorld(at);
            viewport.zoomAt(at, factor);
            QVERIFY(far(viewport.toScreen(under), at) <= 1);
        }
        // Moving goes on from where zooming has left it, without a jump, and not further out.
        const QPointF corner = viewport.toScreen(QPointF(0, 0));
        viewport.pan({ 0, 0 });
        QVERIFY(far(viewport.toScreen(QPointF(0, 0)), corner) < 1e-9);
        viewport.pan({ 0, 1e6 });
        QVERIFY(viewport.toScreen(viewport.world()).intersects(viewport.view()));
    }
    viewport.show({ 10, 5, 10, 5 }, 1e9);
    QVERIFY(far(viewport.toScreen(QPointF(15, 7.5)), viewport.view().center()) < 1);
    QVERIFY(viewport.visibleWorld().contains(QRectF(10, 5, 10, 5)));
    viewport.reveal({ 90, 5, 5, 5 }, 4);
    QVERIFY(viewport.visibleWorld().contains(QRectF(90, 5, 5, 5)));
    viewport.setLargestScale(6);
    viewport.zoomAt({ 200, 150 }, 1e9);
    QCOMPARE(viewport.scale(), 6.0);
}

namespace {

/// A drawing with one selected part.
struct SomeCanvas : NavigatedCanvas {
    Viewport shown;
    QRectF selected;
    Viewport& viewport() override { return shown; }
    QRectF selectedPart() const override { return selected; }
    void viewMoved() override { }
    void paintMap(QPainter&, const Viewport&) const override { }
};

} // namespace

void TestCanvasNavigation::mapLeavesTheSelectionInSight()
{
    QWidget widget;
    SomeCanvas canvas;
    CanvasNavigation navigation(&widget, &canvas);
    canvas.shown.setView({ 0, 0, 400, 300 });
    canvas.shown.setWorld({ 0, 0, 200, 100 }, 1000);
    canvas.shown.zoomAt({ 200, 150 }, 4);
    const QRectF usual = navigation.mapRect();
    QVERIFY(!usual.isEmpty() && usual.right() > 350);
    const auto select = [&](const QPointF& topLeft, const QPointF& bottomRight) {
        canvas.selected = { canvas.shown.toWorld(topLeft), canvas.shown.toWorld(bottomRight) };
    };
    select({ 10, 10 }, { 60, 60 });
    QCOMPARE(navigation.mapRect(), usual);
    select(usual.center(), usual.center() + QPointF(20, 20));
    QVERIFY(navigation.mapRect().right() < 200);
    QCOMPARE(navigation.mapRect().size(), usual.size());
    select({ 0, 0 }, { 400, 300 }); // all of the view: nowhere is better
    QCOMPARE(navigation.mapRect(), usual);
}

/// As the flow is opened, in whatever room, and scrolled; zoomed in it has a map.
void TestCanvasNavigation::mapCoversNoOperation()
{
    auto* flow = m_real->window->findChild<FlowCanvas*>();
    QAction* scrolls = m_real->window->findChild<QAction*>(QStringLiteral("view.wheelScrolls"));
    const QSize before = m_real->window->size();
    scrolls->setChecked(true);
    int scrolled = 0;
    for (const double points : { 10.0, 15.0 })
        for (const QSize size : { QSize(1024, 640), QSize(1280, 800), QSize(1600, 1000) }) {
            m_real->theme->setTextSize(points);
            m_real->window->resize(size);
            settle();
            flow->navigation()->home();
            for (int down = 0; down < 3; ++down) {
                const QRectF map = flow->navigation()->mapRect();
                for (int i = 0; !map.isEmpty() && i < static_cast<int>(flow->scene().items.size()); ++i)
                    QVERIFY(!flow->itemRect(i).intersects(map));
                scrolled += flow->missingHeight() > 0 ? 1 : 0;
                turn(flow, QPointF(flow->rect().center()), { 0, -40 });
            }
            flow->navigation()->home();
        }
    QVERIFY(scrolled > 0);
    scrolls->setChecked(false);
    m_real->theme->setTextSize(m_real->theme->usualTextSize());
    m_real->window->resize(before);
    settle();
    flow->navigation()->zoom(4);
    QVERIFY(!flow->navigation()->mapRect().isEmpty());
    flow->navigation()->home();
}

void TestCanvasNavigation::mapIsPureGeometry()
{
    Viewport viewport;
    viewport.setView({ 10, 20, 400, 300 });
    viewport.setWorld({ 0, 0, 200, 100 }, 1000);
    QVERIFY(OverviewMap(viewport).isEmpty()); // all of it is in sight
    viewport.zoomAt({ 210, 170 }, 4);
    const OverviewMap map(viewport);
    QVERIFY(viewport.view().contains(map.rect()));
    QVERIFY(map.rect().width() < 200 && map.rect().height() < 150);
    // The frame is the same part of the map as what is seen is of the world.
    const QRectF frame = map.frame(viewport);
    QVERIFY(std::abs(frame.width() / map.small().toScreen(viewport.world()).width() - viewport.visibleWorld().width() / 200)
            < 0.01);
    QVERIFY(far(map.worldAt(frame.center()), viewport.visibleWorld().center()) < 1);
    viewport.setView({ 0, 0, 100, 80 });
    QVERIFY(OverviewMap(viewport).isEmpty()); // no room
}

void TestCanvasNavigation::wheelZoomsAtTheCursor()
{
    QFETCH(QString, name);
    const Canvas it = canvasNamed(*m_real, name);
    for (const QPointF& share : { QPointF(0.5, 0.5), QPointF(0.3, 0.6), QPointF(0.6, 0.35) }) {
        it.navigation->fitAll();
        const QRectF view = it.view().view();
        const QPointF at(view.left() + share.x() * view.width(), view.top() + share.y() * view.height());
        double scale = it.view().scale();
        for (int i = 0; i < 10; ++i) {
            const QPointF under = it.view().toWorld(at);
            turn(it.widget, at, { 0, i < 6 ? 120 : -120 });
            if (it.view().isFitted())
                break;
            QVERIFY2(far(it.view().toScreen(under), at) <= 1, qPrintable(QString::number(i)));
            if (i < 5 && name != QLatin1String("flow"))
                QVERIFY(it.view().scale() > scale);
            scale = it.view().scale();
        }
        QVERIFY(!it.widget->grab().isNull());
        for (int i = 0; i < 40; ++i)
            turn(it.widget, at, { 0, -120 });
        QVERIFY(it.view().isFitted());
    }
}

void TestCanvasNavigation::wheelScrollsWhereChosen()
{
    QFETCH(QString, name);
    m_real->window->findChild<QAction*>(QStringLiteral("view.wheelScrolls"))->setChecked(true);
    const Canvas it = canvasNamed(*m_real, name);
    const QPointF at = it.view().view().center();
    it.navigation->fitAll();
    turn(it.widget, at, { 0, 120 });
    QVERIFY(it.view().isFitted()); // nothing to scroll, and no zoom
    for (int i = 0; i < 8; ++i)
        turn(it.widget, at, { 0, 120 }, Qt::ControlModifier);
    QVERIFY(!it.view().isFitted());
    const double scale = it.view().scale();
    const QPointF before = it.view().toScreen(it.view().visibleWorld().center());
    const QPointF world = it.view().visibleWorld().center();
    turn(it.widget, at, { 0, 60 });
    const QPointF moved = it.view().toScreen(world) - before;
    QCOMPARE(it.view().scale(), scale);
    QVERIFY(std::abs(moved.y() - 30) < 0.5 && std::abs(moved.x()) < 0.5);
    turn(it.widget, at, { 0, 60 }, Qt::ShiftModifier);
    QVERIFY(std::abs((it.view().toScreen(world) - before).x() - 30) < 0.5);
}

void TestCanvasNavigation::choiceOfTheWheelIsKept()
{
    QVERIFY(!m_real->settings->wheelScrolls());
    m_real->window->findChild<QAction*>(QStringLiteral("view.wheelScrolls"))->trigger();
    QVERIFY(m_real->settings->wheelScrolls());
    m_real->openAgain();
    const auto all = m_real->window->findChildren<CanvasNavigation*>();
    QVERIFY(all.size() >= 4);
    for (const CanvasNavigation* navigation : all)
        QVERIFY(navigation->wheelScrolls());
    m_real->window->findChild<QAction*>(QStringLiteral("view.wheelScrolls"))->trigger();
    for (const CanvasNavigation* navigation : all)
        QVERIFY(!navigation->wheelScrolls());
}

void TestCanvasNavigation::pinchZooms()
{
    QFETCH(QString, name);
    m_real->window->resize(1100, 760); // the offscreen platform has touches on its small screen alone
    const Canvas it = canvasNamed(*m_real, name);
    it.navigation->fitAll();
    const QPointF at = it.view().view().center() + QPointF(20, 10);
    const QPointF under = it.view().toWorld(at);
    const double scale = it.view().scale();
    // As a touch pad reports it.
    QNativeGestureEvent pinch(Qt::ZoomNativeGesture, QPointingDevice::primaryPointingDevice(), 2, at,
                              it.widget->mapTo(it.widget->window(), at.toPoint()), it.widget->mapToGlobal(at), std::log(1.5), {});
    QApplication::sendEvent(it.widget, &pinch);
    QVERIFY(std::abs(it.view().scale() / scale - 1.5) < 1e-6);
    QVERIFY(far(it.view().toScreen(under), at) <= 1);
    // Two fingers on a touch screen that go apart.
    static QPointingDevice* screen = QTest::createTouchDevice();
    const double before = it.view().scale();
    QWindow* handle = m_real->window->windowHandle();
    const QPoint middle = it.widget->mapTo(m_real->window.get(), it.view().view().center().toPoint());
    QTest::touchEvent(handle, screen).press(0, middle - QPoint(20, 0), handle).press(1, middle + QPoint(20, 0), handle);
    for (int reach = 24; reach <= 60; reach += 4)
        QTest::touchEvent(handle, screen).move(0, middle - QPoint(reach, 0), handle).move(1, middle + QPoint(reach, 0), handle);
    QTest::touchEvent(handle, screen).release(0, middle - QPoint(60, 0), handle).release(1, middle + QPoint(60, 0), handle);
    QVERIFY2(it.view().scale() > 1.4 * before, qPrintable(QString::number(it.view().scale() / before)));
}

void TestCanvasNavigation::middleAndSpaceDrag()
{
    QFETCH(QString, name);
    const Canvas it = canvasNamed(*m_real, name);
    auto* elsewhere = m_real->child<QWidget>("weightTree");
    for (const double zoom : { 2.0, 4.0 }) // whatever the zoom, the picture stays under the pointer
        for (const bool space : { false, true }) {
            it.navigation->fitAll();
            it.navigation->zoom(zoom * 2);
            elsewhere->setFocus();
            const std::int64_t device = m_real->selection()->device();
            const int weight = m_real->selection()->weight();
            const QPointF from = it.view().view().center();
            const QPointF under = it.view().toWorld(from);
            enter(it.widget, from);
            const Qt::MouseButton button = space ? Qt::LeftButton : Qt::MiddleButton;
            if (space)
                QTest::keyPress(elsewhere, Qt::Key_Space);
            mouse(it.widget, QEvent::MouseButtonPress, from, button, button);
            QPointF at = from;
            for (int i = 0; i < 5; ++i) {
                at -= QPointF(4, 3);
                mouse(it.widget, QEvent::MouseMove, at, Qt::NoButton, button);
                QVERIFY2(far(it.view().toScreen(under), at) <= 1, qPrintable(QStringLiteral("%1 %2").arg(zoom).arg(i)));
            }
            mouse(it.widget, QEvent::MouseButtonRelease, at, button, Qt::NoButton);
            if (space)
                QTest::keyRelease(elsewhere, Qt::Key_Space);
            mouse(it.widget, QEvent::MouseMove, at + QPointF(30, 0), Qt::NoButton, Qt::NoButton);
            QVERIFY(far(it.view().toScreen(under), at) <= 1); // it has ended
            QVERIFY(elsewhere->hasFocus()); // and needed no focus
            QCOMPARE(m_real->selection()->device(), device);
            QCOMPARE(m_real->selection()->weight(), weight);
            leave(it.widget);
        }
}

void TestCanvasNavigation::spaceThatDragsNothingIsPassedOn()
{
    auto* button = m_real->child<QToolButton>("meshColoring");
    auto* mesh = m_real->window->meshView()->canvas();
    button->setFocus();
    enter(mesh, mesh->rect().center());
    const bool before = button->isChecked();
    QTest::keyClick(button, Qt::Key_Space);
    QCOMPARE(button->isChecked(), !before);
    leave(mesh);
    QTest::keyClick(button, Qt::Key_Space); // and where no canvas is under the pointer
    QCOMPARE(button->isChecked(), before);
}

void TestCanvasNavigation::spaceInAFieldIsALetter()
{
    auto* field = m_real->child<QLineEdit>("flowFind");
    auto* flow = m_real->window->findChild<FlowCanvas*>();
    field->setFocus();
    enter(flow, flow->rect().center());
    QTest::keyClicks(field, QStringLiteral("a b"));
    QCOMPARE(field->text(), QStringLiteral("a b"));
    leave(flow);
}

void TestCanvasNavigation::keysZoomAndFit()
{
    QFETCH(QString, name);
    QVERIFY(m_real->document()->setDesign(trainingDesign("llama3-8b", "fsdp=2,model=4", "tp+fsdp")).ok()); // tiles both ways
    const Canvas it = canvasNamed(*m_real, name);
    it.widget->setFocus();
    QTest::keyClick(it.widget, Qt::Key_F, Qt::ShiftModifier);
    QVERIFY(it.view().isFitted());
    const double fitted = it.view().scale();
    QTest::keyClick(it.widget, Qt::Key_Plus);
    QVERIFY(std::abs(it.view().scale() / fitted - 1.25) < 1e-6);
    QTest::keyClick(it.widget, Qt::Key_Plus);
    QTest::keyClick(it.widget, Qt::Key_Minus);
    QVERIFY(std::abs(it.view().scale() / fitted - 1.25) < 1e-6);
    QTest::keyClick(it.widget, Qt::Key_0);
    if (name != QLatin1String("flow")) // there it is full size
        QVERIFY(it.view().isFitted());
    // What is selected comes into the middle, larger than before.
    m_real->selection()->setDevice(6);
    m_real->selection()->setWeight(weightNamed(*m_real->document(), name == QLatin1String("weights") ? "k_proj" : "gate_proj"));
    QTest::keyClick(it.widget, Qt::Key_F);
    QVERIFY(it.view().scale() > fitted);
    QRectF selected;
    if (name == QLatin1String("mesh")) {
        selected = m_real->window->meshView()->canvas()->deviceRect(6);
    } else if (name == QLatin1String("tiles")) {
        selected = m_real->window->tileView()->canvas()->tileRect(6);
    } else if (name == QLatin1String("weights")) {
        selected = m_real->window->tileView()->modelCanvas()->weightRect(m_real->selection()->weight());
    } else {
        auto* flow = m_real->window->findChild<FlowCanvas*>();
        for (int i = 0; i < static_cast<int>(flow->scene().items.size()); ++i)
            if (flow->scene().items[static_cast<std::size_t>(i)].title.startsWith(QStringLiteral("gate")))
                selected = flow->itemRect(i);
    }
    QVERIFY(!selected.isEmpty());
    QVERIFY(it.view().view().adjusted(-1, -1, 1, 1).contains(selected));
    QVERIFY(selected.width() > 0.25 * it.view().view().width() || selected.height() > 0.25 * it.view().view().height());
    QTest::keyClick(it.widget, Qt::Key_F, Qt::ShiftModifier);
    QVERIFY(it.view().isFitted());
}

void TestCanvasNavigation::mapAppearsAndIsDragged()
{
    QFETCH(QString, name);
    const Canvas it = canvasNamed(*m_real, name);
    it.navigation->fitAll();
    QVERIFY(it.navigation->mapRect().isEmpty());
    it.navigation->zoom(4);
    const QRectF map = it.navigation->mapRect();
    QVERIFY(!map.isEmpty() && it.view().view().contains(map));
    QVERIFY(map.contains(it.navigation->mapFrame().center()));
    QVERIFY(!it.widget->grab().isNull());
    const std::int64_t device = m_real->selection()->device();
    const int weight = m_real->selection()->weight();
    // The frame is taken hold of and moved; what is seen moves with it.
    const QPointF from = it.navigation->mapFrame().center();
    const QPointF way = (map.center() - from) + QPointF(map.width() * 0.08, -map.height() * 0.08);
    const QRectF seen = it.view().visibleWorld();
    const QRectF frame = it.navigation->mapFrame();
    mouse(it.widget, QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
    for (int i = 1; i <= 4; ++i)
        mouse(it.widget, QEvent::MouseMove, from + way * i / 4, Qt::NoButton, Qt::LeftButton);
    mouse(it.widget, QEvent::MouseButtonRelease, from + way, Qt::LeftButton, Qt::NoButton);
    QVERIFY2(far(it.navigation->mapFrame().center() - frame.center(), way) < 2.5,
             qPrintable(QStringLiteral("%1 %2").arg(way.x()).arg(way.y())));
    QVERIFY(far(it.view().visibleWorld().center(), seen.center()) > 0);
    // A click beside the frame brings it there.
    const QPointF beside = map.topLeft() + QPointF(4, 4);
    mouse(it.widget, QEvent::MouseButtonPress, beside, Qt::LeftButton, Qt::LeftButton);
    mouse(it.widget, QEvent::MouseButtonRelease, beside, Qt::LeftButton, Qt::NoButton);
    QVERIFY(it.navigation->mapFrame().adjusted(-3, -3, 3, 3).contains(beside));
    // Nothing beneath the map was selected.
    QCOMPARE(m_real->selection()->device(), device);
    QCOMPARE(m_real->selection()->weight(), weight);
}

void TestCanvasNavigation::selectingAnywhereSelectsEverywhere()
{
    auto* mesh = m_real->window->meshView()->canvas();
    auto* tiles = m_real->window->tileView()->canvas();
    auto* flow = m_real->window->findChild<FlowCanvas*>();
    const int weight = weightNamed(*m_real->document(), "o_proj");
    const auto image = [](QWidget* widget) { return widget->grab().toImage(); };
    // A weight, in the flow: the tiles are its own.
    m_real->selection()->clear();
    for (int i = 0; i < static_cast<int>(flow->scene().items.size()); ++i)
        if (flow->scene().items[static_cast<std::size_t>(i)].title == QLatin1String("o_proj"))
            QTest::mouseClick(flow, Qt::LeftButton, {}, flow->itemRect(i).center().toPoint());
    QCOMPARE(m_real->selection()->weight(), weight);
    QVERIFY(tiles->tileRect(1) != tiles->tileRect(2));
    QVERIFY(m_real->child<QTreeView>("weightTree")->currentIndex().data().toString().contains(QStringLiteral("o_proj")));
    // A device, in the mesh: it is marked in the tiles; and the other way round.
    const QImage before = image(tiles);
    QTest::mouseClick(mesh, Qt::LeftButton, {}, mesh->deviceRect(2).center().toPoint());
    QCOMPARE(m_real->selection()->device(), std::int64_t { 2 });
    QVERIFY(image(tiles) != before);
    QVERIFY(mesh->accessibleDescription().startsWith(QStringLiteral("device 2")));
    QTest::mouseClick(tiles, Qt::LeftButton, {}, tiles->tileRect(3).center().toPoint());
    QCOMPARE(m_real->selection()->device(), std::int64_t { 3 });
    QVERIFY(mesh->accessibleDescription().startsWith(QStringLiteral("device 3")));
    // Cleared together.
    const QImage marked = image(mesh);
    mesh->setFocus();
    QTest::keyClick(mesh, Qt::Key_Escape);
    QCOMPARE(m_real->selection()->device(), std::int64_t { -1 });
    tiles->setFocus(); // so that no frame of the focus is compared
    QVERIFY(image(mesh) != marked);
    QCOMPARE(image(m_real->window->tileView()->canvas()).size(), before.size());
}

void TestCanvasNavigation::hoveringShowsEverywhere()
{
    auto* mesh = m_real->window->meshView()->canvas();
    auto* tiles = m_real->window->tileView()->canvas();
    m_real->selection()->clear();
    m_real->selection()->setWeight(weightNamed(*m_real->document(), "o_proj"));
    const QImage quiet = tiles->grab().toImage();
    const QImage quietMesh = mesh->grab().toImage();
    mouse(mesh, QEvent::MouseMove, mesh->deviceRect(1).center(), Qt::NoButton, Qt::NoButton);
    QCOMPARE(m_real->selection()->hoveredDevice(), std::int64_t { 1 });
    QVERIFY(tiles->grab().toImage() != quiet);
    leave(mesh);
    QVERIFY(tiles->grab().toImage() == quiet);
    mouse(tiles, QEvent::MouseMove, tiles->tileRect(2).center(), Qt::NoButton, Qt::NoButton);
    QVERIFY(mesh->grab().toImage() != quietMesh);
    leave(tiles);
    QVERIFY(mesh->grab().toImage() == quietMesh);
}

/// Every view that shows weights says which one the pointer is over, the others show it, and it is gone with the pointer.
void TestCanvasNavigation::hoveredWeightShowsEverywhere()
{
    const MainWindow& window = *m_real->window;
    Selection* selection = m_real->selection();
    const int weight = weightNamed(*m_real->document(), "o_proj");
    auto* weights = m_real->child<QTreeView>("weightTree");
    auto* flow = window.findChild<FlowCanvas*>();
    auto* model = window.tileView()->modelCanvas();
    auto* tiles = window.tileView()->canvas();
    window.workbench()->raise(QStringLiteral("cost"));
    auto* cost = m_real->child<QTreeWidget>("costTree");
    cost->expandAll();
    selection->clear();
    window.tileView()->showAll(true);
    QCoreApplication::processEvents();
    const auto found = cost->findItems(QStringLiteral("o_proj"), Qt::MatchContains | Qt::MatchRecursive);
    QCOMPARE(found.size(), 1);
    cost->scrollToItem(found.front());
    const auto hoverOf = [](QAbstractItemView* view) { return view->findChild<WeightHover*>(); };
    int block = -1; // the box that takes it
    for (std::size_t i = 0; i < flow->scene().items.size(); ++i)
        if (const auto& of = flow->scene().items[i].weights; std::find(of.begin(), of.end(), weight) != of.end())
            block = static_cast<int>(i);
    QVERIFY(block >= 0 && !model->weightRect(weight).isEmpty());
    QVERIFY(hoverOf(weights)->marked().empty() && hoverOf(cost)->marked().empty());
    const QImage quietModel = model->grab().toImage();
    const QImage quietFlow = flow->grab().toImage();

    mouse(model, QEvent::MouseMove, model->weightRect(weight).center(), Qt::NoButton, Qt::NoButton);
    QCOMPARE(selection->hoveredWeight(), weight);
    QVERIFY(flow->grab().toImage() != quietFlow);
    QCOMPARE(hoverOf(weights)->marked().size(), std::size_t { 1 });
    QCOMPARE(weights->indexAt(hoverOf(weights)->marked().front().center()).data().toString(), QStringLiteral("self_attn.o_proj"));
    QVERIFY(hoverOf(weights)->isVisible());
    QCOMPARE(hoverOf(cost)->marked().size(), std::size_t { 1 });
    QCOMPARE(cost->itemAt(hoverOf(cost)->marked().front().center()), found.front());
    leave(model);
    QCOMPARE(selection->hoveredWeight(), -1);
    QVERIFY(flow->grab().toImage() == quietFlow && model->grab().toImage() == quietModel);
    QVERIFY(hoverOf(weights)->isHidden() && hoverOf(cost)->marked().empty());

    mouse(flow, QEvent::MouseMove, flow->itemRect(block).center(), Qt::NoButton, Qt::NoButton);
    QCOMPARE(selection->hoveredWeight(), weight);
    QVERIFY(model->grab().toImage() != quietModel);
    leave(flow);
    QVERIFY(model->grab().toImage() == quietModel);

    for (QAbstractItemView* list : std::initializer_list<QAbstractItemView*> { weights, cost }) {
        selection->setHoveredWeight(weight);
        const QPointF row = hoverOf(list)->marked().front().center();
        selection->setHoveredWeight(-1);
        mouse(list->viewport(), QEvent::MouseMove, row, Qt::NoButton, Qt::NoButton);
        QCOMPARE(selection->hoveredWeight(), weight);
        QVERIFY(hoverOf(list)->isHidden()); // the row under the pointer is shown by the list itself
        QVERIFY(model->grab().toImage() != quietModel);
        leave(list->viewport());
        QVERIFY(model->grab().toImage() == quietModel);
    }

    selection->setWeight(weight);
    window.tileView()->showAll(false);
    QCoreApplication::processEvents();
    const QImage quietTiles = tiles->grab().toImage();
    mouse(tiles, QEvent::MouseMove, tiles->picture().center(), Qt::NoButton, Qt::NoButton);
    QCOMPARE(selection->hoveredWeight(), weight);
    leave(tiles);
    QCOMPARE(selection->hoveredWeight(), -1);
    QVERIFY(tiles->grab().toImage() == quietTiles);
    selection->setHoveredWeight(weight);
    QVERIFY(tiles->grab().toImage() != quietTiles);
    selection->clear();
    QCOMPARE(selection->hoveredWeight(), -1);
}

void TestCanvasNavigation::hoveredWeightOutlivesAnEdit()
{
    Selection* selection = m_real->selection();
    const int weight = weightNamed(*m_real->document(), "o_proj");
    const std::string name = weightAt(*m_real->document(), weight).spec.name;
    selection->setHoveredWeight(weight);
    Design other = m_real->document()->design();
    other.mesh = Mesh::parse("data=4,model=2").value();
    QVERIFY(m_real->document()->edit(other, QStringLiteral("another mesh")).ok());
    QVERIFY(selection->hoveredWeight() >= 0);
    QCOMPARE(weightAt(*m_real->document(), selection->hoveredWeight()).spec.name, name);
}

void TestCanvasNavigation::toolTipsAndStatusBarTellOfDevices()
{
    QVERIFY(QApplication::style()->styleHint(QStyle::SH_ToolTip_WakeUpDelay) <= 700);
    auto* mesh = m_real->window->meshView()->canvas();
    auto* tiles = m_real->window->tileView()->canvas();
    m_real->selection()->setWeight(weightNamed(*m_real->document(), "o_proj"));
    // o_proj is [4096, 4096] of two bytes, dim 1 in four: the third part is 2048 to 3072, 8 MiB.
    const QStringList wanted { QStringLiteral("device 2"), QStringLiteral("data 0, model 2"), QStringLiteral("[0:4096, 2048:3072]"),
                               QStringLiteral("bytes") };
    for (const auto& [widget, at, text] :
         { std::tuple<QWidget*, QPointF, QString>(mesh, mesh->deviceRect(2).center(), mesh->deviceText(2)),
           std::tuple<QWidget*, QPointF, QString>(tiles, tiles->tileRect(2).center(), tiles->tileText(2)) }) {
        for (const QString& part : wanted)
            QVERIFY2(text.contains(part), qPrintable(text));
        QHelpEvent help(QEvent::ToolTip, at.toPoint(), widget->mapToGlobal(at.toPoint()));
        QApplication::sendEvent(widget, &help);
        QCOMPARE(QToolTip::text(), text);
        QToolTip::hideText();
    }
    // By the keyboard: the status bar.
    for (QWidget* widget : std::initializer_list<QWidget*> { mesh, tiles }) {
        m_real->selection()->setDevice(1);
        widget->setFocus();
        QTest::keyClick(widget, Qt::Key_Right);
        QCOMPARE(m_real->selection()->device(), std::int64_t { 2 });
        for (const QString& part : wanted)
            QVERIFY2(m_real->window->statusBar()->currentMessage().contains(part),
                     qPrintable(m_real->window->statusBar()->currentMessage()));
    }
}

void TestCanvasNavigation::zoomOutlivesOtherWeightsAndEdits()
{
    auto* mesh = m_real->window->meshView()->canvas();
    mesh->navigation()->zoom(3);
    const QRectF seen = mesh->currentView().visibleWorld();
    m_real->selection()->setWeight(weightNamed(*m_real->document(), "o_proj"));
    QCOMPARE(mesh->currentView().visibleWorld(), seen);
    m_real->window->tileView()->putAxis(1, 0);
    QCOMPARE(mesh->currentView().visibleWorld(), seen);
    Design other = m_real->document()->design();
    other.mesh = Mesh::parse("data=4,model=4").value();
    QVERIFY(m_real->document()->edit(other, QStringLiteral("larger")).ok());
    QVERIFY(mesh->currentView().isFitted());
}

SHARDBOARD_TEST(TestCanvasNavigation, withFonts)
#include "tst_canvasnavigation.moc"
