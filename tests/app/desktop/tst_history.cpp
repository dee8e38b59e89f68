// SPDX-License-Identifier: Apache-2.0
// The history: named edits, a jump to any of them, and the same edits made again from a file, on this design or another one.
#include "app/desktop/files/historyfiles.h"
#include "app/desktop/window/fonts.h"
#include "model/session/edithistory.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"

#include <QFile>
#include <QListView>
#include <QPushButton>
#include <QUndoStack>

using namespace shardboard;

class TestHistory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void editsAreMadeAgain();
    void anotherDesignTakesThem();
    void whatDoesNotFitIsRefusedByName();
    void wrongFilesAreRefused_data();
    void wrongFilesAreRefused();
    void whatIsThereIsNotMadeAgain_data();
    void whatIsThereIsNotMadeAgain();
    void replacesWhatAnEditByHandWould();
    void windowListsJumpsSavesAndReplays();
    void fullHistoryCountsWhatIsMadeAgain();
};

namespace {

void makeEdits(Document& document)
{
    const int weight = weightNamed(document, "mlp.up_proj");
    Design design = document.withStrategy(document.patternOf(weight), document.withAxisOnDim(weight, 0, 0));
    QVERIFY(document.edit(design, QStringLiteral("Cut up_proj")).ok());
    design = document.design();
    design.workload.batch = 32;
    QVERIFY(document.edit(design, QStringLiteral("Batch 32")).ok());
    design.workload.sequence = 1024;
    QVERIFY(document.edit(design, QStringLiteral("Sequence 1024")).ok());
}

} // namespace

void TestHistory::editsAreMadeAgain()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    makeEdits(document);
    const Design after = document.design();
    const auto edits = editsFromText(editsText(namedEdits(*document.undoStack())), "here");
    QVERIFY(edits.ok());
    QCOMPARE(edits.value().size(), std::size_t(3));
    Document fresh;
    QVERIFY(fresh.setDesign(knownDesign()).ok());
    const auto [made, there, status] = replay(fresh, edits.value());
    QCOMPARE(made, 3);
    QCOMPARE(there, 0);
    QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
    QVERIFY(fresh.design() == after);
    QCOMPARE(fresh.undoStack()->count(), 3);
    QCOMPARE(fresh.undoStack()->text(1), QStringLiteral("Batch 32"));
    fresh.undoStack()->setIndex(0);
    QVERIFY(fresh.design() == knownDesign());
    // What is undone is no part of it.
    document.undoStack()->undo();
    QCOMPARE(namedEdits(*document.undoStack()).size(), std::size_t(2));
}

void TestHistory::anotherDesignTakesThem()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    Design design = document.design();
    design.workload.batch = 32;
    QVERIFY(document.edit(design, QStringLiteral("Batch 32")).ok());
    Document other;
    QVERIFY(other.setDesign(knownDesign("data=4,model=2")).ok());
    QVERIFY(replay(other, namedEdits(*document.undoStack())).status.ok());
    QCOMPARE(other.design().workload.batch, 32);
    QCOMPARE(other.design().mesh.text(), std::string("data=4,model=2"));
}

void TestHistory::whatDoesNotFitIsRefusedByName()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    makeEdits(document);
    Design different = knownDesign();
    different.workload.batch = 2; // the edit went from 8 to 32
    Document other;
    QVERIFY(other.setDesign(different).ok());
    const auto [made, there, status] = replay(other, namedEdits(*document.undoStack()));
    QCOMPARE(made, 1);
    QCOMPARE(there, 0);
    QVERIFY(!status.ok());
    QVERIFY2(status.error().text().find("Batch 32") != std::string::npos, status.error().text().c_str());
    QCOMPARE(other.undoStack()->count(), 1); // the one before it stays
    QCOMPARE(other.design().workload.batch, 2);
}

void TestHistory::wrongFilesAreRefused_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("no JSON") << QByteArray("{");
    QTest::newRow("something else") << QByteArray("{\"format\": 1}");
    QTest::newRow("newer") << QByteArray("{\"shardboard_edits\": 2, \"edits\": []}");
    QTest::newRow("nameless") << QByteArray("{\"shardboard_edits\": 1, \"edits\": [{\"patch\": []}]}");
}

void TestHistory::wrongFilesAreRefused()
{
    QFETCH(QByteArray, text);
    const auto edits = editsFromText(text.toStdString(), "some.edits.json");
    QVERIFY(!edits.ok());
    QVERIFY(edits.error().text().find("some.edits.json") != std::string::npos);
}

/// A design that has the outcome of an edit is left as it is, whether the edit added, replaced or removed something.
void TestHistory::whatIsThereIsNotMadeAgain_data()
{
    QTest::addColumn<QString>("what");
    for (const char* what : { "strategy", "strategies around it", "batch", "pin", "strategy removed", "mesh axis" })
        QTest::newRow(what) << QString::fromLatin1(what);
}

void TestHistory::whatIsThereIsNotMadeAgain()
{
    QFETCH(QString, what);
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const Design before = document.design();
    Design design = before;
    const StrategyEntry fresh { "*.mlp.up_proj.weight", Strategy {}, {} };
    if (what == QLatin1String("strategy") || what == QLatin1String("strategies around it"))
        design.strategies.push_back(fresh);
    else if (what == QLatin1String("batch"))
        design.workload.batch = 32;
    else if (what == QLatin1String("pin"))
        design.pins.push_back(parsePin("*:batch=data").value());
    else if (what == QLatin1String("strategy removed"))
        design.strategies.pop_back();
    else
        design.mesh = Mesh::parse("data=2,model=4,more=2").value();
    QVERIFY(document.edit(design, QStringLiteral("The edit")).ok());
    const auto edits = namedEdits(*document.undoStack());
    QCOMPARE(edits.size(), std::size_t(1));
    if (what == QLatin1String("strategies around it")) { // another stands behind it meanwhile
        Design later = document.design();
        later.strategies.push_back({ "*.mlp.gate_proj.weight", Strategy {}, {} });
        QVERIFY(document.edit(later, QStringLiteral("Another")).ok());
    }
    const Design after = document.design();
    const int steps = document.undoStack()->count();
    const auto [made, there, status] = replay(document, edits);
    QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
    QCOMPARE(made, 0);
    QCOMPARE(there, 1);
    QVERIFY(document.design() == after);
    QCOMPARE(document.undoStack()->count(), steps);
    document.undoStack()->setIndex(0); // and where it is not there, it is made
    QVERIFY(document.design() == before);
    const Replay again = replay(document, edits);
    QVERIFY(again.status.ok());
    QCOMPARE(again.made, 1);
    QCOMPARE(again.there, 0);
}

/// A strategy for names that have one takes its place.
void TestHistory::replacesWhatAnEditByHandWould()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    Design design = document.design();
    design.strategies.push_back({ "*.mlp.up_proj.weight", Strategy {}, {} });
    QVERIFY(document.edit(design, QStringLiteral("Replicate up_proj")).ok());
    const auto edits = namedEdits(*document.undoStack());
    Design other = knownDesign();
    other.strategies.push_back({ "*.mlp.up_proj.weight", Strategy { StrategyKind::Rowwise, { "model" } }, {} });
    const std::size_t count = other.strategies.size();
    Document there;
    QVERIFY(there.setDesign(other).ok());
    const Replay made = replay(there, edits);
    QVERIFY2(made.status.ok(), made.status.ok() ? "" : made.status.error().text().c_str());
    QCOMPARE(made.made, 1);
    QCOMPARE(there.design().strategies.size(), count);
    QVERIFY(there.design().strategies.back() == design.strategies.back());
}

void TestHistory::windowListsJumpsSavesAndReplays()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    const Design opened = test.document()->design();
    auto* save = test.child<QPushButton>("historySave");
    test.raise("history");
    QVERIFY(!save->isEnabled()); // nothing to save yet
    makeEdits(*test.document());
    const Design edited = test.document()->design();
    QVERIFY(save->isEnabled());
    auto* list = test.child<QListView>("historyList");
    QVERIFY(list->isVisible());
    QCOMPARE(list->model()->rowCount(), 4); // as opened, and three edits
    QCOMPARE(list->model()->index(1, 0).data().toString(), QStringLiteral("Cut up_proj"));
    QVERIFY(test.action("edit.undo")->text().contains(QStringLiteral("Sequence 1024")));
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(list->model()->index(0, 0)).center());
    QVERIFY(test.document()->design() == opened);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(list->model()->index(3, 0)).center());
    QVERIFY(test.document()->design() == edited);
    auto* files = test.child<HistoryFiles>("historyFiles");
    QVERIFY(files->saveTo(test.at("a.edits.json")));
    test.window->fileActions()->saveTo(test.at("a.shardboard"));
    test.window->fileActions()->openSample();
    QVERIFY(files->replayFrom(test.at("a.edits.json")));
    QVERIFY(test.document()->design() == edited);
    const int made = test.document()->undoStack()->index();
    QVERIFY(files->replayFrom(test.at("a.edits.json"))); // all of it is there
    QVERIFY2(test.window->banner()->text().contains(QStringLiteral("3 edits are there already: nothing changes")),
             qPrintable(test.window->banner()->text()));
    QCOMPARE(test.document()->undoStack()->index(), made);
    QVERIFY(test.document()->design() == edited);
    Design another = edited;
    another.workload.batch = 2; // the file's edit went from another batch to 32
    QVERIFY(test.document()->edit(another, QStringLiteral("Batch 2")).ok());
    QVERIFY(!files->replayFrom(test.at("a.edits.json")));
    QVERIFY(test.window->banner()->isError());
    const QString refused = test.window->banner()->text();
    QVERIFY2(refused.contains(QStringLiteral("Batch 32")) && refused.contains(QStringLiteral("1 edit is there already, then")),
             qPrintable(refused));
    QVERIFY(test.document()->design() == another);
    test.window->fileActions()->saveTo(test.at("b.shardboard")); // closes without a question
}

/// A full history does not grow when edits are made again.
void TestHistory::fullHistoryCountsWhatIsMadeAgain()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    QUndoStack* stack = test.document()->undoStack();
    stack->setUndoLimit(3);
    const auto batches = [&](std::initializer_list<int> values) {
        for (const int value : values) {
            Design design = test.document()->design();
            design.workload.batch = value;
            QVERIFY(test.document()->edit(design, QStringLiteral("Batch %1").arg(value)).ok());
        }
    };
    auto* files = test.child<HistoryFiles>("historyFiles");
    QVERIFY(test.document()->setDesign(knownDesign()).ok());
    batches({ 16, 32 });
    QVERIFY(files->saveTo(test.at("two.edits.json")));
    QVERIFY(test.document()->setDesign(knownDesign()).ok());
    batches({ 16, 24, 8 }); // full, and as it began
    QCOMPARE(stack->index(), 3);
    QVERIFY(files->replayFrom(test.at("two.edits.json")));
    QCOMPARE(stack->index(), 3);
    QCOMPARE(test.document()->design().workload.batch, 32);
    const QString text = test.window->banner()->text();
    QVERIFY2(text.contains(QStringLiteral("2 edits replayed; undo takes them back")), qPrintable(text));
    // More than the history holds.
    stack->clear();
    stack->setUndoLimit(1);
    batches({ 8 });
    QVERIFY(files->replayFrom(test.at("two.edits.json")));
    QVERIFY2(test.window->banner()->text().contains(QStringLiteral("2 edits replayed; undo takes back the last 1")),
             qPrintable(test.window->banner()->text()));
    QVERIFY(test.window->fileActions()->saveTo(test.at("full.shardboard"))); // closes without a question
}

SHARDBOARD_TEST(TestHistory, withFonts)

#include "tst_history.moc"
