// SPDX-License-Identifier: Apache-2.0
#include "model/plan/planner/pickmemo.h"

#include <utility>

namespace shardboard {

namespace {

/// Of kind, shapes and layouts; what else must be equal is left to the comparison.
class Hash {
public:
    Hash(OpKind kind, const std::vector<PickOperand>& operands, const Shape& result)
    {
        add(static_cast<std::size_t>(kind));
        add(result);
        for (const PickOperand& operand : operands) {
            add(operand.shape);
            for (const auto& dim : operand.layout.dims)
                add(dim);
            add(operand.layout.partial);
        }
    }
    std::size_t value() const { return m_value; }

private:
    void add(std::size_t part) { m_value = (m_value ^ part) * std::size_t { 0x9E3779B97F4A7C15 } + (m_value >> 29); }
    void add(const Shape& shape)
    {
        add(shape.size());
        for (const std::int64_t size : shape)
            add(static_cast<std::size_t>(size));
    }
    void add(const std::vector<AxisRef>& refs)
    {
        add(refs.size());
        for (const AxisRef& ref : refs)
            add(static_cast<std::size_t>(ref.axis));
    }
    std::size_t m_value = 0;
};

} // namespace

const Pick* PickMemo::find(OpKind kind, const std::vector<PickOperand>& operands, const Shape& result,
                           const std::vector<AxisPin>& pins) const
{
    const auto [begin, end] = m_entries.equal_range(Hash(kind, operands, result).value());
    for (auto it = begin; it != end; ++it)
        if (const Entry& entry = it->second;
            entry.kind == kind && entry.operands == operands && entry.result == result && entry.pins == pins)
            return &entry.pick;
    return nullptr;
}

const Pick& PickMemo::add(OpKind kind, std::vector<PickOperand> operands, const Shape& result, std::vector<AxisPin> pins, Pick pick)
{
    const std::size_t hash = Hash(kind, operands, result).value();
    return m_entries.emplace(hash, Entry { kind, std::move(operands), result, std::move(pins), std::move(pick) })->second.pick;
}

} // namespace shardboard
