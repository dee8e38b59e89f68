// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/sglang/sglangtarget.h"

#include "model/io/exports/exporttext.h"
#include "model/io/exports/pythontext.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/ranks/commented.h"
#include "model/io/ranks/modelconfig.h"
#include "model/io/ranks/rankrule.h"
#include "model/io/ranks/servingsizes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace shardboard {

namespace {

constexpr const char* kFramework = "SGLang";
constexpr std::int64_t kVocabularyMultiple = 64;
/// Families of which SGLang builds the head on the last stage alone.
constexpr std::array<std::string_view, 5> kStagedFamilies { "qwen2", "qwen3", "deepseek_v2", "deepseek_v3", "kimi_k2" };

/// One server is a copy of the model, or as many as lie on a node (`--dp-size`). Where experts are cut over data axes, these are
/// within the server: its attention is data-parallel (`--attn-dp-size`), and its tensor group is all of its ranks.
struct Servers {
    ServingSizes sizes;
    std::vector<int> attentionAxes {}; ///< data axes that experts are cut over
    std::vector<int> copyAxes {}; ///< the others
    std::int64_t attention = 1;
    std::int64_t copies = 1;
    std::int64_t copySize = 1; ///< devices of one copy
    std::int64_t nodeSize = 1; ///< devices of a node that the mesh has

    /// Ranks of SGLang's tensor group.
    std::int64_t group() const { return attention * sizes.tensor; }
    /// Copies on one node that are one program.
    std::int64_t jointCopies() const
    {
        return attention == 1 && nodeSize % copySize == 0 ? std::min(copies, nodeSize / copySize) : 1;
    }
};

Servers serversOf(const Design& design, const Evaluation& evaluation)
{
    Servers out { .sizes = servingSizes(design, evaluation) };
    const AxisUse& use = out.sizes.use;
    for (const int axis : use.data)
        (std::ranges::find(use.expert, axis) == use.expert.end() ? out.copyAxes : out.attentionAxes).push_back(axis);
    out.attention = design.mesh.groupSize(out.attentionAxes);
    out.copies = design.mesh.groupSize(out.copyAxes);
    out.copySize = design.mesh.deviceCount() / out.copies;
    const auto hardware = hardwareOf(design);
    out.nodeSize = std::min(hardware.ok() ? hardware.value().devicesPerNode() : 1, design.mesh.deviceCount());
    return out;
}

RankRule ruleOf(const Design& design, const Servers& servers)
{
    const ServingSizes& sizes = servers.sizes;
    const std::int64_t tensor = sizes.tensor;
    RankRule rule { .framework = kFramework, .tensor = tensor, .vocabularyMultiple = kVocabularyMultiple, .evenExperts = true };
    const std::int64_t blocks = (design.model.vocabSize + kVocabularyMultiple - 1) / kVocabularyMultiple;
    if (blocks * kVocabularyMultiple % tensor != 0)
        rule.vocabularyMultiple *= tensor;
    rule.cutsVocabulary = design.model.family != "gemma3_text"; // its embedding, which is the head as well, is a plain one
    rule.expert = sizes.expert;
    rule.expertTensor = sizes.expertTensor;
    const std::int64_t group = servers.group();
    const std::int64_t width = sizes.expertTensor;
    rule.place = [=](std::int64_t rank) { return RankPlace { rank % tensor, rank % group / width, rank % width }; };
    return rule;
}

/// The layers of stages where SGLang, which gives the last ones those that are left over, would deal them otherwise; else empty.
std::string partitionOf(const ServingSizes& sizes, std::int64_t layers)
{
    std::string text;
    bool own = true;
    for (std::int64_t stage = 0; stage < sizes.stages; ++stage) {
        const std::int64_t count = sizes.layers[static_cast<std::size_t>(stage)];
        own = own && count == layers / sizes.stages + (stage >= sizes.stages - layers % sizes.stages ? 1 : 0);
        text += (stage > 0 ? "," : "") + std::to_string(count);
    }
    return own ? std::string() : text;
}

std::string usageText(const Design& design, const Servers& servers)
{
    const std::string partition = partitionOf(servers.sizes, design.model.layers);
    const std::string command = (partition.empty() ? "" : "SGLANG_PP_LAYER_PARTITION=" + partition + " ")
        + std::string("python -m sglang.launch_server --model-path \"$MODEL\" --config sglang.yaml");
    if (servers.copySize > servers.nodeSize) {
        const std::int64_t nodes = (servers.copySize + servers.nodeSize - 1) / servers.nodeSize;
        return "# on each of " + std::to_string(nodes) + " nodes" + (servers.copies > 1 ? " of a copy" : "") + "\n" + command
            + " --nnodes " + std::to_string(nodes) + " --node-rank \"$NODE_RANK\" --dist-init-addr \"$FIRST_NODE:5000\"\n";
    }
    const std::int64_t left = servers.copies / servers.jointCopies();
    if (left == 1)
        return command + "\n";
    const std::int64_t each = std::min(left, servers.nodeSize / servers.copySize / servers.jointCopies());
    std::string text = left > each ? "# on every node\n" : "";
    const std::vector<std::string> devices = devicesOfCopies(servers.copySize * servers.jointCopies(), each);
    for (std::size_t i = 0; i < devices.size(); ++i)
        text += each == 1 ? command + "\n"
                          : "CUDA_VISIBLE_DEVICES=" + devices[i] + " " + command + " --port " + std::to_string(30000 + i) + "\n";
    return text;
}

std::string configText(const Design& design, const Servers& servers)
{
    const ServingSizes& sizes = servers.sizes;
    std::string text = "# Generated by Shardboard for the model " + pythonLiteral(design.model.name) + ":\n"
        + commented(usageText(design, servers));
    text += "tp-size: " + std::to_string(servers.group()) + "\n";
    text += "pp-size: " + std::to_string(sizes.stages) + "\n";
    text += "dp-size: " + std::to_string(servers.jointCopies()) + "\n";
    if (design.model.moe.present())
        text += "ep-size: " + std::to_string(sizes.expert) + "\n";
    if (servers.attention == 1)
        return text;
    text += "attn-dp-size: " + std::to_string(servers.attention) + "\n";
    text += "enable-dp-lm-head: true\n";
    if (design.model.denseLayers() > 0)
        text += "moe-dense-tp-size: 1\n";
    if (design.model.moe.sharedExperts > 0)
        text += "moe-a2a-backend: deepep\n"; // shared experts are whole beside it, and cut without
    return text;
}

std::string checkText(const Design& design, const Servers& servers)
{
    std::string text =
        "# Generated by Shardboard: has SGLang read and validate sglang.yaml itself, build the model on torch's meta device for\n"
        "# every rank and load the names of the checkpoint into it, and compares what each rank takes with shards.json.\n";
    text += "MODEL = " + pythonLiteral(design.model.name) + "\n";
    text += "CONFIG = " + pythonLiteral(jsonText(modelConfig(design.model))) + "  # JSON\n";
    text +=
        "LAYER_PARTITION = " + pythonLiteral(partitionOf(servers.sizes, design.model.layers)) + "  # SGLANG_PP_LAYER_PARTITION\n";
    return text + "\n" + std::string(exportText("ranks/shards.py")) + "\n\n" + std::string(exportText("shards/joined.py")) + "\n\n"
        + std::string(exportText("ranks/loaders.py")) + "\n\n" + std::string(exportText("sglang/check.py"));
}

std::vector<ExportRefusal> refused(std::string where, std::string what, std::string fix)
{
    return { { inputError(std::move(where), std::move(what), std::move(fix)) } };
}

/// Stages that SGLang's model of the family has not, or builds otherwise.
std::vector<ExportRefusal> stageRefusals(const ModelSpec& model)
{
    const std::string fix = "use a tensor axis in place of the stage axis";
    if (std::ranges::find(kStagedFamilies, model.family) != kStagedFamilies.end())
        return {};
    if (model.family.starts_with("gemma"))
        return refused("pipeline", "SGLang has no stages for " + model.family, fix);
    if (model.tiedEmbeddings)
        return refused("pipeline", "SGLang has no tied head on the last stage for " + model.family, fix);
    return refused("lm_head.weight", "SGLang has it on every stage for " + model.family + ", and the plan on the last one alone",
                   fix);
}

/// Experts that SGLang deals otherwise.
std::vector<ExportRefusal> expertRefusals(const Design& design, const Servers& servers)
{
    const ServingSizes& sizes = servers.sizes;
    const MoeSpec& moe = design.model.moe;
    const auto named = [&](const std::vector<int>& axes) { return axes.empty() ? "no axis" : axisNames(design.mesh, axes); };
    if (!moe.present())
        return {};
    if (sizes.expert * sizes.expertTensor != servers.group())
        return refused("mesh",
                       "experts are cut over " + named(sizes.use.expert) + ", and their width over " + named(sizes.use.expertTensor)
                           + ", and SGLang cuts them over all ranks of its tensor group, by one or the other",
                       "cut experts or their width over every tensor axis");
    if (moe.storage == ExpertStorage::Packed && sizes.expert > 1)
        return refused("mesh",
                       "experts are cut over " + named(sizes.use.expert)
                           + ", and SGLang loads the packed experts of an unquantized " + design.model.family + " whole",
                       "cut the width of experts over the tensor axes");
    if (servers.attention == 1)
        return {};
    if (moe.storage == ExpertStorage::Mixtral)
        return refused("mesh",
                       "experts are cut over " + named(servers.attentionAxes)
                           + ", where attention is data-parallel, and SGLang has that not for mixtral",
                       "cut experts over tensor axes");
    if (sizes.tensor > 1 && (design.model.denseLayers() > 0 || moe.sharedExperts > 0))
        return refused("mesh",
                       "MLPs beside the experts are cut over " + named(sizes.use.tensor)
                           + ", and SGLang has them whole where attention is data-parallel",
                       "cut experts over tensor axes alone, or nothing else over those");
    return {};
}

Result<std::vector<ExportRefusal>> refusalsOf(const Design& design, const Evaluation& evaluation,
                                              const std::function<bool()>& stopped)
{
    const Servers servers = serversOf(design, evaluation);
    const AxisUse& use = servers.sizes.use;
    auto out =
        servingRefusals(design, servers.sizes, kFramework, { servers.copyAxes, use.stage, servers.attentionAxes, use.tensor });
    if (out.empty() && servers.sizes.stages > 1)
        out = stageRefusals(design.model);
    if (out.empty())
        out = expertRefusals(design, servers);
    if (!out.empty())
        return out;
    return rankRefusals(design, evaluation, ruleOf(design, servers), stopped);
}

} // namespace

ExportTarget sglangTarget()
{
    return { .id = "sglang",
             .title = kFramework,
             .summary = "sizes of tensor, pipeline, data and expert parallelism, as a config file for its server",
             .check = "check.py",
             .refusals = refusalsOf,
             .leftOut = [](const Design& design, const Evaluation&) { return servingLeftOut(design, kFramework); },
             .usage = [](const Design& design,
                         const Evaluation& evaluation) { return usageText(design, serversOf(design, evaluation)); },
             .files = [](const Design& design, const Evaluation& evaluation) -> Result<std::vector<ExportedFile>> {
                 const Servers servers = serversOf(design, evaluation);
                 return std::vector<ExportedFile> { { "sglang.yaml", textSource(configText(design, servers)) },
                                                    { "check.py", textSource(checkText(design, servers)) } };
             } };
}

} // namespace shardboard
