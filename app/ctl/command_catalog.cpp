// SPDX-License-Identifier: Apache-2.0
// shardctl models, shardctl hardware: what is built in.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/core/numbers.h"
#include "model/hardware/hardware.h"
#include "model/formats/openmodel.h"
#include "model/graph/modelsize.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

int modelsCommand(const Arguments& arguments)
{
    nlohmann::json list = nlohmann::json::array();
    Table table({ "name", "family", ">parameters", ">active", ">experts", ">layers", ">hidden", ">heads", ">KV heads",
                  ">vocabulary" });
    for (const std::string& name : builtinModelNames()) {
        const auto model = builtinModel(name);
        if (!model.ok())
            return report(model.error());
        const ModelSpec& m = model.value();
        const ModelSize size = modelSize(m).value_or(ModelSize {});
        const bool moe = m.moe.present();
        table.add({ name, m.family, countText(size.total), moe ? countText(size.active) : "",
                    moe ? std::to_string(m.moe.chosen) + " of " + std::to_string(m.moe.experts) : "",
                    std::to_string(m.layers), std::to_string(m.hiddenSize), std::to_string(m.heads), std::to_string(m.kvHeads), std::to_string(m.vocabSize) });
        list.push_back({ { "name", name }, { "family", m.family }, { "parameters", size.total },
                         { "active_parameters", size.active }, { "experts", m.moe.experts },
                         { "experts_per_token", m.moe.chosen }, { "has_graph", m.hasGraph() },
                         { "published_parameters", publishedParameters(name) }, { "layers", m.layers },
                         { "hidden_size", m.hiddenSize }, { "heads", m.heads }, { "kv_heads", m.kvHeads },
                         { "head_dim", m.headDim }, { "vocab_size", m.vocabSize },
                         { "intermediate_size", m.intermediateSize }, { "tied_embeddings", m.tiedEmbeddings } });
    }
    std::cout << (arguments.has("--json") ? nlohmann::json { { "models", list } }.dump(1) + "\n" : table.text(0));
    return kDone;
}

int hardwareCommand(const Arguments& arguments)
{
    nlohmann::json list = nlohmann::json::array();
    Table table({ "id", "device and links", ">memory", ">bf16 TFLOP/s", ">memory GB/s", ">link GB/s", ">network GB/s",
                  ">devices a node" });
    const auto whole = [](double value) { return std::to_string(static_cast<std::int64_t>(value + 0.5)); };
    for (const Hardware& h : hardwarePresets()) {
        table.add({ h.id, h.name, bytesText(static_cast<std::int64_t>(h.memoryBytes())), whole(h.peakFlops(DType::BF16) / 1e12),
                    whole(h.memoryBytesPerSecond() / 1e9), whole(h.innerLink().bytesPerSecond / 1e9),
                    whole(h.outerLink().bytesPerSecond / 1e9), std::to_string(h.devicesPerNode()) });
        list.push_back({ { "id", h.id }, { "name", h.name }, { "source", h.source }, { "memory_bytes", h.memoryBytes() },
                         { "flops_bf16", h.peakFlops(DType::BF16) }, { "flops_f32", h.peakFlops(DType::F32) },
                         { "memory_bytes_per_second", h.memoryBytesPerSecond() }, { "devices_per_node", h.devicesPerNode() },
                         { "intra_bytes_per_second", h.innerLink().bytesPerSecond },
                         { "inter_bytes_per_second", h.outerLink().bytesPerSecond } });
    }
    std::cout << (arguments.has("--json") ? nlohmann::json { { "hardware", list } }.dump(1) + "\n" : table.text(0));
    return kDone;
}

} // namespace shardboard
