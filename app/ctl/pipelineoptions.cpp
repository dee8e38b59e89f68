// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/pipelineoptions.h"

#include "model/design/presets/presetparts.h"
#include "model/text/text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace shardboard {

std::vector<OptionSpec> withPipelineOptions(std::vector<OptionSpec> options)
{
    const auto last = options.empty() ? options.end() : options.end() - 1;
    options.insert(
        last,
        { { "--virtual-stages", "N", "pipeline: runs of layers on each stage; more than 1 are interleaved (as the preset)" },
          { "--stage-layers", "LIST",
            "pipeline: layers of each stage by hand, or of each run in the order of the layers, such as 3,4x14,2 (even)" },
          { "--count-as-layers", "WHAT",
            "pipeline: embedding, loss or embedding,loss counted as a layer each when the layers are cut evenly "
            "(Megatron's account_for_embedding/loss_in_pipeline_split)" },
          { "--schedule", "NAME",
            "pipeline: 1f1b (interleaved with virtual stages), zero-bubble (ZB-H1), dualpipe or gpipe (1f1b)" } });
    return options;
}

Status choosePipeline(const Arguments& arguments, PipelineSpec& pipeline)
{
    for (const char* option : { "--virtual-stages", "--stage-layers", "--count-as-layers", "--schedule" })
        if (arguments.has(option) && !pipeline.present())
            return usageError(option, "it is of pipelines, and the preset has no stages", "use a preset with the part pp");
    const auto chunks = arguments.integer("--virtual-stages", pipeline.chunks, 1, kMostRuns);
    if (!chunks.ok())
        return chunks.error();
    pipeline.chunks = chunks.value();
    auto layers = parseStageLayers(arguments.text("--stage-layers"), "--stage-layers");
    if (!layers.ok())
        return layers.error();
    if (!layers.value().empty())
        pipeline.layers = std::move(layers).value();
    const std::string counted = arguments.text("--count-as-layers");
    for (const std::string_view what : split(std::string_view(counted), ',')) {
        if (what == "embedding")
            pipeline.countEmbedding = true;
        else if (what == "loss")
            pipeline.countLoss = true;
        else if (!what.empty() || arguments.has("--count-as-layers"))
            return usageError("--count-as-layers", "'" + std::string(what) + "' is counted as no layer",
                              "use embedding, loss or embedding,loss");
    }
    if (!arguments.has("--schedule"))
        return done();
    const std::string name = arguments.text("--schedule");
    const auto schedule = scheduleFromName(name);
    if (!schedule)
        return usageError("--schedule", "there is no schedule '" + name + "'", std::string("use ") + kScheduleWords);
    if (name == "interleaved" && pipeline.chunks < 2)
        return usageError("--schedule", "interleaved has several runs of layers on each stage", "add --virtual-stages 2 or more");
    pipeline.schedule = *schedule;
    return done();
}

std::string presetPartsText()
{
    std::size_t width = 0;
    for (const PresetPart& part : presetParts())
        width = std::max(width, std::string_view(part.name).size());
    std::string out = "Parts of --preset, joined by + in any order (pp+tp-sp+fsdp); each means only itself:\n";
    for (const PresetPart& part : presetParts())
        out += "  " + std::string(part.name) + std::string(width + 2 - std::string_view(part.name).size(), ' ') + part.what + "\n";
    return out;
}

} // namespace shardboard
