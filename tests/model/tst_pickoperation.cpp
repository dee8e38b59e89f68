// SPDX-License-Identifier: Apache-2.0
// Picks of MAX's per-op pickers and of ours: small cases worked out by hand from the algorithm as it is described, and the
// published vectors where they are at hand.
#include "model/picker/feasible.h"
#include "model/picker/menu/executed.h"
#include "model/picker/menu/localshape.h"
#include "model/picker/report.h"
#include "tests/support/menutext.h"
#include "tests/support/runner.h"

#include <QFile>
#include <QtTest>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

struct Case {
    const char* profile;
    const char* op;
    const char* mesh;
    std::vector<std::string> operands;
    const char* attributes;
    const char* policy;
    const char* expected;
};

const std::vector<Case> kCases {
    // G1: ties go to the earlier row, a slice is free
    { "G1", "relu", "tp=4", { "4,8 S1" }, "{}", "{}", "S1 -> S1 @ 0" },
    { "G1", "matmul", "tp=4", { "4,8 S0", "8,6 P" }, "{}", "{}", "R P -> P @ 96" },
    { "G1", "matmul", "tp=4", { "4,8 P", "8,6 P" }, "{}", R"({"allow_partial_to_sharded":true})", "R P -> P @ 192" },
    { "G1", "matmul", "tp=4", { "4,8 P", "8,6 S0" }, "{}", "{}", "P R -> P @ 144" },
    { "G1", "matmul", "tp=4", { "4,8 P", "8,6 S0" }, "{}", R"({"allow_partial_to_sharded":true})", "S1 S0 -> P @ 96" },
    { "G0", "matmul", "tp=4", { "4,8 P", "8,6 S0" }, "{}", "{}", "P R -> P @ 144" },
    // 10 over 3 is counted as 12 elements: 48 bytes, two thirds of it move
    { "G1", "argsort", "tp=3", { "10 S0" }, "{}", "{}", "R -> R @ 32" },
    { "G3", "argsort", "tp=3", { "10 S0" }, "{}", "{}", "R -> R @ 26.666666666666664" },
    // names count as 1
    { "G1", "argsort", "tp=4", { "batch,8 S0" }, "{}", "{}", "R -> R @ 24" },
    // the shortcut for a dim that another operand has cut: 2 over 4 devices; G3 does not have it
    { "G1", "add", "tp=4", { "2,3 S0", "2,3 R" }, "{}", "{}", "S0 S0 -> S0 @ 0" },
    { "G3", "add", "tp=4", { "2,3 S0", "2,3 R" }, "{}", "{}", "R R -> R @ 18" },
    // minima cannot be reduced: the first row, at no price at all
    { "G1", "relu", "tp=4", { "4,8 Pmin" }, "{}", "{}", "R -> R @ null" },
    { "G1", "relu", "dp=2,tp=4", { "4,8 S0/Pmax" }, "{}", "{}", "R/R -> R/R @ null" },
    { "shardboard", "relu", "tp=4", { "4,8 Pmin" }, "{}", "{}", "R -> R @ 192" },
    // all operands of a pick are judged by what they were at first in G1, given the earlier mesh axes in G2 and G3
    { "G1", "argsort", "dp=2,tp=2", { "8 S0/S0" }, "{}", "{}", "R/R -> R/R @ 32" },
    { "G1", "custom", "dp=2,tp=2", { "2,16" }, R"({"rows":[[["S0"],"S0"],[["S1"],"S1"]]})", "{}", "S0/S0 -> S0/S0 @ 0" },
    { "G2",
      "custom",
      "dp=2,tp=2",
      { "2,16" },
      R"({"rows":[[["S0"],"S0"],[["S1"],"S1"]],"fallback_row_added":false})",
      "{}",
      "S0/S1 -> S0/S1 @ 0" },
    { "G3", "custom", "dp=2,tp=2", { "2,16" }, R"({"rows":[[["S0"],"S0"],[["S1"],"S1"]]})", "{}", "S0/S1 -> S0/S1 @ 2" },
    // budget: 4 MiB each
    { "G0", "matmul", "tp=4", { "1024,1024", "1024,1024" }, "{}", R"({"budget_bytes_per_device":8388608})", "R R -> R @ 0" },
    { "G0", "matmul", "tp=4", { "1024,1024", "1024,1024" }, "{}", R"({"budget_bytes_per_device":8388607})", "S0 R -> S0 @ 0" },
    { "G0", "matmul", "tp=4", { "1024,1024", "1024,1024" }, "{}", R"({"budget_bytes_per_device":2097152})", "S1 S0 -> P @ 0" },
    { "G0",
      "matmul",
      "tp=4",
      { "1024,1024", "1024,1024" },
      "{}",
      R"({"budget_bytes_per_device":2097151})",
      "RuntimeError: every action exceeds the budget per device" },
    { "G0",
      "matmul",
      "dp=2,tp=2",
      { "1024,1024", "1024,1024" },
      "{}",
      R"({"budget_bytes_per_device":3145728})",
      "S0/S1 R/S0 -> S0/P @ 0" },
    // rows that are feasible on no mesh axis at first are off the menu in G2, though dst would fit once src is gathered: 16 + 12
    { "G2", "buffer_store", "x=3,y=4", { "4 S0/R", "4 R/S0" }, "{}", "{}", "R/R R/R -> R/R @ 28" },
    // the transition sets
    { "G2", "relu", "tp=4", { "4,8 P" }, "{}", "{}", "R -> R @ 192" },
    { "G2", "relu", "tp=4", { "4,8 P" }, "{}", R"({"allowed_transitions":"ALL"})", "S0 -> S0 @ 96" },
    { "G2", "relu", "tp=4", { "4,8 P" }, "{}", R"({"allowed_transitions":["P->S"]})", "S0 -> S0 @ 96" },
    { "G2",
      "relu",
      "tp=4",
      { "4,8 P" },
      "{}",
      R"({"allowed_transitions":[]})",
      "ShardingError: no row on mesh axis 'tp' uses only allowed transitions" },
    { "G2",
      "relu",
      "tp=4",
      { "4,8 P" },
      "{}",
      R"({"mode":"raise"})",
      "ShardingError: the chosen rows move an operand and the mode is raise" },
    { "G2", "relu", "tp=4", { "4,8 S0" }, "{}", R"({"mode":"raise"})", "S0 -> S0 @ 0" },
    { "G1",
      "relu",
      "tp=4",
      { "4,8 P" },
      "{}",
      R"({"on_reshard":"raise"})",
      "ShardingError: the chosen rows move an operand and the mode is raise" },
    { "G3", "add", "tp=4", { "4,8 P", "4,8 R" }, "{}", "{}", "R R -> R @ 192" },
    { "G3", "add", "tp=4", { "4,8 P", "4,8 R" }, "{}", R"({"allowed_transitions":["R->P"]})", "P P -> P @ 0.5" },
    { "G3", "mul", "tp=4", { "4,8 P", "4,8 P" }, "{}", "{}", "P R -> P @ 192" },
    // what is unknown stays so, and nothing is partial beside it
    { "G2", "add", "tp=4", { "4,8 U", "4,8 S0" }, "{}", "{}", "U S0 -> U @ 0" },
    { "G3", "add", "dp=2,tp=4", { "8,8 U/S0", "8,8 S0/R" }, "{}", "{}", "U/S0 S0/S0 -> U/S0 @ 1" },
    { "G3",
      "add",
      "tp=4",
      { "4,8 U", "4,8 P" },
      "{}",
      "{}",
      "ShardingError: an operand is unknown (U) on mesh axis 'tp' and another one is partial there" },
    { "G2", "group_norm", "tp=4", { "4,8 S0" }, "{}", "{}", "S0 -> U @ 0" },
    // one device
    { "G1", "relu", "one=1", { "4,8 P" }, "{}", "{}", "R -> R @ 0" },
    { "G3", "sum", "one=1", { "4,8 P" }, R"({"axis":0})", "{}", "R -> R @ 0" },
    // shape operations that move nothing, or nothing else than everything
    { "G1", "rebind", "dp=2,tp=4", { "8,8 R/S0" }, "{}", "{}", "R/S0 -> R/S0 @ 0" },
    { "G3", "broadcast_to", "tp=4", { "4,1 S0" }, R"({"shape":[3,4,8]})", "{}", "S0 -> S1 @ 0" },
    { "G3",
      "broadcast_to",
      "tp=4",
      { "4,1 S1" },
      R"({"shape":[4,8]})",
      "{}",
      "ShardingError: no row of the operation is feasible on mesh axis 'tp'" },
    { "G1", "broadcast_to", "tp=4", { "4,1 S1" }, R"({"shape":[4,8]})", "{}", "R -> R @ 48" }, // 4 parts of 1 are counted
    { "G1",
      "broadcast_to",
      "tp=4",
      { "batch,8 S0" },
      R"({"shape":["batch",8]})",
      "{}",
      "ValueError: dim 0 of the target is a bare name and is cut: no names are made up for its parts" },
    { "G1", "broadcast_to", "tp=4", { "batch,8 S0" }, R"({"shape":["dim of input axis 0",8]})", "{}", "S0 -> S0 @ 0" },
    { "G1", "reshape", "tp=4", { "batch,8 S0" }, R"({"shape":["batch",8]})", "{}", "R -> R @ 24" },
    { "G3", "reshape", "tp=2", { "7,8 S0" }, R"({"shape":[7,4,2]})", "{}", "S0 -> S0 @ 0" },
    { "G3", "reshape", "dp=2,tp=2", { "8,6 S0/S1" }, R"({"shape":[2,4,6]})", "{}", "S0/S1 -> S0/S2 @ 0" },
    { "G3", "reshape", "dp=2,tp=2", { "8,6 S0/P" }, R"({"shape":[48]})", "{}", "S0/P -> S0/P @ 0" },
    { "G3", "reshape", "dp=2,tp=2", { "8,6 S1/P" }, R"({"shape":[48]})", "{}", "R/P -> R/P @ 96" },
    { "shardboard", "reshape", "tp=4", { "6,4 S0" }, R"({"shape":[3,8]})", "{}", "R -> R @ 72" },
    { "shardboard", "reshape", "tp=4", { "12,4 S0" }, R"({"shape":[4,12]})", "{}", "S0 -> S0 @ 0" },
    // as released; the answers are those of the wheels (tests/peers/max_picker.py asks them)
    { "max-26.6", "add", "tp=4", { "8,4 P", "8,4 S0" }, "{}", "{}", "R S0 -> S0 @ 192" }, // one operand cut alone
    { "G1", "add", "tp=4", { "8,4 P", "8,4 S0" }, "{}", "{}", "R R -> R @ 288" },
    { "max-26.6", "add", "tp=2", { "1,6 S0", "1,6" }, "{}", "{}", "S0 R -> S0 @ 0" }, // size 1, but cut: it does not broadcast
    { "max-26.6", "reshape", "dp=2,tp=3", { "2,2 S1/S0" }, R"({"shape":[2,2]})", "{}", "R/R -> R/R @ 28" },
    { "max-26.6", "reshape", "tp=2", { "5 S0" }, R"({"shape":[5,1]})", "{}", "R -> R @ 12" },
    { "max-26.7", "add", "tp=4", { "8,4 P", "8,4 S0" }, "{}", R"({"mode":"silent"})", "R R -> R @ 288" },
    { "max-26.7", "relu", "tp=4", { "8,4 P" }, "{}", "{}", "ShardingError: the chosen rows move an operand and the mode is raise" },
    { "max-26.7", "relu", "tp=4", { "8,4 U" }, "{}", "{}", "ShardingError: no row of the operation is feasible on mesh axis 'tp'" },
    { "max-26.7", "relu", "one=1", { "8,4 S0" }, "{}", R"({"mode":"silent"})", "S0 -> R @ 0" },
    { "max-26.7", "mean", "tp=4", { "8,4 S0" }, R"({"axis":0})", R"({"mode":"silent"})", "R -> R @ 96" },
    { "max-26.7", "broadcast_to", "tp=4", { "1,8 S0" }, R"({"shape":[1,8]})", "{}", "S0 -> S0 @ 0" },
    { "max-26.7",
      "broadcast_to",
      "tp=4",
      { "1,8 S0" },
      R"({"shape":[4,8]})",
      "{}",
      "ShardingError: dim 0 of the source is cut, and the target has another size for it" },
    { "max-26.7",
      "buffer_store",
      "tp=4",
      { "8,4 S0", "8,4" },
      "{}",
      R"({"mode":"silent"})",
      "ShardingError: the operands lie differently on a mesh axis, and a store moves neither" },
    { "max-26.7", "reshape", "tp=4", { "12,2,1 S2" }, R"({"shape":[24,-1]})", "{}", "S2 -> S1 @ 0" },
    // no axis: one dim first
    { "G1", "sum", "tp=4", { "4,8 S0" }, R"({"axis":null})", "{}", "S0 -> P @ 0" },
    { "G1", "max", "tp=4", { "4,8 S0" }, R"({"axis":null})", "{}", "R -> R @ 96" },
    // unknown sizes that are sums
    { "G1", "relu", "tp=4", { "a+b,8 S0" }, "{}", "{}", "ShardingError: a sum or product of names cannot be cut" },
    { "shardboard", "relu", "tp=4", { "a*2,8 P" }, "{}", R"({"allow_partial_to_sharded":true})", "S1 -> S1 @ 24" },
    // ours: staying put wins, tables can be cut by vocabulary, unequal batches lie right
    { "shardboard", "relu", "tp=4", { "4,8 R" }, "{}", "{}", "R -> R @ 0" },
    { "shardboard", "custom", "tp=4", { "4,8 R" }, R"({"rows":[[["S0"],"S0"],[["R"],"R"]]})", "{}", "R -> R @ 0" },
    { "shardboard", "gather", "tp=4", { "32000,16 S0", "8,2 R" }, "{}", "{}", "S0 R -> P @ 0" },
    { "shardboard", "matmul", "tp=2", { "4,2,8,8 S1", "2,8,8 S0" }, "{}", "{}", "S1 S0 -> S1 @ 0" },
    { "shardboard", "concat", "tp=4", { "4,8 S0", "4,8 S0" }, "{}", "{}", "R R -> R @ 192" },
    { "shardboard",
      "block_scaled_matmul",
      "tp=4",
      { "64,256", "512,256 S0", "2,64", "4,2 S0" },
      "{}",
      "{}",
      "R S0 R S0 -> S1 @ 0" },
    { "shardboard",
      "block_scaled_matmul",
      "tp=3",
      { "64,256", "384,256 S0", "2,64", "4,2 S0" },
      "{}",
      "{}",
      "R R R R -> R @ 262165.3333333333" },
};

json requestOf(const Case& c)
{
    json request = pickRequest(c.profile, c.op, c.mesh, c.operands, c.attributes);
    for (const char* key : { "rows", "fallback_row_added" })
        if (request["attrs"].contains(key)) {
            request[key] = request["attrs"][key];
            request["attrs"].erase(key);
        }
    request["policy"] = json::parse(c.policy);
    return request;
}

json answerOf(const json& request)
{
    const auto question = readPickQuestion(request, "r");
    return question.ok() ? json(pickAnswerJson(question.value(), pickOperation(question.value())))
                         : json { { "error", question.error().what.substr(0, question.error().what.find(':')) } };
}

std::vector<Placement> placementsOf(const json& codes)
{
    std::vector<Placement> out;
    for (const auto& code : codes)
        out.push_back(Placement::parse(code.get<std::string>()).value());
    return out;
}

Mesh meshOf(const json& mesh)
{
    std::vector<MeshAxis> axes;
    for (std::size_t i = 0; i < mesh["shape"].size(); ++i)
        axes.push_back({ mesh["axes"][i], mesh["shape"][i] });
    return Mesh::make(axes).value();
}

json stepsJson(PickerProfile profile, const json& from, const json& to, const Mesh& mesh)
{
    const auto steps = executedSteps(profile, placementsOf(from), placementsOf(to), mesh);
    if (const auto* refusal = std::get_if<Refusal>(&steps))
        return { { "error", upstreamErrorName(refusal->error) } };
    json out = json::array();
    for (const ExecutedStep& step : std::get<std::vector<ExecutedStep>>(steps)) {
        json axes = json::array();
        for (const int axis : step.meshAxes)
            axes.push_back(mesh.axis(axis).name);
        out.push_back({ { "op", step.op }, { "mesh_axes", axes }, { "tensor_axis", step.dim ? json(*step.dim) : json(nullptr) } });
    }
    return out;
}

/// `allreduce tp; local_slice dp,tp 0`
std::string stepsText(PickerProfile profile, const char* mesh, const char* from, const char* to)
{
    const auto list = [](const char* text) {
        json out = json::array();
        for (const std::string_view code : split(std::string_view(text), '/'))
            out.push_back(code);
        return out;
    };
    const json steps = stepsJson(profile, list(from), list(to), Mesh::parse(mesh).value());
    if (steps.is_object())
        return steps["error"];
    std::string out;
    for (const json& step : steps) {
        out += (out.empty() ? "" : "; ") + step["op"].get<std::string>() + " "
            + joined(step["mesh_axes"].get<std::vector<std::string>>(), ",");
        if (!step["tensor_axis"].is_null())
            out += " " + step["tensor_axis"].dump();
    }
    return out;
}

json localJson(const json& shape, const json& placements, const Mesh& mesh)
{
    SymbolTable symbols;
    Shape sizes;
    for (const json& size : shape)
        sizes.push_back(size.is_string() ? symbols.sizeOf(size.get<std::string>()) : size.get<std::int64_t>());
    const auto local = localShapes(sizes, symbols, placementsOf(placements), mesh);
    if (const auto* refusal = std::get_if<Refusal>(&local))
        return upstreamErrorName(refusal->error);
    json out = json::array();
    for (const LocalShape& device : std::get<std::vector<LocalShape>>(local)) {
        json one = json::array();
        for (const LocalDim& dim : device)
            one.push_back(dim.name.empty() ? json(dim.size) : json(dim.name));
        out.push_back(one);
    }
    return out;
}

json vectors(const char* name = "picker.json")
{
    const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
    QFile file(root + QStringLiteral("/data/max/") + QString::fromLatin1(name));
    if (!file.open(QIODevice::ReadOnly))
        return nullptr;
    return json::parse(file.readAll().toStdString());
}

} // namespace

class TestPickOperation : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cases_data()
    {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kCases.size(); ++i)
            QTest::addRow("%zu %s %s", i, kCases[i].profile, kCases[i].op) << static_cast<int>(i);
    }
    void cases()
    {
        QFETCH(int, index);
        const Case& c = kCases[static_cast<std::size_t>(index)];
        QCOMPARE(QString::fromStdString(pickText(requestOf(c))), QString::fromUtf8(c.expected));
    }

    void publishedVectors()
    {
        const json all = vectors();
        if (all.is_null())
            QSKIP("the vectors of MAX's picker are not here (SHARDBOARD_SHARED)");
        QVERIFY(all["vectors"].size() > 100);
        for (const json& vector : all["vectors"]) {
            const json answer = answerOf(vector);
            const std::string id = vector["id"].get<std::string>() + " " + vector.value("note", "");
            for (const auto& [key, expected] : vector["expect"].items())
                if (key != "reason")
                    QVERIFY2(answer.contains(key) && answer[key] == expected,
                             (id + " " + key + ": " + (answer.contains(key) ? answer[key].dump() : "missing") + " must be "
                              + expected.dump())
                                 .c_str());
        }
    }
    /// What the wheels answered.
    void releasedVectors()
    {
        const json all = vectors("released.json");
        if (all.is_null())
            QSKIP("the answers of MAX's wheels are not here (SHARDBOARD_SHARED)");
        QVERIFY(all["vectors"].size() > 500);
        for (json vector : all["vectors"]) {
            vector["profile"] = vector["release"] == "26.6.0" ? "max-26.6" : "max-26.7";
            for (const char* ofVectors : { "dispatch", "release", "symmetric" })
                vector.erase(ofVectors);
            const json answer = answerOf(vector);
            for (const auto& [key, expected] : vector["expect"].items())
                if (key != "reason")
                    QVERIFY2(answer.contains(key) && answer[key] == expected,
                             (vector["id"].get<std::string>() + " " + key + ": "
                              + (answer.contains(key) ? answer[key].dump() : "missing") + " must be " + expected.dump())
                                 .c_str());
        }
    }
    void publishedTransfers()
    {
        const json all = vectors();
        if (all.is_null())
            QSKIP("the vectors of MAX's picker are not here (SHARDBOARD_SHARED)");
        QVERIFY(all["transfer_vectors"].size() > 10);
        for (const json& vector : all["transfer_vectors"])
            for (const auto& [generation, profile] :
                 { std::pair { "G1", PickerProfile::G1 }, std::pair { "G3", PickerProfile::G3 } }) {
                json expected = vector[generation];
                if (expected.is_object())
                    expected.erase("reason");
                const json got = stepsJson(profile, vector["from"], vector["to"], meshOf(vector["mesh"]));
                QVERIFY2(got == expected, (vector["id"].get<std::string>() + " " + generation + ": " + got.dump()).c_str());
            }
    }
    void publishedLocalShapes()
    {
        const json all = vectors();
        if (all.is_null())
            QSKIP("the vectors of MAX's picker are not here (SHARDBOARD_SHARED)");
        QVERIFY(all["local_shape_vectors"].size() > 5);
        for (const json& vector : all["local_shape_vectors"]) {
            const json got = localJson(vector["global_shape"], vector["placements"], meshOf(vector["mesh"]));
            QVERIFY2(got == vector["per_device"], (vector["id"].get<std::string>() + ": " + got.dump()).c_str());
        }
    }

    void executed()
    {
        const auto early = [](const char* mesh, const char* from, const char* to) {
            return QString::fromStdString(stepsText(PickerProfile::G1, mesh, from, to));
        };
        const auto late = [](const char* mesh, const char* from, const char* to) {
            return QString::fromStdString(stepsText(PickerProfile::G3, mesh, from, to));
        };
        const char* grid = "dp=2,tp=4";
        QCOMPARE(early(grid, "P/P", "R/R"), QString("allreduce dp; allreduce tp"));
        QCOMPARE(late(grid, "P/P", "R/R"), QString("allreduce dp,tp"));
        QCOMPARE(early(grid, "P/P", "S0/S0"), QString("reduce_scatter dp 0; allreduce tp; local_slice tp 0"));
        QCOMPARE(late(grid, "P/P", "S0/S0"), QString("reduce_scatter dp,tp 0"));
        QCOMPARE(early(grid, "S0/P", "S0/S0"), QString("allreduce tp; local_slice tp 0")); // dp cuts dim 0
        QCOMPARE(late(grid, "S0/P", "S0/S0"), QString("reduce_scatter tp 0"));
        QCOMPARE(late(grid, "P/S0", "S0/S0"), QString("allreduce dp; allgather tp 0; local_slice dp,tp 0"));
        QCOMPARE(late(grid, "R/R", "P/P"), QString("keep_one_copy dp,tp"));
        QCOMPARE(late(grid, "R/S1", "P/R"), QString("allgather tp 1; keep_one_copy dp"));
        QCOMPARE(early(grid, "S0/R", "P/R"), QString("NotImplementedError"));
        QCOMPARE(late(grid, "S0/R", "P/R"), QString("NotImplementedError"));
        QCOMPARE(late(grid, "U/R", "R/R"), QString("NotImplementedError"));
        QCOMPARE(early(grid, "Pavg/R", "R/R"), QString("allreduce dp")); // an average is executed as a sum
        QCOMPARE(early(grid, "Pmin/R", "R/R"), QString("NotImplementedError"));
        QCOMPARE(late("one=1,tp=4", "P/S0", "S1/S0"), QString()); // one device has it all
        QCOMPARE(early(grid, "S0/S1", "S0/S1"), QString());
    }

    void localShapesOfDevices()
    {
        const Mesh grid = Mesh::parse("dp=2,tp=2").value();
        QCOMPARE(localJson({ 10 }, { "S0", "S0" }, grid), json::parse("[[3],[3],[2],[2]]"));
        QCOMPARE(localJson({ -1, 3 }, { "S0", "S1" }, grid), json::parse("[[-1,2],[-1,1],[-1,2],[-1,1]]"));
        QCOMPARE(localJson({ "b", 3 }, { "R", "S0" }, grid),
                 json::parse(R"([["b_tp_0",3],["b_tp_1",3],["b_tp_0",3],["b_tp_1",3]])"));
        QCOMPARE(localJson({ "a+b" }, { "S0", "R" }, grid), json("ShardingError"));
        QCOMPARE(localJson({ "a+b" }, { "P", "R" }, grid), json::parse(R"([["a+b"],["a+b"],["a+b"],["a+b"]])"));
        QCOMPARE(localJson({ 4 }, { "S1", "R" }, grid), json("ValueError"));
    }

    /// Every row of every mesh axis is told, in the picker's order, with what is wrong about it.
    void candidates()
    {
        json request = pickRequest("G1", "concat", "tp=4", { "4,8 P", "4,8 P" });
        const json answer = answerOf(request);
        QStringList got;
        for (const json& c : answer["candidates"])
            got << QString::fromStdString(c["inputs"][0].get<std::string>() + " " + c["cost"].dump() + " "
                                          + c["status"].get<std::string>() + (c["sound"].get<bool>() ? "" : " unsound"));
        QCOMPARE(got, QStringList({ "P 0 picked", "S0 192 refused unsound", "S1 192 refused", "R 384 allowed", "R 384 allowed" }));
        QVERIFY(answer["candidates"][1]["refusal"].get<std::string>().find("allow_partial_to_sharded") != std::string::npos);
        QVERIFY(!answer["candidates"][1]["unsound_because"].get<std::string>().empty());
        QCOMPARE(answer["candidates"][1]["collectives"].size(), std::size_t(2));
        QCOMPARE(answer["candidates"][4]["appended"], json(true));
        // infeasible ones come last, with their reason
        const json small = answerOf(pickRequest("G3", "relu", "tp=4", { "2,8 P" }));
        const json last = small["candidates"].back();
        QCOMPARE(last["status"], json("infeasible"));
        QVERIFY(last["cost"].is_null());
        QCOMPARE(last["refusal"], json("dim 0 of operand 0 has 2 elements for 4 parts"));
        // rows of the request: nobody knows whether they are sound
        request = pickRequest("G1", "custom", "tp=4", { "4,8" });
        request["rows"] = json::parse(R"([[["S0"],"S0"]])");
        QVERIFY(answerOf(request)["candidates"][0]["sound"].is_null());
    }

    /// A row whose parts line up only where sizes divide is unsound only where they do not.
    void unsoundWhereUneven()
    {
        const auto sound = [](const char* mesh) {
            const json answer = answerOf(pickRequest("G1", "block_scaled_matmul", mesh, { "64,256", "512,256", "2,64", "4,2" }));
            for (const json& c : answer["candidates"])
                if (c["output"] == "S1")
                    return c["sound"].get<bool>();
            return false;
        };
        QVERIFY(sound("tp=4"));
        QVERIFY(!sound("tp=3"));
    }

    void reports()
    {
        const auto text = [](json request, const char* policy) {
            request["policy"] = json::parse(policy);
            const auto question = readPickQuestion(request, "r");
            return question.ok() ? QString::fromStdString(pickReport(question.value(), pickOperation(question.value())))
                                 : QString();
        };
        json request = pickRequest("G1", "matmul", "tp=4", { "4,8 P", "8,6 S0" });
        request["inputs"][0]["name"] = "x";
        request["inputs"][1]["name"] = "w";
        request["call_site"] = "model.py:12 in forward";
        const QString greedy = text(request, R"({"on_reshard":"warn"})");
        for (const char* part :
             { "\nmatmul\n", "model.py:12 in forward", "tp: S0 -> R [allgather]", "tp (4 devices)", "#1 (MAX calls it picked)  96",
               "picked                    144", "write: w = transfer_to(w, DeviceMapping(mesh, (Replicated(),)))",
               "silent | [warn] | raise", "a partial value may not be reduced to shards" })
            QVERIFY2(greedy.contains(QString::fromUtf8(part)), (std::string(part) + "\n" + greedy.toStdString()).c_str());
        QVERIFY(text(pickRequest("G1", "relu", "tp=4", { "4,8 S0" }), "{}").isEmpty());
        request["profile"] = "G3";
        const QString region = text(request, R"({"mode":"raise"})");
        for (const char* part :
             { "matmul(x, w): needs a resharding of w, but the region does not do so", "x: f32[4, 8] on tp=4, {tp: P}",
               "allowed_transitions=DEFAULT_TRANSITIONS, mode=\"raise\"", "S0->R", "allgather w", "chosen, reshards w",
               "not allowed: P->S1 of operand 0", "auto_reshard(allowed_transitions=ALL_TRANSITIONS, mode=\"silent\")" })
            QVERIFY2(region.contains(QString::fromUtf8(part)), (std::string(part) + "\n" + region.toStdString()).c_str());
        const QString none = text(request, R"({"allowed_transitions":["R->S"]})");
        QVERIFY2(none.contains("uses only allowed transitions"), none.toUtf8());
        QVERIFY2(none.contains("{(Partial, Sharded), (Replicated, Sharded)}"), none.toUtf8());
    }

    void impossibleShapes_data()
    {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QStringList>("operands");
        QTest::addColumn<QString>("attributes");
        QTest::addColumn<QString>("says"); ///< empty: it is possible
        const auto row = [](const char* op, const QStringList& operands, const char* attributes, const char* says) {
            QTest::addRow("%s %s %s", op, qPrintable(operands.join('/')), attributes)
                << QString(op) << operands << QString(attributes) << QString(says);
        };
        for (const char* op : { "mul", "add", "div", "binary" }) {
            row(op, { "8,16", "7,16" }, "{}", "inputs: ValueError: the operands do not broadcast");
            row(op, { "8,16", "batch,16" }, "{}", "");
            row(op, { "4,1,16", "8,1" }, "{}", "");
        }
        row("where", { "8,16", "8,16", "8,15" }, "{}", "inputs: ValueError: the operands do not broadcast");
        row("where", { "8,16", "1", "8,1" }, "{}", "");
        row("concat", { "4,8", "4,7" }, R"({"axis":0})", "inputs: ValueError: the operands differ in another dim");
        row("concat", { "4,8", "4,7" }, R"({"axis":-1})", "");
        row("concat", { "4,8", "4" }, R"({"axis":0})", "inputs: ValueError");
        row("stack", { "4,8", "4,7" }, "{}", "inputs: ValueError: the operands that are stacked differ in shape");
        row("split", { "8,4" }, R"({"axis":0,"split_sizes":[4,3]})", "attrs.split_sizes: ValueError: the sizes do not add up");
        row("split", { "8,4" }, R"({"axis":0,"split_sizes":[5,3]})", "");
        row("split", { "8,4" }, R"({"axis":0,"split_sizes":["a",3]})", "");
        row("split", { "batch,4" }, R"({"axis":0,"split_sizes":[5,3]})", "");
        row("chunk", { "8,4" }, R"({"axis":0,"chunks":0})", "attrs.chunks: ValueError: there must be at least one chunk");
        row("chunk", { "8,4" }, R"({"axis":0,"chunks":-2})", "attrs.chunks: ValueError");
        row("chunk", { "8,4" }, R"({"axis":0,"chunks":8})", "");
        row("top_k", { "8,4" }, R"({"k":5})", "attrs.k: ValueError: is more than there are elements");
        row("top_k", { "8,4" }, R"({"k":5,"axis":0})", "");
        row("top_k", { "8,4" }, R"({"k":-1})", "attrs.k: ValueError: cannot be negative");
        row("matmul", { "4,8", "7,6" }, "{}", "inputs: ValueError: the dims that are contracted differ in size");
        row("matmul", { "8", "7" }, "{}", "inputs: ValueError: the dims that are contracted differ in size");
        row("matmul", { "4,8", "k,6" }, "{}", "");
        row("matmul", { "3,4,8", "2,8,6" }, "{}", "inputs: ValueError: the batch dims do not broadcast");
        row("matmul", { "5,2,4,8", "2,8,6" }, "{}", "");
        row("reshape", { "8,4" }, R"({"shape":[5,6]})", "attrs.shape: ValueError: has another number of elements");
        row("reshape", { "8,4" }, R"({"shape":[5,-1]})", "attrs.shape: ValueError: does not divide the elements");
        row("broadcast_to", { "8,4" }, R"({"shape":[7,4]})", "attrs.shape: ValueError: dim 0 of the source is neither 1");
        row("squeeze", { "8,4" }, R"({"axis":0})", "attrs.axis: ValueError");
        row("rms_norm", { "8,16", "15" }, "{}", "inputs: ValueError: a weight has another size");
        row("layer_norm", { "8,16", "16", "15" }, "{}", "inputs: ValueError: a weight has another size");
        row("block_scaled_matmul", { "64,256", "512,255", "2,64", "4,2" }, "{}",
            "inputs: ValueError: the dims that are contracted differ in size");
        row("conv2d", { "8,32,32,64", "3,3,64,8" }, R"({"groups":0})", "attrs.groups: ValueError");
        row("pad", { "4,8" }, R"({"paddings":[0,0,1]})", "attrs.paddings: ValueError");
        row("scatter", { "8,16", "8", "8,4" }, R"({"axis":1})", "inputs: ValueError");
    }
    /// In every generation, and with any placement.
    void impossibleShapes()
    {
        QFETCH(QString, op);
        QFETCH(QStringList, operands);
        QFETCH(QString, attributes);
        QFETCH(QString, says);
        std::vector<std::string> shapes;
        for (const QString& operand : operands)
            shapes.push_back(operand.toStdString());
        for (const char* profile : { "G0", "G1", "G2", "G3", "max-26.6", "max-26.7", "shardboard" }) {
            const auto question =
                readPickQuestion(pickRequest(profile, op.toStdString(), "tp=2", shapes, attributes.toStdString()), "r");
            QVERIFY2(question.ok(), question.ok() ? "" : question.error().text().c_str());
            const PickAnswer answer = pickOperation(question.value());
            const std::string text = answer.refusal ? pickError(*answer.refusal, "r").text() : std::string();
            QVERIFY2(says.isEmpty() ? text.empty() : text.starts_with("r:" + says.toStdString()),
                     (std::string(profile) + ": '" + text + "'").c_str());
            QVERIFY2(text.find('\n') == std::string::npos, text.c_str());
        }
    }

    void wrongRequests_data()
    {
        QTest::addColumn<QString>("patch");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* patch, const char* says) { QTest::newRow(patch) << patch << says; };
        row(R"({"op":"nothing"})", "r:op: there is no operation 'nothing'");
        row(R"({"op":5})", "r:op:");
        row(R"({"profile":"G9"})", "r:profile: there is no profile 'G9'");
        row(R"({"picker":"best"})", "r:picker: there is no picker 'best'");
        row(R"({"picker":"auto_reshard"})", "r:picker: G1 does not have auto_reshard");
        row(R"({"mesh":null})", "r:mesh: the key is missing");
        row(R"({"mesh":{"shape":[],"axes":[]}})", "r:mesh.shape: ValueError");
        row(R"({"mesh":{"shape":[2,2],"axes":["a"]}})", "r:mesh.axes: ValueError");
        row(R"({"mesh":{"shape":[2,2],"axes":["a","a"]}})", "r:mesh");
        row(R"({"mesh":{"shape":[0],"axes":["a"]}})", "r:mesh.shape");
        row(R"({"mesh":{"shape":[99999999999],"axes":["a"]}})", "r:mesh.shape");
        row(R"({"mesh":{"shape":[1048576,1048576],"axes":["a","b"]}})", "r:mesh");
        row(R"({"inputs":[]})", "r:inputs: a list of at least one operand");
        row(R"({"inputs":{}})", "r:inputs");
        row(R"({"inputs":[7]})", "r:inputs[0]: expected an object");
        row(R"({"inputs":[{"global_shape":[4],"placements":["R","R"]}]})",
            "r:inputs[0].placements: ValueError: there are 2 placements for 1 mesh axes");
        row(R"({"inputs":[{"global_shape":[4],"placements":["X"]}]})", "r:inputs[0].placements[0]: there is no placement \"X\"");
        row(R"({"inputs":[{"global_shape":[4],"placements":["S1"]}]})", "S1 cuts dim 1, and the tensor has 1 dims");
        row(R"({"inputs":[{"global_shape":[4],"placements":["S99999999999999999999"]}]})", "there is no placement");
        row(R"({"inputs":[{"global_shape":[-2],"placements":["R"]}]})", "r:inputs[0].global_shape[0]: the size -2 is negative");
        row(R"({"inputs":[{"global_shape":[18446744073709551615],"placements":["R"]}]})", "r:inputs[0].global_shape[0]");
        row(R"({"inputs":[{"global_shape":[1e400],"placements":["R"]}]})", "r:inputs[0].global_shape[0]");
        row(R"({"inputs":[{"global_shape":[4.5],"placements":["R"]}]})", "r:inputs[0].global_shape[0]");
        row(R"({"inputs":[{"global_shape":"4","placements":["R"]}]})", "r:inputs[0].global_shape: a list");
        row(R"({"inputs":[{"global_shape":[4],"placements":["R"],"dtype":"q7"}]})", "r:inputs[0].dtype: there is no dtype 'q7'");
        row(R"({"attrs":[1]})", "r:attrs: expected an object");
        row(R"({"op":"permute","attrs":{}})", "r:attrs.dims: permute needs it");
        row(R"({"op":"permute","attrs":{"dims":["a"]}})", "r:attrs.dims: expected a whole number");
        row(R"({"op":"squeeze","attrs":{"axis":null}})", "r:attrs.axis: is null");
        row(R"({"op":"reshape","attrs":{"shape":["dim of input axis x"]}})", "r:attrs.shape[0]:");
        row(R"({"profile":"G2","policy":{"mode":"loud"}})", "r:policy.mode: ValueError");
        row(R"({"policy":{"on_reshard":1}})", "r:policy.on_reshard");
        row(R"({"profile":"G2","policy":{"allowed_transitions":["R>S"]}})", "r:policy.allowed_transitions: TypeError");
        row(R"({"profile":"G3","policy":{"allowed_transitions":3}})", "r:policy.allowed_transitions: TypeError");
        row(R"({"policy":{"allow_partial_to_sharded":"yes"}})", "r:policy.allow_partial_to_sharded");
        row(R"({"profile":"G0","policy":{"budget_bytes_per_device":-1}})", "r:policy.budget_bytes_per_device");
        row(R"({"op":"custom"})", "r:rows:");
        // what belongs to other generations, and what belongs nowhere
        row(R"({"polcy":{}})", "r:polcy: there is no such key here; shardctl pick --help");
        row(R"({"policy":{"loud":true}})",
            "r:policy.loud: there is no such key here; a policy has allow_partial_to_sharded, on_reshard");
        row(R"({"policy":{"budget_bytes_per_device":8}})",
            "r:policy.budget_bytes_per_device: G1 with GreedyReshard does not have it: only G0 has a budget; leave it out");
        row(R"({"policy":{"mode":"silent"}})", "r:policy.mode: G1 with GreedyReshard does not have it");
        row(R"({"policy":{"allowed_transitions":"ALL"}})", "r:policy.allowed_transitions: G1 with GreedyReshard does not have it");
        row(R"({"profile":"G2","policy":{"on_reshard":"warn"}})", "r:policy.on_reshard: G2 with auto_reshard does not have it");
        row(R"({"profile":"G3","policy":{"allow_partial_to_sharded":true}})",
            "r:policy.allow_partial_to_sharded: G3 with auto_reshard does not have it");
        row(R"({"picker":"NoReshard","policy":{"on_reshard":"warn"}})", "leave it out; a policy has nothing for NoReshard here");
        row(R"({"profile":"G3","fallback_row_added":true})", "r:fallback_row_added: G3 appends no row");
        row(R"({"mesh":{"shape":[4],"axes":["tp"],"names":["tp"]}})",
            "r:mesh.names: there is no such key here; a mesh has shape and axes");
        row(R"({"inputs":[{"global_shape":[4],"placements":["R"],"shape":[4]}]})", "r:inputs[0].shape: there is no such key here");
        row(R"({"attrs":{"axis":0}})", "r:attrs.axis: there is no such key here; relu takes none");
        row(R"({"op":"transpose","attrs":{"axis":0}})", "r:attrs.axis: there is no such key here; transpose takes axis_1, axis_2");
        row(R"({"op":"custom","rows":[[["R"],"R"]],"attrs":{"axis":0}})", "r:attrs.axis: there is no such key here");
        row(R"({"op":"split","attrs":{"split_sizes":[5,-1]}})", "r:attrs.split_sizes: ValueError: the size -1 is negative");
        row(R"({"rows":[[["R","R"],"R"]]})", "r:rows[0]: ValueError: the row has 2 placements for 1 operands");
        row(R"({"rows":[["R","R"]]})", "r:rows[0]: a row is a list");
        row(R"({"rows":[[["R"],["R","R"]],[["S0"],"S0"]]})", "r:rows[1]: ValueError: the row has 1 outputs");
        row(R"({"profile":"G3","rows":[[[],"R"]]})", "r:rows[0]: ShardingError");
        row(R"({"profile":"G3","inputs":[{"global_shape":[4],"placements":["Pavg"]}]})", "G3 has partial sums only");
    }
    void wrongRequests()
    {
        QFETCH(QString, patch);
        QFETCH(QString, says);
        json request = pickRequest("G1", "relu", "tp=4", { "4,8 S0" });
        json changes = json::parse(patch.toStdString(), nullptr, false);
        if (changes.is_discarded()) { // a number that no double holds
            changes = json::parse(R"({"inputs":[{"global_shape":[1e300],"placements":["R"]}]})");
        }
        for (const auto& [key, value] : changes.items())
            request[key] = value;
        const auto question = readPickQuestion(request, "r");
        QVERIFY2(!question.ok(), "it was accepted");
        const std::string text = question.error().text();
        QVERIFY2(text.find(says.toStdString()) != std::string::npos, text.c_str());
        QVERIFY2(text.find('\n') == std::string::npos, text.c_str());
    }

    /// Sizes and meshes at the limits neither overflow nor take long.
    void extremes()
    {
        json request = pickRequest("G1", "matmul", "a=1024,b=1024", { "8,8 S0/P", "8,8" });
        request["inputs"][0]["global_shape"] = { std::int64_t { 1 } << 62, std::int64_t { 1 } << 62 };
        request["inputs"][1]["global_shape"] = { std::int64_t { 1 } << 62, std::int64_t { 1 } << 62 };
        QVERIFY(!answerOf(request).contains("error"));
        request = pickRequest("G1", "reshape", "a=1024,b=1024", { "1048576,4 S0/S0" }, R"({"shape":["dim of input axis 0",2,2]})");
        QCOMPARE(answerOf(request)["cost"], json(0));
        for (const char* profile : { "G0", "G1", "G2", "G3", "max-26.6", "max-26.7", "shardboard" }) {
            QVERIFY(!answerOf(pickRequest(profile, "relu", "tp=4", { "- R" })).contains("error"));
            json add = pickRequest(profile, "add", "tp=4", { "0,8 S0", "0,8 R" });
            if (std::string_view(profile) == "max-26.7")
                add["policy"] = { { "mode", "silent" } };
            QVERIFY(!answerOf(add).contains("error"));
            QVERIFY(!answerOf(pickRequest(profile, "relu", "tp=4", { "-1,8 S0" })).contains("error"));
        }
    }
};

SHARDBOARD_TEST(TestPickOperation)
#include "tst_pickoperation.moc"
