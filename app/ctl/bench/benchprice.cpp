// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/plan/time/compiledcost.h"
#include "model/text/numbers.h"

namespace shardboard {

Result<BenchmarkReport> benchPrice()
{
    constexpr std::size_t kRounds = 51;
    constexpr int kAtOnce = 100;
    struct Scale {
        const char* mesh;
        const char* preset;
        std::int64_t batch;
        std::int64_t microBatches;
    };
    const Scale scales[] { { "pod=4,data=8,fsdp=64,model=8", "tp-sp+fsdp", 2048, 1 },
                           { "stage=16,fsdp=128,model=8", "pp-1f1b", 2048, 16 } };
    BenchmarkReport report;
    Table table({ "price a plan again", ">devices", "mesh", ">kernels", ">collectives", ">plan", ">nothing changed",
                  ">a link changed", ">of 20 us" });
    for (const Scale& scale : scales) {
        Design design;
        auto model = builtinModel("llama3.1-405b");
        auto mesh = Mesh::parse(scale.mesh);
        if (!model.ok())
            return model.error();
        if (!mesh.ok())
            return mesh.error();
        design.model = std::move(model).value();
        design.mesh = std::move(mesh).value();
        design.workload = { WorkloadKind::Train, scale.batch, 8192, DType::BF16, scale.microBatches, Recompute::Full };
        if (const auto applied = applyPreset(design, scale.preset); !applied.ok())
            return applied.error();
        const auto evaluation = evaluate(design, Misfits::Replicate);
        if (!evaluation.ok())
            return evaluation.error();
        auto hardware = hardwareOf(design);
        if (!hardware.ok())
            return hardware.error();
        const Plan& plan = evaluation.value()->plan;
        CompiledCost compiled(evaluation.value()->graph, plan, design.workload.dtype);
        double sum = compiled.on(hardware.value()).seconds;
        const double unchanged = medianSeconds(kRounds,
                                               [&] {
                                                   for (int i = 0; i < kAtOnce; ++i)
                                                       sum += compiled.on(hardware.value()).seconds;
                                               })
            / kAtOnce;
        // Every evaluation is of another rate of the outermost link, so that nothing can be remembered.
        Hardware changed = hardware.value();
        const double seconds = medianSeconds(kRounds,
                                             [&] {
                                                 for (int i = 0; i < kAtOnce; ++i) {
                                                     changed.levels.back().link.bytesPerSecond *= 1.0001;
                                                     sum += compiled.on(changed).seconds;
                                                 }
                                             })
            / kAtOnce;
        if (!(sum > 0))
            return inputError("bench", "the benchmark's own plan takes no time");
        const double planning = medianSeconds(5, [&] { sum += evaluate(design, Misfits::Replicate).value()->plan.seconds(); });
        table.add({ "llama3.1-405b, train", countText(design.mesh.deviceCount()), scale.mesh, std::to_string(compiled.kernels()),
                    std::to_string(compiled.collectives()), secondsText(planning), secondsText(unchanged), secondsText(seconds),
                    std::to_string(seconds / 20e-6).substr(0, 5) });
        report.rows.push_back({ { "name", "price" },
                                { "model", "llama3.1-405b" },
                                { "mesh", scale.mesh },
                                { "kernels", compiled.kernels() },
                                { "collectives", compiled.collectives() },
                                { "plan_seconds", planning },
                                { "unchanged_seconds", unchanged },
                                { "seconds", seconds } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
