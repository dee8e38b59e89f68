// SPDX-License-Identifier: Apache-2.0
#include "model/text/numbers.h"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace shardboard {

namespace {

/// Three significant digits, more only before the point; four where the unit's step of 1024 asks for it.
std::string threeDigits(double value)
{
    std::string out = formatted(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    if (out.find('.') != std::string::npos) {
        while (out.back() == '0')
            out.pop_back();
        if (out.back() == '.')
            out.pop_back();
    }
    return out;
}

} // namespace

std::string counted(std::int64_t count, const std::string& what)
{
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string formattedList(const char* format, std::va_list arguments)
{
    std::va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, arguments);
    std::string text(static_cast<std::size_t>(size < 0 ? 0 : size) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, again);
    va_end(again);
    text.pop_back();
    return text;
}

std::string formatted(const char* format, ...)
{
    std::va_list arguments;
    va_start(arguments, format);
    std::string text = formattedList(format, arguments);
    va_end(arguments);
    return text;
}

std::string bytesText(std::int64_t bytes)
{
    constexpr std::array<const char*, 7> kUnits { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return threeDigits(value) + " " + kUnits[unit];
}

std::string secondsText(double seconds)
{
    if (seconds == 0)
        return "0";
    constexpr std::array<const char*, 4> kUnits { "s", "ms", "µs", "ns" };
    std::size_t unit = 0;
    while (std::abs(seconds) < 0.9995 && unit + 1 < kUnits.size()) {
        seconds *= 1000;
        ++unit;
    }
    return threeDigits(seconds) + " " + kUnits[unit];
}

std::string countText(std::int64_t count)
{
    std::string digits = std::to_string(count);
    for (std::size_t i = digits.size(); i > 3 + (count < 0 ? 1u : 0u);) {
        i -= 3;
        digits.insert(i, ",");
    }
    return digits;
}

} // namespace shardboard
