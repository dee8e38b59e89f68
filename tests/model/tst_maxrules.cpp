// SPDX-License-Identifier: Apache-2.0
// Rows of MAX's rule families for concrete shapes, typed from the tables of rules by hand: which rows, in which order, and
// which of them are known to compute the wrong thing.
#include "model/ops/rows/expression.h"
#include "tests/support/datarow.h"
#include "tests/support/menutext.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;
using namespace shardboard::test;

namespace {

struct Rows {
    const char* op;
    std::vector<std::string> operands;
    const char* attributes;
    const char* early; ///< G0 to G2
    const char* late; ///< G3; null: as early
    const char* ours; ///< null: as late
};

const std::vector<Rows> kRows {
    // contractions
    { "matmul", { "4,8", "8,6" }, "{}", "R R>R  S0 R>S0  R S1>S1  S1 S0>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "2,4,8", "2,8,6" }, "{}", "R R>R  S0 S0>S0  S1 R>S1  R S2>S2  S2 S1>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "2,4,8", "8,6" }, "{}", "R R>R  S0 R>S0  S1 R>S1  R S1>S2  S2 S0>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "4,8", "3,8,6" }, "{}", "R R>R  R S0>S0  S0 R>S1  R S2>S2  S1 S1>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "5,4,8", "1,8,6" }, "{}", "R R>R  S0 R>S0  S1 R>S1  R S2>S2  S2 S1>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "1,4,8", "5,8,6" }, "{}", "R R>R  R S0>S0  S1 R>S1  R S2>S2  S2 S1>P  P R>P  R P>P", nullptr, nullptr },
    // unequal batch ranks: MAX aligns them at the left
    { "matmul",
      { "7,2,4,8", "2,8,6" },
      "{}",
      "R R>R  S0 S0>S0!  S1 R>S1!  S2 R>S2  R S2>S3  S3 S1>P  P R>P  R P>P",
      nullptr,
      "R R>R  S0 R>S0  S1 S0>S1  S2 R>S2  R S2>S3  S3 S1>P  P R>P  R P>P" },
    { "matmul",
      { "2,4,8", "7,2,8,6" },
      "{}",
      "R R>R  S0 S0>S0!  R S1>S1!  S1 R>S2  R S3>S3  S2 S2>P  P R>P  R P>P",
      nullptr,
      "R R>R  R S0>S0  S0 S1>S1  S1 R>S2  R S3>S3  S2 S2>P  P R>P  R P>P" },
    { "matmul", { "32", "32" }, "{}", "R R>R  S0 S0>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "8", "2,8,6" }, "{}", "R R>R  R S0>S0  R S2>S1  S0 S1>P  P R>P  R P>P", nullptr, nullptr },
    { "matmul", { "2,4,8", "8" }, "{}", "R R>R  S0 R>S0  S1 R>S1  S2 S0>P  P R>P  R P>P", nullptr, nullptr },
    { "outer", { "4", "6" }, "{}", "R R>R  S0 R>S0  R S0>S1  P R>P  R P>P", nullptr, nullptr },
    { "qmatmul", { "4,8", "8,6" }, "{}", "R R>R", nullptr, nullptr },
    { "block_scaled_matmul",
      { "64,256", "512,256", "2,64", "4,2" },
      "{}",
      "R R R R>R  R S0 R S0>S1  S1 S1 S0 S1>P  S0 R S1 R>S0",
      nullptr,
      nullptr },
    { "conv2d", { "8,32,32,16", "3,3,16,64" }, "{}", "R R>R  S0 R>S0  R S3>S3  S3 S2>P  P R>P  R P>P", nullptr, nullptr },
    { "conv2d",
      { "8,16,32,32", "3,3,16,64" },
      R"({"layout":"NCHW"})",
      "R R>R  S0 R>S0  R S3>S1  S1 S2>P  P R>P  R P>P",
      nullptr,
      nullptr },
    { "conv3d",
      { "8,4,32,32,16", "3,3,3,16,64" },
      R"({"layout":"NDHWC","filter_layout":"QRSCF"})",
      "R R>R  S0 R>S0  R S4>S4  S4 S3>P  P R>P  R P>P",
      nullptr,
      nullptr },
    { "conv2d",
      { "8,32,32,16", "3,3,4,64" },
      R"({"groups":4})",
      "R R>R  S0 R>S0  R S3>S3!  P R>P  R P>P",
      nullptr,
      "R R>R  S0 R>S0  P R>P  R P>P" },
    { "conv2d",
      { "8,32,32,16", "3,3,16,64", "64" },
      "{}",
      "R R =>R  S0 R =>S0  R S3 =>S3!  S3 S2 =>P!  P R =>P!  R P =>P!",
      "R R R>R  S0 R R>S0  R S3 S0>S3",
      nullptr },
    { "conv2d_transpose", { "8,32,32,16", "3,3,64,16" }, "{}", "R R>R  S0 R>S0  R S2>S3  S3 S3>P  P R>P  R P>P", nullptr, nullptr },
    // elementwise
    { "relu", { "4,8" }, "{}", "R>R  S0>S0  S1>S1", nullptr, nullptr },
    { "unary", { "-" }, "{}", "R>R", nullptr, nullptr },
    { "negate", { "4,8" }, "{}", "R>R  S0>S0  S1>S1  P>P", nullptr, nullptr },
    { "cast", { "4,8" }, R"({"same_dtype":true})", "R>R  S0>S0  S1>S1", "R>R  S0>S0  S1>S1  P>P", nullptr },
    { "cast", { "4,8" }, "{}", "R>R  S0>S0  S1>S1", nullptr, nullptr },
    { "pow", { "4,8", "8" }, "{}", "R R>R  S0 R>S0  S1 S0>S1", nullptr, nullptr },
    { "binary", { "4,1,8", "3,1" }, "{}", "R R>R  S0 R>S0  R S0>S1  S2 R>S2", nullptr, nullptr },
    { "binary", { "batch,1", "1,1" }, "{}", "R R>R  S0 R>S0", nullptr, nullptr },
    { "add", { "4,8", "4,8" }, "{}", "R R>R  S0 S0>S0  S1 S1>S1  P P>P", nullptr, nullptr },
    { "mul", { "4", "4" }, "{}", "R R>R  S0 S0>S0", "R R>R  S0 S0>S0  P R>P  R P>P", nullptr },
    { "div", { "4", "4" }, "{}", "R R>R  S0 S0>S0", "R R>R  S0 S0>S0  P R>P", nullptr },
    { "where", { "4,1", "4,8", "8" }, "{}", "R R R>R  S0 S0 R>S0  R S1 S0>S1", nullptr, nullptr },
    // norms, reductions
    { "layer_norm", { "8,16,64", "64", "64" }, "{}", "R R R>R  S0 R R>S0  S1 R R>S1", nullptr, nullptr },
    { "rms_norm", { "8,16,64", "16,64" }, "{}", "R R>R  S0 R>S0", nullptr, nullptr },
    { "argmax", { "4,8,2" }, R"({"axis":1})", "R>R  S0>S0  S2>S2", nullptr, nullptr },
    { "softmax", { "4,8,2" }, "{}", "R>R  S0>S0  S1>S1", nullptr, nullptr },
    { "sum", { "4,8,2" }, R"({"axis":-2})", "R>R  S0>S0  S2>S2  S1>P  P>P", nullptr, nullptr },
    { "cumsum", { "4,8" }, R"({"axis":0})", "R>R  S1>S1  S0>P!  P>P", "R>R  S1>S1", "R>R  S1>S1  P>P" },
    { "mean", { "4,8" }, R"({"axis":0})", "R>R  S1>S1  S0>Pavg!  Pavg>Pavg", "R>R  S1>S1", "R>R  S1>S1  P>P" },
    { "top_k", { "4,8" }, R"({"k":2})", "R>R  S0>S0", nullptr, nullptr },
    { "nonzero", { "4,8" }, "{}", "R>R", nullptr, nullptr },
    { "group_norm", { "4,8", "8" }, "{}", "= =>U", nullptr, nullptr },
    // shape operations
    { "permute", { "4,8,3" }, R"({"dims":[2,0,1]})", "R>R  S0>S1  S1>S2  S2>S0  P>P", nullptr, nullptr },
    { "transpose", { "4,8,3" }, R"({"axis_1":0,"axis_2":-1})", "R>R  S0>S2  S1>S1  S2>S0  P>P", nullptr, nullptr },
    { "unsqueeze", { "4,8" }, R"({"axis":-1})", "R>R  S0>S0  S1>S1  P>P", nullptr, nullptr },
    { "unsqueeze", { "4,8" }, R"({"axis":-3})", "R>R  S0>S1  S1>S2  P>P", nullptr, nullptr },
    { "squeeze", { "4,1,8" }, R"({"axis":1})", "R>R  S0>S0  S2>S1  P>P", nullptr, nullptr },
    { "flatten", { "2,4,8,3" }, R"({"start_dim":1,"end_dim":2})", "R>R  S0>S0  S3>S2  P>P", nullptr, nullptr },
    { "tile", { "4,8" }, R"({"repeats":[1,3]})", "R>R  S0>S0  S1>S1!  P>P", "R>R  S0>S0  P>P", nullptr },
    { "concat",
      { "4,8", "4,8", "4,8" },
      R"({"axis":1})",
      "R R R>R  S0 S0 S0>S0  S1 S1 S1>S1!  P P P>P",
      nullptr,
      "R R R>R  S0 S0 S0>S0  P P P>P" },
    { "stack", { "4,8", "4,8" }, R"({"axis":1})", "R R>R  S0 S0>S0  S1 S1>S2  P P>P", nullptr, nullptr },
    { "chunk", { "4,8" }, R"({"axis":1,"chunks":2})", "R>R  S0>S0  P>P", nullptr, nullptr },
    { "split", { "8,4" }, R"({"axis":0,"split_sizes":[4,4]})", "R>R  S0>S0!  S1>S1  P>P", "R>R  S1>S1  P>P", nullptr },
    { "split", { "8,4" }, R"({"axis":0,"split_sizes":[6,2]})", "R>R  S1>S1  P>P", nullptr, nullptr },
    { "slice", { "4,8,3" }, R"({"touched":[1]})", "R>R  S0>S0  S2>S2  P>P", nullptr, nullptr },
    { "slice", { "4,8,3" }, R"({"touched":[1],"removed":[1]})", "R>R  S0>S0  S2>S2!  P>P", "R>R  S0>S0  S2>S1  P>P", nullptr },
    { "slice", { "4,8" }, R"({"inserted":[0]})", "R>R  S0>S0!  S1>S1!  P>P", "R>R  S0>S1  S1>S2  P>P", nullptr },
    { "pad", { "4,8" }, R"({"paddings":[0,0,1,0]})", "R>R  S0>S0  P>P", nullptr, nullptr },
    { "pad", { "4,8" }, R"({"paddings":[0,0,1,0],"value":-1.5})", "R>R  S0>S0", nullptr, nullptr },
    { "pad", { "4,8" }, R"({"paddings":[0,0,0,0],"mode":"reflect","value":1})", "R>R  S0>S0  S1>S1  P>P", nullptr, nullptr },
    { "pad", { "4,8", "-" }, R"({"paddings":[0,0,0,2],"value":"tensor"})", "R R>R  S0 R>S0", nullptr, nullptr },
    { "repeat_interleave", { "4,8" }, R"({"repeats":2,"axis":null})", "R>R", nullptr, nullptr },
    { "repeat_interleave", { "4,8" }, R"({"repeats":2,"axis":0})", "R>R  S1>S1  P>P", nullptr, nullptr },
    { "broadcast_to", { "1,8" }, R"({"shape":[5,4,8]})", "R>R  S1>S2  P>P", "R>R=  S1>S2=  P>P=", "R>R  S1>S2  P>P" },
    { "rebind", { "4,8" }, "{}", "=>=0", nullptr, nullptr },
    // look-ups
    { "gather",
      { "8,4,6", "3,5" },
      R"({"axis":1})",
      "R R>R  S0 R>S0  S2 R>S3  R S0>S1  R S1>S2  S0 S0>S1!  S0 S1>S2!  S2 S0>S1!  S2 S1>S2!  P R>P",
      "R R>R  S0 R>S0  S2 R>S3  R S0>S1  R S1>S2  P R>P",
      "R R>R  S0 R>S0  S2 R>S3  R S0>S1  R S1>S2  S1 R>P  P R>P" },
    { "gather_nd", { "4,8,3", "4,8,1" }, R"({"batch_dims":2})", "R R>R  S0 S0>S0  S1 S1>S1  P R>P", nullptr, nullptr },
    { "scatter_add", { "8,16", "8,4", "8,4" }, R"({"axis":1})", "R R R>R  S0 S0 S0>S0", nullptr, nullptr },
    { "scatter", { "8,16", "5,4", "5,4" }, R"({"axis":1})", "R R R>R  S0 S0 S0>S0!", nullptr, "R R R>R" },
    { "masked_scatter", { "8", "8", "3" }, "{}", "R R R>R", nullptr, nullptr },
    { "buffer_store_slice", { "8,16", "8,4" }, "{}", "R R>R  S0 S0>S0  S1 S1>S1!  P P>P", nullptr, "R R>R  S0 S0>S0  P P>P" },
    // pools and the rest
    { "max_pool2d", { "8,32,32,64" }, "{}", "R>R  S0>S0  S3>S3", nullptr, nullptr },
    { "avg_pool2d", { "8,32,32,64" }, "{}", "R>R  S0>S0  S3>S3  P>P", nullptr, nullptr },
    { "band_part", { "4,8,3" }, "{}", "R>R  S0>S0  P>P", nullptr, nullptr },
    { "fold", { "4,8,3" }, "{}", "R>R  S0>S0  P>P", nullptr, nullptr },
    { "as_interleaved_complex", { "4,8" }, "{}", "R>R  S0>S0  P>P", nullptr, nullptr },
    { "irfft", { "4,8" }, R"({"axis":0})", "R>R  S0>S0!  P>P", nullptr, "R>R  S1>S1  P>P" },
    { "resize", { "4,8,3" }, "{}", "R>R  S0>S0  P>P", nullptr, nullptr },
    { "while_loop", { "4", "8" }, "{}", "R R>R", nullptr, nullptr },
    { "custom_op", { "4", "8" }, R"({"like":1})", "= =>=1", nullptr, nullptr },
    // reshape depends on how its operand is cut
    { "reshape", { "4,8" }, R"({"shape":[32]})", "R>R  P>P", "R>R", "R>R  S0>S0  P>P" },
    { "reshape", { "4,8 S0" }, R"({"shape":[32]})", "R>R  S0>S0  P>P", "R>R=  S0>S0=", "R>R  S0>S0  P>P" },
    { "reshape", { "4,8 S1" }, R"({"shape":[32]})", "R>R  S1>S0!  P>P", "R>R", "R>R  S0>S0  P>P" },
    { "reshape", { "8,4 P" }, R"({"shape":[-1]})", "R>R  P>P", "R>R  P>P", "R>R  S0>S0  P>P" },
    { "reshape", { "6,4 S0" }, R"({"shape":[-1,8]})", "R>R  S0>S0!  P>P", "R>R", "R>R  S0>S0  P>P" },
    { "reshape", { "batch,4 S0" }, R"({"shape":["batch",4]})", "R>R  S0>S0  P>P", "R>R", "R>R  S1>S1  P>P" },
    { "reshape",
      { "batch,4 S0" },
      R"({"shape":["dim of input axis 0",2,2]})",
      "R>R  S0>S0  P>P",
      "R>R=  S0>S0=",
      "R>R  S0>S0  S1>S1  P>P" },
    { "reshape", { "batch,seq,64 S2" }, R"({"shape":[-1,64]})", "R>R  S2>S1  P>P", "R>R=  S2>S1=", "R>R  S0>S0  S2>S1  P>P" },
};

} // namespace

class TestMaxRules : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tablesCanBeRead() { QCOMPARE(QString::fromStdString(registryProblem()), QString()); }

    void rows_data()
    {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kRows.size(); ++i)
            QTest::addRow("%zu %s", i, kRows[i].op) << static_cast<int>(i);
    }
    void rows()
    {
        QFETCH(int, index);
        const Rows& rows = kRows[static_cast<std::size_t>(index)];
        const char* late = rows.late ? rows.late : rows.early;
        const std::pair<const char*, const char*> all[] = { { "G0", rows.early },
                                                            { "G1", rows.early },
                                                            { "G2", rows.early },
                                                            { "G3", late },
                                                            { "shardboard", rows.ours ? rows.ours : late } };
        for (const auto& [profile, expected] : all) {
            const std::string got = menuText(pickRequest(profile, rows.op, "tp=4", rows.operands, rows.attributes));
            QVERIFY2(got == expected,
                     (std::string(profile) + " " + rows.op + "\n  is      " + got + "\n  must be " + expected).c_str());
        }
    }

    void everyFamilyIsTried()
    {
        for (const OpFamily* family : allFamilies()) {
            const bool tried = std::ranges::any_of(kRows, [&](const Rows& r) { return findFamily(r.op) == family; });
            QVERIFY2(tried, family->name);
        }
    }

    void namesAreUnique()
    {
        std::map<std::string, int> seen;
        for (const OpFamily* family : allFamilies()) {
            ++seen[family->name];
            for (const char* alias : family->aliases)
                ++seen[alias];
        }
        for (const auto& [name, count] : seen)
            QVERIFY2(count == 1, name.c_str());
    }

    void ourRowsAreSound()
    {
        for (const Rows& rows : kRows) {
            const std::string ours = menuText(pickRequest("shardboard", rows.op, "tp=4", rows.operands, rows.attributes));
            QVERIFY2(ours.find('!') == std::string::npos, (std::string(rows.op) + ": " + ours).c_str());
        }
    }

    void refused_data()
    {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("operands"); // ; between them
        QTest::addColumn<QString>("attributes");
        QTest::addColumn<QString>("says");
        dataRow("dim out of range", "softmax", "4,8", R"({"axis":2})", "there is no dim 2");
        dataRow("dim of nothing", "softmax", "-", "{}", "there is no dim -1: the tensor has none");
        dataRow("contraction", "matmul", "4,8;6,4", "{}", "differ in size");
        dataRow("no dims", "matmul", "-;4", "{}", "has no dims");
        dataRow("two -1", "reshape", "4,8", R"({"shape":[-1,-1]})", "more than one -1");
        dataRow("elements", "reshape", "4,8", R"({"shape":[5,7]})", "another number of elements");
        dataRow("rest", "reshape", "4,8", R"({"shape":[-1,7]})", "does not divide");
        dataRow("no such source", "reshape", "4,8", R"({"shape":["dim of input axis 2",8]})", "which it does not have");
        dataRow("broadcast", "broadcast_to", "seq,8", R"({"shape":["batch",8]})", "neither 1 nor the target's");
        dataRow("broadcast rank", "broadcast_to", "4,8", R"({"shape":[8]})", "fewer dims");
        dataRow("order", "permute", "4,8", R"({"dims":[0,0]})", "not an order of the dims");
        dataRow("squeeze", "squeeze", "4,8", R"({"axis":0})", "another size than 1");
        dataRow("paddings", "pad", "4,8", R"({"paddings":[1,1]})", "two numbers for each dim");
        dataRow("repeats", "tile", "4,8", R"({"repeats":[1]})", "one number for each dim");
        dataRow("layout", "conv2d", "4,8,8,3;3,3,3,8", R"({"filter_layout":"FCRS"})", "ValueError: cannot be");
        dataRow("batch dims", "gather_nd", "4,8;4", R"({"batch_dims":2})", "not a number of leading dims");
        dataRow("operands", "add", "4", "{}", "takes 2 operands, found 1");
    }
    void refused()
    {
        QFETCH(QString, op);
        QFETCH(QString, operands);
        QFETCH(QString, attributes);
        QFETCH(QString, says);
        std::vector<std::string> list;
        for (const QString& operand : operands.split(QLatin1Char(';')))
            list.push_back(operand.toStdString());
        const std::string got = menuText(pickRequest("G1", op.toStdString(), "tp=4", list, attributes.toStdString()));
        QVERIFY2(got.find(says.toStdString()) != std::string::npos, got.c_str());
    }

    void expressions()
    {
        const Shape x { 4, 1, 8 };
        const std::vector<AttributeValue> values { { .number = 2 }, { .list = { 3, 1, 4 } } };
        const std::vector<AttributeSpec> specs { { .name = "axis" }, { .name = "list" } };
        PatternScope scope;
        scope.shapes = { &x };
        scope.attributes = &values;
        const auto value = [&](const char* text) {
            const auto read = Expression::parse(text, { specs, {} });
            return read.ok() ? read.value().value(scope) : -99;
        };
        QCOMPARE(value("r+1-axis"), 2);
        QCOMPARE(value("one(0,1) && !one(0,0)"), 1);
        QCOMPARE(value("one(0,7) || 0"), 1); // a dim that is not there counts as 1
        QCOMPARE(value("1-1-1"), -1);
        QCOMPARE(value("axis == 1 ? 10 : axis == 2 ? 20 : 30"), 20);
        QCOMPARE(value("index(list,4) + below(list,4) + len(list) + at(list,1)"), 2 + 2 + 3 + 1);
        QCOMPARE(value("has(list,1) && !has(list,2) && 3 >= 3 && 2 < 3 && max(2,min(9,5)) == 5"), 1);
        for (const char* wrong : { "r +", "(r", "nobody", "has(r,1)", "r r", "1 ?", "at(list" })
            QVERIFY2(!Expression::parse(wrong, { specs, {} }).ok(), wrong);
    }
};

SHARDBOARD_TEST(TestMaxRules)
#include "tst_maxrules.moc"
