// SPDX-License-Identifier: Apache-2.0
// Ctrl+F in every list, table and tree of the window: filters, says when nothing is left, and gives all rows back.
#include "app/desktop/window/fonts.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "widgets/tables/listfilter.h"

#include <QAbstractItemView>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QStandardItemModel>
#include <QTableView>
#include <QTreeView>

using namespace shardboard;

namespace {

bool hiddenIn(const QAbstractItemView* view, int row)
{
    if (const auto* tree = qobject_cast<const QTreeView*>(view))
        return tree->isRowHidden(row, {});
    if (const auto* table = qobject_cast<const QTableView*>(view))
        return table->isRowHidden(row);
    return qobject_cast<const QListView*>(view)->isRowHidden(row);
}

int shownRows(const QAbstractItemView* view)
{
    int shown = 0;
    for (int row = 0; row < view->model()->rowCount(); ++row)
        shown += !hiddenIn(view, row);
    return shown;
}

} // namespace

class TestListFilter : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void everyListHasTheKey_data();
    void everyListHasTheKey();
    void foldedRowsAreFound();
    void newRowsAreFilteredToo();
    void manyRows();

private:
    std::unique_ptr<TestWindow> m_window;
};

void TestListFilter::initTestCase()
{
    m_window = std::make_unique<TestWindow>();
    QVERIFY(QTest::qWaitForWindowExposed(m_window->window.get()));
    m_window->window->fileActions()->openSample(QStringLiteral("llama3-8b-mistake"));
    Design design = m_window->document()->design();
    design.workload.batch = 16;
    QVERIFY(m_window->document()->edit(design, QStringLiteral("Batch 16")).ok());
    design.workload.batch = 32;
    QVERIFY(m_window->document()->edit(design, QStringLiteral("Batch 32")).ok());
}

void TestListFilter::everyListHasTheKey_data()
{
    QTest::addColumn<QString>("dock");
    QTest::addColumn<QString>("list");
    for (const auto& [dock, list] :
         { std::pair("weights", "weightTree"), std::pair("collectives", "collectivesTable"), std::pair("cost", "costTree"),
           std::pair("findings", "findingsList"), std::pair("compare", "compareCosts"), std::pair("history", "historyList") })
        QTest::newRow(list) << QString::fromLatin1(dock) << QString::fromLatin1(list);
}

void TestListFilter::everyListHasTheKey()
{
    QFETCH(QString, dock);
    QFETCH(QString, list);
    m_window->raise(qPrintable(dock));
    auto* view = m_window->window->findChild<QAbstractItemView*>(list);
    QVERIFY(view != nullptr && view->isVisible());
    auto* filter = view->findChild<ListFilter*>(QStringLiteral("listFilter"), Qt::FindDirectChildrenOnly);
    QVERIFY(filter != nullptr);
    const int all = shownRows(view);
    QVERIFY(all > 0);
    view->setFocus();
    QTest::keyClick(view, Qt::Key_F, Qt::ControlModifier);
    auto* edit = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY2(edit != nullptr, "the key does not lead to a field");
    QTest::keyClicks(edit, QStringLiteral("no such row anywhere"));
    QTRY_COMPARE(shownRows(view), 0);
    QTRY_VERIFY(filter->saysNoMatch());
    if (QLabel* label = m_window->window->findChild<QLabel*>(
            QString(list).remove(QStringLiteral("Tree")).remove(QStringLiteral("Table")) + QStringLiteral("Empty"));
        label != nullptr && label->isVisible()) { // a filter of the panel's own, with words of its own
        QVERIFY(label->text().contains(QStringLiteral("no such row anywhere"))
                && label->text().contains(QStringLiteral("Clear filter")));
        Q_EMIT label->linkActivated(QStringLiteral("clear"));
    } else {
        auto* message = view->findChild<QLabel*>(QStringLiteral("filterMessageText"));
        QVERIFY(message->isVisible() && message->text().contains(QStringLiteral("no such row anywhere")));
        auto* clear = view->findChild<QPushButton*>(QStringLiteral("filterClear"));
        QVERIFY(clear->isVisible());
        QTest::mouseClick(clear, Qt::LeftButton);
    }
    QTRY_COMPARE(shownRows(view), all);
    QVERIFY(!filter->saysNoMatch());
    view->setFocus();
    // Typing the text of a row leaves it; Escape brings all back.
    QTest::keyClick(view, Qt::Key_F, Qt::ControlModifier);
    edit = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY(edit != nullptr);
    QTest::keyClicks(edit, QStringLiteral("zzzz"));
    QTRY_COMPARE(shownRows(view), 0);
    QTest::keyClick(edit, Qt::Key_Escape);
    QTRY_COMPARE(shownRows(view), all);
    QVERIFY(filter->text().isEmpty());
}

void TestListFilter::foldedRowsAreFound()
{
    m_window->raise("cost");
    auto* tree = m_window->child<QTreeView>("costTree");
    auto* filter = tree->findChild<ListFilter*>(QStringLiteral("listFilter"), Qt::FindDirectChildrenOnly);
    filter->open();
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("o_proj"));
    QCOMPARE(shownRows(tree), 1); // the part that has it, by the operation in it
    filter->clear();
}

void TestListFilter::newRowsAreFilteredToo()
{
    QTableView view;
    QStandardItemModel model(0, 2);
    view.setModel(&model);
    ListFilter filter(&view, nullptr, &view);
    const auto add = [&](const char* left, const char* right) {
        model.appendRow({ new QStandardItem(QString::fromLatin1(left)), new QStandardItem(QString::fromLatin1(right)) });
    };
    add("all-reduce", "o_proj");
    add("all-gather", "q_proj");
    view.show();
    filter.open();
    view.findChild<QLineEdit*>(QStringLiteral("filterText"))->setText(QStringLiteral("Q_PROJ"));
    QCOMPARE(shownRows(&view), 1);
    QCOMPARE(view.findChild<QLabel*>(QStringLiteral("filterCount"))->text(), QStringLiteral("1 of 2"));
    add("reduce-scatter", "q_proj");
    add("all-to-all", "experts");
    QTRY_COMPARE(shownRows(&view), 2);
    model.removeRows(0, 4);
    add("send", "stage");
    QTRY_VERIFY(filter.saysNoMatch());
    filter.clear();
    QCOMPARE(shownRows(&view), 1);
}

void TestListFilter::manyRows()
{
    QTableView view;
    QStandardItemModel model(10000, 3);
    for (int row = 0; row < model.rowCount(); ++row)
        for (int column = 0; column < 3; ++column)
            model.setItem(row, column, new QStandardItem(QStringLiteral("layer %1 of %2").arg(row).arg(column)));
    view.setModel(&model);
    ListFilter filter(&view, nullptr, &view);
    view.show();
    filter.open();
    auto* edit = view.findChild<QLineEdit*>(QStringLiteral("filterText"));
    edit->setText(QStringLiteral("layer 99"));
    QCOMPARE(shownRows(&view), 111); // 99, 990 to 999, 9900 to 9999
}

SHARDBOARD_TEST(TestListFilter, withFonts)

#include "tst_listfilter.moc"
