// SPDX-License-Identifier: Apache-2.0
// Names come from files that nobody vouches for. What may stand in a name, and how one is shown where a control
// character would be obeyed: on a terminal, in a picture, in a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// As people may see it, on one line: control characters (also those that turn the direction of writing or end a line)
/// and bytes that are not UTF-8 become escapes such as \x1b, \n, \u202e and \xff; everything else is as it was.
std::string visibleText(std::string_view text);
/// The same for a text of several lines: line ends stay.
std::string visibleLines(std::string_view text);

/// A JSON document with the escapes that JSON has for those that its writer leaves as they are: the same document, to be
/// shown on a terminal. It has to be UTF-8.
std::string visibleJson(std::string document);

/// At most `bytes` bytes, never cut inside a character of UTF-8; "..." follows where something was left out.
std::string shortened(std::string_view text, std::size_t bytes);

/// Whether all of it is well-formed UTF-8: no overlong forms, no surrogates.
bool isUtf8(std::string_view text);

/// Why a text cannot be a name in a design, such as "has the control character \x1b at byte 3"; nothing when it can.
/// Refused: what visibleText would have to escape.
std::optional<std::string> nameProblem(std::string_view name);

} // namespace shardboard
