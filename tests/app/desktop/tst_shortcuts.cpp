// SPDX-License-Identifier: Apache-2.0
// The sheet of shortcuts in the real window: made of the registry, keys changed by keys, conflicts named, and everything that shows
// keys shows the changed ones.
#include "app/desktop/window/helpwindow.h"
#include "app/desktop/window/keyfield.h"
#include "app/desktop/window/palettesources.h"
#include "app/desktop/window/shortcutsheet.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/tiles/tileview.h"

#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTextBrowser>
#include <QTreeWidget>

#include <algorithm>

using namespace shardboard;

class TestShortcuts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();

    void questionMarkOpensTheSheet();
    void sheetHasEveryCommand();
    void noTwoCommandsHaveTheSameKeys();
    void changedKeysWorkAndAreShownEverywhere();
    void keysAreKept();
    void conflictIsNamedAndTakenOnlyOnDemand();
    void resettingOneMindsConflicts();
    void keysCanBeTakenAway();
    void keysOfViewsAreTold();
    void sheetHasTheKeysOfViews();
    void filterFindsNamesAndKeys();
    void chordsAsTheyAreTyped();
    void disabledCommandsSayWhy();

private:
    ShortcutSheet* sheet()
    {
        m_it.action("help.shortcuts")->trigger();
        return m_it.window->findChild<ShortcutSheet*>();
    }
    template <class Widget>
    Widget* part(const char* name)
    {
        return sheet()->findChild<Widget*>(QString::fromLatin1(name));
    }
    void choose(const char* id)
    {
        auto* list = part<QTreeWidget>("shortcuts.list");
        for (int row = 0; row < list->topLevelItemCount(); ++row)
            if (list->topLevelItem(row)->data(0, Qt::UserRole).toString() == QLatin1String(id))
                list->setCurrentItem(list->topLevelItem(row));
        QCOMPARE(list->currentItem()->data(0, Qt::UserRole).toString(), QString::fromLatin1(id));
    }
    void press(Qt::Key key, Qt::KeyboardModifiers held = Qt::NoModifier)
    {
        QTest::keyClick(part<KeyField>("shortcuts.keys"), key, held);
    }
    void click(const char* name)
    {
        auto* button = part<QPushButton>(name);
        QVERIFY2(button->isVisible() && button->isEnabled(), name);
        QTest::mouseClick(button, Qt::LeftButton);
    }
    QString message() { return part<QLabel>("shortcuts.message")->text(); }
    QKeySequence keysOf(const char* id) { return m_it.action(id)->shortcut(); }

    AppWindow m_it;
};

void TestShortcuts::init() { m_it.open(); }

void TestShortcuts::cleanup()
{
    m_it.window->actionRegistry()->resetAllShortcuts();
    m_it.close();
}

void TestShortcuts::questionMarkOpensTheSheet()
{
    QVERIFY(m_it.window->findChild<ShortcutSheet*>() == nullptr);
    QTest::keyClick(m_it.window.get(), Qt::Key_Question);
    auto* opened = m_it.window->findChild<ShortcutSheet*>();
    QVERIFY(opened != nullptr && opened->isVisible());
    QVERIFY(!opened->isModal());
    QTest::keyClick(opened, Qt::Key_Escape);
    QVERIFY(!opened->isVisible());
}

void TestShortcuts::sheetHasEveryCommand()
{
    const auto* list = part<QTreeWidget>("shortcuts.list");
    const auto& all = m_it.window->actionRegistry()->all();
    QVERIFY(list->topLevelItemCount() > static_cast<int>(all.size())); // and the keys of views
    for (std::size_t i = 0; i < all.size(); ++i) {
        const QTreeWidgetItem* item = list->topLevelItem(static_cast<int>(i));
        QCOMPARE(item->text(0), plainText(all[i]));
        QVERIFY2(!item->text(1).isEmpty(), qPrintable(item->text(0)));
        if (!all[i]->shortcut().isEmpty())
            QVERIFY(item->text(2).contains(all[i]->shortcut().toString(QKeySequence::NativeText)));
    }
    // All that menus have is in the registry, but for what they make as they open and what is of a design.
    for (const QAction* menu : m_it.window->menuBar()->actions())
        if (menu->text() == QLatin1String("&View") || menu->text() == QLatin1String("&Help")
            || menu->text() == QLatin1String("&Run"))
            for (const QAction* action : menu->menu()->actions())
                if (!action->isSeparator() && action->menu() == nullptr)
                    QVERIFY2(std::find(all.begin(), all.end(), action) != all.end(), qPrintable(action->text()));
}

void TestShortcuts::noTwoCommandsHaveTheSameKeys()
{
    for (const QAction* action : m_it.window->actionRegistry()->all())
        for (const QKeySequence& keys : action->shortcuts())
            QVERIFY2(m_it.window->actionRegistry()->conflict(keys, action->objectName()) == nullptr,
                     qPrintable(action->objectName() + QLatin1Char(' ') + keys.toString()));
}

void TestShortcuts::changedKeysWorkAndAreShownEverywhere()
{
    const QKeySequence wanted(Qt::CTRL | Qt::ALT | Qt::Key_W);
    choose("view.allWeights");
    QVERIFY(!part<QPushButton>("shortcuts.set")->isEnabled());
    press(Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
    QCOMPARE(part<KeyField>("shortcuts.keys")->keys(), wanted);
    click("shortcuts.set");
    QCOMPARE(keysOf("view.allWeights"), wanted);
    choose("mode.act");
    press(Qt::Key_F9);
    press(Qt::Key_Return); // as the button
    QCOMPARE(keysOf("mode.act"), QKeySequence(Qt::Key_F9));
    const QTreeWidgetItem* row = part<QTreeWidget>("shortcuts.list")->currentItem();
    QCOMPARE(row->text(2), QStringLiteral("F9"));
    QVERIFY(row->toolTip(2).contains(QStringLiteral("F5")));
    QVERIFY(row->font(2).bold());

    const auto entries = commandEntries(m_it.window->menuBar(), m_it.window->actionRegistry()->all());
    const auto entry = std::find_if(entries.begin(), entries.end(),
                                    [](const PaletteEntry& it) { return it.text == QLatin1String("All Weights"); });
    QVERIFY(entry != entries.end());
    QCOMPARE(entry->key, wanted.toString(QKeySequence::NativeText));
    QVERIFY2(m_it.action("view.allWeights")->toolTip().contains(wanted.toString(QKeySequence::NativeText)),
             qPrintable(m_it.action("view.allWeights")->toolTip()));
    bool seen = false; // on the button of the summary
    for (const QPushButton* button : m_it.child<QWidget>("summaryBar")->findChildren<QPushButton*>())
        seen = seen || (button->toolTip().contains(QStringLiteral("(F9)")) && !button->toolTip().contains(QStringLiteral("F5")));
    QVERIFY(seen);
    HelpWindow help(*m_it.window->actionRegistry());
    help.showPage(QStringLiteral("shortcuts"));
    const QString page = help.findChild<QTextBrowser*>(QStringLiteral("help.text"))->toPlainText();
    QVERIFY(page.contains(QStringLiteral("F9")) && page.contains(wanted.toString(QKeySequence::NativeText)));

    sheet()->hide();
    m_it.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(m_it.window.get()));
    auto* canvas = m_it.child<QWidget>("modelCanvas");
    QVERIFY(!canvas->isVisible());
    QTest::keyClick(m_it.window.get(), Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier); // what it was
    QVERIFY(!canvas->isVisible());
    QTest::keyClick(m_it.window.get(), Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
    QVERIFY(canvas->isVisible());
}

void TestShortcuts::keysAreKept()
{
    choose("file.save");
    press(Qt::Key_F9);
    click("shortcuts.set");
    choose("edit.find");
    click("shortcuts.none");
    m_it.open();
    QCOMPARE(keysOf("file.save"), QKeySequence(Qt::Key_F9));
    QVERIFY(keysOf("edit.find").isEmpty());
    QCOMPARE(keysOf("file.open"), QKeySequence(QKeySequence::Open));
    click("shortcuts.resetAll");
    QCOMPARE(keysOf("file.save"), QKeySequence(QKeySequence::Save));
    QVERIFY(!part<QPushButton>("shortcuts.resetAll")->isEnabled()); // there is nothing more
    m_it.open();
    QCOMPARE(keysOf("file.save"), QKeySequence(QKeySequence::Save));
    QVERIFY(!keysOf("edit.find").isEmpty());
    QVERIFY(!m_it.settings->shortcuts(QStringLiteral("file.save")).has_value());
}

void TestShortcuts::conflictIsNamedAndTakenOnlyOnDemand()
{
    choose("file.save");
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier); // the second of the command palette
    QVERIFY2(message().contains(QStringLiteral("Command Palette")), qPrintable(message()));
    QVERIFY(!part<QPushButton>("shortcuts.set")->isEnabled());
    press(Qt::Key_Return);
    QCOMPARE(keysOf("file.save"), QKeySequence(QKeySequence::Save));
    QVERIFY(part<QPushButton>("shortcuts.take")->text().contains(QStringLiteral("Command Palette")));
    click("shortcuts.take");
    QCOMPARE(keysOf("file.save"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P));
    QCOMPARE(m_it.action("edit.palette")->shortcuts(),
             QList<QKeySequence> { QKeySequence(Qt::CTRL | Qt::Key_K) }); // the other one stays
    press(Qt::Key_F10); // of nobody
    QVERIFY2(message().contains(QStringLiteral("free")), qPrintable(message()));
    QVERIFY(!part<QPushButton>("shortcuts.take")->isVisible());
}

void TestShortcuts::resettingOneMindsConflicts()
{
    choose("file.save");
    press(Qt::Key_O, Qt::ControlModifier);
    click("shortcuts.take");
    QVERIFY(keysOf("file.open").isEmpty());
    choose("file.open");
    click("shortcuts.reset");
    QVERIFY(keysOf("file.open").isEmpty()); // Save has them
    QVERIFY2(message().contains(QStringLiteral("Save")), qPrintable(message()));
    choose("file.save");
    click("shortcuts.reset");
    choose("file.open");
    click("shortcuts.reset");
    QCOMPARE(keysOf("file.open"), QKeySequence(QKeySequence::Open));
    QCOMPARE(keysOf("file.save"), QKeySequence(QKeySequence::Save));
}

void TestShortcuts::keysCanBeTakenAway()
{
    choose("mode.act");
    click("shortcuts.none");
    QVERIFY(keysOf("mode.act").isEmpty());
    QVERIFY(!m_it.action("mode.act")->toolTip().contains(QLatin1Char('(')));
    QVERIFY(!part<QPushButton>("shortcuts.none")->isEnabled());
}

void TestShortcuts::keysOfViewsAreTold()
{
    choose("view.reset");
    press(Qt::Key_F);
    QVERIFY2(message().contains(QStringLiteral("In a view")), qPrintable(message()));
    QVERIFY(part<QPushButton>("shortcuts.set")->isEnabled());
}

void TestShortcuts::sheetHasTheKeysOfViews()
{
    auto* list = part<QTreeWidget>("shortcuts.list");
    auto* flow = m_it.window->findChild<FlowCanvas*>();
    QSignalSpy played(flow, &FlowCanvas::playRequested);
    QSignalSpy stepped(flow, &FlowCanvas::stepRequested);
    QSignalSpy ended(flow, &FlowCanvas::endRequested);
    int walking = 0;
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
        const QTreeWidgetItem* item = list->topLevelItem(row);
        if (!item->text(1).endsWith(QStringLiteral("Flow")))
            continue;
        // What is told is what the canvas does with the key.
        const QKeySequence keys = QKeySequence::listFromString(item->text(2), QKeySequence::NativeText).constFirst();
        const auto before = played.size() + stepped.size() + ended.size();
        QTest::keyClick(flow, keys[0].key(), keys[0].keyboardModifiers());
        QTRY_VERIFY2(played.size() + stepped.size() + ended.size() == before + 1,
                     qPrintable(item->text(0) + QLatin1Char(' ') + item->text(2)));
        const bool collective = item->text(0).contains(QStringLiteral("collective"));
        const bool back = item->text(0).contains(QStringLiteral("back"));
        if (item->text(0).contains(QStringLiteral("step")) && ended.isEmpty())
            QCOMPARE(stepped.last(), QVariantList({ back ? -1 : 1, collective }));
        ++walking;
    }
    QCOMPARE(walking, 7);
    QCOMPARE(played.size(), 1);
    QCOMPARE(stepped.size(), 4);
    QCOMPARE(ended.size(), 2);
    // They are told and stay: nothing can be set while one is chosen.
    const auto found = list->findItems(QStringLiteral("Plays the plan"), Qt::MatchStartsWith);
    QCOMPARE(found.size(), 1);
    list->setCurrentItem(found.front());
    for (const char* name : { "shortcuts.set", "shortcuts.none", "shortcuts.reset" })
        QVERIFY2(!part<QPushButton>(name)->isEnabled(), name);
    QVERIFY(!part<KeyField>("shortcuts.keys")->isEnabled());
    choose("view.reset");
    QVERIFY(part<KeyField>("shortcuts.keys")->isEnabled());
}

void TestShortcuts::filterFindsNamesAndKeys()
{
    auto* filter = part<QLineEdit>("shortcuts.filter");
    const auto* list = part<QTreeWidget>("shortcuts.list");
    const auto shown = [&] {
        QStringList out;
        for (int row = 0; row < list->topLevelItemCount(); ++row)
            if (!list->topLevelItem(row)->isHidden())
                out << list->topLevelItem(row)->data(0, Qt::UserRole).toString();
        return out;
    };
    filter->setText(QStringLiteral("larger"));
    QCOMPARE(shown(), QStringList { QStringLiteral("view.textLarger") });
    filter->setText(QStringLiteral("ctrl+l"));
    QVERIFY(shown().contains(QStringLiteral("edit.strategy")));
    filter->setText(QStringLiteral("xyzzy"));
    QVERIFY(shown().isEmpty());
    QVERIFY(message().contains(QStringLiteral("No command")));
    filter->clear();
    QCOMPARE(shown().size(), list->topLevelItemCount());
    QVERIFY(message().isEmpty());
}

void TestShortcuts::chordsAsTheyAreTyped()
{
    KeyField field;
    const auto typed = [&field](int key, Qt::KeyboardModifiers held, const char* text) {
        QKeyEvent event(QEvent::KeyPress, key, held, QString::fromLatin1(text));
        QApplication::sendEvent(&field, &event);
        return field.keys().toString(QKeySequence::PortableText);
    };
    QCOMPARE(typed(Qt::Key_Question, Qt::ShiftModifier, "?"), QStringLiteral("?")); // Shift is in the character
    QCOMPARE(typed(Qt::Key_A, Qt::ShiftModifier, "A"), QStringLiteral("Shift+A"));
    QCOMPARE(typed(Qt::Key_F3, Qt::ShiftModifier, ""), QStringLiteral("Shift+F3"));
    QCOMPARE(typed(Qt::Key_Control, Qt::ControlModifier, ""), QStringLiteral("Shift+F3")); // not yet a chord
    QCOMPARE(typed(Qt::Key_5, Qt::ControlModifier | Qt::KeypadModifier, "5"), QStringLiteral("Ctrl+5"));
    QCOMPARE(typed(Qt::Key_Backspace, Qt::NoModifier, "\b"), QString());
    QCOMPARE(typed(Qt::Key_Backspace, Qt::ControlModifier, "\b"), QStringLiteral("Ctrl+Backspace"));
}

/// In the command palette, without a design and with one.
void TestShortcuts::disabledCommandsSayWhy()
{
    const auto check = [this](const QString& otherwise) {
        int disabled = 0;
        for (const PaletteEntry& entry : commandEntries(m_it.window->menuBar(), m_it.window->actionRegistry()->all(), otherwise)) {
            if (entry.refusal.isEmpty())
                continue;
            ++disabled;
            QVERIFY2(entry.refusal != QLatin1String("not now"), qPrintable(entry.detail + QStringLiteral(" › ") + entry.text));
        }
        QVERIFY(disabled > 3);
    };
    check({}); // each by itself
    m_it.open({ 1280, 800 }, false);
    check(QStringLiteral("no design is open"));
    QVERIFY(Actions::whyNot(m_it.action("file.save")).contains(QStringLiteral("design")));
    QVERIFY(m_it.action("file.save")->toolTip().contains(QStringLiteral("no design is open")));
}

SHARDBOARD_TEST(TestShortcuts)
#include "tst_shortcuts.moc"
