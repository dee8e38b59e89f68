// SPDX-License-Identifier: Apache-2.0
#include "model/formats/exporter.h"

#include "model/core/text.h"
#include "model/formats/designfile.h"
#include "model/formats/jaxexport.h"

#include <filesystem>

namespace shardboard {

std::vector<std::string> exportTargets() { return { "jax" }; }

Result<std::vector<ExportedFile>> exportDesign(const std::string& target, const Design& design, const Evaluation& evaluation,
                                               const std::function<bool()>& stopped)
{
    if (target == "jax")
        return exportJax(design, evaluation, stopped);
    return usageError("--to", "there is no export target '" + target + "'", "targets are " + joined(exportTargets()));
}

std::vector<Error> exportRefusals(const std::string& target, const Design& design, const Evaluation& evaluation)
{
    return target == "jax" ? jaxRefusals(design, evaluation) : std::vector<Error>();
}

Status writeExport(const std::string& folder, const std::vector<ExportedFile>& files, const std::function<bool()>& stopped)
{
    if (stopped && stopped())
        return Cancelled {};
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder, error))
        return inputError(folder, "the folder cannot be made" + (error ? ": " + error.message() : std::string()),
                          "choose a folder that can be written");
    for (const ExportedFile& file : files) {
        if (stopped && stopped())
            return Cancelled {};
        if (auto status = writeFileAtomically((std::filesystem::path(folder) / file.name).string(), file.content); !status.ok())
            return status;
    }
    return done();
}

} // namespace shardboard
