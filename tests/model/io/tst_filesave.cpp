// SPDX-License-Identifier: Apache-2.0
// Saving: what is there stays whole until all of the new is there, and nothing else is left.
#include "model/io/file/filesave.h"
#include "model/io/file/textfile.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace shardboard;

namespace {

QStringList filesIn(const QTemporaryDir& folder)
{
    return QDir(folder.path()).entryList(QDir::Files | QDir::Hidden | QDir::System, QDir::Name);
}

std::string in(const QTemporaryDir& folder, const std::string& name) { return folder.path().toStdString() + "/" + name; }

/// A process that is killed in the middle of a save.
void killWhileSaving(const std::string& path)
{
    const pid_t child = ::fork();
    if (child == 0) {
        auto save = FileSave::begin(path);
        if (save.ok())
            save.value().append(std::string(1 << 20, 'x'));
        ::raise(SIGKILL);
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

} // namespace

class TestFileSave : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void namesAsLongAsNamesCanBe()
    {
        QTemporaryDir folder;
        for (const std::size_t length : { 1U, 248U, 249U, 254U, 255U }) {
            const std::string path = in(folder, std::string(length, 'n'));
            const auto status = writeFileAtomically(path, "text");
            QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
            QVERIFY(writeFileAtomically(path, "other").ok());
            QCOMPARE(readTextFile(path).value(), std::string("other"));
        }
        QCOMPARE(filesIn(folder).size(), 5);
        const auto status = writeFileAtomically(in(folder, std::string(256, 'n')), "text");
        QVERIFY(!status.ok());
        QVERIFY2(status.error().what == "cannot be written: File name too long", status.error().text().c_str());
        QCOMPARE(filesIn(folder).size(), 5);
    }

    void namesThatAreNoUtf8()
    {
        QTemporaryDir folder;
        const std::string path = in(folder, "o\xff\xc0\xaf.shardboard");
        QVERIFY(writeFileAtomically(path, "text").ok());
        QCOMPARE(readTextFile(path).value(), std::string("text"));
        QCOMPARE(::unlink(path.c_str()), 0); // QTemporaryDir cannot
    }

    void aKillLeavesWhatWasThereAndNothingForEver()
    {
        QTemporaryDir folder;
        const std::string path = in(folder, "d.shardboard");
        QVERIFY(writeFileAtomically(path, "old").ok());
        killWhileSaving(path);
        QCOMPARE(readTextFile(path).value(), std::string("old"));
        QCOMPARE(filesIn(folder).size(), 2); // so that what follows shows something
        killWhileSaving(in(folder, "other"));
        QCOMPARE(filesIn(folder).size(), 2);
        QVERIFY(writeFileAtomically(in(folder, "third"), "new").ok());
        QCOMPARE(filesIn(folder), QStringList({ QStringLiteral("d.shardboard"), QStringLiteral("third") }));
    }

    void savesAtTheSameTimeLeaveEachOtherAlone()
    {
        QTemporaryDir folder;
        auto one = FileSave::begin(in(folder, "one"));
        auto two = FileSave::begin(in(folder, "two"));
        QVERIFY(one.ok() && two.ok());
        one.value().append("1");
        two.value().append("2");
        QVERIFY(writeFileAtomically(in(folder, "three"), "3").ok());
        QVERIFY(one.value().finish().ok());
        QVERIFY(two.value().finish().ok());
        QCOMPARE(filesIn(folder), QStringList({ QStringLiteral("one"), QStringLiteral("three"), QStringLiteral("two") }));
        QCOMPARE(readTextFile(in(folder, "two")).value(), std::string("2"));
    }

    void filesOfOthersStay()
    {
        QTemporaryDir folder;
        const QStringList others { QStringLiteral(".shardboard-saving-"), QStringLiteral(".shardboard-saving-abc"),
                                   QStringLiteral(".shardboard-saving-abcdefg"), QStringLiteral("d.shardboard.abcdef") };
        for (const QString& name : others) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
        }
        // Named as ours, but a link, a folder and a pipe.
        QVERIFY(QFile::link(QStringLiteral("d.shardboard.abcdef"), folder.filePath(QStringLiteral(".shardboard-saving-link00"))));
        QVERIFY(QDir(folder.path()).mkdir(QStringLiteral(".shardboard-saving-folder")));
        QCOMPARE(::mkfifo(in(folder, ".shardboard-saving-pipe00").c_str(), 0600), 0);
        const int before = static_cast<int>(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::System).size());
        QVERIFY(writeFileAtomically(in(folder, "new"), "text").ok());
        QCOMPARE(static_cast<int>(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::System).size()),
                 before + 1);
    }

    void aSaveThatIsNotFinishedLeavesNothing()
    {
        QTemporaryDir folder;
        {
            auto save = FileSave::begin(in(folder, "d"));
            QVERIFY(save.ok());
            save.value().append("text");
            const FileSave moved = std::move(save).value();
            QCOMPARE(filesIn(folder).size(), 1);
        }
        QVERIFY(filesIn(folder).isEmpty());
    }

    void manyPiecesAreOneFile()
    {
        QTemporaryDir folder;
        std::string expected;
        auto save = sure(FileSave::begin(in(folder, "d")));
        for (std::size_t i = 0; i < 300; ++i) {
            const std::string piece(i * i * 7 % 5000 + (i == 150 ? 1'000'000 : 0), static_cast<char>('a' + i % 26));
            save.append(piece);
            expected += piece;
        }
        QVERIFY(save.finish().ok());
        QVERIFY(readTextFile(in(folder, "d")).value() == expected);
    }

    void linksStayLinks()
    {
        QTemporaryDir folder;
        QVERIFY(QDir(folder.path()).mkdir(QStringLiteral("sub")));
        QVERIFY(QFile::link(QStringLiteral("middle"), folder.filePath(QStringLiteral("link"))));
        QVERIFY(QFile::link(QStringLiteral("sub/real"), folder.filePath(QStringLiteral("middle"))));
        for (const char* text : { "made through the link", "and replaced" }) {
            QVERIFY(writeFileAtomically(in(folder, "link"), text).ok());
            QVERIFY(QFileInfo(folder.filePath(QStringLiteral("link"))).isSymLink());
            QCOMPARE(readTextFile(in(folder, "sub/real")).value(), std::string(text));
        }
        QVERIFY(QFile::link(QStringLiteral("round"), folder.filePath(QStringLiteral("round"))));
        QVERIFY(!writeFileAtomically(in(folder, "round"), "text").ok());
        QVERIFY(QFileInfo(folder.filePath(QStringLiteral("round"))).isSymLink());
    }

    void aFullDiskIsTold()
    {
        if (QFileInfo(QStringLiteral("/dev/full")).exists())
            QVERIFY(!writeFileAtomically("/dev/full", "text").ok()); // refused as no regular file
        QTemporaryDir folder;
        const std::string path = in(folder, "d");
        QVERIFY(writeFileAtomically(path, "old").ok());
        const pid_t child = ::fork();
        if (child == 0) {
            struct rlimit limit {
                1000, 1000
            };
            ::setrlimit(RLIMIT_FSIZE, &limit);
            std::signal(SIGXFSZ, SIG_IGN);
            const auto status = writeFileAtomically(path, std::string(1 << 20, 'x'));
            ::_exit(!status.ok() && status.error().text().find("untouched") != std::string::npos ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        QCOMPARE(readTextFile(path).value(), std::string("old"));
        QCOMPARE(filesIn(folder), QStringList { QStringLiteral("d") });
    }
};

SHARDBOARD_TEST(TestFileSave)
#include "tst_filesave.moc"
