// SPDX-License-Identifier: Apache-2.0
#include "model/design/deviceweights.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/families/decoder.h"
#include "model/families/modelsize.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "tests/model/io/checkpointmaker.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <memory>

using namespace shardboard;
using namespace shardboard::test;

namespace {

QJsonObject tinyConfig(const char* type = "llama")
{
    return { { QStringLiteral("model_type"), QString::fromLatin1(type) },
             { QStringLiteral("hidden_size"), 8 },
             { QStringLiteral("intermediate_size"), 16 },
             { QStringLiteral("vocab_size"), 32 },
             { QStringLiteral("num_hidden_layers"), 12 },
             { QStringLiteral("num_attention_heads"), 2 },
             { QStringLiteral("num_key_value_heads"), 1 },
             { QStringLiteral("head_dim"), 4 },
             { QStringLiteral("torch_dtype"), QStringLiteral("bfloat16") } };
}

std::vector<MadeTensor> withHead(std::vector<MadeTensor> tensors)
{
    tensors.push_back({ "lm_head.weight", { 32, 8 } });
    return tensors;
}

std::int64_t parameters(const ModelSpec& model)
{
    Workload one;
    one.batch = one.sequence = 1;
    const auto graph = buildDecoder(model, one);
    return graph.ok() ? graph.value().parameterCount() : -1;
}

bool has(const std::vector<Finding>& findings, const char* kind, const char* text)
{
    for (const Finding& finding : findings)
        if (finding.kind == kind && finding.message.find(text) != std::string::npos)
            return true;
    return false;
}

QByteArray allOf(const std::vector<Finding>& findings)
{
    QByteArray out;
    for (const Finding& finding : findings)
        out += QByteArray(finding.kind.c_str()) + ": " + finding.message.c_str() + "\n";
    return out;
}

} // namespace

class TestOpenModel : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;
    QString file(const char* name) const { return m_folder->filePath(QString::fromLatin1(name)); }
    std::string folder() const { return m_folder->path().toStdString(); }
    void write(const char* name, const QByteArray& content) { QVERIFY(writeFile(file(name), content)); }
    void writeConfig(const QJsonObject& config) { write("config.json", QJsonDocument(config).toJson()); }
    Result<OpenedModel> opened(const QJsonObject& config)
    {
        writeConfig(config);
        return openModel(folder());
    }
    QString errorFor(const QJsonObject& config)
    {
        const auto out = opened(config);
        return out.ok() ? QString() : QString::fromStdString(out.error().text());
    }
    static QJsonObject set(QJsonObject config, const char* key, const QJsonValue& value)
    {
        config[QString::fromLatin1(key)] = value;
        return config;
    }
    static QJsonObject without(QJsonObject config, const char* key)
    {
        config.remove(QString::fromLatin1(key));
        return config;
    }

private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
    }

    void builtinsHaveTheirPublishedCounts_data()
    {
        QTest::addColumn<QString>("name");
        const auto names = builtinModelNames();
        QVERIFY(names.size() >= 12);
        for (const std::string& name : names)
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    void builtinsHaveTheirPublishedCounts()
    {
        QFETCH(QString, name);
        const auto model = sure(openModel(name.toStdString()));
        QCOMPARE(model.model.source, "builtin:" + name.toStdString());
        QVERIFY(model.findings.empty());
        const auto size = modelSize(model.model);
        QVERIFY(size);
        QCOMPARE(size->total, publishedParameters(name.toStdString()));
        QCOMPARE(size->active, publishedActiveParameters(name.toStdString()));
        QCOMPARE(parameters(model.model), size->total);
    }

    void publishedCountsAreThoseOfTheCards()
    {
        QCOMPARE(publishedParameters("llama3-8b"), 8030261248);
        QCOMPARE(publishedParameters("llama3.1-405b"), 405853388800);
        QCOMPARE(publishedParameters("qwen2.5-0.5b"), 494032768);
        QCOMPARE(publishedParameters("qwen3-0.6b"), 596049920);
        QCOMPARE(publishedParameters("mixtral-8x7b"), 46702792704);
        QCOMPARE(publishedActiveParameters("mixtral-8x7b"), 12879925248);
        QCOMPARE(publishedParameters("deepseek3-671b"), 671026419200);
        QCOMPARE(publishedActiveParameters("deepseek3-671b"), 37552297472);
        QCOMPARE(publishedParameters("gpt-oss-20b"), 20914757184);
        QCOMPARE(publishedParameters("gemma2-9b"), 9241705984);
        QCOMPARE(publishedParameters("nothing"), 0);
    }

    void unknownNameListsWhatIsKnown()
    {
        const auto out = openModel("lama3-8b", "--model");
        QVERIFY(!out.ok());
        QVERIFY(QString::fromStdString(out.error().text()).contains(QStringLiteral("llama3-8b")));
        QVERIFY(!openModel("").ok());
        QVERIFY(QString::fromStdString(openModel("./no/config.json").error().text()).contains(QStringLiteral("no such file")));
        QVERIFY(!openModel(std::string(100000, 'a')).ok());
        QVERIFY(!openModel("/dev/null").ok());
    }

    void configAloneIsEnough()
    {
        writeConfig(tinyConfig());
        for (const std::string& argument : { folder(), folder() + "/", folder() + "/config.json" }) {
            const auto out = sure(openModel(argument));
            QVERIFY2(out.findings.empty(), allOf(out.findings).constData());
            // embedding and head 2 x 32 x 8, norm 8, per layer 8x8 q, 2 x 4x8 k v, 8x8 o, 3 x 8x16 mlp, 2 norms
            QCOMPARE(parameters(out.model), 2 * 256 + 8 + 12 * (64 + 64 + 64 + 384 + 16));
            QCOMPARE(out.model.name, m_folder->path().section(QLatin1Char('/'), -1).toStdString());
        }
    }

    void headDimAndKvHeadsMayBeAbsentOrNull()
    {
        const QJsonObject bare = without(without(tinyConfig(), "head_dim"), "num_key_value_heads");
        for (const QJsonObject& config : { bare, set(set(bare, "head_dim", QJsonValue()), "num_key_value_heads", QJsonValue()) }) {
            const auto out = sure(opened(config));
            QCOMPARE(out.model.headDim, 4);
            QCOMPARE(out.model.kvHeads, 2);
        }
        const auto mistral =
            opened(set(without(set(tinyConfig("mistral"), "num_attention_heads", 16), "num_key_value_heads"), "head_dim", 2));
        QVERIFY(mistral.ok());
        QCOMPARE(mistral.value().model.kvHeads, 8);
    }

    void familiesDiffer()
    {
        const auto qwen2 = opened(tinyConfig("qwen2"));
        QVERIFY(qwen2.ok() && qwen2.value().model.attentionBias == AttentionBias::Qkv && !qwen2.value().model.qkNorm);
        const auto qwen3 = opened(without(tinyConfig("qwen3"), "head_dim"));
        QVERIFY(qwen3.ok() && qwen3.value().model.qkNorm);
        QCOMPARE(qwen3.value().model.headDim, 128);
        const auto llama = opened(set(set(tinyConfig(), "attention_bias", true), "mlp_bias", true));
        QVERIFY(llama.ok() && llama.value().model.attentionBias == AttentionBias::Qkvo && llama.value().model.mlpBias);
        QVERIFY(!llama.value().model.tiedEmbeddings);
    }

    void classNameStandsInForTheType()
    {
        const auto out =
            opened(set(without(tinyConfig(), "model_type"), "architectures", QJsonArray { QStringLiteral("Qwen3ForCausalLM") }));
        QVERIFY(out.ok());
        QCOMPARE(out.value().model.family, std::string("qwen3"));
    }

    void ropeParametersAreRead()
    {
        const auto out =
            sure(opened(set(tinyConfig(), "rope_parameters", QJsonObject { { QStringLiteral("rope_theta"), 250000.0 } })));
        QCOMPARE(out.model.ropeTheta, 250000.0);
    }

    void wrongSizesNameFileAndKey_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QJsonValue>("value");
        QTest::addColumn<QString>("place");
        QTest::newRow("missing") << "hidden_size" << QJsonValue() << "config.json:hidden_size";
        QTest::newRow("text") << "hidden_size" << QJsonValue(QStringLiteral("8")) << "config.json:hidden_size";
        QTest::newRow("zero") << "num_hidden_layers" << QJsonValue(0) << "config.json:num_hidden_layers";
        QTest::newRow("negative") << "vocab_size" << QJsonValue(-32) << "config.json:vocab_size";
        QTest::newRow("fraction") << "intermediate_size" << QJsonValue(16.5) << "config.json:intermediate_size";
        QTest::newRow("huge") << "hidden_size" << QJsonValue(qint64 { 1 } << 40) << "config.json:hidden_size";
        QTest::newRow("many layers") << "num_hidden_layers" << QJsonValue(2000000000) << "config.json:num_hidden_layers";
        QTest::newRow("kv heads") << "num_key_value_heads" << QJsonValue(3) << "config.json:num_key_value_heads";
        QTest::newRow("flag") << "tie_word_embeddings" << QJsonValue(QStringLiteral("yes")) << "config.json:tie_word_embeddings";
        QTest::newRow("type") << "model_type" << QJsonValue(5) << "config.json:model_type";
        QTest::newRow("all huge") << "vocab_size" << QJsonValue(qint64 { 1 } << 31) << "";
    }
    void wrongSizesNameFileAndKey()
    {
        QFETCH(QString, key);
        QFETCH(QJsonValue, value);
        QFETCH(QString, place);
        const auto out = opened(set(tinyConfig(), key.toLatin1().constData(), value));
        if (place.isEmpty()) {
            QVERIFY(out.ok() || !out.error().text().empty()); // large but countable: either way an answer
            return;
        }
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().text()).contains(place), out.error().text().c_str());
    }

    void headsMustDivideHidden()
    {
        QVERIFY(errorFor(without(set(tinyConfig(), "num_attention_heads", 3), "head_dim"))
                    .contains(QStringLiteral("config.json:num_attention_heads")));
    }

    void brokenConfigNamesThePlace()
    {
        write("config.json", "{\n  \"model_type\": \"llama\",\n");
        QVERIFY(QString::fromStdString(openModel(folder()).error().text()).contains(QStringLiteral("config.json:3:")));
        write("config.json", QByteArray(1 << 20, '['));
        QVERIFY(QString::fromStdString(openModel(folder()).error().text()).contains(QStringLiteral("nested")));
        write("config.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 700\n");
        QVERIFY(QString::fromStdString(openModel(folder()).error().text()).contains(QStringLiteral("Git LFS")));
    }

    void wholeCheckpointFits()
    {
        write("model.safetensors", safetensorsOf(withHead(tinyDecoder(12))));
        const auto out = sure(opened(tinyConfig()));
        QVERIFY2(out.findings.empty(), allOf(out.findings).constData());
        const auto byFile = openModel(folder() + "/model.safetensors");
        QVERIFY(byFile.ok() && byFile.value().model.hasGraph() && byFile.value().findings.empty());
    }

    void tiedHeadIsSeenWhereTheConfigIsSilent()
    {
        write("model.safetensors", safetensorsOf(tinyDecoder(12)));
        const auto silent = opened(tinyConfig());
        QVERIFY(silent.ok() && silent.value().model.tiedEmbeddings && silent.value().findings.empty());
        const auto wrong = sure(opened(set(tinyConfig(), "tie_word_embeddings", false)));
        QVERIFY(has(wrong.findings, "checkpoint-missing", "1 tensor of the graph not in the checkpoint: lm_head.weight"));
    }

    void differencesAreCountedNotListed()
    {
        auto tensors = withHead(tinyDecoder(12));
        tensors.push_back({ "model.layers.3.mlp.up_proj.SCB", { 16 } });
        tensors.push_back({ "model.layers.4.mlp.up_proj.SCB", { 16 } });
        tensors.push_back({ "model.layers.12.mlp.up_proj.weight", { 16, 8 } });
        std::erase_if(tensors, [](const MadeTensor& tensor) { return tensor.name == "model.layers.7.input_layernorm.weight"; });
        for (MadeTensor& tensor : tensors)
            if (tensor.name.ends_with("q_proj.weight"))
                tensor.shape = { 16, 4 };
        write("model.safetensors", safetensorsOf(tensors));
        const auto out = sure(opened(tinyConfig()));
        const auto& findings = out.findings;
        QVERIFY2(has(findings, "quantized", "2 tensors alongside the weights"), allOf(findings).constData());
        QVERIFY2(
            has(findings, "checkpoint-extra", "1 tensor of the checkpoint not in the graph: model.layers.*.mlp.up_proj.weight"),
            allOf(findings).constData());
        QVERIFY2(has(findings, "checkpoint-missing", "model.layers.*.input_layernorm.weight (layer 7)"),
                 allOf(findings).constData());
        QVERIFY2(has(findings, "checkpoint-shape",
                     "12 tensors of another shape: model.layers.*.self_attn.q_proj.weight: 16 x 4 stored, 8 x 8 in the "
                     "graph (12 times)"),
                 allOf(findings).constData());
        QCOMPARE(findings.size(), std::size_t { 4 });
    }

    void wrappedDecoderIsFound()
    {
        auto tensors = tinyDecoder(12, "language_model.model.");
        tensors.push_back({ "language_model.lm_head.weight", { 32, 8 } });
        tensors.push_back({ "vision_tower.patch.weight", { 3 } });
        write("model.safetensors", safetensorsOf(tensors));
        const auto out =
            opened({ { QStringLiteral("model_type"), QStringLiteral("llava") }, { QStringLiteral("text_config"), tinyConfig() } });
        QVERIFY(out.ok());
        QCOMPARE(out.value().model.weightPrefix, std::string("language_model.model."));
        QVERIFY2(has(out.value().findings, "not-in-graph", "vision_tower"), allOf(out.value().findings).constData());
        QVERIFY2(!has(out.value().findings, "checkpoint-missing", ""), allOf(out.value().findings).constData());
        QVERIFY2(!has(out.value().findings, "checkpoint-extra", ""), allOf(out.value().findings).constData());
    }

    /// Other parts are laid out beside the plan, and count in memory: on each device, or on those of the first stage.
    void aTowerIsLaidOutBesideThePlan()
    {
        auto tensors = tinyDecoder(12, "language_model.model.");
        tensors.push_back({ "language_model.lm_head.weight", { 32, 8 } });
        const auto textAlone = tensors;
        tensors.push_back({ "vision_tower.layers.0.mlp.fc1.weight", { 64, 8 } });
        tensors.push_back({ "vision_tower.layers.0.mlp.fc1.bias", { 64 } });
        tensors.push_back({ "multi_modal_projector.linear_1.weight", { 8, 8 } });
        const QJsonObject config { { QStringLiteral("model_type"), QStringLiteral("llava") },
                                   { QStringLiteral("text_config"), tinyConfig() } };
        const auto designOf = [&](const std::vector<MadeTensor>& all, const char* mesh, const char* preset) {
            write("model.safetensors", safetensorsOf(all));
            Design design;
            design.mesh = Mesh::parse(mesh).value();
            design.model = sure(opened(config)).model;
            design.workload.batch = 4;
            design.workload.sequence = 8;
            const auto applied = applyPreset(design, preset);
            return std::pair { design, applied.ok() };
        };
        for (const auto& [mesh, preset] :
             { std::pair { "tp=2", "megatron-tp" }, std::pair { "fsdp=4", "fsdp" }, std::pair { "pp=2,tp=2", "pp+tp" } }) {
            const auto [design, applied] = designOf(tensors, mesh, preset);
            QVERIFY2(applied, preset);
            QVERIFY(design.model.hasGraph());
            QCOMPARE(design.model.looseWeights.size(), std::size_t { 3 });
            const auto both = sure(evaluate(design));
            const auto alone = sure(evaluate(designOf(textAlone, mesh, preset).first));
            QCOMPARE(both->parameters - alone->parameters, 64 * 8 + 64 + 64);
            QCOMPARE(both->weightBytes - alone->weightBytes, 2 * (64 * 8 + 64 + 64));
            std::int64_t held = 0;
            for (const WeightLayout& weight : both->weights)
                held += weight.tensor == kNoTensor ? weight.bytesPerDevice : 0;
            QVERIFY(held > 0);
            QCOMPARE(both->plan.besideBytes, held);
            QCOMPARE(both->plan.seconds(), alone->plan.seconds());
            if (!both->plan.pipeline) {
                QCOMPARE(both->plan.memory.weights - alone->plan.memory.weights, held);
                continue;
            }
            QCOMPARE(both->plan.pipeline->memory[0].weights - alone->plan.pipeline->memory[0].weights, held);
            QCOMPARE(both->plan.pipeline->memory[1].weights, alone->plan.pipeline->memory[1].weights);
            QVERIFY(!weightsOnDevice(*both, 0).empty());
        }
        // Tensor parallelism cuts what it recognizes.
        const auto cut = sure(evaluate(designOf(tensors, "tp=2", "megatron-tp").first));
        const auto fc1 =
            std::ranges::find_if(cut->weights, [](const WeightLayout& weight) { return weight.spec.name.ends_with("fc1.weight"); });
        QCOMPARE(fc1->bytesPerDevice, 64 * 8);
    }

    void defaultsOfATextConfigAreNamed()
    {
        const QJsonObject text { { QStringLiteral("model_type"), QStringLiteral("llama") },
                                 { QStringLiteral("vocab_size"), 32064 } };
        const auto out =
            opened({ { QStringLiteral("model_type"), QStringLiteral("llava") }, { QStringLiteral("text_config"), text } });
        QVERIFY(out.ok());
        QCOMPARE(out.value().model.hiddenSize, 4096);
        QVERIFY(has(out.value().findings, "config", "hidden_size; 4096"));
    }

    void unknownArchitectureOpensAsWeights()
    {
        write("model.safetensors", safetensorsOf({ { "h.10.w", { 4, 2 } }, { "h.2.w", { 4, 2 } }, { "wte", { 7 } } }));
        const auto out = sure(opened({ { QStringLiteral("model_type"), QStringLiteral("zamba2") } }));
        const ModelSpec& model = out.model;
        QVERIFY(!model.hasGraph());
        QVERIFY(QString::fromStdString(model.notUnderstood).contains(QStringLiteral("zamba2")));
        QCOMPARE(model.looseWeights.size(), std::size_t { 3 });
        QCOMPARE(model.looseWeights[0].tensor.name, std::string("h.2.w"));
        QCOMPARE(model.looseWeights[1].tensor.shape, (Shape { 4, 2 }));
        QVERIFY(has(out.findings, "not-understood", "zamba2"));
        m_folder->remove();
        init();
        QVERIFY(errorFor({ { QStringLiteral("model_type"), QStringLiteral("zamba2") } })
                    .contains(QStringLiteral("no names of weights")));
        QVERIFY(!opened({}).ok());
    }

    void weightsAloneOpen()
    {
        write("adapter.safetensors", safetensorsOf({ { "a", { 4, 2 } } }));
        for (const std::string& argument : { folder(), file("adapter.safetensors").toStdString() }) {
            const auto out = sure(openModel(argument));
            QCOMPARE(out.model.looseWeights.size(), std::size_t { 1 });
            QVERIFY(!out.model.looseWeights[0].unknownShape);
        }
    }

    void hostileFileInAFolderIsOneError()
    {
        write("model.safetensors", lengthBytes(quint64 { 1 } << 63));
        QVERIFY(errorFor(tinyConfig()).contains(QStringLiteral("model.safetensors: its header claims")));
    }

    void indexIsHeldAgainstTheFiles()
    {
        write("a.safetensors", safetensorsOf({ { "x", { 2 } }, { "y", { 2 } } }));
        write("model.safetensors.index.json",
              R"({"metadata":{"total_size":12},"weight_map":{"x":"a.safetensors","z":"a.safetensors","w":"b.safetensors"}})");
        const auto out = sure(openModel(folder()));
        const auto& findings = out.findings;
        QVERIFY2(has(findings, "checkpoint-index", "1 tensor in the files but not in model.safetensors.index.json: y"),
                 allOf(findings).constData());
        QVERIFY2(has(findings, "checkpoint-index", "z in a.safetensors"), allOf(findings).constData());
        QVERIFY2(has(findings, "checkpoint-file", "missing: b.safetensors"), allOf(findings).constData());
        QCOMPARE(out.model.looseWeights.size(), std::size_t { 4 });
    }

    void indexStaysInItsFolder_data()
    {
        QTest::addColumn<QByteArray>("map");
        for (const char* name : { "../x.safetensors", "/etc/x.safetensors", "a/../../x.safetensors", "", ".", "a//b" })
            QTest::newRow(*name ? name : "empty") << QByteArray("{\"w\":\"") + name + "\"}";
        QTest::newRow("number") << QByteArray("{\"w\":5}");
        QTest::newRow("list") << QByteArray("[]");
        QTest::newRow("twice") << QByteArray("{\"w\":\"a\",\"w\":\"b\"}");
    }
    void indexStaysInItsFolder()
    {
        QFETCH(QByteArray, map);
        write("model.safetensors.index.json", "{\"weight_map\":" + map + "}");
        const auto out = openModel(folder());
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().text()).contains(QStringLiteral("index.json:")), out.error().text().c_str());
    }

    void totalSizeIsCompared()
    {
        writeConfig(tinyConfig());
        QByteArray map;
        for (const MadeTensor& tensor : withHead(tinyDecoder(12)))
            map += QByteArray(map.isEmpty() ? "" : ",") + "\"" + tensor.name.c_str() + "\":\"m.safetensors\"";
        const std::int64_t bytes = 2 * (2 * 256 + 8 + 12 * (64 + 64 + 64 + 384 + 16));
        for (const std::int64_t claimed : { bytes, bytes + 1 }) {
            write("model.safetensors.index.json",
                  "{\"metadata\":{\"total_size\":" + QByteArray::number(static_cast<qlonglong>(claimed)) + "},\"weight_map\":{"
                      + map + "}}");
            const auto out = sure(openModel(folder()));
            QCOMPARE(has(out.findings, "checkpoint-size", "bytes in all"), claimed != bytes);
            QVERIFY(has(out.findings, "checkpoint-file", "not there"));
        }
    }
};

SHARDBOARD_TEST(TestOpenModel)
#include "tst_openmodel.moc"
