// SPDX-License-Identifier: Apache-2.0
#include "model/ops/rows/rowpattern.h"

#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

Error ruleError(std::string_view text, const std::string& what)
{
    return inputError("rule '" + std::string(text) + "'", what, "see model/ops/shardingrule.h");
}

class RowPattern::Parser {
public:
    Parser(std::string_view text, std::span<const AttributeSpec> attributes, std::size_t reasons)
        : m_text(text)
        , m_reasons(reasons)
        , m_tokens(patternTokens(text))
        , m_names { attributes, {} }
    {
    }

    Result<RowPattern> run()
    {
        findVariables();
        while (!m_problem && !next("->")) {
            m_out.m_inputs.push_back(piece());
            m_out.m_lastRepeats = accept("*");
            if (m_out.m_lastRepeats && !next("->"))
                fail("'*' is for the last operand");
        }
        expect("->");
        m_out.m_result = piece();
        while (!m_problem && m_at < m_tokens.size())
            addition();
        if (m_out.m_profiles.bits == 0)
            m_out.m_profiles = kEvery;
        if (m_problem)
            return *m_problem;
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
    bool next(std::string_view text) const { return m_at < m_tokens.size() && m_tokens[m_at].text == text; }
    bool accept(std::string_view text)
    {
        const bool found = next(text);
        m_at += found ? 1 : 0;
        return found;
    }
    void expect(std::string_view text)
    {
        if (!accept(text))
            fail("'" + std::string(text) + "' is missing");
    }
    void fail(const std::string& problem)
    {
        if (!m_problem)
            m_problem = ruleError(m_text, problem);
    }
    std::string take() { return m_at < m_tokens.size() ? std::string(m_tokens[m_at++].text) : std::string(); }
    std::optional<int> number()
    {
        if (m_at >= m_tokens.size() || m_tokens[m_at].kind != PatternToken::Kind::Number)
            return std::nullopt;
        return static_cast<int>(parseInteger(m_tokens[m_at++].text).value_or(0));
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
    Piece broadcast()
    {
        Piece out { Piece::Kind::Broadcast };
        expect("(");
        out.dim = expression();
        if (accept(","))
            out.alone = expression();
        expect(")");
        return out;
    }
    Piece piece()
    {
        if (accept("S"))
            return { Piece::Kind::Shard, {}, inBrackets() };
        if (accept("B"))
            return broadcast();
        if (accept("="))
            return { Piece::Kind::Keep, {}, next("(") ? inBrackets() : Expression {} };
        const std::string code = take();
        const auto fixed = Placement::parse(code);
        if (!fixed)
            fail("'" + code + "' is not a placement");
        return { Piece::Kind::Fixed, fixed.value_or(Placement {}), {} };
    }
    void addition()
    {
        constexpr std::pair<const char*, ProfileSet> kProfiles[] = {
            { "ours", kOurs }, { "early", kEarly }, { "max", kMax }, { "late", kLate }, { "max267", kMax267 }
        };
        for (const auto& [name, set] : kProfiles)
            if (accept(name)) {
                m_out.m_profiles.bits |= set.bits;
                return;
            }
        if (accept("for")) {
            take(); // the variable
            expect("in");
            Loop loop;
            loop.from = expression();
            expect("..");
            loop.to = expression();
            m_out.m_loops.push_back(std::move(loop));
        } else if (accept("if")) {
            m_out.m_condition = expression();
        } else if (accept("stay")) {
            m_out.m_stay = true;
        } else if (accept("ring")) {
            while (const auto operand = number())
                m_out.m_ring.push_back(*operand);
        } else if (accept("needs")) {
            while (accept("even"))
                m_out.m_even.push_back(even());
        } else if (accept("unsound")) {
            m_out.m_reason = number().value_or(0);
            if (m_out.m_reason >= static_cast<int>(m_reasons))
                fail("there is no such reason");
            if (accept("if"))
                m_out.m_unsoundIf = expression();
        } else {
            fail("'" + take() + "' is not understood");
        }
    }
    Even even()
    {
        Even out;
        expect("(");
        for (std::size_t i = 0; i < out.at.size() && (i < 2 || i == 3 || next(",")); ++i) {
            if (i > 0)
                expect(",");
            out.at[i] = expression();
        }
        expect(")");
        if (accept(":"))
            out.what = take();
        std::replace(out.what.begin(), out.what.end(), '_', ' ');
        return out;
    }

    std::string_view m_text;
    std::size_t m_reasons;
    std::vector<PatternToken> m_tokens;
    std::size_t m_at = 0;
    PatternNames m_names;
    RowPattern m_out;
    std::optional<Error> m_problem;
};

Result<RowPattern> RowPattern::parse(std::string_view text, std::span<const AttributeSpec> attributes, std::size_t reasons)
{
    return Parser(text, attributes, reasons).run();
}

void RowPattern::expand(PatternScope& scope, std::vector<Row>& rows) const
{
    if (!m_profiles.has(scope.profile))
        return;
    const Bounds outer = bounds(0, scope);
    for (std::int64_t v = outer.from; v < outer.to; ++v) {
        scope.variables[0] = v;
        const Bounds inner = bounds(1, scope);
        for (std::int64_t w = inner.from; w < inner.to; ++w) {
            scope.variables[1] = w;
            if (Row row; expandOne(scope, row))
                rows.push_back(std::move(row));
        }
    }
}

bool RowPattern::expandOne(const PatternScope& scope, Row& row) const
{
    if (!m_condition.empty() && m_condition.value(scope) == 0)
        return false;
    const std::size_t count = scope.shapes.size();
    if (count < m_inputs.size() - (m_lastRepeats ? 1 : 0) || (count > m_inputs.size() && !m_lastRepeats))
        return false; // a row for another number of operands
    std::size_t largestRank = 0;
    for (const Shape* shape : scope.shapes)
        largestRank = std::max(largestRank, shape->size());
    bool broadcasts = false;
    int could = 0; // operands that could be cut in a broadcast
    bool takesPart = false;
    bool alone = false;
    row.operands.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Piece& piece = m_inputs[std::min(i, m_inputs.size() - 1)];
        const Shape& shape = *scope.shapes[i];
        const auto rank = static_cast<std::int64_t>(shape.size());
        switch (piece.kind) {
        case Piece::Kind::Fixed:
            row.operands.push_back(piece.fixed);
            break;
        case Piece::Kind::Shard: {
            const std::int64_t dim = piece.dim.value(scope);
            if (dim < 0 || dim >= rank)
                return false;
            row.operands.push_back(shardedPlacement(static_cast<int>(dim)));
            break;
        }
        case Piece::Kind::Broadcast: {
            broadcasts = true;
            const std::int64_t dim = piece.dim.value(scope) - (static_cast<std::int64_t>(largestRank) - rank);
            const bool part = dim >= 0 && dim < rank && !scope.broadcasts(static_cast<std::int64_t>(i), dim);
            could += part;
            const std::int64_t only = piece.alone.empty() ? -1 : piece.alone.value(scope);
            alone = only >= 0;
            const bool takes = part && (!alone || only == static_cast<std::int64_t>(i));
            takesPart = takesPart || takes;
            row.operands.push_back(takes ? shardedPlacement(static_cast<int>(dim)) : replicatedPlacement());
            break;
        }
        case Piece::Kind::Keep:
            row.kept |= std::uint32_t { 1 } << i;
            row.operands.push_back(replicatedPlacement());
            break;
        }
    }
    if (broadcasts && (!takesPart || (alone && could < 2)))
        return false;
    if (m_result.kind == Piece::Kind::Keep)
        row.resultOf = static_cast<int>(m_result.dim.value(scope));
    else
        row.result =
            m_result.kind == Piece::Kind::Fixed ? m_result.fixed : shardedPlacement(static_cast<int>(m_result.dim.value(scope)));
    row.stay = m_stay;
    row.ring = m_ring;
    for (const Even& even : m_even) {
        const std::size_t sized = even.at[2].empty() ? 0 : 2;
        const auto operand = static_cast<std::size_t>(even.at[sized].value(scope));
        const auto dim = static_cast<std::size_t>(even.at[sized + 1].value(scope));
        if (operand >= count || dim >= scope.shapes[operand]->size())
            continue;
        const std::int64_t size = (*scope.shapes[operand])[dim];
        row.conditions.push_back({ static_cast<int>(even.at[0].value(scope)), static_cast<int>(even.at[1].value(scope)), size,
                                   even.what.empty() ? std::string() : std::to_string(size) + " " + even.what });
    }
    if (m_reason >= 0 && (m_unsoundIf.empty() || m_unsoundIf.value(scope) != 0)) {
        row.unsound = scope.reasons[static_cast<std::size_t>(m_reason)];
        row.soundIfWhole = m_unsoundIf.empty() && !row.conditions.empty();
    }
    return true;
}

std::string rowText(const Row& row)
{
    std::string text;
    for (const Placement& placement : row.operands)
        text += placement.code() + " ";
    return text + "-> " + row.result.code();
}

} // namespace shardboard
