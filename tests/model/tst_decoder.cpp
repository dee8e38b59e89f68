// SPDX-License-Identifier: Apache-2.0
#include "model/families/buildgraph.h"
#include "model/families/decoder.h"
#include "model/families/graphbuilder.h"
#include "model/families/modelsize.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "tests/support/datarow.h"
#include "tests/support/families.h"
#include "tests/support/models.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <set>

using namespace shardboard;

class TestDecoder : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void publishedParameters_data()
    {
        QTest::addColumn<int>("variant");
        QTest::addColumn<qlonglong>("parameters");
        QTest::addColumn<qlonglong>("tensors");
        QTest::newRow("Llama-3-8B") << 0 << 8030261248LL << 291LL;
        QTest::newRow("Llama-3.1-405B") << 1 << 405853388800LL << 1137LL;
        QTest::newRow("Qwen3-0.6B: tied, QK norm") << 2 << 596049920LL << 310LL;
        QTest::newRow("Qwen2.5-0.5B: tied, biases on q, k, v") << 3 << 494032768LL << 290LL;
    }
    void publishedParameters()
    {
        QFETCH(int, variant);
        QFETCH(qlonglong, parameters);
        QFETCH(qlonglong, tensors);
        ModelSpec model = llama3Model();
        if (variant == 1) {
            model.hiddenSize = 16384;
            model.intermediateSize = 53248;
            model.layers = 126;
            model.heads = 128;
        } else if (variant == 2) {
            model = denseModel(151936, 1024, 3072, 28, 16, 8, 128);
            model.tiedEmbeddings = true;
            model.qkNorm = true;
        } else if (variant == 3) {
            model = denseModel(151936, 896, 4864, 24, 14, 2, 64);
            model.tiedEmbeddings = true;
            model.attentionBias = AttentionBias::Qkv;
        }
        const auto graph = sure(buildDecoder(model, Workload {}));
        QCOMPARE(graph.parameterCount(), parameters);
        QCOMPARE(graph.weightCount(), tensors);
    }

    void namesAreThoseOfTheCheckpoint()
    {
        const Graph graph = buildDecoder(llama3Model(), Workload {}).value();
        std::set<std::string> names;
        for (const GraphTensor& tensor : graph.tensors)
            if (tensor.spec.role == TensorRole::Weight)
                names.insert(concreteName(tensor.spec.name, 7));
        const std::set<std::string> wanted { "model.embed_tokens.weight",
                                             "model.norm.weight",
                                             "lm_head.weight",
                                             "model.layers.7.input_layernorm.weight",
                                             "model.layers.7.post_attention_layernorm.weight",
                                             "model.layers.7.self_attn.q_proj.weight",
                                             "model.layers.7.self_attn.k_proj.weight",
                                             "model.layers.7.self_attn.v_proj.weight",
                                             "model.layers.7.self_attn.o_proj.weight",
                                             "model.layers.7.mlp.gate_proj.weight",
                                             "model.layers.7.mlp.up_proj.weight",
                                             "model.layers.7.mlp.down_proj.weight" };
        QVERIFY(names == wanted);
    }

    void namesOfOtherFamilies_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("segment");
        QTest::addColumn<QStringList>("wanted");
        const QString model = QStringLiteral("model.layers.*.");
        const auto names = [](const QString& prefix, const char* list) {
            QStringList out;
            for (const QString& name : QString::fromLatin1(list).split(QLatin1Char(' ')))
                out << prefix + name;
            return out;
        };
        const char* attention = "input_layernorm.weight self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight "
                                "self_attn.o_proj.weight post_attention_layernorm.weight";
        dataRow(
            "mixtral", "mixtral", "moe block",
            names(model, attention)
                + names(model + "block_sparse_moe.", "gate.weight experts.*.w1.weight experts.*.w3.weight experts.*.w2.weight"));
        const char* latent =
            "input_layernorm.weight self_attn.q_a_proj.weight self_attn.q_a_layernorm.weight self_attn.q_b_proj.weight "
            "self_attn.kv_a_proj_with_mqa.weight self_attn.kv_a_layernorm.weight self_attn.kv_b_proj.weight "
            "self_attn.o_proj.weight post_attention_layernorm.weight";
        dataRow("deepseek, first layers", "deepseek_v3", "dense block",
                names(model, latent) + names(model + "mlp.", "gate_proj.weight up_proj.weight down_proj.weight"));
        dataRow("deepseek", "deepseek_v3", "moe block",
                names(model, latent)
                    + names(model + "mlp.",
                            "gate.weight gate.e_score_correction_bias experts.*.gate_proj.weight experts.*.up_proj.weight "
                            "experts.*.down_proj.weight shared_experts.gate_proj.weight shared_experts.up_proj.weight "
                            "shared_experts.down_proj.weight"));
        dataRow("gpt-oss", "gpt_oss", "moe block",
                names(model, attention) + names(model + "self_attn.", "q_proj.bias k_proj.bias v_proj.bias o_proj.bias sinks")
                    + names(model + "mlp.",
                            "router.weight router.bias experts.gate_up_proj experts.gate_up_proj_bias "
                            "experts.down_proj experts.down_proj_bias"));
        dataRow("gemma 2", "gemma2", "block",
                names(model, attention)
                    + names(model,
                            "pre_feedforward_layernorm.weight post_feedforward_layernorm.weight mlp.gate_proj.weight "
                            "mlp.up_proj.weight mlp.down_proj.weight"));
        dataRow("falcon", "falcon", "block",
                names(QStringLiteral("transformer.h.*."),
                      "ln_attn.weight ln_attn.bias ln_mlp.weight ln_mlp.bias "
                      "self_attention.query_key_value.weight self_attention.dense.weight "
                      "mlp.dense_h_to_4h.weight mlp.dense_4h_to_h.weight"));
    }
    void namesOfOtherFamilies()
    {
        QFETCH(QString, family);
        QFETCH(QString, segment);
        QFETCH(QStringList, wanted);
        const auto graph = sure(buildDecoder(test::familyModel(family.toStdString()), Workload {}));
        QStringList names;
        for (const GraphTensor& tensor : graph.tensors)
            if (tensor.spec.role == TensorRole::Weight && graph.segment(tensor.segment).name == segment.toStdString())
                names << QString::fromStdString(tensor.spec.name);
        names.sort();
        wanted.sort();
        QCOMPARE(names, wanted);
    }

    /// The graph's weights sum to what the dimensions say, prompt or decoding.
    void parametersOfEveryFamily()
    {
        for (const std::string& family : test::familyNames())
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode }) {
                Workload workload;
                workload.kind = kind;
                const ModelSpec model = test::familyModel(family);
                const auto graph = buildDecoder(model, workload);
                QVERIFY2(graph.ok(), family.c_str());
                QCOMPARE(graph.value().parameterCount(), modelSize(model)->total);
            }
    }

    /// What the builders and gradients make is what the operations' own rules say, and where those tell a result, the same.
    void operationsHaveTheShapesOfTheirRules()
    {
        std::set<OpKind> derived;
        for (const std::string& family : test::familyNames())
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train }) {
                Workload workload;
                workload.kind = kind;
                const Graph graph = buildGraph(test::familyModel(family), workload).value();
                for (const Op& op : graph.ops) {
                    const Status fits = verifyOp(graph, op);
                    QVERIFY2(fits.ok(), fits.ok() ? "" : (family + ", " + op.name + ": " + fits.error().text()).c_str());
                    const auto told = resultShape(graph, op);
                    QVERIFY2(!told.ok() || told.value() == graph.tensor(op.result).shape, (family + ", " + op.name).c_str());
                    if (told.ok())
                        derived.insert(op.kind);
                }
            }
        for (const OpKind kind : { OpKind::Linear, OpKind::SplitHeads, OpKind::SplitGroups, OpKind::JoinKeys, OpKind::Dispatch,
                                   OpKind::MergeHeads, OpKind::EveryOther, OpKind::LogitMax, OpKind::ExpertLinearT })
            QVERIFY2(derived.contains(kind), opKindName(kind).c_str());
    }

    /// The first operation that cannot be is told, and what is built on it does no harm.
    void operationsThatCannotBeAreErrors()
    {
        const ModelSpec model = llama3Model();
        GraphBuilder builder(model, Workload {});
        builder.begin("embed", "model.", kNoTensor);
        const TensorId x = builder.add("x", TensorRole::Input, { 2, 3, 7 }, { "batch", "sequence", "hidden" }, DType::F32);
        TensorId y = attentionPart(builder, x); // the weights have another width
        y = builder.norm("norm", mergedHeads(builder, y), "y");
        const auto graph = std::move(builder).finish();
        QVERIFY(!graph.ok());
        QCOMPARE(QString::fromStdString(graph.error().text()),
                 QStringLiteral("self_attn.q_proj: weight of shape %1 x %2 does not fit: in is 7; give it the shapes x [... in], "
                                "weight [out in] -> [... out]")
                     .arg(model.heads * model.headDim)
                     .arg(model.hiddenSize));
    }

    void expertsArePiecesAndTheirTokensAreFew()
    {
        const Graph graph = buildDecoder(test::familyModel("qwen3_moe"), Workload {}).value();
        int sparse = 0;
        for (const GraphTensor& tensor : graph.tensors) {
            const bool ofExperts = tensor.spec.shape.size() == 4 && tensor.spec.dimLabels.front() == "experts";
            QCOMPARE(tensor.density, ofExperts ? 3.0 / 8 : 1.0);
            sparse += ofExperts ? 1 : 0;
            if (tensor.spec.role == TensorRole::Weight && tensor.spec.shape.size() == 3)
                QCOMPARE(tensor.pieces, 8);
        }
        QCOMPARE(sparse, 6); // dispatched, gate, up, active gate, their product, out
        // 2 layers of 8 experts with 3 matrices, 9 others, and 3 outside
        QCOMPARE(graph.weightCount(), 2 * (8 * 3 + 9) + 3);
    }

    void layersOfTwoKindsAreSegments()
    {
        const ModelSpec model = test::familyModel("deepseek_v3"); // 1 dense layer of 3
        std::vector<std::string> names;
        const Graph whole = buildDecoder(model, Workload {}).value();
        for (const Segment& segment : whole.segments)
            names.push_back(segment.name + " x " + std::to_string(segment.count));
        QCOMPARE(names, (std::vector<std::string> { "embed x 1", "dense block x 1", "moe block x 2", "head x 1" }));
        names.clear();
        const Graph split = buildDecoder(model, Workload {}, { 1, 2 }).value();
        for (const Segment& segment : split.segments)
            names.push_back(segment.name);
        QCOMPARE(names, (std::vector<std::string> { "embed", "dense block", "moe block 1", "moe block 2", "head" }));
    }

    /// Decoding keeps one latent vector and one rotated key for each token, not keys and values of every head.
    void latentCacheIsSmall()
    {
        Workload workload;
        workload.kind = WorkloadKind::Decode;
        workload.batch = 3;
        workload.sequence = 20;
        const Graph graph = buildDecoder(test::familyModel("deepseek_v2"), workload).value();
        for (const GraphTensor& tensor : graph.tensors)
            if (tensor.cached)
                QCOMPARE(tensor.spec.shape, (Shape { 3, 20, 1, 14 + 4 }));
    }

    void headGoesWithThePrefix_data()
    {
        QTest::addColumn<QString>("prefix");
        QTest::addColumn<QString>("head");
        dataRow("plain", "model.", "lm_head.weight");
        dataRow("wrapped model", "language_model.model.", "language_model.lm_head.weight");
        dataRow("model of a wrapper", "model.language_model.", "lm_head.weight");
        dataRow("none", "", "lm_head.weight");
    }
    void headGoesWithThePrefix()
    {
        QFETCH(QString, prefix);
        QFETCH(QString, head);
        ModelSpec model = llama3Model();
        model.weightPrefix = prefix.toStdString();
        const Graph graph = buildDecoder(model, Workload {}).value();
        QVERIFY(
            std::ranges::any_of(graph.tensors, [&](const GraphTensor& tensor) { return tensor.spec.name == head.toStdString(); }));
    }

    /// Every operand is written before it is read, by an operation, as a weight or as an input.
    void graphIsInProgramOrder()
    {
        for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode }) {
            Workload workload;
            workload.kind = kind;
            const Graph graph = buildDecoder(llama3Model(), workload, { 3, 9 }).value();
            std::set<TensorId> known;
            for (std::size_t i = 0; i < graph.tensors.size(); ++i)
                if (graph.tensors[i].spec.role != TensorRole::Activation)
                    known.insert(static_cast<TensorId>(i));
            std::int64_t layers = 0;
            for (const Segment& segment : graph.segments) {
                layers += segment.isLayer ? segment.count : 0;
                for (const OpId id : segment.ops) {
                    for (const TensorId operand : graph.op(id).operands)
                        QVERIFY(known.contains(operand));
                    QVERIFY(known.insert(graph.op(id).result).second);
                }
            }
            QCOMPARE(layers, 32);
            QCOMPARE(graph.parameterCount(), 8030261248);
        }
    }

    void decodeReadsTheCache()
    {
        Workload workload;
        workload.kind = WorkloadKind::Decode;
        workload.batch = 4;
        workload.sequence = 100;
        const Graph graph = buildDecoder(llama3Model(), workload).value();
        for (const Op& op : graph.ops) {
            if (op.kind == OpKind::Attention) {
                QCOMPARE(graph.tensor(op.operands[0]).shape, (Shape { 4, 1, 32, 128 }));
                QCOMPARE(graph.tensor(op.operands[1]).shape, (Shape { 4, 100, 8, 128 }));
            }
            if (op.kind == OpKind::Rope)
                QCOMPARE(op.attributes.position, 99);
        }
    }

    void refusals_data()
    {
        QTest::addColumn<int>("what");
        QTest::addColumn<QString>("part");
        QTest::newRow("zero hidden") << 0 << "hidden_size";
        QTest::newRow("KV heads") << 1 << "num_key_value_heads";
        QTest::newRow("huge") << 2 << "vocab_size";
        QTest::newRow("odd head") << 3 << "head_dim";
        QTest::newRow("no layers") << 4 << "num_hidden_layers";
        QTest::newRow("too many tokens") << 5 << "batch";
        QTest::newRow("not understood") << 6 << "not known";
    }
    void refusals()
    {
        QFETCH(int, what);
        QFETCH(QString, part);
        ModelSpec model = llama3Model();
        Workload workload;
        switch (what) {
        case 0:
            model.hiddenSize = 0;
            break;
        case 1:
            model.kvHeads = 7;
            break;
        case 2:
            model.vocabSize = INT64_MAX;
            break;
        case 3:
            model.headDim = 33;
            break;
        case 4:
            model.layers = -1;
            break;
        case 5:
            workload.batch = workload.sequence = std::int64_t { 1 } << 31;
            break;
        case 6:
            model.notUnderstood = "family x is not known";
            break;
        }
        const auto graph = buildDecoder(model, workload);
        QVERIFY(!graph.ok());
        QVERIFY2(QString::fromStdString(graph.error().text()).contains(part), graph.error().text().c_str());
    }
};

SHARDBOARD_TEST(TestDecoder)
#include "tst_decoder.moc"
