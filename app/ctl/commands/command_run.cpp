// SPDX-License-Identifier: Apache-2.0
// shardctl run: from a design to the worker.
#include "app/ctl/commands.h"
#include "app/ctl/commands/runreport.h"
#include "app/ctl/engineoptions.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/file/textfile.h"
#include "model/io/runs/keptruns.h"
#include "model/io/wire/backends.h"
#include "model/text/visibletext.h"

#include <filesystem>

namespace shardboard {

namespace {

Result<RunCommand> runCommandOf(const Arguments& arguments, std::int64_t mostLayers)
{
    RunCommand command;
    command.json = arguments.has("--json");
    RunOptions& options = command.options;
    options.backend = arguments.text("--backend", "cpu");
    if (!isBackendName(options.backend))
        return usageError("--backend", "there is no backend '" + options.backend + "'", kBackendsText);
    for (const char* option : { "--layers", "--no-ends" })
        if (mostLayers == 0 && arguments.has(option))
            return usageError(option, "a single module has no layers", "leave it out");
    constexpr std::int64_t kMostSteps = 100000; // the engine's limit
    const auto layers = arguments.integer("--layers", 0, 1, mostLayers);
    if (!layers.ok())
        return layers.error();
    options.layers = layers.value();
    const auto steps = arguments.integer("--steps", 1, 1, kMostSteps);
    if (!steps.ok())
        return steps.error();
    options.steps = steps.value();
    const auto seed = arguments.integer("--seed", 1, 0, std::int64_t { 1 } << 62);
    if (!seed.ok())
        return seed.error();
    options.seed = static_cast<std::uint64_t>(seed.value());
    const std::string dtype = arguments.text("--dtype", "f32");
    if (dtype != "f32" && dtype != "design")
        return usageError("--dtype", "'" + dtype + "' is not a way to run", "use f32 or design");
    options.designDtype = dtype == "design";
    options.verify = arguments.has("--verify");
    options.ends = !arguments.has("--no-ends");
    options.breakCollective = arguments.text("--break-collective");
    command.profilePath = arguments.text("--profile");
    command.tracePath = arguments.text("--trace");
    command.projectTo = arguments.text("--project");
    const bool measures = arguments.has("--profile") || arguments.has("--trace") || arguments.has("--keep");
    const std::string mode = arguments.text("--profile-mode", measures ? "batched" : "none");
    const auto profile = profileModeFromName(mode);
    if (!profile || (arguments.has("--profile-mode") && *profile == ProfileMode::None))
        return usageError("--profile-mode", "'" + mode + "' is not a way to profile", "use serial or batched");
    options.profile = *profile;
    return command;
}

/// Keeps the run with the design as it lies on the disk.
Status prepareKeeping(const Arguments& arguments, const Design& design, RunCommand& command)
{
    if (!arguments.has("--keep")) {
        if (arguments.has("--name"))
            return usageError("--name", "only a run that is kept has a name", "add --keep");
        return done();
    }
    const std::string root = arguments.text("--keep", defaultRunsFolder());
    if (root.empty())
        return usageError("--keep", "there is no home folder to keep runs in", "give a folder");
    const std::string path = arguments.positional().front();
    const auto text = readTextFile(path);
    if (!text.ok())
        return text.error();
    NewRun run;
    run.made = timeStamp();
    run.design = std::filesystem::path(path).filename().string();
    run.hardware = design.hardware;
    run.mesh = design.mesh.text();
    run.options = command.options;
    run.designText = text.value();
    const std::string name = arguments.text("--name", freshRunName(root, run.design, run.made));
    if (auto status = checkNewName(name); !status.ok())
        return status;
    command.keep = [root, name, run = std::move(run)](const RunResult& result, const RunProfile& profile) mutable -> Status {
        run.result = result;
        if (profile.mode != ProfileMode::None)
            run.profile = profile;
        auto status = keepRun(root, name, run);
        if (status.ok())
            std::fprintf(stderr, "kept as %s in %s\n", name.c_str(), visibleText(root).c_str());
        return status;
    };
    return done();
}

} // namespace

int runDesignCommand(const Arguments& arguments)
{
    // A projection runs the plan as the target gets it, whose links decide which reshards are the cheapest.
    const std::string target = arguments.text("--project");
    const auto opened = openDesign(arguments.positional().front(), Misfits::Refuse, [&](Design& design) -> Status {
        if (target.empty())
            return done();
        auto known = hardwareNamed(target, "--project");
        if (!known.ok())
            return known.error();
        setHardware(design, std::move(known).value());
        return done();
    });
    if (!opened.ok())
        return report(opened.error());
    const Design& design = opened.value().design;
    if (!design.model.hasGraph())
        return report(inputError(arguments.positional().front(), "there is nothing to run: " + design.model.notUnderstood,
                                 "run a model of a family that is understood"));
    const auto command = runCommandOf(arguments, design.model.layers);
    if (!command.ok())
        return report(command.error());
    if (command.value().options.designDtype && bitsOf(design.workload.dtype) < 16)
        return report(inputError(arguments.positional().front(),
                                 "values of " + dtypeName(design.workload.dtype) + " cannot be emulated on the CPU",
                                 "run it with --dtype f32"));
    RunCommand run = command.value();
    const auto start = engineStartOf(arguments, run.options.backend);
    if (!start.ok())
        return report(start.error());
    const auto engine = engineCommandFor(run.options.backend, start.value(), design.mesh.deviceCount());
    if (!engine.ok())
        return report(engine.error());
    run.engine = engine.value();
    run.dtype = design.workload.dtype;
    if (auto status = prepareKeeping(arguments, design, run); !status.ok())
        return report(status.error());
    return executeRun(opened.value().evaluation->graph, opened.value().evaluation->plan, run);
}

} // namespace shardboard
