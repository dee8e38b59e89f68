// SPDX-License-Identifier: Apache-2.0
// The real window, driven as a person does: open, select, edit, undo, save, drop, run. Any warning of Qt is a failure.
#include "app/desktop/files/newdialog.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/fonts.h"
#include "model/design/presets/presets.h"
#include "model/plan/pin.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/drag.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weighttable.h"

#include <QAbstractItemView>
#include <QComboBox>

#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QStyle>
#include <QTabBar>
#include <QTableView>
#include <QTimer>
#include <QTreeWidget>

#include <csignal>

using namespace shardboard;
using namespace shardboard::test;

namespace {

QString fakeEngine(const char* script)
{
    return QStringLiteral("\"" SHARDBOARD_BINARY_DIR "/tests/fakeengine\" ") + QString::fromLatin1(script);
}

/// Answers the next modal box.
void answerBox(QMessageBox::StandardButton button)
{
    QTimer::singleShot(0, qApp, [button] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        QVERIFY(box != nullptr);
        box->button(button)->click();
    });
}

/// All texts of a table, row by row.
QStringList texts(const QAbstractItemView* view)
{
    QStringList out;
    const QAbstractItemModel* model = view->model();
    for (int row = 0; row < model->rowCount(); ++row) {
        for (int column = 0; column < model->columnCount(); ++column)
            out << model->index(row, column).data().toString();
    }
    return out;
}

} // namespace

class TestMainWindow : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup() { drop(); }

    void startsWithTheWelcomePage();
    void strategyChangesCollectivesAndUndoRestoresThem();
    void designMenuChangesTheDesign();
    void droppingAnAxisCutsADim();
    void titleShowsUnsavedChanges();
    void closingAsksAboutUnsavedChanges();
    void saveAndOpenRoundTrip();
    void unreadableFileShowsABannerAndKeepsTheDesign();
    void saveToAMissingFolderKeepsTheChanges();
    void recentFilesAreNewestFirst();
    void droppedFileOpens();
    void droppedWrongFileChangesNothing();
    void newDialogRefusesAWrongMesh();
    void newDialogMakesADesign();
    void newDialogTellsSizeFitAndStep();
    void newDialogAsksForLogits();
    void styleSheetIsThereInTheEnd();
    void newDialogOffersWhatShardctlNewDoes();
    void tabsKeepTheirNamesInASmallWindow();
    void layoutIsRestoredAndReset();
    void inputWakesAPanelThatSleeps();
    void themeSwitchesLive();
    void everyActionHasAName();
    void runShowsTimesAndVerdict();
    void editMakesResultsStale();
    void killedEngineLeavesTheWindowAlive();
    void restartAfterACrash();
    void engineIsAskedWhenItsPanelIsSeen();
    void missingGpuIsExplainedAndTheCpuOffered();
    void hangingEngineIsToldWithRestart();
    void absentEngineIsOneMessage();
    void cancelStopsTheRun();
    void realEngineKilledDuringARun();
    void realEngineRuns();

private:
    void openWindow(const QString& engine = {});
    void openSmallSample();
    void waitForState(EngineSession::State state, int timeout = 10000);
    QString childText(const char* name) const;
    bool isShown(const char* name) const;
    QAbstractItemView* collectives() const { return window->findChild<QAbstractItemView*>(QStringLiteral("collectivesTable")); }
};

void TestMainWindow::initTestCase() { ensureFonts(*qApp); }

void TestMainWindow::init()
{
    // The offscreen platform says this of every window that is resized.
    QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!.*propagateSizeHints).*$")));
    folder = QTemporaryDir();
    openWindow();
}

void TestMainWindow::openWindow(const QString& engine)
{
    drop();
    makeSettings();
    settings->setEngineCommand(engine);
    makeWindow({ 1280, 800 });
    QVERIFY(QTest::qWaitForWindowExposed(window.get()));
}

void TestMainWindow::openSmallSample()
{
    NewDesign wanted;
    wanted.workload = { WorkloadKind::Prefill, 2, 64, DType::BF16 };
    std::vector<std::string> notes;
    const auto design = makeDesign(wanted, notes);
    QVERIFY(design.ok());
    QVERIFY(document()->setDesign(design.value()).ok());
}

void TestMainWindow::waitForState(EngineSession::State state, int timeout)
{
    QTRY_COMPARE_WITH_TIMEOUT(window->engine()->state(), state, timeout);
}

QString TestMainWindow::childText(const char* name) const
{
    const auto* label = window->findChild<QLabel*>(QString::fromLatin1(name));
    return label == nullptr ? QStringLiteral("no such label") : unbroken(label->text());
}

bool TestMainWindow::isShown(const char* name) const
{
    const auto* widget = window->findChild<QWidget*>(QString::fromLatin1(name));
    return widget != nullptr && !widget->isHidden();
}

void TestMainWindow::startsWithTheWelcomePage()
{
    QVERIFY(!document()->hasDesign());
    auto* sample = window->findChild<QPushButton*>(QStringLiteral("welcome.sample"));
    QVERIFY(sample != nullptr && sample->isVisible());
    QVERIFY(!window->workbench()->find(QStringLiteral("weights"))->isVisible());
    sample->setFocus();
    QTest::keyClick(sample, Qt::Key_Return);
    QVERIFY(document()->hasDesign());
    QVERIFY(!sample->isVisible());
    QVERIFY(window->workbench()->find(QStringLiteral("weights"))->isVisible());
    QCOMPARE(document()->design().mesh.text(), std::string("data=2,model=4"));
}

void TestMainWindow::strategyChangesCollectivesAndUndoRestoresThem()
{
    window->fileActions()->openSample();
    Document* document = window->document();
    const QStringList before = texts(collectives());
    QVERIFY(before.contains(QStringLiteral("all-reduce")));
    document->selection()->setWeight(weightNamed(*document, "o_proj"));
    auto* panel = window->findChild<WeightPanel*>();
    QVERIFY(panel != nullptr);
    QMenu menu;
    panel->fillMenu(&menu);
    const auto actions = menu.actions();
    QVERIFY(!actions.isEmpty());
    QCOMPARE(actions.first()->text(), QStringLiteral("Replicate"));
    QVERIFY(actions.first()->isEnabled());
    actions.first()->trigger();
    QVERIFY(document->evaluation()->weights[static_cast<std::size_t>(document->selection()->weight())].layout.isReplicated());
    QVERIFY(texts(collectives()) != before);
    QAction* undo = window->actionRegistry()->get(QStringLiteral("edit.undo"));
    QVERIFY2(undo->text().contains(QStringLiteral("o_proj")), qPrintable(undo->text()));
    undo->trigger();
    QCOMPARE(texts(collectives()), before);
    window->actionRegistry()->get(QStringLiteral("edit.redo"))->trigger();
    QVERIFY(texts(collectives()) != before);
}

void TestMainWindow::designMenuChangesTheDesign()
{
    window->fileActions()->openSample();
    Document* document = window->document();
    const Design before = document->design();
    const auto action = [this](const char* name) { return window->findChild<QAction*>(QString::fromLatin1(name)); };
    const auto kinds = [document] {
        QStringList out;
        for (const Collective& collective : document->evaluation()->plan.collectives)
            out << QString::fromStdString(collectiveName(collective.kind));
        return out;
    };
    action("choose.G1")->trigger();
    QCOMPARE(kinds().first(), QStringLiteral("all-gather")); // of the table
    QCOMPARE(document->undoStack()->undoText(), QStringLiteral("Picker G1"));
    action("preset.replicate")->trigger();
    QCOMPARE(kinds(), QStringList());
    action("choose.decode")->trigger();
    QVERIFY(document->design().workload.kind == WorkloadKind::Decode);
    action("workload.batch")->trigger(); // leads to the field
    auto* batch = window->findChild<QLineEdit*>(QStringLiteral("workload.batch"));
    QTRY_COMPARE(qobject_cast<QLineEdit*>(window->focusWidget()), batch);
    batch->setText(QStringLiteral("6"));
    QTest::keyClick(batch, Qt::Key_Return);
    QCOMPARE(document->design().workload.batch, 6);
    QCOMPARE(qobject_cast<QLineEdit*>(window->focusWidget()), batch); // Enter stays
    action("choose.dgx-h200")->trigger();
    QCOMPARE(document->design().hardware, std::string("dgx-h200"));
    QVERIFY(action("choose.dgx-h200")->isChecked() && !action("choose.dgx-h100")->isChecked());
    QCOMPARE(document->undoStack()->index(), 5);
    window->actionRegistry()->get(QStringLiteral("edit.find"))->trigger();
    QCOMPARE(qobject_cast<QLineEdit*>(window->focusWidget()), window->findChild<QLineEdit*>(QStringLiteral("weightFilter")));
    while (document->undoStack()->canUndo())
        document->undoStack()->undo();
    QVERIFY(document->design() == before);
    QVERIFY(action("choose.shardboard")->isChecked());
}

void TestMainWindow::droppingAnAxisCutsADim()
{
    window->fileActions()->openSample();
    Document* document = window->document();
    const int weight = weightNamed(*document, "o_proj");
    document->selection()->setWeight(weight);
    TileCanvas* canvas = window->tileView()->canvas();
    QVERIFY(dropAxis(canvas, QStringLiteral("model"), canvas->zone(0).center()));
    QCOMPARE(document->evaluation()->weights[static_cast<std::size_t>(weight)].layout, Layout::cut(2, 0, { 1 }));
    QCOMPARE(document->undoStack()->count(), 1);
    // Another program's text is not an axis.
    QMimeData text;
    text.setText(QStringLiteral("model"));
    QVERIFY(!Drag({ canvas, &text }).dropAt(canvas->zone(1).center()));
    QCOMPARE(document->undoStack()->count(), 1);
}

void TestMainWindow::titleShowsUnsavedChanges()
{
    window->fileActions()->openSample();
    QVERIFY(!window->isWindowModified());
    QVERIFY(window->windowTitle().startsWith(QStringLiteral("llama3-8b (not saved)[*]")));
    Document* document = window->document();
    Design edited = document->design();
    edited.workload.batch = 4;
    QVERIFY(document->edit(edited, QStringLiteral("Batch 4")).ok());
    QVERIFY(window->isWindowModified());
    QVERIFY(window->fileActions()->saveTo(at("a.shardboard")));
    QVERIFY(!window->isWindowModified());
    QVERIFY(window->windowTitle().startsWith(QStringLiteral("a.shardboard[*]")));
    document->undoStack()->undo();
    QVERIFY(window->isWindowModified());
}

void TestMainWindow::closingAsksAboutUnsavedChanges()
{
    window->fileActions()->openSample();
    const QString path = at("a.shardboard");
    QVERIFY(window->fileActions()->saveTo(path));
    Document* document = window->document();
    Design edited = document->design();
    edited.workload.batch = 4;
    QVERIFY(document->edit(edited, QStringLiteral("Batch 4")).ok());
    answerBox(QMessageBox::Cancel);
    QVERIFY(!window->close());
    QVERIFY(window->isVisible());
    QVERIFY(document->isModified());
    answerBox(QMessageBox::Save);
    QVERIFY(window->close());
    Document saved;
    QVERIFY(saved.open(path).ok());
    QCOMPARE(saved.design().workload.batch, std::int64_t { 4 });
}

void TestMainWindow::saveAndOpenRoundTrip()
{
    window->fileActions()->openSample();
    const Design design = document()->design();
    const QString path = folder.filePath(QStringLiteral("Größe & co.shardboard"));
    QVERIFY(window->fileActions()->saveTo(path));
    openWindow();
    QVERIFY(window->fileActions()->openPath(path));
    QVERIFY(document()->design() == design);
    QCOMPARE(window->recentFiles()->files(), QStringList { path });
}

void TestMainWindow::unreadableFileShowsABannerAndKeepsTheDesign()
{
    window->fileActions()->openSample();
    const auto before = document()->evaluation();
    const QString path = at("wrong.shardboard");
    QVERIFY(writeFile(path, "{"));
    QVERIFY(!window->fileActions()->openPath(path));
    QVERIFY(window->banner()->isVisible());
    QVERIFY(window->banner()->isError());
    QVERIFY2(window->banner()->text().startsWith(path), qPrintable(window->banner()->text()));
    QVERIFY(document()->evaluation() == before);
    QVERIFY(window->recentFiles()->files().isEmpty());
}

void TestMainWindow::saveToAMissingFolderKeepsTheChanges()
{
    window->fileActions()->openSample();
    const QString path = at("missing/a.shardboard");
    QVERIFY(!window->fileActions()->saveTo(path));
    QVERIFY(window->banner()->text().contains(path));
    QVERIFY(document()->filePath().isEmpty());
}

void TestMainWindow::recentFilesAreNewestFirst()
{
    RecentFiles recent(*settings);
    for (int i = 0; i < 12; ++i)
        recent.add(folder.filePath(QStringLiteral("%1.shardboard").arg(i)));
    recent.add(at("5.shardboard"));
    QVERIFY(writeFile(at("11.shardboard"), "{}"));
    QCOMPARE(recent.files().size(), 10);
    QVERIFY(recent.files().at(0).endsWith(QStringLiteral("/5.shardboard")));
    QVERIFY(recent.files().at(1).endsWith(QStringLiteral("/11.shardboard")));
    QCOMPARE(recent.files().filter(QStringLiteral("/5.shardboard")).size(), 1);
    QCOMPARE(RecentFiles(*settings).files(), recent.files());
    QMenu menu;
    recent.attach(&menu);
    QVERIFY(!menu.actions().at(0)->isEnabled()); // 5 is missing
    QVERIFY(menu.actions().at(0)->toolTip().contains(QStringLiteral("no longer exists")));
    QVERIFY(menu.actions().at(1)->isEnabled());
}

void TestMainWindow::droppedFileOpens()
{
    window->fileActions()->openSample();
    const QString path = at("a.shardboard");
    QVERIFY(window->fileActions()->saveTo(path));
    openWindow();
    QVERIFY(dropFile(window.get(), path, { 600, 400 }));
    QTRY_COMPARE(document()->filePath(), path);
}

void TestMainWindow::droppedWrongFileChangesNothing()
{
    const QString path = at("notes.txt");
    QVERIFY(writeFile(path, "hello"));
    QVERIFY(dropFile(window.get(), path, { 600, 400 }));
    QTRY_VERIFY(window->banner()->isVisible());
    QVERIFY(window->banner()->text().startsWith(path));
    QVERIFY(!document()->hasDesign());
}

void TestMainWindow::newDialogRefusesAWrongMesh()
{
    NewDialog dialog;
    dialog.show();
    dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("data=0"));
    dialog.accept();
    QVERIFY(dialog.isVisible());
    QVERIFY(dialog.findChild<QLabel*>(QStringLiteral("new.error"))->text().startsWith(QStringLiteral("mesh")));
    dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("model=4"));
    dialog.setModel(at("nothing"));
    dialog.accept();
    QVERIFY(dialog.isVisible());
    QVERIFY(dialog.findChild<QLabel*>(QStringLiteral("new.error"))->text().contains(QStringLiteral("nothing")));
}

void TestMainWindow::newDialogMakesADesign()
{
    NewDialog dialog;
    dialog.show();
    dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("model=2"));
    dialog.findChild<QComboBox*>(QStringLiteral("new.preset"))->setCurrentText(QStringLiteral("replicate"));
    dialog.findChild<QSpinBox*>(QStringLiteral("new.batch"))->setValue(3);
    dialog.accept();
    QCOMPARE(dialog.result(), int(QDialog::Accepted));
    QCOMPARE(dialog.design().mesh.text(), std::string("model=2"));
    QCOMPARE(dialog.design().workload.batch, std::int64_t { 3 });
    QVERIFY(document()->setDesign(dialog.design()).ok());
}

/// Before anything is made: parameters, devices, memory against what a device has, the step.
void TestMainWindow::newDialogTellsSizeFitAndStep()
{
    NewDialog dialog;
    dialog.show();
    auto* preview = dialog.findChild<QLabel*>(QStringLiteral("new.preview"));
    auto* mesh = dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"));
    dialog.setModel(QStringLiteral("llama3-8b"));
    mesh->setText(QStringLiteral("data=2,model=4"));
    QTRY_VERIFY2(preview->isEnabled() && preview->text().contains(QStringLiteral("8 devices")), qPrintable(preview->text()));
    QVERIFY2(preview->text().contains(QStringLiteral("8.03 billion")), qPrintable(preview->text()));
    dialog.accept();
    QVERIFY(document()->setDesign(dialog.design()).ok());
    const Plan& plan = document()->evaluation()->plan;
    QVERIFY2(preview->text().contains(bytesText(plan.memory.peak)) && preview->text().contains(secondsText(plan.seconds())),
             qPrintable(preview->text()));
    NewDialog large; // 405B on one device
    large.show();
    large.setModel(QStringLiteral("llama3.1-405b"));
    large.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("model=1"));
    auto* told = large.findChild<QLabel*>(QStringLiteral("new.preview"));
    QTRY_VERIFY2(told->isEnabled() && told->text().contains(QStringLiteral("1 device"))
                     && told->text().contains(QStringLiteral("406 billion")),
                 qPrintable(told->text()));
    QCOMPARE(told->palette().color(QPalette::WindowText), Theme::of(&large).error);
    large.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("data=0"));
    QTRY_VERIFY2(told->isEnabled() && told->text().contains(QStringLiteral("data")), qPrintable(told->text()));
}

void TestMainWindow::tabsKeepTheirNamesInASmallWindow()
{
    window->fileActions()->openSample();
    window->resize(1280, 800);
    QTest::qWait(50);
    int seen = 0;
    for (const QTabBar* bar : window->findChildren<QTabBar*>()) {
        if (!bar->isVisible())
            continue;
        for (int tab = 0; tab < bar->count(); ++tab) {
            QVERIFY2(bar->rect().contains(bar->tabRect(tab).center()), qPrintable(bar->tabText(tab)));
            QVERIFY2(bar->tabRect(tab).width() > bar->fontMetrics().horizontalAdvance(bar->tabText(tab)),
                     qPrintable(bar->tabText(tab)));
        }
        seen += bar->count();
    }
    QVERIFY(seen >= 6); // those below and those at the right
}

/// Which logits a prefill computes is asked where there is a choice, and the preview follows it.
void TestMainWindow::newDialogAsksForLogits()
{
    NewDialog dialog;
    dialog.show();
    auto* workload = dialog.findChild<QComboBox*>(QStringLiteral("new.workload"));
    auto* logits = dialog.findChild<QComboBox*>(QStringLiteral("new.logits"));
    auto* model = dialog.findChild<QComboBox*>(QStringLiteral("new.model"));
    auto* preview = dialog.findChild<QLabel*>(QStringLiteral("new.preview"));
    QCOMPARE(workload->currentText(), QStringLiteral("prefill"));
    QVERIFY(logits->isVisible());
    QTRY_VERIFY(preview->isEnabled() && preview->text().contains(QStringLiteral("step about")));
    const QString last = preview->text();
    logits->setFocus();
    QTest::keyClick(logits, Qt::Key_Down);
    QVERIFY(logits->currentText().contains(QStringLiteral("all tokens")));
    QTRY_VERIFY(preview->isEnabled() && preview->text() != last); // more memory and time
    for (const char* other : { "decode", "train" }) {
        workload->setCurrentText(QLatin1String(other));
        QVERIFY(!logits->isVisible());
    }
    workload->setCurrentText(QStringLiteral("prefill"));
    const QString usual = model->currentText();
    model->setCurrentText(QStringLiteral("ColumnParallelLinear"));
    QVERIFY(!logits->isVisible()); // a module has none
    model->setCurrentText(usual);
    QVERIFY(logits->isVisible());
    dialog.accept();
    QCOMPARE(dialog.result(), int(QDialog::Accepted));
    QVERIFY(dialog.design().workload.logits == Logits::All);
}

/// The window is put together without a style sheet, which costs half of the time, and has it in the end.
void TestMainWindow::styleSheetIsThereInTheEnd()
{
    makeNew({ 1280, 800 });
    const QString sheet = qApp->styleSheet();
    QVERIFY(!sheet.isEmpty());
    const QLabel* field = window->findChild<QLabel*>();
    QVERIFY(field != nullptr && QLatin1String(field->style()->metaObject()->className()) == QLatin1String("QStyleSheetStyle"));
}

void TestMainWindow::newDialogOffersWhatShardctlNewDoes()
{
    NewDialog dialog;
    dialog.show();
    auto* workload = dialog.findChild<QComboBox*>(QStringLiteral("new.workload"));
    auto* micro = dialog.findChild<QSpinBox*>(QStringLiteral("new.microBatches"));
    auto* recompute = dialog.findChild<QComboBox*>(QStringLiteral("new.recompute"));
    auto* preset = dialog.findChild<QComboBox*>(QStringLiteral("new.preset"));
    for (const std::string& name : presetNames())
        QVERIFY2(preset->findText(QString::fromStdString(name)) >= 0, name.c_str());
    QVERIFY(!micro->isVisible() && !recompute->isVisible()); // both are of training
    workload->setCurrentText(QStringLiteral("train"));
    QVERIFY(micro->isVisible() && recompute->isVisible());
    dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("pipe=4,model=2"));
    dialog.findChild<QSpinBox*>(QStringLiteral("new.batch"))->setValue(16);
    micro->setValue(8);
    recompute->setCurrentText(QStringLiteral("selective"));
    dialog.findChild<QComboBox*>(QStringLiteral("new.attention"))->setCurrentText(QStringLiteral("unfused"));
    dialog.findChild<QComboBox*>(QStringLiteral("new.overlap"))->setCurrentText(QStringLiteral("weights"));
    dialog.findChild<QComboBox*>(QStringLiteral("new.software"))->setCurrentText(QStringLiteral("eager"));
    auto* dtype = dialog.findChild<QComboBox*>(QStringLiteral("new.dtype"));
    dtype->setCurrentText(QStringLiteral("f8e4m3"));
    QCOMPARE(dtype->count(), static_cast<int>(computeTypes().size()));
    preset->setCurrentText(QStringLiteral("pp-interleaved"));
    dialog.accept();
    QCOMPARE(dialog.result(), int(QDialog::Accepted));
    const Design& made = dialog.design();
    QVERIFY(made.workload.kind == WorkloadKind::Train && made.workload.recompute == Recompute::Selective);
    QVERIFY(made.workload.attention == AttentionKernel::Unfused && made.workload.overlap == Overlap::Weights);
    QVERIFY(made.workload.software == Software::Eager && made.workload.dtype == DType::F8E4M3);
    QCOMPARE(made.workload.microBatches, std::int64_t { 8 });
    QCOMPARE(made.pipeline.axis, std::string("pipe"));
    QVERIFY(document()->setDesign(made).ok());
    QVERIFY(document()->evaluation()->plan.pipeline.has_value());
    QCOMPARE(document()->evaluation()->plan.pipeline->stages, std::int64_t { 4 });
}

void TestMainWindow::layoutIsRestoredAndReset()
{
    window->fileActions()->openSample();
    Workbench* bench = window->workbench();
    bench->raise(QStringLiteral("memory"));
    QCOMPARE(bench->mode(), WorkMode::Profile);
    const QByteArray state = bench->save();
    bench->reset();
    QCOMPARE(bench->mode(), WorkMode::Design);
    QVERIFY(bench->restore(state));
    QCOMPARE(bench->mode(), WorkMode::Profile);
    QVERIFY(!bench->restore(QByteArray("garbage")));
    QCOMPARE(bench->mode(), WorkMode::Design);
    QVERIFY(window->close()); // remembers
    openWindow();
    window->fileActions()->openSample();
    QCOMPARE(window->workbench()->mode(), WorkMode::Design);
    window->actionRegistry()->get(QStringLiteral("view.reset"))->trigger();
}

// The keyboard's focus stays in a panel when another tab comes before it; what it shows is then of an earlier design.
void TestMainWindow::inputWakesAPanelThatSleeps()
{
    openSmallSample();
    Design design = document()->design();
    design.pins.push_back(parsePin("self_attn.q_proj@model=P R -> P").value());
    QVERIFY(document()->setDesign(design).ok());
    window->workbench()->raise(QStringLiteral("decisions"));
    QCoreApplication::processEvents();
    auto* list = window->findChild<QTreeWidget*>(QStringLiteral("pinsList"));
    QCOMPARE(list->topLevelItemCount(), 1);
    list->topLevelItem(0)->setSelected(true);
    list->setFocus();
    window->workbench()->raise(QStringLiteral("history"));
    QCoreApplication::processEvents();
    design.pins.clear();
    QVERIFY(document()->setDesign(design).ok());
    QCOMPARE(list->topLevelItemCount(), 1); // asleep
    const int steps = document()->undoStack()->count();
    QTest::keyClick(list, Qt::Key_Delete);
    QCOMPARE(list->topLevelItemCount(), 0);
    QCOMPARE(document()->undoStack()->count(), steps);
}

void TestMainWindow::themeSwitchesLive()
{
    window->fileActions()->openSample();
    theme->setChoice(ThemeChoice::Dark);
    QCOMPARE(window->palette().color(QPalette::Window), Theme::dark().window);
    QCOMPARE(settings->theme(), ThemeChoice::Dark);
    QCoreApplication::processEvents(); // views follow when the style has settled
    theme->setChoice(ThemeChoice::Light);
    QCOMPARE(window->palette().color(QPalette::Window), Theme::light().window);
}

void TestMainWindow::everyActionHasAName()
{
    for (const QAction* action : window->actionRegistry()->all()) {
        QVERIFY2(!action->text().isEmpty(), qPrintable(action->objectName()));
        QCOMPARE(window->actionRegistry()->get(action->objectName()), action);
    }
}

void TestMainWindow::runShowsTimesAndVerdict()
{
    openWindow(fakeEngine("ok"));
    openSmallSample();
    window->actionRegistry()->get(QStringLiteral("run.start"))->trigger();
    auto* table = window->findChild<QTableView*>(QStringLiteral("run.table"));
    QTRY_COMPARE(table->model()->rowCount(), 1);
    const QStringList row = texts(table);
    QVERIFY2(row.contains(QStringLiteral("block/self_attn.o_proj")), qPrintable(row.join(QLatin1Char('|'))));
    QVERIFY(row.contains(QStringLiteral("2 ms")));
    QVERIFY(row.contains(QStringLiteral("1 ms")));
    QVERIFY(row.contains(QStringLiteral("2.5e-07")));
    QVERIFY(childText("run.verdict").startsWith(QStringLiteral("Equal to the unsharded computation")));
    QVERIFY(!isShown("run.restart"));
}

void TestMainWindow::editMakesResultsStale()
{
    runShowsTimesAndVerdict();
    QVERIFY(!window->runPanel()->isStale());
    Document* document = window->document();
    Design edited = document->design();
    edited.workload.batch = 4;
    QVERIFY(document->edit(edited, QStringLiteral("Batch 4")).ok());
    QVERIFY(window->runPanel()->isStale());
    QVERIFY(childText("run.verdict").startsWith(QStringLiteral("Stale")));
    const QAbstractItemModel* rows = window->findChild<QTableView*>(QStringLiteral("run.table"))->model();
    QVERIFY(rows->index(0, 0).data(Qt::ForegroundRole).isValid()); // and every number
    QVERIFY(rows->index(0, 1).data(Qt::ToolTipRole).toString().startsWith(QStringLiteral("Stale")));
    document->undoStack()->undo();
    QVERIFY(!window->runPanel()->isStale());
    QVERIFY(!rows->index(0, 0).data(Qt::ForegroundRole).isValid());
}

void TestMainWindow::killedEngineLeavesTheWindowAlive()
{
    openWindow(fakeEngine("slow"));
    openSmallSample();
    const auto evaluation = document()->evaluation();
    window->runPanel()->run();
    waitForState(EngineSession::State::Running);
    QCOMPARE(::kill(static_cast<pid_t>(window->engine()->workerId()), SIGKILL), 0);
    waitForState(EngineSession::State::Failed);
    QVERIFY(childText("run.problem").contains(QStringLiteral("killed by signal 9")));
    QVERIFY(isShown("run.problem"));
    QVERIFY(isShown("run.restart"));
    QVERIFY(window->isVisible());
    QVERIFY(document()->evaluation() == evaluation);
    window->findChild<QPushButton*>(QStringLiteral("run.restart"))->click();
    waitForState(EngineSession::State::Ready);
    QVERIFY(!isShown("run.problem"));
    QVERIFY(!isShown("run.restart"));
}

void TestMainWindow::restartAfterACrash()
{
    openWindow(fakeEngine("crash"));
    openSmallSample();
    window->runPanel()->run();
    waitForState(EngineSession::State::Failed);
    QVERIFY(childText("run.problem").contains(QStringLiteral("out of luck in layer 0")));
    QVERIFY(window->runPanel()->canRun());
}

/// Not by a design that is opened, where the panel stands behind another tab.
void TestMainWindow::engineIsAskedWhenItsPanelIsSeen()
{
    openWindow(fakeEngine("ok"));
    openSmallSample();
    QTest::qWait(100);
    QCOMPARE(window->engine()->state(), EngineSession::State::Off);
    window->workbench()->raise(QStringLiteral("run"));
    waitForState(EngineSession::State::Ready);
}

void TestMainWindow::missingGpuIsExplainedAndTheCpuOffered()
{
    openWindow(fakeEngine("gpuless"));
    openSmallSample();
    window->workbench()->raise(QStringLiteral("run")); // looking is enough to ask what there is
    waitForState(EngineSession::State::Ready);
    auto* backends = window->findChild<QComboBox*>(QStringLiteral("run.backend"));
    QCOMPARE(backends->count(), 4);
    QCOMPARE(backends->currentText(), QStringLiteral("cpu"));
    const int cuda = backends->findData(QStringLiteral("cuda"));
    QVERIFY(backends->itemText(cuda).contains(QStringLiteral("not here")));
    backends->setCurrentIndex(cuda);
    Q_EMIT backends->activated(cuda);
    QVERIFY(isShown("run.problem"));
    QVERIFY(childText("run.problem").contains(QStringLiteral("no NVIDIA driver")));
    const auto before = document()->evaluation();
    window->actionRegistry()->get(QStringLiteral("run.start"))->trigger(); // says the same and runs nothing
    QVERIFY(isShown("run.problem"));
    QCOMPARE(window->engine()->state(), EngineSession::State::Ready);
    QVERIFY(document()->evaluation() == before);
    auto* cpu = window->findChild<QPushButton*>(QStringLiteral("run.useCpu"));
    QVERIFY(cpu->isVisible());
    cpu->click();
    auto* table = window->findChild<QTableView*>(QStringLiteral("run.table"));
    QTRY_COMPARE(table->model()->rowCount(), 1);
    QCOMPARE(window->runPanel()->backend(), QStringLiteral("cpu"));
    QVERIFY(!isShown("run.problem"));
}

void TestMainWindow::hangingEngineIsToldWithRestart()
{
    openWindow(fakeEngine("hang"));
    openSmallSample();
    window->engine()->setSilenceLimit(200);
    const auto evaluation = document()->evaluation();
    window->actionRegistry()->get(QStringLiteral("run.start"))->trigger();
    waitForState(EngineSession::State::Running);
    QTRY_VERIFY(isShown("run.problem"));
    QVERIFY(childText("run.problem").contains(QStringLiteral("has not answered")));
    QVERIFY(isShown("run.restart"));
    window->findChild<QPushButton*>(QStringLiteral("run.restart"))->click();
    waitForState(EngineSession::State::Ready);
    QVERIFY(!isShown("run.problem"));
    QVERIFY(document()->evaluation() == evaluation && !document()->isModified());
}

void TestMainWindow::absentEngineIsOneMessage()
{
    openWindow(QStringLiteral("/no/such/engine"));
    openSmallSample();
    window->actionRegistry()->get(QStringLiteral("run.start"))->trigger();
    waitForState(EngineSession::State::Failed);
    QVERIFY(childText("run.problem").contains(QStringLiteral("/no/such/engine")));
    QVERIFY(isShown("run.restart"));
    QVERIFY(!window->banner()->isVisible()); // said once, where the run is
    QVERIFY(!document()->isModified());
}

void TestMainWindow::cancelStopsTheRun()
{
    openWindow(fakeEngine("slow"));
    openSmallSample();
    window->runPanel()->run();
    waitForState(EngineSession::State::Running);
    auto* button = window->findChild<QPushButton*>(QStringLiteral("summaryAct")); // the act of the mode stops what it started
    QVERIFY(button->text().contains(QStringLiteral("Stop")));
    QTRY_VERIFY(childText("run.needs").contains(QStringLiteral("1 MiB")));
    button->click();
    waitForState(EngineSession::State::Ready);
    QCOMPARE(childText("run.needs"), QStringLiteral("cancelled"));
    QVERIFY(!isShown("run.problem"));
}

void TestMainWindow::realEngineKilledDuringARun()
{
    const QString engine = QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardboard-engine");
    if (!QFile::exists(engine))
        QSKIP("the engine is not built");
    openWindow(QLatin1Char('"') + engine + QLatin1Char('"'));
    window->fileActions()->openSample(); // 8 x 4096 tokens: long enough to be caught
    window->runPanel()->run();
    waitForState(EngineSession::State::Running, 20000);
    QTRY_VERIFY_WITH_TIMEOUT(childText("run.needs").startsWith(QStringLiteral("needs"))
                                 || window->engine()->state() != EngineSession::State::Running,
                             20000);
    if (window->engine()->state() != EngineSession::State::Running)
        QSKIP("this machine has not enough memory for the run");
    QCOMPARE(::kill(static_cast<pid_t>(window->engine()->workerId()), SIGKILL), 0);
    waitForState(EngineSession::State::Failed);
    QVERIFY(childText("run.problem").contains(QStringLiteral("killed by signal 9")));
    QVERIFY(isShown("run.restart"));
    window->findChild<QPushButton*>(QStringLiteral("run.restart"))->click();
    waitForState(EngineSession::State::Ready);
    QVERIFY(window->isVisible());
}

void TestMainWindow::realEngineRuns()
{
    const QString engine = QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardboard-engine");
    if (!QFile::exists(engine))
        QSKIP("the engine is not built");
    openWindow(QLatin1Char('"') + engine + QLatin1Char('"'));
    openSmallSample();
    Design design = document()->design(); // a block of reduced dimensions
    design.model.hiddenSize = 256;
    design.model.intermediateSize = 512;
    design.model.heads = 8;
    design.model.kvHeads = 4;
    design.model.headDim = 32;
    design.model.vocabSize = 512;
    design.model.layers = 2;
    QVERIFY(document()->setDesign(design).ok());
    RunOptions options;
    options.layers = 2;
    options.verify = true;
    window->runPanel()->setOptions(options);
    window->runPanel()->run();
    auto* table = window->findChild<QTableView*>(QStringLiteral("run.table"));
    QTRY_VERIFY_WITH_TIMEOUT(table->model()->rowCount() > 5 || isShown("run.problem"), 30000);
    QVERIFY2(!isShown("run.problem"), qPrintable(childText("run.problem")));
    QVERIFY2(childText("run.verdict").startsWith(QStringLiteral("Equal to the unsharded")), qPrintable(childText("run.verdict")));
    // The same by several processes, where the engine has MPI; the choice is all that it takes.
    window->workbench()->raise(QStringLiteral("run"));
    if (!window->engine()->whyNot(QStringLiteral("mpi")).isEmpty())
        QSKIP("the engine has no MPI, or there is no mpirun");
    window->runPanel()->chooseBackend(QStringLiteral("mpi"));
    window->runPanel()->run();
    QTRY_VERIFY_WITH_TIMEOUT(childText("run.needs").contains(QStringLiteral(" on mpi")) || isShown("run.problem"), 60000);
    QVERIFY2(!isShown("run.problem"), qPrintable(childText("run.problem")));
    QVERIFY2(childText("run.verdict").startsWith(QStringLiteral("Equal to the unsharded")), qPrintable(childText("run.verdict")));
}

SHARDBOARD_TEST(TestMainWindow)
#include "tst_mainwindow.moc"
