// SPDX-License-Identifier: Apache-2.0
// What an evaluation of many weights costs under as many strategy entries, by how their patterns look, as JSON. Ten times as many
// should take about ten times as long: `growth` tells how it is.
#include "model/design/evaluate/evaluate.h"
#include "model/design/evaluation.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <string>

using namespace shardboard;

namespace {

constexpr int kFew = 3000;
constexpr int kTimes = 10;

/// The best of three, of this process alone: what else runs does not count. Below zero when it cannot be evaluated.
double seconds(int count, const std::string& before, const std::string& after)
{
    Design design;
    design.mesh = Mesh::parse("model=4").value();
    design.model.name = design.model.source = "loose";
    design.model.notUnderstood = "the family is not known";
    for (int i = 0; i < count; ++i) {
        const std::string number = std::to_string(i);
        design.model.looseWeights.push_back(
            { { "layers." + number + ".weight", { 64, 64 }, DType::BF16, TensorRole::Weight, {} }, false });
        design.strategies.push_back({ before + number + after, { StrategyKind::Rowwise, { "model" } }, {} });
    }
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
        const std::clock_t start = std::clock();
        if (!evaluate(design, Misfits::Replicate).ok())
            return -1;
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
}

} // namespace

int main()
{
    struct Pattern {
        const char* what;
        const char* before;
        const char* after;
    };
    nlohmann::json rows = nlohmann::json::array();
    for (const Pattern& pattern :
         { Pattern { "names", "layers.", ".weight" }, Pattern { "by prefix", "layers.", ".*" },
           Pattern { "begin with a wildcard", "*s.", ".*" }, Pattern { "match nothing", "*.typo.", ".*" } }) {
        const double few = seconds(kFew, pattern.before, pattern.after);
        const double many = seconds(kTimes * kFew, pattern.before, pattern.after);
        if (few < 0 || many < 0) {
            std::cerr << "bench_entries: the design cannot be evaluated\n";
            return 1;
        }
        rows.push_back({ { "patterns", pattern.what },
                         { "entries", kFew },
                         { "seconds", few },
                         { "entries_many", kTimes * kFew },
                         { "seconds_many", many },
                         { "growth", many / few } });
    }
    std::cout << nlohmann::json { { "benchmark", "many entries" }, { "rows", rows } }.dump(1) << "\n";
    return 0;
}
