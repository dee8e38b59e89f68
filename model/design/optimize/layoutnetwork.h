// SPDX-License-Identifier: Apache-2.0
// The layouts of a graph as a network of costs (model/solver/minplus.h): its nodes are decisions about operations, about values
// that several of them take, and about weights.
//   seconds   kernels, and collectives between what one makes and another takes: forward, again for the gradients where what was
//   kept
//             is smaller than what is taken, and backward; weights gathered and their gradients reduced; the update
//   bytes     of weights with what is held for each, and of what layers keep for the backward pass
// A value that several operations take is brought into one layout for all of them first. What else a plan has is left out: that the
// first layer is entered in another layout than the others, sends between stages, and what comes and goes in memory.
#pragma once

#include "model/design/optimize/layoutspace.h"
#include "model/design/optimize/steprates.h"
#include "model/plan/planner/buildplan.h"
#include "model/solver/minplus.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardboard {

/// A value that several take: the layout in which they find it, and that in which its gradients are added up.
struct ValueChoice {
    std::string segment; ///< of the first that takes it
    std::vector<TensorId> tensors; ///< one a copy
    std::vector<int> taken; ///< by choice: layout; empty where there is nothing to choose
    std::vector<int> summed; ///< by choice: layout; empty where there are no gradients to add up
};

struct WeightChoice {
    std::vector<TensorId> tensors; ///< of one name
    std::vector<int> stored; ///< by choice: layout
};

/// Layouts by the strategies of a node, and the different ones among them.
struct Places {
    int node = -1;
    std::vector<int> distinct {};
    std::vector<int> of {}; ///< by strategy: index into `distinct`

    static Places make(int node, const std::vector<int>& layouts);
    int at(std::size_t strategy) const { return distinct[static_cast<std::size_t>(of[strategy])]; }
};

struct LayoutNetwork {
    std::vector<ValueChoice> values;
    std::vector<WeightChoice> weights;
    std::vector<int> sizes; ///< nodes: decisions, values, weights
    /// What the seconds of a table of two nodes are made of.
    struct Moves {
        Places first;
        Places second;
        std::function<double(int from, int to)> seconds; ///< by layouts
    };
    struct Table {
        std::vector<int> nodes; ///< one or two
        std::vector<double> seconds;
        std::vector<std::uint8_t> floors {}; ///< by entry: whether its seconds are a floor; empty: none is
        std::vector<double> bytes {}; ///< empty: none
        std::vector<Moves> moves {}; ///< where some are floors
    };
    std::vector<Table> tables;
    bool complete = true;
    std::shared_ptr<void> pricing; ///< what the moves ask

    int valueNode(const LayoutSpace& space, std::size_t value) const { return static_cast<int>(space.decisions.size() + value); }
    int weightNode(const LayoutSpace& space, std::size_t weight) const
    {
        return static_cast<int>(space.decisions.size() + values.size() + weight);
    }
    /// Seconds plus `price` times bytes; it asks this network for those that are floors.
    minplus::CostNetwork costs(double price) const;
    double seconds(const std::vector<int>& choice) const;
    double bytes(const std::vector<int>& choice) const;
    /// Of an entry of a table, no floor.
    static double secondsOf(const Table& table, std::size_t place);
};

/// What the network is made from; all of it must outlive the call, and with floors the network.
struct NetworkRequest {
    const Graph& graph;
    const Mesh& mesh; ///< with one stage
    const Hardware& hardware;
    const Workload& workload;
    const MemorySettings& memory;
    const Plan& plan; ///< of the design as it is: held types, what stays gathered, layouts of inputs
    const StepRates& rates;
    const LayoutSpace& space;
    LayoutNumbers& layouts;
    LayoutPrices& prices;
    /// Whether a weight keeps the layout that the plan has.
    std::function<bool(TensorId)> keeps;
    std::function<bool()> stopped {}; ///< asked often; then the network is not complete
    bool floors = false; ///< collectives are priced when somebody asks for them; until then the network has floors of them
};

/// The space without strategies that no plan of less than `upper` seconds has: their kernels alone take too long beside the fastest
/// of all other operations.
LayoutSpace withoutDear(const NetworkRequest& request, double upper);

LayoutNetwork layoutNetwork(const NetworkRequest& request);

} // namespace shardboard
