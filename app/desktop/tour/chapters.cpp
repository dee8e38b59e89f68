// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/tour/chapters.h"

#include "app/desktop/export/exportdialog.h"
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
#include "widgets/workbench/meshchips.h"

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QEventLoop>
#include <QLineEdit>
#include <QMimeData>
#include <QTimer>

#include <algorithm>
#include <memory>

namespace shardboard {

namespace {

template <class Widget = QWidget>
Widget* named(MainWindow& it, const char* name)
{
    return it.findChild<Widget*>(QLatin1String(name));
}

void dropFocus()
{
    if (QWidget* focused = QApplication::focusWidget())
        focused->clearFocus();
}

/// The last weight of that name, or else the first of all, and the third device.
bool selectWeight(MainWindow& it, const char* wanted)
{
    const auto evaluation = it.document()->evaluation();
    int weight = evaluation->weights.empty() ? -1 : 0;
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
        if (evaluation->weights[i].spec.name.find(wanted) != std::string::npos)
            weight = static_cast<int>(i);
    it.document()->selection()->setWeight(weight);
    it.document()->selection()->setDevice(qMin<qint64>(2, evaluation->plan.mesh.deviceCount() - 1));
    dropFocus();
    return true;
}

bool example(MainWindow& it) { return selectWeight(it, "o_proj"); }
bool exampleOfRules(MainWindow& it) { return selectWeight(it, "down_proj"); }
void backToExample(MainWindow& it) { example(it); }

bool allWeights(MainWindow& it) { return it.tileView()->showAll(true), true; }
bool oneDevice(MainWindow& it) { return it.tileView()->showHeld(), true; }

bool oneWeight(MainWindow& it)
{
    it.tileView()->showAll(false);
    dropFocus();
    return true;
}

/// Nodes on a network, with the editor of their values.
bool sixteenDevices(Design& design)
{
    if (design.mesh.find("model") >= 0)
        design.mesh = Mesh::parse("data=4,model=4").value();
    return true;
}

void hideHardware(MainWindow& it) { it.docks()->find(QStringLiteral("hardware"))->hide(); }

bool replicated(Design& design) { return applyPreset(design, "replicate").ok(); }

/// A step of training that no device has room for.
bool tooLarge(Design& design)
{
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch *= 4;
    return true;
}

bool pipeline(Design& design)
{
    design.mesh = Mesh::parse("pipe=4,data=2,model=4").value();
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = 32;
    design.workload.microBatches = 8;
    return applyPreset(design, "pp-1f1b").ok();
}

bool colorByMemory(MainWindow& it) { return named<QAbstractButton>(it, "meshColoring")->setChecked(true), true; }
void colorByShards(MainWindow& it) { named<QAbstractButton>(it, "meshColoring")->setChecked(false); }

bool costliestCollective(MainWindow& it)
{
    const auto evaluation = it.document()->evaluation();
    const auto& all = evaluation->plan.collectives;
    const auto costs = [](const Collective& one) { return one.seconds * static_cast<double>(one.count); };
    const auto costliest = std::max_element(
        all.begin(), all.end(), [&](const Collective& one, const Collective& other) { return costs(one) < costs(other); });
    if (costliest != all.end())
        it.document()->selection()->setCollective(static_cast<int>(costliest - all.begin()));
    return costliest != all.end();
}

bool attention(MainWindow& it)
{
    const auto targets = explainTargets(*it.document()->evaluation(), "self_attn.attention");
    if (targets.ok())
        it.document()->selection()->setOperation(targets.value().front().segment, targets.value().front().op);
    return targets.ok();
}

bool pinnedTraining(Design& design)
{
    design.mesh = Mesh::parse("fsdp=2,model=4").value();
    design.workload.kind = WorkloadKind::Train;
    if (!applyPreset(design, "tp+fsdp").ok())
        return false;
    design = withPin(design, parsePin("self_attn.residual@model=S1 S1 -> S1").value());
    design = withPin(design, parsePin("*:sequense=fsdp").value());
    return true;
}

template <int Index>
bool phase(MainWindow& it)
{
    auto* phases = named<QComboBox>(it, "flowPhase");
    if (phases->count() < 2)
        return false;
    phases->setCurrentIndex(Index);
    Q_EMIT phases->activated(Index);
    return true;
}

/// A collective that the plan is walked to, with what moves between devices; and the mesh zoomed.
bool fourthCollective(MainWindow& it)
{
    PlanPlayer* player = it.findChild<PlanPlayer*>();
    player->setReducedMotion(true); // a picture stands still
    player->first();
    for (int i = 0; i < 4; ++i)
        player->forwardToCollective();
    it.meshView()->canvas()->navigation()->zoom(1.6);
    return true;
}

void stopWalking(MainWindow& it)
{
    it.meshView()->canvas()->navigation()->fitAll();
    it.findChild<PlanPlayer*>()->stop();
}

template <StrategyKind Kind>
bool kind(MainWindow& it)
{
    return it.findChild<StrategyEditor*>()->chooseKind(Kind), true;
}

void revertStrategy(MainWindow& it) { it.findChild<StrategyEditor*>()->revert(); }

bool longestNotation(MainWindow& it) { return it.document()->setNotation(Notation::HloV2), true; }
void usualNotation(MainWindow& it) { it.document()->setNotation(Notation::Jax); }

/// The last mesh axis as one that nothing divides by.
bool uneven(Design& design)
{
    const int last = design.mesh.axisCount() - 1;
    if (last < 0)
        return true;
    auto edited = withMeshAxis(design, last, { design.mesh.axis(last).name, 3 });
    if (edited.ok())
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

/// A mesh axis over the tiles of a weight.
bool draggedAxis(MainWindow& it)
{
    const Mesh& mesh = it.document()->evaluation()->plan.mesh;
    if (mesh.axisCount() == 0)
        return true;
    auto* canvas = named(it, "tileCanvas");
    const std::unique_ptr<QMimeData> data(axisMimeData(QString::fromStdString(mesh.axis(0).name)));
    const QPoint place(canvas->width() / 2, canvas->height() / 5);
    QDragEnterEvent enter(place, Qt::MoveAction | Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(canvas, &enter);
    QDragMoveEvent move(place, Qt::MoveAction | Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(canvas, &move);
    return true;
}

void leaveWithAxis(MainWindow& it)
{
    QDragLeaveEvent leave;
    QApplication::sendEvent(named(it, "tileCanvas"), &leave);
}

ListFilter* costFilter(MainWindow& it) { return named(it, "costTree")->findChild<ListFilter*>(); }

bool filterCosts(MainWindow& it, const char* text)
{
    costFilter(it)->open();
    named(it, "costTree")->findChild<QLineEdit*>(QStringLiteral("filterText"))->setText(QLatin1String(text));
    return true;
}

bool filterSome(MainWindow& it) { return filterCosts(it, "o_proj"); }
bool filterNothing(MainWindow& it) { return filterCosts(it, "conv"); }
void filterNoMore(MainWindow& it) { costFilter(it)->clear(); }

bool askForExport(MainWindow& it)
{
    (new ExportDialog(*it.document(), QStringLiteral("jax"), QStringLiteral("designs/llama3-8b-jax"), &it))->show();
    return true;
}

bool askForPicture(MainWindow& it)
{
    it.findChild<ExportDialog*>()->hide();
    (new PictureDialog(QObject::tr("Mesh"), { QStringLiteral("llama3-8b-mesh.svg"), {} }, true, &it))->show();
    return true;
}

void askNoMore(MainWindow& it)
{
    delete it.findChild<ExportDialog*>();
    delete it.findChild<PictureDialog*>();
}

bool fewTokens(Design& design)
{
    design.workload.kind = WorkloadKind::Prefill;
    design.workload.sequence = 64;
    return true;
}

/// One layer at real dimensions, if there is an engine and it is quick enough.
bool verifiedRun(MainWindow& it)
{
    constexpr int kPatienceMs = 60000;
    RunOptions options;
    options.layers = 1;
    options.verify = true;
    options.ends = false;
    it.runPanel()->setOptions(options);
    if (!it.runPanel()->canRun())
        return true;
    QEventLoop loop;
    const auto quit = [&loop] { loop.quit(); };
    QObject::connect(it.engine(), &EngineSession::finished, &loop, quit);
    QObject::connect(it.engine(), &EngineSession::refused, &loop, quit);
    QObject::connect(it.engine(), &EngineSession::stateChanged, &loop, [&] {
        if (it.engine()->state() == EngineSession::State::Failed)
            loop.quit();
    });
    QTimer::singleShot(kPatienceMs, &loop, quit);
    it.runPanel()->run();
    loop.exec();
    return true;
}

void stopEngine(MainWindow& it) { it.engine()->stop(); }

} // namespace

const std::vector<TourChapter>& tourChapters()
{
    static const std::vector<TourChapter> chapters {
        { { { "main", "", "", example },
            { "weights", "", "weightPanel" },
            { "mesh", "", "meshView" },
            { "tiles", "", "tileView" },
            { "flow", "", "flowView" },
            { "inspector", "", "inspectorPanel" },
            { "all-weights", "", "", allWeights },
            { "one-device", "", "", oneDevice },
            { "collectives", "collectives", "panel", oneWeight },
            { "findings", "findings", "panel" },
            { "memory", "memory", "panel" },
            { "cost", "cost", "panel" },
            { "compare", "compare", "panel" } } },
        { { { "hardware", "hardware" } }, sixteenDevices, hideHardware },
        { { { "compare-changed", "compare" } }, replicated },
        { { { "memory-training", "memory" }, { "cost-training", "cost" } }, tooLarge },
        { { { "mesh-memory", "", "", colorByMemory } }, pipeline, colorByShards },
        { { { "explain", "explain", "", costliestCollective }, { "explain-operation", "", "", attention } },
          nullptr,
          backToExample },
        { { { "training", "pins", "", phase<1> },
            { "training-update", "collectives", "", phase<2> },
            { "flow-step", "", "", fourthCollective } },
          pinnedTraining,
          stopWalking },
        { { { "strategy-heads", "strategy", "strategyEditor",
              [](MainWindow& it) { return example(it) && kind<StrategyKind::HeadAwareColumnwise>(it); } },
            { "strategy-segmented", "", "strategyEditor", kind<StrategyKind::Segmented> },
            { "strategy-refused", "", "strategyEditor", kind<StrategyKind::StackedQkv> },
            { "strategy", "", "", kind<StrategyKind::Rowwise> } },
          nullptr,
          revertStrategy },
        { { { "notation", "", "", longestNotation } }, nullptr, usualNotation },
        { { { "cuts", "cuts" } }, uneven },
        { { { "by-rules-rules", "rules", "", exampleOfRules }, { "by-rules-findings", "findings" } }, byRules },
        { { { "drag", "", "", draggedAxis } }, nullptr, leaveWithAxis },
        { { { "filter", "cost", "panel", filterSome }, { "filter-nothing", "cost", "panel", filterNothing } },
          nullptr,
          filterNoMore },
        { { { "export", "", "exportDialog", askForExport }, { "picture", "", "pictureDialog", askForPicture } },
          nullptr,
          askNoMore },
        { { { "run", "run", "", verifiedRun } }, fewTokens, stopEngine },
    };
    return chapters;
}

} // namespace shardboard
