// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/runvalues.h"

#include "engine/devices/executor.h"
#include "engine/simd/vectors.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

struct Slice {
    std::int64_t device = 0;
    std::int64_t offset = 0;
    Box box;
};

/// Consecutive contiguous parts of all shards.
std::vector<Slice> slicesOf(const Sharded& tensor)
{
    std::vector<Slice> slices;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        std::int64_t offset = 0;
        if (tensor.elements(device) == 0)
            continue;
        for (Box& box : piecesOf(tensor.box(device), kPieceElements)) {
            const std::int64_t volume = volumeOf(box);
            slices.push_back({ device, offset, std::move(box) });
            offset += volume;
        }
    }
    return slices;
}

std::string ofMicroBatch(std::int64_t number) { return number == 0 ? std::string() : "/micro-batch " + std::to_string(number); }

template <class Change>
void forEachSlice(Context& context, Sharded& tensor, Change change)
{
    const auto slices = slicesOf(tensor);
    std::vector<std::int64_t> devices;
    for (const Slice& slice : slices)
        devices.push_back(slice.device);
    runTasks(context, tensor.mesh(), devices, [&](std::size_t index, int) {
        const Slice& slice = slices[index];
        change(slice, tensor.data(slice.device) + slice.offset);
    });
}

} // namespace

Sharded* RunValues::find(TensorId tensor, const Layout& layout)
{
    const auto it = m_versions.find(tensor);
    if (it == m_versions.end())
        return nullptr;
    for (Sharded& version : it->second)
        if (version.layout() == layout)
            return &version;
    return nullptr;
}

Sharded& RunValues::put(TensorId tensor, Sharded value)
{
    drop(tensor, value.layout());
    return m_versions[tensor].emplace_back(std::move(value));
}

void RunValues::drop(TensorId tensor, const Layout& layout)
{
    if (const auto it = m_versions.find(tensor); it != m_versions.end())
        it->second.remove_if([&](const Sharded& version) { return version.layout() == layout; });
}

std::vector<Layout> RunValues::layouts(TensorId tensor) const
{
    std::vector<Layout> out;
    if (const auto it = m_versions.find(tensor); it != m_versions.end())
        for (const Sharded& version : it->second)
            out.push_back(version.layout());
    return out;
}

Sharded RunValues::take(TensorId tensor, const Layout& layout)
{
    Sharded out = std::move(*find(tensor, layout));
    m_versions[tensor].remove_if([](const Sharded& version) { return !version.valid(); });
    return out;
}

ValueMaker::ValueMaker(const Program& program, const RunOptions& options)
    : m_graph(program.graph)
    , m_options(options)
{
    for (const Op& op : m_graph.ops) {
        if (op.kind == OpKind::Embedding && op.operands.size() == 2)
            m_vocabulary[op.operands[0]] = m_graph.tensor(op.operands[1]).shape.front();
        if (op.kind == OpKind::TargetLogit && op.operands.size() == 2)
            m_vocabulary[op.operands[1]] = m_graph.tensor(op.operands[0]).shape.back();
    }
}

Rounding ValueMaker::roundingOfTensor(TensorId tensor) const
{
    return m_options.designDtype ? roundingOf(m_graph.tensor(tensor).dtype).value_or(Rounding::None) : Rounding::None;
}

Source ValueMaker::make(TensorId tensor, const std::string& name) const
{
    const Fill& fill = m_graph.entry(tensor).fill;
    Source source;
    source.generator = Generator::values(m_options.seed, name, fill.mean, fill.deviation);
    source.rounding = roundingOfTensor(tensor);
    return source;
}

Source ValueMaker::sourceOf(TensorId tensor, std::int64_t layer, std::int64_t microBatch) const
{
    std::string name = concreteName(m_graph.tensor(tensor).name, layer);
    if (m_graph.tensor(tensor).role == TensorRole::Input)
        name += ofMicroBatch(microBatch);
    if (const auto it = m_vocabulary.find(tensor); it != m_vocabulary.end()) {
        Source source;
        source.generator = Generator::tokens(m_options.seed, name, it->second);
        return source;
    }
    return make(tensor, name);
}

Source ValueMaker::cacheOf(TensorId tensor, std::int64_t layer) const
{
    return make(tensor, "cached/" + std::to_string(layer) + "/" + m_graph.tensor(tensor).name);
}

Source ValueMaker::streamOf(TensorId tensor, std::int64_t microBatch) const
{
    return make(tensor, "stream/" + m_graph.tensor(tensor).name + ofMicroBatch(microBatch));
}

std::int64_t partialDevices(const Layout& layout, const Mesh& mesh)
{
    std::int64_t devices = 1;
    for (const AxisRef& ref : layout.partial)
        devices *= sizeOf(ref, mesh);
    return devices;
}

void materialize(Context& context, Sharded& tensor)
{
    tensor.allocate(context.arena);
    context.work.generated += static_cast<double>(tensor.totalElements());
    Source source = *tensor.source;
    source.share = 1.0f / static_cast<float>(partialDevices(tensor.layout(), tensor.mesh()));
    if (context.executor != nullptr)
        return context.executor->fill(context, source, tensor);
    if (context.planning())
        return;
    forEachSlice(context, tensor, [&](const Slice& slice, float* values) { fillBox(source, tensor.shape(), slice.box, values); });
}

void roundSharded(Context& context, Rounding rounding, Sharded& tensor)
{
    if (rounding == Rounding::None)
        return;
    if (context.executor != nullptr)
        return context.executor->round(context, rounding, tensor);
    if (context.planning())
        return;
    forEachSlice(context, tensor, [&](const Slice& slice, float* values) { roundValues(rounding, volumeOf(slice.box), values); });
}

void addSharded(Context& context, const Sharded& value, Sharded& sum)
{
    context.work.touched += static_cast<double>(sum.totalElements()) * 2;
    if (context.executor != nullptr)
        return context.executor->add(context, value, sum);
    if (context.planning())
        return;
    forEachSlice(context, sum, [&](const Slice& slice, float* values) {
        addInto(value.data(slice.device) + slice.offset, volumeOf(slice.box), values);
    });
}

Sharded copyOf(Context& context, const Sharded& value)
{
    Sharded copy(value.shape(), value.layout(), value.mesh());
    copy.setElement(value.element());
    copy.allocate(context.arena);
    context.work.touched += static_cast<double>(copy.totalElements());
    if (context.executor != nullptr)
        context.executor->copy(context, value, copy);
    else if (!context.planning())
        forEachSlice(context, copy, [&](const Slice& slice, float* values) {
            std::memcpy(values, value.data(slice.device) + slice.offset,
                        static_cast<std::size_t>(volumeOf(slice.box)) * sizeof(float));
        });
    return copy;
}

void scaleSharded(Context& context, float factor, Sharded& tensor)
{
    if (context.executor != nullptr)
        return context.executor->scale(context, factor, tensor);
    if (context.planning())
        return;
    forEachSlice(context, tensor,
                 [&](const Slice& slice, float* values) { scaleRow(values, factor, volumeOf(slice.box), values); });
}

} // namespace shardboard::engine
