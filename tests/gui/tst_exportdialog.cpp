// SPDX-License-Identifier: Apache-2.0
// Exports: seen before they are written, compared with the last one, refused by name with a way to the weight, and read back equal.
#include "app/desktop/exportaction.h"
#include "app/desktop/exportdialog.h"
#include "app/desktop/fonts.h"
#include "app/desktop/linediff.h"
#include "model/session/selection.h"
#include "tests/gui/widgets_support.h"
#include "tests/gui/testwindow.h"
#include "widgets/longwork.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTimer>

#include <functional>

using namespace shardboard;

class TestExportDialog : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void linesAreCompared_data();
    void linesAreCompared();
    void windowShowsWritesAndReadsBack();
    void writingIsCancelledWithoutAnError();
    void refusalsLeadToTheirWeight();
    void damageIsFoundWhenReadBack();
};

namespace {

QString marked(const LineDiff& diff)
{
    QString out;
    for (const DiffLine& line : diff.lines)
        out += QLatin1Char(line.kind == DiffLine::Kind::Added ? '+' : line.kind == DiffLine::Kind::Removed ? '-' : line.kind == DiffLine::Kind::Gap ? '~' : ' ')
            + (line.kind == DiffLine::Kind::Gap ? QString() : line.text);
    return out;
}

/// Does something in the next dialog.
void inDialog(std::function<void(ExportDialog&)> act)
{
    QTimer::singleShot(0, qApp, [act = std::move(act)] {
        auto* dialog = qobject_cast<ExportDialog*>(QApplication::activeModalWidget());
        QVERIFY(dialog != nullptr);
        act(*dialog);
        if (dialog->isVisible())
            dialog->reject();
    });
}

template <class T> T* part(const QDialog& dialog, const char* name) { return dialog.findChild<T*>(QString::fromLatin1(name)); }

} // namespace

void TestExportDialog::linesAreCompared_data()
{
    QTest::addColumn<QString>("before");
    QTest::addColumn<QString>("after");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* before, const char* after, const char* expected) {
        QTest::newRow(name) << QString::fromLatin1(before).replace(QLatin1Char(' '), QLatin1Char('\n'))
                            << QString::fromLatin1(after).replace(QLatin1Char(' '), QLatin1Char('\n')) << QString::fromLatin1(expected);
    };
    row("same", "a b c", "a b c", "");
    row("first", "", "a b", "+a+b");
    row("changed", "a b c", "a x c", " a-b+x c");
    row("added", "a c", "a b c", " a+b c");
    row("removed", "a b c", "a c", " a-b c");
    row("far", "1 2 3 4 5 6 7 8 9", "1 2 3 4 x 6 7 8 9", "~ 4-5+x 6~");
    row("two places", "1 2 3 4 5 6 7", "0 2 3 4 5 6 8", "-1+0 2~ 6-7+8");
}

void TestExportDialog::linesAreCompared()
{
    QFETCH(QString, before);
    QFETCH(QString, after);
    QFETCH(QString, expected);
    QCOMPARE(marked(lineDiff(before, after, 1)), expected);
}

void TestExportDialog::windowShowsWritesAndReadsBack()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    const QString folder = test.at("out");
    inDialog([&](ExportDialog& dialog) {
        part<QLineEdit>(dialog, "export.folder")->setText(folder);
        auto* files = part<QListWidget>(dialog, "export.files");
        QCOMPARE(files->count(), 2);
        QVERIFY(files->item(0)->text().contains(QStringLiteral("new")));
        QVERIFY(part<QPlainTextEdit>(dialog, "export.preview")->toPlainText().contains(QStringLiteral("PartitionSpec")));
        dialog.accept();
    });
    test.action("file.exportJax")->trigger();
    QTRY_VERIFY(!test.window->fileActions()->work()->isBusy());
    QVERIFY(QFile::exists(folder + QStringLiteral("/export.py")));
    QVERIFY2(test.window->banner()->text().contains(QStringLiteral("tensors read back equal")), qPrintable(test.window->banner()->text()));
    // Again without an edit: nothing changes; after one: what does.
    inDialog([&](ExportDialog& dialog) {
        QCOMPARE(dialog.folder(), folder); // that of the last export
        QVERIFY(part<QListWidget>(dialog, "export.files")->item(0)->text().contains(QStringLiteral("unchanged")));
        QVERIFY(part<QLabel>(dialog, "export.note")->text().contains(QStringLiteral("exactly this export")));
    });
    test.action("file.exportJax")->trigger();
    Document* document = test.document();
    const int weight = weightNamed(*document, "mlp.up_proj");
    QVERIFY(document->edit(document->withStrategy(document->patternOf(weight), Strategy {}), QStringLiteral("Replicate up_proj")).ok());
    inDialog([&](ExportDialog& dialog) {
        auto* files = part<QListWidget>(dialog, "export.files");
        QVERIFY2(files->item(0)->text().contains(QStringLiteral("+1 −1")), qPrintable(files->item(0)->text()));
        const QString preview = part<QPlainTextEdit>(dialog, "export.preview")->toPlainText();
        QVERIFY2(preview.contains(QStringLiteral("up_proj")) && preview.contains(QStringLiteral("+ ")) && preview.contains(QStringLiteral("− ")), qPrintable(preview));
    });
    test.action("file.exportJax")->trigger();
    QVERIFY(test.window->fileActions()->saveTo(test.at("a.shardboard")));
}

/// What is written takes a while when there are many devices: it can be cancelled, and then nothing is there.
void TestExportDialog::writingIsCancelledWithoutAnError()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    const QString folder = test.at("cancelled");
    inDialog([&](ExportDialog& dialog) {
        part<QLineEdit>(dialog, "export.folder")->setText(folder);
        dialog.accept();
    });
    test.action("file.exportJax")->trigger();
    LongWork* work = test.window->fileActions()->work();
    QVERIFY(work->isBusy());
    QVERIFY(test.window->centralWidget()->isAncestorOf(work));
    work->cancel();
    QVERIFY(!work->isBusy());
    QCOMPARE(test.window->banner()->text(), QStringLiteral("The export was cancelled."));
    QVERIFY(!test.window->banner()->isError());
    QTest::qWait(200);
    QCOMPARE(test.window->banner()->text(), QStringLiteral("The export was cancelled."));
}

void TestExportDialog::refusalsLeadToTheirWeight()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    Design design = knownDesign("model=8");
    design.model.vocabSize = 128001; // embedding and head do not divide
    QVERIFY(test.document()->setDesign(design).ok());
    const auto evaluation = test.document()->evaluation();
    const auto refusals = exportRefusals("jax", design, *evaluation);
    if (refusals.empty())
        QSKIP("this preset cuts no dim that does not divide");
    QVERIFY(!exportDesign("jax", design, *evaluation).ok());
    inDialog([&](ExportDialog& dialog) {
        auto* problems = part<QListWidget>(dialog, "export.problems");
        QVERIFY(problems->isVisible());
        QCOMPARE(problems->count(), static_cast<int>(refusals.size()));
        QVERIFY(problems->item(0)->text().contains(QString::fromStdString(refusals.front().where)));
        QVERIFY(!dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save)->isEnabled());
        Q_EMIT problems->itemActivated(problems->item(0));
    });
    test.action("file.exportJax")->trigger();
    const int shown = test.document()->selection()->weight();
    QVERIFY(shown >= 0);
    QCOMPARE(weightAt(*test.document(), shown).spec.name, refusals.front().where);
}

void TestExportDialog::damageIsFoundWhenReadBack()
{
    const QTemporaryDir folder;
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    QVERIFY(exportTo(QStringLiteral("jax"), document, folder.path()).ok());
    QVERIFY(readBack(document, folder.path()).ok());
    Document other; // the same tensors, laid out otherwise
    QVERIFY(other.setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    const auto back = readBack(other, folder.path());
    QVERIFY(!back.ok());
    QVERIFY(back.error().text().find("shards.json") != std::string::npos);
}

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    ensureFonts(application);
    TestExportDialog test;
    return QTest::qExec(&test, argc, argv);
}

#include "tst_exportdialog.moc"
