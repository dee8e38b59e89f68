// SPDX-License-Identifier: Apache-2.0
// The command palette of the real window, by keys alone: every command of the menus is found by its name and runs, what is
// refused says so and does nothing, weights, operations, collectives and devices are gone to, and the focus comes back.
#include "app/desktop/base/actions.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/window/mainwindow.h"
#include "app/desktop/window/palettesources.h"

#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"
#include "widgets/document/documentview.h"
#include "widgets/workbench/commandpalette.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenuBar>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <algorithm>
#include <memory>

using namespace shardboard;

class TestCommandPalette : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { m_window.reset(); }
    void scores();
    void everyActionIsThere();
    void opensByKeysAndGivesTheFocusBack();
    void commandRunsByKeysAlone();
    void goesToPartsOfTheDesign();
    void devicesByNumber();
    void refusedCommandsSaySoAndDoNothing();
    void nothingFoundIsSaid();
    void withoutADesign();

private:
    CommandPalette* open(Qt::Key key = Qt::Key_K, Qt::KeyboardModifiers modifiers = Qt::ControlModifier)
    {
        QTest::keyClick(m_window.get(), key, modifiers);
        return m_window->findChild<CommandPalette*>();
    }
    static void type(CommandPalette* palette, const char* text)
    {
        QTest::keyClicks(palette->findChild<QLineEdit*>(), QString::fromLatin1(text));
    }
    static void press(CommandPalette* palette, Qt::Key key) { QTest::keyClick(palette->findChild<QLineEdit*>(), key); }
    Selection* selection() const { return m_window->document()->selection(); }

    QTemporaryDir m_folder;
    std::unique_ptr<Settings> m_settings;
    std::unique_ptr<ThemeControl> m_theme;
    std::unique_ptr<MainWindow> m_window;
};

void TestCommandPalette::init()
{
    m_settings = std::make_unique<Settings>(m_folder.filePath(QStringLiteral("settings.ini")));
    m_theme = std::make_unique<ThemeControl>(*qApp, *m_settings);
    m_window = std::make_unique<MainWindow>(*m_settings, *m_theme);
    m_window->show();
    m_window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    m_window->fileActions()->openSample();
}

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
    const auto entries = commandEntries(m_window->menuBar(), m_window->actionRegistry()->all());
    const auto named = [&](QString text) {
        text.remove(QLatin1Char('&'));
        return std::find_if(entries.begin(), entries.end(), [&](const PaletteEntry& entry) {
            return entry.text == text || entry.text == text + QStringLiteral(" ✓");
        });
    };
    for (const QAction* action : m_window->actionRegistry()->all()) {
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
    for (const char* text : { "megatron-tp", "dgx-h200", "train", "Dark", "Move Panels", "G1" })
        QVERIFY2(named(QString::fromLatin1(text)) != entries.end(), text);
}

void TestCommandPalette::opensByKeysAndGivesTheFocusBack()
{
    QWidget* before = m_window->findChild<QWidget*>(QStringLiteral("weightTree"));
    before->setFocus();
    CommandPalette* palette = open(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(palette && palette->isVisible());
    QVERIFY(palette->findChild<QLineEdit*>()->hasFocus());
    QVERIFY(m_window->rect().contains(palette->geometry()));
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
    QCOMPARE(m_window->document()->undoStack()->undoText(), QStringLiteral("Preset fsdp"));
    open();
    type(palette, "undo");
    press(palette, Qt::Key_Return);
    QCOMPARE(m_window->document()->undoStack()->index(), 0);
}

void TestCommandPalette::goesToPartsOfTheDesign()
{
    CommandPalette* palette = open();
    type(palette, "down_proj");
    QCOMPARE(palette->model().entry(0)->detail, QStringLiteral("weight of 32 layers"));
    press(palette, Qt::Key_Return);
    QCOMPARE(selection()->weight(), weightNamed(*m_window->document(), "down_proj"));
    open();
    type(palette, "attention operation");
    press(palette, Qt::Key_Enter);
    QVERIFY(selection()->operation() >= 0);
    open();
    type(palette, "all-reduce mlp");
    press(palette, Qt::Key_Return);
    QVERIFY(selectedCollective(*m_window->document()) != nullptr);
    QCOMPARE(m_window->document()->evaluation()->graph.tensor(selectedCollective(*m_window->document())->tensor).name,
             std::string("mlp out"));
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
    MainWindow empty(*m_settings, *m_theme);
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
