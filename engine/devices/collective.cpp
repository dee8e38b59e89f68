// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/collective.h"

#include "engine/devices/executor.h"
#include "engine/devices/fusions.h"
#include "engine/devices/regions.h"
#include "engine/devices/team.h"
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "model/text/contains.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

Combine combineOf(const Layout& layout) { return layout.op == ReduceOp::Max ? Combine::Max : Combine::Add; }

/// Axes over which the step sums (or takes the maximum). Throws when the step is no reshard.
std::vector<int> summedAxes(const ReshardStep& step, const std::string& where)
{
    if (step.before.op == ReduceOp::Min)
        failPlan("only sums and maxima are executed", where);
    for (const AxisRef& ref : step.after.partial)
        if (!contains(step.before.partial, ref))
            failPlan("a value cannot become partial", where);
    if (!step.after.partial.empty() && step.after.op != step.before.op)
        failPlan("sums cannot become maxima, nor maxima sums", where);
    std::vector<int> axes;
    for (const AxisRef& ref : step.before.partial) {
        if (contains(step.after.partial, ref))
            continue;
        if (!ref.whole() || !contains(step.axes, ref.axis))
            failPlan("it sums over an axis that its device groups do not span", where);
        axes.push_back(ref.axis);
    }
    return axes;
}

/// Whether two devices hold addends of the same kind: equal coordinates on the axes that stay partial.
bool sameAddend(const Layout& after, const Mesh& mesh, std::int64_t a, std::int64_t b)
{
    return std::all_of(after.partial.begin(), after.partial.end(),
                       [&](const AxisRef& ref) { return coordinateOf(ref, mesh, a) == coordinateOf(ref, mesh, b); });
}

bool sameCoordinates(const std::vector<int>& axes, const Mesh& mesh, std::int64_t a, std::int64_t b)
{
    return std::all_of(axes.begin(), axes.end(), [&](int axis) { return mesh.coordinate(a, axis) == mesh.coordinate(b, axis); });
}

/// Shards of one layout are equal or disjoint, so replicas are skipped by comparing with those taken already.
void coverFrom(const std::vector<std::int64_t>& members, const Sharded& before, const Box& target, bool add,
               std::vector<Transfer>& transfers, const std::string& where)
{
    const std::size_t first = transfers.size();
    std::int64_t missing = volumeOf(target);
    for (const std::int64_t member : members) {
        if (missing == 0)
            break;
        Box region = intersection(before.box(member), target);
        const std::int64_t volume = volumeOf(region);
        const bool taken = std::any_of(transfers.begin() + static_cast<std::ptrdiff_t>(first), transfers.end(),
                                       [&](const Transfer& t) { return t.region == region; });
        if (volume == 0 || taken)
            continue;
        transfers.push_back({ member, std::move(region), add });
        missing -= volume;
    }
    if (missing != 0)
        failPlan("the devices of a group do not hold what a member of it needs", where);
}

/// The one device that hands its shard to this one.
std::int64_t sendRecvSource(const ReshardStep& step, const Mesh& mesh, std::int64_t device, const std::string& where)
{
    const auto group = mesh.group(device, step.axes);
    const auto sources = sendRecvSources(step, mesh, group);
    const auto rank = std::find(group.begin(), group.end(), device) - group.begin();
    if (sources[at(rank)] < 0)
        failPlan("a send-recv only exchanges whole shards in a group, which these are not", where);
    return sources[at(rank)];
}

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

void breakTransfers(std::vector<Transfer>& transfers, std::int64_t device)
{
    if (transfers.empty())
        return;
    auto victim = std::prev(transfers.end());
    for (auto it = transfers.begin(); it != transfers.end(); ++it)
        if (it->from != device)
            victim = it;
    transfers.erase(victim);
}

std::vector<Transfer> transfersOf(const ReshardStep& step, const Sharded& before, const Sharded& after, std::int64_t device,
                                  const std::string& where)
{
    const Mesh& mesh = before.mesh();
    const std::vector<int> summed = summedAxes(step, where);
    std::vector<std::int64_t> members { device };
    if (step.kind == CollectiveKind::SendRecv)
        members = { sendRecvSource(step, mesh, device, where) };
    else if (step.kind != CollectiveKind::LocalSlice)
        for (const std::int64_t member : mesh.group(device, step.axes))
            if (member != device && sameAddend(step.after, mesh, member, device))
                members.push_back(member); // itself first: what a device has, it does not fetch
    std::vector<Transfer> transfers;
    if (summed.empty()) {
        coverFrom(members, before, after.box(device), false, transfers, where);
        return transfers;
    }
    for (const std::int64_t addend : mesh.group(device, summed)) {
        std::vector<std::int64_t> holders;
        for (const std::int64_t member : members)
            if (sameCoordinates(summed, mesh, member, addend))
                holders.push_back(member);
        coverFrom(holders, before, after.box(device), !transfers.empty(), transfers, where);
    }
    return transfers;
}

Resharded executeStep(Context& context, const ReshardStep& step, const Sharded& tensor, bool broken, const std::string& where)
{
    Resharded out { Sharded(tensor.shape(), step.after, tensor.mesh()), {} };
    out.tensor.setElement(tensor.element());
    out.tensor.allocate(context.arena);
    if (context.executor != nullptr) {
        out.timing = context.executor->reshard(context, step, tensor, broken, where, out.tensor);
        return out;
    }
    const std::vector<int> summed = summedAxes(step, where);
    const std::int64_t groupSize = summed.empty() ? 1 : tensor.mesh().groupSize(summed);
    const bool allReduce = !summed.empty() && step.before.dims == step.after.dims && step.kind != CollectiveKind::LocalSlice;
    context.work.touched +=
        static_cast<double>(out.tensor.totalElements()) * (allReduce ? 3.0 : 1.0 + static_cast<double>(groupSize));
    std::vector<std::vector<Transfer>> transfers;
    for (std::int64_t device = 0; device < out.tensor.deviceCount() && !allReduce; ++device) {
        transfers.push_back(transfersOf(step, tensor, out.tensor, device, where));
        if (broken)
            breakTransfers(transfers.back(), device);
    }
    const bool alone = context.team == nullptr || (!allReduce && allStaysAtHome(context, tensor.mesh(), transfers));
    std::vector<Timing::Brought> brought;
    if (!alone)
        brought.push_back(
            { beginReading(context, allReduce ? addendsFor(context, summed, tensor) : neededBy(context, tensor, transfers)) });
    if (context.planning())
        return out;
    // Nobody writes into the memory of other processes but in an all-reduce, for which they meet.
    const auto fusions = allReduce || broken ? std::optional<std::vector<Fusion>> {} : fusionsOf(transfers, alone);
    const FusedSum sum = combineOf(tensor.layout()) == Combine::Max ? FusedSum::Max : FusedSum::Add;
    out.timing = allReduce ? runAllReduce(context, summed, tensor, broken, out.tensor)
        : fusions          ? runFusions(context, tensor, *fusions, sum, out.tensor)
                           : runTransfers(context, tensor, transfers, broken, out.tensor);
    if (!alone && allReduce && context.team->spansHosts())
        brought.push_back({ bring(context, sumsFor(context, summed, out.tensor)) });
    if (!alone)
        endReading(context);
    if (!alone && context.team->spansHosts())
        out.timing.brought = std::move(brought);
    return out;
}

} // namespace shardboard::engine
