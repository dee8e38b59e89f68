// SPDX-License-Identifier: Apache-2.0
// Families as data: expressions over a config, the reader of family files, and a family beside a checkpoint.
#include "model/families/buildgraph.h"
#include "model/families/modelsize.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/huggingface/expression.h"
#include "model/io/huggingface/familyfile.h"
#include "model/io/huggingface/hfconfig.h"
#include "tests/model/io/checkpointmaker.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <map>
#include <set>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

const json kConfig { { "hidden_size", 48 },
                     { "heads", 6 },
                     { "bias", true },
                     { "none", nullptr },
                     { "kind", "rms" },
                     { "zero", 0 },
                     { "types", { "window", "full", "window", "full" } },
                     { "dense", { 1, 0 } },
                     { "rope", { { "theta", 5.5 } } } };

Result<json> value(const std::string& text)
{
    return evaluateExpression(text,
                              { [](const std::string& key) {
                                   const auto dot = key.find('.');
                                   const json outer = kConfig.value(key.substr(0, dot), json());
                                   if (dot == std::string::npos)
                                       return Result<json>(outer);
                                   return Result<json>(outer.is_object() ? outer.value(key.substr(dot + 1), json()) : json());
                               },
                                [](const std::string& name) { return Result<json>(json(name == "own" ? 7 : 0)); },
                                [](const std::string& key) { return kConfig.contains(key); } },
                              "here");
}

Result<FamilyFile> family(const std::string& text) { return readFamilyFile(text, "f.json", familyOf); }

/// A config of few elements for any family: what the file requires, small.
json smallConfig(const FamilyFile& file)
{
    json config { { "model_type", file.type } };
    for (const std::string& key : file.required)
        config[key] = key.find("per_tok") != std::string::npos ? 2 : 4;
    for (const char* key : { "hidden_size", "d_model" })
        if (file.config.contains(key))
            config[key] = 32;
    const auto set = [&](const char* key, const json& to) {
        if (file.config.contains(key) && (!file.config[key].is_null() || config.contains(key)))
            config[key] = to;
    };
    set("num_attention_heads", 4);
    set("num_key_value_heads", 2);
    set("head_dim", 8);
    set("kv_channels", 8);
    set("vocab_size", 40);
    set("intermediate_size", 24);
    set("intermediate_size_mlp", 20);
    set("shared_expert_intermediate_size", 12);
    set("shared_intermediate_size", 12);
    set("moe_intermediate_size", 10);
    set("num_hidden_layers", 3);
    set("num_layers", 3);
    set("first_k_dense_replace", 1);
    set("n_group", 1);
    set("topk_group", 1);
    for (const char* key : { "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts" })
        set(key, 4);
    for (const char* key : { "num_experts_per_tok", "moe_k", "moe_top_k", "num_attention_groups" })
        set(key, 2);
    for (const char* key : { "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim" })
        set(key, 6);
    for (const char* key : { "linear_num_value_heads", "mamba_n_heads", "mamba_num_heads", "num_heads", "n_head" })
        set(key, 4);
    for (const char* key : { "linear_num_key_heads", "mamba_n_groups", "n_groups", "full_attention_interval", "index_n_heads" })
        set(key, 2);
    for (const char* key : { "linear_key_head_dim", "linear_value_head_dim", "mamba_head_dim", "mamba_d_state", "ssm_state_size",
                             "state_size", "index_head_dim", "index_topk" })
        set(key, 8);
    for (const char* key : { "mamba_d_ssm", "n_embd" })
        set(key, 32);
    for (const char* key : { "n_positions", "max_position_embeddings" })
        set(key, 16);
    for (const char* key : { "moe_shared_expert_intermediate_size", "ffn_dim" })
        set(key, 12);
    set("n_layer", 3);
    set("rotary_dim", 4);
    set("hidden_size_per_layer_input", 4);
    set("num_kv_shared_layers", 1);
    set("global_head_dim", 16);
    for (const char* key : { "d_model", "dim" })
        set(key, 32);
    if (file.type == "granitemoehybrid")
        config["layer_types"] = { "mamba", "attention", "mamba" };
    if (file.type == "minimax")
        config["shared_intermediate_size"] = 0;
    if (file.type == "nemotron_h") {
        config["hybrid_override_pattern"] = "M*-E";
        config["moe_latent_size"] = 12;
    }
    if (file.type == "esm")
        config["position_embedding_type"] = "rotary";
    if (file.type == "mllama_text_model")
        config["cross_attention_layers"] = { 1 };
    if (file.type == "hunyuan_v1_moe") {
        config["num_experts"] = 4;
        config["moe_topk"] = 2;
    }
    return config;
}

} // namespace

class TestFamilyFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void expressions_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("wanted");
        const auto row = [](const char* text, const char* wanted) {
            QTest::newRow(text) << QString::fromUtf8(text) << QString::fromUtf8(wanted);
        };
        row("1 + 2 * 3", "7");
        row("(1 + 2) * 3", "9");
        row("7 - 2 - 1", "4");
        row("behind('abc', 1) + behind('abc', 9)", "\"bc\"");
        row("hidden_size / heads", "8");
        row("hidden_size / 5", "9.6");
        row("hidden_size % 5", "3");
        row("none ?? missing ?? heads", "6");
        row("none ?? hidden_size / heads", "8");
        row("none + 1", "null");
        row("missing", "null");
        row("bias ? 'qkvo' : 'none'", "\"qkvo\"");
        row("not bias or heads == 6 and kind != 'rms'", "false");
        row("none == null", "true");
        row("zero ? 1 : zero < 1 ? 2 : 3", "2");
        row("rope.theta", "5.5");
        row("rope.base ?? 1", "1");
        row("$own * 2", "14");
        row("sqrt(9)", "3.0");
        row("whole(heads * 0.75)", "4");
        row("min(heads, 4) + max(1, 2)", "6");
        row("every(types, 'full')", "2");
        row("every(types, 'other')", "0");
        row("every(types, 'window')", "null");
        row("count(types, 'full') == length(types) / 2", "true");
        row("leading(dense)", "2");
        row("leading(types)", "null");
        row("first(dense) + first(heads)", "7");
        row("holds(none) and not holds(missing)", "true");
        row("letters(types, 'full=a window=w')", "\"wawa\"");
        row("letters(types, 'full=a')", "null");
        row("letters('M-*', 'M=R *=A -=F')", "\"RFA\"");
        row("letters(none, 'M=R')", "null");
        row("repeated(repeated('r', 2) + 'a', 7)", "\"rrarrar\"");
        row("placed(dense, 3)", "\"aar\"");
        row("item(types, 1)", "\"full\"");
        row("item(types, 9)", "null");
        row("length('abc') + count('abca', 'a')", "5");
    }
    void expressions()
    {
        QFETCH(QString, text);
        QFETCH(QString, wanted);
        const auto out = value(text.toStdString());
        QVERIFY2(out.ok(), out.ok() ? "" : out.error().text().c_str());
        QCOMPARE(QString::fromStdString(out.value().dump()), wanted);
    }

    void wrongExpressions_data()
    {
        QTest::addColumn<QByteArray>("text");
        for (const char* text : { "",
                                  "1 +",
                                  "(1",
                                  "1)",
                                  "'a",
                                  "a..b",
                                  "a.",
                                  "a.b..c",
                                  ".a",
                                  "1 ? 2",
                                  "f(1)",
                                  "sqrt()",
                                  "sqrt(1, 2)",
                                  "$",
                                  "1 2",
                                  "a b",
                                  "??",
                                  "#",
                                  "1 / zero",
                                  "heads % zero",
                                  "sqrt(0 - 1)",
                                  "'a' + 1",
                                  "length(3)",
                                  "every(heads, 1)",
                                  "hidden_size * 1e300 * 1e300",
                                  "1e999",
                                  "whole(1e30)" })
            QTest::newRow(*text == '\0' ? "empty" : text) << QByteArray(text);
        QTest::newRow("deep") << QByteArray(500, '(');
        QTest::newRow("deep choice") << QByteArray("1?").repeated(400);
        QTest::newRow("deep not") << QByteArray("not ").repeated(400) + "1";
        QTest::newRow("long") << QByteArray("1+").repeated(5000) + "1";
        QTest::newRow("control") << QByteArray("\x01\x02");
    }
    void wrongExpressions()
    {
        QFETCH(QByteArray, text);
        const auto out = value(text.toStdString());
        QVERIFY(!out.ok());
        QVERIFY2(out.error().text().find("here") != std::string::npos, out.error().text().c_str());
    }

    void wrongFiles_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("place");
        const auto row = [](const char* name, const char* text, const char* place) {
            QTest::newRow(name) << QString::fromUtf8(text) << QString::fromUtf8(place);
        };
        row("list", "[]", "f.json");
        row("no type", "{}", "f.json:model_type");
        row("empty type", R"({"model_type":""})", "f.json:model_type");
        row("unknown key", R"({"model_type":"a","modle":{}})", "f.json:modle");
        row("like nothing", R"({"model_type":"a","like":"b"})", "f.json:like");
        row("model key", R"({"model_type":"a","model":{"hiden_size":1}})", "f.json:model");
        row("model value", R"({"model_type":"a","model":{"hidden_size":[1]}})", "f.json:model");
        row("expression", R"({"model_type":"a","model":{"hidden_size":"1 +"}})", "f.json:model.hidden_size");
        row("name", R"({"model_type":"a","names":{"norm":3}})", "f.json:names");
        row("empty name", R"({"model_type":"a","names":{"norm":""}})", "f.json:names");
        row("line in a name", R"({"model_type":"a","names":{"norm":"a\nb"}})", "f.json:names");
        row("stop", R"({"model_type":"a","stops":[{"if":"1 +","say":"x"}]})", "f.json:stops[0].if");
        row("stop without words", R"({"model_type":"a","stops":[{"if":"1"}]})", "f.json:stops[0].say");
        row("shape", R"({"model_type":"a","weights":[{"name":"*","shape":["1","/"]}]})", "f.json:weights[0].shape");
        row("default", R"({"model_type":"a","config":{"x":{}}})", "f.json:config");
        row("required", R"({"model_type":"a","required":"x"})", "f.json:required");
    }
    void wrongFiles()
    {
        QFETCH(QString, text);
        QFETCH(QString, place);
        const auto out = family(text.toStdString());
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().text()).contains(place), out.error().text().c_str());
    }

    /// What depends on itself, comes out as no number, or as one that no model has, names the config's file or the family's.
    void filesThatCannotBeApplied()
    {
        const json config { { "model_type", "a" }, { "hidden_size", 8 } };
        const std::vector<json> models {
            { { "head_dim", "$num_attention_heads" }, { "num_attention_heads", "$head_dim" } },
            { { "head_dim", "'x'" } },
            { { "head_dim", "hidden_size * 1e17" } },
            { { "hidden_size", "hidden_size / 3" } },
            { { "num_hidden_layers", "0 - 4" } },
            { { "norm_type", "'batchnorm'" } },
            { { "mlp_bias", "3" } },
        };
        for (const json& each : models) {
            const std::string model = each.dump();
            const auto file = family(json { { "model_type", "a" }, { "model", each } }.dump());
            QVERIFY2(file.ok(), model.c_str());
            const auto out = modelFromConfig(config, "config.json", &file.value());
            QVERIFY2(!out.ok(), model.c_str());
            QVERIFY2(out.error().where.starts_with("config.json") || out.error().where.starts_with("f.json"),
                     out.error().text().c_str());
        }
    }

    /// Every built-in family reads, and one of few elements has a graph whose weights are as many as its dimensions say.
    void everyFamilyIsAGraph()
    {
        QVERIFY2(builtinFamilies().ok(), builtinFamilies().ok() ? "" : builtinFamilies().error().text().c_str());
        std::set<std::string> types;
        for (const FamilyFile& file : builtinFamilies().value()) {
            QVERIFY2(types.insert(file.type).second, file.type.c_str());
            for (const std::string& other : file.otherTypes)
                QVERIFY2(types.insert(other).second, other.c_str());
            QVERIFY2(!file.source.empty(), file.type.c_str());
            if (!file.isPlanned()) {
                QVERIFY2(!file.stops.empty(), file.type.c_str());
                continue;
            }
            const auto read = modelFromConfig(smallConfig(file), file.type);
            QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
            const ModelSpec& model = read.value().model;
            QVERIFY2(model.hasGraph(), (file.type + ": " + model.notUnderstood).c_str());
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train }) {
                Workload workload;
                workload.kind = kind;
                workload.batch = 2;
                workload.sequence = 8;
                const auto graph = buildGraph(model, workload);
                if ((model.block.bothWays || model.encoder.present()) && kind == WorkloadKind::Decode) { // an encoder
                    QVERIFY(!graph.ok());
                    continue;
                }
                QVERIFY2(graph.ok(), graph.ok() ? "" : (file.type + ": " + graph.error().text()).c_str());
                QVERIFY2(graph.value().parameterCount() == modelSize(model)->total, file.type.c_str());
            }
        }
    }

    /// Dimensions as released, and the number of parameters that goes with them: what transformers 5.23 makes of the same config on
    /// its meta device (AutoModelForCausalLM), but for internlm2, exaone, qwen and baichuan, which it has no class for; of the
    /// recurrent ones the configs are those of the released models, their counts transformers', too.
    void publishedCounts_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<qint64>("parameters");
        const auto row = [](const char* name, const char* config, qint64 parameters) {
            QTest::newRow(name) << QByteArray(config) << parameters;
        };
        row("pythia-70m",
            R"({"model_type":"gpt_neox","vocab_size":50304,"hidden_size":512,"intermediate_size":2048,"num_hidden_layers":6,"num_attention_heads":8})",
            70426624);
        row("pythia-6.9b",
            R"({"model_type":"gpt_neox","vocab_size":50432,"hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":32,"num_attention_heads":32})",
            6857302016);
        row("gpt-neox-20b",
            R"({"model_type":"gpt_neox","vocab_size":50432,"hidden_size":6144,"intermediate_size":24576,"num_hidden_layers":44,"num_attention_heads":64})",
            20554567680);
        row("phi-2",
            R"({"model_type":"phi","vocab_size":51200,"hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":32,"num_attention_heads":32,"partial_rotary_factor":0.4})",
            2779683840);
        row("Phi-3-mini-4k",
            R"({"model_type":"phi3","vocab_size":32064,"hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,"num_attention_heads":32})",
            3821079552);
        row("phi-4",
            R"({"model_type":"phi3","vocab_size":100352,"hidden_size":5120,"intermediate_size":17920,"num_hidden_layers":40,"num_attention_heads":40,"num_key_value_heads":10})",
            14659507200);
        row("stablelm-3b-4e1t",
            R"({"model_type":"stablelm","vocab_size":50304,"hidden_size":2560,"intermediate_size":6912,"num_hidden_layers":32,"num_attention_heads":32})",
            2795443200);
        row("starcoder2-3b",
            R"({"model_type":"starcoder2","vocab_size":49152,"hidden_size":3072,"intermediate_size":12288,"num_hidden_layers":30,"num_attention_heads":24,"num_key_value_heads":2})",
            3030371328);
        row("SmolLM3-3B",
            R"({"model_type":"smollm3","vocab_size":128256,"hidden_size":2048,"intermediate_size":11008,"num_hidden_layers":36,"num_attention_heads":16,"num_key_value_heads":4,"tie_word_embeddings":true})",
            3075098624);
        row("c4ai-command-r-v01",
            R"({"model_type":"cohere","vocab_size":256000,"hidden_size":8192,"intermediate_size":22528,"num_hidden_layers":40,"num_attention_heads":64,"logit_scale":0.0625})",
            34980831232);
        row("GLM-4-9B-0414",
            R"({"model_type":"glm4","vocab_size":151552,"hidden_size":4096,"intermediate_size":13696,"num_hidden_layers":40,"num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"attention_bias":true})",
            9400279040);
        row("OLMo-2-1124-7B",
            R"({"model_type":"olmo2","vocab_size":100352,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32})",
            7298617344);
        row("granite-3.1-8b-base",
            R"({"model_type":"granite","vocab_size":49155,"hidden_size":4096,"intermediate_size":12800,"num_hidden_layers":40,"num_attention_heads":32,"num_key_value_heads":8,"tie_word_embeddings":true,"attention_multiplier":0.0078125,"embedding_multiplier":12.0,"residual_multiplier":0.22,"logits_scaling":16.0})",
            8170848256);
        row("internlm2_5-7b",
            R"({"model_type":"internlm2","vocab_size":92544,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8})",
            7737708544);
        row("EXAONE-3.5-7.8B",
            R"({"model_type":"exaone","vocab_size":102400,"hidden_size":4096,"intermediate_size":14336,"num_layers":32,"num_attention_heads":32,"num_key_value_heads":8})",
            7818448896);
        row("Qwen-7B",
            R"({"model_type":"qwen","vocab_size":151936,"hidden_size":4096,"intermediate_size":22016,"num_hidden_layers":32,"num_attention_heads":32,"kv_channels":128})",
            7721324544);
        row("Baichuan2-7B",
            R"({"model_type":"baichuan","vocab_size":125696,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32})",
            7505973248);
        row("Seed-OSS-36B",
            R"({"model_type":"seed_oss","vocab_size":155136,"hidden_size":5120,"intermediate_size":27648,"num_hidden_layers":64,"num_attention_heads":80,"num_key_value_heads":8,"head_dim":128,"attention_bias":true})",
            36151104512);
        row("ERNIE-4.5-0.3B",
            R"({"model_type":"ernie4_5","vocab_size":103424,"hidden_size":1024,"intermediate_size":3072,"num_hidden_layers":18,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":128,"tie_word_embeddings":true})",
            360748032);
        row("OLMoE-1B-7B",
            R"({"model_type":"olmoe","vocab_size":50304,"hidden_size":2048,"intermediate_size":1024,"num_hidden_layers":16,"num_attention_heads":16,"num_experts":64,"num_experts_per_tok":8})",
            6919161856);
        row("Qwen1.5-MoE-A2.7B",
            R"({"model_type":"qwen2_moe","vocab_size":151936,"hidden_size":2048,"intermediate_size":5632,"num_hidden_layers":24,"num_attention_heads":16,"num_key_value_heads":16,"num_experts":60,"num_experts_per_tok":4,"moe_intermediate_size":1408,"shared_expert_intermediate_size":5632})",
            14315784192);
        row("Qwen3-Next-80B-A3B",
            R"({"model_type":"qwen3_next","vocab_size":151936,"hidden_size":2048,"intermediate_size":5120,"num_hidden_layers":48,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"num_experts":512,"num_experts_per_tok":10,"moe_intermediate_size":512,"shared_expert_intermediate_size":512})",
            79674391296);
        row("Qwen3.5-35B-A3B",
            R"({"model_type":"qwen3_5_moe_text","vocab_size":248320,"hidden_size":2048,"num_hidden_layers":40,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"num_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":512,"shared_expert_intermediate_size":512})",
            34660610688);
        row("granite-4.0-h-tiny",
            R"({"model_type":"granitemoehybrid","vocab_size":100352,"hidden_size":1536,"intermediate_size":512,"shared_intermediate_size":1024,"num_hidden_layers":40,"num_attention_heads":12,"num_key_value_heads":4,"num_local_experts":64,"num_experts_per_tok":6,"mamba_n_heads":48,"mamba_d_state":128,"mamba_d_head":64,"tie_word_embeddings":true,"position_embedding_type":"nope","layer_types":["mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba"]})",
            6939037248);
        row("Nemotron-H-8B",
            R"({"model_type":"nemotron_h","vocab_size":131072,"hidden_size":4096,"intermediate_size":21504,"num_hidden_layers":52,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"mamba_num_heads":128,"mamba_head_dim":64,"ssm_state_size":128,"n_groups":8,"hybrid_override_pattern":"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"})",
            8100852736);
        row("Nemotron-3-Nano-30B-A3B",
            R"({"model_type":"nemotron_h","vocab_size":131072,"hidden_size":2688,"intermediate_size":1856,"num_hidden_layers":52,"num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"mamba_num_heads":64,"mamba_head_dim":64,"ssm_state_size":128,"n_groups":8,"n_routed_experts":128,"num_experts_per_tok":6,"n_shared_experts":1,"moe_intermediate_size":1856,"moe_shared_expert_intermediate_size":3712,"routed_scaling_factor":2.5,"hybrid_override_pattern":"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})",
            31577940288);
        row("Bamba-9B",
            R"({"model_type":"bamba","vocab_size":128256,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"attn_layer_indices":[9,18,27],"mamba_n_heads":128,"mamba_d_state":128})",
            9780235392);
        row("Falcon-H1-7B",
            R"({"model_type":"falcon_h1","vocab_size":130048,"hidden_size":3072,"intermediate_size":12288,"num_hidden_layers":44,"num_attention_heads":12,"num_key_value_heads":2,"head_dim":128,"mamba_d_ssm":3072,"mamba_n_heads":24,"mamba_d_head":128,"mamba_d_state":256})",
            7585513568);
        row("gpt2", R"({"model_type":"gpt2","vocab_size":50257,"n_positions":1024,"n_embd":768,"n_layer":12,"n_head":12})",
            124439808);
        row("opt-6.7b",
            R"({"model_type":"opt","vocab_size":50272,"hidden_size":4096,"num_hidden_layers":32,"ffn_dim":16384,"num_attention_heads":32})",
            6658473984);
        row("bloom-7b1", R"({"model_type":"bloom","vocab_size":250880,"hidden_size":4096,"n_layer":30,"n_head":32})", 7069016064);
        row("OLMo-7B",
            R"({"model_type":"olmo","vocab_size":50304,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32})",
            6888095744);
        row("mpt-7b", R"({"model_type":"mpt","vocab_size":50432,"d_model":4096,"n_heads":32,"n_layers":32})", 6649286656);
        row("gpt-j-6b", R"({"model_type":"gptj","vocab_size":50400,"n_embd":4096,"n_layer":28,"n_head":16})", 6050882784);
        row("DeepSeek-V3.2",
            R"({"model_type":"deepseek_v32","vocab_size":129280,"hidden_size":7168,"intermediate_size":18432,"num_hidden_layers":61,"num_attention_heads":128,"n_routed_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":2048,"n_shared_experts":1,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128})",
            671877944064);
        // The same of transformers 5.24.
        row("Jamba-v0.1",
            R"({"model_type":"jamba","vocab_size":65536,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8})",
            51570323328);
        row("mamba-2.8b", R"({"model_type":"mamba","vocab_size":50280,"hidden_size":2560,"num_hidden_layers":64})", 2768345600);
        row("falcon-mamba-7b",
            R"({"model_type":"falcon_mamba","vocab_size":65024,"hidden_size":4096,"num_hidden_layers":64,"tie_word_embeddings":false})",
            7272665088);
        row("LFM2-1.2B",
            R"({"model_type":"lfm2","vocab_size":65536,"hidden_size":2048,"intermediate_size":12288,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"full_attn_idxs":[2,5,8,10,12,14]})",
            1170340608);
        row("LFM2-8B-A1B",
            R"({"model_type":"lfm2_moe","vocab_size":65536,"hidden_size":2048,"intermediate_size":7168,"moe_intermediate_size":1792,"num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":8,"num_experts":32,"num_experts_per_tok":4,"num_dense_layers":2,"layer_types":["conv","conv","full_attention","conv","conv","conv","full_attention","conv","conv","conv","full_attention","conv","conv","conv","full_attention","conv","conv","conv","full_attention","conv","conv","full_attention","conv","conv"]})",
            8339930560);
        row("ModernBERT-base",
            R"({"model_type":"modernbert","vocab_size":50368,"hidden_size":768,"intermediate_size":1152,"num_hidden_layers":22,"num_attention_heads":12})",
            149655232);
        row("ModernBERT-large",
            R"({"model_type":"modernbert","vocab_size":50368,"hidden_size":1024,"intermediate_size":2624,"num_hidden_layers":28,"num_attention_heads":16})",
            395881664);
        row("Kimi-Linear-48B-A3B",
            R"({"model_type":"kimi_linear","vocab_size":163840,"hidden_size":2304,"intermediate_size":9216,"moe_intermediate_size":1024,"num_hidden_layers":27,"num_attention_heads":32,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"num_experts":256,"num_experts_per_token":8,"num_shared_experts":1,"first_k_dense_replace":1,"linear_attn_config":{"full_attn_layers":[4,8,12,16,20,24,27],"kda_layers":[1,2,3,5,6,7,9,10,11,13,14,15,17,18,19,21,22,23,25,26],"num_heads":32,"head_dim":128,"short_conv_kernel_size":4}})",
            49122681728);
        row("MiMo-V2-Flash",
            R"({"model_type":"mimo_v2_flash","vocab_size":152576,"hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":48,"num_attention_heads":64,"n_routed_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":2048})",
            308778780864);
        row("Trinity (defaults)",
            R"({"model_type":"afmoe","vocab_size":200192,"hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":32,"num_attention_heads":16,"num_experts":64,"num_experts_per_tok":6,"moe_intermediate_size":1408})",
            19232600000);
        row("Mistral 4 (defaults)",
            R"({"model_type":"mistral4","vocab_size":131072,"hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_attention_heads":32,"n_routed_experts":128,"num_experts_per_tok":4,"moe_intermediate_size":2048,"kv_lora_rank":256,"qk_nope_head_dim":64,"qk_rope_head_dim":64,"v_head_dim":128})",
            118972826624);
        row("MiniCPM3-4B",
            R"({"model_type":"minicpm3","vocab_size":73448,"hidden_size":2560,"intermediate_size":6400,"num_hidden_layers":62,"num_attention_heads":40,"kv_lora_rank":256,"qk_nope_head_dim":64,"qk_rope_head_dim":32})",
            4073875968);
        row("distilbert-base",
            R"({"model_type":"distilbert","vocab_size":30522,"dim":768,"hidden_dim":3072,"n_layers":6,"n_heads":12})", 66985530);
        row("internlm3-8b",
            R"({"model_type":"internlm3","vocab_size":128512,"hidden_size":4096,"intermediate_size":10240,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":2,"head_dim":128})",
            8804241408);
        row("VaultGemma-1B",
            R"({"model_type":"vaultgemma","vocab_size":256000,"hidden_size":1152,"intermediate_size":6912,"num_hidden_layers":26,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256})",
            992734848);
        row("EuroBERT-210m",
            R"({"model_type":"eurobert","vocab_size":128256,"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12})",
            310266624);
        row("sarvam-105b (defaults)",
            R"({"model_type":"sarvam_mla","vocab_size":262144,"hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":32,"num_attention_heads":64,"n_routed_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":2048,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128})",
            106031767424);
        // As published.
        row("chatglm3-6b",
            R"({"model_type":"chatglm","padded_vocab_size":65024,"hidden_size":4096,"ffn_hidden_size":13696,"num_layers":28,"num_attention_heads":32,"kv_channels":128,"multi_query_attention":true,"multi_query_group_num":2,"add_qkv_bias":true})",
            6243584000);
        row("glm-4-9b-chat",
            R"({"model_type":"chatglm","padded_vocab_size":151552,"hidden_size":4096,"ffn_hidden_size":13696,"num_layers":40,"num_attention_heads":32,"kv_channels":128,"multi_query_attention":true,"multi_query_group_num":2,"add_qkv_bias":true})",
            9399951360);
        row("deepseek-moe-16b",
            R"({"model_type":"deepseek","vocab_size":102400,"hidden_size":2048,"intermediate_size":10944,"num_hidden_layers":28,"num_attention_heads":16,"n_routed_experts":64,"num_experts_per_tok":6,"moe_intermediate_size":1408,"n_shared_experts":2,"first_k_dense_replace":1})",
            16375728128);
        row("MiniCPM-2B",
            R"({"model_type":"minicpm","vocab_size":122753,"hidden_size":2304,"intermediate_size":5760,"num_hidden_layers":40,"num_attention_heads":36,"num_key_value_heads":36,"scale_depth":1.4,"tie_word_embeddings":true})",
            2724880896);
        row("Nemotron-3-Super-120B-A12B",
            R"({"model_type":"nemotron_h","head_dim":128,"hidden_size":4096,"hybrid_override_pattern":"MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME","intermediate_size":2688,"mamba_head_dim":64,"mamba_num_heads":128,"moe_intermediate_size":2688,"moe_latent_size":1024,"moe_shared_expert_intermediate_size":5376,"n_groups":8,"n_routed_experts":512,"n_shared_experts":1,"num_attention_heads":32,"num_experts_per_tok":22,"num_hidden_layers":88,"num_key_value_heads":2,"ssm_state_size":128,"tie_word_embeddings":false,"vocab_size":131072})",
            120668707840);
        row("c4ai-command-r-plus",
            R"({"model_type":"cohere","hidden_act":"silu","hidden_size":12288,"intermediate_size":33792,"max_position_embeddings":8192,"num_attention_heads":96,"num_hidden_layers":64,"num_key_value_heads":8,"tie_word_embeddings":true,"use_qk_norm":true,"vocab_size":256000})",
            103810674688);
        row("MiniMax-Text-01",
            R"({"model_type":"minimax_text_01","attn_type_list":[0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1],"head_dim":128,"hidden_act":"silu","hidden_size":6144,"intermediate_size":9216,"layernorm_full_attention_alpha":3.5565588200778455,"layernorm_linear_attention_alpha":3.5565588200778455,"layernorm_mlp_alpha":3.5565588200778455,"max_position_embeddings":10240000,"num_attention_heads":64,"num_experts_per_tok":2,"num_hidden_layers":80,"num_key_value_heads":8,"num_local_experts":32,"rotary_dim":64,"tie_word_embeddings":false,"vocab_size":200064})",
            456089655296);
        row("bart-large-cnn",
            R"({"model_type":"bart","activation_function":"gelu","d_model":1024,"decoder_attention_heads":16,"decoder_ffn_dim":4096,"decoder_layers":12,"encoder_attention_heads":16,"encoder_ffn_dim":4096,"encoder_layers":12,"max_position_embeddings":1024,"num_hidden_layers":12,"scale_embedding":false,"vocab_size":50264})",
            406290432);
        row("nllb-200-3.3B",
            R"({"model_type":"m2m_100","activation_function":"relu","d_model":2048,"decoder_attention_heads":16,"decoder_ffn_dim":8192,"decoder_layers":24,"encoder_attention_heads":16,"encoder_ffn_dim":8192,"encoder_layers":24,"max_position_embeddings":1024,"num_hidden_layers":24,"scale_embedding":true,"vocab_size":256206})",
            3344863232);
        row("persimmon-8b",
            R"({"model_type":"persimmon","hidden_act":"relu2","hidden_size":4096,"intermediate_size":16384,"max_position_embeddings":16384,"num_attention_heads":64,"num_hidden_layers":36,"num_key_value_heads":64,"partial_rotary_factor":0.5,"qk_layernorm":true,"tie_word_embeddings":false,"vocab_size":262144})",
            9397175296);
        row("bitnet-b1.58-2B-4T",
            R"({"model_type":"bitnet","hidden_act":"relu2","hidden_size":2560,"intermediate_size":6912,"max_position_embeddings":4096,"num_attention_heads":20,"num_hidden_layers":30,"num_key_value_heads":5,"tie_word_embeddings":true,"vocab_size":128256})",
            2412820480);
        row("electra-base",
            R"({"model_type":"electra","embedding_size":768,"hidden_act":"gelu","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,"num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":2,"vocab_size":30522})",
            109514298);
        row("nomic-embed-text-v1.5",
            R"({"model_type":"nomic_bert","activation_function":"swiglu","n_embd":768,"n_head":12,"n_inner":3072,"n_layer":12,"n_positions":8192,"type_vocab_size":2,"vocab_size":30528})",
            137354304);
        row("xglm-7.5B",
            R"({"model_type":"xglm","activation_function":"gelu","attention_heads":32,"d_model":4096,"ffn_dim":16384,"num_layers":32,"scale_embedding":true,"vocab_size":256008,"max_position_embeddings":2048})",
            7492771840);
        row("codegen-16B",
            R"({"model_type":"codegen","activation_function":"gelu_new","n_embd":6144,"n_head":24,"n_inner":null,"n_layer":34,"n_positions":2048,"rotary_dim":64,"tie_word_embeddings":false,"vocab_size":51200})",
            16032155648);
    }
    void publishedCounts()
    {
        QFETCH(QByteArray, config);
        QFETCH(qint64, parameters);
        const auto read = modelFromConfig(json::parse(config.toStdString()), "config.json");
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        QVERIFY2(read.value().model.hasGraph(), read.value().model.notUnderstood.c_str());
        QCOMPARE(static_cast<qint64>(modelSize(read.value().model)->total), parameters);
    }

    /// The same with weights that are stored beside the graph, whose shapes the family file tells where there are no headers.
    void publishedCountsBesideTheGraph_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<qint64>("parameters");
        const auto row = [](const char* name, const char* config, qint64 parameters) {
            QTest::newRow(name) << QByteArray(config) << parameters;
        };
        row("gpt-neo-2.7B",
            R"({"model_type":"gpt_neo","activation_function":"gelu_new","attention_layers":["global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local","global","local"],"hidden_size":2560,"intermediate_size":null,"max_position_embeddings":2048,"num_heads":20,"num_layers":32,"vocab_size":50257})",
            2651307520);
        row("t5-3b",
            R"({"model_type":"t5","d_ff":16384,"d_kv":128,"d_model":1024,"n_positions":512,"num_heads":32,"num_layers":24,"vocab_size":32128})",
            2851598336);
        row("whisper-large-v3",
            R"({"model_type":"whisper","activation_function":"gelu","d_model":1280,"decoder_attention_heads":20,"decoder_ffn_dim":5120,"decoder_layers":32,"encoder_attention_heads":20,"encoder_ffn_dim":5120,"encoder_layers":32,"max_source_positions":1500,"max_target_positions":448,"num_hidden_layers":32,"num_mel_bins":128,"scale_embedding":false,"vocab_size":51866})",
            1543490560);
        row("gemma-3n-E4B",
            R"({"model_type":"gemma3n","text_config":{"model_type":"gemma3n_text","activation_sparsity_pattern":[0.95,0.95,0.95,0.95,0.95,0.95,0.95,0.95,0.95,0.95,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0],"altup_num_inputs":4,"head_dim":256,"hidden_size":2048,"hidden_size_per_layer_input":256,"intermediate_size":[16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384,16384],"laurel_rank":64,"layer_types":["sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention"],"max_position_embeddings":32768,"num_attention_heads":8,"num_hidden_layers":35,"num_key_value_heads":2,"num_kv_shared_layers":15,"vocab_size":262400,"vocab_size_per_layer_input":262144}})",
            6835235568);
        row("gemma-4-E4B",
            R"({"model_type":"gemma4","text_config":{"model_type":"gemma4_text","global_head_dim":512,"head_dim":256,"hidden_size":2560,"hidden_size_per_layer_input":256,"intermediate_size":10240,"layer_types":["sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention"],"num_attention_heads":8,"num_hidden_layers":42,"num_key_value_heads":2,"num_kv_shared_layers":18,"tie_word_embeddings":true,"use_double_wide_mlp":false,"vocab_size":262144,"vocab_size_per_layer_input":262144}})",
            7463013376);
        row("gemma-4-E2B",
            R"({"model_type":"gemma4","text_config":{"model_type":"gemma4_text","global_head_dim":512,"head_dim":256,"hidden_size":1536,"hidden_size_per_layer_input":256,"intermediate_size":6144,"layer_types":["sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention"],"num_attention_heads":8,"num_hidden_layers":35,"num_key_value_heads":1,"num_kv_shared_layers":20,"tie_word_embeddings":true,"use_double_wide_mlp":true,"vocab_size":262144,"vocab_size_per_layer_input":262144}})",
            4628569344);
        row("Apertus-8B-2509",
            R"({"model_type":"apertus","hidden_act":"xielu","hidden_size":4096,"intermediate_size":21504,"max_position_embeddings":65536,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"tie_word_embeddings":false,"vocab_size":131072})",
            8053338176);
        row("all-mpnet-base-v2",
            R"({"model_type":"mpnet","hidden_act":"gelu","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":514,"num_attention_heads":12,"num_hidden_layers":12,"vocab_size":30527})",
            109518527);
        row("deberta-v3-base",
            R"({"model_type":"deberta-v2","hidden_act":"gelu","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,"relative_attention":true,"position_buckets":256,"norm_rel_ebd":"layer_norm","share_att_key":true,"position_biased_input":false,"num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":0,"vocab_size":128100})",
            184551780);
        row("umt5-small",
            R"({"model_type":"umt5","d_ff":1024,"d_kv":64,"d_model":512,"feed_forward_proj":"gated-gelu","num_decoder_layers":8,"num_heads":6,"num_layers":8,"tie_word_embeddings":false,"vocab_size":256384})",
            306601984);
    }
    void publishedCountsBesideTheGraph()
    {
        QFETCH(QByteArray, config);
        QFETCH(qint64, parameters);
        QTemporaryDir folder;
        QVERIFY(writeFile(folder.filePath(QStringLiteral("config.json")), config));
        const auto opened = openModel(folder.path().toStdString());
        QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().text().c_str());
        const ModelSpec& model = opened.value().model;
        QVERIFY2(model.hasGraph(), model.notUnderstood.c_str());
        qint64 beside = 0;
        for (const ModelSpec::LooseWeight& weight : model.looseWeights)
            beside += *elementCount(weight.tensor.shape);
        QVERIFY(beside > 0);
        QCOMPARE(static_cast<qint64>(modelSize(model)->total) + beside, parameters);
    }

    void storedBesideTheGraph_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QByteArray>("family");
        QTest::addColumn<QString>("place"); // of the error; empty: none
        QTest::addColumn<int>("biases");
        const auto row = [](const char* name, const char* config, const char* place, int biases = 0) {
            QTest::newRow(name) << QByteArray(config) << QByteArray() << QString::fromUtf8(place) << biases;
        };
        row("umt5", R"({"model_type":"umt5","vocab_size":1000,"d_model":64,"d_kv":16,"d_ff":128,"num_layers":2,"num_heads":4})", "",
            4);
        row("umt5, more layers in the encoder",
            R"({"model_type":"umt5","vocab_size":1000,"d_model":64,"d_kv":16,"d_ff":128,"num_layers":8,"num_decoder_layers":4,
            "num_heads":4})",
            "", 12);
        row("t5", R"({"model_type":"t5","vocab_size":1000,"d_model":64,"d_kv":16,"d_ff":128,"num_layers":2,"num_heads":4})", "", 2);
        row("t5, buckets",
            R"({"model_type":"t5","vocab_size":1000,"d_model":64,"d_kv":16,"d_ff":128,"num_layers":2,"num_heads":4,
            "relative_attention_num_buckets":-4})",
            "config.json:relative_attention_num_buckets");
        row("t5, no buckets",
            R"({"model_type":"t5","vocab_size":1000,"d_model":64,"d_kv":16,"d_ff":128,"num_layers":2,"num_heads":4,
            "relative_attention_num_buckets":0})",
            "");
        row("deberta-v2, buckets",
            R"({"model_type":"deberta-v2","vocab_size":1000,"hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,
            "num_attention_heads":4,"relative_attention":true,"share_att_key":true,"position_buckets":1e18})",
            "config.json:position_buckets");
        row("deberta-v2, none written out",
            R"({"model_type":"deberta-v2","vocab_size":1000,"hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,
            "num_attention_heads":4,"relative_attention":true,"share_att_key":true,"position_buckets":-1,
            "max_relative_positions":-1})",
            "");
        row("whisper, mel bins",
            R"({"model_type":"whisper","vocab_size":1000,"d_model":64,"encoder_layers":2,"decoder_layers":2,
            "encoder_attention_heads":4,"decoder_attention_heads":4,"encoder_ffn_dim":128,"decoder_ffn_dim":128,
            "num_mel_bins":9223372036854775807})",
            "config.json:num_mel_bins");
        row("gemma3n, streams",
            R"({"model_type":"gemma3n_text","vocab_size":1000,"hidden_size":64,"intermediate_size":128,"num_hidden_layers":10,
            "num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"num_kv_shared_layers":2,"altup_num_inputs":2147483647})",
            "config.json:altup_num_inputs");
        for (const char* heads : { "3", "128" })
            QTest::addRow("bart, %s heads", heads)
                << QByteArray(R"({"model_type":"bart","vocab_size":1000,"d_model":64,"encoder_layers":2,"decoder_layers":2,
                "decoder_attention_heads":4,"encoder_ffn_dim":128,"decoder_ffn_dim":128,"encoder_attention_heads":)")
                    + heads + "}"
                << QByteArray() << QStringLiteral("config.json:encoder_attention_heads") << 0;
        const char* mine =
            R"({"model_type":"mine","like":"llama","weights":[{"name":"model.layers.*.extra","shape":["wide","wide"]}]})";
        for (const auto& [wide, place] :
             { std::pair { "2147483648", "config.json:wide" }, std::pair { "268435456", "config.json:model.layers.*.extra" },
               std::pair { "2.5", "config.json:wide" }, std::pair { "null", "config.json:wide" } })
            QTest::addRow("own family, %s", wide)
                << QByteArray(R"({"model_type":"mine","vocab_size":1000,"hidden_size":64,"intermediate_size":128,
                "num_hidden_layers":2,"num_attention_heads":4,"wide":)")
                    + wide + "}"
                << QByteArray(mine) << QString::fromUtf8(place) << 0;
    }
    /// What no header tells: no name twice, a bias for each layer that has one, and an error for what cannot be.
    void storedBesideTheGraph()
    {
        QFETCH(QByteArray, config);
        QFETCH(QByteArray, family);
        QFETCH(QString, place);
        QFETCH(int, biases);
        QTemporaryDir folder;
        QVERIFY(writeFile(folder.filePath(QStringLiteral("config.json")), config));
        if (!family.isEmpty())
            QVERIFY(writeFile(folder.filePath(QStringLiteral("shardboard-family.json")), family));
        const auto opened = openModel(folder.path().toStdString());
        if (!place.isEmpty()) {
            QVERIFY(!opened.ok());
            QVERIFY2(QString::fromStdString(opened.error().where).endsWith(place), opened.error().text().c_str());
            QVERIFY(!opened.error().fix.empty());
            return;
        }
        QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().text().c_str());
        std::set<std::string> names;
        int found = 0;
        for (const ModelSpec::LooseWeight& weight : opened.value().model.looseWeights) {
            QVERIFY2(names.insert(weight.tensor.name).second, weight.tensor.name.c_str());
            found += weight.tensor.name.ends_with("SelfAttention.relative_attention_bias.weight") ? 1 : 0;
        }
        QCOMPARE(found, biases);
    }

    /// The tables of all layers are one weight in the checkpoint, layer after layer.
    void tablesOfLayersAreOneWeight()
    {
        const auto read = modelFromConfig(
            json::parse(
                R"({"model_type":"gemma4_text","vocab_size":48,"hidden_size":32,"intermediate_size":24,"num_hidden_layers":6,
                "num_attention_heads":4,"num_key_value_heads":2,"head_dim":8,"global_head_dim":8,"hidden_size_per_layer_input":4,
                "vocab_size_per_layer_input":40,"num_kv_shared_layers":2,"use_double_wide_mlp":true})"),
            "config.json");
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        QCOMPARE(read.value().model.block.pattern, std::string("aaaast"));
        const auto graph = buildGraph(read.value().model, {});
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().text().c_str());
        int tables = 0;
        for (const GraphTensor& stored : graph.value().storedWeights()) {
            if (stored.spec.name == "model.embed_tokens_per_layer.weight") {
                ++tables;
                QCOMPARE(stored.spec.shape, (Shape { 40, 6 * 4 }));
                QCOMPARE(stored.copies, std::int64_t { 1 });
            }
            if (stored.spec.name == "model.per_layer_model_projection.weight")
                QCOMPARE(stored.spec.shape, (Shape { 6 * 4, 32 }));
        }
        QCOMPARE(tables, 1);
        for (const GraphTensor& tensor : graph.value().tensors) {
            const Segment& segment = graph.value().segment(tensor.segment);
            if (tensor.spec.role != TensorRole::Weight || !segment.isLayer)
                continue;
            const bool shared = segment.firstLayer >= 4;
            QVERIFY2(!shared || tensor.spec.name.find(".k_proj.") == std::string::npos, tensor.spec.name.c_str());
            if (tensor.spec.name.ends_with(".mlp.up_proj.weight"))
                QCOMPARE(tensor.spec.shape[0], std::int64_t { shared ? 48 : 24 });
            if (tensor.spec.name.ends_with(".embed_tokens_per_layer.weight"))
                QCOMPARE(firstOfPart(tensor, segment.firstLayer), segment.firstLayer * 4);
        }
    }

    /// The encoder's layers, and cross attention in those of the decoder: cut over heads like attention to own tokens.
    void encodersAndCrossAttention()
    {
        const auto read = modelFromConfig(
            json::parse(R"({"model_type":"t5","vocab_size":96,"d_model":32,"d_kv":8,"d_ff":24,"num_heads":4,"num_layers":3,
                "num_decoder_layers":2,"feed_forward_proj":"gated-gelu"})"),
            "config.json");
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        Workload workload;
        workload.kind = WorkloadKind::Train;
        workload.batch = 4;
        workload.sequence = 8;
        const Design design = designOn("data=2,tp=2", read.value().model, workload, "megatron-tp");
        const auto evaluation = evaluated(design);
        // Two all-reduces in a layer of the encoder, three in one of the decoder; twice as many for the gradients of what
        // column-parallel products read, whose queries, keys and values (of cross attention, too) are added up first.
        std::map<std::string, std::int64_t> count;
        for (const Collective& each : evaluation->plan.collectives)
            if (each.kind == CollectiveKind::AllReduce && each.axes == std::vector<int> { 1 }) {
                const PlannedSegment& segment = evaluation->plan.segment(each.plannedSegment);
                count[segment.name + (segment.phase == Phase::Forward ? "" : ", back")] += each.count;
            }
        QCOMPARE(count["encoder block"], std::int64_t { 3 * 2 });
        QCOMPARE(count["block"], std::int64_t { 2 * 3 });
        QCOMPARE(count["encoder block, back"], std::int64_t { 3 * 2 });
        QCOMPARE(count["block, back"], std::int64_t { 2 * 3 });
        const auto stages = makePreset("pp-1f1b", sure(Mesh::parse("stage=2")), read.value().model, workload);
        QVERIFY(!stages.ok());
        QVERIFY(stages.error().what.find("encoder") != std::string::npos);
        Design staged = designOn("tp=2", read.value().model, workload, "megatron-tp");
        staged.pipeline = { "tp", 1 };
        QVERIFY(!evaluate(staged).ok());
        workload.kind = WorkloadKind::Decode;
        QVERIFY(!buildGraph(read.value().model, workload).ok());
    }

    /// Whatever stands for a value of a config, in it or in what it says beside the family's keys: an answer or an error, no throw.
    void hostileConfigs()
    {
        std::vector<json> values;
        for (const char* text : { "null",
                                  "true",
                                  "-1",
                                  "0",
                                  "0.5",
                                  "1e300",
                                  "-9223372036854775808",
                                  "18446744073709551615",
                                  R"("")",
                                  R"("a\nb")",
                                  "[]",
                                  "{}",
                                  "[null]",
                                  "[[], {}]",
                                  R"([{"a": 1}, "b", 1e300])",
                                  "[18446744073709551615, -9223372036854775808]",
                                  R"({"a": null})",
                                  R"({"full_attention": null, "rope_theta": [], "rope_type": {}, "factor": "x"})",
                                  R"({"full_attention": {"rope_theta": "x"}})",
                                  R"({"quant_method": 3})" })
            values.push_back(json::parse(text));
        int refused = 0, cases = 0;
        for (const FamilyFile& file : builtinFamilies().value()) {
            const json small = smallConfig(file);
            std::set<std::string> keys { "model_type",     "architectures", "rope_parameters",     "rope_scaling",
                                         "torch_dtype",    "dtype",         "quantization_config", "text_config",
                                         "sliding_window", "layer_types",   "tie_word_embeddings", "rope_theta",
                                         "some_future_key" };
            for (const auto& [key, value] : file.config.items())
                keys.insert(key);
            for (const auto& [key, value] : small.items())
                keys.insert(key);
            for (const auto& [key, text] : file.model)
                keys.merge(keysOfExpression(text));
            for (const std::string& key : keys) {
                ++cases; // an even number of values: each is the other way round with the next key
                for (const json& value : values) {
                    json config = small;
                    config[key] = value;
                    if (++cases % 2 == 0) // within another model, in turns
                        config = { { "model_type", file.type }, { "text_config", config } };
                    try {
                        refused += modelFromConfig(config, "config.json").ok() ? 0 : 1;
                    } catch (const std::exception& thrown) {
                        QFAIL((file.type + ", " + key + " " + value.dump() + ": " + thrown.what()).c_str());
                    }
                }
            }
        }
        QVERIFY(refused > 1000);
    }

    /// The same of family files: values in place of each part, and expressions over what the config has in an unexpected shape.
    void hostileFamilies()
    {
        const json config =
            json::parse(R"({"model_type": "a", "hidden_size": 8, "none": null, "text": "x", "list": [1, [], {}, null],
            "object": {"a": {"b": null}}, "large": 4000000000000000000})");
        int refused = 0;
        const auto tried = [&](const json& document) {
            try {
                const auto file = family(document.dump());
                refused += file.ok() && modelFromConfig(config, "config.json", &file.value()).ok() ? 0 : 1;
            } catch (const std::exception& thrown) {
                QFAIL((document.dump() + ": " + thrown.what()).c_str());
            }
        };
        for (const char* key : { "model_type", "like", "also", "class", "source", "prefix", "required", "ignored", "beside",
                                 "config", "model", "names", "weights", "stops", "notes" })
            for (const char* value :
                 { "null", "true", "1", "1e300", R"("")", R"("x")", "[]", "[null]", "[1]", "[[]]", "[{}]", "{}",
                   R"({"hidden_size": null})", R"({"hidden_size": 1e300})", R"({"x": [{}]})", R"([{"if": 1, "say": 2}])",
                   R"([{"name": null, "shape": null}])", R"([{"name": "*", "shape": ["1e30", "object", "none"]}])",
                   R"([{"if": "list", "say": "{list} {object.a} {none.a.b} {text.x} {1 +}"}])" }) {
                json document { { "model_type", "a" }, { "model", { { "hidden_size", "hidden_size" } } } };
                document[key] = json::parse(value);
                tried(document);
            }
        const json defaults = json::parse(R"({"x": 9223372036854775808, "y": 18446744073709551615, "z": -9223372036854775808,
            "f": 1e300, "u": [18446744073709551615]})");
        for (const char* text :
             { "x % y", "z % y", "x / y", "z / y", "x + y", "z * z", "f", "f * f", "x", "leading(u)", "whole(f)" })
            for (const char* key : { "hidden_size", "sliding_window", "rope_theta", "logit_scale" })
                tried({ { "model_type", "a" }, { "config", defaults }, { "model", { { key, text } } } });
        for (const char* text : { "none.a", "text.a.b", "list.a", "object.a.b.c", "large * large", "large % 0.5", "list == object",
                                  "first(list) + 1", "leading(object)", "every(list, object)", "count(text, 1)", "min(list, 1)",
                                  "sqrt(text)", "whole(object)", "holds(none.a)", "1e300",
                                  "9223372036854775808 % 18446744073709551615", "9223372036854775808 / 18446744073709551615" })
            for (const char* key :
                 { "hidden_size", "head_dim", "attention_bias", "norm_type", "rope_theta", "activation", "qk_norm" })
                tried({ { "model_type", "a" }, { "model", { { key, text } } } });
        QVERIFY(refused > 100);
    }

    void aFamilyBesideACheckpoint()
    {
        QTemporaryDir folder;
        const auto write = [&](const char* name, const QByteArray& text) {
            QVERIFY(writeFile(folder.filePath(QString::fromLatin1(name)), text));
        };
        write("config.json",
              R"({"model_type":"mine","width":8,"depth":2,"words":32,"heads":2,"inner":16,"torch_dtype":"bfloat16"})");
        write("shardboard-family.json", R"({"model_type":"mine","like":"llama","prefix":"","required":["width"],
            "model":{"hidden_size":"width","num_hidden_layers":"depth","vocab_size":"words","num_attention_heads":"heads",
                     "num_key_value_heads":1,"head_dim":"width / heads","intermediate_size":"inner","tie_word_embeddings":true},
            "names":{"layers":"blocks","embed_tokens":"table","self_attn.q_proj":"attn.q"}})");
        std::vector<MadeTensor> tensors { { "table.weight", { 32, 8 } }, { "norm.weight", { 8 } } };
        for (const std::string layer : { "blocks.0.", "blocks.1." })
            for (const MadeTensor& part :
                 { MadeTensor { "attn.q.weight", { 8, 8 } }, MadeTensor { "self_attn.k_proj.weight", { 4, 8 } },
                   MadeTensor { "self_attn.v_proj.weight", { 4, 8 } }, MadeTensor { "self_attn.o_proj.weight", { 8, 8 } },
                   MadeTensor { "mlp.gate_proj.weight", { 16, 8 } }, MadeTensor { "mlp.up_proj.weight", { 16, 8 } },
                   MadeTensor { "mlp.down_proj.weight", { 8, 16 } }, MadeTensor { "input_layernorm.weight", { 8 } },
                   MadeTensor { "post_attention_layernorm.weight", { 8 } } })
                tensors.push_back({ layer + part.name, part.shape });
        write("model.safetensors", safetensorsOf(tensors));
        const auto out = openModel(folder.path().toStdString());
        QVERIFY2(out.ok(), out.ok() ? "" : out.error().text().c_str());
        QVERIFY(out.value().model.hasGraph());
        QCOMPARE(out.value().model.family, std::string("own:mine"));
        for (const Finding& finding : out.value().findings)
            QVERIFY2(finding.severity == Severity::Note, finding.message.c_str());
        write("shardboard-family.json", "{");
        const auto broken = openModel(folder.path().toStdString());
        QVERIFY(!broken.ok());
        QVERIFY(broken.error().where.find("shardboard-family.json") != std::string::npos);
    }

    /// A known family without its blocks: shapes come from the config where there are no headers.
    void shapesWithoutHeaders()
    {
        QTemporaryDir folder;
        const auto write = [&](const char* name, const QByteArray& text) {
            QVERIFY(writeFile(folder.filePath(QString::fromLatin1(name)), text));
        };
        write("config.json", R"({"model_type":"strange","hidden_size":64,"heads":4,"vocab_size":100})");
        write("shardboard-family.json", R"({"model_type":"strange","source":"made up","config":{"hidden_size":8,"heads":2},
            "stops":[{"say":"its layers are not understood"}],"weights":[
            {"name":"*.linear_attn.in_proj_qkv.weight","shape":["16 * heads","hidden_size"]},
            {"name":"*.linear_attn.A_log","shape":["heads"]},{"name":"*embed_tokens.weight","shape":["vocab_size","hidden_size"]}]})");
        write("model.safetensors.index.json", R"({"weight_map":{"model.language_model.layers.0.linear_attn.in_proj_qkv.weight":"a",
            "model.language_model.layers.0.linear_attn.A_log":"a","model.visual.x":"a","model.language_model.embed_tokens.weight":"a"}})");
        const auto out = openModel(folder.path().toStdString());
        QVERIFY2(out.ok(), out.ok() ? "" : out.error().text().c_str());
        QVERIFY(!out.value().model.hasGraph());
        const auto& weights = out.value().model.looseWeights;
        QCOMPARE(weights.size(), std::size_t { 4 });
        int known = 0;
        for (const ModelSpec::LooseWeight& weight : weights) {
            known += weight.unknownShape ? 0 : 1;
            if (weight.tensor.name.ends_with("in_proj_qkv.weight"))
                QCOMPARE(weight.tensor.shape, (Shape { 64, 64 }));
            if (weight.tensor.name.ends_with("embed_tokens.weight"))
                QCOMPARE(weight.tensor.shape, (Shape { 100, 64 }));
        }
        QCOMPARE(known, 3);
    }
};

SHARDBOARD_TEST(TestFamilyFile)
#include "tst_familyfile.moc"
