// SPDX-License-Identifier: Apache-2.0
// What the desktop program remembers between starts: one place for all keys. Kept in the user's settings folder.
#pragma once

#include "model/notation/notation.h"

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>

namespace shardboard {

enum class ThemeChoice { System, Light, Dark };

class Settings {
public:
    /// The user's settings, or those in `file`.
    explicit Settings(const QString& file = {});

    QByteArray geometry() const;
    QByteArray windowState() const;
    void setWindow(const QByteArray& geometry, const QByteArray& state);

    QStringList recentFiles() const;
    void setRecentFiles(const QStringList& files);

    ThemeChoice theme() const;
    void setTheme(ThemeChoice theme);

    /// In which notation layouts are written.
    Notation notation() const;
    void setNotation(Notation notation);

    /// Program and arguments of the worker; empty for the one that came with this program.
    QString engineCommand() const;
    void setEngineCommand(const QString& command);

    /// Where unsaved changes are kept for the case of a crash.
    QString unsavedFolder() const;

    /// Where the last file dialog was; the home folder at first.
    QString lastFolder() const;
    void setLastFolder(const QString& folder);

private:
    QSettings m_settings;
};

} // namespace shardboard
