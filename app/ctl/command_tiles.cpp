// SPDX-License-Identifier: Apache-2.0
// shardctl tiles: the shards of one weight.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/core/numbers.h"
#include "model/core/text.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

Result<Strategy> strategyOf(const Arguments& arguments, const Mesh& mesh)
{
    Strategy strategy;
    if (arguments.has("--spec") == arguments.has("--strategy"))
        return usageError("shardctl tiles", "give either --strategy or --spec", "see shardctl tiles --help");
    if (arguments.has("--spec")) {
        strategy.kind = StrategyKind::Spec;
        strategy.spec = arguments.text("--spec");
        return strategy;
    }
    const std::string name = arguments.text("--strategy");
    if (name == "tensor-parallel" || name == "expert-parallel")
        return inputError("--strategy", name + " is a strategy of modules (attention, MLP, MoE), not of a single weight",
                          "use rowwise or columnwise for the weight");
    const auto kind = strategyKindFromName(name);
    if (!kind || *kind == StrategyKind::Spec)
        return usageError("--strategy", "there is no strategy '" + name + "'",
                          "strategies are replicate, rowwise (dim 0), columnwise (dim 1) and axiswise --dim N");
    strategy.kind = *kind;
    if (arguments.has("--dim") != (*kind == StrategyKind::Axiswise))
        return usageError("--dim", "axiswise needs --dim, and no other strategy takes it", "see shardctl tiles --help");
    const auto dim = arguments.integer("--dim", 0, -16, 15);
    if (!dim.ok())
        return dim.error();
    strategy.dim = static_cast<int>(dim.value());
    if (const std::string names = arguments.text("--axis"); arguments.has("--axis")) {
        for (const std::string_view axis : split(names, ','))
            strategy.axes.emplace_back(axis);
    } else if (mesh.axisCount() == 1) {
        strategy.axes = { mesh.axis(0).name };
    } else if (*kind != StrategyKind::Replicate) {
        return usageError("--axis", "the mesh has several axes, and none is chosen to cut over", "name one of " + mesh.text());
    }
    return strategy;
}

nlohmann::json rangesJson(const Piece& piece)
{
    nlohmann::json ranges = nlohmann::json::array();
    for (const Range& range : piece)
        ranges.push_back({ range.lo, range.hi });
    return ranges;
}

/// Written device by device: a mesh can have a million of them.
void printJson(const ShardMap& shards, DType dtype)
{
    nlohmann::json axes = nlohmann::json::array();
    nlohmann::json sizes = nlohmann::json::array();
    for (const MeshAxis& axis : shards.mesh().axes()) {
        axes.push_back(axis.name);
        sizes.push_back(axis.size);
    }
    const nlohmann::json head { { "shape", shards.shape() }, { "mesh", { { "axes", axes }, { "sizes", sizes } } },
                                { "join_dim", shards.joinDim() < 0 ? nlohmann::json(nullptr) : nlohmann::json(shards.joinDim()) },
                                { "bytes_per_device", bytesOf(shards.maxElements(), dtype) },
                                { "replication", shards.replication() } };
    std::string text = head.dump();
    text.back() = ','; // the object goes on with its shards
    std::cout << text << "\"shards\":[";
    for (std::int64_t position = 0; position < shards.mesh().deviceCount(); ++position) {
        const Shard shard = shards.shardAt(position);
        nlohmann::json pieces = nlohmann::json::array();
        for (const Piece& piece : shard.pieces)
            pieces.push_back(rangesJson(piece));
        const nlohmann::json entry { { "device", shards.mesh().deviceId(position) }, { "shape", shard.shape() }, { "pieces", pieces } };
        std::cout << (position > 0 ? ",\n" : "\n") << entry.dump();
    }
    std::cout << "\n]}\n";
}

std::string shardText(const Shard& shard)
{
    std::vector<std::string> pieces;
    for (const Piece& piece : shard.pieces) {
        std::vector<std::string> ranges;
        for (const Range& range : piece)
            ranges.push_back(std::to_string(range.lo) + ":" + std::to_string(range.hi));
        pieces.push_back("[" + joined(ranges) + "]");
    }
    return joined(pieces, " + ");
}

std::string tilesText(const ShardMap& shards, const Layout& layout, DType dtype)
{
    constexpr std::int64_t kMostRows = 256;
    const Mesh& mesh = shards.mesh();
    std::string out = shapeText(shards.shape()) + " " + dtypeName(dtype) + " on " + mesh.text() + "  " + specText(layout, mesh)
        + "  placements " + placementsText(layout, mesh) + "\n" + bytesText(bytesOf(shards.maxElements(), dtype))
        + " a device, " + countText(shards.replication()) + (shards.replication() == 1 ? " copy" : " copies")
        + " of each element\n";
    Table table({ ">device", "at", ">shape", "holds" });
    for (std::int64_t position = 0; position < std::min(mesh.deviceCount(), kMostRows); ++position) {
        std::vector<std::string> at;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            at.push_back(mesh.axis(axis).name + " " + std::to_string(mesh.coordinate(position, axis)));
        const Shard shard = shards.shardAt(position);
        table.add({ std::to_string(mesh.deviceId(position)), joined(at), shapeText(shard.shape()), shardText(shard) });
    }
    out += table.text();
    if (mesh.deviceCount() > kMostRows)
        out += "  and " + countText(mesh.deviceCount() - kMostRows) + " devices more (--json lists all)\n";
    return out;
}

} // namespace

int tilesCommand(const Arguments& arguments)
{
    for (const char* required : { "--shape", "--mesh" })
        if (!arguments.has(required))
            return report(usageError("shardctl tiles", std::string(required) + " is missing", "see shardctl tiles --help"));
    const auto shape = parseShape(arguments.text("--shape"));
    if (!shape.ok())
        return report(shape.error());
    const auto mesh = Mesh::parse(arguments.text("--mesh"));
    if (!mesh.ok())
        return report(mesh.error());
    const auto strategy = strategyOf(arguments, mesh.value());
    if (!strategy.ok())
        return report(strategy.error());
    const auto dtype = dtypeFromName(arguments.text("--dtype", "bf16"));
    if (!dtype)
        return report(usageError("--dtype", "there is no dtype '" + arguments.text("--dtype") + "'", "use bf16, f16, f32, …"));
    CutRule cut = strategy.value().defaultCut();
    if (arguments.has("--cut")) {
        const auto rule = cutRuleFromName(arguments.text("--cut"));
        if (!rule)
            return report(usageError("--cut", "there is no cut rule '" + arguments.text("--cut") + "'",
                                     "rules are strict, ceil-flat, ceil-nested, balanced and grain-balanced"));
        cut = *rule;
    }
    const std::string where = arguments.has("--spec") ? "--spec" : "--strategy";
    const auto layout = layoutOf(strategy.value(), mesh.value(), shape.value().size(), where);
    if (!layout.ok())
        return report(layout.error());
    const auto shards = shardsOf(shape.value(), layout.value(), mesh.value(), cut, where);
    if (!shards.ok())
        return report(shards.error());
    if (arguments.has("--json"))
        printJson(shards.value(), *dtype);
    else
        std::cout << tilesText(shards.value(), layout.value(), *dtype);
    return kDone;
}

} // namespace shardboard
