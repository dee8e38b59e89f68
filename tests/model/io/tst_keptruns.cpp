// SPDX-License-Identifier: Apache-2.0
// Runs are kept whole or not at all, come back as they were, and a damaged one does not hide the others.
#include "model/io/file/textfile.h"
#include "model/io/runs/keptruns.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTest>

using namespace shardboard;

namespace {

NewRun someRun(const std::string& made = "2026-11-23T21:53:01Z")
{
    NewRun run;
    run.made = made;
    run.design = "llama 3.shardboard";
    run.hardware = "dgx-h100";
    run.mesh = "data=2,model=4";
    run.options.layers = 2;
    run.result.backend = "cpu";
    run.result.devices = 8;
    run.result.stepMedian = 0.5;
    run.result.operations = { { .id = "a", .kind = "matmul", .medianSeconds = 0.1, .count = 2 },
                              { .id = "b", .kind = "all-reduce", .medianSeconds = 0.2, .bytes = 64 } };
    run.designText = "{\"any\": \"text\"}\n";
    return run;
}

} // namespace

class TestKeptRuns : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        m_root = m_folder->filePath(QStringLiteral("runs")).toStdString();
    }

    void comesBackAsItWas()
    {
        QVERIFY(sure(keptRuns(m_root)).empty()); // no folder yet
        (void)sure(keepRun(m_root, "first", someRun()));
        (void)sure(keepRun(m_root, "later", someRun("2026-11-24T00:00:00Z")));
        const auto runs = sure(keptRuns(m_root));
        QCOMPARE(runs.size(), std::size_t { 2 });
        QCOMPARE(runs.front().name, std::string("later"));
        const KeptRun run = sure(keptRun(m_root, "first"));
        QCOMPARE(run.design, std::string("llama 3.shardboard"));
        QCOMPARE(run.mesh, std::string("data=2,model=4"));
        QCOMPARE(run.options.layers, std::int64_t { 2 });
        QCOMPARE(toJson(run.result), toJson(someRun().result));
        QCOMPARE(sure(readTextFile(keptDesignPath(m_root, "first"))), someRun().designText);
        QVERIFY(!sure(keptProfile(m_root, "first")));
        std::int64_t bytes = 0;
        for (const QFileInfo& file : QDir(m_folder->filePath(QStringLiteral("runs/first"))).entryInfoList(QDir::Files))
            bytes += file.size();
        QCOMPARE(run.bytes, bytes);
    }

    void takesNoNameTwice()
    {
        (void)sure(keepRun(m_root, "one", someRun()));
        NewRun other = someRun();
        other.designText = "other";
        QVERIFY(!keepRun(m_root, "one", other).ok());
        QCOMPARE(sure(readTextFile(keptDesignPath(m_root, "one"))), someRun().designText);
        (void)sure(keepRun(m_root, "two", someRun()));
        QVERIFY(!renameRun(m_root, "two", "one").ok());
        (void)sure(renameRun(m_root, "two", "three"));
        QVERIFY(keptRun(m_root, "three").ok() && !keptRun(m_root, "two").ok());
        QCOMPARE(QDir(m_folder->filePath(QStringLiteral("runs")))
                     .entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot)
                     .size(),
                 2);
    }

    void freshNamesAreFree()
    {
        const std::string made = "2026-11-23T21:53:01Z";
        const std::string name = freshRunName(m_root, "/some/where/llama 3.shardboard", made);
        QCOMPARE(name, std::string("llama-3-20261123-215301"));
        (void)sure(keepRun(m_root, name, someRun()));
        QCOMPARE(freshRunName(m_root, "llama 3.shardboard", made), name + "-2");
        QVERIFY(checkRunName(freshRunName(m_root, "\xC3\xA9/../..hidden", made)).ok());
        QVERIFY(checkRunName(timeStamp()).ok() == false && timeStamp().size() == made.size());
    }

    /// One that begins with a '-' would be an option; an older run of such a name can still be read, renamed, and deleted.
    void namesAreNoOptions()
    {
        for (const char* name : { "-json", "--json", "-" }) {
            QVERIFY2(!keepRun(m_root, name, someRun()).ok(), name);
            QVERIFY(checkRunName(name).ok() && !checkNewName(name).ok());
        }
        QVERIFY(!freshRunName(m_root, "-json.shardboard", "2026-11-23T21:53:01Z").starts_with('-'));
        (void)sure(keepRun(m_root, "old", someRun()));
        QVERIFY(QDir(QString::fromStdString(m_root)).rename(QStringLiteral("old"), QStringLiteral("-json")));
        QVERIFY(keptRun(m_root, "-json").ok());
        QVERIFY(!renameRun(m_root, "-json", "-other").ok());
        (void)sure(renameRun(m_root, "-json", "new"));
        QVERIFY(keptRun(m_root, "new").ok());
    }

    void namesStayInTheFolder()
    {
        for (const char* name : { "", ".", "..", "../x", "a/b", ".hidden", "a b", "a\nb" }) {
            QVERIFY2(!checkRunName(name).ok(), name);
            QVERIFY(!keepRun(m_root, name, someRun()).ok());
            QVERIFY(!removeRun(m_root, name).ok());
            QVERIFY(!keptRun(m_root, name).ok());
            QVERIFY(!renameRun(m_root, "x", name).ok());
        }
        QVERIFY(!checkRunName(std::string(101, 'a')).ok());
        QVERIFY(!QDir(QString::fromStdString(m_root)).exists());
    }

    void aDamagedRunHidesNoOther()
    {
        (void)sure(keepRun(m_root, "good", someRun()));
        for (const char* file : { "kept.json", "run.json" })
            for (const char* text : { "", "[]", "{\"format\":\"shardboard-run\"", "{\"format\":\"other\",\"version\":1}" }) {
                (void)removeRun(m_root, "bad");
                (void)sure(keepRun(m_root, "bad", someRun()));
                (void)sure(writeFileAtomically(m_root + "/bad/" + file, text));
                const auto runs = sure(keptRuns(m_root));
                QCOMPARE(runs.size(), std::size_t { 2 });
                int problems = 0;
                for (const KeptRun& run : runs) {
                    problems += run.problem.empty() ? 0 : 1;
                    QVERIFY(run.name != "good" || run.problem.empty());
                    QVERIFY2(run.problem.empty() || run.problem.find(file) != std::string::npos, run.problem.c_str());
                }
                QCOMPARE(problems, 1);
            }
    }

    void removesWhatItWrote()
    {
        (void)sure(keepRun(m_root, "one", someRun()));
        (void)sure(writeFileAtomically(m_root + "/one/notes.txt", "mine"));
        (void)sure(removeRun(m_root, "one"));
        QCOMPARE(sure(readTextFile(m_root + "/one/notes.txt")), std::string("mine"));
        QVERIFY(sure(keptRuns(m_root)).empty());
        QVERIFY(!removeRun(m_root, "one").ok());
    }

    void differencesByWhatTheyCost()
    {
        RunResult a = someRun().result;
        RunResult b = a;
        b.operations[0].medianSeconds = 0.11; // twice: 20 ms
        b.operations[1].medianSeconds = 0.15; // 50 ms less
        b.operations.push_back({ .id = "c", .kind = "matmul", .medianSeconds = 0.01, .count = 1 });
        const auto differences = compareRuns(a, b);
        QCOMPARE(differences.size(), std::size_t { 3 });
        QCOMPARE(differences[0].id, std::string("b"));
        QVERIFY(std::abs(differences[0].lost() + 0.05) < 1e-12);
        QVERIFY(std::abs(differences[1].lost() - 0.02) < 1e-12);
        QCOMPARE(differences[2].countA, std::int64_t { 0 });
        double sum = 0;
        for (const RunDifference& one : differences)
            sum += one.lost();
        QVERIFY(std::abs(sum - (0.02 - 0.05 + 0.01)) < 1e-12);
    }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
    std::string m_root;
};

SHARDBOARD_TEST(TestKeptRuns)

#include "tst_keptruns.moc"
