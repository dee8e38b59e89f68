// SPDX-License-Identifier: Apache-2.0
// The hardware editor and the topology picture with real keys and clicks: values with units, refusals beside their field that
// change nothing, undo, presets and files; which mesh axis goes over which level.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/hardware/hardwareview.h"
#include "widgets/look/format.h"
#include "widgets/mesh/topologyview.h"

#include <QAbstractItemView>
#include <QCheckBox>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QUndoStack>

using namespace shardboard;

namespace {

const QString kRate = QStringLiteral("levels[0].link.bytes_per_second");

struct ShownHardware : ShownView<HardwareView> {
    explicit ShownHardware(const Design& design = knownDesign())
        : ShownView(design, { 340, 700 })
    {
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
    Level level(std::size_t index) const { return hardware().levels[index]; }
    /// In the list that the box opens.
    void choose(const QString& key, const QString& value) const
    {
        ChoiceBox* box = view->choice(key);
        view->findChild<QScrollArea*>()->ensureWidgetVisible(box, 0, 0);
        static_cast<QComboBox*>(box)->showPopup();
        const QModelIndex entry = box->model()->index(box->findData(value), 0);
        box->view()->scrollTo(entry);
        const QPoint at = box->view()->visualRect(entry).center();
        QTest::mouseMove(box->view()->viewport(), at); // the list lets go of a button that never moved
        QTest::qWait(0);
        QTest::mouseClick(box->view()->viewport(), Qt::LeftButton, {}, at);
    }
};

} // namespace

class TestHardwareView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPresetShowsItsValues();
    void aValueIsOneEditAndPricesEverything();
    void longNumbersAreShownShortAndKept();
    void refusalsStandBesideTheirField();
    void arrowsStep();
    void fabricsBringWhatTheyNeed();
    void torusByShapeAndRings();
    void levelsAreAddedAndRemoved();
    void levelsThatCannotBeSayWhy();
    void linksByPresetAndName();
    void presetsAndBack();
    void files();
    void nothingIsScrolledSideways();
    void axesOverLevels();
    void trafficIsTold();
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
                Hardware same = hardware;
                QVERIFY2(field.apply(same, text).isEmpty(), qPrintable(field.key));
                if (field.kind != HardwareField::Kind::Number) {
                    QVERIFY2(same == hardware && !text.isEmpty(), qPrintable(field.key));
                    continue;
                }
                QVERIFY2(field.optional || !text.isEmpty(), qPrintable(field.key));
                bool empty = false;
                const auto value = field.parse(text + QLatin1Char(' ') + field.unit, empty); // a unit may be typed
                if (text.isEmpty())
                    continue;
                QVERIFY2(value && std::abs(*value - *field.get(hardware)) <= 5e-6 * std::abs(*value),
                         qPrintable(field.key)); // six digits are shown
            }
    }
}

void TestHardwareView::aValueIsOneEditAndPricesEverything()
{
    ShownHardware shown;
    QVERIFY(shown.view);
    const Design before = shown.document.design();
    const double step = shown.document.evaluation()->plan.seconds();
    const double rate = shown.hardware().levels[0].link.bytesPerSecond;
    shown.enter(kRate, QStringLiteral("10"));
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

void TestHardwareView::longNumbersAreShownShortAndKept()
{
    ShownHardware shown;
    const QString memory = QStringLiteral("device.memory_bytes");
    const double exact = 8102.0054123457; // as a measurement may be
    shown.enter(memory, QString::number(exact, 'g', 15));
    const double kept = shown.hardware().device.memoryBytes;
    QVERIFY(std::abs(kept - exact * 1024 * 1024) < 1);
    QLineEdit* edit = shown.view->edit(memory);
    QCOMPARE(edit->text(), QStringLiteral("8102.01"));
    QVERIFY2(edit->toolTip().contains(QStringLiteral("8102.0054123457")), qPrintable(edit->toolTip()));
    QVERIFY(edit->fontMetrics().horizontalAdvance(edit->text()) < edit->width() - 8);
    // Another field does not round this one, and neither does leaving it as it is.
    shown.enter(kRate, QStringLiteral("123"));
    QCOMPARE(shown.hardware().device.memoryBytes, kept);
    edit->setFocus();
    QTest::keyClick(edit, Qt::Key_Return);
    QTest::keyClick(edit, Qt::Key_Tab);
    QCOMPARE(shown.hardware().device.memoryBytes, kept);
    QCOMPARE(shown.document.undoStack()->count(), 2);
    // A unit's tail is no digit: 0.3 µs are 0.3, not 0.29999999999999999.
    for (const Hardware& hardware : hardwarePresets())
        for (const HardwareSection& section : hardwareSections(hardware))
            for (const HardwareField& field : section.fields)
                if (field.kind == HardwareField::Kind::Number)
                    QVERIFY2(field.text(hardware).size() <= 11, qPrintable(field.key + QLatin1Char(' ') + field.text(hardware)));
}

void TestHardwareView::refusalsStandBesideTheirField()
{
    ShownHardware shown;
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
    ShownHardware shown;
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

void TestHardwareView::fabricsBringWhatTheyNeed()
{
    ShownHardware shown; // DGX: islands of 8 with sums in the switch, a fat tree of all the rest
    const Design before = shown.document.design();
    const QString fabric = QStringLiteral("levels[0].fabric");
    QVERIFY(shown.level(0).inSwitch.has_value());
    shown.choose(fabric, QStringLiteral("torus"));
    QCOMPARE(fabricName(shown.level(0).fabric), std::string("torus"));
    QCOMPARE(shown.level(0).shape, (std::vector<std::int64_t> { 2, 4 })); // the same 8 devices
    QCOMPARE(shown.level(0).wraps, (std::vector<bool> { true, true }));
    QVERIFY(!shown.level(0).inSwitch.has_value());
    QVERIFY(shown.view->edit(QStringLiteral("levels[0].shape")));
    QVERIFY(!shown.view->edit(QStringLiteral("levels[0].size"))); // follows from the shape
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QVERIFY2(shown.document.undoStack()->undoText().contains(QStringLiteral("torus")),
             qPrintable(shown.document.undoStack()->undoText()));
    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == before);
    QVERIFY(!shown.view->edit(QStringLiteral("levels[0].shape")));
    // Only the innermost level can be a torus: said beside the field, and nothing changes.
    const QString outer = QStringLiteral("levels[1].fabric");
    shown.choose(outer, QStringLiteral("torus"));
    QVERIFY2(shown.view->errorOf(outer).contains(QStringLiteral("innermost")), qPrintable(shown.view->errorOf(outer)));
    QVERIFY(shown.document.design() == before);
    QTest::keyClick(shown.view->choice(outer), Qt::Key_Escape);
    QVERIFY(shown.view->errorOf(outer).isEmpty());
    QCOMPARE(shown.view->choice(outer)->currentData().toString(), QStringLiteral("fat-tree"));
    shown.choose(outer, QStringLiteral("shared-memory"));
    QVERIFY(!shown.view->errorOf(outer).isEmpty());
    shown.choose(outer, QStringLiteral("dcn"));
    QCOMPARE(fabricName(shown.level(1).fabric), std::string("dcn"));
    // Keys step through the fabrics, and the field keeps the focus although the fields are other ones then.
    shown.view->choice(fabric)->setFocus();
    QTest::keyClick(shown.view->choice(fabric), Qt::Key_Down);
    QTest::keyClick(shown.view->choice(fabric), Qt::Key_Down);
    QCOMPARE(fabricName(shown.level(0).fabric), std::string("torus"));
    QVERIFY(shown.view->choice(fabric)->hasFocus());
    shown.document.undoStack()->setIndex(1);
    const QString sums = QStringLiteral("levels[0].in_switch_reduction");
    shown.choose(sums, QStringLiteral("no"));
    QVERIFY(!shown.level(0).inSwitch.has_value());
    QVERIFY(!shown.view->edit(sums + QStringLiteral(".efficiency")));
}

void TestHardwareView::torusByShapeAndRings()
{
    ShownHardware shown;
    shown.choose(QStringLiteral("levels[0].fabric"), QStringLiteral("torus"));
    const QString shape = QStringLiteral("levels[0].shape");
    shown.enter(shape, QStringLiteral("4x4x2"));
    QCOMPARE(shown.level(0).shape, (std::vector<std::int64_t> { 4, 4, 2 }));
    QCOMPARE(shown.level(0).size, std::int64_t { 32 });
    QCOMPARE(shown.level(0).wraps.size(), std::size_t { 3 });
    QCOMPARE(shown.view->edit(shape)->text(), QStringLiteral("4 × 4 × 2"));
    const Design before = shown.document.design();
    for (const char* text : { "4 0", "a b", "-4 4", "999999999 9", "99999999999999999999" }) {
        shown.enter(shape, QString::fromLatin1(text));
        QVERIFY2(!shown.view->errorOf(shape).isEmpty(), text);
        QVERIFY2(shown.document.design() == before, text);
    }
    auto* ring = shown.child<QCheckBox>("hardware.levels[0].wraps[1]");
    QVERIFY(ring && ring->isChecked());
    const double step = shown.document.evaluation()->plan.seconds();
    QTest::mouseClick(ring, Qt::LeftButton, {}, QPoint(8, ring->height() / 2));
    QCOMPARE(shown.level(0).wraps, (std::vector<bool> { true, false, true }));
    QVERIFY(shown.document.evaluation()->plan.seconds() >= step);
    shown.document.undoStack()->undo();
    QVERIFY(shown.child<QCheckBox>("hardware.levels[0].wraps[1]")->isChecked());
}

void TestHardwareView::levelsAreAddedAndRemoved()
{
    ShownHardware shown(knownDesign("data=4,model=8"));
    const Design before = shown.document.design();
    shown.click("hardwareAddLevel");
    QCOMPARE(shown.hardware().levels.size(), std::size_t { 3 });
    QCOMPARE(shown.level(1).size, std::int64_t { 4 }); // 32 devices on islands of 8
    QCOMPARE(shown.level(2).size, std::int64_t { 0 });
    QVERIFY(shown.view->edit(QStringLiteral("levels[2].link.bytes_per_second")));
    QCOMPARE(shown.document.undoStack()->count(), 1);
    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == before);
    QVERIFY(!shown.view->edit(QStringLiteral("levels[2].link.bytes_per_second")));
    shown.click("hardwareRemove.1");
    QCOMPARE(shown.hardware().levels.size(), std::size_t { 1 });
    QCOMPARE(shown.level(0).size, std::int64_t { 0 }); // as the outermost level was
    QVERIFY(!shown.button("hardwareRemove.0")); // the last one stays
}

void TestHardwareView::levelsThatCannotBeSayWhy()
{
    Design design = knownDesign();
    for (const Hardware& preset : hardwarePresets())
        if (preset.levels.front().fabric == Fabric::SharedMemory)
            setHardware(design, preset);
    ShownHardware shown(design);
    QCOMPARE(fabricName(shown.level(0).fabric), std::string("shared-memory"));
    shown.click("hardwareAddLevel");
    const auto* error = shown.child<QLabel>("hardwareLevelError");
    QVERIFY(error->isVisible());
    QVERIFY2(error->text().contains(QStringLiteral("one memory")), qPrintable(error->text()));
    QVERIFY(shown.document.design() == design);
}

void TestHardwareView::linksByPresetAndName()
{
    ShownHardware shown;
    const QString link = QStringLiteral("levels[1].link");
    QVERIFY(shown.view->choice(link)->currentData().toString() != QLatin1String("own"));
    const LinkSpec& other = linkPresets().front();
    shown.choose(link, qstr(other.id));
    QVERIFY(shown.level(1).link == other);
    shown.enter(link + QStringLiteral(".name"), QStringLiteral("cable from the cellar"));
    QCOMPARE(shown.level(1).link.name, std::string("cable from the cellar"));
    QCOMPARE(shown.view->choice(link)->currentData().toString(), QStringLiteral("own"));
    QLineEdit* name = shown.view->edit(link + QStringLiteral(".name"));
    name->setFocus();
    name->selectAll();
    QTest::keyClick(name, Qt::Key_Delete);
    QTest::keyClick(name, Qt::Key_Return);
    QVERIFY(!shown.view->errorOf(link + QStringLiteral(".name")).isEmpty());
    QCOMPARE(shown.level(1).link.name, std::string("cable from the cellar"));
}

void TestHardwareView::presetsAndBack()
{
    ShownHardware shown;
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
    ShownHardware shown;
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
    bad.write(
        R"({"format": "shardboard-hardware", "version": 1, "base": "dgx-h100", "levels": [{"link": {"bytes_per_second": 0}}]})");
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

/// In the narrowest column that a window has for it.
void TestHardwareView::nothingIsScrolledSideways()
{
    Design design = knownDesign();
    for (const Hardware& preset : hardwarePresets()) {
        setHardware(design, preset);
        const ShownView<HardwareView> shown(design, { 280, 700 });
        const auto* scroll = shown.view->findChild<QScrollArea*>();
        QVERIFY2(scroll->horizontalScrollBar()->maximum() == 0, preset.id.c_str());
    }
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
                QVERIFY2(!line.name.isEmpty() && !line.link.isEmpty() && line.rate.contains(QStringLiteral("GB/s")),
                         hardware.id.c_str());
}

void TestHardwareView::trafficIsTold()
{
    Design design = knownDesign("data=4,fsdp=4,model=4", "tp+fsdp");
    design.workload.kind = WorkloadKind::Train;
    const ShownView<TopologyView> shown(design, { 600, 60 });
    QVERIFY(shown.ready);
    const Plan& plan = shown.document.evaluation()->plan;
    const auto traffic = trafficOf(shown.document.evaluation()->graph, plan, hardwareOf(design).value());
    QCOMPARE(shown.view->lines().size(), traffic.size());
    double share = 0;
    for (const TopologyLine& line : shown.view->lines()) {
        QVERIFY(line.traffic == traffic[line.level]);
        QVERIFY(line.traffic.bytes > 0 && line.share > 0);
        share += line.share;
        QVERIFY(shown.view->accessibleDescription().contains(bytesText(static_cast<std::int64_t>(line.traffic.bytes))));
    }
    QVERIFY(std::abs(share - plan.collectiveSeconds / plan.seconds()) < 1e-9);
    // A level that carries more is a warmer ground for its devices, told in numbers here.
    const QImage picture = shown.view->grab().toImage();
    const QRgb bar = Theme::of(shown.view.get()).attention.rgb();
    int ink = 0;
    for (int y = 0; y < picture.height(); ++y)
        for (int x = 0; x < picture.width(); ++x)
            ink += picture.pixel(x, y) == bar ? 1 : 0;
    QVERIFY(ink > 4);
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
    ShownHardware shown;
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

SHARDBOARD_TEST(TestHardwareView)
#include "tst_hardwareview.moc"
