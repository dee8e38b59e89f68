// SPDX-License-Identifier: Apache-2.0
// Rows of a rule as text, one pattern for all rows of a kind:
//     S(d) R -> S(d) for d in 0..r0-2 if !one(0,d)
// Left of the arrow a placement per operand, right of it that of the result.
//   R  S0  P  Pmax  U   as in codes
//   S(e)            cut along dim e of that operand
//   B(o)            cut along the dim that meets result dim o in a broadcast, operands aligned at the right: replicated
//                   where the operand does not have the dim or has it with size 1; no row where all are replicated
//   B(o,w)          with w of 0 or more operand w alone, where others could be cut, too
//   =               keeps what it has, and counts for nothing; as result: what operand 0 has, `=(i)`: operand i
//   X*              so for all operands that are left
// Then, in any order and each only where needed:
//   ours early late max max267     only these profiles have it: shardboard; G0 to G2 and MAX 26.6; G3 and MAX 26.7; all of
//                   MAX; MAX 26.7
//   for v in a..b   a row for each v from a to b-1; the first `for` is the outer one
//   if e            only where e is not 0
//   stay            only where nothing has to move
//   ring i j …      operands i, j, … travel around the ring of devices while the operation runs
//   needs even(i,d):heads even(i,d,j,e) …   dim d of operand i, which is so many heads (for messages, may be left out), must
//                   divide over the devices that cut it; with four arguments dim e of operand j must, over the same devices
//   unsound i if e  the result is not the unsharded one cut up, for reason i (0 when left out) of the table; without `if`
//                   always, or, after `needs`, where these do not hold
#pragma once

#include "model/ops/rows/expression.h"
#include "model/ops/rows/row.h"

namespace shardboard {

class RowPattern {
public:
    /// `reasons`: how many there are.
    static Result<RowPattern> parse(std::string_view text, std::span<const AttributeSpec> attributes, std::size_t reasons);

    /// For how many operands it is; at least so many where the last placement is for all that are left.
    std::size_t operands() const { return m_inputs.size(); }
    /// Adds its rows, if the scope's profile has them.
    void expand(PatternScope& scope, std::vector<Row>& rows) const;

private:
    struct Piece {
        enum class Kind : std::uint8_t { Fixed, Shard, Broadcast, Keep };
        Kind kind = Kind::Fixed;
        Placement fixed {};
        Expression dim {};
        Expression alone {}; ///< of Broadcast
    };
    struct Loop {
        Expression from;
        Expression to;
    };
    struct Even {
        std::array<Expression, 4> at; ///< the last two empty where the dim itself must divide
        std::string what {};
    };
    struct Bounds {
        std::int64_t from = 0;
        std::int64_t to = 1; ///< one row where there is no such loop
    };
    class Parser;

    /// Whether there is such a row, and if so the row.
    bool expandOne(const PatternScope& scope, Row& row) const;
    Bounds bounds(std::size_t loop, const PatternScope& scope) const
    {
        return loop < m_loops.size() ? Bounds { m_loops[loop].from.value(scope), m_loops[loop].to.value(scope) } : Bounds {};
    }

    std::vector<Piece> m_inputs;
    bool m_lastRepeats = false;
    Piece m_result;
    ProfileSet m_profiles {};
    std::vector<Loop> m_loops;
    Expression m_condition;
    bool m_stay = false;
    std::vector<int> m_ring;
    std::vector<Even> m_even;
    int m_reason = -1; ///< of unsound rows
    Expression m_unsoundIf;
};

/// What is wrong with the text of a rule.
Error ruleError(std::string_view text, const std::string& what);

} // namespace shardboard
