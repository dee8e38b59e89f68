// SPDX-License-Identifier: Apache-2.0
// Norms with their gradients, row by row, and sums over rows.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

/// Both norms are out = (x - mean) * inverse * (weight + offset) + bias; RMSNorm has mean 0 and no bias.
struct NormRule {
    double epsilon = 0;
    float offset = 0; ///< added to the weight
    std::int32_t centred = 0; ///< 1: LayerNorm
    std::int64_t n = 0; ///< elements of a row
};

struct RowScale {
    float mean;
    float inverse;
};

template <bool Centred, class Lanes>
SHARDBOARD_BOTH RowScale rowScaleOf(const Lanes& lanes, const NormRule& rule, const Elements& of, std::int64_t row)
{
    using Sum = typename Lanes::Sum;
    const auto x = lanes.view(of);
    const std::int64_t first = row * rule.n;
    const bool packed = rule.n % kPack == 0;
    const Sum size = static_cast<Sum>(rule.n);
    float mean = 0;
    if (Centred) {
        Sum sum = 0;
        addUp<1>(lanes, rule.n, packed, &sum,
                 [&](std::int64_t i, auto w, auto* values) { x.template load<decltype(w)::value>(first + i, values[0]); });
        mean = static_cast<float>(lanes.sum(sum) / size);
    }
    Sum squares = 0;
    addUp<1>(lanes, rule.n, packed, &squares, [&](std::int64_t i, auto w, auto* values) {
        constexpr int W = decltype(w)::value;
        x.template load<W>(first + i, values[0]);
        for (int j = 0; j < W; ++j) {
            const float distance = values[0][j] - (Centred ? mean : 0.0f);
            values[0][j] = distance * distance;
        }
    });
    const Sum variance = lanes.sum(squares) / size;
    return { mean, static_cast<float>(1.0 / sqrt(static_cast<double>(variance) + rule.epsilon)) };
}

template <class Lanes>
SHARDBOARD_BOTH RowScale rowScaleOf(const Lanes& lanes, const NormRule& rule, const Elements& x, std::int64_t row)
{
    return rule.centred != 0 ? rowScaleOf<true>(lanes, rule, x, row) : rowScaleOf<false>(lanes, rule, x, row);
}

struct NormBody {
    struct Entry {
        Elements x, weight, bias, out; ///< no bias: null
        std::int64_t rows = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    NormRule rule;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        if (rule.centred != 0)
            run<true>(lanes, e, row);
        else
            run<false>(lanes, e, row);
    }

private:
    /// Of the two norms one has a mean and a bias. Vector loops add the bias later, so that no instruction set fuses it.
    template <bool Centred, class Lanes>
    SHARDBOARD_BOTH void run(const Lanes& lanes, const Entry& e, std::int64_t row) const
    {
        constexpr bool kBiased = Centred && !Lanes::kVectorLoops;
        const RowScale scale = rowScaleOf<Centred>(lanes, rule, e.x, row);
        const std::int64_t first = row * rule.n;
        const auto x = lanes.view(e.x);
        const auto weight = lanes.view(e.weight);
        const auto bias = lanes.view(e.bias);
        const auto out = lanes.view(e.out);
        const float offset = rule.offset;
        const float mean = Centred ? scale.mean : 0.0f;
        forEachOf(lanes, rule.n, rule.n % kPack == 0, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> values;
            Floats<W> weights;
            Floats<W> biases = {};
            x.template load<W>(first + i, values);
            weight.template load<W>(i, weights);
            if (kBiased)
                bias.template load<W>(i, biases);
            for (int j = 0; j < W; ++j) {
                values[j] = (values[j] - mean) * scale.inverse * (weights[j] + offset);
                if (kBiased)
                    values[j] += biases[j];
            }
            out.template store<W>(first + i, values);
        });
        if (Centred && !kBiased)
            forEachOf(lanes, rule.n, false, [&](std::int64_t i, auto) { out.set(first + i, out.at(first + i) + bias.at(i)); });
    }
};

/// dx of a norm.
struct NormGradientBody {
    struct Entry {
        Elements dy, x, weight, out;
        std::int64_t rows = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    NormRule rule;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        using Sum = typename Lanes::Sum;
        const bool packed = rule.n % kPack == 0;
        const RowScale scale = rowScaleOf(lanes, rule, e.x, row);
        const auto dy = lanes.view(e.dy);
        const auto x = lanes.view(e.x);
        const auto weight = lanes.view(e.weight);
        const auto out = lanes.view(e.out);
        const std::int64_t first = row * rule.n;
        const float offset = rule.offset;
        // dy times the weight, and x scaled as in the norm
        const auto load = [&](std::int64_t i, auto w, float* g, float* scaled) {
            constexpr int W = decltype(w)::value;
            Floats<W> weights;
            dy.template load<W>(first + i, g);
            x.template load<W>(first + i, scaled);
            weight.template load<W>(i, weights);
            for (int j = 0; j < W; ++j) {
                g[j] *= weights[j] + offset;
                scaled[j] = (scaled[j] - scale.mean) * scale.inverse;
            }
        };
        Sum sums[2] = { 0, 0 }; // of the gradients, and of their products with x
        addUp<2>(lanes, rule.n, packed, sums, [&](std::int64_t i, auto w, auto* values) {
            load(i, w, values[0], values[1]);
            for (int j = 0; j < decltype(w)::value; ++j)
                values[1][j] *= values[0][j];
        });
        const Sum size = static_cast<Sum>(rule.n);
        const float gradientMean = rule.centred != 0 ? static_cast<float>(lanes.sum(sums[0]) / size) : 0.0f;
        const float productMean = static_cast<float>(lanes.sum(sums[1]) / size);
        forEachOf(lanes, rule.n, packed, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> g;
            Floats<W> scaled;
            load(i, w, g, scaled);
            for (int j = 0; j < W; ++j)
                g[j] = scale.inverse * (g[j] - gradientMean - scaled[j] * productMean);
            out.template store<W>(first + i, g);
        });
    }
};

/// The mean and the inverse of every row, for sums over rows.
struct RowScaleBody {
    struct Entry {
        Elements x;
        float* scales = nullptr; ///< two for each row
        std::int64_t rows = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    NormRule rule;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        const RowScale scale = rowScaleOf(lanes, rule, e.x, row);
        if (lanes.lane() == 0) {
            e.scales[2 * row] = scale.mean;
            e.scales[2 * row + 1] = scale.inverse;
        }
    }
};

constexpr std::int64_t kSumRowsAtOnce = 128;

/// Sums of a part of the rows, of dy or of dy * (x - mean) * inverse: an item is a part of the rows and kAll columns.
struct ColumnSumBody {
    struct Entry {
        Elements dy, x;
        const float* scales = nullptr; ///< null: of dy alone
        float* partial = nullptr; ///< [parts, n]
        std::int64_t rows = 0;
        std::int64_t n = 0;
        SHARDBOARD_BOTH std::int64_t tiles() const { return (n + kAll - 1) / kAll; }
        SHARDBOARD_BOTH std::int64_t parts() const { return (rows + kSumRowsAtOnce - 1) / kSumRowsAtOnce; }
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (e.n == 0 || item >= e.tiles() * e.parts())
            return;
        const Divided where = divided(item, e.tiles());
        const std::int64_t first = where.quotient * kSumRowsAtOnce;
        const std::int64_t last = smaller(e.rows, first + kSumRowsAtOnce);
        for (std::int64_t c = where.rest * kAll + lanes.lane(); c < smaller(e.n, (where.rest + 1) * kAll); c += lanes.count()) {
            float sum = 0;
            for (std::int64_t row = first; row < last; ++row) {
                const float dy = e.dy.at(row * e.n + c);
                sum += e.scales == nullptr ? dy : dy * ((e.x.at(row * e.n + c) - e.scales[2 * row]) * e.scales[2 * row + 1]);
            }
            e.partial[where.quotient * e.n + c] = sum;
        }
    }
};

/// The sums of the parts. An item is kAll columns.
struct ColumnTotalBody {
    struct Entry {
        const float* partial = nullptr;
        Elements out;
        std::int64_t parts = 0;
        std::int64_t n = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        for (std::int64_t c = item * kAll + lanes.lane(); c < smaller(e.n, (item + 1) * kAll); c += lanes.count()) {
            double sum = 0;
            for (std::int64_t part = 0; part < e.parts; ++part)
                sum += static_cast<double>(e.partial[part * e.n + c]);
            e.out.set(c, static_cast<float>(sum));
        }
    }
};

} // namespace shardboard::engine::bodies
