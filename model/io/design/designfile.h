// SPDX-License-Identifier: Apache-2.0
// The design file *.shardboard: one JSON document, keys sorted, one line per entry, unknown keys kept, saved atomically.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"
#include "model/io/file/filesave.h"
#include "model/io/file/textsink.h"

#include <string>

namespace shardboard {

inline constexpr int kDesignVersion = 1;
/// Bytes of a design file: one of the largest checkpoints, every tensor listed, has a few MiB.
inline constexpr std::size_t kLargestDesign = std::size_t { 64 } << 20;

std::string designText(const Design& design);
/// `where` names the file for errors, which give line or key: not JSON, a newer version, a wrong type, a bad mesh.
Result<Design> designFromText(const std::string& text, const std::string& where);

Result<Design> readDesign(const std::string& path);
/// As a FileSave: an interrupted save leaves the old file whole.
Status writeDesign(const std::string& path, const Design& design);

/// Files by whole content; errors name the path and the system's reason. `limit` in bytes protects against wrong files.
Result<std::string> readTextFile(const std::string& path, std::size_t limit = std::size_t { 256 } << 20);
Status writeFileAtomically(const std::string& path, const std::string& content);

/// The same of a text that is made piece by piece; a text that ends early is cancelled, and leaves what was there.
Status writeFileAtomically(const std::string& path, const TextSource& text, Links links = Links::Follow);

} // namespace shardboard
