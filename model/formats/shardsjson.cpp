// SPDX-License-Identifier: Apache-2.0
#include "model/formats/shardsjson.h"

#include <nlohmann/json.hpp>

#include <map>

namespace shardboard {

using nlohmann::json;

void forEachWeight(const Evaluation& evaluation, const std::function<void(const std::string&, const WeightLayout&)>& visit)
{
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        if (weight.firstLayer < 0) {
            visit(weight.spec.name, weight);
            continue;
        }
        for (std::int64_t i = 0; i < weight.copies; ++i)
            visit(concreteName(weight.spec.name, weight.firstLayer + i), weight);
    }
}

json distinctShardsJson(const ShardMap& shards)
{
    const Mesh& mesh = shards.mesh();
    std::map<std::int64_t, std::size_t> entryOf;
    json entries = json::array();
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        const std::int64_t distinct = shards.distinctIndex(position);
        const auto [it, first] = entryOf.try_emplace(distinct, entries.size());
        if (first) {
            const Shard shard = shards.shardAt(position);
            json pieces = json::array();
            for (const Piece& piece : shard.pieces) {
                json ranges = json::array();
                for (const Range& range : piece)
                    ranges.push_back({ range.lo, range.hi });
                pieces.push_back(std::move(ranges));
            }
            entries.push_back({ { "devices", json::array() },
                                { "join_dim", shard.joinDim < 0 ? json(nullptr) : json(shard.joinDim) },
                                { "pieces", std::move(pieces) } });
        }
        entries[it->second]["devices"].push_back(mesh.deviceId(position));
    }
    return entries;
}

Result<std::string> shardsJson(const Design& design, const Evaluation& evaluation, const std::function<bool()>& stopped)
{
    json axes = json::array();
    json sizes = json::array();
    json ids = json::array();
    for (const MeshAxis& axis : design.mesh.axes()) {
        axes.push_back(axis.name);
        sizes.push_back(axis.size);
    }
    for (std::int64_t position = 0; position < design.mesh.deviceCount(); ++position)
        ids.push_back(design.mesh.deviceId(position));
    const json mesh { { "axes", axes }, { "sizes", sizes }, { "device_ids", ids } };

    std::string unknown;
    std::string text = "{\"mesh\":" + mesh.dump() + ",\n\"tensors\":[";
    const WeightLayout* last = nullptr;
    std::string rest; // of a tensor's entry after its name; the same for all layers
    bool first = true;
    bool cancelled = false;
    forEachWeight(evaluation, [&](const std::string& name, const WeightLayout& weight) {
        cancelled = cancelled || (stopped && stopped());
        if (cancelled)
            return;
        if (weight.unknownShape) {
            unknown = unknown.empty() ? name : unknown;
            return;
        }
        if (&weight != last)
            rest = ",\"shape\":" + json(weight.spec.shape).dump() + ",\"dtype\":\"" + dtypeName(weight.spec.dtype)
                + "\",\"shards\":" + distinctShardsJson(weight.shards).dump() + "}";
        last = &weight;
        text += (first ? "\n{\"name\":" : ",\n{\"name\":") + json(name).dump() + rest;
        first = false;
    });
    if (cancelled)
        return Cancelled {};
    if (!unknown.empty())
        return inputError(unknown, "its shape is not known, so its shards cannot be written",
                          "open the model with its weight files");
    return text + "\n]}\n";
}

} // namespace shardboard
