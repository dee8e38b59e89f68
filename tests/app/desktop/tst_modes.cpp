// SPDX-License-Identifier: Apache-2.0
// The four modes: one document and one selection through all, each with its own act, panels with something in them at every size,
// and a way from each to all others by keys alone.
#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panelgroup.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/compare/compareview.h"
#include "widgets/workbench/summarybar.h"

#include <QAbstractButton>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>
#include <QToolButton>
#include <QTreeWidget>

#include <algorithm>
#include <array>

using namespace shardboard;

class TestModes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { m_it.close(); }

    void keysChangeModesAndNothingElse();
    void eachModeHasItsAct();
    void noPanelIsEmpty_data();
    void noPanelIsEmpty();
    void maximizedAndBack();
    void inspectorIsADrawer();
    void keysGoFromPanelToPanel();
    void variantsAreKeptRenamedAndTaken();
    void findingsDropDown();
    void barGivesWayInOrder();
    void profileAsksAboveWeights();

private:
    /// As at first, whatever the test before it left.
    void start(const QSize& size)
    {
        m_it.open(size);
        bench()->reset();
        settle();
    }
    Workbench* bench() const { return m_it.window->workbench(); }
    Panel* panel(const char* name) const { return bench()->find(QString::fromLatin1(name)); }

    AppWindow m_it;
};

void TestModes::keysChangeModesAndNothingElse()
{
    start({ 1600, 1000 });
    const auto evaluation = m_it.document()->evaluation();
    const int weight = m_it.selection()->weight();
    const int steps = m_it.document()->undoStack()->count();
    auto* tree = m_it.child<QWidget>("weightTree");
    tree->setFocus();
    const Qt::Key keys[] = { Qt::Key_2, Qt::Key_3, Qt::Key_4, Qt::Key_1 };
    const WorkMode modes[] = { WorkMode::Explore, WorkMode::Profile, WorkMode::Deliver, WorkMode::Design };
    for (std::size_t i = 0; i < 4; ++i) {
        QTest::keyClick(tree, keys[i], Qt::ControlModifier);
        settle();
        QCOMPARE(bench()->mode(), modes[i]);
        QVERIFY(m_it.child<QToolButton>(qPrintable(QStringLiteral("mode.") + modeId(modes[i])))->isChecked());
        QVERIFY(m_it.document()->evaluation() == evaluation);
        QCOMPARE(m_it.selection()->weight(), weight);
        QCOMPARE(m_it.document()->undoStack()->count(), steps);
        QCOMPARE(QApplication::focusWidget(), tree);
    }
}

void TestModes::eachModeHasItsAct()
{
    start({ 1600, 1000 });
    const auto* button = m_it.child<QPushButton>("summaryAct");
    const std::pair<WorkMode, QString> acts[] = { { WorkMode::Design, QStringLiteral("Run") },
                                                  { WorkMode::Explore, QStringLiteral("Try Presets") },
                                                  { WorkMode::Profile, QStringLiteral("Run") },
                                                  { WorkMode::Deliver, QStringLiteral("Export") } };
    for (const auto& [mode, text] : acts) {
        bench()->setMode(mode);
        settle();
        QVERIFY2(button->text().contains(text), qPrintable(button->text()));
        QTRY_VERIFY(m_it.action("mode.act")->isEnabled());
        QVERIFY(button->toolTip().contains(QStringLiteral("F5")));
    }
    bench()->setMode(WorkMode::Explore); // the search can be stopped by its button
    m_it.action("mode.act")->trigger();
    QVERIFY(bench()->page()->act().running);
    QVERIFY(button->text().contains(QStringLiteral("Stop")));
    m_it.action("mode.stop")->trigger();
    QVERIFY(!bench()->page()->act().running);
    m_it.action("mode.act")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!bench()->page()->act().running, 20000);
    QVERIFY(m_it.window->findChild<CompareView*>()->otherCount() > 3);
}

void TestModes::noPanelIsEmpty_data()
{
    QTest::addColumn<QSize>("size");
    for (const QSize size : { QSize(1600, 1000), QSize(1400, 900), QSize(1280, 800), QSize(1024, 640) })
        QTest::addRow("%d x %d", size.width(), size.height()) << size;
}

void TestModes::noPanelIsEmpty()
{
    QFETCH(QSize, size);
    start(size);
    for (const WorkMode mode : kWorkModes) {
        bench()->setMode(mode);
        settle();
        QCOMPARE(m_it.window->size(), size);
        int seen = 0;
        for (const Panel* one : bench()->all()) {
            if (!one->isVisible())
                continue;
            ++seen;
            const auto children = one->widget()->findChildren<QWidget*>();
            QVERIFY2(std::any_of(children.begin(), children.end(), [](const QWidget* child) { return child->isVisible(); }),
                     qPrintable(one->objectName()));
            QVERIFY2(one->width() >= 120 && one->height() >= 60,
                     qPrintable(QStringLiteral("%1 %2 x %3").arg(one->objectName()).arg(one->width()).arg(one->height())));
        }
        QVERIFY2(seen >= 2, qPrintable(modeId(mode)));
    }
}

void TestModes::maximizedAndBack()
{
    start({ 1600, 1000 });
    settle();
    QTabBar* tabs = panel("collectives")->group()->tabs();
    const QSize before = panel("collectives")->size();
    QTest::mouseDClick(tabs, Qt::LeftButton, {}, tabs->tabRect(0).center());
    settle();
    QVERIFY(bench()->maximized() == panel("collectives"));
    QVERIFY(!panel("weights")->isVisible() && !panel("mesh")->isVisible());
    QVERIFY(panel("collectives")->width() > 1500);
    QTest::keyClick(tabs, Qt::Key_Escape);
    settle();
    QVERIFY(bench()->maximized() == nullptr);
    QVERIFY(panel("weights")->isVisible() && panel("mesh")->isVisible());
    QCOMPARE(panel("collectives")->size(), before);
    m_it.child<QWidget>("weightTree")->setFocus();
    m_it.action("panel.maximize")->trigger();
    QVERIFY(bench()->maximized() == panel("weights") && !panel("inspector")->isVisible());
    bench()->setMode(WorkMode::Profile); // brings everything back
    settle();
    QVERIFY(panel("inspector")->isVisible() && panel("memory")->isVisible());
}

void TestModes::inspectorIsADrawer()
{
    start({ 1024, 640 });
    settle();
    QVERIFY(bench()->hasDrawer());
    QVERIFY(!panel("inspector")->isVisible());
    m_it.action("panel.inspector")->trigger();
    settle();
    QVERIFY(panel("inspector")->isVisible());
    QVERIFY(panel("mesh")->isVisible()); // below it
    m_it.action("panel.inspector")->trigger();
    settle();
    QVERIFY(!panel("inspector")->isVisible());
    m_it.window->resize(1280, 800);
    settle();
    QVERIFY(!bench()->hasDrawer() && panel("inspector")->isVisible());
}

void TestModes::keysGoFromPanelToPanel()
{
    start({ 1600, 1000 });
    for (const WorkMode mode : kWorkModes) {
        bench()->setMode(mode);
        settle();
        QList<const Panel*> met;
        for (int i = 0; i < 8; ++i) {
            m_it.action("panel.next")->trigger();
            for (const Panel* one : bench()->all())
                if (one->isVisible() && one->group() != nullptr && one->group()->isAncestorOf(QApplication::focusWidget())
                    && !met.contains(one))
                    met << one;
        }
        for (const Panel* one : bench()->all())
            if (one->isVisible())
                QVERIFY2(met.contains(one), qPrintable(modeId(mode) + QLatin1Char(' ') + one->objectName()));
    }
}

void TestModes::variantsAreKeptRenamedAndTaken()
{
    start({ 1600, 1000 });
    bench()->setMode(WorkMode::Explore);
    settle();
    auto* list = m_it.child<QTreeWidget>("variantsList");
    QVERIFY(!list->isVisible() && m_it.child<QLabel>("variantsEmpty")->text().startsWith(QStringLiteral("Nothing kept yet")));
    m_it.child<QPushButton>("variantsKeepFirst")->click();
    settle();
    QVERIFY(list->isVisible());
    QCOMPARE(list->topLevelItemCount(), 3); // now, as opened, kept
    const Design before = m_it.document()->design();
    Design edited = before;
    edited.workload.batch *= 2;
    QVERIFY(m_it.document()->edit(edited, QStringLiteral("Batch")).ok());
    settle();
    QTreeWidgetItem* kept = nullptr;
    for (int row = 0; row < list->topLevelItemCount(); ++row)
        if (list->topLevelItem(row)->text(1).startsWith(QStringLiteral("Kept")))
            kept = list->topLevelItem(row);
    QVERIFY(kept != nullptr);
    kept->setText(1, QStringLiteral("half"));
    settle();
    QVERIFY(!list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).isEmpty());
    list->setCurrentItem(list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).constFirst());
    QTest::keyClick(list, Qt::Key_Return);
    settle();
    QVERIFY(m_it.document()->design() == before);
    QCOMPARE(m_it.document()->undoStack()->count(), 2); // one step
}

void TestModes::findingsDropDown()
{
    start({ 1280, 800 });
    m_it.window->fileActions()->openSample(QStringLiteral("llama3-8b-mistake"));
    settle();
    auto* badge = m_it.child<QPushButton>("findingsBadge");
    QVERIFY(badge->text().contains(QString::number(m_it.document()->evaluation()->findings.size())));
    auto* list = m_it.child<QTreeWidget>("findingsList");
    QVERIFY(!list->isVisible());
    QTest::mouseClick(badge, Qt::LeftButton);
    settle();
    QVERIFY(list->isVisible() && list->topLevelItemCount() > 0);
    QTest::keyClick(list, Qt::Key_Escape);
    settle();
    QVERIFY(!list->isVisible());
    list->setCurrentItem(nullptr);
    m_it.action("findings.next")->trigger();
    QVERIFY(list->currentItem() == list->topLevelItem(0));
}

/// The field that finds becomes its icon, the axes one chip, the workload goes to the tip, the rate to that of the step. The rest
/// stays.
void TestModes::barGivesWayInOrder()
{
    start({ 1920, 1000 });
    Design design = m_it.document()->design();
    design.mesh = Mesh::parse("pod=2,data=2,model=2").value();
    QVERIFY(m_it.document()->edit(design, QStringLiteral("Mesh"), Misfits::Replicate).ok());
    settle();
    const auto state = [this] {
        const auto* find = m_it.child<QPushButton>("summaryFind");
        return std::array<bool, 4> { !find->isVisible() || find->text().isEmpty(), m_it.child<QWidget>("joinedChip")->isVisible(),
                                     !m_it.child<QLabel>("summaryWorkload")->isVisible(),
                                     !m_it.child<QLabel>("summaryRate")->isVisible() };
    };
    QCOMPARE(state(), (std::array<bool, 4> {}));
    int given = 0;
    for (int width = 1920; width >= 1024; width -= 32) {
        m_it.window->resize(width, 800);
        settle();
        const auto now = state();
        for (std::size_t i = 1; i < now.size(); ++i)
            QVERIFY2(now[i - 1] || !now[i], qPrintable(QStringLiteral("%1: %2").arg(width).arg(i)));
        given = static_cast<int>(std::count(now.begin(), now.end(), true));
        for (const char* stays : { "modeBar", "summaryStep", "summaryMemory", "findingsBadge", "summaryAct" })
            QVERIFY2(m_it.child<QWidget>(stays)->isVisible(),
                     qPrintable(QStringLiteral("%1: %2").arg(width).arg(QLatin1String(stays))));
        const auto* bar = m_it.window->findChild<SummaryBar*>();
        QVERIFY(bar->width() <= m_it.window->width());
        QVERIFY(bar->rect().contains(m_it.child<QPushButton>("summaryAct")->geometry()));
    }
    QVERIFY(given >= 2);
    QVERIFY(m_it.child<QLabel>("summaryName")->toolTip().contains(QStringLiteral("prefill")));
    QVERIFY(m_it.child<QLabel>("summaryStep")->toolTip().contains(QStringLiteral("tokens a second")));
    QCOMPARE(m_it.child<QAbstractButton>("joinedChip")->text(), QStringLiteral("8 devices · 3 axes"));
    m_it.window->resize(1920, 1000);
    settle();
    QCOMPARE(state(), (std::array<bool, 4> {}));
}

void TestModes::profileAsksAboveWeights()
{
    start({ 1600, 1000 });
    QVERIFY(!panel("runForm")->isVisible());
    bench()->setMode(WorkMode::Profile);
    settle();
    const auto top = [](const QWidget* widget) { return widget->mapToGlobal(QPoint()).y(); };
    QVERIFY(panel("runForm")->isVisible() && top(panel("runForm")) < top(panel("weights")));
    QCOMPARE(panel("runForm")->width(), panel("weights")->width());
    const auto* box = m_it.child<QWidget>("run.ends"); // the last field is in sight on first opening
    QVERIFY(box->visibleRegion().contains(box->rect().center()));
    start({ 1280, 800 }); // a tab beside Weights
    bench()->setMode(WorkMode::Profile);
    settle();
    QVERIFY(panel("runForm")->group() == panel("weights")->group());
}

SHARDBOARD_TEST(TestModes, withFonts)

#include "tst_modes.moc"
