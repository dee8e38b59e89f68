// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutnetwork.h"

#include "model/design/optimize/networkbuilder.h"

#include <algorithm>

namespace shardboard {

NetworkBuilder::NetworkBuilder(const NetworkRequest& request)
    : m_request(request)
    , m_rates(request.rates)
    , m_graph(request.graph)
    , m_space(request.space)
    , m_prices(request.prices)
    , m_layouts(request.layouts)
    , m_trains(request.workload.kind == WorkloadKind::Train)
    , m_framework(factsOf(m_trains ? request.memory.framework : Framework::None))
    , m_kernels(kernelSettings(request.workload, m_framework, request.hardware))
    , m_microBatches(static_cast<double>(request.plan.microBatches))
    , m_optimizer(effective(request.workload).optimizer)
{
    m_segment.resize(m_graph.ops.size());
    m_maker.resize(m_graph.tensors.size());
    for (std::size_t s = 0; s < m_graph.segments.size(); ++s)
        for (const OpId op : m_graph.segments[s].ops) {
            m_segment[op] = SegmentId(s);
            m_maker[m_graph.op(op).result] = op;
        }
    for (const std::string& name : m_optimizer.axes)
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

double NetworkBuilder::price(TensorId tensor, DType dtype, int from, int to)
{
    if (!m_floors)
        return m_prices.seconds(tensor, dtype, from, to);
    const LayoutPrices::Floor floor = m_prices.floor(tensor, dtype, from, to);
    m_isFloor = m_isFloor || !floor.exact;
    return floor.seconds;
}

void NetworkBuilder::addPair(const Places& a, const Places& b, Cost cost, bool isBytes)
{
    if (a.node == b.node)
        return addAlone(a, b, cost, isBytes);
    if (a.node > b.node)
        return addPair(
            b, a, [cost = std::move(cost)](int to, int from) { return cost(from, to); }, isBytes);
    const std::size_t columns = b.distinct.size();
    std::vector<double> between(a.distinct.size() * columns);
    std::vector<std::uint8_t> floors(between.size(), 0);
    bool any = false;
    bool anyFloor = false;
    m_floors = m_request.floors && !isBytes;
    for (std::size_t i = 0; i < a.distinct.size() && !isStopped(); ++i)
        for (std::size_t j = 0; j < columns; ++j) {
            m_isFloor = false;
            const double value = between[i * columns + j] = cost(a.distinct[i], b.distinct[j]);
            floors[i * columns + j] = m_isFloor;
            anyFloor = anyFloor || m_isFloor;
            any = any || value != 0;
        }
    m_floors = false;
    if (!any && !anyFloor)
        return;
    LayoutNetwork::Table& out = table(a.node, b.node);
    if (isBytes)
        out.bytes.resize(out.seconds.size());
    if (anyFloor)
        out.floors.resize(out.seconds.size());
    std::vector<double>& sums = isBytes ? out.bytes : out.seconds;
    std::size_t place = 0;
    for (const int first : a.of) {
        const double* row = between.data() + static_cast<std::size_t>(first) * columns;
        const std::uint8_t* floor = floors.data() + static_cast<std::size_t>(first) * columns;
        for (const int second : b.of) {
            sums[place] += row[second];
            if (anyFloor)
                out.floors[place] |= floor[second];
            ++place;
        }
    }
    if (m_request.floors && !isBytes)
        out.moves.push_back({ a, b, std::move(cost) });
}

void NetworkBuilder::addAlone(const Places& a, const Places& b, const Cost& cost, bool isBytes)
{
    std::vector<double> values(a.of.size());
    for (std::size_t s = 0; s < values.size() && !isStopped(); ++s)
        values[s] = cost(a.at(s), b.at(s));
    if (std::ranges::all_of(values, [](double value) { return value == 0; }))
        return;
    LayoutNetwork::Table& out = table(a.node, -1);
    if (isBytes)
        out.bytes.resize(out.seconds.size());
    for (std::size_t s = 0; s < values.size(); ++s)
        (isBytes ? out.bytes : out.seconds)[s] += values[s];
}

Places Places::make(int node, const std::vector<int>& layouts)
{
    Places out { node, {}, {} };
    std::unordered_map<int, int> known;
    out.of.reserve(layouts.size());
    for (const int layout : layouts) {
        const auto [place, isNew] = known.try_emplace(layout, static_cast<int>(out.distinct.size()));
        if (isNew)
            out.distinct.push_back(layout);
        out.of.push_back(place->second);
    }
    return out;
}

double LayoutNetwork::secondsOf(const Table& table, std::size_t place)
{
    if (table.floors.empty() || table.floors[place] == 0)
        return table.seconds[place];
    const std::size_t columns = table.moves.front().second.of.size();
    double out = 0;
    for (const Moves& moves : table.moves)
        out += moves.seconds(moves.first.at(place / columns), moves.second.at(place % columns));
    return out;
}

minplus::CostNetwork LayoutNetwork::costs(double price) const
{
    minplus::CostNetwork out;
    out.sizes = sizes;
    if (std::ranges::any_of(tables, [](const Table& table) { return !table.floors.empty(); }))
        out.exact = [this, price](std::size_t factor, std::size_t place) {
            const Table& table = tables[factor];
            return secondsOf(table, place) + (price > 0 && !table.bytes.empty() ? price * table.bytes[place] : 0);
        };
    for (const Table& table : tables) {
        out.factors.push_back({ table.nodes, table.seconds });
        if (price > 0 && !table.bytes.empty())
            for (std::size_t i = 0; i < table.bytes.size(); ++i)
                out.factors.back().costs[i] += price * table.bytes[i];
    }
    return out;
}

namespace {

template <class Value>
double sumOf(const LayoutNetwork& network, const std::vector<int>& choice, const Value& value)
{
    double out = 0;
    for (const LayoutNetwork::Table& table : network.tables) {
        std::size_t place = 0;
        for (const int node : table.nodes)
            place = place * static_cast<std::size_t>(network.sizes[static_cast<std::size_t>(node)])
                + static_cast<std::size_t>(choice[static_cast<std::size_t>(node)]);
        out += value(table, place);
    }
    return out;
}

} // namespace

double LayoutNetwork::seconds(const std::vector<int>& choice) const { return sumOf(*this, choice, secondsOf); }

double LayoutNetwork::bytes(const std::vector<int>& choice) const
{
    return sumOf(*this, choice, [](const Table& table, std::size_t place) { return table.bytes.empty() ? 0 : table.bytes[place]; });
}

LayoutSpace withoutDear(const NetworkRequest& request, double upper) { return NetworkBuilder(request).withoutDear(upper); }

LayoutNetwork layoutNetwork(const NetworkRequest& request)
{
    const auto builder = std::make_shared<NetworkBuilder>(request);
    LayoutNetwork out = builder->build();
    if (request.floors)
        out.pricing = builder;
    return out;
}

} // namespace shardboard
