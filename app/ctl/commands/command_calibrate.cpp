// SPDX-License-Identifier: Apache-2.0
// shardctl calibrate: measures this machine and writes hardware that designs can be made for.
#include "app/ctl/commands.h"
#include "app/ctl/engineoptions.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "app/ctl/visibleoutput.h"
#include "app/worker/askworker.h"
#include "app/worker/messagefields.h"
#include "model/io/design/designfile.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/measured/machinefit.h"
#include "model/io/wire/backends.h"
#include "model/text/numbers.h"

#include <cmath>
#include <iostream>

namespace shardboard {

namespace {

void printFit(const Calibration& calibration, const MachineFit& fit, const std::string& path)
{
    const DeviceSpec& device = fit.hardware.device;
    const LinkSpec& link = fit.hardware.innerLink();
    print("%s: %s, %lld worker %s, %lld points measured\n", path.c_str(), calibration.machine.c_str(),
          static_cast<long long>(calibration.workers), calibration.workers == 1 ? "thread" : "threads",
          static_cast<long long>(calibration.points.size()));
    print("  a device is one thread: products %.0f GFLOP/s (float32), of which %.0f %%; attention %.0f %%\n",
          *device.peak.fp32 / 1e9, 100 * device.kernels.gemmEfficiency, 100 * device.kernels.attentionEfficiency);
    print("  memory %.1f GB/s read and written, of which %.0f %%; a kernel starts in %s\n", device.memoryBytesPerSecond / 1e9,
          100 * device.kernels.memoryEfficiency, secondsText(device.kernels.launchSeconds).c_str());
    if (device.cache)
        print("  of what a kernel moves, the first %s at %.1f GB/s, from caches\n",
              bytesText(static_cast<std::int64_t>(device.cache->bytes)).c_str(), device.cache->bytesPerSecond / 1e9);
    if (const auto& packing = device.kernels.gemmPacking)
        print("  products pack their operands before they compute, at %.1f GB/s beyond %s%s\n", packing->bytesPerSecond / 1e9,
              bytesText(static_cast<std::int64_t>(packing->freeBytes)).c_str(),
              packing->unpackedEfficiency
                  ? ("; unpacked they reach " + std::to_string(std::lround(100 * *packing->unpackedEfficiency)) + " %").c_str()
                  : "");
    if (const auto& packing = device.kernels.attentionPacking)
        print("  attention moves its operands before it computes, at %.1f GB/s\n", packing->bytesPerSecond / 1e9);
    print("  collectives %.1f GB/s read and written, of all devices together, and %s to start%s\n", link.bytesPerSecond / 1e9,
          secondsText(link.messageSeconds.value_or(link.alphaSeconds)).c_str(), link.messageSeconds ? " a piece" : "");
    if (link.cache)
        print("  of what they move, the first %s at %.1f GB/s, from caches\n",
              bytesText(static_cast<std::int64_t>(link.cache->bytes)).c_str(), link.cache->bytesPerSecond / 1e9);
    print("\n");
    Table table({ "what the model says of", ">points", ">mean error", ">worst" });
    for (const FitReport& report : fit.fits)
        table.add({ report.name, std::to_string(report.points), formatted("%.0f %%", 100 * report.residual.mean),
                    formatted("%.0f %%", 100 * report.residual.worst) });
    std::cout << table.text();
    if (fit.unsettled > 0)
        print("%lld points did not settle within 2 %%: other programs ran, or they are small; medians were taken\n",
              static_cast<long long>(fit.unsettled));
    print("use it: shardctl new --hardware %s --dtype f32 …\n", path.c_str());
}

Result<Calibration> measured(const Arguments& arguments, ProgressLine& line)
{
    CalibrationOptions options;
    options.backend = arguments.text("--backend", "cpu");
    options.quick = arguments.has("--quick");
    const InterruptGuard guard;
    const auto start = engineStartOf(arguments, options.backend);
    if (!start.ok())
        return start.error();
    constexpr std::int64_t kAsManyAsCores = 4096;
    const auto engine = engineCommandFor(options.backend, start.value(), kAsManyAsCores);
    if (!engine.ok())
        return engine.error();
    const auto answer = askWorker(
        engine.value(), { { "type", "calibrate" }, { "options", toJson(options) } },
        [&](const nlohmann::json& message) {
            const std::string type = messageText(message, "type");
            if (type == "waiting")
                std::cerr << visibleText(messageText(message, "what")) << "\n";
            else if (type == "announce")
                std::fprintf(stderr, "needs %s of memory and about %s on this machine, if nothing else runs\n",
                             bytesText(messageWhole(message, "bytes")).c_str(),
                             secondsText(messageNumber(message, "seconds")).c_str());
            else if (type == "progress")
                line.show(messageWhole(message, "step"), messageWhole(message, "of"), messageText(message, "what"));
        },
        InterruptGuard::flag());
    line.clear();
    if (answer.cancelled())
        return Cancelled {};
    if (!answer.ok())
        return answer.error();
    auto calibration = calibrationFromJson(answer.value().value("calibration", nlohmann::json()));
    if (!calibration.ok())
        return engineError(calibration.error().what, calibration.error().where);
    return calibration;
}

} // namespace

int calibrateCommand(const Arguments& arguments)
{
    const std::string path = arguments.text("-o");
    if (path.empty())
        return report(usageError("shardctl calibrate", "-o is missing", "name the hardware file to write, HARDWARE.json"));
    if (!isBackendName(arguments.text("--backend", "cpu")))
        return report(usageError("--backend", "there is no backend '" + arguments.text("--backend") + "'", kBackendsText));
    if (auto status = checkWritable(path); !status.ok())
        return report(status.error());
    ProgressLine line;
    const auto calibration = measured(arguments, line);
    if (calibration.cancelled()) {
        std::fputs("cancelled; nothing was written\n", stderr);
        return kCancelled;
    }
    if (!calibration.ok())
        return report(calibration.error());
    const auto fit = fitMachine(calibration.value());
    if (!fit.ok())
        return report(engineError(fit.error().what, fit.error().where, "run it again while nothing else runs"));
    nlohmann::json document = hardwareJson(fit.value().hardware);
    document["calibration"] = calibrationRecord(calibration.value(), fit.value());
    // What is written must be what the other commands take.
    if (const auto back = hardwareFromJson(document, path); !back.ok())
        return report(engineError("what was measured makes no hardware: " + back.error().text(), "calibration",
                                  "run it again while nothing else runs"));
    if (auto status = writeFileAtomically(path, jsonText(document, 1) + "\n"); !status.ok())
        return report(status.error());
    if (arguments.has("--json"))
        std::cout << jsonText(document, 2) << "\n";
    else
        printFit(calibration.value(), fit.value(), path);
    return kDone;
}

} // namespace shardboard
