// SPDX-License-Identifier: Apache-2.0
// Patterns of names.
#pragma once

#include <string_view>

namespace shardboard {

/// Glob match of a whole name: `*` any run of characters, `?` one, `[abc]`, `[a-z]`, `[!…]`. Linear in practice and
/// bounded: never exponential.
bool globMatch(std::string_view pattern, std::string_view name);

} // namespace shardboard
