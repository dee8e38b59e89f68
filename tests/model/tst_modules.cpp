// SPDX-License-Identifier: Apache-2.0
// What modules make of their weights: small cases worked out by hand, and the published vectors where they are at hand.
#include "model/design/evaluate/evaluate.h"
#include "model/io/max/moduledesign.h"
#include "model/io/max/modulejson.h"
#include "model/modules/attention.h"
#include "model/modules/columnparallel.h"
#include "model/modules/linear.h"
#include "model/modules/moe.h"
#include "model/modules/stackedmoe.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;
using nlohmann::json;

namespace {

struct Answered {
    json answer;
    std::string error;
    bool found(const std::string& kind) const
    {
        for (const json& finding : answer.value("findings", json::array()))
            if (finding["kind"] == kind)
                return true;
        return false;
    }
    std::size_t findings() const { return answer.value("findings", json::array()).size(); }
};

Answered ask(const std::string& module, const std::string& parameters)
{
    const auto answer = answerModule({ { "module", module }, { "params", json::parse(parameters) } }, "r.json");
    return answer.ok() ? Answered { answer.value(), {} } : Answered { json::object(), answer.error().text() };
}

json shapes(const char* text) { return json::parse(text); }

} // namespace

class TestModules : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void columnParallel()
    {
        const auto even =
            ask("ColumnParallelLinear", R"({"in_dim":6,"out_dim":8,"num_devices":2,"has_bias":true,"input_shape":[5,6]})");
        QCOMPARE(even.answer["weight_shards"], shapes("[[4,6],[4,6]]"));
        QCOMPARE(even.answer["bias_shards"], shapes("[[4],[4]]"));
        QCOMPARE(even.answer["local_out_shapes"], shapes("[[5,4],[5,4]]"));
        QCOMPARE(even.answer["out_shapes"], shapes("[[5,8],[5,8]]"));
        QCOMPARE(even.answer["collective"], json("allgather on axis -1"));
        QCOMPARE(even.findings(), std::size_t(0));
        const auto uneven = ask("ColumnParallelLinear", R"({"in_dim":6,"out_dim":7,"num_devices":3})");
        QCOMPARE(uneven.answer["weight_shards"], shapes("[[3,6],[2,6],[2,6]]"));
        QVERIFY(uneven.answer["bias_shards"].is_null());
        QCOMPARE(uneven.answer["local_out_shapes"], shapes("[[3],[2],[2]]"));
        QVERIFY(uneven.found("recorded-out-dim"));
        const auto few = ask("ColumnParallelLinear", R"({"in_dim":6,"out_dim":2,"num_devices":3,"tied_weight":true})");
        QCOMPARE(few.answer["weight_shards"], shapes("[[1,6],[1,6],[0,6]]"));
        QVERIFY(few.found("idle-devices"));
    }

    void columnParallelRefusals_data()
    {
        QTest::addColumn<QString>("parameters");
        QTest::addColumn<QString>("error");
        dataRow("no devices", R"({"in_dim":4,"out_dim":4,"num_devices":0})", "r.json:params.num_devices: there are no devices");
        dataRow("empty list", R"({"in_dim":4,"out_dim":4,"devices":[]})", "r.json:params.num_devices: there are no devices");
        dataRow("tied with bias", R"({"in_dim":4,"out_dim":4,"num_devices":2,"tied_weight":true,"has_bias":true})",
                "r.json:params.tied_weight: a tied weight cannot be used together with a bias");
        dataRow("tied with scales", R"({"in_dim":4,"out_dim":4,"num_devices":2,"tied_weight":true,"scaled_quantization":true})",
                "r.json:params.tied_weight: a tied weight cannot be used together with scaled");
        dataRow("input", R"({"in_dim":4,"out_dim":4,"num_devices":2,"input_shape":[2,5]})",
                "r.json:params.input_shape: its last dim is 5");
        dataRow("missing", R"({"out_dim":4,"num_devices":2})", "r.json:params.in_dim: the key is missing");
        dataRow("type", R"({"in_dim":"4","out_dim":4,"num_devices":2})", "r.json:params.in_dim: cannot be \"4\"");
        dataRow("many devices", R"({"in_dim":4,"out_dim":4,"num_devices":2000000000})",
                "r.json:params.num_devices: 2000000000 devices are too many");
    }
    void columnParallelRefusals()
    {
        QFETCH(QString, parameters);
        QFETCH(QString, error);
        const QString line = QString::fromStdString(ask("ColumnParallelLinear", parameters.toStdString()).error);
        QVERIFY2(line.startsWith(error), qPrintable(line));
        QVERIFY(line.contains("; "));
    }

    void linearBias_data()
    {
        QTest::addColumn<QString>("strategy");
        QTest::addColumn<QString>("bias");
        QTest::addColumn<QString>("kept");
        QTest::addColumn<QString>("shapes");
        QTest::addColumn<QString>("finding");
        dataRow("rowwise", R"("rowwise")", "rowwise", "[true,true,true]", "[[4],[4],[4]]", "");
        dataRow("columnwise", R"("columnwise")", "replicate", "[true,false,false]", "[[12],[12],[12]]", "");
        dataRow("stacked", R"("stacked_qkv")", "stacked_qkv", "[true,true,true]", "[[6],[3],[3]]", "");
        dataRow("stacked heads", R"("stacked_qkv","num_heads":2,"head_dim":2)", "stacked_qkv", "[true,true,true]", "[[6],[6],[0]]",
                "");
        dataRow("axiswise 1", R"("axiswise","axis":1)", "replicate", "[true,true,true]", "[[12],[12],[12]]", "bias-repeated");
        dataRow("axiswise 0", R"("axiswise","axis":0)", "replicate", "[true,true,true]", "[[12],[12],[12]]", "bias-shape");
    }
    void linearBias()
    {
        QFETCH(QString, strategy);
        QFETCH(QString, bias);
        QFETCH(QString, kept);
        QFETCH(QString, shapes);
        QFETCH(QString, finding);
        const auto a = ask("Linear.bias", R"({"weight_shape":[12,8],"num_devices":3,"strategy":)" + strategy.toStdString() + "}");
        QCOMPARE(a.error, std::string());
        QCOMPARE(a.answer["bias_strategy"], json(bias.toStdString()));
        QCOMPARE(a.answer["device_keeps_bias"], json::parse(kept.toStdString()));
        QCOMPARE(a.answer["bias_shapes"], json::parse(shapes.toStdString()));
        QCOMPARE(a.findings(), std::size_t(finding.isEmpty() ? 0 : 1));
        if (!finding.isEmpty())
            QVERIFY(a.found(finding.toStdString()));
    }

    void linearRecordsARoundedOutDim()
    {
        const auto a = ask("Linear", R"({"weight_shape":[14,6],"strategy":"rowwise","num_devices":4,"has_bias":true})");
        QCOMPARE(a.answer["weight_shards"], shapes("[[4,6],[4,6],[3,6],[3,6]]"));
        QCOMPARE(a.answer["recorded_out_dim"], json(3));
        QCOMPARE(a.answer["out_dims"], shapes("[4,4,3,3]"));
        QVERIFY(a.found("recorded-out-dim"));
        const auto columns = ask("Linear", R"({"weight_shape":[14,6],"strategy":"columnwise","num_devices":4})");
        QCOMPARE(columns.answer["recorded_out_dim"], json(14));
        QCOMPARE(columns.answer["weight_shards"], shapes("[[14,2],[14,2],[14,1],[14,1]]"));
        QCOMPARE(columns.findings(), std::size_t(0));
    }

    void linearScales()
    {
        const auto scales = [](const std::string& rest) {
            return ask("Linear.scales", R"({"weight_shape":[512,768],"num_devices":2,)" + rest + "}");
        };
        QCOMPARE(scales(R"("strategy":"rowwise","scales":"per_tensor")").answer["scale_strategy"], json("replicate"));
        QCOMPARE(scales(R"("strategy":"rowwise","scales":"per_row")").answer["scale_shards"], shapes("[[256,1],[256,1]]"));
        QCOMPARE(scales(R"("strategy":"columnwise","scales":"per_row")").answer["scale_shards"], shapes("[[512,1],[512,1]]"));
        QCOMPARE(scales(R"("strategy":"rowwise","scales":"block")").answer["scale_shards"], shapes("[[2,6],[2,6]]"));
        QCOMPARE(scales(R"("strategy":"columnwise","scales":"block")").answer["scale_shards"], shapes("[[4,3],[4,3]]"));
        const auto heads = scales(R"("strategy":"head_aware_columnwise","num_heads":3,"head_dim":256,"scales":"block")");
        QCOMPARE(heads.answer["scale_strategy"], json("head_aware_columnwise")); // 256 is two blocks of 128
        QCOMPARE(heads.answer["scale_shards"], shapes("[[4,4],[4,2]]"));
        const auto narrow = scales(R"("strategy":"head_aware_columnwise","num_heads":12,"head_dim":64,"scales":"block")");
        QCOMPARE(narrow.answer["scale_strategy"], json("columnwise"));
        QCOMPARE(narrow.answer["scale_shards"], shapes("[[4,3],[4,3]]"));
        QCOMPARE(narrow.findings(), std::size_t(0));
        const auto odd =
            ask("Linear.scales", R"({"weight_shape":[400,128],"num_devices":3,"strategy":"rowwise","scales":"block"})");
        QVERIFY2(odd.error.find("4 blocks of scales along dim 0 (out) do not divide over 3 devices") != std::string::npos,
                 odd.error.c_str());
        const auto cut =
            ask("Linear.scales", R"({"weight_shape":[400,128],"num_devices":2,"strategy":"rowwise","scales":"block"})");
        QVERIFY(cut.found("block-cut")); // 200 rows a device, but scales of 256
        const auto lost =
            ask("Linear.scales", R"({"weight_shape":[400,128],"num_devices":2,"strategy":"axiswise","axis":1,"scales":"per_row"})");
        QVERIFY(lost.found("block-cut")); // the one column of scales is on device 0 alone
    }

    void mlp()
    {
        const auto whole = ask("MLP", R"({"hidden":6,"ffl":10,"strategy":"replicate","num_devices":2})");
        QCOMPARE(whole.answer["gate_proj"], shapes("[[10,6],[10,6]]"));
        QCOMPARE(whole.answer["down_proj"], shapes("[[6,10],[6,10]]"));
        const auto cut = ask("mlp", R"({"hidden":6,"ffl":10,"strategy":"tensor_parallel","num_devices":3})");
        QCOMPARE(cut.answer["up_proj"], shapes("[[4,6],[3,6],[3,6]]"));
        QCOMPARE(cut.answer["down_proj"], shapes("[[6,4],[6,3],[6,3]]"));
        QVERIFY(ask("MLP", R"({"hidden":6,"ffl":10,"strategy":"expert_parallel","num_devices":3})").error.find("ValueError")
                != std::string::npos);
    }

    void attentionStackedAndApart()
    {
        const auto stacked =
            ask("Attention",
                R"({"hidden":10,"num_heads":5,"head_dim":2,"stacked_qkv":true,"strategy":"tensor_parallel","num_devices":2})");
        QCOMPARE(stacked.answer["qkv_proj"], shapes("[[18,10],[12,10]]"));
        QCOMPARE(stacked.answer["o_proj"], shapes("[[10,6],[10,4]]"));
        QCOMPARE(stacked.answer["heads_per_device"], shapes("[3,2]"));
        QVERIFY(stacked.found("heads-per-device"));
        const auto apart =
            ask("Attention", R"({"hidden":10,"num_heads":5,"head_dim":2,"strategy":"tensor_parallel","num_devices":2})");
        QCOMPARE(apart.answer["q_proj"], shapes("[[5,10],[5,10]]")); // half a head more or less than o_proj takes
        QVERIFY(apart.found("heads-split"));
        const auto grouped =
            ask("Attention",
                R"({"hidden":16,"num_heads":8,"num_kv_heads":2,"head_dim":2,"strategy":"tensor_parallel","num_devices":2})");
        QCOMPARE(grouped.answer["k_proj"], shapes("[[2,16],[2,16]]"));
        QCOMPARE(grouped.findings(), std::size_t(0));
        const auto split =
            ask("Attention",
                R"({"hidden":16,"num_heads":8,"num_kv_heads":2,"head_dim":2,"strategy":"tensor_parallel","num_devices":4})");
        QVERIFY(split.found("groups-split")); // two KV heads for four devices
        const auto refused = ask(
            "Attention",
            R"({"hidden":16,"num_heads":8,"num_kv_heads":2,"head_dim":2,"stacked_qkv":true,"strategy":"tensor_parallel","num_devices":2})");
        QVERIFY2(refused.error.find("ValueError") != std::string::npos, refused.error.c_str());
        const auto whole = ask("Attention", R"({"hidden":4,"num_heads":2,"strategy":"replicate","num_devices":2})");
        QCOMPARE(whole.answer["q_proj"], shapes("[[4,4],[4,4]]"));
        QCOMPARE(whole.findings(), std::size_t(0));
    }

    void expertsOfEveryNode()
    {
        const auto second = ask(
            "MoE",
            R"({"strategy":"expert_parallel","num_experts":12,"ep_size":4,"n_nodes":2,"node_id":1,"num_devices":2,"moe_dim":8})");
        QCOMPARE(second.answer["expert_ranges"], shapes("[[6,9],[9,12]]"));
        QVERIFY(!second.answer.contains("unassigned_experts"));
        QCOMPARE(second.findings(), std::size_t(0));
        const auto gaps = ask(
            "MoE",
            R"({"strategy":"expert_parallel","num_experts":10,"ep_size":4,"n_nodes":2,"node_id":0,"num_devices":2,"moe_dim":8})");
        QCOMPARE(gaps.answer["expert_ranges"], shapes("[[0,2],[2,4]]"));
        QCOMPARE(gaps.answer["unassigned_experts"], shapes("[[4,5],[9,10]]")); // one behind each node
        QVERIFY(gaps.found("unassigned-experts"));
        const auto one = ask("MoE", R"({"strategy":"expert_parallel","num_experts":10,"num_devices":4,"moe_dim":8})");
        QCOMPARE(one.answer["unassigned_experts"], shapes("[8,10]"));
        const auto beyond = ask("MoE", R"({"strategy":"expert_parallel","num_experts":8,"ep_size":2,"num_devices":4,"moe_dim":8})");
        QVERIFY2(beyond.error.find("r.json:params.ep_size") == 0, beyond.error.c_str());
        QVERIFY(ask("MoE", R"({"strategy":"rowwise","num_devices":4})").error.find("ValueError") != std::string::npos);
        QVERIFY(ask("MoE", R"({"strategy":"expert_parallel","num_experts":8,"moe_dim":8,"num_devices":4,"n_nodes":2,"node_id":2})")
                    .error.find("there is no node 2 of 2")
                != std::string::npos);
    }

    void moeTensorParallel()
    {
        const auto even = ask("MoE", R"({"strategy":"tensor_parallel","num_experts":3,"num_devices":2,"moe_dim":8,"hidden":5})");
        QCOMPARE(even.answer["gate_up_stack"], shapes("[3,8,5]"));
        QCOMPARE(even.answer["down_stack"], shapes("[3,5,4]"));
        QCOMPARE(even.findings(), std::size_t(0));
        const auto odd = ask("MoE", R"({"strategy":"tensor_parallel","num_experts":3,"num_devices":3,"moe_dim":8})");
        QCOMPARE(odd.answer["moe_dim_per_device"], json(2)); // rounded down, as MAX records it
        QCOMPARE(odd.answer["moe_dims"], shapes("[3,3,2]"));
        QVERIFY(odd.found("recorded-moe-dim"));
        QCOMPARE(ask("MoE.gate", R"({"num_devices":2,"num_experts":3,"hidden":5})").answer["weight_shards"],
                 shapes("[[3,5],[3,5]]"));
        QVERIFY(!ask("MoE.gate", R"({"num_devices":2,"strategy":"rowwise"})").error.empty());
    }

    void stackedMoe()
    {
        const auto ask = [](const std::string& rest) {
            return ::ask("StackedMoE",
                         R"({"strategy":"tensor_parallel","num_experts":2,"hidden":64,"moe_dim":64,"num_devices":2)" + rest + "}");
        };
        QCOMPARE(ask("").answer["gate_up"], shapes("[[2,64,64],[2,64,64]]"));
        QCOMPARE(ask("").answer["gate_up_strategy"], json("gate_up"));
        QCOMPARE(ask("").answer["down"], shapes("[[2,32,64],[2,32,64]]"));
        QCOMPARE(ask("").findings(), std::size_t(0));
        const auto biased = ask(R"(,"gate_up_format":"interleaved","has_bias":true)");
        QCOMPARE(biased.answer["gate_up_strategy"], json("axiswise"));
        QCOMPARE(biased.answer["gate_up_bias"], shapes("[[2,64],[2,64]]"));
        QCOMPARE(biased.answer["down_bias"], shapes("[[2,64],[2,64]]"));
        QCOMPARE(biased.answer["down_bias_divided_by"], json(2));
        QVERIFY(ask(R"(,"has_bias":true)").error.find("IndexError") != std::string::npos);
        const auto packed = ask(R"(,"gate_up_format":"interleaved","quantization":"mxfp4")");
        QCOMPARE(packed.answer["gate_up"], shapes("[[2,64,32],[2,64,32]]"));
        QCOMPARE(packed.answer["down"], shapes("[[2,64,16],[2,64,16]]"));
        QCOMPARE(packed.answer["gate_up_scales"], shapes("[[2,64,2],[2,64,2]]"));
        QCOMPARE(packed.answer["down_scales"], shapes("[[2,64,1],[2,64,1]]"));
        QCOMPARE(packed.findings(), std::size_t(0));
        QVERIFY(ask(R"(,"quantization":"mxfp4")").found("gate-up-order"));
        const auto blocks = ::ask(
            "StackedMoE",
            R"({"strategy":"tensor_parallel","num_experts":2,"hidden":64,"moe_dim":96,"num_devices":2,"quantization":"mxfp4","gate_up_format":"interleaved"})");
        QVERIFY(blocks.found("block-cut")); // three blocks over two devices
        const auto pairs = ::ask(
            "StackedMoE",
            R"({"strategy":"tensor_parallel","num_experts":2,"hidden":4,"moe_dim":5,"num_devices":2,"gate_up_format":"interleaved"})");
        QVERIFY(pairs.found("pairs-split")); // five and five of gate and up, three and two of down
        const auto concatenated =
            ::ask("StackedMoE", R"({"strategy":"tensor_parallel","num_experts":2,"hidden":4,"moe_dim":5,"num_devices":2})");
        QCOMPARE(concatenated.answer["gate_up"], shapes("[[2,4,6],[2,4,4]]"));
        QCOMPARE(concatenated.findings(), std::size_t(0));
    }

    void columnParallelDesigns()
    {
        const auto design = [](const char* params) {
            return moduleDesign({ { "module", "ColumnParallelLinear" }, { "params", json::parse(params) } }, "r.json");
        };
        const auto plain =
            design(R"({"in_dim":6,"out_dim":10,"num_devices":3,"has_bias":true,"input_shape":[2,5,3,6],"dtype":"float32"})");
        QVERIFY2(plain.ok(), plain.ok() ? "" : plain.error().text().c_str());
        QCOMPARE(plain.value().mesh.text(), std::string("model=3"));
        QVERIFY((plain.value().model.linear == LinearModule { 6, 10, true, false }));
        QVERIFY((plain.value().workload == Workload { WorkloadKind::Prefill, 10, 3, DType::F32 }));
        QCOMPARE(evaluate(plain.value()).value()->weights[1].shards.shardAt(0).shape(), (Shape { 4 })); // the bias
        QCOMPARE(design(R"({"in_dim":6,"out_dim":10,"num_devices":3})").value().workload.batch, 1);
        const auto says = [&](const char* params) { return design(params).error().text(); };
        QVERIFY(says(R"({"in_dim":6,"out_dim":10,"num_devices":3,"has_bias":true,"tied_weight":true})")
                    .starts_with("r.json:params.tied_weight: "));
        QVERIFY(says(R"({"in_dim":6,"out_dim":10,"num_devices":3,"scaled_quantization":true})")
                    .starts_with("r.json:params.scaled_quantization: "));
        QVERIFY(
            says(R"({"in_dim":6,"out_dim":10,"num_devices":3,"input_shape":[0,6]})").starts_with("r.json:params.input_shape: "));
        QVERIFY(says(R"({"in_dim":6,"out_dim":10,"num_devices":3,"dtype":"i8"})").find("i8") != std::string::npos);
        QVERIFY(moduleDesign({ { "module", "MLP" }, { "params", json::object() } }, "r.json")
                    .error()
                    .text()
                    .starts_with("r.json:module: "));
    }

    void badRequests()
    {
        const auto error = [](const char* text) {
            const auto answer = answerModule(json::parse(text), "r.json");
            return answer.ok() ? std::string() : answer.error().text();
        };
        QVERIFY(error(R"({"module":"Conv","params":{}})")
                    .starts_with("r.json:module: there is no module 'Conv'; modules are Linear, "));
        QVERIFY(error(R"({"params":{}})").starts_with("r.json:module: the key is missing"));
        QVERIFY(error(R"([1])").starts_with("r.json: expected an object"));
        QVERIFY(error(R"({"module":"MLP","params":[]})").starts_with("r.json:params: expected an object"));
        QVERIFY(error(R"({"module":"MLP"})").starts_with("r.json:params.strategy: the key is missing"));
        QVERIFY(error(R"({"module":"MLP","params":{"strategy":"rows","num_devices":2,"hidden":4,"ffl":4}})")
                    .starts_with("r.json:params.strategy: there is no strategy 'rows'"));
        QVERIFY(
            error(
                R"({"module":"Attention","params":{"strategy":"tensor_parallel","num_devices":2,"hidden":4,"num_heads":2147483648,"head_dim":2147483648}})")
                .starts_with("r.json:params.head_dim"));
        QVERIFY(ask("MLP", R"({"strategy":"replicate","num_devices":2,"hidden":4,"ffl":4,"has_bais":true})")
                    .found("unknown-parameter"));
    }

    void publishedVectors()
    {
        const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
        QFile file(root + "/data/max/strategy.json");
        if (!file.open(QIODevice::ReadOnly))
            QSKIP("the vectors of MAX's modules are not here (SHARDBOARD_SHARED)");
        const json document = json::parse(file.readAll().toStdString());
        QVERIFY(document["module_vectors"].size() > 15);
        for (const json& vector : document["module_vectors"]) {
            const std::string id = vector["id"];
            const auto answer = answerModule(vector, "r.json");
            json expect = vector["expect"];
            if (id == "m09-Linear.bias") // since MAX 26.4 the bias takes the weight's strategy
                expect["bias_strategy"] = "stacked_qkv";
            QVERIFY2(answer.ok() != expect.contains("error"), (id + (answer.ok() ? "" : answer.error().text())).c_str());
            if (!answer.ok()) {
                QVERIFY2(answer.error().text().find(expect["error"].get<std::string>()) != std::string::npos, id.c_str());
                continue;
            }
            for (const auto& [key, value] : expect.items())
                QVERIFY2(answer.value().contains(key) && answer.value()[key] == value, (id + " " + key).c_str());
        }
    }
};

SHARDBOARD_TEST(TestModules)
#include "tst_modules.moc"
