// SPDX-License-Identifier: Apache-2.0
#include "model/timeline/boundby.h"

#include "model/cost/collectiveprices.h"
#include "model/cost/kernellimits.h"
#include "model/hardware/collectiverate.h"

#include <algorithm>

namespace shardboard {

namespace {

std::string arithmeticConstant(const KernelWork& work, const KernelConstants& kernels)
{
    if (work.kernel == KernelClass::Attention) {
        if (kernels.attentionPacking)
            return "kernels.attention_packing";
        if (work.flash2 && kernels.flash2Efficiency)
            return work.backward && kernels.flash2BackwardEfficiency ? "kernels.flash2_backward_efficiency"
                                                                     : "kernels.flash2_efficiency";
        return work.backward && kernels.attentionBackwardEfficiency ? "kernels.attention_backward_efficiency"
                                                                    : "kernels.attention_efficiency";
    }
    if (work.kernel == KernelClass::Gemm && kernels.gemmPacking)
        return "kernels.gemm_packing";
    const int bits = bitsOf(work.dtype);
    if (work.kernel == KernelClass::Gemm && bits <= 4 && kernels.fp4Efficiency)
        return "kernels.fp4_efficiency";
    if (work.kernel == KernelClass::Gemm && bits <= 8 && kernels.fp8Efficiency)
        return "kernels.fp8_efficiency";
    return "kernels.gemm_efficiency";
}

/// The link over which the collective goes the farthest.
const Level* levelOf(const Collective& collective, const Hardware& hardware)
{
    const std::string& link = collective.link;
    const std::size_t cut = link.rfind(" + ");
    const std::string last = cut == std::string::npos ? link : link.substr(cut + 3);
    const auto found = std::ranges::find_if(hardware.levels, [&](const Level& level) { return level.link.id == last; });
    return found == hardware.levels.end() ? nullptr : &*found;
}

} // namespace

BoundBy boundBy(const PlannedOp& op, const Hardware& hardware)
{
    const KernelWork& work = op.work;
    const KernelConstants& kernels = hardware.device.kernels;
    if (op.seconds <= 0)
        return { "nothing", "" };
    const bool measured = findMeasured(hardware.device.measured, work.op) != nullptr;
    const auto constant = [&](const std::string& ofLaw) { return measured ? "measured." + std::string(work.op) : ofLaw; };
    if (work.kernel == KernelClass::None)
        return { "memory", constant("") };
    if (work.onHost)
        return { "host", "host.memory_bytes_per_second" };
    const KernelLimits limits = kernelLimits(work, hardware);
    if (op.seconds - limits.device > 0.5 * op.seconds)
        return { "host", "kernels.host_seconds" };
    if (limits.start > 0.5 * limits.device)
        return { "kernel start", constant(work.inGraph ? "kernels.graph_launch_seconds" : "kernels.launch_seconds") };
    if (limits.computes)
        return { "arithmetic", constant(arithmeticConstant(work, kernels)) };
    return { "memory", constant(hardware.device.cache ? "cache" : "kernels.memory_efficiency") };
}

BoundBy boundBy(const Collective& collective, const Mesh& mesh, const Hardware& hardware)
{
    if (collective.kind == CollectiveKind::LocalSlice || collective.seconds <= 0)
        return { "nothing", "" };
    const Level* level = levelOf(collective, hardware);
    const LinkSpec& link = level != nullptr ? level->link : hardware.innerLink();
    if (findRate(link, collectiveName(collective.kind)) != nullptr)
        return { link.id, link.id + ".rates." + collectiveName(collective.kind) };
    CollectivePrices prices(mesh, hardware);
    const double least = prices.secondsAtOnce(collective.kind, collective.axes, std::max<std::int64_t>(1, collective.groupSize));
    const bool waits = collective.kind != CollectiveKind::SendRecv && least > 0.5 * collective.seconds;
    if (waits)
        return { "latency of " + link.id,
                 link.id
                     + (link.shared                           ? ".message_seconds"
                            : link.startSeconds > 0.5 * least ? ".start_seconds"
                                                              : ".alpha_seconds") };
    return { link.id, link.id + (link.cache ? ".cache" : ".bytes_per_second") };
}

} // namespace shardboard
