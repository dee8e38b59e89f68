// SPDX-License-Identifier: Apache-2.0
// Under a limit on memory, however low, a command does what it is asked to, or says in one line that there is not
// enough.
#include "tests/support/rawrun.h"
#include "tests/support/runner.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

using namespace shardboard::test;

class TestLittleMemory : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::string at(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)).toStdString(); }

private Q_SLOTS:
    void initTestCase()
    {
#if defined(__SANITIZE_ADDRESS__)
        QSKIP("a sanitizer takes more addresses than there is memory");
#endif
        const RawOutcome made = shardctlRaw({ "new", "--model", "tinyllama-1.1b", "--mesh", "data=2,model=2", "--preset",
                                              "megatron-tp", "--batch", "2", "--sequence", "16", "-o", at("d.shardboard") });
        QVERIFY2(made.code == 0, made.err.c_str());
        // So many values that the JSON library wants more memory to free them than is kept in reserve.
        QFile many(m_folder.filePath(QStringLiteral("many.shardboard")));
        QVERIFY(many.open(QIODevice::WriteOnly));
        QByteArray design =
            "{'format':'shardboard','version':1,'hardware':'dgx-h100','mesh':{'axes':['data'],'sizes':[2]},"
            "'picker':{'profile':'shardboard','allow_partial_to_sharded':false},"
            "'strategies':[{'match':'*','strategy':'replicate'}],"
            "'workload':{'kind':'prefill','batch':8,'sequence':64,'dtype':'bf16'},"
            "'model':{'name':'m','source':'m','family':'','dtype':'bf16','not_understood':'made for a test','weights':[";
        for (int i = 0; i < 80000; ++i)
            design += QByteArray(i == 0 ? "" : ",") + "{'name':'w." + QByteArray::number(i) + "','dtype':'bf16','shape':[3,5]}";
        design += "]}}";
        QVERIFY(many.write(design.replace('\'', '"')) > 0);
        many.close();
    }

    void commandsEndInOrder_data()
    {
        QTest::addColumn<QStringList>("words");
        const QString design = m_folder.filePath(QStringLiteral("d.shardboard"));
        QTest::newRow("plan") << QStringList { "plan", design, "--json" };
        QTest::newRow("check") << QStringList { "check", design };
        QTest::newRow("dump") << QStringList { "dump", design, "-o", m_folder.filePath(QStringLiteral("dumped")) };
        QTest::newRow("many weights") << QStringList { "plan", m_folder.filePath(QStringLiteral("many.shardboard")), "--json" };
        QTest::newRow("diff") << QStringList { "diff", design, design, "--json" };
        QTest::newRow("new") << QStringList {
            "new", "--model", "llama3-8b", "--mesh", "data=2", "-o", m_folder.filePath(QStringLiteral("n"))
        };
        QTest::newRow("large tiles") << QStringList { "tiles",       "--shape", "4096,4096",  "--mesh",
                                                      "a=128,b=128", "--spec",  "P('a','b')", "--json" };
        QTest::newRow("explain") << QStringList { "explain", design, "*", "--json" };
        QTest::newRow("run") << QStringList { "run", design, "--layers", "1", "--verify" };
        QTest::newRow("run of processes") << QStringList { "run", design,     "--layers",
                                                           "1",   "--engine", "shardboard-engine-that-is-not-there" };
    }
    void commandsEndInOrder()
    {
        QFETCH(QStringList, words);
        std::vector<std::string> arguments;
        for (const QString& word : words)
            arguments.push_back(word.toStdString());
        const bool runs = words.front() == QLatin1String("run");
        for (rlim_t mib = 24; mib <= (runs ? 352U : 64U); mib += runs ? 24 : 4) {
            const RawOutcome outcome = shardctlRaw(arguments, { .addressBytes = mib << 20 });
            const std::string told = std::to_string(mib) + " MiB: " + std::to_string(outcome.code) + ": " + outcome.err;
            QVERIFY2(outcome.signal == 0, told.c_str());
            if (outcome.code == 127 && outcome.err.find("error while loading shared libraries") != std::string::npos)
                continue; // it is the system that does not start it
            QVERIFY2(outcome.code == 0
                         || outcome.code
                             == (runs                                          ? 4
                                     : words.front() == QLatin1String("check") ? 1
                                                                               : 3)
                         || outcome.code == 3,
                     told.c_str());
            if (outcome.code <= 1 || words.last().endsWith(QLatin1String("not-there")))
                continue;
            QVERIFY2(outcome.out.empty(), told.c_str());
            const auto last = outcome.err.rfind('\n', outcome.err.size() - 2);
            const std::string line = outcome.err.substr(last == std::string::npos ? 0 : last + 1);
            QVERIFY2(line.starts_with("shardctl: ") && line.find("memory") != std::string::npos
                         && line.find("; ") != std::string::npos,
                     told.c_str());
        }
    }
};

SHARDBOARD_TEST(TestLittleMemory)
#include "tst_littlememory.moc"
