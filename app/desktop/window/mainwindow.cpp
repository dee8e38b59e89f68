// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/mainwindow.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/base/messagebox.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/filedrops.h"
#include "app/desktop/files/filenotices.h"
#include "app/desktop/files/filewatch.h"
#include "app/desktop/files/hardwarefiles.h"
#include "app/desktop/files/historyfiles.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/files/recovery.h"
#include "app/desktop/files/rulefiles.h"
#include "app/desktop/pictures/pictureactions.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/columnsettings.h"
#include "app/desktop/window/docks.h"
#include "app/desktop/window/helpwindow.h"
#include "app/desktop/window/palettesources.h"
#include "app/desktop/window/shortcutsheet.h"
#include "app/desktop/window/statusline.h"
#include "app/desktop/window/welcome.h"
#include "app/worker/workercommand.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/canvas/accessiblecanvas.h"
#include "widgets/compare/compareview.h"
#include "widgets/controls/windowplace.h"
#include "widgets/cost/collectivesview.h"
#include "widgets/cost/costview.h"
#include "widgets/cuts/cutsview.h"
#include "widgets/document/documentview.h"
#include "widgets/explain/explainview.h"
#include "widgets/explain/inspector.h"
#include "widgets/explain/pinsview.h"
#include "widgets/findings/findingsview.h"
#include "widgets/flow/flowview.h"
#include "widgets/hardware/hardwareview.h"
#include "widgets/history/historyview.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/memory/memoryview.h"
#include "widgets/mesh/meshview.h"
#include "widgets/rules/rulesview.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/tables/listfilter.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weighttable.h"
#include "widgets/workbench/summarybar.h"
#include "widgets/workload/workloadview.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QThread>
#include <QToolBar>
#include <QUndoStack>

#include <algorithm>
#include <iterator>

namespace shardboard {

namespace {

void sizeCentre(QSplitter* upper, QSplitter* bench)
{
    upper->setSizes({ 380, 570 });
    bench->setSizes({ 400, 265 });
}

} // namespace

MainWindow::MainWindow(Settings& settings, ThemeControl& theme, QWidget* parent)
    : QMainWindow(parent)
    , m_settings(settings)
    , m_theme(theme)
    , m_document(new Document(this))
    , m_actions(new Actions(this))
    , m_recent(new RecentFiles(settings, this))
    , m_engine(new EngineSession(QString::fromStdString(chosenCommand(settings.engineCommand().toStdString())), this))
    , m_banner(new Banner(this))
    , m_fileActions(new FileActions(m_document, settings, m_recent, m_banner, this))
    , m_recovery(new Recovery(m_document, settings.unsavedFolder(), this))
    , m_notices(new FileNotices(m_document, m_fileActions, m_recovery, new FileWatch(m_document, this), m_banner, this))
    , m_pictures(new PictureActions(m_document, settings, m_banner, this, [this](const QString& name) { return showView(name); }))
    , m_docks(new Docks(this))
{
    installAccessibleCanvases();
    showPlainText();
    setObjectName(QStringLiteral("mainWindow"));
    if (const auto program = programAlone(m_engine->command().toStdString()))
        m_engine->setMpiCommand(
            QString::fromStdString(mpirunCommand(*program, std::clamp(QThread::idealThreadCount(), 2, 8)).value_or("")));
    setWindowIcon(QIcon(QStringLiteral(":/icons/shardboard.png")));
    connect(new FileDrops(this), &FileDrops::dropped, this, &MainWindow::openDropped);
    createActions();
    createCentre();
    createDocks();
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
    QStringList out { QStringLiteral("window"), QStringLiteral("mesh"), QStringLiteral("tiles"), QStringLiteral("flow") };
    for (const QDockWidget* dock : m_docks->all())
        out << dock->objectName();
    return out;
}

void MainWindow::createPictureActions()
{
    std::vector<PictureActions::View> views;
    for (const QString& name : viewNames()) {
        const QDockWidget* dock = m_docks->find(name);
        const QString title = dock != nullptr ? dock->windowTitle()
            : name == QLatin1String("window") ? tr("Whole Window")
            : name == QLatin1String("mesh")   ? tr("Mesh")
            : name == QLatin1String("tiles")  ? tr("Tiles")
                                              : tr("Flow");
        views.push_back({ name, title });
    }
    m_pictures->add(m_actions, views);
}

void MainWindow::offerRecovery() { m_notices->offerRecovery(); }

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

void MainWindow::createCentre()
{
    auto* upper = new QSplitter(Qt::Horizontal);
    upper->setObjectName(QStringLiteral("upperSplitter"));
    m_meshView = new MeshView(m_document);
    m_tileView = new TileView(m_document);
    upper->addWidget(m_meshView);
    upper->addWidget(m_tileView);
    auto* bench = new QSplitter(Qt::Vertical);
    bench->setObjectName(QStringLiteral("benchSplitter"));
    bench->addWidget(upper);
    auto* flow = new FlowView(m_document);
    m_meshView->follow(flow->player());
    bench->addWidget(flow);
    for (QSplitter* splitter : { upper, bench }) {
        splitter->setChildrenCollapsible(false);
        splitter->setHandleWidth(1);
    }
    sizeCentre(upper, bench);
    m_pages = new QStackedWidget;
    auto* welcome = new QScrollArea; // it may be higher than a small window
    welcome->setWidgetResizable(true);
    welcome->setFocusPolicy(Qt::NoFocus);
    welcome->setWidget(new Welcome(*m_actions, m_recent));
    m_pages->addWidget(welcome);
    m_pages->addWidget(bench);
    auto* centre = new QWidget(this);
    auto* layout = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, centre);
    layout->addWidget(m_banner);
    m_fileActions->work()->setContentsMargins(kPanelMargin, 6, kPanelMargin, 6);
    layout->addWidget(m_fileActions->work());
    layout->addWidget(m_pages, 1);
    setCentralWidget(centre);
}

/// Their usual places for panels, tool bar and the parts of the middle.
void MainWindow::resetLayout()
{
    m_actions->get(QStringLiteral("view.move"))->setChecked(false);
    m_bar->show();
    sizeCentre(findChild<QSplitter*>(QStringLiteral("upperSplitter")), findChild<QSplitter*>(QStringLiteral("benchSplitter")));
    m_docks->reset();
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
    auto* history = new HistoryView(m_document);
    new HistoryFiles(m_document, history, m_settings, m_banner, this);
    auto* weights = new WeightPanel(m_document);
    auto* inspector = new InspectorPanel(m_document);
    connect(weights, &WeightPanel::strategyRequested, this, &MainWindow::editStrategy);
    connect(inspector, &InspectorPanel::strategyRequested, this, [this] { editStrategy(false); });
    add("weights", tr("Weights"), weights, Place::Left);
    auto* workload = new WorkloadView(m_document);
    m_docks->add(QStringLiteral("workload"), tr("Workload"), workload, Place::Left, false);
    connect(workload, &WorkloadView::hardwareRequested, this, [this] { m_docks->raise(QStringLiteral("hardware")); });
    connect(summary, &SummaryBar::settingsRequested, this, [this] { showSetting({}); });
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
    connect(findings, &FindingsView::placeChosen, this, &MainWindow::showPlace);
    connect(inspector, &InspectorPanel::placeChosen, this, &MainWindow::showPlace);
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
    // It lays out all of its rows at every edit, seen or not.
    connect(m_docks->find(QStringLiteral("history")), &QDockWidget::visibilityChanged, history, &HistoryView::setSeen);
    auto* hardware = new HardwareView(m_document);
    connect(hardware, &HardwareView::refused, m_banner, &Banner::showError);
    m_hardwareFiles = new HardwareFiles(hardware, m_settings, m_banner, this);
    m_docks->add(QStringLiteral("hardware"), tr("Hardware"), hardware, Place::Right, false);
    for (const QDockWidget* dock : m_docks->all())
        ListFilter::installIn(dock->widget());
    m_docks->reset();
    m_docks->setVisible(false);
    m_bar->hide();
}

/// What a finding is about that is no part of a selection.
void MainWindow::showPlace(const FindingPlace& place)
{
    if (place.kind == FindingPlace::Kind::Pin) {
        m_docks->raise(QStringLiteral("pins"));
        findChild<PinsView*>()->showPin(place.index);
    } else if (place.kind == FindingPlace::Kind::Memory) {
        m_docks->raise(QStringLiteral("memory"));
    } else if (place.kind == FindingPlace::Kind::Rules) {
        m_docks->raise(QStringLiteral("rules"));
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
        m_docks->restore(m_settings.windowState());
        for (QSplitter* splitter : m_pages->findChildren<QSplitter*>())
            splitter->restoreState(m_settings.splitter(splitter->objectName()));
        m_pages->setCurrentIndex(1);
        if (auto* tree = findChild<QWidget*>(QStringLiteral("weightTree")))
            tree->setFocus();
    }
    if (m_document->undoStack()->count() == 0 && m_document->selection()->weight() < 0)
        selectFirstCut();
    updateTitle();
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
    m_document->selection()->setWeight(weights.empty() ? -1 : cut == weights.end() ? 0 : static_cast<int>(cut - weights.begin()));
}

void MainWindow::showRun() { m_docks->raise(QStringLiteral("run")); }

/// The panel of the settings, on the field of one or on the first.
void MainWindow::showSetting(const QString& id)
{
    m_docks->raise(QStringLiteral("workload"));
    auto* view = findChild<WorkloadView*>();
    wakeViewsAround(view);
    view->focusSetting(id);
}

void MainWindow::editStrategy(bool asSpec)
{
    m_docks->raise(QStringLiteral("strategy"));
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
    m_docks->raise(QStringLiteral("compare"));
    const Status status = m_compare->open(path);
    if (!status.ok())
        m_banner->showError(qstr(status.error().text()));
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
        add(numberEntries(m_document, [this](const QString& panel) { m_docks->raise(panel); }));
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

/// For Qt panels behind other tabs are visible (it moves them out of the window), and so is a tab bar without tabs. Tab leaves them
/// out.
bool MainWindow::focusNextPrevChild(bool next)
{
    constexpr int kMost = 2000; // there is always one that can be seen
    for (int i = 0; i < kMost; ++i) {
        if (!QMainWindow::focusNextPrevChild(next))
            return false;
        const QWidget* at = focusWidget();
        if (const auto* tabs = qobject_cast<const QTabBar*>(at); tabs != nullptr && tabs->count() == 0)
            continue;
        const QDockWidget* dock = nullptr;
        for (; at != nullptr && dock == nullptr; at = at->parentWidget())
            dock = qobject_cast<const QDockWidget*>(at);
        if (dock == nullptr || dock->isFloating() || dock->geometry().intersects(rect()))
            return true;
    }
    return true;
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!m_fileActions->mayReplace()) {
        event->ignore();
        return;
    }
    m_settings.setWindow(saveGeometry(), m_shown ? m_docks->save() : m_settings.windowState());
    for (const QSplitter* splitter : m_pages->findChildren<QSplitter*>())
        if (m_shown && !splitter->objectName().isEmpty())
            m_settings.setSplitter(splitter->objectName(), splitter->saveState());
    m_engine->stop();
    event->accept();
}

} // namespace shardboard
