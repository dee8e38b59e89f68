// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in the dense form: the router, and tensors [experts, tokens, n] whose rows are zeros where a token did not
// get the expert.
#pragma once

#include "engine/ops/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::bodies {

constexpr int kMostExperts = 1024;
constexpr int kMostChosen = 32;
constexpr int kMostGroups = 32;

/// From logits to gates, and back; as engine/ops/kernels/gates.h.
struct GateBody {
    struct Entry {
        Elements logits, bias, dGates, out; ///< bias may be null; with dGates out is the gradient of the logits
        std::int64_t rows = 0;
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;
    std::int32_t experts = 0;
    std::int32_t k = 0;
    std::int32_t groups = 1;
    std::int32_t groupsKept = 1;
    std::int32_t sigmoid = 0;
    std::int32_t normalized = 0;
    float scale = 1;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        float scores[static_cast<unsigned>(Lanes::share(kMostExperts))];
        float choice[static_cast<unsigned>(Lanes::share(kMostExperts))];
        scoreExperts(lanes, e, row, scores, choice);
        if (groups > 1)
            dropGroups(lanes, choice);
        std::int32_t chosen[kMostChosen];
        float weights[kMostChosen];
        bool taken[static_cast<unsigned>(Lanes::share(kMostExperts))] = {};
        double sum = 1e-20; // of sigmoids that are all 0
        for (int i = 0; i < k; ++i) {
            Best best { -INFINITY, kMostExperts };
            for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count())
                if (!taken[j])
                    best = betterOf(best, Best { choice[j], x });
            best = lanes.best(best);
            chosen[i] = best.index;
            float mine = 0;
            for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count())
                if (x == best.index) {
                    taken[j] = true;
                    mine = scores[j];
                }
            weights[i] = static_cast<float>(lanes.sum(mine));
            sum += static_cast<double>(weights[i]);
        }
        if (normalized == 0)
            sum = 1;
        if (e.dGates.data == nullptr)
            writeGates(lanes, e, row, chosen, weights, sum);
        else
            writeGradient(lanes, e, row, chosen, weights, sum, scores);
    }

private:
    template <class Lanes>
    SHARDBOARD_BOTH void scoreExperts(const Lanes& lanes, const Entry& e, std::int64_t row, float* scores, float* choice) const
    {
        float highest = -INFINITY;
        for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count()) {
            scores[j] = e.logits.at(row * experts + x);
            highest = largerOf(highest, scores[j]);
        }
        highest = lanes.highest(highest);
        typename Lanes::Sum sum = 0;
        for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count()) {
            scores[j] = sigmoid != 0 ? 1.0f / (1.0f + expf(-scores[j])) : expf(scores[j] - highest);
            sum += scores[j];
        }
        const float factor = sigmoid != 0 ? 1.0f : static_cast<float>(1.0 / static_cast<double>(lanes.sum(sum)));
        for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count()) {
            scores[j] *= factor;
            choice[j] = scores[j] + (e.bias.data != nullptr ? e.bias.at(x) : 0.0f);
        }
    }

    /// Puts the experts of the groups that are not kept out of reach.
    template <class Lanes>
    SHARDBOARD_BOTH void dropGroups(const Lanes& lanes, float* choice) const
    {
        const int size = experts / groups;
        float values[kMostGroups];
        for (int g = 0; g < groups; ++g) {
            Best first { -INFINITY, kMostExperts };
            for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count())
                if (x / size == g)
                    first = betterOf(first, Best { choice[j], x });
            first = lanes.best(first);
            Best second { -INFINITY, kMostExperts };
            for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count())
                if (x / size == g && x != first.index)
                    second = betterOf(second, Best { choice[j], x });
            second = lanes.best(second);
            values[g] = sigmoid != 0 && size > 1 ? first.value + second.value : first.value;
        }
        bool kept[kMostGroups] = {};
        for (int i = 0; i < groupsKept; ++i) {
            Best best { -INFINITY, kMostGroups };
            for (int g = 0; g < groups; ++g)
                if (!kept[g])
                    best = betterOf(best, Best { values[g], g });
            kept[best.index % kMostGroups] = true;
        }
        for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count())
            if (!kept[x / size])
                choice[j] = -INFINITY;
    }

    template <class Lanes>
    SHARDBOARD_BOTH void writeGates(const Lanes& lanes, const Entry& e, std::int64_t row, const std::int32_t* chosen,
                                    const float* weights, double sum) const
    {
        for (int x = lanes.lane(); x < experts; x += lanes.count()) {
            float gate = 0;
            for (int i = 0; i < k; ++i)
                if (chosen[i] == x)
                    gate = static_cast<float>(static_cast<double>(weights[i]) / sum * static_cast<double>(scale));
            e.out.set(row * experts + x, gate);
        }
    }

    template <class Lanes>
    SHARDBOARD_BOTH void writeGradient(const Lanes& lanes, const Entry& e, std::int64_t row, const std::int32_t* chosen,
                                       const float* weights, double sum, const float* scores) const
    {
        double slopes[kMostChosen];
        double mean = 0;
        for (int i = 0; i < k; ++i) {
            slopes[i] = static_cast<double>(e.dGates.at(row * experts + chosen[i])) * static_cast<double>(scale);
            mean += slopes[i] * (static_cast<double>(weights[i]) / sum);
        }
        double dot = 0;
        for (int i = 0; i < k; ++i) {
            if (normalized != 0)
                slopes[i] = (slopes[i] - mean) / sum;
            dot += slopes[i] * static_cast<double>(weights[i]);
        }
        for (int j = 0, x = lanes.lane(); x < experts; ++j, x += lanes.count()) {
            double slope = 0;
            bool here = false;
            for (int i = 0; i < k; ++i)
                if (chosen[i] == x) {
                    slope = slopes[i];
                    here = true;
                }
            const double score = static_cast<double>(scores[j]);
            const double value = sigmoid == 0 ? score * (slope - dot) : here ? slope * score * (1 - score) : 0;
            e.out.set(row * experts + x, static_cast<float>(value));
        }
    }
};

enum class Route : std::int32_t {
    Dispatch, ///< out[e, row] = x[row] where the gate is not 0
    CombineGradient, ///< out[e, row] = gate * x[row]
    Combine, ///< out[row] = sum over the experts of gate * x[e, row]
    DispatchGradient ///< out[row] = sum over the chosen experts of x[e, row]
};

struct RouteBody {
    struct Entry {
        Elements x, gates, out;
        std::int64_t experts = 0;
        std::int64_t rows = 0;
        std::int64_t n = 0;
        std::int64_t count = 0; ///< elements of out
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    Route kind = Route::Dispatch;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const auto x = lanes.view(e.x);
        const auto gates = lanes.view(e.gates);
        const std::int64_t n = e.n;
        const std::int64_t rows = e.rows;
        const std::int64_t experts = e.experts;
        const auto write = [&](auto rowOf) {
            writeRows(lanes, lanes.view(e.out), item * kTile, e.count, n, RowEnds<1> { { n } }, rowOf);
        };
        if (kind == Route::Dispatch || kind == Route::CombineGradient) {
            const bool scaled = kind == Route::CombineGradient;
            return write([=](std::int64_t row) {
                const Divided token = divided(row, rows);
                const float gate = gates.at(token.rest * experts + token.quotient);
                const float factor = scaled ? gate : 1.0f;
                return [=](std::int64_t i, RowPart<0>) { return gate != 0 ? factor * x.at(token.rest * n + i) : 0.0f; };
            });
        }
        const bool weighted = kind == Route::Combine;
        write([=](std::int64_t row) {
            return [=](std::int64_t i, RowPart<0>) {
                float sum = 0;
                for (std::int64_t expert = 0; expert < experts; ++expert) {
                    const float gate = gates.at(row * experts + expert);
                    if (gate != 0)
                        sum += (weighted ? gate : 1.0f) * x.at((expert * rows + row) * n + i);
                }
                return sum;
            };
        });
    }
};

/// Of every token and expert the dot product of dy and y. An item is a pair of them.
struct GateDotBody {
    struct Entry {
        Elements dy, y, out;
        std::int64_t experts = 0;
        std::int64_t rows = 0;
        std::int64_t n = 0;
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (item >= e.rows * e.experts)
            return;
        const Divided where = divided(item, e.experts);
        const auto dy = lanes.view(e.dy);
        const auto y = lanes.view(e.y);
        const std::int64_t row = where.quotient * e.n;
        const std::int64_t ofExpert = (where.rest * e.rows + where.quotient) * e.n;
        typename Lanes::Sum sum = 0;
        addUp<1>(lanes, e.n, false, &sum,
                 [&](std::int64_t i, auto, auto* values) { values[0][0] = dy.at(row + i) * y.at(ofExpert + i); });
        sum = lanes.sum(sum);
        if (lanes.lane() == 0)
            e.out.set(item, static_cast<float>(sum));
    }
};

/// Adds an expert's bias to the rows that hold data. An item is a row of an expert.
struct ExpertBiasBody {
    struct Entry {
        Elements x, bias, out;
        std::int64_t experts = 0;
        std::int64_t rows = 0;
        std::int64_t n = 0;
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (item >= e.rows * e.experts)
            return;
        const std::int64_t expert = divided(item, e.rows).quotient;
        const auto x = lanes.view(e.x);
        const auto bias = lanes.view(e.bias);
        const auto out = lanes.view(e.out);
        const float any = highestOf(lanes, e.n, [&](std::int64_t i) { return x.at(item * e.n + i) != 0 ? 1.0f : 0.0f; });
        forEachOf(lanes, e.n, false, [&](std::int64_t i, auto) {
            out.set(item * e.n + i, any > 0 ? x.at(item * e.n + i) + bias.at(expert * e.n + i) : 0.0f);
        });
    }
};

} // namespace shardboard::engine::bodies
