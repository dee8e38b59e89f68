// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of logits in the pieces that a cut vocabulary needs. Each device works on its columns [first, first + n) of
// the logits; between the pieces the devices reduce [rows] floats:
//   highest = crossEntropyHighest         -> all devices: maximum
//   sum     = crossEntropySum             -> all devices: sum
//   picked  = crossEntropyTargetLogit     -> all devices: sum
//   loss    = crossEntropyLoss, then dLogits = crossEntropyGradient on the columns of the device
// `targets` are whole numbers; a token whose target is below 0 does not count: its loss and gradients are 0.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// The local columns of a vocabulary.
struct VocabularyRange {
    std::int64_t rows = 0;
    std::int64_t first = 0; ///< vocabulary entry of the first column
    std::int64_t n = 0; ///< columns
};

/// Highest logit of each row; minus infinity where there are no columns.
void crossEntropyHighest(const VocabularyRange& range, const float* logits, float* highest);
/// Sum of e^(logit - highest) of each row.
void crossEntropySum(const VocabularyRange& range, const float* logits, const float* highest, float* sum);
/// The target's logit, 0 where the target is another device's.
void crossEntropyTargetLogit(const VocabularyRange& range, const float* logits, const float* targets, float* picked);
/// (log(sum) + highest - picked) * scale. `targets` may be null where every token counts.
void crossEntropyLoss(std::int64_t rows, const float* highest, const float* sum, const float* picked, const float* targets,
                      float scale, float* loss);
/// dLogits = (softmax - (1 at the target)) * scale, with dLoss (may be null) also times dLoss of the row. `dLogits` may be
/// the same as `logits`.
void crossEntropyGradient(const VocabularyRange& range, const float* logits, const float* highest, const float* sum,
                          const float* targets, float scale, const float* dLoss, float* dLogits);

} // namespace shardboard::engine
