// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "model/design/evaluation.h"
#include "model/design/optimize/sweep.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/text/numbers.h"

namespace shardboard {

Result<BenchmarkReport> benchSweep()
{
    struct Scale {
        const char* model;
        const char* mesh;
        const char* preset;
    };
    const Scale scales[] = { { "llama3-8b", "data=8,model=8", "megatron-tp" },
                             { "llama3.1-405b", "data=16,model=8", "tp-sp" },
                             { "llama3.1-405b", "pod=4,data=8,fsdp=64,model=8", "tp+fsdp" } };
    constexpr std::size_t kRounds = 5;
    constexpr double kPoint = 50e-6; ///< what a point is to take at most
    BenchmarkReport report;
    Table table({ "a point of a sweep, on one core", "mesh", ">points", ">each", ">of 50 us", ">of a plan" });
    for (const Scale& scale : scales) {
        Design design;
        auto model = builtinModel(scale.model);
        auto mesh = Mesh::parse(scale.mesh);
        if (!model.ok() || !mesh.ok())
            return model.ok() ? mesh.error() : model.error();
        design.model = std::move(model).value();
        design.mesh = std::move(mesh).value();
        design.workload.kind = WorkloadKind::Train;
        if (const auto applied = applyPreset(design, scale.preset); !applied.ok())
            return applied.error();
        SweepRequest request;
        request.threads = 1;
        if (const Status status = readSweep("batch=512..8192,micro-batches=1..8", "bench", request); !status.ok())
            return status.error();
        std::size_t points = 1;
        bool good = true;
        const double all = medianSeconds(kRounds, [&] {
            const auto swept = sweep(design, request);
            good = good && swept.ok();
            points = good ? swept.value().size() : 1;
        });
        const double alone = medianSeconds(kRounds, [&] { good = good && planOnly(design).ok(); });
        if (!good)
            return inputError("bench", "the benchmark's own design cannot be swept");
        const double each = all / static_cast<double>(points);
        const auto ratio = [](double value) { return std::to_string(value).substr(0, 5); };
        table.add(
            { scale.model, scale.mesh, std::to_string(points), secondsText(each), ratio(each / kPoint), ratio(each / alone) });
        report.rows.push_back({ { "name", "sweep" },
                                { "model", scale.model },
                                { "mesh", scale.mesh },
                                { "points", points },
                                { "seconds_per_point", each },
                                { "of_50_us", each / kPoint },
                                { "of_a_plan", each / alone } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
