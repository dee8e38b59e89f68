// SPDX-License-Identifier: Apache-2.0
// Builds the network of costs (layoutnetwork.h). Only for the sources beside it: what can be chosen is in networkchoices.cpp, what
// operations and their values cost in networkcosts.cpp, what weights do in networkweights.cpp.
#pragma once

#include "model/cost/kerneltime.h"
#include "model/design/optimize/layoutnetwork.h"
#include "model/plan/framework.h"
#include "model/plan/planner/planfacts.h"

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardboard {

class NetworkBuilder {
public:
    explicit NetworkBuilder(const NetworkRequest& request);
    LayoutNetwork build();
    /// Strategies that cost more than `upper` leaves beside the cheapest kernels of all others.
    LayoutSpace withoutDear(double upper);

private:
    static constexpr double kNever = minplus::kNever;

    template <class Keeps>
    static void keepOnly(LayoutDecision& decision, Keeps keeps)
    {
        const auto filter = [&](auto& list) {
            std::size_t to = 0;
            for (std::size_t s = 0; s < list.size(); ++s)
                if (keeps(s)) {
                    if (to != s)
                        list[to] = std::move(list[s]);
                    ++to;
                }
            list.resize(to);
        };
        for (LayoutDecision::Member& member : decision.members) {
            for (auto& operand : member.operands)
                filter(operand);
            filter(member.result);
        }
        filter(decision.strategies);
        filter(decision.upstream);
    }

    /// Who takes a value in the forward pass, and who adds to its gradient.
    struct Use {
        int decision;
        SegmentId segment;
        const std::vector<int>* taken; ///< by strategy
        OpId op;
        bool again = false; ///< the backward pass takes it, too
        bool repeated = false; ///< what it takes there has been made again
    };
    struct Addend {
        int decision;
        SegmentId segment; ///< of the backward pass
        const std::vector<int>* made;
    };
    struct Uses {
        std::vector<Use> taken;
        std::vector<Addend> addends;
        std::size_t value = 0; ///< 1 + its number among values; 0: none
    };
    struct Maker {
        int decision;
        double times; ///< in a step, layers and micro-batches
        const std::vector<int>* made;
        const std::vector<int>* upstream;
    };

    const LayoutDecision& decision(int index) const { return m_space.decisions[static_cast<std::size_t>(index)]; }
    const LayoutDecision::Member& member(OpId op) const
    {
        return decision(m_space.ofOp[op]).members[static_cast<std::size_t>(m_space.memberOf[op])];
    }
    double timesOf(SegmentId segment) const { return static_cast<double>(m_graph.segment(segment).count) * m_microBatches; }

    TensorId original(TensorId tensor) const
    {
        const TensorId of = m_graph.entry(tensor).again;
        return of != kNoTensor ? of : tensor;
    }
    bool isGradient(TensorId tensor) const
    {
        const GraphTensor& entry = m_graph.entry(tensor);
        return entry.gradientOf != kNoTensor || entry.addendOf != kNoTensor;
    }

    /// A residual stream that enters a layer has the number of the one that leaves it: of repeated layers both are one value.
    void findUses();
    bool sameSegment(OpId a, OpId b) const;
    void addendOf(OpId id, SegmentId segment);
    /// Operations whose gradient is that of their result.
    void addPassed(SegmentId index);
    /// Those that make a value, with how often: the residual stream of repeated layers is made by the layer before.
    std::vector<Maker> makersOf(TensorId tensor, SegmentId takenIn) const;
    Phase phaseOf(const Use& use) const { return m_graph.segment(use.segment).phase; }

    std::size_t takers(const Uses& uses) const;
    void chooseValues();
    SegmentId forwardSegment(const Uses& uses) const;
    /// Over each mesh axis: cut as some operation makes or takes it, whole, or partial; the gradient alike, or partial while the
    /// value is whole.
    void addValueChoices(ValueChoice& value, const Uses& uses, bool shared, bool sums);
    /// The cutting in units of somebody who takes the value over the same axes; `inUnits`: layouts with such cuttings.
    Layout withUnits(Layout layout, const std::vector<int>& inUnits) const;
    /// All ways to cut the dims of a weight over mesh axes in any order, where they divide.
    void chooseWeights();
    void addStored(std::vector<int>& out, const Shape& shape, const Layout& layout, std::size_t next);
    LayoutNetwork::Table& table(int a, int b);

    /// `cost(layout of a, layout of b)` by the strategies of both nodes.
    using Cost = std::function<double(int from, int to)>;
    void addPair(const Places& a, const Places& b, Cost cost, bool isBytes = false);
    /// The same by the strategies of one node, which has both layouts.
    void addAlone(const Places& a, const Places& b, const Cost& cost, bool isBytes);
    /// Seconds of a collective; where floors are asked for, maybe no more than a floor, which is noted.
    double price(TensorId tensor, DType dtype, int from, int to);
    bool isStopped();
    double rate(SegmentId segment, OverlapKind kind) const;
    OverlapKind kindOf(TensorId tensor, OpId takenBy) const;
    double kernel(OpId id, const std::vector<int>& operands, int result, bool inLayer) const;
    void addKernels(int index);
    /// Operands that travel, but for those that come past already for the operation before.
    void addRings(const LayoutDecision& of, std::size_t m, OpId id, SegmentId segment, std::vector<double>& out);
    /// Seconds of moving a value forward, and again for the gradients where what was kept is not what they take.
    Cost forwardMove(TensorId tensor, const Use& use, double times);
    SegmentId backwardOf(SegmentId forward) const;
    double keptBytes(TensorId tensor, const Use& use, double layers, int from, int to);
    void addMoves(TensorId tensor, const Uses& uses);
    void join(TensorId tensor, const Use& use, const Maker& maker, const Places& made, const Places& taken);
    void addGradients(TensorId tensor, const Uses& uses, const std::vector<Maker>& makers, const ValueChoice* value, int node);
    /// Bytes that a device holds for each byte of a weight.
    double heldPerByte() const;
    DType gatheredType(TensorId weight) const;
    void addWeight(std::size_t index);
    std::set<SegmentId> addGathers(TensorId tensor, const Places& stored);
    /// The gradient from where it is made to where the optimizer takes it, the step, and the weight back
    /// (PlanBuilder::weightUpdate).
    void addUpdate(TensorId tensor, const Places& stored);
    /// Where the gradient of a weight is after the first of the two ways that it goes to where the optimizer takes it.
    int reducedFrom(TensorId tensor, int from, int stored, int parts);

    const NetworkRequest m_request;
    const StepRates m_rates;
    const Graph& m_graph;
    const LayoutSpace& m_space;
    LayoutPrices& m_prices;
    LayoutNumbers& m_layouts;
    const bool m_trains;
    const FrameworkFacts& m_framework;
    const KernelSettings m_kernels;
    const double m_microBatches;
    const OptimizerSharding m_optimizer;
    std::vector<SegmentId> m_segment; ///< by OpId
    std::vector<OpId> m_maker; ///< by TensorId
    std::vector<int> m_optimizerAxes;
    double m_perWeightByte = 1;
    std::map<TensorId, Uses> m_uses;
    std::map<std::vector<int>, LayoutNetwork::Table> m_tables;
    std::map<std::tuple<TensorId, std::uint32_t, int>, int> m_reduced; ///< layouts of gradients: of which sums, of which weight
    bool m_floors = false; ///< are enough
    bool m_isFloor = false; ///< what was priced last
    LayoutNetwork m_out;
};

} // namespace shardboard
