// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/decimal.h"

#include <charconv>
#include <string>

namespace shardboard {

double inUnits(double value, int exponent)
{
    // Digits are shifted in text, which rounds once; a product rounds the factors and itself.
    char digits[64];
    const auto written = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific, 11);
    const std::string text(digits, written.ptr);
    const auto e = text.find('e');
    int own = 0;
    const char* sign = text.data() + e + 1;
    std::from_chars(*sign == '+' ? sign + 1 : sign, text.data() + text.size(), own);
    const std::string shifted = text.substr(0, e + 1) + std::to_string(own + exponent);
    double out = value;
    std::from_chars(shifted.data(), shifted.data() + shifted.size(), out);
    return out;
}

} // namespace shardboard
