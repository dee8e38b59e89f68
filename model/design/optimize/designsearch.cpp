// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/designsearch.h"

#include "model/design/evaluation.h"
#include "model/design/presets/presetaxes.h"
#include "model/design/presets/presetparts.h"
#include "model/design/presets/presets.h"
#include "model/plan/time/traffic.h"
#include "model/text/contains.h"
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
        if (!m_options.parts.mesh || m_options.devices == m_design.mesh.deviceCount())
            m_out.before = planned(m_design, "the design itself");
        m_meshes = m_options.parts.mesh ? searchedMeshes(m_design, m_options.devices) : std::vector<Mesh> { m_design.mesh };
        std::vector<std::thread> helpers;
        for (int i = 1; i < std::min(m_options.threads, 16); ++i)
            helpers.emplace_back([this] { work(); });
        work();
        for (std::thread& helper : helpers)
            helper.join();
        finish();
        return std::move(m_out);
    }

private:
    bool stopped() const
    {
        return (m_options.cancelled != nullptr && *m_options.cancelled)
            || (m_options.deadline != Clock::time_point::max() && Clock::now() >= m_options.deadline);
    }

    /// The groups of a mesh, one after the other; meshes are many, and each has many.
    void searchMesh(const Mesh& unordered)
    {
        for (const Mesh& mesh : m_options.parts.order ? ordersOf(unordered) : std::vector<Mesh> { unordered }) {
            count(&SearchResult::meshes);
            Group group { m_design, "as it is", {} };
            group.design.mesh = mesh;
            if (!m_options.parts.mesh) {
                searchGroup(group);
            } else {
                group.design.strategies.clear();
                group.design.pins.clear();
                group.design.workload.optimizer = {};
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
        SearchedDesign found;
        found.design = std::move(design);
        found.preset = preset;
        const auto evaluation = planOnly(found.design);
        const std::lock_guard lock(m_mutex);
        if (!evaluation.ok()) {
            ++m_out.refused;
            return std::nullopt;
        }
        ++m_out.planned;
        const Plan& plan = evaluation.value()->plan;
        found.seconds = plan.seconds();
        found.tokensPerSecondPerDevice = plan.performance.tokensPerSecondPerDevice;
        found.peakBytes = static_cast<double>(plan.memory.peak);
        found.leastBytes = static_cast<double>(plan.memory.least);
        found.slowBytes = trafficOf(evaluation.value()->graph, plan, m_hardware).back().bytes;
        found.fits = isSmall(found) && (!m_options.mostSeconds || found.seconds <= *m_options.mostSeconds);
        if (m_usefulFlops <= 0)
            m_usefulFlops = plan.performance.modelFlops;
        offer(found);
        return found;
    }

    /// How many times over a limit.
    double excess(const SearchedDesign& found) const
    {
        const double memory = m_options.memoryBytes ? found.leastBytes / *m_options.memoryBytes : 0;
        const double time = m_options.mostSeconds ? found.seconds / *m_options.mostSeconds : 0;
        return std::max(memory, time);
    }

    void offer(SearchedDesign found)
    {
        if (!found.fits) {
            if (!m_out.nearest || excess(found) < excess(*m_out.nearest))
                m_out.nearest = std::move(found);
            return;
        }
        const auto better = [](const SearchedDesign& a, const SearchedDesign& b) {
            return a.seconds <= b.seconds && a.peakBytes <= b.peakBytes && a.slowBytes <= b.slowBytes;
        };
        if (std::ranges::any_of(m_out.front, [&](const SearchedDesign& other) { return better(other, found); }))
            return;
        std::erase_if(m_out.front, [&](const SearchedDesign& other) { return better(found, other); });
        if (m_out.firstSeconds == 0)
            m_out.firstSeconds = secondsFrom(m_begin);
        m_out.front.push_back(std::move(found));
        if (!m_options.progress)
            return;
        double best = std::numeric_limits<double>::infinity();
        for (const SearchedDesign& design : m_out.front)
            best = std::min(best, design.value(m_options.objective));
        m_options.progress({ secondsFrom(m_begin), m_out.planned, m_meshes.size() - m_next, best });
    }

    void finish()
    {
        std::ranges::sort(m_out.front, {}, &SearchedDesign::seconds);
        for (std::size_t i = 0; i < m_out.front.size(); ++i)
            if (!m_out.best || m_out.front[i].value(m_options.objective) < m_out.front[*m_out.best].value(m_options.objective))
                m_out.best = i;
        m_out.seconds = secondsFrom(m_begin);
    }

    const Design& m_design;
    const SearchOptions& m_options;
    const Hardware m_hardware;
    const Clock::time_point m_begin;
    std::vector<Mesh> m_meshes; ///< each in one order of its axes
    std::mutex m_mutex;
    std::atomic<double> m_usefulFlops { 0 };
    std::size_t m_next = 0;
    SearchResult m_out;
};

} // namespace

Result<SearchedParts> searchedPartsFrom(std::string_view text)
{
    SearchedParts out;
    const std::array<std::pair<std::string_view, bool SearchedParts::*>, 7> words {
        { { "mesh", &SearchedParts::mesh },
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
