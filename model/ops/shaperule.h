// SPDX-License-Identifier: Apache-2.0
// The shapes of an operation as text, with which its rule starts (model/ops/shardingrule.h has the rest of it):
//
//     x [... in], weight [out in] -> [... out]
//
// Every operand has a name and its dims; dims of one name are of one size. Beside names there are
//   ...     any dims before the named ones, the same wherever they stand
//   ~       the shape of the first operand; of the others one that is broadcast to it, from the right
//   h*d!    h units of d elements each
//   1       just that size
// A `!` behind a dim is for sharding and says nothing about shapes. What else must hold of sizes and attributes stands in a list of
// relations between sums of products:
//   d = n + m          where one name is not known, this tells its size
//   n <= m, n < m
//   k | h              k divides h; 0, an attribute that is not set, divides everything
//   @first + m <= n    an attribute by the name that files have for it; one alone is an attribute that the operation reads
#pragma once

#include "model/core/result.h"
#include "model/ops/graph.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

class ShapeRule {
public:
    struct Dim {
        std::string name; ///< or a number
        std::string unit; ///< `d` of `h*d`
        bool whole = false; ///< with a `!`
    };
    struct Side { ///< an operand or the result
        std::string name; ///< `weight`; empty where none is given
        bool leading = false; ///< starts with `...`
        bool broadcast = false; ///< `~`
        std::vector<Dim> dims;
    };
    /// By name; attributes with their `@`.
    using Sizes = std::map<std::string, double>;

    /// `shapes` without what follows after a semicolon.
    static Result<ShapeRule> parse(std::string_view shapes, std::string_view where);

    const std::vector<Side>& operands() const { return m_operands; }
    const Side& result() const { return m_result; }
    /// Names of sizes, and of attributes with their `@`, in the order in which they first stand.
    const std::vector<std::string>& names() const { return m_names; }
    const std::string& text() const { return m_text; }

    /// Errors name the operand, its shape, and what it should be; `what` is the operation.
    Status verify(const std::string& what, const std::vector<Shape>& operands, const Shape& result,
                  const OpAttributes& attributes) const;
    /// The result's shape, where operands and attributes tell it.
    std::optional<Shape> resultOf(const std::vector<Shape>& operands, const OpAttributes& attributes) const;

    /// Adds the sizes that follow from those that are known. False where one is not a whole number above 0.
    bool solve(Sizes& sizes) const { return solve(sizes, m_relations); }
    /// Whether all relations hold; every name must be known.
    bool holds(const Sizes& sizes) const { return broken(sizes) == nullptr; }
    /// Without leading dims. Nothing where a name is not known.
    static std::optional<Shape> shapeOf(const Side& side, const Sizes& sizes);

private:
    struct Term {
        double number = 1;
        std::vector<std::string> names {};
    };
    using Sum = std::vector<Term>;
    struct Relation {
        std::string text;
        std::string sign; ///< = <= < |, or empty
        Sum left, right;
    };
    struct Matching;

    static Result<Side> parseSide(std::string_view text);
    static Sum parseSum(std::string_view text);
    static double valueOf(const Sum& sum, const Sizes& sizes);
    static bool solve(Sizes& sizes, const std::vector<Relation>& relations);
    const Relation* broken(const Sizes& sizes) const;

    std::string m_text;
    std::vector<Side> m_operands;
    Side m_result;
    std::vector<Relation> m_relations;
    std::vector<std::string> m_names;
};

} // namespace shardboard
