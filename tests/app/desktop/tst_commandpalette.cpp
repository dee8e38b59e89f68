// SPDX-License-Identifier: Apache-2.0
// The command palette of the real window, by keys alone: every command of the menus is found by its name and runs, what is
// refused says so and does nothing, weights, operations, collectives and devices are gone to, and the focus comes back.
#include "app/desktop/window/helpwindow.h"
#include "app/desktop/window/palettesources.h"
#include "tests/app/desktop/appwindow.h"

#include "tests/support/runner.h"
#include "widgets/document/documentview.h"
#include "widgets/look/format.h"
#include "widgets/workbench/commandpalette.h"

#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenuBar>

#include <algorithm>

using namespace shardboard;

class TestCommandPalette : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        makeNew();
        window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(window.get()));
        window->fileActions()->openSample();
    }
    void cleanup() { drop(); }
    void scores();
    void everyActionIsThere();
    void opensByKeysAndGivesTheFocusBack();
    void commandRunsByKeysAlone();
    void goesToPartsOfTheDesign();
    void devicesByNumber();
    void settingsNumbersAndHelp();
    void refusedCommandsSaySoAndDoNothing();
    void nothingFoundIsSaid();
    void withoutADesign();

private:
    CommandPalette* open(Qt::Key key = Qt::Key_K, Qt::KeyboardModifiers modifiers = Qt::ControlModifier)
    {
        QTest::keyClick(window.get(), key, modifiers);
        return window->findChild<CommandPalette*>();
    }
    static void type(CommandPalette* palette, const char* text)
    {
        QTest::keyClicks(palette->findChild<QLineEdit*>(), QString::fromLatin1(text));
    }
    static void press(CommandPalette* palette, Qt::Key key) { QTest::keyClick(palette->findChild<QLineEdit*>(), key); }
};

void TestCommandPalette::scores()
{
    const auto score = [](const char* text, const char* typed) {
        return paletteScore(QString::fromLatin1(text), QString::fromLatin1(typed));
    };
    QVERIFY(score("Open", "open") > score("Open Recent", "open")); // the whole name
    QVERIFY(score("Open", "open") > score("Reopen", "open"));
    QVERIFY(score("mlp.down_proj", "down") > score("showdown", "down")); // the beginning of a word
    QVERIFY(score("Reset Layout", "lay res") > 0); // words in any order
    QVERIFY(score("Reset Layout", "rslay") > 0); // letters in order
    QCOMPARE(score("Reset Layout", "layout x"), 0);
    QCOMPARE(score("Reset Layout", "tuoyal"), 0);
    QVERIFY(score("anything", "") > 0);
}

void TestCommandPalette::everyActionIsThere()
{
    const auto entries = commandEntries(window->menuBar(), window->actionRegistry()->all());
    const auto named = [&](QString text) {
        text.remove(QLatin1Char('&'));
        return std::find_if(entries.begin(), entries.end(), [&](const PaletteEntry& entry) {
            return entry.text == text || entry.text == text + QStringLiteral(" ✓");
        });
    };
    for (const QAction* action : window->actionRegistry()->all()) {
        QString text = action->text();
        text.remove(QLatin1Char('&'));
        const bool found =
            std::any_of(entries.begin(), entries.end(), [&](const PaletteEntry& entry) { // panels can have the same name
                return (entry.text == text || entry.text == text + QStringLiteral(" ✓"))
                    && entry.key == action->shortcut().toString(QKeySequence::NativeText)
                    && entry.refusal.isEmpty() == action->isEnabled() && !entry.detail.isEmpty();
            });
        QVERIFY2(found, qPrintable(action->objectName() + QLatin1Char(' ') + text));
    }
    for (const char* text :
         { "megatron-tp", "DGX H200 cluster: islands of 8 on NVLink 4, InfiniBand NDR", "train", "Dark", "Maximize Panel", "G1" })
        QVERIFY2(named(QString::fromLatin1(text)) != entries.end(), text);
}

void TestCommandPalette::opensByKeysAndGivesTheFocusBack()
{
    QWidget* before = window->findChild<QWidget*>(QStringLiteral("weightTree"));
    before->setFocus();
    CommandPalette* palette = open(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(palette && palette->isVisible());
    QVERIFY(palette->findChild<QLineEdit*>()->hasFocus());
    QVERIFY(window->rect().contains(palette->geometry()));
    QVERIFY(palette->model().rowCount() > 50); // everything, before anything is typed
    press(palette, Qt::Key_Escape);
    QVERIFY(!palette->isVisible());
    QVERIFY(before->hasFocus());
}

void TestCommandPalette::commandRunsByKeysAlone()
{
    CommandPalette* palette = open();
    type(palette, "preset fsdp");
    const PaletteEntry* first = palette->model().entry(0);
    QVERIFY2(first && first->text.contains(QStringLiteral("fsdp")), qPrintable(first ? first->text : QString()));
    auto* list = palette->findChild<QListView*>();
    while (palette->model().entry(list->currentIndex().row())->text != QLatin1String("fsdp")) {
        const int row = list->currentIndex().row();
        press(palette, Qt::Key_Down);
        QCOMPARE(list->currentIndex().row(), row + 1);
    }
    press(palette, Qt::Key_Return);
    QVERIFY(!palette->isVisible());
    QCOMPARE(document()->undoStack()->undoText(), QStringLiteral("Preset fsdp"));
    open();
    type(palette, "undo");
    press(palette, Qt::Key_Return);
    QCOMPARE(document()->undoStack()->index(), 0);
}

void TestCommandPalette::goesToPartsOfTheDesign()
{
    CommandPalette* palette = open();
    type(palette, "down_proj");
    QCOMPARE(palette->model().entry(0)->detail, QStringLiteral("weight of 32 layers"));
    press(palette, Qt::Key_Return);
    QCOMPARE(selection()->weight(), weightNamed(*document(), "down_proj"));
    open();
    type(palette, "attention operation");
    press(palette, Qt::Key_Enter);
    QVERIFY(selection()->operation().valid());
    open();
    type(palette, "all-reduce mlp");
    press(palette, Qt::Key_Return);
    QVERIFY(selectedCollective(*document()) != nullptr);
    QCOMPARE(document()->evaluation()->graph.tensor(selectedCollective(*document())->tensor).name, std::string("mlp out"));
    open();
    type(palette, "data mesh axis");
    press(palette, Qt::Key_Return);
    QCOMPARE(selection()->meshAxis(), 0);
}

void TestCommandPalette::devicesByNumber()
{
    CommandPalette* palette = open();
    type(palette, "6");
    QCOMPARE(palette->model().entry(0)->text, QStringLiteral("device 6"));
    QCOMPARE(palette->model().entry(0)->detail, QStringLiteral("data 1, model 2"));
    press(palette, Qt::Key_Return);
    QCOMPARE(selection()->device(), std::int64_t { 6 });
    open();
    type(palette, "device 8");
    QVERIFY(!palette->model().entry(0)->refusal.isEmpty());
    press(palette, Qt::Key_Return);
    QVERIFY(palette->isVisible());
    QCOMPARE(selection()->device(), std::int64_t { 6 });
}

void TestCommandPalette::settingsNumbersAndHelp()
{
    const auto first = [this](const char* typed, const QString& detail) {
        CommandPalette* palette = open();
        type(palette, typed);
        for (int row = 0; row < palette->model().rowCount(); ++row)
            if (palette->model().entry(row)->detail.startsWith(detail)) {
                palette->findChild<QListView*>()->setCurrentIndex(palette->model().index(row));
                return palette->model().entry(row);
            }
        return static_cast<const PaletteEntry*>(nullptr);
    };
    const auto take = [this] { press(window->findChild<CommandPalette*>(), Qt::Key_Return); };
    const PaletteEntry* entry = first("sequence", QStringLiteral("setting"));
    QVERIFY(entry != nullptr);
    QCOMPARE(entry->key, QStringLiteral("%1 tokens").arg(countText(document()->design().workload.sequence)));
    take();
    settle();
    QVERIFY(window->workbench()->find(QStringLiteral("workload"))->isVisible());
    QCOMPARE(QApplication::focusWidget()->objectName(), QStringLiteral("workload.sequence"));
    entry = first("memory per device", QStringLiteral("number"));
    QVERIFY(entry != nullptr);
    QCOMPARE(entry->key, bytesText(document()->evaluation()->plan.memory.peak));
    take();
    settle();
    QVERIFY(window->workbench()->find(QStringLiteral("memory"))->isVisible());
    entry = first("tiles", QStringLiteral("help"));
    QVERIFY(entry != nullptr);
    take();
    settle();
    auto* help = window->findChild<HelpWindow*>();
    QVERIFY(help != nullptr && help->isVisible());
    QCOMPARE(help->page(), QStringLiteral("tiles"));
}

void TestCommandPalette::refusedCommandsSaySoAndDoNothing()
{
    CommandPalette* palette = open();
    type(palette, "redo"); // there is nothing to redo
    const PaletteEntry* entry = palette->model().entry(0);
    QCOMPARE(entry->text, QStringLiteral("Redo"));
    QVERIFY(!entry->refusal.isEmpty());
    QVERIFY(palette->model().index(0).data(Qt::AccessibleTextRole).toString().contains(entry->refusal));
    press(palette, Qt::Key_Return);
    QVERIFY(palette->isVisible());
}

void TestCommandPalette::nothingFoundIsSaid()
{
    CommandPalette* palette = open();
    type(palette, "xyzzy");
    QCOMPARE(palette->model().rowCount(), 0);
    QVERIFY(palette->findChild<QLabel*>(QStringLiteral("paletteEmpty"))->isVisible());
    press(palette, Qt::Key_Return);
    press(palette, Qt::Key_Down);
    QVERIFY(palette->isVisible());
    press(palette, Qt::Key_Escape);
    QVERIFY(!palette->isVisible());
}

void TestCommandPalette::withoutADesign()
{
    MainWindow empty(*settings, *theme);
    empty.show();
    empty.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&empty));
    QTest::keyClick(&empty, Qt::Key_K, Qt::ControlModifier);
    auto* palette = empty.findChild<CommandPalette*>();
    QVERIFY(palette && palette->isVisible());
    type(palette, "open sample");
    press(palette, Qt::Key_Return);
    QVERIFY(empty.document()->hasDesign());
}

SHARDBOARD_TEST(TestCommandPalette)
#include "tst_commandpalette.moc"
