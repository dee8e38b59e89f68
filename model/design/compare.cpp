// SPDX-License-Identifier: Apache-2.0
#include "model/design/compare.h"

#include "model/plan/hostcopies.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"
#include "model/text/figures.h"
#include "model/text/names.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

namespace shardboard {

namespace {

using Part = DesignDifference::Part;
using CostUnit = CostLine::Unit;
using Better = CostLine::Better;

std::string fixed(double value, int digits)
{
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string pickerText(const PickerOptions& options)
{
    std::vector<std::string> parts { profileName(options.profile) };
    if (options.picker != PickerKind::Greedy)
        parts.push_back(pickerName(options.picker));
    if (options.onReshard != OnReshard::Silent)
        parts.push_back("on reshard " + onReshardName(options.onReshard));
    if (options.allowPartialToSharded)
        parts.push_back("partial to sharded");
    if (options.allowedTransitions != TransitionSet::defaults())
        parts.push_back("transitions " + options.allowedTransitions.text());
    if (options.budgetBytesPerDevice)
        parts.push_back("budget " + bytesText(options.budgetBytes()));
    return joined(parts);
}

std::string pipelineText(const PipelineSpec& pipeline)
{
    if (!pipeline.present())
        return "none";
    std::string out = "over " + pipeline.axis + ", " + scheduleTitle(pipeline.schedule, pipeline.chunks);
    if (pipeline.chunks > 1)
        out += ", " + std::to_string(pipeline.chunks) + " runs a stage";
    if (!pipeline.layers.empty())
        out += ", layers " + stageLayersText(pipeline.layers);
    if (pipeline.countEmbedding || pipeline.countLoss)
        out += std::string(", ")
            + (!pipeline.countLoss           ? "embedding"
                   : pipeline.countEmbedding ? "embedding and loss"
                                             : "loss")
            + " counted as " + (pipeline.countEmbedding && pipeline.countLoss ? "layers" : "a layer");
    return out;
}

std::string optimizerText(const OptimizerSharding& optimizer)
{
    return optimizer.present() ? "cut over " + joined(optimizer.axes) + (optimizer.gradients ? ", gradients too" : "")
                               : "as the weights";
}

std::string rulesText(const DesignRules& rules)
{
    if (rules.rules.empty())
        return "none";
    return (rules.source.empty() ? std::string("own") : rules.source) + ", " + std::to_string(rules.rules.size()) + " rules";
}

std::string meshText(const Mesh& mesh)
{
    if (mesh.axisCount() == 0)
        return "one device";
    return mesh.text() + (mesh.deviceIds().empty() ? std::string() : ", own device order");
}

class Comparer {
public:
    Comparer(const Design& before, const Evaluation& beforeEvaluation, const Design& after, const Evaluation& afterEvaluation)
        : m_before(before)
        , m_after(after)
        , m_old(beforeEvaluation)
        , m_new(afterEvaluation)
    {
    }

    DesignComparison run()
    {
        changed(Part::Model, "model", m_before.model.name, m_after.model.name);
        if (m_before.model.name == m_after.model.name && m_before.model != m_after.model)
            m_out.changes.push_back(
                { Part::Model, { "model" }, "its dimensions differ", countText(m_new.parameters) + " parameters" });
        changed(Part::Mesh, "mesh", meshText(m_before.mesh), meshText(m_after.mesh));
        if (m_before.mesh.deviceIds() != m_after.mesh.deviceIds() && meshText(m_before.mesh) == meshText(m_after.mesh))
            m_out.changes.push_back({ Part::Mesh, { "device order" }, "one order", "another order" });
        hardware();
        workload();
        changed(Part::Pipeline, "pipeline", pipelineText(m_before.pipeline), pipelineText(m_after.pipeline));
        changed(Part::Picker, "picker", pickerText(m_before.picker), pickerText(m_after.picker));
        memorySettings();
        changed(Part::Rules, "rules", rulesText(m_before.rules), rulesText(m_after.rules));
        if (m_before.rules.rules != m_after.rules.rules && rulesText(m_before.rules) == rulesText(m_after.rules))
            m_out.changes.push_back({ Part::Rules, { "rules" }, "other rules", rulesText(m_after.rules) });
        weights();
        pins();
        costs();
        notes();
        return std::move(m_out);
    }

private:
    void changed(Part part, const char* name, const std::string& before, const std::string& after)
    {
        if (before != after)
            m_out.changes.push_back({ part, { name }, before, after });
    }

    void hardware()
    {
        changed(Part::Hardware, "hardware", m_before.hardware, m_after.hardware);
        if (m_before.hardware == m_after.hardware && m_before.ownHardware != m_after.ownHardware)
            m_out.changes.push_back({ Part::Hardware,
                                      { "hardware" },
                                      m_before.ownHardware ? "values of its own" : "as the preset",
                                      m_after.ownHardware ? "other values of its own" : "as the preset" });
    }

    void workload()
    {
        const Workload a = effective(m_before.workload); // settings that wait make no difference
        const Workload b = effective(m_after.workload);
        const auto number = [](std::int64_t value) { return countText(value); };
        changed(Part::Workload, "workload", workloadName(a.kind), workloadName(b.kind));
        changed(Part::Workload, "batch", number(a.batch), number(b.batch));
        changed(Part::Workload, "sequence", number(a.sequence), number(b.sequence));
        changed(Part::Workload, "dtype", dtypeName(a.dtype), dtypeName(b.dtype));
        changed(Part::Workload, "micro-batches", number(a.microBatches), number(b.microBatches));
        changed(Part::Workload, "recompute", recomputeName(a.recompute), recomputeName(b.recompute));
        changed(Part::Workload, "layers that recompute", a.recomputeLayers == 0 ? "all" : number(a.recomputeLayers),
                b.recomputeLayers == 0 ? "all" : number(b.recomputeLayers));
        changed(Part::Workload, "recomputes one layer in", number(a.recomputeEvery), number(b.recomputeEvery));
        changed(Part::Workload, "attention", attentionKernelName(a.attention), attentionKernelName(b.attention));
        changed(Part::Workload, "overlap", overlapName(a.overlap), overlapName(b.overlap));
        changed(Part::Workload, "software", softwareName(a.software), softwareName(b.software));
        changed(Part::Workload, "launches", a.graphs ? "CUDA graphs" : "one by one", b.graphs ? "CUDA graphs" : "one by one");
        const auto capacity = [](double factor) { return factor == 0 ? std::string("dropless") : figures::digits(factor); };
        changed(Part::Workload, "capacity of experts", capacity(a.capacityFactor), capacity(b.capacityFactor));
        changed(Part::Workload, "dispatch", dispatchName(a.dispatch), dispatchName(b.dispatch));
        changed(Part::Workload, "order of context", contextOrderName(a.contextOrder), contextOrderName(b.contextOrder));
        changed(Part::Workload, "logits", logitsName(a.logits), logitsName(b.logits));
        changed(Part::Workload, "fp8 recipe", fp8Text(a.fp8), fp8Text(b.fp8));
        changed(Part::Workload, "precision", precisionText(a.precision), precisionText(b.precision));
        changed(Part::Workload, "optimizer", optimizerName(a.rule), optimizerName(b.rule));
        changed(Part::Workload, "offload", offloadText(a.offload), offloadText(b.offload));
        changed(Part::Workload, "further tokens predicted", number(a.predicted), number(b.predicted));
        changed(Part::Workload, "optimizer states", optimizerText(a.optimizer), optimizerText(b.optimizer));
    }

    static std::string offloadText(const Offload& offload)
    {
        return offloadName(offload.what)
            + (offload.any() && offload.layers > 0 ? ", " + countText(offload.layers) + " layers" : "");
    }
    static std::string fp8Text(const Fp8Settings& fp8)
    {
        return std::string(fp8RecipeName(fp8.recipe)) + (fp8.gather ? ", gathered in fp8" : "");
    }
    static std::string groupText(const std::optional<bool>& groups)
    {
        return !groups ? "as the framework does" : *groups ? "in one call" : "one by one";
    }
    static std::string reshardText(const std::optional<bool>& reshards)
    {
        return !reshards ? "as the framework does" : *reshards ? "yes" : "no";
    }

    void memorySettings()
    {
        const MemorySettings& a = m_before.memory;
        const MemorySettings& b = m_after.memory;
        changed(Part::Memory, "framework", frameworkName(a.framework), frameworkName(b.framework));
        changed(Part::Memory, "reshard after forward", reshardText(a.reshardAfterForward), reshardText(b.reshardAfterForward));
        changed(Part::Memory, "collectives of a block", groupText(a.groupCollectives), groupText(b.groupCollectives));
        changed(Part::Memory, "layers gathered ahead", countText(a.prefetchedLayers), countText(b.prefetchedLayers));
        changed(Part::Memory, "allocator's reserve", costText(CostUnit::Share, a.reserveShare),
                costText(CostUnit::Share, b.reserveShare));
        changed(Part::Memory, "loss", a.logitsInF32 ? "copies logits in f32" : "fused",
                b.logitsInF32 ? "copies logits in f32" : "fused");
        changed(Part::Memory, "context", bytesText(a.contextBytes), bytesText(b.contextBytes));
        changed(Part::Memory, "a communicator", bytesText(a.communicatorBytes), bytesText(b.communicatorBytes));
    }

    void weights()
    {
        const auto before = layoutTexts(m_old);
        const auto after = layoutTexts(m_new);
        const std::map<std::string, std::string> wasOf(before.begin(), before.end());
        const std::map<std::string, std::string> isOf(after.begin(), after.end());
        const auto add = [this](const std::string& name, const std::string& was, const std::string& is) {
            for (DesignDifference& change : m_out.changes)
                if (change.part == Part::Weight && change.before == was && change.after == is) {
                    change.names.push_back(withoutLayer(name));
                    return;
                }
            m_out.changes.push_back({ Part::Weight, { withoutLayer(name) }, was, is });
        };
        if (m_before.model.name != m_after.model.name)
            return; // other weights altogether
        for (const auto& [name, text] : after) {
            const auto was = wasOf.find(name);
            if (was == wasOf.end() || was->second != text)
                add(name, was == wasOf.end() ? std::string() : was->second, text);
        }
        for (const auto& [name, text] : before)
            if (!isOf.contains(name))
                add(name, text, {});
    }

    void pins()
    {
        std::multiset<std::string> left;
        for (const Pin& pin : m_before.pins)
            left.insert(pinText(pin));
        std::vector<std::string> added;
        for (const Pin& pin : m_after.pins) {
            const std::string text = pinText(pin);
            if (const auto same = left.find(text); same != left.end())
                left.erase(same);
            else
                added.push_back(text);
        }
        for (const std::string& text : left)
            m_out.changes.push_back({ Part::Pin, { "pin" }, text, {} });
        for (const std::string& text : added)
            m_out.changes.push_back({ Part::Pin, { "pin" }, {}, text });
    }

    /// Nothing that is not a number reaches a person or a document.
    void line(CostLine cost)
    {
        for (double* value : { &cost.before, &cost.after })
            *value = std::isfinite(*value) ? *value : 0;
        m_out.costs.push_back(std::move(cost));
    }

    void lineIfAny(CostLine cost)
    {
        if (cost.before != 0 || cost.after != 0)
            line(std::move(cost));
    }

    void collectives()
    {
        // By kind and the names of the mesh axes: the two meshes may have other axes.
        std::map<std::string, std::pair<double, double>> seconds;
        std::vector<std::string> order;
        const auto add = [&](const Evaluation& evaluation, bool old) {
            const Plan& plan = evaluation.plan;
            const auto times = deviceCollectives(evaluation.graph, plan);
            for (CollectiveId i { 0 }; i < plan.collectives.size(); ++i) {
                const Collective& collective = plan.collective(i);
                if (collective.kind == CollectiveKind::LocalSlice)
                    continue;
                std::vector<std::string> axes;
                for (const int axis : collective.axes)
                    axes.push_back(plan.mesh.axis(axis).name);
                const std::string name = collectiveName(collective.kind) + " over " + joined(axes);
                const auto [found, isNew] = seconds.try_emplace(name);
                if (isNew)
                    order.push_back(name);
                (old ? found->second.first : found->second.second) += times[i].seconds;
            }
        };
        add(m_old, true);
        add(m_new, false);
        for (const std::string& name : order)
            lineIfAny(
                { "collectives/" + name, name, CostUnit::Seconds, Better::Lower, seconds[name].first, seconds[name].second, true });
    }

    static double calls(const Plan& plan)
    {
        double sum = 0;
        for (const Collective& collective : plan.collectives)
            if (collective.isCall())
                sum += static_cast<double>(collective.count);
        return sum;
    }

    void costs()
    {
        const Plan& a = m_old.plan;
        const Plan& b = m_new.plan;
        line({ "devices", "devices", CostUnit::Count, Better::Neither, static_cast<double>(a.mesh.deviceCount()),
               static_cast<double>(b.mesh.deviceCount()) });
        line({ "step_seconds", "step", CostUnit::Seconds, Better::Lower, a.seconds(), b.seconds() });
        line({ "compute_seconds", "compute", CostUnit::Seconds, Better::Lower, a.device.compute, b.device.compute, true });
        const double hostBefore = hostCopySeconds(m_old.graph, a);
        const double hostAfter = hostCopySeconds(m_new.graph, b);
        line({ "exposed_seconds", hostBefore + hostAfter > 0 ? "collectives and host copies, exposed" : "collectives, exposed",
               CostUnit::Seconds, Better::Lower, a.device.exposed, b.device.exposed, true });
        lineIfAny(
            { "bubble_seconds", "waiting for stages", CostUnit::Seconds, Better::Lower, a.device.bubble, b.device.bubble, true });
        lineIfAny({ "bubble", "bubble, of the ideal time", CostUnit::Share, Better::Lower, a.pipeline ? a.pipeline->bubble : 0,
                    b.pipeline ? b.pipeline->bubble : 0, true });
        line({ "tokens_per_second_per_device", "tok/s/device", CostUnit::Rate, Better::Higher,
               a.performance.tokensPerSecondPerDevice, b.performance.tokensPerSecondPerDevice });
        line({ "mfu", "MFU", CostUnit::Share, Better::Higher, a.performance.mfu, b.performance.mfu });
        lineIfAny({ "hfu", "HFU", CostUnit::Share, Better::Neither, a.performance.hfu, b.performance.hfu });
        line({ "memory_peak_bytes", "memory per device", CostUnit::Bytes, Better::Lower, static_cast<double>(a.memory.peak),
               static_cast<double>(b.memory.peak) });
        memory(a.memory, b.memory);
        lineIfAny({ "memory_host_bytes", "in the host's memory, per device", CostUnit::Bytes, Better::Lower,
                    static_cast<double>(hostBytes(a)), static_cast<double>(hostBytes(b)) });
        line({ "collective_seconds", "all collectives", CostUnit::Seconds, Better::Lower, collectiveSecondsAlone(m_old.graph, a),
               collectiveSecondsAlone(m_new.graph, b) });
        collectives();
        line({ "collective_bytes", "bytes in collectives", CostUnit::Bytes, Better::Lower,
               static_cast<double>(collectiveBytesOfDevice(m_old.graph, a)),
               static_cast<double>(collectiveBytesOfDevice(m_new.graph, b)) });
        lineIfAny({ "host_seconds", "copies to and from the host", CostUnit::Seconds, Better::Lower, hostBefore, hostAfter });
        line({ "collective_count", "collective calls", CostUnit::Count, Better::Neither, calls(a), calls(b) });
        line({ "findings", "findings", CostUnit::Count, Better::Lower, static_cast<double>(m_old.findings.size()),
               static_cast<double>(m_new.findings.size()) });
    }

    /// `training of 2,048 sequences of 8,192 tokens`
    static std::string workText(const Workload& workload)
    {
        const std::string sequences = countText(workload.batch) + " sequences of " + countText(workload.sequence) + " tokens";
        switch (workload.kind) {
        case WorkloadKind::Train:
            return "a training step of " + sequences;
        case WorkloadKind::Decode:
            return "decoding one token of " + sequences;
        case WorkloadKind::Prefill:
            break;
        }
        return "a prefill of " + sequences;
    }

    void notes()
    {
        const Workload& a = m_before.workload;
        const Workload& b = m_after.workload;
        if (a.kind != b.kind)
            m_out.notes.push_back("the two designs do different work: " + workText(a) + " before, " + workText(b)
                                  + " after; times and memory do not compare");
        else if (a.batch != b.batch || a.sequence != b.sequence)
            m_out.notes.push_back("the two designs do different work: " + workText(a) + " before, " + workText(b)
                                  + " after; compare tok/s/device and MFU, not the step");
        if (m_before.model != m_after.model)
            m_out.notes.push_back("the two designs have different models: " + m_before.model.name + ", "
                                  + countText(m_old.parameters) + " parameters, before, " + m_after.model.name + ", "
                                  + countText(m_new.parameters) + " parameters, after");
    }

    void memory(const MemoryByCause& a, const MemoryByCause& b)
    {
        for (const MemoryCause& cause : memoryCauses())
            lineIfAny({ std::string("memory/") + cause.key, cause.name, CostUnit::Bytes, Better::Lower,
                        static_cast<double>(a.*cause.bytes), static_cast<double>(b.*cause.bytes), true });
    }

    const Design& m_before;
    const Design& m_after;
    const Evaluation& m_old;
    const Evaluation& m_new;
    DesignComparison m_out;
};

} // namespace

std::string withoutLayer(std::string name)
{
    constexpr std::string_view kLayer = ".layers.*.";
    if (const std::size_t at = name.find(kLayer); at != std::string::npos)
        name.erase(0, at + kLayer.size());
    else if (name.starts_with("model."))
        name.erase(0, 6);
    constexpr std::string_view kWeight = ".weight";
    if (name.ends_with(kWeight))
        name.erase(name.size() - kWeight.size());
    return name;
}

std::vector<std::pair<std::string, std::string>> layoutTexts(const Evaluation& evaluation)
{
    std::vector<std::pair<std::string, std::string>> out;
    std::map<std::string, std::size_t> rows;
    std::map<std::string, std::string> last;
    for (const WeightLayout& weight : evaluation.weights) {
        std::string text = specText(weight.layout, evaluation.plan.mesh);
        if (weight.shards.cuts().size() == weight.layout.dims.size())
            for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim)
                if (!weight.layout.dims[dim].empty() && !weight.shards.cuts()[dim].isBalanced())
                    text += ", dim " + std::to_string(dim) + " cut " + cutRuleName(weight.shards.cuts()[dim].rule());
        const auto [row, isNew] = rows.emplace(weight.spec.name, out.size());
        if (isNew)
            out.emplace_back(weight.spec.name, text);
        else if (last[weight.spec.name] != text)
            out[row->second].second += "; from layer " + std::to_string(weight.firstLayer) + " " + text;
        last[weight.spec.name] = text;
    }
    return out;
}

std::string changePartName(DesignDifference::Part part)
{
    constexpr std::array kNames {
        "model", "mesh", "hardware", "workload", "pipeline", "picker", "memory", "rules", "weight", "pin"
    };
    return nameIn(kNames, part);
}

CostLine::Verdict CostLine::verdict() const
{
    // Sums of the same parts in another order differ in their last digits.
    const double scale = std::max(std::abs(before), std::abs(after));
    if (std::abs(difference()) <= 1e-9 * scale)
        return Verdict::Same;
    if (better == Better::Neither)
        return Verdict::Other;
    return (difference() < 0) == (better == Better::Lower) ? Verdict::Better : Verdict::Worse;
}

std::string verdictName(CostLine::Verdict verdict)
{
    constexpr std::array kNames { "same", "better", "worse", "other" };
    return nameIn(kNames, verdict);
}

std::string costText(CostLine::Unit unit, double value)
{
    switch (unit) {
    case CostUnit::Seconds:
        return secondsText(value);
    case CostUnit::Bytes:
        return bytesText(std::llround(value));
    case CostUnit::Count:
        return countText(std::llround(value));
    case CostUnit::Rate:
        return figures::digits(value);
    case CostUnit::Share:
        return figures::percent(value);
    }
    return {};
}

std::string costDifferenceText(CostLine::Unit unit, double difference)
{
    const std::string sign = difference < 0 ? "-" : difference > 0 ? "+" : "";
    return sign
        + (unit == CostUnit::Share ? figures::digits(100 * std::abs(difference)) + " points"
                                   : costText(unit, std::abs(difference)));
}

std::string changeText(double change)
{
    const double percent = 100 * change;
    if (std::abs(percent) < 0.05 || !std::isfinite(percent))
        return {};
    if (percent >= 1000)
        return fixed(1 + change, change < 99 ? 1 : 0) + " x";
    return (percent > 0 ? "+" : "-") + fixed(std::abs(percent), std::abs(percent) < 99.95 ? 1 : 0) + " %";
}

const CostLine* DesignComparison::cost(const std::string& key) const
{
    const auto found = std::ranges::find_if(costs, [&](const CostLine& line) { return line.key == key; });
    return found == costs.end() ? nullptr : &*found;
}

DesignComparison compareDesigns(const Design& before, const Evaluation& beforeEvaluation, const Design& after,
                                const Evaluation& afterEvaluation)
{
    return Comparer(before, beforeEvaluation, after, afterEvaluation).run();
}

} // namespace shardboard
