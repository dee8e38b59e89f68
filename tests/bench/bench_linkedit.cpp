// SPDX-License-Identifier: Apache-2.0
// From an edit of a link's bandwidth to every number that a view of the design shows, without the drawing: a training step of
// llama3.1-405b on 16,384 devices. All of it has to fit into a frame of 16 ms.
//
//   evaluate   the whole design again: layouts, plan, memory, findings
//   views      the tables made from it: parts of the model, memory over the step
//   reprice    the plan that is there, with all its texts
//   compiled   the totals alone
//
// Each figure is the median of its rounds; every round has another bandwidth.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/plan/memory/timeline.h"
#include "model/plan/time/compiledcost.h"
#include "model/plan/time/partcosts.h"
#include "model/plan/time/reprice.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

using namespace shardboard;

namespace {

constexpr double kFrameSeconds = 0.016;
constexpr int kRounds = 31;

template <class Run>
double median(Run run)
{
    std::vector<double> seconds;
    for (int i = 0; i < kRounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[kRounds / 2];
}

int fail(const Error& error)
{
    std::cerr << "bench_linkedit: " << error.text() << "\n";
    return 1;
}

} // namespace

int main()
{
    nlohmann::json rows = nlohmann::json::array();
    bool inFrame = true;
    struct Scale {
        const char* mesh;
        const char* preset;
        std::int64_t microBatches;
        bool layersApart = false; ///< every other layer says something else, so that none stands for its neighbour
    };
    for (const Scale& scale :
         { Scale { "pod=4,data=8,fsdp=64,model=8", "tp-sp+fsdp", 1 }, Scale { "stage=16,fsdp=128,model=8", "pp-1f1b", 16 },
           Scale { "pod=4,data=8,fsdp=64,model=8", "tp-sp+fsdp", 1, true } }) {
        Design design;
        auto model = builtinModel("llama3.1-405b");
        auto mesh = Mesh::parse(scale.mesh);
        auto hardware = hardwareOf(design);
        if (!model.ok())
            return fail(model.error());
        if (!mesh.ok())
            return fail(mesh.error());
        if (!hardware.ok())
            return fail(hardware.error());
        design.model = std::move(model).value();
        design.mesh = std::move(mesh).value();
        design.workload = { WorkloadKind::Train, 2048, 8192, DType::BF16, scale.microBatches, Recompute::Full };
        if (const auto applied = applyPreset(design, scale.preset); !applied.ok())
            return fail(applied.error());
        for (std::int64_t layer = 0; scale.layersApart && layer < design.model.layers; layer += 2)
            design.strategies.push_back({ "model.layers." + std::to_string(layer) + ".mlp.down_proj.weight", {}, std::nullopt });
        const auto first = evaluate(design, Misfits::Replicate);
        if (!first.ok())
            return fail(first.error());
        for (const std::size_t level : { std::size_t { 0 }, hardware.value().levels.size() - 1 }) {
            Hardware edited = hardware.value();
            edited.id = "edited";
            double& rate = edited.levels[level].link.bytesPerSecond;
            double sum = 0; // that nothing is left out
            auto evaluation = first.value();
            const double evaluating = median([&] {
                rate *= 1.001;
                setHardware(design, edited);
                evaluation = evaluate(design, Misfits::Replicate).value();
                sum += evaluation->plan.seconds();
            });
            const double views = median([&] {
                sum += partCosts(evaluation->graph, evaluation->plan).back().seconds();
                sum += static_cast<double>(memoryTimeline(evaluation->graph, evaluation->plan).moments.size());
            });
            Plan plan = evaluation->plan;
            const double repricing = median([&] {
                rate *= 1.001;
                reprice(evaluation->graph, plan, edited, design.workload.dtype);
                sum += plan.seconds();
            });
            CompiledCost compiled(evaluation->graph, evaluation->plan, design.workload.dtype);
            sum += compiled.on(edited).seconds;
            const double pricing = median([&] {
                rate *= 1.001;
                sum += compiled.on(edited).seconds;
            });
            if (!(sum > 0))
                return fail(inputError("llama3.1-405b", "its step takes no time"));
            const double all = evaluating + views;
            inFrame = inFrame && all <= kFrameSeconds;
            rows.push_back({ { "model", "llama3.1-405b" },
                             { "mesh", scale.mesh },
                             { "devices", design.mesh.deviceCount() },
                             { "layers_apart", scale.layersApart },
                             { "link", edited.levels[level].link.id },
                             { "evaluate_seconds", evaluating },
                             { "views_seconds", views },
                             { "reprice_seconds", repricing },
                             { "compiled_seconds", pricing },
                             { "seconds", all },
                             { "frame_seconds", kFrameSeconds } });
        }
    }
    std::cout << nlohmann::json { { "benchmark", "edit of a link's bandwidth" }, { "rows", rows }, { "in_a_frame", inFrame } }.dump(
        1) << "\n";
    return inFrame ? 0 : 2;
}
