// SPDX-License-Identifier: Apache-2.0
// Around the layouts: given a number of devices, which mesh, in which order on the hardware, and which settings of the step. Every
// combination is planned as a preset lays it out, unless it is known before that it is over a limit. What is not searched stays as
// it is in the design.
#pragma once

#include "model/design/optimize/optimize.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// What may change.
struct SearchedParts {
    bool layouts = false; ///< of the best designs, once all else is chosen: see optimizeLayouts
    bool mesh = false;
    bool order = false; ///< of the mesh axes on the hardware
    bool microBatches = false;
    bool virtualStages = false;
    bool recompute = false;
    bool zero = false; ///< optimizer states, and gradients, cut over the axes that hold copies
    bool precision = false; ///< fp8 where the device has it
    /// Whether anything else than layouts may change.
    bool aroundLayouts() const { return mesh || order || microBatches || virtualStages || recompute || zero || precision; }
    friend bool operator==(const SearchedParts&, const SearchedParts&) = default;
};

/// Reads `mesh,order,micro-batches`. Errors (usage): a word that is none of them.
Result<SearchedParts> searchedPartsFrom(std::string_view text);
inline constexpr const char* kSearchedParts = "layouts, mesh, order, micro-batches, virtual-stages, recompute, zero and precision";

enum class SearchObjective { StepTime, TokensPerDevice, Memory, SlowestLink };
std::string searchObjectiveName(SearchObjective objective); ///< step-time, tokens-per-device, memory, slowest-link
std::optional<SearchObjective> searchObjectiveFromName(std::string_view name);

/// In place of a preset: the design that the search began with, and its layouts with other settings.
inline constexpr const char* kDesignItself = "the design itself";
inline constexpr const char* kAsItIs = "as it is";
inline constexpr const char* kOptimalLayouts = "optimal layouts"; ///< the same: layouts that optimizeLayouts found

/// A design that was planned.
struct SearchedDesign {
    Design design;
    std::string preset; ///< or one of the three above
    double seconds = 0; ///< of a step
    double tokensPerSecondPerDevice = 0;
    double peakBytes = 0;
    double leastBytes = 0; ///< with the allocator at its best: what has to fit
    double slowBytes = 0; ///< that a device sends over the outermost level
    bool fits = true;
    double value(SearchObjective objective) const;
};
/// `4 micro-batches, 2 virtual stages, recompute full, ZeRO-1`.
std::string searchedSettings(const Design& design);

/// The design that was planned once more, from that which the search began with and what stands in its place: so a search of
/// thousands need not keep them all. Not for those with kOptimalLayouts. Errors: of applying the preset.
Result<Design> designAgain(const Design& begun, const Mesh& mesh, const std::string& preset, const Workload& workload,
                           const PipelineSpec& pipeline);

struct SearchProgress {
    double seconds = 0;
    std::size_t planned = 0;
    std::size_t ruledOut = 0;
    std::size_t left = 0; ///< meshes, each in all its orders, that were not begun
    std::size_t meshes = 0; ///< of so many
    double best = 0; ///< value of the best that fits; infinite without one
    double bound = 0; ///< no value of what is searched is less; minus infinity where nothing is known
    std::string now; ///< what is tried: `fsdp=8,model=4, tp+fsdp`
};

struct SearchOptions {
    SearchedParts parts;
    std::int64_t devices = 1;
    SearchObjective objective = SearchObjective::StepTime;
    std::optional<double> memoryBytes;
    std::optional<double> mostSeconds; ///< of a step
    int threads = 2;
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    const std::atomic<bool>* cancelled = nullptr;
    std::function<void(const SearchProgress&)> progress; ///< from any thread, one at a time
    std::function<void(const SearchedDesign&)> tried; ///< each that was planned; from any thread, one at a time
};

struct SearchResult {
    std::vector<SearchedDesign>
        front; ///< by rising seconds: nothing that fits is better in seconds, memory, and bytes over the slowest link
    std::optional<std::size_t> best; ///< of the front, by the objective
    std::optional<SearchedDesign> nearest; ///< where nothing fits, the one that is the fewest times over a limit
    std::optional<SearchedDesign> before; ///< the design itself, if it can be planned on so many devices; it takes part
    bool complete = true; ///< everything was planned or ruled out
    std::size_t meshes = 0;
    std::size_t groups = 0; ///< a mesh, an order of its axes, and a preset
    std::size_t planned = 0;
    std::size_t ruledOut = 0; ///< by memory, or by the time that a step may take
    std::size_t refused = 0; ///< a preset or a plan that makes no sense there
    double firstSeconds = 0; ///< until something fitted
    double seconds = 0;
    double lowerBound = 0; ///< of the objective's value, over all that was searched; minus infinity: none
    std::optional<Certificate> layouts; ///< of the best design's layouts, where they were optimized
    std::vector<std::string> exact; ///< sentences: what is certain of the answer
    std::vector<std::string> notExact;
    /// (value - lower bound) / |value| of the best; none without either.
    std::optional<double> gap(SearchObjective objective) const;
};

/// All meshes of so many devices that a model has a use for, in one order of their axes each: how many devices are stages, copies,
/// shards of weights, parts of the sequence, of experts, and of heads.
std::vector<Mesh> searchedMeshes(const Design& design, std::int64_t devices);

Result<SearchResult> searchDesigns(const Design& design, const SearchOptions& options);

} // namespace shardboard
