// SPDX-License-Identifier: Apache-2.0
// shardctl dump: the layout of a design as golden files.
#include "app/ctl/commands.h"
#include "model/io/layouts/designdump.h"
#include "model/text/numbers.h"

#include <iostream>

namespace shardboard {

int dumpCommand(const Arguments& arguments)
{
    if (!arguments.has("-o"))
        return report(usageError("shardctl dump", "-o is missing", "name the folder to write to"));
    const auto open = openDesign(arguments.positional()[0]);
    if (!open.ok())
        return report(open.error());
    const std::string folder = arguments.text("-o");
    if (const auto status = canDump(open.value().design, *open.value().evaluation); !status.ok())
        return report(ofFile(arguments.positional()[0], status.error()));
    const auto counts = writeDump(open.value().design, *open.value().evaluation, folder);
    if (!counts.ok())
        return report(counts.error());
    std::cout << folder << ": " << countText(counts.value().weights) << " weights, " << countText(counts.value().activations)
              << " activations on mesh " << open.value().design.mesh.text() << "\n";
    return kDone;
}

} // namespace shardboard
