// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/hardwarechecks.h"

#include "model/core/mesh.h"
#include "model/text/numbers.h"

#include <cmath>
#include <sstream>

namespace shardboard {

namespace {

/// A cost model with numbers beyond these would overflow somewhere.
constexpr double kMostRate = 1e24;
constexpr double kLeastRate = 1e-3;
constexpr double kMostSeconds = 1e6;
constexpr double kMostBytes = 1152921504606846976.0; // 2^60: sums of them stay whole numbers of 64 bits
constexpr double kLeastShare = 1e-6;
constexpr double kMostElements = 1 << 20; // along one side of a tile

std::string numberText(double value)
{
    std::ostringstream out;
    out << value;
    return out.str();
}

class Checker {
public:
    explicit Checker(const std::string& where)
        : m_where(where)
    {
    }

    void rate(const std::string& key, double value, const char* unit)
    {
        if (!std::isfinite(value) || value < kLeastRate || value > kMostRate)
            fail(key, "cannot be " + numberText(value) + " " + unit, "use a number above 0, up to " + numberText(kMostRate));
    }
    void rate(const std::string& key, const std::optional<double>& value, const char* unit)
    {
        if (value)
            rate(key, *value, unit);
    }
    void seconds(const std::string& key, double value)
    {
        if (!std::isfinite(value) || value < 0 || value > kMostSeconds)
            fail(key, "cannot be " + numberText(value) + " s", "use seconds from 0 to " + numberText(kMostSeconds));
    }
    void seconds(const std::string& key, const std::optional<double>& value)
    {
        if (value)
            seconds(key, *value);
    }
    void share(const std::string& key, double value, double most)
    {
        if (!std::isfinite(value) || value < kLeastShare || value > most)
            fail(key, "cannot be " + numberText(value),
                 "use a number above 0, from " + numberText(kLeastShare) + " to " + numberText(most));
    }
    void share(const std::string& key, const std::optional<double>& value, double most)
    {
        if (value)
            share(key, *value, most);
    }
    void count(const std::string& key, double value)
    {
        if (!std::isfinite(value) || value < 0 || value > kMostElements)
            fail(key, "cannot be " + numberText(value), "use a number from 0 to " + numberText(kMostElements));
    }
    void fail(const std::string& key, const std::string& what, const std::string& fix)
    {
        if (!m_error)
            m_error = inputError(m_where + (key.empty() ? "" : ":" + key), what, fix);
    }
    Status status() const { return m_error ? Status(*m_error) : done(); }

private:
    std::string m_where;
    std::optional<Error> m_error;
};

/// One that is slower than the memory behind it would make times fall where it ends.
void checkCache(const std::optional<CacheRate>& cache, const std::string& place, double memoryRate, Checker& check)
{
    if (!cache)
        return;
    check.rate(place + ".cache.bytes", cache->bytes, "bytes");
    check.rate(place + ".cache.bytes_per_second", cache->bytesPerSecond, "bytes/s");
    if (cache->bytesPerSecond < memoryRate)
        check.fail(place + ".cache.bytes_per_second", "is less than what the memory behind it reaches",
                   "leave the cache out, or use its own rate");
}

void checkPacking(const std::optional<Packing>& packing, const std::string& place, Checker& check)
{
    if (!packing)
        return;
    check.rate(place + ".bytes_per_second", packing->bytesPerSecond, "bytes/s");
    if (packing->freeBytes != 0)
        check.rate(place + ".free_bytes", packing->freeBytes, "bytes");
    if (packing->unpackedEfficiency)
        check.share(place + ".unpacked_efficiency", *packing->unpackedEfficiency, 1);
}

/// A factor that is far from 1 comes from no measurement, and sizes are logarithms of what a device holds.
void checkMeasured(const MeasuredOp& op, const std::string& place, Checker& check)
{
    constexpr double kMostLog = 64;
    if (op.op.empty() || op.sizes.empty())
        check.fail(place, "has no op or no sizes", "name an operation, and add what it took at one size or more");
    for (const MeasuredSize& size : op.sizes) {
        if (!std::isfinite(size.factor) || size.factor < 1e-6 || size.factor > 1e6)
            check.fail(place + ".factor", "cannot be " + numberText(size.factor), "use a number from 0.000001 to 1000000");
        for (const double log : size.size)
            if (!std::isfinite(log) || log < 0 || log > kMostLog)
                check.fail(place + ".first", "cannot be " + numberText(log), "use natural logarithms, from 0 to 64");
    }
}

void checkDevice(const DeviceSpec& device, Checker& check)
{
    if (!(device.memoryBytes >= 1 && device.memoryBytes <= kMostBytes))
        check.fail("device.memory_bytes", "cannot be " + numberText(device.memoryBytes) + " bytes", "use 1 to 2^60");
    if (!(device.reservedBytes >= 0 && device.reservedBytes <= kMostBytes))
        check.fail("device.reserved_bytes", "cannot be " + numberText(device.reservedBytes) + " bytes",
                   "use 0 or more, and less than memory_bytes");
    else if (device.reservedBytes >= device.memoryBytes) // which may come from the base
        check.fail("device.memory_bytes",
                   "is " + bytesText(static_cast<std::int64_t>(device.memoryBytes)) + ", of which the driver keeps "
                       + bytesText(static_cast<std::int64_t>(device.reservedBytes)),
                   "use more memory, or a smaller reserved_bytes");
    check.rate("device.memory_bytes_per_second", device.memoryBytesPerSecond, "bytes/s");
    visitPeaks(device.peak, [&](const char* key, const std::optional<double>& value) {
        check.rate(std::string("device.peak_flops.") + key, value, "FLOP/s");
    });
    if (device.peakFlops(DType::BF16) <= 0 || device.peakFlops(DType::F32) <= 0)
        check.fail("device.peak_flops", "has no rate for bf16 nor fp32", "add one in FLOP/s");
    check.seconds("device.kernels.launch_seconds", device.kernels.launchSeconds);
    check.seconds("device.kernels.graph_launch_seconds", device.kernels.graphLaunchSeconds);
    check.seconds("device.kernels.host_seconds", device.kernels.hostSeconds);
    check.share("device.kernels.gemm_efficiency", device.kernels.gemmEfficiency, 1);
    check.share("device.kernels.fp8_efficiency", device.kernels.fp8Efficiency, 1);
    check.share("device.kernels.fp4_efficiency", device.kernels.fp4Efficiency, 1);
    check.count("device.kernels.gemm_depth", device.kernels.gemmDepth);
    check.count("device.kernels.gemm_array", static_cast<double>(device.kernels.gemmArray));
    check.share("device.kernels.sustained_clock", device.kernels.sustainedClock, 1);
    check.share("device.kernels.memory_efficiency", device.kernels.memoryEfficiency, 1);
    check.share("device.kernels.attention_efficiency", device.kernels.attentionEfficiency, 1);
    check.share("device.kernels.attention_backward_efficiency", device.kernels.attentionBackwardEfficiency, 1);
    check.share("device.kernels.flash2_efficiency", device.kernels.flash2Efficiency, 1);
    check.share("device.kernels.flash2_backward_efficiency", device.kernels.flash2BackwardEfficiency, 1);
    check.count("device.kernels.attention_head", device.kernels.attentionHead);
    check.count("device.kernels.attention_ramp", device.kernels.attentionRamp);
    checkPacking(device.kernels.gemmPacking, "device.kernels.gemm_packing", check);
    checkPacking(device.kernels.attentionPacking, "device.kernels.attention_packing", check);
    checkCache(device.cache, "device", device.kernels.memoryEfficiency * device.memoryBytesPerSecond, check);
    for (std::size_t i = 0; i < device.measured.size(); ++i)
        checkMeasured(device.measured[i], "device.measured[" + std::to_string(i) + "]", check);
    if (device.host) {
        check.rate("device.host.bytes_per_second", device.host->bytesPerSecond, "bytes/s");
        if (device.host->memoryBytesPerSecond != 0)
            check.rate("device.host.memory_bytes_per_second", device.host->memoryBytesPerSecond, "bytes/s");
        if (!(device.host->memoryBytes >= 0 && device.host->memoryBytes <= kMostBytes))
            check.fail("device.host.memory_bytes", "cannot be " + numberText(device.host->memoryBytes) + " bytes",
                       "use 1 to 2^60, or 0 where it is not known");
    }
}

void checkLink(const LinkSpec& link, const std::string& place, Checker& check)
{
    check.rate(place + ".bytes_per_second", link.bytesPerSecond, "bytes/s");
    if (link.peakBytesPerSecond != 0)
        check.rate(place + ".peak_bytes_per_second", link.peakBytesPerSecond, "bytes/s");
    check.seconds(place + ".alpha_seconds", link.alphaSeconds);
    check.seconds(place + ".alpha_ll128_seconds", link.alphaLl128);
    check.seconds(place + ".alpha_simple_seconds", link.alphaSimple);
    check.seconds(place + ".start_seconds", link.startSeconds);
    check.seconds(place + ".message_seconds", link.messageSeconds);
    checkCache(link.cache, place, link.bytesPerSecond, check);
    if (link.cache && !link.shared)
        check.fail(place + ".cache", "only a memory that devices share has one", "leave it out");
    for (std::size_t i = 0; i < link.rates.size(); ++i) {
        const CollectiveRate& rate = link.rates[i];
        const std::string at = place + ".rates[" + std::to_string(i) + "]";
        if (!link.shared)
            check.fail(at, "only a memory that devices share has rates of its own", "leave them out");
        check.seconds(at + ".piece_seconds", rate.pieceSeconds);
        check.rate(at + ".bytes_per_second", rate.bytesPerSecond, "bytes/s");
        checkCache(rate.cache, at, rate.bytesPerSecond, check);
    }
    if (!std::isfinite(link.ownBlock) || link.ownBlock < 0 || link.ownBlock > 1000)
        check.fail(place + ".own_block", "cannot be " + numberText(link.ownBlock), "use a number from 0 to 1000");
    if (link.linksPerDevice < 1)
        check.fail(place + ".links_per_device", "cannot be " + std::to_string(link.linksPerDevice),
                   "use a whole number of at least 1");
}

void checkTorus(const Level& level, const std::string& place, Checker& check)
{
    std::int64_t product = 1;
    for (const std::int64_t extent : level.shape)
        if (extent < 1 || extent > kMaxDevices || (product *= extent) > kMaxDevices)
            return check.fail(place + ".shape", "has an extent or a product that is not from 1 to " + std::to_string(kMaxDevices),
                              "use the chips along each dim, e.g. [4, 4, 4]");
    if (level.shape.empty())
        return check.fail(place + ".shape", "is missing for a torus", "use the chips along each dim, e.g. [4, 4, 4]");
    if (level.wraps.size() != level.shape.size())
        return check.fail(place + ".wraps",
                          "has " + std::to_string(level.wraps.size()) + " entries for " + std::to_string(level.shape.size())
                              + " dims",
                          "give true or false for each dim of the shape");
    if (level.size != product)
        check.fail(place + ".size",
                   "is " + std::to_string(level.size) + ", but the shape has " + std::to_string(product) + " chips",
                   "leave it out, or use " + std::to_string(product));
}

} // namespace

Status checkHardware(const Hardware& hardware, const std::string& where)
{
    Checker check(where);
    checkDevice(hardware.device, check);
    if (hardware.levels.empty())
        check.fail("levels", "there is none", "add at least one, e.g. {\"fabric\": \"switch\", \"link\": \"nvlink4\"}");
    std::int64_t devices = 1;
    for (std::size_t i = 0; i < hardware.levels.size(); ++i) {
        const Level& level = hardware.levels[i];
        const std::string place = "levels[" + std::to_string(i) + "]";
        const bool last = i + 1 == hardware.levels.size();
        checkLink(level.link, place + ".link", check);
        check.share(place + ".nics_per_device", level.nicsPerDevice, 1024);
        if (level.fabric == Fabric::Torus)
            checkTorus(level, place, check);
        else if (!level.shape.empty() || !level.wraps.empty())
            check.fail(place + ".shape", "only a torus has one", "leave it out, or use \"fabric\": \"torus\"");
        if (level.fabric == Fabric::Torus && i > 0)
            check.fail(place + ".fabric", "a torus can only be the innermost level", "put it first");
        if (level.size < 0 || level.size > kMaxDevices)
            check.fail(place + ".size", "cannot be " + std::to_string(level.size),
                       "use 1 to " + std::to_string(kMaxDevices) + ", or 0 for all the rest");
        else if (level.size == 0 && !last)
            check.fail(place + ".size", "0 stands for all the rest, so no level can be outside of it",
                       "give the number of members of a unit");
        devices *= std::max<std::int64_t>(1, level.size);
        if (devices > kMaxDevices) {
            check.fail(place + ".size", "together with the levels inside there would be " + std::to_string(devices) + " devices",
                       "use at most " + std::to_string(kMaxDevices));
            break;
        }
        if (level.inSwitch) {
            check.seconds(place + ".in_switch_reduction.start_seconds", level.inSwitch->startSeconds);
            check.share(place + ".in_switch_reduction.efficiency", level.inSwitch->efficiency, 2);
        }
        if ((level.fabric == Fabric::SharedMemory) != level.link.shared)
            check.fail(place + ".link.shared",
                       level.link.shared ? "a shared link needs the fabric shared-memory"
                                         : "the link of a shared-memory fabric must be shared",
                       level.link.shared ? "use \"fabric\": \"shared-memory\", or a link of each device's own"
                                         : "use \"shared\": true");
        if (level.fabric == Fabric::SharedMemory && hardware.levels.size() > 1)
            check.fail(place + ".fabric", "one memory that simulates all devices has no other level", "leave the other levels out");
    }
    return check.status();
}

} // namespace shardboard
