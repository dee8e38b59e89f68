// SPDX-License-Identifier: Apache-2.0
// JAX's PartitionSpec. The text itself is model/core's, which design files use too; there sub-axes are an extension
// that JAX does not know, so that writing for JAX refuses them.
#include "model/notation/canonical.h"
#include "model/notation/notations.h"

namespace shardboard {

Result<std::string> writeJax(const Layout& layout, const Mesh& mesh)
{
    if (const AxisRef* ref = firstSubAxis(layout))
        return subAxisError("JAX", *ref, mesh);
    return specText(layout, mesh);
}

Result<Layout> readJax(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    return parseSpec(text, mesh, rank, where);
}

} // namespace shardboard
