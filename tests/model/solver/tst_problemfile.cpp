// SPDX-License-Identifier: Apache-2.0
// Problem files: what is read, and that every fault of a file is one line with its place and what to do.
#include "model/io/problem/problemfile.h"
#include "model/solver/evaluate.h"
#include "model/solver/solve.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard;

namespace {

/// The contest's example; its best assignment costs 445.
constexpr const char* kExample = R"({"problem": {"name": "example", "nodes": {
    "intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
    "costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
    "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]]},
  "edges": {"nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
    "costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 30], [70, 60]]},
  "usage_limit": 50}})";

} // namespace

class TestProblemFile : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsTheExample()
    {
        const solver::Problem problem = sure(parseProblem(kExample, "e.json"));
        QCOMPARE(problem.name, std::string("example"));
        QCOMPARE(problem.nodes(), std::size_t { 5 });
        QCOMPARE(problem.strategies(2), 3);
        QCOMPARE(problem.edges.size(), std::size_t { 5 });
        QCOMPARE(*problem.limit, 50);
        const solver::Value value = solver::evaluate(problem, { 0, 0, 2, 1, 0 });
        QVERIFY(value.cost == 445 && !value.excess);
        const solver::Solution best = solver::solve(problem, {});
        QVERIFY(best.cost == 445 && best.optimal);
        // Another choice is over the limit: 25 + 10 + 20 from time 50 on.
        const solver::Value over = solver::evaluate(problem, { 0, 0, 1, 1, 0 });
        QVERIFY(over.excess && over.excess->time == 50 && over.excess->usage == 55);
    }

    void partsMayComeInAnyOrder()
    {
        const auto problem = sure(parseProblem(R"({"other":[1,{"a":null}],"problem":{"usage_limit":null,"edges":{"costs":[[-1,2]],
            "nodes":[[1,0]]},"nodes":{"usages":[[1,2],[3]],"costs":[[4,9223372036854775807],[-9223372036854775808]],
            "intervals":[[0,1],[5,2]]}}})",
                                               "o.json"));
        QVERIFY(!problem.limit);
        QVERIFY(solver::evaluate(problem, { 1, 0 }).cost == solver::Wide { 2 } - 1);
    }

    void faultsHaveAPlace_data()
    {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("message");
        dataRow("no JSON", "{\"problem\"", "x", "e.json:1:1: an object is expected here");
        dataRow("cut off", "\"usage_limit\": 50}}", "\"usage_limit\": 50", "e.json:7:20: ',' or '}' is missing");
        dataRow("text after", "50}}", "50}} x", "e.json:7:23: the document goes on after its end");
        dataRow("a fraction", "[15], [55", "[1.5], [55", "e.json:3:16: a whole number is expected here");
        dataRow("too large", "[15], [55", "[9223372036854775808], [55", "e.json:3:16: the number does not fit into 64 bits");
        dataRow("a word", "[15], [55", "[NaN], [55", "e.json:3:16: a whole number is expected here");
        dataRow("no strategy", "[95]]", "[]]", "e.json:problem.nodes.costs[4]: the node has no strategy");
        dataRow("usages", "[25, 25]", "[25]", "e.json:problem.nodes.usages[1]: has 1 entries, and needs 2");
        dataRow("intervals", "[[30, 70], ", "[", "e.json:problem.nodes.intervals: has 4 entries, and needs 5");
        dataRow("interval of three", "[30, 70]", "[30, 70, 1]", "an interval has 3 numbers");
        dataRow("no such node", "[3, 4]]", "[3, 5]]", "e.json:problem.edges.nodes[4]: there is no node 5");
        dataRow("negative node", "[3, 4]]", "[-1, 4]]", "e.json:problem.edges.nodes[4]: there is no node -1");
        dataRow("edge's costs", "[70, 60]", "[70]", "e.json:problem.edges.costs[4]: has 1 entries, and needs 2");
        dataRow("edges", ", [70, 60]", "", "e.json:problem.edges.costs: has 4 entries, and needs 5");
        dataRow("no nodes", "\"nodes\": {", "\"n\": {", "e.json:problem.nodes: is missing");
        dataRow("no problem", "\"problem\"", "\"p\"", "e.json:problem: is missing");
    }
    void faultsHaveAPlace()
    {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, message);
        const QString text = QString::fromUtf8(kExample).replace(from, to);
        QVERIFY(text != kExample);
        const auto problem = parseProblem(text.toStdString(), "e.json");
        QVERIFY(!problem.ok());
        const QString line = QString::fromStdString(problem.error().text());
        QVERIFY2(line.contains(message) && line.contains("; ") && !line.contains('\n'), qPrintable(line));
    }

    void anyPrefixIsRefused()
    {
        const std::string text = kExample;
        for (std::size_t size = 0; size < text.size(); ++size)
            QVERIFY(!parseProblem(text.substr(0, size), "e.json").ok());
        QVERIFY(!parseProblem(std::string(100000, '['), "e.json").ok());
        QVERIFY(!parseProblem("{\"problem\":" + std::string(100000, '{'), "e.json").ok());
    }

    void compressedFiles()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("e.json"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(kExample) > 0);
        file.close();
        QVERIFY(readProblem(path.toStdString()).ok());
        if (QProcess::execute(QStringLiteral("gzip"), { QStringLiteral("-k"), path }) != 0)
            QSKIP("there is no gzip");
        const std::string packed = path.toStdString() + ".gz";
        const auto problem = readProblem(packed);
        if (!problem.ok() && problem.error().text().find("no zlib") != std::string::npos)
            QSKIP("built without zlib");
        QCOMPARE(sure(problem).nodes(), std::size_t { 5 });
        QFile cut(QString::fromStdString(packed));
        QVERIFY(cut.resize(cut.size() / 2));
        QVERIFY(readProblem(packed).error().text().find("is cut off") != std::string::npos);
        QVERIFY(!readProblem(folder.path().toStdString()).ok());
    }
};

SHARDBOARD_TEST(TestProblemFile)
#include "tst_problemfile.moc"
