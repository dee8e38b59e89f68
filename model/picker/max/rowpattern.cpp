// SPDX-License-Identifier: Apache-2.0
#include "model/picker/max/rowpattern.h"

namespace shardboard {

class RowPattern::Parser {
public:
    Parser(std::string_view text, std::span<const AttributeSpec> attributes)
        : m_text(text)
        , m_tokens(patternTokens(text))
        , m_names { attributes, {} }
    {
    }

    Result<RowPattern> run()
    {
        findVariables();
        for (;;) {
            m_out.m_inputs.push_back(piece());
            if (accept("*"))
                m_out.m_lastRepeats = true;
            if (!accept(","))
                break;
        }
        expect("->");
        m_out.m_output = piece();
        while (accept("for")) {
            ++m_at; // the variable
            expect("in");
            Loop loop;
            loop.from = expression();
            expect("..");
            loop.to = expression();
            m_out.m_loops.push_back(std::move(loop));
        }
        if (accept("if"))
            m_out.m_condition = expression();
        m_out.m_stay = accept("stay");
        if (accept("needs"))
            while (accept("even"))
                m_out.m_even.push_back(even());
        if (m_at < m_tokens.size())
            fail("'" + std::string(m_tokens[m_at].text) + "' is unexpected");
        if (m_problem)
            return *m_problem;
        m_out.m_variables = m_names.variables;
        return std::move(m_out);
    }

private:
    /// Variables are used before they are declared.
    void findVariables()
    {
        for (std::size_t i = 0; i + 1 < m_tokens.size(); ++i)
            if (m_tokens[i].text == "for")
                m_names.variables.push_back(m_tokens[i + 1].text);
        if (m_names.variables.size() > kMostVariables)
            fail("too many variables");
    }
    bool accept(std::string_view text)
    {
        if (m_at >= m_tokens.size() || m_tokens[m_at].text != text)
            return false;
        ++m_at;
        return true;
    }
    void expect(std::string_view text)
    {
        if (!accept(text))
            fail("'" + std::string(text) + "' is missing");
    }
    void fail(const std::string& problem)
    {
        if (!m_problem)
            m_problem = inputError("rule '" + std::string(m_text) + "'", problem);
    }
    Expression expression()
    {
        auto out = Expression::parse(m_tokens, m_at, m_names);
        if (out.ok())
            return std::move(out).value();
        fail(out.error().what);
        return {};
    }
    Expression inBrackets()
    {
        expect("(");
        Expression out = expression();
        expect(")");
        return out;
    }
    Piece piece()
    {
        if (accept("S"))
            return { Piece::Kind::Shard, {}, inBrackets() };
        if (accept("B"))
            return { Piece::Kind::Broadcast, {}, inBrackets() };
        if (accept("="))
            return { Piece::Kind::Keep, {}, m_at < m_tokens.size() && m_tokens[m_at].text == "(" ? inBrackets() : Expression {} };
        const auto fixed = m_at < m_tokens.size() ? Placement::parse(m_tokens[m_at].text) : std::nullopt;
        if (!fixed)
            fail("a placement is missing");
        ++m_at;
        return { Piece::Kind::Fixed, fixed.value_or(Placement {}), {} };
    }
    Even even()
    {
        Even out;
        expect("(");
        out.at[0] = expression();
        expect(",");
        out.at[1] = expression();
        out.other = accept(",");
        if (out.other) {
            out.at[2] = expression();
            expect(",");
            out.at[3] = expression();
        }
        expect(")");
        return out;
    }

    std::string_view m_text;
    std::vector<PatternToken> m_tokens;
    std::size_t m_at = 0;
    PatternNames m_names;
    RowPattern m_out;
    std::optional<Error> m_problem;
};

Result<RowPattern> RowPattern::parse(std::string_view text, std::span<const AttributeSpec> attributes)
{
    return Parser(text, attributes).run();
}

bool RowPattern::row(const PatternScope& scope, MenuRow& row, std::vector<Placement>& placements) const
{
    if (!m_condition.empty() && m_condition.value(scope) == 0)
        return false;
    std::size_t largestRank = 0;
    for (const Shape* shape : scope.shapes)
        largestRank = std::max(largestRank, shape->size());
    bool broadcasts = false;
    bool takesPart = false;
    for (std::size_t i = 0; i < scope.shapes.size(); ++i) {
        if (i >= m_inputs.size() && !m_lastRepeats)
            return false; // a row for another number of operands
        const Piece& piece = m_inputs[std::min(i, m_inputs.size() - 1)];
        const Shape& shape = *scope.shapes[i];
        const auto rank = static_cast<std::int64_t>(shape.size());
        switch (piece.kind) {
        case Piece::Kind::Fixed:
            placements.push_back(piece.fixed);
            break;
        case Piece::Kind::Shard: {
            const std::int64_t dim = piece.dim.value(scope);
            if (dim < 0 || dim >= rank)
                return false;
            placements.push_back(shardedPlacement(static_cast<int>(dim)));
            break;
        }
        case Piece::Kind::Broadcast: {
            broadcasts = true;
            const std::int64_t dim = piece.dim.value(scope) - (static_cast<std::int64_t>(largestRank) - rank);
            const bool part = dim >= 0 && dim < rank && shape[static_cast<std::size_t>(dim)] != 1;
            takesPart = takesPart || part;
            placements.push_back(part ? shardedPlacement(static_cast<int>(dim)) : replicatedPlacement());
            break;
        }
        case Piece::Kind::Keep:
            row.kept |= std::uint32_t { 1 } << i;
            placements.push_back(replicatedPlacement());
            break;
        }
    }
    const bool spare = m_inputs.size() > scope.shapes.size() + (m_lastRepeats ? 1 : 0);
    if (spare || (broadcasts && !takesPart))
        return false;
    if (m_output.kind == Piece::Kind::Keep)
        row.outputOf = static_cast<int>(m_output.dim.value(scope));
    else
        row.output =
            m_output.kind == Piece::Kind::Fixed ? m_output.fixed : shardedPlacement(static_cast<int>(m_output.dim.value(scope)));
    row.stay = m_stay;
    for (const Even& even : m_even) {
        const auto operand = static_cast<std::size_t>(even.at[0].value(scope));
        const auto dim = static_cast<std::size_t>(even.at[1].value(scope));
        const auto sized = even.other ? static_cast<std::size_t>(even.at[2].value(scope)) : operand;
        const auto sizedDim = even.other ? static_cast<std::size_t>(even.at[3].value(scope)) : dim;
        if (sized < scope.shapes.size() && sizedDim < scope.shapes[sized]->size())
            row.even.push_back({ static_cast<int>(operand), static_cast<int>(dim), (*scope.shapes[sized])[sizedDim] });
    }
    return true;
}

} // namespace shardboard
