// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/runvalues.h"

#include "engine/devices/executor.h"
#include "model/ops/opdefinition.h"

namespace shardboard::engine {

namespace {

std::string ofMicroBatch(std::int64_t number) { return number == 0 ? std::string() : "/micro-batch " + std::to_string(number); }

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
        if (op.operands.size() != 2)
            continue;
        const OpDefinition& definition = definitionOf(op.kind);
        if (const auto table = static_cast<std::size_t>(definition.lookedUp); definition.lookedUp >= 0)
            m_vocabulary[op.operands[1 - table]] = m_graph.tensor(op.operands[table]).shape.front();
        if (const auto logits = static_cast<std::size_t>(definition.elementsOf); definition.elementsOf >= 0)
            m_vocabulary[op.operands[1 - logits]] = m_graph.tensor(op.operands[logits]).shape.back();
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
    context.executor.fill(context, source, tensor);
}

void roundSharded(Context& context, Rounding rounding, Sharded& tensor)
{
    if (rounding != Rounding::None)
        context.executor.round(context, rounding, tensor);
}

void addSharded(Context& context, const Sharded& value, Sharded& sum)
{
    context.work.touched += static_cast<double>(sum.totalElements()) * 2;
    context.executor.add(context, value, sum);
}

Sharded copyOf(Context& context, const Sharded& value)
{
    Sharded copy(value.shape(), value.layout(), value.mesh());
    copy.setElement(value.element());
    copy.allocate(context.arena);
    context.work.touched += static_cast<double>(copy.totalElements());
    context.executor.copy(context, value, copy);
    return copy;
}

void scaleSharded(Context& context, float factor, Sharded& tensor) { context.executor.scale(context, factor, tensor); }

} // namespace shardboard::engine
