// SPDX-License-Identifier: Apache-2.0
// The commands of the window, the menus they stand in, and when they can be used.
#include "app/desktop/window/mainwindow.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/export/proofpanel.h"
#include "app/desktop/export/prover.h"
#include "app/desktop/export/targetstates.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/hardwarefiles.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/designmenu.h"
#include "app/desktop/menus/navigationmenu.h"
#include "app/desktop/menus/notationmenu.h"
#include "app/desktop/menus/viewoptions.h"
#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/pictures/pictureactions.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "model/session/document.h"
#include "widgets/compare/compareview.h"
#include "widgets/findings/findingsview.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/rules/rulesview.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weighttable.h"

#include <QAction>
#include <QActionGroup>
#include <QMenuBar>
#include <QUndoStack>

namespace shardboard {

void MainWindow::createActions()
{
    const auto id = [](const char* name) { return QString::fromLatin1(name); };
    m_actions->add(id("file.new"), tr("&New …"), QKeySequence::New, [this] { m_fileActions->newDesign(); });
    m_actions->add(id("file.newModule"), tr("New &Module …"), {}, [this] { m_fileActions->newModule(); });
    m_actions->add(id("file.open"), tr("&Open …"), QKeySequence::Open, [this] { m_fileActions->open(); });
    m_actions->add(id("file.sample"), tr("Open S&ample"), {}, [this] { m_fileActions->openSample(); });
    for (const Sample& sample : samples()) {
        m_actions->add(QStringLiteral("file.sample.") + sample.id, sample.title, {},
                       [this, sample] { m_fileActions->openSample(sample.id); });
        m_actions->setTip(QStringLiteral("file.sample.") + sample.id, sample.text);
    }
    m_actions->add(id("file.save"), tr("&Save"), QKeySequence::Save, [this] { m_fileActions->save(); });
    m_actions->add(id("file.saveAs"), tr("Save &As …"), QKeySequence::SaveAs, [this] { m_fileActions->saveAs(); });
    m_actions->add(id("file.export"), tr("&Export …"), tr("Ctrl+E"), [this] { m_workbench->raise(QStringLiteral("export")); });
    m_actions->setTip(id("file.export"), tr("Deliver: what each framework can say of the design, and the files for one"));
    m_actions->add(id("file.report"), tr("&Report …"), {}, [this] { saveReport(); });
    m_actions->setTip(id("file.report"), tr("The design with its variants and its run as one page: HTML, or PDF to print"));
    for (const ExportTarget& target : m_targets->targets()) {
        const QString name = QStringLiteral("file.export.") + qstr(target.id);
        m_actions->add(name, tr("Export to %1 …").arg(menuText(qstr(target.title))), {}, [this, target] {
            m_targets->choose(qstr(target.id));
            m_workbench->raise(QStringLiteral("export"));
        });
        m_actions->setTip(name, qstr(target.summary));
    }
    m_actions->add(id("proof.start"), tr("&Prove the Export"), {}, [this] {
        m_workbench->raise(QStringLiteral("proof"));
        m_proof->prove();
    });
    m_actions->setTip(id("proof.start"), tr("Have the framework itself make the shards of this design, and compare them"));
    m_actions->add(id("proof.cancel"), tr("Cancel the Pr&oof"), {}, [this] { m_prover->cancel(); });
    m_actions->add(id("file.quit"), tr("&Quit"), QKeySequence::Quit, [this] { close(); });
    m_actions->adopt(id("edit.undo"), m_document->undoStack()->createUndoAction(m_actions, tr("&Undo")), QKeySequence::Undo);
    m_actions->adopt(id("edit.redo"), m_document->undoStack()->createRedoAction(m_actions, tr("&Redo")), QKeySequence::Redo);
    m_actions->get(id("edit.undo"))->setProperty("whyNot", tr("nothing has been done yet"));
    m_actions->get(id("edit.redo"))->setProperty("whyNot", tr("nothing has been undone"));
    m_actions->add(id("edit.find"), tr("&Find Weight"), tr("Ctrl+Shift+F"), [this] { findChild<WeightPanel*>()->focusFilter(); });
    m_actions->add(id("edit.palette"), tr("Command &Palette …"), {}, [this] { openPalette(); })->setIconText(tr("Command palette"));
    m_actions->setDefaultShortcuts(id("edit.palette"), { QKeySequence(tr("Ctrl+K")), QKeySequence(tr("Ctrl+Shift+P")) });
    m_actions->setTip(id("edit.palette"), tr("Find anything by its name"));
    m_actions->add(id("edit.strategy"), tr("Edit &Strategy"), tr("Ctrl+L"), [this] { editStrategy(false); });
    m_actions->add(id("design.settings"), tr("Workload and &Settings …"), tr("Ctrl+,"), [this] { showSetting({}); });
    m_actions->setTip(id("design.settings"), tr("Batch, sequence, precision, schedule, memory and hardware, each with its effect"));
    m_actions->add(id("hardware.edit"), tr("&Edit Hardware …"), tr("Ctrl+H"),
                   [this] { m_workbench->raise(QStringLiteral("hardware")); });
    m_actions->add(id("hardware.open"), tr("Hardware from &File …"), {}, [this] { m_hardwareFiles->open(); });
    m_actions->add(id("compare.keep"), tr("&Keep for Comparison"), tr("Ctrl+Shift+K"), [this] {
        m_workbench->raise(QStringLiteral("compare"));
        m_compare->keep();
    });
    m_actions->add(id("compare.open"), tr("&Compare with File …"), {}, [this] { compareWithFile(); });
    auto* modes = new QActionGroup(this); // the tick stays where the mode is
    for (const WorkMode mode : kWorkModes) {
        const QString name = QStringLiteral("mode.") + modeId(mode);
        m_actions->add(name, modeTitle(mode), QStringLiteral("Ctrl+%1").arg(static_cast<int>(mode) + 1),
                       [this, mode] { m_workbench->setMode(mode); });
        m_actions->setTip(name, modeWhat(mode));
        m_actions->get(name)->setCheckable(true);
        m_actions->get(name)->setChecked(mode == WorkMode::Design);
        modes->addAction(m_actions->get(name));
    }
    m_actions->add(id("mode.act"), tr("&Run"), tr("F5"), [this] { m_workbench->page()->perform(); });
    m_actions->add(id("mode.stop"), tr("&Stop"), tr("Shift+F5"), [this] { m_workbench->page()->stop(); });
    m_actions->get(id("mode.stop"))->setIconText(tr("■ Stop"));
    m_actions->setTip(id("mode.stop"), tr("Stop what the mode's button started"));
    m_actions->add(id("panel.maximize"), tr("Ma&ximize Panel"), tr("Ctrl+Shift+M"), [this] { m_workbench->maximizeFocused(); });
    m_actions->setTip(id("panel.maximize"), tr("The panel with the focus alone; the same or Esc brings the others back"));
    m_actions->add(id("panel.next"), tr("Ne&xt Panel"), tr("F6"), [this] { m_workbench->focusNext(false); });
    m_actions->add(id("panel.previous"), tr("Pre&vious Panel"), tr("Shift+F6"), [this] { m_workbench->focusNext(true); });
    m_actions->add(id("panel.inspector"), tr("Go to &Inspector"), tr("F4"), [this] { m_workbench->toggleInspector(); });
    m_actions->setTip(id("panel.inspector"), tr("The inspector; in a narrow window it is a drawer that comes and goes"));
    m_actions->add(id("findings.next"), tr("Next Fi&nding"), tr("F8"), [this] { findChild<FindingsView*>()->showNext(1); });
    m_actions->add(id("findings.previous"), tr("Previous Fin&ding"), tr("Shift+F8"),
                   [this] { findChild<FindingsView*>()->showNext(-1); });
    m_actions->add(id("run.start"), tr("&Run in Profile"), {}, [this] {
        showRun();
        m_runPanel->run();
    });
    m_actions->setTip(id("run.start"), tr("Run the plan on this machine and check its numbers"));
    m_actions->add(id("run.cancel"), tr("&Cancel the Run"), {}, [this] { m_runPanel->cancel(); });
    m_actions->add(id("run.restart"), tr("Restart &Engine"), {}, [this] { m_engine->restart(); });
    m_actions->add(id("view.allWeights"), tr("&All Weights"), tr("Ctrl+Shift+A"), [this] { m_tileView->showAll(true); });
    m_actions->add(id("view.oneDevice"), tr("All &on One Device"), tr("Ctrl+Shift+D"), [this] { m_tileView->showHeld(); });
    m_actions->add(id("view.reset"), tr("&Reset Layout"), {}, [this] { resetLayout(); });
    m_actions->add(id("help.show"), tr("&Help"), QKeySequence::HelpContents, [this] { showHelp(); });
    m_actions->add(id("help.shortcuts"), tr("&Keyboard Shortcuts …"), tr("?"), [this] { showShortcuts(); });
    m_actions->setTip(id("help.shortcuts"), tr("All commands with their keys, which can be changed there"));
    m_actions->add(id("help.about"), tr("&About Shardboard"), {}, [this] { showAbout(); });
}

void MainWindow::createMenus()
{
    const auto add = [this](QMenu* menu, const char* id) { menu->addAction(m_actions->get(QString::fromLatin1(id))); };
    QMenu* file = menuBar()->addMenu(tr("&File"));
    add(file, "file.new");
    add(file, "file.newModule");
    add(file, "file.open");
    m_recent->attach(file->addMenu(tr("Open &Recent")));
    QMenu* sampleMenu = file->addMenu(tr("S&amples"));
    sampleMenu->setToolTipsVisible(true);
    for (const Sample& sample : samples())
        sampleMenu->addAction(m_actions->get(QStringLiteral("file.sample.") + sample.id));
    file->addSeparator();
    add(file, "file.save");
    add(file, "file.saveAs");
    add(file, "file.export");
    QMenu* targets = file->addMenu(tr("Export &To"));
    targets->setToolTipsVisible(true);
    for (const ExportTarget& target : m_targets->targets())
        targets->addAction(m_actions->get(QStringLiteral("file.export.") + qstr(target.id)));
    add(file, "file.report");
    m_pictures->attach(file->addMenu(tr("Save &Picture of")));
    file->addSeparator();
    add(file, "file.quit");
    QMenu* edit = menuBar()->addMenu(tr("&Edit"));
    add(edit, "edit.undo");
    add(edit, "edit.redo");
    edit->addSeparator();
    add(edit, "edit.palette");
    add(edit, "edit.find");
    add(edit, "edit.strategy");
    add(edit, "edit.repair");
    add(edit, "findings.next");
    add(edit, "findings.previous");
    QMenu* design = menuBar()->addMenu(tr("&Design"));
    add(design, "design.settings");
    design->addSeparator();
    const auto* choices = new DesignMenu(m_document, m_banner, design);
    connect(choices, &DesignMenu::settingRequested, this, &MainWindow::showSetting);
    if (auto* hardware = design->findChild<QMenu*>(QStringLiteral("hardwareMenu"))) {
        hardware->addSeparator();
        add(hardware, "hardware.edit");
        add(hardware, "hardware.open");
    }
    design->addSeparator();
    add(design, "compare.keep");
    add(design, "compare.open");
    design->addSeparator();
    design->addMenu(m_rules->menu());
    QMenu* view = menuBar()->addMenu(tr("&View"));
    for (const WorkMode mode : kWorkModes)
        view->addAction(m_actions->get(QStringLiteral("mode.") + modeId(mode)));
    view->addSeparator();
    QMenu* panels = view->addMenu(tr("&Panels"));
    for (const Panel* panel : m_workbench->all()) {
        const QString name = panel->objectName();
        panels->addAction(m_actions->add(QStringLiteral("view.panel.") + name, panel->windowTitle(), {},
                                         [this, name] { m_workbench->raise(name); }));
    }
    add(view, "panel.maximize");
    add(view, "panel.next");
    add(view, "panel.previous");
    add(view, "panel.inspector");
    add(view, "view.reset");
    view->addSeparator();
    add(view, "view.allWeights");
    add(view, "view.oneDevice");
    view->addSeparator();
    new NotationMenu(m_document, m_settings, view->addMenu(tr("&Notation")));
    addViewOptions(*m_actions, m_theme, view);
    new NavigationMenu(this, m_settings, view);
    for (const char* id : { "view.wheelScrolls", "view.reducedMotion" })
        m_actions->adopt(QLatin1String(id), view->findChild<QAction*>(QLatin1String(id)));
    QMenu* run = menuBar()->addMenu(tr("&Run"));
    add(run, "mode.act");
    add(run, "mode.stop");
    run->addSeparator();
    add(run, "run.start");
    add(run, "run.cancel");
    add(run, "run.restart");
    run->addSeparator();
    add(run, "proof.start");
    add(run, "proof.cancel");
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    add(help, "help.show");
    add(help, "help.shortcuts");
    add(help, "help.about");
    m_actions->keepIn(m_settings); // all are there now
}

void MainWindow::updateActions()
{
    using State = EngineSession::State;
    const bool design = m_document->hasDesign();
    const State state = m_engine->state();
    const auto enable = [this, why = tr("no design is open")](const char* id, bool on) {
        m_actions->setEnabled(QString::fromLatin1(id), on, why);
    };
    enable("file.save", design);
    enable("file.saveAs", design);
    enable("file.export", design);
    m_actions->setEnabled(QStringLiteral("file.report"), design && !m_document->evaluation()->plan.segments.empty(),
                          design ? tr("this model is open as weights only") : tr("no design is open"));
    for (const ExportTarget& target : m_targets->targets())
        m_actions->setEnabled(QStringLiteral("file.export.") + qstr(target.id), design, tr("no design is open"));
    m_actions->setEnabled(QStringLiteral("proof.start"), m_proof->canProve(), m_proof->whyNot());
    m_actions->setEnabled(QStringLiteral("proof.cancel"), m_prover->isBusy(), tr("nothing is being proven"));
    m_pictures->setEnabled(design);
    enable("view.reset", design);
    enable("view.allWeights", design);
    enable("view.oneDevice", design);
    enable("edit.find", design);
    enable("edit.strategy", design);
    for (const WorkMode mode : kWorkModes)
        m_actions->setEnabled(QStringLiteral("mode.") + modeId(mode), design, tr("no design is open"));
    for (const char* id : { "panel.maximize", "panel.next", "panel.previous", "panel.inspector" })
        enable(id, design);
    const bool findings = design && !m_document->evaluation()->findings.empty();
    for (const char* id : { "findings.next", "findings.previous" })
        m_actions->setEnabled(QString::fromLatin1(id), findings, design ? tr("there is no finding") : tr("no design is open"));
    for (const Panel* panel : m_workbench->all())
        m_actions->setEnabled(QStringLiteral("view.panel.") + panel->objectName(), design, tr("no design is open"));
    showAct();
    enable("design.settings", design);
    enable("hardware.edit", design);
    enable("hardware.open", design);
    enable("compare.keep", design);
    enable("compare.open", design);
    m_actions->setEnabled(QStringLiteral("run.start"), m_runPanel->canRun(),
                          !design                       ? tr("no design is open")
                              : state == State::Running ? tr("a run is in progress")
                                                        : tr("this design has nothing to run"));
    m_actions->setEnabled(QStringLiteral("run.cancel"), state == State::Running || state == State::Starting,
                          tr("nothing is running"));
    m_actions->setEnabled(QStringLiteral("run.restart"), state == State::Ready || state == State::Failed,
                          tr("the engine has not been started"));
}

} // namespace shardboard
