// SPDX-License-Identifier: Apache-2.0
// A small graph whose last operation is the one that is tried. What comes before it makes operands that made-up data cannot
// be, such as gates of which most are 0.
#pragma once

#include "model/ops/graph.h"

#include <string>
#include <vector>

namespace shardboard::conformance {

struct OpCase {
    std::string name;
    Graph graph; ///< one segment
    const Op& op() const { return graph.ops.back(); }
};

/// Of every kind of operation at least one.
std::vector<OpCase> opCases();

/// Puts a graph together. Tensors are named t0, t1, …
class GraphMaker {
public:
    TensorId input(Shape shape, double mean = 0, double deviation = 1)
    {
        return add(std::move(shape), TensorRole::Input, { mean, deviation });
    }
    TensorId weight(Shape shape, double mean = 0, double deviation = 1)
    {
        return add(std::move(shape), TensorRole::Weight, { mean, deviation });
    }
    /// Whole numbers where an embedding or a loss takes them.
    TensorId tokens(Shape shape);
    TensorId op(OpKind kind, std::vector<TensorId> operands, Shape result, const OpAttributes& attributes = {});
    OpCase done(std::string name);

private:
    TensorId add(Shape shape, TensorRole role, Fill fill);
    Graph m_graph;
};

} // namespace shardboard::conformance
