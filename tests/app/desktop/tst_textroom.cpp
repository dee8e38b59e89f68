// SPDX-License-Identifier: Apache-2.0
// Every view in every mode, at the sizes that screens have: no text wider than its room, no two texts in one place, no name
// elided while a neighbor has room to spare; and in all that they say no option, key of a file or keyword of MAX, and no number
// without its commas. With SHARDBOARD_PICTURES set to a folder the windows are saved there.
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/workbench.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/app/desktop/textroom.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "widgets/compare/compareview.h"
#include "widgets/workload/workloadview.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSet>
#include <QTableWidget>

using namespace shardboard;

namespace {

/// Numbers and names are as wide there as they become.
Design trainedOnMany(const std::string& model)
{
    Design design;
    design.model = builtinModel(model).value();
    design.mesh = Mesh::parse("pod=4,data=8,fsdp=64,model=8").value();
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = 2048;
    const auto laidOut = applyPreset(design, "tp+fsdp");
    if (!laidOut.ok())
        qFatal("%s", laidOut.error().text().c_str());
    return design;
}

/// Five axes, and stages of a pipeline.
Design pipelined(const std::string& model)
{
    Design design;
    design.model = builtinModel(model).value();
    design.mesh = Mesh::parse("stage=8,data=4,fsdp=8,expert=8,model=8").value();
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = 8192;
    design.workload.microBatches = 32;
    const auto laidOut = applyPreset(design, "pp+ep+tp-sp+fsdp");
    if (!laidOut.ok())
        qFatal("%s", laidOut.error().text().c_str());
    return design;
}

} // namespace

class TestTextRoom : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { m_it.close(); }

    void whatIsCutIsSeen();
    void whatOverlapsIsSeen();
    void drawersCoverForAWhile();
    void needlessDotsAreSeen();
    void foreignWordsAreSeen();
    void noViewNamesKeysOrOptions();
    void ungroupedNumbersAreSeen();
    void allNumbersAreGrouped();
    void everyViewHasRoom_data();
    void everyViewHasRoom();

private:
    AppWindow m_it;
};

/// The checks can fail.
void TestTextRoom::whatIsCutIsSeen()
{
    QWidget window;
    window.resize(300, 100);
    QLabel label(QStringLiteral("All of this is to be read"), &window);
    label.setGeometry(10, 10, 250, 30);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    QCOMPARE(paintedTexts(&window).size(), 1);
    QCOMPARE(paintedTexts(&window).front().text, label.text());
    QCOMPARE(cutTexts(paintedTexts(&window)), QStringList());
    label.resize(60, 30);
    QCOMPARE(cutTexts(paintedTexts(&window)).size(), 1);
    label.resize(250, 5);
    QCOMPARE(cutTexts(paintedTexts(&window)).size(), 1);
    label.setGeometry(200, 10, 250, 30); // beyond the window's edge
    QCOMPARE(cutTexts(paintedTexts(&window)).size(), 1);
}

void TestTextRoom::whatOverlapsIsSeen()
{
    QWidget window;
    window.resize(300, 100);
    QLabel one(QStringLiteral("one text"), &window);
    one.setGeometry(10, 10, 100, 20);
    QLabel other(QStringLiteral("another"), &window);
    other.setGeometry(10, 40, 100, 20);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    QCOMPARE(overlappingTexts(paintedTexts(&window)), QStringList());
    other.move(20, 14);
    QCOMPARE(overlappingTexts(paintedTexts(&window)).size(), 1);
}

/// A drawer comes and goes: what it covers has room, unless it can be seen through.
void TestTextRoom::drawersCoverForAWhile()
{
    QWidget window;
    window.resize(300, 100);
    auto* row = new QHBoxLayout(&window);
    row->addWidget(new QLabel(QStringLiteral("All of this is to be read")));
    QWidget drawer(&window);
    drawer.setAutoFillBackground(true);
    drawer.setGeometry(80, 0, 220, 100);
    QLabel inIt(QStringLiteral("in the drawer"), &drawer);
    inIt.setGeometry(5, 40, 200, 20);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    QCOMPARE(paintedTexts(&window).size(), 2);
    QCOMPARE(cutTexts(paintedTexts(&window)), QStringList());
    QCOMPARE(overlappingTexts(paintedTexts(&window)), QStringList());
    drawer.setAutoFillBackground(false);
    QCOMPARE(overlappingTexts(paintedTexts(&window)).size(), 1);
}

void TestTextRoom::needlessDotsAreSeen()
{
    QTableWidget table(1, 2);
    table.setItem(0, 0, new QTableWidgetItem(QStringLiteral("a name that is longer than its column")));
    table.setItem(0, 1, new QTableWidgetItem(QStringLiteral("short")));
    table.setColumnWidth(0, 80);
    table.setColumnWidth(1, 300);
    table.resize(500, 200);
    table.show();
    QVERIFY(QTest::qWaitForWindowExposed(&table));
    QCOMPARE(needlesslyElided(&table, paintedTexts(&table)).size(), 1);
    table.setColumnWidth(0, 320);
    table.setColumnWidth(1, 80);
    QCOMPARE(needlesslyElided(&table, paintedTexts(&table)), QStringList());

    QWidget row;
    auto* line = new QHBoxLayout(&row);
    line->addWidget(new QPushButton(QStringLiteral("File …"))); // a dialog follows, nothing is missing
    line->addWidget(new QWidget);
    row.resize(400, 60);
    row.show();
    QVERIFY(QTest::qWaitForWindowExposed(&row));
    QCOMPARE(needlesslyElided(&row, paintedTexts(&row)), QStringList());
}

void TestTextRoom::foreignWordsAreSeen()
{
    for (const char* foreign : { "use --micro-batches 4", "a.shardboard:mesh.sizes[0] is wrong", "$.mesh", "at /mesh/axes/0",
                                 "{\"mesh\": 1}", "on_reshard is raise", "policy.mode", "device.memory_bytes is too large" })
        QVERIFY2(!foreignWords({ { nullptr, QString::fromUtf8(foreign) } }).isEmpty(), foreign);
    for (const char* ours : { "model.layers.*.self_attn.q_proj.weight", "P('model', None)", "[0:4096, 2048:3072]", "tokens/s",
                              "sharding={devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "2 − 3", "*.mlp.*:batch=data" })
        QVERIFY2(foreignWords({ { nullptr, QString::fromUtf8(ours) } }).isEmpty(), ours);
}

/// Errors and findings too, of which there are some here.
void TestTextRoom::noViewNamesKeysOrOptions()
{
    m_it.open({ 1280, 800 });
    Design design = m_it.document()->design();
    design.picker.onReshard = OnReshard::Raise;
    design.picker.picker = PickerKind::Greedy;
    design.pins.emplace_back().match = "nowhere";
    QVERIFY(m_it.document()->edit(design, QStringLiteral("Refuse"), Misfits::Replicate).ok());
    settle();
    QVERIFY(!m_it.document()->evaluation()->findings.empty());
    QStringList found;
    const auto look = [&](const QString& view) {
        for (const QString& one : foreignWords(saidTexts(m_it.window.get())))
            if (const QString line = view + QStringLiteral(": ") + one; !found.contains(line))
                found << line;
    };
    for (const Panel* panel : m_it.window->workbench()->all()) {
        m_it.window->workbench()->raise(panel->objectName());
        settle();
        look(panel->objectName());
    }
    for (const auto& [name, text] :
         { std::pair("text.shardboard", "no JSON"), std::pair("list.shardboard", "[]"),
           std::pair("keys.shardboard", "{\"version\": 1, \"mesh\": {\"axes\": [3], \"sizes\": []}}") }) {
        QFile file(m_it.at(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
        file.close();
        m_it.window->fileActions()->openPath(file.fileName());
        settle();
        const auto* banner = m_it.window->findChild<Banner*>();
        QVERIFY(banner != nullptr && banner->isError());
        QVERIFY2(banner->text().contains(QLatin1String(name)), qPrintable(banner->text()));
        qInfo("%s", qPrintable(banner->text()));
        look(QLatin1String(name));
    }
    QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
}

void TestTextRoom::ungroupedNumbersAreSeen()
{
    const QLabel label;
    for (const char* wrong : { "26516 tokens/s", "on 16384 devices", "(16384)", "each of 1024 ranks", "26516.5 ms" })
        QVERIFY2(!ungroupedNumbers({ { &label, QString::fromUtf8(wrong) } }).isEmpty(), wrong);
    for (const char* right :
         { "26,516 tokens/s", "4096 × 14336 bf16", "dim 1 · in 4096", "[0:4096, 2048:3072]", "1024–2048", "0.12345", "device 1023",
           "prefill · batch 8 · sequence 4096", "llama-4096", "layers.1024.mlp", "A1000", "(arXiv 2407.21783, section 3.3.1)",
           "RTX 4090 workstation", "RTX PRO 6000 Blackwell server" })
        QVERIFY2(ungroupedNumbers({ { &label, QString::fromUtf8(right) } }).isEmpty(), right);
}

void TestTextRoom::allNumbersAreGrouped()
{
    m_it.open({ 1600, 1000 }, false);
    QStringList found;
    for (const Sample& sample : samples()) {
        m_it.window->fileActions()->openSample(sample.id);
        settle();
        for (const Panel* panel : m_it.window->workbench()->all()) {
            m_it.window->workbench()->raise(panel->objectName());
            settle();
            for (const QString& one : ungroupedNumbers(saidTexts(m_it.window.get())))
                if (const QString line = panel->objectName() + QStringLiteral(": ") + one; !found.contains(line))
                    found << line;
        }
    }
    for (const QString& one : std::as_const(found))
        qInfo("%s", qPrintable(one)); // a message of QVERIFY2 is cut off
    QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
}

void TestTextRoom::everyViewHasRoom_data()
{
    QTest::addColumn<QSize>("size");
    QTest::addColumn<double>("points");
    QTest::addColumn<QString>("model"); // the sample where none is named
    for (const char* model : { "", "llama3.1-405b", "deepseek3-671b" })
        for (const double points : { 10.0, 15.0 }) // 10 points at 96 and at 144 dots an inch
            for (const QSize size : { QSize(1024, 640), QSize(1280, 800), QSize(1600, 1000), QSize(1920, 1080) })
                QTest::addRow("%dx%d, %g pt%s%s", size.width(), size.height(), points, *model == '\0' ? "" : ", ", model)
                    << size << points << QString::fromLatin1(model);
}

void TestTextRoom::everyViewHasRoom()
{
    QFETCH(QSize, size);
    QFETCH(double, points);
    QFETCH(QString, model);
    m_it.open(size, false);
    m_it.window->setAnimated(false);
    m_it.theme->setTextSize(points);
    settle();
    QStringList found;
    QSet<QString> known; // the same in one view as in another
    const auto look = [&](const QString& view) {
        QStringList now;
        for (int attempt = 0; attempt < 2; ++attempt) { // panels may still be on their way to their sizes
            const auto texts = paintedTexts(m_it.window.get());
            now = cutTexts(texts) + overlappingTexts(texts) + needlesslyElided(m_it.window.get(), texts);
            if (now.isEmpty())
                break;
            QTest::qWait(200);
        }
        for (const QString& one : std::as_const(now))
            if (const QString what = one.section(QStringLiteral("”"), 0, 0); !known.contains(what)) {
                known.insert(what);
                found << view + QStringLiteral(": ") + one;
            }
        if (const QString folder = qEnvironmentVariable("SHARDBOARD_PICTURES"); !folder.isEmpty())
            m_it.window->grab().save(
                QStringLiteral("%1/%2x%3-%4pt-%5.png").arg(folder).arg(size.width()).arg(size.height()).arg(points).arg(view));
    };
    look(QStringLiteral("welcome"));
    if (model.isEmpty()) {
        m_it.window->fileActions()->openSample();
    } else {
        Design design =
            model.startsWith(QLatin1String("deepseek")) ? pipelined(model.toStdString()) : trainedOnMany(model.toStdString());
        QVERIFY(m_it.document()->setDesign(design).ok());
        m_it.window->findChild<CompareView*>()->keep(); // so that there is something to compare
        design.workload.recompute = Recompute::Full;
        QVERIFY(m_it.document()->edit(design, QStringLiteral("Recompute"), Misfits::Replicate).ok());
    }
    settle();
    Workbench* workbench = m_it.window->workbench();
    for (const Panel* panel : workbench->all()) {
        for (Panel* other : workbench->all()) // of those that come when they are asked for, one at a time
            workbench->close(other);
        workbench->raise(panel->objectName());
        settle();
        look(panel->objectName());
        if (auto* settings = qobject_cast<WorkloadView*>(panel->widget()))
            for (const SettingGroup& section : settingGroups(m_it.document()->design())) {
                settings->setUnfolded({ section.id });
                settings->focusSetting(section.settings.front().id); // scrolled to
                settle();
                look(panel->objectName() + QLatin1Char('-') + section.id);
            }
    }
    for (const QString& one : std::as_const(found))
        qInfo("%s", qPrintable(one)); // a message of QVERIFY2 is cut off
    QCOMPARE(found.size(), 0);
}

SHARDBOARD_TEST(TestTextRoom, withFonts)
#include "tst_textroom.moc"
