// SPDX-License-Identifier: Apache-2.0
#include "model/io/shards/shardsjsonread.h"

#include "model/io/file/openfile.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/meshjson.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargest = std::int64_t { 1 } << 62;
constexpr std::size_t kMostValues = 50'000'000;
constexpr std::int64_t kMostBytes = std::int64_t { 1 } << 30;

/// Shards by their text, each with the ids of the devices that hold it.
using Holders = std::map<std::string, std::vector<std::int64_t>>;

std::string canonicalText(Holders holders)
{
    std::vector<std::pair<std::vector<std::int64_t>, std::string>> rows;
    for (auto& [shard, devices] : holders) {
        std::ranges::sort(devices);
        rows.emplace_back(std::move(devices), shard);
    }
    std::ranges::sort(rows);
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

/// Of a partial tensor: what its devices have of a shard.
std::string termsText(const std::vector<std::string>& axes, const std::string& op)
{
    std::string names;
    for (const std::string& axis : axes)
        names += (names.empty() ? "" : ", ") + axis;
    return "terms of a " + op + " over " + names + "\n";
}

class ProofReader {
public:
    explicit ProofReader(const std::string& where)
        : m_where(where)
    {
    }

    /// Tensor by tensor: all of them as JSON would take twenty times as much memory as what they say.
    Result<ShardsProof> read(const JsonSource& source)
    {
        JsonLimits limits;
        limits.values = kMostValues;
        const auto document = parseJsonList(
            source, m_where, "tensors", [this](const json& before, json tensor) { return take(before, std::move(tensor)); },
            limits);
        if (!document.ok())
            return document.error();
        JsonFields top(document.value(), m_where, "");
        const json* mesh = top.find("mesh");
        const json* tensors = top.find("tensors");
        if (!mesh || !tensors || !tensors->is_array())
            return top.error() ? *top.error()
                               : inputError(m_where, "is not a shards.json (it needs mesh and a list of tensors)",
                                            "give a file that an export wrote");
        if (auto status = readHead(document.value()); !status.ok())
            return status.error();
        for (const json& tensor : m_waiting)
            if (auto status = readTensor(tensor); !status.ok())
                return status.error();
        return std::move(m_proof);
    }

private:
    /// Mesh and stages, once; where they come behind the tensors, these wait.
    Status readHead(const json& document)
    {
        if (m_hasHead)
            return done();
        m_hasHead = true;
        if (auto status = readMesh(document["mesh"]); !status.ok())
            return status;
        return document.contains("pipeline") ? readStages(document["pipeline"]) : done();
    }

    Status take(const json& before, json tensor)
    {
        if (!before.contains("mesh")) {
            m_waiting.push_back(std::move(tensor));
            return done();
        }
        if (auto status = readHead(before); !status.ok())
            return status;
        return readTensor(tensor);
    }

    Status readMesh(const json& value)
    {
        JsonFields fields(value, m_where, "mesh");
        shardboard::readMesh(fields, m_proof.mesh);
        if (fields.error())
            return *fields.error();
        for (std::int64_t position = 0; position < m_proof.mesh.deviceCount(); ++position)
            m_positions.emplace(m_proof.mesh.deviceId(position), position);
        return done();
    }

    /// The mesh axis along which a pipeline's stages lie.
    Status readStages(const json& value)
    {
        JsonFields fields(value, m_where, "pipeline");
        const std::string name = fields.text("axis");
        if (fields.error())
            return *fields.error();
        m_stageAxis = m_proof.mesh.find(name);
        return m_stageAxis >= 0 ? done()
                                : Status(inputError(m_where + ":pipeline.axis", "the mesh has no axis '" + name + "'",
                                                    "name the mesh axis of the stages"));
    }

    /// How many devices hold a shard of a tensor that those of `seen` hold: all, or those of the same stages.
    std::int64_t holdersNeeded(const std::vector<bool>& seen) const
    {
        const Mesh& mesh = m_proof.mesh;
        std::set<std::int64_t> stages;
        for (std::int64_t position = 0; m_stageAxis >= 0 && position < mesh.deviceCount(); ++position)
            if (seen[static_cast<std::size_t>(position)])
                stages.insert(mesh.coordinate(position, m_stageAxis));
        return stages.empty() ? mesh.deviceCount()
                              : mesh.deviceCount() / mesh.axis(m_stageAxis).size * static_cast<std::int64_t>(stages.size());
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
        Holders held;
        std::vector<bool> seen(static_cast<std::size_t>(m_proof.mesh.deviceCount()), false); // by position
        for (std::size_t i = 0; i < shards->size(); ++i) {
            auto status = readShard((*shards)[i], path + ".shards[" + std::to_string(i) + "]", tensor, held, seen);
            if (!status.ok())
                return status;
        }
        const std::int64_t holders = std::ranges::count(seen, true);
        if (const std::int64_t needed = holdersNeeded(seen); holders != needed)
            return inputError(m_where + ":" + path,
                              std::to_string(holders) + " of " + std::to_string(needed) + " devices have a shard of " + tensor.name,
                              m_stageAxis < 0 ? "list every device of the mesh once" : "list every device of its stages once");
        std::string terms;
        if (const json* partial = fields.find("partial"))
            if (auto status = readPartial(*partial, path + ".partial", terms); !status.ok())
                return status;
        auto canonical = std::make_shared<const std::string>(canonicalText(std::move(held)) + terms);
        tensor.canonical = *m_known.insert(std::move(canonical)).first;
        m_proof.tensors.push_back(std::move(tensor));
        return done();
    }

    /// The mesh axes along which each device has a term of the shard.
    Status readPartial(const json& value, const std::string& path, std::string& terms) const
    {
        JsonFields fields(value, m_where, path);
        const std::vector<std::string> axes = fields.texts("axes");
        const std::string op = fields.text("op");
        if (fields.error())
            return *fields.error();
        for (const std::string& axis : axes)
            if (m_proof.mesh.find(axis.substr(0, axis.find(':'))) < 0)
                return inputError(m_where + ":" + path + ".axes", "the mesh has no axis '" + axis + "'", "name axes of the mesh");
        if (axes.empty() || (op != "sum" && op != "max" && op != "min"))
            return inputError(m_where + ":" + path, "has no axes, or an op that is none of sum, max and min",
                              "leave it out where a shard is no term");
        terms = termsText(axes, op);
        return done();
    }

    Status readShard(const json& value, const std::string& path, ShardsOfTensor& tensor, Holders& holders,
                     std::vector<bool>& seen) const
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
                return inputError(m_where + ":" + path + ".join_dim", "is not a dim of the tensor",
                                  "give a dim, or null for one piece");
            shard.joinDim = join->get<int>();
        }
        if (auto status = readPieces(pieces, path, tensor.shape, shard); !status.ok())
            return status;
        if (shard.pieces.size() > 1 && shard.joinDim < 0)
            return inputError(m_where + ":" + path + ".join_dim", "several pieces need the dim along which they are joined",
                              "give a dim of the tensor");
        auto& holding = holders[shardText(shard)];
        for (const std::int64_t device : devices) {
            const auto position = m_positions.find(device);
            if (position == m_positions.end() || seen[static_cast<std::size_t>(position->second)])
                return inputError(m_where + ":" + path + ".devices",
                                  "device " + std::to_string(device) + " is not of the mesh, or has two shards of " + tensor.name,
                                  "list every device of the mesh once");
            seen[static_cast<std::size_t>(position->second)] = true;
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
            return wrong("is not a list of pieces");
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

    struct LessText {
        bool operator()(const std::shared_ptr<const std::string>& a, const std::shared_ptr<const std::string>& b) const
        {
            return *a < *b;
        }
    };

    std::string m_where;
    bool m_hasHead = false;
    std::vector<json> m_waiting;
    std::unordered_map<std::int64_t, std::int64_t> m_positions; ///< by device id
    int m_stageAxis = -1;
    std::set<std::shared_ptr<const std::string>, LessText> m_known; ///< canonical texts: layers have the same
    ShardsProof m_proof;
};

} // namespace

Result<ShardsProof> shardsProofFromText(const std::string& text, const std::string& where)
{
    return ProofReader(where).read(jsonSource(text));
}

Result<ShardsProof> readShardsJson(const std::string& path)
{
    auto file = OpenFile::open(path);
    if (!file.ok())
        return file.error();
    if (file.value().size() > kMostBytes)
        return inputError(path, "is larger than " + std::to_string(kMostBytes) + " bytes", "check that this is the right file");
    bool failed = false;
    auto proof = ProofReader(path).read([&](char* buffer, std::size_t size) {
        const auto count = file.value().read(buffer, size);
        failed = failed || !count;
        return count.value_or(0);
    });
    if (failed)
        return inputError(path, "cannot be read", "check the file and the disk that it is on");
    return proof;
}

std::string canonicalShards(const PlacedShards& placed)
{
    const ShardMap& shards = placed.shards;
    const Mesh& mesh = shards.mesh();
    std::map<std::int64_t, std::vector<std::int64_t>> devicesOf; // by distinct shard
    std::map<std::int64_t, std::int64_t> firstOf;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        if (!placed.isHeldAt(position))
            continue;
        const std::int64_t distinct = shards.distinctIndex(position);
        devicesOf[distinct].push_back(mesh.deviceId(position));
        firstOf.try_emplace(distinct, position);
    }
    Holders holders;
    for (auto& [distinct, devices] : devicesOf) {
        auto& holding = holders[shardText(shards.shardAt(firstOf[distinct]))]; // empty shards may be equal
        holding.insert(holding.end(), devices.begin(), devices.end());
    }
    return canonicalText(std::move(holders))
        + (placed.partial.empty() ? std::string() : termsText(placed.partialAxes(), placed.opName()));
}

} // namespace shardboard
