// SPDX-License-Identifier: Apache-2.0
#include "model/io/safetensors/safetensors.h"
#include "tests/model/io/checkpointmaker.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/resource.h>
#include <sys/stat.h>

using namespace shardboard;
using namespace shardboard::test;

namespace {
const QByteArray kTwo = "{\"__metadata__\":{\"format\":\"pt\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                        "\"m\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[16,19]}}  ";

QByteArray one(const char* dtype, const char* shape, const char* offsets, qsizetype bytes)
{
    return safetensors(QByteArray("{\"t\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
                       bytes);
}

long peakKilobytes()
{
    rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}
} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::string path() const { return m_folder.filePath(QStringLiteral("t.safetensors")).toStdString(); }
    Result<std::vector<StoredTensor>> readBytes(const QByteArray& content)
    {
        writeFile(QString::fromStdString(path()), content);
        return readSafetensorsHeader(path());
    }
    static QByteArray changed(const char* before, const char* after)
    {
        QByteArray header = kTwo;
        header.replace(before, after);
        return header;
    }

private Q_SLOTS:
    void readsTwoTensors()
    {
        const auto out = sure(readBytes(safetensors(kTwo, 19)));
        QCOMPARE(out.size(), std::size_t { 2 });
        QCOMPARE(out[0].name, std::string("w"));
        QCOMPARE(out[0].shape, (Shape { 2, 2 }));
        QVERIFY(out[0].dtype == DType::F32);
        QCOMPARE(out[1].begin, 16);
        QCOMPARE(out[1].end, 19);
    }

    void acceptsWhatTheFormatAllows_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("scalar") << one("F32", "[]", "[0,4]", 4);
        QTest::newRow("empty tensor") << one("I64", "[0,7]", "[0,0]", 0);
        QTest::newRow("below a byte") << one("F4", "[3,2]", "[0,3]", 3);
        QTest::newRow("no tensors") << safetensors("{}", 0);
        QTest::newRow("padded") << safetensors("{}" + QByteArray(100000, ' '), 0);
        QTest::newRow("long metadata") << safetensors("{\"__metadata__\":{\"a\":\"" + QByteArray(3 << 20, 'x') + "\\\"\"}}", 0);
        dataRow("unknown key in an entry",
                safetensors("{\"t\":{\"dtype\":\"U8\",\"more\":[{\"a\":[1.5,null]}],\"shape\":[1],\"data_offsets\":[0,1]}}", 1));
        dataRow("out of order",
                safetensors("{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
                            "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
                            2));
    }
    void acceptsWhatTheFormatAllows()
    {
        QFETCH(QByteArray, content);
        const auto out = readBytes(content);
        QVERIFY2(out.ok(), out.ok() ? "" : out.error().text().c_str());
    }

    void refusesWhatIsBroken_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const QByteArray& content, const char* says) {
            QTest::newRow(name) << content << QString::fromLatin1(says);
        };
        row("size mismatch", safetensors(changed("[16,19]", "[16,20]"), 20), "needs 3 bytes");
        row("hole", safetensors(changed("[16,19]", "[17,20]"), 20), "hole");
        row("overlap", safetensors(changed("[16,19]", "[15,18]"), 19), "overlap");
        row("header beyond file", lengthBytes(1000) + kTwo, "has only");
        row("trailing byte", safetensors(kTwo, 20), "20 bytes of data");
        row("missing byte", safetensors(kTwo, 18), "cut off");
        row("within a byte", one("F4", "[3]", "[0,2]", 2), "within a byte");
        row("length 2^63", lengthBytes(quint64 { 1 } << 63) + kTwo, "claims 9223372036854775808");
        row("length 2^64-1", lengthBytes(~quint64 { 0 }) + kTwo, "claims");
        row("length above the limit", lengthBytes(100'000'001) + kTwo, "allows 100000000");
        row("empty file", QByteArray(), "empty");
        row("seven bytes", QByteArray(7, '\1'), "too short");
        row("length 0", lengthBytes(0), "begin with");
        row("not an object", safetensors("[]", 0), "begin with");
        row("deep", safetensors("{\"t\":" + QByteArray(1 << 20, '['), 0), "list where it cannot be");
        row("deep objects", safetensors(QByteArray("{\"t\":").repeated(1 << 18), 0), "nested deeper");
        row("deep under an unknown key", safetensors("{\"t\":{\"x\":" + QByteArray(1 << 20, '['), 0), "nested deeper");
        row("product overflows", one("F32", "[4294967296,4294967296]", "[0,0]", 0), "too large");
        row("size of 2^64", one("F32", "[18446744073709551616]", "[0,0]", 0), "t.safetensors");
        row("bytes overflow", one("F64", "[2305843009213693952]", "[0,0]", 0), "too large");
        row("negative size", one("F32", "[-1]", "[0,4]", 4), "negative");
        row("fraction", one("F32", "[1.0]", "[0,4]", 4), "1.0");
        row("end before begin", one("F32", "[]", "[4,0]", 4), "needs 4 bytes");
        row("unknown dtype", one("F7", "[1]", "[0,1]", 1), "F7");
        row("17 dims", one("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]", 1), "16 dims");
        row("three offsets", one("U8", "[1]", "[0,1,2]", 1), "two data_offsets");
        row("no dtype", safetensors("{\"t\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4), "lacks");
        row("entry is a number", safetensors("{\"t\":5}", 0), "number");
        row("metadata is a number", safetensors("{\"__metadata__\":5,\"t\":{}}", 0), "__metadata__");
        row("metadata holds a number", safetensors("{\"__metadata__\":{\"a\":1}}", 0), "__metadata__");
        row("two documents", safetensors("{}{}", 0), "JSON");
        row("zero padding", safetensors(QByteArray("{}\0\0", 4), 0), "zero byte");
        row("same name twice",
            safetensors("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"t\":{\"dtype\":\"U8\","
                        "\"shape\":[1],\"data_offsets\":[1,2]}}",
                        2),
            "twice");
        row("key twice", safetensors("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,1]}}", 1), "twice");
        row("name too long", safetensors("{\"" + QByteArray(5000, 'n') + "\":{}}", 0), "longer than");
        row("name with line break", safetensors("{\"a\\nb\":{\"dtype\":\"U9\"", 0),
            "the tensor name 'a\\nb' has the control character");
    }
    void refusesWhatIsBroken()
    {
        QFETCH(QByteArray, content);
        QFETCH(QString, says);
        const auto out = readBytes(content);
        QVERIFY(!out.ok());
        const std::string text = out.error().text();
        QVERIFY2(QString::fromStdString(text).contains(says), text.c_str());
        QVERIFY(text.find('\n') == std::string::npos);
        QVERIFY(text.find(path()) == 0);
        QVERIFY(out.error().code == ErrorCode::Input);
    }

    void everyTruncationIsRefused()
    {
        const QByteArray whole = safetensors(kTwo, 19);
        for (qsizetype length = 0; length < whole.size(); ++length)
            QVERIFY2(!readBytes(whole.left(length)).ok(), qPrintable(QString::number(length)));
    }

    void everyChangedByteIsSurvived()
    {
        const QByteArray whole = safetensors(kTwo, 19);
        for (qsizetype i = 0; i < whole.size() - 19; ++i)
            for (const char byte : { '\0', '"', '{', '}', '[', '9', '\xff' }) {
                QByteArray content = whole;
                content[i] = byte;
                if (const auto out = readBytes(content); out.ok())
                    for (const StoredTensor& tensor : out.value())
                        QVERIFY(tensor.begin <= tensor.end && tensor.end <= 19);
            }
    }

    /// Headers of nearly the largest size that the format allows, on a sparse file.
    void hugeHeadersStayCheap_data()
    {
        QTest::addColumn<QByteArray>("begin");
        QTest::addColumn<char>("fill");
        QTest::newRow("blanks") << QByteArray("{") << ' ';
        QTest::newRow("digits") << QByteArray("{\"t\":") << '1';
        QTest::newRow("text") << QByteArray("{\"") << 'a';
        QTest::newRow("metadata") << QByteArray("{\"__metadata__\":{\"a\":\"") << 'a';
        QTest::newRow("lists") << QByteArray("{\"t\":") << '[';
        QTest::newRow("zeros") << QByteArray("{") << '\0';
    }
    void hugeHeadersStayCheap()
    {
        QFETCH(QByteArray, begin);
        QFETCH(char, fill);
        const QString name = m_folder.filePath(QStringLiteral("huge.safetensors"));
        constexpr qsizetype kLength = 100'000'000;
        QFile file(name);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(lengthBytes(kLength) + begin);
        const QByteArray block(1'000'000, fill);
        for (qsizetype written = begin.size(); written < kLength; written += block.size())
            file.write(block.left(kLength - written));
        file.close();
        const long before = peakKilobytes();
        const auto out = readSafetensorsHeader(name.toStdString());
        QVERIFY(!out.ok());
        QVERIFY2(peakKilobytes() - before < 100'000, qPrintable(QString::number(peakKilobytes() - before)));
        QVERIFY(QFile::remove(name));
    }

    void refusesWhatIsNoFile()
    {
        QVERIFY(QString::fromStdString(readSafetensorsHeader("/nowhere/t.safetensors").error().text())
                    .contains(QStringLiteral("No such file")));
        QVERIFY(QString::fromStdString(readSafetensorsHeader(m_folder.path().toStdString()).error().text())
                    .contains(QStringLiteral("is a folder")));
        const std::string pipe = m_folder.filePath(QStringLiteral("pipe.safetensors")).toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        QVERIFY(QString::fromStdString(readSafetensorsHeader(pipe).error().text()).contains(QStringLiteral("not a regular file")));
        QVERIFY(!readSafetensorsHeader("/dev/zero").ok());
    }

    void recognisesLfsPointers()
    {
        const QByteArray pointer =
            "version https://git-lfs.github.com/spec/v1\noid sha256:" + QByteArray(64, 'a') + "\nsize 4998663696\n";
        const auto out = readBytes(pointer);
        QVERIFY(!out.ok());
        QVERIFY(QString::fromStdString(out.error().text())
                    .contains(QStringLiteral("Git LFS pointer in place of a file of 4998663696 bytes")));
        QVERIFY(lfsPointerAt(path()));
        QCOMPARE(lfsPointerAt(path())->bytes, 4998663696);
        QVERIFY(!lfsPointerFromText("version https://git-lfs.github.com/spec/v1\n"));
        QVERIFY(!lfsPointerFromText("size 3\n"));
    }
};

SHARDBOARD_TEST(TestSafetensors)
#include "tst_safetensors.moc"
