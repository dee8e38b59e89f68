// SPDX-License-Identifier: Apache-2.0
// Random graphs and what a search for layouts knows of them.
#pragma once

#include "model/design/optimize/layoutdesign.h"
#include "model/solver/random.h"
#include "tests/support/designs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace shardboard {

using solver::Random;

/// A forward pass of random operations on one value [B,S,H] and what becomes of it.
inline Graph randomGraph(Random& random, int ops)
{
    Graph graph;
    Segment segment;
    segment.name = "block";
    const auto tensor = [&](const std::string& name, TensorRole role, Shape shape) {
        GraphTensor out;
        out.spec.name = name;
        out.spec.role = role;
        out.spec.dtype = DType::BF16;
        out.spec.shape = std::move(shape);
        out.spec.dimLabels.assign(out.spec.shape.size(), std::string());
        graph.tensors.push_back(out);
        return lastId(graph.tensors);
    };
    const std::int64_t hidden = 256LL << random.below(3);
    const auto size = [&] { return hidden << random.below(2); };
    const std::int64_t batch = 4LL << random.below(3);
    const std::int64_t rows = 128LL << random.below(4);
    std::vector<TensorId> values { tensor("x", TensorRole::Input, { batch, rows, hidden }) };
    for (int i = 0; i < ops; ++i) {
        const std::string name = "op" + std::to_string(i);
        const TensorId from = values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))];
        const Shape shape = graph.tensor(from).shape;
        Op op { name, OpKind::Silu, { from }, kNoTensor, {} };
        Shape result = shape;
        switch (random.below(4)) {
        case 0:
        case 1:
            op.kind = OpKind::Linear;
            result.back() = size();
            op.operands.push_back(tensor(name + ".weight", TensorRole::Weight, { result.back(), shape.back() }));
            break;
        case 2:
            for (const TensorId other : values)
                if (other != from && graph.tensor(other).shape == shape) {
                    op.kind = random.below(2) == 0 ? OpKind::Add : OpKind::Mul;
                    op.operands.push_back(other);
                    break;
                }
            break;
        default:
            break;
        }
        op.result = tensor("v" + std::to_string(i), TensorRole::Activation, result);
        values.push_back(op.result);
        graph.ops.push_back(op);
        segment.ops.push_back(lastId(graph.ops));
    }
    segment.carryOut = values.back();
    graph.segments.push_back(segment);
    return graph;
}

/// A graph, and what it is planned for.
struct Case {
    Graph graph;
    Design design;
    Hardware hardware;
    std::vector<Layout> whole;

    Result<Plan> plan(const std::vector<Layout>& layouts, const std::vector<Pin>& pins) const
    {
        return buildPlan({ graph, design.mesh, layouts, hardware, design.picker, pins, design.workload, design.pipeline, {} });
    }
};

inline Case randomCase(Random& random, int axes, int ops)
{
    Case out;
    out.graph = randomGraph(random, ops);
    std::string mesh;
    for (int axis = 0; axis < axes; ++axis)
        mesh += (axis > 0 ? "," : "") + std::string(1, static_cast<char>('a' + axis)) + "=" + std::to_string(2 << random.below(2));
    out.design.mesh = sure(Mesh::parse(mesh));
    out.hardware = sure(findHardware(random.below(2) == 0 ? "dgx-h100" : "dgx-a100"));
    for (const GraphTensor& tensor : out.graph.tensors)
        out.whole.push_back(Layout::replicated(tensor.spec.shape.size()));
    return out;
}

/// Everything that a search knows of a case.
struct Searched {
    Plan base;
    LayoutNumbers layouts;
    LayoutSpace space;
    LayoutPrices prices;
    StepRates rates;
    MemorySettings memory;
    LayoutNetwork network;

    explicit Searched(const Case& of, bool floors = false)
        : base(sure(of.plan(of.whole, {})))
        , space(sure(layoutSpace(of.graph, of.design.mesh, {}, layouts)))
        , prices(of.graph, of.design.mesh, of.hardware, Dispatch::PerExpert, layouts)
        , rates(ratesAt(of.graph, base, of.hardware.levels.size()))
    {
        network = layoutNetwork({ of.graph,
                                  of.design.mesh,
                                  of.hardware,
                                  of.design.workload,
                                  memory,
                                  base,
                                  rates,
                                  space,
                                  layouts,
                                  prices,
                                  {},
                                  {},
                                  floors });
    }
    Searched(const Searched&) = delete; ///< its parts lead to each other

    double planned(const Case& of, const std::vector<int>& choice) const
    {
        std::vector<Layout> stored = of.whole;
        for (std::size_t w = 0; w < network.weights.size(); ++w)
            for (const TensorId tensor : network.weights[w].tensors)
                stored[tensor] =
                    layouts[network.weights[w]
                                .stored[static_cast<std::size_t>(choice[static_cast<std::size_t>(network.weightNode(space, w))])]];
        const Design design = designOf(of.design, of.graph, of.design.mesh, space, network, layouts, choice, {});
        return sure(of.plan(stored, design.pins)).seconds();
    }
};

/// What prices of memory say of a network with a limit: no assignment that keeps it takes less than `bound`, and one takes `found`.
struct Priced {
    double bound = 0;
    double found = 0;
};
inline Priced withinLimit(const LayoutNetwork& network, double limit)
{
    const minplus::LeastCost free = minplus::least(network.costs(0));
    const minplus::LeastCost small = minplus::least(network.costs(1e3)); // all the bytes first
    Priced out { free.bound, network.seconds(small.values) };
    double low = 0;
    double high = free.cost / std::max(1.0, network.bytes(free.values)); // as the search begins: larger ones lose digits
    bool fitted = false;
    for (int round = 0; round < 80 && !(fitted && low > 0 && high / low < 1 + 1e-9); ++round) {
        const double price = !fitted ? high : low == 0 ? high / 64 : std::sqrt(low * high);
        const minplus::LeastCost at = minplus::least(network.costs(price));
        out.bound = std::max(out.bound, at.bound - price * limit);
        if (network.bytes(at.values) <= limit) {
            out.found = std::min(out.found, network.seconds(at.values));
            fitted = true;
            high = price;
        } else {
            low = price;
            if (!fitted)
                high *= 8;
        }
    }
    return out;
}

} // namespace shardboard
