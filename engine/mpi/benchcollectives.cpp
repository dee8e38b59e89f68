// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi/benchcollectives.h"

#include "engine/cpu/cpuexecutor.h"
#include "engine/devices/collective.h"
#include "engine/machine/failure.h"
#include "engine/machine/limits.h"
#include "engine/mpi/mpiteam.h"
#include "model/core/statistics.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <set>

namespace shardboard::engine {

namespace {

using mpi::MpiTeam;
using mpi::World;

struct Case {
    std::string name;
    ReshardStep step;
    double floorBytes = 0; ///< read and written by all processes together, at least
    std::function<void(const float* from, float* to)> library;
    /// Where the call only moves blocks that someone has packed: the library's whole change of layout, by a datatype.
    std::function<void(const float* from, float* to)> libraryReshard;
};

/// Columns of a process's rows for every process, as one element of MPI_Alltoall for each. Freed by the end of MPI.
MPI_Datatype columnsOfRows(std::int64_t n, const Shape& shape)
{
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    const int width = static_cast<int>(shape[1] / n);
    MPI_Type_vector(static_cast<int>(shape[0] / n), width, static_cast<int>(shape[1]), MPI_FLOAT, &block);
    MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(sizeof(float)) * width, &resized);
    MPI_Type_free(&block);
    MPI_Type_commit(&resized);
    return resized;
}

std::vector<Case> casesFor(std::int64_t n, const Shape& shape)
{
    const std::int64_t floats = shape[0] * shape[1];
    const double s = static_cast<double>(floats) * sizeof(float);
    const auto devices = static_cast<double>(n);
    const int whole = static_cast<int>(floats);
    const int part = static_cast<int>(floats / n);
    const Layout replicated = Layout::replicated(2);
    Layout partial = replicated;
    partial.partial.push_back({ 0 });
    const Layout rows = Layout::cut(2, 0, { 0 });
    const Layout columns = Layout::cut(2, 1, { 0 });
    return {
        { "all-reduce",
          { CollectiveKind::AllReduce, { 0 }, partial, replicated },
          2 * devices * s,
          [=](const float* from, float* to) { MPI_Allreduce(from, to, whole, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
          {} },
        { "all-gather",
          { CollectiveKind::AllGather, { 0 }, rows, replicated },
          (1 + devices) * s,
          [=](const float* from, float* to) { MPI_Allgather(from, part, MPI_FLOAT, to, part, MPI_FLOAT, MPI_COMM_WORLD); },
          {} },
        { "reduce-scatter",
          { CollectiveKind::ReduceScatter, { 0 }, partial, rows },
          (1 + devices) * s,
          [=](const float* from, float* to) { MPI_Reduce_scatter_block(from, to, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
          {} },
        { "all-to-all",
          { CollectiveKind::AllToAll, { 0 }, rows, columns },
          2 * s,
          [=](const float* from, float* to) {
              MPI_Alltoall(from, part / static_cast<int>(n), MPI_FLOAT, to, part / static_cast<int>(n), MPI_FLOAT, MPI_COMM_WORLD);
          },
          [=, columns = columnsOfRows(n, shape)](const float* from, float* to) {
              MPI_Alltoall(from, 1, columns, to, part / static_cast<int>(n), MPI_FLOAT, MPI_COMM_WORLD);
          } },
    };
}

/// Of the slowest process, from a moment at which all begin.
double secondsOf(const std::function<void()>& work)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    work();
    double seconds = now() - start;
    double slowest = 0;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/// Copies past the caches by all processes at once, in bytes a second read and written.
double copyRate(float* from, float* to, std::int64_t floats, std::int64_t n)
{
    std::vector<double> seconds;
    for (int round = 0; round < 7; ++round)
        seconds.push_back(secondsOf([&] { copyPastCaches(from, floats, to); }));
    return 2.0 * sizeof(float) * static_cast<double>(floats * n) / median(seconds);
}

/// Whether every device has what it should: device d began with d + 1 + a part that depends on the element.
double worstError(const Sharded& result, std::int64_t position, bool summed, std::int64_t n, const std::vector<float>& values)
{
    double worst = 0;
    const Box& box = result.box(position);
    const std::int64_t columns = result.shape()[1];
    for (std::int64_t r = box[0].lo, i = 0; r < box[0].hi; ++r)
        for (std::int64_t c = box[1].lo; c < box[1].hi; ++c, ++i) {
            const double value = values[static_cast<std::size_t>((r * columns + c) % static_cast<std::int64_t>(values.size()))];
            const double expected = summed ? static_cast<double>(n) * value + static_cast<double>(n * (n - 1)) / 2 : value;
            worst = std::max(worst, std::fabs(double { result.data(position)[i] } - expected));
        }
    return worst;
}

struct Setting {
    Context& context;
    const Mesh& mesh;
    Shape shape;
    int rounds;
    double copies; ///< bytes per second
    std::size_t hosts;
};

void runCase(const Case& which, const Setting& setting)
{
    const auto& [context, mesh, shape, rounds, copies, hosts] = setting;
    const int rank = context.team->rank();
    const std::int64_t n = mesh.deviceCount();
    const std::vector<float> values { 1, 2, 3, 5, 8, 13, 21 };
    Sharded before(shape, which.step.before, mesh);
    before.allocate(context.arena);
    const bool summed = !which.step.before.partial.empty();
    const Box& box = before.box(rank);
    for (std::int64_t r = box[0].lo, i = 0; r < box[0].hi; ++r)
        for (std::int64_t c = box[1].lo; c < box[1].hi; ++c, ++i)
            before.data(rank)[i] = values[static_cast<std::size_t>((r * shape[1] + c) % static_cast<std::int64_t>(values.size()))]
                + (summed ? static_cast<float>(rank) : 0.0f);
    Sharded theirs(shape, which.step.after, mesh);
    theirs.allocate(context.arena);
    which.library(before.data(rank), theirs.data(rank)); // connections, buffers
    std::vector<double> ours;
    std::vector<double> library;
    std::vector<double> libraryReshard;
    double worst = 0;
    for (int round = 0; round <= rounds; ++round) {
        std::optional<Resharded> result;
        const double mine = secondsOf([&] { result = executeStep(context, which.step, before, false, which.name); });
        if (round == 0) // first touch; and the numbers
            worst = worstError(result->tensor, rank, summed, n, values);
        result.reset();
        context.hostBarrier();
        if (round > 0)
            ours.push_back(mine);
        if (round > 0)
            library.push_back(secondsOf([&] { which.library(before.data(rank), theirs.data(rank)); }));
        if (which.libraryReshard) {
            const double seconds = secondsOf([&] { which.libraryReshard(before.data(rank), theirs.data(rank)); });
            if (round == 0)
                worst = std::max(worst, worstError(theirs, rank, summed, n, values));
            else
                libraryReshard.push_back(seconds);
        }
    }
    double worstOfAll = 0;
    MPI_Allreduce(&worst, &worstOfAll, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    const Spread spread = spreadOf(ours);
    const Spread other = spreadOf(library);
    nlohmann::json row { { "name", "mpi" },
                         { "collective", which.name },
                         { "processes", n },
                         { "hosts", hosts },
                         { "bytes", shape[0] * shape[1] * static_cast<std::int64_t>(sizeof(float)) },
                         { "seconds", spread.median },
                         { "seconds_quartiles", { spread.quartile1, spread.quartile3 } },
                         { "library_seconds", other.median },
                         { "library_seconds_quartiles", { other.quartile1, other.quartile3 } },
                         { "times_library", other.median / spread.median },
                         { "bytes_per_second", which.floorBytes / spread.median },
                         { "of_copy_rate", which.floorBytes / spread.median / copies },
                         { "copy_bytes_per_second", copies },
                         { "right", worstOfAll == 0 } };
    if (!libraryReshard.empty()) {
        const Spread whole = spreadOf(libraryReshard);
        row["library_reshard_seconds"] = whole.median;
        row["library_reshard_seconds_quartiles"] = { whole.quartile1, whole.quartile3 };
        row["times_library_reshard"] = whole.median / spread.median;
    }
    std::printf("%s\n", row.dump().c_str());
    std::fflush(stdout);
}

} // namespace

int benchCollectives(int mib, int rounds)
{
    World* world = World::ofThisProcess();
    if (world == nullptr) {
        std::fprintf(stderr, "start this as 'mpirun -n 4 shardboard-engine --bench-collectives'\n");
        return 4;
    }
    try {
        const std::int64_t n = world->size();
        const auto mesh = Mesh::parse("model=" + std::to_string(n));
        // Rows and columns that divide by the number of processes.
        const std::int64_t columns = 1024 * n;
        const std::int64_t rows = std::max<std::int64_t>(1, std::int64_t { mib } * (1 << 18) / columns / n) * n;
        const Shape shape { rows, columns };
        MpiTeam team(*world, 1, false);
        TaskPool pool(1, &team.stopped());
        const std::int64_t room = 3 * rows * columns * static_cast<std::int64_t>(sizeof(float)) + (1 << 20);
        Arena arena(DeviceRanks(mesh.value(), team.rankCount(), team.rank()),
                    team.reserve(std::vector<std::int64_t>(static_cast<std::size_t>(n), room)));
        arena.onFirstUse([](std::byte* memory, std::int64_t bytes) { std::memset(memory, 0, static_cast<std::size_t>(bytes)); });
        CpuExecutor cpu;
        Context context { arena, cpu, &pool, 1, {} };
        context.team = &team;
        context.cacheShare = cacheShareBytes();
        std::set<int> hosts;
        for (const mpi::Member& member : world->members())
            hosts.insert(member.group);
        double copies = 0;
        {
            const Block from = arena.allocateFloats(rows * columns);
            const Block to = arena.allocateFloats(rows * columns);
            copies = copyRate(from.floats(), to.floats(), rows * columns, n);
        }
        for (const Case& which : casesFor(n, shape)) {
            context.hostBarrier();
            runCase(which, { context, mesh.value(), shape, rounds, copies, hosts.size() });
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    } catch (const Failure& failure) {
        std::fprintf(stderr, "%s\n", failure.message.c_str());
        world->abort(4);
    }
}

} // namespace shardboard::engine
