// SPDX-License-Identifier: Apache-2.0
// Exports: seen before they are written, compared with the last one, refused by name with a way to the weight, and read back equal.
#include "app/desktop/base/linediff.h"
#include "app/desktop/export/codeview.h"
#include "app/desktop/export/exportaction.h"
#include "app/desktop/export/exportform.h"
#include "app/desktop/export/exportstate.h"
#include "app/desktop/window/fonts.h"
#include "model/io/targets/targets.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/jobs/longwork.h"

#include <QDeadlineTimer>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QThread>
#include <QTimer>

#include <functional>
#include <memory>

#include <sys/stat.h>

using namespace shardboard;
using namespace shardboard::test;

class TestExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void linesAreCompared_data();
    void linesAreCompared();
    void windowShowsWritesAndReadsBack();
    void filesAreMadeWhileTheFormIsThere();
    void typedFolderIsComparedOnce();
    void makingIsCancelled();
    void writingIsCancelledWithoutAnError();
    void cancelSaysWhatItLeft();
    void writingStopsBetweenFiles();
    void failedWritingSaysWhatIsThere_data();
    void failedWritingSaysWhatIsThere();
    void refusalsLeadToTheirWeight();
    void designsAreRefusedAsAWhole();
    void whatIsLeftOutIsShown();
    void linksAndPipesAreNotOpened();
    void damageIsFoundWhenReadBack();
};

namespace {

QString marked(const LineDiff& diff)
{
    QString out;
    for (const DiffLine& line : diff.lines)
        out += QLatin1Char(line.kind == DiffLine::Kind::Added         ? '+'
                               : line.kind == DiffLine::Kind::Removed ? '-'
                               : line.kind == DiffLine::Kind::Gap     ? '~'
                                                                      : ' ')
            + (line.kind == DiffLine::Kind::Gap ? QString() : line.text);
    return out;
}

template <class T>
T* part(const QWidget& form, const char* name)
{
    return form.findChild<T*>(QString::fromLatin1(name));
}

/// Ctrl+E: the form of the mode Deliver. It is made anew after an edit and after an export.
ExportForm* deliver(const TestWindow& test)
{
    test.action("file.export")->trigger();
    settle();
    ExportForm* out = nullptr;
    for (ExportForm* form : test.window->findChildren<ExportForm*>())
        if (form->isVisible())
            out = form;
    return out;
}

/// The button of the mode.
void exportNow(const TestWindow& test)
{
    QTRY_VERIFY(test.action("mode.act")->isEnabled());
    QTest::mouseClick(test.child<QPushButton>("summaryAct"), Qt::LeftButton);
}

/// From the window to a folder; `before` happens when the form has found that it can.
void exportSample(TestWindow& test, const QString& folder, const std::function<void()>& before = {})
{
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    ExportForm* form = deliver(test);
    QVERIFY(form != nullptr);
    part<QLineEdit>(*form, "export.folder")->setText(folder);
    QTRY_VERIFY(form->canExport());
    if (before)
        before();
    exportNow(test);
}

} // namespace

void TestExport::linesAreCompared_data()
{
    QTest::addColumn<QString>("before");
    QTest::addColumn<QString>("after");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* before, const char* after, const char* expected) {
        QTest::newRow(name) << QString::fromLatin1(before).replace(QLatin1Char(' '), QLatin1Char('\n'))
                            << QString::fromLatin1(after).replace(QLatin1Char(' '), QLatin1Char('\n'))
                            << QString::fromLatin1(expected);
    };
    row("same", "a b c", "a b c", "");
    row("first", "", "a b", "+a+b");
    row("changed", "a b c", "a x c", " a-b+x c");
    row("added", "a c", "a b c", " a+b c");
    row("removed", "a b c", "a c", " a-b c");
    row("far", "1 2 3 4 5 6 7 8 9", "1 2 3 4 x 6 7 8 9", "~ 4-5+x 6~");
    row("two places", "1 2 3 4 5 6 7", "0 2 3 4 5 6 8", "-1+0 2~ 6-7+8");
}

void TestExport::linesAreCompared()
{
    QFETCH(QString, before);
    QFETCH(QString, after);
    QFETCH(QString, expected);
    QCOMPARE(marked(lineDiff(before, after, 1)), expected);
}

void TestExport::windowShowsWritesAndReadsBack()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    const QString folder = test.at("out");
    ExportForm* form = deliver(test);
    QVERIFY(form != nullptr && test.window->workbench()->mode() == WorkMode::Deliver);
    part<QLineEdit>(*form, "export.folder")->setText(folder);
    auto* files = part<QListWidget>(*form, "export.files");
    QTRY_VERIFY(!form->isBusy());
    QCOMPARE(files->count(), 2);
    QVERIFY(files->item(0)->text().contains(QStringLiteral("new")));
    QVERIFY(part<QPlainTextEdit>(*form, "export.preview")->toPlainText().contains(QStringLiteral("PartitionSpec")));
    exportNow(test);
    QTRY_VERIFY(!test.window->fileActions()->work()->isBusy());
    QVERIFY(QFile::exists(folder + QStringLiteral("/export.py")));
    QVERIFY2(test.window->banner()->text().contains(QStringLiteral("tensors read back equal")),
             qPrintable(test.window->banner()->text()));
    // Again without an edit: nothing changes; after one: what does.
    form = deliver(test);
    QCOMPARE(form->folder(), folder); // that of the last export
    QTRY_VERIFY(!form->isBusy());
    QVERIFY(part<QListWidget>(*form, "export.files")->item(0)->text().contains(QStringLiteral("unchanged")));
    QVERIFY(part<QLabel>(*form, "export.note")->text().contains(QStringLiteral("exactly this export")));
    Document* document = test.document();
    const int weight = weightNamed(*document, "mlp.up_proj");
    QVERIFY(
        document->edit(document->withStrategy(document->patternOf(weight), Strategy {}), QStringLiteral("Replicate up_proj")).ok());
    form = deliver(test);
    files = part<QListWidget>(*form, "export.files");
    QTRY_VERIFY(!form->isBusy());
    QVERIFY2(files->item(0)->text().contains(QStringLiteral("+2 −2")), qPrintable(files->item(0)->text()));
    const QString preview = part<QPlainTextEdit>(*form, "export.preview")->toPlainText();
    QVERIFY2(preview.contains(QStringLiteral("up_proj")) && preview.contains(QStringLiteral("+ "))
                 && preview.contains(QStringLiteral("− ")),
             qPrintable(preview));
    QVERIFY(test.window->fileActions()->saveTo(test.at("a.shardboard")));
}

/// They take seconds for very many devices: the form is there at once.
void TestExport::filesAreMadeWhileTheFormIsThere()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const QTemporaryDir folder;
    ExportForm form(document, *findExportTarget("jax"), folder.path());
    form.show();
    QVERIFY(form.isBusy() && form.files() == nullptr);
    QVERIFY(part<QLabel>(form, "export.note")->text().contains(QStringLiteral("Preparing")));
    QVERIFY(!form.canExport());
    QTRY_VERIFY(form.canExport());
    QTRY_VERIFY(!form.isBusy());
    QCOMPARE(part<QLabel>(form, "export.note")->text(), QStringLiteral("The folder has no export yet."));
    const auto direct = exportDesign(*findExportTarget("jax"), document.design(), document.evaluation());
    QVERIFY(form.files() != nullptr && form.files()->size() == direct.value().size());
    for (std::size_t i = 0; i < direct.value().size(); ++i)
        QVERIFY(textOf(form.files()->at(i).text) == textOf(direct.value()[i].text));
    ExportForm other(document, *findExportTarget("jax"), folder.path());
    other.show();
    other.forget();
    QVERIFY(!other.isBusy());
    QTest::qWait(0);
    QVERIFY(other.files() == nullptr);
}

/// Keys of a folder's name are not each looked into; what cannot be a folder is said.
void TestExport::typedFolderIsComparedOnce()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const QTemporaryDir there;
    QVERIFY(exportTo(*findExportTarget("jax"), document, there.path()).ok());
    ExportForm form(document, *findExportTarget("jax"), QString());
    form.show();
    QTRY_VERIFY(!form.isBusy());
    auto* list = part<QListWidget>(form, "export.files");
    auto* note = part<QLabel>(form, "export.note");
    QCOMPARE(note->text(), QStringLiteral("Name a folder."));
    QVERIFY(!form.canExport());
    int filled = 0;
    connect(list->model(), &QAbstractItemModel::rowsInserted, this,
            [&](const QModelIndex&, int first, int) { filled += first == 0 ? 1 : 0; });
    QTest::keyClicks(part<QLineEdit>(form, "export.folder"), there.path());
    QVERIFY(form.canExport()); // known without a look into it
    QTRY_VERIFY(!form.isBusy());
    QCOMPARE(filled, 1);
    QVERIFY(list->item(0)->text().contains(QStringLiteral("unchanged")));
    part<QLineEdit>(form, "export.folder")->setText(there.filePath(QStringLiteral("export.py")));
    QVERIFY(!form.canExport());
    QTRY_VERIFY2(note->text().endsWith(QStringLiteral("is a file, not a folder.")), qPrintable(note->text()));
    QCOMPARE(note->textFormat(), Qt::PlainText);
}

void TestExport::makingIsCancelled()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    int asked = 0;
    const auto all = exportDesign(*findExportTarget("jax"), document.design(), document.evaluation(), [&] { return ++asked == 0; });
    QVERIFY(all.ok() && asked > 2);
    asked = 0;
    QVERIFY(
        exportDesign(*findExportTarget("jax"), document.design(), document.evaluation(), [&] { return ++asked == 2; }).cancelled());
    QCOMPARE(asked, 2);
}

/// What is written takes a while when there are many devices: it can be cancelled, and says what is there then.
void TestExport::writingIsCancelledWithoutAnError()
{
    TestWindow test;
    const QString folder = test.at("cancelled");
    exportSample(test, folder);
    LongWork* work = test.window->fileActions()->work();
    QVERIFY(work->isBusy());
    QVERIFY(test.window->centralWidget()->isAncestorOf(work));
    work->cancel();
    QVERIFY(!work->isBusy());
    const QString text = test.window->banner()->text(); // whichever was first, the cancel or the writing
    QVERIFY2(text.contains(QStringLiteral("cancelled")), qPrintable(text));
    QVERIFY(!test.window->banner()->isError());
    test.window.reset(); // waits for the writing
    if (text == QLatin1String("The export was cancelled."))
        QVERIFY(!QFile::exists(folder));
    else
        QVERIFY2(text.contains(QDir::toNativeSeparators(folder)), qPrintable(text));
}

/// Once a file is there, a cancel does not sound as if nothing were.
void TestExport::cancelSaysWhatItLeft()
{
    TestWindow test;
    const QString folder = test.at("left");
    exportSample(test, folder);
    LongWork* work = test.window->fileActions()->work();
    QDeadlineTimer limit(20000);
    while (!QFile::exists(folder + QStringLiteral("/export.py")) && !limit.hasExpired())
        QThread::yieldCurrentThread(); // no events: the answer of the writing is not told
    QVERIFY(work->isBusy());
    work->cancel();
    const QString text = test.window->banner()->text();
    QVERIFY2(text.contains(QDir::toNativeSeparators(folder)) && text.contains(QStringLiteral("cancelled")), qPrintable(text));
    QVERIFY(!test.window->banner()->isError());
}

void TestExport::writingStopsBetweenFiles()
{
    using Left = ExportState::Left;
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto files = exportDesign(*findExportTarget("jax"), document.design(), document.evaluation());
    const QTemporaryDir place;
    ExportState before;
    QCOMPARE(before.cancel(), Left::Nothing);
    QVERIFY(writeFiles(files.value(), place.filePath(QStringLiteral("none")), [&] { return !before.begin(); }).cancelled());
    QVERIFY(!QFile::exists(place.filePath(QStringLiteral("none"))));
    ExportState during;
    bool stop = false;
    const auto stopped = [&] {
        stop = QFile::exists(place.filePath(QStringLiteral("some/export.py")));
        return stop || !during.begin();
    };
    QVERIFY(writeFiles(files.value(), place.filePath(QStringLiteral("some")), stopped).cancelled());
    QVERIFY(stop && !QFile::exists(place.filePath(QStringLiteral("some/shards.json"))));
    QCOMPARE(during.cancel(), Left::Some);
    ExportState after;
    QVERIFY(writeFiles(files.value(), place.filePath(QStringLiteral("all")), [&] { return !after.begin(); }).ok());
    after.finish();
    QCOMPARE(after.cancel(), Left::All);
    QVERIFY(QFile::exists(place.filePath(QStringLiteral("all/shards.json"))));
}

/// An export that ends at one of its files does not sound as if nothing were there, nor as if all were.
void TestExport::failedWritingSaysWhatIsThere_data()
{
    QTest::addColumn<QString>("inTheWay");
    QTest::addColumn<QString>("told");
    QTest::newRow("folder") << QString() << QStringLiteral("nothing was exported");
    QTest::newRow("first file") << QStringLiteral("export.py") << QStringLiteral("nothing was exported");
    QTest::newRow("second file") << QStringLiteral("shards.json")
                                 << QStringLiteral("the export is incomplete: export.py is written, shards.json is not");
}

void TestExport::failedWritingSaysWhatIsThere()
{
    QFETCH(QString, inTheWay);
    QFETCH(QString, told);
    TestWindow test;
    const QString folder = test.at("partly");
    exportSample(test, folder, [&] { // made now, behind the form's back
        QVERIFY(inTheWay.isEmpty() ? writeFile(folder, {}) : QDir().mkpath(folder + QLatin1Char('/') + inTheWay));
    });
    QTRY_VERIFY(!test.window->fileActions()->work()->isBusy());
    const QString text = test.window->banner()->text();
    QVERIFY(test.window->banner()->isError());
    QVERIFY2(text.contains(told) && text.contains(folder), qPrintable(text));
    QCOMPARE(QFileInfo(folder + QStringLiteral("/export.py")).isFile(), text.contains(QStringLiteral("export.py is written")));
    QVERIFY(!QFileInfo(folder + QStringLiteral("/shards.json")).isFile());
}

void TestExport::refusalsLeadToTheirWeight()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    Design design = knownDesign("model=8");
    design.model.vocabSize = 128001; // embedding and head do not divide
    QVERIFY(test.document()->setDesign(design).ok());
    const auto evaluation = test.document()->evaluation();
    const auto refusals = findExportTarget("jax")->refusals(design, *evaluation, {}).value();
    if (refusals.empty())
        QSKIP("this preset cuts no dim that does not divide");
    QVERIFY(!exportDesign(*findExportTarget("jax"), design, evaluation).ok());
    ExportForm* form = deliver(test);
    QVERIFY(form != nullptr);
    auto* problems = part<QListWidget>(*form, "export.problems");
    QTRY_VERIFY(problems->isVisible());
    QCOMPARE(problems->count(), static_cast<int>(refusals.size()));
    QVERIFY(problems->item(0)->text().contains(QString::fromStdString(refusals.front().error.where)));
    QVERIFY(!form->canExport() && !test.action("mode.act")->isEnabled());
    QVERIFY(problems->x() <= 12 && problems->geometry().right() >= problems->parentWidget()->width() - 13); // across the box
    Q_EMIT problems->itemActivated(problems->item(0));
    const int shown = test.document()->selection()->weight();
    QVERIFY(shown >= 0);
    QCOMPARE(weightAt(*test.document(), shown).spec.name, refusals.front().error.where);
}

/// A pipeline is no matter of single weights.
void TestExport::designsAreRefusedAsAWhole()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign("llama3-8b", "stage=2,model=4", "pp-1f1b")).ok());
    const QTemporaryDir folder;
    ExportForm form(document, *findExportTarget("jax"), folder.path());
    form.show();
    QTRY_VERIFY(!form.isBusy());
    QCOMPARE(part<QLabel>(form, "export.problemTitle")->text(), QStringLiteral("The design cannot be exported as it is."));
    auto* problems = part<QListWidget>(form, "export.problems");
    QCOMPARE(problems->count(), 1);
    QVERIFY2(problems->item(0)->text().startsWith(QStringLiteral("each layer lies on the devices of its stage")),
             qPrintable(problems->item(0)->text()));
    QVERIFY(!form.isBusy() && !form.canExport());
}

/// As plain text, whatever a pin's names hold.
void TestExport::whatIsLeftOutIsShown()
{
    const QTemporaryDir folder;
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    {
        ExportForm form(document, *findExportTarget("jax"), folder.path());
        form.show();
        QVERIFY(!part<QLabel>(form, "export.leftOut")->isVisible());
    }
    Design design = trainingDesign("llama3-8b", "data=2,model=4", "tp-sp");
    design.workload.overlap = Overlap::Weights;
    design.workload.microBatches = 2;
    QVERIFY(document.setDesign(design).ok());
    ExportForm form(document, *findExportTarget("jax"), folder.path());
    form.show();
    auto* label = part<QLabel>(form, "export.leftOut");
    QVERIFY(label->isVisible());
    QCOMPARE(label->textFormat(), Qt::PlainText);
    const QStringList lines = label->text().split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), 3); // said once what they are
    QCOMPARE(lines[0], QStringLiteral("Not in the export:"));
    QVERIFY2(lines[1].startsWith(QStringLiteral("• overlap weights")), qPrintable(lines[1]));
    QVERIFY2(lines[2].startsWith(QStringLiteral("• 2 micro-batches")), qPrintable(lines[2]));
}

/// A link in the folder is not followed, nor a pipe waited for.
void TestExport::linksAndPipesAreNotOpened()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const QTemporaryDir place;
    QVERIFY(QDir(place.path()).mkdir(QStringLiteral("links")) && QDir(place.path()).mkdir(QStringLiteral("pipes")));
    const QString outside = place.filePath(QStringLiteral("outside"));
    QFile file(outside);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("mine") == 4);
    file.close();
    const QString link = place.filePath(QStringLiteral("links/shards.json"));
    QVERIFY(QFile::link(outside, link));
    QCOMPARE(::mkfifo(qPrintable(place.filePath(QStringLiteral("pipes/export.py"))), 0600), 0);
    ExportForm form(document, *findExportTarget("jax"), place.filePath(QStringLiteral("links")));
    form.show();
    QTRY_VERIFY(!form.isBusy());
    auto* note = part<QLabel>(form, "export.note");
    QVERIFY(!form.canExport());
    QVERIFY2(note->text().startsWith(QStringLiteral("shards.json is a link that leads out of this folder")),
             qPrintable(note->text()));
    QVERIFY(part<QListWidget>(form, "export.files")->item(1)->text().endsWith(QStringLiteral("a link")));
    part<QLineEdit>(form, "export.folder")->setText(place.filePath(QStringLiteral("pipes")));
    QTRY_VERIFY(!form.isBusy());
    QVERIFY(form.canExport());
    // A link that comes behind the form's back is refused all the same.
    const auto written = writeFiles(*form.files(), place.filePath(QStringLiteral("links")));
    QVERIFY(!written.ok());
    QVERIFY2(written.error().text().find("shards.json: is a link") != std::string::npos, written.error().text().c_str());
    QVERIFY(QFileInfo(link).isSymLink() && !QFile::exists(place.filePath(QStringLiteral("links/export.py"))));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("mine"));
    part<QLineEdit>(form, "export.folder")->setText(place.filePath(QStringLiteral("other")));
    QTRY_VERIFY(!form.isBusy());
    QVERIFY(form.canExport());
    QCOMPARE(note->text(), QStringLiteral("The folder has no export yet."));
}

void TestExport::damageIsFoundWhenReadBack()
{
    const QTemporaryDir folder;
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    QVERIFY(exportTo(*findExportTarget("jax"), document, folder.path()).ok());
    QVERIFY(readBack(document, folder.path()).ok());
    Document other; // the same tensors, laid out otherwise
    QVERIFY(other.setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    const auto back = readBack(other, folder.path());
    QVERIFY(!back.ok());
    QVERIFY(back.error().text().find("shards.json") != std::string::npos);
}

SHARDBOARD_TEST(TestExport, withFonts)

#include "tst_export.moc"
