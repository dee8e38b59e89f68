// SPDX-License-Identifier: Apache-2.0
// Parses one line of the protocol safely: nesting is bounded before the parser recurses, nothing throws.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace shardboard {

/// Deeper nesting than this is refused; a run request with its plan needs less than twenty.
inline constexpr int kMaxJsonDepth = 64;

/// Deepest nesting of brackets outside strings. Linear, without recursion; the text need not be valid JSON.
int jsonDepth(std::string_view text);

/// Errors: too deep, not JSON (with the byte at which it stops), not UTF-8. `where` names the line.
Result<nlohmann::json> parseJsonLine(std::string_view line, const std::string& where);

} // namespace shardboard
