// SPDX-License-Identifier: Apache-2.0
// The benchmarks of shardctl bench.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace shardboard {

struct BenchmarkReport {
    std::string text; ///< a table for people
    nlohmann::json rows = nlohmann::json::array(); ///< the same, one object a row
};

/// From an edit to its consequences: layouts, plan, memory, findings. Small and large models and meshes.
Result<BenchmarkReport> benchEvaluate();
/// What the worker's products and collectives reach of the best rates of this machine, all measured in one session.
Result<BenchmarkReport> benchEngine();
Result<BenchmarkReport> benchEngineQuick();
struct EngineStart;
/// Collectives between processes beside those of the MPI library, in one run; at most 64 MiB a process. Where the user does not say
/// how many processes to start and where, two and then four on this host.
Result<BenchmarkReport> benchMpi(const EngineStart& start);
/// Layouts, shard maps and bytes of every weight of a 126-layer model, each layer on its own, on 131,072 devices.
Result<BenchmarkReport> benchResolve();
/// What a point of a sweep takes on one core, beside planning a design.
Result<BenchmarkReport> benchSweep();
/// One row per mesh axis picked for an operation, its menu being there.
Result<BenchmarkReport> benchPick();
/// A plan that is there on changed hardware: time, utilization and whether it fits.
Result<BenchmarkReport> benchPrice();
/// Between layouts on four mesh axes: how long the cheapest steps take to find, and what they save.
Result<BenchmarkReport> benchReshard();

/// Median seconds of `rounds` runs.
template <class Run>
double medianSeconds(std::size_t rounds, Run run)
{
    std::vector<double> seconds;
    for (std::size_t i = 0; i < rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(rounds / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
}

} // namespace shardboard
