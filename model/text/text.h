// SPDX-License-Identifier: Apache-2.0
// Small text helpers for parsers and messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);
/// Parts between separators, trimmed; one empty part for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> split(std::string&& text, char separator) = delete; // the parts would outlive it
/// A whole decimal number that fits in 63 bits, with an optional minus; nothing else around it.
std::optional<std::int64_t> parseInteger(std::string_view text);
/// The parts with the separator between them.
std::string joined(const std::vector<std::string>& parts, const std::string& separator = ", ");
std::string lowered(std::string_view text);
/// Letters to change, add or leave out to make one word the other.
std::size_t editDistance(std::string_view a, std::string_view b);

} // namespace shardboard
