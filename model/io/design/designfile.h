// SPDX-License-Identifier: Apache-2.0
// The design file *.shardboard: one JSON document, keys sorted, one line per entry, unknown keys kept, saved atomically.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"
#include "model/io/file/textfile.h"

#include <cstddef>
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

} // namespace shardboard
