// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in the dense form: the router, and tensors [experts, tokens, n] whose rows are zeros where a token did not
// get the expert.
#pragma once

#include "engine/ops/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::bodies {

constexpr int kMostGroups = 32; ///< of experts, on a GPU

/// The router: from logits to dense gates, zeros but for the k experts of the highest scores, and back. Which experts are chosen
/// has no slope. Ties go to the lower expert or group; a score that is NaN is chosen, so that it shows.
struct GateBody {
    struct Entry {
        Elements logits, bias, dGates,
            out; ///< bias, for the choice alone, may be null; with dGates out is the gradient of the logits
        std::int64_t rows = 0;
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;
    double scale = 1; ///< of the gates
    std::int32_t experts = 0;
    std::int32_t k = 0;
    std::int32_t groups = 1; ///< experts are chosen from `groupsKept` of so many equal groups
    std::int32_t groupsKept = 1; ///< those with the highest member; with sigmoids the highest sum of two members
    std::int32_t sigmoid = 0; ///< 1: scores are sigmoids (DeepSeek-V3), else a softmax
    std::int32_t normalized = 0; ///< 1: the gates add up to `scale`: with the softmax that of the k highest logits (gpt-oss)

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        if (sigmoid != 0)
            route<true>(lanes, e, row);
        else
            route<false>(lanes, e, row);
    }

private:
    template <bool Sigmoid, class Lanes>
    SHARDBOARD_BOTH void route(const Lanes& lanes, const Entry& e, std::int64_t row) const
    {
        using Score = typename Lanes::Score;
        const std::int64_t first = row * experts;
        const auto logits = lanes.view(e.logits);
        const auto bias = lanes.view(e.bias);
        const bool biased = e.bias.data != nullptr;
        float highest = 0;
        if (!Sigmoid)
            highest = highestOf(lanes, experts, [=](std::int64_t x) { return logits.at(first + x); });
        const auto raw = remembered<0>(lanes, experts, [=](std::int32_t x) {
            const Score logit = static_cast<Score>(logits.at(first + x));
            return Sigmoid ? 1 / (1 + exponential(-logit)) : exponential(logit - static_cast<Score>(highest));
        });
        Score total = 1;
        if (!Sigmoid) {
            typename Lanes::Sum sum = 0;
            for (std::int32_t x = lanes.lane(); x < experts; x += lanes.count())
                sum += raw(x);
            total = static_cast<Score>(lanes.sum(sum));
        }
        const auto score = [=](std::int32_t x) { return Sigmoid ? raw(x) : raw(x) / total; };
        const auto choice = remembered<1>(lanes, experts, [=](std::int32_t x) {
            const Score value = score(x) + (biased ? static_cast<Score>(bias.at(x)) : 0);
            return value == value ? value : static_cast<Score>(INFINITY);
        });
        if (groups <= 1)
            return write<Sigmoid>(lanes, e, first, score, choice);
        const std::int32_t size = experts / groups;
        typename Lanes::template Room<kMostGroups> ofGroups(lanes, groups);
        for (std::int32_t g = 0; g < groups; ++g)
            ofGroups[g] = scoreOfGroup<Sigmoid>(lanes, g * size, size, choice);
        const Ranked<Score> last = lastOfBest(lanes, groups, groupsKept, [&](std::int32_t g) { return ofGroups[g]; });
        write<Sigmoid>(lanes, e, first, score, remembered<3>(lanes, experts, [&](std::int32_t x) {
                           const std::int32_t g = x / size;
                           return before(last, Ranked<Score> { ofGroups[g], g }) ? static_cast<Score>(-INFINITY) : choice(x);
                       }));
    }

    template <bool Sigmoid, class Lanes, class Choice>
    SHARDBOARD_BOTH typename Lanes::Score scoreOfGroup(const Lanes& lanes, std::int32_t first, std::int32_t size,
                                                       const Choice& choice) const
    {
        using Score = typename Lanes::Score;
        Ranked<Score> best[2] = { { static_cast<Score>(-INFINITY), experts }, { static_cast<Score>(-INFINITY), experts } };
        for (int i = 0; i < (Sigmoid && size > 1 ? 2 : 1); ++i) {
            for (std::int32_t x = first + lanes.lane(); x < first + size; x += lanes.count())
                if (i == 0 || x != best[0].index)
                    best[i] = betterOf(best[i], Ranked<Score> { choice(x), x });
            best[i] = lanes.best(best[i]);
        }
        return Sigmoid && size > 1 ? best[0].value + best[1].value : best[0].value;
    }

    template <bool Sigmoid, class Lanes, class ScoreOf, class Choice>
    SHARDBOARD_BOTH void write(const Lanes& lanes, const Entry& e, std::int64_t first, const ScoreOf& score,
                               const Choice& choice) const
    {
        using Score = typename Lanes::Score;
        const Ranked<Score> last = lastOfBest(lanes, experts, k, choice);
        const auto chosen = [&](std::int32_t x) { return !before(last, Ranked<Score> { choice(x), x }); };
        /// Over the chosen experts.
        const auto sumOf = [&](double start, auto value) {
            double sum = lanes.lane() == 0 ? start : 0;
            for (std::int32_t x = lanes.lane(); x < experts; x += lanes.count())
                if (chosen(x))
                    sum += value(x);
            return lanes.sumOfDoubles(sum);
        };
        const auto weight = [&](std::int32_t x) { return static_cast<double>(score(x)); };
        const double sum = normalized != 0 ? sumOf(1e-20, weight) : 1; // of sigmoids that are all 0
        if (e.dGates.data == nullptr) {
            for (std::int32_t x = lanes.lane(); x < experts; x += lanes.count())
                e.out.set(first + x, chosen(x) ? static_cast<float>(weight(x) / sum * scale) : 0.0f);
            return;
        }
        // To the weights, and through the division by their sum; from the scores to the logits. Of normalized gates the slopes
        // have no component along the scores any more.
        const auto given = [&](std::int32_t x) { return static_cast<double>(e.dGates.at(first + x)) * scale; };
        const double along =
            normalized != 0 || !Sigmoid ? sumOf(0, [&](std::int32_t x) { return given(x) * (weight(x) / sum); }) : 0;
        const auto slope = [&](std::int32_t x) { return normalized != 0 ? (given(x) - along) / sum : given(x); };
        const double dot = Sigmoid || normalized != 0 ? 0 : along;
        for (std::int32_t x = lanes.lane(); x < experts; x += lanes.count()) {
            const double here = chosen(x) ? slope(x) : 0;
            const double value = Sigmoid ? here * weight(x) * (1 - weight(x)) : weight(x) * (here - dot);
            e.out.set(first + x, static_cast<float>(value));
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
        writeSums<float>(lanes, lanes.view(e.out), item * kTile, smaller(e.count, (item + 1) * kTile), n,
                         [=](std::int64_t row) { return Experts<decltype(x)> { x, gates, row, rows, n, weighted, experts }; });
    }

private:
    /// The rows that experts have of a token.
    template <class View>
    struct Experts {
        View x, gates;
        std::int64_t row, rows, n;
        bool weighted;
        std::int64_t count;
        SHARDBOARD_BOTH ScaledRow<View> at(std::int64_t expert) const
        {
            const float gate = gates.at(row * count + expert);
            return { x, (expert * rows + row) * n, weighted || gate == 0 ? gate : 1.0f };
        }
    };
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
