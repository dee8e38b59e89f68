// SPDX-License-Identifier: Apache-2.0
// A mesh axis on its way onto a tensor dim, in the real window: one step of the history, let go by undo, harmless everywhere else,
// refused with a reason and with what can be done instead; and the same edit by the keyboard alone. Under a display server the
// drag is a real one, which the offscreen platform has not.
#include "tests/app/desktop/appwindow.h"
#include "tests/support/drag.h"
#include "tests/support/runner.h"

#include "widgets/controls/axisdrag.h"

#include "widgets/edits/axisfixes.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/workbench/meshchips.h"

#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QTimer>
#include <QUndoStack>
#include <QWindow>

#include <functional>

using namespace shardboard;
using namespace shardboard::test;

namespace {

bool hasDisplayServer() { return QGuiApplication::platformName() == QLatin1String("xcb"); }

Design strictDesign()
{
    Design design = knownDesign("data=2,model=3", "replicate");
    StrategyEntry entry;
    entry.match = "model.layers.*.self_attn.o_proj.weight";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = "P('data')";
    entry.cut = CutRule::Strict;
    design.strategies.push_back(entry);
    return design;
}

} // namespace

class TestAxisDrag : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { m_real.reset(); }

    void wrongPlacesChangeNothing();
    void undoMeanwhileLetsGo();
    void axisIsTakenOffOutside();
    void axisIsCarriedOutOfTheTensor();
    void keyboardAloneMakesTheEdit();
    void refusalOffersWhatWorks();
    void fixesAreAccepted();
    void realDragIsOneStep();
    void realDragOntoAWrongPlace();
    void realDragIsCancelledByUndo();
    void realDragMovesAnAxis();

private:
    TileCanvas* tiles() const { return m_real->window->tileView()->canvas(); }
    QUndoStack* history() const { return m_real->document()->undoStack(); }
    std::string spec() const { return specOf(*m_real->document(), m_real->selection()->weight()); }
    /// Presses the chip of an axis, moves to `to` and does `last` there, all through the display server's events.
    void drag(const char* axis, const QPoint& to, const std::function<void(QWindow*)>& last);

    std::unique_ptr<RealWindow> m_real;
};

void TestAxisDrag::init()
{
    m_real = std::make_unique<RealWindow>();
    QVERIFY(m_real->ready);
    QVERIFY(m_real->document()->setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    m_real->selection()->setWeight(weightNamed(*m_real->document(), "o_proj"));
}

/// On every widget that is in sight, the zones of the tiles excepted. A field for text takes the axis's name, as any text.
void TestAxisDrag::wrongPlacesChangeNothing()
{
    const Design before = m_real->document()->design();
    const auto* chips = m_real->window->findChild<MeshChips*>(); // there it changes the order of the axes
    int seen = 0;
    for (QWidget* widget : m_real->window->findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget == tiles() || qobject_cast<QLineEdit*>(widget) || widget == chips
            || chips->isAncestorOf(widget))
            continue;
        ++seen;
        QVERIFY2(!dropAxis(widget, QStringLiteral("model"), QPointF(widget->width() / 2.0, widget->height() / 2.0)),
                 qPrintable(widget->objectName()));
    }
    dropAxis(m_real->window.get(), QStringLiteral("model"), { 20, 20 });
    dropAxis(tiles(), QStringLiteral("no_such_axis"), tiles()->zone(0).center());
    QVERIFY(seen > 40);
    QVERIFY(m_real->document()->design() == before);
    QCOMPARE(history()->count(), 0);
    QVERIFY(!tiles()->isDragged());
    QTest::mouseClick(tiles(), Qt::LeftButton, {}, tiles()->rect().center()); // it goes on
}

/// A drag that began at the tensor ends anywhere else: what the window does then.
void TestAxisDrag::axisIsTakenOffOutside()
{
    QVERIFY(dropAxis(tiles(), QStringLiteral("data"), tiles()->zone(0).center()));
    QCOMPARE(spec(), std::string("P('data')"));
    QVERIFY(tiles()->cutsOver(QStringLiteral("data")) && !tiles()->cutsOver(QStringLiteral("model")));
    dropAxis(m_real->window.get(), QStringLiteral("data"), { 20, 20 }); // one that comes from elsewhere is not meant
    QCoreApplication::processEvents();
    QCOMPARE(spec(), std::string("P('data')"));
    tiles()->takeOff(QStringLiteral("model")); // it is not there
    QCOMPARE(history()->count(), 1);
    tiles()->takeOff(QStringLiteral("data"));
    QCOMPARE(spec(), std::string("P()"));
    QCOMPARE(history()->count(), 2);
}

/// The same as the window is sent it: it takes the axis that the tensor is cut over, from the tensor alone, once the drag is over.
void TestAxisDrag::axisIsCarriedOutOfTheTensor()
{
    QVERIFY(dropAxis(tiles(), QStringLiteral("data"), tiles()->zone(0).center()));
    QCOMPARE(spec(), std::string("P('data')"));
    const QPointF beside(20, 20);
    MainWindow* window = m_real->window.get();
    const std::unique_ptr<QMimeData> chip(axisMimeData(QStringLiteral("data"), window->findChild<MeshChips*>()));
    QVERIFY(!(Drag { window, chip.get() }.enter(beside)));
    const std::unique_ptr<QMimeData> other(axisMimeData(QStringLiteral("model"), tiles()));
    QVERIFY(!(Drag { window, other.get() }.enter(beside)) && !(Drag { window, other.get() }.drop(beside)));
    const std::unique_ptr<QMimeData> data(axisMimeData(QStringLiteral("data"), tiles()));
    const Drag drag { window, data.get() };
    QVERIFY(drag.enter(beside) && drag.move(beside) && drag.drop(beside));
    QCOMPARE(spec(), std::string("P('data')")); // while the drag is on
    QCoreApplication::processEvents();
    QCOMPARE(spec(), std::string("P()"));
    QCOMPARE(history()->count(), 2);
    QTest::keyClick(window, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(spec(), std::string("P('data')"));
    m_real->selection()->setWeight(weightNamed(*m_real->document(), "q_proj")); // another tensor is shown: nothing to take off
    QVERIFY(!drag.enter(beside));
}

void TestAxisDrag::undoMeanwhileLetsGo()
{
    QVERIFY(dropAxis(tiles(), QStringLiteral("data"), tiles()->zone(0).center()));
    QCOMPARE(history()->count(), 1);
    QCOMPARE(spec(), std::string("P('data')"));
    Design another = m_real->document()->design();
    another.mesh = Mesh::parse("data=2,model=4,pod=2").value();
    QVERIFY(m_real->document()->edit(another, QStringLiteral("one more axis")).ok());
    // The axis that is on its way is gone after the undo.
    const std::unique_ptr<QMimeData> data(axisMimeData(QStringLiteral("pod")));
    const QPointF at = tiles()->zone(1).center();
    const Drag drag { tiles(), data.get() };
    drag.enter(at);
    drag.move(at);
    QVERIFY(tiles()->isDragged());
    QTest::keyClick(m_real->window.get(), Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(!tiles()->isDragged());
    QVERIFY(!tiles()->grab().isNull());
    drag.move(at);
    drag.drop(at);
    QCOMPARE(m_real->document()->design().mesh.text(), std::string("data=2,model=4"));
    QCOMPARE(spec(), std::string("P('data')"));
    QCOMPARE(history()->index(), 1);
}

/// The menu key on the tiles, arrows and Enter: what dropping `model` on the upper edge does.
void TestAxisDrag::keyboardAloneMakesTheEdit()
{
    tiles()->setFocus();
    const QString wanted = QStringLiteral("Cut dim 1 over model");
    bool opened = false;
    QTimer::singleShot(0, this, [&] {
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        if (menu == nullptr)
            return;
        opened = true;
        for (int i = 0; i < 40 && (!menu->activeAction() || menu->activeAction()->text() != wanted); ++i)
            QTest::keyClick(menu, Qt::Key_Down);
        QTest::keyClick(menu, Qt::Key_Return);
        if (QApplication::activePopupWidget())
            menu->close();
    });
    QContextMenuEvent menu(QContextMenuEvent::Keyboard, tiles()->rect().center(), tiles()->mapToGlobal(tiles()->rect().center()));
    QApplication::sendEvent(tiles(), &menu);
    QTRY_VERIFY(opened);
    const std::string byKeys = spec();
    QCOMPARE(byKeys, std::string("P(None, 'model')"));
    QCOMPARE(history()->count(), 1);
    const QString name = history()->undoText();
    history()->undo();
    QVERIFY(dropAxis(tiles(), QStringLiteral("model"), tiles()->zone(1).center()));
    QCOMPARE(spec(), byKeys);
    QCOMPARE(history()->undoText(), name);
}

void TestAxisDrag::refusalOffersWhatWorks()
{
    QVERIFY(m_real->document()->setDesign(strictDesign()).ok());
    m_real->selection()->setWeight(weightNamed(*m_real->document(), "o_proj"));
    // Said while it is dragged, before the button is let go: which dim, which axis, which number.
    const std::unique_ptr<QMimeData> data(axisMimeData(QStringLiteral("model")));
    const QPointF at = tiles()->zone(1).center();
    const Drag drag { tiles(), data.get() };
    drag.enter(at);
    QVERIFY(!drag.move(at));
    drag.leave();
    m_real->window->tileView()->putAxis(m_real->document()->design().mesh.find("model"), 1);
    const auto* message = m_real->child<QLabel>("tileMessage");
    QVERIFY(message->isVisible());
    for (const char* part : { "4096", "3", "dim 1", "model" })
        QVERIFY2(message->text().contains(QLatin1String(part)), qPrintable(message->text()));
    QCOMPARE(history()->count(), 0);
    // Beside it what would be accepted: padding, or another axis.
    auto* fixes = m_real->child<QWidget>("tileFixes");
    QVERIFY(fixes->isVisible());
    QPushButton* pad = nullptr;
    QStringList texts;
    for (QPushButton* button : fixes->findChildren<QPushButton*>()) {
        texts << button->text();
        if (button->text().contains(QStringLiteral("Pad dim 1 to 4098")))
            pad = button;
    }
    QVERIFY2(pad != nullptr, qPrintable(texts.join(QLatin1Char('|'))));
    QVERIFY2(texts.filter(QStringLiteral("over data")).size() == 1, qPrintable(texts.join(QLatin1Char('|'))));
    pad->setFocus();
    QTest::keyClick(pad, Qt::Key_Space);
    QCOMPARE(spec(), std::string("P('data', 'model')"));
    QCOMPARE(history()->count(), 1);
    QVERIFY(!m_real->child<QWidget>("tileFixes")->isVisible());
    // 1366 three times, the last one short by two.
    const WeightLayout& weight = weightAt(*m_real->document(), m_real->selection()->weight());
    QCOMPARE(weight.shards.cuts()[1].partSize(0), std::int64_t { 1366 });
    QCOMPARE(weight.shards.cuts()[1].partSize(2), std::int64_t { 1364 });
}

void TestAxisDrag::fixesAreAccepted()
{
    QVERIFY(m_real->document()->setDesign(strictDesign()).ok());
    const int weight = weightNamed(*m_real->document(), "o_proj");
    const int model = m_real->document()->design().mesh.find("model");
    for (int dim = 0; dim < 2; ++dim) {
        const auto fixes = axisFixes(*m_real->document(), weight, model, dim);
        QVERIFY(!fixes.empty() && fixes.size() <= 3);
        for (const WeightEdit& fix : fixes)
            QVERIFY2(m_real->document()->check(fix.design).ok(), qPrintable(fix.text));
    }
    QVERIFY(axisFixes(*m_real->document(), weight, model, -1).empty());
    QVERIFY(axisFixes(*m_real->document(), weight, 0, 1).empty()); // data divides: nothing to mend
}

void TestAxisDrag::drag(const char* axis, const QPoint& to, const std::function<void(QWindow*)>& last)
{
    MainWindow* window = m_real->window.get();
    QWindow* handle = window->windowHandle();
    auto* chip = window->findChild<AxisChip*>(QStringLiteral("chip_") + QLatin1String(axis));
    QVERIFY(chip != nullptr);
    const QPoint from = chip->mapTo(window, chip->rect().center());
    QTest::mousePress(handle, Qt::LeftButton, {}, from);
    // The drag has an event loop of its own: what follows comes from within it.
    QTimer::singleShot(300, window, [=] { QTest::mouseMove(handle, (from + to) / 2); });
    QTimer::singleShot(450, window, [=] { QTest::mouseMove(handle, to - QPoint(2, 0)); });
    QTimer::singleShot(600, window, [=] { QTest::mouseMove(handle, to); });
    bool over = false;
    QTimer::singleShot(900, window, [=] { last(handle); });
    QTimer::singleShot(1200, window, [&over] { over = true; });
    QTest::mouseMove(handle, from + QPoint(QApplication::startDragDistance() + 4, 2));
    QTRY_VERIFY_WITH_TIMEOUT(over, 60'000);
}

void TestAxisDrag::realDragIsOneStep()
{
    if (!hasDisplayServer())
        QSKIP("the offscreen platform carries no drags");
    const QPoint to = tiles()->mapTo(m_real->window.get(), tiles()->zone(1).center().toPoint());
    drag("model", to, [to](QWindow* handle) { QTest::mouseRelease(handle, Qt::LeftButton, {}, to); });
    QCOMPARE(spec(), std::string("P(None, 'model')"));
    QCOMPARE(history()->count(), 1);
    QTest::keyClick(m_real->window.get(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(spec(), std::string("P()"));
}

void TestAxisDrag::realDragOntoAWrongPlace()
{
    if (!hasDisplayServer())
        QSKIP("the offscreen platform carries no drags");
    const auto* flow = m_real->window->findChild<FlowCanvas*>();
    const QPoint to = flow->mapTo(m_real->window.get(), flow->rect().center());
    drag("model", to, [to](QWindow* handle) { QTest::mouseRelease(handle, Qt::LeftButton, {}, to); });
    QCOMPARE(spec(), std::string("P()"));
    QCOMPARE(history()->count(), 0);
    QVERIFY(!tiles()->isDragged());
}

void TestAxisDrag::realDragIsCancelledByUndo()
{
    if (!hasDisplayServer())
        QSKIP("the offscreen platform carries no drags");
    QVERIFY(dropAxis(tiles(), QStringLiteral("data"), tiles()->zone(0).center()));
    const QPoint to = tiles()->mapTo(m_real->window.get(), tiles()->zone(1).center().toPoint());
    drag("model", to, [to](QWindow* handle) {
        QTest::keyClick(handle, Qt::Key_Z, Qt::ControlModifier);
        QTest::mouseRelease(handle, Qt::LeftButton, {}, to);
    });
    QVERIFY(!tiles()->isDragged());
    QCOMPARE(spec(), std::string("P('data')")); // neither dropped nor undone
    QCOMPARE(history()->index(), 1);
    QTest::keyClick(m_real->window.get(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(spec(), std::string("P()"));
}

/// Onto another chip: all chips are made anew, the dragged one too, once the drag is over.
void TestAxisDrag::realDragMovesAnAxis()
{
    if (!hasDisplayServer())
        QSKIP("the offscreen platform carries no drags");
    const auto* chip = m_real->window->findChild<AxisChip*>(QStringLiteral("chip_data"));
    const QPoint to = chip->mapTo(m_real->window.get(), chip->rect().center());
    drag("model", to, [to](QWindow* handle) { QTest::mouseRelease(handle, Qt::LeftButton, {}, to); });
    QCOMPARE(m_real->document()->design().mesh.text(), std::string("model=4,data=2"));
    QCOMPARE(history()->count(), 1);
}

SHARDBOARD_TEST(TestAxisDrag, withFonts)
#include "tst_axisdrag.moc"
