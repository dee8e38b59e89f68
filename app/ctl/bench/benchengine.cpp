// SPDX-License-Identifier: Apache-2.0
// What the worker's products and collectives reach of the best that this machine was seen to do in the same session: products by
// the rate of the library called alone, collectives by the least that they have to read and write: at the rate of a copy that
// goes past the caches, of writing alone and of reading alone from as many places, whichever takes longest. All of them are
// measured in turn with the collective.
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "app/worker/askworker.h"
#include "model/io/wire/calibration.h"
#include "model/text/numbers.h"

namespace shardboard {

namespace {

std::string percentText(double part) { return std::to_string(static_cast<int>(100 * part + 0.5)) + " %"; }

Result<BenchmarkReport> benchCalibration(bool quick)
{
    const std::atomic<bool> never { false }; // Ctrl-C ends the program, and with it the worker
    const auto answer =
        askWorker({}, { { "type", "calibrate" }, { "options", toJson(CalibrationOptions { "cpu", quick }) } }, {}, never);
    if (!answer.ok())
        return answer.error();
    const auto measured = calibrationFromJson(answer.value().value("calibration", nlohmann::json()));
    if (!measured.ok())
        return engineError(measured.error().what, measured.error().where);
    const MachineLimits& limits = measured.value().limits;
    BenchmarkReport report;
    Table table({ "engine, " + measured.value().machine, ">seconds", ">quartiles apart", ">rate", ">of the best", ">of a copy" });
    for (const CalibrationPoint& point : measured.value().points) {
        const bool gemm = point.kind == "gemm";
        if (!point.source.empty() || (!gemm && point.groupSize == 1))
            continue;
        const double rate = (gemm ? point.flops : point.bytes) / point.seconds;
        const double share = gemm ? rate / limits.gemmFlopsOne : point.ofBest > 0 ? point.ofBest : rate / limits.copyBytesAll;
        table.add({ point.what, secondsText(point.seconds), percentText(point.spread),
                    std::to_string(static_cast<int>(rate / 1e9 + 0.5)) + (gemm ? " GFLOP/s" : " GB/s"), percentText(share),
                    point.ofCopy > 0 ? percentText(point.ofCopy) : "" });
        report.rows.push_back({ { "name", "engine" },
                                { "kind", point.kind },
                                { "what", point.what },
                                { "group_size", point.groupSize },
                                { "message_bytes", point.messageBytes },
                                { "seconds", point.seconds },
                                { "spread", point.spread },
                                { "settled", point.settled },
                                { "rate", rate },
                                { "of_best", share },
                                { "of_copy", point.ofCopy },
                                { "copy_rate", point.copyRate },
                                { "store_rate", point.storeRate },
                                { "read_rate", point.readRate } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace

Result<BenchmarkReport> benchEngine() { return benchCalibration(false); }
Result<BenchmarkReport> benchEngineQuick() { return benchCalibration(true); }

} // namespace shardboard
