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

namespace {

/// What an export that ended at a file left: `the export is incomplete: export.py is written, shards.json is not`.
std::string leftBy(const std::vector<ExportedFile>& files, std::size_t failed)
{
    if (failed == 0)
        return "nothing was exported";
    const auto names = [&](std::size_t from, std::size_t to) {
        std::string out;
        for (std::size_t i = from; i < to; ++i)
            out += (i == from ? "" : i + 1 == to ? " and " : ", ") + files[i].name;
        return out + (to - from == 1 ? " is" : " are");
    };
    return "the export is incomplete: " + names(0, failed) + " written, " + names(failed, files.size()) + " not";
}

} // namespace

Status writeExport(const std::string& folder, const std::vector<ExportedFile>& files, const std::function<bool()>& stopped)
{
    if (stopped && stopped())
        return Cancelled {};
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder, error))
        return inputError(folder, "the folder cannot be made" + (error ? ": " + error.message() : std::string()) + ", so nothing was exported",
                          "choose a folder that can be written");
    for (const ExportedFile& file : files) {
        if (stopped && stopped())
            return Cancelled {};
        const Status status = writeFileAtomically((std::filesystem::path(folder) / file.name).string(), file.content);
        if (!status.ok()) {
            Error told = status.error();
            told.what += ", so " + leftBy(files, static_cast<std::size_t>(&file - files.data()));
            return told;
        }
    }
    return done();
}

} // namespace shardboard
