// SPDX-License-Identifier: Apache-2.0
// HloSharding V3, which names mesh axes: {mesh['data'=2,'model'=4], [{'model'}, {}], unreduced={'data'}}; older
// versions print no quotes, still older @mesh<data=2,model=4>. Only read: V2 is understood by every version.
#pragma once

#include "model/core/layout.h"
#include "model/notation/scanner.h"

namespace shardboard {

/// Whether what follows the opening brace is V3.
bool isNamedHlo(Scanner& scanner);
/// Reads V3 after its opening brace to the end of the text.
Result<Layout> readNamedHlo(Scanner& scanner, const Mesh& mesh, std::size_t rank);
/// Reads ` device=3`, or `[device_id=3]` of a maximal mesh. Errors: the mesh is not that one device.
Status readMaximal(Scanner& scanner, const Mesh& mesh);

} // namespace shardboard
