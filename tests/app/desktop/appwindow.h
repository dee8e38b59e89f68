// SPDX-License-Identifier: Apache-2.0
// The one fixture of tests that drive the real window: a window with settings in a folder of its own.
//   AppWindow     opened by open(), and again, with the settings that the window before it left
//   TestWindow    opened empty; its engine is tests/fakeengine, to which everything succeeds
//   RealWindow    opened with the sample in the light theme, active; register its tests withFonts
// A test class can also derive from AppWindow, with a window for each of its functions: init() { makeNew(…); }, cleanup() { drop();
// }.
#pragma once

#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/workbench.h"
#include "app/desktop/window/mainwindow.h"
#include "model/session/document.h"
#include "tests/widgets/testfonts.h"
#include "tests/widgets/widgets_support.h"

#include <QAction>
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <memory>

namespace shardboard {

/// Lets what follows an edit, a resize or another look happen: layouts are asked for again and again.
inline void settle()
{
    for (int i = 0; i < 6; ++i)
        QCoreApplication::processEvents();
}

class AppWindow {
public:
    AppWindow() = default;
    AppWindow(const AppWindow&) = delete;
    AppWindow& operator=(const AppWindow&) = delete;
    ~AppWindow()
    {
        if (window)
            document()->undoStack()->setClean(); // nobody is asked about changes
    }

    /// With SHARDBOARD_TEST_TEXT set, in text of so many points.
    void open(const QSize& size = { 1280, 800 }, bool withSample = true)
    {
        close();
        makeSettings();
        useFakeEngine();
        makeWindow(size);
        window->activateWindow();
        (void)QTest::qWaitForWindowActive(window.get());
        if (withSample)
            window->fileActions()->openSample();
        QCoreApplication::processEvents();
    }

    void close()
    {
        if (window) {
            document()->undoStack()->setClean();
            window->close(); // remembers
        }
        window.reset();
        theme.reset();
        settings.reset();
    }

    Document* document() const { return window->document(); }
    Selection* selection() const { return document()->selection(); }
    QAction* action(const char* id) const { return window->actionRegistry()->get(QString::fromLatin1(id)); }
    template <class Child>
    Child* child(const char* name) const
    {
        return window->findChild<Child*>(QString::fromLatin1(name));
    }
    /// A file of that name in the folder of its own.
    QString at(const char* name) const { return folder.filePath(QString::fromLatin1(name)); }
    void raise(const char* dock) const
    {
        window->workbench()->raise(QString::fromLatin1(dock));
        QCoreApplication::processEvents();
    }

    QTemporaryDir folder;
    std::unique_ptr<Settings> settings;
    std::unique_ptr<ThemeControl> theme;
    std::unique_ptr<MainWindow> window; ///< gone before the others

protected:
    /// A window in a new folder; `size` may be empty.
    void makeNew(const QSize& size = {})
    {
        drop();
        folder = QTemporaryDir();
        makeSettings();
        makeWindow(size);
        QVERIFY(QTest::qWaitForWindowExposed(window.get()));
    }
    /// Without a question, and nothing is remembered.
    void drop()
    {
        window.reset();
        theme.reset();
        settings.reset();
    }
    void makeSettings()
    {
        settings = std::make_unique<Settings>(folder.filePath(QStringLiteral("settings.ini")));
        theme = std::make_unique<ThemeControl>(*qApp, *settings);
        if (const double points = qEnvironmentVariable("SHARDBOARD_TEST_TEXT").toDouble(); points > 0)
            theme->setTextSize(points); // the test once more, with other fonts
    }
    void useFakeEngine() const { settings->setEngineCommand(QStringLiteral("\"" SHARDBOARD_BINARY_DIR "/tests/fakeengine\" ok")); }
    void makeWindow(const QSize& size)
    {
        window = std::make_unique<MainWindow>(*settings, *theme);
        if (!size.isEmpty())
            window->resize(size);
        window->show();
    }
};

class TestWindow : public AppWindow {
public:
    explicit TestWindow(const QSize& size = { 1280, 800 })
    {
        makeSettings();
        settings->setLastFolder(folder.path());
        useFakeEngine();
        makeWindow(size);
    }
};

class RealWindow : public AppWindow {
public:
    explicit RealWindow(const QSize& size = { 1600, 1000 })
    {
        makeSettings();
        theme->setChoice(ThemeChoice::Light, false);
        openAgain(size);
    }
    /// A new window with the same settings.
    void openAgain(const QSize& size = { 1600, 1000 })
    {
        if (window)
            document()->undoStack()->setClean();
        makeWindow(size);
        window->fileActions()->openSample();
        ready = QTest::qWaitForWindowExposed(window.get()) && QTest::qWaitForWindowActive(window.get());
    }

    bool ready = false; ///< on screen and active
};

} // namespace shardboard
