// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/launches.h"
#include "engine/machine/index.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace shardboard::engine::cuda {

namespace {

auto keyOf(const Gemm& g)
{
    return std::tie(g.transposeA, g.transposeB, g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.alpha, g.beta, g.half, g.halfC);
}

} // namespace

void Products::add(std::int64_t device, const Gemm& shape, const Gemm::Product& product)
{
    m_all.push_back({ device, shape, product });
}

void Products::run(Runtime& runtime, std::int64_t firstDevice, std::int64_t devices) const
{
    std::vector<Gemm> groups;
    for (const One& one : m_all) {
        if (one.device < firstDevice || one.device >= firstDevice + devices)
            continue;
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Gemm& g) { return keyOf(g) == keyOf(one.shape); });
        if (group == groups.end())
            group = groups.insert(groups.end(), one.shape);
        group->products.push_back(one.product);
    }
    for (const Gemm& group : groups)
        runtime.gemm(group);
}

float* Launches::scratch(std::int64_t floats)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
    const std::int64_t count = std::min(std::max<std::int64_t>(floats, 0), kMost);
    m_blocks.push_back(m_context.arena.allocateOn(m_rank, count * static_cast<std::int64_t>(sizeof(float))));
    return reinterpret_cast<float*>(m_blocks.back().memory(m_rank));
}

Sharded& Launches::like(const Sharded& tensor, Element element)
{
    m_tensors.push_back(std::make_unique<Sharded>(tensor.like()));
    m_tensors.back()->setElement(element);
    m_tensors.back()->allocate(m_context.arena);
    return *m_tensors.back();
}

const Sharded& Launches::present(const Sharded& tensor)
{
    if (tensor.allocated())
        return tensor;
    Sharded& made = like(tensor, tensor.element());
    if (!planning())
        fillShards(m_runtime, *tensor.source, made);
    return made;
}

const Sharded& Launches::as(Element element, const Sharded& tensor)
{
    if (tensor.element() == element)
        return tensor;
    Sharded& out = like(tensor, element);
    convert(tensor, out);
    return out;
}

void Launches::convert(const Sharded& from, Sharded& to)
{
    if (planning())
        return;
    Table<EachBody::Entry> table;
    for (std::int64_t device = 0; device < to.deviceCount(); ++device) {
        EachBody::Entry entry;
        entry.a = elementsOf(from, device);
        entry.out = elementsOf(to, device);
        entry.count = to.elements(device);
        table.add(entry, tilesOf(entry.count));
        table.endDevice();
    }
    launch(EachBody {}, std::move(table));
}

void Launches::launch(RowSumWork work)
{
    launch(std::move(work.scales));
    launch(std::move(work.sums));
    launch(std::move(work.totals));
}

void Launches::multiply(Products products)
{
    if (planning() || products.empty())
        return;
    step([this, all = std::move(products)](std::int64_t first, std::int64_t devices) { all.run(m_runtime, first, devices); });
}

Timing Launches::run(std::int64_t devices)
{
    if (planning())
        return {};
    if (!m_context.serial)
        return runAtOnce(m_runtime, devices, [&] { start(0, devices); });
    Timing timing;
    for (std::int64_t device = 0; device < devices; ++device) {
        const Timing one = runAtOnce(m_runtime, 1, [&] { start(device, 1); });
        timing.seconds.push_back(one.seconds.front());
        timing.spans.push_back(one.spans.front());
        timing.combined += one.combined;
        timing.wall += one.wall;
    }
    return timing;
}

void Launches::start(std::int64_t firstDevice, std::int64_t devices) const
{
    for (const auto& work : m_steps)
        work(firstDevice, devices);
}

Timing runBeside(const Context& context, const std::vector<Launches*>& operations)
{
    Timing timing;
    const auto take = [&](Launches& operation) {
        const double seconds = operation.runtime().endTimed();
        const double end = now();
        timing.seconds.push_back(seconds);
        timing.spans.push_back({ end - seconds, end });
    };
    for (Launches* operation : operations) {
        operation->runtime().beginTimed();
        operation->start(0, 1);
        if (context.serial)
            take(*operation);
    }
    if (!context.serial) {
        for (Launches* operation : operations)
            operation->runtime().openTimed();
        for (Launches* operation : operations)
            take(*operation);
    }
    for (const double seconds : timing.seconds)
        timing.combined = context.serial ? timing.combined + seconds : std::max(timing.combined, seconds);
    timing.wall = timing.combined;
    return timing;
}

Timing runAtOnce(Runtime& runtime, std::int64_t devices, const std::function<void()>& work)
{
    runtime.beginTimed();
    work();
    const double seconds = runtime.endTimed();
    const double end = now();
    Timing timing;
    timing.seconds.assign(at(devices), seconds);
    timing.spans.assign(at(devices), { end - seconds, end });
    timing.combined = seconds;
    timing.wall = seconds;
    return timing;
}

void fillShards(Runtime& runtime, const Source& source, Sharded& tensor)
{
    std::vector<FillBody::Entry> entries;
    std::int64_t items = 0;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        FillBody::Entry entry;
        entry.out = elementsOf(tensor, device);
        entry.map = mapOf(tensor.box(device), tensor.shape());
        entry.count = tensor.elements(device);
        entries.push_back(entry);
        items = std::max(items, tilesOf(entry.count));
    }
    FillBody body;
    body.entries = static_cast<const FillBody::Entry*>(
        runtime.table(entries.data(), static_cast<std::int64_t>(entries.size() * sizeof entries[0])));
    body.value = madeOf(source);
    if (items > 0)
        runtime.launch(body, Grid { items, 0, tensor.deviceCount() });
}

void eachOfShards(Runtime& runtime, Each kind, float number, const Sharded& a, const Sharded* b, Sharded& out)
{
    std::vector<EachBody::Entry> entries;
    std::int64_t items = 0;
    for (std::int64_t device = 0; device < out.deviceCount(); ++device) {
        EachBody::Entry entry;
        entry.a = elementsOf(a, device);
        if (b != nullptr)
            entry.b = elementsOf(*b, device);
        entry.out = elementsOf(out, device);
        entry.count = out.elements(device);
        entries.push_back(entry);
        items = std::max(items, tilesOf(entry.count));
    }
    EachBody body;
    body.entries = static_cast<const EachBody::Entry*>(
        runtime.table(entries.data(), static_cast<std::int64_t>(entries.size() * sizeof entries[0])));
    body.kind = kind;
    body.number = number;
    if (items > 0)
        runtime.launch(body, Grid { items, 0, out.deviceCount() });
}

} // namespace shardboard::engine::cuda
