// SPDX-License-Identifier: Apache-2.0
// The hardware editor and the topology picture with real keys and clicks: values with units, refusals beside their field that
// change nothing, undo, presets and files; which mesh axis goes over which level.
#include "tests/gui/editor_support.h"

#include "widgets/format.h"
#include "widgets/hardwareview.h"
#include "widgets/topologyview.h"

#include <QElapsedTimer>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QUndoStack>

using namespace shardboard;

namespace {

const QString kRate = QStringLiteral("levels[0].link.bytes_per_second");

struct Shown {
    explicit Shown(const Design& design = knownDesign())
    {
        if (document.setDesign(design).ok())
            view = shownView<HardwareView>(document, { 340, 700 });
    }
    void type(const QString& key, const QString& text) const
    {
        QLineEdit* edit = view->edit(key);
        edit->setFocus();
        edit->selectAll();
        QTest::keyClicks(edit, text);
    }
    void enter(const QString& key, const QString& text) const
    {
        type(key, text);
        QTest::keyClick(view->edit(key), Qt::Key_Return);
    }
    Hardware hardware() const { return hardwareOf(document.design()).value(); }
    void click(const char* button) const { QTest::mouseClick(view->findChild<QPushButton*>(QString::fromLatin1(button)), Qt::LeftButton); }

    Document document;
    std::unique_ptr<HardwareView> view;
};

} // namespace

class TestHardwareView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPresetShowsItsValues();
    void aValueIsOneEditAndPricesEverything();
    void refusalsStandBesideTheirField();
    void arrowsStep();
    void presetsAndBack();
    void files();
    void axesOverLevels();
    void chipsSelectTheirAxis();
    void everythingHasAName();
    void withoutADesign();
};

void TestHardwareView::everyPresetShowsItsValues()
{
    for (const Hardware& hardware : hardwarePresets()) {
        for (const HardwareSection& section : hardwareSections(hardware))
            for (const HardwareField& field : section.fields) {
                const QString text = field.text(hardware);
                QVERIFY2(field.optional || !text.isEmpty(), qPrintable(field.key));
                bool empty = false;
                const auto value = field.parse(text + QLatin1Char(' ') + field.unit, empty); // a unit may be typed
                if (text.isEmpty())
                    continue;
                QVERIFY2(value && std::abs(*value - *field.get(hardware)) <= 1e-9 * std::abs(*value), qPrintable(field.key));
            }
    }
}

void TestHardwareView::aValueIsOneEditAndPricesEverything()
{
    Shown shown;
    QVERIFY(shown.view);
    const Design before = shown.document.design();
    const double step = shown.document.evaluation()->plan.seconds();
    const double rate = shown.hardware().levels[0].link.bytesPerSecond;
    QElapsedTimer timer;
    timer.start();
    shown.enter(kRate, QStringLiteral("10"));
    constexpr int kFrames = 250; // generous: one frame is 16 ms, and this machine may be busy
    QVERIFY2(timer.elapsed() < kFrames, qPrintable(QString::number(timer.elapsed())));
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QVERIFY(shown.document.undoStack()->undoText().contains(QStringLiteral("10 GB/s")));
    QCOMPARE(shown.hardware().levels[0].link.bytesPerSecond, 10e9);
    QVERIFY(shown.document.evaluation()->plan.seconds() > 1.5 * step);
    QVERIFY(findHardware(shown.document.design().hardware).ok() == false); // not taken for the preset
    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == before);
    QCOMPARE(shown.view->edit(kRate)->text().toDouble(), rate / 1e9);
    // Typing the preset's own value again is the preset.
    shown.enter(kRate, QStringLiteral("10"));
    shown.enter(kRate, QString::number(rate / 1e9, 'g', 10));
    QVERIFY(shown.document.design() == before);
}

void TestHardwareView::refusalsStandBesideTheirField()
{
    Shown shown;
    const Design before = shown.document.design();
    for (const char* text : { "0", "-3", "abc", "", "1e300", "nan", "inf" }) {
        shown.type(kRate, QString::fromLatin1(text));
        if (*text == 0)
            QTest::keyClick(shown.view->edit(kRate), Qt::Key_Delete);
        QVERIFY2(!shown.view->errorOf(kRate).isEmpty(), text); // while typing
        QTest::keyClick(shown.view->edit(kRate), Qt::Key_Return);
        QVERIFY2(!shown.view->errorOf(kRate).isEmpty(), text);
        QVERIFY(shown.document.design() == before);
    }
    QVERIFY(shown.view->edit(kRate)->property("refused").toBool());
    shown.type(QStringLiteral("levels[0].link.alpha_seconds"), QStringLiteral("-1"));
    QVERIFY(shown.view->errorOf(QStringLiteral("levels[0].link.alpha_seconds")).contains(QStringLiteral("-1e-06")));
    QTest::keyClick(shown.view->edit(kRate), Qt::Key_Escape);
    QVERIFY(shown.view->errorOf(kRate).isEmpty());
    QCOMPARE(shown.document.undoStack()->count(), 0);
    // An empty field is a value where the device may lack a type.
    shown.enter(QStringLiteral("device.peak_flops.fp8"), QString());
    QLineEdit* fp8 = shown.view->edit(QStringLiteral("device.peak_flops.fp8"));
    fp8->setFocus();
    fp8->selectAll();
    QTest::keyClick(fp8, Qt::Key_Delete);
    QTest::keyClick(fp8, Qt::Key_Return);
    QVERIFY(!shown.hardware().device.peak.fp8.has_value());
}

void TestHardwareView::arrowsStep()
{
    Shown shown;
    const double rate = shown.hardware().levels[0].link.bytesPerSecond;
    QLineEdit* edit = shown.view->edit(kRate);
    edit->setFocus();
    QTest::keyClick(edit, Qt::Key_Up);
    QVERIFY(std::abs(shown.hardware().levels[0].link.bytesPerSecond / rate - 1.1) < 1e-3);
    const std::int64_t size = shown.hardware().levels[0].size;
    QTest::keyClick(shown.view->edit(QStringLiteral("levels[0].size")), Qt::Key_Down);
    QCOMPARE(shown.hardware().levels[0].size, size - 1);
    QCOMPARE(shown.document.undoStack()->count(), 2);
}

void TestHardwareView::presetsAndBack()
{
    Shown shown;
    auto* preset = shown.view->findChild<ChoiceBox*>(QStringLiteral("hardwarePreset"));
    QVERIFY(preset->count() == static_cast<int>(hardwarePresets().size()));
    const auto* back = shown.view->findChild<QPushButton*>(QStringLiteral("hardwareBack"));
    QVERIFY(!back->isEnabled());
    const Design before = shown.document.design();
    shown.enter(kRate, QStringLiteral("123"));
    QVERIFY(back->isEnabled());
    QCOMPARE(preset->count(), static_cast<int>(hardwarePresets().size()) + 1);
    QVERIFY(preset->currentText().contains(QStringLiteral("edited")));
    shown.click("hardwareBack");
    QVERIFY(shown.document.design() == before);
    // Another preset has other levels and so other fields.
    chooseByKeys(preset, QStringLiteral("tpu-v5e"));
    if (preset->currentData().toString() != QLatin1String("tpu-v5e"))
        chooseByKeys(preset, qstr(hardwarePresets().back().id));
    QTest::keyClick(preset, Qt::Key_Return);
    Q_EMIT preset->activated(preset->currentIndex());
    QCOMPARE(qstr(shown.document.design().hardware), preset->currentData().toString());
    QVERIFY(shown.view->edit(kRate));
    QCOMPARE(shown.view->edit(kRate)->text().toDouble(), shown.hardware().levels[0].link.bytesPerSecond / 1e9);
}

void TestHardwareView::files()
{
    Shown shown;
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("mine.json"));
    shown.enter(kRate, QStringLiteral("123"));
    const Hardware edited = shown.hardware();
    QVERIFY(shown.view->save(path).ok());
    shown.click("hardwareBack");
    QVERIFY(shown.view->open(path).ok());
    QVERIFY(shown.hardware() == edited);
    QFile bad(folder.filePath(QStringLiteral("bad.json")));
    QVERIFY(bad.open(QIODevice::WriteOnly));
    bad.write(R"({"format": "shardboard-hardware", "version": 1, "base": "dgx-h100", "levels": [{"link": {"bytes_per_second": 0}}]})");
    bad.close();
    const Design before = shown.document.design();
    const Status refused = shown.view->open(bad.fileName());
    QVERIFY(!refused.ok());
    QVERIFY2(refused.error().text().find("bytes_per_second") != std::string::npos, refused.error().text().c_str());
    QVERIFY(!shown.view->open(folder.filePath(QStringLiteral("missing.json"))).ok());
    QVERIFY(shown.document.design() == before);
    QSignalSpy wanted(shown.view.get(), &HardwareView::openWanted);
    shown.click("hardwareOpen");
    QCOMPARE(wanted.count(), 1);
}

void TestHardwareView::axesOverLevels()
{
    // 16 devices on nodes of 8: model=8 fills a node, data=2 goes between nodes.
    const Hardware dgx = findHardware("dgx-h100").value();
    auto lines = topologyLines(Mesh::parse("data=2,model=8").value(), dgx);
    QCOMPARE(lines.size(), std::size_t { 2 });
    QCOMPARE(lines[0].axes, std::vector<int> { 0 });
    QCOMPARE(lines[1].axes, std::vector<int> { 1 });
    QCOMPARE(lines[1].units, std::int64_t { 2 });
    // The other way round the slow axis is inside of a node and the fast one crosses both.
    lines = topologyLines(Mesh::parse("model=8,data=2").value(), dgx);
    QCOMPARE(lines[0].axes, std::vector<int> { 0 });
    QCOMPARE(lines[1].axes, (std::vector<int> { 0, 1 }));
    // One node has no network.
    lines = topologyLines(Mesh::parse("data=2,model=4").value(), dgx);
    QCOMPARE(lines.size(), std::size_t { 1 });
    QCOMPARE(lines[0].axes, (std::vector<int> { 0, 1 }));
    for (const Hardware& hardware : hardwarePresets())
        for (const char* mesh : { "a=1", "a=2", "a=4,b=4", "a=16,b=16,c=4" })
            for (const TopologyLine& line : topologyLines(Mesh::parse(mesh).value(), hardware))
                QVERIFY2(!line.name.isEmpty() && !line.link.isEmpty() && line.rate.contains(QStringLiteral("GB/s")), hardware.id.c_str());
}

void TestHardwareView::chipsSelectTheirAxis()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign("data=2,model=8")).ok());
    const auto view = shownView<TopologyView>(document, { 420, 60 });
    QCOMPARE(view->lines().size(), std::size_t { 2 });
    QTest::mouseClick(view.get(), Qt::LeftButton, {}, view->chipRect(1, 1).center().toPoint());
    QCOMPARE(document.selection()->meshAxis(), 1);
    QVERIFY(view->chipRect(0, 1).isEmpty());
    QVERIFY(view->accessibleDescription().contains(QStringLiteral("model")));
    QVERIFY(!view->grab().isNull());
}

void TestHardwareView::everythingHasAName()
{
    Shown shown;
    QCOMPARE(namelessIn(*shown.view), QString());
}

void TestHardwareView::withoutADesign()
{
    Document document;
    const auto view = shownView<HardwareView>(document, { 340, 400 });
    QVERIFY(view->findChild<QLabel*>(QStringLiteral("hardwareEmpty"))->isVisible());
    const TopologyView topology(&document);
    QVERIFY(topology.lines().empty() && topology.sizeHint().height() == 0);
}

QTEST_MAIN(TestHardwareView)
#include "tst_hardwareview.moc"
