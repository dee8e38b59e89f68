// SPDX-License-Identifier: Apache-2.0
#include "model/ops/shardingrule.h"

#include "model/text/text.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

const Placement kR { Placement::Kind::Replicated, 0 };
const Placement kP { Placement::Kind::Partial, 0 };
Placement S(std::size_t dim) { return { Placement::Kind::Sharded, static_cast<int>(dim) }; }

std::vector<std::string> words(std::string_view text)
{
    std::vector<std::string> out;
    for (const std::string_view word : split(text, ' '))
        if (!word.empty())
            out.emplace_back(word);
    return out;
}

std::optional<int> digit(std::string_view text)
{
    if (text.size() != 1 || text[0] < '0' || text[0] > '9')
        return std::nullopt;
    return text[0] - '0';
}

std::optional<Placement> placement(const std::string& code)
{
    if (code == "R")
        return kR;
    if (code == "P")
        return kP;
    if (code.size() == 2 && code[0] == 'S' && digit(code.substr(1)))
        return S(static_cast<std::size_t>(*digit(code.substr(1))));
    return std::nullopt;
}

Error mistake(std::string_view text, const std::string& what)
{
    return Result<int>(inputError("rule '" + std::string(text) + "'", what, "see model/ops/shardingrule.h")).error();
}

} // namespace

Result<ShardingRule::Written> ShardingRule::parseRow(std::string_view text, std::size_t operands)
{
    Written written;
    const std::vector<std::string> all = words(text);
    std::size_t at = 0;
    for (; at < all.size() && all[at] != "->"; ++at) {
        const auto code = placement(all[at]);
        if (!code)
            return mistake(text, "'" + all[at] + "' is not a placement");
        written.row.operands.push_back(*code);
    }
    if (written.row.operands.size() != operands)
        return mistake(text, "a row has a placement for every operand");
    if (at + 1 >= all.size() || !placement(all[at + 1]))
        return mistake(text, "a row ends with -> and the result's placement");
    written.row.result = *placement(all[at + 1]);
    bool conditions = false;
    bool ring = false;
    for (at += 2; at < all.size(); ++at) {
        const std::string& word = all[at];
        if (word == "ours") {
            written.ours = true;
            continue;
        }
        if (word == "ring") {
            ring = true;
            continue;
        }
        if (ring && digit(word)) {
            written.row.ring.push_back(*digit(word));
            continue;
        }
        if (word == "if") {
            conditions = true;
            continue;
        }
        const auto colon = word.find(':');
        if (!conditions || colon != 3 || !digit(word.substr(0, 1)) || word[1] != '.' || !digit(word.substr(2, 1)))
            return mistake(text, "'" + word + "' is not understood");
        Unit unit { *digit(word.substr(0, 1)), *digit(word.substr(2, 1)), word.substr(colon + 1) };
        std::replace(unit.what.begin(), unit.what.end(), '_', ' ');
        written.units.push_back(std::move(unit));
    }
    return written;
}

Result<ShardingRule> ShardingRule::parse(std::string_view text, std::string_view where)
{
    auto shapes = ShapeRule::parse(text, where);
    if (!shapes.ok())
        return shapes.error();
    ShardingRule rule;
    rule.m_shapes = std::move(shapes).value();
    const auto clauses = split(text, ';');
    for (std::size_t i = 1; i < clauses.size(); ++i) {
        const std::vector<std::string> all = words(clauses[i]);
        if (all == std::vector<std::string> { "reduce", "max" }) {
            rule.m_reduce = PartialReduce::Max;
            continue;
        }
        if (all.size() == 2 && all[0] == "first") {
            rule.m_first.push_back(all[1]);
            continue;
        }
        auto row = parseRow(clauses[i], rule.m_shapes.operands().size());
        if (!row.ok())
            return row.error();
        rule.m_written.push_back(std::move(row).value());
    }
    return rule;
}

/// The rule for certain shapes: which factor every dim belongs to.
struct ShardingRule::Expansion {
    struct Place {
        std::string factor; ///< empty: not cut
        bool units = false;
    };
    using Places = std::vector<Place>;

    std::vector<Places> operands;
    Places result;
    bool fits = true;

    Expansion(const ShardingRule& rule, const std::vector<Shape>& shapes, const Shape& resultShape)
    {
        if (shapes.size() != rule.m_shapes.operands().size()) {
            fits = false;
            return;
        }
        std::optional<std::size_t> leading;
        for (std::size_t i = 0; i < shapes.size(); ++i)
            operands.push_back(places(rule.m_shapes.operands()[i], shapes[i], resultShape.size(), leading));
        result = places(rule.m_shapes.result(), resultShape, resultShape.size(), leading);
    }

    Places places(const ShapeRule::Side& side, const Shape& shape, std::size_t rank, std::optional<std::size_t>& leading)
    {
        Places out;
        if (side.broadcast) {
            for (std::size_t dim = 0; dim < shape.size(); ++dim) // counted from the result's left
                out.push_back({ shape[dim] == 1 ? std::string() : "~" + std::to_string(dim + rank - shape.size()), false });
            fits = fits && shape.size() <= rank;
            return out;
        }
        const std::size_t named = side.dims.size();
        if (shape.size() < named || (!side.leading && shape.size() != named)) {
            fits = false;
            return out;
        }
        if (side.leading) {
            const std::size_t count = shape.size() - named;
            fits = fits && (!leading || *leading == count);
            leading = count;
            for (std::size_t dim = 0; dim < count; ++dim)
                out.push_back({ "." + std::to_string(dim), false });
        }
        for (const ShapeRule::Dim& dim : side.dims)
            out.push_back({ dim.whole && dim.unit.empty() ? std::string() : dim.name, !dim.unit.empty() });
        return out;
    }

    static int dimOf(const Places& places, const std::string& factor)
    {
        for (std::size_t dim = 0; dim < places.size(); ++dim)
            if (places[dim].factor == factor)
                return static_cast<int>(dim);
        return -1;
    }

    /// All factors in the order of their rows.
    std::vector<std::string> factors(const std::vector<std::string>& first) const
    {
        std::vector<std::string> out;
        const auto add = [&](const std::string& factor) {
            if (!factor.empty() && std::find(out.begin(), out.end(), factor) == out.end())
                out.push_back(factor);
        };
        for (const std::string& factor : first)
            add(factor);
        for (const Place& place : result)
            add(place.factor);
        for (const Places& operand : operands)
            for (const Place& place : operand)
                add(place.factor);
        return out;
    }
};

std::vector<Row> ShardingRule::rows(const std::vector<Shape>& operands, const Shape& result, bool ours) const
{
    std::vector<Row> out { { std::vector<Placement>(operands.size(), kR), kR, {}, {} } };
    const Expansion expansion(*this, operands, result);
    if (!expansion.fits)
        return out;
    const auto at = [](int dim) { return static_cast<std::size_t>(dim); };
    for (const std::string& factor : expansion.factors(m_first)) {
        Row row;
        int unitOperand = -1; // the operand with the dim made of units, and how many units there are
        std::int64_t units = 0;
        std::int64_t unitElements = 0;
        const auto look = [&](int operand, const Expansion::Places& places, const Shape& shape) -> Placement {
            const int dim = Expansion::dimOf(places, factor);
            if (dim < 0)
                return kR;
            if (places[at(dim)].units) {
                unitElements = shape[at(dim)];
                row.fused.push_back({ operand, dim, 1 });
            } else
                units = shape[at(dim)];
            if (operand >= 0 && unitOperand < 0)
                unitOperand = operand;
            return S(at(dim));
        };
        for (std::size_t i = 0; i < operands.size(); ++i)
            row.operands.push_back(look(static_cast<int>(i), expansion.operands[i], operands[i]));
        row.result = look(-1, expansion.result, result);
        if (row.result == kR)
            row.result = partialPlacement(m_reduce);
        if (unitElements > 0 && units > 0 && unitOperand >= 0) {
            // Our profile cuts such a dim in whole units where their number does not divide; MAX knows no such cut.
            const Placement& cut = row.operands[static_cast<std::size_t>(unitOperand)];
            row.conditions.push_back(
                { unitOperand, cut.dim, units, std::to_string(units) + " " + factor, ours ? unitElements / units : 0 });
            for (FusedDim& fused : row.fused)
                fused.unitElements = unitElements / units;
        }
        out.push_back(std::move(row));
    }
    for (const Written& written : m_written) {
        if (written.ours && !ours)
            continue;
        Row row = written.row;
        for (const Unit& unit : written.units) {
            const std::int64_t size = operands[static_cast<std::size_t>(unit.operand)][at(unit.dim)];
            row.conditions.push_back({ unit.operand, unit.dim, size, std::to_string(size) + " " + unit.what, 0 });
        }
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace shardboard
