// SPDX-License-Identifier: Apache-2.0
// What an edit of a design would do to its step and to the memory of a device, or why it cannot be made. Pure, so that it is worked
// out on another thread while somebody edits.
#pragma once

#include "model/design/design.h"
#include "model/design/evaluation.h"

#include <QString>

namespace shardboard {

/// What a design takes.
struct DesignCost {
    double seconds = 0; ///< of a step; 0 where no operations are known
    std::int64_t peakBytes = 0; ///< on the fullest device
    std::int64_t limitBytes = 0; ///< of a device; 0: unknown
    std::int64_t leastBytes = 0; ///< the peak with the allocator at its best
    std::int64_t mostBytes = 0; ///< and at its worst
    Fit fit() const { return limitBytes <= 0 ? Fit::Fits : fitOf(leastBytes, mostBytes, limitBytes); }
    bool fits() const { return fit() != Fit::DoesNotFit; } ///< perhaps tightly
    friend bool operator==(const DesignCost&, const DesignCost&) = default;
};
DesignCost costOf(const Design& design, const Evaluation& evaluation);

struct SettingEffect {
    DesignCost now;
    DesignCost then;
    QString refusal; ///< why the document would not take the edit; then there is no `then`
};

/// The same that the document would find: it refuses what is wrong now and was not before.
SettingEffect effectOf(const Design& edited, const DesignCost& now, const Evaluation& before);

/// `step 131 ms → 140 ms, +6.9 %`; `same step time`; empty where there is none.
QString stepEffectText(const SettingEffect& effect);
/// `memory 43.1 → 50.2 GiB, +7.1 GiB, fits`; with `does not fit: needs 1.31× the 74.5 GiB of a device` where it does not.
QString memoryEffectText(const SettingEffect& effect);
/// Both, or the refusal, in one line: `+6.9 % step time · +7.1 GiB · does not fit`.
QString shortEffectText(const SettingEffect& effect);
/// `fits`, `tight`, or `does not fit: needs 1.31× the 74.5 GiB of a device`; empty where the limit is unknown.
QString fitText(const DesignCost& cost);

} // namespace shardboard
