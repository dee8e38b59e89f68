// SPDX-License-Identifier: Apache-2.0
#include "model/solver/usage.h"

#include "model/solver/index.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardboard::solver {

namespace {

double linkCost(const Network& network, const Network::Link& link, const std::vector<int>& choice)
{
    return network.tables[link.rows + at(choice[at(link.a)]) * at(network.k(link.b)) + at(choice[at(link.b)])];
}

} // namespace

double costOf(const Network& network, const std::vector<int>& choice)
{
    double out = network.constant;
    for (int node = 0; node < network.nodes(); ++node)
        out += network.cost[network.first[at(node)] + at(choice[at(node)])];
    for (const Network::Link& link : network.links)
        out += linkCost(network, link, choice);
    return out;
}

std::vector<std::int64_t> usageOf(const Network& network, const std::vector<int>& choice)
{
    std::vector<std::int64_t> out(network.room.size() + 1, 0);
    for (int node = 0; node < network.nodes(); ++node) {
        const std::int64_t used = network.usage[network.first[at(node)] + at(choice[at(node)])];
        out[at(network.from[at(node)])] += used;
        out[at(network.until[at(node)])] -= used;
    }
    std::partial_sum(out.begin(), out.end(), out.begin());
    out.pop_back();
    return out;
}

std::int64_t worstExcess(const Network& network, const std::vector<std::int64_t>& usage)
{
    std::int64_t out = std::numeric_limits<std::int64_t>::min();
    for (std::size_t row = 0; row < usage.size(); ++row)
        out = std::max(out, usage[row] - network.room[row]);
    return usage.empty() ? 0 : out;
}

double costChange(const Network& network, const std::vector<int>& before, const std::vector<int>& after, std::span<const int> nodes)
{
    double out = 0;
    for (const int node : nodes) {
        const int was = before[at(node)];
        const int is = after[at(node)];
        if (was == is)
            continue;
        out += network.cost[network.first[at(node)] + at(is)] - network.cost[network.first[at(node)] + at(was)];
        for (std::size_t i = network.sideStart[at(node)]; i < network.sideStart[at(node) + 1]; ++i) {
            const Side& side = network.sides[i];
            if (!side.first && before[at(side.other)] != after[at(side.other)])
                continue; // counted at the other end
            const Network::Link& link = network.links[at(side.edge)];
            out += linkCost(network, link, after) - linkCost(network, link, before);
        }
    }
    return out;
}

} // namespace shardboard::solver
