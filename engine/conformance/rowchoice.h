// SPDX-License-Identifier: Apache-2.0
// Layouts of an operation's operands and result by the rows of its sharding rule, one row for every mesh axis.
#pragma once

#include "model/core/layout.h"
#include "model/core/mesh.h"
#include "model/ops/rows/row.h"

#include <string>
#include <vector>

namespace shardboard::conformance {

struct RowChoice {
    struct Ring {
        std::size_t operand = 0;
        std::vector<int> axes;
    };
    std::vector<Layout> operands;
    Layout result;
    std::vector<Ring> rings; ///< operands that go around
    bool fits = true; ///< false: a condition of a row does not hold, so that it must not be tried
};

/// `byAxis` has the index of a row for every mesh axis.
RowChoice chooseRows(const std::vector<Row>& rows, const std::vector<std::size_t>& byAxis, const std::vector<Shape>& operands,
                     const Shape& result, const Mesh& mesh);
std::string textOf(const RowChoice& choice, const Mesh& mesh);

} // namespace shardboard::conformance
