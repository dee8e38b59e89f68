// SPDX-License-Identifier: Apache-2.0
#include "model/design/evaluate/fitadvice.h"

#include "model/design/evaluation.h"
#include "model/design/presets/presetaxes.h"
#include "model/design/presets/presets.h"
#include "model/families/buildgraph.h"
#include "model/hardware/hardware.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// One thing that can be different.
struct Change {
    std::string what;
    int group; ///< changes of one group exclude each other
    std::function<bool(Design&)> apply; ///< false: makes no sense for this design
};

enum Group { Recomputing, Batches, States, Layouts, Devices };

void addRecomputing(const Design& design, std::vector<Change>& out)
{
    const auto add = [&](const char* what, Recompute recompute) {
        if (design.workload.recompute != recompute || !design.workload.recomputesInAll())
            out.push_back({ what, Recomputing, [recompute](Design& d) {
                               d.workload.recompute = recompute;
                               d.workload.recomputeLayers = 0;
                               d.workload.recomputeEvery = 1;
                               return true;
                           } });
    };
    if (design.workload.recompute == Recompute::None)
        add("recompute what is cheap (selective)", Recompute::Selective);
    add("recompute fully", Recompute::Full);
}

void addMicroBatches(const Design& design, std::vector<Change>& out)
{
    constexpr std::int64_t kMostTimes = 64;
    for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
        const std::int64_t count = design.workload.microBatches * times;
        if (count > design.workload.batch || design.workload.batch % count != 0)
            break;
        out.push_back({ std::to_string(count) + " micro-batches", Batches, [count](Design& d) {
                           d.workload.microBatches = count;
                           return true;
                       } });
    }
}

/// Over the axes that hold copies of the weights.
void addOptimizer(const Design& design, std::vector<Change>& out)
{
    std::vector<std::string> axes;
    for (const int axis : axisRoles(design.mesh).data)
        if (design.mesh.axis(axis).size > 1)
            axes.push_back(design.mesh.axis(axis).name);
    for (const bool gradients : { false, true })
        if (const OptimizerSharding sharding { axes, gradients }; !axes.empty() && !(sharding == design.workload.optimizer))
            out.push_back({ std::string("optimizer states ") + (gradients ? "and gradients " : "") + "cut over " + joined(axes),
                            States, [sharding](Design& d) {
                                d.workload.optimizer = sharding;
                                return true;
                            } });
}

/// Of a design that a preset of parts lays out, those with the sequence cut besides, or the weights, or both.
std::vector<std::string> combinedPresets(const Design& design, const AxisRoles& roles)
{
    std::vector<std::string> parts;
    const std::string origin = originOfEntries(design).preset;
    for (const std::string_view part : split(std::string_view(origin), '+'))
        parts.emplace_back(part == "pp-1f1b" ? "pp" : part == "megatron-tp" ? "tp" : part);
    std::vector<std::string> sequence = parts;
    std::ranges::replace(sequence, std::string("tp"), std::string("tp-sp"));
    std::vector<std::string> out;
    if (sequence != parts)
        out.push_back(joined(sequence, "+"));
    const bool sharded = contains(parts, "fsdp") || contains(parts, "hsdp");
    for (std::vector<std::string> it : { parts, sequence })
        if (!roles.fsdp.empty() && !sharded) {
            it.emplace_back("fsdp");
            if (const std::string name = joined(it, "+"); !contains(out, name))
                out.push_back(name);
        }
    return out;
}

/// Presets that cut more, on the same mesh. Pins set by hand stay, and so does how stages take turns.
void addLayouts(const Design& design, std::vector<Change>& out)
{
    const AxisRoles roles = axisRoles(design.mesh);
    std::vector<std::string> presets;
    if (!roles.stage.empty() || !roles.context.empty() || (!roles.expert.empty() && design.model.moe.present()))
        presets = combinedPresets(design, roles); // others would leave an axis unused
    else if (!roles.tensor.empty() && (!roles.fsdp.empty() || !roles.data.empty()))
        presets = { "tp-sp", "tp+fsdp", "tp-sp+fsdp" };
    else if (!roles.tensor.empty())
        presets = { "megatron-tp", "tp-sp" };
    else
        presets = { "fsdp", "hsdp" };
    for (const std::string& preset : presets)
        out.push_back({ "preset " + preset, Layouts, [preset](Design& d) {
                           const Design before = d;
                           const bool applied = applyPreset(d, preset).ok();
                           if (before.pipeline.present() && d.pipeline.present())
                               d.pipeline = before.pipeline;
                           return applied && !(d == before);
                       } });
}

std::optional<StrategyEntry> inputEntry(const Design& design)
{
    const auto found =
        std::ranges::find_if(design.strategies, [&](const StrategyEntry& entry) { return entry.match == inputName(design.model); });
    return found == design.strategies.end() ? std::nullopt : std::optional(*found);
}

/// Puts a design on a mesh with a larger axis. One that is laid out by a preset, and by nothing else, is by the same preset: what
/// divides by fewer devices need not divide by more. False where that refuses, or cuts the batch otherwise.
bool enlarge(Design& design, const std::string& preset, std::vector<MeshAxis> axes)
{
    auto mesh = Mesh::make(std::move(axes));
    if (!mesh.ok())
        return false;
    design.mesh = std::move(mesh).value();
    const auto input = inputEntry(design);
    return preset.empty() || (applyPreset(design, preset).ok() && inputEntry(design) == input);
}

void addDevices(const Design& design, std::vector<Change>& out)
{
    constexpr std::int64_t kMostTimes = 16;
    constexpr std::int64_t kMostDevices = std::int64_t { 1 } << 17;
    const EntryOrigin origin = originOfEntries(design);
    const std::string preset = origin.entries.size() == design.strategies.size() ? origin.preset : std::string();
    for (int axis = 0; axis < design.mesh.axisCount(); ++axis)
        for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
            const std::int64_t size = design.mesh.axis(axis).size * times;
            const std::int64_t devices = design.mesh.deviceCount() * times;
            if (devices > kMostDevices)
                break;
            out.push_back({ design.mesh.axis(axis).name + "=" + std::to_string(size) + ", " + countText(devices) + " devices",
                            Devices, [axis, size, preset](Design& d) {
                                std::vector<MeshAxis> axes = d.mesh.axes();
                                axes[static_cast<std::size_t>(axis)].size = size;
                                return enlarge(d, preset, std::move(axes));
                            } });
        }
}

/// The mesh axes over which something is cut, or along which stages lie.
std::set<std::string> axesInUse(const Design& design, const Evaluation& evaluation)
{
    std::set<std::string> names { design.pipeline.axis };
    for (const WeightLayout& weight : evaluation.weights)
        for (const auto& dim : weight.layout.dims)
            for (const AxisRef& ref : dim)
                names.insert(design.mesh.axis(ref.axis).name);
    return names;
}

class Adviser {
public:
    Adviser(const Design& design, const std::function<bool()>& stop)
        : m_design(design)
        , m_stop(stop)
    {
    }

    Result<FitAdvice> run()
    {
        auto hardware = hardwareOf(m_design);
        if (!hardware.ok())
            return hardware.error();
        const auto now = planOnly(m_design, Misfits::Replicate);
        if (!now.ok())
            return now.error();
        m_out.limitBytes = static_cast<std::int64_t>(hardware.value().memoryBytes());
        m_out.peakBytes = now.value()->plan.memory.peak;
        m_out.leastBytes = now.value()->plan.memory.least;
        m_out.mostBytes = now.value()->plan.memory.most;
        m_out.seconds = now.value()->plan.seconds();
        m_out.devices = m_design.mesh.deviceCount();
        m_weights = now.value()->plan.memory.weights;
        m_inUse = axesInUse(m_design, *now.value());
        if (m_out.missing() <= 0 || !m_design.model.hasGraph())
            return std::move(m_out);
        std::vector<Change> changes;
        if (m_design.workload.kind == WorkloadKind::Train) {
            addRecomputing(m_design, changes);
            addMicroBatches(m_design, changes);
            addOptimizer(m_design, changes);
        }
        addLayouts(m_design, changes);
        const std::size_t combinable = changes.size();
        addDevices(m_design, changes);
        for (std::size_t i = 0; i < changes.size(); ++i)
            attempt(changes, { i });
        for (std::size_t i = 0; i < combinable; ++i)
            for (std::size_t j = i + 1; j < combinable; ++j)
                if (changes[i].group != changes[j].group)
                    attempt(changes, { i, j });
        for (std::size_t i = 0; i < combinable; ++i)
            for (std::size_t j = i + 1; j < combinable; ++j)
                for (std::size_t k = j + 1; k < combinable; ++k)
                    if (changes[i].group != changes[j].group && changes[j].group != changes[k].group
                        && changes[i].group != changes[k].group)
                        attempt(changes, { i, j, k });
        rank();
        return std::move(m_out);
    }

private:
    void attempt(const std::vector<Change>& changes, const std::vector<std::size_t>& chosen)
    {
        constexpr int kMostPlanned = 96;
        const bool partFits = std::ranges::any_of(m_fitting, [&](const std::set<std::size_t>& fitting) {
            return std::ranges::all_of(fitting, [&](std::size_t c) { return contains(chosen, c); });
        });
        if (partFits || m_planned >= kMostPlanned || (m_stop && m_stop()))
            return;
        FitOption option;
        option.design = m_design;
        option.changes = static_cast<int>(chosen.size());
        std::vector<std::string> texts;
        // Layouts after the micro-batches that they are for.
        for (const std::size_t c : chosen) {
            if (!changes[c].apply(option.design))
                return;
            texts.push_back(changes[c].what);
        }
        option.what = joined(texts, " and ");
        const auto evaluation = planOnly(option.design);
        if (!evaluation.ok())
            return;
        ++m_planned;
        if (undoes(option.design, *evaluation.value()))
            return;
        ++m_out.tried;
        const Plan& plan = evaluation.value()->plan;
        option.peakBytes = plan.memory.peak;
        option.seconds = plan.seconds();
        option.lostSeconds = option.seconds - m_out.seconds;
        option.devices = option.design.mesh.deviceCount();
        option.fits = option.peakBytes <= m_out.limitBytes;
        if (option.fits) {
            m_fitting.emplace_back(chosen.begin(), chosen.end());
            m_out.fixes.push_back(std::move(option));
        } else if (m_out.nearest.empty() || option.peakBytes < m_out.nearest.front().peakBytes) {
            m_out.nearest.assign(1, std::move(option));
        }
    }

    /// Whether a change takes back what the design does: devices that were put to use all do the same then, or each holds more of
    /// the weights.
    bool undoes(const Design& design, const Evaluation& evaluation) const
    {
        const std::set<std::string> inUse = axesInUse(design, evaluation);
        return evaluation.plan.memory.weights > m_weights
            || std::ranges::any_of(m_inUse, [&](const std::string& axis) { return !inUse.contains(axis); });
    }

    void rank()
    {
        if (!m_out.fixes.empty())
            m_out.nearest.clear();
        std::ranges::stable_sort(m_out.fixes, [](const FitOption& a, const FitOption& b) {
            return a.devices != b.devices ? a.devices < b.devices : a.lostSeconds < b.lostSeconds;
        });
        // Not worth telling: what a faster fix on as many devices beats in memory too, and what makes a step half as long again
        // while another fix does not.
        std::vector<FitOption> kept;
        for (FitOption& fix : m_out.fixes) {
            const bool better = std::ranges::any_of(kept, [&](const FitOption& other) {
                return other.devices == fix.devices
                    && ((other.peakBytes <= fix.peakBytes && other.changes <= fix.changes) || fix.lostSeconds > m_out.seconds / 2);
            });
            if (!better)
                kept.push_back(std::move(fix));
        }
        m_out.fixes = std::move(kept);
    }

    const Design& m_design;
    const std::function<bool()>& m_stop;
    int m_planned = 0;
    std::int64_t m_weights = 0; ///< that a device holds as it is
    std::set<std::string> m_inUse; ///< mesh axes
    std::vector<std::set<std::size_t>> m_fitting;
    FitAdvice m_out;
};

/// `recompute fully: 44.3 GiB, 290 ms longer`
std::string optionText(const FitOption& option)
{
    const std::string time = option.lostSeconds >= 0 ? secondsText(option.lostSeconds) + " a step longer"
                                                     : secondsText(-option.lostSeconds) + " a step shorter";
    return option.what + " (" + bytesText(option.peakBytes) + ", " + time + ")";
}

} // namespace

Result<FitAdvice> fitAdvice(const Design& design, const std::function<bool()>& stop) { return Adviser(design, stop).run(); }

std::string fitText(const FitAdvice& advice, std::size_t most)
{
    const std::string sizes = bytesText(advice.peakBytes) + " of " + bytesText(advice.limitBytes);
    if (advice.fit() == Fit::Fits)
        return "fits: " + sizes + " of a device, " + bytesText(-advice.missing()) + " left";
    std::string out = advice.fit() == Fit::Tight
        ? "tight: " + bytesText(advice.leastBytes) + " to " + bytesText(advice.mostBytes) + " of " + bytesText(advice.limitBytes)
            + " of a device, depending on the allocator; " + bytesText(advice.peakBytes) + " expected"
        : "does not fit: " + sizes + " of a device, " + bytesText(advice.missing()) + " too much";
    for (std::size_t i = 0; i < std::min(most, advice.fixes.size()); ++i)
        out += (i == 0 ? "; would fit with " : "; or with ") + optionText(advice.fixes[i]);
    if (!advice.nearest.empty())
        out += "; of " + std::to_string(advice.tried) + " changes that were planned none fits; the nearest misses by "
            + bytesText(advice.nearest.front().peakBytes - advice.limitBytes) + ": " + optionText(advice.nearest.front());
    return out;
}

void addFitRepair(const Design& design, std::vector<DesignFinding>& findings)
{
    const auto found =
        std::ranges::find_if(findings, [](const DesignFinding& f) { return f.kind == "over-memory" || f.kind == "tight-memory"; });
    if (found == findings.end())
        return;
    const auto advice = fitAdvice(design);
    if (!advice.ok())
        return;
    const FitAdvice& fit = advice.value();
    if (fit.fixes.empty() && fit.nearest.empty())
        return;
    found->repair.clear();
    for (std::size_t i = 0; i < std::min<std::size_t>(3, fit.fixes.size()); ++i)
        found->repair += (i == 0 ? "" : "; or ") + optionText(fit.fixes[i]);
    if (fit.fixes.empty()) {
        found->repair = "none of " + std::to_string(fit.tried) + " changes that were planned makes it fit; the nearest misses by "
            + bytesText(fit.nearest.front().peakBytes - fit.limitBytes) + ": " + optionText(fit.nearest.front());
        return;
    }
    found->fix = Repair { fit.fixes.front().what, { ReplaceDesign { std::make_shared<const Design>(fit.fixes.front().design) } } };
}

} // namespace shardboard
