// SPDX-License-Identifier: Apache-2.0
// Rules files and modules in the real window: dropped, opened, saved; new designs laid out by rules or of one module.
#include "app/desktop/files/newdialog.h"
#include "app/desktop/files/rulefiles.h"
#include "model/rules/rulesetup.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/drag.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "widgets/findings/findingsview.h"
#include "widgets/rules/rulesview.h"

#include <QCheckBox>
#include <QComboBox>

#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>
#include <QTreeView>

using namespace shardboard;
using namespace shardboard::test;

class TestRuleFiles : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        makeNew({ 1280, 800 });
        window->fileActions()->openSample();
    }
    void cleanup() { drop(); }
    void droppedRulesAreTaken();
    void badDropSaysSoAndLosesNothing();
    void rulesGoOutAndComeBack();
    void folderThatIsNotThereIsToldInTheBanner();
    void findingLeadsToItsRule();
    void repairIsInTheMenu();
    void newDesignByRules();
    void newModule();
    void moduleThatCannotBeIsRefused();

private:
    QString write(const char* name, const QByteArray& text) const;
};

QString TestRuleFiles::write(const char* name, const QByteArray& text) const
{
    const QString path = folder.filePath(QString::fromLatin1(name));
    return writeFile(path, text) ? path : QString();
}

void TestRuleFiles::droppedRulesAreTaken()
{
    dropFile(window.get(), write("mine.yml", "logical_axis_rules: [['embed', ['data']], ['mlp', 'model']]\n"), { 600, 400 });
    QTRY_COMPARE(document()->design().rules.rules.size(), std::size_t { 2 });
    QTRY_VERIFY(window->rulesView()->isVisible()); // the tab comes to the front
    QCOMPARE(window->workbench()->find(QStringLiteral("rules"))->windowTitle(), QStringLiteral("Rules 2"));
    QVERIFY(document()->isModified());
    document()->undoStack()->undo();
    QVERIFY(document()->design().rules.rules.empty());
}

void TestRuleFiles::badDropSaysSoAndLosesNothing()
{
    const Design before = document()->design();
    const QString path = write("bad.yaml", "logical_axis_rules:\n  - ['embed', ['data'], 'more']\n");
    dropFile(window.get(), path, { 600, 400 });
    QTRY_VERIFY(window->banner()->isVisible());
    QVERIFY(window->banner()->isError());
    QVERIFY2(window->banner()->text().startsWith(path + QStringLiteral(":2")), qPrintable(window->banner()->text()));
    QVERIFY(!window->banner()->text().contains(QLatin1Char('\n')));
    QCOMPARE(document()->design(), before);
}

void TestRuleFiles::rulesGoOutAndComeBack()
{
    QVERIFY(window->rulesView()->takePreset("pure-fsdp").ok());
    const auto rules = document()->design().rules.rules;
    const QString path = at("out.yml");
    QVERIFY(window->ruleFiles()->saveTo(path));
    QVERIFY(!window->banner()->isError());
    auto* clear = window->rulesView()->menu()->findChild<QAction*>(QStringLiteral("rules.clear"));
    clear->trigger();
    QVERIFY(document()->design().rules.rules.empty());
    QVERIFY(!clear->isEnabled());
    QVERIFY(window->ruleFiles()->openPath(path));
    QCOMPARE(document()->design().rules.rules, rules);
    QCOMPARE(document()->design().rules.source, std::string("out.yml"));
}

void TestRuleFiles::folderThatIsNotThereIsToldInTheBanner()
{
    QVERIFY(window->rulesView()->takePreset("pure-fsdp").ok());
    QVERIFY(!window->ruleFiles()->saveTo(at("none/out.yml")));
    QVERIFY(window->banner()->isError());
    QVERIFY(window->banner()->text().contains(QStringLiteral("out.yml")));
}

void TestRuleFiles::findingLeadsToItsRule()
{
    Design design = document()->design();
    design.rules = { "test", { { "embed", {}, {} }, { "mlp", {}, {} }, { "mlp", { "model" }, {} } } };
    QVERIFY(document()->edit(design, QStringLiteral("rules")).ok());
    Q_EMIT window->findChild<FindingsView*>()->placeChosen({ .kind = FindingPlace::Kind::Rules, .name = QStringLiteral("mlp") });
    QTRY_VERIFY(window->rulesView()->isVisible());
    QCOMPARE(window->rulesView()->list()->selectionModel()->selectedRows().size(), 2);
    QCOMPARE(window->rulesView()->list()->currentIndex().row(), 1);
}

void TestRuleFiles::repairIsInTheMenu()
{
    Design design = document()->design();
    design.strategies.clear();
    QVERIFY(document()->edit(design, QStringLiteral("clear")).ok());
    const auto& findings = document()->evaluation()->findings;
    const auto count = findings.size();
    QAction* repair = window->actionRegistry()->get(QStringLiteral("edit.repair"));
    QVERIFY(repair->isEnabled());
    QTest::keyClick(window.get(), Qt::Key_Period, Qt::ControlModifier); // from anywhere in the window
    QCOMPARE(document()->undoStack()->count(), 2);
    QVERIFY(document()->evaluation()->findings.size() < count);
}

void TestRuleFiles::newDesignByRules()
{
    NewDialog dialog;
    dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("fsdp=4"));
    dialog.findChild<QComboBox*>(QStringLiteral("new.preset"))->setCurrentText(QStringLiteral("rules pure-fsdp"));
    dialog.accept();
    QCOMPARE(dialog.result(), int(QDialog::Accepted));
    QVERIFY(dialog.design().strategies.empty());
    QCOMPARE(dialog.design().rules.source, std::string("preset pure-fsdp"));
    QVERIFY(document()->setDesign(dialog.design()).ok());
    const Document& document = *window->document();
    QCOMPARE(specOf(document, weightNamed(document, "lm_head")), std::string("P(None, 'fsdp')")); // [vocab, embed_vocab]
}

void TestRuleFiles::newModule()
{
    NewDialog dialog;
    dialog.setModule();
    dialog.show();
    auto* outDim = dialog.findChild<QSpinBox*>(QStringLiteral("new.outDim"));
    QVERIFY(outDim->isVisible());
    outDim->setValue(10);
    dialog.findChild<QSpinBox*>(QStringLiteral("new.inDim"))->setValue(8);
    dialog.findChild<QCheckBox*>(QStringLiteral("new.bias"))->setChecked(true);
    dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("model=4"));
    dialog.accept();
    QVERIFY2(dialog.result() == QDialog::Accepted, qPrintable(dialog.findChild<QLabel*>(QStringLiteral("new.error"))->text()));
    QVERIFY(document()->setDesign(dialog.design()).ok());
    const Document& document = *window->document();
    const int weight = weightNamed(document, "linear.weight");
    QVERIFY(weight >= 0);
    QCOMPARE(weightAt(document, weight).spec.shape, (Shape { 10, 8 }));
    QCOMPARE(weightAt(document, weight).shards.distinctCount(), std::int64_t { 4 }); // 3, 3, 2, 2 rows
    QVERIFY(weightNamed(document, "linear.bias") >= 0);
    const auto& collectives = document.evaluation()->plan.collectives;
    QVERIFY(std::any_of(collectives.begin(), collectives.end(),
                        [](const Collective& c) { return collectiveName(c.kind) == "all-gather"; }));
    QVERIFY(!window->grab().isNull());
    dialog.setModel(QStringLiteral("llama3-8b"));
    QVERIFY(outDim->isHidden());
}

void TestRuleFiles::moduleThatCannotBeIsRefused()
{
    NewDialog dialog;
    dialog.setModule();
    dialog.show();
    dialog.findChild<QCheckBox*>(QStringLiteral("new.bias"))->setChecked(true);
    dialog.findChild<QCheckBox*>(QStringLiteral("new.tied"))->setChecked(true);
    dialog.accept();
    QVERIFY(dialog.isVisible());
    QVERIFY(dialog.findChild<QLabel*>(QStringLiteral("new.error"))->text().contains(QStringLiteral("bias")));
}

SHARDBOARD_TEST(TestRuleFiles)
#include "tst_rulefiles.moc"
