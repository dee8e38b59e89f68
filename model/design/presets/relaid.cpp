// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/relaid.h"

#include "model/design/presets/presets.h"
#include "model/text/contains.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace shardboard {

namespace {

bool hasAllInOrder(const std::vector<StrategyEntry>& entries, const std::vector<StrategyEntry>& wanted)
{
    std::size_t next = 0;
    for (const StrategyEntry& entry : entries)
        if (next < wanted.size() && entry == wanted[next])
            ++next;
    return next == wanted.size() && !wanted.empty();
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
    std::vector<Workload> out { design.workload };
    for (const WorkloadKind kind : { design.workload.kind, WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train }) {
        Workload former = design.workload;
        former.kind = kind;
        former.microBatches = 1;
        out.push_back(former);
        for (const std::int64_t batch : batchesThatDivide(design.mesh)) {
            former.batch = batch;
            out.push_back(former);
        }
    }
    std::vector<Workload> once;
    for (const Workload& workload : out)
        if (!contains(once, workload))
            once.push_back(workload);
    return once;
}

struct Former {
    std::string name;
    Preset preset;
    bool present = false; ///< of the present workload
};

/// The preset whose entries a design has, made for one of the workloads; that with the most entries.
std::optional<Former> formerPreset(const Design& design)
{
    std::optional<Former> best;
    bool present = true;
    for (const Workload& workload : formerWorkloads(design)) {
        for (const std::string& name : presetNames()) {
            auto made = makePreset(name, design.mesh, design.model, workload);
            if (!made.ok() || (best && made.value().strategies.size() <= best->preset.strategies.size())
                || !hasAllInOrder(design.strategies, made.value().strategies))
                continue;
            // The same entries can be two presets'; their pins tell them apart.
            const auto& pins = made.value().pins;
            if (!std::ranges::all_of(pins, [&](const Pin& pin) { return contains(design.pins, pin); }))
                continue;
            best = Former { name, std::move(made).value(), present };
        }
        if (best && present)
            break; // it is what a preset writes now
        present = false;
    }
    return best;
}

} // namespace

std::optional<RelaidDesign> relaidByPreset(const Design& design)
{
    if (!design.model.hasGraph() || design.strategies.empty())
        return std::nullopt;
    const auto former = formerPreset(design);
    if (!former || former->present)
        return std::nullopt;
    RelaidDesign out { former->name, design, {} };
    auto notes = applyPreset(out.design, former->name);
    if (!notes.ok())
        return std::nullopt;
    out.notes = std::move(notes).value();
    // What people added to the preset's entries stays behind them. The targets of training follow the tokens.
    std::vector<StrategyEntry>& entries = out.design.strategies;
    for (const StrategyEntry& entry : design.strategies) {
        const bool targets =
            entry.match == "targets" && std::ranges::any_of(entries, [](const StrategyEntry& e) { return e.match == "targets"; });
        if (!contains(former->preset.strategies, entry) && !targets)
            entries.push_back(entry);
    }
    if (out.design == design)
        return std::nullopt;
    return out;
}

} // namespace shardboard
