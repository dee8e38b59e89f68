// SPDX-License-Identifier: Apache-2.0
// GGUF files: headers as llama.cpp writes them, and what a damaged or hostile one may hold.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/gguf/gguf.h"
#include "tests/support/datarow.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace shardboard;
using namespace shardboard::test;

namespace {

template <class T>
QByteArray raw(T value)
{
    QByteArray out(sizeof(T), '\0');
    qToLittleEndian(value, out.data());
    return out;
}

QByteArray text(const QByteArray& value) { return raw<quint64>(static_cast<quint64>(value.size())) + value; }
QByteArray word(const QByteArray& key, quint32 value) { return text(key) + raw<quint32>(4) + raw(value); }
QByteArray sentence(const QByteArray& key, const QByteArray& value) { return text(key) + raw<quint32>(8) + text(value); }

/// Elements and bytes of a block, written down again from ggml's table.
constexpr std::pair<quint64, quint64> kF32 { 1, 4 }, kQ4K { 256, 144 }, kQ6K { 256, 210 };

struct Made {
    QByteArray name;
    std::vector<quint64> dims; ///< the one that lies side by side first
    quint32 type = 0;
    std::pair<quint64, quint64> block = kF32;
    quint64 bytes() const
    {
        quint64 elements = 1;
        for (const quint64 dim : dims)
            elements *= dim;
        return elements / block.first * block.second;
    }
};

QByteArray fileOf(const std::vector<QByteArray>& pairs, const std::vector<Made>& tensors, bool data = true)
{
    QByteArray out = "GGUF" + raw<quint32>(3) + raw<quint64>(tensors.size()) + raw<quint64>(pairs.size());
    for (const QByteArray& pair : pairs)
        out += pair;
    quint64 at = 0;
    const auto aligned = [](quint64 size) { return (size + 31) / 32 * 32; };
    for (const Made& tensor : tensors) {
        out += text(tensor.name) + raw<quint32>(static_cast<quint32>(tensor.dims.size()));
        for (const quint64 dim : tensor.dims)
            out += raw(dim);
        out += raw(tensor.type) + raw(at);
        at = aligned(at + tensor.bytes());
    }
    if (data)
        out += QByteArray(static_cast<qsizetype>(aligned(static_cast<quint64>(out.size())) - static_cast<quint64>(out.size()) + at),
                          '\0');
    return out;
}

/// A Llama of hidden 256, 2 layers, 4 heads and 2 KV heads of 64, intermediate 512, vocabulary 320.
std::vector<QByteArray> keys()
{
    return { sentence("general.architecture", "llama"),
             word("llama.block_count", 2),
             word("llama.embedding_length", 256),
             word("llama.feed_forward_length", 512),
             word("llama.attention.head_count", 4),
             word("llama.attention.head_count_kv", 2),
             text("llama.attention.layer_norm_rms_epsilon") + raw<quint32>(6) + raw(1e-5F),
             text("tokenizer.ggml.tokens") + raw<quint32>(9) + raw<quint32>(8) + raw<quint64>(2) + text("a") + text("bc"),
             text("tokenizer.ggml.scores") + raw<quint32>(9) + raw<quint32>(6) + raw<quint64>(2) + raw(1.0F) + raw(2.0F) };
}

std::vector<Made> tensors()
{
    std::vector<Made> out { { "token_embd.weight", { 256, 320 }, 14, kQ6K },
                            { "output_norm.weight", { 256 }, 0 },
                            { "rope_freqs.weight", { 32 }, 0 } };
    for (int i = 0; i < 2; ++i) {
        const QByteArray layer = "blk." + QByteArray::number(i) + ".";
        out.push_back({ layer + "attn_norm.weight", { 256 }, 0 });
        out.push_back({ layer + "ffn_norm.weight", { 256 }, 0 });
        out.push_back({ layer + "attn_q.weight", { 256, 256 }, 12, kQ4K });
        out.push_back({ layer + "attn_k.weight", { 256, 128 }, 12, kQ4K });
        // As in Q4_K_M, one layer has more bits.
        out.push_back({ layer + "attn_v.weight", { 256, 128 }, i == 0 ? 14U : 12U, i == 0 ? kQ6K : kQ4K });
        out.push_back({ layer + "attn_output.weight", { 256, 256 }, 12, kQ4K });
        out.push_back({ layer + "ffn_gate.weight", { 256, 512 }, 12, kQ4K });
        out.push_back({ layer + "ffn_up.weight", { 256, 512 }, 12, kQ4K });
        out.push_back({ layer + "ffn_down.weight", { 512, 256 }, 12, kQ4K });
    }
    return out;
}

bool saysOf(const std::vector<Finding>& findings, const std::string& kind, const std::string& what)
{
    return std::ranges::any_of(
        findings, [&](const Finding& finding) { return finding.kind == kind && finding.message.find(what) != std::string::npos; });
}

} // namespace

class TestGguf : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::string write(const QByteArray& content, const char* name = "m.gguf") const
    {
        const QString path = m_folder.filePath(QString::fromUtf8(name));
        writeFile(path, content);
        return path.toStdString();
    }

private Q_SLOTS:
    void aHeaderIsRead()
    {
        const auto file = sure(readGguf(write(fileOf(keys(), tensors()))));
        QCOMPARE(file.version, 3U);
        QCOMPARE(file.text("general.architecture"), std::string("llama"));
        QCOMPARE(file.integer("llama.block_count"), std::optional<std::int64_t>(2));
        QCOMPARE(std::get<GgufList>(file.values.at("tokenizer.ggml.tokens")).size, 2);
        QCOMPARE(std::get<GgufList>(file.values.at("tokenizer.ggml.scores")).numbers, (std::vector { 1.0, 2.0 }));
        QCOMPARE(file.tensors.size(), tensors().size());
        QCOMPARE(file.tensors[0].shape, (Shape { 320, 256 })); // turned: the dim that lies side by side is the last
        QCOMPARE(file.tensors[0].bytes, 320 * 210);
    }

    /// Bits an element of the types that are in use, as llama.cpp's table of quantizations has them.
    void blocksHaveTheirBits()
    {
        for (const auto& [number, bits] :
             { std::pair { 2U, 4.5 }, { 3U, 5.0 },     { 6U, 5.5 },     { 7U, 6.0 },     { 8U, 8.5 },     { 10U, 2.625 },
               { 11U, 3.4375 },       { 12U, 4.5 },    { 13U, 5.5 },    { 14U, 6.5625 }, { 16U, 2.0625 }, { 17U, 2.3125 },
               { 18U, 3.0625 },       { 19U, 1.5625 }, { 20U, 4.5 },    { 21U, 3.4375 }, { 22U, 2.5625 }, { 23U, 4.25 },
               { 29U, 1.75 },         { 34U, 1.6875 }, { 35U, 2.0625 }, { 39U, 4.25 },   { 40U, 4.5 } }) {
            const GgmlType* type = ggmlType(number);
            QVERIFY(type != nullptr);
            QCOMPARE(8.0 * static_cast<double>(type->bytes) / static_cast<double>(type->block), bits);
            QCOMPARE(type->packing().inBlock, type->block);
        }
        QVERIFY(!ggmlType(1)->packing().present() && ggmlType(4) == nullptr && ggmlType(1000) == nullptr);
    }

    /// A graph with a plan, whose memory is that of the file.
    void aModelIsPlannedInItsPackedSize()
    {
        const auto opened = sure(openModel(write(fileOf(keys(), tensors()))));
        QVERIFY(opened.model.hasGraph());
        QCOMPARE(opened.model.family, std::string("llama"));
        QVERIFY(opened.model.tiedEmbeddings);
        Design design;
        design.mesh = Mesh::parse("tp=1").value();
        design.model = opened.model;
        design.workload.batch = 1;
        design.workload.sequence = 16;
        QVERIFY(applyPreset(design, "replicate").ok());
        const auto evaluation = sure(evaluate(design));
        quint64 stored = 0;
        for (const Made& tensor : tensors())
            if (tensor.name != "rope_freqs.weight")
                stored += tensor.dims.size() > 1 ? tensor.bytes() : tensor.bytes() / 2; // norms are in 16 bits in the graph
        QCOMPARE(evaluation->weightBytes, static_cast<std::int64_t>(stored));
        QCOMPARE(evaluation->plan.memory.weights, static_cast<std::int64_t>(stored));
        // Training has plain weights.
        design.workload.kind = WorkloadKind::Train;
        QCOMPARE(sure(evaluate(design))->weightBytes, 2 * evaluation->parameters);
    }

    /// A cut of rows inside of a block of 256 is a finding that says so.
    void aCutInsideOfBlocksIsFound()
    {
        Design design;
        design.mesh = Mesh::parse("tp=4").value();
        design.model = sure(openModel(write(fileOf(keys(), tensors())))).model;
        design.workload.batch = 1;
        design.workload.sequence = 16;
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        const auto evaluation = sure(evaluate(design));
        const auto down = std::ranges::find_if(evaluation->findings, [](const DesignFinding& finding) {
            return finding.kind == "quant-block-split" && finding.where.ends_with("down_proj.weight");
        });
        QVERIFY(down != evaluation->findings.end()); // 512 in four parts of 128
        QVERIFY2(down->message.find("block 256 of q4_k does not divide 128") != std::string::npos, down->message.c_str());
        QVERIFY2(down->repair.find("vLLM and SGLang") != std::string::npos, down->repair.c_str());
        // Rows of a column-parallel weight are whole.
        QVERIFY(std::ranges::none_of(evaluation->findings, [](const DesignFinding& finding) {
            return finding.kind == "quant-block-split" && finding.where.ends_with("up_proj.weight");
        }));
    }

    void severalFilesAreOneModel()
    {
        auto first = tensors();
        const std::vector<Made> second(first.begin() + 12, first.end());
        first.resize(12);
        auto split = keys();
        split.push_back(text("split.tensors.count") + raw<quint32>(5) + raw<qint32>(static_cast<qint32>(tensors().size())));
        QTemporaryDir folder;
        const auto path = [&](const char* name) { return folder.filePath(QString::fromUtf8(name)); };
        writeFile(path("m-00001-of-00002.gguf"), fileOf(split, first));
        const auto lacking = sure(openModel(folder.path().toStdString()));
        QVERIFY(!lacking.model.hasGraph()); // half of a model
        writeFile(path("m-00002-of-00002.gguf"), fileOf({ sentence("general.architecture", "llama") }, second));
        const auto whole = sure(openModel(folder.path().toStdString()));
        QVERIFY(whole.model.hasGraph());
        QVERIFY(sure(openModel(path("m-00002-of-00002.gguf").toStdString())).model.hasGraph());
        // Two models in a folder are two.
        writeFile(path("other.gguf"), fileOf(keys(), tensors()));
        QVERIFY(openModel(folder.path().toStdString()).error().what.find("several models") != std::string::npos);
        // A tensor in both files.
        writeFile(path("m-00002-of-00002.gguf"), fileOf({}, tensors()));
        QVERIFY(!openModel(path("m-00001-of-00002.gguf").toStdString()).ok());
    }

    void anotherArchitectureIsLaidOut()
    {
        auto other = keys();
        other[0] = sentence("general.architecture", "unheard-of");
        const auto opened = sure(openModel(write(fileOf(other, tensors()))));
        QVERIFY(!opened.model.hasGraph());
        QCOMPARE(opened.model.looseWeights.size(), tensors().size());
        std::int64_t bytes = 0;
        for (const auto& weight : opened.model.looseWeights)
            bytes += bytesOf(weight.tensor);
        quint64 stored = 0;
        for (const Made& tensor : tensors())
            stored += tensor.bytes();
        QCOMPARE(bytes, static_cast<std::int64_t>(stored));
    }

    /// Of a file's layers the last ones may be for further tokens: they are not the model's, and are told.
    void layersForFurtherTokensAreNotTheModels()
    {
        auto made = keys();
        made[1] = word("llama.block_count", 3);
        made.push_back(word("llama.nextn_predict_layers", 1));
        auto all = tensors();
        all.push_back({ "blk.2.attn_q.weight", { 256, 256 }, 0 });
        all.push_back({ "blk.2.nextn.eh_proj.weight", { 512, 256 }, 0 });
        const auto out = sure(openModel(write(fileOf(made, all))));
        QVERIFY2(out.model.hasGraph(), out.model.notUnderstood.c_str());
        QCOMPARE(out.model.layers, 2);
        QVERIFY(saysOf(out.findings, "checkpoint-extra", "model.layers.*.self_attn.q_proj.weight"));
        QVERIFY(saysOf(out.findings, "checkpoint-extra", "blk.2.nextn.eh_proj.weight"));
        // As many as there are: none would be left.
        made.back() = word("llama.nextn_predict_layers", 3);
        const auto none = openModel(write(fileOf(made, all)));
        QVERIFY(!none.ok() || !none.value().model.hasGraph());
    }

    void tensorsThatNobodyKnowsAreTold()
    {
        auto all = tensors();
        all.push_back({ "blk.1.strange.weight", { 64 }, 0 });
        const auto out = sure(openModel(write(fileOf(keys(), all))));
        QVERIFY(out.model.hasGraph());
        QVERIFY(saysOf(out.findings, "checkpoint-extra", "blk.1.strange.weight"));
        QVERIFY(!saysOf(sure(openModel(write(fileOf(keys(), tensors())))).findings, "checkpoint-extra", ""));
    }

    void plainNumbersAreNotPacked()
    {
        auto all = tensors();
        for (Made& each : all)
            if (each.dims.size() > 1) {
                each.type = 1;
                each.block = { 1, 2 };
            }
        const auto out = sure(openModel(write(fileOf(keys(), all))));
        QVERIFY(out.model.hasGraph() && out.model.packed.empty());
        QVERIFY(!sure(openModel(write(fileOf(keys(), tensors())))).model.packed.empty());
    }

    /// The second DeepSeek has the third's name, and no biases of experts.
    void deepSeeksAreToldApartByTheirBiases()
    {
        std::vector<QByteArray> made { sentence("general.architecture", "deepseek2") };
        for (const auto& [key, value] : { std::pair { "block_count", 2U },
                                          { "embedding_length", 256U },
                                          { "feed_forward_length", 512U },
                                          { "attention.head_count", 4U },
                                          { "attention.head_count_kv", 4U },
                                          { "attention.key_length", 96U },
                                          { "attention.value_length", 64U },
                                          { "attention.kv_lora_rank", 64U },
                                          { "rope.dimension_count", 32U },
                                          { "expert_count", 8U },
                                          { "expert_used_count", 2U },
                                          { "expert_feed_forward_length", 128U },
                                          { "expert_shared_count", 1U },
                                          { "leading_dense_block_count", 1U } })
            made.push_back(word((QByteArray("deepseek2.") + key).constData(), value));
        made.push_back(text("deepseek2.attention.layer_norm_rms_epsilon") + raw<quint32>(6) + raw(1e-6F));
        std::vector<Made> all { { "token_embd.weight", { 256, 320 }, 0 },
                                { "output_norm.weight", { 256 }, 0 },
                                { "output.weight", { 256, 320 }, 0 } };
        for (int i = 0; i < 2; ++i) {
            const QByteArray layer = "blk." + QByteArray::number(i) + ".";
            const auto add = [&](const char* name, std::vector<quint64> dims) {
                all.push_back({ layer + name, std::move(dims), 0 });
            };
            add("attn_norm.weight", { 256 });
            add("ffn_norm.weight", { 256 });
            add("attn_q.weight", { 256, 4 * 96 });
            add("attn_kv_a_mqa.weight", { 256, 96 });
            add("attn_kv_a_norm.weight", { 64 });
            add("attn_kv_b.weight", { 64, 4 * 128 });
            add("attn_output.weight", { 4 * 64, 256 });
            for (const char* part : { "ffn_gate", "ffn_up", "ffn_down" }) {
                const bool down = part == std::string("ffn_down");
                const auto of = [&](quint64 width) {
                    return down ? std::vector<quint64> { width, 256 } : std::vector<quint64> { 256, width };
                };
                if (i == 0) {
                    add((QByteArray(part) + ".weight").constData(), of(512));
                    continue;
                }
                auto experts = of(128);
                experts.push_back(8);
                add((QByteArray(part) + "_exps.weight").constData(), experts);
                add((QByteArray(part) + "_shexp.weight").constData(), of(128));
            }
            if (i == 1)
                add("ffn_gate_inp.weight", { 256, 8 });
        }
        const auto second = sure(openModel(write(fileOf(made, all))));
        QVERIFY2(second.model.hasGraph(), second.model.notUnderstood.c_str());
        QCOMPARE(second.model.family, std::string("deepseek_v2"));
        QVERIFY(!second.model.moe.correctionBias);
        all.push_back({ "blk.1.exp_probs_b.bias", { 8 }, 0 });
        const auto third = sure(openModel(write(fileOf(made, all))));
        QVERIFY2(third.model.hasGraph(), third.model.notUnderstood.c_str());
        QCOMPARE(third.model.family, std::string("deepseek_v3"));
        QVERIFY(third.model.moe.correctionBias);
    }

    /// Phi-3 has queries, keys, and values in one tensor, and gate and up in one that is called up.
    void joinedProjectionsAreThoseOfTheFamily()
    {
        const std::vector<QByteArray> made { sentence("general.architecture", "phi3"),
                                             word("phi3.block_count", 2),
                                             word("phi3.embedding_length", 256),
                                             word("phi3.feed_forward_length", 512),
                                             word("phi3.attention.head_count", 4),
                                             word("phi3.attention.head_count_kv", 2),
                                             text("phi3.attention.layer_norm_rms_epsilon") + raw<quint32>(6) + raw(1e-5F) };
        std::vector<Made> all { { "token_embd.weight", { 256, 320 }, 14, kQ6K },
                                { "output_norm.weight", { 256 }, 0 },
                                { "output.weight", { 256, 320 }, 14, kQ6K } };
        for (int i = 0; i < 2; ++i) {
            const QByteArray layer = "blk." + QByteArray::number(i) + ".";
            all.push_back({ layer + "attn_norm.weight", { 256 }, 0 });
            all.push_back({ layer + "ffn_norm.weight", { 256 }, 0 });
            all.push_back({ layer + "attn_qkv.weight", { 256, 512 }, 12, kQ4K });
            all.push_back({ layer + "attn_output.weight", { 256, 256 }, 12, kQ4K });
            all.push_back({ layer + "ffn_up.weight", { 256, 1024 }, 12, kQ4K });
            all.push_back({ layer + "ffn_down.weight", { 512, 256 }, 12, kQ4K });
        }
        const auto out = sure(openModel(write(fileOf(made, all))));
        QVERIFY2(out.model.hasGraph(), out.model.notUnderstood.c_str());
        QVERIFY(out.model.packedAs("model.layers.*.mlp.gate_up_proj.weight") != nullptr);
        Design design;
        design.mesh = Mesh::parse("tp=2").value();
        design.model = out.model;
        design.workload.batch = 1;
        design.workload.sequence = 16;
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        const auto evaluation = sure(evaluate(design)); // parts are packed as the whole is
        for (const WeightLayout& weight : evaluation->weights)
            if (weight.spec.name.find("_proj.") != std::string::npos)
                QVERIFY2(weight.spec.packing.present(), weight.spec.name.c_str());
    }

    /// gpt-oss has experts with biases in tensors of their own, sinks, and a router with a bias.
    void gptOssIsPlanned()
    {
        std::vector<QByteArray> made { sentence("general.architecture", "gpt-oss") };
        for (const auto& [key, value] : { std::pair { "block_count", 2U },
                                          { "embedding_length", 256U },
                                          { "feed_forward_length", 128U },
                                          { "attention.head_count", 4U },
                                          { "attention.head_count_kv", 2U },
                                          { "attention.key_length", 32U },
                                          { "attention.sliding_window", 128U },
                                          { "expert_count", 8U },
                                          { "expert_used_count", 2U },
                                          { "expert_feed_forward_length", 128U } })
            made.push_back(word((QByteArray("gpt-oss.") + key).constData(), value));
        made.push_back(text("gpt-oss.attention.layer_norm_rms_epsilon") + raw<quint32>(6) + raw(1e-5F));
        std::vector<Made> all { { "token_embd.weight", { 256, 320 }, 0 },
                                { "output_norm.weight", { 256 }, 0 },
                                { "output.weight", { 256, 320 }, 0 } };
        quint64 elements = 0;
        for (int i = 0; i < 2; ++i) {
            const QByteArray layer = "blk." + QByteArray::number(i) + ".";
            const auto add = [&](const char* name, std::vector<quint64> dims) {
                all.push_back({ layer + name, std::move(dims), 0 });
            };
            add("attn_norm.weight", { 256 });
            add("post_attention_norm.weight", { 256 });
            add("attn_q.weight", { 256, 128 });
            add("attn_q.bias", { 128 });
            for (const char* part : { "attn_k", "attn_v" }) {
                add((QByteArray(part) + ".weight").constData(), { 256, 64 });
                add((QByteArray(part) + ".bias").constData(), { 64 });
            }
            add("attn_output.weight", { 128, 256 });
            add("attn_output.bias", { 256 });
            add("attn_sinks.weight", { 4 });
            add("ffn_gate_inp.weight", { 256, 8 });
            add("ffn_gate_inp.bias", { 8 });
            for (const char* part : { "ffn_gate_exps", "ffn_up_exps" }) {
                add((QByteArray(part) + ".weight").constData(), { 256, 128, 8 });
                add((QByteArray(part) + ".bias").constData(), { 128, 8 });
            }
            add("ffn_down_exps.weight", { 128, 256, 8 });
            add("ffn_down_exps.bias", { 256, 8 });
        }
        for (const Made& each : all)
            elements += each.bytes() / 4;
        const auto out = sure(openModel(write(fileOf(made, all))));
        QVERIFY2(out.model.hasGraph(), out.model.notUnderstood.c_str());
        QVERIFY(!saysOf(out.findings, "checkpoint-extra", ""));
        Design design;
        design.mesh = Mesh::parse("expert=2,tp=2").value();
        design.model = out.model;
        design.workload.batch = 2;
        design.workload.sequence = 16;
        QVERIFY(applyPreset(design, "ep+tp").ok());
        QCOMPARE(sure(evaluate(design))->parameters, static_cast<std::int64_t>(elements));
    }

    /// Eight times as many tensors take about eight times as long, and not sixty-four.
    void manyTensorsAreLookedUpInTime()
    {
        const auto seconds = [&](int count) {
            auto all = tensors();
            for (int i = 0; i < count; ++i)
                all.push_back({ "blk.0.strange" + QByteArray::number(i) + ".weight", { 8 }, 0 });
            const std::string path = write(fileOf(keys(), all));
            qint64 best = std::numeric_limits<qint64>::max();
            for (int i = 0; i < 3; ++i) {
                QElapsedTimer timer;
                timer.start();
                (void)sure(openModel(path));
                best = std::min(best, timer.nsecsElapsed());
            }
            return static_cast<double>(best);
        };
        QVERIFY(seconds(40'000) < 30 * seconds(5'000));
    }

    void everyShorterFileIsRefused()
    {
        const QByteArray whole = fileOf(keys(), tensors(), false);
        for (qsizetype size = 0; size < whole.size(); ++size) {
            const auto out = readGguf(write(whole.left(size)));
            QVERIFY2(!out.ok(), qPrintable(QString::number(size)));
        }
    }

    void hostileFilesAreRefused_data()
    {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("why");
        const QByteArray head = "GGUF" + raw<quint32>(3);
        const auto row = [](const char* name, const QByteArray& file, const char* why) {
            QTest::newRow(name) << file << QString::fromUtf8(why);
        };
        const auto pair = [&](const QByteArray& value) { return fileOf({ text("k") + value }, {}); };
        row("no magic", QByteArray(100, 'x'), "is no GGUF file");
        row("version 1", "GGUF" + raw<quint32>(1) + QByteArray(100, '\0'), "of version 1");
        row("big-endian", "GGUF" + QByteArray("\0\0\0\3", 4) + QByteArray(100, '\0'), "big-endian");
        row("many tensors", head + raw<quint64>(~quint64(0)) + raw<quint64>(0) + QByteArray(100, '\0'), "claims");
        row("many keys", head + raw<quint64>(0) + raw<quint64>(quint64(1) << 60) + QByteArray(100, '\0'), "claims");
        row("long key", head + raw<quint64>(0) + raw<quint64>(1) + raw<quint64>(~quint64(0)) + QByteArray(100, '\0'), "a text of");
        row("long text", pair(raw<quint32>(8) + raw<quint64>(~quint64(0))), "a text of");
        row("long list", pair(raw<quint32>(9) + raw<quint32>(4) + raw<quint64>(quint64(1) << 61)), "claims");
        row("type of a value", pair(raw<quint32>(13)), "unknown type 13");
        row("type of items", pair(raw<quint32>(9) + raw<quint32>(99) + raw<quint64>(0)), "unknown type 99");
        row("truth", pair(raw<quint32>(7) + QByteArray(1, '\2')), "truth value of 2");
        QByteArray deep = raw<quint32>(9);
        for (int i = 0; i < 100; ++i)
            deep += raw<quint32>(9) + raw<quint64>(1);
        row("lists in lists", pair(deep), "deep");
        row("a key twice", fileOf({ word("k", 1), word("k", 2) }, {}), "twice");
        row("a control character", fileOf({ word("k\x1b[2J", 1) }, {}), "no name");
        row("a type of tensors", fileOf({}, { { "t", { 32 }, 4, { 32, 18 } } }), "unknown type 4");
        row("rows and blocks", fileOf({}, { { "t", { 100, 2 }, 12, kF32 } }), "a block of q4_k has 256");
        row("five dims", fileOf({}, { { "t", { 1, 1, 1, 1, 1 }, 0 } }), "5 dims");
        row("a tensor twice", fileOf({}, { { "t", { 8 }, 0 }, { "t", { 8 }, 0 } }), "twice");
        row("a large dim", fileOf({}, { { "t", { quint64(1) << 60 }, 0, { quint64(1) << 60, 4 } } }), "a dim of");
        row("a large product", fileOf({}, { { "t", { quint64(1) << 40, quint64(1) << 40 }, 0, { quint64(1) << 63, 4 } } }),
            "larger than");
        row("no data", fileOf({}, { { "t", { 800 }, 0 } }, false), "end");
        // The type and place of the second tensor are the last such bytes; the counts in the head can look like them.
        const auto secondAt = [](quint64 place) {
            QByteArray file = fileOf({}, { { "t", { 64 }, 0 }, { "u", { 64 }, 0 } });
            const QByteArray before = raw<quint32>(0) + raw<quint64>(256);
            return file.replace(file.lastIndexOf(before), before.size(), raw<quint32>(0) + raw<quint64>(place));
        };
        row("one in another", secondAt(32), "lies in another one");
        row("not aligned", secondAt(257), "multiple of 32");
        row("alignment", fileOf({ word("general.alignment", 0) }, { { "t", { 8 }, 0 } }), "aligns its tensors to 0");
    }
    void hostileFilesAreRefused()
    {
        QFETCH(QByteArray, file);
        QFETCH(QString, why);
        const auto out = readGguf(write(file));
        QVERIFY(!out.ok());
        QVERIFY2(QString::fromStdString(out.error().what).contains(why), out.error().what.c_str());
        QVERIFY(out.error().where.ends_with("m.gguf"));
        QVERIFY(!openModel(m_folder.filePath(QStringLiteral("m.gguf")).toStdString()).ok());
    }

    /// Keys of hostile sizes are the config's errors, not crashes.
    void hostileKeysAreRefused()
    {
        for (const char* key :
             { "llama.block_count", "llama.embedding_length", "llama.attention.head_count", "llama.attention.head_count_kv" })
            for (const quint32 value : { 0U, 7U, 0xffffffffU }) {
                auto made = keys();
                for (QByteArray& pair : made)
                    if (pair.startsWith(text(key)))
                        pair = word(key, value);
                const auto out = openModel(write(fileOf(made, tensors())));
                QVERIFY(!out.ok() || !out.value().model.hasGraph());
            }
    }
};

SHARDBOARD_TEST(TestGguf)
#include "tst_gguf.moc"
