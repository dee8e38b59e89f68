// SPDX-License-Identifier: Apache-2.0
// What a pipeline makes of a plan: who waits for whom, and what goes from stage to stage.
#pragma once

#include "model/core/shards.h"
#include "model/hardware/hardware.h"
#include "model/plan/pipelinespec.h"
#include "model/plan/plan.h"

namespace shardboard {

/// The layers of a run: as the plan says, else they are spread evenly over the runs, larger ones first. Run r lies on stage r
/// modulo the number of stages, with DualPipe also on the stage opposite.
Range layersOfRun(const PlannedPipeline& pipeline, std::int64_t run);
/// The runs that lie on a stage.
std::vector<std::int64_t> runsOfStage(const PlannedPipeline& pipeline, std::int64_t stage);
std::int64_t layersOfStage(const PlannedPipeline& pipeline, std::int64_t stage);
/// The run, and the stages, on which a layer of the model lies.
std::int64_t runOfLayer(const PlannedPipeline& pipeline, std::int64_t layer);
std::vector<std::int64_t> stagesOfLayer(const PlannedPipeline& pipeline, std::int64_t layer);
/// Those of them that are among `layers`, numbers of layers.
std::int64_t layersOfStage(const PlannedPipeline& pipeline, std::int64_t stage, const Range& layers);
/// Share of all layers on which the busiest stage works.
double stageShare(const PlannedPipeline& pipeline);
/// What of a segment's seconds and bytes, or a collective's, which add up the stages of a pipeline, a device of one stage has; 1
/// without a pipeline.
double stageShare(const Graph& graph, const Plan& plan, PlannedSegmentId segment, std::int64_t stage);
double stageShare(const Graph& graph, const Plan& plan, const Collective& collective, std::int64_t stage);

/// Whether a collective takes a value from one stage of the plan's pipeline to another.
bool isStageSend(const Plan& plan, const Collective& collective);

/// What of a segment's seconds and bytes, which add up the stages of a pipeline, one device has that takes part in it: of layers
/// the share of the fullest stage; of what lies on one stage alone all of it. 1 without a pipeline.
double deviceShare(const Graph& graph, const Plan& plan, PlannedSegmentId segment);
/// The same of a collective; a send between stages is each stage's in turn.
double deviceShare(const Graph& graph, const Plan& plan, const Collective& collective);

/// How the stages take turns: `1F1B`, `interleaved`, `zero-bubble (ZB-H1)`, `DualPipe`, `GPipe`.
std::string scheduleTitle(PipelineSchedule schedule, std::int64_t chunks);

/// The share of the busiest stage, whose device Plan::device is; of a send between stages what they send on average.
double busiestShare(const Graph& graph, const Plan& plan, PlannedSegmentId segment);
double busiestShare(const Graph& graph, const Plan& plan, const Collective& collective);

/// Sum of count x bytes of the collectives that one device takes part in: of a pipeline a device of the busiest stage.
std::int64_t collectiveBytesOfDevice(const Graph& graph, const Plan& plan);

/// Adds the pipeline to a plan that was made as if the mesh axis of the stages had one device: the sends between stages; times are
/// for setStepTimes to add. Errors: the mesh has no such axis; more stages than layers; interleaved with micro-batches that the
/// stages do not divide; layers by hand that are not those of the model; a schedule that has no such runs or micro-batches.
Result<PlannedPipeline> plannedPipeline(const PipelineSpec& spec, const Graph& graph, const Mesh& mesh, std::int64_t microBatches);
void addPipeline(const Graph& graph, CollectivePrices& prices, Plan& plan);

/// Of a send between stages. Devices of one node that hold the same value need not all send all of it: each sends its part, and
/// they gather it behind the slow link (arXiv 2104.04473, 4.1), where that is faster. The collective's algorithm says so; the
/// engine, whose devices share one memory, sends the whole, which comes to the same values.
struct SendPrice {
    double seconds = 0;
    std::vector<int> gathered; ///< mesh axes over which the parts are gathered; empty: it is sent whole
};
SendPrice sendPrice(const Collective& send, CollectivePrices& prices);
/// Sets seconds, link and algorithm.
void priceSend(Collective& send, CollectivePrices& prices);

} // namespace shardboard
