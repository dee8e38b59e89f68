// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/collective.h"

#include "engine/devices/executor.h"
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "model/text/contains.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

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

} // namespace

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
    out.timing = context.executor.reshard(context, step, tensor, broken, where, out.tensor);
    return out;
}

} // namespace shardboard::engine
