// SPDX-License-Identifier: Apache-2.0
// Many devices are found step by step: a click goes into a group, a node and takes a device; Esc and a click beside go back; keys
// do the same. From afar the groups of the selected device can be seen.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/canvas/navigation.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/axishues.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"

#include <QApplication>
#include <QHelpEvent>
#include <QLabel>
#include <QTextDocument>
#include <QToolTip>

using namespace shardboard;

namespace {

constexpr const char* kLargeMesh = "pod=4,data=8,fsdp=64,model=8";
constexpr const char* kHugeMesh = "pod=32,data=8,fsdp=64,model=8";

struct ShownPath : ShownView<MeshView> {
    ShownPath(const char* mesh, const QSize& size)
        : ShownView(knownDesign(mesh, "replicate"), size)
    {
    }
    MeshCanvas* canvas() const { return view->canvas(); }
    void click(std::int64_t device) const
    {
        QTest::mouseClick(canvas(), Qt::LeftButton, {}, canvas()->deviceRect(device).center().toPoint());
    }
};

int pixelsColored(const QImage& image, const QColor& color)
{
    int out = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            out += image.pixelColor(x, y).rgb() == color.rgb() ? 1 : 0;
    return out;
}

} // namespace

class TestMeshPath : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void threeClicksFindADevice_data();
    void threeClicksFindADevice();
    void whatIsReadableIsTakenAtOnce();
    void backStepByStep();
    void backByTheHeader_data();
    void backByTheHeader();
    void keysDoTheSame();
    void toolTipsNameUnits();
    void groupsOfTheSelectedAreSeenFromAfar();
    void anotherSizeKeepsWhatIsSeen();
    void withoutRoomNothingIsDrawn();
};

void TestMeshPath::threeClicksFindADevice_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QSize>("size");
    QTest::addColumn<int>("device");
    for (const QSize& size : { QSize(600, 300), QSize(900, 600), QSize(280, 320) })
        for (const auto& [mesh, device] : { std::pair(kLargeMesh, 12345), std::pair(kLargeMesh, 0), std::pair(kHugeMesh, 130001),
                                            std::pair(kHugeMesh, 54321), std::pair("data=2048,model=8", 7777) })
            QTest::newRow(qPrintable(QStringLiteral("%1 %2 %3").arg(QLatin1String(mesh)).arg(device).arg(size.width())))
                << QString::fromLatin1(mesh) << size << device;
}

void TestMeshPath::threeClicksFindADevice()
{
    QFETCH(QString, mesh);
    QFETCH(QSize, size);
    QFETCH(int, device);
    const ShownPath shown(qPrintable(mesh), size);
    QVERIFY(shown.ready);
    int clicks = 0;
    while (shown.document.selection()->device() < 0 && clicks < 3) {
        QVERIFY(QRectF(shown.canvas()->rect()).contains(shown.canvas()->deviceRect(device).center()));
        shown.click(device);
        ++clicks;
    }
    QCOMPARE(shown.document.selection()->device(), std::int64_t { device });
    QVERIFY(shown.canvas()->deviceRect(device).width() >= 14);
    // The header says where one is.
    const QString detail = shown.view->findChild<ViewHeader*>()->detail();
    QVERIFY2(detail.contains(QStringLiteral(" › ")), qPrintable(detail));
}

void TestMeshPath::whatIsReadableIsTakenAtOnce()
{
    const ShownPath shown("data=16,model=4", { 600, 300 });
    QVERIFY(shown.ready);
    QCOMPARE(shown.canvas()->takenTier(), MeshGrid::kDevices);
    shown.click(37);
    QCOMPARE(shown.document.selection()->device(), std::int64_t { 37 });
    QVERIFY(shown.canvas()->currentView().isFitted() && shown.canvas()->placeSteps().isEmpty());
}

void TestMeshPath::backStepByStep()
{
    const ShownPath shown(kLargeMesh, { 600, 300 });
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.canvas();
    const int device = 5 * 512 + 77; // of pod 0, data 5, node 329
    shown.click(device);
    QCOMPARE(canvas->placeSteps(), QStringList { QStringLiteral("pod 0, data 5") });
    canvas->goInto(0, device);
    QCOMPARE(canvas->placeSteps(), (QStringList { QStringLiteral("pod 0, data 5"), QStringLiteral("node 329") }));
    shown.click(device);
    QCOMPARE(shown.document.selection()->device(), std::int64_t { device });
    QTest::keyClick(canvas, Qt::Key_Escape);
    QCOMPARE(canvas->placeSteps(), QStringList { QStringLiteral("pod 0, data 5") });
    QTest::keyClick(canvas, Qt::Key_Escape);
    QVERIFY(canvas->placeSteps().isEmpty() && canvas->currentView().isFitted());
    QCOMPARE(shown.document.selection()->device(), std::int64_t { device });
    QTest::keyClick(canvas, Qt::Key_Escape);
    QCOMPARE(shown.document.selection()->device(), std::int64_t { -1 });
    shown.click(device);
    QTest::mouseClick(canvas, Qt::LeftButton, {}, QPoint(3, canvas->height() - 4)); // beside the grid
    QVERIFY(canvas->currentView().isFitted());
}

void TestMeshPath::backByTheHeader_data()
{
    QTest::addColumn<bool>("keys");
    QTest::newRow("mouse") << false;
    QTest::newRow("keys") << true;
}

/// The units that one is in are links in the header: a click, or Tab and Enter, goes back to one.
void TestMeshPath::backByTheHeader()
{
    QFETCH(bool, keys);
    const ShownPath shown(kLargeMesh, { 700, 400 });
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.canvas();
    auto* detail = shown.view->findChild<QLabel*>(QStringLiteral("headerDetail"));
    QVERIFY(detail->focusPolicy() == Qt::NoFocus); // nothing to go back to
    const auto shownText = [&] {
        QTextDocument read;
        read.setHtml(detail->text());
        return read.toPlainText();
    };
    /// The step of the path with this text, at the place where it is painted.
    const auto choose = [&](const QString& step) {
        if (keys) {
            detail->setFocus(Qt::TabFocusReason);
            const qsizetype links = shownText().left(shownText().indexOf(step)).count(QStringLiteral(" › "));
            for (qsizetype i = 0; i <= links; ++i)
                QTest::keyClick(detail, Qt::Key_Tab); // the first one enters the label
            QTest::keyClick(detail, Qt::Key_Return);
        } else {
            const QFontMetrics metrics(detail->font());
            const QString text = shownText();
            const int at = metrics.horizontalAdvance(text.left(text.indexOf(step))) + metrics.horizontalAdvance(step) / 2;
            QTest::mouseClick(detail, Qt::LeftButton, {}, QPoint(at, detail->height() / 2));
        }
    };
    const auto inNode = [&] {
        canvas->goInto(1, 5 * 512 + 77);
        canvas->goInto(0, 5 * 512 + 77);
        return canvas->placeSteps().size() == 2;
    };
    QVERIFY(inNode());
    QCOMPARE(shownText(), QStringLiteral("16,384 devices › pod 0, data 5 › node 329"));
    choose(QStringLiteral("pod 0, data 5"));
    QCOMPARE(canvas->placeSteps(), QStringList { QStringLiteral("pod 0, data 5") });
    QVERIFY(inNode());
    choose(QStringLiteral("16,384 devices"));
    QVERIFY(canvas->placeSteps().isEmpty() && canvas->currentView().isFitted());
    QVERIFY(inNode());
    QTest::mouseClick(detail, Qt::LeftButton, {}, QPoint(detail->width() - 2, detail->height() / 2)); // where one is
    QCOMPARE(canvas->placeSteps().size(), qsizetype { 2 });
    // In little room the outermost steps give way; the last one stays, and one can still go back.
    shown.view->resize(300, 400);
    QCoreApplication::processEvents();
    QVERIFY(inNode());
    QVERIFY2(shownText().startsWith(QStringLiteral("… › ")) && shownText().endsWith(QStringLiteral("node 329")),
             qPrintable(QStringLiteral("%1 in %2").arg(shownText()).arg(detail->width())));
    QVERIFY(QFontMetrics(detail->font()).horizontalAdvance(shownText()) <= detail->width());
    QVERIFY(detail->toolTip().contains(QStringLiteral("pod 0, data 5")));
    choose(QStringLiteral("…"));
    QVERIFY(canvas->placeSteps().size() == 1);
}

void TestMeshPath::keysDoTheSame()
{
    const ShownPath shown(kLargeMesh, { 600, 300 });
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.canvas();
    Selection* selection = shown.document.selection();
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_Right);
    QCOMPARE(selection->device(), std::int64_t { 0 });
    const int tier = canvas->takenTier();
    QVERIFY(tier >= 0);
    QTest::keyClick(canvas, Qt::Key_Right); // by as much as a click takes
    const std::int64_t next = selection->device();
    QVERIFY(next > 0 && next % canvas->grid().tiers().tiers[static_cast<std::size_t>(tier)].devices == 0);
    QTest::keyClick(canvas, Qt::Key_Return);
    QVERIFY(!canvas->placeSteps().isEmpty());
    QVERIFY(canvas->currentView().view().contains(canvas->deviceRect(next)));
    QTest::keyClick(canvas, Qt::Key_Return);
    QCOMPARE(canvas->takenTier(), MeshGrid::kDevices);
    QTest::keyClick(canvas, Qt::Key_Right);
    QVERIFY(selection->device() > next && selection->device() < next + 512);
    QTest::keyClick(canvas, Qt::Key_Backspace);
    QTest::keyClick(canvas, Qt::Key_Backspace);
    QVERIFY(canvas->currentView().isFitted());
}

void TestMeshPath::toolTipsNameUnits()
{
    const ShownPath shown(kHugeMesh, { 900, 600 });
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.canvas();
    const QPoint at = canvas->deviceRect(512 * 9 + 100).center().toPoint();
    QTest::mouseMove(canvas, at);
    QHelpEvent help(QEvent::ToolTip, at, canvas->mapToGlobal(at));
    QApplication::sendEvent(canvas, &help);
    QVERIFY2(QToolTip::text().contains(QStringLiteral("pod 1, data 1")), qPrintable(QToolTip::text()));
    QVERIFY2(QToolTip::text().contains(QStringLiteral("512 devices in 64 nodes")), qPrintable(QToolTip::text()));
    QToolTip::hideText();
}

void TestMeshPath::groupsOfTheSelectedAreSeenFromAfar()
{
    const ShownPath shown(kLargeMesh, { 600, 400 });
    QVERIFY(shown.ready);
    const QImage before = shown.canvas()->grab().toImage();
    shown.document.selection()->setDevice(9000);
    const QImage after = shown.canvas()->grab().toImage();
    const Mesh& mesh = shown.document.design().mesh;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const int more = pixelsColored(after, axisColor(mesh, axis)) - pixelsColored(before, axisColor(mesh, axis));
        // Lines of two pixels around each member, or around all that lie beside each other.
        QVERIFY2(more >= 24, qPrintable(QStringLiteral("%1: %2").arg(QString::fromStdString(mesh.axis(axis).name)).arg(more)));
    }
}

void TestMeshPath::anotherSizeKeepsWhatIsSeen()
{
    const ShownPath shown(kLargeMesh, { 600, 300 });
    QVERIFY(shown.ready);
    MeshCanvas* canvas = shown.canvas();
    canvas->goInto(0, 9000);
    QVERIFY(canvas->currentView().view().contains(canvas->deviceRect(9000)));
    for (const QSize& size : { QSize(300, 600), QSize(1000, 500), QSize(600, 300) }) {
        shown.view->resize(size);
        QCoreApplication::processEvents();
        QVERIFY(canvas->currentView().view().intersects(canvas->deviceRect(9000)));
        QVERIFY(!canvas->currentView().isFitted());
        QCOMPARE(canvas->deviceAt(canvas->deviceRect(9000).center()), std::int64_t { 9000 });
    }
}

void TestMeshPath::withoutRoomNothingIsDrawn()
{
    for (const char* mesh : { "data=2,model=4", kLargeMesh }) {
        const ShownPath shown(mesh, { 300, 300 });
        QVERIFY(shown.ready);
        for (const QSize& size : { QSize(20, 10), QSize(300, 40), QSize(30, 300) }) {
            MeshCanvas canvas(const_cast<Document*>(&shown.document));
            canvas.resize(size);
            canvas.refresh();
            QCOMPARE(canvas.grab().toImage().size(), size * canvas.devicePixelRatioF());
        }
    }
}

SHARDBOARD_TEST(TestMeshPath)
#include "tst_meshpath.moc"
