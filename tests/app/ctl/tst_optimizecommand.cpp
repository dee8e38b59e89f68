// SPDX-License-Identifier: Apache-2.0
// shardctl optimize and sweep as a script sees them: the answer opens and costs what was said, what is refused, and how.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QDir>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

class TestOptimizeCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString m_design;

    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }
    static double seconds(const QJsonObject& plan) { return plan["totals"].toObject()["seconds"].toDouble(); }

private Q_SLOTS:
    void initTestCase()
    {
        m_design = path("d.shardboard");
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "--workload", "train", "--batch", "8",
                            "--sequence", "1024", "--preset", "megatron-tp", "-o", m_design })
                     .code,
                 0);
    }

    void answerCostsWhatItSays()
    {
        const QString best = path("best.shardboard");
        const Outcome answer = shardctl({ "optimize", m_design, "--memory", "none", "-o", best, "--json" });
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        const QJsonObject document = answer.json();
        QVERIFY(document["feasible"].toBool());
        QVERIFY(document["lower_bound"].toDouble() <= document["objective"].toDouble());
        QVERIFY(document["objective"].toDouble() < document["greedy"].toDouble());
        QVERIFY(document["certificate"].toObject()["not_exact"].isArray());
        QVERIFY(!document["changes"].toArray().isEmpty());
        const double before = seconds(shardctl({ "plan", m_design, "--json" }).json());
        QCOMPARE(before, document["greedy"].toDouble());
        QCOMPARE(seconds(shardctl({ "plan", best, "--json" }).json()), document["objective"].toDouble());
        QVERIFY(shardctl({ "optimize", m_design, "--memory", "none" }).out.contains("lower bound"));
        QVERIFY(seconds(shardctl({ "plan", m_design, "--picker", "optimal", "--json" }).json()) <= before);
    }

    void whatDoesNotFitIsSaid()
    {
        const Outcome refused = shardctl({ "optimize", m_design, "--memory", "1GiB", "--json" });
        QCOMPARE(refused.code, 3);
        QVERIFY2(refused.err.contains("more than the limit of 1 GiB"), qPrintable(refused.err));
        QVERIFY(!refused.json()["feasible"].toBool(true));
        QVERIFY(refused.json()["missing_bytes"].toDouble() > 0);
    }

    void pricesAreTold()
    {
        const Outcome answer = shardctl({ "optimize", m_design, "--memory", "40", "--what-if", "--json" });
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        const QJsonArray cases = answer.json()["what_if"].toArray();
        QVERIFY(answer.json()["what_if_complete"].toBool() && cases.size() > 4);
        for (const auto& one : cases) {
            const QJsonObject told = one.toObject();
            QVERIFY(told["what"] == QLatin1String("memory") ? told.contains("bytes") : told.contains("tensor"));
            if (told["feasible"].toBool())
                QCOMPARE(told["objective"].toDouble() - told["change"].toDouble(), answer.json()["objective"].toDouble());
        }
        const QString text = shardctl({ "optimize", m_design, "--memory", "40", "--what-if" }).out;
        QVERIFY2(text.contains("memory + 1 GiB") && text.contains("on every device"), qPrintable(text));
        QCOMPARE(shardctl({ "optimize", m_design, "--search", "mesh", "--what-if" }).code, 2);
    }

    void searchTakesLayouts()
    {
        const Outcome plain = shardctl({ "optimize", m_design, "--search", "micro-batches", "--memory", "none", "--json" });
        const Outcome answer =
            shardctl({ "optimize", m_design, "--search", "layouts,micro-batches", "--memory", "none", "--json" });
        QVERIFY2(plain.code == 0 && answer.code == 0, qPrintable(answer.err));
        QVERIFY(answer.json()["objective"].toDouble() <= plain.json()["objective"].toDouble());
        QVERIFY(answer.json()["lower_bound"].toDouble() <= answer.json()["objective"].toDouble());
        QVERIFY(answer.json()["certificate"].toObject()["not_exact"].isArray());
    }

    void searchWritesTheFront()
    {
        const QString folder = path("front");
        const Outcome answer = shardctl(
            { "optimize", m_design, "--search", "mesh,micro-batches,recompute", "--devices", "8", "--front", folder, "--json" });
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        const QJsonObject document = answer.json();
        QVERIFY(document["complete"].toBool());
        const QJsonArray front = document["front"].toArray();
        QVERIFY(!front.isEmpty());
        QCOMPARE(QDir(folder).entryList({ "*.shardboard" }).size(), front.size());
        for (const auto& entry : front) {
            const QJsonObject found = entry.toObject();
            const Outcome plan = shardctl({ "plan", found["file"].toString(), "--json" });
            QCOMPARE(plan.code, 0);
            QCOMPARE(seconds(plan.json()), found["seconds"].toDouble());
            for (const auto& other : front)
                QVERIFY(other == entry || other.toObject()["seconds"].toDouble() > found["seconds"].toDouble()
                        || other.toObject()["peak_bytes_per_device"].toDouble() > found["peak_bytes_per_device"].toDouble()
                        || other.toObject()["slowest_link_bytes"].toDouble() > found["slowest_link_bytes"].toDouble());
        }
        const Outcome none = shardctl({ "optimize", m_design, "--search", "mesh", "--memory", "1" });
        QCOMPARE(none.code, 3);
        QVERIFY2(none.err.contains("too much"), qPrintable(none.err));
    }

    void sweepPlansEveryPoint()
    {
        const Outcome answer =
            shardctl({ "sweep", m_design, "--batch", "8,16", "--micro-batches", "1..4", "--devices", "8,16,20", "--json" });
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        const QJsonArray points = answer.json()["points"].toArray();
        QCOMPARE(points.size(), 2 * 3 * 3);
        QCOMPARE(points[0].toObject()["seconds"].toDouble(), seconds(shardctl({ "plan", m_design, "--json" }).json()));
        QCOMPARE(points[1].toObject()["devices"].toInteger(), 16);
        QVERIFY(shardctl({ "sweep", m_design, "--batch", "8..64" }).out.contains("tok/s/device"));
        const Outcome over = shardctl({ "sweep", m_design, "--over", "batch=8,16,micro-batches=1..4,devices=8,16,20", "--json" });
        QVERIFY2(over.code == 0, qPrintable(over.err));
        QCOMPARE(over.json()["points"].toArray(), points);
    }

    void wrongUseIsSaid()
    {
        for (const QStringList& wrong : { QStringList { "--memory", "x" },
                                          { "--memory", "-1" },
                                          { "--memory", "nan" },
                                          { "--objective", "beauty" },
                                          { "--keep", "nothing*" },
                                          { "--forbid", "x" },
                                          { "--forbid", "x@" },
                                          { "--forbid", "*@nowhere" },
                                          { "--devices", "8" },
                                          { "--front", "f" },
                                          { "--within", "1" },
                                          { "--search", "luck" },
                                          { "--search", "" },
                                          { "--search", "order", "--devices", "8" },
                                          { "--search", "mesh", "--keep", "*" } }) {
            const Outcome refused = shardctl(QStringList { "optimize", m_design } + wrong);
            QVERIFY2(refused.code == 2, qPrintable(wrong.join(' ') + ": " + refused.err));
            QCOMPARE(refused.err.count('\n'), 1);
        }
        for (const char* time : { "0", "-1", "1e9" })
            QCOMPARE(shardctl({ "optimize", m_design, "--time", time }).code, 3);
        for (const char* values : { "0", "x", "4..2", "1,", "..", "99999999999999999999" })
            QCOMPARE(shardctl({ "sweep", m_design, "--batch", values }).code, 2);
        for (const char* over : { "", "batch", "batch=", "8", "batch=8,batch=16", "layers=2", "=1", "batch=8,", "batch==8" })
            QCOMPARE(shardctl({ "sweep", m_design, "--over", over }).code, 2);
        QCOMPARE(shardctl({ "sweep", m_design, "--over", "batch=8", "--batch", "16" }).code, 2);
        QCOMPARE(shardctl({ "optimize", path("none.shardboard") }).code, 3);
        QCOMPARE(shardctl({ "optimize" }).code, 2);
        QVERIFY(shardctl({ "optimize", "--help" }).out.contains("--memory"));
        QVERIFY(shardctl({ "sweep", "--help" }).out.contains("--batch"));
    }
};

SHARDBOARD_TEST(TestOptimizeCommand)
#include "tst_optimizecommand.moc"
