// SPDX-License-Identifier: Apache-2.0
// The device mesh as a heat map of memory: every stage of a pipeline with its own peak, in numbers and colours; what does not
// fit is marked by more than its colour; the legend says what is shown.
#include "tests/support/drag.h"
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/edits/meshorder.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/workbench/meshchips.h"

#include <QAction>
#include <QApplication>
#include <QMenu>
#include <QToolButton>
#include <QUndoStack>

#include <set>

using namespace shardboard;
using namespace shardboard::test;

namespace {

Design pipelineDesign()
{
    Design design = trainingDesign("llama3-8b", "pipe=4,data=2,model=4", "pp-1f1b");
    design.workload.batch = 32;
    design.workload.microBatches = 8;
    return design;
}

struct ShownMesh : ShownView<MeshView> {
    explicit ShownMesh(const Design& design)
        : ShownView(design, { 420, 700 })
    {
    }
    MeshCanvas* canvas() const { return view->canvas(); }
    void switchColoring() const
    {
        child<QToolButton>("meshColoring")->setFocus();
        QTest::keyClick(child<QToolButton>("meshColoring"), Qt::Key_Space);
    }
};

} // namespace

class TestMeshView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void everyStageHasItsOwnPeak();
    void withoutStagesAllAreAlike();
    void heatMapIsChosenByKeys();
    void whatDoesNotFitIsHatched();
    void orderOfTheAxes();
    void orderOfTheDevices();
    void menuChangesTheDeviceOrder();
    void axesAreMovedInPlace();
    void barsStandBesideTheGrid();
    void everythingHasAName();
};

void TestMeshView::everyStageHasItsOwnPeak()
{
    const ShownMesh shown(pipelineDesign());
    QVERIFY(shown.ready);
    const Plan& plan = shown.document.evaluation()->plan;
    QVERIFY(plan.pipeline && plan.pipeline->memory.size() == 4);
    const DeviceMemory memory(plan, 80e9);
    std::set<std::int64_t> peaks;
    for (std::int64_t device = 0; device < 32; ++device) {
        const std::size_t stage = static_cast<std::size_t>(device / 8); // pipe is the slowest axis
        QCOMPARE(memory.peakAt(device), plan.pipeline->memory[stage].peak);
        QVERIFY(std::abs(memory.fillAt(device) - static_cast<double>(plan.pipeline->memory[stage].peak) / 80e9) < 1e-12);
        QVERIFY(shown.canvas()->deviceText(device).contains(exactBytesText(plan.pipeline->memory[stage].peak)));
        peaks.insert(memory.peakAt(device));
    }
    QVERIFY(peaks.size() > 1); // earlier stages hold more micro-batches
    QVERIFY(memory.legend().contains(QStringLiteral("pipe")));
    QVERIFY(memory.legend().contains(bytesText(*peaks.begin())) && memory.legend().contains(bytesText(*peaks.rbegin())));
}

void TestMeshView::withoutStagesAllAreAlike()
{
    const ShownMesh shown(knownDesign());
    const DeviceMemory memory(shown.document.evaluation()->plan, 0);
    QCOMPARE(memory.stages(), std::int64_t { 1 });
    for (std::int64_t device = 0; device < 8; ++device)
        QCOMPARE(memory.peakAt(device), shown.document.evaluation()->plan.memory.peak);
    QCOMPARE(memory.fillAt(0), 0.0); // nobody knows how much a device has
    QVERIFY(!memory.legend().contains(QStringLiteral("stage")));
}

void TestMeshView::heatMapIsChosenByKeys()
{
    const ShownMesh shown(pipelineDesign());
    MeshCanvas* canvas = shown.canvas();
    const QRgb before = canvas->colorAt(0).fill.rgb();
    shown.switchColoring();
    QVERIFY(canvas->coloring() == MeshCanvas::Coloring::Memory);
    QVERIFY(canvas->colorAt(0).fill != canvas->colorAt(31).fill); // first and last stage
    QCOMPARE(canvas->colorAt(0).fill, canvas->colorAt(7).fill); // of one stage
    // What is painted is that colour: in a cell, beside its text.
    const QImage picture = canvas->grab().toImage();
    const double scale = picture.devicePixelRatio();
    for (const std::int64_t device : { 0, 9, 31 }) {
        const QRectF cell = canvas->deviceRect(device);
        const QPoint at = (QPointF(cell.left() + cell.width() * 0.22, cell.top() + cell.height() * 0.25) * scale).toPoint();
        QCOMPARE(picture.pixelColor(at).name(), canvas->colorAt(device).fill.name());
    }
    shown.switchColoring();
    QCOMPARE(canvas->colorAt(0).fill.rgb(), before);
}

void TestMeshView::whatDoesNotFitIsHatched()
{
    for (const Theme& theme : { Theme::light(), Theme::dark() }) {
        QVERIFY(heatColor(1.01, theme).hatch != Qt::NoBrush);
        QVERIFY(heatColor(1, theme).hatch == Qt::NoBrush);
        double last = 0;
        for (const double fill : { 0.0, 0.25, 0.5, 0.75, 1.0, 1.5 }) {
            const PartColor color = heatColor(fill, theme);
            QVERIFY2(contrastRatio(color.label, color.fill) >= 4.5, qPrintable(QString::number(fill)));
            const double contrast = contrastRatio(theme.panel, color.fill);
            if (fill <= 1)
                QVERIFY(contrast > last); // fuller is stronger
            last = contrast;
        }
    }
}

void TestMeshView::orderOfTheAxes()
{
    const Design design = knownDesign("data=2,fsdp=3,model=4", "replicate");
    QCOMPARE(withAxisMoved(design, 0, 2).value().mesh.text(), std::string("fsdp=3,model=4,data=2"));
    QCOMPARE(withAxisMoved(design, 2, 0).value().mesh.text(), std::string("model=4,data=2,fsdp=3"));
    QCOMPARE(withAxisMoved(design, 1, 1).value().mesh.text(), design.mesh.text());
    QVERIFY(!withAxisMoved(design, 0, 3).ok());
    QVERIFY(!withAxisMoved(design, -1, 0).ok());
}

void TestMeshView::orderOfTheDevices()
{
    const Mesh mesh = Mesh::parse("data=2,model=3").value();
    // Along data: positions (0,0) (1,0) have 0 and 1, (0,1) (1,1) have 2 and 3.
    QVERIFY((deviceOrderAlong(mesh, 0) == std::vector<std::int64_t> { 0, 2, 4, 1, 3, 5 }));
    QVERIFY((deviceOrderAlong(mesh, 1) == std::vector<std::int64_t> { 0, 1, 2, 3, 4, 5 }));
    Design design = knownDesign("data=2,model=4", "replicate");
    const Design along = withDevicesAlong(design, 0).value();
    QCOMPARE(along.mesh.deviceId(1), std::int64_t { 2 });
    QCOMPARE(along.mesh.deviceId(4), std::int64_t { 1 });
    QVERIFY(withDevicesAlong(along, -1).value().mesh.deviceIds().empty()); // as it was
    const Design swapped = withDevicesSwapped(design, 1, 6).value();
    QCOMPARE(swapped.mesh.deviceId(1), std::int64_t { 6 });
    QCOMPARE(swapped.mesh.deviceId(6), std::int64_t { 1 });
    QCOMPARE(swapped.mesh.deviceId(2), std::int64_t { 2 });
    QVERIFY(withDevicesSwapped(swapped, 6, 1).value() == design); // and back
    QVERIFY(!withDevicesSwapped(design, 0, 8).ok());
}

void TestMeshView::menuChangesTheDeviceOrder()
{
    ShownMesh shown(knownDesign());
    const auto choose = [&shown](const QString& text, std::int64_t device) {
        QMenu menu;
        shown.view->fillMenu(&menu, device);
        for (QAction* action : menu.actions())
            if (action->text() == text && action->isEnabled()) {
                action->trigger();
                return true;
            }
        return false;
    };
    shown.document.selection()->setDevice(1);
    QVERIFY(choose(QStringLiteral("Swap devices 1 and 6"), 6));
    QCOMPARE(shown.document.design().mesh.deviceId(1), std::int64_t { 6 });
    QVERIFY(shown.canvas()->deviceText(1).startsWith(QStringLiteral("device 6 · data 0, model 1")));
    QCOMPARE(shown.document.undoStack()->undoText(), QStringLiteral("Swap devices 1 and 6"));
    QVERIFY(choose(QStringLiteral("Number devices along data first"), -1));
    QCOMPARE(shown.document.design().mesh.deviceId(4), std::int64_t { 1 });
    QVERIFY(choose(QStringLiteral("Number devices row by row"), -1));
    QVERIFY(!choose(QStringLiteral("Number devices row by row"), -1)); // it is so
    shown.document.undoStack()->setIndex(0);
    QVERIFY(shown.document.design().mesh.deviceIds().empty());
}

void TestMeshView::axesAreMovedInPlace()
{
    ShownView<MeshChips> shown(knownDesign("data=2,fsdp=2,model=4"), { 600, 40 });
    QVERIFY(shown.ready);
    const auto text = [&shown] { return shown.document.design().mesh.text(); };
    // By keys, on and on.
    auto* chip = shown.child<AxisChip>("chip_model");
    chip->setFocus();
    QTest::keyClick(chip, Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(text(), std::string("data=2,model=4,fsdp=2"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(text(), std::string("model=4,data=2,fsdp=2"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Left, Qt::AltModifier); // it is the first
    QCOMPARE(shown.document.undoStack()->count(), 2);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // the chips of before
    // By dropping one on another.
    const QPoint at = shown.child<AxisChip>("chip_fsdp")->geometry().center();
    const std::unique_ptr<QMimeData> data(axisMimeData(QStringLiteral("model")));
    const Drag drag { shown.view.get(), data.get() };
    drag.dropAt(at);
    QTRY_COMPARE(text(), std::string("data=2,fsdp=2,model=4"));
    QCOMPARE(shown.document.undoStack()->count(), 3);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    // Its own place is none to go to.
    const QPoint own = shown.child<AxisChip>("chip_model")->geometry().center();
    QVERIFY(!drag.move(own));
}

/// Each axis of a mesh has one bar, along the grid and outside of it, in the room that is asked for them.
void TestMeshView::barsStandBesideTheGrid()
{
    const QRectF seen(100, 200, 300, 150);
    for (const char* text : { "model=4", "data=2,model=4", "pipe=4,data=2,model=4" })
        for (const double scale : { 1.0, 2.0 }) {
            const Mesh mesh = Mesh::parse(text).value();
            const MeshGrid grid(mesh);
            const auto bars = meshBars(mesh, grid, seen, scale);
            const QSizeF room = roomForBars(grid, scale);
            std::set<int> axes;
            for (const MeshBar& bar : bars) {
                axes.insert(bar.axis);
                QVERIFY2(bar.zone.contains(bar.rect) && !bar.rect.intersects(seen), text);
                QCOMPARE(bar.across ? bar.rect.width() : bar.rect.height(), bar.across ? seen.width() : seen.height());
                QVERIFY2(bar.across ? bar.rect.top() >= seen.top() - room.height() : bar.rect.left() >= seen.left() - room.width(),
                         text);
            }
            QCOMPARE(axes.size(), static_cast<std::size_t>(mesh.axisCount()));
            QCOMPARE(bars.size(), axes.size());
        }
    QVERIFY(meshBars(Mesh(), MeshGrid(Mesh()), seen, 1).empty());
}

void TestMeshView::everythingHasAName()
{
    const ShownMesh shown(knownDesign());
    QCOMPARE(namelessIn(*shown.view), QString());
}

SHARDBOARD_TEST(TestMeshView)
#include "tst_meshview.moc"
