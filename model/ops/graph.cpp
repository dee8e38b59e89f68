// SPDX-License-Identifier: Apache-2.0
#include "model/ops/graph.h"

#include "model/ops/opdefinition.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace shardboard {

std::string opKindName(OpKind kind) { return definitionOf(kind).name; }

std::optional<OpKind> opKindFromName(std::string_view name)
{
    for (const OpDefinition* definition : allDefinitions())
        if (name == definition->name)
            return definition->kind;
    return std::nullopt;
}

std::string phaseName(Phase phase)
{
    return phase == Phase::Forward ? "forward" : phase == Phase::Backward ? "backward" : "update";
}

std::optional<Phase> phaseFromName(std::string_view name)
{
    for (const Phase phase : { Phase::Forward, Phase::Backward, Phase::Update })
        if (name == phaseName(phase))
            return phase;
    return std::nullopt;
}

bool Graph::isStream(TensorId id) const
{
    const Segment& part = segment(entry(id).segment);
    const TensorId stream = part.carryIn != kNoTensor ? part.carryIn : part.carryOut;
    return stream == kNoTensor || (tensor(id).shape == tensor(stream).shape && tensor(id).dimLabels == tensor(stream).dimLabels);
}

std::int64_t Graph::parameterCount() const
{
    std::int64_t count = 0;
    for (const GraphTensor& tensor : tensors)
        if (tensor.spec.role == TensorRole::Weight)
            count += elementCount(tensor.spec.shape).value_or(0) * tensor.copies;
    return count;
}

bool ofAllLayers(const GraphTensor& weight)
{
    return weight.part.present() && weight.part.whole.find('*') == std::string::npos
        && weight.spec.name.find('*') != std::string::npos;
}

std::int64_t firstOfPart(const GraphTensor& weight, std::int64_t layer)
{
    return weight.part.first + (ofAllLayers(weight) ? layer * weight.spec.shape[weight.part.dim] : 0);
}

std::vector<GraphTensor> Graph::storedWeights() const
{
    std::vector<GraphTensor> out;
    std::map<std::pair<std::string, SegmentId>, std::size_t> wholes;
    for (const GraphTensor& tensor : tensors) {
        if (tensor.spec.role != TensorRole::Weight)
            continue;
        const WeightPart& part = tensor.part;
        if (part.present()) {
            const bool all = ofAllLayers(tensor);
            const auto [known, isNew] = wholes.try_emplace({ part.whole, all ? SegmentId() : tensor.segment }, out.size());
            if (!isNew && all) {
                out[known->second].spec.shape[part.dim] += tensor.copies * tensor.spec.shape[part.dim];
                continue;
            }
            if (!isNew) {
                std::int64_t& size = out[known->second].spec.shape[part.dim];
                size = std::max(size, part.first + tensor.spec.shape[part.dim]);
                continue;
            }
        }
        GraphTensor& stored = out.emplace_back(tensor);
        if (!part.present())
            continue;
        stored.spec.name = part.whole;
        stored.spec.shape[part.dim] += part.first;
        if (ofAllLayers(tensor)) {
            stored.spec.shape[part.dim] *= tensor.copies;
            stored.copies = 1;
        }
        stored.spec.grains.clear();
        stored.part = {};
    }
    return out;
}

std::int64_t Graph::weightCount() const
{
    std::int64_t count = 0;
    for (const GraphTensor& tensor : storedWeights())
        count += tensor.copies * tensor.pieces;
    return count;
}

std::int64_t scaledBytes(std::int64_t bytes, double density)
{
    return density == 1 ? bytes : static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * density - 1e-9));
}

std::string concreteName(const std::string& name, std::int64_t layer)
{
    std::string out = name;
    if (const auto star = out.find('*'); star != std::string::npos)
        out.replace(star, 1, std::to_string(layer));
    return out;
}

} // namespace shardboard
