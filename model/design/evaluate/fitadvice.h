// SPDX-License-Identifier: Apache-2.0
// Whether a design fits into the memory of its devices, by how much it misses, and what would make it fit: every answer is a
// changed design that was planned, with the peak and the step time that came out.
#pragma once

#include "model/design/design.h"
#include "model/design/evaluation.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// A changed design.
struct FitOption {
    std::string what; ///< `recompute fully and 4 micro-batches`
    Design design;
    int changes = 1; ///< how many things are different
    std::int64_t peakBytes = 0;
    double seconds = 0; ///< of a step
    double lostSeconds = 0; ///< against the design as it is; negative: faster
    std::int64_t devices = 0;
    bool fits = false;
};

struct FitAdvice {
    std::int64_t limitBytes = 0; ///< memory of a device
    std::int64_t peakBytes = 0;
    std::int64_t leastBytes = 0; ///< the peak with the allocator at its best
    std::int64_t mostBytes = 0; ///< and at its worst
    double seconds = 0; ///< of a step as it is
    std::int64_t devices = 0;
    /// Those that fit, on the devices that are there before those on more, and then by the seconds lost. A combination is listed
    /// only where no part of it fits alone. Empty where the peak is below the limit.
    std::vector<FitOption> fixes;
    /// Where nothing fits: what came nearest. Its peak may be above the design's, if nothing helps at all.
    std::vector<FitOption> nearest; ///< one, or none
    int tried = 0;

    Fit fit() const { return fitOf(leastBytes, mostBytes, limitBytes); }
    bool fits() const { return fit() != Fit::DoesNotFit; } ///< perhaps tightly
    std::int64_t missing() const { return peakBytes - limitBytes; }
};

/// Plans the design with more recomputing, more micro-batches, optimizer states cut, other presets (sequence parallel, fully
/// sharded), larger mesh axes of one name, and combinations of all but the last. Changes that leave a mesh axis unused which the
/// design uses, or with which a device holds more of the weights, are none. Takes some dozen evaluations: off the thread that
/// draws. `stop` is asked between them; what was found by then is returned. Errors: those of evaluating the design as it is.
Result<FitAdvice> fitAdvice(const Design& design, const std::function<bool()>& stop = {});

/// `does not fit: 88.4 GiB of 74.5 GiB, 13.9 GiB too much` and what would, or `tight: 70.1 to 82.0 GiB of 74.5 GiB`; for people.
std::string fitText(const FitAdvice& advice, std::size_t most = 3);

/// The advice as the repair of the over-memory finding, if there is one among them.
void addFitRepair(const Design& design, std::vector<DesignFinding>& findings);

} // namespace shardboard
