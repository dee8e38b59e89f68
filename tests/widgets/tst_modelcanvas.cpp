// SPDX-License-Identifier: Apache-2.0
// All weights on one canvas: areas in proportion to bytes, nothing overlaps, zoom into any by wheel, keys and double click; and the
// reverse view, whose bytes are those that a count over every element of the shards gives.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/design/deviceweights.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/theme.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/tiles/treemap.h"

#include <QApplication>
#include <QLineEdit>
#include <QSignalSpy>
#include <QToolButton>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace shardboard;

namespace {

struct ShownWeights : ShownView<TileView> {
    explicit ShownWeights(const Design& design = knownDesign(), const QSize& size = { 620, 420 })
        : ShownView(design, size)
    {
        if (ready)
            view->showAll(true);
    }
    ModelCanvas* canvas() const { return view->modelCanvas(); }
    int weight(const char* part) const { return weightNamed(document, part); }
    std::int64_t bytes(int index) const { return bytesOf(weightAt(document, index).spec) * weightAt(document, index).copies; }
};

double areaOf(const QRectF& rect) { return rect.width() * rect.height(); }

void turn(QWidget* widget, const QPointF& at, int delta)
{
    QWheelEvent event(at, widget->mapToGlobal(at), {}, { 0, delta }, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

} // namespace

class TestModelCanvas : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void treemapSharesTheArea();
    void areasAreBytes();
    void clickSelectsAndDoubleClickOpens();
    void keysWalkAndOpen();
    void wheelZoomsAtThePoint();
    void tilesHaveTheColoursOfTheLargeView();
    void deviceHoldsItsShards();
    void stagesHoldTheirLayers();
    void reverseViewFollowsTheDevice();
    void findsWeights();
    void sleepsThroughASmallerModel();
    void everythingHasAName();
};

void TestModelCanvas::treemapSharesTheArea()
{
    const std::vector<std::vector<double>> cases {
        { 1 }, { 6, 6, 4, 3, 2, 2, 1 }, { 1, 1e6 }, { 0, 3, -1, 2 }, std::vector<double>(300, 7.0)
    };
    for (const auto& values : cases)
        for (const QRectF& area : { QRectF(0, 0, 600, 400), QRectF(10, 20, 30, 900) }) {
            const auto rects = treemap(values, area);
            QCOMPARE(rects.size(), values.size());
            const double total =
                std::accumulate(values.begin(), values.end(), 0.0, [](double sum, double v) { return sum + std::max(0.0, v); });
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double wanted = std::max(0.0, values[i]) / total * areaOf(area);
                QVERIFY2(std::abs(areaOf(rects[i]) - wanted) <= 1e-6 * areaOf(area), qPrintable(QString::number(i)));
                QVERIFY(rects[i].isEmpty() || area.adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(rects[i]));
                for (std::size_t k = 0; k < i; ++k)
                    QVERIFY(areaOf(rects[i].intersected(rects[k])) < 1e-6 * areaOf(area));
            }
        }
    // The example of the paper: 6, 6, 4, 3, 2, 2, 1 in 6 by 4; the first column has both sixes, 3 wide and 2 high each.
    const auto rects = treemap({ 6, 6, 4, 3, 2, 2, 1 }, QRectF(0, 0, 6, 4));
    QCOMPARE(rects[0], QRectF(0, 0, 3, 2));
    QCOMPARE(rects[1], QRectF(0, 2, 3, 2));
    QVERIFY(treemap({ 0, 0 }, QRectF(0, 0, 6, 4))[1].isEmpty());
    QVERIFY(treemap({}, QRectF(0, 0, 6, 4)).empty());
}

void TestModelCanvas::areasAreBytes()
{
    const ShownWeights shown;
    QVERIFY(shown.ready && shown.canvas()->isVisible());
    QVERIFY(!shown.view->canvas()->isVisible());
    double perByte = 0;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < shown.document.evaluation()->weights.size(); ++i) {
        const int index = static_cast<int>(i);
        const QRectF rect = shown.canvas()->weightRect(index);
        if (weightAt(shown.document, index).spec.role != TensorRole::Weight) {
            QVERIFY(rect.isEmpty());
            continue;
        }
        const double ratio = areaOf(rect) / static_cast<double>(shown.bytes(index));
        perByte = perByte > 0 ? perByte : ratio;
        QVERIFY2(std::abs(ratio / perByte - 1) < 1e-6, qPrintable(QString::number(index)));
        all += shown.bytes(index);
    }
    QCOMPARE(shown.canvas()->allBytes(), all);
    QVERIFY(shown.canvas()->weightText(shown.weight("down_proj")).contains(QStringLiteral("32 layers")));
}

void TestModelCanvas::clickSelectsAndDoubleClickOpens()
{
    const ShownWeights shown;
    const int weight = shown.weight("down_proj");
    const QPoint at = shown.canvas()->weightRect(weight).center().toPoint();
    QCOMPARE(shown.canvas()->weightAt(at), weight);
    QTest::mouseClick(shown.canvas(), Qt::LeftButton, {}, at);
    QCOMPARE(shown.document.selection()->weight(), weight);
    QVERIFY(shown.canvas()->accessibleDescription().contains(QStringLiteral("down_proj")));
    QTest::mouseDClick(shown.canvas(), Qt::LeftButton, {}, at);
    QVERIFY(!shown.canvas()->isVisible());
    QVERIFY(shown.view->canvas()->isVisible());
    QVERIFY(shown.view->canvas()->hasFocus());
}

void TestModelCanvas::keysWalkAndOpen()
{
    const ShownWeights shown;
    shown.document.selection()->setWeight(shown.weight("down_proj"));
    shown.canvas()->setFocus();
    std::set<int> seen;
    for (int i = 0; i < 60; ++i) { // there and back, in all directions
        seen.insert(shown.document.selection()->weight());
        QTest::keyClick(shown.canvas(),
                        i % 12 < 4        ? Qt::Key_Right
                            : i % 12 < 6  ? Qt::Key_Down
                            : i % 12 < 10 ? Qt::Key_Left
                                          : Qt::Key_Up);
    }
    QVERIFY(seen.size() >= 4);
    QTest::keyClick(shown.canvas(), Qt::Key_F);
    QVERIFY(!shown.canvas()->isFitted());
    const QRectF rect = shown.canvas()->weightRect(shown.document.selection()->weight());
    QVERIFY(rect.width() > 0.5 * shown.canvas()->width() || rect.height() > 0.5 * shown.canvas()->height());
    QTest::keyClick(shown.canvas(), Qt::Key_F, Qt::ShiftModifier);
    QVERIFY(shown.canvas()->isFitted());
    QSignalSpy opened(shown.canvas(), &ModelCanvas::opened);
    QTest::keyClick(shown.canvas(), Qt::Key_Return);
    QCOMPARE(opened.count(), 1);
    QCOMPARE(opened[0][0].toInt(), shown.document.selection()->weight());
}

void TestModelCanvas::wheelZoomsAtThePoint()
{
    const ShownWeights shown;
    const int weight = shown.weight("gate_proj");
    const QRectF before = shown.canvas()->weightRect(weight);
    const QPointF at = before.center();
    turn(shown.canvas(), at, 240);
    const QRectF after = shown.canvas()->weightRect(weight);
    QVERIFY(std::abs(after.width() / before.width() - 1.44) < 0.01);
    QCOMPARE(shown.canvas()->weightAt(at), weight);
    QVERIFY(!shown.canvas()->grab().isNull());
    turn(shown.canvas(), at, -2400);
    QVERIFY(shown.canvas()->isFitted());
}

void TestModelCanvas::tilesHaveTheColoursOfTheLargeView()
{
    for (const char* preset : { "tp+fsdp", "fsdp", "megatron-tp" }) {
        Document document;
        QVERIFY(document.setDesign(trainingDesign("llama3-8b", "data=2,fsdp=2,model=4", preset)).ok());
        for (const WeightLayout& weight : document.evaluation()->weights) {
            const TileScene scene = makeTileScene(weight);
            for (const Tile& tile : scene.tiles)
                QCOMPARE(colorOfParts(scene, scene.rows[static_cast<std::size_t>(tile.row)],
                                      scene.columns[static_cast<std::size_t>(tile.column)]),
                         tile.color);
        }
    }
}

void TestModelCanvas::deviceHoldsItsShards()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign("llama3-8b", "fsdp=2,model=4", "tp+fsdp")).ok());
    // Together the devices hold every weight as often as it is replicated.
    std::vector<std::int64_t> together(document.evaluation()->weights.size());
    for (std::int64_t device = 0; device < 8; ++device)
        for (const DeviceWeight& held : weightsOnDevice(*document.evaluation(), device)) {
            const WeightLayout& weight = weightAt(document, held.weight);
            QCOMPARE(held.copies, weight.copies);
            QVERIFY(held.shard == weight.shards.shardAt(device));
            together[static_cast<std::size_t>(held.weight)] += held.bytes;
        }
    for (std::size_t i = 0; i < together.size(); ++i) {
        const WeightLayout& weight = weightAt(document, static_cast<int>(i));
        if (weight.spec.role == TensorRole::Weight)
            QCOMPARE(together[i], bytesOf(weight.spec) * weight.copies * weight.shards.replication());
    }
}

void TestModelCanvas::stagesHoldTheirLayers()
{
    Document document;
    Design design = trainingDesign("llama3-8b", "pipe=4,data=2,model=4", "pp-1f1b");
    design.workload.microBatches = 8;
    QVERIFY(document.setDesign(design).ok());
    const int down = weightNamed(document, "down_proj");
    const auto copies = [&](int weight, std::int64_t device) {
        return copiesOn(*document.evaluation(), weightAt(document, weight), device);
    };
    for (const std::int64_t device : { 0, 7, 8, 16, 31 })
        QCOMPARE(copies(down, device), std::int64_t { 8 }); // of 32 layers on 4 stages
    const int embedding = weightNamed(document, "embed_tokens");
    QCOMPARE(copies(embedding, 0), std::int64_t { 1 });
    QCOMPARE(copies(embedding, 31), std::int64_t { 0 });
    const int head = weightNamed(document, "lm_head");
    QCOMPARE(copies(head, 0), std::int64_t { 0 });
    QCOMPARE(copies(head, 31), std::int64_t { 1 });
    // The device that holds the most holds what the plan counts for its stage.
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < 32; ++device) {
        std::int64_t bytes = 0;
        for (const DeviceWeight& held : weightsOnDevice(*document.evaluation(), device))
            bytes += held.bytes;
        most = std::max(most, bytes);
    }
    std::int64_t planned = 0;
    for (const MemoryByCause& stage : document.evaluation()->plan.pipeline->memory)
        planned = std::max(planned, stage.weights);
    QCOMPARE(most, planned);
}

void TestModelCanvas::reverseViewFollowsTheDevice()
{
    const ShownWeights shown(trainingDesign("llama3-8b", "fsdp=2,model=4", "tp+fsdp"));
    auto* held = shown.child<QToolButton>("tileHeld");
    QTest::mouseClick(held, Qt::LeftButton);
    QVERIFY(shown.canvas()->isHeld());
    for (const std::int64_t device : { 5, 2 }) {
        shown.document.selection()->setDevice(device);
        QCOMPARE(shown.canvas()->heldDevice(), device);
        std::int64_t bytes = 0;
        for (const DeviceWeight& it : weightsOnDevice(*shown.document.evaluation(), device))
            bytes += it.bytes;
        QCOMPARE(shown.canvas()->heldBytes(), bytes);
        // Areas are what the device holds: equal for weights of equal size that are cut alike.
        const int down = shown.weight("down_proj");
        const int gate = shown.weight("gate_proj");
        QVERIFY(std::abs(areaOf(shown.canvas()->weightRect(down)) / areaOf(shown.canvas()->weightRect(gate)) - 1) < 1e-6);
        QVERIFY(shown.canvas()->weightText(down).contains(QStringLiteral("device %1 holds").arg(device)));
    }
    shown.view->showAll(false);
    QVERIFY(!held->isVisible());
}

void TestModelCanvas::findsWeights()
{
    const ShownWeights shown;
    shown.canvas()->setFocus();
    QTest::keyClick(shown.canvas(), Qt::Key_F, Qt::ControlModifier);
    auto* field = shown.child<QLineEdit>("tileFind");
    QVERIFY(field->hasFocus());
    const QImage all = shown.canvas()->grab().toImage();
    QTest::keyClicks(field, QStringLiteral("mlp"));
    std::vector<int> wanted { shown.weight("gate_proj"), shown.weight("up_proj"), shown.weight("down_proj") };
    std::sort(wanted.begin(), wanted.end());
    QVERIFY(shown.canvas()->matches() == wanted);
    QVERIFY(shown.canvas()->grab().toImage() != all); // the others are quiet
    std::vector<int> seen;
    shown.document.selection()->setWeight(0);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        QTest::keyClick(field, Qt::Key_Return);
        seen.push_back(shown.document.selection()->weight());
        QVERIFY(QRectF(shown.canvas()->rect()).contains(shown.canvas()->weightRect(seen.back()))); // it is gone to
    }
    QVERIFY(seen == wanted);
    QTest::keyClick(field, Qt::Key_Return); // and round
    QCOMPARE(shown.document.selection()->weight(), wanted.front());
    field->clear();
    QTest::keyClicks(field, QStringLiteral("no such weight"));
    QVERIFY(shown.canvas()->matches().empty());
    QVERIFY(shown.view->findChild<ViewHeader*>()->detail().contains(QStringLiteral("no such weight")));
    QTest::keyClick(field, Qt::Key_Escape);
    QVERIFY(field->text().isEmpty() && shown.canvas()->isFitted() && shown.canvas()->hasFocus());
    QVERIFY(shown.canvas()->matches().size() > 5);
}

// The canvas is hidden behind one weight while the model gets fewer weights and the window another size: what it prepared is of the
// model before, and must not be looked up in the new one.
void TestModelCanvas::sleepsThroughASmallerModel()
{
    ShownWeights shown;
    QVERIFY(shown.ready);
    shown.view->showAll(false);
    Design smaller = knownDesign();
    const std::size_t all = shown.document.evaluation()->weights.size();
    smaller.model = {};
    smaller.model.kind = ModelKind::ColumnParallelLinear;
    smaller.model.linear = { 4096, 1024, true };
    smaller.strategies.clear();
    QVERIFY(shown.document.setDesign(smaller).ok());
    QVERIFY(shown.document.evaluation()->weights.size() < all);
    shown.view->resize(500, 500);
    shown.view->showAll(true);
    QCOMPARE(shown.canvas()->shownWeights(), 2); // weight and bias
}

void TestModelCanvas::everythingHasAName()
{
    const ShownWeights shown;
    QCOMPARE(namelessIn(*shown.view), QString());
}

SHARDBOARD_TEST(TestModelCanvas)
#include "tst_modelcanvas.moc"
