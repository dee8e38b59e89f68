// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/tour/tour.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/pictures/picturedialog.h"
#include "app/desktop/pictures/pictures.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/mainwindow.h"
#include "model/design/explain/explain.h"
#include "model/design/presets/presets.h"
#include "model/rules/rulesetup.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/controls/axisdrag.h"
#include "widgets/document/planplayer.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/tables/listfilter.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/workbench/meshchips.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QLineEdit>
#include <QMimeData>
#include <QTemporaryDir>
#include <QTextStream>
#include <QTimer>
#include <QUndoStack>

#include <algorithm>
#include <functional>
#include <memory>

namespace shardboard {

namespace {

/// A window with settings of its own, so that the user's are left alone, and pictures of it. After the first that cannot be
/// written there are none.
class Tour {
public:
    Tour(QApplication& application, const CommandLine& line, bool dark)
        : m_line(line)
        , m_settings(m_folder.filePath(QStringLiteral("settings.ini")))
        , m_control(application, m_settings)
        , m_window((m_settings.setRunsFolder(m_folder.filePath(QStringLiteral("runs"))), m_settings),
                   (m_control.setChoice(dark ? ThemeChoice::Dark : ThemeChoice::Light), m_control))
    {
    }

    MainWindow& window() { return m_window; }
    void show()
    {
        m_window.resize(m_line.size);
        m_window.show();
    }
    /// The file of the command line, or the sample.
    Status open()
    {
        if (!m_line.file.isEmpty())
            return document()->open(m_line.file);
        const auto design = sampleDesign();
        return design.ok() ? document()->setDesign(design.value()) : Status(design.error());
    }
    void settle() const;
    /// The pictures, to files with this after their names.
    Status write(const QString& ending);

private:
    using Edit = std::function<bool(Design&)>;

    Document* document() const { return m_window.document(); }
    /// Of the whole window where nothing is named.
    void take(const char* name, QWidget* shown = nullptr);
    /// Brought to the front.
    QWidget* view(const char* name) { return m_window.showView(QLatin1String(name)); }
    void takeWith(const char* panel, const char* name)
    {
        view(panel);
        take(name);
    }
    /// The pictures of a design that is edited for them; none where the model cannot be laid out so, which `edit` may say, too.
    void with(const Edit& edit, const std::function<void()>& pictures);
    void selectWeight(const char* wanted) const;
    void takeAll();
    void takeViews();
    void takeSearch();
    void takeExplanations();
    void takeTraining();
    void takeStrategies();
    void takeDrag();
    void takeDialogs();
    void run();

    const CommandLine& m_line;
    QString m_ending;
    Status m_status = done();
    QTemporaryDir m_folder;
    Settings m_settings;
    ThemeControl m_control;
    MainWindow m_window;
};

void dropFocus()
{
    if (QWidget* focused = QApplication::focusWidget())
        focused->clearFocus();
}

/// Nodes on a network.
bool sixteenDevices(Design& design)
{
    if (design.mesh.find("model") >= 0)
        design.mesh = Mesh::parse("data=4,model=4").value();
    return true;
}

/// A step of training that no device has room for.
bool tooLarge(Design& design)
{
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch *= 4;
    return true;
}

bool training(Design& design, const char* mesh, const char* preset)
{
    design.mesh = Mesh::parse(mesh).value();
    design.workload.kind = WorkloadKind::Train;
    return applyPreset(design, preset).ok();
}

bool pipeline(Design& design)
{
    design.workload.batch = 32;
    design.workload.microBatches = 8;
    return training(design, "pipe=4,data=2,model=4", "pp-1f1b");
}

bool pinned(Design& design)
{
    if (!training(design, "fsdp=2,model=4", "tp+fsdp"))
        return false;
    for (const char* pin : { "self_attn.residual@model=S1 S1 -> S1", "*:sequense=fsdp" })
        design = withPin(design, parsePin(pin).value());
    return true;
}

/// The last mesh axis as one that nothing divides by.
bool uneven(Design& design)
{
    if (const int last = design.mesh.axisCount() - 1; last >= 0)
        if (auto edited = withMeshAxis(design, last, { design.mesh.axis(last).name, 3 }); edited.ok())
            design = std::move(edited).value();
    return true;
}

/// Laid out by rules alone: its own, or else a rule set that cuts it over two axes.
bool byRules(Design& design)
{
    design.strategies.clear();
    if (design.rules.rules.empty()) {
        design.mesh = Mesh::parse("data=2,fsdp=2,tensor=2").value();
        design.rules = { "preset default", rulePreset("default", {}).value().rules };
    }
    return true;
}

bool fewTokens(Design& design)
{
    design.workload.kind = WorkloadKind::Prefill;
    design.workload.sequence = 64;
    return true;
}

/// Lets layouts, posted paints, queued calls and evaluations in the background happen.
void Tour::settle() const
{
    constexpr int kLimitMs = 60000; // an export of many devices takes its time
    const auto busy = [this] { // looked for each time: a form goes with its job
        const auto jobs = m_window.findChildren<LatestJob*>();
        return std::any_of(jobs.begin(), jobs.end(), [](const auto* job) { return job->isBusy(); });
    };
    QElapsedTimer timer;
    timer.start();
    for (int i = 0; i < 4 || (busy() && timer.elapsed() < kLimitMs); ++i) {
        QApplication::sendPostedEvents();
        QApplication::processEvents(QEventLoop::AllEvents, 50);
    }
}

Status Tour::write(const QString& ending)
{
    m_ending = ending;
    show();
    take("welcome");
    const Status opened = open();
    if (opened.ok() && m_status.ok())
        takeAll();
    return m_status.ok() ? opened : m_status;
}

void Tour::take(const char* name, QWidget* shown)
{
    if (!m_status.ok())
        return;
    settle();
    const QString path = QDir(m_line.tourFolder).filePath(QLatin1String(name) + m_ending);
    if ((shown ? shown : &m_window)->grab().save(path, "PNG"))
        QTextStream(stdout) << path << Qt::endl;
    else
        m_status = inputError(QDir::toNativeSeparators(path).toStdString(), "cannot be written",
                              "check the folder's permissions and the space on the disk");
}

void Tour::with(const Edit& edit, const std::function<void()>& pictures)
{
    const int before = document()->undoStack()->index();
    if (Design design = document()->design();
        edit && (!edit(design) || !document()->edit(design, QObject::tr("Tour"), Misfits::Replicate).ok()))
        return;
    pictures();
    view("collectives");
    view("inspector");
    document()->undoStack()->setIndex(before);
}

/// The last weight of that name, or else the first of all, and the third device.
void Tour::selectWeight(const char* wanted) const
{
    const auto evaluation = document()->evaluation();
    int weight = evaluation->weights.empty() ? -1 : 0;
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
        if (evaluation->weights[i].spec.name.find(wanted) != std::string::npos)
            weight = static_cast<int>(i);
    document()->selection()->setWeight(weight);
    document()->selection()->setDevice(qMin<qint64>(2, evaluation->plan.mesh.deviceCount() - 1));
    dropFocus();
}

void Tour::takeAll()
{
    with(nullptr, [this] { takeViews(); });
    with(sixteenDevices, [this] {
        takeWith("hardware", "hardware");
        m_window.workbench()->close(m_window.workbench()->find(QStringLiteral("hardware")));
    });
    with([](Design& design) { return training(design, "fsdp=2,model=4", "tp+fsdp"); },
         [this] {
             takeWith("workload", "workload");
             m_window.workbench()->close(m_window.workbench()->find(QStringLiteral("workload")));
         });
    with([](Design& design) { return applyPreset(design, "replicate").ok(); }, [this] { takeWith("compare", "compare-changed"); });
    with(tooLarge, [this] {
        takeWith("memory", "memory-training");
        takeWith("cost", "cost-training");
    });
    with(pipeline, [this] {
        auto* coloring = m_window.findChild<QAbstractButton*>(QStringLiteral("meshColoring"));
        coloring->setChecked(true);
        take("mesh-memory");
        coloring->setChecked(false);
        takeWith("timeline", "timeline");
    });
    with(nullptr, [this] { takeExplanations(); });
    with(pinned, [this] { takeTraining(); });
    with([](Design& design) { return training(design, "fsdp=2,model=4", "tp+fsdp"); }, [this] { takeSearch(); });
    with(nullptr, [this] { takeStrategies(); });
    with(nullptr, [this] {
        document()->setNotation(Notation::HloV2);
        take("notation");
        document()->setNotation(Notation::Jax);
    });
    with(uneven, [this] {
        takeWith("cuts", "cuts");
        view("export");
        settle(); // what is refused is known then
        selectWeight("o_proj");
        take("deliver-refused");
    });
    with(nullptr, [this] { takeWith("names", "names"); });
    with(byRules, [this] {
        view("rules");
        selectWeight("down_proj");
        take("by-rules-rules");
        takeWith("findings", "by-rules-findings");
    });
    with(nullptr, [this] { takeDrag(); });
    with(nullptr, [this] {
        QWidget* costs = view("cost");
        auto* filter = costs->findChild<ListFilter*>();
        for (const auto& [name, text] : { std::pair("filter", "o_proj"), std::pair("filter-nothing", "conv") }) {
            filter->open();
            costs->findChild<QLineEdit*>(QStringLiteral("filterText"))->setText(QLatin1String(text));
            take(name, costs);
        }
        filter->clear();
    });
    with(nullptr, [this] { takeDialogs(); });
    with(fewTokens, [this] {
        view("run");
        run();
        take("run");
        view("timeline");
        takeWith("errors", "errors");
        for (const char* plot : { "accuracy", "scaling", "memoryPlot" })
            takeWith(plot, plot);
        takeWith("twoRuns", "two-runs");
        takeWith("calibration", "calibration");
        m_window.engine()->stop();
    });
}

void Tour::takeViews()
{
    TileView* tiles = m_window.tileView();
    selectWeight("o_proj");
    take("main");
    for (const char* name : { "weights", "mesh", "tiles", "flow", "inspector" })
        take(name, view(name));
    tiles->showAll(true);
    take("all-weights");
    tiles->showHeld();
    take("one-device");
    tiles->showAll(false);
    dropFocus();
    for (const char* name : { "collectives", "findings", "memory", "cost", "compare" })
        take(name, view(name));
    for (const char* mode : { "explore", "profile", "deliver", "design" })
        takeWith(mode, QLatin1String(mode) == QLatin1String("design") ? "design-again" : mode);
}

/// A search of meshes, a sweep, and prices of limits.
void Tour::takeSearch()
{
    view("explore");
    for (const char* part : { "search.mesh", "search.recompute" })
        if (auto* box = m_window.findChild<QAbstractButton*>(QLatin1String(part)); box != nullptr && box->isEnabled())
            box->setChecked(true);
    m_window.actionRegistry()->get(QStringLiteral("mode.act"))->trigger();
    take("explore-searched");
    for (const auto& [panel, button] : { std::pair("sweep", "sweepStart"), std::pair("prices", "pricesStart") }) {
        view(panel);
        if (auto* start = m_window.findChild<QAbstractButton*>(QLatin1String(button)))
            start->click();
        settle();
        take(panel);
    }
    view("compare");
}

void Tour::takeExplanations()
{
    const auto evaluation = document()->evaluation();
    const auto& all = evaluation->plan.collectives;
    const auto costs = [](const Collective& one) { return one.seconds * static_cast<double>(one.count); };
    const auto costliest = std::max_element(
        all.begin(), all.end(), [&](const Collective& one, const Collective& other) { return costs(one) < costs(other); });
    view("explain");
    if (costliest != all.end()) {
        document()->selection()->setCollective(CollectiveId(costliest - all.begin()));
        take("explain");
    }
    if (const auto targets = explainTargets(*evaluation, "self_attn.attention"); targets.ok()) {
        document()->selection()->setOperation(targets.value().front().segment, targets.value().front().op);
        take("explain-operation");
    }
    selectWeight("o_proj");
}

void Tour::takeTraining()
{
    auto* phases = m_window.findChild<QComboBox*>(QStringLiteral("flowPhase"));
    const auto phase = [&](int index, const char* panel, const char* name) {
        view(panel);
        if (phases->count() < 2)
            return;
        phases->setCurrentIndex(index);
        Q_EMIT phases->activated(index);
        take(name);
    };
    phase(1, "decisions", "training");
    phase(2, "collectives", "training-update");
    // A collective that the plan is walked to, with what moves between devices; and the mesh zoomed.
    auto* player = m_window.findChild<PlanPlayer*>();
    player->setReducedMotion(true); // a picture stands still
    player->first();
    for (int i = 0; i < 4; ++i)
        player->forwardToCollective();
    CanvasNavigation* mesh = m_window.meshView()->canvas()->navigation();
    mesh->zoom(1.6);
    take("flow-step");
    mesh->fitAll();
    player->stop();
}

void Tour::takeStrategies()
{
    view("strategy");
    selectWeight("o_proj");
    auto* editor = m_window.findChild<StrategyEditor*>();
    const auto kind = [&](StrategyKind it, const char* name, QWidget* shown) {
        editor->chooseKind(it);
        take(name, shown);
    };
    kind(StrategyKind::HeadAwareColumnwise, "strategy-heads", editor);
    kind(StrategyKind::Segmented, "strategy-segmented", editor);
    kind(StrategyKind::StackedQkv, "strategy-refused", editor);
    kind(StrategyKind::Rowwise, "strategy", &m_window);
    editor->revert();
}

/// A mesh axis over the tiles of a weight.
void Tour::takeDrag()
{
    const Mesh mesh = document()->design().mesh;
    const std::unique_ptr<QMimeData> data(
        axisMimeData(mesh.axisCount() > 0 ? QString::fromStdString(mesh.axis(0).name) : QString()));
    TileCanvas* canvas = m_window.tileView()->canvas();
    const QPoint place(canvas->width() / 2, canvas->height() / 5);
    QDragEnterEvent enter(place, Qt::MoveAction | Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
    QDragMoveEvent move(place, Qt::MoveAction | Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
    QDragLeaveEvent leave;
    QApplication::sendEvent(canvas, &enter);
    QApplication::sendEvent(canvas, &move);
    take("drag");
    QApplication::sendEvent(canvas, &leave);
}

void Tour::takeDialogs()
{
    PictureDialog picture(QObject::tr("Mesh"), { QStringLiteral("llama3-8b-mesh.svg"), {} }, true, &m_window);
    picture.show();
    take("picture", &picture);
}

/// One layer at real dimensions, if there is an engine and it is quick enough.
void Tour::run()
{
    constexpr int kPatienceMs = 60000;
    RunOptions options;
    options.layers = 1;
    options.verify = true;
    options.ends = false;
    m_window.runPanel()->setOptions(options);
    if (!m_window.runPanel()->canRun())
        return;
    EngineSession* engine = m_window.engine();
    QEventLoop loop;
    QObject::connect(engine, &EngineSession::finished, &loop, &QEventLoop::quit);
    QObject::connect(engine, &EngineSession::refused, &loop, &QEventLoop::quit);
    QObject::connect(engine, &EngineSession::stateChanged, &loop, [&] {
        if (engine->state() == EngineSession::State::Failed)
            loop.quit();
    });
    QTimer::singleShot(kPatienceMs, &loop, &QEventLoop::quit);
    m_window.runPanel()->run();
    loop.exec();
}

} // namespace

Status writeOnePicture(QApplication& application, const CommandLine& line)
{
    Tour tour(application, line, line.theme == QLatin1String("dark"));
    if (!tour.window().viewNames().contains(line.view))
        return usageError("--view", "“" + line.view.toStdString() + "” is not a view",
                          "use " + tour.window().viewNames().join(QStringLiteral(", ")).toStdString());
    tour.show();
    if (const Status status = tour.open(); !status.ok())
        return status;
    QWidget* view = tour.window().showView(line.view);
    tour.settle();
    return writePicture(view, line.picture, { line.scale, line.whole });
}

Status writeTour(QApplication& application, const CommandLine& line)
{
    if (!QDir(line.tourFolder).mkpath(QStringLiteral(".")))
        return inputError(line.tourFolder.toStdString(), "cannot be made", "name a folder that can be written to");
    const auto write = [&](bool dark, const QString& ending) { return Tour(application, line, dark).write(ending); };
    if (!line.theme.isEmpty())
        return write(line.theme == QLatin1String("dark"), QStringLiteral(".png"));
    const Status status = write(false, QStringLiteral("-light.png"));
    return status.ok() ? write(true, QStringLiteral("-dark.png")) : status;
}

} // namespace shardboard
