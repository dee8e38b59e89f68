// SPDX-License-Identifier: Apache-2.0
// shardctl report: a design as one HTML page.
#include "app/ctl/commands.h"
#include "model/io/file/textfile.h"
#include "model/io/report/report.h"
#include "model/io/runs/keptruns.h"
#include "model/text/visibletext.h"

#include <cstdio>
#include <filesystem>

namespace shardboard {

namespace {

Result<ReportedDesign> reported(const std::string& path)
{
    auto opened = openDesign(path, Misfits::Replicate);
    if (!opened.ok())
        return opened.error();
    if (!opened.value().design.model.hasGraph())
        return inputError(path, "there is no plan: " + opened.value().design.model.notUnderstood,
                          "give a design of a family that is understood");
    return ReportedDesign { std::filesystem::path(path).filename().string(), std::move(opened.value().design),
                            std::move(opened.value().evaluation) };
}

Result<ReportedRun> reportedRun(const Arguments& arguments)
{
    const std::string root = arguments.text("--runs", defaultRunsFolder());
    const std::string name = arguments.text("--run");
    if (root.empty())
        return usageError("--runs", "there is no home folder with kept runs", "give a folder");
    auto run = keptRun(root, name);
    if (!run.ok())
        return run.error();
    auto profile = keptProfile(root, name);
    if (!profile.ok())
        return profile.error();
    return ReportedRun { name, run.value().made, std::move(run.value().result), std::move(profile).value() };
}

} // namespace

int reportCommand(const Arguments& arguments)
{
    ReportInput input;
    auto design = reported(arguments.positional().front());
    if (!design.ok())
        return report(design.error());
    input.design = std::move(design).value();
    auto hardware = hardwareOf(input.design.design);
    if (!hardware.ok())
        return report(hardware.error());
    input.hardware = std::move(hardware).value();
    for (const std::string& path : arguments.texts("--compare")) {
        auto other = reported(path);
        if (!other.ok())
            return report(other.error());
        input.others.push_back(std::move(other).value());
    }
    if (arguments.has("--run")) {
        auto run = reportedRun(arguments);
        if (!run.ok())
            return report(run.error());
        input.run = std::move(run).value();
    }
    input.made = timeStamp();
    input.program = "shardctl";
    const std::string path = arguments.text("-o", "report.html");
    const std::string page = reportHtml(input);
    if (const auto status = writeFileAtomically(path, page); !status.ok())
        return report(status.error());
    std::printf("%s\n", visibleText(path).c_str());
    return kDone;
}

} // namespace shardboard
