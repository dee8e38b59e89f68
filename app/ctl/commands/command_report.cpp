// SPDX-License-Identifier: Apache-2.0
// shardctl report: a design as one HTML page.
#include "app/ctl/commands.h"
#include "model/io/file/textfile.h"
#include "model/io/report/report.h"
#include "model/io/runs/keptruns.h"
#include "model/text/visibletext.h"

#include <cstdio>
#include <filesystem>
#include <utility>

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

Result<ReportedRun> reportedRun(const Arguments& arguments, const std::string& name)
{
    const std::string root = arguments.text("--runs", defaultRunsFolder());
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
    if (arguments.has("--other-run") && !arguments.has("--run"))
        return report(usageError("--other-run", "there is no run to compare it with", "give --run as well"));
    for (auto& [option, to] : { std::pair { "--run", &input.run }, std::pair { "--other-run", &input.otherRun } }) {
        if (!arguments.has(option))
            continue;
        auto run = reportedRun(arguments, arguments.text(option));
        if (!run.ok())
            return report(run.error());
        *to = std::move(run).value();
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
