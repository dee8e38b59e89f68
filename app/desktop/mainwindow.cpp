// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/mainwindow.h"

#include "app/desktop/actions.h"
#include "app/desktop/banner.h"
#include "app/desktop/designmenu.h"
#include "app/desktop/docks.h"
#include "app/desktop/enginesession.h"
#include "app/desktop/fileactions.h"
#include "app/desktop/filewatch.h"
#include "app/desktop/helpwindow.h"
#include "app/desktop/notationmenu.h"
#include "app/desktop/palettesources.h"
#include "app/desktop/pictures.h"
#include "app/desktop/recentfiles.h"
#include "app/desktop/recovery.h"
#include "app/desktop/rulefiles.h"
#include "app/desktop/runpanel.h"
#include "app/desktop/sample.h"
#include "app/desktop/settings.h"
#include "app/desktop/themecontrol.h"
#include "app/desktop/welcome.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/collectivesview.h"
#include "widgets/compareview.h"
#include "widgets/costview.h"
#include "widgets/cutsview.h"
#include "widgets/documentview.h"
#include "widgets/explainview.h"
#include "widgets/findingsview.h"
#include "widgets/flowview.h"
#include "widgets/format.h"
#include "widgets/hardwareview.h"
#include "widgets/inspector.h"
#include "widgets/memoryview.h"
#include "widgets/meshview.h"
#include "widgets/pinsview.h"
#include "widgets/rulesview.h"
#include "widgets/shownspec.h"
#include "widgets/strategyeditor.h"
#include "widgets/summarybar.h"
#include "widgets/theme.h"
#include "widgets/tileview.h"
#include "widgets/weighttable.h"

#include <QActionGroup>
#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolBar>
#include <QUndoStack>
#include <QUndoView>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

MainWindow::MainWindow(Settings& settings, ThemeControl& theme, QWidget* parent)
    : QMainWindow(parent)
    , m_settings(settings)
    , m_theme(theme)
    , m_document(new Document(this))
    , m_actions(new Actions(this))
    , m_recent(new RecentFiles(settings, this))
    , m_engine(new EngineSession(engineCommand(settings.engineCommand()), this))
    , m_banner(new Banner(this))
    , m_fileActions(new FileActions(m_document, settings, m_recent, m_banner, this))
    , m_recovery(new Recovery(m_document, settings.unsavedFolder(), this))
    , m_watch(new FileWatch(m_document, this))
    , m_docks(new Docks(this))
{
    setObjectName(QStringLiteral("mainWindow"));
    setWindowIcon(QIcon(QStringLiteral(":/icons/shardboard.png")));
    setAcceptDrops(true);
    createActions();
    createCentre();
    createDocks();
    createPictureActions();
    createMenus();
    createStatus();
    connectDocument();
    connectFiles();
    if (!restoreGeometry(m_settings.geometry()))
        resize(1600, 1000);
    updateTitle();
    updateActions();
}

MainWindow::~MainWindow() = default;

void MainWindow::createActions()
{
    const auto id = [](const char* name) { return QString::fromLatin1(name); };
    m_actions->add(id("file.new"), tr("&New …"), QKeySequence::New, [this] { m_fileActions->newDesign(); });
    m_actions->add(id("file.newModule"), tr("New &Module …"), {}, [this] { m_fileActions->newModule(); });
    m_actions->add(id("file.open"), tr("&Open …"), QKeySequence::Open, [this] { m_fileActions->open(); });
    m_actions->add(id("file.sample"), tr("Open S&ample"), {}, [this] { m_fileActions->openSample(); });
    for (const Sample& sample : samples()) {
        m_actions->add(QStringLiteral("file.sample.") + sample.id, sample.title, {}, [this, sample] { m_fileActions->openSample(sample.id); })
            ->setToolTip(sample.text);
    }
    m_actions->add(id("file.save"), tr("&Save"), QKeySequence::Save, [this] { m_fileActions->save(); });
    m_actions->add(id("file.saveAs"), tr("Save &As …"), QKeySequence::SaveAs, [this] { m_fileActions->saveAs(); });
    m_actions->add(id("file.exportJax"), tr("&Export to JAX …"), tr("Ctrl+E"), [this] { m_fileActions->exportJax(); });
    QAction* exportJax = m_actions->get(id("file.exportJax"));
    exportJax->setIconText(tr("Export …"));
    exportJax->setToolTip(tr("Write the layout for JAX, with shards.json (%1)").arg(exportJax->shortcut().toString(QKeySequence::NativeText)));
    m_actions->add(id("file.quit"), tr("&Quit"), QKeySequence::Quit, [this] { close(); });
    m_actions->adopt(id("edit.undo"), m_document->undoStack()->createUndoAction(m_actions, tr("&Undo")), QKeySequence::Undo);
    m_actions->adopt(id("edit.redo"), m_document->undoStack()->createRedoAction(m_actions, tr("&Redo")), QKeySequence::Redo);
    m_actions->add(id("edit.find"), tr("&Find Weight"), tr("Ctrl+Shift+F"), [this] { findChild<WeightPanel*>()->focusFilter(); });
    QAction* palette = m_actions->add(id("edit.palette"), tr("Command &Palette …"), tr("Ctrl+K"), [this] { openPalette(); });
    palette->setShortcuts({ QKeySequence(tr("Ctrl+K")), QKeySequence(tr("Ctrl+Shift+P")) });
    palette->setIconText(tr("Command palette"));
    m_actions->add(id("edit.strategy"), tr("Edit &Strategy"), tr("Ctrl+L"), [this] { editStrategy(false); });
    m_actions->add(id("hardware.edit"), tr("&Edit Hardware …"), tr("Ctrl+H"), [this] { m_docks->raise(QStringLiteral("hardware")); });
    m_actions->add(id("hardware.open"), tr("Hardware from &File …"), {}, [this] { openHardware(); });
    m_actions->add(id("compare.keep"), tr("&Keep for Comparison"), tr("Ctrl+Shift+K"), [this] {
        m_docks->raise(QStringLiteral("compare"));
        m_compare->keep();
    });
    m_actions->add(id("compare.open"), tr("&Compare with File …"), {}, [this] { compareWithFile(); });
    m_actions->add(id("run.start"), tr("&Run"), tr("F5"), [this] {
        showRun();
        m_runPanel->run();
    });
    QAction* run = m_actions->get(id("run.start"));
    run->setIconText(tr("▶ Run"));
    run->setToolTip(tr("Run the plan on this machine and check its numbers (%1)").arg(run->shortcut().toString(QKeySequence::NativeText)));
    m_actions->add(id("run.cancel"), tr("&Cancel"), tr("Shift+F5"), [this] { m_engine->cancel(); });
    m_actions->add(id("run.restart"), tr("Restart &Engine"), {}, [this] { m_engine->restart(); });
    m_actions->add(id("view.allWeights"), tr("&All Weights"), tr("Ctrl+Shift+A"), [this] { m_tileView->showAll(true); });
    m_actions->add(id("view.oneDevice"), tr("All &on One Device"), tr("Ctrl+Shift+D"), [this] {
        m_tileView->showHeld();
    });
    m_actions->add(id("view.reset"), tr("&Reset Layout"), {}, [this] { m_docks->reset(); });
    m_actions->add(id("help.show"), tr("&Help"), QKeySequence::HelpContents, [this] { showHelp(); });
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
    add(file, "file.exportJax");
    QMenu* pictures = file->addMenu(tr("Save &Picture of"));
    for (const QString& name : viewNames())
        pictures->addAction(m_actions->get(QStringLiteral("picture.") + name));
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
    QMenu* design = menuBar()->addMenu(tr("&Design"));
    new DesignMenu(m_document, m_banner, design);
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
    for (QDockWidget* dock : m_docks->all())
        view->addAction(dock->toggleViewAction());
    view->addSeparator();
    QAction* movable = view->addAction(tr("&Move Panels"));
    movable->setObjectName(QStringLiteral("view.move"));
    movable->setCheckable(true);
    movable->setToolTip(tr("Show the title bars by which panels can be moved, floated and closed"));
    connect(movable, &QAction::toggled, m_docks, &Docks::setMovable);
    add(view, "view.reset");
    view->addSeparator();
    add(view, "view.allWeights");
    add(view, "view.oneDevice");
    view->addSeparator();
    new NotationMenu(m_document, m_settings, view->addMenu(tr("&Notation")));
    createThemeMenu(view);
    QMenu* run = menuBar()->addMenu(tr("&Run"));
    add(run, "run.start");
    add(run, "run.cancel");
    add(run, "run.restart");
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    add(help, "help.show");
    add(help, "help.about");
}

QStringList MainWindow::viewNames() const
{
    QStringList out { QStringLiteral("window"), QStringLiteral("mesh"), QStringLiteral("tiles"), QStringLiteral("flow") };
    for (const QDockWidget* dock : m_docks->all())
        out << dock->objectName();
    return out;
}

QWidget* MainWindow::showView(const QString& name)
{
    if (name == QLatin1String("window"))
        return this;
    if (name == QLatin1String("mesh"))
        return m_meshView;
    if (name == QLatin1String("tiles"))
        return m_tileView;
    if (name == QLatin1String("flow"))
        return findChild<FlowView*>();
    const QDockWidget* dock = m_docks->find(name);
    m_docks->raise(name);
    return dock == nullptr ? nullptr : dock->widget();
}

void MainWindow::createPictureActions()
{
    for (const QString& name : viewNames()) {
        const QDockWidget* dock = m_docks->find(name);
        const QString title = dock != nullptr ? dock->windowTitle()
            : name == QLatin1String("window") ? tr("Whole Window")
            : name == QLatin1String("mesh")   ? tr("Mesh")
            : name == QLatin1String("tiles")  ? tr("Tiles")
                                              : tr("Flow");
        m_actions->add(QStringLiteral("picture.") + name, title + tr(" …"), {}, [this, name] { savePicture(name); });
    }
}

void MainWindow::savePicture(const QString& view)
{
    const QString design = m_document->filePath().isEmpty() ? qstr(m_document->design().model.name)
                                                            : QFileInfo(m_document->filePath()).completeBaseName();
    QString filter;
    const QString name = QFileDialog::getSaveFileName(this, tr("Save Picture"), m_settings.lastFolder() + QStringLiteral("/%1-%2.svg").arg(design, view),
                                                      pictureFilter(), &filter);
    if (name.isEmpty())
        return;
    const QString path = withPictureSuffix(name, filter);
    const Status status = writePicture(showView(view), path);
    if (status.ok())
        m_banner->showInfo(tr("The picture is in %1").arg(path));
    else
        m_banner->showError(qstr(status.error().text()));
}

void MainWindow::createThemeMenu(QMenu* view)
{
    QMenu* menu = view->addMenu(tr("&Theme"));
    auto* group = new QActionGroup(menu);
    const std::pair<ThemeChoice, QString> choices[] = { { ThemeChoice::System, tr("&System") },
                                                        { ThemeChoice::Light, tr("&Light") },
                                                        { ThemeChoice::Dark, tr("&Dark") } };
    for (const auto& [choice, text] : choices) {
        QAction* action = group->addAction(menu->addAction(text));
        action->setCheckable(true);
        action->setChecked(m_theme.choice() == choice);
        const ThemeChoice wanted = choice;
        connect(action, &QAction::triggered, this, [this, wanted] { m_theme.setChoice(wanted); });
    }
}

void MainWindow::createCentre()
{
    auto* upper = new QSplitter(Qt::Horizontal);
    upper->setObjectName(QStringLiteral("upperSplitter"));
    m_meshView = new MeshView(m_document);
    m_tileView = new TileView(m_document);
    upper->addWidget(m_meshView);
    upper->addWidget(m_tileView);
    upper->setSizes({ 380, 570 });
    auto* bench = new QSplitter(Qt::Vertical);
    bench->setObjectName(QStringLiteral("benchSplitter"));
    bench->addWidget(upper);
    bench->addWidget(new FlowView(m_document));
    bench->setSizes({ 400, 265 });
    for (QSplitter* splitter : { upper, bench }) {
        splitter->setChildrenCollapsible(false);
        splitter->setHandleWidth(1);
    }
    m_pages = new QStackedWidget;
    m_pages->addWidget(new Welcome(*m_actions, m_recent));
    m_pages->addWidget(bench);
    auto* centre = new QWidget(this);
    auto* layout = new QVBoxLayout(centre);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_banner);
    layout->addWidget(m_pages, 1);
    setCentralWidget(centre);
}

void MainWindow::createDocks()
{
    using Place = Docks::Place;
    m_bar = addToolBar(tr("Summary"));
    m_bar->setObjectName(QStringLiteral("summary"));
    m_bar->setMovable(false);
    auto* summary = new SummaryBar(m_document);
    summary->setFinder(m_actions->get(QStringLiteral("edit.palette")));
    summary->addAction(m_actions->get(QStringLiteral("run.start")), true);
    summary->addAction(m_actions->get(QStringLiteral("file.exportJax")), false);
    m_bar->addWidget(summary);
    m_bar->toggleViewAction()->setVisible(false);
    const auto add = [this](const char* name, const QString& title, QWidget* content, Place place) {
        return m_docks->add(QString::fromLatin1(name), title, content, place);
    };
    m_runPanel = new RunPanel(m_document, m_engine);
    auto* history = new QUndoView(m_document->undoStack());
    history->setEmptyLabel(tr("As opened"));
    history->setAccessibleName(tr("History"));
    auto* weights = new WeightPanel(m_document);
    auto* inspector = new InspectorPanel(m_document);
    connect(weights, &WeightPanel::strategyRequested, this, &MainWindow::editStrategy);
    connect(inspector, &InspectorPanel::strategyRequested, this, [this] { editStrategy(false); });
    add("weights", tr("Weights"), weights, Place::Left);
    add("inspector", tr("Inspector"), inspector, Place::Right);
    add("strategy", tr("Strategy"), new StrategyEditor(m_document), Place::Right);
    auto* collectives = new CollectivesView(m_document);
    connect(collectives, &CollectivesView::pickerRefused, m_banner, &Banner::showError);
    add("collectives", tr("Collectives"), collectives, Place::Bottom);
    add("cost", tr("Cost"), new CostView(m_document), Place::Bottom);
    auto* explanation = new ExplainView(m_document);
    auto* pins = new PinsView(m_document);
    add("explain", tr("Why"), explanation, Place::Bottom);
    add("pins", tr("Pins"), pins, Place::Bottom);
    const auto showPin = [this, pins](int pin) {
        m_docks->raise(QStringLiteral("pins"));
        pins->showPin(pin);
    };
    connect(explanation, &ExplainView::pinNamed, this, showPin);
    connect(inspector, &InspectorPanel::pinNamed, this, showPin);
    connect(inspector, &InspectorPanel::explanationRequested, this, [this] { m_docks->raise(QStringLiteral("explain")); });
    add("cuts", tr("Cuts"), new CutsView(m_document), Place::Bottom);
    auto* findings = new FindingsView(m_document);
    m_actions->adopt(QStringLiteral("edit.repair"), findings->repairAction());
    add("findings", tr("Findings"), findings, Place::Bottom);
    m_rules = new RulesView(m_document);
    m_ruleFiles = new RuleFiles(m_document, m_rules, m_settings, m_banner, this);
    connect(m_ruleFiles, &RuleFiles::taken, this, [this] { m_docks->raise(QStringLiteral("rules")); });
    const auto showPlace = [this, showPin](const FindingPlace& place) {
        if (place.kind == FindingPlace::Kind::Pin) {
            showPin(place.index);
        } else if (place.kind == FindingPlace::Kind::Memory) {
            m_docks->raise(QStringLiteral("memory"));
        } else if (place.kind == FindingPlace::Kind::Rules) {
            m_docks->raise(QStringLiteral("rules"));
            m_rules->showRules(place.name);
        }
    };
    connect(findings, &FindingsView::placeChosen, this, showPlace);
    connect(inspector, &InspectorPanel::placeChosen, this, showPlace);
    add("rules", tr("Rules"), m_rules, Place::Bottom);
    auto* memory = new MemoryView(m_document);
    connect(memory, &MemoryView::refused, m_banner, &Banner::showError);
    add("memory", tr("Memory"), memory, Place::Bottom);
    m_compare = new CompareView(m_document);
    connect(m_compare, &CompareView::refused, m_banner, &Banner::showError);
    connect(m_compare, &CompareView::fileWanted, this, [this] { compareWithFile(); });
    add("compare", tr("Compare"), m_compare, Place::Bottom);
    add("run", tr("Run"), m_runPanel, Place::Bottom);
    add("history", tr("History"), history, Place::Right);
    m_hardware = new HardwareView(m_document);
    connect(m_hardware, &HardwareView::refused, m_banner, &Banner::showError);
    connect(m_hardware, &HardwareView::openWanted, this, [this] { openHardware(); });
    connect(m_hardware, &HardwareView::saveWanted, this, [this] { saveHardware(); });
    m_docks->add(QStringLiteral("hardware"), tr("Hardware"), m_hardware, Place::Right, false);
    m_docks->reset();
    m_docks->setVisible(false);
    m_bar->hide();
}

void MainWindow::createStatus()
{
    m_engineStatus = new QLabel(this);
    m_planStatus = new QLabel(this);
    m_specStatus = new QLabel(this);
    m_engineStatus->setObjectName(QStringLiteral("status.engine"));
    m_planStatus->setObjectName(QStringLiteral("status.plan"));
    m_specStatus->setObjectName(QStringLiteral("status.spec"));
    for (QLabel* label : { m_engineStatus, m_planStatus, m_specStatus })
        label->setForegroundRole(QPalette::PlaceholderText);
    m_specStatus->setFont(monoFont(m_specStatus));
    m_specStatus->setTextInteractionFlags(Qt::TextSelectableByMouse);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->setContentsMargins(kPanelMargin - 6, 0, kPanelMargin - 6, 0);
    statusBar()->addWidget(m_engineStatus, 1);
    statusBar()->addWidget(m_planStatus, 1);
    statusBar()->addWidget(m_specStatus);
}

void MainWindow::connectDocument()
{
    connect(m_document, &Document::evaluated, this, &MainWindow::showDocument);
    connect(m_document, &Document::filePathChanged, this, &MainWindow::updateTitle);
    connect(m_document, &Document::modifiedChanged, this, &MainWindow::updateTitle);
    connect(m_document->selection(), &Selection::changed, this, &MainWindow::updateStatus);
    connect(m_document, &Document::notationChanged, this, &MainWindow::updateStatus);
    connect(m_engine, &EngineSession::stateChanged, this, &MainWindow::updateActions);
    connect(m_engine, &EngineSession::stateChanged, this, &MainWindow::updateStatus);
    connect(m_recent, &RecentFiles::chosen, this, [this](const QString& path) {
        if (m_fileActions->mayReplace())
            m_fileActions->openPath(path);
    });
    updateStatus();
}

void MainWindow::connectFiles()
{
    connect(m_recovery, &Recovery::failed, m_banner, &Banner::showError);
    connect(m_watch, &FileWatch::changed, this, [this](const QString& path) {
        m_banner->ask(m_document->isModified() ? tr("%1 was changed by another program, and here, too.").arg(path)
                                               : tr("%1 was changed by another program.").arg(path),
                      { { tr("Read It Again"), [this] { m_fileActions->reload(); } } });
    });
    connect(m_watch, &FileWatch::removed, this, [this](const QString& path) {
        m_banner->ask(tr("%1 was removed by another program; the design is only in this window now.").arg(path),
                      { { tr("Write It Again"), [this, path] { m_fileActions->saveTo(path); } } });
    });
}

void MainWindow::offerRecovery()
{
    const QList<Recovery::Left> left = m_recovery->leftBehind();
    if (left.isEmpty())
        return;
    const Recovery::Left& newest = left.first();
    const auto restore = [this, newest] {
        if (!m_fileActions->mayReplace())
            return;
        const Status status = m_recovery->restore(newest);
        if (!status.ok())
            m_banner->showError(qstr(status.error().text()));
        else
            offerRecovery();
    };
    const auto discard = [this, newest] {
        m_recovery->discard(newest);
        offerRecovery();
    };
    m_banner->ask(tr("Unsaved changes of %1 from %2 were left behind by a window that ended unexpectedly.")
                      .arg(newest.name, QLocale().toString(newest.kept, QLocale::ShortFormat)),
                  { { tr("Restore"), restore }, { tr("Discard"), discard } });
}

void MainWindow::showDocument()
{
    if (!m_shown) {
        m_shown = true;
        m_bar->show();
        m_docks->restore(m_settings.windowState());
        m_pages->setCurrentIndex(1);
        if (auto* tree = findChild<QWidget*>(QStringLiteral("weightTree")))
            tree->setFocus();
    }
    if (m_document->undoStack()->count() == 0 && m_document->selection()->weight() < 0)
        selectFirstCut();
    updateTitle();
    updateStatus();
    updateActions();
    const auto& findings = m_document->evaluation()->findings;
    m_docks->find(QStringLiteral("collectives"))
        ->setWindowTitle(tr("Collectives %1").arg(m_document->evaluation()->plan.collectives.size()));
    m_docks->find(QStringLiteral("findings"))
        ->setWindowTitle(findings.empty() ? tr("Findings") : tr("Findings %1").arg(findings.size()));
    const auto& pins = m_document->design().pins;
    m_docks->find(QStringLiteral("pins"))->setWindowTitle(pins.empty() ? tr("Pins") : tr("Pins %1").arg(pins.size()));
    const auto& rules = m_document->design().rules.rules;
    m_docks->find(QStringLiteral("rules"))->setWindowTitle(rules.empty() ? tr("Rules") : tr("Rules %1").arg(rules.size()));
}

/// Something to look at in a design that was just opened: the first matrix of a layer that is cut, or else the first weight.
void MainWindow::selectFirstCut()
{
    const auto& weights = m_document->evaluation()->weights;
    const auto cut = std::find_if(weights.begin(), weights.end(), [](const WeightLayout& weight) {
        return weight.firstLayer >= 0 && weight.spec.shape.size() > 1 && !weight.layout.isReplicated();
    });
    m_document->selection()->setWeight(weights.empty() ? -1
                                           : cut == weights.end() ? 0
                                                                  : static_cast<int>(cut - weights.begin()));
}

void MainWindow::showRun() { m_docks->raise(QStringLiteral("run")); }

void MainWindow::editStrategy(bool asSpec)
{
    m_docks->raise(QStringLiteral("strategy"));
    findChild<StrategyEditor*>()->beginEdit(asSpec);
}

void MainWindow::compareWithFile()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Compare with Design"), m_settings.lastFolder(),
                                                      tr("Designs (*.shardboard);;All files (*)"));
    if (path.isEmpty())
        return;
    m_docks->raise(QStringLiteral("compare"));
    const Status status = m_compare->open(path);
    if (!status.ok())
        m_banner->showError(qstr(status.error().text()));
}

void MainWindow::openHardware()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Hardware"), m_settings.lastFolder(), tr("Hardware (*.json);;All files (*)"));
    if (path.isEmpty())
        return;
    const Status status = m_hardware->open(path);
    if (!status.ok())
        m_banner->showError(qstr(status.error().text()));
}

void MainWindow::saveHardware()
{
    QString path = QFileDialog::getSaveFileName(this, tr("Save Hardware"), m_settings.lastFolder(), tr("Hardware (*.json)"));
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += QStringLiteral(".json");
    const Status status = m_hardware->save(path);
    if (!status.ok())
        m_banner->showError(qstr(status.error().text()));
}

void MainWindow::updateTitle()
{
    const QString path = m_document->filePath();
    if (!m_document->hasDesign())
        setWindowTitle(tr("Shardboard"));
    else if (path.isEmpty())
        setWindowTitle(tr("%1 (not saved)[*] – Shardboard").arg(qstr(m_document->design().model.name)));
    else
        setWindowTitle(tr("%1[*] – Shardboard").arg(QFileInfo(path).fileName()));
    setWindowModified(m_document->isModified());
    updateStatus();
}

void MainWindow::updateStatus()
{
    if (m_engineStatus == nullptr)
        return;
    using State = EngineSession::State;
    const State state = m_engine->state();
    m_engineStatus->setText(state == State::Off ? tr("engine: starts with the first run")
                                : state == State::Starting ? tr("engine: starting")
                                : state == State::Ready    ? tr("engine: %1 · ready").arg(m_engine->description())
                                : state == State::Running  ? tr("engine: %1 · running").arg(m_engine->description())
                                                           : tr("engine: ended, see Run"));
    if (!m_document->hasDesign()) {
        m_planStatus->clear();
        m_specStatus->clear();
        return;
    }
    m_planStatus->setText(tr("plan in %1 · %2")
                              .arg(secondsText(m_document->evaluationSeconds()),
                                   m_document->isModified()              ? tr("not saved")
                                       : m_document->filePath().isEmpty() ? tr("unchanged")
                                                                          : tr("saved")));
    const WeightLayout* weight = selectedWeight(*m_document);
    const Mesh& mesh = m_document->evaluation()->plan.mesh;
    QString spec;
    if (weight != nullptr)
        spec = shownSpec(*m_document, weight->layout).marked() + QStringLiteral("   ")
            + qstr(m_document->notation() == Notation::Jax ? placementsText(weight->layout, mesh) : specText(weight->layout, mesh));
    constexpr int kSpecWidth = 620;
    m_specStatus->setText(QFontMetrics(m_specStatus->font()).elidedText(spec, Qt::ElideMiddle, kSpecWidth));
    m_specStatus->setToolTip(spec);
}

void MainWindow::updateActions()
{
    using State = EngineSession::State;
    const bool design = m_document->hasDesign();
    const State state = m_engine->state();
    const auto enable = [this](const char* id, bool on) { m_actions->get(QString::fromLatin1(id))->setEnabled(on); };
    enable("file.save", design);
    enable("file.saveAs", design);
    enable("file.exportJax", design);
    for (const QString& name : viewNames())
        m_actions->get(QStringLiteral("picture.") + name)->setEnabled(design);
    enable("view.reset", design);
    enable("view.allWeights", design);
    enable("view.oneDevice", design);
    enable("edit.find", design);
    enable("edit.strategy", design);
    enable("hardware.edit", design);
    enable("hardware.open", design);
    enable("compare.keep", design);
    enable("compare.open", design);
    enable("run.start", m_runPanel->canRun());
    enable("run.cancel", state == State::Running || state == State::Starting);
    enable("run.restart", state == State::Ready || state == State::Failed);
}

void MainWindow::openPalette()
{
    const auto entries = [this] {
        std::vector<PaletteEntry> all = designEntries(m_document);
        const std::vector<PaletteEntry> commands = commandEntries(menuBar(), m_actions->all());
        all.insert(all.begin(), commands.begin(), commands.end());
        return all;
    };
    if (m_palette == nullptr)
        m_palette = new CommandPalette(entries, [this](const QString& typed) { return deviceEntries(m_document, typed); }, this);
    m_palette->open();
}

void MainWindow::showHelp()
{
    auto* help = findChild<HelpWindow*>();
    if (help == nullptr)
        help = new HelpWindow(*m_actions, this);
    help->showPage(HelpWindow::pageOf(QApplication::focusWidget()));
    help->show();
    help->raise();
    help->activateWindow();
}

void MainWindow::showAbout()
{
    QMessageBox::about(this, tr("About Shardboard"),
                       tr("<b>Shardboard %1</b><br>Designs how a neural network is sharded over a device mesh.<br><br>"
                          "Own code: Apache-2.0. This program links QCustomPlot (GPL-3), so that it is distributed under "
                          "GPL-3 as a whole.<br>Qt %2")
                           .arg(QApplication::applicationVersion(), QString::fromLatin1(qVersion())));
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!m_fileActions->mayReplace()) {
        event->ignore();
        return;
    }
    m_settings.setWindow(saveGeometry(), m_shown ? m_docks->save() : m_settings.windowState());
    m_engine->stop();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!FileActions::droppedFile(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QString path = FileActions::droppedFile(event->mimeData());
    if (path.isEmpty())
        return;
    event->acceptProposedAction();
    // A question may be asked, so only after the drag is over.
    const auto open = [this, path] {
        if (m_document->hasDesign() && RuleFiles::isRuleFile(path))
            m_ruleFiles->openPath(path);
        else
            m_fileActions->openDropped(path);
    };
    QMetaObject::invokeMethod(this, open, Qt::QueuedConnection);
}

} // namespace shardboard
