// SPDX-License-Identifier: Apache-2.0
// Settings that change nothing: of experts in a model without them, of units that the device lacks, of stages where there are none.
#include "model/design/findings/finders.h"
#include "model/ops/opdefinition.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardboard {

namespace {

class IdleSettings {
public:
    IdleSettings(const FinderInput& input, FindingList& out)
        : m_input(input)
        , m_workload(effective(input.design.workload))
        , m_out(out)
    {
    }

    void find()
    {
        const ModelSpec& model = m_input.design.model;
        const bool experts = model.moe.present();
        const std::string none = "the model has no experts";
        note(!experts && m_workload.dispatch != Dispatch::PerExpert, "dispatch " + dispatchName(m_workload.dispatch), none);
        note(!experts && m_workload.capacityFactor > 0, "the capacity factor", none);
        overlap();
        note(m_workload.contextOrder == ContextOrder::InOrder && !cutsSequences(), "order of context in-order",
             "no attention has queries that are cut along the sequence");
        note(m_workload.graphs && m_input.hardware.device.kind != DeviceKind::Gpu, "CUDA graphs", "the device is no GPU");
        if (m_workload.kind != WorkloadKind::Train)
            return;
        recompute();
        fp8();
        note(m_workload.precision.cache.has_value(), "precision cache", "training keeps no KV cache");
        offload();
        memory();
        const int stages = stageAxis(m_input.design);
        for (const std::string& axis : m_workload.optimizer.axes)
            note(stages >= 0 && m_input.mesh().axis(stages).name == axis, "optimizer states cut over '" + axis + "'",
                 "the stages along it hold other layers, and no copies that could be cut");
    }

private:
    static constexpr const char* kNoStages = "there are no stages that hand anything on";

    /// A word for all kinds names no kind.
    static bool isWhole(const Overlap& overlap)
    {
        return std::ranges::all_of(kOverlapKinds, [&](OverlapKind kind) { return !Overlap::All.has(kind) || overlap.has(kind); });
    }

    void recompute()
    {
        const ModelSpec& model = m_input.design.model;
        const Recompute what = m_workload.recompute;
        note(what.has(RecomputePart::Experts) && !model.moe.present(), "recompute experts", "the model has no experts");
        note(what.has(RecomputePart::SharedExperts) && model.moe.sharedExperts == 0, "recompute shared-experts",
             "the model has no shared experts");
        note(what.has(RecomputePart::LatentUp) && !model.mla.present(), "recompute latent-up",
             "the model's attention has no latent vectors");
        const std::string layers = "recompute of " + counted(m_workload.recomputeLayers, "layer");
        const std::string every = "recompute of one layer in " + std::to_string(m_workload.recomputeEvery);
        note(m_workload.recomputeLayers > 0 && what == Recompute::None, layers, "nothing is computed again");
        note(m_workload.recomputeEvery > 1 && what == Recompute::None, every, "nothing is computed again");
        const std::int64_t longest = longestRun();
        note(what != Recompute::None && m_workload.recomputeLayers > longest, layers,
             "no run of layers has more than " + std::to_string(longest) + ", and "
                 + (m_workload.recomputeEvery == 1 ? "all of them compute again" : "all of them count"));
        if (what != Recompute::None && m_workload.recomputeEvery > mostThatCount())
            add(every + ": no stage has so many layers that count, and none computes again", "use a smaller number");
    }

    /// Kinds of collectives that are named and that the plan has none of.
    void overlap()
    {
        const Overlap& overlap = m_workload.overlap;
        if (isWhole(overlap)) {
            note(overlap.has(OverlapKind::Sends) && !m_input.evaluation.plan.pipeline, "overlap sends", kNoStages);
            return;
        }
        constexpr std::pair<OverlapKind, const char*> kNone[] {
            { OverlapKind::WeightGathers, "no weights are gathered" },
            { OverlapKind::GradientScatters, "no gradients are reduced" },
            { OverlapKind::Tensor, "no activations move between products" },
            { OverlapKind::Experts, "no tokens are sent to experts" },
            { OverlapKind::Context, "no attention waits for parts of a sequence" },
        };
        const bool weights = overlap.has(OverlapKind::WeightGathers) && overlap.has(OverlapKind::GradientScatters);
        const bool moves = has(OverlapKind::WeightGathers) || has(OverlapKind::GradientScatters);
        for (const auto& [kind, why] : kNone) {
            const bool ofWeights = kind == OverlapKind::WeightGathers || kind == OverlapKind::GradientScatters;
            note(overlap.has(kind) && !has(kind) && !(ofWeights && weights && (moves || kind == OverlapKind::GradientScatters)),
                 "overlap " + (ofWeights && weights ? "weights" : overlapKindName(kind)), why);
        }
        note(overlap.has(OverlapKind::Sends) && !m_input.evaluation.plan.pipeline, "overlap sends", kNoStages);
        note(overlap.has(OverlapKind::Host) && !m_workload.offload.any(), "overlap host", "nothing is offloaded");
    }

    bool has(OverlapKind kind) const
    {
        const Plan& plan = m_input.evaluation.plan;
        return std::ranges::any_of(plan.collectives, [&](const Collective& it) {
            return it.kind != CollectiveKind::LocalSlice && it.count > 0
                && overlapKindOf(m_input.evaluation.graph, plan, it) == kind;
        });
    }

    bool cutsSequences() const
    {
        const Evaluation& evaluation = m_input.evaluation;
        for (const PlannedSegment& segment : evaluation.plan.segments)
            for (const PlannedOp& op : segment.ops)
                if (definitionOf(evaluation.graph.op(op.op).kind).statistics != nullptr && op.result.dims.size() > 1
                    && !op.result.dims[1].empty())
                    return true;
        return false;
    }

    void offload()
    {
        const Offload& offload = m_workload.offload;
        if (!offload.any()) {
            note(offload.layers > 0, "offload of " + counted(offload.layers, "layer"), "nothing is offloaded");
            return;
        }
        note(hasHostMemory(m_input.hardware.device), "offload", "the host's memory is the device's own");
        const std::int64_t longest = longestRun();
        if (offload.layers > longest)
            add("offload of " + counted(offload.layers, "layer") + ": no run of layers has more than " + std::to_string(longest)
                    + ", and all of them are offloaded; embedding and head are not",
                "leave it out to offload these, too");
    }

    void memory()
    {
        const MemorySettings& memory = m_input.design.memory;
        const bool gathers = has(OverlapKind::WeightGathers);
        note(memory.reshardAfterForward && !gathers, "when gathered weights are given back", "no weights are gathered");
        note(memory.groupCollectives && !gathers && !has(OverlapKind::GradientScatters), "collectives of a block",
             "neither weights nor gradients move");
        note(m_workload.dtype == DType::F8E4M3 && m_workload.fp8.gather && !gathers, "gathers in fp8", "no weights are gathered");
    }

    /// Layers of a stage among which every so-many-th computes again: of the stage that has the most.
    std::int64_t mostThatCount() const
    {
        const auto& pipeline = m_input.evaluation.plan.pipeline;
        const auto ofRun = [&](std::int64_t layers) {
            return m_workload.recomputeLayers > 0 ? std::min(layers, m_workload.recomputeLayers) : layers;
        };
        if (!pipeline)
            return ofRun(m_input.design.model.layers);
        std::vector<std::int64_t> layers(static_cast<std::size_t>(pipeline->stages), 0);
        for (std::int64_t run = 0; run < pipeline->stages * pipeline->chunks; ++run)
            layers[static_cast<std::size_t>(run % pipeline->stages)] += ofRun(layersOfRun(*pipeline, run).size());
        return std::ranges::max(layers);
    }

    void fp8()
    {
        const PeakFlops& peak = m_input.hardware.device.peak;
        const std::string recipe = std::string("fp8 recipe ") + fp8RecipeName(m_workload.fp8.recipe);
        if (m_workload.dtype != DType::F8E4M3) {
            note(m_workload.fp8 != Fp8Settings {}, m_workload.fp8.recipe == Fp8Recipe::Usual ? "gathers in fp8" : recipe,
                 "products are in " + dtypeName(m_workload.dtype));
            return;
        }
        note(!peak.fp8, "products in f8e4m3", "the device has no units for fp8: everything is as in bf16, and nothing is cast");
        const bool blocks = m_workload.fp8.recipe == Fp8Recipe::Mxfp8 || m_workload.fp8.recipe == Fp8Recipe::Nvfp4;
        if (peak.fp8 && !peak.fp4 && blocks)
            add(recipe + ": the device has no units that scale small blocks of values, and the plan is as if it had",
                "use blockwise, or a device with units for 4 bits");
    }

    std::int64_t longestRun() const
    {
        const auto& pipeline = m_input.evaluation.plan.pipeline;
        if (!pipeline)
            return m_input.design.model.layers;
        std::int64_t out = 0;
        for (std::int64_t run = 0; run < pipeline->stages * pipeline->chunks; ++run)
            out = std::max(out, layersOfRun(*pipeline, run).size());
        return out;
    }

    void note(bool idle, const std::string& what, const std::string& why)
    {
        if (idle)
            add(what + " changes nothing: " + why, "leave it out");
    }

    void add(std::string message, std::string repair)
    {
        m_out.add({ "idle-setting", Severity::Note, "workload", 0, std::move(message), std::move(repair) });
    }

    const FinderInput& m_input;
    const Workload m_workload;
    FindingList& m_out;
};

} // namespace

void findIdleSettings(const FinderInput& input, FindingList& out)
{
    if (input.design.model.kind == ModelKind::Decoder)
        IdleSettings(input, out).find();
}

} // namespace shardboard
