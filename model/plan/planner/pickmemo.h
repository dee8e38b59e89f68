// SPDX-License-Identifier: Apache-2.0
// What was picked before on one mesh with one set of options. Layers that are told apart mostly differ in one weight: all other
// operations come in the layouts in which they came before, and weighing them is the dearest part of a plan.
#pragma once

#include "model/picker/greedy.h"

#include <unordered_map>
#include <vector>

namespace shardboard {

class PickMemo {
public:
    /// Null when nothing was picked for the like.
    const Pick* find(OpKind kind, const std::vector<PickOperand>& operands, const Shape& result,
                     const std::vector<AxisPin>& pins) const;
    /// The reference holds as long as the memo.
    const Pick& add(OpKind kind, std::vector<PickOperand> operands, const Shape& result, std::vector<AxisPin> pins, Pick pick);

private:
    struct Entry {
        OpKind kind;
        std::vector<PickOperand> operands;
        Shape result;
        std::vector<AxisPin> pins;
        Pick pick;
    };
    std::unordered_multimap<std::size_t, Entry> m_entries; ///< by hash
};

} // namespace shardboard
