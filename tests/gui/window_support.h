// SPDX-License-Identifier: Apache-2.0
// A real window with settings of its own, for tests that drive it.
#pragma once

#include "app/desktop/base/actions.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/window/mainwindow.h"
#include "model/session/document.h"

#include <QAction>
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <memory>

namespace shardboard {

class TestWindow {
public:
    /// With SHARDBOARD_TEST_TEXT set, in text of so many points. Opened again it has the settings that the one before left.
    void open(const QSize& size = { 1280, 800 }, bool withSample = true)
    {
        close();
        settings = std::make_unique<Settings>(folder.filePath(QStringLiteral("settings.ini")));
        settings->setEngineCommand(QStringLiteral("\"" SHARDBOARD_BINARY_DIR "/tests/fakeengine\" ok"));
        theme = std::make_unique<ThemeControl>(*qApp, *settings);
        if (const double points = qEnvironmentVariable("SHARDBOARD_TEST_TEXT").toDouble(); points > 0)
            theme->setTextSize(points); // the test once more, with other fonts
        window = std::make_unique<MainWindow>(*settings, *theme);
        if (!size.isEmpty())
            window->resize(size);
        window->show();
        window->activateWindow();
        (void)QTest::qWaitForWindowActive(window.get());
        if (withSample)
            window->fileActions()->openSample();
        QCoreApplication::processEvents();
    }

    void close()
    {
        if (window) {
            window->document()->undoStack()->setClean(); // nothing is asked
            window->close(); // remembers
        }
        window.reset();
        theme.reset();
        settings.reset();
    }

    QAction* action(const char* id) const { return window->actionRegistry()->get(QString::fromLatin1(id)); }
    template <class Widget>
    Widget* child(const char* name) const
    {
        return window->findChild<Widget*>(QString::fromLatin1(name));
    }

    QTemporaryDir folder;
    std::unique_ptr<Settings> settings;
    std::unique_ptr<ThemeControl> theme;
    std::unique_ptr<MainWindow> window;
};

} // namespace shardboard
