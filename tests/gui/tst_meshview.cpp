// SPDX-License-Identifier: Apache-2.0
// The device mesh as a heat map of memory: every stage of a pipeline with its own peak, in numbers and colours; what does not
// fit is marked by more than its colour; the legend says what is shown.
#include "tests/gui/editor_support.h"

#include "widgets/format.h"
#include "widgets/meshcanvas.h"
#include "widgets/meshview.h"
#include "widgets/theme.h"

#include <QToolButton>

#include <set>

using namespace shardboard;

namespace {

Design pipelineDesign()
{
    Design design = trainingDesign("llama3-8b", "pipe=4,data=2,model=4", "pp-1f1b");
    design.workload.batch = 32;
    design.workload.microBatches = 8;
    return design;
}

struct Shown : ShownView<MeshView> {
    explicit Shown(const Design& design)
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
    void everythingHasAName();
};

void TestMeshView::everyStageHasItsOwnPeak()
{
    const Shown shown(pipelineDesign());
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
    const Shown shown(knownDesign());
    const DeviceMemory memory(shown.document.evaluation()->plan, 0);
    QCOMPARE(memory.stages(), std::int64_t { 1 });
    for (std::int64_t device = 0; device < 8; ++device)
        QCOMPARE(memory.peakAt(device), shown.document.evaluation()->plan.memory.peak);
    QCOMPARE(memory.fillAt(0), 0.0); // nobody knows how much a device has
    QVERIFY(!memory.legend().contains(QStringLiteral("stage")));
}

void TestMeshView::heatMapIsChosenByKeys()
{
    const Shown shown(pipelineDesign());
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

void TestMeshView::everythingHasAName()
{
    const Shown shown(knownDesign());
    QCOMPARE(namelessIn(*shown.view), QString());
}

QTEST_MAIN(TestMeshView)
#include "tst_meshview.moc"
