// SPDX-License-Identifier: Apache-2.0
#include "model/core/strategy.h"

#include "model/core/checked.h"
#include "model/text/contains.h"
#include "model/text/names.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 11> kKinds { "replicate",      "rowwise", "columnwise", "axiswise", "head-aware-columnwise",
                                               "stacked-qkv",    "gate-up", "segmented",  "spec",     "tensor-parallel",
                                               "expert-parallel" };
constexpr std::int64_t kLargestSize = std::int64_t { 1 } << 40;

/// The dim a strategy cuts, counted from the front. Errors: outside the rank.
Result<int> dimOf(const Strategy& strategy, std::size_t rank, const std::string& where)
{
    const int ranks = static_cast<int>(rank);
    const int dim = parametersOf(strategy.kind).dim ? strategy.dim : defaultDim(strategy.kind);
    if (dim < -ranks || dim >= ranks)
        return inputError(where,
                          strategyKindName(strategy.kind) + " cuts dim " + std::to_string(dim) + ", but the tensor has "
                              + std::to_string(rank) + (rank == 1 ? " dim" : " dims"),
                          "choose a strategy that cuts a dim of the tensor");
    return dim < 0 ? dim + ranks : dim;
}

/// Heads times head dim of a strategy, below kLargestSize^2. Errors: not positive, or too large to count.
Result<std::int64_t> headElements(const std::string& kind, std::int64_t heads, std::int64_t headDim, const std::string& where)
{
    const auto product = checkedMultiply(heads, headDim);
    if (heads < 1 || headDim < 1 || !product || *product > kLargestSize)
        return inputError(where, kind + " has " + std::to_string(heads) + " heads of " + std::to_string(headDim) + " elements",
                          "give the number of heads and the head dim as positive numbers");
    return *product;
}

using Segments = std::vector<CutSegment>;

Result<Segments> headAware(const Strategy& strategy, std::int64_t size, const std::string& where)
{
    const auto elements = headElements("head-aware-columnwise", strategy.numHeads, strategy.headDim, where);
    if (!elements.ok())
        return elements.error();
    CutSegment segment { 0, elements.value(), strategy.headDim, 1, 1 };
    if (size * 2 == segment.size) { // FP4: two columns in one
        segment.denominator = 2;
    } else if (size * 4 == segment.size * 3) { // MXFP6: four columns in three
        segment.numerator = 3;
        segment.denominator = 4;
    } else if (size != segment.size) {
        return inputError(where,
                          "dim 1 has " + std::to_string(size) + " columns, but " + std::to_string(strategy.numHeads) + " heads of "
                              + std::to_string(strategy.headDim) + " are " + std::to_string(segment.size)
                              + " (or half of that packed as FP4, three quarters as MXFP6)",
                          "give the heads that the columns are made of (MAX itself does not check this)");
    }
    return Segments { segment };
}

Result<Segments> stackedQkv(const Strategy& strategy, std::int64_t size, const std::string& where)
{
    const auto elements = headElements("stacked-qkv", strategy.numHeads, strategy.headDim, where);
    if (!elements.ok())
        return elements.error();
    if (size % 3 != 0)
        return inputError(where, "dim 0 of size " + std::to_string(size) + " is not three equal parts Q, K and V",
                          "use segmented where K and V have fewer heads");
    const std::int64_t third = size / 3;
    if (third != elements.value())
        return inputError(where,
                          "a third of dim 0 is " + std::to_string(third) + ", but " + std::to_string(strategy.numHeads)
                              + " heads of " + std::to_string(strategy.headDim) + " are " + std::to_string(elements.value()),
                          "give the heads of Q; where K and V have fewer heads, use segmented");
    Segments segments;
    for (int i = 0; i < 3; ++i)
        segments.push_back({ i * third, third, strategy.headDim, 1, 1 });
    return segments;
}

Result<Segments> gateUp(std::int64_t size, int dim, const std::string& where)
{
    if (size % 2 != 0)
        return inputError(
            where, "dim " + std::to_string(dim) + " of size " + std::to_string(size) + " is odd and so not the halves gate and up",
            "choose the dim along which gate and up are joined");
    return Segments { { 0, size / 2, 1, 1, 1 }, { size / 2, size / 2, 1, 1, 1 } };
}

Result<Segments> segmented(const Strategy& strategy, std::int64_t size, int dim, const std::string& where)
{
    Segments segments;
    std::int64_t sum = 0;
    for (const StrategySegment& part : strategy.segments) {
        if (part.size < 0 || part.size > kLargestSize || segments.size() >= 4096)
            return inputError(where, "a segment of " + std::to_string(part.size) + " elements cannot be used", "give its size");
        if (part.numHeads != 0)
            if (const auto heads = headElements("a segment", part.numHeads, part.headDim, where); !heads.ok())
                return heads.error();
        segments.push_back({ sum, part.elements(), part.numHeads > 0 ? part.headDim : 1, 1, 1 });
        sum += part.elements();
    }
    const bool packed = sum == size * 2 && sum != size;
    if (segments.empty() || (sum != size && !packed))
        return inputError(where,
                          "the segments add up to " + std::to_string(sum) + ", but dim " + std::to_string(dim) + " has "
                              + std::to_string(size) + " elements",
                          "give segments that make up the whole dim (or twice of it, where two elements are packed in one)");
    for (CutSegment& segment : segments)
        segment.denominator = packed ? 2 : 1;
    return segments;
}

/// The segments of a fused or head-aware kind; none for a kind that cuts the dim as a whole.
Result<Segments> segmentsOf(const Strategy& strategy, std::int64_t size, int dim, const std::string& where)
{
    const bool whole = strategy.kind == StrategyKind::Rowwise || strategy.kind == StrategyKind::Columnwise
        || strategy.kind == StrategyKind::Axiswise;
    if (whole)
        return Segments {};
    if (size > kLargestSize)
        return inputError(where, "dim " + std::to_string(dim) + " is too large to cut in segments", "use a smaller size");
    switch (strategy.kind) {
    case StrategyKind::HeadAwareColumnwise:
        return headAware(strategy, size, where);
    case StrategyKind::StackedQkv:
        return stackedQkv(strategy, size, where);
    case StrategyKind::GateUp:
        return gateUp(size, dim, where);
    case StrategyKind::Segmented:
        return segmented(strategy, size, dim, where);
    default:
        return Segments {};
    }
}

/// Strict: every segment must divide in whole units.
Status checkStrict(const Segments& segments, std::int64_t parts, const std::string& where)
{
    for (const CutSegment& segment : segments)
        if (segment.size % (segment.unit * parts) != 0)
            return inputError(where,
                              std::to_string(segment.size / segment.unit) + (segment.unit > 1 ? " heads do" : " does")
                                  + " not divide by " + std::to_string(parts),
                              "cut over another mesh axis, or choose an uneven cut rule such as balanced");
    return done();
}

} // namespace

std::string strategyKindName(StrategyKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<StrategyKind> strategyKindFromName(std::string_view name)
{
    std::string wanted(name);
    std::ranges::replace(wanted, '_', '-');
    return namedIn<StrategyKind>(kKinds, wanted);
}

StrategyParameters parametersOf(StrategyKind kind)
{
    StrategyParameters has;
    has.axes = kind != StrategyKind::Replicate && kind != StrategyKind::Spec;
    has.dim = kind == StrategyKind::Axiswise || kind == StrategyKind::GateUp || kind == StrategyKind::Segmented;
    has.heads = kind == StrategyKind::HeadAwareColumnwise || kind == StrategyKind::StackedQkv;
    has.segments = kind == StrategyKind::Segmented;
    has.spec = kind == StrategyKind::Spec;
    return has;
}

int defaultDim(StrategyKind kind)
{
    if (kind == StrategyKind::Columnwise || kind == StrategyKind::HeadAwareColumnwise)
        return 1;
    return kind == StrategyKind::GateUp ? 2 : 0;
}

std::string StrategySegment::text() const
{
    return numHeads > 0 ? "heads:" + std::to_string(numHeads) + ":" + std::to_string(headDim) : "even:" + std::to_string(size);
}

Result<StrategySegment> parseSegment(std::string_view text, const std::string& where)
{
    const std::string copy(text);
    const std::vector<std::string_view> words = split(copy, ':');
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto number = parseInteger(words[i]);
        numbers.push_back(number && *number >= 0 && *number <= kLargestSize ? *number : -1);
    }
    const bool valid = !contains(numbers, -1);
    if (valid && words.front() == "even" && numbers.size() == 1)
        return StrategySegment { numbers[0], 0, 0 };
    if (valid && words.front() == "heads" && numbers.size() == 2 && numbers[0] > 0 && numbers[1] > 0)
        return StrategySegment { 0, numbers[0], numbers[1] };
    return inputError(where, "'" + copy + "' is not a segment", "write even:SIZE or heads:NUMBER:HEAD_DIM");
}

std::string Strategy::text() const
{
    if (kind == StrategyKind::Replicate)
        return "replicate";
    if (kind == StrategyKind::Spec)
        return spec;
    const StrategyParameters has = parametersOf(kind);
    std::string what = "dim " + std::to_string(has.dim ? dim : defaultDim(kind));
    if (has.heads)
        what += ", " + std::to_string(numHeads) + " heads x " + std::to_string(headDim);
    for (const StrategySegment& segment : segments)
        what += ", " + segment.text();
    const bool module = kind == StrategyKind::TensorParallel || kind == StrategyKind::ExpertParallel;
    return strategyKindName(kind) + (module ? "" : " (" + what + ")") + " over " + joined(axes);
}

Result<Layout> layoutOf(const Strategy& strategy, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    if (strategy.kind == StrategyKind::Replicate)
        return Layout::replicated(rank);
    if (strategy.kind == StrategyKind::Spec)
        return parseSpec(strategy.spec, mesh, rank, where);
    if (strategy.kind == StrategyKind::TensorParallel || strategy.kind == StrategyKind::ExpertParallel)
        return inputError(
            where, strategyKindName(strategy.kind) + " is a strategy of modules (attention, MLP, MoE), not of a single weight",
            "see shardctl module, or use rowwise (dim 0) or columnwise (dim 1) for the weight");
    const auto dim = dimOf(strategy, rank, where);
    if (!dim.ok())
        return dim.error();
    if (strategy.axes.empty())
        return inputError(where, strategyKindName(strategy.kind) + " names no mesh axis to cut over", "name one of " + mesh.text());
    std::vector<int> axes;
    for (const std::string& name : strategy.axes) {
        axes.push_back(mesh.find(name));
        if (axes.back() < 0)
            return inputError(where, "the mesh has no axis '" + name + "'",
                              "its axes are " + (mesh.axes().empty() ? std::string("none") : mesh.text()));
    }
    const Layout layout = Layout::cut(rank, dim.value(), axes);
    if (auto status = verifyLayout(layout, mesh, rank, where); !status.ok())
        return status.error();
    return layout;
}

Result<ShardMap> shardsOf(const Strategy& strategy, const Shape& shape, const Mesh& mesh, CutRule rule, const std::string& where,
                          const std::vector<std::int64_t>& grains)
{
    const auto layout = layoutOf(strategy, mesh, shape.size(), where);
    if (!layout.ok())
        return layout.error();
    Segments segments;
    int dim = 0;
    if (strategy.kind != StrategyKind::Replicate && strategy.kind != StrategyKind::Spec) {
        dim = dimOf(strategy, shape.size(), where).value();
        auto found = segmentsOf(strategy, shape[static_cast<std::size_t>(dim)], dim, where);
        if (!found.ok())
            return found.error();
        segments = std::move(found).value();
    }
    if (segments.empty())
        return shardsOf(shape, layout.value(), mesh, rule, where, grains);
    const auto fused = static_cast<std::size_t>(dim);
    if (rule == CutRule::GrainBalanced && fused < grains.size())
        for (CutSegment& segment : segments)
            segment.unit = segment.unit == 1 ? std::max<std::int64_t>(1, grains[fused]) : segment.unit;
    std::vector<DimCut> cuts;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto& axes = layout.value().dims[i];
        cuts.emplace_back(axes, mesh, rule, static_cast<int>(i) == dim ? segments : Segments { { 0, shape[i], 1, 1, 1 } });
    }
    if (rule == CutRule::Strict)
        if (auto status = checkStrict(segments, cuts[static_cast<std::size_t>(dim)].count(), where + " dim " + std::to_string(dim));
            !status.ok())
            return status.error();
    return ShardMap(mesh, shape, std::move(cuts));
}

} // namespace shardboard
