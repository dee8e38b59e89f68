// SPDX-License-Identifier: Apache-2.0
#include "model/io/shards/shardsjson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace shardboard {

using nlohmann::json;

namespace {

void append(std::string& text, std::int64_t number)
{
    std::array<char, 24> digits {};
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

std::int64_t digitsOf(std::int64_t number)
{
    std::int64_t digits = 1;
    for (; number >= 10; number /= 10)
        ++digits;
    return digits;
}

/// ASCII, and never an exception: names are whatever a file holds.
std::string jsonText(const std::string& text) { return json(text).dump(-1, ' ', true, json::error_handler_t::replace); }

void append(std::string& text, const Shard& shard)
{
    text += "\"join_dim\":" + (shard.joinDim < 0 ? "null" : std::to_string(shard.joinDim)) + ",\"pieces\":[";
    for (std::size_t piece = 0; piece < shard.pieces.size(); ++piece) {
        text += piece > 0 ? ",[" : "[";
        for (std::size_t dim = 0; dim < shard.pieces[piece].size(); ++dim) {
            text += dim > 0 ? ",[" : "[";
            append(text, shard.pieces[piece][dim].lo);
            text += ',';
            append(text, shard.pieces[piece][dim].hi);
            text += ']';
        }
        text += ']';
    }
    text += ']';
}

/// Distinct shards of one tensor with the device ids that hold each, in order of the first holder's position:
/// [{"devices":[0,4],"join_dim":null,"pieces":[[[lo,hi],…]]}]
std::string distinctShardsText(const PlacedShards& placed)
{
    const ShardMap& shards = placed.shards;
    const Mesh& mesh = shards.mesh();
    // All holders of a shard lie at the same distances from its first one, because mesh axes are independent.
    std::vector<std::int64_t> distances;
    std::int64_t first = -1;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        if (placed.isHeldAt(position) && shards.distinctIndex(position) == 0) {
            first = first < 0 ? position : first;
            distances.push_back(position - first);
        }
    std::vector<bool> seen(static_cast<std::size_t>(shards.distinctCount()), false);
    std::string text = "[";
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        if (!placed.isHeldAt(position))
            continue;
        auto isSeen = seen[static_cast<std::size_t>(shards.distinctIndex(position))];
        if (isSeen)
            continue;
        isSeen = true;
        text += text.size() > 1 ? ",{\"devices\":[" : "{\"devices\":[";
        for (std::size_t i = 0; i < distances.size(); ++i) {
            if (i > 0)
                text += ',';
            append(text, mesh.deviceId(position + distances[i]));
        }
        text += "],";
        append(text, shards.shardAt(position));
        text += '}';
    }
    return text + "]";
}

/// {"axes":["model"],"op":"sum"}
std::string partialText(const PlacedShards& placed)
{
    return json { { "axes", placed.partialAxes() }, { "op", placed.opName() } }.dump();
}

std::string headText(const Mesh& mesh, const ShardPlaces& places)
{
    json axes = json::array();
    json sizes = json::array();
    json ids = json::array();
    for (const MeshAxis& axis : mesh.axes()) {
        axes.push_back(axis.name);
        sizes.push_back(axis.size);
    }
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        ids.push_back(mesh.deviceId(position));
    std::string text = "{\"mesh\":" + json { { "axes", axes }, { "sizes", sizes }, { "device_ids", ids } }.dump() + ",\n";
    if (places.stageAxis() >= 0)
        text += "\"pipeline\":" + json { { "axis", mesh.axis(places.stageAxis()).name } }.dump() + ",\n";
    return text + "\"tensors\":[";
}

/// Of a part of a weight that the checkpoint has as one: which, and where the part begins.
std::string partText(const Evaluation& evaluation, const WeightLayout& weight, std::int64_t layer)
{
    if (weight.tensor == kNoTensor || !evaluation.graph.entry(weight.tensor).part.present())
        return {};
    const GraphTensor& tensor = evaluation.graph.entry(weight.tensor);
    const WeightPart& part = tensor.part;
    return ",\"part_of\":{\"name\":" + jsonText(layer < 0 ? part.whole : concreteName(part.whole, layer))
        + ",\"dim\":" + std::to_string(part.dim) + ",\"first\":" + std::to_string(firstOfPart(tensor, layer)) + "}";
}

bool writeTensors(const Evaluation& evaluation, const ShardPlaces& places, const TextSink& sink)
{
    const WeightLayout* last = nullptr;
    std::vector<std::int64_t> lastStages;
    std::string rest; // of a tensor's entry after its name; the same for all layers of a stage
    bool first = true;
    bool wanted = true;
    forEachWeight(evaluation, [&](const std::string& name, const WeightLayout& weight, std::int64_t layer) {
        if (!wanted)
            return;
        std::vector<std::int64_t> stages = places.stagesOf(weight, layer);
        if (&weight != last || stages != lastStages) {
            const PlacedShards placed = places.of(weight, layer);
            rest = ",\"shape\":" + json(weight.spec.shape).dump() + ",\"dtype\":\"" + dtypeName(weight.spec.dtype) + "\""
                + (placed.partial.empty() ? std::string() : ",\"partial\":" + partialText(placed))
                + ",\"shards\":" + distinctShardsText(placed) + "}";
        }
        last = &weight;
        lastStages = std::move(stages);
        wanted =
            sink((first ? "\n{\"name\":" : ",\n{\"name\":") + jsonText(name) + partText(evaluation, weight, layer)) && sink(rest);
        first = false;
    });
    return wanted;
}

} // namespace

void forEachWeight(const Evaluation& evaluation,
                   const std::function<void(const std::string&, const WeightLayout&, std::int64_t)>& visit)
{
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        if (weight.firstLayer < 0) {
            visit(weight.spec.name, weight, -1);
            continue;
        }
        for (std::int64_t i = 0; i < weight.copies; ++i)
            visit(concreteName(weight.spec.name, weight.firstLayer + i), weight, weight.firstLayer + i);
    }
}

std::int64_t shardsJsonBytes(const Mesh& mesh, const Evaluation& evaluation)
{
    constexpr double kOfTensor = 50; // keys and signs around what is counted
    constexpr double kOfShard = 44;
    double ids = 0;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        ids += static_cast<double>(digitsOf(mesh.deviceId(position)) + 1);
    const ShardPlaces places(evaluation);
    const double stages = places.stageAxis() < 0 ? 1 : static_cast<double>(mesh.axis(places.stageAxis()).size);
    double bytes = ids;
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight || weight.unknownShape)
            continue;
        const std::size_t held = places.stagesOf(weight, weight.firstLayer).size();
        double ranges = kOfShard;
        for (const std::int64_t size : weight.spec.shape)
            ranges += static_cast<double>(2 * digitsOf(size) + 3);
        const double share = held == 0 ? 1 : static_cast<double>(held) / stages;
        bytes += static_cast<double>(weight.copies)
            * (kOfTensor + static_cast<double>(weight.spec.name.size()) + ids * share
               + ranges * static_cast<double>(weight.shards.distinctCount()));
    }
    return static_cast<std::int64_t>(std::min(bytes, 9e18));
}

Result<TextSource> shardsJson(const Mesh& mesh, std::shared_ptr<const Evaluation> evaluation)
{
    for (const WeightLayout& weight : evaluation->weights)
        if (weight.unknownShape && weight.spec.role == TensorRole::Weight)
            return inputError(weight.spec.name, "its shape is not known, so its shards cannot be written",
                              "open the model with its weight files");
    return TextSource([mesh, evaluation = std::move(evaluation)](const TextSink& sink) {
        const ShardPlaces places(*evaluation);
        return sink(headText(mesh, places)) && writeTensors(*evaluation, places, sink) && sink("\n]}\n");
    });
}

} // namespace shardboard
