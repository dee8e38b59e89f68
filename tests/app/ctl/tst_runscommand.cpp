// SPDX-License-Identifier: Apache-2.0
// shardctl run --keep, runs, and trace as a script sees them: a run is kept, found again, compared, and its trace has the plan's
// collectives.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QDir>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

class TestRunsCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }
    Outcome runs(const QStringList& words) const
    {
        return shardctl(QStringList { "runs" } + words + QStringList { "--folder", path("kept") });
    }

private Q_SLOTS:
    void initTestCase()
    {
        QCOMPARE(shardctl({ "new", "--model", "column-parallel-linear", "--in-dim", "64", "--out-dim", "32", "--mesh",
                            "data=2,model=2", "--preset", "megatron-tp", "-o", path("d.shardboard") })
                     .code,
                 0);
    }

    void aRunIsKept()
    {
        QCOMPARE(runs({ "list" }).code, 0);
        for (const char* name : { "one", "two" }) {
            const Outcome run = shardctl({ "run", path("d.shardboard"), "--keep", path("kept"), "--name", name });
            QVERIFY2(run.code == 0 && run.err.contains(QStringLiteral("kept as ") + name), qPrintable(run.err));
        }
        const QJsonObject list = runs({ "list", "--json" }).json();
        QCOMPARE(list["runs"].toArray().size(), 2);
        QVERIFY(list["bytes"].toInteger() > 1000);
        const QJsonObject one = runs({ "show", "one", "--json" }).json();
        QCOMPARE(one["mesh"].toString(), QStringLiteral("data=2,model=2"));
        QCOMPARE(shardctl({ "plan", one["design_file"].toString() }).code, 0); // the design as it was
        const QJsonObject compared = runs({ "compare", "one", "two", "--json" }).json();
        QCOMPARE(compared["operations"].toArray().size(), one["run"].toObject()["operations"].toArray().size());
        QVERIFY(runs({ "compare", "one", "two" }).out.startsWith(QLatin1String("a step: ")));
        QCOMPARE(runs({ "rename", "two", "three" }).code, 0);
        QCOMPARE(runs({ "delete", "three" }).code, 0);
        QCOMPARE(QDir(path("kept")).entryList(QDir::Dirs | QDir::NoDotAndDotDot), QStringList { "one" });
        // A name is taken: nothing is lost, and it is said.
        const Outcome again = shardctl({ "run", path("d.shardboard"), "--keep", path("kept"), "--name", "one" });
        QCOMPARE(again.code, 3);
        QVERIFY(again.err.contains(QLatin1String("there is a run of this name")));
    }

    void wrongWordsAreRefused()
    {
        const auto refused = [&](const QStringList& words, int code, const char* says) {
            const Outcome outcome = runs(words);
            QVERIFY2(outcome.code == code && outcome.err.contains(QLatin1String(says)), qPrintable(outcome.err));
            QCOMPARE(outcome.err.count('\n'), 1);
        };
        refused({ "shwo" }, 2, "use list, show, compare, rename, or delete");
        refused({ "show" }, 2, "it takes 1 name");
        refused({ "compare", "one" }, 2, "it takes 2 names");
        refused({ "show", "nothing" }, 3, "there is no such run");
        refused({ "delete", "../d.shardboard" }, 2, "cannot be one");
        QCOMPARE(shardctl({ "run", path("d.shardboard"), "--name", "x" }).code, 2);
    }

    void aTraceHasThePlansCollectives()
    {
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "model=2", "--preset", "megatron-tp", "--batch", "1",
                            "--sequence", "8", "-o", path("m.shardboard") })
                     .code,
                 0);
        QCOMPARE(shardctl({ "run", path("m.shardboard"), "--layers", "1", "--no-ends", "--trace", path("t.json") }).code, 0);
        const QJsonObject document = shardctl({ "trace", path("t.json"), "--design", path("m.shardboard"), "--json" }).json();
        std::int64_t seen = 0;
        for (const QJsonValue& row : document["collectives"].toArray())
            seen += row["count"].toInteger();
        QVERIFY(seen > 0);
        QCOMPARE(document["plan"].toObject()["matched"].toInteger(), seen);
        QVERIFY(document["plan"].toObject()["unmatched"].toArray().isEmpty());
        QVERIFY(shardctl({ "trace", path("t.json") }).out.contains(QLatin1String("all-reduce")));
        QCOMPARE(shardctl({ "trace", path("d.shardboard") }).code, 3);
        QCOMPARE(shardctl({ "trace", path("nothing.json") }).code, 3);
    }
};

SHARDBOARD_TEST(TestRunsCommand)

#include "tst_runscommand.moc"
