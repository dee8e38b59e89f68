// SPDX-License-Identifier: Apache-2.0
// Deliver with its own act: what is written where, whose folder it is, what happens to what is typed, and where the focus stays.
#include "app/desktop/export/exportform.h"
#include "app/desktop/export/exportpanel.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "widgets/jobs/longwork.h"

#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPointer>
#include <QPushButton>
#include <QTimer>

#include <functional>
#include <memory>

using namespace shardboard;
using namespace shardboard::test;

class TestDeliver : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup() { m_it.reset(); }

    void writesWhereItSaysAndComparesAgain();
    void exportEndsWhileAFolderIsChosen();
    void folderIsThatOfTheDocument();
    void folderOfAnExportThatEndsLater();
    void filesOfOthersAreAskedAbout();
    void onlyTheFolderThatWasChosenIsKept();
    void focusStaysInTheFolder();

private:
    ExportPanel* panel() const { return m_it->window->findChild<ExportPanel*>(); }
    QLineEdit* folderField() const;
    LongWork* work() const { return m_it->window->fileActions()->work(); }
    /// Another text instead of what is in the field, by keys.
    void typeFolder(const QString& folder) const;
    /// Until F5 can be pressed: the files are made, and compared.
    bool ready() const
    {
        return QTest::qWaitFor([this] { return panel()->canExport() && !form()->isBusy(); }, 20000);
    }
    bool written() const
    {
        return QTest::qWaitFor([this] { return !work()->isBusy(); }, 20000);
    }
    /// The one that is shown; those before it may not be gone yet.
    ExportForm* form() const
    {
        ExportForm* shown = nullptr;
        for (ExportForm* one : panel()->findChildren<ExportForm*>())
            if (one->isVisible())
                shown = one;
        return shown;
    }
    void edit() const;
    void pressAct() const
    {
        m_it->window->activateWindow(); // a question may have been there
        QVERIFY(QTest::qWaitForWindowActive(m_it->window.get()));
        QTest::keyClick(m_it->window.get(), Qt::Key_F5);
    }
    void answerQuestion(QMessageBox::StandardButton button);

    std::unique_ptr<TestWindow> m_it;
    QTimer m_answering;
    QMessageBox::StandardButton m_answer = QMessageBox::Cancel;
    int m_asked = 0;
};

void TestDeliver::initTestCase()
{
    connect(&m_answering, &QTimer::timeout, this, [this] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box == nullptr)
            return;
        m_answering.stop();
        ++m_asked;
        box->button(m_answer)->click();
    });
}

void TestDeliver::init()
{
    m_asked = 0;
    m_answering.stop();
    m_it = std::make_unique<TestWindow>();
    m_it->window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(m_it->window.get()));
    m_it->window->fileActions()->openSample();
    m_it->action("mode.deliver")->trigger();
    QVERIFY(ready());
}

QLineEdit* TestDeliver::folderField() const { return form()->findChild<QLineEdit*>(QStringLiteral("export.folder")); }

void TestDeliver::typeFolder(const QString& folder) const
{
    QLineEdit* field = folderField();
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, folder);
}

void TestDeliver::edit() const
{
    Design edited = m_it->document()->design();
    edited.workload.batch *= 2;
    QVERIFY(m_it->document()->edit(edited, QStringLiteral("Batch")).ok());
    QVERIFY(ready());
}

/// The next one, if there is one.
void TestDeliver::answerQuestion(QMessageBox::StandardButton button)
{
    m_answer = button;
    m_answering.start(10);
}

void TestDeliver::writesWhereItSaysAndComparesAgain()
{
    const QString folder = m_it->at("out");
    typeFolder(folder);
    QVERIFY(ready());
    const auto* files = form()->findChild<QListWidget*>(QStringLiteral("export.files"));
    QVERIFY2(files->count() == 2 && files->item(0)->text().endsWith(QStringLiteral("new")), qPrintable(files->item(0)->text()));
    pressAct();
    QVERIFY(work()->isBusy());
    QVERIFY(written());
    QVERIFY(QFile::exists(folder + QStringLiteral("/export.py")) && QFile::exists(folder + QStringLiteral("/shards.json")));
    QVERIFY2(m_it->window->banner()->text().contains(QStringLiteral("tensors read back equal")),
             qPrintable(m_it->window->banner()->text()));
    QVERIFY(ready());
    files = form()->findChild<QListWidget*>(QStringLiteral("export.files"));
    QTRY_VERIFY2(files->item(0)->text().endsWith(QStringLiteral("unchanged")), qPrintable(files->item(0)->text()));
    QCOMPARE(folderField()->text(), QDir::toNativeSeparators(folder));
}

/// The chooser has an event loop of its own, in which the export ends.
void TestDeliver::exportEndsWhileAFolderIsChosen()
{
    typeFolder(m_it->at("out"));
    QVERIFY(ready());
    const QPointer<ExportForm> shown = form();
    bool ended = false;
    pressAct();
    QVERIFY(work()->isBusy());
    QTimer::singleShot(0, m_it->window.get(), [&] {
        auto* chooser = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        QVERIFY(chooser != nullptr);
        const QPointer<QFileDialog> open = chooser;
        ended = written();
        QTest::qWait(50); // what is to be deleted, is
        QVERIFY(open && open->isVisible());
        open->reject();
    });
    QTest::mouseClick(form()->findChild<QPushButton*>(QStringLiteral("export.browse")), Qt::LeftButton);
    QVERIFY(ended);
    QVERIFY(shown && shown->isVisible());
    QCOMPARE(folderField()->text(), QDir::toNativeSeparators(m_it->at("out")));
}

/// What was typed for one document is no proposal for the next.
void TestDeliver::folderIsThatOfTheDocument()
{
    const QString folder = m_it->at("first");
    typeFolder(folder);
    QVERIFY(ready());
    pressAct();
    QVERIFY(written() && ready());
    const QByteArray before = contentOf(folder + QStringLiteral("/shards.json"));
    QVERIFY(!before.isEmpty());
    m_it->window->fileActions()->openSample(samples()[1].id);
    QVERIFY(ready());
    QVERIFY2(folderField()->text() != QDir::toNativeSeparators(folder), qPrintable(folderField()->text()));
    pressAct();
    QVERIFY(written());
    QCOMPARE(contentOf(folder + QStringLiteral("/shards.json")), before);
}

void TestDeliver::folderOfAnExportThatEndsLater()
{
    const QString folder = m_it->at("first");
    typeFolder(folder);
    QVERIFY(ready());
    pressAct();
    QVERIFY(work()->isBusy());
    m_it->window->fileActions()->openSample(samples()[1].id); // while it is written
    QVERIFY(written());
    m_it->action("mode.design")->trigger();
    m_it->action("mode.deliver")->trigger();
    QVERIFY(ready());
    QVERIFY2(folderField()->text() != QDir::toNativeSeparators(folder), qPrintable(folderField()->text()));
}

/// A folder that this document has not written to may be another one's.
void TestDeliver::filesOfOthersAreAskedAbout()
{
    const QString folder = m_it->at("theirs");
    const QString file = folder + QStringLiteral("/shards.json");
    QVERIFY(QDir().mkpath(folder) && writeFile(file, "theirs"));
    typeFolder(folder);
    QVERIFY(ready());
    answerQuestion(QMessageBox::Cancel);
    pressAct();
    QVERIFY(written());
    QCOMPARE(m_asked, 1);
    QCOMPARE(contentOf(file), QByteArray("theirs"));
    answerQuestion(QMessageBox::Yes);
    pressAct();
    QVERIFY(written() && ready());
    QCOMPARE(m_asked, 2);
    QVERIFY(contentOf(file) != QByteArray("theirs"));
    edit(); // its own files are not asked about
    m_it->window->banner()->hide();
    answerQuestion(QMessageBox::Cancel);
    pressAct();
    QVERIFY(written());
    QCOMPARE(m_asked, 2);
    QVERIFY(m_it->window->banner()->text().contains(QStringLiteral("read back equal")));
}

/// Not what was in the field on the way.
void TestDeliver::onlyTheFolderThatWasChosenIsKept()
{
    const QString proposed = folderField()->text();
    folderField()->setFocus();
    QTest::keyClick(folderField(), Qt::Key_End);
    QTest::keyClick(folderField(), Qt::Key_X);
    QTest::keyClick(folderField(), Qt::Key_Backspace);
    QCOMPARE(folderField()->text(), proposed);
    edit();
    QCOMPARE(folderField()->text(), proposed);
    const QString typed = QDir::toNativeSeparators(m_it->at("typed"));
    typeFolder(typed);
    edit();
    QCOMPARE(folderField()->text(), typed); // one that was chosen stays
}

void TestDeliver::focusStaysInTheFolder()
{
    typeFolder(m_it->at("out"));
    QVERIFY(ready());
    QLineEdit* field = folderField();
    QVERIFY(field->hasFocus());
    pressAct();
    QVERIFY(written() && ready());
    QTest::qWait(1);
    QVERIFY(folderField() == field && field->hasFocus());
}

SHARDBOARD_TEST(TestDeliver, withFonts)

#include "tst_deliver.moc"
