// SPDX-License-Identifier: Apache-2.0
// Settings that change nothing: of experts in a model without them, of units that the device lacks, of stages where there are none.
#include "model/design/findings/finders.h"
#include "model/plan/pipeline.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"

#include <algorithm>

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
        note(!experts && m_workload.overlap.has(OverlapKind::Experts) && !isWhole(m_workload.overlap), "overlap experts", none);
        note(m_workload.overlap.has(OverlapKind::Sends) && !m_input.evaluation.plan.pipeline, "overlap sends",
             "there are no stages that hand anything on");
        note(m_workload.graphs && m_input.hardware.device.kind != DeviceKind::Gpu, "CUDA graphs", "the device is no GPU");
        if (m_workload.kind != WorkloadKind::Train)
            return;
        recompute();
        fp8();
        note(m_workload.precision.cache.has_value(), "precision cache", "training keeps no KV cache");
        note(m_workload.offload.any() && hasHostMemory(m_input.hardware.device), "offload",
             "the host's memory is the device's own");
        const int stages = stageAxis(m_input.design);
        for (const std::string& axis : m_workload.optimizer.axes)
            note(stages >= 0 && m_input.mesh().axis(stages).name == axis, "optimizer states cut over '" + axis + "'",
                 "the stages along it hold other layers, and no copies that could be cut");
    }

private:
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
        note(m_workload.recomputeLayers > 0 && what == Recompute::None, layers, "nothing is computed again");
        note(what != Recompute::None && m_workload.recomputeLayers > longestRun(), layers,
             "no run of layers has more than " + std::to_string(longestRun()) + ", and all of them compute again");
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
