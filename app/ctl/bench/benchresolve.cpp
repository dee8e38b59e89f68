// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/design/resolver.h"
#include "model/families/decoder.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/rules/rulesetup.h"
#include "model/text/numbers.h"

#include <sys/resource.h>

#include <map>

namespace shardboard {

namespace {

constexpr std::size_t kRounds = 15;

struct Devices {
    std::int64_t data;
    std::int64_t fsdp;
    std::int64_t tensor;
};

/// The most memory this process has held so far.
std::int64_t peakBytes()
{
    rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t { 1024 } * usage.ru_maxrss;
}

/// Every weight of the model by itself: no layer stands for another.
struct Weights {
    std::vector<WeightLayout> layouts;
    std::vector<std::string> names;
};

Result<Weights> everyWeight(const ModelSpec& model, const Workload& workload)
{
    std::vector<std::int64_t> everywhere;
    for (std::int64_t layer = 1; layer < model.layers; ++layer)
        everywhere.push_back(layer);
    const auto graph = buildDecoder(model, workload, everywhere);
    if (!graph.ok())
        return graph.error();
    Weights out;
    for (std::size_t id = 0; id < graph.value().tensors.size(); ++id) {
        const GraphTensor& tensor = graph.value().tensors[id];
        if (tensor.spec.role != TensorRole::Weight)
            continue;
        const Segment& segment = graph.value().segments[static_cast<std::size_t>(tensor.segment)];
        WeightLayout& weight = out.layouts.emplace_back();
        weight.tensor = static_cast<TensorId>(id);
        weight.spec = tensor.spec;
        out.names.push_back(segment.isLayer ? concreteName(tensor.spec.name, segment.firstLayer) : tensor.spec.name);
    }
    return out;
}

/// The default rules on the mesh that they are written for.
Result<Design> ruledDesign(const ModelSpec& model, const Devices& on)
{
    auto setup = rulePreset("default", "bench");
    if (!setup.ok())
        return setup.error();
    setup.value().options = { { "ici_data_parallelism", on.data },
                              { "ici_fsdp_parallelism", on.fsdp },
                              { "ici_tensor_parallelism", on.tensor } };
    auto mesh = meshOf(setup.value(), on.data * on.fsdp * on.tensor, 1);
    if (!mesh.ok())
        return mesh.error();
    Design design;
    design.model = model;
    design.mesh = std::move(mesh).value();
    design.rules = { "preset default", setup.value().rules };
    design.workload.batch = 2048;
    return design;
}

Result<Design> namedDesign(const ModelSpec& model, const Devices& on)
{
    auto mesh = Mesh::make({ { "data", on.data }, { "fsdp", on.fsdp }, { "tensor", on.tensor } });
    if (!mesh.ok())
        return mesh.error();
    Design design;
    design.model = model;
    design.mesh = std::move(mesh).value();
    design.workload.batch = 2048;
    std::vector<std::string> notes;
    auto entries = presetStrategies("megatron-tp", design.mesh, model, design.workload, notes);
    if (!entries.ok())
        return entries.error();
    design.strategies = std::move(entries).value();
    return design;
}

/// Layouts, shard maps, bytes, and what the last device holds of each weight.
std::int64_t resolveAll(const Design& design, Weights& weights)
{
    Resolver resolver(design);
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < weights.layouts.size(); ++i) {
        resolver.layOut(weights.layouts[i], weights.names[i]);
        elements += weights.layouts[i].shards.shardAt(design.mesh.deviceCount() - 1).elements();
    }
    return elements;
}

struct Measured {
    std::string by;
    std::int64_t devices = 0;
    std::size_t weights = 0;
    double seconds = 0;
    std::int64_t grew = 0; ///< peak memory since the benchmark began
    double evaluateSeconds = 0;
};

Result<Measured> measure(const std::string& by, const ModelSpec& model, const Devices& on, std::int64_t peakBefore)
{
    const auto design = by == "rules" ? ruledDesign(model, on) : namedDesign(model, on);
    if (!design.ok())
        return design.error();
    auto weights = everyWeight(model, design.value().workload);
    if (!weights.ok())
        return weights.error();
    std::int64_t elements = 0;
    Measured row { by, design.value().mesh.deviceCount(), weights.value().layouts.size(), 0, 0, 0 };
    row.seconds = medianSeconds(kRounds, [&] { elements = resolveAll(design.value(), weights.value()); });
    row.grew = peakBytes() - peakBefore;
    bool good = elements > 0;
    row.evaluateSeconds = medianSeconds(kRounds, [&] { good = evaluate(design.value()).ok() && good; });
    if (!good)
        return inputError("bench", "the benchmark's own design cannot be evaluated");
    return row;
}

} // namespace

Result<BenchmarkReport> benchResolve()
{
    const auto model = builtinModel("llama3.1-405b");
    if (!model.ok())
        return model.error();
    // The large mesh comes first, so that what a small one has already claimed does not hide its memory.
    const Devices meshes[] = { { 8, 128, 128 }, { 2, 2, 2 } };
    const std::int64_t before = peakBytes();
    std::vector<Measured> rows;
    std::map<std::string, double> onFew; // the last mesh is the small one
    for (const Devices& mesh : meshes)
        for (const char* by : { "rules", "strategies" }) {
            auto row = measure(by, model.value(), mesh, before);
            if (!row.ok())
                return row.error();
            onFew[by] = row.value().seconds;
            rows.push_back(std::move(row).value());
        }
    constexpr double kFrame = 0.016;
    BenchmarkReport report;
    Table table({ "resolve every weight", "by", ">devices", ">weights", ">all", ">a weight", ">of 8 devices", ">peak memory grew",
                  ">evaluate", ">of a 16 ms frame" });
    for (const Measured& row : rows) {
        const double each = row.seconds / static_cast<double>(row.weights);
        const double ratio = row.seconds / onFew[row.by];
        table.add({ model.value().name, row.by, countText(row.devices), countText(static_cast<std::int64_t>(row.weights)),
                    secondsText(row.seconds), secondsText(each), formatted("%.2f", ratio), bytesText(row.grew),
                    secondsText(row.evaluateSeconds), formatted("%.2f", row.evaluateSeconds / kFrame) });
        report.rows.push_back({ { "name", "resolve" },
                                { "model", model.value().name },
                                { "by", row.by },
                                { "devices", row.devices },
                                { "weights", row.weights },
                                { "seconds", row.seconds },
                                { "seconds_per_weight", each },
                                { "of_8_devices", ratio },
                                { "peak_memory_growth_bytes", row.grew },
                                { "evaluate_seconds", row.evaluateSeconds } });
    }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
