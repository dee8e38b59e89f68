// SPDX-License-Identifier: Apache-2.0
// Measures the timeline with the software renderer and prints JSON, in milliseconds: `bench_timeline [EVENTS [FRAMES]]`, one
// million and 300 unless given. A trace file of so many events is written, read, and made to lanes; then its canvas (1290x380) is
// panned by the mouse and zoomed by the wheel, from everything down to microseconds. Goals: open in 2 s within 500 MB, p99 of a
// frame 16 ms.
#include "app/desktop/window/fonts.h"
#include "model/io/lanes/tracelanes.h"
#include "model/io/trace/readtrace.h"
#include "tests/bench/measure.h"
#include "widgets/look/theme.h"
#include "widgets/timeline/timelinecanvas.h"

#include <QFile>
#include <QTemporaryDir>

#include <cstdio>
#include <cstdlib>
#include <random>

#include <sys/resource.h>

using namespace shardboard;
using namespace shardboard::bench;

namespace {

/// Eight devices with a stream of kernels and one of collectives each, and calls within calls on a host thread.
bool writeTrace(const QString& path, int events)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return false;
    std::mt19937 random(11);
    const char* const kernels[] = { "gemm_bf16_128x256", "flash_fwd_kernel", "vectorized_elementwise", "rms_norm_forward" };
    std::vector<double> clocks(24, 0);
    file.write("{\"traceEvents\":[");
    QByteArray block;
    for (int i = 0; i < events; ++i) {
        const int lane = static_cast<int>(random() % clocks.size());
        const int device = lane % 8;
        const int kind = lane / 8;
        double& clock = clocks[static_cast<std::size_t>(lane)];
        const double duration = kind == 1 ? 20.0 + static_cast<double>(random() % 400) : 2.0 + static_cast<double>(random() % 60);
        const QByteArray name = kind == 1 ? "ncclDevKernel_AllGather_RING_LL" : kind == 2 ? "aten::linear" : kernels[random() % 4];
        block += (i == 0 ? "" : ",\n") + QByteArray("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"") + name
            + "\",\"pid\":" + QByteArray::number(device) + ",\"tid\":" + QByteArray::number(kind)
            + ",\"ts\":" + QByteArray::number(clock, 'f', 3) + ",\"dur\":" + QByteArray::number(duration, 'f', 3)
            + ",\"args\":{\"External id\":" + QByteArray::number(i) + ",\"device\":" + QByteArray::number(device)
            + ",\"stream\":" + QByteArray::number(kind) + ",\"grid\":[64,1,1],\"block\":[128,1,1]}}";
        clock += duration + (random() % 5 == 0 ? static_cast<double>(random() % 100) : 0);
        if (block.size() > (1 << 20)) {
            file.write(block);
            block.clear();
        }
    }
    file.write(block);
    return file.write("]}") > 0;
}

double megabytes()
{
    rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    ensureFonts(application);
    applyTheme(application, Theme::light());
    const int events = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
    const int count = argc > 2 ? std::atoi(argv[2]) : 300;
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("trace.json"));
    if (!writeTrace(path, events))
        return EXIT_FAILURE;
    json report { { "events", events } };
    const auto start = Clock::now();
    std::shared_ptr<const Timeline> timeline;
    {
        const auto trace = readTrace(path.toStdString());
        if (!trace.ok())
            return EXIT_FAILURE;
        report["read"] = std::round(millisecondsSince(start));
        timeline = std::make_shared<const Timeline>(traceLanes(trace.value()));
    }
    TimelineCanvas canvas;
    canvas.resize(1290, 380);
    canvas.show();
    canvas.setTimeline(timeline);
    settle();
    report["open"] = { { "milliseconds", std::round(millisecondsSince(start)) }, { "goal", 2000 } };
    report["megabytes"] = { { "peak", std::round(megabytes()) }, { "goal", 500 } };
    const QPointF middle = canvas.lanesArea().center();
    const double whole = canvas.timeWindow().secondsPerPixel;
    // From everything to some microseconds a pixel.
    for (const double closer : { 1.0, 30.0, 1000.0, 30'000.0 }) {
        canvas.setWindow(0.4 * timeline->seconds, whole / closer);
        settle();
        mouse(&canvas, QEvent::MouseButtonPress, middle, Qt::MiddleButton, Qt::MiddleButton);
        const Times pans = frames(count, [&](int i) {
            mouse(&canvas, QEvent::MouseMove, middle + QPointF(180 * std::sin(i * 0.21), 0), Qt::NoButton, Qt::MiddleButton);
        });
        mouse(&canvas, QEvent::MouseButtonRelease, middle, Qt::MiddleButton, Qt::NoButton);
        report["pan"]["x" + std::to_string(static_cast<int>(closer))] = summary(pans, kFrame);
    }
    canvas.showAll();
    const Times zooms = frames(count, [&](int i) { wheel(&canvas, middle, (i / 60) % 2 == 0 ? 120 : -120); });
    report["zoom"] = summary(zooms, kFrame);
    canvas.showAll();
    report["hover"] =
        summary(frames(count, [&](int i) { mouse(&canvas, QEvent::MouseMove, wandering(&canvas, i), Qt::NoButton, Qt::NoButton); }),
                kFrame);
    const double kernel = fixedKernel();
    report["fixed_kernel_ms"] = kernel;
    addRatios(report, kernel);
    std::printf("%s\n", report.dump(1).c_str());
    return EXIT_SUCCESS;
}
