// SPDX-License-Identifier: Apache-2.0
#include "model/io/layouts/layouttable.h"

#include "model/design/evaluate/evaluate.h"
#include "model/io/design/designfile.h"
#include "model/io/file/openfile.h"
#include "model/io/json/jsontext.h"
#include "model/io/maxtext/maxtextresolve.h"
#include "model/io/shards/shardsjson.h"
#include "model/io/shards/shardsjsonread.h"
#include "model/text/text.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

namespace shardboard {

namespace {

/// Mesh axes per dim. A sub-axis keeps Shardy's way of writing it.
DumpSpec specOf(const Layout& layout, const Mesh& mesh)
{
    DumpSpec spec;
    for (const auto& dim : layout.dims) {
        auto& axes = spec.emplace_back();
        for (const AxisRef& ref : dim)
            axes.push_back(mesh.axis(ref.axis).name
                           + (ref.whole() ? "" : ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size)));
    }
    return spec;
}

std::int64_t product(const Shape& shape) { return elementCount(shape).value_or(0); }

std::string cutText(const WeightLayout& weight)
{
    const auto& cuts = weight.shards.cuts();
    const bool even = std::ranges::all_of(cuts, [](const DimCut& cut) {
        return cut.segments().size() == 1 && cut.segments().front().size % cut.count() == 0 && cut.isBalanced();
    });
    if (even)
        return {};
    const StrategyParameters has = parametersOf(weight.strategy.kind);
    const bool named = has.heads || has.segments || weight.strategy.kind == StrategyKind::GateUp;
    return cutRuleName(weight.cut) + (named ? ", " + weight.strategy.text() : std::string());
}

/// The values of one planned segment, in the layout in which they stay: as written, or as they were resharded for all later
/// uses. Their names lack the part that they are of. Values that stay partial have no spec, and are left out.
std::vector<LaidOutTensor> valuesOf(const Evaluation& evaluation, const PlannedSegment& segment)
{
    const Plan& plan = evaluation.plan;
    std::map<TensorId, Layout> stays;
    for (const PlannedOp& op : segment.ops) {
        stays[evaluation.graph.op(op.op).result] = op.result;
        for (const OperandUse& use : op.operands)
            if (use.replaces)
                stays[use.tensor] = use.layout;
    }
    std::vector<LaidOutTensor> values;
    for (const PlannedOp& op : segment.ops) {
        const TensorId id = evaluation.graph.op(op.op).result;
        const TensorSpec& spec = evaluation.graph.tensor(id);
        if (!stays[id].partial.empty())
            continue;
        LaidOutTensor& out = values.emplace_back();
        out.name = activationName("/" + evaluation.graph.op(op.op).name, spec.dtype, spec.shape);
        out.shape = spec.shape;
        out.dtype = spec.dtype;
        if (!spec.logicalNames.empty())
            out.logicalNames = spec.logicalNames;
        out.spec = withoutUselessAxes(specOf(stays[id], plan.mesh), plan.mesh);
    }
    return values;
}

/// Files of one folder speak of the same tensors.
template <class Entry>
Status addEntry(LayoutTable& table, std::map<std::string, std::size_t>& index, const Entry& entry,
                const std::function<void(LaidOutTensor&)>& fill)
{
    const auto [it, fresh] = index.try_emplace(entry.name, table.tensors.size());
    if (fresh)
        table.tensors.push_back({ entry.name });
    LaidOutTensor& tensor = table.tensors[it->second];
    if (entry.shape && tensor.shape && *entry.shape != *tensor.shape)
        return inputError(table.source,
                          "the files of the folder disagree: " + entry.name + " is " + shapeText(*tensor.shape) + " in one and "
                              + shapeText(*entry.shape) + " in another",
                          "write the dump anew");
    if (entry.shape)
        tensor.shape = *entry.shape;
    fill(tensor);
    return done();
}

/// `stage=0,3`; empty where every device holds the weight.
std::string stagesText(const std::vector<std::int64_t>& stages, const Mesh& mesh, int axis)
{
    std::string text;
    for (const std::int64_t stage : stages)
        text += (text.empty() ? mesh.axis(axis).name + "=" : ",") + std::to_string(stage);
    return text;
}

LaidOutTensor laidOut(const WeightLayout& weight, std::int64_t layer, const ShardPlaces& places, const Mesh& mesh, bool withShards)
{
    LaidOutTensor tensor;
    tensor.dtype = weight.spec.dtype;
    if (!weight.spec.logicalNames.empty())
        tensor.logicalNames = weight.spec.logicalNames;
    if (weight.unknownShape)
        return tensor;
    tensor.shape = weight.spec.shape;
    tensor.spec = specOf(weight.layout, mesh);
    const PlacedShards placed = places.of(weight, layer);
    tensor.cut = cutText(weight);
    if (!placed.partial.empty()) // no even cut of whole dims says it
        tensor.cut += (tensor.cut.empty() ? "partial " : ", partial ") + placed.opName() + " over " + joined(placed.partialAxes());
    tensor.stages = stagesText(places.stagesOf(weight, layer), mesh, places.stageAxis());
    tensor.elementsPerDevice = placed.shards.maxElements();
    if (withShards)
        tensor.shards = std::make_shared<const std::string>(canonicalShards(placed));
    return tensor;
}

/// Reads what stagesText() writes. False where it is none of the mesh.
bool readStages(const std::string& text, const Mesh& mesh, PlacedShards& placed)
{
    if (text.empty())
        return true;
    const auto equals = text.find('=');
    placed.stageAxis = mesh.find(text.substr(0, equals));
    if (equals == std::string::npos || placed.stageAxis < 0)
        return false;
    for (const std::string_view part : split(std::string_view(text).substr(equals + 1), ',')) {
        const auto stage = parseInteger(part);
        if (!stage || *stage < 0 || *stage >= mesh.axis(placed.stageAxis).size)
            return false;
        placed.stages.push_back(*stage);
    }
    std::ranges::sort(placed.stages);
    return true;
}

/// The shards that an entry of a dump says, where it says them: whole dims cut evenly.
std::shared_ptr<const std::string> shardsOfEntry(const NamedEntry& entry, const Mesh& mesh)
{
    if (!entry.shape || !entry.cut.empty())
        return nullptr;
    PlacedShards placed;
    if (!readStages(entry.stages.value_or(std::string()), mesh, placed))
        return nullptr;
    Layout layout = Layout::replicated(entry.shape->size());
    for (std::size_t dim = 0; dim < entry.spec.size() && dim < layout.dims.size(); ++dim)
        for (const std::string& axis : entry.spec[dim])
            if (mesh.find(axis) != placed.stageAxis) // over the stages nothing is cut
                layout.dims[dim].push_back(AxisRef { mesh.find(axis) });
    auto shards = shardsOf(*entry.shape, layout, mesh, CutRule::Strict, entry.name);
    if (!shards.ok())
        return nullptr;
    placed.shards = std::move(shards).value();
    return std::make_shared<const std::string>(canonicalShards(placed));
}

Status addDump(LayoutTable& table, std::map<std::string, std::size_t>& index, const AnyDump& dump, bool withShards)
{
    if (const auto* logical = std::get_if<LogicalDump>(&dump)) {
        table.files.insert("logical_shardings.json");
        for (const LogicalEntry& entry : logical->entries)
            if (auto status = addEntry(table, index, entry, [&](LaidOutTensor& tensor) { tensor.logicalNames = entry.names; });
                !status.ok())
                return status;
    } else if (const auto* named = std::get_if<NamedDump>(&dump)) {
        table.mesh = named->mesh;
        table.files.insert("named_shardings.json");
        const auto fill = [&](const NamedEntry& entry, LaidOutTensor& tensor) {
            tensor.spec = entry.spec;
            tensor.cut = entry.cut;
            tensor.stages = entry.stages.value_or(std::string());
            if (entry.shape)
                tensor.elementsPerDevice = product(localShape(*entry.shape, entry.spec, named->mesh));
            if (withShards)
                tensor.shards = shardsOfEntry(entry, named->mesh);
        };
        for (const NamedEntry& entry : named->entries)
            if (auto status = addEntry(table, index, entry, [&](LaidOutTensor& tensor) { fill(entry, tensor); }); !status.ok())
                return status;
    } else {
        table.files.insert("input_shardings.json");
        for (const ActivationEntry& entry : std::get<ActivationDump>(dump).entries) {
            LaidOutTensor out { entry.name };
            out.shape = activationShape(entry.name);
            out.logicalNames = entry.names;
            out.spec = entry.spec;
            table.activations.push_back(std::move(out));
        }
    }
    return done();
}

/// The first bytes of a file, enough to tell what it is.
Result<std::string> readHead(const std::string& path)
{
    auto file = OpenFile::open(path);
    if (!file.ok())
        return file.error();
    std::string head(4096, '\0');
    const auto count = file.value().read(head.data(), head.size());
    head.resize(count.value_or(0));
    return head;
}

Result<LayoutTable> readFolder(const std::string& path, bool withShards)
{
    LayoutTable table;
    table.source = path;
    std::map<std::string, std::size_t> index;
    bool any = false;
    std::error_code ignored;
    for (const char* name : { "logical_shardings.json", "named_shardings.json", "input_shardings.json" }) {
        const std::string file = path + "/" + name;
        if (!std::filesystem::exists(file, ignored))
            continue;
        if (const auto head = readHead(file); head.ok() && trimmed(head.value()) == "{}") { // no weight has logical names
            table.files.insert(name);
            any = true;
            continue;
        }
        auto dump = readDump(file, DumpCheck::AllowIndivisible);
        if (!dump.ok())
            return dump.error();
        if (auto status = addDump(table, index, dump.value(), withShards); !status.ok())
            return status.error();
        any = true;
    }
    if (!any && std::filesystem::exists(path + "/shards.json", ignored))
        return readLayoutTable(path + "/shards.json", true);
    if (!any)
        return inputError(path, "the folder has no dump (named_shardings.json and its companions) and no shards.json",
                          "give a folder that shardctl dump, shardctl export or MaxText wrote");
    return table;
}

Result<LayoutTable> readShardsFile(const std::string& path)
{
    auto proof = readShardsJson(path);
    if (!proof.ok())
        return proof.error();
    LayoutTable table;
    table.source = path;
    table.mesh = proof.value().mesh;
    for (ShardsOfTensor& tensor : proof.value().tensors) {
        LaidOutTensor out { std::move(tensor.name) };
        out.shape = std::move(tensor.shape);
        out.dtype = tensor.dtype;
        out.shards = std::move(tensor.canonical);
        out.elementsPerDevice = tensor.elementsPerDevice;
        table.tensors.push_back(std::move(out));
    }
    return table;
}

} // namespace

std::string activationName(const std::string& name, DType type, const Shape& shape)
{
    static const std::pair<DType, const char*> kNames[] {
        { DType::BF16, "bfloat16" },
        { DType::F16, "float16" },
        { DType::F32, "float32" },
        { DType::F64, "float64" },
        { DType::I8, "int8" },
        { DType::U8, "uint8" },
        { DType::I16, "int16" },
        { DType::I32, "int32" },
        { DType::I64, "int64" },
        { DType::Bool, "bool" },
        { DType::F8E4M3, "float8_e4m3fn" },
        { DType::F8E5M2, "float8_e5m2" },
    };
    std::string typeName = dtypeName(type);
    for (const auto& [known, text] : kNames)
        if (known == type)
            typeName = text;
    std::string sizes;
    for (const std::int64_t size : shape)
        sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    return name + ": " + typeName + "[" + sizes + "]";
}

void visitWeights(const Design& design, const Evaluation& evaluation, bool withShards, const LaidOutVisitor& visit)
{
    struct Kind {
        LaidOutTensor tensor;
        std::size_t number = 0;
    };
    const ShardPlaces places(evaluation);
    const WeightLayout* last = nullptr;
    std::map<std::vector<std::int64_t>, Kind> kinds; // of this weight, by its stages: the same for all layers that lie there
    std::size_t count = 0;
    forEachWeight(evaluation, [&](const std::string& name, const WeightLayout& weight, std::int64_t layer) {
        if (&weight != last)
            kinds.clear();
        last = &weight;
        const auto [kind, isNew] = kinds.try_emplace(places.stagesOf(weight, layer));
        if (isNew)
            kind->second = { laidOut(weight, layer, places, design.mesh, withShards), count++ };
        visit(name, kind->second.tensor, kind->second.number);
    });
}

void visitActivations(const Evaluation& evaluation, const LaidOutVisitor& visit)
{
    std::size_t kinds = 0;
    for (const PlannedSegment& segment : evaluation.plan.segments) {
        const bool layers = evaluation.graph.segment(segment.segment).isLayer;
        const std::vector<LaidOutTensor> values = valuesOf(evaluation, segment);
        for (std::int64_t i = 0; i < segment.count;
             ++i) { // every layer apart, so that one that changes leaves the names of the others alone
            const std::string part = layers ? "layers." + std::to_string(segment.firstLayer + i) : segment.name;
            for (std::size_t value = 0; value < values.size(); ++value)
                visit(part + values[value].name, values[value], kinds + value);
        }
        kinds += values.size();
    }
}

LayoutTable layoutTableOf(const Design& design, const Evaluation& evaluation, const std::string& source, bool withShards)
{
    LayoutTable table;
    table.source = source;
    table.mesh = design.mesh;
    const auto addTo = [](std::vector<LaidOutTensor>& list) {
        return
            [&list](const std::string& name, const LaidOutTensor& tensor, std::size_t) { list.emplace_back(tensor).name = name; };
    };
    visitWeights(design, evaluation, withShards, addTo(table.tensors));
    if (design.model.hasGraph())
        visitActivations(evaluation, addTo(table.activations));
    return table;
}

Result<LayoutTable> layoutTableOf(const RuleSetup& setup, const Mesh& mesh, const LogicalDump& logical)
{
    LayoutTable table;
    const auto resolved = resolveWeights(logical, setup, mesh, table.warnings);
    if (!resolved.ok())
        return resolved.error();
    table.source = setup.name;
    std::map<std::string, std::size_t> index;
    if (auto status = addDump(table, index, AnyDump(resolved.value()), false); !status.ok())
        return status.error();
    for (LaidOutTensor& tensor : table.tensors)
        tensor.stages.reset(); // rules say nothing about them
    return table;
}

bool isShardsJson(const std::string& path)
{
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed))
        return std::filesystem::exists(path + "/shards.json", failed)
            && !std::filesystem::exists(path + "/named_shardings.json", failed);
    const auto head = readHead(path);
    const auto has = [&](const char* key) { return head.value().find(key) != std::string::npos; };
    // Of many devices the list of their ids, which only a proof begins with, is longer than that.
    return head.ok() && (has("\"tensors\"") || has("\"device_ids\"")) && !has("\"format\"");
}

Result<LayoutTable> readLayoutTable(const std::string& path, bool withShards)
{
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed))
        return readFolder(path, withShards);
    if (isShardsJson(path))
        return readShardsFile(path);
    const auto head = readHead(path);
    if (!head.ok())
        return head.error();
    if (path.ends_with(".shardboard") || head.value().find("\"shardboard\"") != std::string::npos) {
        const auto design = readDesign(path);
        if (!design.ok())
            return design.error();
        const auto evaluation = evaluate(design.value());
        if (!evaluation.ok()) {
            Error error = evaluation.error();
            error.where = path + ":" + error.where;
            return error;
        }
        return layoutTableOf(design.value(), *evaluation.value(), path, withShards);
    }
    auto dump = readDump(path, DumpCheck::AllowIndivisible);
    if (!dump.ok())
        return dump.error();
    LayoutTable table;
    table.source = path;
    std::map<std::string, std::size_t> index;
    if (auto status = addDump(table, index, dump.value(), withShards); !status.ok())
        return status.error();
    table.files.clear(); // one file stands for itself
    return table;
}

LogicalDump logicalDumpOf(const LayoutTable& table)
{
    LogicalDump dump;
    dump.file = table.source;
    for (const LaidOutTensor& tensor : table.tensors) {
        LogicalEntry entry { tensor.name,
                             tensor.logicalNames.value_or(std::vector<std::string>(tensor.shape ? tensor.shape->size() : 0)),
                             tensor.shape };
        dump.entries.push_back(std::move(entry));
    }
    return dump;
}

} // namespace shardboard
