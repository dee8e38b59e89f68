// SPDX-License-Identifier: Apache-2.0
// How collectives are chosen, from the menu: each choice is one step of the history, is what a design file keeps, and does to
// the plan what it says.
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"

#include "model/io/design/designfile.h"
#include "widgets/cost/collectivesview.h"

#include "widgets/edits/pickermenu.h"
#include "widgets/look/theme.h"

#include <QAction>
#include <QApplication>
#include <QDoubleSpinBox>
#include <QMenu>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <algorithm>

using namespace shardboard;

namespace {

int findingsOf(const Document& document, const char* kind)
{
    const auto& all = document.evaluation()->findings;
    return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const DesignFinding& it) { return it.kind == kind; }));
}

struct ShownPicker {
    explicit ShownPicker(const Design& design = knownDesign())
    {
        ready = document.setDesign(design).ok();
        choices = new PickerMenu(&document, &menu);
    }
    QAction* action(const char* name) const { return menu.findChild<QAction*>(QString::fromLatin1(name)); }
    void choose(const char* name) const { action(qPrintable(QStringLiteral("choose.") + QString::fromLatin1(name)))->trigger(); }
    QDoubleSpinBox* budget() const { return menu.findChild<QDoubleSpinBox*>(QStringLiteral("picker.budget")); }
    const PickerOptions& options() const { return document.design().picker; }

    Document document;
    QMenu menu;
    PickerMenu* choices = nullptr;
    bool ready = false;
};

} // namespace

class TestPickerMenu : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void everyChoiceIsOneStep();
    void designFilesKeepIt();
    void aProfileBringsItsMode();
    void onlyWhatCountsIsOffered();
    void pickersChangeThePlan();
    void onReshardTellsWhatMoves();
    void budgetRefuses();
    void partialMayBecomeShards();
    void buttonSaysWhatIsChosen();
};

void TestPickerMenu::everyChoiceIsOneStep()
{
    ShownPicker shown;
    QVERIFY(shown.ready);
    const Design before = shown.document.design();
    PickerOptions wanted;
    int steps = 0;
    const auto is = [&](const char* text) {
        ++steps;
        return shown.options() == wanted && shown.document.undoStack()->count() == steps
            && shown.document.undoStack()->undoText() == QString::fromLatin1(text);
    };
    for (const auto& [name, picker] : { std::pair("partials-only", PickerKind::PartialsOnly), std::pair("none", PickerKind::None),
                                        std::pair("greedy", PickerKind::Greedy) }) {
        shown.choose(name);
        wanted.picker = picker;
        QVERIFY2(is(qPrintable(QStringLiteral("Picker %1").arg(QString::fromLatin1(name)))), name);
        QVERIFY(shown.action(qPrintable(QStringLiteral("choose.%1").arg(QString::fromLatin1(name))))->isChecked());
    }
    for (const auto& [name, mode] :
         { std::pair("warn", OnReshard::Warn), std::pair("raise", OnReshard::Raise), std::pair("silent", OnReshard::Silent) }) {
        shown.choose(name);
        wanted.onReshard = mode;
        QVERIFY2(is(qPrintable(QStringLiteral("When something moves: %1").arg(QString::fromLatin1(name)))), name);
    }
    shown.action("picker.reduceScatter")->trigger();
    wanted.allowPartialToSharded = true;
    QVERIFY(is("Allow partial values to become shards"));
    for (const auto& [name, profile] :
         { std::pair("G1", PickerProfile::G1), std::pair("G2", PickerProfile::G2), std::pair("G3", PickerProfile::G3) }) {
        shown.choose(name);
        wanted.profile = profile;
        QVERIFY2(is(qPrintable(QStringLiteral("Picker %1").arg(QString::fromLatin1(name)))), name);
    }
    shown.action("picker.allTransitions")->trigger();
    wanted.allowedTransitions = TransitionSet::all();
    QVERIFY(is("Allow all transitions"));
    shown.choose("G0");
    wanted.profile = PickerProfile::G0;
    QVERIFY(is("Picker G0"));
    shown.budget()->setValue(640.5);
    wanted.setBudgetBytes(671612928); // 640.5 x 2^20
    ++steps;
    QVERIFY(shown.options() == wanted);
    QCOMPARE(shown.document.undoStack()->count(), steps);
    QVERIFY(shown.document.undoStack()->undoText().startsWith(QStringLiteral("Memory budget 64")));
    shown.choose("G0"); // what is chosen already is no step
    QCOMPARE(shown.document.undoStack()->count(), steps);
    while (shown.document.undoStack()->canUndo())
        shown.document.undoStack()->undo();
    QVERIFY(shown.document.design() == before);
    QVERIFY(shown.action("choose.shardboard")->isChecked() && shown.action("choose.greedy")->isChecked()
            && shown.action("choose.silent")->isChecked());
    QVERIFY(!shown.action("picker.reduceScatter")->isChecked() && !shown.action("picker.allTransitions")->isChecked());
    QCOMPARE(shown.budget()->value(), 0.0);
}

void TestPickerMenu::designFilesKeepIt()
{
    ShownPicker shown;
    QVERIFY(shown.ready);
    for (const char* name : { "G0", "raise", "partials-only" })
        shown.choose(name);
    shown.document.undoStack()->undo(); // greedy again
    shown.budget()->setValue(100000);
    shown.action("picker.reduceScatter")->trigger();
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("d.shardboard"));
    QVERIFY(shown.document.save(path).ok());
    const auto read = readDesign(path.toStdString());
    QVERIFY(read.ok());
    QVERIFY(read.value().picker == shown.options());
    QVERIFY(read.value().picker.profile == PickerProfile::G0 && read.value().picker.onReshard == OnReshard::Raise);
    QVERIFY(read.value().picker.allowPartialToSharded);
    QCOMPARE(read.value().picker.budgetBytes(), std::int64_t { 100000 } << 20);
}

/// MAX 26.7 refuses what moves unless it is told, and so does its profile where no mode was chosen.
void TestPickerMenu::aProfileBringsItsMode()
{
    ShownPicker shown;
    QVERIFY(shown.ready);
    shown.choose("max-26.7");
    QCOMPARE(shown.options().onReshard, OnReshard::Raise);
    QVERIFY(shown.action("choose.raise")->isChecked());
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QVERIFY(findingsOf(shown.document, "reshard") > 0);
    shown.choose("G1");
    QCOMPARE(shown.options().onReshard, OnReshard::Silent);
    for (const char* mode : { "warn", "silent" }) {
        shown.choose("max-26.7");
        shown.choose(mode);
        const OnReshard chosen = shown.options().onReshard;
        shown.choose("max-26.6");
        QCOMPARE(shown.options().onReshard, chosen);
    }
    shown.choose("warn");
    shown.choose("max-26.7");
    QCOMPARE(shown.options().onReshard, OnReshard::Warn);
}

void TestPickerMenu::onlyWhatCountsIsOffered()
{
    ShownPicker shown;
    QVERIFY(shown.ready);
    const auto offered = [&] {
        return QStringList { shown.action("picker.reduceScatter")->isEnabled() ? QStringLiteral("scatter") : QString(),
                             shown.action("picker.allTransitions")->isEnabled() ? QStringLiteral("transitions") : QString(),
                             shown.budget()->isEnabled() ? QStringLiteral("budget") : QString() }
            .join(QLatin1Char(' '))
            .simplified();
    };
    QCOMPARE(offered(), QStringLiteral("scatter"));
    shown.choose("G0");
    QCOMPARE(offered(), QStringLiteral("scatter budget"));
    shown.choose("G2");
    QCOMPARE(offered(), QStringLiteral("transitions"));
    shown.choose("none");
    QCOMPARE(offered(), QString());
    Document empty;
    QMenu menu;
    const PickerMenu none(&empty, &menu);
    for (const QAction* action : menu.findChildren<QAction*>())
        QVERIFY2(!action->isCheckable() || !action->isEnabled(), qPrintable(action->objectName()));
}

void TestPickerMenu::pickersChangeThePlan()
{
    ShownPicker shown; // Megatron: partial sums that are reduced, and nothing else
    QVERIFY(shown.ready);
    QCOMPARE(findingsOf(shown.document, "refused-pick"), 0);
    shown.choose("none");
    QVERIFY(findingsOf(shown.document, "refused-pick") > 0);
    shown.choose("partials-only");
    QCOMPARE(findingsOf(shown.document, "refused-pick"), 0);
    for (const Collective& it : shown.document.evaluation()->plan.collectives)
        QCOMPARE(static_cast<int>(it.kind), static_cast<int>(CollectiveKind::AllReduce));
}

void TestPickerMenu::onReshardTellsWhatMoves()
{
    ShownPicker shown(knownDesign("model=4", "megatron-tp"));
    QVERIFY(shown.ready);
    QCOMPARE(findingsOf(shown.document, "reshard"), 0);
    shown.choose("warn");
    const int notes = findingsOf(shown.document, "reshard");
    QVERIFY(notes > 0);
    shown.choose("raise");
    QCOMPARE(findingsOf(shown.document, "reshard"), notes);
    for (const DesignFinding& finding : shown.document.evaluation()->findings)
        if (finding.kind == "reshard")
            QCOMPARE(static_cast<int>(finding.severity), static_cast<int>(Severity::Error));
}

void TestPickerMenu::budgetRefuses()
{
    ShownPicker shown;
    QVERIFY(shown.ready);
    shown.choose("G0");
    QCOMPARE(findingsOf(shown.document, "refused-pick"), 0);
    shown.budget()->setValue(1);
    QVERIFY(findingsOf(shown.document, "refused-pick") > 0);
    shown.budget()->setValue(0);
    QCOMPARE(shown.options().budgetBytes(), std::int64_t { 0 });
    QCOMPARE(findingsOf(shown.document, "refused-pick"), 0);
}

void TestPickerMenu::partialMayBecomeShards()
{
    ShownPicker shown;
    QVERIFY(shown.ready);
    const auto scatters = [&] {
        const auto& all = shown.document.evaluation()->plan.collectives;
        return std::count_if(all.begin(), all.end(), [](const Collective& it) { return it.kind == CollectiveKind::ReduceScatter; });
    };
    QCOMPARE(scatters(), 0);
    shown.action("picker.reduceScatter")->trigger();
    QVERIFY(scatters() > 0);
}

void TestPickerMenu::buttonSaysWhatIsChosen()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    CollectivesView view(&document);
    view.resize(940, 260);
    view.show();
    auto* button = view.findChild<PickerButton*>();
    QVERIFY(button && button->isVisible());
    QCOMPARE(button->accessibleName(), QStringLiteral("Picker: greedy · shardboard"));
    QVERIFY(button->menu());
    button->menu()->findChild<QAction*>(QStringLiteral("choose.G1"))->trigger();
    button->menu()->findChild<QAction*>(QStringLiteral("choose.raise"))->trigger();
    QCOMPARE(button->accessibleName(), QStringLiteral("Picker: greedy · G1 · raise"));
    document.undoStack()->undo();
    QCOMPARE(button->accessibleName(), QStringLiteral("Picker: greedy · G1"));
    // It is there where nothing moves, too: that may be what the picker is for.
    QVERIFY(document.setDesign(knownDesign("model=4", "replicate")).ok());
    QVERIFY(document.evaluation()->plan.collectives.empty());
    QVERIFY(button->isVisible());
    PickerOptions options;
    options.profile = PickerProfile::G0;
    options.setBudgetBytes(std::int64_t { 64 } << 20);
    options.allowPartialToSharded = true;
    QCOMPARE(pickerText(options), QStringLiteral("greedy · G0 · partial → shards · ≤ 64 MiB"));
}

SHARDBOARD_TEST(TestPickerMenu)
#include "tst_pickermenu.moc"
