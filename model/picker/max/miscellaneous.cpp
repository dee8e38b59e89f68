// SPDX-License-Identifier: Apache-2.0
// Operations that need everything everywhere, and those without a rule (max-sharding 2.3 to 2.5).
#include "model/picker/max/registry.h"

namespace shardboard {

std::span<const OpFamily> miscellaneousFamilies()
{
    static const std::vector<OpFamily> table {
        { .name = "replicated",
          .aliases = { "masked_scatter", "scatter_nd", "scatter_nd_add", "scatter_nd_max", "scatter_nd_min", "scatter_nd_mul",
                       "cond", "while_loop" },
          .most = -1,
          .rule = "R* -> R" },
        // run per device on whatever is there
        { .name = "no_rule",
          .aliases = { "group_norm", "non_maximum_suppression", "roi_align" },
          .most = -1,
          .rule = "=* -> U",
          .note = "there is no rule for this operation: it runs per device on what is there" },
        // the results of an operation of one's own copy the placement of an operand
        { .name = "custom_op", .most = -1, .attributes = { { "like", AttributeKind::Axis, "0", "n" } }, .rule = "=* -> =(like)" },
    };
    return table;
}

} // namespace shardboard
