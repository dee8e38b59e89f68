// SPDX-License-Identifier: Apache-2.0
// Measures the real window with the software renderer: how soon the sample can be seen, frames while panning, zooming, hovering and
// dragging, and how soon an edit is on screen with everything updated. Prints JSON, in milliseconds: `bench_window [FRAMES]`.
//
// `cpu` is the time of the GUI thread alone, which other programs on the machine do not change much.
//
// A frame is one input event with all that follows from it: signals, layouts and painting into the window's backing store.
#include "app/desktop/fileactions.h"
#include "app/desktop/fonts.h"
#include "app/desktop/mainwindow.h"
#include "app/desktop/sample.h"
#include "app/desktop/settings.h"
#include "app/desktop/themecontrol.h"
#include "model/design/presets.h"
#include "model/formats/openmodel.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/axisdrag.h"
#include "widgets/meshcanvas.h"
#include "widgets/meshview.h"
#include "widgets/tilecanvas.h"
#include "widgets/tileview.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QWheelEvent>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

using namespace shardboard;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// Everything that waits: posted events, layouts, timers of no time; then what is dirty is painted, which the platform would do at
/// its next tick. Not what works in the background.
void settle()
{
    QApplication::sendPostedEvents();
    QApplication::processEvents(QEventLoop::ExcludeUserInputEvents);
    QApplication::sendPostedEvents();
    for (QWidget* window : QApplication::topLevelWidgets()) {
        QEvent paint(QEvent::UpdateRequest);
        if (window->isVisible())
            QApplication::sendEvent(window, &paint);
    }
}

double threadMilliseconds()
{
    timespec now {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Times {
    std::vector<double> wall;
    std::vector<double> cpu;
};

double quantile(std::vector<double> times, double share)
{
    std::sort(times.begin(), times.end());
    const double value = times.empty() ? 0 : times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
    return std::round(value * 1000) / 1000;
}

json summary(const Times& times, double goal)
{
    json out { { "frames", times.wall.size() }, { "median", quantile(times.wall, 0.5) }, { "p99", quantile(times.wall, 0.99) }, { "goal", goal },
               { "met", quantile(times.wall, 0.99) <= goal } };
    if (!times.cpu.empty())
        out["cpu"] = { { "median", quantile(times.cpu, 0.5) }, { "p99", quantile(times.cpu, 0.99) }, { "met", quantile(times.cpu, 0.99) <= goal } };
    return out;
}

/// The time of `frames` events, after a few that are not counted.
Times frames(int count, const std::function<void(int)>& event)
{
    constexpr int kWarm = 5;
    Times out;
    for (int i = -kWarm; i < count; ++i) {
        const auto start = Clock::now();
        const double before = threadMilliseconds();
        event(i + kWarm);
        settle();
        if (i < 0)
            continue;
        out.wall.push_back(millisecondsSince(start));
        out.cpu.push_back(threadMilliseconds() - before);
    }
    return out;
}

void mouse(QWidget* widget, QEvent::Type type, const QPointF& at, Qt::MouseButton button, Qt::MouseButtons buttons)
{
    QMouseEvent event(type, at, widget->mapToGlobal(at), button, buttons, Qt::NoModifier);
    QApplication::sendEvent(widget, &event);
}

void wheel(QWidget* widget, const QPointF& at, int delta)
{
    QWheelEvent event(at, widget->mapToGlobal(at), {}, QPoint(0, delta), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

/// A point that goes round in a widget.
QPointF wandering(const QWidget* widget, int step)
{
    const double x = 0.5 + 0.35 * std::sin(step * 0.37);
    const double y = 0.5 + 0.35 * std::cos(step * 0.23);
    return { widget->width() * x, widget->height() * y };
}

constexpr double kFrame = 16;
constexpr double kScreen = 50;

class Bench {
public:
    Bench(MainWindow& window, int count)
        : m_window(window)
        , m_count(count)
    {
    }

    json canvas(QWidget* canvas, bool pans)
    {
        json out;
        out["hover"] = summary(frames(m_count, [&](int i) { mouse(canvas, QEvent::MouseMove, wandering(canvas, i), Qt::NoButton, Qt::NoButton); }), kFrame);
        if (pans) {
            out["zoom"] = summary(frames(m_count, [&](int i) { wheel(canvas, wandering(canvas, i / 40), i % 40 < 20 ? 120 : -120); }), kFrame);
            for (int i = 0; i < 8; ++i)
                wheel(canvas, wandering(canvas, 0), 120);
            mouse(canvas, QEvent::MouseButtonPress, wandering(canvas, 0), Qt::MiddleButton, Qt::MiddleButton);
            out["pan"] = summary(frames(m_count, [&](int i) { mouse(canvas, QEvent::MouseMove, wandering(canvas, i), Qt::NoButton, Qt::MiddleButton); }), kFrame);
            mouse(canvas, QEvent::MouseButtonRelease, wandering(canvas, 0), Qt::MiddleButton, Qt::NoButton);
            for (int i = 0; i < 40; ++i)
                wheel(canvas, wandering(canvas, 0), -120);
        }
        return out;
    }

    /// A mesh axis over a canvas that takes it.
    json drag(QWidget* canvas)
    {
        const std::unique_ptr<QMimeData> data(axisMimeData(QString::fromStdString(m_window.document()->design().mesh.axis(1).name)));
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

    json scroll(QScrollArea* area)
    {
        QScrollBar* bar = area->verticalScrollBar();
        return summary(frames(m_count, [&](int i) { bar->setValue(static_cast<int>((0.5 + 0.5 * std::sin(i * 0.1)) * bar->maximum())); }), kFrame);
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

private:
    MainWindow& m_window;
    int m_count;
};

Design largeDesign()
{
    Design design;
    design.model = builtinModel("llama3.1-405b").value();
    design.mesh = Mesh::parse("pod=4,data=8,fsdp=64,model=8").value();
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = 2048;
    (void)applyPreset(design, "tp+fsdp").ok();
    return design;
}

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

    json report;
    report["start"] = json { { "window", shown }, { "sample", sample }, { "goal", 400.0 }, { "met", sample <= 400 } };

    Document* document = window.document();
    const auto opening = Clock::now();
    if (!document->setDesign(largeDesign()).ok())
        return 3;
    settle();
    report["open"] = millisecondsSince(opening);
    report["devices"] = document->design().mesh.deviceCount();
    int weight = 0;
    const auto evaluation = document->evaluation();
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
        if (evaluation->weights[i].spec.name.find("q_proj") != std::string::npos)
            weight = static_cast<int>(i);
    document->selection()->setWeight(weight);
    settle();

    Bench bench(window, count);
    json mesh = bench.canvas(window.meshView()->canvas(), true);
    json tiles = bench.canvas(window.tileView()->canvas(), true);
    tiles["drag"] = bench.drag(window.tileView()->canvas());
    json flow;
    if (auto* view = window.findChild<QWidget*>(QStringLiteral("flowView"))) {
        if (auto* area = view->findChild<QScrollArea*>())
            flow["pan"] = bench.scroll(area);
        if (auto* canvas = view->findChild<QWidget*>(QStringLiteral("flowCanvas"))) {
            flow.update(bench.canvas(canvas, false));
        }
    }
    report["mesh"] = mesh;
    report["tiles"] = tiles;
    report["flow"] = flow;

    const Design before = document->design();
    report["edit_link"] = bench.edits([&](int i) {
        Design design = document->design();
        Hardware hardware = hardwareOf(design).value();
        hardware.id = "dgx-h100-edited";
        hardware.levels[0].link.bytesPerSecond = 300e9 + 1e9 * i;
        setHardware(design, hardware);
        return design;
    });
    (void)document->edit(before, QStringLiteral("back"), Misfits::Replicate).ok();
    report["edit_weight"] = bench.edits([&](int i) {
        return document->withStrategy(document->patternOf(weight), document->withAxisOnDim(weight, document->design().mesh.find("model"), i % 2 == 0 ? 1 : 0));
    });
    std::printf("%s\n", report.dump(1).c_str());
    return 0;
}
