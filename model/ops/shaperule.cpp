// SPDX-License-Identifier: Apache-2.0
#include "model/ops/shaperule.h"

#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

constexpr OpAttributes kUsual;

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

std::size_t ShapeRule::nameIndex(std::string_view name)
{
    const auto known = std::find(m_names.begin(), m_names.end(), name);
    if (known == m_names.end())
        m_names.emplace_back(name);
    return static_cast<std::size_t>(std::find(m_names.begin(), m_names.end(), name) - m_names.begin());
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
                term.names.push_back(nameIndex(factor));
        sum.push_back(std::move(term));
    }
    return sum;
}

void ShapeRule::note(Relation& relation)
{
    std::uint32_t twice = 0;
    for (const Sum* sum : { &relation.left, &relation.right })
        for (const Term& term : *sum)
            for (const std::size_t name : term.names) {
                const std::uint32_t bit = std::uint32_t { 1 } << name;
                twice |= relation.names & bit;
                relation.names |= bit;
            }
    relation.once = relation.names & ~twice;
}

void ShapeRule::place(Side& side)
{
    for (Dim& dim : side.dims) {
        if (const auto number = parseInteger(dim.name); number && dim.unit.empty()) {
            dim.number = static_cast<double>(*number);
            continue;
        }
        dim.factor = dim.size = static_cast<int>(nameIndex(dim.name));
        if (dim.unit.empty())
            continue;
        const std::string text = dim.name + "*" + dim.unit;
        auto product =
            std::find_if(m_products.begin(), m_products.end(), [&text](const Relation& known) { return known.text == text; });
        if (product == m_products.end()) {
            Relation relation;
            relation.text = text;
            relation.sign = "=";
            relation.left = parseSum(text);
            relation.right = { Term { 1, { m_names.size() + m_products.size() } } };
            product = m_products.insert(product, std::move(relation));
        }
        dim.size = static_cast<int>(product->right.front().names.front());
    }
}

Result<ShapeRule> ShapeRule::parse(std::string_view shapes, std::string_view where)
{
    ShapeRule rule;
    rule.m_text = trimmed(shapes.substr(0, shapes.find(';')));
    const std::string_view text = rule.m_text;
    const auto arrow = text.find("->");
    if (arrow == text.npos)
        return mistake(text, "it starts with the dims of the operands, an arrow, and those of the result");
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
    const auto addNames = [&rule](const Side& side) {
        for (const Dim& dim : side.dims)
            for (const std::string& name : { dim.name, dim.unit })
                if (!name.empty() && !isNumber(name))
                    rule.nameIndex(name);
    };
    std::for_each(rule.m_operands.begin(), rule.m_operands.end(), addNames);
    addNames(rule.m_result);
    for (const std::string_view part : split(where, ',')) {
        if (part.empty())
            continue;
        Relation relation;
        relation.text = part;
        std::string_view left = part;
        std::string_view right;
        for (const std::string_view sign : { "<=", "<", "=", "|" })
            if (const auto at = part.find(sign); relation.sign.empty() && at != part.npos) {
                relation.sign = sign;
                left = part.substr(0, at);
                right = part.substr(at + sign.size());
            }
        relation.left = rule.parseSum(left);
        if (!relation.sign.empty())
            relation.right = rule.parseSum(right);
        const auto isDim = [&rule](const Term& term) {
            return !term.names.empty() && !rule.m_names[term.names.front()].starts_with('@');
        };
        relation.exactness = relation.sign == "<=" && relation.right.front().names.empty() && isDim(relation.left.front());
        rule.m_relations.push_back(std::move(relation));
    }
    std::for_each(rule.m_operands.begin(), rule.m_operands.end(), [&rule](Side& side) { rule.place(side); });
    rule.place(rule.m_result);
    if (rule.m_operands.size() > OperandShapes::kMost || rule.m_names.size() + rule.m_products.size() > Sizes::kMost)
        return mistake(text, "it has more operands or names than there is room for");
    for (std::vector<Relation>* relations : { &rule.m_relations, &rule.m_products })
        std::for_each(relations->begin(), relations->end(), note);
    if (std::any_of(rule.m_names.begin(), rule.m_names.end(), [](const std::string& name) { return name.starts_with('@'); }))
        visitAttributes(kUsual, [&rule](const char* name, const auto&, const auto&) {
            const auto known = std::find(rule.m_names.begin(), rule.m_names.end(), std::string("@") + name);
            rule.m_attributes.push_back(known == rule.m_names.end() ? -1 : static_cast<int>(known - rule.m_names.begin()));
        });
    return rule;
}

double ShapeRule::valueOf(const Sum& sum, const Sizes& sizes)
{
    double out = 0;
    for (const Term& term : sum) {
        double product = term.number;
        for (const std::size_t name : term.names)
            product *= sizes[name];
        out += product;
    }
    return out;
}

bool ShapeRule::solve(Sizes& sizes) const
{
    for (bool more = true; more;) {
        more = false;
        for (const std::vector<Relation>* relations : { &m_relations, &m_products })
            for (const Relation& relation : *relations) {
                const std::uint32_t unknown = relation.names & ~sizes.known();
                if (!std::has_single_bit(unknown) || (unknown & relation.once) == 0 || relation.sign != "=")
                    continue;
                const auto name = static_cast<std::size_t>(std::countr_zero(unknown));
                // Both sides are linear in what is not known.
                const auto difference = [&](double value) {
                    sizes.set(name, value);
                    return valueOf(relation.left, sizes) - valueOf(relation.right, sizes);
                };
                const double atZero = difference(0);
                const double size = -atZero / (difference(1) - atZero);
                const bool isAttribute = name < m_names.size() && m_names[name].starts_with('@');
                if (!isAttribute && !(size >= 1 && size == std::floor(size) && std::isfinite(size)))
                    return false;
                sizes.set(name, size);
                more = true;
            }
    }
    return true;
}

const ShapeRule::Relation* ShapeRule::broken(const Sizes& sizes, bool exactly) const
{
    for (const Relation& relation : m_relations) {
        if ((relation.exactness && !exactly) || relation.sign.empty())
            continue;
        if ((relation.names & ~sizes.known()) != 0)
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

std::optional<Shape> ShapeRule::shapeOf(const Side& side, const Sizes& sizes, std::span<const std::int64_t> leading)
{
    Shape out;
    out.reserve(leading.size() + side.dims.size());
    out.assign(leading.begin(), leading.end());
    for (const Dim& dim : side.dims) {
        if (dim.size >= 0 && !sizes.contains(static_cast<std::size_t>(dim.size)))
            return std::nullopt;
        out.push_back(static_cast<std::int64_t>(dim.size < 0 ? dim.number : sizes[static_cast<std::size_t>(dim.size)]));
    }
    return out;
}

/// The rule laid on certain shapes.
struct ShapeRule::Matching {
    const ShapeRule& rule;
    Sizes sizes;
    std::optional<std::span<const std::int64_t>> leading {};
    const Shape* first = nullptr; ///< what `~` stands for
    std::string wrong {}; ///< what does not match

    Matching(const ShapeRule& of, const OpAttributes& attributes)
        : rule(of)
    {
        if (rule.m_attributes.empty())
            return;
        visitAttributes(attributes, [this, place = rule.m_attributes.begin()](const char*, const auto& value, const auto&) mutable {
            if (*place >= 0)
                sizes.set(static_cast<std::size_t>(*place), static_cast<double>(value));
            ++place;
        });
    }

    bool match(const Side& side, const Shape& shape)
    {
        if (side.broadcast) {
            if (first == nullptr)
                first = &shape;
            if (&side == &rule.m_result ? shape == *first : broadcasts(shape, *first))
                return true;
            wrong = shapeText(*first) + " is what it goes with";
            return false;
        }
        const std::size_t named = side.dims.size();
        if (shape.size() < named || (!side.leading && shape.size() != named)) {
            wrong = "it has " + std::to_string(named) + (side.leading ? " dims or more" : " dims");
            return false;
        }
        const std::span<const std::int64_t> before(shape.data(), shape.size() - named);
        if (side.leading) {
            if (!leading)
                leading = before;
            if (!std::equal(before.begin(), before.end(), leading->begin(), leading->end())) {
                wrong = "its first dims are " + shapeText(Shape(leading->begin(), leading->end()));
                return false;
            }
        }
        for (std::size_t i = 0; i < named; ++i)
            if (!match(side.dims[i], static_cast<double>(shape[before.size() + i])))
                return false;
        return true;
    }

private:
    bool match(const Dim& dim, double size)
    {
        const auto place = static_cast<std::size_t>(dim.size);
        if (dim.size >= 0 && !sizes.contains(place))
            sizes.set(place, size);
        const double wanted = dim.size < 0 ? dim.number : sizes[place];
        if (wanted != size)
            wrong = (dim.size < 0           ? "a dim"
                         : dim.unit.empty() ? dim.name
                                            : dim.name + "*" + dim.unit)
                + " is " + std::to_string(static_cast<std::int64_t>(wanted));
        return wanted == size;
    }
};

Status ShapeRule::match(Matching& matching, const std::string& what, const OperandShapes& operands) const
{
    if (operands.size() != m_operands.size())
        return inputError(what, "it has " + std::to_string(operands.size()) + " operands, not " + std::to_string(m_operands.size()),
                          fix());
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (!matching.match(m_operands[i], operands[i]))
            return inputError(what, m_operands[i].name + " of shape " + shapeText(operands[i]) + " does not fit: " + matching.wrong,
                              fix());
    return done();
}

Status ShapeRule::settle(Matching& matching, const std::string& what, const OperandShapes& operands, const Shape* result) const
{
    const auto misfit = [&](const std::string& why, const std::string& fix) {
        std::string all;
        for (std::size_t i = 0; i < operands.size(); ++i)
            all += (i == 0 ? "" : ", ") + m_operands[i].name + " of shape " + shapeText(operands[i]);
        return inputError(
            what, all + (result != nullptr ? ", its result of shape " + shapeText(*result) : "") + " do not fit" + why, fix);
    };
    const std::uint32_t given = matching.sizes.known();
    const bool whole = solve(matching.sizes);
    for (const Relation& product : m_products) {
        const std::size_t size = product.right.front().names.front();
        if ((given >> size & 1) != 0
            && (!whole || (product.names & ~matching.sizes.known()) != 0
                || valueOf(product.left, matching.sizes) != matching.sizes[size]))
            return misfit(": " + product.text + " is another size", fix());
    }
    if (const Relation* relation = broken(matching.sizes, result != nullptr))
        return misfit("", "see that " + relation->text + " in " + m_text);
    return done();
}

Status ShapeRule::verify(const std::string& what, const OperandShapes& operands, const Shape& result,
                         const OpAttributes& attributes) const
{
    Matching matching(*this, attributes);
    if (auto status = match(matching, what, operands); !status.ok())
        return status;
    if (!matching.match(m_result, result))
        return inputError(what, "its result of shape " + shapeText(result) + " does not fit: " + matching.wrong, fix());
    for (const int attribute : m_attributes) {
        if (attribute < 0)
            continue;
        const auto at = static_cast<std::size_t>(attribute);
        if (const std::string problem = notInFloat(matching.sizes[at]); !problem.empty())
            return inputError(what, "its attribute " + m_names[at].substr(1) + " " + problem, "give it one that float32 holds");
    }
    return settle(matching, what, operands, &result);
}

Result<Shape> ShapeRule::resultOf(const std::string& what, const OperandShapes& operands, const OpAttributes& attributes,
                                  std::span<const OpenSize> open) const
{
    Matching matching(*this, attributes);
    for (const auto& [name, size] : open)
        if (const auto known = std::find(m_names.begin(), m_names.end(), name); known != m_names.end())
            matching.sizes.set(static_cast<std::size_t>(known - m_names.begin()), static_cast<double>(size));
    if (auto status = match(matching, what, operands); !status.ok())
        return status.error();
    if (auto status = settle(matching, what, operands, nullptr); !status.ok())
        return status.error();
    if (m_result.broadcast)
        return *matching.first;
    auto shape = shapeOf(m_result, matching.sizes, m_result.leading ? *matching.leading : std::span<const std::int64_t> {});
    if (!shape)
        return inputError(what, "its operands do not tell its result", "give the other sizes of " + m_text);
    return std::move(*shape);
}

} // namespace shardboard
