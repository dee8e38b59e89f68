// SPDX-License-Identifier: Apache-2.0
// The best layouts of a design's weights and activations, all at once, with a lower bound.
#pragma once

#include "model/design/evaluation.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

enum class LayoutObjective { StepTime, Memory };
std::string layoutObjectiveName(LayoutObjective objective); ///< step-time, memory
std::optional<LayoutObjective> layoutObjectiveFromName(std::string_view name);

/// How far a search is: for a line, a plot, a table.
struct OptimizeProgress {
    double seconds = 0; ///< since it began
    double best = 0; ///< objective of the best design so far; infinite without one
    double bound = 0; ///< no layouts of the model are better
    std::string what; ///< `preset tp-sp`, `layouts`
};

struct OptimizeOptions {
    LayoutObjective objective = LayoutObjective::StepTime;
    std::optional<double> memoryBytes; ///< of a device; none: no limit
    std::vector<std::string> keep; ///< patterns of names of weights whose layouts stay
    std::vector<std::pair<std::string, std::string>> forbid; ///< a pattern of activations, and a mesh axis that may not cut them
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    const std::atomic<bool>* cancelled = nullptr; ///< set: the best so far is returned
    std::function<void(const OptimizeProgress&)> progress; ///< each time that best or bound changes, from one thread
    /// Each design that was planned, and how it came about; from one thread.
    std::function<void(const Design&, const Evaluation&, const std::string&)> tried;
};

/// What is certain of an answer.
struct Certificate {
    double objective = 0; ///< of the design, as it is evaluated: seconds of a step, or bytes
    double lowerBound = 0; ///< of the objective, over all tied layouts
    double greedy = 0; ///< of the design as it was
    bool greedyFits = true;
    double modelled = 0; ///< what the network of costs has for the same layouts; 0 where another design won
    double gap() const { return objective > 0 && lowerBound < objective ? (objective - lowerBound) / objective : 0; }
    /// The bound was proved as it stands, of all tied layouts: nothing was counted twice, left out, or taken as one.
    bool proved = false;
    std::string winner; ///< `layouts`, `preset tp-sp`, `the design itself`
    std::vector<std::string> exact; ///< sentences
    std::vector<std::string> notExact;
    double seconds = 0; ///< without reading and writing files
    double searchSeconds = 0; ///< part of it without evaluating the design and presets to start from
    int solved = 0; ///< networks
    std::size_t nodes = 0;
    std::size_t strategies = 0; ///< most that a node has
    int width = 0;
    std::size_t table = 0;
    std::vector<OptimizeProgress> history;
};

/// A weight that lies otherwise.
struct LayoutChange {
    std::string tensor;
    std::string from;
    std::string to;
};

struct OptimizedDesign {
    bool feasible = true;
    double limit = 0; ///< bytes; 0: none
    double missingBytes = 0; ///< where it is not feasible: over the limit, in the least of all that were tried
    Design design; ///< the best; where nothing fits, the one that needs the least memory
    std::shared_ptr<const Evaluation> evaluation;
    Certificate certificate;
    std::vector<LayoutChange> changes;
};

/// Changes layouts alone: mesh, workload, and the rest stay. Errors: those of evaluating the design; a pattern or mesh axis that is
/// none.
Result<OptimizedDesign> optimizeLayouts(const Design& design, const OptimizeOptions& options);

/// Of the design's hardware, what a device has for a step.
Result<double> usableMemory(const Design& design);

} // namespace shardboard
