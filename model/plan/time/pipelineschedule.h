// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline take turns: passes of micro-batches through runs of layers, in the order that the schedule has, each as
// early as what it needs is there.
#pragma once

#include "model/plan/pipelinespec.h"

#include <cstdint>
#include <vector>

namespace shardboard {

enum class PassKind : std::uint8_t {
    Forward,
    Backward, ///< with DualPipe and ZB-H1 without the gradients of weights
    Weights, ///< gradients of weights, where they are put off
};

/// A micro-batch in a run of layers on one stage.
struct PipelinePass {
    PassKind kind = PassKind::Forward;
    std::int64_t run = 0;
    std::int64_t microBatch = 0;
    double start = 0;
    double end = 0; ///< without the send behind it
};

/// Seconds of a run of layers. The first and the last micro-batch have what is done once a step.
struct RunSeconds {
    double forward = 0;
    double backward = 0; ///< all of it
    double weights = 0; ///< part of `backward` that can be put off
    double firstForward = 0;
    double lastBackward = 0;
};

struct PipelineTask {
    PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
    std::int64_t stages = 1;
    std::int64_t chunks = 1;
    std::int64_t microBatches = 1;
    bool trains = true; ///< passes backward
    std::vector<RunSeconds> runs; ///< stages x chunks
    double sendForward = 0; ///< of one micro-batch to the next stage
    double sendBackward = 0;
    bool sendsBeside = false; ///< the stage that sends works on meanwhile
};

struct PipelineTurns {
    std::vector<std::vector<PipelinePass>> stages; ///< of each its passes in order
    std::vector<double> ends; ///< of each when it is done, with its last send
};

/// 1F1B and interleaved as Megatron orders them (arXiv 2104.04473, section 2.2). ZB-H1 and DualPipe: a stage takes a pass backward
/// before one forward before gradients of weights, with as many micro-batches in flight as their tables say (2401.10241, table 2;
/// DeepSeek-V3, 2412.19437, table 2).
PipelineTurns pipelineTurns(const PipelineTask& task);

} // namespace shardboard
