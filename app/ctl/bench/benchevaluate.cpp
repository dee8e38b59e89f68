// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/text/numbers.h"

namespace shardboard {

namespace {

struct Scale {
    const char* model;
    const char* mesh;
    const char* preset;
    WorkloadKind workload = WorkloadKind::Prefill;
    std::int64_t layers = 0; ///< 0: as many as the model has
};

Result<Design> designOf(const Scale& scale)
{
    Design design;
    auto model = builtinModel(scale.model);
    if (!model.ok())
        return model.error();
    design.model = std::move(model).value();
    auto mesh = Mesh::parse(scale.mesh);
    if (!mesh.ok())
        return mesh.error();
    design.mesh = std::move(mesh).value();
    design.workload.batch = 2048;
    design.workload.kind = scale.workload;
    if (scale.layers > 0)
        design.model.layers = scale.layers;
    if (const auto applied = applyPreset(design, scale.preset); !applied.ok())
        return applied.error();
    return design;
}

} // namespace

Result<BenchmarkReport> benchEvaluate()
{
    constexpr WorkloadKind train = WorkloadKind::Train;
    const Scale scales[] = { { "llama3-8b", "data=2,model=4", "megatron-tp" },
                             { "llama3-8b", "pod=16,data=128,model=8", "megatron-tp" },
                             { "llama3.1-405b", "pod=16,data=128,model=8", "megatron-tp" },
                             { "llama3.1-405b", "pod=1,data=1,fsdp=1,model=8", "tp+fsdp", train },
                             { "llama3.1-405b", "pod=2,data=2,fsdp=2,model=2", "tp+fsdp", train },
                             { "llama3.1-405b", "pod=4,data=8,fsdp=64,model=8", "tp+fsdp", train, 2 },
                             { "llama3.1-405b", "pod=4,data=8,fsdp=64,model=8", "tp+fsdp", train } };
    constexpr double kFrame = 0.016;
    constexpr std::size_t kRounds = 31;
    BenchmarkReport report;
    Table table(
        { "evaluate after an edit", "workload", ">layers", "mesh", ">devices", ">median", ">of a 16 ms frame", ">of the first" });
    double first = 0;
    for (const Scale& scale : scales) {
        const auto design = designOf(scale);
        if (!design.ok())
            return design.error();
        bool good = true;
        const double seconds = medianSeconds(kRounds, [&] { good = good && evaluate(design.value()).ok(); });
        if (!good)
            return inputError("bench", "the benchmark's own design cannot be evaluated");
        first = first > 0 ? first : seconds;
        const auto ratio = [](double value) { return std::to_string(value).substr(0, 5); };
        table.add({ scale.model, workloadName(scale.workload), std::to_string(design.value().model.layers), scale.mesh,
                    countText(design.value().mesh.deviceCount()), secondsText(seconds), ratio(seconds / kFrame),
                    ratio(seconds / first) });
        report.rows.push_back({ { "name", "evaluate" },
                                { "model", scale.model },
                                { "mesh", scale.mesh },
                                { "workload", workloadName(scale.workload) },
                                { "layers", design.value().model.layers },
                                { "seconds", seconds },
                                { "of_frame", seconds / kFrame },
                                { "of_first", seconds / first } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
