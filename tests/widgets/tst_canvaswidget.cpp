// SPDX-License-Identifier: Apache-2.0
// The frame that all canvases have, on a canvas as small as one can be: a row of cells. What it says under the pointer and to the
// keyboard, what its keys do, when its base is painted anew, its focus, and its items for screen readers.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"
#include "widgets/canvas/canvaswidget.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QHelpEvent>
#include <QPainter>
#include <QStatusTipEvent>
#include <QToolTip>

using namespace shardboard;

namespace {

constexpr int kCells = 4;

/// Cells of one unit beside each other; the current one has a frame. The first mesh axis lies over the last cell.
class Row : public CanvasWidget {
public:
    explicit Row(Document* document, Base base = Base::Kept)
        : CanvasWidget(document, QStringLiteral("row"), QStringLiteral("Row of cells"), base, nullptr)
    {
        m_viewport.setWorld({ 0, 0, kCells, 1 }, 100);
    }

    QPointF middle(int cell) const { return accessibleItemRect(cell).center(); }
    void choose(int cell)
    {
        current = cell;
        tellStatus(QStringLiteral("cell %1\nsecond line").arg(cell));
        overlayChanged(accessibleItemName(cell));
    }
    using CanvasWidget::Base;
    using CanvasWidget::bringIntoSight;
    using CanvasWidget::forgetBase;

    int accessibleCount() const override { return kCells; }
    QString accessibleItemName(int index) const override { return QStringLiteral("cell %1").arg(index); }
    QRectF accessibleItemRect(int index) const override { return m_viewport.toScreen(QRectF(index, 0, 1, 1)); }
    int accessibleItemAt(const QPointF& point) const override
    {
        const QPointF at = m_viewport.toWorld(point);
        return m_viewport.world().contains(at) ? static_cast<int>(at.x()) : -1;
    }
    int accessibleCurrent() const override { return current; }
    void accessibleActivate(int index) override { choose(index); }

    int current = 0;
    int hovered = -1;
    int bases = 0; ///< painted
    int overlays = 0;
    bool blank = false;
    QStringList statusTips;

protected:
    void layOut() override
    {
        m_viewport.setView(rect());
        viewMoved();
    }
    bool isBlank() const override { return blank; }
    void paintBase(QPainter& painter) override
    {
        ++bases;
        painter.fillRect(rect(), highlight().isEmpty() ? Qt::white : Qt::gray);
    }
    void paintOverlay(QPainter& painter, const QRegion&) override
    {
        ++overlays;
        painter.fillRect(accessibleItemRect(current), Qt::blue);
    }
    void paintMap(QPainter& painter, const Viewport& map) const override { painter.fillRect(map.view(), Qt::red); }
    QRectF selectedPart() const override { return { double(current), 0, 1, 1 }; }
    QString toolTipAt(const QPointF& point) const override
    {
        const int cell = accessibleItemAt(point);
        return cell < 0 ? QString() : accessibleItemName(cell);
    }
    void moveCurrent(int dx, int dy) override { choose(qBound(0, current + dx + 2 * dy, kCells - 1)); }
    int axisAt(const QPointF& point) const override { return accessibleItemAt(point) == kCells - 1 ? 0 : -1; }
    void selectAt(const QPointF& point) override { choose(accessibleItemAt(point)); }
    void hoverAt(const QPointF& point) override { hovered = accessibleItemAt(point); }
    bool event(QEvent* event) override
    {
        if (event->type() == QEvent::StatusTip)
            statusTips << static_cast<QStatusTipEvent*>(event)->tip();
        return CanvasWidget::event(event);
    }
};

/// What the tool tip says at a point, as the toolkit asks for it.
QString tipAt(QWidget* widget, const QPointF& point)
{
    QHelpEvent event(QEvent::ToolTip, point.toPoint(), widget->mapToGlobal(point.toPoint()));
    QApplication::sendEvent(widget, &event);
    return QToolTip::isVisible() ? QToolTip::text() : QString();
}

} // namespace

class TestCanvasWidget : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { installAccessibleCanvases(); }
    void init()
    {
        QVERIFY(m_document.setDesign(knownDesign()).ok());
        m_row = std::make_unique<Row>(&m_document);
        m_row->resize(400, 150);
        m_row->show();
        m_row->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_row.get()));
        m_row->setFocus();
    }
    void cleanup() { m_row.reset(); }

    void isAWidgetForAll()
    {
        QCOMPARE(m_row->objectName(), QStringLiteral("row"));
        QCOMPARE(m_row->accessibleName(), QStringLiteral("Row of cells"));
        QVERIFY(m_row->hasMouseTracking());
        QCOMPARE(m_row->focusPolicy(), Qt::StrongFocus);
        QVERIFY(m_row->navigation() != nullptr);
    }

    void tipsFollowThePointer()
    {
        QCOMPARE(tipAt(m_row.get(), m_row->middle(2)), QStringLiteral("cell 2"));
        QCOMPARE(tipAt(m_row.get(), m_row->middle(0)), QStringLiteral("cell 0"));
        tipAt(m_row.get(), { 200, 1 }); // above the row
        QTRY_VERIFY(!QToolTip::isVisible());
    }

    /// The status bar says in one line what a tool tip says in several.
    void keysMoveAndTell()
    {
        QTest::keyClick(m_row.get(), Qt::Key_Right);
        QCOMPARE(m_row->current, 1);
        QCOMPARE(m_row->statusTips, QStringList { QStringLiteral("cell 1 · second line") });
        QTest::keyClick(m_row.get(), Qt::Key_Down);
        QCOMPARE(m_row->current, 3);
        QTest::keyClick(m_row.get(), Qt::Key_Left);
        QCOMPARE(m_row->current, 2);
        QTest::keyClick(m_row.get(), Qt::Key_Up);
        QCOMPARE(m_row->current, 0);
        QTest::keyClick(m_row.get(), Qt::Key_A); // none of its keys
        QCOMPARE(m_row->current, 0);
        QCOMPARE(m_row->statusTips.size(), 4);
    }

    void buttonSelectsWhatIsThere()
    {
        QTest::mouseClick(m_row.get(), Qt::LeftButton, {}, m_row->middle(1).toPoint());
        QCOMPARE(m_row->current, 1);
        QTest::mouseClick(m_row.get(), Qt::RightButton, {}, m_row->middle(2).toPoint());
        QCOMPARE(m_row->current, 1);
        QTest::mouseClick(m_row.get(), Qt::LeftButton, {}, m_row->middle(kCells - 1).toPoint()); // an axis and no cell
        QCOMPARE(m_row->current, 1);
        QCOMPARE(m_document.selection()->meshAxis(), 0);
        QTest::mouseMove(m_row.get(), m_row->middle(2).toPoint());
        QTRY_COMPARE(m_row->hovered, 2);
    }

    void baseIsKeptWhileOnlyTheOverlayMoves()
    {
        m_row->repaint();
        const int bases = m_row->bases;
        const int overlays = m_row->overlays;
        m_row->choose(2);
        m_row->repaint();
        QCOMPARE(m_row->bases, bases);
        QVERIFY(m_row->overlays > overlays);
        m_row->forgetBase();
        m_row->repaint();
        QCOMPARE(m_row->bases, bases + 1);
        m_row->setHighlight(QStringLiteral("some"));
        m_row->repaint();
        QCOMPARE(m_row->bases, bases + 2);
        m_row->setHighlight(QStringLiteral("some")); // as it was
        m_row->repaint();
        QCOMPARE(m_row->bases, bases + 2);
        m_row->navigation()->zoom(2);
        m_row->repaint();
        QCOMPARE(m_row->bases, bases + 3);
        m_row->resize(500, 150);
        m_row->repaint();
        QCOMPARE(m_row->bases, bases + 4);
    }

    void baseThatIsNotKeptIsPaintedEachTime()
    {
        Row row(&m_document, Row::Base::PaintedAnew);
        row.resize(400, 150);
        row.grab();
        const int bases = row.bases;
        row.grab();
        QVERIFY(row.bases > bases);
    }

    void blankHasNothingButItsBase()
    {
        m_row->blank = true;
        const int overlays = m_row->overlays;
        const QImage image = m_row->grab().toImage();
        QCOMPARE(m_row->overlays, overlays);
        QCOMPARE(image.pixelColor(0, 0), QColor(Qt::white)); // no frame of the focus either
    }

    void focusHasAFrame()
    {
        const QColor accent = Theme::of(m_row.get()).accent;
        QVERIFY(m_row->hasFocus());
        QCOMPARE(m_row->grab().toImage().pixelColor(0, 0), accent);
        QWidget elsewhere;
        elsewhere.setFocusPolicy(Qt::StrongFocus);
        elsewhere.show();
        elsewhere.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&elsewhere));
        elsewhere.setFocus();
        QTRY_VERIFY(!m_row->hasFocus());
        QCOMPARE(m_row->grab().toImage().pixelColor(0, 0), QColor(Qt::white));
    }

    void whatIsOutsideComesIntoSight()
    {
        m_row->navigation()->zoomAt(m_row->middle(0), 4);
        QVERIFY(!m_row->currentView().visibleWorld().contains(QPointF(3.5, 0.5)));
        m_row->bringIntoSight({ 3, 0, 1, 1 }, 4);
        QVERIFY(m_row->currentView().visibleWorld().contains(QPointF(3.5, 0.5)));
        const QRectF part = m_row->currentView().visibleWorld();
        m_row->showWhole(true); // for a picture
        QVERIFY(m_row->currentView().isFitted());
        m_row->showWhole(false);
        QCOMPARE(m_row->currentView().visibleWorld(), part);
    }

    void screenReadersMeetItsItems()
    {
        QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(m_row.get());
        QVERIFY(canvas != nullptr);
        QCOMPARE(canvas->childCount(), kCells);
        QCOMPARE(canvas->child(3)->text(QAccessible::Name), QStringLiteral("cell 3"));
        const QPoint at = m_row->mapToGlobal(m_row->middle(2).toPoint());
        QCOMPARE(canvas->childAt(at.x(), at.y())->text(QAccessible::Name), QStringLiteral("cell 2"));
        QTest::keyClick(m_row.get(), Qt::Key_Right);
        QCOMPARE(m_row->reportedItem(), 1);
        QCOMPARE(m_row->accessibleDescription(), QStringLiteral("cell 1"));
        QCOMPARE(canvas->focusChild()->text(QAccessible::Name), QStringLiteral("cell 1"));
    }

private:
    Document m_document;
    std::unique_ptr<Row> m_row;
};

SHARDBOARD_TEST(TestCanvasWidget)

#include "tst_canvaswidget.moc"
