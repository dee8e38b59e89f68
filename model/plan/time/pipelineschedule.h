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
    Backward,
    Weights, ///< gradients of weights, where they are put off
};

/// A micro-batch in a run of layers on one stage.
struct PipelinePass {
    PassKind kind = PassKind::Forward;
    std::int64_t run = 0;
    std::int64_t microBatch = 0;
    bool putsOff = false; ///< backward without the gradients of weights, which come later
    double start = 0;
    double end = 0; ///< without the send behind it
    double arrived = 0; ///< when that is over
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
    bool sendsBeside = false; ///< the stage that sends works on meanwhile; a link carries one send at a time
};

struct PipelineTurns {
    std::vector<std::vector<PipelinePass>> stages; ///< of each its passes in order
    std::vector<double> ends; ///< of each when it is done, with its last send
};

/// GPipe passes all forward first. 1F1B and interleaved as Megatron orders them (arXiv 2104.04473, section 2.2); ZB-H1 as the
/// paper's authors do, so that a stage s has at most s passes' gradients of weights put off until its last pass forward
/// (2401.10241); DualPipe as step() of deepseek-ai/DualPipe, which makes pairs of passes forward and backward at the same time that
/// here come one after the other.
PipelineTurns pipelineTurns(const PipelineTask& task);

/// When the stages are done, of many pipelines that differ in seconds alone: the order does not depend on them, and is found once.
class PipelineEnds {
public:
    /// The ends of the turns.
    const std::vector<double>& of(const PipelineTask& task);

private:
    friend class OrderedTurns;
    enum Length : std::uint32_t {
        Forward,
        FirstForward,
        Backward,
        LastBackward,
        BackwardAlone, ///< without gradients of weights
        LastBackwardAlone,
        Weights,
        kLengths
    };
    struct Pass {
        std::uint32_t stage = 0;
        std::uint32_t length = 0; ///< kLengths of every run
        std::uint32_t from = 0; ///< the pass that it needs; itself: none
        std::uint32_t send = 0; ///< none, forward, backward
    };

    std::vector<Pass> m_order;
    std::vector<double> m_arrived; ///< of each when what it made is where it is needed
    std::vector<double> m_lengths;
    std::vector<double> m_ends;
    std::vector<double> m_links; ///< of every stage forward and backward: when it can send again
    PipelineSchedule m_schedule = PipelineSchedule::OneForwardOneBackward; ///< that the order is of
    std::int64_t m_runs = 0;
    std::int64_t m_stages = 0;
    std::int64_t m_microBatches = 0;
    bool m_trains = false;
};

} // namespace shardboard
