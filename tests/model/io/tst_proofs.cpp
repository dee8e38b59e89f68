// SPDX-License-Identifier: Apache-2.0
// Records of what real frameworks have confirmed: as the scripts of tests/peers write them, and those that come with the program.
#include "model/io/exports/exporttext.h"
#include "model/io/exports/proofs.h"
#include "model/io/targets/targets.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;

class TestProofs : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void recordsAreRead()
    {
        const auto read = readProjectProofs(R"([
  {"target": "jax", "peer": "JAX 0.12.0.1", "date": "2026-11-23", "exports": 44, "tensors": 12034, "refused": 3},
  {"target": "hf", "peer": "transformers 5.23", "date": "2026-11-20", "exports": 1, "tensors": 9, "refused": 0, "more": true}
])",
                                            "proofs.json");
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        QCOMPARE(read.value().size(), std::size_t { 2 });
        const ProjectProof& jax = read.value().front();
        QCOMPARE(jax.target, std::string("jax"));
        QCOMPARE(jax.tensors, std::int64_t { 12034 });
        QCOMPARE(jax.refused, std::int64_t { 3 });
        QCOMPARE(projectProofText(jax), std::string("checked by the project with JAX 0.12.0.1 on 2026-11-23, 44 exports"));
        QCOMPARE(projectProofText(read.value()[1]),
                 std::string("checked by the project with transformers 5.23 on 2026-11-20, 1 export"));
        QVERIFY(readProjectProofs("[]", "proofs.json").value().empty());
    }

    void whatIsNoRecordIsNamed_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("named");
        QTest::newRow("no JSON") << QStringLiteral("[") << QStringLiteral("proofs.json");
        QTest::newRow("no list") << QStringLiteral("{}") << QStringLiteral("not a list");
        QTest::newRow("no peer") << QStringLiteral(R"([{"target":"jax","date":"2026-11-23","exports":1}])")
                                 << QStringLiteral("peer");
        QTest::newRow("nothing proven") << QStringLiteral(R"([{"target":"jax","peer":"JAX 1","date":"2026-11-23","exports":0}])")
                                        << QStringLiteral("exports");
        QTest::newRow("date") << QStringLiteral(R"([{"target":"jax","peer":"JAX 1","date":"today","exports":1}])")
                              << QStringLiteral("today");
    }

    void whatIsNoRecordIsNamed()
    {
        QFETCH(QString, text);
        QFETCH(QString, named);
        const auto read = readProjectProofs(text.toStdString(), "proofs.json");
        QVERIFY(!read.ok());
        QVERIFY2(QString::fromStdString(read.error().text()).contains(named), read.error().text().c_str());
    }

    /// They can be read, are of targets that there are, and come newest first.
    void recordsOfTheProgram()
    {
        const std::string_view text = exportText("proofs.json");
        if (!text.empty()) {
            const auto all = readProjectProofs(std::string(text), "proofs.json");
            QVERIFY2(all.ok(), all.ok() ? "" : all.error().text().c_str());
            for (const ProjectProof& proof : all.value())
                QVERIFY2(findExportTarget(proof.target) != nullptr, proof.target.c_str());
        }
        for (const ExportTarget& target : exportTargets()) {
            const std::vector<ProjectProof> own = projectProofsOf(target.id);
            for (std::size_t i = 0; i < own.size(); ++i)
                QVERIFY(own[i].target == target.id && (i == 0 || own[i - 1].date >= own[i].date));
        }
        QVERIFY(projectProofsOf("no such target").empty());
    }
};

SHARDBOARD_TEST(TestProofs)

#include "tst_proofs.moc"
