// SPDX-License-Identifier: Apache-2.0
// What else a weight could be, each alternative evaluated as a whole design: its step time and memory are real answers
// of the flow, not guesses.
#pragma once

#include "widgets/edits/weightedits.h"

#include <QString>

#include <atomic>
#include <vector>

namespace shardboard {

struct Alternative {
    QString title; ///< `Cut dim 1 over model`
    Layout layout;
    QString spec; ///< the layout in the preferred notation
    WeightEdit edit;
    bool current = false;
    QString refusal; ///< why it cannot be, empty when it can
    double seconds = 0; ///< a step of the whole design
    std::int64_t peak = 0; ///< bytes on the fullest device
    QString pins; ///< that leave the step time as it is, where it would be another one without pins; empty: none do
};

/// Replicated, and each mesh axis on each of the first two dims or off, not evaluated; the current layout comes first and has its
/// numbers.
std::vector<Alternative> weightCandidates(const Document& document, int weight);
/// Whether people are told of a difference.
bool sameStepTime(double now, double then);
/// Evaluates all but the current one, and where the step time stays also what it were without pins; what comes to the same layout
/// is left out, the rest ordered by time. Knows no document, so that it can run anywhere. Ends early, with nothing, when `stop` is
/// set.
std::vector<Alternative> evaluatedAlternatives(std::vector<Alternative> candidates, int weight, Notation notation,
                                               const std::atomic<bool>* stop = nullptr);

} // namespace shardboard
