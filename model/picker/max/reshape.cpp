// SPDX-License-Identifier: Apache-2.0
// The reshape rules (max-sharding 2.4), which depend on how the operand is cut when it arrives. G0 to G2 look for a target
// dim for each cut one after the other; G3 keeps all cuts or gathers. Ours has a row for every dim whose parts are parts
// of a target dim.
#include "model/picker/max/registry.h"

#include "model/core/checked.h"
#include "model/core/shards.h"
#include "model/picker/max/reshape267.h"
#include "model/picker/menu/transition.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace shardboard {

namespace {

constexpr const char* kMerged = "the parts of a dim that is merged into another are not contiguous in it";
constexpr const char* kNotWhole = "the parts are not a whole number of the target dim's elements";

/// A product of sizes: a number and names.
struct Product {
    std::int64_t number = 1;
    std::multiset<std::int64_t> names {};
    bool known = true; ///< false after an overflow

    void times(std::int64_t size)
    {
        if (isSymbol(size) || size == kWildcard) {
            names.insert(size);
        } else {
            const auto product = checkedMultiply(number, size);
            known = known && product;
            number = product.value_or(0);
        }
    }
    void times(const Product& other)
    {
        times(other.number);
        names.insert(other.names.begin(), other.names.end());
        known = known && other.known;
    }
    friend bool operator==(const Product& a, const Product& b)
    {
        return a.known && b.known && a.number == b.number && a.names == b.names;
    }
};

/// a / b, or nothing when it is no product of sizes.
std::optional<Product> quotient(const Product& a, const Product& b)
{
    if (!a.known || !b.known || b.number == 0 || a.number % b.number != 0
        || !std::includes(a.names.begin(), a.names.end(), b.names.begin(), b.names.end()))
        return std::nullopt;
    Product out;
    out.number = a.number / b.number;
    std::set_difference(a.names.begin(), a.names.end(), b.names.begin(), b.names.end(), std::inserter(out.names, out.names.end()));
    return out;
}

class Reshape {
public:
    explicit Reshape(const RuleQuestion& question)
        : m_question(question)
        , m_source(question.operands[0].shape)
        , m_target(question.attributes[0].dims)
    {
    }

    std::optional<Refusal> rows(Menu& menu)
    {
        if (auto refusal = prepare())
            return refusal;
        addRow(menu, replicatedPlacement(), replicatedPlacement());
        if (isEarly(m_question.profile))
            earlyRows(menu);
        else if (m_question.profile == PickerProfile::Max267)
            return addReshapeRows267(m_question, menu);
        else if (m_question.profile == PickerProfile::G3)
            lateRows(menu);
        else
            ourRows(menu);
        return std::nullopt;
    }

private:
    std::optional<Refusal> prepare()
    {
        const auto refuse = [](const std::string& reason, const std::string& fix) {
            return Refusal { UpstreamError::ValueError, "attrs.shape", reason, fix };
        };
        for (std::size_t k = 0; k < m_source.size(); ++k)
            m_whole.times(m_source[k]);
        Product others;
        std::int64_t plain = 1;
        for (std::size_t j = 0; j < m_target.size(); ++j) {
            const TargetDim& dim = m_target[j];
            m_dims.emplace_back();
            if (dim.sourceDims.empty() && dim.size == kWildcard) {
                if (m_wildcard >= 0)
                    return refuse("has more than one -1", "leave at most one dim open");
                m_wildcard = static_cast<int>(j);
                continue;
            }
            m_dims.back().times(dim.size);
            for (const int k : dim.sourceDims) {
                if (k < 0 || k >= static_cast<int>(m_source.size()))
                    return refuse("refers to dim " + std::to_string(k) + " of the operand, which it does not have",
                                  "the operand has " + std::to_string(m_source.size()) + " dims");
                m_dims.back().times(m_source[static_cast<std::size_t>(k)]);
            }
            others.times(m_dims.back());
            if (dim.size >= 0)
                plain = checkedMultiply(plain, dim.size).value_or(0);
        }
        m_solved = true;
        if (m_wildcard >= 0) {
            const auto rest = quotient(m_whole, others);
            m_solved = rest.has_value();
            m_dims[static_cast<std::size_t>(m_wildcard)] = rest.value_or(Product { 1, { kWildcard } });
            if (!rest && m_whole.names.empty() && others.names.empty() && m_whole.known && others.known)
                return refuse("does not divide the elements of the operand", "the rest for -1 must be a whole number");
        } else if (m_whole.names.empty() && others.names.empty() && m_whole.known && others.known && !(m_whole == others)) {
            return refuse("has another number of elements than the operand", "both must hold the same");
        }
        return std::nullopt;
    }

    void addRow(Menu& menu, const Placement& input, const Placement& output, const char* unsound = nullptr, bool stay = false,
                std::vector<WholeUnits> whole = {}) const
    {
        menu.rows.push_back(
            { .operands = { input }, .result = output, .conditions = std::move(whole), .stay = stay, .unsound = unsound });
    }

    const std::vector<Placement>& placements() const { return m_question.operands[0].placements; }
    bool cut(int k) const
    {
        return std::any_of(placements().begin(), placements().end(), [&](const Placement& p) { return p.shards(k); });
    }
    std::vector<int> distinctCuts() const
    {
        std::vector<int> out;
        for (const Placement& p : placements())
            if (p.sharded() && p.dim < static_cast<int>(m_source.size()) && std::find(out.begin(), out.end(), p.dim) == out.end())
                out.push_back(p.dim);
        return out;
    }
    /// A dim of the target that has a size per device, because it is taken from dims that are cut.
    bool perDevice(std::size_t j) const
    {
        const auto& dims = m_target[j].sourceDims;
        return std::any_of(dims.begin(), dims.end(), [&](int k) { return cut(k); });
    }

    // G0 to G2

    void earlyRows(Menu& menu) const
    {
        const std::vector<int> cuts = distinctCuts();
        for (const int k : cuts) {
            std::optional<int> to = byCells(k);
            if (!to)
                to = byStructure(k);
            if (!to && m_wildcard >= 0 && cuts.size() == 1)
                to = m_wildcard;
            if (to)
                addRow(menu, shardedPlacement(k), shardedPlacement(*to), whyUnsound(k, *to));
        }
        addRow(menu, partialPlacement(), partialPlacement());
        for (std::size_t j = 0; j < m_target.size(); ++j) {
            const std::int64_t size = m_target[j].size;
            if (perDevice(j) || (m_target[j].sourceDims.empty() && size == kWildcard))
                menu.outputLimits.push_back({ OutputLimit::Open, 0 });
            else if (!m_dims[j].names.empty())
                menu.outputLimits.push_back({ OutputLimit::Never, 0 });
            else
                menu.outputLimits.push_back({ OutputLimit::Sized, m_dims[j].number });
        }
    }

    /// The parts of a source dim over all mesh axes that cut it: sizes larger first, all but for names.
    std::int64_t cell(int k, std::int64_t device) const
    {
        const Mesh& mesh = m_question.mesh;
        std::int64_t parts = 1;
        std::int64_t at = 0;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            if (placements()[static_cast<std::size_t>(axis)].shards(k)) {
                parts *= mesh.axis(axis).size;
                at = at * mesh.axis(axis).size + mesh.coordinate(device, axis);
            }
        const std::int64_t size = m_source[static_cast<std::size_t>(k)];
        return size / parts + (at < size % parts ? 1 : 0);
    }

    /// Static sizes of a set of source dims on a device, and their names: a name that is cut stands for itself per device.
    std::pair<std::int64_t, std::multiset<std::int64_t>> cellProduct(const std::vector<int>& dims, std::int64_t factor,
                                                                     std::int64_t device) const
    {
        std::pair<std::int64_t, std::multiset<std::int64_t>> out { factor, {} };
        for (const int k : dims) {
            const std::int64_t size = m_source[static_cast<std::size_t>(k)];
            if (isStatic(size))
                out.first = checkedMultiply(out.first, cell(k, device)).value_or(0);
            else
                out.second.insert(cut(k) ? k : size); // places are not negative, names are
        }
        return out;
    }

    std::optional<int> byCells(int k) const
    {
        const int rank = static_cast<int>(m_source.size());
        std::vector<std::size_t> candidates;
        for (std::size_t j = 0; j < m_target.size(); ++j)
            if (perDevice(j))
                candidates.push_back(j);
        if (candidates.empty())
            return std::nullopt;
        std::vector<std::vector<int>> sets;
        for (std::uint32_t bits = 0; bits < std::uint32_t { 1 } << rank; ++bits) {
            if ((bits >> k & 1U) == 0)
                continue;
            std::vector<int> set;
            for (int d = 0; d < rank; ++d)
                if ((bits >> d & 1U) != 0)
                    set.push_back(d);
            sets.push_back(std::move(set));
        }
        std::sort(sets.begin(), sets.end(),
                  [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; });
        for (const auto& set : sets)
            for (const std::size_t j : candidates)
                if (sameCells(set, m_target[j]))
                    return static_cast<int>(j);
        return std::nullopt;
    }

    bool sameCells(const std::vector<int>& set, const TargetDim& target) const
    {
        for (std::int64_t device = 0; device < m_question.mesh.deviceCount(); ++device)
            if (cellProduct(set, 1, device) != cellProduct(target.sourceDims, target.size, device))
                return false;
        return true;
    }

    /// What MAX 26.6 takes for the size of a dim when it looks whether a reshape changes anything: its parts on all devices
    /// together, which is more than the size where a mesh axis does not cut it.
    Product summed(std::size_t d) const
    {
        const std::int64_t size = m_source[d];
        if (!isStatic(size))
            return {};
        const std::int64_t parts = partsOver(placements(), static_cast<int>(d), m_question.mesh);
        return { parts == 1 && !cut(static_cast<int>(d)) ? size : size * (m_question.mesh.deviceCount() / parts) };
    }

    std::optional<int> byStructure(int k) const
    {
        if (m_target.size() == m_source.size()) {
            bool equal = true;
            for (std::size_t d = 0; d < m_source.size(); ++d) {
                Product size;
                size.times(m_source[d]);
                if (m_question.profile == PickerProfile::Max266)
                    size = summed(d);
                equal = equal && m_dims[d] == size && static_cast<int>(d) != m_wildcard;
            }
            if (equal)
                return k;
        }
        // names count as 1, the -1 as what is left
        const auto counted = [&](std::size_t d) {
            const std::int64_t size = m_source[d];
            if (!isStatic(size))
                return std::int64_t { 1 };
            // MAX 26.6 takes the first part times the number of parts for the size of a dim that is cut
            const std::int64_t parts =
                m_question.profile == PickerProfile::Max266 ? partsOver(placements(), static_cast<int>(d), m_question.mesh) : 1;
            return (size / parts + (size % parts != 0)) * parts;
        };
        std::int64_t total = 1;
        for (std::size_t d = 0; d < m_source.size(); ++d)
            total = checkedMultiply(total, counted(d)).value_or(-1);
        std::int64_t given = 1;
        for (std::size_t j = 0; j < m_target.size(); ++j)
            if (static_cast<int>(j) != m_wildcard)
                given = checkedMultiply(given, m_dims[j].number).value_or(-1);
        if (total <= 0 || given <= 0 || total % given != 0 || (m_wildcard < 0 && total != given))
            return std::nullopt;
        std::int64_t from = 1;
        for (int d = 0; d < k; ++d)
            from *= counted(static_cast<std::size_t>(d));
        const std::int64_t to = from * counted(static_cast<std::size_t>(k));
        std::int64_t lower = 1;
        for (std::size_t j = 0; j < m_target.size(); ++j) {
            const std::int64_t upper = lower * (static_cast<int>(j) == m_wildcard ? total / given : m_dims[j].number);
            if (upper > from) {
                if (lower >= to)
                    return std::nullopt;
                const bool inside = lower >= from && upper <= to;
                const bool contains = lower <= from && upper >= to;
                return inside || contains ? std::optional<int>(static_cast<int>(j)) : std::nullopt;
            }
            lower = upper;
        }
        return std::nullopt;
    }

    const char* whyUnsound(int k, int j) const
    {
        if (!samePlace(k, j))
            return kMerged;
        return converts(k, j) ? nullptr : kNotWhole;
    }

    // G3

    /// As many elements before both dims; behind them where a -1 comes before the target dim and cannot be solved.
    bool samePlace(int k, int j) const
    {
        const bool behind = m_wildcard >= 0 && m_wildcard < j && !m_solved;
        Product a;
        Product b;
        for (int d = behind ? k + 1 : 0; d < (behind ? static_cast<int>(m_source.size()) : k); ++d)
            a.times(m_source[static_cast<std::size_t>(d)]);
        for (int d = behind ? j + 1 : 0; d < (behind ? static_cast<int>(m_target.size()) : j); ++d)
            b.times(m_dims[static_cast<std::size_t>(d)]);
        return a == b;
    }

    /// Whether every part of the source dim is a whole number of elements of the target dim.
    bool converts(int k, int j) const
    {
        Product source;
        source.times(m_source[static_cast<std::size_t>(k)]);
        const Product& target = m_dims[static_cast<std::size_t>(j)];
        if (quotient(target, source))
            return true; // every element of the source dim is a whole number of them
        if (!source.names.empty() || !target.names.empty() || !target.known || source.number == 0)
            return false;
        // larger part ⌈K/g⌉, smaller ⌊K/g⌋: both must convert when there are such
        std::int64_t parts = 1;
        for (std::size_t axis = 0; axis < placements().size(); ++axis)
            if (placements()[axis].shards(k))
                parts *= m_question.mesh.axis(static_cast<int>(axis)).size;
        const std::int64_t small = source.number / parts;
        const std::int64_t common = std::gcd(target.number, source.number);
        const std::int64_t step = source.number / common; // elements of the source dim that are whole in the target
        return small % step == 0 && (source.number % parts == 0 || (small + 1) % step == 0);
    }

    bool bareName(int j) const
    {
        const TargetDim& dim = m_target[static_cast<std::size_t>(j)];
        return dim.sourceDims.empty() && isSymbol(dim.size);
    }

    std::optional<int> targetOf(int k, bool exact) const
    {
        const Product one {};
        for (int j = 0; j < static_cast<int>(m_target.size()); ++j)
            if (!(m_dims[static_cast<std::size_t>(j)] == one) && samePlace(k, j) && !bareName(j) && (!exact || converts(k, j)))
                return j;
        return std::nullopt;
    }

    void lateRows(Menu& menu) const
    {
        std::vector<std::pair<int, int>> kept;
        std::set<int> taken;
        bool fits = true;
        for (const int k : distinctCuts()) {
            const auto to = targetOf(k, true);
            fits = fits && to && taken.insert(*to).second;
            if (fits)
                kept.emplace_back(k, *to);
        }
        const bool partial = std::any_of(placements().begin(), placements().end(), [](const Placement& p) { return p.partial(); });
        if (!fits || kept.empty()) {
            if (partial)
                addRow(menu, partialPlacement(), partialPlacement());
            return;
        }
        menu.rows.front().stay = true;
        for (const auto& [k, to] : kept)
            addRow(menu, shardedPlacement(k), shardedPlacement(to), nullptr, true);
        if (partial)
            addRow(menu, partialPlacement(), partialPlacement(), nullptr, true);
    }

    // ours

    void ourRows(Menu& menu) const
    {
        for (int k = 0; k < static_cast<int>(m_source.size()); ++k) {
            const std::int64_t size = m_source[static_cast<std::size_t>(k)];
            const auto to = size == 1 ? std::nullopt : targetOf(k, false);
            if (!to)
                continue;
            const Product& target = m_dims[static_cast<std::size_t>(*to)];
            Product source;
            source.times(size);
            if (target == source) {
                addRow(menu, shardedPlacement(k), shardedPlacement(*to));
                continue;
            }
            if (!quotient(target, source) && (!source.names.empty() || !target.names.empty() || !target.known))
                continue;
            std::vector<WholeUnits> whole;
            if (source.names.empty())
                whole.push_back({ 0, k, size });
            if (source.names.empty() && target.names.empty())
                whole.push_back({ 0, k, target.number });
            addRow(menu, shardedPlacement(k), shardedPlacement(*to), nullptr, false, std::move(whole));
        }
        addRow(menu, partialPlacement(), partialPlacement());
    }

    const RuleQuestion& m_question;
    const Shape& m_source;
    const std::vector<TargetDim>& m_target;
    Product m_whole;
    std::vector<Product> m_dims; ///< of the target
    int m_wildcard = -1;
    bool m_solved = true; ///< the -1 is known
};

std::optional<Refusal> reshapeRows(const RuleQuestion& question, Menu& menu) { return Reshape(question).rows(menu); }

} // namespace

std::span<const OpFamily> reshapeFamilies()
{
    static const std::vector<OpFamily> table {
        { .name = "reshape", .aliases = { "view" }, .attributes = { { "shape", AttributeKind::Dims } }, .code = reshapeRows },
    };
    return table;
}

} // namespace shardboard
