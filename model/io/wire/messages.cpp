// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/messages.h"

#include "model/io/wire/profilemembers.h"

namespace shardboard {

using nlohmann::json;

template <class Each, MembersOf<RunOptions> Options>
void jsonMembers(Each& each, Options& options)
{
    each.usual("backend", options.backend);
    each.usual("layers", options.layers, { 0 });
    each.usual("steps", options.steps, { 1 });
    each.usual("verify", options.verify);
    each.usual("design_dtype", options.designDtype);
    each.usual("ends", options.ends);
    each.usual("break_collective", options.breakCollective);
    each.usual("seed", options.seed);
    each.usual("profile", options.profile);
}

template <class Each, MembersOf<RunOperation> Operation>
void jsonMembers(Each& each, Operation& operation)
{
    each.usual("id", operation.id);
    each.usual("kind", operation.kind);
    each.finite("median_seconds", operation.medianSeconds);
    each.finite("predicted_seconds", operation.predictedSeconds);
    each.usual("bytes", operation.bytes, { 0 });
    each.usual("count", operation.count, { 0 });
    each.finite("relative_error", operation.relativeError, operation.relativeError >= 0);
}

template <class Each, MembersOf<RunResult> Run>
void jsonMembers(Each& each, Run& result)
{
    each.usual("backend", result.backend);
    each.usual("devices", result.devices, { 0 });
    each.usual("steps", result.steps, { 0 });
    each.usual("layers", result.layers, { 0 });
    each.usual("verified", result.verified);
    each.usual("compared", result.compared);
    each.usual("worst_op", result.worstOp);
    each.usual("first_deviation", result.firstDeviation);
    each.finite("predicted_step_seconds", result.predictedStepSeconds);
    each.usual("peak_bytes", result.peakBytes, { 0 });
    if (result.compared) {
        each.finite("max_relative_error", result.maxRelativeError);
        each.finite("tolerance", result.tolerance);
    } else {
        for (const char* ofComparing : { "max_relative_error", "tolerance" })
            each.derived(ofComparing, [] { return json(nullptr); });
    }
    each.groupIfAny("step_seconds", [&](auto& inner) {
        inner.finite("median", result.stepMedian);
        inner.finite("min", result.stepMin);
        inner.finite("max", result.stepMax);
    });
    each.usual("operations", result.operations);
}

json toJson(const RunOptions& options) { return jsonOf(options); }
json toJson(const RunResult& result) { return jsonOf(result); }
Result<RunOptions> runOptionsFromJson(const json& value) { return messageFromJson<RunOptions>(value, "options"); }
Result<RunResult> runResultFromJson(const json& value) { return messageFromJson<RunResult>(value, "run"); }

} // namespace shardboard
