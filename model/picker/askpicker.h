// SPDX-License-Identifier: Apache-2.0
// Asks a per-op picker of MAX (picktask.h) about an operation of a plan, with the rows of our own tables as its menu.
#pragma once

#include "model/picker/greedy.h"

#include <cstddef>
#include <string>
#include <vector>

namespace shardboard {

struct AskedRow {
    std::size_t row = 0; ///< of the rows that were asked about
    double cost = 0; ///< bytes
    std::string refusal; ///< empty when allowed
};

/// A mesh axis of more than one device.
struct AskedAxis {
    int axis = 0;
    std::vector<AskedRow> rows; ///< those that can be used, as the picker ranks them
    std::size_t picked = 0; ///< index into rows
};

/// `options.profile` is one of MAX's. Errors: what the picker refuses, at `where`.
Result<std::vector<AskedAxis>> askPicker(const std::vector<Row>& rows, const std::vector<PickOperand>& operands, const Mesh& mesh,
                                         const PickerOptions& options, const std::string& where);

} // namespace shardboard
