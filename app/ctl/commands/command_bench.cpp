// SPDX-License-Identifier: Apache-2.0
// shardctl bench: the project's own benchmarks. Each figure stands beside another one of the same run, so that it says
// something on any machine.
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/commands.h"
#include "app/ctl/engineoptions.h"
#include "model/io/json/jsonwriter.h"

#include <functional>
#include <iostream>

namespace shardboard {

int benchCommand(const Arguments& arguments)
{
    const std::string wanted = arguments.positional().empty() ? std::string() : arguments.positional().front();
    for (const char* option : { "--engine", "--ranks", "--hosts" })
        if (arguments.has(option) && wanted != "mpi")
            return report(usageError(option, "it is for the benchmark mpi", "leave it out"));
    const auto start = engineStartOf(arguments, wanted);
    if (!start.ok())
        return report(start.error());
    const auto mpi = [&] { return benchMpi(start.value()); };
    using Benchmark = std::function<Result<BenchmarkReport>()>;
    const std::pair<const char*, Benchmark> all[] = { { "resolve", benchResolve },
                                                      { "engine", wanted == "engine" ? benchEngine : benchEngineQuick },
                                                      { "mpi",
                                                        wanted == "mpi" ? Benchmark(mpi) : Benchmark() }, // of no use without MPI
                                                      { "evaluate", benchEvaluate },
                                                      { "pick", benchPick },
                                                      { "price", benchPrice },
                                                      { "reshard", benchReshard },
                                                      { "sweep", benchSweep } };
    nlohmann::json list = nlohmann::json::array();
    std::string text;
    for (const auto& [name, run] : all) {
        if (!run || (!wanted.empty() && wanted != name))
            continue;
        const auto result = run();
        if (!result.ok())
            return report(result.error());
        list.insert(list.end(), result.value().rows.begin(), result.value().rows.end());
        text += (text.empty() ? "" : "\n") + result.value().text;
    }
    if (text.empty())
        return report(usageError("shardctl bench", "there is no benchmark '" + wanted + "'",
                                 "benchmarks are engine, evaluate, mpi, pick, price, reshard, resolve and sweep"));
    std::cout << (arguments.has("--json") ? jsonText(nlohmann::json { { "benchmarks", list } }, 1) + "\n" : text);
    return kDone;
}

} // namespace shardboard
