// SPDX-License-Identifier: Apache-2.0
#include "model/io/plots/scalingplot.h"

#include "model/design/evaluation.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <array>
#include <optional>

namespace shardboard {

namespace {

std::optional<Design> withAxis(const Design& design, int axis, std::int64_t size)
{
    std::vector<MeshAxis> axes = design.mesh.axes();
    axes[static_cast<std::size_t>(axis)].size = size;
    auto mesh = Mesh::make(std::move(axes));
    if (!mesh.ok())
        return std::nullopt;
    Design out = design;
    out.mesh = std::move(mesh).value();
    return out;
}

struct Planned {
    PlotPoint point;
    bool fits = true;
};

std::optional<Planned> planned(const Design& design, double memory)
{
    const auto evaluation = planOnly(design, Misfits::Replicate);
    if (!evaluation.ok())
        return std::nullopt;
    const Plan& plan = evaluation.value()->plan;
    if (plan.segments.empty() || plan.seconds() <= 0)
        return std::nullopt;
    Planned out;
    const auto devices = static_cast<double>(plan.mesh.deviceCount());
    out.fits = fitOf(plan.memory, static_cast<std::int64_t>(memory)) != Fit::DoesNotFit;
    out.point = { devices, plan.seconds(),
                  plan.mesh.text() + ": " + secondsText(plan.seconds()) + ", " + bytesText(plan.memory.peak)
                      + (out.fits ? "" : ", does not fit") };
    return out;
}

} // namespace

Plot scalingPlot(const Design& design, const std::vector<ScaledRun>& runs, const std::atomic<bool>* stop)
{
    Plot out;
    out.id = "scaling";
    out.x = { "devices", PlotUnit::Number, true };
    out.y = { "seconds of a step", PlotUnit::Seconds, true };
    const auto hardware = hardwareOf(design);
    if (!hardware.ok())
        return out;
    const double memory = hardware.value().memoryBytes();
    const auto now = planned(design, memory);
    if (!now)
        return out;
    PlotSeries misfits { "does not fit", PlotMark::Square, false, false, false, true, -1, {} };
    double least = now->point.x;
    double most = now->point.x;
    std::vector<PlotSeries> lines;
    for (int axis = 0; axis < design.mesh.axisCount(); ++axis) {
        const std::int64_t size = design.mesh.axis(axis).size;
        PlotSeries line { "more of " + design.mesh.axis(axis).name, PlotMark::None, false, false, false, false, axis, {} };
        for (const auto& [times, by] :
             std::array<std::pair<std::int64_t, std::int64_t>, 5> { { { 1, 4 }, { 1, 2 }, { 1, 1 }, { 2, 1 }, { 4, 1 } } }) {
            if (stop != nullptr && *stop)
                return out;
            if (size * times % by != 0 || size * times / by < 1)
                continue;
            const auto other = times == by ? std::optional(design) : withAxis(design, axis, size * times / by);
            const auto one = times == by ? now : other ? planned(*other, memory) : std::nullopt;
            if (!one)
                continue;
            line.points.push_back(one->point);
            if (!one->fits)
                misfits.points.push_back(one->point);
            least = std::min(least, one->point.x);
            most = std::max(most, one->point.x);
        }
        if (line.points.size() > 1)
            lines.push_back(std::move(line));
    }
    if (most > least)
        out.series.push_back({ "ideal",
                               PlotMark::None,
                               true,
                               false,
                               false,
                               false,
                               -1,
                               { { least, now->point.y * now->point.x / least, "twice the devices, half the time" },
                                 { most, now->point.y * now->point.x / most, "twice the devices, half the time" } } });
    for (PlotSeries& line : lines)
        out.series.push_back(std::move(line));
    out.series.push_back({ "this design", PlotMark::Circle, false, false, false, true, -1, { now->point } });
    if (!misfits.points.empty())
        out.series.push_back(std::move(misfits));
    PlotSeries measured { "measured", PlotMark::Diamond, false, false, false, false, 3, {} };
    for (const ScaledRun& run : runs)
        measured.points.push_back({ static_cast<double>(run.devices), run.seconds, run.what + ": " + secondsText(run.seconds) });
    if (!measured.points.empty())
        out.series.push_back(std::move(measured));
    if (lines.empty())
        out.notes.push_back("no other size of an axis can be planned");
    return out;
}

} // namespace shardboard
