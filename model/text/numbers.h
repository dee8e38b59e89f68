// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: three significant digits, binary units for memory, seconds with a fitting unit.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <string>

namespace shardboard {

std::string bytesText(std::int64_t bytes); ///< `128 MiB`, `14.96 GiB`, `512 B`
std::string secondsText(double seconds); ///< `0.36 ms`, `12.4 µs`, `1.5 s`
std::string countText(std::int64_t count); ///< `8,030,261,248`
std::string counted(std::int64_t count, const std::string& what); ///< `1 weight`, `2 weights`
/// As printf.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);
std::string formattedList(const char* format, std::va_list arguments);

} // namespace shardboard
