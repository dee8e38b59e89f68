// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/axisfixes.h"

#include "widgets/look/format.h"

#include "model/core/shards.h"

#include <algorithm>

namespace shardboard {

std::vector<WeightEdit> axisFixes(const Document& document, int weight, int axis, int dim, std::size_t most)
{
    std::vector<WeightEdit> out;
    const auto evaluation = document.evaluation();
    if (!evaluation || weight < 0 || dim < 0 || weight >= static_cast<int>(evaluation->weights.size()))
        return out;
    const WeightEdit wanted = axisEdit(document, { weight }, axis, dim);
    if (document.check(wanted.design).ok())
        return out;
    const auto offer = [&](WeightEdit edit) {
        if (out.size() < most && !(edit.design == document.design()) && document.check(edit.design).ok())
            out.push_back(std::move(edit));
    };
    const WeightLayout& shown = evaluation->weights[static_cast<std::size_t>(weight)];
    const Mesh& mesh = document.design().mesh;
    const std::string pattern = document.patternOf(weight);
    WeightEdit padded = wanted;
    for (StrategyEntry& entry : padded.design.strategies)
        if (entry.match == pattern)
            entry.cut = CutRule::CeilFlat;
    std::int64_t parts = mesh.axis(axis).size;
    for (const int other : axesOnDim(shown.layout, dim))
        if (other != axis)
            parts *= mesh.axis(other).size;
    const std::int64_t size = shown.spec.shape[static_cast<std::size_t>(dim)];
    const std::int64_t tile = (size + parts - 1) / parts;
    padded.text = QObject::tr("Pad dim %1 to %2: %3 tiles of %4").arg(dim).arg(tile * parts).arg(parts).arg(tile);
    offer(padded);
    for (int other = 0; other < mesh.axisCount(); ++other)
        if (other != axis && other != stageAxis(document.design()) && mesh.axis(other).size > 1
            && dimOfAxis(shown.layout, other) != dim)
            offer(axisEdit(document, { weight }, other, dim));
    for (int other = 0; other < static_cast<int>(shown.spec.shape.size()); ++other)
        if (other != dim && dimOfAxis(shown.layout, axis) != other)
            offer(axisEdit(document, { weight }, axis, other));
    return out;
}

} // namespace shardboard
