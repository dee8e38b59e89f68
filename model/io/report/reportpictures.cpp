// SPDX-License-Identifier: Apache-2.0
#include "model/io/report/reportpictures.h"

#include "model/io/report/report.h"
#include "model/text/numbers.h"
#include "model/timeline/blocks.h"

#include <algorithm>

namespace shardboard {

namespace {

std::string rect(double x, double y, double width, double height, const std::string& style, const std::string& title = {})
{
    std::string out = formatted("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"", x, y, width, height) + style;
    return title.empty() ? out + "\"/>" : out + "\"><title>" + htmlText(title) + "</title></rect>";
}

std::string label(double x, double y, const std::string& what, const char* style = "t")
{
    return formatted("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style) + htmlText(what) + "</text>";
}

std::string svg(double width, double height, const std::string& title, const std::string& content)
{
    return formatted("<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\"><title>", width, height, width,
                     height)
        + htmlText(title) + "</title>" + content + "</svg>";
}

/// As many as there are hues; past them they come again.
std::string part(std::int64_t index) { return "p" + std::to_string(index % 7); }

} // namespace

std::string meshPicture(const Mesh& mesh)
{
    constexpr std::int64_t kMostColumns = 32;
    constexpr std::int64_t kMostRows = 16;
    const std::int64_t last = mesh.axisCount() > 0 ? mesh.axis(mesh.axisCount() - 1).size : 1;
    const std::int64_t columns = std::min(last, kMostColumns);
    const std::int64_t rows = std::min(mesh.deviceCount() / last, kMostRows);
    constexpr double kCell = 26;
    std::string out;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
            const std::int64_t position = row * last + column;
            std::string title = "device " + std::to_string(mesh.deviceId(position));
            for (int axis = 0; axis < mesh.axisCount(); ++axis)
                title += ", " + mesh.axis(axis).name + " " + std::to_string(mesh.coordinate(position, axis));
            const double x = static_cast<double>(column) * kCell;
            const double y = static_cast<double>(row) * kCell;
            out += rect(x + 1, y + 1, kCell - 3, kCell - 3, part(column) + " o", title);
        }
    return svg(static_cast<double>(columns) * kCell, static_cast<double>(rows) * kCell, "devices of the mesh", out);
}

std::string shardPicture(const WeightLayout& weight)
{
    constexpr std::int64_t kMost = 16;
    const auto parts = [&](std::size_t dim) {
        return dim < weight.shards.cuts().size() ? weight.shards.cuts()[dim].count() : std::int64_t { 1 };
    };
    const std::size_t rank = weight.spec.shape.size();
    const std::size_t first = rank > 2 ? rank - 2 : 0;
    const std::int64_t rows = std::min(rank > 1 ? parts(first) : 1, kMost);
    const std::int64_t columns = std::min(rank > 1 ? parts(first + 1) : rank == 1 ? parts(0) : 1, kMost);
    constexpr double kWidth = 44;
    constexpr double kHeight = 24;
    const double width = kWidth / static_cast<double>(columns);
    const double height = kHeight / static_cast<double>(rows);
    const bool whole = weight.shards.distinctCount() <= 1;
    std::string out;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            out += rect(static_cast<double>(column) * width, static_cast<double>(row) * height, width, height,
                        whole ? "empty o" : part(row * columns + column) + " o");
    return svg(kWidth, kHeight, whole ? "whole on every device" : counted(weight.shards.distinctCount(), "shard"), out);
}

std::string memoryPicture(const MemoryBytes& memory, std::int64_t limit)
{
    constexpr double kWidth = 1040;
    const double most = static_cast<double>(std::max({ memory.total(), limit, std::int64_t { 1 } }));
    std::string bar = rect(0, 4, kWidth, 22, "empty");
    std::string legend;
    double x = 0;
    double at = 0;
    double line = 48;
    std::int64_t index = 0;
    for (const MemoryCause& cause : memoryCauses()) {
        const std::int64_t bytes = memory.*cause.bytes;
        const std::string color = part(index++);
        if (bytes <= 0)
            continue;
        const double width = kWidth * static_cast<double>(bytes) / most;
        const std::string text = std::string(cause.name) + " " + bytesText(bytes);
        bar += rect(x, 4, width, 22, color, text);
        x += width;
        const double wide = 30 + 7.2 * static_cast<double>(text.size());
        if (at + wide > kWidth) {
            at = 0;
            line += 20;
        }
        legend += rect(at, line - 10, 12, 12, color) + label(at + 18, line, text);
        at += wide;
    }
    if (limit > 0) {
        const double at80 = kWidth * static_cast<double>(limit) / most;
        bar += formatted("<line x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"30\" class=\"limit\"/>", at80 - 1, at80 - 1);
    }
    return svg(kWidth, line + 8, "memory of a device by cause", bar + legend);
}

std::string barPicture(double solid, double other)
{
    constexpr double kWidth = 160;
    constexpr double kHeight = 8;
    solid = std::clamp(solid, 0.0, 1.0);
    other = std::clamp(other, 0.0, 1 - solid);
    return svg(kWidth, kHeight, "share of the step",
               rect(0, 0, kWidth, kHeight, "empty") + rect(0, 0, kWidth * solid, kHeight, "b0")
                   + rect(kWidth * solid, 0, kWidth * other, kHeight, "p3"));
}

std::string lanesPicture(const Timeline& timeline, std::size_t most)
{
    constexpr int kWidth = 920;
    constexpr double kLabel = 150;
    constexpr double kPredicted = 8;
    constexpr double kMeasured = 16;
    std::string out;
    double y = 24;
    const TimeWindow window { 0, std::max(timeline.seconds, 1e-12) / kWidth, kWidth };
    std::size_t drawn = 0;
    const std::string* group = nullptr;
    for (const Lane& lane : timeline.lanes) {
        if (drawn == most)
            break;
        ++drawn;
        const bool first = group == nullptr || *group != lane.group;
        y += first && group != nullptr ? 6 : 0;
        group = &lane.group;
        const bool low = lane.predicted && lane.name != "compute";
        const double height = low ? kPredicted : kMeasured;
        const std::size_t cut = lane.group.find(" (");
        const std::string name = first ? lane.group.substr(0, cut) : lane.name;
        if (first || !lane.predicted)
            out += label(0, y + height - 3, first ? name : "", first ? "t" : "q");
        std::vector<LaneBlock> blocks;
        laneBlocks(lane, LaneSums(lane), window, blocks);
        for (const LaneBlock& block : blocks) {
            const LaneInterval& it = lane.intervals[block.first];
            const std::string kind = "k" + std::to_string(static_cast<int>(block.kind));
            std::string title;
            if (!block.joined && block.right - block.left > 6) // what is narrower nobody points at
                title = timeline.nameOf(it) + ", " + secondsText(it.seconds);
            out += rect(kLabel + block.left, y, std::max(0.4, block.right - block.left - (block.joined ? 0 : 0.4)), height,
                        kind + (lane.predicted ? " predicted" : ""), title);
        }
        y += height + 2;
    }
    std::string ruler;
    const double step = rulerStep(window.secondsPerPixel * 100);
    for (int i = 0; i * step <= timeline.seconds; ++i) {
        const double x = kLabel + window.pixelOf(i * step);
        ruler += formatted("<line x1=\"%.1f\" y1=\"18\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>", x, x, y)
            + label(x + 2, 12, secondsText(i * step), "q");
    }
    out = ruler + out;
    // The kinds that there are.
    std::array<bool, kIntervalKinds> there {};
    for (std::size_t i = 0; i < drawn; ++i)
        for (std::size_t kind = 0; kind < kIntervalKinds; ++kind)
            there[kind] = there[kind] || timeline.lanes[i].secondsByKind()[kind] > 0;
    double x = kLabel;
    y += 16;
    for (std::size_t kind = 0; kind < kIntervalKinds; ++kind) {
        if (!there[kind])
            continue;
        const std::string name = intervalKindName(static_cast<IntervalKind>(kind));
        out += rect(x, y - 10, 12, 12, "k" + std::to_string(kind)) + label(x + 18, y, name, "q");
        x += 40 + 7 * static_cast<double>(name.size());
    }
    return svg(kLabel + kWidth + 40, y + 8, "timeline of a step", out);
}

} // namespace shardboard
