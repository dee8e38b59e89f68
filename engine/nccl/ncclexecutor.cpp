// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/ncclexecutor.h"

#include "engine/devices/compare.h"
#include "engine/devices/team.h"
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/nccl/gpuassignment.h"
#include "engine/ops/attention/ringexchange.h"
#include "model/plan/memorysettings.h"
#include "model/plan/program.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace shardboard::engine::nccl {

std::string whyTooFew(std::int64_t devices, std::int64_t gpus)
{
    if (devices <= gpus)
        return {};
    return "nccl takes a GPU for every logical device: the mesh has " + counted(devices, "device") + " and there "
        + (gpus == 1 ? "is " : "are ") + counted(gpus, "GPU") + " here, so " + std::to_string(devices - gpus)
        + (devices - gpus == 1 ? " is" : " are")
        + " missing; use the backend cuda, which runs all devices on one GPU, or a mesh of at most " + counted(gpus, "device");
}

/// The part of an operation that the GPU of a device does.
struct NcclExecutor::Part {
    std::vector<Sharded> operands;
    Sharded result;
    OpCall call;
    cuda::PartOf of;
    std::unique_ptr<cuda::PreparedOp> prepared; // before what it points to goes
};

NcclExecutor::NcclExecutor(const std::vector<cuda::Runtime*>& gpus, Process& process)
    : m_process(process)
    , m_heaps(gpus.size())
{
    for (std::size_t rank = 0; rank < gpus.size(); ++rank)
        m_gpus.push_back(std::make_unique<cuda::CudaExecutor>(*gpus[rank], static_cast<int>(rank)));
}

void NcclExecutor::check(const Program& program, const RunOptions&) const
{
    if (const std::string missing = whyTooFew(program.plan.mesh.deviceCount(), static_cast<std::int64_t>(m_gpus.size()));
        !missing.empty())
        throw Failure { "backend", missing, "options.backend" };
    cuda::checkForKernels(program);
}

DeviceRanks NcclExecutor::deviceRanksOf(const Mesh& mesh, const Team*) const
{
    return DeviceRanks(mesh, static_cast<int>(m_gpus.size()), 0);
}

std::string NcclExecutor::nameOf(int rank) const
{
    return "GPU " + std::to_string(rank) + (m_others.team == nullptr ? "" : " (process " + std::to_string(processOf(rank)) + ")");
}

std::int64_t NcclExecutor::availableBytes() const
{
    std::int64_t least = availableBytesAt(0);
    for (int rank = 1; rank < static_cast<int>(m_gpus.size()); ++rank)
        least = std::min(least, availableBytesAt(rank));
    return least;
}

std::int64_t NcclExecutor::availableBytesAt(int rank) const
{
    return m_others.team == nullptr ? m_gpus[at(rank)]->availableBytes() : m_others.availableBytes[at(rank)];
}

std::int64_t NcclExecutor::availableOnOwn(std::size_t rank, int sharing) const
{
    const std::int64_t free = m_gpus[rank]->runtime().freeBytes();
    return m_gpus[rank]->availableBytes() - free + free / sharing;
}

std::int64_t NcclExecutor::overheadBytes() const
{
    const auto communicators = static_cast<std::int64_t>(m_planned.size()) + 1; // and that of all, which the others are split from
    return m_gpus.front()->overheadBytes() + communicators * MemorySettings {}.communicatorBytes;
}

std::vector<Arena::Segment> NcclExecutor::reserve(const std::vector<std::int64_t>& bytesByRank, Team*)
{
    for (std::size_t rank = 0; rank < m_gpus.size(); ++rank)
        m_heaps[rank] = { m_gpus[rank]->reserve(bytesByRank[rank]), bytesByRank[rank] };
    return m_heaps;
}

cuda::CudaExecutor& NcclExecutor::gpuOf(const Context& context, const Sharded& tensor, std::int64_t position) const
{
    return *m_gpus[at(context.arena.deviceRanks().of(tensor.mesh(), position))];
}

std::size_t NcclExecutor::rankOf(const std::byte* memory) const
{
    for (std::size_t rank = 0; rank < m_heaps.size(); ++rank)
        if (std::less_equal<> {}(m_heaps[rank].base, memory) && std::less<> {}(memory, m_heaps[rank].base + m_heaps[rank].capacity))
            return rank;
    throw Failure { "internal", "memory that no GPU has", "nccl" };
}

void NcclExecutor::poison(std::byte* memory, std::int64_t bytes) { m_gpus[rankOf(memory)]->poison(memory, bytes); }

double NcclExecutor::secondsOf(const Work& work, int threads) const
{
    const auto gpus = static_cast<double>(m_gpus.size());
    return m_gpus.front()->secondsOf({ work.flops / gpus, work.generated / gpus, work.touched / gpus }, threads);
}

/// All are looked at in turn, so that the failure of one is seen while others wait for it.
void NcclExecutor::waitFor(const std::vector<int>& ranks)
{
    constexpr std::chrono::microseconds kBetween { 20 };
    const double begin = now();
    while (true) {
        std::string waiting;
        for (const int rank : ranks)
            if (!m_gpus[at(rank)]->runtime().isDone())
                waiting += (waiting.empty() ? "GPU " : ", ") + std::to_string(rank);
        if (waiting.empty())
            return;
        if (m_others.stopped != nullptr && *m_others.stopped)
            throw Stopped {};
        if (now() - begin > m_patience)
            throw Failure { "internal",
                            "nccl: no end after " + std::to_string(static_cast<std::int64_t>(m_patience)) + " seconds on " + waiting
                                + "; set NCCL_DEBUG=INFO for the worker to see what it waits for, and run again",
                            "nccl" };
        std::this_thread::sleep_for(kBetween);
    }
}

Timing NcclExecutor::timed(const std::vector<int>& ranks, const std::string& where, const std::function<void()>& work)
{
    Timing timing;
    if (m_others.team != nullptr)
        m_others.team->barrier(); // or a process that is early would count the time until the others are here
    try {
        for (const int rank : ranks)
            m_gpus[at(rank)]->runtime().beginTimedUnheld();
        work();
        for (const int rank : ranks)
            m_gpus[at(rank)]->runtime().openTimed();
        waitFor(ranks);
        for (const int rank : ranks) {
            const double seconds = m_gpus[at(rank)]->runtime().endTimed();
            const double end = now();
            timing.seconds.push_back(seconds);
            timing.spans.push_back({ end - seconds, end });
            timing.combined = std::max(timing.combined, seconds);
        }
    } catch (const Failure& failure) {
        throw Failure { failure.code, failure.message, where };
    }
    timing.wall = timing.combined;
    return timing;
}

Timing NcclExecutor::move(const Communicator& among, const std::vector<Move>& moves, Element element, const std::vector<int>& ranks,
                          const std::string& where)
{
    std::vector<std::byte*> bases;
    std::vector<Buffers> buffers;
    for (const Arena::Segment& heap : m_heaps) {
        bases.push_back(heap.base);
        buffers.push_back({ heap.base, heap.base, heap.base, element });
    }
    const StepPlan plan = planMoves(among, moves, bases, element);
    return timed(ranks, where, [&] { m_process.reshard(plan, buffers); });
}

Timing NcclExecutor::op(Context& context, const OpCall& call, Sharded& result)
{
    if (context.planning())
        cuda::planHere(context, call, result);
    std::vector<std::unique_ptr<Part>> parts;
    for (std::int64_t position = 0; position < result.deviceCount(); ++position) {
        parts.push_back(std::make_unique<Part>(Part { {}, result.shardOf(position), call, { call, position }, nullptr }));
        Part& part = *parts.back();
        for (const Sharded* operand : call.operands)
            part.operands.push_back(operand->shardOf(position));
        for (std::size_t i = 0; i < part.operands.size(); ++i)
            part.call.operands[i] = &part.operands[i];
        part.prepared = gpuOf(context, result, position).prepare(context, part.call, part.result, &part.of);
    }
    Timing timing;
    if (call.rings != nullptr && !call.rings->empty())
        expect(ringsOf(call, context.arena.deviceRanks()));
    if (context.planning())
        return timing;
    for (std::size_t round = 0; round < parts.front()->prepared->rounds(); ++round) {
        arrive(context, call, parts, round);
        std::vector<cuda::Launches*> launches;
        for (const auto& part : parts)
            launches.push_back(&part->prepared->round(round));
        timing += runBeside(context, launches);
    }
    if (cuda::onlyNames(call.kind))
        timing.seconds.assign(timing.seconds.size(), 0.0);
    return timing;
}

/// The communicator over the mesh axes of all rings of an operation.
Communicator NcclExecutor::ringsOf(const OpCall& call, const DeviceRanks& deviceRanks) const
{
    std::vector<int> axes;
    for (const RingTransfer& transfer : *call.rings)
        for (const int axis : transfer.axes)
            if (!contains(axes, axis))
                axes.push_back(axis);
    const Mesh& mesh = call.operands.front()->mesh();
    return onRanks(communicatorOf(mesh, axes), ranksOf(mesh, deviceRanks), m_gpus.size());
}

/// Hop by hop every device gets the part of the next member of its ring, from the GPU that has it.
void NcclExecutor::arrive(Context& context, const OpCall& call, const std::vector<std::unique_ptr<Part>>& parts, std::size_t round)
{
    const cuda::Arrival arrival = parts.front()->prepared->arrival(round);
    if (arrival.operands.empty())
        return;
    Arena none;
    Context planning { none, context.executor, nullptr, 1, {} };
    const RingExchange ring(planning, call, { arrival.operands.front() }, RingExchange::Reading::InPlace);
    const Mesh& mesh = call.operands.front()->mesh();
    const std::vector<int> ranks = ranksOf(mesh, context.arena.deviceRanks());
    const Communicator among = ringsOf(call, context.arena.deviceRanks());
    const auto owner = [&](std::size_t position) { return at(ring.memberAt(static_cast<std::int64_t>(position), arrival.hop)); };
    for (const std::size_t operand : arrival.operands) {
        std::vector<Move> moves;
        for (std::size_t to = 0; to < parts.size(); ++to) {
            const auto own = parts[owner(to)]->prepared->own(operand);
            moves.push_back({ ranks[owner(to)], ranks[to], own.address, parts[to]->prepared->room(operand).address, own.count });
        }
        const Element element = parts.front()->prepared->own(operand).element;
        const Timing timing = move(among, moves, element, ranks, call.where);
        for (RingTransfer& transfer : *call.rings) {
            if (transfer.operand != operand || transfer.shared || !arrival.counted)
                continue;
            transfer.timing += timing;
            for (std::size_t to = 0; to < parts.size() && transfer.broken && arrival.hop + 1 == ring.hops(); ++to)
                if (moves[to].count > 0)
                    m_gpus[at(ranks[to])]->runtime().set(moves[to].target, 0, moves[to].count * bytesOf(element));
        }
    }
    if (!arrival.states)
        return;
    std::vector<Move> moves;
    for (std::size_t to = 0; to < parts.size(); ++to) {
        const auto own = parts[owner(to)]->prepared->ownStates();
        const auto rooms = parts[to]->prepared->stateRooms();
        for (std::size_t i = 0; i < own.size(); ++i)
            moves.push_back({ ranks[owner(to)], ranks[to], own[i].address, rooms[i].address, own[i].count });
    }
    const Timing timing = move(among, moves, Element::F32, ranks, call.where);
    for (RingTransfer& transfer : *call.rings)
        if (transfer.operand == arrival.operands.front() && !transfer.shared)
            transfer.timing += timing;
}

Timing NcclExecutor::reshard(Context& context, const ReshardStep& step, const Sharded& before, bool broken,
                             const std::string& where, Sharded& after)
{
    context.work.touched += static_cast<double>(before.totalElements() + after.totalElements());
    StepPlan plan = planStep(step, before, after, where);
    const std::vector<int> ranks = ranksOf(before.mesh(), context.arena.deviceRanks());
    std::vector<std::int64_t> staging(m_gpus.size(), 0);
    for (std::size_t position = 0; position < ranks.size(); ++position)
        staging[at(ranks[position])] = plan.ranks[position].staging * bytesOf(before.element());
    const Block room = context.arena.allocateAt(staging);
    for (const Communicator& communicator : plan.communicators)
        expect(onRanks(communicator, ranks, m_gpus.size()));
    if (context.planning())
        return {};
    std::vector<Buffers> buffers(m_gpus.size());
    for (std::size_t position = 0; position < ranks.size(); ++position) {
        const auto device = static_cast<std::int64_t>(position);
        buffers[at(ranks[position])] = { before.address(device), after.address(device), room.memory(ranks[position]),
                                         before.element() };
    }
    plan = onRanks(std::move(plan), ranks, m_gpus.size());
    Timing timing = timed(ranks, where, [&] { m_process.reshard(plan, buffers); });
    for (std::int64_t device = 0; device < after.deviceCount() && broken; ++device) // nothing of what NCCL brought
        if (after.elements(device) > 0)
            gpuOf(context, after, device)
                .runtime()
                .set(after.address(device), 0, after.elements(device) * bytesOf(after.element()));
    return timing;
}

Timing NcclExecutor::send(Context& context, const Sharded& value, bool broken, Sharded& there)
{
    expect(everyone(m_gpus.size()));
    if (context.planning())
        return {};
    const std::vector<int> from = ranksOf(value.mesh(), context.arena.deviceRanks());
    const std::vector<int> to = ranksOf(there.mesh(), context.arena.deviceRanks());
    std::vector<Move> moves;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device)
        moves.push_back({ from[at(device)], to[at(device)], value.address(device), there.address(device), value.elements(device) });
    Timing timing = move(everyone(m_gpus.size()), moves, value.element(), to, "a send between stages");
    for (std::int64_t device = 0; device < there.deviceCount() && broken; ++device)
        if (there.elements(device) > 0)
            gpuOf(context, there, device)
                .runtime()
                .set(there.address(device), 0, there.elements(device) * bytesOf(there.element()));
    return timing;
}

template <class Do>
void NcclExecutor::each(Context& context, Sharded& tensor, Do work)
{
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        Sharded shard = tensor.shardOf(device);
        work(gpuOf(context, tensor, device), device, shard);
    }
}

void NcclExecutor::fill(Context& context, const Source& source, Sharded& tensor)
{
    each(context, tensor, [&](cuda::CudaExecutor& gpu, std::int64_t, Sharded& shard) { gpu.fill(context, source, shard); });
}

void NcclExecutor::round(Context& context, Rounding rounding, Sharded& tensor)
{
    each(context, tensor, [&](cuda::CudaExecutor& gpu, std::int64_t, Sharded& shard) { gpu.round(context, rounding, shard); });
}

void NcclExecutor::add(Context& context, const Sharded& value, Sharded& sum)
{
    each(context, sum,
         [&](cuda::CudaExecutor& gpu, std::int64_t device, Sharded& shard) { gpu.add(context, value.shardOf(device), shard); });
}

void NcclExecutor::copy(Context& context, const Sharded& value, Sharded& copy)
{
    each(context, copy,
         [&](cuda::CudaExecutor& gpu, std::int64_t device, Sharded& shard) { gpu.copy(context, value.shardOf(device), shard); });
}

void NcclExecutor::scale(Context& context, float factor, Sharded& tensor)
{
    each(context, tensor, [&](cuda::CudaExecutor& gpu, std::int64_t, Sharded& shard) { gpu.scale(context, factor, shard); });
}

/// All shards, replicas too, on the first GPU, where the reference is.
Sharded NcclExecutor::broughtToFirst(Context& context, const Sharded& value)
{
    Sharded out = value.like();
    out.allocateAt(context.arena, 0);
    expect(everyone(m_gpus.size()));
    if (context.planning())
        return out;
    const std::vector<int> ranks = ranksOf(value.mesh(), context.arena.deviceRanks());
    std::vector<Move> moves;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device)
        moves.push_back({ ranks[at(device)], 0, value.address(device), out.address(device), value.elements(device) });
    (void)move(everyone(m_gpus.size()), moves, value.element(), ranks, "comparing with the reference");
    return out;
}

void NcclExecutor::assemble(Context& context, const Sharded& value, Sharded& whole)
{
    const Sharded brought = broughtToFirst(context, value);
    m_gpus.front()->assemble(context, brought, whole);
}

double NcclExecutor::relativeError(Context& context, const Sharded& y, const Sharded& reference, double among)
{
    const Sharded brought = broughtToFirst(context, y);
    return m_gpus.front()->relativeError(context, brought, reference, among);
}

void NcclExecutor::bringHere(const Sharded& value, Sharded& there)
{
    bool away = false; // from the first process
    std::int64_t floats = 0;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device) {
        if (value.elements(device) == 0)
            continue;
        const std::size_t rank = rankOf(value.address(device));
        Sharded shard = there.shardOf(device);
        m_gpus[rank]->bringHere(value.shardOf(device), shard);
        away = away || processOf(static_cast<int>(rank)) != 0;
        floats += value.elements(device);
    }
    if (!away)
        return;
    std::vector<double> said(at(floats + 1) / 2, 0.0); // pairs of floats: the bits are what counts
    const auto eachShard = [&](const auto& visit) {
        std::size_t next = 0;
        for (std::int64_t device = 0; device < value.deviceCount(); ++device) {
            const std::size_t bytes = at(value.elements(device)) * sizeof(float);
            if (bytes > 0)
                visit(device, next, bytes);
            next += bytes;
        }
    };
    eachShard([&](std::int64_t device, std::size_t offset, std::size_t bytes) {
        std::memcpy(reinterpret_cast<std::byte*>(said.data()) + offset, there.data(device), bytes);
    });
    const auto all = m_others.team->gather(said);
    if (all.empty())
        return;
    eachShard([&](std::int64_t device, std::size_t offset, std::size_t bytes) {
        const int process = processOf(static_cast<int>(rankOf(value.address(device))));
        std::memcpy(there.data(device), reinterpret_cast<const std::byte*>(all[at(process)].data()) + offset, bytes);
    });
}

} // namespace shardboard::engine::nccl
