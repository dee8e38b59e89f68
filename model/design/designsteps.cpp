// SPDX-License-Identifier: Apache-2.0
#include "model/design/designsteps.h"

#include "model/design/entryindex.h"
#include "model/design/layoutstrategy.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace shardboard {

namespace {

using Part = DesignDifference::Part;

/// What compareDesigns() calls the settings of a step, and how each is taken over.
using TakeOver = void (*)(Workload&, const Workload&);
constexpr std::array<std::pair<std::string_view, TakeOver>, 22> kSettings { {
    { "workload", [](Workload& to, const Workload& from) { to.kind = from.kind; } },
    { "batch", [](Workload& to, const Workload& from) { to.batch = from.batch; } },
    { "sequence", [](Workload& to, const Workload& from) { to.sequence = from.sequence; } },
    { "dtype", [](Workload& to, const Workload& from) { to.dtype = from.dtype; } },
    { "micro-batches", [](Workload& to, const Workload& from) { to.microBatches = from.microBatches; } },
    { "recompute", [](Workload& to, const Workload& from) { to.recompute = from.recompute; } },
    { "layers that recompute", [](Workload& to, const Workload& from) { to.recomputeLayers = from.recomputeLayers; } },
    { "recomputes one layer in", [](Workload& to, const Workload& from) { to.recomputeEvery = from.recomputeEvery; } },
    { "attention", [](Workload& to, const Workload& from) { to.attention = from.attention; } },
    { "overlap", [](Workload& to, const Workload& from) { to.overlap = from.overlap; } },
    { "software", [](Workload& to, const Workload& from) { to.software = from.software; } },
    { "launches", [](Workload& to, const Workload& from) { to.graphs = from.graphs; } },
    { "capacity of experts", [](Workload& to, const Workload& from) { to.capacityFactor = from.capacityFactor; } },
    { "dispatch", [](Workload& to, const Workload& from) { to.dispatch = from.dispatch; } },
    { "order of context", [](Workload& to, const Workload& from) { to.contextOrder = from.contextOrder; } },
    { "logits", [](Workload& to, const Workload& from) { to.logits = from.logits; } },
    { "fp8 recipe", [](Workload& to, const Workload& from) { to.fp8 = from.fp8; } },
    { "precision", [](Workload& to, const Workload& from) { to.precision = from.precision; } },
    { "optimizer", [](Workload& to, const Workload& from) { to.rule = from.rule; } },
    { "offload", [](Workload& to, const Workload& from) { to.offload = from.offload; } },
    { "further tokens predicted", [](Workload& to, const Workload& from) { to.predicted = from.predicted; } },
    { "optimizer states", [](Workload& to, const Workload& from) { to.optimizer = from.optimizer; } },
} };

bool hasAll(const Mesh& mesh, const std::vector<std::string>& axes)
{
    return std::ranges::all_of(axes, [&](const std::string& axis) { return mesh.find(axis) >= 0; });
}

std::vector<std::string> axesOf(const Pin& pin)
{
    std::vector<std::string> out = pin.whole;
    for (const Pin::Dim& dim : pin.dims)
        out.insert(out.end(), dim.axes.begin(), dim.axes.end());
    if (!pin.axis.empty())
        out.push_back(pin.axis);
    return out;
}

std::vector<std::string> axesOf(const Layout& layout, const Mesh& mesh)
{
    std::vector<std::string> out;
    for (const std::vector<AxisRef>& dim : layout.dims)
        for (const AxisRef& ref : dim)
            out.push_back(mesh.axis(ref.axis).name);
    return out;
}

/// What set pins that no person did: `45 by preset fsdp`.
std::string sourcedText(const std::vector<Pin>& pins)
{
    std::string source;
    std::size_t count = 0;
    for (const Pin& pin : pins)
        if (!pin.source.empty()) {
            ++count;
            source = pin.source;
        }
    return count == 0 ? std::string() : std::to_string(count) + " by " + source;
}

std::vector<Pin> pinsOf(const std::vector<Pin>& pins, bool byHand)
{
    std::vector<Pin> out;
    std::ranges::copy_if(pins, std::back_inserter(out), [byHand](const Pin& pin) { return pin.source.empty() == byHand; });
    return out;
}

class StepList {
public:
    StepList(const Design& before, const Evaluation& beforeEvaluation, const Design& after, const Evaluation& afterEvaluation)
        : m_before(before)
        , m_old(beforeEvaluation)
        , m_after(after)
        , m_new(afterEvaluation)
    {
    }

    std::vector<DesignStep> run()
    {
        const DesignComparison comparison = compareDesigns(m_before, m_old, m_after, m_new);
        for (const DesignDifference& change : comparison.changes) {
            if (change.part == Part::Weight || change.part == Part::Pin)
                continue; // in their own way
            if (change.part == Part::Model) {
                m_out.assign(1, { change.part, change.names.front(), change.before, change.after, {}, {}, -1, false });
                return std::move(m_out);
            }
            const auto same = std::ranges::find_if(m_out, [&](const DesignStep& step) {
                const bool whole = change.part == Part::Mesh || change.part == Part::Memory || change.part == Part::Rules;
                return whole && step.part == change.part;
            });
            if (same == m_out.end()) {
                m_out.push_back({ change.part, change.names.front(), change.before, change.after, {}, {}, needOf(change), false });
            } else { // taken over as one
                same->name += ", " + change.names.front();
                same->before += ", " + change.before;
                same->after += ", " + change.after;
            }
        }
        weights();
        pins();
        return std::move(m_out);
    }

private:
    int meshStep() const
    {
        const auto at = std::ranges::find(m_out, Part::Mesh, &DesignStep::part);
        return at == m_out.end() ? -1 : static_cast<int>(at - m_out.begin());
    }
    int needOf(const std::vector<std::string>& axes) const { return hasAll(m_before.mesh, axes) ? -1 : meshStep(); }
    int needOf(const DesignDifference& change) const
    {
        if (change.part == Part::Pipeline && m_after.pipeline.present())
            return needOf(std::vector { m_after.pipeline.axis });
        if (change.part == Part::Workload && change.names.front() == "optimizer states")
            return needOf(m_after.workload.optimizer.axes);
        return -1;
    }

    void weights()
    {
        const auto before = layoutTexts(m_old);
        for (const auto& [name, text] : layoutTexts(m_new)) {
            const auto was = std::ranges::find(before, name, [](const auto& one) { return one.first; });
            if (was == before.end() || was->second == text)
                continue;
            const auto weight = std::ranges::find(m_new.weights, name, [](const WeightLayout& one) { return one.spec.name; });
            m_out.push_back({ Part::Weight,
                              withoutLayer(name),
                              was->second,
                              text,
                              name,
                              {},
                              needOf(axesOf(weight->layout, m_after.mesh)),
                              false });
        }
    }

    void pins()
    {
        if (pinsOf(m_before.pins, false) != pinsOf(m_after.pins, false)) {
            std::vector<std::string> axes;
            for (const Pin& pin : pinsOf(m_after.pins, false))
                for (const std::string& axis : axesOf(pin))
                    axes.push_back(axis);
            const std::string was = sourcedText(m_before.pins);
            const std::string is = sourcedText(m_after.pins);
            m_out.push_back({ Part::Pin, "pins", was, was == is ? is + ", others" : is, {}, {}, needOf(axes), false });
        }
        std::multiset<std::string> left;
        for (const Pin& pin : pinsOf(m_before.pins, true))
            left.insert(pinText(pin));
        std::vector<DesignStep> added;
        for (const Pin& pin : pinsOf(m_after.pins, true)) {
            const std::string text = pinText(pin);
            if (const auto same = left.find(text); same != left.end())
                left.erase(same);
            else
                added.push_back({ Part::Pin, "pin", {}, text, {}, text, needOf(axesOf(pin)), false });
        }
        for (const std::string& text : left)
            m_out.push_back({ Part::Pin, "pin", text, {}, {}, text, -1, true });
        m_out.insert(m_out.end(), added.begin(), added.end());
    }

    const Design& m_before;
    const Evaluation& m_old;
    const Design& m_after;
    const Evaluation& m_new;
    std::vector<DesignStep> m_out;
};

/// The mesh, and what names axes that it does not have goes.
void takeMesh(Design& out, const Design& after)
{
    out.mesh = after.mesh;
    if (out.pipeline.present() && out.mesh.find(out.pipeline.axis) < 0)
        out.pipeline = after.pipeline;
    std::erase_if(out.workload.optimizer.axes, [&](const std::string& axis) { return out.mesh.find(axis) < 0; });
    std::erase_if(out.pins, [&](const Pin& pin) { return !hasAll(out.mesh, axesOf(pin)); });
}

void takeWeight(Design& out, const Design& after, const Evaluation& afterEvaluation, const EntryIndex& entries,
                const std::string& tensor)
{
    std::erase_if(out.strategies, [&](const StrategyEntry& entry) { return entry.match == tensor; });
    if (const int entry = entries.deciding(tensor); entry >= 0) {
        StrategyEntry taken = after.strategies[static_cast<std::size_t>(entry)];
        taken.match = tensor;
        out.strategies.push_back(std::move(taken));
        return;
    }
    const auto weight = std::ranges::find(afterEvaluation.weights, tensor, [](const WeightLayout& one) { return one.spec.name; });
    if (weight != afterEvaluation.weights.end()) // rules lay it out
        out.strategies.push_back({ tensor, strategyOf(weight->layout, after.mesh), std::nullopt });
}

void takePin(Design& out, const Design& after, const DesignStep& step)
{
    if (step.pin.empty()) { // all that no person set, before those that one did
        std::vector<Pin> pins = pinsOf(after.pins, false);
        const std::vector<Pin> byHand = pinsOf(out.pins, true);
        pins.insert(pins.end(), byHand.begin(), byHand.end());
        out.pins = std::move(pins);
    } else if (step.byHand) {
        const auto at =
            std::ranges::find_if(out.pins, [&](const Pin& pin) { return pin.source.empty() && pinText(pin) == step.pin; });
        if (at != out.pins.end())
            out.pins.erase(at);
    } else if (auto pin = parsePin(step.pin); pin.ok()) {
        out.pins.push_back(std::move(pin).value());
    }
}

} // namespace

std::vector<DesignStep> stepsBetween(const Design& before, const Evaluation& beforeEvaluation, const Design& after,
                                     const Evaluation& afterEvaluation)
{
    return StepList(before, beforeEvaluation, after, afterEvaluation).run();
}

std::vector<bool> takenSteps(const std::vector<DesignStep>& steps, const std::vector<bool>& accepted)
{
    std::vector<bool> out = accepted;
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].needs >= 0 && !out[static_cast<std::size_t>(steps[i].needs)])
            out[i] = false;
    return out;
}

Design withSteps(const Design& before, const Design& after, const Evaluation& afterEvaluation, const std::vector<DesignStep>& steps,
                 const std::vector<bool>& accepted)
{
    const std::vector<bool> taken = takenSteps(steps, accepted);
    if (std::ranges::all_of(taken, [](bool one) { return one; }))
        return after;
    Design out = before;
    const EntryIndex entries(after.strategies);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!taken[i])
            continue;
        const DesignStep& step = steps[i];
        switch (step.part) {
        case Part::Model:
            return after;
        case Part::Mesh:
            takeMesh(out, after);
            break;
        case Part::Hardware:
            out.hardware = after.hardware;
            out.ownHardware = after.ownHardware;
            break;
        case Part::Workload:
            for (const auto& [name, take] : kSettings)
                if (name == step.name)
                    take(out.workload, after.workload);
            break;
        case Part::Pipeline:
            out.pipeline = after.pipeline;
            break;
        case Part::Picker:
            out.picker = after.picker;
            break;
        case Part::Memory:
            out.memory = after.memory;
            break;
        case Part::Rules:
            out.rules = after.rules;
            break;
        case Part::Weight:
            takeWeight(out, after, afterEvaluation, entries, step.tensor);
            break;
        case Part::Pin:
            takePin(out, after, step);
            break;
        }
    }
    return out;
}

std::vector<StepWorth> worthOfSteps(const Design& before, const Design& after, const Evaluation& afterEvaluation,
                                    const std::vector<DesignStep>& steps, const std::vector<bool>& accepted,
                                    const std::atomic<bool>* stop)
{
    struct Figures {
        double seconds = 0;
        double bytes = 0;
        std::string refused;
    };
    const auto figuresOf = [&](const std::vector<bool>& taken) {
        const auto evaluation = planOnly(withSteps(before, after, afterEvaluation, steps, taken), Misfits::Replicate);
        if (!evaluation.ok())
            return Figures { 0, 0, evaluation.error().where + ": " + evaluation.error().what };
        const Plan& plan = evaluation.value()->plan;
        return Figures { plan.seconds(), static_cast<double>(plan.memory.peak), {} };
    };
    const std::vector<bool> taken = takenSteps(steps, accepted);
    std::vector<bool> above(steps.size(), false);
    Figures last = figuresOf(above);
    std::vector<StepWorth> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (stop != nullptr && *stop)
            break;
        std::vector<bool> with = above;
        with[i] = true;
        if (steps[i].needs >= 0)
            with[static_cast<std::size_t>(steps[i].needs)] = true;
        const Figures now = figuresOf(with);
        out.push_back({ now.seconds - last.seconds, now.bytes - last.bytes, now.refused.empty() ? last.refused : now.refused });
        if (!taken[i])
            continue;
        above[i] = true;
        last = now;
    }
    return out;
}

} // namespace shardboard
