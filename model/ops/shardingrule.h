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
// A row that is written out gives a placement per operand, an arrow, and that of the result: R, S<dim>, P, Pmax. After it:
//   ours            only profile shardboard has it
//   if 0.2:heads    the units of dim 2 of operand 0 (its size) must divide over the devices; `heads` is for messages
//   ring 1 2        operands 1 and 2 travel around the ring of devices while the operation runs
// `first h` instead of a row moves a factor to the front; `reduce max` makes partial results maxima instead of sums.
#pragma once

#include "model/ops/row.h"
#include "model/ops/shaperule.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// A rule that has been read.
class ShardingRule {
public:
    /// `where` has the relations of the shapes.
    static Result<ShardingRule> parse(std::string_view text, std::string_view where = {});

    const ShapeRule& shapes() const { return m_shapes; }

    /// Rows for operands and a result of these shapes, whose ranks must be those that the rule speaks of (else only the
    /// all-replicated row). `ours`: with the rows that only our own profile has.
    std::vector<Row> rows(const std::vector<Shape>& operands, const Shape& result, bool ours) const;

private:
    struct Unit {
        int operand = 0;
        int dim = 0;
        std::string what;
    };
    struct Written {
        Row row; ///< without conditions
        bool ours = false;
        std::vector<Unit> units;
    };
    struct Expansion;

    static Result<Written> parseRow(std::string_view text, std::size_t operands);

    ShapeRule m_shapes;
    std::vector<std::string> m_first;
    PartialReduce m_reduce = PartialReduce::Sum;
    std::vector<Written> m_written;
};

} // namespace shardboard
