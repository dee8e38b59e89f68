// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/tour/tour.h"

#include "app/desktop/base/settings.h"
#include "app/desktop/export/exportdialog.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/pictures/picturedialog.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/docks.h"
#include "app/desktop/window/mainwindow.h"
#include "model/design/explain/explain.h"
#include "model/design/presets/presets.h"
#include "model/rules/rulesetup.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/controls/axisdrag.h"
#include "widgets/document/planplayer.h"
#include "widgets/flow/flowview.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/tables/listfilter.h"
#include "widgets/tiles/tileview.h"
#include "widgets/work/latestjob.h"
#include "widgets/workbench/meshchips.h"

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
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
#include <memory>

namespace shardboard {

namespace {

constexpr int kRunLimitMs = 60000;

/// Lets layouts, posted paints, queued calls and evaluations in the background happen.
void settle(const QWidget* window)
{
    constexpr int kLimitMs = 5000;
    const auto jobs = window->findChildren<LatestJob*>();
    const auto busy = [&] { return std::any_of(jobs.begin(), jobs.end(), [](const auto* job) { return job->isBusy(); }); };
    QElapsedTimer timer;
    timer.start();
    for (int i = 0; i < 4 || (busy() && timer.elapsed() < kLimitMs); ++i) {
        QApplication::sendPostedEvents();
        QApplication::processEvents(QEventLoop::AllEvents, 50);
    }
}

class Tour {
public:
    Tour(const QDir& folder, QString suffix, MainWindow& window)
        : m_folder(folder)
        , m_suffix(std::move(suffix))
        , m_window(window)
    {
    }

    Status welcome() { return grab(QStringLiteral("welcome"), &m_window); }

    Status pictures()
    {
        selectExample();
        Status status = grab(QStringLiteral("main"), &m_window);
        const std::pair<const char*, const char*> views[] = {
            { "weights", "weightPanel" },      { "mesh", "meshView" }, { "tiles", "tileView" }, { "flow", "flowView" },
            { "inspector", "inspectorPanel" },
        };
        for (const auto& [name, object] : views) {
            if (status.ok())
                status = grab(QString::fromLatin1(name), m_window.findChild<QWidget*>(QString::fromLatin1(object)));
        }
        m_window.tileView()->showAll(true);
        if (status.ok())
            status = grab(QStringLiteral("all-weights"), &m_window);
        m_window.tileView()->showHeld();
        if (status.ok())
            status = grab(QStringLiteral("one-device"), &m_window);
        m_window.tileView()->showAll(false);
        if (QWidget* focused = QApplication::focusWidget())
            focused->clearFocus();
        for (const char* tab : { "collectives", "findings", "memory", "cost", "compare" }) {
            m_window.docks()->raise(QString::fromLatin1(tab));
            if (status.ok())
                status = grab(QString::fromLatin1(tab), m_window.docks()->find(QString::fromLatin1(tab))->widget());
        }
        m_window.docks()->raise(QStringLiteral("collectives"));
        if (status.ok())
            status = hardware();
        if (status.ok())
            status = comparison();
        if (status.ok())
            status = fullMemory();
        if (status.ok())
            status = stages();
        if (status.ok())
            status = explanation();
        if (status.ok())
            status = training();
        if (status.ok())
            status = strategy();
        if (status.ok())
            status = notation();
        if (status.ok())
            status = cuts();
        if (status.ok())
            status = rules();
        if (status.ok())
            status = drag();
        if (status.ok())
            status = filter();
        if (status.ok())
            status = dialogs();
        if (status.ok())
            status = run();
        return status;
    }

private:
    /// The weight and collective of the sketch, or else the first ones that are cut.
    void selectExample(const char* wanted = "o_proj")
    {
        const auto evaluation = m_window.document()->evaluation();
        Selection* selection = m_window.document()->selection();
        int weight = evaluation->weights.empty() ? -1 : 0;
        for (std::size_t i = 0; i < evaluation->weights.size(); ++i) {
            const std::string& name = evaluation->weights[i].spec.name;
            if (name.find(wanted) != std::string::npos)
                weight = static_cast<int>(i);
        }
        selection->setWeight(weight);
        selection->setDevice(qMin<qint64>(2, evaluation->plan.mesh.deviceCount() - 1));
        if (QWidget* focused = QApplication::focusWidget())
            focused->clearFocus();
    }

    /// Nodes on a network, with the editor of their values.
    Status hardware()
    {
        Document* document = m_window.document();
        const int before = document->undoStack()->index();
        Design design = document->design();
        if (const auto mesh = Mesh::parse("data=4,model=4"); document->design().mesh.find("model") >= 0 && mesh.ok())
            design.mesh = mesh.value();
        (void)document->edit(design, QObject::tr("Sixteen devices"), Misfits::Replicate).ok();
        m_window.docks()->raise(QStringLiteral("hardware"));
        const Status status = grab(QStringLiteral("hardware"), &m_window);
        m_window.docks()->find(QStringLiteral("hardware"))->hide();
        m_window.docks()->raise(QStringLiteral("inspector"));
        document->undoStack()->setIndex(before);
        return status;
    }

    /// The design before and after its layout was dropped.
    Status comparison()
    {
        Document* document = m_window.document();
        const int before = document->undoStack()->index();
        Design design = document->design();
        Status status = done();
        if (applyPreset(design, "replicate").ok()
            && document->edit(design, QObject::tr("Preset replicate"), Misfits::Replicate).ok()) {
            m_window.docks()->raise(QStringLiteral("compare"));
            status = grab(QStringLiteral("compare-changed"), &m_window);
        }
        document->undoStack()->setIndex(before);
        m_window.docks()->raise(QStringLiteral("collectives"));
        return status;
    }

    /// A step of training that no device has room for, over its operations, with what would make it fit.
    Status fullMemory()
    {
        Document* document = m_window.document();
        const int before = document->undoStack()->index();
        Design design = document->design();
        design.workload.kind = WorkloadKind::Train;
        design.workload.batch *= 4;
        Status status = done();
        if (document->edit(design, QObject::tr("Train"), Misfits::Replicate).ok()) {
            m_window.docks()->raise(QStringLiteral("memory"));
            status = grab(QStringLiteral("memory-training"), &m_window);
            m_window.docks()->raise(QStringLiteral("cost"));
            if (status.ok())
                status = grab(QStringLiteral("cost-training"), &m_window);
        }
        document->undoStack()->setIndex(before);
        m_window.docks()->raise(QStringLiteral("collectives"));
        return status;
    }

    /// Stages of a pipeline, and how full the devices of each of them are.
    Status stages()
    {
        Document* document = m_window.document();
        const int before = document->undoStack()->index();
        Design design = document->design();
        design.mesh = Mesh::parse("pipe=4,data=2,model=4").value();
        design.workload.kind = WorkloadKind::Train;
        design.workload.batch = 32;
        design.workload.microBatches = 8;
        Status status = done();
        auto* coloring = m_window.findChild<QAbstractButton*>(QStringLiteral("meshColoring"));
        if (coloring == nullptr || !applyPreset(design, "pp-1f1b").ok()
            || !document->edit(design, QObject::tr("Pipeline"), Misfits::Replicate).ok())
            return status; // not every model can be laid out so
        coloring->setChecked(true);
        status = grab(QStringLiteral("mesh-memory"), &m_window);
        coloring->setChecked(false);
        document->undoStack()->setIndex(before);
        return status;
    }

    /// Why the costliest collective is there, and an operation.
    Status explanation()
    {
        const auto evaluation = m_window.document()->evaluation();
        Selection* selection = m_window.document()->selection();
        const auto& collectives = evaluation->plan.collectives;
        const auto costs = [](const Collective& it) { return it.seconds * static_cast<double>(it.count); };
        const auto costliest = std::max_element(collectives.begin(), collectives.end(),
                                                [&](const Collective& a, const Collective& b) { return costs(a) < costs(b); });
        m_window.docks()->raise(QStringLiteral("explain"));
        Status status = done();
        if (costliest != collectives.end()) {
            selection->setCollective(static_cast<int>(costliest - collectives.begin()));
            status = grab(QStringLiteral("explain"), &m_window);
        }
        if (const auto targets = explainTargets(*evaluation, "self_attn.attention"); status.ok() && targets.ok()) {
            selection->setOperation(targets.value().front().segment, targets.value().front().op);
            status = grab(QStringLiteral("explain-operation"), &m_window);
        }
        selectExample();
        m_window.docks()->raise(QStringLiteral("collectives"));
        return status;
    }

    /// A step of training with its phases and pins.
    Status training()
    {
        Document* document = m_window.document();
        const int before = document->undoStack()->index();
        Design design = document->design();
        design.mesh = Mesh::parse("fsdp=2,model=4").value();
        design.workload.kind = WorkloadKind::Train;
        Status status = done();
        if (const auto applied = applyPreset(design, "tp+fsdp"); !applied.ok())
            return status; // not every model can be laid out so
        design = withPin(design, parsePin("self_attn.residual@model=S1 S1 -> S1").value());
        design = withPin(design, parsePin("*:sequense=fsdp").value());
        status = document->edit(design, QObject::tr("Train"), Misfits::Replicate);
        auto* phase = m_window.findChild<QComboBox*>(QStringLiteral("flowPhase"));
        if (status.ok() && phase != nullptr && phase->count() > 1) {
            m_window.docks()->raise(QStringLiteral("pins"));
            phase->setCurrentIndex(1);
            Q_EMIT phase->activated(1);
            status = grab(QStringLiteral("training"), &m_window);
            m_window.docks()->raise(QStringLiteral("collectives"));
            phase->setCurrentIndex(2);
            Q_EMIT phase->activated(2);
            if (status.ok())
                status = grab(QStringLiteral("training-update"), &m_window);
            if (status.ok())
                status = step();
        }
        document->undoStack()->setIndex(before);
        selectExample();
        return status;
    }

    /// A collective that the plan is walked to, with what moves between devices; and the mesh zoomed.
    Status step()
    {
        auto* flow = m_window.findChild<FlowView*>();
        const bool reduced = flow->player()->hasReducedMotion();
        flow->player()->setReducedMotion(true); // a picture stands still
        flow->player()->first();
        for (int i = 0; i < 4; ++i)
            flow->player()->forwardToCollective();
        m_window.meshView()->canvas()->navigation()->zoom(1.6);
        const Status status = grab(QStringLiteral("flow-step"), &m_window);
        m_window.meshView()->canvas()->navigation()->fitAll();
        flow->player()->stop();
        flow->player()->setReducedMotion(reduced);
        return status;
    }

    /// The editor on the example weight, in whole heads, in parts, and refused.
    Status strategy()
    {
        auto* editor = m_window.findChild<StrategyEditor*>();
        m_window.docks()->raise(QStringLiteral("strategy"));
        const std::pair<const char*, StrategyKind> kinds[] = { { "strategy-heads", StrategyKind::HeadAwareColumnwise },
                                                               { "strategy-segmented", StrategyKind::Segmented },
                                                               { "strategy-refused", StrategyKind::StackedQkv } };
        Status status = done();
        for (const auto& [name, kind] : kinds) {
            editor->chooseKind(kind);
            if (status.ok())
                status = grab(QString::fromLatin1(name), editor);
        }
        editor->chooseKind(StrategyKind::Rowwise);
        if (status.ok())
            status = grab(QStringLiteral("strategy"), &m_window);
        editor->revert();
        m_window.docks()->raise(QStringLiteral("inspector"));
        return status;
    }

    /// The whole window in the notation with the longest texts.
    Status notation()
    {
        Document* document = m_window.document();
        const Notation before = document->notation();
        document->setNotation(Notation::HloV2);
        const Status status = grab(QStringLiteral("notation"), &m_window);
        document->setNotation(before);
        return status;
    }

    /// The cut rules where they differ: the last mesh axis as one that nothing divides by.
    Status cuts()
    {
        Document* document = m_window.document();
        const Mesh& mesh = document->design().mesh;
        bool edited = false;
        if (mesh.axisCount() > 0) {
            const int last = mesh.axisCount() - 1;
            const auto uneven = withMeshAxis(document->design(), last, { mesh.axis(last).name, 3 });
            edited = uneven.ok() && document->edit(uneven.value(), QObject::tr("Show uneven cuts")).ok();
        }
        m_window.docks()->raise(QStringLiteral("cuts"));
        const Status status = grab(QStringLiteral("cuts"), &m_window);
        m_window.docks()->raise(QStringLiteral("collectives"));
        if (edited)
            document->undoStack()->undo();
        return status;
    }

    /// The design laid out by rules alone: its own, or else a rule set that cuts it over two axes.
    Status rules()
    {
        Document* document = m_window.document();
        const int before = document->undoStack()->index();
        Design design = document->design();
        design.strategies.clear();
        if (design.rules.rules.empty()) {
            design.mesh = Mesh::parse("data=2,fsdp=2,tensor=2").value();
            design.rules = { "preset default", rulePreset("default", {}).value().rules };
        }
        Status status = document->edit(design, QObject::tr("Let the rules decide"), Misfits::Replicate);
        selectExample("down_proj");
        for (const char* tab : { "rules", "findings" }) {
            m_window.docks()->raise(QString::fromLatin1(tab));
            if (status.ok())
                status = grab(QStringLiteral("by-rules-") + QString::fromLatin1(tab), &m_window);
        }
        m_window.docks()->raise(QStringLiteral("collectives"));
        document->undoStack()->setIndex(before);
        return status;
    }

    Status drag()
    {
        const Mesh& mesh = m_window.document()->evaluation()->plan.mesh;
        QWidget* target = m_window.tileView()->findChild<QWidget*>(QStringLiteral("tileCanvas"));
        if (target == nullptr)
            target = m_window.tileView();
        if (mesh.axisCount() == 0)
            return grab(QStringLiteral("drag"), &m_window);
        const std::unique_ptr<QMimeData> data(axisMimeData(QString::fromStdString(mesh.axis(0).name)));
        const QPoint place(target->width() / 2, target->height() / 5);
        QDragEnterEvent enter(place, Qt::MoveAction | Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &enter);
        QDragMoveEvent move(place, Qt::MoveAction | Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &move);
        const Status status = grab(QStringLiteral("drag"), &m_window);
        QDragLeaveEvent leave;
        QApplication::sendEvent(target, &leave);
        return status;
    }

    /// One layer at real dimensions on few tokens, if there is an engine and it is quick enough.
    Status run()
    {
        Document* document = m_window.document();
        Design small = document->design();
        small.workload.kind = WorkloadKind::Prefill;
        small.workload.sequence = 64;
        const bool edited = document->edit(small, QObject::tr("Shorten the workload")).ok();
        RunOptions options;
        options.layers = 1;
        options.verify = true;
        options.ends = false;
        m_window.runPanel()->setOptions(options);
        m_window.docks()->raise(QStringLiteral("run"));
        EngineSession* engine = m_window.engine();
        QEventLoop loop;
        QTimer limit;
        limit.setSingleShot(true);
        const auto quit = [&loop] { loop.quit(); };
        QObject::connect(engine, &EngineSession::finished, &loop, quit);
        QObject::connect(engine, &EngineSession::refused, &loop, quit);
        QObject::connect(engine, &EngineSession::stateChanged, &loop, [&] {
            if (engine->state() == EngineSession::State::Failed)
                loop.quit();
        });
        QObject::connect(&limit, &QTimer::timeout, &loop, quit);
        if (m_window.runPanel()->canRun()) {
            limit.start(kRunLimitMs);
            m_window.runPanel()->run();
            loop.exec();
        }
        const Status status = grab(QStringLiteral("run"), &m_window);
        engine->stop();
        if (edited)
            document->undoStack()->undo();
        return status;
    }

    /// Rows that have a text, and what is said where none has.
    Status filter()
    {
        m_window.docks()->raise(QStringLiteral("cost"));
        auto* tree = m_window.findChild<QWidget*>(QStringLiteral("costTree"));
        auto* list = tree != nullptr ? tree->findChild<ListFilter*>() : nullptr;
        auto* text = tree != nullptr ? tree->findChild<QLineEdit*>(QStringLiteral("filterText")) : nullptr;
        if (list == nullptr || text == nullptr)
            return inputError("--tour", "the cost view has no filter");
        list->open();
        text->setText(QStringLiteral("o_proj"));
        QWidget* panel = m_window.docks()->find(QStringLiteral("cost"))->widget();
        Status status = grab(QStringLiteral("filter"), panel);
        text->setText(QStringLiteral("conv"));
        if (status.ok())
            status = grab(QStringLiteral("filter-nothing"), panel);
        list->clear();
        return status;
    }

    /// What is asked before something is written.
    Status dialogs()
    {
        ExportDialog exporting(*m_window.document(), QStringLiteral("jax"), QStringLiteral("designs/llama3-8b-jax"), &m_window);
        PictureDialog picture(QObject::tr("Mesh"), { QStringLiteral("llama3-8b-mesh.svg"), {} }, true, &m_window);
        Status status = done();
        for (const auto& [name, dialog] :
             { std::pair<const char*, QDialog*>("export", &exporting), std::pair<const char*, QDialog*>("picture", &picture) }) {
            dialog->show();
            QElapsedTimer timer;
            timer.start();
            while (exporting.isBusy() && timer.elapsed() < kRunLimitMs)
                QApplication::processEvents(QEventLoop::AllEvents, 50);
            if (status.ok())
                status = grab(QString::fromLatin1(name), dialog);
            dialog->hide();
        }
        return status;
    }

    Status grab(const QString& name, QWidget* widget)
    {
        if (widget == nullptr)
            return inputError("--tour", "the view " + name.toStdString() + " was not found");
        settle(&m_window);
        const QString path = m_folder.filePath(name + m_suffix + QStringLiteral(".png"));
        if (!widget->grab().save(path, "PNG"))
            return inputError(QDir::toNativeSeparators(path).toStdString(), "cannot be written",
                              "check the folder's permissions and the space on the disk");
        QTextStream(stdout) << path << Qt::endl;
        return done();
    }

    QDir m_folder;
    QString m_suffix;
    MainWindow& m_window;
};

/// The file of the command line, or the sample.
Status openFor(const CommandLine& line, MainWindow& window)
{
    if (!line.file.isEmpty())
        return window.document()->open(line.file);
    const auto design = sampleDesign();
    return design.ok() ? window.document()->setDesign(design.value()) : Status(design.error());
}

Status tourInTheme(const CommandLine& line, ThemeControl& control, Settings& settings, ThemeChoice choice, const QString& suffix,
                   const QDir& folder)
{
    control.setChoice(choice);
    MainWindow window(settings, control);
    window.resize(line.size);
    window.show();
    Tour tour(folder, suffix, window);
    Status status = tour.welcome();
    if (status.ok())
        status = openFor(line, window);
    return status.ok() ? tour.pictures() : status;
}

} // namespace

Status writeOnePicture(QApplication& application, const CommandLine& line)
{
    const QTemporaryDir temporary;
    Settings settings(temporary.filePath(QStringLiteral("settings.ini")));
    ThemeControl control(application, settings);
    control.setChoice(line.theme == QLatin1String("dark") ? ThemeChoice::Dark : ThemeChoice::Light);
    MainWindow window(settings, control);
    if (!window.viewNames().contains(line.view))
        return usageError("--view", "“" + line.view.toStdString() + "” is not a view",
                          "use " + window.viewNames().join(QStringLiteral(", ")).toStdString());
    window.resize(line.size);
    window.show();
    const Status status = openFor(line, window);
    if (!status.ok())
        return status;
    QWidget* view = window.showView(line.view);
    settle(&window);
    return writePicture(view, line.picture, { line.scale, line.whole });
}

Status writeTour(QApplication& application, const CommandLine& line)
{
    const QDir folder(line.tourFolder);
    if (!folder.mkpath(QStringLiteral(".")))
        return inputError(line.tourFolder.toStdString(), "cannot be made", "name a folder that can be written to");
    const QTemporaryDir temporary;
    Settings settings(temporary.filePath(QStringLiteral("settings.ini")));
    ThemeControl control(application, settings);
    const bool both = line.theme.isEmpty();
    Status status = done();
    if (both || line.theme == QLatin1String("light"))
        status = tourInTheme(line, control, settings, ThemeChoice::Light, both ? QStringLiteral("-light") : QString(), folder);
    if (status.ok() && (both || line.theme == QLatin1String("dark")))
        status = tourInTheme(line, control, settings, ThemeChoice::Dark, both ? QStringLiteral("-dark") : QString(), folder);
    return status;
}

} // namespace shardboard
