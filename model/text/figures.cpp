// SPDX-License-Identifier: Apache-2.0
#include "model/text/figures.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace shardboard::figures {

namespace {

/// `26516.5` is `26,516.5`.
std::string grouped(std::string number)
{
    const std::size_t first = number.starts_with('-') ? 1 : 0;
    const std::size_t point = std::min(number.find('.'), number.size());
    for (std::size_t at = point; at > first + 3;) {
        at -= 3;
        number.insert(at, ",");
    }
    return number;
}

std::string printed(const char* format, int digits, double value)
{
    std::array<char, 400> text {}; // the largest number has 309 digits
    std::snprintf(text.data(), text.size(), format, digits, value);
    return text.data();
}

int decimalsOf(double size) { return size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3; }

} // namespace

std::string digits(double value)
{
    if (!std::isfinite(value))
        return value != value ? "?" : value < 0 ? "-∞" : "∞";
    const double size = std::abs(value);
    const double step = std::pow(10.0, decimalsOf(size));
    // 9.996 rounds to 10.00: take the decimals of what is shown.
    const double shown = std::round(size * step) / step;
    if (shown == 0)
        return "0";
    std::string out = printed("%.*f", decimalsOf(shown), std::copysign(shown, value)); // 250.5 is 251
    if (out.find('.') != std::string::npos) {
        while (out.back() == '0')
            out.pop_back();
        if (out.back() == '.')
            out.pop_back();
    }
    return grouped(std::move(out));
}

std::string exact(double value)
{
    std::string out = printed("%.*g", 9, value);
    return out.find('e') == std::string::npos ? grouped(std::move(out)) : out; // an exponent has no thousands
}

std::string percent(double share) { return digits(100 * share) + " %"; }

std::string count(std::int64_t value) { return grouped(std::to_string(value)); }

std::string bytes(std::int64_t value)
{
    constexpr std::array<const char*, 7> kUnits { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    auto shown = static_cast<double>(value);
    std::size_t unit = 0;
    // 999.5 and more would be shown with four digits, so it goes to the next unit early: 0.98 GiB, not 1000 MiB.
    while (std::abs(shown) >= 999.5 && unit + 1 < kUnits.size()) {
        shown /= 1024;
        ++unit;
    }
    return digits(shown) + " " + kUnits[unit];
}

std::string seconds(double value)
{
    if (value == 0)
        return "0 s";
    constexpr std::array<const char*, 4> kUnits { "s", "ms", "µs", "ns" };
    std::size_t unit = 0;
    while (std::abs(value) < 0.9995 && unit + 1 < kUnits.size()) {
        value *= 1000;
        ++unit;
    }
    return digits(value) + " " + kUnits[unit];
}

std::string bytesPerSecond(double value) { return digits(value / 1e9) + " GB/s"; }

} // namespace shardboard::figures
