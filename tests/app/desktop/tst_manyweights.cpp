// SPDX-License-Identifier: Apache-2.0
// One edit of many weights: those that a pattern names, counted before they are changed, and a strategy that goes from one window
// to another by the clipboard.
#include "app/desktop/window/fonts.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/strategy/strategyeditor.h"
#include "widgets/weights/weighttable.h"

#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QTreeView>
#include <QUndoStack>

using namespace shardboard;

class TestManyWeights : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void patternNamesWhatIsEdited();
    void strategyGoesToAnotherWindow();
};

namespace {

int shownLabelsWith(const QWidget* in, const QString& text)
{
    int found = 0;
    for (const QLabel* label : in->findChildren<QLabel*>())
        found += label->isVisible() && label->text().contains(text);
    return found;
}

} // namespace

void TestManyWeights::patternNamesWhatIsEdited()
{
    TestWindow test;
    QVERIFY(QTest::qWaitForWindowExposed(test.window.get()));
    test.window->fileActions()->openSample();
    const Design before = test.document()->design();
    auto* panel = test.window->findChild<WeightPanel*>();
    auto* tree = test.child<QTreeView>("weightTree");
    test.action("edit.find")->trigger();
    auto* filter = test.child<QLineEdit>("weightFilter");
    QVERIFY(filter->hasFocus());
    QTest::keyClicks(filter, QStringLiteral("*.mlp.*"));
    tree->setFocus();
    QTest::keySequence(tree, QKeySequence::SelectAll);
    const std::vector<int> chosen = panel->selectedWeights();
    QCOMPARE(chosen.size(), std::size_t(3)); // gate, up, down
    test.raise("strategy");
    QVERIFY(shownLabelsWith(test.window->findChild<StrategyEditor*>(), QStringLiteral("3 weights")) > 0);
    QVERIFY(test.document()->design() == before); // told before it is done
    QMenu menu;
    panel->fillMenu(&menu);
    QAction* replicate = nullptr;
    for (QAction* action : menu.actions())
        if (action->text().remove(QLatin1Char('&')).startsWith(QStringLiteral("Replicate")))
            replicate = action;
    QVERIFY(replicate != nullptr);
    replicate->trigger();
    for (const int weight : chosen)
        QVERIFY(weightAt(*test.document(), weight).layout.isReplicated());
    QVERIFY(!weightAt(*test.document(), weightNamed(*test.document(), "q_proj")).layout.isReplicated());
    QCOMPARE(test.document()->undoStack()->count(), 1);
    QVERIFY2(test.action("edit.undo")->text().contains(QStringLiteral("eplicate")), qPrintable(test.action("edit.undo")->text()));
    test.action("edit.undo")->trigger();
    QVERIFY(test.document()->design() == before);
}

void TestManyWeights::strategyGoesToAnotherWindow()
{
    TestWindow from;
    QVERIFY(QTest::qWaitForWindowExposed(from.window.get()));
    TestWindow to;
    QVERIFY(QTest::qWaitForWindowExposed(to.window.get()));
    from.window->fileActions()->openSample();
    QVERIFY(to.document()->setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    from.document()->selection()->setWeight(weightNamed(*from.document(), "o_proj"));
    auto* source = from.child<QTreeView>("weightTree");
    from.window->activateWindow(); // the keys of a window that is behind are nobody's
    QVERIFY(QTest::qWaitForWindowActive(from.window.get()));
    source->setFocus();
    QTest::keySequence(source, QKeySequence::Copy);
    const QMimeData* data = QApplication::clipboard()->mimeData();
    QVERIFY(data->hasText() && data->formats().size() > 1); // readable, and a type of our own beside it
    QVERIFY(data->text().contains(QStringLiteral("o_proj")));
    const int other = weightNamed(*to.document(), "down_proj");
    QVERIFY(weightAt(*to.document(), other).layout.isReplicated());
    to.document()->selection()->setWeight(other);
    auto* target = to.child<QTreeView>("weightTree");
    to.window->activateWindow();
    target->setFocus();
    QTest::keySequence(target, QKeySequence::Paste);
    QCOMPARE(specOf(*to.document(), other), specOf(*from.document(), weightNamed(*from.document(), "o_proj")));
    QCOMPARE(to.document()->undoStack()->count(), 1);
    to.document()->undoStack()->undo();
}

SHARDBOARD_TEST(TestManyWeights, withFonts)

#include "tst_manyweights.moc"
