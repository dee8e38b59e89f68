// SPDX-License-Identifier: Apache-2.0
#include "model/formats/shardsjsonread.h"

#include "model/formats/designfile.h"
#include "model/formats/jsonfields.h"
#include "model/formats/jsontext.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargest = std::int64_t { 1 } << 62;
constexpr std::size_t kMostValues = 50'000'000;

/// Shards by their text, each with the ids of the devices that hold it.
using Holders = std::map<std::string, std::vector<std::int64_t>>;

std::string canonicalText(Holders holders)
{
    std::vector<std::pair<std::vector<std::int64_t>, std::string>> rows;
    for (auto& [shard, devices] : holders) {
        std::sort(devices.begin(), devices.end());
        rows.emplace_back(std::move(devices), shard);
    }
    std::sort(rows.begin(), rows.end());
    std::string text;
    for (const auto& [devices, shard] : rows) {
        text += devices.size() == 1 ? "device " : "devices ";
        for (std::size_t i = 0; i < devices.size(); ++i)
            text += (i > 0 ? ", " : "") + std::to_string(devices[i]);
        text += (devices.size() == 1 ? " holds " : " hold ") + shard + "\n";
    }
    return text;
}

std::string shardText(const Shard& shard)
{
    std::string text;
    for (const Piece& piece : shard.pieces) {
        text += text.empty() ? "[" : " + [";
        for (std::size_t dim = 0; dim < piece.size(); ++dim)
            text += (dim > 0 ? ", " : "") + std::to_string(piece[dim].lo) + ":" + std::to_string(piece[dim].hi);
        text += "]";
    }
    return shard.pieces.size() > 1 ? text + " along dim " + std::to_string(shard.joinDim) : text;
}

class ProofReader {
public:
    ProofReader(const json& document, const std::string& where)
        : m_document(document)
        , m_where(where)
    {
    }

    Result<ShardsProof> read()
    {
        JsonFields top(m_document, m_where, "");
        const json* mesh = top.find("mesh");
        const json* tensors = top.find("tensors");
        if (!mesh || !tensors || !tensors->is_array())
            return top.error() ? *top.error()
                               : inputError(m_where, "is no shards.json (it needs mesh and a list of tensors)",
                                            "give a file that an export wrote");
        if (auto status = readMesh(*mesh); !status.ok())
            return status.error();
        for (const json& tensor : *tensors)
            if (auto status = readTensor(tensor); !status.ok())
                return status.error();
        return std::move(m_proof);
    }

private:
    Status readMesh(const json& value)
    {
        JsonFields fields(value, m_where, "mesh");
        const auto names = fields.texts("axes");
        const auto sizes = fields.integers("sizes", 1, kMaxDevices);
        auto ids = fields.integers("device_ids", 0, kLargest);
        if (fields.error())
            return *fields.error();
        if (names.size() != sizes.size())
            return inputError(m_where + ":mesh.sizes", "has " + std::to_string(sizes.size()) + " sizes for "
                                  + std::to_string(names.size()) + " axes",
                              "give each mesh axis one size");
        std::vector<MeshAxis> axes;
        for (std::size_t i = 0; i < names.size(); ++i)
            axes.push_back({ names[i], sizes[i] });
        m_devices = std::set<std::int64_t>(ids.begin(), ids.end());
        auto mesh = Mesh::make(std::move(axes), std::move(ids), m_where + ":mesh");
        if (!mesh.ok())
            return mesh.error();
        m_proof.mesh = std::move(mesh).value();
        return done();
    }

    Status readTensor(const json& value)
    {
        const std::string path = "tensors[" + std::to_string(m_proof.tensors.size()) + "]";
        JsonFields fields(value, m_where, path);
        ShardsOfTensor tensor;
        tensor.name = fields.text("name");
        tensor.shape = fields.integers("shape", 0, kLargest);
        const std::string dtype = fields.text("dtype", "");
        tensor.dtype = dtypeFromName(dtype);
        if (!tensor.dtype && !dtype.empty())
            fields.fail("dtype", "cannot be '" + dtype + "'", "use a type such as bf16 or f32");
        const json* shards = fields.find("shards");
        if (fields.error())
            return *fields.error();
        if (!shards || !shards->is_array() || !elementCount(tensor.shape))
            return inputError(m_where + ":" + path, "has no list of shards, or a shape too large to count", "write one");
        Holders holders;
        std::set<std::int64_t> seen;
        for (std::size_t i = 0; i < shards->size(); ++i) {
            auto status = readShard((*shards)[i], path + ".shards[" + std::to_string(i) + "]", tensor, holders, seen);
            if (!status.ok())
                return status;
        }
        if (seen.size() != static_cast<std::size_t>(m_proof.mesh.deviceCount()))
            return inputError(m_where + ":" + path, std::to_string(seen.size()) + " of "
                                  + std::to_string(m_proof.mesh.deviceCount()) + " devices have a shard of " + tensor.name,
                              "list every device of the mesh once");
        tensor.canonical = canonicalText(std::move(holders));
        m_proof.tensors.push_back(std::move(tensor));
        return done();
    }

    Status readShard(const json& value, const std::string& path, ShardsOfTensor& tensor, Holders& holders,
                     std::set<std::int64_t>& seen)
    {
        JsonFields fields(value, m_where, path);
        const auto devices = fields.integers("devices", 0, kLargest);
        const json* join = fields.find("join_dim");
        const json* pieces = fields.find("pieces");
        if (fields.error())
            return *fields.error();
        Shard shard;
        const auto rank = static_cast<std::int64_t>(tensor.shape.size());
        if (join && !join->is_null()) {
            if (!join->is_number_integer() || join->get<std::int64_t>() < 0 || join->get<std::int64_t>() >= rank)
                return inputError(m_where + ":" + path + ".join_dim", "is no dim of the tensor", "give a dim, or null for one piece");
            shard.joinDim = join->get<int>();
        }
        if (auto status = readPieces(pieces, path, tensor.shape, shard); !status.ok())
            return status;
        if (shard.pieces.size() > 1 && shard.joinDim < 0)
            return inputError(m_where + ":" + path + ".join_dim", "several pieces need the dim along which they are joined",
                              "give a dim of the tensor");
        auto& holding = holders[shardText(shard)];
        for (const std::int64_t device : devices) {
            if ((!m_devices.empty() && !m_devices.contains(device)) || (m_devices.empty() && device >= m_proof.mesh.deviceCount())
                || !seen.insert(device).second)
                return inputError(m_where + ":" + path + ".devices", "device " + std::to_string(device)
                                      + " is not of the mesh, or has two shards of " + tensor.name,
                                  "list every device of the mesh once");
            holding.push_back(device);
        }
        tensor.elementsPerDevice = std::max(tensor.elementsPerDevice, shard.elements());
        return done();
    }

    Status readPieces(const json* pieces, const std::string& path, const Shape& shape, Shard& shard) const
    {
        const auto wrong = [&](const std::string& what) -> Status {
            return inputError(m_where + ":" + path + ".pieces", what, "write [[[lo, hi], …], …], one range for each tensor dim");
        };
        if (!pieces || !pieces->is_array() || pieces->empty())
            return wrong("is no list of pieces");
        for (const json& piece : *pieces) {
            if (!piece.is_array() || piece.size() != shape.size())
                return wrong("a piece has not one range for each of " + std::to_string(shape.size()) + " dims");
            Piece& out = shard.pieces.emplace_back();
            for (std::size_t dim = 0; dim < shape.size(); ++dim) {
                const json& range = piece[dim];
                if (!range.is_array() || range.size() != 2 || !range[0].is_number_integer() || !range[1].is_number_integer())
                    return wrong("a range is not a pair of numbers");
                out.push_back({ range[0].get<std::int64_t>(), range[1].get<std::int64_t>() });
                if (out.back().lo < 0 || out.back().hi < out.back().lo || out.back().hi > shape[dim])
                    return wrong("range " + range.dump() + " lies outside dim " + std::to_string(dim) + " of size "
                                 + std::to_string(shape[dim]));
            }
        }
        return done();
    }

    const json& m_document;
    std::string m_where;
    std::set<std::int64_t> m_devices;
    ShardsProof m_proof;
};

} // namespace

Result<ShardsProof> shardsProofFromText(const std::string& text, const std::string& where)
{
    JsonLimits limits;
    limits.values = kMostValues;
    const auto document = parseJson(text, where, limits);
    if (!document.ok())
        return document.error();
    return ProofReader(document.value(), where).read();
}

Result<ShardsProof> readShardsJson(const std::string& path)
{
    const auto text = readTextFile(path, std::size_t { 1 } << 30);
    if (!text.ok())
        return text.error();
    return shardsProofFromText(text.value(), path);
}

std::string canonicalShards(const ShardMap& shards)
{
    const Mesh& mesh = shards.mesh();
    std::map<std::int64_t, std::vector<std::int64_t>> devicesOf; // by distinct shard
    std::map<std::int64_t, std::int64_t> firstOf;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        const std::int64_t distinct = shards.distinctIndex(position);
        devicesOf[distinct].push_back(mesh.deviceId(position));
        firstOf.try_emplace(distinct, position);
    }
    Holders holders;
    for (auto& [distinct, devices] : devicesOf) {
        auto& holding = holders[shardText(shards.shardAt(firstOf[distinct]))]; // empty shards may be equal
        holding.insert(holding.end(), devices.begin(), devices.end());
    }
    return canonicalText(std::move(holders));
}

} // namespace shardboard
