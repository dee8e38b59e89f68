// SPDX-License-Identifier: Apache-2.0
// The list of strategies: which counts, and deleting one after the other by keys.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/strategy/strategylist.h"

#include <QTreeWidget>
#include <QUndoStack>

using namespace shardboard;

class TestStrategyList : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void keysDeleteOneAfterTheOther();
};

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

SHARDBOARD_TEST(TestStrategyList)
#include "tst_strategylist.moc"
