// SPDX-License-Identifier: Apache-2.0
// Measures the real window with the software renderer: how soon the sample can be seen, frames while panning, zooming, hovering,
// dragging and playing the plan, and how soon an edit is on screen with everything updated. Prints JSON, in milliseconds:
// `bench_window [FRAMES]`; the start, the edits, the modes, the themes, the plan's steps or 1T on 131,072 devices alone:
// `bench_window start`, `bench_window edits [MODE]`, `bench_window modes`, `bench_window themes`, `bench_window playing`,
// `bench_window huge`. `kernel` is the time of a fixed
// amount of work in the same run, and `kernels` what a p99 is of it, so that figures of different machines can be compared. At
// twofold scale with QT_SCALE_FACTOR=2.
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/window/fonts.h"
#include "app/desktop/window/mainwindow.h"

#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "tests/bench/measure.h"
#include "widgets/controls/axisdrag.h"
#include "widgets/document/planplayer.h"
#include "widgets/document/steptexts.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weighttable.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QMenu>
#include <QMimeData>
#include <QTemporaryDir>

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace shardboard;
using namespace shardboard::bench;

namespace {

constexpr double kScreen = 20; ///< milliseconds, for an edit with all that follows from it
constexpr double kMode = 16; ///< one frame of a usual screen
constexpr double kTheme = 100;
constexpr double kOpen = 100; ///< until the first picture

Design trained(const char* model, const char* mesh, std::int64_t batch)
{
    Design design;
    design.model = builtinModel(model).value();
    design.mesh = Mesh::parse(mesh).value();
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = batch;
    (void)applyPreset(design, "tp+fsdp").ok();
    return design;
}

Design largeDesign() { return trained("llama3.1-405b", "pod=4,data=8,fsdp=64,model=8", 2048); }
Design hugeDesign() { return trained("kimi-k2-1t", "pod=32,data=8,fsdp=64,model=8", 16384); }

class Bench {
public:
    Bench(MainWindow& window, int count)
        : m_window(window)
        , m_count(count)
    {
    }

    json canvas(QWidget* canvas)
    {
        json out;
        out["hover"] = summary(
            frames(m_count, [&](int i) { mouse(canvas, QEvent::MouseMove, wandering(canvas, i), Qt::NoButton, Qt::NoButton); }),
            kFrame);
        out["zoom"] =
            summary(frames(m_count, [&](int i) { wheel(canvas, wandering(canvas, i / 40), i % 40 < 20 ? 120 : -120); }), kFrame);
        for (int i = 0; i < 8; ++i)
            wheel(canvas, wandering(canvas, 0), 120);
        mouse(canvas, QEvent::MouseButtonPress, wandering(canvas, 0), Qt::MiddleButton, Qt::MiddleButton);
        out["pan"] = summary(
            frames(m_count, [&](int i) { mouse(canvas, QEvent::MouseMove, wandering(canvas, i), Qt::NoButton, Qt::MiddleButton); }),
            kFrame);
        mouse(canvas, QEvent::MouseButtonRelease, wandering(canvas, 0), Qt::MiddleButton, Qt::NoButton);
        for (int i = 0; i < 40; ++i)
            wheel(canvas, wandering(canvas, 0), -120);
        return out;
    }

    /// A mesh axis over a canvas that takes it.
    json drag(QWidget* canvas)
    {
        const std::unique_ptr<QMimeData> data(
            axisMimeData(QString::fromStdString(m_window.document()->design().mesh.axis(1).name)));
        QDragEnterEvent enter(wandering(canvas, 0).toPoint(), Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(canvas, &enter);
        const auto times = frames(m_count, [&](int i) {
            QDragMoveEvent move(wandering(canvas, i).toPoint(), Qt::CopyAction, data.get(), Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(canvas, &move);
        });
        QDragLeaveEvent leave;
        QApplication::sendEvent(canvas, &leave);
        return summary(times, kFrame);
    }

    /// What opens a menu: each of its edits is checked first.
    json menus()
    {
        json out;
        out["weights"] = summary(frames(20,
                                        [&](int) {
                                            QMenu menu;
                                            m_window.findChild<WeightPanel*>()->fillMenu(&menu);
                                        }),
                                 kScreen);
        out["tiles"] = summary(frames(20,
                                      [&](int) {
                                          QMenu menu;
                                          m_window.tileView()->fillMenu(&menu);
                                      }),
                               kScreen);
        return out;
    }

    /// The steps of the plan played one after the other, and the frames of their motion over the mesh.
    json playing()
    {
        auto* player = m_window.findChild<FlowView*>()->player();
        MeshCanvas* mesh = m_window.meshView()->canvas();
        json out;
        // A step selects what it is about, and all views follow, as after an edit.
        out["step"] = summary(frames(60, [&](int) { player->forward(); }), kScreen);
        player->forwardToCollective();
        const Evaluation& evaluation = *m_window.document()->evaluation();
        out["motion"] = summary(frames(60,
                                       [&](int i) {
                                           mesh->showTransfer(std::max(CollectiveId(0), mesh->shownTransfer()), 0.1 + 0.01 * i,
                                                              stepTitle(evaluation, player->current()),
                                                              stepDetail(evaluation, player->current()));
                                       }),
                                kFrame);
        return out;
    }

    /// From the edit to everything painted; and the part that is computing alone.
    json edits(const std::function<Design(int)>& edited)
    {
        constexpr int kEdits = 40;
        Times computed;
        const auto times = frames(kEdits, [&](int i) {
            const Design design = edited(i);
            if (!m_window.document()->edit(design, QStringLiteral("edit %1").arg(i), Misfits::Replicate).ok())
                std::fprintf(stderr, "an edit was refused\n");
            computed.wall.push_back(m_window.document()->evaluationSeconds() * 1000);
        });
        json out = summary(times, kScreen);
        out["computed"] = summary(computed, kFrame);
        return out;
    }

    /// From mode to mode: the first visits, visits to views that were seen before, and visits after an edit, which views that
    /// nobody saw have missed.
    json modes()
    {
        constexpr int kVisits = 10;
        Workbench* workbench = m_window.workbench();
        json out;
        for (const WorkMode mode : { WorkMode::Explore, WorkMode::Profile, WorkMode::Deliver, WorkMode::Design }) {
            const auto start = Clock::now();
            workbench->setMode(mode);
            settle();
            out["first"][modeId(mode).toStdString()] = millisecondsSince(start);
        }
        for (const WorkMode mode : { WorkMode::Explore, WorkMode::Profile, WorkMode::Deliver }) {
            Times go;
            Times back;
            Times edited;
            const auto timed = [](Times& times, const std::function<void()>& act) {
                const auto start = Clock::now();
                const double before = threadMilliseconds();
                act();
                settle();
                times.wall.push_back(millisecondsSince(start));
                times.cpu.push_back(threadMilliseconds() - before);
            };
            for (int i = 0; i < kVisits; ++i) {
                timed(go, [&] { workbench->setMode(mode); });
                timed(back, [&] { workbench->setMode(WorkMode::Design); });
                Design design = m_window.document()->design();
                design.workload.batch = 4096 + 2048 * (i % 2);
                (void)m_window.document()->edit(design, QStringLiteral("batch"), Misfits::Replicate).ok();
                settle();
                timed(edited, [&] { workbench->setMode(mode); });
                workbench->setMode(WorkMode::Design);
                settle();
            }
            json& told = out[modeId(mode).toStdString()];
            told["go"] = summary(go, kMode);
            told["back"] = summary(back, kMode);
            told["edited"] = summary(edited, kMode);
        }
        return out;
    }

    /// From light to dark and back, until everything is painted in the new colours.
    json themes(ThemeControl& theme)
    {
        constexpr int kSwitches = 12;
        return summary(
            frames(kSwitches, [&](int i) { theme.setChoice(i % 2 == 0 ? ThemeChoice::Dark : ThemeChoice::Light, false); }), kTheme);
    }

    /// In each mode, with what that mode shows; or in one mode alone.
    void allEdits(json& report, int weight, const QString& only = {})
    {
        for (const WorkMode mode : kWorkModes) {
            if (!only.isEmpty() && modeId(mode) != only)
                continue;
            m_window.workbench()->setMode(mode);
            settle();
            allEditsHere(mode == WorkMode::Design ? report : report["edits_in_" + modeId(mode).toStdString()], weight);
        }
        m_window.workbench()->setMode(WorkMode::Design);
        settle();
    }

    /// 1T on 131,072 devices.
    json huge()
    {
        Document* document = m_window.document();
        const auto opening = Clock::now();
        if (!document->setDesign(hugeDesign()).ok())
            return "refused";
        settle();
        const double opened = millisecondsSince(opening);
        json out {
            { "devices", document->design().mesh.deviceCount() }, { "open", opened }, { "goal", kOpen }, { "met", opened <= kOpen }
        };
        document->selection()->setWeight(weightNamed("q_a_proj"));
        settle();
        out["mesh"] = canvas(m_window.meshView()->canvas());
        out["tiles"] = canvas(m_window.tileView()->canvas());
        if (auto* flow = m_window.findChild<FlowCanvas*>())
            out["flow"] = canvas(flow);
        allEdits(out, document->selection()->weight());
        return out;
    }

    /// The last of that name, of the layers that there are most of.
    int weightNamed(const char* name) const
    {
        int out = 0;
        const auto evaluation = m_window.document()->evaluation();
        for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
            if (evaluation->weights[i].spec.name.find(name) != std::string::npos)
                out = static_cast<int>(i);
        return out;
    }

private:
    void allEditsHere(json& report, int weight)
    {
        Document* document = m_window.document();
        const Design before = document->design();
        report["edit_link"] = edits([&](int i) {
            Design design = document->design();
            Hardware hardware = hardwareOf(design).value();
            hardware.id = "dgx-h100-edited";
            hardware.levels[0].link.bytesPerSecond = 300e9 + 1e9 * i;
            setHardware(design, hardware);
            return design;
        });
        (void)document->edit(before, QStringLiteral("back"), Misfits::Replicate).ok();
        report["edit_weight"] = edits([&](int i) {
            return document->withStrategy(
                document->patternOf(weight),
                document->withAxisOnDim(weight, document->design().mesh.find("model"), i % 2 == 0 ? 1 : 0));
        });
        (void)document->edit(before, QStringLiteral("back"), Misfits::Replicate).ok();
        settle();
    }

    MainWindow& m_window;
    int m_count;
};

} // namespace

int main(int argc, char** argv)
{
    const auto start = Clock::now();
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
    const int count = argc > 1 ? std::max(20, std::atoi(argv[1])) : 300;
    QApplication application(argc, argv);
    ensureFonts(application);
    const QTemporaryDir folder;
    Settings settings(folder.filePath(QStringLiteral("settings.ini")));
    ThemeControl theme(application, settings);
    theme.setChoice(ThemeChoice::Light, false);
    MainWindow window(settings, theme);
    window.resize(1600, 1000);
    window.show();
    settle();
    const double shown = millisecondsSince(start);
    window.fileActions()->openSample();
    settle();
    const double sample = millisecondsSince(start);
    const double sampleCpu = threadMilliseconds(); // with what the loader took before main()
    if (argc > 1 && qstrcmp(argv[1], "start") == 0) {
        std::printf("%s\n", json { { "window", shown }, { "sample", sample }, { "cpu", sampleCpu } }.dump().c_str());
        return 0;
    }

    json report;
    report["start"] =
        json { { "window", shown }, { "sample", sample }, { "goal", 400.0 }, { "met", sample <= 400 }, { "cpu", sampleCpu } };

    Document* document = window.document();
    const auto opening = Clock::now();
    if (!document->setDesign(largeDesign()).ok())
        return 3;
    settle();
    report["open"] = millisecondsSince(opening);
    report["devices"] = document->design().mesh.deviceCount();
    Bench bench(window, count);
    const int weight = bench.weightNamed("q_proj");
    document->selection()->setWeight(weight);
    settle();
    const double kernel = fixedKernel();
    report["kernel"] = kernel;
    if (argc > 1 && qstrcmp(argv[1], "themes") == 0) {
        report["themes"] = bench.themes(theme);
        (void)bench.modes(); // then all views are there
        report["themes_all_seen"] = bench.themes(theme);
        std::printf("%s\n", report.dump(1).c_str());
        return 0;
    }
    if (argc > 1 && qstrcmp(argv[1], "playing") == 0) {
        report["playing"] = bench.playing();
        std::printf("%s\n", report.dump(1).c_str());
        return 0;
    }
    if (argc > 1 && qstrcmp(argv[1], "huge") == 0) {
        report["huge"] = bench.huge();
        addRatios(report, kernel);
        std::printf("%s\n", report.dump(1).c_str());
        return 0;
    }
    if (argc > 1 && qstrcmp(argv[1], "modes") == 0) {
        report["modes"] = bench.modes();
        addRatios(report, kernel);
        std::printf("%s\n", report.dump(1).c_str());
        return 0;
    }
    if (argc > 1 && qstrcmp(argv[1], "edits") == 0) {
        bench.allEdits(report, weight, QString::fromLocal8Bit(argc > 2 ? argv[2] : ""));
        addRatios(report, kernel);
        std::printf("%s\n", report.dump(1).c_str());
        return 0;
    }
    json mesh = bench.canvas(window.meshView()->canvas());
    json tiles = bench.canvas(window.tileView()->canvas());
    tiles["drag"] = bench.drag(window.tileView()->canvas());
    json flow;
    if (auto* canvas = window.findChild<FlowCanvas*>())
        flow = bench.canvas(canvas);
    window.tileView()->showAll(true);
    settle();
    const json weights = bench.canvas(window.tileView()->modelCanvas());
    window.tileView()->showAll(false);
    settle();
    report["menus"] = bench.menus();
    report["mesh"] = mesh;
    report["tiles"] = tiles;
    report["flow"] = flow;
    report["playing"] = bench.playing();
    report["modes"] = bench.modes();
    report["weights"] = weights;

    bench.allEdits(report, weight);

    report["huge"] = bench.huge();
    addRatios(report, kernel);
    std::printf("%s\n", report.dump(1).c_str());
    return 0;
}
