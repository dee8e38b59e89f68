// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/benchmarks.h"
#include "app/ctl/table.h"
#include "model/core/numbers.h"
#include "model/design/evaluate.h"
#include "model/design/presets.h"
#include "model/formats/openmodel.h"

namespace shardboard {

namespace {

struct Scale {
    const char* model;
    const char* mesh;
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
    std::vector<std::string> notes;
    auto strategies = presetStrategies("megatron-tp", design.mesh, design.model, design.workload, notes);
    if (!strategies.ok())
        return strategies.error();
    design.strategies = std::move(strategies).value();
    return design;
}

} // namespace

Result<BenchmarkReport> benchEvaluate()
{
    const Scale scales[] = { { "llama3-8b", "data=2,model=4" },
                             { "llama3-8b", "pod=16,data=128,model=8" },
                             { "llama3.1-405b", "pod=16,data=128,model=8" } };
    constexpr double kFrame = 0.016;
    constexpr std::size_t kRounds = 31;
    BenchmarkReport report;
    Table table({ "evaluate after an edit", "mesh", ">devices", ">median", ">of a 16 ms frame", ">of the first" });
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
        table.add({ scale.model, scale.mesh, countText(design.value().mesh.deviceCount()), secondsText(seconds),
                    ratio(seconds / kFrame), ratio(seconds / first) });
        report.rows.push_back({ { "name", "evaluate" },
                                { "model", scale.model },
                                { "mesh", scale.mesh },
                                { "seconds", seconds },
                                { "of_frame", seconds / kFrame },
                                { "of_first", seconds / first } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
