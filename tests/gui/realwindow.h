// SPDX-License-Identifier: Apache-2.0
// What tests of the whole window share: the real window with the sample or another design, in a settings folder of its own.
#pragma once

#include "app/desktop/base/actions.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/window/fonts.h"
#include "app/desktop/window/mainwindow.h"
#include "tests/gui/widgets_support.h"

#include <QApplication>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <memory>

namespace shardboard {

struct RealWindow {
    explicit RealWindow(const QSize& size = { 1600, 1000 })
        : settings(folder.filePath(QStringLiteral("settings.ini")))
        , theme(*qApp, settings)
    {
        ensureFonts(*qApp);
        theme.setChoice(ThemeChoice::Light, false);
        open(size);
    }
    ~RealWindow()
    {
        window->document()->undoStack()->setClean(); // nobody is asked about changes
        window.reset();
    }
    void open(const QSize& size = { 1600, 1000 })
    {
        if (window)
            window->document()->undoStack()->setClean();
        window = std::make_unique<MainWindow>(settings, theme);
        window->resize(size);
        window->show();
        window->fileActions()->openSample();
        ready = QTest::qWaitForWindowExposed(window.get()) && QTest::qWaitForWindowActive(window.get());
    }
    Document* document() const { return window->document(); }
    Selection* selection() const { return window->document()->selection(); }
    template <class Child>
    Child* child(const char* name) const
    {
        return window->findChild<Child*>(QString::fromLatin1(name));
    }

    QTemporaryDir folder;
    Settings settings;
    ThemeControl theme;
    std::unique_ptr<MainWindow> window;
    bool ready = false;
};

} // namespace shardboard
