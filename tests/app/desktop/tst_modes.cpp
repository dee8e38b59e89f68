// SPDX-License-Identifier: Apache-2.0
// The four modes: one document and one selection through all, each with its own act, panels with something in them at every size,
// and a way from each to all others by keys alone.
#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panelgroup.h"
#include "model/design/presets/presets.h"
#include "model/session/selection.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/compare/compareview.h"
#include "widgets/controls/viewheader.h"
#include "widgets/explain/inspector.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/explore/searchform.h"
#include "widgets/flow/flowlayout.h"
#include "widgets/workbench/summarybar.h"
#include "widgets/workload/workloadview.h"

#include <QAbstractButton>
#include <QCheckBox>
#include <QComboBox>
#include <QImage>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QTabBar>
#include <QToolButton>
#include <QTreeWidget>

#include <algorithm>
#include <array>

using namespace shardboard;

namespace {

/// How many pixels below the heading are something else than the ground.
int inked(QWidget* content)
{
    const QImage picture = content->grab().toImage().convertToFormat(QImage::Format_RGB32);
    int top = 0;
    for (const ViewHeader* heading : content->findChildren<ViewHeader*>(QString(), Qt::FindDirectChildrenOnly))
        top = std::max(top, static_cast<int>((heading->y() + heading->height()) * picture.devicePixelRatio()));
    if (top >= picture.height())
        return 0;
    const QRgb ground = picture.pixel(picture.width() / 2, picture.height() - 1);
    int out = 0;
    for (int y = top; y < picture.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(picture.constScanLine(y));
        out += picture.width() - static_cast<int>(std::count(line, line + picture.width(), ground));
    }
    return out;
}

} // namespace

class TestModes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { m_it.close(); }

    void keysChangeModesAndNothingElse();
    void eachModeHasItsAct();
    void noPanelIsEmpty_data();
    void noPanelIsEmpty();
    void maximizedAndBack();
    void escapeBringsPanelsBack_data();
    void escapeBringsPanelsBack();
    void maximizedIsThePlaceNotTheTab();
    void largerTextLeavesThePanelAlone();
    void focusComesBackWithItsMode();
    void drawerStaysClosed();
    void reasonStaysFolded();
    void sectionsAreFoldedForEachMode();
    void resetFromAnyModeIsTheSame();
    void inspectorIsADrawer();
    void keysGoFromPanelToPanel();
    void variantsAreKeptRenamedAndTaken();
    void nameIsTypedWhileOthersAreFound();
    void variantsFoundUnseenAreThere();
    void findingsDropDown();
    void keyOfTheModeKeepsItsTick();
    void searchAsksOnceAfterAnEdit();
    void repairingTheLastFindingGivesTheFocusBack();
    void barGivesWayInOrder();
    void barStandsStill();
    void barIsNotSqueezed();
    void barIsNotSqueezedByAChip();
    void barHasNoRoomForWhatWent();
    void tabsWithoutRoomAreInAMenu();
    void profileAsksAboveWeights();
    void runFormIsNotClipped();

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
    /// In which a row is named, while it is.
    static QLineEdit* nameField(const QTreeWidget* list)
    {
        for (QLineEdit* field : list->viewport()->findChildren<QLineEdit*>(QString(), Qt::FindDirectChildrenOnly))
            if (field->isVisible())
                return field;
        return nullptr;
    }

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
                                                  { WorkMode::Explore, QStringLiteral("Optimize") },
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
    QTRY_VERIFY_WITH_TIMEOUT(!bench()->page()->act().running, 20000);
    m_it.action("mode.act")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!bench()->page()->act().running, 60000);
    const auto* compare = m_it.window->findChild<CompareView*>();
    QVERIFY(compare->otherCount() > 1);
    auto* list = m_it.child<QTreeWidget>("variantsList");
    QTRY_COMPARE(list->topLevelItemCount(), compare->otherCount() + 1); // and the design as it is now
    QVERIFY(list->isVisible());
    QVERIFY(compare->chosen() == -1 && compare->shown() >= 0); // the best beside what there is
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
            const int ink = inked(one->widget());
            QVERIFY2(ink > 200, qPrintable(QStringLiteral("%1 in %2: %3").arg(one->objectName(), modeId(mode)).arg(ink)));
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
    QVERIFY(panel("collectives")->isAncestorOf(QApplication::focusWidget())); // where the next key goes
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    settle();
    QVERIFY(bench()->maximized() == nullptr);
    QVERIFY(panel("weights")->isVisible() && panel("mesh")->isVisible());
    QCOMPARE(panel("collectives")->size(), before);
    m_it.child<QWidget>("weightTree")->setFocus();
    m_it.action("panel.maximize")->trigger();
    QVERIFY(bench()->maximized() == panel("weights") && !panel("inspector")->isVisible());
    bench()->setMode(WorkMode::Profile); // brings everything back
    settle();
    QVERIFY(panel("inspector")->isVisible() && panel("timeline")->isVisible());
}

void TestModes::escapeBringsPanelsBack_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("field");
    QTest::newRow("tiles") << QStringLiteral("tiles") << QStringLiteral("tileCanvas");
    QTest::newRow("flow") << QStringLiteral("flow") << QStringLiteral("flowCanvas");
    QTest::newRow("table") << QStringLiteral("collectives") << QStringLiteral("collectivesTable");
    QTest::newRow("filter") << QStringLiteral("collectives") << QStringLiteral("collectivesFilter");
    QTest::newRow("weights") << QStringLiteral("weights") << QStringLiteral("weightFilter");
}

/// The first Escape lets go of what is held, where something is; then the panels come back.
void TestModes::escapeBringsPanelsBack()
{
    QFETCH(QString, name);
    QFETCH(QString, field);
    start({ 1600, 1000 });
    m_it.child<QWidget>("weightTree")->setFocus();
    Panel* big = bench()->find(name);
    bench()->toggleMaximized(big);
    settle();
    QVERIFY(bench()->maximized() == big);
    QVERIFY(big->isAncestorOf(QApplication::focusWidget()));
    auto* keys = big->findChild<QWidget*>(field);
    QVERIFY2(keys != nullptr && keys->isVisible(), qPrintable(field));
    keys->setFocus();
    m_it.selection()->setDevice(-1);
    QTest::keyClick(keys, Qt::Key_Escape);
    QVERIFY(bench()->maximized() == nullptr);
    if (name != QLatin1String("tiles"))
        return;
    bench()->toggleMaximized(big);
    settle();
    m_it.selection()->setDevice(1);
    keys->setFocus();
    QTest::keyClick(keys, Qt::Key_Escape);
    QVERIFY(bench()->maximized() == big && m_it.selection()->device() < 0);
    QTest::keyClick(keys, Qt::Key_Escape);
    QVERIFY(bench()->maximized() == nullptr);
}

void TestModes::maximizedIsThePlaceNotTheTab()
{
    start({ 1600, 1000 });
    QTabBar* tabs = panel("collectives")->group()->tabs();
    QTest::mouseDClick(tabs, Qt::LeftButton, {}, tabs->tabRect(0).center());
    settle();
    QVERIFY(bench()->maximized() != nullptr);
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(1).center());
    settle();
    QVERIFY(panel("rules")->isVisible() && bench()->maximized() != nullptr);
    QTest::mouseDClick(tabs, Qt::LeftButton, {}, tabs->tabRect(1).center());
    settle();
    QVERIFY(bench()->maximized() == nullptr);
    QVERIFY(panel("rules")->isVisible() && panel("mesh")->isVisible() && panel("weights")->isVisible());
}

void TestModes::largerTextLeavesThePanelAlone()
{
    start({ 1600, 1000 });
    bench()->setMode(WorkMode::Profile); // with parts that come and go by the mode
    settle();
    bench()->toggleMaximized(panel("inspector"));
    settle();
    const double size = m_it.theme->textSize();
    m_it.theme->setTextSize(size + 2);
    settle();
    QStringList others;
    for (const Panel* one : bench()->all())
        if (one->isVisible() && one != panel("inspector"))
            others << one->objectName();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    settle();
    const bool back = panel("timeline")->isVisible() && panel("weights")->isVisible();
    m_it.theme->setTextSize(size);
    settle();
    QVERIFY2(others.isEmpty(), qPrintable(others.join(QLatin1Char(' '))));
    QVERIFY(back);
}

void TestModes::focusComesBackWithItsMode()
{
    start({ 1600, 1000 });
    bench()->setMode(WorkMode::Profile);
    settle();
    QWidget* kept = nullptr;
    for (QWidget* child : panel("cost")->findChildren<QWidget*>())
        if ((child->focusPolicy() & Qt::TabFocus) && child->isVisible() && child->isEnabled() && kept == nullptr) {
            child->setFocus();
            kept = child->hasFocus() ? child : nullptr; // another may have it in its place
        }
    QVERIFY(kept != nullptr);
    QTest::keyClick(kept, Qt::Key_1, Qt::ControlModifier);
    settle();
    QCOMPARE(bench()->mode(), WorkMode::Design);
    QVERIFY(QApplication::focusWidget() != nullptr && QApplication::focusWidget()->isVisible());
    QVERIFY(bench()->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_3, Qt::ControlModifier);
    settle();
    QVERIFY2(kept->hasFocus(), QApplication::focusWidget() ? qPrintable(QApplication::focusWidget()->objectName()) : "none");
}

/// A window that was closed narrow, with a panel of the right column open, does not come back with the drawer over the rest.
void TestModes::drawerStaysClosed()
{
    start({ 1600, 1000 });
    m_it.raise("workload");
    m_it.window->resize(1024, 640);
    settle();
    QVERIFY(bench()->hasDrawer() && !panel("workload")->isVisible());
    m_it.open({ 1024, 640 });
    settle();
    QVERIFY(bench()->hasDrawer());
    QVERIFY(!panel("workload")->isVisible() && !panel("inspector")->isVisible());
    m_it.action("panel.inspector")->trigger(); // one key opens it
    settle();
    QVERIFY(panel("inspector")->isVisible());
}

/// Also in the next window.
void TestModes::reasonStaysFolded()
{
    const auto heading = [this]() -> QToolButton* {
        auto* inspector = m_it.window->findChild<InspectorPanel*>();
        inspector->buildNow();
        for (QToolButton* one : inspector->findChildren<QToolButton*>())
            if (one->isVisible() && one->accessibleName().startsWith(QStringLiteral("Why, ")))
                return one;
        return nullptr;
    };
    start({ 1600, 1000 });
    settle();
    QVERIFY(heading() != nullptr);
    QCOMPARE(heading()->accessibleName(), QStringLiteral("Why, unfolded"));
    QTest::mouseClick(heading(), Qt::LeftButton);
    settle();
    QCOMPARE(heading()->accessibleName(), QStringLiteral("Why, folded"));
    m_it.open({ 1600, 1000 });
    settle();
    QCOMPARE(heading()->accessibleName(), QStringLiteral("Why, folded"));
    QTest::mouseClick(heading(), Qt::LeftButton);
    settle();
    QCOMPARE(heading()->accessibleName(), QStringLiteral("Why, unfolded"));
}

/// What of the settings is unfolded is kept with the mode, also from start to start.
void TestModes::sectionsAreFoldedForEachMode()
{
    m_it.open();
    const auto view = [this] { return m_it.window->findChild<WorkloadView*>(); };
    const QStringList first = view()->unfolded();
    m_it.raise("workload");
    view()->focusSetting(QStringLiteral("memory.reserve"));
    const QStringList opened = view()->unfolded();
    QVERIFY(opened.contains(QStringLiteral("memory")) && opened.size() == first.size() + 1);
    bench()->setMode(WorkMode::Profile);
    QCOMPARE(view()->unfolded(), first);
    view()->setUnfolded({ QStringLiteral("kernels") });
    bench()->setMode(WorkMode::Design);
    QCOMPARE(view()->unfolded(), opened);
    m_it.open();
    QCOMPARE(view()->unfolded(), opened);
    bench()->setMode(WorkMode::Profile);
    QCOMPARE(view()->unfolded(), QStringList(QStringLiteral("kernels")));
    bench()->reset();
    QCOMPARE(view()->unfolded(), first);
    bench()->setMode(WorkMode::Profile);
    QCOMPARE(view()->unfolded(), first);
}

void TestModes::resetFromAnyModeIsTheSame()
{
    start({ 1600, 1000 });
    const QSize tables = panel("collectives")->group()->size();
    const QSize mesh = panel("mesh")->size();
    for (const WorkMode mode : kWorkModes) {
        bench()->setMode(mode);
        settle();
        m_it.action("view.reset")->trigger();
        settle();
        QCOMPARE(bench()->mode(), WorkMode::Design);
        QCOMPARE(panel("collectives")->group()->size(), tables);
        QCOMPARE(panel("mesh")->size(), mesh);
    }
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
    list->setFocus();
    list->setCurrentItem(kept);
    QTest::keyClick(list, Qt::Key_F2);
    auto* field = nameField(list);
    QVERIFY(field != nullptr && field->hasFocus());
    field->selectAll();
    QTest::keyClicks(field, QStringLiteral("half"));
    QTest::keyClick(field, Qt::Key_Return);
    settle();
    QVERIFY(!list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).isEmpty());
    QTest::keyClick(list, Qt::Key_F2); // a name that is none is not taken
    field = nameField(list);
    QVERIFY(field != nullptr);
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClick(field, Qt::Key_Return);
    settle();
    QCOMPARE(list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).size(), 1);
    const auto marks = [list] {
        QString out;
        for (int row = 0; row < list->topLevelItemCount(); ++row)
            out += list->topLevelItem(row)->text(1) + QLatin1Char('=') + list->topLevelItem(row)->text(0) + QLatin1Char(' ');
        return out;
    };
    list->setCurrentItem(list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).constFirst());
    QTest::keyClick(list, Qt::Key_Space);
    settle();
    QVERIFY2(marks().contains(QStringLiteral("half=B ")) || marks().contains(QStringLiteral("half=AB ")), qPrintable(marks()));
    list->setCurrentItem(list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).constFirst());
    QTest::keyClick(list, Qt::Key_Space, Qt::ControlModifier);
    settle();
    QVERIFY2(marks().contains(QStringLiteral("half=AB ")) || marks().contains(QStringLiteral("half=A ")), qPrintable(marks()));
    const auto at = [list] {
        const QTreeWidgetItem* item = list->findItems(QStringLiteral("half"), Qt::MatchExactly, 1).constFirst();
        return list->visualItemRect(item).center();
    };
    const QPoint point = at(); // of a double click, whatever the first click of it does to the row
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, point);
    settle();
    QTest::mouseDClick(list->viewport(), Qt::LeftButton, {}, point);
    settle();
    QVERIFY(m_it.document()->design() == before);
    QCOMPARE(m_it.document()->undoStack()->count(), 2); // one step
}

/// What a search finds meanwhile does not take the field away.
void TestModes::nameIsTypedWhileOthersAreFound()
{
    start({ 1600, 1000 });
    bench()->setMode(WorkMode::Explore);
    settle();
    auto* list = m_it.child<QTreeWidget>("variantsList");
    auto* compare = m_it.window->findChild<CompareView*>();
    compare->keep();
    settle();
    list->setFocus();
    list->setCurrentItem(list->findItems(QStringLiteral("Kept"), Qt::MatchStartsWith, 1).constFirst());
    QTest::keyClick(list, Qt::Key_F2);
    const QPointer<QLineEdit> field = nameField(list);
    QVERIFY(field);
    field->selectAll();
    QTest::keyClicks(field, QStringLiteral("mi"));
    compare->addVariant(QStringLiteral("found"), m_it.document()->design(), m_it.document()->evaluation());
    settle();
    QVERIFY(field && field->isVisible() && field->hasFocus());
    QTest::keyClicks(field, QStringLiteral("ne"));
    QTest::keyClick(field, Qt::Key_Return);
    settle();
    QCOMPARE(list->findItems(QStringLiteral("mine"), Qt::MatchExactly, 1).size(), 1);
    QCOMPARE(list->findItems(QStringLiteral("found"), Qt::MatchExactly, 1).size(), 1);
    QVERIFY(list->hasFocus());
    QTest::keyClick(list, Qt::Key_F2); // and when nothing is typed after all
    compare->addVariant(QStringLiteral("another"), m_it.document()->design(), m_it.document()->evaluation());
    settle();
    QVERIFY(nameField(list) != nullptr);
    QTest::keyClick(nameField(list), Qt::Key_Escape);
    settle();
    QCOMPARE(list->findItems(QStringLiteral("another"), Qt::MatchExactly, 1).size(), 1);
}

void TestModes::variantsFoundUnseenAreThere()
{
    start({ 1600, 1000 });
    bench()->setMode(WorkMode::Explore);
    settle();
    auto* list = m_it.child<QTreeWidget>("variantsList");
    m_it.window->findChild<CompareView*>()->keep();
    settle();
    bench()->setMode(WorkMode::Design);
    settle();
    m_it.window->findChild<CompareView*>()->addVariant(QStringLiteral("found"), m_it.document()->design(),
                                                       m_it.document()->evaluation());
    settle();
    bench()->setMode(WorkMode::Explore);
    settle();
    QCOMPARE(list->findItems(QStringLiteral("found"), Qt::MatchExactly, 1).size(), 1);
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

void TestModes::keyOfTheModeKeepsItsTick()
{
    start({ 1600, 1000 });
    const Qt::Key keys[] = { Qt::Key_1, Qt::Key_1, Qt::Key_3, Qt::Key_3 };
    for (const Qt::Key key : keys) {
        QTest::keyClick(m_it.window.get(), key, Qt::ControlModifier);
        settle();
        for (const WorkMode mode : kWorkModes)
            QCOMPARE(m_it.action(qPrintable(QStringLiteral("mode.") + modeId(mode)))->isChecked(), mode == bench()->mode());
    }
    QCOMPARE(bench()->mode(), WorkMode::Profile);
}

/// An edit does not end it; it asks once whether to begin again. Another document ends it.
void TestModes::searchAsksOnceAfterAnEdit()
{
    start({ 1600, 1000 });
    bench()->setMode(WorkMode::Explore);
    settle();
    auto* form = m_it.window->findChild<SearchForm*>();
    auto* search = m_it.window->findChild<ExploreSearch*>();
    m_it.action("mode.act")->trigger();
    QVERIFY(bench()->page()->act().running && !form->isAsking());
    Design edited = m_it.document()->design();
    edited.workload.batch *= 2;
    QVERIFY(m_it.document()->edit(edited, QStringLiteral("Batch")).ok());
    QVERIFY(bench()->page()->act().running && form->isAsking());
    QVERIFY(m_it.child<QPushButton>("search.goOn")->isVisible());
    QTest::mouseClick(m_it.child<QPushButton>("search.goOn"), Qt::LeftButton);
    QVERIFY(!form->isAsking());
    edited.workload.batch *= 2;
    QVERIFY(m_it.document()->edit(edited, QStringLiteral("Batch")).ok());
    QVERIFY(!form->isAsking()); // once
    m_it.child<QCheckBox>("search.order")->click();
    QVERIFY(!form->isAsking());
    m_it.child<QPushButton>("search.again")->click();
    QVERIFY(search->isBusy() && search->request().parts.order && search->request() == form->request());
    m_it.child<QCheckBox>("search.order")->click(); // of the new one it asks anew
    QVERIFY(form->isAsking());
    m_it.document()->undoStack()->setClean(); // no question about changes
    m_it.window->fileActions()->openSample(samples()[1].id); // nobody asks what became of it
    QVERIFY(!bench()->page()->act().running && !form->isAsking() && search->tried().empty());
    QVERIFY(!m_it.window->banner()->isVisible());
}

/// Nothing in the drop-down can take the focus any more.
void TestModes::repairingTheLastFindingGivesTheFocusBack()
{
    start({ 1280, 800 });
    m_it.window->fileActions()->openSample(QStringLiteral("llama3-8b-mistake"));
    settle();
    auto* tree = m_it.child<QWidget>("weightTree");
    tree->setFocus();
    m_it.child<QPushButton>("findingsBadge")->click();
    settle();
    auto* list = m_it.child<QTreeWidget>("findingsList");
    QVERIFY(list->isVisible());
    for (int left = 20; left > 0 && m_it.action("edit.repair")->isEnabled(); --left) {
        list->setFocus();
        for (int row = 0; row < list->topLevelItemCount(); ++row)
            if (m_it.document()->evaluation()->findings[static_cast<std::size_t>(row)].fix)
                list->setCurrentItem(list->topLevelItem(row));
        QTest::keyClick(list, Qt::Key_Period, Qt::ControlModifier);
        settle();
        if (list->topLevelItemCount() > 0)
            QVERIFY(list->hasFocus());
    }
    QCOMPARE(m_it.document()->evaluation()->findings.size(), std::size_t { 0 });
    QVERIFY2(QApplication::focusWidget() == tree,
             QApplication::focusWidget() ? qPrintable(QApplication::focusWidget()->objectName()) : "none");
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
        const bool chips = m_it.child<QWidget>("meshChips")->isVisible() && !m_it.child<QWidget>("joinedChip")->isVisible();
        return std::array<bool, 4> { !find->isVisible() || find->text().isEmpty(), !chips,
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
    QVERIFY(m_it.child<QAbstractButton>("joinedChip")->text().startsWith(QStringLiteral("8 devices")));
    QCOMPARE(m_it.child<QAbstractButton>("joinedChip")->accessibleName(), QStringLiteral("Mesh: 8 devices · 3 axes"));
    m_it.window->resize(1920, 1000);
    settle();
    QCOMPARE(state(), (std::array<bool, 4> {}));
}

/// Whatever width the window has, the modes have the room that they need, with chips for all axes or one for them together.
void TestModes::barIsNotSqueezed()
{
    start({ 1600, 1000 });
    m_it.window->fileActions()->openSample(QStringLiteral("llama3.1-405b-train"));
    settle();
    Design design = m_it.document()->design();
    design.mesh = Mesh::parse("data=4,fsdp=4,model=8").value();
    QVERIFY(m_it.document()->edit(design, QStringLiteral("Mesh"), Misfits::Replicate).ok());
    settle();
    const auto* modes = m_it.child<QWidget>("modeBar");
    const auto hasRoom = [&](const QString& when) {
        settle();
        if (modes->width() < modes->minimumSizeHint().width())
            return QStringLiteral("%1 of %2, %3").arg(modes->width()).arg(modes->minimumSizeHint().width()).arg(when);
        return QString();
    };
    for (const ThemeChoice choice : { ThemeChoice::Dark, ThemeChoice::Light }) {
        m_it.theme->setChoice(choice);
        QCOMPARE(hasRoom(QStringLiteral("in another theme")), QString());
        design.workload.microBatches = choice == ThemeChoice::Dark ? 1 : 2; // other numbers, of other widths
        design.workload.recompute = choice == ThemeChoice::Dark ? Recompute::None : Recompute::Full;
        QVERIFY(m_it.document()->edit(design, QStringLiteral("Workload"), Misfits::Replicate).ok());
        QCOMPARE(hasRoom(QStringLiteral("after an edit")), QString());
        for (int width = 1920; width >= 1024; width -= 40) {
            m_it.window->resize(width, 1000);
            QCOMPARE(hasRoom(QString::number(width)), QString());
        }
        m_it.window->resize(1600, 1000);
    }
    m_it.document()->undoStack()->setClean();
}

/// The chip of all axes grows with the number of devices, also where nothing else in the bar becomes wider.
void TestModes::barIsNotSqueezedByAChip()
{
    start({ 1600, 1000 });
    const auto* modes = m_it.child<QWidget>("modeBar");
    const auto* chip = m_it.child<QWidget>("joinedChip");
    const auto* bar = m_it.window->findChild<SummaryBar*>();
    const auto onMesh = [&](const char* mesh) { // every device does all, so that step and memory stay
        Design design = m_it.document()->design();
        design.mesh = Mesh::parse(mesh).value();
        QVERIFY(applyPreset(design, "replicate").ok());
        QVERIFY(m_it.document()->edit(design, QStringLiteral("Mesh"), Misfits::Replicate).ok());
        settle();
    };
    int tried = 0;
    for (int width = 1590; width >= 1030; width -= 35) {
        m_it.window->resize(width, 1000);
        onMesh("first=3,second=3,third=11"); // 99 devices
        const int least = bar->layout()->minimumSize().width();
        m_it.window->resize(least, 1000); // no pixel to spare
        settle();
        if (!chip->isVisible() || bar->layout()->minimumSize().width() != least)
            continue;
        onMesh("first=3,second=3,third=12");
        ++tried;
        QVERIFY2(modes->width() >= modes->minimumSizeHint().width(),
                 qPrintable(QStringLiteral("%1: %2 of %3").arg(least).arg(modes->width()).arg(modes->minimumSizeHint().width())));
        QVERIFY(bar->layout()->minimumSize().width() <= bar->width());
    }
    QVERIFY(tried > 0);
}

/// Of what has given way, nothing would have room now that wider parts went after it.
void TestModes::barHasNoRoomForWhatWent()
{
    start({ 1600, 1000 });
    Design design = m_it.document()->design();
    design.mesh = Mesh::parse("pod=4,data=8,fsdp=64,model=8").value();
    QVERIFY(m_it.document()->edit(design, QStringLiteral("Mesh"), Misfits::Replicate).ok());
    const auto* bar = m_it.window->findChild<SummaryBar*>();
    constexpr int kSpacing = 12;
    for (int width = 1600; width >= 1024; width -= 16) {
        m_it.window->resize(width, 800);
        settle();
        const int left = bar->width() - bar->layout()->minimumSize().width();
        for (const char* name : { "summaryFind", "meshChips" }) {
            const auto* part = m_it.child<QWidget>(name);
            QVERIFY2(part->isVisible() || part->sizeHint().width() + kSpacing > left,
                     qPrintable(QStringLiteral("%1 has room at %2").arg(QLatin1String(name)).arg(width)));
        }
        const auto* heading = m_it.child<QLabel>("summaryStepTitle");
        QVERIFY2(heading->isVisible() || heading->sizeHint().width() > m_it.child<QLabel>("summaryStep")->width() + left,
                 qPrintable(QStringLiteral("headings have room at %1").arg(width)));
    }
    QVERIFY(m_it.child<QWidget>("joinedChip")->isVisible()); // on which mesh is said at 1024 pixels, too
    // And in large text the flow has room for two rows.
    m_it.window->resize(1024, 640);
    m_it.theme->setTextSize(15);
    m_it.raise("flow");
    settle();
    QVERIFY(m_it.child<QWidget>("flowCanvas")->height() > 2 * 1.5 * kFlowBoxHeight);
    // What a device needs is read below the step where the name takes the room beside it.
    design.model.name = "deepseek3-671b";
    QVERIFY(m_it.document()->edit(design, QStringLiteral("Name"), Misfits::Replicate).ok());
    settle();
    const auto* memory = m_it.child<QLabel>("summaryMemory");
    const auto* below = m_it.child<QLabel>("summaryMemoryBelow");
    QVERIFY(m_it.child<QLabel>("summaryStep")->isVisible() && !memory->isVisible() && below->isVisible());
    QCOMPARE(below->text(), bytesText(m_it.document()->evaluation()->plan.memory.peak));
    QVERIFY(below->geometry().bottom() <= bar->rect().bottom() - 2);
    QVERIFY(below->geometry().top() > m_it.child<QLabel>("summaryStep")->geometry().center().y());
    m_it.window->resize(1600, 1000);
    settle();
    QVERIFY(memory->isVisible() && !below->isVisible() && m_it.child<QLabel>("summaryStepTitle")->isVisible());
}

/// All titles are whole; those that have no room are in a menu, from which they come to the front.
void TestModes::tabsWithoutRoomAreInAMenu()
{
    start({ 1280, 800 });
    QTabBar* tabs = panel("inspector")->group()->tabs();
    auto* more = tabs->findChild<QToolButton*>(QStringLiteral("moreTabs"));
    QVERIFY(more != nullptr && !more->isVisible());
    for (const char* name : { "explain", "strategy", "workload" })
        m_it.raise(name);
    settle();
    const auto look = [&] {
        settle();
        int hidden = 0;
        for (int tab = 0; tab < tabs->count(); ++tab) {
            if (!tabs->isTabVisible(tab)) {
                ++hidden;
                continue;
            }
            QVERIFY2(tabs->tabRect(tab).width() > tabs->fontMetrics().horizontalAdvance(tabs->tabText(tab)),
                     qPrintable(tabs->tabText(tab)));
            QVERIFY2(tabs->tabRect(tab).right() < more->x(), qPrintable(tabs->tabText(tab)));
        }
        QVERIFY(tabs->isTabVisible(tabs->currentIndex()));
        QVERIFY(hidden > 0 && more->isVisible());
    };
    look();
    QVERIFY(panel("workload")->isVisible());
    QStringList offered;
    more->click();
    QTRY_VERIFY(qobject_cast<QMenu*>(QApplication::activePopupWidget()) != nullptr);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    for (int tab = 0, at = 0; tab < tabs->count(); ++tab)
        if (!tabs->isTabVisible(tab))
            QCOMPARE(menu->actions().at(at++)->text(), tabs->tabText(tab));
    QAction* last = menu->actions().last();
    const QString title = last->text();
    menu->close();
    last->trigger();
    look();
    QCOMPARE(tabs->tabText(tabs->currentIndex()), title);
    for (const char* name : { "explain", "strategy", "workload" })
        bench()->close(panel(name));
    settle();
    QVERIFY(!more->isVisible());
    for (int tab = 0; tab < tabs->count(); ++tab)
        QVERIFY(tabs->isTabVisible(tab));
}

/// Going from mode to mode moves nothing in the bar, and what gives way is decided by the room alone, not by what was shown before.
void TestModes::barStandsStill()
{
    for (const QSize& size : { QSize(1024, 640), QSize(1280, 800), QSize(1600, 1000) }) {
        start(size);
        Design design = m_it.document()->design();
        design.mesh = Mesh::parse("pod=2,data=2,fsdp=2,model=2").value();
        QVERIFY(m_it.document()->edit(design, QStringLiteral("Mesh"), Misfits::Replicate).ok());
        settle();
        const auto places = [this] {
            QStringList out;
            for (const char* name : { "summaryName", "summaryWorkload", "modeBar", "meshChips", "summaryFind", "summaryStep",
                                      "summaryRate", "summaryMemoryBar", "summaryMemory", "findingsBadge", "summaryAct" }) {
                const auto* part = m_it.child<QWidget>(name);
                const QRect at = part->geometry();
                out << (part->isVisible() ? QStringLiteral("%1 %2+%3").arg(QLatin1String(name)).arg(at.x()).arg(at.width())
                                          : QLatin1String(name) + QStringLiteral(" away"));
            }
            return out;
        };
        const QStringList first = places();
        for (const WorkMode mode : { WorkMode::Explore, WorkMode::Profile, WorkMode::Deliver, WorkMode::Design }) {
            bench()->setMode(mode);
            settle();
            QCOMPARE(places(), first);
        }
        m_it.window->resize(size + QSize(40, 0));
        settle();
        m_it.window->resize(size);
        settle();
        QCOMPARE(places(), first);
    }
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

/// Also when the engine has said what it can run on, of which the list has long entries.
void TestModes::runFormIsNotClipped()
{
    start({ 1024, 640 });
    m_it.theme->setTextSize(15);
    m_it.raise("runForm");
    settle();
    auto* form = m_it.window->findChild<QScrollArea*>(QStringLiteral("runForm"));
    auto* on = form->findChild<QComboBox*>(QStringLiteral("run.backend"));
    QTRY_VERIFY(on->count() > 1);
    settle();
    const double usual = m_it.theme->usualTextSize();
    QVERIFY2(form->widget()->width() <= form->viewport()->width(),
             qPrintable(QStringLiteral("%1 in %2").arg(form->widget()->width()).arg(form->viewport()->width())));
    m_it.theme->setTextSize(usual);
}

SHARDBOARD_TEST(TestModes, withFonts)

#include "tst_modes.moc"
