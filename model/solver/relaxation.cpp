// SPDX-License-Identifier: Apache-2.0
#include "model/solver/relaxation.h"

#include "model/solver/index.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardboard::solver {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr EliminationLimits kLimits { 2e5, 2 };

std::vector<int> allNodes(const Network& network)
{
    std::vector<int> out(at(network.nodes()));
    std::iota(out.begin(), out.end(), 0);
    return out;
}

} // namespace

void addPrices(const Network& network, const std::vector<double>& prices, std::vector<double>& costs)
{
    std::vector<double> sums(prices.size() + 1, 0.0);
    std::partial_sum(prices.begin(), prices.end(), sums.begin() + 1);
    costs.resize(network.cost.size());
    for (int node = 0; node < network.nodes(); ++node) {
        const double price = sums[at(network.until[at(node)])] - sums[at(network.from[at(node)])];
        for (std::size_t s = network.first[at(node)]; s < network.first[at(node) + 1]; ++s)
            costs[s] = network.cost[s] + price * static_cast<double>(network.usage[s]);
    }
}

Relaxation::Relaxation(const Network& network)
    : m_network(network)
    , m_all(allNodes(network))
    , m_elimination(network, m_all, kLimits, Elimination::Rest::Open, m_random)
    , m_pairsOf(m_all.size())
    , m_ends(m_all.size())
    , m_weight(m_all.size(), 1.0)
    , m_choice(m_all.size(), 0)
{
    std::vector<char> gone(m_all.size(), 0);
    for (const int node : m_elimination.solved())
        gone[at(node)] = 1;
    std::ranges::copy_if(m_all, std::back_inserter(m_left), [&](int node) { return !gone[at(node)]; });
    findPairs();
    int most = 0;
    for (const int node : m_left) {
        const auto before = std::ranges::count_if(m_ends[at(node)], [&](const End& end) { return end.other < node; });
        const auto after = static_cast<std::ptrdiff_t>(m_ends[at(node)].size()) - before;
        m_weight[at(node)] = 1.0 / static_cast<double>(std::max({ before, after, std::ptrdiff_t { 1 } }));
        most = std::max(most, network.k(node));
    }
    m_sum.resize(at(most));
    m_value.resize(at(most));
}

std::size_t Relaxation::pairOf(int a, int b)
{
    for (const std::size_t pair : m_pairsOf[at(a)])
        if (m_pairs[pair].b == b)
            return pair;
    m_pairsOf[at(a)].push_back(m_pairs.size());
    m_pairs.push_back({ a, b });
    m_link.push_back(kNone);
    m_own.push_back(kNone);
    return m_pairs.size() - 1;
}

void Relaxation::findPairs()
{
    std::vector<char> left(m_all.size(), 0);
    for (const int node : m_left)
        left[at(node)] = 1;
    for (std::size_t i = 0; i < m_network.links.size(); ++i)
        if (const Network::Link& link = m_network.links[i]; left[at(link.a)] && left[at(link.b)])
            m_link[pairOf(link.a, link.b)] = i;
    const auto& leftovers = m_elimination.leftovers();
    for (std::size_t i = 0; i < leftovers.size(); ++i) {
        const std::vector<int>& scope = leftovers[i].scope;
        if (scope.size() == 1)
            m_single.push_back(i);
        else
            m_parts.push_back({ pairOf(std::min(scope[0], scope[1]), std::max(scope[0], scope[1])), i, scope[0] > scope[1] });
    }
    std::size_t used = 0;
    for (const Part& part : m_parts)
        if (std::size_t& own = m_own[part.pair]; own == kNone) {
            own = used;
            used += 2 * at(m_network.k(m_pairs[part.pair].a)) * at(m_network.k(m_pairs[part.pair].b));
        }
    m_tables.resize(used);
    std::size_t messages = 0;
    for (std::size_t i = 0; i < m_pairs.size(); ++i) {
        const Pair& pair = m_pairs[i];
        m_ends[at(pair.a)].push_back({ i, pair.b, false });
        m_ends[at(pair.b)].push_back({ i, pair.a, true });
        m_start.push_back(messages);
        m_start.push_back(messages + at(m_network.k(pair.a)));
        messages += at(m_network.k(pair.a)) + at(m_network.k(pair.b));
        const std::size_t size = at(m_network.k(pair.a)) * at(m_network.k(pair.b));
        const bool own = m_own[i] != kNone;
        m_table.push_back(own ? m_tables.data() + m_own[i] : m_network.tables.data() + m_network.links[m_link[i]].rows);
        m_table.push_back(own ? m_tables.data() + m_own[i] + size : m_network.tables.data() + m_network.links[m_link[i]].columns);
    }
    m_start.push_back(messages);
    m_messages.assign(messages, 0.0);
}

void Relaxation::usePrices(const std::vector<double>& prices)
{
    m_priceOfRoom = 0;
    for (std::size_t i = 0; i < prices.size(); ++i)
        m_priceOfRoom += prices[i] * static_cast<double>(m_network.room[i]);
    std::vector<double> costs = std::move(m_costs);
    addPrices(m_network, prices, costs);
    useCosts(std::move(costs));
}

void Relaxation::useCosts(std::vector<double> costs)
{
    m_costs = std::move(costs);
    m_constant = m_network.constant - m_priceOfRoom;
    m_elimination.eliminate(m_costs, m_choice);
    m_constant += m_elimination.constant();
    m_unary = m_costs;
    const auto& leftovers = m_elimination.leftovers();
    for (const std::size_t i : m_single) {
        const std::size_t first = m_network.first[at(leftovers[i].scope[0])];
        const double* table = m_elimination.table(leftovers[i].table);
        for (std::size_t s = 0; s < at(m_network.k(leftovers[i].scope[0])); ++s)
            m_unary[first + s] += table[s];
    }
    for (std::size_t i = 0; i < m_pairs.size(); ++i) {
        if (m_own[i] == kNone)
            continue;
        const std::size_t size = at(m_network.k(m_pairs[i].a)) * at(m_network.k(m_pairs[i].b));
        double* out = m_tables.data() + m_own[i];
        if (m_link[i] == kNone)
            std::fill_n(out, size, 0.0);
        else
            std::copy_n(m_network.tables.data() + m_network.links[m_link[i]].rows, size, out);
    }
    for (const Part& part : m_parts) {
        const std::size_t rows = at(m_network.k(m_pairs[part.pair].a));
        const std::size_t columns = at(m_network.k(m_pairs[part.pair].b));
        double* out = m_tables.data() + m_own[part.pair];
        const double* table = m_elimination.table(leftovers[part.leftover].table);
        for (std::size_t s = 0; s < rows; ++s)
            for (std::size_t t = 0; t < columns; ++t)
                out[s * columns + t] += table[part.turned ? t * rows + s : s * columns + t];
    }
    for (std::size_t i = 0; i < m_pairs.size(); ++i) {
        if (m_own[i] == kNone)
            continue;
        const std::size_t rows = at(m_network.k(m_pairs[i].a));
        const std::size_t columns = at(m_network.k(m_pairs[i].b));
        const double* from = m_tables.data() + m_own[i];
        double* out = m_tables.data() + m_own[i] + rows * columns;
        for (std::size_t s = 0; s < rows; ++s)
            for (std::size_t t = 0; t < columns; ++t)
                out[t * rows + s] = from[s * columns + t];
    }
}

/// The costs of a node and all that it gets from its links, in m_sum.
void Relaxation::gather(int node)
{
    const std::size_t k = at(m_network.k(node));
    std::copy_n(m_unary.begin() + static_cast<std::ptrdiff_t>(m_network.first[at(node)]), k, m_sum.begin());
    for (const End& end : m_ends[at(node)]) {
        const double* in = m_messages.data() + m_start[2 * end.pair + end.second];
        for (std::size_t s = 0; s < k; ++s)
            m_sum[s] += in[s];
    }
}

/// Sends a share of m_sum along a link, less what came from there; gives the constant that was taken off.
double Relaxation::send(const End& end, double weight)
{
    const std::size_t side = 2 * end.pair + end.second;
    const std::size_t back = 2 * end.pair + !end.second;
    const std::size_t mine = m_start[side + 1] - m_start[side];
    const std::size_t theirs = m_start[back + 1] - m_start[back];
    const double* row = tableOf(end);
    const double* in = m_messages.data() + m_start[side];
    double* out = m_messages.data() + m_start[back];
    std::fill_n(out, theirs, std::numeric_limits<double>::infinity());
    for (std::size_t s = 0; s < mine; ++s, row += theirs) {
        const double base = weight * m_sum[s] - in[s];
        for (std::size_t t = 0; t < theirs; ++t) {
            const double value = base + row[t];
            out[t] = value < out[t] ? value : out[t];
        }
    }
    const double least = *std::min_element(out, out + theirs);
    for (std::size_t t = 0; t < theirs; ++t)
        out[t] -= least;
    return least;
}

double Relaxation::sweep()
{
    for (const int node : m_left) {
        gather(node);
        for (const End& end : m_ends[at(node)])
            if (end.other > node)
                send(end, m_weight[at(node)]);
    }
    double bound = m_constant;
    for (std::size_t i = m_left.size(); i-- > 0;) {
        const int node = m_left[i];
        gather(node);
        const std::span<double> sum(m_sum.data(), at(m_network.k(node)));
        const double least = std::ranges::min(sum);
        bound += least;
        for (double& value : sum)
            value -= least;
        for (const End& end : m_ends[at(node)])
            if (end.other < node)
                bound += send(end, m_weight[at(node)]);
    }
    return bound;
}

std::vector<double> Relaxation::moved(std::size_t pair, bool second)
{
    const double* in = m_messages.data() + m_start[2 * pair + second];
    std::vector<double> out(in, in + (m_start[2 * pair + second + 1] - m_start[2 * pair + second]));
    if (!second)
        return out;
    const int node = m_pairs[pair].b;
    gather(node);
    for (std::size_t s = 0; s < out.size(); ++s)
        out[s] -= m_weight[at(node)] * m_sum[s];
    return out;
}

std::vector<double> Relaxation::gaps(const std::vector<int>& choice)
{
    std::vector<double> out(m_all.size(), 0.0);
    std::vector<double> costs(m_unary);
    for (std::size_t i = 0; i < m_pairs.size(); ++i) {
        const Pair& pair = m_pairs[i];
        const std::vector<double> a = moved(i, false);
        const std::vector<double> b = moved(i, true);
        for (std::size_t s = 0; s < a.size(); ++s)
            costs[m_network.first[at(pair.a)] + s] += a[s];
        for (std::size_t t = 0; t < b.size(); ++t)
            costs[m_network.first[at(pair.b)] + t] += b[t];
        const double* table = m_table[2 * i];
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t s = 0; s < a.size(); ++s)
            for (std::size_t t = 0; t < b.size(); ++t)
                least = std::min(least, table[s * b.size() + t] - a[s] - b[t]);
        const std::size_t s = at(choice[at(pair.a)]);
        const std::size_t t = at(choice[at(pair.b)]);
        const double gap = table[s * b.size() + t] - a[s] - b[t] - least;
        out[at(pair.a)] += gap / 2;
        out[at(pair.b)] += gap / 2;
    }
    for (const int node : m_left) {
        const auto begin = costs.begin() + static_cast<std::ptrdiff_t>(m_network.first[at(node)]);
        out[at(node)] += begin[choice[at(node)]] - *std::min_element(begin, begin + m_network.k(node));
    }
    return out;
}

const std::vector<int>& Relaxation::decode()
{
    for (const int node : m_left) {
        gather(node);
        const std::size_t k = at(m_network.k(node));
        std::copy_n(m_sum.begin(), k, m_value.begin());
        for (const End& end : m_ends[at(node)]) {
            if (end.other > node)
                continue;
            const double* row = m_table[2 * end.pair + !end.second] + at(m_choice[at(end.other)]) * k;
            const double* in = m_messages.data() + m_start[2 * end.pair + end.second];
            for (std::size_t s = 0; s < k; ++s)
                m_value[s] += row[s] - in[s];
        }
        m_choice[at(node)] =
            static_cast<int>(std::min_element(m_value.begin(), m_value.begin() + static_cast<std::ptrdiff_t>(k)) - m_value.begin());
    }
    m_elimination.choose(m_choice);
    return m_choice;
}

} // namespace shardboard::solver
