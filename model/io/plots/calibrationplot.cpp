// SPDX-License-Identifier: Apache-2.0
#include "model/io/plots/calibrationplot.h"

#include "model/text/numbers.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace shardboard {

namespace {

/// Products, attention, what moves data, collectives.
std::size_t seriesOf(const CalibrationPoint& point)
{
    if (!point.source.empty()) // an operation of a program
        return point.messageBytes > 0                     ? 3
            : point.work.kernel == KernelClass::Gemm      ? 0
            : point.work.kernel == KernelClass::Attention ? 1
                                                          : 2;
    return point.kind == "gemm" ? 0 : point.kind.starts_with("attention") ? 1 : point.kind == "memory" ? 2 : 3;
}

} // namespace

Plot calibrationPlot(const Calibration& calibration, const MachineFit& fit)
{
    Plot out;
    out.id = "calibration";
    out.x = { "measured seconds", PlotUnit::Seconds, true };
    out.y = { "error of the fit, %", PlotUnit::Number, false };
    struct Series {
        const char* name;
        PlotMark mark;
        int hue;
    };
    constexpr std::array kSeries { Series { "products", PlotMark::Circle, 0 }, Series { "attention", PlotMark::Square, 2 },
                                   Series { "moves data", PlotMark::Triangle, 4 }, Series { "collectives", PlotMark::Diamond, 3 } };
    std::vector<PlotSeries> series;
    for (const Series& one : kSeries)
        series.push_back({ one.name, one.mark, false, false, false, false, one.hue, {} });
    double least = 0;
    double most = 0;
    for (const CalibrationPoint& point : calibration.points) {
        const double fitted = fittedSeconds(point, calibration, fit.hardware);
        if (fitted <= 0)
            continue;
        series[seriesOf(point)].points.push_back(
            { point.seconds, 100 * (fitted / point.seconds - 1),
              point.what + ": " + secondsText(point.seconds) + " measured, " + secondsText(fitted) + " by the fit" });
        least = least > 0 ? std::min(least, point.seconds) : point.seconds;
        most = std::max(most, point.seconds);
    }
    if (most <= 0)
        return out;
    out.series.push_back(
        { "exact", PlotMark::None, false, false, false, false, -1, { { least, 0, "exact" }, { most, 0, "exact" } } });
    for (PlotSeries& one : series)
        if (!one.points.empty())
            out.series.push_back(std::move(one));
    return out;
}

} // namespace shardboard
