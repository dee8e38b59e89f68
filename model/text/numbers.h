// SPDX-License-Identifier: Apache-2.0
// Numbers in sentences: what model/text/figures.h makes of them, under short names.
#pragma once

#include "model/text/figures.h"

#include <cstdarg>
#include <cstdint>
#include <string>

namespace shardboard {

inline std::string bytesText(std::int64_t bytes) { return figures::bytes(bytes); }
inline std::string secondsText(double seconds) { return figures::seconds(seconds); }
inline std::string countText(std::int64_t count) { return figures::count(count); }
std::string counted(std::int64_t count, const std::string& what); ///< `1 weight`, `2 weights`
/// As printf.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);
std::string formattedList(const char* format, std::va_list arguments);

} // namespace shardboard
