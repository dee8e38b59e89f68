// SPDX-License-Identifier: Apache-2.0
#include "model/io/design/designfile.h"

#include "model/io/file/textfile.h"

namespace shardboard {

Result<Design> readDesign(const std::string& path)
{
    const auto text = readTextFile(path, kLargestDesign);
    if (!text.ok())
        return text.error();
    return designFromText(text.value(), path);
}

Status writeDesign(const std::string& path, const Design& design) { return writeFileAtomically(path, designText(design)); }

} // namespace shardboard
