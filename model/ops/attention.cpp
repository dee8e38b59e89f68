// SPDX-License-Identifier: Apache-2.0
// Heads, their rotation, the KV cache, and attention: by batch or by heads. MAX has no attention rule: its kernels run per
// device on whatever is there.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// Two products over all keys; of a square (as many queries as keys) only the causal half.
double attentionFlops(const LocalShapes& local)
{
    const Shape& queries = (*local.globalOperands)[0];
    const Shape& keys = (*local.globalOperands)[1];
    return (keys[1] == queries[1] ? 2.0 : 4.0) * volume(local.result) * static_cast<double>(keys[1]);
}

const std::array kTable {
    OpDefinition { .kind = OpKind::SplitHeads, .name = "split_heads", .rule = "b s heads*d! -> b s heads d! ; P -> P", .view = true },
    OpDefinition { .kind = OpKind::MergeHeads, .name = "merge_heads", .rule = "b s heads d! -> b s heads*d! ; P -> P", .view = true },
    // Pairs along the head dim are rotated together.
    OpDefinition { .kind = OpKind::Rope, .name = "rope", .rule = "... d! -> ... d!" },
    // The new token is not a cut of the cache.
    OpDefinition { .kind = OpKind::KvAppend, .name = "kv_append", .rule = "b s! heads d! -> b c! heads d!" },
    // Where there are fewer KV heads than devices every device has all of them.
    OpDefinition { .kind = OpKind::Attention, .name = "attention", .operands = 3,
                   .rule = "b s! h! d!, b c! k! d!, b c! k! e! -> b s! h! e!"
                           " ; S2 S2 S2 -> S2 if 0.2:heads 1.2:KV_heads ; S2 R R -> S2",
                   .flops = attentionFlops },
};

} // namespace

std::span<const OpDefinition> attentionDefinitions() { return kTable; }

} // namespace shardboard
