// SPDX-License-Identifier: Apache-2.0
// Frameworks that are told sizes alone cut every weight by a rule of their own. This is the rule, once, for all of them: column,
// row and vocabulary parallelism as in Megatron-LM, whose names for ranks they share.
//   query, gate and up projections   dim 0 into equal parts over the tensor ranks, queries in whole heads
//   key and value projections        dim 0 in whole heads; where there are fewer heads than ranks, ranks share them
//   output and down projections      dim 1 into equal parts
//   embedding and head               the vocabulary, padded first
//   experts                          whole ones over the expert ranks; the width of each over its tensor ranks
//   everything else                  whole on every rank
#pragma once

#include "model/io/ranks/axisuse.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// Where a rank stands in the groups that weights are cut over.
struct RankPlace {
    std::int64_t tensor = 0;
    std::int64_t expert = 0;
    std::int64_t expertTensor = 0;
};

struct RankRule {
    std::string framework; ///< `vLLM`
    std::int64_t tensor = 1; ///< sizes of the groups
    std::int64_t expert = 1;
    std::int64_t expertTensor = 1;
    std::int64_t vocabularyMultiple = 1; ///< the vocabulary is padded to a multiple of it
    bool wholeEmbedding = false; ///< the table of tokens is whole, and the head that is not tied to it is cut
    bool sharesKvHeads = true;
    bool evenExperts = false; ///< every expert rank has as many; else the first ones have one more
    std::function<RankPlace(std::int64_t rank)> place {};
};

/// Refused: a weight of which some rank, which is the device of that id, holds something else than the rule gives it; and what is
/// refused for every target (commonRefusals).
Result<std::vector<ExportRefusal>> rankRefusals(const Design& design, const Evaluation& evaluation, const RankRule& rule,
                                                const std::function<bool()>& stopped = {});

} // namespace shardboard
