// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/messages.h"

#include "model/core/jsonreader.h"

#include <cmath>
#include <limits>

namespace shardboard {

namespace {

using nlohmann::json;

/// null stands for a value that is not finite.
void readFinite(JsonReader& reader, const std::string& key, double& out)
{
    const json& object = reader.value();
    if (object.is_object() && object.contains(key) && object[key].is_null())
        out = std::numeric_limits<double>::infinity();
    else
        reader.readNumber(key, out);
}

/// JSON has no infinity.
json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json operationToJson(const RunOperation& operation)
{
    json out = { { "id", operation.id },
                 { "kind", operation.kind },
                 { "median_seconds", operation.medianSeconds },
                 { "predicted_seconds", operation.predictedSeconds },
                 { "bytes", operation.bytes },
                 { "count", operation.count } };
    if (operation.relativeError >= 0)
        out["relative_error"] = finite(operation.relativeError);
    return out;
}

RunOperation operationFromJson(JsonReader reader)
{
    RunOperation out;
    reader.readText("id", out.id);
    reader.readText("kind", out.kind);
    readFinite(reader, "median_seconds", out.medianSeconds);
    readFinite(reader, "predicted_seconds", out.predictedSeconds);
    reader.readInteger("bytes", out.bytes, 0);
    reader.readInteger("count", out.count, 0);
    readFinite(reader, "relative_error", out.relativeError);
    return out;
}

} // namespace

json toJson(const RunOptions& options)
{
    return { { "backend", options.backend },
             { "layers", options.layers },
             { "steps", options.steps },
             { "verify", options.verify },
             { "design_dtype", options.designDtype },
             { "ends", options.ends },
             { "break_collective", options.breakCollective },
             { "seed", options.seed },
             { "profile", profileModeName(options.profile) } };
}

Result<RunOptions> runOptionsFromJson(const json& value)
{
    RunOptions out;
    JsonReader reader(value, "options");
    if (!value.is_object())
        reader.fail("an object is expected here");
    reader.readText("backend", out.backend);
    reader.readInteger("layers", out.layers, 0);
    reader.readInteger("steps", out.steps, 1);
    reader.readBoolean("verify", out.verify);
    reader.readBoolean("design_dtype", out.designDtype);
    reader.readBoolean("ends", out.ends);
    reader.readText("break_collective", out.breakCollective);
    std::string profile = profileModeName(out.profile);
    reader.readText("profile", profile);
    if (const auto mode = profileModeFromName(profile))
        out.profile = *mode;
    else
        reader.child("profile").fail("none, serial or batched is expected here");
    if (reader.has("seed")) {
        JsonReader seed = reader.child("seed"); // all 64 bits of it
        if (seed.value().is_number_unsigned())
            out.seed = seed.value().get<std::uint64_t>();
        else
            seed.fail("a whole number of at least 0 is expected here");
    }
    if (!reader.ok())
        return reader.error();
    return out;
}

json toJson(const RunResult& result)
{
    json operations = json::array();
    for (const RunOperation& operation : result.operations)
        operations.push_back(operationToJson(operation));
    json out = { { "backend", result.backend },
                 { "devices", result.devices },
                 { "steps", result.steps },
                 { "layers", result.layers },
                 { "verified", result.verified },
                 { "compared", result.compared },
                 { "worst_op", result.worstOp },
                 { "first_deviation", result.firstDeviation },
                 { "step_seconds", { { "median", result.stepMedian }, { "min", result.stepMin }, { "max", result.stepMax } } },
                 { "predicted_step_seconds", result.predictedStepSeconds },
                 { "peak_bytes", result.peakBytes },
                 { "operations", std::move(operations) } };
    out["max_relative_error"] = result.compared ? finite(result.maxRelativeError) : json(nullptr);
    out["tolerance"] = result.compared ? json(result.tolerance) : json(nullptr);
    return out;
}

Result<RunResult> runResultFromJson(const json& value)
{
    RunResult out;
    JsonReader reader(value, "run");
    if (!value.is_object())
        reader.fail("an object is expected here");
    reader.readText("backend", out.backend);
    reader.readInteger("devices", out.devices, 0);
    reader.readInteger("steps", out.steps, 0);
    reader.readInteger("layers", out.layers, 0);
    reader.readBoolean("verified", out.verified);
    reader.readBoolean("compared", out.compared);
    reader.readText("worst_op", out.worstOp);
    reader.readText("first_deviation", out.firstDeviation);
    readFinite(reader, "predicted_step_seconds", out.predictedStepSeconds);
    reader.readInteger("peak_bytes", out.peakBytes, 0);
    if (out.compared) {
        readFinite(reader, "max_relative_error", out.maxRelativeError);
        readFinite(reader, "tolerance", out.tolerance);
    }
    if (reader.has("step_seconds")) {
        JsonReader seconds = reader.child("step_seconds");
        readFinite(seconds, "median", out.stepMedian);
        readFinite(seconds, "min", out.stepMin);
        readFinite(seconds, "max", out.stepMax);
    }
    if (reader.has("operations"))
        for (const JsonReader& operation : reader.items("operations"))
            out.operations.push_back(operationFromJson(operation));
    if (!reader.ok())
        return reader.error();
    return out;
}

} // namespace shardboard
