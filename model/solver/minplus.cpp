// SPDX-License-Identifier: Apache-2.0
#include "model/solver/minplus.h"

#include "model/solver/narrowed.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

namespace shardboard::minplus {

namespace {

using Factor = CostNetwork::Factor;

std::size_t entries(const std::vector<int>& sizes, const std::vector<int>& nodes)
{
    std::size_t out = 1;
    for (const int node : nodes) {
        const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(node)]);
        if (out > std::numeric_limits<std::size_t>::max() / std::max<std::size_t>(1, size))
            return std::numeric_limits<std::size_t>::max();
        out *= size;
    }
    return out;
}

/// What an index of each node adds to the place in a table.
std::vector<std::size_t> strides(const std::vector<int>& sizes, const Factor& factor, const std::vector<int>& of)
{
    std::vector<std::size_t> out(of.size(), 0);
    std::size_t stride = 1;
    for (std::size_t i = factor.nodes.size(); i-- > 0;) {
        const auto place = std::ranges::find(of, factor.nodes[i]) - of.begin();
        if (place < std::ssize(of))
            out[static_cast<std::size_t>(place)] = stride;
        stride *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(factor.nodes[i])]);
    }
    return out;
}

std::size_t placeOf(const std::vector<int>& sizes, const Factor& factor, const std::vector<int>& values)
{
    std::size_t place = 0;
    for (const int node : factor.nodes)
        place = place * static_cast<std::size_t>(sizes[static_cast<std::size_t>(node)])
            + static_cast<std::size_t>(values[static_cast<std::size_t>(node)]);
    return place;
}

/// The sum of factors over `nodes`, which are all of theirs.
Factor joined(const std::vector<int>& sizes, const std::vector<Factor>& factors, std::vector<int> nodes)
{
    Factor out { std::move(nodes), {} };
    out.costs.assign(entries(sizes, out.nodes), 0);
    std::vector<int> index(out.nodes.size(), 0);
    for (const Factor& factor : factors) {
        const auto step = strides(sizes, factor, out.nodes);
        std::ranges::fill(index, 0);
        std::size_t from = 0;
        for (double& cost : out.costs) {
            cost += factor.costs[from];
            for (std::size_t i = index.size(); i-- > 0;) {
                from += step[i];
                if (++index[i] < sizes[static_cast<std::size_t>(out.nodes[i])])
                    break;
                from -= step[i] * static_cast<std::size_t>(index[i]);
                index[i] = 0;
            }
        }
    }
    return out;
}

class Elimination {
public:
    Elimination(const std::vector<int>& sizes, const LeastOptions& options, LeastCost& out)
        : m_sizes(sizes)
        , m_options(options)
        , m_out(out)
    {
    }

    /// Finds what costs less than `upper`, and sets `values` of the nodes given then. A lower bound of what the factors sum to.
    double run(std::vector<Factor> factors, std::vector<int> nodes, double upper, std::vector<int>& values, double& cost)
    {
        std::vector<std::pair<int, std::vector<Factor>>> gone; // with what they depended on
        double constant = 0;
        while (!nodes.empty()) {
            if (stopped()) {
                cost = kNever;
                return constant + minima(factors);
            }
            const auto next = cheapest(factors, nodes);
            if (!next)
                break;
            const int node = *next;
            std::erase(nodes, node);
            std::vector<Factor> bucket;
            std::vector<Factor> others;
            for (Factor& factor : factors)
                (std::ranges::find(factor.nodes, node) != factor.nodes.end() ? bucket : others).push_back(std::move(factor));
            Factor product = eliminated(bucket, node);
            if (product.nodes.empty())
                constant += product.costs.front();
            else
                others.push_back(std::move(product));
            factors = std::move(others);
            gone.emplace_back(node, std::move(bucket));
        }
        double bound = constant;
        bool found = true;
        if (nodes.empty()) {
            cost = constant;
            found = constant < upper;
        } else {
            double rest = kNever;
            bound += branch(factors, nodes, upper - constant, values, rest);
            cost = constant + rest;
            found = rest < kNever;
        }
        if (!found) {
            cost = kNever;
            return bound;
        }
        for (auto it = gone.rbegin(); it != gone.rend(); ++it)
            values[static_cast<std::size_t>(it->first)] = bestOf(it->second, it->first, values);
        return bound;
    }

private:
    bool stopped() const { return m_options.stopped(); }

    /// The nodes that the factors of a node have beside it.
    std::vector<int> neighbours(const std::vector<Factor>& factors, int node) const
    {
        std::vector<int> out;
        for (const Factor& factor : factors)
            if (std::ranges::find(factor.nodes, node) != factor.nodes.end())
                for (const int other : factor.nodes)
                    if (other != node && std::ranges::find(out, other) == out.end())
                        out.push_back(other);
        std::ranges::sort(out);
        return out;
    }

    std::optional<int> cheapest(const std::vector<Factor>& factors, const std::vector<int>& nodes) const
    {
        std::optional<int> best;
        std::size_t least = m_options.largestTable + 1;
        for (const int node : nodes) {
            std::vector<int> all = neighbours(factors, node);
            all.push_back(node);
            if (const std::size_t size = entries(m_sizes, all); size < least) {
                least = size;
                best = node;
            }
        }
        return best;
    }

    Factor eliminated(const std::vector<Factor>& bucket, int node)
    {
        std::vector<int> rest = neighbours(bucket, node);
        m_out.width = std::max(m_out.width, static_cast<int>(rest.size()));
        m_out.table = std::max(m_out.table, entries(m_sizes, rest));
        const auto size = static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(node)]);
        if (rest.size() == 2)
            return product(bucket, node, rest[0], rest[1]);
        std::vector<int> all = rest;
        all.push_back(node);
        const Factor whole = joined(m_sizes, bucket, all);
        Factor out { std::move(rest), {} };
        out.costs.reserve(whole.costs.size() / size);
        for (std::size_t at = 0; at < whole.costs.size(); at += size)
            out.costs.push_back(*std::min_element(whole.costs.begin() + static_cast<std::ptrdiff_t>(at),
                                                  whole.costs.begin() + static_cast<std::ptrdiff_t>(at + size)));
        return out;
    }

    /// A min-plus product of two matrices. Factors of three nodes at once are joined first, as are those of one.
    Factor product(const std::vector<Factor>& bucket, int node, int a, int b) const
    {
        std::vector<Factor> left;
        std::vector<Factor> right;
        std::vector<Factor> three;
        for (const Factor& factor : bucket) {
            const bool hasA = std::ranges::find(factor.nodes, a) != factor.nodes.end();
            const bool hasB = std::ranges::find(factor.nodes, b) != factor.nodes.end();
            (hasA && hasB ? three : hasB ? right : left).push_back(factor);
        }
        const Factor from = joined(m_sizes, left, { a, node });
        const auto rows = static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(a)]);
        const auto columns = static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(b)]);
        const auto inner = static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(node)]);
        Factor out { { a, b }, std::vector<double>(rows * columns, kNever) };
        Factor to = joined(m_sizes, right, { node, b });
        const Factor both = three.empty() ? Factor {} : joined(m_sizes, three, { a, node, b });
        for (std::size_t i = 0; i < rows; ++i) {
            double* row = out.costs.data() + i * columns;
            for (std::size_t k = 0; k < inner; ++k) {
                const double first = from.costs[i * inner + k];
                if (first == kNever)
                    continue;
                const double* second = to.costs.data() + k * columns;
                if (both.costs.empty()) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        const double sum = first + second[j];
                        row[j] = sum < row[j] ? sum : row[j];
                    }
                    continue;
                }
                const double* third = both.costs.data() + (i * inner + k) * columns;
                for (std::size_t j = 0; j < columns; ++j) {
                    const double sum = first + second[j] + third[j];
                    row[j] = sum < row[j] ? sum : row[j];
                }
            }
        }
        return out;
    }

    int bestOf(const std::vector<Factor>& bucket, int node, std::vector<int>& values) const
    {
        int best = 0;
        double least = kNever;
        for (int value = 0; value < m_sizes[static_cast<std::size_t>(node)]; ++value) {
            values[static_cast<std::size_t>(node)] = value;
            double cost = 0;
            for (const Factor& factor : bucket)
                cost += factor.costs[placeOf(m_sizes, factor, values)];
            if (cost < least) {
                least = cost;
                best = value;
            }
        }
        return best;
    }

    /// The factors with one node at a value.
    std::vector<Factor> fixed(const std::vector<Factor>& factors, int node, int value) const
    {
        std::vector<Factor> out;
        for (const Factor& factor : factors) {
            const auto at = std::ranges::find(factor.nodes, node) - factor.nodes.begin();
            if (at == std::ssize(factor.nodes)) {
                out.push_back(factor);
                continue;
            }
            Factor part;
            std::size_t inner = 1;
            for (std::size_t i = 0; i < factor.nodes.size(); ++i) {
                if (static_cast<std::ptrdiff_t>(i) > at)
                    inner *= static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(factor.nodes[i])]);
                if (static_cast<std::ptrdiff_t>(i) != at)
                    part.nodes.push_back(factor.nodes[i]);
            }
            const std::size_t block = inner * static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(node)]);
            for (std::size_t from = static_cast<std::size_t>(value) * inner; from < factor.costs.size(); from += block)
                part.costs.insert(part.costs.end(), factor.costs.begin() + static_cast<std::ptrdiff_t>(from),
                                  factor.costs.begin() + static_cast<std::ptrdiff_t>(from + inner));
            out.push_back(std::move(part));
        }
        return out;
    }

    static double minima(const std::vector<Factor>& factors)
    {
        double sum = 0;
        for (const Factor& factor : factors)
            sum += std::ranges::min(factor.costs);
        return sum;
    }

    /// Tries the values of the node that is in most factors, the most promising first. A lower bound of the factors' sum.
    double branch(const std::vector<Factor>& factors, const std::vector<int>& nodes, double upper, std::vector<int>& values,
                  double& cost)
    {
        const auto count = [&](int node) {
            return std::ranges::count_if(factors,
                                         [node](const Factor& f) { return std::ranges::find(f.nodes, node) != f.nodes.end(); });
        };
        const int node = *std::ranges::max_element(nodes, {}, count);
        std::vector<int> rest = nodes;
        std::erase(rest, node);
        std::vector<std::pair<double, int>> order;
        for (int value = 0; value < m_sizes[static_cast<std::size_t>(node)]; ++value)
            order.emplace_back(minima(fixed(factors, node, value)), value);
        std::ranges::sort(order);
        double bound = kNever;
        for (const auto& [floor, value] : order) {
            if (floor >= upper || stopped()) {
                bound = std::min(bound, floor);
                continue;
            }
            ++m_out.tried;
            std::vector<Factor> part = fixed(factors, node, value);
            double constant = 0;
            std::erase_if(part, [&](const Factor& factor) {
                if (!factor.nodes.empty())
                    return false;
                constant += factor.costs.front();
                return true;
            });
            std::vector<int> tried = values;
            double found = kNever;
            const double least = constant + run(std::move(part), rest, upper - constant, tried, found);
            bound = std::min(bound, std::max(floor, least));
            if (constant + found < upper) {
                upper = cost = constant + found;
                values = tried;
                values[static_cast<std::size_t>(node)] = value;
            }
        }
        return bound;
    }

    const std::vector<int>& m_sizes;
    const LeastOptions& m_options;
    LeastCost& m_out;
};

} // namespace

namespace {

LeastCost eliminated(const CostNetwork& network, const LeastOptions& options)
{
    LeastCost out;
    std::vector<Factor> factors;
    double constant = 0;
    for (const Factor& factor : network.factors)
        if (factor.nodes.empty())
            constant += factor.costs.front();
        else
            factors.push_back(factor);
    std::vector<int> nodes(network.sizes.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::vector<int> values(network.sizes.size(), 0);
    if (std::ranges::any_of(network.sizes, [](int size) { return size == 0; })) {
        out.bound = kNever;
        return out;
    }
    Elimination elimination(network.sizes, options, out);
    out.bound = constant + elimination.run(std::move(factors), nodes, options.upper - constant, values, out.cost);
    out.cost += constant;
    if (out.cost < kNever)
        out.values = std::move(values);
    return out;
}

} // namespace

LeastCost least(const CostNetwork& network, const LeastOptions& options)
{
    std::size_t size = 0;
    for (const Factor& factor : network.factors)
        size += factor.costs.size();
    const bool narrow = size >= options.narrowFrom || network.exact;
    if (!narrow || std::ranges::any_of(network.sizes, [](int n) { return n == 0; }))
        return eliminated(network, options);
    const Narrowed few = narrowed(network, options);
    if (std::ranges::any_of(few.kept, [](const std::vector<int>& kept) { return kept.empty(); })) {
        LeastCost out;
        out.bound = few.bound;
        return out;
    }
    if (network.exact && options.stopped()) { // pricing what is left takes longer than the rounds did
        const double cost = few.values.empty() ? kNever : few.cost;
        return { few.values, cost, std::min(few.bound, cost) };
    }
    LeastOptions inner = options;
    inner.upper = std::min(options.upper, few.cost); // elimination has to be better than what is known
    LeastCost out = eliminated(few.of(network), inner);
    const bool better = !out.values.empty();
    out.bound = std::max(few.bound, better ? out.bound : std::min(out.bound, inner.upper));
    out.values = better ? few.original(out.values) : few.cost < options.upper ? few.values : std::vector<int> {};
    out.cost = out.values.empty() ? kNever : costOf(network, out.values);
    out.bound = std::min(out.bound, out.cost);
    return out;
}

double costOf(const CostNetwork& network, const std::vector<int>& values)
{
    double sum = 0;
    for (std::size_t f = 0; f < network.factors.size(); ++f) {
        const std::size_t place = placeOf(network.sizes, network.factors[f], values);
        sum += network.exact ? network.exact(f, place) : network.factors[f].costs[place];
    }
    return sum;
}

} // namespace shardboard::minplus
