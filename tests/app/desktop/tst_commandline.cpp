// SPDX-License-Identifier: Apache-2.0
// The desktop program from outside: its arguments, exit codes, one-line errors, and the pictures of the tour.
#include "app/desktop/files/sample.h"
#include "app/desktop/window/commandline.h"
#include "model/io/design/designfile.h"
#include "tests/support/runner.h"

#include <QDir>
#include <QFile>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

using namespace shardboard;

namespace {

struct Ended {
    int code = -1;
    QString out;
    QString err;
};

Ended runProgram(const QStringList& arguments, const QString& engine = QStringLiteral("/bin/false"))
{
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("SHARDBOARD_ENGINE"), engine);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardboard"), arguments);
    process.waitForFinished(120000);
    return { process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
             QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError()) };
}

} // namespace

class TestCommandLine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void parses();
    void wrongUseIsOneLine_data();
    void wrongUseIsOneLine();
    void helpAndVersion();
    void unreadableTourInput();
    void pictureOfOneView();
    void exportWithoutAWindow();
    void hostileNamesAreShownOrRefused();
    void tourWritesEveryPicture();
};

void TestCommandLine::parses()
{
    const auto line = parseCommandLine({ QStringLiteral("a.shardboard"), QStringLiteral("--tour"), QStringLiteral("out"),
                                         QStringLiteral("--theme=dark"), QStringLiteral("--size"), QStringLiteral("1280x800") });
    QVERIFY(line.ok());
    QCOMPARE(line.value().file, QStringLiteral("a.shardboard"));
    QCOMPARE(line.value().tourFolder, QStringLiteral("out"));
    QCOMPARE(line.value().theme, QStringLiteral("dark"));
    QCOMPARE(line.value().size, QSize(1280, 800));
    QCOMPARE(parseCommandLine({ QStringLiteral("--"), QStringLiteral("--odd") }).value().file, QStringLiteral("--odd"));
}

void TestCommandLine::wrongUseIsOneLine_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("named");
    const auto row = [](const char* name, const QString& arguments, const char* named) {
        QTest::newRow(name) << arguments.split(QLatin1Char(' ')) << QString::fromLatin1(named);
    };
    row("unknown option", QStringLiteral("--fast"), "--fast");
    row("no value", QStringLiteral("--tour"), "--tour");
    row("theme", QStringLiteral("--theme blue"), "blue");
    row("size", QStringLiteral("--size big"), "big");
    row("size zero", QStringLiteral("--size 0x800"), "0x800");
    row("size huge", QStringLiteral("--size 99999x99999"), "99999x99999");
    row("scale", QStringLiteral("--scale 3"), "--scale");
    row("target without a folder", QStringLiteral("a --to jax"), "--to");
    row("two files", QStringLiteral("a b"), "b");
}

void TestCommandLine::wrongUseIsOneLine()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, named);
    const Ended ended = runProgram(arguments);
    QCOMPARE(ended.code, 2);
    QCOMPARE(ended.err.count(QLatin1Char('\n')), 1);
    QVERIFY2(ended.err.contains(named), qPrintable(ended.err));
    QVERIFY(ended.out.isEmpty());
}

void TestCommandLine::helpAndVersion()
{
    const Ended help = runProgram({ QStringLiteral("--help") });
    QCOMPARE(help.code, 0);
    QVERIFY(help.out.contains(QStringLiteral("--tour DIR")));
    const Ended version = runProgram({ QStringLiteral("--version") });
    QCOMPARE(version.code, 0);
    QVERIFY(version.out.startsWith(QStringLiteral("shardboard ")));
}

void TestCommandLine::unreadableTourInput()
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("wrong.shardboard"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{ \"format\": 1,");
    file.close();
    for (const QString& input : { path, folder.filePath(QStringLiteral("missing.shardboard")) }) {
        const Ended ended = runProgram({ input, QStringLiteral("--tour"), folder.filePath(QStringLiteral("out")) });
        QCOMPARE(ended.code, 3);
        QVERIFY2(ended.err.contains(input), qPrintable(ended.err));
        QCOMPARE(ended.err.count(QLatin1Char('\n')), 1);
    }
}

void TestCommandLine::pictureOfOneView()
{
    const QTemporaryDir folder;
    const QString svg = folder.filePath(QStringLiteral("weights.svg"));
    const QString png = folder.filePath(QStringLiteral("mesh.png"));
    const Ended whole = runProgram(
        { QStringLiteral("--picture"), svg, QStringLiteral("--view"), QStringLiteral("weights"), QStringLiteral("--whole") });
    QVERIFY2(whole.code == 0, qPrintable(whole.err));
    QFile file(svg);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.readAll().contains(">lm_head"));
    const Ended small = runProgram({ QStringLiteral("--picture=") + png, QStringLiteral("--view=window"),
                                     QStringLiteral("--scale=1"), QStringLiteral("--size=1280x800") });
    QVERIFY2(small.code == 0, qPrintable(small.err));
    QCOMPARE(QImage(png).size(), QSize(1280, 800));
}

void TestCommandLine::exportWithoutAWindow()
{
    const QTemporaryDir folder;
    const QString design = folder.filePath(QStringLiteral("d.shardboard"));
    QVERIFY(writeDesign(QFile::encodeName(design).toStdString(), sampleDesign().value()).ok());
    const QString out = folder.filePath(QStringLiteral("out"));
    const Ended ended = runProgram({ design, QStringLiteral("--export"), out });
    QVERIFY2(ended.code == 0, qPrintable(ended.err));
    QVERIFY2(ended.out.contains(QStringLiteral("read back equal")), qPrintable(ended.out));
    QVERIFY(QFile::exists(out + QStringLiteral("/export.py")) && QFile::exists(out + QStringLiteral("/shards.json")));
    const Ended nothing = runProgram({ QStringLiteral("--export"), out });
    QCOMPARE(nothing.code, 2);
    QVERIFY(nothing.err.contains(QStringLiteral("--export")));
}

/// What would be obeyed by a terminal is escaped; a name that Qt cannot say leads to no other file.
void TestCommandLine::hostileNamesAreShownOrRefused()
{
    const QTemporaryDir folder;
    const QString design = folder.filePath(QStringLiteral("d.shardboard"));
    QVERIFY(writeDesign(QFile::encodeName(design).toStdString(), sampleDesign().value()).ok());
    const QString out = folder.filePath(QStringLiteral("o\x1b]0;x\ared\u202e"));
    const Ended ended = runProgram({ design, QStringLiteral("--export"), out });
    QVERIFY2(ended.code == 0, qPrintable(ended.err));
    QVERIFY(QFile::exists(out + QStringLiteral("/export.py")));
    QVERIFY2(ended.out.contains(QStringLiteral("o\\x1b]0;x\\x07red\\u202e, "))
                 && !(ended.out + ended.err).contains(QLatin1Char('\x1b')),
             qPrintable(ended.out));

    const QStringList before = QDir(folder.path()).entryList();
    QProcess process;
    process.setWorkingDirectory(folder.path());
    process.start(QStringLiteral("/bin/sh"),
                  { QStringLiteral("-c"), QStringLiteral("exec \"$0\" \"$1\" --export \"$(printf 'o\\377x')\""),
                    QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardboard"), design });
    QVERIFY(process.waitForFinished(60000));
    QCOMPARE(process.exitCode(), 3);
    QCOMPARE(process.readAllStandardError(),
             QByteArray(
                 "shardboard: o\\xffx: is not UTF-8, and the desktop program takes no other names; rename it, or use shardctl\n"));
    QCOMPARE(QDir(folder.path()).entryList(), before);
}

void TestCommandLine::tourWritesEveryPicture()
{
    const QTemporaryDir folder;
    const Ended ended =
        runProgram({ QStringLiteral("--tour"), folder.path(), QStringLiteral("--size"), QStringLiteral("1280x800") });
    QVERIFY2(ended.code == 0, qPrintable(ended.err));
    for (const char* name : { "main", "weights", "mesh", "tiles", "flow", "collectives", "inspector", "findings", "memory",
                              "explain", "explain-operation", "training", "training-update", "run", "drag", "welcome" }) {
        for (const char* theme : { "-light.png", "-dark.png" }) {
            const QImage picture(folder.filePath(QString::fromLatin1(name) + QString::fromLatin1(theme)));
            QVERIFY2(!picture.isNull(), name);
            QVERIFY2(picture.width() > 200 && picture.height() > 100, name);
        }
    }
    const QImage light(folder.filePath(QStringLiteral("main-light.png")));
    QCOMPARE(light.size(), QSize(1280, 800));
    QVERIFY(light.pixelColor(2, 400).lightness() > 200);
    const QImage dark(folder.filePath(QStringLiteral("main-dark.png")));
    QVERIFY(dark.pixelColor(2, 400).lightness() < 60);
}

SHARDBOARD_TEST(TestCommandLine)
#include "tst_commandline.moc"
