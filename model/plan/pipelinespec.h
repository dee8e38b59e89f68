// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism: the layers lie on the devices of a mesh axis one run after the other.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// In which order a stage works on its micro-batches.
///   1f1b         one forward one backward (PipeDream-Flush, arXiv 2104.04473); interleaved where a stage has several runs
///   zero-bubble  ZB-H1 (arXiv 2401.10241): gradients of weights wait until there is nothing else to do
///   dualpipe     DeepSeek-V3 (arXiv 2412.19437, 3.2.1): micro-batches enter at both ends, so that every stage's weights lie on two
///                devices, s and p-1-s
///   gpipe        all micro-batches forward, then all backward (arXiv 1811.06965)
enum class PipelineSchedule { OneForwardOneBackward, ZeroBubble, DualPipe, GPipe };
inline constexpr const char* kScheduleWords = "1f1b, zero-bubble, dualpipe or gpipe";

std::string scheduleName(PipelineSchedule schedule);
/// Whether passes backward put off the gradients of weights.
constexpr bool putsOffWeights(PipelineSchedule schedule)
{
    return schedule == PipelineSchedule::ZeroBubble || schedule == PipelineSchedule::DualPipe;
}
/// `interleaved` is 1f1b too.
std::optional<PipelineSchedule> scheduleFromName(std::string_view name);

struct PipelineSpec {
    std::string axis; ///< mesh axis of the stages; empty: no pipeline
    std::int64_t chunks = 1; ///< runs of layers on every stage (virtual stages): 1 is the schedule 1F1B, more are interleaved
    PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
    std::vector<std::int64_t> layers {}; ///< by hand: of each stage, or of each run in the order in which they work; empty: even
    bool countEmbedding = false; ///< as a layer when the layers are cut evenly, so that the first run has one fewer
    bool countLoss = false; ///< the head and the loss, so that the last run has one fewer

    bool present() const { return !axis.empty(); }
    bool even() const { return layers.empty() && !countEmbedding && !countLoss; }
    friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

constexpr std::int64_t kMostRuns = 1 << 16; ///< of layers, in a pipeline

/// `3,4x14,2`: numbers of layers, each as often as its `x` says. Empty for none.
std::string stageLayersText(const std::vector<std::int64_t>& layers);
/// Reads what stageLayersText() writes. Errors say which part is wrong.
Result<std::vector<std::int64_t>> parseStageLayers(std::string_view text, const std::string& where);

} // namespace shardboard
