// SPDX-License-Identifier: Apache-2.0
// shardctl export: a design as another framework's configuration.
#include "app/ctl/commands.h"
#include "model/io/targets/targets.h"

#include <iostream>

namespace shardboard {

int exportCommand(const Arguments& arguments)
{
    for (const char* required : { "--to", "-o" })
        if (!arguments.has(required))
            return report(usageError("shardctl export", std::string(required) + " is missing", "see shardctl export --help"));
    const std::string& path = arguments.positional().front();
    const auto opened = openDesign(path);
    if (!opened.ok())
        return report(opened.error());
    const Design& design = opened.value().design;
    const auto target = exportTargetNamed(arguments.text("--to"));
    if (!target.ok())
        return report(target.error());
    const auto files = exportDesign(*target.value(), design, opened.value().evaluation);
    if (!files.ok())
        return report(ofFile(path, files.error()));
    if (const auto status = writeExport(arguments.text("-o"), files.value()); !status.ok())
        return report(status.error());
    for (const std::string& line : target.value()->leftOut(design, *opened.value().evaluation))
        std::cerr << "note: not in the export: " << line << "\n";
    for (const ExportedFile& file : files.value())
        std::cout << arguments.text("-o") << "/" << file.name << "\n";
    return kDone;
}

} // namespace shardboard
