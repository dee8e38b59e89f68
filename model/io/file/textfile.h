// SPDX-License-Identifier: Apache-2.0
// Files by whole content.
#pragma once

#include "model/core/result.h"
#include "model/io/file/filesave.h"
#include "model/io/file/textsink.h"

#include <cstddef>
#include <string>

namespace shardboard {

/// Errors name the path and the system's reason. `limit` in bytes protects against wrong files.
Result<std::string> readTextFile(const std::string& path, std::size_t limit = std::size_t { 256 } << 20);
Status writeFileAtomically(const std::string& path, const std::string& content);

/// The same of a text that is made piece by piece; a text that ends early is cancelled, and leaves what was there.
Status writeFileAtomically(const std::string& path, const TextSource& text, Links links = Links::Follow);

} // namespace shardboard
