// SPDX-License-Identifier: Apache-2.0
// What else a weight could be, each alternative evaluated as a whole design: its step time and memory are real answers
// of the flow, not guesses.
#pragma once

#include "widgets/weightedits.h"

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
};

/// Replicated, and each mesh axis on each of the first two dims or off. The current layout comes first, then by time.
std::vector<Alternative> weightAlternatives(const Document& document, int weight);

} // namespace shardboard
