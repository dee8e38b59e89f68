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
//   n <= 16777216      where the other side is a number, how far backends are exact: a plan may go further
//   k | h              k divides h; 0, an attribute that is not set, divides everything
//   @first + m <= n    an attribute by the name that files have for it; one alone is an attribute that the operation reads
#pragma once

#include "model/core/result.h"
#include "model/ops/graph.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// The shapes of an operation's operands, where they lie.
class OperandShapes {
public:
    static constexpr std::size_t kMost = 8;

    explicit OperandShapes(const std::vector<Shape>& shapes)
        : m_size(shapes.size())
    {
        for (std::size_t i = 0; i < std::min(m_size, kMost); ++i)
            m_shapes[i] = &shapes[i];
    }
    OperandShapes(const Graph& graph, const Op& op)
        : m_size(op.operands.size())
    {
        for (std::size_t i = 0; i < std::min(m_size, kMost); ++i)
            m_shapes[i] = &graph.tensor(op.operands[i]).shape;
    }

    std::size_t size() const { return m_size; }
    const Shape& operator[](std::size_t i) const { return *m_shapes[i]; } ///< the first kMost, more than any rule has

private:
    std::array<const Shape*, kMost> m_shapes {};
    std::size_t m_size;
};

/// A size that neither operands nor attributes tell, by its name in the rule, as `m` of slice_last.
struct OpenSize {
    std::string_view name;
    std::int64_t size;
};

class ShapeRule {
public:
    struct Dim {
        std::string name; ///< or a number
        std::string unit; ///< `d` of `h*d`
        bool whole = false; ///< with a `!`
        int factor = -1; ///< the place of `name` in names(), or -1 for a number:
        double number = 0;
        int size = -1; ///< where Sizes has it: that of the name, or of the product
    };
    struct Side { ///< an operand or the result
        std::string name; ///< `weight`; empty where none is given
        bool leading = false; ///< starts with `...`
        bool broadcast = false; ///< `~`
        std::vector<Dim> dims;
    };
    /// The sizes that are known, by the place of their name in names(); after them those of dims made of units.
    class Sizes {
    public:
        static constexpr std::size_t kMost = 24;

        bool contains(std::size_t name) const { return (m_known >> name & 1) != 0; }
        double operator[](std::size_t name) const { return m_values[name]; } ///< one that is known
        void set(std::size_t name, double value)
        {
            m_values[name] = value;
            m_known |= std::uint32_t { 1 } << name;
        }
        std::uint32_t known() const { return m_known; } ///< a bit each

    private:
        std::array<double, kMost> m_values;
        std::uint32_t m_known = 0;
    };
    /// `shapes` without what follows after a semicolon.
    static Result<ShapeRule> parse(std::string_view shapes, std::string_view where);

    const std::vector<Side>& operands() const { return m_operands; }
    const Side& result() const { return m_result; }
    /// Names of sizes, and of attributes with their `@`, in the order in which they first stand.
    const std::vector<std::string>& names() const { return m_names; }
    const std::string& text() const { return m_text; }

    /// Errors name the operand, its shape, and what it should be; `what` is the operation.
    Status verify(const std::string& what, const OperandShapes& operands, const Shape& result,
                  const OpAttributes& attributes) const;
    /// The result's shape; `open` has the sizes that neither operands nor attributes tell. Errors are those of verify(), without
    /// what only backends are held to.
    Result<Shape> resultOf(const std::string& what, const OperandShapes& operands, const OpAttributes& attributes,
                           std::span<const OpenSize> open = {}) const;

    /// Adds the sizes that follow from those that are known. False where one is not a whole number above 0.
    bool solve(Sizes& sizes) const;
    /// Whether all relations hold; every name must be known.
    bool holds(const Sizes& sizes) const { return broken(sizes, true) == nullptr; }
    /// After `leading` dims. Nothing where a size is not known.
    static std::optional<Shape> shapeOf(const Side& side, const Sizes& sizes, std::span<const std::int64_t> leading = {});

private:
    struct Term {
        double number = 1;
        std::vector<std::size_t> names {};
    };
    using Sum = std::vector<Term>;
    struct Relation {
        std::string text;
        std::string sign; ///< = <= < |, or empty
        Sum left, right;
        std::uint32_t names = 0; ///< a bit each
        std::uint32_t once = 0; ///< those that stand in it once, so that it can be solved for them
        bool exactness = false; ///< of a dim and a number
    };
    struct Matching;

    static Result<Side> parseSide(std::string_view text);
    std::size_t nameIndex(std::string_view name);
    Sum parseSum(std::string_view text);
    static void note(Relation& relation);
    /// Gives the dims of a side their places among the sizes.
    void place(Side& side);
    static double valueOf(const Sum& sum, const Sizes& sizes);
    const Relation* broken(const Sizes& sizes, bool exactly) const;
    Status match(Matching& matching, const std::string& what, const OperandShapes& operands) const;
    /// What the sizes that were found must fulfil. Without a result it is one that is asked for.
    Status settle(Matching& matching, const std::string& what, const OperandShapes& operands, const Shape* result) const;
    std::string fix() const { return "give it the shapes " + m_text; }

    std::string m_text;
    std::vector<Side> m_operands;
    Side m_result;
    std::vector<Relation> m_relations;
    std::vector<Relation> m_products; ///< of dims made of units: h*d, and what it comes to
    std::vector<std::string> m_names;
    std::vector<int> m_attributes; ///< for every attribute of an operation where Sizes has it, or -1; empty where none is read
};

} // namespace shardboard
