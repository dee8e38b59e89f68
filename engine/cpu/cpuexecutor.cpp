// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/cpuexecutor.h"

#include "engine/devices/team.h"
#include "engine/machine/failure.h"
#include "engine/machine/limits.h"
#include "engine/machine/machine.h"
#include "engine/ops/execute.h"
#include "model/core/checked.h"
#include "model/io/wire/messages.h"

#include <algorithm>
#include <limits>

namespace shardboard::engine {

namespace {

using Execute = Timing (*)(Context&, const OpCall&, Sharded&);

#define SHARDBOARD_OP_BODY(Body) execute##Body,
constexpr Execute kExecutes[] = { SHARDBOARD_OP_BODIES(SHARDBOARD_OP_BODY) };
#undef SHARDBOARD_OP_BODY

/// On all workers, in pieces after which a cancel is seen.
void touchPages(TaskPool& pool, std::byte* memory, std::int64_t bytes)
{
    constexpr std::int64_t kPiece = std::int64_t { 4 } << 20;
    constexpr std::int64_t kPage = 4096;
    pool.run((bytes + kPiece - 1) / kPiece, [&](std::int64_t piece, int) {
        for (std::int64_t at = piece * kPiece; at < std::min(bytes, (piece + 1) * kPiece); at += kPage)
            memory[at] = std::byte { 0 };
    });
}

bool isHere(int rank, const Team* team) { return team == nullptr || team->sameHost(rank, team->rank()); }

} // namespace

CpuExecutor::CpuExecutor(std::string backend)
    : m_backend(std::move(backend))
{
}

void CpuExecutor::check(const Program&, const RunOptions& options) const
{
    if (options.backend != m_backend)
        failPlan("this runs on the " + m_backend + " alone, not on '" + options.backend + "'", "options.backend");
}

int CpuExecutor::workers(int asked) const { return asked > 0 ? asked : std::min(usableCores(), 64); }

DeviceRanks CpuExecutor::deviceRanksOf(const Mesh& mesh, const Team* team) const
{
    return team != nullptr ? DeviceRanks(mesh, team->rankCount(), team->rank()) : DeviceRanks();
}

std::int64_t CpuExecutor::availableBytes() const { return availableMemory(); }

std::int64_t CpuExecutor::availableToAll(int ranks, const Team* team) const
{
    std::int64_t here = 0;
    for (int rank = 0; rank < ranks; ++rank)
        here += isHere(rank, team) ? 1 : 0;
    return checkedMultiply(availableBytes(), ranks).value_or(std::numeric_limits<std::int64_t>::max()) / here;
}

std::int64_t CpuExecutor::bytesAt(int rank, std::int64_t arenaBytes, const Context& planned, bool measures) const
{
    const std::int64_t brought = planned.team != nullptr ? planned.team->mostBrought(rank) : 0;
    return std::max(arenaBytes + brought, measures && rank == 0 ? limitsMemory(planned.workers) : 0)
        + processMemory(planned.workers);
}

std::vector<MemoryDemand> CpuExecutor::demandsOf(const std::vector<std::int64_t>& neededByRank, std::int64_t limit,
                                                 const Team* team) const
{
    std::int64_t sum = 0;
    for (std::size_t rank = 0; rank < neededByRank.size(); ++rank)
        if (isHere(static_cast<int>(rank), team))
            sum += neededByRank[rank];
    return { { "", sum, limit > 0 ? limit : availableBytes() } };
}

double CpuExecutor::secondsOf(const Work& work, int threads) const
{
    constexpr double kGenerated = 1.2e9; // values a second and core
    constexpr double kTouched = 2.0e9;
    return (work.flops / (0.75 * measuredFlops()) + work.generated / kGenerated + work.touched / kTouched) / threads;
}

double CpuExecutor::secondsOfFirstUse(std::int64_t bytes) const { return static_cast<double>(bytes) / 2e9; }

std::vector<Arena::Segment> CpuExecutor::reserve(const std::vector<std::int64_t>& bytesByRank, Team* team)
{
    m_memory.reset();
    if (team != nullptr)
        return team->reserve(bytesByRank);
    m_memory.emplace(std::max<std::int64_t>(bytesByRank.front(), 1));
    return { { m_memory->memory(), m_memory->bytes() } };
}

void CpuExecutor::ready(Arena& arena, TaskPool& pool, bool poison)
{
    arena.poison(poison);
    arena.onFirstUse([&pool](std::byte* first, std::int64_t bytes) { touchPages(pool, first, bytes); });
}

MachineLimits CpuExecutor::measureLimits(TaskPool& pool) { return engine::measureLimits(pool); }

std::int64_t CpuExecutor::cacheShare(std::int64_t arenaBytes) const
{
    return arenaBytes > kLeastCacheShare ? cacheShareBytes() : kUsualCacheShare;
}

Timing CpuExecutor::op(Context& context, const OpCall& call, Sharded& result)
{
    return kExecutes[static_cast<std::size_t>(bodyOf(call.kind))](context, call, result);
}

} // namespace shardboard::engine
