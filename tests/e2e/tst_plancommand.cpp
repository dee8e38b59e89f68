// SPDX-License-Identifier: Apache-2.0
// shardctl plan --against: two design files side by side, as text and as a document.
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

using namespace shardboard::test;

class TestPlanCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void initTestCase()
    {
        const auto make = [&](const char* mesh, const char* preset, const char* file) {
            return shardctl({ "new", "--model", "llama3-8b", "--mesh", mesh, "--preset", preset, "--batch", "8", "--sequence", "2048",
                              "-o", path(file) })
                .code;
        };
        QCOMPARE(make("data=2,model=4", "megatron-tp", "tp.shardboard"), 0);
        QCOMPARE(make("data=8,model=1", "replicate", "whole.shardboard"), 0);
    }

    void asText()
    {
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("whole.shardboard") });
        QCOMPARE(it.code, 0);
        for (const char* text : { "what differs", "whole.shardboard", "tp.shardboard", "data=8,model=1", "data=2,model=4",
                                  "tokens/s on each device", "memory per device", "better", "worse", "all-reduce over model" })
            QVERIFY2(it.out.contains(QLatin1String(text)), text);
        QVERIFY(!it.out.contains(QLatin1String("nan")) && !it.out.contains(QLatin1String("inf ")));
    }

    void asDocument()
    {
        const auto figures = [&](const char* file) { return shardctl({ "plan", path(file), "--json" }).json(); };
        const QJsonObject it = shardctl({ "plan", path("tp.shardboard"), "--against", path("whole.shardboard"), "--json" }).json();
        QCOMPARE(it["same"].toBool(), false);
        bool seen = false;
        for (const QJsonValue& line : it["costs"].toArray()) {
            if (line["key"].toString() != QLatin1String("memory_peak_bytes"))
                continue;
            seen = true;
            QCOMPARE(line["verdict"].toString(), QString("better"));
            // The same figures as each file has alone.
            QVERIFY(line["after"].toDouble() > 0 && line["after"].toDouble() < line["before"].toDouble());
            QCOMPARE(line["after"].toDouble(), figures("tp.shardboard")["memory"].toObject()["peak_bytes_per_device"].toDouble());
            QCOMPARE(line["before"].toDouble(), figures("whole.shardboard")["memory"].toObject()["peak_bytes_per_device"].toDouble());
        }
        QVERIFY(seen);
    }

    void withItself()
    {
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("tp.shardboard") });
        QCOMPARE(it.code, 0);
        QVERIFY(it.out.startsWith(QLatin1String("Both designs say the same.")));
        QVERIFY(!it.out.contains(QLatin1String("worse")));
    }

    void otherFileMissing()
    {
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("missing.shardboard") });
        QCOMPARE(it.code, 3);
        QVERIFY(it.err.contains(QLatin1String("missing.shardboard")));
        QCOMPARE(it.err.count(QLatin1Char('\n')), 1);
    }
};

QTEST_APPLESS_MAIN(TestPlanCommand)
#include "tst_plancommand.moc"
