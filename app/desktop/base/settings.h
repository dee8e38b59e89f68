// SPDX-License-Identifier: Apache-2.0
// What the desktop program remembers between starts: one place for all keys. Kept in the user's settings folder.
#pragma once

#include "model/notation/notation.h"

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>
#include <QVariantMap>

#include <optional>

#include <optional>

namespace shardboard {

enum class ThemeChoice { System, Light, Dark };

class Settings {
public:
    /// The user's settings, or those in `file`.
    explicit Settings(const QString& file = {});

    QByteArray geometry() const;
    QByteArray windowState() const;
    void setWindow(const QByteArray& geometry, const QByteArray& state);

    /// Sizes of the parts of a splitter, by its object name.
    QByteArray splitter(const QString& name) const;
    void setSplitter(const QString& name, const QByteArray& state);

    QStringList recentFiles() const;
    void setRecentFiles(const QStringList& files);

    ThemeChoice theme() const;
    void setTheme(ThemeChoice theme);

    /// More contrast than the theme has; parts told apart by patterns alone.
    bool highContrast() const;
    void setHighContrast(bool on);
    bool patternsOnly() const;
    void setPatternsOnly(bool on);

    /// Size of the text in points; 0: as the system has it.
    double textSize() const;
    void setTextSize(double points);

    /// Keys of a command (several of them separated as QKeySequence::listFromString reads them), where they were changed; an empty
    /// text is a command whose keys were taken away.
    std::optional<QString> shortcuts(const QString& action) const;
    void setShortcuts(const QString& action, const std::optional<QString>& keys);

    /// Widths, order and sorting of a table's columns, as ColumnKeeper writes them.
    QVariantMap columns(const QString& table) const;
    void setColumns(const QString& table, const QVariantMap& columns);

    /// The reasons in the inspector are folded in.
    bool whyFolded() const;
    void setWhyFolded(bool folded);

    /// In which notation layouts are written.
    Notation notation() const;
    void setNotation(Notation notation);

    /// The wheel moves the picture of a canvas instead of zooming.
    bool wheelScrolls() const;
    void setWheelScrolls(bool scrolls);

    /// Nothing moves by itself; none while nobody has chosen.
    std::optional<bool> reducedMotion() const;
    void setReducedMotion(bool reduced);

    /// Program and arguments of the worker; empty for the one that came with this program.
    QString engineCommand() const;
    void setEngineCommand(const QString& command);

    /// Where runs are kept, how many bytes they may take there (0: as many as there is room for), and whether every run of the
    /// window is kept by itself.
    QString runsFolder() const;
    void setRunsFolder(const QString& folder);
    qint64 runsLimit() const;
    void setRunsLimit(qint64 bytes);
    bool keepsRuns() const;
    void setKeepsRuns(bool keeps);

    /// The Python that has the framework of an export target; `python3` unless somebody named another.
    QString python(const QString& target) const;
    void setPython(const QString& target, const QString& program);

    /// Where unsaved changes are kept for the case of a crash.
    QString unsavedFolder() const;

    /// Where the last file dialog was; the home folder at first.
    QString lastFolder() const;
    void setLastFolder(const QString& folder);

private:
    QSettings m_settings;
};

} // namespace shardboard
