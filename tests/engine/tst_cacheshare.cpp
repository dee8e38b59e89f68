// SPDX-License-Identifier: Apache-2.0
// The share of the caches: the decision on machines that are made up, what is kept of it, and what is said about a
// wrong setting. Nothing here depends on the machine that it runs on.
#include "engine/machine/cacheshare.h"
#include "engine/machine/failure.h"
#include "engine/machine/keptcacheshare.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <random>

#include <sys/stat.h>

using namespace shardboard::engine;

namespace {

constexpr std::int64_t kMiB = std::int64_t { 1 } << 20;

/// Ordinary stores are twice as fast within a share and half as fast beyond it.
std::function<double(std::int64_t)> machineWith(std::int64_t share)
{
    return [share](std::int64_t bytes) { return bytes <= share ? 2.0 : 0.5; };
}

} // namespace

class TestCacheShare : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        QVERIFY(m_folder.isValid());
        qputenv("XDG_CACHE_HOME", QFile::encodeName(m_folder.path()));
        qunsetenv("SHARDBOARD_CACHE_BYTES");
        QDir(m_folder.path() + "/shardboard").removeRecursively();
        QFile::remove(m_folder.path() + "/shardboard");
    }

    void findsTheShareOfAMachine()
    {
        for (std::int64_t share = kMiB; share <= 300 * kMiB; share += kMiB / 2 + share / 7) {
            const std::int64_t found = cacheShareFrom(machineWith(share), kMostCacheShare);
            QVERIFY2(found <= share, qPrintable(QString::number(share)));
            QVERIFY2(3 * found >= 2 * std::min(share, kMostCacheShare),
                     qPrintable(QString::number(share))); // sizes are at most 1.5 apart
        }
        QCOMPARE(cacheShareFrom(machineWith(0), kMostCacheShare), kLeastCacheShare);
        QCOMPARE(cacheShareFrom(machineWith(kMostCacheShare), 8 * kMiB), 8 * kMiB); // no more memory than it may have
    }

    void oneDisturbanceDoesNotEndIt()
    {
        std::mt19937 random(1);
        for (int trial = 0; trial < 100; ++trial) {
            const auto machine = machineWith(48 * kMiB);
            int since = 2; // no two disturbances one after the other
            const auto gain = [&](std::int64_t bytes) {
                return ++since >= 2 && random() % 3 == 0 ? (since = 0, 0.1) : machine(bytes);
            };
            QCOMPARE(cacheShareFrom(gain, kMostCacheShare), 48 * kMiB);
        }
    }

    void asksOnlyUntilTheAnswerIsKnown()
    {
        std::int64_t largest = 0;
        (void)cacheShareFrom([&](std::int64_t bytes) { return largest = std::max(largest, bytes), machineWith(8 * kMiB)(bytes); },
                             kMostCacheShare);
        QCOMPARE(largest, 12 * kMiB);
    }

    void whatIsKeptIsFoundAgain()
    {
        QVERIFY(!KeptCacheShare().bytes());
        KeptCacheShare().keep(24 * kMiB);
        QCOMPARE(KeptCacheShare().bytes().value(), 24 * kMiB);
        KeptCacheShare().keep(2 * kMiB); // a shorter text than before
        QCOMPARE(KeptCacheShare().bytes().value(), 2 * kMiB);
    }

    void whatSomebodyElseWroteCountsAsNothing_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("no JSON") << QByteArray("{\"bytes\":");
        QTest::newRow("a list") << QByteArray("[1]");
        QTest::newRow("another machine") << QByteArray("{\"bytes\":4194304,\"machine\":[\"a\",\"b\",2]}");
        QTest::newRow("no machine") << QByteArray("{\"bytes\":4194304}");
        QTest::newRow("binary") << QByteArray(100'000, '\xff');
        QTest::newRow("deep") << QByteArray(100'000, '[');
    }
    void whatSomebodyElseWroteCountsAsNothing()
    {
        QFETCH(QByteArray, text);
        const QString path = QString::fromStdString(KeptCacheShare::path());
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
        file.close();
        QVERIFY(!KeptCacheShare().bytes());
        KeptCacheShare().keep(3 * kMiB);
        QCOMPARE(KeptCacheShare().bytes().value(), 3 * kMiB);
    }

    void numbersThatCannotBeAreNotTaken()
    {
        KeptCacheShare().keep(24 * kMiB);
        QFile file(QString::fromStdString(KeptCacheShare::path()));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray good = file.readAll();
        file.close();
        QVERIFY(good.contains("25165824"));
        for (const char* bytes : { "-1", "0", "1e300", "9223372036854775808", "\"25165824\"", "null", "1000" }) {
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
            file.write(QByteArray(good).replace("25165824", bytes));
            file.close();
            QVERIFY2(!KeptCacheShare().bytes(), bytes);
        }
    }

    void whatIsNoFileIsLeftAlone()
    {
        const std::string path = KeptCacheShare::path();
        const QString elsewhere = m_folder.filePath("elsewhere");
        QFile::remove(elsewhere);
        QVERIFY(QFile::link(elsewhere, QString::fromStdString(path)));
        KeptCacheShare().keep(3 * kMiB);
        QVERIFY(!QFile::exists(elsewhere)); // links are not followed
        QVERIFY(QFile::remove(QString::fromStdString(path)));
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
        KeptCacheShare().keep(3 * kMiB); // returns
        QVERIFY(!KeptCacheShare().bytes());
        QVERIFY(QFile::remove(QString::fromStdString(path)));
        QVERIFY(QDir().mkpath(QString::fromStdString(path)));
        KeptCacheShare().keep(3 * kMiB);
        QVERIFY(!KeptCacheShare().bytes());
    }

    void oneWorkerAtATime()
    {
        KeptCacheShare first;
        first.keep(3 * kMiB);
        QVERIFY(!KeptCacheShare(0).bytes()); // it does not wait for ever, and reads nothing that is being written
    }

    void keepsNothingWithoutAFolder()
    {
        qputenv("XDG_CACHE_HOME", "/dev/null");
        KeptCacheShare kept;
        kept.keep(3 * kMiB);
        QVERIFY(!kept.bytes());
    }

    void theEnvironmentWins()
    {
        KeptCacheShare().keep(24 * kMiB);
        qputenv("SHARDBOARD_CACHE_BYTES", "5000000");
        QCOMPARE(cacheShareBytes(), std::int64_t { 5'000'000 });
        QCOMPARE(measureCacheShare(), std::int64_t { 5'000'000 });
        QCOMPARE(KeptCacheShare().bytes().value(), 24 * kMiB);
        for (const char* wrong : { "32MiB", "-1", "1e6", " 7", "99999999999999999999", "\x1b[31m" }) {
            qputenv("SHARDBOARD_CACHE_BYTES", wrong);
            try {
                (void)cacheShareBytes();
                QFAIL(wrong);
            } catch (const Failure& failure) {
                QCOMPARE(failure.code, std::string("environment"));
                QVERIFY(failure.message.find("number of bytes") != std::string::npos);
                QVERIFY(failure.message.find('\x1b') == std::string::npos);
            }
        }
    }

    /// On whatever machine: it is measured, within the limits, and the same when it is asked for again.
    void thisMachineHasAShare()
    {
        const std::int64_t share = measureCacheShare();
        QVERIFY(share >= kLeastCacheShare && share <= kMostCacheShare);
        QCOMPARE(KeptCacheShare().bytes().value(), share);
        QCOMPARE(cacheShareBytes(), share);
    }

private:
    QTemporaryDir m_folder;
};

SHARDBOARD_TEST(TestCacheShare)
#include "tst_cacheshare.moc"
