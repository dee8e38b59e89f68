// SPDX-License-Identifier: Apache-2.0
// What `shardctl run` shows: progress while it runs, the table of operations at the end.
#include "app/ctl/commands.h"
#include "app/ctl/runcommand.h"
#include "app/ctl/table.h"
#include "model/core/numbers.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace shardboard {

namespace {

std::atomic<bool> interrupted { false };
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void interrupt(int) { interrupted = true; }

std::string formatted(const char* format, double value)
{
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string errorText(double error)
{
    if (error < 0)
        return "";
    return std::isfinite(error) ? formatted("%.1e", error) : "not a number";
}

/// One line that is written over where stderr is a terminal; elsewhere a line every few seconds.
class ProgressLine {
public:
    void show(std::int64_t step, std::int64_t of, const std::string& what)
    {
        if (m_terminal)
            std::fprintf(stderr, "\r\033[K%lld/%lld  %s", static_cast<long long>(step), static_cast<long long>(of),
                         what.substr(0, 60).c_str());
        else if (step * 4 / std::max<std::int64_t>(1, of) > m_quarter)
            std::fprintf(stderr, "%lld/%lld  %s\n", static_cast<long long>(step), static_cast<long long>(of), what.c_str());
        m_quarter = std::max(m_quarter, step * 4 / std::max<std::int64_t>(1, of));
        m_shown = true;
    }
    void clear() const
    {
        if (m_terminal && m_shown)
            std::fputs("\r\033[K", stderr);
    }

private:
    bool m_terminal = isatty(STDERR_FILENO) != 0;
    bool m_shown = false;
    std::int64_t m_quarter = 0;
};

void printTable(const RunResult& result)
{
    Table table(result.compared ? std::vector<std::string> { "operation", "kind", ">times", ">seconds each", ">predicted",
                                                            ">bytes", ">relative error" }
                                : std::vector<std::string> { "operation", "kind", ">times", ">seconds each", ">predicted",
                                                            ">bytes" });
    for (const RunOperation& operation : result.operations) {
        std::vector<std::string> row { operation.id, operation.kind, std::to_string(operation.count),
                                       secondsText(operation.medianSeconds), secondsText(operation.predictedSeconds),
                                       operation.bytes > 0 ? bytesText(operation.bytes) : "" };
        if (result.compared)
            row.push_back(errorText(operation.relativeError));
        table.add(std::move(row));
    }
    std::fputs(table.text().c_str(), stdout);
}

void printSummary(const RunResult& result)
{
    std::printf("\n%lld logical devices on %s, %lld %s, %lld %s, peak %s\n", static_cast<long long>(result.devices),
                result.backend.c_str(), static_cast<long long>(result.layers), result.layers == 1 ? "layer" : "layers",
                static_cast<long long>(result.steps), result.steps == 1 ? "step" : "steps",
                bytesText(result.peakBytes).c_str());
    std::printf("a step on the slowest logical device: median %s (min %s, max %s); predicted for the design's hardware %s\n",
                secondsText(result.stepMedian).c_str(), secondsText(result.stepMin).c_str(),
                secondsText(result.stepMax).c_str(), secondsText(result.predictedStepSeconds).c_str());
    if (!result.compared)
        return;
    std::printf("largest relative error %s at %s: %s the tolerance %.0e\n", errorText(result.maxRelativeError).c_str(),
                result.worstOp.empty() ? "no operation" : result.worstOp.c_str(), result.verified ? "within" : "above",
                result.tolerance);
    if (!result.verified)
        std::printf("verification FAILED; the first that deviates is %s\n", result.firstDeviation.c_str());
}

} // namespace

int executeRun(const Graph& graph, const Plan& plan, const RunCommand& command)
{
    interrupted = false;
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, &before);
    ProgressLine line;
    RunReports reports;
    reports.announce = [](std::int64_t bytes, double seconds) {
        std::fprintf(stderr, "needs %s of memory and about %s on this machine\n", bytesText(bytes).c_str(),
                     secondsText(seconds).c_str());
    };
    reports.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) { line.show(step, of, what); };
    const auto result = runInWorker(graph, plan, command, reports, interrupted);
    line.clear();
    sigaction(SIGINT, &before, nullptr);
    if (result.cancelled()) {
        std::fputs("cancelled\n", stderr);
        return kCancelled;
    }
    if (!result.ok())
        return report(result.error());
    if (command.json) {
        std::puts(toJson(result.value()).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    } else {
        printTable(result.value());
        printSummary(result.value());
    }
    return result.value().compared && !result.value().verified ? kFindings : kDone;
}

} // namespace shardboard
