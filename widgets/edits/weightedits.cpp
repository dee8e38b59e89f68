// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/weightedits.h"

#include "widgets/look/format.h"

namespace shardboard {

WeightEdit strategyEdit(const Document& document, const std::vector<int>& weights, const Strategy& strategy, const QString& text)
{
    WeightEdit out { document.design(), text };
    for (const int weight : weights)
        out.design = Document::withStrategy(out.design, document.patternOf(weight), strategy);
    return out;
}

WeightEdit axisEdit(const Document& document, const std::vector<int>& weights, int axis, int dim)
{
    WeightEdit out { document.design(), axisEditText(document, weights, axis, dim) };
    const auto evaluation = document.evaluation();
    for (const int weight : weights) {
        const auto& layout = evaluation->weights[static_cast<std::size_t>(weight)].layout;
        if (dim >= static_cast<int>(layout.dims.size()))
            continue;
        out.design = Document::withStrategy(out.design, document.patternOf(weight), document.withAxisOnDim(weight, axis, dim));
    }
    return out;
}

QString weightsText(const Document& document, const std::vector<int>& weights)
{
    if (weights.size() == 1)
        return shortName(document.evaluation()->weights[static_cast<std::size_t>(weights.front())].spec.name);
    return counted(static_cast<std::int64_t>(weights.size()), QObject::tr("weight"), QObject::tr("weights"));
}

QString axisEditText(const Document& document, const std::vector<int>& weights, int axis, int dim)
{
    const QString name = qstr(document.design().mesh.axis(axis).name);
    if (dim < 0)
        return QObject::tr("Take %1 off %2").arg(name, weightsText(document, weights));
    return QObject::tr("Cut %1 dim %2 over %3").arg(weightsText(document, weights)).arg(dim).arg(name);
}

std::vector<int> axesOnDim(const Layout& layout, int dim)
{
    std::vector<int> out;
    for (const auto& ref : layout.dims[static_cast<std::size_t>(dim)])
        out.push_back(ref.axis);
    return out;
}

int dimOfAxis(const Layout& layout, int axis)
{
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        for (const auto& ref : layout.dims[dim])
            if (ref.axis == axis)
                return static_cast<int>(dim);
    return -1;
}

namespace {

std::vector<int> cutDims(const Layout& layout)
{
    std::vector<int> out;
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        if (!layout.dims[dim].empty())
            out.push_back(static_cast<int>(dim));
    return out;
}

} // namespace

QString parallelText(const WeightLayout& weight)
{
    const auto dims = cutDims(weight.layout);
    if (dims.empty())
        return QObject::tr("replicated");
    const bool linear = weight.spec.role == TensorRole::Weight && weight.spec.dimLabels.size() == 2
        && weight.spec.dimLabels[0].rfind("out", 0) == 0;
    if (linear && dims.size() == 1)
        return dims[0] == 0 ? QObject::tr("column-parallel (dim 0)") : QObject::tr("row-parallel (dim 1)");
    if (!weight.spec.dimLabels.empty() && weight.spec.dimLabels[0] == "vocabulary" && dims.size() == 1 && dims[0] == 0)
        return QObject::tr("vocabulary-parallel (dim 0)");
    QStringList numbers;
    for (const int dim : dims)
        numbers << QString::number(dim);
    return dims.size() == 1 ? QObject::tr("cut on dim %1").arg(numbers.front())
                            : QObject::tr("cut on dims %1").arg(numbers.join(QStringLiteral(" and ")));
}

QString maxText(const WeightLayout& weight)
{
    const auto dims = cutDims(weight.layout);
    if (dims.empty())
        return QStringLiteral("replicate");
    if (dims.size() > 1)
        return {};
    const StrategyKind kind = weight.strategy.kind != StrategyKind::Spec ? weight.strategy.kind
        : dims[0] == 0                                                   ? StrategyKind::Rowwise
        : dims[0] == 1                                                   ? StrategyKind::Columnwise
                                                                         : StrategyKind::Axiswise;
    return QStringLiteral("%1 (dim %2)").arg(qstr(strategyKindName(kind))).arg(dims[0]);
}

} // namespace shardboard
