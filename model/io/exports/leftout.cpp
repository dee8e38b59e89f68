// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/leftout.h"

#include "model/io/exports/pythontext.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

/// In quotes, printable and short, whatever a name holds.
std::string shown(const std::string& text)
{
    constexpr std::size_t kLongest = 60;
    const std::string quoted = pythonLiteral(text);
    return quoted.size() <= kLongest ? quoted : quoted.substr(0, kLongest) + "...\"";
}

std::string pinsText(const std::vector<Pin>& pins, const std::string& compiler)
{
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::pair<std::string, std::size_t>> matches;
    for (const Pin& pin : pins) {
        const auto known = std::ranges::find_if(matches, [&](const auto& match) { return match.first == pin.match; });
        if (known == matches.end())
            matches.emplace_back(pin.match, 1);
        else
            ++known->second;
    }
    std::string text = counted(static_cast<std::int64_t>(pins.size()), "pin") + " of ";
    for (std::size_t i = 0; i < std::min(matches.size(), kMostNamed); ++i)
        text += (i > 0 ? ", " : "") + shown(matches[i].first)
            + (matches[i].second > 1 ? " (" + std::to_string(matches[i].second) + ")" : "");
    if (matches.size() > kMostNamed)
        text += " and " + std::to_string(matches.size() - kMostNamed) + " more";
    text += ": the layout of these values is left to " + compiler + ", which may move other values than the plan does, and more";
    // What pins alone tell apart.
    for (const auto& [preset, without] : { std::pair { "preset tp-sp", "megatron-tp" }, { "preset tp-sp+fsdp", "tp+fsdp" } })
        if (std::ranges::any_of(pins, [&](const Pin& pin) { return pin.source == preset; }))
            text += std::string("; ") + preset + " becomes " + without;
    return text;
}

} // namespace

bool isPlainRecompute(const Workload& workload)
{
    const Recompute what = workload.recompute;
    return workload.recomputeLayers == 0 && (what == Recompute::None || what == Recompute::Selective || what == Recompute::Full);
}

std::vector<std::string> leftOutOf(const Design& design, const std::string& compiler)
{
    std::vector<std::string> out;
    if (!design.pins.empty())
        out.push_back(pinsText(design.pins, compiler));
    const Workload& workload = design.workload;
    if (workload.overlap != Overlap::None)
        out.push_back("overlap " + overlapName(workload.overlap) + ": when collectives run is left to " + compiler);
    if (workload.kind != WorkloadKind::Train)
        return out;
    if (workload.dtype != storageType(workload))
        out.push_back("products in " + dtypeName(workload.dtype)
                      + ": in which type layers compute is left to the training program");
    if (design.pipeline.present() && design.pipeline.schedule != PipelineSchedule::OneForwardOneBackward)
        out.push_back("schedule " + scheduleName(design.pipeline.schedule)
                      + ": in which order stages work is left to the training program");
    if (workload.recompute != Recompute::None)
        out.push_back(
            "recompute " + recomputeName(workload.recompute)
            + (workload.recomputeLayers > 0 ? " of " + std::to_string(workload.recomputeLayers) + " layers" : std::string())
            + ": what is kept for the backward pass is left to the training program");
    if (workload.microBatches > 1)
        out.push_back(std::to_string(workload.microBatches)
                      + " micro-batches: how the batch is split is left to the training program");
    if (workload.optimizer.present()) {
        std::vector<std::string> axes;
        for (const std::string& axis : workload.optimizer.axes)
            axes.push_back(shown(axis));
        out.push_back(std::string("optimizer states") + (workload.optimizer.gradients ? " and gradients" : "") + " cut over "
                      + joined(axes) + ": their layout is left to the training program");
    }
    return out;
}

} // namespace shardboard
