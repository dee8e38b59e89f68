// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutspace.h"

#include "model/core/shards.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/plan/planner/pinning.h"
#include "model/text/glob.h"

#include <algorithm>
#include <map>
#include <optional>

namespace shardboard {

Placement dualOf(const Placement& placement) { return placement.sharded() ? placement : Placement {}; }

Layout layoutOf(const std::vector<Placement>& placements, const ActiveAxes& axes, std::size_t rank)
{
    Layout out = Layout::replicated(rank);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const Placement& placement = placements[i];
        if (placement.sharded())
            out.dims[static_cast<std::size_t>(placement.dim)].push_back(AxisRef { axes[i] });
        else if (placement.partial()) {
            out.partial.push_back(AxisRef { axes[i] });
            if (placement.reduce == PartialReduce::Max)
                out.op = ReduceOp::Max;
        }
    }
    return out;
}

namespace {

/// The operation of the forward pass whose gradient, or whose repetition, an operation of the backward pass is.
class Families {
public:
    explicit Families(const Graph& graph)
        : m_graph(graph)
    {
        for (const Segment& segment : graph.segments)
            if (segment.phase == Phase::Forward)
                for (const OpId op : segment.ops)
                    m_forward[&segment - graph.segments.data()][graph.op(op).name] = op;
    }

    /// None: a sum, what brings a gradient into its place, or one that belongs to no single operation.
    OpId forwardOf(const Segment& segment, OpId id) const
    {
        const auto& names = m_forward.find(segment.of.number())->second;
        const std::string& name = m_graph.op(id).name;
        const auto dot = name.rfind('.');
        if (dot == std::string::npos)
            return {};
        const auto found = names.find(name.substr(0, dot));
        return found == names.end() ? OpId() : found->second;
    }

private:
    const Graph& m_graph;
    std::map<std::ptrdiff_t, std::map<std::string, OpId>> m_forward;
};

bool isSettling(const Graph& graph, const Op& op)
{
    const GraphTensor& result = graph.entry(op.result);
    const bool ofGradient = result.gradientOf != kNoTensor || result.addendOf != kNoTensor;
    return ofGradient
        && (op.kind == OpKind::ReduceGrad || op.kind == OpKind::Output || op.name.find(".grad_sum") != std::string::npos);
}

class SpaceBuilder {
public:
    SpaceBuilder(const Graph& graph, const Mesh& mesh, const LayoutLimits& limits, LayoutNumbers& layouts)
        : m_graph(graph)
        , m_mesh(mesh)
        , m_limits(limits)
        , m_layouts(layouts)
        , m_pinning(graph, mesh, limits.pins)
    {
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            if (mesh.axis(axis).size > 1)
                m_space.axes.push_back(axis);
        m_space.groups = limits.groups;
        m_space.ofOp.assign(graph.ops.size(), -1);
        m_space.memberOf.assign(graph.ops.size(), -1);
    }

    Result<LayoutSpace> build()
    {
        collect();
        for (LayoutDecision& decision : m_space.decisions) {
            if (auto status = addOptions(decision); !status.ok())
                return status.error();
            if (auto status = addStrategies(decision); !status.ok())
                return status.error();
        }
        return std::move(m_space);
    }

private:
    using Member = LayoutDecision::Member;

    void collect()
    {
        const Families families(m_graph);
        std::map<std::pair<std::string, std::string>, int> known; // by segment and name
        for (const Segment& segment : m_graph.segments) {
            if (segment.phase == Phase::Update)
                continue;
            for (const OpId id : segment.ops) {
                const Op& op = m_graph.op(id);
                const bool backward = segment.phase == Phase::Backward;
                if (backward && isSettling(m_graph, op))
                    continue;
                int place = -1;
                if (backward)
                    if (const OpId forward = families.forwardOf(segment, id); forward.valid() && readsOnlyOf(forward, op))
                        place = m_space.ofOp[forward];
                if (place < 0) {
                    const auto [entry, isNew] =
                        known.try_emplace({ segment.name, op.name }, static_cast<int>(m_space.decisions.size()));
                    place = entry->second;
                    if (isNew)
                        m_space.decisions.push_back({ segment.name, op.name, {}, {}, {}, {} });
                }
                add(m_space.decisions[static_cast<std::size_t>(place)], place, id);
            }
        }
    }

    void add(LayoutDecision& decision, int place, OpId id)
    {
        const Op& op = m_graph.op(id);
        const auto same = std::ranges::find_if(
            decision.members, [&](const Member& member) { return m_graph.op(member.ops.front()).name == op.name; });
        m_space.ofOp[id] = place;
        m_space.memberOf[id] = static_cast<int>(same - decision.members.begin());
        if (same != decision.members.end()) {
            same->ops.push_back(id);
            return;
        }
        std::vector<Shape> shapes;
        for (const TensorId operand : op.operands)
            shapes.push_back(m_graph.tensor(operand).shape);
        decision.members.push_back(
            { { id }, ruleOf(op.kind).rows(shapes, m_graph.tensor(op.result).shape, PickerProfile::Shardboard), {}, {} });
    }

    TensorId original(TensorId tensor) const
    {
        const TensorId of = m_graph.entry(tensor).again;
        return of != kNoTensor ? of : tensor;
    }

    /// Whether it takes nothing but operands and result of the forward operation, and the gradient of its result.
    bool readsOnlyOf(OpId forward, const Op& op) const
    {
        const Op& made = m_graph.op(forward);
        return std::ranges::all_of(op.operands, [&](TensorId tensor) {
            const TensorId of = original(tensor);
            return of == made.result || m_graph.entry(tensor).gradientOf == made.result || isHandedOn(tensor, made.result)
                || std::ranges::find(made.operands, of) != made.operands.end();
        });
    }

    /// The gradient of a sum is that of its operands.
    bool isHandedOn(TensorId tensor, TensorId result) const
    {
        const TensorId of = m_graph.entry(tensor).gradientOf;
        return of != kNoTensor && passesOn(of, result);
    }

    /// Whether the gradient of `of` is that of `result` as well: operations between them only hand it on.
    bool passesOn(TensorId of, TensorId result) const
    {
        for (int steps = 0; steps < 8; ++steps) {
            if (of == result)
                return true;
            const Op* producer = nullptr;
            for (const Op& op : m_graph.ops)
                if (op.result == of)
                    producer = &op;
            if (producer == nullptr)
                return false;
            if (producer->kind == OpKind::Add)
                return std::ranges::any_of(producer->operands, [&](TensorId operand) { return passesOn(operand, result); });
            if (!definitionOf(producer->kind).passes)
                return false;
            of = producer->operands.front();
        }
        return false;
    }

    bool isGradient(TensorId tensor) const
    {
        const GraphTensor& entry = m_graph.entry(tensor);
        return entry.gradientOf != kNoTensor || entry.addendOf != kNoTensor;
    }

    /// Rows of the other members that go with a row of the first one; none where one has none.
    std::optional<std::vector<int>> tied(const LayoutDecision& decision, int first) const
    {
        const Member& forward = decision.members.front();
        const Op& made = m_graph.op(forward.ops.front());
        const Row& row = forward.rows[static_cast<std::size_t>(first)];
        const auto placed = [&](TensorId tensor) -> std::optional<Placement> {
            if (isGradient(tensor))
                return dualOf(row.result);
            const TensorId of = original(tensor);
            for (std::size_t i = 0; i < made.operands.size(); ++i)
                if (made.operands[i] == of)
                    return row.operands[i];
            return of == made.result ? std::optional(row.result) : std::nullopt;
        };
        std::vector<int> out { first };
        for (std::size_t m = 1; m < decision.members.size(); ++m) {
            const Member& member = decision.members[m];
            const Op& op = m_graph.op(member.ops.front());
            const GraphTensor& result = m_graph.entry(op.result);
            const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
            int best = -1;
            for (std::size_t r = 0; r < member.rows.size() && best < 0; ++r) {
                const Row& candidate = member.rows[r];
                bool fits = candidate.kept == 0 && !candidate.stay;
                for (std::size_t i = 0; fits && i < op.operands.size(); ++i)
                    if (const auto want = placed(op.operands[i]))
                        fits = candidate.operands[i] == *want;
                if (fits && result.again != kNoTensor)
                    fits = candidate.result == row.result;
                else if (fits && of != kNoTensor)
                    if (const auto at = placed(of))
                        fits = at->sharded() ? candidate.result == *at : !candidate.result.sharded();
                if (fits)
                    best = static_cast<int>(r);
            }
            if (best < 0)
                return std::nullopt;
            out.push_back(best);
        }
        return out;
    }

    bool forbidden(const LayoutDecision& decision, const std::vector<int>& rows, int axis) const
    {
        for (const auto& [pattern, over] : m_limits.forbidden) {
            if (over != axis)
                continue;
            for (std::size_t m = 0; m < decision.members.size(); ++m) {
                const Row& row = decision.members[m].rows[static_cast<std::size_t>(rows[m])];
                if (row.result.sharded()
                    && globMatch(pattern, m_graph.tensor(m_graph.op(decision.members[m].ops.front()).result).name))
                    return true;
            }
        }
        return false;
    }

    Status addOptions(LayoutDecision& decision)
    {
        const Member& first = decision.members.front();
        const OpDefinition& definition = definitionOf(m_graph.op(first.ops.front()).kind);
        std::vector<std::vector<int>> all;
        for (std::size_t r = 0; r < first.rows.size(); ++r) {
            const Row& row = first.rows[r];
            // A product of partial sums costs what one of whole values does and moves what it makes; and a value that only changes
            // its name is as well summed before.
            const bool sums = (definition.gemm != nullptr || (definition.view && row.operands.size() == 1))
                && std::ranges::any_of(row.operands, [](const Placement& p) { return p.partial(); });
            if (row.kept != 0 || row.stay || row.unsound != nullptr || sums)
                continue;
            if (auto rows = tied(decision, static_cast<int>(r)))
                all.push_back(std::move(*rows));
        }
        std::vector<std::vector<AxisPin>> pins;
        for (const Member& member : decision.members)
            pins.push_back(m_pinning.of(member.ops.front()));
        for (const int axis : m_space.axes) {
            std::vector<std::vector<int>> open;
            for (const std::vector<int>& rows : all)
                if (!forbidden(decision, rows, axis))
                    open.push_back(rows);
            // A pin that no row meets is left aside, as a plan does.
            for (std::size_t m = 0; m < decision.members.size(); ++m)
                for (const AxisPin& pin : pins[m]) {
                    if (pin.axis != axis || pin.tieOnly)
                        continue;
                    std::vector<std::vector<int>> met;
                    for (const std::vector<int>& rows : open)
                        if (pin.meets(decision.members[m].rows[static_cast<std::size_t>(rows[m])]))
                            met.push_back(rows);
                    if (!met.empty())
                        open = std::move(met);
                }
            if (open.empty())
                return inputError(decision.segment + "/" + decision.name,
                                  "it cannot be run in any way over mesh axis '" + m_mesh.axis(axis).name + "'",
                                  "forbid less, or take pins back");
            decision.options.push_back(std::move(open));
        }
        return done();
    }

    /// Conditions that only all axes together can tell, as of the picker; cuts of units.
    std::optional<Layout> placed(const LayoutDecision& decision, std::size_t member, int operand, const std::vector<int>& options,
                                 const Shape& shape) const
    {
        std::vector<Placement> placements;
        for (std::size_t axis = 0; axis < m_space.axes.size(); ++axis) {
            const int option = options[axis];
            const Row& row = decision.members[member]
                                 .rows[static_cast<std::size_t>(decision.options[axis][static_cast<std::size_t>(option)][member])];
            placements.push_back(operand < 0 ? row.result : row.operands[static_cast<std::size_t>(operand)]);
        }
        Layout layout = layoutOf(placements, m_space.axes, shape.size());
        for (std::size_t dim = 0; dim < shape.size(); ++dim)
            if (partsOf(layout.dims[dim], m_mesh) > std::max<std::int64_t>(1, shape[dim]))
                return std::nullopt;
        for (std::size_t axis = 0; axis < m_space.axes.size(); ++axis) {
            const Row& row =
                decision.members[member]
                    .rows[static_cast<std::size_t>(decision.options[axis][static_cast<std::size_t>(options[axis])][member])];
            for (const WholeUnits& unit : row.conditions)
                if (unit.operand == operand && !unit.fits(partsOf(layout.dims[static_cast<std::size_t>(unit.dim)], m_mesh)))
                    return std::nullopt;
            for (const FusedDim& fused : row.fused)
                if (fused.operand == operand) {
                    const auto dim = static_cast<std::size_t>(fused.dim);
                    layout.setCutting(
                        dim,
                        canonicalCutting(shape[dim], layout.dims[dim], m_mesh, { CutRule::GrainBalanced, fused.unitElements }));
                }
        }
        return layout;
    }

    bool areAlike(const LayoutDecision& decision, const std::vector<int>& options) const
    {
        for (std::size_t b = 1; b < options.size(); ++b)
            for (std::size_t a = 0; a < b; ++a)
                if (m_space.alike(a, b)
                    && decision.options[a][static_cast<std::size_t>(options[a])]
                        != decision.options[b][static_cast<std::size_t>(options[b])])
                    return false;
        return true;
    }

    Status addStrategies(LayoutDecision& decision)
    {
        const std::size_t axes = m_space.axes.size();
        for (Member& member : decision.members)
            member.operands.resize(m_graph.op(member.ops.front()).operands.size());
        std::vector<int> options(axes, 0);
        for (bool more = true; more;) {
            if (areAlike(decision, options))
                addStrategy(decision, options);
            std::size_t i = axes;
            while (i > 0 && ++options[i - 1] == static_cast<int>(decision.options[i - 1].size()))
                options[--i] = 0;
            more = i > 0;
        }
        if (decision.count() == 0)
            return inputError(decision.segment + "/" + decision.name, "no combination of rows over the mesh axes can be used",
                              "take a mesh with fewer devices on an axis");
        return done();
    }

    void addStrategy(LayoutDecision& decision, const std::vector<int>& options)
    {
        std::vector<std::vector<int>> numbers;
        for (std::size_t m = 0; m < decision.members.size(); ++m) {
            const Op& op = m_graph.op(decision.members[m].ops.front());
            numbers.emplace_back();
            for (int operand = -1; operand < static_cast<int>(op.operands.size()); ++operand) {
                const TensorId tensor = operand < 0 ? op.result : op.operands[static_cast<std::size_t>(operand)];
                const auto layout = placed(decision, m, operand, options, m_graph.tensor(tensor).shape);
                if (!layout)
                    return;
                numbers.back().push_back(m_layouts.of(*layout));
            }
        }
        for (std::size_t m = 0; m < decision.members.size(); ++m) {
            Member& member = decision.members[m];
            member.result.push_back(numbers[m].front());
            for (std::size_t i = 0; i < member.operands.size(); ++i)
                member.operands[i].push_back(numbers[m][i + 1]);
        }
        // The gradient of the result, with the same parts.
        Layout upstream = m_layouts[decision.members.front().result.back()];
        upstream.partial.clear();
        upstream.op = ReduceOp::Sum;
        decision.upstream.push_back(m_layouts.of(upstream));
        decision.strategies.push_back(options);
    }

    const Graph& m_graph;
    const Mesh& m_mesh;
    const LayoutLimits& m_limits;
    LayoutNumbers& m_layouts;
    Pinning m_pinning;
    LayoutSpace m_space;
};

} // namespace

std::vector<int> axisGroups(const Mesh& mesh)
{
    std::vector<int> out(static_cast<std::size_t>(mesh.axisCount()));
    std::vector<std::pair<int, std::int64_t>> groups; // number, and devices
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        out[static_cast<std::size_t>(axis)] = axis;
        if (mesh.axis(axis).size > 1)
            groups.emplace_back(axis, mesh.axis(axis).size);
    }
    while (groups.size() > kMostAxisGroups) {
        std::size_t best = 0;
        for (std::size_t i = 0; i + 1 < groups.size(); ++i)
            if (groups[i].second * groups[i + 1].second < groups[best].second * groups[best + 1].second)
                best = i;
        std::ranges::replace(out, groups[best + 1].first, groups[best].first);
        groups[best].second *= groups[best + 1].second;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    return out;
}

Result<LayoutSpace> layoutSpace(const Graph& graph, const Mesh& mesh, const LayoutLimits& limits, LayoutNumbers& layouts)
{
    const auto active = std::ranges::count_if(mesh.axes(), [](const MeshAxis& axis) { return axis.size > 1; });
    if (active > static_cast<std::ptrdiff_t>(kMostActiveAxes))
        return inputError("mesh", "it has " + std::to_string(active) + " axes of several devices, too many to look at all layouts",
                          "take at most " + std::to_string(kMostActiveAxes));
    return SpaceBuilder(graph, mesh, limits, layouts).build();
}

} // namespace shardboard
