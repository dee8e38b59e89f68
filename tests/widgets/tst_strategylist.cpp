// SPDX-License-Identifier: Apache-2.0
// The list of strategies: which counts, and deleting one after the other by keys.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/look/theme.h"
#include "widgets/strategy/strategylist.h"
#include "widgets/tables/notedelegate.h"

#include <QTreeWidget>
#include <QUndoStack>

using namespace shardboard;

class TestStrategyList : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void keysDeleteOneAfterTheOther();
    void narrowRowsHaveTwoLines();
    void titleKeepsItsMargins();
};

/// In a narrow panel a row says in two lines what it names and what it does, dim and axes too, instead of two cut texts.
void TestStrategyList::narrowRowsHaveTwoLines()
{
    ShownView<StrategyList> shown(knownDesign(), { 280, 400 });
    QVERIFY(shown.ready);
    auto* list = shown.child<QTreeWidget>("strategyList");
    const auto shownColumns = [&] {
        int out = 0;
        for (int column = 0; column < list->columnCount(); ++column)
            out += list->isColumnHidden(column) ? 0 : 1;
        return out;
    };
    QCOMPARE(shownColumns(), 2); // the number and the rest
    int cut = 0;
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
        const QTreeWidgetItem* item = list->topLevelItem(row);
        const QString says = item->data(1, NoteDelegate::TextRole).toString();
        QVERIFY(!item->data(1, NoteDelegate::TitleRole).toString().isEmpty() && says == item->text(2));
        cut += says.contains(QStringLiteral("(dim ")) && says.contains(QStringLiteral(" over ")) ? 1 : 0;
        QVERIFY(list->visualItemRect(item).height() > kRowHeight);
        QVERIFY(list->columnWidth(1) >= 200);
    }
    QVERIFY(cut >= 4);
    const int narrow = list->visualItemRect(list->topLevelItem(0)).height();
    shown.view->resize(600, 400);
    QCoreApplication::processEvents();
    QCOMPARE(shownColumns(), 4);
    QVERIFY(list->visualItemRect(list->topLevelItem(0)).height() < narrow);
    shown.view->resize(280, 400);
    QCoreApplication::processEvents();
    QCOMPARE(shownColumns(), 2);
    QCOMPARE(list->visualItemRect(list->topLevelItem(0)).height(), narrow);
}

void TestStrategyList::keysDeleteOneAfterTheOther()
{
    ShownView<StrategyList> shown(knownDesign(), { 340, 400 });
    shown.activate();
    QVERIFY(shown.ready);
    auto* list = shown.child<QTreeWidget>("strategyList");
    const int count = list->topLevelItemCount();
    QVERIFY(count >= 4);
    list->setFocus();
    list->setCurrentItem(list->topLevelItem(1));
    const QString next = list->topLevelItem(2)->text(1);
    QTest::keyClick(list, Qt::Key_Delete);
    QCOMPARE(list->topLevelItemCount(), count - 1);
    QVERIFY(list->hasFocus() && list->currentItem() == list->topLevelItem(1));
    QCOMPARE(list->currentItem()->text(1), next);
    while (list->topLevelItemCount() > 1) {
        list->setCurrentItem(list->topLevelItem(list->topLevelItemCount() - 1));
        QTest::keyClick(list, Qt::Key_Delete);
        QVERIFY(list->currentItem() == list->topLevelItem(list->topLevelItemCount() - 1)); // the last one that is left
    }
    QTest::keyClick(list, Qt::Key_Delete);
    QCOMPARE(list->topLevelItemCount(), 0);
    QCOMPARE(shown.document.undoStack()->count(), count);
}

/// Also when another style comes while the list has no room, as in a drawer that was never open: a frame works its margins out of
/// its size then.
void TestStrategyList::titleKeepsItsMargins()
{
    ShownView<StrategyList> shown(knownDesign(), { 340, 400 });
    auto* title = shown.child<QLabel>("strategyListTitle");
    title->resize(0, 0);
    QEvent another(QEvent::StyleChange);
    QCoreApplication::sendEvent(title, &another);
    shown.view->resize(340, 401);
    QCoreApplication::processEvents();
    const int before = title->mapTo(shown.view.get(), title->contentsRect().topLeft()).x();
    QCOMPARE(before, kPanelMargin);
}

SHARDBOARD_TEST(TestStrategyList)
#include "tst_strategylist.moc"
