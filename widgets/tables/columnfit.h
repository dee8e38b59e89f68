// SPDX-License-Identifier: Apache-2.0
// Widths of the columns of a table that is not to scroll sideways: in little room texts are elided, then the columns that matter
// least are left out.
#pragma once

#include <vector>

namespace shardboard {

struct ColumnWish {
    int natural = 0; ///< pixels, all of its heading and contents
    int least = 0; ///< pixels that it needs to be of use, at most `natural`
    int rank = 0; ///< the lowest is the last to give way
    bool mayHide = false;
    int narrowest = 0; ///< pixels to which it shrinks before the table scrolls, when no other may be left out; 0: `least`
};

/// In the order of the wishes, in pixels; 0 is a column that is left out. Their sum is at most `available` unless the narrowest of
/// the columns that may not be left out are more.
std::vector<int> fitColumns(const std::vector<ColumnWish>& wishes, int available);

} // namespace shardboard
