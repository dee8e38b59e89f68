// SPDX-License-Identifier: Apache-2.0
// A real window with settings of its own, for tests that drive it.
#pragma once

#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/window/docks.h"
#include "app/desktop/window/mainwindow.h"
#include "model/session/document.h"

#include <QAction>
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include <memory>

namespace shardboard {

struct TestWindow {
    explicit TestWindow(const QSize& size = { 1280, 800 })
        : settings(folder.filePath(QStringLiteral("settings.ini")))
        , theme(*qApp, settings)
    {
        settings.setLastFolder(folder.path());
        settings.setEngineCommand(QStringLiteral("\"" SHARDBOARD_BINARY_DIR "/tests/fakeengine\" ok"));
        window = std::make_unique<MainWindow>(settings, theme);
        window->resize(size);
        window->show();
    }
    Document* document() const { return window->document(); }
    QAction* action(const char* id) const { return window->actionRegistry()->get(QString::fromLatin1(id)); }
    template <class T>
    T* find(const char* name) const
    {
        return window->findChild<T*>(QString::fromLatin1(name));
    }
    QString at(const char* name) const { return folder.filePath(QString::fromLatin1(name)); }
    void raise(const char* dock) const
    {
        window->docks()->raise(QString::fromLatin1(dock));
        QCoreApplication::processEvents();
    }

    QTemporaryDir folder;
    Settings settings;
    ThemeControl theme;
    std::unique_ptr<MainWindow> window; ///< gone before the others
};

} // namespace shardboard
