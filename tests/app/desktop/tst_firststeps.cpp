// SPDX-License-Identifier: Apache-2.0
// The first steps in each mode as the help tells them, done by a new user's hand: clicks and keys on what is in sight. What a step
// is said to press is what the page calls it.
#include "app/desktop/export/exportform.h"
#include "app/desktop/panels/panelgroup.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/compare/compareview.h"
#include "widgets/controls/card.h"
#include "widgets/jobs/longwork.h"
#include "widgets/plots/scatterchart.h"

#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>

#include <set>

using namespace shardboard;

class TestFirstSteps : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        open({ 1600, 1000 });
        window->workbench()->reset();
        settle();
    }
    void cleanup() { close(); }

    void design();
    void explore();
    void profile();
    void deliver();

private:
    /// A section of the page, in which a name that a step uses has to stand.
    static QString section(const QString& title)
    {
        QFile file(QStringLiteral(":/help/modes.md"));
        const QString text = file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
        return text.section(QStringLiteral("## ") + title, 1).section(QStringLiteral("\n## "), 0, 0).simplified();
    }
    /// Whether the page names it so.
    static bool says(const QString& mode, const QString& name)
    {
        const bool said = section(mode).contains(QLatin1Char('*') + name + QLatin1Char('*'));
        if (!said)
            qWarning() << "the page does not say" << name << "of" << mode;
        return said;
    }
    Panel* panel(const char* name) const { return window->workbench()->find(QString::fromLatin1(name)); }
    void keys(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::ControlModifier) const
    {
        QTest::keyClick(QApplication::focusWidget() != nullptr ? QApplication::focusWidget() : window.get(), key, modifiers);
        settle();
    }
    /// A row by its name.
    static QPoint rowNamed(const QTreeView* tree, const QString& name)
    {
        const auto found =
            tree->model()->match(tree->model()->index(0, 0), Qt::DisplayRole, name, 1, Qt::MatchExactly | Qt::MatchRecursive);
        return found.isEmpty() ? QPoint(-1, -1) : tree->visualRect(found.front()).center();
    }
    Card* cardNamed(const QString& title) const
    {
        for (Card* card : panel("inspector")->findChildren<Card*>())
            if (card->isVisible() && card->title() == title)
                return card;
        return nullptr;
    }
};

void TestFirstSteps::design()
{
    const QString mode = QStringLiteral("Design");
    auto* tree = child<QTreeView>("weightTree"); // 1
    QVERIFY(says(mode, panel("weights")->windowTitle()));
    const QPoint at = rowNamed(tree, QStringLiteral("self_attn.o_proj"));
    QVERIFY(tree->viewport()->rect().contains(at));
    QTest::mouseClick(tree->viewport(), Qt::LeftButton, {}, at);
    settle();
    QCOMPARE(selection()->weight(), weightNamed(*document(), "o_proj"));
    QVERIFY(says(mode, panel("inspector")->windowTitle()) && panel("inspector")->isVisible()); // 2
    QVERIFY(says(mode, QStringLiteral("Why")));
    const auto reasons = [this] {
        int out = 0;
        for (const Card* card : panel("inspector")->findChildren<Card*>())
            out += card->isVisible() && card->title().startsWith(QStringLiteral("all-reduce")) ? 1 : 0;
        return out;
    };
    QTRY_COMPARE(reasons(), 1);
    const auto fold = [this] { return panel("inspector")->findChild<QToolButton*>(QStringLiteral("inspectorFold")); };
    QTest::mouseClick(fold(), Qt::LeftButton);
    settle();
    QCOMPARE(reasons(), 0);
    QTest::mouseClick(fold(), Qt::LeftButton);
    settle();
    QCOMPARE(reasons(), 1);
    QVERIFY(says(mode, QStringLiteral("replicate"))); // 3
    const auto before = document()->evaluation()->plan.memory.peak;
    QTRY_VERIFY(cardNamed(QStringLiteral("replicate")) != nullptr
                && cardNamed(QStringLiteral("replicate"))->focusPolicy() == Qt::StrongFocus);
    const auto* memory = child<QLabel>("summaryMemory");
    const QString shown = memory->text();
    Card* card = cardNamed(QStringLiteral("replicate"));
    card->setFocus();
    QTest::keyClick(card, Qt::Key_Return);
    settle();
    QVERIFY(document()->evaluation()->plan.memory.peak > before);
    QVERIFY(memory->text() != shown);
    keys(Qt::Key_Z);
    QCOMPARE(document()->evaluation()->plan.memory.peak, before);
    QCOMPARE(memory->text(), shown);
}

void TestFirstSteps::explore()
{
    const QString mode = QStringLiteral("Explore");
    keys(Qt::Key_2); // 1
    QCOMPARE(window->workbench()->mode(), WorkMode::Explore);
    auto* act = child<QPushButton>("summaryAct");
    QVERIFY(says(mode, act->text()));
    QTest::mouseClick(act, Qt::LeftButton);
    QVERIFY(act->text().contains(QStringLiteral("Stop")));
    QTRY_VERIFY_WITH_TIMEOUT(act->text() == QStringLiteral("Optimize"), 60000);
    settle();
    for (const char* name : { "searchForm", "designs", "search" })
        QVERIFY(says(mode, panel(name)->windowTitle()));
    auto* list = child<QTreeWidget>("variantsList");
    QVERIFY(says(mode, panel("variants")->windowTitle()) && list->isVisible());
    QVERIFY(list->topLevelItemCount() > 2); // now, as opened, the best
    auto* compare = window->findChild<CompareView*>();
    auto* chart = child<ScatterChart>("designsChart"); // 2
    QVERIFY(chart->content().points.size() > 4);
    const auto clickPoint = [&](int from, Qt::KeyboardModifiers modifiers) {
        for (int point = from; point < static_cast<int>(chart->content().points.size()); ++point)
            if (const QPoint at = chart->placeOf(point).toPoint(); chart->rect().contains(at) && chart->pointAt(at) == point) {
                QTest::mouseClick(chart->findChild<QWidget*>(), Qt::LeftButton, modifiers, at);
                return point;
            }
        return -1;
    };
    const int first = clickPoint(0, {});
    QVERIFY(first >= 0);
    QTRY_VERIFY(compare->shown() >= 0
                && qFuzzyCompare(compare->side(compare->shown()).evaluation.plan.seconds() * 1e3,
                                 chart->content().points[static_cast<std::size_t>(first)].x));
    QVERIFY(clickPoint(first + 1, Qt::ControlModifier) >= 0);
    QTRY_VERIFY(compare->chosen() >= 0 && compare->chosen() != compare->shown());
    settle();
    QVERIFY(list->topLevelItemCount() > 4);
    int memory = -1;
    for (int column = 0; column < list->columnCount(); ++column)
        if (list->headerItem()->text(column) == QLatin1String("memory"))
            memory = column;
    QVERIFY(memory >= 0 && says(mode, QStringLiteral("memory")));
    QHeaderView* header = list->header();
    QTest::mouseClick(header->viewport(), Qt::LeftButton, {},
                      { header->sectionViewportPosition(memory) + header->sectionSize(memory) / 2, header->height() / 2 });
    settle();
    QCOMPARE(header->sortIndicatorSection(), memory);
    const auto click = [list](int row, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(list->viewport(), Qt::LeftButton, modifiers, list->visualItemRect(list->topLevelItem(row)).center());
        settle();
    };
    const auto rowsOf = [list](const QString& mark) {
        int out = -1;
        for (int row = 0; row < list->topLevelItemCount(); ++row)
            if (list->topLevelItem(row)->text(0).contains(mark))
                out = row;
        return out;
    };
    click(1);
    QCOMPARE(rowsOf(QStringLiteral("B")), 1);
    click(3, Qt::ControlModifier);
    QCOMPARE(rowsOf(QStringLiteral("A")), 3);
    QCOMPARE(rowsOf(QStringLiteral("B")), 1);
    QVERIFY(compare->chosen() != compare->shown());
    QVERIFY(says(mode, panel("compare")->windowTitle()));
    QVERIFY(!compare->comparison().costs.empty());
    int row = 0; // 3
    while (row < list->topLevelItemCount()
           && (list->topLevelItem(row)->text(1) == QLatin1String("now")
               || list->topLevelItem(row)->text(1) == QLatin1String("As opened")
               || list->topLevelItem(row)->text(list->columnCount() - 1) == QLatin1String("same")))
        ++row;
    QVERIFY(row < list->topLevelItemCount());
    click(row);
    QTest::keyClick(list, Qt::Key_F2);
    settle();
    auto* name = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY(name != nullptr);
    name->selectAll();
    QTest::keyClicks(name, QStringLiteral("mine"));
    QTest::keyClick(name, Qt::Key_Return);
    settle();
    const auto mine = list->findItems(QStringLiteral("mine"), Qt::MatchExactly, 1);
    QCOMPARE(mine.size(), 1);
    const Design before = document()->design();
    const QPoint at = list->visualItemRect(mine.front()).center();
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(list->viewport(), Qt::LeftButton, {}, at);
    settle();
    QCOMPARE(document()->undoStack()->count(), 1);
    QVERIFY(!(document()->design() == before));
    QVERIFY(says(mode, panel("history")->windowTitle()));
    keys(Qt::Key_Z);
    QVERIFY(document()->design() == before);
}

void TestFirstSteps::profile()
{
    const QString mode = QStringLiteral("Profile");
    keys(Qt::Key_3); // 1
    QVERIFY(says(mode, panel("timeline")->windowTitle()) && panel("timeline")->isVisible());
    QVERIFY(says(mode, panel("cost")->windowTitle()) && panel("cost")->isVisible());
    QVERIFY(says(mode, panel("runForm")->windowTitle()) && panel("runForm")->isVisible()); // 2
    auto* layers = child<QSpinBox>("run.layers");
    QVERIFY(layers->isVisible() && says(mode, QStringLiteral("Layers")));
    layers->setFocus();
    layers->selectAll();
    QTest::keyClicks(layers, QStringLiteral("1"));
    auto* act = child<QPushButton>("summaryAct"); // 3
    QVERIFY(act->text().endsWith(QStringLiteral("Run")) && act->isEnabled());
    int filled = 0; // buttons that say: do this next
    for (const QPushButton* button : window->findChildren<QPushButton*>())
        filled += button->isVisible() && button->property("primary").toBool() ? 1 : 0;
    QCOMPARE(filled, 1);
    QTest::mouseClick(act, Qt::LeftButton);
    auto* table = child<QTableView>("run.table");
    QTRY_COMPARE(table->model()->rowCount(), 1);
    settle();
    QVERIFY(table->isVisible() && says(mode, panel("run")->windowTitle()));
    QVERIFY(child<QLabel>("run.verdict")->text().startsWith(QStringLiteral("Equal")));
    selection()->setWeight(0); // 4
    settle();
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(0, 0)).center());
    settle();
    QVERIFY(selection()->operation().valid());
}

void TestFirstSteps::deliver()
{
    const QString mode = QStringLiteral("Deliver");
    keys(Qt::Key_4); // 1
    const auto form = [this] {
        ExportForm* out = nullptr;
        for (ExportForm* one : window->findChildren<ExportForm*>())
            if (one->isVisible())
                out = one;
        return out;
    };
    QVERIFY(form() != nullptr && says(mode, QStringLiteral("Folder")));
    auto* typed = form()->findChild<QLineEdit*>(QStringLiteral("export.folder")); // 2
    typed->setFocus();
    typed->selectAll();
    QTest::keyClicks(typed, AppWindow::at("out"));
    auto* act = child<QPushButton>("summaryAct");
    QVERIFY(says(mode, act->text()));
    QTRY_VERIFY(!form()->isBusy() && act->isEnabled());
    QTest::mouseClick(act, Qt::LeftButton);
    QTRY_VERIFY(!window->fileActions()->work()->isBusy());
    QVERIFY2(window->banner()->text().contains(QStringLiteral("tensors read back equal")), qPrintable(window->banner()->text()));
    keys(Qt::Key_1); // 3
    const int weight = weightNamed(*document(), "mlp.up_proj");
    QVERIFY(
        document()->edit(document()->withStrategy(document()->patternOf(weight), Strategy {}), QStringLiteral("Replicate")).ok());
    keys(Qt::Key_4);
    QTRY_VERIFY(form() != nullptr && !form()->isBusy());
    const auto* files = form()->findChild<QListWidget*>(QStringLiteral("export.files"));
    QVERIFY2(files->item(0)->text().contains(QStringLiteral("+2 −2")), qPrintable(files->item(0)->text()));
}

SHARDBOARD_TEST(TestFirstSteps, withFonts)

#include "tst_firststeps.moc"
