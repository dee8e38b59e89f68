// SPDX-License-Identifier: Apache-2.0
// shardctl dump: the layout of a design as golden files.
#include "app/ctl/commands.h"
#include "model/core/numbers.h"
#include "model/formats/designdump.h"

#include <iostream>

namespace shardboard {

int dumpCommand(const Arguments& arguments)
{
    if (!arguments.has("-o"))
        return report(usageError("shardctl dump", "-o is missing", "name the folder to write to"));
    const auto open = openDesign(arguments.positional()[0]);
    if (!open.ok())
        return report(open.error());
    const auto dump = dumpOf(open.value().design, *open.value().evaluation);
    if (!dump.ok())
        return report(dump.error());
    const std::string folder = arguments.text("-o");
    if (const auto status = writeDump(dump.value(), folder); !status.ok())
        return report(status.error());
    std::cout << folder << ": " << countText(static_cast<std::int64_t>(dump.value().named.entries.size())) << " weights, "
              << countText(static_cast<std::int64_t>(dump.value().activations.entries.size())) << " activations on mesh "
              << open.value().design.mesh.text() << "\n";
    return kDone;
}

} // namespace shardboard
