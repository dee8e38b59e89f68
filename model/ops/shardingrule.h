// SPDX-License-Identifier: Apache-2.0
// The sharding rule of an operation as text, and the rows that it stands for. The notation is that of a tensor
// contraction, one name per tensor dim:
//
//     x [... in], weight [out in] -> [... out] ; P R -> P ; R P -> P
//
// What stands before the first semicolon are the shapes (model/ops/shaperule.h); names of operands and brackets may be left
// out. Dims of the same name are one factor: they are cut together. A factor that the result has gives a row that cuts the
// result there; one that only operands have gives a row whose result is partial sums. Rows come in this order: all
// replicated, the result's factors from left to right, the other factors in the order of the operands, then the rows that
// are written out. Order matters, because ties go to the earlier row.
//   ...     the dims before the named ones; of the same number and meaning in every operand that has it
//   ~       every dim, aligned at the right, as a broadcast: an operand takes part where it has the dim with a size other
//           than 1
//   name!   a dim that every device must have whole
//   h*d!    a dim made of whole units of h (a dim of its own elsewhere in the rule), each as large as d
// Rows are written out in the language of model/ops/rows/rowpattern.h, which also has loops over dims; a rule may consist of them
// alone. `first h` instead of a row moves a factor to the front; `reduce max` makes partial results maxima instead of sums.
#pragma once

#include "model/ops/rows/rowpattern.h"
#include "model/ops/shaperule.h"

namespace shardboard {

/// A rule that has been read.
class ShardingRule {
public:
    /// `where` has the relations of the shapes; `attributes`, and how many `reasons` there are for what is unsound, are what rows
    /// may speak of.
    static Result<ShardingRule> parse(std::string_view text, std::string_view where = {},
                                      std::span<const AttributeSpec> attributes = {}, std::size_t reasons = 0);

    const ShapeRule& shapes() const { return m_shapes; }

    /// Adds the rows for operands and a result of the scope's shapes. Where the ranks are not those that the dims of the rule
    /// speak of, it is only the all-replicated one.
    void expand(PatternScope& scope, std::vector<Row>& rows) const;
    /// Rows of a rule with dims.
    std::vector<Row> rows(const std::vector<Shape>& operands, const Shape& result, PickerProfile profile) const;

private:
    struct Expansion;

    /// As far as the operands tell it: its rank, and which of its dims are 1.
    Shape resultOf(const PatternScope& scope) const;
    /// Adds the rows that the dims stand for; false where the ranks are others.
    bool expandDims(const PatternScope& scope, std::vector<Row>& rows) const;

    ShapeRule m_shapes; ///< without operands where the rule has no dims
    std::vector<int> m_first; ///< places of names
    PartialReduce m_reduce = PartialReduce::Sum;
    std::vector<RowPattern> m_patterns;
};

} // namespace shardboard
