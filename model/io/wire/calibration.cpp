// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/calibration.h"

#include "model/io/wire/backends.h"
#include "model/io/wire/planmembers.h"
#include "model/io/wire/profilemembers.h"

#include <cmath>

namespace shardboard {

using nlohmann::json;

template <class Each, MembersOf<KernelWork> Work>
void jsonMembers(Each& each, Work& work)
{
    each.usual("kernel", work.kernel);
    each.unless("m", work.gemm.m, 0);
    each.unless("n", work.gemm.n, 0);
    each.unless("k", work.gemm.k, 0);
    each.unless("products", work.gemm.b, 0);
    each.unless("launches", work.launches, 1);
    each.unless("between", work.between, 0);
    each.unless("head_dim", work.headDim, 0);
    each.unless("keys", work.keys, 0);
    each.unless("copied", work.copied, 0);
    each.unless("backward", work.backward, false);
}

template <class Each, MembersOf<CalibrationPoint> Point>
void jsonMembers(Each& each, Point& point)
{
    each.value("kind", point.kind);
    each.value("what", point.what);
    each.value("dtype", point.dtype);
    each.unless("source", point.source, "");
    each.unless("work", point.work, {});
    each.value("flops", point.flops);
    each.value("bytes", point.bytes);
    each.value("group_size", point.groupSize, { 1 });
    each.value("message_bytes", point.messageBytes, { 0 });
    each.value("seconds", point.seconds);
    each.value("spread", point.spread);
    each.value("settled", point.settled);
    each.value("samples", point.samples);
    if (Each::kReads || point.copyRate > 0) {
        each.usual("copy_rate", point.copyRate);
        each.usual("store_rate", point.storeRate);
        each.usual("read_rate", point.readRate);
        each.usual("of_copy", point.ofCopy);
        each.usual("of_best", point.ofBest);
    }
    each.check([&](JsonFields& from) {
        if (!(point.seconds > 0) || !(point.bytes > 0) || !(point.flops >= 0)
            || !std::isfinite(point.seconds + point.bytes + point.flops))
            from.fail({}, "its time or size is not a positive number", "measure it again");
    });
}

template <class Each, MembersOf<Calibration> Measured>
void jsonMembers(Each& each, Measured& calibration)
{
    each.value("backend", calibration.backend);
    each.value("machine", calibration.machine);
    each.value("workers", calibration.workers, { 1 });
    each.value("memory_bytes", calibration.memoryBytes, { 0 });
    each.value("quick", calibration.quick);
    each.value("limits", calibration.limits);
    each.check([&](JsonFields& from) {
        const MachineLimits& limits = calibration.limits;
        for (const double limit : { limits.gemmFlopsOne, limits.gemmFlopsAll, limits.copyBytesOne, limits.copyBytesAll })
            if (!(limit > 0))
                from.fail("limits", "a limit is not a positive number", "measure it again");
    });
    each.value("points", calibration.points);
}

template <class Each, MembersOf<CalibrationOptions> Options>
void jsonMembers(Each& each, Options& options)
{
    each.usual("backend", options.backend);
    each.usual("quick", options.quick);
    each.check([&](JsonFields& from) {
        if (!isBackendName(options.backend))
            from.fail("backend", "there is no such backend", kBackendsText);
    });
}

json toJson(const CalibrationOptions& options) { return jsonOf(options); }
json toJson(const Calibration& calibration) { return jsonOf(calibration); }

Result<CalibrationOptions> calibrationOptionsFromJson(const json& value)
{
    return messageFromJson<CalibrationOptions>(value, "options");
}
Result<Calibration> calibrationFromJson(const json& value) { return messageFromJson<Calibration>(value, "calibration"); }

} // namespace shardboard
