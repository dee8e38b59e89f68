// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands/runtable.h"

#include "app/ctl/table.h"
#include "model/text/numbers.h"

#include <cmath>

namespace shardboard {

namespace {

std::string errorText(double error)
{
    if (error < 0)
        return "";
    return std::isfinite(error) ? formatted("%.1e", error) : "not a number";
}

} // namespace

std::string runTable(const RunResult& result)
{
    Table table(
        result.compared
            ? std::vector<std::string> { "operation", "kind", ">times", ">seconds each", ">predicted", ">bytes", ">relative error" }
            : std::vector<std::string> { "operation", "kind", ">times", ">seconds each", ">predicted", ">bytes" });
    for (const RunOperation& operation : result.operations) {
        std::vector<std::string> row { operation.id,
                                       operation.kind,
                                       std::to_string(operation.count),
                                       secondsText(operation.medianSeconds),
                                       secondsText(operation.predictedSeconds),
                                       operation.bytes > 0 ? bytesText(operation.bytes) : "" };
        if (result.compared)
            row.push_back(errorText(operation.relativeError));
        table.add(std::move(row));
    }
    return table.text();
}

std::string runSummary(const RunResult& result)
{
    std::string out =
        formatted("%lld logical devices on %s, %lld %s, %lld %s, peak %s\n", static_cast<long long>(result.devices),
                  result.backend.c_str(), static_cast<long long>(result.layers), result.layers == 1 ? "layer" : "layers",
                  static_cast<long long>(result.steps), result.steps == 1 ? "step" : "steps", bytesText(result.peakBytes).c_str());
    out += formatted("a step on the slowest logical device: median %s (min %s, max %s); predicted for the design's hardware %s\n",
                     secondsText(result.stepMedian).c_str(), secondsText(result.stepMin).c_str(),
                     secondsText(result.stepMax).c_str(), secondsText(result.predictedStepSeconds).c_str());
    if (!result.compared)
        return out;
    out += formatted("largest relative error %s at %s: %s the tolerance %.0e\n", errorText(result.maxRelativeError).c_str(),
                     result.worstOp.empty() ? "no operation" : result.worstOp.c_str(), result.verified ? "within" : "above",
                     result.tolerance);
    if (!result.verified)
        out += "verification FAILED; the first that deviates is " + result.firstDeviation + "\n";
    return out;
}

} // namespace shardboard
