// SPDX-License-Identifier: Apache-2.0
#include "model/cost/calibration.h"

#include "model/cost/kerneltime.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace shardboard {

namespace {

/// seconds = known + sum of columns x unknowns, for up to three unknowns.
struct Equation {
    std::array<double, 3> columns {};
    double seconds = 0;
    double known = 0;
};
using Unknowns = std::array<double, 3>;

/// Least squares on the relative error over the unknowns in `used`, the others are 0; nothing where the points do not
/// tell them apart.
std::optional<Unknowns> leastSquares(const std::vector<Equation>& equations, const std::array<bool, 3>& used)
{
    std::array<std::array<double, 4>, 3> m {};
    std::array<double, 3> scale {}; // so that seconds and seconds by byte are pivots of like size
    for (const Equation& equation : equations)
        for (std::size_t i = 0; i < 3; ++i)
            scale[i] = std::max(scale[i], std::fabs(equation.columns[i]) / equation.seconds);
    for (std::size_t i = 0; i < 3; ++i)
        if (!used[i] || scale[i] <= 0) {
            if (used[i])
                return std::nullopt;
            scale[i] = 1;
        }
    for (const Equation& equation : equations) {
        Unknowns row {};
        for (std::size_t i = 0; i < 3; ++i)
            row[i] = used[i] ? equation.columns[i] / equation.seconds / scale[i] : 0;
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < 3; ++j)
                m[i][j] += row[i] * row[j];
            m[i][3] += row[i] * (1 - equation.known / equation.seconds);
        }
    }
    for (std::size_t i = 0; i < 3; ++i)
        if (!used[i])
            m[i][i] = 1;
    constexpr double kSingular = 1e-9;
    for (std::size_t column = 0; column < 3; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column + 1; row < 3; ++row)
            if (std::fabs(m[row][column]) > std::fabs(m[pivot][column]))
                pivot = row;
        std::swap(m[column], m[pivot]);
        if (!(std::fabs(m[column][column]) > kSingular))
            return std::nullopt;
        for (std::size_t row = 0; row < 3; ++row) {
            if (row == column)
                continue;
            const double factor = m[row][column] / m[column][column];
            for (std::size_t i = column; i < 4; ++i)
                m[row][i] -= factor * m[column][i];
        }
    }
    Unknowns out {};
    for (std::size_t i = 0; i < 3; ++i)
        out[i] = m[i][3] / m[i][i] / scale[i];
    return out;
}

template <class Point, class Model>
Residual residualOf(const std::vector<Point>& points, const Model& model)
{
    Residual out;
    for (const Point& point : points) {
        const double off = std::fabs(model(point) - point.seconds) / point.seconds;
        out.mean += off / static_cast<double>(points.size());
        out.worst = std::max(out.worst, off);
    }
    return out;
}

bool positive(double value) { return std::isfinite(value) && value > 0; }

Error tooFew(const std::string& where, std::size_t count)
{
    return inputError(where, "cannot be fitted to " + std::to_string(count) + " points", "measure at least three sizes");
}

Error notPositive(const std::string& where, std::size_t index)
{
    return inputError(where, "point " + std::to_string(index) + " has a value that is not a positive number",
                      "measure it again, or leave it out");
}

/// Which points the memory bounds: one bit each is not enough for many, so a list.
using Bounds = std::vector<bool>;

struct Roofline {
    const std::vector<KernelPoint>& points;
    const DeviceSpec& device;

    double computeSeconds(const KernelPoint& point) const { return point.flops / device.peakFlops(point.dtype); }
    double memorySeconds(const KernelPoint& point) const { return point.bytes / device.memoryBytesPerSecond; }

    Bounds bounds(const KernelConstants& constants) const
    {
        Bounds out;
        for (const KernelPoint& point : points)
            out.push_back(memorySeconds(point) / constants.memoryEfficiency > computeSeconds(point) / constants.gemmEfficiency);
        return out;
    }

    /// The best constants for points that are bound so; an unknown that none depends on stays.
    std::optional<KernelConstants> constants(const Bounds& bounds, KernelConstants out) const
    {
        std::vector<Equation> equations;
        bool anyCompute = false;
        bool anyMemory = false;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const bool memory = bounds[i];
            equations.push_back(
                { { 1, memory ? 0 : computeSeconds(points[i]), memory ? memorySeconds(points[i]) : 0 }, points[i].seconds });
            anyCompute = anyCompute || !memory;
            anyMemory = anyMemory || memory;
        }
        auto found = leastSquares(equations, { true, anyCompute, anyMemory });
        if (found && (*found)[0] < 0) { // no launch is earlier than its kernel
            found = leastSquares(equations, { false, anyCompute, anyMemory });
        }
        if (!found || (anyCompute && (*found)[1] <= 0) || (anyMemory && (*found)[2] <= 0))
            return std::nullopt;
        out.launchSeconds = (*found)[0];
        if (anyCompute)
            out.gemmEfficiency = 1 / (*found)[1];
        if (anyMemory)
            out.memoryEfficiency = 1 / (*found)[2];
        return out;
    }
};

} // namespace

Result<LinkFit> fitLink(const std::vector<LinkPoint>& points, const std::string& where)
{
    if (points.size() < 3)
        return tooFew(where, points.size());
    std::vector<Equation> equations;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!positive(points[i].bytes) || !positive(points[i].seconds) || !positive(points[i].steps))
            return notPositive(where, i);
        equations.push_back({ { points[i].steps, points[i].bytes, 0 }, points[i].seconds });
    }
    auto found = leastSquares(equations, { true, true, false });
    if (!found)
        return inputError(where, "the points are all of one size, which does not tell latency and rate apart",
                          "measure sizes from a few bytes to many megabytes");
    if ((*found)[0] < 0)
        found = leastSquares(equations, { false, true, false });
    if (!found || !positive((*found)[1]))
        return inputError(where, "the times do not grow with the bytes", "measure larger sizes too");
    LinkFit out { (*found)[0], 1 / (*found)[1], {} };
    out.residual = residualOf(
        points, [&](const LinkPoint& point) { return point.steps * out.alphaSeconds + point.bytes / out.bytesPerSecond; });
    return out;
}

std::optional<CachedFit> fitCached(const std::vector<LinkPoint>& points)
{
    constexpr double kStep = 1.1;
    constexpr std::size_t kLeastBeside = 3; // points on each side of the bend
    std::vector<double> sizes;
    for (const LinkPoint& point : points)
        sizes.push_back(point.bytes);
    std::ranges::sort(sizes);
    std::optional<CachedFit> best;
    if (sizes.size() < 2 * kLeastBeside)
        return best;
    for (double bend = sizes[kLeastBeside - 1]; bend < sizes[sizes.size() - kLeastBeside]; bend *= kStep) {
        std::vector<Equation> equations;
        for (const LinkPoint& point : points)
            equations.push_back({ { point.steps, std::min(point.bytes, bend), std::max(0.0, point.bytes - bend) }, point.seconds });
        auto found = leastSquares(equations, { true, true, true });
        if (found && (*found)[0] < 0)
            found = leastSquares(equations, { false, true, true });
        if (!found || !positive((*found)[1]) || !positive((*found)[2]) || (*found)[2] < (*found)[1])
            continue;
        CachedFit fit { (*found)[0], { bend, 1 / (*found)[1] }, 1 / (*found)[2], {} };
        fit.residual = residualOf(points, [&](const LinkPoint& point) {
            return point.steps * fit.stepSeconds + fit.cache.seconds(point.bytes, fit.bytesPerSecond);
        });
        if (!best || fit.residual.mean < best->residual.mean)
            best = fit;
    }
    return best;
}

namespace {

/// Constants for points of which some are unpacked.
std::optional<PackingFit> packingFor(const std::vector<KernelPoint>& points, const DeviceSpec& device, double freeBytes,
                                     double leastIntensity)
{
    std::vector<Equation> packed;
    std::vector<Equation> unpacked;
    for (const KernelPoint& point : points) {
        const double compute = point.flops / device.peakFlops(point.dtype);
        if (point.flops / point.bytes >= leastIntensity)
            packed.push_back(
                { { compute, std::max(0.0, point.bytes - freeBytes), 0 }, point.seconds, device.kernels.launchSeconds });
        else
            unpacked.push_back(
                { { compute, 0, 0 }, point.seconds, device.kernels.launchSeconds + memorySeconds(point.bytes, device) });
    }
    const auto found = leastSquares(packed, { true, true, false });
    if (!found || !positive((*found)[0]) || !positive((*found)[1]))
        return std::nullopt;
    PackingFit out { 1 / (*found)[0], { 1 / (*found)[1], freeBytes, std::nullopt }, {} };
    if (!unpacked.empty()) {
        const auto share = leastSquares(unpacked, { true, false, false });
        if (!share || !positive((*share)[0]) || 1 / (*share)[0] > std::min(1.0, out.efficiency))
            return std::nullopt;
        out.packing.unpackedEfficiency = 1 / (*share)[0];
    }
    out.residual = residualOf(points, [&](const KernelPoint& point) {
        return device.kernels.launchSeconds
            + packedSeconds(out.packing, point.flops, point.flops / (out.efficiency * device.peakFlops(point.dtype)), point.bytes,
                            point.dtype, device);
    });
    return out;
}

} // namespace

std::optional<PackingFit> fitPacking(const std::vector<KernelPoint>& points, const DeviceSpec& device, bool mayBeFree)
{
    constexpr double kStep = 1.2;
    std::vector<double> intensities { 0 };
    std::vector<double> sizes { 0 };
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const KernelPoint& point : points)
        if (mayBeFree && point.flops > 0) {
            intensities.push_back(point.flops / point.bytes);
            least = std::min(least, point.bytes);
            most = std::max(most, point.bytes);
        }
    for (double size = least; size < most; size *= kStep)
        sizes.push_back(size);
    std::optional<PackingFit> best;
    for (const double intensity : intensities)
        for (const double size : sizes) {
            const auto fit = packingFor(points, device, size, intensity);
            if (fit && (!best || fit->residual.mean < best->residual.mean))
                best = fit;
        }
    return best;
}

double roofline(const KernelPoint& point, const DeviceSpec& device, const KernelConstants& constants)
{
    return constants.launchSeconds
        + std::max(point.flops / (constants.gemmEfficiency * device.peakFlops(point.dtype)),
                   point.bytes / (constants.memoryEfficiency * device.memoryBytesPerSecond));
}

Result<KernelFit> fitKernels(const std::vector<KernelPoint>& points, const DeviceSpec& device, const std::string& where)
{
    if (points.size() < 3)
        return tooFew(where, points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
        if (!(points[i].flops >= 0) || !positive(points[i].bytes) || !positive(points[i].seconds)
            || !std::isfinite(points[i].flops))
            return notPositive(where, i);
    const Roofline model { points, device };
    std::optional<KernelFit> best;
    // What bounds a point depends on the constants, and they on it: from several beginnings until nothing changes.
    for (const double memory : { 0.2, 0.5, 0.8, 1.0 })
        for (const double compute : { 0.2, 0.5, 0.8, 1.0 }) {
            KernelConstants constants = device.kernels;
            constants.gemmEfficiency = compute;
            constants.memoryEfficiency = memory;
            Bounds bounds = model.bounds(constants);
            for (int round = 0; round < 20; ++round) {
                const auto fitted = model.constants(bounds, device.kernels);
                if (!fitted)
                    break;
                KernelFit fit { *fitted,
                                residualOf(points, [&](const KernelPoint& point) { return roofline(point, device, *fitted); }), 0,
                                0 };
                fit.memoryBound = static_cast<int>(std::ranges::count(bounds, true));
                fit.computeBound = static_cast<int>(points.size()) - fit.memoryBound;
                if (!best || fit.residual.mean < best->residual.mean)
                    best = fit;
                Bounds next = model.bounds(*fitted);
                if (next == bounds)
                    break;
                bounds = std::move(next);
            }
        }
    if (!best)
        return inputError(where, "the points do not tell the launch, the rate of products and the rate of memory apart",
                          "measure small and large products, and one that only moves bytes");
    return *best;
}

} // namespace shardboard
