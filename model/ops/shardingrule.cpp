// SPDX-License-Identifier: Apache-2.0
#include "model/ops/shardingrule.h"

#include "model/text/text.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

std::vector<std::string> words(std::string_view text)
{
    std::vector<std::string> out;
    for (const std::string_view word : split(text, ' '))
        if (!word.empty())
            out.emplace_back(word);
    return out;
}

/// Whether a clause is a row: dims are lower-case.
bool isRow(std::string_view clause) { return !clause.empty() && (clause[0] == '=' || (clause[0] >= 'A' && clause[0] <= 'Z')); }

} // namespace

Result<ShardingRule> ShardingRule::parse(std::string_view text, std::string_view where, std::span<const AttributeSpec> attributes,
                                         std::size_t reasons)
{
    ShardingRule rule;
    auto clauses = split(text, ';');
    if (!isRow(clauses.front())) {
        auto shapes = ShapeRule::parse(text, where);
        if (!shapes.ok())
            return shapes.error();
        rule.m_shapes = std::move(shapes).value();
        clauses.erase(clauses.begin());
    }
    for (const std::string_view clause : clauses) {
        const std::vector<std::string> all = words(clause);
        if (all == std::vector<std::string> { "reduce", "max" }) {
            rule.m_reduce = PartialReduce::Max;
            continue;
        }
        if (all.size() == 2 && all[0] == "first") {
            const auto& names = rule.m_shapes.names();
            rule.m_first.push_back(static_cast<int>(std::find(names.begin(), names.end(), all[1]) - names.begin()));
            continue;
        }
        auto pattern = RowPattern::parse(clause, attributes, reasons);
        if (!pattern.ok())
            return pattern.error();
        if (!rule.m_shapes.operands().empty() && pattern.value().operands() != rule.m_shapes.operands().size())
            return ruleError(clause, "a row has a placement for every operand");
        rule.m_patterns.push_back(std::move(pattern).value());
    }
    return rule;
}

/// The rule for certain shapes: which factor every dim belongs to.
struct ShardingRule::Expansion {
    /// A name's place in the rule's names; dims without a name come after them.
    using Factor = int;
    static constexpr Factor kUncut = -1;
    static constexpr Factor kLeading = 1000;
    static constexpr Factor kBroadcast = 2000;
    struct Place {
        Factor factor = kUncut;
        bool units = false;
    };
    using Places = std::vector<Place>;

    std::vector<Places> operands;
    Places result;
    bool fits = true;

    Expansion(const ShardingRule& rule, const PatternScope& scope, const Shape& resultShape)
    {
        if (scope.shapes.size() != rule.m_shapes.operands().size()) {
            fits = false;
            return;
        }
        std::optional<std::size_t> leading;
        for (std::size_t i = 0; i < scope.shapes.size(); ++i)
            operands.push_back(places(rule.m_shapes.operands()[i], *scope.shapes[i], resultShape.size(), leading));
        result = places(rule.m_shapes.result(), resultShape, resultShape.size(), leading);
    }

    Places places(const ShapeRule::Side& side, const Shape& shape, std::size_t rank, std::optional<std::size_t>& leading)
    {
        Places out;
        if (side.broadcast) {
            for (std::size_t dim = 0; dim < shape.size(); ++dim) // counted from the result's left
                out.push_back({ shape[dim] == 1 ? kUncut : kBroadcast + static_cast<Factor>(dim + rank - shape.size()), false });
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
                out.push_back({ kLeading + static_cast<Factor>(dim), false });
        }
        for (const ShapeRule::Dim& dim : side.dims)
            out.push_back({ dim.whole && dim.unit.empty() ? kUncut : dim.factor, !dim.unit.empty() });
        return out;
    }

    static int dimOf(const Places& places, Factor factor)
    {
        for (std::size_t dim = 0; dim < places.size(); ++dim)
            if (places[dim].factor == factor)
                return static_cast<int>(dim);
        return -1;
    }

    /// All factors in the order of their rows.
    std::vector<Factor> factors(const std::vector<Factor>& first) const
    {
        std::vector<Factor> out;
        const auto add = [&](Factor factor) {
            if (factor != kUncut && std::find(out.begin(), out.end(), factor) == out.end())
                out.push_back(factor);
        };
        for (const Factor factor : first)
            add(factor);
        for (const Place& place : result)
            add(place.factor);
        for (const Places& operand : operands)
            for (const Place& place : operand)
                add(place.factor);
        return out;
    }
};

std::vector<Row> ShardingRule::rows(const std::vector<Shape>& operands, const Shape& result, PickerProfile profile) const
{
    PatternScope scope { .profile = profile, .result = &result };
    for (const Shape& shape : operands)
        scope.shapes.push_back(&shape);
    std::vector<Row> out;
    expand(scope, out);
    return out;
}

void ShardingRule::expand(PatternScope& scope, std::vector<Row>& rows) const
{
    if (m_shapes.operands().empty() || expandDims(scope, rows))
        for (const RowPattern& pattern : m_patterns)
            pattern.expand(scope, rows);
}

Shape ShardingRule::resultOf(const PatternScope& scope) const
{
    const auto& operands = m_shapes.operands();
    const ShapeRule::Side& side = m_shapes.result();
    Shape out(side.dims.size(), kWildcard);
    for (std::size_t i = 0; i < std::min(scope.shapes.size(), operands.size()); ++i) {
        const Shape& shape = *scope.shapes[i];
        if (side.leading && operands[i].leading && shape.size() > operands[i].dims.size())
            out.resize(std::max(out.size(), side.dims.size() + shape.size() - operands[i].dims.size()), kWildcard);
        if (!side.broadcast)
            continue;
        if (shape.size() > out.size())
            out.insert(out.begin(), shape.size() - out.size(), 1);
        for (std::size_t dim = 0; dim < shape.size(); ++dim)
            if (shape[dim] != 1)
                out[out.size() - shape.size() + dim] = shape[dim];
    }
    return out;
}

bool ShardingRule::expandDims(const PatternScope& scope, std::vector<Row>& rows) const
{
    const std::size_t operands = scope.shapes.size();
    rows.push_back({ .operands = std::vector<Placement>(operands) });
    Shape made;
    if (scope.result == nullptr)
        made = resultOf(scope);
    const Shape& result = scope.result ? *scope.result : made;
    const Expansion expansion(*this, scope, result);
    if (!expansion.fits)
        return false;
    const auto at = [](int dim) { return static_cast<std::size_t>(dim); };
    for (const Expansion::Factor factor : expansion.factors(m_first)) {
        Row row;
        int unitOperand = -1; // the operand with the dim made of units, and how many units there are
        std::int64_t units = 0;
        std::int64_t unitElements = 0;
        const auto look = [&](int operand, const Expansion::Places& places, const Shape& shape) -> Placement {
            const int dim = Expansion::dimOf(places, factor);
            if (dim < 0)
                return {};
            if (places[at(dim)].units) {
                unitElements = shape[at(dim)];
                row.fused.push_back({ operand, dim, 1 });
            } else
                units = shape[at(dim)];
            if (operand >= 0 && unitOperand < 0)
                unitOperand = operand;
            return shardedPlacement(dim);
        };
        row.operands.reserve(operands);
        for (std::size_t i = 0; i < operands; ++i)
            row.operands.push_back(look(static_cast<int>(i), expansion.operands[i], *scope.shapes[i]));
        row.result = look(-1, expansion.result, result);
        if (row.result.replicated())
            row.result = partialPlacement(m_reduce);
        if (unitElements > 0 && units > 0 && unitOperand >= 0) {
            // Our profile cuts such a dim in whole units where their number does not divide; MAX knows no such cut.
            const Placement& cut = row.operands[at(unitOperand)];
            row.conditions.push_back({ unitOperand, cut.dim, units, std::to_string(units) + " " + m_shapes.names()[at(factor)],
                                       scope.profile == PickerProfile::Shardboard ? unitElements / units : 0 });
            for (FusedDim& fused : row.fused)
                fused.unitElements = unitElements / units;
        }
        rows.push_back(std::move(row));
    }
    return true;
}

} // namespace shardboard
