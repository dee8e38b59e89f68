// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/memoryoptions.h"

namespace shardboard {

namespace {

constexpr std::int64_t kMib = std::int64_t { 1 } << 20;
constexpr std::int64_t kMostMib = kMib; // 2^40 bytes

} // namespace

std::vector<OptionSpec> withMemoryOptions(std::vector<OptionSpec> options)
{
    const auto last = options.empty() ? options.end() : options.end() - 1; // --json comes last
    options.insert(
        last,
        { { "--framework", "NAME",
            "whose memory it is: none, torchtitan, megatron, maxtext or deepspeed: types of gradients and weights, what stays "
            "gathered, the loss, the allocator (none)" },
          { "--reshard-after-forward", "WHEN",
            "train: always gives gathered weights back after a layer's forward pass, never keeps them to its backward pass (as "
            "the framework does)" },
          { "--group-collectives", "WHEN",
            "train: always moves the weights of a block in one call, and their gradients, never each in its own (as the framework "
            "does)" },
          { "--gather-ahead", "N", "layers whose weights are gathered ahead (1)" },
          { "--reserve", "PERCENT",
            "what the allocator holds on top of activations and gathered weights (5; a framework has its own)" },
          { "--loss", "KIND", "train: unfused, with the logits and their gradient in f32, or fused (unfused)" },
          { "--context", "MIB", "what a process takes on a GPU before it allocates (512)" },
          { "--communicator", "MIB", "buffers of a communicator, one for each set of mesh axes (128)" } });
    return options;
}

Status chooseMemory(const Arguments& arguments, MemorySettings& settings)
{
    if (arguments.has("--framework")) {
        const auto framework = frameworkFromName(arguments.text("--framework"));
        if (!framework)
            return usageError("--framework", "there is no framework '" + arguments.text("--framework") + "'",
                              "use none, torchtitan, megatron, maxtext or deepspeed");
        settings.choose(*framework);
    }
    if (arguments.has("--reshard-after-forward")) {
        const std::string when = arguments.text("--reshard-after-forward");
        if (when != "always" && when != "never")
            return usageError("--reshard-after-forward", "there is no '" + when + "'", "use always or never");
        settings.reshardAfterForward = when == "always";
    }
    if (arguments.has("--group-collectives")) {
        const std::string when = arguments.text("--group-collectives");
        if (when != "always" && when != "never")
            return usageError("--group-collectives", "there is no '" + when + "'", "use always or never");
        settings.groupCollectives = when == "always";
    }
    const auto layers = arguments.integer("--gather-ahead", settings.prefetchedLayers, 0, 64);
    if (!layers.ok())
        return layers.error();
    settings.prefetchedLayers = layers.value();
    if (arguments.has("--reserve")) {
        const auto percent = arguments.number("--reserve", 0, 0, 100);
        if (!percent.ok())
            return percent.error();
        settings.chooseReserve(percent.value() / 100);
    }
    if (arguments.has("--loss")) {
        const std::string loss = arguments.text("--loss");
        if (loss != "fused" && loss != "unfused")
            return usageError("--loss", "there is no loss '" + loss + "'", "use fused or unfused");
        settings.logitsInF32 = loss == "unfused";
    }
    for (const auto& [option, bytes] :
         { std::pair { "--context", &settings.contextBytes }, { "--communicator", &settings.communicatorBytes } }) {
        if (!arguments.has(option))
            continue;
        const auto mib = arguments.integer(option, 0, 0, kMostMib);
        if (!mib.ok())
            return mib.error();
        *bytes = mib.value() * kMib;
    }
    return done();
}

} // namespace shardboard
