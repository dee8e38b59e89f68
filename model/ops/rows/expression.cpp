// SPDX-License-Identifier: Apache-2.0
#include "model/ops/rows/expression.h"

#include "model/text/text.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

constexpr std::int64_t kLargestSum = std::int64_t { 1 } << 61;

/// Sizes that cannot be the same, whatever the names stand for.
bool differ(std::int64_t a, std::int64_t b) { return isStatic(a) && isStatic(b) && a != b; }

constexpr std::int64_t kNoSuchDim = 1; // a dim that an operand does not have counts as size 1, as in a broadcast

Error patternError(std::string_view what) { return inputError("rule", std::string(what)); }

} // namespace

std::vector<PatternToken> patternTokens(std::string_view text)
{
    using Kind = PatternToken::Kind;
    constexpr std::string_view kPairs[] = { "->", "..", "==", "!=", "<=", ">=", "&&", "||" };
    std::vector<PatternToken> out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        if (text[at] == ' ') {
            at = end;
            continue;
        }
        Kind kind = Kind::Sign;
        if (isWordStart(text[at])) {
            kind = Kind::Name;
            while (end < text.size() && (isWordStart(text[end]) || isDigit(text[end])))
                ++end;
        } else if (isDigit(text[at])) {
            kind = Kind::Number;
            while (end < text.size() && isDigit(text[end]))
                ++end;
        } else if (std::find(std::begin(kPairs), std::end(kPairs), text.substr(at, 2)) != std::end(kPairs)) {
            end = at + 2;
        }
        out.push_back({ kind, text.substr(at, end - at) });
        at = end;
    }
    return out;
}

class Expression::Parser {
public:
    Parser(std::span<const PatternToken> tokens, std::size_t at, const PatternNames& names)
        : m_tokens(tokens)
        , m_at(at)
        , m_names(names)
    {
    }

    Result<Expression> run(std::size_t& at)
    {
        m_out.m_root = choice();
        if (!m_problem.empty())
            return patternError(m_problem);
        at = m_at;
        return std::move(m_out);
    }

private:
    PatternToken peek() const { return m_at < m_tokens.size() ? m_tokens[m_at] : PatternToken {}; }
    bool accept(std::string_view text)
    {
        if (peek().text != text || peek().kind == PatternToken::Kind::End)
            return false;
        ++m_at;
        return true;
    }
    void expect(std::string_view text)
    {
        if (!accept(text))
            fail("'" + std::string(text) + "' is missing before '" + std::string(peek().text) + "'");
    }
    int fail(const std::string& problem)
    {
        if (m_problem.empty())
            m_problem = problem;
        return -1;
    }
    int add(Op op, std::array<int, 4> arguments = { -1, -1, -1, -1 }, std::int64_t constant = 0)
    {
        m_out.m_nodes.push_back({ op, constant, arguments });
        return static_cast<int>(m_out.m_nodes.size()) - 1;
    }

    int choice()
    {
        const int condition = either();
        if (!accept("?"))
            return condition;
        const int yes = choice();
        expect(":");
        return add(Op::Choose, { condition, yes, choice(), -1 });
    }
    int either()
    {
        int left = both();
        while (accept("||"))
            left = add(Op::Or, { left, both(), -1, -1 });
        return left;
    }
    int both()
    {
        int left = comparison();
        while (accept("&&"))
            left = add(Op::And, { left, comparison(), -1, -1 });
        return left;
    }
    int comparison()
    {
        const int left = sum();
        if (accept("=="))
            return add(Op::Equal, { left, sum(), -1, -1 });
        if (accept("!="))
            return add(Op::NotEqual, { left, sum(), -1, -1 });
        if (accept("<="))
            return add(Op::LessEqual, { left, sum(), -1, -1 });
        if (accept("<"))
            return add(Op::Less, { left, sum(), -1, -1 });
        if (accept(">="))
            return add(Op::LessEqual, { sum(), left, -1, -1 });
        if (accept(">"))
            return add(Op::Less, { sum(), left, -1, -1 });
        return left;
    }
    int sum()
    {
        int left = unary();
        for (;;) {
            if (accept("+"))
                left = add(Op::Add, { left, unary(), -1, -1 });
            else if (accept("-"))
                left = add(Op::Subtract, { left, unary(), -1, -1 });
            else
                return left;
        }
    }
    int unary()
    {
        if (accept("!"))
            return add(Op::Not, { unary(), -1, -1, -1 });
        if (accept("-"))
            return add(Op::Negate, { unary(), -1, -1, -1 });
        if (accept("(")) {
            const int inner = choice();
            expect(")");
            return inner;
        }
        const PatternToken token = peek();
        ++m_at;
        if (token.kind == PatternToken::Kind::Number)
            return add(Op::Constant, {}, parseInteger(token.text).value_or(0));
        if (token.kind != PatternToken::Kind::Name)
            return fail("'" + std::string(token.text) + "' is not a value");
        return name(token.text);
    }
    int name(std::string_view text)
    {
        for (std::size_t i = 0; i < m_names.variables.size(); ++i)
            if (m_names.variables[i] == text)
                return add(Op::Variable, {}, static_cast<std::int64_t>(i));
        if (text == "n")
            return add(Op::Operands);
        if (text == "r")
            return add(Op::Rank);
        if (text == "rmax")
            return add(Op::LargestRank);
        if (text == "gmax")
            return add(Op::LargestAxis);
        if (text == "sides")
            return add(Op::Sides);
        if (text.size() == 2 && text[0] == 'r' && isDigit(text[1]))
            return add(Op::Rank, {}, text[1] - '0');
        struct Function {
            std::string_view name;
            Op op;
            std::size_t arguments;
            bool attribute; ///< the first argument is one
        };
        constexpr Function kFunctions[] = {
            { "one", Op::One, 2, false },
            { "same", Op::Same, 4, false },
            { "size", Op::Size, 2, false },
            { "integral", Op::Integral, 1, false },
            { "min", Op::Min, 2, false },
            { "max", Op::Max, 2, false },
            { "has", Op::Has, 2, true },
            { "at", Op::At, 2, true },
            { "index", Op::Index, 2, true },
            { "below", Op::Below, 2, true },
            { "multiples", Op::Multiples, 2, true },
            { "none", Op::None, 1, true },
            { "len", Op::Length, 1, true },
            { "sum", Op::Sum, 1, true },
            { "broadcast", Op::Broadcast, 1, false },
            { "alike", Op::Alike, 1, false },
            { "behind", Op::Behind, 1, false },
        };
        for (const Function& function : kFunctions)
            if (function.name == text)
                return call(function.op, function.arguments, function.attribute);
        const int attribute = attributeOf(text);
        return attribute < 0 ? fail("'" + std::string(text) + "' is not known") : add(Op::Attribute, {}, attribute);
    }
    int call(Op op, std::size_t arguments, bool attribute)
    {
        expect("(");
        std::array<int, 4> nodes { -1, -1, -1, -1 };
        std::int64_t constant = 0;
        for (std::size_t i = 0; i < arguments; ++i) {
            if (i > 0)
                expect(",");
            if (i == 0 && attribute) {
                constant = attributeOf(peek().text);
                if (constant < 0)
                    return fail("'" + std::string(peek().text) + "' is not an attribute");
                ++m_at;
            } else {
                nodes[i] = choice();
            }
        }
        expect(")");
        return add(op, nodes, constant);
    }
    int attributeOf(std::string_view text) const
    {
        for (std::size_t i = 0; i < m_names.attributes.size(); ++i)
            if (m_names.attributes[i].name == text)
                return static_cast<int>(i);
        return -1;
    }

    std::span<const PatternToken> m_tokens;
    std::size_t m_at;
    const PatternNames& m_names;
    Expression m_out;
    std::string m_problem;
};

Result<Expression> Expression::parse(std::span<const PatternToken> tokens, std::size_t& at, const PatternNames& names)
{
    return Parser(tokens, at, names).run(at);
}

Result<Expression> Expression::parse(std::string_view text, const PatternNames& names)
{
    const auto tokens = patternTokens(text);
    if (tokens.empty())
        return Expression {};
    std::size_t at = 0;
    auto out = parse(tokens, at, names);
    if (out.ok() && at != tokens.size())
        return patternError("'" + std::string(tokens[at].text) + "' is unexpected");
    return out;
}

std::int64_t Expression::value(const PatternScope& scope) const { return m_root < 0 ? 0 : evaluate(m_root, scope); }

bool PatternScope::broadcasts(std::int64_t operand, std::int64_t dim) const
{
    const auto i = static_cast<std::size_t>(operand);
    if (operand < 0 || i >= shapes.size() || dim < 0 || dim >= static_cast<std::int64_t>(shapes[i]->size()))
        return true;
    return (*shapes[i])[static_cast<std::size_t>(dim)] == 1 && (cut.empty() || (cut[i] >> dim & 1U) == 0);
}

std::int64_t Expression::sizeAt(const Node& node, std::size_t first, const PatternScope& scope) const
{
    const std::int64_t operand = evaluate(node.arguments[first], scope);
    const std::int64_t dim = evaluate(node.arguments[first + 1], scope);
    if (operand < 0 || operand >= static_cast<std::int64_t>(scope.shapes.size()))
        return kNoSuchDim;
    const Shape& shape = *scope.shapes[static_cast<std::size_t>(operand)];
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()))
        return kNoSuchDim;
    return shape[static_cast<std::size_t>(dim)];
}

bool Expression::broadcasts(const PatternScope& scope, std::int64_t aside)
{
    std::size_t rank = 0;
    for (const Shape* shape : scope.shapes)
        rank = std::max(rank, shape->size());
    for (std::size_t fromRight = static_cast<std::size_t>(aside) + 1; fromRight <= rank; ++fromRight) {
        std::int64_t common = 1;
        for (const Shape* shape : scope.shapes) {
            const std::int64_t size = fromRight <= shape->size() ? (*shape)[shape->size() - fromRight] : 1;
            if (size == 1 || !isStatic(size))
                continue;
            if (common != 1 && size != common)
                return false;
            common = size;
        }
    }
    return true;
}

bool Expression::alike(const PatternScope& scope, std::int64_t aside)
{
    const Shape& first = *scope.shapes.front();
    for (const Shape* shape : scope.shapes) {
        if (shape->size() != first.size())
            return false;
        for (std::size_t d = 0; d < first.size(); ++d)
            if (static_cast<std::int64_t>(d) != aside && differ((*shape)[d], first[d]))
                return false;
    }
    return true;
}

bool Expression::behind(const PatternScope& scope, std::int64_t operand)
{
    if (operand < 0 || operand >= static_cast<std::int64_t>(scope.shapes.size()))
        return true;
    const Shape& first = *scope.shapes.front();
    const Shape& shape = *scope.shapes[static_cast<std::size_t>(operand)];
    if (shape.size() > first.size())
        return false;
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (differ(shape[d], first[first.size() - shape.size() + d]))
            return false;
    return true;
}

std::int64_t Expression::evaluate(int index, const PatternScope& scope) const
{
    const Node& node = m_nodes[static_cast<std::size_t>(index)];
    const auto argument = [&](std::size_t i) { return evaluate(node.arguments[i], scope); };
    const auto attribute = [&]() -> const AttributeValue& { return (*scope.attributes)[static_cast<std::size_t>(node.constant)]; };
    switch (node.op) {
    case Op::Constant:
        return node.constant;
    case Op::Variable:
        return scope.variables[static_cast<std::size_t>(node.constant)];
    case Op::Rank: {
        const auto operand = static_cast<std::size_t>(node.constant);
        return operand < scope.shapes.size() ? static_cast<std::int64_t>(scope.shapes[operand]->size()) : 0;
    }
    case Op::LargestRank: {
        std::size_t rank = 0;
        for (const Shape* shape : scope.shapes)
            rank = std::max(rank, shape->size());
        return static_cast<std::int64_t>(rank);
    }
    case Op::Operands:
        return static_cast<std::int64_t>(scope.shapes.size());
    case Op::LargestAxis:
        return scope.largestMeshAxis;
    case Op::Sides:
        return scope.profile == PickerProfile::Max266 ? static_cast<std::int64_t>(scope.shapes.size()) : 0;
    case Op::Attribute:
        return attribute().number;
    case Op::None:
        return attribute().none ? 1 : 0;
    case Op::One:
        return scope.broadcasts(argument(0), argument(1));
    case Op::Same:
        return sizeAt(node, 0, scope) == sizeAt(node, 2, scope);
    case Op::Size:
        return sizeAt(node, 0, scope);
    case Op::Integral:
        return scope.integral >> std::clamp<std::int64_t>(argument(0), 0, 31) & 1U;
    case Op::Has: {
        const auto& list = attribute().list;
        return std::find(list.begin(), list.end(), argument(1)) != list.end();
    }
    case Op::At: {
        const std::int64_t at = argument(1);
        const auto& list = attribute().list;
        return at >= 0 && at < static_cast<std::int64_t>(list.size()) ? list[static_cast<std::size_t>(at)] : 0;
    }
    case Op::Index: {
        const auto& list = attribute().list;
        return std::find(list.begin(), list.end(), argument(1)) - list.begin();
    }
    case Op::Below: {
        const std::int64_t limit = argument(1);
        const auto& list = attribute().list;
        return std::count_if(list.begin(), list.end(), [&](std::int64_t v) { return v < limit; });
    }
    case Op::Multiples: {
        const std::int64_t of = argument(1);
        const auto& list = attribute().list;
        return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v < 0 || v % of == 0; });
    }
    case Op::Length:
        return static_cast<std::int64_t>(attribute().list.size());
    case Op::Sum: {
        std::int64_t sum = 0;
        for (const std::int64_t each : attribute().list) {
            if (each < 0)
                return -1;
            sum = std::min(sum, kLargestSum) + std::min(each, kLargestSum);
        }
        return sum;
    }
    case Op::Broadcast:
        return broadcasts(scope, argument(0));
    case Op::Alike:
        return alike(scope, argument(0));
    case Op::Behind:
        return behind(scope, argument(0));
    case Op::Min:
        return std::min(argument(0), argument(1));
    case Op::Max:
        return std::max(argument(0), argument(1));
    case Op::Add:
        return argument(0) + argument(1);
    case Op::Subtract:
        return argument(0) - argument(1);
    case Op::Equal:
        return argument(0) == argument(1);
    case Op::NotEqual:
        return argument(0) != argument(1);
    case Op::Less:
        return argument(0) < argument(1);
    case Op::LessEqual:
        return argument(0) <= argument(1);
    case Op::And:
        return argument(0) != 0 && argument(1) != 0;
    case Op::Or:
        return argument(0) != 0 || argument(1) != 0;
    case Op::Not:
        return argument(0) == 0;
    case Op::Negate:
        return -argument(0);
    case Op::Choose:
        return argument(0) != 0 ? argument(1) : argument(2);
    }
    return 0;
}

} // namespace shardboard
