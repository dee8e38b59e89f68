// SPDX-License-Identifier: Apache-2.0
// What happens to a design's file beside saving: samples, unsaved changes after a crash, changes by another program.
#include "app/desktop/files/fileconflict.h"
#include "app/desktop/files/recovery.h"
#include "app/desktop/files/savename.h"
#include "app/desktop/window/fonts.h"
#include "model/io/design/designfile.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/drag.h"
#include "tests/support/runner.h"
#include "widgets/controls/wrappedlabel.h"

#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QStatusBar>
#include <QTimer>

#include <csignal>
#include <cstdio>
#include <set>

#include <sys/stat.h>

using namespace shardboard;
using namespace shardboard::test;

namespace {

Design withBatch(Design design, int batch)
{
    design.workload.batch = batch;
    return design;
}

/// In a process of its own: a window that edits the sample, keeps the change and is killed.
int crash(const QString& folder, const QString& file)
{
    Document document;
    Recovery recovery(&document, folder);
    recovery.setDelay(0);
    const Status opened = file.isEmpty() ? document.setDesign(sampleDesign().value()) : document.open(file);
    if (!opened.ok() || !document.edit(withBatch(document.design(), 4), QStringLiteral("Batch 4")).ok())
        return 1;
    while (!QFile::exists(recovery.path()))
        QCoreApplication::processEvents();
    return std::raise(SIGKILL);
}

/// In a process of its own: saves two designs in turn until it is killed.
int saveForever(const QString& file)
{
    const std::string path = QFile::encodeName(file).toStdString();
    const Design first = sampleDesign().value();
    const Design second = withBatch(first, 4);
    std::puts("begun");
    std::fflush(stdout);
    for (bool other = true;; other = !other)
        if (!writeDesign(path, other ? second : first).ok())
            return 1;
}

/// The processes that the tests below start are this program, too.
std::optional<int> withFontsOrAsAnother(const QStringList& arguments)
{
    if (arguments.size() == 4 && arguments[1] == QLatin1String("--crash"))
        return crash(arguments[2], arguments[3]);
    if (arguments.size() == 3 && arguments[1] == QLatin1String("--save"))
        return saveForever(arguments[2]);
    return withFonts(arguments);
}

} // namespace

class TestFiles : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        folder = QTemporaryDir();
        openWindow();
    }
    void cleanup() { drop(); }

    void endingsAreAppendedToNamesWithDots();
    void everySampleOpens();
    void welcomeOpensASampleByKeyboard();
    void mistakeIsFoundAndMended();
    void changesOutliveACrash();
    void changesCanBeDeclined();
    void restoredChangesKnowTheirFile();
    void aFileOfThatNameElsewhereIsNotReplaced();
    void newerVersionIsNotReplacedByRestoredChanges();
    void keptCopyOfAnEarlierVersionHasNoFile();
    void whatIsNoKeptCopyIsSaidInOneLine_data();
    void whatIsNoKeptCopyIsSaidInOneLine();
    void whatALivingWindowKeepsIsNotTaken();
    void whatAnotherWindowSavedIsNotReplaced_data();
    void whatAnotherWindowSavedIsNotReplaced();
    void whatComesWhileItIsAskedIsAskedAbout();
    void removedFileIsAskedAbout();
    void sameContentIsNotAskedAbout();
    void linkToAnotherFileIsAskedAbout();
    void nothingIsLeftBehindByAProperEnd();
    void whatIsTypedIsSaved();
    void whatIsTypedIsAskedAboutBeforeItIsLost();
    void aLivingWindowsChangesAreNotOffered();
    void unwritableFolderIsSaid();
    void changeByAnotherProgramIsOffered();
    void ownSavesAreNoChange();
    void removedFileIsNoticed();
    void killedWhileSavingLeavesAWholeFile();
    void placeThatCannotBeWrittenIsNamed();
    void droppedAnywhereOnTheWindow_data();
    void droppedAnywhereOnTheWindow();
    void dragInsideOnAWrongPlaceChangesNothing();

private:
    void openWindow();
    void crashWindow(const QString& file = {}, const QString& from = {});
    std::string fileIn(const char* name) const
    {
        return QFile::encodeName(at(name) + QStringLiteral("/a.shardboard")).toStdString();
    }
    static int batchOf(const std::string& path) { return static_cast<int>(readDesign(path).value().workload.batch); }
    /// Names of kept changes, those of this process left out.
    QStringList kept() const { return QDir(settings->unsavedFolder()).entryList({ QStringLiteral("*.unsaved") }); }
    void choose(const QString& text);
    /// Answers the next question about a changed file by its button; what it showed is in m_asked.
    void answerConflict(const char* answer);
    /// Another number in its field, without Enter.
    QLineEdit* typeBatch(const QString& text);

    QString m_asked;
};

void TestFiles::openWindow()
{
    drop();
    makeSettings();
    makeWindow({});
    window->recovery()->setDelay(0);
    QVERIFY(QTest::qWaitForWindowExposed(window.get()));
}

void TestFiles::crashWindow(const QString& file, const QString& from)
{
    QProcess process;
    if (!from.isEmpty())
        process.setWorkingDirectory(from);
    process.start(
        QCoreApplication::applicationFilePath(),
        { QStringLiteral("-class"), QStringLiteral("tst_files"), QStringLiteral("--crash"), settings->unsavedFolder(), file });
    QVERIFY(process.waitForFinished());
    QCOMPARE(process.exitStatus(), QProcess::CrashExit);
    QCOMPARE(kept().size(), 1);
}

void TestFiles::choose(const QString& text)
{
    QVERIFY(window->banner()->isVisible());
    for (QPushButton* button : window->banner()->choices()) {
        if (button->text() == text) {
            QTest::mouseClick(button, Qt::LeftButton);
            return;
        }
    }
    QFAIL(qPrintable(QStringLiteral("no button %1 beside: %2").arg(text, window->banner()->text())));
}

void TestFiles::endingsAreAppendedToNamesWithDots()
{
    const QString base = at("llama3.1-405b");
    const QStringList endings { QStringLiteral(".edits.json"), QStringLiteral(".json") };
    QCOMPARE(saveName(nullptr, base, endings), base + QStringLiteral(".edits.json"));
    for (const char* ending : { ".edits.json", ".json", ".JSON" })
        QCOMPARE(saveName(nullptr, base + QLatin1String(ending), endings), base + QLatin1String(ending));
    QCOMPARE(saveName(nullptr, QString(), endings), QString());
    // One that the dialog did not ask about is asked about.
    QFile there(base + QStringLiteral(".json"));
    QVERIFY(there.open(QIODevice::WriteOnly));
    for (const auto answer : { QMessageBox::No, QMessageBox::Yes }) {
        QTimer::singleShot(0, qApp, [answer] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            QVERIFY(box != nullptr && box->text().contains(QStringLiteral("llama3.1-405b.json")));
            box->button(answer)->click();
        });
        QCOMPARE(saveName(nullptr, base, { QStringLiteral(".json") }), answer == QMessageBox::Yes ? there.fileName() : QString());
    }
}

void TestFiles::everySampleOpens()
{
    QVERIFY(samples().size() >= 3);
    QCOMPARE(openSample(samples().front().id).value(), sampleDesign().value());
    std::set<std::int64_t> devices;
    for (const Sample& sample : samples()) {
        window->actionRegistry()->get(QStringLiteral("file.sample.") + sample.id)->trigger();
        QVERIFY2(!window->banner()->isVisible(), qPrintable(window->banner()->text()));
        QVERIFY(document()->hasDesign() && !document()->isModified());
        // As it would be written again: a sample in an old form would ask to be saved.
        QFile file(QStringLiteral(":/samples/%1.shardboard").arg(sample.id));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromStdString(designText(document()->design())), QString::fromUtf8(file.readAll()));
        devices.insert(document()->evaluation()->plan.mesh.deviceCount());
        const bool mistake = sample.id.endsWith(QLatin1String("mistake"));
        QCOMPARE(document()->evaluation()->findings.empty(), !mistake);
    }
    QVERIFY(devices.contains(1) && devices.contains(8) && devices.contains(1024));
}

void TestFiles::welcomeOpensASampleByKeyboard()
{
    auto* button = window->findChild<QPushButton*>(QStringLiteral("welcome.sample.llama3-8b-one-gpu"));
    QVERIFY(button != nullptr && button->isVisible());
    for (int i = 0; i < 20 && QApplication::focusWidget() != button; ++i)
        QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : window.get(), Qt::Key_Tab);
    QVERIFY(button->hasFocus());
    QTest::keyClick(button, Qt::Key_Return);
    QVERIFY(document()->hasDesign());
    QCOMPARE(document()->evaluation()->plan.mesh.deviceCount(), 1);
}

void TestFiles::mistakeIsFoundAndMended()
{
    window->fileActions()->openSample(QStringLiteral("llama3-8b-mistake"));
    const auto before = document()->evaluation();
    QCOMPARE(before->findings.size(), std::size_t(1));
    const auto& finding = before->findings.front();
    QCOMPARE(finding.severity, Severity::Warning);
    QVERIFY(finding.costBytes > (std::int64_t { 7 } << 30));
    QVERIFY(document()->edit(repaired(document()->design(), *finding.fix), QStringLiteral("Mend")).ok());
    QVERIFY(document()->evaluation()->findings.empty());
    QVERIFY(document()->evaluation()->plan.memory.peak < before->plan.memory.peak - (std::int64_t { 7 } << 30));
}

void TestFiles::changesOutliveACrash()
{
    crashWindow();
    window->offerRecovery();
    QVERIFY(window->banner()->text().contains(QStringLiteral("llama3-8b")));
    choose(QStringLiteral("Restore"));
    QCOMPARE(document()->design(), withBatch(sampleDesign().value(), 4));
    QVERIFY(document()->isModified());
    QVERIFY(window->isWindowModified());
    QVERIFY(!window->banner()->isVisible());
    QCOMPARE(kept().size(), 1); // by this window now
    QVERIFY(window->recovery()->leftBehind().isEmpty());
    QVERIFY(window->fileActions()->saveTo(at("a.shardboard")));
    QVERIFY(kept().isEmpty());
}

void TestFiles::changesCanBeDeclined()
{
    crashWindow();
    window->offerRecovery();
    choose(QStringLiteral("Discard"));
    QVERIFY(!document()->hasDesign());
    QVERIFY(kept().isEmpty());
    openWindow();
    window->offerRecovery();
    QVERIFY(!window->banner()->isVisible());
}

void TestFiles::restoredChangesKnowTheirFile()
{
    const QString file = at("mine.shardboard");
    QVERIFY(writeDesign(QFile::encodeName(file).toStdString(), sampleDesign().value()).ok());
    crashWindow(file);
    QCOMPARE(readDesign(QFile::encodeName(file).toStdString()).value(), sampleDesign().value()); // untouched
    window->offerRecovery();
    QVERIFY(window->banner()->text().contains(QStringLiteral("mine.shardboard")));
    choose(QStringLiteral("Restore"));
    QCOMPARE(document()->filePath(), file);
    QVERIFY(window->fileActions()->save());
    QCOMPARE(readDesign(QFile::encodeName(file).toStdString()).value().workload.batch, 4);
}

void TestFiles::answerConflict(const char* answer)
{
    m_asked.clear();
    QTimer::singleShot(0, qApp, [this, answer] {
        auto* dialog = qobject_cast<FileConflict*>(QApplication::activeModalWidget());
        QVERIFY(dialog != nullptr);
        const auto* view = dialog->findChild<QPlainTextEdit*>(QStringLiteral("conflict.difference"));
        m_asked =
            dialog->findChild<WrappedLabel*>(QStringLiteral("conflict.what"))->fullText() + QLatin1Char('\n') + view->toPlainText();
        for (const QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->isDefault()) // Return loses nothing
                QVERIFY(button->objectName() == QLatin1String("conflict.saveAs")
                        || button->objectName() == QLatin1String("conflict.restore"));
        auto* button = dialog->findChild<QPushButton*>(QLatin1String("conflict.") + QLatin1String(answer));
        QVERIFY2(button != nullptr, answer);
        button->click();
    });
}

/// Two folders with a design of the same name; what was kept in one of them is of that one, wherever it is restored.
void TestFiles::aFileOfThatNameElsewhereIsNotReplaced()
{
    for (const auto& [name, batch] : { std::pair("p1", 8), std::pair("p2", 32) }) {
        QVERIFY(QDir(folder.path()).mkdir(QLatin1String(name)));
        QVERIFY(writeDesign(fileIn(name), withBatch(sampleDesign().value(), batch)).ok());
    }
    crashWindow(QStringLiteral("a.shardboard"), at("p1"));
    const QString before = QDir::currentPath();
    QVERIFY(QDir::setCurrent(at("p2")));
    window->offerRecovery();
    QVERIFY2(window->banner()->text().contains(at("p1/a.shardboard")), qPrintable(window->banner()->text()));
    choose(QStringLiteral("Restore"));
    QVERIFY(document()->isModified());
    QCOMPARE(document()->filePath(), QFileInfo(at("p1/a.shardboard")).canonicalFilePath());
    const bool saved = window->fileActions()->save();
    QVERIFY(QDir::setCurrent(before));
    QVERIFY(saved);
    QCOMPARE(batchOf(fileIn("p1")), 4);
    QCOMPARE(batchOf(fileIn("p2")), 32);
}

/// Between the crash and the restore somebody has written another version of the file: git, or another window.
void TestFiles::newerVersionIsNotReplacedByRestoredChanges()
{
    const QString file = at("mine.shardboard");
    const std::string path = QFile::encodeName(file).toStdString();
    QVERIFY(writeDesign(path, sampleDesign().value()).ok());
    crashWindow(file);
    QVERIFY(writeDesign(path, withBatch(sampleDesign().value(), 32)).ok());
    window->offerRecovery();
    answerConflict("cancel");
    choose(QStringLiteral("Restore"));
    QVERIFY2(m_asked.contains(QStringLiteral("mine.shardboard is not what these changes were made to")), qPrintable(m_asked));
    for (const char* line : { "− +\"batch\": 32,", "\\+ +\"batch\": 4," })
        QVERIFY2(m_asked.contains(QRegularExpression(QString::fromUtf8(line))), qPrintable(m_asked));
    QVERIFY(!document()->hasDesign());
    QCOMPARE(kept().size(), 1); // and it is offered again
    answerConflict("reload");
    choose(QStringLiteral("Restore"));
    QCOMPARE(document()->design().workload.batch, 32);
    QCOMPARE(kept().size(), 1);
    answerConflict("restore");
    choose(QStringLiteral("Restore"));
    QCOMPARE(document()->design().workload.batch, 4);
    QVERIFY(document()->isModified());
    QCOMPARE(batchOf(path), 32);
    answerConflict("cancel");
    QVERIFY(!window->fileActions()->save());
    QVERIFY2(m_asked.contains(QStringLiteral("mine.shardboard is not what this design was read from")), qPrintable(m_asked));
    QCOMPARE(batchOf(path), 32);
    QVERIFY(document()->isModified());
    answerConflict("overwrite");
    QVERIFY(window->fileActions()->save());
    QCOMPARE(batchOf(path), 4);
    QVERIFY(window->fileActions()->save()); // it is this window's version now
}

/// It says a path as somebody had typed it, in whatever folder.
void TestFiles::keptCopyOfAnEarlierVersionHasNoFile()
{
    QVERIFY(writeDesign(fileIn("."), sampleDesign().value()).ok());
    const QJsonObject old { { QStringLiteral("file"), QStringLiteral("a.shardboard") },
                            { QStringLiteral("name"), QStringLiteral("a.shardboard") },
                            { QStringLiteral("design"),
                              QString::fromStdString(designText(withBatch(sampleDesign().value(), 4))) } };
    QVERIFY(QDir().mkpath(settings->unsavedFolder()));
    QFile file(settings->unsavedFolder() + QStringLiteral("/old.unsaved"));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(QJsonDocument(old).toJson()) > 0);
    file.close();
    const QString before = QDir::currentPath();
    QVERIFY(QDir::setCurrent(folder.path()));
    window->offerRecovery();
    choose(QStringLiteral("Restore"));
    QVERIFY(QDir::setCurrent(before));
    QCOMPARE(document()->design().workload.batch, 4);
    QVERIFY(document()->filePath().isEmpty() && document()->isModified());
    QCOMPARE(kept().size(), 1); // by this window now
    QVERIFY(!file.exists());
    QCOMPARE(batchOf(fileIn(".")), 8);
}

void TestFiles::whatIsNoKeptCopyIsSaidInOneLine_data()
{
    QTest::addColumn<QByteArray>("beginning");
    QTest::addColumn<qint64>("size");
    QTest::newRow("empty") << QByteArray() << qint64 { 0 };
    QTest::newRow("another format") << QByteArray("{\"format\":\"other\"}\n") << qint64 { 0 };
    QTest::newRow("relative path") << QByteArray(
        "{\"format\":\"shardboard-unsaved\",\"version\":2,\"file\":{\"path\":\"a.shardboard\"}}\n{}")
                                   << qint64 { 0 };
    QTest::newRow("endless head") << QByteArray("{\"format\":") << (qint64 { 64 } << 30);
    QTest::newRow("endless, as an earlier version") << QByteArray("{\n\"design\": \"") << (qint64 { 64 } << 30);
    QTest::newRow("endless design") << QByteArray("{\"format\":\"shardboard-unsaved\",\"version\":2,\"file\":{},\"name\":\"x\"}\n")
                                    << (qint64 { 64 } << 30);
}

/// Whatever lies there, nothing but a limited part of it is read (the files have holes: only their length is large).
void TestFiles::whatIsNoKeptCopyIsSaidInOneLine()
{
    QFETCH(QByteArray, beginning);
    QFETCH(qint64, size);
    QVERIFY(QDir().mkpath(settings->unsavedFolder()));
    QFile file(settings->unsavedFolder() + QStringLiteral("/strange.unsaved"));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(beginning) == beginning.size());
    if (size > 0 && !file.resize(size))
        QSKIP("no files with holes here");
    file.close();
    QFile part(settings->unsavedFolder() + QStringLiteral("/cut.unsaved.part")); // of a window that was killed while it wrote
    QVERIFY(part.open(QIODevice::WriteOnly) && part.write("{") == 1);
    part.close();
    QCOMPARE(::mkfifo(QFile::encodeName(settings->unsavedFolder() + QStringLiteral("/pipe.unsaved")).constData(), 0600), 0);
    window->offerRecovery();
    if (window->banner()->choices().size() == 2) // its head is as it should be
        choose(QStringLiteral("Restore"));
    QVERIFY(!document()->hasDesign());
    const QString said = window->banner()->text();
    QVERIFY2(said.contains(file.fileName()) && !said.contains(QLatin1Char('\n')), qPrintable(said));
    QVERIFY(!part.exists());
    window->offerRecovery();
    choose(QStringLiteral("Discard"));
    QVERIFY(!file.exists());
    QVERIFY(!window->banner()->isVisible());
}

/// Also not by a window whose offer is as old as that.
void TestFiles::whatALivingWindowKeepsIsNotTaken()
{
    window->fileActions()->openSample();
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QTRY_COMPARE(kept().size(), 1);
    Document other;
    Recovery beside(&other, settings->unsavedFolder());
    const Recovery::Left left { window->recovery()->path(), {}, {}, {}, {} };
    QVERIFY(!beside.restore(left).ok());
    QVERIFY(!other.hasDesign());
    beside.discard(left);
    QCOMPARE(kept().size(), 1);
}

void TestFiles::whatAnotherWindowSavedIsNotReplaced_data()
{
    QTest::addColumn<QByteArray>("answer");
    QTest::addColumn<bool>("saved");
    QTest::addColumn<int>("batchInFile");
    QTest::addColumn<int>("batchHere");
    QTest::newRow("cancel") << QByteArray("cancel") << false << 6 << 4;
    QTest::newRow("overwrite") << QByteArray("overwrite") << true << 4 << 4;
    QTest::newRow("reload") << QByteArray("reload") << false << 6 << 6;
    QTest::newRow("save as") << QByteArray("saveAs") << false << 6 << 4; // the dialog of files is left
}

void TestFiles::whatAnotherWindowSavedIsNotReplaced()
{
    QFETCH(QByteArray, answer);
    const QString file = at("shared.shardboard");
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    MainWindow second(*settings, *theme);
    QVERIFY(second.fileActions()->openPath(file));
    QVERIFY(second.document()->edit(withBatch(second.document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QVERIFY(document()->edit(withBatch(document()->design(), 4), QStringLiteral("Batch 4")).ok());
    QVERIFY(second.fileActions()->save());
    answerConflict(answer.constData());
    if (answer == "saveAs")
        QTimer::singleShot(0, qApp, [] { // after the answer
            QTimer::singleShot(0, qApp, [] {
                auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
                QVERIFY(dialog != nullptr);
                dialog->reject();
            });
        });
    QTEST(window->fileActions()->save(), "saved");
    QVERIFY(!m_asked.isEmpty());
    QTEST(batchOf(QFile::encodeName(file).toStdString()), "batchInFile");
    QTEST(static_cast<int>(document()->design().workload.batch), "batchHere");
    QCOMPARE(document()->isModified(), answer == "cancel" || answer == "saveAs");
    second.document()->undoStack()->setClean();
}

/// Who answers has seen one version, and another one lies there by then.
void TestFiles::whatComesWhileItIsAskedIsAskedAbout()
{
    const QString file = at("asked.shardboard");
    const std::string path = QFile::encodeName(file).toStdString();
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    QVERIFY(document()->edit(withBatch(document()->design(), 4), QStringLiteral("Batch 4")).ok());
    QVERIFY(writeDesign(path, withBatch(document()->design(), 6)).ok());
    QTimer::singleShot(0, qApp, [&] {
        auto* dialog = qobject_cast<FileConflict*>(QApplication::activeModalWidget());
        QVERIFY(dialog != nullptr);
        QVERIFY(writeDesign(path, withBatch(document()->design(), 12)).ok());
        answerConflict("cancel"); // of the next one
        dialog->findChild<QPushButton*>(QStringLiteral("conflict.overwrite"))->click();
    });
    QVERIFY(!window->fileActions()->save());
    QVERIFY2(m_asked.contains(QRegularExpression(QString::fromUtf8("− +\"batch\": 12,"))), qPrintable(m_asked));
    QCOMPARE(batchOf(path), 12);
}

void TestFiles::removedFileIsAskedAbout()
{
    const QString file = at("gone.shardboard");
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    QVERIFY(document()->edit(withBatch(document()->design(), 4), QStringLiteral("Batch 4")).ok());
    QVERIFY(QFile::remove(file));
    answerConflict("cancel");
    QVERIFY(!window->fileActions()->save());
    QVERIFY2(m_asked.contains(QStringLiteral("gone.shardboard no longer exists")), qPrintable(m_asked));
    QVERIFY(!QFile::exists(file));
    answerConflict("overwrite");
    QVERIFY(window->fileActions()->save());
    QVERIFY(QFile::exists(file));
}

/// A file that was written again with the same content is another one to the system, and later; nothing is lost by replacing it.
void TestFiles::sameContentIsNotAskedAbout()
{
    const QString file = at("same.shardboard");
    const std::string path = QFile::encodeName(file).toStdString();
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    QVERIFY(writeDesign(path, document()->design()).ok());
    QVERIFY(document()->edit(withBatch(document()->design(), 4), QStringLiteral("Batch 4")).ok());
    QVERIFY(window->fileActions()->save());
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QVERIFY(writeDesign(path, document()->design()).ok()); // somebody has made the same edit
    QVERIFY(window->fileActions()->save());
    QCOMPARE(batchOf(path), 6);
    QVERIFY(!document()->isModified());
}

/// A link is followed when it is written to, wherever it leads by then.
void TestFiles::linkToAnotherFileIsAskedAbout()
{
    const QString link = at("link.shardboard");
    const std::string first = QFile::encodeName(at("first.shardboard")).toStdString();
    const std::string second = QFile::encodeName(at("second.shardboard")).toStdString();
    QVERIFY(writeDesign(first, sampleDesign().value()).ok());
    QVERIFY(writeDesign(second, withBatch(sampleDesign().value(), 32)).ok());
    QVERIFY(QFile::link(at("first.shardboard"), link));
    QVERIFY(window->fileActions()->openPath(link));
    QVERIFY(document()->edit(withBatch(document()->design(), 4), QStringLiteral("Batch 4")).ok());
    QVERIFY(window->fileActions()->save());
    QCOMPARE(batchOf(first), 4);
    QVERIFY(QFileInfo(link).isSymLink());
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QVERIFY(QFile::remove(link) && QFile::link(at("second.shardboard"), link));
    answerConflict("cancel");
    QVERIFY(!window->fileActions()->save());
    QVERIFY(!m_asked.isEmpty());
    QCOMPARE(batchOf(first), 4);
    QCOMPARE(batchOf(second), 32);
}

void TestFiles::nothingIsLeftBehindByAProperEnd()
{
    window->fileActions()->openSample();
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QTRY_COMPARE(kept().size(), 1);
    document()->undoStack()->undo();
    QVERIFY(kept().isEmpty()); // nothing is unsaved any more
    document()->undoStack()->redo();
    QTRY_COMPARE(kept().size(), 1);
    QTimer::singleShot(0, qApp, [] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        QVERIFY(box != nullptr);
        box->button(QMessageBox::Discard)->click();
    });
    QVERIFY(window->close());
    openWindow();
    QVERIFY(kept().isEmpty());
}

/// A number in a field that nobody pressed Enter in.
void TestFiles::whatIsTypedIsSaved()
{
    const QString file = at("typed.shardboard");
    window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window.get()));
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    const QLineEdit* field = typeBatch(QStringLiteral("32"));
    action("file.save")->trigger();
    QCOMPARE(batchOf(QFile::encodeName(file).toStdString()), 32);
    QVERIFY(!document()->isModified() && field->hasFocus());
    QVERIFY(!window->banner()->isVisible());
    typeBatch(QStringLiteral("many"));
    action("file.save")->trigger();
    QCOMPARE(batchOf(QFile::encodeName(file).toStdString()), 32);
    QVERIFY2(window->banner()->isVisible() && window->banner()->text().contains(QStringLiteral("Batch")),
             qPrintable(window->banner()->text()));
    QCOMPARE(field->text(), QStringLiteral("many"));
}

void TestFiles::whatIsTypedIsAskedAboutBeforeItIsLost()
{
    window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window.get()));
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(at("typed.shardboard")));
    typeBatch(QStringLiteral("32"));
    bool asked = false;
    QTimer::singleShot(0, window.get(), [&asked] {
        if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
            asked = true;
            box->button(QMessageBox::Cancel)->click();
        }
    });
    QVERIFY(!window->close());
    QVERIFY(asked && window->isVisible());
    QCOMPARE(document()->design().workload.batch, std::int64_t { 32 });
}

QLineEdit* TestFiles::typeBatch(const QString& text)
{
    raise("workload");
    auto* field = child<QLineEdit>("workload.batch");
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, text);
    return field;
}

void TestFiles::aLivingWindowsChangesAreNotOffered()
{
    window->fileActions()->openSample();
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QTRY_COMPARE(kept().size(), 1);
    Document other;
    const Recovery beside(&other, settings->unsavedFolder());
    QVERIFY(beside.leftBehind().isEmpty());
}

void TestFiles::unwritableFolderIsSaid()
{
    QFile inTheWay(settings->unsavedFolder());
    QVERIFY(inTheWay.open(QIODevice::WriteOnly)); // a file where the folder should be
    window->fileActions()->openSample();
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QTRY_VERIFY(window->banner()->isVisible());
    QVERIFY(window->banner()->isError());
    QVERIFY(window->banner()->text().contains(settings->unsavedFolder()));
}

void TestFiles::changeByAnotherProgramIsOffered()
{
    const QString file = at("shared.shardboard");
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    QVERIFY(writeDesign(QFile::encodeName(file).toStdString(), withBatch(document()->design(), 2)).ok());
    QTRY_VERIFY(window->banner()->isVisible());
    QVERIFY(window->banner()->text().contains(file));
    choose(QStringLiteral("Read It Again"));
    QCOMPARE(document()->design().workload.batch, 2);
    // And the next one, too, although the first replaced the file.
    QVERIFY(writeDesign(QFile::encodeName(file).toStdString(), withBatch(document()->design(), 10)).ok());
    QTRY_VERIFY(window->banner()->isVisible());
    choose(QStringLiteral("Read It Again"));
    QCOMPARE(document()->design().workload.batch, 10);
}

void TestFiles::ownSavesAreNoChange()
{
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(at("own.shardboard")));
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    QVERIFY(window->fileActions()->save());
    QTest::qWait(600);
    QVERIFY(!window->banner()->isVisible());
}

void TestFiles::removedFileIsNoticed()
{
    const QString file = at("gone.shardboard");
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    QVERIFY(QFile::remove(file));
    QTRY_VERIFY(window->banner()->isVisible());
    choose(QStringLiteral("Write It Again"));
    QVERIFY(QFile::exists(file));
    QVERIFY(!window->banner()->isVisible());
    // Another one that came before the answer stays.
    QVERIFY(QFile::remove(file));
    QTRY_VERIFY(window->banner()->isVisible());
    const std::string path = QFile::encodeName(file).toStdString();
    QVERIFY(writeDesign(path, withBatch(document()->design(), 6)).ok());
    answerConflict("cancel");
    choose(QStringLiteral("Write It Again"));
    QVERIFY2(m_asked.contains(QStringLiteral("gone.shardboard is not what this design was read from")), qPrintable(m_asked));
    QCOMPARE(batchOf(path), 6);
}

/// Whenever it is killed, the file is one of the two designs that were being written in turn.
void TestFiles::killedWhileSavingLeavesAWholeFile()
{
    const QString file = at("saved.shardboard");
    const std::string path = QFile::encodeName(file).toStdString();
    QVERIFY(writeDesign(path, sampleDesign().value()).ok());
    int second = 0;
    for (int round = 0; round < 12; ++round) {
        QProcess process;
        process.start(QCoreApplication::applicationFilePath(),
                      { QStringLiteral("-class"), QStringLiteral("tst_files"), QStringLiteral("--save"), file });
        QVERIFY(process.waitForReadyRead()); // it has begun
        QTest::qWait(7 * round);
        process.kill();
        QVERIFY(process.waitForFinished());
        const auto design = readDesign(path);
        QVERIFY2(design.ok(), design.ok() ? "" : design.error().text().c_str());
        const bool other = design.value() == withBatch(sampleDesign().value(), 4);
        QVERIFY(other || design.value() == sampleDesign().value());
        second += other;
    }
    QVERIFY(second > 0); // it did write
}

void TestFiles::placeThatCannotBeWrittenIsNamed()
{
    window->fileActions()->openSample();
    QVERIFY(document()->edit(withBatch(document()->design(), 6), QStringLiteral("Batch 6")).ok());
    const QString path = QStringLiteral("/proc/a.shardboard"); // not for root either
    QVERIFY(!window->fileActions()->saveTo(path));
    QVERIFY(window->banner()->isVisible() && window->banner()->isError());
    QVERIFY2(window->banner()->text().contains(path), qPrintable(window->banner()->text()));
    QVERIFY(document()->isModified());
    QVERIFY(document()->filePath().isEmpty());
    QVERIFY(window->fileActions()->saveTo(at("a.shardboard"))); // the work is not lost
}

void TestFiles::droppedAnywhereOnTheWindow_data()
{
    QTest::addColumn<QString>("name");
    for (const char* name : { "weightFilter", "weightTree", "upperSplitter", "collectivesTable", "statusBar", "summary" })
        QTest::newRow(name) << QString::fromLatin1(name);
}

/// Also over fields and lists that take texts or axes themselves.
void TestFiles::droppedAnywhereOnTheWindow()
{
    QFETCH(QString, name);
    const QString file = at("dropped.shardboard");
    window->fileActions()->openSample();
    QVERIFY(window->fileActions()->saveTo(file));
    window->fileActions()->openSample();
    QVERIFY(document()->filePath().isEmpty());
    QWidget* target = name == QLatin1String("statusBar") ? window->statusBar() : window->findChild<QWidget*>(name);
    QVERIFY(target != nullptr && target->isVisible());
    QVERIFY(dropFile(target, file, target->rect().center()));
    QTRY_COMPARE(document()->filePath(), file);
    if (auto* edit = qobject_cast<QLineEdit*>(target))
        QVERIFY(edit->text().isEmpty());
}

void TestFiles::dragInsideOnAWrongPlaceChangesNothing()
{
    window->fileActions()->openSample();
    const auto before = document()->evaluation();
    QMimeData data;
    data.setData(QStringLiteral("application/x-nobody-knows"), "?");
    for (QWidget* target : window->findChildren<QWidget*>()) {
        if (!target->isVisible() || !target->acceptDrops())
            continue;
        const Drag drag { target, &data, Qt::MoveAction };
        if (drag.enter({ 3, 3 }))
            drag.drop({ 3, 3 });
    }
    QVERIFY(document()->evaluation() == before);
    QVERIFY(!document()->isModified());
    QVERIFY(!window->banner()->isVisible());
}

SHARDBOARD_TEST(TestFiles, withFontsOrAsAnother)

#include "tst_files.moc"
