// SPDX-License-Identifier: Apache-2.0
// Lists of named mesh axes, `{"data", "x":(2)4, ?}`, and the mesh they name, as Shardy and HloSharding V3 write them.
#pragma once

#include "model/core/layout.h"
#include "model/notation/scanner.h"

namespace shardboard {

/// Whether axis names must stand in quotes (older HloSharding V3 has none).
enum class AxisQuotes { Needed, Optional };

struct AxisList {
    std::vector<AxisRef> axes;
    bool open = false; ///< ends with ?
};

/// Reads `{…}`. Errors: an unknown axis; a sub-axis that does not divide its axis, has size 1 or is all of it;
/// neighbours that must be written as one.
Result<AxisList> readAxisList(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes);
/// The same for the lists after the dims, `replicated={…}`, which must be in mesh order and cannot be open.
Result<std::vector<AxisRef>> readAxisSet(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes, const std::string& name);

/// Reads `"data"=2, "model"=4` up to the closing bracket, which is taken. Errors: another mesh than this one.
Status readMeshAxes(Scanner& scanner, const Mesh& mesh, AxisQuotes quotes);
/// Errors: the text gives another device order than the mesh has.
Status checkDeviceOrder(const Scanner& scanner, const Mesh& mesh, const std::vector<std::int64_t>& ids);

/// `{"data", "x":(2)4}`
std::string axisListText(const std::vector<AxisRef>& axes, const Mesh& mesh);

/// Verifies a layout together with axes that are named but not used in it (explicitly replicated ones).
Status verifyNamedAxes(const Layout& layout, const std::vector<AxisRef>& replicated, const Mesh& mesh, const std::string& where);

} // namespace shardboard
