// SPDX-License-Identifier: Apache-2.0
// The run panel in little room: its table does not scroll sideways, and an error of any length can be read in full.
#include "app/desktop/panels/workbench.h"
#include "app/desktop/run/enginesession.h"
#include "app/desktop/run/runmodel.h"
#include "app/desktop/run/runpanel.h"
#include "app/desktop/window/fonts.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/tables/columnfit.h"
#include "widgets/tables/elidingheader.h"

#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QUndoStack>

using namespace shardboard;

class TestRunPanel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void columnsGiveWay_data();
    void columnsGiveWay();
    void columnsShrinkBeforeTheTableScrolls();
    void tableDoesNotScrollSideways_data();
    void tableDoesNotScrollSideways();
    void longErrorsCanBeRead_data();
    void longErrorsCanBeRead();
};

namespace {

void open(TestWindow& test, const QSize& size, double points)
{
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.theme->setTextSize(points);
    test.window->fileActions()->openSample();
    test.raise("run");
    settle();
    test.window->resize(size);
    settle();
    QCOMPARE(test.window->size(), size);
}

} // namespace

void TestRunPanel::columnsGiveWay_data()
{
    QTest::addColumn<int>("available");
    QTest::addColumn<QList<int>>("widths");
    // Names of 100, at least 40; a number with a long heading; two that may go, the last one first.
    QTest::newRow("room for all") << 300 << QList<int> { 100, 80, 60, 50 };
    QTest::newRow("exactly") << 290 << QList<int> { 100, 80, 60, 50 };
    QTest::newRow("headings are cut, what matters least first") << 250 << QList<int> { 100, 60, 50, 40 };
    QTest::newRow("names are cut") << 190 << QList<int> { 60, 40, 50, 40 };
    QTest::newRow("one goes") << 160 << QList<int> { 70, 40, 50, 0 };
    QTest::newRow("two go") << 100 << QList<int> { 60, 40, 0, 0 };
    QTest::newRow("these have to stay") << 30 << QList<int> { 40, 40, 0, 0 };
}

void TestRunPanel::columnsGiveWay()
{
    QFETCH(int, available);
    QFETCH(QList<int>, widths);
    const std::vector<int> fitted =
        fitColumns({ { 100, 40, 0, false }, { 80, 40, 1, false }, { 60, 50, 2, true }, { 50, 40, 3, true } }, available);
    QCOMPARE(QList<int>(fitted.begin(), fitted.end()), widths);
}

/// When there is nothing more to leave out, down to what is narrowest.
void TestRunPanel::columnsShrinkBeforeTheTableScrolls()
{
    const auto fitted = [](int available) {
        const std::vector<int> out =
            fitColumns({ { 100, 40, 0, false, 20 }, { 80, 40, 1, false }, { 60, 50, 2, true } }, available);
        return QList<int>(out.begin(), out.end());
    };
    QCOMPARE(fitted(80), (QList<int> { 40, 40, 0 }));
    QCOMPARE(fitted(70), (QList<int> { 30, 40, 0 }));
    QCOMPARE(fitted(30), (QList<int> { 20, 40, 0 }));
}

void TestRunPanel::tableDoesNotScrollSideways_data()
{
    QTest::addColumn<QSize>("size");
    QTest::addColumn<double>("points");
    QTest::newRow("1280 x 800") << QSize(1280, 800) << 10.0;
    QTest::newRow("1024 x 640") << QSize(1024, 640) << 10.0;
    QTest::newRow("1600 x 1000, 14 pt") << QSize(1600, 1000) << 14.0;
    QTest::newRow("1600 x 1000") << QSize(1600, 1000) << 10.0;
    for (const double large : { 14.0, 16.0, 18.0 })
        QTest::addRow("1280 x 800, %g pt", large) << QSize(1280, 800) << large;
    QTest::newRow("2000 x 1000") << QSize(2000, 1000) << 10.0;
}

void TestRunPanel::tableDoesNotScrollSideways()
{
    QFETCH(QSize, size);
    QFETCH(double, points);
    TestWindow test;
    open(test, size, points);
    test.window->runPanel()->run();
    auto* table = test.child<QTableView>("run.table");
    QTRY_VERIFY(table->model()->rowCount() > 0);
    settle();
    auto* header = qobject_cast<ElidingHeader*>(table->horizontalHeader());
    QVERIFY(header != nullptr);
    QVERIFY2(header->length() <= table->viewport()->width(),
             qPrintable(QStringLiteral("%1 of %2").arg(header->length()).arg(table->viewport()->width())));
    QVERIFY(!table->horizontalScrollBar()->isVisible());
    // The first two stay, with their numbers whole; what is left out is in the tool tip of the operation.
    const QString whole = table->model()->index(0, 0).data(Qt::ToolTipRole).toString();
    for (int column = 0; column < header->count(); ++column) {
        const QString title = table->model()->headerData(column, Qt::Horizontal).toString();
        if (header->isSectionHidden(column)) {
            QVERIFY2(column > 1, qPrintable(title));
            continue;
        }
        const QString text = table->model()->index(0, column).data().toString();
        QVERIFY2(whole.contains(text), qPrintable(whole));
        const QFont font = table->model()->index(0, column).data(Qt::FontRole).value<QFont>();
        if (column != RunModel::Kind && column > 0) // numbers follow the size of the text, as everything does
            QVERIFY2(std::abs(font.pointSizeF() - points) <= 1, qPrintable(QString::number(font.pointSizeF())));
        if (column > 0)
            QVERIFY2(table->columnWidth(column) >= QFontMetrics(table->font()).horizontalAdvance(text), qPrintable(title));
        const QString brief = table->model()->headerData(column, Qt::Horizontal, ElidingHeader::kShortTitleRole).toString();
        if (header->shownTitle(column) != title && (brief.isEmpty() || header->shownTitle(column) != brief)) {
            QVERIFY2(header->shownTitle(column).size() >= 4 && header->shownTitle(column).endsWith(QChar(0x2026)),
                     qPrintable(header->shownTitle(column)));
            QVERIFY(table->model()->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().contains(title) || column == 3);
        }
    }
    QVERIFY(whole.contains(QStringLiteral("matmul")) && whole.contains(QStringLiteral("2.5e-07")));
    if (points <= 10 && !header->isSectionHidden(RunModel::Predicted)) // at least without the hardware that it is for
        QVERIFY2(header->shownTitle(RunModel::Predicted).startsWith(QStringLiteral("predicted")),
                 qPrintable(header->shownTitle(RunModel::Predicted)));
    if (size.width() >= 2000)
        QCOMPARE(header->hiddenSectionCount(), 0);
    test.window->document()->undoStack()->setClean();
}

void TestRunPanel::longErrorsCanBeRead_data()
{
    QTest::addColumn<QSize>("size");
    QTest::addColumn<double>("points");
    for (const double points : { 9.0, 10.0, 14.0, 18.0 })
        for (const QSize size : { QSize(1280, 800), QSize(1600, 1000) })
            QTest::addRow("%g pt in %d", points, size.width()) << size << points;
}

/// A dozen lines of log in a low panel.
void TestRunPanel::longErrorsCanBeRead()
{
    QFETCH(QSize, size);
    QFETCH(double, points);
    TestWindow test;
    test.window->engine()->setCommand(QStringLiteral("'" SHARDBOARD_BINARY_DIR "/tests/fakeengine' wordy"));
    open(test, size, points);
    test.window->runPanel()->run();
    QTRY_COMPARE(test.window->engine()->state(), EngineSession::State::Failed);
    settle();
    auto* problem = test.child<WrappedLabel>("run.problem");
    QVERIFY(problem->isVisible() && problem->fullText().contains(QStringLiteral("rank 39")));
    QVERIFY2(problem->height() >= problem->heightForWidth(problem->width()),
             qPrintable(QStringLiteral("%1 of %2").arg(problem->height()).arg(problem->heightForWidth(problem->width()))));
    auto* words = test.child<QScrollArea>("run.words");
    auto* panel = test.window->runPanel();
    for (const QWidget* part : { static_cast<QWidget*>(words), static_cast<QWidget*>(test.child<QPushButton>("run.restart")) })
        QVERIFY2(panel->rect().contains(QRect(part->mapTo(panel, QPoint()), part->size())), qPrintable(part->objectName()));
    QVERIFY(words->viewport()->height() >= 2 * QFontMetrics(problem->font()).height());
    if (words->verticalScrollBar()->maximum() == 0) { // there is room for all of it
        QVERIFY(words->viewport()->height() >= problem->height());
        test.window->document()->undoStack()->setClean();
        return;
    }
    // More than is in sight: all of it by scrolling, by keys too, and in the tool tip.
    QVERIFY(words->verticalScrollBar()->maximum() > 0);
    QCOMPARE(words->verticalScrollBar()->value(), 0);
    QCOMPARE(problem->toolTip(), problem->fullText());
    QVERIFY(words->focusPolicy() & Qt::TabFocus);
    words->setFocus();
    for (int i = 0; i < 60; ++i)
        QTest::keyClick(words, Qt::Key_PageDown);
    QCOMPARE(words->verticalScrollBar()->value(), words->verticalScrollBar()->maximum());
    QVERIFY(!words->horizontalScrollBar()->isVisible());
    // What is short is whole again.
    test.window->engine()->setCommand(QStringLiteral("'" SHARDBOARD_BINARY_DIR "/tests/fakeengine' ok"));
    test.child<QPushButton>("run.restart")->click();
    QTRY_COMPARE(test.window->engine()->state(), EngineSession::State::Ready);
    settle();
    auto* verdict = test.child<WrappedLabel>("run.verdict");
    QVERIFY(verdict->height() >= verdict->heightForWidth(verdict->width()));
    test.window->document()->undoStack()->setClean();
}

SHARDBOARD_TEST(TestRunPanel, withFonts)

#include "tst_runpanel.moc"
