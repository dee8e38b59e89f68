// SPDX-License-Identifier: Apache-2.0
#include "model/io/plots/runplots.h"

#include "model/cost/collectiveprices.h"
#include "model/io/lanes/runlanes.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace shardboard {

namespace {

enum OpClass { Product, AttentionOp, MovesData, OpClasses };

PlotSeries opSeries(OpClass which, bool hollow)
{
    switch (which) {
    case Product:
        return { "products", PlotMark::Circle, false, false, false, hollow, 0, {} };
    case AttentionOp:
        return { "attention", PlotMark::Square, false, false, false, hollow, 2, {} };
    default:
        return { "moves data", PlotMark::Triangle, false, false, false, hollow, 4, {} };
    }
}

OpClass classOf(const std::string& kind, double flops)
{
    if (flops <= 0)
        return MovesData;
    return kind.find("attention") == std::string::npos ? Product : AttentionOp;
}

/// Roof and points; `rates` in FLOP/s and bytes/s.
class Roofline {
public:
    Roofline(double flopsPerSecond, double bytesPerSecond, bool hollow)
        : m_flops(flopsPerSecond)
        , m_bytes(bytesPerSecond)
    {
        m_plot.id = "roofline";
        m_plot.x = { "FLOP a byte", PlotUnit::Number, true };
        for (int i = 0; i < OpClasses; ++i)
            m_points.push_back(opSeries(static_cast<OpClass>(i), hollow));
    }

    void add(const std::string& id, const std::string& kind, std::int32_t item, double flops, double bytes, double seconds)
    {
        if (seconds <= 0 || bytes <= 0)
            return;
        const OpClass which = classOf(kind, flops);
        const double x = which == MovesData ? kMovesData : flops / bytes;
        std::string what = id + ": ";
        if (which == MovesData)
            what += figures::bytesPerSecond(bytes / seconds) + ", " + figures::percent(bytes / seconds / m_bytes) + " of a copy";
        else
            what += plotValue(PlotUnit::Number, flops / seconds) + "FLOP/s, "
                + figures::percent(flops / seconds / std::min(m_flops, x * m_bytes)) + " of the roof";
        m_points[which].points.push_back(
            { x, x * m_bytes > 0 && which == MovesData ? x * bytes / seconds : flops / seconds, std::move(what), item });
    }

    Plot plot(const std::string& of)
    {
        m_plot.y = { "FLOP/s " + of, PlotUnit::Number, true };
        double most = 0;
        double least = kMovesData;
        for (const PlotSeries& one : m_points)
            for (const PlotPoint& point : one.points) {
                most = std::max(most, point.x);
                least = std::min(least, point.x);
            }
        if (m_flops > 0 && m_bytes > 0) {
            const double ridge = m_flops / m_bytes;
            PlotSeries roof { "roof", PlotMark::None, false, false, false, false, -1, {} };
            roof.points = { { least, least * m_bytes, figures::bytesPerSecond(m_bytes) },
                            { ridge, m_flops, plotValue(PlotUnit::Number, m_flops) + "FLOP/s" },
                            { std::max(most, ridge) * 4, m_flops, plotValue(PlotUnit::Number, m_flops) + "FLOP/s" } };
            m_plot.series.push_back(std::move(roof));
        }
        for (PlotSeries& one : m_points)
            if (!one.points.empty())
                m_plot.series.push_back(std::move(one));
        return std::move(m_plot);
    }

private:
    double m_flops;
    double m_bytes;
    Plot m_plot;
    std::vector<PlotSeries> m_points;
};

std::map<std::string, std::int32_t> placesOf(const std::vector<TimelineItem>& items)
{
    std::map<std::string, std::int32_t> out;
    for (std::size_t i = 0; i < items.size(); ++i)
        out.emplace(items[i].id, static_cast<std::int32_t>(i));
    return out;
}

std::int32_t placeIn(const std::map<std::string, std::int32_t>& places, const std::string& id)
{
    const auto found = places.find(id);
    return found == places.end() ? -1 : found->second;
}

/// By index of the operation: its executions in the step, and their seconds.
struct InStep {
    std::int64_t count = 0;
    double seconds = 0;
};
std::map<std::int64_t, InStep> operationsOf(const RunProfile& profile, std::int64_t step)
{
    std::map<std::int64_t, InStep> out;
    for (const ProfileEvent& event : profile.events) {
        if (event.step != step)
            continue;
        InStep& one = out[event.operation];
        ++one.count;
        one.seconds += executionSeconds(profile, event);
    }
    return out;
}

/// Kind and number of devices: what collectives share a curve by, in a picture.
struct CurveKey {
    CollectiveKind kind;
    std::int64_t devices;
    std::string link;
    auto operator<=>(const CurveKey&) const = default;
};

std::string nameOf(const CurveKey& key, bool links)
{
    return collectiveName(key.kind) + " over " + std::to_string(key.devices) + (links && !key.link.empty() ? ", " + key.link : "");
}

} // namespace

Plot rooflinePlot(const RunProfile& profile, std::int64_t step, const std::vector<TimelineItem>& items)
{
    Roofline out(profile.limits.gemmFlopsOne, profile.limits.copyBytesOne, false);
    const auto places = placesOf(items);
    for (const auto& [index, measured] : operationsOf(profile, step)) {
        const ProfileOperation& operation = profile.operations[static_cast<std::size_t>(index)];
        if (operation.collective)
            continue;
        const auto count = static_cast<double>(measured.count);
        out.add(operation.id, operation.kind, placeIn(places, operation.id), operation.flops * count, operation.workBytes * count,
                measured.seconds);
    }
    return out.plot("of a thread");
}

Plot rooflinePlot(const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    DType widest = DType::BF16;
    double seconds = 0;
    std::map<DType, double> byType; // most of the time is spent in one
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& op : segment.ops)
            if (op.work.flops > 0)
                byType[op.work.dtype] += op.seconds * static_cast<double>(op.count);
    for (const auto& [type, of] : byType)
        if (of > seconds) {
            seconds = of;
            widest = type;
        }
    Roofline out(hardware.peakFlops(widest), hardware.memoryBytesPerSecond(), true);
    const std::vector<TimelineItem> items = timelineItems(graph, plan);
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].operation.valid())
            continue;
        const PlannedOp& op = plan.segment(items[i].segment).ops[items[i].operation];
        out.add(items[i].id, op.work.kernel == KernelClass::Attention ? "attention" : items[i].kind, static_cast<std::int32_t>(i),
                op.work.flops, op.work.bytes, op.seconds);
    }
    return out.plot("of a device");
}

Plot bandwidthPlot(const Plan& plan, const Hardware& hardware, const RunProfile* profile, std::int64_t step,
                   const std::vector<TimelineItem>& items)
{
    Plot out;
    out.id = "bandwidth";
    out.x = { "bytes of a collective", PlotUnit::Bytes, true };
    out.y = { "bytes/s", PlotUnit::Number, true };
    struct Points {
        std::vector<int> axes;
        std::vector<PlotPoint> points;
    };
    std::map<CurveKey, Points> curves;
    std::set<std::pair<CollectiveKind, std::int64_t>> kinds;
    const auto add = [&](const Collective& collective, std::int32_t item, std::int64_t bytes, double seconds) {
        if (bytes <= 0 || seconds <= 0)
            return;
        const CurveKey key { collective.kind, collective.groupSize, collective.link };
        Points& points = curves[key];
        points.axes = collective.axes;
        const double rate = static_cast<double>(bytes) / seconds;
        points.points.push_back(
            { static_cast<double>(bytes), rate,
              collective.id + ": " + bytesText(bytes) + " in " + secondsText(seconds) + ", " + figures::bytesPerSecond(rate),
              item });
    };
    if (profile != nullptr && step >= 0) {
        const auto places = placesOf(items);
        for (const auto& [index, measured] : operationsOf(*profile, step)) {
            const ProfileOperation& operation = profile->operations[static_cast<std::size_t>(index)];
            const std::int32_t item = operation.collective ? placeIn(places, operation.id) : -1;
            if (item < 0 || !items[static_cast<std::size_t>(item)].collective.valid())
                continue;
            const Collective& collective = plan.collective(items[static_cast<std::size_t>(item)].collective);
            if (collective.kind != CollectiveKind::LocalSlice)
                add(collective, item, operation.bytes, measured.seconds / static_cast<double>(measured.count));
        }
    } else {
        for (std::size_t i = 0; i < items.size(); ++i)
            if (items[i].collective.valid())
                if (const Collective& one = plan.collective(items[i].collective);
                    one.kind != CollectiveKind::LocalSlice && one.count > 0)
                    add(one, static_cast<std::int32_t>(i), one.bytes, one.seconds);
    }
    if (curves.empty())
        return out;
    double least = 1024;
    double most = 256.0 * (1 << 20);
    for (const auto& [key, points] : curves) {
        kinds.emplace(key.kind, key.devices);
        for (const PlotPoint& point : points.points) {
            least = std::min(least, point.x);
            most = std::max(most, 2 * point.x);
        }
    }
    const bool links = kinds.size() < curves.size();
    constexpr std::array kMarks { PlotMark::Circle, PlotMark::Diamond, PlotMark::Square, PlotMark::Triangle };
    CollectivePrices prices(plan.mesh, hardware);
    std::map<CollectiveKind, int> hues; // by kind; the mark says over how many devices
    std::map<int, std::size_t> marksOf; // by hue, how many it has
    for (auto& [key, points] : curves) {
        const int hue = hues.try_emplace(key.kind, static_cast<int>(hues.size())).first->second;
        const PriceCurve& curve = prices.curve(key.kind, points.axes);
        PlotSeries line { nameOf(key, links) + ", predicted", PlotMark::None, false, false, false, false, hue, {} };
        constexpr int kSamples = 96;
        for (int i = 0; i <= kSamples; ++i) {
            const double bytes = least * std::pow(most / least, static_cast<double>(i) / kSamples);
            if (const double seconds = curve.seconds(static_cast<std::int64_t>(bytes)); seconds > 0)
                line.points.push_back({ bytes, bytes / seconds });
        }
        if (line.points.empty())
            continue;
        constexpr double kLarge = 1e15; // where no start counts any more
        PlotSeries limit { nameOf(key, links) + ", limit", PlotMark::None, true, false, false, false, hue, {} };
        const double rate = kLarge / curve.seconds(static_cast<std::int64_t>(kLarge));
        const std::string text = "limit " + figures::bytesPerSecond(rate);
        limit.points = { { least, rate, text }, { most, rate, text } };
        PlotSeries marks { nameOf(key, links) + (profile != nullptr ? ", measured" : ", in the plan"),
                           kMarks[marksOf[hue]++ % kMarks.size()],
                           false,
                           false,
                           false,
                           profile == nullptr,
                           hue,
                           std::move(points.points) };
        line.group = limit.group = marks.group = collectiveName(key.kind);
        out.series.push_back(std::move(line));
        out.series.push_back(std::move(limit));
        out.series.push_back(std::move(marks));
    }
    return out;
}

Plot accuracyPlot(const ErrorTable& table)
{
    Plot out;
    out.id = "accuracy";
    out.x = { "predicted seconds", PlotUnit::Seconds, true };
    out.y = { "measured seconds", PlotUnit::Seconds, true };
    PlotSeries operations { "operations", PlotMark::Circle, false, false, false, false, 0, {} };
    PlotSeries collectives { "collectives", PlotMark::Diamond, false, false, false, false, 3, {} };
    double least = 0;
    double most = 0;
    for (const ErrorRow& row : table.rows) {
        if (row.count <= 0 || row.predicted <= 0 || row.measured <= 0)
            continue;
        const auto count = static_cast<double>(row.count);
        const PlotPoint point { row.predicted / count, row.measured / count,
                                row.id + ": " + secondsText(row.measured / count) + " measured, "
                                    + secondsText(row.predicted / count) + " predicted, "
                                    + formatted("%+.1f %%", 100 * *row.error()),
                                row.item };
        for (const double value : { point.x, point.y }) {
            least = least > 0 ? std::min(least, value) : value;
            most = std::max(most, value);
        }
        (row.collective ? collectives : operations).points.push_back(point);
    }
    if (most <= 0)
        return out;
    for (const auto& [name, factor] :
         { std::pair { "exact", 1.0 }, std::pair { "10 % longer", 1.1 }, std::pair { "10 % less", 0.9 } })
        out.series.push_back({ name,
                               PlotMark::None,
                               factor != 1,
                               false,
                               false,
                               false,
                               -1,
                               { { least, least * factor, name }, { most, most * factor, name } } });
    for (PlotSeries* one : { &operations, &collectives })
        if (!one->points.empty())
            out.series.push_back(std::move(*one));
    constexpr double kMatters = 50e-6;
    constexpr double kOtherMachine = 10; // nothing is that far off for the one that ran
    if (const double mean = meanError(table, kMatters); mean >= kOtherMachine)
        out.notes.push_back("predicted for other hardware than ran");
    else if (mean >= 0)
        out.notes.push_back("mean error of those of 50 µs and more: " + figures::percent(mean));
    return out;
}

double meanError(const ErrorTable& table, double least)
{
    double sum = 0;
    int count = 0;
    for (const ErrorRow& row : table.rows)
        if (const auto error = row.error(); error && row.count > 0 && row.measured / static_cast<double>(row.count) >= least) {
            sum += std::abs(*error);
            ++count;
        }
    return count > 0 ? sum / count : -1;
}

std::string fullestGroup(const Timeline& timeline)
{
    const auto most = std::ranges::max_element(timeline.memory, {}, &MemoryLane::peak);
    return most == timeline.memory.end() ? std::string() : most->group;
}

Plot memoryPlot(const Timeline& timeline, const std::string& group)
{
    Plot out;
    out.id = "memory";
    out.x = { "seconds of the step", PlotUnit::Seconds, false };
    out.y = { "bytes held", PlotUnit::Bytes, false };
    double peak = 0;
    double limit = 0;
    for (const bool predicted : { true, false })
        for (const MemoryLane& lane : timeline.memory) {
            if (lane.group != group || lane.predicted != predicted || lane.times.empty())
                continue;
            limit = std::max(limit, lane.limit);
            peak = std::max(peak, lane.peak());
            std::vector<double> sums(lane.times.size(), 0);
            for (std::size_t cause = 0; cause < lane.causes.size(); ++cause) {
                PlotSeries one { lane.causes[cause],
                                 PlotMark::None,
                                 false,
                                 true,
                                 predicted,
                                 predicted,
                                 predicted ? static_cast<int>(cause) : -1,
                                 {} };
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    const double own = lane.bytes[cause][i];
                    sums[i] += own;
                    one.points.push_back(
                        { lane.times[i], sums[i], lane.causes[cause] + ": " + bytesText(static_cast<std::int64_t>(own)) });
                }
                one.points.push_back({ std::max(timeline.seconds, lane.times.back()), sums.back() });
                if (!predicted)
                    one.name += ", measured";
                out.series.push_back(std::move(one));
            }
        }
    if (!out.series.empty() && limit > 0 && limit <= 2.2 * peak)
        out.series.push_back(
            { "limit",
              PlotMark::None,
              true,
              false,
              false,
              false,
              -1,
              { { 0, limit, "limit " + bytesText(static_cast<std::int64_t>(limit)) }, { timeline.seconds, limit } } });
    return out;
}

} // namespace shardboard
