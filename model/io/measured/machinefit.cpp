// SPDX-License-Identifier: Apache-2.0
#include "model/io/measured/machinefit.h"

#include "model/cost/kerneltime.h"
#include "model/hardware/collectiverate.h"
#include "model/io/measured/profiledocument.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardboard {

using nlohmann::json;

namespace {

bool ofProgram(const CalibrationPoint& point) { return !point.source.empty(); }
bool isAttention(const CalibrationPoint& point) { return point.kind == "attention" || point.kind == "attention-backward"; }
bool isKernel(const CalibrationPoint& point) { return point.kind == "gemm" || point.kind == "memory" || isAttention(point); }

KernelPoint kernelPoint(const CalibrationPoint& point)
{
    return { point.flops, point.bytes, point.seconds, point.dtype == "BF16" ? DType::BF16 : DType::F32 };
}

bool onGpu(const Calibration& calibration) { return calibration.backend == "cuda" || calibration.backend == "nccl"; }
/// Of the points that laws are fitted to.
const char* fittedDtype(const Calibration& calibration) { return onGpu(calibration) ? "BF16" : "F32"; }

template <class Model>
FitReport reportOf(const std::string& name, const std::vector<const CalibrationPoint*>& points, const Model& model)
{
    FitReport out { name, static_cast<std::int64_t>(points.size()), {} };
    for (const CalibrationPoint* point : points) {
        const double off = std::fabs(model(*point) - point->seconds) / point->seconds;
        out.residual.mean += off / static_cast<double>(points.size());
        out.residual.worst = std::max(out.residual.worst, off);
    }
    return out;
}

std::vector<const CalibrationPoint*> pointsOf(const Calibration& calibration, const std::string& kind)
{
    std::vector<const CalibrationPoint*> out;
    for (const CalibrationPoint& point : calibration.points)
        if (point.kind == kind && !ofProgram(point) && point.dtype == fittedDtype(calibration))
            out.push_back(&point);
    return out;
}

DeviceSpec deviceOf(const Calibration& calibration)
{
    DeviceSpec out;
    out.id = "calibrated-" + calibration.backend;
    out.name = "one worker thread of " + calibration.machine;
    out.kind = DeviceKind::Cpu;
    out.source = "measured on this machine";
    double best = calibration.limits.gemmFlopsOne;
    for (const CalibrationPoint* point : pointsOf(calibration, "gemm"))
        best = std::max(best, point->flops / point->seconds);
    out.peak.fp32 = best;
    out.memoryBytesPerSecond = calibration.limits.copyBytesOne;
    if (onGpu(calibration)) {
        // One logical device has the whole GPU while its kernel runs. Its products are bfloat16; what its cache makes faster is
        // small and left out.
        out.name = calibration.machine;
        out.kind = DeviceKind::Gpu;
        out.peak.fp32 = calibration.limits.gemmFlopsOne > 0 ? calibration.limits.gemmFlopsOne : best;
        out.peak.bf16 = std::max(best, calibration.limits.gemmFlopsAll);
        out.memoryBytes = static_cast<double>(calibration.memoryBytes);
        return out;
    }
    for (const CalibrationPoint* point : pointsOf(calibration, "memory")) // from the caches it is faster
        out.memoryBytesPerSecond = std::max(out.memoryBytesPerSecond, point->bytes / point->seconds);
    out.memoryBytes = static_cast<double>(calibration.memoryBytes);
    return out;
}

/// Of the products that were measured.
double& peakOf(DeviceSpec& device) { return device.peak.bf16 ? *device.peak.bf16 : *device.peak.fp32; }

/// Without the launch a kernel can be a little faster than any that was seen.
void keepSharesBelowOne(DeviceSpec& device)
{
    if (double& share = device.kernels.gemmEfficiency; share > 1) {
        peakOf(device) *= share;
        device.kernels.attentionEfficiency /= share;
        if (auto& packing = device.kernels.gemmPacking; packing && packing->unpackedEfficiency)
            *packing->unpackedEfficiency /= share;
        share = 1;
    }
    if (device.kernels.memoryEfficiency > 1) {
        device.memoryBytesPerSecond *= device.kernels.memoryEfficiency;
        device.kernels.memoryEfficiency = 1;
    }
}

/// As a plan has it.
KernelWork workOf(const CalibrationPoint& point)
{
    KernelWork out = point.work;
    if (ofProgram(point)) {
        out.op = point.kind;
        out.dtype = kernelPoint(point).dtype;
        out.flops = point.flops;
        out.bytes = point.bytes;
        return out;
    }
    out.kernel = point.kind == "gemm" ? KernelClass::Gemm : isAttention(point) ? KernelClass::Attention : KernelClass::Memory;
    out.backward = point.kind == "attention-backward";
    out.dtype = kernelPoint(point).dtype;
    out.flops = point.flops;
    out.bytes = point.bytes;
    return out;
}

bool isCollective(const CalibrationPoint& point) { return ofProgram(point) ? point.messageBytes > 0 : !isKernel(point); }

/// Of all groups that work at the same time.
double piecesOf(const CalibrationPoint& point)
{
    const auto n = static_cast<double>(point.groupSize);
    const double pieces = point.kind == "all-to-all" ? n * n : n;
    if (!ofProgram(point))
        return pieces; // one group
    return std::round(point.bytes / trafficOfGroup(point.kind, point.groupSize, static_cast<double>(point.messageBytes))) * pieces;
}

/// As a price of the cost model has it, of which S is made from the bytes.
double transferSeconds(const CalibrationPoint& point, const LinkSpec& link)
{
    if (const CollectiveRate* own = findRate(link, point.kind))
        return own->seconds(piecesOf(point), point.bytes);
    return link.alphaSeconds + piecesOf(point) * link.messageSeconds.value_or(0)
        + (link.cache ? link.cache->seconds(point.bytes, link.bytesPerSecond) : point.bytes / link.bytesPerSecond);
}

/// A law with more constants has to come much nearer than the plain one, and the plain one to be further off than measurements are.
bool muchNearer(const Residual& other, const Residual& plain)
{
    constexpr double kNoise = 0.06;
    constexpr double kShare = 0.75;
    return plain.mean > kNoise && other.mean < kShare * plain.mean;
}

/// The device with a cache and with products and attention that pack their operands, each where that is much nearer to the points.
DeviceSpec withCaches(const Hardware& hardware, const Calibration& calibration)
{
    Hardware next = hardware;
    DeviceSpec& device = next.device;
    const auto residualOf = [&](const char* kind, const Hardware& of) {
        return reportOf(kind, pointsOf(calibration, kind),
                        [&](const CalibrationPoint& point) { return kernelSeconds(workOf(point), of); })
            .residual;
    };
    std::vector<LinkPoint> moves;
    for (const CalibrationPoint* point : pointsOf(calibration, "memory"))
        moves.push_back({ point->bytes, point->seconds, 1 });
    if (const auto cached = fitCached(moves); cached && muchNearer(cached->residual, residualOf("memory", hardware))) {
        device.cache = cached->cache;
        device.kernels.launchSeconds = cached->stepSeconds;
        device.memoryBytesPerSecond = std::max(calibration.limits.copyBytesOne, cached->bytesPerSecond);
        device.kernels.memoryEfficiency = cached->bytesPerSecond / device.memoryBytesPerSecond;
    }
    const auto fitted = [&](const char* kind, bool mayBeFree) {
        std::vector<KernelPoint> points;
        for (const CalibrationPoint* point : pointsOf(calibration, kind))
            points.push_back(kernelPoint(*point));
        const auto packing = fitPacking(points, device, mayBeFree);
        return packing && muchNearer(packing->residual, residualOf(kind, next)) ? packing : std::nullopt;
    };
    const auto products = fitted("gemm", true);
    // Of one token against many keys it moves them and does little else.
    const auto attention = fitted("attention", true);
    if (attention && attention->efficiency <= 1) {
        device.kernels.attentionEfficiency = attention->efficiency;
        device.kernels.attentionPacking = attention->packing;
    }
    if (products) {
        device.kernels.gemmEfficiency = products->efficiency;
        device.kernels.gemmPacking = products->packing;
        keepSharesBelowOne(device);
    }
    return device;
}

/// A product that was measured alone is one of a program: its weights are made right before it is, too.
std::string operationOf(const CalibrationPoint& point)
{
    if (ofProgram(point))
        return isCollective(point) ? "" : point.kind;
    return point.kind == "gemm" && point.work.gemm.b > 0 ? "matmul" : "";
}

/// What the laws of the hardware are off, by operation and size.
std::vector<MeasuredOp> measuredOps(const Calibration& calibration, const Hardware& hardware)
{
    std::map<std::string, MeasuredOp> out;
    const bool programs = std::ranges::any_of(calibration.points, ofProgram);
    for (const CalibrationPoint& point : calibration.points) {
        const std::string name = operationOf(point);
        if (!programs || name.empty() || point.dtype != fittedDtype(calibration))
            continue;
        const KernelWork work = workOf(point);
        const double law = lawSeconds(work, hardware);
        if (!(law > 0))
            continue;
        MeasuredOp& op = out[name];
        op.op = name;
        op.sizes.push_back({ measuredSize(work), std::clamp(point.seconds / law, 1e-6, 1e6) });
    }
    std::vector<MeasuredOp> list;
    for (auto& [name, op] : out)
        list.push_back(std::move(op));
    return list;
}

/// How far each size is from what the others of its operation say of it.
FitReport leaveOneOut(const std::vector<MeasuredOp>& ops)
{
    FitReport out { "operations in programs", 0, {} };
    for (const MeasuredOp& op : ops)
        for (std::size_t i = 0; i < op.sizes.size(); ++i) {
            MeasuredOp others = op;
            std::erase_if(others.sizes, [&](const MeasuredSize& one) { return one.size == op.sizes[i].size; });
            if (others.sizes.empty())
                continue;
            const double off = std::fabs(others.factorAt(op.sizes[i].size) / op.sizes[i].factor - 1);
            ++out.points;
            out.residual.mean += off;
            out.residual.worst = std::max(out.residual.worst, off);
        }
    if (out.points > 0)
        out.residual.mean /= static_cast<double>(out.points);
    return out;
}

/// Of every kind that programs had often enough.
std::vector<CollectiveRate> measuredRates(const Calibration& calibration)
{
    std::map<std::string, std::vector<LinkPoint>> byKind;
    for (const CalibrationPoint& point : calibration.points)
        if (ofProgram(point) && isCollective(point))
            byKind[point.kind].push_back({ point.bytes, point.seconds, piecesOf(point) });
    std::vector<CollectiveRate> out;
    for (const auto& [kind, points] : byKind) {
        if (const auto cached = fitCached(points))
            out.push_back({ kind, cached->stepSeconds, cached->bytesPerSecond, cached->cache });
        else if (const auto plain = fitLink(points); plain.ok())
            out.push_back({ kind, plain.value().alphaSeconds, plain.value().bytesPerSecond, {} });
    }
    return out;
}

/// The link with a cache and a start of every piece, where that is much nearer to the points.
LinkSpec withPieces(LinkSpec link, const std::vector<const CalibrationPoint*>& points)
{
    std::vector<LinkPoint> transfers;
    for (const CalibrationPoint* point : points)
        transfers.push_back({ point->bytes, point->seconds, piecesOf(*point) });
    const auto plain = reportOf("", points, [&](const CalibrationPoint& point) { return transferSeconds(point, link); });
    if (const auto cached = fitCached(transfers); cached && muchNearer(cached->residual, plain.residual)) {
        link.alphaSeconds = 0;
        link.messageSeconds = cached->stepSeconds;
        link.cache = cached->cache;
        link.bytesPerSecond = cached->bytesPerSecond;
    }
    return link;
}

} // namespace

double fittedSeconds(const CalibrationPoint& point, const Calibration& calibration, const Hardware& hardware)
{
    if (point.dtype != fittedDtype(calibration))
        return 0;
    return !isCollective(point) ? kernelSeconds(workOf(point), hardware) : transferSeconds(point, hardware.innerLink());
}

double efficiencyFor(const std::vector<KernelPoint>& points, double peakFlops, double launchSeconds)
{
    // t = launch + s x with x = flops / peak: least squares of the relative error over s, which is 1 / efficiency.
    double above = 0;
    double below = 0;
    for (const KernelPoint& point : points) {
        const double x = point.flops / peakFlops / point.seconds;
        above += x * (1 - launchSeconds / point.seconds);
        below += x * x;
    }
    return above > 0 && below > 0 ? below / above : 0;
}

Result<MachineFit> fitMachine(const Calibration& calibration)
{
    MachineFit out;
    Hardware& hardware = out.hardware;
    hardware.id = "calibrated-" + calibration.backend;
    hardware.name = onGpu(calibration)
        ? calibration.machine + ", one that simulates all devices"
        : calibration.machine + ", " + std::to_string(calibration.workers) + " threads that play all devices";
    hardware.source = "measured by shardctl calibrate on this machine";
    hardware.library = CollectiveLibrary::Any;
    hardware.device = deviceOf(calibration);
    DeviceSpec& device = hardware.device;

    std::vector<KernelPoint> kernels;
    std::vector<KernelPoint> attention;
    std::vector<KernelPoint> backward; ///< of attention
    std::vector<const CalibrationPoint*> collectives;
    std::vector<LinkPoint> transfers;
    for (const CalibrationPoint& point : calibration.points) {
        out.unsettled += point.settled ? 0 : 1;
        if (ofProgram(point))
            continue;
        if (point.dtype != fittedDtype(calibration)) // told, but no law of it is fitted
            continue;
        if (isAttention(point))
            (point.kind == "attention" ? attention : backward).push_back(kernelPoint(point));
        else if (isKernel(point))
            kernels.push_back(kernelPoint(point));
        else {
            collectives.push_back(&point);
            transfers.push_back({ point.bytes, point.seconds, 1 });
        }
    }
    const auto fitted = fitKernels(kernels, device, "calibration of kernels");
    if (!fitted.ok())
        return fitted.error();
    device.kernels = fitted.value().constants;
    keepSharesBelowOne(device);
    if (const double share = efficiencyFor(attention, peakOf(device), device.kernels.launchSeconds); share > 0)
        device.kernels.attentionEfficiency = std::min(1.0, share);
    const auto link = fitLink(transfers, "calibration of collectives");
    if (!link.ok())
        return link.error();
    Level level;
    level.fabric = Fabric::SharedMemory;
    level.link.id = "calibrated-memory";
    level.link.name = "memory of " + calibration.machine;
    level.link.alphaSeconds = link.value().alphaSeconds;
    level.link.bytesPerSecond = link.value().bytesPerSecond;
    level.link.peakBytesPerSecond = calibration.limits.copyBytesAll;
    level.link.shared = true;
    level.link.source = "measured on this machine";
    hardware.levels = { level };
    if (!onGpu(calibration)) {
        device = withCaches(hardware, calibration);
        // What packing takes is known by then.
        if (const auto& packing = device.kernels.attentionPacking)
            for (KernelPoint& point : backward)
                point.seconds -=
                    std::min(0.9 * point.seconds, std::max(0.0, point.bytes - packing->freeBytes) / packing->bytesPerSecond);
        if (const double share = efficiencyFor(backward, peakOf(device), device.kernels.launchSeconds); share > 0)
            device.kernels.attentionBackwardEfficiency = std::min(1.0, share);
        hardware.levels.front().link = withPieces(hardware.levels.front().link, collectives);
    }

    const auto kernelModel = [&](const CalibrationPoint& point) { return kernelSeconds(workOf(point), hardware); };
    std::vector<const CalibrationPoint*> both = pointsOf(calibration, "gemm");
    const auto memory = pointsOf(calibration, "memory");
    both.insert(both.end(), memory.begin(), memory.end());
    out.fits.push_back(reportOf("kernels", both, kernelModel));
    for (const char* kind : { "gemm", "memory", "attention", "attention-backward" })
        if (const auto points = pointsOf(calibration, kind); !points.empty() || std::string_view(kind) != "attention-backward")
            out.fits.push_back(reportOf(kind, points, kernelModel));
    const auto transfer = [&](const CalibrationPoint& point) { return transferSeconds(point, hardware.innerLink()); };
    out.fits.push_back(reportOf("collectives", collectives, transfer));
    std::map<std::string, std::vector<const CalibrationPoint*>> byKind;
    for (const CalibrationPoint* point : collectives)
        byKind[point->kind].push_back(point);
    for (const auto& [kind, points] : byKind)
        out.fits.push_back(reportOf(kind, points, transfer));
    // Last, so that the reports above are those of the laws.
    hardware.device.measured = measuredOps(calibration, hardware);
    hardware.levels.front().link.rates = measuredRates(calibration);
    if (!hardware.device.measured.empty())
        out.fits.push_back(leaveOneOut(hardware.device.measured));
    std::vector<const CalibrationPoint*> transfersOfPrograms;
    for (const CalibrationPoint& point : calibration.points)
        if (ofProgram(point) && isCollective(point))
            transfersOfPrograms.push_back(&point);
    if (!transfersOfPrograms.empty())
        out.fits.push_back(reportOf("collectives in programs", transfersOfPrograms, transfer));
    return out;
}

json calibrationRecord(const Calibration& calibration, const MachineFit& fit)
{
    json out = toJson(calibration);
    out["unsettled"] = fit.unsettled;
    out["fits"] = json::array();
    for (const FitReport& report : fit.fits)
        out["fits"].push_back({ { "name", report.name },
                                { "points", report.points },
                                { "mean", report.residual.mean },
                                { "worst", report.residual.worst } });
    return out;
}

} // namespace shardboard
