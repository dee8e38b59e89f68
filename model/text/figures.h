// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, everywhere: three significant digits, thousands with a comma, binary units for memory, decimal ones
// for rates, seconds with a fitting unit. What writes numbers for people asks here; what others read has all digits and no commas.
#pragma once

#include <cstdint>
#include <string>

namespace shardboard::figures {

std::string digits(double value); ///< `26,516`, `131`, `43.1`, `0.36`, `8`
std::string exact(double value); ///< to nine digits: `26,515.8255`
std::string count(std::int64_t value); ///< `8,030,261,248`
std::string bytes(std::int64_t value); ///< `128 MiB`, `0.979 GiB`, `512 B`
std::string seconds(double value); ///< `360 µs`, `1.5 s`, `0 s`
std::string percent(double share); ///< of 1: `20.2 %`, `100 %`, `0.36 %`
std::string bytesPerSecond(double value); ///< `370 GB/s`, `3,350 GB/s`, as vendors say it

} // namespace shardboard::figures
