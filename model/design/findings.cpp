// SPDX-License-Identifier: Apache-2.0
#include "model/design/findings.h"

#include "model/core/text.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace shardboard {

namespace {

std::string gib(std::int64_t bytes)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3g GiB", static_cast<double>(bytes) / (1 << 30));
    return text;
}

class Checker {
public:
    Checker(const Design& design, const Evaluation& evaluation, const Hardware& hardware)
        : m_design(design)
        , m_evaluation(evaluation)
        , m_hardware(hardware)
    {
    }

    std::vector<DesignFinding> all()
    {
        notUnderstood();
        overMemory();
        silentlyReplicated();
        unusedEntries();
        headsSplit();
        uneven();
        axes();
        std::stable_sort(m_findings.begin(), m_findings.end(), [](const Finding& a, const Finding& b) {
            return a.severity != b.severity ? a.severity < b.severity : a.costBytes > b.costBytes;
        });
        return std::move(m_findings);
    }

private:
    void add(const char* kind, Severity severity, const std::string& where, std::int64_t cost, const std::string& message,
             const std::string& repair)
    {
        m_findings.push_back({ { kind, severity, where, cost, message, repair }, std::nullopt });
    }

    void notUnderstood()
    {
        if (!m_design.model.hasGraph())
            add("not-understood", Severity::Warning, m_design.model.source, 0, m_design.model.notUnderstood,
                "weights can be laid out one by one; there is no plan and nothing to run");
    }

    void overMemory()
    {
        const auto limit = static_cast<std::int64_t>(m_hardware.memoryBytes);
        const MemoryByCause& memory = m_evaluation.plan.memory;
        if (memory.peak > limit)
            add("over-memory", Severity::Error, memory.peakAt.empty() ? "weights" : memory.peakAt, memory.peak - limit,
                "a device needs " + gib(memory.peak) + " and has " + gib(limit) + ": " + gib(memory.weights) + " weights, "
                    + gib(memory.activations) + " activations, " + gib(memory.kvCache) + " KV cache, " + gib(memory.reshard)
                    + " reshard copies",
                "cut the largest weights over another mesh axis, or lower batch or sequence");
    }

    void silentlyReplicated()
    {
        constexpr std::int64_t kLarge = std::int64_t { 1 } << 20;
        if (m_design.mesh.deviceCount() == 1)
            return;
        for (const WeightLayout& weight : m_evaluation.weights) {
            if (weight.entry >= 0 || weight.spec.role != TensorRole::Weight || bytesOf(weight.spec) < kLarge)
                continue;
            const std::int64_t whole = bytesOf(weight.spec);
            const std::int64_t lost = (whole - whole / m_design.mesh.deviceCount()) * weight.copies;
            add("silently-replicated", Severity::Warning, weight.spec.name, lost,
                "no strategy says anything about it, so every device holds all of it ("
                    + gib(whole * weight.copies) + " on each)",
                "give it a strategy, or say replicate to mean it");
        }
    }

    void unusedEntries()
    {
        std::set<int> used;
        for (const WeightLayout& weight : m_evaluation.weights)
            used.insert(weight.entry);
        for (std::size_t i = 0; i < m_design.strategies.size(); ++i) {
            const StrategyEntry& entry = m_design.strategies[i];
            if (used.contains(static_cast<int>(i)) || matchesAny(entry.match))
                continue;
            // Presets speak of tensors that some models do not have (biases, an untied head).
            add("unused-entry", Severity::Note, entry.match, 0, "the pattern matches no tensor of the model",
                "mend the pattern or remove the entry");
        }
    }

    /// An entry that later ones override everywhere still matches something and is no finding.
    bool matchesAny(const std::string& pattern) const
    {
        for (const WeightLayout& weight : m_evaluation.weights) {
            if (globMatch(pattern, weight.spec.name))
                return true;
            for (std::int64_t i = 0; weight.firstLayer >= 0 && i < weight.copies; ++i)
                if (globMatch(pattern, concreteName(weight.spec.name, weight.firstLayer + i)))
                    return true;
        }
        return false;
    }

    void headsSplit()
    {
        for (const Collective& collective : m_evaluation.plan.collectives) {
            const Op& op = m_evaluation.graph.op(collective.op);
            const bool reshape = op.kind == OpKind::SplitHeads || op.kind == OpKind::MergeHeads;
            if (reshape && collective.kind == CollectiveKind::AllGather)
                add("heads-split", Severity::Warning, op.name, collective.bytes, collective.reason,
                    "cut by a number of devices that divides the heads, or keep the projection whole");
        }
    }

    void uneven()
    {
        for (const WeightLayout& weight : m_evaluation.weights) {
            if (weight.unknownShape)
                continue;
            for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
                const std::int64_t parts = partsOf(weight.layout.dims[dim], m_design.mesh);
                if (weight.spec.shape[dim] % parts != 0)
                    add("uneven", Severity::Note, weight.spec.name, 0,
                        "dim " + std::to_string(dim) + " of size " + std::to_string(weight.spec.shape[dim])
                            + " does not divide by " + std::to_string(parts) + ": shards differ by an element ("
                            + cutRuleName(weight.cut) + "); some export targets refuse this",
                        "pad it to a multiple of " + std::to_string(parts));
            }
        }
    }

    void axes()
    {
        for (int axis = 0; axis < m_design.mesh.axisCount(); ++axis) {
            if (m_design.mesh.axis(axis).size == 1 || !m_design.model.hasGraph())
                continue;
            const bool used = std::any_of(m_evaluation.weights.begin(), m_evaluation.weights.end(), [&](const WeightLayout& w) {
                return std::any_of(w.layout.dims.begin(), w.layout.dims.end(), [&](const auto& dim) {
                    return std::any_of(dim.begin(), dim.end(), [&](const AxisRef& ref) { return ref.axis == axis; });
                });
            });
            if (!used)
                add("unused-axis", Severity::Warning, m_design.mesh.axis(axis).name, 0,
                    "neither the batch nor any weight is cut over mesh axis '" + m_design.mesh.axis(axis).name + "': its "
                        + std::to_string(m_design.mesh.axis(axis).size) + " devices all hold and compute the same",
                    "cut the batch or a weight over it");
        }
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    const Hardware& m_hardware;
    std::vector<DesignFinding> m_findings;
};

} // namespace

std::vector<DesignFinding> designFindings(const Design& design, const Evaluation& evaluation, const Hardware& hardware)
{
    return Checker(design, evaluation, hardware).all();
}

} // namespace shardboard
