// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/mainwindow.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/base/messagebox.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/export/exportpanel.h"
#include "app/desktop/export/namesview.h"
#include "app/desktop/export/proofpanel.h"
#include "app/desktop/export/prover.h"
#include "app/desktop/export/targetlist.h"
#include "app/desktop/export/targetstates.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/filedrops.h"
#include "app/desktop/files/filenotices.h"
#include "app/desktop/files/filewatch.h"
#include "app/desktop/files/hardwarefiles.h"
#include "app/desktop/files/historyfiles.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/files/recovery.h"
#include "app/desktop/files/rulefiles.h"
#include "app/desktop/files/savename.h"
#include "app/desktop/modes/deliverpage.h"
#include "app/desktop/modes/designpage.h"
#include "app/desktop/modes/explorepage.h"
#include "app/desktop/modes/profilepage.h"
#include "app/desktop/modes/runact.h"
#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/stillframe.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/pictures/pictureactions.h"
#include "app/desktop/pictures/plotfiles.h"
#include "app/desktop/pictures/reportfile.h"
#include "app/desktop/run/calibrationpage.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runkeeper.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/axistakeoff.h"
#include "app/desktop/window/columnsettings.h"
#include "app/desktop/window/dropdown.h"
#include "app/desktop/window/helpwindow.h"
#include "app/desktop/window/keyfocus.h"
#include "app/desktop/window/palettesources.h"
#include "app/desktop/window/shortcutsheet.h"
#include "app/desktop/window/statusline.h"
#include "app/desktop/window/viewwaker.h"
#include "app/desktop/window/welcome.h"
#include "app/worker/workercommand.h"
#include "model/io/file/textfile.h"
#include "model/io/runs/keptruns.h"
#include "model/io/targets/targets.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/canvas/accessiblecanvas.h"
#include "widgets/compare/compareview.h"
#include "widgets/compare/variantsview.h"
#include "widgets/controls/windowplace.h"
#include "widgets/cost/collectivesview.h"
#include "widgets/cost/costview.h"
#include "widgets/cuts/cutsview.h"
#include "widgets/document/documentview.h"
#include "widgets/explain/explainview.h"
#include "widgets/explain/inspector.h"
#include "widgets/explain/pinsview.h"
#include "widgets/explore/designsview.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/explore/pricesview.h"
#include "widgets/explore/searchform.h"
#include "widgets/explore/searchview.h"
#include "widgets/explore/sweepview.h"
#include "widgets/findings/findingsview.h"
#include "widgets/flow/flowview.h"
#include "widgets/hardware/hardwareview.h"
#include "widgets/history/historyview.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/memory/memoryview.h"
#include "widgets/mesh/meshview.h"
#include "widgets/rules/rulesview.h"
#include "widgets/runs/runcomparison.h"
#include "widgets/runs/runshelf.h"
#include "widgets/runs/runsview.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/strategy/strategylist.h"
#include "widgets/tables/listfilter.h"
#include "widgets/tiles/tileview.h"
#include "widgets/timeline/errorsview.h"
#include "widgets/timeline/plotview.h"
#include "widgets/timeline/timelineview.h"
#include "widgets/weights/weighttable.h"
#include "widgets/workbench/findingsbadge.h"
#include "widgets/workbench/summarybar.h"
#include "widgets/workload/workloadview.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QThread>
#include <QToolBar>
#include <QUndoStack>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace shardboard {

MainWindow::MainWindow(Settings& settings, ThemeControl& theme, QWidget* parent)
    : MainWindow(settings, theme, exportTargets(), parent)
{
}

MainWindow::MainWindow(Settings& settings, ThemeControl& theme, std::vector<ExportTarget> targets, QWidget* parent)
    : QMainWindow(parent)
    , m_settings(settings)
    , m_theme(theme)
    , m_document(new Document(this))
    , m_actions(new Actions(this))
    , m_recent(new RecentFiles(settings, this))
    , m_engine(new EngineSession(QString::fromStdString(chosenCommand(settings.engineCommand().toStdString())), this))
    , m_banner(new Banner(this))
    , m_fileActions(new FileActions(m_document, settings, m_recent, m_banner, this))
    , m_targets(new TargetStates(m_document, std::move(targets), this))
    , m_prover(new Prover(m_document, m_targets, this))
    , m_recovery(new Recovery(m_document, settings.unsavedFolder(), this))
    , m_notices(new FileNotices(m_document, m_fileActions, m_recovery, new FileWatch(m_document, this), m_banner, this))
    , m_pictures(new PictureActions(m_document, settings, m_banner, this, [this](const QString& name) { return showView(name); }))
    , m_workbench(new Workbench)
{
    const StyleSheetOff whileItIsMade(*qApp);
    installAccessibleCanvases();
    showPlainText();
    setObjectName(QStringLiteral("mainWindow"));
    if (const auto program = programAlone(m_engine->command().toStdString()))
        m_engine->setMpiCommand(
            QString::fromStdString(mpirunCommand(*program, std::clamp(QThread::idealThreadCount(), 2, 8)).value_or("")));
    setWindowIcon(QIcon(QStringLiteral(":/icons/shardboard.png")));
    connect(new FileDrops(this), &FileDrops::dropped, this, &MainWindow::openDropped);
    new AxisTakeOff(this);
    new ViewWaker(this);
    new KeyFocus(this);
    createActions();
    createPages();
    createPanels();
    createModes();
    createBar();
    createPictureActions();
    createMenus();
    connectDocument();
    new StatusLine(m_document, m_engine, statusBar());
    if (restoreGeometry(m_settings.geometry()))
        fitToScreen(this);
    else
        resize(1600, 1000);
    keepColumns(this, m_settings);
    updateTitle();
    updateActions();
}

MainWindow::~MainWindow() = default;

QStringList MainWindow::viewNames() const
{
    QStringList out { QStringLiteral("window") };
    for (const Panel* panel : m_workbench->all())
        out << panel->objectName();
    for (const WorkMode mode : kWorkModes)
        out << modeId(mode);
    return out;
}

void MainWindow::createPictureActions()
{
    std::vector<PictureActions::View> views { { QStringLiteral("window"), tr("Whole Window") } };
    for (const Panel* panel : m_workbench->all())
        views.push_back({ panel->objectName(), panel->windowTitle() });
    m_pictures->add(m_actions, views);
}

void MainWindow::offerRecovery() { m_notices->offerRecovery(); }

QWidget* MainWindow::showView(const QString& name)
{
    for (const WorkMode mode : kWorkModes)
        if (name == modeId(mode))
            m_workbench->setMode(mode);
    m_workbench->raise(name);
    const Panel* panel = m_workbench->find(name);
    return panel != nullptr ? panel->widget() : viewNames().contains(name) ? this : nullptr;
}

void MainWindow::createPages()
{
    m_pages = new QStackedWidget;
    auto* welcome = new QScrollArea; // it may be higher than a small window
    welcome->setWidgetResizable(true);
    welcome->setFocusPolicy(Qt::NoFocus);
    welcome->setWidget(new Welcome(*m_actions, m_recent));
    m_pages->addWidget(welcome);
    m_pages->addWidget(m_workbench);
    auto* centre = new QWidget(this);
    auto* layout = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, centre);
    layout->addWidget(m_banner);
    m_fileActions->work()->setContentsMargins(kPanelMargin, 6, kPanelMargin, 6);
    layout->addWidget(m_fileActions->work());
    layout->addWidget(m_pages, 1);
    setCentralWidget(centre);
}

/// Their usual places and sizes for panels, and the bar.
void MainWindow::resetLayout()
{
    m_bar->show();
    m_workbench->reset();
}

void MainWindow::createBar()
{
    m_bar = addToolBar(tr("Summary"));
    m_bar->setObjectName(QStringLiteral("summary"));
    m_bar->setMovable(false);
    m_summary = new SummaryBar(m_document);
    m_summary->setFinder(m_actions->get(QStringLiteral("edit.palette")));
    m_summary->setAct(m_actions->get(QStringLiteral("mode.act")), m_actions->get(QStringLiteral("mode.stop")));
    QStringList acts;
    for (const WorkMode mode : kWorkModes) {
        const ModePage::Act act = m_workbench->page(mode)->act();
        acts << act.sign + act.text;
    }
    m_summary->setActs(acts);
    auto* frame = new StillFrame(m_summary, m_bar);
    frame->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed); // else a tool bar gives it no more than it wishes
    m_bar->addWidget(frame);
    m_bar->toggleViewAction()->setVisible(false);
    for (const WorkMode mode : kWorkModes)
        m_summary->modes()->followTip(mode, m_actions->get(QStringLiteral("mode.") + modeId(mode)));
    connect(m_summary, &SummaryBar::settingsRequested, this, [this] { showSetting({}); });
    connect(m_summary->modes(), &ModeBar::chosen, m_workbench, &Workbench::setMode);
    Panel* findings = m_workbench->find(QStringLiteral("findings"));
    m_findings = new DropDown(findings, m_summary->badge(), this);
    m_workbench->setElsewhere(findings, [this](bool open) { m_findings->setOpen(open); });
    connect(m_summary->badge(), &FindingsBadge::clicked, this, [this] { m_findings->setOpen(!m_findings->isOpen()); });
    connect(m_workbench, &Workbench::modeChanged, this, [this](WorkMode mode) {
        m_summary->modes()->setMode(mode);
        m_findings->setOpen(false);
        for (const WorkMode one : kWorkModes)
            m_actions->get(QStringLiteral("mode.") + modeId(one))->setChecked(one == mode);
        showAct();
    });
    m_bar->hide();
}

/// What F5 and the button of the bar do now.
void MainWindow::showAct()
{
    const ModePage::Act act = m_workbench->page()->act();
    QAction* action = m_actions->get(QStringLiteral("mode.act"));
    action->setText(act.text);
    action->setIconText(act.sign + act.text);
    m_actions->setTip(QStringLiteral("mode.act"), act.tip);
    m_actions->setEnabled(QStringLiteral("mode.act"), act.can && !act.running, act.whyNot);
    m_actions->setEnabled(QStringLiteral("mode.stop"), act.running, tr("nothing is running"));
    if (m_summary != nullptr)
        m_summary->showStop(act.running);
}

void MainWindow::createModes()
{
    const auto panel = [this](const char* name) { return m_workbench->find(QLatin1String(name)); };
    auto* run = new RunAct(
        m_document, m_engine, m_runPanel, [this] { showRun(); }, this);
    auto* exporter = findChild<ExportPanel*>();
    auto* explore = new ExplorePage(m_document, findChild<ExploreSearch*>(),
                                    { panel("designs"),
                                      panel("search"),
                                      panel("variants"),
                                      { panel("compare"), panel("sweep"), panel("prices") },
                                      findChild<SearchForm*>(),
                                      findChild<DesignsView*>(),
                                      findChild<PricesView*>(),
                                      m_compare },
                                    this);
    connect(explore, &ExplorePage::told, m_banner, &Banner::showInfo);
    ModePage* pages[] = {
        new DesignPage({ panel("mesh"), panel("tiles"), panel("flow"), { panel("collectives"), panel("rules"), panel("cuts") } },
                       run, this),
        explore,
        new ProfilePage({ panel("timeline"),
                          panel("cost"),
                          panel("errors"),
                          panel("run"),
                          panel("twoRuns"),
                          panel("calibration"),
                          panel("memory"),
                          { panel("roofline"), panel("accuracy"), panel("scaling") },
                          { panel("bandwidth"), panel("memoryPlot") } },
                        run, this),
        new DeliverPage(panel("export"), panel("names"), exporter, m_targets, this),
    };
    for (ModePage* page : pages) {
        m_workbench->addPage(page);
        connect(page, &ModePage::actChanged, this, &MainWindow::showAct);
    }
    m_workbench->setLeft(panel("weights"));
    m_workbench->setAsked(WorkMode::Explore, panel("searchForm"));
    m_workbench->setAsked(WorkMode::Profile, panel("runForm"));
    m_workbench->setAsked(WorkMode::Deliver, panel("targets"));
    m_workbench->addRight(WorkMode::Deliver, panel("proof"));
    for (const char* name : { "inspector", "decisions", "history" })
        m_workbench->addRight(panel(name));
    for (const char* name : { "strategy", "workload", "explain", "hardware" })
        m_workbench->addOptionalRight(panel(name));
    for (const Panel* one : m_workbench->all())
        ListFilter::installIn(one->widget());
    m_workbench->reset();
}

void MainWindow::createPanels()
{
    const auto add = [this](const char* name, const QString& title, QWidget* content) {
        return m_workbench->add(QString::fromLatin1(name), title, content);
    };
    m_meshView = new MeshView(m_document);
    m_tileView = new TileView(m_document);
    auto* flow = new FlowView(m_document);
    m_meshView->follow(flow->player());
    m_runPanel = new RunPanel(m_document, m_engine);
    auto* history = new HistoryView(m_document);
    new HistoryFiles(m_document, history, m_settings, m_banner, this);
    auto* weights = new WeightPanel(m_document);
    auto* inspector = new InspectorPanel(m_document);
    inspector->setWhyOpen(!m_settings.whyFolded());
    connect(weights, &WeightPanel::strategyRequested, this, &MainWindow::editStrategy);
    connect(inspector, &InspectorPanel::strategyRequested, this, [this] { editStrategy(false); });
    add("mesh", tr("Mesh"), m_meshView);
    add("tiles", tr("Tiles"), m_tileView);
    add("flow", tr("Flow"), flow);
    add("weights", tr("Weights"), weights);
    add("inspector", tr("Inspector"), inspector);
    add("strategy", tr("Strategy"), new StrategyEditor(m_document));
    auto* workload = new WorkloadView(m_document);
    add("workload", tr("Workload"), workload);
    m_fileActions->setWaiting([workload] { return workload->applyWaiting(); });
    connect(workload, &WorkloadView::hardwareRequested, this, [this] { m_workbench->raise(QStringLiteral("hardware")); });
    auto* collectives = new CollectivesView(m_document);
    connect(collectives, &CollectivesView::pickerRefused, m_banner, &Banner::showError);
    add("collectives", tr("Collectives"), collectives);
    add("cost", tr("Cost"), new CostView(m_document));
    auto* explanation = new ExplainView(m_document);
    auto* pins = new PinsView(m_document);
    add("explain", tr("Why"), explanation);
    auto* strategies = new StrategyList(m_document);
    connect(strategies, &StrategyList::editRequested, this, [this] { editStrategy(false); });
    auto* decisions = new QSplitter(Qt::Vertical);
    decisions->setObjectName(QStringLiteral("decisionsSplitter"));
    decisions->setChildrenCollapsible(false);
    decisions->setHandleWidth(1);
    decisions->addWidget(strategies);
    decisions->addWidget(pins);
    add("decisions", tr("Decisions"), decisions);
    const auto showPin = [this, pins](int pin) {
        m_workbench->raise(QStringLiteral("decisions"));
        pins->showPin(pin);
    };
    connect(explanation, &ExplainView::pinNamed, this, showPin);
    connect(inspector, &InspectorPanel::pinNamed, this, showPin);
    connect(inspector, &InspectorPanel::explanationRequested, this, [this] { m_workbench->raise(QStringLiteral("explain")); });
    add("cuts", tr("Cuts"), new CutsView(m_document));
    auto* findings = new FindingsView(m_document);
    m_actions->adopt(QStringLiteral("edit.repair"), findings->repairAction());
    add("findings", tr("Findings"), findings);
    m_rules = new RulesView(m_document);
    m_ruleFiles = new RuleFiles(m_document, m_rules, m_settings, m_banner, this);
    connect(m_ruleFiles, &RuleFiles::taken, this, [this] { m_workbench->raise(QStringLiteral("rules")); });
    connect(findings, &FindingsView::placeChosen, this, &MainWindow::showPlace);
    connect(inspector, &InspectorPanel::placeChosen, this, &MainWindow::showPlace);
    add("rules", tr("Rules"), m_rules);
    auto* memory = new MemoryView(m_document);
    connect(memory, &MemoryView::refused, m_banner, &Banner::showError);
    add("memory", tr("Memory"), memory);
    m_compare = new CompareView(m_document);
    connect(m_compare, &CompareView::refused, m_banner, &Banner::showError);
    connect(m_compare, &CompareView::fileWanted, this, [this] { compareWithFile(); });
    add("variants", tr("Variants"), new VariantsView(m_document, m_compare));
    add("compare", tr("Differences"), m_compare);
    auto* search = new ExploreSearch(this);
    add("searchForm", tr("Search for"), new SearchForm(m_document, search));
    add("designs", tr("Designs Tried"), new DesignsView(m_document, search));
    add("search", tr("Search"), new SearchView(m_document, search));
    add("sweep", tr("Sweeps"), new SweepView(m_document));
    add("prices", tr("What It Takes"), new PricesView(m_document));
    add("run", tr("Measured"), m_runPanel);
    createTimeline();
    add("history", tr("History"), history);
    // It lays out all of its rows at every edit, seen or not.
    connect(m_workbench->find(QStringLiteral("history")), &Panel::visibilityChanged, history, &HistoryView::setSeen);
    auto* hardware = new HardwareView(m_document);
    connect(hardware, &HardwareView::refused, m_banner, &Banner::showError);
    m_hardwareFiles = new HardwareFiles(hardware, m_settings, m_banner, this);
    add("hardware", tr("Hardware"), hardware);
    createDeliver();
}

/// What a run measured is shown as soon as it is over.
void MainWindow::createTimeline()
{
    auto* source = new TimelineSource(m_document, this);
    auto* timeline = new TimelineView(m_document, source);
    connect(timeline, &TimelineView::refused, m_banner, &Banner::showError);
    connect(timeline, &TimelineView::fileWanted, this, [this, timeline] {
        const QString path = QFileDialog::getOpenFileName(this, tr("Open Trace"), m_settings.lastFolder(),
                                                          tr("Traces (*.json *.json.gz);;All files (*)"));
        if (!path.isEmpty())
            timeline->openTrace(path);
    });
    m_workbench->add(QStringLiteral("timeline"), tr("Timeline"), timeline);
    m_workbench->add(QStringLiteral("errors"), tr("Errors"), new ErrorsView(m_document, source));
    createRuns(source);
    createPlots(source);
}

void MainWindow::createPlots(TimelineSource* source)
{
    using Kind = PlotView::Kind;
    for (const auto& [kind, name, title] :
         { std::tuple { Kind::Roofline, "roofline", tr("Roofline") }, std::tuple { Kind::Accuracy, "accuracy", tr("Accuracy") },
           std::tuple { Kind::Scaling, "scaling", tr("Scaling") }, std::tuple { Kind::Bandwidth, "bandwidth", tr("Bandwidth") },
           std::tuple { Kind::Memory, "memoryPlot", tr("Held") } }) {
        auto* view = new PlotView(kind, m_document, source);
        connect(view, &PlotView::saveWanted, this, [this, view] { savePlot(m_document, view, m_settings, m_banner, this); });
        m_workbench->add(QLatin1String(name), title, view);
        if (kind == Kind::Scaling)
            findChild<RunKeeper*>()->tellRuns(view);
    }
}

/// What is to be run, and below it the runs that are kept.
void MainWindow::createRuns(TimelineSource* source)
{
    auto* shelf = new RunShelf(this);
    auto* runs = new RunsView(m_document, shelf);
    auto* comparison = new RunComparison(m_document);
    auto* keeper = new RunKeeper({ m_document, m_engine, m_runPanel, source, shelf, runs, comparison }, m_settings, m_banner, this);
    connect(keeper, &RunKeeper::comparisonWanted, this, [this] { m_workbench->raise(QStringLiteral("twoRuns")); });
    connect(keeper, &RunKeeper::designWanted, this, [this](const Design& design) {
        if (!m_fileActions->mayReplace())
            return;
        if (const Status status = m_document->setUnsaved(design, {}); !status.ok())
            m_banner->showError(errorText(status.error()));
    });
    auto* asked = new QSplitter(Qt::Vertical);
    asked->setObjectName(QStringLiteral("runSplitter"));
    asked->setChildrenCollapsible(false);
    asked->setHandleWidth(1);
    asked->addWidget(m_runPanel->form());
    m_runPanel->form()->show(); // it was hidden until it has its place
    asked->addWidget(runs);
    asked->setStretchFactor(1, 1);
    m_workbench->add(QStringLiteral("runForm"), tr("Run"), asked);
    m_workbench->add(QStringLiteral("twoRuns"), tr("Two Runs"), comparison);
    auto* calibration = new CalibrationPage(m_document, m_engine);
    connect(calibration, &CalibrationPage::refused, m_banner, &Banner::showError);
    connect(calibration, &CalibrationPage::saveWanted, this, [this, calibration] {
        const QString path = saveName(this,
                                      QFileDialog::getSaveFileName(this, tr("Save as Hardware"),
                                                                   m_settings.lastFolder() + QStringLiteral("/this-machine.json"),
                                                                   tr("Hardware (*.json)")),
                                      { QStringLiteral(".json") });
        if (path.isEmpty())
            return;
        if (const Status status = writeFileAtomically(QFile::encodeName(path).toStdString(), calibration->hardwareText());
            status.ok())
            m_banner->showInfo(tr("Saved %1").arg(path));
        else
            m_banner->showError(errorText(status.error()));
    });
    m_workbench->add(QStringLiteral("calibration"), tr("Calibration"), calibration);
}

/// The design as it is now; beside it the variants, the run that is shown if it is of this design, and the run that it is compared
/// with.
ReportInput MainWindow::reportInput() const
{
    const QString file = m_document->filePath();
    ReportInput input;
    input.design = { file.isEmpty() ? m_document->design().model.name : QFileInfo(file).fileName().toStdString(),
                     m_document->design(), m_document->evaluation() };
    if (const auto hardware = hardwareOf(m_document->design()); hardware.ok())
        input.hardware = hardware.value();
    for (const CompareView::Other& other : m_compare->others())
        if (other.evaluation != m_document->evaluation() && !other.evaluation->plan.segments.empty())
            input.others.push_back({ other.name.toStdString(), other.design, other.evaluation });
    const auto* source = findChild<TimelineSource*>();
    if (const MeasuredRun* run = source->run(); run != nullptr && !source->isStale()) {
        input.run = ReportedRun { run->name.toStdString(), {}, run->result, run->profile };
        if (const auto other = findChild<RunComparison*>()->other(run->result))
            input.otherRun = ReportedRun { other->name, other->made, other->result, {} };
    }
    input.made = timeStamp();
    input.program = "shardboard " + QApplication::applicationVersion().toStdString();
    return input;
}

Status MainWindow::writeReportTo(const QString& path) const { return writeReport(reportInput(), path); }

void MainWindow::saveReport()
{
    const QString file = m_document->filePath();
    const QString folder = file.isEmpty() ? m_settings.lastFolder() : QFileInfo(file).absolutePath();
    const QString stem = file.isEmpty() ? qstr(m_document->design().model.name) : QFileInfo(file).completeBaseName();
    QString filter;
    QString path = QFileDialog::getSaveFileName(this, tr("Report"),
                                                folder + QLatin1Char('/') + fileNamePart(stem) + QStringLiteral("-report.html"),
                                                tr("Web page (*.html);;PDF (*.pdf)"), &filter);
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += filter.contains(QLatin1String("pdf")) ? QStringLiteral(".pdf") : QStringLiteral(".html");
    const auto* source = findChild<TimelineSource*>();
    const bool withoutRun = source->run() != nullptr && source->isStale();
    if (const Status status = writeReportTo(path); !status.ok())
        m_banner->showError(errorText(status.error()));
    else
        m_banner->showInfo(withoutRun ? tr("%1, without the run, which is of another design").arg(path) : tr("Saved %1").arg(path));
}

void MainWindow::createDeliver()
{
    auto* exporter =
        new ExportPanel(m_document, m_targets, [this](const QString& target) { return m_fileActions->exportFolder(target); });
    connect(exporter, &ExportPanel::exportWanted, m_fileActions, &FileActions::writeExport);
    connect(exporter, &ExportPanel::weightWanted, m_fileActions, &FileActions::showWeight);
    connect(m_fileActions->work(), &LongWork::ended, exporter, &ExportPanel::renew);
    m_proof = new ProofPanel(m_document, m_targets, m_prover, m_settings);
    connect(m_prover, &Prover::changed, this, &MainWindow::updateActions);
    connect(m_targets, &TargetStates::changed, this, &MainWindow::updateActions);
    connect(m_targets, &TargetStates::currentChanged, this, &MainWindow::updateActions);
    m_workbench->add(QStringLiteral("export"), tr("Files"), exporter);
    m_workbench->add(QStringLiteral("names"), tr("Names"), new NamesView(m_document));
    m_workbench->add(QStringLiteral("targets"), tr("Targets"), new TargetList(m_targets));
    m_workbench->add(QStringLiteral("proof"), tr("Proof"), m_proof);
}

/// What a finding is about that is no part of a selection.
void MainWindow::showPlace(const FindingPlace& place)
{
    if (place.kind == FindingPlace::Kind::Pin) {
        m_workbench->raise(QStringLiteral("decisions"));
        findChild<PinsView*>()->showPin(place.index);
    } else if (place.kind == FindingPlace::Kind::Memory) {
        m_workbench->raise(QStringLiteral("memory"));
    } else if (place.kind == FindingPlace::Kind::Rules) {
        m_workbench->raise(QStringLiteral("rules"));
        m_rules->showRules(place.name);
    }
}

void MainWindow::connectDocument()
{
    connect(m_document, &Document::evaluated, this, &MainWindow::showDocument);
    connect(m_document, &Document::filePathChanged, this, &MainWindow::updateTitle);
    connect(m_document, &Document::modifiedChanged, this, &MainWindow::updateTitle);
    connect(m_engine, &EngineSession::stateChanged, this, &MainWindow::updateActions);
    connect(m_recent, &RecentFiles::chosen, this, [this](const QString& path) {
        if (m_fileActions->mayReplace())
            m_fileActions->openPath(path);
    });
}

void MainWindow::showDocument()
{
    if (!m_shown) {
        m_shown = true;
        m_bar->show();
        m_pages->setCurrentIndex(1);
        m_workbench->restore(m_settings.windowState());
        for (const char* name : { "explainSplitter", "decisionsSplitter" })
            findChild<QSplitter*>(QLatin1String(name))->restoreState(m_settings.splitter(QLatin1String(name)));
        if (auto* tree = findChild<QWidget*>(QStringLiteral("weightTree")))
            tree->setFocus();
    }
    if (m_document->undoStack()->count() == 0 && m_document->selection()->weight() < 0)
        selectFirstCut();
    updateTitle();
    updateActions();
    m_workbench->find(QStringLiteral("collectives"))
        ->setWindowTitle(tr("Collectives %1").arg(m_document->evaluation()->plan.movingCollectives()));
    const auto& rules = m_document->design().rules.rules;
    m_workbench->find(QStringLiteral("rules"))->setWindowTitle(rules.empty() ? tr("Rules") : tr("Rules %1").arg(rules.size()));
}

/// Something to look at in a design that was just opened: the first matrix of a layer that is cut, or else the first weight.
void MainWindow::selectFirstCut()
{
    const auto& weights = m_document->evaluation()->weights;
    const auto cut = std::find_if(weights.begin(), weights.end(), [](const WeightLayout& weight) {
        return weight.firstLayer >= 0 && weight.spec.shape.size() > 1 && !weight.layout.isReplicated();
    });
    m_document->selection()->setWeight(weights.empty() ? -1 : cut == weights.end() ? 0 : static_cast<int>(cut - weights.begin()));
}

void MainWindow::showRun() { m_workbench->raise(QStringLiteral("run")); }

/// The panel of the settings, on the field of one or on the first.
void MainWindow::showSetting(const QString& id)
{
    m_workbench->raise(QStringLiteral("workload"));
    auto* view = findChild<WorkloadView*>();
    wakeViewsAround(view);
    view->focusSetting(id);
}

void MainWindow::editStrategy(bool asSpec)
{
    m_workbench->raise(QStringLiteral("strategy"));
    findChild<StrategyEditor*>()->beginEdit(asSpec);
}

void MainWindow::openDropped(const QString& path)
{
    if (m_document->hasDesign() && RuleFiles::isRuleFile(path))
        m_ruleFiles->openPath(path);
    else
        m_fileActions->openDropped(path);
}

void MainWindow::compareWithFile()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Compare with Design"), m_settings.lastFolder(),
                                                      tr("Designs (*.shardboard);;All files (*)"));
    if (path.isEmpty())
        return;
    m_workbench->raise(QStringLiteral("compare"));
    const Status status = m_compare->open(path);
    if (!status.ok())
        m_banner->showError(errorText(status.error()));
}

void MainWindow::updateTitle()
{
    const QString path = m_document->filePath();
    if (!m_document->hasDesign())
        setWindowTitle(tr("Shardboard"));
    else if (path.isEmpty())
        setWindowTitle(tr("%1 (not saved)[*] – Shardboard").arg(titleText(qstr(m_document->design().model.name))));
    else
        setWindowTitle(tr("%1[*] – Shardboard").arg(titleText(shownText(QFileInfo(path).fileName()))));
    setWindowModified(m_document->isModified());
}

void MainWindow::openPalette()
{
    const auto entries = [this] {
        std::vector<PaletteEntry> all = designEntries(m_document);
        const std::vector<PaletteEntry> commands =
            commandEntries(menuBar(), m_actions->all(), m_document->hasDesign() ? QString() : tr("no design is open"));
        all.insert(all.begin(), commands.begin(), commands.end());
        const auto add = [&all](std::vector<PaletteEntry> more) {
            all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
        };
        add(settingEntries(m_document, [this](const QString& setting) { showSetting(setting); }));
        add(numberEntries(m_document, [this](const QString& panel) { m_workbench->raise(panel); }));
        add(findingEntries(m_document, [this](const FindingPlace& place) { showPlace(place); }));
        add(ruleEntries(m_document,
                        [this](const QString& rule) { showPlace({ .kind = FindingPlace::Kind::Rules, .name = rule }); }));
        add(helpEntries([this](const QString& page) { showHelp(page); }));
        return all;
    };
    if (m_palette == nullptr)
        m_palette = new CommandPalette(
            entries, [this](const QString& typed) { return deviceEntries(m_document, typed); }, this);
    m_palette->open();
}

void MainWindow::showHelp(const QString& page)
{
    auto* help = findChild<HelpWindow*>();
    if (help == nullptr)
        help = new HelpWindow(*m_actions, this);
    help->showPage(page.isEmpty() ? HelpWindow::pageOf(QApplication::focusWidget()) : page);
    help->show();
    help->raise();
    help->activateWindow();
}

void MainWindow::showShortcuts()
{
    auto* sheet = findChild<ShortcutSheet*>();
    if (sheet == nullptr)
        sheet = new ShortcutSheet(*m_actions, this);
    sheet->show();
    sheet->raise();
    sheet->activateWindow();
}

void MainWindow::showAbout()
{
    const auto box =
        messageBox(QMessageBox::NoIcon, tr("About Shardboard"), tr("Shardboard %1").arg(QApplication::applicationVersion()),
                   tr("Designs how a neural network is sharded over a device mesh.\n\n"
                      "Our own code is under Apache-2.0. This program links QCustomPlot (GPL-3), so as a whole it is "
                      "distributed under GPL-3.\nQt %1")
                       .arg(QString::fromLatin1(qVersion())),
                   QMessageBox::Ok, this);
    box->setIconPixmap(windowIcon().pixmap(64, 64));
    box->exec();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!m_fileActions->mayReplace()) {
        event->ignore();
        return;
    }
    m_settings.setWindow(saveGeometry(), m_shown ? m_workbench->save() : m_settings.windowState());
    for (const char* name : { "explainSplitter", "decisionsSplitter" })
        if (m_shown)
            m_settings.setSplitter(QLatin1String(name), findChild<QSplitter*>(QLatin1String(name))->saveState());
    m_settings.setWhyFolded(!findChild<InspectorPanel*>()->isWhyOpen());
    m_engine->stop();
    event->accept();
}

} // namespace shardboard
