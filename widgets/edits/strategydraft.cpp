// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/strategydraft.h"

#include "model/core/checked.h"
#include "model/design/repair.h"
#include "model/notation/notation.h"
#include "model/text/glob.h"

#include "widgets/look/format.h"

#include <algorithm>

namespace shardboard {

namespace {

bool isLinear(const TensorSpec& spec)
{
    return spec.role == TensorRole::Weight && spec.dimLabels.size() == 2 && spec.dimLabels[0].rfind("out", 0) == 0;
}

const WeightLayout& at(const Document& document, int weight)
{
    return document.evaluation()->weights[static_cast<std::size_t>(weight)];
}

/// The mesh axes of the first dim that is cut, else the last mesh axis of more than one device.
std::vector<std::string> likelyAxes(const WeightLayout& weight, const Mesh& mesh)
{
    std::vector<std::string> out;
    for (const auto& refs : weight.layout.dims) {
        for (const AxisRef& ref : refs)
            if (ref.whole())
                out.push_back(mesh.axis(ref.axis).name);
        if (!out.empty())
            return out;
    }
    for (int axis = mesh.axisCount(); axis-- > 0 && out.empty();)
        if (mesh.axis(axis).size > 1)
            out.push_back(mesh.axis(axis).name);
    return out;
}

int likelyDim(StrategyKind kind, const WeightLayout& weight)
{
    const int rank = static_cast<int>(weight.spec.shape.size());
    if (kind == StrategyKind::GateUp)
        return rank > 2 || rank == 0 ? defaultDim(kind) : 0;
    for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim)
        if (!weight.layout.dims[dim].empty())
            return static_cast<int>(dim);
    return 0;
}

/// Heads that `size` elements are made of: by the model's numbers where they fit (packed columns included), else by the
/// grain.
void fillHeads(Strategy& strategy, const ModelSpec& model, const TensorSpec& spec, std::size_t dim, std::int64_t parts)
{
    const std::int64_t size = dim < spec.shape.size() ? spec.shape[dim] / parts : 0;
    const std::int64_t grain = dim < spec.grains.size() ? spec.grains[dim] : 1;
    strategy.headDim = grain > 1 ? grain : model.headDim;
    strategy.numHeads = model.heads;
    if (strategy.headDim <= 0 || size <= 0)
        return;
    for (const std::int64_t heads : { model.heads, model.kvHeads }) {
        const auto elements = checkedMultiply(heads, strategy.headDim);
        if (heads > 0 && elements && (*elements == size || *elements == size * 2 || *elements * 3 == size * 4)) {
            strategy.numHeads = heads;
            return;
        }
    }
    strategy.numHeads = size / strategy.headDim;
}

/// Q, K and V by the model's heads, gate and up by its width, else two halves.
std::vector<StrategySegment> likelySegments(const ModelSpec& model, std::int64_t size)
{
    const std::int64_t q = model.heads * model.headDim;
    const std::int64_t kv = model.kvHeads * model.headDim;
    if (q > 0 && q + 2 * kv == size)
        return { { 0, model.heads, model.headDim }, { 0, model.kvHeads, model.headDim }, { 0, model.kvHeads, model.headDim } };
    if (size % 2 == 0 && size > 0)
        return { { size / 2, 0, 0 }, { size / 2, 0, 0 } };
    return { { std::max<std::int64_t>(size, 0), 0, 0 } };
}

/// Whether the design's entries leave the last word on a tensor to an entry of this pattern.
bool decides(const Design& design, const std::string& match, const std::string& name)
{
    const auto& entries = design.strategies;
    const auto last = std::find_if(entries.rbegin(), entries.rend(), [&](const auto& e) { return globMatch(e.match, name); });
    return last != entries.rend() && last->match == match;
}

/// Puts the entry where it decides for all these names: in its place if that does, else at the end.
Design withDecidingEntry(const Design& design, const StrategyEntry& entry, const std::vector<std::string>& names)
{
    Design out = withStrategy(design, entry);
    const bool all = std::all_of(names.begin(), names.end(), [&](const auto& name) { return decides(out, entry.match, name); });
    if (all)
        return out;
    auto& entries = out.strategies;
    entries.erase(std::remove_if(entries.begin(), entries.end(), [&](const auto& e) { return e.match == entry.match; }),
                  entries.end());
    entries.push_back(entry);
    return out;
}

/// Names of the tensors that a row stands for.
std::vector<std::string> namesOf(const WeightLayout& weight)
{
    if (weight.firstLayer < 0)
        return { weight.spec.name };
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < weight.copies; ++i)
        out.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    return out;
}

struct Target {
    std::vector<std::string> patterns;
    std::vector<std::string> names; ///< tensors on which the patterns must have the last word
    std::vector<std::string> dropped; ///< patterns whose entries go
};

Target targetOf(const Document& document, int index, DraftScope scope, std::int64_t layer)
{
    const WeightLayout& weight = at(document, index);
    Target out;
    if (weight.firstLayer < 0)
        return { { weight.spec.name }, { weight.spec.name }, {} };
    if (scope == DraftScope::OneLayer) {
        const std::string name = concreteName(weight.spec.name, layer);
        return { { name }, { name }, {} };
    }
    const auto& weights = document.evaluation()->weights;
    const auto rows = std::count_if(weights.begin(), weights.end(), [&](const auto& w) { return w.spec.name == weight.spec.name; });
    if (scope == DraftScope::Row && rows > 1) {
        const auto& entries = document.design().strategies;
        const bool byName = weight.entry >= 0 && entries[static_cast<std::size_t>(weight.entry)].match == weight.spec.name;
        out.names = namesOf(weight);
        out.patterns = byName ? std::vector<std::string> { weight.spec.name } : out.names;
        return out;
    }
    out.patterns = { weight.spec.name };
    for (const WeightLayout& row : weights)
        if (row.spec.name == weight.spec.name)
            for (std::string& name : namesOf(row))
                out.names.push_back(std::move(name));
    out.dropped = out.names;
    return out;
}

} // namespace

Strategy StrategyDraft::stored() const
{
    const StrategyParameters has = parametersOf(strategy.kind);
    Strategy out;
    out.kind = strategy.kind;
    if (has.axes)
        out.axes = strategy.axes;
    if (has.dim)
        out.dim = strategy.dim;
    if (has.heads) {
        out.numHeads = strategy.numHeads;
        out.headDim = strategy.headDim;
    }
    if (has.segments)
        out.segments = strategy.segments;
    if (has.spec)
        out.spec = strategy.spec;
    return out;
}

const std::vector<StrategyKind>& weightKinds()
{
    static const std::vector<StrategyKind> kinds {
        StrategyKind::Replicate,
        StrategyKind::Rowwise,
        StrategyKind::Columnwise,
        StrategyKind::Axiswise,
        StrategyKind::HeadAwareColumnwise,
        StrategyKind::StackedQkv,
        StrategyKind::GateUp,
        StrategyKind::Segmented,
        StrategyKind::Spec,
    };
    return kinds;
}

QString kindTitle(StrategyKind kind, int dim)
{
    if (kind == StrategyKind::Spec)
        return QObject::tr("written spec");
    const QString name = qstr(strategyKindName(kind));
    if (kind == StrategyKind::Replicate)
        return name;
    const StrategyParameters has = parametersOf(kind);
    return has.dim && dim < 0 ? name : QStringLiteral("%1 (dim %2)").arg(name).arg(has.dim ? dim : defaultDim(kind));
}

QString kindDetail(StrategyKind kind, const TensorSpec& spec)
{
    const bool vocabulary = !spec.dimLabels.empty() && spec.dimLabels[0] == "vocabulary";
    switch (kind) {
    case StrategyKind::Replicate:
        return QObject::tr("whole on every device");
    case StrategyKind::Rowwise:
        return isLinear(spec) ? QObject::tr("column-parallel")
            : vocabulary      ? QObject::tr("vocabulary-parallel")
                              : QObject::tr("the first dim is cut");
    case StrategyKind::Columnwise:
        return isLinear(spec) ? QObject::tr("row-parallel") : QObject::tr("the second dim is cut");
    case StrategyKind::Axiswise:
        return QObject::tr("any one dim is cut");
    case StrategyKind::HeadAwareColumnwise:
        return isLinear(spec) ? QObject::tr("row-parallel in whole heads") : QObject::tr("the second dim in whole heads");
    case StrategyKind::StackedQkv:
        return QObject::tr("column-parallel, fused Q, K and V");
    case StrategyKind::GateUp:
        return QObject::tr("fused gate and up, each cut");
    case StrategyKind::Segmented:
        return QObject::tr("fused parts, each cut");
    default:
        return QObject::tr("in any notation");
    }
}

StrategyDraft draftOf(const Document& document, int weight)
{
    const WeightLayout& now = at(document, weight);
    StrategyDraft out;
    out.strategy = now.strategy;
    if (now.entry >= 0 && now.entry < static_cast<int>(document.design().strategies.size()))
        out.cut = document.design().strategies[static_cast<std::size_t>(now.entry)].cut;
    if (out.strategy.dim < 0)
        out.strategy.dim += static_cast<int>(now.spec.shape.size());
    return out;
}

StrategyDraft asKind(StrategyDraft draft, StrategyKind kind, const Document& document, int weight)
{
    const WeightLayout& now = at(document, weight);
    const Design& design = document.design();
    Strategy& strategy = draft.strategy;
    const StrategyParameters has = parametersOf(kind);
    const bool sameKind = strategy.kind == kind;
    strategy.kind = kind;
    if (has.axes && strategy.axes.empty())
        strategy.axes = likelyAxes(now, design.mesh);
    if (has.dim && !sameKind)
        strategy.dim = likelyDim(kind, now);
    if (has.heads && (strategy.numHeads <= 0 || !sameKind)) {
        const bool stacked = kind == StrategyKind::StackedQkv;
        fillHeads(strategy, design.model, now.spec, stacked ? 0 : 1, stacked ? 3 : 1);
    }
    if (has.segments && strategy.segments.empty()) {
        const auto dim = static_cast<std::size_t>(std::max(strategy.dim, 0));
        strategy.segments = likelySegments(design.model, dim < now.spec.shape.size() ? now.spec.shape[dim] : 0);
    }
    if (has.spec && strategy.spec.empty())
        strategy.spec = specText(now.layout, design.mesh);
    return draft;
}

Result<Strategy> resolved(const StrategyDraft& draft, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    Strategy out = draft.stored();
    if (out.kind != StrategyKind::Spec)
        return out;
    const auto notation = detectNotation(out.spec);
    if (!notation)
        return inputError(
            where, out.spec.empty() ? "the spec is empty" : "'" + out.spec + "' is not in any known notation",
            "write it as P(None, 'model'), [{}, {\"model\"}], {devices=[1,4]<=[4]}, R, S(1) or Replicated, Sharded(1)");
    const auto layout = readLayout(*notation, out.spec, mesh, rank, where);
    if (!layout.ok())
        return layout.error();
    out.spec = specText(layout.value(), mesh);
    return out;
}

Result<WeightLayout> drafted(const StrategyDraft& draft, const WeightLayout& weight, const Mesh& mesh)
{
    const std::string where = weight.spec.name;
    auto strategy = resolved(draft, mesh, weight.spec.shape.size(), where);
    if (!strategy.ok())
        return strategy.error();
    WeightLayout out = weight;
    out.strategy = std::move(strategy).value();
    out.cut = draft.cut.value_or(out.strategy.defaultCut());
    auto layout = layoutOf(out.strategy, mesh, weight.spec.shape.size(), where);
    if (!layout.ok())
        return layout.error();
    auto shards = shardsOf(out.strategy, weight.spec.shape, mesh, out.cut, where, weight.spec.grains);
    if (!shards.ok())
        return shards.error();
    out.layout = std::move(layout).value();
    out.shards = std::move(shards).value();
    out.bytesPerDevice = storedBytes(weight.spec, out.shards.largestShape());
    return out;
}

Result<WeightEdit> draftEdit(const Document& document, const std::vector<int>& weights, const StrategyDraft& draft,
                             DraftScope scope, std::int64_t layer)
{
    constexpr std::size_t kLargestRank = 16;
    WeightEdit out { document.design(), {} };
    for (const int index : weights) {
        const WeightLayout& weight = at(document, index);
        const std::size_t rank = weight.unknownShape ? kLargestRank : weight.spec.shape.size();
        const auto strategy = resolved(draft, document.design().mesh, rank, weight.spec.name);
        if (!strategy.ok())
            return strategy.error();
        const Target target = targetOf(document, index, scope, layer);
        auto& entries = out.design.strategies;
        const auto exception = [&](const StrategyEntry& entry) {
            return std::find(target.dropped.begin(), target.dropped.end(), entry.match) != target.dropped.end();
        };
        entries.erase(std::remove_if(entries.begin(), entries.end(), exception), entries.end());
        for (const std::string& pattern : target.patterns)
            out.design = withDecidingEntry(out.design, { pattern, strategy.value(), draft.cut },
                                           target.patterns.size() > 1 ? std::vector<std::string> { pattern } : target.names);
        if (out.text.isEmpty())
            out.text = QStringLiteral("%1: %2").arg(weightsText(document, weights), qstr(strategy.value().text()));
    }
    if (draft.cut)
        out.text += QObject::tr(", cut %1").arg(qstr(cutRuleName(*draft.cut)));
    return out;
}

} // namespace shardboard
