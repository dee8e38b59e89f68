// SPDX-License-Identifier: Apache-2.0
// The exports to frameworks that are told styles or sizes (Hugging Face, vLLM, SGLang, TensorRT-LLM, DeepSpeed, Megatron): files
// against tables that were written by hand and against the layouts of the plan, what is refused, and names that would like to be
// code.
#include "model/io/checkpoint/openmodel.h"
#include "model/io/exports/pythontext.h"
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/hostilenames.h"
#include "tests/support/runner.h"
#include "tests/support/settings.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <map>
#include <set>

using namespace shardboard;
using nlohmann::json;

namespace {

constexpr const char* kServing[] = { "hf", "vllm", "sglang", "trtllm", "deepspeed", "megatron" };

Workload servedWorkload(bool train)
{
    Workload workload;
    workload.kind = train ? WorkloadKind::Train : WorkloadKind::Prefill;
    workload.batch = 16;
    workload.sequence = 64;
    return workload;
}

Design servedLlama(const char* mesh, const char* preset, bool train = false)
{
    return designOn(mesh, denseModel(256, 64, 128, 3, 8, 4, 8), servedWorkload(train), preset);
}

/// Texts of an export by the files' names.
std::map<std::string, std::string> servedFiles(const char* target, const Design& design)
{
    std::map<std::string, std::string> out;
    for (const ExportedFile& file : sure(exported(target, design)))
        if (file.name != "shards.json")
            out[file.name] = textOf(file.text);
    return out;
}

json hfConfig(const Design& design) { return json::parse(exportedFile("hf", design, "tp_plan_v5.json"))["distributed_config"]; }
json deepspeedConfig(const Design& design) { return json::parse(exportedFile("deepspeed", design, "ds_config.json")); }

json vllmConfig(const Design& design) { return settingsOf(exportedFile("vllm", design, "vllm.yaml")); }
json sglangConfig(const Design& design) { return settingsOf(exportedFile("sglang", design, "sglang.yaml")); }

/// SETTINGS of export.py.
json readSettings(const std::string& module)
{
    static const QRegularExpression setting(QStringLiteral("^    (\"[a-z0-9_]+\"): (\"[A-Za-z0-9|_]*\"|[0-9]+|True),$"));
    json out = json::object();
    bool inside = false;
    for (const QString& line : QString::fromStdString(module).split(QLatin1Char('\n'))) {
        if (inside && line == QStringLiteral("}"))
            return out;
        if (inside) {
            const auto match = setting.match(line);
            if (!match.hasMatch())
                return nullptr;
            const QString value = match.captured(2) == QStringLiteral("True") ? QStringLiteral("true") : match.captured(2);
            out[json::parse(match.captured(1).toStdString()).get<std::string>()] = json::parse(value.toStdString());
        }
        inside = inside || line == QStringLiteral("SETTINGS = {");
    }
    return nullptr;
}
json megatronSettings(const Design& design) { return readSettings(exportedFile("megatron", design, "export.py")); }

bool isServedCut(const WeightLayout& weight, std::size_t dim, const Mesh& mesh, const std::set<std::string>& axes)
{
    return std::ranges::any_of(weight.layout.dims[dim],
                               [&](const AxisRef& ref) { return axes.contains(mesh.axis(ref.axis).name); });
}

/// The dim that is cut over mesh axes of these names; -1 for none.
int servedCutDim(const WeightLayout& weight, const Mesh& mesh, const std::set<std::string>& axes)
{
    for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim)
        if (isServedCut(weight, dim, mesh, axes))
            return static_cast<int>(dim);
    return -1;
}

std::string moduleOfServed(const std::string& name)
{
    const auto dot = name.rfind('.');
    return name.ends_with(".weight") || name.ends_with(".bias") ? name.substr(0, dot) : name;
}

/// Weights that styles of Hugging Face cut elsewhere than the plan.
QStringList otherInHf(const json& config, const Design& design, const Evaluation& evaluation)
{
    QStringList out;
    const json plan = config.value("tp_plan", json::object());
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        QString module = QString::fromStdString(moduleOfServed(weight.spec.name));
        const bool expert = module.contains(QStringLiteral(".experts.*."));
        if (expert) {
            const bool down = module.endsWith(QStringLiteral("w2")) || module.endsWith(QStringLiteral("down_proj"));
            module = module.section(QLatin1Char('.'), 0, 2)
                + (down ? QStringLiteral(".mlp.experts.down_proj") : QStringLiteral(".mlp.experts.gate_up_proj"));
        }
        const std::string style = plan.value(module.toStdString(), std::string());
        int dim = -1;
        if (style.starts_with("colwise") || style == "packed_colwise" || style == "embedding_rowwise")
            dim = 0;
        if (style.starts_with("rowwise") || style == "embedding_colwise")
            dim = weight.spec.shape.size() == 1 ? -1 : 1;
        if (expert && dim >= 0)
            ++dim; // after the dim of experts
        if (dim != servedCutDim(weight, design.mesh, { "model", "tensor" }))
            out << QString::fromStdString(weight.spec.name + ": " + style);
    }
    return out;
}

/// Weights that the first spec of DeepSpeed whose pattern fits cuts elsewhere than the plan, by their names in a checkpoint.
QStringList otherInDeepspeed(const json& config, const Design& design, const Evaluation& evaluation)
{
    QStringList out;
    const json tensor = config.value("tensor_parallel", json::object());
    std::vector<std::pair<QRegularExpression, std::string>> specs;
    if (tensor.contains("partition_config"))
        for (const json& layer : tensor["partition_config"]["layer_specs"])
            for (const json& pattern : layer["patterns"])
                specs.emplace_back(QRegularExpression(QString::fromStdString(pattern.get<std::string>())),
                                   layer["partition_type"].get<std::string>());
    for (const auto& [pattern, type] : specs)
        if (!pattern.isValid() || (type != "column" && type != "row"))
            out << pattern.pattern();
    const bool vocabulary = tensor.value("vocab_parallel_lm_head", false);
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        const bool isVector = weight.spec.shape.size() == 1;
        for (std::int64_t copy = 0; copy < weight.copies; ++copy) {
            std::string name = weight.firstLayer < 0 ? weight.spec.name : concreteName(weight.spec.name, weight.firstLayer + copy);
            const bool embedding = name.ends_with("embed_tokens.weight");
            const QString asked = QString::fromStdString(moduleOfServed(name) + ".weight");
            const auto spec =
                std::ranges::find_if(specs, [&](const auto& candidate) { return candidate.first.match(asked).hasMatch(); });
            int dim = -1;
            if (spec != specs.end())
                dim = embedding ? 1 : spec->second == "column" ? 0 : isVector ? -1 : 1;
            if (vocabulary && (name.starts_with("lm_head.") || (embedding && design.model.tiedEmbeddings)))
                dim = 0;
            if (dim != servedCutDim(weight, design.mesh, { "model", "tensor" }))
                out << QString::fromStdString(name);
        }
    }
    return out;
}

/// The text between two refused tensors' names is for people; of a design these words stand for what is of all weights.
bool namesSomethingServed(const ExportRefusal& refusal, const Evaluation& evaluation)
{
    const std::string& where = refusal.error.where;
    return where == "mesh" || where == "workload" || where == "pipeline" || where == "model"
        || std::ranges::any_of(evaluation.weights, [&](const WeightLayout& weight) { return weight.spec.name == where; });
}

/// Part of the reason for which a sample is refused; empty where it is exported.
std::string servedReason(const std::string& target, const std::string& model, const std::string& preset, bool train)
{
    if (target == "vllm") {
        if (train)
            return "workload: vLLM serves models, and this design trains one";
        if (preset.ends_with("fsdp"))
            return "mesh: mesh axis 'fsdp' cuts weights and the batch";
        return preset == "ep" ? "mesh: experts are cut over expert, and vLLM deals" : "";
    }
    if (target == "sglang") {
        if (train)
            return "workload: SGLang serves models, and this design trains one";
        if (preset.ends_with("fsdp"))
            return "mesh: mesh axis 'fsdp' cuts weights and the batch";
        if (preset == "ep" && model == "mixtral-8x7b")
            return "mesh: experts are cut over expert, where attention is data-parallel, and SGLang has that not for mixtral";
        if (preset != "pp-1f1b" || model == "qwen2.5-7b" || model == "deepseek2-16b")
            return {};
        return model == "gemma2-9b" ? "pipeline: SGLang has no stages for gemma2" : "lm_head.weight: SGLang has it on every stage";
    }
    if (target == "trtllm") {
        if (train)
            return "workload: TensorRT-LLM serves models, and this design trains one";
        if (preset.ends_with("fsdp"))
            return "mesh: mesh axis 'fsdp' cuts weights and the batch";
        if (model == "gemma2-9b" || model == "deepseek2-16b")
            return "model: TensorRT-LLM cuts the weights of each family by code of its own";
        return model == "mixtral-8x7b" && preset != "ep" ? "embed_tokens.weight: dim 0 on rank 0 is 0:8000, in TensorRT-LLM 0:32000"
                                                         : "";
    }
    if (target == "megatron")
        return preset.ends_with("fsdp") ? "mesh: mesh axis 'fsdp' cuts weights and the batch" : "";
    if (preset == "pp-1f1b")
        return "pipeline: each layer lies on the devices of its stage alone";
    if (preset == "ep")
        return "mesh: experts are cut over expert";
    if (preset == "tp+fsdp")
        return "dim 0 is cut over tensor, ";
    if (preset == "fsdp" || target == "hf" || model == "gemma2-9b") // whose embedding is tied
        return {};
    return "AutoTP cuts an embedding over the vocabulary together with a tied head alone";
}

/// The lines of a file that are not these constants of a design.
QStringList servedLines(const std::string& text)
{
    static const QRegularExpression own(
        QStringLiteral("^(MODEL|CONFIG|PREFIX|MADE_OF) = \"[^\"\\\\]*+(\\\\.[^\"\\\\]*+)*+\"(  # [A-Za-z0-9:, ]*)?$"));
    QStringList out;
    for (const QString& line : QString::fromStdString(text).split(QLatin1Char('\n')))
        if (!own.match(line).hasMatch())
            out << line;
    return out;
}

} // namespace

class TestServingExports : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void samples_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<bool>("train");
        const std::pair<const char*, const char*> layouts[] = {
            { "megatron-tp", "data=2,model=4" }, { "tp-sp", "data=2,model=4" }, { "fsdp", "fsdp=8" },
            { "tp+fsdp", "fsdp=2,tensor=4" },    { "ep", "data=2,expert=4" },   { "pp-1f1b", "stage=2,model=4" },
        };
        for (const char* model : { "llama3-8b", "qwen2.5-7b", "gemma2-9b", "mixtral-8x7b", "deepseek2-16b" })
            for (const auto& [preset, mesh] : layouts)
                for (const bool train : { false, true }) {
                    const bool experts = QByteArray(model).startsWith("mixtral") || QByteArray(model).startsWith("deepseek");
                    if (QByteArray(preset) == "ep" && !experts)
                        continue;
                    const QByteArray name = QByteArray(model) + ' ' + preset + (train ? " train" : " prefill");
                    dataRow(name.constData(), QString::fromLatin1(model), QString::fromLatin1(preset), QString::fromLatin1(mesh),
                            train);
                }
    }
    /// Exported as the plan has it, or refused with the reason.
    void samples()
    {
        QFETCH(QString, model);
        QFETCH(QString, preset);
        QFETCH(QString, mesh);
        QFETCH(bool, train);
        const Design design =
            designOn(mesh.toStdString(), sure(builtinModel(model.toStdString())), servedWorkload(train), preset.toStdString());
        const auto evaluation = evaluated(design);
        for (const char* id : kServing) {
            const ExportTarget& target = *findExportTarget(id);
            const auto files = exportDesign(target, design, evaluation);
            const std::string reason = servedReason(id, model.toStdString(), preset.toStdString(), train);
            QVERIFY2(files.ok() == reason.empty(), files.ok() ? id : files.error().text().c_str());
            const auto refusals = sure(target.refusals(design, *evaluation, {}));
            QCOMPARE(refusals.empty(), files.ok());
            if (!files.ok()) {
                QVERIFY2(files.error().text().find(reason) != std::string::npos, files.error().text().c_str());
                QVERIFY(!files.error().fix.empty());
                for (const ExportRefusal& refusal : refusals)
                    QVERIFY2(namesSomethingServed(refusal, *evaluation), refusal.error.text().c_str());
                continue;
            }
            const auto again = sure(exportDesign(target, design, evaluation));
            QCOMPARE(again.size(), files.value().size());
            for (std::size_t i = 0; i < again.size(); ++i) {
                const ExportedFile& file = files.value()[i];
                QCOMPARE(file.name, again[i].name);
                if (file.name == "shards.json")
                    continue;
                const std::string text = textOf(file.text);
                QCOMPARE(text, textOf(again[i].text));
                QVERIFY(isPlainText(text));
                if (file.name.ends_with(".json"))
                    QVERIFY(json::accept(text));
                else
                    QVERIFY2(text.find(pythonLiteral(design.model.name)) != std::string::npos, file.name.c_str());
                if (file.name.ends_with(".yaml"))
                    QVERIFY(settingsOf(text).is_object());
            }
        }
        if (servedReason("hf", model.toStdString(), preset.toStdString(), train).empty())
            QCOMPARE(otherInHf(hfConfig(design), design, *evaluation), QStringList());
        if (servedReason("deepspeed", model.toStdString(), preset.toStdString(), train).empty())
            QCOMPARE(otherInDeepspeed(deepspeedConfig(design), design, *evaluation), QStringList());
        if (preset.endsWith(QStringLiteral("fsdp")))
            return;
        const bool experts = design.model.moe.present();
        const int tensor = preset == QStringLiteral("ep") ? 1 : 4;
        const int stages = preset == QStringLiteral("pp-1f1b") ? 2 : 1;
        const json settings = megatronSettings(design);
        QCOMPARE(settings["tensor_model_parallel_size"], json(tensor));
        QCOMPARE(settings["pipeline_model_parallel_size"], json(stages));
        QCOMPARE(settings["context_parallel_size"], json(1));
        QCOMPARE(settings.contains("expert_model_parallel_size"), experts);
        QCOMPARE(settings.value("expert_model_parallel_size", 0), experts ? (tensor == 1 ? 4 : 1) : 0);
        QCOMPARE(settings.value("expert_tensor_parallel_size", 0), experts ? tensor : 0);
        QCOMPARE(settings.value("sequence_parallel", false), preset == QStringLiteral("tp-sp"));
        QCOMPARE(settings.value("global_batch_size", 0), train ? 16 : 0);
        if (train || tensor == 1)
            return;
        const int copies = stages == 2 || experts ? 1 : 2; // copies of a dense model may be one program
        QCOMPARE(vllmConfig(design),
                 (json { { "tensor-parallel-size", 4 }, { "pipeline-parallel-size", stages }, { "data-parallel-size", copies } }));
        if (!servedReason("sglang", model.toStdString(), preset.toStdString(), train).empty())
            return;
        json sizes { { "tp-size", 4 }, { "pp-size", stages }, { "dp-size", stages == 2 ? 1 : 2 } };
        if (experts)
            sizes["ep-size"] = 1;
        QCOMPARE(sglangConfig(design), sizes);
    }

    /// A Llama by hand: modules whose rows are cut are column-parallel, as the field says it, for weights are [out, in].
    void llama()
    {
        const Design design = servedLlama("data=2,model=4", "megatron-tp");
        const json base { { "embed_tokens", "embedding_rowwise" },    { "layers.*.self_attn.q_proj", "colwise" },
                          { "layers.*.self_attn.k_proj", "colwise" }, { "layers.*.self_attn.v_proj", "colwise" },
                          { "layers.*.self_attn.o_proj", "rowwise" }, { "layers.*.mlp.gate_proj", "colwise" },
                          { "layers.*.mlp.up_proj", "colwise" },      { "layers.*.mlp.down_proj", "rowwise" } };
        json whole { { "lm_head", "colwise_gather_output" } };
        for (const auto& [key, style] : base.items())
            whole["model." + key] = style;
        const json five = json::parse(exportedFile("hf", design, "tp_plan_v5.json"));
        QCOMPARE(five["base_model_tp_plan"], base);
        QCOMPARE(five["_tp_plan"], (json { { "lm_head", "colwise_gather_output" } }));
        QCOMPARE(five["distributed_config"], (json { { "tp_size", 4 }, { "dp_replicate_size", 2 }, { "tp_plan", whole } }));
        const json four = json::parse(exportedFile("hf", design, "tp_plan_v4.json"));
        json older = base;
        older["embed_tokens"] = "colwise_rep"; // the names of that generation
        older["lm_head"] = "colwise_rep";
        QCOMPARE(four["base_model_tp_plan"], older);
        QCOMPARE(four["tp_size"], json(4));

        Design whole8 = servedLlama("fsdp=8", "fsdp", true);
        QCOMPARE(hfConfig(whole8), (json { { "tp_size", 1 }, { "fsdp_size", 8 } }));
        const json zero = deepspeedConfig(whole8);
        QCOMPARE(zero["zero_optimization"], (json { { "stage", 3 } }));
        QVERIFY(!zero.contains("tensor_parallel"));
        QCOMPARE(zero["train_batch_size"], json(16));
        QCOMPARE(zero["train_micro_batch_size_per_gpu"], json(2));

        Design specs = design;
        QVERIFY2(refusalOf("deepspeed", specs).find("model.embed_tokens.weight: AutoTP cuts an embedding") != std::string::npos,
                 refusalOf("deepspeed", specs).c_str());
        specs.strategies.push_back({ "model.embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
        const json config = deepspeedConfig(specs);
        const std::string layer = "^model\\.layers\\.\\d+\\.";
        const json column { layer + "self_attn\\.q_proj\\.weight$", layer + "self_attn\\.k_proj\\.weight$",
                            layer + "self_attn\\.v_proj\\.weight$", layer + "mlp\\.gate_proj\\.weight$",
                            layer + "mlp\\.up_proj\\.weight$" };
        const json row { layer + "self_attn\\.o_proj\\.weight$", layer + "mlp\\.down_proj\\.weight$" };
        const json& parallel = config["tensor_parallel"];
        QCOMPARE(parallel["autotp_size"], json(4));
        QCOMPARE(parallel["vocab_parallel_lm_head"], json(true));
        QCOMPARE(parallel["partition_config"]["use_default_specs"], json(false));
        QCOMPARE(parallel["partition_config"]["layer_specs"],
                 (json::array({ { { "patterns", column }, { "partition_type", "column" } },
                                { { "patterns", row }, { "partition_type", "row" } } })));
        QCOMPARE(otherInDeepspeed(config, specs, *evaluated(specs)), QStringList());
    }

    /// A bias follows its weight: what a design has otherwise is refused by name.
    void biases_data()
    {
        QTest::addColumn<QString>("match");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("told");
        dataRow("of columns, whole", QStringLiteral("*.self_attn.q_proj.bias"), QStringLiteral("P()"),
                QStringLiteral("it is whole, and %1 cuts the bias of a column-parallel module with it"));
        dataRow("weight whole, bias cut", QStringLiteral("*.self_attn.q_proj.weight"), QStringLiteral("P()"),
                QStringLiteral("it is cut, and %1 leaves"));
    }
    void biases()
    {
        QFETCH(QString, match);
        QFETCH(QString, spec);
        QFETCH(QString, told);
        Design design = designOn("data=2,model=4", sure(builtinModel("qwen2.5-7b")), servedWorkload(false), "megatron-tp");
        design.strategies.push_back({ "model.embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
        for (const char* target : { "hf", "deepspeed" })
            QVERIFY2(exported(target, design).ok(), refusalOf(target, design).c_str());
        design.strategies.push_back({ match.toStdString(), { StrategyKind::Spec, {}, 0, spec.toStdString() }, {} });
        for (const auto& [target, framework] : { std::pair { "hf", "Hugging Face" }, { "deepspeed", "DeepSpeed" } }) {
            const QString refusal = QString::fromStdString(refusalOf(target, design));
            QVERIFY2(refusal.contains(QStringLiteral("self_attn.q_proj.bias"))
                         && refusal.contains(told.arg(QLatin1String(framework))),
                     qPrintable(refusal));
        }
    }

    /// The size of the tensor group is the product of all mesh axes that cut weights.
    void severalTensorAxes()
    {
        Design design = servedLlama("data=2,a=2,b=2", "replicate");
        const auto give = [&](const char* match, const char* spec) {
            design.strategies.push_back({ match, { StrategyKind::Spec, {}, 0, spec }, {} });
        };
        give("tokens", "P('data')");
        for (const char* name : { "*q_proj*", "*k_proj*", "*v_proj*", "*gate_proj*", "*up_proj*", "*embed_tokens*", "lm_head*" })
            give(name, "P(('a','b'))");
        for (const char* name : { "*o_proj*", "*down_proj*" })
            give(name, "P(None,('a','b'))");
        QCOMPARE(vllmConfig(design),
                 (json { { "tensor-parallel-size", 4 }, { "pipeline-parallel-size", 1 }, { "data-parallel-size", 2 } }));
        QCOMPARE(megatronSettings(design)["tensor_model_parallel_size"], json(4));
        for (const char* target : { "hf", "deepspeed" }) {
            const std::string refusal = refusalOf(target, design);
            QVERIFY2(refusal.starts_with("mesh: weights are cut over the mesh axes a and b, and "), refusal.c_str());
        }
        // Of the same size, but each rank has another part.
        for (StrategyEntry& entry : design.strategies)
            if (entry.match == "*down_proj*")
                entry.strategy.spec = "P(None,('b','a'))";
        for (const char* target : { "vllm", "sglang", "megatron" }) {
            const QString refusal = QString::fromStdString(refusalOf(target, design));
            QVERIFY2(refusal.contains(QStringLiteral("mlp.down_proj.weight"))
                         && refusal.contains(QStringLiteral("dim 1 on rank 1 is 64:96, in "))
                         && refusal.contains(QStringLiteral(" 32:64")),
                     qPrintable(refusal));
        }
    }

    /// The layers of each stage as the plan deals them, where the framework would deal them otherwise.
    void pipelines()
    {
        const Design design = designOn("stage=4,model=2", denseModel(256, 64, 128, 5, 8, 4, 8), servedWorkload(false), "pp-1f1b");
        const json settings = megatronSettings(design);
        QCOMPARE(settings["pipeline_model_parallel_size"], json(4));
        QCOMPARE(settings["pipeline_model_parallel_layout"], json("Ett|t|t|tL"));
        const std::string yaml = exportedFile("vllm", design, "vllm.yaml");
        QCOMPARE(settingsOf(yaml)["pipeline-parallel-size"], json(4));
        QVERIFY2(yaml.find("#   VLLM_PP_LAYER_PARTITION=2,1,1,1 vllm serve \"$MODEL\" --config vllm.yaml\n") != std::string::npos,
                 yaml.c_str());
        // As vLLM deals them by itself.
        const Design even = designOn("stage=2,model=2", denseModel(256, 64, 128, 4, 8, 4, 8), servedWorkload(false), "pp-1f1b");
        QVERIFY(exportedFile("vllm", even, "vllm.yaml").find("PARTITION") == std::string::npos);
        QCOMPARE(megatronSettings(even)["pipeline_model_parallel_layout"], json("Ett|ttL"));
        // Two runs on every stage.
        Workload training = servedWorkload(true);
        training.microBatches = 4;
        const Design runs = designOn("stage=2,model=2", denseModel(256, 64, 128, 8, 8, 4, 8), training, "pp-interleaved");
        QCOMPARE(megatronSettings(runs)["pipeline_model_parallel_layout"], json("Ett|tt|tt|ttL"));
    }

    void deviceOrders()
    {
        // The other way round in the mesh, and ids that make up for it.
        Design design = servedLlama("model=4,data=2", "megatron-tp");
        design.strategies.push_back({ "model.embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
        for (const char* target : { "hf", "deepspeed" }) {
            const QString refusal = QString::fromStdString(refusalOf(target, design));
            QVERIFY2(refusal.startsWith(QStringLiteral("mesh: "))
                         && refusal.contains(QStringLiteral("numbers its ranks over data and model, the last one fastest")),
                     qPrintable(refusal));
        }
        design.strategies.pop_back();
        for (const char* target : { "vllm", "sglang", "megatron" })
            QVERIFY2(refusalOf(target, design).find("numbers its ranks over data and model") != std::string::npos,
                     refusalOf(target, design).c_str());
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 0, 4, 1, 5, 2, 6, 3, 7 }));
        const Design usual = servedLlama("data=2,model=4", "megatron-tp");
        for (const char* target : { "hf", "vllm", "sglang", "megatron" })
            QVERIFY2(exported(target, design).ok() && servedFiles(target, design) == servedFiles(target, usual), target);
        design.mesh = sure(Mesh::make(design.mesh.axes(), { 7, 6, 5, 4, 3, 2, 1, 0 }));
        for (const char* target : kServing)
            QVERIFY2(refusalOf(target, design).starts_with("mesh: "), refusalOf(target, design).c_str());

        // Megatron has two orders, vLLM one.
        const Design inner = servedLlama("data=2,stage=2,model=2", "pp-1f1b");
        const Design outer = servedLlama("stage=2,data=2,model=2", "pp-1f1b");
        QCOMPARE(megatronSettings(inner).value("use_tp_pp_dp_mapping", false), true);
        QVERIFY(!megatronSettings(outer).contains("use_tp_pp_dp_mapping"));
        QCOMPARE(vllmConfig(inner),
                 (json { { "tensor-parallel-size", 2 }, { "pipeline-parallel-size", 2 }, { "data-parallel-size", 2 } }));
        QVERIFY2(refusalOf("vllm", outer).find("numbers its ranks over data, stage and model") != std::string::npos,
                 refusalOf("vllm", outer).c_str());
    }

    /// Styles and sizes are of modules: of one tensor without a model none is known, so that nothing is said of it.
    void looseTensors()
    {
        std::vector<Design> designs;
        for (const char* spec : { "P('model')", "P(None,'model')", "P('data','model')", "P('model','data')", "P(('data','model'))",
                                  "P(('model','data'))", "P()", "P('data',unreduced={'model'})" })
            designs.push_back(looseDesign({ 16, 8 }, "data=2,model=4", spec));
        for (const CutRule rule : { CutRule::CeilFlat, CutRule::CeilNested, CutRule::Balanced })
            designs.push_back(looseDesign({ 10, 4 }, "x=4", "P('x')", rule));
        for (Design& design : designs)
            for (const char* target : kServing) {
                const QString refusal = QString::fromStdString(refusalOf(target, design));
                QVERIFY2(refusal.contains(QStringLiteral("not known")) || refusal.contains(QStringLiteral("they are not known"))
                             || refusal.startsWith(QStringLiteral("w: ")),
                         qPrintable(refusal));
            }
        for (const std::string& name : hostileNames()) {
            Design design = looseDesign({ 16, 8 }, "data=2,model=4", "P()");
            design.model.looseWeights.front().tensor.name = name;
            for (const char* target : kServing)
                QVERIFY(!exported(target, design).ok());
        }
    }

    /// Heads, vocabulary and widths that do not divide: each framework's own parts, or a refusal that says which.
    void uneven()
    {
        // 28 heads of 128 over 8.
        const Design heads = designOn("model=8", sure(builtinModel("qwen2.5-7b")), servedWorkload(false), "megatron-tp");
        QVERIFY2(refusalOf("hf", heads).find("in Hugging Face 0:448") != std::string::npos, refusalOf("hf", heads).c_str());
        for (const char* target : { "vllm", "sglang", "megatron" })
            QVERIFY2(refusalOf(target, heads).find("cannot cut 28 heads over 8 tensor ranks") != std::string::npos,
                     refusalOf(target, heads).c_str());
        QVERIFY2(refusalOf("deepspeed", heads).find("AutoTP deals the 4 KV heads to 8 ranks") != std::string::npos,
                 refusalOf("deepspeed", heads).c_str());
        // A vocabulary of 100: vLLM pads it to 128.
        const Design words = designOn("model=4", denseModel(100, 64, 128, 2, 8, 4, 8), servedWorkload(false), "megatron-tp");
        QVERIFY2(refusalOf("vllm", words).find("dim 0 on rank 0 is 0:25, in vLLM 0:32") != std::string::npos,
                 refusalOf("vllm", words).c_str());
        QCOMPARE(megatronSettings(words)["make_vocab_size_divisible_by"], json(1));
        QVERIFY(exported("hf", words).ok());
        const Design odd = designOn("model=4", denseModel(101, 64, 128, 2, 8, 4, 8), servedWorkload(false), "megatron-tp");
        for (const char* target : kServing)
            QVERIFY2(!exported(target, odd).ok() || std::string(target) == "hf", target);
        // 2 KV heads over 4 ranks: whole on each, which attention there would take for the ranks' own.
        const Design few = designOn("model=4", denseModel(256, 64, 128, 2, 8, 2, 8), servedWorkload(false), "megatron-tp");
        QVERIFY2(refusalOf("hf", few).find("it is whole where the queries are cut") != std::string::npos,
                 refusalOf("hf", few).c_str());
        for (const char* target : { "vllm", "sglang", "megatron" })
            QVERIFY2(refusalOf(target, few).find("dim 0 on rank 0 is 0:16, in ") != std::string::npos,
                     refusalOf(target, few).c_str());
        QVERIFY(!exported("deepspeed", few).ok());
        // A width of 130.
        const Design width = designOn("model=4", denseModel(256, 64, 130, 2, 8, 4, 8), servedWorkload(false), "megatron-tp");
        for (const char* target : kServing)
            if (std::string(target) != "deepspeed") // which deals it as the plan does
                QVERIFY2(refusalOf(target, width).find("mlp.") != std::string::npos, refusalOf(target, width).c_str());
    }

    void manyDevices()
    {
        Design design = designOn("data=2048,model=8", sure(builtinModel("llama3-8b")), servedWorkload(false), "replicate");
        design.workload.batch = 4096;
        (void)sure(applyPreset(design, "megatron-tp"));
        QCOMPARE(vllmConfig(design),
                 (json { { "tensor-parallel-size", 8 }, { "pipeline-parallel-size", 1 }, { "data-parallel-size", 2048 } }));
        QCOMPARE(megatronSettings(design)["tensor_model_parallel_size"], json(8));
        QCOMPARE(hfConfig(design)["dp_replicate_size"], json(2048));
        design.strategies.push_back({ "model.embed_tokens.weight", { StrategyKind::Replicate, {}, 0, {} }, {} });
        QCOMPARE(deepspeedConfig(design)["train_micro_batch_size_per_gpu"], json(2));
        // Copies that are servers of their own: the lines of one host.
        Design experts = designOn("data=2048,model=8", sure(builtinModel("mixtral-8x7b")), servedWorkload(false), "replicate");
        experts.workload.batch = 4096;
        (void)sure(applyPreset(experts, "megatron-tp"));
        const auto usage = [&] { return findExportTarget("vllm")->usage(experts, *evaluated(experts)); };
        QCOMPARE(usage(), std::string("# on each of 2048 hosts\nvllm serve \"$MODEL\" --config vllm.yaml\n"));
        experts.mesh = sure(Mesh::parse("data=8,model=4"));
        QVERIFY2(usage().find("# on each of 4 hosts\nCUDA_VISIBLE_DEVICES=0,1,2,3 vllm") == 0
                     && usage().find("\nCUDA_VISIBLE_DEVICES=4,5,6,7 vllm") != std::string::npos,
                 usage().c_str());
        QCOMPARE(std::ranges::count(usage(), '\n'), 3);
    }

    /// Own pins stay among what is left out, when those of the preset are said by a setting.
    void ownPinsAreLeftOut()
    {
        Design design = servedLlama("data=2,model=4", "tp-sp", true);
        const ExportTarget& megatron = *findExportTarget("megatron");
        const auto isPin = [](const std::string& line) { return line.find("pin") != std::string::npos; };
        QVERIFY(std::ranges::none_of(megatron.leftOut(design, *evaluated(design)), isPin));
        Pin pin;
        pin.match = "mlp in";
        pin.whole = { "model" };
        design.pins.push_back(pin);
        const auto left = megatron.leftOut(design, *evaluated(design));
        QVERIFY(!left.empty());
        QVERIFY2(left.front().starts_with("1 pin of \"mlp in\""), left.front().c_str());
        QCOMPARE(megatronSettings(design)["sequence_parallel"], json(true));
    }

    /// configure() gives its settings to a provider of the design's model, and names what another one has otherwise.
    void providersOfOtherModels()
    {
        const QString python = QStandardPaths::findExecutable(QStringLiteral("python3"));
        if (python.isEmpty())
            QSKIP("no python3 here");
        QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("export.py")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        const std::string module = exportedFile(
            "megatron", designOn("data=2,model=2", denseModel(256, 64, 128, 3, 8, 4, 8), {}, "megatron-tp"), "export.py");
        file.write(module.data(), static_cast<qint64>(module.size()));
        file.close();
        QProcess process;
        process.setWorkingDirectory(folder.path());
        process.start(python, { QStringLiteral("-c"), QStringLiteral(R"(import types
from export import configure
def provider(**others):
    sizes = {"num_layers": 3, "hidden_size": 64, "num_attention_heads": 8, "num_query_groups": 4, "kv_channels": None, "ffn_hidden_size": 128}
    groups = {f"{kind}_parallel_size": 1 for kind in ("tensor_model", "pipeline_model", "context")}
    return types.SimpleNamespace(**{**sizes, **groups, **others})
assert configure(provider()).tensor_model_parallel_size == 2
groupless = provider()
del groupless.context_parallel_size
for wrong, said in ((provider(num_query_groups=8), "num_query_groups is 8, in the design 4"), (provider(num_layers=2), "num_layers is 2, in the design 3"),
                    (provider(kv_channels=16), "kv_channels is 16, in the design 8"), (groupless, "it has no context_parallel_size")):
    try:
        configure(wrong)
    except ValueError as problem:
        assert said in str(problem), problem
        assert wrong.tensor_model_parallel_size == 1, "it is changed all the same"
    else:
        raise SystemExit(said + " is not told")
)") });
        QVERIFY(process.waitForFinished(50000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    }

    /// A name is a text in every file: the same lines, the same settings, nothing that a reader, a shell or YAML obeys.
    void hostile()
    {
        const auto named = [](const std::string& name) {
            Design design = servedLlama("data=2,model=2", "megatron-tp");
            design.model.tiedEmbeddings = true;
            design.model.name = name;
            design.model.weightPrefix = name + ".";
            return design;
        };
        std::vector<std::string> names = hostileNames();
        for (const HostileName& hostile : printableHostileNames())
            names.push_back(hostile.name);
        for (const HostileName& hostile : controlHostileNames())
            names.push_back(hostile.name);
        for (const char* name : { "\"; import os", "${HOME}", "a: b", "- x", "key: {a: [1]}\n- !!python/object", "# x",
                                  "a\nport: 1", "'; rm -rf x #", "a\n}\nimport os\nSETTINGS = {" })
            names.emplace_back(name);
        // transformers 4 has no plan for modules with a digit in their names.
        const std::pair<Design, Design> tame { named("tame"), named("tame1") };
        for (const char* target : kServing) {
            const std::pair filesOfTame { servedFiles(target, tame.first), servedFiles(target, tame.second) };
            for (const std::string& name : names) {
                const bool digit = name.find_first_of("0123456789") != std::string::npos;
                const auto& before = digit ? filesOfTame.second : filesOfTame.first;
                const Design& like = digit ? tame.second : tame.first;
                const std::string usage = findExportTarget(target)->usage(like, *evaluated(like));
                const Design design = named(name);
                const auto texts = servedFiles(target, design);
                QCOMPARE(texts.size(), before.size());
                QCOMPARE(findExportTarget(target)->usage(design, *tolerant(design)), usage);
                for (const auto& [file, text] : texts) {
                    if (file.ends_with(".json")) {
                        const json document = json::parse(text, nullptr, false);
                        QVERIFY(!document.is_discarded());
                        if (document.contains("model") && isUtf8(name))
                            QCOMPARE(document["model"].get<std::string>(), name);
                        for (const char c : text)
                            QVERIFY(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
                    } else if (file.ends_with(".yaml")) {
                        QVERIFY(isPlainText(text));
                        QStringList lines = QString::fromStdString(text).split(QLatin1Char('\n'));
                        QStringList usual = QString::fromStdString(before.at(file)).split(QLatin1Char('\n'));
                        QVERIFY(lines.takeFirst().startsWith(QStringLiteral("# Generated by Shardboard for the model \"")));
                        usual.removeFirst();
                        QCOMPARE(lines, usual);
                    } else {
                        QVERIFY(isPlainText(text));
                        QCOMPARE(servedLines(text), servedLines(before.at(file)));
                        QVERIFY(text.find("\nMODEL = " + pythonLiteral(name) + "\n") != std::string::npos);
                    }
                }
                // A * stands for a layer's number, and Qt takes a byte order mark away.
                if (std::string(target) == "deepspeed" && isUtf8(name) && name.find('*') == std::string::npos
                    && !name.starts_with("\xef\xbb\xbf") && name.size() < 1000)
                    QVERIFY2(otherInDeepspeed(deepspeedConfig(design), design, *tolerant(design)).isEmpty(),
                             pythonLiteral(name).c_str());
            }
        }
    }
};

SHARDBOARD_TEST(TestServingExports)
#include "tst_servingexports.moc"
