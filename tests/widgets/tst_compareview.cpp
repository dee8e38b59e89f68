// SPDX-License-Identifier: Apache-2.0
// The comparison with real clicks: against the design as opened, a kept state and a file; going back is one edit.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/io/design/designfile.h"
#include "widgets/compare/compareview.h"
#include "widgets/controls/wrappedlabel.h"

#include <QComboBox>
#include <QFile>
#include <QPushButton>
#include <QSet>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTreeWidget>
#include <QUndoStack>

using namespace shardboard;

namespace {

enum { Name, Before, After, Difference, Change, Verdict };

struct ShownComparison : ShownView<CompareView> {
    ShownComparison()
        : ShownView(knownDesign(), { 1000, 320 })
    {
    }
    QTreeWidget* costs() const { return view->findChild<QTreeWidget*>(QStringLiteral("compareCosts")); }
    QTreeWidget* changes() const { return view->findChild<QTreeWidget*>(QStringLiteral("compareChanges")); }
    QComboBox* choice() const { return view->findChild<QComboBox*>(QStringLiteral("compareOther")); }
    QLabel* label(const char* name) const { return view->findChild<QLabel*>(QString::fromLatin1(name)); }
    QTreeWidgetItem* cost(const char* key) const
    {
        for (int i = 0; i < costs()->topLevelItemCount(); ++i)
            if (costs()->topLevelItem(i)->data(0, Qt::UserRole).toString() == QLatin1String(key))
                return costs()->topLevelItem(i);
        return nullptr;
    }
    /// Everything everywhere: slower, and more memory.
    Status replicate()
    {
        Design edited = document.design();
        edited.strategies = knownDesign("data=2,model=4", "replicate").strategies;
        return document.edit(edited, QStringLiteral("Preset replicate"));
    }
};

} // namespace

class TestCompareView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void asOpenedAtFirst();
    void editsAreComparedAtOnce();
    void keptStates();
    void goingBackIsOneEdit();
    void foundOnesReplaceFoundOnesOnly();
    void filesAndWhatIsNone();
    void anotherDocumentStartsAnew();
    void fitsItsPanel();
    void rowsAreAsHigh();
    void everythingHasAName();
    void withoutADesign();
};

void TestCompareView::asOpenedAtFirst()
{
    ShownComparison shown;
    QVERIFY(shown.view);
    QCOMPARE(shown.choice()->count(), 1);
    QVERIFY(shown.view->comparison().same());
    QVERIFY(shown.label("compareSame")->isVisible() && !shown.changes()->isVisible());
    QCOMPARE(shown.cost("step_seconds")->text(Difference), QStringLiteral("same"));
    QVERIFY(shown.cost("step_seconds")->text(Verdict).isEmpty());
    QVERIFY(!shown.view->findChild<QPushButton*>(QStringLiteral("compareTake"))->isEnabled());
}

void TestCompareView::editsAreComparedAtOnce()
{
    ShownComparison shown;
    QVERIFY(shown.replicate().ok());
    QVERIFY(shown.changes()->isVisible() && shown.changes()->topLevelItemCount() > 0);
    const QTreeWidgetItem* memory = shown.cost("memory_peak_bytes");
    QVERIFY(memory->text(Verdict).contains(QStringLiteral("worse"))); // a word, not a colour alone
    // With a mark before it where the panel has no room for the word.
    QVERIFY(memory->text(Difference).contains(QLatin1Char('+')) && memory->text(Change).endsWith(QLatin1Char('%')));
    QVERIFY(shown.cost("collective_bytes")->text(Verdict).contains(QStringLiteral("better")));
    QVERIFY(shown.cost("collective_bytes")->text(Difference).contains(QChar(0x2212)));
    const QString verdict = shown.label("compareVerdict")->text();
    QVERIFY2(verdict.startsWith(QLatin1Char('+')) && verdict.contains(QStringLiteral("step time")), qPrintable(verdict)); // slower
    QVERIFY(verdict.contains(QStringLiteral("· +"))); // and more memory
    shown.document.undoStack()->undo();
    QVERIFY(shown.view->comparison().same());
    QVERIFY(shown.label("compareSame")->isVisible());
}

void TestCompareView::keptStates()
{
    ShownComparison shown;
    QVERIFY(shown.replicate().ok());
    shown.click("compareKeep");
    QCOMPARE(shown.choice()->count(), 2);
    QCOMPARE(shown.choice()->currentIndex(), 1);
    QVERIFY(shown.choice()->currentText().contains(QStringLiteral("Preset replicate")));
    QVERIFY(shown.view->comparison().same());
    shown.document.undoStack()->undo();
    QVERIFY(shown.cost("memory_peak_bytes")->text(Verdict).contains(QStringLiteral("better")));
    shown.view->chooseOther(0);
    QVERIFY(shown.view->comparison().same());
    shown.view->chooseOther(1);
    shown.click("compareForget");
    QCOMPARE(shown.choice()->count(), 1);
    QVERIFY(!shown.view->findChild<QPushButton*>(QStringLiteral("compareForget"))->isEnabled());
}

void TestCompareView::goingBackIsOneEdit()
{
    ShownComparison shown;
    const Design before = shown.document.design();
    QVERIFY(shown.replicate().ok());
    const Design replicated = shown.document.design();
    shown.click("compareTake");
    QVERIFY(shown.document.design() == before);
    QCOMPARE(shown.document.undoStack()->count(), 2);
    QVERIFY(shown.view->comparison().same());
    shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == replicated);
}

/// What a person kept, or named, is theirs, whatever a search finds under that name.
void TestCompareView::foundOnesReplaceFoundOnesOnly()
{
    ShownComparison shown;
    const Design opened = shown.document.design();
    QVERIFY(shown.replicate().ok());
    const Design kept = shown.document.design();
    const auto evaluation = shown.document.evaluation();
    shown.click("compareKeep");
    shown.view->rename(0, QStringLiteral("megatron-tp"));
    shown.view->rename(1, QStringLiteral("fsdp"));
    const Design first = knownDesign("data=4,model=2");
    Design second = first; // on the same mesh: on another one it is another design
    second.workload.batch *= 2;
    shown.view->addVariant(QStringLiteral("fsdp"), first, evaluation);
    shown.view->addVariant(QStringLiteral("megatron-tp"), first, evaluation);
    QCOMPARE(shown.view->otherCount(), 4);
    QVERIFY(shown.view->others()[0].design == opened && shown.view->others()[1].design == kept);
    shown.view->addVariant(QStringLiteral("fsdp"), second, evaluation); // of the next search
    QCOMPARE(shown.view->otherCount(), 4);
    QVERIFY(shown.view->others()[1].design == kept && shown.view->others()[2].design == second);
    shown.view->rename(2, QStringLiteral("mine")); // and then back
    shown.view->rename(2, QStringLiteral("fsdp"));
    shown.view->addVariant(QStringLiteral("fsdp"), first, evaluation);
    QCOMPARE(shown.view->otherCount(), 5);
    QVERIFY(shown.view->others()[2].design == second);
}

void TestCompareView::filesAndWhatIsNone()
{
    ShownComparison shown;
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("other.shardboard"));
    QVERIFY(writeDesign(QFile::encodeName(path).toStdString(), knownDesign("data=4,model=2")).ok());
    QVERIFY(shown.view->open(path).ok());
    QCOMPARE(shown.choice()->currentText(), QStringLiteral("other.shardboard"));
    QCOMPARE(shown.changes()->topLevelItem(0)->text(0), QStringLiteral("mesh"));
    const QString before = unbroken(shown.changes()->topLevelItem(0)->text(1)); // with what is now, where there is little room
    QVERIFY2(before.section(QStringLiteral(" → "), 0, 0) == QLatin1String("data=4,model=2"), qPrintable(before));
    QCOMPARE(unbroken(shown.changes()->topLevelItem(0)->text(2)), QStringLiteral("data=2,model=4"));
    QCOMPARE(shown.document.undoStack()->count(), 0); // a comparison is no edit
    const Status missing = shown.view->open(folder.filePath(QStringLiteral("missing.shardboard")));
    QVERIFY(!missing.ok());
    QVERIFY(missing.error().text().find("missing.shardboard") != std::string::npos);
    QCOMPARE(shown.choice()->count(), 2);
    QSignalSpy wanted(shown.view.get(), &CompareView::fileWanted);
    shown.click("compareOpen");
    QCOMPARE(wanted.count(), 1);
}

void TestCompareView::anotherDocumentStartsAnew()
{
    ShownComparison shown;
    QVERIFY(shown.replicate().ok());
    shown.click("compareKeep");
    QVERIFY(shown.document.setDesign(knownDesign("data=4,model=2")).ok());
    QCOMPARE(shown.choice()->count(), 1);
    QVERIFY(shown.view->comparison().same());
}

void TestCompareView::fitsItsPanel()
{
    ShownComparison shown;
    QVERIFY(shown.replicate().ok());
    for (const int width : { 760, 1090, 1400 }) {
        shown.view->resize(width, 300);
        QTest::qWait(1);
        for (const QTreeWidget* tree : { shown.costs(), shown.changes() }) {
            int columns = 0;
            for (int column = 0; column < tree->columnCount(); ++column)
                columns += tree->columnWidth(column);
            QVERIFY2(columns <= tree->viewport()->width() + 1,
                     qPrintable(QStringLiteral("%1 at %2").arg(tree->objectName()).arg(width)));
            // Every text is there in full: wrapped, it needs no more than its cell.
            for (int row = 0; row < tree->topLevelItemCount(); ++row)
                for (int column = 0; column < tree->columnCount(); ++column) {
                    const QTreeWidgetItem* item = tree->topLevelItem(row);
                    const QRect cell = tree->visualRect(tree->model()->index(row, column));
                    if (tree->isColumnHidden(column) || item->text(column).isEmpty())
                        continue;
                    const QVariant font = item->data(column, Qt::FontRole);
                    const QFontMetrics metrics(font.isValid() ? font.value<QFont>() : tree->font());
                    const QSize needed =
                        metrics.boundingRect(QRect(0, 0, cell.width() - 6, 4000), Qt::TextWordWrap, item->text(column)).size();
                    QVERIFY2(needed.height() <= cell.height() && needed.width() <= cell.width(),
                             qPrintable(QStringLiteral("%1 at %2").arg(item->text(column)).arg(width)));
                }
        }
    }
    // A long name of a design leaves those of what it costs their room, and so does the memory in the least.
    shown.view->rename(0, QStringLiteral("ep+tp-sp+fsdp on more devices"));
    shown.view->resize(740, 300);
    QTest::qWait(1);
    QVERIFY2(shown.costs()->columnWidth(0) >= 110, qPrintable(QString::number(shown.costs()->columnWidth(0))));
    QVERIFY(shown.changes()->isColumnHidden(4));
    QTRY_VERIFY(shown.changes()->topLevelItem(0)->toolTip(3).contains(QStringLiteral("a device")));
    shown.view->resize(1400, 300);
    QTest::qWait(1);
    QVERIFY(!shown.changes()->isColumnHidden(4));
}

/// One line is as high as another, whatever it says and in which font.
void TestCompareView::rowsAreAsHigh()
{
    ShownComparison shown;
    QVERIFY(shown.replicate().ok());
    shown.view->resize(1600, 600);
    QCoreApplication::processEvents();
    for (const QTreeWidget* list : { shown.costs(), shown.changes() }) {
        QSet<int> heights;
        for (int row = 0; row < list->topLevelItemCount(); ++row)
            heights.insert(list->topLevelItem(row)->sizeHint(0).height());
        const int least = *std::min_element(heights.begin(), heights.end());
        const int line = list->fontMetrics().lineSpacing();
        for (const int height : heights) // of as many lines more
            QVERIFY2(height == least || height - least >= line - 2, qPrintable(QStringLiteral("%1, %2").arg(least).arg(height)));
    }
}

void TestCompareView::everythingHasAName()
{
    ShownComparison shown;
    QCOMPARE(namelessIn(*shown.view), QString());
}

void TestCompareView::withoutADesign()
{
    Document document;
    const auto view = shownView<CompareView>(document, { 800, 240 });
    QVERIFY(view);
    const auto* empty = view->findChild<QLabel*>(QStringLiteral("compareEmpty"));
    QVERIFY(empty->isVisible() && !empty->text().isEmpty());
    view->keep();
    view->takeOther();
    QCOMPARE(view->otherCount(), 0);
}

SHARDBOARD_TEST(TestCompareView)
#include "tst_compareview.moc"
