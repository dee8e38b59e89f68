// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "model/hardware/hardware.h"
#include "model/plan/reshard/reshard.h"
#include "model/plan/reshard/reshardorder.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace shardboard {

namespace {

struct Pair {
    Layout from;
    Layout to;
};

/// Places some of the mesh axes anew, the others stay where they are.
Layout changed(const Layout& from, int axes, const Mesh& mesh, std::mt19937& random)
{
    std::vector<int> moving(static_cast<std::size_t>(mesh.axisCount()));
    std::iota(moving.begin(), moving.end(), 0);
    std::ranges::shuffle(moving, random);
    moving.resize(static_cast<std::size_t>(axes));
    Layout to = from;
    for (const int axis : moving) {
        std::erase(to.partial, AxisRef { axis });
        for (auto& dim : to.dims)
            std::erase(dim, AxisRef { axis });
    }
    for (const int axis : moving)
        if (const std::size_t place = random() % (to.dims.size() + 1); place < to.dims.size())
            to.dims[place].push_back({ axis });
    return to;
}

Layout anyLayout(const Mesh& mesh, std::size_t rank, std::mt19937& random)
{
    Layout layout = Layout::replicated(rank);
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const std::size_t place = random() % (rank + 2);
        if (place < rank)
            layout.dims[place].push_back({ axis });
        else if (place == rank)
            layout.partial.push_back({ axis });
    }
    return layout;
}

double secondsOf(const std::vector<ReshardStep>& steps, const ReshardedTensor& tensor, const Mesh& mesh, ReshardPlanner& planner)
{
    double sum = 0;
    for (const ReshardStep& step : steps)
        sum += planner.seconds(step.kind, step.axes, stepBytes(step, tensor.shape, tensor.dtype, mesh));
    return sum;
}

} // namespace

Result<BenchmarkReport> benchReshard()
{
    constexpr std::size_t kRounds = 9;
    constexpr std::size_t kPairs = 200;
    const auto mesh = Mesh::parse("pod=4,data=8,fsdp=16,model=8");
    const auto hardware = findHardware("dgx-h100");
    if (!mesh.ok() || !hardware.ok())
        return mesh.ok() ? hardware.error() : mesh.error();
    const ReshardedTensor tensor { { 64, 8192, 16384 }, DType::BF16, 1 };
    BenchmarkReport report;
    Table table({ "reshard on pod=4,data=8,fsdp=16,model=8", ">mesh axes that change", ">first time", ">again",
                  ">of a 2 ms budget, 300 calls", ">steps", ">of the time of a fixed order" });
    std::mt19937 random(4);
    for (int axes = 1; axes <= mesh.value().axisCount(); ++axes) {
        std::vector<Pair> pairs;
        while (pairs.size() < kPairs) {
            const Layout from = anyLayout(mesh.value(), tensor.shape.size(), random);
            const Layout to = changed(from, axes, mesh.value(), random);
            if (from != to)
                pairs.push_back({ from, to });
        }
        double steps = 0;
        double cheapest = 0;
        double fixed = 0;
        bool good = true;
        ReshardPlanner remembers(mesh.value(), hardware.value());
        for (const Pair& pair : pairs) {
            const auto found = remembers.steps(pair.from, pair.to, tensor, "bench");
            good = good && found.ok();
            if (!good)
                break;
            steps += static_cast<double>(found.value().size());
            cheapest += secondsOf(found.value(), tensor, mesh.value(), remembers);
            fixed += secondsOf(stepsInFixedOrder(pair.from, pair.to, tensor.shape, mesh.value()), tensor, mesh.value(), remembers);
        }
        if (!good)
            return inputError("bench", "the benchmark's own layouts cannot be resharded");
        const auto all = [&](ReshardPlanner& planner) {
            for (const Pair& pair : pairs)
                good = planner.steps(pair.from, pair.to, tensor, "bench").ok() && good;
        };
        const double count = static_cast<double>(pairs.size());
        const double first = medianSeconds(kRounds,
                                           [&] {
                                               ReshardPlanner fresh(mesh.value(), hardware.value());
                                               all(fresh);
                                           })
            / count;
        const double again = medianSeconds(kRounds, [&] { all(remembers); }) / count;
        const auto ratio = [](double value) { return std::to_string(value).substr(0, 5); };
        table.add({ "64 x 8192 x 16384, bf16", std::to_string(axes), secondsText(first), secondsText(again),
                    ratio(first * 300 / 0.002), ratio(steps / count), ratio(cheapest / fixed) });
        report.rows.push_back({ { "name", "reshard" },
                                { "axes", axes },
                                { "first_seconds", first },
                                { "again_seconds", again },
                                { "steps", steps / count },
                                { "of_fixed_order", cheapest / fixed } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
