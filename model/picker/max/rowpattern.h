// SPDX-License-Identifier: Apache-2.0
// Rows of a rule as text, one pattern for all rows of a kind:
//     S(d), R -> S(d) for d in 0..r0-2 if !one(0,d)
// Left of the arrow a placement per operand, right of it that of the output.
//   R  P  Pavg  U   as in codes
//   S(e)            cut along dim e of that operand
//   B(o)            cut along the dim that meets output dim o in a broadcast, operands aligned at the right: replicated
//                   where the operand does not have the dim or has it with size 1; no row where all are replicated
//   =               keeps what it has, and counts for nothing; as output: what operand 0 has, `=(i)`: operand i
//   X*              so for all operands that are left
// Then, in this order and each only where needed:
//   for v in a..b   a row for each v from a to b-1; the first `for` is the outer one
//   if e            only where e is not 0
//   stay            only where nothing has to move
//   needs even(i,d) even(i,d,j,e) …   dim d of operand i must divide over the devices that cut it; with four arguments
//                   so must dim e of operand j, over the same devices
#pragma once

#include "model/picker/max/expression.h"
#include "model/picker/menu/menu.h"

namespace shardboard {

class RowPattern {
public:
    static Result<RowPattern> parse(std::string_view text, std::span<const AttributeSpec> attributes);

    /// The names of its variables, for an expression about its rows.
    const std::vector<std::string_view>& variables() const { return m_variables; }

    /// Adds its rows. `each` may change a row, with the variables set in the scope.
    template <class Each>
    void expand(PatternScope& scope, Menu& menu, Each each) const
    {
        const Bounds outer = bounds(0, scope);
        for (std::int64_t v = outer.from; v < outer.to; ++v) {
            scope.variables[0] = v;
            const Bounds inner = bounds(1, scope);
            for (std::int64_t w = inner.from; w < inner.to; ++w) {
                scope.variables[1] = w;
                MenuRow made;
                std::vector<Placement> placements;
                if (!row(scope, made, placements))
                    continue;
                each(made);
                menu.add(std::move(made), placements);
            }
        }
    }

private:
    struct Piece {
        enum class Kind : std::uint8_t { Fixed, Shard, Broadcast, Keep };
        Kind kind = Kind::Fixed;
        Placement fixed {};
        Expression dim {};
    };
    struct Loop {
        Expression from;
        Expression to;
    };
    struct Even {
        std::array<Expression, 4> at;
        bool other = false; ///< of another operand than the one that is cut
    };
    class Parser;

    /// Whether there is such a row, and if so the row and its placements.
    bool row(const PatternScope& scope, MenuRow& row, std::vector<Placement>& placements) const;

    struct Bounds {
        std::int64_t from = 0;
        std::int64_t to = 1; ///< one row where there is no such loop
    };
    Bounds bounds(std::size_t loop, const PatternScope& scope) const
    {
        return loop < m_loops.size() ? Bounds { m_loops[loop].from.value(scope), m_loops[loop].to.value(scope) } : Bounds {};
    }

    std::vector<Piece> m_inputs;
    bool m_lastRepeats = false;
    Piece m_output;
    std::vector<std::string_view> m_variables;
    std::vector<Loop> m_loops;
    Expression m_condition;
    bool m_stay = false;
    std::vector<Even> m_even;
};

} // namespace shardboard
