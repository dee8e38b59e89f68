// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/rankcheck.h"

#include "engine/cpu/cpuexecutor.h"
#include "engine/machine/taskpool.h"
#include "engine/nccl/ranks.h"

#include <random>

namespace shardboard::engine::nccl {

namespace {

/// Meshes of so many devices, with one, two and three axes where it divides.
std::vector<Mesh> meshesOf(std::int64_t count)
{
    std::vector<Mesh> out { Mesh::make({ { "a", count } }).value() };
    for (std::int64_t a = 2; a * 2 <= count; ++a) {
        if (count % a != 0)
            continue;
        out.push_back(Mesh::make({ { "a", a }, { "b", count / a } }).value());
        for (std::int64_t b = 2; a * b * 2 <= count; ++b)
            if (count % (a * b) == 0)
                out.push_back(Mesh::make({ { "a", a }, { "b", b }, { "c", count / a / b } }).value());
    }
    return out;
}

/// Each mesh axis cuts a dim, is summed over, or holds the same.
Layout anyLayout(std::mt19937& random, const Mesh& mesh, std::size_t dims, bool mayBePartial)
{
    Layout out = Layout::replicated(dims);
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const auto what = random() % (dims + (mayBePartial ? 2 : 1));
        if (what < dims)
            out.dims[what].push_back(AxisRef { axis });
        else if (what > dims)
            out.partial.push_back(AxisRef { axis });
    }
    return out;
}

} // namespace

void fillExactly(Sharded& tensor)
{
    Box whole;
    for (const std::int64_t size : tensor.shape())
        whole.push_back({ 0, size });
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        std::int64_t addend = 0;
        for (const AxisRef& ref : tensor.layout().partial)
            addend = addend * 8 + coordinateOf(ref, tensor.mesh(), device) + 1;
        std::int64_t next = 0;
        forEachRun(whole, tensor.box(device), [&](std::int64_t offset, std::int64_t run) {
            for (std::int64_t i = 0; i < run; ++i)
                tensor.data(device)[next++] = static_cast<float>((offset + i) * 7 % 1001 + addend * 13);
        });
    }
}

RanksChecked checkRanks(Ranks& ranks, std::int64_t count, int trials, unsigned seed)
{
    RanksChecked out;
    std::mt19937 random(seed);
    const std::vector<Mesh> meshes = meshesOf(count);
    const Shape shapes[] = { { 12, 8 }, { 7, 5 }, { 24 }, { 4, 6, 4 }, { 3, 7, 2 } };
    for (int trial = 0; trial < trials && out.wrong.empty(); ++trial) {
        const Mesh& mesh = meshes[random() % meshes.size()];
        const Shape& shape = shapes[random() % std::size(shapes)];
        const Layout from = anyLayout(random, mesh, shape.size(), true);
        const Layout to = anyLayout(random, mesh, shape.size(), false);
        const auto way = reshardSteps(from, to, shape, mesh, "check");
        if (!way.ok())
            continue;
        Arena arena(std::int64_t { 8 } << 20);
        TaskPool pool(1, nullptr);
        CpuExecutor cpu;
        Context context { arena, cpu, &pool, 1, {} };
        Sharded value(shape, from, mesh);
        value.allocate(arena);
        fillExactly(value);
        for (const ReshardStep& step : way.value()) {
            Resharded expected = executeStep(context, step, value, false, "check");
            Sharded got(shape, step.after, mesh);
            got.allocate(arena);
            Ranks::Held before = ranks.upload(value);
            Ranks::Held after = ranks.room(got);
            ranks.reshard(step, value, before, got, after, "check");
            ranks.download(after, got);
            ranks.release(before);
            ranks.release(after);
            for (std::int64_t device = 0; device < got.deviceCount() && out.wrong.empty(); ++device)
                for (std::int64_t i = 0; i < got.elements(device); ++i)
                    if (!(got.data(device)[i] == expected.tensor.data(device)[i])) {
                        out.wrong = collectiveName(step.kind) + " on " + mesh.text() + ", rank " + std::to_string(device)
                            + ", element " + std::to_string(i);
                        break;
                    }
            for (const RankPlan& rank : planStep(step, value, got, "check").ranks)
                for (const Call& call : rank.calls)
                    ++out.byCall[static_cast<std::size_t>(call.what)];
            value = std::move(expected.tensor);
            ++out.steps;
        }
    }
    return out;
}

} // namespace shardboard::engine::nccl
