// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/relaid.h"

#include "model/design/presets/presets.h"
#include "model/text/contains.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace shardboard {

namespace {

/// Which of the entries are those that are wanted, in their order; nothing where one is missing.
std::optional<std::vector<bool>> areWanted(const std::vector<StrategyEntry>& entries, const std::vector<StrategyEntry>& wanted)
{
    std::vector<bool> out;
    std::size_t next = 0;
    for (const StrategyEntry& entry : entries) {
        out.push_back(next < wanted.size() && entry == wanted[next]);
        next += out.back() ? 1U : 0U;
    }
    return next == wanted.size() && !wanted.empty() ? std::optional(out) : std::nullopt;
}

/// Every batch for which a preset cuts over another set of axes is a multiple of the sizes of some of them.
std::set<std::int64_t> batchesThatDivide(const Mesh& mesh)
{
    constexpr int kMostAxes = 8; // nobody has more, and the sets double with each
    std::set<std::int64_t> out { 1 };
    for (int axis = 0; axis < std::min(mesh.axisCount(), kMostAxes); ++axis) {
        std::set<std::int64_t> more;
        for (const std::int64_t product : out)
            more.insert(product * mesh.axis(axis).size);
        out.merge(more);
    }
    return out;
}

/// The workloads that a design may have been laid out for: the present one first.
std::vector<Workload> formerWorkloads(const Design& design)
{
    std::vector<Workload> out { effective(design.workload) };
    for (const WorkloadKind kind : { design.workload.kind, WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train })
        for (const std::int64_t microBatches : { std::int64_t { 1 }, design.workload.microBatches }) {
            Workload former = design.workload;
            former.kind = kind;
            former.microBatches = microBatches;
            former = effective(former);
            out.push_back(former);
            for (const std::int64_t batch : batchesThatDivide(design.mesh)) {
                former.batch = batch * former.microBatches;
                out.push_back(former);
            }
        }
    std::vector<Workload> once;
    for (const Workload& workload : out)
        if (!contains(once, workload))
            once.push_back(workload);
    return once;
}

/// Those whose pins a design has, else all.
std::vector<std::string> possiblePresets(const Design& design)
{
    std::vector<std::string> names = presetsOf(design);
    for (const Pin& pin : design.pins)
        if (isOfPreset(pin))
            std::erase_if(names, [&](const std::string& name) { return pin.source != "preset " + name; });
    return names;
}

struct Former {
    std::string name;
    Preset preset;
    std::vector<bool> wrote; ///< which of the design's entries
    bool present = false; ///< of the present workload
};

/// The same entries can be two presets'; their pins and pipelines tell them apart.
bool mayBeOf(const Preset& preset, const Design& design)
{
    const bool hasItsPins = std::ranges::all_of(preset.pins, [&](const Pin& pin) { return contains(design.pins, pin); })
        && std::ranges::all_of(design.pins, [&](const Pin& pin) { return !isOfPreset(pin) || contains(preset.pins, pin); });
    return hasItsPins && (!preset.pins.empty() || preset.pipeline == design.pipeline);
}

/// The preset whose entries a design has, made for one of the workloads; that with the most entries.
std::optional<Former> formerPreset(const Design& design, const std::function<bool()>& stop)
{
    const std::vector<std::string> names = possiblePresets(design);
    std::optional<Former> best;
    bool present = true;
    for (const Workload& workload : formerWorkloads(design)) {
        for (const std::string& name : names) {
            if (stop && stop())
                return std::nullopt;
            auto made = makePreset(name, design.mesh, design.model, workload);
            if (!made.ok() || (best && made.value().strategies.size() <= best->preset.strategies.size()))
                continue;
            auto wrote = areWanted(design.strategies, made.value().strategies);
            if (wrote && mayBeOf(made.value(), design))
                best = Former { name, std::move(made).value(), std::move(*wrote), present };
        }
        if (best && present)
            break; // it is what a preset writes now
        present = false;
    }
    return best;
}

/// What people added goes behind the entry that it was behind: later entries win.
void addBack(const Former& former, const std::vector<StrategyEntry>& before, std::vector<StrategyEntry>& entries)
{
    std::ptrdiff_t place = 0;
    const auto named = [&](const std::string& match) {
        return std::find_if(entries.begin() + place, entries.end(),
                            [&](const StrategyEntry& entry) { return entry.match == match; });
    };
    const bool hasTargets = named("targets") != entries.end();
    std::size_t left = former.preset.strategies.size();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (former.wrote[i]) {
            if (const auto same = named(before[i].match); same != entries.end())
                place = same - entries.begin() + 1;
            if (--left == 0)
                place = std::ssize(entries);
        } else if (before[i].match != "targets" || !hasTargets) { // those of training follow the tokens
            entries.insert(entries.begin() + place, before[i]);
            ++place;
        }
    }
}

} // namespace

std::optional<RelaidDesign> relaidByPreset(const Design& design, const std::function<bool()>& stop)
{
    if (!design.model.hasGraph() || design.strategies.empty())
        return std::nullopt;
    const auto former = formerPreset(design, stop);
    if (!former || former->present)
        return std::nullopt;
    RelaidDesign out { former->name, design, {} };
    auto notes = applyPreset(out.design, former->name);
    if (!notes.ok())
        return std::nullopt;
    out.notes = std::move(notes).value();
    if (!(design.pipeline == former->preset.pipeline))
        out.design.pipeline = design.pipeline;
    addBack(*former, design.strategies, out.design.strategies);
    if (out.design == design)
        return std::nullopt;
    return out;
}

} // namespace shardboard
