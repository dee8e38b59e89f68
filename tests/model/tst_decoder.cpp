// SPDX-License-Identifier: Apache-2.0
#include "model/graph/decoder.h"
#include "tests/support/models.h"

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
        const auto graph = buildDecoder(model, Workload {});
        QVERIFY(graph.ok());
        QCOMPARE(graph.value().parameterCount(), parameters);
        QCOMPARE(graph.value().weightCount(), tensors);
    }

    void namesAreThoseOfTheCheckpoint()
    {
        const Graph graph = buildDecoder(llama3Model(), Workload {}).value();
        std::set<std::string> names;
        for (const GraphTensor& tensor : graph.tensors)
            if (tensor.spec.role == TensorRole::Weight)
                names.insert(concreteName(tensor.spec.name, 7));
        const std::set<std::string> wanted {
            "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "model.layers.7.input_layernorm.weight",
            "model.layers.7.post_attention_layernorm.weight", "model.layers.7.self_attn.q_proj.weight",
            "model.layers.7.self_attn.k_proj.weight", "model.layers.7.self_attn.v_proj.weight",
            "model.layers.7.self_attn.o_proj.weight", "model.layers.7.mlp.gate_proj.weight",
            "model.layers.7.mlp.up_proj.weight", "model.layers.7.mlp.down_proj.weight"
        };
        QVERIFY(names == wanted);
    }

    void headGoesWithThePrefix_data()
    {
        QTest::addColumn<QString>("prefix");
        QTest::addColumn<QString>("head");
        QTest::newRow("plain") << "model." << "lm_head.weight";
        QTest::newRow("wrapped model") << "language_model.model." << "language_model.lm_head.weight";
        QTest::newRow("model of a wrapper") << "model.language_model." << "lm_head.weight";
        QTest::newRow("none") << "" << "lm_head.weight";
    }
    void headGoesWithThePrefix()
    {
        QFETCH(QString, prefix);
        QFETCH(QString, head);
        ModelSpec model = llama3Model();
        model.weightPrefix = prefix.toStdString();
        const Graph graph = buildDecoder(model, Workload {}).value();
        QVERIFY(std::any_of(graph.tensors.begin(), graph.tensors.end(),
                            [&](const GraphTensor& tensor) { return tensor.spec.name == head.toStdString(); }));
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
        case 0: model.hiddenSize = 0; break;
        case 1: model.kvHeads = 7; break;
        case 2: model.vocabSize = INT64_MAX; break;
        case 3: model.headDim = 33; break;
        case 4: model.layers = -1; break;
        case 5: workload.batch = workload.sequence = std::int64_t { 1 } << 31; break;
        case 6: model.notUnderstood = "family x is not known"; break;
        }
        const auto graph = buildDecoder(model, workload);
        QVERIFY(!graph.ok());
        QVERIFY2(QString::fromStdString(graph.error().text()).contains(part), graph.error().text().c_str());
    }
};

QTEST_APPLESS_MAIN(TestDecoder)
#include "tst_decoder.moc"
