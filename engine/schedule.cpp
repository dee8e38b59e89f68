// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule.h"

#include "engine/failure.h"

#include <algorithm>
#include <map>

namespace shardboard::engine {

std::vector<Passage> scheduleOf(const Program& program, const RunOptions& options)
{
    constexpr std::size_t kMostPassages = 100000;
    std::vector<Passage> passages;
    std::map<int, std::int64_t> ran; // layers of each segment of the graph
    const auto& segments = program.graph.segments;
    const bool hasLayers = std::any_of(segments.begin(), segments.end(), [](const Segment& s) { return s.isLayer; });
    for (const PlannedSegment& planned : program.plan.segments) {
        const Segment& segment = program.graph.segments[static_cast<std::size_t>(planned.segment)];
        if (hasLayers && !segment.isLayer && !options.ends)
            continue;
        for (std::int64_t i = 0; i < planned.count; ++i) {
            if (segment.isLayer && options.layers > 0 && ran[planned.segment] >= options.layers)
                break;
            if (passages.size() >= kMostPassages)
                failPlan("the model has too many layers to be run; run fewer with --layers", planned.name);
            passages.push_back({ &planned, &segment, planned.firstLayer + i });
            ++ran[planned.segment];
        }
    }
    if (passages.empty())
        failPlan("there is nothing to run", "plan.layers");
    return passages;
}

std::int64_t layersIn(const std::vector<Passage>& passages)
{
    return std::count_if(passages.begin(), passages.end(), [](const Passage& p) { return p.segment->isLayer; });
}

} // namespace shardboard::engine
