// SPDX-License-Identifier: Apache-2.0
#include "model/design/explain/causes.h"

#include "model/design/explain/rankedrows.h"
#include "model/ops/opdefinition.h"
#include "model/plan/planner/pickattempts.h"
#include "model/rules/logicalrules.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kDeepest = 64; ///< operations that hand a value on
constexpr const char* kAxis = "\x01"; ///< stands for the mesh axis until chains of several are one

void replaceAll(std::string& text, const std::string& what, const std::string& with)
{
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

/// `preset fsdp keeps dim 0 (batch) of q on it`, of which `it` is the mesh axis.
std::string onAxis(std::string why)
{
    if (why.ends_with(" on it"))
        return why.replace(why.size() - 2, 2, kAxis);
    return why + " over " + kAxis;
}

bool sameLink(const CauseLink& a, const CauseLink& b) { return a.kind == b.kind && a.text == b.text && a.detail == b.detail; }

const AxisExplanation* rowsOn(const std::vector<AxisExplanation>& rows, int axis)
{
    const auto found = std::ranges::find_if(rows, [&](const AxisExplanation& it) { return it.axis == axis; });
    return found == rows.end() ? nullptr : &*found;
}

const RankedRow* pickedRow(const AxisExplanation& axis)
{
    const auto picked =
        std::ranges::find_if(axis.rows, [](const RankedRow& row) { return row.verdict == RankedRow::Verdict::Picked; });
    return picked == axis.rows.end() ? nullptr : &*picked;
}

} // namespace

CauseFinder::CauseFinder(const Design& design, const Evaluation& evaluation, const Pinning& pinning)
    : m_design(design)
    , m_evaluation(evaluation)
    , m_pinning(pinning)
    , m_origin(originOfEntries(design))
    , m_producers(evaluation.graph.tensors.size())
{
    for (std::size_t i = 0; i < evaluation.graph.ops.size(); ++i)
        m_producers[evaluation.graph.ops[i].result] = OpId(i);
}

int CauseFinder::weightOf(TensorId tensor) const
{
    for (std::size_t i = 0; tensor != kNoTensor && i < m_evaluation.weights.size(); ++i)
        if (m_evaluation.weights[i].tensor == tensor)
            return static_cast<int>(i);
    return -1;
}

std::string CauseFinder::dimText(TensorId tensor, int dim) const
{
    const TensorSpec& spec = m_evaluation.graph.tensor(tensor);
    const auto index = static_cast<std::size_t>(dim);
    return "dim " + std::to_string(dim) + (index < spec.dimLabels.size() ? " (" + spec.dimLabels[index] + ")" : std::string());
}

std::string CauseFinder::entryText(const WeightLayout& weight) const
{
    if (weight.misfit)
        return weight.misfit->error.text() + "; so every device has all of it";
    if (weight.entry >= 0) {
        const StrategyEntry& entry = m_design.strategies[static_cast<std::size_t>(weight.entry)];
        const bool ofPreset = contains(m_origin.entries, entry);
        return "strategy entry " + std::to_string(weight.entry + 1) + " '" + entry.match + "': " + entry.strategy.text()
            + (ofPreset ? " (preset " + m_origin.preset + ")" : std::string());
    }
    if (weight.resolution)
        return "logical axis rules" + (m_design.rules.source.empty() ? std::string() : " (" + m_design.rules.source + ")") + ": "
            + joined(explainResolution(weight.spec.logicalNames, m_design.rules.rules, *weight.resolution, m_design.mesh), "; ");
    return "no strategy names it, so every device has all of it";
}

CauseLink CauseFinder::ofWeight(int weight) const
{
    const WeightLayout& it = m_evaluation.weights[static_cast<std::size_t>(weight)];
    CauseLink link;
    link.tensor = it.tensor;
    link.weight = weight;
    link.detail = entryText(it);
    std::vector<std::string> parts;
    for (std::size_t dim = 0; dim < it.layout.dims.size(); ++dim) {
        if (it.layout.dims[dim].empty())
            continue;
        std::vector<std::string> names;
        for (const AxisRef& ref : it.layout.dims[dim])
            names.push_back(m_design.mesh.axis(ref.axis).name);
        const std::string label = dim < it.spec.dimLabels.size() ? " (" + it.spec.dimLabels[dim] + ")" : std::string();
        parts.push_back("dim " + std::to_string(dim) + label + " over " + joined(names, " and "));
    }
    link.text = it.spec.name + (parts.empty() ? " is whole on every device" : " is cut on " + joined(parts, " and on "));
    return link;
}

CauseLink CauseFinder::layoutLink(int weight, const Placement& placement) const
{
    const WeightLayout& it = m_evaluation.weights[static_cast<std::size_t>(weight)];
    CauseLink link;
    link.tensor = it.tensor;
    link.weight = weight;
    link.detail = entryText(it);
    link.text = it.spec.name
        + (placement.sharded()       ? " is cut on " + dimText(it.tensor, placement.dim) + " over "
               : placement.partial() ? " is stored as partial values over "
                                     : " is whole over ")
        + kAxis;
    return link;
}

const PlannedOp* CauseFinder::producer(TensorId tensor, PlannedSegmentId segment, PlannedSegmentId& madeIn) const
{
    const auto& segments = m_evaluation.plan.segments;
    const PlannedSegment& here = segments[segment];
    const Segment& source = m_evaluation.graph.segment(here.segment);
    // Backward segments run from the last layer to the first.
    const bool later = here.phase == Phase::Backward ? here.firstLayer + here.count < source.firstLayer + source.count
                                                     : here.firstLayer > source.firstLayer;
    const TensorId written = later && tensor == source.carryIn && source.carryOut != kNoTensor ? source.carryOut : tensor;
    const OpId id = m_producers[written];
    if (!id.valid())
        return nullptr;
    const auto in = [&](std::size_t s) -> const PlannedOp* {
        for (const PlannedOp& op : segments[s].ops)
            if (op.op == id)
                return &op;
        return nullptr;
    };
    for (std::size_t s = segment + 1; s-- > 0;)
        if (const PlannedOp* found = in(s)) {
            madeIn = PlannedSegmentId(s);
            return found;
        }
    return nullptr;
}

void CauseFinder::trace(Chain& chain, const Traced& at)
{
    const auto& [tensor, segment, axis, placement, depth] = at;
    if (depth > kDeepest)
        return;
    if (const int weight = weightOf(tensor); weight >= 0) {
        chain.push_back(layoutLink(weight, placement));
        return;
    }
    PlannedSegmentId madeIn;
    const PlannedOp* made = producer(tensor, segment, madeIn);
    if (made == nullptr)
        return;
    if (placementOn(made->result, axis) != placement) {
        // An operation in between had it moved, and it stayed there.
        for (PlannedSegmentId s = madeIn; s <= segment; ++s)
            for (const PlannedOp& op : m_evaluation.plan.segment(s).ops)
                for (const OperandUse& use : op.operands)
                    if (use.tensor == tensor && use.replaces && placementOn(use.layout, axis) == placement) {
                        CauseLink link;
                        link.kind = CauseLink::Kind::Earlier;
                        link.op = op.op;
                        link.tensor = tensor;
                        link.text = m_evaluation.graph.op(op.op).name + " had " + m_evaluation.graph.tensor(tensor).name
                            + " moved over " + kAxis + " before, and it stayed there";
                        chain.push_back(std::move(link));
                        return;
                    }
        return;
    }
    traceProduct(chain, { tensor, madeIn, axis, placement, depth }, *made);
}

void CauseFinder::traceProduct(Chain& chain, const Traced& at, const PlannedOp& made)
{
    const auto& [tensor, segment, axis, placement, depth] = at;
    const Graph& graph = m_evaluation.graph;
    const Op& op = graph.op(made.op);
    CauseLink link;
    link.op = made.op;
    link.tensor = tensor;
    if (!isPicked(op.kind)) {
        const TensorId weight = isStep(op.kind) ? op.operands[0] : graph.entry(op.result).gradientOf;
        if (const int index = weightOf(weight); index >= 0)
            chain.push_back(layoutLink(index, placementOn(m_evaluation.weights[static_cast<std::size_t>(index)].layout, axis)));
        return;
    }
    const std::vector<AxisPin> pins = operationPins(graph, m_pinning, made.op, m_evaluation.plan.layouts,
                                                    [&](std::size_t i) -> const Layout& { return made.operands[i].before; });
    const auto pin = std::ranges::find_if(pins, [&](const AxisPin& p) { return p.axis == axis && !p.tieOnly; });
    const bool met = pin != pins.end() && !contains(made.unmet, axis);
    if (met && !placement.partial()) {
        link.kind = CauseLink::Kind::Pin;
        link.pin = pin->pin;
        link.text = onAxis(pin->why);
        if (link.pin >= 0)
            link.detail = "pin " + std::to_string(link.pin + 1) + ": " + pinText(m_design.pins[static_cast<std::size_t>(link.pin)]);
        chain.push_back(std::move(link));
        return;
    }
    // The operand that it comes from: a weight before activations, one that arrived so before one that was moved.
    int from = -1;
    int best = -1;
    for (std::size_t i = 0; i < made.operands.size(); ++i) {
        const OperandUse& use = made.operands[i];
        const Placement used = placementOn(use.layout, axis);
        if (used.replicated())
            continue;
        const bool arrived = placementOn(use.before, axis) == used;
        const bool weight = graph.tensor(use.tensor).role == TensorRole::Weight;
        const int rank = (arrived ? 4 : 0) + (weight ? 2 : 0) + (used.partial() ? 1 : 0);
        if (rank > best) {
            best = rank;
            from = static_cast<int>(i);
        }
    }
    if (placement.replicated()) {
        // Whole because the operation took it whole: what it had before is the cause.
        for (const OperandUse& use : made.operands) {
            const Placement before = placementOn(use.before, axis);
            if (before.replicated())
                continue;
            trace(chain, { use.tensor, segment, axis, before, depth + 1 });
            const auto& ops = m_evaluation.plan.segment(segment).ops;
            const auto rows = rankedRows(m_design, m_evaluation, m_pinning, segment, PlannedOpId(&made - ops.data()));
            const AxisExplanation* on = rowsOn(rows, axis);
            const RankedRow* row = on == nullptr ? nullptr : pickedRow(*on);
            link.kind = CauseLink::Kind::Pick;
            link.text = op.name + " takes " + graph.tensor(use.tensor).name + " whole over " + kAxis;
            if (row != nullptr)
                link.detail = row->row + ": " + on->why;
            chain.push_back(std::move(link));
            return;
        }
    }
    if (from < 0) {
        if (!made.operands.empty())
            trace(chain,
                  { made.operands.front().tensor, segment, axis, placementOn(made.operands.front().before, axis), depth + 1 });
        if (!placement.replicated()) { // made in parts of whole operands
            link.kind = CauseLink::Kind::Product;
            link.text = op.name + " makes it in parts over " + std::string(kAxis);
            chain.push_back(std::move(link));
        }
        return;
    }
    const OperandUse& use = made.operands[static_cast<std::size_t>(from)];
    const Placement used = placementOn(use.layout, axis);
    const bool arrived = placementOn(use.before, axis) == used;
    const bool isWeight = graph.tensor(use.tensor).role == TensorRole::Weight;
    trace(chain, { use.tensor, segment, axis, placementOn(use.before, axis), depth + 1 });
    if (!arrived) {
        CauseLink moved = link;
        moved.kind = CauseLink::Kind::Pick;
        moved.text = op.name + " takes " + graph.tensor(use.tensor).name
            + (used.sharded() ? " cut on " + dimText(use.tensor, used.dim) : std::string(" partial")) + " over " + kAxis;
        const auto& ops = m_evaluation.plan.segment(segment).ops;
        const auto rows = rankedRows(m_design, m_evaluation, m_pinning, segment, PlannedOpId(&made - ops.data()));
        if (const AxisExplanation* on = rowsOn(rows, axis))
            moved.detail = "picked: " + on->why;
        chain.push_back(std::move(moved));
    }
    if (placement.partial() && used.sharded()) {
        link.kind = CauseLink::Kind::Product;
        const std::string dim =
            isWeight && arrived ? "that dim" : dimText(use.tensor, used.dim) + " of " + graph.tensor(use.tensor).name;
        link.text = definitionOf(op.kind).contracts
            ? op.name + " sums over " + dim + ": its result is partial over " + kAxis
            : op.name + " makes only its part of the sum on each device: its result is partial over " + kAxis;
        chain.push_back(std::move(link));
    } else if (placement.sharded() && isWeight) {
        link.kind = CauseLink::Kind::Product;
        link.text =
            op.name + " makes " + dimText(tensor, placement.dim) + " of " + graph.tensor(tensor).name + " in parts over " + kAxis;
        chain.push_back(std::move(link));
    }
}

CauseLink CauseFinder::needLink(const Collective& collective, const AxisExplanation* axis) const
{
    const Graph& graph = m_evaluation.graph;
    const Op& op = graph.op(collective.op);
    const std::string& tensor = graph.tensor(collective.tensor).name;
    CauseLink link;
    link.op = collective.op;
    link.tensor = collective.tensor;
    if (!isPicked(op.kind)) {
        const TensorId weight = isStep(op.kind) ? op.operands[0] : graph.entry(op.result).gradientOf;
        link.kind = CauseLink::Kind::Update;
        link.weight = weightOf(weight);
        link.text = "gradients are summed into the layout of their weight, for the optimizer";
        if (link.weight >= 0) {
            const CauseLink of = ofWeight(link.weight);
            link.detail = of.text + ": " + of.detail;
        }
        return link;
    }
    const RankedRow* row = axis == nullptr ? nullptr : pickedRow(*axis);
    if (row == nullptr) {
        link.kind = CauseLink::Kind::Need;
        link.text = collective.reason;
        return link;
    }
    if (axis->by == AxisExplanation::By::Pin) {
        link.kind = CauseLink::Kind::Pin;
        link.pin = axis->pin;
        link.text = onAxis(axis->why);
        link.detail = op.name + " takes the row " + row->row;
        if (link.pin >= 0)
            link.detail +=
                "; pin " + std::to_string(link.pin + 1) + ": " + pinText(m_design.pins[static_cast<std::size_t>(link.pin)]);
        return link;
    }
    const auto operand = static_cast<std::size_t>(collective.operand);
    const bool partial = placementOn(collective.step.before, axis->axis).partial();
    const bool takesPartial = std::ranges::any_of(axis->rows, [&](const RankedRow& it) {
        return it.verdict != RankedRow::Verdict::Impossible && it.operands[operand].starts_with("P");
    });
    if (partial && !takesPartial) {
        link.kind = CauseLink::Kind::Need;
        link.text = op.name + " needs whole values of " + tensor + ": no row that can be taken has it partial over " + kAxis;
        link.detail = row->row + ": " + axis->why;
        return link;
    }
    link.kind = CauseLink::Kind::Pick;
    link.text = op.name + " takes the row " + row->row + " over " + kAxis;
    link.detail = axis->why;
    return link;
}

CauseFinder::Chain CauseFinder::merged(std::vector<Chain> chains, const std::vector<std::string>& axes)
{
    Chain out;
    std::vector<bool> taken(chains.size(), false);
    for (std::size_t i = 0; i < chains.size(); ++i) {
        if (taken[i])
            continue;
        std::vector<std::string> names;
        for (std::size_t j = i; j < chains.size(); ++j)
            if (!taken[j] && std::equal(chains[i].begin(), chains[i].end(), chains[j].begin(), chains[j].end(), sameLink)) {
                taken[j] = true;
                names.push_back(axes[j]);
            }
        for (CauseLink& link : chains[i]) {
            replaceAll(link.text, kAxis, joined(names, " and "));
            replaceAll(link.detail, kAxis, joined(names, " and "));
            if (std::ranges::none_of(out, [&](const CauseLink& known) { return sameLink(known, link); }))
                out.push_back(std::move(link));
        }
    }
    return out;
}

std::vector<CauseLink> CauseFinder::ofCollective(const Collective& collective, const std::vector<AxisExplanation>& rows)
{
    std::vector<Chain> chains;
    std::vector<std::string> names;
    const auto& segment = m_evaluation.plan.segment(collective.plannedSegment);
    const auto planned = std::ranges::find_if(segment.ops, [&](const PlannedOp& op) { return op.op == collective.op; });
    for (const int axis : collective.axes) {
        Chain chain;
        const Layout& before = planned == segment.ops.end()
            ? collective.step.before
            : planned->operands[static_cast<std::size_t>(collective.operand)].before;
        trace(chain, { collective.tensor, collective.plannedSegment, axis, placementOn(before, axis) });
        chain.push_back(needLink(collective, rowsOn(rows, axis)));
        chains.push_back(std::move(chain));
        names.push_back(m_evaluation.plan.mesh.axis(axis).name);
    }
    return merged(std::move(chains), names);
}

std::vector<CauseLink> CauseFinder::ofTensor(TensorId tensor, PlannedSegmentId segment, const Layout& layout)
{
    std::vector<Chain> chains;
    std::vector<std::string> names;
    const Mesh mesh = pickedMesh(m_evaluation.plan.mesh, m_design.pipeline);
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        if (mesh.axis(axis).size == 1)
            continue;
        const Placement placement = placementOn(layout, axis);
        Chain chain;
        trace(chain, { tensor, segment, axis, placement });
        CauseLink end;
        end.kind = CauseLink::Kind::Product;
        end.tensor = tensor;
        end.text = m_evaluation.graph.tensor(tensor).name
            + (placement.sharded()       ? " is cut on " + dimText(tensor, placement.dim) + " over "
                   : placement.partial() ? " is partial over "
                                         : " is whole over ")
            + kAxis;
        chain.push_back(std::move(end));
        chains.push_back(std::move(chain));
        names.push_back(mesh.axis(axis).name);
    }
    return merged(std::move(chains), names);
}

} // namespace shardboard
