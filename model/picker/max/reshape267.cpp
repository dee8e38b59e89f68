// SPDX-License-Identifier: Apache-2.0
#include "model/picker/max/reshape267.h"

#include "model/core/checked.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardboard {

namespace {

/// A size that a device or the whole tensor has: a number and names. A name that is cut is one of its own for each part of it.
struct Term {
    std::int64_t number = 1;
    std::multiset<std::pair<std::int64_t, std::int64_t>> names {}; ///< the name, and which part of it; -1: whole
    bool known = true; ///< false where it is no product, or too large

    bool plain() const { return names.empty(); }
    Term& operator*=(const Term& other)
    {
        const auto product = checkedMultiply(number, other.number);
        known = known && other.known && product;
        number = product.value_or(0);
        names.insert(other.names.begin(), other.names.end());
        if (number == 0)
            names.clear();
        return *this;
    }
    friend bool operator==(const Term& a, const Term& b)
    {
        return a.known && b.known && a.number == b.number && a.names == b.names;
    }
};

using Terms = std::vector<Term>;

Term product(const Terms& terms, std::size_t from, std::size_t to, std::size_t without = ~std::size_t { 0 })
{
    Term out;
    for (std::size_t i = from; i < to; ++i)
        if (i != without)
            out *= terms[i];
    return out;
}

/// `a` / `b`; not known where it is no product.
Term quotient(const Term& a, const Term& b)
{
    if (!a.known || !b.known || b.number == 0 || a.number % b.number != 0
        || !std::includes(a.names.begin(), a.names.end(), b.names.begin(), b.names.end()))
        return { .known = false };
    Term out { a.number / b.number };
    std::set_difference(a.names.begin(), a.names.end(), b.names.begin(), b.names.end(), std::inserter(out.names, out.names.end()));
    return out;
}

/// size × above / below, where it is certainly a whole number.
std::optional<Term> scaled(const Term& size, const Term& above, const Term& below)
{
    if (above == below)
        return size;
    if (!above.known || !below.known || !above.plain() || !below.plain() || below.number == 0)
        return std::nullopt;
    Term out = size;
    if (size.plain()) {
        const auto whole = checkedMultiply(size.number, above.number);
        if (!whole || *whole % below.number != 0)
            return std::nullopt;
        out.number = *whole / below.number;
        return out;
    }
    if (above.number % below.number != 0)
        return std::nullopt;
    out *= Term { above.number / below.number };
    return out;
}

const Term kOpen { -1 };

class Reshape267 {
public:
    explicit Reshape267(const RuleQuestion& question)
        : m_question(question)
    {
        const Shape& source = question.operands[0].shape;
        for (const std::int64_t size : source)
            m_whole.push_back(global(size));
        for (const TargetDim& dim : question.attributes[0].dims) {
            if (dim.sourceDims.empty() && dim.size == kWildcard)
                m_open = m_target.size();
            m_target.push_back(dim.sourceDims.empty() && dim.size == kWildcard ? kOpen : ofTarget(dim, m_whole));
            m_perDevice.push_back(std::ranges::find_if(dim.sourceDims, [&](int k) { return cut(k); }) != dim.sourceDims.end());
        }
        for (int k = 0; k < static_cast<int>(source.size()); ++k)
            if (cut(k))
                m_cuts.push_back(k);
        // devices with the same parts of all dims are alike
        std::map<std::vector<std::int64_t>, std::size_t> seen;
        for (std::int64_t device = 0; device < question.mesh.deviceCount(); ++device) {
            std::vector<std::int64_t> parts;
            for (const int k : m_cuts)
                parts.push_back(partOf(k, device).first);
            if (seen.emplace(parts, seen.size()).second)
                m_local.push_back(localOf(device));
        }
    }

    std::optional<Refusal> rows(Menu& menu)
    {
        std::vector<Terms> targets = localTargets();
        if (const auto to = kept(targets)) {
            menu.rows.clear();
            addPassThrough(m_question, menu, [&](const std::vector<Placement>& placed) -> std::optional<Placement> {
                return placed[0].sharded() ? shardedPlacement(to->at(placed[0].dim)) : placed[0];
            });
            return std::nullopt;
        }
        const bool perDevice = std::ranges::find(m_perDevice, true) != m_perDevice.end();
        const Terms whole = resolved(m_whole, m_target);
        if (perDevice || !(product(m_whole, 0, m_whole.size()) == product(whole, 0, whole.size())))
            return Refusal { UpstreamError::ShardingError, "attrs.shape",
                             "the parts of the operand do not become parts of the target, and the whole of it does not become the "
                             "target either",
                             "give the sizes of the whole target, or reshard the operand first" };
        const auto& placed = m_question.operands[0].placements;
        if (std::ranges::find(placed, partialPlacement()) != placed.end())
            menu.rows.push_back({ .operands = { partialPlacement() }, .result = partialPlacement() });
        return std::nullopt;
    }

private:
    static Term global(std::int64_t size) { return isStatic(size) ? Term { size } : Term { 1, { { size, -1 } } }; }
    static Term ofTarget(const TargetDim& dim, const Terms& source)
    {
        Term out = global(dim.size);
        for (const int k : dim.sourceDims)
            out *= source[static_cast<std::size_t>(k)];
        return out;
    }
    bool cut(int k) const
    {
        const auto& placed = m_question.operands[0].placements;
        return std::ranges::find_if(placed, [&](const Placement& p) { return p.shards(k); }) != placed.end();
    }
    /// Which part of a dim a device has, and of how many.
    std::pair<std::int64_t, std::int64_t> partOf(int k, std::int64_t device) const
    {
        std::pair<std::int64_t, std::int64_t> out { 0, 1 };
        for (int axis = 0; axis < m_question.mesh.axisCount(); ++axis)
            if (m_question.operands[0].placements[static_cast<std::size_t>(axis)].shards(k)) {
                const std::int64_t size = m_question.mesh.axis(axis).size;
                out = { out.first * size + m_question.mesh.coordinate(device, axis), out.second * size };
            }
        return out;
    }
    Terms localOf(std::int64_t device) const
    {
        Terms out = m_whole;
        for (const int k : m_cuts) {
            const auto [at, parts] = partOf(k, device);
            const std::int64_t size = m_question.operands[0].shape[static_cast<std::size_t>(k)];
            out[static_cast<std::size_t>(k)] =
                isStatic(size) ? Term { size / parts + (at < size % parts) } : Term { 1, { { size, at } } };
        }
        return out;
    }

    /// The target on every device; afterwards `m_perDevice` tells which dims have a size for each.
    std::vector<Terms> localTargets()
    {
        std::vector<Terms> plain;
        for (const Terms& local : m_local) {
            plain.push_back(m_target);
            for (std::size_t j = 0; j < m_target.size(); ++j)
                if (m_perDevice[j])
                    plain.back()[j] = ofTarget(m_question.attributes[0].dims[j], local);
        }
        std::vector<std::pair<std::size_t, std::size_t>> met; // a dim that is cut, and the target's
        for (const int cutDim : m_cuts) {
            const auto k = static_cast<std::size_t>(cutDim);
            const auto j = meeting(k);
            if (!j || std::ranges::find_if(met, [&](const auto& pair) { return pair.second == *j; }) != met.end())
                return plain;
            met.emplace_back(k, *j);
        }
        if (met.empty())
            return plain;
        std::vector<Terms> out = plain;
        for (std::size_t device = 0; device < m_local.size(); ++device) {
            Terms& target = out[device];
            for (const auto& [k, j] : met) {
                const Term& local = m_local[device][k];
                const auto size = !m_open || *m_open <= j
                    ? scaled(local, product(m_whole, k + 1, m_whole.size()), product(m_target, j + 1, m_target.size()))
                    : scaled(local, m_target[j], m_whole[k]);
                if (!size)
                    return plain;
                target[j] = *size;
            }
            const bool openMet =
                m_open && std::ranges::find_if(met, [&](const auto& pair) { return pair.second == *m_open; }) != met.end();
            if (m_open && !openMet)
                if (const auto size =
                        scaled(Term {}, product(m_whole, 0, m_whole.size()), product(m_target, 0, m_target.size(), *m_open)))
                    target[*m_open] = *size;
        }
        for (const auto& [k, j] : met)
            m_perDevice[j] = true;
        return out;
    }

    /// The first dim of the target, not of size 1, with as many elements before it; behind it where the open dim comes first.
    std::optional<std::size_t> meeting(std::size_t k) const
    {
        for (std::size_t j = 0; j < m_target.size(); ++j) {
            if (m_target[j] == Term {})
                continue;
            const bool same = !m_open || *m_open >= j
                ? product(m_whole, 0, k) == product(m_target, 0, j)
                : product(m_whole, k, m_whole.size()) == product(m_target, j, m_target.size());
            if (same)
                return j;
        }
        return std::nullopt;
    }

    Terms resolved(const Terms& source, const Terms& target) const
    {
        Terms out = target;
        const auto open = std::ranges::find(target, kOpen);
        if (open == target.end())
            return out;
        const auto at = static_cast<std::size_t>(open - target.begin());
        const Term others = product(target, 0, target.size(), at);
        if (!(others == Term { 0 }))
            out[at] = quotient(product(source, 0, source.size()), others);
        return out;
    }

    /// The target's dim of every dim that is cut, where every device's part becomes its part of the target.
    std::optional<std::map<int, int>> kept(std::vector<Terms> targets) const
    {
        for (std::size_t device = 0; device < m_local.size(); ++device) {
            const Terms& source = m_local[device];
            targets[device] = resolved(source, targets[device]);
            if (!(product(source, 0, source.size()) == product(targets[device], 0, targets[device].size())))
                return std::nullopt;
        }
        std::map<int, int> out;
        std::vector<bool> taken(m_target.size());
        for (const int k : m_cuts) {
            std::vector<std::size_t> candidates;
            for (std::size_t j = 0; j < m_target.size(); ++j) {
                bool same = m_perDevice[j];
                for (std::size_t device = 0; same && device < m_local.size(); ++device)
                    same = product(m_local[device], 0, static_cast<std::size_t>(k)) == product(targets[device], 0, j);
                if (same)
                    candidates.push_back(j);
            }
            if (candidates.size() != 1 || taken[candidates.front()])
                return std::nullopt;
            taken[candidates.front()] = true;
            out[k] = static_cast<int>(candidates.front());
        }
        const auto& placed = m_question.operands[0].placements;
        if (std::ranges::find(placed, unknownPlacement()) == placed.end())
            for (std::size_t j = 0; j < m_target.size(); ++j)
                for (const Terms& target : targets)
                    if (!taken[j] && !(target[j] == targets.front()[j]))
                        return std::nullopt;
        return out;
    }

    const RuleQuestion& m_question;
    Terms m_whole; ///< the operand's sizes
    Terms m_target; ///< the target's, as a whole
    std::vector<bool> m_perDevice; ///< dims of the target with a size for each device
    std::optional<std::size_t> m_open;
    std::vector<int> m_cuts;
    std::vector<Terms> m_local; ///< of each kind of device
};

} // namespace

std::optional<Refusal> addReshapeRows267(const RuleQuestion& question, Menu& menu) { return Reshape267(question).rows(menu); }

} // namespace shardboard
