// SPDX-License-Identifier: Apache-2.0
// shardctl models, shardctl hardware: what is built in, and a hardware file.
#include "app/ctl/commands.h"
#include "app/ctl/commands/hardwarehere.h"
#include "app/ctl/engineoptions.h"
#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "model/families/modelsize.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

std::string digitsOf(double value) { return formatted("%.4g", value); }

std::string ratesText(const PeakFlops& peak)
{
    std::string out;
    visitPeaks(peak, [&](const char* name, const std::optional<double>& value) {
        if (value)
            out += (out.empty() ? "" : ", ") + std::string(name) + " " + digitsOf(*value / 1e12);
    });
    return out + " TFLOP/s, dense";
}

std::string levelText(const Level& level)
{
    std::string out = fabricName(level.fabric);
    for (std::size_t dim = 0; dim < level.shape.size(); ++dim)
        out += (dim == 0 ? " of " : " x ") + std::to_string(level.shape[dim]) + (level.wraps[dim] ? " (ring)" : " (line)");
    if (level.shape.empty())
        out += level.size > 0 ? " of " + std::to_string(level.size) : " of all the rest";
    return out;
}

std::string linkText(const Level& level)
{
    const LinkSpec& link = level.link;
    std::string out = digitsOf(link.bytesPerSecond / 1e9) + " GB/s";
    if (link.peakBytesPerSecond > 0)
        out += " (peak " + digitsOf(link.peakBytesPerSecond / 1e9) + ")";
    out += link.shared ? " read and written, shared by all" : " each way";
    out += ", " + digitsOf(link.alphaSeconds * 1e6) + " us a step";
    if (link.alphaSimple)
        out += " (" + digitsOf(*link.alphaSimple * 1e6) + " us at full rate)";
    if (link.startSeconds > 0)
        out += ", " + digitsOf(link.startSeconds * 1e6) + " us to start";
    if (link.shared && link.messageSeconds)
        out += ", " + digitsOf(*link.messageSeconds * 1e6) + " us a piece";
    if (link.cache)
        out +=
            ", the first " + digitsOf(link.cache->bytes / 1e6) + " MB at " + digitsOf(link.cache->bytesPerSecond / 1e9) + " GB/s";
    if (level.nicsPerDevice != 1)
        out += ", " + digitsOf(level.nicsPerDevice) + " NICs a device";
    if (level.inSwitch)
        out += "; sums in the switch: " + digitsOf(level.inSwitch->startSeconds * 1e6) + " us, efficiency "
            + digitsOf(level.inSwitch->efficiency);
    return out;
}

std::string productsText(const KernelConstants& kernels)
{
    std::string out = digitsOf(kernels.gemmEfficiency);
    if (kernels.fp8Efficiency)
        out += " (fp8 " + digitsOf(*kernels.fp8Efficiency) + ")";
    if (kernels.sustainedClock < 1)
        out += " at " + digitsOf(100 * kernels.sustainedClock) + " % of the clock";
    if (kernels.gemmDepth > 0)
        out += ", as if " + digitsOf(kernels.gemmDepth) + " deeper";
    if (kernels.gemmArray > 0)
        out += ", padded to " + std::to_string(kernels.gemmArray);
    return out;
}

std::string attentionText(const KernelConstants& kernels)
{
    std::string out = digitsOf(kernels.attentionEfficiency);
    if (kernels.attentionBackwardEfficiency)
        out += " (backward " + digitsOf(*kernels.attentionBackwardEfficiency) + ")";
    if (kernels.attentionRamp > 0)
        out += ", half at " + digitsOf(kernels.attentionRamp) + " keys";
    return out;
}

std::string describedHardware(const Hardware& hardware)
{
    const DeviceSpec& device = hardware.device;
    const KernelConstants& kernels = device.kernels;
    Table table({ hardware.id, hardware.name });
    std::string sources = "\nSources\n  " + hardware.id + ": " + hardware.source + "\n  " + device.id + ": " + device.source + "\n";
    table.add({ "device " + device.id, device.name + ": " + ratesText(device.peak) });
    table.add({ "memory",
                bytesText(static_cast<std::int64_t>(device.memoryBytes)) + " at " + digitsOf(device.memoryBytesPerSecond / 1e9)
                    + " GB/s, of which the driver keeps " + bytesText(static_cast<std::int64_t>(device.reservedBytes)) });
    table.add({ "kernels",
                digitsOf(kernels.launchSeconds * 1e6) + " us a launch"
                    + (kernels.hostSeconds > 0 ? ", " + digitsOf(kernels.hostSeconds * 1e6) + " us of the host" : std::string())
                    + "; of the peak: products " + productsText(kernels) + ", attention " + attentionText(kernels) + ", memory "
                    + digitsOf(kernels.memoryEfficiency) });
    if (device.cache)
        table.add({ "caches",
                    "the first " + digitsOf(device.cache->bytes / 1e6) + " MB that a kernel moves at "
                        + digitsOf(device.cache->bytesPerSecond / 1e9) + " GB/s" });
    if (kernels.gemmPacking)
        table.add({ "packing",
                    "operands of products before they are computed with, at " + digitsOf(kernels.gemmPacking->bytesPerSecond / 1e9)
                        + " GB/s beyond " + digitsOf(kernels.gemmPacking->freeBytes / 1e6) + " MB" });
    if (kernels.attentionPacking)
        table.add({ "packing", "operands of attention, at " + digitsOf(kernels.attentionPacking->bytesPerSecond / 1e9) + " GB/s" });
    for (std::size_t i = 0; i < hardware.levels.size(); ++i) {
        const Level& level = hardware.levels[i];
        table.add({ "level " + std::to_string(i), levelText(level) });
        table.add({ "link " + level.link.id, level.link.name + ": " + linkText(level) });
        sources += "  " + level.link.id + ": " + level.link.source + "\n";
    }
    table.add({ "collectives", hardware.library == CollectiveLibrary::Nccl ? "algorithms of NCCL" : "any algorithm" });
    return table.text(0) + sources;
}

} // namespace

int modelsCommand(const Arguments& arguments)
{
    nlohmann::json list = nlohmann::json::array();
    Table table(
        { "name", "family", ">parameters", ">active", ">experts", ">layers", ">hidden", ">heads", ">KV heads", ">vocabulary" });
    for (const std::string& name : builtinModelNames()) {
        const auto model = builtinModel(name);
        if (!model.ok())
            return report(model.error());
        const ModelSpec& m = model.value();
        const ModelSize size = modelSize(m).value_or(ModelSize {});
        const bool moe = m.moe.present();
        table.add({ name, m.family, countText(size.total), moe ? countText(size.active) : "",
                    moe ? std::to_string(m.moe.chosen) + " of " + std::to_string(m.moe.experts) : "", std::to_string(m.layers),
                    std::to_string(m.hiddenSize), std::to_string(m.heads), std::to_string(m.kvHeads),
                    std::to_string(m.vocabSize) });
        list.push_back({ { "name", name },
                         { "family", m.family },
                         { "parameters", size.total },
                         { "active_parameters", size.active },
                         { "experts", m.moe.experts },
                         { "experts_per_token", m.moe.chosen },
                         { "has_graph", m.hasGraph() },
                         { "published_parameters", publishedParameters(name) },
                         { "layers", m.layers },
                         { "hidden_size", m.hiddenSize },
                         { "heads", m.heads },
                         { "kv_heads", m.kvHeads },
                         { "head_dim", m.headDim },
                         { "vocab_size", m.vocabSize },
                         { "intermediate_size", m.intermediateSize },
                         { "tied_embeddings", m.tiedEmbeddings } });
    }
    std::cout << (arguments.has("--json") ? jsonText(nlohmann::json { { "models", list } }, 1) + "\n" : table.text(0));
    return kDone;
}

int hardwareCommand(const Arguments& arguments)
{
    if (arguments.has("--here")) {
        const auto start = engineStartOf(arguments, "cpu");
        if (!start.ok())
            return report(start.error());
        const auto engine = engineCommandFor("cpu", start.value(), 1);
        if (!engine.ok())
            return report(engine.error());
        const auto hardware = hardwareHere(engine.value());
        if (!hardware.ok())
            return report(hardware.error());
        std::cout << (arguments.has("--json") ? hardwareText(hardware.value()) : describedHardware(hardware.value()));
        return kDone;
    }
    if (!arguments.positional().empty()) {
        const auto hardware = hardwareNamed(arguments.positional().front());
        if (!hardware.ok())
            return report(hardware.error());
        std::cout << (arguments.has("--json") ? hardwareText(hardware.value()) : describedHardware(hardware.value()));
        return kDone;
    }
    nlohmann::json list = nlohmann::json::array();
    Table table(
        { "id", "device and links", ">memory", ">bf16 TFLOP/s", ">memory GB/s", ">link GB/s", ">network GB/s", ">devices a node" });
    const auto whole = [](double value) { return std::to_string(static_cast<std::int64_t>(value + 0.5)); };
    for (const Hardware& h : hardwarePresets()) {
        const std::int64_t joined = h.levels.front().size;
        const bool network = h.levels.size() > 1;
        table.add({ h.id, h.name, bytesText(static_cast<std::int64_t>(h.memoryBytes())), whole(h.peakFlops(DType::BF16) / 1e12),
                    whole(h.memoryBytesPerSecond() / 1e9), whole(h.innerLink().bytesPerSecond / 1e9),
                    network ? digitsOf(h.outerLink().bytesPerSecond / 1e9) : "", joined > 0 ? std::to_string(joined) : "all" });
        list.push_back({ { "id", h.id },
                         { "name", h.name },
                         { "source", h.source },
                         { "memory_bytes", h.memoryBytes() },
                         { "reserved_bytes", h.reservedBytes() },
                         { "flops_bf16", h.peakFlops(DType::BF16) },
                         { "flops_f32", h.peakFlops(DType::F32) },
                         { "memory_bytes_per_second", h.memoryBytesPerSecond() },
                         { "devices_per_node", joined },
                         { "intra_bytes_per_second", h.innerLink().bytesPerSecond },
                         { "inter_bytes_per_second", h.outerLink().bytesPerSecond } });
    }
    std::cout << (arguments.has("--json") ? jsonText(nlohmann::json { { "hardware", list } }, 1) + "\n" : table.text(0));
    return kDone;
}

} // namespace shardboard
