// SPDX-License-Identifier: Apache-2.0
// Independent answers for the kernels: functions in double and their gradients by central differences.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace shardboard::engine::numeric {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Values around `mean`; the same for the same seed.
inline Floats randomFloats(std::int64_t count, unsigned seed, double mean = 0, double deviation = 1)
{
    std::mt19937 generator(seed);
    Floats out;
    for (std::int64_t i = 0; i < count; ++i) // sum of three uniform values: some larger ones among them
        out.push_back(static_cast<float>(mean
                                         + deviation
                                             * (static_cast<double>(generator()) + static_cast<double>(generator())
                                                + static_cast<double>(generator()) - 1.5 * 4294967295.0)
                                             / 2147483648.0));
    return out;
}

inline Doubles doubles(const Floats& values) { return Doubles(values.begin(), values.end()); }

inline double dot(const Doubles& a, const Doubles& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

/// The slope of f along every element of x.
inline Doubles gradientOf(const std::function<double(const Doubles&)>& f, Doubles x, double step = 1e-5)
{
    Doubles out;
    for (double& element : x) {
        const double value = element;
        element = value + step;
        const double above = f(x);
        element = value - step;
        out.push_back((above - f(x)) / (2 * step));
        element = value;
    }
    return out;
}

/// The slope of f at x along `direction`.
inline double slopeAlong(const std::function<double(const Doubles&)>& f, const Doubles& x, const Doubles& direction,
                         double step = 1e-5)
{
    Doubles above = x;
    Doubles below = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
        above[i] += step * direction[i];
        below[i] -= step * direction[i];
    }
    return (f(above) - f(below)) / (2 * step);
}

/// Distance relative to the expected values' size; large when the counts differ or a value is not a number.
inline double errorOf(const Floats& got, const Doubles& expected)
{
    if (got.size() != expected.size())
        return 1e9;
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double d = double { got[i] } - expected[i];
        difference += d * d;
        size += expected[i] * expected[i];
    }
    const double error = std::sqrt(difference / (size > 0 ? size : 1));
    return std::isfinite(error) ? error : 1e9;
}

} // namespace shardboard::engine::numeric

/// Fails the test with the error in the message. `got` are floats, `expected` doubles.
#define VERIFY_NEAR(got, expected, tolerance)                                                                                      \
    do {                                                                                                                           \
        const double error_ = shardboard::engine::numeric::errorOf((got), (expected));                                             \
        QVERIFY2(error_ < (tolerance), std::to_string(error_ * 1e6).append("e-6").c_str());                                        \
    } while (false)
