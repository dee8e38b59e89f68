// SPDX-License-Identifier: Apache-2.0
#include "model/ops/shaperule.h"

#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

/// Kernels take attributes in float32. Empty: it holds the value, or one that is near.
std::string notInFloat(double value)
{
    if (!std::isfinite(value))
        return "is not a finite number";
    const bool held =
        std::fabs(value) <= double { std::numeric_limits<float>::max() } && (value == 0 || static_cast<float>(value) != 0);
    return held ? std::string() : formatted("is %g, which float32 does not hold", value);
}

bool isNumber(std::string_view name) { return parseInteger(name).has_value(); }

/// The last `count` sizes against those of the first operand.
bool broadcasts(const Shape& shape, const Shape& to)
{
    return shape.size() <= to.size()
        && std::equal(shape.rbegin(), shape.rend(), to.rbegin(), [](auto size, auto whole) { return size == whole || size == 1; });
}

Error mistake(std::string_view text, const std::string& what)
{
    return inputError("rule '" + std::string(text) + "'", what, "see model/ops/shaperule.h");
}

} // namespace

Result<ShapeRule::Side> ShapeRule::parseSide(std::string_view text)
{
    Side side;
    text = trimmed(text);
    if (const auto open = text.find('['); open != text.npos) {
        if (!text.ends_with(']'))
            return mistake(text, "a bracket is open");
        side.name = trimmed(text.substr(0, open));
        text = text.substr(open + 1, text.size() - open - 2);
    }
    for (std::string_view word : split(text, ' ')) {
        if (word.empty())
            continue;
        if (word == "~" || word == "...") {
            if (!side.dims.empty() || side.leading || side.broadcast)
                return mistake(text, std::string(word) + " must come first");
            (word == "~" ? side.broadcast : side.leading) = true;
            continue;
        }
        Dim dim;
        if ((dim.whole = word.ends_with('!')))
            word.remove_suffix(1);
        const auto star = word.find('*');
        dim.name = word.substr(0, star);
        if (star != word.npos)
            dim.unit = word.substr(star + 1);
        if (star != word.npos && !dim.whole)
            return mistake(text, "a dim made of units needs a whole second part, as in h*d!");
        side.dims.push_back(std::move(dim));
    }
    return side;
}

ShapeRule::Sum ShapeRule::parseSum(std::string_view text)
{
    Sum sum;
    for (const std::string_view part : split(text, '+')) {
        Term term;
        for (const std::string_view factor : split(part, '*'))
            if (const auto number = parseInteger(factor))
                term.number *= static_cast<double>(*number);
            else
                term.names.emplace_back(factor);
        sum.push_back(std::move(term));
    }
    return sum;
}

Result<ShapeRule> ShapeRule::parse(std::string_view shapes, std::string_view where)
{
    ShapeRule rule;
    rule.m_text = trimmed(shapes.substr(0, shapes.find(';')));
    const std::string_view text = rule.m_text;
    const auto arrow = text.find("->");
    if (arrow == text.npos)
        return mistake(text, "it starts with the dims of the operands, an arrow, and those of the result");
    const auto add = [&rule](const std::string& name) {
        if (!name.empty() && !isNumber(name) && std::find(rule.m_names.begin(), rule.m_names.end(), name) == rule.m_names.end())
            rule.m_names.push_back(name);
    };
    for (const std::string_view part : split(text.substr(0, arrow), ',')) {
        auto side = parseSide(part);
        if (!side.ok())
            return side.error();
        rule.m_operands.push_back(std::move(side).value());
    }
    auto result = parseSide(text.substr(arrow + 2));
    if (!result.ok())
        return result.error();
    rule.m_result = std::move(result).value();
    const auto addAll = [&add](const Side& side) {
        for (const Dim& dim : side.dims) {
            add(dim.name);
            add(dim.unit);
        }
    };
    std::for_each(rule.m_operands.begin(), rule.m_operands.end(), addAll);
    addAll(rule.m_result);
    for (const std::string_view part : split(where, ',')) {
        if (part.empty())
            continue;
        Relation relation { std::string(part), {}, {}, {} };
        for (const std::string_view sign : { "<=", "<", "=", "|" })
            if (const auto at = part.find(sign); relation.sign.empty() && at != part.npos) {
                relation.sign = sign;
                relation.right = parseSum(part.substr(at + sign.size()));
                relation.left = parseSum(part.substr(0, at));
            }
        if (relation.sign.empty())
            relation.left = parseSum(part);
        for (const Sum* sum : { &relation.left, &relation.right })
            for (const Term& term : *sum)
                for (const std::string& name : term.names)
                    add(name);
        rule.m_relations.push_back(std::move(relation));
    }
    return rule;
}

double ShapeRule::valueOf(const Sum& sum, const Sizes& sizes)
{
    double out = 0;
    for (const Term& term : sum) {
        double product = term.number;
        for (const std::string& name : term.names)
            product *= sizes.at(name);
        out += product;
    }
    return out;
}

bool ShapeRule::solve(Sizes& sizes, const std::vector<Relation>& relations)
{
    for (bool more = true; more;) {
        more = false;
        for (const Relation& relation : relations) {
            std::string unknown;
            int count = 0;
            for (const Sum* sum : { &relation.left, &relation.right })
                for (const Term& term : *sum)
                    for (const std::string& name : term.names)
                        if (!sizes.contains(name)) {
                            unknown = name;
                            ++count;
                        }
            if (relation.sign != "=" || count != 1)
                continue;
            // Both sides are linear in what is not known.
            const auto difference = [&](double value) {
                sizes[unknown] = value;
                return valueOf(relation.left, sizes) - valueOf(relation.right, sizes);
            };
            const double atZero = difference(0);
            const double size = -atZero / (difference(1) - atZero);
            if (!unknown.starts_with('@') && !(size >= 1 && size == std::floor(size) && std::isfinite(size)))
                return false;
            sizes[unknown] = size;
            more = true;
        }
    }
    return true;
}

const ShapeRule::Relation* ShapeRule::broken(const Sizes& sizes) const
{
    for (const Relation& relation : m_relations) {
        const auto known = [&sizes](const Sum& sum) {
            return std::all_of(sum.begin(), sum.end(), [&](const Term& term) {
                return std::all_of(term.names.begin(), term.names.end(), [&](const auto& name) { return sizes.contains(name); });
            });
        };
        if (relation.sign.empty())
            continue;
        if (!known(relation.left) || !known(relation.right))
            return &relation;
        const double left = valueOf(relation.left, sizes);
        const double right = valueOf(relation.right, sizes);
        if (!(relation.sign == "="        ? left == right
                  : relation.sign == "<=" ? left <= right
                  : relation.sign == "<"  ? left < right
                                          : left == 0 || std::fmod(right, left) == 0))
            return &relation;
    }
    return nullptr;
}

std::optional<Shape> ShapeRule::shapeOf(const Side& side, const Sizes& sizes)
{
    Shape out;
    for (const Dim& dim : side.dims) {
        double size = 1;
        for (const std::string& name : { dim.name, dim.unit }) {
            const auto number = parseInteger(name);
            const auto known = sizes.find(name);
            if (!name.empty() && !number && known == sizes.end())
                return std::nullopt;
            size *= number ? static_cast<double>(*number) : known != sizes.end() ? known->second : 1;
        }
        out.push_back(static_cast<std::int64_t>(size));
    }
    return out;
}

/// The rule laid on certain shapes.
struct ShapeRule::Matching {
    Sizes sizes;
    std::optional<Shape> leading {};
    std::optional<Shape> first {}; ///< what `~` stands for
    std::vector<Relation> products {}; ///< dims of several names
    std::string wrong {}; ///< what does not match

    Matching(const ShapeRule& rule, const OpAttributes& attributes)
    {
        visitAttributes(attributes, [&](const char* name, const auto& value, const auto&) {
            if (const std::string known = std::string("@") + name;
                std::find(rule.m_names.begin(), rule.m_names.end(), known) != rule.m_names.end())
                sizes[known] = static_cast<double>(value);
        });
    }

    bool match(const Side& side, const Shape& shape)
    {
        if (side.broadcast) {
            if (!first)
                first = shape;
            if (&side == result ? shape == *first : broadcasts(shape, *first))
                return true;
            wrong = shapeText(*first) + " is what it goes with";
            return false;
        }
        if (shape.size() < side.dims.size() || (!side.leading && shape.size() != side.dims.size())) {
            wrong = "it has " + std::to_string(side.dims.size()) + (side.leading ? " dims or more" : " dims");
            return false;
        }
        const auto named = shape.end() - static_cast<std::ptrdiff_t>(side.dims.size());
        if (side.leading) {
            const Shape before(shape.begin(), named);
            if (!leading)
                leading = before;
            if (before != *leading) {
                wrong = "its first dims are " + shapeText(*leading);
                return false;
            }
        }
        return std::equal(side.dims.begin(), side.dims.end(), named,
                          [this](const Dim& dim, std::int64_t size) { return match(dim, static_cast<double>(size)); });
    }

    const Side* result = nullptr;

private:
    bool match(const Dim& dim, double size)
    {
        if (!dim.unit.empty()) {
            const std::string text = dim.name + "*" + dim.unit;
            products.push_back({ text, "=", parseSum(text), { Term { size } } });
            return true;
        }
        const auto number = parseInteger(dim.name);
        const double wanted = number ? static_cast<double>(*number) : sizes.emplace(dim.name, size).first->second;
        if (wanted != size)
            wrong = (number ? "a dim" : dim.name) + std::string(" is ") + std::to_string(static_cast<std::int64_t>(wanted));
        return wanted == size;
    }
};

Status ShapeRule::verify(const std::string& what, const std::vector<Shape>& operands, const Shape& result,
                         const OpAttributes& attributes) const
{
    const std::string fix = "give it the shapes " + m_text;
    if (operands.size() != m_operands.size())
        return inputError(what, "it has " + std::to_string(operands.size()) + " operands, not " + std::to_string(m_operands.size()),
                          fix);
    Matching matching(*this, attributes);
    matching.result = &m_result;
    std::string all;
    for (std::size_t i = 0; i <= operands.size(); ++i) {
        const Side& side = i < operands.size() ? m_operands[i] : m_result;
        const Shape& shape = i < operands.size() ? operands[i] : result;
        const std::string name = i < operands.size() ? side.name : "its result";
        if (!matching.match(side, shape))
            return inputError(what, name + " of shape " + shapeText(shape) + " does not fit: " + matching.wrong, fix);
        all += (all.empty() ? "" : ", ") + name + " of shape " + shapeText(shape);
    }
    for (const auto& [name, value] : matching.sizes)
        if (const std::string problem = name.starts_with('@') ? notInFloat(value) : std::string(); !problem.empty())
            return inputError(what, "its attribute " + name.substr(1) + " " + problem, "give it one that float32 holds");
    std::vector<Relation> equations = m_relations;
    equations.insert(equations.end(), matching.products.begin(), matching.products.end());
    const bool whole = solve(matching.sizes, equations);
    for (const Relation& product : matching.products)
        if (!whole || valueOf(product.left, matching.sizes) != valueOf(product.right, matching.sizes))
            return inputError(what, all + " do not fit: " + product.text + " is another size", fix);
    if (const Relation* relation = broken(matching.sizes))
        return inputError(what, all + " do not fit", "see that " + relation->text + " in " + m_text);
    return done();
}

std::optional<Shape> ShapeRule::resultOf(const std::vector<Shape>& operands, const OpAttributes& attributes) const
{
    Matching matching(*this, attributes);
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (i >= m_operands.size() || !matching.match(m_operands[i], operands[i]))
            return std::nullopt;
    std::vector<Relation> equations = m_relations;
    equations.insert(equations.end(), matching.products.begin(), matching.products.end());
    if (!solve(matching.sizes, equations))
        return std::nullopt;
    if (m_result.broadcast)
        return matching.first;
    auto named = shapeOf(m_result, matching.sizes);
    if (named && m_result.leading && matching.leading)
        named->insert(named->begin(), matching.leading->begin(), matching.leading->end());
    return named;
}

} // namespace shardboard
