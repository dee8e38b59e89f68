// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/designsearch.h"

#include "model/design/evaluation.h"
#include "model/design/presets/presetaxes.h"
#include "model/design/presets/presetparts.h"
#include "model/design/presets/presets.h"
#include "model/plan/time/traffic.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace shardboard {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kObjectiveNames { "step-time", "tokens-per-device", "memory", "slowest-link" };
constexpr std::int64_t kMostTensor = 64; ///< devices that heads are cut over
constexpr std::int64_t kMostContext = 64;
constexpr std::int64_t kMostMicroBatches = 512;
constexpr std::int64_t kMostChunks = 8;
constexpr std::size_t kMostOptimized = 4; ///< designs whose layouts are optimized
constexpr std::size_t kTellEvery = 32;
constexpr const char* kPresetWord = "preset ";
constexpr double kNoValue = std::numeric_limits<double>::infinity();

double secondsFrom(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::vector<std::int64_t> divisorsOf(std::int64_t number, std::int64_t most)
{
    std::vector<std::int64_t> out;
    for (std::int64_t i = 1; i <= std::min(number, most); ++i)
        if (number % i == 0)
            out.push_back(i);
    return out;
}

/// Sizes of the axes, outer first.
constexpr std::array kAxisNames { "stage", "data", "fsdp", "context", "expert", "model" };
using Degrees = std::array<std::int64_t, kAxisNames.size()>;

/// Whether a preset has a use for every axis of a mesh.
bool usesAll(const PresetFacts& facts, const AxisRoles& roles)
{
    const auto fits = [](bool present, bool used) { return present == used || !present; };
    return fits(!roles.stage.empty(), facts.chunks > 0) && fits(!roles.tensor.empty(), facts.tensor != Wish::No)
        && fits(!roles.context.empty(), facts.context != Wish::No) && fits(!roles.fsdp.empty(), facts.fsdp != Wish::No)
        && fits(!roles.expert.empty(), facts.experts != Wish::No) && facts.chunks <= 1;
}

std::vector<std::string> presetsUsing(const Mesh& mesh, const ModelSpec& model)
{
    const AxisRoles roles = axisRoles(mesh);
    std::vector<std::string> names = presetsFor(mesh, model);
    if (roles.stage.size() + roles.tensor.size() + roles.context.size() + roles.expert.size() == 0)
        return roles.fsdp.empty() ? std::vector<std::string> { "replicate" }
            : roles.data.empty()  ? std::vector<std::string> { "fsdp" }
                                  : std::vector<std::string> { "hsdp" };
    std::erase_if(names, [&](const std::string& name) {
        const auto facts = presetFactsOf(name);
        return !facts.ok() || !usesAll(facts.value(), roles);
    });
    return names;
}

/// Settings of a step that are not in the mesh.
struct Settings {
    std::int64_t microBatches = 1;
    std::int64_t chunks = 1;
    Recompute recompute = Recompute::None;
    int zero = 0; ///< stage
    bool fp8 = false;
    friend bool operator==(const Settings&, const Settings&) = default;
};

/// A mesh with a preset, from which designs are made by settings.
struct Group {
    Design design;
    std::string preset;
    std::vector<Settings> settings; ///< those that differ in recompute alone together, the one with the least memory first
};

/// The stage of ZeRO that a design has over the axes that hold copies.
int zeroOf(const Design& design)
{
    const OptimizerSharding& optimizer = design.workload.optimizer;
    const std::vector<int> copies = axisRoles(design.mesh).data;
    const bool all = !copies.empty() && std::ranges::all_of(copies, [&](int axis) {
        return std::ranges::find(optimizer.axes, design.mesh.axis(axis).name) != optimizer.axes.end();
    });
    return !all ? 0 : optimizer.gradients ? 2 : 1;
}

/// What a preset lays out anew.
void forgetLayouts(Design& design)
{
    design.strategies.clear();
    design.pins.clear();
    design.workload.optimizer = {};
}

class DesignSearch {
public:
    DesignSearch(const Design& design, const SearchOptions& options, Hardware hardware)
        : m_design(design)
        , m_options(options)
        , m_hardware(std::move(hardware))
        , m_begin(Clock::now())
    {
    }

    SearchResult run()
    {
        m_out.lowerBound = -kNoValue;
        m_around = m_options.deadline;
        if (m_options.parts.layouts && m_options.deadline != Clock::time_point::max()) // the rest of it is theirs
            m_around = m_begin + (m_options.deadline - m_begin) * 7 / 10;
        if (!m_options.parts.mesh || m_options.devices == m_design.mesh.deviceCount())
            m_out.before = planned(m_design, kDesignItself);
        if (m_options.parts.aroundLayouts() || !m_options.parts.layouts)
            searchAround();
        if (m_options.parts.layouts)
            optimizeBest();
        finish();
        return std::move(m_out);
    }

private:
    bool stopped() const { return isCancelled() || isOver(m_around); }
    bool isCancelled() const { return m_options.cancelled != nullptr && *m_options.cancelled; }
    static bool isOver(Clock::time_point deadline) { return deadline != Clock::time_point::max() && Clock::now() >= deadline; }

    void searchAround()
    {
        m_meshes = m_options.parts.mesh ? searchedMeshes(m_design, m_options.devices) : std::vector<Mesh> { m_design.mesh };
        std::vector<std::thread> helpers;
        for (int i = 1; i < std::min(m_options.threads, 16); ++i)
            helpers.emplace_back([this] { work(); });
        work();
        for (std::thread& helper : helpers)
            helper.join();
    }

    /// Layouts for the best of what presets lay out, or, where nothing fits, for what is the nearest to it.
    void optimizeBest()
    {
        std::vector<SearchedDesign> begun = m_out.front;
        std::ranges::stable_sort(begun, {}, [this](const SearchedDesign& found) { return found.value(m_options.objective); });
        if (begun.size() > kMostOptimized)
            begun.resize(kMostOptimized);
        if (begun.empty() && m_out.nearest)
            begun.push_back(*m_out.nearest);
        for (std::size_t i = 0; i < begun.size(); ++i) {
            if (isCancelled() || isOver(m_options.deadline)) {
                m_out.complete = false;
                break;
            }
            optimizeOne(begun[i]);
        }
    }

    void optimizeOne(const SearchedDesign& begun)
    {
        OptimizeOptions options;
        options.objective = m_options.objective == SearchObjective::Memory ? LayoutObjective::Memory : LayoutObjective::StepTime;
        options.memoryBytes = m_options.memoryBytes;
        options.deadline = m_options.deadline;
        options.cancelled = m_options.cancelled;
        const std::string settings = searchedSettings(begun.design);
        m_now = begun.design.mesh.text() + ", " + kOptimalLayouts;
        const bool alone = !m_options.parts.aroundLayouts() && m_options.objective == SearchObjective::StepTime;
        options.progress = [&](const OptimizeProgress& now) {
            if (alone) // only then it is a bound of all that is searched
                m_out.lowerBound = std::max(m_out.lowerBound, now.bound > 0 ? now.bound : -kNoValue);
            tell();
        };
        options.tried = [&](const Design& design, const Evaluation& evaluation, const std::string& what) {
            SearchedDesign found = measured(design, evaluation);
            found.preset = what.starts_with(kPresetWord) ? what.substr(std::string_view(kPresetWord).size())
                : what == "layouts"                      ? kOptimalLayouts
                                                         : begun.preset;
            ++m_out.planned;
            take(found);
        };
        const auto answer = optimizeLayouts(begun.design, options);
        if (!answer.ok() || !answer.value().feasible)
            return;
        const bool better = !m_out.layouts || answer.value().certificate.objective < m_out.layouts->objective;
        if (better && options.objective == LayoutObjective::StepTime)
            m_out.layouts = answer.value().certificate;
    }

    /// The groups of a mesh, one after the other; meshes are many, and each has many.
    void searchMesh(const Mesh& unordered)
    {
        for (const Mesh& mesh : m_options.parts.order ? ordersOf(unordered) : std::vector<Mesh> { unordered }) {
            count(&SearchResult::meshes);
            Group group { m_design, kAsItIs, {} };
            group.design.mesh = mesh;
            if (!m_options.parts.mesh) {
                searchGroup(group);
            } else {
                forgetLayouts(group.design);
                for (const std::string& name : presetsUsing(mesh, m_design.model)) {
                    if (stopped())
                        break;
                    Group laidOut = group;
                    laidOut.preset = name;
                    if (applyPreset(laidOut.design, name).ok())
                        searchGroup(laidOut);
                    else
                        count(&SearchResult::refused);
                }
            }
            if (stopped()) {
                const std::lock_guard lock(m_mutex);
                m_out.complete = false;
                return;
            }
        }
    }

    void count(std::size_t SearchResult::*what, std::size_t by = 1)
    {
        const std::lock_guard lock(m_mutex);
        m_out.*what += by;
    }

public:
    static std::vector<Mesh> ordersOf(const Mesh& mesh)
    {
        std::vector<MeshAxis> axes = mesh.axes();
        const auto byName = [](const MeshAxis& a, const MeshAxis& b) { return a.name < b.name; };
        std::ranges::sort(axes, byName);
        std::vector<Mesh> out { mesh };
        std::set<std::vector<std::pair<std::string, std::int64_t>>> seen;
        const auto add = [&](const Mesh& candidate) {
            // Alike where every axis of more than one device has the same stride.
            std::vector<std::pair<std::string, std::int64_t>> key;
            for (int axis = 0; axis < candidate.axisCount(); ++axis)
                if (candidate.axis(axis).size > 1)
                    key.emplace_back(candidate.axis(axis).name, candidate.stride(axis));
            std::ranges::sort(key);
            return seen.insert(key).second;
        };
        add(mesh);
        do {
            auto made = Mesh::make(axes);
            if (made.ok() && add(made.value()))
                out.push_back(made.value());
        } while (std::ranges::next_permutation(axes, byName).found);
        return out;
    }

private:
    void addSettings(Group& group) const
    {
        const AxisRoles roles = axisRoles(group.design.mesh);
        const Workload& workload = group.design.workload;
        const bool trains = workload.kind == WorkloadKind::Train;
        std::int64_t copies = 1;
        for (const auto* axes : { &roles.data, &roles.fsdp })
            copies *= group.design.mesh.groupSize(*axes);
        const std::int64_t stages = group.design.mesh.groupSize(roles.stage);
        std::vector<std::int64_t> batches { workload.microBatches };
        if (trains && m_options.parts.microBatches) {
            batches.clear();
            for (const std::int64_t count : divisorsOf(workload.batch, kMostMicroBatches))
                if (workload.batch / count >= copies)
                    batches.push_back(count);
            std::ranges::reverse(batches);
        }
        std::vector<std::int64_t> chunks { group.design.pipeline.chunks };
        if (group.design.pipeline.present() && m_options.parts.virtualStages) {
            chunks.clear();
            for (std::int64_t count = 1; count <= kMostChunks && count * stages <= group.design.model.layers; count *= 2)
                chunks.push_back(count);
        }
        std::vector<Recompute> recomputes { workload.recompute };
        if (trains && m_options.parts.recompute) {
            recomputes = { Recompute::Full, Recompute::Selective, Recompute::None };
            if (!contains(recomputes, workload.recompute))
                recomputes.push_back(workload.recompute);
        }
        std::vector<int> zeros { zeroOf(m_design) };
        if (trains && m_options.parts.zero && group.design.mesh.groupSize(roles.data) > 1)
            zeros = { 2, 1, 0 };
        std::vector<bool> types { workload.dtype == DType::F8E4M3 };
        if (trains && m_options.parts.precision && m_hardware.device.peak.fp8 && workload.dtype != DType::F8E4M3)
            types.push_back(true);
        for (const std::int64_t count : batches)
            for (const int zero : zeros)
                for (const std::int64_t runs : chunks)
                    for (const bool fp8 : types)
                        for (const Recompute recompute : recomputes)
                            group.settings.push_back({ count, runs, recompute, zero, fp8 });
    }

    Design designWith(const Group& group, const Settings& settings) const
    {
        Design out = group.design;
        out.workload.microBatches = settings.microBatches;
        out.workload.recompute = settings.recompute;
        if (out.pipeline.present())
            out.pipeline.chunks = settings.chunks;
        OptimizerSharding& optimizer = out.workload.optimizer;
        for (const int axis : axisRoles(out.mesh).data) {
            std::erase(optimizer.axes, out.mesh.axis(axis).name);
            if (settings.zero > 0)
                optimizer.axes.push_back(out.mesh.axis(axis).name);
        }
        optimizer.gradients = optimizer.present() && (settings.zero > 0 ? settings.zero > 1 : optimizer.gradients);
        if (settings.fp8)
            out.workload.dtype = DType::F8E4M3;
        return out;
    }

    /// Of any plan with these settings.
    double leastSeconds(const Group& group, const Settings& settings) const
    {
        if (m_usefulFlops <= 0)
            return 0;
        const double rate = m_hardware.peakFlops(settings.fp8 ? DType::F8E4M3 : m_design.workload.dtype);
        const double useful = m_usefulFlops / (static_cast<double>(group.design.mesh.deviceCount()) * rate);
        if (!group.design.pipeline.present() || putsOffWeights(group.design.pipeline.schedule))
            return useful;
        const auto stages = static_cast<double>(group.design.mesh.groupSize(axisRoles(group.design.mesh).stage));
        return useful * (1 + 0.8 * (stages - 1) / static_cast<double>(settings.chunks * settings.microBatches));
    }

    void work()
    {
        for (;;) {
            std::size_t index = 0;
            {
                const std::lock_guard lock(m_mutex);
                if (m_next == m_meshes.size())
                    return;
                index = m_next++;
            }
            searchMesh(m_meshes[index]);
        }
    }

    void searchGroup(Group& group)
    {
        addSettings(group);
        if (group.settings.empty())
            return;
        count(&SearchResult::groups);
        const Settings* tooMuch = nullptr; // with everything computed again
        for (const Settings& settings : group.settings) {
            if (stopped())
                return;
            const bool rest = tooMuch != nullptr && sameButRecompute(*tooMuch, settings);
            if (rest || (m_options.mostSeconds && leastSeconds(group, settings) > *m_options.mostSeconds))
                count(&SearchResult::ruledOut);
            else if (!plan(group, settings) && settings.recompute == Recompute::Full)
                tooMuch = &settings;
        }
    }

    static bool sameButRecompute(Settings a, const Settings& b)
    {
        a.recompute = b.recompute;
        return a == b;
    }

    /// Whether it may fit into the memory.
    bool plan(const Group& group, const Settings& settings)
    {
        const auto found = planned(designWith(group, settings), group.preset);
        return !found || isSmall(*found);
    }

    bool isSmall(const SearchedDesign& found) const { return !m_options.memoryBytes || found.leastBytes <= *m_options.memoryBytes; }

    std::optional<SearchedDesign> planned(Design design, const std::string& preset)
    {
        const auto evaluation = planOnly(design);
        if (!evaluation.ok()) {
            const std::lock_guard lock(m_mutex);
            ++m_out.refused;
            return std::nullopt;
        }
        SearchedDesign found = measured(std::move(design), *evaluation.value());
        found.preset = preset;
        const std::lock_guard lock(m_mutex);
        ++m_out.planned;
        if (m_usefulFlops <= 0)
            m_usefulFlops = evaluation.value()->plan.performance.modelFlops;
        m_now = found.design.mesh.text() + ", " + preset;
        take(found);
        return found;
    }

    SearchedDesign measured(Design design, const Evaluation& evaluation) const
    {
        SearchedDesign found;
        found.design = std::move(design);
        const Plan& plan = evaluation.plan;
        found.seconds = plan.seconds();
        found.tokensPerSecondPerDevice = plan.performance.tokensPerSecondPerDevice;
        found.peakBytes = static_cast<double>(plan.memory.peak);
        found.leastBytes = static_cast<double>(plan.memory.least);
        found.slowBytes = trafficOf(evaluation.graph, plan, m_hardware).back().bytes;
        found.fits = isSmall(found) && (!m_options.mostSeconds || found.seconds <= *m_options.mostSeconds);
        return found;
    }

    /// A design that was planned: tells of it, and keeps it where it is one of the best.
    void take(const SearchedDesign& found)
    {
        if (m_options.tried)
            m_options.tried(found);
        const bool kept = offer(found);
        if (kept || m_out.planned % kTellEvery == 0)
            tell();
    }

    void tell()
    {
        if (m_options.progress)
            m_options.progress({ secondsFrom(m_begin), m_out.planned, m_out.ruledOut, m_meshes.size() - m_next, m_meshes.size(),
                                 bestValue(), boundNow(), m_now });
    }

    double bestValue() const
    {
        double best = kNoValue;
        for (const SearchedDesign& design : m_out.front)
            best = std::min(best, design.value(m_options.objective));
        return best;
    }

    /// Of the objective's value, whatever the design: the model's own operations at the highest rate that the devices have.
    double floorValue() const
    {
        const bool time = m_options.objective == SearchObjective::StepTime;
        if (m_usefulFlops <= 0 || m_options.objective == SearchObjective::Memory)
            return -kNoValue;
        if (m_options.objective == SearchObjective::SlowestLink)
            return 0;
        const bool fp8 = m_options.parts.precision && m_hardware.device.peak.fp8;
        const double rate = std::max(m_hardware.peakFlops(m_design.workload.dtype), fp8 ? m_hardware.peakFlops(DType::F8E4M3) : 0);
        const double devices = static_cast<double>(m_options.parts.mesh ? m_options.devices : m_design.mesh.deviceCount());
        const double seconds = m_usefulFlops / (devices * rate);
        if (time)
            return seconds;
        const auto any = m_out.front.begin(); // the work of a step is the same in all of them
        return any == m_out.front.end() ? -kNoValue : -any->tokensPerSecondPerDevice * any->seconds / seconds;
    }
    double boundNow() const { return std::max(m_out.lowerBound, std::min(floorValue(), bestValue())); }

    /// How many times over a limit.
    double excess(const SearchedDesign& found) const
    {
        const double memory = m_options.memoryBytes ? found.leastBytes / *m_options.memoryBytes : 0;
        const double time = m_options.mostSeconds ? found.seconds / *m_options.mostSeconds : 0;
        return std::max(memory, time);
    }

    /// Whether it is on the front, for now.
    bool offer(const SearchedDesign& found)
    {
        if (!found.fits) {
            if (!m_out.nearest || excess(found) < excess(*m_out.nearest))
                m_out.nearest = found;
            return false;
        }
        const auto better = [](const SearchedDesign& a, const SearchedDesign& b) {
            return a.seconds <= b.seconds && a.peakBytes <= b.peakBytes && a.slowBytes <= b.slowBytes;
        };
        if (std::ranges::any_of(m_out.front, [&](const SearchedDesign& other) { return better(other, found); }))
            return false;
        std::erase_if(m_out.front, [&](const SearchedDesign& other) { return better(found, other); });
        if (m_out.firstSeconds == 0)
            m_out.firstSeconds = secondsFrom(m_begin);
        m_out.front.push_back(found);
        return true;
    }

    void finish()
    {
        std::ranges::sort(m_out.front, {}, &SearchedDesign::seconds);
        for (std::size_t i = 0; i < m_out.front.size(); ++i)
            if (!m_out.best || m_out.front[i].value(m_options.objective) < m_out.front[*m_out.best].value(m_options.objective))
                m_out.best = i;
        certify();
        m_out.seconds = secondsFrom(m_begin);
        m_now.clear();
        tell();
    }

    void certify()
    {
        const SearchedParts& parts = m_options.parts;
        if (parts.aroundLayouts() && m_out.complete && !parts.layouts) {
            m_out.lowerBound = std::max(boundNow(), m_out.best ? bestValue() : -kNoValue);
            m_out.exact.push_back("every combination was planned, or was over a limit for certain");
        } else {
            m_out.lowerBound = boundNow();
        }
        if (parts.aroundLayouts()) {
            if (!m_out.complete)
                m_out.notExact.push_back("it ended before all combinations were looked at");
            m_out.notExact.push_back(parts.layouts
                                         ? "layouts were optimized for the best of what presets lay out, not for all of it"
                                         : "the bound is one of designs that presets lay out");
            if (m_out.lowerBound > -kNoValue && m_out.best && m_out.lowerBound < bestValue() && !m_out.layouts)
                m_out.notExact.push_back("until all is looked at, the bound is the model's operations at the devices' peak rate");
        }
        if (m_out.layouts && !parts.aroundLayouts()) {
            m_out.exact.insert(m_out.exact.end(), m_out.layouts->exact.begin(), m_out.layouts->exact.end());
            m_out.notExact.insert(m_out.notExact.end(), m_out.layouts->notExact.begin(), m_out.layouts->notExact.end());
            if (m_options.objective == SearchObjective::StepTime)
                m_out.lowerBound = std::min(m_out.layouts->lowerBound, bestValue());
        }
    }

    const Design& m_design;
    const SearchOptions& m_options;
    const Hardware m_hardware;
    const Clock::time_point m_begin;
    std::vector<Mesh> m_meshes; ///< each in one order of its axes
    std::mutex m_mutex;
    std::atomic<double> m_usefulFlops { 0 };
    std::size_t m_next = 0;
    Clock::time_point m_around; ///< when the search around layouts ends
    std::string m_now;
    SearchResult m_out;
};

} // namespace

Result<SearchedParts> searchedPartsFrom(std::string_view text)
{
    SearchedParts out;
    const std::array<std::pair<std::string_view, bool SearchedParts::*>, 8> words {
        { { "layouts", &SearchedParts::layouts },
          { "mesh", &SearchedParts::mesh },
          { "order", &SearchedParts::order },
          { "micro-batches", &SearchedParts::microBatches },
          { "virtual-stages", &SearchedParts::virtualStages },
          { "recompute", &SearchedParts::recompute },
          { "zero", &SearchedParts::zero },
          { "precision", &SearchedParts::precision } }
    };
    const auto asked = split(text, ',');
    if (text.empty())
        return usageError("--search", "nothing is to be searched", std::string("use a list of ") + kSearchedParts);
    for (const std::string_view word : asked) {
        const auto found = std::ranges::find(words, word, [](const auto& known) { return known.first; });
        if (found == words.end())
            return usageError("--search", "nothing to search is called '" + std::string(word) + "'",
                              std::string("use a list of ") + kSearchedParts);
        out.*found->second = true;
    }
    return out;
}

std::string searchObjectiveName(SearchObjective objective) { return kObjectiveNames[static_cast<std::size_t>(objective)]; }

std::optional<SearchObjective> searchObjectiveFromName(std::string_view name)
{
    const auto found = std::ranges::find(kObjectiveNames, name);
    return found == kObjectiveNames.end() ? std::nullopt
                                          : std::optional(static_cast<SearchObjective>(found - kObjectiveNames.begin()));
}

std::string searchedSettings(const Design& design)
{
    const Workload& workload = design.workload;
    std::string out = counted(workload.microBatches, "micro-batch");
    if (workload.microBatches != 1)
        out = std::to_string(workload.microBatches) + " micro-batches";
    if (design.pipeline.chunks > 1)
        out += ", " + std::to_string(design.pipeline.chunks) + " virtual stages";
    if (workload.recompute != Recompute::None)
        out += ", recompute " + recomputeName(workload.recompute);
    if (workload.optimizer.present())
        out += workload.optimizer.gradients ? ", ZeRO-2" : ", ZeRO-1";
    if (workload.dtype == DType::F8E4M3)
        out += ", fp8";
    return out;
}

Result<Design> designAgain(const Design& begun, const Mesh& mesh, const std::string& preset, const Workload& workload,
                           const PipelineSpec& pipeline)
{
    Design out = begun;
    out.mesh = mesh;
    if (preset != kAsItIs && preset != kDesignItself) {
        forgetLayouts(out);
        if (const auto applied = applyPreset(out, preset); !applied.ok())
            return applied.error();
    }
    out.workload = workload;
    out.pipeline = pipeline;
    return out;
}

std::optional<double> SearchResult::gap(SearchObjective objective) const
{
    if (!best || !(lowerBound > -kNoValue))
        return std::nullopt;
    const double value = front[*best].value(objective);
    return value == 0 ? 0 : std::max(0.0, (value - lowerBound) / std::abs(value));
}

double SearchedDesign::value(SearchObjective objective) const
{
    switch (objective) {
    case SearchObjective::StepTime:
        return seconds;
    case SearchObjective::TokensPerDevice:
        return -tokensPerSecondPerDevice;
    case SearchObjective::Memory:
        return peakBytes;
    case SearchObjective::SlowestLink:
        return slowBytes;
    }
    return seconds;
}

std::vector<Mesh> searchedMeshes(const Design& design, std::int64_t devices)
{
    std::vector<Mesh> out;
    const ModelSpec& model = design.model;
    const bool trains = design.workload.kind == WorkloadKind::Train;
    const std::int64_t experts = model.moe.present() ? model.moe.experts : 1;
    for (const std::int64_t tensor : divisorsOf(devices, std::min(kMostTensor, model.heads))) {
        if (model.heads % tensor != 0)
            continue;
        for (const std::int64_t stages : divisorsOf(devices / tensor, trains ? model.layers : 1))
            for (const std::int64_t context : divisorsOf(devices / tensor / stages, kMostContext)) {
                if (design.workload.kind == WorkloadKind::Decode && context > 1)
                    continue;
                for (const std::int64_t expert : divisorsOf(devices / tensor / stages / context, experts)) {
                    if (experts % expert != 0)
                        continue;
                    const std::int64_t copies = devices / tensor / stages / context / expert;
                    if (copies > design.workload.batch)
                        continue;
                    for (const std::int64_t shards : divisorsOf(copies, copies)) {
                        const Degrees degrees { stages, copies / shards, shards, context, expert, tensor };
                        std::vector<MeshAxis> axes;
                        for (std::size_t i = 0; i < degrees.size(); ++i)
                            if (degrees[i] > 1)
                                axes.push_back({ kAxisNames[i], degrees[i] });
                        if (axes.empty())
                            axes.push_back({ "data", 1 });
                        auto mesh = Mesh::make(std::move(axes));
                        if (mesh.ok())
                            out.push_back(std::move(mesh).value());
                    }
                }
            }
    }
    // Those that fill a node with heads and have few stages are the first to be looked at: they mostly are good.
    const auto promise = [](const Mesh& mesh) {
        double cost = 0;
        for (const MeshAxis& axis : mesh.axes()) {
            const double doublings = std::log2(static_cast<double>(axis.size));
            cost += axis.name == "model" ? std::abs(doublings - 3) : axis.name == "fsdp" ? 0.1 * doublings : 0.5 * doublings;
        }
        return cost;
    };
    std::ranges::stable_sort(out, {}, promise);
    return out;
}

Result<SearchResult> searchDesigns(const Design& design, const SearchOptions& options)
{
    auto hardware = hardwareOf(design);
    if (!hardware.ok())
        return hardware.error();
    if (!design.model.hasGraph())
        return inputError("--search", "its model is a list of weights, which has no step", "take a model that can be planned");
    if (options.parts.mesh && options.devices > kMaxDevices)
        return inputError("--devices", "that is too many", "use at most 1,048,576");
    return DesignSearch(design, options, std::move(hardware).value()).run();
}

} // namespace shardboard
