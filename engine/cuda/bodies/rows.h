// SPDX-License-Identifier: Apache-2.0
// Norms with their gradients, row by row, and sums over rows.
#pragma once

#include "engine/cuda/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::cuda {

/// Both norms are out = (x - mean) * inverse * (weight + offset) + bias; RMSNorm has mean 0 and no bias.
struct NormRule {
    float epsilon = 0;
    float offset = 0; ///< added to the weight
    std::int32_t centred = 0; ///< 1: LayerNorm
    std::int64_t n = 0; ///< elements of a row
};

struct RowScale {
    float mean;
    float inverse;
};

template <class Lanes>
SHARDBOARD_BOTH RowScale rowScaleOf(const Lanes& lanes, const NormRule& rule, const Elements& x, std::int64_t row)
{
    using Sum = typename Lanes::Sum;
    const bool packed = rule.n % kPack == 0;
    const Sum size = static_cast<Sum>(rule.n);
    float mean = 0;
    if (rule.centred != 0) {
        Sum sum = 0;
        forEachOf(lanes, rule.n, packed, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> values;
            x.load<W>(row * rule.n + i, values);
            for (int j = 0; j < W; ++j)
                sum += values[j];
        });
        mean = static_cast<float>(lanes.sum(sum) / size);
    }
    Sum squares = 0;
    forEachOf(lanes, rule.n, packed, [&](std::int64_t i, auto w) {
        constexpr int W = decltype(w)::value;
        Floats<W> values;
        x.load<W>(row * rule.n + i, values);
        for (int j = 0; j < W; ++j)
            squares += static_cast<Sum>((values[j] - mean) * (values[j] - mean));
    });
    const Sum variance = lanes.sum(squares) / size;
    return { mean, static_cast<float>(1.0 / sqrt(static_cast<double>(variance) + static_cast<double>(rule.epsilon))) };
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
        const RowScale scale = rowScaleOf(lanes, rule, e.x, row);
        forEachOf(lanes, rule.n, rule.n % kPack == 0, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> values;
            Floats<W> weights;
            Floats<W> biases = {};
            e.x.template load<W>(row * rule.n + i, values);
            e.weight.template load<W>(i, weights);
            if (e.bias.data != nullptr)
                e.bias.template load<W>(i, biases);
            for (int j = 0; j < W; ++j)
                values[j] = (values[j] - scale.mean) * scale.inverse * (weights[j] + rule.offset) + biases[j];
            e.out.template store<W>(row * rule.n + i, values);
        });
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
        using Sum = typename Lanes::Sum;
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        const bool packed = rule.n % kPack == 0;
        const RowScale scale = rowScaleOf(lanes, rule, e.x, row);
        Sum gradients = 0;
        Sum products = 0;
        forEachOf(lanes, rule.n, packed, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> g;
            Floats<W> x;
            gradientOf<W>(e, row * rule.n + i, i, g, x);
            for (int j = 0; j < W; ++j) {
                gradients += g[j];
                products += static_cast<Sum>(g[j] * ((x[j] - scale.mean) * scale.inverse));
            }
        });
        const Sum size = static_cast<Sum>(rule.n);
        const float gradientMean = rule.centred != 0 ? static_cast<float>(lanes.sum(gradients) / size) : 0.0f;
        const float productMean = static_cast<float>(lanes.sum(products) / size);
        forEachOf(lanes, rule.n, packed, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> g;
            Floats<W> x;
            gradientOf<W>(e, row * rule.n + i, i, g, x);
            for (int j = 0; j < W; ++j)
                g[j] = scale.inverse * (g[j] - gradientMean - (x[j] - scale.mean) * scale.inverse * productMean);
            e.out.template store<W>(row * rule.n + i, g);
        });
    }

private:
    template <int W>
    SHARDBOARD_BOTH void gradientOf(const Entry& e, std::int64_t at, std::int64_t column, float* g, float* x) const
    {
        Floats<W> weights;
        e.dy.template load<W>(at, g);
        e.x.template load<W>(at, x);
        e.weight.template load<W>(column, weights);
        for (int j = 0; j < W; ++j)
            g[j] *= weights[j] + rule.offset;
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

} // namespace shardboard::engine::cuda
