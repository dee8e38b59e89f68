// SPDX-License-Identifier: Apache-2.0
// Our collectives between processes of this host, or of several, beside those of the MPI library.
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "app/worker/askworker.h"
#include "app/worker/messagefields.h"
#include "app/worker/workercommand.h"
#include "app/worker/workerprocess.h"
#include "model/text/numbers.h"

namespace shardboard {

namespace {

constexpr double kMostSeconds = 300;

/// A line for each collective.
Status measureMpi(const EngineStart& start, std::vector<nlohmann::json>& rows)
{
    const auto command = engineCommandFor("mpi", start, 2);
    if (!command.ok())
        return command.error();
    auto worker = WorkerProcess::start(command.value() + " --bench-collectives 64");
    if (!worker.ok())
        return worker.error();
    for (int i = 0; i < 4; ++i) {
        const auto line = worker.value()->readLine(kMostSeconds);
        if (!line.ok())
            return line.error();
        if (!line.value())
            return engineError("it took longer than " + std::to_string(static_cast<int>(kMostSeconds)) + " s");
        auto row = nlohmann::json::parse(*line.value(), nullptr, false);
        if (!row.is_object())
            return engineError("it said something that is not a result: " + *line.value());
        rows.push_back(std::move(row));
    }
    return done();
}

} // namespace

Result<BenchmarkReport> benchMpi(const EngineStart& start)
{
    std::vector<nlohmann::json> rows;
    const bool asked = start.ranks > 0 || !start.hosts.empty() || !start.engine.empty();
    for (const std::int64_t processes : asked ? std::vector<std::int64_t> { start.ranks } : std::vector<std::int64_t> { 2, 4 })
        if (const auto status = measureMpi({ start.engine, processes, start.hosts }, rows); !status.ok())
            return status.error();
    BenchmarkReport report;
    Table table({ "between processes", ">processes", ">hosts", ">bytes each", ">seconds", ">MPI library", ">times faster",
                  ">of the copy rate", "right" });
    for (const nlohmann::json& row : rows) {
        const auto add = [&](const std::string& name, const char* seconds, const char* times) {
            table.add({ name, std::to_string(messageWhole(row, "processes")), std::to_string(messageWhole(row, "hosts")),
                        bytesText(messageWhole(row, "bytes")), secondsText(messageNumber(row, "seconds")),
                        secondsText(messageNumber(row, seconds)), formatted("%.1f", messageNumber(row, times)),
                        formatted("%.0f %%", 100 * messageNumber(row, "of_copy_rate")), row.value("right", false) ? "yes" : "NO" });
        };
        const std::string name = messageText(row, "collective");
        add(name, "library_seconds", "times_library");
        // The engine's all-to-all takes columns out of rows; the library's does it too when a datatype says so.
        if (row.contains("times_library_reshard"))
            add(name + ", from rows to columns", "library_reshard_seconds", "times_library_reshard");
        report.rows.push_back(row);
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
