// SPDX-License-Identifier: Apache-2.0
// A row has few experts, so scores are worked out in double.
#include "engine/ops/kernels/gates.h"
#include "engine/machine/index.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardboard::engine {

namespace {

using Scores = std::vector<double>;

/// One row of the router and the memory it needs.
struct Row {
    Scores scores; ///< [experts]: probabilities or sigmoids
    Scores choice; ///< what experts are chosen by
    std::vector<std::int64_t> chosen; ///< ascending
    Scores weights; ///< of the chosen, before the scale
    double sum = 0; ///< that the weights were divided by
};

/// The `count` highest, ascending; of equal ones the lower.
std::vector<std::int64_t> highest(const Scores& values, std::int64_t count)
{
    std::vector<std::int64_t> best;
    std::vector<bool> taken(values.size());
    for (std::int64_t i = 0; i < std::min(count, static_cast<std::int64_t>(values.size())); ++i) {
        std::size_t found = values.size();
        for (std::size_t candidate = 0; candidate < values.size(); ++candidate)
            if (!taken[candidate] && (found == values.size() || values[candidate] > values[found]))
                found = candidate;
        taken[found] = true;
        best.push_back(static_cast<std::int64_t>(found));
    }
    std::sort(best.begin(), best.end());
    return best;
}

double groupScore(const GateRule& rule, const double* members, std::int64_t count)
{
    double first = -INFINITY;
    double second = -INFINITY;
    for (std::int64_t i = 0; i < count; ++i) {
        if (members[i] > first) {
            second = first;
            first = members[i];
        } else {
            second = std::max(second, members[i]);
        }
    }
    return rule.sigmoid && count > 1 ? first + second : first;
}

/// Puts the experts of the groups that are not kept out of reach.
void dropGroups(const GateRule& rule, Scores& choice)
{
    const std::int64_t size = rule.experts / rule.groups;
    Scores groups;
    for (std::int64_t group = 0; group < rule.groups; ++group)
        groups.push_back(groupScore(rule, choice.data() + group * size, size));
    const auto kept = highest(groups, rule.groupsKept);
    for (std::int64_t group = 0; group < rule.groups; ++group)
        if (!std::binary_search(kept.begin(), kept.end(), group))
            std::fill_n(choice.begin() + group * size, size, -INFINITY);
}

void softmax(Scores& values)
{
    const double top = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double& value : values)
        sum += value = std::exp(value - top);
    for (double& value : values)
        value /= sum;
}

void chooseExperts(const GateRule& rule, const float* logits, const float* bias, Row& row)
{
    row.scores.assign(logits, logits + rule.experts);
    if (!rule.sigmoid)
        softmax(row.scores);
    else
        for (double& score : row.scores)
            score = 1 / (1 + std::exp(-score));
    row.choice = row.scores;
    for (std::int64_t e = 0; bias != nullptr && e < rule.experts; ++e)
        row.choice[at(e)] += double { bias[e] };
    if (rule.groups > 1)
        dropGroups(rule, row.choice);
    row.chosen = highest(row.choice, rule.k);
}

void workOut(const GateRule& rule, const float* logits, const float* bias, Row& row)
{
    chooseExperts(rule, logits, bias, row);
    row.weights.clear();
    for (const std::int64_t e : row.chosen)
        row.weights.push_back(row.scores[at(e)]);
    row.sum = 1;
    if (rule.renormalise) {
        row.sum = 1e-20; // of sigmoids that are all 0
        for (const double weight : row.weights)
            row.sum += weight;
        for (double& weight : row.weights)
            weight /= row.sum;
    }
}

} // namespace

void topKGates(const GateRule& rule, const float* logits, const float* bias, std::int64_t rows, float* gates)
{
    Row row;
    std::fill(gates, gates + rows * rule.experts, 0.0f);
    for (std::int64_t r = 0; r < rows; ++r) {
        workOut(rule, logits + r * rule.experts, bias, row);
        for (std::size_t i = 0; i < row.chosen.size(); ++i)
            gates[r * rule.experts + row.chosen[i]] = static_cast<float>(row.weights[i] * rule.scale);
    }
}

void topKGatesBackward(const GateRule& rule, const float* logits, const float* bias, const float* dGates, std::int64_t rows,
                       float* dLogits)
{
    Row row;
    Scores slopes;
    std::fill(dLogits, dLogits + rows * rule.experts, 0.0f);
    for (std::int64_t r = 0; r < rows; ++r) {
        workOut(rule, logits + r * rule.experts, bias, row);
        float* out = dLogits + r * rule.experts;
        // To the weights, and through the division by their sum.
        slopes.clear();
        double mean = 0;
        for (std::size_t i = 0; i < row.chosen.size(); ++i) {
            slopes.push_back(double { dGates[r * rule.experts + row.chosen[i]] } * rule.scale);
            mean += slopes[i] * row.weights[i];
        }
        if (rule.renormalise)
            for (double& slope : slopes)
                slope = (slope - mean) / row.sum;
        // From the scores to the logits.
        if (rule.sigmoid) {
            for (std::size_t i = 0; i < row.chosen.size(); ++i) {
                const double score = row.scores[at(row.chosen[i])];
                out[row.chosen[i]] = static_cast<float>(slopes[i] * score * (1 - score));
            }
            continue;
        }
        double dot = 0;
        for (std::size_t i = 0; i < row.chosen.size(); ++i)
            dot += slopes[i] * row.scores[at(row.chosen[i])];
        Scores& all = row.choice; // no longer needed
        std::fill(all.begin(), all.end(), 0.0);
        for (std::size_t i = 0; i < row.chosen.size(); ++i)
            all[at(row.chosen[i])] = slopes[i];
        for (std::int64_t e = 0; e < rule.experts; ++e)
            out[e] = static_cast<float>(row.scores[at(e)] * (all[at(e)] - dot));
    }
}

} // namespace shardboard::engine
