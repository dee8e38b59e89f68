// SPDX-License-Identifier: Apache-2.0
// Rules files and modules in the real window: dropped, opened, saved; new designs laid out by rules or of one module.
#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/newdialog.h"
#include "app/desktop/files/rulefiles.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/window/docks.h"
#include "app/desktop/window/mainwindow.h"
#include "model/rules/rulesetup.h"
#include "model/session/document.h"
#include "tests/support/drag.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/findings/findingsview.h"
#include "widgets/rules/rulesview.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>
#include <QUndoStack>

#include <memory>

using namespace shardboard;
using namespace shardboard::test;

class TestRuleFiles : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
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

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<Settings> m_settings;
    std::unique_ptr<ThemeControl> m_theme;
    std::unique_ptr<MainWindow> m_window;
};

void TestRuleFiles::init()
{
    m_folder = std::make_unique<QTemporaryDir>();
    m_settings = std::make_unique<Settings>(m_folder->filePath(QStringLiteral("settings.ini")));
    m_theme = std::make_unique<ThemeControl>(*qApp, *m_settings);
    m_window = std::make_unique<MainWindow>(*m_settings, *m_theme);
    m_window->resize(1280, 800);
    m_window->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
    m_window->fileActions()->openSample();
}

void TestRuleFiles::cleanup()
{
    m_window.reset();
    m_theme.reset();
    m_settings.reset();
    m_folder.reset();
}

QString TestRuleFiles::write(const char* name, const QByteArray& text) const
{
    const QString path = m_folder->filePath(QString::fromLatin1(name));
    return writeFile(path, text) ? path : QString();
}

void TestRuleFiles::droppedRulesAreTaken()
{
    dropFile(m_window.get(), write("mine.yml", "logical_axis_rules: [['embed', ['data']], ['mlp', 'model']]\n"), { 600, 400 });
    QTRY_COMPARE(m_window->document()->design().rules.rules.size(), std::size_t { 2 });
    QTRY_VERIFY(m_window->rulesView()->isVisible()); // the tab comes to the front
    QCOMPARE(m_window->docks()->find(QStringLiteral("rules"))->windowTitle(), QStringLiteral("Rules 2"));
    QVERIFY(m_window->document()->isModified());
    m_window->document()->undoStack()->undo();
    QVERIFY(m_window->document()->design().rules.rules.empty());
}

void TestRuleFiles::badDropSaysSoAndLosesNothing()
{
    const Design before = m_window->document()->design();
    const QString path = write("bad.yaml", "logical_axis_rules:\n  - ['embed', ['data'], 'more']\n");
    dropFile(m_window.get(), path, { 600, 400 });
    QTRY_VERIFY(m_window->banner()->isVisible());
    QVERIFY(m_window->banner()->isError());
    QVERIFY2(m_window->banner()->text().startsWith(path + QStringLiteral(":2")), qPrintable(m_window->banner()->text()));
    QVERIFY(!m_window->banner()->text().contains(QLatin1Char('\n')));
    QCOMPARE(m_window->document()->design(), before);
}

void TestRuleFiles::rulesGoOutAndComeBack()
{
    QVERIFY(m_window->rulesView()->takePreset("pure-fsdp").ok());
    const auto rules = m_window->document()->design().rules.rules;
    const QString path = m_folder->filePath(QStringLiteral("out.yml"));
    QVERIFY(m_window->ruleFiles()->saveTo(path));
    QVERIFY(!m_window->banner()->isError());
    auto* clear = m_window->rulesView()->menu()->findChild<QAction*>(QStringLiteral("rules.clear"));
    clear->trigger();
    QVERIFY(m_window->document()->design().rules.rules.empty());
    QVERIFY(!clear->isEnabled());
    QVERIFY(m_window->ruleFiles()->openPath(path));
    QCOMPARE(m_window->document()->design().rules.rules, rules);
    QCOMPARE(m_window->document()->design().rules.source, std::string("out.yml"));
}

void TestRuleFiles::folderThatIsNotThereIsToldInTheBanner()
{
    QVERIFY(m_window->rulesView()->takePreset("pure-fsdp").ok());
    QVERIFY(!m_window->ruleFiles()->saveTo(m_folder->filePath(QStringLiteral("none/out.yml"))));
    QVERIFY(m_window->banner()->isError());
    QVERIFY(m_window->banner()->text().contains(QStringLiteral("out.yml")));
}

void TestRuleFiles::findingLeadsToItsRule()
{
    Design design = m_window->document()->design();
    design.rules = { "test", { { "embed", {}, {} }, { "mlp", {}, {} }, { "mlp", { "model" }, {} } } };
    QVERIFY(m_window->document()->edit(design, QStringLiteral("rules")).ok());
    Q_EMIT m_window->findChild<FindingsView*>()->placeChosen({ FindingPlace::Kind::Rules, -1, -1, QStringLiteral("mlp") });
    QTRY_VERIFY(m_window->rulesView()->isVisible());
    QCOMPARE(m_window->rulesView()->list()->selectionModel()->selectedRows().size(), 2);
    QCOMPARE(m_window->rulesView()->list()->currentIndex().row(), 1);
}

void TestRuleFiles::repairIsInTheMenu()
{
    Design design = m_window->document()->design();
    design.strategies.clear();
    QVERIFY(m_window->document()->edit(design, QStringLiteral("clear")).ok());
    const auto& findings = m_window->document()->evaluation()->findings;
    const auto count = findings.size();
    QAction* repair = m_window->actionRegistry()->get(QStringLiteral("edit.repair"));
    QVERIFY(repair->isEnabled());
    QTest::keyClick(m_window.get(), Qt::Key_Period, Qt::ControlModifier); // from anywhere in the window
    QCOMPARE(m_window->document()->undoStack()->count(), 2);
    QVERIFY(m_window->document()->evaluation()->findings.size() < count);
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
    QVERIFY(m_window->document()->setDesign(dialog.design()).ok());
    const Document& document = *m_window->document();
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
    QVERIFY(m_window->document()->setDesign(dialog.design()).ok());
    const Document& document = *m_window->document();
    const int weight = weightNamed(document, "linear.weight");
    QVERIFY(weight >= 0);
    QCOMPARE(weightAt(document, weight).spec.shape, (Shape { 10, 8 }));
    QCOMPARE(weightAt(document, weight).shards.distinctCount(), std::int64_t { 4 }); // 3, 3, 2, 2 rows
    QVERIFY(weightNamed(document, "linear.bias") >= 0);
    const auto& collectives = document.evaluation()->plan.collectives;
    QVERIFY(std::any_of(collectives.begin(), collectives.end(),
                        [](const Collective& c) { return collectiveName(c.kind) == "all-gather"; }));
    QVERIFY(!m_window->grab().isNull());
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
