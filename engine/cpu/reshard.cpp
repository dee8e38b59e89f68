// SPDX-License-Identifier: Apache-2.0
// Reshard steps over memory that the devices share.
#include "engine/cpu/cpuexecutor.h"
#include "engine/cpu/fusions.h"
#include "engine/cpu/regions.h"
#include "engine/devices/collective.h"
#include "engine/devices/team.h"
#include "engine/machine/index.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace shardboard::engine {

namespace {

Combine combineOf(const Layout& layout) { return layout.op == ReduceOp::Max ? Combine::Max : Combine::Add; }

struct CopyTask {
    std::int64_t device = 0;
    Box piece;
};

/// What devices read of others.
std::vector<Delivery> neededBy(const Context& context, const Sharded& before, const std::vector<std::vector<Transfer>>& transfers)
{
    std::vector<Delivery> deliveries;
    for (std::size_t device = 0; device < transfers.size(); ++device)
        for (const Transfer& transfer : transfers[device])
            need(deliveries, context, before, transfer.from, transfer.region,
                 context.arena.deviceRanks().of(before.mesh(), static_cast<std::int64_t>(device)));
    return deliveries;
}

/// Whether no device reads anything of a device of another process.
bool allStaysAtHome(const Context& context, const Mesh& mesh, const std::vector<std::vector<Transfer>>& transfers)
{
    const DeviceRanks& deviceRanks = context.arena.deviceRanks();
    for (std::size_t device = 0; device < transfers.size(); ++device)
        for (const Transfer& transfer : transfers[device])
            if (deviceRanks.of(mesh, transfer.from) != deviceRanks.of(mesh, static_cast<std::int64_t>(device)))
                return false;
    return true;
}

Timing runTransfers(Context& context, const Sharded& before, const std::vector<std::vector<Transfer>>& transfers, bool zeroFirst,
                    Sharded& after)
{
    std::vector<CopyTask> tasks;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < after.deviceCount(); ++device) {
        if (after.elements(device) == 0)
            continue;
        for (Box& piece : piecesOf(after.box(device), kPieceElements)) {
            tasks.push_back({ device, std::move(piece) });
            devices.push_back(device);
        }
    }
    const Combine combine = combineOf(before.layout());
    return runTimed(context, after.mesh(), devices, [&](std::size_t index, int) {
        const CopyTask& task = tasks[index];
        float* out = after.data(task.device);
        if (zeroFirst)
            forEachRun(after.box(task.device), task.piece,
                       [&](std::int64_t offset, std::int64_t run) { std::memset(out + offset, 0, at(run) * sizeof(float)); });
        for (const Transfer& transfer : transfers[at(task.device)]) {
            const Box region = intersection(transfer.region, task.piece);
            if (volumeOf(region) > 0)
                copyRegion(region, before.box(transfer.from), before.data(transfer.from), after.box(task.device), out,
                           transfer.add || zeroFirst ? combine : Combine::Copy);
        }
        return 0.0;
    });
}

/// The part of a range that a member of a group sums for all.
Range partOfSum(const Sharded& tensor, const std::vector<std::int64_t>& group, std::int64_t device)
{
    const auto rank = std::find(group.begin(), group.end(), device) - group.begin();
    return balancedPart(tensor.elements(device), static_cast<std::int64_t>(group.size()), rank);
}

/// For an all-reduce between hosts: addends of the part that a device sums.
std::vector<Delivery> addendsFor(const Context& context, const std::vector<int>& axes, const Sharded& before)
{
    std::vector<Delivery> deliveries;
    for (std::int64_t device = 0; device < before.deviceCount(); ++device) {
        const auto group = before.mesh().group(device, axes);
        for (const std::int64_t member : group)
            needElements(deliveries, context, before, member, partOfSum(before, group, device),
                         context.arena.deviceRanks().of(before.mesh(), device));
    }
    return deliveries;
}

/// The sums that a member has made, for the members on other hosts.
std::vector<Delivery> sumsFor(const Context& context, const std::vector<int>& axes, const Sharded& after)
{
    const DeviceRanks& deviceRanks = context.arena.deviceRanks();
    const Mesh& mesh = after.mesh();
    std::vector<Delivery> deliveries;
    for (std::int64_t device = 0; device < after.deviceCount(); ++device) {
        const auto group = mesh.group(device, axes);
        const Range part = partOfSum(after, group, device);
        const Box whole { { 0, after.elements(device) } };
        for (const std::int64_t member : group)
            if (part.size() > 0 && !sameHost(context, mesh, device, member))
                deliveries.push_back({ deviceRanks.of(mesh, device),
                                       deviceRanks.of(mesh, member),
                                       { part },
                                       whole,
                                       reinterpret_cast<float*>(after.address(device)),
                                       whole,
                                       reinterpret_cast<float*>(after.address(member)) });
    }
    return deliveries;
}

/// An all-reduce in which every member sums its part of the range once and writes it to all: each addend is read once and
/// each result written once, whatever the size of the group.
Timing runAllReduce(Context& context, const std::vector<int>& axes, const Sharded& before, bool broken, Sharded& after)
{
    const Mesh& mesh = before.mesh();
    struct Slice {
        std::int64_t lo;
        std::int64_t hi;
    };
    std::vector<Slice> slices;
    std::vector<std::int64_t> devices;
    const FusedSum sum = combineOf(before.layout()) == Combine::Max ? FusedSum::Max : FusedSum::Add;
    const bool past = context.goesPastCaches(2 * after.bytes());
    for (std::int64_t device = 0; device < after.deviceCount(); ++device) {
        const Range part = partOfSum(after, mesh.group(device, axes), device);
        for (std::int64_t lo = part.lo; lo < part.hi; lo += kPieceElements) {
            slices.push_back({ lo, std::min(part.hi, lo + kPieceElements) });
            devices.push_back(device);
        }
    }
    return runTimed(context, after.mesh(), devices, [&](std::size_t index, int) {
        auto group = mesh.group(devices[index], axes);
        auto targets = group;
        std::erase_if(targets, [&](std::int64_t target) { return !sameHost(context, mesh, devices[index], target); });
        if (broken && group.size() > 1)
            group.pop_back();
        const Slice& slice = slices[index];
        std::vector<const float*> from;
        std::vector<float*> to;
        for (const std::int64_t member : group)
            from.push_back(before.data(member) + slice.lo);
        for (const std::int64_t target : targets)
            to.push_back(after.data(target) + slice.lo);
        FusedRun run;
        run.from = from.data();
        run.sources = static_cast<std::int64_t>(from.size());
        run.to = to.data();
        run.targets = static_cast<std::int64_t>(to.size());
        run.count = slice.hi - slice.lo;
        run.sum = sum;
        run.pastCaches = past;
        fusedTiles(run);
        if (past)
            finishRuns();
        return 0.0;
    });
}

} // namespace

Timing CpuExecutor::reshard(Context& context, const ReshardStep& step, const Sharded& before, bool broken, const std::string& where,
                            Sharded& after)
{
    const std::vector<int> summed = summedAxes(step, where);
    const std::int64_t groupSize = summed.empty() ? 1 : before.mesh().groupSize(summed);
    const bool allReduce = !summed.empty() && step.before.dims == step.after.dims && step.kind != CollectiveKind::LocalSlice;
    context.work.touched += static_cast<double>(after.totalElements()) * (allReduce ? 3.0 : 1.0 + static_cast<double>(groupSize));
    std::vector<std::vector<Transfer>> transfers;
    for (std::int64_t device = 0; device < after.deviceCount() && !allReduce; ++device) {
        transfers.push_back(transfersOf(step, before, after, device, where));
        if (broken)
            breakTransfers(transfers.back(), device);
    }
    const bool alone = context.team == nullptr || (!allReduce && allStaysAtHome(context, before.mesh(), transfers));
    std::vector<Timing::Brought> brought;
    if (!alone)
        brought.push_back(
            { beginReading(context, allReduce ? addendsFor(context, summed, before) : neededBy(context, before, transfers)) });
    if (context.planning())
        return {};
    // Nobody writes into the memory of other processes but in an all-reduce, for which they meet.
    const auto fusions = allReduce || broken ? std::optional<std::vector<Fusion>> {} : fusionsOf(transfers, alone);
    const FusedSum sum = combineOf(before.layout()) == Combine::Max ? FusedSum::Max : FusedSum::Add;
    Timing timing = allReduce ? runAllReduce(context, summed, before, broken, after)
        : fusions             ? runFusions(context, before, *fusions, sum, after)
                              : runTransfers(context, before, transfers, broken, after);
    if (!alone && allReduce && context.team->spansHosts())
        brought.push_back({ bring(context, sumsFor(context, summed, after)) });
    if (!alone)
        endReading(context);
    if (!alone && context.team->spansHosts())
        timing.brought = std::move(brought);
    return timing;
}

} // namespace shardboard::engine
