// SPDX-License-Identifier: Apache-2.0
// The rules view with real key, mouse and drop events on a real document.
#include "tests/support/drag.h"
#include "tests/support/files.h"
#include "tests/support/hostilenames.h"
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/io/maxtext/rulefile.h"
#include "model/io/maxtext/rulefilewriter.h"
#include "widgets/document/ruletrace.h"
#include "widgets/edits/ruleedits.h"
#include "widgets/explain/inspector.h"
#include "widgets/look/theme.h"
#include "widgets/rules/rulemodel.h"
#include "widgets/rules/rulesoffer.h"
#include "widgets/rules/rulesview.h"
#include "widgets/rules/ruletraceview.h"
#include "widgets/tables/weighthover.h"
#include "widgets/workbench/meshchips.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QCompleter>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeView>
#include <QUndoStack>

#include <memory>

using namespace shardboard;
using namespace shardboard::test;

namespace {

/// o_proj is (embed, heads) of 4096 x 4096, the mlp weights (mlp, embed) or (embed, mlp).
Design ruledDesign(std::vector<LogicalRule> rules, const char* mesh = "data=2,fsdp=4,tensor=2")
{
    Design design = knownDesign(mesh);
    design.strategies.clear();
    design.rules = { "test", std::move(rules) };
    return design;
}

std::vector<LogicalRule> embedThenMlp() { return { { "embed", { "fsdp" }, {} }, { "mlp", { "fsdp", "tensor" }, {} } }; }

struct ShownRules : ShownView<RulesView> {
    explicit ShownRules(const Design& design)
        : ShownView(design, { 940, 260 })
    {
        activate();
    }
    QTreeView* list() const { return view->list(); }
    RuleModel* model() const { return static_cast<RuleModel*>(view->list()->model()); }
    std::string names() const
    {
        std::string out;
        for (const LogicalRule& rule : document.design().rules.rules)
            out += (out.empty() ? "" : " ") + rule.name;
        return out;
    }
    void choose(int row)
    {
        list()->setFocus();
        list()->setCurrentIndex(model()->index(row, RuleModel::AxesColumn));
    }
    QString specOf(const std::string& weight) const
    {
        return QString::fromStdString(shardboard::specOf(document, weightNamed(document, weight)));
    }
};

/// What a drag of rows to a point of the list sends.
void dropRows(QTreeView* list, const QModelIndexList& rows, const QPoint& at)
{
    const std::unique_ptr<QMimeData> data(list->model()->mimeData(rows));
    const Drag drag { list->viewport(), data.get(), Qt::MoveAction };
    drag.enter(at);
    drag.move(at);
    drag.drop(at);
}

} // namespace

class TestRulesView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void editsArePure_data();
    void editsArePure();
    void axesAreTyped_data();
    void axesAreTyped();
    void usesTellWhatCanNeverApply();
    void modelIsSound();
    void dropMovesARuleAndChangesLayouts();
    void keysMoveARuleInOneStep();
    void endsStayWhereTheyAre();
    void foreignDropsChangeNothing();
    void axesAreEditedInPlace();
    void unknownAxesAreKept();
    void refusedEditSaysWhy();
    void addDuplicateRemove();
    void filterHides();
    void traceTellsAKnownConflict();
    void hoveredWeightShowsItsRules();
    void traceOfAHiddenWeight();
    void inspectorTellsTheRule();
    void presetIsTakenAndItsMeshOffered();
    void rulesFileIsOpened();
    void badFilesLoseNothing_data();
    void badFilesLoseNothing();
    void savedFileReadsBackEqual();
    void strategiesThatHideEverythingAreTold();
    void renamedMeshAxisKeepsItsRules();
    void viewWithoutADesign();
};

void TestRulesView::initTestCase() { applyTheme(*qApp, Theme::light()); }

void TestRulesView::editsArePure_data()
{
    QTest::addColumn<QList<int>>("rows");
    QTest::addColumn<int>("before");
    QTest::addColumn<QString>("order");
    QTest::newRow("down") << QList<int> { 0 } << 2 << "b a c d";
    QTest::newRow("to the end") << QList<int> { 0 } << 4 << "b c d a";
    QTest::newRow("up") << QList<int> { 3 } << 0 << "d a b c";
    QTest::newRow("onto itself") << QList<int> { 1 } << 1 << "a b c d";
    QTest::newRow("behind itself") << QList<int> { 1 } << 2 << "a b c d";
    QTest::newRow("two together") << QList<int> { 3, 0 } << 2 << "b a d c";
    QTest::newRow("beyond") << QList<int> { 0, 9, -1 } << 99 << "b c d a";
}

void TestRulesView::editsArePure()
{
    QFETCH(const QList<int>, rows);
    QFETCH(const int, before);
    QFETCH(const QString, order);
    Design design;
    for (const char* name : { "a", "b", "c", "d" })
        design.rules.rules.push_back({ name, {}, {} });
    const RuleEdit edit = movedRules(design, { rows.begin(), rows.end() }, before);
    QStringList names;
    for (const LogicalRule& rule : edit.design.rules.rules)
        names << QString::fromStdString(rule.name);
    QCOMPARE(names.join(QLatin1Char(' ')), order);
    for (const int row : edit.rows) // the moved ones are told where they are now
        QVERIFY(
            rows.contains(static_cast<int>(std::string("abcd").find(edit.design.rules.rules[static_cast<std::size_t>(row)].name))));
}

void TestRulesView::axesAreTyped_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("axes");
    QTest::newRow("commas") << "fsdp, tensor"
                            << "fsdp, tensor";
    QTest::newRow("blanks") << "  fsdp   tensor "
                            << "fsdp, tensor";
    QTest::newRow("from a file") << "['fsdp', \"tensor\"],"
                                 << "fsdp, tensor";
    QTest::newRow("one") << "fsdp"
                         << "fsdp";
    QTest::newRow("none") << ""
                          << "";
    QTest::newRow("empty list") << "[]"
                                << "";
}

void TestRulesView::axesAreTyped()
{
    QFETCH(const QString, text);
    QFETCH(const QString, axes);
    QCOMPARE(axesToText(axesFromText(text)), axes);
}

void TestRulesView::usesTellWhatCanNeverApply()
{
    Document document;
    QVERIFY(document
                .setDesign(ruledDesign({ { "embed", { "fsdp" }, {} },
                                         { "embed", { "tensor", "fsdp" }, {} }, // has all of the one above
                                         { "embed", { "tensor" }, {} }, // a true fallback
                                         { "zzz", { "tensor" }, {} } }))
                .ok());
    const auto uses = ruleUses(document.design(), *document.evaluation());
    QCOMPARE(uses[0].shadowedBy, -1);
    QCOMPARE(uses[1].shadowedBy, 0);
    QCOMPARE(uses[2].shadowedBy, -1);
    QCOMPARE(uses[3].dims, 0);
    QVERIFY(uses[0].decided > 0);
    QCOMPARE(uses[1].decided, 0);
    QVERIFY(uses[1].story.contains(QStringLiteral("never")));
    QVERIFY(uses[3].story.contains(QStringLiteral("zzz")));
}

void TestRulesView::modelIsSound()
{
    Document document;
    QVERIFY(document.setDesign(ruledDesign(embedThenMlp())).ok());
    RuleModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setDesign(document.design(), document.evaluation().get(), {});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(1, RuleModel::AxesColumn).data().toString(), QStringLiteral("fsdp, tensor"));
    model.setTrace(traceOf(document.design(), weightAt(document, weightNamed(document, "down_proj"))));
    QCOMPARE(model.mark(0), RuleModel::Mark::Decides);
    QCOMPARE(model.mark(1), RuleModel::Mark::Skipped);
    model.setDesign(Design(), nullptr, {});
    QCOMPARE(model.rowCount(), 0);
}

void TestRulesView::dropMovesARuleAndChangesLayouts()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    // down_proj is (embed, mlp): the rule for embed stands first and takes fsdp, so the one for mlp is lost.
    QCOMPARE(shown.specOf("down_proj"), QStringLiteral("P('fsdp')"));
    QSignalSpy spy(&shown.document, &Document::evaluated);
    const QRect first = shown.list()->visualRect(shown.model()->index(0, 1));
    dropRows(shown.list(), { shown.model()->index(1, 0), shown.model()->index(1, 1) }, first.topLeft() + QPoint(20, 1));
    QCOMPARE(shown.names(), std::string("mlp embed"));
    QCOMPARE(spy.count(), 1); // at once, and only once
    QCOMPARE(shown.specOf("down_proj"), QStringLiteral("P(None, ('fsdp', 'tensor'))"));
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QVERIFY(shown.document.undoStack()->undoText().contains(QStringLiteral("mlp")));
    shown.document.undoStack()->undo();
    QCOMPARE(shown.names(), std::string("embed mlp"));
    QCOMPARE(shown.specOf("down_proj"), QStringLiteral("P('fsdp')"));
}

void TestRulesView::keysMoveARuleInOneStep()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    shown.choose(1);
    QTest::keyClick(shown.list(), Qt::Key_Up, Qt::AltModifier);
    QCOMPARE(shown.names(), std::string("mlp embed"));
    QCOMPARE(shown.specOf("down_proj"), QStringLiteral("P(None, ('fsdp', 'tensor'))"));
    QCOMPARE(shown.list()->currentIndex().row(), 0); // the moved rule stays the current one
    QTest::keyClick(shown.list(), Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(shown.names(), std::string("embed mlp"));
    QCOMPARE(shown.document.undoStack()->count(), 2);
    shown.document.undoStack()->undo();
    QCOMPARE(shown.names(), std::string("mlp embed"));
}

void TestRulesView::endsStayWhereTheyAre()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    shown.choose(0);
    QTest::keyClick(shown.list(), Qt::Key_Up, Qt::AltModifier);
    shown.choose(1);
    QTest::keyClick(shown.list(), Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(shown.names(), std::string("embed mlp"));
    QCOMPARE(shown.document.undoStack()->count(), 0);
}

void TestRulesView::foreignDropsChangeNothing()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    ShownRules other(ruledDesign({ { "a", {}, {} }, { "b", {}, {} } }));
    const std::unique_ptr<QMimeData> foreign(other.model()->mimeData({ other.model()->index(1, 0) }));
    QVERIFY(!shown.model()->dropMimeData(foreign.get(), Qt::MoveAction, 0, 0, {}));
    QMimeData text;
    text.setText(QStringLiteral("embed: fsdp"));
    QVERIFY(!shown.model()->dropMimeData(&text, Qt::MoveAction, 0, 0, {}));
    QMimeData broken;
    broken.setData(QLatin1String(RuleModel::kMimeType), "xyz");
    QVERIFY(!shown.model()->dropMimeData(&broken, Qt::MoveAction, 0, 0, {}));
    QCOMPARE(shown.document.undoStack()->count(), 0);
}

void TestRulesView::axesAreEditedInPlace()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    shown.choose(0);
    QTest::keyClick(shown.list(), Qt::Key_F2);
    auto* edit = shown.list()->findChild<QLineEdit*>(QStringLiteral("ruleEdit"));
    QVERIFY(edit);
    QCOMPARE(edit->text(), QStringLiteral("fsdp"));
    edit->setText(QStringLiteral("data, te"));
    QCOMPARE(edit->completer()->splitPath(edit->text()), QStringList { QStringLiteral("te") });
    edit->completer()->setCompletionPrefix(QStringLiteral("te"));
    QCOMPARE(edit->completer()->currentCompletion(), QStringLiteral("data, tensor"));
    edit->setText(QStringLiteral("data, tensor"));
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(axesToText(shown.document.design().rules.rules[0].axes), QStringLiteral("data, tensor"));
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QCOMPARE(shown.specOf("o_proj"), QStringLiteral("P(('data', 'tensor'))"));
    QTest::keyClick(shown.list(), Qt::Key_F2); // escape changes nothing
    edit = shown.list()->findChild<QLineEdit*>(QStringLiteral("ruleEdit"));
    QVERIFY(edit);
    edit->setText(QStringLiteral("fsdp"));
    QTest::keyClick(edit, Qt::Key_Escape);
    QCOMPARE(shown.document.undoStack()->count(), 1);
}

void TestRulesView::unknownAxesAreKept()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    QVERIFY(shown.model()->setData(shown.model()->index(0, RuleModel::AxesColumn), QStringLiteral("expert, fsdp")));
    QCOMPARE(axesToText(shown.document.design().rules.rules[0].axes), QStringLiteral("expert, fsdp"));
    QVERIFY(shown.model()->use(0).story.contains(QStringLiteral("expert")));
    QCOMPARE(missingAxes(shown.document.design().rules, shown.document.design().mesh), std::vector<std::string> { "expert" });
    QCOMPARE(shown.specOf("o_proj"), QStringLiteral("P('fsdp')"));
}

void TestRulesView::refusedEditSaysWhy()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    shown.model()->setData(shown.model()->index(0, RuleModel::NameColumn), QStringLiteral("  "));
    QVERIFY(shown.view->message().contains(QStringLiteral("name")));
    QCOMPARE(shown.names(), std::string("embed mlp"));
    QCOMPARE(shown.document.undoStack()->count(), 0);
}

void TestRulesView::addDuplicateRemove()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    shown.document.selection()->setWeight(weightNamed(shown.document, "o_proj"));
    shown.choose(0);
    QTest::keyClick(shown.list(), Qt::Key_Insert);
    QCOMPARE(shown.document.design().rules.rules.size(), std::size_t { 3 });
    const std::string added = shown.document.design().rules.rules[1].name; // the other dim of o_proj, which had no rule
    const auto& names = weightAt(shown.document, weightNamed(shown.document, "o_proj")).spec.logicalNames;
    QVERIFY(std::find(names.begin(), names.end(), added) != names.end());
    QVERIFY(added != "embed");
    auto* edit = shown.list()->findChild<QLineEdit*>(QStringLiteral("ruleEdit"));
    QVERIFY(edit); // ready to be named
    QTest::keyClick(edit, Qt::Key_Escape);
    shown.choose(0);
    QTest::keyClick(shown.list(), Qt::Key_D, Qt::ControlModifier);
    QCOMPARE(shown.names(), "embed embed " + added + " mlp");
    QCOMPARE(shown.list()->currentIndex().row(), 1);
    QTest::keyClick(shown.list(), Qt::Key_Delete);
    QTest::keyClick(shown.list(), Qt::Key_Delete);
    QCOMPARE(shown.names(), std::string("embed mlp"));
    QCOMPARE(shown.document.undoStack()->count(), 4);
    for (int i = 0; i < 4; ++i)
        shown.document.undoStack()->undo();
    QCOMPARE(shown.document.design(), ruledDesign(embedThenMlp()));
    shown.list()->selectAll();
    QTest::keyClick(shown.list(), Qt::Key_Delete);
    QVERIFY(shown.document.design().rules.rules.empty());
    QVERIFY(shown.view->findChild<QLabel*>(QStringLiteral("rulesEmpty"))->isVisible());
}

void TestRulesView::filterHides()
{
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    auto* filter = shown.view->findChild<QLineEdit*>(QStringLiteral("rulesFilter"));
    QTest::keyClicks(filter, QStringLiteral("MLP"));
    QVERIFY(shown.list()->isRowHidden(0, {}));
    QVERIFY(!shown.list()->isRowHidden(1, {}));
    shown.list()->selectAll();
    shown.list()->setFocus();
    QTest::keyClick(shown.list(), Qt::Key_Delete); // what is hidden is not removed
    QCOMPARE(shown.names(), std::string("embed"));
    QTest::keyClick(filter, Qt::Key_Escape);
    QVERIFY(!shown.list()->isRowHidden(0, {}));
    shown.document.undoStack()->undo();
    shown.document.selection()->setWeight(weightNamed(shown.document, "o_proj"));
    QTest::mouseClick(shown.view->findChild<QToolButton*>(QStringLiteral("rulesOfWeight")), Qt::LeftButton);
    QVERIFY(!shown.list()->isRowHidden(0, {}));
    QVERIFY(shown.list()->isRowHidden(1, {})); // o_proj has no dim called mlp
}

void TestRulesView::traceTellsAKnownConflict()
{
    ShownRules shown(ruledDesign({ { "mlp", { "tensor", "stage" }, {} },
                                   { "embed", { "fsdp", "tensor" }, {} },
                                   { "embed", { "fsdp" }, {} },
                                   { "embed", { "data" }, {} } }));
    QVERIFY(shown.ready);
    shown.document.selection()->setWeight(weightNamed(shown.document, "down_proj"));
    const QStringList lines = shown.view->findChild<RuleTraceView*>()->lines();
    const QStringList expected {
        QStringLiteral("dim 0 · embed → fsdp"),
        QStringLiteral("rule 2 → fsdp, tensor: skipped, tensor already cuts dim 1 by rule 1"),
        QStringLiteral("rule 3 → fsdp: decides"),
        QStringLiteral("rule 4 → data: not asked, rule 3 had decided"),
        QStringLiteral("dim 1 · mlp → tensor"),
        QStringLiteral("rule 1 → tensor, stage: decides"),
    };
    QCOMPARE(lines, expected);
    QCOMPARE(shown.model()->mark(0), RuleModel::Mark::Decides);
    QCOMPARE(shown.model()->mark(1), RuleModel::Mark::Skipped);
    QCOMPARE(shown.model()->mark(2), RuleModel::Mark::Decides);
    QCOMPARE(shown.model()->mark(3), RuleModel::Mark::NotAsked);
}

/// Of a weight that is hovered in another view the rules for its dims have a frame; hovering them hovers nothing: they are about
/// many.
void TestRulesView::hoveredWeightShowsItsRules()
{
    ShownRules shown(ruledDesign(
        { { "mlp", { "tensor" }, {} }, { "embed", { "fsdp" }, {} }, { "heads", { "tensor" }, {} }, { "embed", { "data" }, {} } }));
    QVERIFY(shown.ready);
    const auto* hover = shown.list()->findChild<WeightHover*>();
    const auto rows = [&] {
        QList<int> out;
        for (const QRect& rect : hover->marked())
            out << shown.list()->indexAt(rect.center()).row();
        return out;
    };
    QVERIFY(rows().isEmpty());
    shown.document.selection()->setHoveredWeight(weightNamed(shown.document, "down_proj"));
    QCOMPARE(rows(), (QList<int> { 0, 1, 3 }));
    QVERIFY(hover->isVisible());
    shown.document.selection()->setHoveredWeight(-1);
    QVERIFY(hover->isHidden());
    QTest::mouseMove(shown.list()->viewport(), shown.list()->visualRect(shown.model()->index(1, 1)).center());
    QCOMPARE(shown.document.selection()->hoveredWeight(), -1);
}

void TestRulesView::traceOfAHiddenWeight()
{
    Design design = ruledDesign({ { "mlp", { "idle", "tensor" }, {} }, { "embed", { "idle" }, {} } }, "idle=1,tensor=2");
    Document document;
    QVERIFY(document.setDesign(design).ok());
    const WeightTrace open = traceOf(document.design(), weightAt(document, weightNamed(document, "down_proj")));
    QVERIFY(open.hidden.isEmpty());
    QVERIFY(open.dims[0].rules[0].text.contains(QStringLiteral("idle (size 1, does nothing) already cuts dim 1 by rule 1")));
    design.strategies = { { "*", {}, std::nullopt } };
    QVERIFY(document.setDesign(design).ok());
    const WeightTrace hidden = traceOf(document.design(), weightAt(document, weightNamed(document, "down_proj")));
    QVERIFY(hidden.hidden.contains(QStringLiteral("“*”")));
    QCOMPARE(hidden.dims.size(), open.dims.size()); // what they would say is still told
    QCOMPARE(hidden.dims[0].verdict, open.dims[0].verdict);
}

void TestRulesView::inspectorTellsTheRule()
{
    Document document;
    QVERIFY(document.setDesign(ruledDesign(embedThenMlp())).ok());
    document.selection()->setWeight(weightNamed(document, "down_proj"));
    InspectorPanel inspector(&document);
    inspector.resize(340, 700);
    inspector.buildNow();
    QStringList texts;
    for (const QLabel* label : inspector.findChildren<QLabel*>())
        texts << label->text();
    const QString all = texts.join(QLatin1Char('\n'));
    QVERIFY2(all.contains(QStringLiteral("dim 0 · embed · rule 1 → fsdp")), qPrintable(all));
    QVERIFY2(all.contains(QStringLiteral("fsdp already cuts dim 0 by rule 1")), qPrintable(all));
}

void TestRulesView::presetIsTakenAndItsMeshOffered()
{
    ShownRules shown(ruledDesign(embedThenMlp(), "data=2,model=4"));
    QVERIFY(shown.ready);
    auto* menu = shown.view->menu();
    auto* action = menu->findChild<QAction*>(QStringLiteral("rules.take.pure-fsdp"));
    QVERIFY(action);
    action->trigger();
    QCOMPARE(shown.document.design().rules.source, std::string("preset pure-fsdp"));
    QCOMPARE(shown.document.design().rules.rules, rulePreset("pure-fsdp", {}).value().rules);
    QCOMPARE(shown.document.design().mesh.text(), std::string("data=2,model=4")); // not without being asked
    auto* offer = shown.view->findChild<RulesOffer*>();
    QVERIFY(offer->isVisible());
    auto* mesh = offer->findChild<QLineEdit*>(QStringLiteral("rulesOfferMesh"));
    QCOMPARE(mesh->text(), QStringLiteral("fsdp=8")); // on as many devices
    mesh->setText(QStringLiteral("fsdp=0"));
    QTest::mouseClick(offer->findChild<QPushButton*>(QStringLiteral("rulesOfferUse")), Qt::LeftButton);
    QVERIFY(offer->findChild<QLabel*>(QStringLiteral("rulesOfferProblem"))->isVisible());
    QCOMPARE(shown.document.undoStack()->count(), 1);
    mesh->setText(QStringLiteral("fsdp=4"));
    QTest::keyClick(mesh, Qt::Key_Return);
    QVERIFY(!offer->isVisible());
    QCOMPARE(shown.document.design().mesh.text(), std::string("fsdp=4"));
    QCOMPARE(shown.document.undoStack()->count(), 2);
    shown.document.undoStack()->undo();
    shown.document.undoStack()->undo();
    QCOMPARE(shown.document.design(), ruledDesign(embedThenMlp(), "data=2,model=4"));
}

void TestRulesView::rulesFileIsOpened()
{
    const QTemporaryDir folder;
    ShownRules shown(ruledDesign({}));
    QVERIFY(shown.ready);
    const QString path = folder.filePath(QStringLiteral("mine.yml"));
    QVERIFY(writeFile(path,
                      "mesh_axes: ['data', 'fsdp', 'tensor']\n"
                      "something_else: 3\n"
                      "logical_axis_rules: [['mlp', 'tensor'], ['embed', ['fsdp']],]\n"));
    const Status status = shown.view->openFile(path);
    QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
    QCOMPARE(shown.names(), std::string("mlp embed"));
    QCOMPARE(shown.document.design().rules.source, std::string("mine.yml"));
    QCOMPARE(shown.specOf("down_proj"), QStringLiteral("P('fsdp', 'tensor')"));
    const auto* warnings = shown.view->findChild<QPlainTextEdit*>(QStringLiteral("rulesOfferWarnings"));
    QVERIFY(warnings->isVisible());
    QVERIFY(warnings->toPlainText().contains(QStringLiteral("something_else")));
    QVERIFY(!shown.view->findChild<QLineEdit*>(QStringLiteral("rulesOfferMesh"))->isVisible()); // the mesh is the same
}

void TestRulesView::badFilesLoseNothing_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("no pair") << QByteArray("logical_axis_rules: [['embed']]\n");
    QTest::newRow("not yaml") << QByteArray("logical_axis_rules: [['embed', \n");
    QTest::newRow("no text") << QByteArray("\0\xff\xfe\0", 4);
    QTest::newRow("list in list") << QByteArray("logical_axis_rules: [['embed', [['a']]]]\n");
}

void TestRulesView::badFilesLoseNothing()
{
    QFETCH(const QByteArray, text);
    const QTemporaryDir folder;
    ShownRules shown(ruledDesign(embedThenMlp()));
    QVERIFY(shown.ready);
    const Design before = shown.document.design();
    const QString path = folder.filePath(QStringLiteral("bad.yml"));
    QVERIFY(writeFile(path, text));
    const Status status = shown.view->openFile(path);
    QVERIFY(!status.ok());
    const std::string line = status.error().text();
    QVERIFY2(line.find("bad.yml") != std::string::npos, line.c_str());
    QVERIFY(line.find('\n') == std::string::npos);
    QCOMPARE(shown.document.design(), before);
    QCOMPARE(shown.document.undoStack()->count(), 0);
    QVERIFY(!shown.view->openFile(folder.filePath(QStringLiteral("none.yml"))).ok());
}

void TestRulesView::savedFileReadsBackEqual()
{
    const QTemporaryDir folder;
    std::vector<LogicalRule> rules { { "embed", { "fsdp", "tensor" }, {} },
                                     { "it's: a \"name\"", {}, {} },
                                     { "null", { "true", "12" }, {} },
                                     { "#no comment", { "a:b", "[x]" }, {} },
                                     { "back\\slash \xc3\xa9", { "data" }, {} } };
    for (const HostileName& hostile : printableHostileNames())
        rules.push_back({ hostile.name, { "data" }, {} });
    const Mesh mesh = Mesh::parse("data=2,fsdp=4,tensor=2").value();
    const std::string path = folder.filePath(QStringLiteral("out.yml")).toStdString();
    QVERIFY(writeRuleFile(path, rules, mesh).ok());
    RuleSources sources;
    sources.custom = path;
    const auto read = openRules(sources);
    QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
    QCOMPARE(read.value().rules.size(), rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i)
        QVERIFY2(read.value().rules[i] == rules[i], rules[i].name.c_str());
    const std::vector<std::string> axes { "data", "fsdp", "tensor" };
    QCOMPARE(read.value().meshAxes, axes);
    for (const std::string& warning : read.value().warnings) // of the odd names, not of the form
        QVERIFY2(warning.find("axis") != std::string::npos, warning.c_str());
    for (const std::string& name : rulePresetNames()) {
        const auto preset = rulePreset(name, {}).value();
        QVERIFY(writeRuleFile(path, preset.rules, mesh).ok());
        QCOMPARE(openRules(sources).value().rules, preset.rules);
    }
    QVERIFY(writeRuleFile(path, {}, Mesh()).ok());
    const auto empty = openRules(sources);
    QVERIFY2(empty.ok(), empty.ok() ? "" : empty.error().text().c_str());
    QVERIFY(empty.value().rules.empty());
}

void TestRulesView::strategiesThatHideEverythingAreTold()
{
    ShownRules shown(knownDesign());
    QVERIFY(shown.ready);
    Design design = shown.document.design();
    design.strategies = { { "*", {}, std::nullopt } };
    QVERIFY(shown.document.edit(design, QStringLiteral("all")).ok());
    QVERIFY(shown.view->takePreset("default").ok());
    auto* offer = shown.view->findChild<RulesOffer*>();
    QTest::mouseClick(offer->findChild<QToolButton*>(QStringLiteral("rulesOfferClose")), Qt::LeftButton);
    auto* agree = offer->findChild<QPushButton*>(QStringLiteral("rulesOfferAgree"));
    QVERIFY(agree->isVisible());
    QTest::mouseClick(agree, Qt::LeftButton);
    QVERIFY(shown.document.design().strategies.empty());
    QVERIFY(!offer->isVisible());
    QVERIFY(ruleUses(shown.document.design(), *shown.document.evaluation())[6].dims >= 0);
}

void TestRulesView::renamedMeshAxisKeepsItsRules()
{
    const Design design = ruledDesign(embedThenMlp());
    const auto renamed = withMeshAxis(design, 1, { "zero", 4 });
    QVERIFY(renamed.ok());
    QCOMPARE(axesToText(renamed.value().rules.rules[1].axes), QStringLiteral("zero, tensor"));
    const auto resized = withMeshAxis(design, 1, { "fsdp", 2 });
    QVERIFY(resized.ok());
    QCOMPARE(resized.value().rules, design.rules);
}

void TestRulesView::viewWithoutADesign()
{
    Document document;
    RulesView view(&document);
    view.resize(600, 220);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(!view.takePreset("default").ok());
    QTest::keyClick(view.list(), Qt::Key_Insert);
    QTest::keyClick(view.list(), Qt::Key_Delete);
    QVERIFY(!view.grab().isNull());
    QVERIFY(view.minimumSizeHint().width() <= 640);
}

SHARDBOARD_TEST(TestRulesView)
#include "tst_rulesview.moc"
