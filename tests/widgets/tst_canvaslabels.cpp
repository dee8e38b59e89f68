// SPDX-License-Identifier: Apache-2.0
// What is written in the canvases stays in its tile and covers nothing else that is written, at any size and zoom; and tiles that
// mean something else differ by their pattern, too, when all colour is gone.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/canvas/navigation.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"

#include <QApplication>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>

#include <algorithm>
#include <cmath>

using namespace shardboard;

namespace {

struct Text {
    QString text;
    QRectF rect; ///< the part of it that is not clipped
};

/// Draws nothing and keeps where texts are.
class TextEngine : public QPaintEngine {
public:
    explicit TextEngine(std::vector<Text>& texts)
        : QPaintEngine(AllFeatures)
        , m_texts(texts)
    {
    }
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    void updateState(const QPaintEngineState&) override { }
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override { }
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override { }
    void drawTiledPixmap(const QRectF&, const QPixmap&, const QPointF&) override { }
    void drawPath(const QPainterPath&) override { }
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override { }
    void drawPolygon(const QPoint*, int, PolygonDrawMode) override { }
    void drawTextItem(const QPointF& at, const QTextItem& item) override
    {
        const QRectF own(at.x(), at.y() - item.ascent(), item.width(), item.ascent() + item.descent());
        QRectF rect = painter()->combinedTransform().mapRect(own);
        if (painter()->hasClipping())
            rect = rect.intersected(painter()->combinedTransform().mapRect(painter()->clipBoundingRect()));
        if (!rect.isEmpty() && !item.text().trimmed().isEmpty())
            m_texts.push_back({ item.text(), rect });
    }
    Type type() const override { return User; }

private:
    std::vector<Text>& m_texts;
};

class TextDevice : public QPaintDevice {
public:
    explicit TextDevice(const QSize& size)
        : m_size(size)
        , m_engine(texts)
    {
    }
    QPaintEngine* paintEngine() const override { return &m_engine; }
    std::vector<Text> texts;

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        switch (metric) {
        case PdmWidth:
            return m_size.width();
        case PdmHeight:
            return m_size.height();
        case PdmWidthMM:
            return m_size.width() / 4;
        case PdmHeightMM:
            return m_size.height() / 4;
        case PdmNumColors:
        case PdmDepth:
            return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY:
            return 96;
        case PdmDevicePixelRatio:
            return 1;
        default: // PdmDevicePixelRatioScaled
            return static_cast<int>(devicePixelRatioFScale());
        }
    }

private:
    QSize m_size;
    mutable TextEngine m_engine;
};

std::vector<Text> textsOf(QWidget* widget)
{
    TextDevice device(widget->size());
    widget->render(&device, {}, {}, QWidget::DrawWindowBackground);
    return device.texts;
}

/// The first two texts that cover each other, for a message; empty when there are none.
QString covered(const std::vector<Text>& texts)
{
    for (std::size_t i = 0; i < texts.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (const QRectF both = texts[i].rect.intersected(texts[k].rect); both.width() > 1.5 && both.height() > 2)
                return texts[i].text + QStringLiteral(" and ") + texts[k].text;
    return {};
}

/// How often lightness changes by a fifth along a line of a picture.
int changes(const QImage& picture, const QPointF& from, const QPointF& to)
{
    int out = 0;
    double last = -1;
    const int steps = static_cast<int>((to - from).manhattanLength());
    for (int i = 0; i <= steps; ++i) {
        const QPoint at = (from + (to - from) * i / std::max(steps, 1)).toPoint();
        const double now = qGray(picture.pixel(at)) / 255.0;
        if (last >= 0 && std::abs(now - last) <= 0.2)
            continue; // smoothed edges change in two steps
        out += last >= 0 ? 1 : 0;
        last = now;
    }
    return out;
}

} // namespace

class TestCanvasLabels : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void idsStayInTheirCells_data();
    void idsStayInTheirCells();
    void manyShardsAreNamedNearby();
    void labelsStayInTheirTiles_data();
    void labelsStayInTheirTiles();
    void namesOfWeightsDoNotMeet();
    void boxesOfTheFlowHoldTheirText();
    void patternsTellTilesApart();
    void partialSumsAreDashed();
};

void TestCanvasLabels::idsStayInTheirCells_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QSize>("size");
    for (const char* mesh : { "data=2,model=4", "model=8", "data=4,fsdp=4,model=8", "pod=4,data=8,fsdp=64,model=8", "x=1000" })
        for (const QSize& size : { QSize(420, 520), QSize(260, 300), QSize(900, 700) })
            QTest::newRow(qPrintable(QStringLiteral("%1 %2").arg(QLatin1String(mesh)).arg(size.width())))
                << QString::fromLatin1(mesh) << size;
}

void TestCanvasLabels::idsStayInTheirCells()
{
    QFETCH(QString, mesh);
    QFETCH(QSize, size);
    const ShownView<MeshView> shown(knownDesign(qPrintable(mesh), "replicate"), size);
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.view->canvas();
    const std::int64_t devices = shown.document.design().mesh.deviceCount();
    for (int zoom = 0; zoom < 12; ++zoom) {
        const auto texts = textsOf(canvas);
        QVERIFY(zoom > 0 || !texts.empty());
        QVERIFY2(covered(texts).isEmpty(), qPrintable(covered(texts)));
        const double cell = canvas->currentView().scale();
        for (const Text& text : texts) {
            const std::int64_t device = canvas->deviceAt(text.rect.center());
            if (device < 0)
                continue; // beside the cells
            QVERIFY2(device < devices && cell >= 18, qPrintable(QStringLiteral("%1 at %2").arg(text.text).arg(cell)));
            QVERIFY2(canvas->deviceRect(device).adjusted(-0.5, -0.5, 0.5, 0.5).contains(text.rect),
                     qPrintable(QStringLiteral("%1 at %2").arg(text.text).arg(cell)));
        }
        canvas->navigation()->zoom(1.4);
    }
}

/// More shards than there are hues are told apart by their numbers, too, where a device is large enough.
void TestCanvasLabels::manyShardsAreNamedNearby()
{
    ShownView<MeshView> shown(knownDesign("fsdp=64", "fsdp"), { 600, 400 });
    QVERIFY(shown.ready);
    shown.document.selection()->setWeight(weightNamed(shown.document, "o_proj"));
    MeshCanvas* canvas = shown.view->canvas();
    const auto has = [&](const QString& text) {
        const auto texts = textsOf(canvas);
        return std::any_of(texts.begin(), texts.end(), [&](const Text& it) { return it.text == text; });
    };
    QVERIFY(has(QStringLiteral("9")) && !has(QStringLiteral("shard 9")));
    canvas->goInto(0, 8);
    QVERIFY2(canvas->deviceRect(9).width() >= 68, qPrintable(QString::number(canvas->deviceRect(9).width())));
    QVERIFY(has(QStringLiteral("shard 9")) && has(QStringLiteral("node 1")));
}

void TestCanvasLabels::labelsStayInTheirTiles_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("weight");
    QTest::addColumn<QSize>("size");
    for (const char* mesh : { "fsdp=2,model=4", "fsdp=8,model=8", "fsdp=3,model=5" })
        for (const char* weight : { "o_proj", "embed_tokens", "input_layernorm" })
            for (const QSize& size : { QSize(620, 420), QSize(330, 300), QSize(1000, 700) })
                QTest::newRow(
                    qPrintable(QStringLiteral("%1 %2 %3").arg(QLatin1String(mesh), QLatin1String(weight)).arg(size.width())))
                    << QString::fromLatin1(mesh) << QString::fromLatin1(weight) << size;
}

void TestCanvasLabels::labelsStayInTheirTiles()
{
    QFETCH(QString, mesh);
    QFETCH(QString, weight);
    QFETCH(QSize, size);
    Design design = trainingDesign("llama3-8b", qPrintable(mesh), "tp+fsdp");
    ShownView<TileView> shown(design, size);
    QVERIFY(shown.ready);
    shown.document.selection()->setWeight(weightNamed(shown.document, weight.toStdString()));
    TileCanvas* canvas = shown.view->canvas();
    for (int zoom = 0; zoom < 5; ++zoom) {
        const auto texts = textsOf(canvas);
        QVERIFY(!texts.empty());
        QVERIFY2(covered(texts).isEmpty(), qPrintable(covered(texts)));
        for (const Text& text : texts) {
            if (!canvas->currentView().view().contains(text.rect.center()) || canvas->scene().replicated)
                continue; // beside the picture
            bool inside = false;
            for (std::int64_t device = 0; device < canvas->scene().deviceCount && !inside; ++device)
                inside = canvas->tileRect(device).adjusted(-1, -1, 1, 1).contains(text.rect);
            QVERIFY2(inside, qPrintable(text.text));
        }
        canvas->navigation()->zoom(1.6);
    }
}

void TestCanvasLabels::namesOfWeightsDoNotMeet()
{
    ShownView<TileView> shown(knownDesign(), { 620, 420 });
    QVERIFY(shown.ready);
    shown.view->showAll(true);
    for (int zoom = 0; zoom < 5; ++zoom) {
        const auto texts = textsOf(shown.view->modelCanvas());
        QVERIFY(!texts.empty());
        QVERIFY2(covered(texts).isEmpty(), qPrintable(covered(texts)));
        shown.view->modelCanvas()->navigation()->zoom(1.5);
    }
}

void TestCanvasLabels::boxesOfTheFlowHoldTheirText()
{
    for (const QSize& size : { QSize(950, 260), QSize(520, 400) }) {
        const ShownView<FlowView> shown(trainingDesign(), size);
        QVERIFY(shown.ready);
        FlowCanvas* canvas = shown.view->canvas();
        const auto texts = textsOf(canvas);
        QVERIFY(texts.size() > 4);
        QVERIFY2(covered(texts).isEmpty(), qPrintable(covered(texts)));
        for (const Text& text : texts)
            if (const int item = canvas->itemAt(text.rect.center()); item >= 0)
                QVERIFY2(canvas->itemRect(item).adjusted(-1, -1, 1, 1).contains(text.rect), qPrintable(text.text));
    }
}

/// Whole, even and uneven (which is padded by frameworks that pad), in grey.
void TestCanvasLabels::patternsTellTilesApart()
{
    Design design = looseDesign("model=3");
    StrategyEntry entry;
    entry.match = "five";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = "P('model')";
    entry.cut = CutRule::CeilFlat; // 2, 2, 1
    design.strategies.push_back(entry);
    ShownView<TileView> shown(design, { 620, 420 });
    QVERIFY(shown.ready);
    TileCanvas* canvas = shown.view->canvas();
    shown.document.selection()->setWeight(weightNamed(shown.document, "five"));
    QCOMPARE(canvas->scene().tiles.size(), std::size_t { 3 });
    const QImage cut = canvas->grab().toImage();
    const auto edge = [&](std::int64_t device) {
        const QRectF tile = canvas->tileRect(device);
        int most = 0;
        for (const double inside : { 1.0, 2.0, 3.0 })
            most =
                std::max(most, changes(cut, tile.topLeft() + QPointF(8, inside), QPointF(tile.right() - 8, tile.top() + inside)));
        return most;
    };
    QCOMPARE(edge(0), 0);
    QCOMPARE(edge(1), 0);
    QVERIFY2(edge(2) > 20, qPrintable(QString::number(edge(2)))); // dotted
    const int padded = edge(2);
    Design uneven = shown.document.design();
    uneven.strategies.back().cut = CutRule::Balanced; // 2, 2, 1 as well, and nothing is filled up
    QVERIFY(shown.document.edit(uneven, QStringLiteral("balanced")).ok());
    const QImage dashed = canvas->grab().toImage();
    const auto dashes = [&](std::int64_t device) {
        const QRectF tile = canvas->tileRect(device);
        int most = 0;
        for (const double inside : { 1.0, 2.0, 3.0 })
            most = std::max(most,
                            changes(dashed, tile.topLeft() + QPointF(8, inside), QPointF(tile.right() - 8, tile.top() + inside)));
        return most;
    };
    QCOMPARE(dashes(0), 0);
    QVERIFY2(dashes(2) > 8 && 2 * dashes(2) < padded, qPrintable(QStringLiteral("%1 and %2").arg(dashes(2)).arg(padded)));
    QVERIFY(canvas->tileText(2).contains(QStringLiteral("uneven")));
    shown.document.selection()->setWeight(weightNamed(shown.document, "o"));
    QVERIFY(canvas->scene().replicated);
    const QImage whole = canvas->grab().toImage();
    const QRectF picture = canvas->picture();
    // A frame around nothing: one change from the frame to the inside.
    QCOMPARE(changes(whole, picture.topLeft() + QPointF(1, 30), picture.topLeft() + QPointF(60, 30)), 1);
}

void TestCanvasLabels::partialSumsAreDashed()
{
    const ShownView<FlowView> shown(knownDesign("model=8"), { 1400, 300 });
    QVERIFY(shown.ready);
    FlowCanvas* canvas = shown.view->canvas();
    const QImage picture = canvas->grab().toImage();
    int dashed = 0;
    int plain = 0;
    for (int i = 0; i + 1 < static_cast<int>(canvas->scene().items.size()); ++i) {
        const FlowItem& item = canvas->scene().items[static_cast<std::size_t>(i)];
        const QRectF rect = canvas->itemRect(i);
        if (item.hanging || item.ink.cut.size() + item.ink.partial.size() != 1
            || !canvas->currentView().view().contains(canvas->itemRect(i + 1))
            || canvas->itemRect(i + 1).center().y() != rect.center().y())
            continue;
        const int seen = changes(picture, QPointF(rect.right() + 4, rect.center().y()),
                                 QPointF(canvas->itemRect(i + 1).left() - 4, rect.center().y()));
        if (item.ink.partial.empty()) {
            QCOMPARE(seen, 0);
            ++plain;
        } else {
            QVERIFY2(seen >= 2, qPrintable(item.title));
            ++dashed;
        }
    }
    QVERIFY(plain > 0);
    QVERIFY(dashed > 0);
}

SHARDBOARD_TEST(TestCanvasLabels)
#include "tst_canvaslabels.moc"
