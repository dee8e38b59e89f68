// SPDX-License-Identifier: Apache-2.0
#include "model/io/problem/problemfile.h"

#include "model/io/file/gunzip.h"
#include "model/io/file/textfile.h"
#include "model/io/json/jsoncursor.h"

#include <array>
#include <limits>

namespace shardboard {

namespace {

using solver::Problem;

constexpr std::size_t kLargestFile = std::size_t { 4 } << 30;
constexpr std::size_t kMostNodes = std::size_t { 1 } << 28;

/// What the document holds, before its parts are compared: they may come in any order.
struct Parts {
    bool problem = false;
    bool nodes = false;
    bool edges = false;
    std::vector<std::size_t> usageEnds; ///< where each node's usages end
    std::vector<std::int64_t> pairs; ///< nodes of the edges, two each
    std::vector<std::size_t> costEnds; ///< where each edge's costs end
};

std::int64_t pairOf(JsonCursor& text, std::array<std::int64_t, 2>& out, const char* what)
{
    std::size_t count = 0;
    text.list([&] {
        const std::int64_t value = text.integer();
        if (count < 2)
            out[count] = value;
        ++count;
    });
    if (count != 2)
        text.fail(std::string(what) + " has " + std::to_string(count) + " numbers", "give two");
    return out[0];
}

void readNodes(JsonCursor& text, Problem& problem, Parts& parts)
{
    text.object([&](std::string_view key) {
        if (key == "intervals")
            text.list([&] {
                std::array<std::int64_t, 2> life {};
                pairOf(text, life, "an interval");
                problem.lifetimes.push_back({ life[0], life[1] });
            });
        else if (key == "costs")
            text.list([&] {
                text.integers(problem.nodeCosts);
                problem.first.push_back(problem.nodeCosts.size());
            });
        else if (key == "usages")
            text.list([&] {
                text.integers(problem.usages);
                parts.usageEnds.push_back(problem.usages.size());
            });
        else
            text.skip();
    });
    parts.nodes = true;
}

void readEdges(JsonCursor& text, Problem& problem, Parts& parts)
{
    text.object([&](std::string_view key) {
        if (key == "nodes")
            text.list([&] {
                std::array<std::int64_t, 2> ends {};
                pairOf(text, ends, "the list of an edge's nodes");
                parts.pairs.insert(parts.pairs.end(), ends.begin(), ends.end());
            });
        else if (key == "costs")
            text.list([&] {
                text.integers(problem.edgeCosts);
                parts.costEnds.push_back(problem.edgeCosts.size());
            });
        else
            text.skip();
    });
    parts.edges = true;
}

void readAll(JsonCursor& text, Problem& problem, Parts& parts)
{
    text.object([&](std::string_view key) {
        if (key != "problem" || parts.problem)
            return text.skip();
        parts.problem = true;
        text.object([&](std::string_view member) {
            if (member == "name")
                problem.name = text.text();
            else if (member == "nodes" && !parts.nodes)
                readNodes(text, problem, parts);
            else if (member == "edges" && !parts.edges)
                readEdges(text, problem, parts);
            else if (member == "usage_limit" && !text.takesNull())
                problem.limit = text.integer();
            else if (member != "usage_limit")
                text.skip();
        });
    });
    text.end();
}

std::string counts(std::size_t has, std::size_t needs)
{
    return "has " + std::to_string(has) + " entries, and needs " + std::to_string(needs);
}

Status checkNodes(const Problem& problem, const Parts& parts, const std::string& where)
{
    const std::size_t nodes = problem.nodes();
    if (nodes > kMostNodes)
        return inputError(where + ":problem.nodes.costs", "there are more than 2^28 nodes", "give a smaller problem");
    if (problem.lifetimes.size() != nodes)
        return inputError(where + ":problem.nodes.intervals", counts(problem.lifetimes.size(), nodes), "give one for each node");
    if (parts.usageEnds.size() != nodes)
        return inputError(where + ":problem.nodes.usages", counts(parts.usageEnds.size(), nodes), "give one list for each node");
    for (std::size_t i = 0; i < nodes; ++i) {
        const std::string node = "[" + std::to_string(i) + "]";
        if (problem.strategies(i) == 0)
            return inputError(where + ":problem.nodes.costs" + node, "the node has no strategy", "give each node at least one");
        const std::size_t begin = i == 0 ? 0 : parts.usageEnds[i - 1];
        if (parts.usageEnds[i] != problem.first[i + 1])
            return inputError(where + ":problem.nodes.usages" + node,
                              counts(parts.usageEnds[i] - begin, problem.first[i + 1] - problem.first[i]),
                              "give one usage for each strategy");
    }
    return done();
}

Status joinEdges(Problem& problem, const Parts& parts, const std::string& where)
{
    const std::size_t edges = parts.pairs.size() / 2;
    if (parts.costEnds.size() != edges)
        return inputError(where + ":problem.edges.costs", counts(parts.costEnds.size(), edges), "give one list for each edge");
    problem.edges.reserve(edges);
    std::size_t begin = 0;
    for (std::size_t e = 0; e < edges; ++e) {
        std::array<std::size_t, 2> strategies {};
        for (std::size_t end = 0; end < 2; ++end) {
            const std::int64_t node = parts.pairs[2 * e + end];
            if (node < 0 || node >= static_cast<std::int64_t>(problem.nodes()))
                return inputError(where + ":problem.edges.nodes[" + std::to_string(e) + "]",
                                  "there is no node " + std::to_string(node),
                                  "the problem has " + std::to_string(problem.nodes()) + " nodes, counted from 0");
            strategies[end] = static_cast<std::size_t>(problem.strategies(static_cast<std::size_t>(node)));
        }
        const std::size_t has = parts.costEnds[e] - begin;
        if (has != strategies[0] * strategies[1])
            return inputError(where + ":problem.edges.costs[" + std::to_string(e) + "]", counts(has, strategies[0] * strategies[1]),
                              "give one cost for each pair of strategies, the second node's fastest");
        problem.edges.push_back({ static_cast<int>(parts.pairs[2 * e]), static_cast<int>(parts.pairs[2 * e + 1]), begin });
        begin = parts.costEnds[e];
    }
    return done();
}

} // namespace

Result<Problem> parseProblem(std::string_view content, const std::string& where)
{
    Problem problem;
    Parts parts;
    JsonCursor text(content, where);
    readAll(text, problem, parts);
    if (text.error())
        return *text.error();
    if (!parts.problem || !parts.nodes)
        return inputError(where + (parts.problem ? ":problem.nodes" : ":problem"), "is missing",
                          "the file has to hold {\"problem\": {\"nodes\": …, \"edges\": …}}");
    if (const Status nodes = checkNodes(problem, parts, where); !nodes.ok())
        return nodes.error();
    if (const Status edges = joinEdges(problem, parts, where); !edges.ok())
        return edges.error();
    return problem;
}

Result<Problem> readProblem(const std::string& path)
{
    auto content = readTextFile(path, kLargestFile);
    if (!content.ok())
        return content.error();
    if (isGzip(content.value()))
        content = gunzip(content.value(), path, kLargestFile);
    if (!content.ok())
        return content.error();
    return parseProblem(content.value(), path);
}

} // namespace shardboard
