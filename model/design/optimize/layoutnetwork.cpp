// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutnetwork.h"

#include "model/cost/kerneltime.h"
#include "model/ops/opdefinition.h"
#include "model/picker/menu/menu.h"
#include "model/plan/framework.h"
#include "model/plan/largestshard.h"
#include "model/plan/planner/planfacts.h"
#include "model/text/contains.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

namespace shardboard {

namespace {

constexpr double kNever = minplus::kNever;

/// Layouts by the strategies of a node, and the different ones among them.
struct Places {
    int node = -1;
    std::vector<int> distinct {};
    std::vector<int> of {}; ///< by strategy: index into `distinct`

    static Places make(int node, const std::vector<int>& layouts)
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
};

class NetworkBuilder {
public:
    explicit NetworkBuilder(const NetworkRequest& request)
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

    LayoutNetwork build()
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

    /// Strategies that cost more than `upper` leaves beside the cheapest kernels of all others.
    LayoutSpace withoutDear(double upper)
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

private:
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
    void findUses()
    {
        for (std::size_t s = 0; s < m_graph.segments.size(); ++s) {
            const Segment& segment = m_graph.segments[s];
            if (segment.phase == Phase::Update)
                continue;
            for (const OpId id : segment.ops) {
                if (m_space.ofOp[id] < 0)
                    continue;
                const Op& op = m_graph.op(id);
                const bool forward = segment.phase == Phase::Forward;
                for (std::size_t i = 0; i < op.operands.size(); ++i) {
                    const TensorId tensor = op.operands[i];
                    if (isGradient(tensor) || m_graph.tensor(tensor).role == TensorRole::Weight)
                        continue;
                    const TensorId of = original(tensor);
                    auto& taken = m_uses[of].taken;
                    const int place = m_space.ofOp[id];
                    const auto known = std::ranges::find_if(
                        taken, [&](const Use& use) { return use.decision == place && use.op.valid() && sameSegment(use.op, id); });
                    if (known == taken.end())
                        taken.push_back({ place, SegmentId(s), &member(id).operands[i], id, !forward, tensor != of });
                    else if (!forward) {
                        known->again = true;
                        known->repeated = known->repeated || tensor != of;
                    }
                }
                if (!forward)
                    addendOf(id, SegmentId(s));
            }
        }
        for (std::size_t s = 0; m_trains && s < m_graph.segments.size(); ++s)
            if (m_graph.segments[s].phase == Phase::Backward)
                addPassed(SegmentId(s));
    }

    bool sameSegment(OpId a, OpId b) const
    {
        const auto forward = [&](OpId op) {
            const SegmentId segment = m_segment[op];
            return m_graph.segment(segment).of.valid() ? m_graph.segment(segment).of : segment;
        };
        return forward(a) == forward(b);
    }

    void addendOf(OpId id, SegmentId segment)
    {
        const GraphTensor& result = m_graph.entry(m_graph.op(id).result);
        const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
        if (of != kNoTensor && m_graph.tensor(of).role == TensorRole::Activation)
            m_uses[of].addends.push_back({ m_space.ofOp[id], segment, &member(id).result });
    }

    /// Operations whose gradient is that of their result.
    void addPassed(SegmentId index)
    {
        const Segment& segment = m_graph.segment(index);
        for (const OpId id : m_graph.segment(segment.of).ops) {
            const Op& op = m_graph.op(id);
            const bool first = definitionOf(op.kind).passes;
            for (std::size_t i = 0; i < op.operands.size(); ++i) {
                const TensorId operand = op.operands[i];
                const bool passes = (i == 0 && first)
                    || (i == 1 && op.kind == OpKind::Add
                        && m_graph.tensor(operand).shape.size() == m_graph.tensor(op.result).shape.size());
                if (passes && m_graph.tensor(operand).role == TensorRole::Activation)
                    m_uses[operand].addends.push_back({ m_space.ofOp[id], index, &decision(m_space.ofOp[id]).upstream });
            }
        }
    }

    /// Those that make a value, with how often: the residual stream of repeated layers is made by the layer before.
    std::vector<Maker> makersOf(TensorId tensor, SegmentId takenIn) const
    {
        std::vector<Maker> out;
        const Segment& segment = m_graph.segment(takenIn);
        const bool carried = segment.carryIn == tensor && segment.count > 1;
        const auto add = [&](TensorId made, double layers) {
            const OpId op = m_maker[made];
            if (op.valid() && m_space.ofOp[op] >= 0)
                out.push_back(
                    { m_space.ofOp[op], layers * m_microBatches, &member(op).result, &decision(m_space.ofOp[op]).upstream });
        };
        add(tensor, carried ? 1 : static_cast<double>(segment.count));
        if (carried)
            add(segment.carryOut, static_cast<double>(segment.count - 1));
        return out;
    }

    Phase phaseOf(const Use& use) const { return m_graph.segment(use.segment).phase; }

    std::size_t takers(const Uses& uses) const
    {
        std::set<int> out;
        for (const Use& use : uses.taken)
            out.insert(use.decision);
        return out.size();
    }

    void chooseValues()
    {
        std::map<std::pair<std::string, std::string>, std::size_t> known;
        for (auto& [tensor, uses] : m_uses) {
            if (m_graph.tensor(tensor).role != TensorRole::Activation)
                continue;
            const bool shared = takers(uses) > 1;
            const bool sums = uses.addends.size() > 1;
            if (!shared && !sums)
                continue;
            const std::string& segment = m_graph.segment(forwardSegment(uses)).name;
            const auto [place, isNew] = known.try_emplace({ segment, m_graph.tensor(tensor).name }, m_out.values.size());
            uses.value = place->second + 1;
            if (!isNew) {
                m_out.values[place->second].tensors.push_back(tensor);
                continue;
            }
            ValueChoice value { segment, { tensor }, {}, {} };
            addValueChoices(value, uses, shared, sums);
            m_out.values.push_back(std::move(value));
        }
        for (const ValueChoice& value : m_out.values)
            m_out.sizes.push_back(static_cast<int>(std::max(value.taken.size(), value.summed.size())));
    }

    SegmentId forwardSegment(const Uses& uses) const
    {
        const SegmentId segment = uses.taken.front().segment;
        return m_graph.segment(segment).of.valid() ? m_graph.segment(segment).of : segment;
    }

    /// Over each mesh axis: cut as some operation makes or takes it, whole, or partial; the gradient alike, or partial while the
    /// value is whole.
    void addValueChoices(ValueChoice& value, const Uses& uses, bool shared, bool sums)
    {
        const TensorId tensor = value.tensors.front();
        const std::size_t axes = m_space.axes.size();
        std::vector<std::vector<Placement>> forward(axes, { Placement {} });
        const auto offer = [&](const std::vector<int>& layouts) {
            for (const int layout : Places::make(0, layouts).distinct)
                for (std::size_t axis = 0; axis < axes; ++axis)
                    if (const Placement placement = placementOn(m_layouts[layout], m_space.axes[axis]);
                        std::ranges::find(forward[axis], placement) == forward[axis].end())
                        forward[axis].push_back(placement);
        };
        for (const Use& use : uses.taken) {
            offer(*use.taken);
            for (const Maker& maker : makersOf(tensor, forwardSegment(uses)))
                offer(*maker.made);
        }
        std::vector<std::vector<std::pair<Placement, Placement>>> choices(axes);
        for (std::size_t axis = 0; axis < axes; ++axis)
            for (const Placement& placement : forward[axis]) {
                choices[axis].emplace_back(placement, dualOf(placement));
                if (sums && placement.replicated())
                    choices[axis].emplace_back(placement, partialPlacement());
            }
        const Shape& shape = m_graph.tensor(tensor).shape;
        std::vector<std::size_t> index(axes, 0);
        std::set<std::pair<int, int>> seen;
        for (bool more = true; more;) {
            std::vector<Placement> taken;
            std::vector<Placement> summed;
            bool fits = true;
            for (std::size_t axis = 0; axis < axes; ++axis) {
                for (std::size_t other = 0; other < axis; ++other)
                    fits = fits && (!m_space.alike(other, axis) || choices[other][index[other]] == choices[axis][index[axis]]);
                taken.push_back(choices[axis][index[axis]].first);
                summed.push_back(choices[axis][index[axis]].second);
            }
            const Layout layout = fits ? withUnits(layoutOf(taken, m_space.axes, shape.size()), uses) : Layout();
            const Layout gradient = fits ? withUnits(layoutOf(summed, m_space.axes, shape.size()), uses) : Layout();
            for (std::size_t dim = 0; fits && dim < shape.size(); ++dim)
                fits = partsOf(layout.dims[dim], m_request.mesh) <= std::max<std::int64_t>(1, shape[dim]);
            if (fits) {
                const int first = shared ? m_layouts.of(layout) : -1;
                const int second = sums ? m_layouts.of(gradient) : -1;
                if (seen.emplace(first, second).second) {
                    if (shared)
                        value.taken.push_back(first);
                    if (sums)
                        value.summed.push_back(second);
                }
            }
            std::size_t i = axes;
            while (i > 0 && ++index[i - 1] == choices[i - 1].size())
                index[--i] = 0;
            more = i > 0;
        }
    }

    /// The cutting in units of somebody who takes the value over the same axes.
    Layout withUnits(Layout layout, const Uses& uses) const
    {
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
            if (layout.dims[dim].empty())
                continue;
            for (const Use& use : uses.taken)
                for (const int other : Places::make(0, *use.taken).distinct)
                    if (m_layouts[other].dims[dim] == layout.dims[dim] && m_layouts[other].cuttingOf(dim) != Cutting {})
                        layout.setCutting(dim, m_layouts[other].cuttingOf(dim));
        }
        return layout;
    }

    /// All ways to cut the dims of a weight over mesh axes in any order, where they divide.
    void chooseWeights()
    {
        std::map<std::string, std::size_t> known;
        for (std::size_t id = 0; id < m_graph.tensors.size(); ++id) {
            const GraphTensor& tensor = m_graph.tensors[id];
            if (tensor.spec.role != TensorRole::Weight)
                continue;
            const auto [place, isNew] = known.try_emplace(tensor.spec.name, m_out.weights.size());
            if (!isNew) {
                m_out.weights[place->second].tensors.push_back(TensorId(id));
                continue;
            }
            WeightChoice weight { { TensorId(id) }, {} };
            const Layout& now = m_request.plan.layouts[id];
            if (m_request.keeps && m_request.keeps(TensorId(id))) {
                weight.stored.push_back(m_layouts.of(now));
            } else {
                addStored(weight.stored, tensor.spec.shape, Layout::replicated(tensor.spec.shape.size()), 0);
                if (const int current = m_layouts.of(now); !contains(weight.stored, current) && now.partial.empty())
                    weight.stored.push_back(current);
            }
            m_out.weights.push_back(std::move(weight));
        }
        for (const WeightChoice& weight : m_out.weights)
            m_out.sizes.push_back(static_cast<int>(weight.stored.size()));
    }

    void addStored(std::vector<int>& out, const Shape& shape, const Layout& layout, std::size_t next)
    {
        if (next == m_space.axes.size()) {
            out.push_back(m_layouts.of(layout));
            return;
        }
        const AxisRef axis { m_space.axes[next] };
        addStored(out, shape, layout, next + 1);
        for (std::size_t dim = 0; dim < shape.size(); ++dim) {
            const std::int64_t parts = partsOf(layout.dims[dim], m_request.mesh) * m_request.mesh.axis(axis.axis).size;
            if (shape[dim] % parts != 0)
                continue;
            for (std::size_t at = 0; at <= layout.dims[dim].size(); ++at) {
                Layout cut = layout;
                cut.dims[dim].insert(cut.dims[dim].begin() + static_cast<std::ptrdiff_t>(at), axis);
                addStored(out, shape, cut, next + 1);
            }
        }
    }

    LayoutNetwork::Table& table(int a, int b)
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

    /// `cost(layout of a, layout of b)` by the strategies of both nodes.
    template <class Cost>
    void addPair(const Places& a, const Places& b, Cost cost, bool isBytes = false)
    {
        std::vector<double> between(a.distinct.size() * b.distinct.size());
        bool any = false;
        for (std::size_t i = 0; i < a.distinct.size() && !isStopped(); ++i)
            for (std::size_t j = 0; j < b.distinct.size(); ++j) {
                between[i * b.distinct.size() + j] = cost(a.distinct[i], b.distinct[j]);
                any = any || between[i * b.distinct.size() + j] != 0;
            }
        if (!any)
            return;
        LayoutNetwork::Table& out = table(a.node, b.node);
        if (isBytes)
            out.bytes.resize(out.seconds.size());
        std::vector<double>& sums = isBytes ? out.bytes : out.seconds;
        const auto value = [&](std::size_t i, std::size_t j) {
            return between[static_cast<std::size_t>(a.of[i]) * b.distinct.size() + static_cast<std::size_t>(b.of[j])];
        };
        if (a.node == b.node) {
            for (std::size_t i = 0; i < a.of.size(); ++i)
                sums[i] += value(i, i);
            return;
        }
        const bool turned = a.node > b.node;
        for (std::size_t i = 0; i < a.of.size(); ++i)
            for (std::size_t j = 0; j < b.of.size(); ++j)
                sums[turned ? j * a.of.size() + i : i * b.of.size() + j] += value(i, j);
    }

    bool isStopped()
    {
        m_out.complete = m_out.complete && !(m_request.stopped && m_request.stopped());
        return !m_out.complete;
    }

    double rate(SegmentId segment, OverlapKind kind) const
    {
        return m_request.rates.of(segment).collectives[static_cast<std::size_t>(kind)];
    }

    OverlapKind kindOf(TensorId tensor, OpId takenBy) const
    {
        if (contains(m_graph.tensor(tensor).dimLabels, "experts"))
            return OverlapKind::Experts;
        return definitionOf(m_graph.op(takenBy).kind).group == OpGroup::Attention ? OverlapKind::Context : OverlapKind::Tensor;
    }

    double kernel(OpId id, const std::vector<int>& operands, int result, bool inLayer) const
    {
        const Op& op = m_graph.op(id);
        PlannedOp planned;
        planned.op = id;
        planned.result = m_layouts[result];
        for (std::size_t i = 0; i < op.operands.size(); ++i)
            planned.operands.push_back({ op.operands[i], {}, m_layouts[operands[i]], {}, false });
        KernelSettings settings = m_kernels;
        settings.fp8Products = settings.fp8Products && inLayer;
        return kernelSeconds(kernelWorkOf(m_graph, m_request.mesh, planned, settings), m_request.hardware);
    }

    void addKernels(int index)
    {
        const LayoutDecision& of = decision(index);
        std::vector<double>* out = nullptr;
        for (std::size_t m = 0; m < of.members.size(); ++m) {
            const LayoutDecision::Member& member = of.members[m];
            const bool free = definitionOf(m_graph.op(member.ops.front()).kind).view;
            for (const OpId id : member.ops) {
                const SegmentId segment = m_segment[id];
                const double times = timesOf(segment);
                if (out == nullptr)
                    out = &table(index, -1).seconds;
                for (std::size_t s = 0; s < of.count() && !free; ++s) {
                    std::vector<int> operands;
                    for (const auto& operand : member.operands)
                        operands.push_back(operand[s]);
                    (*out)[s] += times * m_request.rates.of(segment).compute
                        * kernel(id, operands, member.result[s], m_graph.segment(segment).isLayer);
                }
                addRings(of, m, id, segment, *out);
            }
        }
    }

    /// Operands that travel, but for those that come past already for the operation before.
    void addRings(const LayoutDecision& of, std::size_t m, OpId id, SegmentId segment, std::vector<double>& out)
    {
        const Op& op = m_graph.op(id);
        for (std::size_t s = 0; s < of.count(); ++s)
            for (std::size_t axis = 0; axis < m_space.axes.size(); ++axis)
                for (const int operand : of.row(m, s, axis).ring) {
                    const auto place = static_cast<std::size_t>(operand);
                    bool shared = false;
                    for (std::size_t before = m; before-- > 0 && !shared;)
                        shared = m_graph.op(of.members[before].ops.front()).operands == op.operands
                            && contains(of.row(before, s, axis).ring, operand);
                    if (!shared)
                        out[s] += timesOf(segment) * rate(segment, kindOf(op.operands[place], id))
                            * m_prices.ringSeconds(op.operands[place], of.members[m].operands[place][s], m_space.axes[axis]);
                }
    }

    /// Seconds of moving a value forward, and again for the gradients where what was kept is not what they take.
    double forwardMove(TensorId tensor, const Use& use, double times, int from, int to)
    {
        const DType dtype = m_graph.tensor(tensor).dtype;
        const double once = m_prices.seconds(tensor, dtype, from, to);
        if (once == 0 || once == kNever)
            return once;
        const OverlapKind kind = kindOf(tensor, use.op);
        const Segment& segment = m_graph.segment(use.segment);
        const bool isForward = segment.phase == Phase::Forward;
        double out = isForward ? times * rate(use.segment, kind) * once : 0;
        const bool grown = m_prices.bytes(tensor, to) > m_prices.bytes(tensor, from) && !m_framework.keepsGatheredInputs;
        if (use.again && (use.repeated || grown || !isForward))
            out += times * rate(backwardOf(use.segment), kind) * once;
        return out;
    }

    SegmentId backwardOf(SegmentId forward) const
    {
        for (std::size_t s = 0; s < m_graph.segments.size(); ++s)
            if (m_graph.segments[s].phase == Phase::Backward && m_graph.segments[s].of == forward)
                return SegmentId(s);
        return forward;
    }

    double keptBytes(TensorId tensor, const Use& use, double layers, int from, int to)
    {
        if (!use.again || use.repeated)
            return 0;
        return layers * std::min(m_prices.bytes(tensor, from), m_prices.bytes(tensor, to));
    }

    void addMoves(TensorId tensor, const Uses& uses)
    {
        if (m_graph.tensor(tensor).role == TensorRole::Input) {
            const int stored = m_layouts.of(m_request.plan.layouts[tensor]);
            // What was gathered of an input stays so for the whole step.
            const bool isForward = std::ranges::any_of(uses.taken, [&](const Use& use) { return phaseOf(use) == Phase::Forward; });
            for (Use use : uses.taken) {
                if (isForward && phaseOf(use) != Phase::Forward)
                    continue;
                use.again = use.again && !isForward;
                const Places taken = Places::make(use.decision, *use.taken);
                const Places given = Places::make(use.decision, std::vector<int>(use.taken->size(), stored));
                addPair(given, taken, [&](int from, int to) { return forwardMove(tensor, use, timesOf(use.segment), from, to); });
            }
            return;
        }
        const SegmentId segment = forwardSegment(uses);
        const std::vector<Maker> makers = makersOf(tensor, segment);
        const ValueChoice* value = uses.value > 0 ? &m_out.values[uses.value - 1] : nullptr;
        const int node = value != nullptr ? m_out.valueNode(m_space, uses.value - 1) : -1;
        if (value != nullptr && !value->taken.empty()) {
            const Places shared = Places::make(node, value->taken);
            // What is kept and moved again is so for all who take it together.
            Use all = uses.taken.front();
            for (const Use& use : uses.taken) {
                all.again = all.again || use.again;
                all.repeated = all.repeated || use.repeated;
                if (m_graph.segment(use.segment).phase == Phase::Forward)
                    all.segment = use.segment;
            }
            for (const Maker& maker : makers)
                join(tensor, all, maker, Places::make(maker.decision, *maker.made), shared);
            for (const Use& use : uses.taken) {
                const double times = timesOf(use.segment);
                addPair(shared, Places::make(use.decision, *use.taken),
                        [&](int from, int to) { return forwardMove(tensor, use, times, from, to); });
            }
        } else {
            for (const Use& use : uses.taken)
                for (const Maker& maker : makers)
                    join(tensor, use, maker, Places::make(maker.decision, *maker.made), Places::make(use.decision, *use.taken));
        }
        addGradients(tensor, uses, makers, value, node);
    }

    void join(TensorId tensor, const Use& use, const Maker& maker, const Places& made, const Places& taken)
    {
        addPair(made, taken, [&](int from, int to) { return forwardMove(tensor, use, maker.times, from, to); });
        if (use.again && !use.repeated)
            addPair(
                made, taken, [&](int from, int to) { return keptBytes(tensor, use, maker.times / m_microBatches, from, to); },
                true);
    }

    void addGradients(TensorId tensor, const Uses& uses, const std::vector<Maker>& makers, const ValueChoice* value, int node)
    {
        if (uses.addends.empty())
            return;
        const DType dtype = m_graph.tensor(tensor).dtype;
        const SegmentId segment = uses.addends.front().segment;
        const auto move = [&](double times) {
            return [this, tensor, dtype, times, segment](int from, int to) {
                const double once = m_prices.seconds(tensor, dtype, from, to);
                return once == 0 || once == kNever ? once : times * rate(segment, OverlapKind::Tensor) * once;
            };
        };
        if (value == nullptr || value->summed.empty()) {
            for (const Addend& addend : uses.addends)
                for (const Maker& maker : makers)
                    addPair(Places::make(addend.decision, *addend.made), Places::make(maker.decision, *maker.upstream),
                            move(maker.times));
            return;
        }
        const Places summed = Places::make(node, value->summed);
        for (const Addend& addend : uses.addends)
            addPair(Places::make(addend.decision, *addend.made), summed, move(timesOf(addend.segment)));
        for (const Maker& maker : makers)
            addPair(summed, Places::make(maker.decision, *maker.upstream), move(maker.times));
        const auto sums = static_cast<double>(uses.addends.size() - 1);
        OpId sum;
        for (const OpId id : m_graph.segment(segment).ops)
            if (m_graph.op(id).kind == OpKind::Add && m_space.ofOp[id] < 0) {
                const GraphTensor& result = m_graph.entry(m_graph.op(id).result);
                if (result.gradientOf == tensor || result.addendOf == tensor)
                    sum = id;
            }
        if (!sum.valid())
            return;
        std::vector<double>& out = table(node, -1).seconds;
        for (std::size_t s = 0; s < value->summed.size(); ++s)
            out[s] += sums * timesOf(segment) * m_request.rates.of(segment).compute
                * kernel(sum, { value->summed[s], value->summed[s] }, value->summed[s], m_graph.segment(segment).isLayer);
    }

    /// Bytes that a device holds for each byte of a weight.
    double heldPerByte() const
    {
        if (!m_trains)
            return 1;
        const double weight = bitsOf(m_kernels.held.weights) / 8.0;
        const int moments = m_request.workload.rule == Optimizer::Adam ? 2 : 1; // of the matrices, which are nearly all
        return (weight + m_kernels.held.momentBytes(moments) + m_kernels.held.masterBytes()
                + (m_microBatches > 1 ? bitsOf(m_kernels.held.gradients) / 8.0 : 0))
            / weight;
    }

    DType gatheredType(TensorId weight) const
    {
        return m_request.plan.fp8.gather && m_request.plan.fp8Weights.contains(weight) ? DType::F8E4M3 : m_kernels.held.gathered;
    }

    void addWeight(std::size_t index)
    {
        const WeightChoice& weight = m_out.weights[index];
        const int node = m_out.weightNode(m_space, index);
        const Places stored = Places::make(node, weight.stored);
        for (const TensorId tensor : weight.tensors) {
            const std::set<SegmentId> segments = addGathers(tensor, stored);
            if (segments.empty())
                continue;
            const bool staged = m_request.plan.pipeline && m_graph.segment(m_graph.entry(tensor).segment).isLayer;
            const double held = static_cast<double>(m_graph.entry(tensor).copies)
                / static_cast<double>(staged ? m_request.plan.pipeline->stages : 1) * m_perWeightByte
                * bitsOf(m_kernels.held.weights) / bitsOf(m_graph.tensor(tensor).dtype);
            addPair(
                stored, stored, [&](int from, int) { return held * m_prices.bytes(tensor, from); }, true);
            addUpdate(tensor, stored);
        }
    }

    std::set<SegmentId> addGathers(TensorId tensor, const Places& stored)
    {
        std::set<SegmentId> segments;
        const DType dtype = gatheredType(tensor);
        for (std::size_t s = 0; s < m_graph.segments.size(); ++s) {
            const Segment& segment = m_graph.segments[s];
            const bool backward = segment.phase == Phase::Backward;
            if (segment.phase == Phase::Update)
                continue;
            std::set<int> paid; // once a decision: what was gathered is there for the others
            for (const OpId id : segment.ops) {
                const auto at = std::ranges::find(m_graph.op(id).operands, tensor) - m_graph.op(id).operands.begin();
                if (at == std::ssize(m_graph.op(id).operands) || m_space.ofOp[id] < 0)
                    continue;
                segments.insert(SegmentId(s));
                if (!paid.insert(m_space.ofOp[id]).second)
                    continue;
                double times = timesOf(SegmentId(s));
                const bool atEnds = !segment.isLayer && m_graph.entry(tensor).block == 0;
                const bool stays = m_trains && (m_request.plan.keepsGathered || (atEnds && m_framework.onlyOnce));
                if (stays && backward)
                    continue;
                if (stays && m_request.plan.wholeGradients)
                    times /= m_microBatches;
                const double by = times * rate(SegmentId(s), OverlapKind::WeightGathers);
                addPair(stored, Places::make(m_space.ofOp[id], member(id).operands[static_cast<std::size_t>(at)]),
                        [&](int from, int to) {
                            const double once = m_prices.seconds(tensor, dtype, from, to);
                            return once == 0 || once == kNever ? once : by * once;
                        });
            }
        }
        return segments;
    }

    /// The gradient from where it is made to where the optimizer takes it, the step, and the weight back
    /// (PlanBuilder::weightUpdate).
    void addUpdate(TensorId tensor, const Places& stored)
    {
        if (!m_trains)
            return;
        const OptimizerSharding optimizer = effective(m_request.workload).optimizer;
        const DType dtype = m_kernels.held.reductions;
        OpId step;
        for (std::size_t id = 0; id < m_graph.ops.size(); ++id)
            if (m_graph.ops[id].kind == OpKind::AdamStep && m_graph.ops[id].operands[0] == tensor)
                step = OpId(id);
        if (!step.valid())
            return;
        const SegmentId updated = m_segment[step];
        const auto layers = static_cast<double>(m_graph.segment(updated).count);
        const Shape& shape = m_graph.tensor(tensor).shape;
        const auto inParts = [&](int layout) {
            Layout out = m_layouts[layout];
            cutForOptimizer(m_optimizerAxes, shape, m_request.mesh, out);
            return m_layouts.of(out);
        };
        addPair(stored, stored, [&](int from, int) {
            const int parts = inParts(from);
            double out = layers * m_request.rates.of(updated).compute
                * kernel(step, { parts, parts }, parts, m_graph.segment(updated).isLayer);
            if (parts != from)
                out += layers * rate(updated, OverlapKind::WeightGathers)
                    * m_prices.seconds(tensor, gatheredType(tensor), parts, from);
            return out;
        });
        for (std::size_t s = 0; s < m_graph.segments.size(); ++s)
            for (const OpId id : m_graph.segments[s].phase == Phase::Backward ? m_graph.segments[s].ops : std::vector<OpId> {}) {
                const GraphTensor& result = m_graph.entry(m_graph.op(id).result);
                if (m_space.ofOp[id] < 0 || (result.addendOf != tensor && result.gradientOf != tensor))
                    continue;
                const double times = m_request.plan.wholeGradients ? layers : timesOf(SegmentId(s));
                addPair(Places::make(m_space.ofOp[id], member(id).result), stored, [&](int from, int to) {
                    const int parts = inParts(to);
                    Layout reduced = m_layouts[optimizer.gradients ? parts : to];
                    for (const AxisRef& ref : m_layouts[from].partial)
                        if ((m_microBatches > 1 || (!optimizer.gradients && contains(m_optimizerAxes, ref.axis)))
                            && std::ranges::none_of(reduced.dims, [&](const auto& dim) { return contains(dim, ref); }))
                            reduced.partial.push_back(ref);
                    const int first = m_layouts.of(reduced);
                    const double each = m_prices.seconds(tensor, dtype, from, first);
                    const double once = m_prices.seconds(tensor, dtype, first, parts);
                    if (each == kNever || once == kNever)
                        return kNever;
                    return times * rate(SegmentId(s), OverlapKind::GradientScatters) * each
                        + layers * rate(updated, OverlapKind::GradientScatters) * once;
                });
            }
    }

    const NetworkRequest& m_request;
    const Graph& m_graph;
    const LayoutSpace& m_space;
    LayoutPrices& m_prices;
    LayoutNumbers& m_layouts;
    const bool m_trains;
    const FrameworkFacts& m_framework;
    const KernelSettings m_kernels;
    const double m_microBatches;
    std::vector<SegmentId> m_segment; ///< by OpId
    std::vector<OpId> m_maker; ///< by TensorId
    std::vector<int> m_optimizerAxes;
    double m_perWeightByte = 1;
    std::map<TensorId, Uses> m_uses;
    std::map<std::vector<int>, LayoutNetwork::Table> m_tables;
    LayoutNetwork m_out;
};

} // namespace

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
