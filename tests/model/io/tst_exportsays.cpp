// SPDX-License-Identifier: Apache-2.0
// What exports say beside the weights: types, batches, kinds of parallelism, hosts, and what they leave out, in their files too.
#include "model/io/checkpoint/openmodel.h"
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QRegularExpression>
#include <QTest>

#include <algorithm>
#include <clocale>

using namespace shardboard;
using nlohmann::json;

namespace {

Workload workloadOf(bool train, std::int64_t batch = 16)
{
    Workload workload;
    workload.kind = train ? WorkloadKind::Train : WorkloadKind::Prefill;
    workload.batch = batch;
    workload.sequence = 64;
    return workload;
}

Design smallLlama(const char* mesh, const char* preset, bool train = true)
{
    return designOn(mesh, denseModel(256, 64, 128, 2, 8, 4, 8), workloadOf(train), preset);
}

Design llama8b(const char* mesh, const char* preset, bool train = true)
{
    return designOn(mesh, sure(builtinModel("llama3-8b")), workloadOf(train), preset);
}

void lay(Design& design, const char* match, const char* spec)
{
    design.strategies.push_back({ match, { StrategyKind::Spec, {}, 0, spec }, {} });
}

/// Value of a setting of Megatron as it stands there; empty where there is none.
QString setting(const Design& design, const char* key)
{
    const QString text = QString::fromStdString(exportedFile("megatron", design, "export.py"));
    return QRegularExpression(QStringLiteral("^    \"%1\": (.*),$").arg(QLatin1String(key)), QRegularExpression::MultilineOption)
        .match(text)
        .captured(1);
}

std::string leftOutOf(const char* target, const Design& design)
{
    std::string text;
    for (const std::string& line : findExportTarget(target)->leftOut(design, *evaluated(design)))
        text += line + "\n";
    return text;
}

std::string usageOf(const char* target, const Design& design)
{
    return findExportTarget(target)->usage(design, *evaluated(design));
}

QString perDevice(const Design& design)
{
    const QString usage = QString::fromStdString(usageOf("maxtext", design));
    return QRegularExpression(QStringLiteral(" per_device_batch_size=([^ \n]*)")).match(usage).captured(1);
}

} // namespace

class TestExportSays : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// A file that counts the weights cannot take a shards.json that has lost some for all of them.
    void checksKnowHowManyWeights()
    {
        const Design train = llama8b("data=2,model=4", "megatron-tp");
        Design whole = llama8b("data=2,model=4", "megatron-tp", false);
        lay(whole, "*embed_tokens.weight", "P()");
        const std::string count = std::to_string(32 * 9 + 3);
        for (const ExportTarget& target : exportTargets()) {
            const std::string id = target.id;
            const Design& design = id == "deepspeed" || !exported(id.c_str(), train).ok() ? whole : train;
            std::string text;
            for (const ExportedFile& file : sure(exported(
                     id.c_str(),
                     id == "vllm" || id == "sglang" || id == "trtllm" ? llama8b("data=2,model=4", "megatron-tp", false) : design)))
                if (file.name != "shards.json")
                    text += textOf(file.text);
            QVERIFY2(text.find("WEIGHTS = " + count + "  # in shards.json") != std::string::npos
                         || text.find("\"tensors\": " + count + ",\n") != std::string::npos,
                     id.c_str());
        }
    }

    /// What the terminal lists stands in a file as well.
    void leftOutStandsInFiles()
    {
        for (const ExportTarget& target : exportTargets()) {
            const bool serves = target.id == "vllm" || target.id == "sglang" || target.id == "trtllm";
            Design design = smallLlama("data=2,model=4", "megatron-tp", !serves);
            if (target.id == "deepspeed")
                lay(design, "*embed_tokens.weight", "P()");
            design.workload.overlap = Overlap::Weights;
            const auto files = exported(target.id.c_str(), design);
            if (!files.ok())
                continue;
            std::string text;
            for (const ExportedFile& file : files.value())
                if (file.name != "shards.json")
                    text += textOf(file.text);
            QVERIFY2(text.find("overlap weights: when collectives run is left to ") != std::string::npos, target.id.c_str());
        }
        const std::string mlir = exportedFile(
            "shardy",
            [] {
                Design design = smallLlama("data=2,model=4", "megatron-tp");
                design.workload.overlap = Overlap::Weights;
                return design;
            }(),
            "design.mlir");
        QVERIFY(mlir.find("\n// Left out of the design:\n//   overlap weights: ") != std::string::npos);
    }

    /// Every setting that changes what is computed, held or moved stands in a file, or is named as left out.
    void everySettingIsSaid()
    {
        struct Setting {
            const char* name;
            void (*set)(Design&);
            std::vector<const char*> said; ///< any of these
        };
        const std::vector<Setting> settings {
            { "overlap", [](Design& d) { d.workload.overlap = Overlap::Weights; }, { "overlap weights: " } },
            { "graphs", [](Design& d) { d.workload.graphs = true; }, { "CUDA graphs: " } },
            { "weights", [](Design& d) { d.workload.precision.weights = DType::F32; }, { "precision weights=f32: " } },
            { "reductions", [](Design& d) { d.workload.precision.reductions = DType::F32; }, { "precision reductions=f32: " } },
            { "fp8",
              [](Design& d) {
                  d.workload.dtype = DType::F8E4M3;
                  d.workload.fp8 = { Fp8Recipe::Rowwise, true };
              },
              { "fp8 recipe rowwise, weights gathered in fp8: " } },
            { "products", [](Design& d) { d.workload.dtype = DType::F8E4M3; }, { "products in f8e4m3: " } },
            { "framework",
              [](Design& d) { d.memory.choose(Framework::TorchTitan); },
              { "memory as TorchTitan (FSDP2) holds it: " } },
            { "reshard",
              [](Design& d) { d.memory.reshardAfterForward = false; },
              { "reshard after forward never: ", "RESHARD_AFTER_FORWARD = False" } },
            { "micro-batches",
              [](Design& d) { d.workload.microBatches = 2; },
              { "2 micro-batches: ", "\"micro_batch_size\"", "gradient_accumulation_steps" } },
            { "recompute",
              [](Design& d) { d.workload.recompute = *recomputeFromName("norms"); },
              { "recompute norms: ", "\"layernorm\"" } },
            { "attention", [](Design& d) { d.workload.attention = AttentionKernel::Unfused; }, { "attention unfused: " } },
            { "software", [](Design& d) { d.workload.software = Software::Eager; }, { "software eager: " } },
            { "grouping",
              [](Design& d) { d.memory.groupCollectives = false; },
              { "weights of a block moved in one call never: " } },
            { "gathering ahead", [](Design& d) { d.memory.prefetchedLayers = 2; }, { "weights of 2 layers gathered ahead: " } },
            { "loss", [](Design& d) { d.memory.logitsInF32 = false; }, { "loss fused: " } },
            { "offload",
              [](Design& d) {
                  d.workload.offload.what = *offloadFromName("activations");
                  d.workload.offload.layers = 1;
              },
              { "offload of activations of 1 layer: ", "\"cpu_offloading" } },
            { "gradients",
              [](Design& d) {
                  d.workload.optimizer = { { "data" }, true };
              },
              { "optimizer states and gradients cut over ", "gradients cut between micro-batches: ", "\"stage\": 2",
                "\nOPTIMIZER = {\n    \"" } },
            { "rule", [](Design& d) { d.workload.rule = Optimizer::Muon; }, { "optimizer muon: " } },
            { "predicted", [](Design& d) { d.workload.predicted = 1; }, { "1 further token predicted, by modules " } },
        };
        int asked = 0;
        for (const ExportTarget& target : exportTargets())
            for (const Setting& setting : settings) {
                if (target.id == "vllm" || target.id == "sglang" || target.id == "trtllm")
                    continue; // which serve
                Design design = smallLlama("data=2,model=4", "megatron-tp");
                if (target.id == "deepspeed")
                    lay(design, "*embed_tokens.weight", "P()");
                setting.set(design);
                const auto files = exported(target.id.c_str(), design);
                if (!files.ok())
                    continue;
                std::string text = leftOutOf(target.id.c_str(), design);
                for (const ExportedFile& file : files.value())
                    if (file.name != "shards.json")
                        text += textOf(file.text);
                QVERIFY2(std::ranges::any_of(setting.said, [&](const char* said) { return text.find(said) != std::string::npos; }),
                         (target.id + " says nothing of " + setting.name).c_str());
                ++asked;
            }
        QVERIFY2(asked > 80, std::to_string(asked).c_str());
    }

    void settingsOfServing()
    {
        for (const char* target : { "vllm", "sglang", "trtllm" }) {
            Design design = llama8b("data=2,model=4", "megatron-tp", false);
            design.workload.precision.cache = DType::F8E4M3;
            design.workload.graphs = true;
            const std::string told = leftOutOf(target, design);
            QVERIFY2(told.find("precision cache=f8e4m3: ") != std::string::npos, target);
            QVERIFY2(told.find("CUDA graphs: ") != std::string::npos, target);
        }
    }

    void settingsOfExperts()
    {
        Design design = designOn("data=2,expert=2", sure(builtinModel("mixtral-8x7b")), workloadOf(true), "ep+dp");
        design.workload.dispatch = Dispatch::PerNode;
        design.workload.capacityFactor = 1.25;
        for (const char* target : { "jax", "shardy", "hlo", "maxtext" }) {
            const std::string told = leftOutOf(target, design);
            QVERIFY2(told.find("dispatch per-node: ") != std::string::npos, target);
            QVERIFY2((told.find("capacity factor 1.25: ") != std::string::npos) == (std::string_view(target) != "maxtext"), target);
        }
        QVERIFY(exportedFile("maxtext", design, "maxtext.yml").find("\nsparse_matmul: false\ncapacity_factor: 1.25\n")
                != std::string::npos);
    }

    /// MaxText has words for some sets of what is computed again.
    void rematPolicies()
    {
        Design design = smallLlama("data=2,model=4", "megatron-tp");
        for (const char* policy : { "none", "full", "minimal", "save_out_proj" }) {
            design.workload.recompute = *recomputeFromName(policy);
            QVERIFY(exportedFile("maxtext", design, "maxtext.yml").find("\nremat_policy: '" + std::string(policy) + "'\n")
                    != std::string::npos);
            QVERIFY(leftOutOf("maxtext", design).find("recompute") == std::string::npos);
        }
        design.workload.recompute = *recomputeFromName("norms");
        QVERIFY(exportedFile("maxtext", design, "maxtext.yml").find("remat_policy") == std::string::npos);
        QVERIFY(leftOutOf("maxtext", design).find("recompute norms: ") != std::string::npos);
    }

    /// What the module does is not said to be left out, and what is left out it does not do otherwise.
    void recomputingOfTorch()
    {
        Design design = llama8b("data=2,model=4", "megatron-tp");
        const auto way = [&] {
            const std::string text = exportedFile("torch", design, "export.py");
            const auto at = text.find("\nRECOMPUTE = ") + 13;
            return text.substr(at, text.find('\n', at) - at);
        };
        design.workload.recompute = Recompute::ByOp;
        QCOMPARE(way(), std::string("\"selective\""));
        QVERIFY(leftOutOf("torch", design).find("recompute by-op: the module keeps every matrix product") != std::string::npos);
        design.workload.recomputeLayers = 3;
        QCOMPARE(way(), std::string("\"none\""));
        QVERIFY(leftOutOf("torch", design).find("recompute by-op of 3 layers: ") != std::string::npos);
        design.workload.recomputeLayers = 0;
        design.workload.recomputeEvery = 2;
        QCOMPARE(way(), std::string("\"none\""));
        QVERIFY(leftOutOf("torch", design).find("recompute by-op of one layer in 2: ") != std::string::npos);
    }

    /// FSDP2 and TorchTitan have this option.
    void reshardingOfTorch()
    {
        Design design = llama8b("fsdp=8", "fsdp");
        QVERIFY(exportedFile("torch", design, "export.py").find("\nRESHARD_AFTER_FORWARD = True") != std::string::npos);
        design.memory.reshardAfterForward = false;
        const std::string never = exportedFile("torch", design, "export.py");
        QVERIFY(never.find("\nRESHARD_AFTER_FORWARD = False") != std::string::npos);
        QVERIFY(never.find("\"fsdp_reshard_after_forward\": \"never\"") != std::string::npos);
        QVERIFY(never.find("reshard_after_forward=RESHARD_AFTER_FORWARD") != std::string::npos);
    }

    /// Every copy of the model has a server: on nodes of 8 devices those of 3 copies of 4 are one on each node, 2 on the first.
    void noCopyIsLeftOver()
    {
        const auto copies = [](const char* mesh) {
            const Design design = designOn(mesh, sure(builtinModel("llama3-8b")), workloadOf(false, 60), "megatron-tp");
            const auto text = QString::fromStdString(exportedFile("sglang", design, "sglang.yaml"));
            return QRegularExpression(QStringLiteral("\ndp-size: (\\d+)\n")).match(text).captured(1).toInt();
        };
        QCOMPARE(copies("data=3,model=4"), 1);
        QCOMPARE(copies("data=4,model=4"), 2);
        QCOMPARE(copies("data=5,model=2"), 1);
        QCOMPARE(copies("data=6,model=2"), 2);
        const Design three = designOn("data=3,model=4", sure(builtinModel("llama3-8b")), workloadOf(false, 60), "megatron-tp");
        for (const char* target : { "sglang", "trtllm" }) {
            const std::string usage = usageOf(target, three);
            QVERIFY2(usage.starts_with("# on every node; on the last one the first line alone\n"), usage.c_str());
        }
        const Design stages =
            designOn("data=2,stage=3,model=2", sure(builtinModel("llama3-8b")), workloadOf(false, 12), "pp+tp+dp");
        QVERIFY2(usageOf("vllm", stages).starts_with("# 2 hosts hold a copy of the model"), usageOf("vllm", stages).c_str());
    }

    void types()
    {
        Design design = smallLlama("fsdp=4", "fsdp");
        const auto config = [&] { return json::parse(exportedFile("deepspeed", design, "ds_config.json")); };
        QVERIFY(config().contains("bf16"));
        design.workload.dtype = DType::F8E4M3;
        QVERIFY(config().contains("bf16"));
        QVERIFY(leftOutOf("deepspeed", design).find("products in f8e4m3: ") != std::string::npos);
        design.workload.dtype = DType::F32;
        QVERIFY(!config().contains("bf16") && !config().contains("fp16"));

        Design tensor = smallLlama("data=2,model=4", "megatron-tp");
        QCOMPARE(setting(tensor, "bf16"), QStringLiteral("True"));
        tensor.workload.dtype = DType::F16;
        QCOMPARE(setting(tensor, "fp16") + setting(tensor, "bf16"), QStringLiteral("True"));
        tensor.workload.dtype = DType::F32;
        QCOMPARE(setting(tensor, "fp16") + setting(tensor, "bf16"), QString());
        tensor.workload = workloadOf(false);
        tensor.workload.dtype = DType::F8E4M3;
        QVERIFY(leftOutOf("vllm", tensor).find("weights and values in f8e4m3: vLLM takes the type of the checkpoint (")
                != std::string::npos);
    }

    /// How attention gets at other parts of the sequence is one setting, and the order of tokens is said.
    void contextParallelism_data()
    {
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("setting");
        dataRow("ring", QStringLiteral("cp-ring"), QStringLiteral("\"p2p\""));
        dataRow("gather", QStringLiteral("cp-all-gather"), QStringLiteral("\"all_gather\""));
        dataRow("ulysses", QStringLiteral("cp-ulysses"), QStringLiteral("\"a2a\""));
    }
    void contextParallelism()
    {
        QFETCH(QString, preset);
        QFETCH(QString, setting);
        const Design design = smallLlama("data=2,context=4", preset.toLatin1().constData());
        QCOMPARE(::setting(design, "cp_comm_type"), setting);
        QVERIFY(leftOutOf("megatron", design).find("Megatron deals the sequence in 8 chunks") != std::string::npos);
        QVERIFY(::setting(smallLlama("data=2,model=4", "tp-sp"), "cp_comm_type").isEmpty());
    }

    /// One value that is pinned is not the residual stream.
    void sequenceParallelism()
    {
        Design design = smallLlama("data=2,model=4", "megatron-tp");
        QVERIFY(setting(design, "sequence_parallel").isEmpty());
        design.pins.push_back(sure(parsePin("mlp in:sequence=model")));
        QVERIFY(setting(design, "sequence_parallel").isEmpty());
        QVERIFY(leftOutOf("megatron", design).find("1 pin of \"mlp in\"") != std::string::npos);
        QCOMPARE(setting(smallLlama("data=2,model=4", "tp-sp"), "sequence_parallel"), QStringLiteral("True"));
    }

    /// Ranks that compute the whole batch in the design are told that frameworks give them parts.
    void wholeBatch()
    {
        for (const bool train : { true, false }) {
            Design design = smallLlama("data=2,model=4", "megatron-tp", train);
            lay(design, "*embed_tokens.weight", "P()");
            for (const char* target : { "hf", "deepspeed", "megatron", "vllm" }) {
                QVERIFY(leftOutOf(target, design).find("the batch, which is whole") == std::string::npos);
                Design whole = design;
                lay(whole, "tokens", "P()");
                if (train)
                    lay(whole, "targets", "P()");
                QVERIFY2(leftOutOf(target, whole).find("the batch, which is whole over mesh axis 'data' in the design: ")
                             != std::string::npos,
                         target);
            }
        }
    }

    void hosts()
    {
        Design design = designOn("data=8,model=8", sure(builtinModel("llama3-70b")), workloadOf(true, 64), "megatron-tp");
        lay(design, "*embed_tokens.weight", "P()");
        const char* several = "torchrun --nnodes 8 --rdzv-backend c10d --rdzv-endpoint $HOST --nproc-per-node 8";
        QVERIFY(usageOf("hf", design).find(several) != std::string::npos);
        QVERIFY(usageOf("megatron", design).find(several) != std::string::npos);
        QVERIFY(usageOf("deepspeed", design).find("--num_nodes 8 --num_gpus 8") != std::string::npos);
        const Design one = smallLlama("data=2,model=4", "megatron-tp");
        QVERIFY(usageOf("hf", one).find("torchrun --nproc-per-node 8\n") != std::string::npos);
        QVERIFY(usageOf("megatron", one).find("pretrain_gpt.py") != std::string::npos);
        const Design served = smallLlama("data=2,model=4", "megatron-tp", false);
        QVERIFY(usageOf("megatron", served).find("pretrain_gpt.py") == std::string::npos);
        QVERIFY(leftOutOf("megatron", served).find("batch 16: ") != std::string::npos);
    }

    /// MaxText takes the whole part of this number times the devices.
    void batchOfADevice()
    {
        const char* before = std::setlocale(LC_NUMERIC, nullptr);
        const std::string kept = before == nullptr ? "C" : before;
        for (const char* locale : { "C", "de_DE.UTF-8", "fr_FR.UTF-8" }) { // those that are not there change nothing
            std::setlocale(LC_NUMERIC, locale);
            for (const auto& [mesh, batch, text] : { std::tuple { "data=2,model=3", std::int64_t { 2 }, "0.3333333333333333" },
                                                     { "data=2,model=4", 12, "1.5" },
                                                     { "data=2,model=4", 16, "2" } }) {
                Design design = designOn(mesh, denseModel(258, 48, 96, 2, 6, 3, 8), workloadOf(true, batch), "replicate");
                QCOMPARE(perDevice(design), QLatin1String(text));
            }
        }
        std::setlocale(LC_NUMERIC, kept.c_str());
        for (std::int64_t devices = 1; devices < 200; ++devices)
            for (std::int64_t batch = 1; batch < 2 * devices; batch += 3) {
                Design design;
                design.mesh = sure(Mesh::parse("data=" + std::to_string(devices)));
                design.model = denseModel(258, 48, 96, 2, 6, 3, 8);
                design.workload.batch = batch;
                const double each = perDevice(design).toDouble();
                QCOMPARE(static_cast<std::int64_t>(static_cast<double>(devices) * each), batch);
                if (devices > 20)
                    break;
            }
    }

    void modelsOfMaxText()
    {
        const auto usage = [](ModelSpec model) {
            return usageOf("maxtext", designOn("data=2,model=2", std::move(model), workloadOf(true), "megatron-tp"));
        };
        QVERIFY(usage(sure(builtinModel("llama3-8b"))).find(" model_name=llama3-8b override") != std::string::npos);
        const std::string unknown = usage(sure(builtinModel("qwen2.5-3b")));
        QVERIFY2(unknown.find(" model_name=default ") != std::string::npos
                     && unknown.find(" decoder_block=qwen2 base_emb_dim=2048 base_num_decoder_layers=36 base_num_query_heads=16 "
                                     "base_num_kv_heads=2 head_dim=128 base_mlp_dim=11008 "
                                     "normalization_layer_epsilon=0.000001 rope_max_timescale=1000000 logits_via_embedding=true "
                                     "attention_bias=true")
                         != std::string::npos,
                 unknown.c_str());
        ModelSpec named = denseModel(256, 64, 128, 2, 8, 4, 8);
        named.name = "llama3-8b"; // of its own sizes
        QVERIFY(usage(named).find(" model_name=default ") != std::string::npos);
        QVERIFY(usage(named).find(" base_emb_dim=64 ") != std::string::npos);
    }

    /// Of Llama 3.1 MaxText turns the elements of a head round: no rule says what lies where, unless heads are whole.
    void headsOfLlama31()
    {
        Design design = designOn("data=2,model=4", sure(builtinModel("llama3.1-405b")), workloadOf(true), "megatron-tp");
        QVERIFY(exported("maxtext", design).ok());
        QVERIFY(leftOutOf("maxtext", design).find("the order of elements within heads of query and key") != std::string::npos);
        design.mesh = sure(Mesh::parse("data=2,model=256"));
        for (const char* match : { "*q_proj*", "*k_proj*", "*v_proj*", "*o_proj*" })
            lay(design, match, std::string_view(match) == "*o_proj*" ? "P(None,'model')" : "P('model')");
        const std::string told = refusalOf("maxtext", design);
        QVERIFY2(told.find("heads are cut inside") != std::string::npos || told.find("does not divide its") != std::string::npos,
                 told.c_str());
    }

    /// Weights that TorchTitan cuts and the design does not.
    void titanCutsEverything()
    {
        const auto notTitan = [](const Design& design) {
            const std::string text = exportedFile("torch", design, "export.py");
            return text.substr(text.find("\nNOT_TITAN = ") + 13, 60);
        };
        Design tensor = llama8b("data=2,model=4", "megatron-tp");
        QVERIFY2(notTitan(tensor).starts_with("()"), notTitan(tensor).c_str());
        QVERIFY(leftOutOf("torch", tensor).empty());
        tensor.workload.microBatches = 2;
        QVERIFY(leftOutOf("torch", tensor).find("; torchtitan() says it\n") != std::string::npos);
        lay(tensor, "*lm_head.weight", "P()");
        QVERIFY2(notTitan(tensor).find("its tensor parallel cuts lm_head.weight") != std::string::npos, notTitan(tensor).c_str());
        QVERIFY(leftOutOf("torch", tensor).find("torchtitan()") == std::string::npos);
        Design sharded = llama8b("fsdp=8", "fsdp");
        QVERIFY2(notTitan(sharded).starts_with("()"), notTitan(sharded).c_str());
        lay(sharded, "*embed_tokens.weight", "P()");
        QVERIFY2(notTitan(sharded).find("its FSDP cuts dim 0 of every weight") != std::string::npos, notTitan(sharded).c_str());
    }

    /// A rank has the modules of its stage: the lines say so, and what runs them.
    void pipelinesOfTorch()
    {
        Workload workload = workloadOf(true);
        workload.microBatches = 2;
        const Design design = designOn("stage=2,model=2", denseModel(256, 64, 128, 4, 8, 4, 8), workload, "pp-1f1b");
        QVERIFY(usageOf("torch", design).find("stage_modules(m.get_local_rank(STAGE_AXIS))") != std::string::npos);
        QVERIFY(leftOutOf("torch", design).find("the pipeline's schedule: ") != std::string::npos);
        const std::string module = exportedFile("torch", design, "export.py");
        const auto calls = QString::fromStdString(module).count(QStringLiteral("    verify_stage(model, m)\n"));
        QCOMPARE(calls, 2); // parallelize() and distribute()
        QVERIFY(usageOf("torch", smallLlama("data=2,model=4", "megatron-tp")).find("stage") == std::string::npos);
    }

    /// XLA cuts a dim that does not divide at other bounds: JAX is not told of such a value.
    void unevenActivationsOfJax()
    {
        Workload workload = workloadOf(false, 8);
        workload.sequence = 66;
        Design design = designOn("data=1,model=4", denseModel(256, 48, 96, 2, 6, 3, 8), workload, "replicate");
        const auto listed = [&] { return exportedFile("jax", design, "export.py").find("    \"mlp in\": (") != std::string::npos; };
        QVERIFY(listed());
        QVERIFY(leftOutOf("jax", design).empty());
        design.pins.push_back(sure(parsePin("mlp in:sequence=model")));
        QVERIFY(!listed());
        QVERIFY2(leftOutOf("jax", design).find("elsewhere than XLA") != std::string::npos, // and names the first of them
                 leftOutOf("jax", design).c_str());
        design.workload.sequence = 64; // which divides
        QVERIFY(listed());
        QVERIFY(leftOutOf("jax", design).empty());
    }
};

SHARDBOARD_TEST(TestExportSays)
#include "tst_exportsays.moc"
