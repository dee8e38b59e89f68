// SPDX-License-Identifier: Apache-2.0
// Norms with their gradients, row by row, and sums over rows.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

/// Both norms are out = (x - mean) * inverse * (weight + offset) + bias; RMSNorm has mean 0 (unless it is centred) and no bias.
struct NormRule {
    double epsilon = 0;
    float offset = 0; ///< added to the weight
    std::int32_t centred = 0; ///< 1: LayerNorm, with or without a bias
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

/// Ones where the norm has no weight.
template <int W, class View>
SHARDBOARD_BOTH void loadWeights(const Elements& of, const View& view, std::int64_t i, Floats<W>& weights)
{
    if (of.data != nullptr)
        view.template load<W>(i, weights);
    else
        for (int j = 0; j < W; ++j)
            weights[j] = 1.0f;
}

struct NormBody {
    struct Entry {
        Elements x, weight, bias, out; ///< no weight or no bias: null
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
    /// Only norms with a mean may have a bias. Vector loops add the bias later, so that no instruction set fuses it.
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
            loadWeights<W>(e.weight, weight, i, weights);
            if (kBiased && e.bias.data != nullptr)
                bias.template load<W>(i, biases);
            for (int j = 0; j < W; ++j) {
                values[j] = (values[j] - mean) * scale.inverse * (weights[j] + offset);
                if (kBiased)
                    values[j] += biases[j];
            }
            out.template store<W>(first + i, values);
        });
        if (Centred && !kBiased && e.bias.data != nullptr)
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
            loadWeights<W>(e.weight, weight, i, weights);
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

/// Sums of parts of the rows, of dy or of dy * (x - mean) * inverse.
struct ColumnSumBody {
    struct Entry {
        Elements dy, x;
        const float* scales = nullptr; ///< null: of dy alone
        float* partial = nullptr; ///< [parts, n]
        std::int64_t rows = 0;
        std::int64_t n = 0;
        SHARDBOARD_BOTH std::int64_t parts() const { return (rows + kSumRowsAtOnce - 1) / kSumRowsAtOnce; }
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    std::int64_t sumsOfItem = kAll; ///< at most kTile

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const std::int64_t n = e.n;
        const std::int64_t rows = e.rows;
        const float* const scales = e.scales;
        const auto dy = lanes.view(e.dy);
        const auto x = lanes.view(e.x);
        Elements partial;
        partial.data = e.partial;
        const auto write = [&](auto partOf) {
            const std::int64_t from = item * sumsOfItem;
            writeSums<float>(lanes, lanes.view(partial), from, smaller(e.parts() * n, from + sumsOfItem), n, partOf);
        };
        if (scales == nullptr)
            write([=](std::int64_t part) {
                return Rows<decltype(dy)> { dy, n, part * kSumRowsAtOnce, smaller(rows - part * kSumRowsAtOnce, kSumRowsAtOnce) };
            });
        else
            write([=](std::int64_t part) {
                return NormRows<decltype(dy)> {
                    dy, x, scales, n, part * kSumRowsAtOnce, smaller(rows - part * kSumRowsAtOnce, kSumRowsAtOnce)
                };
            });
    }

private:
    template <class View>
    struct Rows {
        View dy;
        std::int64_t n, first, count;
        SHARDBOARD_BOTH ScaledRow<View> at(std::int64_t row) const { return { dy, (first + row) * n, 1.0f }; }
    };
    template <class View>
    struct NormRow {
        View dy, x;
        std::int64_t first;
        float mean, inverse;
        static SHARDBOARD_BOTH constexpr bool none() { return false; }
        SHARDBOARD_BOTH float operator()(std::int64_t i) const { return dy.at(first + i) * ((x.at(first + i) - mean) * inverse); }
    };
    template <class View>
    struct NormRows {
        View dy, x;
        const float* scales;
        std::int64_t n, first, count;
        SHARDBOARD_BOTH NormRow<View> at(std::int64_t row) const
        {
            return { dy, x, (first + row) * n, scales[2 * (first + row)], scales[2 * (first + row) + 1] };
        }
    };
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
        Parts parts { e.partial, e.n, e.parts };
        writeSums<double>(lanes, lanes.view(e.out), item * kAll, smaller(e.n, (item + 1) * kAll), e.n,
                          [=](std::int64_t) { return parts; });
    }

private:
    struct Part {
        const float* sums;
        static SHARDBOARD_BOTH constexpr bool none() { return false; }
        SHARDBOARD_BOTH double operator()(std::int64_t i) const { return static_cast<double>(sums[i]); }
    };
    struct Parts {
        const float* partial;
        std::int64_t n, count;
        SHARDBOARD_BOTH Part at(std::int64_t part) const { return { partial + part * n }; }
    };
};

} // namespace shardboard::engine::bodies
