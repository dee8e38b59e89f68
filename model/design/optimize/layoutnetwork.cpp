// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutnetwork.h"

#include "model/design/optimize/networkbuilder.h"

#include <algorithm>

namespace shardboard {

NetworkBuilder::NetworkBuilder(const NetworkRequest& request)
    : m_request(request)
    , m_graph(request.graph)
    , m_space(request.space)
    , m_prices(request.prices)
    , m_layouts(request.layouts)
    , m_trains(request.workload.kind == WorkloadKind::Train)
    , m_framework(factsOf(m_trains ? request.memory.framework : Framework::None))
    , m_kernels(kernelSettings(request.workload, m_framework, request.hardware))
    , m_microBatches(static_cast<double>(request.plan.microBatches))
{
    m_segment.resize(m_graph.ops.size());
    m_maker.resize(m_graph.tensors.size());
    for (std::size_t s = 0; s < m_graph.segments.size(); ++s)
        for (const OpId op : m_graph.segments[s].ops) {
            m_segment[op] = SegmentId(s);
            m_maker[m_graph.op(op).result] = op;
        }
    for (const std::string& name : effective(request.workload).optimizer.axes)
        if (const int axis = request.mesh.find(name); axis >= 0 && request.mesh.axis(axis).size > 1)
            m_optimizerAxes.push_back(axis);
    m_perWeightByte = heldPerByte();
}

LayoutNetwork NetworkBuilder::build()
{
    for (const LayoutDecision& decision : m_space.decisions)
        m_out.sizes.push_back(static_cast<int>(decision.count()));
    findUses();
    chooseValues();
    chooseWeights();
    for (std::size_t d = 0; d < m_space.decisions.size(); ++d)
        addKernels(static_cast<int>(d));
    for (auto& [tensor, uses] : m_uses)
        addMoves(tensor, uses);
    for (std::size_t w = 0; w < m_out.weights.size(); ++w)
        addWeight(w);
    for (auto& [nodes, table] : m_tables)
        m_out.tables.push_back(std::move(table));
    return std::move(m_out);
}

LayoutSpace NetworkBuilder::withoutDear(double upper)
{
    for (const LayoutDecision& decision : m_space.decisions)
        m_out.sizes.push_back(static_cast<int>(decision.count()));
    double least = 0;
    for (std::size_t d = 0; d < m_space.decisions.size(); ++d) {
        addKernels(static_cast<int>(d));
        least += std::ranges::min(m_tables.at({ static_cast<int>(d) }).seconds);
    }
    LayoutSpace out = m_space;
    for (std::size_t d = 0; d < out.decisions.size(); ++d) {
        const std::vector<double>& seconds = m_tables.at({ static_cast<int>(d) }).seconds;
        const double most = std::ranges::min(seconds) + (upper - least) * (1 + 1e-9);
        keepOnly(out.decisions[d], [&](std::size_t s) { return seconds[s] <= most; });
    }
    return out;
}

LayoutNetwork::Table& NetworkBuilder::table(int a, int b)
{
    const std::vector<int> nodes = a == b || b < 0 ? std::vector { a } : std::vector { std::min(a, b), std::max(a, b) };
    LayoutNetwork::Table& out = m_tables[nodes];
    if (out.nodes.empty()) {
        out.nodes = nodes;
        std::size_t entries = 1;
        for (const int node : nodes)
            entries *= static_cast<std::size_t>(m_out.sizes[static_cast<std::size_t>(node)]);
        out.seconds.assign(entries, 0);
    }
    return out;
}

bool NetworkBuilder::isStopped()
{
    m_out.complete = m_out.complete && !(m_request.stopped && m_request.stopped());
    return !m_out.complete;
}

minplus::CostNetwork LayoutNetwork::costs(double price) const
{
    minplus::CostNetwork out;
    out.sizes = sizes;
    for (const Table& table : tables) {
        out.factors.push_back({ table.nodes, table.seconds });
        if (price > 0 && !table.bytes.empty())
            for (std::size_t i = 0; i < table.bytes.size(); ++i)
                out.factors.back().costs[i] += price * table.bytes[i];
    }
    return out;
}

namespace {

double sumOf(const LayoutNetwork& network, const std::vector<int>& choice, std::vector<double> LayoutNetwork::Table::*what)
{
    double out = 0;
    for (const LayoutNetwork::Table& table : network.tables) {
        std::size_t place = 0;
        for (const int node : table.nodes)
            place = place * static_cast<std::size_t>(network.sizes[static_cast<std::size_t>(node)])
                + static_cast<std::size_t>(choice[static_cast<std::size_t>(node)]);
        out += (table.*what).empty() ? 0 : (table.*what)[place];
    }
    return out;
}

} // namespace

double LayoutNetwork::seconds(const std::vector<int>& choice) const { return sumOf(*this, choice, &Table::seconds); }
double LayoutNetwork::bytes(const std::vector<int>& choice) const { return sumOf(*this, choice, &Table::bytes); }

LayoutSpace withoutDear(const NetworkRequest& request, double upper) { return NetworkBuilder(request).withoutDear(upper); }

LayoutNetwork layoutNetwork(const NetworkRequest& request) { return NetworkBuilder(request).build(); }

} // namespace shardboard
