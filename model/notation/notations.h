// SPDX-License-Identifier: Apache-2.0
// Inside model/notation: one pair of functions per notation. Writers get canonical layouts, readers return verified
// ones.
#pragma once

#include "model/core/layout.h"

#include <string>
#include <string_view>

namespace shardboard {

Result<std::string> writeJax(const Layout& layout, const Mesh& mesh);
Result<std::string> writeShardy(const Layout& layout, const Mesh& mesh);
Result<std::string> writeHlo(const Layout& layout, const Mesh& mesh); ///< V2
Result<std::string> writeHloV1(const Layout& layout, const Mesh& mesh);
Result<std::string> writeDTensor(const Layout& layout, const Mesh& mesh);
Result<std::string> writeMax(const Layout& layout, const Mesh& mesh);

Result<Layout> readJax(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);
Result<Layout> readShardy(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);
Result<Layout> readHlo(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);
Result<Layout> readDTensor(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);
Result<Layout> readMax(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);

} // namespace shardboard
