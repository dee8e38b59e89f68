// SPDX-License-Identifier: Apache-2.0
// shardctl bench: the project's own benchmarks. Each figure stands beside another one of the same run, so that it says
// something on any machine.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/core/numbers.h"
#include "model/design/presets.h"
#include "model/formats/openmodel.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>

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

/// Median seconds from an edit to its consequences: layouts, plan, memory, findings.
double evaluationSeconds(const Design& design)
{
    constexpr std::size_t kRounds = 31;
    std::vector<double> seconds;
    for (std::size_t i = 0; i < kRounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        if (!evaluate(design).ok())
            return 0;
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
    return seconds[kRounds / 2];
}

} // namespace

int benchCommand(const Arguments& arguments)
{
    const Scale scales[] = { { "llama3-8b", "data=2,model=4" },
                             { "llama3-8b", "pod=16,data=128,model=8" },
                             { "llama3.1-405b", "pod=16,data=128,model=8" } };
    constexpr double kFrame = 0.016;
    nlohmann::json list = nlohmann::json::array();
    Table table({ "evaluate after an edit", "mesh", ">devices", ">median", ">of a 16 ms frame", ">of the first" });
    double first = 0;
    for (const Scale& scale : scales) {
        const auto design = designOf(scale);
        if (!design.ok())
            return report(design.error());
        const double seconds = evaluationSeconds(design.value());
        first = first > 0 ? first : seconds;
        const auto ratio = [](double value) { return std::to_string(value).substr(0, 5); };
        table.add({ scale.model, scale.mesh, countText(design.value().mesh.deviceCount()), secondsText(seconds),
                    ratio(seconds / kFrame), ratio(seconds / first) });
        list.push_back({ { "name", "evaluate" }, { "model", scale.model }, { "mesh", scale.mesh }, { "seconds", seconds },
                         { "of_frame", seconds / kFrame }, { "of_first", seconds / first } });
    }
    std::cout << (arguments.has("--json") ? nlohmann::json { { "benchmarks", list } }.dump(1) + "\n" : table.text(0));
    return kDone;
}

} // namespace shardboard
