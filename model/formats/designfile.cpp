// SPDX-License-Identifier: Apache-2.0
#include "model/formats/designfile.h"

namespace shardboard {

namespace {
/// A design of the largest checkpoints, every tensor listed, has a few MiB.
constexpr std::size_t kLargestDesign = std::size_t { 64 } << 20;
}

Result<Design> readDesign(const std::string& path)
{
    const auto text = readTextFile(path, kLargestDesign);
    if (!text.ok())
        return text.error();
    return designFromText(text.value(), path);
}

Status writeDesign(const std::string& path, const Design& design)
{
    return writeFileAtomically(path, designText(design));
}

} // namespace shardboard
