// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/calibration.h"

#include "model/core/jsonreader.h"
#include "model/io/wire/backends.h"

#include <cmath>

namespace shardboard {

using nlohmann::json;

namespace {

json pointToJson(const CalibrationPoint& point)
{
    json out { { "kind", point.kind },
               { "what", point.what },
               { "dtype", point.dtype },
               { "flops", point.flops },
               { "bytes", point.bytes },
               { "group_size", point.groupSize },
               { "message_bytes", point.messageBytes },
               { "seconds", point.seconds },
               { "spread", point.spread },
               { "settled", point.settled },
               { "samples", point.samples } };
    if (point.copyRate > 0)
        out.update({ { "copy_rate", point.copyRate },
                     { "store_rate", point.storeRate },
                     { "read_rate", point.readRate },
                     { "of_copy", point.ofCopy },
                     { "of_best", point.ofBest } });
    return out;
}

CalibrationPoint pointFromJson(JsonReader reader)
{
    CalibrationPoint out;
    out.kind = reader.text("kind");
    out.what = reader.text("what");
    out.dtype = reader.text("dtype");
    out.flops = reader.number("flops");
    out.bytes = reader.number("bytes");
    out.groupSize = reader.integer("group_size", 1);
    out.messageBytes = reader.integer("message_bytes", 0);
    out.seconds = reader.number("seconds");
    out.spread = reader.number("spread");
    out.settled = reader.boolean("settled");
    reader.readNumber("copy_rate", out.copyRate);
    reader.readNumber("store_rate", out.storeRate);
    reader.readNumber("read_rate", out.readRate);
    reader.readNumber("of_copy", out.ofCopy);
    reader.readNumber("of_best", out.ofBest);
    for (JsonReader& sample : reader.items("samples"))
        out.samples.push_back(sample.asNumber());
    if (!(out.seconds > 0) || !(out.bytes > 0) || !(out.flops >= 0) || !std::isfinite(out.seconds + out.bytes + out.flops))
        reader.fail("its time or size is not a positive number");
    return out;
}

} // namespace

json toJson(const CalibrationOptions& options) { return { { "backend", options.backend }, { "quick", options.quick } }; }

Result<CalibrationOptions> calibrationOptionsFromJson(const json& value)
{
    CalibrationOptions out;
    JsonReader reader(value, "options");
    if (!value.is_object())
        reader.fail("an object is expected here");
    reader.readText("backend", out.backend);
    reader.readBoolean("quick", out.quick);
    if (!isBackendName(out.backend))
        reader.child("backend").fail("there is no such backend", kBackendsText);
    if (!reader.ok())
        return reader.error();
    return out;
}

json toJson(const Calibration& calibration)
{
    json points = json::array();
    for (const CalibrationPoint& point : calibration.points)
        points.push_back(pointToJson(point));
    const MachineLimits& limits = calibration.limits;
    return { { "backend", calibration.backend },
             { "machine", calibration.machine },
             { "workers", calibration.workers },
             { "memory_bytes", calibration.memoryBytes },
             { "quick", calibration.quick },
             { "limits",
               { { "gemm_flops_one", limits.gemmFlopsOne },
                 { "gemm_flops_all", limits.gemmFlopsAll },
                 { "copy_bytes_one", limits.copyBytesOne },
                 { "copy_bytes_all", limits.copyBytesAll } } },
             { "points", std::move(points) } };
}

Result<Calibration> calibrationFromJson(const json& value)
{
    Calibration out;
    JsonReader reader(value, "calibration");
    if (!value.is_object())
        reader.fail("an object is expected here");
    out.backend = reader.text("backend");
    out.machine = reader.text("machine");
    out.workers = reader.integer("workers", 1);
    out.memoryBytes = reader.integer("memory_bytes", 0);
    out.quick = reader.boolean("quick");
    JsonReader limits = reader.child("limits");
    out.limits = { limits.number("gemm_flops_one"), limits.number("gemm_flops_all"), limits.number("copy_bytes_one"),
                   limits.number("copy_bytes_all") };
    for (const double limit :
         { out.limits.gemmFlopsOne, out.limits.gemmFlopsAll, out.limits.copyBytesOne, out.limits.copyBytesAll })
        if (!(limit > 0))
            limits.fail("a limit is not a positive number");
    for (const JsonReader& item : reader.items("points"))
        out.points.push_back(pointFromJson(item));
    if (!reader.ok())
        return reader.error();
    return out;
}

} // namespace shardboard
