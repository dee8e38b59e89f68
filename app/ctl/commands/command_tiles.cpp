// SPDX-License-Identifier: Apache-2.0
// shardctl tiles: the shards of one weight.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/io/json/jsonwriter.h"
#include "model/notation/notation.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <tuple>

namespace shardboard {

namespace {

/// An option that a kind does not take would be ignored, which nobody means.
Status checkTakes(const Arguments& arguments, const char* option, bool takes, bool needs, const Strategy& strategy)
{
    if (arguments.has(option) == takes || (takes && !needs))
        return done();
    return usageError(option, strategyKindName(strategy.kind) + (takes ? " needs it" : " does not take it"),
                      "see shardctl tiles --help");
}

/// Dim, heads and segments, as far as the kind takes them.
Status readParameters(const Arguments& arguments, Strategy& strategy)
{
    const StrategyParameters has = parametersOf(strategy.kind);
    const bool hasDefault = strategy.kind == StrategyKind::GateUp;
    for (const auto& [option, takes, needs] : { std::tuple { "--dim", has.dim, !hasDefault },
                                                { "--num-heads", has.heads, true },
                                                { "--head-dim", has.heads, true },
                                                { "--segment", has.segments, true } })
        if (auto status = checkTakes(arguments, option, takes, needs, strategy); !status.ok())
            return status;
    const auto dim = arguments.integer("--dim", defaultDim(strategy.kind), -16, 15);
    const auto heads = arguments.integer("--num-heads", 0, 1, std::int64_t { 1 } << 31);
    const auto headDim = arguments.integer("--head-dim", 0, 1, std::int64_t { 1 } << 31);
    for (const auto* number : { &dim, &heads, &headDim })
        if (!number->ok())
            return number->error();
    strategy.dim = has.dim ? static_cast<int>(dim.value()) : 0;
    strategy.numHeads = heads.value();
    strategy.headDim = headDim.value();
    for (const std::string& words : arguments.texts("--segment"))
        for (const std::string_view word : split(words, ',')) {
            auto segment = parseSegment(word, "--segment");
            if (!segment.ok())
                return segment.error();
            strategy.segments.push_back(segment.value());
        }
    return done();
}

/// The text of --spec, which may be in any notation, in the one that strategies keep.
Result<std::string> specOf(const std::string& text, const Mesh& mesh, std::size_t rank)
{
    const auto notation = detectNotation(text);
    if (!notation || *notation == Notation::Jax)
        return text;
    const auto layout = readLayout(*notation, text, mesh, rank, "--spec");
    if (!layout.ok())
        return layout.error();
    return specText(layout.value(), mesh);
}

Result<Strategy> strategyOf(const Arguments& arguments, const Mesh& mesh, std::size_t rank)
{
    Strategy strategy;
    if (arguments.has("--spec") == arguments.has("--strategy"))
        return usageError("shardctl tiles", "give either --strategy or --spec", "see shardctl tiles --help");
    if (arguments.has("--spec")) {
        strategy.kind = StrategyKind::Spec;
        auto spec = specOf(arguments.text("--spec"), mesh, rank);
        if (!spec.ok())
            return spec.error();
        strategy.spec = std::move(spec).value();
        return strategy;
    }
    const std::string name = arguments.text("--strategy");
    const auto kind = strategyKindFromName(name);
    if (!kind || *kind == StrategyKind::Spec)
        return usageError("--strategy", "there is no strategy '" + name + "'",
                          "strategies are replicate, rowwise (dim 0), columnwise (dim 1), axiswise, head-aware-columnwise, "
                          "stacked-qkv, gate-up and segmented");
    strategy.kind = *kind;
    if (auto status = readParameters(arguments, strategy); !status.ok())
        return status.error();
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
    const nlohmann::json head { { "shape", shards.shape() },
                                { "mesh", { { "axes", axes }, { "sizes", sizes } } },
                                { "join_dim", shards.joinDim() < 0 ? nlohmann::json(nullptr) : nlohmann::json(shards.joinDim()) },
                                { "bytes_per_device", bytesOf(shards.maxElements(), dtype) },
                                { "replication", shards.replication() } };
    std::string text = jsonText(head);
    text.back() = ','; // the object goes on with its shards
    std::cout << text << "\"shards\":[";
    for (std::int64_t position = 0; position < shards.mesh().deviceCount(); ++position) {
        const Shard shard = shards.shardAt(position);
        nlohmann::json pieces = nlohmann::json::array();
        for (const Piece& piece : shard.pieces)
            pieces.push_back(rangesJson(piece));
        const nlohmann::json entry { { "device", shards.mesh().deviceId(position) },
                                     { "shape", shard.shape() },
                                     { "pieces", pieces } };
        std::cout << (position > 0 ? ",\n" : "\n") << jsonText(entry);
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
        + "  placements " + placementsText(layout, mesh) + "\n" + bytesText(bytesOf(shards.maxElements(), dtype)) + " a device, "
        + countText(shards.replication()) + (shards.replication() == 1 ? " copy" : " copies") + " of each element\n";
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
        out += "  and " + countText(mesh.deviceCount() - kMostRows) + " more devices (--json lists all)\n";
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
    const auto strategy = strategyOf(arguments, mesh.value(), shape.value().size());
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
    const auto grain = arguments.integer("--grain", 1, 1, std::int64_t { 1 } << 40);
    if (!grain.ok())
        return report(grain.error());
    const bool heads = parametersOf(strategy.value().kind).heads; // whole heads are the grain
    const bool takesGrain = cut == CutRule::GrainBalanced && !heads;
    if (arguments.has("--grain") != takesGrain)
        return report(usageError("--grain",
                                 takesGrain  ? "the rule grain-balanced needs it"
                                     : heads ? strategyKindName(strategy.value().kind) + " keeps its heads whole and takes none"
                                             : "only the rule grain-balanced takes it",
                                 "give the elements that stay together, such as the head dim"));
    const std::vector<std::int64_t> grains(shape.value().size(), grain.value());
    const auto shards = shardsOf(strategy.value(), shape.value(), mesh.value(), cut, where, grains);
    if (!shards.ok())
        return report(shards.error());
    if (arguments.has("--json"))
        printJson(shards.value(), *dtype);
    else
        std::cout << tilesText(shards.value(), layout.value(), *dtype);
    return kDone;
}

} // namespace shardboard
