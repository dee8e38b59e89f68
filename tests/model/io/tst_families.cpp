// SPDX-License-Identifier: Apache-2.0
// Every family of models: from config.json to dimensions, and the counts that follow from them.
#include "model/families/buildgraph.h"
#include "model/families/decoder.h"
#include "model/families/modelsize.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/huggingface/hfconfig.h"
#include "model/io/json/jsontext.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QFile>
#include <QTest>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace shardboard;
using nlohmann::json;

namespace {

json tiny(const char* type)
{
    return { { "model_type", type },     { "hidden_size", 8 },         { "intermediate_size", 16 },  { "vocab_size", 32 },
             { "num_hidden_layers", 5 }, { "num_attention_heads", 4 }, { "num_key_value_heads", 2 }, { "head_dim", 6 } };
}

json with(json config, const json& more)
{
    config.update(more);
    return config;
}

const json kDeepSeek { { "n_routed_experts", 8 },
                       { "num_experts_per_tok", 3 },
                       { "moe_intermediate_size", 10 },
                       { "n_shared_experts", 2 },
                       { "first_k_dense_replace", 2 },
                       { "kv_lora_rank", 12 },
                       { "q_lora_rank", 14 },
                       { "qk_nope_head_dim", 6 },
                       { "qk_rope_head_dim", 4 },
                       { "v_head_dim", 5 },
                       { "n_group", 4 },
                       { "topk_group", 2 } };

ModelSpec read(const json& config)
{
    auto out = modelFromConfig(config, "config.json");
    if (!out.ok())
        qWarning("%s", out.error().text().c_str());
    return out.ok() ? out.value().model : ModelSpec {};
}

/// What a release's config.json says, made from an entry of the shared facts, whose keys have the same names.
json configOf(json entry)
{
    const std::string type = entry["model_type"];
    const std::string bias = entry["attention_bias"];
    entry["attention_bias"] = bias == "qkvo";
    entry["use_sliding_window"] = false;
    if (entry["num_experts"] == 0)
        entry.erase("num_experts");
    else
        entry[entry["hf_num_experts_key"].get<std::string>()] = entry["num_experts"];
    entry["hidden_activation"] = entry["hidden_act"];
    if (type == "qwen3_moe" || type == "deepseek_v3" || type == "kimi_k2")
        entry["norm_topk_prob"] = true;
    if (type == "deepseek_v2")
        entry["topk_method"] = entry["num_experts"] == 64 ? "greedy" : "group_limited_greedy";
    return entry;
}

} // namespace

class TestFamilies : public QObject {
    Q_OBJECT

    json m_models;

private Q_SLOTS:
    void initTestCase()
    {
        QFile file(qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"))
                   + QStringLiteral("/data/models.json"));
        if (file.open(QIODevice::ReadOnly))
            m_models = json::parse(file.readAll().toStdString())["models"];
    }

    /// Both what is built in and what a config.json of the same facts gives have the facts' counts.
    void sharedFacts()
    {
        if (m_models.empty())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
        int models = 0;
        for (const auto& [name, entry] : m_models.items()) {
            const auto builtin = builtinModel(entry["maxtext_config"]);
            QVERIFY2(builtin.ok(), name.c_str());
            ModelSpec spec = read(configOf(entry));
            for (const ModelSpec* model : { &builtin.value(), static_cast<const ModelSpec*>(&spec) }) {
                const auto size = modelSize(*model);
                QVERIFY2(size, name.c_str());
                QCOMPARE(size->total, entry["num_parameters"].get<std::int64_t>());
                QCOMPARE(size->active, entry.value("num_active_parameters", size->total));
                QCOMPARE(size->total, entry["published_parameters"].get<std::int64_t>());
            }
            Workload one;
            one.batch = one.sequence = 1;
            const auto graph = buildDecoder(builtin.value(), one);
            QVERIFY2(graph.ok(), name.c_str());
            QCOMPARE(graph.value().parameterCount(), entry["num_parameters"].get<std::int64_t>());
            // What the facts do not say is taken over; everything else must be the same.
            const ModelSpec& known = builtin.value();
            spec.name = known.name;
            spec.source = known.source;
            spec.ropeTheta = known.ropeTheta;
            spec.scaling.queryScalar = known.scaling.queryScalar;
            spec.moe.gateScale = known.moe.gateScale;
            spec.moe.groups = known.moe.groups;
            spec.moe.chosenGroups = known.moe.chosenGroups;
            QVERIFY2(spec.norm == known.norm && spec.moe == known.moe && spec.mla == known.mla && spec.block == known.block
                         && spec.scaling == known.scaling,
                     name.c_str());
            QVERIFY2(spec == known, name.c_str());
            ++models;
        }
        QCOMPARE(models, 31);
    }

    void mixtral()
    {
        const ModelSpec model = read(with(tiny("mixtral"), { { "num_local_experts", 4 }, { "num_experts_per_tok", 2 } }));
        QCOMPARE(model.moe.experts, 4);
        QCOMPARE(model.moe.chosen, 2);
        QCOMPARE(model.moe.intermediateSize, 16);
        QVERIFY(model.moe.storage == ExpertStorage::Mixtral && model.moe.normalizedGates);
        QCOMPARE(model.ropeTheta, 1e6);
        // tables 2 x 256, norm 8; layer: q, o 2 x 8x24, k, v 2 x 8x12, norms 16, router 32, experts 3 x 8x16 each
        QCOMPARE(modelSize(model)->total, 512 + 8 + 5 * (384 + 192 + 16 + 32 + 4 * 384));
        QCOMPARE(modelSize(model)->active, 512 + 8 + 5 * (384 + 192 + 16 + 32 + 2 * 384));
    }

    void deepSeek()
    {
        const ModelSpec v3 = read(with(tiny("deepseek_v3"), kDeepSeek));
        QCOMPARE(v3.headDim, 10);
        QCOMPARE(v3.kvHeads, 4);
        QCOMPARE(v3.denseLayers(), 2);
        QVERIFY(v3.moe.correctionBias && v3.moe.score == RouterScore::Sigmoid && v3.moe.normalizedGates);
        QCOMPARE(v3.moe.groups, 4);
        QCOMPARE(v3.moe.gateScale, 2.5);
        // q 8x14 + 14 + 14x40, latent 8x16 + 12, expand 12 x 4x11, o 4x5 x 8, norms 16
        const std::int64_t layer = 112 + 14 + 560 + 128 + 12 + 528 + 160 + 16;
        const std::int64_t moe = 64 + 8 + 8 * 240 + 3 * 8 * 20;
        QCOMPARE(modelSize(v3)->total, 512 + 8 + 5 * layer + 2 * 384 + 3 * moe);
        QCOMPARE(modelSize(v3)->active, 512 + 8 + 5 * layer + 2 * 384 + 3 * (moe - 5 * 240));
        const ModelSpec v2 =
            read(with(with(tiny("deepseek_v2"), kDeepSeek), { { "q_lora_rank", nullptr }, { "topk_method", "greedy" } }));
        QCOMPARE(v2.mla.queryRank, 0);
        QCOMPARE(v2.moe.groups, 1);
        QVERIFY(!v2.moe.correctionBias && v2.moe.score == RouterScore::Softmax && !v2.moe.normalizedGates);
    }

    void gptOss()
    {
        const ModelSpec model =
            read(with(tiny("gpt_oss"), { { "num_local_experts", 4 }, { "num_experts_per_tok", 2 }, { "sliding_window", 128 } }));
        QVERIFY(model.attentionSinks && model.attentionBias == AttentionBias::Qkvo && model.moe.expertBias);
        QVERIFY(model.moe.storage == ExpertStorage::Packed && model.moe.routerBias);
        QCOMPARE(model.slidingWindow, 128);
        QCOMPARE(model.scaling.swigluLimit, 7.0);
        // layer: q, o 2 x 8x24, k, v 2 x 8x12, biases 24 + 2x12 + 8, sinks 4, norms 16, router 32 + 4, experts
        QCOMPARE(modelSize(model)->total, 512 + 8 + 5 * (384 + 192 + 24 + 24 + 8 + 4 + 16 + 36 + 4 * (3 * 128 + 2 * 16 + 8)));
    }

    /// Every so many layers attend to all tokens, by the config or by the family; where no period says which, none has a window.
    void windowsOfEveryLayer()
    {
        const auto of = [&](const json& more) {
            return read(with(with(tiny("gemma3_text"), { { "num_hidden_layers", 7 }, { "sliding_window", 4 } }), more));
        };
        const json sliding = "sliding_attention";
        const json full = "full_attention";
        QCOMPARE(of(json::object()).slidingWindow, 4);
        QCOMPARE(of({ { "sliding_window_pattern", 6 } }).slidingWindow, 4);
        QCOMPARE(of({ { "sliding_window_pattern", 6 } }).windowPeriod, 6);
        QCOMPARE(of({ { "sliding_window_pattern", 2 } }).windowPeriod, 2);
        QCOMPARE(
            of({ { "layer_types", json::array({ sliding, sliding, sliding, sliding, sliding, full, sliding }) } }).slidingWindow,
            4);
        QCOMPARE(of({ { "layer_types", json::array({ sliding, full, sliding, full, sliding, full, sliding }) } }).windowPeriod, 2);
        QCOMPARE(of({ { "layer_types", json::array({ full, full, sliding, full, sliding, full, sliding }) } }).slidingWindow, 0);
    }

    void gemma()
    {
        const ModelSpec first = read(tiny("gemma"));
        QVERIFY(first.tiedEmbeddings && !first.qkNorm);
        QCOMPARE(first.norm.perLayer, 2);
        QCOMPARE(first.norm.weightOffset, 1.0);
        QCOMPARE(first.scaling.embedding, std::sqrt(8.0));
        QCOMPARE(first.activation, std::string("gelu_tanh"));
        const ModelSpec second = read(with(tiny("gemma2"), { { "final_logit_softcapping", nullptr } }));
        QCOMPARE(second.norm.perLayer, 4);
        QCOMPARE(second.scaling.attentionSoftCap, 50.0);
        QCOMPARE(second.scaling.logitSoftCap, 0.0);
        const ModelSpec third = read({ { "model_type", "gemma3" }, { "text_config", tiny("gemma3_text") } });
        QVERIFY(third.qkNorm);
        QCOMPARE(third.family, std::string("gemma3_text"));
        QCOMPARE(third.scaling.attentionSoftCap, 0.0);
        QCOMPARE(modelSize(third)->total, 256 + 8 + 5 * (384 + 192 + 12 + 4 * 8 + 384));
    }

    void activations()
    {
        const auto of = [](const char* name) { return read(with(tiny("llama"), { { "hidden_act", name } })); };
        QCOMPARE(of("swish").activation, std::string("silu"));
        QCOMPARE(of("gelu").activation, std::string("gelu"));
        QCOMPARE(of("gelu_new").activation, std::string("gelu_tanh"));
        for (const char* unknown : { "relu6", "", " ", "silu swish", "gelu_quick" })
            QVERIFY2(!of(unknown).notUnderstood.empty(), unknown);
        const ModelSpec squared = of("relu2");
        QCOMPARE(squared.activation, std::string("relu2"));
        QVERIFY(squared.notUnderstood.empty());
        const Graph graph = buildGraph(squared, { WorkloadKind::Train, 2, 4 }).value();
        const auto has = [&](OpKind kind) { return std::ranges::any_of(graph.ops, [&](const Op& op) { return op.kind == kind; }); };
        QVERIFY(has(OpKind::SquaredRelu) && has(OpKind::SquaredReluGrad) && !has(OpKind::Silu));
    }

    void falcon()
    {
        json config = tiny("falcon");
        for (const char* key : { "intermediate_size", "num_key_value_heads", "head_dim" })
            config.erase(key);
        const ModelSpec fresh = read(with(config, { { "new_decoder_architecture", true }, { "num_kv_heads", 2 } }));
        QVERIFY(fresh.block.parallel && fresh.block.fusedQkv && !fresh.block.gatedMlp
                && fresh.nameOf("embed_tokens") == "word_embeddings");
        QVERIFY(fresh.norm.kind == NormKind::LayerNorm);
        QCOMPARE(fresh.norm.perLayer, 2);
        QCOMPARE(fresh.kvHeads, 2);
        // tied table 256, norm 16; layer: qkv (4 + 2x2) heads of 2 x 8, dense 8x8, mlp 2 x 8x32, norms 2 x 16
        QCOMPARE(modelSize(fresh)->total, 256 + 16 + 5 * (128 + 64 + 512 + 32));
        const ModelSpec first = read(config);
        QCOMPARE(first.kvHeads, 1);
        QCOMPARE(first.norm.perLayer, 1);
        const ModelSpec serial = read(with(config, { { "parallel_attn", false }, { "multi_query", false }, { "bias", true } }));
        QVERIFY(!serial.block.parallel && serial.mlpBias && serial.attentionBias == AttentionBias::Qkvo);
        QCOMPARE(serial.norm.perLayer, 2);
        QCOMPARE(serial.kvHeads, 4);
        QVERIFY(!read(with(config, { { "alibi", true } })).hasGraph());
    }

    void whatIsNotUnderstood_data()
    {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("more");
        QTest::addColumn<QString>("part");
        const QString qwen = QStringLiteral(R"("num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":10)");
        dataRow("some dense layers", "qwen3_moe", qwen + ",\"mlp_only_layers\":[0,3]", "in turn");
        dataRow("scores", "deepseek_v3",
                QString::fromStdString(kDeepSeek.dump().substr(1, kDeepSeek.dump().size() - 2)) + ",\"scoring_func\":\"tanh\"",
                "tanh");
        dataRow("type", "gpt9", "\"a\":1", "gpt9");
        dataRow("blocks", "zamba2", "\"a\":1", "state space");
    }
    void whatIsNotUnderstood()
    {
        QFETCH(QString, type);
        QFETCH(QString, more);
        QFETCH(QString, part);
        const json extra = json::parse("{" + more.toStdString() + "}");
        const ModelSpec model = read(with(tiny(type.toStdString().c_str()), extra));
        QVERIFY(!model.hasGraph());
        QVERIFY2(QString::fromStdString(model.notUnderstood).contains(part), model.notUnderstood.c_str());
    }

    void expertsInEverySecondLayer()
    {
        const ModelSpec model = read(with(
            tiny("qwen3_moe"),
            { { "num_experts", 4 }, { "num_experts_per_tok", 2 }, { "moe_intermediate_size", 10 }, { "decoder_sparse_step", 2 } }));
        QVERIFY(!model.isSparse(0) && model.isSparse(1) && !model.isSparse(2) && model.isSparse(3) && !model.isSparse(4));
        QCOMPARE(model.denseLayers(), 3);
        const Graph graph = buildGraph(model, { WorkloadKind::Prefill, 2, 4 }).value();
        QCOMPARE(graph.parameterCount(), modelSize(model)->total);
        QCOMPARE(graph.segments.size(), 7u);
        QVERIFY(graph.segments[1].name == "dense block 0" && graph.segments[2].name == "moe block 1");
    }

    void denseFirstLayersMayBeListed()
    {
        const ModelSpec model = read(with(tiny("qwen3_moe"),
                                          { { "num_experts", 4 },
                                            { "num_experts_per_tok", 2 },
                                            { "moe_intermediate_size", 10 },
                                            { "mlp_only_layers", { 1, 0 } } }));
        QCOMPARE(model.moe.firstDense, 2);
    }

    void wrongExpertsNameFileAndKey_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<int>("value");
        QTest::newRow("too many chosen") << "num_experts_per_tok" << 9;
        QTest::newRow("groups") << "n_group" << 3;
        QTest::newRow("too few in the groups") << "topk_group" << 1;
        QTest::newRow("rank") << "kv_lora_rank" << 0;
        QTest::newRow("odd") << "qk_rope_head_dim" << 3;
        QTest::newRow("dense layers") << "first_k_dense_replace" << 6;
        QTest::newRow("shared") << "n_shared_experts" << -1;
        QTest::newRow("width") << "moe_intermediate_size" << 0;
    }
    void wrongExpertsNameFileAndKey()
    {
        QFETCH(QString, key);
        QFETCH(int, value);
        const auto out =
            modelFromConfig(with(with(tiny("deepseek_v3"), kDeepSeek), { { key.toStdString(), value } }), "config.json");
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().text()).contains("config.json:" + key), out.error().text().c_str());
    }
};

SHARDBOARD_TEST(TestFamilies)
#include "tst_families.moc"
