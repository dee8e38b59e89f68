// SPDX-License-Identifier: Apache-2.0
// Checkpoints whose weights are packed: what a config and headers say of them, memory as stored, blocks under cuts, and what other
// programs take.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/huggingface/quantization.h"
#include "model/io/targets/targets.h"
#include "model/text/glob.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

constexpr std::int64_t kHidden = 512, kInner = 1536, kVocab = 256, kLayers = 3, kHeads = 4, kHead = 128;

struct Stored {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
};

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

json config(const json& quantization)
{
    return { { "model_type", "llama" },         { "vocab_size", kVocab },
             { "hidden_size", kHidden },        { "intermediate_size", kInner },
             { "num_hidden_layers", kLayers },  { "num_attention_heads", kHeads },
             { "num_key_value_heads", kHeads }, { "head_dim", kHead },
             { "torch_dtype", "bfloat16" },     { "quantization_config", quantization } };
}

/// What a format stores for a weight [out, in] of that name, as its writers do.
using Format = std::function<std::vector<Stored>(const std::string& name, std::int64_t out, std::int64_t in)>;

std::vector<Stored> gptq(const std::string& name, std::int64_t out, std::int64_t in)
{
    return { { name + ".qweight", "I32", { in / 8, out } },
             { name + ".qzeros", "I32", { in / 128, out / 8 } },
             { name + ".scales", "F16", { in / 128, out } } };
}

std::vector<Stored> awq(const std::string& name, std::int64_t out, std::int64_t in)
{
    return { { name + ".qweight", "I32", { in, out / 8 } },
             { name + ".qzeros", "I32", { in / 128, out / 8 } },
             { name + ".scales", "F16", { in / 128, out } } };
}

std::vector<Stored> blocks(const std::string& name, std::int64_t out, std::int64_t in)
{
    return { { name + ".weight", "F8_E4M3", { out, in } },
             { name + ".weight_scale_inv", "F32", { ceiling(out, 128), ceiling(in, 128) } } };
}

std::vector<Stored> nvfp4(const std::string& name, std::int64_t out, std::int64_t in)
{
    return { { name + ".weight_packed", "U8", { out, in / 2 } }, { name + ".weight_scale", "F8_E4M3", { out, in / 16 } } };
}

std::vector<Stored> channels(const std::string& name, std::int64_t out, std::int64_t in)
{
    return { { name + ".weight", "F8_E4M3", { out, in } }, { name + ".weight_scale", "BF16", { out, 1 } } };
}

std::vector<Stored> packed(const std::string& name, std::int64_t out, std::int64_t in)
{
    return { { name + ".weight_packed", "I32", { out, in / 8 } }, { name + ".weight_scale", "BF16", { out, in / 128 } } };
}

const json kGptq { { "quant_method", "gptq" }, { "bits", 4 }, { "group_size", 128 }, { "desc_act", false }, { "sym", true } };
const json kAwq { { "quant_method", "awq" }, { "bits", 4 }, { "group_size", 128 }, { "zero_point", true }, { "version", "gemm" } };
const json kBlocks {
    { "quant_method", "fp8" }, { "fmt", "e4m3" }, { "activation_scheme", "dynamic" }, { "weight_block_size", { 128, 128 } }
};

json tensors(const json& weights, const char* format)
{
    return { { "quant_method", "compressed-tensors" },
             { "format", format },
             { "ignore", { "lm_head" } },
             { "config_groups", { { "group_0", { { "targets", { "Linear" } }, { "weights", weights } } } } } };
}
const json kNvfp4 =
    tensors({ { "num_bits", 4 }, { "type", "float" }, { "strategy", "tensor_group" }, { "group_size", 16 }, { "symmetric", true } },
            "nvfp4-pack-quantized");
const json kChannels =
    tensors({ { "num_bits", 8 }, { "type", "float" }, { "strategy", "channel" }, { "symmetric", true } }, "float-quantized");
const json kPacked =
    tensors({ { "num_bits", 4 }, { "type", "int" }, { "strategy", "group" }, { "group_size", 128 }, { "symmetric", true } },
            "pack-quantized");

std::int64_t bitsOfName(const std::string& dtype)
{
    return dtype == "F8_E4M3" || dtype == "U8" ? 8 : dtype == "I32" || dtype == "F32" ? 32 : 16;
}

std::int64_t bytesOfStored(const Stored& tensor)
{
    return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t { 1 }, std::multiplies<>())
        * bitsOfName(tensor.dtype) / 8;
}

/// All tensors of the Llama above; `plain` says which linear layers are not packed.
std::vector<Stored> checkpoint(const Format& format, const std::function<bool(const std::string&)>& plain = {})
{
    std::vector<Stored> out { { "model.embed_tokens.weight", "BF16", { kVocab, kHidden } },
                              { "lm_head.weight", "BF16", { kVocab, kHidden } },
                              { "model.norm.weight", "BF16", { kHidden } } };
    for (std::int64_t i = 0; i < kLayers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        out.push_back({ layer + "input_layernorm.weight", "BF16", { kHidden } });
        out.push_back({ layer + "post_attention_layernorm.weight", "BF16", { kHidden } });
        for (const auto& [name, rows, columns] : { std::tuple { "self_attn.q_proj", kHeads * kHead, kHidden },
                                                   { "self_attn.k_proj", kHeads * kHead, kHidden },
                                                   { "self_attn.v_proj", kHeads * kHead, kHidden },
                                                   { "self_attn.o_proj", kHidden, kHeads * kHead },
                                                   { "mlp.gate_proj", kInner, kHidden },
                                                   { "mlp.up_proj", kInner, kHidden },
                                                   { "mlp.down_proj", kHidden, kInner } })
            if (plain && plain(name))
                out.push_back({ layer + name + ".weight", "BF16", { rows, columns } });
            else
                for (Stored& tensor : format(layer + name, rows, columns))
                    out.push_back(std::move(tensor));
    }
    return out;
}

QByteArray safetensorsFile(const std::vector<Stored>& tensors)
{
    json header = json::object();
    std::int64_t at = 0;
    for (const Stored& tensor : tensors) {
        header[tensor.name] = { { "dtype", tensor.dtype },
                                { "shape", tensor.shape },
                                { "data_offsets", { at, at + bytesOfStored(tensor) } } };
        at += bytesOfStored(tensor);
    }
    const std::string text = header.dump();
    QByteArray length(8, '\0');
    qToLittleEndian(static_cast<quint64>(text.size()), length.data());
    return length + QByteArray::fromStdString(text) + QByteArray(static_cast<qsizetype>(at), '\0');
}

std::string findingsText(const std::vector<Finding>& findings)
{
    std::string out;
    for (const Finding& finding : findings)
        out += finding.kind + " " + severityName(finding.severity) + ": " + finding.message + "\n";
    return out;
}

} // namespace

class TestQuantized : public QObject {
    Q_OBJECT

    Result<OpenedModel> opened(const json& quantization, const std::vector<Stored>& tensors = {})
    {
        m_folder = std::make_unique<QTemporaryDir>();
        writeFile(m_folder->filePath(QStringLiteral("config.json")), QByteArray::fromStdString(config(quantization).dump()));
        if (!tensors.empty())
            writeFile(m_folder->filePath(QStringLiteral("model.safetensors")), safetensorsFile(tensors));
        return openModel(m_folder->path().toStdString());
    }

    static Design designOf(ModelSpec model, const char* mesh, const char* preset)
    {
        Design design;
        design.mesh = Mesh::parse(mesh).value();
        design.model = std::move(model);
        design.workload.batch = 2;
        design.workload.sequence = 64;
        applyPreset(design, preset).ok();
        return design;
    }

    std::unique_ptr<QTemporaryDir> m_folder;

private Q_SLOTS:
    void packedWeightsCountAsStored_data()
    {
        QTest::addColumn<QByteArray>("quantization");
        QTest::addColumn<int>("format");
        int i = 0;
        for (const auto& [name, quantization] : { std::pair { "gptq", kGptq },
                                                  { "awq", kAwq },
                                                  { "fp8 blocks", kBlocks },
                                                  { "nvfp4", kNvfp4 },
                                                  { "fp8 channels", kChannels },
                                                  { "packed", kPacked } })
            QTest::newRow(name) << QByteArray::fromStdString(quantization.dump()) << i++;
    }
    void packedWeightsCountAsStored()
    {
        QFETCH(QByteArray, quantization);
        QFETCH(int, format);
        const std::vector<Format> formats { gptq, awq, blocks, nvfp4, channels, packed };
        const auto tensors = checkpoint(formats[static_cast<std::size_t>(format)]);
        const auto out = sure(opened(json::parse(quantization.toStdString()), tensors));
        QVERIFY(out.model.hasGraph());
        for (const Finding& finding : out.findings)
            QVERIFY2(finding.severity == Severity::Note, findingsText(out.findings).c_str());
        std::int64_t stored = 0;
        for (const Stored& tensor : tensors)
            stored += bytesOfStored(tensor);
        const auto evaluation = sure(evaluate(designOf(out.model, "tp=1", "replicate")));
        QCOMPARE(evaluation->weightBytes, stored);
        QCOMPARE(evaluation->plan.memory.weights, stored);
        // By the config alone the same.
        QCOMPARE(
            sure(evaluate(designOf(sure(opened(json::parse(quantization.toStdString()))).model, "tp=1", "replicate")))->weightBytes,
            stored);
        // In a design file, too.
        const Design design = designOf(out.model, "tp=2", "megatron-tp");
        const auto again = sure(designFromText(designText(design), "d.shardboard"));
        QVERIFY(again.model.packed == out.model.packed);
    }

    /// The case that engines refuse: 1,536 in 8 parts of 192, with blocks of 128.
    void aBlockThatDoesNotDivideIsFound()
    {
        Design design = designOf(sure(opened(kBlocks)).model, "tp=8", "replicate");
        design.strategies.push_back({ "*.up_proj.weight", { .kind = StrategyKind::Spec, .spec = "P('tp')" }, std::nullopt });
        design.strategies.push_back(
            { "*.down_proj.weight", { .kind = StrategyKind::Spec, .spec = "P(None, 'tp')" }, std::nullopt });
        const auto evaluation = sure(evaluate(design));
        std::vector<std::string> found;
        for (const DesignFinding& finding : evaluation->findings)
            if (finding.kind == "quant-block-split") {
                found.push_back(finding.where);
                QVERIFY2(finding.message.find("block 128 of fp8 does not divide 192") != std::string::npos,
                         finding.message.c_str());
                QVERIFY2(finding.repair.find("vLLM and SGLang refuse") != std::string::npos, finding.repair.c_str());
            }
        QCOMPARE(found.size(), std::size_t { 2 });
        // In four parts of 384 it divides.
        design.mesh = Mesh::parse("tp=4").value();
        const auto whole = sure(evaluate(design));
        QVERIFY(std::ranges::none_of(whole->findings,
                                     [](const DesignFinding& finding) { return finding.kind == "quant-block-split"; }));
    }

    /// Scales and groups follow a weight through cuts: what all devices hold together is what is stored, where blocks divide.
    void partsTogetherAreTheWhole()
    {
        for (const json& quantization : { kGptq, kBlocks, kNvfp4, kPacked }) {
            const ModelSpec model = sure(opened(quantization)).model;
            const auto whole = sure(evaluate(designOf(model, "tp=1", "replicate")));
            for (const char* weight : { "up_proj.weight", "down_proj.weight" })
                for (const char* spec : { "P('tp')", "P(None, 'tp')" }) {
                    Design design = designOf(model, "tp=4", "replicate");
                    design.strategies.push_back(
                        { std::string("*.") + weight, { .kind = StrategyKind::Spec, .spec = spec }, std::nullopt });
                    const auto cut = sure(evaluate(design));
                    const auto of = [&](const Evaluation& evaluation) {
                        return std::ranges::find_if(evaluation.weights,
                                                    [&](const WeightLayout& each) { return each.spec.name.ends_with(weight); })
                            ->bytesPerDevice;
                    };
                    QCOMPARE(4 * of(*cut), of(*whole));
                }
        }
    }

    void weightsThatAreNotPackedAreSeenInHeaders()
    {
        const auto plain = [](const std::string& name) { return name == "self_attn.o_proj"; };
        const auto tensors = checkpoint(blocks, plain);
        const auto out = sure(opened(kBlocks, tensors));
        std::int64_t stored = 0;
        for (const Stored& tensor : tensors)
            stored += bytesOfStored(tensor);
        QCOMPARE(sure(evaluate(designOf(out.model, "tp=1", "replicate")))->weightBytes, stored);
    }

    void modulesThatTheConfigLeavesOutAreNotPacked()
    {
        json quantization = kBlocks;
        for (int i = 0; i < kLayers; ++i)
            quantization["modules_to_not_convert"].push_back("model.layers." + std::to_string(i) + ".self_attn.o_proj");
        quantization["modules_to_not_convert"].push_back("lm_head");
        const ModelSpec model = sure(opened(quantization)).model;
        QVERIFY(model.packedAs("model.layers.*.self_attn.o_proj.weight") == nullptr);
        QVERIFY(model.packedAs("model.layers.*.self_attn.q_proj.weight") != nullptr);
        QVERIFY(model.packedAs("lm_head.weight") == nullptr);
    }

    /// A list that is cut off at its limit loses names of the config, and not what is never packed.
    void aLongListKeepsWhatIsNeverPacked()
    {
        json quantization = kBlocks;
        for (int i = 0; i < 5000; ++i)
            quantization["modules_to_not_convert"].push_back("part" + std::to_string(i) + "x");
        const Quantization read = readQuantization(quantization, "model.layers.", kLayers);
        QVERIFY(read.packed.size() < 2000);
        for (const char* name :
             { "model.layers.*.mlp.gate.weight", "model.layers.*.input_layernorm.weight", "model.embed_tokens.weight" })
            QVERIFY2(
                std::ranges::any_of(read.packed,
                                    [&](const PackedWeights& each) { return globMatch(each.match, name) && each.format.empty(); }),
                name);
        QVERIFY(std::ranges::any_of(read.remarks,
                                    [](const std::string& remark) { return remark.find("more than") != std::string::npos; }));
    }

    /// A gather moves what is stored: elements, scales, and zero points.
    void gathersMoveScalesToo_data() { packedWeightsCountAsStored_data(); }
    void gathersMoveScalesToo()
    {
        QFETCH(QByteArray, quantization);
        const Design design = designOf(sure(opened(json::parse(quantization.toStdString()))).model, "fsdp=2", "fsdp");
        const auto evaluation = sure(evaluate(design));
        int gathers = 0;
        for (const Collective& each : evaluation->plan.collectives) {
            const TensorSpec& weight = evaluation->graph.tensor(each.tensor);
            if (each.kind != CollectiveKind::AllGather || !weight.packing.present())
                continue;
            ++gathers;
            QCOMPARE(each.bytes, bytesOf(weight));
        }
        QCOMPARE(gathers, 7);
    }

    void wrongShapesAreFound()
    {
        auto tensors = checkpoint(gptq);
        for (Stored& tensor : tensors)
            if (tensor.name.ends_with("up_proj.qweight"))
                tensor.shape = { kHidden / 8, kInner / 2 };
        const auto out = sure(opened(kGptq, tensors));
        QVERIFY(std::ranges::any_of(out.findings, [](const Finding& finding) {
            return finding.kind == "checkpoint-shape" && finding.severity == Severity::Error
                && finding.message.find("up_proj") != std::string::npos;
        }));
        std::erase_if(tensors,
                      [](const Stored& tensor) { return tensor.name.find("layers.1.mlp.down_proj") != std::string::npos; });
        QVERIFY2(findingsText(sure(opened(kGptq, tensors)).findings).find("down_proj.weight (layer 1)") != std::string::npos,
                 findingsText(sure(opened(kGptq, tensors)).findings).c_str());
    }

    /// Whatever stands in a config: nothing crashes, and what is not understood is said.
    void strangeConfigsAreSaid()
    {
        for (const char* said :
             { "{\"quant_method\":\"unheard-of\"}", "{\"quant_method\":5}", "{}",
               "{\"quant_method\":\"fp8\",\"weight_block_size\":[0,-1]}", "{\"quant_method\":\"gptq\",\"bits\":1e300}",
               "{\"quant_method\":\"gptq\",\"bits\":-4,\"group_size\":[]}",
               "{\"quant_method\":\"compressed-tensors\",\"config_groups\":[]}",
               "{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"a\":{\"weights\":{\"num_bits\":\"x\"},\"targets\":[1,"
               "{}]}}}",
               "{\"quant_method\":\"compressed-tensors\",\"ignore\":[\"re:a[b\",\"re:.*\",\"re:a\\\\.b$\"],\"config_groups\":{"
               "\"a\":{\"weights\":{},\"targets\":[\"Linear\"]}}}",
               "{\"quant_method\":\"fp8\",\"modules_to_not_convert\":\"x\"}",
               "{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"exclude_modules\":[\"*\"]}" }) {
            const auto out = opened(json::parse(said));
            QVERIFY2(out.ok() && out.value().model.hasGraph(), said);
            QVERIFY2(std::ranges::any_of(out.value().findings, [](const Finding& finding) { return finding.kind == "quantized"; }),
                     said);
            QVERIFY2(evaluate(designOf(out.value().model, "tp=2", "megatron-tp")).ok(), said);
        }
        QVERIFY(!opened(json::parse("{\"quant_method\":\"a\\u001b[2J\"}")).ok()); // no name
    }

    /// Programs that take a layout for each name do not know those of packed weights; those that load the checkpoint themselves do.
    void exportsTakeThemOrSayWhyNot()
    {
        const Design design = designOf(sure(opened(kGptq)).model, "tp=2", "megatron-tp");
        const auto evaluation = sure(evaluate(design));
        for (const ExportTarget& target : exportTargets()) {
            const auto refusals = target.refusals(design, *evaluation, {});
            QVERIFY(refusals.ok());
            const bool loads = target.id == "vllm" || target.id == "sglang";
            const bool named = std::ranges::any_of(refusals.value(), [](const ExportRefusal& refusal) {
                return refusal.error.what.find("packed") != std::string::npos;
            });
            QVERIFY2(named != loads, target.id.c_str());
        }
    }
};

SHARDBOARD_TEST(TestQuantized)
#include "tst_quantized.moc"
