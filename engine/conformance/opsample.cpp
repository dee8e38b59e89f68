// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/opsample.h"

#include "engine/conformance/rowchoice.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/text/contains.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace shardboard::conformance {

namespace {

class Sampler {
public:
    Sampler(OpKind kind, std::int64_t most)
        : m_kind(kind)
        , m_rule(ruleOf(kind).shapes())
        , m_most(most)
        , m_random(static_cast<unsigned>(kind) * 1'000 + static_cast<unsigned>(most))
    {
    }

    std::optional<OpSample> any()
    {
        for (int i = 0; i < 200'000; ++i)
            if (auto sample = next(); sample && isUsable(*sample))
                return sample;
        return std::nullopt;
    }

private:
    template <class T>
    T one(std::initializer_list<T> of)
    {
        return of.begin()[m_random() % of.size()];
    }

    std::int64_t size()
    {
        return m_most > 1000 && m_random() % 3 == 0 ? one<std::int64_t>({ 33, 66, 130 })
                                                    : one<std::int64_t>({ 2, 3, 4, 5, 6, 7, 8, 12 });
    }

    double attribute(std::string_view name)
    {
        if (name == "@epsilon")
            return one({ 1e-5, 0.01 });
        if (name == "@rope_theta")
            return one({ 100.0, 10000.0 });
        if (name == "@scale" || name == "@cap")
            return one({ 0.6, 1.3 });
        return static_cast<double>(
            m_random() % (contains({ "@offset", "@sigmoid", "@normalized", "@delta", "@both_ways", "@alibi" }, name) ? 2 : 8));
    }

    /// Sizes in the order of the rule; what follows from those before is not made up.
    std::optional<OpSample> next()
    {
        ShapeRule::Sizes sizes;
        const std::vector<std::string>& names = m_rule.names();
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (sizes.contains(i))
                continue;
            sizes.set(i, names[i].starts_with('@') ? attribute(names[i]) : static_cast<double>(size()));
            if (!m_rule.solve(sizes))
                return std::nullopt;
        }
        if (!m_rule.holds(sizes))
            return std::nullopt;
        OpSample out;
        visitAttributes(out.attributes, [&](const char* name, auto& value, const auto&) {
            for (std::size_t i = 0; i < names.size(); ++i)
                if (names[i] == std::string("@") + name)
                    value = static_cast<std::remove_reference_t<decltype(value)>>(sizes[i]);
        });
        const Shape leading { size(), size() };
        const Shape first { size(), size(), size() };
        const auto shapeOf = [&](const ShapeRule::Side& side) {
            const auto shape = ShapeRule::shapeOf(side, sizes, side.leading ? leading : Shape {});
            return side.broadcast ? first : shape.value_or(Shape {});
        };
        for (const ShapeRule::Side& side : m_rule.operands())
            out.operands.push_back(shapeOf(side));
        out.result = shapeOf(m_rule.result());
        return out;
    }

    bool isUsable(const OpSample& sample) const
    {
        std::int64_t largest = 0;
        for (const Shape& shape : sample.operands)
            largest = std::max(largest, elementCount(shape).value());
        largest = std::max(largest, elementCount(sample.result).value());
        if (largest > m_most || largest < m_most / 8)
            return false;
        const Mesh mesh = Mesh::parse("a=2").value();
        const auto rows = ruleOf(m_kind).rows(sample.operands, sample.result, PickerProfile::Shardboard);
        for (std::size_t row = 0; row < rows.size(); ++row)
            if (!chooseRows(rows, { row }, sample.operands, sample.result, mesh).fits)
                return false;
        return true;
    }

    OpKind m_kind;
    const ShapeRule& m_rule;
    std::int64_t m_most;
    std::mt19937 m_random;
};

} // namespace

std::optional<OpSample> sampleOf(OpKind kind, std::int64_t most)
{
    for (const ShapeRule::Side& operand : ruleOf(kind).shapes().operands())
        if (operand.name == "tokens" || operand.name == "targets" || operand.name == "sum")
            return std::nullopt;
    return Sampler(kind, most).any();
}

} // namespace shardboard::conformance
