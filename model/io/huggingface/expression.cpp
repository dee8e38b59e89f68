// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/expression.h"

#include "model/text/visibletext.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::size_t kLongest = 2000;
constexpr int kDeepest = 60;
constexpr double kMostInteger = 4e18; ///< what fits into 64 bits

/// A tree of it: an operator, a function, a name or a value, and what it is applied to.
struct Node {
    enum class Kind { Value, Key, Own, Call };
    Kind kind = Kind::Value;
    std::string name; ///< key, own name, or function; operators are functions called `+`, `?`, `??`, ...
    json value;
    std::vector<Node> parts;
};

bool isLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class ExpressionParser {
public:
    ExpressionParser(std::string_view text, std::string where)
        : m_text(text)
        , m_where(std::move(where))
    {
    }

    Result<Node> parse()
    {
        if (m_text.size() > kLongest)
            return wrong("is longer than " + std::to_string(kLongest) + " characters");
        Node out = choice(0);
        blank();
        if (m_wrong.empty() && m_at < m_text.size())
            fail("has something left at '" + shortened(std::string(m_text.substr(m_at)), 30) + "'");
        if (!m_wrong.empty())
            return wrong(m_wrong);
        return out;
    }

private:
    Error wrong(const std::string& what) const
    {
        return inputError(m_where, "the expression '" + shortened(std::string(m_text), 60) + "' " + what, "correct it");
    }
    void fail(std::string what)
    {
        if (m_wrong.empty())
            m_wrong = std::move(what);
        m_at = m_text.size();
    }
    void blank()
    {
        while (m_at < m_text.size() && m_text[m_at] == ' ')
            ++m_at;
    }
    bool take(std::string_view sign)
    {
        blank();
        if (!m_text.substr(m_at).starts_with(sign))
            return false;
        const std::size_t end = m_at + sign.size();
        if (isLetter(sign.front()) && end < m_text.size() && (isLetter(m_text[end]) || isDigit(m_text[end])))
            return false;
        if (sign == "?" && m_text.substr(m_at).starts_with("??"))
            return false;
        m_at = end;
        return true;
    }
    static Node call(std::string name, std::vector<Node> parts)
    {
        return { Node::Kind::Call, std::move(name), {}, std::move(parts) };
    }

    Node choice(int depth)
    {
        if (depth > kDeepest) {
            fail("is nested too deep");
            return {};
        }
        Node out = joined(depth, 0);
        if (!take("?"))
            return out;
        Node yes = choice(depth + 1);
        if (!take(":"))
            fail("lacks a ':'");
        Node no = choice(depth + 1);
        return call("?", { std::move(out), std::move(yes), std::move(no) });
    }

    /// Operators of two sides, the loosest first.
    Node joined(int depth, std::size_t level)
    {
        static const std::vector<std::vector<const char*>> kLevels {
            { "or" }, { "and" }, { "==", "!=", "<=", ">=", "<", ">" }, { "??" }, { "+", "-" }, { "*", "/", "%" },
        };
        if (level == kLevels.size())
            return single(depth);
        if (level == 2 && take("not"))
            return call("not", { joined(depth + 1, 2) });
        Node out = joined(depth, level + 1);
        for (int count = 0; m_wrong.empty(); ++count) {
            const auto sign = std::ranges::find_if(kLevels[level], [&](const char* each) { return take(each); });
            if (sign == kLevels[level].end())
                break;
            if (count == kDeepest) {
                fail("has too many parts");
                break;
            }
            Node right = joined(depth + 1, level + 1);
            std::vector<Node> both;
            both.push_back(std::move(out));
            both.push_back(std::move(right));
            out = call(*sign, std::move(both));
        }
        return out;
    }

    Node single(int depth)
    {
        if (depth > kDeepest) {
            fail("is nested too deep");
            return {};
        }
        if (take("(")) {
            Node out = choice(depth + 1);
            if (!take(")"))
                fail("lacks a ')'");
            return out;
        }
        if (take("'")) {
            const std::size_t end = m_text.find('\'', m_at);
            if (end == std::string_view::npos) {
                fail("has a text without an end");
                return {};
            }
            Node out { Node::Kind::Value, {}, std::string(m_text.substr(m_at, end - m_at)), {} };
            m_at = end + 1;
            return out;
        }
        blank();
        if (m_at < m_text.size() && isDigit(m_text[m_at]))
            return number();
        if (take("$"))
            return { Node::Kind::Own, name(false), {}, {} };
        if (m_at < m_text.size() && isLetter(m_text[m_at]))
            return named(depth);
        fail("cannot be read at '" + shortened(std::string(m_text.substr(m_at)), 30) + "'");
        return {};
    }

    Node number()
    {
        std::size_t end = m_at;
        while (end < m_text.size() && (isDigit(m_text[end]) || m_text[end] == '.' || m_text[end] == 'e'))
            ++end;
        const json value = json::parse(m_text.substr(m_at, end - m_at), nullptr, false);
        m_at = end;
        if (!value.is_number() || !(value.get<double>() < kMostInteger))
            fail("has a number that cannot be read, or is too large");
        return { Node::Kind::Value, {}, value, {} };
    }

    std::string name(bool dotted)
    {
        std::size_t end = m_at;
        while (end < m_text.size() && (isLetter(m_text[end]) || isDigit(m_text[end]) || (dotted && m_text[end] == '.')))
            ++end;
        std::string out(m_text.substr(m_at, end - m_at));
        m_at = end;
        if (out.empty() || out.ends_with('.') || out.find("..") != std::string::npos)
            fail("lacks a name");
        return out;
    }

    Node named(int depth)
    {
        std::string word = name(true);
        for (const auto& [text, value] : { std::pair { "true", json(true) }, { "false", json(false) }, { "null", json() } })
            if (word == text)
                return { Node::Kind::Value, {}, value, {} };
        if (!take("("))
            return { Node::Kind::Key, std::move(word), {}, {} };
        static const std::vector<std::pair<std::string_view, std::size_t>> kFunctions {
            { "sqrt", 1 },  { "whole", 1 },   { "min", 2 },   { "max", 2 },    { "length", 1 },  { "count", 2 },
            { "every", 2 }, { "leading", 1 }, { "holds", 1 }, { "first", 1 },  { "letters", 2 }, { "repeated", 2 },
            { "item", 2 },  { "placed", 2 },  { "rest", 1 },  { "behind", 2 },
        };
        const auto known = std::ranges::find_if(kFunctions, [&](const auto& each) { return each.first == word; });
        if (known == kFunctions.end()) {
            fail("calls '" + shortened(word, 30) + "', which is no function");
            return {};
        }
        std::vector<Node> parts;
        do
            parts.push_back(choice(depth + 1));
        while (m_wrong.empty() && take(","));
        if (!take(")"))
            fail("lacks a ')'");
        if (parts.size() != known->second)
            fail("gives '" + word + "' " + std::to_string(parts.size()) + " values in place of " + std::to_string(known->second));
        return call(std::move(word), std::move(parts));
    }

    std::string_view m_text;
    std::string m_where;
    std::size_t m_at = 0;
    std::string m_wrong;
};

bool isTrue(const json& value)
{
    if (value.is_boolean())
        return value.get<bool>();
    if (value.is_number())
        return value.get<double>() != 0;
    return !value.is_null() && !value.empty();
}

bool isWhole(const json& value) { return value.is_number_integer() && std::fabs(value.get<double>()) < kMostInteger; }

class Evaluator {
public:
    Evaluator(const ExpressionNames& names, std::string where)
        : m_names(names)
        , m_where(std::move(where))
    {
    }

    Result<json> of(const Node& node) // NOLINT: as deep as the parser lets it be
    {
        switch (node.kind) {
        case Node::Kind::Value:
            return node.value;
        case Node::Kind::Key:
            return m_names.config(node.name);
        case Node::Kind::Own:
            return m_names.own(node.name);
        case Node::Kind::Call:
            break;
        }
        if (node.name == "holds")
            return json(node.parts[0].kind == Node::Kind::Key && m_names.holds(node.parts[0].name));
        auto first = of(node.parts[0]);
        if (!first.ok())
            return first;
        const json& a = first.value();
        if (node.name == "?")
            return of(node.parts[isTrue(a) ? 1 : 2]);
        if (node.name == "??")
            return a.is_null() ? of(node.parts[1]) : first;
        if (node.name == "or")
            return isTrue(a) ? Result<json>(json(true)) : truthOf(node.parts[1]);
        if (node.name == "and")
            return isTrue(a) ? truthOf(node.parts[1]) : Result<json>(json(false));
        if (node.name == "not")
            return json(!isTrue(a));
        if (node.parts.size() == 1)
            return function(node.name, a);
        const auto second = of(node.parts[1]);
        return second.ok() ? twoSided(node.name, a, second.value()) : second;
    }

private:
    Result<json> truthOf(const Node& node)
    {
        auto value = of(node);
        return value.ok() ? Result<json>(json(isTrue(value.value()))) : value;
    }

    Error wrong(const std::string& what) const { return inputError(m_where, what, "correct the value in config.json"); }

    Result<json> function(const std::string& name, const json& x) const
    {
        if (x.is_null())
            return json();
        if (name == "length" && x.is_string())
            return json(static_cast<std::int64_t>(x.get_ref<const std::string&>().size()));
        if (name == "length")
            return x.is_array() ? Result<json>(json(static_cast<std::int64_t>(x.size()))) : wrong("a list is needed");
        if (name == "first")
            return x.is_array() ? (x.empty() ? json() : x.front()) : x;
        if (name == "rest") {
            if (!x.is_string())
                return wrong("rest needs a text");
            return json(x.get_ref<const std::string&>().substr(std::min<std::size_t>(1, x.get_ref<const std::string&>().size())));
        }
        if (name == "leading") {
            if (!x.is_array())
                return wrong("a list is needed");
            std::set<std::int64_t> numbers;
            for (const json& item : x)
                if (isWhole(item))
                    numbers.insert(item.get<std::int64_t>());
            const auto size = static_cast<std::int64_t>(numbers.size());
            if (size == 0)
                return x.empty() ? json(0) : json();
            return *numbers.begin() == 0 && *numbers.rbegin() == size - 1 ? json(size) : json();
        }
        if (!x.is_number())
            return wrong(name + " needs a number");
        const double value = x.get<double>();
        if (name == "sqrt")
            return value < 0 ? Result<json>(wrong("there is no square root of a negative number")) : json(std::sqrt(value));
        return whole(std::trunc(value));
    }

    Result<json> whole(double value) const
    {
        if (!(std::fabs(value) < kMostInteger))
            return wrong("a number is too large");
        return json(static_cast<std::int64_t>(value));
    }

    /// For every item, or every letter of a text, the letter that `alphabet` ("full_attention=a linear_attention=r") has for it;
    /// null where it has none.
    Result<json> letters(const json& of, const std::string& alphabet) const
    {
        std::vector<std::string> items;
        if (of.is_string())
            for (const char letter : of.get_ref<const std::string&>())
                items.emplace_back(1, letter);
        else if (of.is_array())
            for (const json& item : of)
                items.push_back(item.is_string() ? item.get<std::string>() : item.dump());
        else
            return wrong("letters needs a list or a text");
        std::string out;
        for (const std::string& item : items) {
            const std::string sought = " " + item + "=";
            const auto found = (" " + alphabet).find(sought);
            if (found == std::string::npos || found + sought.size() > alphabet.size())
                return json();
            out += alphabet[found + sought.size() - 1];
        }
        return json(std::move(out));
    }

    /// So many letters: `a` at the places that a list has, `r` elsewhere.
    Result<json> placed(const json& places, const json& count) const
    {
        auto out = repeated(json("r"), count);
        if (!out.ok() || !places.is_array())
            return out.ok() ? Result<json>(wrong("placed needs a list")) : out;
        std::string text = out.value().get<std::string>();
        for (const json& place : places)
            if (isWhole(place) && place.get<std::int64_t>() >= 0
                && place.get<std::int64_t>() < static_cast<std::int64_t>(text.size()))
                text[static_cast<std::size_t>(place.get<std::int64_t>())] = 'a';
        return json(std::move(text));
    }

    /// A text over and over, cut to so many letters.
    Result<json> repeated(const json& text, const json& count) const
    {
        constexpr std::int64_t kMostLetters = 100'000;
        if (!text.is_string() || text.get_ref<const std::string&>().empty() || !isWhole(count) || count.get<std::int64_t>() < 0
            || count.get<std::int64_t>() > kMostLetters)
            return wrong("repeated needs a text and a number of layers");
        std::string out;
        while (static_cast<std::int64_t>(out.size()) < count.get<std::int64_t>())
            out += text.get_ref<const std::string&>();
        return json(out.substr(0, static_cast<std::size_t>(count.get<std::int64_t>())));
    }

    static json every(const json& list, const json& value)
    {
        std::int64_t n = 0;
        for (std::size_t i = 0; i < list.size() && n == 0; ++i)
            if (list[i] == value)
                n = static_cast<std::int64_t>(i) + 1;
        for (std::size_t i = 0; i < list.size() && n > 0; ++i)
            if ((list[i] == value) != ((static_cast<std::int64_t>(i) + 1) % n == 0))
                return {};
        return n;
    }

    Result<json> twoSided(const std::string& name, const json& a, const json& b) const
    {
        if (name == "==" || name == "!=")
            return json((a == b) == (name == "=="));
        if (a.is_null() || b.is_null())
            return json();
        if (name == "letters")
            return b.is_string() ? letters(a, b.get_ref<const std::string&>()) : wrong("letters needs a text");
        if (name == "repeated")
            return repeated(a, b);
        if (name == "behind") {
            if (!a.is_string() || !isWhole(b) || b.get<std::int64_t>() < 0)
                return wrong("behind needs a text and a number");
            const auto& text = a.get_ref<const std::string&>();
            return json(text.substr(std::min<std::size_t>(text.size(), b.get<std::size_t>())));
        }
        if (name == "item") {
            if (!a.is_array() || !isWhole(b))
                return wrong("item needs a list and a number");
            const auto at = b.get<std::int64_t>();
            return at >= 0 && at < static_cast<std::int64_t>(a.size()) ? a[static_cast<std::size_t>(at)] : json();
        }
        if (name == "placed")
            return placed(a, b);
        if (name == "count" && a.is_string() && b.is_string() && b.get_ref<const std::string&>().size() == 1) {
            const auto& text = a.get_ref<const std::string&>();
            return json(static_cast<std::int64_t>(std::ranges::count(text, b.get_ref<const std::string&>().front())));
        }
        if (name == "every" || name == "count") {
            if (!a.is_array())
                return wrong("a list is needed");
            return name == "every" ? every(a, b) : json(static_cast<std::int64_t>(std::count(a.begin(), a.end(), b)));
        }
        if (name == "+" && a.is_string() && b.is_string())
            return json(a.get<std::string>() + b.get<std::string>());
        if (!a.is_number() || !b.is_number())
            return wrong("'" + name + "' needs numbers");
        const double x = a.get<double>();
        const double y = b.get<double>();
        if (name == "<" || name == ">" || name == "<=" || name == ">=")
            return json(name == "<" ? x < y : name == ">" ? x > y : name == "<=" ? x <= y : x >= y);
        if (name == "min" || name == "max")
            return (name == "min") == (x < y) ? a : b;
        if ((name == "/" || name == "%") && y == 0)
            return wrong("it divides by 0");
        if (isWhole(a) && isWhole(b) && y > 0) {
            if (name == "%")
                return json(a.get<std::int64_t>() % b.get<std::int64_t>());
            if (name == "/" && a.get<std::int64_t>() % b.get<std::int64_t>() == 0)
                return json(a.get<std::int64_t>() / b.get<std::int64_t>());
        }
        const double out = name == "+" ? x + y : name == "-" ? x - y : name == "*" ? x * y : name == "/" ? x / y : std::fmod(x, y);
        if (isWhole(a) && isWhole(b) && name != "/")
            return whole(out);
        return std::isfinite(out) ? Result<json>(json(out)) : wrong("a number is too large");
    }

    const ExpressionNames& m_names;
    std::string m_where;
};

void addKeys(const Node& node, std::set<std::string>& keys) // NOLINT: as deep as the parser lets it be
{
    if (node.kind == Node::Kind::Key)
        keys.insert(node.name.substr(0, node.name.find('.')));
    for (const Node& part : node.parts)
        addKeys(part, keys);
}

} // namespace

Result<json> evaluateExpression(std::string_view text, const ExpressionNames& names, const std::string& where)
{
    const auto tree = ExpressionParser(text, where).parse();
    if (!tree.ok())
        return tree.error();
    return Evaluator(names, where).of(tree.value());
}

std::set<std::string> keysOfExpression(std::string_view text)
{
    std::set<std::string> keys;
    if (const auto tree = ExpressionParser(text, {}).parse(); tree.ok())
        addKeys(tree.value(), keys);
    return keys;
}

Status checkExpression(std::string_view text, const std::string& where)
{
    const auto tree = ExpressionParser(text, where).parse();
    return tree.ok() ? done() : Status(tree.error());
}

} // namespace shardboard
