// SPDX-License-Identifier: Apache-2.0
// What the window says where something goes wrong, each kind provoked once: it names the file or thing, says what happened and what
// to do. Errors of files and commands in general are in tests/app/ctl/tst_messages.cpp.
#include "app/desktop/files/historyfiles.h"
#include "app/desktop/files/rulefiles.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/fonts.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/controls/wrappedlabel.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QUndoStack>

using namespace shardboard;

class TestWindowMessages : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void files_data();
    void files();
    void edits_data();
    void edits();
    void engines_data();
    void engines();
};

namespace {

/// Empty: it names what it is about, and says what to do behind a semicolon or in a sentence of its own.
QString flaw(const QString& text, const QString& about)
{
    if (!text.contains(about))
        return QStringLiteral("does not name ") + about;
    static const QRegularExpression way(QStringLiteral("; (\\S+ ){1,}\\S+|“Restart engine”"));
    if (!way.match(text).hasMatch())
        return QStringLiteral("does not say what to do");
    static const QRegularExpression internal(QStringLiteral("std::|nlohmann|json\\.exception|YAML::|errno|nullptr|QProcess|::"));
    if (internal.match(text).hasMatch())
        return QStringLiteral("speaks of what is inside");
    static const QRegularExpression ended(QStringLiteral("[\\w\\)\\]\\}'\".…”*]$"));
    return ended.match(text.trimmed()).hasMatch() ? QString() : QStringLiteral("ends in the middle");
}

} // namespace

void TestWindowMessages::files_data()
{
    QTest::addColumn<QString>("act");
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("name");
    QTest::newRow("design not there") << QStringLiteral("open") << QByteArray() << QStringLiteral("gone.shardboard");
    QTest::newRow("design no JSON") << QStringLiteral("open") << QByteArray("hello") << QStringLiteral("text.shardboard");
    QTest::newRow("design something else") << QStringLiteral("open") << QByteArray("{}") << QStringLiteral("other.shardboard");
    QTest::newRow("design of a newer version")
        << QStringLiteral("open") << QByteArray("{\"format\": \"shardboard\", \"version\": 99}")
        << QStringLiteral("newer.shardboard");
    QTest::newRow("checkpoint opened") << QStringLiteral("open") << QByteArray("\x08") << QStringLiteral("model.safetensors");
    QTest::newRow("index opened") << QStringLiteral("open") << QByteArray("{}") << QStringLiteral("model.safetensors.index.json");
    QTest::newRow("config opened") << QStringLiteral("open") << QByteArray("{}") << QStringLiteral("config.json");
    QTest::newRow("saved onto a folder") << QStringLiteral("save") << QByteArray("folder") << QStringLiteral("folder.shardboard");
    QTest::newRow("saved nowhere") << QStringLiteral("save") << QByteArray() << QStringLiteral("no/such/d.shardboard");
    QTest::newRow("edits not there") << QStringLiteral("replay") << QByteArray() << QStringLiteral("gone.edits.json");
    QTest::newRow("edits no JSON") << QStringLiteral("replay") << QByteArray("{") << QStringLiteral("a.edits.json");
    QTest::newRow("edits of a newer version")
        << QStringLiteral("replay") << QByteArray("{\"shardboard_edits\": 9, \"edits\": []}") << QStringLiteral("b.edits.json");
    QTest::newRow("edits nowhere") << QStringLiteral("saveEdits") << QByteArray() << QStringLiteral("no/such/a.edits.json");
    QTest::newRow("rules not there") << QStringLiteral("rules") << QByteArray() << QStringLiteral("gone.yml");
    QTest::newRow("rules no YAML") << QStringLiteral("rules") << QByteArray("a: [b") << QStringLiteral("cut.yml");
    QTest::newRow("rules a number") << QStringLiteral("rules") << QByteArray("logical_axis_rules: 7\n")
                                    << QStringLiteral("seven.yml");
    QTest::newRow("rules nowhere") << QStringLiteral("saveRules") << QByteArray() << QStringLiteral("no/such/a.yml");
}

void TestWindowMessages::files()
{
    QFETCH(QString, act);
    QFETCH(QByteArray, content);
    QFETCH(QString, name);
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    const Design before = test.document()->design();
    const QString path = test.folder.filePath(name);
    if (content == "folder") {
        QVERIFY(QDir().mkpath(path));
    } else if (!content.isEmpty()) {
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
    }
    auto* history = test.child<HistoryFiles>("historyFiles");
    auto* rules = test.window->findChild<RuleFiles*>();
    QVERIFY(history != nullptr && rules != nullptr);
    const bool done = act == QLatin1String("open") ? test.window->fileActions()->openPath(path)
        : act == QLatin1String("save")             ? test.window->fileActions()->saveTo(path)
        : act == QLatin1String("replay")           ? history->replayFrom(path)
        : act == QLatin1String("saveEdits")        ? history->saveTo(path)
        : act == QLatin1String("rules")            ? rules->openPath(path)
                                                   : rules->saveTo(path);
    QVERIFY(!done);
    QVERIFY(test.window->banner()->isError());
    const QString text = test.window->banner()->text();
    QVERIFY2(flaw(text, name).isEmpty(), qPrintable(flaw(text, name) + QStringLiteral(": ") + text));
    if (act == QLatin1String("open") && !name.endsWith(QLatin1String(".shardboard")))
        QVERIFY2(text.contains(QStringLiteral("File ▸ New")), qPrintable(text));
    QVERIFY(test.document()->design() == before);
    test.document()->undoStack()->setClean();
}

void TestWindowMessages::edits_data()
{
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("about");
    QTest::newRow("axis of a strategy") << QStringLiteral("axis") << QStringLiteral("nosuch");
    QTest::newRow("spec cut off") << QStringLiteral("spec") << QStringLiteral("P('model");
    QTest::newRow("dim that does not divide") << QStringLiteral("divide") << QStringLiteral("128257");
    QTest::newRow("unknown hardware") << QStringLiteral("hardware") << QStringLiteral("nosuch");
}

/// An edit that is refused, as whoever made it is told.
void TestWindowMessages::edits()
{
    QFETCH(QString, what);
    QFETCH(QString, about);
    Document document;
    Design design = knownDesign();
    if (what == QLatin1String("divide"))
        design.model.vocabSize = 128257;
    QVERIFY(document.setDesign(design).ok());
    const Design before = document.design();
    design = before;
    if (what == QLatin1String("axis"))
        design.strategies.push_back({ "*up_proj*", Strategy { StrategyKind::Rowwise, { "nosuch" } }, {} });
    else if (what == QLatin1String("spec"))
        design.strategies.push_back({ "*up_proj*", Strategy { StrategyKind::Spec, {}, 0, "P('model" }, {} });
    else if (what == QLatin1String("divide"))
        design.strategies.push_back({ "*embed_tokens*", Strategy { StrategyKind::Spec, {}, 0, "P('model')" }, {} });
    else
        design.hardware = "nosuch";
    const Status status = document.edit(design, QStringLiteral("Edit"));
    QVERIFY(!status.ok());
    const QString text = QString::fromStdString(status.error().text());
    QVERIFY2(flaw(text, about).isEmpty(), qPrintable(flaw(text, about) + QStringLiteral(": ") + text));
    QVERIFY(document.design() == before);
    QCOMPARE(document.undoStack()->count(), 0);
}

void TestWindowMessages::engines_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("about");
    const auto fake = [](const char* script) {
        return QStringLiteral("'" SHARDBOARD_BINARY_DIR "/tests/fakeengine' ") + QLatin1String(script);
    };
    QTest::newRow("not there") << QStringLiteral("/no/such/engine") << QStringLiteral("/no/such/engine");
    QTest::newRow("leaves at once") << QStringLiteral("false") << QStringLiteral("exit status 1");
    QTest::newRow("crashes") << fake("crash") << QStringLiteral("signal 9");
    QTest::newRow("is another program") << fake("garbage") << QStringLiteral("Segmentation fault");
    QTest::newRow("of another version") << fake("old") << QStringLiteral("protocol 0");
    QTest::newRow("refuses") << fake("fails") << QStringLiteral("900 GiB");
}

void TestWindowMessages::engines()
{
    QFETCH(QString, command);
    QFETCH(QString, about);
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    test.window->engine()->setCommand(command);
    test.raise("run");
    test.window->runPanel()->run();
    auto* problem = test.child<WrappedLabel>("run.problem");
    QTRY_VERIFY(problem->isVisible() && problem->fullText().contains(about));
    const QString text = problem->fullText().section(QLatin1Char('\n'), 0, 0); // below it, the engine's log
    QVERIFY2(flaw(text, about).isEmpty(), qPrintable(flaw(text, about) + QStringLiteral(": ") + text));
    test.document()->undoStack()->setClean();
}

SHARDBOARD_TEST(TestWindowMessages, withFonts)

#include "tst_windowmessages.moc"
