// SPDX-License-Identifier: Apache-2.0
// Heads that are cut in two, where the plan has to move them for that reason. A cut inside of heads alone is none: weights that
// are gathered for their use, as fully sharded ones are, have their heads whole then.
#include "model/design/finder/cutalignment.h"
#include "model/design/finder/headmoves.h"
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"

#include <map>
#include <string_view>
#include <utility>

namespace shardboard {

namespace {

constexpr const char* kHeadsSplit = "heads-split";
constexpr const char* kRepair = "cut by a number of devices that divides the heads, or keep the projection whole";

/// The first dim on which a weight is cut inside of heads, or -1.
int splitDim(const WeightLayout& weight)
{
    for (std::size_t dim = 0; dim < weight.spec.grains.size() && !weight.misfit; ++dim)
        if (cutsThrough(weight.shards.cuts()[dim], weight.spec.grains[dim]))
            return static_cast<int>(dim);
    return -1;
}

/// Finds the weight of a bias and the bias of a weight in the same layers.
class Projections {
public:
    explicit Projections(const FinderInput& input)
    {
        for (const WeightLayout& weight : input.evaluation.weights)
            m_byName.emplace(std::pair(weight.firstLayer, std::string_view(weight.spec.name)), &weight);
    }

    const WeightLayout* biasOf(const WeightLayout& weight) const { return other(weight, ".weight", ".bias"); }
    const WeightLayout* weightOf(const WeightLayout& bias) const { return other(bias, ".bias", ".weight"); }

private:
    const WeightLayout* other(const WeightLayout& weight, std::string_view end, std::string_view otherEnd) const
    {
        std::string name = weight.spec.name;
        if (!name.ends_with(end))
            return nullptr;
        name.replace(name.size() - end.size(), end.size(), otherEnd);
        const auto found = m_byName.find({ weight.firstLayer, name });
        return found == m_byName.end() ? nullptr : found->second;
    }

    std::map<std::pair<std::int64_t, std::string_view>, const WeightLayout*> m_byName;
};

/// What a bias moves counts for its weight, where that is cut inside of heads too: they are mended together.
void joinBiases(const FinderInput& input, const Projections& projections, std::map<TensorId, HeadMoves>& moved)
{
    for (const WeightLayout& bias : input.evaluation.weights) {
        const auto found = moved.find(bias.tensor);
        const WeightLayout* weight = found == moved.end() ? nullptr : projections.weightOf(bias);
        if (weight == nullptr || splitDim(*weight) < 0)
            continue;
        const HeadMoves moves = std::move(found->second);
        moved.erase(found);
        HeadMoves& all = moved[weight->tensor];
        all.bytes += moves.bytes;
        all.axes.insert(moves.axes.begin(), moves.axes.end());
        if (all.first.empty())
            all.first = moves.first;
    }
}

/// The axes on a dim without those over which heads are moved and that do not divide them.
std::vector<AxisRef> suitingAxes(const FinderInput& input, const WeightLayout& weight, std::size_t dim, const HeadMoves& moves)
{
    std::vector<AxisRef> out;
    std::int64_t parts = 1; // of the axes that stay in use
    for (const AxisRef& ref : weight.layout.dims[dim]) {
        const std::int64_t size = sizeOf(ref, input.mesh());
        const bool divides = dividesInGrains(weight, dim, parts * size);
        if (!divides && moves.axes.contains(ref.axis))
            continue;
        parts *= divides ? size : 1;
        out.push_back(ref);
    }
    return out;
}

/// Ways to lay a projection out with whole heads, smallest change first: over axes that suit, between heads, whole.
std::vector<Proposal> wholeHeads(const FinderInput& input, const WeightLayout& weight, std::size_t dim, const HeadMoves& moves)
{
    std::vector<Proposal> out;
    const auto add = [&](std::optional<Proposal> proposal) {
        if (proposal)
            out.push_back(std::move(*proposal));
    };
    Layout layout = weight.layout;
    layout.dims[dim] = suitingAxes(input, weight, dim, moves);
    if (!layout.dims[dim].empty())
        add(propose(input, weight, layout));
    const std::int64_t heads = weight.spec.shape[dim] / weight.spec.grains[dim];
    if (weight.entry >= 0 && heads >= partsOf(weight.layout.dims[dim], input.mesh()))
        add(propose(input, weight, weight.strategy, CutRule::GrainBalanced));
    add(propose(input, weight, layout));
    return out;
}

/// The bias of a projection goes with it.
std::optional<Repair> together(const FinderInput& input, const WeightLayout& weight, const WeightLayout& bias,
                               const Proposal& proposal)
{
    Strategy strategy = proposal.strategy;
    if (strategy.kind == StrategyKind::Spec) {
        const auto layout = parseSpec(strategy.spec, input.mesh(), weight.spec.shape.size());
        if (!layout.ok())
            return std::nullopt;
        Layout first = Layout::replicated(1);
        first.dims.front() = layout.value().dims.front();
        strategy.spec = specText(first, input.mesh());
    }
    const auto ofBias = propose(input, bias, strategy, proposal.cut);
    if (!ofBias)
        return std::nullopt;
    Repair repair = giveStrategy(input, weight, proposal);
    const bool alone = weight.entry >= 0 && weight.entry == bias.entry && input.decidedBy(weight.entry).size() == 2;
    if (alone && strategy == proposal.strategy) {
        const StrategyEntry& entry = input.design.strategies[static_cast<std::size_t>(weight.entry)];
        repair.changes = { ReplaceStrategy { weight.entry, { entry.match, proposal.strategy, proposal.cut } } };
        return repair;
    }
    const Repair more = giveStrategy(input, bias, *ofBias);
    repair.changes.insert(repair.changes.end(), more.changes.begin(), more.changes.end());
    return repair;
}

/// The smallest change with which a device does not hold more than it moves now.
std::optional<Repair> repairOf(const FinderInput& input, const Projections& projections, const WeightLayout& weight,
                               std::size_t dim, const HeadMoves& moves)
{
    for (const Proposal& proposal : wholeHeads(input, weight, dim, moves)) {
        const std::int64_t more = proposal.bytesPerDevice - weight.bytesPerDevice;
        if (more > 0 && input.cost(weight, more) > moves.bytes)
            continue;
        const WeightLayout* bias = dim == 0 ? projections.biasOf(weight) : nullptr;
        if (bias == nullptr || splitDim(*bias) < 0)
            return giveStrategy(input, weight, proposal);
        if (auto repair = together(input, weight, *bias, proposal))
            return repair;
    }
    return std::nullopt;
}

} // namespace

void findHeadsSplit(const FinderInput& input, FindingList& out)
{
    if (!input.design.model.hasGraph())
        return;
    HeadMovesOfPlan moved = headMoves(input);
    if (moved.ofWeights.empty() && moved.ofOperations.empty())
        return;
    const Projections projections(input);
    joinBiases(input, projections, moved.ofWeights);
    for (const WeightLayout& weight : input.evaluation.weights) {
        const auto found = moved.ofWeights.find(weight.tensor);
        const int dim = splitDim(weight);
        if (found == moved.ofWeights.end() || dim < 0)
            continue;
        const HeadMoves moves = std::move(found->second);
        moved.ofWeights.erase(found);
        if (moves.bytes == 0)
            continue;
        const auto index = static_cast<std::size_t>(dim);
        const DimCut& cut = weight.shards.cuts()[index];
        const std::int64_t grain = weight.spec.grains[index];
        const bool told = !out.full(kHeadsSplit);
        out.add({ kHeadsSplit, Severity::Warning, weight.spec.name, moves.bytes,
                  "dim " + std::to_string(dim) + " holds " + countText(weight.spec.shape[index] / grain) + " heads of "
                      + countText(grain) + " and is cut over " + countText(cut.count()) + " devices of "
                      + axesText(cut.axes(), input.mesh())
                      + ", so heads are split between devices and must be moved to be whole, first at " + moves.first,
                  kRepair },
                told ? repairOf(input, projections, weight, index, moves) : std::nullopt);
    }
    // Of a projection that is not cut so itself: pins may cut what it makes.
    const Graph& graph = input.evaluation.graph;
    for (const auto& [tensor, moves] : moved.ofWeights)
        if (moves.bytes > 0)
            out.add({ kHeadsSplit, Severity::Warning, graph.tensor(tensor).name, moves.bytes,
                      "what goes through it is cut inside heads, which must be moved to be whole, first at " + moves.first,
                      kRepair });
    for (const auto& [op, moves] : moved.ofOperations)
        if (moves.bytes > 0)
            out.add({ kHeadsSplit, Severity::Warning, graph.op(op).name, moves.bytes,
                      "its operand is cut inside heads, which must be moved to be whole, first at " + moves.first, kRepair });
}

} // namespace shardboard
