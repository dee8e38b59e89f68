// SPDX-License-Identifier: Apache-2.0
#include "model/picker/greedy.h"

#include "model/core/shards.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/picker/pickaction.h"

#include <algorithm>

namespace shardboard {

namespace {

PickerKind kindOf(const PickerOptions& options)
{
    if (options.picker != PlanPicker::Greedy)
        return options.picker == PlanPicker::None ? PickerKind::NoReshard : PickerKind::PartialsOnly;
    return hasRegions(options.profile) ? PickerKind::AutoReshard : PickerKind::GreedyReshard;
}

PickPolicy policyOf(const PickerOptions& options)
{
    PickPolicy policy { options.allowPartialToSharded, {}, options.allowedTransitions, options.onReshard };
    if (options.budgetBytesPerDevice > 0)
        policy.budget = static_cast<double>(options.budgetBytesPerDevice);
    return policy;
}

Refusal byPolicy(std::string_view reason) { return { .reason = std::string(reason), .kind = Refusal::Kind::Policy }; }

struct Priced {
    const Row* row = nullptr;
    double cost = 0;
    double seconds = 0;
    std::string_view refusal {}; ///< empty when allowed
};

/// What is weighed on one mesh axis: feasible rows of finite cost, cheapest first, earlier rows first among equals.
struct AxisChoice {
    int axis = 0;
    std::vector<Priced> rows {};
    std::vector<std::size_t> allowed {}; ///< indices into rows
};

class GreedyPick {
public:
    explicit GreedyPick(const GreedyRequest& request)
        : m_operands(request.operands)
        , m_resultShape(request.result)
        , m_mesh(request.mesh)
        , m_options(request.options)
        , m_pins(request.pins)
        , m_links(request.options.profile == PickerProfile::Shardboard ? request.links : nullptr)
    {
        std::vector<Shape> shapes;
        for (const PickOperand& operand : m_operands) {
            shapes.push_back(operand.shape);
            m_bytes.push_back(static_cast<double>(shardboard::bytesOf(elementCount(operand.shape).value_or(0), operand.dtype))
                              * operand.density);
        }
        m_menu.rows = ruleOf(request.kind).rows(shapes, m_resultShape, m_options.profile);
        m_task = { PickerProfile::Shardboard, &m_menu, m_operands, m_bytes, &m_mesh, {}, true };
        m_now = placementsNow(m_task);
    }

    Result<Pick> pick(const std::string& where)
    {
        const bool ours = m_options.profile == PickerProfile::Shardboard;
        if (auto status = ours ? weighAll(where) : askUpstream(where); !status.ok())
            return status.error();
        if (!findSound())
            return inputError(where, "no combination of rows over the mesh axes can be used", "change the layout of its weight");
        return result();
    }

    /// After pick().
    std::vector<JudgedRow> judge()
    {
        const std::vector<std::size_t> taken = m_picked;
        std::vector<JudgedRow> out;
        for (std::size_t c = 0; c < m_choices.size(); ++c) {
            const int axis = m_choices[c].axis;
            std::vector<JudgedRow> impossible;
            for (const Row& row : m_menu.rows) {
                const auto& weighed = m_choices[c].rows;
                if (std::any_of(weighed.begin(), weighed.end(), [&](const Priced& priced) { return priced.row == &row; }))
                    continue;
                Refusal why; // a generation of MAX may count otherwise
                if (feasible(useOf(row, axis), &why))
                    why = { .reason = "profile " + profileName(m_options.profile) + " cannot use it here",
                            .kind = Refusal::Kind::Profile };
                impossible.push_back({ axis, row, kInfiniteCost, 0, false, std::move(why) });
            }
            for (std::size_t i = 0; i < m_choices[c].rows.size(); ++i) {
                const Priced& priced = m_choices[c].rows[i];
                const bool isPicked = &priced == &picked(c);
                out.push_back({ axis, *priced.row, priced.cost, priced.seconds, isPicked, std::nullopt });
                if (!priced.refusal.empty())
                    out.back().refusal = byPolicy(priced.refusal);
                if (isPicked)
                    continue;
                // Beside the rows that the other axes take: as if it were allowed and picked.
                const auto allowed = m_choices[c].allowed;
                m_choices[c].allowed = { i };
                m_picked[c] = 0;
                build();
                if (auto against = unsound(); against && (against->kind != Refusal::Kind::Policy || !out.back().refusal)) {
                    if (against->kind != Refusal::Kind::Policy)
                        against->kind = Refusal::Kind::Together;
                    out.back().refusal = std::move(against);
                }
                m_choices[c].allowed = allowed;
                m_picked = taken;
            }
            out.insert(out.end(), impossible.begin(), impossible.end());
        }
        build();
        return out;
    }

private:
    Status weighAll(const std::string& where)
    {
        for (int axis = 0; axis < m_mesh.axisCount(); ++axis) {
            if (m_mesh.axis(axis).size == 1)
                continue; // every placement is the same thing there
            const auto pin = std::find_if(m_pins.begin(), m_pins.end(), [&](const AxisPin& p) { return p.axis == axis; });
            m_choices.push_back(weigh(axis, pin == m_pins.end() ? nullptr : &*pin));
            if (pin != m_pins.end() && !pin->tieOnly && m_choices.back().allowed.empty()) {
                m_unmet.push_back(axis);
                m_choices.back() = weigh(axis, nullptr);
            }
            if (m_choices.back().allowed.empty() && m_options.picker != PlanPicker::Greedy)
                return inputError(where,
                                  "no row over mesh axis '" + m_mesh.axis(axis).name + "' is one that picker "
                                      + planPickerName(m_options.picker) + " takes",
                                  "reshard the operands first, or take another picker");
            if (m_choices.back().allowed.empty())
                return inputError(where, "no way to run it over mesh axis '" + m_mesh.axis(axis).name + "'",
                                  "change the layout of its weight, or allow partial values to be reduced to shards");
        }
        return done();
    }

    RowUse useOf(const Row& row, int axis) const
    {
        return { m_task, m_now, static_cast<std::size_t>(&row - m_menu.rows.data()), static_cast<std::size_t>(axis) };
    }

    /// What the picker of a generation of MAX takes comes first; the others are there in case its rows cannot be combined.
    Status askUpstream(const std::string& where)
    {
        std::vector<double> bytes;
        for (const PickOperand& operand : m_operands)
            bytes.push_back(countedBytes(m_options.profile, operand, m_mesh));
        const auto picked = pickRows(
            kindOf(m_options), { m_options.profile, &m_menu, m_operands, bytes, &m_mesh, policyOf(m_options), true }, &m_trace);
        if (const auto* refusal = std::get_if<Refusal>(&picked))
            return inputError(where, refusal->reason, refusal->fix);
        for (int axis = 0; axis < m_mesh.axisCount(); ++axis) {
            if (m_mesh.axis(axis).size == 1)
                continue; // every placement is the same thing there
            const auto& verdicts = m_trace.axes[static_cast<std::size_t>(axis)];
            const auto indexOf = [&](const Priced& priced) { return static_cast<std::size_t>(priced.row - m_menu.rows.data()); };
            AxisChoice choice { axis };
            for (std::size_t row = 0; row < verdicts.size(); ++row)
                if (verdicts[row].status != RowVerdict::Status::Infeasible && verdicts[row].cost != kInfiniteCost)
                    choice.rows.push_back({ &m_menu.rows[row], verdicts[row].cost, 0, verdicts[row].why });
            std::stable_sort(choice.rows.begin(), choice.rows.end(), [&](const Priced& a, const Priced& b) {
                return a.cost != b.cost || isEarly(m_options.profile) ? a.cost < b.cost
                                                                      : verdicts[indexOf(a)].moves < verdicts[indexOf(b)].moves;
            });
            const int row = std::get<PickAction>(picked).rows[static_cast<std::size_t>(axis)];
            const auto first = std::find_if(choice.rows.begin(), choice.rows.end(),
                                            [&](const Priced& priced) { return static_cast<int>(indexOf(priced)) == row; });
            if (first == choice.rows.end()) // MAX takes the first action where none has a finite price
                return inputError(where,
                                  "no collective can do what " + profileName(m_options.profile) + " picks over mesh axis '"
                                      + m_mesh.axis(axis).name + "'",
                                  "change the layout of its weight");
            first->refusal = {};
            choice.allowed.push_back(static_cast<std::size_t>(first - choice.rows.begin()));
            for (std::size_t i = 0; i < choice.rows.size(); ++i)
                if (choice.rows[i].refusal.empty() && i != choice.allowed.front())
                    choice.allowed.push_back(i);
            m_choices.push_back(std::move(choice));
        }
        return done();
    }

    /// Why a picker other than greedy does not take a row, or nothing.
    const char* refusedByPicker(const Placement& now, const Placement& needed) const
    {
        if (m_options.picker == PlanPicker::Greedy || now == needed)
            return nullptr;
        if (m_options.picker == PlanPicker::None)
            return "an operand would move, which picker none does not do";
        return now.partial() && needed.replicated() ? nullptr
                                                    : "picker partials-only does nothing but reduce partial values to whole ones";
    }

    /// Whether the other pickers move nothing more than they may: mesh axes in another order, or other parts, move data too.
    bool withinPicker() const
    {
        if (m_options.picker == PlanPicker::Greedy || m_options.profile == PickerProfile::G0)
            return true;
        for (std::size_t i = 0; i < m_targets.size(); ++i) {
            const Layout& now = m_operands[i].layout;
            for (std::size_t dim = 0; dim < now.dims.size(); ++dim)
                if (m_targets[i].dims[dim] != now.dims[dim] || m_targets[i].cuttingOf(dim) != now.cuttingOf(dim))
                    return false;
        }
        return true;
    }

    /// G0: what a device holds of all operands together, as if every cut were even.
    bool withinBudget() const
    {
        if (m_options.profile != PickerProfile::G0 || m_options.budgetBytesPerDevice <= 0 || m_options.picker != PlanPicker::Greedy)
            return true;
        double bytes = 0;
        for (std::size_t i = 0; i < m_targets.size(); ++i) {
            double part = m_bytes[i];
            for (const auto& dim : m_targets[i].dims)
                part /= static_cast<double>(partsOf(dim, m_mesh));
            bytes += part;
        }
        return bytes <= static_cast<double>(m_options.budgetBytesPerDevice);
    }

    void addPrice(Priced& priced, std::size_t operand, const Placement& from, const Placement& to, int axis) const
    {
        if (from == to)
            return;
        priced.cost += transitionPrice(m_task.prices(), from, to, m_bytes[operand], m_mesh.axis(axis).size);
        if (m_links == nullptr || from.replicated())
            return;
        // What a device holds when this mesh axis alone does not cut it.
        double bytes = m_bytes[operand];
        for (const auto& dim : m_operands[operand].layout.dims)
            for (const AxisRef& ref : dim)
                if (ref.axis != axis)
                    bytes /= static_cast<double>(sizeOf(ref, m_mesh));
        // A move to another dim is priced as a gather, as MAX does: it takes less by itself, but what follows mostly wants the
        // value back, and this picker does not look ahead.
        const CollectiveKind kind = from.sharded() ? CollectiveKind::AllGather
            : to.sharded()                         ? CollectiveKind::ReduceScatter
                                                   : CollectiveKind::AllReduce;
        priced.seconds += (*m_links)(kind, axis, bytes);
    }

    /// What decides between two rows.
    double rank(const Priced& priced) const { return m_links != nullptr ? priced.seconds : priced.cost; }

    AxisChoice weigh(int axis, const AxisPin* pin) const
    {
        AxisChoice choice { axis };
        for (const Row& row : m_menu.rows)
            if (const RowUse use = useOf(row, axis); feasible(use))
                choice.rows.push_back(price(use, axis, pin));
        std::stable_sort(choice.rows.begin(), choice.rows.end(), [&](const Priced& a, const Priced& b) {
            if (rank(a) != rank(b) || pin == nullptr || !pin->tieOnly)
                return rank(a) < rank(b);
            return pin->meets(*a.row) && !pin->meets(*b.row);
        });
        for (std::size_t i = 0; i < choice.rows.size(); ++i)
            if (choice.rows[i].refusal.empty())
                choice.allowed.push_back(i);
        return choice;
    }

    Priced price(const RowUse& use, int axis, const AxisPin* pin) const
    {
        const Row& row = use.wanted();
        Priced priced { &row };
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            addPrice(priced, i, use.from(i), row.operands[i], axis);
            if (use.from(i).partial() && row.operands[i].sharded() && !m_options.allowPartialToSharded
                && (pin == nullptr || pin->tieOnly))
                priced.refusal = kNoScatter;
        }
        for (const int operand : row.ring) // each device gets the parts of all others
            addPrice(priced, static_cast<std::size_t>(operand), row.operands[static_cast<std::size_t>(operand)], {}, axis);
        for (std::size_t i = 0; i < m_operands.size() && m_options.picker != PlanPicker::Greedy; ++i)
            if (const char* why = refusedByPicker(use.from(i), row.operands[i]))
                priced.refusal = why;
        if (pin != nullptr && !pin->tieOnly && !pin->meets(row))
            priced.refusal = pin->why;
        return priced;
    }

    /// The cheapest row of every axis, unless they cannot be combined; then the next cheapest combinations in turn.
    bool findSound()
    {
        m_picked.assign(m_choices.size(), 0);
        build();
        if (sound())
            return true;
        constexpr std::size_t kMostCombinations = 20000;
        std::vector<std::pair<double, std::vector<std::size_t>>> combinations { { 0.0, {} } };
        for (const AxisChoice& choice : m_choices) {
            std::vector<std::pair<double, std::vector<std::size_t>>> longer;
            for (const auto& [cost, picked] : combinations)
                for (std::size_t i = 0; i < choice.allowed.size() && longer.size() < kMostCombinations; ++i) {
                    auto next = picked;
                    next.push_back(i);
                    longer.emplace_back(cost + rank(choice.rows[choice.allowed[i]]), std::move(next));
                }
            combinations = std::move(longer);
        }
        std::stable_sort(combinations.begin(), combinations.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (auto& [cost, picked] : combinations) {
            m_picked = picked;
            build();
            if (sound())
                return true;
        }
        return false;
    }

    const Priced& picked(std::size_t choice) const { return m_choices[choice].rows[m_choices[choice].allowed[m_picked[choice]]]; }

    /// One order of the mesh axes for all operands of the operation, so that their parts line up: axes that cut more
    /// operands at once are major; else the order of the largest operand stays, so that the smaller ones move.
    std::vector<std::size_t> choiceOrder() const
    {
        std::vector<std::size_t> bySize(m_operands.size());
        for (std::size_t i = 0; i < bySize.size(); ++i)
            bySize[i] = i;
        std::stable_sort(bySize.begin(), bySize.end(), [&](std::size_t a, std::size_t b) { return m_bytes[a] > m_bytes[b]; });
        std::vector<std::size_t> order;
        const auto add = [&](int axis) {
            for (std::size_t c = 0; c < m_choices.size(); ++c)
                if (m_choices[c].axis == axis && std::find(order.begin(), order.end(), c) == order.end())
                    order.push_back(c);
        };
        for (const std::size_t i : bySize)
            for (std::size_t dim = 0; dim < m_operands[i].layout.dims.size(); ++dim)
                for (const AxisRef& ref : m_operands[i].layout.dims[dim])
                    if (staysOn(i, static_cast<int>(dim), ref.axis))
                        add(ref.axis);
        for (std::size_t c = 0; c < m_choices.size(); ++c)
            add(m_choices[c].axis);
        const auto cutOperands = [&](std::size_t c) {
            return std::count_if(picked(c).row->operands.begin(), picked(c).row->operands.end(),
                                 [](const Placement& p) { return p.kind == Placement::Kind::Sharded; });
        };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cutOperands(a) > cutOperands(b); });
        return order;
    }

    bool staysOn(std::size_t operand, int dim, int axis) const
    {
        for (std::size_t c = 0; c < m_choices.size(); ++c)
            if (m_choices[c].axis == axis)
                return picked(c).row->operands[operand] == Placement { Placement::Kind::Sharded, dim };
        return false;
    }

    static void place(Layout& layout, const Placement& placement, int axis)
    {
        if (placement.kind == Placement::Kind::Sharded)
            layout.dims[static_cast<std::size_t>(placement.dim)].push_back(AxisRef { axis });
        else if (placement.kind == Placement::Kind::Partial) {
            layout.partial.push_back(AxisRef { axis });
            if (placement.reduce == PartialReduce::Max)
                layout.op = ReduceOp::Max;
        }
    }

    void build()
    {
        m_targets.clear();
        for (const PickOperand& operand : m_operands)
            m_targets.push_back(Layout::replicated(operand.shape.size()));
        m_result = Layout::replicated(m_resultShape.size());
        for (const std::size_t c : choiceOrder()) {
            for (std::size_t i = 0; i < m_targets.size(); ++i)
                place(m_targets[i], picked(c).row->operands[i], m_choices[c].axis);
            place(m_result, picked(c).row->result, m_choices[c].axis);
        }
        const auto byAxis = [](const AxisRef& a, const AxisRef& b) { return a.axis < b.axis; };
        for (Layout& target : m_targets)
            std::sort(target.partial.begin(), target.partial.end(), byAxis);
        std::sort(m_result.partial.begin(), m_result.partial.end(), byAxis);
        for (const std::vector<DimOf>& group : coupledDims())
            cutAlike(group);
        cutInUnits();
    }

    /// A dim of an operand, or of the result (operand -1).
    struct DimOf {
        int operand;
        std::size_t dim;
    };
    Layout& target(const DimOf& of) { return of.operand < 0 ? m_result : m_targets[static_cast<std::size_t>(of.operand)]; }

    /// Dims that rows cut together: their parts must be the same. Where an operation splits or merges units (heads), the
    /// dims that hold them are left out, since they differ in size.
    std::vector<std::vector<DimOf>> coupledDims() const
    {
        std::vector<std::vector<DimOf>> groups;
        for (std::size_t c = 0; c < m_choices.size(); ++c) {
            const Row& row = *picked(c).row;
            if (!row.fused.empty())
                continue;
            std::vector<DimOf> group;
            const auto add = [&](int operand, const Placement& placement) {
                if (placement.kind == Placement::Kind::Sharded)
                    group.push_back({ operand, static_cast<std::size_t>(placement.dim) });
            };
            for (std::size_t i = 0; i < row.operands.size(); ++i)
                add(static_cast<int>(i), row.operands[i]);
            add(-1, row.result);
            for (auto other = groups.begin(); other != groups.end();) {
                const bool meets = std::any_of(other->begin(), other->end(), [&](const DimOf& a) {
                    return std::any_of(group.begin(), group.end(),
                                       [&](const DimOf& b) { return a.operand == b.operand && a.dim == b.dim; });
                });
                if (meets)
                    group.insert(group.end(), other->begin(), other->end());
                other = meets ? groups.erase(other) : std::next(other);
            }
            groups.push_back(std::move(group));
        }
        return groups;
    }

    /// Gives all dims of a group the cutting of the largest operand that stays as it is.
    void cutAlike(const std::vector<DimOf>& group)
    {
        const DimOf* keeps = nullptr;
        for (const DimOf& of : group) {
            if (target(of).dims[of.dim] != target(group.front()).dims[group.front().dim])
                return; // different axes: only even parts nest
            if (of.operand < 0 || m_operands[static_cast<std::size_t>(of.operand)].layout.dims[of.dim] != target(of).dims[of.dim])
                continue;
            if (keeps == nullptr || bytesOf(of) > bytesOf(*keeps))
                keeps = &of;
        }
        if (keeps == nullptr)
            return;
        const Cutting cutting = m_operands[static_cast<std::size_t>(keeps->operand)].layout.cuttingOf(keeps->dim);
        if (cutting != Cutting {})
            for (const DimOf& of : group)
                target(of).setCutting(of.dim, cutting);
    }
    double bytesOf(const DimOf& of) const { return m_bytes[static_cast<std::size_t>(of.operand)]; }

    /// Units that do not divide: the dim that is made of them is cut in whole units.
    void cutInUnits()
    {
        for (std::size_t c = 0; c < m_choices.size(); ++c)
            for (const FusedDim& fused : picked(c).row->fused) {
                const auto dim = static_cast<std::size_t>(fused.dim);
                const Shape& shape = fused.operand < 0 ? m_resultShape : m_operands[static_cast<std::size_t>(fused.operand)].shape;
                Layout& layout = fused.operand < 0 ? m_result : m_targets[static_cast<std::size_t>(fused.operand)];
                layout.setCutting(
                    dim, canonicalCutting(shape[dim], layout.dims[dim], m_mesh, { CutRule::GrainBalanced, fused.unitElements }));
            }
    }

    /// Conditions that only the whole combination can tell: whole heads over all axes together, room for all parts of a
    /// dim that is newly cut, and parts of coupled operands that line up.
    bool sound() const { return !unsound(); }
    std::optional<Refusal> unsound() const
    {
        for (std::size_t i = 0; i < m_targets.size(); ++i)
            for (std::size_t dim = 0; dim < m_targets[i].dims.size(); ++dim)
                if (m_targets[i].dims[dim] != m_operands[i].layout.dims[dim]
                    && partsOf(m_targets[i].dims[dim], m_mesh) > std::max<std::int64_t>(1, m_operands[i].shape[dim]))
                    return Refusal { .kind = Refusal::Kind::TooSmall,
                                     .operand = static_cast<int>(i),
                                     .dim = static_cast<int>(dim),
                                     .have = m_operands[i].shape[dim],
                                     .parts = partsOf(m_targets[i].dims[dim], m_mesh) };
        for (std::size_t c = 0; c < m_choices.size(); ++c)
            for (const WholeUnits& unit : picked(c).row->conditions) {
                const auto operand = static_cast<std::size_t>(unit.operand);
                const auto& axes = m_targets[operand].dims[static_cast<std::size_t>(unit.dim)];
                // Axes that cut this operand alone may leave the units uneven; the coupled ones come first.
                if (const std::int64_t parts = partsOf(axes, m_mesh); !unit.fits(parts))
                    return Refusal { .kind = Refusal::Kind::Units,
                                     .operand = unit.operand,
                                     .dim = unit.dim,
                                     .have = unit.units,
                                     .parts = parts,
                                     .units = unit.what };
            }
        if (!withinPicker())
            return byPolicy("picker " + planPickerName(m_options.picker) + " would have to move an operand");
        if (!withinBudget())
            return byPolicy("a device would hold more of the operands than the budget");
        return std::nullopt;
    }

    Result<Pick> result() const
    {
        Pick pick;
        for (std::size_t c = 0; c < m_choices.size(); ++c)
            for (const int operand : picked(c).row->ring)
                pick.rings.push_back({ operand, m_choices[c].axis });
        pick.operands = m_targets;
        pick.result = m_result;
        pick.unmet = m_unmet;
        for (std::size_t c = 0; c < m_choices.size(); ++c)
            pick.cost += picked(c).cost;
        return pick;
    }

    const std::vector<PickOperand>& m_operands;
    const Shape& m_resultShape;
    const Mesh& m_mesh;
    const PickerOptions& m_options;
    const std::vector<AxisPin>& m_pins;
    const LinkPrice* m_links;
    std::vector<double> m_bytes;
    Menu m_menu;
    PickTask m_task; ///< with our own prices, whatever the profile
    std::vector<Placement> m_now;
    PickTrace m_trace; ///< of a generation of MAX
    std::vector<AxisChoice> m_choices;
    std::vector<int> m_unmet;
    std::vector<std::size_t> m_picked; ///< per choice, an index into its allowed rows
    std::vector<Layout> m_targets;
    Layout m_result;
};

} // namespace

PickOperand pickOperand(const GraphTensor& tensor, const Layout& arriving, const Mesh& mesh)
{
    return { tensor.spec.shape, tensor.spec.dtype, placementsOf(arriving, mesh), arriving, tensor.density };
}

Result<Pick> pickGreedy(const GreedyRequest& request) { return GreedyPick(request).pick(request.where); }

Result<std::vector<JudgedRow>> judgeRows(const GreedyRequest& request)
{
    GreedyPick greedy(request);
    if (auto pick = greedy.pick(request.where); !pick.ok())
        return pick.error();
    return greedy.judge();
}

} // namespace shardboard
