// SPDX-License-Identifier: Apache-2.0
// Measures views by themselves with the software renderer and prints JSON, in milliseconds: `bench_views [FRAMES]`. The canvases of
// 16,384 devices at 1600x1000; the pointer over 2,000 weights; a table of more than 1,000 weights with all of its layers open; a
// filter that is typed over 10,000 weights; and the gaps in the event loop while a worker tells a million steps of its progress
// (tests/fakeengine beside it); and how soon a run of the sample ends that is cancelled. At twofold scale with QT_SCALE_FACTOR=2.
#include "app/desktop/files/sample.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/fonts.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "tests/bench/measure.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weighttable.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <QLineEdit>
#include <QScrollBar>
#include <QSplitter>
#include <QTimer>
#include <QTreeView>

#include <cstdio>
#include <cstdlib>

using namespace shardboard;
using namespace shardboard::bench;

namespace {

Design trainedOn(const char* mesh)
{
    Design design;
    design.model = builtinModel("llama3.1-405b").value();
    design.mesh = Mesh::parse(mesh).value();
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = 2048;
    (void)applyPreset(design, "tp+fsdp").ok();
    return design;
}

/// Every other layer is told apart from the ones beside it, so that all are listed.
Design everyLayerApart()
{
    Design design = trainedOn("data=2,fsdp=8,model=8");
    for (std::int64_t layer = 0; layer < design.model.layers; layer += 2)
        design.strategies.push_back({ "model.layers." + std::to_string(layer) + ".mlp.down_proj.weight", {}, std::nullopt });
    return design;
}

/// An architecture that is not understood, as weights alone.
Design looseWeights(int count)
{
    Design design;
    design.mesh = Mesh::parse("data=2,model=8").value();
    design.model.name = "loose";
    design.model.notUnderstood = "made up";
    for (int i = 0; i < count; ++i) {
        ModelSpec::LooseWeight weight;
        weight.tensor.name = "model.layers." + std::to_string(i / 10) + (i % 10 < 4 ? ".self_attn." : ".mlp.") + "part"
            + std::to_string(i % 10) + ".weight";
        weight.tensor.shape = { 4096, 1024 };
        design.model.looseWeights.push_back(std::move(weight));
    }
    return design;
}

json canvas(QWidget& widget, int count)
{
    widget.resize(1600, 1000);
    widget.show();
    settle();
    json out;
    out["zoom"] =
        summary(frames(count, [&](int i) { wheel(&widget, wandering(&widget, i / 40), i % 40 < 20 ? 120 : -120); }), kFrame);
    for (int i = 0; i < 8; ++i)
        wheel(&widget, wandering(&widget, 0), 120);
    mouse(&widget, QEvent::MouseButtonPress, wandering(&widget, 0), Qt::MiddleButton, Qt::MiddleButton);
    out["pan"] = summary(
        frames(count, [&](int i) { mouse(&widget, QEvent::MouseMove, wandering(&widget, i), Qt::NoButton, Qt::MiddleButton); }),
        kFrame);
    mouse(&widget, QEvent::MouseButtonRelease, wandering(&widget, 0), Qt::MiddleButton, Qt::NoButton);
    widget.hide();
    return out;
}

json canvases(int count)
{
    Document document;
    if (!document.setDesign(trainedOn("pod=4,data=8,fsdp=64,model=8")).ok())
        return "the design cannot be evaluated";
    document.selection()->setWeight(3);
    MeshCanvas mesh(&document);
    mesh.refresh();
    TileCanvas tiles(&document);
    tiles.show(3);
    return { { "mesh", canvas(mesh, count) }, { "tiles", canvas(tiles, count) } };
}

json weights(int count)
{
    Document document;
    if (!document.setDesign(everyLayerApart()).ok())
        return "the design cannot be evaluated";
    WeightPanel panel(&document);
    panel.resize(310, 1000);
    panel.show();
    settle();
    auto* tree = panel.findChild<QTreeView*>(QStringLiteral("weightTree"));
    json out { { "weights", document.evaluation()->weights.size() } };
    out["expand_all"] = summary(frames(20, [&](int i) { i % 2 == 0 ? tree->collapseAll() : tree->expandAll(); }), kFrame);
    tree->expandAll();
    QScrollBar* bar = tree->verticalScrollBar();
    out["scroll"] = summary(
        frames(count, [&](int i) { bar->setValue(static_cast<int>((0.5 + 0.5 * std::sin(i * 0.1)) * bar->maximum())); }), kFrame);
    return out;
}

/// The pointer over 2,000 weights on 16,384 devices, with the list that shows which one it is over.
json hover(int count)
{
    Design design = looseWeights(2000);
    design.mesh = Mesh::parse("pod=4,data=8,fsdp=64,model=8").value();
    StrategyEntry entry;
    entry.match = "*";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = "P('fsdp', 'model')";
    design.strategies.push_back(entry);
    Document document;
    if (!document.setDesign(design).ok())
        return "the design cannot be evaluated";
    QSplitter both;
    both.addWidget(new WeightPanel(&document));
    auto* tiles = new TileView(&document);
    both.addWidget(tiles);
    both.resize(1600, 1000);
    both.show();
    tiles->showAll(true);
    document.selection()->setDevice(77);
    settle();
    QWidget* canvas = tiles->modelCanvas();
    auto* list = both.findChild<QTreeView*>(QStringLiteral("weightTree"));
    list->expandAll();
    json out { { "weights", document.evaluation()->weights.size() } };
    const auto over = [&](QWidget* widget) {
        const json frame = summary(
            frames(count, [&](int i) { mouse(widget, QEvent::MouseMove, wandering(widget, i), Qt::NoButton, Qt::NoButton); }),
            kFrame);
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(widget, &leave);
        return frame;
    };
    out["canvas"] = over(canvas);
    out["list"] = over(list->viewport());
    return out;
}

json filter(int rows)
{
    constexpr double kGoal = 50;
    Document document;
    if (!document.setDesign(looseWeights(rows)).ok())
        return "the design cannot be evaluated";
    WeightPanel panel(&document);
    panel.resize(310, 1000);
    panel.show();
    settle();
    auto* edit = panel.findChild<QLineEdit*>(QStringLiteral("weightFilter"));
    const QStringList typed { QStringLiteral("m"),
                              QStringLiteral("ml"),
                              QStringLiteral("mlp"),
                              QStringLiteral("mlp."),
                              QStringLiteral("*.mlp.part7*"),
                              QString(),
                              QStringLiteral("dim 0 = model"),
                              QStringLiteral("replicated"),
                              QStringLiteral("layers.77"),
                              QStringLiteral("no such weight") };
    json out { { "rows", document.evaluation()->weights.size() } };
    out["typed"] = summary(frames(40, [&](int i) { edit->setText(typed[i % typed.size()]); }), kGoal);
    return out;
}

/// The list of a model that nobody knows: it is scrolled, searched, and a weight of it is given another strategy.
json unknown(int rows, int count)
{
    constexpr double kGoal = 100;
    Document document;
    if (!document.setDesign(looseWeights(rows)).ok())
        return "the design cannot be evaluated";
    WeightPanel panel(&document);
    panel.resize(310, 1000);
    panel.show();
    settle();
    json out { { "rows", document.evaluation()->weights.size() } };
    auto* tree = panel.findChild<QTreeView*>(QStringLiteral("weightTree"));
    QScrollBar* bar = tree->verticalScrollBar();
    out["scroll"] = summary(
        frames(count, [&](int i) { bar->setValue(static_cast<int>((0.5 + 0.5 * std::sin(i * 0.1)) * bar->maximum())); }), kFrame);
    auto* edit = panel.findChild<QLineEdit*>(QStringLiteral("weightFilter"));
    const QStringList typed { QStringLiteral("mlp"), QStringLiteral("layers.77"), QStringLiteral("*.mlp.part7*"), QString() };
    out["search"] = summary(frames(20, [&](int i) { edit->setText(typed[i % typed.size()]); }), kGoal);
    out["layout"] = summary(frames(10,
                                   [&](int i) {
                                       Design design = document.design();
                                       StrategyEntry entry;
                                       entry.match = "*.mlp.part" + std::to_string(4 + i % 6) + ".weight";
                                       entry.strategy.kind = StrategyKind::Spec;
                                       entry.strategy.spec = i % 2 == 0 ? "P('model')" : "P(None, 'model')";
                                       design.strategies.push_back(entry);
                                       document.setDesign(design).ok();
                                   }),
                            kGoal);
    return out;
}

/// Gaps between turns of an event loop that has a timer of no time, as a window that is painted all the time has.
json flood(const QString& program)
{
    if (!QFileInfo::exists(program))
        return "there is no fakeengine beside this program";
    Document document;
    if (!document.setDesign(trainedOn("data=2,fsdp=8,model=8")).ok())
        return "the design cannot be evaluated";
    EngineSession session(QStringLiteral("'%1' flood").arg(program));
    RunPanel panel(&document, &session);
    panel.resize(900, 260);
    panel.show();
    settle();
    int steps = 0;
    bool over = false;
    QObject::connect(&session, &EngineSession::progressed, [&] { ++steps; });
    QObject::connect(&session, &EngineSession::finished, [&] { over = true; });
    Times gaps;
    QElapsedTimer all;
    panel.run();
    QElapsedTimer gap;
    all.start();
    gap.start();
    double cpu = threadMilliseconds();
    constexpr qint64 kLimitMs = 120000;
    while (!over && all.elapsed() < kLimitMs && session.state() != EngineSession::State::Failed) {
        QApplication::processEvents();
        for (QWidget* window : QApplication::topLevelWidgets()) {
            QEvent paint(QEvent::UpdateRequest);
            if (window->isVisible())
                QApplication::sendEvent(window, &paint);
        }
        gaps.wall.push_back(static_cast<double>(gap.nsecsElapsed()) * 1e-6);
        gap.restart();
        const double now = threadMilliseconds();
        gaps.cpu.push_back(now - cpu);
        cpu = now;
    }
    constexpr double kGoal = 50;
    json out = summary(gaps, kGoal);
    out["longest"] = quantile(gaps.wall, 1);
    out["longest_cpu"] = quantile(gaps.cpu, 1);
    out["steps"] = steps;
    out["seconds"] = static_cast<double>(all.elapsed()) / 1000;
    return out;
}

/// From Cancel to the end of a run of the sample by the real worker, at different moments of it.
json cancelling(const QString& program)
{
    constexpr double kGoal = 500;
    const auto design = openSample(QStringLiteral("llama3-8b"));
    if (!QFileInfo::exists(program) || !design.ok())
        return "there is no worker beside this program";
    Document document;
    if (!document.setDesign(design.value()).ok())
        return "the sample cannot be evaluated";
    EngineSession session(QStringLiteral("'%1'").arg(program));
    Times times;
    for (const int after : { 100, 400, 900, 1500, 2500 }) {
        bool over = false;
        bool running = false;
        const auto ended = QObject::connect(&session, &EngineSession::stateChanged, [&] {
            over = running && session.state() != EngineSession::State::Running;
            running = running || session.state() == EngineSession::State::Running;
        });
        RunOptions options;
        options.layers = 2;
        options.steps = 100;
        session.run(document.evaluation(), options);
        QElapsedTimer timer;
        timer.start();
        while (!running && session.state() != EngineSession::State::Failed && timer.elapsed() < 10000)
            QApplication::processEvents(QEventLoop::AllEvents, 10);
        timer.restart();
        while (timer.elapsed() < after && !over)
            QApplication::processEvents(QEventLoop::AllEvents, 10);
        const bool cancels = session.state() == EngineSession::State::Running; // else refused: there is no memory for it, say
        timer.restart();
        session.cancel();
        while (cancels && !over && timer.elapsed() < 6000)
            QApplication::processEvents(QEventLoop::AllEvents, 5);
        if (cancels && over)
            times.wall.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
        QObject::disconnect(ended);
    }
    json out = summary(times, kGoal);
    out["each"] = times.wall;
    return out;
}

} // namespace

int main(int argc, char** argv)
{
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
    const int count = argc > 1 ? std::max(20, std::atoi(argv[1])) : 200;
    QApplication application(argc, argv);
    ensureFonts(application);
    applyTheme(application, Theme::light());
    json report;
    report["scale"] = application.devicePixelRatio();
    report["canvases"] = canvases(count);
    report["weights"] = weights(count);
    report["hover"] = hover(count);
    report["filter"] = filter(10000);
    report["unknown"] = unknown(100000, count);
    report["run"] = flood(QFileInfo(QApplication::applicationFilePath()).absolutePath() + QStringLiteral("/fakeengine"));
    report["cancel"] =
        cancelling(QFileInfo(QApplication::applicationFilePath()).absolutePath() + QStringLiteral("/../bin/shardboard-engine"));
    std::printf("%s\n", report.dump(1).c_str());
    return 0;
}
