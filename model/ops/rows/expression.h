// SPDX-License-Identifier: Apache-2.0
// Whole-number expressions in the tables of rules: ranks, sizes, attributes, the variables of a row. Read once, evaluated
// for every question.
//   r, r0, r1, …     rank of the first operand, of operand 0, 1, …      n      how many operands
//   rmax             largest rank                                        gmax   devices of the largest mesh axis
//   sides            how many operands may be cut alone: all of an elementwise operation in MAX 26.6, else 0
//   one(i,d)         1 when dim d of operand i is the size 1; 1 too when there is no such dim
//   same(i,d,j,e)    1 when two dims have the same size or name
//   size(i,d)        the size; negative when it is a name                  integral(i)  1 when it has whole numbers
//   has(list,v)  at(list,v)  index(list,v)  below(list,v)    in, element, place, how many are smaller
//   multiples(list,v)    1 when all sizes in the list that are no names are multiples of v
//   len(list)  sum(list) how many there are; all together, negative with a name among them
//   broadcast(i)     1 when all operands broadcast against each other, aligned at the right, their last i dims aside
//   alike(d)         1 when all operands have the same shape, dim d aside where there is one
//   behind(i)        1 when the dims of operand i are the last dims of the first one
//                    (a name or an open size fits everything)
//   min max, + - == != < <= > >= && || ! ?:
// Attributes are called by name; `none(name)` tells that one is null.
#pragma once

#include "model/core/result.h"
#include "model/ops/rows/attributes.h"
#include "model/ops/rows/pickerprofile.h"

#include <array>
#include <span>
#include <string_view>

namespace shardboard {

inline constexpr std::size_t kMostVariables = 2;

/// What a rule is read for.
struct PatternScope {
    PickerProfile profile = PickerProfile::G1;
    std::vector<const Shape*> shapes {}; ///< of the operands
    const Shape* result = nullptr; ///< where it is known
    const std::vector<AttributeValue>* attributes = nullptr; ///< in the order of the family's specs
    std::span<const char* const> reasons {}; ///< why rows that are marked `unsound` are
    std::int64_t largestMeshAxis = 1;
    /// Of each operand, in bits: the dims that a mesh axis cuts as it arrives. To a released MAX a dim of size 1 that is cut is
    /// not one that broadcasts. Empty in the other profiles, and in plans.
    std::vector<std::uint64_t> cut {};
    std::uint32_t integral = 0; ///< bits: operands of whole numbers

    /// Whether a dim has the size 1, or is not there.
    bool broadcasts(std::int64_t operand, std::int64_t dim) const;
    std::array<std::int64_t, kMostVariables> variables {};
};

/// A piece of a pattern: a name, a number, or signs.
struct PatternToken {
    enum class Kind { End, Name, Number, Sign };
    Kind kind = Kind::End;
    std::string_view text;
};
std::vector<PatternToken> patternTokens(std::string_view text);

/// Names that mean something in a row.
struct PatternNames {
    std::span<const AttributeSpec> attributes;
    std::vector<std::string_view> variables;
};

class Expression {
public:
    std::int64_t value(const PatternScope& scope) const;
    bool empty() const { return m_nodes.empty(); }

    /// Reads one expression from `at` on and moves `at` behind it.
    static Result<Expression> parse(std::span<const PatternToken> tokens, std::size_t& at, const PatternNames& names);
    /// The whole text; empty for an empty text.
    static Result<Expression> parse(std::string_view text, const PatternNames& names);

private:
    enum class Op : std::uint8_t {
        Constant,
        Variable,
        Rank,
        LargestRank,
        Operands,
        LargestAxis,
        Sides,
        Attribute,
        None,
        One,
        Same,
        Size,
        Integral,
        Has,
        At,
        Index,
        Below,
        Multiples,
        Length,
        Sum,
        Broadcast,
        Alike,
        Behind,
        Min,
        Max,
        Add,
        Subtract,
        Equal,
        NotEqual,
        Less,
        LessEqual,
        And,
        Or,
        Not,
        Negate,
        Choose
    };
    struct Node {
        Op op = Op::Constant;
        std::int64_t constant = 0;
        std::array<int, 4> arguments { -1, -1, -1, -1 };
    };
    class Parser;

    std::int64_t evaluate(int node, const PatternScope& scope) const;
    static bool broadcasts(const PatternScope& scope, std::int64_t aside);
    static bool alike(const PatternScope& scope, std::int64_t aside);
    static bool behind(const PatternScope& scope, std::int64_t operand);
    std::int64_t sizeAt(const Node& node, std::size_t first, const PatternScope& scope) const;

    std::vector<Node> m_nodes;
    int m_root = -1;
};

} // namespace shardboard
