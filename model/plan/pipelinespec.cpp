// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pipelinespec.h"

#include "model/text/text.h"

namespace shardboard {

std::string scheduleName(PipelineSchedule schedule)
{
    switch (schedule) {
    case PipelineSchedule::ZeroBubble:
        return "zero-bubble";
    case PipelineSchedule::DualPipe:
        return "dualpipe";
    case PipelineSchedule::GPipe:
        return "gpipe";
    case PipelineSchedule::OneForwardOneBackward:
        break;
    }
    return "1f1b";
}

std::optional<PipelineSchedule> scheduleFromName(std::string_view name)
{
    for (const auto schedule : { PipelineSchedule::OneForwardOneBackward, PipelineSchedule::ZeroBubble, PipelineSchedule::DualPipe,
                                 PipelineSchedule::GPipe })
        if (name == scheduleName(schedule))
            return schedule;
    return name == "interleaved" ? std::optional(PipelineSchedule::OneForwardOneBackward) : std::nullopt;
}

std::string stageLayersText(const std::vector<std::int64_t>& layers)
{
    std::vector<std::string> parts;
    for (std::size_t first = 0; first < layers.size();) {
        std::size_t last = first;
        while (last < layers.size() && layers[last] == layers[first])
            ++last;
        const std::size_t times = last - first;
        parts.push_back(std::to_string(layers[first]) + (times > 1 ? "x" + std::to_string(times) : std::string()));
        first = last;
    }
    return joined(parts, ",");
}

Result<std::vector<std::int64_t>> parseStageLayers(std::string_view text, const std::string& where)
{
    std::vector<std::int64_t> out;
    if (trimmed(text).empty())
        return out;
    for (const std::string_view part : split(text, ',')) {
        const auto sides = split(part, 'x');
        const auto layers = parseInteger(sides.front());
        const auto times = sides.size() > 1 ? parseInteger(sides[1]) : std::optional<std::int64_t>(1);
        if (sides.size() > 2 || !layers || !times || *layers < 0 || *layers > kMostRuns || *times < 1 || *times > kMostRuns)
            return inputError(where,
                              part.empty()
                                  ? "a number of layers is missing between commas"
                                  : "'" + std::string(part) + "' is neither a number of layers nor one with how often it comes",
                              "use numbers such as 3,4x14,2");
        if (static_cast<std::int64_t>(out.size()) + *times > kMostRuns)
            return inputError(where, "there are more than " + std::to_string(kMostRuns) + " runs of layers", "use fewer");
        out.insert(out.end(), static_cast<std::size_t>(*times), *layers);
    }
    return out;
}

} // namespace shardboard
