// SPDX-License-Identifier: Apache-2.0
// Texts that gzip compressed.
#pragma once

#include "model/core/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace shardboard {

bool isGzip(std::string_view bytes);
/// Errors: damaged, cut off, more than `limit` bytes.
Result<std::string> gunzip(std::string_view bytes, const std::string& where, std::size_t limit);

} // namespace shardboard
