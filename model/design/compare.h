// SPDX-License-Identifier: Apache-2.0
// Two designs against each other: what differs between them, and what each of them costs. Values without behaviour, made
// from two evaluations; programs print them and the window shows them.
#pragma once

#include "model/design/evaluation.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardboard {

/// Something that the designs say differently. An empty side says nothing of it.
struct DesignDifference {
    enum class Part { Model, Mesh, Hardware, Workload, Pipeline, Picker, Memory, Rules, Weight, Pin };
    Part part = Part::Mesh;
    /// `mesh`, `batch`, …; of weights their names without what all layers share, those that changed alike together.
    std::vector<std::string> names;
    std::string before;
    std::string after;
};
std::string changePartName(DesignDifference::Part part); ///< model, mesh, …

/// A tensor's name without what all layers share: `self_attn.o_proj` for `model.layers.*.self_attn.o_proj.weight`.
std::string withoutLayer(std::string name);
/// By name, in the order of the model: the layout, or where layers differ each with the layer at which it begins.
std::vector<std::pair<std::string, std::string>> layoutTexts(const Evaluation& evaluation);

/// One figure of both evaluations.
struct CostLine {
    enum class Unit { Seconds, Bytes, Count, Rate, Share };
    enum class Better { Lower, Higher, Neither };
    enum class Verdict { Same, Better, Worse, Other }; ///< Other: it differs, and neither is better
    std::string key; ///< in documents: `step_seconds`
    std::string name; ///< for people: `step`
    Unit unit = Unit::Seconds; ///< Rate: per second; Share: of 1
    Better better = Better::Lower;
    double before = 0;
    double after = 0;
    bool part = false; ///< of the last line above that is no part
    double difference() const { return after - before; }
    /// The difference as a share of `before`; 0 where that is 0.
    double change() const { return before != 0 ? difference() / before : 0; }
    Verdict verdict() const;
};
std::string verdictName(CostLine::Verdict verdict); ///< same, better, worse, other
/// A value of such a line, and with a sign the difference of two: `12.4 ms`, `38.6 %`; `+1.5 GiB`, `-2 points`.
std::string costText(CostLine::Unit unit, double value);
std::string costDifferenceText(CostLine::Unit unit, double difference);
/// `-9.2 %`; empty where there is nothing to compare with, or nothing to see.
std::string changeText(double change);

struct DesignComparison {
    std::vector<DesignDifference> changes; ///< in the order of DesignDifference::Part
    /// Step time with its parts, collectives by kind and mesh axes, bytes, tokens per second, MFU, memory by cause. What is 0 on
    /// both sides is left out, but for the main figures.
    std::vector<CostLine> costs;
    /// What to keep in mind with the figures, a sentence each: `the two designs do different work: …`.
    std::vector<std::string> notes;
    bool same() const { return changes.empty(); }
    /// By key; null when it is not there.
    const CostLine* cost(const std::string& key) const;
};

DesignComparison compareDesigns(const Design& before, const Evaluation& beforeEvaluation, const Design& after,
                                const Evaluation& afterEvaluation);

} // namespace shardboard
