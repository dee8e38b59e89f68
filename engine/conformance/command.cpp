// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/command.h"

#include "engine/backends/backends.h"
#include "engine/conformance/sameas.h"
#include "engine/machine/clock.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

namespace shardboard::conformance {

namespace {

constexpr std::int64_t kMostInMeshes = 8; ///< logical devices of the suite's meshes

bool readNumber(const char* text, std::uint64_t& out)
{
    const char* end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, out);
    return read.ec == std::errc() && read.ptr == end;
}

int usage(const std::string& what)
{
    std::fprintf(stderr,
                 "shardboard-engine --conformance: %s\n"
                 "usage: shardboard-engine --conformance [BACKEND] [--filter TEXT] [--devices N] [--seed N] [--same-as BACKEND] "
                 "[--verbose]\n",
                 what.c_str());
    return 2;
}

} // namespace

int runCommand(int argc, char** argv, Options options)
{
    std::string name = "cpu";
    std::string reference; // held to it bit for bit
    bool verbose = false;
    for (int i = 0; i < argc; ++i) {
        const std::string argument = argv[i];
        const bool takes = argument == "--filter" || argument == "--devices" || argument == "--seed" || argument == "--same-as";
        if (takes && i + 1 == argc)
            return usage(argument + " needs a value");
        std::uint64_t number = 0;
        if (argument == "--filter")
            options.filter = argv[++i];
        else if (argument == "--same-as")
            reference = argv[++i];
        else if (argument == "--verbose")
            verbose = true;
        else if (takes && !readNumber(argv[++i], number))
            return usage(argument + " needs a number");
        else if (argument == "--devices" && (number < 1 || number > 64))
            return usage("--devices is 1 to 64");
        else if (argument == "--devices")
            options.devices = static_cast<std::int64_t>(number);
        else if (argument == "--seed")
            options.seed = number;
        else if (argument.starts_with("-"))
            return usage("there is no option '" + argument + "'");
        else
            name = argument;
    }
    const auto backend = engine::backendNamed(name, "--conformance");
    if (const auto* failure = std::get_if<engine::Failure>(&backend)) {
        std::fprintf(stderr, "%s\n", failure->message.c_str());
        return 4;
    }
    engine::Backend held = *std::get<const engine::Backend*>(backend);
    if (held.mostDevices == 1 || (held.mostDevices > 0 && options.devices > held.mostDevices)) {
        std::fprintf(stderr,
                     "the backend '%s' takes a GPU for every logical device: the suite needs meshes of %lld devices or more and "
                     "there %s; use --conformance cuda, which runs all devices on one GPU%s\n",
                     name.c_str(), static_cast<long long>(std::max<std::int64_t>(2, options.devices)),
                     held.mostDevices == 1 ? "is 1 GPU" : ("are " + std::to_string(held.mostDevices) + " GPUs").c_str(),
                     held.mostDevices == 1 ? "" : ", or fewer --devices");
        return 4;
    }
    if (options.devices == 0 && held.mostDevices > 0 && held.mostDevices < kMostInMeshes)
        options.devices = held.mostDevices;
    else if (options.devices == 0 && held.devicesInSteps > 1)
        options.devices = std::max(held.devicesInSteps, kMostInMeshes / held.devicesInSteps * held.devicesInSteps);
    if (options.devices % held.devicesInSteps != 0) {
        std::fprintf(stderr,
                     "the backend '%s' takes as many devices in each of its %lld processes: --devices must be a multiple of that\n",
                     name.c_str(), static_cast<long long>(held.devicesInSteps));
        return 4;
    }
    if (!reference.empty()) {
        const auto other = engine::backendNamed(reference, "--same-as");
        if (const auto* failure = std::get_if<engine::Failure>(&other)) {
            std::fprintf(stderr, "%s\n", failure->message.c_str());
            return 4;
        }
        held = sameAs(*std::get<const engine::Backend*>(backend), *std::get<const engine::Backend*>(other));
    }
    const double start = engine::now();
    const Summary summary = runAll(held, options, [&](const Case& which, const CaseResult& result) {
        if (!result.passed)
            std::printf("FAIL %s: %s\n", which.name.c_str(), result.message.c_str());
        else if (verbose)
            std::printf("pass %s: %lld programs, worst %.2e of %.0e\n", which.name.c_str(), static_cast<long long>(result.programs),
                        result.worst, result.tolerance);
        std::fflush(stdout);
    });
    std::printf("%s: %lld cases passed, %lld failed, %lld programs, seed %llu, %.1f s\n", name.c_str(),
                static_cast<long long>(summary.passed), static_cast<long long>(summary.failed),
                static_cast<long long>(summary.programs), static_cast<unsigned long long>(options.seed), engine::now() - start);
    return summary.failed == 0 && summary.passed > 0 ? 0 : 1;
}

} // namespace shardboard::conformance
